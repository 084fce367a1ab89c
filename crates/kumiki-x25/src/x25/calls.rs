//! Calls: made, offered, accepted, cleared; and resets.

use kumiki_graph::Parameters;
use kumiki_graph::{Above, Accept, Address, Context, Handle, Indication, Offered, Open, Opened, Reason};
use kumiki_octets::Message;
use kumiki_osi_service::x25::{
    self, Call, CauseField, Facilities, Facility, FastSelect, Flow, Modulo, Nui, Number, cause, diagnostic,
};
use kumiki_wire::x25::x25::{Block, Body, MOST_CALL_DATA, Packet};

use super::agreed::{agree, from_log2, is_between, log2};
use super::circuit::{Circuit, Timer};
use super::config::Channel;
use super::states::{D, P};
use super::{Config, Entry, PacketCarrier, Role, X25, told};

/// What X.25 has where nothing is negotiated; negotiation goes towards it.
const STANDARD: Flow = Flow::DEFAULT;

impl X25 {
    /// The user calls, or takes a permanent virtual circuit.
    pub(super) fn call(&mut self, above: Above, open: Box<Open>, cx: &mut Context<'_>) {
        if let Some(channel) = open.parameters.get::<Call>().and_then(|call| call.channel) {
            return self.take_permanent(above, &open, channel, cx);
        }
        let number = |address: Address| if address.is_none() { Some(Number::NONE) } else { address.get() };
        let (Some(local), Some(remote)) = (number(open.local), number(open.remote)) else {
            return Self::refuse(above, open.user, Reason::BadAddress, cx);
        };
        let local = if local.is_empty() { self.config.address } else { local };
        let asked = open.parameters.get::<Call>().cloned().unwrap_or_default();
        let fast_select = asked.facilities.charging().fast_select;
        let data = open.data.as_ref().map(Message::to_vec).unwrap_or_default();
        if data.len() > most_data(fast_select) {
            let reason = told(CauseField::Clear, cause::DTE, diagnostic::LONG);
            return Self::refuse(above, open.user, reason, cx);
        }
        let line = if self.config.over == PacketCarrier::Circuits {
            self.open_circuit_line(open.remote, None, cx)
        } else if self.is_ready(self.line) {
            self.line
        } else {
            let until = cx.now() + self.config.t21;
            self.pending.push_back((until, above, open));
            self.demand_line(cx);
            return self.watch_pending(cx);
        };
        let Some(channel) = self.free_channel(line) else {
            let reason = told(CauseField::Clear, cause::DTE, diagnostic::NO_CHANNEL);
            return Self::refuse(above, open.user, reason, cx);
        };
        let (facilities, flow) = self.ask(line, asked.facilities);
        let block = Block { called: remote, calling: local, facilities, data };
        let packet = Packet {
            qualified: is_typed(local, remote),
            delivery: asked.delivery,
            modulo: self.config.modulo,
            channel,
            body: Body::Call(block),
        };
        let mut circuit = Circuit::new(line, channel, P::OursWaiting, flow);
        circuit.above = above;
        circuit.user = Some(open.user);
        circuit.local = local;
        circuit.remote = remote;
        circuit.fast_select = fast_select;
        circuit.delivery = asked.delivery;
        circuit.relays = asked.relayed;
        circuit.receive = self.receive(open.quality.receive_buffer, &flow);
        circuit.call = Some(Box::new(packet));
        let handle = self.add_circuit(circuit);
        self.counters.calls_out += 1;
        if self.is_ready(line) {
            self.send_call(handle, cx);
        }
    }

    fn receive(&self, asked: Option<u32>, flow: &Flow) -> u32 {
        asked.filter(|messages| *messages > 0).or(self.config.receive).unwrap_or_else(|| flow.window_in.into())
    }

