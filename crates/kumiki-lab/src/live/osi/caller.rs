//! One association that we ask for, and what is done on it.
//!
//! **Ending early.** Ctrl-C ends the transfer under way (by FTAM: F-CANCEL), and the association ends in order; a peer that does not answer within
//! [`GRACE`] gets an abort. A peer of which nothing comes for [`Call::patience`] while something is wanted of it gets the same.

use std::path::PathBuf;

use kumiki_graph::{Address, Duration, Instant, Protocol};
use kumiki_io::executor::GraphId;
use kumiki_io::{Clock as _, Ended, Executor, Pace, Plug, RealClock, Wish, unguessable};
use kumiki_osi::acse::{Authentication, Credential, Names};
use kumiki_osi::mms::PASSWORD_MECHANISM;
use kumiki_osi::x25::Number;
use kumiki_osi::{Association as Upper, Oid, Selectors};
use kumiki_proto::file_user::{
    Config, Failure, FileClient, Layer, Operation, Outcome, Progress, Settings, Want,
};
use kumiki_proto::mms_files;
use kumiki_proto::tpkt::Tpkt;

use super::ends::{Calls, WAKE, caller, caller_mut};
use super::line::{Line, Watcher};
use super::reach::{Host, connected};
use super::{Carrier, Lower, dropped, stack};
use crate::live::{BATCH, LOOK, LiveError, system};

/// How long a peer may take to end in order, and what was said last to leave.
pub const GRACE: Duration = Duration::from_secs(3);

/// Whom to call, how.
#[derive(Clone, Debug)]
pub struct Call {
    /// Where.
    pub host: Host,
    /// The layers below association control.
    pub lower: Lower,
    /// The X.121 address called, on XOT.
    pub x121: Number,
    /// The selectors called.
    pub called: Selectors,
    /// Our own.
    pub calling: Selectors,
    /// The titles called.
    pub names: Names,
    /// The application context; that of the protocol unless given.
    pub application_context: Option<Oid>,
    /// By which protocol, and as whom.
    pub calls: Calls,
    /// How long nothing may come.
    pub patience: Duration,
    /// Where what crosses the connection is written.
    pub pcap: Option<PathBuf>,
}

/// What is to be done on an association, one thing after the other.
pub trait Errand {
    /// The next thing; none: it is over.
    fn next(&mut self) -> Option<Operation>;

    /// What came of one.
    fn heard(&mut self, outcome: &Outcome);

    /// How far it is, after each pass; must be quick where nothing has happened.
    fn progress(&mut self, progress: Progress) {
        let _ = progress;
    }

    /// Something that a person may want to know.
    fn told(&mut self, line: &str) {
        let _ = line;
    }
}

/// How it went.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Association {
    /// Why there was none, or it ended too soon.
    pub failure: Option<Failure>,
    /// Whether it stood.
    pub stood: bool,
    /// Whether somebody wanted it to end.
    pub interrupted: bool,
    /// How long it took.
    pub elapsed: Duration,
    /// Octets that crossed the connection, received and sent.
    pub octets: (u64, u64),
}

impl Association {
    fn without(failure: Failure, interrupted: bool) -> Self {
        Self {
            failure: Some(failure),
            interrupted,
            ..Self::default()
        }
    }
}

