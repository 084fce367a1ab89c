//! The node that is called: a filestore for many associations at once.

use core::fmt::Debug;

use kumiki_graph::sessions::Sessions;
use kumiki_graph::{
    Above, Below, Context, Duration, Handle, Indication, Instant, Offered, Protocol, Reason, Request, Shape, TimerSlot,
    Token,
};
use kumiki_octets::Message;
use kumiki_osi::entries::abort_below;
use kumiki_osi_service::Association;
use kumiki_osi_service::ftam::{CalendarTime, Diagnostic};

use super::door::{Door, End, accept, silence};
use super::{FILES, FileProtocol, LISTENER, WAKE};
use crate::filestore::{Guard, StoreError, User};

/// Interrupted transfers have become older.
const AGE: u32 = 1;
/// Who has the transfer that is to be recovered may have given it up by now.
const RECOVER: u32 = 2;

/// How often it is looked whether he has.
const AGAIN: Duration = Duration::from_millis(50);

/// So often it is looked; then the initiator is told to try again. Whoever runs the other node sees to it several times
/// a second.
const LOOKS: u32 = 100;

/// What a caller is told.
#[derive(Debug)]
pub enum Called<U> {
    /// It is let in, and this answers it.
    LetIn(U),
    /// That it is not let in: the association's parameters say so, as those of an acceptance.
    Answered(End),
    /// The same by association control.
    Refused(End, Reason),
}

/// A transfer that is to go on, whose association has broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovers {
    /// Whose it is.
    pub user: User,
    /// Its number.
    pub activity: i64,
    /// Who asks for it can wait for its answer until another node has given it up.
    pub waits: bool,
}

/// What a responding user says.
type UserPrimitive<U> = <<U as RespondingUser>::Protocol as FileProtocol>::Primitive;

/// What a responding user wants to have done.
type Actions<U> = Vec<<<U as RespondingUser>::Protocol as FileProtocol>::Action>;

/// The responding user of a protocol, on one association. What is to be done is added to `out`.
pub trait RespondingUser: Debug + Send + Sized + 'static {
    /// Its protocol.
    type Protocol: FileProtocol;
    /// What can be set of it.
    type Config: Debug + Send;

    /// Says in the passive open what is agreed to, by a protocol that wants it there.
    fn listen(config: &Self::Config, association: &mut Association) {
        let _ = (config, association);
    }

    /// Somebody calls, and there is room, or what is said where there is none. What is answered goes into
    /// `association`.
    fn called(
        config: &Self::Config,
        association: &mut Association,
        room: Result<(), StoreError>,
        guard: &mut Guard,
    ) -> Called<Self>;

    /// What the provider says.
    fn on(&mut self, said: UserPrimitive<Self>, now: CalendarTime, guard: &mut Guard, out: &mut Actions<Self>);

    /// A data element, of a protocol that has them.
    fn on_data(&mut self, data: Message, guard: &mut Guard, out: &mut Actions<Self>) {
        let _ = (data, guard, out);
    }

    /// So many more may be said of what needs credit.
    fn on_credit(&mut self, messages: u32, guard: &mut Guard, out: &mut Actions<Self>);

    /// The initiator wants to end, by a protocol that leaves that to association control.
    fn on_released(&mut self, guard: &mut Guard, out: &mut Actions<Self>) {
        let _ = (guard, out);
    }

    /// Ends the association for this reason, if it has not ended.
    fn stop(&mut self, why: StoreError, guard: &mut Guard, out: &mut Actions<Self>);

    /// The same because nothing has come for too long.
    fn expire(&mut self, why: StoreError, guard: &mut Guard, out: &mut Actions<Self>) {
        self.stop(why, guard, out);
    }

    /// What was said where the association was aborted from here, once: nothing more is heard of it then.
    fn take_stopped(&mut self) -> Option<Vec<Diagnostic>>;

    /// The association is gone, broken for this reason if there is one. Gives how it ended.
    fn ended(&mut self, reason: Option<Reason>, guard: &mut Guard) -> End;

    /// Whether a word is waited for, and not for longer than [`ServerConfig::idle`].
    fn waits(&self) -> bool;

    /// Whether others wait for a file that this association has locked.
    fn keeps_others_out(&self, guard: &mut Guard) -> bool;

    /// The transfer that is to go on by what the provider says, where the protocol knows of such.
    fn recovers(&self, said: &UserPrimitive<Self>) -> Option<Recovers> {
        let _ = said;
        None
    }

    /// Whether this is the association of `user` on which the activity goes on.
    fn has(&self, user: &User, activity: i64) -> bool {
        let _ = (user, activity);
        false
    }

    /// Ends the association that [has](Self::has) an activity with which its user goes on elsewhere: it has broken, and
    /// nobody has told us.
    fn supersede(&mut self, guard: &mut Guard, out: &mut Actions<Self>) {
        let _ = (guard, out);
    }
}

