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
use kumiki_wire::ethernet::ethertype;
use kumiki_wire::{aal5, ipv4, ipv6, llc_snap, tcp};

use super::case::Stack;
use super::checker::Checker;
use super::path::gateway::last_hop;

/// A segment as it was on the wire.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Octets of the IP datagram.
    pub(super) datagram: usize,
    pub(super) header: tcp::Header,
    pub(super) text: Message,
}

/// The checker of one end, shared by its tap and the run.
pub(super) type Shared = Arc<Mutex<Checker>>;

/// Looks at what is in `shared`.
pub(super) fn with<T>(shared: &Shared, look: impl FnOnce(&mut Checker) -> T) -> T {
    look(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Port 0 leads to the host, port 1 to the line.
pub(super) struct Tap {
    stack: Stack,
    shared: Shared,
    /// Where strangers are about: whose segments are looked at.
    known: Option<[IpAddr; 2]>,
    seen: u64,
}

impl Tap {
    pub(super) fn new(stack: Stack, shared: &Shared, known: Option<[IpAddr; 2]>) -> Self {
        Self {
            stack,
            shared: Arc::clone(shared),
            known,
            seen: 0,
        }
    }
}

impl Tap {
    fn is_strange(&self, seen: &Seen) -> bool {
        let known = |address| self.known.is_none_or(|known| known.contains(address));
        !known(&seen.source) || !known(&seen.destination)
    }
}

impl Element for Tap {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        if let Unit::Frame { data, .. } = &unit {
            self.seen += 1;
            let sent = port == 0;
            let seen = read(data, self.stack, sent);
            with(&self.shared, |checker| match (seen, sent) {
                (Ok(None), _) => {}
                (Ok(Some(seen)), _) if self.is_strange(&seen) => {}
                (Ok(Some(seen)), true) => checker.sent(now, &seen),
                (Ok(Some(seen)), false) => checker.arrived(now, &seen),
                (Err(why), true) => checker.malformed(now, why),
                (Err(_), false) => checker.damaged(now),
            });
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

/// Reads a PDU, or says what is wrong with it; none where it is no concern of TCP. `anew`: all sums are taken anew.
fn read(pdu: &Message, stack: Stack, anew: bool) -> Result<Option<Seen>, &'static str> {
    let mut data = pdu.clone();
    let mut type_of = None;
    if stack == Stack::Aal5 {
        without_trailer(&mut data)?;
    }
    if stack != Stack::Ip {
        type_of = Some(without_snap(&mut data)?);
    }
    let packet = packet(&data, type_of)?;
    if packet.protocol == ipv6::next_header::ICMPV6 {
        return Ok(None);
    }
    if packet.protocol != ipv4::protocol::TCP {
        return Err("this is no whole TCP segment");
    }
    data.truncate(packet.total);
    data.pop(packet.header)
        .map_err(|_| "the IP header is cut off")?;
    if anew {
        data.forget_sums();
    }
    if !packet.pseudo_header.plus(data.sum()).is_valid() {
        return Err("the TCP checksum is wrong");
    }
    let mut front = [0; tcp::MAX_LEN];
    let total = data.len();
    let octets = front_of(&data, &mut front);
    let (header, len) =
        tcp::Header::parse(octets, total).map_err(|_| "the TCP header is malformed")?;
    if header.options.illegal_length {
        return Err("a TCP option has an illegal length");
    }
    data.pop(len).map_err(|_| "the TCP header is cut off")?;
    Ok(Some(Seen {
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
        let (ip, header) =
            ipv6::Header::parse(octets, data.len()).map_err(|_| "the IPv6 header is wrong")?;
        let len = ip.payload_length.into();
        let pseudo = ipv6::pseudo_header(ip.source, ip.destination, ip.next_header, len);
        return Ok(Packet {
            source: ip.source.into(),
            destination: ip.destination.into(),
            protocol: ip.next_header,
            header,
            total: header + usize::from(ip.payload_length),
            pseudo_header: Sum::of(&pseudo),
        });
    }
    let (ip, header) =
        ipv4::Header::parse(octets, data.len()).map_err(|_| "the IP header is wrong")?;
    if ip.is_fragment() {
        return Err("this is no whole TCP segment");
    }
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
    let (header, len) = llc_snap::Header::parse(front_of(data, &mut front))
        .map_err(|_| "the LLC/SNAP header is wrong")?;
    let llc_snap::Header::EtherType(type_of @ (ethertype::IPV4 | ethertype::IPV6)) = header else {
        return Err("this is not IP under LLC/SNAP");
    };
    data.pop(len)
        .map_err(|_| "the LLC/SNAP header is cut off")?;
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
    let sdu = trailer
        .check(len, crc.finish())
        .map_err(|_| "the AAL5 trailer does not agree")?;
    data.truncate(sdu);
    Ok(())
}
