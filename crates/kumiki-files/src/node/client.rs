//! The node that calls, does the plan, and ends. Where the association breaks in a transfer that can go on, it calls
//! again.

use core::fmt::Debug;

use kumiki_graph::{
    Above, Address, Below, Context, Duration, Handle, Indication, Open, Parameters, Protocol, Reason, Request, Rng,
    Shape, TimerSlot, Token,
};
use kumiki_octets::Message;
use kumiki_osi::entries::{abort_below, ending};
use kumiki_osi_service::Association;

use super::{FILES, FileProtocol, WAKE, perform};
use crate::file_user::{Failure, Layer, Operation, Plan};

/// Nothing has come for too long, or it is time to call again.
const WAITED: u32 = 1;

/// What whoever runs the node wants of it while it runs; see [`FileClient::want`].
#[derive(Debug)]
pub enum ClientRequest {
    /// This is done too.
    Do(Operation),
    /// The association ends in order when the plan is done.
    End,
    /// What is in progress is cancelled, nothing else is done, and the association ends in order.
    GiveUp,
    /// The association ends at once, for this reason.
    Abort(Failure),
    /// The association is taken as broken, for this reason: a transfer that can go on elsewhere does.
    Lost(Failure),
}

/// What an initiating user wants to have done.
type Actions<U> = Vec<<<U as InitiatingUser>::Protocol as FileProtocol>::Action>;

/// The initiating user of a protocol: does a [`Plan`] over one association. What is to be done is added to `out`.
pub trait InitiatingUser: Debug + Send + Sized + 'static {
    /// Its protocol.
    type Protocol: FileProtocol;
    /// Who asks, and how.
    type Settings: Clone + Default + Debug + Send;
    /// Who says so where an association is lost.
    const LAYER: Layer;

    /// One that is to do `plan`, in order.
    fn new(settings: Self::Settings, plan: Vec<Operation>) -> Self;

    /// What is still to be done, and what came of the rest.
    fn plan(&self) -> &Plan;

    /// The same, to be changed.
    fn plan_mut(&mut self) -> &mut Plan;

    /// Whether an operation is in progress.
    fn is_busy(&self) -> bool;

    /// Begins what is next, where nothing is in progress.
    fn go_on(&mut self, out: &mut Actions<Self>);

    /// Nothing more can be done, for this reason.
    fn end_all(&mut self, why: Failure);

    /// The node has started: what is to be random is drawn.
    fn starts(&mut self, rng: &mut Rng) {
        let _ = rng;
    }

    /// Says in the call what is proposed.
    fn propose(&self, association: &mut Association);

    /// The provider says that the association stands, or why its user does not want it.
    ///
    /// # Errors
    /// What was answered is no answer.
    fn on_opened(&mut self, association: Association, out: &mut Actions<Self>) -> Result<(), Reason>;

    /// What the provider says.
    fn on(&mut self, said: <Self::Protocol as FileProtocol>::Primitive, out: &mut Actions<Self>);

    /// A data element, of a protocol that has them.
    fn on_data(&mut self, data: Message, out: &mut Actions<Self>) {
        let _ = (data, out);
    }

    /// So many more may be said of what needs credit.
    fn on_credit(&mut self, messages: u32, out: &mut Actions<Self>);

    /// The responder wants to end, by a protocol that lets it.
    fn on_released(&mut self, out: &mut Actions<Self>) {
        let _ = out;
    }

    /// The association is gone.
    fn on_aborted(&mut self, reason: Reason);

    /// Gives up: ends a transfer in progress, does nothing else of the plan, and ends in order.
    fn give_up(&mut self, out: &mut Actions<Self>);

    /// Ends the association at once.
    fn abort(&mut self, why: Failure, out: &mut Actions<Self>);

    /// What was agreed on, in words; empty before the association stands.
    fn agreed(&self) -> String;

    /// Whether another association is wanted: one has broken, and with it a transfer that can go on. By some protocols
    /// none can.
    fn wants_again(&self) -> bool {
        false
    }

    /// Whether what is in progress could go on on another association.
    fn can_go_on(&self) -> bool {
        false
    }

    /// The association is no good any more, for this reason: as though it had broken. Asked where something [can go
    /// on](Self::can_go_on).
    fn on_lost(&mut self, why: Failure) {
        self.end_all(why);
    }

    /// Gives up, if another run can go on with what is in progress: then the association is to be broken off, for what
    /// ends in order is forgotten.
    fn breaks_off(&mut self) -> bool {
        false
    }

    /// What was started over since this was asked, if something was, and why the responder did not go on with it.
    fn take_started_over(&mut self) -> Option<(String, Failure)> {
        None
    }

    /// Keeps the association when the plan is done, for what [`InitiatingUser::add`] brings, until
    /// [`InitiatingUser::end`].
    fn hold(&mut self) {
        self.plan_mut().hold(true);
    }

    /// Adds to the plan.
    fn add(&mut self, operation: Operation, out: &mut Actions<Self>) {
        self.plan_mut().add(operation);
        self.go_on(out);
    }

    /// Ends the association in order when the plan is done.
    fn end(&mut self, out: &mut Actions<Self>) {
        self.plan_mut().hold(false);
        self.go_on(out);
    }

    /// Whether the association stands and nothing is to be done.
    fn is_idle(&self) -> bool {
        self.plan().may_begin() && !self.is_busy() && self.plan().is_empty()
    }

    /// The association has ended in order.
    fn on_closed(&mut self) {
        if self.is_busy() || !self.plan().is_empty() {
            self.end_all(Failure::of_reason(&Reason::Down, Self::LAYER));
        }
        self.plan_mut().close();
    }
}