    /// The facilities of a call that we make, and what it has if the peer agrees.
    fn ask(&mut self, line: Handle, mut facilities: Facilities) -> (Facilities, Flow) {
        let (unit, over) = (self.unit(line), self.config.over);
        let (wanted, default) = (self.config.wanted, self.config.default);
        let mut flow = Flow {
            modulo: self.config.modulo,
            packet_out: wanted.packet_out.min(unit),
            packet_in: wanted.packet_in.min(unit),
            ..wanted
        };
        if let Some((called, calling)) = facilities.packet_size() {
            flow.packet_in = from_log2(called).unwrap_or(STANDARD.packet_in).min(unit);
            flow.packet_out = from_log2(calling).unwrap_or(STANDARD.packet_out).min(unit);
        }
        if let Some((called, calling)) = facilities.window() {
            flow.window_in = called.clamp(1, flow.modulo.most());
            flow.window_out = calling.clamp(1, flow.modulo.most());
        }
        for ours in &self.config.facilities.0 {
            let kind = core::mem::discriminant(ours);
            if !facilities.0.iter().any(|it| core::mem::discriminant(it) == kind) {
                facilities.set(ours.clone());
            }
        }
        if let Some(nui) = self.config.nui.clone()
            && facilities.user().is_none()
        {
            facilities.set(Facility::User(nui));
        }
        let packets = |it: &Flow| (it.packet_in, it.packet_out);
        let windows = |it: &Flow| (it.window_in, it.window_out);
        if over == PacketCarrier::Circuits || packets(&flow) != packets(&default) {
            facilities.set(Facility::PacketSize { called: log2(flow.packet_in), calling: log2(flow.packet_out) });
        }
        if over == PacketCarrier::Circuits || windows(&flow) != windows(&default) {
            facilities.set(Facility::Window { called: flow.window_in, calling: flow.window_out });
        }
        (facilities, flow)
    }

    /// The largest packet, a power of two, that the line carries.
    fn unit(&mut self, line: Handle) -> u16 {
        let unit = self.lines.get(line).map_or(u32::MAX, |line| line.unit);
        let header = match self.config.modulo {
            Modulo::Eight => 3,
            Modulo::Extended => 4,
        };
        let carries = unit.saturating_sub(header).clamp(16, 4096);
        1 << carries.ilog2()
    }

    /// The channel for a call of ours.
    fn free_channel(&mut self, line: Handle) -> Option<u16> {
        if self.config.over == PacketCarrier::Circuits {
            return Some(1);
        }
        let ranges = self.config.ranges;
        let line = self.lines.get(line)?;
        let free = |channel: &u16| *channel > 0 && !line.channels.contains_key(channel);
        let (incoming, two_way, outgoing) = (ranges.incoming, ranges.two_way, ranges.outgoing);
        match line.role {
            Role::Dte => {
                (outgoing.0..=outgoing.1).rev().find(free).or_else(|| (two_way.0..=two_way.1).rev().find(free))
            }
            Role::Dce => (incoming.0..=incoming.1).find(free).or_else(|| (two_way.0..=two_way.1).find(free)),
        }
    }

    /// The connection of a circuit stands.
    pub(super) fn circuit_line_up(&mut self, line: Handle, cx: &mut Context<'_>) {
        let Some(handle) = self.circuit_on(line, 0) else {
            return;
        };
        match self.circuit(handle) {
            Some(circuit) if circuit.permanent => {
                if let Some(user) = circuit.user {
                    self.permanent_opened(handle, user, cx);
                }
                // RFC 1613 section 6.5: both sides reset it.
                self.reset(handle, diagnostic::NONE, Reason::User, cx);
            }
            Some(_) => self.send_call(handle, cx),
            None => {}
        }
    }

    fn send_call(&mut self, handle: Handle, cx: &mut Context<'_>) {
        let t21 = self.config.t21;
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        if let Some(packet) = &mut circuit.call {
            packet.channel = circuit.channel;
            circuit.out.push(Message::from_octets(&packet.to_vec()));
            circuit.start(Timer::Control, t21, cx);
        }
        self.flush(handle, cx);
    }

