//! What RFC 9293 asks for and no other test is about.

use kumiki_graph::Duration;
use kumiki_octets::Message;
use kumiki_wire::tcp::{Flags, Header, Seq};

use super::pair::*;
use crate::tcp::{Config, defaults};

// RFC 9293: MUST-1
#[test]
fn a_window_above_32767_is_no_negative_number() {
    let config = Config {
        initial_window: crate::tcp::congestion::InitialWindow::Segments(100),
        receive_buffer: 65_535,
        ..plain()
    };
    let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
    pair.taken_log();
    pair.write(A, &numbered(64_000));
    assert_eq!(pair.taken_log().len(), 64);
}

/// RFC 1071, word by word, over the pseudo header and the segment.
fn checksum(source: [u8; 4], destination: [u8; 4], segment: &[u8]) -> u16 {
    let mut octets = Vec::from(source);
    octets.extend(destination);
    octets.extend([0, 6]);
    octets.extend((segment.len() as u16).to_be_bytes());
    octets.extend(segment);
    octets.resize(octets.len().next_multiple_of(2), 0);
    let words = octets
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

// RFC 9293: MUST-2, MUST-3
#[test]
fn checksums_are_computed_and_verified() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    pair.write(B, b"odd number of octets.");
    let sent = pair.log.last().unwrap().clone();
    let mut octets = vec![0; sent.header.len()];
    sent.header.emit(&mut octets);
    octets.extend(&sent.text);
    assert_eq!(checksum(b, a, &octets), 0);

    let mut header = pair.header(A);
    header.flags = Flags::ACK;
    header.seq = pair.first[A].unwrap() + 1;
    header.ack = pair.first[B].unwrap() + 1;
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets.extend(b"hello");
    let sum = checksum(a, b, &octets);
    for (wrong, heard) in [(1u16, &b""[..]), (0, b"hello")] {
        octets[16..18].copy_from_slice(&(sum ^ wrong).to_be_bytes());
        pair.deliver(B, Message::from_octets(&octets));
        assert_eq!(pair.app(B).received, heard);
    }
    assert_eq!(pair.counters(B).bad_checksums, 1);
}

// RFC 9293: MUST-14, MUST-15, MUST-65, SHLD-5
#[test]
fn the_mss_goes_with_syns_only_and_is_536_where_none_is_told() {
    let config = Config {
        mss: None,
        ..plain()
    };
    let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
    pair.write(A, &numbered(20_000));
    pair.run_for(ms(500));
    for packet in &pair.log {
        let told = packet.header.options.mss;
        assert_eq!(told, packet.has(Flags::SYN).then_some(9140));
    }
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.call(A);
    let syn = pair.log[0].header;
    pair.first[B] = Some(Seq(0));
    let reply = Header {
        source_port: syn.destination_port,
        destination_port: syn.source_port,
        seq: Seq(500),
        ack: Seq(1),
        flags: Flags::SYN | Flags::ACK,
        window: 5000,
        ..Header::default()
    };
    pair.inject(A, reply, b"");
    pair.write(A, &numbered(2000));
    assert_eq!(pair.log.last().unwrap().len(), 536);
}

// RFC 9293: MUST-5, MUST-6, MUST-7, MUST-64
#[test]
fn any_options_may_come_in_any_segment() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    let mut header = pair.header(A);
    header.flags = Flags::ACK;
    let start = pair.first[A].unwrap() + 1;
    header.ack = pair.first[B].unwrap() + 1;
    let mut at = 0;
    for options in [
        // MSS, unaligned, where it does not belong; a kind that nobody has; the end, and rubbish after it.
        [1, 2, 4, 0x05, 0xb4, 99, 3, 7, 0, 0xee, 0xee, 0xee],
        // A length that cannot be; one beyond the header.
        [2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 200],
        [77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        header.seq = start + at;
        let mut octets = vec![0; 20];
        header.emit(&mut octets);
        octets[12] = 8 << 4;
        octets.extend(options);
        octets.extend(b"text");
        let mut data = Message::from_octets(&octets);
        data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
        pair.deliver(B, data);
        at += 4;
    }
    assert_eq!(pair.app(B).received, b"texttexttexttext");
}

