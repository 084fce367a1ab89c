//! Which segments have ECT, how a mark comes back, and what the sender does about it.

use kumiki_graph::Report;
use kumiki_wire::inet::EcnUse;
use kumiki_wire::inet::ipv4::Ecn as Codepoint;
use kumiki_wire::inet::tcp::Flags;

use super::super::pair::*;
use super::super::recovery;
use super::{ace, between, marks, seen, with};
use crate::tcp::Config;
use crate::tcp::config::{LossDetection, RateReduction};
use crate::tcp::congestion::{Algorithm, InitialWindow};

// RFC 9293: SHLD-8
/// RFC 3168 sections 6.1.1, 6.1.4 and 6.1.5.
#[test]
fn classic_ecn_is_agreed_on_and_only_new_data_has_ect() {
    let mut pair = between(EcnUse::Classic, EcnUse::Classic).connected();
    assert_eq!(seen(&pair, A, 0, ace)[..2], [0b011, 0]);
    assert_eq!(seen(&pair, B, 0, ace)[..1], [0b001]);
    pair.write(A, &numbered(2500));
    pair.write(B, &numbered(10));
    pair.run_for(ms(300));
    pair.release(A);
    pair.release(B);
    pair.run_for(ms(300));
    for packet in &pair.log {
        let expected = if packet.len() > 0 { Codepoint::Ect0 } else { Codepoint::NotEct };
        assert_eq!(packet.ecn, expected, "{packet}");
        assert!(packet.has(Flags::SYN) || ace(packet) == 0, "{packet}");
    }
    assert_eq!((pair.app(B).received.len(), pair.counters(A).ect_sent), (2500, 3));
}

/// RFC 3168 sections 6.1.5 and 6.1.6.
#[test]
fn what_is_sent_again_and_probes_have_no_ect() {
    let mut lost = 0;
    let mut pair = Pair::with_rule(with(EcnUse::Classic), with(EcnUse::Classic), move |packet| {
        if packet.from == A && packet.seq == 1001 && packet.len() > 0 && lost < 2 {
            lost += 1;
            return Vec::new();
        }
        vec![ms(10)]
    })
    .connected();
    pair.write(A, &numbered(5000));
    pair.run_for(ms(1000));
    let again = pair.log.iter().filter(|it| it.from == A && it.seq == 1001);
    let codepoints: Vec<Codepoint> = again.map(|it| it.ecn).collect();
    assert_eq!(codepoints, [Codepoint::Ect0, Codepoint::NotEct, Codepoint::NotEct]);
    // A window that is closed.
    pair.app(B).idle = true;
    pair.write(A, &numbered(70_000));
    pair.run_for(ms(5_000));
    assert!(pair.counters(A).window_probes > 0);
    for probe in pair.log.iter().filter(|it| it.from == A && it.len() == 1 && it.seq > 5001) {
        assert_eq!((probe.ecn, ace(probe)), (Codepoint::NotEct, 0), "{probe}");
    }
}

