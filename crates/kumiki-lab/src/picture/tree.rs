//! Graphs as indented trees.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::stack::Stack;
use super::{service, stacks};
use crate::scenario::Scenario;

pub(super) fn document(scenario: &Scenario) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", scenario.title);
    for (name, stack) in stacks(scenario) {
        let profile = stack.profile().map(|profile| format!(", profile {profile}"));
        let _ = writeln!(out, "\nhost {name}{}", profile.unwrap_or_default());
        let mut tree = Tree { scenario, host: name, stack: &stack, shown: BTreeSet::new(), out: &mut out };
        tree.roots();
    }
    for (name, switch) in &scenario.switch {
        let (kind, ports) = (&switch.kind, switch.ports);
        let _ = writeln!(out, "\nswitch {name}, {kind}, {ports} ports, {}", switch.words());
        for channel in switch.channels() {
            let _ = writeln!(out, "  {channel}");
        }
    }
    if !scenario.link.is_empty() {
        out.push_str("\nlines\n");
    }
    for (name, link) in &scenario.link {
        let [one, other] = &link.ends;
        let _ = writeln!(out, "  {name}: {one} -- {other}, {}", link.words());
    }
    if !scenario.ring.is_empty() {
        out.push_str("\nrings\n");
    }
    for (name, ring) in &scenario.ring {
        let stations = ring.ends.join(" -- ");
        let _ = writeln!(out, "  {name}: {stations}, {}", ring.words());
    }
    out.push_str("\nloads\n");
    for (name, load) in &scenario.load {
        let (kind, from, to) = (&load.kind, load.from.0.join(", "), load.to.0.join(", "));
        let _ = writeln!(out, "  {name}: {kind}, {from} -> {to}");
    }
    if !scenario.event.is_empty() {
        out.push_str("\nevents\n");
    }
    for event in &scenario.event {
        let _ = writeln!(out, "  {event}");
    }
    out
}

struct Tree<'a> {
    scenario: &'a Scenario,
    host: &'a str,
    stack: &'a Stack<'a>,
    shown: BTreeSet<&'a str>,
    out: &'a mut String,
}

impl<'a> Tree<'a> {
    fn roots(&mut self) {
        let nodes = self.stack.nodes();
        let lower: BTreeSet<&str> = nodes.iter().flat_map(|node| self.stack.below(node)).copied().collect();
        for node in nodes.iter().copied().filter(|node| !lower.contains(node)) {
            self.node(node, "  ", "  ", false);
        }
        // Layers that stand on each other in a circle have nothing above them to begin with.
        for node in nodes {
            if !self.shown.contains(node) {
                self.node(node, "  ", "  ", false);
            }
        }
    }

    /// Writes `node` after `lead` and what is below it after `indent`.
    fn node(&mut self, node: &'a str, lead: &str, indent: &str, provider: bool) {
        let kind = self.stack.kind(node);
        let mut words = node.to_owned();
        if kind != node {
            let _ = write!(words, " ({kind})");
        }
        if let Some(service) = service(kind).filter(|_| provider) {
            let _ = write!(words, ": {service}");
        }
        if self.stack.is_device(node) {
            words.push_str(": device");
            let plug = format!("{}.{node}", self.host);
            for (name, _) in self.scenario.link.iter().filter(|(_, link)| link.ends.contains(&plug)) {
                let _ = write!(words, " on line {name}");
            }
            let mut rings = self.scenario.ring.iter();
            if let Some((name, _)) = rings.find(|(_, ring)| ring.ends.contains(&plug)) {
                let _ = write!(words, " on ring {name}");
            }
        }
        let again = !self.shown.insert(node) && !self.stack.below(node).is_empty();
        if again {
            words.push_str(", as above");
        }
        let _ = writeln!(self.out, "{lead}{words}");
        if again {
            return;
        }
        let below = self.stack.below(node);
        for (number, lower) in below.iter().enumerate() {
            let (branch, bar) = if number + 1 == below.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.node(lower, &format!("{indent}{branch}"), &format!("{indent}{bar}"), true);
        }
    }
}
