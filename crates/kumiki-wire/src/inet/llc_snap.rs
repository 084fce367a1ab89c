//! LLC and SNAP headers in front of datagrams, on ATM and on IEEE 802 networks.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2684 sections 5.1, 5.2 and appendix B (which replaces RFC 1483); RFC 1042; IEEE 802.2 type 1 |
//! | Left out | all other LLC headers, which [`crate::inet::llc`] reads; VC multiplexing (there is no header); the VPN form (section 8), which is read as SNAP of organisation 00-00-5E |
//!
//! The padding that RFC 2684 puts before a bridged frame counts as part of the header: sent as zeros, ignored when
//! received.

use core::fmt;

use crate::inet::ethernet::ethertype;
use crate::inet::llc;
use crate::{Malformed, put, put_slice};

/// Octets of an LLC header alone.
pub const LLC_LEN: usize = llc::LEN;
/// Octets of an LLC header with SNAP.
pub const LEN: usize = 8;

/// Network layer protocol identifiers (ISO/IEC TR 9577; RFC 2684 appendix C, RFC 2364): the first octet of a PDU after
/// [`Header::Nlpid`].
pub mod nlpid {
    /// Connectionless network protocol.
    pub const CLNP: u8 = 0x81;
    /// End system to intermediate system.
    pub const ES_IS: u8 = 0x82;
    /// Intermediate system to intermediate system.
    pub const IS_IS: u8 = 0x83;
    /// PPP (RFC 2364).
    pub const PPP: u8 = 0xcf;
}

const SNAP: [u8; LLC_LEN] = llc::information(llc::sap::SNAP);
const ISO: [u8; LLC_LEN] = llc::information(llc::sap::ISO);
const OUI_ETHERTYPE: [u8; 3] = [0, 0, 0];
const OUI_802_1: [u8; 3] = [0x00, 0x80, 0xc2];
const PID_FRAGMENT: u16 = 0x000d;
const PID_BPDU: u16 = 0x000e;

/// The media whose frames are bridged, RFC 2684 appendix B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Media {
    /// Ethernet, IEEE 802.3.
    Ethernet,
    /// IEEE 802.4, token bus.
    TokenBus,
    /// IEEE 802.5, token ring.
    TokenRing,
    /// FDDI.
    Fddi,
    /// IEEE 802.6, DQDB. A common PDU header of 4 octets follows and is not part of this header.
    Dqdb,
}

impl Media {
    /// Octets between the PID and the frame, which align the frame's data to four.
    #[must_use]
    pub const fn pad_len(self) -> usize {
        match self {
            Self::Ethernet => 2,
            Self::TokenBus | Self::TokenRing | Self::Fddi => 3,
            Self::Dqdb => 0,
        }
    }

    /// The PID with preserved FCS; 6 more without.
    const fn pid(self) -> u16 {
        match self {
            Self::Ethernet => 1,
            Self::TokenBus => 2,
            Self::TokenRing => 3,
            Self::Fddi => 4,
            Self::Dqdb => 5,
        }
    }
}

/// What an LLC header says about the PDU behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Header {
    /// AA-AA-03 00-00-00: a routed PDU with an EtherType, see [`ethertype`].
    EtherType(u16),
    /// AA-AA-03 00-80-C2: a bridged frame.
    Bridged {
        /// The medium that the frame is from.
        media: Media,
        /// The FCS of that medium is at the end of the frame.
        fcs: bool,
    },
    /// AA-AA-03 00-80-C2 00-0D: a fragment of a bridged frame.
    BridgedFragment,
    /// AA-AA-03 00-80-C2 00-0E: a spanning tree BPDU.
    Bpdu,
    /// AA-AA-03 and any other identifier.
    Snap {
        /// Organisation that gave out `pid`.
        oui: [u8; 3],
        /// Protocol identifier.
        pid: u16,
    },
    /// FE-FE-03: a routed ISO PDU. Its own first octet tells which, see [`nlpid`]; it is not part of this header.
    Nlpid,
}

impl Header {
    /// Routed IPv4.
    pub const IPV4: Self = Self::EtherType(ethertype::IPV4);
    /// ARP, ATMARP and their inverse forms.
    pub const ARP: Self = Self::EtherType(ethertype::ARP);
    /// Routed IPv6.
    pub const IPV6: Self = Self::EtherType(ethertype::IPV6);

