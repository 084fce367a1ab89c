//! What the peer says: FPDUs, data, and what session has for them.

use kumiki_osi_service::presentation::Values;
use kumiki_osi_service::session::{self, Resync};
use kumiki_wire::files::ftam::data::{Reader, Syntax};

use super::connection::Resyncing;
use super::document::Content;
use super::send::checkpoint;
use super::*;

impl Ftam {
    /// P-DATA.
    pub(super) fn came(&mut self, own: Handle, values: Values, cx: &mut Context<'_>) {
        let most = self.config.values as usize;
        let Some(connection) = self.connection(own) else {
            return cx.drop("no such association");
        };
        if values.len() > most {
            let details = format!("{} values at once, of {most} at most", values.len());
            self.in_hand = Beginning::default();
            return self.mistake(own, error::PROTOCOL, details, cx);
        }
        if !matches!(connection.ends.state, Phase::Standing) {
            let details = "a value while the association begins or ends".to_owned();
            self.in_hand = values.first().map(|value| ber::beginning(&value.data)).unwrap_or_default();
            return self.mistake(own, error::PROTOCOL, details, cx);
        }
        let mut elements = 0_u32;
        for value in values {
            let Some(connection) = self.connection(own) else {
                return;
            };
            if value.context == connection.pci() {
                self.on_fpdus(own, &value.data, cx);
            } else {
                elements = elements.saturating_add(self.on_value(own, value, cx));
            }
        }
        let Some(connection) = self.connection(own) else {
            return;
        };
        match elements.checked_sub(1) {
            Some(more) => connection.surplus = connection.surplus.saturating_add(more),
            None => connection.owed = connection.owed.saturating_add(1),
        }
        connection.settle_token();
        connection.flush(cx);
        connection.repay(cx);
    }

    /// A value in the context of FTAM-PCI: an FPDU, or some of a group.
    fn on_fpdus(&mut self, own: Handle, data: &Message, cx: &mut Context<'_>) {
        match self.read(data) {
            Ok(fpdus) => {
                for fpdu in fpdus {
                    self.on_fpdu(own, fpdu, cx);
                }
            }
            Err(details) => self.mistake(own, error::UNREADABLE, details, cx),
        }
    }

    fn on_fpdu(&mut self, own: Handle, fpdu: Fpdu, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let kind = fpdu.kind();
        let elsewhere = matches!(
            kind,
            Kind::InitializeRequest
                | Kind::InitializeResponse
                | Kind::TerminateRequest
                | Kind::TerminateResponse
                | Kind::UserAbort
                | Kind::ProviderAbort
        );
        if elsewhere {
            let details = format!("{kind} as data");
            return self.mistake(own, error::PROTOCOL, details, cx);
        }
        let side = connection.side;
        match connection.machine.on(side.other(), &fpdu) {
            Ok(Step::Take) => {}
            Ok(Step::Drop) => {
                self.counters.late += 1;
                return;
            }
            Err(wrong) => return self.fail(own, wrong.diagnostic(side), cx),
        }
        if let Fpdu::RestartRequest(restart) = &fpdu
            && checkpoint(restart).is_none_or(|it| it > connection.points.set)
        {
            let details = "F-RESTART from a checkpoint that was not set".to_owned();
            return self.mistake(own, error::BAD_CHECKPOINT, details, cx);
        }
        if matches!(kind, Kind::CancelRequest | Kind::RestartRequest) {
            connection.purge_data(cx);
        }
        connection.learn(&fpdu);
        connection.tell(fpdu, cx);
        self.counters.received += 1;
    }

    /// A value in another context; how many elements of it were handed up.
    fn on_value(&mut self, own: Handle, value: Value, cx: &mut Context<'_>) -> u32 {
        self.in_hand = ber::beginning(&value.data);
        let Some(connection) = self.connection(own) else {
            return 0;
        };
        let side = connection.side;
        match connection.machine.on_data(side.other()) {
            Ok(Step::Take) => {}
            Ok(Step::Drop) => {
                self.counters.late += 1;
                return 0;
            }
            Err(wrong) => {
                self.fail(own, wrong.diagnostic(side), cx);
                return 0;
            }
        }
        let syntax = connection.syntax(value.context).and_then(Syntax::of);
        let document = connection.document.zip(syntax);
        let Some((document, syntax)) = document.filter(|(document, it)| document.has(*it)) else {
            let details = "data in a context that is not the document's".to_owned();
            self.mistake(own, error::PROTOCOL, details, cx);
            return 0;
        };
        let mut elements = 0_u32;
        for element in Reader::new(syntax, value.data) {
            match element {
                Ok(element) => {
                    elements = elements.saturating_add(1);
                    match document.content(element) {
                        Content::String(data) => connection.ends.hand_up(data, cx),
                        Content::Other(element) => {
                            connection.tell(Primitive::Data(element), cx);
                        }
                    }
                }
                Err(why) => {
                    self.mistake(own, error::UNREADABLE, why.to_string(), cx);
                    return elements;
                }
            }
        }
        self.counters.data_received += u64::from(elements);
        elements
    }

