//! What the layers of PPP say to each other beside frames.

use kumiki_graph::Address;
use kumiki_octets::Payload;

/// What the daemon tells the driver, and the driver the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkManage {
    /// The ends have agreed on this for frames from here on; `None`: on nothing any more, so that what the standard
    /// begins with holds again.
    Agreed(Option<Agreement>),
    /// Whether a protocol of the network layer may pass.
    Pass {
        /// Its number in PPP's protocol field.
        protocol: u16,
        /// Whether it may.
        pass: bool,
        /// Our own address, where the ends have agreed on one.
        local: Address,
        /// The peer's.
        remote: Address,
    },
}

impl Payload for LinkManage {}

/// What the ends of a point-to-point link have agreed on for its frames (RFC 1661 section 6, RFC 1662 section 7, RFC
/// 1570).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// The most octets behind the protocol field that the peer takes.
    pub peer_mru: u32,
    /// The most that we take.
    pub mru: u32,
    /// Which octets below 20 (hexadecimal) the peer wants escaped; bit n is octet n.
    pub send_accm: u32,
    /// Which of them the peer escapes, so that those which come bare are noise.
    pub receive_accm: u32,
    /// Frames to the peer have neither address nor control.
    pub acfc: bool,
    /// Frames to the peer have one octet of protocol where that is enough.
    pub pfc: bool,
    /// Bits of the frame check sequence towards the peer: 16 or 32.
    pub send_fcs: u8,
    /// Bits of that from the peer.
    pub receive_fcs: u8,
}

/// So many frames have come damaged since the start: with a wrong frame check sequence, aborted, cut short or too long.
/// The line tells the driver, and the driver the daemon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedFrames(pub u64);

impl Payload for DamagedFrames {}
