//! The kinds of protocols and their settings, those of IP, TCP and MAPOS apart.
//!
//! To add one: a function that reads its settings, and a line in [`KINDS`]. Everything is asked for before anything is
//! found missing.

use core::net::{Ipv4Addr, SocketAddrV4};

use kumiki_graph::{Address, Duration, Protocol};
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::ppp::hdlc::FcsKind;

use super::reader::{Reader, circuit};
use super::{BuildError, Place};
use kumiki_atm::aal5::{self, Aal5};
use kumiki_atm::aal34::{self, Aal34};
use kumiki_atm::atm_arp::{self, AtmArp};
use kumiki_atm::llc_snap::{self, LlcSnap};
use kumiki_atm::vc_mux::{self, VcMux};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_inet::arp::{self, Arp};
use kumiki_inet::eth::{self, Eth};
use kumiki_inet::fddi::{self, Fddi};
use kumiki_inet::icmp::{self, IcmpEcho};
use kumiki_inet::llc::{self, Llc};
use kumiki_inet::sim_ether::{self, SimEther};
use kumiki_inet::udp::{self, Udp};
use kumiki_ppp::hdlc::{self, Hdlc};
use kumiki_ppp::ppp::{self, Ppp};

pub(super) type Built = Result<Box<dyn Protocol>, BuildError>;

/// Makes a node of one kind from its settings.
type Make = fn(&Reader<'_>, Place<'_>) -> Built;

/// Every kind and what makes it, in the order of their names.
pub(super) const KINDS: &[(&str, Make)] = &[
    ("aal34", aal34),
    ("aal5", aal5),
    ("acse", super::osi::acse),
    ("arp", arp),
    ("atm_arp", atm_arp),
    ("eth", eth),
    ("fddi", fddi),
    ("ftam", super::osi::ftam),
    ("hdlc", hdlc),
    ("hif", super::osi::hif),
    ("icmp", icmp),
    ("ip", super::ip::make),
    ("ipv6", super::ipv6::make),
    ("lapb", super::x25::lapb),
    ("lapb_ether", super::x25::lapb_ether),
    ("lif", super::osi::lif),
    ("llc", llc),
    ("llc_snap", llc_snap),
    ("loopback", super::osi::loopback),
    ("mapos", super::mapos::mapos),
    ("mapos_switch", super::mapos::mapos_switch),
    ("mms", super::osi::mms),
    ("pipe", pipe),
    ("ppp", ppp),
    ("ppp_daemon", super::ppp::make),
    ("presentation", super::osi::presentation),
    ("sdh", super::mapos::sdh),
    ("session", super::osi::session),
    ("sim_ether", sim_ether),
    ("tcp", super::tcp::make),
    ("tp0", super::osi::tp0),
    ("tpkt", super::osi::tpkt),
    ("udp", udp),
    ("vc_mux", vc_mux),
    ("vnet", super::vnet::make),
    ("x25", super::x25::x25),
    ("x25_iface", super::x25::iface),
    ("x25_switch", super::x25::switch),
    ("x32", super::x32::x32),
    ("xot", super::x25::xot),
    ("xtp", super::xtp::make),
];

pub(super) const CIRCUIT: &str = "a circuit \"vpi/vci\" such as \"0/100\"";
pub(super) const ADDRESS: &str = "an IPv4 address";
pub(super) const CIRCUITS: &str = "a circuit \"vpi/vci\" such as \"0/100\", under the IPv4 address of its peer";

pub(super) fn address(text: &str) -> Option<Ipv4Addr> {
    text.parse().ok()
}

/// An address and its circuit.
pub(super) fn by_address(address: &str, vc: &str) -> Option<(Ipv4Addr, Address)> {
    address.parse().ok().zip(circuit(vc))
}

fn vc(settings: &Reader<'_>) -> Result<Address, BuildError> {
    const MEANING: &str = "the one circuit that all is sent on, where the layer above names none";
    let vc = settings.text("vc", MEANING, CIRCUIT, "none", circuit)?;
    Ok(vc.unwrap_or_default())
}

fn max_sdu(settings: &Reader<'_>, octets: &mut u16) -> Result<(), BuildError> {
    const MEANING: &str = "the longest SDU that is sent or taken";
    settings.octets("max_sdu", MEANING, 1..=65535, octets)
}

