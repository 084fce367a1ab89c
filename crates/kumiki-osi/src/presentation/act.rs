//! What is done: one arm for each action of the table.

use kumiki_octets::Payload;
use kumiki_wire::Malformed;

use super::connection::PpduError;
use kumiki_osi_service::{OsiCause, layer};
use kumiki_wire::osi::presentation::{Abort, Refuse as Cpr, Resync, Typed, UserData};

use super::*;

/// What an ARP was about (X.226, Event-identifier), recalled.
pub(super) mod event {
    pub(in super::super) const CPA: u8 = 1;
    pub(in super::super) const AC: u8 = 5;
    pub(in super::super) const ACA: u8 = 6;
    pub(in super::super) const TD: u8 = 7;
    pub(in super::super) const TTD: u8 = 8;
    pub(in super::super) const RS: u8 = 12;
    pub(in super::super) const RSA: u8 = 13;
    pub(in super::super) const RELEASE: u8 = 14;
    pub(in super::super) const TOKEN_GIVE: u8 = 16;
    pub(in super::super) const TOKEN_PLEASE: u8 = 17;
    pub(in super::super) const SYNC_MINOR: u8 = 19;
    pub(in super::super) const SYNC_MINOR_REPLY: u8 = 20;
}

impl Presentation {
    /// Does `todo`.
    pub(super) fn act(&mut self, own: Handle, todo: Action, _: State, input: Input, cx: &mut Context<'_>) {
        let Input { data, special, opened, accept, why, .. } = input;
        let why = why.unwrap_or(Reason::User);
        match (todo, opened, accept, special) {
            (Action::Misuse, ..) => cx.drop("not possible in this state of the connection"),
            (Action::Error, ..) => self.misplaced(own, cx),
            (Action::TakeCpa, Some(opened), ..) => self.on_cpa(own, *opened, cx),
            (Action::TakeRefusal | Action::TakeAbort, ..) => self.on_end(own, why, data, cx),
            (Action::TakeValues, ..) => self.on_values(own, data.unwrap_or_default(), cx),
            (Action::TakeRelease, ..) => self.on_release(own, data, cx),
            (Action::TakePrimitive, _, _, Some(what)) => self.on_primitive(own, what, cx),
            (Action::TellClosed, ..) => {
                if let Some(connection) = self.entries.forget(own) {
                    connection.ends.tell_closed(cx);
                }
            }
            (Action::Forget, ..) => {
                self.entries.remove(own);
            }
            (Action::SendCpa, _, Some(accept), _) => self.send_cpa(own, *accept, cx),
            (Action::SendCpr, ..) => self.send_cpr(own, why, data, cx),
            (Action::SendValues, _, _, Some(what)) => self.send_values(own, what, cx),
            (Action::SendRelease, ..) => self.send_release(own, data, cx),
            (Action::SendPrimitive, _, _, Some(what)) => self.send_primitive(own, what, cx),
            (Action::SendAru, ..) => self.send_aru(own, data, cx),
            (Action::Cancel, ..) => {
                if let Some(connection) = self.entries.forget(own) {
                    end_below(SESSION, (own, connection.ends.lower), None, cx);
                }
            }
            (
                Action::TakeCpa | Action::TakePrimitive | Action::SendCpa | Action::SendValues | Action::SendPrimitive,
                ..,
            ) => {
                cx.drop("what no connection has");
            }
        }
    }

    /// ARP, and the user is told.
    pub(super) fn error(
        &mut self,
        own: Handle,
        wrong: PpduError,
        (event, ppdu): (u8, Beginning),
        cx: &mut Context<'_>,
    ) {
        self.fail(own, wrong, Some(event), ppdu, cx);
    }

    fn misplaced(&mut self, own: Handle, cx: &mut Context<'_>) {
        let code = abort::UNEXPECTED_PRIMITIVE;
        self.fail(own, PpduError::of(code, abort::found(code)), None, Beginning::default(), cx);
    }

