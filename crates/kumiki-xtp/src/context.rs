//! One context: what all of its parts share. What arrives is in [`super::arrivals`], what leaves in [`super::output`],
//! how it ends in [`super::close`].

use crate::Tagged;
use core::net::SocketAddr;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::IpQuality;

use kumiki_graph::memory::{FLOOR, Memory, Pressure, SessionMemory};
use kumiki_graph::{
    Above, Address, Context, Credit, Duration, ErrorControl, FlowControl, Handle, Indication, Instant, KeepAlive,
    Notice, Opened, Quality, RateLimit, Reason,
};
use kumiki_wire::xtp::{Key, Options, Rates, Traffic, service};

use super::brake::Brake;
use super::config::{Config, Recovery};
use super::congestion::{self, Controller};
use super::control::{Answering, SyncRequests};
use super::counters::Counters;
use super::diagnosis::Limiter;
use super::group::Part;
use super::packet::Path;
use super::rate::{Credit as RateCredit, Pacer};
use super::receive::{Receive, ReceivedData};
use super::rtt::Estimator;
use super::send::{Send, Writer};
use super::strangers::Allowance;
use super::table::key_of;
use super::timers::{Timer, Timers};

/// Octets of a header.
pub(crate) const HEADER: u32 = 32;
/// What a context takes beside its [`Endpoint`], about: its places in tables and timers, the lists of its buffers,
/// congestion control, and what a program keeps of it.
const BESIDE: usize = 1024;
/// A packet that nobody has said the size of.
const DEFAULT_UNIT: u32 = 576 - 20;

/// What all contexts of one XTP share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) counters: Counters,
    /// The largest packet that the layer below carries, in octets; 0: not known yet.
    pub(crate) unit: u32,
    pub(crate) diagnoses: Limiter,
    pub(crate) memory: Memory,
}

impl Shared {
    pub(crate) const fn unit_options(&self) -> IpParameters {
        IpParameters { ttl: self.config.ttl, tos: self.config.tos & 0xfc, ..IpParameters::NONE }
    }

    /// The most octets of tag and data in packets that the layer below carries, which may be `unit` octets long.
    pub(crate) fn maxdata(&self, unit: u32) -> u32 {
        let unit = match (unit, self.unit) {
            (0, 0) => DEFAULT_UNIT,
            (0, unit) | (unit, _) => unit,
        };
        let most = self.config.maxdata.unwrap_or(u32::MAX);
        unit.saturating_sub(HEADER).min(most).max(MIN_DATA)
    }
}

/// The least room in a packet: the segments of a call over IPv6, a tag, and an octet.
const MIN_DATA: u32 = 128;

/// What a context can reach while it handles one input.
pub(crate) struct Ctx<'a, 'c> {
    pub(crate) cx: &'a mut Context<'c>,
    pub(crate) shared: &'a mut Shared,
}

impl Ctx<'_, '_> {
    pub(crate) const fn now(&self) -> Instant {
        self.cx.now()
    }
}

/// How a context was asked to work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modes {
    pub(crate) check: bool,
    pub(crate) errors: ErrorControl,
    pub(crate) flow: FlowControl,
    pub(crate) priority: Option<u16>,
    pub(crate) rate: Option<RateLimit>,
    /// CTIMER and CTIMEOUT; zero: never.
    pub(crate) ctimer: Duration,
    pub(crate) ctimeout: Duration,
    pub(crate) notices: bool,
    /// The user wants to see tags.
    pub(crate) tags: bool,
}

impl Modes {
    fn of(config: &Config, quality: &Quality) -> Self {
        let rate = RateLimit { octets_per_second: config.rate, burst: config.burst };
        let mut modes = Self {
            check: config.check,
            errors: config.error_control,
            flow: config.flow_control,
            priority: config.priority,
            rate: (config.rate > 0).then_some(rate),
            ctimer: config.ctimer,
            ctimeout: config.ctimeout,
            notices: true,
            tags: false,
        };
        modes.change(quality);
        modes
    }

