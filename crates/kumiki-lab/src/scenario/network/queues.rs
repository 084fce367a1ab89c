//! Queues that are as long as what is under way on their path: `queue_frames = "1 bdp"`.

use std::collections::BTreeMap;

use kumiki_graph::Duration;

use super::super::fault::Fault;
use super::super::{Link, Scenario};
use crate::medium::Line;
use crate::quantity::{self, Octets};
use crate::topology::{Topology, place};

/// What a link carries that has no IP, or one that does not say how long its datagrams are.
const USUAL_MTU: u64 = 1500;

/// More than that are no product of anything.
const MOST: f64 = 1000.0;

/// What a `queue_frames` that is said in products has as its unit.
const UNIT: &str = "bdp";

/// Puts a number of frames in the place of each `queue_frames` that is a product of bandwidth and delay.
pub(super) fn settle(scenario: &mut Scenario) -> Result<(), Fault> {
    for (name, link) in scenario.link.iter().filter(|(_, link)| times(link).is_none()) {
        readable(link).map_err(|fault| fault.under(&["link", name]))?;
    }
    let is_wanted = |link: &&Link| times(link).is_some();
    if !scenario.link.values().any(|link| is_wanted(&link)) {
        return Ok(());
    }
    let delays = delays(scenario);
    let mut found = BTreeMap::new();
    for (name, link) in &scenario.link {
        if let Some(times) = times(link) {
            let queue = queue(scenario, (name, link), times, delays.get(name.as_str()).copied());
            found.insert(name.clone(), queue.map_err(|fault| fault.under(&["link", name]))?);
        }
    }
    for (name, (frames, words)) in found {
        if let Some(link) = scenario.link.get_mut(&name) {
            link.settings.insert("queue_frames".to_owned(), frames.into());
        }
        scenario.queues_of_paths.insert(name, words);
    }
    Ok(())
}

/// How many products its queue is to have, in the words of the file and as a number where it is one; nothing where it is said otherwise.
fn times(link: &Link) -> Option<(&str, Option<f64>)> {
    let text = link.settings.get("queue_frames")?.as_str()?;
    let number = text.trim().to_ascii_lowercase();
    let number = number.strip_suffix(UNIT)?.trim().parse::<f64>().ok();
    Some((text, number.filter(|times| *times > 0.0 && *times <= MOST)))
}

/// The longest least round trip of the loads whose way leads over each line: twice the propagation of all that is on the way.
fn delays(scenario: &Scenario) -> BTreeMap<String, Duration> {
    let topology = Topology::of(scenario);
    let propagation = |line: &str| {
        let of_line = scenario.link.get(line).and_then(|link| read(link).ok()).map(|line| line.propagation());
        let of_ring = || scenario.ring.get(line).and_then(|ring| ring.ring().ok()).map(|ring| ring.propagation);
        of_line.or_else(of_ring).unwrap_or_default()
    };
    let mut all: BTreeMap<String, Duration> = BTreeMap::new();
    for (from, to) in scenario.pairs() {
        let Some(way) = topology.way(place(from), place(to)) else {
            continue;
        };
        let one_way = way.iter().fold(0_u64, |sum, hop| sum.saturating_add(propagation(hop.line).as_nanos()));
        let both = Duration::from_nanos(one_way.saturating_mul(2));
        for hop in &way {
            let own = all.entry(hop.line.to_owned()).or_default();
            *own = (*own).max(both);
        }
    }
    all
}

/// The line, whatever its queue is.
fn read(link: &Link) -> Result<Line, Fault> {
    let mut link = link.clone();
    link.settings.remove("queue_frames");
    link.line()
}

/// How fast it is, in bits per second, where that is one rate for all frames.
fn rate(line: &Line) -> Option<u64> {
    match line {
        Line::Frames(frames) => frames.bits_per_second(),
        Line::Synchronous(synchronous) => Some(synchronous.rate),
        Line::Cells(_) | Line::Pos(_) => None,
    }
}

/// A queue that is neither a number nor a product is told with both that it may be.
fn readable(link: &Link) -> Result<(), Fault> {
    // How many frames octets are is said where they are read.
    let is_octets = |queue: &toml::Value| queue.as_str().is_some_and(|text| quantity::parse::<Octets>(text).is_ok());
    if link.settings.get("queue_frames").is_none_or(|queue| queue.as_integer().is_some() || is_octets(queue)) {
        return Ok(());
    }
    let has_rate = || read(link).is_ok_and(|line| rate(&line).is_some());
    match link.line_at_first() {
        Err(fault) if fault.path().last().is_some_and(|key| key == "queue_frames") && has_rate() => {
            let expected =
                format!("a number from 0 to {}, or a product of bandwidth and delay such as \"1 bdp\"", u32::MAX);
            Err(fault.expected(expected))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// How many frames the queue of a line has, and that in words.
fn queue(
    scenario: &Scenario,
    (name, link): (&str, &Link),
    (text, times): (&str, Option<f64>),
    delay: Option<Duration>,
) -> Result<(u32, String), Fault> {
    let wrong = |problem: &str| Fault::at(["queue_frames"], problem).found(format!("{text:?}"));
    let times = times.ok_or_else(|| {
        wrong("no number of products").expected("\"1 bdp\", \"0.5 bdp\", up to \"1000 bdp\", or so many frames")
    })?;
    let rate = rate(&read(link)?).ok_or_else(|| {
        wrong(&format!("{} has no rate by which it could be reckoned", link.medium)).expected("a number of frames")
    })?;
    let delay = delay.filter(|delay| *delay > Duration::ZERO).ok_or_else(|| {
        wrong("no load goes over this line and takes a while there, so nothing is under way")
            .expected("a number of frames, or a `propagation` on the way of a load")
    })?;
    let mtu = mtu(scenario, link);
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
fn mtu(scenario: &Scenario, link: &Link) -> u64 {
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
    link.ends.iter().filter_map(of_end).max().unwrap_or(USUAL_MTU).max(1)
}
