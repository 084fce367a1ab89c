//! The node of the server: a filestore for many associations at once.

use crate::mms;
use kumiki_graph::{
    Above, Below, Context, Duration, Handle, Indication, Offered, Protocol, Reason, Request, Shape, TimerSlot, Token,
};
use kumiki_osi_service::Association;
use kumiki_osi_service::OsiCause;
use kumiki_osi_service::acse::{Credential, Diagnostic as AssociationDiagnostic};
use kumiki_osi_service::ftam::{GraphicString, Moment, Password};
use kumiki_osi_service::mms::{Initiate, PASSWORD_MECHANISM};

use super::responder::{Config as ResponderConfig, Responder};
use super::{Do, MMS, SERVER_SERVICES, perform};
use crate::filestore::door::{Door, LISTENER, WAKE, accept, silence};
use crate::filestore::{End, Fault, Guard, Login};
use kumiki_graph::sessions::Sessions;
use kumiki_osi::entries::abort_below;

/// X.227, Associate-source-diagnostic: no reason given, authentication failed, authentication required.
const NO_REASON: u8 = 1;
const AUTHENTICATION_FAILED: u8 = 13;
const AUTHENTICATION_REQUIRED: u8 = 14;

/// What can be set.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// As what it can be called: selectors, contexts, application context.
    pub association: Association,
    /// What is agreed to; the services are this node's.
    pub initiate: Initiate,
    /// Of each association.
    pub responder: ResponderConfig,
    /// As whom callers come in: association control carries a password and no name.
    pub user: Option<GraphicString>,
    /// The most associations at a time.
    pub associations: u32,
    /// After so long without a word an association is ended; zero: never.
    pub idle: Duration,
    /// The same of one that has a file locked for others; zero: not sooner.
    pub lock_idle: Duration,
    /// The date at the start of the graph's clock, in seconds since 1970.
    pub began: i64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            association: Association::default(),
            initiate: mms::Config::default().initiate,
            responder: ResponderConfig::default(),
            user: None,
            associations: 64,
            idle: Duration::from_secs(600),
            lock_idle: Duration::from_secs(60),
            began: 0,
        }
    }
}

#[derive(Debug)]
struct Session {
    provider: Handle,
    responder: Responder,
    idle: TimerSlot,
}

/// The node.
#[derive(Debug)]
pub struct FileServer {
    config: Config,
    guard: Guard,
    sessions: Sessions<Session>,
    door: Door,
}

impl FileServer {
    /// The token by which whoever runs the node has it do what [`FileServer::stop`] said.
    pub const WAKE: Token = WAKE;

    /// One for the store that `guard` has.
    #[must_use]
    pub fn new(config: Config, guard: Guard) -> Self {
        Self {
            door: Door::new(config.associations, config.idle, config.began),
            config,
            guard,
            sessions: Sessions::default(),
        }
    }

    /// All associations are to be aborted for this reason, when the node is woken with [`FileServer::WAKE`].
    pub fn stop(&mut self, why: Fault) {
        self.door.stop(why);
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
        let session = offered.provider;
        let mut association = offered.parameters.take::<Association>().unwrap_or_default();
        let authentication = association.authentication.take();
        let given =
            authentication.filter(|it| it.mechanism.is_none_or(|it| it == PASSWORD_MECHANISM)).map(|it| {
                match it.value {
                    Credential::Text(octets) | Credential::Raw(octets) => Password::Octets(octets),
                    Credential::Bits { octets, .. } => Password::Octets(octets),
                }
            });
        let login = Login { initiator: self.config.user.as_ref(), account: None, password: given.as_ref() };
        let has_room = self.door.has_room(self.sessions.len());
        let let_in = has_room.and_then(|()| self.guard.authenticate(&login));
        let agreed = association.initiate.take();
        let (user, agreed) = match (let_in, agreed) {
            (Ok(user), Some(agreed)) => (user, agreed),
            (let_in, _) => {
                let fault = let_in.err();
                let diagnostic = match &fault {
                    Some(fault) if fault.transient => NO_REASON,
                    Some(_) if given.is_none() => AUTHENTICATION_REQUIRED,
                    Some(_) => AUTHENTICATION_FAILED,
                    None => NO_REASON,
                };
                let permanent = fault.as_ref().is_none_or(|it| !it.transient);
                let told = OsiCause::Rejected { permanent, diagnostic: AssociationDiagnostic::User(diagnostic) };
                self.door.refused(End::Rejected(told, fault.map(|it| it.text).unwrap_or_default()));
                return abort_below(MMS, session, Reason::peer(told), None, cx);
            }
        };
        self.door.counters.accepted += 1;
        let responder = Responder::new(self.config.responder.clone(), user, &agreed);
        let user = self.sessions.insert(Session { provider: session, responder, idle: TimerSlot::default() });
        let own = &self.config.association.called_names;
        accept(MMS, (session, user), association, own, cx);
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
    fn with(
        &mut self,
        user: Handle,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Responder, Moment, &mut Guard, &mut Vec<Do>),
    ) {
        let now = self.door.date(cx.now());
        let Some(session) = self.sessions.get(user) else {
            return cx.drop("no such association");
        };
        let mut out = Vec::new();
        act(&mut session.responder, now, &mut self.guard, &mut out);
        perform(session.provider, out, cx);
        self.rest(user, cx);
    }

