//! The program on each host: it does what its [`End`] says, and looks at everything that it gets.
//!
//! | | |
//! |---|---|
//! | Above | nothing |
//! | Below | TCP or XTP, and a device by which the run tells it to give up |
//! | Left out | costs: a run has no prices |

use core::net::SocketAddr;
use core::sync::atomic::Ordering;
use kumiki_graph::Parameters;
use kumiki_wire::inet::SourceRoute;
use kumiki_xtp::Tagged;
use kumiki_xtp::WithTags;
use std::sync::Arc;

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, Handle, Indication, Instant, Mode, MustWait, Open, Pool, Protocol,
    Reason, Request, Service, Shape, TimerSlot, Token,
};
use kumiki_inet::tcp::config::Rounding;
use kumiki_octets::{Message, Pattern};

use super::case::{AbortTime, End, Finish, Opening, Reading};
use super::path::gateway;

mod facts;
mod heard;
mod report;

pub(super) use facts::Facts;
pub(super) use heard::Expected;
use heard::ReceivedStream;
pub use report::{ConnectionEnd, Report};

const STACK: Below = Below(0);
const SESSION: Handle = Handle { index: 0, generation: 0 };
const LISTEN: Handle = Handle { index: 1, generation: 0 };

/// Why the program is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wake {
    Begin,
    Accept,
    Write,
    Read,
    Finish,
    Abort,
}

impl Wake {
    const ALL: [Self; 6] = [Self::Begin, Self::Accept, Self::Write, Self::Read, Self::Finish, Self::Abort];

    fn token(self) -> Token {
        let kind = Self::ALL.iter().position(|wake| *wake == self);
        Token { session: SESSION, kind: kind.and_then(|kind| u32::try_from(kind).ok()).unwrap_or(0) }
    }

    fn of(token: Token) -> Option<Self> {
        Self::ALL.into_iter().find(|wake| wake.token() == token)
    }
}

/// The program; see the module.
pub(super) struct User {
    plan: End,
    pattern: Pattern,
    own: SocketAddr,
    peer: SocketAddr,
    facts: Arc<Facts>,
    slots: [TimerSlot; 6],
    session: Option<Handle>,
    listener: Option<Handle>,
    offered: Option<Handle>,
    offers: u32,
    credit: u64,
    /// What is left of the present write, whether it has begun, and how many writes there were.
    left: u64,
    within: bool,
    writes: u32,
    paused: bool,
    waits_for_page: bool,
    must_finish: bool,
    released: bool,
    heard: ReceivedStream,
    /// What came with a call that is not accepted yet.
    with_call: Option<Message>,
    /// Received and not given back.
    unpaid: u64,
    read_pause_over: bool,
    peer_released: bool,
    over: Option<ConnectionEnd>,
    over_at: Instant,
    give_up: bool,
    /// The first thing that was not as it should be.
    pub(super) complaint: Option<(Instant, String)>,
}

impl User {
    pub(super) fn new(
        plan: End,
        pattern: Pattern,
        expected: Expected,
        [own, peer]: [SocketAddr; 2],
        facts: Arc<Facts>,
    ) -> Self {
        Self {
            plan,
            pattern,
            own,
            peer,
            facts,
            slots: [TimerSlot::default(); 6],
            session: None,
            listener: None,
            offered: None,
            offers: 0,
            credit: 0,
            left: 0,
            within: false,
            writes: 0,
            paused: false,
            waits_for_page: false,
            must_finish: false,
            released: false,
            heard: ReceivedStream::new(expected),
            with_call: None,
            unpaid: 0,
            read_pause_over: false,
            peer_released: false,
            over: None,
            over_at: Instant::ZERO,
            give_up: false,
            complaint: None,
        }
    }

    pub(super) fn report(&self) -> Report {
        Report {
            over: self.over.clone(),
            over_at: self.over_at,
            written: self.facts.handed(),
            received: self.heard.octets,
            peer_released: self.peer_released,
            released: self.released,
            opened: self.facts.opened(),
            crc: self.heard.crc(),
        }
    }

