//! TCP.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293; RFC 7323 (window scale, timestamps, PAWS), RFC 2018 and 2883 (SACK), RFC 6675, 6582, 3042 (loss recovery), RFC 5681, 9438, 6928 (congestion control), RFC 6298 (RTO), RFC 5961 (blind attacks), RFC 6528 (ISN), RFC 6056 (ports), RFC 896 and draft-minshall-nagle-01 (small segments) |
//! | Above | [`Service::Stream`]: open, offer and accept, data with credit, release, abort |
//! | Below | [`Service::UnitData`]: IPv4, under protocol number 6 |
//! | Left out | IPv6; urgent data (sent as ordinary data, the pointer ignored on receipt); data with a SYN (left to be sent again); ECN; RACK-TLP; PRR; F-RTO; keep-alive; advice to IP after R1 retransmissions (MUST-20, SHLD-9); SYN cookies; buffer tuning; pacing; path MTU probing (RFC 4821) |
//!
//! | read | for |
//! |---|---|
//! | [`Config`], [`defaults`] | what can be chosen, and the profiles |
//! | `states` | RFC 9293 section 3.10: what a segment does in which state |
//! | `session` | what all states share: what goes out and what the timers do |
//! | `send`, `receive` | who owns the send and the receive sequence variables, and all rules on small segments and windows |
//! | [`congestion`], [`scoreboard`], [`rtt`], [`reassembly`] | the algorithms |
//!
//! # How a user sees it
//!
//! An active open asks the layer below for its route, which gives the source address and the MSS. It is confirmed by
//! `Opened`, then `Credit` grants the send buffer; further credit comes as room does. A passive open is confirmed by
//! `Opened` too, without credit: its provider handle names the passive open, and `Abort` (or `Release`, which is
//! answered by `Closed`) ends it.
//! Each caller that has completed the handshake is `Offered`; the answer is `Accept` (credit follows) or `Abort`. Data
//! is indicated as soon as it is in order; the receive window shrinks until the user gives the credit back. `Release`
//! sends FIN after the data; `Released` is the peer's FIN; `Closed` comes when both have been exchanged, and the handle
//! is void then, although TIME-WAIT goes on. `Aborted` is the end at once; a user's own `Abort` is not answered.
//!
//! # When segments are sent
//!
//! Data goes out when the user hands it over. What acknowledgments allow, and acknowledgments themselves, are decided
//! once per batch ([`Protocol::settle`], MUST-58 and MUST-59); with batches of one that is TCP as it always was.

use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use kumiki_graph::{
    Above, Address, Below, Context, Duration, Handle, Indication, Key, Manage, Mode, Open, Opened,
    Problem, Protocol, Quality, Reason, Report, Request, Service, Shape, TimerSlot, Token, Unit,
};
use kumiki_octets::Message;
use kumiki_wire::tcp::Seq;

pub mod config;
pub mod congestion;
mod counters;
pub mod defaults;
mod demux;
mod isn;
pub mod reassembly;
mod receive;
pub mod rtt;
pub mod scoreboard;
mod segment;
mod send;
mod session;
mod states;
mod table;
#[cfg(test)]
mod tests;
mod timers;
mod trace;

pub use config::Config;
pub use counters::Counters;
pub use receive::AckReason;
pub use trace::{Entry as TraceEntry, Event, Trace};

use config::{AckTimer, Beat};
use demux::{Demux, Pair, Secret};
use segment::Segment;
use session::{Io, Session, Shared};
use states::{Listener, Verdict};
use table::{Entry, Table};
use timers::Timer;

/// How long an active open waits for the layer below to say how it would travel.
const ANSWER_TIME: Duration = Duration::from_millis(100);
/// The timer for that; no session has this kind.
const ANSWER: Token = Token {
    session: Handle {
        index: u32::MAX,
        generation: u32::MAX,
    },
    kind: u32::MAX,
};

