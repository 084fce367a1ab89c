//! Address resolution packets for Ethernet-like media and IPv4.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 826; hardware type 6 after RFC 1042; operations 8 to 10 after RFC 2225, which shares the registry |
//! | Left out | other address lengths than 6 and 4 (ATM has [`atm_arp`](crate::atm::atm_arp)); reverse ARP |

use core::fmt;
use std::net::Ipv4Addr;

use crate::Malformed;
use crate::inet::ethernet::{MacAddr, ethertype};

/// Octets of a packet.
pub const LEN: usize = 28;

/// Hardware types.
pub mod hardware {
    /// Ethernet; also what FDDI sends (RFC 1390).
    pub const ETHERNET: u16 = 1;
    /// IEEE 802 networks (RFC 1042).
    pub const IEEE_802: u16 = 6;
    /// ATM (RFC 2225).
    pub const ATM: u16 = 19;
    /// MAPOS (RFC 2176).
    pub const MAPOS: u16 = 25;
}

/// ar$op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// 1: who has the target protocol address?
    Request,
    /// 2: the answer to a request.
    Reply,
    /// 8: which protocol address does the other end of this circuit have? (InARP, InATMARP)
    InverseRequest,
    /// 9: the answer to an inverse request.
    InverseReply,
    /// 10: the server knows no answer to a request (ATMARP).
    Nak,
    /// Any other; to be discarded by those who do not know it.
    Other(u16),
}

impl From<u16> for Operation {
    fn from(op: u16) -> Self {
        match op {
            1 => Self::Request,
            2 => Self::Reply,
            8 => Self::InverseRequest,
            9 => Self::InverseReply,
            10 => Self::Nak,
            op => Self::Other(op),
        }
    }
}

impl From<Operation> for u16 {
    fn from(op: Operation) -> Self {
        match op {
            Operation::Request => 1,
            Operation::Reply => 2,
            Operation::InverseRequest => 8,
            Operation::InverseReply => 9,
            Operation::Nak => 10,
            Operation::Other(op) => op,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("request"),
            Self::Reply => f.write_str("reply"),
            Self::InverseRequest => f.write_str("inverse request"),
            Self::InverseReply => f.write_str("inverse reply"),
            Self::Nak => f.write_str("nak"),
            Self::Other(op) => write!(f, "operation {op}"),
        }
    }
}

/// An ARP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// ar$hrd: [`hardware::ETHERNET`] or [`hardware::IEEE_802`].
    pub hrd: u16,
    /// ar$op.
    pub op: Operation,
    /// ar$sha: hardware address of the sender.
    pub sha: MacAddr,
    /// ar$spa: protocol address of the sender.
    pub spa: Ipv4Addr,
    /// ar$tha: hardware address of the target; of no meaning in a request.
    pub tha: MacAddr,
    /// ar$tpa: protocol address of the target.
    pub tpa: Ipv4Addr,
}

impl Header {
    /// Reads a packet; also gives its length. Octets after it are padding of the link.
    ///
    /// # Errors
    /// The packet is not all there, or is not about Ethernet-like hardware addresses of 6 and IPv4 addresses of 4
    /// octets.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(octets) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "ARP", need: LEN, have: front.len() });
        };
        #[rustfmt::skip] // one line is one field
        let [
            h0, h1,
            p0, p1,
            hln, pln,
            o0, o1,
            sha0, sha1, sha2, sha3, sha4, sha5,
            spa0, spa1, spa2, spa3,
            tha0, tha1, tha2, tha3, tha4, tha5,
            tpa0, tpa1, tpa2, tpa3,
        ] = *octets;
        let refuse = |field, found: u64, expected| Malformed::Field { protocol: "ARP", field, found, expected };
        let hrd = u16::from_be_bytes([h0, h1]);
        if hrd != hardware::ETHERNET && hrd != hardware::IEEE_802 {
            return Err(refuse("ar$hrd", u64::from(hrd), "1 (Ethernet) or 6 (IEEE 802)"));
        }
        let pro = u16::from_be_bytes([p0, p1]);
        if pro != ethertype::IPV4 {
            return Err(refuse("ar$pro", u64::from(pro), "0x800 (IPv4)"));
        }
        if hln != 6 {
            return Err(refuse("ar$hln", u64::from(hln), "6"));
        }
        if pln != 4 {
            return Err(refuse("ar$pln", u64::from(pln), "4"));
        }
        let header = Self {
            hrd,
            op: u16::from_be_bytes([o0, o1]).into(),
            sha: MacAddr([sha0, sha1, sha2, sha3, sha4, sha5]),
            spa: Ipv4Addr::new(spa0, spa1, spa2, spa3),
            tha: MacAddr([tha0, tha1, tha2, tha3, tha4, tha5]),
            tpa: Ipv4Addr::new(tpa0, tpa1, tpa2, tpa3),
        };
        Ok((header, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 28.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 28 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let out = &mut out;
        crate::put(out, self.hrd.to_be_bytes());
        crate::put(out, ethertype::IPV4.to_be_bytes());
        crate::put(out, [6, 4]);
        crate::put(out, u16::from(self.op).to_be_bytes());
        crate::put(out, self.sha.0);
        crate::put(out, self.spa.octets());
        crate::put(out, self.tha.0);
        crate::put(out, self.tpa.octets());
    }
}

impl fmt::Display for Header {
    /// For example `ARP request 10.0.0.1 (02:00:00:00:00:01) > 10.0.0.2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, sha, spa, tha, tpa, .. } = self;
        write!(f, "ARP {op} {spa} ({sha}) > {tpa}")?;
        if *op == Operation::Request { Ok(()) } else { write!(f, " ({tha})") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REQUEST: [u8; 28] = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];

    #[test]
    fn a_request_is_read_and_written() {
        let (header, len) = Header::parse(&[&REQUEST[..], &[0; 18]].concat()).unwrap();
        assert_eq!((header.hrd, header.op, len), (hardware::ETHERNET, Operation::Request, 28));
        assert_eq!(header.to_string(), "ARP request 10.0.0.1 (02:00:00:00:00:01) > 10.0.0.2");
        let mut out = [0xff; 28];
        header.emit(&mut out);
        assert_eq!(out, REQUEST);
    }

    #[test]
    fn other_media_and_protocols_are_refused() {
        for (at, field) in [(1, "ar$hrd"), (2, "ar$pro"), (4, "ar$hln"), (5, "ar$pln")] {
            let mut octets = REQUEST;
            octets[at] = 19;
            let Err(Malformed::Field { field: found, .. }) = Header::parse(&octets) else { panic!("{field}") };
            assert_eq!(found, field);
        }
        let mut octets = REQUEST;
        octets[1] = 6;
        assert_eq!(Header::parse(&octets).unwrap().0.hrd, hardware::IEEE_802);
    }

    proptest! {
        #[test]
        fn what_was_emitted_is_parsed(
            ieee_802: bool, op: u16, sha: [u8; 6], spa: [u8; 4], tha: [u8; 6], tpa: [u8; 4],
        ) {
            let header = Header {
                hrd: if ieee_802 { hardware::IEEE_802 } else { hardware::ETHERNET },
                op: op.into(),
                sha: MacAddr(sha),
                spa: spa.into(),
                tha: MacAddr(tha),
                tpa: tpa.into(),
            };
            let mut out = [0; LEN];
            header.emit(&mut out);
            prop_assert_eq!(Header::parse(&out), Ok((header, LEN)));
        }

        #[test]
        fn no_octets_make_it_panic(octets: Vec<u8>) {
            let _ = Header::parse(&octets);
        }
    }
}
