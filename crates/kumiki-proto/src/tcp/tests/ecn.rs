//! Explicit congestion notification, in virtual time: RFC 3168, RFC 8511 and RFC 9768.

use kumiki_graph::{Address, EcnUse, Mode, Quality, Report, Request};
use kumiki_wire::ipv4::Ecn as Codepoint;
use kumiki_wire::tcp::accecn::{AccEcn, Order};
use kumiki_wire::tcp::{Flags, Header};

use super::pair::*;
use super::recovery::prompt;
use crate::tcp::Config;
use crate::tcp::config::{LossDetection, RateReduction, SynCookies};
use crate::tcp::congestion::{Algorithm, InitialWindow};

const USES: [EcnUse; 4] = [
    EcnUse::Off,
    EcnUse::Passive,
    EcnUse::Classic,
    EcnUse::Accurate,
];

fn with(ecn: EcnUse) -> Config {
    Config {
        ecn,
        trace: true,
        ..prompt()
    }
}

fn between(a: EcnUse, b: EcnUse) -> Pair {
    Pair::new(with(a), with(b), ms(10))
}

/// AE, CWR and ECE, as a number.
fn ace(packet: &Packet) -> u16 {
    packet.header.flags.bits() >> 6 & 7
}

/// Marks the segments of A with text whose first octets are these, when they are sent for the first time with ECT.
fn marks(octets: &'static [u32]) -> impl FnMut(&mut Packet) {
    move |packet| {
        let first = packet.seq.wrapping_sub(1);
        if packet.from == A
            && packet.len() > 0
            && octets.contains(&first)
            && packet.ecn != Codepoint::NotEct
        {
            packet.ecn = Codepoint::Ce;
        }
    }
}

/// What `pick` finds in the segments from `from`, since the `skip`th of both sides.
fn seen<T>(pair: &Pair, from: usize, skip: usize, pick: impl Fn(&Packet) -> T) -> Vec<T> {
    let log = pair.log.iter().skip(skip);
    log.filter(|packet| packet.from == from).map(pick).collect()
}

fn modes(pair: &Pair, host: usize) -> (u64, u64) {
    let counters = pair.counters(host);
    (counters.ecn_classic, counters.ecn_accurate)
}

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
        let expected = if packet.len() > 0 {
            Codepoint::Ect0
        } else {
            Codepoint::NotEct
        };
        assert_eq!(packet.ecn, expected, "{packet}");
        assert!(packet.has(Flags::SYN) || ace(packet) == 0, "{packet}");
    }
    assert_eq!(
        (pair.app(B).received.len(), pair.counters(A).ect_sent),
        (2500, 3)
    );
}

/// RFC 3168 section 6.1.1; RFC 9768 section 3.1.2, table 2.
#[test]
fn both_ends_agree_on_the_best_that_both_know() {
    for a in USES {
        for b in USES {
            let pair = between(a, b).connected();
            let expected = match (a, b) {
                (EcnUse::Off | EcnUse::Passive, _) | (_, EcnUse::Off) => (0, 0),
                (EcnUse::Accurate, EcnUse::Accurate | EcnUse::Passive) => (0, 1),
                (EcnUse::Classic, _) | (EcnUse::Accurate, EcnUse::Classic) => (1, 0),
            };
            for host in [A, B] {
                assert_eq!(modes(&pair, host), expected, "{a:?} calls {b:?}");
            }
        }
    }
}

/// The user of a connection may choose otherwise than the configuration.
#[test]
fn each_open_has_its_own_choice() {
    let quality = |ecn| Quality {
        ecn: Some(ecn),
        ..Quality::default()
    };
    for (ecn, expected) in [
        (EcnUse::Off, (0, 0)),
        (EcnUse::Classic, (1, 0)),
        (EcnUse::Accurate, (0, 1)),
    ] {
        let mut pair = between(EcnUse::Off, EcnUse::Classic);
        let listen = open(Mode::Passive { backlog: 5 }, Address::None, PORT);
        let call = open(Mode::Active, address(B, PORT), 0);
        for (host, mut request, ecn) in [(B, listen, EcnUse::Passive), (A, call, ecn)] {
            if let Request::Open(open) = &mut request {
                open.quality = quality(ecn);
            }
            pair.ask(host, vec![request]);
        }
        pair.run_for(ms(300));
        assert_eq!((modes(&pair, A), modes(&pair, B)), (expected, expected));
    }
}

