//! Linux's end of the connection, in a process of its own, so that its time is not the stack's.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use clap::{Args, ValueEnum};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{LINUX, PORT, STACK, paced};
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
    /// It calls, and asks so many times on all connections together at the rate, whether or not it was answered.
    Paces,
}

/// As the process is started.
#[derive(Args, Debug)]
pub(crate) struct Parameters {
    #[arg(long)]
    pub(super) role: Role,
    /// Of each connection
    #[arg(long)]
    pub(super) octets: u64,
    /// All open at once
    #[arg(long)]
    pub(super) connections: usize,
    /// Questions a second, where it paces
    #[arg(long)]
    pub(super) rate: u64,
}

impl Parameters {
    /// Without a rate.
    pub(super) const fn new(role: Role, octets: u64, connections: usize) -> Self {
        Self { role, octets, connections, rate: 0 }
    }
}

/// Octets of each call.
const PIECE: usize = 256 * 1024;

/// Once the stack has done its part, Linux's end is done within so many seconds, or never: its socket may wait for what
/// was lost when nobody is there to send it again.
const GRACE_S: i64 = 10;

/// The process, as its parent sees it. Dropping it ends it.
pub(crate) struct Peer {
    child: Child,
    /// At its end when the process has ended.
    stdout: BufReader<ChildStdout>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Where it has ended, there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    /// Starts it, and waits until it listens, where it does.
    pub(crate) fn start(parameters: &Parameters) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
        let role = match parameters.role {
            Role::Reads => "reads",
            Role::Writes => "writes",
            Role::Asks => "asks",
            Role::Paces => "paces",
        };
        let Parameters { octets, connections, rate, .. } = parameters;
        let mut child = Command::new(program)
            .args(["tun-peer", "--role", role, "--octets", &octets.to_string()])
            .args(["--connections", &connections.to_string(), "--rate", &rate.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| format!("the peer: {why}"))?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut peer = Self { child, stdout };
        if peer.says()? == "ready" { Ok(peer) } else { Err("the peer does not begin".to_owned()) }
    }

    /// The next line that it says.
    pub(super) fn says(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).map_err(|why| format!("the peer: {why}"))?;
        Ok(line.trim().to_owned())
    }

    /// Waits until it ends, which is soon where the stack has done its part.
    pub(crate) fn end(mut self) -> Result<(), String> {
        let mut descriptors = [PollFd::new(self.stdout.get_ref(), PollFlags::IN)];
        let grace = Timespec { tv_sec: GRACE_S, tv_nsec: 0 };
        if poll(&mut descriptors, Some(&grace)).map_err(|why| format!("the peer: {why}"))? == 0 {
            return Err(format!("the peer: it has not ended {GRACE_S} s after the stack"));
        }
        let status = self.child.wait().map_err(|why| format!("the peer: {why}"))?;
        if status.success() { Ok(()) } else { Err(format!("the peer: {status}")) }
    }
}

/// The process itself.
pub(crate) fn be(parameters: &Parameters) -> Result<(), String> {
    let Parameters { role, octets, connections, rate } = *parameters;
    let act = || -> io::Result<()> {
        let listener = if role == Role::Reads { Some(TcpListener::bind((LINUX, PORT))?) } else { None };
        println!("ready");
        let open = |_| match &listener {
            Some(listener) => Ok(listener.accept()?.0),
            None => TcpStream::connect((STACK, PORT)),
        };
        let streams = (0..connections).map(open).collect::<io::Result<Vec<_>>>()?;
        if role == Role::Paces {
            let outcome = paced::asks(streams, octets, rate.max(1))?;
            println!("{}", serde_json::to_string(&outcome)?);
            return Ok(());
        }
        let carry = |stream| match role {
            Role::Reads => reads(stream, octets),
            Role::Writes => writes(stream, octets),
            Role::Asks | Role::Paces => asks(stream, octets),
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
