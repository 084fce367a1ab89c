//! By which numbers headers tell what is in a PDU.

use kumiki_octets::Numbering;

/// Protocols of IPv4 and next headers of IPv6 (RFC 791, RFC 8200).
pub const IP_PROTOCOL: &Numbering = &Numbering::decimal("IP protocol");
/// Ethernet types, as SNAP and Ethernet II carry them.
pub const ETHER_TYPE: &Numbering = &Numbering::hexadecimal("EtherType", 4);
/// Service access points of IEEE 802.2 (LSAP): even numbers.
pub const LSAP: &Numbering = &Numbering::hexadecimal("service access point", 2);
/// The protocol field of PPP (RFC 1661 section 2).
pub const PPP_PROTOCOL: &Numbering = &Numbering::hexadecimal("PPP protocol", 4);
/// The protocol field of MAPOS (RFC 2171).
pub const MAPOS_PROTOCOL: &Numbering = &Numbering::hexadecimal("MAPOS protocol", 4);
