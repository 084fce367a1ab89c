//! Packets that have come: by the tables, to those whom they are for.

use kumiki_graph::{Context, Handle, Reason};
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::x25::{self, CauseField, Modulo, cause, diagnostic};
use kumiki_wire::Malformed;
use kumiki_wire::x25::x25::{Body, InvalidPacket, Packet, is_data, kind};

use super::circuit::Circuit;
use super::config::Channel;
use super::lines::of_line;
use super::states::{CallStep, D, FlowStep, Kind, P, R};
use super::{Entry, InHand, PacketCarrier, Role, X25, told};

/// The most octets of a packet that is no DATA: call set-up with everything in it.
const MOST_CONTROL: usize = 3 + 2 + 17 + 256 + 256;

/// What a packet is for the tables; nothing where it is of the whole interface.
const fn kind_of(body: &Body) -> Option<Kind> {
    Some(match body {
        Body::Call(_) => Kind::Call,
        Body::Accepted(_) => Kind::Accepted,
        Body::Clear { .. } => Kind::Clear,
        Body::ClearConfirmation(_) => Kind::ClearConfirmation,
        Body::Reset { .. } => Kind::Reset,
        Body::ResetConfirmation => Kind::ResetConfirmation,
        Body::Data { .. }
        | Body::Interrupt
        | Body::InterruptConfirmation
        | Body::Rr(_)
        | Body::Rnr(_)
        | Body::Rej(_) => Kind::Transfer,
        Body::Restart { .. } | Body::RestartConfirmation | Body::Diagnostic { .. } | Body::Registration(..) => {
            return None;
        }
    })
}

impl X25 {
    /// A packet has come by a line.
    pub(super) fn on_packet(&mut self, line: Handle, mut data: Message, cx: &mut Context<'_>) {
        self.counters.received += 1;
        let Some(r) = self.lines.get(line).map(|line| line.r) else {
            return cx.drop("packet of no line");
        };
        if r == R::Down {
            return cx.drop("packet of a line that is down");
        }
        let total = data.len();
        self.in_hand = InHand { header: header_of(&data), why: None };
        let front = data.front_at_least(Packet::MOST_HEADER);
        let header = front.first_chunk::<3>().copied();
        let parsed = if is_data(front) {
            Packet::parse(front, total)
        } else {
            let whole = total.min(MOST_CONTROL);
            let mut octets = vec![0; whole];
            let _ = data.copy_to(0, &mut octets);
            Packet::parse(&octets, total)
        };
        let (packet, len) = match parsed {
            Ok(found) if found.0.modulo == self.config.modulo => found,
            Ok(_) => {
                self.in_hand.why = header.map(|[format, ..]| other_modulo(format, self.config.modulo));
                return self.wrong(line, header, diagnostic::GFI, cx);
            }
            Err(InvalidPacket { diagnostic, why }) => {
                self.in_hand.why = Some(why);
                return self.wrong(line, header, diagnostic, cx);
            }
        };
        // The header was read, so it is there.
        let _ = data.pop(len);
        let Some(kind) = kind_of(&packet.body) else {
            return self.of_interface(line, header, &packet, cx);
        };
        if r != R::Ready {
            self.counters.discarded += 1;
            return cx.drop("packet while the interface is restarted");
        }
        if packet.channel == 0 && self.config.over != PacketCarrier::Circuits {
            return self.wrong(line, header, diagnostic::UNASSIGNED, cx);
        }
        self.of_channel(line, header, kind, &packet, data, cx);
    }

