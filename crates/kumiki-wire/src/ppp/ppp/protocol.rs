//! The protocol numbers of PPP.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 section 2 (the rules and the ranges); numbers of the RFCs named beside them, and of the PPP registry |
//! | Left out | the other numbers of the registry, which are known by number only |

use core::fmt;

/// The padding protocol: what follows is padding (RFC 1570 section 2.4).
pub const PADDING: u16 = 0x0001;
/// IPv4 (RFC 1332).
pub const IPV4: u16 = crate::inet::ipv4::PPP_PROTOCOL;
/// OSI network layer (RFC 1377).
pub const OSI: u16 = 0x0023;
/// TCP/IP with Van Jacobson's compressed headers (RFC 1332 section 4).
pub const VJ_COMPRESSED: u16 = 0x002d;
/// TCP/IP with a whole header, for the slot that stands in its protocol field (RFC 1332 section 4).
pub const VJ_UNCOMPRESSED: u16 = 0x002f;
/// Bridged frames (RFC 3518).
pub const BRIDGING: u16 = 0x0031;
/// Fragments of the multilink protocol (RFC 1990).
pub const MULTILINK: u16 = 0x003d;
/// IPv6 (RFC 5072).
pub const IPV6: u16 = crate::inet::ipv6::PPP_PROTOCOL;
/// Compressed datagrams (RFC 1962).
pub const COMPRESSED: u16 = 0x00fd;
/// Control of IPv4.
pub const IPCP: u16 = 0x8021;
/// Control of the OSI network layer.
pub const OSINLCP: u16 = 0x8023;
/// Control of bridging.
pub const BCP: u16 = 0x8031;
/// Control of IPv6.
pub const IPV6CP: u16 = 0x8057;
/// Control of compression.
pub const CCP: u16 = 0x80fd;
/// Control of the link.
pub const LCP: u16 = 0xc021;
/// Password authentication (RFC 1334).
pub const PAP: u16 = 0xc023;
/// Link quality reports (RFC 1989).
pub const LQR: u16 = 0xc025;
/// Challenge handshake authentication (RFC 1994).
pub const CHAP: u16 = 0xc223;
/// Extensible authentication (RFC 3748).
pub const EAP: u16 = 0xc227;

/// What it is called, where this table knows it.
#[must_use]
pub const fn name(protocol: u16) -> Option<&'static str> {
    Some(match protocol {
        PADDING => "padding",
        IPV4 => "IPv4",
        OSI => "OSI network layer",
        VJ_COMPRESSED => "VJ compressed TCP/IP",
        VJ_UNCOMPRESSED => "VJ uncompressed TCP/IP",
        BRIDGING => "bridging",
        MULTILINK => "multilink",
        IPV6 => "IPv6",
        COMPRESSED => "compressed datagram",
        IPCP => "IPCP",
        OSINLCP => "OSINLCP",
        BCP => "BCP",
        IPV6CP => "IPV6CP",
        CCP => "CCP",
        LCP => "LCP",
        PAP => "PAP",
        LQR => "LQR",
        CHAP => "CHAP",
        EAP => "EAP",
        _ => return None,
    })
}

/// Whether this can be a protocol: the last octet is odd and the first one even. Any other is to be treated as unknown.
#[must_use]
pub const fn is_lawful(protocol: u16) -> bool {
    protocol & 0x0101 == 1
}

/// Its name, or its number where it has none.
#[derive(Clone, Copy, Debug)]
pub struct Name(pub u16);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "protocol {:#06x}", self.0),
        }
    }
}
