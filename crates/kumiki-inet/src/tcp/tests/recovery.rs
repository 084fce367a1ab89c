//! RACK-TLP, in virtual time.

use kumiki_wire::inet::tcp::{Flags, Header, SackBlock, Seq};

use super::pair::*;
use crate::tcp::config::{AckRule, LossDetection, RateReduction};
use crate::tcp::congestion::InitialWindow;
use crate::tcp::{Config, Event};

/// SACK, and each segment acknowledged at once.
pub(super) fn prompt() -> Config {
    Config {
        sack: true,
        ack: AckRule { every: 1, count_small: true, pushed: false },
        initial_window: InitialWindow::Segments(10),
        ..plain()
    }
}

/// Two hosts 10 ms apart, and data from A whose segments arrive as `fate` says: (first octet, copies sent before).
pub(super) fn with_fates(a: Config, b: Config, mut fate: impl FnMut(u32, u32) -> Fate + 'static) -> Pair {
    let mut copies = std::collections::BTreeMap::new();
    Pair::with_rule(a, b, move |packet| {
        if packet.from == B || packet.text.is_empty() {
            return vec![ms(10)];
        }
        let copy = copies.entry(packet.seq).or_insert(0);
        *copy += 1;
        fate(packet.seq - 1, *copy - 1)
    })
    .connected()
}

/// When A sent what, in ms since 500 ms: (time, first octet) of each segment with text.
pub(super) fn sent(pair: &Pair) -> Vec<(u64, u32)> {
    let data = pair.log.iter().filter(|packet| packet.from == A && packet.len() > 0);
    data.map(|packet| (packet.at.as_nanos() / 1_000_000 - 500, packet.seq - 1)).collect()
}

#[test]
fn figure_1_of_rfc_8985_is_repeated_to_the_millisecond() {
    // P1, P2 and P3 are lost, then the retransmission of P1. The figure leaves rate reduction out: PRR would let P2 go
    // only after P1 had been acknowledged.
    let config = Config { rate_reduction: RateReduction::AtOnce, ..prompt() };
    let mut pair = with_fates(config, prompt(), |octet, copy| match (octet, copy) {
        (1000, 0 | 1) | (2000 | 3000, 0) => Vec::new(),
        _ => vec![ms(10)],
    });
    pair.write(A, &numbered(4000));
    pair.run_for(ms(1000));
    assert_eq!(
        sent(&pair),
        [
            (0, 0),
            (0, 1000),
            (0, 2000),
            (0, 3000),
            // 3: two round trips after the acknowledgment of P0, the probe.
            (60, 3000),
            // 5: its SACK shows that P1 and P2 were lost.
            (80, 1000),
            (80, 2000),
            // 7: the SACK of P2 shows that the retransmission of P1 was lost.
            (100, 1000),
        ]
    );
    let counters = pair.counters(A);
    assert_eq!((counters.timeouts, counters.loss_probes), (0, 1));
    assert_eq!((counters.fast_retransmits, counters.rack_lost), (1, 3000));
    assert_eq!(pair.app(B).received, numbered(4000));
}

#[test]
fn what_an_overtaken_acknowledgment_reports_counts() {
    // RFC 6675 section 5: "Upon the receipt of any ACK containing SACK information, the scoreboard MUST be updated."
    for loss_detection in [LossDetection::Rack, LossDetection::Sack] {
        let config = Config { loss_detection, tail_loss_probe: false, ..prompt() };
        let mut pair = with_fates(config.clone(), config, |_, _| Vec::new());
        pair.write(A, &numbered(6000));
        pair.run_for(ms(20));
        let iss = pair.log.iter().find(|packet| packet.from == A).unwrap().header.seq;
        let base = pair.header(B);
        let ack = |number| Header { seq: Seq(1), ack: Seq(number), flags: Flags::ACK, ..base };
        pair.inject(A, ack(1001), &[]);
        assert_eq!(sent(&pair).len(), 6);
        let mut overtaken = ack(1);
        overtaken.options.sack.push(SackBlock { left: iss + 3001, right: iss + 6001 });
        // Its window is old, too.
        overtaken.window = 1;
        pair.inject(A, overtaken, &[]);
        pair.run_for(ms(5));
        let again: Vec<_> = sent(&pair).split_off(6);
        assert_eq!(again.first(), Some(&(20, 1000)), "{loss_detection:?}, {again:?}");
        assert_eq!(pair.counters(A).timeouts, 0, "{loss_detection:?}");
    }
}

