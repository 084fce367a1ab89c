//! What every piece of a medium is to the executor, and what crosses its ports.

#[cfg(feature = "serial")]
use crate::LineEnd;
use crate::{CircuitManage, Occupancy};
use std::borrow::Cow;
use std::collections::VecDeque;

use kumiki_graph::{Address, Duration, Instant, Report};
use kumiki_octets::Message;
use kumiki_wire::atm::cell::rm::CellRate;

use crate::atm::Slots;

/// What crosses a port.
#[derive(Clone, Debug)]
pub enum Unit {
    /// A whole frame, or the SDU of AAL5 or AAL3/4 between a host and its adapter. It is said to cross when its last
    /// bit does.
    Frame {
        /// The octets.
        data: Message,
        /// The ATM virtual channel or MAC address it goes to, where the medium needs one.
        address: Address,
    },
    /// ATM cells in consecutive slots.
    Cells(CellRun),
    /// The cells of the run `id` from number `keep` of that run on will not come after all: something took their slots.
    /// Says so before the first of them would have arrived.
    Cut {
        /// [`CellRun::id`].
        id: u64,
        /// How many cells of the run do come; at least 1, since a run crosses when its first cell has.
        keep: u32,
    },
    /// Only upwards, to the host that offered a frame: its last bit has left or it found no room, and the next one may
    /// come.
    Sent {
        /// Which one: how many frames the element had taken from this port before it.
        number: u64,
        /// The address that the frame had.
        address: Address,
        /// Whether its last bit has left; otherwise there was no room for it.
        whole: bool,
    },
    /// Only upwards: the first cell of a CPCS-PDU has arrived. Its headers can be looked at while the rest comes.
    Arriving {
        /// The virtual channel.
        address: Address,
        /// The 48 octets of the cell; of AAL3/4, what it carries of the SDU and behind it.
        head: Message,
    },
    /// Only upwards: what the medium has to tell a host, such as an alarm of a SONET/SDH line, and whether frames can
    /// arrive ([`Report::Up`], [`Report::Down`]).
    Report(Box<Report>),
    /// Only downwards, from a host to what switches circuits ([`crate::Exchange`]).
    Circuit(CircuitManage),
}

/// Cells of one channel in consecutive slots of a line, with AAL5 of one CPCS-PDU; it is said to cross when its *first*
/// cell has arrived whole.
///
/// One event stands for up to a PDU's worth of cells. Cell `k` of the run arrives `k` slots after the first:
/// [`CellRun::arrival`] says when.
#[derive(Clone, Debug)]
pub struct CellRun {
    /// Names the run on this line, for [`Unit::Cut`].
    pub id: u64,
    /// Virtual path identifier, 0 to 4095.
    pub vpi: u16,
    /// Virtual channel identifier.
    pub vci: u16,
    /// Cell loss priority.
    pub clp: bool,
    /// Explicit forward congestion indication.
    pub efci: bool,
    /// The payload of the cells, `48 * count` octets.
    pub payload: Message,
    /// How many cells.
    pub count: u32,
    /// Whether the last cell of the run ends a CPCS-PDU of AAL5 (PTI bit 0); AAL3/4 does not use this.
    pub ends_pdu: bool,
    /// Whether this is an RM cell (PTI 110): alone in its run, and part of no PDU.
    pub rm: bool,
    /// The slots of the line that the run was put on, and so the distance of its cells.
    pub line: Slots,
    /// The slot of the first cell on that line.
    pub slot: u64,
}

impl CellRun {
    /// When cell `k` has arrived whole where the first did at `first`.
    #[must_use]
    pub fn arrival(&self, first: Instant, k: u32) -> Instant {
        if k == 0 {
            return first;
        }
        let begin = self.slot + 1;
        first + self.line.at(begin + u64::from(k)).saturating_since(self.line.at(begin))
    }

    /// When the last cell has arrived whole where the first did at `first`.
    #[must_use]
    pub fn end(&self, first: Instant) -> Instant {
        self.arrival(first, self.count.saturating_sub(1))
    }

    /// How many cells have arrived whole before `now` where the first did at `first`.
    #[must_use]
    pub fn arrived_before(&self, first: Instant, now: Instant) -> u32 {
        if now <= first {
            return 0;
        }
        let begin = self.slot + 1;
        let on_line = self.line.at(begin) + now.saturating_since(first);
        let cells = self.line.first_at_or_after(on_line).saturating_sub(begin);
        u32::try_from(cells).unwrap_or(u32::MAX).min(self.count)
    }

    /// The cells from number `from` on, `count` of them; fewer where there are fewer.
    #[must_use]
    pub fn part(&self, from: u32, count: u32) -> Self {
        let from = from.min(self.count);
        let count = count.min(self.count - from);
        let octets = |cells: u32| usize::try_from(cells).unwrap_or(usize::MAX).saturating_mul(48);
        let payload = if count == self.count {
            self.payload.clone()
        } else {
            self.payload.share(octets(from), octets(count)).unwrap_or_default()
        };
        Self {
            payload,
            count,
            ends_pdu: self.ends_pdu && from + count == self.count,
            slot: self.slot + u64::from(from),
            ..*self
        }
    }