/// RFC 3168 section 6.1.1.1, RFC 9768 section 3.1.4.1.
#[test]
fn a_syn_that_is_not_answered_asks_twice_and_then_no_more() {
    for (ecn, asking) in [(EcnUse::Classic, 0b011), (EcnUse::Accurate, 0b111)] {
        let config = with(ecn);
        let mut pair = Pair::with_rule(config.clone(), config, move |packet| {
            // Somebody on the way does not let such SYNs pass.
            if packet.has(Flags::SYN) && ace(packet) > 1 {
                Vec::new()
            } else {
                vec![ms(10)]
            }
        });
        pair.listen(B, 5);
        pair.call(A);
        pair.run_for(ms(10_000));
        assert!(pair.app(A).session.is_some(), "{ecn:?}");
        let syns: Vec<u16> = pair.log.iter().filter(|it| it.from == A).map(ace).collect();
        assert_eq!(syns[..3], [asking, asking, 0], "{ecn:?}");
        pair.write(A, &numbered(3000));
        pair.run_for(ms(300));
        assert_eq!(pair.app(B).received.len(), 3000);
        assert_eq!((modes(&pair, A), modes(&pair, B)), ((0, 0), (0, 0)));
        assert_eq!(pair.counters(A).ect_sent, 0);
    }
}

/// RFC 3168 section 6.1.1: who has sent a SYN without must not set ECT. RFC 9768 section 3.1.4.1: an accurate client may.
#[test]
fn after_a_plain_syn_a_late_answer_to_an_asking_one_still_counts() {
    for (ecn, ect) in [(EcnUse::Classic, 0), (EcnUse::Accurate, 3)] {
        let config = with(ecn);
        let mut pair = Pair::with_rule(config.clone(), config, move |packet| {
            match (packet.from, packet.has(Flags::SYN)) {
                // The first SYN,ACK is slow, and all others are lost.
                (B, true) if packet.at.as_nanos() < 500_000_000 => vec![ms(3_900)],
                (B, true) => Vec::new(),
                _ => vec![ms(10)],
            }
        });
        pair.listen(B, 5);
        pair.call(A);
        pair.run_for(ms(5_000));
        assert!(pair.app(A).session.is_some(), "{ecn:?}");
        assert!(seen(&pair, A, 0, ace).contains(&0), "a SYN without");
        pair.write(A, &numbered(3000));
        pair.run_for(ms(1000));
        assert_eq!(pair.app(B).received.len(), 3000);
        assert_eq!(pair.counters(A).ect_sent, ect, "{ecn:?}");
        // The server has received a SYN without, and never sets it (RFC 9768 section 3.1.5).
        pair.write(B, &numbered(3000));
        pair.run_for(ms(1000));
        assert_eq!(pair.app(A).received.len(), 3000);
        assert_eq!(pair.counters(B).ect_sent, 0, "{ecn:?}");
    }
}

/// RFC 3168 sections 6.1.5 and 6.1.6.
#[test]
fn what_is_sent_again_and_probes_have_no_ect() {
    let mut lost = 0;
    let mut pair = Pair::with_rule(
        with(EcnUse::Classic),
        with(EcnUse::Classic),
        move |packet| {
            if packet.from == A && packet.seq == 1001 && packet.len() > 0 && lost < 2 {
                lost += 1;
                return Vec::new();
            }
            vec![ms(10)]
        },
    )
    .connected();
    pair.write(A, &numbered(5000));
    pair.run_for(ms(1000));
    let again = pair.log.iter().filter(|it| it.from == A && it.seq == 1001);
    let codepoints: Vec<Codepoint> = again.map(|it| it.ecn).collect();
    assert_eq!(
        codepoints,
        [Codepoint::Ect0, Codepoint::NotEct, Codepoint::NotEct]
    );
    // A window that is closed.
    pair.app(B).idle = true;
    pair.write(A, &numbered(70_000));
    pair.run_for(ms(5_000));
    assert!(pair.counters(A).window_probes > 0);
    for probe in pair
        .log
        .iter()
        .filter(|it| it.from == A && it.len() == 1 && it.seq > 5001)
    {
        assert_eq!((probe.ecn, ace(probe)), (Codepoint::NotEct, 0), "{probe}");
    }
}

