//! The settings of the OSI layers above a network, and of a board's interfaces.

use kumiki_graph::{Coalesce, Duration};
use kumiki_osi_service::ftam::FunctionalUnits as FileUnits;
use kumiki_osi_service::session::FunctionalUnits;

use super::kinds::Built;
use super::reader::Reader;
use super::{BuildError, Place};
use crate::lif::{self, Flow, Lif};
use kumiki_files::ftam::{self, Ftam};
use kumiki_files::mms::{self, Mms};
use kumiki_graph::loopback::{self, Loopback};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Network, Tp0};
use kumiki_osi::tpkt::{self, Tpkt};

const SOME: Duration = Duration::from_nanos(1);
const COALESCE: &[(&str, Coalesce)] =
    &[("never", Coalesce::Never), ("nagle", Coalesce::Nagle), ("minshall", Coalesce::Minshall)];
const NETWORKS: &[(&str, Network)] = &[("rfc1006", Network::Rfc1006), ("x25", Network::X25)];
const FLOWS: &[(&str, Flow)] = &[("credit", Flow::Credit), ("polling", Flow::Polling)];
/// The names of functional units in settings.
const UNITS: &[(&str, FunctionalUnits)] = &[
    ("half-duplex", FunctionalUnits::HALF_DUPLEX),
    ("duplex", FunctionalUnits::DUPLEX),
    ("typed-data", FunctionalUnits::TYPED_DATA),
    ("minor-synchronize", FunctionalUnits::MINOR_SYNCHRONIZE),
    ("resynchronize", FunctionalUnits::RESYNCHRONIZE),
];
/// The same of the file service.
const FILE_UNITS: &[(&str, FileUnits)] = &[
    ("read", FileUnits::READ),
    ("write", FileUnits::WRITE),
    ("file-access", FileUnits::FILE_ACCESS),
    ("limited-file-management", FileUnits::LIMITED_FILE_MANAGEMENT),
    ("enhanced-file-management", FileUnits::ENHANCED_FILE_MANAGEMENT),
    ("grouping", FileUnits::GROUPING),
    ("fadu-locking", FileUnits::FADU_LOCKING),
    ("recovery", FileUnits::RECOVERY),
    ("restart-data-transfer", FileUnits::RESTART_DATA_TRANSFER),
];

/// How many connections a layer keeps.
fn connections(settings: &Reader<'_>, most: &mut u32) -> Result<(), BuildError> {
    let range = 1..=1_000_000;
    settings.number("connections", "the most connections at a time", range, most)
}

/// How many associations a layer keeps.
fn associations(settings: &Reader<'_>, most: &mut u32) -> Result<(), BuildError> {
    let range = 1..=1_000_000;
    let meaning = "the most associations at a time";
    settings.number("associations", meaning, range, most)
}

pub(super) fn tpkt(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = tpkt::Config::default();
    settings.word(
        "coalesce",
        "what TCP does with small segments while data is unacknowledged",
        COALESCE,
        &mut config.coalesce,
    )?;
    settings.number(
        "receive",
        "how many messages a user may be handed before it has granted any",
        1..=1024,
        &mut config.receive,
    )?;
    Ok(Box::new(Tpkt::new(config)))
}

pub(super) fn tp0(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = tp0::Config::default();
    settings.word("network", "what is below: RFC 1006 on TCP, or X.25", NETWORKS, &mut config.network)?;
    settings.octets(
        "tpdu",
        "the TPDU size that is proposed and the largest that is taken: a power of two; above 2048 it is beyond the standard",
        128..=8192,
        &mut config.tpdu_size,
    )?;
    if !config.tpdu_size.is_power_of_two() {
        let expected = "a power of two from 128 B to 8192 B";
        return Err(settings.wrong("tpdu", &config.tpdu_size, expected));
    }
    settings.octets(
        "preferred_tpdu",
        "the size that is proposed beside it to peers that know X.224 of 1993: a multiple of 128; nothing where 0",
        0..=65_408,
        &mut config.preferred_size,
    )?;
    settings.number(
        "window",
        "how many TSDUs a user may hand over ahead of the network, and be handed before it has granted any",
        1..=1024,
        &mut config.window,
    )?;
    settings.octets("longest", "the longest TSDU that is taken", 1024..=1 << 30, &mut config.longest)?;
    settings.octets(
        "longest_first",
        "the longest TSDU that is taken before session says that its connection stands",
        1024..=1 << 30,
        &mut config.longest_first,
    )?;
    settings.time("patience", "how long an answer is waited for", SOME, &mut config.patience)?;
    connections(settings, &mut config.connections)?;
    Ok(Box::new(Tp0::new(config)))
}

