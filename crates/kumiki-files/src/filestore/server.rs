//! The node: a filestore for many associations at once.

use crate::ftam;
use kumiki_graph::{
    Above, Below, Context, Credit, Duration, Handle, Indication, Instant, Offered, Protocol, Reason, Request, Shape,
    TimerSlot, Token,
};
use kumiki_osi_service::Association;
use kumiki_osi_service::ftam::file::RecoverRequest;
use kumiki_osi_service::ftam::regime::InitializeResponse;
use kumiki_osi_service::ftam::{Diagnostic, Fpdu, Primitive, StateResult};
use kumiki_osi_service::layer;

use super::door::{Door, End, LISTENER, WAKE, accept};
use super::responder::{Config as ResponderConfig, Responder};
use super::{Do, Fault, Guard, User};
use kumiki_graph::sessions::Sessions;
use kumiki_osi::entries::abort_below;

/// The file service.
const FILES: Below = Below(0);

/// Interrupted transfers have become older.
const AGE: u32 = 1;
/// Who has the transfer that is to be recovered may have given it up by now.
const RECOVER: u32 = 2;

/// How often it is looked whether he has.
const AGAIN: Duration = Duration::from_millis(50);

/// So often it is looked; then the initiator is told to try again. Whoever runs the other node sees to it several times a second.
const LOOKS: u32 = 100;

/// What can be set.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// As what it can be called: selectors, contexts, application context.
    pub association: Association,
    /// Of each association.
    pub responder: ResponderConfig,
    /// The most associations at a time.
    pub associations: u32,
    /// After so long without a word an association is ended; zero: never.
    pub idle: Duration,
    /// The same while it has a file locked for others; zero: no sooner.
    pub lock_idle: Duration,
    /// An interrupted transfer is kept for so long; zero: whoever shares the table sees to that.
    pub kept: Duration,
    /// The date at the start of the graph's clock, in seconds since 1970.
    pub began: i64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            association: Association::default(),
            responder: ResponderConfig::default(),
            associations: 64,
            idle: Duration::from_secs(600),
            lock_idle: Duration::from_secs(60),
            kept: Duration::from_secs(3600),
            began: 0,
        }
    }
}

#[derive(Debug)]
struct Session {
    provider: Handle,
    responder: Responder,
    idle: TimerSlot,
    /// An abort was heard of, and the end will be.
    aborted: Option<Vec<Diagnostic>>,
    /// It was aborted from here, which is not answered.
    gone: Option<Vec<Diagnostic>>,
    /// What it asks to recover is still with another association.
    held: Option<Held>,
}

/// F-RECOVER that waits.
#[derive(Debug)]
struct Held {
    request: Box<RecoverRequest>,
    looks: u32,
    timer: TimerSlot,
}

/// The node.
#[derive(Debug)]
pub struct FileServer {
    config: Config,
    guard: Guard,
    sessions: Sessions<Session>,
    door: Door,
    /// Runs while there are interrupted transfers, to this moment.
    age: TimerSlot,
    due: Option<Instant>,
}

impl FileServer {
    /// The token by which whoever runs the node has it do what [`FileServer::stop`] said, and give up what is [claimed](FileServer::is_claimed).
    pub const WAKE: Token = WAKE;

    /// One for the store that `guard` has.
    #[must_use]
    pub fn new(config: Config, guard: Guard) -> Self {
        Self {
            door: Door::new(config.associations, config.idle, config.began),
            config,
            guard,
            sessions: Sessions::default(),
            age: TimerSlot::default(),
            due: None,
        }
    }

    /// All associations are to be aborted for this reason, when the node is woken with [`FileServer::WAKE`].
    pub fn stop(&mut self, why: Fault) {
        self.door.stop(why);
    }

    /// Whether what an association has under way is recovered by its user elsewhere, at another node that shares the table: then the node is to be woken with
    /// [`FileServer::WAKE`].
    pub fn is_claimed(&mut self) -> bool {
        !self.guard.claimed().is_empty()
    }

    /// What came of its callers.
    #[must_use]
    pub const fn door(&self) -> &Door {
        &self.door
    }

    /// How many associations there are.
    #[must_use]
    pub fn associations(&self) -> usize {
        self.sessions.len()
    }

    /// The store and who guards it.
    pub const fn guard(&mut self) -> &mut Guard {
        &mut self.guard
    }

