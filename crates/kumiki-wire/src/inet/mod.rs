//! The internet: TCP, UDP, both versions of IP with ICMP, ARP, DHCP, and the frames of LANs.

pub mod arp;
pub mod dhcp;
pub mod ethernet;
pub mod fddi;
pub mod icmpv4;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod llc;
pub mod llc_snap;
mod parameters;
pub mod rtp;
pub mod tcp;
pub mod udp;
pub mod virtio_net;

pub use parameters::{EcnUse, IpParameters, IpQuality, Sharing, SourceRoute};
