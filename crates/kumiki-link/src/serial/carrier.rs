//! What carries the frames of a line: how many octets or bits each takes, and when those are on it.

use std::sync::Arc;

use kumiki_graph::Instant;
use kumiki_octets::Message;
use kumiki_wire::ppp::hdlc::{BitFraming, Framing};

use super::recorded::{Opportunities, RecordingCursor};
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
    /// HDLC-like frames in the payload of SONET/SDH, whose octets have times of their own; flags fill it between frames
    /// (RFC 2615, RFC 2171). Each frame's octets are looked at, as stuffing depends on them.
    Sonet {
        /// When each octet of payload is on the line.
        clock: OctetClock,
        /// How frames stand in it.
        framing: Framing,
    },
    /// HDLC frames on a bit-synchronous line (X.25, V.24 and the like): a zero bit behind five ones, and flags between
    /// frames, so that a frame begins where a flag ends. Each frame's bits are looked at, as stuffing depends on them.
    Synchronous {
        /// Of the line.
        rate: Rate,
        /// How frames stand on it.
        framing: BitFraming,
    },
}

impl Carrier {
    /// How much of the line `frame` takes: octets, or on a bit-synchronous line bits.
    pub(super) fn size_of(&self, frame: &Message) -> u64 {
        match self {
            Self::Plain { overhead, .. } => frame.len() as u64 + u64::from(*overhead),
            Self::Sonet { framing, .. } => framing.octets_of(frame),
            Self::Synchronous { framing, .. } => framing.bits_of(frame),
        }
    }

    /// How many bits such a size is.
    pub(super) const fn bits_of_size(&self, size: u64) -> u64 {
        match self {
            Self::Plain { .. } | Self::Sonet { .. } => size.saturating_mul(8),
            Self::Synchronous { .. } => size,
        }
    }
}

/// How far one direction of a line has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Plain: when the line was last found free, and the octets it has carried since without a gap.
    busy_since: Instant,
    octets_since: u64,
    /// SONET/SDH: the first octet of payload that no frame has. Bit-synchronous: the first bit behind the last frame,
    /// counted from the beginning of all time, when a flag had just ended.
    next_free: u64,
    /// Plain: where frames go when a recording says.
    following: Option<Box<RecordingCursor>>,
}

impl Pace {
    /// A busy time is counted at one rate: the next frame begins a new one.
    pub(super) fn begin_again(&mut self) {
        *self = Self { following: self.following.take(), ..Self::default() };
    }

    /// From here on frames go when `times` says.
    pub(super) fn follow(&mut self, times: Arc<Opportunities>) {
        self.following = Some(Box::new(RecordingCursor::new(times)));
    }

    /// From here on frames go at the carrier's rate.
    pub(super) fn follow_none(&mut self) {
        self.following = None;
    }

    /// SONET/SDH: the first octet of payload that no frame has.
    pub(super) const fn next_free(&self) -> u64 {
        self.next_free
    }

    /// Puts a frame of `size` on the line at `at` or as soon as it can take it; `gap` says whether the line has been
    /// idle before, `fresh` whether the frame has just come. Returns when the last of it is on the line.
    pub(super) fn carry(&mut self, carrier: &Carrier, at: Instant, (gap, fresh): (bool, bool), size: u64) -> Instant {
        match carrier {
            Carrier::Plain { rate, .. } => {
                if let Some(following) = &mut self.following {
                    return following.carry(at, fresh, size);
                }
                if gap || self.octets_since == 0 {
                    self.busy_since = at;
                    self.octets_since = 0;
                }
                self.octets_since += size;
                // From the beginning of the busy period, so that no remainder is lost from frame to frame.
                self.busy_since + rate.time_of_octets(self.octets_since)
            }
            Carrier::Sonet { clock, .. } => {
                let first = clock.first_at_or_after(at).max(self.next_free);
                self.next_free = first + size;
                clock.ends(self.next_free.saturating_sub(1))
            }
            Carrier::Synchronous { rate, .. } => {
                // Whole flags fill the time in which nobody sends; a frame waits for the end of the one in flight.
                let since = at.saturating_since(Instant::ZERO);
                let idle = rate.bits_in(since).saturating_sub(self.next_free);
                let mut first = self.next_free + idle.next_multiple_of(8);
                if rate.time_of_bits(first) < since {
                    first += 8;
                }
                self.next_free = first + size;
                Instant::ZERO + rate.time_of_bits(self.next_free)
            }
        }
    }
}