    /// Whether it still listens.
    pub(super) const fn has_listener(&self) -> bool {
        self.listener.is_some()
    }

    /// Lets the next input from the control device end everything.
    pub(super) const fn tell_to_give_up(&mut self) {
        self.give_up = true;
    }

    fn complain(&mut self, now: Instant, what: String) {
        self.complaint.get_or_insert((now, what));
    }

    fn wake(&mut self, why: Wake, at: Instant, cx: &mut Context<'_>) {
        let number = usize::try_from(why.token().kind).unwrap_or(0);
        if let Some(slot) = self.slots.get_mut(number) {
            cx.set_timer(slot, why.token(), at);
        }
    }

    fn ask(&self, request: Request, cx: &mut Context<'_>) {
        self.facts.said_at(cx.now());
        cx.down(STACK, request);
    }

    fn end(&mut self, how: ConnectionEnd, cx: &mut Context<'_>) {
        if self.over.is_some() {
            return;
        }
        self.over = Some(how);
        self.over_at = cx.now();
        self.facts.over.store(true, Ordering::Relaxed);
        for slot in &mut self.slots {
            cx.clear_timer(slot);
        }
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        let (user, mode, remote) = match self.plan.opening {
            Opening::Calls { .. } => (SESSION, Mode::Active, Address::from(self.peer)),
            Opening::Listens { .. } => (LISTEN, Mode::Passive { backlog: 4 }, Address::NONE),
        };
        let open = Open {
            user,
            mode,
            local: Address::from(self.own),
            remote,
            quality: if mode == Mode::Active { self.plan.quality } else { kumiki_graph::Quality::default() },
            // TCP alone is called by a gateway.
            parameters: if self.plan.by_gateway {
                Parameters::of(SourceRoute { gateways: vec![gateway::ADDRESS], strict: false })
            } else {
                Parameters::of(WithTags)
            },
            ..Open::default()
        };
        self.ask(Request::Open(Box::new(open)), cx);
    }

    fn close_listener(&mut self, cx: &mut Context<'_>) {
        if let Some(session) = self.listener.take() {
            let (reason, data) = (Reason::User, None);
            self.ask(Request::Abort { session, reason, data }, cx);
        }
    }

    /// Ends at once, however far it has come.
    fn abort(&mut self, how: ConnectionEnd, cx: &mut Context<'_>) {
        if self.over.is_some() {
            return;
        }
        if let Some(session) = self.session.or(self.offered) {
            let (reason, data) = (Reason::User, None);
            self.ask(Request::Abort { session, reason, data }, cx);
        } else if matches!(self.plan.opening, Opening::Calls { .. }) {
            self.ask(Request::Cancel { user: SESSION }, cx);
        }
        self.close_listener(cx);
        self.end(how, cx);
    }

    fn taken(&mut self, session: Handle, cx: &mut Context<'_>) {
        self.session = Some(session);
        self.facts.opened.store(true, Ordering::Relaxed);
        self.look(cx);
    }

    /// Does all that is due now that something has changed.
    fn look(&mut self, cx: &mut Context<'_>) {
        self.write(cx);
        let abort = match self.plan.abort {
            Some(AbortTime::Written(n)) => self.facts.handed() >= n,
            Some(AbortTime::Received(n)) => self.heard.octets >= n,
            Some(AbortTime::Time(_)) | None => false,
        };
        if abort && self.session.is_some() {
            self.abort(ConnectionEnd::Own, cx);
        }
        self.finish(cx);
    }

    fn finish(&mut self, cx: &mut Context<'_>) {
        let (Some(session), None, false) = (self.session, self.over.clone(), self.released) else {
            return;
        };
        let written = self.facts.handed() >= self.plan.writing.total;
        let ready = match self.plan.finish {
            Finish::Written | Finish::At(_) => written,
            Finish::AfterPeer => written && self.peer_released,
            Finish::Later(delay) => {
                if written && !self.must_finish && !self.has_timer(Wake::Finish) {
                    self.wake(Wake::Finish, cx.now() + delay, cx);
                }
                false
            }
        };
        if ready || self.must_finish {
            self.released = true;
            self.facts.releasing.store(true, Ordering::Relaxed);
            self.ask(Request::Release { session, data: None }, cx);
        }
    }

