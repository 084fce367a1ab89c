//! The header of a virtual network card against messages: what Linux was seen to hand over, what it takes, and headers
//! that lie.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test: what fails stops it"
)]

use kumiki_link::offload::cut;
use kumiki_link::offload::virtio::{Form, Header, received, to_send};
use kumiki_octets::{Checksum, Message, Meta, Sum};
use kumiki_wire::inet::virtio_net::{Kind, Partial, Segments};
use kumiki_wire::inet::{ipv4, ipv6, udp};
use proptest::prelude::*;

const A4: [u8; 4] = [10, 9, 0, 1];
const B4: [u8; 4] = [10, 9, 0, 2];

/// IP in front of `payload`; also the sum of the pseudo header.
fn ip(version: u8, protocol: u8, identification: u16, payload: &[u8]) -> (Vec<u8>, Sum) {
    let length = payload.len() as u16;
    let (mut packet, pseudo) = if version == 4 {
        let header = ipv4::Header {
            protocol,
            identification,
            total_length: 20 + length,
            source: A4.into(),
            destination: B4.into(),
            ..ipv4::Header::default()
        };
        let mut front = vec![0; header.len()];
        header.emit_summed(&mut front);
        (front, Sum::of(&ipv4::pseudo_header(header.source, header.destination, protocol, length)))
    } else {
        let header = ipv6::Header {
            payload_length: length,
            next_header: protocol,
            source: "fd00:9::1".parse().unwrap(),
            destination: "fd00:9::2".parse().unwrap(),
            ..ipv6::Header::default()
        };
        let mut front = vec![0; header.len()];
        header.emit(&mut front);
        (front, Sum::of(&ipv6::pseudo_header(header.source, header.destination, protocol, length.into())))
    };
    packet.extend(payload);
    (packet, pseudo)
}

/// A super-segment of TCP with the pseudo header's sum in the place of its checksum.
fn segments(version: u8, flags: u8, text: &[u8]) -> Vec<u8> {
    let mut tcp = vec![3, 0xe8, 0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 1, 0xf4, 0, 0, 0, 0];
    tcp.extend(text);
    let (mut packet, pseudo) = ip(version, 6, 7, &tcp);
    let at = packet.len() - tcp.len() + 16;
    packet[at..at + 2].copy_from_slice(&pseudo.folded().to_be_bytes());
    packet
}

/// Many datagrams as one, as Linux hands them over.
fn datagrams(version: u8, identification: u16, text: &[u8]) -> Vec<u8> {
    let header = udp::Header { source_port: 1000, destination_port: 7, length: 8 + text.len() as u16, checksum: 0 };
    let mut octets = vec![0; 8];
    header.emit(&mut octets);
    octets.extend(text);
    let (mut packet, pseudo) = ip(version, 17, identification, &octets);
    let at = packet.len() - octets.len() + 6;
    packet[at..at + 2].copy_from_slice(&pseudo.folded().to_be_bytes());
    packet
}

fn header(kind: Option<Kind>, version: u8, size: u16) -> Header {
    let start = if version == 4 { 20 } else { 40 };
    let offset = if kind == Some(Kind::Udp) { 6 } else { 16 };
    Header {
        partial: Some(Partial { start, offset }),
        segments: kind.map(|kind| Segments { kind, size, ecn: false }),
        ..Header::default()
    }
}

const fn tcp(version: u8) -> Kind {
    if version == 4 { Kind::Tcp4 } else { Kind::Tcp6 }
}

fn packets(whole: Message) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    assert!(cut(whole, |packet| {
        assert_eq!(packet.meta(), &Meta::default());
        packets.push(packet.to_vec());
    }));
    packets
}

/// Whether the checksum of what IP carries in `packet` is right, and IP's own.
fn is_intact(packet: &[u8]) -> bool {
    let (ip, protocol, pseudo) = if packet[0] >> 4 == 4 {
        let (header, len) = ipv4::Header::parse(packet, packet.len()).unwrap();
        assert_eq!(usize::from(header.total_length), packet.len());
        let payload = header.total_length - len as u16;
        (
            len,
            header.protocol,
            Sum::of(&ipv4::pseudo_header(header.source, header.destination, header.protocol, payload)),
        )
    } else {
        let (header, len) = ipv6::Header::parse(packet, packet.len()).unwrap();
        assert_eq!(usize::from(header.payload_length) + len, packet.len());
        let payload = header.payload_length.into();
        (
            len,
            header.next_header,
            Sum::of(&ipv6::pseudo_header(header.source, header.destination, header.next_header, payload)),
        )
    };
    assert!(protocol == 6 || protocol == 17);
    pseudo.plus(Sum::of(&packet[ip..])).is_valid()
}