/// RFC 3168 section 6.1.3, and 6.1.2: one reaction, and CWR on the first new data after it.
#[test]
fn a_mark_is_echoed_until_cwr_and_halves_the_window_once() {
    let mut pair = between(EcnUse::Classic, EcnUse::Classic).by(marks(&[2000, 3000, 7000])).connected();
    let skip = pair.log.len();
    pair.write(A, &numbered(30_000));
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).received.len(), 30_000);
    // Ten segments; the acknowledgments of the third to the tenth echo, and those of what went before CWR.
    let echoes = seen(&pair, B, skip, |it| (it.ack - 1, ace(it)));
    let cwr: Vec<u32> =
        pair.log[skip..].iter().filter(|it| it.from == A && it.has(Flags::CWR)).map(|it| it.seq - 1).collect();
    let [cwr] = cwr[..] else { panic!("one CWR, not {cwr:?}") };
    for (ack, ace) in echoes {
        let expected = u16::from(ack > 2000 && ack <= cwr);
        assert_eq!(ace, expected, "acknowledges {ack}; CWR at {cwr}");
    }
    let counters = pair.counters(A);
    assert_eq!((counters.ecn_reductions, counters.cwr_sent), (1, 1));
    assert_eq!((counters.retransmissions, counters.fast_retransmits), (0, 0));
    assert_eq!(pair.counters(B).ce_received, 3);
    // FlightSize was 10 and then 12 segments, with two acknowledged in slow start.
    let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
    let reduced: Vec<(u64, u64)> = trace
        .0
        .iter()
        .filter(|entry| entry.event == crate::tcp::Event::Reduced)
        .map(|entry| (entry.cwnd, entry.ssthresh))
        .collect();
    assert_eq!(reduced, [(6000, 6000)]);
    assert!(trace.0.iter().any(|it| it.event == crate::tcp::Event::CwrSent));
    let (_, _, trace) = pair.tcp(B).traces().next().unwrap();
    assert!(trace.0.iter().any(|it| it.event == crate::tcp::Event::Marked));
}

/// RFC 3168 section 6.1.2: at most once for each window of data, and again for the next.
#[test]
fn marks_in_every_window_reduce_it_once_for_each() {
    for ecn in [EcnUse::Classic, EcnUse::Accurate] {
        let mut pair = between(ecn, ecn)
            .by(|packet| {
                // All but the first, for a path that marks all from the first on is not believed.
                if packet.from == A && packet.ecn == Codepoint::Ect0 && packet.seq > 1 {
                    packet.ecn = Codepoint::Ce;
                }
            })
            .connected();
        pair.write(A, &numbered(20_000));
        pair.run_for(ms(99));
        // 10 segments, then 5 and 2, and one in each round trip; the window cannot be below one segment.
        let reductions = pair.counters(A).ecn_reductions;
        assert!((3..=5).contains(&reductions), "{ecn:?}: {reductions}");
        pair.run_for(ms(20_000));
        assert_eq!(pair.app(B).received.len(), 20_000, "{ecn:?}");
        assert_eq!(pair.counters(A).retransmissions, 0);
    }
}

/// RFC 3168 section 6.1.2, the third paragraph: below one segment the retransmission timer paces.
#[test]
fn at_a_window_of_one_segment_new_data_waits_for_the_retransmission_timer() {
    let config = Config { initial_window: InitialWindow::Segments(1), ..with(EcnUse::Classic) };
    let mut pair = Pair::new(config.clone(), config, ms(10))
        .by(|packet| {
            if packet.ecn == Codepoint::Ect0 {
                packet.ecn = Codepoint::Ce;
            }
        })
        .connected();
    pair.write(A, &numbered(4000));
    pair.run_for(ms(5000));
    let sent = recovery::sent(&pair);
    // RTO is 200 ms, from when the echo came.
    assert_eq!(sent, [(0, 0), (220, 1000), (440, 2000), (660, 3000)]);
    assert_eq!(pair.counters(A).retransmissions, 0);
}

/// RFC 3168 section 6.1.2: a window of data with losses and marks is answered once.
#[test]
fn losses_and_marks_of_one_window_are_one_congestion() {
    for (marked, lost) in [(2000, 6000), (6000, 2000)] {
        let config = Config {
            loss_detection: LossDetection::Sack,
            rate_reduction: RateReduction::AtOnce,
            ..with(EcnUse::Classic)
        };
        let mut pair = recovery::with_fates(config.clone(), config, move |octet, copy| {
            if octet == lost && copy == 0 { Vec::new() } else { vec![ms(10)] }
        })
        .by(move |packet| {
            if packet.from == A && packet.seq == marked + 1 && packet.ecn == Codepoint::Ect0 {
                packet.ecn = Codepoint::Ce;
            }
        });
        pair.write(A, &numbered(30_000));
        pair.run_for(ms(1000));
        assert_eq!(pair.app(B).received.len(), 30_000);
        let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
        let thresholds: Vec<u64> = trace.0.iter().map(|entry| entry.ssthresh).collect();
        let mut thresholds: Vec<u64> = thresholds;
        thresholds.dedup();
        assert_eq!(thresholds.len(), 2, "mark {marked}, loss {lost}: {thresholds:?}");
        // The reduction is told once (CWR), whatever it was for.
        assert_eq!(pair.counters(A).cwr_sent, 1);
    }
}