pub(super) fn session(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = session::Config::default();
    let units = settings.texts(
        "functional_units",
        "what is proposed where the user says nothing, and the most that is agreed to; none: \"duplex\" alone",
        "names among \"half-duplex\", \"duplex\", \"typed-data\", \"minor-synchronize\", \"resynchronize\"",
        |text| UNITS.iter().find(|(name, _)| *name == text).map(|(_, unit)| *unit),
    )?;
    if !units.is_empty() {
        config.functional_units = units.into_iter().fold(FunctionalUnits::KERNEL, FunctionalUnits::or);
    }
    settings.time("patience", "how long the peer is waited for", SOME, &mut config.patience)?;
    settings.octets(
        "longest_connect",
        "the most octets of user data that a peer may send with CN",
        512..=1 << 24,
        &mut config.longest_connect,
    )?;
    connections(settings, &mut config.connections)?;
    Ok(Box::new(Session::new(config)))
}

pub(super) fn presentation(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = presentation::Config::default();
    settings.number(
        "contexts",
        "the most presentation contexts of a connection; more are refused one by one",
        1..=128,
        &mut config.contexts,
    )?;
    connections(settings, &mut config.connections)?;
    Ok(Box::new(Presentation::new(config)))
}

pub(super) fn acse(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = acse::Config::default();
    associations(settings, &mut config.associations)?;
    Ok(Box::new(Acse::new(config)))
}

pub(super) fn ftam(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = ftam::Config::default();
    let units = settings.texts(
        "functional_units",
        "what is asked for where the user says nothing, and the most that is agreed to; none: \"read\", \"write\", both kinds of file management and \"grouping\"",
        "names among \"read\", \"write\", \"file-access\", \"limited-file-management\", \"enhanced-file-management\", \"grouping\", \"fadu-locking\", \"recovery\", \"restart-data-transfer\"",
        |text| FILE_UNITS.iter().find(|(name, _)| *name == text).map(|(_, unit)| *unit),
    )?;
    if let Some(units) = units.into_iter().reduce(|all, unit| all | unit) {
        config.capabilities.units = units;
    }
    settings.octets(
        "longest_fpdu",
        "the most octets of FPDUs in one value from a peer",
        1024..=1 << 24,
        &mut config.longest_fpdu,
    )?;
    settings.number("values", "the most values of a P-DATA from a peer", 1..=65_536, &mut config.values)?;
    settings.time("patience", "how long the user may take to answer F-INITIALIZE", SOME, &mut config.patience)?;
    associations(settings, &mut config.associations)?;
    Ok(Box::new(Ftam::new(config)))
}

pub(super) fn mms(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = mms::Config::default();
    let mut longest = 65_000_u32;
    settings.octets(
        "longest_pdu",
        "the longest PDU that is proposed and agreed to, where the user says nothing",
        64..=1 << 20,
        &mut longest,
    )?;
    config.initiate.local_detail = Some(longest.into());
    let mut outstanding = 5_u32;
    settings.number(
        "outstanding",
        "the most services that either side may have asked for at a time, where the user says nothing",
        1..=32_767,
        &mut outstanding,
    )?;
    config.initiate.max_serv_outstanding_calling = outstanding.into();
    config.initiate.max_serv_outstanding_called = outstanding.into();
    associations(settings, &mut config.associations)?;
    Ok(Box::new(Mms::new(config)))
}

pub(super) fn loopback(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = loopback::Config::default();
    settings.number(
        "window",
        "how many messages may be sent before the receiver has granted any",
        1..=1024,
        &mut config.window,
    )?;
    Ok(Box::new(Loopback::new(config)))
}

pub(super) fn lif(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = lif::Config::default();
    settings.word(
        "flow",
        "how this task knows whether the lower module can take a message: it asks, or is told",
        FLOWS,
        &mut config.flow,
    )?;
    settings.time("interval", "polling: from one question to the next, at least", SOME, &mut config.interval)?;
    settings.number("queue", "polling: how many messages may wait in this task", 1..=1024, &mut config.queue)?;
    Ok(Box::new(Lif::new(config)))
}

pub(super) fn hif(_: &Reader<'_>, _: Place<'_>) -> Built {
    Ok(Box::new(crate::hif::Hif))
}