#[test]
fn a_timeout_marks_only_what_was_sent_a_round_trip_ago() {
    // Section 3.5: the acknowledgment of the first segment is late, and two more were sent just before the timer
    // expires.
    let config = Config { tail_loss_probe: false, ..prompt() };
    let mut pair = with_fates(config.clone(), config, |octet, copy| match (octet, copy) {
        (0, 0) => vec![ms(195)],
        _ => vec![ms(10)],
    });
    pair.write(A, &numbered(1000));
    pair.run_for(ms(195));
    pair.write(A, &numbered(2000));
    pair.run_for(ms(1000));
    assert_eq!(sent(&pair), [(0, 0), (195, 1000), (195, 2000), (200, 0)]);
    assert_eq!(pair.counters(A).timeouts, 1);
}

#[test]
fn any_loss_at_the_tail_is_repaired_without_a_timeout() {
    // Of ten segments the last `n` are lost.
    for n in 1..=9 {
        for ack_every in [1, 2] {
            let config = Config { ack: AckRule { every: ack_every, count_small: true, pushed: false }, ..prompt() };
            let mut pair = with_fates(config.clone(), config, move |octet, copy| {
                let lost = octet >= 10_000 - n * 1000 && copy == 0;
                if lost { Vec::new() } else { vec![ms(10)] }
            });
            pair.write(A, &numbered(10_000));
            pair.run_for(ms(1000));
            let log = pair.taken_log().join("\n");
            let counters = pair.counters(A);
            assert_eq!(pair.app(B).received.len(), 10_000, "{log}");
            assert_eq!((counters.timeouts, counters.loss_probes), (0, 1), "{n} lost\n{log}");
            assert_eq!(counters.retransmissions, u64::from(n), "{n} lost\n{log}");
        }
    }
}

#[test]
fn a_fin_that_came_alone_shows_that_the_text_before_it_is_lost() {
    let mut pair = with_fates(prompt(), prompt(), |_, copy| if copy == 0 { Vec::new() } else { vec![ms(10)] });
    pair.write(A, &numbered(1000));
    pair.run_for(ms(5));
    pair.release(A);
    pair.run_for(ms(1000));
    // The FIN is reported after a round trip, and then a quarter of one has passed since the text went.
    let log = pair.taken_log().join("\n");
    assert_eq!(sent(&pair), [(0, 0), (25, 0)], "{log}");
    assert_eq!((pair.counters(A).timeouts, pair.counters(A).loss_probes), (0, 0), "{log}");
    assert_eq!(pair.app(B).received, numbered(1000));
    assert_eq!(pair.app(B).heard, ["offered", "released"]);
}

#[test]
fn a_fin_that_came_twice_is_reported_as_such() {
    // The acknowledgment of text and FIN is late, so a probe goes.
    let mut pair = Pair::with_rule(prompt(), prompt(), move |packet| {
        let late = packet.from == B && packet.at.as_nanos() == 510_000_000;
        vec![ms(if late { 400 } else { 10 })]
    })
    .connected();
    pair.write(A, &numbered(100));
    pair.release(A);
    pair.run_for(ms(1000));
    let iss = pair.log.iter().find(|packet| packet.from == A).unwrap().header.seq;
    let told =
        pair.log.iter().filter(|packet| packet.from == B).flat_map(|packet| packet.header.options.sack.as_slice());
    let told: Vec<_> = told.map(|block| (block.left - iss, block.right - iss)).collect();
    assert_eq!(told, [(101, 102)], "{}", pair.taken_log().join("\n"));
}

