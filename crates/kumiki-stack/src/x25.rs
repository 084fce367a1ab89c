//! The settings of LAPB, X.25, its switch and XOT.

use core::net::{IpAddr, SocketAddr};

use kumiki_graph::Duration;
use kumiki_osi_service::x25::{Nui, Number};
use kumiki_wire::x25::lapb::Modulo;

use super::kinds::Built;
use super::reader::Reader;
use super::{BuildError, Place};
use kumiki_x25::lapb::{self, Lapb, Role};
use kumiki_x25::lapb_ether::LapbEther;
use kumiki_x25::x25::{self, Over, X25};
use kumiki_x25::x25_iface::X25Iface;
use kumiki_x25::x25_switch::{self, Switch};
use kumiki_x25::xot::{self, Xot};

const ANY: u64 = u32::MAX as u64;
pub(super) const NUMBER: &str = "1 to 15 digits, such as \"12345\"";
pub(super) const SOME: Duration = Duration::from_nanos(1);

/// The words for the two ends of a line.
const ROLES: [(&str, Role); 2] = [("dte", Role::Dte), ("dce", Role::Dce)];

/// The modulus, by whether it is 128.
fn modulo(settings: &Reader<'_>, meaning: &'static str, place: &mut Modulo) -> Result<(), BuildError> {
    let mut extended = *place == Modulo::Extended;
    settings.boolean("extended", meaning, &mut extended)?;
    *place = if extended { Modulo::Extended } else { Modulo::Eight };
    Ok(())
}

