//! What is done: one arm for each action of the table.

use kumiki_osi_service::session::{Resync, refusal};
use kumiki_osi_service::{OsiCause, layer};
use kumiki_wire::osi::session::{Abort, Enclosed, Finish, Point, Resync as Rs, ResyncAck, Spdu, transport};

use super::*;
use crate::session::connection::Collision;

impl Session {
    /// Does `todo`, with the state as it is now and `before`.
    pub(super) fn act(&mut self, own: Handle, todo: Action, before: State, input: Input, cx: &mut Context<'_>) {
        let Input { data, end, special, opened, accept, pdu: spdu, beginning, why } = input;
        if todo == Action::Error {
            let misplaced = || Reason::violation_in(layer::SESSION, misplaced(spdu.as_ref()), beginning);
            return self.violated(own, why.unwrap_or_else(misplaced), cx);
        }
        let why = why.unwrap_or(Reason::User);
        match (todo, spdu, accept) {
            (Action::Nothing, ..) => {}
            (Action::Misuse, ..) => cx.drop("not possible in this state of the session"),
            (Action::SendCn, ..) => {
                if let Some((connection, opened)) = self.connection(own).zip(opened) {
                    (connection.local, connection.remote) = (opened.local, opened.remote);
                }
                self.send_cn(own, cx);
            }
            (Action::TakeCn, Some(Spdu::Connect(cn)), _) => self.on_cn(own, cn, cx),
            (Action::SendCdo, ..) => self.send_cdo(own, cx),
            (Action::TakeCdo, Some(Spdu::Overflow(data)), _) => self.on_cdo(own, data, cx),
            (Action::TakeAc, Some(Spdu::Accept(ac)), _) => self.on_ac(own, *ac, cx),
            (Action::TakeRf, Some(Spdu::Refuse(rf)), _) => self.on_rf(own, rf, cx),
            (Action::SendAc, _, Some(accept)) => self.send_ac(own, *accept, cx),
            (Action::SendRf, ..) => {
                let code = if let Some(OsiCause::SessionRefused(code)) = why.cause() {
                    *code
                } else if why == Reason::NoResources {
                    refusal::USER_CONGESTION
                } else if data.is_some() {
                    refusal::USER_DATA
                } else {
                    refusal::USER
                };
                self.refuse(own, code, data, cx);
            }
            (Action::SendData, ..) => self.send_data(own, data.unwrap_or_default(), end, cx),
            (Action::TakeData, Some(Spdu::Data(data)), _) => self.on_data(own, data, cx),
            (Action::SendFn, ..) => self.send_fn(own, data, cx),
            (Action::TakeFn, Some(Spdu::Finish(finish)), _) => {
                let collision = before == State::WaitDisconnect;
                self.on_fn(own, finish, collision, cx);
            }
            (Action::SendDn, ..) => self.send_dn(own, data, cx),
            (Action::TakeDn, Some(Spdu::Disconnect(data)), _) => self.on_dn(own, data, cx),
            (Action::SendAb, ..) => self.send_ab(own, data, cx),
            (Action::TakeAb, Some(Spdu::Abort(abort)), _) => {
                let item = abort.transport.unwrap_or(transport::USER_ABORT);
                let why = Reason::peer(OsiCause::SessionAborted(item));
                self.finish(own, Some((why, abort.data.data)), cx);
            }
            (Action::Purge, spdu, _) => {
                self.counters.purged += u64::from(matches!(spdu, Some(Spdu::Data(_))));
            }
            (Action::EndTransport, ..) => self.finish(own, None, cx),
            (Action::Lost, ..) => {
                // Who hangs up on CN answers it after a fashion: where the selectors are not known, or another
                // application is, many peers do.
                let is_unanswered = before == State::WaitAccept && matches!(why, Reason::Down | Reason::Reset);
                let why = if is_unanswered { Reason::peer(OsiCause::Unanswered) } else { why };
                self.finish(own, Some((why, None)), cx);
            }
            (todo, spdu, _) => {
                let primitive = special.and_then(Special::take).map(|it| *it);
                self.act_in_session(own, todo, spdu, primitive, cx);
            }
        }
    }

