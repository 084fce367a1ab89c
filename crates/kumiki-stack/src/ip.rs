//! The settings of IP.

use core::net::Ipv4Addr;

use kumiki_graph::Duration;

use super::kinds::{ADDRESS, Built, CIRCUITS, address, by_address};
use super::reader::{Reader, network};
use super::{BuildError, Place, Value};
use kumiki_inet::ip::{self, Ip};

const NETWORK: &str =
    "an IPv4 address and the length of its prefix, 0 to 32, such as \"10.0.0.1/24\", or \"negotiated\"";

pub(super) fn make(settings: &Reader<'_>, place: Place<'_>) -> Built {
    let mut config = ip::Config::default();
    settings.boolean("forwarding", "whether datagrams for others are forwarded", &mut config.forwarding)?;
    settings.number("ttl", "time to live of datagrams whose user sets none", 1..=255, &mut config.ttl)?;
    settings.boolean(
        "path_mtu_discovery",
        "whether TCP's datagrams are never fragmented where it wants so (RFC 1191)",
        &mut config.path_mtu_discovery,
    )?;
    settings.boolean(
        "number_atomic",
        "whether datagrams that cannot be fragmented get numbers too, as RFC 1144 expects",
        &mut config.number_atomic,
    )?;
    config.groups = settings.texts(
        "groups",
        "multicast groups whose datagrams are taken",
        "an IPv4 multicast address",
        |text| address(text).filter(Ipv4Addr::is_multicast),
    )?;
    settings.table("reassembly", |table| reassembly(table, &mut config.reassembly))?;
    settings.table("errors", |table| errors(table, &mut config.errors))?;
    config.routes = routes(settings, place)?;
    let mut interfaces = Vec::new();
    settings.tables("interface", "<below>", |below, table| {
        interfaces.push(interface(below, table)?);
        Ok(())
    })?;
    // An interface that is the only one needs no table of its own.
    let keys = ["address", "peer", "mtu", "neighbours"].map(|key| settings.peek(key).is_some());
    if keys.contains(&true) || interfaces.is_empty() {
        let below = place.below.first().copied().unwrap_or_default();
        interfaces.insert(0, interface(below, settings)?);
    }
    config.interfaces = interfaces;
    let node = Ip::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn interface(below: &str, settings: &Reader<'_>) -> Result<ip::Interface, BuildError> {
    const OWN: &str =
        "our address there, and how many of its bits name the network; \"negotiated\": what PPP below agrees on";
    const PEER: &str = "the address of the one host at the other end, where the network is a line";
    let own = settings.text("address", OWN, NETWORK, "", |text| match text {
        "negotiated" => Some(None),
        text => network(text).map(Some),
    })?;
    let mut interface = ip::Interface::negotiated(below);
    interface.peer = settings.text("peer", PEER, ADDRESS, "none", address)?;
    settings.octets("mtu", "the largest datagram that is sent in one piece", 68..=65535, &mut interface.mtu)?;
    interface.neighbours = neighbours(settings)?;
    let own = own.ok_or_else(|| settings.missing("address", NETWORK))?;
    if let Some((address, prefix)) = own {
        interface.address = address;
        interface.prefix = prefix;
        interface.negotiated = false;
    }
    Ok(interface)
}

fn neighbours(settings: &Reader<'_>) -> Result<ip::Neighbours, BuildError> {
    const KEY: &str = "neighbours";
    const MEANING: &str = "the circuits of next hops, where `neighbours` is a table";
    if matches!(settings.peek(KEY), Some(Value::Table(_))) {
        let table = settings.pairs(KEY, "<address>", MEANING, CIRCUITS, by_address)?;
        return Ok(ip::Neighbours::Table(table));
    }
    let known = settings.text(
        KEY,
        "who knows the link addresses of next hops: \"one\", as there is only one, or \"below\", the layer below",
        "\"one\", \"below\", or a table of addresses and circuits",
        "one",
        |text| match text {
            "one" => Some(ip::Neighbours::One),
            "below" => Some(ip::Neighbours::Below),
            _ => None,
        },
    )?;
    if settings.peek(KEY).is_none() {
        // For the list of settings.
        settings.pairs(KEY, "<address>", MEANING, CIRCUITS, by_address)?;
    }
    Ok(known.unwrap_or_default())
}

fn routes(settings: &Reader<'_>, place: Place<'_>) -> Result<Vec<ip::Route>, BuildError> {
    const EXPECTED: &str =
        "a router's IPv4 address, or the name of a layer below, under \"default\" or a network such as \"10.1.0.0/16\"";
    const MEANING: &str = "which router leads to a network, or by which layer below its hosts are reached straight";
    settings.pairs("routes", "<network>", MEANING, EXPECTED, |to, via| {
        let (network, prefix) = match to {
            "default" => (Ipv4Addr::UNSPECIFIED, 0),
            to => network(to)?,
        };
        let via = match address(via) {
            Some(gateway) => ip::Via::Gateway(gateway),
            None if place.below.contains(&via) => ip::Via::Interface(via.to_owned()),
            None => return None,
        };
        Some(ip::Route { network, prefix, via })
    })
}

pub(super) fn reassembly(settings: &Reader<'_>, config: &mut ip::Reassembly) -> Result<(), BuildError> {
    settings.number("datagrams", "datagrams that may be incomplete at a time", 1..=65535, &mut config.datagrams)?;
    settings.octets(
        "octets",
        "what all fragments may take: each its pages of 2 KiB, and 512 B beside",
        1..=u32::MAX.into(),
        &mut config.octets,
    )?;
    settings.time(
        "timeout",
        "how long after its first fragment a datagram is given up",
        Duration::from_nanos(1),
        &mut config.timeout,
    )
}

pub(super) fn errors(settings: &Reader<'_>, config: &mut ip::Rate) -> Result<(), BuildError> {
    settings.number(
        "per_second",
        "ICMP errors sent each second in the long run; 0: none",
        0..=1_000_000_000,
        &mut config.per_second,
    )?;
    settings.number("burst", "ICMP errors sent at once", 0..=1_000_000_000, &mut config.burst)
}
