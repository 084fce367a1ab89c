//! The settings of TCP.

use kumiki_graph::{Coalesce, Duration};
use kumiki_wire::inet::EcnUse;

use super::kinds::Built;
use super::reader::Reader;
use super::{BuildError, Place};
use kumiki_inet::tcp::config::{
    AckTimer, Beat, Config, EdgeRule, HalfWindow, LossDetection, PathMtu, RateReduction, Rounding, SynCookies,
};
use kumiki_inet::tcp::congestion::{Algorithm, InitialWindow};
use kumiki_inet::tcp::{Tcp, defaults, rtt};

/// The words for what to do with small segments.
pub const COALESCE: [(&str, Coalesce); 3] =
    [("never", Coalesce::Never), ("nagle", Coalesce::Nagle), ("minshall", Coalesce::Minshall)];

/// The words for what is done about explicit congestion notification.
const ECN: [(&str, EcnUse); 4] =
    [("off", EcnUse::Off), ("passive", EcnUse::Passive), ("classic", EcnUse::Classic), ("accurate", EcnUse::Accurate)];

/// The largest window (RFC 7323 section 2.3).
const MAX_WINDOW: u64 = 1 << 30;
const ANY: u64 = u32::MAX as u64;
const SOME: Duration = Duration::from_nanos(1);

type Read = Result<(), BuildError>;

pub(super) fn make(settings: &Reader<'_>, place: Place<'_>) -> Built {
    let mut profile = "modern";
    let names = defaults::NAMES.map(|name| (name, name));
    settings.word("defaults", "the profile that all other settings have their defaults from", &names, &mut profile)?;
    let mut config = defaults::named(profile).unwrap_or_else(defaults::modern);
    sizes(settings, &mut config)?;
    options(settings, &mut config)?;
    congestion(settings, &mut config)?;
    sending(settings, &mut config)?;
    window(settings, &mut config)?;
    acknowledging(settings, &mut config)?;
    timing(settings, &mut config)?;
    settings.boolean(
        "return_routes",
        "answer by the source route by which a peer's segments came (RFC 9293 section 3.9.2.1)",
        &mut config.return_routes,
    )?;
    settings.number("ttl", "IP time to live; 0: IP's default", 0..=255, &mut config.ttl)?;
    settings.number("tos", "IP type of service octet; its ECN field is TCP's own", 0..=255, &mut config.tos)?;
    settings.boolean("trace", "keep a trace of every connection", &mut config.trace)?;
    check(settings, &config, place)?;
    Ok(Box::new(Tcp::new(config)))
}

fn sizes(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.octets(
        "send_buffer",
        "send buffer, where the user does not ask for one",
        1..=MAX_WINDOW,
        &mut config.send_buffer,
    )?;
    settings.octets(
        "receive_buffer",
        "receive buffer, where the user does not ask for one",
        1..=MAX_WINDOW,
        &mut config.receive_buffer,
    )?;
    settings.octets(
        "send_buffer_most",
        "what that grows to by itself, with the congestion window; up to `send_buffer`: not at all",
        0..=MAX_WINDOW,
        &mut config.send_buffer_most,
    )?;
    settings.octets(
        "receive_buffer_most",
        "what the receive buffer grows to by itself, with what the user takes in a round trip; up to `receive_buffer`: not at all",
        0..=MAX_WINDOW,
        &mut config.receive_buffer_most,
    )?;
    settings.octets(
        "memory",
        "what all connections together may hold, about: from half of it on no buffer grows, beyond it each has 4 KiB, and from a quarter more on what comes is dropped; text ahead of its turn has a quarter of it; 0 B: no bound",
        0..=1 << 50,
        &mut config.memory,
    )?;
    settings.octets(
        "low_water",
        "the user may write again only when so much of the send buffer is free",
        0..=MAX_WINDOW,
        &mut config.low_water,
    )?;
    settings.octets(
        "send_granularity",
        "data comes from the socket layer in pieces of this size, and TCP may send after each; 0 B: whole",
        0..=MAX_WINDOW,
        &mut config.send_granularity,
    )?;
    settings.maybe_octets(
        "mss",
        "most data in a segment, both ways (RFC 9293 section 3.7.1)",
        1..=65535,
        &mut config.mss,
        "what IP carries",
    )?;
    settings.octets(
        "default_mss",
        "the peer's MSS where it does not say, over IPv4",
        1..=65535,
        &mut config.default_mss,
    )?;
    settings.octets(
        "default_mss_ipv6",
        "the peer's MSS where it does not say, over IPv6",
        1..=65535,
        &mut config.default_mss_ipv6,
    )?;
    path_mtu(settings, config)
}

