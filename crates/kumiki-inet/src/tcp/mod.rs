//! TCP.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293; RFC 7323 (window scale, timestamps, PAWS), RFC 2018 and 2883 (SACK), RFC 8985, 6675, 6582, 3042, 6937, 5682, 3522, 4015 (loss recovery), RFC 5681, 9438, 6928, 9406 (congestion control), RFC 6298 (RTO), RFC 5961 (blind attacks), RFC 6528 (ISN), RFC 6056 (ports), RFC 5482 (user timeout), RFC 1191, 8201 and 4821 (path MTU), RFC 6093 (urgent data), RFC 4987 (SYN floods), RFC 3168, 8511 and 9768 (ECN), RFC 896 and draft-minshall-nagle-01 (small segments) |
//! | Above | [`Service::STREAM`]: open, offer and accept, data with credit, release, abort |
//! | Below | [`Service::UNIT_DATA`]: IPv4 or IPv6, under protocol number 6 |
//! | Left out | both versions of IP at once (one below each TCP), flow labels and zones; data with a SYN that we send (it is not asked for; what comes is kept) |
//!
//! | read | for |
//! |---|---|
//! | [`Config`], [`defaults`] | what can be chosen, and the profiles |
//! | `states` | RFC 9293 section 3.10: what a segment does in which state |
//! | `requests`, `arrivals` | how a user's request and a segment find their session, and what happens without one |
//! | `callers`, `half_open`, `cookies` | what comes before the session of a passive open |
//! | [`OfferFirst`] | passive opens that ask their user before they answer, at one port or at all |
//! | `time_waits` | what comes after a session |
//! | `session` | what all states share |
//! | `predicted` | the short way for what everybody expects |
//! | `output`, `pacing`, `deadlines` | what goes out and when, and what the timers do |
//! | `recovery` | which losses are being made good, and what decided so |
//! | `ecn` | congestion marks, and what the peer is told of them |
//! | `urgent`, `route` | the urgent pointers, source routes |
//! | `challenge` | how often what cannot be is answered |
//! | [`Limits`] | what holds a connection back, and how long |
//! | `timeouts` | how long it waits for its peer: R1, R2, user timeout, keep-alive |
//! | `path_mtu` | how long a segment may be on its path |
//! | `buffers` | how large the buffers are |
//! | `send`, `receive` | who owns the send and the receive sequence variables, and all rules on small segments and windows |
//! | [`congestion`], [`scoreboard`], [`rtt`], [`reassembly`] | the algorithms |
//!
//! # How a user sees it
//!
//! An active open asks the layer below for its route, which gives the source address and the MSS. It is confirmed by
//! `Opened`, then `Credit` grants the send buffer; further credit comes as room does. A passive open is confirmed by
//! `Opened` too, without credit: its provider handle names the passive open, and `Abort` (or `Release`, which is
//! answered by `Closed`) ends it. Each caller that has completed the handshake is `Offered`; the answer is `Accept`
//! (credit follows) or `Abort`. Data is indicated as soon as it is in order; the receive window shrinks until the user
//! gives the credit back. `Release` sends FIN after the data; `Released` is the peer's FIN; `Closed` comes when both
//! have been exchanged, and the handle is void then, although TIME-WAIT goes on without the session. `Aborted` is the
//! end at once; a user's own `Abort` is not answered.
//!
//! # A reset at the number of a FIN
//!
//! A peer that has closed, and nobody reads any more, answers text with a reset (RFC 9293 section 3.6.1), whose
//! sequence number is what the text acknowledges (section 3.10.7.1). Of text that we sent before its FIN had come that
//! is the FIN's own, RCV.NXT-1, which is outside of the window: RFC 5961 section 3.2 has such a reset dropped, and all
//! that waits on the way would go on to somebody who has left. In CLOSE-WAIT, CLOSING and LAST-ACK it is taken, as
//! Linux does (`tcp_reset_check`). Who does not see the packets has two numbers of 2^32 to guess there, and one
//! elsewhere.
//!
//! # When segments are sent
//!
//! Data goes out when the user hands it over. What acknowledgments allow, and acknowledgments themselves, are decided
//! once per batch ([`Protocol::settle`]); with batches of one that is TCP as it always was.

