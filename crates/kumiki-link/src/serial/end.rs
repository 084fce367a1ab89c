//! A line in two: what is at each of its ends.

use std::borrow::Cow;
use std::collections::VecDeque;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;

use super::SerialConfig;
use super::sending::{Sending, SentFrame};
use crate::{Discipline, Element, Occupancy, Outlet, Unit};

/// A frame that is on the line or past it.
pub(super) struct FrameInFlight {
    arrives: Instant,
    data: Message,
    address: Address,
}

impl FrameInFlight {
    fn of(started: SentFrame, propagation: Duration) -> Self {
        Self { arrives: started.ends + propagation, data: started.data, address: started.address }
    }
}

/// One end of a [`Serial`](super::Serial) line: frames that come in by its port wait here and go on the line, and
/// frames from the other end leave by it.
///
/// A line has both. Executors that let them go on side by side [take](Element::take_ends) them out: an end then keeps
/// what has gone on the line until that is [carried](LineEnd::carry) to the other. No frame arrives there before the
/// [look-ahead](Element::look_ahead) after it has begun is over, so whoever carries in time does so unnoticed.
pub struct LineEnd {
    pub(super) port: usize,
    pub(super) sending: Sending,
    departed: VecDeque<FrameInFlight>,
    pub(super) arriving: VecDeque<FrameInFlight>,
    strangers: u64,
}

impl LineEnd {
    /// The end at `port`, 0 or 1.
    pub(super) fn new(port: usize, config: SerialConfig, discipline: Box<dyn Discipline>) -> Self {
        let sending = Sending::new(config, discipline);
        Self { port, sending, departed: VecDeque::new(), arriving: VecDeque::new(), strangers: 0 }
    }

    /// A unit comes in by the port; frames that go on the line thereby are put into `flight`.
    #[inline]
    pub(super) fn offer_to(
        &mut self,
        now: Instant,
        unit: Unit,
        out: &mut Outlet,
        flight: &mut VecDeque<FrameInFlight>,
    ) {
        let Unit::Frame { data, address } = unit else {
            self.strangers += 1;
            return;
        };
        let propagation = self.sending.config.propagation;
        self.sending.offer(now, data, address, (self.port, out), &mut |started| {
            flight.push_back(FrameInFlight::of(started, propagation));
        });
    }

    /// Frames follow each other on the line up to `now`, and are put into `flight`.
    #[inline]
    pub(super) fn advance_to(&mut self, now: Instant, out: &mut Outlet, flight: &mut VecDeque<FrameInFlight>) {
        let propagation = self.sending.config.propagation;
        self.sending
            .advance(now, (self.port, out), &mut |started| flight.push_back(FrameInFlight::of(started, propagation)));
    }

    /// Says of the frames whose last bit has left by `now` that they have.
    #[inline]
    pub(super) fn leave(&mut self, now: Instant, out: &mut Outlet) {
        self.sending.leave(now, (self.port, out));
    }

    /// What has arrived by `now` leaves.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant, out: &mut Outlet) {
        while let Some(FrameInFlight { data, address, .. }) = self.arriving.pop_front_if(|frame| frame.arrives <= now) {
            out.put(self.port, Unit::Frame { data, address });
        }
    }

    /// Frames that wait follow each other on the line up to `now`.
    pub fn advance(&mut self, now: Instant, out: &mut Outlet) {
        let mut departed = core::mem::take(&mut self.departed);
        self.advance_to(now, out, &mut departed);
        self.departed = departed;
    }

    /// Brings what has gone on the line here to `other`, its other end; true where there was any.
    pub fn carry(&mut self, other: &mut Self) -> bool {
        let any = !self.departed.is_empty();
        other.arriving.append(&mut self.departed);
        any
    }

    /// What a line with these ends counts: see [`Serial`](super::Serial).
    #[must_use]
    pub fn counters_of(ends: [&Self; 2]) -> Vec<(&'static str, u64)> {
        let [a, b] = ends.map(|end| end.sending.tally());
        let mut all = vec![
            ("a_frames", a.frames),
            ("a_octets", a.octets),
            ("a_drops", a.drops),
            ("a_marks", a.marks),
            ("a_busy_ns", a.busy.as_nanos()),
            ("b_frames", b.frames),
            ("b_octets", b.octets),
            ("b_drops", b.drops),
            ("b_marks", b.marks),
            ("b_busy_ns", b.busy.as_nanos()),
            ("strangers", ends.iter().map(|end| end.strangers).sum()),
        ];
        all.extend(ends.iter().flat_map(|end| end.sending.counters(end.port)));
        let groups = ["a_group_drops", "b_group_drops"].into_iter().zip([a, b]).zip(ends);
        let groups = groups.filter(|(_, end)| end.sending.has_groups());
        all.extend(groups.map(|((name, tally), _)| (name, tally.group_drops)));
        all
    }

    /// How long its queues were until `now`: see [`Element::queues`].
    #[must_use]
    pub fn queues_of(ends: [&Self; 2], now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        let [a, b] = ends.map(|end| end.sending.occupancy(now));
        vec![("a".into(), a), ("b".into(), b)]
    }
}

/// It counts for its line: alone it tells nothing.
impl Element for LineEnd {
    fn offer(&mut self, now: Instant, _: usize, unit: Unit, out: &mut Outlet) {
        let mut departed = core::mem::take(&mut self.departed);
        self.offer_to(now, unit, out, &mut departed);
        self.departed = departed;
    }

    fn next_deadline(&self) -> Option<Instant> {
        let arrival = self.arriving.front().map(|frame| frame.arrives);
        match (arrival, self.sending.next_leaving()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.advance(now, out);
        // In the order of `Serial`, which does all of one direction before the other.
        if self.port == 0 {
            self.leave(now, out);
            self.arrive(now, out);
        } else {
            self.arrive(now, out);
            self.leave(now, out);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn is_line(&self) -> bool {
        true
    }

    fn has_waiting(&self) -> bool {
        self.sending.has_waiting()
    }

    fn look_ahead(&self) -> Option<Duration> {
        Some(self.sending.config.propagation)
    }
}