    /// RESTART and what else belongs to no channel.
    fn of_interface(&mut self, line: Handle, header: Option<[u8; 3]>, packet: &Packet, cx: &mut Context<'_>) {
        if self.config.over == PacketCarrier::Circuits {
            // RFC 1613 section 6.4: it is let be, and not answered.
            cx.drop("packet of a local interface, which has no place on XOT");
            let why = self.broken(format!("{} is of a local interface, expected a packet of a call", packet.body));
            return self.let_be(line, packet.channel, why);
        }
        let of_restart = matches!(packet.body, Body::Restart { .. } | Body::RestartConfirmation);
        if of_restart && packet.channel != 0 {
            return self.wrong(line, header, diagnostic::RESTART_CHANNEL, cx);
        }
        match &packet.body {
            Body::Restart { cause, diagnostic } => {
                self.peer_restarts(line, (*cause, diagnostic.unwrap_or(0)), cx);
            }
            Body::RestartConfirmation => self.restart_confirmed(line, cx),
            Body::Diagnostic { .. } => {
                self.counters.diagnostics += 1;
                cx.drop("DIAGNOSTIC");
            }
            Body::Registration(..)
            | Body::Call(_)
            | Body::Accepted(_)
            | Body::Clear { .. }
            | Body::ClearConfirmation(_)
            | Body::Data { .. }
            | Body::Interrupt
            | Body::InterruptConfirmation
            | Body::Rr(_)
            | Body::Rnr(_)
            | Body::Rej(_)
            | Body::Reset { .. }
            | Body::ResetConfirmation => cx.drop("registration, which is not had"),
        }
    }

    /// A packet that is none, or that is not allowed where it came.
    fn wrong(&mut self, line: Handle, header: Option<[u8; 3]>, code: u8, cx: &mut Context<'_>) {
        self.counters.errors += 1;
        cx.drop(x25::diagnostic_text(code));
        let channel = header.map_or(0, |[group, low, _]| u16::from_be_bytes([group & 15, low]));
        let is_ready = self.is_ready(line);
        match self.circuit_on(line, channel) {
            Some(handle) if is_ready && code != diagnostic::GFI => self.error(handle, code, cx),
            Some(_) | None => {
                let why = self.breach(code);
                self.let_be(line, channel, why);
                if is_ready {
                    self.diagnose(line, header, code, cx);
                }
            }
        }
    }

    /// The standard has the packet in hand discarded. Whoever waits for another there reads `why`, where nothing better
    /// comes.
    fn let_be(&mut self, line: Handle, channel: u16, why: Reason) {
        let is_ready = self.is_ready(line);
        match self.circuit_on(line, channel).filter(|_| is_ready).and_then(|handle| self.circuit(handle)) {
            Some(circuit) => circuit.let_be = Some(why),
            None => {
                if let Some(line) = self.lines.get(line) {
                    line.let_be = Some(why);
                }
            }
        }
    }

    /// A DCE tells of an error that belongs to no call.
    fn diagnose(&mut self, line: Handle, header: Option<[u8; 3]>, code: u8, cx: &mut Context<'_>) {
        let over = self.config.over;
        if self.role(line) == Role::Dce && self.config.diagnose && over != PacketCarrier::Circuits {
            let explanation = header.map(|it| it.to_vec()).unwrap_or_default();
            let body = Body::Diagnostic { code, explanation };
            let packet = of_line(self.config.modulo, body);
            self.send(line, packet, cx);
        }
    }

    /// A procedure error on a circuit: it is reset in data transfer, and otherwise cleared.
    fn error(&mut self, handle: Handle, code: u8, cx: &mut Context<'_>) {
        let why = self.breach(code);
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        match (circuit.p, circuit.d) {
            // Table C-4: whatever comes is let be until the peer confirms; another RESET would begin that, and T22,
            // again.
            (P::Transfer, D::OursResetting) => self.counters.discarded += 1,
            (P::Transfer, D::Flow | D::TheirsResetting) => {
                self.reset(handle, code, why, cx);
            }
            (P::OursClearing, _) => {}
            (P::Ready | P::OursWaiting | P::TheirsWaiting | P::Collision, _) => {
                circuit.aborted(why, None, cx);
                self.clear(handle, (cause::CLEAR_LOCAL, code), Vec::new(), cx);
            }
        }
    }