    /// Keeps the first `keep` cells.
    pub fn truncate(&mut self, keep: u32) {
        if keep < self.count {
            *self = self.part(0, keep);
        }
    }
}

/// Where an element puts what leaves it at the present moment.
#[derive(Debug, Default)]
pub struct Outlet(VecDeque<(usize, Unit)>);

impl Outlet {
    /// Lets `unit` leave by `port` at once.
    pub fn put(&mut self, port: usize, unit: Unit) {
        self.0.push_back((port, unit));
    }

    /// Takes what has left first.
    pub fn take(&mut self) -> Option<(usize, Unit)> {
        self.0.pop_front()
    }

    /// Takes all that has left, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = (usize, Unit)> + '_ {
        self.0.drain(..)
    }

    /// Whether nothing has left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Who is told when something was busy: from one time until another, each at or behind the end of the one before.
pub type BusyWatch = Box<dyn FnMut(Instant, Instant) + Send>;

/// Counters for results, as (name, count).
pub type Counts = Vec<(&'static str, u64)>;

/// A piece of a medium.
///
/// Times given to one element never go back. After every call the executor asks for the next deadline again.
///
/// ```
/// use kumiki_graph::{Address, Duration, Instant};
/// use kumiki_link::{Element, Outlet, Unit, Wire};
/// use kumiki_octets::Message;
///
/// let mut wire = Wire::new(Duration::from_millis(10));
/// let mut out = Outlet::default();
/// let sent = Unit::Frame { data: Message::from_octets(b"hello"), address: Address::NONE };
/// wire.offer(Instant::ZERO, 0, sent, &mut out);
/// assert!(out.is_empty());
///
/// let due = wire.next_deadline().expect("something is on its way");
/// assert_eq!(due, Instant::ZERO + Duration::from_millis(10));
/// wire.poll(due, &mut out);
/// let Some((1, Unit::Frame { data, .. })) = out.take() else { panic!("it leaves by the other port") };
/// assert_eq!(data.to_vec(), b"hello");
/// ```
pub trait Element: Send {
    /// `unit` arrives at `port`.
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet);

    /// When the element next has something to do by itself.
    fn next_deadline(&self) -> Option<Instant>;

    /// The deadline has come.
    fn poll(&mut self, now: Instant, out: &mut Outlet);

    /// Counters for results, as (name, count), in a fixed order.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// Of an element with many ports, what each of those that are used has counted, by its number or name.
    fn port_counters(&self) -> Vec<(Cow<'static, str>, Counts)> {
        Vec::new()
    }

    /// How long its queues were until `now`, by the letter that is before their counters (`a`, `b`) or the number or
    /// name of their port; those of cells where a switch is told to follow them.
    fn queues(&self, now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        let _ = now;
        Vec::new()
    }

    /// How many frames and PDUs wait in it at `now`, be it a part of one.
    fn waiting(&self, now: Instant) -> u64 {
        self.queues(now).iter().map(|(_, queue)| queue.length()).sum()
    }

    /// From here on tells `watch` when what comes in at `port` keeps the line busy: of each frame when it goes on the
    /// line, and until when it is on it, which is then yet to come. Of a ring that is when any of its stations has
    /// something to send, and waits for the token or has it, whatever `port` is. False where it tells nothing.
    fn watch_busy(&mut self, port: usize, watch: BusyWatch) -> bool {
        let _ = (port, watch);
        false
    }

    /// At what rate channels may send now, of an adapter for which the network says that.
    fn cell_rates(&self) -> Vec<(Address, CellRate)> {
        Vec::new()
    }

    /// Whether it is a line: what is due there comes before all else at that instant, in a world in virtual time. Of
    /// lines that are due at once none is always the first.
    fn is_line(&self) -> bool {
        false
    }

    /// Of a line: whether frames wait to go on it, which they do when the line is next asked for anything.
    fn has_waiting(&self) -> bool {
        false
    }

    /// Of a line whose directions know nothing of each other: how long after a frame has begun to go on it at the
    /// earliest it arrives.
    fn look_ahead(&self) -> Option<Duration> {
        None
    }

    /// Takes both ends out of such a line, which carries and counts nothing until they are [joined](Element::join_ends)
    /// again: the end at port 0, and that at port 1.
    #[cfg(feature = "serial")]
    fn take_ends(&mut self) -> Option<[LineEnd; 2]> {
        None
    }

    /// Puts in the ends that were [taken out](Element::take_ends), with all that has gone on at them.
    #[cfg(feature = "serial")]
    fn join_ends(&mut self, ends: [LineEnd; 2]) {
        drop(ends);
    }
}