/// RFC 3168 section 6.1.3, and 6.1.2: one reaction, and CWR on the first new data after it.
#[test]
fn a_mark_is_echoed_until_cwr_and_halves_the_window_once() {
    let mut pair = between(EcnUse::Classic, EcnUse::Classic)
        .by(marks(&[2000, 3000, 7000]))
        .connected();
    let skip = pair.log.len();
    pair.write(A, &numbered(30_000));
    pair.run_for(ms(500));
    assert_eq!(pair.app(B).received.len(), 30_000);
    // Ten segments; the acknowledgments of the third to the tenth echo, and those of what went before CWR.
    let echoes = seen(&pair, B, skip, |it| (it.ack - 1, ace(it)));
    let cwr: Vec<u32> = pair.log[skip..]
        .iter()
        .filter(|it| it.from == A && it.has(Flags::CWR))
        .map(|it| it.seq - 1)
        .collect();
    let [cwr] = cwr[..] else {
        panic!("one CWR, not {cwr:?}")
    };
    for (ack, ace) in echoes {
        let expected = u16::from(ack > 2000 && ack <= cwr);
        assert_eq!(ace, expected, "acknowledges {ack}; CWR at {cwr}");
    }
    let counters = pair.counters(A);
    assert_eq!((counters.ecn_reductions, counters.cwr_sent), (1, 1));
    assert_eq!(
        (counters.retransmissions, counters.fast_retransmits),
        (0, 0)
    );
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
    assert!(
        trace
            .0
            .iter()
            .any(|it| it.event == crate::tcp::Event::CwrSent)
    );
    let (_, _, trace) = pair.tcp(B).traces().next().unwrap();
    assert!(
        trace
            .0
            .iter()
            .any(|it| it.event == crate::tcp::Event::Marked)
    );
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
    let config = Config {
        initial_window: InitialWindow::Segments(1),
        ..with(EcnUse::Classic)
    };
    let mut pair = Pair::new(config.clone(), config, ms(10))
        .by(|packet| {
            if packet.ecn == Codepoint::Ect0 {
                packet.ecn = Codepoint::Ce;
            }
        })
        .connected();
    pair.write(A, &numbered(4000));
    pair.run_for(ms(5000));
    let sent = super::recovery::sent(&pair);
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
        let mut pair = super::recovery::with_fates(config.clone(), config, move |octet, copy| {
            if octet == lost && copy == 0 {
                Vec::new()
            } else {
                vec![ms(10)]
            }
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
        assert_eq!(
            thresholds.len(),
            2,
            "mark {marked}, loss {lost}: {thresholds:?}"
        );
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
        let config = Config {
            congestion,
            abe,
            ..with(EcnUse::Classic)
        };
        // The first mark ends slow start, where RFC 8511 changes nothing.
        let mut pair = Pair::new(config.clone(), config, ms(10))
            .by(marks(&[3000, 40_000]))
            .connected();
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
            before = u64::from(entry.snd_nxt - entry.snd_una)
                .min(entry.cwnd)
                .max(1);
        }
        let [first, second] = shares[..] else {
            panic!("{shares:?}")
        };
        let usual = if congestion == Algorithm::Cubic {
            70
        } else {
            50
        };
        assert!(
            (usual..usual + 12).contains(&first),
            "{congestion:?}: {first}"
        );
        assert!(
            (kept..kept + 16).contains(&second),
            "{congestion:?}, {abe}: {second}"
        );
    }
}

