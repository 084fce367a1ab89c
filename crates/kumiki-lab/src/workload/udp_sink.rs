//! A program that takes datagrams and counts what became of them on their way.
//!
//! | | |
//! |---|---|
//! | Specification | netserver's side of `UDP_STREAM`; reordering as in RFC 4737 section 3: a number below one that has come |
//! | Above | nothing |
//! | Below | unit data with sockets: UDP |
//! | Left out | what is older than the last [`MEMORY`] numbers that are missing counts as a duplicate |

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::{
    Above, Address, Below, Context, Duration, Handle, Indication, Instant, Mode, Open, Protocol, Quality, Reason,
    Request, Service, Shape, Unit, Work,
};
use kumiki_octets::Pattern;

use kumiki_wire::inet::rtp::Header;

use super::gaps::Gaps;
use super::rtp::{Media, Reception};
use super::sink::first_wrong;
use super::udp_source::{HEADER_LEN, content_offset};
use super::{STACK, Times, Transfer};

/// How many missing numbers of a session are remembered.
pub const MEMORY: usize = 65536;

/// What a [`UdpSink`] does.
#[derive(Clone, Debug)]
pub struct UdpSinkConfig {
    /// Where it listens.
    pub local: SocketAddr,
    /// The content that must arrive behind number and time; not looked at where `None`.
    pub expect: Option<Pattern>,
    /// What packets of RTP are of, which datagrams then are.
    pub media: Option<Media>,
    /// How data gets out of the stack's memory.
    pub transfer: Transfer,
}

/// What one session brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceivedUnits {
    /// Whose they are.
    pub caller: Address,
    /// Units that came, duplicates not counted.
    pub units: u64,
    /// Those of them that left while it was measured.
    pub units_measured: u64,
    /// Their octets.
    pub octets: u64,
    /// Units that came once more.
    pub duplicated: u64,
    /// Units that came after one with a higher number.
    pub reordered: u64,
    /// Units that did not come, though one with a higher number did.
    pub lost: u64,
    /// Those of them that left while it was measured.
    pub lost_measured: u64,
    /// When the first came.
    pub first: Option<Instant>,
    /// When the last came.
    pub last: Option<Instant>,
    /// The longest times between two arrivals.
    pub gaps: Gaps,
    /// Number of the first unit whose content was not what it should be.
    pub wrong: Option<u64>,
}

/// So many octets at the front hold the header of a source without mixers and extensions.
const RTP_MOST: usize = kumiki_wire::inet::rtp::LEN;

#[derive(Debug)]
struct Session {
    /// The first number that is measured.
    measured: u64,
    /// One above the highest number that has come.
    next: u64,
    missing: BTreeSet<u64>,
    received: ReceivedUnits,
    /// From leaving the sending program to arriving here.
    delays: Times,
    /// As a stream of RTP.
    reception: Option<Reception>,
}

impl Session {
    fn of(caller: Address, measured: u64) -> Self {
        let received = ReceivedUnits { caller, ..ReceivedUnits::default() };
        Self { measured, next: 0, missing: BTreeSet::new(), received, delays: Times::default(), reception: None }
    }

    /// Whether unit `number` has not come before.
    fn is_new(&mut self, number: u64) -> bool {
        let received = &mut self.received;
        if number >= self.next {
            let remembered = u64::try_from(MEMORY).unwrap_or(u64::MAX);
            let from = self.next.max(number.saturating_sub(remembered));
            received.lost = received.lost.saturating_add(number - self.next);
            let measured = number.saturating_sub(self.next.max(self.measured));
            received.lost_measured = received.lost_measured.saturating_add(measured);
            self.missing.extend(from..number);
            while self.missing.len() > MEMORY {
                self.missing.pop_first();
            }
            self.next = number.saturating_add(1);
            return true;
        }
        if !self.missing.remove(&number) {
            received.duplicated += 1;
            return false;
        }
        received.reordered += 1;
        received.lost -= 1;
        received.lost_measured -= u64::from(number >= self.measured);
        true
    }
}

/// The program; see the module.
#[derive(Debug)]
pub struct UdpSink {
    config: UdpSinkConfig,
    sessions: Vec<Session>,
    /// The place of each peer's session.
    by_peer: BTreeMap<Address, usize>,
    /// How many units each peer had sent when the measurement began.
    sent_before: BTreeMap<Address, u64>,
    /// Datagrams too short to have a number and a time, or that are no packets of RTP where they should be.
    pub short: u64,
    /// Set where it may not listen at all.
    pub refused: Option<Reason>,
}

impl UdpSink {
    /// A program that does what `config` says.
    #[must_use]
    pub const fn new(config: UdpSinkConfig) -> Self {
        Self {
            config,
            sessions: Vec::new(),
            by_peer: BTreeMap::new(),
            sent_before: BTreeMap::new(),
            short: 0,
            refused: None,
        }
    }