fn path_mtu(settings: &Reader<'_>, config: &mut Config) -> Read {
    let ways = [
        ("off", PathMtu::Off),
        ("icmp", PathMtu::Icmp),
        ("probe-on-black-hole", PathMtu::ProbeOnBlackHole),
        ("probe", PathMtu::Probe),
    ];
    settings.word(
        "path_mtu",
        "how the path's MTU is found out: not (datagrams may be fragmented), by ICMP (RFC 1191, RFC 8201), also by probes where nothing long arrives, by probes from the start (RFC 4821)",
        &ways,
        &mut config.path_mtu,
    )?;
    settings.octets(
        "path_mtu_least",
        "neither ICMP nor black holes make packets smaller than this; over IPv6 than 1280 B",
        68..=65535,
        &mut config.path_mtu_least,
    )?;
    settings.octets(
        "path_mtu_base",
        "packets of this size are taken to arrive where longer ones may not (BASE_PLPMTU of RFC 8899); over IPv6 at least 1280 B",
        68..=65535,
        &mut config.path_mtu_base,
    )?;
    settings.time(
        "path_mtu_raise",
        "how long a path is taken to carry no more than was found out",
        Duration::from_secs(300),
        &mut config.path_mtu_raise,
    )
}

fn options(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.boolean("timestamps", "offer and use timestamps (RFC 7323)", &mut config.timestamps)?;
    settings.boolean("window_scaling", "offer and use window scaling (RFC 7323)", &mut config.window_scaling)?;
    settings.boolean("sack", "offer and use selective acknowledgments (RFC 2018)", &mut config.sack)
}

fn congestion(settings: &Reader<'_>, config: &mut Config) -> Read {
    let algorithms = [("newreno", Algorithm::NewReno), ("cubic", Algorithm::Cubic), ("fixed", Algorithm::Fixed)];
    settings.word("congestion", "congestion control; fixed: none", &algorithms, &mut config.congestion)?;
    let windows = [("rfc3390", InitialWindow::Rfc3390), ("rfc6928", InitialWindow::Rfc6928)];
    settings.word("initial_window", "the congestion window at first", &windows, &mut config.initial_window)?;
    let mut segments = match config.initial_window {
        InitialWindow::Segments(segments) => segments,
        InitialWindow::Rfc3390 | InitialWindow::Rfc6928 => 0,
    };
    settings.number(
        "initial_window_segments",
        "the congestion window at first, in segments; 0: as `initial_window` says",
        0..=65535,
        &mut segments,
    )?;
    match config.initial_window {
        _ if segments > 0 => config.initial_window = InitialWindow::Segments(segments),
        InitialWindow::Segments(_) => {
            let expected = "at least 1 where there is no `initial_window`";
            return Err(settings.wrong("initial_window_segments", &segments, expected));
        }
        InitialWindow::Rfc3390 | InitialWindow::Rfc6928 => {}
    }
    settings.number(
        "slow_start_limit",
        "most segments that one acknowledgment adds in slow start (L of RFC 3465)",
        1..=ANY,
        &mut config.slow_start_limit,
    )?;
    settings.word(
        "ecn",
        "congestion marks: ignore them, agree to heed them, or ask for it with classic (RFC 3168) or accurate feedback (RFC 9768)",
        &ECN,
        &mut config.ecn,
    )?;
    settings.boolean(
        "hystart",
        "leave the first slow start when round trips grow longer (HyStart++, RFC 9406)",
        &mut config.hystart,
    )?;
    settings.boolean(
        "abe",
        "answer a congestion mark in congestion avoidance with less than a loss (RFC 8511)",
        &mut config.abe,
    )?;
    settings.boolean(
        "pacing",
        "send at a rate of 1.2 times the window per round trip (2 in slow start), and not in bursts",
        &mut config.pacing,
    )?;
    settings.boolean(
        "slow_start_after_idle",
        "begin anew with the initial window after an idle time (RFC 5681 section 4.1)",
        &mut config.slow_start_after_idle,
    )?;
    recovery(settings, config)
}

