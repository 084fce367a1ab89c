//! One association: its variables, what waits to be sent, and credit.

use kumiki_graph::Special;
use kumiki_osi_service::presentation::PData;
use std::collections::VecDeque;

use kumiki_graph::{Context, Credit};
use kumiki_octets::Message;
use kumiki_osi_service::Oid;
use kumiki_osi_service::ftam::regime::InitializeRequest;
use kumiki_osi_service::ftam::{Diagnostic, Fpdu, Primitive, oids};
use kumiki_osi_service::presentation::{ContextId, ContextResult, Value, Values};
use kumiki_osi_service::session::{self, FunctionalUnits as SessionUnits, SyncPoint, TokenSetting, Tokens};

use super::document::Document;
use super::states::{Machine, Side, State};
use kumiki_osi::layer::Ends;

/// How far an association has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// F-INITIALIZE request is sent.
    Opening,
    /// The user is to answer F-INITIALIZE.
    Offered,
    /// The FTAM regime.
    Standing,
    /// F-TERMINATE request is sent, or waits for a token.
    Terminating,
    /// The user is to answer F-TERMINATE.
    Terminated,
    /// F-TERMINATE is answered, by us or the peer.
    Ending,
}

/// A resynchronisation of the session, which carries F-CANCEL or F-RESTART.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resyncing {
    No,
    /// Asked for here.
    Ours,
    /// Asked for by the peer, with this number; `beaten`: an F-CANCEL of this side met it and does not count.
    Theirs {
        number: SyncPoint,
        beaten: bool,
    },
}

/// What waits for its turn.
#[derive(Debug)]
pub(super) enum QueuedSend {
    /// One P-DATA.
    Values {
        values: Values,
        /// Whether it is data of a file.
        data: bool,
    },
    /// A primitive of the session.
    Session(session::Primitive),
    /// F-TERMINATE request.
    Release(Message),
}

/// Checkpoints of the transfer that is going on, and the synchronisation points that stand for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    /// The number of the next point: the session's V(M).
    pub(super) next: SyncPoint,
    /// That of checkpoint 1; before 0 where a transfer was recovered whose first checkpoints were set on another
    /// association.
    base: i64,
    /// The last checkpoint set.
    pub(super) set: u32,
    /// The last one secured.
    pub(super) secured: u32,
    /// Checkpoints without a confirm at most.
    pub(super) window: u32,
}

impl Points {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { next: 1, base: 1, set: 0, secured: 0, window: 1 }
    }

    /// A transfer begins, or goes on behind this checkpoint.
    pub(super) fn begin(&mut self, behind: u32) {
        self.base = i64::from(self.next) - i64::from(behind);
        self.set = behind;
        self.secured = behind;
    }

    /// Whether one more may be set.
    pub(super) const fn has_room(&self) -> bool {
        self.set.saturating_sub(self.secured) < self.window
    }

    /// The next one is set: its checkpoint's number.
    pub(super) const fn set_one(&mut self) -> u32 {
        self.next += 1;
        self.set += 1;
        self.set
    }

    /// The point of a checkpoint that waits for its confirm; with it all before are secured.
    pub(super) fn secure(&mut self, identifier: u32) -> Option<SyncPoint> {
        if identifier <= self.secured || identifier > self.set {
            return None;
        }
        self.secured = identifier;
        SyncPoint::try_from(self.base + i64::from(identifier) - 1).ok()
    }

    /// The checkpoint of a point; 0 where it is none.
    pub(super) fn identifier(&self, number: SyncPoint) -> u32 {
        u32::try_from(i64::from(number) - self.base + 1).unwrap_or(0)
    }

    /// The number that the session goes on with when the transfer goes on from this checkpoint: that of the next one,
    /// if this session has had it.
    pub(super) fn restart(&self, identifier: u32) -> SyncPoint {
        SyncPoint::try_from(self.base + i64::from(identifier)).unwrap_or(0)
    }

    /// The transfer goes on from this checkpoint, and the session with this number.
    pub(super) fn restarted(&mut self, identifier: u32, number: SyncPoint) {
        self.next = number;
        self.base = i64::from(number) - i64::from(identifier);
        self.set = identifier;
        self.secured = self.secured.min(identifier);
    }

    /// Nothing is transferred any more, and the session goes on with this number.
    pub(super) fn abandoned(&mut self, number: SyncPoint) {
        self.next = number;
        self.begin(0);
    }
}

