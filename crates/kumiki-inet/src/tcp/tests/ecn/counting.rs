//! Accurate ECN: both ends count the same marks, and no path that spoils the field, the flags or the option does harm.

use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::Flags;

use super::super::pair::*;
use super::{ace, between, marks, seen, with};
use crate::tcp::Config;

/// RFC 3168 section 18: a path that clears the field costs no more than the marks.
#[test]
fn a_path_that_clears_the_ecn_field_does_no_harm() {
    for ecn in [EcnUse::Classic, EcnUse::Accurate] {
        let mut pair = between(ecn, ecn).by(|packet| packet.ecn = Codepoint::NotEct).connected();
        pair.write(A, &numbered(40_000));
        pair.run_for(ms(500));
        assert_eq!(pair.app(B).received.len(), 40_000);
        let counters = pair.counters(A);
        assert_eq!((counters.ecn_echoes, counters.ecn_disabled), (0, 0));
    }
}

/// RFC 9768 sections 3.2.2.2, 3.2.2.5.1 and 3.2.3.3.
#[test]
fn marks_are_counted_and_told_at_once() {
    let config = || Config {
        ack: crate::tcp::config::AckRule { every: 2, count_small: false, pushed: false },
        ..with(EcnUse::Accurate)
    };
    let mut pair = Pair::new(config(), config(), ms(10)).by(marks(&[2000, 6000, 7000, 8000])).connected();
    let skip = pair.log.len();
    pair.write(A, &numbered(10_000));
    pair.run_for(ms(30));
    let told = seen(&pair, B, skip, |it| {
        let option = it.header.options.accecn.map(|option| option.to_string());
        (it.ack - 1, ace(it), option.unwrap_or_default())
    });
    let told: Vec<(u32, u16, &str)> = told.iter().map(|it| (it.0, it.1, it.2.as_str())).collect();
    assert_eq!(
        told,
        [
            (2000, 5, "ECN e0b 2001"),
            // The third came marked: an acknowledgment ahead of time. Its octets stand in a field of their own from now
            // on.
            (3000, 6, "ECN e0b 2001 ceb 1000"),
            (5000, 6, "ECN e0b 4001 ceb 1000"),
            // The seventh follows one that was not marked.
            (7000, 7, "ECN e0b 5001 ceb 2000"),
            // Two marks.
            (9000, 1, "ECN e0b 5001 ceb 4000"),
        ]
    );
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).received.len(), 10_000);
    assert_eq!(pair.tcp(B).counted_marks(), [(9, 5)]);
    assert_eq!(pair.tcp(A).counted_marks(), [(5, 9)]);
    // No CWR is set to say that anything was reduced (section 3.1.5): A's counter never moves.
    assert!(seen(&pair, A, skip, ace).iter().all(|ace| *ace == 5));
    assert_eq!(pair.counters(A).ecn_reductions, 1);
}

/// RFC 9768 section 3.2.3.2.3: without options the ACE field is enough.
#[test]
fn a_path_that_strips_the_option_leaves_the_counter() {
    let mut pair = between(EcnUse::Accurate, EcnUse::Accurate)
        .by(|packet| {
            packet.header.options.accecn = None;
            if packet.from == A && packet.ecn == Codepoint::Ect0 && [3001, 4001, 12_001].contains(&packet.seq) {
                packet.ecn = Codepoint::Ce;
            }
        })
        .connected();
    pair.write(A, &numbered(30_000));
    pair.run_for(ms(1000));
    assert_eq!(pair.app(B).received.len(), 30_000);
    assert_eq!(pair.tcp(A).counted_marks(), [(5, 8)]);
    assert_eq!(pair.tcp(B).counted_marks(), [(8, 5)]);
    assert_eq!(pair.counters(A).ecn_disabled, 0);
}

/// RFC 9768 section 3.2.3.2.2: what is dropped for its option is found out.
#[test]
fn a_path_that_drops_segments_with_the_option_is_survived() {
    let config = || Config { tail_loss_probe: true, ..with(EcnUse::Accurate) };
    let mut pair = Pair::with_rule(config(), config(), |packet| {
        if packet.header.options.accecn.is_some() { Vec::new() } else { vec![ms(10)] }
    });
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(5_000));
    pair.write(A, &numbered(60_000));
    pair.run_for(ms(20_000));
    assert_eq!(pair.app(B).received.len(), 60_000);
    let silent = pair.log.iter().rev().take(20);
    assert!(silent.clone().all(|it| it.header.options.accecn.is_none()));
    assert!(pair.app(B).received == numbered(60_000));
}