    /// Reads a header; also gives its length.
    ///
    /// # Errors
    /// The header is not all there, or the LLC header is neither SNAP's nor ISO's in unnumbered information.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some((llc, rest)) = front.split_first_chunk::<LLC_LEN>() else {
            return Err(short(LLC_LEN, front.len()));
        };
        if *llc == ISO {
            return Ok((Self::Nlpid, LLC_LEN));
        }
        if *llc != SNAP {
            let [dsap, ssap, control] = *llc;
            return Err(Malformed::Field {
                protocol: "LLC/SNAP",
                field: "DSAP, SSAP and control",
                found: u64::from(u32::from_be_bytes([0, dsap, ssap, control])),
                expected: "0xaaaa03 (SNAP) or 0xfefe03 (ISO)",
            });
        }
        let Some(&[o0, o1, o2, p0, p1]) = rest.first_chunk() else {
            return Err(short(LEN, front.len()));
        };
        let header = Self::from_snap([o0, o1, o2], u16::from_be_bytes([p0, p1]));
        let len = header.len();
        if front.len() < len { Err(short(len, front.len())) } else { Ok((header, len)) }
    }

    fn from_snap(oui: [u8; 3], pid: u16) -> Self {
        let bridged = |media, fcs| Self::Bridged { media, fcs };
        match (oui, pid) {
            (OUI_ETHERTYPE, ethertype) => Self::EtherType(ethertype),
            (OUI_802_1, 1) => bridged(Media::Ethernet, true),
            (OUI_802_1, 2) => bridged(Media::TokenBus, true),
            (OUI_802_1, 3) => bridged(Media::TokenRing, true),
            (OUI_802_1, 4) => bridged(Media::Fddi, true),
            (OUI_802_1, 5) => bridged(Media::Dqdb, true),
            (OUI_802_1, 7) => bridged(Media::Ethernet, false),
            (OUI_802_1, 8) => bridged(Media::TokenBus, false),
            (OUI_802_1, 9) => bridged(Media::TokenRing, false),
            (OUI_802_1, 10) => bridged(Media::Fddi, false),
            (OUI_802_1, 11) => bridged(Media::Dqdb, false),
            (OUI_802_1, PID_FRAGMENT) => Self::BridgedFragment,
            (OUI_802_1, PID_BPDU) => Self::Bpdu,
            (oui, pid) => Self::Snap { oui, pid },
        }
    }

    /// Octets before the PDU: 3, 8, or 8 and the padding of a bridged frame.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Nlpid => LLC_LEN,
            Self::Bridged { media, .. } => LEN + media.pad_len(),
            Self::EtherType(_) | Self::BridgedFragment | Self::Bpdu | Self::Snap { .. } => LEN,
        }
    }

    /// Writes [`Header::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let out = &mut out;
        let (oui, pid, pad) = match *self {
            Self::Nlpid => return put(out, ISO),
            Self::EtherType(ethertype) => (OUI_ETHERTYPE, ethertype, 0),
            Self::Bridged { media, fcs } => (OUI_802_1, media.pid() + if fcs { 0 } else { 6 }, media.pad_len()),
            Self::BridgedFragment => (OUI_802_1, PID_FRAGMENT, 0),
            Self::Bpdu => (OUI_802_1, PID_BPDU, 0),
            Self::Snap { oui, pid } => (oui, pid, 0),
        };
        put(out, SNAP);
        put(out, oui);
        put(out, pid.to_be_bytes());
        put_slice(out, [0; 3].get(..pad).unwrap_or_default());
    }
}

/// The octets of [`Header::EtherType`]: a routed PDU of this type.
#[inline]
#[must_use]
pub const fn routed(ethertype: u16) -> [u8; LEN] {
    let ([dsap, ssap, control], [o0, o1, o2]) = (SNAP, OUI_ETHERTYPE);
    let [p0, p1] = ethertype.to_be_bytes();
    [dsap, ssap, control, o0, o1, o2, p0, p1]
}

/// The type of the routed PDU whose header is at the front; `None` where another is there, or none.
#[inline]
#[must_use]
pub fn ethertype_of(front: &[u8]) -> Option<u16> {
    let &[dsap, ssap, control, o0, o1, o2, p0, p1] = front.first_chunk()?;
    let is_routed = [dsap, ssap, control] == SNAP && [o0, o1, o2] == OUI_ETHERTYPE;
    is_routed.then_some(u16::from_be_bytes([p0, p1]))
}

