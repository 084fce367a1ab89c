//! Segments of the notation to packets and back: addresses, ports, initial sequence numbers, checksums, content.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::collections::BTreeMap;

use kumiki_octets::{Pattern, Sum};
use kumiki_wire::inet::ipv4::Ecn;
use kumiki_wire::inet::tcp::accecn::{AccEcn, Order};
use kumiki_wire::inet::tcp::options::{Options as TcpOptions, kind};
use kumiki_wire::inet::tcp::{Flags, Header, Seq};
use kumiki_wire::inet::{ipv4, ipv6};

use super::notation::{Connection, Icmp, Marks, Number, Opt, Options, Segment};

/// The port of the stack.
pub(super) const STACK_PORT: u16 = 8000;
/// The peer's port of connection 0, so that connection 1 is with 9001.
pub(super) const PEER_PORT: u16 = 9000;

/// Where the stack is.
#[must_use]
pub(super) const fn stack_address(v6: bool) -> IpAddr {
    if v6 {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))
    } else {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))
    }
}

/// Where the peers are.
#[must_use]
pub(super) const fn peer_address(v6: bool) -> IpAddr {
    if v6 {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2))
    } else {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2))
    }
}

/// The peer of a connection.
#[must_use]
pub(super) const fn peer(v6: bool, connection: Connection) -> SocketAddr {
    SocketAddr::new(peer_address(v6), PEER_PORT + connection as u16)
}

/// The content of what the stack sends on a connection.
#[must_use]
pub(super) const fn sent_by_stack(connection: Connection) -> Pattern {
    Pattern::Random { seed: 2 * connection as u64 }
}

/// The content of what its peer sends.
#[must_use]
pub(super) const fn sent_by_peer(connection: Connection) -> Pattern {
    Pattern::Random { seed: 2 * connection as u64 + 1 }
}

/// What is known of a connection.
#[derive(Clone, Debug, Default)]
struct ConnectionBase {
    /// The stack's initial sequence number.
    isn: Option<u32>,
    /// What has to be added to a TSval of the script to get the stack's.
    clock: Option<u32>,
    /// TSvals of the script and what the stack sent for them, where they are not that far apart.
    stamps: BTreeMap<u32, u32>,
    /// The last packet from the stack.
    last: Vec<u8>,
}

/// The packets of a script.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    v6: bool,
    peer_isn: u32,
    known: BTreeMap<Connection, ConnectionBase>,
}

impl Packets {
    /// Those of IPv6 if `v6`; the peer of connection n begins at `peer_isn` + n.
    #[must_use]
    pub(super) const fn new(v6: bool, peer_isn: u32) -> Self {
        Self { v6, peer_isn, known: BTreeMap::new() }
    }

    fn known(&mut self, connection: Connection) -> &mut ConnectionBase {
        self.known.entry(connection).or_default()
    }

    /// Forgets the stack's side of a connection.
    pub(super) fn forget(&mut self, connection: Connection) {
        self.known.remove(&connection);
    }

    /// The stack's TSval is `sent` where the script says `written`.
    pub(super) fn set_clock(&mut self, connection: Connection, written: u32, sent: u32) {
        let known = self.known(connection);
        if known.clock.is_none() {
            known.clock = Some(sent.wrapping_sub(written));
        }
        known.stamps.insert(written, sent);
    }

    /// The TSval `sent` as the script would say it, where its clock is known.
    #[must_use]
    pub(super) fn written(&self, connection: Connection, sent: u32) -> u32 {
        let clock = self.known.get(&connection).and_then(|known| known.clock);
        sent.wrapping_sub(clock.unwrap_or(0))
    }

    /// Whether the clock of the stack's timestamps is known.
    #[must_use]
    pub(super) fn knows_clock(&self, connection: Connection) -> bool {
        let known = self.known.get(&connection);
        known.is_some_and(|known| known.clock.is_some())
    }

    fn peer_isn(&self, connection: Connection) -> u32 {
        self.peer_isn.wrapping_add(connection.into())
    }

