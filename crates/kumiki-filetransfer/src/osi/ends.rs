//! What callers and servers of both protocols have in common: so that one conversation, one door and one log serve
//! both.

use kumiki_files::file_user::{self, Failure, Plan, Settings};
use kumiki_files::filestore::{self, StoreError};
use kumiki_files::mms_files;
use kumiki_files::node::{ClientRequest, End, FileClient, FileServer, InitiatingUser, RespondingUser};
use kumiki_graph::{Graph, NodeId};

use super::{MmsSettings, Protocols};

/// As whom files are asked for, and how.
#[derive(Clone, Debug)]
pub enum Calls {
    /// By FTAM.
    Ftam(Settings),
    /// By MMS: how, and the password for association control.
    Mms {
        /// How.
        settings: MmsSettings,
        /// The password, where one is asked for.
        password: Option<super::Password>,
    },
}

impl Calls {
    /// The protocol.
    #[must_use]
    pub const fn protocol(&self) -> Protocols {
        match self {
            Self::Ftam(_) => Protocols::Ftam,
            Self::Mms { .. } => Protocols::Mms,
        }
    }
}

/// A node that calls.
pub(super) trait Caller {
    /// What it is to do, and what came of that.
    fn plan(&self) -> &Plan;
    /// What was agreed on, in words.
    fn agreed(&self) -> String;
    /// Whether it waits for something to do.
    fn is_idle(&self) -> bool;
    /// Wants something, at the next [`WAKE`](kumiki_files::node::WAKE).
    fn want(&mut self, want: ClientRequest);
    /// What was started over, and why it was not gone on with.
    fn take_started_over(&mut self) -> Option<(String, Failure)>;
}

impl<U: InitiatingUser> Caller for FileClient<U> {
    fn plan(&self) -> &Plan {
        Self::plan(self)
    }

    fn agreed(&self) -> String {
        self.client().agreed()
    }

    fn is_idle(&self) -> bool {
        Self::is_idle(self)
    }

    fn want(&mut self, want: ClientRequest) {
        Self::want(self, want);
    }

    fn take_started_over(&mut self) -> Option<(String, Failure)> {
        Self::take_started_over(self)
    }
}

/// The caller in a graph.
pub(super) fn caller(graph: &Graph, node: NodeId, of: Protocols) -> Option<&dyn Caller> {
    Some(match of {
        Protocols::Ftam => graph.protocol::<file_user::FileClient>(node)?,
        Protocols::Mms => graph.protocol::<mms_files::FileClient>(node)?,
    })
}

/// The same, to be changed.
pub(super) fn caller_mut(graph: &mut Graph, node: NodeId, of: Protocols) -> Option<&mut dyn Caller> {
    Some(match of {
        Protocols::Ftam => graph.protocol_mut::<file_user::FileClient>(node)?,
        Protocols::Mms => graph.protocol_mut::<mms_files::FileClient>(node)?,
    })
}

/// What is to go on on another association, where this one has broken. By MMS nothing can: what is left of a file is
/// asked for again.
pub(super) fn take_broken(graph: &mut Graph, node: NodeId) -> Option<file_user::Client> {
    graph.protocol_mut::<file_user::FileClient>(node)?.take_broken()
}

/// A node that is called.
pub(super) trait Server {
    /// How many associations there are.
    fn associations(&self) -> usize;
    /// How the last one ended, or why there was none.
    fn last_end(&self) -> Option<&End>;
    /// All are to be aborted for this reason, at the next [`WAKE`](kumiki_files::node::WAKE).
    fn stop(&mut self, why: StoreError);
    /// Whether something that was in progress is to be given up, at the next [`WAKE`](kumiki_files::node::WAKE).
    fn is_claimed(&mut self) -> bool;
}

impl<U: RespondingUser> Server for FileServer<U> {
    fn associations(&self) -> usize {
        Self::associations(self)
    }

    fn last_end(&self) -> Option<&End> {
        self.door().last_end()
    }

    fn stop(&mut self, why: StoreError) {
        Self::stop(self, why);
    }

    fn is_claimed(&mut self) -> bool {
        Self::is_claimed(self)
    }
}

/// The server in a graph.
pub(super) fn server_mut(graph: &mut Graph, node: NodeId, of: Protocols) -> Option<&mut dyn Server> {
    Some(match of {
        Protocols::Ftam => graph.protocol_mut::<filestore::FileServer>(node)?,
        Protocols::Mms => graph.protocol_mut::<mms_files::FileServer>(node)?,
    })
}