    fn of_channel(
        &mut self,
        line: Handle,
        header: Option<[u8; 3]>,
        kind: Kind,
        packet: &Packet,
        data: Message,
        cx: &mut Context<'_>,
    ) {
        let Some(handle) = self.circuit_on(line, packet.channel) else {
            return self.of_free_channel(line, header, kind, packet, cx);
        };
        let role = self.role(line);
        let circuits = self.config.over == PacketCarrier::Circuits;
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        circuit.let_be = None;
        if circuit.permanent && matches!(kind, Kind::Call | Kind::Accepted | Kind::Clear | Kind::ClearConfirmation) {
            self.counters.errors += 1;
            return self.error(handle, diagnostic::ON_PVC, cx);
        }
        let mut step = circuit.p.step(kind);
        if circuits && step == CallStep::Collide {
            // A connection is one call's, and who has opened it calls (RFC 1613 section 5).
            step = CallStep::Error;
        }
        match step {
            CallStep::Take => self.in_transfer(handle, kind, packet, data, cx),
            CallStep::Discard => {
                self.counters.discarded += 1;
                cx.drop("packet of a call that is being cleared");
            }
            CallStep::Connect => {
                if let Body::Accepted(block) = &packet.body {
                    self.connected(handle, packet.delivery, block.as_ref(), cx);
                }
            }
            CallStep::Collide => {
                if let Body::Call(block) = &packet.body {
                    self.collide(handle, packet, block, cx);
                }
            }
            CallStep::PeerClears => self.peer_clears(handle, &packet.body, cx),
            CallStep::Cleared => self.remove_circuit(handle, cx),
            CallStep::Offer | CallStep::Error => {
                let code = circuit.call_error(role);
                let why = self.breach(code);
                if let Some(circuit) = self.circuit(handle) {
                    circuit.aborted(why, None, cx);
                }
                self.counters.errors += 1;
                self.clear(handle, (cause::CLEAR_LOCAL, code), Vec::new(), cx);
            }
        }
    }

    /// A packet on a channel that has no call.
    fn of_free_channel(
        &mut self,
        line: Handle,
        header: Option<[u8; 3]>,
        kind: Kind,
        packet: &Packet,
        cx: &mut Context<'_>,
    ) {
        let role = self.role(line);
        let circuits = self.config.over == PacketCarrier::Circuits;
        let channel = self.config.ranges.of(packet.channel);
        if !circuits && channel == Channel::Unassigned {
            return self.wrong(line, header, diagnostic::UNASSIGNED, cx);
        }
        match P::Ready.step(kind) {
            CallStep::Offer => {
                let Body::Call(block) = &packet.body else {
                    return;
                };
                let one_way = match role {
                    Role::Dte => Channel::Outgoing,
                    Role::Dce => Channel::Incoming,
                };
                if !circuits && channel == one_way {
                    return self.clear_free(line, packet.channel, diagnostic::ONE_WAY, cx);
                }
                self.incoming(line, packet, block, cx);
            }
            CallStep::PeerClears => {
                let body = Body::ClearConfirmation(None);
                let packet = Packet {
                    qualified: false,
                    delivery: false,
                    modulo: self.config.modulo,
                    channel: packet.channel,
                    body,
                };
                self.send(line, Message::from_octets(&packet.to_vec()), cx);
            }
            CallStep::Collide
            | CallStep::Connect
            | CallStep::Cleared
            | CallStep::Take
            | CallStep::Discard
            | CallStep::Error => {
                self.counters.errors += 1;
                cx.drop("packet on a channel without a call");
                let code = P::Ready.diagnostic(role);
                self.breach(code);
                // RFC 1613 section 6.1 wants these let be.
                if !circuits {
                    self.clear_free(line, packet.channel, code, cx);
                }
            }
        }
    }

    /// Clears a channel that has no call.
    fn clear_free(&mut self, line: Handle, channel: u16, code: u8, cx: &mut Context<'_>) {
        let mut circuit = Circuit::new(line, channel, P::OursClearing, self.config.default);
        circuit.flow.modulo = self.config.modulo;
        let handle = self.add_circuit(circuit);
        self.clear(handle, (cause::CLEAR_LOCAL, code), Vec::new(), cx);
    }

