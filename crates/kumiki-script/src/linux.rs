//! Linux's TCP behind a TUN device, by its sockets, in the network namespace of this process.
//!
//! | | |
//! |---|---|
//! | Time | that of the machine; what comes is stamped as it is read |
//! | Settings | those that the header names, no metrics kept from connections before, and for each socket its congestion control, whatever the kernel's own choice is |
//! | Left out | what sockets do not tell: that a connection is closed, the state of TCP |

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Command;
use std::time::Duration as Time;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_io::tun::Layer;
use kumiki_io::{Arrival, Clock as _, Packets, RealClock, RealDevice as _, Tun, TunConfig};
use kumiki_octets::Message;
use kumiki_octets::text::counted;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with, bind, connect, listen, recv,
    send, shutdown, socket_with, sockopt,
};

use super::header::{Header, LinuxTerms};
use super::notation::{Call, Connection, ProgramEvent, Set, StackView};
use super::packet::{PEER_PORT, STACK_PORT, peer, sent_by_peer, sent_by_stack, stack_address};
use super::subject::Subject;

/// The name of the device.
const DEVICE: &str = "k0";

/// How long is waited for what the kernel does behind a packet, where no line says how long.
const MOMENT: Duration = Duration::from_millis(200);

/// One socket.
struct Socket {
    descriptor: OwnedFd,
    /// Writes that wait for room, urgent ones marked.
    waiting: VecDeque<(usize, bool)>,
    written: u64,
    read: u64,
    /// What is to be done when all is written.
    then: Option<Call>,
    opened: bool,
    /// An error that no line has mentioned.
    error: Option<Errno>,
}

impl Socket {
    const fn new(descriptor: OwnedFd) -> Self {
        Self { descriptor, waiting: VecDeque::new(), written: 0, read: 0, then: None, opened: false, error: None }
    }

    /// Takes note of an error of the socket; one that is only "soft" is none.
    fn look(&mut self) {
        if !self.events().contains(PollFlags::ERR) {
            return;
        }
        if let Ok(Err(why)) = sockopt::socket_error(&self.descriptor) {
            self.error = Some(why);
        }
    }

    fn events(&self) -> PollFlags {
        let mut descriptors = [PollFd::new(&self.descriptor, PollFlags::IN | PollFlags::OUT | PollFlags::RDHUP)];
        let _ = poll(&mut descriptors, Some(&Timespec::default()));
        let [descriptor] = descriptors;
        descriptor.revents()
    }

    /// Writes what there is room for.
    fn pump(&mut self, connection: Connection) {
        while let Some((octets, urgent)) = self.waiting.front_mut() {
            let mut data = vec![0; (*octets).min(1 << 20)];
            sent_by_stack(connection).fill(self.written, &mut data);
            let mut flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            if *urgent {
                flags |= SendFlags::OOB;
            }
            match send(&self.descriptor, &data, flags) {
                Ok(sent) => {
                    self.written += sent as u64;
                    *octets -= sent;
                    if *octets == 0 {
                        self.waiting.pop_front();
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(why) => {
                    self.error = Some(why);
                    self.waiting.clear();
                }
            }
        }
        if let Some(Call::Shutdown) = self.then.take() {
            let _ = shutdown(&self.descriptor, Shutdown::Write);
        }
    }
}

/// Linux.
pub(super) struct Kernel {
    tun: Tun,
    clock: RealClock,
    began: Instant,
    v6: bool,
    /// The congestion control of every socket.
    controller: &'static str,
    came: VecDeque<(Instant, Vec<u8>)>,
    listener: Option<OwnedFd>,
    sockets: BTreeMap<Connection, Socket>,
    asked: BTreeMap<Connection, Vec<Set>>,
    odd: Option<String>,
}

fn refused<E: core::fmt::Display>(what: &str) -> impl FnOnce(E) -> String + '_ {
    move |why| format!("{what}: {why}")
}

impl Kernel {
    /// Settings, a device and addresses, as `header` and `same` say.
    ///
    /// # Errors
    /// Says what could not be had.
    pub(super) fn new(header: &Header, same: &LinuxTerms) -> Result<Self, String> {
        let mut settings = header.sysctls(same)?;
        settings.push(("net.ipv4.tcp_no_metrics_save".to_owned(), "1".to_owned()));
        for (name, value) in settings {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            fs::write(&path, &value).map_err(|why| header.at_line(&name, &format!("{path} = {value}: {why}")))?;
        }
        // What is read late is stamped late: others on the machine should have to wait, where we may ask for that.
        let _ = rustix::process::setpriority_process(None, -20);
        // A script is about packets.
        let config = TunConfig { layer: Layer::Ip, mtu: header.mtu, packets: Packets::Plain };
        let tun = Tun::open_as(DEVICE, config).map_err(|why| why.to_string())?;
        match stack_address(header.v6) {
            std::net::IpAddr::V4(address) => {
                tun.configure_kernel(address.into(), 24, header.mtu).map_err(|why| why.to_string())?;
            }
            std::net::IpAddr::V6(address) => {
                let mtu = header.mtu.to_string();
                let address = format!("{address}/64");
                ip(&["link", "set", DEVICE, "mtu", &mtu, "up"])?;
                ip(&["-6", "addr", "add", &address, "dev", DEVICE, "nodad"])?;
            }
        }
        let clock = RealClock::start();
        Ok(Self {
            tun,
            began: clock.now(),
            clock,
            v6: header.v6,
            controller: header.controller()?,
            came: VecDeque::new(),
            listener: None,
            sockets: BTreeMap::new(),
            asked: BTreeMap::new(),
            odd: None,
        })
    }

