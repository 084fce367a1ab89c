//! smoltcp with itself: two interfaces joined by queues of recycled buffers.
//!
//! Checksums are computed and verified by it, octets copied in by `send_slice` and out by `recv_slice`, as with ours.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use kumiki_io::{Clock, RealClock};
use serde::Serialize;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};

use crate::load::{Load, Outcome, SMALL, WRITE, Work, content, cpu_s, wrong};

const PORT: u16 = 5001;
const FIRST_PORT: u16 = 10_000;
/// How often nothing may change before a run is given up.
const MAX_IDLE_ROUNDS: u64 = 200_000_000;

/// What is chosen for smoltcp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Setting {
    /// Of each socket, both ways, in octets.
    pub(crate) buffer: usize,
    /// Acknowledge every second segment at most, as its default is.
    pub(crate) delay_acks: bool,
    /// Congestion control, and timestamps with it; its default has neither.
    pub(crate) cubic: bool,
}

#[derive(Debug, Default)]
struct Line {
    /// Buffers of one MTU, of which so much is used.
    queue: VecDeque<(Vec<u8>, usize)>,
    packets: u64,
    longest: usize,
}

type Shared<T> = Rc<RefCell<T>>;

struct Nic {
    out: Shared<Line>,
    inward: Shared<Line>,
    spare: Shared<Vec<Vec<u8>>>,
    mtu: usize,
}

struct Received {
    octets: Vec<u8>,
    len: usize,
    spare: Shared<Vec<Vec<u8>>>,
}

struct ToSend {
    out: Shared<Line>,
    spare: Shared<Vec<Vec<u8>>>,
    mtu: usize,
}

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        let result = f(self.octets.get(..self.len).unwrap_or_default());
        self.spare.borrow_mut().push(self.octets);
        result
    }
}

impl TxToken for ToSend {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let spare = self.spare.borrow_mut().pop();
        let mut octets = spare.unwrap_or_else(|| vec![0; self.mtu]);
        let result = f(octets.get_mut(..len).unwrap_or_default());
        let mut line = self.out.borrow_mut();
        line.packets += 1;
        line.longest = line.longest.max(len);
        line.queue.push_back((octets, len));
        result
    }
}

impl Device for Nic {
    type RxToken<'a> = Received;
    type TxToken<'a> = ToSend;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }

    fn receive(&mut self, _: Instant) -> Option<(Received, ToSend)> {
        let (octets, len) = self.inward.borrow_mut().queue.pop_front()?;
        let received = Received { octets, len, spare: Rc::clone(&self.spare) };
        Some((received, self.transmit(Instant::ZERO)?))
    }

    fn transmit(&mut self, _: Instant) -> Option<ToSend> {
        Some(ToSend { out: Rc::clone(&self.out), spare: Rc::clone(&self.spare), mtu: self.mtu })
    }
}

/// Milliseconds for its timestamps; it takes a plain function, so this one counts its calls: as cheap as can be.
fn timestamp() -> u32 {
    use core::sync::atomic::{AtomicU32, Ordering};
    static CALLS: AtomicU32 = AtomicU32::new(1 << 20);
    CALLS.fetch_add(1, Ordering::Relaxed) >> 10
}

struct End {
    nic: Nic,
    interface: Interface,
    sockets: SocketSet<'static>,
    handles: Vec<SocketHandle>,
}

impl End {
    fn new(host: u8, mut nic: Nic) -> Self {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = host.into();
        let mut interface = Interface::new(config, &mut nic, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let own = IpCidr::new(IpAddress::v4(10, 0, 0, host), 24);
            // One address fits.
            let _ = addresses.push(own);
        });
        Self { nic, interface, sockets: SocketSet::new(Vec::new()), handles: Vec::new() }
    }

    fn add(&mut self, setting: Setting) -> SocketHandle {
        let buffer = || SocketBuffer::new(vec![0; setting.buffer]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_nagle_enabled(false);
        if !setting.delay_acks {
            socket.set_ack_delay(None);
        } else {
            socket.set_ack_delay(Some(Duration::from_millis(10)));
        }
        if setting.cubic {
            socket.set_congestion_control(CongestionControl::Cubic);
            socket.set_tsval_generator(Some(timestamp));
        } else {
            socket.set_congestion_control(CongestionControl::None);
        }
        let handle = self.sockets.add(socket);
        self.handles.push(handle);
        handle
    }

    fn poll(&mut self, now: Instant) {
        self.interface.poll(now, &mut self.nic, &mut self.sockets);
    }
}

#[derive(Clone, Copy, Default)]
struct Progress {
    written: u64,
    read: u64,
    waits: bool,
}

struct Run {
    load: Load,
    clock: RealClock,
    caller: End,
    answerer: End,
    content: Vec<u8>,
    buffer: Vec<u8>,
    progress: Vec<Progress>,
    octets: u64,
    wrong: u64,
}