/// TCP: see the module.
pub struct Tcp {
    shared: Shared,
    demux: Demux,
    table: Table,
    /// Sessions that something happened to in this batch.
    stirred: Vec<Handle>,
    ports_given: u16,
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
                secret: Secret::default(),
                ack_phase: Duration::ZERO,
                slow_phase: Duration::ZERO,
                traces: Vec::new(),
            },
            demux: Demux::default(),
            table: Table::default(),
            stirred: Vec::new(),
            ports_given: 0,
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
    pub fn traces(&self) -> impl Iterator<Item = (SocketAddrV4, SocketAddrV4, &Trace)> {
        let over = self.shared.traces.iter().map(|(pair, trace)| (pair, trace));
        let alive = self
            .table
            .sessions()
            .filter_map(|session| Some((&session.pair, session.trace.as_ref()?)));
        over.chain(alive)
            .map(|(pair, trace)| (pair.local, pair.remote, trace))
    }

    /// How many connections there are, those in TIME-WAIT included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.table.sessions().count()
    }

    /// Lets `act` work on a session, then sees what has become of it; false where there is none.
    fn with(
        &mut self,
        handle: Handle,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Session, &mut Io<'_, '_>),
    ) -> bool {
        let Some(session) = self.table.session(handle) else {
            return false;
        };
        let mut io = Io {
            cx,
            shared: &mut self.shared,
        };
        act(session, &mut io);
        if session.ended {
            self.forget(handle);
        } else if session.stirred && !session.listed {
            session.listed = true;
            self.stirred.push(handle);
        }
        true
    }

    fn forget(&mut self, handle: Handle) {
        let Entry::Session(session) = self.table.remove(handle) else {
            return;
        };
        self.demux.remove(&session.pair);
        if let Some(listener) = session
            .listener
            .and_then(|listener| self.table.listener(listener))
        {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
        if let Some(trace) = session.trace {
            self.shared.traces.push((session.pair, trace));
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

    // Requests.

    fn open(&mut self, above: Above, open: Box<Open>, cx: &mut Context<'_>) {
        self.begin_clocks(cx);
        let opened = match (open.mode, socket(open.remote)) {
            (Mode::Passive { backlog }, _) => self.open_passive(above, &open, backlog, cx),
            (Mode::Active, Some(remote)) if is_host(remote) => {
                // Source address and MSS hang on the route, and both go with the SYN.
                let to = Address::Ip4(*remote.ip());
                let at = cx.now() + ANSWER_TIME;
                cx.set_timer(&mut self.answer, ANSWER, at);
                self.early.push((above, open));
                cx.down(Below(0), Request::Manage(Box::new(Manage::Route { to })));
                return;
            }
            // MUST-46.
            (Mode::Active, _) => Err(Reason::BadAddress),
        };
        if let Err(reason) = opened {
            refuse(above, open.user, reason, cx);
        }
    }

    /// The layer below has said how units to `to` travel.
    fn routed(&mut self, to: Address, source: Address, unit: u32, cx: &mut Context<'_>) {
        let early = core::mem::take(&mut self.early);
        let (ready, early) = early.into_iter().partition(|(_, open)| {
            socket(open.remote).is_some_and(|remote| Address::Ip4(*remote.ip()) == to)
        });
        self.early = early;
        if self.early.is_empty() {
            cx.clear_timer(&mut self.answer);
        }
        let ready: Vec<(Above, Box<Open>)> = ready;
        for (above, open) in ready {
            let opened = match source {
                Address::Ip4(source) => self.open_active(above, &open, source, unit, cx),
                Address::None
                | Address::Ip6(_)
                | Address::Socket(_)
                | Address::Mac(_)
                | Address::Vc { .. } => Err(Reason::Unreachable),
            };
            if let Err(reason) = opened {
                refuse(above, open.user, reason, cx);
            }
        }
    }

    /// The layer below knows no routes: what is configured and what it said of its limits must do.
    fn open_early(&mut self, cx: &mut Context<'_>) {
        let (source, unit) = (self.shared.config.address, self.shared.unit);
        for (above, open) in core::mem::take(&mut self.early) {
            if let Err(reason) = self.open_active(above, &open, source, unit, cx) {
                refuse(above, open.user, reason, cx);
            }
        }
    }

    fn open_active(
        &mut self,
        above: Above,
        open: &Open,
        source: Ipv4Addr,
        unit: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Reason> {
        let remote = socket(open.remote).ok_or(Reason::BadAddress)?;
        let mut local = local_socket(open.local).ok_or(Reason::BadAddress)?;
        if local.ip().is_unspecified() {
            let configured = self.shared.config.address;
            local.set_ip(if configured.is_unspecified() {
                source
            } else {
                configured
            });
        }
        if local.ip().is_unspecified() {
            return Err(Reason::BadAddress);
        }
        if local.port() == 0 {
            local.set_port(self.choose_port(local, remote)?);
        }
        let pair = Pair { local, remote };
        if self.demux.find(&pair).is_some() {
            return Err(Reason::BadAddress);
        }
        let handle = self.begin(above, open.user, pair, &open.quality, unit, cx);
        self.with(handle, cx, Session::call);
        Ok(())
    }

    fn choose_port(&mut self, local: SocketAddrV4, remote: SocketAddrV4) -> Result<u16, Reason> {
        let secret = self.shared.secret;
        let port = isn::ports(secret, local, remote, self.ports_given)
            .find(|&port| {
                let local = SocketAddrV4::new(*local.ip(), port);
                self.demux.find(&Pair { local, remote }).is_none()
                    && self.demux.listener(local).is_none()
            })
            .ok_or(Reason::NoResources)?;
        self.ports_given = self.ports_given.wrapping_add(1);
        Ok(port)
    }

    /// Makes a session in state CLOSED.
    fn begin(
        &mut self,
        above: Above,
        user: Handle,
        pair: Pair,
        quality: &Quality,
        unit: u32,
        cx: &mut Context<'_>,
    ) -> Handle {
        let handle = self.table.reserve();
        let mut io = Io {
            cx,
            shared: &mut self.shared,
        };
        let session = Session::new((handle, above, user), pair, quality, unit, &mut io);
        self.table.fill(handle, Entry::Session(Box::new(session)));
        self.demux.insert(pair, handle);
        handle
    }

    fn open_passive(
        &mut self,
        above: Above,
        open: &Open,
        backlog: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Reason> {
        let local = local_socket(open.local).ok_or(Reason::BadAddress)?;
        let remote = socket(open.remote);
        if remote.is_none() && open.remote != Address::None {
            return Err(Reason::BadAddress);
        }
        if local.port() == 0 {
            return Err(Reason::BadAddress);
        }
        let handle = self.table.reserve();
        if !self.demux.listen(local, handle) {
            self.table.remove(handle);
            return Err(Reason::BadAddress);
        }
        let listener = Listener {
            above,
            user: open.user,
            local,
            remote,
            quality: open.quality,
            backlog,
            waiting: 0,
        };
        self.table.fill(handle, Entry::Listener(Box::new(listener)));
        let opened = Opened {
            user: open.user,
            provider: handle,
            bypass: None,
            local: Address::Socket(SocketAddr::V4(local)),
            remote: open.remote,
            unit: self.shared.own_mss(self.shared.unit),
            data: None,
        };
        cx.up(above, Indication::Opened(Box::new(opened)));
        Ok(())
    }

    fn accept(
        &mut self,
        above: Above,
        handle: Handle,
        user: Handle,
        quality: &Quality,
        cx: &mut Context<'_>,
    ) {
        let listener = self
            .table
            .session(handle)
            .filter(|session| session.above == above && !session.accepted)
            .and_then(|session| session.listener.take());
        let Some(listener) = listener else {
            refuse(above, user, Reason::NoSession, cx);
            return;
        };
        if let Some(listener) = self.table.listener(listener) {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
        self.with(handle, cx, |session, io| session.accept(user, quality, io));
    }

    /// Gives up what `user` opened, if it was not confirmed yet; otherwise ends it.
    fn cancel(&mut self, above: Above, user: Handle, cx: &mut Context<'_>) {
        self.early
            .retain(|(from, open)| (*from, open.user) != (above, user));
        let found = self
            .table
            .sessions()
            .find(|session| {
                let known = session.accepted || !session.passive;
                session.above == above && session.user == user && known && !session.is_over()
            })
            .map(|session| session.handle);
        if let Some(handle) = found {
            self.with(handle, cx, Session::on_abort);
        }
    }

    /// Ends a passive open, and refuses whoever waits there.
    fn unlisten(&mut self, above: Above, handle: Handle, confirm: bool, cx: &mut Context<'_>) {
        let Entry::Listener(listener) = self.table.remove(handle) else {
            return;
        };
        self.demux.unlisten(listener.local);
        let waiting: Vec<Handle> = self
            .table
            .sessions()
            .filter(|session| session.listener == Some(handle))
            .map(|session| session.handle)
            .collect();
        for session in waiting {
            self.with(session, cx, Session::on_abort);
        }
        if confirm {
            let session = listener.user;
            cx.up(above, Indication::Closed { session });
        }
    }

    // What arrives.

    fn unit(&mut self, unit: Unit, cx: &mut Context<'_>) {
        let (pair, segment) = match segment::receive(unit, cx) {
            Ok(received) => received,
            Err(reason) => {
                let counters = &mut self.shared.counters;
                match reason {
                    "bad checksum" => counters.bad_checksums += 1,
                    _ => counters.malformed += 1,
                }
                cx.drop(reason);
                return;
            }
        };
        self.shared.counters.segments_received += 1;
        let mut found = self.demux.find(&pair);
        if let Some(handle) = found
            && self
                .table
                .session(handle)
                .is_some_and(|session| session.may_be_replaced(&segment))
            && self.demux.listener(pair.local).is_some()
        {
            self.with(handle, cx, |session, io| session.end(None, io));
            found = None;
        }
        if let Some(handle) = found {
            self.with(handle, cx, |session, io| session.on_segment(segment, io));
        } else {
            self.uncalled(pair, &segment, cx);
        }
    }

    /// A segment for no connection: somebody may listen.
    fn uncalled(&mut self, pair: Pair, segment: &Segment, cx: &mut Context<'_>) {
        let listener = self.demux.listener(pair.local);
        let verdict = listener
            .and_then(|listener| self.table.listener(listener))
            .map_or(Verdict::Reset, |listener| listener.judge(&pair, segment));
        match (verdict, listener) {
            (Verdict::Begin, Some(at)) => {
                let Some(listener) = self.table.listener(at) else {
                    return;
                };
                listener.waiting += 1;
                let (above, user, quality) = (listener.above, listener.user, listener.quality);
                let handle = self.begin(above, user, pair, &quality, self.shared.unit, cx);
                self.with(handle, cx, |session, io| {
                    session.call_received(at, segment, io);
                });
            }
            (Verdict::Full, _) => {
                self.shared.counters.backlog_full += 1;
                cx.drop("backlog full");
            }
            (Verdict::Ignore, _) => {}
            (Verdict::Reset | Verdict::Begin, _) => {
                let options = self.shared.unit_options();
                if segment::reset(&pair, segment, options, cx) {
                    self.shared.counters.resets_sent += 1;
                }
            }
        }
    }

    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match report {
            Report::Limits { unit, .. } => self.shared.unit = *unit,
            Report::Route {
                to, source, unit, ..
            } => self.routed(*to, *source, *unit, cx),
            Report::Unreachable {
                source,
                destination,
                problem,
                start,
            } => self.unreachable(*source, *destination, *problem, start, cx),
            Report::Up | Report::Down => {}
        }
    }

    /// ICMP speaks of a segment that began with `start` (MUST-54, MUST-56).
    fn unreachable(
        &mut self,
        source: Address,
        destination: Address,
        problem: Problem,
        start: &Message,
        cx: &mut Context<'_>,
    ) {
        let (Address::Ip4(source), Address::Ip4(destination)) = (source, destination) else {
            return;
        };
        let mut quoted = [0; 8];
        if !start.copy_to(0, &mut quoted) {
            return;
        }
        let [s0, s1, d0, d1, q0, q1, q2, q3] = quoted;
        let pair = Pair {
            local: SocketAddrV4::new(source, u16::from_be_bytes([s0, s1])),
            remote: SocketAddrV4::new(destination, u16::from_be_bytes([d0, d1])),
        };
        let seq = Seq(u32::from_be_bytes([q0, q1, q2, q3]));
        let Some(handle) = self.demux.find(&pair) else {
            return;
        };
        self.with(handle, cx, |session, io| {
            // RFC 5927 section 4.1: only something under way can have met an error.
            if seq.lt(session.board.una()) || seq.geq(session.send.max) {
                return;
            }
            match problem {
                Problem::TooBig { mtu } => session.on_too_big(mtu),
                Problem::Hard { .. } => session.on_hard_error(io),
                // SHLD-25 would have the user told; MUST-56 forbids more.
                Problem::Soft { .. } => {}
            }
        });
    }
}

/// The IPv4 socket that `address` is, if it is one.
const fn socket(address: Address) -> Option<SocketAddrV4> {
    if let Address::Socket(SocketAddr::V4(socket)) = address {
        Some(socket)
    } else {
        None
    }
}

/// Whether somebody can be called there.
const fn is_host(remote: SocketAddrV4) -> bool {
    let ip = *remote.ip();
    remote.port() != 0 && !ip.is_unspecified() && !ip.is_broadcast() && !ip.is_multicast()
}

/// Answers an open or an accept in the negative.
fn refuse(above: Above, session: Handle, reason: Reason, cx: &mut Context<'_>) {
    cx.up(
        above,
        Indication::Aborted {
            session,
            reason,
            data: None,
        },
    );
}

/// As [`socket`], for local addresses, which may be left open in parts.
fn local_socket(address: Address) -> Option<SocketAddrV4> {
    match address {
        Address::None => Some(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)),
        Address::Ip4(ip) => Some(SocketAddrV4::new(ip, 0)),
        Address::Socket(SocketAddr::V6(socket)) if socket.ip().is_unspecified() => {
            Some(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, socket.port()))
        }
        Address::Socket(_) => socket(address).filter(|socket| !socket.ip().is_broadcast()),
        Address::Ip6(_) | Address::Mac(_) | Address::Vc { .. } => None,
    }
}

impl Protocol for Tcp {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::Stream),
            needs: &[Service::UnitData],
            below: (1, 1),
            keys: vec![Key::IpProtocol(kumiki_wire::ipv4::protocol::TCP)],
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
                if !self.with(session, cx, |session, io| session.on_data(data, end, io)) {
                    cx.drop("no such session");
                }
            }
            // Urgent data is left out: it goes in its turn.
            Request::Expedited { session, data } => {
                self.with(session, cx, |session, io| session.on_data(data, true, io));
            }
            Request::Credit { session, credit } => {
                self.with(session, cx, |session, _| session.on_credit(credit));
            }
            Request::Release { session, .. } => {
                if !self.with(session, cx, Session::on_release) {
                    self.unlisten(from, session, true, cx);
                }
            }
            Request::Abort { session, .. } => {
                if !self.with(session, cx, Session::on_abort) {
                    self.unlisten(from, session, false, cx);
                }
            }
            // A stream has no reset that leaves the session standing.
            Request::Reset { session, .. } => {
                self.with(session, cx, Session::on_abort);
            }
            Request::Manage(_) => {
                let limits = Report::Limits {
                    unit: self.shared.own_mss(self.shared.unit),
                    burst: 1,
                };
                cx.up(from, Indication::Report(Box::new(limits)));
            }
            Request::Cancel { user } => self.cancel(from, user, cx),
            Request::Unit(_) => cx.drop("a stream carries no units"),
        }
    }

    fn pop(&mut self, _from: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Unit(unit) => self.unit(unit, cx),
            Indication::Report(report) => self.report(&report, cx),
            Indication::Opened(_)
            | Indication::Offered(_)
            | Indication::Data { .. }
            | Indication::Expedited { .. }
            | Indication::Credit { .. }
            | Indication::Released { .. }
            | Indication::Closed { .. }
            | Indication::Aborted { .. }
            | Indication::Reset { .. } => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == ANSWER {
            self.open_early(cx);
        } else if let Some(timer) = Timer::of_kind(token.kind) {
            self.with(token.session, cx, |session, io| session.on_timer(timer, io));
        }
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        let mut stirred = core::mem::take(&mut self.stirred);
        for handle in stirred.drain(..) {
            self.with(handle, cx, |session, io| {
                (session.stirred, session.listed) = (false, false);
                session.settle(io);
            });
        }
        if self.stirred.is_empty() {
            // Its room serves the next batch.
            self.stirred = stirred;
        }
    }
}
