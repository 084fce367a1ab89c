//! From a node's settings in a scenario to a protocol: quantities are read in the notation of scenarios, and
//! [`kumiki_stack`] does the rest.

use core::any::Any;
use core::net::{IpAddr, Ipv4Addr};

use kumiki_graph::{Coalesce, Protocol};
use kumiki_inet::tcp::{Config, Tcp};
use kumiki_osi_service::x25::Number;
use kumiki_stack::Settings;

use super::fault::{ConfigError, fault, quantity};
use crate::scenario::Host;
use kumiki_config::quantity::Octets;
use kumiki_config::settings;

/// The words for [`Coalesce`].
pub(super) const COALESCE: [(&str, Coalesce); 3] = Coalesce::WORDS;

/// What a node needs to know of its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodePlace<'a> {
    /// The host.
    pub(super) host: &'a Host,
    /// The names of the layers below, in order.
    pub(super) below: &'a [String],
    /// Keep traces of connections.
    pub(super) trace: bool,
}

/// Builds a node of kind `kind`; `None` where there is no such kind.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the node.
pub(super) fn build(
    kind: &str,
    given: &toml::Table,
    place: NodePlace<'_>,
) -> Result<Option<Box<dyn Protocol>>, ConfigError> {
    if !kumiki_stack::kinds().any(|known| known == kind) {
        return Ok(None);
    }
    let known = kumiki_stack::settings(kind, &Settings::new());
    let mut read = settings::table(&mut Vec::new(), given, &known)?;
    if kind == "tcp" {
        if !given.contains_key("record") {
            read.set("record", true);
        }
        if place.trace {
            read.set("trace", true);
        }
    }
    let below: Vec<&str> = place.below.iter().map(String::as_str).collect();
    let site = kumiki_stack::LowerLayers { below: &below, mtu: mtu(place) };
    kumiki_stack::build(kind, &read, site).map(Some).map_err(|error| settings::said(error, None, &known))
}

/// The configuration of a TCP with these settings.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the node.
pub(super) fn tcp(given: &toml::Table, place: NodePlace<'_>) -> Result<Config, ConfigError> {
    let built = build("tcp", given, place)?;
    let tcp = built.as_deref().and_then(|built| (built as &dyn Any).downcast_ref::<Tcp>());
    tcp.map(|tcp| tcp.config().clone()).ok_or_else(|| ConfigError::new("it is no TCP"))
}

/// The largest MTU of the IP (version 4) right below, where there is one.
fn mtu(place: NodePlace<'_>) -> Option<u32> {
    let ip = place.below.iter().find(|node| place.host.kind_of(node) == "ip")?;
    let empty = toml::Table::new();
    let settings = place.host.settings.get(ip).unwrap_or(&empty);
    let of = |table: &toml::Table| match table.get("mtu") {
        // Where it is wrong IP says so.
        Some(value) => quantity::<Octets>(&[], value.as_str()?).ok()?.count().try_into().ok(),
        None => Some(kumiki_inet::ip::Interface::new("", Ipv4Addr::UNSPECIFIED, 0).mtu),
    };
    match settings.get("interface").and_then(toml::Value::as_table) {
        Some(tables) => tables.values().filter_map(|it| of(it.as_table()?)).max(),
        None => of(settings),
    }
}

/// The number of an `x25` node, by which it is called.
///
/// # Errors
/// A [`ConfigError`] where there is none.
pub(super) fn number(settings: &toml::Table) -> Result<Number, ConfigError> {
    let text = settings.get("address").and_then(toml::Value::as_str);
    let text = text.unwrap_or_default();
    let number: Option<Number> = text.parse().ok();
    number.ok_or_else(|| {
        fault(&["address"], format!("\"{text}\" is no address of X.25")).expected("up to 15 digits, such as \"12345\"")
    })
}

/// The address of `interface`, or else of the first, that `settings` of an `ip`, `ipv6` or `vnet` node name. Only what
/// is needed for that is looked at; the rest is judged when the node is built.
///
/// # Errors
/// A [`ConfigError`] where there is none.
pub(super) fn address(settings: &toml::Table, interface: Option<&str>) -> Result<IpAddr, ConfigError> {
    let tables = settings.get("interface").and_then(toml::Value::as_table);
    let first = tables.and_then(|tables| {
        let wanted = tables.iter().find(|(name, _)| interface == Some(name.as_str()));
        wanted.or_else(|| tables.iter().next())
    });
    let here = settings.contains_key("address") || settings.contains_key("addresses");
    let (mut path, table) = match first {
        Some((below, table)) if !here => (vec!["interface", below.as_str()], table.as_table()),
        _ => (Vec::new(), Some(settings)),
    };
    // A node with several addresses lists them.
    let several = table.is_some_and(|table| table.contains_key("addresses"));
    let key = if several { "addresses" } else { "address" };
    path.push(key);
    let value = table.and_then(|table| table.get(key));
    let first = value.and_then(|value| value.as_array()?.first());
    let value = first.or(value);
    let text = value.and_then(toml::Value::as_str).unwrap_or_default();
    let parsed = text.split_once('/').and_then(|(address, _)| address.parse().ok());
    parsed.ok_or_else(|| {
        fault(&path, format!("\"{text}\" is no IP address with its prefix"))
            .expected("an address such as \"10.0.0.1/24\" or \"fd00::1/64\"")
    })
}