    fn change(&mut self, quality: &Quality) {
        self.check = quality.check.unwrap_or(self.check);
        self.errors = quality.error_control.unwrap_or(self.errors);
        self.flow = quality.flow_control.unwrap_or(self.flow);
        self.priority = quality.priority.or(self.priority);
        self.rate = quality.rate.or(self.rate);
        self.ctimeout = quality.user_timeout.unwrap_or(self.ctimeout);
        self.notices = quality.notices.unwrap_or(self.notices);
        if let Some(KeepAlive { idle, .. }) = quality.keep_alive {
            self.ctimer = idle;
        }
    }

    /// The options that all packets of the context carry.
    pub(crate) fn options(&self) -> Options {
        Options::NONE
            .with_if(!self.check, Options::NOCHECK)
            .with_if(self.errors == ErrorControl::None, Options::NOERR)
            .with_if(self.errors == ErrorControl::Fast, Options::FASTNAK)
            .with_if(self.flow == FlowControl::Reservation, Options::RES)
            .with_if(self.flow == FlowControl::None, Options::NOFLOW)
            .with_if(self.priority.is_some(), Options::SORT)
    }
}

/// How the exchange of keys stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exchange {
    /// We called, and nothing has come back: FIRST is repeated.
    Calling,
    /// We called, something has come back, but not the peer's key: what we send carries our own.
    Heard,
    /// We were called, and the caller does not show that it knows our key: answers tell it.
    Telling,
    /// Both ends know both keys, or need not.
    Done,
}

/// One end of an association.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) handle: Handle,
    /// The user, and its handle for this context; before anybody has accepted it, of the passive open.
    pub(crate) above: Above,
    pub(crate) user: Handle,
    /// The passive open in whose backlog this context has a place.
    pub(crate) listener: Option<Handle>,
    /// The user knows the context by `user`.
    pub(crate) accepted: bool,
    /// We were called.
    pub(crate) passive: bool,
    /// One of two ends, or the transmitter or a receiver of a group.
    pub(crate) part: Part,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Where the peer's packets come from, as the layer below says it; once that is known.
    pub(crate) via: Option<Address>,
    /// The peer's key, once it is known.
    pub(crate) peer: Option<Key>,
    /// Packets that carry it are looked up by it.
    pub(crate) named: bool,
    pub(crate) exchange: Exchange,
    /// What may go to a caller that does not show that it knows our key.
    pub(crate) allowance: Allowance,
    /// We called and have been told the peer's key when this was the last question; and have heard nothing that shows
    /// that the peer knows so.
    pub(crate) unshown: Option<u32>,
    pub(crate) path: Path,
    /// The answer about the route is awaited.
    pub(crate) unrouted: bool,
    /// The most octets of tag and data in a packet of ours, by the path and by the peer.
    pub(crate) room: u32,
    pub(crate) peer_maxdata: u32,
    pub(crate) modes: Modes,
    pub(crate) recovery: Recovery,
    /// What the peer said of how it sends.
    pub(crate) theirs: Options,
    pub(crate) send: Send,
    /// Octets of data that FIRST carries.
    pub(crate) first_octets: u32,
    pub(crate) receive: Receive,
    pub(crate) asking: SyncRequests,
    pub(crate) answering: Answering,
    pub(crate) rtt: Estimator,
    pub(crate) controller: Box<dyn Controller>,
    pub(crate) brake: Brake,
    /// Octets that have become known as received and as lost since the last answer to a question.
    pub(crate) news: (u64, u64),
    pub(crate) credit: RateCredit,
    pub(crate) pacer: Pacer,
    /// inrate and inburst of the peer.
    pub(crate) peer_limit: Option<RateLimit>,
    /// The congestion window or a rate held something back since the last status.
    pub(crate) window_limited: bool,
    pub(crate) timers: Timers,
    /// When the peer was heard of last.
    pub(crate) heard_at: Instant,
    /// Since when the peer has allowed nothing although there is something to send.
    pub(crate) stalled: Option<Instant>,
    pub(crate) probes: u32,
    /// When something that was sent was last heard to have come, or nothing was out; and how many questions were
    /// answered since.
    pub(crate) fresh_at: Instant,
    pub(crate) in_vain: u32,
    /// How often since then all that was out was found to be lost, and before when it is not retransmitted (P24).
    pub(crate) lost_in_vain: u32,
    pub(crate) not_before: Option<Instant>,
    /// The user was told that there is no answer.
    pub(crate) silent: bool,
    /// WCLOSE has left.
    pub(crate) wclose_told: bool,
    /// The peer's stream is complete.
    pub(crate) read_closed: bool,
    /// The user was told so.
    pub(crate) released: bool,
    /// A traffic segment is to be told.
    pub(crate) tell_traffic: bool,
    /// It is over; whoever holds it should let go of it.
    pub(crate) ended: bool,
    /// What the last packet said, where something is left of it.
    pub(crate) closing: Options,
    /// Something happened that the end of the batch should look at.
    pub(crate) dirty: bool,
    /// It is in the list of those to settle.
    pub(crate) listed: bool,
    /// It is in the emission queue.
    pub(crate) queued: bool,
    /// What of it is in the sum of all contexts.
    pub(crate) counted: SessionMemory,
}

