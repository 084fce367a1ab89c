//! What RFC 9293 asks for and no other test is about.

use core::net::Ipv4Addr;
use kumiki_wire::inet::IpQuality;
use kumiki_wire::inet::SourceRoute;

use kumiki_graph::{Coalesce, Duration, Mode, Open, Quality, Report, Request};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, Header, Seq};

use super::pair::*;
use crate::tcp::config::LossDetection;
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
    let words = octets.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
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

// RFC 9293: MUST-60, MUST-61, SHLD-27, SHLD-28, MAY-15, MAY-17
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
    assert_eq!(pair.app(B).pushes, 1);
}

// RFC 9293: MUST-34, SHLD-15, SHLD-16, SHLD-17
#[test]
fn a_window_that_shrinks_is_survived() {
    let config = Config { max_retransmissions: 3, ..plain() };
    let mut pair =
        Pair::with_rule(
            config,
            plain(),
            |packet| {
                if packet.at.as_nanos() >= 500_000_000 { Vec::new() } else { vec![ms(10)] }
            },
        )
        .connected();
    pair.write(A, &numbered(8000));
    let sent = pair.log.last().unwrap().ack;
    assert_eq!(sent, 1);
    let from = pair.log.len();
    let shrunk = |pair: &mut Pair, window| {
        let header = Header { flags: Flags::ACK, seq: Seq(1), ack: Seq(1), window, ..pair.header(B) };
        pair.inject(A, header, b"");
    };
    // From 64,000 to 2,000 behind which 8,000 are sent: nothing new goes, and what lies inside is retransmitted.
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
        let mut pair = Pair::seeded(config.clone(), config, seed, 9180, Box::new(|_| vec![ms(10)]));
        pair.run_for(wait);
        pair.ask(A, vec![open(Mode::Active, address(B, PORT), 5555)]);
        pair.log[0].header.seq
    };
    // One for each 4 microseconds.
    assert_eq!(first(1, ms(1000)) - first(1, ms(0)), 250_000);
    assert_ne!(first(1, ms(0)), first(2, ms(0)));
}

/// Hosts that were not told their addresses, or were told others.
fn configured(mut pair: Pair, address: Ipv4Addr) -> Pair {
    for host in &mut pair.hosts {
        let node = host.graph.node("tcp").unwrap();
        let tcp: &mut crate::tcp::Tcp = host.graph.protocol_mut(node).unwrap();
        tcp.shared.config.address = address.into();
    }
    pair
}

// RFC 9293: MUST-44
#[test]
fn a_call_waits_for_ip_to_choose_its_address() {
    let silent = || configured(Pair::silent(plain(), plain()), Ipv4Addr::UNSPECIFIED);
    let mut pair = silent();
    pair.call(A);
    assert!(pair.log.is_empty());
    let route = Report::Route { to: ip(B), source: ip(A), unit: 9160, burst: 1, bypass: None };
    pair.report(A, route);
    // The wire refuses segments from any other address.
    assert!(pair.log[0].has(Flags::SYN));
    let mut pair = silent();
    pair.call(A);
    pair.run_for(ms(200));
    assert_eq!(pair.app(A).heard, ["aborted: BadAddress"]);
    assert!(pair.log.is_empty());
}

// RFC 9293: MUST-43, MUST-45
#[test]
fn a_connection_keeps_the_address_that_it_was_opened_with() {
    // These hosts have other addresses too, which would be used were none named.
    let other = Ipv4Addr::new(10, 0, 0, 77);
    let mut pair = configured(Pair::new(plain(), plain(), ms(10)), other);
    pair.listen(B, 5);
    let call = Open { local: ip(A), remote: address(B, PORT), ..Open::default() };
    pair.ask(A, vec![Request::Open(Box::new(call))]);
    pair.run_for(ms(100));
    pair.write(A, &numbered(3000));
    pair.write(B, &numbered(3000));
    pair.run_for(ms(500));
    // The wire refuses segments from any other address.
    assert_eq!(pair.app(B).received, numbered(3000));
    assert_eq!(pair.app(A).received, numbered(3000));
    pair.release(A);
    pair.release(B);
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).heard, ["opened", "released", "closed"]);
    assert_eq!(pair.strays, 0);
}

