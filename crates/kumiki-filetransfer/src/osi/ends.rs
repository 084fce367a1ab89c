//! What callers and servers of both protocols have in common: so that one conversation, one door and one log serve both.

use kumiki_files::file_user::{self, Client, Failure, Plan, Settings, Want};
use kumiki_files::filestore::{self, End, Fault};
use kumiki_files::mms_files;
use kumiki_graph::{Graph, NodeId, Token};

use super::{Initiate, MmsSettings, Protocols};

/// As whom files are asked for, and how.
#[derive(Clone, Debug)]
pub enum Calls {
    /// By FTAM.
    Ftam(Settings),
    /// By MMS: what is proposed, how, and the password for association control.
    Mms {
        /// What is proposed; the services are the client's.
        initiate: Initiate,
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
    /// Wants something, at the next [`WAKE`].
    fn want(&mut self, want: Want);
    /// What is to go on on another association, where this one has broken.
    fn take_broken(&mut self) -> Option<Client>;
    /// What was begun anew, and why it was not gone on with.
    fn take_anew(&mut self) -> Option<(String, Failure)>;
}

/// By which all these nodes are woken.
pub(super) const WAKE: Token = file_user::FileClient::WAKE;
const _: () = {
    let (one, other) = (WAKE.session.index, filestore::FileServer::WAKE.session.index);
    let (mms, served) = (mms_files::FileClient::WAKE.session.index, mms_files::FileServer::WAKE.session.index);
    assert!(one == other && one == mms && one == served);
};

impl Caller for file_user::FileClient {
    fn plan(&self) -> &Plan {
        self.client().plan()
    }

    fn agreed(&self) -> String {
        self.client().units().to_string()
    }

    fn is_idle(&self) -> bool {
        Self::is_idle(self)
    }

    fn want(&mut self, want: Want) {
        Self::want(self, want);
    }

    fn take_broken(&mut self) -> Option<Client> {
        Self::take_broken(self)
    }

    fn take_anew(&mut self) -> Option<(String, Failure)> {
        Self::take_anew(self)
    }
}

impl Caller for mms_files::FileClient {
    fn plan(&self) -> &Plan {
        self.client().plan()
    }

    fn agreed(&self) -> String {
        let Some(agreed) = self.client().agreed() else {
            return String::new();
        };
        let octets = agreed.local_detail.map_or_else(|| "any number of".to_owned(), |octets| octets.to_string());
        format!(
            "PDUs of {octets} octets, {} and {} services at a time; the peer answers {}",
            agreed.max_serv_outstanding_calling, agreed.max_serv_outstanding_called, agreed.services_supported
        )
    }

    fn is_idle(&self) -> bool {
        Self::is_idle(self)
    }

    fn want(&mut self, want: Want) {
        Self::want(self, want);
    }

    fn take_broken(&mut self) -> Option<Client> {
        // What is left of a file is asked for anew.
        None
    }

    fn take_anew(&mut self) -> Option<(String, Failure)> {
        // Nothing is recovered, so nothing is refused that.
        None
    }
}

/// The caller in a graph.
pub(super) fn caller(graph: &Graph, node: NodeId, of: Protocols) -> Option<&dyn Caller> {
    match of {
        Protocols::Ftam => {
            let node: &file_user::FileClient = graph.protocol(node)?;
            Some(node)
        }
        Protocols::Mms => {
            let node: &mms_files::FileClient = graph.protocol(node)?;
            Some(node)
        }
    }
}

/// The same, to be changed.
pub(super) fn caller_mut(graph: &mut Graph, node: NodeId, of: Protocols) -> Option<&mut dyn Caller> {
    match of {
        Protocols::Ftam => {
            let node: &mut file_user::FileClient = graph.protocol_mut(node)?;
            Some(node)
        }
        Protocols::Mms => {
            let node: &mut mms_files::FileClient = graph.protocol_mut(node)?;
            Some(node)
        }
    }
}

/// A node that is called.
pub(super) trait Server {
    /// How many associations there are.
    fn associations(&self) -> usize;
    /// How the last one ended, or why there was none.
    fn last_end(&self) -> Option<&End>;
    /// All are to be aborted for this reason, at the next [`WAKE`].
    fn stop(&mut self, why: Fault);
    /// Whether something that was under way is to be given up, at the next [`WAKE`].
    fn is_claimed(&mut self) -> bool;
}

impl Server for filestore::FileServer {
    fn associations(&self) -> usize {
        Self::associations(self)
    }

    fn last_end(&self) -> Option<&End> {
        self.door().last_end()
    }

    fn stop(&mut self, why: Fault) {
        Self::stop(self, why);
    }

    fn is_claimed(&mut self) -> bool {
        Self::is_claimed(self)
    }
}

impl Server for mms_files::FileServer {
    fn associations(&self) -> usize {
        Self::associations(self)
    }

    fn last_end(&self) -> Option<&End> {
        self.door().last_end()
    }

    fn stop(&mut self, why: Fault) {
        Self::stop(self, why);
    }

    fn is_claimed(&mut self) -> bool {
        // Nothing goes on elsewhere.
        false
    }
}

/// The server in a graph.
pub(super) fn server_mut(graph: &mut Graph, node: NodeId, of: Protocols) -> Option<&mut dyn Server> {
    match of {
        Protocols::Ftam => {
            let node: &mut filestore::FileServer = graph.protocol_mut(node)?;
            Some(node)
        }
        Protocols::Mms => {
            let node: &mut mms_files::FileServer = graph.protocol_mut(node)?;
            Some(node)
        }
    }
}
