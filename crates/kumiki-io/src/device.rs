//! What the executor needs of a device of the machine it runs on.
//!
//! | | |
//! |---|---|
//! | Implemented by | [`crate::tun::Tun`]: packets of a TUN device, Ethernet frames of a TAP device; [`crate::udp::Udp`]: datagrams, each to and from an address; [`crate::line::Line`]: octets of a line, in pieces; [`crate::records::Records`]: frames on one; [`crate::stream::Stream`]: those of a connection, with credit; `crate::sockets::Sockets`: many connections, by primitives (Linux only) |
//! | Used by | [`crate::executor`], which reads in batches, keeps what finds no room and waits for descriptors |
//! | Several queues of one device | each is one of these, of an executor of its own |

use std::io;
use std::os::fd::BorrowedFd;

use kumiki_graph::{Address, Duration, Indication, Request};
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

/// What has come from a device.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// A packet, or octets of a line.
    Unit {
        /// The octets.
        data: Message,
        /// Who has sent it; [`Address::NONE`] where the device has one peer or none.
        source: Address,
        /// For how long it had been there before it was read; nothing where the device does not know.
        waited: Duration,
    },
    /// Somebody is there at the other end now.
    Up,
    /// Nobody is there at the other end any more.
    Down,
    /// The device has room for so many octets more; only of one that says so from the start.
    Room(u64),
    /// Much that is nobody's unit, or not yet a whole one: what follows may be there already, and is asked for after
    /// what else there is to do. So a peer that sends nothing but that keeps nobody from it.
    NoUnit,
    /// What a device that has sessions of its own tells the layer above, in the words of all layers.
    Told(Indication),
}

impl Arrival {
    /// A unit of which nothing else is known.
    #[must_use]
    pub const fn of(data: Message) -> Self {
        Self::Unit { data, source: Address::NONE, waited: Duration::ZERO }
    }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptors<'a> {
    /// Readable when something has come.
    pub read: Option<BorrowedFd<'a>>,
    /// Writable when there is room.
    pub write: Option<BorrowedFd<'a>>,
}

impl<'a> Descriptors<'a> {
    /// One for both.
    #[must_use]
    pub const fn both(descriptor: BorrowedFd<'a>) -> Self {
        Self { read: Some(descriptor), write: Some(descriptor) }
    }
}

/// A device from which packets or octets are read and to which they are written, without ever waiting.
pub trait RealDevice: Send {
    /// What to wait for; nothing where the device is between two peers and looks for the next by itself, whenever it is
    /// read from.
    fn descriptors(&self) -> Descriptors<'_>;

    /// What has come next, if something has.
    ///
    /// # Errors
    /// Where the device is of no more use.
    fn receive(&mut self) -> io::Result<Option<Arrival>>;

    /// Hands over one packet, which goes to `to`; [`Address::NONE`] is the peer that the device has, and a device with
    /// one peer looks at no address.
    ///
    /// # Errors
    /// Where the device is of no more use.
    fn send(&mut self, packet: &Message, to: Address) -> io::Result<Sent>;

    /// Lets a device that counts room in both directions read so many octets more. Others read what comes.
    fn grant(&mut self, octets: u64) {
        let _ = octets;
    }

    /// Takes a primitive of a session, where the device has sessions; what it says to it comes as [`Arrival::Told`]. Of
    /// all others a device without sessions takes credit alone.
    ///
    /// # Errors
    /// Where the device is of no more use; what is wrong with a session is told of that session.
    fn request(&mut self, request: Request) -> io::Result<()> {
        if let Request::Credit { credit, .. } = request {
            self.grant(credit.octets);
        }
        Ok(())
    }

    /// Whether it is handed super-segments of TCP as they are, and packets whose checksum is yet to be written, and
    /// hands over such itself ([`kumiki_octets::Meta`], [`kumiki_link::offload`]). Others see packets alone, each
    /// complete.
    fn takes_super_segments(&self) -> bool {
        false
    }

    /// Whether it tells of each unit how long it had been there: then nothing is lost by reading late.
    fn tells_waits(&self) -> bool {
        false
    }

    /// Writes what was handed over and is held back; true where something is left that waits for room.
    ///
    /// # Errors
    /// Where the device is of no more use.
    fn flush(&mut self) -> io::Result<bool> {
        Ok(false)
    }
}

/// What a device did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealCounters {
    /// Packets read, also those of super-segments; of a device that carries octets, pieces.
    pub received: u64,
    /// Packets written, also those of super-segments.
    pub sent: u64,
    /// Super-segments read, each of several packets.
    pub super_received: u64,
    /// Super-segments written, each of several packets.
    pub super_sent: u64,
    /// Packets that had to wait for room.
    pub waited: u64,
    /// Packets dropped because too many waited for room.
    pub overflowed: u64,
    /// Packets that the device refused.
    pub refused: u64,
    /// Octets of the packets that were dropped or refused.
    pub unsent_octets: u64,
    /// Times that it was read from: `received` divided by this is the size of a batch.
    pub batches: u64,
}

/// A device behind which there is nobody: nothing comes, and what goes is gone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullDevice;

impl RealDevice for NullDevice {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        Ok(None)
    }

    fn send(&mut self, _: &Message, _: Address) -> io::Result<Sent> {
        Ok(Sent::Taken)
    }
}