    fn on_offered(&mut self, mut offered: Offered, cx: &mut Context<'_>) {
        let provider = offered.provider;
        let mut association = offered.parameters.take::<Association>().unwrap_or_default();
        let initialize = association.initialize.take().map(|fpdu| *fpdu);
        let Some(Fpdu::InitializeRequest(request)) = initialize else {
            let (by, found) = (layer::FTAM, "a call without F-INITIALIZE");
            let reason = Reason::violation(by, found);
            self.door.refused(End::Broken(reason.clone()));
            return abort_below(FILES, provider, reason, None, cx);
        };
        let mut responder = Responder::new(self.config.responder.clone());
        let response = match self.door.has_room(self.sessions.len()) {
            Ok(()) => responder.initialize(&request, &mut self.guard),
            Err(fault) => InitializeResponse {
                state_result: StateResult::Failure,
                action_result: fault.result(),
                diagnostic: vec![fault.diagnostic()],
                ..InitializeResponse::default()
            },
        };
        let stands = response.state_result == StateResult::Success;
        let user = if stands {
            self.door.counters.accepted += 1;
            self.sessions.insert(Session {
                provider,
                responder,
                idle: TimerSlot::default(),
                aborted: None,
                gone: None,
                held: None,
            })
        } else {
            self.door.refused(End::Refused(response.diagnostic.clone()));
            Handle::default()
        };
        association.initialize = Some(Box::new(Fpdu::InitializeResponse(Box::new(response))));
        let own = &self.config.association.called_names;
        accept(FILES, (provider, user), association, own, cx);
        self.rest(user, cx);
    }

    /// Begins to wait anew.
    fn rest(&mut self, user: Handle, cx: &mut Context<'_>) {
        if let Some(session) = self.sessions.get(user) {
            let locks = session.responder.keeps_others_out(&mut self.guard);
            let most = Some(self.config.lock_idle).filter(|_| locks);
            self.door.wait(user, &mut session.idle, most, cx);
        }
    }

    /// Lets the responder of a session do something, and does what it wants.
    fn with(&mut self, user: Handle, cx: &mut Context<'_>, act: impl FnOnce(&mut Responder, &mut Guard, &mut Vec<Do>)) {
        let Some(session) = self.sessions.get(user) else {
            cx.drop("no such association");
            return;
        };
        let mut out = Vec::new();
        act(&mut session.responder, &mut self.guard, &mut out);
        let provider = session.provider;
        let over = session.responder.is_over();
        session.gone = out.iter().find_map(|wish| match wish {
            Do::Say(Primitive::Pdu(Fpdu::UserAbort(abort))) => Some(abort.diagnostic.clone()),
            Do::Say(_) | Do::Data(_) | Do::Grant(_) => None,
        });
        for wish in &out {
            if let Do::Data(data) = wish {
                self.door.counters.elements_sent += 1;
                self.door.counters.octets_sent += data.len() as u64;
            }
        }
        perform(provider, out, cx);
        if over {
            if let Some(session) = self.sessions.get(user) {
                cx.clear_timer(&mut session.idle);
            }
        } else {
            self.rest(user, cx);
        }
    }

    /// These associations have broken, though here nothing was heard of that: their user goes on with the activity elsewhere.
    fn supersede(&mut self, user: &User, activity: i64, by: Option<Handle>, cx: &mut Context<'_>) {
        let has = |it: &Session| it.responder.has(user, activity);
        let all: Vec<Handle> = self.sessions.all(has).collect();
        let broken = all.into_iter().filter(|session| Some(*session) != by);
        for session in broken {
            self.with(session, cx, |responder, guard, out| {
                responder.supersede(guard, out);
            });
            self.forget_aborted(session);
        }
    }

    /// F-RECOVER: a user is back to go on with an activity. Where that is with an association of another node, it waits until that has given it up.
    fn recover(&mut self, by: Handle, request: Box<RecoverRequest>, looks: u32, cx: &mut Context<'_>) {
        let Some(session) = self.sessions.get(by) else {
            return;
        };
        let activity = request.activity_identifier;
        let user = session.responder.user().clone();
        let waits = looks < LOOKS && !session.responder.is_grouping();
        self.supersede(&user, activity, Some(by), cx);
        if waits && self.guard.claim(&user, activity) {
            let mut timer = TimerSlot::default();
            let token = Token { session: by, kind: RECOVER };
            cx.set_timer(&mut timer, token, cx.now() + AGAIN);
            if let Some(session) = self.sessions.get(by) {
                session.held = Some(Held { request, looks, timer });
            }
            return;
        }
        let now = self.door.date(cx.now());
        self.with(by, cx, |responder, guard, out| {
            let request = Primitive::Pdu(Fpdu::RecoverRequest(request));
            responder.on(request, now, guard, out);
        });
        self.forget_aborted(by);
    }

    /// Looks after interrupted transfers while there are any.
    fn watch(&mut self, cx: &mut Context<'_>) {
        if self.config.kept == Duration::ZERO {
            return;
        }
        let due = self.guard.age(cx.now(), self.config.kept);
        if due == self.due {
            return;
        }
        self.due = due;
        let token = Token { session: LISTENER, kind: AGE };
        match due {
            Some(due) => cx.set_timer(&mut self.age, token, due),
            None => cx.clear_timer(&mut self.age),
        }
    }