    fn take_permanent(&mut self, above: Above, open: &Open, channel: u16, cx: &mut Context<'_>) {
        let (over, r22) = (self.config.over, self.config.r22);
        let handle = if over == PacketCarrier::Circuits {
            let same = |entry: &Entry| matches!(entry, Entry::Circuit(it) if it.permanent && it.channel == channel);
            self.entries.find(same).unwrap_or_else(|| {
                let line = self.open_circuit_line(open.remote, Some(channel), cx);
                let mut circuit = Circuit::new(line, channel, P::Transfer, self.config.default);
                circuit.permanent = true;
                circuit.flow.modulo = self.config.modulo;
                self.add_circuit(circuit)
            })
        } else {
            match self.config.ranges.of(channel) {
                Channel::Permanent => self.circuit_on(self.line, channel).unwrap_or_default(),
                Channel::Incoming | Channel::TwoWay | Channel::Outgoing | Channel::Unassigned => {
                    return Self::refuse(above, open.user, Reason::BadAddress, cx);
                }
            }
        };
        let flow = self.config.default;
        let receive = self.receive(open.quality.receive_buffer, &flow);
        let Some(circuit) = self.circuit(handle) else {
            return Self::refuse(above, open.user, Reason::BadAddress, cx);
        };
        if circuit.user.is_some() {
            return Self::refuse(above, open.user, Reason::NoResources, cx);
        }
        circuit.above = above;
        circuit.user = Some(open.user);
        circuit.receive = receive;
        // What a user before this one has asked for, or not answered, is not this one's.
        (circuit.user_resets, circuit.unanswered) = (false, false);
        circuit.then_resets = None;
        circuit.delivery = open.parameters.get::<Call>().is_some_and(|call| call.delivery);
        circuit.relays = open.parameters.get::<Call>().is_some_and(|call| call.relayed);
        let (line, given_up) = (circuit.line, circuit.tries > r22);
        let given_up = given_up && circuit.d == D::OursResetting;
        if self.is_ready(line) || over != PacketCarrier::Circuits {
            self.permanent_opened(handle, open.user, cx);
        }
        if given_up {
            return self.reset(handle, diagnostic::DTE_UP, Reason::User, cx);
        }
        if self.is_ready(line)
            && let Some(circuit) = self.circuit(handle)
        {
            circuit.attach(cx);
            self.flush(handle, cx);
        }
    }

    /// Where the peer of a circuit is, where it has a connection of its own.
    fn peer_of(&mut self, circuit: Handle) -> Option<core::net::SocketAddr> {
        let line = self.circuit(circuit)?.line;
        self.peer(line)
    }

    fn permanent_opened(&mut self, handle: Handle, user: Handle, cx: &mut Context<'_>) {
        let peer = self.peer_of(handle);
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        let call = Call { channel: Some(circuit.channel), agreed: Some(circuit.flow), peer, ..Call::default() };
        let opened = Opened {
            user,
            provider: handle,
            unit: circuit.flow.packet_out.into(),
            parameters: Parameters::of(call),
            ..Opened::default()
        };
        circuit.up(Indication::Opened(Box::new(opened)), cx);
    }

    /// CALL has come on a channel that is free.
    pub(super) fn incoming(&mut self, line: Handle, packet: &Packet, block: &Block, cx: &mut Context<'_>) {
        self.counters.calls_in += 1;
        let mut circuit = Circuit::new(line, packet.channel, P::TheirsWaiting, self.config.default);
        circuit.flow.modulo = self.config.modulo;
        circuit.local = block.called;
        circuit.remote = block.calling;
        circuit.fast_select = block.facilities.charging().fast_select;
        circuit.delivery = packet.delivery;
        let wrong = self.judge(line, &mut circuit, block);
        let handle = self.add_circuit(circuit);
        if let Some((network, code)) = wrong {
            return self.clear(handle, (network, code), Vec::new(), cx);
        }
        let ours = block.called.is_empty() || block.called.begins_with(&self.config.answers);
        let Some((listener, above, user)) = self.listener_of(block.called).filter(|_| ours) else {
            let why = (cause::NOT_OBTAINABLE, diagnostic::CALLED);
            return self.clear(handle, why, Vec::new(), cx);
        };
        if let Some(Entry::Listener(it)) = self.entries.get(listener) {
            if it.waiting >= it.backlog {
                let why = (cause::BUSY, diagnostic::RESOURCES);
                return self.clear(handle, why, Vec::new(), cx);
            }
            it.waiting += 1;
        }
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        circuit.above = above;
        circuit.listener = Some(listener);
        let mut facilities = block.facilities.clone();
        if !self.config.users.is_empty() {
            facilities.0.retain(|it| !matches!(it, Facility::User(_)));
        }
        let peer = self.peer_of(handle);
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        let call = Call {
            facilities,
            delivery: packet.delivery,
            channel: Some(packet.channel),
            relayed: false,
            agreed: Some(circuit.flow),
            peer,
        };
        let data = (!block.data.is_empty()).then(|| Message::from_octets(&block.data));
        let offered = Offered {
            user,
            provider: handle,
            local: Address::from(block.called),
            remote: Address::from(block.calling),
            unit: circuit.flow.packet_out.into(),
            data,
            parameters: Parameters::of(call),
        };
        circuit.up(Indication::Offered(Box::new(offered)), cx);
    }

