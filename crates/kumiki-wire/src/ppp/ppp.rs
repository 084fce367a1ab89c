//! The header of PPP: address, control and protocol, each as it may be left out or shortened.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 sections 2, 6.5 and 6.6; RFC 1662 section 3 |
//! | Above | [`control`] packets of LCP and of the network control protocols, [`pap`], [`chap`], [`lqr`], datagrams |
//! | Below | HDLC-like framing, with FCS and flags; AAL5 (RFC 2364), where there is neither address nor control |
//! | Left out | flags, stuffing and FCS; numbered mode (RFC 1663), whose control octets are refused; protocol fields that have more than one zero octet in front |
//!
//! Both short forms are read at any time, agreed on or not: a peer that sends them is understood, and nothing is lost.

use core::fmt;

use crate::{Malformed, put};

pub mod chap;
pub mod control;
pub mod ipcp;
pub mod ipv6cp;
pub mod lcp;
pub mod lqr;
pub mod pap;
pub mod protocol;

#[cfg(test)]
mod tests;

/// Octets of the longest header.
pub const MAX_LEN: usize = 4;
/// The address of all stations, the only one.
pub const ADDRESS: u8 = 0xff;
/// Unnumbered information with the poll bit clear.
pub const CONTROL: u8 = 0x03;
/// Octets that every implementation can receive behind the protocol field, whatever was agreed (RFC 1661 section 6.1).
pub const DEFAULT_MRU: u16 = 1500;

/// Which parts of a header are left out or shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Compression {
    /// Address-and-Control-Field-Compression: neither address nor control (RFC 1661 section 6.6).
    pub acfc: bool,
    /// Protocol-Field-Compression: one octet of protocol instead of two (RFC 1661 section 6.5).
    pub pfc: bool,
}

impl Compression {
    /// Everything at full length.
    pub const NONE: Self = Self { acfc: false, pfc: false };
}

/// A PPP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Who reads what follows, see [`mod@protocol`].
    pub protocol: u16,
    /// How the header is written.
    pub compression: Compression,
}

impl Header {
    /// A header in the shortest form that `agreed` allows for this protocol: LCP is never compressed, and one octet is
    /// enough for protocols below 0100 only.
    #[must_use]
    pub const fn new(protocol: u16, agreed: Compression) -> Self {
        let never = protocol == protocol::LCP;
        Self {
            protocol,
            compression: Compression {
                acfc: agreed.acfc && !never,
                // 00ff in one octet could be taken for an address, and an even octet has a second one behind it.
                pfc: agreed.pfc && protocol < 0xff && protocol & 1 == 1,
            },
        }
    }

    /// Reads a header; also gives its length. A protocol number that breaks the rules is not refused, because it is to
    /// be answered as an unknown one (RFC 1661 section 2): see [`protocol::is_lawful`].
    ///
    /// # Errors
    /// The header is not all there, or control is not that of unnumbered information.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let short = |need| Malformed::Short { protocol: "PPP", need, have: front.len() };
        // No protocol field begins with ff: the first octet of two is even, and 00ff is reserved.
        let (acfc, rest) = match *front {
            [ADDRESS, CONTROL, ref rest @ ..] => (false, rest),
            [ADDRESS, control, ..] => {
                return Err(Malformed::Field {
                    protocol: "PPP",
                    field: "control",
                    found: control.into(),
                    expected: "0x03 (unnumbered information)",
                });
            }
            [ADDRESS] => return Err(short(3)),
            _ => (true, front),
        };
        let before = front.len() - rest.len();
        let (protocol, pfc) = match *rest {
            // The last octet of a number is odd, so an odd one is a whole number.
            [first, ..] if first & 1 == 1 => (u16::from(first), true),
            [first, second, ..] => (u16::from_be_bytes([first, second]), false),
            [_] => return Err(short(before + 2)),
            [] => return Err(short(before + 1)),
        };
        let header = Self { protocol, compression: Compression { acfc, pfc } };
        Ok((header, header.len()))
    }

    /// Octets that [`Header::emit`] writes: 1 to 4.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        let Compression { acfc, pfc } = self.compression;
        (if acfc { 0 } else { 2 }) + (if pfc { 1 } else { 2 })
    }

    /// Writes [`Header::len`] octets. Of a protocol that one octet cannot hold the lower octet is written: see
    /// [`Header::new`].
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        if !self.compression.acfc {
            put(out, [ADDRESS, CONTROL]);
        }
        let [high, low] = self.protocol.to_be_bytes();
        if self.compression.pfc {
            put(out, [low]);
        } else {
            put(out, [high, low]);
        }
    }
}

impl fmt::Display for Header {
    /// For example `PPP IPCP` or `PPP protocol 0x003d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PPP {}", protocol::Name(self.protocol))
    }
}

/// Text of a peer: quoted, with everything but printable ASCII escaped, so that it is safe in a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(pub &'a [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// Digits of each octet, without spaces.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}
