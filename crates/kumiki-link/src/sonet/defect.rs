//! What a line of SONET/SDH tells its driver of defects.

use core::fmt;

use kumiki_octets::Payload;

/// A defect of the line has been found, or is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DefectReport {
    /// Which.
    pub defect: Defect,
    /// Whether it is there.
    pub present: bool,
}

impl Payload for DefectReport {}

/// Defects of a SONET/SDH line, by the names of ITU-T G.783; for those of SONET see beside them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Defect {
    /// Loss of signal.
    Los,
    /// Loss of frame: the alignment words have not been found for a while.
    Lof,
    /// Multiplex section alarm indication (AIS-L): the far end of the section before had no signal.
    MsAis,
    /// Multiplex section remote defect (RDI-L): the peer does not receive us.
    MsRdi,
    /// Loss of pointer.
    Lop,
    /// Path alarm indication (AIS-P).
    PathAis,
    /// Path remote defect (RDI-P).
    PathRdi,
    /// Nobody has put a payload into the path (C2 is 0).
    Unequipped,
    /// The payload is of another kind than ours (C2).
    PayloadMismatch,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Los => "loss of signal",
            Self::Lof => "loss of frame",
            Self::MsAis => "alarm indication of the section",
            Self::MsRdi => "remote defect of the section",
            Self::Lop => "loss of pointer",
            Self::PathAis => "alarm indication of the path",
            Self::PathRdi => "remote defect of the path",
            Self::Unequipped => "no payload in the path",
            Self::PayloadMismatch => "payload of another kind",
        })
    }
}
