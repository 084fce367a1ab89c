//! What somebody decides about single packets on the network between hosts.

use core::net::IpAddr;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kumiki_octets::Message;
use kumiki_wire::inet::ipv4::protocol;

use super::net::Net;

/// A packet on the network, as rules see it. Fragments are as they are: of all but the first nothing is known behind
/// the IP header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Its source.
    pub src: IpAddr,
    /// Its destination.
    pub dst: IpAddr,
    /// Its time to live, or hop limit.
    pub ttl: u8,
    /// What it carries.
    pub payload: Payload,
    /// How long it is, in octets, with its IP header.
    pub len: usize,
}

impl Packet {
    /// How long it is, in octets, with its IP header.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::try_from(self.len).unwrap_or(u32::MAX)
    }
}

/// What a packet carries.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Payload {
    /// A datagram of UDP.
    Udp(UdpDatagram),
    /// A segment of TCP.
    Tcp(TcpSegment),
    /// Something else, such as ICMP.
    Other {
        /// The number of its protocol.
        protocol: u8,
        /// Its octets.
        payload: Bytes,
    },
}

/// A datagram of UDP (RFC 768).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpDatagram {
    /// The port that it comes from.
    pub src_port: u16,
    /// The port that it goes to.
    pub dst_port: u16,
    /// What is in it.
    pub payload: Bytes,
}

/// A segment of TCP (RFC 9293 section 3.1), without its options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpSegment {
    /// The port that it comes from.
    pub src_port: u16,
    /// The port that it goes to.
    pub dst_port: u16,
    /// The number of its first octet, or of its SYN.
    pub seq: u32,
    /// The number of the octet that its sender expects next.
    pub ack: u32,
    /// Its flags.
    pub flags: TcpFlags,
    /// The window, as it stands there: to be scaled, but in SYNs.
    pub window: u16,
    /// Its octets of the stream.
    pub payload: Bytes,
}

/// The control bits of a segment (RFC 9293 section 3.1).
#[expect(clippy::struct_excessive_bools, reason = "they are bits, of which any may be set")]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpFlags {
    /// It begins a direction.
    pub syn: bool,
    /// It acknowledges.
    pub ack: bool,
    /// It ends a direction.
    pub fin: bool,
    /// It ends the connection at once.
    pub rst: bool,
    /// What came is to be handed up.
    pub psh: bool,
    /// Its urgent pointer means something.
    pub urg: bool,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The next rule decides, and where there is none the network, as without rules.
    Pass,
    /// It arrives after so long, whatever the latency of the network is. Cuts and hosts that are down lose it even so.
    Deliver(Duration),
    /// It is lost.
    Drop,
}

/// Decides about each packet that enters the network between hosts; what a host sends to itself is not among these.
pub trait Rule: Send + 'static {
    /// What becomes of it.
    fn on_packet(&mut self, packet: &Packet) -> Verdict;
}

impl<F: FnMut(&Packet) -> Verdict + Send + 'static> Rule for F {
    fn on_packet(&mut self, packet: &Packet) -> Verdict {
        self(packet)
    }
}

#[derive(Default)]
struct State {
    /// In the order of being added, by their numbers.
    rules: Vec<(u64, Box<dyn Rule>)>,
    /// Those that are being asked, so that one that was removed meanwhile does not come back.
    removed: Vec<u64>,
    number: u64,
}

/// The rules of a network.
#[derive(Clone, Default)]
pub(super) struct Rules(Arc<Mutex<State>>);

impl Rules {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, rule: Box<dyn Rule>) -> u64 {
        let mut state = self.lock();
        state.number += 1;
        let number = state.number;
        state.rules.push((number, rule));
        number
    }

    fn remove(&self, number: u64) {
        let mut state = self.lock();
        state.rules.retain(|it| it.0 != number);
        state.removed.push(number);
    }

    /// What the rules say of a packet.
    pub(super) fn judge(&self, data: &mut Message) -> Verdict {
        let mut asked = {
            let mut state = self.lock();
            if state.rules.is_empty() {
                return Verdict::Pass;
            }
            state.removed.clear();
            core::mem::take(&mut state.rules)
        };
        let mut verdict = Verdict::Pass;
        if let Some(packet) = parse(&data.to_vec()) {
            // No lock is held: a rule may add others.
            let mut verdicts = asked.iter_mut().map(|(_, rule)| rule.on_packet(&packet));
            verdict = verdicts.find(|it| *it != Verdict::Pass).unwrap_or(Verdict::Pass);
        }
        let mut state = self.lock();
        let State { rules, removed, .. } = &mut *state;
        asked.retain(|it| !removed.contains(&it.0));
        asked.append(rules);
        *rules = asked;
        verdict
    }
}

