//! PPP and its lines: control protocols, HDLC-like framing, PPP over SONET/SDH, and MAPOS, which shares them.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`.
//!
//! | layer | protocols |
//! |---|---|
//! | control | [`ppp_daemon`]: LCP, authentication, IPCP, IPV6CP |
//! | link | [`ppp`], [`mapos`], and between lines [`mapos_switch`] |
//! | line | [`hdlc`], [`sdh`] |

pub mod hdlc;
pub mod kinds;
pub mod mapos;
pub mod mapos_switch;
mod numbers;
pub mod ppp;
pub mod ppp_daemon;
pub mod sdh;

pub use numbers::{MaposProtocol, PPP_FRAMES, PppProtocol};
