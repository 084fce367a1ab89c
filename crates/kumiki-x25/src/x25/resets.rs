//! Resets of a channel, by us, by the peer and by the user.

use kumiki_graph::{Context, Handle, Indication, Reason};
use kumiki_osi_service::x25::{self, CauseField, cause, diagnostic};
use kumiki_wire::x25::x25::Body;

use super::circuit::Timer;
use super::states::{D, P};
use super::{X25, told};

impl X25 {
    /// We reset the channel for what the peer, or a timer, has done; `Reason::User` where nobody is told but asked to
    /// answer.
    pub(super) fn reset(&mut self, handle: Handle, code: u8, reason: Reason, cx: &mut Context<'_>) {
        let Some(line) = self.circuit(handle).map(|it| it.line) else {
            return;
        };
        let cause = self.own_cause(line, cause::RESET_LOCAL);
        self.reset_with(handle, (cause, code), reason, cx);
    }

    /// As [`X25::reset`], with the cause that is said.
    fn reset_with(&mut self, handle: Handle, (cause, code): (u8, u8), reason: Reason, cx: &mut Context<'_>) {
        self.counters.resets += 1;
        let t22 = self.config.t22;
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        circuit.empty(cx);
        circuit.d = D::OursResetting;
        circuit.tries = 0;
        circuit.said = (cause, code);
        circuit.send(Body::Reset { cause, diagnostic: Some(code) });
        circuit.start(Timer::Control, t22, cx);
        if reason != Reason::User
            && let Some(session) = circuit.user
            && !circuit.user_resets
            && !core::mem::replace(&mut circuit.unanswered, true)
        {
            circuit.up(Indication::Reset { session, reason }, cx);
        }
        self.flush(handle, cx);
    }

    /// What we have reset is.
    pub(super) fn reset_done(&mut self, handle: Handle, cx: &mut Context<'_>) {
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        circuit.stop(Timer::Control, cx);
        circuit.d = D::Flow;
        if let Some(reason) = circuit.then_resets.take() {
            return self.user_reset(handle, reason, cx);
        }
        if core::mem::take(&mut circuit.user_resets)
            && let Some(session) = circuit.user
        {
            let reason = Reason::User;
            circuit.up(Indication::Reset { session, reason }, cx);
        }
        circuit.begin(cx);
        self.flush(handle, cx);
    }

    /// RESET has come on a channel that is ready.
    pub(super) fn peer_resets(&mut self, handle: Handle, why: (u8, u8), cx: &mut Context<'_>) {
        self.counters.resets += 1;
        let Some(circuit) = self.circuit(handle) else {
            return;
        };
        circuit.empty(cx);
        let (cause, diagnostic) = why;
        match circuit.user {
            Some(session) => {
                circuit.d = D::TheirsResetting;
                if !core::mem::replace(&mut circuit.unanswered, true) {
                    let reason = told(CauseField::Reset, cause, diagnostic);
                    circuit.up(Indication::Reset { session, reason }, cx);
                }
            }
            None => circuit.send(Body::ResetConfirmation),
        }
        self.flush(handle, cx);
    }

    /// The user resets, or answers a reset.
    pub(super) fn user_reset(&mut self, handle: Handle, reason: Reason, cx: &mut Context<'_>) {
        let Some(circuit) = self.circuit(handle).filter(|it| it.user.is_some()) else {
            return cx.drop("no such session");
        };
        if circuit.p != P::Transfer {
            return cx.drop("no such session");
        }
        if core::mem::take(&mut circuit.unanswered) {
            let line = circuit.line;
            if circuit.d == D::TheirsResetting {
                circuit.d = D::Flow;
                circuit.send(Body::ResetConfirmation);
                circuit.begin(cx);
            } else if self.is_ready(line)
                && let Some(circuit) = self.circuit(handle)
            {
                // The reset was done before, and data may have come since. Where it is not done, nothing begins yet.
                circuit.attach(cx);
            }
            return self.flush(handle, cx);
        }
        if circuit.d != D::Flow {
            // Its end is the answer to this one, too, unless this one says how the circuit is.
            circuit.user_resets = true;
            circuit.then_resets = Some(reason).filter(|it| circuit.permanent && crate::packet_cause(it).is_some());
            return;
        }
        circuit.user_resets = true;
        let line = circuit.line;
        let why = match crate::packet_cause(&reason) {
            Some(x25::PacketCause { what: CauseField::Reset, cause, diagnostic }) => {
                (self.passed_cause(line, cause), diagnostic)
            }
            Some(_) | None => (self.own_cause(line, cause::RESET_LOCAL), diagnostic::NONE),
        };
        self.reset_with(handle, why, Reason::User, cx);
    }
}