/// Calls, does what `errand` wants, and ends.
///
/// # Errors
/// [`LiveError`] where this machine cannot do it, or the capture cannot be written; what the peer or the network has against it is in
/// [`Association::failure`].
pub fn call(call: &Call, errand: &mut dyn Errand) -> Result<Association, LiveError> {
    let clock = RealClock::start();
    let pace = Pace {
        batch: BATCH,
        ..Pace::default()
    };
    let mut executor = Executor::new(clock, pace);
    let bell = executor.bell();
    let wish = Wish::listen(&bell).map_err(system("cannot listen to Ctrl-C"))?;
    errand.told(&format!("network: connecting to {}", call.host));
    let connection = match connected(&call.host, call.lower.patience, clock, &bell, &wish) {
        Ok(connection) => connection,
        Err(why) => return Ok(Association::without(why, wish.is_made())),
    };
    let ends = (connection.local, connection.remote);
    errand.told(&format!("network: connected, {} to {}", ends.0, ends.1));
    let seed = unguessable().map_err(system("no random number"))?;
    let upper = Upper {
        called: call.called,
        calling: call.calling,
        called_names: call.names.clone(),
        application_context: call.application_context,
        ..Upper::default()
    };
    let remote = match call.lower.carrier {
        Carrier::Rfc1006 => Address::from(ends.1),
        Carrier::Xot => Address::X121(call.x121),
    };
    let client = client(call, remote, upper);
    let of = call.calls.protocol();
    let (graph, device) = stack(of, ("client", client), &call.lower, ends, seed)?;
    let node = graph.node("client");
    let (line, watcher) = Line::new(connection, clock, call.pcap.as_deref())
        .map_err(|why| LiveError::Line(why.to_string()))?;
    let host = executor.add_graph("caller", graph);
    let real = executor
        .add_real(Box::new(line))
        .map_err(system("no descriptor to wait for the connection"))?;
    executor.plug(Plug::Device(host, device), Plug::Real(real));
    executor.start()?;
    let Some(node) = node else {
        return Err(LiveError::Line("the stack has no client".to_owned()));
    };
    let mut conversation = Conversation {
        call,
        errand,
        node,
        host,
        clock,
        watcher,
        wish,
        heard: 0,
        stood: false,
        crossed: (0, Instant::ZERO),
        giving_up: None,
        over: None,
    };
    let ended = loop {
        let ended = executor.run(LOOK, |executor| conversation.look(executor));
        if ended != Ended::TimedOut {
            break ended;
        }
    };
    if ended == Ended::DeviceFailed
        && let Some((_, why)) = executor.failure()
    {
        return Err(LiveError::Line(why.to_string()));
    }
    Ok(conversation.finish(&executor))
}

/// The node on top.
fn client(call: &Call, remote: Address, upper: Upper) -> Box<dyn Protocol> {
    match &call.calls {
        Calls::Ftam(settings) => {
            let config = Config {
                remote,
                association: upper,
                settings: Settings {
                    // There is one connection: who goes on after it has broken makes another one.
                    recoveries: 0,
                    ..settings.clone()
                },
                ..Config::default()
            };
            Box::new(FileClient::new(config, Vec::new()).held())
        }
        Calls::Mms {
            initiate,
            settings,
            password,
        } => {
            let authentication = password.as_ref().map(|password| Authentication {
                mechanism: Some(PASSWORD_MECHANISM),
                value: Credential::Text(password.octets().to_vec()),
            });
            let config = mms_files::ClientConfig {
                remote,
                association: Upper {
                    authentication,
                    ..upper
                },
                initiate: *initiate,
                settings: *settings,
                ..mms_files::ClientConfig::default()
            };
            Box::new(mms_files::FileClient::new(config, Vec::new()).held())
        }
    }
}

/// An association while it runs.
struct Conversation<'a> {
    call: &'a Call,
    errand: &'a mut dyn Errand,
    node: kumiki_graph::NodeId,
    host: GraphId,
    clock: RealClock,
    watcher: Watcher,
    wish: Wish,
    /// So many outcomes were told.
    heard: usize,
    stood: bool,
    /// Octets that have crossed, and when that last was more.
    crossed: (u64, Instant),
    giving_up: Option<Instant>,
    /// Since when all is over but for what is to leave.
    over: Option<Instant>,
}