/// What can be set.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerConfig<R> {
    /// As what it can be called: selectors, contexts, application context.
    pub association: Association,
    /// Of each association.
    pub responder: R,
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

impl<R: Default> Default for ServerConfig<R> {
    fn default() -> Self {
        Self {
            association: Association::default(),
            responder: R::default(),
            associations: 64,
            idle: Duration::from_secs(600),
            lock_idle: Duration::from_secs(60),
            kept: Duration::from_secs(3600),
            began: 0,
        }
    }
}

#[derive(Debug)]
struct Session<U: RespondingUser> {
    provider: Handle,
    responder: U,
    idle: TimerSlot,
    /// What it asks to recover is still with another association.
    held: Option<PendingRecovery<UserPrimitive<U>>>,
}

/// What asks for a transfer to go on, and waits.
#[derive(Debug)]
struct PendingRecovery<S> {
    said: S,
    looks: u32,
    timer: TimerSlot,
}

/// The node.
#[derive(Debug)]
pub struct FileServer<U: RespondingUser> {
    config: ServerConfig<U::Config>,
    guard: Guard,
    sessions: Sessions<Session<U>>,
    door: Door,
    /// Runs while there are interrupted transfers, to this moment.
    age: TimerSlot,
    due: Option<Instant>,
}

impl<U: RespondingUser> FileServer<U> {
    /// One for the store that `guard` has.
    #[must_use]
    pub fn new(config: ServerConfig<U::Config>, guard: Guard) -> Self {
        Self {
            door: Door::new(config.associations, config.idle, config.began),
            config,
            guard,
            sessions: Sessions::default(),
            age: TimerSlot::default(),
            due: None,
        }
    }

    /// All associations are to be aborted for this reason, when the node is woken with [`WAKE`].
    pub fn stop(&mut self, why: StoreError) {
        self.door.stop(why);
    }

