//! What a file does not say of its network and what follows from its lines: ports, addresses, channels and routes.
//!
//! Only what is not given is filled in, and only for IPv4:
//!
//! - An end of a line that names a host or a switch alone is its one device, or the switch's next port; a switch has as
//!   many ports as lines end on it.
//! - An `ip` without an address gets one: of the network of its neighbours where one of them has, else of 10.0.0.0/8, a
//!   network for all that is connected without a router. `eth` and `fddi` get a MAC address, `arp`, `atm_arp` and
//!   `mapos` the address of the `ip` on them, which asks them for next hops.
//! - Hosts that speak over an ATM line without ATMARP get a permanent channel for each pair that a load joins (VCI 100
//!   and up), through switches whose `channels` are not given; where they are, the first that leads there is used.
//! - An `ip` without `routes` gets the shortest to every network that hosts with `forwarding` lead to.
//!
//! - A line whose `queue_frames` is said in products of bandwidth and delay, as "1 bdp", has so many frames as go into
//!   its rate and the longest least round trip of the loads that cross it.
//! - A load that calls a host by an address of its choice says at which end that is.
//! - Which way routes lead, so that limits, times and these queues are those of the lines that are crossed.
//!
//! Whether there is a way for each load, and whether the routes that are given lead there, is said here, too.

mod addresses;
mod called;
mod circuits;
mod followed;
mod plugs;
mod queues;
mod routes;
#[cfg(test)]
mod tests;

use super::Scenario;
use crate::topology::{Topology, place};
pub(super) use addresses::Interface;
use kumiki_config::error::ConfigError;
pub(super) use plugs::plug;

/// Fills in what is not given; the interfaces of all hosts.
pub(super) fn settle(scenario: &mut Scenario) -> Result<Vec<Interface>, ConfigError> {
    plugs::settle(scenario)?;
    let interfaces = addresses::settle(scenario)?;
    called::settle(scenario, &interfaces)?;
    circuits::settle(scenario, &interfaces);
    let given = routes::given(scenario);
    routes::settle(scenario, &interfaces);
    // Whoever follows routes by addresses goes astray where one is of two hosts.
    super::check::addresses(scenario)?;
    followed::check(scenario, &interfaces, &given)?;
    scenario.routed = followed::ways(scenario, &interfaces);
    queues::settle(scenario)?;
    Ok(interfaces)
}

/// That the network can work, where all values in it are right: MAC addresses are found, and for each load there is a
/// way.
pub(super) fn check(scenario: &Scenario, interfaces: &[Interface]) -> Result<(), ConfigError> {
    addresses::resolved(scenario, interfaces)?;
    addresses::discovered(scenario)?;
    ways(scenario)?;
    followed::own(scenario, interfaces)
}

/// For each load there is a way to each of its readers.
fn ways(scenario: &Scenario) -> Result<(), ConfigError> {
    let topology = Topology::of(scenario);
    for (name, load) in &scenario.load {
        for (from, to) in load.pairs() {
            let called = topology.called(from, to);
            let [from, to] = [from, to].map(place);
            let are_there = [from, to].iter().all(|host| scenario.host.contains_key(*host));
            if !are_there || from == to || topology.shortest(from, called).is_some() {
                continue;
            }
            // Where its host can be reached, it is the address that cannot.
            let is_address = called != to && topology.shortest(from, to).is_some();
            let path = ["load", name, if is_address { "to_address" } else { "to" }];
            return Err(match topology.obstacle(from, to) {
                Some(host) => {
                    ConfigError::at(path, format!("{host}, on the way from {from} to {to}, does not forward"))
                        .expected(format!("forwarding = true for the ip of {host}"))
                        .of_topology()
                }
                None => ConfigError::at(path, format!("no line leads from {from} to {called}"))
                    .expected("lines, channels of switches, and hosts with forwarding = true between them")
                    .of_topology(),
            });
        }
    }
    Ok(())
}

/// A name with its number, so that s10 comes behind s9.
fn natural(name: &str) -> (&str, u64, &str) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name.get(stem.len()..).and_then(|digits| digits.parse().ok());
    (stem, number.map_or(0, |number: u64| number.saturating_add(1)), name)
}
