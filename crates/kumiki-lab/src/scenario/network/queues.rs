//! Queues that are as long as what is in flight on their path: `queue_frames = "1 bdp"`.

use std::collections::BTreeMap;

use kumiki_graph::Duration;

use super::super::{Link, Ring, Scenario, Workload};
use crate::topology::{Topology, place};
use kumiki_config::error::ConfigError;
use kumiki_config::quantity::{self, Octets};
use kumiki_media::Line;

/// A ring of FDDI carries so many bits per second (ANSI X3.148).
const FDDI: u64 = 100_000_000;

/// Of each octet of a frame of SONET/SDH there are so many bits in a second: 8000 frames (ITU-T G.707).
const BITS_OF_OCTETS_OF_FRAMES: u64 = 8 * 8000;

/// What a line carries that has no IP, or one that does not say how long its datagrams are.
const USUAL_MTU: u64 = 1500;

/// More than that are no product of anything.
const MOST: f64 = 1000.0;

/// What a `queue_frames` that is said in products has as its unit.
const UNIT: &str = "bdp";

/// Puts a number of frames in the place of each `queue_frames` that is a product of bandwidth and delay.
pub(super) fn settle(scenario: &mut Scenario) -> Result<(), ConfigError> {
    for (name, switch) in &scenario.switch {
        of_ports(&switch.settings).map_err(|fault| fault.under(&["switch", name]))?;
    }
    let lines = scenario.link.iter().filter_map(|(name, link)| Some(("link", name, times(&link.settings)?)));
    let rings = scenario.ring.iter().filter_map(|(name, ring)| Some(("ring", name, times(&ring.settings)?)));
    let wanted: Vec<_> = lines.chain(rings).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let (delays, is_whole) = delays(scenario);
    let mut found = Vec::new();
    for (section, name, times) in wanted {
        let delay = delays.get(name.as_str()).copied();
        if delay.is_none() && !is_whole {
            // That a load has no way is said of the load, and not of what would be on it.
            found.push((section, name.clone(), (1, String::new())));
            continue;
        }
        let queue =
            carrier(scenario, section, name).and_then(|carrier| queue(scenario, (name, &carrier), times, delay));
        found.push((section, name.clone(), queue.map_err(|fault| fault.under(&[section, name]))?));
    }
    for (section, name, (frames, words)) in found {
        let settings = match section {
            "ring" => scenario.ring.get_mut(&name).map(|ring| &mut ring.settings),
            _ => scenario.link.get_mut(&name).map(|link| &mut link.settings),
        };
        if let Some(settings) = settings {
            settings.insert("queue_frames".to_owned(), frames.into());
        }
        scenario.queues_of_paths.insert(name, words);
    }
    Ok(())
}

/// That no queue of a switch is said in products: its ports may lead to lines of any rate.
fn of_ports(settings: &toml::Table) -> Result<(), ConfigError> {
    for (key, what) in [("queue_frames", "frames"), ("queue_cells", "cells")] {
        let text = settings.get(key).and_then(toml::Value::as_str);
        if let Some(text) = text.filter(|text| text.trim().to_ascii_lowercase().ends_with(UNIT)) {
            let problem =
                "a product of bandwidth and delay is of a line or a ring; the ports of a switch may have many rates";
            let fault = ConfigError::at([key], problem).found(format!("{text:?}"));
            return Err(fault.expected(format!("a number of {what}")));
        }
    }
    Ok(())
}

/// How many products a queue is to have, in the words of the file and as a number where it is one; nothing where it is
/// said otherwise.
fn times(settings: &toml::Table) -> Option<(&str, Option<f64>)> {
    let text = settings.get("queue_frames")?.as_str()?;
    let number = text.trim().to_ascii_lowercase();
    let number = number.strip_suffix(UNIT)?.trim().parse::<f64>().ok();
    Some((text, number.filter(|times| *times > 0.0 && *times <= MOST)))
}

/// The longest least round trip of those whose way leads over each line or ring: there and back on all that is on the
/// way. And whether all loads have one; programs of real hosts need none to each other.
fn delays(scenario: &Scenario) -> (BTreeMap<String, Duration>, bool) {
    let topology = Topology::of(scenario);
    let round_trip = |name: &str| {
        let of_line = || Some(read(scenario.link.get(name)?).ok()?.propagation().as_nanos().saturating_mul(2));
        let of_ring = || Some(around(scenario.ring.get(name)?).ok()?.as_nanos());
        of_line().or_else(of_ring).unwrap_or_default()
    };
    let mut all: BTreeMap<String, Duration> = BTreeMap::new();
    for (from, to) in scenario.pairs() {
        let Some(way) = topology.way(from, to) else {
            continue;
        };
        let back = topology.way_of_answers(to, from).unwrap_or_else(|| way.clone());
        // Half of a round trip each, for what goes there may come back by other lines.
        let halves = way.iter().chain(&back);
        let both = halves.fold(0_u64, |sum, hop| sum.saturating_add(round_trip(hop.line)));
        let both = Duration::from_nanos(both / 2);
        for hop in way.iter().chain(&back) {
            let own = all.entry(hop.line.to_owned()).or_default();
            *own = (*own).max(both);
        }
    }
    let mut pairs = scenario.load.values().flat_map(Workload::pairs);
    let is_whole = pairs.all(|(from, to)| place(from) == place(to) || topology.way(from, to).is_some());
    (all, is_whole)
}