    /// The packet for a segment to the stack.
    #[must_use]
    pub(super) fn segment(&self, connection: Connection, segment: &Segment) -> Vec<u8> {
        let none = ConnectionBase::default();
        let known = self.known.get(&connection).unwrap_or(&none);
        let absolute = |base: u32, relative: i64| base.wrapping_add(low(relative));
        let stack = known.isn.unwrap_or(0);
        let header = Header {
            source_port: PEER_PORT + u16::from(connection),
            destination_port: STACK_PORT,
            seq: Seq(absolute(self.peer_isn(connection), segment.seq)),
            ack: Seq(segment.ack.map_or(0, |ack| absolute(stack, ack))),
            flags: segment.flags,
            window: segment.window.unwrap_or(Segment::WINDOW),
            checksum: 0,
            urgent_pointer: segment.urgent.unwrap_or(0),
            options: TcpOptions::NONE,
        };
        let ts_ecr = |written: u32| {
            if !segment.flags.contains(Flags::ACK) {
                return written;
            }
            let exact = known.stamps.get(&written).copied();
            exact.unwrap_or_else(|| written.wrapping_add(known.clock.unwrap_or(0)))
        };
        let mut options = Vec::new();
        if let Options::List(list) = &segment.options {
            for option in list {
                write_option(&mut options, option, stack, ts_ecr);
            }
        }
        options.resize(options.len().next_multiple_of(4), kind::END);
        let mut fixed = [0; kumiki_wire::inet::tcp::MIN_LEN];
        header.emit(&mut fixed);
        let words = u8::try_from((fixed.len() + options.len()) / 4).unwrap_or(15);
        if let Some(offset) = fixed.get_mut(12) {
            *offset = words << 4 | *offset & 0xf;
        }
        let mut octets = fixed.to_vec();
        octets.extend(&options);
        let begin = octets.len();
        octets.resize(begin + usize::try_from(segment.len).unwrap_or(0), 0);
        let pattern = if segment.marks.other { Pattern::Fill(0x2a) } else { sent_by_peer(connection) };
        if let Some(data) = octets.get_mut(begin..) {
            pattern.fill(place(segment.seq, segment.flags), data);
        }
        let (source, destination) = (peer_address(self.v6), stack_address(self.v6));
        let sum = sum(source, destination, ipv4::protocol::TCP, &octets).checksum();
        let sum = if segment.marks.bad_sum { !sum } else { sum };
        put(&mut octets, kumiki_wire::inet::tcp::CHECKSUM_OFFSET, sum);
        self.packet(ipv4::protocol::TCP, &segment.marks, &octets)
    }

    /// The packet for an ICMP error about what the stack sent on a connection.
    ///
    /// # Errors
    /// The stack has sent nothing, or this version of IP has no such error.
    pub(super) fn icmp(&self, connection: Connection, icmp: &Icmp) -> Result<Vec<u8>, String> {
        let known = self.known.get(&connection);
        let known = known.filter(|known| !known.last.is_empty());
        let known = known.ok_or("the stack has sent nothing that could be quoted")?;
        let (kind, code) = icmp.kind.numbers(self.v6).ok_or_else(|| {
            let version = if self.v6 { 6 } else { 4 };
            format!("IPv{version} has no {}", icmp.kind.name())
        })?;
        let mut quoted = known.last.clone();
        let header = if self.v6 { ipv6::LEN } else { ipv4::MIN_LEN };
        if let Some(seq) = icmp.seq {
            let seq = known.isn.unwrap_or(0).wrapping_add(low(seq));
            if let Some(place) = quoted.get_mut(header + 4..header + 8) {
                place.copy_from_slice(&seq.to_be_bytes());
            }
        }
        // ICMP quotes eight octets of the segment, ICMPv6 as much as fits 1280 octets.
        let most = if self.v6 { 1232 } else { header + 8 };
        quoted.truncate(most);
        let mut octets = vec![kind, code, 0, 0, 0, 0];
        octets.extend(icmp.mtu.to_be_bytes());
        octets.extend(quoted);
        let (source, destination) = (peer_address(self.v6), stack_address(self.v6));
        let (protocol, sum) = if self.v6 {
            let protocol = ipv6::next_header::ICMPV6;
            (protocol, sum(source, destination, protocol, &octets))
        } else {
            (ipv4::protocol::ICMP, Sum::of(&octets))
        };
        put(&mut octets, 2, sum.checksum());
        Ok(self.packet(protocol, &Marks::default(), &octets))
    }