// RFC 9293: MUST-54
#[test]
fn an_icmp_error_concerns_only_the_connection_that_it_quotes() {
    let mut pair = Pair::with_rule(plain(), plain(), |_| Vec::new());
    pair.call(A);
    pair.call(A);
    let [first, second] = [0, 1].map(|n: usize| pair.log[n].header.source_port);
    // It quotes what was sent last.
    pair.icmp(A, no_port());
    assert_eq!(pair.app(A).heard, ["aborted: Refused"]);
    pair.run_for(ms(1000));
    let ports: Vec<u16> = pair.log[2..].iter().map(|p| p.header.source_port).collect();
    assert_eq!(ports, [first]);
    assert_ne!(first, second);
}

/// Segments that A sends in each of six round trips of 100 ms before all of one is lost, and in each of as many from
/// the time-out on.
fn rounds_around_a_timeout(config: Config) -> ([usize; 6], [usize; 6]) {
    let config = Config {
        initial_window: crate::tcp::congestion::InitialWindow::Segments(2),
        ack: crate::tcp::config::AckRule { every: 1, count_small: true, pushed: false },
        send_buffer: 1_000_000,
        ..config
    };
    // What is sent from 1 s to 1.05 s is lost.
    let mut pair = Pair::with_rule(config.clone(), config, |packet| {
        if packet.from == A && (1_000..1_050).contains(&(packet.at.as_nanos() / 1_000_000)) {
            Vec::new()
        } else {
            vec![ms(50)]
        }
    })
    .connected();
    pair.run_for(ms(200));
    pair.write(A, &numbered(500_000));
    pair.run_for(ms(1500));
    let times = || {
        let sent = pair.log.iter().filter(|p| p.from == A && p.len() > 0);
        sent.map(|packet| packet.at.as_nanos() / 1_000_000)
    };
    let sent = |from: u64| times().filter(|at| (from..from + 100).contains(at)).count();
    let first = times().find(|&at| at >= 1100).unwrap();
    let before = [700, 800, 900, 1000, 1100, 1200].map(sent);
    (before, [0, 1, 2, 3, 4, 5].map(|n| sent(first + 100 * n)))
}

// RFC 9293: MUST-19
#[test]
fn a_sender_starts_slowly_and_after_a_loss_goes_on_with_care() {
    let f_rto = false;
    let (before, after) = rounds_around_a_timeout(Config { f_rto, ..plain() });
    // Slow start doubles. Then all of a round trip is lost; RTO is the least, 200 ms or a little more.
    assert_eq!(before[..5], [2, 4, 8, 16, 0]);
    // One segment, then two, four, eight, which is half of what was in flight: from there one more each round trip.
    assert_eq!(after, [1, 2, 4, 8, 9, 10]);
}

// RFC 9293: MUST-19
#[test]
fn what_was_lost_goes_again_in_slow_start_once_f_rto_finds_the_time_out_genuine() {
    for (sack, timestamps) in [(false, false), (false, true), (true, false), (true, true)] {
        for loss_detection in [LossDetection::Sack, LossDetection::Rack] {
            let config = Config {
                mss: Some(1000 + 12 * u16::from(timestamps)),
                f_rto: true,
                tail_loss_probe: false,
                // More than two round trips, for the timer does not start again at a duplicate.
                rto: crate::tcp::rtt::Config { minimum: ms(250), ..crate::tcp::rtt::Config::LINUX },
                loss_detection,
                sack,
                timestamps,
                ..plain()
            };
            let (before, after) = rounds_around_a_timeout(config);
            let case = format!("sack {sack}, timestamps {timestamps}, {loss_detection:?}");
            assert_eq!(before[..5], [2, 4, 8, 16, 0], "{case}");
            // One segment, then two new ones, whose duplicates tell that it was for something: RFC 5682 section 2.1
            // step 3 (a) allows three, and slow start doubles them up to half of what was in flight.
            assert_eq!(after[..5], [1, 2, 3, 6, 8], "{case}");
        }
    }
}