/// The line as it is at 0 s, whatever its queue is.
fn read(link: &Link) -> Result<Line, ConfigError> {
    let mut link = link.clone();
    link.settings.remove("queue_frames");
    link.line_at_first()
}

/// How long it takes around a ring: what goes to a station and what it answers go around it once together, and each may
/// wait for the token, which is meant to be back within its target.
fn around(ring: &Ring) -> Result<Duration, ConfigError> {
    let mut own = ring.clone();
    own.settings.remove("queue_frames");
    let own = own.ring()?;
    let station = own.propagation.as_nanos().saturating_add(own.latency.as_nanos());
    let fibre = station.saturating_mul(ring.ends.len() as u64);
    Ok(Duration::from_nanos(fibre.saturating_add(own.ttrt.as_nanos())))
}

/// What has a queue: its medium, its ends, and how fast it is in bits per second, where that is one rate for all
/// frames.
struct Carrier<'a> {
    medium: &'a str,
    ends: &'a [String],
    rate: Option<u64>,
}

fn carrier<'a>(scenario: &'a Scenario, section: &str, name: &str) -> Result<Carrier<'a>, ConfigError> {
    let missing = || ConfigError::new("there is none");
    if section == "ring" {
        let ring = scenario.ring.get(name).ok_or_else(missing)?;
        around(ring)?;
        return Ok(Carrier { medium: &ring.medium, ends: &ring.ends, rate: Some(FDDI) });
    }
    let link = scenario.link.get(name).ok_or_else(missing)?;
    let rate = match read(link)? {
        Line::Frames(frames) => frames.bits_per_second(),
        Line::Synchronous(synchronous) => Some(synchronous.rate),
        Line::Pos(pos) => Some(pos.level.payload() * BITS_OF_OCTETS_OF_FRAMES),
        Line::Cells(_) => None,
    };
    Ok(Carrier { medium: &link.medium, ends: &link.ends, rate })
}

/// How many frames the queue of a line has, and that in words.
fn queue(
    scenario: &Scenario,
    (name, carrier): (&str, &Carrier<'_>),
    (text, times): (&str, Option<f64>),
    delay: Option<Duration>,
) -> Result<(u32, String), ConfigError> {
    let wrong = |problem: &str| ConfigError::at(["queue_frames"], problem).found(format!("{text:?}"));
    let times = times.ok_or_else(|| {
        wrong("no number of products").expected("\"1 bdp\", \"0.5 bdp\", up to \"1000 bdp\", or so many frames")
    })?;
    let rate = carrier.rate.ok_or_else(|| {
        wrong(&format!("{} has no rate by which it could be reckoned", carrier.medium)).expected("a number of frames")
    })?;
    let delay = delay.filter(|delay| *delay > Duration::ZERO).ok_or_else(|| {
        wrong("no load goes this way and takes a while there, so nothing is in flight")
            .expected("a number of frames, or a `propagation` on the way of a load")
    })?;
    let mtu = mtu(scenario, carrier.ends);
    #[expect(clippy::cast_precision_loss, reason = "a queue is no longer than 2^32 frames")]
    let octets = times * rate as f64 * delay.as_secs_f64() / 8.0;
    #[expect(clippy::cast_precision_loss, reason = "an MTU has few digits")]
    let frames = (octets / mtu as f64).ceil().max(1.0);
    if frames > f64::from(u32::MAX) {
        let problem = format!("{frames} frames of {mtu} B, and no queue has more than {}", u32::MAX);
        return Err(wrong(&problem).expected("fewer products, or a number of frames"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 1 to the greatest")]
    let frames = frames as u32;
    let counted = if frames == 1 { "1 frame".to_owned() } else { format!("{frames} frames") };
    let words = format!(
        "{name}: a queue of {text} is {counted} of {mtu} B: {} of a least round trip of {}",
        quantity::Rate::from_bits_per_second(rate),
        delay
    );
    Ok((frames, words))
}

/// The longest datagram that those at its ends send there.
fn mtu(scenario: &Scenario, ends: &[String]) -> u64 {
    let of_end = |end: &String| {
        let (host, device) = end.split_once('.')?;
        let host = scenario.host.get(host)?;
        let graph = host.graph.as_ref()?;
        let ip = graph.nodes().into_iter().find(|node| ["ip", "ipv6"].contains(&host.kind_of(node)))?;
        let own = host.settings.get(ip)?;
        let of_interface = own.get("interface").and_then(|it| it.get(device)?.get("mtu"));
        let text = of_interface.or_else(|| own.get("mtu"))?.as_str()?;
        Some(quantity::parse::<Octets>(text).ok()?.count())
    };
    ends.iter().filter_map(of_end).max().unwrap_or(USUAL_MTU).max(1)
}
