//! What is lost is retransmitted.

use kumiki_wire::inet::tcp::Flags;

use super::pair::*;
use crate::tcp::Config;

/// A transfer of `len` octets from A to B and the close of both, of which the packets `lost` (counted over both
/// directions) do not arrive.
fn transfer(config: Config, len: usize, lost: &[usize]) -> Pair {
    let lost = lost.to_vec();
    let mut pair =
        Pair::with_rule(
            config.clone(),
            config,
            move |packet| {
                if lost.contains(&packet.number) { Vec::new() } else { vec![ms(10)] }
            },
        );
    pair.listen(B, 5);
    pair.app(B).release_when_released = true;
    pair.app(A).outbox.push_back(kumiki_octets::Message::from_octets(&numbered(len)));
    pair.app(A).release_when_sent = true;
    pair.call(A);
    pair.run_for(ms(30_000));
    pair
}

#[test]
fn any_single_segment_may_be_lost() {
    for sack in [false, true] {
        let config = Config { sack, ..plain() };
        let whole = transfer(config.clone(), 12_345, &[]);
        assert_eq!(whole.counters(A).retransmissions, 0);
        for lost in 0..whole.log.len() {
            let mut pair = transfer(config.clone(), 12_345, &[lost]);
            let text = pair.taken_log().join("\n");
            assert_eq!(pair.app(B).received, numbered(12_345), "{lost} lost\n{text}");
            for (host, began) in [(A, "opened"), (B, "offered")] {
                assert_eq!(pair.app(host).heard, [began, "released", "closed"], "{lost} lost, sack {sack}\n{text}");
            }
        }
    }
}

#[test]
fn any_two_segments_may_be_lost() {
    let config = Config { sack: true, ..plain() };
    for first in 0..24 {
        for second in first + 1..24 {
            let mut pair = transfer(config.clone(), 9_000, &[first, second]);
            let text = pair.taken_log().join("\n");
            assert_eq!(pair.app(B).received, numbered(9_000), "{first}, {second} lost\n{text}");
            assert!(pair.app(B).over, "{first}, {second} lost\n{text}");
        }
    }
}

#[test]
fn three_duplicates_bring_a_lost_segment_back_before_the_timer() {
    for sack in [false, true] {
        let config = Config { sack, initial_window: crate::tcp::congestion::InitialWindow::Segments(8), ..plain() };
        // The fourth packet is the second segment of data.
        let pair = transfer(config, 20_000, &[4]);
        let counters = pair.counters(A);
        assert_eq!(counters.fast_retransmits, 1, "sack {sack}");
        assert_eq!((counters.timeouts, counters.retransmissions), (0, 1), "sack {sack}");
    }
}

/// As when a batch of a real device, or a modelled CPU, takes a whole window at once.
// RFC 9293: MAY-13
#[test]
fn each_segment_ahead_of_its_turn_has_an_acknowledgment_also_where_they_come_together() {
    for (sack, batch) in [(false, 1), (false, 64), (true, 1), (true, 64)] {
        let config = Config { sack, initial_window: crate::tcp::congestion::InitialWindow::Segments(8), ..plain() };
        let mut pair = Pair::with_rule(config.clone(), config, |packet| {
            // The fourth packet is the second segment of data.
            if packet.number == 4 { Vec::new() } else { vec![ms(10)] }
        })
        .batch(batch);
        pair.listen(B, 5);
        pair.call(A);
        pair.write(A, &numbered(20_000));
        pair.run_for(ms(35));
        let gap = pair.log[4].seq;
        let repeated = pair.log.iter().filter(|packet| packet.from == B && packet.ack == gap && packet.text.is_empty());
        // One for each of the six behind the gap; the first of them acknowledges the segment before it.
        assert_eq!(repeated.count(), 6, "sack {sack}, batch {batch}");
        pair.run_for(ms(30_000));
        let counters = pair.counters(A);
        assert_eq!(
            (counters.fast_retransmits, counters.timeouts, counters.retransmissions),
            (1, 0, 1),
            "sack {sack}, batch {batch}"
        );
    }
}

// RFC 9293: MUST-19, MUST-20
#[test]
fn a_silent_peer_is_given_up() {
    let config = Config { max_retransmissions: 4, ..plain() };
    let mut pair = Pair::with_rule(config.clone(), config, |packet| {
        if packet.at.as_nanos() < 400_000_000 { vec![ms(10)] } else { Vec::new() }
    })
    .connected();
    pair.taken_log();
    pair.write(A, b"anybody?");
    pair.run_for(ms(60_000));
    assert_eq!(pair.app(A).heard, ["opened", "notice: NoAnswer", "aborted: TimedOut"]);
    let times: Vec<u64> = pair
        .log
        .iter()
        .filter(|packet| packet.at.as_nanos() >= 500_000_000 && !packet.has(Flags::RST))
        .map(|packet| packet.at.as_nanos() / 1_000_000)
        .collect();
    // RTO is its minimum of 200 ms, and doubles.
    assert_eq!(times, [500, 700, 1100, 1900, 3500]);
}

#[test]
fn a_user_timeout_ends_what_nobody_acknowledges() {
    let config = Config { user_timeout: Some(ms(5000)), ..plain() };
    let mut pair = Pair::with_rule(config.clone(), config, |packet| {
        if packet.at.as_nanos() < 1_000_000_000 { vec![ms(10)] } else { Vec::new() }
    })
    .connected();
    pair.write(A, b"in time");
    pair.run_for(ms(500));
    pair.write(A, b"too late");
    pair.run_for(ms(4999));
    assert!(!pair.app(A).over);
    pair.run_for(ms(1));
    assert_eq!(pair.app(A).heard, ["opened", "notice: NoAnswer", "aborted: TimedOut"]);
}

#[test]
fn without_new_reno_recovery_ends_at_the_first_new_acknowledgment() {
    // Two segments of one window are lost: NewReno brings both back by itself, Reno waits for the timer.
    for (new_reno, timeouts) in [(true, 0), (false, 1)] {
        let config = Config {
            new_reno,
            limited_transmit: false,
            initial_window: crate::tcp::congestion::InitialWindow::Segments(10),
            ..plain()
        };
        let pair = transfer(config, 10_000, &[4, 6]);
        let counters = pair.counters(A);
        assert_eq!(counters.retransmissions, 2, "new_reno {new_reno}");
        assert_eq!(counters.timeouts, timeouts, "new_reno {new_reno}");
    }
}

#[test]
fn sack_repairs_several_losses_in_one_round_trip() {
    let config = Config {
        sack: true,
        loss_detection: crate::tcp::config::LossDetection::Sack,
        initial_window: crate::tcp::congestion::InitialWindow::Segments(30),
        ..plain()
    };
    let pair = transfer(config, 30_000, &[5, 9, 13, 17]);
    let again: Vec<(u64, u32)> = pair
        .log
        .iter()
        .filter(|packet| packet.from == A && packet.at.as_nanos() > 30_000_000)
        .map(|packet| (packet.at.as_nanos() / 1_000_000, packet.seq))
        .take(5)
        .collect();
    // The last is rule 4 of NextSeg, the rescue retransmission.
    assert_eq!(again, [(40, 3001), (40, 7001), (40, 11_001), (40, 15_001), (60, 15_001)]);
    assert_eq!(pair.counters(A).timeouts, 0);
}