#[test]
fn a_probe_that_repairs_a_loss_halves_the_rate_once_more_is_acknowledged() {
    let mut pair = with_fates(prompt(), prompt(), |octet, copy| match (octet, copy) {
        (4000, 0) => Vec::new(),
        _ => vec![ms(10)],
    });
    pair.write(A, &numbered(5000));
    pair.run_for(ms(300));
    // One segment is outstanding, whose acknowledgment may be held back: RTO comes first, and gives way to the probe.
    assert_eq!(sent(&pair)[5..], [(220, 4000)]);
    assert_eq!(pair.counters(A).probes_repaired, 0);
    pair.write(A, &numbered(1000));
    pair.run_for(ms(300));
    assert_eq!(pair.counters(A).probes_repaired, 1);
}

#[test]
fn a_probe_of_what_had_arrived_is_told_by_the_duplicate() {
    // The acknowledgment is late, not the segment.
    let mut pair = Pair::with_rule(prompt(), prompt(), move |packet| {
        let late = packet.from == B && packet.at.as_nanos() == 510_000_000;
        vec![ms(if late { 100 } else { 10 })]
    })
    .connected();
    pair.write(A, &numbered(2000));
    pair.run_for(ms(1000));
    assert_eq!(sent(&pair), [(0, 0), (0, 1000), (40, 1000)]);
    // D-SACK told that both copies came, so what follows is no sign of a loss.
    pair.write(A, &numbered(2000));
    pair.run_for(ms(1000));
    let counters = pair.counters(A);
    assert_eq!((counters.loss_probes, counters.probes_repaired), (1, 0));
}

#[test]
fn a_segment_a_little_late_is_not_sent_again() {
    // Two were sent later and arrive before; a quarter of the round trip is waited for.
    let mut pair = with_fates(prompt(), prompt(), |octet, _| vec![ms(if octet == 2000 { 14 } else { 10 })]);
    pair.write(A, &numbered(5000));
    pair.run_for(ms(1000));
    let counters = pair.counters(A);
    assert_eq!(counters.retransmissions, 0, "{:?}", pair.taken_log());
    // Six more later: now reordering is known, and three SACKs are no proof.
    pair.write(A, &numbered(3000));
    pair.run_for(ms(100));
    assert_eq!(pair.counters(A).retransmissions, 0);
}

#[test]
fn reordering_once_seen_is_waited_for_whatever_is_sacked() {
    let late = [2000, 20_000];
    let mut pair =
        with_fates(prompt(), prompt(), move |octet, _| vec![ms(if late.contains(&octet) { 14 } else { 10 })]);
    pair.write(A, &numbered(5000));
    pair.run_for(ms(200));
    pair.write(A, &numbered(25_000));
    pair.run_for(ms(1000));
    assert_eq!(pair.counters(A).retransmissions, 0, "{}", pair.taken_log().join("\n"));
    assert!(pair.counters(A).duplicate_acks > 5);
}

#[test]
fn the_timer_of_rack_finds_a_loss_that_no_further_acknowledgment_shows() {
    // The last but one is lost: one SACK is no proof for three duplicates, but a quarter of a round trip later it is.
    let mut pair = with_fates(prompt(), prompt(), |octet, copy| match (octet, copy) {
        (3000, 0) => Vec::new(),
        _ => vec![ms(10)],
    });
    pair.write(A, &numbered(5000));
    pair.run_for(ms(1000));
    assert_eq!(sent(&pair)[5..], [(25, 3000)]);
    assert_eq!(pair.counters(A).timeouts, 0);
    assert!(!pair.log.iter().any(|packet| packet.has(Flags::RST)));
}

