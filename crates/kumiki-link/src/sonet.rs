//! SONET/SDH: the lines of papers 1 and 2, octet by octet, and the time at which each octet of payload is on them.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T G.707 and G.783, ANSI T1.105 (frames, rates, columns, defects; recalled, the rates recomputed); RFC 1619, RFC 2615 (what PPP puts into the payload) |
//! | Left out | channels below STS-3c, virtual concatenation, protection switching, traces, orderwires and data channels; bit alignment |
//!
//! | read | for |
//! |---|---|
//! | [`OctetClock`] | when each octet of payload is on a line |
//! | [`Transmitter`] | frames around a payload |
//! | [`Receiver`] | payload, counters and defects out of any octets |
//! | [`Section`] | both ends and both directions of a line that carries HDLC-like frames, as a medium |
//!
//! How many frames a receiver waits before it believes something stands beside it; those numbers are recalled too.

mod align;
mod clock;
mod defect;
mod defects;
mod envelope;
mod line;
mod noise;
mod pointer;
mod receiver;
mod section;
mod size;
mod transmitter;

pub use clock::{Level, MOST_OFFSET_PPB, OctetClock};
pub use defect::{Defect, DefectReport};
pub use defects::Defects;
pub use receiver::{Heard, Receiver, ReceiverCounters};
pub use section::{Section, SectionConfig, Trouble, Troubled};
use size::Size;
pub use transmitter::{Alarm, Feedback, LineConfig, Transmitter, TransmitterCounters};

#[cfg(test)]
mod tests;