    /// `payload` behind an IP header.
    fn packet(&self, protocol: u8, marks: &Marks, payload: &[u8]) -> Vec<u8> {
        let tos = marks.tos.unwrap_or(0);
        let tos = marks.ecn.map_or(tos, |ecn| tos & 0xfc | ecn.bits());
        let ttl = marks.ttl.unwrap_or(64);
        let length = |more: usize| u16::try_from(payload.len() + more).unwrap_or(u16::MAX);
        let mut octets = match (peer_address(self.v6), stack_address(self.v6)) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let header = ipv4::Header {
                    type_of_service: tos,
                    total_length: length(ipv4::MIN_LEN),
                    dont_fragment: marks.df.unwrap_or(true),
                    time_to_live: ttl,
                    protocol,
                    source,
                    destination,
                    ..ipv4::Header::default()
                };
                let mut octets = vec![0; header.len()];
                header.emit_summed(&mut octets);
                octets
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let header = ipv6::Header {
                    traffic_class: tos,
                    payload_length: length(0),
                    next_header: protocol,
                    hop_limit: ttl,
                    source,
                    destination,
                    ..ipv6::Header::default()
                };
                let mut octets = vec![0; header.len()];
                header.emit(&mut octets);
                octets
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => Vec::new(),
        };
        octets.extend(payload);
        octets
    }

    /// A packet from the stack; `None` where it is none of TCP to a peer of the script, such as one of neighbour
    /// discovery.
    ///
    /// # Errors
    /// Says what is wrong with it: lengths, checksums, an octet that was never written.
    pub(super) fn read(&mut self, octets: &[u8]) -> Result<Option<(Connection, Segment)>, String> {
        let Some((marks, begin, end)) = self.read_ip(octets)? else {
            return Ok(None);
        };
        let payload = octets.get(begin..end).unwrap_or_default();
        let (stack, peers) = (stack_address(self.v6), peer_address(self.v6));
        if !sum(stack, peers, ipv4::protocol::TCP, payload).is_valid() {
            return Err("the TCP checksum is wrong".to_owned());
        }
        let (header, len) = Header::parse(payload, payload.len()).map_err(|why| why.to_string())?;
        let number = header.destination_port.wrapping_sub(PEER_PORT);
        let connection = Connection::try_from(number).ok().filter(|it| (1..=99).contains(it));
        let (Some(connection), STACK_PORT) = (connection, header.source_port) else {
            return Err(format!("a segment between strangers: {header}"));
        };
        let peer_isn = self.peer_isn(connection);
        let known = self.known(connection);
        octets.clone_into(&mut known.last);
        if header.flags.contains(Flags::SYN) && known.isn.is_none() {
            known.isn = Some(header.seq.0);
        }
        let isn = known.isn.unwrap_or(0);
        let seq = relative(header.seq.0, isn);
        let data = payload.get(len..).unwrap_or_default();
        let options = payload.get(kumiki_wire::inet::tcp::MIN_LEN..len).unwrap_or_default();
        let mut content = vec![0; data.len()];
        let from = place(seq, header.flags);
        sent_by_stack(connection).fill(from, &mut content);
        if let Some(at) = data.iter().zip(&content).position(|(a, b)| a != b) {
            let at = from.wrapping_add(at as u64);
            return Err(format!("octet {at} of the stream is not what was written: {header}"));
        }
        let segment = Segment {
            marks,
            flags: header.flags,
            seq,
            len: u32::try_from(data.len()).unwrap_or(u32::MAX),
            ack: header.flags.contains(Flags::ACK).then(|| relative(header.ack.0, peer_isn)),
            window: Some(header.window),
            urgent: header.flags.contains(Flags::URG).then_some(header.urgent_pointer),
            options: Options::List(read_options(options, peer_isn)),
        };
        Ok(Some((connection, segment)))
    }

    /// The IP header: what is marked, and where the segment begins and ends.
    fn read_ip(&self, octets: &[u8]) -> Result<Option<(Marks, usize, usize)>, String> {
        let marks = |ttl, tos: u8, df| Marks {
            ttl: Some(ttl),
            tos: Some(tos),
            ecn: Some(Ecn::from_bits(tos)),
            df,
            ..Marks::default()
        };
        if octets.first().is_some_and(|first| first >> 4 == 6) {
            let read = ipv6::Header::parse(octets, octets.len());
            let (header, len) = read.map_err(|why| why.to_string())?;
            if !self.v6 || header.next_header != ipv4::protocol::TCP {
                return Ok(None);
            }
            let end = len + usize::from(header.payload_length);
            return Ok(Some((marks(header.hop_limit, header.traffic_class, None), len, end)));
        }
        let read = ipv4::Header::parse(octets, octets.len());
        let (header, len) = read.map_err(|why| why.to_string())?;
        if self.v6 || header.protocol != ipv4::protocol::TCP {
            return Ok(None);
        }
        if header.is_fragment() {
            return Err(format!("a fragment: {header}"));
        }
        let df = Some(header.dont_fragment);
        let end = usize::from(header.total_length);
        Ok(Some((marks(header.time_to_live, header.type_of_service, df), len, end)))
    }
}

/// The place in the stream of the first octet of data.
const fn place(seq: i64, flags: Flags) -> u64 {
    let syn = flags.contains(Flags::SYN);
    (seq + syn as i64 - 1).cast_unsigned()
}

/// The low 32 bits.
const fn low(relative: i64) -> u32 {
    let [a, b, c, d, ..] = relative.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// How far `seq` is from `base`, the shorter way.
fn relative(seq: u32, base: u32) -> i64 {
    seq.wrapping_sub(base).cast_signed().into()
}

fn sum(source: IpAddr, destination: IpAddr, protocol: u8, octets: &[u8]) -> Sum {
    let pseudo = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let length = u16::try_from(octets.len()).unwrap_or(u16::MAX);
            Sum::of(&ipv4::pseudo_header(source, destination, protocol, length))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let length = u32::try_from(octets.len()).unwrap_or(u32::MAX);
            Sum::of(&ipv6::pseudo_header(source, destination, protocol, length))
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => Sum::ZERO,
    };
    pseudo.plus(Sum::of(octets))
}

