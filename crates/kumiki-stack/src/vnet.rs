//! The settings of VNET.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::kinds::Built;
use super::reader::Reader;
use super::{BuildError, Place};
use kumiki_inet::vnet::{self, Interface, Route, Vnet};

const ADDRESS: &str = "an IP address and the length of its prefix, such as \"10.0.0.1/24\" or \"fd00::1/64\"";

/// An address and its network.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.parse().ok().filter(|&prefix| prefix <= most)?;
    Some((address, prefix))
}

pub(super) fn make(settings: &Reader<'_>, place: Place<'_>) -> Built {
    let mut config = vnet::Config { interfaces: Vec::new(), routes: routes(settings, place)? };
    settings.tables("interface", "<below>", |below, table| {
        config.interfaces.push(interface(below, table)?);
        Ok(())
    })?;
    // An interface that is the only one needs no table of its own.
    let keys = ["addresses", "mtu", "broadcast"].map(|key| settings.peek(key).is_some());
    if keys.contains(&true) || config.interfaces.is_empty() {
        let below = place.below.first().copied().unwrap_or_default();
        config.interfaces.insert(0, interface(below, settings)?);
    }
    let node = Vnet::new(config).map_err(|error| BuildError::refused(&error))?;
    Ok(Box::new(node))
}

fn interface(below: &str, settings: &Reader<'_>) -> Result<Interface, BuildError> {
    let mut interface = Interface::new(below, Ipv4Addr::UNSPECIFIED.into(), 0);
    interface.addresses = settings.texts(
        "addresses",
        "our addresses there, and how many bits of each name the network",
        ADDRESS,
        network,
    )?;
    settings.maybe_octets(
        "mtu",
        "the largest unit that is handed to the layer below",
        1..=65535,
        &mut interface.mtu,
        "what the layer below says",
    )?;
    settings.boolean("broadcast", "whether what is for all hosts goes there too", &mut interface.broadcast)?;
    if interface.addresses.is_empty() {
        return Err(settings.missing("addresses", "a list of our addresses there"));
    }
    Ok(interface)
}

fn routes(settings: &Reader<'_>, place: Place<'_>) -> Result<Vec<Route>, BuildError> {
    const EXPECTED: &str =
        "the name of a layer below, under \"default\" or a network such as \"10.1.0.0/16\" or \"fd01::/16\"";
    const MEANING: &str = "by which layer below the hosts of a network are reached straight";
    let read = settings.pairs("routes", "<network>", MEANING, EXPECTED, |to, below| {
        let networks = match to {
            "default" => vec![(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)],
            to => vec![network(to)?],
        };
        place.below.contains(&below).then(|| {
            let route = |(network, prefix)| Route { network, prefix, below: below.to_owned() };
            networks.into_iter().map(route).collect::<Vec<_>>()
        })
    });
    Ok(read?.into_iter().flatten().collect())
}