#[test]
fn proportional_reduction_keeps_the_acknowledgment_clock() {
    // One of twenty is lost: RFC 6675 is silent for half a round trip, PRR sends for every other acknowledgment. The
    // segments go 1 ms apart, so that their acknowledgments do.
    let run = |rate_reduction| {
        let config = Config {
            rate_reduction,
            congestion: crate::tcp::congestion::Algorithm::NewReno,
            initial_window: InitialWindow::Segments(20),
            send_buffer: 100_000,
            ..prompt()
        };
        let mut pair = with_fates(config, prompt(), |octet, copy| {
            // What was sent in the first instant is spread over 20 ms.
            let at = u64::from(octet / 1000);
            match (octet, copy) {
                (0, 0) => Vec::new(),
                (0..20_000, _) => vec![ms(10 + at)],
                _ => vec![ms(10)],
            }
        });
        pair.write(A, &numbered(60_000));
        pair.run_for(ms(40));
        assert_eq!(pair.counters(A).fast_retransmits, 1);
        let during = |from, to| {
            let all = sent(&pair);
            all.iter().filter(|(at, _)| (from..to).contains(at)).count()
        };
        (during(24, 34), during(34, 40))
    };
    let (prr_first, prr_second) = run(RateReduction::Prr);
    let (rfc_first, rfc_second) = run(RateReduction::AtOnce);
    assert!((4..=5).contains(&prr_first), "{prr_first}");
    assert_eq!(rfc_first, 1);
    assert_eq!(prr_first + prr_second, rfc_first + rfc_second);
}

/// The time in ms that `config` needs for 300,000 octets over a path of 20 ms that loses `percent` of all segments.
fn time_over_lossy_path(config: &Config, percent: u64, seed: u64) -> u64 {
    let mut rng = kumiki_graph::Rng::new(seed, 7);
    let mut pair = Pair::seeded(
        config.clone(),
        config.clone(),
        seed,
        9180,
        Box::new(move |packet| {
            let lost = !packet.has(Flags::SYN) && rng.below(100) < percent;
            if lost { Vec::new() } else { vec![ms(10)] }
        }),
    )
    .connected();
    let begin = pair.now;
    pair.write(A, &numbered(300_000));
    while pair.app(B).received.len() < 300_000 {
        pair.run_for(ms(5));
    }
    pair.now.saturating_since(begin).as_millis()
}

#[test]
fn time_tells_losses_better_than_rfc_6675_at_one_to_five_per_cent() {
    for percent in 1..=5 {
        let total = |loss_detection, rate_reduction| {
            let config = Config { loss_detection, rate_reduction, ..prompt() };
            (0..16).map(|seed| time_over_lossy_path(&config, percent, seed)).sum::<u64>()
        };
        let rack = total(LossDetection::Rack, RateReduction::Prr);
        let sack = total(LossDetection::Sack, RateReduction::AtOnce);
        println!("{percent} %: {rack} ms, {sack} ms");
        assert!(rack <= sack, "{percent} %: {rack} ms, {sack} ms");
    }
}

/// 30 segments of which the fifth comes 5 ms after its turn, when others 1 ms apart have overtaken it; then the same
/// again.
fn reordered(config: &Config) -> Pair {
    let mut pair = with_fates(config.clone(), config.clone(), |octet, copy| {
        let (n, late) = (u64::from(octet / 1000), octet % 30_000 == 4000 && copy == 0);
        vec![ms(10 + n % 30 + 5 * u64::from(late))]
    });
    pair.write(A, &numbered(30_000));
    pair.run_for(ms(500));
    pair
}

