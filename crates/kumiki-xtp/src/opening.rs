//! Active opens: FIRST goes when the route is known, and the user is told at once (`docs/xtp.md`, P11).

use crate::WithTags;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use kumiki_graph::{
    Above, AccessPoint, Address, Below, Context, Handle, Indication, Manage, NoPath, Open, Quality, Reason, Request,
};
use kumiki_wire::xtp::Options;

use super::context::{ContextParameters, Ctx, Endpoint};
use super::table::Entry;
use super::{ANSWER, ANSWER_TIME, Xtp};

/// Ports that nobody asked for by number (RFC 6335).
const DYNAMIC: core::ops::RangeInclusive<u16> = 49_152..=65_535;

/// What the layer below says of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) source: Option<IpAddr>,
    pub(crate) unit: u32,
    pub(crate) bypass: Option<AccessPoint>,
}

impl Xtp {
    /// An active open waits for its route.
    pub(super) fn open_active(&mut self, above: Above, open: Box<Open>, cx: &mut Context<'_>) {
        let remote = open.remote.socket();
        let Some(remote) = remote.filter(|it| it.port() != 0 && (may_speak(it.ip()) || it.ip().is_multicast())) else {
            refuse(above, open.user, Reason::BadAddress, cx);
            return;
        };
        let to = remote.ip().into();
        let at = cx.now() + ANSWER_TIME;
        cx.set_timer(&mut self.answer, ANSWER, at);
        self.early.push((above, open));
        cx.down(Below(0), Request::Manage(Box::new(Manage::Route { to })));
    }

    /// The layer below has said how units to `to` travel.
    pub(super) fn routed(&mut self, to: Address, route: Route, cx: &mut Context<'_>) {
        let early = core::mem::take(&mut self.early);
        let (ready, early): (Vec<_>, Vec<_>) = early.into_iter().partition(|(_, open)| {
            let remote = open.remote.socket();
            remote.is_some_and(|remote| Address::from(remote.ip()) == to)
        });
        self.early = early;
        if self.early.is_empty() {
            cx.clear_timer(&mut self.answer);
        }
        for (above, open) in ready {
            let begun = if route.source.is_none() {
                Err(Reason::Unreachable(NoPath::Network))
            } else {
                self.begin_active(above, &open, route, cx)
            };
            if let Err(reason) = begun {
                refuse(above, open.user, reason, cx);
            }
        }
        if route.source.is_none() {
            return;
        }
        for handle in core::mem::take(&mut self.unrouted) {
            let mut waits = false;
            self.with(handle, cx, |it, ctx| {
                if Address::from(it.path.remote) == to {
                    it.routed(route.unit, route.bypass, ctx.shared);
                    let unknown = it.path.local.is_unspecified();
                    if let Some(own) = route.source.filter(|_| unknown) {
                        it.path.local = own;
                    }
                } else {
                    waits = it.unrouted;
                }
            });
            if waits {
                self.unrouted.push(handle);
            }
        }
    }

    /// The layer below knows no routes: what is configured and what it said of its limits must do.
    pub(super) fn open_early(&mut self, cx: &mut Context<'_>) {
        self.unrouted.clear();
        for (above, open) in core::mem::take(&mut self.early) {
            let route = Route { source: Some(self.shared.config.address), unit: self.shared.unit, bypass: None };
            if let Err(reason) = self.begin_active(above, &open, route, cx) {
                refuse(above, open.user, reason, cx);
            }
        }
    }

