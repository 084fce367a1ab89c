//! What happens at given times of a run, in words: by schedules of lines, by events, and by loads that begin or stop.

use kumiki_graph::Duration;

use super::Scenario;
use super::event::words as words_of_set;
use super::fault::quantity;
use crate::medium::Step;
use crate::quantity::{Quantity as _, Rate, in_seconds, parse_list};

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
    /// All that happens, in order of time. Of what cannot be read there is nothing: that is told by who checks the scenario.
    #[must_use]
    pub fn happenings(&self) -> Vec<Happening> {
        let mut all = Vec::new();
        for (name, link) in &self.link {
            let steps = link.line().and_then(|line| self.changes(name, &line)).unwrap_or_default();
            let to = format!("link.{name}");
            all.extend(steps.iter().map(|step| Happening { at: step.at, to: to.clone(), what: words(step) }));
        }
        for name in self.ring.keys() {
            let steps = self.ring_changes(name).unwrap_or_default();
            let to = format!("ring.{name}");
            all.extend(steps.iter().map(|step| Happening { at: step.at, to: to.clone(), what: words(step) }));
        }
        for (host, changes) in self.power().unwrap_or_default() {
            let what = |up: bool| if up { "has power again" } else { "has no power" }.to_owned();
            let to = format!("host.{host}");
            all.extend(changes.into_iter().map(|(at, up)| Happening { at, to: to.clone(), what: what(up) }));
        }
        for event in self.event.iter().filter(|event| event.node.is_some()) {
            let (names, what) = (event.node.iter().flat_map(|names| &names.0), event.set.as_ref().map(words_of_set));
            let times = parse_list::<Duration>(&event.at).unwrap_or_default();
            for name in names {
                let happening =
                    |at| Happening { at, to: format!("host.{name}"), what: what.clone().unwrap_or_default() };
                all.extend(times.iter().copied().map(happening));
            }
        }
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