    /// Aborts an association from here.
    fn stop_one(&mut self, user: Handle, why: &Fault, cx: &mut Context<'_>) {
        self.with(user, cx, |responder, _, guard, out| {
            responder.stop(guard, out);
        });
        if let Some(mut session) = self.sessions.remove(user) {
            cx.clear_timer(&mut session.idle);
            self.door.ended(End::Stopped(vec![why.diagnostic()]));
        }
    }

    /// A session is gone, broken for this reason if there is one.
    fn end(&mut self, user: Handle, reason: Option<Reason>, cx: &mut Context<'_>) {
        let Some(mut session) = self.sessions.remove(user) else {
            return cx.drop("no such association");
        };
        cx.clear_timer(&mut session.idle);
        session.responder.on_broken(&mut self.guard);
        self.door.ended(match reason {
            None => End::InOrder,
            Some(reason) => match reason.cause() {
                // Some clients end by an abort as others do by conclude.
                Some(OsiCause::AssociationAborted { provider: false }) => End::Aborted(Vec::new()),
                Some(_) | None => End::Broken(reason),
            },
        });
    }
}

impl Protocol for FileServer {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[mms::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let mut association = self.config.association.clone();
        association.initiate = Some(Box::new(Initiate { services_supported: SERVER_SERVICES, ..self.config.initiate }));
        self.door.listen(association, MMS, cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a filestore has no users in the graph");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Offered(offered) => self.on_offered(*offered, cx),
            Indication::Special { session, what } => {
                let Some(pdu) = what.take() else {
                    return cx.drop("not of MMS");
                };
                self.with(session, cx, |responder, now, guard, out| {
                    responder.on(*pdu, now, guard, out);
                });
            }
            Indication::Credit { session, credit } => {
                self.with(session, cx, |responder, _, guard, out| {
                    responder.on_credit(credit.messages, guard, out);
                });
            }
            Indication::Released { session, .. } => {
                self.with(session, cx, |responder, _, guard, out| {
                    responder.on_released(guard, out);
                });
            }
            // It can be called.
            Indication::Opened(_) => {}
            Indication::Aborted { session, reason, .. } if session == LISTENER => self.door.failure = Some(reason),
            Indication::Aborted { session, reason, .. } => self.end(session, Some(reason), cx),
            Indication::Closed { session } => self.end(session, None, cx),
            Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Data { .. }
            | Indication::Unit(_)
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Urgent { .. } => cx.drop("not of MMS"),
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == Self::WAKE {
            if let Some(why) = self.door.stops() {
                for user in self.sessions.handles() {
                    self.stop_one(user, &why, cx);
                }
            }
            return;
        }
        self.door.counters.idle += 1;
        let session = self.sessions.get(token.session);
        let locks = session.is_some_and(|it| it.responder.keeps_others_out(&mut self.guard));
        let why = Fault::transient(1013, silence(locks));
        self.stop_one(token.session, &why, cx);
    }
}
