//! What comes from the network.

use kumiki_graph::Work;
use std::borrow::Cow;

use kumiki_octets::{Beginning, NotGathered};
use kumiki_osi_service::x25::{self, CauseField, PacketCause, diagnostic};
use kumiki_osi_service::{OsiCause, layer};

use super::*;

/// The fixed part of a TPDU's header: what an ER tells of it, and what is shown to somebody.
#[derive(Clone, Copy)]
pub(super) struct Head {
    octets: [u8; 7],
    len: usize,
    /// Octets of the TPDU.
    total: usize,
}

impl Head {
    /// The length and the code.
    const CODE: usize = 2;
    /// Up to the reference that says whose it is.
    const REFERENCE: usize = 4;
    /// Up to the class; parameters follow.
    const CLASS: usize = 7;

    /// Of the TPDU of `total` octets that begins with `front`.
    fn of(front: &[u8], total: usize) -> Self {
        let mut octets = [0; 7];
        let len = shown_of(front).min(octets.len());
        for (to, from) in octets.iter_mut().zip(front) {
            *to = *from;
        }
        Self { octets, len, total }
    }

    fn beginning(&self) -> Beginning {
        Beginning::of(self.octets.get(..self.len).unwrap_or_default(), self.total)
    }

    fn up_to(&self, most: usize) -> Vec<u8> {
        self.octets.iter().take(self.len.min(most)).copied().collect()
    }
}

/// How many octets of a TPDU's `front` may be shown: what follows its header, and that of DT has always the same
/// length, is a user's.
fn shown_of(front: &[u8]) -> usize {
    let [li, code, ..] = *front else {
        return front.len();
    };
    let header =
        if cotp::Code::of(code) == cotp::Code::Dt { cotp::DATA_LEN } else { cotp::header_len(li).max(Head::CODE) };
    header.min(front.len())
}

impl Tp0 {
    /// A network connection is taken from whoever calls, for only its CR says whom the caller wants.
    pub(super) fn network_offered(&mut self, offered: Offered, cx: &mut Context<'_>) {
        let of_x25 = |code| Reason::peer(x25::Cause::Packet(PacketCause::by_dte(CauseField::Clear, code)));
        let is_x25 = self.config.network == Network::X25;
        let data = offered.data.as_ref().filter(|_| is_x25).map(Message::to_vec).unwrap_or_default();
        let stranger = self.config.call_user_data.judge(&data);
        let refusal = if self.is_full() {
            Some(if is_x25 { of_x25(diagnostic::RESOURCES) } else { Reason::NoResources })
        } else if self.entries.get(offered.user).is_none() {
            Some(Reason::BadAddress)
        } else {
            stranger.is_some().then(|| of_x25(diagnostic::UNRECOGNISED_PROTOCOL))
        };
        if let Some(reason) = refusal {
            self.counters.refused += 1;
            if let Some(found) = stranger {
                self.refusal = Some(Reason::stranger(layer::TRANSPORT, found, Beginning::default()));
            }
            return abort_below(NETWORK, offered.provider, reason, None, cx);
        }
        // It gets a reference with the CR that is taken: those who are refused leave no trace in the others'
        // references.
        let mut connection = Connection::new(Ends::new(Above(0), Handle::default(), State::WaitRequest), 0);
        connection.longest = self.config.max_first_tsdu;
        connection.ends.lower = offered.provider;
        connection.remote = offered.remote;
        connection.local = offered.local;
        connection.tpdu_size = self.default_size();
        let own = self.entries.keep(connection);
        let accept = Accept { session: offered.provider, user: own, ..Accept::default() };
        cx.down(NETWORK, Request::Accept(Box::new(accept)));
        self.wait(own, self.config.timeout, cx);
    }

