//! Management of point-to-point links: PPP and the lines that it stands on.

use core::fmt;

use super::{CircuitManage, CircuitReport, Verdict};
use crate::Address;

/// Management of a point-to-point link that goes down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkManage {
    /// The ends have agreed on this for frames from here on; `None`: on nothing any more, so that what the standard begins with holds
    /// again.
    Agreed(Option<Agreement>),
    /// Whether a protocol of the network layer may pass.
    Pass {
        /// Its number in PPP's protocol field.
        protocol: u16,
        /// Whether it may.
        pass: bool,
        /// Our own address, where the ends have agreed on one.
        local: Address,
        /// The peer's.
        remote: Address,
    },
    /// Whether a link is wanted on a line that is not always there: a switched circuit is called for it, and cleared when it is
    /// wanted no more.
    Wanted(bool),
    /// What identification on a switched circuit has come to.
    Identified(Verdict),
    /// Call control of a switched circuit.
    Circuit(CircuitManage),
}

/// What the ends of a point-to-point link have agreed on for its frames (RFC 1661 section 6, RFC 1662 section 7, RFC 1570).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// The most octets behind the protocol field that the peer takes.
    pub peer_mru: u32,
    /// The most that we take.
    pub mru: u32,
    /// Which octets below 20 (hexadecimal) the peer wants escaped; bit n is octet n.
    pub send_accm: u32,
    /// Which of them the peer escapes, so that those which come bare are noise.
    pub receive_accm: u32,
    /// Frames to the peer have neither address nor control.
    pub acfc: bool,
    /// Frames to the peer have one octet of protocol where that is enough.
    pub pfc: bool,
    /// Bits of the frame check sequence towards the peer: 16 or 32.
    pub send_fcs: u8,
    /// Bits of that from the peer.
    pub receive_fcs: u8,
}

/// Management of a point-to-point link that comes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkReport {
    /// The ends have agreed on these addresses.
    Addresses {
        /// Our own; [`Address::None`] where there was none to agree on.
        local: Address,
        /// The peer's.
        remote: Address,
    },
    /// So many frames have come damaged since the start: with a wrong frame check sequence, aborted, cut short or too long.
    Damaged {
        /// How many.
        frames: u64,
    },
    /// A defect of a SONET/SDH line has been found, or is gone.
    Alarm {
        /// Which.
        defect: Defect,
        /// Whether it is there.
        present: bool,
    },
    /// Which end of the line this is from here on, where that is not fixed.
    End {
        /// The DTE, and otherwise the DCE.
        dte: bool,
    },
    /// Call control of a switched circuit.
    Circuit(CircuitReport),
}

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