fn put(octets: &mut [u8], at: usize, word: u16) {
    if let Some(place) = octets.get_mut(at..at + 2) {
        place.copy_from_slice(&word.to_be_bytes());
    }
}

fn write_option(out: &mut Vec<u8>, option: &Opt, stack: u32, ts_ecr: impl Fn(u32) -> u32) {
    let length = u8::try_from(option.size()).unwrap_or(u8::MAX);
    match option {
        Opt::End => out.push(kind::END),
        Opt::Nop => out.push(kind::NOP),
        Opt::Mss(mss) => {
            out.extend([kind::MSS, length]);
            let [.., high, low] = mss.sent().to_be_bytes();
            out.extend([high, low]);
        }
        Opt::WindowScale(shift) => {
            let [.., shift] = shift.sent().to_be_bytes();
            out.extend([kind::WINDOW_SCALE, length, shift]);
        }
        Opt::SackOk => out.extend([kind::SACK_PERMITTED, length]),
        Opt::Sack(blocks) => {
            out.extend([kind::SACK, length]);
            for edge in blocks.iter().flat_map(|(left, right)| [left, right]) {
                out.extend(stack.wrapping_add(low(*edge)).to_be_bytes());
            }
        }
        Opt::Timestamps(val, ecr) => {
            out.extend([kind::TIMESTAMPS, length]);
            out.extend(val.sent().to_be_bytes());
            out.extend(ts_ecr(ecr.sent()).to_be_bytes());
        }
        Opt::UserTimeout(value, minutes) => {
            let bits = value | u16::from(*minutes) << 15;
            out.extend([kind::USER_TIMEOUT, length]);
            out.extend(bits.to_be_bytes());
        }
        Opt::AccEcn(counters) => {
            let octets = counters.octets();
            out.extend(octets.get(..counters.len()).unwrap_or(&octets));
        }
        Opt::Hex(octets) => out.extend(octets),
    }
}

fn read_options(mut rest: &[u8], peer_isn: u32) -> Vec<Opt> {
    let mut list = Vec::new();
    while let [first, after @ ..] = rest {
        if *first == kind::END || *first == kind::NOP {
            list.push(if *first == kind::END { Opt::End } else { Opt::Nop });
            rest = after;
            continue;
        }
        let size = after.first().map_or(0, |length| usize::from(*length));
        let Some((option, after)) = rest.split_at_checked(size).filter(|_| size >= 2) else {
            list.push(Opt::Hex(rest.to_vec()));
            break;
        };
        list.push(read_option(option, peer_isn));
        rest = after;
    }
    list
}

fn read_option(option: &[u8], peer_isn: u32) -> Opt {
    let word = |a, b, c, d| u32::from_be_bytes([a, b, c, d]);
    match *option {
        [kind::MSS, 4, high, low] => Opt::Mss(Number::Is(u16::from_be_bytes([high, low]).into())),
        [kind::WINDOW_SCALE, 3, shift] => Opt::WindowScale(Number::Is(shift.into())),
        [kind::SACK_PERMITTED, 2] => Opt::SackOk,
        [kind::TIMESTAMPS, 10, a, b, c, d, e, f, g, h] => {
            Opt::Timestamps(Number::Is(word(a, b, c, d)), Number::Is(word(e, f, g, h)))
        }
        [kind::USER_TIMEOUT, 4, high, low] => {
            let bits = u16::from_be_bytes([high, low]);
            Opt::UserTimeout(bits & 0x7fff, bits >> 15 == 1)
        }
        [kind::SACK, _, ref blocks @ ..] if blocks.len() % 8 == 0 && !blocks.is_empty() => {
            let (blocks, _) = blocks.as_chunks::<8>();
            let edges = |&[a, b, c, d, e, f, g, h]: &[u8; 8]| {
                let left = relative(word(a, b, c, d), peer_isn);
                (left, relative(word(e, f, g, h), peer_isn))
            };
            Opt::Sack(blocks.iter().map(edges).collect())
        }
        [kind::ACCECN0, 2 | 5 | 8 | 11, ref data @ ..] => Opt::AccEcn(AccEcn::parse(Order::Zero, data)),
        [kind::ACCECN1, 5 | 8 | 11, ref data @ ..] => Opt::AccEcn(AccEcn::parse(Order::One, data)),
        _ => Opt::Hex(option.to_vec()),
    }
}