/// How a context begins.
pub(crate) struct ContextParameters<'a> {
    pub(crate) handle: Handle,
    pub(crate) above: Above,
    pub(crate) user: Handle,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) quality: &'a Quality,
    /// What the layer below carries; 0: not known.
    pub(crate) unit: u32,
    pub(crate) passive: bool,
    /// Of a context that was called: what the caller said of how it sends.
    pub(crate) theirs: Options,
}

/// What of a receive buffer is there at first: under RES only what the user has said.
pub(crate) fn first_room(config: &Config, quality: &Quality, reserved: bool) -> u32 {
    let default = if reserved { 0 } else { config.receive_buffer };
    quality.receive_buffer.unwrap_or(default)
}

impl Endpoint {
    pub(crate) fn new(begin: &ContextParameters<'_>, ctx: &mut Ctx<'_, '_>) -> Self {
        let config = &ctx.shared.config;
        let now = ctx.cx.now();
        let quality = begin.quality;
        let modes = Modes::of(config, quality);
        let room = ctx.shared.maxdata(begin.unit);
        let reserved = modes.flow == FlowControl::Reservation || begin.theirs.contains(Options::RES);
        let noerr = begin.theirs.contains(Options::NOERR);
        let send_buffer = quality.send_buffer.unwrap_or(config.send_buffer);
        let first_alloc = if modes.flow == FlowControl::Reservation { 0 } else { config.first_alloc };
        let for_good = modes.errors == ErrorControl::None;
        let receive_room = first_room(config, quality, reserved);
        let mut options = ctx.shared.unit_options();
        let asked = IpQuality::from(quality.special);
        options.ttl = asked.ttl.unwrap_or(options.ttl);
        options.tos = asked.tos.unwrap_or(options.tos) & 0xfc;
        let mut endpoint = Self {
            handle: begin.handle,
            above: begin.above,
            user: begin.user,
            listener: None,
            accepted: !begin.passive,
            passive: begin.passive,
            part: Part::Pair,
            local: begin.local,
            remote: begin.remote,
            via: None,
            peer: None,
            named: false,
            exchange: if begin.passive { Exchange::Telling } else { Exchange::Calling },
            allowance: Allowance::new(config.amplification),
            unshown: None,
            path: Path { local: begin.local.ip(), remote: begin.remote.ip(), bypass: None, options },
            unrouted: begin.passive,
            room,
            peer_maxdata: u32::MAX,
            modes,
            recovery: config.recovery,
            theirs: begin.theirs,
            send: Send::new(send_buffer, first_alloc.into(), for_good),
            first_octets: 0,
            receive: Receive::new(receive_room.into(), noerr),
            asking: SyncRequests::default(),
            answering: Answering::default(),
            rtt: Estimator::new(&config.rtt),
            controller: congestion::controller(config.congestion, room),
            brake: Brake::default(),
            news: (0, 0),
            credit: RateCredit::default(),
            pacer: Pacer::new(now),
            peer_limit: None,
            window_limited: false,
            timers: Timers::new(begin.handle),
            heard_at: now,
            stalled: None,
            probes: 0,
            fresh_at: now,
            in_vain: 0,
            lost_in_vain: 0,
            not_before: None,
            silent: false,
            wclose_told: false,
            read_closed: false,
            released: false,
            tell_traffic: false,
            ended: false,
            closing: Options::NONE,
            dirty: true,
            listed: false,
            queued: false,
            counted: SessionMemory::default(),
        };
        endpoint.limit();
        endpoint
    }

