//! Packets put together by the codecs, and their decoding.

use std::net::{Ipv4Addr, Ipv6Addr};

use kumiki_decode::capture::Link;
use kumiki_decode::packet::{Level, Value};
use kumiki_decode::{Decoder, Packet, Record};
use kumiki_octets::Sum;
use kumiki_octets::crc::Aal5Crc;
use kumiki_wire::atm::cell::{self, Interface, Pti};
use kumiki_wire::atm::{aal5, aal34};
use kumiki_wire::inet::ethernet::{self, MacAddr, TypeOrLength};
use kumiki_wire::inet::icmpv6::option::Opt;
use kumiki_wire::inet::ipv6::extension::Fragment;
use kumiki_wire::inet::llc_snap;
use kumiki_wire::inet::{icmpv4, icmpv6, ipv4, ipv6, tcp, udp};

pub(crate) const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

macro_rules! octets {
    ($header:expr) => {{
        let header = $header;
        let mut out = vec![0; header.len()];
        header.emit(&mut out);
        out
    }};
}

fn len16(len: usize) -> u16 {
    u16::try_from(len).unwrap()
}

pub(crate) fn ethernet(ethertype: u16, data: &[u8]) -> Vec<u8> {
    let header = ethernet::Header {
        destination: MacAddr([2, 0, 0, 0, 0, 2]),
        source: MacAddr([2, 0, 0, 0, 0, 1]),
        type_or_length: TypeOrLength::Type(ethertype),
    };
    [octets!(header), data.to_vec()].concat()
}

pub(crate) fn ip(header: ipv4::Header, data: &[u8]) -> Vec<u8> {
    let mut header = ipv4::Header { source: A, destination: B, ..header };
    header.total_length = len16(header.len() + data.len());
    let mut out = vec![0; header.len()];
    header.emit_summed(&mut out);
    [&out[..], data].concat()
}

/// A datagram of this protocol without anything special.
pub(crate) fn plain(protocol: u8, data: &[u8]) -> Vec<u8> {
    let header = ipv4::Header { protocol, ..ipv4::Header::default() };
    ip(header, data)
}

fn summed(protocol: u8, octets: &[u8]) -> u16 {
    let pseudo = ipv4::pseudo_header(A, B, protocol, len16(octets.len()));
    Sum::of(&pseudo).plus(Sum::of(octets)).checksum()
}

pub(crate) fn udp(data: &[u8]) -> Vec<u8> {
    udp_to(9, data)
}

/// The same to another port.
pub(crate) fn udp_to(destination_port: u16, data: &[u8]) -> Vec<u8> {
    let mut header =
        udp::Header { source_port: 1024, destination_port, length: len16(udp::LEN + data.len()), checksum: 0 };
    header.checksum = udp::on_wire(summed(17, &[&octets!(header)[..], data].concat()));
    [&octets!(header)[..], data].concat()
}

pub(crate) fn tcp(mut header: tcp::Header, data: &[u8]) -> Vec<u8> {
    header.checksum = 0;
    header.checksum = summed(6, &[&octets!(header)[..], data].concat());
    [&octets!(header)[..], data].concat()
}

pub(crate) fn icmp(message: icmpv4::Message, data: &[u8]) -> Vec<u8> {
    let mut header = icmpv4::Header { message, checksum: 0 };
    header.checksum = Sum::of(&[&octets!(header)[..], data].concat()).checksum();
    [&octets!(header)[..], data].concat()
}

pub(crate) const A6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
pub(crate) const B6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

/// A packet of IPv6 with `data` behind the header.
pub(crate) fn ip6(header: ipv6::Header, data: &[u8]) -> Vec<u8> {
    let header = ipv6::Header { source: A6, destination: B6, payload_length: len16(data.len()), ..header };
    [&octets!(header)[..], data].concat()
}

/// As [`ip6`], without anything special.
pub(crate) fn plain6(next_header: u8, data: &[u8]) -> Vec<u8> {
    let header = ipv6::Header { next_header, ..ipv6::Header::default() };
    ip6(header, data)
}