fn pipe(settings: &Reader<'_>, _: Place<'_>) -> Built {
    const MEANING: &str = "what the device may read before the user has taken anything";
    let mut config = pipe::Config::default();
    settings.octets("receive_buffer", MEANING, 1..=u64::from(u32::MAX), &mut config.receive_buffer)?;
    Ok(Box::new(Pipe::new(config)))
}

fn aal34(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = aal34::Config::default();
    max_sdu(settings, &mut config.max_sdu)?;
    Ok(Box::new(Aal34::new(config)))
}

fn aal5(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = aal5::Config::default();
    max_sdu(settings, &mut config.max_sdu)?;
    Ok(Box::new(Aal5::new(config)))
}

fn llc_snap(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let config = llc_snap::Config { vc: vc(settings)? };
    Ok(Box::new(LlcSnap::new(config)))
}

fn ppp(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = ppp::Config::default();
    settings.octets(
        "mtu",
        "the most octets of a datagram; where the peer takes less, less",
        1..=65535,
        &mut config.mtu,
    )?;
    Ok(Box::new(Ppp::new(config)))
}

fn hdlc(settings: &Reader<'_>, _: Place<'_>) -> Built {
    const FCS: [(&str, FcsKind); 2] = [("16", FcsKind::Fcs16), ("32", FcsKind::Fcs32)];
    let mut config = hdlc::Config::default();
    settings.boolean(
        "async",
        "whether the line is asynchronous: control characters are escaped until less is agreed on",
        &mut config.asynchronous,
    )?;
    settings.word("fcs", "bits of the frame check sequence that the line begins with", &FCS, &mut config.fcs)?;
    settings.octets(
        "mru",
        "the most octets behind the protocol field that are taken; where more is agreed on, more",
        hdlc::LEAST_MRU.into()..=65535,
        &mut config.mru,
    )?;
    settings.boolean(
        "opening_flag",
        "whether each frame has a flag before it too, so that noise on an idle line spoils none",
        &mut config.opening_flag,
    )?;
    Ok(Box::new(Hdlc::new(config)))
}

fn vc_mux(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let config = vc_mux::Config { vc: vc(settings)? };
    Ok(Box::new(VcMux::new(config)))
}

