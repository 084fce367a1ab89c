//! The program behind the path, and the server that it calls.
//!
//! A request is the octet `G` or `P` and how many octets are asked for, or follow, in eight octets. What was asked for
//! is answered by those and an end, what follows by one octet.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::load::content;

/// What the program says in front of each time.
pub(super) const TOOK: &str = "took ";

/// Octets of each call.
const PIECE: usize = 256 * 1024;

/// What the program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PeerAction {
    /// It asks for octets
    Fetch,
    /// It sends octets
    Send,
}

impl PeerAction {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Send => "send",
        }
    }

    const fn letter(self) -> u8 {
        match self {
            Self::Fetch => b'G',
            Self::Send => b'P',
        }
    }
}

/// As the process is started.
#[derive(Args, Debug)]
pub(crate) struct Parameters {
    /// What it does; it serves where nothing is said
    #[arg(long)]
    act: Option<PeerAction>,
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Of each transfer
    #[arg(long)]
    octets: Vec<u64>,
}

/// The process itself.
pub(crate) fn be(parameters: &Parameters) -> Result<(), String> {
    let failed = |why: std::io::Error| format!("the peer: {why}");
    let Some(act) = parameters.act else {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, parameters.port)).map_err(failed)?;
        println!("{}", listener.local_addr().map_err(failed)?.port());
        // Ends with its input.
        std::thread::spawn(move || serve(&listener));
        let _ = std::io::stdin().read(&mut [0]);
        return Ok(());
    };
    let gateway = std::env::var("KUMIKI_GATEWAY").map_err(|_| "this is for `kumiki-bench link` alone")?;
    let gateway: IpAddr = gateway.parse().map_err(|_| "KUMIKI_GATEWAY is no address")?;
    for octets in &parameters.octets {
        let seconds = transfer(SocketAddr::new(gateway, parameters.port), act, *octets).map_err(failed)?;
        println!("{TOOK}{seconds:.6}");
    }
    Ok(())
}

/// Answers one connection after the other.
pub(super) fn serve(listener: &TcpListener) {
    let text = content(PIECE);
    while let Ok((stream, _)) = listener.accept() {
        // Who has gone needs no answer.
        let _ = answer(stream, &text);
    }
}

fn answer(mut stream: TcpStream, text: &[u8]) -> std::io::Result<()> {
    let mut request = [0; 9];
    stream.read_exact(&mut request)?;
    let [letter, octets @ ..] = request;
    let octets = u64::from_be_bytes(octets);
    if letter == PeerAction::Fetch.letter() {
        set_cubic(&stream)?;
        write(&mut stream, text, octets)?;
        stream.shutdown(std::net::Shutdown::Write)?;
        // Until the other end has all of it.
        let _ = stream.read(&mut [0]);
    } else {
        read(&mut stream, octets)?;
        stream.write_all(&[0])?;
    }
    Ok(())
}

/// How many seconds a transfer takes, from the call on.
#[expect(clippy::disallowed_methods, reason = "how long a transfer takes by the clock on the wall is measured")]
pub(super) fn transfer(to: SocketAddr, act: PeerAction, octets: u64) -> std::io::Result<f64> {
    let text = content(PIECE);
    let began = std::time::Instant::now();
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    let [a, b, c, d, e, f, g, h] = octets.to_be_bytes();
    stream.write_all(&[act.letter(), a, b, c, d, e, f, g, h])?;
    match act {
        PeerAction::Fetch => read(&mut stream, octets)?,
        PeerAction::Send => {
            set_cubic(&stream)?;
            write(&mut stream, &text, octets)?;
            read(&mut stream, 1)?;
        }
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Whatever the kernel's own choice is: one that paces by timers, as BBR does, takes other times.
fn set_cubic(stream: &TcpStream) -> std::io::Result<()> {
    Ok(rustix::net::sockopt::set_tcp_congestion(stream, "cubic")?)
}

fn write(to: &mut impl Write, text: &[u8], octets: u64) -> std::io::Result<()> {
    let mut left = octets;
    while left > 0 {
        let piece = usize::try_from(left).unwrap_or(PIECE).min(text.len());
        to.write_all(text.get(..piece).unwrap_or_default())?;
        left -= piece as u64;
    }
    Ok(())
}

fn read(from: &mut impl Read, octets: u64) -> std::io::Result<()> {
    let mut buffer = vec![0; PIECE];
    let mut left = octets;
    while left > 0 {
        match from.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            more => left = left.saturating_sub(more as u64),
        }
    }
    Ok(())
}

/// The server, in a process of its own; it ends when this is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
}

impl Server {
    pub(super) fn start() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
        let mut child = Command::new(program)
            .arg("link-peer")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| format!("the server: {why}"))?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map_err(|why| format!("the server: {why}"))?;
        let port = line.trim().parse().map_err(|_| "the server does not begin".to_owned())?;
        Ok(Self { child, port })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