    /// Forgets a session that was aborted from here.
    fn forget_aborted(&mut self, user: Handle) {
        let gone = self.sessions.get(user).and_then(|it| it.gone.take());
        if let Some(said) = gone {
            self.sessions.remove(user);
            self.door.ended(End::Stopped(said));
        }
    }

    /// A session is gone, broken for this reason if there is one.
    fn end(&mut self, user: Handle, reason: Option<Reason>, cx: &mut Context<'_>) {
        let Some(mut session) = self.sessions.remove(user) else {
            cx.drop("no such association");
            return;
        };
        cx.clear_timer(&mut session.idle);
        if let Some(held) = &mut session.held {
            cx.clear_timer(&mut held.timer);
        }
        if session.responder.is_over() && session.aborted.is_none() {
            self.door.ended(End::InOrder);
        } else {
            session.responder.on_broken(&mut self.guard);
            // Of what the initiator has broken the layer below tells us as well, and it is that layer that aborts.
            let is_ours = reason.as_ref().is_some_and(|it| it.as_violation().is_some());
            self.door.ended(match session.aborted {
                Some(said) if is_ours => End::Stopped(said),
                Some(said) => End::Aborted(said),
                None => End::Broken(reason.unwrap_or(Reason::Down)),
            });
        }
    }
}

/// Hands what a user wants to have done to the provider.
pub(crate) fn perform(session: Handle, wishes: Vec<Do>, cx: &mut Context<'_>) {
    for wish in wishes {
        cx.down(
            FILES,
            match wish {
                Do::Say(primitive) => Request::special(session, primitive),
                Do::Data(data) => Request::Data { session, data, end: true },
                Do::Grant(messages) => Request::Credit { session, credit: Credit::messages(messages) },
            },
        );
    }
}

impl Protocol for FileServer {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[ftam::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let association = self.config.association.clone();
        self.door.listen(association, FILES, cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a filestore has no users in the graph");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Offered(offered) => self.on_offered(*offered, cx),
            Indication::Data { session, data, .. } => {
                self.with(session, cx, |responder, guard, out| {
                    responder.on_data(data, guard, out);
                });
                self.forget_aborted(session);
            }
            Indication::Special { session, what } => {
                let Some(primitive) = what.take::<Primitive>() else {
                    return cx.drop("not of the file service");
                };
                let now = self.door.date(cx.now());
                if let Primitive::Pdu(Fpdu::UserAbort(abort) | Fpdu::ProviderAbort(abort)) = &*primitive
                    && let Some(session) = self.sessions.get(session)
                {
                    session.aborted = Some(abort.diagnostic.clone());
                }
                if let Primitive::Pdu(Fpdu::RecoverRequest(request)) = *primitive {
                    self.recover(session, request, 0, cx);
                    return self.watch(cx);
                }
                self.with(session, cx, |responder, guard, out| {
                    responder.on(*primitive, now, guard, out);
                });
                self.forget_aborted(session);
            }
            Indication::Credit { session, credit } => {
                self.with(session, cx, |responder, guard, out| {
                    responder.on_credit(credit.messages, guard, out);
                });
            }
            // It can be called.
            Indication::Opened(_) => {}
            Indication::Aborted { session, reason, .. } if session == LISTENER => self.door.failure = Some(reason),
            Indication::Aborted { session, reason, .. } => self.end(session, Some(reason), cx),
            Indication::Closed { session } => self.end(session, None, cx),
            Indication::Released { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Unit(_)
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Urgent { .. } => cx.drop("not of the file service"),
        }
        self.watch(cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token.kind == AGE {
            return self.watch(cx);
        }
        if token.kind == RECOVER {
            let held = self.sessions.get(token.session);
            if let Some(held) = held.and_then(|it| it.held.take()) {
                self.recover(token.session, held.request, held.looks + 1, cx);
            }
            return self.watch(cx);
        }
        if token == Self::WAKE {
            for (user, activity) in self.guard.claimed() {
                self.supersede(&user, activity, None, cx);
            }
            if let Some(why) = self.door.stops() {
                for user in self.sessions.handles() {
                    self.with(user, cx, |responder, guard, out| {
                        responder.stop(why.clone(), guard, out);
                    });
                    self.forget_aborted(user);
                }
            }
            return;
        }
        self.door.counters.idle += 1;
        self.with(token.session, cx, |responder, guard, out| {
            responder.expire(guard, out);
        });
        self.forget_aborted(token.session);
        self.watch(cx);
    }
}