    /// The same for what only some functional units have.
    fn act_in_session(
        &mut self,
        own: Handle,
        todo: Action,
        spdu: Option<Spdu>,
        primitive: Option<Primitive>,
        cx: &mut Context<'_>,
    ) {
        match (todo, spdu, primitive) {
            (Action::TakeTyped, Some(Spdu::TypedData(data)), _) => self.on_typed(own, data, cx),
            (Action::TakeTokens, Some(spdu), _) => self.on_tokens(own, spdu, cx),
            (Action::TakeMip, Some(Spdu::MinorSync(point)), _) => self.on_mip(own, point, cx),
            (Action::TakeMia, Some(Spdu::MinorSyncAck { number, data }), _) => {
                self.on_mia(own, number, data, cx);
            }
            (Action::TakeRs, Some(Spdu::Resync(rs)), _) => self.on_rs(own, rs, cx),
            (Action::TakeRa, Some(Spdu::ResyncAck(ra)), _) => self.on_ra(own, ra, cx),
            (
                Action::SendTyped
                | Action::SendTokens
                | Action::SendMip
                | Action::SendMia
                | Action::SendRs
                | Action::SendRa,
                _,
                Some(primitive),
            ) => self.send_primitive(own, primitive, cx),
            _ => cx.drop("what no session has"),
        }
    }

    /// AB for a protocol error, and the user is told.
    pub(super) fn error(&mut self, own: Handle, found: &'static str, cx: &mut Context<'_>) {
        self.violated(own, Reason::violation(layer::SESSION, found), cx);
    }

    fn violated(&mut self, own: Handle, why: Reason, cx: &mut Context<'_>) {
        self.counters.errors += 1;
        self.refusal = Some(why.clone());
        self.give_up(own, transport::PROTOCOL_ERROR, why, cx);
    }

    /// Ends the transport connection, and tells the user why where it knows of the session.
    pub(super) fn finish(&mut self, own: Handle, why: Option<(Reason, Option<Message>)>, cx: &mut Context<'_>) {
        let Some(mut connection) = self.entries.forget(own) else {
            return;
        };
        cx.clear_timer(&mut connection.ends.timer);
        end_below(TRANSPORT, (own, connection.ends.lower), None, cx);
        if let Some((reason, data)) = why.filter(|_| connection.knows()) {
            connection.ends.tell_aborted(reason, data, cx);
        }
    }

    fn send_data(&mut self, own: Handle, data: Message, end: bool, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        if !connection.owns(kumiki_osi_service::session::Tokens::DATA) {
            return cx.drop("the data token is on the other side");
        }
        // Parts of an SSDU are put together: one SSDU is one TSDU.
        let mut data = data;
        if !connection.part.is_empty() || !end {
            connection.part.append(data);
            if !end {
                return;
            }
            data = core::mem::take(&mut connection.part);
        }
        connection.put_data(data);
        self.counters.sent += 1;
    }

    fn on_data(&mut self, own: Handle, enclosed: Enclosed, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        // Who has the data token is alone in sending.
        let theirs = connection.units.has(FunctionalUnits::DUPLEX)
            || !connection.tokens.has(kumiki_osi_service::session::Tokens::DATA);
        if !theirs || enclosed.enclosure.is_some() && connection.segment.is_none() {
            return self.error(own, "data of a side that has not the token, or a part where none can be", cx);
        }
        let ends = enclosed.ends();
        let mut data = enclosed.data.unwrap_or_default();
        // How much there may be of an SSDU transport's longest TSDU says; what is cut is bounded here alike.
        if !ends || !connection.gathered.is_new() {
            let taken = connection.gathered.push(data, cx.budget());
            if taken == Err(kumiki_octets::NotGathered::Memory) {
                return self.give_up(own, transport::RESTRICTION, Reason::NoResources, cx);
            }
            if taken.is_err() || connection.gathered.len() > LONGEST_CUT {
                return self.error(own, "a message in parts that is too long", cx);
            }
            if !ends {
                return;
            }
            data = connection.gathered.take();
        }
        connection.ends.hand_up(data, cx);
        self.counters.received += 1;
    }

