//! The senders: XTP as its questions clock it, and TCP with its real controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::Seq;

use super::bottleneck::{Arrived, Packet};
use crate::congestion::{Controller, Kind, Status, controller};
use crate::rtt::{self, Estimator};
use kumiki_inet::tcp::congestion::{Acked, Algorithm, Config, Congestion, Loss};

/// What a receiver sends back.
#[derive(Clone, Debug)]
pub(super) struct Message {
    arrived: Arrived,
    /// The largest question seen, or the packet that is acknowledged.
    echo: Packet,
}

/// A sender that always has data, and its receiver.
pub(super) trait Flow: Debug {
    /// Octets of data in a packet.
    fn packet(&self) -> u64;
    /// The next packet to go out now.
    fn next(&mut self, now: Instant) -> Option<Packet>;
    /// When to ask again if nothing comes back until then.
    fn wake(&mut self, now: Instant) -> Option<Instant>;
    /// What the receiver has to say to a packet.
    fn answer(&mut self, packet: &Packet, arrived: &Arrived) -> Option<Message>;
    /// That came back.
    fn on_answer(&mut self, message: &Message, now: Instant);
    /// The congestion window, in octets.
    fn window(&self) -> u64;
}

/// What is out, by number, with the order in which it went.
type Out = BTreeMap<u64, u64>;

/// A packet is lost if so many that left later have arrived.
const REORDERING: u64 = 3;

/// XTP.
#[derive(Debug)]
pub(super) struct Xtp {
    packet: u64,
    estimator: Estimator,
    controller: Box<dyn Controller>,
    /// The most that is sent beyond what is known to have arrived, in packets.
    alloc: u64,
    next: u64,
    known: Arrived,
    out: Out,
    lost: BTreeSet<u64>,
    order: u64,
    sync: u32,
    /// The order of each question.
    questions: BTreeMap<u32, u64>,
    may_send: Instant,
    wtimer: Option<Instant>,
    /// When the last answer is late, and whether the question has been repeated for that.
    late: Option<Instant>,
    repeated: bool,
    backed_off: u32,
    /// The question that must be answered before data goes on.
    handshake: Option<(u32, bool)>,
    limited: bool,
    /// The largest at the receiver.
    seen: Option<Packet>,
}

impl Xtp {
    pub(super) fn new(kind: Kind, config: rtt::Config, packet: u32) -> Self {
        Self {
            packet: packet.into(),
            estimator: Estimator::new(&config),
            controller: controller(kind, packet),
            alloc: u64::MAX / 2,
            next: 0,
            known: Arrived::default(),
            out: Out::new(),
            lost: BTreeSet::new(),
            order: 0,
            sync: 0,
            questions: BTreeMap::new(),
            may_send: Instant::ZERO,
            wtimer: None,
            late: None,
            repeated: false,
            backed_off: 0,
            handshake: None,
            limited: false,
            seen: None,
        }
    }

    pub(super) fn with_alloc(mut self, octets: u64) -> Self {
        self.alloc = octets / self.packet;
        self
    }

    fn in_flight(&self) -> u64 {
        self.out.len() as u64 * self.packet
    }

    fn ask(&mut self, now: Instant) -> u32 {
        self.sync += 1;
        self.questions.insert(self.sync, self.order);
        self.estimator.asked(self.sync, now);
        let wait = self.estimator.wtimer() * (1 << self.backed_off.min(6));
        self.wtimer = Some(now + wait);
        self.expect(now);
        self.sync
    }

    fn expect(&mut self, now: Instant) {
        let late = self.estimator.late().filter(|_| !self.repeated);
        self.late = late.map(|late| now + late + Duration::from_millis(5));
    }

    fn question(&mut self, now: Instant) -> Packet {
        self.order += 1;
        let sync = self.ask(now);
        Packet { number: None, order: self.order, sync: Some(sync), length: 52 }
    }

    fn has_room(&self) -> bool {
        self.out.is_empty() || self.in_flight() + self.packet <= self.controller.window()
    }

    fn has_new(&self) -> bool {
        self.next < self.known.next + self.alloc
    }
}

impl Flow for Xtp {
    fn packet(&self) -> u64 {
        self.packet
    }

