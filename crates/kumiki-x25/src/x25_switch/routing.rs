//! Calls: where they go, set up and refused.

use kumiki_graph::Parameters;
use kumiki_graph::Special;
use kumiki_graph::{Accept, Address, Below, Context, Handle, Offered, Open, Opened, Reason, Request};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{self, Facilities, Facility, Number, Primitive, cause, diagnostic};

use super::call::{Call, Half, PendingCall, Phase};
use super::{CallEvent, Route, Switch, causes, cleared, half_handle};

/// The number that an address is, where it is one.
fn number(address: Address) -> Number {
    address.get().unwrap_or_default()
}

/// What goes on of the facilities: packet sizes and windows are each interface's own.
fn passed(facilities: &Facilities) -> Facilities {
    let is_local = |it: &&Facility| matches!(it, Facility::PacketSize { .. } | Facility::Window { .. });
    let rest = facilities.0.iter().filter(|it| !is_local(it));
    Facilities(rest.cloned().collect())
}

/// What both halves are asked for.
fn asked(call: Option<&x25::Call>) -> Parameters {
    Parameters::of(x25::Call {
        facilities: call.map(|it| passed(&it.facilities)).unwrap_or_default(),
        delivery: call.is_some_and(|it| it.delivery),
        relayed: true,
        ..x25::Call::default()
    })
}

impl Switch {
    /// The route of a call from `port` to `called`.
    fn route(&self, port: u16, called: Number, user_data: &[u8]) -> Option<&Route> {
        let name = self.name(port);
        let fits = |route: &&Route| {
            called.begins_with(&route.prefix)
                && (route.from.is_empty() || route.from.contains(&name))
                && user_data.starts_with(&route.user_data)
        };
        let weight = |route: &Route| {
            let asks = (!route.from.is_empty(), route.user_data.len());
            (route.prefix.len(), asks)
        };
        let mut best: Option<&Route> = None;
        for route in self.config.routes.iter().filter(fits) {
            if best.is_none_or(|best| weight(route) > weight(best)) {
                best = Some(route);
            }
        }
        best
    }

    /// A port offers a call.
    pub(super) fn offered(&mut self, port: u16, offered: Offered, cx: &mut Context<'_>) {
        self.counters.offered += 1;
        self.numbered += 1;
        let budget = cx.budget().map(|budget| budget.beside(self.config.memory));
        let is_short = matches!(budget, Some(Err(_)));
        let mut half = Half::new(port, offered.provider, Phase::Offered);
        half.peer = offered.parameters.get::<x25::Call>().and_then(|call| call.peer);
        let halves = [half, Half::new(port, Handle::default(), Phase::Gone)];
        let call = Call {
            calling: number(offered.remote),
            called: number(offered.local),
            budget: budget.and_then(Result::ok),
            ..Call::new(self.numbered, halves, cx.now())
        };
        let lower = offered.provider;
        let (named, from) = (call.named(), self.name(port));
        self.tell(named, CallEvent::Came { from }, cx);
        let is_full = self.calls.len() >= usize::try_from(self.config.max_calls).unwrap_or(usize::MAX);
        let own = self.calls.insert(Box::new(call));
        self.occupy(port, true);
        self.occupy(port, true);
        let user = half_handle(own, 0);
        let what = Special::new(Primitive::Claim { user: (user.index, user.generation) });
        let session = lower;
        cx.down(Below(port), Request::Special { session, what });
        if self.is_closed {
            return self.refuse(own, (cleared(cause::CLEAR_OUT_OF_ORDER, diagnostic::NONE), None), None, cx);
        }
        if is_full {
            let why = cleared(cause::CLEAR_CONGESTION, diagnostic::NO_CHANNEL);
            return self.refuse(own, (why, None), None, cx);
        }
        if is_short {
            let why = cleared(cause::CLEAR_CONGESTION, diagnostic::NONE);
            return self.refuse(own, (why, None), None, cx);
        }
        match self.plan(port, offered) {
            Ok(wanted) => {
                if let Some(call) = self.calls.get(own) {
                    call.wanted = Some(Box::new(wanted));
                }
                self.try_next(own, cx);
            }
            Err(why) => self.refuse(own, (why, None), None, cx),
        }
    }

    /// Where a call goes, and as what.
    fn plan(&self, port: u16, offered: Offered) -> Result<PendingCall, x25::PacketCause> {
        let unknown = cleared(cause::NOT_OBTAINABLE, diagnostic::CALLED);
        let user_data = offered.data.as_ref().map(Message::to_vec);
        let user_data = user_data.unwrap_or_default();
        let (calling, called) = (number(offered.remote), number(offered.local));
        let route = self.route(port, called, &user_data).ok_or(unknown)?;
        let named = route.to.iter().filter_map(|name| self.number_of(name));
        let mut targets: Vec<u16> = named.filter(|it| route.back || *it != port).collect();
        if targets.is_empty() {
            return Err(unknown);
        }
        targets.reverse();
        let invalid = |code| move |_| cleared(cause::NOT_OBTAINABLE, code);
        Ok(PendingCall {
            called: route.called.of(called).map_err(invalid(diagnostic::CALLED))?,
            calling: route.calling.of(calling).map_err(invalid(diagnostic::CALLING))?,
            offered,
            targets,
            failed: None,
        })
    }

