//! What stands between the hosts: switches, and lines that run on lanes of their own.

use super::draw::{APART, BOX, GAP, NAME, PAD, Page, Plugs, SMALL, centred, count, polyline, rectangle};
use crate::figure::draw::{GREY, INK};
use crate::figure::text::{clean, width};
use crate::scenario::Scenario;

/// Between two lanes on which lines run.
const LANE: f64 = 36.0;
const SWITCH: &str = "#f6e3c5";
const WIRE: &str = "#0072b2";

/// A line that is to be drawn between two plugs.
struct Run {
    words: String,
    from: (f64, f64),
    to: (f64, f64),
}

impl Page {
    /// Draws switches and lines below the hosts.
    pub(super) fn media(&mut self, scenario: &Scenario, plugs: &Plugs) {
        let hosts_end = self.bottom;
        let switches = self.place_switches(scenario, plugs);
        let mut runs = Vec::new();
        let lines = scenario.link.iter().map(|(name, link)| {
            let [one, other] = &link.ends;
            let ends = [one.as_str(), other.as_str()];
            (ends, format!("{name}: {}", link.words()))
        });
        // A ring is drawn hop by hop.
        let rings = scenario.ring.iter().flat_map(|(name, ring)| {
            let words = format!("{name}: {}", ring.words());
            ring.hops().map(move |hop| (hop, words.clone()))
        });
        for ([one, other], words) in lines.chain(rings) {
            // The height of a switch is known when it is known how many lines run above it.
            let side = |end: &str| {
                let port = switches.iter().find_map(|switch| switch.port(end));
                plugs.get(end).copied().or_else(|| Some((port?, 0.0)))
            };
            // An end that is nowhere is refused elsewhere.
            let (Some(from), Some(to)) = (side(one), side(other)) else {
                continue;
            };
            let words = clean(&words);
            runs.push(Run { words, from, to });
        }
        let lanes = lanes(&runs);
        let used = lanes.iter().map(|lane| lane + 1).max().unwrap_or(0);
        let switch_top = hosts_end + LANE * (count(used) + 0.4);
        for (run, lane) in runs.iter().zip(&lanes) {
            let y = hosts_end + LANE * (count(*lane) + 0.9);
            let foot = |(_, bottom): (f64, f64)| if bottom == 0.0 { switch_top } else { bottom };
            let points = [(run.from.0, foot(run.from)), (run.from.0, y), (run.to.0, y), (run.to.0, foot(run.to))];
            self.lines = core::mem::take(&mut self.lines).add(polyline(&points, WIRE, 2.2));
            let crossing: Vec<f64> = runs
                .iter()
                .flat_map(|other| [other.from.0, other.to.0])
                .filter(|x| *x != run.from.0 && *x != run.to.0)
                .collect();
            let (left, right) = run.words_at(&crossing);
            let back = rectangle(left, y - 20.0, right - left, 16.0, 0.0).set("fill", "#ffffff");
            self.notes = core::mem::take(&mut self.notes).add(back);
            self.note(centred(&run.words, f64::midpoint(left, right), y - 7.0, SMALL, GREY));
            self.right = self.right.max(right);
            self.bottom = self.bottom.max(y + 8.0);
        }
        for switch in &switches {
            self.switch(switch, switch_top);
        }
    }

    /// Where the switches go: each port below what it leads to where there is room for that, otherwise close together.
    fn place_switches<'s>(&self, scenario: &'s Scenario, plugs: &Plugs) -> Vec<Placed<'s>> {
        let spread: Vec<Placed<'_>> =
            scenario.switch.keys().filter_map(|name| Placed::below(scenario, name, plugs)).collect();
        let clear = |(number, one): (usize, &Placed<'_>)| {
            let before = spread.iter().take(number);
            before.into_iter().all(|other| one.right + GAP < other.left || other.right + GAP < one.left)
        };
        if spread.len() == scenario.switch.len() && spread.iter().enumerate().all(clear) {
            return spread;
        }
        let middle = |name: &str| {
            let ours = |end: &String| end.split_once('.').is_some_and(|(owner, _)| owner == name);
            let near = scenario.link.values().filter(|link| link.ends.iter().any(ours));
            let places: Vec<f64> =
                near.flat_map(|link| &link.ends).filter_map(|end| plugs.get(end)).map(|(x, _)| *x).collect();
            places.iter().sum::<f64>() / count(places.len().max(1))
        };
        let mut order: Vec<_> = scenario.switch.iter().collect();
        order.sort_by(|(one, _), (other, _)| middle(one).total_cmp(&middle(other)));
        let mut free = PAD;
        let mut placed = Vec::new();
        for (name, switch) in order {
            let wide = (38.0 * count(switch.ports)).max(name_width(name));
            let step = wide / count(switch.ports.max(1));
            let ports = (0..switch.ports).map(|port| (port, free + step * (count(port) + 0.5)));
            placed.push(Placed { name, about: switch.words(), ports: ports.collect(), left: free, right: free + wide });
            free += wide + APART;
        }
        // In the middle below the hosts, where that is not too far left.
        let shift = ((self.right + PAD - (free - APART)) / 2.0 - PAD / 2.0).max(0.0);
        for switch in &mut placed {
            switch.left += shift;
            switch.right += shift;
            for (_, x) in &mut switch.ports {
                *x += shift;
            }
        }
        placed
    }

    fn switch(&mut self, switch: &Placed<'_>, top: f64) {
        let wide = switch.right - switch.left;
        let shape = rectangle(switch.left, top, wide, BOX + 10.0, 2.0);
        let shape = shape.set("fill", SWITCH).set("stroke", INK);
        self.boxes = core::mem::take(&mut self.boxes).add(shape);
        for (port, x) in &switch.ports {
            self.note(centred(&port.to_string(), *x, top + 13.0, SMALL * 0.85, GREY));
        }
        let middle = f64::midpoint(switch.left, switch.right);
        self.note(centred(&clean(switch.name), middle, top + 27.0, NAME, INK));
        self.note(centred(&clean(&switch.about), middle, top + 43.0, SMALL, GREY));
        self.right = self.right.max(switch.right);
        self.bottom = self.bottom.max(top + BOX + 10.0);
    }
}