    /// The name under which packets with the peer's own key are looked up.
    pub(crate) fn name(&self) -> Option<(Address, Key)> {
        self.named.then_some((self.via?, self.peer?))
    }

    /// The key that packets to the peer carry (P5).
    pub(crate) fn key(&self) -> Key {
        let own = key_of(self.handle);
        self.peer.map_or(own, Key::returned)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended
    }

    /// Nothing is retransmitted.
    pub(crate) fn is_noerr(&self) -> bool {
        self.modes.errors == ErrorControl::None
    }

    /// The slower of our own limit and the peer's (P29).
    pub(crate) fn limit(&mut self) {
        let slower = match (self.modes.rate, self.peer_limit) {
            (Some(own), Some(peer)) if peer.octets_per_second < own.octets_per_second => Some(peer),
            (Some(own), _) => Some(own),
            (None, peer) => peer,
        };
        self.credit.limit(slower);
    }

    /// The traffic segment that we tell (P9).
    pub(crate) fn traffic(&self, shared: &Shared) -> Traffic {
        let config = &shared.config;
        let service = match (self.part.is_pair(), self.is_noerr()) {
            (true, false) => service::RELIABLE_STREAM,
            (true, true) => service::UNACKNOWLEDGED_DATAGRAM,
            (false, false) => service::RELIABLE_MULTICAST,
            (false, true) => service::UNACKNOWLEDGED_MULTICAST,
        };
        let out = self.modes.rate;
        Traffic {
            service,
            rates: Some(Rates {
                maxdata: shared.maxdata(0),
                inrate: config.in_rate,
                inburst: config.in_burst,
                outrate: out.map_or(0, |it| it.octets_per_second),
                outburst: out.map_or(0, |it| it.burst),
            }),
        }
    }

    /// The peer tells its traffic values.
    pub(crate) fn hear_traffic(&mut self, traffic: &Traffic) {
        let Some(rates) = traffic.rates else {
            return;
        };
        if rates.maxdata > 0 {
            self.peer_maxdata = rates.maxdata.max(MIN_DATA);
            self.tell_packet();
        }
        self.peer_limit = (rates.inrate > 0).then_some(RateLimit {
            octets_per_second: rates.inrate,
            burst: if rates.inburst > 0 {
                rates.inburst
            } else {
                // A rate without a burst: a packet at a time.
                self.room
            },
        });
        self.limit();
    }

    /// Room for tag and data in the next packet.
    pub(crate) fn packet_room(&self) -> u32 {
        self.room.min(self.peer_maxdata).min(self.credit.most())
    }

    /// The layer below has said how units to the peer travel.
    pub(crate) fn routed(&mut self, unit: u32, bypass: Option<kumiki_graph::AccessPoint>, shared: &Shared) {
        self.unrouted = false;
        self.path.bypass = bypass;
        self.room = shared.maxdata(unit);
        self.tell_packet();
    }

