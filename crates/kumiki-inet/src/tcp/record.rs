//! What a connection did: for the laboratory, which tells it of each flow.
//!
//! | | |
//! |---|---|
//! | Specification | none; the idea of RFC 4898's counts and times of one connection |
//! | Caller | the connection, which counts where it counts for all, and says what holds it ([`Limits`]) |
//! | Left out | what is no count, such as the state of the windows at a moment: see [`super::Snapshot`] and [`super::Trace`] |

#[cfg(feature = "statistics")]
use hdrhistogram::Histogram;
use kumiki_graph::{Duration, Instant};

use super::limits::Limits;

/// What a connection did and what held it back, from its beginning on.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// What held it.
    pub limits: Limits,
    /// Segments sent, those sent again among them.
    pub segments_sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Times that the retransmission timer ran out.
    pub timeouts: u64,
    /// The round trips that were measured, in nanoseconds, to 1 %.
    #[cfg(feature = "statistics")]
    pub round_trips: Histogram<u32>,
}

impl Record {
    /// Of a connection that begins.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            limits: Limits::new(now),
            segments_sent: 0,
            retransmissions: 0,
            timeouts: 0,
            #[cfg(feature = "statistics")]
            round_trips: round_trips(),
        }
    }

    /// A round trip took so long.
    #[cfg_attr(not(feature = "statistics"), expect(unused_variables, clippy::unused_self, reason = "nothing is kept"))]
    pub(crate) fn on_round_trip(&mut self, sample: Duration) {
        // It grows as it must.
        #[cfg(feature = "statistics")]
        let _ = self.round_trips.record(sample.as_nanos());
    }
}

/// None so far: it takes more room as longer ones come.
#[cfg(feature = "statistics")]
#[expect(clippy::expect_used, reason = "two digits are allowed")]
fn round_trips() -> Histogram<u32> {
    Histogram::new(2).expect("two digits are from 0 to 5")
}
