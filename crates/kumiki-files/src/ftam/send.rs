//! What the user says: FPDUs, data, checkpoints.

use kumiki_graph::Special;
use kumiki_osi_service::ftam::StateResult;
use kumiki_osi_service::ftam::bulk::Restart;
use kumiki_osi_service::ftam::data::DataElement;
use kumiki_osi_service::session::{self, Resync};
use kumiki_wire::files::ftam::data;

use super::connection::{QueuedSend, Resyncing, one, written};
use super::document::Document;
use super::*;

impl Ftam {
    pub(super) fn send(&mut self, own: Handle, primitive: Primitive, cx: &mut Context<'_>) {
        match primitive {
            Primitive::Pdu(fpdu) => self.send_pdu(own, fpdu, cx),
            Primitive::Data(element) => self.send_element(own, element, cx),
            Primitive::Check { identifier } => self.send_check(own, identifier, cx),
            Primitive::CheckReply { identifier } => self.send_check_reply(own, identifier, cx),
        }
    }

    fn send_pdu(&mut self, own: Handle, fpdu: Fpdu, cx: &mut Context<'_>) {
        let kind = fpdu.kind();
        if matches!(kind, Kind::TerminateRequest | Kind::TerminateResponse) {
            self.terminate(own, &fpdu, cx);
        } else if kind == Kind::UserAbort {
            self.abort(own, Reason::User, Some(fpdu), cx);
        } else if matches!(kind, Kind::InitializeRequest | Kind::InitializeResponse | Kind::ProviderAbort) {
            cx.drop("an FPDU that no user sends by itself");
        } else {
            self.send_fpdu(own, &fpdu, cx);
        }
    }

    fn send_fpdu(&mut self, own: Handle, fpdu: &Fpdu, cx: &mut Context<'_>) {
        let Some(connection) = self.standing(own, cx) else {
            return;
        };
        let kind = fpdu.kind();
        if let Fpdu::RestartRequest(restart) | Fpdu::RestartResponse(restart) = fpdu
            && checkpoint(restart).is_none_or(|it| it > connection.points.set)
        {
            return cx.drop("F-RESTART from a checkpoint that was not set");
        }
        let side = connection.side;
        if connection.machine.on(side, fpdu).is_err() {
            return cx.drop("an FPDU at the wrong time");
        }
        connection.learn(fpdu);
        let data = written(fpdu);
        match (fpdu, connection.resyncing) {
            (Fpdu::CancelRequest(_) | Fpdu::RestartRequest(_), _) => {
                connection.purge_data(cx);
                if connection.has_resync() {
                    connection.ask_resync(fpdu, data);
                } else {
                    connection.post(kind, data);
                }
            }
            (Fpdu::CancelResponse(_) | Fpdu::RestartResponse(_), Resyncing::Theirs { number, beaten }) => {
                connection.answer_resync(fpdu, number, data, cx);
                // The F-CANCEL of this side that did not count ends as the peer's does.
                if beaten && let Fpdu::CancelResponse(_) = fpdu {
                    connection.tell(fpdu.clone(), cx);
                }
            }
            (Fpdu::ReadRequest(_), _) => {
                // So that the token is there when the data is asked for.
                connection.settle_token();
                connection.post(kind, data);
            }
            _ => connection.post(kind, data),
        }
        connection.settle_token();
        connection.flush(cx);
        self.counters.sent += 1;
    }

    /// The association, where its regime stands.
    fn standing(&mut self, own: Handle, cx: &mut Context<'_>) -> Option<&mut Connection> {
        let standing = self.connection(own).is_some_and(|it| it.ends.state == Phase::Standing);
        if !standing {
            cx.drop("no such association, or not while it begins or ends");
            return None;
        }
        self.connection(own)
    }

    /// A string of the document, or a part of one.
    pub(super) fn send_string(&mut self, own: Handle, data: Message, end: bool, cx: &mut Context<'_>) {
        let Some(connection) = self.standing(own, cx) else {
            return;
        };
        let mut data = data;
        if !end || !connection.part.is_empty() {
            connection.part.append(data);
            if !end {
                connection.granted = connection.granted.saturating_sub(1);
                return connection.give_back(1, cx);
            }
            data = core::mem::take(&mut connection.part);
        }
        match connection.document.and_then(|it| it.string(data)) {
            Some(element) => self.send_element(own, element, cx),
            None => {
                connection.granted = connection.granted.saturating_sub(1);
                connection.give_back(1, cx);
                cx.drop("a string for a document that has none, or is not open");
            }
        }
    }