/// RFC 4015 undoes what was for nothing; a mark in the same recovery says that it was not.
#[test]
fn a_mark_during_recovery_forbids_to_undo_it() {
    let run = |marked: bool| {
        let config = Config {
            timestamps: true,
            ..with(EcnUse::Accurate)
        };
        // One segment is delayed for so long that it is sent again.
        let mut pair = super::recovery::with_fates(config.clone(), config, |octet, copy| {
            if octet == 1976 && copy == 0 {
                vec![ms(24)]
            } else {
                vec![ms(10)]
            }
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
    assert_eq!(
        (recoveries, undone),
        (1, 1),
        "it was for nothing, as far as it goes"
    );
    assert!(ssthresh < u64::MAX);
}

/// RFC 3168 section 6.1.1; RFC 9768 section 2.5: a classic caller cannot learn that its SYN was marked.
#[test]
fn a_classic_syn_that_comes_marked_is_answered_without_ecn() {
    for codepoint in [Codepoint::Ce, Codepoint::Ect0, Codepoint::Ect1] {
        let mut pair = between(EcnUse::Classic, EcnUse::Passive)
            .by(move |packet| packet.ecn = codepoint)
            .connected();
        pair.write(A, &numbered(3000));
        pair.run_for(ms(300));
        assert_eq!((modes(&pair, A), modes(&pair, B)), ((0, 0), (0, 0)));
        assert_eq!(pair.app(B).received.len(), 3000);
    }
}

/// RFC 3168 section 18: a path that clears the field costs no more than the marks.
#[test]
fn a_path_that_clears_the_ecn_field_does_no_harm() {
    for ecn in [EcnUse::Classic, EcnUse::Accurate] {
        let mut pair = between(ecn, ecn)
            .by(|packet| packet.ecn = Codepoint::NotEct)
            .connected();
        pair.write(A, &numbered(40_000));
        pair.run_for(ms(500));
        assert_eq!(pair.app(B).received.len(), 40_000);
        let counters = pair.counters(A);
        assert_eq!((counters.ecn_echoes, counters.ecn_disabled), (0, 0));
    }
}

/// RFC 9768 sections 3.1.1, 3.2.1, 3.2.2.1 and 3.2.3.2.1.
#[test]
fn an_accurate_handshake_tells_how_both_syns_came() {
    for (syn, code) in [
        (Codepoint::NotEct, 0b010),
        (Codepoint::Ect1, 0b011),
        (Codepoint::Ect0, 0b100),
        (Codepoint::Ce, 0b110),
    ] {
        for (syn_ack, acknowledgment) in [
            (Codepoint::NotEct, 0b010),
            (Codepoint::Ect1, 0b011),
            (Codepoint::Ect0, 0b100),
            (Codepoint::Ce, 0b110),
        ] {
            let mut pair = between(EcnUse::Accurate, EcnUse::Passive)
                .by(move |packet| {
                    if packet.has(Flags::SYN) {
                        packet.ecn = if packet.from == A { syn } else { syn_ack };
                    }
                })
                .connected();
            assert_eq!(seen(&pair, A, 0, ace), [0b111, acknowledgment]);
            assert_eq!(seen(&pair, B, 0, ace), [code]);
            let option =
                |host: usize, n: usize| seen(&pair, host, 0, |it| it.header.options.accecn)[n];
            let first = AccEcn::new(Order::Zero, 3, 1, 0, 1);
            assert_eq!(option(A, 0), None, "never on a SYN");
            assert_eq!((option(B, 0), option(A, 1)), (Some(first), Some(first)));
            // An ECN field that was changed on the way is none to be used (section 3.2.2.3).
            pair.write(A, &numbered(3000));
            pair.write(B, &numbered(3000));
            pair.run_for(ms(500));
            let uses = |codepoint| if codepoint == Codepoint::NotEct { 3 } else { 0 };
            assert_eq!(pair.counters(A).ect_sent, uses(syn));
            assert_eq!(pair.counters(B).ect_sent, uses(syn_ack));
            // The mark of the SYN,ACK is counted at both ends, that of the SYN at none (section 3.2.2.2).
            let marked = 5 + u32::from(syn_ack == Codepoint::Ce);
            assert_eq!(pair.tcp(A).counted_marks(), [(marked, 5)]);
            assert_eq!(pair.tcp(B).counted_marks(), [(5, marked)]);
            assert_eq!(pair.counters(A).ecn_reductions, 0);
        }
    }
}

/// RFC 9768 sections 3.2.2.2, 3.2.2.5.1 and 3.2.3.3.
#[test]
fn marks_are_counted_and_told_at_once() {
    let config = || Config {
        ack: crate::tcp::config::AckRule {
            every: 2,
            count_small: false,
        },
        ..with(EcnUse::Accurate)
    };
    let mut pair = Pair::new(config(), config(), ms(10))
        .by(marks(&[2000, 6000, 7000, 8000]))
        .connected();
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
            // The third came marked: an acknowledgment ahead of time. Its octets stand in a field of their own from now on.
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

/// RFC 9768 section 3.2.2.1: before data, an acknowledgment without.
#[test]
fn a_client_with_data_acknowledges_the_syn_ack_by_itself_first() {
    let mut pair = between(EcnUse::Accurate, EcnUse::Accurate);
    pair.listen(B, 5);
    pair.app(A)
        .outbox
        .push_back(kumiki_octets::Message::from_octets(&numbered(100)));
    pair.call(A);
    pair.run_for(ms(300));
    let sent = seen(&pair, A, 0, |it| (it.len(), ace(it)));
    assert_eq!(sent[..3], [(0, 0b111), (0, 0b010), (100, 5)]);
    assert_eq!(pair.app(B).received.len(), 100);
    // The first data shows the option again, for that acknowledgment is not delivered reliably (section 3.2.3.2.1).
    assert!(seen(&pair, A, 0, |it| it.header.options.accecn.is_some())[2]);
}

/// RFC 9768 section 3.2.2.1: a SYN,ACK that comes again is told of again.
#[test]
fn a_syn_ack_that_comes_again_is_acknowledged_with_how_it_came() {
    let mut pair = Pair::with_rule(with(EcnUse::Accurate), with(EcnUse::Accurate), |packet| {
        if packet.from == B && packet.has(Flags::SYN) {
            vec![ms(10), ms(300)]
        } else {
            vec![ms(10)]
        }
    })
    .by(|packet| {
        if packet.from == B && packet.has(Flags::SYN) {
            packet.ecn = Codepoint::Ect0;
        }
    })
    .connected();
    assert_eq!(seen(&pair, A, 0, ace), [0b111, 0b100, 0b100]);
    pair.write(A, &numbered(1000));
    pair.run_for(ms(300));
    assert_eq!(pair.app(B).received.len(), 1000);
    assert_eq!(pair.tcp(B).counted_marks(), [(5, 5)]);
}

/// RFC 9768 section 3.2.2.2: what tells how the SYN,ACK arrived is no counter when it is told again, though data is under way.
#[test]
fn a_second_acknowledgment_of_the_syn_ack_tells_of_no_marks() {
    let config = || Config {
        timestamps: true,
        ..with(EcnUse::Accurate)
    };
    let mut pair = Pair::with_rule(config(), config(), |packet| {
        if packet.from == B && packet.has(Flags::SYN) {
            vec![ms(10), ms(12)]
        } else {
            vec![ms(10)]
        }
    });
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(31));
    pair.write(B, &numbered(1000));
    pair.run_for(ms(300));
    assert_eq!(seen(&pair, A, 0, ace)[..3], [0b111, 0b010, 0b010]);
    assert_eq!(pair.app(A).received.len(), 1000);
    assert_eq!(pair.tcp(B).counted_marks(), [(5, 5)]);
    assert_eq!(pair.counters(B).ecn_reductions, 0);
}

/// RFC 9768 section 3.2.3.2.2.
#[test]
fn a_syn_ack_that_is_not_answered_loses_its_option_and_then_its_flags() {
    let mut count = 0;
    let mut pair = Pair::with_rule(
        with(EcnUse::Accurate),
        with(EcnUse::Accurate),
        move |packet| {
            if packet.from == B && packet.has(Flags::SYN) {
                count += 1;
                if count <= 2 {
                    return Vec::new();
                }
            }
            vec![ms(10)]
        },
    );
    pair.listen(B, 5);
    // A's own SYNs come late, so that it is B's timer that sends again.
    pair.call(A);
    pair.run_for(ms(10_000));
    let answers = seen(&pair, B, 0, |it| {
        (
            it.has(Flags::SYN),
            ace(it),
            it.header.options.accecn.is_some(),
        )
    });
    assert_eq!(answers[0], (true, 0b010, true));
    assert_eq!(answers[1], (true, 0b010, false));
    assert!(pair.app(A).session.is_some());
    pair.write(A, &numbered(5000));
    pair.write(B, &numbered(5000));
    pair.run_for(ms(1000));
    assert_eq!(pair.app(B).received.len(), 5000);
    assert_eq!(pair.app(A).received.len(), 5000);
}

/// RFC 9768 section 3.2.3.2.3: without options the ACE field is enough.
#[test]
fn a_path_that_strips_the_option_leaves_the_counter() {
    let mut pair = between(EcnUse::Accurate, EcnUse::Accurate)
        .by(|packet| {
            packet.header.options.accecn = None;
            if packet.from == A
                && packet.ecn == Codepoint::Ect0
                && [3001, 4001, 12_001].contains(&packet.seq)
            {
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
    let config = || Config {
        tail_loss_probe: true,
        ..with(EcnUse::Accurate)
    };
    let mut pair = Pair::with_rule(config(), config(), |packet| {
        if packet.header.options.accecn.is_some() {
            Vec::new()
        } else {
            vec![ms(10)]
        }
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
    let last = pair
        .log
        .iter()
        .rev()
        .find(|it| it.from == A && it.len() > 0);
    assert_eq!(last.unwrap().ecn, Codepoint::NotEct);
}

/// RFC 9768 section 3.1.5.
#[test]
fn a_second_syn_that_asks_for_something_else_ends_the_call() {
    let syn = |pair: &Pair, flags| Header {
        flags: Flags::SYN | flags,
        ..pair.header(A)
    };
    for second in [Flags::ECE | Flags::CWR, Flags::NONE] {
        let mut pair = Pair::with_rule(with(EcnUse::Accurate), with(EcnUse::Passive), |packet| {
            if packet.from == B {
                Vec::new()
            } else {
                vec![ms(10)]
            }
        });
        pair.listen(B, 5);
        pair.call(A);
        pair.run_for(ms(20));
        let skip = pair.log.len();
        let header = syn(&pair, second);
        pair.inject(B, header, b"");
        let answers = seen(&pair, B, skip, |it| (it.has(Flags::RST), ace(it)));
        let expected = if second == Flags::NONE {
            (false, 0b010)
        } else {
            (true, 0)
        };
        assert_eq!(answers, [expected]);
    }
}

/// RFC 9768 section 5.1, and classic feedback by a timestamp as Linux has it.
#[test]
fn cookies_remember_what_was_agreed_on() {
    for (a, timestamps, expected) in [
        (EcnUse::Accurate, true, (0, 1)),
        (EcnUse::Accurate, false, (0, 1)),
        (EcnUse::Classic, true, (1, 0)),
        (EcnUse::Classic, false, (0, 0)),
        (EcnUse::Off, true, (0, 0)),
    ] {
        let config = |ecn| Config {
            timestamps,
            syn_cookies: SynCookies::Always,
            ..with(ecn)
        };
        let mut pair = Pair::new(config(a), config(EcnUse::Passive), ms(10))
            // With timestamps a segment has 988 octets.
            .by(marks(&[3000, 2964]))
            .connected();
        pair.write(A, &numbered(10_000));
        pair.run_for(ms(500));
        assert_eq!(pair.app(B).received.len(), 10_000);
        assert_eq!((modes(&pair, A), modes(&pair, B)), (expected, expected));
        let reactions = u64::from(expected != (0, 0));
        assert_eq!(pair.counters(A).ecn_reductions, reactions, "{a:?}");
    }
}

/// RFC 3168 section 6.1.2, RFC 9768 section 3.3.4: what a device is told that cuts a super-segment.
#[test]
fn a_super_segment_says_whether_cwr_is_part_of_a_counter() {
    for (ecn, counter) in [(EcnUse::Classic, false), (EcnUse::Accurate, true)] {
        let mut pair = between(ecn, ecn).connected();
        pair.report(
            A,
            Report::Limits {
                unit: 9160,
                burst: 8,
            },
        );
        let skip = pair.log.len();
        // Nobody here cuts it, so that it arrives as nothing.
        pair.write(A, &numbered(6000));
        let sent = seen(&pair, A, skip, |it| (it.len(), it.cut, it.ecn));
        assert_eq!(sent, [(6000, (1000, counter), Codepoint::Ect0)], "{ecn:?}");
    }
}

/// RFC 9768 section 3.1.2, simultaneous open.
#[test]
fn two_ends_that_call_each_other_agree_too() {
    for (a, b, expected) in [
        (EcnUse::Accurate, EcnUse::Accurate, (0, 1)),
        (EcnUse::Classic, EcnUse::Classic, (1, 0)),
        (EcnUse::Off, EcnUse::Off, (0, 0)),
    ] {
        let mut pair = between(a, b).by(marks(&[2000]));
        for host in [A, B] {
            let call = open(Mode::Active, address(1 - host, PORT), PORT);
            pair.app(host).todo.push(call);
        }
        pair.ask(A, Vec::new());
        pair.ask(B, Vec::new());
        pair.run_for(ms(300));
        assert_eq!((modes(&pair, A), modes(&pair, B)), (expected, expected));
        pair.write(A, &numbered(10_000));
        pair.run_for(ms(500));
        assert_eq!(pair.app(B).received.len(), 10_000);
        assert_eq!(
            pair.counters(A).ecn_reductions,
            u64::from(expected != (0, 0))
        );
    }
}

/// The shortest link that IPv4 goes over (RFC 791 section 3.2) has room for 28 octets of options.
#[test]
fn a_syn_ack_that_would_be_too_long_goes_without_its_option() {
    let accurate = || Config {
        timestamps: true,
        window_scaling: true,
        ..with(EcnUse::Accurate)
    };
    for together in [false, true] {
        let most = IP + 48;
        let mut pair = Pair::seeded(accurate(), accurate(), 1, most, Box::new(|_| vec![ms(10)]));
        if together {
            for host in [A, B] {
                let call = open(Mode::Active, address(1 - host, PORT), PORT);
                pair.app(host).todo.push(call);
                pair.ask(host, Vec::new());
            }
            pair.run_for(ms(300));
        } else {
            pair = pair.connected();
        }
        assert_eq!((modes(&pair, A), modes(&pair, B)), ((0, 1), (0, 1)));
        pair.write(A, &numbered(200));
        pair.run_for(ms(2000));
        assert_eq!(pair.app(B).received, numbered(200));
        assert!(pair.log.iter().all(|packet| packet.size <= most));
    }
}

/// RFC 9768 section 3.2: at the end both ends have counted the same, whatever was marked, lost or overtaken on the way.
#[test]
fn both_ends_count_the_same_marks() {
    for seed in 0..40 {
        let mut rng = kumiki_graph::Rng::new(seed, 77);
        let mut other = kumiki_graph::Rng::new(seed, 78);
        let (marked, lost) = (
            f64::from(seed as u32 % 5) * 0.08,
            f64::from(seed as u32 % 4) * 0.01,
        );
        let config = || Config {
            timestamps: seed % 2 == 0,
            sack: seed % 3 != 0,
            ..with(EcnUse::Accurate)
        };
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