    fn next(&mut self, now: Instant) -> Option<Packet> {
        if self.wtimer.is_some_and(|at| at <= now) {
            self.controller.on_timeout(now);
            self.backed_off += 1;
            self.handshake = Some((0, false));
        }
        if let Some((_, asked)) = self.handshake {
            if asked && self.wtimer.is_some_and(|at| at > now) {
                return None;
            }
            let packet = self.question(now);
            self.handshake = Some((self.sync, true));
            return Some(packet);
        }
        if self.wtimer.is_some() && self.late.take_if(|at| *at <= now).is_some() {
            self.repeated = true;
            return Some(self.question(now));
        }
        if !self.has_room() {
            return None;
        }
        let leaps = now < self.may_send && self.controller.leaps(self.packet);
        if now < self.may_send && !leaps {
            return None;
        }
        let number = if let Some(number) = self.lost.pop_first() {
            number
        } else if self.has_new() {
            self.next += 1;
            self.next - 1
        } else {
            self.limited = true;
            return None;
        };
        self.order += 1;
        self.out.insert(number, self.order);
        let last = !self.has_room() || (self.lost.is_empty() && !self.has_new());
        let due = last || self.estimator.due(now);
        let sync = due.then(|| self.ask(now));
        self.estimator.sent(self.packet);
        if let Some(rate) = self.controller.rate().filter(|_| !leaps) {
            let gap = self.packet * 1_000_000_000 / rate;
            self.may_send = self.may_send.max(now) + Duration::from_nanos(gap);
        }
        Some(Packet { number: Some(number), order: self.order, sync, length: self.packet })
    }

    fn wake(&mut self, now: Instant) -> Option<Instant> {
        let paced = (now < self.may_send && self.handshake.is_none() && self.has_room()).then_some(self.may_send);
        let late = self.late.filter(|_| self.wtimer.is_some() && self.handshake.is_none());
        [paced, self.wtimer, late].into_iter().flatten().min()
    }

    fn answer(&mut self, packet: &Packet, arrived: &Arrived) -> Option<Message> {
        packet.sync?;
        if self.seen.is_none_or(|seen| seen.sync < packet.sync) {
            self.seen = Some(*packet);
        }
        Some(Message { arrived: arrived.clone(), echo: self.seen? })
    }

    fn on_answer(&mut self, message: &Message, now: Instant) {
        let Some(echo) = message.echo.sync else {
            return;
        };
        if self.handshake.is_some_and(|(sync, _)| echo < sync) {
            return;
        }
        self.handshake = None;
        self.backed_off = 0;
        let rtt = self.estimator.answered(echo, now);
        // So many packets may have been overtaken by the question.
        let order = self.questions.get(&echo).copied().unwrap_or(0);
        let order = order.saturating_sub(REORDERING);
        self.questions = self.questions.split_off(&echo);
        self.repeated = false;
        self.expect(now);
        if echo == self.sync {
            self.wtimer = None;
        }
        let arrived = &message.arrived;
        let before = self.out.len();
        self.out.retain(|number, _| !arrived.has(*number));
        let delivered = (before - self.out.len()) as u64;
        self.lost.retain(|number| !arrived.has(*number));
        let lost: Vec<u64> = (self.out.iter()).filter(|it| *it.1 <= order).map(|it| *it.0).collect();
        for number in &lost {
            self.out.remove(number);
            self.lost.insert(*number);
        }
        if arrived.next > self.known.next {
            self.known.next = arrived.next;
        }
        self.controller.on_status(&Status {
            now,
            delivered: delivered * self.packet,
            lost: lost.len() as u64 * self.packet,
            in_flight: self.in_flight(),
            rtt,
            min_rtt: self.estimator.min(),
            sync: echo,
            sent_sync: self.sync,
            limited: core::mem::take(&mut self.limited),
        });
    }

    fn window(&self) -> u64 {
        self.controller.window()
    }
}

/// TCP with SACK.
#[derive(Debug)]
pub(super) struct Tcp {
    packet: u64,
    congestion: Box<dyn Congestion>,
    rtt: kumiki_inet::tcp::rtt::Rtt,
    next: u64,
    una: u64,
    out: Out,
    lost: BTreeSet<u64>,
    order: u64,
    sent_at: BTreeMap<u64, Instant>,
    recovery: Option<u64>,
    rto: Option<Instant>,
    again: bool,
}