// RFC 9293: MUST-60, MUST-61, SHLD-27, SHLD-28
#[test]
fn data_is_pushed_at_its_end_and_only_there() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    pair.write(A, &numbered(2500));
    // Nagle holds the last part, and two more writes join it: one push for all.
    pair.write(A, &numbered(300));
    pair.write(A, &numbered(100));
    pair.run_for(ms(100));
    let sent = pair.log.iter().filter(|p| p.from == A && p.len() > 0);
    let sent: Vec<(usize, bool)> = sent.map(|p| (p.len(), p.has(Flags::PSH))).collect();
    assert_eq!(sent, [(1000, false), (1000, false), (900, true)]);
    assert_eq!(pair.app(B).received.len(), 2900);
}

// RFC 9293: MUST-34, SHLD-15, SHLD-16, SHLD-17
#[test]
fn a_window_that_shrinks_is_survived() {
    let config = Config {
        max_retransmissions: 3,
        ..plain()
    };
    let mut pair = Pair::with_rule(config, plain(), |packet| {
        if packet.at.as_nanos() >= 500_000_000 {
            Vec::new()
        } else {
            vec![ms(10)]
        }
    })
    .connected();
    pair.write(A, &numbered(8000));
    let sent = pair.log.last().unwrap().ack;
    assert_eq!(sent, 1);
    let from = pair.log.len();
    let shrunk = |pair: &mut Pair, window| {
        let header = Header {
            flags: Flags::ACK,
            seq: Seq(1),
            ack: Seq(1),
            window,
            ..pair.header(B)
        };
        pair.inject(A, header, b"");
    };
    // From 64,000 to 2,000 behind which 8,000 are sent: nothing new goes, and what lies inside is sent again.
    shrunk(&mut pair, 2000);
    pair.write(A, &numbered(3000));
    assert_eq!(pair.log.len(), from);
    pair.run_for(ms(300));
    assert_eq!((pair.log[from].seq, pair.log[from].len()), (1, 1000));
    assert!(pair.log[from..].iter().all(|packet| packet.seq < 8001));
    // To nothing: for as long as the peer answers, the connection stands.
    for _ in 0..60 {
        shrunk(&mut pair, 0);
        pair.run_for(ms(500));
    }
    assert!(!pair.app(A).over);
    // No more than 3 go unanswered.
    pair.run_for(Duration::from_secs(600));
    assert!(pair.app(A).over);
}

// RFC 9293: SHLD-31
#[test]
fn what_comes_ahead_of_its_turn_is_kept() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    let mut header = pair.header(A);
    header.flags = Flags::ACK;
    header.ack = Seq(1);
    for (seq, text) in [(6, &b"second"[..]), (1, b"first")] {
        header.seq = Seq(seq);
        pair.inject(B, header, text);
    }
    assert_eq!(pair.app(B).received, b"firstsecond");
}

// RFC 9293: MUST-8, MUST-9, SHLD-1
#[test]
fn initial_sequence_numbers_go_with_the_clock_and_are_keyed() {
    let first = |seed, wait| {
        let config = defaults::modern();
        let mut pair = Pair::seeded(
            config.clone(),
            config,
            seed,
            9180,
            Box::new(|_| vec![ms(10)]),
        );
        pair.run_for(wait);
        pair.ask(
            A,
            vec![open(kumiki_graph::Mode::Active, address(B, PORT), 5555)],
        );
        pair.log[0].header.seq
    };
    // One for each 4 microseconds.
    assert_eq!(first(1, ms(1000)) - first(1, ms(0)), 250_000);
    assert_ne!(first(1, ms(0)), first(2, ms(0)));
}
