//! Both ends as a case sees them: the program `kumiki`, and Linux's sockets with what they are set to.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::net::sockopt;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub(crate) const PORT: u16 = 5001;

/// The version of IP of this process, which runs one case.
static IPV6: OnceLock<bool> = OnceLock::new();

/// From now on it is IPv6.
pub(crate) fn speak_ipv6() {
    assert!(IPV6.set(true).is_ok(), "the version of IP is settled");
}

pub(crate) fn is_ipv6() -> bool {
    *IPV6.get_or_init(|| false)
}

/// The host `low` on network `network`: 0 is the TUN device's.
pub(crate) fn address(network: u8, low: u8) -> IpAddr {
    if is_ipv6() {
        Ipv6Addr::new(0xfd00, 9, network.into(), 0, 0, 0, 0, low.into()).into()
    } else {
        Ipv4Addr::new(10, 9, network, low).into()
    }
}

/// How many bits of an address name its network.
pub(crate) fn prefix() -> u8 {
    if is_ipv6() { 64 } else { 24 }
}

pub(crate) fn linux() -> IpAddr {
    address(0, 1)
}

pub(crate) fn kumiki() -> IpAddr {
    address(0, 2)
}

pub(crate) fn to_linux() -> String {
    SocketAddr::new(linux(), PORT).to_string()
}

/// How long nothing may happen. Far beyond any timer that a case should meet, but for a connection that is given up.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(50);

/// The congestion control of Linux's sockets, whatever the kernel's own choice is.
const CONTROLLER: &str = "cubic";

pub(crate) type Said<T> = Result<T, String>;

/// Puts what went wrong behind what was tried.
pub(crate) fn when<E: std::fmt::Display>(tried: &str) -> impl FnOnce(E) -> String + '_ {
    move |why| format!("{tried}: {why}")
}

/// Sets `net.ipv4.NAME` of this namespace.
pub(crate) fn sysctl(name: &str, value: &str) -> Said<()> {
    std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value).map_err(when(name))
}

/// As [`sysctl`]; false where this kernel has no such setting.
pub(crate) fn sysctl_if_there(name: &str, value: &str) -> Said<bool> {
    match std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value) {
        Ok(()) => Ok(true),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(false),
        Err(why) => Err(when(name)(why)),
    }
}

/// Has a socket use this congestion control. A sysctl would not do: in a namespace it takes only what the kernel has
/// marked as harmless, and a socket takes more.
pub(crate) fn control(stream: &TcpStream, controller: &str) -> Said<()> {
    sockopt::set_tcp_congestion(stream, controller).map_err(|why| format!("TCP_CONGESTION {controller}: {why}"))?;
    let uses = sockopt::tcp_congestion(stream).map_err(when("TCP_CONGESTION"))?;
    if uses == controller { Ok(()) } else { Err(format!("Linux uses {uses} instead of {controller}")) }
}

/// The program, running.
pub(crate) struct Kumiki {
    child: Child,
    events: Receiver<Value>,
}

impl Drop for Kumiki {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Kumiki {
    /// Starts `kumiki COMMAND` on a TUN device of this namespace.
    pub(crate) fn start(command: &str, arguments: &[&str]) -> Said<Self> {
        let with_prefix = |address| format!("{address}/{}", prefix());
        let (kumiki, linux) = (with_prefix(kumiki()), with_prefix(linux()));
        let mut program = Command::new(env!("CARGO_BIN_EXE_kumiki"));
        program.args([command, "--tun", "k0", "--json", "--addr", &kumiki, "--linux", &linux]).args(arguments);
        Self::run(program)
    }

    /// Starts what tells of what it does as JSON Lines.
    pub(crate) fn run(mut program: Command) -> Said<Self> {
        let mut child =
            program.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(when("kumiki does not start"))?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap_or(Value::Null)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, events })
    }

    /// As [`Kumiki::start`], and waits until it listens.
    pub(crate) fn listening(command: &str, arguments: &[&str]) -> Said<Self> {
        let port = PORT.to_string();
        let kumiki = Self::start(command, &[&["--listen", port.as_str()], arguments].concat())?;
        kumiki.event("listening")?;
        Ok(kumiki)
    }

    /// The next thing it says, which must be this.
    pub(crate) fn event(&self, name: &str) -> Said<Value> {
        kumiki_watchdog::minute();
        let event = self.events.recv_timeout(TIMEOUT);
        let event = event.map_err(|why| format!("kumiki said no \"{name}\": {why}"))?;
        if event["event"] == name { Ok(event) } else { Err(format!("kumiki said {event} instead of \"{name}\"")) }
    }

    /// As [`Kumiki::event`], of what may take longer, for as long as `moved` says that more octets have moved than
    /// before, and no more than `most`: so the end depends on octets, and not on how busy the machine is.
    pub(crate) fn event_while(&self, name: &str, most: u64, moved: impl Fn() -> Said<u64>) -> Said<Value> {
        let mut before = 0;
        loop {
            kumiki_watchdog::minute();
            match self.events.recv_timeout(TIMEOUT / 5) {
                Ok(event) if event["event"] == name => return Ok(event),
                Ok(event) => return Err(format!("kumiki said {event} instead of \"{name}\"")),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("kumiki ended without \"{name}\""));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = moved()?;
            if now == before || now > most {
                return Err(format!("{now} octets have moved, and kumiki said no \"{name}\""));
            }
            before = now;
        }
    }

    /// Its status, once it has ended by itself.
    pub(crate) fn status(mut self) -> Said<i32> {
        kumiki_watchdog::minute();
        // What it says last ends before it does.
        while self.events.recv_timeout(TIMEOUT).is_ok() {}
        let status = self.child.wait().map_err(when("wait"))?;
        status.code().ok_or_else(|| format!("kumiki ended by a signal: {status}"))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

/// Whether there can be cases at all: a TUN device that is up.
pub(crate) fn probe() -> Said<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_kumiki"))
        .args(["ping", "--tun", "k0", "--addr", "10.9.0.2/24", "--linux", "10.9.0.1/24"])
        .args(["--to", "10.9.0.1", "--count", "1"])
        .stdin(Stdio::null())
        .output()
        .map_err(when("kumiki does not start"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned())
    }
}