    fn peer_clears(&mut self, handle: Handle, body: &Body, cx: &mut Context<'_>) {
        self.counters.clears += 1;
        let Body::Clear { cause, diagnostic, block } = body else {
            return;
        };
        let (cause, diagnostic) = (*cause, diagnostic.unwrap_or(0));
        let data = block.as_ref().map(|block| &block.data);
        let data = data.filter(|data| !data.is_empty()).map(|it| Message::from_octets(it));
        if let Some(circuit) = self.circuit(handle) {
            circuit.send(Body::ClearConfirmation(None));
            let reason = told(CauseField::Clear, cause, diagnostic);
            circuit.aborted(reason, data, cx);
        }
        self.remove_circuit(handle, cx);
    }

    /// A packet of a channel in data transfer.
    fn in_transfer(&mut self, handle: Handle, kind: Kind, packet: &Packet, data: Message, cx: &mut Context<'_>) {
        let Some(line) = self.circuit(handle).map(|it| it.line) else {
            return;
        };
        let role = self.role(line);
        let Some(Entry::Circuit(circuit)) = self.entries.get(handle) else {
            return;
        };
        let wrong = match circuit.d.step(kind) {
            FlowStep::PeerResets => {
                if let Body::Reset { cause, diagnostic } = packet.body {
                    self.peer_resets(handle, (cause, diagnostic.unwrap_or(0)), cx);
                }
                return;
            }
            FlowStep::ResetDone => return self.reset_done(handle, cx),
            FlowStep::Discard => {
                self.counters.discarded += 1;
                cx.drop("packet of a channel that is being reset");
                return;
            }
            FlowStep::Error => Err(circuit.d.diagnostic(role)),
            FlowStep::Take => match packet.body {
                Body::Data { .. } => circuit.on_data(packet, data, &self.config, &mut self.counters, cx),
                Body::Interrupt => {
                    self.counters.interrupts_received += 1;
                    circuit.on_interrupt(data, cx)
                }
                Body::InterruptConfirmation => circuit.on_interrupt_confirmed(&self.config, cx),
                Body::Rej(_) if self.config.over == PacketCarrier::Circuits => {
                    cx.drop("REJ, which is of a local interface");
                    Ok(())
                }
                Body::Rr(_)
                | Body::Rnr(_)
                | Body::Rej(_)
                | Body::Call(_)
                | Body::Accepted(_)
                | Body::Clear { .. }
                | Body::ClearConfirmation(_)
                | Body::Reset { .. }
                | Body::ResetConfirmation
                | Body::Restart { .. }
                | Body::RestartConfirmation
                | Body::Diagnostic { .. }
                | Body::Registration(..) => circuit.on_flow(&packet.body, &self.config, cx),
            },
        };
        match wrong {
            Ok(()) => self.flush(handle, cx),
            Err(code) => {
                self.counters.errors += 1;
                let why = self.breach(code);
                self.reset(handle, code, why, cx);
            }
        }
    }
}

/// What is wrong with the general format identifier of a packet whose first octet is `format`, where all have numbers
/// of this modulo.
const fn other_modulo(format: u8, modulo: Modulo) -> Malformed {
    let expected = match modulo {
        Modulo::Eight => "1, modulo 8",
        Modulo::Extended => "2, modulo 128",
    };
    Malformed::Field { protocol: "X.25", field: "general format identifier", found: (format >> 4 & 3) as u64, expected }
}

/// What is shown of a packet: its header alone, for what follows may be what a user typed, or a network user
/// identification.
fn header_of(packet: &Message) -> Beginning {
    let beginning = packet.beginning();
    let &[format, _, kind, ..] = beginning.octets() else {
        return beginning;
    };
    let is_extended = format >> 4 & 3 == 2;
    let header = match kind {
        _ if kind & 1 == 0 => 3 + usize::from(is_extended),
        kind::INTERRUPT => 3,
        // Cause and diagnostic.
        kind::CLEAR | kind::RESET | kind::RESTART => 5,
        _ => Packet::MOST_HEADER,
    };
    beginning.up_to(header)
}
