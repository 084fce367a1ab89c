//! What stands between a host and its line and looks at every PDU: an element that passes everything on at once.
//!
//! What the host sends must be right octet for octet: framing, CRC, IP header checksum, TCP checksum, computed here
//! from the octets and not from sums that slices carry. What arrives is only noted if it is intact, for a receiver
//! throws the rest away.
//!
//! ICMPv6 is passed over: nothing protects an IPv6 header, and a host complains of a wrong bit in one.

use core::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::Instant;
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::crc::Aal5Crc;
use kumiki_octets::{Message, Sum};
use kumiki_wire::atm::aal5;
use kumiki_wire::inet::ethernet::ethertype;
use kumiki_wire::inet::llc_snap;
use kumiki_wire::inet::{ethernet, fddi, ipv4, ipv6, tcp};
use kumiki_wire::xtp;

use super::case::Stack;
use super::checker::Checker;
use super::judge::Evidence;
use super::path::gateway::last_hop;

/// A segment as it was on the wire.
#[derive(Debug)]
pub(super) struct TappedSegment {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Octets of the IP datagram.
    pub(super) datagram: usize,
    pub(super) header: tcp::Header,
    pub(super) text: Message,
}

/// Who looks at all that crosses the plug of one end.
pub(super) trait Witness: Send {
    /// A PDU leaves the host, or reaches it.
    fn pdu(&mut self, now: Instant, data: &Message, sent: bool);

    /// Whether a rule has been broken.
    fn is_broken(&self) -> bool;

    /// When the last packet was seen.
    fn last(&self) -> Instant;

    /// Packets at the plug so far, intact ones on arrival.
    fn packets(&self) -> u64;

    /// Whether anything of this end is in flight or waits.
    fn has_something_to_say(&mut self, now: Instant) -> bool;

    /// What can be said at the end.
    fn evidence(&mut self, now: Instant) -> Evidence;
}

/// The witness of one end, shared by its tap and the run.
pub(super) type Shared = Arc<Mutex<dyn Witness>>;

/// Looks at what is in `shared`.
pub(super) fn with<T>(shared: &Shared, look: impl FnOnce(&mut dyn Witness) -> T) -> T {
    look(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Port 0 leads to the host, port 1 to the line.
pub(super) struct Tap {
    shared: Shared,
    seen: u64,
}

impl Tap {
    pub(super) fn new(shared: &Shared) -> Self {
        Self { shared: Arc::clone(shared), seen: 0 }
    }
}

impl Element for Tap {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        if let Unit::Frame { data, .. } = &unit {
            self.seen += 1;
            with(&self.shared, |witness| witness.pdu(now, data, port == 0));
        }
        out.put(1 - port, unit);
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn poll(&mut self, _: Instant, _: &mut Outlet) {}

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("pdus", self.seen)]
    }
}

/// The judge of a TCP, and what it takes to read its segments.
pub(super) struct TcpWitness {
    pub(super) stack: Stack,
    /// Where strangers are about: whose segments are looked at.
    pub(super) known: Option<[IpAddr; 2]>,
    pub(super) checker: Checker,
}

impl TcpWitness {
    fn is_strange(&self, seen: &TappedSegment) -> bool {
        let known = |address| self.known.is_none_or(|known| known.contains(address));
        !known(&seen.source) || !known(&seen.destination)
    }
}

impl Witness for TcpWitness {
    fn pdu(&mut self, now: Instant, data: &Message, sent: bool) {
        match (read(data, self.stack, sent), sent) {
            (Ok(None), _) => {}
            (Ok(Some(seen)), _) if self.is_strange(&seen) => {}
            (Ok(Some(seen)), true) => self.checker.sent(now, &seen),
            (Ok(Some(seen)), false) => self.checker.arrived(now, &seen),
            (Err(why), true) => self.checker.malformed(now, why),
            (Err(_), false) => self.checker.damaged(now),
        }
    }

    fn is_broken(&self) -> bool {
        self.checker.violation().is_some()
    }

    fn last(&self) -> Instant {
        self.checker.last
    }

    fn packets(&self) -> u64 {
        self.checker.segments
    }

    fn has_something_to_say(&mut self, now: Instant) -> bool {
        self.checker.has_something_to_say(now)
    }

