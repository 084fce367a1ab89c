//! What happens at given times of a run, in words: by schedules of lines, by events, and by loads that begin or stop.

use std::collections::BTreeMap;

use kumiki_graph::Duration;

use super::Scenario;
use super::event::words as words_of_set;
use kumiki_config::error::quantity;
use kumiki_config::quantity::{Quantity as _, Rate, in_seconds, parse_list};
use kumiki_media::{Step, is_named};

/// What happens at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Happening {
    /// From the beginning of the run.
    pub at: Duration,
    /// To whom: `link.line`, `ring.backbone`, `host.router`, `load.bulk`.
    pub to: String,
    /// What, in a few words: "down", "rate 5 Mb/s".
    pub what: String,
}

impl core::fmt::Display for Happening {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} {}", self.to, self.what)
    }
}

impl Happening {
    /// With its time: "at 20.5 s link.line down".
    #[must_use]
    pub fn told(&self) -> String {
        format!("at {} {self}", in_seconds(self.at))
    }
}

impl Scenario {
    /// All that happens, in order of time. Of what cannot be read there is nothing: that is told by who checks the
    /// scenario.
    #[must_use]
    pub fn happenings(&self) -> Vec<Happening> {
        let mut all = Vec::new();
        for (name, link) in &self.link {
            let steps = link.line().and_then(|line| self.changes(name, &line)).unwrap_or_default();
            all.extend(of_steps(&format!("link.{name}"), steps, &link.ends));
        }
        for (name, ring) in &self.ring {
            all.extend(of_steps(&format!("ring.{name}"), self.ring_changes(name).unwrap_or_default(), &ring.ends));
        }
        for (host, changes) in self.power().unwrap_or_default() {
            let what = |up: bool| if up { "has power again" } else { "has no power" }.to_owned();
            let to = format!("host.{host}");
            all.extend(changes.into_iter().map(|(at, up)| Happening { at, to: to.clone(), what: what(up) }));
        }
        all.extend(self.settings_changed());
        for (name, load) in self.loads() {
            for (time, what) in [(&load.start, "begins"), (&load.stop, "stops")] {
                let at = time.as_ref().and_then(|text| quantity::<Duration>(&[], text).ok());
                let at = at.filter(|at| !at.is_zero());
                all.extend(at.map(|at| Happening { at, to: format!("load.{name}"), what: what.to_owned() }));
            }
        }
        all.sort_by_key(|it| it.at);
        all
    }

    /// What is set of nodes; of two at one instant that set the same, the later alone.
    fn settings_changed(&self) -> Vec<Happening> {
        let mut sets: BTreeMap<(Duration, &str), Vec<toml::Table>> = BTreeMap::new();
        for event in &self.event {
            let (names, set) = (event.node.iter().flat_map(|names| &names.0), event.set.clone().unwrap_or_default());
            let times = parse_list::<Duration>(&event.at).unwrap_or_default();
            for (name, at) in names.flat_map(|name| times.iter().map(move |at| (name, *at))) {
                let before = sets.entry((at, name)).or_default();
                before.iter_mut().for_each(|earlier| take_out(earlier, &set));
                before.push(set.clone());
            }
        }
        let happening = |((at, name), all): ((Duration, &str), Vec<toml::Table>)| {
            let said = all.into_iter().filter(|set| !set.is_empty());
            said.map(move |set| Happening { at, to: format!("host.{name}"), what: words_of_set(&set) })
                .collect::<Vec<_>>()
        };
        sets.into_iter().flat_map(happening).collect()
    }
}

/// Takes out of `settings` what `more` sets as well, table by table.
fn take_out(settings: &mut toml::Table, more: &toml::Table) {
    for (key, value) in more {
        match (settings.get_mut(key), value) {
            (Some(toml::Value::Table(own)), toml::Value::Table(more)) => {
                take_out(own, more);
                if own.is_empty() {
                    settings.remove(key);
                }
            }
            _ => drop(settings.remove(key)),
        }
    }
}

/// What becomes of a line or a ring with these `ends` at its steps, which are in order; of two at one instant that say
/// something of the same, the later alone.
fn of_steps(to: &str, mut steps: Vec<Step>, ends: &[String]) -> Vec<Happening> {
    let end = |step: &Step| {
        let toward = step.toward.as_deref();
        toward.map(|toward| ends.iter().position(|end| is_named(toward, end)))
    };
    let mut rest = steps.as_mut_slice();
    while let Some((step, later)) = rest.split_first_mut() {
        for other in later.iter().take_while(|other| other.at == step.at) {
            // What is said of one way leaves the other as it was to be.
            if other.toward.is_none() || end(other) == end(step) {
                step.up = step.up.filter(|_| other.up.is_none());
                step.loss = step.loss.filter(|_| other.loss.is_none());
            }
            step.rate = step.rate.filter(|_| other.rate.is_none());
            step.propagation = step.propagation.filter(|_| other.propagation.is_none());
        }
        rest = later;
    }
    let left = steps.iter().filter(|step| !step.is_empty());
    left.map(|step| Happening { at: step.at, to: to.to_owned(), what: words(step) }).collect()
}

/// What a line is like from then on, as far as it changes.
fn words(step: &Step) -> String {
    let up = step.up.map(|up| if up { "up" } else { "down" }.to_owned());
    let rate = step.rate.map(|rates| match rates.map(Rate::from_base) {
        [one, other] if one == other => format!("rate {one}"),
        [one, other] => format!("rate {one} and {other}"),
    });
    let propagation = step.propagation.map(|time| format!("propagation {time}"));
    let loss = step.loss.map(|part| format!("loss {} %", (part * 1e8).round() / 1e6));
    let toward = step.toward.as_ref().map(|end| format!("toward {end}"));
    [up, rate, propagation, loss, toward].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
