//! What crosses taps, taken while a run goes on: in spans of it, so that no more is in memory than crosses in one or
//! two.
//!
//! | | |
//! |---|---|
//! | Specification | none |
//! | How long a span is | as long as it takes for some megabytes to cross, by what crossed in the last; so the same in each run |
//! | Order | what crosses in a span may be of before it by what a clock is rounded: only what is older than the span before is in order for good |
//! | Left out | what happens where the file system refuses: the run ends, and whoever has it says why |

use std::io;

use kumiki_graph::{Duration, Instant, Tapped};
use kumiki_sim::{HostId, World};

use crate::capture::Spool;

/// The first span, the shortest and the longest.
const FIRST: Duration = Duration::from_millis(1);
const SHORTEST: Duration = Duration::from_nanos(1_000);
const LONGEST: Duration = Duration::from_secs(1);

/// So many octets may cross in a span.
const MANY: u64 = 4 << 20;
const FEW: u64 = MANY / 4;

/// About what a record takes beside its octets.
const RECORD: u64 = 256;

/// Where what crosses the taps of each host goes, if they have any.
#[derive(Default)]
pub(super) struct Taps {
    spools: Vec<Option<Spool>>,
    span: Duration,
    next: Instant,
    /// When the last span ended.
    last: Instant,
    refused: Option<io::Error>,
}

impl Taps {
    /// To these, by the numbers of the hosts.
    pub(super) fn new(spools: Vec<Option<Spool>>) -> Self {
        Self { spools, span: FIRST, next: Instant::ZERO + FIRST, ..Self::default() }
    }

    /// Lets `go` have the world run until then, span by span; false where it should not go on.
    pub(super) fn run(&mut self, world: &mut World, until: Instant, mut go: impl FnMut(&mut World, Instant)) -> bool {
        if self.spools.iter().all(Option::is_none) {
            go(world, until);
            return true;
        }
        while self.refused.is_none() {
            go(world, self.next.min(until));
            if world.now() >= self.next {
                self.take(world);
            }
            if world.now() >= until || world.standstill().is_some() {
                break;
            }
        }
        self.refused.is_none()
    }

    fn take(&mut self, world: &mut World) {
        let mut crossed = 0;
        for (host, seen, until) in world.take_settled() {
            crossed += seen.iter().map(|tapped| tapped.data.len() as u64 + RECORD).sum::<u64>();
            self.put(host, seen, until.min(self.last));
        }
        if crossed > MANY {
            self.span = Duration::from_nanos(self.span.as_nanos() / 2).max(SHORTEST);
        } else if crossed < FEW {
            self.span = (self.span + self.span).min(LONGEST);
        }
        self.last = world.now();
        self.next = self.last + self.span;
    }

    fn put(&mut self, HostId(number): HostId, seen: Vec<Tapped>, until: Instant) {
        let spool = self.spools.get_mut(number).and_then(Option::as_mut);
        if let Some(spool) = spool.filter(|_| self.refused.is_none()) {
            self.refused = spool.take(seen, until).err();
        }
    }

    /// Takes the rest, and gives all of each host.
    ///
    /// # Errors
    ///
    /// Why something was not kept.
    pub(super) fn finish(mut self, world: &mut World) -> io::Result<Vec<Option<Spool>>> {
        if self.spools.iter().any(Option::is_some) {
            for (host, seen) in world.take_tapped() {
                // All is in order when all is there.
                self.put(host, seen, Instant::ZERO);
            }
        }
        self.refused.map_or(Ok(self.spools), Err)
    }
}
