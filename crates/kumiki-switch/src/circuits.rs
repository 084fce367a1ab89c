//! Whether the permanent circuits of a configuration can be: each end is a channel that its port has, no channel is in
//! two of them, and where XOT sets one up, it says of packets and windows what the packet layer above it uses.

use std::collections::BTreeMap;

use kumiki_x25::x25_switch::CircuitEnd;

use super::config::{Config, Kind, Port};
use kumiki_config::ConfigError;
use kumiki_config::quantity::{self, Octets};

/// Looks at all ends of all circuits.
///
/// # Errors
/// A [`ConfigError`] at the end that cannot be.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    let mut taken = BTreeMap::new();
    for (number, places) in config.switch.circuits.iter().enumerate() {
        for (key, place) in ["a", "b"].into_iter().zip(places) {
            let number = number.to_string();
            let fault = |why: String| ConfigError::at(["circuit", &number, key], why);
            let name = format!("{}:{}", place.port, place.channel);
            let of = config.ports.iter().find(|port| port.name == place.port);
            if let Some(port) = of
                && let Some((why, right)) = lacks(port, place)
            {
                return Err(fault(why).expected(right));
            }
            let end = format!("circuit.{number}.{key}");
            if let Some(other) = taken.insert(name.clone(), end) {
                let why = format!("this is the end of two circuits, also as {other}");
                return Err(fault(why).expected("a channel that no other circuit has"));
            }
        }
    }
    config.ports.iter().try_for_each(called)?;
    config.ports.iter().try_for_each(flow)
}

/// Why a port has no such channel, and what would be right.
fn lacks(port: &Port, place: &CircuitEnd) -> Option<(String, String)> {
    let (name, channel) = (&port.name, place.channel);
    if matches!(port.kind, Kind::Xot { .. }) {
        let known: Vec<&str> = permanent(port).map(|(channel, _)| channel).collect();
        if known.contains(&channel.to_string().as_str()) {
            return None;
        }
        let table = format!("a table [port.{name}.xot.permanent.{channel}]");
        return Some(match known.as_slice() {
            [] => ("the port has no permanent circuits".to_owned(), table),
            _ => (
                format!("the port has permanent circuits of other channels alone: {}", known.join(", ")),
                format!("one of these, or {table}"),
            ),
        });
    }
    let most = port.x25.get("permanent").and_then(toml::Value::as_integer);
    let most = most.unwrap_or(0);
    if i64::from(channel) <= most {
        return None;
    }
    let room = format!("x25 = {{ permanent = {channel}, first_two_way = {} }}", channel.saturating_add(1));
    Some(if most == 0 {
        ("the port has no permanent circuits".to_owned(), format!("room for it: {room}"))
    } else {
        (
            format!("the port's permanent circuits end with {most}"),
            format!("a channel from 1 to {most}, or more room: {room}"),
        )
    })
}

/// The tables of XOT's permanent circuits, by channel.
fn permanent(port: &Port) -> impl Iterator<Item = (&str, &toml::Value)> {
    let tables = port.xot.get("permanent").and_then(toml::Value::as_table);
    tables.into_iter().flatten().map(|(channel, table)| (channel.as_str(), table))
}

/// Whether somebody sets up each circuit over XOT: we, or a peer that can call.
fn called(port: &Port) -> Result<(), ConfigError> {
    let Kind::Xot { listen: None, .. } = &port.kind else {
        return Ok(());
    };
    for (channel, table) in permanent(port) {
        if table.get("peer").is_none() {
            let path = ["port", &port.name, "xot", "permanent", channel];
            let why = "without a peer the peer sets it up, and no calls come in by this port";
            return Err(ConfigError::at(path, why).expected("`peer` here, or `listen` of the port"));
        }
    }
    Ok(())
}

/// Whether XOT says of each permanent circuit what x25 does there: RFC 1613 section 6.5 has the ends compare that, and
/// neither of them sees the other layer.
fn flow(port: &Port) -> Result<(), ConfigError> {
    if !matches!(port.kind, Kind::Xot { .. }) {
        return Ok(());
    }
    for (channel, table) in permanent(port) {
        for (key, of_x25, usual, unit) in
            [("window", "default_window", 2, Unit::Packets), ("packet", "default_packet", 128, Unit::Octets)]
        {
            let (own, above) = (table.get(key), port.x25.get(of_x25));
            // What is no such number is told where the layers are built.
            let (Some(said), Some(used)) = (unit.of(own, usual), unit.of(above, usual)) else {
                continue;
            };
            if said == used {
                continue;
            }
            let (said, used) = (unit.written(said), unit.written(used));
            let mut path = vec!["port", &port.name, "xot", "permanent", channel];
            path.extend(own.map(|_| key));
            let why = format!("the circuit is set up with {key} = {said}, and x25 uses {of_x25} = {used} for it");
            let right = format!("{key} = {used} here, or {of_x25} = {said} in x25 of the port");
            return Err(ConfigError::at(path, why).expected(right));
        }
    }
    Ok(())
}

/// In what a size of flow control is written.
#[derive(Clone, Copy)]
enum Unit {
    Packets,
    Octets,
}

impl Unit {
    /// The number that is meant; none where it is no such thing.
    fn of(self, value: Option<&toml::Value>, usual: u64) -> Option<u64> {
        let Some(value) = value else {
            return Some(usual);
        };
        match self {
            Self::Packets => value.as_integer()?.try_into().ok(),
            Self::Octets => quantity::parse::<Octets>(value.as_str()?).ok().map(Octets::count),
        }
    }

    fn written(self, number: u64) -> String {
        match self {
            Self::Packets => number.to_string(),
            Self::Octets => format!("\"{number} B\""),
        }
    }
}
