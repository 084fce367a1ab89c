//! The line, and what befalls what is on it.

use kumiki_graph::{Duration, Instant};
use kumiki_link::{Hold, Impairment, Loss};

use super::case_rng::{CaseRng, ms, s, us};
use super::{Line, MOST_OCTETS, Stack};

pub(super) fn line(dice: &mut CaseRng, stack: Stack, mtu: u32) -> Line {
    // A full frame takes at most two seconds, and a full queue twenty: with more, no time-out that is allowed would
    // be longer than the round trip.
    let least = u64::from(mtu) * 8 / 2;
    let rate = dice.spread(least.max(10_000), 10_000_000_000);
    let back =
        if stack != Stack::Cells && dice.one_in(4) { (rate / dice.spread(1, 64)).max(least).max(10_000) } else { rate };
    let queue = if dice.one_in(3) {
        u64::MAX
    } else if stack == Stack::Cells {
        dice.spread(1, 256)
    } else {
        let frames = dice.spread(1, 512);
        frames.saturating_mul(mtu.into())
    };
    let in_20_s = rate.min(back) / 8 * 20;
    let queue = if stack == Stack::Cells {
        queue.min((in_20_s / u64::from(mtu)).max(1))
    } else if queue == u64::MAX && in_20_s > 64 * MOST_OCTETS {
        queue
    } else {
        queue.min(in_20_s)
    };
    Line {
        rates: [rate, back],
        propagation: if dice.one_in(8) { Duration::ZERO } else { dice.time(us(1), s(1)) },
        queue,
        weather: [Impairment::default(), Impairment::default()],
        squeeze: [0, 0],
        liars: [None, None],
    }
}

/// Congestion marks, which only plain datagrams get: few, many, or on all that can be marked.
pub(super) fn marking(dice: &mut CaseRng, line: &mut Line) {
    for weather in &mut line.weather {
        if dice.one_in(2) {
            weather.mark = if dice.one_in(12) { 1.0 } else { dice.probability(400) };
        }
    }
}

pub(super) fn bad_weather(dice: &mut CaseRng, line: &mut Line, stack: Stack) {
    let first = one_way(dice, stack);
    let second = match dice.below(4) {
        0 => Impairment::default(),
        1 => one_way(dice, stack),
        _ => first.clone(),
    };
    let turned = dice.one_in(2);
    line.weather = if turned { [second, first] } else { [first, second] };
}

fn one_way(dice: &mut CaseRng, stack: Stack) -> Impairment {
    let mut it = Impairment::default();
    if dice.one_in(2) {
        it.loss = if dice.one_in(3) {
            Loss::Gilbert {
                to_bad: dice.probability(50),
                to_good: 0.2 + dice.probability(600),
                good: 0.0,
                bad: 0.5 + dice.probability(512),
            }
        } else {
            // A cell lost is a PDU lost, and a PDU may be hundreds of cells.
            Loss::Independent(dice.probability(if stack == Stack::Cells { 8 } else { 200 }))
        };
    }
    if dice.one_in(3) {
        it.duplicate = dice.probability(if stack == Stack::Cells { 4 } else { 200 });
    }
    if dice.one_in(3) {
        it.corrupt = dice.probability(if stack == Stack::Cells { 4 } else { 60 });
        // Two wrong bits can make up for each other in the Internet checksum, never in CRC-32 at these lengths.
        if stack != Stack::Ip && dice.one_in(2) {
            it.corrupt_again = 0.5;
        }
    }
    if dice.one_in(3) {
        it.jitter = dice.time(us(1), s(1));
    }
    if stack != Stack::Cells && dice.one_in(3) {
        let time = dice.time(us(10), s(2));
        let followers = dice.narrow(1, 12);
        let hold = if dice.one_in(2) { Hold::Time(time) } else { Hold::Followers(followers, time) };
        it.hold = Some((dice.probability(300), hold));
    }
    if dice.one_in(6) {
        let mut at = Instant::ZERO;
        for _ in 0..dice.uniform(1, 3) {
            at += dice.time(ms(1), s(60));
            let until = at + dice.time(ms(1), s(300));
            it.down.push((at, until));
            at = until;
        }
    }
    it
}