    /// A message of the network: one TPDU.
    pub(super) fn came(&mut self, own: Handle, mut data: Message, end: bool, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("a TPDU of no connection");
        };
        connection.owed += 1;
        // The network hands up the parts of a message as they come; a TPDU is one message.
        if !end || !connection.part.is_empty() {
            connection.part.append(data);
            let copied = connection.part.condense() as u64;
            if copied > 0 {
                cx.charge(Work::Copy, copied);
            }
            if connection.part.len() > connection.tpdu_size.max(cotp::DEFAULT_SIZE_RFC1006) {
                let (total, most) = (connection.part.len(), connection.tpdu_size);
                let head = Head::of(connection.part.front_at_least(cotp::DATA_LEN), total);
                let found = format!("a TPDU of at least {total} octets, expected {most} at most, as agreed on");
                return self.protocol_error(own, found, (head, Head::CODE), cx);
            }
            if !end {
                return self.grant_network(own, cx);
            }
            data = core::mem::take(&mut connection.part);
        }
        let total = data.len();
        let li = data.front_at_least(1).first().copied().unwrap_or(0);
        let front = data.front_at_least(cotp::header_len(li).min(total));
        match Tpdu::parse(front, total) {
            Ok((tpdu, header)) => {
                let head = Head::of(front, total);
                self.tpdu(own, tpdu, (header, head), data, cx);
            }
            Err(refused) => {
                let invalid = front.get(..refused.up_to).unwrap_or(front).to_vec();
                let shown = Beginning::of(front, total).up_to(shown_of(front));
                let why = Reason::violation_in(layer::TRANSPORT, refused.why.to_string(), shown);
                self.error(own, refused.cause, invalid, why, cx);
            }
        }
        self.grant_network(own, cx);
    }

    fn tpdu(&mut self, own: Handle, tpdu: Tpdu, (header, head): (usize, Head), data: Message, cx: &mut Context<'_>) {
        match tpdu {
            Tpdu::Data(dt) => self.on_dt(own, dt, (header, head), data, cx),
            Tpdu::Request(cr) => self.on_cr(own, &cr, head, cx),
            Tpdu::Confirm(cc) => self.on_cc(own, &cc, head, cx),
            Tpdu::Disconnect(dr) => {
                let why = match self.connection(own).map(|it| it.ends.state) {
                    // Of a connection that stood, it is no refusal.
                    Some(State::Open) if dr.reason == reason::NORMAL => Reason::Down,
                    _ => Reason::peer(OsiCause::Disconnected(dr.reason)),
                };
                self.on(own, Event::Dr, Input::why(why), cx);
            }
            Tpdu::Error(er) => {
                let why = Reason::peer(OsiCause::TpduRejected(er.cause.into()));
                self.on(own, Event::Er, Input::why(why), cx);
            }
        }
    }

    /// A TPDU that cannot be taken, for `why`: ER with its beginning up to where that shows.
    fn error(&mut self, own: Handle, cause: Cause, invalid: Vec<u8>, why: Reason, cx: &mut Context<'_>) {
        self.counters.errors += 1;
        if let Some(connection) = self.connection(own) {
            let er = Tpdu::Error(cotp::Error { dst_ref: connection.dst_ref, cause, invalid });
            send(connection, &er, cx);
        }
        self.refusal = Some(why.clone());
        self.on(own, Event::Invalid, Input::why(why), cx);
    }

    /// A TPDU that can be read and has no place here. ER has it up to where that shows (X.224 section 6.22.3: in class
    /// 0 it shall).
    fn protocol_error(
        &mut self,
        own: Handle,
        found: impl Into<Cow<'static, str>>,
        (head, at): (Head, usize),
        cx: &mut Context<'_>,
    ) {
        let why = Reason::violation_in(layer::TRANSPORT, found, head.beginning());
        self.error(own, Cause::TpduType, head.up_to(at), why, cx);
    }

    fn on_dt(
        &mut self,
        own: Handle,
        dt: cotp::Data,
        (header, head): (usize, Head),
        mut data: Message,
        cx: &mut Context<'_>,
    ) {
        let longest = self.config.max_tsdu;
        let Some(connection) = self.connection(own) else {
            return;
        };
        let longest = longest.min(connection.longest) as usize;
        let (todo, _) = states::next(connection.ends.state, Event::Dt);
        let (total, most) = (data.len(), connection.tpdu_size);
        let all = connection.gathered.len().saturating_add(total.saturating_sub(header));
        let found = if todo != Action::Take {
            Some("a DT TPDU before the connection stood".into())
        } else if total > most {
            Some(format!("a TPDU of {total} octets, expected {most} at most, as agreed on"))
        } else if all > longest || data.pop(header).is_err() {
            Some(format!("a message of at least {all} octets, expected {longest} at most"))
        } else {
            None
        };
        if let Some(found) = found {
            return self.protocol_error(own, found, (head, Head::CODE), cx);
        }
        if dt.eot && connection.gathered.is_new() {
            connection.complete.push_back(data);
        } else {
            match connection.gathered.push(data, cx.budget()) {
                Ok(0) => {}
                Ok(copied) => cx.charge(Work::Copy, copied as u64),
                Err(NotGathered::Pieces) => {
                    let found = "a message in too many TPDUs for its length";
                    return self.protocol_error(own, found, (head, Head::CODE), cx);
                }
                // Class 0 has no word for it but the end of the network connection (X.224 section 6.7.2).
                Err(NotGathered::Memory) => return self.end(own, Some(Reason::NoResources), cx),
            }
            if dt.eot {
                let whole = connection.gathered.take();
                connection.complete.push_back(whole);
            }
        }
        self.counters.received += 1;
        self.deliver(own, cx);
    }

    /// Hands up what is complete, as far as the user takes it.
    fn deliver(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        while connection.wanted > 0
            && let Some(data) = connection.complete.pop_front()
        {
            connection.wanted -= 1;
            connection.ends.hand_up(data, cx);
        }
    }

    /// The network may send on, unless something waits for the user.
    fn grant_network(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        if connection.complete.is_empty() && connection.owed > 0 {
            let messages = core::mem::take(&mut connection.owed);
            connection.ends.let_come(Credit::messages(messages), cx);
        }
    }

    pub(super) fn credit(&mut self, session: Handle, messages: u32, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(session) else {
            return cx.drop("no such connection");
        };
        connection.wanted = connection.wanted.saturating_add(messages);
        self.deliver(session, cx);
        self.grant_network(session, cx);
    }

    /// CR: who is called, and what is agreed on.
    fn on_cr(&mut self, own: Handle, cr: &cotp::Connection, head: Head, cx: &mut Context<'_>) {
        let state = self.connection(own).map(|it| it.ends.state);
        let row = state.map(|state| states::next(state, Event::Cr));
        let Some((Action::Offer, Some(next))) = row else {
            let found = "a CR TPDU on a connection that was asked for already";
            return self.protocol_error(own, found, (head, Head::CODE), cx);
        };
        let called = cr.parameters.called;
        let size = self.agreed(cr);
        let fits = |wanted: &Option<Selector>| wanted.is_none() || *wanted == called;
        let listener = self.entries.called(|wanted| fits(wanted).then_some(0));
        let listener = listener.and_then(|own| {
            let listener = self.entries.listener(own)?;
            Some((own, listener.above, listener.user))
        });
        if let Some(connection) = self.connection(own) {
            connection.dst_ref = cr.src_ref;
        }
        let is_short = cx.budget().is_some_and(kumiki_octets::Account::is_short);
        let refusal = match (listener, size) {
            _ if is_short => Err(reason::REMOTE_CONGESTION),
            _ if !cr.allows_class_0() => Err(reason::NEGOTIATION_FAILED),
            _ if cr.dst_ref != 0 => Err(reason::MISMATCHED_REFERENCES),
            (None, _) => Err(reason::ADDRESS_UNKNOWN),
            (Some(listener), size) => Ok((listener, size)),
        };
        let ((listener, above, user), size) = match refusal {
            Ok(taken) => taken,
            Err(code) => return self.refuse(own, code, cx),
        };
        let longest = self.config.max_tsdu;
        let reference = self.reference();
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.src_ref = reference;
        connection.ends.above = above;
        connection.ends.listener = listener;
        connection.called = called;
        connection.calling = cr.parameters.calling;
        connection.tpdu_size = size;
        connection.ends.state = next;
        let mut association = Association::default();
        association.called.transport = called;
        association.calling.transport = cr.parameters.calling;
        let offered = Offered {
            user,
            provider: own,
            local: connection.local,
            remote: connection.remote,
            unit: longest,
            parameters: kumiki_graph::Parameters::of(association),
            ..Offered::default()
        };
        cx.up(above, Indication::Offered(Box::new(offered)));
        self.wait(own, self.config.timeout, cx);
    }

    /// The TPDU size for a caller's proposal: what it proposes, and not more than we would.
    fn agreed(&self, cr: &cotp::Connection) -> usize {
        let own = usize::from(self.config.tpdu_size);
        let preferred = self.config.preferred_size as usize;
        let parameters = &cr.parameters;
        match (parameters.preferred, parameters.size) {
            (Some(_), _) if preferred > 0 => cr.size().map_or(own, |size| size.min(preferred)),
            (_, Some(size)) => own.min(1 << size.min(13)),
            (_, None) => self.default_size(),
        }
    }

    fn on_cc(&mut self, own: Handle, cc: &cotp::Connection, head: Head, cx: &mut Context<'_>) {
        let (own_size, preferred) = (usize::from(self.config.tpdu_size), self.config.preferred_size as usize);
        let default = self.default_size();
        let Some(connection) = self.connection(own) else {
            return;
        };
        let (todo, _) = states::next(connection.ends.state, Event::Cc);
        let size = cc.size().unwrap_or(default);
        let most = if cc.parameters.preferred.is_some() {
            preferred.max(own_size)
        } else if cc.parameters.size.is_some() {
            own_size
        } else {
            default
        };
        // Its answer must be one to our CR: our reference, our class, and no larger TPDUs than we proposed.
        let wrong = if todo != Action::Confirm {
            Some(("a CC TPDU where no CR of ours waits for an answer".to_owned(), Head::CODE))
        } else if cc.dst_ref != connection.src_ref {
            let (found, expected) = (cc.dst_ref, connection.src_ref);
            Some((format!("CC: DST-REF is {found}, expected {expected}, as our CR has it"), Head::REFERENCE))
        } else if cc.class != 0 {
            Some((format!("CC: class is {}, expected 0, as our CR has it", cc.class), Head::CLASS))
        } else if size > most {
            Some((format!("CC: TPDU size is {size} octets, expected {most} at most, as our CR has it"), Head::CLASS))
        } else {
            None
        };
        if let Some((found, at)) = wrong {
            return self.protocol_error(own, found, (head, at), cx);
        }
        connection.dst_ref = cc.src_ref;
        connection.tpdu_size = size;
        let association = connection.association.get_or_insert_default();
        association.called.transport = cc.parameters.called.or(connection.called);
        self.on(own, Event::Cc, Input::default(), cx);
    }
}
