//! The users of MMS that have to do with files: a client with a plan, and a server of a filestore.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 9506-1 annex D (file services), and obtainFile. The text was not at hand: recalled, and judged by libiec61850 |
//! | Above | the client: [`Operation`](crate::file_user::Operation)s, as the file service's; the server: any [`Filestore`](crate::filestore::Filestore), behind the [`Guard`](crate::filestore::Guard) that FTAM has, too |
//! | Below | [`mms`] |
//! | Left out | files of a third (`sourceFileServer`); names with wildcards; directories are neither made nor removed, for MMS has no service for that; adding to a file; more than one obtainFile at a time (others wait) |
//!
//! **Fetching** is fileOpen, fileRead as often as there is more, fileClose. What a file is, its size and date, fileOpen
//! says; a [`Sink`](crate::file_user::Sink) that goes on where it was is told of both before a byte comes, and may
//! start over. Several fileReads are asked for at a time where [`Settings::window`] says so: answers must then come in
//! the order of the requests, and one that does not ends the transfer.
//!
//! **Sending** is obtainFile: the server asks for the file by fileOpen, fileRead and fileClose on the same association,
//! and says at the end whether it has it, which is believed where it has read the file to its end. The name under which
//! it asks for it is good for that time only.
//!
//! **Pieces.** A fileRead has as many octets as a PDU of the agreed length holds. The end is where `moreFollows` says
//! so, whatever fileOpen has said of the size, and also where no octets come; but where `moreFollows` says that more
//! does, and the size that was told has not come, the file is broken off, and is no whole one at either end.
//!
//! | read | for |
//! |---|---|
//! | [`Client`], [`FileClient`] | the plan as a state machine; the node |
//! | [`Responder`], [`FileServer`] | one association as the server sees it; the node |
//! | [`Plan`](crate::file_user::Plan), [`node`] | what client and server have in common with those of FTAM |

mod client;
mod listing;
mod obtain;
mod responder;
mod serving;
#[cfg(test)]
mod tests;

use kumiki_graph::{self as graph, Handle, Reason, Request};
use kumiki_osi_service::mms::{Pdu, Service, Services};

use crate::mms::{self, Mms};
use crate::node::{self, FileProtocol};

pub use client::{Client, Settings};
pub use responder::{Config as ResponderConfig, Responder};

/// Whom to call, and how, by MMS.
pub type ClientConfig = node::ClientConfig<Settings>;

/// The node that calls by MMS.
pub type FileClient = node::FileClient<Client>;

/// What can be set of a server.
pub type Config = node::ServerConfig<ResponderConfig>;

/// The node that serves a filestore by MMS.
pub type FileServer = node::FileServer<Responder>;

/// What a client answers while it sends a file.
pub const CLIENT_SERVICES: Services =
    Services::of(&[Service::FILE_OPEN, Service::FILE_READ, Service::FILE_CLOSE, Service::CONCLUDE, Service::CANCEL]);

/// What a server answers.
pub const SERVER_SERVICES: Services = Services::of(&[
    Service::STATUS,
    Service::IDENTIFY,
    Service::OBTAIN_FILE,
    Service::FILE_OPEN,
    Service::FILE_READ,
    Service::FILE_CLOSE,
    Service::FILE_RENAME,
    Service::FILE_DELETE,
    Service::FILE_DIRECTORY,
    Service::CONCLUDE,
    Service::CANCEL,
]);

/// What a user wants to have done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send this.
    Say(Pdu),
    /// End the association, or agree to that.
    Release,
    /// End it at once.
    Abort,
}

impl From<Pdu> for Action {
    fn from(pdu: Pdu) -> Self {
        Self::Say(pdu)
    }
}

impl FileProtocol for Mms {
    type Primitive = Pdu;
    type Action = Action;
    const SERVICE: graph::Service = mms::SERVICE;
    const FOREIGN: &'static str = "not of MMS";

    fn request(session: Handle, wish: Action) -> Request {
        match wish {
            Action::Say(pdu) => Request::special(session, pdu),
            Action::Release => Request::Release { session, data: None },
            Action::Abort => Request::Abort { session, reason: Reason::User, data: None },
        }
    }
}

/// How many octets of a file fit into a PDU of `longest` octets.
fn piece(longest: Option<i64>) -> usize {
    let longest = longest.and_then(|it| usize::try_from(it).ok());
    let longest = longest.unwrap_or(LONGEST).min(LONGEST);
    longest.saturating_sub(kumiki_wire::files::mms::AROUND_FILE_DATA).max(1)
}

/// The longest PDU that is made, whatever was agreed.
const LONGEST: usize = 1 << 20;
