//! The internet and the frames of LANs.

pub(in crate::protocol) mod arp;
pub(in crate::protocol) mod dhcp;
pub(in crate::protocol) mod ethernet;
pub(in crate::protocol) mod fddi;
pub(in crate::protocol) mod icmpv4;
pub(in crate::protocol) mod icmpv6;
pub(in crate::protocol) mod ip;
pub(in crate::protocol) mod ipv4;
pub(in crate::protocol) mod ipv6;
pub(in crate::protocol) mod ipv6_extension;
pub(in crate::protocol) mod llc;
pub(in crate::protocol) mod rtp;
pub(in crate::protocol) mod tcp;
pub(in crate::protocol) mod udp;