#[test]
fn a_recovery_for_nothing_is_undone_and_learnt_from() {
    for loss_detection in [LossDetection::Rack, LossDetection::Sack] {
        for (timestamps, sack) in [(true, true), (false, true), (true, false)] {
            let config = Config {
                loss_detection,
                timestamps,
                sack,
                mss: Some(1000 + 12 * u16::from(timestamps)),
                initial_window: InitialWindow::Segments(40),
                trace: true,
                ..prompt()
            };
            let mut pair = reordered(&config);
            let counters = pair.counters(A);
            let case = format!("{loss_detection:?}, timestamps {timestamps}, sack {sack}");
            assert_eq!(counters.fast_retransmits, 1, "{case}");
            // Without new data, RFC 6675 also makes a rescue retransmission.
            assert!(counters.retransmissions <= 2, "{case}");
            assert_eq!(counters.spurious_recoveries, 1, "{case}");
            let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
            let last = trace.0.last().unwrap();
            assert_eq!(last.ssthresh, u64::MAX, "{case}: as before");
            pair.write(A, &numbered(30_000));
            pair.run_for(ms(500));
            let again = pair.counters(A).retransmissions;
            assert_eq!(again, counters.retransmissions, "{case}: not again");
        }
    }
}

/// A stream of which all that A sends between 600 and 900 ms waits until 900 ms, or is lost.
fn stalled(config: &Config, lost: bool) -> Pair {
    let mut pair = Pair::with_rule(config.clone(), config.clone(), move |packet| {
        let at = packet.at.as_nanos() / 1_000_000;
        match at {
            600..900 if packet.from == A && lost => Vec::new(),
            600..900 if packet.from == A => vec![ms(910 - at)],
            _ => vec![ms(10)],
        }
    })
    .connected();
    pair.write(A, &numbered(5000));
    pair.run_for(ms(110));
    pair.write(A, &numbered(60_000));
    pair.run_for(ms(2000));
    pair
}

#[test]
fn a_timeout_for_nothing_is_found_out_and_nothing_else_is_sent_again() {
    for (timestamps, sack, f_rto) in [
        // F-RTO basic and with SACK, then Eifel detection.
        (false, false, true),
        (false, true, true),
        (true, false, false),
        (true, true, false),
    ] {
        for loss_detection in [LossDetection::Rack, LossDetection::Sack] {
            let config = Config {
                loss_detection,
                timestamps,
                sack,
                f_rto,
                tail_loss_probe: false,
                mss: Some(1000 + 12 * u16::from(timestamps)),
                ..prompt()
            };
            let case = format!("{loss_detection:?}, timestamps {timestamps}, sack {sack}");
            let mut pair = stalled(&config, false);
            let log = pair.taken_log().join("\n");
            let counters = pair.counters(A);
            assert_eq!(pair.app(B).received.len(), 65_000, "{case}\n{log}");
            assert_eq!((counters.timeouts, counters.spurious_timeouts), (1, 1), "{case}\n{log}");
            assert_eq!(counters.retransmissions, 1, "{case}\n{log}");
            // Where it was for something, nobody thinks otherwise.
            let mut pair = stalled(&config, true);
            let log = pair.taken_log().join("\n");
            let counters = pair.counters(A);
            assert_eq!(pair.app(B).received.len(), 65_000, "{case}\n{log}");
            assert_eq!(counters.spurious_timeouts, 0, "{case}\n{log}");
            assert!(counters.retransmissions >= 10, "{case}\n{log}");
        }
    }
}

/// The longest wait in the queue of a line that carries 1000 octets in 1 ms, in ms, and whether slow start has ended.
fn queue_of_slow_start(hystart: bool) -> (u64, bool) {
    let config = Config {
        hystart,
        congestion: crate::tcp::congestion::Algorithm::NewReno,
        send_buffer: 2_000_000,
        receive_buffer: 2_000_000,
        window_scaling: true,
        trace: true,
        ..prompt()
    };
    let longest = std::rc::Rc::new(std::cell::Cell::new(0));
    let seen = longest.clone();
    let mut free = 0;
    let mut pair = Pair::with_rule(config.clone(), config, move |packet| {
        if packet.from == B || packet.len() == 0 {
            return vec![ms(25)];
        }
        let now = packet.at.as_nanos() / 1_000_000;
        free = free.max(now) + 1;
        seen.set(seen.get().max(free - now));
        vec![ms(25 + free - now)]
    })
    .connected();
    pair.write(A, &numbered(2_000_000));
    pair.run_for(ms(1900));
    let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
    let ended = trace.0.last().unwrap().ssthresh < u64::MAX;
    assert_eq!(pair.counters(A).retransmissions, 0);
    (longest.get(), ended)
}

