//! The hosts: what their TCP can be set to.

use kumiki_graph::{Coalesce, Duration, Quality};
use kumiki_inet::tcp::config::{
    AckRule, AckTimer, Beat, EdgeRule, HalfWindow, LossDetection, RateReduction, Rounding, WindowUpdate,
};
use kumiki_inet::tcp::congestion::{Algorithm, InitialWindow};
use kumiki_inet::tcp::{self, defaults, rtt};
use kumiki_wire::inet::EcnUse;

use super::case_rng::{CaseRng, ms, s, us};
use super::{End, Finish, Opening, Reading, Writing};

pub(super) fn end(seed: u64, number: u64) -> End {
    let dice = &mut CaseRng::new(seed, 1 + number);
    let (profile, mut tcp) = match dice.below(10) {
        0..=5 => ("modern", defaults::modern()),
        6..=7 => ("bsd43", defaults::bsd43()),
        _ => ("solaris23", defaults::solaris23()),
    };
    if dice.one_in(2) {
        (tcp.timestamps, tcp.sack, tcp.window_scaling) = (dice.one_in(2), dice.one_in(2), dice.one_in(2));
    }
    if dice.one_in(2) {
        tcp.send_buffer = buffer(dice);
    }
    if dice.one_in(2) {
        tcp.receive_buffer = buffer(dice);
    }
    if dice.one_in(3) {
        sending(dice, &mut tcp);
    }
    // Draws of its own, so that another way to recover changes nothing else of a seed.
    recovery(&mut CaseRng::new(seed, 3 + number), &mut tcp);
    // As before.
    marks(&mut CaseRng::new(seed, 20 + number), &mut tcp);
    if dice.one_in(3) {
        acknowledging(dice, &mut tcp);
    }
    if dice.one_in(3) {
        timing(dice, &mut tcp);
    }
    let mut quality = Quality::default();
    if dice.one_in(8) {
        quality.send_buffer = Some(buffer(dice));
    }
    if dice.one_in(8) {
        quality.receive_buffer = Some(buffer(dice));
    }
    if dice.one_in(2) {
        let rules = [Coalesce::Never, Coalesce::Nagle, Coalesce::Minshall];
        quality.coalesce = Some(dice.pick(&rules, Coalesce::Nagle));
    }
    let mtu = match dice.below(12) {
        0 => 68,
        1 => 65_527,
        2 => dice.narrow(68, 65_527),
        3 => 296,
        4 => 576,
        5 => 4_352,
        6..=7 => 9_180,
        _ => 1_500,
    };
    if dice.one_in(4) {
        tcp.mss = u16::try_from(dice.narrow(28, 9_140)).ok();
    }
    End {
        profile,
        tcp,
        xtp: None,
        quality,
        mtu,
        batch: if dice.one_in(4) { usize::try_from(dice.uniform(2, 8)).unwrap_or(1) } else { 1 },
        clusters: None,
        opening: Opening::Listens {
            after: if dice.one_in(16) { dice.time(us(1), s(10)) } else { Duration::ZERO },
            accepts_after: if dice.one_in(5) { dice.time(us(1), s(5)) } else { Duration::ZERO },
            refuses: dice.one_in(64),
            stays: dice.one_in(2),
        },
        by_gateway: false,
        strangers: None,
        writing: Writing {
            total: 0,
            piece: (1, 1),
            pause: None,
            urgent: None,
            messages: true,
            tagged: None,
            stored: false,
        },
        reading: Reading::AtOnce,
        finish: Finish::Written,
        abort: None,
    }
}

/// A tiny, an ordinary or a huge buffer.
pub(super) fn buffer(dice: &mut CaseRng) -> u32 {
    match dice.below(8) {
        0 => dice.narrow(1, 512),
        1 => dice.narrow(1 << 20, 64 << 20),
        _ => dice.narrow(512, 1 << 20),
    }
}