    fn send_element(&mut self, own: Handle, element: DataElement, cx: &mut Context<'_>) {
        let Some(connection) = self.standing(own, cx) else {
            return;
        };
        connection.granted = connection.granted.saturating_sub(1);
        let place = connection.place(&element);
        let allowed = connection.machine.on_data(connection.side).is_ok();
        let Some(context) = place.filter(|_| allowed) else {
            connection.give_back(1, cx);
            let why = if allowed {
                "data that the document has not, or without a context"
            } else {
                "data while none is transferred from here"
            };
            return cx.drop(why);
        };
        let data = data::emit(element);
        connection.put(one(Value { context, data }), true);
        connection.flush(cx);
        self.counters.data_sent += 1;
    }

    fn send_check(&mut self, own: Handle, identifier: u32, cx: &mut Context<'_>) {
        let Some(connection) = self.standing(own, cx) else {
            return;
        };
        let points = &connection.points;
        let next = identifier == points.set + 1 && points.has_room();
        let allowed = connection.has_points() && next && connection.machine.on_check(connection.side, false).is_ok();
        if !allowed {
            return cx.drop("a checkpoint that cannot be set");
        }
        let number = connection.points.next;
        connection.points.set_one();
        let sync = session::Primitive::SyncMinor { number, explicit: true, data: None };
        connection.out.push_back(QueuedSend::Session(sync));
        connection.flush(cx);
    }

    fn send_check_reply(&mut self, own: Handle, identifier: u32, cx: &mut Context<'_>) {
        let Some(connection) = self.standing(own, cx) else {
            return;
        };
        let allowed = connection.machine.on_check(connection.side, true).is_ok();
        let number = connection.points.secure(identifier);
        let Some(number) = number.filter(|_| allowed) else {
            return cx.drop("a checkpoint that waits for no confirmation");
        };
        let data = None;
        let reply = session::Primitive::SyncMinorReply { number, data };
        connection.out.push_back(QueuedSend::Session(reply));
        connection.flush(cx);
    }
}

/// The checkpoint that a restart names.
pub(super) fn checkpoint(restart: &Restart) -> Option<u32> {
    u32::try_from(restart.checkpoint_identifier).ok()
}

impl Connection {
    /// What an FPDU that was allowed says of the document and of checkpoints.
    pub(super) fn learn(&mut self, fpdu: &Fpdu) {
        let opened = if let Fpdu::OpenResponse(it) = fpdu {
            Some((it.state_result, &it.contents_type))
        } else if let Fpdu::RecoverResponse(it) = fpdu {
            Some((it.state_result, &it.contents_type))
        } else {
            None
        };
        if let Some((StateResult::Success, contents)) = opened {
            self.document = Some(Document::of(contents));
            self.recovered = 0;
        }
        if let Fpdu::RecoverResponse(it) = fpdu {
            self.recovered = u32::try_from(it.recovery_point).unwrap_or(0);
        }
        if matches!(fpdu, Fpdu::ReadRequest(_) | Fpdu::WriteRequest(_)) {
            self.part = Message::new();
            self.points.begin(core::mem::take(&mut self.recovered));
        }
    }

    /// The context of an element, if the document may have it.
    fn place(&self, element: &DataElement) -> Option<kumiki_osi_service::presentation::ContextId> {
        let document = self.document?;
        let (syntax, syntaxes) = document.syntaxes(element);
        document.has(syntax).then(|| self.context(&syntaxes))?
    }

    /// An FPDU goes to those it travels with.
    fn post(&mut self, kind: Kind, data: Message) {
        let value = Value { context: self.pci(), data };
        let grouped = matches!(kind, Kind::BeginGroupRequest | Kind::BeginGroupResponse) || !self.group.is_empty();
        if grouped {
            self.group.push(value);
            if matches!(kind, Kind::EndGroupRequest | Kind::EndGroupResponse) {
                let group = core::mem::take(&mut self.group);
                self.put(group, false);
            }
        } else {
            self.put(one(value), false);
        }
    }

    /// F-CANCEL or F-RESTART request as a resynchronisation.
    fn ask_resync(&mut self, fpdu: &Fpdu, data: Message) {
        let (kind, number) = if let Fpdu::RestartRequest(restart) = fpdu {
            let identifier = checkpoint(restart).unwrap_or(0);
            (Resync::Restart, self.points.restart(identifier))
        } else {
            (Resync::Abandon, self.points.next)
        };
        let resync = session::Primitive::Resync { kind, number, tokens: self.setting(), data: Some(data) };
        // Behind what is to be known to the peer before.
        self.out.push_back(QueuedSend::Session(resync));
    }

    /// Its answer.
    fn answer_resync(&mut self, fpdu: &Fpdu, number: u32, data: Message, cx: &mut Context<'_>) {
        let tokens = self.setting();
        let reply = session::Primitive::ResyncReply { number, tokens, data: Some(data) };
        self.ends.say(Special::new(reply), cx);
        self.resynchronized(tokens);
        if let Fpdu::RestartResponse(restart) = fpdu {
            let identifier = checkpoint(restart).unwrap_or(0);
            self.points.restarted(identifier, number);
        } else {
            self.points.abandoned(number);
        }
    }
}
