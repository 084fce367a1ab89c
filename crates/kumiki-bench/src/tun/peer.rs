//! Linux's end of the connection, in a process of its own, so that its time is not the stack's.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use clap::{Args, ValueEnum};

use super::{LINUX, PORT, STACK};
use crate::load::{SMALL, content};

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Role {
    /// It is called, and reads.
    Reads,
    /// It calls, and writes.
    Writes,
    /// It calls, asks and waits for the answer, so many times as there are octets.
    Asks,
}

/// As the process is started.
#[derive(Args, Debug)]
pub(crate) struct Parameters {
    #[arg(long)]
    role: Role,
    /// Of each connection
    #[arg(long)]
    octets: u64,
    /// All open at once
    #[arg(long, default_value_t = 1)]
    connections: usize,
}

/// Octets of each call.
const PIECE: usize = 256 * 1024;

/// The process, as its parent sees it.
pub(crate) struct Peer {
    child: Child,
}

impl Peer {
    /// Starts it, and waits until it listens, where it does.
    pub(crate) fn start(role: Role, octets: u64, connections: usize) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
        let role = match role {
            Role::Reads => "reads",
            Role::Writes => "writes",
            Role::Asks => "asks",
        };
        let mut child = Command::new(program)
            .args(["tun-peer", "--role", role, "--octets", &octets.to_string()])
            .args(["--connections", &connections.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| format!("the peer: {why}"))?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map_err(|why| format!("the peer: {why}"))?;
        if line.trim() == "ready" { Ok(Self { child }) } else { Err("the peer does not begin".to_owned()) }
    }

    /// Waits until it ends.
    pub(crate) fn end(mut self) -> Result<(), String> {
        let status = self.child.wait().map_err(|why| format!("the peer: {why}"))?;
        if status.success() { Ok(()) } else { Err(format!("the peer: {status}")) }
    }
}

/// The process itself.
pub(crate) fn be(parameters: &Parameters) -> Result<(), String> {
    let Parameters { role, octets, connections } = *parameters;
    let act = || -> io::Result<()> {
        let listener = if role == Role::Reads { Some(TcpListener::bind((LINUX, PORT))?) } else { None };
        println!("ready");
        let open = |_| match &listener {
            Some(listener) => Ok(listener.accept()?.0),
            None => TcpStream::connect((STACK, PORT)),
        };
        let streams = (0..connections).map(open).collect::<io::Result<Vec<_>>>()?;
        let carry = |stream| match role {
            Role::Reads => reads(stream, octets),
            Role::Writes => writes(stream, octets),
            Role::Asks => asks(stream, octets),
        };
        thread::scope(|scope| {
            let all: Vec<_> = streams.into_iter().map(|stream| scope.spawn(move || carry(stream))).collect();
            all.into_iter().try_for_each(|it| it.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))))
        })
    };
    act().map_err(|why| format!("the peer: {why}"))
}

fn reads(mut stream: TcpStream, octets: u64) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    let mut read = 0;
    while read < octets {
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read += more as u64,
        }
    }
    Ok(())
}

fn writes(mut stream: TcpStream, octets: u64) -> io::Result<()> {
    // Whatever the kernel's own choice is: one that paces by timers, as BBR does, has them run on the stack's account.
    rustix::net::sockopt::set_tcp_congestion(&stream, "cubic")?;
    let buffer = content(PIECE);
    let mut left = octets;
    while left > 0 {
        let piece = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        stream.write_all(buffer.get(..piece).unwrap_or_default())?;
        left -= piece as u64;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    // Until the other end has all of it.
    let _ = stream.read(&mut [0]);
    Ok(())
}

fn asks(mut stream: TcpStream, times: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut message = content(SMALL);
    for _ in 0..times {
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
    }
    Ok(())
}