/// So many may wait to be sent before the peer's FPDUs wait, too: a peer that asks and does not take the answers is not
/// heard any more. A group is one.
pub(super) const MOST_WAITING: usize = 64;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) ends: Ends<Phase>,
    pub(super) side: Side,
    pub(super) machine: Machine,
    /// F-INITIALIZE request, until it is answered.
    pub(super) request: Option<Box<InitializeRequest>>,
    /// Contexts and what became of them, FTAM-PCI first.
    pub(super) contexts: Vec<(ContextId, Oid, ContextResult)>,
    /// The document that was opened last.
    pub(super) document: Option<Document>,
    /// FPDUs of a group, until its end.
    pub(super) group: Values,
    /// A data element that the user gives in parts.
    pub(super) part: Message,
    pub(super) out: VecDeque<QueuedSend>,
    /// P-DATA that presentation takes.
    pub(super) room: u32,
    /// Of it, what the user has been told of and has not used.
    pub(super) granted: u32,
    /// Data elements handed up beyond one for each P-DATA.
    pub(super) surplus: u32,
    /// Session's functional units, as far as they matter.
    pub(super) units: SessionUnits,
    /// Whether the token for minor synchronisation points is here.
    pub(super) token: bool,
    /// It is on its way out.
    giving: bool,
    /// It has been asked for.
    pleased: bool,
    pub(super) resyncing: Resyncing,
    pub(super) points: Points,
    /// The checkpoint from which F-RECOVER lets the next transfer go on.
    pub(super) recovered: u32,
    /// P-DATA that presentation may be granted and was not, because too much waits.
    pub(super) owed: u32,
}

impl Connection {
    pub(super) fn new(ends: Ends<Phase>, side: Side) -> Self {
        Self {
            ends,
            side,
            machine: Machine::new(side),
            request: None,
            contexts: Vec::new(),
            document: None,
            group: Values::new(),
            part: Message::new(),
            out: VecDeque::new(),
            room: 0,
            granted: 0,
            surplus: 0,
            units: SessionUnits::KERNEL,
            token: false,
            giving: false,
            pleased: false,
            resyncing: Resyncing::No,
            points: Points::new(),
            recovered: 0,
            owed: 0,
        }
    }

    /// What was agreed on for the session.
    pub(super) fn agreed(&mut self, options: &session::Options, setting: TokenSetting) {
        self.units = options.functional_units;
        self.points.abandoned(options.initial_sync_point.unwrap_or(1));
        self.token = self.owns(setting);
    }

    /// Whether the minor token is here, in a setting.
    fn owns(&self, setting: TokenSetting) -> bool {
        match self.side {
            Side::Initiator => setting.with_initiator().has(Tokens::MINOR),
            Side::Responder => setting.with_responder().has(Tokens::MINOR),
        }
    }

    /// Whether there are synchronisation points.
    pub(super) const fn has_points(&self) -> bool {
        self.units.has(SessionUnits::MINOR_SYNCHRONIZE)
    }

    /// Whether the session can be resynchronised.
    pub(super) const fn has_resync(&self) -> bool {
        self.units.has(SessionUnits::RESYNCHRONIZE)
    }

    /// Whether the first context is FTAM-PCI, and stands.
    pub(super) fn speaks(&self) -> bool {
        self.contexts.first().is_some_and(|(_, syntax, result)| *syntax == oids::PCI && result.is_accepted())
    }

    /// The context of FTAM-PCI.
    pub(super) fn pci(&self) -> ContextId {
        self.contexts.first().map_or(0, |(id, ..)| *id)
    }

    /// The context of one of these abstract syntaxes, if it stands.
    pub(super) fn context(&self, syntaxes: &[Oid]) -> Option<ContextId> {
        syntaxes.iter().find_map(|wanted| {
            self.contexts
                .iter()
                .find(|(_, syntax, result)| syntax == wanted && result.is_accepted())
                .map(|(id, ..)| *id)
        })
    }

    /// The abstract syntax of a context.
    pub(super) fn syntax(&self, context: ContextId) -> Option<&Oid> {
        self.contexts.iter().find(|(id, ..)| *id == context).map(|(_, syntax, _)| syntax)
    }

    /// The user is told of a primitive.
    pub(super) fn tell(&self, primitive: impl Into<Primitive>, cx: &mut Context<'_>) {
        self.ends.tell(Special::new(primitive.into()), cx);
    }

    /// Puts one P-DATA behind what waits.
    pub(super) fn put(&mut self, values: Values, data: bool) {
        self.out.push_back(QueuedSend::Values { values, data });
    }

    /// Data of a transfer that is over, or begins again, need not be sent.
    pub(super) fn purge_data(&mut self, cx: &mut Context<'_>) {
        let mut purged = 0_u32;
        self.out.retain(|out| {
            let data = matches!(out, QueuedSend::Values { data: true, .. });
            purged = purged.saturating_add(u32::from(data));
            !data
        });
        self.part = Message::new();
        self.give_back(purged, cx);
    }

    /// What waited when the peer resynchronised is of before that, and not sent any more.
    pub(super) fn purge(&mut self, cx: &mut Context<'_>) {
        self.purge_data(cx);
        self.out.clear();
        self.giving = false;
    }