    /// Calls the next target that is up; where none is left, the call is refused.
    fn try_next(&mut self, own: Handle, cx: &mut Context<'_>) {
        loop {
            let Some(call) = self.calls.get(own) else {
                return;
            };
            let Some(wanted) = &mut call.wanted else {
                return;
            };
            let Some(port) = wanted.targets.pop() else {
                let why = wanted.failed.clone().unwrap_or(Reason::Down);
                return self.refuse(own, (causes::of_clear(&why), causes::breach(&why)), None, cx);
            };
            if !self.is_up(port) {
                self.counters.hunted += 1;
                if let Some(call) = self.calls.get(own) {
                    call.tried.get_or_insert((port, Reason::Down));
                }
                continue;
            }
            return self.call_out(own, port, cx);
        }
    }

    fn call_out(&mut self, own: Handle, port: u16, cx: &mut Context<'_>) {
        let Some(call) = self.calls.get(own) else {
            return;
        };
        let Some(wanted) = &call.wanted else {
            return;
        };
        let open = Open {
            user: half_handle(own, 1),
            local: Address::from(wanted.calling),
            remote: Address::from(wanted.called),
            data: wanted.offered.data.clone(),
            parameters: asked(wanted.offered.parameters.get::<x25::Call>()),
            ..Open::default()
        };
        let [_, half] = &mut call.halves;
        let before = core::mem::replace(half, Half::new(port, Handle::default(), Phase::Opening));
        self.occupy(before.port, false);
        self.occupy(port, true);
        cx.down(Below(port), Request::Open(Box::new(open)));
    }

    /// The called half did not come about.
    pub(super) fn not_taken(&mut self, own: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        if let Some(call) = self.calls.get(own) {
            let [_, half] = &call.halves;
            call.tried = Some((half.port, reason.clone()));
            if let Some(wanted) = &mut call.wanted
                && !wanted.targets.is_empty()
                && causes::is_to_be_had_elsewhere(&reason)
            {
                wanted.failed = Some(reason);
                self.counters.hunted += 1;
                return self.try_next(own, cx);
            }
        }
        self.refuse(own, (causes::of_clear(&reason), causes::breach(&reason)), data, cx);
    }

    /// The caller is told that its call does not come about.
    fn refuse(
        &mut self,
        own: Handle,
        (why, found): (x25::PacketCause, Option<Reason>),
        data: Option<Message>,
        cx: &mut Context<'_>,
    ) {
        // What our own packet layer has said for want of a channel is no DTE's.
        let why = if why.cause == cause::DTE && why.diagnostic == diagnostic::NO_CHANNEL {
            cleared(cause::CLEAR_CONGESTION, diagnostic::NO_CHANNEL)
        } else {
            why
        };
        if let Some(call) = self.calls.get(own) {
            call.half(0).end(why, data, half_handle(own, 0), cx);
        }
        self.told_cleared(own, None, (why, found), cx);
        self.forget(own, cx);
    }

    /// A half that was asked for stands.
    pub(super) fn opened(&mut self, opened: Opened, cx: &mut Context<'_>) {
        let (own, side) = super::call_of(opened.user);
        let Some(call) = self.calls.get(own) else {
            // Cancelling it has ended it in its packet layer.
            return cx.drop("no such call");
        };
        let half = call.half(side);
        half.lower = opened.provider;
        half.phase = Phase::Stands;
        half.peer = opened.parameters.get::<x25::Call>().and_then(|call| call.peer);
        if call.permanent.is_some() {
            return self.joined(own, side, cx);
        }
        call.wanted = None;
        if let Some(budget) = &call.budget {
            // It costs no more than what it has already.
            let _ = budget.stand(0);
        }
        call.since = Some(cx.now());
        call.last = cx.now();
        let named = call.named();
        let [from, to] = &mut call.halves;
        let accept = Accept {
            session: from.lower,
            user: half_handle(own, 0),
            data: opened.data,
            parameters: asked(opened.parameters.get::<x25::Call>()),
            ..Accept::default()
        };
        from.phase = Phase::Stands;
        let (from, to) = (from.port, to.port);
        let (calling, called) = (call.calling, call.called);
        cx.down(Below(from), Request::Accept(Box::new(accept)));
        self.counters.set_up += 1;
        let what = CallEvent::SetUp { from: self.name(from), to: self.name(to), calling, called };
        self.tell(named, what, cx);
        self.await_silence(own, cx);
    }
}