#[test]
fn slow_start_ends_when_the_queue_grows_and_not_when_it_overflows() {
    let (without, ended) = queue_of_slow_start(false);
    assert!(!ended);
    let (with, ended) = queue_of_slow_start(true);
    assert!(ended);
    assert!(2 * with < without, "{with} ms and {without} ms");
}

#[test]
fn a_paced_sender_sends_no_bursts_and_is_as_fast() {
    // 40 segments per round trip of 100 ms, from a standing start.
    let run = |pacing| {
        let config = Config {
            pacing,
            hystart: false,
            slow_start_limit: 100,
            // Many segments to an acknowledgment, so that each lets many go.
            ack: AckRule { every: 30, count_small: true, pushed: false },
            send_buffer: 1_000_000,
            receive_buffer: 1_000_000,
            window_scaling: true,
            ..prompt()
        };
        let mut pair = Pair::new(config.clone(), config, ms(50)).connected();
        pair.write(A, &numbered(400_000));
        pair.run_for(ms(5000));
        assert_eq!(pair.app(B).received.len(), 400_000);
        let data = pair.log.iter().filter(|packet| packet.from == A && packet.len() > 0);
        let times: Vec<_> = data.map(|packet| packet.at).collect();
        let bursts = times.chunk_by(|one, two| one == two).skip(1);
        let longest = bursts.map(<[_]>::len).max().unwrap();
        let took = times.last().unwrap().saturating_since(times[0]).as_millis();
        (longest, took, pair.counters(A).paced)
    };
    let (burst, paced_time, paced) = run(true);
    // At most what goes in a millisecond: twice a window of less than 500 segments in 100 ms.
    assert!(burst <= 10 && paced > 50, "{burst}, {paced}");
    let (burst, time, paced) = run(false);
    assert!(burst >= 30 && paced == 0, "{burst}");
    // Windows are spread over round trips that bursts would leave idle.
    assert!(paced_time <= time + 100, "{paced_time} ms and {time} ms");
}

#[test]
fn the_probe_is_new_data_where_there_is_some() {
    // The whole window is lost, and the window is full.
    let config = Config { initial_window: InitialWindow::Segments(4), ..prompt() };
    let mut pair = with_fates(config, prompt(), |octet, copy| match (octet, copy) {
        (0..4000, 0) => Vec::new(),
        _ => vec![ms(10)],
    });
    pair.write(A, &numbered(8000));
    pair.run_for(ms(1000));
    let sent = sent(&pair);
    assert_eq!(sent[..6], [(0, 0), (0, 1000), (0, 2000), (0, 3000), (40, 4000), (60, 0)]);
    let counters = pair.counters(A);
    assert_eq!((counters.timeouts, counters.retransmissions), (0, 4));
    assert_eq!(pair.app(B).received, numbered(8000));
}

#[test]
fn new_data_that_trickles_out_does_not_put_the_timer_off() {
    // Nothing arrives from 495 ms on, and A writes ten octets each 50 ms. RTO is its minimum of 200 ms: the probe goes
    // no later than that, and one RTO after it the head (RFC 8985 sections 7.2 and 7.3).
    let config = Config { coalesce: kumiki_graph::Coalesce::Never, ..prompt() };
    let mut pair =
        Pair::with_rule(
            config,
            prompt(),
            |packet| {
                if packet.at.as_nanos() < 495_000_000 { vec![ms(10)] } else { Vec::new() }
            },
        )
        .connected();
    pair.write(A, &numbered(10));
    pair.run_for(ms(10));
    for _ in 0..20 {
        pair.write(A, &numbered(10));
        pair.run_for(ms(50));
    }
    let head: Vec<u64> = sent(&pair).into_iter().filter_map(|(at, octet)| (octet == 0).then_some(at)).collect();
    assert_eq!(head, [0, 400, 800], "{}", pair.taken_log().join("\n"));
}

