//! What the executor needs of a device of the machine it runs on.
//!
//! | | |
//! |---|---|
//! | Implemented by | [`crate::tun::Tun`] |
//! | Used by | [`crate::executor`], which reads in batches, keeps what finds no room and waits for descriptors |
//! | Left out | super-segments with their headers (`IFF_VNET_HDR`), several queues of one device |

use std::io;
use std::os::fd::BorrowedFd;

use kumiki_octets::Message;

/// What became of a packet that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// The device took it.
    Taken,
    /// The device has no room; it may be offered again when its descriptor can be written to.
    Full,
    /// The device does not take this one, now or later: it is down, or the packet is too long or no packet.
    Refused,
}

/// A device from which packets are read and to which they are written, without ever waiting.
pub trait RealDevice: Send {
    /// Readable when a packet has come, writable when there is room for one.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// The next packet that has come, if there is one.
    ///
    /// # Errors
    /// Where the device is of no more use.
    fn receive(&mut self) -> io::Result<Option<Message>>;

    /// Hands over one packet.
    ///
    /// # Errors
    /// Where the device is of no more use.
    fn send(&mut self, packet: &Message) -> io::Result<Sent>;
}

/// What a device did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealCounters {
    /// Packets read.
    pub received: u64,
    /// Packets written.
    pub sent: u64,
    /// Packets that had to wait for room.
    pub waited: u64,
    /// Packets dropped because too many waited for room.
    pub overflowed: u64,
    /// Packets that the device refused.
    pub refused: u64,
    /// Times that it was read from: `received` divided by this is the size of a batch.
    pub batches: u64,
}
