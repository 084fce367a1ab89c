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

#[cfg(feature = "ppp")]
mod align;
mod clock;
#[cfg(feature = "ppp")]
mod defect;
#[cfg(feature = "ppp")]
mod defects;
mod envelope;
#[cfg(feature = "ppp")]
mod line;
#[cfg(feature = "ppp")]
mod noise;
#[cfg(feature = "ppp")]
mod pointer;
#[cfg(feature = "ppp")]
mod receiver;
#[cfg(feature = "ppp")]
mod section;
#[cfg(feature = "ppp")]
mod size;
#[cfg(feature = "ppp")]
mod transmitter;

pub use clock::{Level, MOST_OFFSET_PPB, OctetClock};
#[cfg(feature = "ppp")]
pub use defect::{Defect, DefectReport};
#[cfg(feature = "ppp")]
pub use defects::Defects;
#[cfg(feature = "ppp")]
pub use receiver::{Receiver, ReceiverCounters, ReceiverEvent};
#[cfg(feature = "ppp")]
pub use section::{FaultInterval, LineFault, Section, SectionConfig};
#[cfg(feature = "ppp")]
use size::Size;
#[cfg(feature = "ppp")]
pub use transmitter::{Alarm, Feedback, LineConfig, Transmitter, TransmitterCounters};

#[cfg(test)]
mod tests;
