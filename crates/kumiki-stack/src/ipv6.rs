//! The settings of IPv6.

use core::net::Ipv6Addr;

use kumiki_graph::{Address, Duration};

use super::ip::{errors, reassembly};
use super::kinds::Built;
use super::reader::{Reader, circuit};
use super::{BuildError, Place, Value};
use kumiki_inet::ipv6::{self, Ip};

const NETWORK: &str = "an IPv6 address and the length of its prefix, 0 to 128, such as \"fd00::1/64\"";
const CIRCUITS: &str = "a circuit \"vpi/vci\" such as \"0/100\", under the IPv6 address of its peer";

/// An address.
fn address(text: &str) -> Option<Ipv6Addr> {
    text.parse().ok()
}

/// A network, or an address and its network: "fd00::1/64".
fn network(text: &str) -> Option<(Ipv6Addr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let prefix = prefix.parse().ok().filter(|&prefix| prefix <= 128)?;
    Some((address.parse().ok()?, prefix))
}

pub(super) fn make(settings: &Reader<'_>, place: Place<'_>) -> Built {
    let mut config = ipv6::Config::default();
    settings.boolean("forwarding", "whether packets for others are forwarded", &mut config.forwarding)?;
    settings.number("hop_limit", "hop limit of packets whose user sets none", 1..=255, &mut config.hop_limit)?;
    config.groups =
        settings.texts("groups", "multicast groups whose packets are taken", "an IPv6 multicast address", |text| {
            address(text).filter(Ipv6Addr::is_multicast)
        })?;
    settings.table("reassembly", |table| reassembly(table, &mut config.reassembly))?;
    settings.table("errors", |table| errors(table, &mut config.errors))?;
    config.routes = routes(settings, place)?;
    let mut interfaces = Vec::new();
    settings.tables("interface", "<below>", |below, table| {
        interfaces.push(interface(below, table)?);
        Ok(())
    })?;
    // An interface that is the only one needs no table of its own.
    let own = ["address", "addresses", "link_local", "mtu", "neighbours", "discovery"];
    let keys = own.map(|key| settings.peek(key).is_some());
    if keys.contains(&true) || interfaces.is_empty() || settings.lists() {
        let below = place.below.first().copied().unwrap_or_default();
        interfaces.insert(0, interface(below, settings)?);
    }
    config.interfaces = interfaces;
    let node = Ip::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn interface(below: &str, settings: &Reader<'_>) -> Result<ipv6::Interface, BuildError> {
    const OWN: &str = "our address there, and how many of its bits name the network; without one only that of the link and those that routers give";
    const MORE: &str = "further addresses of ours there";
    const LOCAL: &str = "our address on this link alone";
    let own = settings.text("address", OWN, NETWORK, "none", network)?;
    let more = settings.texts("addresses", MORE, NETWORK, network)?;
    let mut interface = ipv6::Interface::new(below, Ipv6Addr::UNSPECIFIED, 0);
    interface.addresses = own.into_iter().chain(more).collect();
    interface.link_local = settings.text(
        "link_local",
        LOCAL,
        "an address in fe80::/10",
        "of the MAC address, or of the lower half of the first address",
        address,
    )?;
    settings.octets("mtu", "the largest packet that is sent in one piece", 1280..=65535, &mut interface.mtu)?;
    interface.neighbours = neighbours(settings)?;
    Ok(interface)
}

fn neighbours(settings: &Reader<'_>) -> Result<ipv6::Neighbours, BuildError> {
    const KEY: &str = "neighbours";
    const MEANING: &str = "the circuits of next hops, where `neighbours` is a table";
    let pair = |address: &str, vc: &str| -> Option<(Ipv6Addr, Address)> { self::address(address).zip(circuit(vc)) };
    let mut discovery = ipv6::Discovery::default();
    settings.table("discovery", |table| self::discovery(table, &mut discovery))?;
    if matches!(settings.peek(KEY), Some(Value::Table(_))) {
        let table = settings.pairs(KEY, "<address>", MEANING, CIRCUITS, pair)?;
        return Ok(ipv6::Neighbours::Table(table));
    }
    let known = settings.text(
        KEY,
        "who knows the link addresses of next hops: \"one\", as there is only one, or \"discover\", they are asked for (RFC 4861)",
        "\"one\", \"discover\", or a table of addresses and circuits",
        "one",
        |text| match text {
            "one" => Some(ipv6::Neighbours::One),
            "discover" => Some(ipv6::Neighbours::Discover(discovery)),
            _ => None,
        },
    )?;
    if settings.peek(KEY).is_none() {
        // For the list of settings.
        settings.pairs(KEY, "<address>", MEANING, CIRCUITS, pair)?;
    }
    Ok(known.unwrap_or_default())
}

fn discovery(settings: &Reader<'_>, config: &mut ipv6::Discovery) -> Result<(), BuildError> {
    settings.number(
        "duplicate_transmits",
        "how often an address of ours is asked for before it is used (RFC 4862); 0: it is used at once",
        0..=255,
        &mut config.duplicate_transmits,
    )?;
    let mut advertisements = true;
    let is_set = settings.peek("advertisements").is_some();
    settings.boolean(
        "advertisements",
        "whether router advertisements are acted on; where it is not set, unless packets are forwarded",
        &mut advertisements,
    )?;
    config.advertisements = is_set.then_some(advertisements);
    let some = Duration::from_nanos(1);
    settings.time(
        "reachable",
        "how long a neighbour is held for reachable after it has been heard, on average",
        some,
        &mut config.reachable,
    )?;
    settings.time("retransmit", "from one solicitation to the next", some, &mut config.retransmit)?;
    settings.time(
        "delay",
        "how long a neighbour that may have gone is given to show itself before it is asked",
        Duration::ZERO,
        &mut config.delay,
    )?;
    settings.number("neighbours", "neighbours that are remembered", 1..=65535, &mut config.neighbours)?;
    settings.number(
        "unknown",
        "neighbours among them that are still being asked for",
        1..=65535,
        &mut config.unknown,
    )?;
    settings.number("queue", "packets that may wait for one neighbour", 0..=65535, &mut config.queue)
}

fn routes(settings: &Reader<'_>, place: Place<'_>) -> Result<Vec<ipv6::Route>, BuildError> {
    const EXPECTED: &str =
        "a router's IPv6 address, or the name of a layer below, under \"default\" or a network such as \"fd00:1::/32\"";
    const MEANING: &str = "which router leads to a network, or by which layer below its hosts are reached straight";
    settings.pairs("routes", "<network>", MEANING, EXPECTED, |to, via| {
        let (network, prefix) = match to {
            "default" => (Ipv6Addr::UNSPECIFIED, 0),
            to => network(to)?,
        };
        let via = match address(via) {
            Some(gateway) => ipv6::Via::Gateway(gateway),
            None if place.below.contains(&via) => ipv6::Via::Interface(via.to_owned()),
            None => return None,
        };
        Some(ipv6::Route { network, prefix, via })
    })
}
