//! Linux's end of the connection, in a process of its own, so that its time is not the stack's.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use clap::{Args, ValueEnum};

use super::{LINUX, PORT, STACK};
use crate::load::content;

/// What it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Role {
    /// It is called, and reads.
    Reads,
    /// It calls, and writes.
    Writes,
}

/// As the process is started.
#[derive(Args, Debug)]
pub(crate) struct Parameters {
    #[arg(long)]
    role: Role,
    #[arg(long)]
    octets: u64,
}

/// Octets of each call.
const PIECE: usize = 256 * 1024;

/// The process, as its parent sees it.
pub(crate) struct Peer {
    child: Child,
}

impl Peer {
    /// Starts it, and waits until it listens, where it does.
    pub(crate) fn start(role: Role, octets: u64) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
        let role = match role {
            Role::Reads => "reads",
            Role::Writes => "writes",
        };
        let mut child = Command::new(program)
            .args(["tun-peer", "--role", role, "--octets", &octets.to_string()])
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
    let Parameters { role, octets } = *parameters;
    let act = || match role {
        Role::Reads => reads(octets),
        Role::Writes => writes(octets),
    };
    act().map_err(|why: std::io::Error| format!("the peer: {why}"))
}

fn reads(octets: u64) -> std::io::Result<()> {
    let listener = TcpListener::bind((LINUX, PORT))?;
    println!("ready");
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0; PIECE];
    let mut read = 0;
    while read < octets {
        match stream.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            more => read += more as u64,
        }
    }
    Ok(())
}

fn writes(octets: u64) -> std::io::Result<()> {
    println!("ready");
    let mut stream = TcpStream::connect((STACK, PORT))?;
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
