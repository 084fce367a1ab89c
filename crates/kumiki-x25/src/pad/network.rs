//! The network's side: calls, their data, interrupts and resets.

use super::{
    Accept, Address, BELL, CALL, Call, CauseField, Context, Credit, Event, Facts, Handle, Indication, Item,
    MOST_PRINTED, MOST_WAITING, Message, Mode, NETWORK, Number, Offered, Open, Outgoing, Pad, Partial, Primitive,
    Quality, Reason, Request, State, diagnostic, handle, signal, x25, x29,
};
use kumiki_graph::Parameters;
use kumiki_osi_service::x25::Facilities;
use kumiki_osi_service::x25::pad::Parameter;
use kumiki_wire::x25::x29::Message as PadMessage;

/// Octets of a packet where the network does not say.
const UNIT: usize = 128;

impl Pad {
    pub(super) fn on_network(&mut self, indication: Indication, cx: &mut Context<'_>) {
        let ours = self.call.as_ref().map(|call| call.user);
        match indication {
            Indication::Opened(opened) => {
                if let Some(call) = self.call.as_mut().filter(|it| it.user == opened.user) {
                    call.provider = Some(opened.provider);
                    call.unit = unit(opened.unit);
                    self.stands("COM", cx);
                }
            }
            Indication::Offered(offered) => self.offered(&offered, cx),
            Indication::Data { session, data, .. } if ours == Some(session) => {
                self.counters.packets_in += 1;
                self.start_linger(cx);
                self.incoming.push_back(Item::Characters(data.to_vec().into()));
            }
            Indication::Special { session, what } if ours == Some(session) => match what.get() {
                Some(Primitive::Data { data, end, qualified, .. }) => self.on_packet(data, *end, *qualified, cx),
                Some(
                    Primitive::Confirm { .. }
                    | Primitive::InterruptConfirm
                    | Primitive::Claim { .. }
                    | Primitive::TakeBack { .. },
                ) => {}
                None => cx.drop("no packet layer says this"),
            },
            Indication::Credit { session, credit } if ours == Some(session) => {
                if let Some(call) = &mut self.call {
                    call.credit = call.credit.saturating_add(credit.messages);
                }
            }
            Indication::Aborted { session, reason, .. } => self.on_aborted(session, reason),
            Indication::Closed { session } => self.on_aborted(session, Reason::Down),
            Indication::Reset { session, reason } if ours == Some(session) => {
                self.on_reset(reason, cx);
            }
            // What an interrupt is about comes behind it, in an indication of break.
            Indication::Expedited { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Data { .. }
            | Indication::Special { .. }
            | Indication::Credit { .. }
            | Indication::Reset { .. } => cx.drop("no such session"),
            Indication::Unit(_) | Indication::Released { .. } => cx.drop("no packet layer says this"),
        }
    }

    /// The provider's handle of the call, where one stands.
    pub(super) fn provider(&self) -> Option<Handle> {
        let call = self.call.as_ref().filter(|call| call.ended.is_none())?;
        call.provider
    }

    /// A name for a new call, by which late primitives of another are known.
    pub(super) const fn new_call(&mut self) -> Handle {
        self.calls = self.calls.wrapping_add(1);
        handle(CALL, self.calls)
    }

    pub(super) fn open_call(
        &mut self,
        user: Handle,
        called: Number,
        facilities: Facilities,
        data: &[u8],
        cx: &mut Context<'_>,
    ) {
        self.counters.calls_out += 1;
        self.outcome = super::CallOutcome { asked: true, ..super::CallOutcome::default() };
        self.begin(user, None, UNIT);
        let open = Open {
            user,
            mode: Mode::Active,
            local: if self.config.address.is_empty() { Address::NONE } else { Address::from(self.config.address) },
            remote: Address::from(called),
            quality: self.quality(),
            data: Some(Message::from_octets(&[&x29::CALL_USER_DATA[..], data].concat())),
            parameters: Parameters::of(Facts { facilities, ..Facts::default() }),
        };
        cx.down(NETWORK, Request::Open(Box::new(open)));
    }

    fn quality(&self) -> Quality {
        Quality { receive_buffer: Some(self.config.window.max(1)), ..Quality::default() }
    }

    fn begin(&mut self, user: Handle, provider: Option<Handle>, unit: usize) {
        self.data.clear();
        self.outgoing.clear();
        self.incoming.clear();
        self.partial = Partial::default();
        self.call = Some(Call { user, provider, unit, credit: 0, ended: None, resets: false, asks: false });
    }

    fn offered(&mut self, offered: &Offered, cx: &mut Context<'_>) {
        let data = offered.data.as_ref().map(Message::to_vec);
        let data = data.unwrap_or_default();
        let is_free = matches!(self.state, State::Waiting | State::Command)
            && self.call.is_none()
            && !self.leaves
            && self.seat.as_ref().is_some_and(|seat| !seat.has_ended);
        let refusal = if x29::user_data(&data).is_none() && !data.is_empty() {
            Some(diagnostic::CALL)
        } else if !is_free {
            Some(diagnostic::RESOURCES)
        } else {
            None
        };
        let session = offered.provider;
        if let Some(diagnostic) = refusal {
            return Self::abort(session, diagnostic, cx);
        }
        self.counters.calls_in += 1;
        self.outcome = super::CallOutcome { asked: true, ..super::CallOutcome::default() };
        let user = self.new_call();
        self.begin(user, Some(session), unit(offered.unit));
        let accept = Accept { session, user, quality: self.quality(), ..Accept::default() };
        cx.down(NETWORK, Request::Accept(Box::new(accept)));
        self.drop_line();
        let signal = if let Some(number) = offered.remote.get::<Number>()
            && !number.is_empty()
        {
            format!("{number} COM")
        } else {
            "COM".to_owned()
        };
        self.stands(&signal, cx);
    }

    fn stands(&mut self, signal: &str, cx: &mut Context<'_>) {
        self.outcome.stood = true;
        self.go(Event::Connected);
        self.signal(signal);
        cx.clear_timer(&mut self.linger);
    }

    fn clearing(diagnostic: u8) -> Reason {
        Reason::peer(x25::Cause::Packet(x25::PacketCause::by_dte(CauseField::Clear, diagnostic)))
    }

    fn abort(session: Handle, diagnostic: u8, cx: &mut Context<'_>) {
        let (reason, data) = (Self::clearing(diagnostic), None);
        let abort = Request::Abort { session, reason, data };
        cx.down(NETWORK, abort);
    }

    /// Clears the call, if there is one, as the terminal or the host wants it.
    pub(super) fn clear(&mut self, diagnostic: u8, cx: &mut Context<'_>) {
        let Some(call) = self.call.take() else {
            return;
        };
        match call.provider {
            _ if call.ended.is_some() => {}
            Some(session) => Self::abort(session, diagnostic, cx),
            None => cx.down(NETWORK, Request::Cancel { user: call.user }),
        }
        self.over(cx);
    }

    /// The call is over and its data has been shown.
    fn over(&mut self, cx: &mut Context<'_>) {
        self.call = None;
        self.data.clear();
        self.drop_line();
        self.outgoing.clear();
        self.incoming.clear();
        self.parameters = self.own;
        self.printer.new_page();
        cx.clear_timer(&mut self.idle);
        cx.clear_timer(&mut self.linger);
        self.go(Event::Cleared);
        self.leaves |= self.config.once;
    }

    /// The other side or the network has ended the call.
    fn on_aborted(&mut self, session: Handle, reason: Reason) {
        if session == BELL {
            // Nobody calls us then.
            return;
        }
        let Some(call) = self.call.as_mut().filter(|it| it.user == session) else {
            return;
        };
        call.ended = Some(reason.clone());
        self.outcome.why = Some(reason);
        self.data.clear();
        self.outgoing.clear();
    }

    // Data.

    fn on_packet(&mut self, data: &Message, end: bool, qualified: bool, cx: &mut Context<'_>) {
        self.start_linger(cx);
        if !qualified {
            self.counters.packets_in += 1;
            self.incoming.push_back(Item::Characters(data.to_vec().into()));
            return;
        }
        let partial = &mut self.partial;
        partial.packets = partial.packets.saturating_add(1);
        if partial.octets.len().saturating_add(data.len()) > x29::MOST {
            partial.is_long = true;
        } else {
            partial.octets.extend(data.to_vec());
        }
        if end {
            let Partial { octets, packets, is_long } = core::mem::take(partial);
            self.incoming.push_back(Item::Message { octets, packets, is_long });
        } else {
            // The next part of it must be able to come.
            let packets = core::mem::take(&mut partial.packets);
            self.took(packets, cx);
        }
    }

    /// So many packets have been dealt with.
    fn took(&self, packets: u32, cx: &mut Context<'_>) {
        if let Some(session) = self.provider() {
            let credit = Credit::messages(packets);
            cx.down(NETWORK, Request::Credit { session, credit });
        }
    }

    /// Takes what has come, in its order: characters to the terminal, messages to the parameters.
    pub(super) fn read_incoming(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while self.outgoing.len() < MOST_WAITING && self.printer.len() < MOST_PRINTED {
            let has_ended = self.call.as_ref().is_some_and(|it| it.ended.is_some());
            let shows = self.state == State::Transfer || has_ended;
            match self.incoming.front_mut() {
                Some(Item::Characters(octets)) => {
                    if self.parameters.of(Parameter::Discard) == 1 {
                        self.counters.discarded += octets.len() as u64;
                        octets.clear();
                    }
                    if let Some(octet) = octets.front().copied() {
                        if !shows || !self.printer.goes() {
                            break;
                        }
                        octets.pop_front();
                        self.show(octet);
                    } else {
                        self.incoming.pop_front();
                        self.took(1, cx);
                    }
                }
                Some(Item::Message { .. }) => {
                    if let Some(Item::Message { octets, packets, is_long }) = self.incoming.pop_front() {
                        self.took(packets, cx);
                        self.on_message(&octets, is_long, cx);
                    }
                }
                None => {
                    let Some(reason) = self.call.as_ref().and_then(|call| call.ended.clone()) else {
                        break;
                    };
                    self.over(cx);
                    self.signal(&signal::cleared(&reason));
                    self.prompt();
                }
            }
            moved = true;
        }
        moved
    }

    /// One character of data for the terminal.
    fn show(&mut self, octet: u8) {
        if self.printer.data(octet, &self.parameters) {
            self.printer.new_page();
            // A terminal that has ended its side cannot turn it.
            if self.seat.as_ref().is_some_and(|seat| !seat.has_ended) {
                self.signal("PAGE");
                self.printer.is_paused = true;
            }
        }
    }

    /// What is for the host; when the call has ended it goes nowhere, though the terminal has not been shown that yet.
    pub(super) fn queue(&mut self, qualified: bool, octets: Vec<u8>) {
        if self.call.as_ref().is_some_and(|call| call.ended.is_none()) {
            self.outgoing.push_back(Outgoing { qualified, octets });
        }
    }

    /// Sends a PAD message.
    pub(super) fn say(&mut self, message: &PadMessage) {
        self.queue(true, message.to_vec());
    }

    /// Hands the network what it takes.
    pub(super) fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(session) = self.provider() else {
            return false;
        };
        let mut moved = false;
        while let Some(call) = self.call.as_mut().filter(|call| call.credit > 0)
            && let Some(Outgoing { qualified, octets }) = self.outgoing.pop_front()
        {
            call.credit -= 1;
            moved = true;
            let (data, end) = (Message::from_octets(&octets), true);
            let request = if qualified {
                self.counters.messages_out += 1;
                Request::special(session, Primitive::Data { data, end, qualified, delivery: false })
            } else {
                self.counters.packets_out += 1;
                Request::Data { session, data, end }
            };
            cx.down(NETWORK, request);
        }
        moved
    }

