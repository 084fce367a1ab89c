//! From the rings of a scenario to media in the world.

use kumiki_sim::World;

use super::fault::ConfigError;
use super::media::{LineEnds, Random, device, has_addresses, plug_in, seed_of};
use crate::scenario::{Ring, Scenario};
use kumiki_media::Step;

/// Puts the rings of `scenario` into `world`.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the top of the scenario.
pub(super) fn add_rings(scenario: &Scenario, ends: &mut LineEnds<'_>, world: &mut World) -> Result<(), ConfigError> {
    for (name, ring) in &scenario.ring {
        let steps = scenario.ring_changes(name)?;
        add_ring(name, (ring, &steps), scenario, ends, world).map_err(|fault| fault.under(&["ring", name]))?;
    }
    Ok(())
}

fn add_ring(
    name: &str,
    (ring, steps): (&Ring, &[Step]),
    scenario: &Scenario,
    ends: &mut LineEnds<'_>,
    world: &mut World,
) -> Result<(), ConfigError> {
    let medium = ring.ring()?;
    let medium = if let Some(most) = ends.most_waiting { medium.bounded(most) } else { medium };
    let stations = ring.ends.iter().map(|end| (ring.station(end).to_owned(), address(scenario, end)));
    let mut built = medium.element(stations, seed_of(ends.seed, name, Random::Medium))?;
    ends.occupied.watch(name, &mut built);
    let element = world.add_element(name, Box::new(built));
    for (port, end) in ring.ends.iter().enumerate() {
        has_addresses((port, end), ("the stations of a ring have addresses", &["llc_snap", "fddi"]), scenario)?;
        let seed = || seed_of(ends.seed, name, Random::End(port));
        let wrong = medium.toward(end, steps);
        plug_in(name, (element, port), (end, device(end, ends)?), wrong, seed, world);
    }
    Ok(())
}

/// The address by which an adapter knows which frames to copy: that of the FDDI node on it. Of an end that is no host
/// of its own it copies all.
fn address(scenario: &Scenario, end: &str) -> Option<kumiki_wire::inet::ethernet::MacAddr> {
    let (host, device) = end.split_once('.')?;
    let host = scenario.host.get(host)?;
    let graph = host.graph.as_ref()?;
    let mut nodes = graph.nodes().into_iter();
    let node = nodes.find(|node| host.kind_of(node) == "fddi" && graph.below(node).contains(&device))?;
    host.settings.get(node)?.get("address")?.as_str()?.parse().ok()
}
