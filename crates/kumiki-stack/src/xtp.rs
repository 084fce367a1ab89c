//! The settings of XTP.

use kumiki_graph::{Duration, ErrorControl, FlowControl};

use super::kinds::Built;
use super::reader::Reader;
use super::{BuildError, Place};
use kumiki_xtp::congestion::Kind;
use kumiki_xtp::rtt::Algorithm;
use kumiki_xtp::{Config, Recovery, Xtp};

/// The words for what is done about lost data.
const ERROR_CONTROL: [(&str, ErrorControl); 3] =
    [("full", ErrorControl::Full), ("fast", ErrorControl::Fast), ("none", ErrorControl::None)];

/// The words for what keeps a sender from sending too much.
const FLOW_CONTROL: [(&str, FlowControl); 3] =
    [("window", FlowControl::Window), ("reservation", FlowControl::Reservation), ("none", FlowControl::None)];

/// The largest window.
const MAX_WINDOW: u64 = 1 << 30;
const ANY: u64 = u32::MAX as u64;
const SOME: Duration = Duration::from_nanos(1);

type Read = Result<(), BuildError>;

pub(super) fn make(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = Config::default();
    sizes(settings, &mut config)?;
    control(settings, &mut config)?;
    measuring(settings, &mut config)?;
    timing(settings, &mut config)?;
    groups(settings, &mut config)?;
    rates(settings, &mut config)?;
    bounds(settings, &mut config)?;
    settings.number("ttl", "IP time to live; 0: IP's default", 0..=255, &mut config.ttl)?;
    settings.number("tos", "IP type of service octet, its ECN field 0", 0..=255, &mut config.tos)?;
    Ok(Box::new(Xtp::new(config)))
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
        "receive buffer, where the user does not ask for one: what `alloc` allows",
        1..=MAX_WINDOW,
        &mut config.receive_buffer,
    )?;
    settings.octets(
        "low_water",
        "the user may write again only when so much of the send buffer is free",
        0..=MAX_WINDOW,
        &mut config.low_water,
    )?;
    settings.maybe_octets(
        "maxdata",
        "the most octets of tag and data in a packet",
        1..=65_535,
        &mut config.maxdata,
        "what the layer below carries",
    )?;
    settings.octets(
        "first_alloc",
        "what may be sent before the peer has said what it allows",
        1..=MAX_WINDOW,
        &mut config.first_alloc,
    )
}

fn control(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.boolean(
        "check",
        "whether the checksum covers the data, and not the header alone (NOCHECK), where the user does not say",
        &mut config.check,
    )?;
    settings.word(
        "error_control",
        "what is done about lost data, where the user does not say: it is sent again, and told of when asked (full) or at once (fast, FASTNAK); or nothing (none, NOERR)",
        &ERROR_CONTROL,
        &mut config.error_control,
    )?;
    settings.word(
        "flow_control",
        "what keeps a sender from sending too much, where the user does not say: the buffer's room, what the user has granted (reservation, RES), or nothing (none, NOFLOW)",
        &FLOW_CONTROL,
        &mut config.flow_control,
    )?;
    settings.maybe_number(
        "priority",
        "the priority where the user does not say; the smaller goes first (SORT)",
        0..=65_535,
        &mut config.priority,
        "none",
    )?;
    let words = [("go-back", Recovery::GoBack), ("selective", Recovery::Selective)];
    settings.word(
        "recovery",
        "what is sent again: all from the first loss on, or what is missing",
        &words,
        &mut config.recovery,
    )?;
    settings.number(
        "reordering",
        "so many packets may overtake another before it is taken for lost",
        0..=1_000_000,
        &mut config.reordering,
    )?;
    settings.boolean(
        "edge",
        "whether EDGE changes with each question, so that a lost question is answered with the next packet",
        &mut config.edge,
    )?;
    let words = [Kind::Off, Kind::Matched].map(|kind| (kind.name(), kind));
    settings.word("congestion", "the congestion avoidance, with its version", &words, &mut config.congestion)
}