    fn has_timer(&self, why: Wake) -> bool {
        let number = usize::try_from(why.token().kind).unwrap_or(0);
        self.slots.get(number).is_some_and(|slot| slot.deadline().is_some())
    }

    fn write(&mut self, cx: &mut Context<'_>) {
        while let (Some(session), None) = (self.session, self.over.clone()) {
            let written = self.facts.handed();
            let total = self.plan.writing.total;
            if written >= total
                || self.credit == 0
                || self.released
                || self.must_finish
                || self.paused
                || self.waits_for_page
            {
                return;
            }
            if self.left == 0 {
                if self.pauses(cx) {
                    return;
                }
                let (least, most) = self.plan.writing.piece;
                self.left = least + cx.rng().below(most.saturating_sub(least) + 1);
                self.writes = self.writes.saturating_add(1);
            }
            let cluster = cx.ledger(Pool::Send).map_or(u64::MAX, |ledger| ledger.cluster_octets());
            let octets = self.left.min(self.credit).min(total - written).min(cluster).max(1);
            let lease = match cx.lease(Pool::Send, Wake::Write.token()) {
                Ok(lease) => lease,
                Err(MustWait) => {
                    self.waits_for_page = true;
                    return;
                }
            };
            let mut data = self.content(written, octets);
            data.set_lease(lease.as_ref());
            self.left -= octets.min(self.left);
            self.credit -= octets;
            self.facts.handed.store(written + octets, Ordering::Relaxed);
            let over = self.left == 0 || written + octets == total;
            self.hand_over(session, data, over, written, cx);
            self.within = !over;
        }
    }

    /// Hands over octets of a write from position `at` on; `over`: the last of it.
    fn hand_over(&mut self, session: Handle, data: Message, over: bool, at: u64, cx: &mut Context<'_>) {
        let writing = &self.plan.writing;
        let one_in = |every: Option<u32>| every.is_some_and(|it| self.writes.is_multiple_of(it));
        if one_in(writing.urgent) {
            self.ask(Request::Expedited { session, data }, cx);
            return;
        }
        let end = over && writing.messages;
        let tagged = !self.within && one_in(writing.tagged);
        let to = at + data.len() as u64;
        self.facts.mark((at, tagged), (to, end));
        if tagged {
            let tag = at.to_be_bytes();
            self.ask(Request::special(session, Tagged { tag, data, end }), cx);
        } else {
            self.ask(Request::Data { session, data, end }, cx);
        }
    }

    /// Whether it is time for a pause between two writes.
    fn pauses(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((every, time)) = self.plan.writing.pause else {
            return false;
        };
        if self.writes < every {
            return false;
        }
        self.writes = 0;
        self.paused = true;
        self.wake(Wake::Write, cx.now() + time, cx);
        true
    }

    fn content(&self, offset: u64, octets: u64) -> Message {
        let len = usize::try_from(octets).unwrap_or(0);
        if self.plan.writing.stored {
            let mut octets = vec![0; len];
            self.pattern.fill(offset, &mut octets);
            Message::from_octets(&octets)
        } else {
            Message::generated(self.pattern, offset, len)
        }
    }

    fn receive(&mut self, data: &Message, tag: Option<[u8; 8]>, end: bool, cx: &mut Context<'_>) {
        let now = cx.now();
        if self.over.is_some() {
            // It was on its way when the program ended the connection.
            return;
        }
        if self.peer_released || self.session.is_none() {
            self.complain(now, "data was delivered outside of the connection".to_owned());
        }
        if let Err(why) = self.heard.take(data, tag, end) {
            self.complain(now, why);
        }
        let octets = data.len() as u64;
        self.unpaid += octets;
        let room = self.room();
        if self.unpaid > room {
            let unpaid = self.unpaid;
            self.complain(now, format!("{unpaid} octets were delivered on credit for {room}"));
        }
        match self.plan.reading {
            Reading::AtOnce => self.pay(u64::MAX, cx),
            Reading::Pauses(after, time) => {
                if self.read_pause_over || self.heard.octets < after {
                    self.pay(u64::MAX, cx);
                } else if !self.has_timer(Wake::Read) {
                    self.wake(Wake::Read, now + time, cx);
                }
            }
            Reading::Late(time) | Reading::Bits(_, time) => {
                if self.unpaid == octets {
                    self.wake(Wake::Read, now + time, cx);
                }
            }
        }
    }