    fn send_fn(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        // Who begins a release must have all tokens (X.225 section 7.6).
        if !connection.owns(connection.units.tokens()) {
            connection.ends.state = State::Data;
            return cx.drop("a token is on the other side");
        }
        let finish = Finish { transport: Some(transport::RELEASE), data: Enclosed { enclosure: None, data } };
        self.wait(own, self.config.timeout, cx);
        self.send(own, Spdu::Finish(finish), cx);
    }

    fn on_fn(&mut self, own: Handle, finish: Finish, collision: bool, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        if collision {
            connection.collision = Collision::Met;
        }
        connection.ends.tell_released(finish.data.data, cx);
    }

    fn send_dn(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let data = Enclosed { enclosure: None, data };
        // Of two releases that met, the answer to ours is still to come.
        let waits = connection.collision == Collision::Met;
        if waits {
            connection.collision = Collision::None;
            connection.ends.state = State::WaitDisconnect;
        }
        self.wait(own, self.config.timeout, cx);
        if self.send(own, Spdu::Disconnect(data), cx)
            && !waits
            && let Some(connection) = self.connection(own)
        {
            connection.ends.state = State::WaitTransportEnd;
            connection.ends.tell_closed(cx);
        }
    }

    fn on_dn(&mut self, own: Handle, data: Enclosed, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let waits = connection.ends.state == State::WaitDisconnect;
        if !waits && connection.collision != Collision::Met {
            return self.error(own, "a DN SPDU that answers nothing", cx);
        }
        connection.collision = Collision::Answered;
        connection.ends.tell_released(data.data, cx);
        // In a collision the answer to the other's FN is still to be given.
        if waits {
            connection.ends.tell_closed(cx);
            self.finish(own, None, cx);
        }
    }

    /// S-U-ABORT request.
    fn send_ab(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let ab = Abort {
            transport: Some(transport::RELEASE | transport::USER_ABORT),
            reflect: Vec::new(),
            data: Enclosed { enclosure: None, data },
        };
        self.last_word(own, Spdu::Abort(ab), cx);
    }

    fn on_typed(&mut self, own: Handle, data: Enclosed, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let typed = Primitive::TypedData { end: data.ends(), data: data.data.unwrap_or_default() };
        tell(connection, typed, cx);
        self.counters.received += 1;
    }

    fn on_tokens(&mut self, own: Handle, spdu: Spdu, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let primitive = if let Spdu::GiveTokens { tokens, data } = spdu {
            // Tokens that there are, and that the peer had.
            let there = connection.units.tokens();
            if !there.has(tokens) || connection.tokens.and(tokens).0 != 0 {
                return self.error(own, "a GT SPDU with tokens that the peer has not", cx);
            }
            connection.tokens = connection.tokens.or(tokens);
            Primitive::GiveTokens { tokens, data: data.data }
        } else if let Spdu::PleaseTokens { tokens, data } = spdu {
            Primitive::PleaseTokens { tokens, data: data.data }
        } else {
            return;
        };
        tell(connection, primitive, cx);
    }

    fn on_mip(&mut self, own: Handle, point: Point, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let theirs = connection.tokens.and(kumiki_osi_service::session::Tokens::MINOR).0 == 0;
        if !theirs || point.number != connection.v_m {
            return self.error(own, "an MIP SPDU without the token, or of another number", cx);
        }
        connection.set_point(true);
        let sync = Primitive::SyncMinor { number: point.number, explicit: !point.open, data: point.data.data };
        tell(connection, sync, cx);
    }

    fn on_mia(&mut self, own: Handle, number: u32, data: Enclosed, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        if !connection.waits(number, true) {
            return self.error(own, "an MIA SPDU for no point of ours", cx);
        }
        connection.v_a = number + 1;
        let reply = Primitive::SyncMinorReply { number, data: data.data };
        tell(connection, reply, cx);
    }