impl Tcp {
    pub(super) fn new(algorithm: Algorithm, packet: u32) -> Self {
        Self {
            packet: packet.into(),
            congestion: algorithm.build(Config::new(packet)),
            rtt: kumiki_inet::tcp::rtt::Rtt::new(&kumiki_inet::tcp::rtt::Config::LINUX),
            next: 0,
            una: 0,
            out: Out::new(),
            lost: BTreeSet::new(),
            order: 0,
            sent_at: BTreeMap::new(),
            recovery: None,
            rto: None,
            again: false,
        }
    }

    fn seq(&self, number: u64) -> Seq {
        Seq(u32::try_from(number * self.packet % (1 << 32)).unwrap())
    }

    fn flight(&self) -> u64 {
        (self.out.len() + self.lost.len()) as u64 * self.packet
    }

    fn pipe(&self) -> u64 {
        self.out.len() as u64 * self.packet
    }
}

impl Flow for Tcp {
    fn packet(&self) -> u64 {
        self.packet
    }

    fn next(&mut self, now: Instant) -> Option<Packet> {
        if self.rto.is_some_and(|at| at <= now) {
            let flight = self.flight();
            let loss = Loss { now, flight };
            self.congestion.on_timeout(&loss, self.again);
            self.again = true;
            self.rtt.back_off();
            self.recovery = None;
            let out = core::mem::take(&mut self.out);
            self.lost.extend(out.into_keys());
            self.rto = None;
        }
        if self.pipe() + self.packet > self.congestion.window() {
            return None;
        }
        let number = if let Some(number) = self.lost.pop_first() {
            self.sent_at.remove(&number);
            number
        } else {
            self.next += 1;
            self.sent_at.insert(self.next - 1, now);
            self.next - 1
        };
        self.order += 1;
        self.out.insert(number, self.order);
        if self.rto.is_none() {
            self.rto = Some(now + self.rtt.rto(&kumiki_inet::tcp::rtt::Config::LINUX));
        }
        Some(Packet { number: Some(number), order: self.order, sync: None, length: self.packet })
    }

    fn wake(&mut self, _now: Instant) -> Option<Instant> {
        self.rto
    }

    fn answer(&mut self, packet: &Packet, arrived: &Arrived) -> Option<Message> {
        Some(Message { arrived: arrived.clone(), echo: *packet })
    }

    fn on_answer(&mut self, message: &Message, now: Instant) {
        let arrived = &message.arrived;
        let flight = self.flight();
        let sample = message.echo.number.and_then(|it| self.sent_at.remove(&it));
        let sample = sample.map(|at| now.saturating_since(at));
        if let Some(sample) = sample {
            self.rtt.on_sample(sample, &kumiki_inet::tcp::rtt::Config::LINUX);
        }
        let limited = self.pipe() + 2 * self.packet > self.congestion.window();
        self.out.retain(|number, _| !arrived.has(*number));
        self.lost.retain(|number| !arrived.has(*number));
        let order = message.echo.order.saturating_sub(REORDERING);
        let lost: Vec<u64> = (self.out.iter()).filter(|it| *it.1 <= order).map(|it| *it.0).collect();
        let acked = arrived.next.saturating_sub(self.una);
        self.una += acked;
        self.sent_at = self.sent_at.split_off(&self.una);
        for number in &lost {
            self.out.remove(number);
            self.lost.insert(*number);
        }
        if !lost.is_empty() && self.recovery.is_none() {
            self.congestion.on_loss(&Loss { now, flight });
            self.recovery = Some(self.next);
        }
        if acked > 0 {
            self.again = false;
            self.rto = (self.flight() > 0).then(|| now + self.rtt.rto(&kumiki_inet::tcp::rtt::Config::LINUX));
            match self.recovery {
                Some(end) if self.una >= end => {
                    self.recovery = None;
                    self.congestion.on_recovered(now, self.pipe());
                }
                Some(_) => {}
                None => self.congestion.on_ack(&Acked {
                    now,
                    octets: acked * self.packet,
                    flight,
                    srtt: self.rtt.srtt(),
                    rtt: sample,
                    una: self.seq(self.una),
                    nxt: self.seq(self.next),
                    window_limited: limited,
                }),
            }
        }
    }

    fn window(&self) -> u64 {
        self.congestion.window()
    }
}
