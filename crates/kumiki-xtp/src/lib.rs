//! XTP.
//!
//! | | |
//! |---|---|
//! | Specification | XTP 4.0b, with what Kumiki has settled where no text is public: `docs/xtp.md`, whose items the code names (P1 and so on) |
//! | Above | [`Service::STREAM`]: open, offer and accept, data with credit, tags, release, abort; `end` is EOM and is preserved |
//! | Below | [`Service::UNIT_DATA`] that takes IP addresses: IP of either version under protocol 36; address resolution or VNET on a LAN under Ethernet type 817d |
//! | Left out | revision 3.6 and before; many-to-many; path MTU discovery (what is too long is fragmented by IP); transactions as a service of their own; small writes are not held back (`Quality::coalesce`); ECN; a bound on the number of tries (`Quality::retransmissions`): time decides |
//!
//! | read | for |
//! |---|---|
//! | [`Config`] | what can be chosen |
//! | `opening`, `listening`, `table` | how contexts begin, and who is found by what |
//! | `judging`, `arrivals` | whether a packet can be true; what it does |
//! | `output` | what leaves, and when status is asked for |
//! | `control` | sync and echo, EDGE, DREQ |
//! | `error`, `spans`, `brake` | what has become of what was sent: selective repeat, go-back-N, and the brake of both |
//! | `send`, `receive` | the two directions' octets, messages and tags |
//! | `rate`, `priority` | RTIMER and pacing; who sends first |
//! | `deadlines`, `timers` | WTIMER, CTIMER and the others |
//! | `close` | WCLOSE, RCLOSE, END, and what is left of a context |
//! | `diagnosis` | DIAG |
//! | `strangers` | how much goes to a caller that may not be who it says it is |
//! | `group` | MULTI, JCNTL: one transmitter and many receivers |
//! | [`congestion`], [`rtt`] | the algorithms |
//!
//! # How a user sees it
//!
//! An active open is confirmed at once, when the layer below has said how to send: XTP has no handshake before data.
//! `Open::data` goes in the first packet. A caller is `Offered` with what that packet brought; `Accept` tells the
//! caller. `end` of a `Data` request is the end of a message, which arrives with the octet it was given with.
//! [`Tagged`] gives eight octets to go beside a message's beginning, which a user gets that has opened or accepted
//! [`WithTags`]. Writes leave when they are made; what answers allow, and what is asked at last, is decided once per
//! batch ([`Protocol::settle`]).
//!
//! An open to a group transmits: its user is told by notices ([`Membership`](kumiki_graph::Membership)) who receives. A
//! passive open at a group's address receives: whoever sends to it is `Offered`, also when it has begun before. Its
//! user writes nothing; `Release` leaves.

use kumiki_graph::memory::{Memory, SessionMemory};
use kumiki_graph::{
    Above, Address, Below, Context, Duration, Handle, Indication, Instant, Key, Manage, Mode, Open, Protocol, Report,
    Request, Service, Shape, TimerSlot, Token, Unit,
};
use kumiki_wire::numbering::{self, IP_PROTOCOL};
use kumiki_wire::xtp::{Diagnosis, ETHER_TYPE, Options, code, val};

mod arrivals;
mod brake;
mod close;
pub mod config;
pub mod congestion;
mod context;
mod control;
mod counters;
mod deadlines;
mod diagnosis;
mod error;
mod group;
mod judging;
pub mod kinds;
mod listening;
mod opening;
mod output;
mod packet;
mod priority;
mod rate;
mod receive;
pub mod rtt;
mod send;
mod spans;
mod strangers;
mod table;
mod tagged;
#[cfg(test)]
mod tests;
mod timers;

pub use config::{Config, Recovery};
pub use counters::Counters;
pub use tagged::{Tagged, WithTags};

use context::{Ctx, Endpoint, Shared};
use group::joining::Groups;
use opening::{Route, refuse};
use output::Emission;
use packet::{Arrived, Body};
use priority::Queue;
use table::{Table, handle_of};
use timers::Timer;

/// How long an active open waits for the layer below to say how it would travel.
const ANSWER_TIME: Duration = Duration::from_millis(100);
const fn of_node(kind: u32) -> Token {
    Token { session: Handle { index: u32::MAX, generation: u32::MAX }, kind }
}
/// The timers of the node; no context has these.
const ANSWER: Token = of_node(0);
const HOLD: Token = of_node(1);
const TOTAL: Token = of_node(2);

