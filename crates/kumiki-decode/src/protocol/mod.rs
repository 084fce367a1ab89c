//! One file for each protocol, all of the same shape: a [`Dissector`] that names the protocol and the numbers by which it is
//! found, and a function that reads one PDU.
//!
//! To add a protocol, add its file and its line in [`ALL`]. The function takes the octets to the codec in `kumiki-wire`, and
//! tells the [`Reading`](crate::Reading) in this order: `header_len`, `summary` (the header's own `Display`), `emitted`
//! (what the codec writes from it), the fields, what is wrong, and `follow` with the key of what comes next. A codec that
//! refuses a header for a reason that an analyser can get over, such as a wrong checksum, is asked for less.

use crate::registry::Dissector;

mod aal34;
mod aal5;
mod acse;
mod arp;
mod atm;
mod atm_arp;
mod cisco_hdlc;
mod cotp;
mod erf;
mod ethernet;
mod exported;
pub(crate) mod fcs;
mod fddi;
mod framing;
mod ftam;
mod icmpv4;
mod icmpv6;
mod ip;
mod ipv4;
mod ipv6;
mod ipv6_extension;
mod lapb;
mod llc;
mod llc_snap;
mod lqr;
mod mapos;
mod mms;
mod oam;
mod ppp;
mod ppp_auth;
mod ppp_control;
mod presentation;
mod sdh;
mod session;
mod sunatm;
mod tcp;
mod tpkt;
mod udp;
mod x25;
mod x29;
mod xot;
mod xtp;

/// Every dissector, link layers first.
pub const ALL: &[&Dissector] = &[
    &ethernet::DISSECTOR,
    &llc_snap::DISSECTOR,
    &llc::DISSECTOR,
    &fddi::DISSECTOR,
    &ppp::DISSECTOR,
    &ppp::DIRECTED,
    &ppp::BARE,
    &ppp::NLPID,
    &ppp_control::LCP,
    &ppp_control::IPCP,
    &ppp_control::IPV6CP,
    &ppp_control::OSINLCP,
    &ppp_control::BCP,
    &ppp_control::CCP,
    &ppp_auth::PAP,
    &ppp_auth::CHAP,
    &lqr::DISSECTOR,
    &cisco_hdlc::DISSECTOR,
    &sdh::DISSECTOR,
    &sunatm::DISSECTOR,
    &exported::DISSECTOR,
    &erf::LINK,
    &erf::CELL,
    &erf::PDU,
    &erf::HDLC,
    &erf::ETHERNET,
    &atm::DISSECTOR,
    &oam::DISSECTOR,
    &aal5::CELL,
    &aal5::PDU,
    &aal5::SDU,
    &aal34::CELL,
    &aal34::PDU,
    &mapos::EIGHT,
    &mapos::SIXTEEN,
    &mapos::nsp::DISSECTOR,
    &mapos::ssp::DISSECTOR,
    &mapos::arp::DISSECTOR,
    &arp::DISSECTOR,
    &atm_arp::DISSECTOR,
    &ip::DISSECTOR,
    &ipv4::DISSECTOR,
    &ipv6::DISSECTOR,
    &ipv6_extension::HOP_BY_HOP,
    &ipv6_extension::ROUTING,
    &ipv6_extension::FRAGMENT,
    &ipv6_extension::DESTINATION,
    &ipv6_extension::NONE,
    &icmpv4::DISSECTOR,
    &icmpv6::DISSECTOR,
    &udp::DISSECTOR,
    &tcp::DISSECTOR,
    &xtp::DISSECTOR,
    &ftam::FPDU,
    &ftam::data::BINARY,
    &ftam::data::TEXT,
    &ftam::data::STRUCTURE,
    &ftam::data::ENTRIES,
    &mms::DISSECTOR,
    &tpkt::DISSECTOR,
    &cotp::DISSECTOR,
    &session::DISSECTOR,
    &presentation::DISSECTOR,
    &acse::DISSECTOR,
    &lapb::DISSECTOR,
    &lapb::DIRECTED,
    &lapb::SITA,
    &lapb::ETHER,
    &x25::DISSECTOR,
    &x29::DISSECTOR,
    &xot::DISSECTOR,
    &xot::PVC,
];

/// `len` octets of a header that knows how to write itself, compared with the wire.
macro_rules! emitted {
    ($reading:expr, $header:expr) => {{
        let header = &$header;
        $reading.emitted(|out| header.emit(out), header.len());
    }};
}
use emitted;
