//! Many seeds on several threads. What comes of them does not depend on how many threads there are.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use kumiki_graph::Instant;

use super::case::{Case, Transport};
use super::checker::Violation;
use super::run::{CaseOutcome, Options, run};
use super::user::ConnectionEnd;

/// What came of many cases.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// How many there were.
    pub cases: u64,
    /// Seeds that failed, in order, and how.
    pub failed: Vec<(u64, Violation)>,
    /// Endings of single ends, by their name.
    pub endings: BTreeMap<String, u64>,
    /// Octets that were delivered.
    pub octets: u64,
    /// Packets at the hosts' plugs.
    pub segments: u64,
    /// PDUs that reached a host damaged.
    pub damaged: u64,
    /// Events.
    pub events: u64,
    /// What each case used of the packets and of the time that it was allowed, in thousandths, and its seed; in no
    /// order.
    pub used: [Vec<(u64, u64)>; 2],
    /// A number that any difference in any case changes.
    pub hash: u64,
}

impl Summary {
    /// What was used of the packets (0) or of the time (1) that were allowed, in thousandths: by half of the cases, by
    /// 99 of 100, and by the one that used most, with its seed. Nothing where there was no case.
    #[must_use]
    pub fn spread(&self, of: usize) -> Option<(u64, u64, (u64, u64))> {
        let mut used = self.used.get(of)?.clone();
        used.sort_unstable();
        let at = |percent: usize| used.get(used.len() * percent / 100).map(|it| it.0);
        Some((at(50)?, at(99)?, *used.last()?))
    }

    /// Takes the next case in order.
    fn add(&mut self, brief: CaseSummary) {
        self.cases += 1;
        if let Some(violation) = brief.violation {
            self.failed.push((brief.seed, violation));
        }
        for ending in brief.endings {
            *self.endings.entry(ending).or_default() += 1;
        }
        self.octets += brief.octets;
        self.segments += brief.segments;
        self.damaged += brief.damaged;
        for (all, used) in self.used.iter_mut().zip(brief.used) {
            all.push((used, brief.seed));
        }
        self.events += brief.events;
        self.hash = (self.hash.rotate_left(7) ^ brief.hash).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

/// What is kept of one case.
struct CaseSummary {
    seed: u64,
    violation: Option<Violation>,
    endings: [String; 2],
    octets: u64,
    segments: u64,
    damaged: u64,
    events: u64,
    used: [u64; 2],
    hash: u64,
}

impl CaseSummary {
    fn of(outcome: CaseOutcome) -> Self {
        let [near, far] = &outcome.ends;
        let (packets, time) = outcome.allowed;
        let used = |of: u64, all: u64| of.saturating_mul(1_000) / all.max(1);
        Self {
            used: [used(outcome.segments, packets), used(outcome.took.as_millis(), time.as_millis())],
            seed: outcome.seed,
            endings: outcome.ends.each_ref().map(|end| name(end.over.clone())),
            octets: near.received + far.received,
            segments: outcome.segments,
            damaged: outcome.damaged,
            events: outcome.events,
            hash: outcome.hash,
            violation: outcome.violation,
        }
    }

    /// Of a case that did not come to an end at all.
    fn broken(seed: u64, rule: &'static str, what: String) -> Self {
        let violation = Violation { at: Instant::ZERO, end: 0, rule, what };
        Self {
            seed,
            violation: Some(violation),
            endings: [name(None), name(None)],
            octets: 0,
            segments: 0,
            damaged: 0,
            events: 0,
            used: [0; 2],
            hash: 0,
        }
    }
}

/// How an end ended, in words.
#[must_use]
pub fn name(over: Option<ConnectionEnd>) -> String {
    match over {
        None => "not at all".to_owned(),
        Some(ConnectionEnd::Closed) => "in order".to_owned(),
        Some(ConnectionEnd::Own) => "by its own abort".to_owned(),
        Some(ConnectionEnd::GaveUp) => "by giving up, the peer being gone".to_owned(),
        Some(ConnectionEnd::Never) => "without a call".to_owned(),
        Some(ConnectionEnd::Aborted(reason)) => format!("at once: {reason}"),
    }
}

/// Runs one case; a panic is a finding like any other.
fn one(transport: Transport, seed: u64) -> CaseSummary {
    match catch_unwind(AssertUnwindSafe(|| run(&Case::of(transport, seed), Options::default()))) {
        Ok(Ok(outcome)) => CaseSummary::of(outcome),
        Ok(Err(graph_error)) => CaseSummary::broken(seed, "graph", graph_error.to_string()),
        Err(panic) => {
            let what = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            CaseSummary::broken(seed, "panic", what.unwrap_or_default())
        }
    }
}

/// Runs the cases of `from` and the `count` - 1 seeds after it on `jobs` threads; `each` is told of every case that is
/// done, in order, and whether it failed.
pub fn many(
    transport: Transport,
    from: u64,
    count: u64,
    jobs: usize,
    mut each: impl FnMut(u64, Option<&Violation>),
) -> Summary {
    let next = AtomicU64::new(0);
    let mut summary = Summary::default();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..jobs.max(1) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || sender.send((number, one(transport, from.wrapping_add(number)))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // Results come as they are done and are taken in the order of their seeds.
        let mut early = BTreeMap::new();
        for (number, brief) in receiver {
            early.insert(number, brief);
            while let Some(brief) = early.remove(&summary.cases) {
                each(brief.seed, brief.violation.as_ref());
                summary.add(brief);
            }
        }
    });
    summary
}
