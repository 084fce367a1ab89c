//! The lower module interface of a board: messages to and from a module that does a network by itself.
//!
//! | | |
//! |---|---|
//! | Specification | none: paper 4's task LIF |
//! | Above | transport |
//! | Below | the lower module: the packet layer of X.25 |
//! | Left out | the memory between the two modules, which is prices |
//!
//! Two ways to know whether the lower module can take a message ([`Flow`]):
//!
//! - *Polling*, as in paper 4. The module says nothing; this task asks it again and again for as long as it has
//!   something to send. So the busier the module, the more of the CPU goes into asking (paper 4, section 3 (3)). Each
//!   question is an expiry of this node's timer, and has that price.
//! - *Credit*. The module's credit is handed up, and nobody asks.

use std::collections::VecDeque;

use kumiki_graph::{
    Above, Below, Context, Credit, Duration, Handle, Indication, Protocol, Request, Service, Shape, TimerSlot, Token,
};
use kumiki_settings::Settings;

#[cfg(test)]
mod tests;

/// The lower module, and who is above.
const MODULE: Below = Below(0);
const USER: Above = Above(0);

/// How this task knows whether the lower module can take a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flow {
    /// It asks.
    Polling,
    /// It is told.
    #[default]
    Credit,
}

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// How this task knows whether the lower module can take a message: it asks, or is told.
    #[setting(words = FLOWS)]
    pub flow: Flow,
    /// Polling: from one question to the next, at least.
    ///
    /// The price of an expiry may make it longer.
    #[setting(positive)]
    pub interval: Duration,
    /// Polling: how many messages may wait in this task.
    #[setting(1..=1024)]
    pub queue: u32,
}

/// The words for [`Flow`].
const FLOWS: [(&str, Flow); 2] = [("credit", Flow::Credit), ("polling", Flow::Polling)];

impl Default for Config {
    fn default() -> Self {
        Self { flow: Flow::Credit, interval: Duration::from_micros(100), queue: 7 }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Questions asked.
    pub polls: u64,
    /// Of them, those that found the module busy.
    pub busy: u64,
}

/// One connection, where this task polls.
#[derive(Debug)]
struct Connection {
    /// The user's name for it, and the module's.
    user: Handle,
    module: Handle,
    /// What the module could take.
    room: u32,
    queue: VecDeque<Request>,
}

/// The interface.
#[derive(Debug, Default)]
pub struct Lif {
    config: Config,
    connections: Vec<Connection>,
    timer: TimerSlot,
    is_polling: bool,
    counters: Counters,
}

impl Lif {
    /// An interface as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn begin(&mut self, user: Handle, module: Handle, cx: &mut Context<'_>) {
        self.connections.push(Connection { user, module, room: 0, queue: VecDeque::new() });
        let (session, credit) = (user, Credit::messages(self.config.queue));
        cx.up(USER, Indication::Credit { session, credit });
    }

    fn forget(&mut self, ended: impl Fn(&Connection) -> bool) {
        self.connections.retain(|connection| !ended(connection));
    }

    fn poll_again(&mut self, cx: &mut Context<'_>) {
        self.is_polling = true;
        let deadline = cx.now() + self.config.interval;
        cx.set_timer(&mut self.timer, Token::default(), deadline);
    }
}

impl Protocol for Lif {
    fn shape(&self) -> Shape {
        Shape { offers: Some(Service::CONNECTION), needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn bind(&mut self, above: Above, _: &[kumiki_graph::Key]) -> Result<(), String> {
        if above == USER { Ok(()) } else { Err("a lower module interface has one user and has it already".to_owned()) }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        if self.config.flow == Flow::Credit {
            return cx.down(MODULE, request);
        }
        let session = if let Request::Accept(accept) = &request {
            let (user, module) = (accept.user, accept.session);
            cx.down(MODULE, request);
            return self.begin(user, module, cx);
        } else if let Request::Data { session, .. } = &request {
            *session
        } else if let Request::Abort { session, .. } | Request::Release { session, .. } = &request {
            // What ends a connection waits its turn behind what it ends, as long as the module takes that.
            *session
        } else {
            return cx.down(MODULE, request);
        };
        match self.connections.iter_mut().find(|it| it.module == session) {
            Some(connection) => {
                connection.queue.push_back(request);
                if !self.is_polling {
                    self.poll_again(cx);
                }
            }
            None => cx.down(MODULE, request),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if self.config.flow == Flow::Credit {
            return cx.up(USER, indication);
        }
        if let Indication::Opened(opened) = &indication {
            let (user, module) = (opened.user, opened.provider);
            cx.up(USER, indication);
            self.begin(user, module, cx);
        } else if let Indication::Credit { session, credit } = &indication {
            // Nobody is told: it is there to be found.
            let found = self.connections.iter_mut().find(|it| it.user == *session);
            if let Some(connection) = found {
                connection.room += credit.messages;
            }
        } else if let Indication::Aborted { session, .. } | Indication::Closed { session } = &indication {
            let ended = *session;
            self.forget(|it| it.user == ended);
            cx.up(USER, indication);
        } else {
            cx.up(USER, indication);
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        self.is_polling = false;
        self.counters.polls += 1;
        let mut ended = Vec::new();
        let mut sent = 0;
        for connection in &mut self.connections {
            while let Some(next) = connection.queue.front() {
                let is_data = matches!(next, Request::Data { .. });
                let last = connection.queue.back();
                let ends = last.is_some_and(|it| !matches!(it, Request::Data { .. }));
                if is_data && connection.room == 0 && !ends {
                    break;
                }
                let Some(request) = connection.queue.pop_front() else {
                    break;
                };
                if is_data && connection.room == 0 {
                    // Nobody knows whether the module will ever take it, and its user has gone.
                    cx.drop("data of a connection that ends");
                    continue;
                }
                sent += 1;
                if is_data {
                    connection.room -= 1;
                    let (session, credit) = (connection.user, Credit::messages(1));
                    cx.up(USER, Indication::Credit { session, credit });
                } else {
                    ended.push(connection.module);
                }
                cx.down(MODULE, request);
            }
        }
        self.counters.busy += u64::from(sent == 0);
        self.forget(|it| ended.contains(&it.module));
        if self.connections.iter().any(|it| !it.queue.is_empty()) {
            self.poll_again(cx);
        }
    }
}