impl Conversation<'_> {
    /// Looks around after a pass; true where all is over.
    fn look(&mut self, executor: &mut Executor<RealClock>) -> bool {
        let now = self.clock.now();
        let Some(graph) = executor.graph_mut(self.host) else {
            return true;
        };
        let of = self.call.calls.protocol();
        let Some(client) = caller_mut(graph, self.node, of) else {
            return true;
        };
        if client.stands() && !self.stood {
            self.stood = true;
            let agreed = client.agreed();
            self.errand
                .told(&format!("{of}: the association stands, with {agreed}"));
        }
        while let Some(outcome) = client.outcomes().get(self.heard) {
            self.heard += 1;
            self.errand.heard(outcome);
        }
        self.errand.progress(client.progress());
        let (crossed, is_down) = self.watcher.crossed();
        if crossed != self.crossed.0 {
            self.crossed = (crossed, now);
        }
        if client.is_over() {
            // What was said last is still to leave, where the peer takes it.
            let since = *self.over.get_or_insert(now);
            let full = self.watcher.sight().is_full;
            return is_down || !full || now >= since + GRACE;
        }
        let mut want = None;
        if self.wish.is_made() {
            match self.giving_up {
                None => {
                    self.giving_up = Some(now);
                    want = Some(Want::GiveUp);
                }
                Some(since) if now >= since + GRACE => {
                    want = Some(Want::Abort(Failure::local("given up")));
                }
                Some(_) => {}
            }
        } else if now >= self.crossed.1 + self.call.patience {
            want = Some(Want::Abort(self.silence()));
        } else if client.is_idle() {
            want = Some(self.errand.next().map_or(Want::End, Want::Do));
        }
        if let Some(want) = want {
            client.want(want);
            graph.wake(now, self.node, WAKE);
        }
        false
    }

    fn silence(&self) -> Failure {
        let seconds = self.call.patience.as_nanos() / 1_000_000_000;
        Failure {
            layer: Layer::Network,
            code: None,
            meaning: format!("{}: nothing has come for {seconds} s", self.call.host),
            remedy: "try again; check the line, or wait longer with --timeout".to_owned(),
            transient: true,
            diagnostics: Vec::new(),
        }
    }

    fn finish(self, executor: &Executor<RealClock>) -> Association {
        let graph = executor.graph(self.host);
        for line in graph.map(dropped).unwrap_or_default() {
            self.errand.told(&line);
        }
        let of = self.call.calls.protocol();
        let client = graph.and_then(|graph| caller(graph, self.node, of));
        let failure = client.and_then(|client| client.failure().cloned());
        let sight = self.watcher.sight();
        let malformed = graph
            .and_then(|graph| Some(graph.protocol::<Tpkt>(graph.node("tpkt")?)?.counters()))
            .is_some_and(|counters| counters.malformed > 0);
        let failure = failure.map(|failure| {
            if malformed && !self.stood {
                return self.stranger(&sight.first);
            }
            if sight.received == 0 && sight.is_down && failure.layer != Layer::Local {
                return self.silent_end();
            }
            failure
        });
        Association {
            failure,
            stood: self.stood,
            interrupted: self.wish.is_made(),
            elapsed: self.clock.now().saturating_since(Instant::ZERO),
            octets: (sight.received, sight.sent),
        }
    }

    /// Who answers speaks something else.
    fn stranger(&self, first: &[u8]) -> Failure {
        let shown = first.escape_ascii();
        Failure {
            layer: Layer::Network,
            code: None,
            meaning: format!(
                "{}: who answers does not speak {}, but says \"{shown}\"",
                self.call.host, self.call.lower.carrier
            ),
            remedy: "check the port".to_owned(),
            transient: false,
            diagnostics: Vec::new(),
        }
    }

    fn silent_end(&self) -> Failure {
        Failure {
            layer: Layer::Transport,
            code: None,
            meaning: format!(
                "{}: the connection was closed without an answer",
                self.call.host
            ),
            remedy: "check the port, whether the responder lets this host call, and its limits"
                .to_owned(),
            transient: true,
            diagnostics: Vec::new(),
        }
    }
}