    fn fail(&mut self, own: Handle, wrong: PpduError, event: Option<u8>, ppdu: Beginning, cx: &mut Context<'_>) {
        let Some(connection) = self.entries.forget(own) else {
            return;
        };
        self.counters.errors += 1;
        let reason = Some(wrong.code);
        let why = Reason::violation_in(layer::PRESENTATION, wrong.what, ppdu);
        self.refusal = Some(why.clone());
        let arp = Abort::Provider { reason, event };
        end_below(SESSION, (own, connection.ends.lower), Some(arp.emit()), cx);
        if connection.ends.state != State::WaitResponse {
            connection.ends.tell_aborted(why, None, cx);
        }
    }

    /// The session connection is over, or never was.
    fn on_end(&mut self, own: Handle, why: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.entries.forget(own) else {
            return;
        };
        let said = data.filter(|data| !data.is_empty());
        let (reason, data) = match (why, said) {
            (why, Some(said)) if matches!(why.cause(), Some(OsiCause::SessionRefused(_))) => {
                Self::refused(&connection, why, said)
            }
            (why, Some(said)) => aborted(&connection, why, said),
            (why, None) => (why, None),
        };
        connection.ends.tell_aborted(reason, data, cx);
    }

    /// What a CPR says.
    fn refused(connection: &Connection, why: Reason, said: Message) -> (Reason, Option<Message>) {
        let Ok(cpr) = Cpr::parse(said) else {
            return (why, None);
        };
        let contexts = refused_contexts(&cpr.results);
        let data = cpr.data.and_then(|data| spoken(connection, data));
        match (cpr.reason, contexts) {
            // What a user says goes before what is said of its contexts, and that before a reason that is none of its
            // own.
            (None, _) if data.is_some() => (Reason::Refused, data),
            (None | Some(refusal::NOT_SPECIFIED | refusal::USER_DATA), Some(told)) => (Reason::peer(told), None),
            (Some(code), _) => (Reason::peer(OsiCause::PresentationRefused(code)), None),
            (None, None) => (Reason::Refused, None),
        }
    }

    fn send_values(&mut self, own: Handle, what: Special, cx: &mut Context<'_>) {
        let Some((connection, values)) = self.connection(own).zip(what.take::<PData>()) else {
            return;
        };
        let PData(values) = *values;
        let wrapped = (!values.is_empty()).then(|| connection.wrap(values));
        let Some(data) = wrapped.flatten() else {
            connection.ends.let_send(Credit::messages(1), cx);
            return cx.drop("a value in a context that does not stand");
        };
        connection.ends.hand_down(data.emit(), cx);
        self.counters.sent += 1;
    }

    fn on_values(&mut self, own: Handle, data: Message, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let beginning = head(&data);
        let read = match UserData::parse(data) {
            Ok(data) => connection.unwrap(data),
            Err(why) => Err(PpduError::read(abort::UNRECOGNIZED_PPDU, &why)),
        };
        match read {
            Ok(values) => {
                let count = values.len() as u64;
                connection.ends.tell(Special::new(PData(values)), cx);
                self.counters.received += 1;
                self.counters.values += count;
            }
            Err(wrong) => self.error(own, wrong, (event::TD, beginning), cx),
        }
    }

    fn send_release(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        if data.as_ref().is_some_and(|it| it.len() > MOST_USER_DATA - HEADERS) {
            return self.too_long(own, cx);
        }
        let said = data.is_some();
        let data = data.and_then(|data| connection.wrap_one(connection.own, data));
        if said && data.is_none() {
            cx.drop("user data in a context that does not stand");
        }
        connection.ends.release(data.map(UserData::emit), cx);
    }

    /// A user's data that no SPDU can carry: what was asked for is not done, so the connection ends, and the user hears
    /// of it.
    fn too_long(&mut self, own: Handle, cx: &mut Context<'_>) {
        let Some(connection) = self.entries.forget(own) else {
            return;
        };
        cx.drop("user data too long for its SPDU");
        let aru = Abort::User { contexts: Vec::new(), data: None };
        end_below(SESSION, (own, connection.ends.lower), Some(aru.emit()), cx);
        connection.ends.tell_aborted(Reason::NoResources, None, cx);
    }