fn recovery(settings: &Reader<'_>, config: &mut Config) -> Read {
    let detections = [("rack", LossDetection::Rack), ("sack", LossDetection::Sack)];
    settings.word(
        "loss_detection",
        "what tells of losses where SACK was negotiated: time (RFC 8985), or what was SACKed above (RFC 6675)",
        &detections,
        &mut config.loss_detection,
    )?;
    settings.boolean(
        "tail_loss_probe",
        "probe for losses at the tail before the retransmission time-out (RFC 8985 section 7); only with `rack`",
        &mut config.tail_loss_probe,
    )?;
    settings.time(
        "max_ack_delay",
        "how long the peer may hold back the acknowledgment of a single segment, for tail loss probes",
        Duration::ZERO,
        &mut config.max_ack_delay,
    )?;
    let reductions = [
        ("at_once", RateReduction::AtOnce),
        ("prr", RateReduction::Prr),
        ("prr_crb", RateReduction::PrrCrb),
        ("prr_ssrb", RateReduction::PrrSsrb),
    ];
    settings.word(
        "rate_reduction",
        "how the window shrinks in fast recovery with SACK: at once (RFC 6675), or in proportion (RFC 9937, RFC 6937)",
        &reductions,
        &mut config.rate_reduction,
    )?;
    settings.boolean(
        "undo",
        "undo a recovery that turns out to have been for nothing (RFC 3522, RFC 3708, RFC 4015)",
        &mut config.undo,
    )?;
    settings.boolean(
        "f_rto",
        "after a time-out, find out with new data whether it was for nothing (RFC 5682); needs `undo`",
        &mut config.f_rto,
    )?;
    settings.boolean(
        "adapt_to_reordering",
        "without RACK, wait for more duplicate acknowledgments once reordering was seen",
        &mut config.adapt_to_reordering,
    )?;
    settings.number(
        "duplicate_threshold",
        "duplicate acknowledgments that mean a loss; 0: no fast retransmit",
        0..=ANY,
        &mut config.duplicate_threshold,
    )?;
    settings.boolean("new_reno", "recovery goes on at partial acknowledgments (RFC 6582)", &mut config.new_reno)?;
    settings.boolean(
        "limited_transmit",
        "send new data at the first duplicate acknowledgments (RFC 3042)",
        &mut config.limited_transmit,
    )
}

fn sending(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.word(
        "coalesce",
        "what to do with small segments while data is unacknowledged, where the user does not say",
        &COALESCE,
        &mut config.coalesce,
    )?;
    let rules = [("off", HalfWindow::Off), ("rfc", HalfWindow::Rfc), ("always", HalfWindow::Always)];
    settings.word(
        "half_window",
        "whether half of the largest window seen may go though it is no full segment",
        &rules,
        &mut config.half_window,
    )?;
    settings.time(
        "override_timeout",
        "how long sender silly window avoidance may hold data back",
        SOME,
        &mut config.override_timeout,
    )
}

