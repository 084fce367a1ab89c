//! What users ask of TCP: opening and accepting, and giving up before there is a session (RFC 9293 section 3.9.1).

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use kumiki_wire::inet::SourceRoute;

use kumiki_graph::{
    Above, AccessPoint, Address, Below, Context, Handle, Indication, Manage, Mode, NoPath, Open, Opened, Quality,
    Reason, Request,
};
use kumiki_wire::inet::tcp::Seq;

use super::demux::Pair;
use super::isn;
use super::pending::OfferFirst;
use super::segment;
use super::session::{Ctx, Session};
use super::states::Listener;
use super::table::Entry;
use super::{ANSWER, ANSWER_TIME, Tcp};

impl Tcp {
    pub(super) fn open(&mut self, above: Above, open: Box<Open>, cx: &mut Context<'_>) {
        self.begin_clocks(cx);
        let opened = match (open.mode, open.remote.socket()) {
            (Mode::Passive { backlog }, _) => self.open_passive(above, &open, backlog, cx),
            (Mode::Active, Some(remote)) if is_host(remote) => {
                // Source address (MUST-44) and MSS depend on the route, and both go with the SYN.
                let to = remote.ip().into();
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

    /// The layer below has said how units to `to` travel: how long they may be, and how to send them past it.
    pub(super) fn routed(
        &mut self,
        to: Address,
        source: Address,
        how: (u32, Option<AccessPoint>),
        cx: &mut Context<'_>,
    ) {
        let early = core::mem::take(&mut self.early);
        let (ready, early) = early.into_iter().partition(|(_, open)| {
            let remote = open.remote.socket();
            remote.is_some_and(|remote| Address::from(remote.ip()) == to)
        });
        self.early = early;
        if self.early.is_empty() {
            cx.clear_timer(&mut self.answer);
        }
        let ready: Vec<(Above, Box<Open>)> = ready;
        for (above, open) in ready {
            let opened = match source.ip() {
                Some(source) => self.open_active(above, &open, source, how, cx),
                None => Err(Reason::Unreachable(NoPath::Network)),
            };
            if let Err(reason) = opened {
                refuse(above, open.user, reason, cx);
            }
        }
    }

    /// The layer below knows no routes: what is configured and what it said of its limits must do.
    pub(super) fn open_early(&mut self, cx: &mut Context<'_>) {
        let (source, unit) = (self.shared.config.address, self.shared.unit);
        for (above, open) in core::mem::take(&mut self.early) {
            let how = (unit, None);
            if let Err(reason) = self.open_active(above, &open, source, how, cx) {
                refuse(above, open.user, reason, cx);
            }
        }
    }

    fn open_active(
        &mut self,
        above: Above,
        open: &Open,
        source: IpAddr,
        (unit, bypass): (u32, Option<AccessPoint>),
        cx: &mut Context<'_>,
    ) -> Result<(), Reason> {
        let remote = open.remote.socket().ok_or(Reason::BadAddress)?;
        let mut local = local_socket(open.local).ok_or(Reason::BadAddress)?;
        if local.ip().is_unspecified() {
            let configured = self.shared.config.address;
            let usable = !configured.is_unspecified() && configured.is_ipv4() == remote.is_ipv4();
            local.set_ip(if usable { configured } else { source });
        }
        if local.ip().is_unspecified() || local.is_ipv4() != remote.is_ipv4() {
            return Err(Reason::BadAddress);
        }
        if local.port() == 0 {
            local.set_port(self.choose_port(local, remote, cx)?);
        }
        let pair = Pair::new(local, remote);
        if self.is_taken(&pair) {
            return Err(Reason::BadAddress);
        }
        let handle = self.begin(above, open.user, pair, &open.quality, (unit, None), cx);
        self.with(handle, cx, |session, ctx| {
            session.route.bypass = bypass;
            if let Some(route) = open.parameters.get::<SourceRoute>() {
                session.choose_route(Box::new(route.clone()));
            }
            session.call(ctx);
        });
        Ok(())
    }

    /// Whether there is a connection, or the beginning of one, between these.
    fn is_taken(&mut self, pair: &Pair) -> bool {
        let secret = self.shared.secret;
        self.demux.find(pair, |handle| self.table.pair(handle)).is_some()
            || self.half_open.find(secret, pair).is_some()
            || self.pending.find(secret, pair).is_some()
            || self.time_waits.find(secret, pair).is_some()
    }

    fn choose_port(&mut self, local: SocketAddr, remote: SocketAddr, cx: &mut Context<'_>) -> Result<u16, Reason> {
        let secret = self.shared.secret;
        let port = isn::ports(secret, local, remote, self.ports_given)
            .find(|&port| {
                let local = SocketAddr::new(local.ip(), port);
                let is_ours = self.calls_from.as_ref().is_none_or(|it| it(local, remote));
                is_ours && !self.is_taken(&Pair::new(local, remote)) && self.demux.listener(local).is_none()
            })
            .ok_or(Reason::NoResources)?;
        self.ports_given = self.ports_given.wrapping_add(isn::step(cx.rng()));
        Ok(port)
    }

    /// Makes a session in state CLOSED, with the ISS that it has already, if it has.
    pub(super) fn begin(
        &mut self,
        above: Above,
        user: Handle,
        pair: Pair,
        quality: &Quality,
        (unit, iss): (u32, Option<Seq>),
        cx: &mut Context<'_>,
    ) -> Handle {
        let handle = self.table.reserve();
        let mut ctx = Ctx { cx, shared: &mut self.shared };
        let session = Session::new((handle, above, user), pair, quality, (unit, iss), &mut ctx);
        self.table.fill(handle, Entry::Session(Box::new(session)));
        self.demux.insert(pair, handle, |handle| self.table.pair(handle));
        handle
    }

    fn open_passive(&mut self, above: Above, open: &Open, backlog: u32, cx: &mut Context<'_>) -> Result<(), Reason> {
        // MUST-43, and MUST-41: where somebody listens already, only this open fails.
        let local = local_socket(open.local).ok_or(Reason::BadAddress)?;
        let remote = open.remote.socket();
        if remote.is_none() && open.remote != Address::NONE {
            return Err(Reason::BadAddress);
        }
        let offers_first = open.parameters.get::<OfferFirst>().is_some();
        if local.port() == 0 && !offers_first {
            return Err(Reason::BadAddress);
        }
        let handle = self.table.reserve();
        if !self.demux.listen(local, handle) {
            self.table.remove(handle);
            return Err(Reason::BadAddress);
        }
        self.offers_first |= offers_first;
        let (user, quality) = (open.user, open.quality);
        let listener = Listener { above, user, local, remote, quality, backlog, waiting: 0, offers_first };
        self.table.fill(handle, Entry::Listener(Box::new(listener)));
        let opened = Opened {
            user: open.user,
            provider: handle,
            local: Address::from(local),
            remote: open.remote,
            unit: self.shared.own_mss(self.shared.unit, local.ip()),
            data: None,
            ..Opened::default()
        };
        cx.up(above, Indication::Opened(Box::new(opened)));
        Ok(())
    }

    pub(super) fn accept(
        &mut self,
        above: Above,
        handle: Handle,
        user: Handle,
        quality: &Quality,
        cx: &mut Context<'_>,
    ) {
        if self.accept_pending(above, (handle, user), quality, cx) {
            return;
        }
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
        self.with(handle, cx, |session, ctx| session.accept(user, quality, ctx));
    }

    /// Gives up what `user` opened, if it was not confirmed yet; otherwise ends it.
    pub(super) fn cancel(&mut self, above: Above, user: Handle, cx: &mut Context<'_>) {
        self.early.retain(|(from, open)| (*from, open.user) != (above, user));
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
        } else if let Some(listener) = self.table.listener_of(above, user) {
            self.unlisten(above, listener, false, cx);
        }
    }

    /// Ends a passive open, and refuses whoever waits there.
    pub(super) fn unlisten(&mut self, above: Above, handle: Handle, confirm: bool, cx: &mut Context<'_>) {
        let Entry::Listener(listener) = self.table.remove(handle) else {
            return;
        };
        self.demux.unlisten(listener.local);
        self.refuse_callers(handle, cx);
        self.refuse_all_pending(handle, cx);
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
}

/// Whether somebody can be called there.
const fn is_host(remote: SocketAddr) -> bool {
    remote.port() != 0 && segment::may_speak(remote.ip())
}

/// Answers an open or an accept in the negative.
fn refuse(above: Above, session: Handle, reason: Reason, cx: &mut Context<'_>) {
    cx.up(above, Indication::Aborted { session, reason, data: None });
}

/// The local end that `address` says, which may be left open in parts.
fn local_socket(address: Address) -> Option<SocketAddr> {
    if address.is_none() {
        return Some(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0));
    }
    let may_be_ours = |it: &SocketAddr| it.ip().is_unspecified() || segment::may_speak(it.ip());
    address.socket_at(0).filter(|it| address.socket().is_none() || may_be_ours(it))
}