    /// Whether a call is of one of those whose calls are taken.
    fn is_identified(&self, block: &Block) -> bool {
        let users = &self.config.users;
        let known = |nui: &Nui| users.iter().fold(false, |any, user| any | user.is(nui));
        users.is_empty() || block.facilities.user().is_some_and(known)
    }

    /// What is wrong with a call that has come; also what it would have at most.
    fn judge(&mut self, line: Handle, circuit: &mut Circuit, block: &Block) -> Option<(u8, u8)> {
        let (unit, wanted) = (self.unit(line), self.config.wanted);
        let wrong = (cause::CLEAR_LOCAL, diagnostic::FACILITY);
        if !self.is_identified(block) {
            self.counters.unidentified += 1;
            return Some((cause::BARRED, diagnostic::NUI));
        }
        if block.data.len() > most_data(circuit.fast_select) {
            return Some((cause::CLEAR_LOCAL, diagnostic::LONG));
        }
        if let Some((called, calling)) = block.facilities.packet_size() {
            let (Some(out), Some(back)) = (from_log2(called), from_log2(calling)) else {
                return Some(wrong);
            };
            circuit.negotiates.0 = true;
            circuit.flow.packet_out = agree(out, wanted.packet_out.min(unit), STANDARD.packet_out);
            circuit.flow.packet_in = agree(back, wanted.packet_in.min(unit), STANDARD.packet_in);
        }
        if let Some((called, calling)) = block.facilities.window() {
            let valid = 1..=self.config.modulo.most();
            if !valid.contains(&called) || !valid.contains(&calling) {
                return Some(wrong);
            }
            circuit.negotiates.1 = true;
            circuit.flow.window_out = agree(called, wanted.window_out, STANDARD.window_out);
            circuit.flow.window_in = agree(calling, wanted.window_in, STANDARD.window_in);
        }
        if self.config.over == PacketCarrier::Circuits {
            // RFC 1613 section 6.1: an answer says what the call did not.
            circuit.negotiates = (true, true);
        }
        None
    }

    /// Who listens for calls to `called`: the longest beginning of it.
    fn listener_of(&mut self, called: Number) -> Option<(Handle, Above, Handle)> {
        let mut longest = None;
        for length in (0..=called.len()).rev() {
            let fits = |entry: &Entry| match entry {
                Entry::Listener(it) => it.number.len() == length && called.begins_with(&it.number),
                Entry::Circuit(_) => false,
            };
            longest = self.entries.find(fits);
            if longest.is_some() {
                break;
            }
        }
        if called.is_empty() && longest.is_none() {
            // A call that names nobody is anybody's.
            longest = self.entries.find(|it| matches!(it, Entry::Listener(_)));
        }
        let handle = longest?;
        match self.entries.get(handle)? {
            Entry::Listener(it) => Some((handle, it.above, it.user)),
            Entry::Circuit(_) => None,
        }
    }