fn window(settings: &Reader<'_>, config: &mut Config) -> Read {
    let roundings = [("exact", Rounding::Exact), ("up", Rounding::Up), ("down", Rounding::Down)];
    settings.word(
        "rounding",
        "how the receive buffer becomes the window: as it is, or a multiple of the MSS",
        &roundings,
        &mut config.rounding,
    )?;
    let edges = [("rfc", EdgeRule::Rfc), ("bsd", EdgeRule::Bsd)];
    settings.word(
        "edge",
        "when the window's right edge moves in a segment that is sent anyway",
        &edges,
        &mut config.edge,
    )?;
    settings.table("window_update", |table| {
        table.number(
            "segments",
            "a segment is sent only to move the window's right edge by so many full segments; 0: off",
            0..=ANY,
            &mut config.window_update.segments,
        )?;
        table.number(
            "percent",
            "or by so many per cent of the receive buffer; 0: off",
            0..=100,
            &mut config.window_update.percent,
        )
    })
}

fn acknowledging(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.table("ack", |table| {
        table.number(
            "every",
            "acknowledge at once after so many segments; 0: not by count",
            0..=ANY,
            &mut config.ack.every,
        )?;
        table.boolean("count_small", "whether segments that are not full count", &mut config.ack.count_small)?;
        table.boolean(
            "pushed",
            "whether a segment that is not full and was pushed is acknowledged at once",
            &mut config.ack.pushed,
        )
    })?;
    let (mut delay, mut beat, mut phase) = match config.ack_timer {
        AckTimer::Timeout(delay) => (Some(delay), None, None),
        AckTimer::Heartbeat(Beat { period, phase }) => (None, Some(period), phase),
    };
    let (delay_key, beat_key) = ("delayed_ack", "delayed_ack_heartbeat");
    settings.maybe_time(
        delay_key,
        "an acknowledgment is held back at most so long",
        Duration::ZERO,
        &mut delay,
        "none",
    )?;
    settings.maybe_time(beat_key, "or until the next beat of a clock with this period", SOME, &mut beat, "none")?;
    settings.maybe_time("delayed_ack_phase", "when that clock first beats", Duration::ZERO, &mut phase, "random")?;
    let given = |key| settings.peek(key);
    if let (Some(found), Some(_)) = (given(delay_key), given(beat_key)) {
        return Err(settings.wrong(delay_key, found, "left out where there is a `delayed_ack_heartbeat`"));
    }
    config.ack_timer = match (delay, beat) {
        (Some(delay), None) => AckTimer::Timeout(delay),
        (Some(delay), Some(_)) if given(delay_key).is_some() => AckTimer::Timeout(delay),
        (_, Some(period)) => AckTimer::Heartbeat(Beat { period, phase }),
        (None, None) => config.ack_timer,
    };
    Ok(())
}

fn timing(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.table("rto", |table| rto(table, &mut config.rto))?;
    let mut period = config.slow_beat.map(|beat| beat.period).unwrap_or_default();
    let mut phase = config.slow_beat.and_then(|beat| beat.phase);
    settings.time(
        "slow_beat",
        "the retransmission, persist and TIME-WAIT timers expire on beats of this period; 0 s: when due",
        Duration::ZERO,
        &mut period,
    )?;
    settings.maybe_time("slow_beat_phase", "when that clock first beats", Duration::ZERO, &mut phase, "random")?;
    config.slow_beat = (!period.is_zero()).then_some(Beat { period, phase });
    settings.number(
        "advise_after",
        "retransmissions of one segment after which IP and the user are told that there is no answer (R1)",
        1..=ANY,
        &mut config.advise_after,
    )?;
    settings.number(
        "max_retransmissions",
        "retransmissions of one segment after which a connection is given up, where there is no `user_timeout` (R2)",
        0..=ANY,
        &mut config.max_retransmissions,
    )?;
    settings.number("syn_retries", "the same for SYN segments", 0..=ANY, &mut config.syn_retries)?;
    settings.maybe_time(
        "user_timeout",
        "how long nothing may be acknowledged before a connection is given up",
        SOME,
        &mut config.user_timeout,
        "as `max_retransmissions` says",
    )?;
    failures(settings, config)?;
    settings.number("half_open", "callers that may be in the handshake at one time", 1..=ANY, &mut config.half_open)?;
    let cookies = [("never", SynCookies::Never), ("when-full", SynCookies::WhenFull), ("always", SynCookies::Always)];
    settings.word(
        "syn_cookies",
        "when a call is answered without keeping anything of it (RFC 4987); when-full: where there are `half_open`",
        &cookies,
        &mut config.syn_cookies,
    )?;
    settings.time(
        "challenge_interval",
        "one connection answers segments that cannot be only so often (RFC 5961 section 7)",
        Duration::ZERO,
        &mut config.challenge_interval,
    )?;
    settings.number(
        "challenge_limit",
        "and all connections together about so many times a second; 0: as often as each may",
        0..=ANY,
        &mut config.challenge_limit,
    )?;
    settings.number(
        "time_waits",
        "connections that may be in TIME-WAIT at one time; of more the oldest is forgotten",
        0..=ANY,
        &mut config.time_waits,
    )?;
    settings.time(
        "time_wait",
        "how long a connection stays in TIME-WAIT (2 MSL)",
        Duration::ZERO,
        &mut config.time_wait,
    )?;
    settings.time(
        "fin_wait_2",
        "how long a connection whose user has closed both ways waits in FIN-WAIT-2; zero: for ever (RFC 9293)",
        Duration::ZERO,
        &mut config.fin_wait_2,
    )
}

