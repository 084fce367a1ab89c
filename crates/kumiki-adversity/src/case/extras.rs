//! What a seed decides beyond the rest: parts of the standard that most connections do without.
//!
//! Each has draws of its own, so that one more changes nothing else of a seed: it gets a function here, a stream, and a
//! line in [`extras`].

use kumiki_graph::{Duration, Instant, KeepAlive};
use kumiki_inet::tcp::config::SynCookies;
use kumiki_link::Loss;

use super::case_rng::{CaseRng, ms, s, us};
use super::{End, Flood, Line, Opening, Reading, Stack, Version, programs};

/// The first stream of these draws; those before belong to the line and the ends.
const FIRST: u64 = 16;

/// Draws what is not drawn elsewhere.
pub(super) fn extras(seed: u64, ends: [&mut End; 2]) {
    for (number, end) in (0..).zip(ends) {
        let dice = |what: u64| CaseRng::new(seed, FIRST + 2 * what + number);
        listener(&mut dice(0), end);
        keep_alive(&mut dice(1), end);
        urgent(&mut dice(2), end);
        user_timeout(&mut dice(3), end);
    }
}

/// One case in four is over IPv6, which any stack carries, in packets of at least 1280 octets.
pub(super) fn version(dice: &mut CaseRng, ends: [&mut End; 2]) -> Version {
    if !dice.one_in(4) {
        return Version::Four;
    }
    for end in ends {
        end.mtu = end.mtu.max(1_280);
    }
    Version::Six
}

/// Cookies as under a flood, where no call is kept until it is answered, and a listener without them.
fn listener(dice: &mut CaseRng, end: &mut End) {
    if dice.one_in(4) {
        let rules = [SynCookies::Always, SynCookies::Never];
        end.tcp.syn_cookies = dice.pick(&rules, SynCookies::WhenFull);
    }
}

fn keep_alive(dice: &mut CaseRng, end: &mut End) {
    end.tcp.keep_alive = dice.one_in(8);
    end.tcp.keep_alive_times =
        KeepAlive { idle: dice.time(ms(10), s(100)), interval: dice.time(s(1), s(100)), count: dice.narrow(2, 16) };
}

/// Some writes, or all of them, are urgent.
fn urgent(dice: &mut CaseRng, end: &mut End) {
    end.writing.urgent = dice.one_in(8).then(|| dice.narrow(1, 64));
}

/// The peer is told how long the user waits, and may be heard on it (RFC 5482).
fn user_timeout(dice: &mut CaseRng, end: &mut End) {
    if dice.one_in(8) {
        end.tcp.user_timeout_option = true;
        end.tcp.user_timeout = dice.one_in(2).then(|| dice.time(s(10), s(600)));
        end.tcp.min_user_timeout = dice.time(s(10), s(200));
    }
}

/// Windows that shrink on their way, in one case of eight: some of them, or nearly all.
pub(super) fn squeeze(dice: &mut CaseRng, stack: Stack, line: &mut Line) {
    if stack == Stack::Aal5 || !dice.one_in(8) {
        return;
    }
    let which = dice.below(3);
    for (number, often) in (1..).zip(&mut line.squeeze) {
        if which != number {
            *often = u16::try_from(dice.spread(1, 800)).unwrap_or(0);
        }
    }
}

/// Strangers who call who listens, in one case of ten, more of them than there is room for.
pub(super) fn flood(dice: &mut CaseRng, end: &mut End, line: &Line) {
    if !matches!(end.opening, Opening::Listens { .. }) || !dice.one_in(10) {
        return;
    }
    // What answers them keeps the line busy for two seconds at the most, the first time.
    let slowest = line.rates.iter().copied().min().unwrap_or(0);
    let most = (slowest / 500).clamp(2, 4_000);
    end.tcp.half_open = dice.narrow(1, 256);
    end.strangers = Some(Flood {
        calls: u32::try_from(dice.spread(most.min(32), most)).unwrap_or(1),
        after: dice.time(us(1), s(1)),
        every: dice.time(us(1), ms(20)),
    });
}

/// All of a window lost at once, and again and again, mostly without SACK to tell of it: what F-RTO, probes of the tail
/// and back-off are for. One case in six; enough is written in one direction that there is something to lose.
pub(super) fn whole_flights(dice: &mut CaseRng, stack: Stack, ends: [&mut End; 2], line: &mut Line) {
    if !dice.one_in(6) {
        return;
    }
    let [near, far] = ends;
    let (writer, reader) = if dice.one_in(2) { (&mut *near, &mut *far) } else { (&mut *far, &mut *near) };
    let window = writer.send_buffer().min(reader.receive_buffer());
    let segment = programs::segment(writer, reader);
    let most = (1_000 * u64::from(window)).min(500 * u64::from(segment));
    let wanted = dice.spread(1 << 14, 1 << 18).min(most);
    let writing = &mut writer.writing;
    if wanted > writing.total {
        writing.total = wanted;
        let least = wanted / 1_000;
        writing.piece = (writing.piece.0.max(least), writing.piece.1.max(least));
        if let Reading::Bits(octets, _) = &mut reader.reading {
            *octets = least.max(*octets);
        }
    }
    // Modelled memory is for small transfers.
    (near.clusters, far.clusters) = (None, None);
    if !dice.one_in(4) {
        near.tcp.sack = false;
    }
    // A frame that goes and its acknowledgment; no less than what a timer can tell.
    let slowest = line.rates.iter().copied().min().unwrap_or(1).max(1);
    let frame = Duration::from_nanos(u64::from(near.mtu.min(far.mtu)) * 8_000_000_000 / slowest);
    let trip = (line.propagation * 2 + frame * 2).max(us(100));
    let both = dice.one_in(2);
    let times = outages(dice, trip);
    // A lost cell is a lost PDU, and a burst of cells would be no flight.
    let by_time = stack == Stack::Cells || dice.one_in(2);
    let bursts = Loss::Gilbert {
        to_bad: 1.0 / as_float(dice.spread(16, 256)),
        to_good: 1.0 / as_float(dice.spread(4, 64)),
        good: 0.0,
        bad: 1.0,
    };
    let one = usize::from(dice.one_in(2));
    for (number, weather) in line.weather.iter_mut().enumerate() {
        if !both && number != one {
            continue;
        }
        if by_time {
            weather.down.clone_from(&times);
        } else {
            weather.loss = bursts;
        }
    }
}

/// Up to eight times at which nothing gets through, some round trips apart, each for a part of one or for some of them.
fn outages(dice: &mut CaseRng, trip: Duration) -> Vec<(Instant, Instant)> {
    let mut at = Instant::ZERO;
    (0..dice.uniform(1, 8))
        .map(|_| {
            let from = at + dice.time(trip, trip * 8);
            let length = if dice.one_in(3) { dice.time(ms(100), s(4)) } else { dice.time(trip / 4, trip * 4) };
            at = from + length;
            (from, at)
        })
        .collect()
}

/// Of a number up to 256.
fn as_float(n: u64) -> f64 {
    f64::from(u16::try_from(n).unwrap_or(u16::MAX))
}
