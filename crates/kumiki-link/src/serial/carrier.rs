//! What carries the frames of a line: how many octets each takes, and when those are on it.

use kumiki_graph::Instant;
use kumiki_octets::Message;
use kumiki_wire::hdlc::Framing;

use crate::Rate;
use crate::sonet::OctetClock;

/// What carries the frames of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// Octets one behind the other from when a frame begins.
    Plain {
        /// Of the line.
        rate: Rate,
        /// Octets the line adds to each frame: flags, preamble, frame check sequence.
        overhead: u32,
    },
    /// HDLC-like frames in the payload of SONET/SDH, whose octets have times of their own; flags fill it between frames (RFC 2615,
    /// RFC 2171). Each frame's octets are looked at, as stuffing depends on them.
    Sonet {
        /// When each octet of payload is on the line.
        clock: OctetClock,
        /// How frames stand in it.
        framing: Framing,
    },
}

impl Carrier {
    /// How many octets of the line `frame` takes.
    pub(super) fn octets_of(&self, frame: &Message) -> u64 {
        match self {
            Self::Plain { overhead, .. } => frame.len() as u64 + u64::from(*overhead),
            Self::Sonet { framing, .. } => framing.octets_of(frame),
        }
    }
}

/// How far one direction of a line has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Plain: when the line was last found free, and the octets it has carried since without a gap.
    busy_since: Instant,
    octets_since: u64,
    /// SONET/SDH: the first octet of payload that no frame has.
    next_free: u64,
}

impl Pace {
    /// SONET/SDH: the first octet of payload that no frame has.
    pub(super) const fn next_free(&self) -> u64 {
        self.next_free
    }

    /// Puts `octets` on the line at `at` or as soon as it can take them; `gap` says whether the line has been idle before. Returns
    /// when the last of them is on the line.
    pub(super) fn carry(
        &mut self,
        carrier: &Carrier,
        at: Instant,
        gap: bool,
        octets: u64,
    ) -> Instant {
        match carrier {
            Carrier::Plain { rate, .. } => {
                if gap || self.octets_since == 0 {
                    self.busy_since = at;
                    self.octets_since = 0;
                }
                self.octets_since += octets;
                // From the beginning of the busy period, so that no remainder is lost from frame to frame.
                self.busy_since + rate.time_of_octets(self.octets_since)
            }
            Carrier::Sonet { clock, .. } => {
                let first = clock.first_at_or_after(at).max(self.next_free);
                self.next_free = first + octets;
                clock.ends(self.next_free.saturating_sub(1))
            }
        }
    }
}
