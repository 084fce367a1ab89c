//! What is done: one arm for each action of the table.

use std::borrow::Cow;

use super::*;
use kumiki_osi_service::presentation::PData;
use kumiki_osi_service::{OsiCause, layer};
use kumiki_wire::osi::ber;

impl Acse {
    /// Does `todo`.
    pub(super) fn act(&mut self, own: Handle, todo: Action, _: State, input: Input, cx: &mut Context<'_>) {
        let Input { data, pdu, opened, accept, special, why, beginning, .. } = input;
        let why = why.unwrap_or(Reason::User);
        match todo {
            Action::Misuse => cx.drop("not possible in this state of the association"),
            Action::Error if special.is_some() => self.error(own, "data before the association stood", cx),
            Action::Error => {
                let found: Cow<'static, str> = match pdu {
                    Some(Ok(apdu)) => format!("{} where none can be", apdu.name()).into(),
                    Some(Err(why)) => why.to_string().into(),
                    None => "an APDU or a release where none of its kind can be".into(),
                };
                self.violated(own, Reason::violation_in(layer::ACSE, found, beginning), cx);
            }
            Action::TakeAare => {
                if let Some(opened) = opened {
                    self.on_aare(own, *opened, cx);
                }
            }
            Action::TakeEnd => self.on_end(own, why, data, cx),
            Action::TakeRlrq | Action::TakeCollision | Action::TakeRlre => {
                if let Some(connection) = self.connection(own)
                    && todo == Action::TakeCollision
                    && !connection.initiator
                {
                    connection.ends.state = State::CollisionResponder;
                }
                self.tell_released(own, pdu, cx);
            }
            Action::TakeRlreAndAnswer => {
                self.tell_released(own, pdu, cx);
                let held = self.connection(own).and_then(|it| it.held.take());
                if let Some(data) = held {
                    self.on(own, Event::RlsReq, Input::data(data), cx);
                }
            }
            Action::TellClosed => {
                if let Some(connection) = self.entries.forget(own) {
                    connection.ends.tell_closed(cx);
                }
            }
            Action::Pass | Action::Send => self.pass(own, todo == Action::Send, special, cx),
            Action::Forget => {
                self.entries.remove(own);
            }
            Action::SendAare => {
                if let Some(accept) = accept {
                    self.send_aare(own, *accept, cx);
                }
            }
            Action::SendRejection => self.reject(own, why, data, cx),
            Action::SendRlrq | Action::SendRlre => self.send_release(own, todo == Action::SendRlrq, data, cx),
            Action::Hold => {
                if let Some(connection) = self.connection(own) {
                    connection.held = Some(data);
                }
            }
            Action::SendAbrt => {
                if let Some(connection) = self.entries.forget(own) {
                    send_abrt(own, &connection, source::USER, data, cx);
                }
            }
            Action::Cancel => {
                self.entries.remove(own);
                cx.down(PRESENTATION, Request::Cancel { user: own });
            }
        }
    }

    /// ABRT, and the user is told.
    pub(super) fn error(&mut self, own: Handle, found: &'static str, cx: &mut Context<'_>) {
        self.violated(own, Reason::violation(layer::ACSE, found), cx);
    }

    pub(super) fn violated(&mut self, own: Handle, why: Reason, cx: &mut Context<'_>) {
        let Some(connection) = self.entries.forget(own) else {
            return;
        };
        self.counters.errors += 1;
        self.refusal = Some(why.clone());
        send_abrt(own, &connection, source::PROVIDER, None, cx);
        if connection.ends.state != State::WaitResponse {
            connection.ends.tell_aborted(why, None, cx);
        }
    }

    /// The presentation connection is over, or never was.
    fn on_end(&mut self, own: Handle, why: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.entries.forget(own) else {
            return;
        };
        let waits = connection.ends.state == State::WaitAare;
        let (reason, information) = match data.map(Apdu::parse) {
            Some(Ok(Apdu::Response(aare))) if waits => (rejected(aare.result, aare.diagnostic), Some(aare.information)),
            Some(Ok(Apdu::Abort(abrt))) => {
                let provider = abrt.source != source::USER;
                let told = OsiCause::AssociationAborted { provider };
                (Reason::peer(told), Some(abrt.information))
            }
            _ => (why, None),
        };
        let data = information.and_then(|it| said(it, connection.own()));
        connection.ends.tell_aborted(reason, data, cx);
    }

    /// RLRQ or RLRE, or neither beside FN or DN.
    fn tell_released(&mut self, own: Handle, apdu: Option<Result<Apdu, Malformed>>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let information = match apdu {
            Some(Ok(Apdu::ReleaseRequest(release) | Apdu::ReleaseResponse(release))) => release.information,
            _ => Vec::new(),
        };
        let data = said(information, connection.own());
        connection.ends.tell_released(data, cx);
    }

    fn send_release(&mut self, own: Handle, request: bool, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let release = Release { reason: Some(reason::NORMAL), information: informed(connection.own(), false, data) };
        let apdu = if request { Apdu::ReleaseRequest(release) } else { Apdu::ReleaseResponse(release) };
        connection.ends.release(Some(apdu.emit()), cx);
    }

    /// P-RELEASE indication or confirm: which, the APDU says, and without one the state.
    pub(super) fn came_release(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return cx.drop("no such association");
        };
        let beginning = data.as_ref().map(ber::beginning).unwrap_or_default();
        let apdu = data.map(Apdu::parse);
        let event = match &apdu {
            Some(Ok(Apdu::ReleaseRequest(_))) => Event::Rlrq,
            Some(Ok(Apdu::ReleaseResponse(_))) => Event::Rlre,
            Some(_) => Event::Invalid,
            None => match connection.ends.state {
                State::WaitRlre | State::CollisionResponder => Event::Rlre,
                State::WaitAare
                | State::WaitResponse
                | State::WaitReleaseResponse
                | State::Associated
                | State::CollisionInitiator => Event::Rlrq,
            },
        };
        self.on(own, event, Input { pdu: apdu, beginning, ..Input::default() }, cx);
    }

    /// What is the user's, down or up.
    fn pass(&mut self, own: Handle, down: bool, passing: Option<Special>, cx: &mut Context<'_>) {
        let Some((connection, what)) = self.connection(own).zip(passing) else {
            return;
        };
        let values = what.get::<PData>();
        let ours = values.is_some_and(|PData(values)| values.iter().any(|it| connection.is_control(it.context)));
        match (down, ours) {
            (true, false) => connection.ends.say(what, cx),
            (true, true) => {
                connection.ends.let_send(Credit::messages(1), cx);
                cx.drop("a value in the context of association control");
            }
            (false, false) => connection.ends.tell(what, cx),
            // No APDU rides on P-DATA.
            (false, true) => self.error(own, "an APDU among data", cx),
        }
    }
}