    /// Synchronisation, and tokens.
    pub(super) fn session_said(&mut self, own: Handle, primitive: session::Primitive, cx: &mut Context<'_>) {
        let standing =
            self.connection(own).is_some_and(|it| matches!(it.ends.state, Phase::Standing | Phase::Terminating));
        if !standing {
            return cx.drop("no such association, or not while it begins or ends");
        }
        self.in_hand = Beginning::default();
        // What the peer has just given it does not want back, unless it says so: what makes it ours may still be on its
        // way. Two that do not agree on who is to have it would hand it to each other for ever.
        let given = matches!(primitive, session::Primitive::GiveTokens { .. });
        match primitive {
            session::Primitive::SyncMinor { .. } => self.on_check_pdu(own, cx),
            session::Primitive::SyncMinorReply { number, .. } => {
                self.on_check_reply(own, number, cx);
            }
            session::Primitive::Resync { kind, number, data, .. } => self.on_resync(own, kind, number, data, cx),
            session::Primitive::ResyncReply { number, tokens, data } => {
                self.on_resync_reply(own, number, tokens, data, cx);
            }
            session::Primitive::GiveTokens { tokens, .. } => {
                if let Some(connection) = self.connection(own)
                    && tokens.has(session::Tokens::MINOR)
                {
                    connection.token_came();
                }
            }
            session::Primitive::PleaseTokens { .. } => {}
            session::Primitive::TypedData { .. } => {
                let details = "typed data".to_owned();
                self.mistake(own, error::PROTOCOL, details, cx);
            }
        }
        if let Some(connection) = self.connection(own) {
            if !given {
                connection.settle_token();
            }
            connection.flush(cx);
        }
    }

    fn on_check_pdu(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let side = connection.side;
        match connection.machine.on_check(side.other(), false) {
            Ok(Step::Take) if connection.points.has_room() => {
                let identifier = connection.points.set_one();
                connection.tell(Primitive::Check { identifier }, cx);
            }
            Ok(Step::Take) => {
                let window = connection.points.window;
                let details = format!("a checkpoint beyond the window of {window}");
                self.mistake(own, error::OUTSIDE_WINDOW, details, cx);
            }
            Ok(Step::Drop) => {
                connection.points.next += 1;
                self.counters.late += 1;
            }
            Err(wrong) => self.fail(own, wrong.diagnostic(side), cx),
        }
    }

    fn on_check_reply(&mut self, own: Handle, number: u32, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let side = connection.side;
        let identifier = connection.points.identifier(number);
        match connection.machine.on_check(side.other(), true) {
            Ok(Step::Take) if connection.points.secure(identifier).is_some() => {
                connection.tell(Primitive::CheckReply { identifier }, cx);
            }
            Ok(Step::Take) => {
                let details = "a confirm of a checkpoint that was not set".to_owned();
                self.mistake(own, error::BAD_CHECKPOINT, details, cx);
            }
            Ok(Step::Drop) => self.counters.late += 1,
            Err(wrong) => self.fail(own, wrong.diagnostic(side), cx),
        }
    }

    /// F-CANCEL or F-RESTART request as a resynchronisation.
    fn on_resync(&mut self, own: Handle, kind: Resync, number: u32, data: Option<Message>, cx: &mut Context<'_>) {
        let wanted = match kind {
            Resync::Abandon => Kind::CancelRequest,
            Resync::Restart | Resync::Set => Kind::RestartRequest,
        };
        let Some(fpdu) = self.resynchronising(own, wanted, data, cx) else {
            return;
        };
        let Some(connection) = self.connection(own) else {
            return;
        };
        let beaten = connection.machine.withdraw() == Some(Kind::CancelRequest);
        connection.purge(cx);
        connection.resyncing = Resyncing::Theirs { number, beaten };
        self.on_fpdu(own, fpdu, cx);
    }

    /// Its answer.
    fn on_resync_reply(
        &mut self,
        own: Handle,
        number: u32,
        tokens: session::TokenSetting,
        data: Option<Message>,
        cx: &mut Context<'_>,
    ) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let wanted = match connection.machine.state() {
            State::Cancelling => Kind::CancelResponse,
            State::Closed
            | State::Initialized
            | State::Selected
            | State::Open
            | State::Reading
            | State::ReadEnded
            | State::Writing
            | State::WriteEnded => Kind::RestartResponse,
        };
        let Some(fpdu) = self.resynchronising(own, wanted, data, cx) else {
            return;
        };
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.resynchronized(tokens);
        if let Fpdu::RestartResponse(restart) = &fpdu {
            let set = connection.points.set;
            let Some(identifier) = checkpoint(restart).filter(|it| *it <= set) else {
                let details = "an answer with a checkpoint that was not set".to_owned();
                return self.mistake(own, error::BAD_CHECKPOINT, details, cx);
            };
            connection.points.restarted(identifier, number);
        } else {
            connection.points.abandoned(number);
        }
        self.on_fpdu(own, fpdu, cx);
    }

    /// The FPDU that a resynchronisation carries; without the right one the association ends.
    fn resynchronising(
        &mut self,
        own: Handle,
        wanted: Kind,
        data: Option<Message>,
        cx: &mut Context<'_>,
    ) -> Option<Fpdu> {
        let read = self.read(&data.unwrap_or_default());
        let details = match read.map(<[Fpdu; 1]>::try_from) {
            Ok(Ok([fpdu])) if fpdu.kind() == wanted => return Some(fpdu),
            Ok(Ok([fpdu])) => format!("{} in place of {wanted}", fpdu.kind()),
            Ok(Err(_)) => format!("a resynchronisation without {wanted}"),
            Err(details) => details,
        };
        self.mistake(own, error::PROTOCOL, details, cx);
        None
    }
}