/// Whom to call, and as whom.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientConfig<S> {
    /// The responder's address.
    pub remote: Address,
    /// Selectors, titles, contexts, and a password where association control is asked for one.
    pub association: Association,
    /// What the protocol's user can be told.
    pub settings: S,
    /// After so long without a word an association is ended; zero: never. More than a responder waits, so that it says
    /// why.
    pub idle: Duration,
    /// So long after an association has broken it is called again, where a transfer is to go on.
    pub again: Duration,
}

impl<S: Default> Default for ClientConfig<S> {
    fn default() -> Self {
        Self {
            remote: Address::default(),
            association: Association::default(),
            settings: S::default(),
            idle: Duration::from_secs(900),
            again: Duration::from_secs(2),
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct FileClient<U: InitiatingUser> {
    config: ClientConfig<U::Settings>,
    client: U,
    /// Names the association; another one for each.
    own: Handle,
    provider: Option<Handle>,
    /// An association is there, or is asked for.
    calls: bool,
    timer: TimerSlot,
    wanted: Vec<ClientRequest>,
    /// It does not call again.
    is_once: bool,
}

impl<U: InitiatingUser> FileClient<U> {
    /// One that does `plan` as soon as it is started.
    #[must_use]
    pub fn new(config: ClientConfig<U::Settings>, plan: Vec<Operation>) -> Self {
        let client = U::new(config.settings.clone(), plan);
        Self::going_on(config, client)
    }

    /// One that goes on, as soon as it is started, with what [`FileClient::take_broken`] gave.
    #[must_use]
    pub fn going_on(config: ClientConfig<U::Settings>, client: U) -> Self {
        Self {
            config,
            client,
            own: Handle::default(),
            provider: None,
            calls: false,
            timer: TimerSlot::default(),
            wanted: Vec::new(),
            is_once: false,
        }
    }

    /// One whose network below is good for one call: where its association breaks, whoever runs the node takes what is
    /// to go on to another one.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.is_once = true;
        self
    }

    /// One that keeps the association for what is wanted of it.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.client.hold();
        self
    }

    /// What wants another association, if it does. The node has nothing to do any more then.
    pub fn take_broken(&mut self) -> Option<U> {
        let is_broken = !self.calls && self.client.wants_again();
        let nothing = || U::new(U::Settings::default(), Vec::new());
        is_broken.then(|| core::mem::replace(&mut self.client, nothing()))
    }

    /// What was started over since this was asked, and why: [`InitiatingUser::take_started_over`].
    pub fn take_started_over(&mut self) -> Option<(String, Failure)> {
        self.client.take_started_over()
    }

    /// Wants something; the node does it when it is woken with [`WAKE`].
    pub fn want(&mut self, want: ClientRequest) {
        self.wanted.push(want);
    }

    /// The initiating user.
    #[must_use]
    pub const fn client(&self) -> &U {
        &self.client
    }

    /// What is still to be done, and what came of the rest.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.client.plan()
    }