pub(super) fn lapb(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = lapb::Config::default();
    settings.word(
        "role",
        "which end of the line this is: dte has address A, dce address B",
        &ROLES,
        &mut config.role,
    )?;
    modulo(settings, "whether frames are numbered modulo 128 (SABME) and not 8 (SABM)", &mut config.modulo)?;
    settings.number(
        "k",
        "I frames that may be sent without acknowledgment; at most 7 without `extended`",
        1..=127,
        &mut config.k,
    )?;
    settings.octets(
        "information",
        "the most octets of information in a frame: N1 less address, control and check sequence",
        1..=65_535,
        &mut config.information,
    )?;
    settings.time("t1", "T1: after so long without the answer wanted something is done again", SOME, &mut config.t1)?;
    settings.time(
        "t2",
        "T2: how long an acknowledgment waits for a frame to travel with; less than T1",
        Duration::ZERO,
        &mut config.t2,
    )?;
    settings.time(
        "t3",
        "T3: after so long without a frame from the peer it is polled; 0: never",
        Duration::ZERO,
        &mut config.t3,
    )?;
    settings.number("n2", "N2: how often something is tried before it is given up", 1..=255, &mut config.n2)?;
    settings.maybe_number(
        "acknowledge",
        "I frames that are acknowledged at once when so many have come",
        1..=127,
        &mut config.acknowledge,
        "half of `k`",
    )?;
    settings.boolean(
        "poll",
        "whether the I frame that fills the window polls, so that a peer with a long T2 answers at once",
        &mut config.poll,
    )?;
    settings.number(
        "receive",
        "frames that the user has room for, where it does not say",
        1..=ANY,
        &mut config.receive,
    )?;
    let node = Lapb::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

pub(super) fn lapb_ether(_: &Reader<'_>, _: Place<'_>) -> Built {
    Ok(Box::new(LapbEther))
}

pub(super) fn iface(_: &Reader<'_>, _: Place<'_>) -> Built {
    Ok(Box::new(X25Iface::default()))
}

/// The words for what is below.
const OVER: [(&str, Over); 3] = [("link", Over::Link), ("frames", Over::Frames), ("circuits", Over::Circuits)];

/// The words for the side of the interface.
const SIDES: [(&str, Option<x25::Role>); 3] =
    [("dte", Some(x25::Role::Dte)), ("dce", Some(x25::Role::Dce)), ("either", None)];

pub(super) fn x25(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = x25::Config::default();
    settings.word(
        "over",
        "what is below: one link (LAPB), whole packets as frames, or a connection for each circuit (XOT)",
        &OVER,
        &mut config.over,
    )?;
    settings.word(
        "role",
        "which side of the interface this is; either: found out by the restart, as two DTEs do",
        &SIDES,
        &mut config.role,
    )?;
    let address =
        settings.text("address", "our own address, the calling one of our calls", NUMBER, "none", |text| {
            Number::or_none(text).ok()
        })?;
    config.address = address.unwrap_or_default();
    let own = settings.text(
        "nui",
        "the network user identification of our calls (facility C6), where the user gives none",
        NUI,
        "none",
        |text| Some(text.to_owned()),
    )?;
    config.nui = own.map(|text| nui(settings, "nui", &text)).transpose()?;
    let users = settings.texts(
        "users",
        "whose calls are taken: those with one of these network user identifications; all, where there are none",
        NUI,
        |text| Some(text.to_owned()),
    )?;
    let users = users.iter().map(|text| nui(settings, "users", text));
    config.users = users.collect::<Result<_, _>>()?;
    modulo(settings, "whether packets are numbered modulo 128 and not 8", &mut config.modulo)?;
    channels(settings, &mut config)?;
    flow(settings, &mut config)?;
    timing(settings, &mut config)?;
    let node = X25::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

const NUI: &str = "1 to 255 octets of text";

/// An error tells how long it is and not what it is.
fn nui(settings: &Reader<'_>, key: &str, text: &str) -> Result<Nui, BuildError> {
    if (1..=255).contains(&text.len()) {
        Ok(Nui::new(text.as_bytes()))
    } else {
        let found = format!("{} octets", text.len());
        Err(settings.wrong(key, &found, NUI))
    }
}

fn channels(settings: &Reader<'_>, config: &mut x25::Config) -> Result<(), BuildError> {
    let ranges = &mut config.ranges;
    for (key, meaning, place) in [
        ("permanent", "channels 1 to this are permanent virtual circuits", &mut ranges.permanent),
        (
            "first_incoming",
            "LIC, the first channel for calls of the DCE alone; 0: there are none",
            &mut ranges.incoming.0,
        ),
        ("last_incoming", "HIC, the last one", &mut ranges.incoming.1),
        ("first_two_way", "LTC, the first channel for calls of both; 0: there are none", &mut ranges.two_way.0),
        ("last_two_way", "HTC, the last one", &mut ranges.two_way.1),
        (
            "first_outgoing",
            "LOC, the first channel for calls of the DTE alone; 0: there are none",
            &mut ranges.outgoing.0,
        ),
        ("last_outgoing", "HOC, the last one", &mut ranges.outgoing.1),
    ] {
        settings.number(key, meaning, 0..=4095, place)?;
    }
    Ok(())
}

fn flow(settings: &Reader<'_>, config: &mut x25::Config) -> Result<(), BuildError> {
    let (mut packet, mut window) = (config.wanted.packet_out, config.wanted.window_out);
    settings.octets(
        "packet",
        "the largest packets that are asked for and agreed to, a power of two",
        16..=4096,
        &mut packet,
    )?;
    settings.number(
        "window",
        "the largest windows that are asked for and agreed to; at most 7 without `extended`",
        1..=127,
        &mut window,
    )?;
    (config.wanted.packet_out, config.wanted.packet_in) = (packet, packet);
    (config.wanted.window_out, config.wanted.window_in) = (window, window);
    let (mut packet, mut window) = (config.default.packet_out, config.default.window_out);
    settings.octets(
        "default_packet",
        "the packets of permanent circuits and of calls in which nothing is said of them",
        16..=4096,
        &mut packet,
    )?;
    settings.number(
        "default_window",
        "the windows of permanent circuits and of calls in which nothing is said of them",
        1..=127,
        &mut window,
    )?;
    (config.default.packet_out, config.default.packet_in) = (packet, packet);
    (config.default.window_out, config.default.window_in) = (window, window);
    settings.maybe_number(
        "receive",
        "messages that a user has room for, where it does not say",
        1..=ANY,
        &mut config.receive,
        "the window",
    )?;
    settings.maybe_number(
        "acknowledge",
        "data packets that are acknowledged at once when so many have been taken",
        1..=127,
        &mut config.acknowledge,
        "half of the window",
    )?;
    settings.boolean(
        "reject",
        "whether a lost packet is asked for by REJ instead of resetting the channel",
        &mut config.reject,
    )?;
    settings.boolean(
        "diagnose",
        "whether a DCE tells by DIAGNOSTIC of packets on channels that nobody has",
        &mut config.diagnose,
    )
}

fn timing(settings: &Reader<'_>, config: &mut x25::Config) -> Result<(), BuildError> {
    for (key, meaning, least, place) in [
        ("t20", "T20, of a DCE T10: RESTART is sent again", SOME, &mut config.t20),
        ("t21", "T21, of a DCE T11: a call that is not answered is cleared", SOME, &mut config.t21),
        ("t22", "T22, of a DCE T12: RESET is sent again", SOME, &mut config.t22),
        ("t23", "T23, of a DCE T13: CLEAR is sent again", SOME, &mut config.t23),
        ("t24", "T24: how long an acknowledgment waits", Duration::ZERO, &mut config.t24),
        ("t25", "T25: data that is not acknowledged resets the channel; 0: never", Duration::ZERO, &mut config.t25),
        ("t26", "T26: an interrupt that is not confirmed resets the channel", SOME, &mut config.t26),
        ("t27", "T27: REJ is sent again", SOME, &mut config.t27),
        ("reopen", "after so long a link that ended is asked for again", SOME, &mut config.reopen),
        (
            "idle",
            "the link is asked for when there is a call to make, and ended after so long without one; 0: it is kept",
            Duration::ZERO,
            &mut config.idle,
        ),
    ] {
        settings.time(key, meaning, least, place)?;
    }
    for (key, meaning, place) in [
        ("r20", "how often RESTART is repeated before the link is set up anew", &mut config.r20),
        ("r22", "how often RESET is repeated before the call is cleared", &mut config.r22),
        ("r23", "how often CLEAR is repeated before the channel is left alone", &mut config.r23),
        ("r27", "how often REJ is repeated before the channel is reset", &mut config.r27),
    ] {
        settings.number(key, meaning, 0..=255, place)?;
    }
    Ok(())
}

const ROUTE: &str = "a number's beginning and a host, such as \"2342 = 10.0.0.2:1998\"";

fn route(text: &str) -> Option<(Number, SocketAddr)> {
    let (number, host) = text.split_once('=')?;
    Some((Number::or_none(number.trim()).ok()?, host_of(host)?))
}

fn host_of(text: &str) -> Option<SocketAddr> {
    let host = text.trim();
    let with_port = || {
        let ip: IpAddr = host.parse().ok()?;
        Some(SocketAddr::new(ip, kumiki_wire::x25::xot::PORT))
    };
    host.parse().ok().or_else(with_port)
}

/// What names of interfaces may be: RFC 1613 has a length of one octet for them.
const INTERFACE: &str = "a name of 1 to 255 ASCII characters";

fn interface(settings: &Reader<'_>, key: &'static str, meaning: &'static str) -> Result<Option<String>, BuildError> {
    let fits = |text: &str| text.is_ascii() && (1..=255).contains(&text.len());
    settings.text(key, meaning, INTERFACE, "none", |text| fits(text).then(|| text.to_owned()))
}

/// A permanent virtual circuit of this channel.
fn permanent(channel: &str, settings: &Reader<'_>) -> Result<xot::Permanent, BuildError> {
    const CHANNEL: &str = "a channel from 1 to 4095";
    // In a list of settings the name is none.
    let known = channel.parse().ok().filter(|it| (1..=4095).contains(it));
    let number: u16 = match known {
        Some(channel) => channel,
        None if channel == ANY_CHANNEL => 1,
        None => return Err(settings.wrong("", &channel, CHANNEL)),
    };
    let own = interface(settings, "interface", "what our interface is called")?;
    let peers = interface(settings, "peer_interface", "what the peer's is called")?;
    let (mut peer_channel, mut window, mut packet) = (None, 2, 128_u16);
    settings.maybe_number(
        "peer_channel",
        "its channel at the peer's interface",
        1..=4095,
        &mut peer_channel,
        "the same",
    )?;
    let peer = settings.text(
        "peer",
        "the host that it is set up to; without one the peer sets it up",
        "a host, such as \"10.0.0.2\" or \"10.0.0.2:1998\"",
        "none",
        host_of,
    )?;
    settings.number("window", "its window, both ways, as x25's `default_window` has it", 1..=127, &mut window)?;
    settings.octets(
        "packet",
        "its largest packets, both ways, as x25's `default_packet` has them; a power of two",
        16..=4096,
        &mut packet,
    )?;
    if !packet.is_power_of_two() {
        return Err(settings.wrong("packet", &packet, "a power of two"));
    }
    Ok(xot::Permanent {
        channel: number,
        interface: own.ok_or_else(|| settings.missing("interface", INTERFACE))?,
        peer_interface: peers.ok_or_else(|| settings.missing("peer_interface", INTERFACE))?,
        peer_channel: peer_channel.unwrap_or(number),
        peer,
        window,
        packet: u8::try_from(packet.ilog2()).unwrap_or(7),
    })
}

/// What stands for the channels of permanent circuits in a list of settings.
const ANY_CHANNEL: &str = "<channel>";

pub(super) fn xot(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let routes =
        settings.texts("routes", "where numbers that begin so are; the longest beginning counts", ROUTE, route)?;
    let mut config = xot::Config { routes, ..xot::Config::default() };
    config.listen = settings.text(
        "listen",
        "where calls come in, unless the user says",
        "an address of this host, such as \"0.0.0.0:1998\"",
        "port 1998 of all addresses",
        host_of,
    )?;
    settings.boolean("calls_only", "whether calls are made and none are taken", &mut config.calls_only)?;
    settings.tables("permanent", ANY_CHANNEL, |channel, table| {
        config.permanent.push(permanent(channel, table)?);
        Ok(())
    })?;
    settings.number(
        "receive",
        "packets that the user may be handed before it has granted any",
        1..=ANY,
        &mut config.receive,
    )?;
    settings.time(
        "patience",
        "how long a caller may be without a packet, and an answer to a set-up or the peer's end of a connection may take",
        SOME,
        &mut config.patience,
    )?;
    Ok(Box::new(Xot::new(config)))
}

const SWITCHED: &str = "a number's beginning and ports, such as \"2342 = paris, lyon\"";
const JOINED: &str = "two ports and channels, such as \"paris:1 = lyon:7\"";

fn switched(text: &str) -> Option<x25_switch::Route> {
    let (number, ports) = text.split_once('=')?;
    let to: Vec<String> = ports.split(',').map(|it| it.trim().to_owned()).collect();
    let route = x25_switch::Route { prefix: Number::or_none(number.trim()).ok()?, to, ..x25_switch::Route::default() };
    (!route.to.iter().any(String::is_empty)).then_some(route)
}

fn joined(text: &str) -> Option<[x25_switch::Place; 2]> {
    let place = |text: &str| {
        let (port, channel) = text.trim().rsplit_once(':')?;
        let channel = channel.parse().ok().filter(|it| (1..=4095).contains(it))?;
        let port = port.to_owned();
        Some(x25_switch::Place { port, channel })
    };
    let (a, b) = text.split_once('=')?;
    Some([place(a)?, place(b)?])
}

pub(super) fn switch(settings: &Reader<'_>, place: Place<'_>) -> Built {
    let mut config = x25_switch::Config {
        routes: settings.texts(
            "routes",
            "to which ports calls go whose called address begins so, tried in order; the longest beginning counts",
            SWITCHED,
            switched,
        )?,
        circuits: settings.texts("circuits", "permanent virtual circuits that are joined", JOINED, joined)?,
        always_up: settings.texts(
            "always_up",
            "ports that never report up: those over XOT",
            "the name of a port",
            |text| Some(text.to_owned()),
        )?,
        ..x25_switch::Config::default()
    };
    settings.number("most", "the most calls", 1..=ANY, &mut config.most)?;
    settings.time(
        "retry",
        "after so long an end of a permanent circuit that is not to be had is asked for again; later less often",
        SOME,
        &mut config.retry,
    )?;
    settings.maybe_time(
        "idle",
        "a call by which nothing has crossed for so long is cleared",
        SOME,
        &mut config.idle,
        "it stays",
    )?;
    let ports = config.routes.iter().flat_map(|route| &route.to);
    let ends = config.circuits.iter().flatten().map(|place| &place.port);
    for name in ports.chain(ends).chain(&config.always_up) {
        if !place.below.is_empty() && !place.below.contains(&name.as_str()) {
            let known = format!("one of its ports: {}", place.below.join(", "));
            return Err(settings.wrong("", name, &known));
        }
    }
    Ok(Box::new(Switch::new(config)))
}