    fn on_release(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.connection(own) else {
            return;
        };
        let first = connection.own;
        let beginning = data.as_ref().map(head).unwrap_or_default();
        match one(connection, first, data) {
            Ok(data) => connection.ends.tell_released(data, cx),
            Err(wrong) => self.error(own, wrong, (event::RELEASE, beginning), cx),
        }
    }

    fn send_aru(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        let Some(connection) = self.entries.forget(own) else {
            return;
        };
        let data = fitting(data, MOST_USER_DATA - HEADERS, cx);
        let data = data.and_then(|data| connection.wrap_one(connection.own, data));
        let contexts = if data.is_some() { connection.identified(connection.own) } else { Vec::new() };
        let aru = Abort::User { contexts, data };
        end_below(SESSION, (own, connection.ends.lower), Some(aru.emit()), cx);
    }

    /// What session has and presentation passes on: only its user data is wrapped.
    fn send_primitive(&mut self, own: Handle, what: Special, cx: &mut Context<'_>) {
        let Some((connection, primitive)) = self.connection(own).zip(what.take::<Primitive>()) else {
            return;
        };
        let talk = connection.talk;
        let is_typed = matches!(*primitive, Primitive::TypedData { .. });
        let longest = primitive.payload().map_or(0, Message::len);
        if longest > MOST_USER_DATA - HEADERS && !is_typed {
            return self.too_long(own, cx);
        }
        let wrapped = map(*primitive, |data, which| {
            let data = connection.wrap_one(talk, data).ok_or(())?;
            Ok(match which {
                DataPpdu::Typed => Typed::Data(data).emit(),
                DataPpdu::Resync => {
                    let (contexts, data) = (Vec::new(), Some(data));
                    Resync { contexts, data }.emit()
                }
                DataPpdu::Plain => data.emit(),
            })
        });
        match wrapped {
            Ok(primitive) => connection.ends.say(Special::new(primitive), cx),
            Err(()) => {
                if is_typed {
                    connection.ends.let_send(Credit::messages(1), cx);
                }
                cx.drop("user data in a context that does not stand");
            }
        }
    }

    fn on_primitive(&mut self, own: Handle, what: Special, cx: &mut Context<'_>) {
        let Some((connection, primitive)) = self.connection(own).zip(what.take::<Primitive>()) else {
            return;
        };
        let talk = connection.talk;
        let about = about(&primitive);
        let beginning = primitive.payload().map(head).unwrap_or_default();
        let unwrapped = map(*primitive, |data, which| {
            let unrecognized = |why: Malformed| (PpduError::read(abort::UNRECOGNIZED_PPDU, &why), about);
            let managed = || {
                PpduError::of(abort::UNEXPECTED_PPDU, "an AC or ACA PPDU, though context management was not agreed on")
            };
            let data = match which {
                DataPpdu::Typed => match Typed::parse(data).map_err(unrecognized)? {
                    Typed::Data(data) => Some(data),
                    Typed::Alter(_) => return Err((managed(), event::AC)),
                    Typed::AlterAck(_) => return Err((managed(), event::ACA)),
                },
                DataPpdu::Resync => Resync::parse(data).map_err(unrecognized)?.data,
                DataPpdu::Plain => Some(UserData::parse(data).map_err(unrecognized)?),
            };
            let Some(data) = data else {
                return Ok(Message::new());
            };
            connection.unwrap_one(talk, data).map_err(|wrong| (wrong, about))
        });
        match unwrapped {
            Ok(primitive) => connection.ends.tell(Special::new(primitive), cx),
            Err((wrong, about)) => self.error(own, wrong, (about, beginning), cx),
        }
    }
}

/// More than what presentation puts in front of one value.
const HEADERS: usize = 512;

/// What is shown of a PPDU with user data: no more than presentation's own, for a user's may be a password or a file.
fn head(ppdu: &Message) -> Beginning {
    ppdu.beginning_up_to(8)
}

/// User data that is no longer than `most` octets; what is longer is left out.
pub(super) fn fitting(data: Option<Message>, most: usize, cx: &mut Context<'_>) -> Option<Message> {
    let fits = data.as_ref().is_none_or(|data| data.len() <= most);
    if !fits {
        cx.drop("user data too long for its SPDU");
    }
    data.filter(|_| fits)
}