    pub(super) fn accept(&mut self, above: Above, accept: Accept, cx: &mut Context<'_>) {
        let handle = accept.session;
        let waits = |circuit: &mut Circuit| {
            let is_offered = circuit.listener.is_some() && circuit.p == P::TheirsWaiting;
            is_offered && circuit.above == above
        };
        if !self.circuit(handle).is_some_and(waits) {
            return Self::refuse(above, accept.user, Reason::NoSession, cx);
        }
        self.answered(handle);
        let asked = accept.parameters.get::<Call>().cloned().unwrap_or_default();
        let data = accept.data.as_ref().map(Message::to_vec).unwrap_or_default();
        let config_receive = self.config.receive;
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        if circuit.fast_select == FastSelect::Restricted
            || data.len() > MOST_CALL_DATA.1
            || !data.is_empty() && circuit.fast_select == FastSelect::None
        {
            // It may only be cleared, or has no room for data.
            circuit.user = Some(accept.user);
            circuit.aborted(Reason::Refused, None, cx);
            let why = (cause::CLEAR_LOCAL, diagnostic::NOT_COMPATIBLE);
            return self.clear(handle, why, Vec::new(), cx);
        }
        let mut facilities = asked.facilities;
        let flow = &mut circuit.flow;
        if let Some((called, calling)) = facilities.packet_size() {
            let lower = |log, now, standard| from_log2(log).map_or(now, |it| agree(now, it, standard));
            flow.packet_out = lower(called, flow.packet_out, STANDARD.packet_out);
            flow.packet_in = lower(calling, flow.packet_in, STANDARD.packet_in);
        }
        if let Some((called, calling)) = facilities.window() {
            flow.window_out = agree(flow.window_out, called.max(1), STANDARD.window_out);
            flow.window_in = agree(flow.window_in, calling.max(1), STANDARD.window_in);
        }
        let flow = *flow;
        let is_ours = |it: &Facility| !matches!(it, Facility::PacketSize { .. } | Facility::Window { .. });
        facilities.0.retain(is_ours);
        if circuit.negotiates.0 {
            facilities.set(Facility::PacketSize { called: log2(flow.packet_out), calling: log2(flow.packet_in) });
        }
        if circuit.negotiates.1 {
            facilities.set(Facility::Window { called: flow.window_out, calling: flow.window_in });
        }
        let plain = facilities.0.is_empty() && data.is_empty();
        let block = (!plain).then(|| Block { facilities, data, ..Block::default() });
        // Confirmation of delivery is had where both want it.
        circuit.delivery &= asked.delivery;
        circuit.relays = asked.relayed;
        let mut packet = circuit.packet(Body::Accepted(block));
        packet.delivery = circuit.delivery;
        circuit.out.push(Message::from_octets(&packet.to_vec()));
        circuit.p = P::Transfer;
        circuit.user = Some(accept.user);
        let asked = accept.quality.receive_buffer.filter(|it| *it > 0);
        circuit.receive = asked.or(config_receive).unwrap_or_else(|| flow.window_in.into());
        circuit.begin(cx);
        self.flush(handle, cx);
    }

    /// The user of an offer goes by this handle from now on.
    pub(super) fn claim(&mut self, above: Above, handle: Handle, user: Handle, cx: &mut Context<'_>) {
        match self.circuit(handle) {
            Some(circuit) if circuit.listener.is_some() => circuit.user = Some(user),
            Some(_) | None => Self::refuse(above, user, Reason::NoSession, cx),
        }
    }

    /// CALL ACCEPTED has come.
    pub(super) fn connected(&mut self, handle: Handle, delivery: bool, block: Option<&Block>, cx: &mut Context<'_>) {
        let block = block.cloned().unwrap_or_default();
        let peer = self.peer_of(handle);
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        if let Some(found) = take_answer(circuit, &block) {
            let why = self.broken(found);
            if let Some(circuit) = self.circuit(handle) {
                circuit.aborted(why, None, cx);
            }
            let why = (cause::CLEAR_LOCAL, diagnostic::FACILITY);
            return self.clear(handle, why, Vec::new(), cx);
        }
        circuit.stop(Timer::Control, cx);
        circuit.p = P::Transfer;
        circuit.call = None;
        circuit.delivery &= delivery;
        let flow = circuit.flow;
        let call = Call {
            facilities: block.facilities,
            delivery: circuit.delivery,
            channel: Some(circuit.channel),
            relayed: false,
            agreed: Some(flow),
            peer,
        };
        if let Some(user) = circuit.user {
            let opened = Opened {
                user,
                provider: handle,
                local: Address::from(circuit.local),
                remote: Address::from(circuit.remote),
                unit: flow.packet_out.into(),
                data: (!block.data.is_empty()).then(|| Message::from_octets(&block.data)),
                parameters: Parameters::of(call),
            };
            circuit.up(Indication::Opened(Box::new(opened)), cx);
        }
        circuit.begin(cx);
        self.flush(handle, cx);
    }