    /// The script's time.
    fn now(&self) -> Instant {
        Instant::ZERO + self.clock.now().saturating_since(self.began)
    }

    /// Waits for a packet, for room to write, or until `until`; false where that has passed.
    fn wait(&mut self, until: Instant) -> Result<bool, String> {
        let left = until.saturating_since(self.now());
        let nanos = i64::try_from(left.as_nanos()).unwrap_or(i64::MAX);
        let timeout = Timespec { tv_sec: nanos / 1_000_000_000, tv_nsec: nanos % 1_000_000_000 };
        let writing: Vec<&Socket> = self.sockets.values().filter(|socket| !socket.waiting.is_empty()).collect();
        let mut descriptors = vec![PollFd::from_borrowed_fd(self.tun.as_fd(), PollFlags::IN)];
        descriptors.extend(writing.iter().map(|socket| PollFd::new(&socket.descriptor, PollFlags::OUT)));
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(why) => return Err(format!("poll: {why}")),
        }
        drop(descriptors);
        for (connection, socket) in &mut self.sockets {
            socket.pump(*connection);
        }
        let received = |why| format!("reading from {DEVICE}: {why}");
        while let Some(Arrival::Unit { data: packet, .. }) = self.tun.receive().map_err(received)? {
            let at = self.now();
            self.came.push_back((at, packet.to_vec()));
        }
        Ok(!left.is_zero())
    }

