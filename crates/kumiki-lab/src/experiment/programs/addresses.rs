//! Where the programs of loads stand, and under which addresses they are reached.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use kumiki_graph::Address;

use super::super::fault::{ConfigError, fault, unknown};
use super::super::{hosts, protocols};
use crate::scenario::Host;

/// `host.node`, both of which there must be.
pub(super) fn place(text: &str, key: &str, hosts: &BTreeMap<String, Host>) -> Result<(String, String), ConfigError> {
    let path = [key];
    let Some((host, node)) = text.split_once('.') else {
        return Err(fault(&path, format!("\"{text}\" names no node; write host.node")));
    };
    let names = || hosts.keys().map(String::as_str).collect::<Vec<_>>();
    let spec = hosts.get(host).ok_or_else(|| unknown(&path, "host", host, &names()))?;
    let layers = spec.graph.as_ref().map(hosts::layers).unwrap_or_default();
    if !layers.iter().any(|(name, _)| name == node) {
        let names: Vec<&str> = layers.iter().map(|(name, _)| name.as_str()).collect();
        return Err(unknown(&path, "node", node, &names));
    }
    Ok((host.to_owned(), node.to_owned()))
}

/// The address under which `program` on `host` is reached at `plug`, `host.device`: that of the first node below it
/// that has one, and of several of its interfaces that on this device.
pub(super) fn address(
    (host, program): &(String, String),
    plug: Option<&str>,
    hosts: &BTreeMap<String, Host>,
) -> Result<Address, ConfigError> {
    let device = plug.and_then(|plug| plug.split_once('.')).map(|(_, device)| device.to_owned());
    let missing = || {
        let problem =
            format!("below `{program}` is no `ip`, `ipv6`, `vnet` or `x25` with an `address`, and no `loopback`");
        fault(&["host", host], problem)
    };
    let spec = hosts.get(host).ok_or_else(missing)?;
    for node in below(spec, program) {
        let settings = || spec.settings.get(&node).ok_or_else(missing);
        let found = match spec.kind_of(&node) {
            "ip" | "ipv6" | "vnet" => {
                let interfaces = spec.graph.as_ref().map(|graph| graph.below(&node)).unwrap_or_default();
                let leads = |interface: &&str| device.as_ref().is_some_and(|it| below(spec, interface).contains(it));
                let interface = interfaces.into_iter().find(leads);
                protocols::address(settings()?, interface).map(Address::from)
            }
            "x25" => protocols::number(settings()?).map(Address::from),
            "loopback" => Ok(Address::NONE),
            _ => continue,
        };
        return found.map_err(|fault| fault.under(&["host", host, &node]));
    }
    Err(missing())
}

/// `address` as programs call it: with a port, where it is one of IP.
pub(super) fn at_port(address: Address, port: u16) -> Address {
    match address.ip() {
        Some(ip) => Address::from(SocketAddr::new(ip, port)),
        None => address,
    }
}

/// The nodes below `program`, nearest first, each once.
fn below(spec: &Host, program: &str) -> Vec<String> {
    let layers = spec.graph.as_ref().map(hosts::layers).unwrap_or_default();
    let mut found = vec![program.to_owned()];
    let mut next = 0;
    while let Some(node) = found.get(next) {
        let lower: Vec<String> =
            layers.iter().filter(|(upper, _)| upper == node).flat_map(|(_, lower)| lower.iter().cloned()).collect();
        for node in lower {
            if !found.contains(&node) {
                found.push(node);
            }
        }
        next += 1;
    }
    found
}
