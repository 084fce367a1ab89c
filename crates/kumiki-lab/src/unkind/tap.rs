//! What stands between a host and its line and looks at every PDU: an element that passes everything on at once.
//!
//! What the host sends must be right octet for octet: framing, CRC, IP header checksum, TCP checksum, computed here
//! from the octets and not from sums that slices carry. What arrives is only noted if it is intact, for a receiver
//! throws the rest away.

use core::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::Instant;
use kumiki_link::{Element, Outlet, Unit};
use kumiki_octets::crc::Aal5Crc;
use kumiki_octets::{Message, Sum};
use kumiki_wire::ipv4::{self, pseudo_header};
use kumiki_wire::{aal5, llc_snap, tcp};

use super::case::Stack;
use super::checker::Checker;

/// A segment as it was on the wire.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) source: Ipv4Addr,
    pub(super) destination: Ipv4Addr,
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
    seen: u64,
}

impl Tap {
    pub(super) fn new(stack: Stack, shared: &Shared) -> Self {
        Self {
            stack,
            shared: Arc::clone(shared),
            seen: 0,
        }
    }
}

impl Element for Tap {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        if let Unit::Frame { data, .. } = &unit {
            self.seen += 1;
            let sent = port == 0;
            let seen = read(data, self.stack, sent);
            with(&self.shared, |checker| match (seen, sent) {
                (Ok(seen), true) => checker.sent(now, &seen),
                (Ok(seen), false) => checker.arrived(now, &seen),
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

/// Reads a PDU, or says what is wrong with it. `anew`: all sums are taken anew.
fn read(pdu: &Message, stack: Stack, anew: bool) -> Result<Seen, &'static str> {
    let mut data = pdu.clone();
    match stack {
        Stack::Ip => {}
        Stack::Aal5 => {
            without_trailer(&mut data)?;
            without_snap(&mut data)?;
        }
        Stack::Cells => without_snap(&mut data)?,
    }
    let mut front = [0; ipv4::MAX_LEN];
    let header = front_of(&data, &mut front);
    let (ip, ip_len) =
        ipv4::Header::parse(header, data.len()).map_err(|_| "the IP header is wrong")?;
    if ip.protocol != ipv4::protocol::TCP || ip.is_fragment() {
        return Err("this is no whole TCP segment");
    }
    let datagram = usize::from(ip.total_length);
    data.truncate(datagram);
    data.pop(ip_len).map_err(|_| "the IP header is cut off")?;
    if anew {
        data.forget_sums();
    }
    let len = u16::try_from(data.len()).map_err(|_| "the segment is too long")?;
    let pseudo = pseudo_header(ip.source, ip.destination, ip.protocol, len);
    if !Sum::of(&pseudo).plus(data.sum()).is_valid() {
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
    Ok(Seen {
        source: ip.source,
        destination: ip.destination,
        datagram,
        header,
        text: data,
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

fn without_snap(data: &mut Message) -> Result<(), &'static str> {
    let mut front = [0; llc_snap::LEN];
    let (header, len) = llc_snap::Header::parse(front_of(data, &mut front))
        .map_err(|_| "the LLC/SNAP header is wrong")?;
    if header != llc_snap::Header::EtherType(0x0800) {
        return Err("this is not IP under LLC/SNAP");
    }
    data.pop(len).map_err(|_| "the LLC/SNAP header is cut off")
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