    fn evidence(&mut self, now: Instant) -> Evidence {
        let checker = &mut self.checker;
        checker.at_last(now);
        Evidence {
            broken: checker.violation().cloned(),
            in_vain: checker.in_vain(),
            reset_sent: checker.reset_sent,
            reset_came: checker.reset_came,
            packets: checker.segments,
            damaged: checker.damaged,
            hash: checker.hash(),
        }
    }
}

/// Reads a PDU, or says what is wrong with it; none where it is no concern of TCP. `sums_again`: all sums are taken
/// again.
fn read(pdu: &Message, stack: Stack, sums_again: bool) -> Result<Option<TappedSegment>, &'static str> {
    let (mut data, packet) = packet_of(pdu, stack)?;
    if packet.protocol == ipv6::next_header::ICMPV6 {
        return Ok(None);
    }
    if packet.is_fragment || packet.protocol != ipv4::protocol::TCP {
        return Err("this is no whole TCP segment");
    }
    data.truncate(packet.total);
    data.pop(packet.header).map_err(|_| "the IP header is cut off")?;
    if sums_again {
        data.forget_sums();
    }
    if !packet.pseudo_header.plus(data.sum()).is_valid() {
        return Err("the TCP checksum is wrong");
    }
    let mut front = [0; tcp::MAX_LEN];
    let total = data.len();
    let octets = front_of(&data, &mut front);
    let (header, len) = tcp::Header::parse(octets, total).map_err(|_| "the TCP header is malformed")?;
    if header.options.illegal_length {
        return Err("a TCP option has an illegal length");
    }
    data.pop(len).map_err(|_| "the TCP header is cut off")?;
    Ok(Some(TappedSegment {
        source: packet.source,
        destination: packet.destination,
        datagram: packet.total,
        header,
        text: data,
    }))
}

/// Whether the IP packet in `data` carries a TCP segment with which all is well.
#[cfg(test)]
pub(super) fn is_intact(data: &Message) -> bool {
    read(data, Stack::Ip, true).is_ok_and(|seen| seen.is_some())
}

/// A packet of either version of IP.
struct Packet {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    /// Octets of its header, and of all of it.
    header: usize,
    total: usize,
    pseudo_header: Sum,
    is_fragment: bool,
}

/// The IP packet that a PDU carries, and what begins with its header.
fn packet_of(pdu: &Message, stack: Stack) -> Result<(Message, Packet), &'static str> {
    let mut data = pdu.clone();
    let mut type_of = None;
    if stack == Stack::Aal5 {
        without_trailer(&mut data)?;
    }
    if stack != Stack::Ip {
        type_of = Some(without_snap(&mut data)?);
    }
    let packet = packet(&data, type_of)?;
    Ok((data, packet))
}

/// What a frame of a LAN has of the Ethernet type `type_of`; none where it is another protocol's.
fn above_lan(pdu: &Message, stack: Stack, type_of: u16) -> Result<Option<Message>, &'static str> {
    let mut data = pdu.clone();
    let mut front = [0; 32];
    let octets = front_of(&data, &mut front);
    let (len, found) = if stack == Stack::Fddi {
        let (_, len) = fddi::Header::parse(octets).map_err(|_| "the FDDI header is wrong")?;
        let rest = octets.get(len..).unwrap_or_default();
        let (header, snap) = llc_snap::Header::parse(rest).map_err(|_| "the LLC/SNAP header is wrong")?;
        (len + snap, header == llc_snap::Header::EtherType(type_of))
    } else {
        let (header, len) = ethernet::Header::parse(octets, data.len()).map_err(|_| "the Ethernet header is wrong")?;
        let found = header.type_or_length == ethernet::TypeOrLength::Type(type_of);
        (len, found)
    };
    data.pop(len).map_err(|_| "the frame is cut off")?;
    Ok(found.then_some(data))
}

/// The XTP packet that a PDU carries, padding of the link taken off; none where there is none, or a part of one.
pub(super) fn xtp_of(pdu: &Message, stack: Stack) -> Result<Option<Message>, &'static str> {
    if stack.has_ip() {
        return above_ip(pdu, stack, ipv4::protocol::XTP);
    }
    let Some(mut data) = above_lan(pdu, stack, xtp::ETHER_TYPE)? else {
        return Ok(None);
    };
    let mut front = [0; xtp::LEN];
    let dlen = front_of(&data, &mut front).get(12..16).and_then(<[u8]>::first_chunk);
    let dlen = dlen.map_or(0, |it| u32::from_be_bytes(*it));
    let whole = xtp::LEN.saturating_add(usize::try_from(dlen).unwrap_or(usize::MAX));
    data.truncate(whole.min(data.len()));
    Ok(Some(data))
}

