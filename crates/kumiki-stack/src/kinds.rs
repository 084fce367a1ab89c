//! The kinds of protocols: what each has for a configuration, and what is made of it.
//!
//! To add one: a line in [`KINDS`]. Its settings are said by its configuration, with `#[derive(Settings)]`.

use core::fmt::Display;
use core::net::{Ipv4Addr, SocketAddrV4};

use kumiki_atm::aal5::{self, Aal5};
use kumiki_atm::aal34::{self, Aal34};
use kumiki_atm::atm_arp::{self, AtmArp};
use kumiki_atm::llc_snap::{self, LlcSnap};
use kumiki_atm::vc_mux::{self, VcMux};
use kumiki_files::ftam::{self, Ftam};
use kumiki_files::mms::{self, Mms};
use kumiki_graph::Protocol;
use kumiki_graph::loopback::{self, Loopback};
use kumiki_graph::pipe::{self, Pipe};
use kumiki_inet::arp::{self, Arp};
use kumiki_inet::eth::{self, Eth};
use kumiki_inet::fddi::{self, Fddi};
use kumiki_inet::icmp::{self, IcmpEcho};
use kumiki_inet::ip::{self, Ip};
use kumiki_inet::ipv6;
use kumiki_inet::llc::{self, Llc};
use kumiki_inet::raw_ip::RawIp;
use kumiki_inet::sim_ether::{self, SimEther};
use kumiki_inet::tcp::Tcp;
use kumiki_inet::tcp::config::Config as TcpConfig;
use kumiki_inet::udp::{self, Udp};
use kumiki_inet::vnet::{self, Vnet};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Tp0};
use kumiki_osi::tpkt::{self, Tpkt};
use kumiki_ppp::hdlc::{self, Hdlc};
use kumiki_ppp::mapos::{self, Mapos};
use kumiki_ppp::mapos_switch::{self, MaposSwitch};
use kumiki_ppp::ppp::{self, Ppp};
use kumiki_ppp::ppp_daemon::{self, PppDaemon};
use kumiki_ppp::sdh::{self, Sdh};
use kumiki_settings::{BuildError, HasSettings, Key, Reader};
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_x25::lapb::{self, Lapb};
use kumiki_x25::lapb_ether::LapbEther;
use kumiki_x25::x25::{self, X25};
use kumiki_x25::x25_iface::X25Iface;
use kumiki_x25::x25_switch::{self, Switch};
use kumiki_x25::x32::{self, X32};
use kumiki_x25::xot::{self, Xot};
use kumiki_xtp::{self as xtp, Xtp};

use crate::LowerLayers;
use crate::hif::Hif;
use crate::lif::{self, Lif};

type BuildResult = Result<Box<dyn Protocol>, BuildError>;

/// Makes a node of one kind from its settings.
type NodeMaker = fn(&Reader<'_>, LowerLayers<'_>) -> BuildResult;