/// A connection of Linux's, called by us.
pub(crate) fn call() -> Said<TcpStream> {
    let stream = once_we_have_an_address(|| TcpStream::connect((kumiki(), PORT)));
    prepare(stream.map_err(when("connect"))?)
}

/// Linux finds out in its own time whether an IPv6 address of a new device is free, and until then nothing can be sent
/// from it: `action` is tried until that is not what is wrong.
pub(crate) fn once_we_have_an_address<T>(action: impl Fn() -> io::Result<T>) -> io::Result<T> {
    kumiki_watchdog::minute();
    loop {
        match action() {
            Err(why) if why.kind() == ErrorKind::AddrNotAvailable => kumiki_watchdog::pause(),
            done => return done,
        }
    }
}

/// A port of Linux's that listens.
pub(crate) fn listen() -> Said<TcpListener> {
    // Before the device is there: any address.
    let any: IpAddr = if is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    TcpListener::bind((any, PORT)).map_err(when("bind"))
}

/// The next caller at `listener`.
pub(crate) fn accept(listener: &TcpListener) -> Said<TcpStream> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    let timeout = Timespec::try_from(TIMEOUT).map_err(when("a time"))?;
    match poll(&mut polled, Some(&timeout)).map_err(when("wait for a caller"))? {
        0 => Err("nobody called".to_owned()),
        _ => prepare(listener.accept().map_err(when("accept"))?.0),
    }
}

/// Time limits and the congestion control of a socket of Linux's.
pub(crate) fn prepare(stream: TcpStream) -> Said<TcpStream> {
    let set = |set: io::Result<()>| set.map_err(when("set a time limit"));
    set(stream.set_read_timeout(Some(TIMEOUT)))?;
    set(stream.set_write_timeout(Some(TIMEOUT)))?;
    control(&stream, CONTROLLER)?;
    Ok(stream)
}

/// How many octets there were, and their hash as `kumiki` prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Content {
    pub(crate) octets: u64,
    hash: String,
}

impl Content {
    /// What `kumiki` says it has sent or received.
    pub(crate) fn of(event: &Value, what: &str) -> Said<Self> {
        let octets = event[what].as_u64();
        let hash = event[format!("{what}_sha256")].as_str();
        let both = octets.zip(hash);
        let (octets, hash) = both.ok_or_else(|| format!("kumiki does not say what it {what}: {event}"))?;
        Ok(Self { octets, hash: hash.to_owned() })
    }

    fn hashed(octets: u64, hash: Sha256) -> Self {
        let hash: Vec<String> = hash.finalize().iter().map(|octet| format!("{octet:02x}")).collect();
        Self { octets, hash: hash.concat() }
    }
}

/// Writes `octets` octets that never repeat.
pub(crate) fn write(stream: &mut impl Write, octets: u64, seed: u64) -> Said<Content> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let (mut left, mut state) = (octets, seed | 1);
    while left > 0 {
        kumiki_watchdog::minute();
        for word in buffer.chunks_exact_mut(8) {
            // xorshift64 (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let part = &buffer[..usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len())];
        hash.update(part);
        let at = octets - left;
        stream.write_all(part).map_err(|why| format!("write at about {at} of {octets}: {why}"))?;
        left -= part.len() as u64;
    }
    Ok(Content::hashed(octets, hash))
}

/// Reads until the peer ends its direction.
pub(crate) fn read(stream: &mut impl Read) -> Said<Content> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    let mut octets = 0;
    loop {
        kumiki_watchdog::minute();
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(Content::hashed(octets, hash)),
            Ok(read) => {
                hash.update(&buffer[..read]);
                octets += read as u64;
            }
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(format!("read after {octets} octets: {why}")),
        }
    }
}

/// Refuses two contents that differ.
pub(crate) fn same(sent: &Content, received: &Content) -> Said<()> {
    if sent == received { Ok(()) } else { Err(format!("sent {sent:?}, received {received:?}")) }
}

impl Content {
    /// As one line.
    pub(crate) fn told(&self) -> String {
        format!("{} {}", self.octets, self.hash)
    }
}
