//! X.25: its link and packet layers, what carries them, a switch between them, and terminals on top.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`.
//!
//! | layer | protocols |
//! |---|---|
//! | terminals | [`pad`], [`pad_host`], [`telnet`] |
//! | packet | [`x25`], and between interfaces [`x25_switch`] |
//! | carriers | [`lapb`] with [`lapb_ether`] and [`x32`], [`x25_iface`], [`xot`] |

pub mod lapb;
pub mod lapb_ether;
pub mod pad;
pub mod pad_host;
pub mod telnet;
pub mod x25;
pub mod x25_iface;
pub mod x25_switch;
pub mod x32;
pub mod xot;

/// What a CLEAR, RESET or RESTART said, where one is the reason.
fn packet_cause(reason: &kumiki_graph::Reason) -> Option<kumiki_osi_service::x25::PacketCause> {
    match reason.cause()? {
        kumiki_osi_service::x25::Cause::Packet(told) => Some(*told),
        kumiki_osi_service::x25::Cause::FrameRejected(_) | kumiki_osi_service::x25::Cause::CircuitRefused(_) => None,
    }
}
