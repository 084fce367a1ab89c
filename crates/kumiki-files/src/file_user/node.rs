//! The node: calls, does the plan, and ends. Where the association breaks in a transfer that can go on, it calls again.

use crate::ftam;
use kumiki_graph::Parameters;
use kumiki_graph::{
    Above, Address, Below, Context, Duration, Handle, Indication, Open, Protocol, Reason, Request, Shape, TimerSlot,
    Token,
};
use kumiki_osi_service::Association;
use kumiki_osi_service::ftam::Fpdu;
use kumiki_osi_service::layer;

use super::{Client, Failure, Operation, Settings};
use crate::filestore::door::WAKE;
use crate::filestore::{Do, perform};
use kumiki_osi::entries::{abort_below, ending};

/// The file service.
const FILES: Below = Below(0);

/// Nothing has come for too long, or it is time to call again.
const WAITED: u32 = 1;

/// What whoever runs the node wants of it while it runs; see [`FileClient::want`].
#[derive(Debug)]
pub enum Want {
    /// This is done too.
    Do(Operation),
    /// The association ends in order when the plan is done.
    End,
    /// What is under way is cancelled, nothing else is done, and the association ends in order.
    GiveUp,
    /// The association ends at once, for this reason.
    Abort(Failure),
    /// The association is taken as broken, for this reason: a transfer that can go on elsewhere does.
    Lost(Failure),
}

/// Whom to call, and as whom.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The responder's address.
    pub remote: Address,
    /// Selectors, titles, contexts.
    pub association: Association,
    /// User, functional units and so on. Activities are numbered from a random number on where it is 0.
    pub settings: Settings,
    /// After so long without a word an association is ended; zero: never. More than a responder waits, so that it says why.
    pub idle: Duration,
    /// So long after an association has broken it is called again, where a transfer is to go on.
    pub again: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            remote: Address::default(),
            association: Association::default(),
            settings: Settings::default(),
            idle: Duration::from_secs(900),
            again: Duration::from_secs(2),
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct FileClient {
    config: Config,
    plan: Vec<Operation>,
    client: Client,
    /// Names the association; another one for each.
    own: Handle,
    provider: Option<Handle>,
    /// An association is there, or is asked for.
    calls: bool,
    timer: TimerSlot,
    wanted: Vec<Want>,
    /// The association is kept when the plan is done.
    is_held: bool,
    /// What it does was begun at another node.
    goes_on: bool,
    /// It does not call again.
    is_once: bool,
}

impl FileClient {
    /// The token by which whoever runs the node has it look at what is wanted.
    pub const WAKE: Token = WAKE;

    /// One that does `plan` as soon as it is started.
    #[must_use]
    pub fn new(config: Config, plan: Vec<Operation>) -> Self {
        let client = Client::new(config.settings.clone(), Vec::new());
        Self {
            config,
            plan,
            client,
            own: Handle::default(),
            provider: None,
            calls: false,
            timer: TimerSlot::default(),
            wanted: Vec::new(),
            is_held: false,
            goes_on: false,
            is_once: false,
        }
    }

    /// One that goes on, as soon as it is started, with what [`FileClient::take_broken`] gave.
    #[must_use]
    pub fn going_on(config: Config, client: Client) -> Self {
        Self { client, goes_on: true, ..Self::new(config, Vec::new()) }
    }