/// Puts the right sum of an upper-layer PDU over IPv6 in its place.
pub(crate) fn summed6(next_header: u8, mut pdu: Vec<u8>, field: usize) -> Vec<u8> {
    pdu[field..field + 2].fill(0);
    let len = u32::try_from(pdu.len()).unwrap();
    let pseudo = ipv6::pseudo_header(A6, B6, next_header, len);
    let sum = Sum::of(&pseudo).plus(Sum::of(&pdu)).checksum();
    pdu[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    pdu
}

pub(crate) fn icmp6(message: icmpv6::Message, data: &[u8]) -> Vec<u8> {
    let header = icmpv6::Header { message, checksum: 0 };
    summed6(58, [&octets!(header)[..], data].concat(), 2)
}

/// A fragment header with `data` behind it.
pub(crate) fn fragment6(fragment: Fragment, data: &[u8]) -> Vec<u8> {
    [&octets!(fragment)[..], data].concat()
}

pub(crate) fn nd_option(option: Opt<'_>) -> Vec<u8> {
    octets!(option)
}

/// The cells of an AAL3/4 PDU that carries a datagram behind LLC, with HEC.
pub(crate) fn cells34(vci: u16, mid: u16, datagram: &[u8]) -> Vec<Vec<u8>> {
    let sdu = [&octets!(llc_snap::Header::IPV4)[..], datagram].concat();
    let (front, back, count) = aal34::cpcs::around(len16(sdu.len()), 5);
    let pdu = [&front[..], &sdu, &back[back.len() - count..]].concat();
    let last = pdu.len().div_ceil(44) - 1;
    pdu.chunks(44)
        .enumerate()
        .map(|(at, octets)| {
            let segment = aal34::sar::Header {
                segment_type: aal34::sar::SegmentType::at(at == 0, at == last),
                sn: u8::try_from(at % 16).unwrap(),
                mid,
            };
            let header = cell::Header { vci, ..cell::Header::default() };
            let payload = aal34::sar::pdu(segment, octets, true);
            [&header.octets(Interface::Uni)[..], &payload].concat()
        })
        .collect()
}

/// An AAL5 PDU that carries a datagram behind LLC.
pub(crate) fn pdu(datagram: &[u8]) -> Vec<u8> {
    let sdu = [&octets!(llc_snap::Header::IPV4)[..], datagram].concat();
    let mut pdu = sdu.clone();
    pdu.resize(aal5::pdu_len(sdu.len()), 0);
    let at = pdu.len() - aal5::LEN;
    let mut trailer = aal5::Trailer { length: len16(sdu.len()), ..aal5::Trailer::default() };
    trailer.emit(&mut pdu[at..]);
    let mut crc = Aal5Crc::new();
    crc.update(&pdu[..at + aal5::CRC_OFFSET]);
    trailer.crc = crc.finish();
    trailer.emit(&mut pdu[at..]);
    pdu
}

/// The cells of a PDU, with HEC.
pub(crate) fn cells(vci: u16, pdu: &[u8]) -> Vec<Vec<u8>> {
    let last = pdu.len() / 48 - 1;
    pdu.chunks(48)
        .enumerate()
        .map(|(at, payload)| {
            let header = cell::Header {
                vci,
                pti: if at == last { Pti::USER_END } else { Pti::USER },
                ..cell::Header::default()
            };
            [&header.octets(Interface::Uni)[..], payload].concat()
        })
        .collect()
}

pub(crate) fn record(number: u64, link: Link, octets: &[u8]) -> Record {
    Record { number, link, octets: octets.to_vec(), original_len: octets.len(), ..Record::default() }
}

/// Decodes each as a packet that begins with the layer of this name.
pub(crate) fn decode_all(layer: &'static str, packets: &[Vec<u8>]) -> Vec<Packet> {
    let mut decoder = Decoder::new();
    (1..).zip(packets).map(|(number, octets)| decoder.decode(&record(number, Link::Named(layer), octets))).collect()
}

pub(crate) fn decode(layer: &'static str, octets: &[u8]) -> Packet {
    decode_all(layer, &[octets.to_vec()]).remove(0)
}

pub(crate) fn names(packet: &Packet) -> Vec<&'static str> {
    packet.layers.iter().map(|layer| layer.protocol).collect()
}

/// What is wrong.
pub(crate) fn bad(packet: &Packet) -> Vec<String> {
    let bad = packet.remarks().filter(|(_, remark)| remark.level == Level::Bad);
    bad.map(|(layer, remark)| format!("{}: {}", layer.protocol, remark.text)).collect()
}

pub(crate) fn notes(packet: &Packet) -> Vec<String> {
    let notes = packet.remarks().filter(|(_, remark)| remark.level == Level::Note);
    notes.map(|(layer, remark)| format!("{}: {}", layer.protocol, remark.text)).collect()
}

/// The value of a field, as text.
pub(crate) fn value(packet: &Packet, layer: &str, field: &str) -> String {
    let found = packet.layer(layer).and_then(|layer| layer.field(field));
    found.map(Value::to_string).unwrap_or_default()
}