use core::net::SocketAddr;
use std::sync::Arc;

use kumiki_wire::numbering::IP_PROTOCOL;

use kumiki_graph::{
    Above, Below, Context, Duration, Handle, Indication, Instant, Key, Manage, Open, Protocol, Report, Request,
    Service, Shape, TimerSlot, Token,
};

mod arrivals;
mod buffers;
mod callers;
mod challenge;
pub mod config;
pub mod congestion;
mod cookies;
mod counters;
mod deadlines;
pub mod defaults;
mod demux;
mod ecn;
mod half_open;
mod isn;
mod kept;
mod limits;
mod output;
mod pacing;
mod pairs;
mod path_mtu;
mod pending;
mod predicted;
pub mod reassembly;
mod receive;
mod record;
mod recovery;
mod requests;
mod route;
pub mod rtt;
pub mod scoreboard;
mod segment;
mod send;
mod session;
mod states;
mod table;
#[cfg(test)]
mod tests;
mod time_waits;
mod timeouts;
mod timers;
mod trace;
mod urgent;

pub use config::Config;
pub use cookies::mss_of_cookie;
pub use counters::Counters;
pub use limits::{Limit, Limits};
pub use pending::{OfferFirst, RefuseCaller, Withdrawn};
pub use receive::AckReason;
pub use record::{Counts, Record};
pub use trace::{Entry as TraceEntry, Event, Recovering, Snapshot, Trace};
pub use urgent::UrgentAhead;

use config::{AckTimer, Beat};
use demux::{Demux, Secret};
use half_open::HalfOpen;
use kumiki_graph::memory::{Budget, Memory, SessionMemory};
use pairs::Pairs;
use pending::Pending;
use predicted::PredictedState;
use session::{Ctx, Session, Shared};
use table::{Entry, Table};
use time_waits::TimeWaits;
use timers::Timer;

/// How long an active open waits for the layer below to say how it would travel.
const ANSWER_TIME: Duration = Duration::from_millis(100);
/// The timer for that; no session has this kind.
const ANSWER: Token = Token { session: Handle { index: u32::MAX, generation: u32::MAX }, kind: u32::MAX };

/// Whether a call from the first address to the second is for this TCP to make: see [`Tcp::share_ports`].
pub type CallsFrom = Arc<dyn Fn(SocketAddr, SocketAddr) -> bool + Send + Sync>;

/// TCP: see the module.
///
/// A host of TCP on IP on a line, which refuses whoever calls, for nobody listens:
///
/// ```
/// use core::net::Ipv4Addr;
/// use kumiki_graph::{Graph, Instant, Service};
/// use kumiki_inet::ip::{self, Ip};
/// use kumiki_inet::tcp::{Config, Tcp, defaults};
///
/// let mut graph = Graph::new(1, 0);
/// graph.add_device("line", Service::FRAME)?;
/// let task = graph.add_task("cpu");
/// // A profile, or one of it in which something is otherwise.
/// let config = Config { sack: false, ..defaults::modern() };
/// graph.add_node("tcp", task, Box::new(Tcp::new(config)))?;
/// let interface = ip::Interface::new("line", Ipv4Addr::new(10, 0, 0, 1), 24);
/// graph.add_node("ip", task, Box::new(Ip::new(ip::Config::host(interface))?))?;
/// graph.connect("tcp", "ip")?;
/// graph.connect("ip", "line")?;
/// graph.start(Instant::ZERO)?;
///
/// let tcp: &Tcp = graph.find("tcp").expect("it was added, and is a Tcp");
/// assert_eq!(tcp.records().count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tcp {
    shared: Shared,
    demux: Demux,
    half_open: HalfOpen,
    pending: Pairs<Pending>,
    /// Some passive open has offered, or will, before it answers.
    offers_first: bool,
    time_waits: TimeWaits,
    /// Until when cookies may come back.
    cookies_until: Instant,
    cookies_used: cookies::UsedCookies,
    table: Table,
    /// Sessions that something happened to in this batch.
    dirty: Vec<Handle>,
    /// The steps of all ephemeral ports given out.
    ports_given: u16,
    /// Which of them are for it to give out.
    calls_from: Option<CallsFrom>,
    begun: bool,
    /// Active opens that wait to know their route.
    early: Vec<(Above, Box<Open>)>,
    answer: TimerSlot,
}

