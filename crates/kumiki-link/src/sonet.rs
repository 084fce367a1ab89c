//! SONET/SDH: the lines of papers 1 and 2, and the time at which each octet of payload is on them.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T G.707, ANSI T1.105 (frames, rates, columns; recalled, the rates recomputed); RFC 1619, RFC 2615 (what PPP puts into the payload) |
//! | Left out | channels below STS-3c, virtual concatenation, protection switching |

mod clock;
mod envelope;

pub use clock::{Level, MOST_OFFSET_PPB, OctetClock};
