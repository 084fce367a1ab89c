//! Input that somebody made to do harm: what it costs is bounded, and what it aims at goes on.

use kumiki_graph::Duration;
use kumiki_wire::inet::tcp::{Flags, Header, Seq};

use super::pair::*;
use crate::tcp::Config;
use crate::tcp::config::SynCookies;

/// Milliseconds that B needs to receive `octets` from A while `attack` is let loose after every millisecond.
fn transfer(pair: &mut Pair, octets: usize, mut attack: impl FnMut(&mut Pair)) -> u64 {
    let began = pair.now;
    pair.write(A, &numbered(octets));
    while pair.app(B).received.len() < octets {
        pair.run_for(ms(1));
        attack(pair);
        let took = pair.now.saturating_since(began);
        assert!(took < Duration::from_secs(600), "it stalled");
    }
    assert_eq!(pair.app(B).received, numbered(octets));
    pair.now.saturating_since(began).as_nanos() / 1_000_000
}

/// Holds a transfer of 2 MB under attack to 110 % of the time that it takes alone.
fn unharmed(attack: impl FnMut(&mut Pair)) -> Pair {
    let config = Config { send_buffer: 2_000_000, ..plain() };
    let alone = || Pair::new(config.clone(), config.clone(), ms(10)).connected();
    let free = transfer(&mut alone(), 2_000_000, |_| {});
    let mut pair = alone();
    let attacked = transfer(&mut pair, 2_000_000, attack);
    assert!(attacked <= free + free / 10, "{attacked} ms, alone {free} ms");
    pair
}

/// A guess of somebody who knows addresses and ports, but no sequence numbers.
fn guess(pair: &Pair, flags: Flags, n: u32) -> Header {
    Header {
        flags,
        seq: Seq(n.wrapping_mul(2_654_435_761) | 1 << 20),
        ack: Seq(n.wrapping_mul(40_503) ^ 0x4000_0000),
        ..pair.header(A)
    }
}

#[test]
fn blind_resets_syns_and_data_do_no_harm() {
    for (flags, text) in [
        (Flags::RST, &b""[..]),
        (Flags::RST | Flags::ACK, b""),
        (Flags::SYN, b""),
        (Flags::SYN | Flags::ACK, b""),
        (Flags::ACK, b"evil"),
        (Flags::ACK | Flags::FIN, b""),
    ] {
        let mut n = 0;
        let pair = unharmed(|pair| {
            for _ in 0..20 {
                n += 1;
                let header = guess(pair, flags, n);
                pair.inject(B, header, text);
            }
        });
        let counters = pair.counters(B);
        assert_eq!(counters.resets_received, 0, "{flags}");
        assert_eq!(counters.octets_received, 2_000_000, "{flags}");
    }
}

#[test]
fn challenges_are_limited_per_connection_whatever_draws_them() {
    for (flags, text, most) in [
        (Flags::SYN, &b""[..], 2),
        (Flags::ACK, b"", 2),
        // A burst of 256, and one each millisecond.
        (Flags::ACK, b"old text", 256 + 1000),
    ] {
        let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
        pair.write(A, &numbered(2000));
        pair.run_for(ms(500));
        let before = pair.counters(B).segments_sent;
        for n in 0..10_000 {
            let mut header = guess(&pair, flags, n);
            (header.seq, header.ack) = (Seq(1), Seq(1));
            pair.inject(B, header, text);
            if n % 10 == 9 {
                pair.run_for(ms(1));
            }
        }
        let answers = pair.counters(B).segments_sent - before;
        assert!(answers <= most, "{answers} answers to {flags}");
        assert!(answers > 0);
    }
}

#[test]
fn two_ends_that_disagree_do_not_answer_each_other_for_ever() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    // A comes to believe that B is far ahead, and B that A is.
    let far = Header { flags: Flags::ACK, seq: Seq(50_000_000), ack: Seq(1), ..pair.header(B) };
    let from = pair.log.len();
    pair.inject(A, far, b"");
    let far = Header { flags: Flags::ACK, seq: Seq(60_000_000), ack: Seq(50_000_000), ..pair.header(A) };
    pair.inject(B, far, b"");
    pair.run_for(Duration::from_secs(100));
    assert!(pair.log.len() - from <= 4, "{:#?}", pair.taken_log());
}