// RFC 9293: MUST-48, MUST-49, MUST-53
#[test]
fn what_is_sent_in_time_wait_travels_as_the_connection_did() {
    let gateways = vec![Ipv4Addr::new(10, 0, 0, 8)];
    let strict = false;
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.return_route = Some((A, SourceRoute { gateways, strict }));
    let mut pair = pair.connected();
    let quality = Quality {
        special: IpQuality { ttl: Some(33), tos: Some(0xb8), ..IpQuality::NONE }.into(),
        ..Quality::default()
    };
    pair.change(B, quality);
    pair.release(B);
    pair.run_for(ms(100));
    pair.release(A);
    pair.run_for(ms(100));
    assert_eq!((pair.tcp(A).connections(), pair.tcp(B).connections()), (0, 1));
    let before = pair.log.len();
    let fin = Header { flags: Flags::FIN | Flags::ACK, seq: Seq(1), ack: Seq(2), ..pair.header(A) };
    pair.inject(B, fin, b"");
    assert_eq!(pair.log.len(), before + 1);
    assert_eq!(*pair.travelled.last().unwrap(), (B, 33, 0xb8));
    assert_eq!(pair.ways[before], pair.ways[1]);
    assert!(pair.ways[before].is_some());
}

// RFC 9293: MAY-12
#[test]
fn data_with_an_acknowledgment_that_is_too_old_is_not_taken() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(B, &numbered(70_000));
    pair.run_for(ms(2000));
    assert_eq!(pair.app(A).received.len(), 70_000);
    // A never offered more than 64,000 octets.
    for (ack, taken) in [(70_001 - 64_001, ""), (70_001 - 64_000, "data")] {
        let header = Header { flags: Flags::ACK, seq: Seq(1), ack: Seq(ack), ..pair.header(A) };
        pair.inject(B, header, b"data");
        assert_eq!(pair.app(B).received, taken.as_bytes());
    }
}

// RFC 9293: MUST-17
#[test]
fn the_user_of_a_connection_switches_nagle_off() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.taken_log();
    pair.write(A, b"one");
    pair.write(A, b"two");
    assert_eq!(pair.taken_log().len(), 1);
    let quality = Quality { coalesce: Some(Coalesce::Never), ..Quality::default() };
    pair.run_for(ms(100));
    pair.change(A, quality);
    pair.taken_log();
    pair.write(A, b"three");
    pair.write(A, b"four");
    assert_eq!(pair.taken_log().len(), 2);
}

// RFC 9293: MUST-39
#[test]
fn an_acknowledgment_opens_a_closed_window_far_or_not_at_all() {
    let small = Config { receive_buffer: 4000, ..plain() };
    let mut pair = Pair::new(plain(), small, ms(10)).connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(4000));
    pair.run_for(ms(100));
    let probe = Header { flags: Flags::ACK, seq: Seq(4001), ack: Seq(1), ..pair.header(A) };
    for (taken, window) in [(0, 0), (999, 0), (1, 1000)] {
        pair.take(B, taken);
        pair.run_for(ms(1000));
        pair.inject(B, probe, b"x");
        assert_eq!(pair.log.last().unwrap().header.window, window);
    }
}

// RFC 9293: MUST-53
#[test]
fn the_way_by_which_a_syn_came_is_kept_though_nothing_else_comes_by_it() {
    let gateways = vec![Ipv4Addr::new(10, 0, 0, 8)];
    let strict = false;
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.return_route = Some((A, SourceRoute { gateways, strict }));
    pair.listen(B, 5);
    pair.call(A);
    pair.return_route = None;
    pair.run_for(ms(100));
    pair.write(B, &numbered(2000));
    pair.run_for(ms(100));
    assert_eq!(pair.app(A).received, numbered(2000));
    for (packet, way) in pair.log.iter().zip(&pair.ways) {
        assert_eq!(way.is_some(), packet.from == B, "{packet}");
    }
}

// RFC 9293: MUST-66
#[test]
fn urg_and_rst_count_at_a_closed_window_also_with_text_that_has_no_room() {
    let small = Config { receive_buffer: 2000, ..plain() };
    let mut pair = Pair::new(plain(), small, ms(10)).connected();
    pair.app(B).idle = true;
    pair.write(A, &numbered(2000));
    pair.run_for(ms(100));
    let mut header =
        Header { flags: Flags::ACK | Flags::URG, seq: Seq(2001), ack: Seq(1), urgent_pointer: 5, ..pair.header(A) };
    pair.inject(B, header, b"hurry");
    assert_eq!(pair.app(B).heard, ["offered", "urgent: 5 after 2000"]);
    header.flags = Flags::ACK | Flags::RST;
    pair.inject(B, header, b"enough");
    assert_eq!(pair.app(B).heard[2..], ["aborted: Reset"]);
    assert_eq!(pair.app(B).received.len(), 2000);
}
