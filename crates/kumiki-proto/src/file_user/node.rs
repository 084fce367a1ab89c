//! The node: calls, does the plan, and ends.

use kumiki_graph::{
    Above, Address, Below, Context, Handle, Indication, Open, Particular, Protocol, Reason,
    Request, Service, Shape, Token,
};
use kumiki_osi::Association;
use kumiki_osi::ftam::Fpdu;

use super::{Client, Failure, Operation, Settings};
use crate::filestore::{Do, perform};

/// The file service.
const FILES: Below = Below(0);

/// The handle of the one association.
const OWN: Handle = Handle {
    index: 0,
    generation: 1,
};

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
}

/// Whom to call, and as whom.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config {
    /// The responder's address.
    pub remote: Address,
    /// Selectors, titles, contexts.
    pub association: Association,
    /// User, functional units and so on.
    pub settings: Settings,
}

/// The node.
#[derive(Debug)]
pub struct FileClient {
    config: Config,
    client: Client,
    provider: Option<Handle>,
    wanted: Vec<Want>,
}

impl FileClient {
    /// The token by which whoever runs the node has it look at what is wanted.
    pub const WAKE: Token = Token {
        session: OWN,
        kind: 0,
    };

    /// One that does `plan` as soon as it is started.
    #[must_use]
    pub fn new(config: Config, plan: Vec<Operation>) -> Self {
        let client = Client::new(config.settings.clone(), plan);
        Self {
            config,
            client,
            provider: None,
            wanted: Vec::new(),
        }
    }

    /// One that keeps the association for what is wanted of it.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.client = self.client.held();
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
        self.client.is_over()
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
}

impl Protocol for FileClient {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::Connection],
            below: (1, 1),
            keys: Vec::new(),
        }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let mut association = self.config.association.clone();
        let request = Fpdu::InitializeRequest(Box::new(self.client.request()));
        association.initialize = Some(Box::new(request));
        let open = Open {
            user: OWN,
            remote: self.config.remote,
            association: Some(Box::new(association)),
            ..Open::default()
        };
        cx.down(FILES, Request::Open(Box::new(open)));
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        let mut out = Vec::new();
        for want in core::mem::take(&mut self.wanted) {
            match want {
                Want::Do(operation) => self.client.add(operation, &mut out),
                Want::End => self.client.end(&mut out),
                Want::GiveUp if self.client.stands() => self.client.give_up(&mut out),
                Want::GiveUp => self.client.abort(Failure::local("given up"), &mut out),
                Want::Abort(why) => self.client.abort(why, &mut out),
            }
        }
        match self.provider {
            Some(provider) => perform(provider, out, cx),
            None if self.client.is_over() => cx.down(FILES, Request::Cancel { user: OWN }),
            None => {}
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a client has no users in the graph");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => {
                self.provider = Some(opened.provider);
                let said = opened
                    .association
                    .and_then(|association| association.initialize);
                match said.map(|fpdu| *fpdu) {
                    Some(Fpdu::InitializeResponse(response)) => {
                        self.with(cx, |client, out| client.on_initialized(&response, out));
                    }
                    _ => self.client.on_aborted(Reason::Protocol),
                }
            }
            Indication::Data { data, .. } => self.with(cx, |client, out| client.on_data(data, out)),
            Indication::Particular { what, .. } => match *what {
                Particular::File(primitive) if self.provider.is_none() => {
                    // Of an association that is refused: there is nobody to send anything to.
                    self.client.on(primitive, &mut Vec::new());
                }
                Particular::File(primitive) => {
                    self.with(cx, |client, out| client.on(primitive, out));
                }
                Particular::Session(_) | Particular::Packet(_) => {
                    cx.drop("not of the file service");
                }
            },
            Indication::Credit { credit, .. } => {
                self.with(cx, |client, out| client.on_credit(credit.messages, out));
            }
            Indication::Aborted { reason, .. } => self.client.on_aborted(reason),
            Indication::Closed { .. } => self.client.on_closed(),
            Indication::Released { .. } | Indication::Notice { .. } | Indication::Report(_) => {}
            Indication::Offered(_)
            | Indication::Unit(_)
            | Indication::Tagged { .. }
            | Indication::Values { .. }
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Urgent { .. } => cx.drop("not of the file service"),
        }
    }
}