/// RFC 8511 section 3.1.
#[test]
fn the_alternative_response_keeps_more_of_the_window() {
    for (congestion, abe, kept) in [
        (Algorithm::NewReno, false, 50),
        (Algorithm::NewReno, true, 80),
        (Algorithm::Cubic, false, 70),
        (Algorithm::Cubic, true, 85),
    ] {
        let config = Config { congestion, abe, ..with(EcnUse::Classic) };
        // The first mark ends slow start, where RFC 8511 changes nothing.
        let mut pair = Pair::new(config.clone(), config, ms(10)).by(marks(&[3000, 40_000])).connected();
        pair.write(A, &numbered(60_000));
        pair.run_for(ms(2000));
        let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
        let mut before = 0;
        let mut shares = Vec::new();
        for entry in &trace.0 {
            if entry.event == crate::tcp::Event::Reduced {
                shares.push(entry.ssthresh * 100 / before);
            }
            // Segments go one by one, so this is FlightSize or a little more.
            before = u64::from(entry.snd_nxt - entry.snd_una).min(entry.cwnd).max(1);
        }
        let [first, second] = shares[..] else { panic!("{shares:?}") };
        let usual = if congestion == Algorithm::Cubic { 70 } else { 50 };
        assert!((usual..usual + 12).contains(&first), "{congestion:?}: {first}");
        assert!((kept..kept + 16).contains(&second), "{congestion:?}, {abe}: {second}");
    }
}

/// RFC 4015 undoes what was for nothing; a mark in the same recovery says that it was not.
#[test]
fn a_mark_during_recovery_forbids_to_undo_it() {
    let run = |marked: bool| {
        let config = Config { timestamps: true, ..with(EcnUse::Accurate) };
        // One segment is delayed for so long that it is retransmitted.
        let mut pair = recovery::with_fates(config.clone(), config, |octet, copy| {
            if octet == 1976 && copy == 0 { vec![ms(24)] } else { vec![ms(10)] }
        })
        .by(move |packet| {
            if marked && packet.from == A && packet.seq == 5929 && packet.ecn == Codepoint::Ect0 {
                packet.ecn = Codepoint::Ce;
            }
        });
        pair.write(A, &numbered(20_000));
        pair.run_for(ms(1000));
        let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
        let last = trace.0.last().unwrap();
        let undone = pair.counters(A).spurious_recoveries;
        (pair.counters(A).fast_retransmits, undone, last.ssthresh)
    };
    assert_eq!(run(false), (1, 1, u64::MAX));
    let (recoveries, undone, ssthresh) = run(true);
    assert_eq!((recoveries, undone), (1, 1), "it was for nothing, as far as it goes");
    assert!(ssthresh < u64::MAX);
}

/// RFC 3168 section 6.1.2, RFC 9768 section 3.3.4: what a device is told that cuts a super-segment.
#[test]
fn a_super_segment_says_whether_cwr_is_part_of_a_counter() {
    for (ecn, counter) in [(EcnUse::Classic, false), (EcnUse::Accurate, true)] {
        let mut pair = between(ecn, ecn).connected();
        pair.report(A, Report::Limits { unit: 9160, burst: 8 });
        let skip = pair.log.len();
        // Nobody here cuts it, so that it arrives as nothing.
        pair.write(A, &numbered(6000));
        let sent = seen(&pair, A, skip, |it| (it.len(), it.cut, it.ecn));
        assert_eq!(sent, [(6000, (1000, counter), Codepoint::Ect0)], "{ecn:?}");
    }
}