    fn on_rs(&mut self, own: Handle, rs: Rs, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let Rs { kind, number, tokens, data } = rs;
        let possible = match kind {
            // The peer may have set points that we have not heard of yet, and so name a number that is new to us.
            Resync::Abandon => number <= kumiki_osi_service::session::LAST_SYNC_POINT,
            Resync::Restart | Resync::Set => connection.may_go_to(kind, number),
        };
        if !possible {
            return self.error(own, "an RS SPDU to a point that cannot be", cx);
        }
        // Two that meet: one counts, and who has sent the other forgets it.
        if connection.ends.state == State::WaitResyncAck && !connection.gives_way_to(kind, number) {
            return;
        }
        connection.ends.state = State::WaitResyncResponse;
        connection.gathered = kumiki_octets::Gathering::default();
        // What waits was said before, and is thrown away by the peer.
        connection.waiting.clear();
        let number = match kind {
            Resync::Abandon => number.max(connection.v_m),
            Resync::Restart | Resync::Set => number,
        };
        let tokens = tokens.unwrap_or_default();
        connection.resync = Some((kind, number, tokens));
        let resync = Primitive::Resync { kind, number, tokens, data: data.data };
        tell(connection, resync, cx);
    }

    fn on_ra(&mut self, own: Handle, ra: ResyncAck, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let Some((kind, asked, tokens)) = connection.resync.take() else {
            return self.error(own, "an RA SPDU that answers nothing", cx);
        };
        // The called user chooses where it is free to; an abandon goes on behind what either side has used.
        let fits = match kind {
            Resync::Restart => ra.number == asked,
            Resync::Abandon => ra.number >= asked,
            Resync::Set => true,
        };
        if !fits {
            return self.error(own, "an RA SPDU with another point than was asked for", cx);
        }
        cx.clear_timer(&mut connection.ends.timer);
        connection.resynchronized(kind, ra.number);
        let tokens = ra.tokens.unwrap_or(tokens);
        connection.tokens = connection.own(tokens);
        connection.gathered = kumiki_octets::Gathering::default();
        connection.part = Message::new();
        let reply = Primitive::ResyncReply { number: ra.number, tokens, data: ra.data.data };
        tell(connection, reply, cx);
        connection.flow(cx);
    }