    /// Both ends have called on this channel.
    pub(super) fn collide(&mut self, handle: Handle, packet: &Packet, block: &Block, cx: &mut Context<'_>) {
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        let (line, channel) = (circuit.line, circuit.channel);
        if self.role(line) == Role::Dte {
            // The DCE gives up its own.
            if let Some(circuit) = self.circuit(handle) {
                circuit.p = P::Collision;
            }
            return;
        }
        let Some(other) = self.free_channel(line) else {
            let reason = told(CauseField::Clear, cause::CLEAR_CONGESTION, diagnostic::COLLISION);
            if let Some(circuit) = self.circuit(handle) {
                circuit.aborted(reason, None, cx);
            }
            self.remove_circuit(handle, cx);
            return self.incoming(line, packet, block, cx);
        };
        if let Some(line) = self.lines.get(line) {
            line.channels.remove(&channel);
            line.channels.insert(other, handle);
        }
        if let Some(circuit) = self.circuit(handle) {
            circuit.channel = other;
        }
        self.send_call(handle, cx);
        self.incoming(line, packet, block, cx);
    }

    /// We clear the call; `network` is the cause where we are the DCE.
    pub(super) fn clear(&mut self, handle: Handle, (network, code): (u8, u8), data: Vec<u8>, cx: &mut Context<'_>) {
        let Some(line) = self.circuit(handle).map(|it| it.line) else {
            return;
        };
        let cause = self.own_cause(line, network);
        self.clear_with(handle, (cause, code), data, cx);
    }

    /// As [`X25::clear`], with the cause that is said.
    fn clear_with(&mut self, handle: Handle, (cause, code): (u8, u8), data: Vec<u8>, cx: &mut Context<'_>) {
        self.counters.clears += 1;
        self.answered(handle);
        let t23 = self.config.t23;
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        circuit.stop_all(cx);
        circuit.empty(cx);
        circuit.user = None;
        circuit.p = P::OursClearing;
        circuit.tries = 0;
        circuit.said = (cause, code);
        let block = (!data.is_empty()).then(|| Block { data, ..Block::default() });
        circuit.send(Body::Clear { cause, diagnostic: Some(code), block });
        circuit.start(Timer::Control, t23, cx);
        self.flush(handle, cx);
    }

    /// The user ends its session, or refuses an offer.
    pub(super) fn clear_by_user(
        &mut self,
        handle: Handle,
        reason: Reason,
        data: Option<Message>,
        cx: &mut Context<'_>,
    ) {
        let over = self.config.over;
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        if circuit.p == P::OursClearing {
            return cx.drop("no such session");
        }
        if circuit.permanent {
            circuit.user = None;
            circuit.unanswered = false;
            if over == PacketCarrier::Circuits {
                self.remove_circuit(handle, cx);
            } else if circuit.d == D::TheirsResetting {
                circuit.d = D::Flow;
                circuit.send(Body::ResetConfirmation);
                self.flush(handle, cx);
            } else {
                self.reset(handle, diagnostic::DTE_DOWN, Reason::User, cx);
            }
            return;
        }
        let line = circuit.line;
        let has_fast_select = circuit.fast_select != FastSelect::None;
        if circuit.p == P::OursWaiting && !self.is_ready(line) {
            // CALL has not gone out.
            return self.remove_circuit(handle, cx);
        }
        let data = data.filter(|_| has_fast_select).map(|it| it.to_vec());
        let mut data = data.unwrap_or_default();
        data.truncate(MOST_CALL_DATA.1);
        let why = match crate::packet_cause(&reason) {
            Some(x25::PacketCause { what: CauseField::Clear, cause, diagnostic }) => {
                (self.passed_cause(line, cause), diagnostic)
            }
            Some(_) | None => (cause::DTE, diagnostic::NONE),
        };
        self.clear_with(handle, why, data, cx);
    }