const fn short(need: usize, have: usize) -> Malformed {
    Malformed::Short { protocol: "LLC/SNAP", need, have }
}

impl fmt::Display for Header {
    /// For example `LLC/SNAP type 0x0800` or `LLC ISO NLPID`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nlpid => f.write_str("LLC ISO NLPID"),
            Self::EtherType(ethertype) => write!(f, "LLC/SNAP type {ethertype:#06x}"),
            Self::Bridged { media, fcs } => {
                write!(f, "LLC/SNAP bridged {media:?} {} FCS", if *fcs { "with" } else { "without" })
            }
            Self::BridgedFragment => f.write_str("LLC/SNAP bridged fragment"),
            Self::Bpdu => f.write_str("LLC/SNAP BPDU"),
            Self::Snap { oui: [a, b, c], pid } => {
                write!(f, "LLC/SNAP OUI {a:02x}-{b:02x}-{c:02x} PID {pid:#06x}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn emitted(header: Header) -> Vec<u8> {
        let mut out = vec![0xff; header.len()];
        header.emit(&mut out);
        out
    }

    #[test]
    fn headers_are_those_of_rfc_2684() {
        let bridged = |media, fcs| Header::Bridged { media, fcs };
        let cases: [(Header, &[u8]); 9] = [
            (Header::IPV4, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
            (Header::ARP, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 6]),
            (Header::IPV6, &[0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd]),
            (bridged(Media::Ethernet, true), &[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 1, 0, 0]),
            (bridged(Media::Ethernet, false), &[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 7, 0, 0]),
            (bridged(Media::Fddi, false), &[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 0x0a, 0, 0, 0]),
            (bridged(Media::Dqdb, false), &[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 0x0b]),
            (Header::Bpdu, &[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 0x0e]),
            (Header::Nlpid, &[0xfe, 0xfe, 3]),
        ];
        for (header, octets) in cases {
            assert_eq!(emitted(header), octets, "{header}");
            assert_eq!(Header::parse(octets), Ok((header, octets.len())));
        }
    }

    #[test]
    fn the_access_control_octet_of_a_token_ring_pad_is_ignored() {
        let octets = [0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 3, 0, 0, 0x50, 0x40];
        let header = Header::Bridged { media: Media::TokenRing, fcs: true };
        assert_eq!(Header::parse(&octets), Ok((header, 11)));
    }

    #[test]
    fn other_llc_is_refused() {
        let refused = Header::parse(&[0x42, 0x42, 3, 0, 0, 0, 0, 0]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "LLC/SNAP: DSAP, SSAP and control is 0x424203, expected 0xaaaa03 (SNAP) or 0xfefe03 (ISO)"
        );
        // A command with the poll bit is not unnumbered information of type 1 as RFC 1042 uses it.
        assert!(Header::parse(&[0xaa, 0xaa, 0x13, 0, 0, 0, 8, 0]).is_err());
    }

    #[test]
    fn a_cut_header_is_short() {
        let octets = [0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 7, 0, 0];
        for have in 0..10 {
            let need = if have < 3 {
                3
            } else if have < 8 {
                8
            } else {
                10
            };
            assert_eq!(Header::parse(&octets[..have]), Err(short(need, have)));
        }
    }

    proptest! {
        #[test]
        fn what_was_emitted_is_parsed(oui in 0u8..2, pid in 0u16..20, other: [u8; 3], wide: u16) {
            for (oui, pid) in [([OUI_ETHERTYPE, OUI_802_1][usize::from(oui)], pid), (other, wide)] {
                let header = Header::from_snap(oui, pid);
                let out = emitted(header);
                prop_assert_eq!(&out[3..6], &oui);
                prop_assert_eq!(&out[6..8], &pid.to_be_bytes());
                prop_assert_eq!(Header::parse(&out), Ok((header, out.len())));
                let routed = if let Header::EtherType(ethertype) = header { Some(ethertype) } else { None };
                prop_assert_eq!(ethertype_of(&out), routed);
                prop_assert!(routed.is_none_or(|ethertype| super::routed(ethertype)[..] == out));
            }
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>) {
            let _ = Header::parse(&octets);
        }
    }
}
