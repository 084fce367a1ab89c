//! The layers below a transport.

use core::net::IpAddr;

use kumiki_atm::aal5::{self, Aal5};
use kumiki_atm::llc_snap::{self, LlcSnap};
use kumiki_graph::{Graph, GraphError, Protocol};
use kumiki_inet::arp::{self, Arp};
use kumiki_inet::eth::{self, Eth};
use kumiki_inet::fddi::{self, Fddi};
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::ipv6;
use kumiki_inet::llc::{self, Llc};
use kumiki_inet::tcp::Tcp;
use kumiki_inet::vnet::{self, Vnet};
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_xtp::Xtp;

use crate::path::VC;

/// A layer of this kind for host `number` at `own`, where nobody has to be told apart; `below` stands below the first
/// of them.
pub(super) fn layer(
    kind: &str,
    number: usize,
    own: IpAddr,
    mtu: u32,
    below: &str,
) -> Result<Box<dyn Protocol>, GraphError> {
    let refused = |why: String| GraphError::Refused { upper: kind.to_owned(), lower: below.to_owned(), why };
    let last = u8::try_from(number + 1).unwrap_or(0);
    let station = MacAddr([2, 0, 0, 0, 0, last]);
    Ok(match kind {
        "llc_snap" => Box::new(LlcSnap::new(llc_snap::Config { vc: VC })),
        "aal5" => Box::new(Aal5::new(aal5::Config { max_sdu: u16::MAX })),
        "llc" => Box::new(Llc::new(llc::Config::default())),
        "eth" => {
            let config = eth::Config { mtu, ..eth::Config::new(station) };
            Box::new(Eth::new(config).map_err(|why| refused(why.to_string()))?)
        }
        "fddi" => {
            let config = fddi::Config { mtu, ..fddi::Config::new(station) };
            Box::new(Fddi::new(config).map_err(|why| refused(why.to_string()))?)
        }
        "arp" => {
            let IpAddr::V4(own) = own else {
                return Err(refused("ARP is for IPv4".to_owned()));
            };
            let layer = Arp::new(arp::Config::new(own));
            Box::new(layer.map_err(|why| refused(why.to_string()))?)
        }
        "vnet" => {
            let config = vnet::Config { interfaces: vec![vnet::Interface::new(below, own, 24)], routes: Vec::new() };
            Box::new(Vnet::new(config).map_err(|why| refused(why.to_string()))?)
        }
        _ => network(own, mtu, below)?,
    })
}

/// IP for a host at `own`, on the layer `below`, where nobody has to be told apart.
fn network(own: IpAddr, mtu: u32, below: &str) -> Result<Box<dyn Protocol>, GraphError> {
    let refused = |why: String| GraphError::Refused { upper: "ip".to_owned(), lower: below.to_owned(), why };
    Ok(match own {
        IpAddr::V4(own) => {
            let interface = ip::Interface { mtu, ..ip::Interface::new(below, own, 24) };
            let layer = Ip::new(ip::Config::host(interface));
            Box::new(layer.map_err(|why| refused(why.to_string()))?)
        }
        IpAddr::V6(own) => {
            let interface = ipv6::Interface { mtu, ..ipv6::Interface::new(below, own, 64) };
            let layer = ipv6::Ip::new(ipv6::Config::host(interface));
            Box::new(layer.map_err(|why| refused(why.to_string()))?)
        }
    })
}

/// What each node of `graph` did, and what it has counted.
pub(super) fn accounts(graph: &Graph) -> Vec<String> {
    let counted = |name: &str| {
        let (tcp, xtp) = (graph.find::<Tcp>(name).map(Tcp::counters), graph.find::<Xtp>(name).map(Xtp::counters));
        let (four, six) =
            (graph.find::<Ip>(name).map(Ip::counters), graph.find::<ipv6::Ip>(name).map(ipv6::Ip::counters));
        let (vnet, llc) = (graph.find::<Vnet>(name).map(Vnet::counters), graph.find::<Llc>(name).map(Llc::counters));
        let snap = graph.find::<LlcSnap>(name).map(LlcSnap::counters);
        format!("{tcp:?} {xtp:?} {four:?} {six:?} {vnet:?} {llc:?} {snap:?}")
    };
    graph.accounts().map(|(name, account)| format!("{name}: {account:?} {}", counted(name))).collect()
}