fn sending(dice: &mut CaseRng, tcp: &mut tcp::Config) {
    let controls = [Algorithm::NewReno, Algorithm::Cubic, Algorithm::Fixed];
    tcp.congestion = dice.pick(&controls, Algorithm::NewReno);
    let segments = dice.narrow(1, 16);
    let windows = [InitialWindow::Rfc6928, InitialWindow::Rfc3390, InitialWindow::Segments(segments)];
    tcp.initial_window = dice.pick(&windows, InitialWindow::Rfc6928);
    tcp.slow_start_limit = dice.narrow(1, 8);
    tcp.slow_start_after_idle = dice.one_in(2);
    tcp.duplicate_threshold = u32::try_from(dice.below(6)).unwrap_or(3);
    tcp.new_reno = dice.one_in(2);
    tcp.limited_transmit = dice.one_in(2);
    let halves = [HalfWindow::Off, HalfWindow::Rfc, HalfWindow::Always];
    tcp.half_window = dice.pick(&halves, HalfWindow::Rfc);
    // RFC 9293 section 3.8.6.2.1: 0.1 to 1 s.
    tcp.override_timeout = dice.time(ms(100), s(1));
    tcp.send_granularity = if dice.one_in(2) { 0 } else { dice.narrow(64, 8_192) };
    tcp.low_water = dice.narrow(1, 16_384);
}

fn recovery(dice: &mut CaseRng, tcp: &mut tcp::Config) {
    if !dice.one_in(2) {
        return;
    }
    let detections = [LossDetection::Sack, LossDetection::Rack];
    tcp.loss_detection = dice.pick(&detections, LossDetection::Rack);
    let reductions = [RateReduction::AtOnce, RateReduction::Prr, RateReduction::PrrCrb, RateReduction::PrrSsrb];
    tcp.rate_reduction = dice.pick(&reductions, RateReduction::Prr);
    tcp.tail_loss_probe = dice.one_in(2);
    tcp.undo = dice.one_in(2);
    tcp.f_rto = dice.one_in(2);
    tcp.adapt_to_reordering = dice.one_in(2);
    tcp.hystart = dice.one_in(2);
    tcp.pacing = dice.one_in(2);
}

fn marks(dice: &mut CaseRng, tcp: &mut tcp::Config) {
    if dice.one_in(3) {
        return;
    }
    let uses = [EcnUse::Off, EcnUse::Passive, EcnUse::Classic, EcnUse::Accurate, EcnUse::Accurate];
    tcp.ecn = dice.pick(&uses, EcnUse::Classic);
    tcp.abe = dice.one_in(4);
}

fn acknowledging(dice: &mut CaseRng, tcp: &mut tcp::Config) {
    let roundings = [Rounding::Exact, Rounding::Up, Rounding::Down];
    tcp.rounding = dice.pick(&roundings, Rounding::Exact);
    tcp.window_update = WindowUpdate {
        segments: u32::try_from(dice.below(4)).unwrap_or(2),
        percent: u32::try_from(dice.uniform(10, 60)).unwrap_or(50),
    };
    tcp.edge = dice.pick(&[EdgeRule::Rfc, EdgeRule::Bsd], EdgeRule::Rfc);
    tcp.ack = AckRule { every: u32::try_from(dice.below(5)).unwrap_or(2), count_small: dice.one_in(2), pushed: false };
    // MUST-40: less than half a second.
    tcp.ack_timer = if dice.one_in(2) {
        AckTimer::Timeout(dice.time(ms(1), ms(490)))
    } else {
        AckTimer::Heartbeat(Beat { period: dice.time(ms(1), ms(490)), phase: None })
    };
}

fn timing(dice: &mut CaseRng, tcp: &mut tcp::Config) {
    let rtos = [
        rtt::Config::LINUX,
        rtt::Config::RFC6298,
        rtt::Config::BSD,
        rtt::Config { maximum: Duration::from_secs(60), ..rtt::Config::LINUX },
    ];
    tcp.rto = dice.pick(&rtos, rtt::Config::LINUX);
    tcp.slow_beat = dice.one_in(3).then(|| Beat { period: dice.time(ms(10), ms(500)), phase: None });
    tcp.max_retransmissions = u32::try_from(dice.uniform(8, 15)).unwrap_or(15);
    tcp.syn_retries = u32::try_from(dice.uniform(3, 8)).unwrap_or(7);
    tcp.user_timeout = dice.one_in(8).then(|| dice.time(s(10), s(600)));
    tcp.time_wait = dice.time(s(1), s(240));
}