fn atm_arp(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = atm_arp::Config::new(Ipv4Addr::UNSPECIFIED, Vec::new());
    config.addresses = settings.texts("addresses", "our own addresses in the subnet", ADDRESS, address)?;
    config.circuits =
        settings.texts("circuits", "the permanent circuits whose peers are asked for (InATMARP)", CIRCUIT, circuit)?;
    config.known =
        settings.pairs("known", "<address>", "next hops that are known without asking", CIRCUITS, by_address)?;
    let some = Duration::from_nanos(1);
    settings.time(
        "timeout",
        "how long what was learned is good; at most 15 min (RFC 2225)",
        some,
        &mut config.timeout,
    )?;
    settings.time("retry", "how often a circuit whose peer is not known is asked", some, &mut config.retry)?;
    settings.number("queue", "datagrams that may wait for their next hop", 0..=65535, &mut config.queue)?;
    settings.time("hold", "how long a datagram may wait for its next hop", Duration::ZERO, &mut config.hold)?;
    if config.addresses.is_empty() {
        return Err(settings.missing("addresses", "a list of our own IPv4 addresses"));
    }
    let node = AtmArp::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

const STATION: &str = "a MAC address such as \"02:00:00:00:00:01\"";

/// Our own address on a LAN, where it is given.
fn station(settings: &Reader<'_>) -> Result<Option<MacAddr>, BuildError> {
    let parse = |text: &str| text.parse::<MacAddr>().ok();
    settings.text("address", "our own MAC address", STATION, "", parse)
}

fn fddi(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let address = station(settings)?;
    let mut config = fddi::Config::new(address.unwrap_or_default());
    settings.octets(
        "mtu",
        "the most octets in a frame that is sent, its header not among them, LLC's among them",
        fddi::LEAST_MTU.into()..=fddi::MOST_MTU.into(),
        &mut config.mtu,
    )?;
    settings.number("priority", "priority of the frames that are sent", 0..=7, &mut config.priority)?;
    if address.is_none() {
        return Err(settings.missing("address", STATION));
    }
    let node = Fddi::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn llc(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = llc::Config::default();
    settings.boolean("answer", "whether XID and TEST commands are answered", &mut config.answer)?;
    Ok(Box::new(Llc::new(config)))
}

fn eth(settings: &Reader<'_>, _: Place<'_>) -> Built {
    const STATION: &str =
        "a MAC address such as \"02:00:00:00:00:01\", or on SimEther its socket such as \"10.0.0.1:7000\"";
    let parse = |text: &str| {
        let station = || text.parse().ok().and_then(sim_ether::mac_of);
        text.parse::<MacAddr>().ok().or_else(station)
    };
    let address = settings.text("address", "our own MAC address", STATION, "", parse)?;
    let mut config = eth::Config::new(address.unwrap_or_default());
    settings.octets(
        "mtu",
        "the most octets in a frame, its header not among them",
        eth::LEAST_MTU.into()..=eth::MOST_MTU.into(),
        &mut config.mtu,
    )?;
    settings.boolean("pad", "whether frames are filled up to 46 octets (IEEE 802.3)", &mut config.pad)?;
    if address.is_none() {
        return Err(settings.missing("address", STATION));
    }
    let node = Eth::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn sim_ether(settings: &Reader<'_>, _: Place<'_>) -> Built {
    const SOCKET: &str = "an IPv4 address and an even port such as \"10.0.0.1:7000\"";
    const BOX: &str = "an IPv4 address and a port such as \"10.0.0.9:4001\"";
    let station = |text: &str| {
        let socket: SocketAddrV4 = text.parse().ok()?;
        sim_ether::mac_of(socket).map(|_| socket)
    };
    let any = |text: &str| text.parse::<SocketAddrV4>().ok();
    let address = settings.text("address", "our own address and port", SOCKET, "", station)?;
    let mut config = sim_ether::Config::new(address.unwrap_or_else(|| SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)));
    config.stations = settings.texts("stations", "who gets frames for groups, a copy each", SOCKET, station)?;
    config.via = settings.text(
        "via",
        "a box between the stations that gets all frames, such as a delay generator",
        BOX,
        "none",
        any,
    )?;
    settings.octets(
        "frame",
        "the largest frame, its header counted",
        sim_ether::LEAST_FRAME.into()..=sim_ether::MOST_FRAME.into(),
        &mut config.frame,
    )?;
    settings.maybe_octets(
        "socket_buffer",
        "what may wait in the socket; more is dropped",
        1..=u32::MAX.into(),
        &mut config.socket_buffer,
        "no limit",
    )?;
    settings.number(
        "copies",
        "how often an octet is copied between a message and the socket",
        0..=16,
        &mut config.copies,
    )?;
    if address.is_none() {
        return Err(settings.missing("address", SOCKET));
    }
    let node = SimEther::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn arp(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = arp::Config::new(Ipv4Addr::UNSPECIFIED);
    config.addresses = settings.texts("addresses", "our own addresses on the link", ADDRESS, address)?;
    settings.time("timeout", "how long what was learned is good", Duration::from_nanos(1), &mut config.timeout)?;
    settings.number(
        "tries",
        "requests, one a second, after which what waits for a next hop is given up",
        1..=255,
        &mut config.tries,
    )?;
    settings.number("entries", "next hops that are known or asked for at a time", 1..=65535, &mut config.entries)?;
    settings.number("unknown", "next hops among them that are asked for", 1..=65535, &mut config.unknown)?;
    settings.number("queue", "datagrams that may wait for one next hop", 0..=65535, &mut config.queue)?;
    if config.addresses.is_empty() {
        return Err(settings.missing("addresses", "a list of our own IPv4 addresses"));
    }
    let node = Arp::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn icmp(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = icmp::Config::default();
    settings.boolean("answer", "whether echoes are answered", &mut config.answer)?;
    settings.boolean(
        "answer_groups",
        "whether echoes to broadcast and multicast addresses are answered",
        &mut config.answer_groups,
    )?;
    Ok(Box::new(IcmpEcho::new(config)))
}

fn udp(settings: &Reader<'_>, _: Place<'_>) -> Built {
    let mut config = udp::Config::default();
    settings.boolean(
        "checksum",
        "whether datagrams are sent with a checksum over IPv4; received ones are checked where they have one",
        &mut config.checksum,
    )?;
    Ok(Box::new(Udp::new(config)))
}