#[test]
fn what_one_connection_is_asked_does_not_show_at_another() {
    // The attacker has a connection of his own, and counts its challenges while he guesses at another.
    let challenges = |guesses: u32, limit| {
        let config = Config { challenge_limit: limit, ..plain() };
        let mut pair = Pair::new(plain(), config, ms(10)).connected();
        let victim = pair.header(A);
        pair.call(A);
        pair.run_for(ms(500));
        let ports = |pair: &Pair| {
            let syns = pair.log.iter().filter(|p| p.from == A && p.has(Flags::SYN));
            syns.map(|p| p.header.source_port).collect::<Vec<_>>()
        };
        let own = ports(&pair)[1];
        for _ in 0..guesses {
            let header = Header { flags: Flags::SYN, ..victim };
            pair.inject(B, header, b"");
        }
        let from = pair.log.len();
        for _ in 0..10 {
            let header = Header { flags: Flags::SYN, source_port: own, ..victim };
            pair.inject(B, header, b"");
            pair.run_for(ms(500));
        }
        let answers = pair.log[from..].iter().filter(|p| p.from == B);
        answers.count()
    };
    assert_eq!(challenges(0, 0), 10);
    assert_eq!(challenges(5000, 0), 10);
    // Overall limits are random from second to second.
    assert!(challenges(0, 1) < 10);
}

/// SYNs, twenty after each millisecond, each from another address.
fn flood(pair: &mut Pair, n: &mut u32) {
    for _ in 0..20 {
        *n += 1;
        let header = Header {
            source_port: 1024 + (*n % 50_000) as u16,
            destination_port: PORT,
            seq: Seq(n.wrapping_mul(2_654_435_761)),
            flags: Flags::SYN,
            window: 5000,
            ..Header::default()
        };
        pair.forge(B, *n, header, b"some text with it");
    }
}

#[test]
fn a_flood_of_syns_takes_bounded_memory_and_nobody_is_kept_out() {
    let config =
        Config { half_open: 64, send_buffer: 2_000_000, timestamps: true, sack: true, window_scaling: true, ..plain() };
    let alone = || Pair::new(config.clone(), config.clone(), ms(10)).connected();
    let free = transfer(&mut alone(), 2_000_000, |_| {});
    let mut pair = alone();
    let (mut n, mut most) = (0, 0);
    let attacked = transfer(&mut pair, 2_000_000, |pair| {
        flood(pair, &mut n);
        most = most.max(pair.tcp(B).half_open());
    });
    assert!(attacked <= free + free / 10, "{attacked} ms, alone {free} ms");
    assert_eq!((most, pair.tcp(B).connections()), (64, 1));
    assert!(pair.counters(B).cookies_sent > 1000);
    // One SYN,ACK for each SYN, and a few again for those that are kept.
    assert!(pair.strays < n as usize + 64 * 8);
    // A new caller gets in, with all its options, while the flood goes on.
    pair.call(A);
    for _ in 0..100 {
        pair.run_for(ms(1));
        flood(&mut pair, &mut n);
    }
    assert_eq!(pair.counters(B).cookies_returned, 1);
    assert_eq!(pair.app(B).heard, ["offered", "offered"]);
    let syns = |p: &&Packet| p.from == B && p.has(Flags::SYN);
    let answer = pair.log.iter().rfind(syns).unwrap().header.options;
    assert!(answer.sack_permitted && answer.window_scale.is_some());
    pair.app(B).received.clear();
    pair.write(A, &numbered(200_000));
    for _ in 0..400 {
        pair.run_for(ms(1));
        flood(&mut pair, &mut n);
    }
    assert_eq!(pair.app(B).received, numbered(200_000));
    // After the flood the room comes free.
    pair.run_for(Duration::from_secs(300));
    assert_eq!(pair.tcp(B).half_open(), 0);
}

#[test]
fn where_cookies_are_off_a_flood_takes_bounded_memory_and_connections_go_on() {
    let mut n = 0;
    let config = Config { syn_cookies: SynCookies::Never, half_open: 32, ..plain() };
    let mut pair = Pair::new(plain(), config, ms(10)).connected();
    transfer(&mut pair, 200_000, |pair| flood(pair, &mut n));
    assert_eq!(pair.tcp(B).half_open(), 32);
    assert!(pair.counters(B).backlog_full > 1000);
    // Entries are given up soon while room is short.
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.tcp(B).half_open(), 16);
}

