//! The hop between the path and the gateway: packets between two threads of this process.
//!
//! | | |
//! |---|---|
//! | A direction | a queue in memory, from which the other end takes all that is there at once |
//! | Room | [`MOST_PACKETS`] and [`MOST_OCTETS`] wait at most. An end that does not read lets the other one find no room, as a device does: nothing is lost here |
//! | Waiting | each end is waited for as a device is, by descriptors: one can be read when something has come, one can be written when there is room |
//! | Super-segments | cross as they are, and so do checksums that are yet to be written |
//! | Time | it is told how long each packet has waited here |

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::{Address, Instant};
use kumiki_io::{Arrival, Clock as _, Descriptors, RealClock, RealDevice, Sent};
use kumiki_link::offload::packets;
use kumiki_octets::Message;
use rustix::event::{EventfdFlags, eventfd};

/// Packets that may wait in one direction.
const MOST_PACKETS: usize = 8192;

/// Octets that may: the windows of a few connections. Who finds no room gives up what comes next, sooner or later.
const MOST_OCTETS: usize = 8 << 20;

/// A number of `eventfd(2)` beside which there is no room for 1: as long as it is there, the descriptor cannot be
/// written.
const FULL: u64 = u64::MAX - 1;

/// A descriptor that can be waited for.
#[derive(Debug)]
struct Flag(OwnedFd);

impl Flag {
    fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Adds `number`, which is 1 or [`FULL`]: it can be read from here on, or else not be written.
    fn raise(&self, number: u64) {
        // It takes a number of eight octets, and fails only where it is raised already.
        let _ = rustix::io::write(&self.0, &number.to_ne_bytes());
    }