/// Linux 6.18: `sendto` of 5500 octets with `UDP_SEGMENT` 1000 came as one packet of 5528.
#[test]
fn datagrams_that_linux_hands_over_as_one_are_cut() {
    for (version, identification) in [(4, 0xffff), (4, 0), (6, 0)] {
        let text: Vec<u8> = (0..5500_u16).map(|octet| octet.to_be_bytes()[1] ^ 0x5a).collect();
        let mut whole = Message::from_octets(&datagrams(version, identification, &text));
        received(&header(Some(Kind::Udp), version, 1000), &mut whole).unwrap();
        assert_eq!(usize::from(whole.meta().header_len), if version == 4 { 28 } else { 48 });
        let cut = packets(whole);
        assert_eq!(cut.len(), 6);
        let mut found: Vec<u8> = Vec::new();
        for (number, packet) in cut.iter().enumerate() {
            assert!(is_intact(packet), "{number}");
            let ip = if version == 4 { 20 } else { 40 };
            let (header, len) = udp::Header::parse(&packet[ip..], packet.len() - ip).unwrap();
            assert_eq!(usize::from(header.length), packet.len() - ip);
            if version == 4 {
                let counted = if identification == 0 { 0 } else { identification.wrapping_add(number as u16) };
                assert_eq!(packet[4..6], counted.to_be_bytes());
            }
            found.extend(&packet[ip + len..]);
        }
        assert_eq!(found, text);
    }
}

#[test]
fn a_packet_without_its_checksum_is_completed_where_it_goes_on_to_a_line() {
    for version in [4, 6] {
        let mut syn = Message::from_octets(&segments(version, 2, &[]));
        received(&header(None, version, 0), &mut syn).unwrap();
        assert!(!is_intact(&syn.to_vec()));
        // Handed to Linux it stays as it is.
        assert_eq!(to_send(&syn), Some(header(None, version, 0)));
        let [complete] = &packets(syn)[..] else { panic!("one packet") };
        assert!(is_intact(complete));
    }
}

#[test]
fn what_linux_has_verified_or_says_nothing_of_is_noted() {
    let mut packet = Message::from_octets(&segments(4, 0x10, b"text"));
    received(&Header { valid: true, ..Header::default() }, &mut packet).unwrap();
    assert_eq!(packet.meta().checksum, Checksum::Verified);
    received(&Header::default(), &mut packet).unwrap();
    assert_eq!(packet.meta().checksum, Checksum::Unknown);
    assert_eq!(to_send(&packet), Some(Header::default()));
}

#[test]
fn headers_that_lie_are_refused() {
    let mut whole = Message::from_octets(&segments(4, 0x10, &[7; 3000]));
    let refused = |header: Header, whole: &mut Message| received(&header, whole).unwrap_err().to_string();
    let no_sum = Header { partial: None, ..header(Some(Kind::Tcp4), 4, 1000) };
    assert_eq!(refused(no_sum, &mut whole), "virtio-net: flags is 0x0, expected 1 where gso_type is not 0");
    let beyond = Header { partial: Some(Partial { start: 3010, offset: 16 }), ..header(Some(Kind::Tcp4), 4, 1000) };
    assert_eq!(
        refused(beyond, &mut whole),
        "virtio-net: data offset of TCP behind it is 3010 octets, expected 3030 to 3039"
    );
    // A data offset of four words, and one beyond the packet.
    let mut octets = segments(4, 0x10, &[7; 10]);
    octets[32] = 0x40;
    let mut short = Message::from_octets(&octets);
    let why = refused(header(Some(Kind::Tcp4), 4, 1), &mut short);
    assert_eq!(why, "virtio-net: data offset of TCP behind it is 36 octets, expected 40 to 49");
    octets[32] = 0xf0;
    let mut long = Message::from_octets(&octets);
    let why = refused(header(Some(Kind::Tcp4), 4, 1), &mut long);
    assert_eq!(why, "virtio-net: data offset of TCP behind it is 80 octets, expected 40 to 49");
    let mut datagram = Message::from_octets(&datagrams(4, 1, &[]));
    assert_eq!(refused(header(Some(Kind::Udp), 4, 9), &mut datagram), "virtio-net: 28 octets, at least 29 needed");
}

