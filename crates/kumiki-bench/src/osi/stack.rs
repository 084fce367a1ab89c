//! The layers, from the users down to transport, and what the users move.

use kumiki_files::file_user::{Config, FileClient, Gain, Operation, PutMode, Settings, Sink};
use kumiki_files::filestore::{self, FileServer, Guard, Memory, ResponderConfig};
use kumiki_files::ftam::{self, Ftam};
use kumiki_files::node::{ClientRequest, WAKE};
use kumiki_graph::{Graph, GraphError, Instant, NodeId, Protocol, TaskId};
use kumiki_octets::{Message, Page};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Tp0};
use kumiki_osi_service::ftam::contents::ContentsType;
use serde::Serialize;

use super::FileDirection;
use crate::load::{content, wrong};

/// The layers that have FTAM above them, with it, from above.
const LAYERS: [&str; 5] = ["ftam", "acse", "presentation", "session", "tp0"];

const FILE: &str = "file";

/// Octets after which the content of the file starts over: not a multiple of anything.
const PERIOD: usize = 65_521;

/// What is moved, in what pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Shape {
    /// Octets of the file.
    pub(crate) octets: usize,
    /// Octets of one data element.
    pub(crate) element: usize,
    /// The largest TPDU, in octets.
    pub(crate) tpdu: u32,
}

/// A file's content.
pub(crate) struct Content {
    period: Vec<u8>,
    message: Message,
}

impl Content {
    /// One of `octets` octets.
    pub(crate) fn new(octets: usize) -> Self {
        let period = content(PERIOD);
        let page = Page::build(octets, |room| {
            for part in room.chunks_mut(PERIOD) {
                let (copied, _) = period.split_at(part.len());
                part.copy_from_slice(copied);
            }
        });
        let message = Message::from_page(page);
        Self { period, message }
    }

    /// All of it; whoever has it has the same octets in memory.
    pub(crate) fn message(&self) -> Message {
        self.message.share(0, self.message.len()).unwrap_or_default()
    }

    /// All of it, as octets.
    pub(crate) fn octets(&self) -> Vec<u8> {
        self.message.to_vec()
    }

    /// The file there, or back.
    pub(crate) fn operation(&self, way: FileDirection, check: bool) -> Operation {
        let name = FILE.to_owned();
        match way {
            FileDirection::Put => Operation::Put {
                name,
                contents_type: ContentsType::binary(),
                mode: PutMode::New,
                source: Box::new(self.message()),
            },
            FileDirection::Get => Operation::Get {
                name,
                contents_type: None,
                restart_at: 0,
                sink: Box::new(Checked {
                    period: if check { self.period.clone() } else { Vec::new() },
                    len: self.message.len() as u64,
                    taken: 0,
                }),
            },
        }
    }
}

/// Takes what comes, looks at it where it is to, and lets it go.
struct Checked {
    /// Nothing: it is not looked at.
    period: Vec<u8>,
    len: u64,
    taken: u64,
}

impl Sink for Checked {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        if offset != self.taken {
            return Err(format!("{offset} in place of {}", self.taken));
        }
        self.taken += data.len() as u64;
        if !self.period.is_empty() {
            let (mut at, mut bad) = (offset, 0);
            data.for_each(|octets| {
                bad += wrong(&self.period, at, octets);
                at += octets.len() as u64;
            });
            if bad > 0 {
                return Err(format!("{bad} octets wrong from {offset} on"));
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.taken != self.len {
            return Err(format!("{} octets of {}", self.taken, self.len));
        }
        Ok(())
    }
}

/// The responder.
pub(crate) fn server(shape: Shape) -> FileServer {
    let config = filestore::Config {
        responder: ResponderConfig { element: shape.element, ..ResponderConfig::default() },
        ..filestore::Config::default()
    };
    FileServer::new(config, Guard::new(Box::new(Memory::new())))
}

/// The initiator, which does what it is told.
pub(crate) fn client(shape: Shape) -> FileClient {
    let config = Config { settings: Settings { element: shape.element, ..Settings::default() }, ..Config::default() };
    FileClient::new(config, Vec::new()).held()
}

/// Adds the layers and, above them, `users`.
pub(crate) fn add(
    graph: &mut Graph,
    task: TaskId,
    shape: Shape,
    users: Vec<(&str, Box<dyn Protocol>)>,
) -> Result<(), GraphError> {
    let transport = tp0::Config {
        // What is above 8192 has no other way to be said.
        tpdu_size: u16::try_from(shape.tpdu).unwrap_or(u16::MAX).min(8192),
        preferred_size: if shape.tpdu > 8192 { shape.tpdu } else { 0 },
        ..tp0::Config::default()
    };
    let nodes: [Box<dyn Protocol>; 5] = [
        Box::new(Ftam::new(ftam::Config::default())),
        Box::new(Acse::new(acse::Config::default())),
        Box::new(Presentation::new(presentation::Config::default())),
        Box::new(Session::new(session::Config::default())),
        Box::new(Tp0::new(transport)),
    ];
    for (name, node) in LAYERS.into_iter().zip(nodes) {
        graph.add_node(name, task, node)?;
    }
    for pair in LAYERS.windows(2) {
        if let [above, below] = pair {
            graph.connect(above, below)?;
        }
    }
    for (name, user) in users {
        graph.add_node(name, task, user)?;
        graph.connect(name, "ftam")?;
    }
    Ok(())
}

/// Tells the client at `node` what to do next.
pub(crate) fn want(graph: &mut Graph, node: NodeId, now: Instant, want: ClientRequest) {
    if let Some(client) = graph.protocol_mut::<FileClient>(node) {
        client.want(want);
        graph.wake(now, node, WAKE);
    }
}

/// Whether the association stands, and so many operations are done.
///
/// # Errors
/// Why one of them, or the association, has failed.
pub(crate) fn done(graph: &Graph, node: NodeId, count: usize, octets: usize) -> Result<bool, String> {
    let client: &FileClient = graph.protocol(node).ok_or("no client")?;
    let client = client.plan();
    if let Some(failure) = client.failure() {
        return Err(failure.to_string());
    }
    for outcome in client.outcomes() {
        match &outcome.result {
            Ok(Gain::Moved(moved)) if *moved == octets as u64 => {}
            Ok(gain) => return Err(format!("{}: {gain:?}", outcome.title)),
            Err(failure) => return Err(format!("{}: {failure}", outcome.title)),
        }
    }
    Ok(client.stands() && client.outcomes().len() >= count)
}