    fn socket(&self) -> Result<OwnedFd, String> {
        let family = if self.v6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None).map_err(refused("socket"))?;
        sockopt::set_socket_reuseaddr(&socket, true).map_err(refused("SO_REUSEADDR"))?;
        // Who is accepted inherits it.
        let controller = self.controller;
        sockopt::set_tcp_congestion(&socket, controller)
            .map_err(|why| format!("TCP_CONGESTION = {controller}: {why}"))?;
        let local = SocketAddr::new(stack_address(self.v6), STACK_PORT);
        bind(&socket, &local).map_err(refused("bind"))?;
        Ok(socket)
    }

    fn set(&self, descriptor: &OwnedFd, set: Set) -> Result<(), String> {
        let seconds = |time: Duration| Time::from_nanos(time.as_nanos());
        match set {
            Set::NoDelay(on) => sockopt::set_tcp_nodelay(descriptor, on),
            // What it has for Nagle's algorithm is Minshall's.
            Set::Minshall => sockopt::set_tcp_nodelay(descriptor, false),
            Set::KeepAlive(None) => sockopt::set_socket_keepalive(descriptor, false),
            Set::KeepAlive(Some((idle, interval, count))) => sockopt::set_tcp_keepidle(descriptor, seconds(idle))
                .and_then(|()| sockopt::set_tcp_keepintvl(descriptor, seconds(interval)))
                .and_then(|()| sockopt::set_tcp_keepcnt(descriptor, count))
                .and_then(|()| sockopt::set_socket_keepalive(descriptor, true)),
            Set::UserTimeout(time) => {
                let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
                sockopt::set_tcp_user_timeout(descriptor, millis)
            }
            Set::Ttl(ttl) if self.v6 => sockopt::set_ipv6_unicast_hops(descriptor, Some(ttl)),
            Set::Ttl(ttl) => sockopt::set_ip_ttl(descriptor, ttl.into()),
            Set::Tos(tos) if self.v6 => sockopt::set_ipv6_tclass(descriptor, tos.into()),
            Set::Tos(tos) => sockopt::set_ip_tos(descriptor, tos),
        }
        .map_err(refused("setsockopt"))
    }

    /// The socket gets what was asked for so far.
    fn dress(&self, connection: Connection, descriptor: &OwnedFd) -> Result<(), String> {
        sockopt::set_socket_oobinline(descriptor, true).map_err(refused("SO_OOBINLINE"))?;
        let (uses, wanted) = (sockopt::tcp_congestion(descriptor), self.controller);
        let uses = uses.map_err(refused("TCP_CONGESTION"))?;
        if uses != wanted {
            return Err(format!("Linux uses {uses} instead of {wanted}"));
        }
        let asked = self.asked.get(&connection);
        let mut asked = asked.into_iter().flatten();
        asked.try_for_each(|set| self.set(descriptor, *set))
    }

    fn accept(&mut self, connection: Connection) -> Result<(), String> {
        let until = self.now() + MOMENT;
        loop {
            let listener = self.listener.as_ref().ok_or("nothing listens")?;
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(listener, flags) {
                Ok(descriptor) => {
                    let remote = rustix::net::getpeername(&descriptor).map_err(refused("getpeername"))?;
                    let remote = remote.ok_or("a caller without an address")?;
                    let remote = SocketAddr::try_from(remote).map_err(refused("getpeername"))?;
                    if remote.port() != PEER_PORT + u16::from(connection) {
                        return Err(format!("the next caller is {remote}"));
                    }
                    self.dress(connection, &descriptor)?;
                    let mut socket = Socket::new(descriptor);
                    socket.opened = true;
                    self.sockets.insert(connection, socket);
                    return Ok(());
                }
                Err(Errno::AGAIN) if self.wait((self.now() + Duration::from_millis(2)).min(until))? => {}
                Err(why) => return Err(format!("accept: {why}")),
            }
        }
    }

    fn read(&mut self, connection: Connection, octets: u32) -> Result<(), String> {
        let socket = self.sockets.get_mut(&connection).ok_or("there is no socket")?;
        let mut data = vec![0; usize::try_from(octets).unwrap_or(0)];
        let mut got = 0;
        while got < data.len() {
            let rest = data.get_mut(got..).unwrap_or_default();
            match recv(&socket.descriptor, rest, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(format!("the stream ends after {octets}", octets = counted(got, "octet"))),
                Ok((read, _)) => got += read,
                Err(why) => return Err(format!("{why} after {octets}", octets = counted(got, "octet"))),
            }
        }
        let mut content = vec![0; data.len()];
        sent_by_peer(connection).fill(socket.read, &mut content);
        socket.read += data.len() as u64;
        if data != content {
            return Err("the data is not what the peer sent".to_owned());
        }
        Ok(())
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(refused("ip of iproute2"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("ip {}: {}", arguments.join(" "), said.trim()))
}

impl Subject for Kernel {
    fn run_until(&mut self, until: Instant) -> Result<(), String> {
        while self.wait(until)? {}
        Ok(())
    }

    fn next_packet(&mut self, until: Instant) -> Result<Option<(Instant, Vec<u8>)>, String> {
        while self.came.is_empty() && self.wait(until)? {}
        Ok(self.came.pop_front())
    }

    fn inject(&mut self, packet: &[u8]) -> Result<(), String> {
        let sent = self.tun.send(&Message::from_octets(packet), Address::NONE);
        sent.map(|_| ()).map_err(refused("writing to the device"))
    }

    fn call(&mut self, connection: Connection, call: Call) -> Result<(), String> {
        match call {
            Call::Listen(backlog) => {
                let socket = self.socket()?;
                listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX)).map_err(refused("listen"))?;
                self.listener = Some(socket);
            }
            Call::Connect => {
                let descriptor = self.socket()?;
                self.dress(connection, &descriptor)?;
                match connect(&descriptor, &peer(self.v6, connection)) {
                    Ok(()) | Err(Errno::INPROGRESS) => {}
                    Err(why) => return Err(format!("connect: {why}")),
                }
                self.sockets.insert(connection, Socket::new(descriptor));
            }
            Call::Accept => self.accept(connection)?,
            Call::Read(octets) => self.read(connection, octets)?,
            Call::Set(set) => {
                self.asked.entry(connection).or_default().push(set);
                if let Some(socket) = self.sockets.get(&connection) {
                    self.set(&socket.descriptor, set)?;
                }
            }
            Call::Close | Call::Abort => {
                let socket = self.sockets.remove(&connection).ok_or("there is no socket")?;
                if call == Call::Abort {
                    sockopt::set_socket_linger(&socket.descriptor, Some(Time::ZERO)).map_err(refused("SO_LINGER"))?;
                }
            }
            Call::Write(octets) | Call::Urge(octets) => {
                let socket = self.sockets.get_mut(&connection).ok_or("there is no socket")?;
                let octets = usize::try_from(octets).unwrap_or(0);
                let urgent = matches!(call, Call::Urge(_));
                socket.waiting.push_back((octets, urgent));
                socket.pump(connection);
            }
            Call::Shutdown => {
                let socket = self.sockets.get_mut(&connection).ok_or("there is no socket")?;
                socket.then = Some(call);
                socket.pump(connection);
            }
        }
        Ok(())
    }

    fn hears(
        &mut self,
        connection: Connection,
        hear: ProgramEvent,
        from: Instant,
        until: Instant,
    ) -> Result<(), String> {
        self.run_until(from)?;
        loop {
            let got = self.heard(connection, hear);
            let Err(why) = got else {
                return Ok(());
            };
            if !self.wait((self.now() + Duration::from_millis(2)).min(until))? && self.now() >= until {
                return Err(why);
            }
        }
    }

    fn sees(&mut self, _: Connection, _: StackView, _: Instant) -> Result<(), String> {
        Ok(())
    }

    fn forget(&mut self, connection: Connection) {
        self.sockets.remove(&connection);
        self.asked.remove(&connection);
    }

    fn mishap(&mut self) -> Option<String> {
        for socket in self.sockets.values_mut() {
            socket.look();
        }
        let error = self.sockets.iter().find_map(|(connection, socket)| {
            let why = socket.error?;
            Some(format!("connection {connection}: {why}"))
        });
        self.odd.take().or(error)
    }
}