#[test]
fn a_late_copy_of_what_brought_a_cookie_back_begins_no_second_connection() {
    let config = Config { syn_cookies: SynCookies::Always, ..plain() };
    // The acknowledgment is lost, so that the first text brings the cookie back.
    let mut pair = Pair::with_rule(plain(), config, |packet| match packet.number {
        2 => Vec::new(),
        _ => vec![ms(10)],
    });
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(100));
    pair.app(B).release_when_released = true;
    pair.write(A, b"pay once");
    let first = pair.log.last().unwrap().header;
    pair.run_for(ms(100));
    pair.release(A);
    pair.run_for(ms(500));
    // A closed first, so B has nothing left of it.
    assert_eq!(pair.app(B).received, b"pay once");
    assert_eq!(pair.tcp(B).connections(), 0);
    for seconds in [0, 60, 64] {
        pair.run_for(Duration::from_secs(seconds));
        pair.first = [None; 2];
        pair.inject(B, first, b"pay once");
        assert_eq!(pair.log.last().unwrap().header.flags, Flags::RST);
        assert_eq!(pair.tcp(B).connections(), 0);
    }
    assert_eq!(pair.app(B).heard, ["offered", "released", "closed"]);
    assert_eq!(pair.app(B).received, b"pay once");
    // Who calls again gets in, also from the same port.
    let syn = Header { flags: Flags::SYN, seq: first.seq + 5000, ..first };
    pair.inject(B, syn, b"");
    let answer = pair.log.last().unwrap().header;
    assert!(answer.flags.contains(Flags::SYN | Flags::ACK));
    let ack = Header { flags: Flags::ACK, seq: syn.seq + 1, ack: answer.seq + 1, ..first };
    pair.first = [None; 2];
    pair.inject(B, ack, b"and again");
    assert_eq!(pair.counters(B).cookies_returned, 2);
    assert_eq!(pair.app(B).received, b"pay onceand again");
}

#[test]
fn a_caller_takes_little_memory() {
    let caller = size_of::<crate::tcp::half_open::Caller>();
    let session = size_of::<crate::tcp::session::Session>();
    assert!(caller <= 152, "{caller}");
    assert!(session > 5 * caller, "{session} against {caller}");
}

/// Text of A's stream for B, from A's place in it, `at` octets further on.
fn ahead(pair: &Pair, at: u32) -> Header {
    let sent = pair.log.iter().rfind(|packet| packet.from == A).unwrap();
    Header { flags: Flags::ACK, seq: Seq(sent.seq.wrapping_add(at)), ack: Seq(1), ..pair.header(A) }
}

#[test]
fn endless_holes_take_bounded_memory_and_other_connections_go_on() {
    let config = Config { send_buffer: 2_000_000, ..plain() };
    // Two connections; the first is the attacker's.
    let both = || {
        let mut pair = Pair::new(config.clone(), config.clone(), ms(10)).connected();
        let [a, b] = pair.first.map(Option::unwrap);
        let own = Header { flags: Flags::ACK, seq: a, ack: b + 1, ..pair.header(A) };
        pair.call(A);
        pair.run_for(ms(500));
        (pair, own)
    };
    let (mut pair, own) = both();
    let free = transfer(&mut pair, 2_000_000, |_| {});
    let (mut pair, _) = both();
    let mut at = 0;
    let attacked = transfer(&mut pair, 2_000_000, |pair| {
        // One octet, one hole, and overlaps of them; the octet at the left edge never comes.
        for _ in 0..20 {
            at = (at + 2) % 60_000;
            let header = Header { seq: own.seq + 2 + at, ..own };
            let mut octets = vec![0; header.len()];
            header.emit(&mut octets);
            octets.resize(octets.len() + 1 + at as usize % 5, 0);
            let mut data = kumiki_octets::Message::from_octets(&octets);
            data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
            pair.deliver(B, data);
        }
    });
    assert!(attacked <= free + free / 10, "{attacked} ms, alone {free} ms");
    assert!(pair.counters(B).out_of_order > 3_000);
}