    pub(super) fn interrupt(&self, cx: &mut Context<'_>) {
        if let Some(session) = self.provider() {
            let data = Message::from_octets(&[0]);
            cx.down(NETWORK, Request::Expedited { session, data });
        }
    }

    /// Resets the call, as the terminal wants it.
    pub(super) fn reset(&mut self, cx: &mut Context<'_>) {
        let Some(session) = self.provider() else {
            return;
        };
        if let Some(call) = self.call.as_mut().filter(|call| !call.resets) {
            call.resets = true;
            let told = x25::PacketCause::by_dte(CauseField::Reset, diagnostic::NONE);
            let reason = Reason::peer(x25::Cause::Packet(told));
            cx.down(NETWORK, Request::Reset { session, reason });
            self.empty();
        }
    }

    fn on_reset(&mut self, reason: Reason, cx: &mut Context<'_>) {
        self.empty();
        let Some(call) = &mut self.call else {
            return;
        };
        if !core::mem::take(&mut call.resets) {
            let Some(session) = call.provider else {
                return;
            };
            cx.down(NETWORK, Request::Reset { session, reason: reason.clone() });
            // Resets take no credit: a terminal that does not read is not told of each.
            if self.printer.len() < MOST_PRINTED {
                self.signal(&signal::reset(&reason));
            }
        }
    }

    /// All that was in progress is gone, and what was to be thrown away with it (X.29 clause 3.4).
    fn empty(&mut self) {
        self.outgoing.clear();
        self.incoming.clear();
        self.data = Vec::new();
        self.partial = Partial::default();
        self.parameters.put(Parameter::Discard, 0);
        if let Some(call) = &mut self.call {
            call.credit = 0;
        }
    }
}

fn unit(told: u32) -> usize {
    usize::try_from(told).ok().filter(|it| *it > 0).unwrap_or(UNIT)
}
