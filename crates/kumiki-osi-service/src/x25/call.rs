//! What a user asks of a call, and what it is told of one.

use core::net::SocketAddr;

use kumiki_octets::Payload;

use super::{Facilities, Modulo};

/// The parameters of a call beside addresses and user data.
///
/// With a request to open: what is asked for. With its confirm and with an offer: what the peer's packet said. With the
/// acceptance of an offer: what the answer says; nothing said takes what was offered, as far as the layer's own limits
/// let it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Call {
    /// Facilities, in the order in which they stand in the packet.
    pub facilities: Facilities,
    /// Whether delivery confirmation is wanted: the D bit of the call's packets.
    pub delivery: bool,
    /// The logical channel. Asked for: the permanent virtual circuit to use, in place of a call. Told: the one in use.
    pub channel: Option<u16>,
    /// The user stands between two ends, as a network does: it confirms interrupts itself and is told of their
    /// confirmation ([`Primitive`](super::Primitive)), and it is asked for D whatever the packets of the call said of
    /// it. Asked for only.
    pub relayed: bool,
    /// What was agreed on. Told only.
    pub agreed: Option<Flow>,
    /// Where the peer of the circuit is, where a connection of TCP carries it (XOT). Told only.
    pub peer: Option<SocketAddr>,
}

impl Payload for Call {}

/// How data flows on a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The modulus of packet numbers.
    pub modulo: Modulo,
    /// The most octets of user data in a packet that we send.
    pub packet_out: u16,
    /// The most in one that we receive.
    pub packet_in: u16,
    /// How many packets we may have sent that the peer has not authorised again.
    pub window_out: u8,
    /// The same of the peer.
    pub window_in: u8,
}

impl Flow {
    /// X.25's defaults: packets of 128 octets, windows of 2.
    pub const DEFAULT: Self =
        Self { modulo: Modulo::Eight, packet_out: 128, packet_in: 128, window_out: 2, window_in: 2 };
}