impl Kernel {
    /// Whether the program hears this now.
    fn heard(&mut self, connection: Connection, hear: ProgramEvent) -> Result<(), String> {
        if hear == ProgramEvent::Offered {
            let listener = self.listener.as_ref().ok_or("nothing listens")?;
            let mut descriptors = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
            let _ = poll(&mut descriptors, Some(&Timespec::default()));
            let [descriptor] = descriptors;
            return if descriptor.revents().contains(PollFlags::IN) {
                Ok(())
            } else {
                Err("no caller waits".to_owned())
            };
        }
        if hear == ProgramEvent::Closed {
            return Ok(());
        }
        let socket = self.sockets.get_mut(&connection).ok_or("there is no socket")?;
        socket.look();
        let wanted: &[Errno] = match hear {
            ProgramEvent::Opened => {
                let events = socket.events();
                socket.opened |= events.contains(PollFlags::OUT) && !events.intersects(PollFlags::ERR | PollFlags::HUP);
                return if socket.opened { Ok(()) } else { Err(format!("{events:?}, {:?}", socket.error)) };
            }
            ProgramEvent::Readable(octets) => {
                let there = ioctl_fionread(&socket.descriptor).map_err(|why| why.to_string())?;
                return if there == u64::from(octets) { Ok(()) } else { Err(format!("readable {there}")) };
            }
            ProgramEvent::Ended => {
                let events = socket.events();
                return if events.contains(PollFlags::RDHUP) {
                    Ok(())
                } else {
                    Err(format!("{events:?}, {:?}", socket.error))
                };
            }
            // A peer that has ended its direction before it resets the connection breaks the pipe.
            ProgramEvent::Reset => &[Errno::CONNRESET, Errno::PIPE],
            ProgramEvent::Refused => &[Errno::CONNREFUSED],
            ProgramEvent::TimedOut => &[Errno::TIMEDOUT],
            ProgramEvent::Unreachable => &[Errno::HOSTUNREACH, Errno::NOPROTOOPT],
            ProgramEvent::NetUnreachable => &[Errno::NETUNREACH],
            ProgramEvent::Prohibited => &[Errno::ACCESS],
            ProgramEvent::Offered | ProgramEvent::Closed => return Ok(()),
        };
        match socket.error {
            Some(error) if wanted.contains(&error) => {
                socket.error = None;
                Ok(())
            }
            Some(error) => Err(error.to_string()),
            None => Err("no error".to_owned()),
        }
    }
}
