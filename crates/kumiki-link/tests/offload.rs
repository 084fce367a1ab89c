//! Cutting and putting together, against packets that are built one by one, and before tshark.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test: what fails stops it"
)]

use core::net::Ipv4Addr;

use kumiki_graph::Address;
use kumiki_link::offload::{self, Merger, cut};
use kumiki_octets::{Checksum, Message, Meta, Page, Sum};
use kumiki_wire::inet::ipv4;
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};
use proptest::prelude::*;

#[path = "../../kumiki-wire/tests/judge/mod.rs"]
#[allow(dead_code, reason = "shared with another crate's tests")]
mod judge;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const IPV6: [u8; 32] =
    [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

#[derive(Clone, Debug)]
struct Case {
    version: u8,
    seq: u32,
    flags: u16,
    /// AE, CWR and ECE are a counter.
    ace: bool,
    timestamps: bool,
    identification: u16,
    text: Vec<u8>,
    size: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let control = prop_oneof![
        prop::sample::select(vec![0x10u16, 0x18, 0x11, 0x19, 0x90, 0x98]).prop_map(|bits| (bits, false)),
        (0..8u16, prop::bool::ANY).prop_map(|(ace, push)| (0x10 | ace << 6 | u16::from(push) << 3, true)),
    ];
    (
        prop::sample::select(vec![4u8, 6]),
        any::<u32>(),
        control,
        any::<bool>(),
        prop::sample::select(vec![0u16, 1, 7, 0xffff]),
        prop::collection::vec(any::<u8>(), 1..4000),
        1usize..1500,
    )
        .prop_map(|(version, seq, (flags, ace), timestamps, identification, text, size)| Case {
            version,
            seq,
            flags,
            ace,
            timestamps,
            identification,
            text,
            size,
        })
}

impl Case {
    fn tcp(&self, at: usize, flags: u16) -> Header {
        Header {
            source_port: 1000,
            destination_port: 80,
            seq: Seq(self.seq.wrapping_add(at as u32)),
            ack: Seq(77),
            flags: Flags::from_bits(flags),
            window: 500,
            options: Options { timestamps: self.timestamps.then_some((1, 2)), ..Options::NONE },
            ..Header::default()
        }
    }

    /// A packet as a host makes it that sends one by one.
    fn packet(&self, at: usize, len: usize, flags: u16, identification: u16) -> Vec<u8> {
        let header = self.tcp(at, flags);
        let mut segment = vec![0; header.len()];
        header.emit(&mut segment);
        segment.extend(&self.text[at..at + len]);
        let mut ip = if self.version == 4 {
            let ip = ipv4::Header {
                total_length: 20 + segment.len() as u16,
                identification,
                dont_fragment: true,
                protocol: 6,
                source: A,
                destination: B,
                type_of_service: 2,
                ..ipv4::Header::default()
            };
            let mut octets = vec![0; 20];
            ip.emit_summed(&mut octets);
            octets
        } else {
            let [l0, l1] = (segment.len() as u16).to_be_bytes();
            [&[0x60, 0x20, 0, 9, l0, l1, 6, 64][..], &IPV6].concat()
        };
        let addresses = if self.version == 4 { &ip[12..20] } else { &ip[8..40] };
        let pseudo = Sum::of(addresses).add_u16(6).add_u16(segment.len() as u16);
        let checksum = pseudo.plus(Sum::of(&segment)).checksum();
        segment[16..18].copy_from_slice(&checksum.to_be_bytes());
        ip.extend(segment);
        ip
    }

    fn headers(&self) -> usize {
        let ip = if self.version == 4 { 20 } else { 40 };
        ip + self.tcp(0, 0).len()
    }

    /// What a host sends that cannot let its device cut.
    fn one_by_one(&self) -> Vec<Vec<u8>> {
        let starts: Vec<usize> = (0..self.text.len()).step_by(self.size).collect();
        let packet = |(number, &at): (usize, &usize)| {
            let len = self.size.min(self.text.len() - at);
            let mut flags = self.flags;
            if at + len < self.text.len() {
                flags &= !9;
            }
            if number > 0 && !self.ace {
                flags &= !0x80;
            }
            let mut identification = self.identification;
            if identification != 0 {
                identification = identification.wrapping_add(number as u16);
            }
            self.packet(at, len, flags, identification)
        };
        starts.iter().enumerate().map(packet).collect()
    }

    /// The super-segment as TCP and IP hand it down: its checksum is not known, and its headers lie apart from its
    /// text.
    fn whole(&self) -> Message {
        let octets = self.packet(0, self.text.len(), self.flags, self.identification);
        let (headers, text) = octets.split_at(self.headers());
        let mut message = Message::from_page(Page::from(text));
        message.push(headers.len()).copy_from_slice(headers);
        let end = message.len();
        message.truncate(end);
        *message.meta_mut() = Meta {
            segment_size: self.size as u16,
            header_len: headers.len() as u16,
            ace: self.ace,
            checksum: Checksum::Partial { start: headers.len() as u16 - self.tcp(0, 0).len() as u16, field: 16 },
        };
        message
    }
}

fn packets(whole: Message) -> Vec<Message> {
    let mut packets = Vec::new();
    assert!(cut(whole, |packet| packets.push(packet)));
    packets
}

fn merged(packets: impl IntoIterator<Item = Message>) -> Vec<Message> {
    let (mut merger, mut all) = (Merger::default(), Vec::new());
    let mut out = |_, message| all.push(message);
    for packet in packets {
        merger.take(Address::NONE, packet, &mut out);
    }
    merger.flush(&mut out);
    assert!(merger.is_empty());
    all
}

fn octets(messages: &[Message]) -> Vec<Vec<u8>> {
    messages.iter().map(Message::to_vec).collect()
}

proptest! {
    #[test]
    fn cut_packets_are_those_that_are_sent_one_by_one(case in cases()) {
        let cut = packets(case.whole());
        prop_assert_eq!(octets(&cut), case.one_by_one());
        prop_assert!(cut.iter().all(|packet| packet.meta().segment_size == 0));
    }

    #[test]
    fn what_is_in_front_of_ip_is_repeated(case in cases(), link in prop::collection::vec(0u8..0x40, 0..9)) {
        let mut whole = case.whole();
        whole.push_header(link.len()).copy_from_slice(&link);
        let expected: Vec<Vec<u8>> = case.one_by_one().iter().map(|packet| [&link[..], packet].concat()).collect();
        prop_assert_eq!(octets(&packets(whole)), expected);
    }

    #[test]
    fn cut_and_put_together_is_the_super_segment(case in cases(), in_pages in any::<bool>()) {
        let first_only = if case.ace { 0x01 } else { 0x81 };
        let case = Case { flags: case.flags & !first_only, ..case };
        let mut cut = packets(case.whole());
        if in_pages {
            // As they come from a system call.
            cut = cut.iter().map(|packet| Message::from_page(Page::from(&packet.to_vec()[..]))).collect();
        }
        let count = cut.len();
        let whole = merged(cut);
        let expected = case.packet(0, case.text.len(), case.flags, case.identification);
        prop_assert_eq!(octets(&whole), [expected]);
        if count > 1 {
            let meta = whole[0].meta();
            prop_assert_eq!(usize::from(meta.segment_size), case.size);
            prop_assert_eq!(usize::from(meta.header_len), case.headers());
            prop_assert_eq!(meta.checksum, Checksum::Verified);
            // And back again.
            prop_assert_eq!(offload::packets(&whole[0]), count);
            prop_assert_eq!(offload::octets(&whole[0]), case.one_by_one().concat().len());
            prop_assert_eq!(octets(&packets(whole[0].clone())), case.one_by_one());
        }
    }

    /// Whatever happens to packets on their way, what is put together is right, and all else comes as it was.
    #[test]
    fn nothing_wrong_is_put_together(
        case in cases(),
        // The Internet checksum finds every single bit, and not every two.
        flip in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
        swap in any::<prop::sample::Index>(),
        twice in any::<prop::sample::Index>(),
    ) {
        let mut sent = packets(case.whole());
        if let Some((packet, bit)) = flip {
            let packet = packet.index(sent.len());
            let bit = bit.index(8 * sent[packet].len());
            sent[packet].flip_bit(bit);
        }
        let at = swap.index(sent.len());
        let other = (at + 1) % sent.len();
        sent.swap(at, other);
        let again = sent[twice.index(sent.len())].clone();
        sent.push(again);
        let before: Vec<Vec<u8>> = octets(&sent);
        let mut singles = before.clone();
        let len = case.headers();
        for message in merged(sent) {
            let octets = message.to_vec();
            if message.meta().segment_size == 0 {
                let at = singles.iter().position(|packet| *packet == octets);
                prop_assert!(at.is_some(), "a packet was changed");
                singles.remove(at.unwrap());
                continue;
            }
            // Each part was a packet whose checksums are right.
            for part in packets(message) {
                let text = part.to_vec()[len..].to_vec();
                let at = singles.iter().position(|packet| packet.len() == part.len() && packet[len..] == text[..]);
                prop_assert!(at.is_some(), "text that nobody sent");
                let packet = singles.remove(at.unwrap());
                prop_assert!(case.one_by_one().iter().any(|one| one[len..] == packet[len..]));
            }
        }
        prop_assert!(singles.is_empty());
    }
}

fn plain() -> Case {
    Case {
        version: 4,
        seq: 1000,
        flags: 0x10,
        ace: false,
        timestamps: true,
        identification: 0,
        text: (0..5000u32).map(|n| n as u8).collect(),
        size: 1000,
    }
}

#[test]
fn packets_of_two_connections_are_kept_apart() {
    let one = plain();
    let other = Case { version: 6, ..plain() };
    let pairs = packets(one.whole()).into_iter().zip(packets(other.whole()));
    let whole = merged(pairs.flat_map(|(a, b)| [a, b]));
    let expected = [&one, &other].map(|case| case.packet(0, 5000, 0x10, 0));
    assert_eq!(octets(&whole), expected);
}

#[test]
fn packets_of_two_connections_change_no_places_on_their_way_to_a_device() {
    let one = plain();
    let other = Case { version: 6, ..plain() };
    let (a, b) = (packets(one.whole()), packets(other.whole()));
    let acknowledgment = || Message::from_octets(&one.packet(5000, 0, 0x10, 0));
    let no_packet = || Message::from_octets(&[7; 60]);
    // A device leaves CWR on the first packet alone.
    let counted = |at| Message::from_octets(&one.packet(at, 1000, 0x90, 0));
    // Three of the one, two of the other and what cannot be put together between them.
    let mut sent: Vec<Message> = Vec::new();
    sent.extend(a[..3].iter().cloned().chain(b[..2].iter().cloned()));
    sent.extend([acknowledgment(), b[2].clone(), no_packet(), b[3].clone(), a[3].clone(), b[4].clone(), a[4].clone()]);
    sent.extend([counted(0), counted(1000)]);
    let (mut merger, mut all) = (Merger::for_device(), Vec::new());
    let mut out = |_, message: Message| all.push(message);
    for packet in sent.clone() {
        merger.take(Address::NONE, packet, &mut out);
    }
    merger.flush(&mut out);
    let numbers: Vec<usize> = all.iter().map(offload::packets).collect();
    assert_eq!(numbers, [3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    let of_two = all.iter().filter(|one| offload::packets(one) > 1);
    assert!(of_two.map(|one| one.meta().checksum).all(|sum| matches!(sum, Checksum::Partial { .. })));
    let again: Vec<Message> = all.into_iter().flat_map(packets).collect();
    assert_eq!(octets(&again), octets(&sent));
}

#[test]
fn a_push_or_a_short_packet_ends_it_and_acknowledgments_pass() {
    let case = plain();
    let segment = |at, len, flags| Message::from_octets(&case.packet(at, len, flags, 0));
    let sent = [
        segment(0, 1000, 0x10),
        segment(1000, 1000, 0x18),
        segment(2000, 1000, 0x10),
        segment(3000, 500, 0x10),
        segment(3500, 1000, 0x10),
        segment(4500, 0, 0x10),
    ];
    let lengths: Vec<usize> = merged(sent).iter().map(|one| one.len() - 52).collect();
    assert_eq!(lengths, [2000, 1500, 1000, 0]);
}

#[test]
fn a_packet_shorter_than_headers_passes_behind_one_of_ipv6_that_waits() {
    let case = Case { version: 6, ..plain() };
    let first = case.packet(0, 1000, 0x10, 0);
    let sent = [&first[..], &first[..39], &[0x60]].map(Message::from_octets);
    let lengths: Vec<usize> = merged(sent).iter().map(Message::len).collect();
    assert_eq!(lengths, [first.len(), 39, 1]);
}

#[test]
fn a_frame_that_is_no_packet_of_ip_passes_without_being_touched() {
    let mut merger = Merger::default();
    let mut frame = Message::from_octets(&[7; 200]);
    frame.push_octets(&[0xaa; 48]);
    let mut passed = Vec::new();
    merger.take(Address::NONE, frame, &mut |_, frame: Message| passed.push(frame));
    let [frame] = &passed[..] else { panic!("{passed:?}") };
    // Its text lies where it lay.
    assert_eq!((frame.len(), frame.slices()[0].len()), (248, 200));
}

#[test]
fn what_differs_in_more_than_it_may_is_not_put_together() {
    let case = plain();
    let first = case.packet(0, 1000, 0x10, 0);
    let fields = [("ECN", 1), ("time to live", 8), ("acknowledgment", 31), ("window", 35), ("timestamp", 47)];
    for (what, at) in fields {
        let mut second = case.packet(1000, 1000, 0x10, 0);
        second[at] ^= 1;
        let word = u16::from_be_bytes([second[at & !1], second[at | 1]]);
        let old = if at % 2 == 0 { word ^ 0x100 } else { word ^ 1 };
        let field = if at < 20 { 10 } else { 36 };
        let checksum = u16::from_be_bytes([second[field], second[field + 1]]);
        let mended = Sum::update(checksum, old, word).to_be_bytes();
        second[field..field + 2].copy_from_slice(&mended);
        let sent = [&first, &second].map(|packet| Message::from_octets(packet));
        assert_eq!(merged(sent).len(), 2, "{what}");
    }
}

/// The checksums stay right where one word goes up and another down, so that nothing but the comparison can tell.
#[test]
fn what_differs_and_sums_to_the_same_is_not_put_together() {
    for (version, timestamps) in [(4, false), (4, true), (6, false), (6, true)] {
        let case = Case { version, timestamps, ..plain() };
        let tcp = if version == 4 { 20 } else { 40 };
        let first = case.packet(0, 1000, 0x10, 0);
        let second = case.packet(1000, 1000, 0x10, 0);
        let of = |second: &[u8]| merged([&first[..], second].map(Message::from_octets)).len();
        assert_eq!(of(&second), 1);
        // Acknowledgment, window, urgent pointer; both halves of both timestamps.
        let mut pairs = vec![(8, 10), (8, 14), (10, 18)];
        if timestamps {
            pairs.extend([(26, 30), (28, 30), (14, 30)]);
        }
        for (up, down) in pairs {
            let mut second = second.clone();
            let word = |at: usize| u16::from_be_bytes([second[tcp + at], second[tcp + at + 1]]);
            // A word of zero cannot go down.
            let (up, down) = if word(down) == 0 { (down, up) } else { (up, down) };
            let (more, less) = (word(up) + 1, word(down) - 1);
            second[tcp + up..tcp + up + 2].copy_from_slice(&more.to_be_bytes());
            second[tcp + down..tcp + down + 2].copy_from_slice(&less.to_be_bytes());
            assert_eq!(of(&second), 2, "IPv{version} {timestamps} {up} {down}");
        }
    }
}

/// RFC 3168 section 6.1.2: CWR says something of one packet.
#[test]
fn a_packet_with_cwr_is_not_put_together_with_those_without() {
    let case = plain();
    let segment = |at, flags| Message::from_octets(&case.packet(at, 1000, flags, 0));
    for flags in [[0x90, 0x10], [0x10, 0x90], [0x50, 0x10], [0x110, 0x10]] {
        let [first, second] = flags;
        let sent = [segment(0, first), segment(1000, second)];
        assert_eq!(merged(sent).len(), 2, "{flags:x?}");
    }
}

#[test]
fn what_cannot_be_cut_is_not_sent() {
    let mut whole = plain().whole();
    whole.meta_mut().header_len = 48;
    assert!(!cut(whole, |_| panic!("a packet")));
}

#[test]
fn tshark_finds_cut_packets_right() {
    let names = ["ip.checksum.status", "tcp.checksum.status", "tcp.seq", "tcp.len", "tcp.flags.push"];
    let case = Case { flags: 0x18, identification: 9, ..plain() };
    let frame = |packet: &Message| {
        let ether = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        [&ether[..], &packet.to_vec()].concat()
    };
    let mut frames: Vec<Vec<u8>> = packets(case.whole()).iter().map(frame).collect();
    frames.extend(merged(packets(case.whole())).iter().map(frame));
    let Some(rows) = judge::fields("offload", judge::link_type::ETHERNET, &frames, &names) else {
        return;
    };
    let good = |seq: &str, len: &str, push: &str| ["1", "1", seq, len, push].map(str::to_owned).to_vec();
    let expected = [
        good("1000", "1000", "False"),
        good("2000", "1000", "False"),
        good("3000", "1000", "False"),
        good("4000", "1000", "False"),
        good("5000", "1000", "True"),
        good("1000", "5000", "True"),
    ];
    let of_old = |cell: &String| match cell.as_str() {
        "0" => "False".to_owned(),
        _ => cell.clone(),
    };
    for (row, expected) in rows.iter().zip(&expected) {
        let push = row.last().map(of_old).unwrap();
        let push = if push == "1" { "True".to_owned() } else { push };
        assert_eq!((&row[..4], &push), (&expected[..4], &expected[4]));
    }
    assert_eq!(rows.len(), expected.len());
}
