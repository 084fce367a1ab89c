//! Buffers that tune themselves, and what all connections together may hold.
//!
//! | | |
//! |---|---|
//! | Specification | none; after Semke, Mahdavi and Mathis (1998) for sending, and after Fisk and Feng's dynamic right-sizing (2001) for receiving, as Linux and FreeBSD have them. The bound on memory is the idea of Linux's `tcp_mem` |
//! | The caller's part | when to look: at the end of each batch |
//! | Left out | making windows smaller that have been offered (RFC 9293 SHLD-14), or taking back credit; what pages that users hold really take beside the octets in them |
//!
//! # Receiving
//!
//! The window must have room for what the sender may send until the user's taking it is heard of. So what the user
//! takes in a round trip is measured, and the buffer holds twice as much; while that grows, as in slow start, the
//! growth once more. A user that takes nothing gets no larger window. The shift count of the window is chosen for the
//! largest buffer, and so that a window tells at least a 64th of the buffer with which it begins: one of 1 KiB grows to
//! 1 MiB at most.
//!
//! The round trip is the *shortest* lately. A longer one is a queue, in the network or before a busy user, and memory
//! makes neither faster: with the smoothed one the buffer would grow with the queue that it makes, and leave the caches
//! of a machine for nothing where both ends are on it.
//!
//! # Sending
//!
//! The user gets credit for twice what may be in flight, min(cwnd, the largest window offered): what is in flight has
//! to stay until it is acknowledged, and as much again is there to be sent then. After an idle time, when cwnd starts
//! over, so does this.
//!
//! # Memory
//!
//! The rule is [`kumiki_graph::memory`]'s. Counted is what connections hold: not acknowledged, not sent, and given to
//! users that have not given credit back. Of what is to be sent the pages count that it lies in, which is about twice
//! the octets at most ([`Outgoing`](kumiki_octets::Outgoing)). Where memory is spent SYNs are not heard, and a
//! connection whose user has something to take, or has more than 4 KiB to send, has what comes dropped. So callers who
//! send a window each, or have it sent back, and read nothing take about a segment each more; who reads goes on. The
//! price is that forty callers who hold half a megabyte each keep others out of 16 MiB for as long as they answer, and
//! callers who say nothing out of 4 MiB when they are some thousand. Whom we wait for in vain is let go of soon then
//! ([`super::timeouts`]).
//!
//! Text ahead of its turn is counted by what its pieces take where they are small.

use kumiki_graph::{Duration, Instant, OptionalTime, Quality};

use super::config::Config;
use super::receive::MAX_WINDOW;
use super::session::{Ctx, Session, Shared};
use kumiki_graph::memory::{FLOOR, Pressure, SessionMemory};

/// What a connection takes beside its [`Session`], about: its places in tables and timers, the lists of its buffers,
/// congestion control, and what a program keeps of it.
const BESIDE: usize = 1024;
/// For how long the shortest round trip counts, at least.
const LATELY: Duration = Duration::from_secs(10);
/// Below this a round trip of the timestamp clock says nothing.
const TICK: Duration = Duration::from_millis(1);

/// The size of one buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// At first.
    least: u32,
    now: u32,
    most: u32,
}

impl Size {
    fn new(asked: Option<u32>, first: u32, most: u32) -> Self {
        match asked {
            // Who asks for a size gets it.
            Some(asked) => Self::fixed(asked),
            None => Self { least: first, now: first, most: most.max(first) },
        }
    }

    const fn fixed(size: u32) -> Self {
        Self { least: size, now: size, most: size }
    }

    /// What a connection begins with.
    pub(crate) fn at_first(self, shared: &Shared) -> u32 {
        self.under(shared.memory.pressure(shared.config.memory))
    }

    const fn is_fixed(self) -> bool {
        self.least == self.most
    }

    pub(crate) const fn most(self) -> u32 {
        self.most
    }

    fn under(self, pressure: Pressure) -> u32 {
        match pressure {
            Pressure::None => self.now,
            Pressure::Some => self.now.min(self.least),
            // Twice what the window can tell.
            Pressure::Full => self.now.min(FLOOR.max(self.most / MAX_WINDOW * 4)),
        }
    }
}

/// The buffers of one connection.
#[derive(Debug)]
pub(crate) struct Buffers {
    receive: Size,
    send: Size,
    /// What of it is in the sum of all connections.
    pub(super) counted: SessionMemory,
    /// The shortest round trip that timestamps tell of, before and since `epoch`.
    shortest: [OptionalTime<Duration>; 2],
    epoch: Instant,
    /// Since when `taken` octets were taken, and how many were in the round trip before.
    since: Instant,
    taken: u64,
    before: u64,
}

impl Buffers {
    pub(crate) fn new(config: &Config, quality: &Quality, now: Instant) -> Self {
        Self {
            receive: Self::receive(config, quality),
            send: Self::send(config, quality),
            counted: SessionMemory::default(),
            shortest: [OptionalTime::NONE; 2],
            epoch: now,
            since: now,
            taken: 0,
            before: 0,
        }
    }

    /// How large the receive buffer is at first, and may become.
    pub(crate) fn receive(config: &Config, quality: &Quality) -> Size {
        let first = config.receive_buffer;
        let shift = (first / 64).checked_ilog2().unwrap_or(0).min(14);
        let tellable = MAX_WINDOW << shift;
        let most = config.max_receive_buffer.min(tellable);
        Size::new(quality.receive_buffer, first, most)
    }

    /// The same for the send buffer.
    pub(crate) fn send(config: &Config, quality: &Quality) -> Size {
        Size::new(quality.send_buffer, config.send_buffer, config.max_send_buffer)
    }

