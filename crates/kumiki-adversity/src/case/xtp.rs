//! What a seed decides where XTP carries the transfer: the two XTPs, and what of the programs depends on them.

use kumiki_graph::{Duration, ErrorControl, FlowControl, RateLimit};
use kumiki_xtp::{Config, Recovery, congestion, rtt};

use super::case_rng::{CaseRng, ms, s, us};
use super::{ControlForgery, End, Line, Stack, Version, hosts};

/// The first stream of these draws.
const FIRST: u64 = 40;
/// XTP puts at least so many octets into a packet, behind its header and that of IPv4: no smaller MTU, so that only
/// IP's own tests have fragments, whose wrong bits could make up for each other.
const LEAST_MTU: u32 = 20 + 32 + 128;
/// No rate makes a program wait longer than this for all of its octets.
const MOST_SECONDS: u64 = 2_000;
/// Without error control each message goes in a packet of its own, with its tag.
const SMALL: u64 = 100;

/// Where datagrams of IPv4 would go in frames, one case in three has no IP.
pub(super) fn stack(seed: u64, stack: Stack, version: Version) -> Stack {
    let dice = &mut CaseRng::new(seed, FIRST + 4);
    if stack != Stack::Ip || version != Version::Four || !dice.one_in(3) {
        return stack;
    }
    dice.pick(&[Stack::Ethernet, Stack::Fddi], stack)
}

/// Somebody who makes up control packets, over IP in one case of four, there in either direction half of the time; and
/// what has a wrong bit is lost where frames have a sum.
pub(super) fn third_parties(seed: u64, stack: Stack, line: &mut Line) {
    let dice = &mut CaseRng::new(seed, FIRST + 5);
    if !stack.has_ip() {
        for weather in &mut line.weather {
            weather.corrupt = 0.0;
        }
    }
    if stack != Stack::Ip || !dice.one_in(4) {
        return;
    }
    let knows_keys = dice.one_in(2);
    for liar in &mut line.liars {
        let often = u16::try_from(dice.spread(1, 512)).unwrap_or(1);
        *liar = dice.one_in(2).then_some(ControlForgery { often, knows_keys });
    }
}

/// The XTPs of both hosts take the place of the TCPs.
pub(super) fn hosts(seed: u64, stack: Stack, ends: [&mut End; 2]) {
    let mut reserves = false;
    let [near, far] = ends;
    for (number, end) in (0..).zip([&mut *near, &mut *far]) {
        let dice = &mut CaseRng::new(seed, FIRST + number);
        end.profile = "xtp";
        let most = match stack {
            Stack::Ethernet => kumiki_inet::eth::MOST_MTU,
            Stack::Fddi => kumiki_inet::fddi::MOST_MTU,
            Stack::Ip | Stack::Aal5 | Stack::Cells => u32::MAX,
        };
        end.mtu = end.mtu.clamp(LEAST_MTU, most);
        (end.quality, end.by_gateway) = (kumiki_graph::Quality::default(), false);
        let mut config = Config::default();
        buffers(dice, &mut config);
        modes(dice, end, &mut config);
        asking(dice, &mut config);
        timers(dice, &mut config);
        rates(dice, end, &mut config);
        strangers(&mut CaseRng::new(seed, FIRST + 6 + number), &mut config);
        reserves |= config.flow_control == FlowControl::Reservation;
        end.xtp = Some(Box::new(config));
    }
    if reserves {
        // Only what the user grants may come.
        for end in [near, far] {
            end.quality.receive_buffer = Some(end.receive_buffer());
        }
    }
}

fn buffers(dice: &mut CaseRng, config: &mut Config) {
    let mut size = || match dice.below(8) {
        0..=2 => None,
        3 => Some(dice.narrow(64 << 10, 1 << 30)),
        _ => Some(hosts::buffer(dice)),
    };
    config.send_buffer = size().unwrap_or(config.send_buffer);
    config.receive_buffer = size().unwrap_or(config.receive_buffer);
    config.low_water = if dice.one_in(4) { dice.narrow(1, 16_384) } else { 1 };
    config.first_alloc = match dice.below(4) {
        0 => 0,
        1 => dice.narrow(1, 1 << 20),
        _ => config.first_alloc,
    };
    config.maxdata = dice.one_in(4).then(|| dice.narrow(128, 60_000));
}

fn modes(dice: &mut CaseRng, end: &mut End, config: &mut Config) {
    config.check = !dice.one_in(4);
    config.error_control = match dice.below(10) {
        0 => ErrorControl::None,
        1..=3 => ErrorControl::Fast,
        _ => ErrorControl::Full,
    };
    config.flow_control = match dice.below(12) {
        0 => FlowControl::None,
        1..=2 => FlowControl::Reservation,
        _ => FlowControl::Window,
    };
    config.priority = dice.one_in(4).then(|| u16::try_from(dice.below(1 << 16)).unwrap_or(0));
    if dice.one_in(2) {
        // The user says so instead.
        let quality = &mut end.quality;
        quality.check = Some(core::mem::replace(&mut config.check, dice.one_in(2)));
        let errors = core::mem::replace(&mut config.error_control, ErrorControl::Full);
        quality.error_control = Some(errors);
    }
}