#[test]
fn a_peer_that_acknowledges_what_was_not_sent_gains_nothing() {
    let mut pair =
        Pair::with_rule(
            plain(),
            plain(),
            |packet| {
                if packet.from == A && packet.len() > 0 { Vec::new() } else { vec![ms(10)] }
            },
        )
        .connected();
    pair.write(A, &numbered(60_000));
    let sent = |pair: &Pair| pair.counters(A).octets_sent;
    let before = sent(&pair);
    for n in 1..100 {
        let header = Header { flags: Flags::ACK, seq: Seq(1), ack: Seq(60_000 + 1000 * n), ..pair.header(B) };
        pair.inject(A, header, b"");
    }
    assert_eq!(sent(&pair), before);
    assert_eq!(pair.counters(A).unacceptable, 99);
}

#[test]
fn acknowledgments_in_small_pieces_open_the_window_no_faster() {
    let octets_sent = |pieces: u32| {
        let mut pair = Pair::with_rule(plain(), plain(), |packet| {
            if packet.from == A && packet.len() > 0 { Vec::new() } else { vec![ms(10)] }
        })
        .connected();
        pair.write(A, &numbered(60_000));
        for n in 1..=pieces {
            let header = Header { flags: Flags::ACK, seq: Seq(1), ack: Seq(1 + 4000 * n / pieces), ..pair.header(B) };
            pair.inject(A, header, b"");
        }
        pair.counters(A).octets_sent
    };
    // RFC 3465: octets count, not acknowledgments. A segment more is rounding.
    assert!(octets_sent(400) <= octets_sent(4) + 1000);
}

#[test]
fn peers_that_keep_their_windows_closed_are_ended_where_the_user_wants_and_cost_little_until_then() {
    let config = Config { user_timeout: Some(Duration::from_secs(120)), ..plain() };
    let small = Config { receive_buffer: 1000, ..plain() };
    let mut pair = Pair::new(small, config, ms(10));
    pair.listen(B, 100);
    pair.app(A).idle = true;
    for _ in 0..50 {
        pair.call(A);
        pair.run_for(ms(100));
        pair.write(B, &numbered(5000));
    }
    let before = pair.counters(B).segments_sent;
    pair.run_for(Duration::from_secs(60));
    let probes = pair.counters(B).segments_sent - before;
    assert!(probes < 50 * 20, "{probes}");
    assert_eq!(pair.tcp(B).connections(), 50);
    pair.run_for(Duration::from_secs(120));
    assert_eq!(pair.tcp(B).connections(), 0);
}

#[test]
fn tiny_segments_are_taken_for_what_they_are() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    let before = pair.counters(B).segments_sent;
    for n in 0..10_000u32 {
        let header = ahead(&pair, n);
        pair.inject(B, header, b"x");
    }
    assert_eq!(pair.app(B).received.len(), 10_000);
    // No acknowledgment for each: they are not full (SHLD-19).
    let acks = pair.counters(B).segments_sent - before;
    assert!(acks <= 6, "{acks}");
}

#[test]
fn a_peer_that_asks_for_segments_of_an_octet_gets_no_record_for_each() {
    // An MSS of 0 and of 1 octet; 28 is what the shortest link leaves.
    for mss in [0, 1, 27, 28] {
        let mut pair = Pair::new(plain(), plain(), ms(10));
        pair.listen(B, 5);
        let syn = Header {
            source_port: 4000,
            destination_port: PORT,
            flags: Flags::SYN,
            seq: Seq(100),
            window: 60_000,
            options: kumiki_wire::inet::tcp::Options { mss: Some(mss), ..kumiki_wire::inet::tcp::Options::NONE },
            ..Header::default()
        };
        pair.inject(B, syn, b"");
        let answer = pair.log.last().unwrap().header;
        pair.first = [None; 2];
        let ack = Header {
            flags: Flags::ACK,
            seq: syn.seq + 1,
            ack: answer.seq + 1,
            options: kumiki_wire::inet::tcp::Options::NONE,
            ..syn
        };
        pair.inject(B, ack, b"");
        pair.write(B, &numbered(1000));
        let sent = pair.log.iter().filter(|it| it.from == B && it.len() > 0);
        let lengths: Vec<usize> = sent.map(Packet::len).collect();
        assert!(lengths.iter().all(|len| *len == 28), "{mss}: {lengths:?}");
        assert!(lengths.len() >= 4, "{mss}");
    }
}
