//! A host whose time and packets are its user's.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Address, Instant};
use kumiki_inet::tcp::Snapshot;
use kumiki_io::{Arrival, Clock as _, Descriptors, ManualClock, RealDevice, Sent};
use kumiki_octets::Message;

use super::config::HostConfig;
use super::engine::Engine;
use super::engines::Engines;
use crate::{Gateway, Stack};

/// So many packets may wait to be taken away; the executor holds as many again. More are lost.
const MOST: usize = 1000;

/// A TCP/IP that knows no device and no clock: its user brings the packets, takes others away, and says what time it
/// is. What it does follows from these and from the seed alone.
///
/// ```
/// use std::time::Duration;
/// use kumiki_net::host::{HostConfig, PacketStack};
///
/// # fn main() -> std::io::Result<()> {
/// let seed = 7;                                   // where nobody may guess what it draws: `PacketStack::unguessable_seed`
/// let config = HostConfig::new(["10.0.0.1".parse().unwrap()]);
/// let mut host = PacketStack::new(&config, seed)?;
/// host.receive(&[0x45; 20]);                      // a packet has come
/// let now = Duration::from_millis(5);             // since it was made
/// let next = host.poll(now)?;                     // when it wants to be called again, if nothing comes before
/// while let Some(packet) = host.transmit() {
///     println!("{} octets go out, and next it is {next:?}", packet.len());
/// }
/// # Ok(())
/// # }
/// ```
///
/// Sockets are used by whatever runs tasks: after that, too, it is to be polled ([`PacketStack::needs_poll`]), and
/// where more than 1000 packets were to be taken away at once.
#[derive(Debug)]
pub struct PacketStack {
    engines: Engines<ManualClock>,
    clock: ManualClock,
    stack: Stack,
    devices: Vec<Memory>,
}

impl PacketStack {
    /// One that has nothing to do yet, at time zero.
    ///
    /// # Errors
    /// `InvalidInput` where an address or the MTU cannot be; where the process may have no more descriptors.
    pub fn new(config: &HostConfig, seed: u64) -> io::Result<Self> {
        let devices = config.lines.len().saturating_mul(config.queues);
        let devices: Vec<Memory> = (0..devices).map(|_| Memory::default()).collect();
        let boxed = devices.iter().map(|device| Box::new(device.clone()) as Box<dyn RealDevice>);
        let clock = ManualClock::default();
        let engines = Engines::new(&clock, boxed.collect(), config, seed)?;
        let stack = engines.stack().cloned().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { engines, clock, stack, devices })
    }

    /// A seed that nobody can guess, from the operating system: for a stack on a network of others.
    ///
    /// # Errors
    /// Where the operating system gives none.
    pub fn unguessable_seed() -> io::Result<u64> {
        kumiki_io::unguessable()
    }

    /// Its sockets.
    #[must_use]
    pub const fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Its gateway; one at a time.
    ///
    /// # Errors
    /// As [`HostStack::gateway`](super::HostStack::gateway).
    pub fn gateway(&self) -> io::Result<Gateway> {
        self.stack.gateway()
    }

    /// Its connections, those left out that are in the handshake of a passive open or in TIME-WAIT.
    #[must_use]
    pub fn connections(&self) -> Vec<Connection> {
        self.engines.all().iter().flat_map(Engine::connections).collect()
    }

    /// A packet has come: a datagram of IP, or where there is [Ethernet](HostConfig::ethernet) a frame. The next poll
    /// sees it.
    pub fn receive(&mut self, packet: &[u8]) {
        self.receive_on(0, packet);
    }

    /// As [`PacketStack::receive`], by the device with this number: 0 is that of the host itself, 1 of the first
    /// [line](HostConfig::line) more. By one that is not there nothing comes. Where the host has several
    /// [queues](HostConfig::queues) each is a device: those of the host itself, then those of the first line more.
    pub fn receive_on(&mut self, device: usize, packet: &[u8]) {
        if let Some(device) = self.devices.get(device) {
            device.lock().came.push_back(Message::from_octets(packet));
        }
    }

    /// The next packet that goes out.
    pub fn transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit_on(0)
    }

    /// The next packet that goes out by the device with this number.
    pub fn transmit_on(&mut self, device: usize) -> Option<Vec<u8>> {
        self.devices.get(device)?.lock().goes.pop_front()
    }

    /// Whether something was asked of its sockets since the last poll, or has come, or waited for room that is there
    /// now.
    #[must_use]
    pub fn needs_poll(&self) -> bool {
        let is_leaving = self.engines.all().iter().any(|it| it.executor.is_leaving());
        let has_work = |device: &Memory| {
            let queues = device.lock();
            is_leaving && queues.goes.len() < MOST || !queues.came.is_empty()
        };
        let is_asking = self.stack.all().any(Stack::is_asking);
        is_asking || self.engines.has_mail() || self.devices.iter().any(has_work)
    }

    /// It is `now`, as time since it was made; one that is past is taken for the last that was said. Does all that is
    /// due, and says when it is to be called next, if nothing comes before.
    ///
    /// # Errors
    /// Where it cannot go on, which would be a fault of its layers.
    pub fn poll(&mut self, now: Duration) -> io::Result<Option<Duration>> {
        let now = Instant::from_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        self.clock.advance(now.saturating_since(self.clock.now()));
        loop {
            let next = self.engines.poll()?;
            if next.is_none_or(|next| next > now) && !self.engines.has_mail() {
                return Ok(next.map(|next| Duration::from_nanos(next.as_nanos())));
            }
        }
    }
}

/// A connection of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Connection {
    /// Our address.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// How it stands.
    pub snapshot: Snapshot,
}

#[derive(Debug, Default)]
struct Queues {
    came: VecDeque<Message>,
    goes: VecDeque<Vec<u8>>,
}

/// Packets in memory, both ways.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Queues>>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RealDevice for Memory {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors::default()
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        Ok(self.lock().came.pop_front().map(Arrival::of))
    }

    fn send(&mut self, packet: &Message, _: Address) -> io::Result<Sent> {
        let mut queues = self.lock();
        if queues.goes.len() >= MOST {
            return Ok(Sent::Full);
        }
        queues.goes.push_back(packet.to_vec());
        Ok(Sent::Taken)
    }
}