impl Tcp {
    /// A TCP without connections.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            shared: Shared {
                config,
                counters: Counters::default(),
                unit: 0,
                burst: 1,
                secret: Secret::default(),
                ack_phase: Duration::ZERO,
                slow_phase: Duration::ZERO,
                traces: Vec::new(),
                records: Vec::new(),
                #[cfg(test)]
                predicted: (0, 0),
                memory: Memory::default(),
                budget: challenge::Budget::default(),
            },
            demux: Demux::default(),
            half_open: HalfOpen::default(),
            pending: Pairs::default(),
            offers_first: false,
            time_waits: TimeWaits::default(),
            cookies_until: Instant::ZERO,
            cookies_used: cookies::UsedCookies::default(),
            table: Table::default(),
            dirty: Vec::new(),
            ports_given: 0,
            calls_from: None,
            begun: false,
            early: Vec::new(),
            answer: TimerSlot::default(),
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

    /// The traces kept where [`Config::trace`] asks for them, as (local, remote, trace): those of connections that are
    /// over first, in the order in which they ended.
    pub fn traces(&self) -> impl Iterator<Item = (SocketAddr, SocketAddr, &Trace)> {
        let over = self.shared.traces.iter().map(|(pair, trace)| (pair, trace));
        let alive = self.table.sessions().filter_map(|session| Some((&session.pair, session.trace.as_deref()?)));
        over.chain(alive).map(|(pair, trace)| (pair.local.into(), pair.remote.into(), trace))
    }

    /// Takes what [`Tcp::traces`] has, in the same order; what follows begins new ones.
    pub fn take_traces(&mut self) -> Vec<(SocketAddr, SocketAddr, Trace)> {
        let over = core::mem::take(&mut self.shared.traces);
        let alive = self.table.sessions_mut().filter_map(|session| {
            let trace = session.trace.as_deref_mut()?;
            Some((session.pair, core::mem::take(trace)))
        });
        let all = over.into_iter().chain(alive);
        all.map(|(pair, trace)| (pair.local.into(), pair.remote.into(), trace)).collect()
    }

    /// What each connection did and what held it back, where [`Config::record`] asks for that, as (local, remote,
    /// record): those that are over first, in the order in which they ended.
    pub fn records(&self) -> impl Iterator<Item = (SocketAddr, SocketAddr, &Record)> {
        let over = self.shared.records.iter().map(|(pair, record)| (pair, record));
        let alive = self.table.sessions().filter_map(|session| Some((&session.pair, session.record.as_deref()?)));
        over.chain(alive).map(|(pair, record)| (pair.local.into(), pair.remote.into(), record))
    }

    /// The round trips that were measured so far are told apart from those that come
    /// ([`crate::times::Times::measured`]).
    #[cfg(feature = "statistics")]
    pub fn measure_from_here(&mut self) {
        let over = self.shared.records.iter_mut().map(|(_, record)| record);
        let alive = self.table.sessions_mut().filter_map(|session| session.record.as_deref_mut());
        over.chain(alive).for_each(|record| record.round_trips.measure_from_here());
    }

    /// How the connections stand that are neither in the handshake of a passive open nor in TIME-WAIT, as (local,
    /// remote, how).
    pub fn snapshots(&self) -> impl Iterator<Item = (SocketAddr, SocketAddr, Snapshot)> {
        let sessions = self.table.sessions();
        sessions.map(|session| {
            (session.pair.local.into(), session.pair.remote.into(), session.snapshot(&self.shared.config))
        })
    }

    /// Settings that can be [changed](Tcp::change) while there are connections: they are looked at each time, and
    /// nothing is kept of them.
    pub const CHANGEABLE: [&'static str; 7] = [
        "ack",
        "delayed_ack",
        "delayed_ack_heartbeat",
        "window_update",
        "slow_start_after_idle",
        "limited_transmit",
        "rate_reduction",
    ];

    /// From now on it is as `config` says in what [can be changed](Tcp::CHANGEABLE). All else stays as it was.
    pub const fn change(&mut self, config: &Config) {
        let own = &mut self.shared.config;
        (own.ack, own.ack_timer, own.window_update) = (config.ack, config.ack_timer, config.window_update);
        own.slow_start_after_idle = config.slow_start_after_idle;
        (own.limited_transmit, own.rate_reduction) = (config.limited_transmit, config.rate_reduction);
    }

    /// From now on what its connections hold counts towards `budget`, whose bound is in place of that of its
    /// [configuration](Config::memory).
    pub fn share_memory(&mut self, budget: Budget) {
        self.shared.memory.share(budget);
    }

    /// From now on a port that it chooses for a call is one of which `may` says so, by both ends of the call: where
    /// several of them have one address together, each has calls of its own.
    pub fn share_ports(&mut self, may: CallsFrom) {
        self.calls_from = Some(may);
    }

    /// Who has called and has no answer yet, by the user's handles, with our own address in the call.
    pub fn calls(&self) -> impl Iterator<Item = (Handle, SocketAddr)> {
        let calling = self.table.sessions().filter(|session| session.state == states::State::SynSent);
        calling.map(|session| (session.user, session.pair.local.into()))
    }

    /// How many callers have not completed the handshake.
    #[must_use]
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// How many callers wait for their user to say whether they are answered.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// How many connections there are, those in TIME-WAIT included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.table.sessions().count() + self.time_waits.len()
    }

    /// r.cep and s.cep of each connection with accurate feedback.
    #[cfg(test)]
    pub(crate) fn counted_marks(&self) -> Vec<(u32, u32)> {
        let sessions = self.table.sessions();
        sessions.filter_map(|it| it.ecn.counted()).collect()
    }

    /// How many segments were taken, and sent, by the short way.
    #[cfg(test)]
    pub(crate) const fn predicted(&self) -> (u64, u64) {
        self.shared.predicted
    }

    /// Octets that all connections hold: not acknowledged or not sent, ahead of their turn, or given to users that have
    /// not given credit back.
    #[must_use]
    pub const fn held(&self) -> u64 {
        self.shared.memory.used()
    }

    /// Lets `act` work on a session, then sees what has become of it; false where there is none.
    fn with(&mut self, handle: Handle, cx: &mut Context<'_>, act: impl FnOnce(&mut Session, &mut Ctx<'_, '_>)) -> bool {
        self.with_on_course(handle, cx, |session, ctx| {
            session.course = PredictedState::Any;
            act(session, ctx);
        })
    }

    /// As [`Tcp::with`] for what leaves a calm session calm, or says itself that it does not.
    #[inline]
    fn with_on_course(
        &mut self,
        handle: Handle,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Session, &mut Ctx<'_, '_>),
    ) -> bool {
        let Some(session) = self.table.session(handle) else {
            return false;
        };
        let mut ctx = Ctx { cx, shared: &mut self.shared };
        act(session, &mut ctx);
        if session.ended {
            self.forget(handle, cx);
        } else if (session.dirty || session.receive.asked) && !session.queued {
            session.queued = true;
            self.dirty.push(handle);
        }
        true
    }

    fn forget(&mut self, handle: Handle, cx: &mut Context<'_>) {
        let Entry::Session(session) = self.table.remove(handle) else {
            return;
        };
        self.demux.remove(&session.pair, handle);
        let counted = session.buffers.counted;
        self.shared.memory.count(counted, SessionMemory::default());
        if let Some(listener) = session.listener.and_then(|listener| self.table.listener(listener)) {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
        if let Some(trace) = session.trace {
            self.shared.traces.push((session.pair, *trace));
        }
        if let Some(mut record) = session.record {
            record.limits.end(cx.now());
            self.shared.records.push((session.pair, *record));
        }
        if let Some(entry) = session.time_wait {
            self.begin_time_wait(*entry, cx);
        }
    }

    fn manage(&mut self, from: Above, manage: &Manage, cx: &mut Context<'_>) {
        match manage {
            Manage::Session { session, quality } => {
                if !self.with(*session, cx, |it, ctx| it.on_quality(quality, ctx)) {
                    cx.drop("no such session");
                }
            }
            Manage::Limits => {
                let limits = Report::Limits {
                    unit: self.shared.own_mss(self.shared.unit, self.shared.config.address),
                    burst: 1,
                };
                cx.up(from, Indication::Report(Box::new(limits)));
            }
            Manage::Special(special) => {
                let refuse = special.get::<RefuseCaller>().copied();
                if !refuse.is_some_and(|it| self.refuse_pending(from, it.session, Some(it), cx)) {
                    cx.drop("no such caller");
                }
            }
            Manage::Route { .. }
            | Manage::Refuse { .. }
            | Manage::Advise { .. }
            | Manage::Group { .. }
            | Manage::Narrow { .. } => cx.drop("TCP routes nothing and joins no groups"),
        }
    }

    /// Draws what must be secret or random, once. A user that starts first may open before this node's own start.
    fn begin_clocks(&mut self, cx: &mut Context<'_>) {
        if core::mem::replace(&mut self.begun, true) {
            return;
        }
        let secret = Secret::draw(cx.rng());
        self.shared.secret = secret;
        self.demux = Demux::new(secret);
        let mut phase = |beat: Beat| {
            let random = Duration::from_nanos(cx.rng().below(beat.period.as_nanos()));
            beat.phase.unwrap_or(random)
        };
        if let AckTimer::Heartbeat(beat) = self.shared.config.ack_timer {
            self.shared.ack_phase = phase(beat);
        }
        if let Some(beat) = self.shared.config.slow_beat {
            self.shared.slow_phase = phase(beat);
        }
    }
}