    /// T21, T22 or T23 has expired.
    pub(super) fn on_control_timer(&mut self, handle: Handle, cx: &mut Context<'_>) {
        self.counters.timeouts += 1;
        let Config { t22, t23, r22, r23, .. } = self.config;
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        let (cause, code) = circuit.said;
        circuit.tries = circuit.tries.saturating_add(1);
        match (circuit.p, circuit.d) {
            (P::OursWaiting | P::Collision, _) => {
                circuit.lost(Reason::TimedOut, cx);
                let why = (cause::NOT_OBTAINABLE, diagnostic::TIMER_CALL);
                self.clear(handle, why, Vec::new(), cx);
            }
            (P::OursClearing, _) if circuit.tries <= r23 => {
                let (diagnostic, block) = (Some(code), None);
                circuit.send(Body::Clear { cause, diagnostic, block });
                circuit.start(Timer::Control, t23, cx);
                self.flush(handle, cx);
            }
            (P::Transfer, D::OursResetting) if circuit.tries <= r22 => {
                let diagnostic = Some(code);
                circuit.send(Body::Reset { cause, diagnostic });
                circuit.start(Timer::Control, t22, cx);
                self.flush(handle, cx);
            }
            (P::Transfer, D::OursResetting) => {
                circuit.lost(Reason::TimedOut, cx);
                if circuit.permanent {
                    // Reset again for whoever takes it next; a connection is made again.
                    if self.config.over == PacketCarrier::Circuits {
                        self.remove_circuit(handle, cx);
                    }
                } else {
                    let why = (cause::CLEAR_LOCAL, diagnostic::TIMER_RESET);
                    self.clear(handle, why, Vec::new(), cx);
                }
            }
            // Not used until the next restart.
            (P::OursClearing, _) => {
                if self.config.over == PacketCarrier::Circuits {
                    self.remove_circuit(handle, cx);
                }
            }
            (P::Ready | P::TheirsWaiting | P::Transfer, _) => {}
        }
    }
}

/// Takes what the answer to a call agrees to; gives what is wrong with it, of several things the last.
fn take_answer(circuit: &mut Circuit, block: &Block) -> Option<String> {
    let asked = circuit.flow;
    let mut wrong = None;
    if let Some((called, calling)) = block.facilities.packet_size() {
        match (from_log2(called), from_log2(calling)) {
            (Some(back), Some(out)) => {
                if !is_between(out, asked.packet_out, STANDARD.packet_out)
                    || !is_between(back, asked.packet_in, STANDARD.packet_in)
                {
                    let (ours, theirs) = (asked.packet_out, asked.packet_in);
                    wrong = Some(format!(
                        "CALL CONNECTED: packet sizes are {out} out and {back} in, expected from {ours} and {theirs}, which were asked for, towards {}",
                        STANDARD.packet_out
                    ));
                }
                (circuit.flow.packet_out, circuit.flow.packet_in) = (out, back);
            }
            _ => {
                wrong = Some(format!(
                    "CALL CONNECTED: packet sizes are 2 to the power of {called} and {calling}, expected 4 to 12"
                ));
            }
        }
    }
    if let Some((called, calling)) = block.facilities.window() {
        if !is_between(calling, asked.window_out, STANDARD.window_out)
            || !is_between(called, asked.window_in, STANDARD.window_in)
        {
            let (ours, theirs) = (asked.window_out, asked.window_in);
            wrong = Some(format!(
                "CALL CONNECTED: windows are {calling} out and {called} in, expected from {ours} and {theirs}, which were asked for, towards {}",
                STANDARD.window_out
            ));
        }
        (circuit.flow.window_out, circuit.flow.window_in) = (calling, called);
    }
    let most = if circuit.fast_select == FastSelect::None { 0 } else { MOST_CALL_DATA.1 };
    if block.data.len() > most {
        let len = block.data.len();
        wrong = Some(format!("CALL CONNECTED: called user data of {len} octets, expected {most} at most"));
    }
    wrong
}

const fn most_data(fast_select: FastSelect) -> usize {
    match fast_select {
        FastSelect::None => MOST_CALL_DATA.0,
        FastSelect::Unrestricted | FastSelect::Restricted => MOST_CALL_DATA.1,
    }
}

/// Whether addresses go with type and plan: where one of them has those.
const fn is_typed(a: Number, b: Number) -> bool {
    a.type_and_plan().is_some() || b.type_and_plan().is_some()
}
