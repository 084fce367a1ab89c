//! The nodes of files: who calls and does a plan, and who serves a filestore, whichever protocol is below.
//!
//! | | |
//! |---|---|
//! | Specification | the roles are those of ISO 8571-3: an initiating and a responding user on one association |
//! | Above | whoever runs the graph: a plan, what is wanted meanwhile, a filestore |
//! | Below | the provider of a [`FileProtocol`]: FTAM's or MMS's |
//! | Left out | more than one association of a client at a time |
//!
//! | read | for |
//! |---|---|
//! | [`FileProtocol`] | what a protocol says and is asked to do |
//! | [`InitiatingUser`], [`FileClient`] | the machine of one association, without a graph or a clock; the node that calls, waits, calls again and ends |
//! | [`RespondingUser`], [`FileServer`] | the same of those who are called: many associations at a time, and transfers that go on on another one |
//! | [`Door`] | the limits of a server, what happened, and how associations ended |

mod client;
mod door;
mod server;
#[cfg(test)]
mod tests;

use core::fmt::Debug;

use kumiki_graph::{Below, Context, Handle, Request, Service, Token};
use kumiki_octets::Payload;

pub use client::{ClientConfig, ClientRequest, FileClient, InitiatingUser};
pub use door::{Counters, Door, End};
pub use server::{Called, FileServer, Recovers, RespondingUser, ServerConfig};

/// The provider.
const FILES: Below = Below(0);

/// The handle of the passive open.
const LISTENER: Handle = Handle { index: u32::MAX, generation: u32::MAX };

/// The token by which whoever runs a node has it look at what was asked of it meanwhile: [`FileClient::want`],
/// [`FileServer::stop`], and what is [claimed](FileServer::is_claimed).
pub const WAKE: Token = Token { session: LISTENER, kind: 0 };

/// A protocol of files, as its users have it. Its provider implements it, which is the layer below the nodes.
pub trait FileProtocol: 'static {
    /// What crosses between provider and user beside the primitives of any association.
    type Primitive: Payload;
    /// What a user wants to have done.
    type Action: Debug;
    /// What the provider offers.
    const SERVICE: Service;
    /// Why a primitive of another service is dropped.
    const FOREIGN: &'static str;

    /// A wish, as it is said to the provider of `session`.
    fn request(session: Handle, wish: Self::Action) -> Request;
}

/// Hands what a user wants to have done to the provider.
fn perform<P: FileProtocol>(session: Handle, wishes: Vec<P::Action>, cx: &mut Context<'_>) {
    for wish in wishes {
        cx.down(FILES, P::request(session, wish));
    }
}