    fn lower(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

/// What waits in one direction.
#[derive(Debug, Default)]
struct HopQueue {
    units: VecDeque<(Instant, Message)>,
    packets: usize,
    octets: usize,
    /// The reader has been told that something has come.
    has_come: bool,
    /// The writer has been told that there is no room.
    is_full: bool,
    /// One of the two has gone.
    is_over: bool,
}

/// One direction.
#[derive(Debug)]
struct Lane {
    waiting: Mutex<HopQueue>,
    /// Can be read when something has come.
    came: Flag,
    /// Can be written when there is room.
    room: Flag,
    /// Packets that have been sent and not received.
    in_flight: AtomicUsize,
}

impl Lane {
    fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            waiting: Mutex::default(),
            came: Flag::new()?,
            room: Flag::new()?,
            in_flight: AtomicUsize::new(0),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, HopQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, now: Instant, unit: &Message, packets: usize) -> io::Result<Sent> {
        let mut waiting = self.lock();
        if waiting.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // A unit always finds room where nothing waits, however long it is.
        let has_room = waiting.packets + packets <= MOST_PACKETS && waiting.octets + unit.len() <= MOST_OCTETS;
        if !has_room && !waiting.units.is_empty() {
            if !core::mem::replace(&mut waiting.is_full, true) {
                self.room.raise(FULL);
            }
            return Ok(Sent::Full);
        }
        waiting.packets += packets;
        waiting.octets += unit.len();
        waiting.units.push_back((now, unit.clone()));
        // Ahead of the other end, which may take it at once.
        self.in_flight.fetch_add(packets, Ordering::AcqRel);
        if !core::mem::replace(&mut waiting.has_come, true) {
            self.came.raise(1);
        }
        Ok(Sent::Taken)
    }

    /// Exchanges `batch`, which is empty, for all that waits. What is left to be told of stays told of until nothing is
    /// found.
    fn take(&self, batch: &mut VecDeque<(Instant, Message)>) -> io::Result<()> {
        let mut waiting = self.lock();
        core::mem::swap(&mut waiting.units, batch);
        (waiting.packets, waiting.octets) = (0, 0);
        if core::mem::take(&mut waiting.is_full) {
            self.room.lower();
        }
        if batch.is_empty() {
            if waiting.is_over {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if core::mem::take(&mut waiting.has_come) {
                self.came.lower();
            }
        }
        Ok(())
    }

    /// One of its ends goes.
    fn end(&self) {
        let mut waiting = self.lock();
        waiting.is_over = true;
        waiting.has_come = true;
        self.came.raise(1);
        if core::mem::take(&mut waiting.is_full) {
            self.room.lower();
        }
    }
}

/// One end.
#[derive(Debug)]
pub(crate) struct Hop {
    clock: RealClock,
    /// The longest packet.
    most: usize,
    from_here: Arc<Lane>,
    to_here: Arc<Lane>,
    /// What has been taken and not received.
    batch: VecDeque<(Instant, Message)>,
}

/// How many packets one end has sent that the other has not taken.
pub(crate) struct UnderWay(Arc<Lane>);

impl UnderWay {
    pub(crate) fn packets(&self) -> usize {
        self.0.in_flight.load(Ordering::Acquire)
    }
}

impl Hop {
    /// What this end has sent.
    pub(crate) fn in_flight(&self) -> UnderWay {
        UnderWay(Arc::clone(&self.from_here))
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.from_here.end();
        self.to_here.end();
    }
}

/// Both ends, for packets of `mtu` octets at most.
pub(crate) fn pair(mtu: u16, clock: RealClock) -> io::Result<[Hop; 2]> {
    let (there, back) = (Lane::new()?, Lane::new()?);
    let end = |from_here: &Arc<Lane>, to_here: &Arc<Lane>| Hop {
        clock,
        most: mtu.into(),
        from_here: Arc::clone(from_here),
        to_here: Arc::clone(to_here),
        batch: VecDeque::new(),
    };
    Ok([end(&there, &back), end(&back, &there)])
}

impl RealDevice for Hop {
    fn descriptors(&self) -> Descriptors<'_> {
        Descriptors { read: Some(self.to_here.came.0.as_fd()), write: Some(self.from_here.room.0.as_fd()) }
    }

    fn receive(&mut self) -> io::Result<Option<Arrival>> {
        if self.batch.is_empty() {
            self.to_here.take(&mut self.batch)?;
        }
        let Some((sent, data)) = self.batch.pop_front() else {
            return Ok(None);
        };
        self.to_here.in_flight.fetch_sub(packets(&data), Ordering::AcqRel);
        let waited = self.clock.now().saturating_since(sent);
        Ok(Some(Arrival::Unit { data, source: Address::NONE, waited }))
    }

    fn send(&mut self, unit: &Message, _: Address) -> io::Result<Sent> {
        let packets = packets(unit);
        let meta = unit.meta();
        let longest =
            if packets == 1 { unit.len() } else { usize::from(meta.header_len) + usize::from(meta.segment_size) };
        if unit.is_empty() || longest > self.most {
            return Ok(Sent::Refused);
        }
        self.from_here.put(self.clock.now(), unit, packets)
    }

    fn takes_super_segments(&self) -> bool {
        true
    }

    fn tells_waits(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use kumiki_octets::{Checksum, Meta};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn ends() -> [Hop; 2] {
        pair(1500, RealClock::start()).unwrap()
    }

    fn next(hop: &mut Hop) -> Option<Vec<u8>> {
        let Arrival::Unit { data, .. } = hop.receive().unwrap()? else { panic!("no unit") };
        Some(data.to_vec())
    }

    /// Whether it can be read, and be written.
    fn ready(hop: &Hop) -> (bool, bool) {
        let Descriptors { read, write } = hop.descriptors();
        let (read, write) = (read.unwrap(), write.unwrap());
        let mut polled =
            [PollFd::from_borrowed_fd(read, PollFlags::IN), PollFd::from_borrowed_fd(write, PollFlags::OUT)];
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap();
        let [read, write] = polled;
        (read.revents().contains(PollFlags::IN), write.revents().contains(PollFlags::OUT))
    }

    #[test]
    fn packets_stay_apart_and_in_order_and_one_that_finds_no_room_waits() {
        let [mut a, mut b] = ends();
        let packet = |number: usize| Message::from_octets(&[u8::try_from(number % 251).unwrap(); 1400]);
        let mut sent = 0;
        while a.send(&packet(sent), Address::NONE).unwrap() == Sent::Taken {
            sent += 1;
        }
        assert!(sent > 1000 && sent * 1400 <= MOST_OCTETS);
        assert_eq!((a.in_flight().packets(), ready(&a), ready(&b)), (sent, (false, false), (true, true)));
        for number in 0..sent {
            assert_eq!(next(&mut b), Some(packet(number).to_vec()));
        }
        assert_eq!(next(&mut b), None);
        assert_eq!((a.in_flight().packets(), ready(&a), ready(&b)), (0, (false, true), (false, true)));
        assert_eq!(a.send(&Message::from_octets(&[7; 40]), Address::NONE).unwrap(), Sent::Taken);
        assert!(ready(&b).0);
        assert_eq!(next(&mut b), Some(vec![7; 40]));
        assert_eq!(b.send(&Message::from_octets(&[0; 1501]), Address::NONE).unwrap(), Sent::Refused);
        assert_eq!(b.send(&Message::new(), Address::NONE).unwrap(), Sent::Refused);
    }

    #[test]
    fn a_super_segment_crosses_as_it_is() {
        let [mut a, mut b] = ends();
        let mut whole = Message::from_octets(&[1; 40_040]);
        let checksum = Checksum::Partial { start: 20, field: 16 };
        *whole.meta_mut() = Meta { segment_size: 1460, header_len: 40, ace: false, checksum };
        assert_eq!(a.send(&whole, Address::NONE).unwrap(), Sent::Taken);
        assert_eq!(a.in_flight().packets(), 28);
        let Some(Arrival::Unit { data, .. }) = b.receive().unwrap() else { panic!("nothing came") };
        assert_eq!((data.meta(), data.to_vec()), (whole.meta(), whole.to_vec()));
        assert_eq!(a.in_flight().packets(), 0);
        whole.meta_mut().segment_size = 1461;
        assert_eq!(a.send(&whole, Address::NONE).unwrap(), Sent::Refused);
    }

    #[test]
    fn what_was_sent_arrives_though_its_sender_has_gone() {
        let [mut a, mut b] = ends();
        a.send(&Message::from_octets(&[1; 40]), Address::NONE).unwrap();
        drop(a);
        assert!(ready(&b).0);
        assert_eq!(next(&mut b), Some(vec![1; 40]));
        assert!(ready(&b).0);
        assert!(b.receive().is_err() && b.send(&Message::from_octets(&[1; 40]), Address::NONE).is_err());
        // One that waits for room hears of it.
        let [mut a, b] = ends();
        while a.send(&Message::from_octets(&[1; 1400]), Address::NONE).unwrap() == Sent::Taken {}
        drop(b);
        assert!(ready(&a).1 && a.send(&Message::from_octets(&[1; 40]), Address::NONE).is_err());
    }
}