    /// The most that TCP may deliver ahead of credit: the receive buffer, rounded up where that is the rule, and up to
    /// the unit in which a scaled window is told.
    fn room(&self) -> u64 {
        let asked = self.plan.quality.receive_buffer.unwrap_or(0);
        if let Some(xtp) = &self.plan.xtp {
            return u64::from(xtp.receive_buffer.max(asked));
        }
        let tcp = &self.plan.tcp;
        let own = tcp.receive_buffer.max(tcp.max_receive_buffer);
        let buffer = u64::from(own.max(asked));
        let unit = buffer.div_ceil(65_535).next_power_of_two() - 1;
        match self.plan.tcp.rounding {
            Rounding::Exact | Rounding::Down => buffer + unit,
            Rounding::Up => buffer + unit + 65_535,
        }
    }

    /// Gives back credit for at most `most` octets.
    fn pay(&mut self, most: u64, cx: &mut Context<'_>) {
        let octets = self.unpaid.min(most);
        self.unpaid -= octets;
        if let (Some(session), true) = (self.session, octets > 0) {
            let credit = Credit::octets(octets);
            self.ask(Request::Credit { session, credit }, cx);
        }
    }

    fn read_later(&mut self, cx: &mut Context<'_>) {
        match self.plan.reading {
            Reading::AtOnce | Reading::Late(_) => self.pay(u64::MAX, cx),
            Reading::Pauses(..) => {
                self.read_pause_over = true;
                self.pay(u64::MAX, cx);
            }
            Reading::Bits(most, every) => {
                self.pay(most, cx);
                if self.unpaid > 0 {
                    self.wake(Wake::Read, cx.now() + every, cx);
                }
            }
        }
    }

    fn offer(&mut self, session: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Opening::Listens { accepts_after, refuses, .. } = self.plan.opening else {
            self.complain(cx.now(), "an offer came to one that calls".to_owned());
            return;
        };
        self.offers += 1;
        if self.offers > 1 {
            // RFC 9293 section 3.5: the handshake keeps old duplicates of a SYN from becoming connections. With cookies
            // a copy of its last segment can still become one, for nothing is kept of those that came back. XTP keeps
            // nothing of a call that was refused.
            let again = self.plan.xtp.is_some() && self.over.is_some();
            if !self.plan.may_send_cookies() && !again {
                self.complain(cx.now(), "the only call was offered twice".to_owned());
            }
            let (reason, data) = (Reason::User, None);
            self.ask(Request::Abort { session, reason, data }, cx);
            return;
        }
        if self.over.is_some() || refuses {
            let (reason, data) = (Reason::User, None);
            self.ask(Request::Abort { session, reason, data }, cx);
            self.end(ConnectionEnd::Own, cx);
            return;
        }
        self.offered = Some(session);
        self.with_call = data;
        self.wake(Wake::Accept, cx.now() + accepts_after, cx);
    }

    fn accept(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.offered.take() else {
            return;
        };
        let accept = Accept {
            session,
            user: SESSION,
            quality: self.plan.quality,
            parameters: Parameters::of(WithTags),
            ..Accept::default()
        };
        self.ask(Request::Accept(Box::new(accept)), cx);
        if let Opening::Listens { stays: false, .. } = self.plan.opening {
            self.close_listener(cx);
        }
        if let Some(data) = self.with_call.take() {
            // It takes no credit.
            let taken = self.heard.take(&data, None, false);
            if let Err(why) = taken {
                self.complain(cx.now(), why);
            }
        }
        self.taken(session, cx);
    }
}