/// Every kind and what makes it, in the order of their names.
pub(super) const KINDS: &[(&str, NodeMaker)] = &[
    ("aal34", |reader, _| node(reader, aal34::Config::default(), Aal34::new)),
    ("aal5", |reader, _| node(reader, aal5::Config::default(), Aal5::new)),
    ("acse", |reader, _| node(reader, acse::Config::default(), Acse::new)),
    ("arp", |reader, _| checked(reader, arp::Config::new(NO_IP), Arp::new)),
    ("atm_arp", |reader, _| checked(reader, atm_arp::Config::new(NO_IP, Vec::new()), AtmArp::new)),
    ("eth", |reader, _| checked(reader, eth::Config::new(MacAddr::default()), Eth::new)),
    ("fddi", |reader, _| checked(reader, fddi::Config::new(MacAddr::default()), Fddi::new)),
    ("ftam", |reader, _| node(reader, ftam::Config::default(), Ftam::new)),
    ("hdlc", |reader, _| node(reader, hdlc::Config::default(), Hdlc::new)),
    ("hif", |_, _| Ok(Box::new(Hif))),
    ("icmp", |reader, _| node(reader, icmp::Config::default(), IcmpEcho::new)),
    ("ip", |reader, place| fits(ip::Config::of_settings(reader, place.below)?, Ip::new)),
    ("ipv6", |reader, place| fits(ipv6::Config::of_settings(reader, place.below)?, ipv6::Ip::new)),
    ("lapb", |reader, _| checked(reader, lapb::Config::default(), Lapb::new)),
    ("lapb_ether", |_, _| Ok(Box::new(LapbEther::default()))),
    ("lif", |reader, _| node(reader, lif::Config::default(), Lif::new)),
    ("llc", |reader, _| node(reader, llc::Config::default(), Llc::new)),
    ("llc_snap", |reader, _| node(reader, llc_snap::Config::default(), LlcSnap::new)),
    ("loopback", loopback),
    ("mapos", |reader, _| checked(reader, mapos::Config::new(NO_IP), Mapos::new)),
    ("mapos_switch", |reader, place| fits(mapos_switch::Config::of_settings(reader, place.below)?, MaposSwitch::new)),
    ("mms", |reader, _| node(reader, mms::Config::default(), Mms::new)),
    ("pipe", pipe),
    ("ppp", |reader, _| node(reader, ppp::Config::default(), Ppp::new)),
    ("ppp_daemon", |reader, _| checked(reader, ppp_daemon::Config::default(), PppDaemon::new)),
    ("presentation", |reader, _| node(reader, presentation::Config::default(), Presentation::new)),
    ("raw_ip", |_, _| Ok(Box::new(RawIp::default()))),
    ("sdh", |reader, _| checked(reader, sdh::Config::default(), Sdh::new)),
    ("session", |reader, _| node(reader, session::Config::default(), Session::new)),
    ("sim_ether", |reader, _| checked(reader, sim_ether::Config::new(NO_SOCKET), SimEther::new)),
    ("tcp", tcp),
    ("tp0", |reader, _| node(reader, tp0::Config::default(), Tp0::new)),
    ("tpkt", |reader, _| node(reader, tpkt::Config::default(), Tpkt::new)),
    ("udp", |reader, _| node(reader, udp::Config::default(), Udp::new)),
    ("vc_mux", |reader, _| node(reader, vc_mux::Config::default(), VcMux::new)),
    ("vnet", |reader, place| fits(vnet::Config::of_settings(reader, place.below)?, Vnet::new)),
    ("x25", |reader, _| checked(reader, x25::Config::default(), X25::new)),
    ("x25_iface", |_, _| Ok(Box::new(X25Iface::default()))),
    ("x25_switch", |reader, place| Ok(Box::new(Switch::new(x25_switch::Config::of_settings(reader, place.below)?)))),
    ("x32", |reader, _| checked(reader, x32::Config::default(), X32::new)),
    ("xot", |reader, _| node(reader, xot::Config::default(), Xot::new)),
    ("xtp", |reader, _| node(reader, xtp::Config::default(), Xtp::new)),
];

/// What stands in a configuration until it is set, as it must be.
const NO_IP: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const NO_SOCKET: SocketAddrV4 = SocketAddrV4::new(NO_IP, 0);

/// A node that takes every configuration.
fn node<C: HasSettings, P: Protocol + 'static>(reader: &Reader<'_>, mut config: C, make: fn(C) -> P) -> BuildResult {
    config.read(reader)?;
    Ok(Box::new(make(config)))
}

/// A node that may refuse its configuration.
fn checked<C: HasSettings, P: Protocol + 'static, E: Display>(
    reader: &Reader<'_>,
    mut config: C,
    make: fn(C) -> Result<P, E>,
) -> BuildResult {
    config.read(reader)?;
    fits(config, make)
}

/// The same of a configuration that has been read.
fn fits<C, P: Protocol + 'static, E: Display>(config: C, make: fn(C) -> Result<P, E>) -> BuildResult {
    Ok(Box::new(make(config).map_err(|error| BuildError::refused(&error))?))
}

// The graph's own nodes say themselves nothing of settings, of which the graph knows nothing.

fn loopback(reader: &Reader<'_>, _: LowerLayers<'_>) -> BuildResult {
    let mut config = loopback::Config::default();
    let key = Key::new("window", "How many messages may be sent before the receiver has granted any.");
    reader.number(&key, 1..=1024, &mut config.window)?;
    Ok(Box::new(Loopback::new(config)))
}

fn pipe(reader: &Reader<'_>, _: LowerLayers<'_>) -> BuildResult {
    let mut config = pipe::Config::default();
    let key = Key::new("receive_buffer", "What the device may read before the user has taken anything.");
    reader.octets(&key, 1..=u32::MAX.into(), &mut config.receive_buffer)?;
    Ok(Box::new(Pipe::new(config)))
}

fn tcp(reader: &Reader<'_>, place: LowerLayers<'_>) -> BuildResult {
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
