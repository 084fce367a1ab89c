//! From the rings of a scenario to media in the world.

use kumiki_graph::Duration;
use kumiki_link::fddi::{Fddi, FddiError, StationConfig};
use kumiki_link::{Discipline, DropTail, Impaired, Impairment, MarkFrom};
use kumiki_sim::{Plug, World};

use super::fault::{Fault, fault, unknown};
use super::hosts::kind_of;
use super::media::{Ends, device, impairment, seed_of, time};
use crate::scenario::{Ring, Scenario};

/// Puts the rings of `scenario` into `world`.
///
/// # Errors
/// A [`Fault`] whose path begins at the top of the scenario.
pub(super) fn add_rings(scenario: &Scenario, ends: &Ends<'_>, world: &mut World) -> Result<(), Fault> {
    for (name, ring) in &scenario.ring {
        add_ring(name, ring, scenario, ends, world).map_err(|fault| fault.under(&["ring", name]))?;
    }
    Ok(())
}

fn add_ring(name: &str, ring: &Ring, scenario: &Scenario, ends: &Ends<'_>, world: &mut World) -> Result<(), Fault> {
    let mut stations = stations(ring)?;
    for (station, end) in stations.iter_mut().zip(&ring.ends) {
        station.address = address(scenario, end);
    }
    let queue = ring.queue_frames.map_or(DropTail::UNLIMITED, |frames| DropTail::frames(frames.into()));
    let discipline = || -> Box<dyn Discipline> {
        match ring.mark_frames {
            None => Box::new(queue),
            Some(frames) => Box::new(MarkFrom { room: queue, frames: frames.into() }),
        }
    };
    let queues = stations.iter().map(|_| discipline()).collect();
    let built = Fddi::with_disciplines(&stations, queues).map_err(said)?;
    let element = world.add_element(name, Box::new(built));
    for (port, end) in ring.ends.iter().enumerate() {
        let plug = device(end, ends)?;
        let impair = ring.impair.as_ref();
        let impair = impair.filter(|it| it.toward.as_ref().is_none_or(|toward| toward == end));
        let Some(impair) = impair else {
            world.plug(Plug::Port(element, port), plug);
            continue;
        };
        let impairment = impairment(impair, false).map_err(|it| it.under(&["impair"]))?;
        let seed = seed_of(ends.seed, &format!("{name} to {end}"), 0);
        let between = Impaired::new(impairment, Impairment::default(), seed);
        let between = world.add_element(&format!("{name} to {end}"), Box::new(between));
        world.plug(Plug::Port(element, port), Plug::Port(between, 0));
        world.plug(Plug::Port(between, 1), plug);
    }
    Ok(())
}

/// The stations of `ring`, without their addresses.
fn stations(ring: &Ring) -> Result<Vec<StationConfig>, Fault> {
    if ring.medium != "fddi" {
        return Err(unknown(&["medium"], "medium of a ring", &ring.medium, &["fddi"]));
    }
    let usual = StationConfig::default();
    let or = |key, text: &Option<String>, usual| match text {
        Some(_) => time(key, text.as_ref()),
        None => Ok(usual),
    };
    let station = StationConfig {
        address: None,
        latency: or("latency", &ring.latency, usual.latency)?,
        propagation: or("propagation", &ring.propagation, Duration::ZERO)?,
        ttrt: or("ttrt", &ring.ttrt, usual.ttrt)?,
    };
    Ok(vec![station; ring.ends.len()])
}

/// The ring that `ring` describes, as far as that can be said without its hosts.
///
/// # Errors
/// A [`Fault`] whose path begins at the ring.
pub(crate) fn of(ring: &Ring) -> Result<Fddi, Fault> {
    Fddi::new(&stations(ring)?).map_err(said)
}

fn said(error: FddiError) -> Fault {
    let key = match error {
        FddiError::Stations(_) => "ends",
        FddiError::Latency(_) => "latency",
        FddiError::Target { .. } => "ttrt",
    };
    fault(&[key], error.to_string())
}

/// The address by which an adapter knows which frames to copy: that of the FDDI node on it. Without one it copies all.
fn address(scenario: &Scenario, end: &str) -> Option<kumiki_wire::inet::ethernet::MacAddr> {
    let (host, device) = end.split_once('.')?;
    let host = scenario.host.get(host)?;
    let graph = host.graph.as_ref()?;
    let mut nodes = graph.nodes().into_iter();
    let node = nodes.find(|node| kind_of(host, node) == "fddi" && graph.below(node).contains(&device))?;
    host.settings.get(node)?.get("address")?.as_str()?.parse().ok()
}