    fn begin_active(&mut self, above: Above, open: &Open, route: Route, cx: &mut Context<'_>) -> Result<(), Reason> {
        let remote = open.remote.socket().ok_or(Reason::BadAddress)?;
        let local = local_socket(open.local).filter(|it| !it.ip().is_multicast());
        let mut local = local.ok_or(Reason::BadAddress)?;
        if local.ip().is_unspecified() {
            let configured = self.shared.config.address;
            let usable = !configured.is_unspecified() && configured.is_ipv4() == remote.is_ipv4();
            let source = route.source.filter(|_| !usable).unwrap_or(configured);
            local.set_ip(source);
        }
        if local.ip().is_unspecified() || local.is_ipv4() != remote.is_ipv4() {
            return Err(Reason::BadAddress);
        }
        if local.port() == 0 {
            // Two contexts may have the same ports: their keys tell them apart.
            let (least, most) = DYNAMIC.into_inner();
            let of = cx.rng().below(u64::from(most - least) + 1);
            local.set_port(least.saturating_add(u16::try_from(of).unwrap_or(0)));
        }
        let handle = self.make_room(cx).ok_or(Reason::NoResources)?;
        let mut ctx = Ctx { cx, shared: &mut self.shared };
        let begin = ContextParameters {
            handle,
            above,
            user: open.user,
            local,
            remote,
            quality: &open.quality,
            unit: route.unit,
            passive: false,
            theirs: Options::NONE,
        };
        let mut endpoint = Endpoint::new(&begin, &mut ctx);
        endpoint.path.bypass = route.bypass;
        endpoint.modes.tags = open.parameters.get::<WithTags>().is_some();
        let group = remote.ip().is_multicast();
        if group {
            endpoint.become_transmitter(&ctx);
        }
        self.table.fill(handle, Entry::Context(Box::new(endpoint)));
        if group {
            // Who knows us only by a MAC address asks the group to join (P38).
            self.join_group(remote.ip(), cx);
        }
        let data = open.data.clone();
        self.with(handle, cx, |it, ctx| {
            if let Some(data) = data {
                it.send.queue(data, None, false);
            }
            it.opened(ctx);
            it.send_first(ctx);
            it.arm_alive(ctx);
        });
        self.pump(handle, cx);
        Ok(())
    }

    /// A place for another context, if there may be one.
    pub(super) fn make_room(&mut self, cx: &mut Context<'_>) -> Option<Handle> {
        let most = usize::try_from(self.shared.config.max_contexts).unwrap_or(usize::MAX);
        (self.table.contexts() < most).then(|| self.table.reserve(cx.rng()))
    }

    /// Gives up what `user` opened, if it was not confirmed yet; otherwise ends it.
    pub(super) fn cancel(&mut self, above: Above, user: Handle, cx: &mut Context<'_>) {
        self.early.retain(|(from, open)| (*from, open.user) != (above, user));
        let found = self
            .table
            .all()
            .find(|it| it.above == above && it.user == user && it.accepted && !it.is_over())
            .map(|it| it.handle);
        if let Some(handle) = found {
            self.with(handle, cx, Endpoint::on_abort);
        }
    }

    /// Changes what a session was opened with.
    pub(super) fn change(&mut self, session: Handle, quality: &Quality, cx: &mut Context<'_>) {
        if !self.with(session, cx, |it, ctx| it.on_quality(quality, ctx)) {
            cx.drop("no such session");
        }
    }
}

/// Whether an end of a context can have this address: it is one host's.
pub(crate) const fn may_speak(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [first, ..] = ip.octets();
            first != 0 && first < 224
        }
        IpAddr::V6(ip) => !ip.is_unspecified() && !ip.is_multicast(),
    }
}

/// Answers an open or an accept in the negative.
pub(crate) fn refuse(above: Above, session: Handle, reason: Reason, cx: &mut Context<'_>) {
    let data = None;
    cx.up(above, Indication::Aborted { session, reason, data });
}

/// The local end that `address` says, which may be left open in parts.
pub(crate) fn local_socket(address: Address) -> Option<SocketAddr> {
    if address.is_none() {
        return Some(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0));
    }
    let may_be_ours = |it: &SocketAddr| it.ip().is_unspecified() || may_speak(it.ip()) || it.ip().is_multicast();
    address.socket_at(0).filter(|it| address.socket().is_none() || may_be_ours(it))
}
