//! The kinds of nodes of this family: what each has for a configuration, and what is made of it.
//!
//! To add one: a line in [`KINDS`]. Its settings are said by its configuration, with `#[derive(Settings)]`.

use core::net::{Ipv4Addr, SocketAddrV4};

use kumiki_settings::{LowerLayers, NodeKind, NodeResult, Reader, checked, fits, node};
use kumiki_wire::inet::ethernet::MacAddr;

use crate::arp::{self, Arp};
use crate::eth::{self, Eth};
use crate::fddi::{self, Fddi};
use crate::icmp::{self, IcmpEcho};
use crate::ip::{self, Ip};
use crate::ipv6;
use crate::llc::{self, Llc};
use crate::raw_ip::RawIp;
use crate::sim_ether::{self, SimEther};
use crate::tcp::Tcp;
use crate::tcp::config::Config as TcpConfig;
use crate::udp::{self, Udp};
use crate::vnet::{self, Vnet};

/// Every kind and what makes it, in the order of their names.
pub const KINDS: &[NodeKind] = &[
    ("arp", |reader, _| checked(reader, arp::Config::new(NO_IP), Arp::new)),
    ("eth", |reader, _| checked(reader, eth::Config::new(MacAddr::default()), Eth::new)),
    ("fddi", |reader, _| checked(reader, fddi::Config::new(MacAddr::default()), Fddi::new)),
    ("icmp", |reader, _| node(reader, icmp::Config::default(), IcmpEcho::new)),
    ("ip", |reader, place| fits(ip::Config::of_settings(reader, place.below)?, Ip::new)),
    ("ipv6", |reader, place| fits(ipv6::Config::of_settings(reader, place.below)?, ipv6::Ip::new)),
    ("llc", |reader, _| node(reader, llc::Config::default(), Llc::new)),
    ("raw_ip", |_, _| Ok(Box::new(RawIp::default()))),
    ("sim_ether", |reader, _| checked(reader, sim_ether::Config::new(NO_SOCKET), SimEther::new)),
    ("tcp", tcp),
    ("udp", |reader, _| node(reader, udp::Config::default(), Udp::new)),
    ("vnet", |reader, place| fits(vnet::Config::of_settings(reader, place.below)?, Vnet::new)),
];

/// What stands in a configuration until it is set, as it must be.
const NO_IP: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const NO_SOCKET: SocketAddrV4 = SocketAddrV4::new(NO_IP, 0);

fn tcp(reader: &Reader<'_>, place: LowerLayers<'_>) -> NodeResult {
    // IP's and TCP's headers without options: RFC 6691.
    const HEADERS: u32 = 20 + 20;
    let config = TcpConfig::of_settings(reader)?;
    if let (Some(mss), Some(mtu)) = (config.mss, place.mtu) {
        let fits = mtu.saturating_sub(HEADERS);
        if u32::from(mss) > fits {
            let needed = u32::from(mss) + HEADERS;
            let expected = format!("at most {fits} B with IP's mtu of {mtu} B; {mss} B need an mtu of {needed} B");
            return Err(reader.wrong("mss", &format!("{mss} B"), &expected));
        }
    }
    Ok(Box::new(Tcp::new(config)))
}