    /// Credit for data that is not sent.
    pub(super) fn give_back(&mut self, messages: u32, cx: &mut Context<'_>) {
        if messages > 0 {
            self.granted = self.granted.saturating_add(messages);
            self.ends.let_send(Credit::messages(messages), cx);
        }
    }

    /// The peer may send on, unless too much waits for it.
    pub(super) fn repay(&mut self, cx: &mut Context<'_>) {
        if self.out.len() < MOST_WAITING {
            let messages = core::mem::take(&mut self.owed);
            self.grant_credit(messages, cx);
        }
    }

    /// Credit for data that came.
    pub(super) fn grant_credit(&self, messages: u32, cx: &mut Context<'_>) {
        if messages > 0 {
            self.ends.let_come(Credit::messages(messages), cx);
        }
    }

    /// The token for synchronisation points goes to who sends data, and when nobody does to the initiator, who ends the
    /// association.
    pub(super) fn settle_token(&mut self) {
        let to = match self.machine.state() {
            State::Reading => Side::Responder,
            State::Cancelling => self.side,
            State::Closed
            | State::Initialized
            | State::Selected
            | State::Open
            | State::ReadEnded
            | State::Writing
            | State::WriteEnded => Side::Initiator,
        };
        let here = self.token && !self.giving && self.resyncing == Resyncing::No;
        if self.has_points() && here && to != self.side {
            self.giving = true;
            let (tokens, data) = (Tokens::MINOR, None);
            let give = session::Primitive::GiveTokens { tokens, data };
            self.out.push_back(QueuedSend::Session(give));
        }
    }

    /// Where the minor token is to be after a resynchronisation.
    pub(super) fn setting(&self) -> TokenSetting {
        match self.machine.state() {
            State::Reading | State::ReadEnded => TokenSetting::RESPONDER,
            State::Closed
            | State::Initialized
            | State::Selected
            | State::Open
            | State::Writing
            | State::WriteEnded
            | State::Cancelling => TokenSetting::INITIATOR,
        }
    }

    /// The session has been resynchronised.
    pub(super) fn resynchronized(&mut self, tokens: TokenSetting) {
        self.resyncing = Resyncing::No;
        self.token = self.has_points() && self.owns(tokens);
        self.giving = false;
        self.pleased = false;
    }

    /// Sends what waits, as far as presentation takes it and the session allows it, and tells the user what room that
    /// leaves.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>) {
        let sends = matches!(self.ends.state, Phase::Standing | Phase::Terminating);
        if !sends || self.resyncing != Resyncing::No {
            return;
        }
        while let Some(next) = self.out.pop_front() {
            let needs_token = match &next {
                QueuedSend::Session(primitive) => {
                    matches!(primitive, session::Primitive::SyncMinor { .. })
                }
                QueuedSend::Release(_) => self.has_points(),
                QueuedSend::Values { .. } => false,
            };
            let blocked = matches!(next, QueuedSend::Values { .. }) && self.room == 0 || needs_token && !self.token;
            if blocked {
                self.out.push_front(next);
                if needs_token && !self.pleased {
                    self.pleased = true;
                    let (tokens, data) = (Tokens::MINOR, None);
                    self.ends.say(Special::new(session::Primitive::PleaseTokens { tokens, data }), cx);
                }
                return;
            }
            match next {
                QueuedSend::Values { values, .. } => {
                    self.room -= 1;
                    self.ends.say(Special::new(PData(values)), cx);
                }
                QueuedSend::Session(primitive) => {
                    if let session::Primitive::GiveTokens { .. } = primitive {
                        self.token = false;
                        self.giving = false;
                    }
                    if let session::Primitive::Resync { .. } = primitive {
                        self.resyncing = Resyncing::Ours;
                    }
                    self.ends.say(Special::new(primitive), cx);
                }
                QueuedSend::Release(data) => self.ends.release(Some(data), cx),
            }
            if self.resyncing != Resyncing::No {
                return;
            }
        }
        let more = self.room.saturating_sub(self.granted);
        if self.ends.state == Phase::Standing {
            self.give_back(more, cx);
        }
        self.repay(cx);
    }

    /// The peer has given the token.
    pub(super) const fn token_came(&mut self) {
        self.token = true;
        self.pleased = false;
    }
}

/// The only value of a P-DATA.
pub(super) fn one(value: Value) -> Values {
    core::iter::once(value).collect()
}

/// An FPDU as user data.
pub(super) fn written(fpdu: &Fpdu) -> Message {
    Message::owning(kumiki_wire::files::ftam::emit(fpdu))
}

/// The error that says the most: the first that is one.
pub(super) fn identifier(diagnostics: &[Diagnostic]) -> Option<u16> {
    use kumiki_osi_service::ftam::DiagnosticType;
    let errors = |it: &&Diagnostic| it.diagnostic_type != DiagnosticType::Informative;
    let first = diagnostics.iter().find(errors).or_else(|| diagnostics.first())?;
    Some(u16::try_from(first.error_identifier).unwrap_or(0))
}
