//! Permanent virtual circuits: their set-up (RFC 1613 section 6.5).

use kumiki_graph::{Context, Handle, Reason};
use kumiki_octets::Message;
use kumiki_wire::xot::{PvcEnd, PvcSetup, status};

use super::{Entry, Permanent, Xot, octets_of};

impl Xot {
    /// What is said of a permanent circuit by who sets it up, or (`answers`) by the other.
    pub(super) fn setup_of(pvc: &Permanent, status: u8, answers: bool) -> PvcSetup {
        let ours = PvcEnd {
            interface: pvc.interface.clone().into_bytes(),
            channel: pvc.channel,
        };
        let theirs = PvcEnd {
            interface: pvc.peer_interface.clone().into_bytes(),
            channel: pvc.peer_channel,
        };
        let (initiator, responder) = if answers {
            (theirs, ours)
        } else {
            (ours, theirs)
        };
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

    pub(super) fn set_up(&mut self, own: Handle, channel: u16, cx: &mut Context<'_>) {
        let mut known = self.config.permanent.iter();
        let pvc = known.find(|pvc| pvc.channel == channel);
        let setup = pvc.map(|pvc| Self::setup_of(pvc, status::WAITING, false));
        if let (Some(setup), Some(connection)) = (setup, self.connection(own)) {
            connection.put(octets_of(&setup), cx);
        }
    }

    /// What a PVC set-up is answered by: the circuit, or a refusal, or nothing where it cannot be read.
    pub(super) fn judge(&self, octets: &[u8]) -> Result<Permanent, Option<PvcSetup>> {
        let setup = PvcSetup::parse(octets).map_err(|_| None)?;
        let refuse = |status| {
            Some(PvcSetup {
                status,
                ..setup.clone()
            })
        };
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
        let in_use = |entry: &Entry| matches!(entry, Entry::Connection(it) if it.channel == Some(pvc.channel));
        if !same(&pvc.peer_interface, &setup.initiator.interface)
            || pvc.peer_channel != setup.initiator.channel
            || self.entries.find(in_use).is_some()
        {
            return Err(refuse(status::MISMATCH));
        }
        let windows = [setup.window_in, setup.window_out];
        let packets = [setup.packet_in, setup.packet_out];
        if windows != [pvc.window; 2] || packets != [pvc.packet; 2] {
            let mut ours = Self::setup_of(pvc, status::FLOW, true);
            ours.header = setup.header;
            return Err(Some(ours));
        }
        Ok(pvc.clone())
    }

    /// The answer to our set-up.
    pub(super) fn set_up_answered(&mut self, own: Handle, packet: &Message, cx: &mut Context<'_>) {
        let answer = PvcSetup::parse(&packet.to_vec());
        if answer.is_ok_and(|answer| answer.status == status::WAITING) {
            self.counters.set_up += 1;
            self.stands(own, cx);
        } else {
            self.counters.refused += 1;
            self.close(own, Reason::Refused, cx);
        }
    }
}
