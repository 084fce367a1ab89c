//! LLC headers of IEEE 802.2: in front of every frame of an IEEE 802 network that has no EtherType.
//!
//! | | |
//! |---|---|
//! | Specification | IEEE 802.2 (ISO 8802-2) section 5; control fields and answers as RFC 1042 and RFC 1390 give them, those of type 2 recalled |
//! | Left out | type 3 (acknowledged connectionless): its control fields are read as unnumbered ones of other functions; what is behind a SNAP header ([`crate::inet::llc_snap`]) |
//!
//! ```text
//!        0        1         2        3
//!   +--------+--------+--------+ - - - -+
//!   |  DSAP  |  SSAP  | control         |     two octets of control in the numbered formats of type 2
//!   +--------+--------+--------+ - - - -+
//!   DSAP bit 0: group (I/G)    SSAP bit 0: response (C/R)
//! ```

use core::fmt;

use crate::{Malformed, put};

/// Octets of a header of an unnumbered format, the only one of type 1.
pub const LEN: usize = 3;

/// Service access points.
pub mod sap {
    /// None: the LLC entity itself, for XID and TEST.
    pub const NULL: u8 = 0x00;
    /// IP, before it went by SNAP (RFC 1042 does not use it).
    pub const IP: u8 = 0x06;
    /// Spanning tree (IEEE 802.1D).
    pub const SPANNING_TREE: u8 = 0x42;
    /// A protocol by its EtherType, with a header of five octets more.
    pub const SNAP: u8 = 0xaa;
    /// NetWare.
    pub const NETWARE: u8 = 0xe0;
    /// NetBIOS.
    pub const NETBIOS: u8 = 0xf0;
    /// Network layer of ISO: the first octet behind the header tells which.
    pub const ISO: u8 = 0xfe;
    /// All.
    pub const GLOBAL: u8 = 0xff;
}

/// Functions of the unnumbered format, their poll/final bit clear.
pub mod function {
    /// Unnumbered information: a datagram.
    pub const UI: u8 = 0x03;
    /// Disconnect mode (type 2).
    pub const DM: u8 = 0x0f;
    /// Disconnect (type 2).
    pub const DISC: u8 = 0x43;
    /// Unnumbered acknowledgement (type 2).
    pub const UA: u8 = 0x63;
    /// Set asynchronous balanced mode extended (type 2).
    pub const SABME: u8 = 0x6f;
    /// Frame reject (type 2).
    pub const FRMR: u8 = 0x87;
    /// Exchange identification.
    pub const XID: u8 = 0xaf;
    /// Test.
    pub const TEST: u8 = 0xe3;
}

/// The information field of an XID response of a class I station: basic format, type 1, no window (RFC 1390).
pub const XID_CLASS_1: [u8; 3] = [0x81, 0x01, 0x00];

const POLL: u8 = 0x10;

/// The header of unnumbered information from `sap` to the same one.
#[must_use]
pub const fn information(sap: u8) -> [u8; LEN] {
    [sap, sap, function::UI]
}

/// Which supervisory frame (type 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Supervisory {
    /// Receive ready.
    ReceiveReady,
    /// Receive not ready.
    ReceiveNotReady,
    /// Reject.
    Reject,
    /// None of these.
    Reserved,
}

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Control {
    /// Without numbers: all of type 1, and what begins and ends a connection of type 2.
    Unnumbered {
        /// See [`function`]; bit 4 is clear.
        function: u8,
        /// Poll in a command, final in a response.
        poll: bool,
    },
    /// Information on a connection (type 2).
    Information {
        /// N(S), 7 bits.
        ns: u8,
        /// N(R), 7 bits.
        nr: u8,
        /// Poll or final.
        poll: bool,
    },
    /// Supervision of a connection (type 2).
    Supervisory {
        /// Which.
        kind: Supervisory,
        /// The four bits that are reserved, 0 to 15.
        reserved: u8,
        /// N(R), 7 bits.
        nr: u8,
        /// Poll or final.
        poll: bool,
    },
}

/// An LLC header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Header {
    /// Destination service access point, its group bit (bit 0) included.
    pub dsap: u8,
    /// Source service access point, an even number.
    pub ssap: u8,
    /// Whether this is a response: bit 0 where the source is.
    pub response: bool,
    /// What it is.
    pub control: Control,
}

impl Header {
    /// A command of function `function` from `ssap` to `dsap`, without poll.
    #[must_use]
    pub const fn command(dsap: u8, ssap: u8, function: u8) -> Self {
        let poll = false;
        Self { dsap, ssap, response: false, control: Control::Unnumbered { function, poll } }
    }