    /// What each peer's session brought, in the order of their first datagrams.
    pub fn received(&self) -> impl Iterator<Item = ReceivedUnits> + '_ {
        self.sessions.iter().map(|session| session.received)
    }

    /// What came before `now` is not measured, nor is the loss of what left before: each peer had sent so many units.
    pub fn measure_from(&mut self, now: Instant, sent_before: BTreeMap<Address, u64>) {
        for session in &mut self.sessions {
            session.received.gaps.measure_from(now);
            session.delays.measure_from_here();
            session.measured = sent_before.get(&session.received.caller).copied().unwrap_or(0);
            // Nothing has left since, so nothing of it is lost, nor has it come.
            session.received.lost_measured = 0;
            session.received.units_measured = 0;
            if let Some(reception) = &mut session.reception {
                reception.begin_measurement();
            }
        }
        self.sent_before = sent_before;
    }

    /// How long each unit was in flight, in the order of [`UdpSink::received`], duplicates not among them.
    pub fn delays(&self) -> impl Iterator<Item = &Times> {
        self.sessions.iter().map(|session| &session.delays)
    }

    /// What is known of each peer's session as a stream of RTP, where they are that.
    pub fn receptions(&self) -> impl Iterator<Item = &Reception> {
        self.sessions.iter().filter_map(|session| session.reception.as_ref())
    }

    fn read(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let UdpSinkConfig { expect, transfer, media, .. } = self.config;
        let octets = unit.data.len() as u64;
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, octets * transfer.copies);
        let header = match media.map(|_| Header::parse(unit.data.front_at_least(RTP_MOST))) {
            None => None,
            Some(Ok((header, len))) => {
                let _ = unit.data.pop(len);
                Some(header)
            }
            Some(Err(_)) => {
                self.short += 1;
                return;
            }
        };
        let front = unit.data.front_at_least(HEADER_LEN);
        let (Some(number), Some(time)) = (front.first_chunk(), front.get(8..).and_then(<[u8]>::first_chunk)) else {
            self.short += 1;
            return;
        };
        let [number, time] = [number, time].map(|octets| u64::from_be_bytes(*octets));
        let _ = unit.data.pop(HEADER_LEN);
        let next = self.sessions.len();
        let place = *self.by_peer.entry(unit.source).or_insert(next);
        if place == next {
            let before = self.sent_before.get(&unit.source).copied().unwrap_or(0);
            self.sessions.push(Session::of(unit.source, before));
        }
        let Some(session) = self.sessions.get_mut(place) else {
            return;
        };
        if !session.is_new(number) {
            return;
        }
        let now = cx.now();
        if let (Some(media), Some(header)) = (media, header) {
            match &mut session.reception {
                Some(reception) => reception.came(now, &header),
                none => *none = Some(Reception::new(media, now, &header)),
            }
        }
        let received = &mut session.received;
        if let Some(pattern) = expect
            && received.wrong.is_none()
        {
            let offset = content_offset(number, unit.data.len());
            received.wrong = first_wrong(pattern, offset, &unit.data).map(|_| number);
        }
        received.gaps.arrived(received.last, now);
        // All hosts of a world have one clock.
        session.delays.record(Duration::from_nanos(now.as_nanos().saturating_sub(time)));
        received.units += 1;
        received.units_measured += u64::from(number >= session.measured);
        received.octets += octets;
        received.first = received.first.or(Some(now));
        received.last = Some(now);
    }
}

impl Protocol for UdpSink {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::UNIT_DATA], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let open = Open {
            user: Handle::default(),
            mode: Mode::Passive { backlog: 0 },
            local: Address::from(self.config.local),
            remote: Address::NONE,
            quality: Quality::default(),
            ..Open::default()
        };
        cx.down(STACK, Request::Open(Box::new(open)));
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            self.read(unit, cx);
        } else if let Indication::Aborted { reason, .. } = indication {
            self.refused = Some(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u64]) -> ReceivedUnits {
        after_measured_from(0, numbers)
    }

    fn after_measured_from(first: u64, numbers: &[u64]) -> ReceivedUnits {
        let mut session = Session::of(Address::NONE, first);
        for number in numbers {
            session.is_new(*number);
        }
        session.received
    }

    #[test]
    fn what_is_missing_is_lost_until_it_comes_late() {
        assert_eq!(after(&[0, 1, 4]).lost, 2);
        let late = after(&[0, 1, 4, 3]);
        assert_eq!((late.lost, late.reordered, late.duplicated), (1, 1, 0));
    }

    #[test]
    fn what_left_before_the_measurement_is_not_lost_in_it() {
        let counted = |received: ReceivedUnits| (received.lost, received.lost_measured);
        assert_eq!(counted(after_measured_from(3, &[0, 5])), (4, 2));
        assert_eq!(counted(after_measured_from(3, &[0, 5, 1, 4])), (2, 1));
        assert_eq!(counted(after_measured_from(9, &[0, 5])), (4, 0));
    }

    #[test]
    fn what_comes_once_more_is_a_duplicate_and_not_late() {
        let twice = after(&[0, 1, 1, 0, 2]);
        assert_eq!((twice.lost, twice.reordered, twice.duplicated), (0, 0, 2));
    }

    #[test]
    fn a_number_far_ahead_takes_no_more_memory_than_allowed() {
        let mut session = Session::of(Address::NONE, 0);
        assert!(session.is_new(u64::MAX));
        assert_eq!(session.received.lost, u64::MAX);
        assert_eq!(session.missing.len(), MEMORY);
        assert!(!session.is_new(0), "forgotten");
        assert!(session.is_new(u64::MAX - 1));
    }
}