#[test]
fn a_single_segment_is_none_of_many() {
    let mut whole = Message::from_octets(&segments(4, 0x10, &[7; 1000]));
    received(&header(Some(Kind::Tcp4), 4, 1000), &mut whole).unwrap();
    assert_eq!((whole.meta().segment_size, whole.meta().header_len), (0, 0));
}

/// RFC 3168 section 6.1.2 against RFC 9768: who cuts it leaves CWR on the first alone, so one that has it on all is cut
/// here.
#[test]
fn cwr_of_a_counter_is_not_left_to_who_would_take_it_off() {
    for (ecn, ace) in [(true, false), (false, true)] {
        let mut whole = Message::from_octets(&segments(4, 0x90, &[7; 3000]));
        let kind = Segments { kind: Kind::Tcp4, size: 1000, ecn };
        received(&Header { segments: Some(kind), ..header(None, 4, 0) }, &mut whole).unwrap();
        assert_eq!(whole.meta().ace, ace);
        let said = to_send(&whole);
        assert_eq!(said.and_then(|it| it.segments), ecn.then_some(kind));
        let flags: Vec<u8> = packets(whole).iter().map(|packet| packet[33]).collect();
        assert_eq!(flags, if ace { [0x90; 3] } else { [0x90, 0x10, 0x10] });
    }
}

/// On a TAP device everything counts from the Ethernet header on.
#[test]
fn behind_an_ethernet_header_it_is_the_same() {
    let frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &segments(4, 0x18, &[7; 3000])].concat();
    let mut whole = Message::from_octets(&frame);
    let said = Header {
        partial: Some(Partial { start: 34, offset: 16 }),
        header_len: 54,
        ..header(Some(Kind::Tcp4), 4, 1400)
    };
    received(&said, &mut whole).unwrap();
    assert_eq!(to_send(&whole), Some(said));
    let cut = packets(whole);
    assert_eq!(cut.len(), 3);
    assert!(cut.iter().all(|packet| packet[..14] == frame[..14] && is_intact(&packet[14..])));
}

proptest! {
    /// What is said to a device, heard from one, is what was meant; and its packets carry the text, each intact.
    #[test]
    fn what_is_sent_is_received(
        version in prop::sample::select(vec![4u8, 6]),
        flags in prop::sample::select(vec![0x10u8, 0x18, 0x11, 0x90]),
        text in prop::collection::vec(any::<u8>(), 2..9000),
        size in 1u16..1500,
    ) {
        prop_assume!(text.len() > usize::from(size));
        let mut whole = Message::from_octets(&segments(version, flags, &text));
        let ecn = flags & 0x80 != 0;
        let said = Header {
            segments: Some(Segments { kind: tcp(version), size, ecn }),
            header_len: if version == 4 { 40 } else { 60 },
            ..header(None, version, 0)
        };
        received(&said, &mut whole).unwrap();
        prop_assert_eq!(to_send(&whole), Some(said));
        let headers = usize::from(said.header_len);
        let mut found: Vec<u8> = Vec::new();
        for packet in packets(whole) {
            prop_assert!(is_intact(&packet));
            prop_assert!(packet.len() <= headers + usize::from(size));
            found.extend(&packet[headers..]);
        }
        prop_assert_eq!(found, text);
    }

    #[test]
    fn no_header_and_no_packet_make_it_panic(front in any::<[u8; 10]>(), octets in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok((header, _)) = Header::parse(Form::TUN, &front, 10 + octets.len()) {
            let mut message = Message::from_octets(&octets);
            if received(&header, &mut message).is_ok() {
                let _ = to_send(&message);
                cut(message, |_| ());
            }
        }
    }
}
