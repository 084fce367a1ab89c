//! LAPB: the frames of X.25's data link layer.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 7776 sections 3 and 4, X.25 sections 2.2 to 2.4 (recalled; checked against Linux's frames and tshark 4.0); [`ether`]: Linux's LAPB over Ethernet |
//! | Used by | `kumiki_x25::lapb`, `kumiki-decode` |
//! | Left out | the header of the multilink procedure; the insides of XID, which are passed through; flags, bit stuffing and the frame check sequence, which are the line's |
//!
//! ```text
//!        0        1        2
//!   +--------+--------+ - - - -+ - - -
//!   |address | control         |  information of I, FRMR and XID
//!   +--------+--------+ - - - -+ - - -
//!   control, modulo 8:   I N(R)3 P N(S)3 0     S N(R)3 P/F kind2 01     U function3 P/F function2 11
//!   control, modulo 128: I N(S)7 0 N(R)7 P     S 0000 kind2 01 N(R)7 P/F    U as modulo 8, one octet
//! ```
//!
//! The address says whether a frame is a command or a response: a command has the address of the end that it goes to, a
//! response that of the end it comes from.

use core::fmt;

pub use kumiki_osi_service::x25::Modulo;

use crate::{Malformed, put};

pub mod ether;
mod reject;
#[cfg(test)]
mod tests;

pub use reject::Reject;

/// Addresses of the two ends.
pub mod address {
    /// The DTE's on a single link: of commands to it, and of its responses.
    pub const A: u8 = 0x03;
    /// The DCE's on a single link.
    pub const B: u8 = 0x01;
    /// The DTE's on a multilink.
    pub const C: u8 = 0x0f;
    /// The DCE's on a multilink.
    pub const D: u8 = 0x07;
}

/// Functions of unnumbered frames, their poll/final bit clear.
pub mod function {
    /// Disconnected mode, a response.
    pub const DM: u8 = 0x0f;
    /// Set asynchronous balanced mode, a command: modulo 8.
    pub const SABM: u8 = 0x2f;
    /// Disconnect, a command.
    pub const DISC: u8 = 0x43;
    /// Unnumbered acknowledgement, a response.
    pub const UA: u8 = 0x63;
    /// Set asynchronous balanced mode extended, a command: modulo 128.
    pub const SABME: u8 = 0x6f;
    /// Frame reject, a response.
    pub const FRMR: u8 = 0x87;
    /// Exchange identification.
    pub const XID: u8 = 0xaf;
}

const POLL: u8 = 0x10;

/// Which supervisory frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Supervisory {
    /// RR, receive ready.
    ReceiveReady,
    /// RNR, receive not ready.
    ReceiveNotReady,
    /// REJ, reject.
    Reject,
    /// None that LAPB has; in HDLC, selective reject.
    Reserved,
}

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Control {
    /// Information.
    Information {
        /// N(S), send sequence number.
        ns: u8,
        /// N(R), receive sequence number: what is expected next.
        nr: u8,
        /// P.
        poll: bool,
    },
    /// Supervisory.
    Supervisory {
        /// Which.
        kind: Supervisory,
        /// The four upper bits of the first octet modulo 128, which should be 0.
        reserved: u8,
        /// N(R).
        nr: u8,
        /// P of a command, F of a response.
        poll: bool,
    },
    /// Unnumbered.
    Unnumbered {
        /// See [`function`]; the poll/final bit is clear.
        function: u8,
        /// P of a command, F of a response.
        poll: bool,
    },
}

/// Address and control field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Header {
    /// See [`address`].
    pub address: u8,
    /// What it is.
    pub control: Control,
    /// How numbers are written.
    pub modulo: Modulo,
}

impl Control {
    /// Supervision of this kind, as LAPB sends it.
    #[must_use]
    pub const fn supervisory(kind: Supervisory, nr: u8, poll: bool) -> Self {
        Self::Supervisory { kind, reserved: 0, nr, poll }
    }

    /// P or F.
    #[must_use]
    pub const fn poll(self) -> bool {
        match self {
            Self::Information { poll, .. } | Self::Supervisory { poll, .. } | Self::Unnumbered { poll, .. } => poll,
        }
    }

    /// Octets that it takes.
    #[must_use]
    pub const fn len(self, modulo: Modulo) -> usize {
        match (self, modulo) {
            (Self::Unnumbered { .. }, _) | (_, Modulo::Eight) => 1,
            (_, Modulo::Extended) => 2,
        }
    }

