//! A folder for each family and one file for each protocol, all of the same shape: a [`Dissector`] that names the
//! protocol and the numbers by which it is found, and a function that reads one PDU.
//!
//! To add a protocol, add its file and its line in [`ALL`]. The function takes the octets to the codec in
//! `kumiki-wire`, and tells the [`Reading`](crate::Reading) in this order: `header_len`, `summary` (the header's own
//! `Display`), `emitted` (what the codec writes from it), the fields, what is wrong, and `follow` with the key of what
//! comes next. A codec that refuses a header for a reason that an analyser can get over, such as a wrong checksum, is
//! asked for less.

use crate::registry::Dissector;

mod atm;
mod erf;
mod exported;
pub(crate) mod fcs;
mod files;
mod framing;
mod inet;
mod osi;
mod ppp;
mod x25;
mod xtp;

/// Every dissector, link layers first.
pub const ALL: &[&Dissector] = &[
    &inet::ethernet::DISSECTOR,
    &atm::llc_snap::DISSECTOR,
    &inet::llc::DISSECTOR,
    &inet::fddi::DISSECTOR,
    &ppp::ppp::DISSECTOR,
    &ppp::ppp::DIRECTED,
    &ppp::ppp::BARE,
    &ppp::ppp::NLPID,
    &ppp::ppp_control::LCP,
    &ppp::ppp_control::IPCP,
    &ppp::ppp_control::IPV6CP,
    &ppp::ppp_control::OSINLCP,
    &ppp::ppp_control::BCP,
    &ppp::ppp_control::CCP,
    &ppp::ppp_auth::PAP,
    &ppp::ppp_auth::CHAP,
    &ppp::lqr::DISSECTOR,
    &ppp::cisco_hdlc::DISSECTOR,
    &ppp::sdh::DISSECTOR,
    &atm::sunatm::DISSECTOR,
    &exported::DISSECTOR,
    &erf::LINK,
    &erf::CELL,
    &erf::PDU,
    &erf::HDLC,
    &erf::ETHERNET,
    &atm::cell::DISSECTOR,
    &atm::oam::DISSECTOR,
    &atm::rm::DISSECTOR,
    &atm::aal5::CELL,
    &atm::aal5::PDU,
    &atm::aal5::SDU,
    &atm::aal34::CELL,
    &atm::aal34::PDU,
    &ppp::mapos::EIGHT,
    &ppp::mapos::SIXTEEN,
    &ppp::mapos::nsp::DISSECTOR,
    &ppp::mapos::ssp::DISSECTOR,
    &ppp::mapos::arp::DISSECTOR,
    &inet::arp::DISSECTOR,
    &atm::atm_arp::DISSECTOR,
    &inet::ip::DISSECTOR,
    &inet::ipv4::DISSECTOR,
    &inet::ipv6::DISSECTOR,
    &inet::ipv6_extension::HOP_BY_HOP,
    &inet::ipv6_extension::ROUTING,
    &inet::ipv6_extension::FRAGMENT,
    &inet::ipv6_extension::DESTINATION,
    &inet::ipv6_extension::NONE,
    &inet::icmpv4::DISSECTOR,
    &inet::icmpv6::DISSECTOR,
    &inet::udp::DISSECTOR,
    &inet::rtp::DISSECTOR,
    &inet::dhcp::DISSECTOR,
    &inet::tcp::DISSECTOR,
    &xtp::DISSECTOR,
    &files::ftam::FPDU,
    &files::ftam::data::BINARY,
    &files::ftam::data::TEXT,
    &files::ftam::data::STRUCTURE,
    &files::ftam::data::ENTRIES,
    &files::mms::DISSECTOR,
    &osi::tpkt::DISSECTOR,
    &osi::cotp::DISSECTOR,
    &osi::session::DISSECTOR,
    &osi::presentation::DISSECTOR,
    &osi::acse::DISSECTOR,
    &x25::lapb::DISSECTOR,
    &x25::lapb::DIRECTED,
    &x25::lapb::SITA,
    &x25::lapb::ETHER,
    &x25::x25::DISSECTOR,
    &x25::x29::DISSECTOR,
    &x25::xot::DISSECTOR,
    &x25::xot::PVC,
];

/// `len` octets of a header that knows how to write itself, compared with the wire.
macro_rules! emitted {
    ($reading:expr, $header:expr) => {{
        let header = &$header;
        $reading.emitted(|out| header.emit(out), header.len());
    }};
}
use emitted;

/// The header that a codec has found, and its length: told as the layer's, and compared with the wire. A dissector ends
/// where there is none.
macro_rules! header {
    ($reading:expr, $parsed:expr) => {{
        let (header, len) = match $parsed {
            Ok(found) => found,
            Err(why) => return $reading.malformed(&why),
        };
        $reading.header_len(len);
        $reading.summary(&header);
        $crate::protocol::emitted!($reading, header);
        (header, len)
    }};
}
use header;