    /// Congestion control reckons in the packets that are sent, by the path and by the peer.
    fn tell_packet(&mut self) {
        let packet = self.room.min(self.peer_maxdata);
        self.controller.on_packet(packet);
    }

    // What goes up.

    pub(crate) fn up(&self, indication: Indication, ctx: &mut Ctx<'_, '_>) {
        ctx.cx.up(self.above, indication);
    }

    /// Confirms the user's open: there is no handshake before data.
    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.opened += 1;
        let opened = Opened {
            user: self.user,
            provider: self.handle,
            local: Address::from(self.local),
            remote: Address::from(self.remote),
            unit: self.room,
            data: None,
            ..Opened::default()
        };
        self.up(Indication::Opened(Box::new(opened)), ctx);
        self.announce(ctx);
    }

    /// Tells the user of room in the send buffer.
    pub(crate) fn announce(&mut self, ctx: &mut Ctx<'_, '_>) {
        if !self.accepted || self.ended || self.send.writer != Writer::Open {
            return;
        }
        let most = match ctx.shared.memory.pressure(ctx.shared.config.memory) {
            Pressure::Full => FLOOR,
            Pressure::None | Pressure::Some => u32::MAX,
        };
        if let Some(credit) = self.send.credit(ctx.shared.config.low_water, most) {
            let session = self.user;
            self.up(Indication::Credit { session, credit }, ctx);
        }
    }

    pub(crate) fn notice(&self, notice: Notice, ctx: &mut Ctx<'_, '_>) {
        if self.accepted && self.modes.notices {
            let session = self.user;
            self.up(Indication::Notice { session, notice }, ctx);
        }
    }

    /// Hands over what is in order, or keeps it for whoever accepts.
    pub(crate) fn deliver(&mut self, piece: ReceivedData, ctx: &mut Ctx<'_, '_>) {
        if !self.accepted || self.part.is_joining() {
            self.receive.keep(piece);
            return;
        }
        let session = self.user;
        let ReceivedData { text: data, tag, end } = piece;
        self.receive.user += data.len() as u64;
        let indication = match tag.filter(|_| self.modes.tags) {
            Some(tag) => Indication::special(session, Tagged { tag, data, end }),
            None => Indication::Data { session, data, end },
        };
        self.up(indication, ctx);
    }

    // What comes down.

    /// A write of the user's.
    pub(crate) fn on_data(
        &mut self,
        mut data: kumiki_octets::Message,
        tag: Option<super::send::Tag>,
        end: bool,
        ctx: &mut Ctx<'_, '_>,
    ) {
        if self.send.writer != Writer::Open || !self.accepted {
            ctx.cx.drop("the user sends no more");
            return;
        }
        let beyond = self.send.beyond_credit(data.len());
        if beyond > 0 {
            let keep = data.len().saturating_sub(usize::try_from(beyond).unwrap_or(usize::MAX));
            data.truncate(keep);
            ctx.cx.drop("data beyond credit");
        }
        self.dirty = true;
        if !self.send.queue(data, tag, end) {
            ctx.cx.drop("a message without octets");
        }
    }

    /// The user has taken data, and has room for as much again (P6).
    pub(crate) fn on_credit(&mut self, credit: Credit) {
        let taken = credit.octets.min(self.receive.user);
        self.receive.user -= taken;
        let reserved = self.is_reserved();
        let room = if reserved { credit.octets } else { taken };
        self.receive.room = self.receive.room.saturating_add(room);
        self.answer_if_taken();
    }

    /// `alloc` counts only what the user has granted.
    pub(crate) fn is_reserved(&self) -> bool {
        self.modes.flow == FlowControl::Reservation || self.theirs.contains(Options::RES)
    }

    /// The user changes what it asked for.
    pub(crate) fn on_quality(&mut self, quality: &Quality, ctx: &mut Ctx<'_, '_>) {
        let errors = self.modes.errors;
        self.modes.change(quality);
        if (errors == ErrorControl::None) != (self.modes.errors == ErrorControl::None) {
            // What has been let go of cannot be retransmitted, and what is kept has been promised.
            self.modes.errors = errors;
        }
        if let Some(size) = quality.send_buffer {
            self.send.buffer = size;
        }
        if let Some(size) = quality.receive_buffer {
            let now = self.receive.room.saturating_add(self.receive.user);
            self.receive.room += u64::from(size).saturating_sub(now);
        }
        let asked = IpQuality::from(quality.special);
        if let Some(ttl) = asked.ttl {
            self.path.options.ttl = ttl;
        }
        if let Some(tos) = asked.tos {
            self.path.options.tos = tos & 0xfc;
        }
        if quality.rate.is_some() {
            self.limit();
            self.tell_traffic = true;
            self.answering.due = true;
        }
        self.arm_alive(ctx);
        self.dirty = true;
    }

    /// Ends at once; the user is told `reason`, if it is given.
    pub(crate) fn end(&mut self, reason: Option<Reason>, ctx: &mut Ctx<'_, '_>) {
        if self.ended {
            return;
        }
        if let Some(reason) = reason {
            ctx.shared.counters.aborted += 1;
            if self.accepted {
                let (session, data) = (self.user, None);
                let aborted = Indication::Aborted { session, reason, data };
                self.up(aborted, ctx);
            }
        }
        self.ended = true;
        self.timers.end(ctx.cx);
        self.send.clear();
        self.receive.clear();
    }

    /// What it holds is counted.
    fn count(&mut self, ctx: &mut Ctx<'_, '_>) {
        if ctx.shared.memory.pressure(ctx.shared.config.memory) == Pressure::Full {
            self.send.fit();
        }
        let narrow = |octets: u64| u32::try_from(octets).unwrap_or(u32::MAX);
        let (waiting, ahead) = self.receive.memory();
        let held = SessionMemory {
            used: narrow(self.send.memory() + self.receive.user + waiting),
            ahead: narrow(ahead),
            standing: narrow((size_of::<Self>() + BESIDE) as u64),
        };
        ctx.shared.memory.count(self.counted, held);
        self.counted = held;
    }

    /// Whether data from `seq` on cannot be kept (P36): the user has not taken what came before or writes what nobody
    /// takes, and memory is spent; or it is ahead of its turn.
    pub(crate) fn is_out_of_memory(&self, seq: u64, noerr: bool, ctx: &Ctx<'_, '_>) -> bool {
        let (memory, most) = (&ctx.shared.memory, ctx.shared.config.memory);
        let waits = self.receive.user + self.receive.waiting_octets() > 0 || self.send.held() > FLOOR.into();
        waits && memory.is_spent(most) || seq > self.receive.rseq && !noerr && memory.is_full_ahead(most)
    }

    /// The batch is over: send, tell what is owed, announce room.
    pub(crate) fn settle(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.ended {
            return;
        }
        if self.answering.due && self.accepted {
            self.answer(ctx);
        }
        if self.asking.is_withheld() && self.accepted {
            self.ask_withheld(ctx);
        }
        self.tell_close(ctx);
        self.finish_if_done(ctx);
        if self.ended {
            return;
        }
        self.see_to_it(ctx);
        self.count(ctx);
        self.announce(ctx);
    }

    /// CTIMER runs while the context stands.
    pub(crate) fn arm_alive(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.modes.ctimer.is_zero() {
            self.timers.clear(Timer::Alive, ctx.cx);
        } else if !self.timers.is_set(Timer::Alive) {
            let at = self.heard_at.max(ctx.now()) + self.modes.ctimer;
            self.timers.set(Timer::Alive, at, ctx.cx);
        }
    }
}