/// XTP: see the module.
pub struct Xtp {
    shared: Shared,
    table: Table,
    queue: Queue,
    /// Contexts that something happened to in this batch.
    dirty: Vec<Handle>,
    /// Active opens that wait to know their route.
    early: Vec<(Above, Box<Open>)>,
    /// Contexts that were called and do not know their route.
    unrouted: Vec<Handle>,
    /// The groups that we are in.
    groups: Groups,
    answer: TimerSlot,
    hold: TimerSlot,
}

impl Xtp {
    /// An XTP without contexts.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            queue: Queue::new(&config),
            shared: Shared {
                diagnoses: diagnosis::Limiter::new(&config),
                config,
                counters: Counters::default(),
                unit: 0,
                memory: Memory::default(),
            },
            table: Table::default(),
            dirty: Vec::new(),
            early: Vec::new(),
            unrouted: Vec::new(),
            groups: Groups::default(),
            answer: TimerSlot::default(),
            hold: TimerSlot::default(),
        }
    }

    /// What has been counted.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// What was chosen.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.shared.config
    }

    /// How many contexts there are, those that are over not among them.
    #[must_use]
    pub const fn contexts(&self) -> usize {
        self.table.contexts()
    }

    /// How many contexts are over and still answer.
    #[must_use]
    pub fn inactive(&self) -> usize {
        self.table.inactive()
    }

    /// Octets of users' data that all contexts keep: what is not sent yet or not known to have come, and what has come
    /// and not been handed to a user.
    #[must_use]
    pub fn held(&self) -> (u64, u64) {
        let each = self.table.all().map(|it| (it.send.held(), it.receive.held()));
        each.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }

    /// Lets `act` work on a context, then sees what has become of it; false where there is none.
    fn with(
        &mut self,
        handle: Handle,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Endpoint, &mut Ctx<'_, '_>),
    ) -> bool {
        let Some(endpoint) = self.table.context(handle) else {
            return false;
        };
        let mut ctx = Ctx { cx, shared: &mut self.shared };
        act(endpoint, &mut ctx);
        if endpoint.dirty && !endpoint.listed && !endpoint.ended {
            endpoint.listed = true;
            self.dirty.push(handle);
        }
        let ended = endpoint.ended;
        if !endpoint.named {
            endpoint.named = endpoint.via.is_some() && endpoint.peer.is_some();
            if let Some(name) = endpoint.name() {
                self.table.know_peer(name, handle);
            }
        }
        if ended {
            self.forget(handle, cx);
        }
        true
    }

    fn forget(&mut self, handle: Handle, cx: &mut Context<'_>) {
        let Some(endpoint) = self.table.context(handle) else {
            return;
        };
        if endpoint.unrouted {
            // A layer that answers no question about routes would leave it there for ever.
            self.unrouted.retain(|it| *it != handle);
        }
        let listener = endpoint.listener.take();
        self.shared.memory.count(endpoint.counted, SessionMemory::default());
        let remains = endpoint.leaves_remains().then(|| endpoint.remains());
        let (group, unwanted) = (endpoint.group(), endpoint.unwanted());
        match remains {
            Some(remains) => {
                let now = cx.now();
                let until = now + self.shared.config.closed_timeout;
                self.table.retire(handle, remains, until);
                let most = usize::try_from(self.shared.config.max_held).unwrap_or(usize::MAX);
                self.forget_held(now, most, cx);
                self.arm_hold(cx);
            }
            None => {
                self.table.remove(handle);
                if let Some((name, port)) = unwanted {
                    let until = cx.now() + self.shared.config.closed_timeout;
                    self.groups.deaf.turn(name, port, until);
                }
                if let Some(group) = group {
                    self.leave_group(group, cx);
                }
            }
        }
        if let Some(listener) = listener.and_then(|it| self.table.listener(it)) {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
    }

    fn forget_held(&mut self, now: Instant, most: usize, cx: &mut Context<'_>) {
        for group in self.table.forget_held(now, most) {
            self.leave_group(group, cx);
        }
    }

    fn arm_hold(&mut self, cx: &mut Context<'_>) {
        if let Some(at) = self.table.next_held()
            && self.hold.deadline().is_none_or(|it| it <= cx.now())
        {
            cx.set_timer(&mut self.hold, HOLD, at);
        }
    }

    /// Sends what `handle` may send.
    fn pump(&mut self, handle: Handle, cx: &mut Context<'_>) {
        if self.queue.is_limited() {
            self.enqueue(handle);
            self.serve(cx);
            return;
        }
        self.with(handle, cx, |it, ctx| {
            loop {
                match it.emit(ctx) {
                    Emission::Sent => {}
                    Emission::Rate(at) => {
                        it.timers.set(Timer::Rate, at, ctx.cx);
                        break;
                    }
                    Emission::Nothing | Emission::Alloc | Emission::Window | Emission::Stranger => {
                        break;
                    }
                }
            }
        });
    }

    /// A unit from below.
    fn unit(&mut self, unit: Box<Unit>, cx: &mut Context<'_>) {
        let packet = match packet::receive(unit, cx) {
            Ok(packet) => packet,
            Err(refused) => {
                self.shared.counters.malformed += 1;
                cx.drop(refused.why);
                if let Some((source, destination, key, diagnosis)) = refused.answer {
                    self.diagnose((source, destination), key, false, diagnosis, cx);
                }
                return;
            }
        };
        match packet.body {
            Body::Control { .. } => self.shared.counters.control_received += 1,
            Body::Diag(_) => self.shared.counters.diag_received += 1,
            Body::Data { .. } | Body::First { .. } => {}
        }
        match self.whose(&packet) {
            Some(handle) => self.arrived(handle, packet, cx),
            None if matches!(packet.body, Body::First { .. }) => self.called(packet, cx),
            None => self.stray(packet, cx),
        }
    }

    /// The context, or what is left of it, that a packet belongs to.
    fn whose(&mut self, packet: &Arrived) -> Option<Handle> {
        let key = packet.header.key;
        if key.is_returned() {
            let handle = handle_of(key);
            if self.table.inactive_mut(handle).is_some() {
                return Some(handle);
            }
            let endpoint = self.table.context(handle)?;
            if endpoint.part.is_transmitter() {
                // It knows its receivers itself.
                return Some(handle);
            }
            // Only from the peer; where the layer below does not know of IP, from where its packets came at first.
            let from = packet.source;
            let right = match (from.ip(), endpoint.via) {
                (Some(ip), _) => ip == endpoint.remote.ip(),
                (None, Some(via)) => via == from,
                (None, None) => true,
            };
            return right.then_some(handle);
        }
        self.table.of_peer((packet.source, key))
    }

    fn arrived(&mut self, handle: Handle, packet: Arrived, cx: &mut Context<'_>) {
        if let Some(remains) = self.table.inactive_mut(handle) {
            let mut ctx = Ctx { cx, shared: &mut self.shared };
            remains.on_packet(&packet, &mut ctx);
            return;
        }
        let ends = (packet.source, packet.destination);
        let (key, group) = (packet.header.key, packet.group);
        let mut refused = None;
        self.with(handle, cx, |it, ctx| {
            refused = it.on_packet(packet, ctx).err();
        });
        if let Some(refused) = refused {
            self.shared.counters.lies += 1;
            cx.drop(refused.why);
            if let Some(diagnosis) = refused.answer {
                self.diagnose(ends, key, group, diagnosis, cx);
            }
        }
    }

    /// A packet that belongs to nobody. A dead key of ours is answered (P15); who uses its own has not been heard here,
    /// and will send FIRST again.
    fn stray(&mut self, packet: Arrived, cx: &mut Context<'_>) {
        let key = packet.header.key;
        let quiet = matches!(packet.body, Body::Diag(_)) || packet.has(Options::END);
        let (ends, group) = ((packet.source, packet.destination), packet.group);
        if self.overheard(packet, cx) {
            return;
        }
        self.shared.counters.strays += 1;
        cx.drop("no such context");
        if key.is_returned() && !quiet {
            let diagnosis = Diagnosis { code: code::INVALID_CONTEXT, val: val::UNSPECIFIED };
            self.diagnose(ends, key, group, diagnosis, cx);
        }
    }

    fn report(&mut self, report: Report, cx: &mut Context<'_>) {
        match report {
            Report::Limits { unit, .. } => {
                self.shared.unit = unit;
                let report = Report::Limits { unit: self.shared.maxdata(0), burst: 1 };
                kumiki_graph::users::tell_all(&report, cx);
            }
            Report::Route { to, source, unit, bypass, .. } => {
                let route = Route { source: source.ip(), unit, bypass };
                self.routed(to, route, cx);
            }
            Report::Unreachable { destination, problem, mut start, .. } => {
                let front = start.front(8).ok().and_then(|it| it.first_chunk());
                let Some(key) = front.map(|it| kumiki_wire::xtp::Key(u64::from_be_bytes(*it))) else {
                    return;
                };
                self.unreachable(destination, key, problem, cx);
            }
            Report::Up | Report::Down | Report::Special(_) => {}
        }
    }

    /// A packet of ours met an error on its way. It carried our own key, or the peer's.
    fn unreachable(
        &mut self,
        destination: Address,
        key: kumiki_wire::xtp::Key,
        problem: kumiki_graph::Problem,
        cx: &mut Context<'_>,
    ) {
        let handle =
            if key.is_returned() { self.table.of_peer((destination, key.own())) } else { Some(handle_of(key)) };
        let known = handle.is_some_and(|handle| {
            self.with(handle, cx, |it, ctx| {
                if Address::from(it.remote.ip()) == destination {
                    it.on_problem(problem, ctx);
                }
            })
        });
        if !known {
            cx.drop("ICMP error for no context");
        }
    }

    fn manage(&mut self, from: Above, manage: &Manage, cx: &mut Context<'_>) {
        if let Manage::Session { session, quality } = manage {
            self.change(*session, quality, cx);
        } else if let Manage::Limits = manage {
            let unit = self.shared.maxdata(0);
            let limits = Report::Limits { unit, burst: 1 };
            cx.up(from, Indication::Report(Box::new(limits)));
        } else {
            // Questions for a layer of units: a stream has no answer to them.
            cx.drop("not asked of a stream");
        }
    }

    /// A write of a user's.
    fn write(
        &mut self,
        session: Handle,
        data: kumiki_octets::Message,
        tag: Option<send::Tag>,
        end: bool,
        cx: &mut Context<'_>,
    ) {
        if self.with(session, cx, |it, ctx| it.on_data(data, tag, end, ctx)) {
            self.pump(session, cx);
        } else {
            cx.drop("no such session");
        }
    }
}