impl Protocol for User {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::STREAM, Service::FRAME], below: (2, 2), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let after = match self.plan.opening {
            Opening::Calls { after } | Opening::Listens { after, .. } => after,
        };
        self.wake(Wake::Begin, cx.now() + after, cx);
        if let Some(AbortTime::Time(after)) = self.plan.abort {
            self.wake(Wake::Abort, cx.now() + after, cx);
        }
        if let Finish::At(after) = self.plan.finish {
            self.wake(Wake::Finish, cx.now() + after, cx);
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        let now = cx.now();
        if from != STACK {
            if core::mem::take(&mut self.give_up) {
                let never = self.session.is_none() && self.offered.is_none();
                let never = never && matches!(self.plan.opening, Opening::Listens { .. });
                self.close_listener(cx);
                self.abort(if never { ConnectionEnd::Never } else { ConnectionEnd::GaveUp }, cx);
            }
            return;
        }
        if self.over.is_some()
            && !matches!(indication, Indication::Opened(_) | Indication::Offered(_) | Indication::Credit { .. })
            && self.over != Some(ConnectionEnd::Own)
        {
            self.complain(now, format!("something came after the end: {indication:?}"));
        }
        match indication {
            Indication::Opened(opened) if opened.user == LISTEN => {
                self.listener = Some(opened.provider);
                if self.over.is_some() {
                    self.close_listener(cx);
                }
            }
            Indication::Opened(opened) => {
                if self.session.is_some() || self.over.is_some() {
                    self.complain(now, "opened twice, or after the end".to_owned());
                }
                self.taken(opened.provider, cx);
            }
            Indication::Offered(offered) => self.offer(offered.provider, offered.data, cx),
            Indication::Data { data, end, .. } => {
                self.receive(&data, None, end, cx);
                self.look(cx);
            }
            Indication::Special { what, .. } => {
                // That urgent data is ahead, which TCP says, changes nothing here.
                if let Some(tagged) = what.take::<Tagged>() {
                    self.receive(&tagged.data, Some(tagged.tag), tagged.end, cx);
                }
                self.look(cx);
            }
            Indication::Credit { credit, .. } => {
                self.credit += credit.octets;
                self.look(cx);
            }
            Indication::Released { .. } => {
                if self.peer_released {
                    self.complain(now, "the peer's end of data came twice".to_owned());
                }
                self.peer_released = true;
                self.look(cx);
            }
            Indication::Closed { .. } => {
                if !self.peer_released || !self.released {
                    self.complain(now, "closed before both ends had released".to_owned());
                }
                self.end(ConnectionEnd::Closed, cx);
            }
            Indication::Aborted { session, reason, .. } => {
                if session == LISTEN {
                    self.complain(now, format!("may not listen: {reason}"));
                }
                self.end(ConnectionEnd::Aborted(reason), cx);
            }
            // That nobody has answered for a while, and how large units are, changes nothing here.
            Indication::Notice { .. } => {}
            Indication::Report(report) if matches!(*report, kumiki_graph::Report::Limits { .. }) => {}
            Indication::Unit(_) | Indication::Expedited { .. } | Indication::Reset { .. } | Indication::Report(_) => {
                self.complain(now, format!("an indication that no stream has: {indication:?}"));
            }
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if let Some(slot) = usize::try_from(token.kind).ok().and_then(|kind| self.slots.get_mut(kind)) {
            *slot = TimerSlot::default();
        }
        if self.over.is_some() {
            return;
        }
        match Wake::of(token) {
            Some(Wake::Begin) => self.begin(cx),
            Some(Wake::Accept) => self.accept(cx),
            Some(Wake::Write) => {
                self.paused = false;
                self.look(cx);
            }
            Some(Wake::Read) => self.read_later(cx),
            Some(Wake::Finish) => {
                self.must_finish = true;
                self.finish(cx);
            }
            Some(Wake::Abort) => self.abort(ConnectionEnd::Own, cx),
            None => {}
        }
    }

    fn ready(&mut self, _: Token, cx: &mut Context<'_>) {
        self.waits_for_page = false;
        self.look(cx);
    }
}