/// A switch and where it goes.
struct Placed<'s> {
    name: &'s str,
    about: String,
    ports: Vec<(usize, f64)>,
    left: f64,
    right: f64,
}

impl<'s> Placed<'s> {
    /// Each port below what it leads to; `None` where that is not possible.
    fn below(scenario: &'s Scenario, name: &'s str, plugs: &Plugs) -> Option<Self> {
        let switch = scenario.switch.get(name)?;
        let mut ports = Vec::new();
        for port in 0..switch.ports {
            let ours = format!("{name}.{port}");
            let peer = scenario.link.values().find_map(|link| match &link.ends {
                [one, other] if *one == ours => Some(other),
                [one, other] if *other == ours => Some(one),
                _ => None,
            });
            let x = plugs.get(peer?)?.0;
            if ports.iter().any(|(_, other): &(usize, f64)| (x - other).abs() < 30.0) {
                return None;
            }
            ports.push((port, x));
        }
        let (first, last) =
            ports.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), (_, x)| (a.min(*x), b.max(*x)));
        if ports.is_empty() {
            return None;
        }
        let half = ((last - first) / 2.0 + 28.0).max(name_width(name) / 2.0);
        let middle = f64::midpoint(first, last);
        Some(Self { name, about: switch.words(), ports, left: middle - half, right: middle + half })
    }

    /// The place of the port that an end of a line names.
    fn port(&self, end: &str) -> Option<f64> {
        let (name, port) = end.split_once('.')?;
        let port: usize = port.parse().ok()?;
        let found = self.ports.iter().find(|(number, _)| *number == port);
        found.filter(|_| name == self.name).map(|(_, x)| *x)
    }
}

impl Run {
    /// From where to where it needs its lane, words included.
    fn extent(&self) -> (f64, f64) {
        let (left, right) = self.ends();
        let (words_left, words_right) = self.words_at(&[]);
        (left.min(words_left), right.max(words_right))
    }

    fn ends(&self) -> (f64, f64) {
        (self.from.0.min(self.to.0), self.from.0.max(self.to.0))
    }

    /// Where its words go: above the middle of the line, or further to a side where another line goes down there, or beside a
    /// line that goes straight down.
    fn words_at(&self, crossing: &[f64]) -> (f64, f64) {
        let wide = width(&self.words, SMALL) + 8.0;
        let (left, right) = self.ends();
        if right - left < wide + 8.0 {
            return (right + 5.0, right + 5.0 + wide);
        }
        let room = right - left - wide;
        let from = [0.5, 0.25, 0.75, 0.1, 0.9].map(|share| left + room * share);
        let clear = |from: &&f64| crossing.iter().all(|x| *x < **from - 3.0 || *x > **from + wide + 3.0);
        let from = from.iter().find(clear).copied().unwrap_or(left + room / 2.0);
        (from, from + wide)
    }
}

/// For each run the first lane on which it meets no other.
fn lanes(runs: &[Run]) -> Vec<usize> {
    let mut taken: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut lanes = Vec::new();
    for run in runs {
        let (left, right) = run.extent();
        let clear = |row: &Vec<(f64, f64)>| row.iter().all(|(l, r)| right + 8.0 < *l || *r + 8.0 < left);
        let lane = taken.iter().position(clear).unwrap_or(taken.len());
        if lane == taken.len() {
            taken.push(Vec::new());
        }
        if let Some(row) = taken.get_mut(lane) {
            row.push((left, right));
        }
        lanes.push(lane);
    }
    lanes
}

/// How wide a switch must be for its name and what is said of it.
fn name_width(name: &str) -> f64 {
    (width(&clean(name), NAME) + 2.0 * PAD).max(160.0)
}
