//! The programs that a workload puts on top of the hosts' graphs.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Protocol, Quality};
use kumiki_octets::Pattern;

use super::fault::{Fault, fault, quantity, unknown};
use super::protocols::{self, COALESCE};
use crate::profile::{self, Profile};
use crate::quantity::Octets;
use crate::scenario::{Host, Workload};
use crate::workload::{Sink, SinkConfig, Source, SourceConfig, Transfer};

/// The port that the reading program listens on; ttcp's own.
const PORT: u16 = 5001;

/// What to run and for how long.
#[derive(Clone, Debug)]
pub struct Load {
    /// Host and node of the writing program.
    pub from: (String, String),
    /// Host and node of the reading program.
    pub to: (String, String),
    /// What happens before this is not measured.
    pub warm_up: Duration,
    /// How long is measured, or the longest that a fixed number of messages may take.
    pub duration: Duration,
    /// Whether the run is over when the writing program is done.
    pub until_done: bool,
}

/// Programs by host and node.
#[derive(Default)]
pub struct Programs(BTreeMap<(String, String), Box<dyn Protocol>>);

impl Programs {
    /// Takes the program for `node` on `host`, if it is for one.
    pub fn take(&mut self, host: &str, node: &str) -> Option<Box<dyn Protocol>> {
        self.0.remove(&(host.to_owned(), node.to_owned()))
    }
}

/// Reads the workload and makes its programs.
///
/// # Errors
/// A [`Fault`] whose path begins at the top of the scenario.
pub fn of_workload(
    workload: &Workload,
    hosts: &BTreeMap<String, Host>,
    profiles: &BTreeMap<String, Profile>,
) -> Result<(Load, Programs), Fault> {
    let under = |fault: Fault| fault.under(&["workload"]);
    let from = place(&workload.from, "from", hosts)?;
    let to = place(&workload.to, "to", hosts)?;
    let until_done = match workload.kind.as_str() {
        "ttcp" if workload.count.is_none() => {
            return Err(under(fault(
                &["kind"],
                "ttcp writes a number of messages; give `count`",
            )));
        }
        "ttcp" => true,
        "netperf" => false,
        other => {
            return Err(under(unknown(
                &["kind"],
                "load",
                other,
                &["ttcp", "netperf"],
            )));
        }
    };
    let time = |key, text: &Option<String>| match text {
        Some(text) => quantity::<Duration>(&["workload", key], text),
        None => Ok(Duration::ZERO),
    };
    let load = Load {
        warm_up: time("warm_up", &workload.warm_up)?,
        duration: quantity(&["workload", "duration"], &workload.duration)?,
        until_done,
        from,
        to,
    };
    if load.duration.is_zero() {
        return Err(under(fault(
            &["duration"],
            "nothing can be measured in no time",
        )));
    }
    let transfer = |host: &str| {
        profiles
            .get(host)
            .map(|profile| transfer(&profile.transfer))
            .unwrap_or_default()
    };
    let message = octets("message", &workload.message)?;
    if message == 0 {
        return Err(under(fault(
            &["message"],
            "a message has at least one octet",
        )));
    }
    let pattern = pattern(workload, message)?;
    let quality = quality(workload)?;
    let source = Source::new(SourceConfig {
        local: SocketAddr::new(address(&load.from.0, hosts)?, 0),
        peer: SocketAddr::new(address(&load.to.0, hosts)?, PORT),
        sessions: workload.sessions,
        busy: workload.busy.unwrap_or(workload.sessions),
        message,
        count: workload.count.filter(|_| until_done),
        pattern,
        start: Duration::ZERO,
        stagger: time("stagger", &workload.stagger)?,
        jitter: time("jitter", &workload.jitter)?,
        quality,
        transfer: transfer(&load.from.0),
    });
    let read = workload
        .read
        .as_ref()
        .map(|read| octets("read", read))
        .transpose()?;
    let sink = Sink::new(SinkConfig {
        local: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT),
        backlog: workload.sessions.max(1),
        read: read.unwrap_or(message),
        expect: Some(pattern),
        quality,
        transfer: transfer(&load.to.0),
    });
    let mut programs = Programs::default();
    programs.0.insert(load.from.clone(), Box::new(source));
    programs.0.insert(load.to.clone(), Box::new(sink));
    Ok((load, programs))
}

/// `host.node`, both of which there must be.
fn place(text: &str, key: &str, hosts: &BTreeMap<String, Host>) -> Result<(String, String), Fault> {
    let path = ["workload", key];
    let Some((host, node)) = text.split_once('.') else {
        return Err(fault(
            &path,
            format!("\"{text}\" names no node; write host.node"),
        ));
    };
    let names: Vec<&str> = hosts.keys().map(String::as_str).collect();
    let spec = hosts
        .get(host)
        .ok_or_else(|| unknown(&path, "host", host, &names))?;
    let layers = spec
        .graph
        .as_ref()
        .map(super::hosts::layers)
        .unwrap_or_default();
    if !layers.iter().any(|(name, _)| name == node) {
        let names: Vec<&str> = layers.iter().map(|(name, _)| name.as_str()).collect();
        return Err(unknown(&path, "node", node, &names));
    }
    Ok((host.to_owned(), node.to_owned()))
}

/// The address of `host`: that of the first of its nodes that has one.
fn address(host: &str, hosts: &BTreeMap<String, Host>) -> Result<IpAddr, Fault> {
    let spec = hosts.get(host);
    let addressed = spec
        .into_iter()
        .flat_map(|spec| &spec.settings)
        .find(|(_, settings)| {
            settings.contains_key("address") || settings.contains_key("interface")
        });
    let (node, settings) =
        addressed.ok_or_else(|| fault(&["host", host], "no node of it has an `address`"))?;
    protocols::address(settings)
        .map(IpAddr::V4)
        .map_err(|fault| fault.under(&["host", host, node]))
}

fn octets(key: &str, text: &str) -> Result<u32, Fault> {
    let path = ["workload", key];
    let octets: Octets = quantity(&path, text)?;
    u32::try_from(octets.count()).map_err(|_| fault(&path, "more than 4 GiB"))
}

fn pattern(workload: &Workload, message: u32) -> Result<Pattern, Fault> {
    Ok(match workload.pattern.as_deref().unwrap_or("ttcp") {
        "ttcp" => Pattern::Ttcp { write_len: message },
        "zeros" => Pattern::Zeros,
        "random" => Pattern::Random {
            seed: workload.seed,
        },
        "counter" => Pattern::Counter,
        other => {
            let known = ["ttcp", "zeros", "random", "counter"];
            return Err(unknown(&["workload", "pattern"], "pattern", other, &known));
        }
    })
}

fn quality(workload: &Workload) -> Result<Quality, Fault> {
    let buffer = workload
        .socket_buffer
        .as_ref()
        .map(|text| octets("socket_buffer", text))
        .transpose()?;
    let coalesce = workload.coalesce.as_ref().map(|text| {
        let found = COALESCE
            .iter()
            .find(|(name, _)| name == text)
            .map(|(_, value)| *value);
        let names: Vec<&str> = COALESCE.iter().map(|(name, _)| *name).collect();
        found.ok_or_else(|| {
            unknown(
                &["workload", "coalesce"],
                "way to treat small segments",
                text,
                &names,
            )
        })
    });
    Ok(Quality {
        send_buffer: buffer,
        receive_buffer: buffer,
        coalesce: coalesce.transpose()?,
    })
}

const fn transfer(transfer: &profile::Transfer) -> Transfer {
    Transfer {
        copies: transfer.copies,
        summed: transfer.summed,
        ready_page: transfer.ready_page,
    }
}
