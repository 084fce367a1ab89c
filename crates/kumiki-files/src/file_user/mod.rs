//! The initiating user of the file service: does a plan of operations over one association.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 8571-3 (service). Which services an operation is made of follows what ISODE's client does |
//! | Above | whoever has files: [`Source`] and [`Sink`] |
//! | Below | the file service: FTAM's provider |
//! | Left out | F-RESTART of its own will (the peer may restart; what breaks is the association, and F-RECOVER goes on with that); going back to a checkpoint before the one that another run has noted; version 2; access passwords |
//!
//! | read | for |
//! |---|---|
//! | [`Operation`], [`OperationOutcome`] | what can be done, and what came of it |
//! | [`Failure`] | why not: layer, code, meaning, remedy |
//! | [`Client`] | the plan as a state machine: primitives in, primitives out; no graph, no clock. Where an association breaks in a transfer that can be recovered, it wants another one, and goes on or starts over there |
//! | [`Plan`] | what is still to be done and what came of the rest: of MMS's client, too |
//! | [`FileClient`] | the node: [`node`] |

mod client;
mod failure;
mod fitting;
mod plan;
mod run;
mod settings;
mod stage;
#[cfg(test)]
pub(crate) mod tests;

use kumiki_octets::Message;
use kumiki_osi_service::ftam::GraphicString;
use kumiki_osi_service::ftam::attributes::ReadAttributes;
use kumiki_osi_service::ftam::contents::ContentsType;

pub use client::Client;
pub use failure::{Failure, Layer};
pub use plan::Plan;
pub use settings::Settings;

use crate::node;

/// Whom to call, and as whom, by FTAM. Activities are numbered from a random number on where [`Settings::activity`]
/// is 0.
pub type Config = node::ClientConfig<Settings>;

/// The node that calls by FTAM.
pub type FileClient = node::FileClient<Client>;

/// A place from which a transfer can go on, also by another run of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Secured {
    /// The number by which the responder knows the transfer.
    pub activity: i64,
    /// The checkpoint, from 1 on.
    pub point: u32,
    /// Where it is, in octets of the file here.
    pub offset: u64,
}

/// Where the contents of a file come from.
pub trait Source: Send {
    /// Up to `most` octets from `offset` on; none only at the end.
    ///
    /// # Errors
    /// In words.
    fn read(&mut self, offset: u64, most: usize) -> Result<Message, String>;

    /// How many octets there are, where that is known.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Where a transfer of an earlier run is to be gone on with; none starts over.
    fn interrupted(&self) -> Option<Secured> {
        None
    }

    /// The transfer can be gone on with from here; at point 0: it begins, and is not to be begun twice. None: what was
    /// sent before counts for nothing, and all of the file is sent.
    ///
    /// # Errors
    /// In words, where that cannot be kept for another run.
    fn secured(&mut self, at: Option<Secured>) -> Result<(), String> {
        let _ = at;
        Ok(())
    }
}

/// Where the contents of a file go.
pub trait Sink: Send {
    /// Puts `data` at `offset`: the end of what was written, or before it, when what follows is to be forgotten.
    ///
    /// # Errors
    /// In words.
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String>;

    /// All is there; without this call it is not, and what was written is to be kept apart or forgotten.
    ///
    /// # Errors
    /// In words.
    fn finish(&mut self) -> Result<(), String>;

    /// What the peer says of the file before a byte of it comes, where it says that: its size, when it was changed
    /// last, and the octet with which it would begin. Gives that, or 0 where all of it is to come.
    ///
    /// # Errors
    /// In words.
    fn opened(&mut self, size: u64, modified: Option<&str>, at: u64) -> Result<u64, String> {
        let _ = (size, modified);
        Ok(at)
    }

    /// Where a transfer of an earlier run is to be gone on with: all that comes before is there. None starts over.
    fn interrupted(&self) -> Option<Secured> {
        None
    }

    /// The transfer can be gone on with from here; none: what is there already is perhaps of another file, and all of
    /// the file comes.
    fn secured(&mut self, at: Option<Secured>) {
        let _ = at;
    }
}

/// A message, to be sent.
impl Source for Message {
    fn read(&mut self, offset: u64, most: usize) -> Result<Message, String> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let len = most.min(self.len() - from);
        self.share(from, len).map_err(|short| short.to_string())
    }

    fn size(&self) -> Option<u64> {
        Some(self.len() as u64)
    }
}

/// How a file is sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum PutMode {
    /// There is to be no file of this name.
    New,
    /// What was there is replaced; its attributes stay.
    #[default]
    Replace,
    /// It is added to what was there.
    Append,
}