    /// Whether what an association has in progress is recovered by its user elsewhere, at another node that shares the
    /// table: then the node is to be woken with [`WAKE`].
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
        let room = self.door.has_room(self.sessions.len());
        let user = match U::called(&self.config.responder, &mut association, room, &mut self.guard) {
            Called::LetIn(responder) => {
                self.door.counters.accepted += 1;
                self.sessions.insert(Session { provider, responder, idle: TimerSlot::default(), held: None })
            }
            Called::Answered(end) => {
                self.door.refused(end);
                Handle::default()
            }
            Called::Refused(end, reason) => {
                self.door.refused(end);
                return abort_below(FILES, provider, reason, None, cx);
            }
        };
        let own = &self.config.association.called_names;
        accept((provider, user), association, own, cx);
        self.rest(user, cx);
    }

    /// Begins to wait again.
    fn rest(&mut self, user: Handle, cx: &mut Context<'_>) {
        if let Some(session) = self.sessions.get(user) {
            if !session.responder.waits() {
                return cx.clear_timer(&mut session.idle);
            }
            let locks = session.responder.keeps_others_out(&mut self.guard);
            let most = Some(self.config.lock_idle).filter(|_| locks);
            self.door.wait(user, &mut session.idle, most, cx);
        }
    }

    /// Lets the responder of a session do something, and does what it wants. A session that is aborted by that is
    /// forgotten.
    fn with(&mut self, user: Handle, cx: &mut Context<'_>, act: impl FnOnce(&mut U, &mut Guard, &mut Actions<U>)) {
        let Some(session) = self.sessions.get(user) else {
            return cx.drop("no such association");
        };
        let mut out = Vec::new();
        act(&mut session.responder, &mut self.guard, &mut out);
        for wish in out {
            let request = U::Protocol::request(session.provider, wish);
            if let Request::Data { data, .. } = &request {
                self.door.counters.elements_sent += 1;
                self.door.counters.octets_sent += data.len() as u64;
            }
            cx.down(FILES, request);
        }
        let stopped = session.responder.take_stopped();
        self.rest(user, cx);
        if let Some(said) = stopped {
            self.forget(user, cx);
            self.door.ended(End::Stopped(said));
        }
    }

    /// Gives up a session, and its timers.
    fn forget(&mut self, user: Handle, cx: &mut Context<'_>) -> Option<U> {
        let mut session = self.sessions.remove(user)?;
        cx.clear_timer(&mut session.idle);
        if let Some(held) = &mut session.held {
            cx.clear_timer(&mut held.timer);
        }
        Some(session.responder)
    }

    /// What the provider of a session says. Where that is to go on with a transfer that an association of another node
    /// has, it waits until that has given it up.
    fn said(&mut self, by: Handle, said: UserPrimitive<U>, looks: u32, cx: &mut Context<'_>) {
        let recovers = self.sessions.get(by).and_then(|it| it.responder.recovers(&said));
        if let Some(Recovers { user, activity, waits }) = recovers {
            self.supersede(&user, activity, Some(by), cx);
            if waits && looks < LOOKS && self.guard.claim(&user, activity) {
                let mut timer = TimerSlot::default();
                let token = Token { session: by, kind: RECOVER };
                cx.set_timer(&mut timer, token, cx.now() + AGAIN);
                if let Some(session) = self.sessions.get(by) {
                    session.held = Some(PendingRecovery { said, looks, timer });
                }
                return;
            }
        }
        let now = self.door.date(cx.now());
        self.with(by, cx, |responder, guard, out| responder.on(said, now, guard, out));
    }

    /// These associations have broken, though here nothing was heard of that: their user goes on with the activity
    /// elsewhere.
    fn supersede(&mut self, user: &User, activity: i64, by: Option<Handle>, cx: &mut Context<'_>) {
        let has = |it: &Session<U>| it.responder.has(user, activity);
        let all: Vec<Handle> = self.sessions.all(has).collect();
        let broken = all.into_iter().filter(|session| Some(*session) != by);
        for session in broken {
            self.with(session, cx, U::supersede);
        }
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

    /// A session is gone, broken for this reason if there is one.
    fn end(&mut self, user: Handle, reason: Option<Reason>, cx: &mut Context<'_>) {
        match self.forget(user, cx) {
            Some(mut responder) => self.door.ended(responder.ended(reason, &mut self.guard)),
            None => cx.drop("no such association"),
        }
    }
}

impl<U: RespondingUser> Protocol for FileServer<U> {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[U::Protocol::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let mut association = self.config.association.clone();
        U::listen(&self.config.responder, &mut association);
        self.door.listen(association, cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a filestore has no users in the graph");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Offered(offered) => self.on_offered(*offered, cx),
            Indication::Data { session, data, .. } => {
                self.with(session, cx, |responder, guard, out| responder.on_data(data, guard, out));
            }
            Indication::Special { session, what } => match what.take() {
                Some(said) => self.said(session, *said, 0, cx),
                None => cx.drop(U::Protocol::FOREIGN),
            },
            Indication::Credit { session, credit } => {
                self.with(session, cx, |responder, guard, out| responder.on_credit(credit.messages, guard, out));
            }
            Indication::Released { session, .. } => self.with(session, cx, U::on_released),
            // It can be called.
            Indication::Opened(_) => {}
            Indication::Aborted { session, reason, .. } if session == LISTENER => self.door.failure = Some(reason),
            Indication::Aborted { session, reason, .. } => self.end(session, Some(reason), cx),
            Indication::Closed { session } => self.end(session, None, cx),
            Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Unit(_) | Indication::Expedited { .. } | Indication::Reset { .. } => {
                cx.drop(U::Protocol::FOREIGN);
            }
        }
        self.watch(cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let Token { session: user, kind } = token;
        if token == WAKE {
            for (user, activity) in self.guard.claimed() {
                self.supersede(&user, activity, None, cx);
            }
            if let Some(why) = self.door.stops() {
                for user in self.sessions.handles() {
                    self.with(user, cx, |responder, guard, out| responder.stop(why.clone(), guard, out));
                }
            }
            return;
        }
        if kind == RECOVER {
            let held = self.sessions.get(user).and_then(|it| it.held.take());
            if let Some(PendingRecovery { said, looks, .. }) = held {
                self.said(user, said, looks + 1, cx);
            }
        } else if kind != AGE {
            self.door.counters.idle += 1;
            self.with(user, cx, |responder, guard, out| {
                let text = silence(responder.keeps_others_out(guard));
                responder.expire(StoreError::transient(1013, text), guard, out);
            });
        }
        self.watch(cx);
    }
}