fn failures(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.boolean(
        "user_timeout_option",
        "tell the peer the `user_timeout`, and heed what it tells (RFC 5482)",
        &mut config.user_timeout_option,
    )?;
    settings.time(
        "user_timeout_least",
        "what a peer tells cannot make it shorter than this",
        SOME,
        &mut config.user_timeout_least,
    )?;
    settings.time(
        "user_timeout_most",
        "what a peer tells cannot make it longer than this",
        SOME,
        &mut config.user_timeout_most,
    )?;
    settings.boolean(
        "keep_alive",
        "ask idle peers whether they are still there, where the user does not say",
        &mut config.keep_alive,
    )?;
    settings.table("keep_alive_times", |table| {
        let times = &mut config.keep_alive_times;
        table.time("idle", "after so long without a word", SOME, &mut times.idle)?;
        table.time("interval", "again after so long without an answer", Duration::from_secs(1), &mut times.interval)?;
        table.number(
            "count",
            "questions without an answer after which a connection is given up",
            2..=ANY,
            &mut times.count,
        )
    })
}

fn rto(settings: &Reader<'_>, config: &mut rtt::Config) -> Read {
    settings.time("initial", "retransmission time-out before the first sample", SOME, &mut config.initial)?;
    settings.time("minimum", "it is never below this", SOME, &mut config.minimum)?;
    settings.time("maximum", "it is never above this, backed off or not", SOME, &mut config.maximum)?;
    settings.time(
        "granularity",
        "its variance term is never below this (G of RFC 6298)",
        Duration::ZERO,
        &mut config.granularity,
    )?;
    settings.time(
        "tick",
        "round-trip times are measured in ticks of this length; 0 s: exactly",
        Duration::ZERO,
        &mut config.tick,
    )?;
    if config.minimum > config.maximum {
        let expected = format!("at most the maximum of {}", config.maximum);
        return Err(settings.wrong("minimum", &config.minimum, &expected));
    }
    Ok(())
}

/// What no single setting shows.
fn check(settings: &Reader<'_>, config: &Config, place: Place<'_>) -> Read {
    // IP's and TCP's headers without options: RFC 6691.
    const HEADERS: u32 = 20 + 20;
    if let (Some(mss), Some(mtu)) = (config.mss, place.mtu) {
        let fits = mtu.saturating_sub(HEADERS);
        if u32::from(mss) > fits {
            let needed = u32::from(mss) + HEADERS;
            let expected = format!("at most {fits} B with IP's mtu of {mtu} B; {mss} B need an mtu of {needed} B");
            return Err(settings.wrong("mss", &format!("{mss} B"), &expected));
        }
    }
    Ok(())
}