impl Run {
    fn new(load: Load, setting: Setting) -> Result<Self, String> {
        let (there, back): (Shared<Line>, Shared<Line>) = Default::default();
        // Last in, first out, for both: what one end sends the other gives back.
        let spare: Shared<Vec<Vec<u8>>> = Rc::default();
        let nic = |out: &Shared<Line>, inward: &Shared<Line>| Nic {
            out: Rc::clone(out),
            inward: Rc::clone(inward),
            spare: Rc::clone(&spare),
            mtu: load.mtu,
        };
        let mut caller = End::new(1, nic(&there, &back));
        let mut answerer = End::new(2, nic(&back, &there));
        for number in 0..load.sessions {
            let handle = answerer.add(setting);
            let socket = answerer.sockets.get_mut::<Socket<'_>>(handle);
            socket.listen(PORT).map_err(|why| why.to_string())?;
            let handle = caller.add(setting);
            let socket = caller.sockets.get_mut::<Socket<'_>>(handle);
            let remote = IpEndpoint::new(IpAddress::v4(10, 0, 0, 2), PORT);
            let local = FIRST_PORT + u16::try_from(number).unwrap_or(0);
            socket.connect(caller.interface.context(), remote, local).map_err(|why| why.to_string())?;
        }
        Ok(Self {
            load,
            clock: RealClock::start(),
            caller,
            answerer,
            content: content(load.write()),
            buffer: vec![0; WRITE],
            progress: vec![Progress::default(); load.sessions as usize],
            octets: 0,
            wrong: 0,
        })
    }

    fn poll(&mut self) {
        let nanos = self.clock.now().as_nanos();
        let now = Instant::from_micros(i64::try_from(nanos / 1000).unwrap_or(0));
        self.caller.poll(now);
        self.answerer.poll(now);
    }

    fn open(&mut self) -> Result<(), String> {
        for _ in 0..1000 {
            self.poll();
            let all = self.caller.handles.iter().all(|&handle| {
                let socket = self.caller.sockets.get_mut::<Socket<'_>>(handle);
                socket.may_send()
            });
            if all {
                return Ok(());
            }
        }
        Err("connections did not open".to_owned())
    }

    fn write(&mut self, octets: u64) {
        for (handle, progress) in self.caller.handles.iter().zip(&mut self.progress) {
            let socket = self.caller.sockets.get_mut::<Socket<'_>>(*handle);
            while progress.written < octets && socket.can_send() {
                let left = usize::try_from(octets - progress.written).unwrap_or(WRITE);
                let at = progress.written % self.content.len() as u64;
                let at = usize::try_from(at).unwrap_or(0);
                let piece = self.content.get(at..).unwrap_or_default();
                let piece = piece.get(..left.min(piece.len())).unwrap_or_default();
                match socket.send_slice(piece) {
                    Ok(taken) => progress.written += taken as u64,
                    Err(_) => break,
                }
            }
        }
    }

    fn read(&mut self) {
        for (handle, progress) in self.answerer.handles.iter().zip(&mut self.progress) {
            let socket = self.answerer.sockets.get_mut::<Socket<'_>>(*handle);
            while socket.can_recv() {
                let Ok(len) = socket.recv_slice(&mut self.buffer) else {
                    break;
                };
                if self.load.check {
                    let piece = self.buffer.get(..len).unwrap_or_default();
                    self.wrong += wrong(&self.content, progress.read, piece);
                }
                progress.read += len as u64;
                self.octets += len as u64;
            }
        }
    }

    fn exchange(&mut self, count: u64) -> u64 {
        let mut done = 0;
        for (handle, progress) in self.caller.handles.iter().zip(&mut self.progress) {
            let socket = self.caller.sockets.get_mut::<Socket<'_>>(*handle);
            if progress.waits && socket.can_recv() && socket.recv_queue() >= SMALL {
                let _ = socket.recv_slice(&mut self.buffer);
                progress.waits = false;
                progress.read += 1;
            }
            if !progress.waits && progress.written < count && socket.can_send() {
                let request = self.content.get(..SMALL).unwrap_or_default();
                progress.waits = socket.send_slice(request) == Ok(SMALL);
                progress.written += 1;
            }
            done += progress.read;
        }
        done
    }

    fn reply(&mut self) {
        for handle in &self.answerer.handles {
            let socket = self.answerer.sockets.get_mut::<Socket<'_>>(*handle);
            if socket.can_recv() && socket.recv_queue() >= SMALL {
                let len = socket.recv_slice(&mut self.buffer).unwrap_or(0);
                self.octets += len as u64;
                let reply = self.buffer.get(..SMALL).unwrap_or_default();
                let _ = socket.send_slice(reply);
            }
        }
    }

    fn work(&mut self) -> Result<(), String> {
        let mut idle = 0;
        loop {
            let before = self.octets;
            match self.load.work {
                Work::Octets(octets) => {
                    self.write(octets);
                    self.poll();
                    self.read();
                    if self.octets >= self.load.octets() {
                        return Ok(());
                    }
                }
                Work::Exchanges(count) => {
                    if self.exchange(count) >= self.load.exchanges() {
                        return Ok(());
                    }
                    self.poll();
                    self.reply();
                }
            }
            idle = if self.octets == before { idle + 1 } else { 0 };
            if idle > MAX_IDLE_ROUNDS / u64::from(self.load.sessions) {
                return Err("smoltcp: the transfer did not end".to_owned());
            }
        }
    }
}

/// One run.
pub(crate) fn run(load: Load, setting: Setting) -> Result<Outcome, String> {
    let mut run = Run::new(load, setting)?;
    run.open()?;
    let begin = cpu_s();
    run.work()?;
    let cpu_s = cpu_s() - begin;
    let (there, back) = (run.caller.nic.out.borrow(), run.answerer.nic.out.borrow());
    Ok(Outcome {
        cpu_s,
        octets: run.octets,
        packets: there.packets + back.packets,
        longest: there.longest.max(back.longest),
        wrong: run.wrong,
        again: 0,
    })
}
