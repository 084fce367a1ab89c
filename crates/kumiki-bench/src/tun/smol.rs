//! smoltcp's end, as its own example over TUN does it: a packet for each system call, octets copied in and out.

use std::os::fd::AsFd as _;

use kumiki_io::{Clock as _, RealClock, Tun};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};

use super::{LIMIT_S, LINUX, PORT, PREFIX, STACK, Transfer, TunDirection};
use crate::load::{WRITE, content};

/// Of the socket, both ways, in octets: enough that no window holds it back. Other sizes were not tried.
const BUFFER: usize = 512 * 1024;

const FIRST_PORT: u16 = 10_000;

struct Nic<'a> {
    tun: &'a Tun,
    mtu: usize,
    /// Where a packet is read and put together.
    buffer: Vec<u8>,
}

struct Received<'a>(&'a [u8]);

struct ToSend<'a> {
    tun: &'a Tun,
    buffer: Vec<u8>,
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl TxToken for ToSend<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, len: usize, f: F) -> R {
        self.buffer.resize(len, 0);
        let result = f(&mut self.buffer);
        // What finds no room is lost, as on any line.
        let _ = rustix::io::write(self.tun.as_fd(), &self.buffer);
        SPARE.with_borrow_mut(|spare| *spare = self.buffer);
        result
    }
}

thread_local! {
    /// One buffer to send from.
    static SPARE: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Device for Nic<'_> {
    type RxToken<'b>
        = Received<'b>
    where
        Self: 'b;
    type TxToken<'b>
        = ToSend<'b>
    where
        Self: 'b;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, ToSend<'_>)> {
        let len = rustix::io::read(self.tun.as_fd(), &mut self.buffer[..]).ok()?;
        let received = Received(self.buffer.get(..len)?);
        Some((received, ToSend { tun: self.tun, buffer: SPARE.take() }))
    }

    fn transmit(&mut self, _: Instant) -> Option<ToSend<'_>> {
        Some(ToSend { tun: self.tun, buffer: SPARE.take() })
    }
}

pub(super) fn run(tun: &Tun, transfer: Transfer) -> Result<(), String> {
    let mtu = usize::from(transfer.mtu);
    let mut nic = Nic { tun, mtu, buffer: vec![0; mtu] };
    let clock = RealClock::start();
    let now = || Instant::from_micros(i64::try_from(clock.now().as_nanos() / 1000).unwrap_or(0));
    let mut interface = interface(&mut nic, now());
    let mut sockets = SocketSet::new(Vec::new());
    let buffer = || SocketBuffer::new(vec![0; BUFFER]);
    let mut socket = Socket::new(buffer(), buffer());
    socket.set_nagle_enabled(false);
    socket.set_congestion_control(CongestionControl::None);
    match transfer.way {
        TunDirection::In => socket.listen(PORT).map_err(|why| why.to_string())?,
        TunDirection::Out => {
            let remote = IpEndpoint::new(IpAddress::Ipv4(LINUX), PORT);
            socket.connect(interface.context(), remote, FIRST_PORT).map_err(|why| why.to_string())?;
        }
    }
    let handle = sockets.add(socket);
    let content = content(WRITE);
    let mut out = vec![0; WRITE];
    let mut moved = 0;
    loop {
        interface.poll(now(), &mut nic, &mut sockets);
        let socket = sockets.get_mut::<Socket<'_>>(handle);
        match transfer.way {
            TunDirection::In => {
                while let Ok(len @ 1..) = socket.recv_slice(&mut out) {
                    moved += len as u64;
                }
                if moved >= transfer.octets && !socket.may_recv() {
                    socket.close();
                    interface.poll(now(), &mut nic, &mut sockets);
                    return Ok(());
                }
            }
            TunDirection::Out => {
                while moved < transfer.octets && socket.can_send() {
                    let left = usize::try_from(transfer.octets - moved).unwrap_or(WRITE).min(WRITE);
                    let sent = socket.send_slice(content.get(..left).unwrap_or_default());
                    moved += sent.map_err(|why| why.to_string())? as u64;
                }
                if moved >= transfer.octets && socket.send_queue() == 0 {
                    return Ok(());
                }
            }
        }
        if clock.now().as_nanos() > LIMIT_S * 1_000_000_000 {
            return Err(format!("smoltcp: the transfer did not end within {LIMIT_S} s: {moved} octets"));
        }
        wait(tun, &mut interface, &sockets, now());
    }
}

/// Until a packet comes, or the stack has something to do.
fn wait(tun: &Tun, interface: &mut Interface, sockets: &SocketSet<'_>, now: Instant) {
    let wait = interface.poll_delay(now, sockets).map_or(1_000_000, |it| it.total_micros());
    if wait > 0 {
        let nanos = i64::try_from(wait.min(1_000_000) * 1000).unwrap_or(0);
        let timeout = Timespec { tv_sec: nanos / 1_000_000_000, tv_nsec: nanos % 1_000_000_000 };
        let mut descriptors = [PollFd::from_borrowed_fd(tun.as_fd(), PollFlags::IN)];
        let _ = poll(&mut descriptors, Some(&timeout));
    }
}

/// An interface with our address, and no sockets.
fn interface(nic: &mut Nic<'_>, now: Instant) -> Interface {
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), nic, now);
    interface.update_ip_addrs(|addresses| {
        // One address fits.
        let _ = addresses.push(IpCidr::new(IpAddress::Ipv4(STACK), PREFIX));
    });
    interface
}

/// Answers on as many connections what comes, until they have ended.
pub(super) fn answer(tun: &Tun, mtu: u16, connections: usize) -> Result<(), String> {
    let mut nic = Nic { tun, mtu: mtu.into(), buffer: vec![0; mtu.into()] };
    let clock = RealClock::start();
    let now = || Instant::from_micros(i64::try_from(clock.now().as_nanos() / 1000).unwrap_or(0));
    let mut interface = interface(&mut nic, now());
    let mut sockets = SocketSet::new(Vec::new());
    let mut handles = Vec::new();
    for _ in 0..connections {
        let buffer = || SocketBuffer::new(vec![0; WRITE]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        socket.set_congestion_control(CongestionControl::None);
        socket.listen(PORT).map_err(|why| why.to_string())?;
        handles.push(sockets.add(socket));
    }
    let mut octets = vec![0; WRITE];
    let mut open = connections;
    while open > 0 {
        interface.poll(now(), &mut nic, &mut sockets);
        let mut has_answered = false;
        handles.retain(|handle| {
            let socket = sockets.get_mut::<Socket<'_>>(*handle);
            while socket.can_send()
                && let Ok(len @ 1..) = socket.recv_slice(&mut octets)
            {
                // There is as much room as can have come.
                has_answered |= socket.send_slice(octets.get(..len).unwrap_or_default()).is_ok();
            }
            let is_over = matches!(socket.state(), State::CloseWait | State::Closed);
            if is_over {
                socket.close();
            }
            !is_over
        });
        open = handles.len();
        if has_answered || open == 0 {
            interface.poll(now(), &mut nic, &mut sockets);
        } else if clock.now().as_nanos() > LIMIT_S * 1_000_000_000 {
            return Err(format!("smoltcp: {open} connections have not ended within {LIMIT_S} s"));
        } else {
            wait(tun, &mut interface, &sockets, now());
        }
    }
    Ok(())
}