impl Protocol for Tcp {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::STREAM),
            needs: &[Service::UNIT_DATA],
            below: (1, 1),
            keys: vec![Key::of(IP_PROTOCOL, kumiki_wire::inet::ipv4::protocol::TCP.into())],
        }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.begin_clocks(cx);
        cx.down(Below(0), Request::Manage(Box::new(Manage::Limits)));
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) => self.open(from, open, cx),
            Request::Accept(accept) => {
                self.accept(from, accept.session, accept.user, &accept.quality, cx);
            }
            Request::Data { session, data, end } => {
                if !self.with_on_course(session, cx, |session, ctx| session.on_data(data, end, ctx)) {
                    cx.drop("no such session");
                }
            }
            Request::Expedited { session, data } => {
                self.with(session, cx, |session, ctx| session.on_urgent(data, ctx));
            }
            Request::Credit { session, credit } => {
                self.with_on_course(session, cx, |session, _| session.on_credit(credit));
            }
            Request::Release { session, .. } => {
                if !self.with(session, cx, Session::on_release) && !self.refuse_pending(from, session, None, cx) {
                    self.unlisten(from, session, true, cx);
                }
            }
            Request::Abort { session, .. } => {
                if !self.with(session, cx, Session::on_abort) && !self.refuse_pending(from, session, None, cx) {
                    self.unlisten(from, session, false, cx);
                }
            }
            // A stream has no reset that leaves the session standing.
            Request::Reset { session, .. } => {
                self.with(session, cx, Session::on_abort);
            }
            Request::Manage(manage) => self.manage(from, &manage, cx),
            Request::Cancel { user } => self.cancel(from, user, cx),
            Request::Unit(_) => cx.drop("a stream carries no units"),
            Request::Special { .. } => cx.drop("a primitive of another service"),
        }
    }

    fn pop(&mut self, _from: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Unit(unit) => self.unit(unit, cx),
            Indication::Report(report) => self.report(&report, cx),
            Indication::Opened(_)
            | Indication::Offered(_)
            | Indication::Data { .. }
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Credit { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Aborted { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. } => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == ANSWER {
            self.open_early(cx);
        } else if token == half_open::TOKEN {
            self.callers_due(cx);
        } else if token == time_waits::TOKEN {
            self.time_waits_due(cx);
        } else if let Some(timer) = Timer::of_kind(token.kind) {
            self.with(token.session, cx, |session, ctx| session.on_timer(timer, ctx));
        }
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        let mut dirty = core::mem::take(&mut self.dirty);
        for handle in dirty.drain(..) {
            self.with_on_course(handle, cx, |session, ctx| {
                session.queued = false;
                if core::mem::take(&mut session.dirty) {
                    session.settle(ctx);
                } else {
                    session.answer(ctx);
                }
            });
        }
        if self.dirty.is_empty() {
            // Its room serves the next batch.
            self.dirty = dirty;
        }
    }
}