/// RFC 5682 section 2.1 step 3 (b) speaks of an acknowledgment of what was not retransmitted.
#[test]
fn f_rto_says_nothing_where_more_than_the_first_segment_was_sent_again() {
    // Nothing controls congestion: all that is outstanding goes again.
    for sack in [false, true] {
        let congestion = crate::tcp::congestion::Algorithm::Fixed;
        let config = Config { sack, congestion, f_rto: true, loss_detection: LossDetection::Sack, ..prompt() };
        let narrow = Config { receive_buffer: 3000, ..config.clone() };
        let mut pair =
            with_fates(config, narrow, |octet, copy| if octet < 3000 && copy == 0 { Vec::new() } else { vec![ms(10)] });
        pair.write(A, &numbered(20_000));
        pair.run_for(ms(2000));
        let log = pair.taken_log().join("\n");
        let counters = pair.counters(A);
        assert_eq!(pair.app(B).received.len(), 20_000, "{log}");
        assert_eq!((counters.timeouts, counters.spurious_timeouts), (1, 0), "{log}");
    }
}

/// RFC 6298 section 3: what was sent once is a measure, also where SACK tells of it.
#[test]
fn a_segment_that_is_reported_ends_the_back_off() {
    for loss_detection in [LossDetection::Rack, LossDetection::Sack] {
        let congestion = crate::tcp::congestion::Algorithm::Fixed;
        let config = Config { loss_detection, congestion, tail_loss_probe: false, ..prompt() };
        let mut pair = with_fates(config, prompt(), |octet, copy| match (octet, copy) {
            (0, 0..2) | (1000, 0) => Vec::new(),
            _ => vec![ms(10)],
        });
        let rto = |pair: &Pair| pair.tcp(A).snapshots().next().unwrap().2.rto;
        pair.write(A, &numbered(1000));
        pair.run_for(ms(2000));
        assert_eq!(rto(&pair), ms(200) * 4, "Karn's rule");
        pair.write(A, &numbered(3000));
        pair.run_for(ms(25));
        let now = rto(&pair);
        let log = pair.taken_log().join("\n");
        assert_eq!(now, ms(200), "{loss_detection:?}\n{log}");
    }
}

#[test]
fn an_acknowledgment_that_undoes_a_timeout_is_one_sample() {
    // The second segment and the acknowledgments of 300 ms are lost; what fills the gap is answered when the head has
    // been retransmitted.
    let config = Config { timestamps: true, trace: true, mss: Some(1012), f_rto: false, ..prompt() };
    let mut pair = Pair::with_rule(config.clone(), config, |packet| {
        let at = packet.at.as_nanos() / 1_000_000;
        match (packet.from, at) {
            (A, 500) if packet.seq == 1001 => Vec::new(),
            (B, 505..700) if packet.len() == 0 => vec![ms(1000 - at)],
            _ => vec![ms(10)],
        }
    })
    .connected();
    pair.write(A, &numbered(2000));
    pair.run_for(ms(2000));
    let log = pair.taken_log().join("\n");
    let (_, _, trace) = pair.tcp(A).traces().next().unwrap();
    let undone = trace
        .0
        .iter()
        .find(|entry| entry.event == Event::Undone)
        .expect("the acknowledgment repeats the time of the probe");
    // The probe was sent 220 ms before.
    assert_eq!(undone.srtt, Some((ms(20) * 7 + ms(220)) / 8), "{log}");
}
