//! Pictures of scenarios: the protocol graphs of the hosts, and the lines between them.
//!
//! | | |
//! |---|---|
//! | [`text`] | for a terminal: each host as a tree, uppermost nodes first |
//! | [`svg()`] | SVG 1.1 in the style of the figures: hosts side by side, layers top down, media below |
//! | Left out | settings of nodes, tasks and CPUs, virtual channels in the drawing |
//!
//! A picture shows what a scenario says, and does not ask whether that would run. A layer is said to offer a service only where
//! its kind is known here.

mod draw;
mod levels;
mod media;
pub(crate) mod stack;
#[cfg(test)]
mod tests;
mod tree;

use kumiki_graph::Service;

use self::stack::Stack;
use crate::scenario::Scenario;

/// The graphs and lines of `scenario` as plain text; ends with a line feed.
#[must_use]
pub fn text(scenario: &Scenario) -> String {
    tree::document(scenario)
}

/// The graphs and lines of `scenario` as an SVG document.
#[must_use]
pub fn svg(scenario: &Scenario) -> String {
    draw::document(scenario)
}

/// The hosts with their stacks: those that write first, and those that only read last, as data flows.
fn stacks(scenario: &Scenario) -> Vec<(&str, Stack<'_>)> {
    let host = |plug: &str| plug.split_once('.').map_or(plug, |(host, _)| host).to_owned();
    let loads = scenario.load.values();
    let from: Vec<String> = loads.clone().flat_map(|load| &load.from.0).map(|from| host(from)).collect();
    let to: Vec<String> = loads.flat_map(|load| &load.to.0).map(|to| host(to)).collect();
    let mut stacks: Vec<(&str, Stack<'_>)> =
        scenario.host.keys().filter_map(|name| Some((name.as_str(), Stack::of(scenario, name)?))).collect();
    stacks.sort_by_key(|(name, _)| match *name {
        name if from.iter().any(|from| from == name) => 0,
        name if to.iter().any(|to| to == name) => 2,
        _ => 1,
    });
    stacks
}

/// What a node of this kind offers to those above it, where that is known.
fn service(kind: &str) -> Option<Service> {
    match kind {
        "tcp" => Some(Service::STREAM),
        "udp" | "ppp" | "mapos" | "sdh" | "ip" | "ipv6" | "arp" | "llc_snap" | "raw_ip" | "vc_mux" | "aal5"
        | "aal34" | "vnet" | "eth" | "llc" | "fddi" => Some(Service::UNIT_DATA),
        _ => None,
    }
}