/// What the packet of `protocol` that a PDU carries has above IP; none where it is another protocol's, or a part of
/// one.
fn above_ip(pdu: &Message, stack: Stack, protocol: u8) -> Result<Option<Message>, &'static str> {
    let (mut data, packet) = packet_of(pdu, stack)?;
    if packet.is_fragment || packet.protocol != protocol {
        return Ok(None);
    }
    data.truncate(packet.total);
    data.pop(packet.header).map_err(|_| "the IP header is cut off")?;
    Ok(Some(data))
}

/// The packet at the front of `data`, by the EtherType above it where there is one.
fn packet(data: &Message, type_of: Option<u16>) -> Result<Packet, &'static str> {
    let mut front = [0; ipv4::MAX_LEN];
    let octets = front_of(data, &mut front);
    let six = octets.first().is_some_and(|first| first >> 4 == 6);
    if type_of.is_some_and(|type_of| (type_of == ethertype::IPV6) != six) {
        return Err("the EtherType is that of another version of IP");
    }
    if six {
        let (ip, header) = ipv6::Header::parse(octets, data.len()).map_err(|_| "the IPv6 header is wrong")?;
        let len = ip.payload_length.into();
        let pseudo = ipv6::pseudo_header(ip.source, ip.destination, ip.next_header, len);
        return Ok(Packet {
            source: ip.source.into(),
            destination: ip.destination.into(),
            protocol: ip.next_header,
            header,
            total: header + usize::from(ip.payload_length),
            pseudo_header: Sum::of(&pseudo),
            is_fragment: false,
        });
    }
    let (ip, header) = ipv4::Header::parse(octets, data.len()).map_err(|_| "the IP header is wrong")?;
    // TCP sums the address at the end of a source route (RFC 9293 section 3.1).
    let destination = last_hop(&ip.options).unwrap_or(ip.destination);
    let total = usize::from(ip.total_length);
    let len = u16::try_from(total - header).map_err(|_| "the segment is too long")?;
    let pseudo = ipv4::pseudo_header(ip.source, destination, ip.protocol, len);
    Ok(Packet {
        source: ip.source.into(),
        destination: destination.into(),
        protocol: ip.protocol,
        header,
        total,
        pseudo_header: Sum::of(&pseudo),
        is_fragment: ip.is_fragment(),
    })
}

/// As many octets as there are of `data`, up to all of `into`.
fn front_of<'a>(data: &Message, into: &'a mut [u8]) -> &'a [u8] {
    let n = data.len().min(into.len());
    let (front, _) = into.split_at_mut(n);
    // There are so many.
    let _ = data.copy_to(0, front);
    front
}

/// Takes the LLC/SNAP header away and gives the EtherType.
fn without_snap(data: &mut Message) -> Result<u16, &'static str> {
    let mut front = [0; llc_snap::LEN];
    let (header, len) =
        llc_snap::Header::parse(front_of(data, &mut front)).map_err(|_| "the LLC/SNAP header is wrong")?;
    let llc_snap::Header::EtherType(type_of @ (ethertype::IPV4 | ethertype::IPV6)) = header else {
        return Err("this is not IP under LLC/SNAP");
    };
    data.pop(len).map_err(|_| "the LLC/SNAP header is cut off")?;
    Ok(type_of)
}

fn without_trailer(data: &mut Message) -> Result<(), &'static str> {
    let len = data.len();
    let mut back = [0; aal5::LEN];
    let at = len.checked_sub(aal5::LEN).ok_or("the PDU is too short")?;
    let _ = data.copy_to(at, &mut back);
    let trailer = aal5::Trailer::parse(&back).map_err(|_| "there is no AAL5 trailer")?;
    let mut crc = Aal5Crc::new();
    data.for_each_in(0, at + aal5::CRC_OFFSET, |octets| crc.update(octets));
    let sdu = trailer.check(len, crc.finish()).map_err(|_| "the AAL5 trailer does not agree")?;
    data.truncate(sdu);
    Ok(())
}
