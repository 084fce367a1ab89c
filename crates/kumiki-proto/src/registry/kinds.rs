//! The kinds of protocols and their settings.
//!
//! To add one: a function that reads its settings, and a line in [`KINDS`].

use core::net::Ipv4Addr;

use kumiki_graph::{Address, Protocol};

use super::reader::{Reader, circuit, network};
use super::{BuildError, Value};
use crate::aal5::{self, Aal5};
use crate::atm_arp::{self, AtmArp};
use crate::icmp::{self, IcmpEcho};
use crate::ip::{self, Ip};
use crate::llc_snap::{self, LlcSnap};
use crate::udp::{self, Udp};
use crate::vc_mux::{self, VcMux};

type Built = Result<Box<dyn Protocol>, BuildError>;

/// Makes a node of one kind from its settings.
type Make = fn(&Reader<'_>) -> Built;

/// Every kind and what makes it, in the order of their names.
pub(super) const KINDS: &[(&str, Make)] = &[
    ("aal5", aal5),
    ("atm_arp", atm_arp),
    ("icmp", icmp),
    ("ip", ip),
    ("llc_snap", llc_snap),
    ("udp", udp),
    ("vc_mux", vc_mux),
];

const CIRCUIT: &str = "a circuit such as \"0/100\"";
const ADDRESS: &str = "an IPv4 address";
const NETWORK: &str = "an address and the length of its prefix such as \"10.0.0.1/24\"";

fn address(text: &str) -> Option<Ipv4Addr> {
    text.parse().ok()
}

fn name(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn vc(settings: &Reader<'_>) -> Result<Address, BuildError> {
    Ok(settings.text("vc", CIRCUIT, circuit)?.unwrap_or_default())
}

fn aal5(settings: &Reader<'_>) -> Built {
    let max_sdu = settings.octets("max_sdu", 1, 65535)?;
    let max_sdu = max_sdu.and_then(|octets| u16::try_from(octets).ok());
    let config = max_sdu.map_or_else(aal5::Config::default, |max_sdu| aal5::Config { max_sdu });
    Ok(Box::new(Aal5::new(config)))
}

fn llc_snap(settings: &Reader<'_>) -> Built {
    let config = llc_snap::Config { vc: vc(settings)? };
    Ok(Box::new(LlcSnap::new(config)))
}

fn vc_mux(settings: &Reader<'_>) -> Built {
    let config = vc_mux::Config { vc: vc(settings)? };
    Ok(Box::new(VcMux::new(config)))
}

fn atm_arp(settings: &Reader<'_>) -> Built {
    let own = settings.texts("addresses", "IPv4 addresses", address)?;
    let circuits = settings.texts("circuits", "circuits such as \"0/100\"", circuit)?;
    let default = atm_arp::Config::new(Ipv4Addr::UNSPECIFIED, circuits);
    let most = u32::from(u16::MAX);
    let queue = settings.integer("queue", 0, most)?;
    let config = atm_arp::Config {
        addresses: own,
        known: settings.circuits_by_address("known")?,
        timeout: settings.duration("timeout")?.unwrap_or(default.timeout),
        retry: settings.duration("retry")?.unwrap_or(default.retry),
        queue: queue
            .and_then(|queue| usize::try_from(queue).ok())
            .unwrap_or(default.queue),
        hold: settings.duration("hold")?.unwrap_or(default.hold),
        ..default
    };
    let node = AtmArp::new(config).map_err(|error| settings.refused(&error))?;
    Ok(Box::new(node))
}

fn icmp(settings: &Reader<'_>) -> Built {
    let default = icmp::Config::default();
    let config = icmp::Config {
        answer: settings.boolean("answer")?.unwrap_or(default.answer),
        answer_groups: settings
            .boolean("answer_groups")?
            .unwrap_or(default.answer_groups),
    };
    Ok(Box::new(IcmpEcho::new(config)))
}

fn udp(settings: &Reader<'_>) -> Built {
    let default = udp::Config::default();
    let config = udp::Config {
        checksum: settings.boolean("checksum")?.unwrap_or(default.checksum),
    };
    Ok(Box::new(Udp::new(config)))
}

fn ip(settings: &Reader<'_>) -> Built {
    let mut interfaces = settings.tables("interfaces", interface)?;
    // Where there is only one, it needs no list.
    let alone = ["below", "address", "peer", "mtu", "neighbours"].map(|key| settings.has(key));
    if alone.contains(&true) {
        interfaces.insert(0, interface(settings)?);
    }
    let default = ip::Config::default();
    let config = ip::Config {
        interfaces,
        routes: settings.tables("routes", route)?,
        forwarding: settings.boolean("forwarding")?.unwrap_or(false),
        groups: settings.texts("groups", "multicast addresses", |text| {
            address(text).filter(Ipv4Addr::is_multicast)
        })?,
        ttl: settings
            .integer("ttl", 1, 255)?
            .and_then(|ttl| u8::try_from(ttl).ok())
            .unwrap_or(default.ttl),
        path_mtu_discovery: settings
            .boolean("path_mtu_discovery")?
            .unwrap_or(default.path_mtu_discovery),
        number_atomic: settings
            .boolean("number_atomic")?
            .unwrap_or(default.number_atomic),
        reassembly: settings
            .table("reassembly", reassembly)?
            .unwrap_or_default(),
        errors: settings.table("errors", rate)?.unwrap_or_default(),
    };
    let node = Ip::new(config).map_err(|error| settings.refused(&error))?;
    Ok(Box::new(node))
}

fn interface(settings: &Reader<'_>) -> Result<ip::Interface, BuildError> {
    const BELOW: &str = "the name of the layer below";
    let below = settings.text("below", BELOW, name);
    let own = settings.text("address", NETWORK, network);
    let (peer, mtu) = (
        settings.text("peer", ADDRESS, address)?,
        settings.octets("mtu", 68, 65535)?,
    );
    let neighbours = neighbours(settings)?;
    let below = settings.need("below", below, BELOW)?;
    let (address, prefix) = settings.need("address", own, NETWORK)?;
    let default = ip::Interface::new(&below, address, prefix);
    Ok(ip::Interface {
        peer,
        mtu: mtu
            .and_then(|mtu| u32::try_from(mtu).ok())
            .unwrap_or(default.mtu),
        neighbours,
        ..default
    })
}

fn neighbours(settings: &Reader<'_>) -> Result<ip::Neighbours, BuildError> {
    const EXPECTED: &str = "\"one\", \"below\", or a table of addresses and circuits";
    if matches!(settings.peek("neighbours"), Some(Value::Table(_))) {
        let table = settings.circuits_by_address("neighbours")?;
        return Ok(ip::Neighbours::Table(table));
    }
    let known = settings.text("neighbours", EXPECTED, |text| match text {
        "one" => Some(ip::Neighbours::One),
        "below" => Some(ip::Neighbours::Below),
        _ => None,
    })?;
    Ok(known.unwrap_or_default())
}

fn route(settings: &Reader<'_>) -> Result<ip::Route, BuildError> {
    const TO: &str = "\"default\" or a network such as \"10.0.0.0/24\"";
    const VIA: &str = "the address of a router, where there is no `interface`";
    let to = settings.text("to", TO, |text| match text {
        "default" => Some((Ipv4Addr::UNSPECIFIED, 0)),
        text => network(text),
    });
    let by = settings.text("interface", "the name of the layer below", name)?;
    let via = settings.text("via", ADDRESS, address);
    let (network, prefix) = settings.need("to", to, TO)?;
    let via = match by {
        Some(interface) => ip::Via::Interface(interface),
        None => ip::Via::Gateway(settings.need("via", via, VIA)?),
    };
    Ok(ip::Route {
        network,
        prefix,
        via,
    })
}

fn reassembly(settings: &Reader<'_>) -> Result<ip::Reassembly, BuildError> {
    let default = ip::Reassembly::default();
    let datagrams = settings.integer("datagrams", 1, 65535)?;
    let octets = settings.octets("octets", 1, u32::MAX.into())?;
    Ok(ip::Reassembly {
        datagrams: datagrams
            .and_then(|it| usize::try_from(it).ok())
            .unwrap_or(default.datagrams),
        octets: octets
            .and_then(|it| usize::try_from(it).ok())
            .unwrap_or(default.octets),
        timeout: settings.duration("timeout")?.unwrap_or(default.timeout),
    })
}

fn rate(settings: &Reader<'_>) -> Result<ip::Rate, BuildError> {
    let default = ip::Rate::default();
    let number = |key| settings.integer(key, 0, 1_000_000_000);
    Ok(ip::Rate {
        per_second: number("per_second")?.unwrap_or(default.per_second),
        burst: number("burst")?.unwrap_or(default.burst),
    })
}
