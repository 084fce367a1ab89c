//! From a node's settings in a scenario to a protocol: quantities are read in the notation of scenarios, and
//! [`kumiki_stack`] does the rest.

use core::net::{IpAddr, Ipv4Addr};
use kumiki_wire::atm::cell::Vc;

use kumiki_graph::{Address, Coalesce, Duration, Protocol};
use kumiki_osi_service::x25::Number;
use kumiki_stack::{BuildError, Form, Problem, Setting, Settings, Value};

use super::fault::{Fault, fault, quantity, unknown};
use super::hosts::kind_of;
use crate::quantity::Octets;
use crate::scenario::Host;

/// The words for [`Coalesce`].
pub(super) const COALESCE: [(&str, Coalesce); 3] = Coalesce::WORDS;

/// What a node needs to know of its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
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
/// A [`Fault`] whose path begins at the node.
pub(super) fn build(kind: &str, settings: &toml::Table, place: Place<'_>) -> Result<Option<Box<dyn Protocol>>, Fault> {
    if !kumiki_stack::kinds().any(|known| known == kind) {
        return Ok(None);
    }
    let known = kumiki_stack::settings(kind, &Settings::new());
    let mut read = table(&mut Vec::new(), settings, &known)?;
    if kind == "tcp" {
        read.set("limits", true);
        if place.trace {
            read.set("trace", true);
        }
    }
    let below: Vec<&str> = place.below.iter().map(String::as_str).collect();
    let site = kumiki_stack::Place { below: &below, mtu: mtu(place) };
    kumiki_stack::build(kind, &read, site).map(Some).map_err(said)
}

/// The largest MTU of the IP (version 4) right below, where there is one.
fn mtu(place: Place<'_>) -> Option<u32> {
    let ip = place.below.iter().find(|node| kind_of(place.host, node) == "ip")?;
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

/// Reads a table at `path`, whose settings are among `known`.
fn table<'a>(path: &mut Vec<&'a str>, settings: &'a toml::Table, known: &[Setting]) -> Result<Settings, Fault> {
    let mut read = Settings::new();
    for (key, value) in settings {
        path.push(key);
        read.set(key, self::value(path, value, known)?);
        path.pop();
    }
    Ok(read)
}

fn value<'a>(path: &mut Vec<&'a str>, value: &'a toml::Value, known: &[Setting]) -> Result<Value, Fault> {
    Ok(match value {
        toml::Value::Table(inner) => Value::Table(table(path, inner, known)?),
        toml::Value::String(text) => {
            let form = known.iter().find(|setting| setting.is_at(path));
            match form.map(|setting| &setting.form) {
                Some(Form::Time { .. }) => Value::Duration(quantity::<Duration>(path, text)?),
                Some(Form::Octets { .. }) => Value::Octets(quantity::<Octets>(path, text)?.count()),
                Some(Form::Boolean | Form::Number { .. } | Form::Word(_) | Form::Text(_) | Form::List(_)) | None => {
                    Value::Text(text.clone())
                }
            }
        }
        toml::Value::Integer(number) => Value::Integer(*number),
        toml::Value::Boolean(yes) => Value::Boolean(*yes),
        toml::Value::Array(values) => {
            Value::List(values.iter().map(|item| self::value(path, item, &[])).collect::<Result<_, _>>()?)
        }
        toml::Value::Float(number) => {
            let form = known.iter().find(|setting| setting.is_at(path));
            let found = fault(path, format!("this is the number {number}"));
            return Err(match form {
                Some(setting) => found.expected(expected(&setting.form)),
                None => found,
            });
        }
        toml::Value::Datetime(date) => Value::Text(date.to_string()),
    })
}

/// What is expected, with the notation where that is a quantity.
fn expected(form: &Form) -> String {
    match form {
        Form::Time { .. } => format!("{form} such as \"20 ms\""),
        Form::Octets { .. } => format!("{form}, with its unit: \"8192 B\", \"64 KiB\""),
        Form::Boolean | Form::Number { .. } | Form::Word(_) | Form::Text(_) | Form::List(_) => form.to_string(),
    }
}

/// A [`BuildError`] as a [`Fault`].
fn said(error: BuildError) -> Fault {
    let path: Vec<&str> = error.path.iter().map(String::as_str).collect();
    let last = path.last().copied().unwrap_or_default();
    match &error.problem {
        Problem::UnknownKind(known) => unknown(&path, "kind of node", &error.kind, known),
        Problem::UnknownKey(known) => unknown(&path, "setting", last, known),
        Problem::Word { found, known } => unknown(&path, "value", found, known),
        Problem::Missing { expected } => {
            let (_, above) = path.split_last().unwrap_or((&"", &[]));
            fault(above, format!("the key {last:?} is missing")).expected(expected)
        }
        Problem::Value { found, expected } => {
            let form = kumiki_stack::settings(&error.kind, &Settings::new())
                .into_iter()
                .find(|setting| setting.is_at(&path) && setting.form.to_string() == *expected);
            let expected = form.map_or_else(|| expected.clone(), |it| self::expected(&it.form));
            fault(&path, format!("this is {found}")).expected(expected)
        }
        Problem::Refused(why) => fault(&path, why.as_str()),
    }
}

/// `vpi/vci`.
///
/// # Errors
/// A [`Fault`] at `path`.
pub(super) fn channel(path: &[&str], text: &str) -> Result<Address, Fault> {
    let no_channel = || fault(path, format!("\"{text}\" is no channel")).expected("vpi/vci, as in \"0/100\"");
    Vc::circuit(text).ok_or_else(no_channel)
}

/// The number of an `x25` node, by which it is called.
///
/// # Errors
/// A [`Fault`] where there is none.
pub(super) fn number(settings: &toml::Table) -> Result<Number, Fault> {
    let text = settings.get("address").and_then(toml::Value::as_str);
    let text = text.unwrap_or_default();
    let number: Option<Number> = text.parse().ok();
    number.ok_or_else(|| {
        fault(&["address"], format!("\"{text}\" is no address of X.25")).expected("up to 15 digits, such as \"12345\"")
    })
}

/// The address of the first interface that `settings` of an `ip`, `ipv6` or `vnet` node name. Only what is needed for that is looked at; the
/// rest is judged when the node is built.
///
/// # Errors
/// A [`Fault`] where there is none.
pub(super) fn address(settings: &toml::Table) -> Result<IpAddr, Fault> {
    let tables = settings.get("interface").and_then(toml::Value::as_table);
    let first = tables.and_then(|tables| tables.iter().next());
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