fn measuring(settings: &Reader<'_>, config: &mut Config) -> Read {
    let config = &mut config.rtt;
    settings.table("rtt", |table| {
        let words = [Algorithm::Paper, Algorithm::Mended].map(|it| (it.name(), it));
        table.word(
            "algorithm",
            "when the round trip is measured: as paper 3 does, or not more often than is worth it",
            &words,
            &mut config.algorithm,
        )?;
        table.number("per_rtt", "mended: so many questions in a round trip", 1..=1000, &mut config.per_rtt)?;
        table.time("floor", "mended: the least time between two questions", Duration::ZERO, &mut config.floor)?;
        table.octets(
            "octets",
            "mended: the fewest octets between two questions",
            0..=MAX_WINDOW,
            &mut config.octets,
        )?;
        table.time(
            "fresh",
            "mended: after this, or after a longer round trip, a question is due whatever was sent",
            SOME,
            &mut config.fresh,
        )
    })?;
    settings.table("wtimer", |table| {
        table.time("initial", "WTIMER before the first measurement", SOME, &mut config.initial)?;
        table.time("minimum", "WTIMER is never below this", SOME, &mut config.minimum)?;
        table.time("maximum", "WTIMER is never above this, nor is its back-off", SOME, &mut config.maximum)
    })
}

fn timing(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.time(
        "tail",
        "how long after the last packet a question follows, where nothing more is to be sent; an eighth of the round trip where that is longer",
        Duration::ZERO,
        &mut config.tail,
    )?;
    settings.time(
        "ctimer",
        "a peer that was not heard of for so long is asked; 0 s: never",
        Duration::ZERO,
        &mut config.ctimer,
    )?;
    settings.time(
        "ctimeout",
        "a peer that has answered nothing for so long is given up; 0 s: never",
        Duration::ZERO,
        &mut config.ctimeout,
    )?;
    settings.time(
        "stall",
        "a peer that answers but allows nothing for so long is given up; 0 s: never",
        Duration::ZERO,
        &mut config.stall,
    )?;
    settings.time("hold", "how long a context that is over still answers", Duration::ZERO, &mut config.hold)
}

fn groups(settings: &Reader<'_>, config: &mut Config) -> Read {
    let own = settings.text(
        "address",
        "our own address, where the layer below does not tell it and the user leaves it open",
        "an IP address",
        "none",
        |text| text.parse().ok(),
    )?;
    config.address = own.unwrap_or(config.address);
    settings.number("receivers", "the most receivers of what is sent to a group", 1..=65_536, &mut config.receivers)?;
    settings.number(
        "least_receivers",
        "while fewer receive what is sent to a group, only calls are sent; with 0 it is sent to whoever hears it",
        0..=65_536,
        &mut config.least_receivers,
    )?;
    settings.number(
        "receiver_tries",
        "a receiver that has not answered so many handshakes is given up; so often one asks again to join",
        1..=100,
        &mut config.receiver_tries,
    )?;
    settings.time(
        "slot",
        "the time over which receivers of a group spread their answers; 0 s: they answer at once",
        Duration::ZERO,
        &mut config.slot,
    )
}

fn rates(settings: &Reader<'_>, config: &mut Config) -> Read {
    for (key, meaning, place) in [
        (
            "rate",
            "octets a second that a context sends at most, where the user does not say; 0: no limit",
            &mut config.rate,
        ),
        ("burst", "octets of that which may go at once; 0: no limit", &mut config.burst),
        (
            "in_rate",
            "octets a second that the peer may send, as the traffic segment tells it; 0: no limit",
            &mut config.in_rate,
        ),
        ("in_burst", "octets of that which may come at once; 0: no limit", &mut config.in_burst),
        ("total_rate", "octets a second that all contexts send together; 0: no limit", &mut config.total_rate),
        ("total_burst", "octets of that which may go at once; 0: no limit", &mut config.total_burst),
    ] {
        settings.number(key, meaning, 0..=ANY, place)?;
    }
    Ok(())
}

fn bounds(settings: &Reader<'_>, config: &mut Config) -> Read {
    settings.number(
        "max_contexts",
        "contexts at a time, those that are over not among them",
        1..=1 << 20,
        &mut config.max_contexts,
    )?;
    settings.octets(
        "memory",
        "what all contexts together may hold, about: beyond it each may write 4 KiB, and from a quarter more on callers are not heard and what comes is dropped; data ahead of its turn has a quarter of it; 0 B: no bound",
        0..=1 << 50,
        &mut config.memory,
    )?;
    settings.number(
        "max_held",
        "contexts that are over and still answer; beyond that the oldest is forgotten",
        0..=1 << 20,
        &mut config.max_held,
    )?;
    settings.number(
        "amplification",
        "a caller that has not shown that it hears us is sent at most so many times the octets that came from it; 0: no limit",
        0..=1_000_000,
        &mut config.amplification,
    )?;
    settings.table("diag", |table| {
        table.time(
            "interval",
            "the same key is sent a DIAG only once in this time",
            Duration::ZERO,
            &mut config.diag_interval,
        )?;
        table.number("rate", "DIAG packets that are sent in a second", 0..=1_000_000, &mut config.diag_rate)
    })
}
