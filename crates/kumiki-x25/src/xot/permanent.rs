//! Permanent virtual circuits: their set-up (RFC 1613 section 6.5).

use core::cmp::Ordering;

use kumiki_graph::{Context, Handle, Reason, Request};
use kumiki_octets::{Beginning, Message};
use kumiki_wire::x25::xot::{self, PvcEnd, PvcSetup, status};

use kumiki_osi_service::{layer, x25};

use super::{Entry, Permanent, Phase, STREAM, Xot, octets_of};

/// The end that is the lesser of two by interface, without case, and channel.
fn compare(a: &PvcEnd, b: &PvcEnd) -> Ordering {
    let name = |end: &PvcEnd| end.interface.to_ascii_lowercase();
    (name(a), a.channel).cmp(&(name(b), b.channel))
}

impl Xot {
    /// What is said of a permanent circuit by who sets it up, or (`answers`) by the other.
    pub(super) fn setup_of(pvc: &Permanent, status: u8, answers: bool) -> PvcSetup {
        let ours = PvcEnd { interface: pvc.interface.clone().into_bytes(), channel: pvc.channel };
        let theirs = PvcEnd { interface: pvc.peer_interface.clone().into_bytes(), channel: pvc.peer_channel };
        let (initiator, responder) = if answers { (theirs, ours) } else { (ours, theirs) };
        PvcSetup {
            header: [0x10, 0x00],
            status,
            initiator,
            responder,
            window_in: pvc.window,
            window_out: pvc.window,
            packet_in: pvc.packet,
            packet_out: pvc.packet,
        }
    }

    /// Whether the peer is the one that sets up the circuit of `channel`.
    pub(super) fn is_awaited(&self, channel: u16) -> bool {
        let mut known = self.config.permanent.iter();
        known.any(|pvc| pvc.channel == channel && pvc.peer.is_none())
    }

    pub(super) fn set_up(&mut self, own: Handle, channel: u16, cx: &mut Context<'_>) {
        let mut known = self.config.permanent.iter();
        let pvc = known.find(|pvc| pvc.channel == channel);
        let setup = pvc.map(|pvc| Self::setup_of(pvc, status::WAITING, false));
        if let (Some(setup), Some(connection)) = (setup, self.connection(own)) {
            connection.put(octets_of(&setup), cx);
        }
    }

    /// What a PVC set-up is answered by: the circuit, and the open of our user's that it is for; or a refusal, or
    /// nothing where it cannot be read.
    pub(super) fn judge(&mut self, octets: &[u8]) -> Result<(Permanent, Option<Handle>), Option<PvcSetup>> {
        let setup = PvcSetup::parse(octets).map_err(|_| None)?;
        let refuse = |status| Some(PvcSetup { status, ..setup.clone() });
        if setup.status != status::WAITING {
            return Err(refuse(status::PROTOCOL));
        }
        let same = |name: &str, octets: &[u8]| name.as_bytes().eq_ignore_ascii_case(octets);
        let known = &self.config.permanent;
        let on_interface = |pvc: &&Permanent| same(&pvc.interface, &setup.responder.interface);
        if !known.iter().any(|pvc| on_interface(&pvc)) {
            return Err(refuse(status::NO_INTERFACE));
        }
        let mut here = known.iter().filter(on_interface);
        let Some(pvc) = here.find(|pvc| pvc.channel == setup.responder.channel) else {
            return Err(refuse(status::NO_PVC));
        };
        if !same(&pvc.peer_interface, &setup.initiator.interface) || pvc.peer_channel != setup.initiator.channel {
            return Err(refuse(status::MISMATCH));
        }
        let windows = [setup.window_in, setup.window_out];
        let packets = [setup.packet_in, setup.packet_out];
        if windows != [pvc.window; 2] || packets != [pvc.packet; 2] {
            let mut ours = Self::setup_of(pvc, status::FLOW, true);
            ours.header = setup.header;
            return Err(Some(ours));
        }
        let pvc = pvc.clone();
        let has_it = |entry: &Entry| matches!(entry, Entry::Connection(it) if it.channel == Some(pvc.channel));
        let Some(asked) = self.entries.find(has_it) else {
            return Ok((pvc, None));
        };
        let gives_way = match self.connection(asked).map(|it| it.phase) {
            Some(Phase::Awaited | Phase::Calling) => true,
            // RFC 1613 section 6.5 has both answers for this; see the module.
            Some(Phase::SettingUp) => compare(&setup.initiator, &setup.responder).is_lt(),
            Some(Phase::Fresh | Phase::Offered | Phase::Open | Phase::Closing | Phase::Closed) | None => false,
        };
        if gives_way { Ok((pvc, Some(asked))) } else { Err(refuse(status::MISMATCH)) }
    }

    /// The circuit that our user has asked for by `asked` is the one that the peer has set up by `own`.
    pub(super) fn adopt(&mut self, own: Handle, asked: Handle, cx: &mut Context<'_>) {
        let Some(Entry::Connection(mut before)) = self.entries.remove(asked) else {
            return;
        };
        cx.clear_timer(&mut before.timer);
        match before.phase {
            Phase::Calling => cx.down(STREAM, Request::Cancel { user: asked }),
            Phase::SettingUp => {
                let (session, reason, data) = (before.lower, Reason::User, None);
                cx.down(STREAM, Request::Abort { session, reason, data });
            }
            Phase::Awaited | Phase::Fresh | Phase::Offered | Phase::Open | Phase::Closing | Phase::Closed => {}
        }
        if let Some(connection) = self.connection(own) {
            (connection.above, connection.user) = (before.above, before.user);
            connection.channel = before.channel;
            connection.wanted = before.wanted;
            self.stands(own, cx);
        }
    }

    /// The answer to our set-up.
    pub(super) fn set_up_answered(&mut self, own: Handle, packet: &Message, cx: &mut Context<'_>) {
        let why = match PvcSetup::parse(&packet.to_vec()) {
            Ok(answer) if answer.status == status::WAITING => {
                self.counters.set_up += 1;
                return self.stands(own, cx);
            }
            Ok(answer) => Reason::peer(x25::Cause::CircuitRefused(answer.status)),
            Err(why) => Reason::violation_in(layer::XOT, why.to_string(), shown(packet)),
        };
        self.counters.refused += 1;
        self.close(own, why, cx);
    }
}

/// What is shown of an answer to a set-up that is none: all of a set-up, and of another packet its header, for the rest
/// may be a user's.
fn shown(packet: &Message) -> Beginning {
    let beginning = packet.beginning();
    let is_setup = beginning.octets().get(2) == Some(&xot::PVC_SETUP);
    if is_setup { beginning } else { beginning.up_to(3) }
}