/// ABRT, where there is somebody to read it.
pub(super) fn send_abrt(
    own: Handle,
    connection: &Connection,
    source: i64,
    data: Option<Message>,
    cx: &mut Context<'_>,
) {
    let abrt = Apdu::Abort(Abort { source, diagnostic: None, information: informed(connection.own(), false, data) });
    end_below(PRESENTATION, (own, connection.ends.lower), Some(abrt.emit()), cx);
}

/// User data as user information, in the context `own`.
pub(super) fn informed(own: Option<ContextId>, direct: bool, data: Option<Message>) -> Vec<Information> {
    let information = |data| Information {
        // What is in no context says at least how it is written.
        direct: (direct || own.is_none()).then_some(BASIC_ENCODING_RULES),
        context: own,
        form: Form::Single,
        data,
    };
    data.map(information).into_iter().collect()
}

/// The one value of user information that counts.
pub(super) fn said(information: Vec<Information>, own: Option<ContextId>) -> Option<Message> {
    let at = information.iter().position(|it| own.is_some() && it.context == own);
    information.into_iter().nth(at.unwrap_or(0)).map(|it| it.data)
}

pub(super) fn rejected(result: AssociateResult, diagnostic: Diagnostic) -> Reason {
    Reason::peer(OsiCause::Rejected { permanent: result != AssociateResult::RejectedTransient, diagnostic })
}