    /// One whose network below is good for one call: where its association breaks, whoever runs the node takes what is to go on to another one.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.is_once = true;
        self
    }

    /// What wants another association, if it does. The node has nothing to do any more then.
    pub fn take_broken(&mut self) -> Option<Client> {
        let is_broken = !self.calls && self.client.wants_again();
        let nothing = || Client::new(Settings::default(), Vec::new());
        is_broken.then(|| core::mem::replace(&mut self.client, nothing()))
    }

    /// What was begun anew since this was asked, and why: [`Client::take_anew`].
    pub fn take_anew(&mut self) -> Option<(String, Failure)> {
        self.client.take_anew()
    }

    /// One that keeps the association for what is wanted of it.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.is_held = true;
        self
    }

    /// Wants something; the node does it when it is woken with [`FileClient::WAKE`].
    pub fn want(&mut self, want: Want) {
        self.wanted.push(want);
    }

    /// What it has done.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the association stands, and nothing is done or wanted.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.wanted.is_empty() && self.client.is_idle()
    }

    /// Whether all is done and the association is gone.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.client.plan().is_over()
    }

    fn with(&mut self, cx: &mut Context<'_>, act: impl FnOnce(&mut Client, &mut Vec<Do>)) {
        let Some(provider) = self.provider else {
            cx.drop("no association");
            return;
        };
        let mut out = Vec::new();
        act(&mut self.client, &mut out);
        perform(provider, out, cx);
    }

    fn call(&mut self, cx: &mut Context<'_>) {
        self.own.generation = self.own.generation.wrapping_add(1).max(1);
        (self.provider, self.calls) = (None, true);
        let mut association = self.config.association.clone();
        let request = Fpdu::InitializeRequest(Box::new(self.client.request()));
        association.initialize = Some(Box::new(request));
        let open = Open {
            user: self.own,
            remote: self.config.remote,
            parameters: Parameters::of(association),
            ..Open::default()
        };
        cx.down(FILES, Request::Open(Box::new(open)));
        self.rest(cx);
    }

    /// Begins to wait anew: for a word, or to call again.
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
                Want::Do(operation) => self.client.add(operation, &mut out),
                Want::End => self.client.end(&mut out),
                Want::GiveUp if self.client.breaks_off() => self.drop_call(Reason::Down, cx),
                Want::GiveUp if self.client.plan().stands() => self.client.give_up(&mut out),
                Want::GiveUp => self.client.abort(Failure::local("given up"), &mut out),
                Want::Abort(why) => self.client.abort(why, &mut out),
                Want::Lost(why) if self.client.can_go_on() => lost = Some(why),
                Want::Lost(why) => self.client.abort(why, &mut out),
            }
        }
        if let Some(why) = lost {
            self.drop_call(Reason::TimedOut, cx);
            self.client.on_lost(why);
            return self.rest(cx);
        }
        match self.provider {
            Some(provider) => perform(provider, out, cx),
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

impl Protocol for FileClient {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[ftam::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        if self.goes_on {
            return self.call(cx);
        }
        let mut settings = self.config.settings.clone();
        if settings.activity == 0 {
            settings.activity = i64::from(cx.rng().next_u32()) << 16;
        }
        self.client = Client::new(settings, core::mem::take(&mut self.plan));
        if self.is_held {
            self.client.hold();
        }
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
                let said = opened.parameters.take::<Association>().and_then(|association| association.initialize);
                match said.map(|fpdu| *fpdu) {
                    Some(Fpdu::InitializeResponse(response)) => {
                        self.with(cx, |client, out| client.on_initialized(&response, out));
                    }
                    _ => {
                        let (by, found) = (layer::FTAM, "an acceptance without F-INITIALIZE");
                        self.hang_up(Reason::violation(by, found), cx);
                    }
                }
            }
            // One that was given up here may still be heard of.
            Indication::Data { session, .. }
            | Indication::Special { session, .. }
            | Indication::Credit { session, .. }
            | Indication::Aborted { session, .. }
            | Indication::Closed { session }
                if session != self.own => {}
            Indication::Data { data, .. } => self.with(cx, |client, out| client.on_data(data, out)),
            Indication::Special { what, .. } => match what.take() {
                // Of an association that is refused: there is nobody to send anything to.
                Some(primitive) if self.provider.is_none() => self.client.on(*primitive, &mut Vec::new()),
                Some(primitive) => self.with(cx, |client, out| client.on(*primitive, out)),
                None => cx.drop("not of the file service"),
            },
            Indication::Credit { credit, .. } => {
                self.with(cx, |client, out| client.on_credit(credit.messages, out));
            }
            Indication::Aborted { reason, .. } => self.gone(reason),
            Indication::Closed { .. } => {
                (self.provider, self.calls) = (None, false);
                self.client.on_closed();
            }
            Indication::Released { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Offered(_)
            | Indication::Unit(_)
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Urgent { .. } => cx.drop("not of the file service"),
        }
        self.rest(cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == Self::WAKE {
            return self.do_wanted(cx);
        }
        if !self.calls {
            return self.call(cx);
        }
        self.hang_up(Reason::TimedOut, cx);
        self.rest(cx);
    }
}