/// What an ARU or ARP says; what is neither goes up as it came.
fn aborted(connection: &Connection, why: Reason, said: Message) -> (Reason, Option<Message>) {
    match Abort::parse(said.clone()) {
        Ok(Abort::User { data, .. }) => (why, data.and_then(|data| spoken(connection, data))),
        Ok(Abort::Provider { reason, .. }) => {
            let code = reason.unwrap_or(abort::NOT_SPECIFIED);
            (Reason::peer(OsiCause::PresentationAborted(code)), None)
        }
        Err(_) => (why, Some(said)),
    }
}

/// The user's last word, if it is in its context. What is wrong with other words does not matter any more.
fn spoken(connection: &Connection, data: UserData) -> Option<Message> {
    let values = data.into_values(connection.own).ok()?;
    let own = |value: &kumiki_osi_service::presentation::Value| value.context == connection.own;
    values.into_iter().find(own).map(|value| value.data)
}

/// What became of contexts, if some were refused.
pub(super) fn refused_contexts(results: &[ContextResult]) -> Option<OsiCause> {
    let refused = results.iter().filter(|result| !result.is_accepted());
    let first = refused.clone().next()?;
    let count = |n: usize| u8::try_from(n).unwrap_or(u8::MAX);
    Some(OsiCause::ContextsRefused {
        refused: count(refused.count()),
        proposed: count(results.len()),
        why: match first {
            ContextResult::RefusedByProvider(why) => *why,
            ContextResult::Accepted(_) | ContextResult::RefusedByUser => None,
        },
    })
}

/// The one value in `data`, which may be absent.
fn one(connection: &Connection, context: ContextId, data: Option<Message>) -> Result<Option<Message>, PpduError> {
    let Some(data) = data.filter(|data| !data.is_empty()) else {
        return Ok(None);
    };
    let data = UserData::parse(data).map_err(|why| PpduError::read(abort::UNRECOGNIZED_PPDU, &why))?;
    connection.unwrap_one(context, data).map(Some)
}

/// How the user data of a primitive is carried.
#[derive(Clone, Copy)]
enum DataPpdu {
    /// TTD.
    Typed,
    /// RS, RSA.
    Resync,
    /// By itself.
    Plain,
}

/// The event that an ARP names for what came with a primitive.
const fn about(primitive: &Primitive) -> u8 {
    match primitive {
        Primitive::TypedData { .. } => event::TTD,
        Primitive::SyncMinor { .. } => event::SYNC_MINOR,
        Primitive::SyncMinorReply { .. } => event::SYNC_MINOR_REPLY,
        Primitive::Resync { .. } => event::RS,
        Primitive::ResyncReply { .. } => event::RSA,
        Primitive::GiveTokens { .. } => event::TOKEN_GIVE,
        Primitive::PleaseTokens { .. } => event::TOKEN_PLEASE,
    }
}

/// The primitive with what `change` makes of its user data. User data that is not there stays so, and empty data is
/// none.
fn map<E>(
    mut primitive: Primitive,
    change: impl FnOnce(Message, DataPpdu) -> Result<Message, E>,
) -> Result<Primitive, E> {
    let which = match primitive {
        Primitive::TypedData { .. } => DataPpdu::Typed,
        Primitive::Resync { .. } | Primitive::ResyncReply { .. } => DataPpdu::Resync,
        Primitive::SyncMinor { .. }
        | Primitive::SyncMinorReply { .. }
        | Primitive::GiveTokens { .. }
        | Primitive::PleaseTokens { .. } => DataPpdu::Plain,
    };
    match &mut primitive {
        Primitive::TypedData { data, .. } => {
            *data = change(core::mem::take(data), which)?;
        }
        Primitive::SyncMinor { data, .. }
        | Primitive::SyncMinorReply { data, .. }
        | Primitive::Resync { data, .. }
        | Primitive::ResyncReply { data, .. }
        | Primitive::GiveTokens { data, .. }
        | Primitive::PleaseTokens { data, .. } => {
            if let Some(said) = data.take().filter(|data| !data.is_empty()) {
                let changed = change(said, which)?;
                *data = Some(changed).filter(|data| !data.is_empty());
            }
        }
    }
    Ok(primitive)
}