    /// The octets; the second of one that has only one is 0.
    #[must_use]
    pub const fn octets(self, modulo: Modulo) -> [u8; 2] {
        let (n, bit) = (modulo.most(), if self.poll() { POLL } else { 0 });
        match (self, modulo) {
            (Self::Information { ns, nr, .. }, Modulo::Eight) => [(nr & n) << 5 | bit | (ns & n) << 1, 0],
            (Self::Information { ns, nr, poll }, Modulo::Extended) => [ns << 1, nr << 1 | poll as u8],
            (Self::Supervisory { kind, nr, .. }, Modulo::Eight) => [(nr & n) << 5 | bit | kind.bits() << 2 | 1, 0],
            (Self::Supervisory { kind, reserved, nr, poll }, Modulo::Extended) => {
                [reserved << 4 | kind.bits() << 2 | 1, nr << 1 | poll as u8]
            }
            (Self::Unnumbered { function, .. }, _) => [function & !POLL | 3 | bit, 0],
        }
    }

    /// Reads a control field; `None` where it is not all there.
    #[must_use]
    pub const fn parse(octets: &[u8], modulo: Modulo) -> Option<Self> {
        let [first, rest @ ..] = octets else {
            return None;
        };
        let (first, poll) = (*first, *first & POLL != 0);
        if first & 3 == 3 {
            let function = first & !POLL;
            return Some(Self::Unnumbered { function, poll });
        }
        let (ns, reserved, nr, poll) = match (modulo, rest) {
            (Modulo::Eight, _) => (first >> 1 & 7, 0, first >> 5, poll),
            (Modulo::Extended, [second, ..]) => (first >> 1, first >> 4, *second >> 1, *second & 1 != 0),
            (Modulo::Extended, []) => return None,
        };
        Some(if first & 1 == 0 {
            Self::Information { ns, nr, poll }
        } else {
            Self::Supervisory { kind: Supervisory::of_bits(first >> 2), reserved, nr, poll }
        })
    }
}

impl Supervisory {
    const fn bits(self) -> u8 {
        match self {
            Self::ReceiveReady => 0,
            Self::ReceiveNotReady => 1,
            Self::Reject => 2,
            Self::Reserved => 3,
        }
    }

    const fn of_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::ReceiveReady,
            1 => Self::ReceiveNotReady,
            2 => Self::Reject,
            _ => Self::Reserved,
        }
    }
}

impl Header {
    /// The most octets of a header.
    pub const MOST: usize = 3;

    /// Reads a header; also gives its length.
    ///
    /// # Errors
    /// The header is not all there.
    pub fn parse(front: &[u8], modulo: Modulo) -> Result<(Self, usize), Malformed> {
        let short = |need| Malformed::Short { protocol: "LAPB", need, have: front.len() };
        let (&address, rest) = front.split_first().ok_or_else(|| short(2))?;
        let control = Control::parse(rest, modulo);
        let control = control.ok_or_else(|| short(if rest.is_empty() { 2 } else { 3 }))?;
        let header = Self { address, control, modulo };
        Ok((header, header.len()))
    }

    /// Octets that [`Header::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        1 + self.control.len(self.modulo)
    }

    /// Writes [`Header::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        put(out, [self.address]);
        let [first, second] = self.control.octets(self.modulo);
        put(out, [first]);
        if self.len() == Self::MOST {
            put(out, [second]);
        }
    }
}

impl fmt::Display for Control {
    /// For example `SABM P/F` or `I N(S)=3 N(R)=4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unnumbered { function, .. } => match function {
                function::DM => f.write_str("DM"),
                function::SABM => f.write_str("SABM"),
                function::DISC => f.write_str("DISC"),
                function::UA => f.write_str("UA"),
                function::SABME => f.write_str("SABME"),
                function::FRMR => f.write_str("FRMR"),
                function::XID => f.write_str("XID"),
                other => write!(f, "unnumbered {other:#04x}"),
            },
            Self::Information { ns, nr, .. } => write!(f, "I N(S)={ns} N(R)={nr}"),
            Self::Supervisory { kind, nr, .. } => {
                let kind = match kind {
                    Supervisory::ReceiveReady => "RR",
                    Supervisory::ReceiveNotReady => "RNR",
                    Supervisory::Reject => "REJ",
                    Supervisory::Reserved => "S?",
                };
                write!(f, "{kind} N(R)={nr}")
            }
        }?;
        f.write_str(if self.poll() { " P/F" } else { "" })
    }
}

impl fmt::Display for Header {
    /// For example `LAPB 01 SABM P/F`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LAPB {:02x} {}", self.address, self.control)
    }
}
