//! The node of the client: calls, does the plan, and ends.

use crate::mms;
use kumiki_graph::Parameters;
use kumiki_graph::{
    Above, Address, Below, Context, Duration, Handle, Indication, Open, Protocol, Reason, Request, Shape, TimerSlot,
    Token,
};
use kumiki_osi_service::Association;
use kumiki_osi_service::layer;
use kumiki_osi_service::mms::Initiate;

use super::{CLIENT_SERVICES, Client, Do, MMS, Settings, perform};
use crate::file_user::{Failure, Operation, Want};
use crate::filestore::door::WAKE;
use kumiki_osi::entries::ending;

/// Nothing has come for too long.
const WAITED: u32 = 1;

/// Whom to call, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The responder's address.
    pub remote: Address,
    /// Selectors, titles, contexts, and a password where one is asked for.
    pub association: Association,
    /// What is proposed; the services are this node's.
    pub initiate: Initiate,
    /// How.
    pub settings: Settings,
    /// After so long without a word an association is ended; zero: never.
    pub idle: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            remote: Address::default(),
            association: Association::default(),
            initiate: mms::Config::default().initiate,
            settings: Settings::default(),
            idle: Duration::from_secs(900),
        }
    }
}

/// The node.
#[derive(Debug)]
pub struct FileClient {
    config: Config,
    client: Client,
    provider: Option<Handle>,
    /// An association is there, or is asked for.
    calls: bool,
    timer: TimerSlot,
    wanted: Vec<Want>,
}

/// The one association.
const OWN: Handle = Handle { index: 0, generation: 1 };

impl FileClient {
    /// The token by which whoever runs the node has it look at what is wanted.
    pub const WAKE: Token = WAKE;

    /// One that does `plan` as soon as it is started.
    #[must_use]
    pub fn new(config: Config, plan: Vec<Operation>) -> Self {
        let client = Client::new(config.settings, plan);
        Self { config, client, provider: None, calls: false, timer: TimerSlot::default(), wanted: Vec::new() }
    }

    /// One that keeps the association for what is wanted of it.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.client.hold();
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
            return cx.drop("no association");
        };
        let mut out = Vec::new();
        act(&mut self.client, &mut out);
        perform(provider, out, cx);
    }

    /// Begins to wait anew.
    fn rest(&mut self, cx: &mut Context<'_>) {
        if self.is_over() || !self.calls || self.config.idle == Duration::ZERO {
            return cx.clear_timer(&mut self.timer);
        }
        let token = Token { session: OWN, kind: WAITED };
        let deadline = cx.now() + self.config.idle;
        cx.set_timer(&mut self.timer, token, deadline);
    }

    /// Does what was wanted while nothing was heard.
    fn do_wanted(&mut self, cx: &mut Context<'_>) {
        let mut out = Vec::new();
        for want in core::mem::take(&mut self.wanted) {
            match want {
                Want::Do(operation) => self.client.add(operation, &mut out),
                Want::End => self.client.end(&mut out),
                Want::GiveUp if self.client.plan().stands() => self.client.give_up(&mut out),
                Want::GiveUp => self.client.abort(Failure::local("given up"), &mut out),
                Want::Abort(why) | Want::Lost(why) => self.client.abort(why, &mut out),
            }
        }
        match self.provider {
            Some(provider) => perform(provider, out, cx),
            None if self.client.plan().is_over() && self.calls => {
                self.calls = false;
                cx.down(MMS, Request::Cancel { user: OWN });
            }
            None => {}
        }
        self.rest(cx);
    }

    /// Ends the association, or what was to become one.
    fn hang_up(&mut self, reason: Reason, cx: &mut Context<'_>) {
        let provider = self.provider.unwrap_or_default();
        cx.down(MMS, ending(OWN, provider, reason.clone(), None));
        self.gone(reason);
    }

    fn gone(&mut self, reason: Reason) {
        (self.provider, self.calls) = (None, false);
        self.client.on_aborted(reason);
    }
}

impl Protocol for FileClient {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[mms::SERVICE], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.calls = true;
        let mut association = self.config.association.clone();
        association.initiate = Some(Box::new(Initiate { services_supported: CLIENT_SERVICES, ..self.config.initiate }));
        let open =
            Open { user: OWN, remote: self.config.remote, parameters: Parameters::of(association), ..Open::default() };
        cx.down(MMS, Request::Open(Box::new(open)));
        self.rest(cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a client has no users in the graph");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(mut opened) => {
                self.provider = Some(opened.provider);
                let said = opened.parameters.take::<Association>().and_then(|it| it.initiate);
                match said {
                    Some(agreed) => self.with(cx, |client, out| client.on_opened(*agreed, out)),
                    None => {
                        let (by, found) = (layer::MMS, "an acceptance without an initiate-Response");
                        self.hang_up(Reason::violation(by, found), cx);
                    }
                }
            }
            Indication::Special { what, .. } => match what.take() {
                Some(pdu) => self.with(cx, |client, out| client.on(*pdu, out)),
                None => cx.drop("not of MMS"),
            },
            Indication::Credit { credit, .. } => {
                self.with(cx, |client, out| client.on_credit(credit.messages, out));
            }
            Indication::Aborted { reason, .. } => self.gone(reason),
            Indication::Closed { .. } => {
                (self.provider, self.calls) = (None, false);
                self.client.on_closed();
            }
            Indication::Released { .. } => self.with(cx, Client::on_released),
            Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Offered(_)
            | Indication::Data { .. }
            | Indication::Unit(_)
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Urgent { .. } => cx.drop("not of MMS"),
        }
        self.rest(cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token == Self::WAKE {
            return self.do_wanted(cx);
        }
        self.hang_up(Reason::TimedOut, cx);
        self.rest(cx);
    }
}
