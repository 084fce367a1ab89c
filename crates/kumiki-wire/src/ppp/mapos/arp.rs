//! Address resolution packets for MAPOS and IPv4, UNARP among them.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2176 sections 3.2 and 3.3; RFC 2175 section 4 for 16 bits |
//! | Sent to | requests and UNARP to all nodes |
//! | Left out | other protocols than IPv4, other address lengths than 4 and 4 |

use core::fmt;
use std::net::Ipv4Addr;

use super::{Address, Width};
use crate::inet::arp::hardware;
use crate::inet::ethernet::ethertype;
use crate::{Malformed, put};

/// Octets of a packet.
pub const LEN: usize = 24;
/// Octets of an address, of either protocol.
const ADDRESS_LEN: u8 = 4;

/// Operation code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// 1: who has the target IP address?
    Request,
    /// 2: the answer to a request.
    Response,
    /// 23, MAPOS-UNARP: forget whom you know under the sender's IP address, unless it is the sender.
    Unarp,
    /// Any other; to be discarded.
    Other(u16),
}

impl From<u16> for Operation {
    fn from(code: u16) -> Self {
        match code {
            1 => Self::Request,
            2 => Self::Response,
            23 => Self::Unarp,
            code => Self::Other(code),
        }
    }
}

impl From<Operation> for u16 {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Request => 1,
            Operation::Response => 2,
            Operation::Unarp => 23,
            Operation::Other(code) => code,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("request"),
            Self::Response => f.write_str("response"),
            Self::Unarp => f.write_str("UNARP"),
            Self::Other(code) => write!(f, "operation {code}"),
        }
    }
}

/// A packet. HDLC addresses are the 32-bit fields as they stand: an [`Address`] right-aligned, or zeros or ones where
/// there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Operation code.
    pub operation: Operation,
    /// Sender HDLC address.
    pub sender: u32,
    /// Sender IP address.
    pub sender_ip: Ipv4Addr,
    /// Target HDLC address: 0 in a request, all ones in UNARP.
    pub target: u32,
    /// Target IP address: 255.255.255.255 in UNARP.
    pub target_ip: Ipv4Addr,
}

impl Header {
    /// What asks for the address of `target_ip`.
    #[must_use]
    pub fn request(sender: Address, sender_ip: Ipv4Addr, target_ip: Ipv4Addr) -> Self {
        Self { operation: Operation::Request, sender: u32::from(sender), sender_ip, target: 0, target_ip }
    }

    /// What `own` answers to this request: the pairs exchanged, and its address put in.
    #[must_use]
    pub fn answered_by(&self, own: Address) -> Self {
        Self {
            operation: Operation::Response,
            sender: u32::from(own),
            sender_ip: self.target_ip,
            target: self.sender,
            target_ip: self.sender_ip,
        }
    }

    /// What a node sends when its port has come up (section 3.3).
    #[must_use]
    pub fn unarp(sender: Address, sender_ip: Ipv4Addr) -> Self {
        Self {
            operation: Operation::Unarp,
            sender: u32::from(sender),
            sender_ip,
            target: u32::MAX,
            target_ip: Ipv4Addr::BROADCAST,
        }
    }

    /// The sender, where its field is the address of one station.
    #[must_use]
    pub fn sender(&self, width: Width) -> Option<Address> {
        Address::new(width, self.sender).filter(|address| !address.is_group())
    }

    /// Reads a packet; also gives its length.
    ///
    /// # Errors
    /// The packet is not all there, or is not about MAPOS and IPv4 with addresses of 4 octets each.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(octets) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "MAPOS ARP", need: LEN, have: front.len() });
        };
        #[rustfmt::skip] // one line is one field
        let [
            h0, h1,
            p0, p1,
            hard_len, proto_len,
            o0, o1,
            s0, s1, s2, s3,
            si0, si1, si2, si3,
            t0, t1, t2, t3,
            ti0, ti1, ti2, ti3,
        ] = *octets;
        let expected: [(&'static str, u16, u16, &'static str); 4] = [
            ("hardware address space", u16::from_be_bytes([h0, h1]), hardware::MAPOS, "0x19 (MAPOS)"),
            ("protocol address space", u16::from_be_bytes([p0, p1]), ethertype::IPV4, "0x800 (IPv4)"),
            ("hardware address length", u16::from(hard_len), u16::from(ADDRESS_LEN), "4"),
            ("protocol address length", u16::from(proto_len), u16::from(ADDRESS_LEN), "4"),
        ];
        for (field, found, right, expected) in expected {
            if found != right {
                return Err(Malformed::Field { protocol: "MAPOS ARP", field, found: u64::from(found), expected });
            }
        }
        let header = Self {
            operation: u16::from_be_bytes([o0, o1]).into(),
            sender: u32::from_be_bytes([s0, s1, s2, s3]),
            sender_ip: Ipv4Addr::new(si0, si1, si2, si3),
            target: u32::from_be_bytes([t0, t1, t2, t3]),
            target_ip: Ipv4Addr::new(ti0, ti1, ti2, ti3),
        };
        Ok((header, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 24.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 24 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let out = &mut out;
        put(out, hardware::MAPOS.to_be_bytes());
        put(out, ethertype::IPV4.to_be_bytes());
        put(out, [ADDRESS_LEN; 2]);
        put(out, u16::from(self.operation).to_be_bytes());
        put(out, self.sender.to_be_bytes());
        put(out, self.sender_ip.octets());
        put(out, self.target.to_be_bytes());
        put(out, self.target_ip.octets());
    }
}

impl fmt::Display for Header {
    /// For example `MAPOS ARP request 10.0.0.1 (0x23) > 10.0.0.2`; the target's HDLC address only in answers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, sender, sender_ip, target, target_ip } = self;
        write!(f, "MAPOS ARP {operation} {sender_ip} ({sender:#04x}) > {target_ip}")?;
        match operation {
            Operation::Request | Operation::Unarp => Ok(()),
            Operation::Response | Operation::Other(_) => write!(f, " ({target:#04x})"),
        }
    }
}