/// Something to be done.
pub enum Operation {
    /// Fetches a file.
    Get {
        /// Its name.
        name: String,
        /// As what it is opened; none: as whatever it is.
        contents_type: Option<ContentsType>,
        /// So many octets are there already and are skipped.
        restart_at: u64,
        /// Where it goes.
        sink: Box<dyn Sink>,
    },
    /// Sends a file.
    Put {
        /// Its name.
        name: String,
        /// What it is.
        contents_type: ContentsType,
        /// How.
        mode: PutMode,
        /// Where it comes from.
        source: Box<dyn Source>,
    },
    /// Lists a directory.
    List {
        /// Its name.
        name: String,
    },
    /// Reads the attributes of a file.
    Stat {
        /// Its name.
        name: String,
    },
    /// Gives a file another name.
    Rename {
        /// The old one.
        name: String,
        /// The new one.
        to: String,
    },
    /// Deletes a file.
    Remove {
        /// Its name.
        name: String,
    },
    /// Makes a directory.
    MakeDirectory {
        /// Its name.
        name: String,
    },
}

impl Operation {
    /// Where it is to go on with a transfer of an earlier run.
    fn interrupted(&self) -> Option<Secured> {
        match self {
            Self::Get { sink, .. } => sink.interrupted(),
            Self::Put { source, .. } => source.interrupted(),
            Self::List { .. }
            | Self::Stat { .. }
            | Self::Rename { .. }
            | Self::Remove { .. }
            | Self::MakeDirectory { .. } => None,
        }
    }

    /// It can be gone on with from here, or is started over.
    fn secured(&mut self, at: Option<Secured>) -> Result<(), String> {
        match self {
            Self::Get { sink, .. } => sink.secured(at),
            Self::Put { source, .. } => return source.secured(at),
            Self::List { .. }
            | Self::Stat { .. }
            | Self::Rename { .. }
            | Self::Remove { .. }
            | Self::MakeDirectory { .. } => {}
        }
        Ok(())
    }

    /// Whether it adds to a file: done twice, it would be there twice.
    const fn adds(&self) -> bool {
        matches!(self, Self::Put { mode: PutMode::Append, .. })
    }

    /// What it is, in a word and a name, whose control characters are escaped; one that names nothing below the root is
    /// that.
    #[must_use]
    pub fn title(&self) -> String {
        let shown = |name: &str| match name {
            "" | "." | "/" => "the root".to_owned(),
            name => GraphicString::from(name).to_string(),
        };
        let (word, name) = match self {
            Self::Get { name, .. } => ("get", name),
            Self::Put { name, .. } => ("put", name),
            Self::List { name } => ("list", name),
            Self::Stat { name } => ("stat", name),
            Self::Rename { name, to } => return format!("rename {} to {}", shown(name), shown(to)),
            Self::Remove { name } => ("remove", name),
            Self::MakeDirectory { name } => ("make directory", name),
        };
        format!("{word} {}", shown(name))
    }
}

impl core::fmt::Debug for Operation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Operation({})", self.title())
    }
}

/// What came of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationOutcome {
    /// Which: [`Operation::title`].
    pub title: String,
    /// What it gave, or why it gave nothing.
    pub result: Result<Gain, Failure>,
}

/// What an operation gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gain {
    /// It is done.
    Done,
    /// So many octets were moved, those skipped not among them.
    Moved(u64),
    /// What is in a directory; names without that of the directory, which some responders put in front.
    Entries(Vec<ReadAttributes>),
    /// The attributes of a file.
    Attributes(Box<ReadAttributes>),
}

impl Gain {
    /// What `operation` gives when it is done: so many octets, these entries or attributes, whichever it is about.
    pub(crate) fn of(
        operation: &Operation,
        moved: u64,
        entries: Vec<ReadAttributes>,
        attributes: Option<Box<ReadAttributes>>,
    ) -> Self {
        match operation {
            Operation::Get { .. } | Operation::Put { .. } => Self::Moved(moved),
            Operation::List { .. } => Self::Entries(entries),
            Operation::Stat { .. } => Self::Attributes(attributes.unwrap_or_default()),
            Operation::Rename { .. } | Operation::Remove { .. } | Operation::MakeDirectory { .. } => Self::Done,
        }
    }
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Operations that are over.
    pub over: usize,
    /// Octets of files moved by all operations.
    pub octets: u64,
    /// Data elements moved.
    pub elements: u64,
    /// How many octets the operation in progress will move, where the peer has said so.
    pub expected: Option<u64>,
}