impl core::fmt::Debug for Rules {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} rules", self.lock().rules.len())
    }
}

fn parse(octets: &[u8]) -> Option<Packet> {
    let address = |at: usize, len: usize| octets.get(at..at + len);
    let v4 = |at| Some(IpAddr::from(<[u8; 4]>::try_from(address(at, 4)?).ok()?));
    let v6 = |at| Some(IpAddr::from(<[u8; 16]>::try_from(address(at, 16)?).ok()?));
    let first = *octets.first()?;
    let (src, dst, ttl, protocol, at, is_first) = match first >> 4 {
        4 => {
            let fragment = u16::from_be_bytes([*octets.get(6)?, *octets.get(7)?]) & 0x1fff;
            (v4(12)?, v4(16)?, *octets.get(8)?, *octets.get(9)?, usize::from(first & 0xf) * 4, fragment == 0)
        }
        6 => (v6(8)?, v6(24)?, *octets.get(7)?, *octets.get(6)?, 40, true),
        _ => return None,
    };
    let data = octets.get(at..)?;
    let known = is_first.then(|| transport(protocol, data)).flatten();
    let payload = known.unwrap_or_else(|| Payload::Other { protocol, payload: Bytes::copy_from_slice(data) });
    Some(Packet { src, dst, ttl, payload, len: octets.len() })
}

fn transport(protocol: u8, data: &[u8]) -> Option<Payload> {
    let rest = |at: usize| data.get(at..).map(Bytes::copy_from_slice);
    match (protocol, data) {
        (protocol::UDP, &[s0, s1, d0, d1, ..]) => Some(Payload::Udp(UdpDatagram {
            src_port: u16::from_be_bytes([s0, s1]),
            dst_port: u16::from_be_bytes([d0, d1]),
            payload: rest(8)?,
        })),
        (protocol::TCP, &[s0, s1, d0, d1, n0, n1, n2, n3, a0, a1, a2, a3, offset, bits, w0, w1, ..]) => {
            let flag = |at: u8| bits >> at & 1 != 0;
            let flags = TcpFlags { fin: flag(0), syn: flag(1), rst: flag(2), psh: flag(3), ack: flag(4), urg: flag(5) };
            Some(Payload::Tcp(TcpSegment {
                src_port: u16::from_be_bytes([s0, s1]),
                dst_port: u16::from_be_bytes([d0, d1]),
                seq: u32::from_be_bytes([n0, n1, n2, n3]),
                ack: u32::from_be_bytes([a0, a1, a2, a3]),
                flags,
                window: u16::from_be_bytes([w0, w1]),
                payload: rest(usize::from(offset >> 4) * 4)?,
            }))
        }
        _ => None,
    }
}

/// Ends its rule where it is dropped.
#[derive(Debug)]
#[must_use = "the rule ends when this is dropped; `forget` keeps it for as long as the network is there"]
pub struct RuleGuard {
    rules: Rules,
    number: u64,
    forgotten: bool,
}

impl RuleGuard {
    /// The rule stays for as long as the network is there.
    pub fn forget(mut self) {
        self.forgotten = true;
    }
}

impl Drop for RuleGuard {
    fn drop(&mut self) {
        if !self.forgotten {
            self.rules.remove(self.number);
        }
    }
}

impl Net {
    /// Adds a rule, which decides about each packet between hosts after those that were there before it. It ends with
    /// the guard.
    ///
    /// ```
    /// use kumiki_net::sim::{Net, Packet, Payload, Verdict};
    ///
    /// let net = Net::new(1);
    /// let mut syns = 0;
    /// net.rule(move |packet: &Packet| match &packet.payload {
    ///     Payload::Tcp(segment) if segment.flags.syn => {
    ///         syns += 1;
    ///         if syns == 1 { Verdict::Drop } else { Verdict::Pass }
    ///     }
    ///     _ => Verdict::Pass,
    /// })
    /// .forget();
    /// ```
    pub fn rule(&self, rule: impl Rule) -> RuleGuard {
        let rules = self.0.cloud.rules().clone();
        let number = rules.add(Box::new(rule));
        RuleGuard { rules, number, forgotten: false }
    }
}