    /// Whether the association stands, and nothing is done or wanted.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.wanted.is_empty() && self.client.is_idle()
    }

    /// Whether all is done and the association is gone.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.plan().is_over()
    }

    fn with(&mut self, cx: &mut Context<'_>, act: impl FnOnce(&mut U, &mut Actions<U>)) {
        let Some(provider) = self.provider else {
            return cx.drop("no association");
        };
        let mut out = Vec::new();
        act(&mut self.client, &mut out);
        perform::<U::Protocol>(provider, out, cx);
    }

    fn call(&mut self, cx: &mut Context<'_>) {
        self.own.generation = self.own.generation.wrapping_add(1).max(1);
        (self.provider, self.calls) = (None, true);
        let mut association = self.config.association.clone();
        self.client.propose(&mut association);
        let open = Open {
            user: self.own,
            remote: self.config.remote,
            parameters: Parameters::of(association),
            ..Open::default()
        };
        cx.down(FILES, Request::Open(Box::new(open)));
        self.rest(cx);
    }

    /// Begins to wait again: for a word, or to call again.
    fn rest(&mut self, cx: &mut Context<'_>) {
        let wait = match (self.is_over(), self.calls) {
            (false, true) if self.config.idle > Duration::ZERO => self.config.idle,
            (false, false) if self.client.wants_again() && !self.is_once => self.config.again,
            _ => return cx.clear_timer(&mut self.timer),
        };
        let token = Token { session: self.own, kind: WAITED };
        let deadline = cx.now() + wait;
        cx.set_timer(&mut self.timer, token, deadline);
    }

    /// Does what was wanted while nothing was heard.
    fn do_wanted(&mut self, cx: &mut Context<'_>) {
        let (mut out, mut lost) = (Vec::new(), None);
        for want in core::mem::take(&mut self.wanted) {
            match want {
                ClientRequest::Do(operation) => self.client.add(operation, &mut out),
                ClientRequest::End => self.client.end(&mut out),
                ClientRequest::GiveUp if self.client.breaks_off() => self.drop_call(Reason::Down, cx),
                ClientRequest::GiveUp if self.client.plan().stands() => self.client.give_up(&mut out),
                ClientRequest::GiveUp => self.client.abort(Failure::local("given up"), &mut out),
                ClientRequest::Abort(why) => self.client.abort(why, &mut out),
                ClientRequest::Lost(why) if self.client.can_go_on() => lost = Some(why),
                ClientRequest::Lost(why) => self.client.abort(why, &mut out),
            }
        }
        if let Some(why) = lost {
            self.drop_call(Reason::TimedOut, cx);
            self.client.on_lost(why);
            return self.rest(cx);
        }
        match self.provider {
            Some(provider) => perform::<U::Protocol>(provider, out, cx),
            None if self.client.plan().is_over() && self.calls => {
                self.calls = false;
                cx.down(FILES, Request::Cancel { user: self.own });
            }
            None => {}
        }
        self.rest(cx);
    }

    /// Ends the association, or what was to become one.
    fn hang_up(&mut self, reason: Reason, cx: &mut Context<'_>) {
        self.drop_call(reason.clone(), cx);
        self.client.on_aborted(reason);
    }

    /// The same, and the client does not hear of it.
    fn drop_call(&mut self, reason: Reason, cx: &mut Context<'_>) {
        let provider = self.provider.unwrap_or_default();
        cx.down(FILES, ending(self.own, provider, reason, None));
        (self.provider, self.calls) = (None, false);
    }

    /// The association is gone.
    fn gone(&mut self, reason: Reason) {
        (self.provider, self.calls) = (None, false);
        self.client.on_aborted(reason);
    }
}

impl<U: InitiatingUser> Protocol for FileClient<U> {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[U::Protocol::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.client.starts(cx.rng());
        self.call(cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a client has no users in the graph");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) if opened.user != self.own => {
                // One that was given up stands after all.
                abort_below(FILES, opened.provider, Reason::User, None, cx);
            }
            Indication::Opened(mut opened) => {
                self.provider = Some(opened.provider);
                let association = opened.parameters.take::<Association>().unwrap_or_default();
                let mut out = Vec::new();
                match self.client.on_opened(*association, &mut out) {
                    Ok(()) => perform::<U::Protocol>(opened.provider, out, cx),
                    Err(reason) => self.hang_up(reason, cx),
                }
            }
            // One that was given up here may still be heard of.
            Indication::Data { session, .. }
            | Indication::Special { session, .. }
            | Indication::Credit { session, .. }
            | Indication::Released { session, .. }
            | Indication::Aborted { session, .. }
            | Indication::Closed { session }
                if session != self.own => {}
            Indication::Data { data, .. } => self.with(cx, |client, out| client.on_data(data, out)),
            Indication::Special { what, .. } => match what.take() {
                // Of an association that is refused: there is nobody to send anything to.
                Some(said) if self.provider.is_none() => self.client.on(*said, &mut Vec::new()),
                Some(said) => self.with(cx, |client, out| client.on(*said, out)),
                None => cx.drop(U::Protocol::FOREIGN),
            },
            Indication::Credit { credit, .. } => {
                self.with(cx, |client, out| client.on_credit(credit.messages, out));
            }
            Indication::Released { .. } => self.with(cx, U::on_released),
            Indication::Aborted { reason, .. } => self.gone(reason),
            Indication::Closed { .. } => {
                (self.provider, self.calls) = (None, false);
                self.client.on_closed();
            }
            Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Offered(_) | Indication::Unit(_) | Indication::Expedited { .. } | Indication::Reset { .. } => {
                cx.drop(U::Protocol::FOREIGN);
            }
        }
        self.rest(cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == WAKE {
            return self.do_wanted(cx);
        }
        if !self.calls {
            return self.call(cx);
        }
        self.hang_up(Reason::TimedOut, cx);
        self.rest(cx);
    }
}