    /// What the user asks for, as an SPDU, or not where a token or a number forbids it.
    fn send_primitive(&mut self, own: Handle, primitive: Primitive, cx: &mut Context<'_>) {
        use kumiki_osi_service::session::Tokens;
        let Some(connection) = self.connection(own) else {
            return;
        };
        let enclosed = |data| Enclosed { enclosure: None, data };
        let spdu = match primitive {
            Primitive::TypedData { data, end } => {
                if !connection.units.has(FunctionalUnits::TYPED_DATA) || !end {
                    return cx.drop("typed data that is not agreed on, or not whole");
                }
                Spdu::TypedData(enclosed(Some(data)))
            }
            Primitive::GiveTokens { tokens, data } => {
                if !connection.tokens.has(tokens) {
                    return cx.drop("a token that is not here to be given");
                }
                connection.tokens = connection.tokens.without(tokens);
                Spdu::GiveTokens { tokens, data: enclosed(data) }
            }
            Primitive::PleaseTokens { tokens, data } => Spdu::PleaseTokens { tokens, data: enclosed(data) },
            Primitive::SyncMinor { explicit, data, .. } => {
                let agreed = connection.units.has(FunctionalUnits::MINOR_SYNCHRONIZE);
                if !agreed || !connection.owns(Tokens::MINOR) || !connection.may_set() {
                    return cx.drop("a synchronisation point that cannot be set");
                }
                let number = connection.v_m;
                connection.set_point(false);
                Spdu::MinorSync(Point { open: !explicit, number, data: enclosed(data) })
            }
            Primitive::SyncMinorReply { number, data } => {
                if !connection.waits(number, false) {
                    return cx.drop("a synchronisation point that waits for no confirmation");
                }
                connection.v_a = number + 1;
                Spdu::MinorSyncAck { number, data: enclosed(data) }
            }
            Primitive::Resync { kind, number, tokens, data } => {
                let agreed = connection.units.has(FunctionalUnits::RESYNCHRONIZE);
                let number = if kind == Resync::Abandon { connection.v_m } else { number };
                if !agreed || !connection.may_go_to(kind, number) {
                    connection.ends.state = State::Data;
                    return cx.drop("a resynchronisation that is not possible");
                }
                connection.resync = Some((kind, number, tokens));
                connection.part = Message::new();
                Spdu::Resync(Rs { kind, number, tokens: Some(tokens), data: enclosed(data) })
            }
            Primitive::ResyncReply { tokens, data, number } => {
                let Some((kind, asked, _)) = connection.resync.take() else {
                    return cx.drop("no resynchronisation to answer");
                };
                // Of an abandon the higher number counts, of the others the one that was asked for, unless the user may
                // choose (set).
                let number =
                    if kind == Resync::Set { number.min(kumiki_osi_service::session::LAST_SYNC_POINT) } else { asked };
                connection.resynchronized(kind, number);
                connection.tokens = connection.own(tokens);
                connection.part = Message::new();
                Spdu::ResyncAck(ResyncAck { number, tokens: Some(tokens), data: enclosed(data) })
            }
        };
        let is_data = matches!(spdu, Spdu::TypedData(_));
        if matches!(spdu, Spdu::Resync(_)) {
            self.wait(own, self.config.timeout, cx);
        }
        let sent = self.send(own, spdu, cx);
        self.counters.sent += u64::from(is_data && sent);
    }
}

/// The most octets of an SSDU that comes in more than one SPDU: as transport's longest TSDU.
const LONGEST_CUT: usize = 16 * 1024 * 1024;

fn tell(connection: &Connection, primitive: Primitive, cx: &mut Context<'_>) {
    connection.ends.tell(Special::new(primitive), cx);
}

/// What is wrong where the table has an error: an SPDU, if it could be read.
fn misplaced(spdu: Option<&Spdu>) -> &'static str {
    let Some(spdu) = spdu else {
        return "not an SPDU";
    };
    if receive::is_part(spdu) {
        return "a part of an SPDU, though segmenting was not agreed on";
    }
    match spdu {
        Spdu::Connect(_) => "a CN SPDU where it has no place",
        Spdu::Accept(_) => "an AC SPDU where it has no place",
        Spdu::Refuse(_) => "an RF SPDU where it has no place",
        Spdu::Overflow(_) | Spdu::OverflowAccept { .. } => "an OA or CDO SPDU where it has no place",
        Spdu::Finish(_) => "an FN SPDU where it has no place",
        Spdu::Disconnect(_) => "a DN SPDU where it has no place",
        Spdu::Abort(_) | Spdu::AbortAccept => "an AB or AA SPDU where it has no place",
        Spdu::Data(_) => "a DT SPDU where it has no place",
        Spdu::TypedData(_) => "a TD SPDU where it has no place",
        Spdu::GiveTokens { .. } | Spdu::PleaseTokens { .. } => "a GT or PT SPDU where it has no place",
        Spdu::MinorSync(_) | Spdu::MinorSyncAck { .. } => "an MIP or MIA SPDU where it has no place",
        Spdu::Resync(_) | Spdu::ResyncAck(_) | Spdu::Prepare(_) => "an RS, RA or PR SPDU where it has no place",
        Spdu::NotFinished(_)
        | Spdu::Expedited(_)
        | Spdu::GiveTokensConfirm(_)
        | Spdu::GiveTokensAck
        | Spdu::MajorSync(_)
        | Spdu::MajorSyncAck { .. }
        | Spdu::ExceptionReport { .. }
        | Spdu::ExceptionData { .. }
        | Spdu::Other { .. } => "an SPDU of a functional unit that was not agreed on",
    }
}