fn asking(dice: &mut CaseRng, config: &mut Config) {
    if dice.one_in(3) {
        config.recovery = Recovery::GoBack;
    }
    if dice.one_in(2) {
        config.reordering = dice.narrow(1, 16) - 1;
        config.edge = dice.one_in(2);
        config.tail = dice.time(us(10), ms(200));
    }
    if dice.one_in(3) {
        config.congestion = congestion::Kind::Off;
    }
    if dice.one_in(3) {
        config.rtt.algorithm = rtt::Algorithm::Paper;
    }
    if dice.one_in(3) {
        config.rtt = rtt::Config {
            per_rtt: dice.spread(1, 16),
            floor: dice.time(us(1), ms(100)),
            octets: dice.spread(1, 1 << 20),
            fresh: dice.time(ms(1), s(2)),
            initial: dice.time(ms(100), s(4)),
            minimum: dice.time(ms(10), s(2)),
            maximum: dice.time(s(4), s(60)),
            ..config.rtt
        };
    }
}

fn timers(dice: &mut CaseRng, config: &mut Config) {
    if dice.one_in(3) {
        config.ctimer = dice.time(s(1), s(100));
    }
    match dice.below(16) {
        0 => config.ctimeout = Duration::ZERO,
        1..=4 => config.ctimeout = dice.time(s(30), s(240)),
        _ => {}
    }
    if dice.one_in(8) {
        config.stall = dice.time(s(1), s(300));
    }
    if dice.one_in(4) {
        config.closed_timeout = dice.time(s(10), s(240));
    }
}

fn rates(dice: &mut CaseRng, end: &mut End, config: &mut Config) {
    let mut limit = |rare| {
        dice.one_in(rare).then(|| {
            let rate = dice.narrow(1_000, 100_000_000);
            // A burst takes ten seconds at the most.
            let burst = dice.narrow(256, 1 << 16).min(rate.saturating_mul(10));
            (rate, burst)
        })
    };
    if let Some((octets_per_second, burst)) = limit(6) {
        end.quality.rate = Some(RateLimit { octets_per_second, burst });
    }
    if let Some(rate) = limit(12) {
        (config.rate, config.burst) = rate;
    }
    if let Some(rate) = limit(12) {
        (config.in_rate, config.in_burst) = rate;
    }
    if let Some(rate) = limit(16) {
        (config.total_rate, config.total_burst) = rate;
    }
}

/// How much goes to a caller that may be another: as by default in most cases.
fn strangers(dice: &mut CaseRng, config: &mut Config) {
    config.amplification = match dice.below(8) {
        0 => 0,
        1 => dice.narrow(1, 8),
        _ => config.amplification,
    };
}

/// The most octets of data in a packet, or a little less.
pub(super) fn packet(from: &End, to: &End) -> u32 {
    let most = |end: &End| {
        let told = end.xtp.as_ref().and_then(|it| it.maxdata);
        (end.mtu.saturating_sub(40 + 32)).min(told.unwrap_or(u32::MAX))
    };
    most(from).min(most(to)).max(100)
}

/// The most octets that a transfer of this direction has.
pub(super) fn most(from: &End, to: &End, packet: u64) -> u64 {
    let (Some(own), Some(peer)) = (&from.xtp, &to.xtp) else {
        return u64::MAX;
    };
    let asked = from.quality.rate.map_or(0, |it| it.octets_per_second);
    let rates = [asked, own.rate, own.total_rate, peer.in_rate];
    let limit = rates.into_iter().filter(|rate| *rate > 0).min();
    let limit = limit.map_or(u64::MAX, |rate| u64::from(rate) * MOST_SECONDS);
    let control = if own.congestion == congestion::Kind::Off { 500 * packet } else { u64::MAX };
    limit.min(control)
}

/// Messages and tags.
pub(super) fn programs(seed: u64, ends: [&mut End; 2]) {
    for (number, end) in (0..).zip(ends) {
        let dice = &mut CaseRng::new(seed, FIRST + 2 + number);
        end.writing.urgent = None;
        end.writing.messages = !dice.one_in(3);
        end.writing.tagged = dice.one_in(2).then(|| dice.narrow(1, 8));
        if end.sends_without_error_control() {
            let writing = &mut end.writing;
            writing.messages = true;
            writing.tagged = Some(1);
            writing.total = writing.total.min(2_000 * SMALL);
            writing.piece = (dice.spread(1, SMALL), SMALL);
            writing.piece.0 = writing.piece.0.max(writing.total / 4_000).max(1);
        }
        if let Some((every, _)) = &mut end.writing.pause {
            let writes = end.writing.total / end.writing.piece.1.max(1);
            *every = u32::try_from(writes / 200).unwrap_or(u32::MAX).max(*every);
        }
    }
}