impl Protocol for Xtp {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::STREAM),
            needs: &[Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![
                Key::of(IP_PROTOCOL, kumiki_wire::inet::ipv4::protocol::XTP.into()),
                Key::of(numbering::ETHER_TYPE, ETHER_TYPE),
            ],
        }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        cx.down(Below(0), Request::Manage(Box::new(Manage::Limits)));
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => match open.mode {
                Mode::Active => self.open_active(from, open, cx),
                Mode::Passive { backlog } => {
                    if let Err(reason) = self.open_passive(from, &open, backlog, cx) {
                        refuse(from, open.user, reason, cx);
                    }
                }
            },
            Request::Accept(accept) => self.accept(from, *accept, cx),
            Request::Data { session, data, end } => self.write(session, data, None, end, cx),
            Request::Special { session, what } => match what.take() {
                Some(tagged) => {
                    let Tagged { tag, data, end } = *tagged;
                    self.write(session, data, Some(tag), end, cx);
                }
                None => cx.drop("a primitive of another service"),
            },
            Request::Credit { session, credit } => {
                self.with(session, cx, |it, _| it.on_credit(credit));
            }
            Request::Release { session, data } => {
                if let Some(data) = data {
                    self.write(session, data, None, true, cx);
                }
                if !self.with(session, cx, |it, ctx| it.on_release(ctx)) {
                    self.unlisten(from, session, true, cx);
                }
            }
            Request::Abort { session, .. } => {
                if !self.with(session, cx, Endpoint::on_abort) {
                    self.unlisten(from, session, false, cx);
                }
            }
            // A stream has no reset that leaves the session standing.
            Request::Reset { session, .. } => {
                self.with(session, cx, Endpoint::on_abort);
            }
            Request::Manage(manage) => self.manage(from, &manage, cx),
            Request::Cancel { user } => self.cancel(from, user, cx),
            Request::Unit(_) => cx.drop("a stream carries no units"),
            Request::Expedited { .. } => cx.drop("XTP has no expedited data"),
        }
    }

    fn pop(&mut self, _from: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            self.unit(unit, cx);
        } else if let Indication::Report(report) = indication {
            self.report(*report, cx);
        } else if let Indication::Credit { credit, .. } = indication {
            self.queue.grant(credit);
            self.serve(cx);
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == ANSWER {
            self.open_early(cx);
        } else if token == HOLD {
            let most = usize::try_from(self.shared.config.max_held).unwrap_or(usize::MAX);
            self.forget_held(cx.now(), most, cx);
            self.arm_hold(cx);
        } else if token == TOTAL {
            self.serve(cx);
        } else if let Some(timer) = Timer::of_kind(token.kind) {
            self.with(token.session, cx, |it, ctx| it.on_timer(timer, ctx));
        }
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        let mut dirty = core::mem::take(&mut self.dirty);
        if dirty.len() > 1 {
            // The more urgent ones first (P28); those of one priority in their order.
            dirty.sort_by_key(|handle| self.priority(*handle));
        }
        for handle in dirty.drain(..) {
            self.with(handle, cx, |it, _| (it.dirty, it.listed) = (false, false));
            self.pump(handle, cx);
            self.with(handle, cx, |it, ctx| {
                it.settle(ctx);
                it.dirty = false;
            });
        }
        if self.dirty.is_empty() {
            // Its room serves the next batch.
            self.dirty = dirty;
        }
    }
}