/// RFC 9768 section 3.2.2.4.
#[test]
fn a_path_that_clears_the_flags_ends_ect_and_nothing_else() {
    let mut pair = between(EcnUse::Accurate, EcnUse::Accurate)
        .by(|packet| {
            if !packet.has(Flags::SYN) {
                let flags = Flags::AE | Flags::CWR | Flags::ECE;
                packet.header.flags = packet.header.flags.without(flags);
            }
        })
        .connected();
    pair.write(A, &numbered(30_000));
    pair.write(B, &numbered(30_000));
    pair.run_for(ms(1000));
    for host in [A, B] {
        assert_eq!(pair.app(host).received.len(), 30_000);
        let counters = pair.counters(host);
        assert_eq!((counters.ecn_disabled, counters.ecn_reductions), (1, 0));
    }
    // The server knew from the third segment on (table 4, note 1).
    assert_eq!(pair.counters(B).ect_sent, 0);
    assert!(pair.counters(A).ect_sent < 30);
}

/// RFC 9768 section 3.2.2.3: no congestion marks every packet for ever.
#[test]
fn marks_on_everything_are_no_congestion() {
    let mut pair = between(EcnUse::Accurate, EcnUse::Accurate)
        .by(|packet| {
            if packet.len() > 0 && packet.ecn != Codepoint::NotEct {
                packet.ecn = Codepoint::Ce;
            }
        })
        .connected();
    for _ in 0..8 {
        pair.write(A, &numbered(2_000));
        pair.run_for(ms(2000));
    }
    assert_eq!(pair.app(B).received.len(), 16_000);
    assert_eq!(pair.counters(A).ecn_disabled, 1);
    let last = pair.log.iter().rev().find(|it| it.from == A && it.len() > 0);
    assert_eq!(last.unwrap().ecn, Codepoint::NotEct);
}

/// RFC 9768 section 3.2: at the end both ends have counted the same, whatever was marked, lost or overtaken on the way.
#[test]
fn both_ends_count_the_same_marks() {
    for seed in 0..40 {
        let mut rng = kumiki_graph::Rng::new(seed, 77);
        let mut other = kumiki_graph::Rng::new(seed, 78);
        let (marked, lost) = (f64::from(seed as u32 % 5) * 0.08, f64::from(seed as u32 % 4) * 0.01);
        let config = || Config { timestamps: seed % 2 == 0, sack: seed % 3 != 0, ..with(EcnUse::Accurate) };
        let mut pair = Pair::with_rule(config(), config(), move |_| {
            if rng.chance(lost) {
                Vec::new()
            } else if rng.chance(0.02) {
                vec![ms(13)]
            } else {
                vec![ms(10)]
            }
        })
        .by(move |packet| {
            if packet.ecn == Codepoint::Ect0 && other.chance(marked) {
                packet.ecn = Codepoint::Ce;
            }
        });
        pair.listen(B, 5);
        pair.call(A);
        pair.run_for(ms(8_000));
        for _ in 0..4 {
            pair.write(A, &numbered(60_000));
            pair.write(B, &numbered(7_000));
            pair.run_for(ms(30_000));
        }
        assert_eq!(pair.app(B).received.len(), 240_000, "seed {seed}");
        let (a, b) = (pair.tcp(A).counted_marks(), pair.tcp(B).counted_marks());
        let ([(ra, sa)], [(rb, sb)]) = (&a[..], &b[..]) else {
            continue;
        };
        if seed % 3 == 0 {
            // Without SACK an acknowledgment may end a gap and tell of much at once: then the safest case is assumed.
            assert!(sb >= ra && sa >= rb, "seed {seed}: {ra} {sb}, {rb} {sa}");
        } else {
            assert_eq!((ra, rb), (sb, sa), "seed {seed}");
        }
        assert_eq!(pair.counters(A).ecn_disabled, 0, "seed {seed}");
    }
}
