//! Two stacks whose packets a test carries, in its own time.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kumiki_net::host::{HostConfig, PacketStack};

/// What becomes of a packet of the host with this number on its way.
type Path<'a> = Box<dyn FnMut(usize, Vec<u8>) -> Vec<Vec<u8>> + 'a>;

/// Something that stands where the kernel is, with a device of several queues at host 0: it sees by which queue a
/// packet came, or says by which one goes to the host.
pub(crate) trait Queues {
    fn came(&mut self, queue: usize, packet: &[u8]);
    fn goes(&mut self, packet: &[u8]) -> usize;
}

/// Each packet goes to the next of so many queues.
pub(crate) struct InTurn {
    queues: usize,
    next: usize,
}

impl InTurn {
    pub(crate) const fn of(queues: usize) -> Self {
        Self { queues, next: 0 }
    }
}

impl Queues for InTurn {
    fn came(&mut self, _: usize, _: &[u8]) {}

    fn goes(&mut self, _: &[u8]) -> usize {
        self.next = (self.next + 1) % self.queues;
        self.next
    }
}

pub(crate) struct Exchange<'a> {
    pub(crate) hosts: [PacketStack; 2],
    pub(crate) now: Duration,
    path: Path<'a>,
    /// Host 0 has so many queues, which are these.
    queues: (usize, Box<dyn Queues + 'a>),
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(configs: [&HostConfig; 2]) -> Self {
        let hosts = [1, 2].map(|n| PacketStack::new(configs[n - 1], n as u64).unwrap());
        let (path, queues) = (Box::new(|_, packet| vec![packet]), (1, Box::new(InTurn::of(1)) as _));
        Self { hosts, now: Duration::ZERO, path, queues }
    }

    /// Host 0 has so many queues.
    pub(crate) fn by_queues(mut self, number: usize, queues: impl Queues + 'a) -> Self {
        self.queues = (number, Box::new(queues));
        self
    }

    /// `rule` says of each packet whether it arrives.
    pub(crate) fn with(self, mut rule: impl FnMut(usize, &[u8]) -> bool + 'a) -> Self {
        self.through(move |from, packet| if rule(from, &packet) { vec![packet] } else { Vec::new() })
    }

    pub(crate) fn through(mut self, path: impl FnMut(usize, Vec<u8>) -> Vec<Vec<u8>> + 'a) -> Self {
        self.path = Box::new(path);
        self
    }

    /// Brings over what there is at this instant: whether there was anything, and when something is due next.
    fn carry(&mut self) -> (bool, Option<Duration>) {
        let (mut any, mut next) = (false, None::<Duration>);
        for from in 0..2 {
            any |= self.hosts[from].needs_poll();
            let due = self.hosts[from].poll(self.now).unwrap();
            next = [next, due].into_iter().flatten().min();
            let (number, queues) = &mut self.queues;
            for queue in 0..if from == 0 { *number } else { 1 } {
                while let Some(packet) = self.hosts[from].transmit_on(queue) {
                    any = true;
                    if from == 0 {
                        queues.came(queue, &packet);
                    }
                    for packet in (self.path)(from, packet) {
                        let queue = if from == 0 { 0 } else { queues.goes(&packet) };
                        self.hosts[1 - from].receive_on(queue, &packet);
                    }
                }
            }
        }
        (any, next)
    }

    /// Runs a program of both hosts.
    pub(crate) fn run<T>(&mut self, program: impl Future<Output = T>) -> T {
        let mut program = pin!(program);
        loop {
            let (_, next) = self.carry();
            if let Poll::Ready(done) = program.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return done;
            }
            if !self.hosts.iter().any(PacketStack::needs_poll) {
                self.now = next.expect("the program waits for what never comes");
            }
        }
    }

    /// Lets so much time pass.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            match self.carry() {
                (true, _) => {}
                (false, Some(next)) if next <= until => self.now = next,
                (false, _) => break,
            }
        }
        self.now = until;
    }
}

/// The sum of RFC 1071.
pub(crate) fn sum(octets: &[u8]) -> [u8; 2] {
    let pairs = octets.chunks(2).map(|it| u32::from(u16::from_be_bytes([it[0], *it.get(1).unwrap_or(&0)])));
    let sum: u32 = pairs.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    (!u16::try_from(folded).unwrap()).to_be_bytes()
}

/// The sequence number of a SYN over IPv4, and of no other packet.
pub(crate) fn syn(packet: &[u8]) -> Option<u32> {
    let is_syn = packet[9] == 6 && packet[33] & 2 != 0;
    is_syn.then(|| u32::from_be_bytes(packet[24..28].try_into().unwrap()))
}

/// A packet of IPv4 in fragments (RFC 791 section 3.2) of so many octets at most, a multiple of 8, whatever it says of
/// that itself.
pub(crate) fn fragments(packet: &[u8], most: usize) -> Vec<Vec<u8>> {
    let (header, data) = packet.split_at(20);
    let last = data.len().saturating_sub(1) / most;
    let cut = data.chunks(most).enumerate().map(|(n, piece)| {
        let mut all = [header, piece].concat();
        let len = u16::try_from(all.len()).unwrap().to_be_bytes();
        all[2..4].copy_from_slice(&len);
        let at = u16::try_from(n * most / 8).unwrap() | if n < last { 0x2000 } else { 0 };
        all[6..8].copy_from_slice(&at.to_be_bytes());
        all[10..12].copy_from_slice(&[0, 0]);
        let check = sum(&all[..20]);
        all[10..12].copy_from_slice(&check);
        all
    });
    cut.collect()
}

/// What a router says of `packet`: `kind` and `code` of RFC 792 or RFC 4443, and an MTU where that is asked for: 576
/// (RFC 1191), or 1280.
pub(crate) fn error(packet: &[u8], [kind, code]: [u8; 2]) -> Vec<u8> {
    if packet[0] >> 4 == 6 {
        return error_v6(packet, [kind, code]);
    }
    let mut icmp = [&[kind, code, 0, 0, 0, 0, 2, 0x40][..], &packet[..28]].concat();
    let check = sum(&icmp);
    icmp[2..4].copy_from_slice(&check);
    let len = u16::try_from(20 + icmp.len()).unwrap().to_be_bytes();
    let router = [packet[12], packet[13], packet[14], 9];
    let mut ip = [&[0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, 1, 0, 0][..], &router, &packet[12..16]].concat();
    let check = sum(&ip);
    ip[10..12].copy_from_slice(&check);
    [&ip[..], &icmp].concat()
}

fn error_v6(packet: &[u8], [kind, code]: [u8; 2]) -> Vec<u8> {
    let router = [&packet[8..23], &[9]].concat();
    // The field is an MTU where there is one, and where something is wrong the place: here that of the next header.
    let field = if kind == 2 { 1280_u32 } else { 6 };
    let mut icmp = [&[kind, code, 0, 0][..], &field.to_be_bytes(), packet].concat();
    let len = u16::try_from(icmp.len()).unwrap().to_be_bytes();
    let ends = [&router[..], &packet[8..24]].concat();
    let check = sum(&[&ends[..], &[0, 0, len[0], len[1], 0, 0, 0, 58], &icmp].concat());
    icmp[2..4].copy_from_slice(&check);
    [&[0x60, 0, 0, 0, len[0], len[1], 58, 64][..], &ends, &icmp].concat()
}