    /// The user asks for sizes while the connection stands; receive buffers only grow (SHLD-14).
    pub(crate) fn choose(&mut self, quality: &Quality) {
        if let Some(size) = quality.send_buffer {
            self.send = Size::fixed(size);
        }
        if let Some(size) = quality.receive_buffer {
            self.receive = Size::fixed(size.max(self.receive.now));
        }
    }

    /// A segment came that echoes what was sent `age` ago.
    pub(crate) fn on_echo(&mut self, age: Duration, now: Instant) {
        if self.receive.is_fixed() {
            return;
        }
        if now.saturating_since(self.epoch) > LATELY {
            let [_, since] = self.shortest;
            self.shortest = [since, OptionalTime::NONE];
            self.epoch = now;
        }
        let [_, since] = &mut self.shortest;
        *since = Some(since.known().map_or(age, |shortest| shortest.min(age))).into();
    }

    /// The user has taken so many octets.
    pub(crate) const fn on_taken(&mut self, octets: u32) {
        self.taken += octets as u64;
    }

    /// How large the receive buffer should be, once a round trip is over that took `rtt`, or was estimated as such.
    fn wanted(&mut self, rtt: Option<Duration>, now: Instant) -> Option<u32> {
        let [before, since] = self.shortest;
        let echoed = match (before.known(), since.known()) {
            (Some(before), Some(since)) => Some(before.min(since)),
            (before, since) => before.or(since),
        };
        let rtt = echoed.filter(|rtt| *rtt > TICK).or(rtt)?;
        let passed = now.saturating_since(self.since);
        if rtt.is_zero() || passed < rtt {
            return None;
        }
        let taken = share(self.taken, rtt, passed);
        // Slow start doubles; more than that is a pause that has ended.
        let growth = taken.saturating_sub(self.before).min(taken / 2);
        let growth = if self.before == 0 { 0 } else { growth };
        (self.since, self.taken, self.before) = (now, 0, taken);
        let wanted = taken.saturating_add(growth).saturating_mul(2);
        Some(u32::try_from(wanted).unwrap_or(u32::MAX))
    }
}

/// How many of the `octets` of `passed` are those of `rtt`.
fn share(octets: u64, rtt: Duration, passed: Duration) -> u64 {
    let (rtt, passed) = (rtt.as_nanos(), passed.as_nanos().max(1));
    // Wide numbers are divided by a call of its own, and most products are not so wide.
    octets.checked_mul(rtt).map_or_else(
        || u64::try_from(u128::from(octets) * u128::from(rtt) / u128::from(passed)).unwrap_or(u64::MAX),
        |product| product / passed,
    )
}

impl Session {
    /// The end of a batch: what is held is counted, and the buffers follow.
    pub(crate) fn tune(&mut self, ctx: &mut Ctx<'_, '_>) {
        if ctx.shared.memory.pressure(ctx.shared.config.memory) == Pressure::Full {
            self.send.fit();
        }
        let ahead = self.receive.queue.memory();
        let held = SessionMemory {
            used: self.send.memory().saturating_add(self.receive.user),
            ahead: u32::try_from(ahead).unwrap_or(u32::MAX),
            standing: u32::try_from(size_of::<Self>() + BESIDE).unwrap_or(u32::MAX),
        };
        ctx.shared.memory.count(self.buffers.counted, held);
        self.buffers.counted = held;
        let pressure = ctx.shared.memory.pressure(ctx.shared.config.memory);
        if !self.buffers.receive.is_fixed() {
            let wanted = self.buffers.wanted(self.rtt.min(), ctx.now());
            let size = &mut self.buffers.receive;
            if let Some(wanted) = wanted
                && wanted > size.now
                && pressure == Pressure::None
            {
                ctx.shared.counters.buffers_grown += 1;
                size.now = wanted.min(size.most);
            }
        }
        if !self.buffers.send.is_fixed() {
            let wanted = self.wanted_to_send();
            let size = &mut self.buffers.send;
            if wanted > size.now && pressure == Pressure::None {
                ctx.shared.counters.buffers_grown += 1;
                size.now = wanted;
            }
        }
        if self.buffers.receive.is_fixed() && pressure == Pressure::None {
            // Rounded, where there are rules for that.
            self.receive.buffer = self.receive.buffer.max(self.buffers.receive.now);
        } else {
            self.receive.buffer = self.buffers.receive.under(pressure);
        }
        self.send.buffer = self.buffers.send.under(pressure);
    }

    /// Twice what may be in flight.
    fn wanted_to_send(&self) -> u32 {
        let window = self.congestion.window().min(self.send.max_wnd.into());
        let wanted = u32::try_from(window.saturating_mul(2)).unwrap_or(u32::MAX);
        let Size { least, most, .. } = self.buffers.send;
        wanted.clamp(least, most)
    }

    /// Nothing was sent for a while, and the congestion window starts over.
    pub(crate) fn begin_buffers_again(&mut self) {
        self.buffers.send.now = self.wanted_to_send();
    }

    /// Whether text that comes cannot be kept, in its turn or not: the user has not taken what came before, or writes
    /// what nobody takes.
    pub(crate) fn is_out_of_memory(&self, ctx: &Ctx<'_, '_>) -> bool {
        let waits = self.receive.user > 0 || self.send.held() > FLOOR;
        waits && ctx.shared.memory.is_spent(ctx.shared.config.memory)
    }

    /// Whether text ahead of its turn cannot be kept.
    pub(crate) fn has_no_memory(&self, ctx: &Ctx<'_, '_>) -> bool {
        ctx.shared.memory.is_full_ahead(ctx.shared.config.memory)
    }
}