    /// Reads a header; also gives its length: 3 octets, 4 of a numbered format.
    ///
    /// # Errors
    /// The header is not all there.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let short = |need| Malformed::Short { protocol: "LLC", need, have: front.len() };
        let Some((&[dsap, ssap, first], rest)) = front.split_first_chunk::<LEN>() else {
            return Err(short(LEN));
        };
        let control = if first & 3 == 3 {
            Control::Unnumbered { function: first & !POLL, poll: first & POLL != 0 }
        } else {
            let Some(&second) = rest.first() else {
                return Err(short(LEN + 1));
            };
            let (nr, poll) = (second >> 1, second & 1 != 0);
            if first & 1 == 0 {
                let ns = first >> 1;
                Control::Information { ns, nr, poll }
            } else {
                let kind = match first >> 2 & 3 {
                    0 => Supervisory::ReceiveReady,
                    1 => Supervisory::ReceiveNotReady,
                    2 => Supervisory::Reject,
                    _ => Supervisory::Reserved,
                };
                Control::Supervisory { kind, reserved: first >> 4, nr, poll }
            }
        };
        let header = Self { dsap, ssap: ssap & !1, response: ssap & 1 != 0, control };
        Ok((header, header.len()))
    }

    /// Octets that [`Header::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.control {
            Control::Unnumbered { .. } => LEN,
            Control::Information { .. } | Control::Supervisory { .. } => LEN + 1,
        }
    }

    /// Writes [`Header::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        put(out, [self.dsap, self.ssap & !1 | u8::from(self.response)]);
        match self.control {
            Control::Unnumbered { function, poll } => {
                let bit = if poll { POLL } else { 0 };
                put(out, [function & !POLL | 3 | bit]);
            }
            Control::Information { ns, nr, poll } => {
                put(out, [ns << 1, nr << 1 | u8::from(poll)]);
            }
            Control::Supervisory { kind, reserved, nr, poll } => {
                let kind = match kind {
                    Supervisory::ReceiveReady => 0,
                    Supervisory::ReceiveNotReady => 1,
                    Supervisory::Reject => 2,
                    Supervisory::Reserved => 3,
                };
                put(out, [reserved << 4 | kind << 2 | 1, nr << 1 | u8::from(poll)]);
            }
        }
    }
}

impl fmt::Display for Control {
    /// For example `UI`, `XID P` or `I N(S)=3 N(R)=4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let poll = match *self {
            Self::Unnumbered { function, poll } => {
                match function {
                    function::UI => f.write_str("UI")?,
                    function::DM => f.write_str("DM")?,
                    function::DISC => f.write_str("DISC")?,
                    function::UA => f.write_str("UA")?,
                    function::SABME => f.write_str("SABME")?,
                    function::FRMR => f.write_str("FRMR")?,
                    function::XID => f.write_str("XID")?,
                    function::TEST => f.write_str("TEST")?,
                    other => write!(f, "unnumbered {other:#04x}")?,
                }
                poll
            }
            Self::Information { ns, nr, poll } => {
                write!(f, "I N(S)={ns} N(R)={nr}")?;
                poll
            }
            Self::Supervisory { kind, nr, poll, .. } => {
                let kind = match kind {
                    Supervisory::ReceiveReady => "RR",
                    Supervisory::ReceiveNotReady => "RNR",
                    Supervisory::Reject => "REJ",
                    Supervisory::Reserved => "S?",
                };
                write!(f, "{kind} N(R)={nr}")?;
                poll
            }
        };
        if poll { f.write_str(" P/F") } else { Ok(()) }
    }
}

impl fmt::Display for Header {
    /// For example `LLC 0xaa > 0xaa UI command`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dsap, ssap, response, control } = self;
        let kind = if *response { "response" } else { "command" };
        write!(f, "LLC {ssap:#04x} > {dsap:#04x} {control} {kind}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1390, appendix on numbers: UI 3, XID 175 and 191, TEST 227 and 243; a response has the low bit of the SSAP
    /// set.
    #[test]
    fn control_fields_are_those_of_rfc_1390() {
        for (octets, function, poll, response) in [
            ([170, 170, 3], function::UI, false, false),
            ([0, 170, 175], function::XID, false, false),
            ([255, 171, 191], function::XID, true, true),
            ([0, 0, 227], function::TEST, false, false),
            ([170, 1, 243], function::TEST, true, true),
        ] {
            let [dsap, ssap, _] = octets;
            let header = Header { dsap, ssap: ssap & 0xfe, response, control: Control::Unnumbered { function, poll } };
            assert_eq!(Header::parse(&octets), Ok((header, 3)));
            let mut out = [0; 3];
            header.emit(&mut out);
            assert_eq!(out, octets);
        }
        assert_eq!(information(sap::SNAP), [170, 170, 3]);
        assert_eq!(XID_CLASS_1, [129, 1, 0]);
    }

    #[test]
    fn numbered_formats_have_an_octet_more() {
        let (header, len) = Header::parse(&[0xf0, 0xf1, 0x01, 0x0b]).unwrap();
        assert_eq!(len, 4);
        assert_eq!(header.to_string(), "LLC 0xf0 > 0xf0 RR N(R)=5 P/F response");
        let (header, _) = Header::parse(&[0xf0, 0xf0, 0x06, 0x08]).unwrap();
        assert_eq!(header.to_string(), "LLC 0xf0 > 0xf0 I N(S)=3 N(R)=4 command");
        assert!(Header::parse(&[0xf0, 0xf1, 0x01]).is_err());
        assert!(Header::parse(&[0xf0, 0xf1]).is_err());
    }

    proptest! {
        #[test]
        fn what_was_parsed_is_emitted(octets: [u8; 4]) {
            let (header, len) = Header::parse(&octets).unwrap();
            let mut out = vec![0; len];
            header.emit(&mut out);
            prop_assert_eq!(&out, &octets[..len]);
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>) {
            let _ = Header::parse(&octets);
        }
    }
}
