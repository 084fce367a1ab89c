//! Strangers who call and never answer, while the transfer runs.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 4987 section 2.1 |
//! | What it is | SYNs from addresses of the same network that nobody has, put before the host that listens |
//! | What comes of it | SYN,ACKs that take room on the line and reach a host that is not meant; where there is no room for callers, cookies or nothing |
//! | Left out | strangers who go on after the SYN,ACK; those that use the peer's address |

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kumiki_graph::{Address, Duration, Instant, Rng};
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::crc::Aal5Crc;
use kumiki_octets::{Message, Sum};
use kumiki_wire::atm::aal5;
use kumiki_wire::inet::llc_snap;
use kumiki_wire::inet::tcp::{self, Flags, Options, Seq};
use kumiki_wire::inet::{ipv4, ipv6};

use super::{HOST, LINE};
use crate::case::{Case, Flood, Stack, Version};

/// Stands before a host.
pub(super) struct FloodSource {
    stack: Stack,
    version: Version,
    /// The virtual channel, where there is ATM.
    address: Address,
    to: (IpAddr, u16),
    rng: Rng,
    every: Duration,
    next: Instant,
    left: u32,
    sent: u64,
}

impl FloodSource {
    /// What `flood` says, to end `number` and its `port`.
    pub(super) fn new(case: &Case, flood: Flood, (number, port): (usize, u16), address: Address) -> Self {
        Self {
            stack: case.stack,
            version: case.version,
            address,
            to: (case.version.address(number), port),
            rng: Rng::new(case.seed, 254),
            every: flood.every,
            next: Instant::ZERO + flood.after,
            left: flood.calls,
            sent: 0,
        }
    }

    /// An address of the network beyond those of both ends, and of the gateway.
    fn stranger(&mut self) -> IpAddr {
        let number = 3 + self.rng.below(250);
        match self.version {
            Version::Four => {
                let number = u32::try_from(number).unwrap_or(3);
                IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | number))
            }
            Version::Six => {
                let number = u128::from(self.rng.below(1 << 60)) << 8 | u128::from(number);
                IpAddr::V6(Ipv6Addr::from_bits(0xfd00 << 112 | number & ((1 << 64) - 1)))
            }
        }
    }

    fn call(&mut self) -> Unit {
        let source_port = 1024 + u16::try_from(self.rng.below(64_000)).unwrap_or(0);
        let seq = Seq(u32::try_from(self.rng.below(1 << 32)).unwrap_or(0));
        let (to, destination_port) = self.to;
        let header = tcp::Header {
            source_port,
            destination_port,
            seq,
            flags: Flags::SYN,
            window: 65_535,
            options: Options { mss: Some(1_000), ..Options::NONE },
            ..tcp::Header::default()
        };
        let mut data = segment(self.stranger(), to, header);
        if self.stack != Stack::Ip {
            let type_of = match self.version {
                Version::Four => llc_snap::Header::IPV4,
                Version::Six => llc_snap::Header::IPV6,
            };
            type_of.emit(data.push(llc_snap::LEN));
        }
        if self.stack == Stack::Aal5 {
            data = pdu(&data);
        }
        let address = self.address;
        Unit::Frame { data, address }
    }
}

impl Element for FloodSource {
    fn offer(&mut self, _: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        out.put(HOST + LINE - port, unit);
    }

    fn next_deadline(&self) -> Option<Instant> {
        (self.left > 0).then_some(self.next)
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        while self.left > 0 && self.next <= now {
            self.left -= 1;
            self.sent += 1;
            self.next += self.every;
            let call = self.call();
            out.put(HOST, call);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("calls", self.sent)]
    }
}

/// A segment without text in an IP packet.
pub(super) fn segment(source: IpAddr, destination: IpAddr, header: tcp::Header) -> Message {
    let mut data = Message::new();
    let len = u16::try_from(header.len()).unwrap_or(0);
    let emit = |checksum, out: &mut [u8]| tcp::Header { checksum, ..header }.emit(out);
    emit(0, data.push(header.len()));
    let protocol = ipv4::protocol::TCP;
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let pseudo = ipv4::pseudo_header(source, destination, protocol, len);
            summed(&mut data, &header, &pseudo);
            let ip = ipv4::Header { total_length: 20 + len, protocol, source, destination, ..ipv4::Header::default() };
            ip.emit_summed(data.push(ipv4::MIN_LEN));
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let pseudo = ipv6::pseudo_header(source, destination, protocol, len.into());
            summed(&mut data, &header, &pseudo);
            let ip = ipv6::Header {
                payload_length: len,
                next_header: protocol,
                source,
                destination,
                ..ipv6::Header::default()
            };
            ip.emit(data.push(ipv6::LEN));
        }
        _ => {}
    }
    data
}

/// Puts the checksum into a segment that is `header` alone.
fn summed(data: &mut Message, header: &tcp::Header, pseudo_header: &[u8]) {
    let checksum = Sum::of(pseudo_header).plus(data.sum()).checksum();
    *data = Message::new();
    tcp::Header { checksum, ..*header }.emit(data.push(header.len()));
}

/// The CPCS-PDU of AAL5 around `sdu`.
fn pdu(sdu: &Message) -> Message {
    let mut octets = sdu.to_vec();
    let length = u16::try_from(octets.len()).unwrap_or(0);
    octets.resize(octets.len() + aal5::pad_len(octets.len()) + aal5::LEN, 0);
    let mut trailer = aal5::Trailer { length, ..aal5::Trailer::default() };
    let at = octets.len() - aal5::LEN;
    let (front, back) = octets.split_at_mut(at);
    trailer.emit(back);
    let mut crc = Aal5Crc::new();
    crc.update(front);
    crc.update(back.get(..4).unwrap_or_default());
    trailer.crc = crc.finish();
    trailer.emit(back);
    Message::from_octets(&octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Transport;
    use crate::checker::Checker;
    use crate::path::VC;
    use crate::tap::{Shared, Tap, TcpWitness, with};
    use crate::user::Facts;
    use kumiki_octets::Pattern;
    use std::sync::{Arc, Mutex};

    /// The tap, which knows no strangers here, finds nothing damaged.
    #[test]
    fn calls_are_intact_on_every_stack() {
        for stack in [Stack::Ip, Stack::Aal5, Stack::Cells] {
            for version in [Version::Four, Version::Six] {
                let mut case = Case::of(Transport::Tcp, 0);
                (case.stack, case.version) = (stack, version);
                let end = (version, &case.ends[1]);
                let checker = Checker::new(1, end, Pattern::Counter, &Arc::new(Facts::default()));
                let known = None;
                let witness = TcpWitness { stack, known, checker };
                let shared: Shared = Arc::new(Mutex::new(witness));
                let mut tap = Tap::new(&shared);
                let flood = Flood { calls: 100, after: Duration::ZERO, every: Duration::from_micros(1) };
                let mut strangers = FloodSource::new(&case, flood, (1, 7), VC);
                let mut out = Outlet::default();
                while let Some(at) = strangers.next_deadline() {
                    strangers.poll(at, &mut out);
                }
                let calls: Vec<_> = out.drain().collect();
                assert_eq!(calls.len(), 100);
                for (port, call) in calls {
                    assert_eq!(port, HOST);
                    tap.offer(Instant::ZERO, LINE, call, &mut out);
                }
                let seen = with(&shared, |witness| witness.evidence(Instant::ZERO));
                assert_eq!((seen.packets, seen.damaged), (100, 0));
            }
        }
    }
}
