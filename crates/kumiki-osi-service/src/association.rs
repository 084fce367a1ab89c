//! What goes with the beginning of an association, from the transport selector to the titles of its entities.

use kumiki_octets::Payload;

use crate::Oid;
use crate::acse::{Authentication, Names};
use crate::ftam::Fpdu;
use crate::mms::Initiate;
use crate::presentation::{Context, ContextResult};
use crate::selector::Selectors;
use crate::session::Options;

/// What the upper layers say when a session begins, beside the network's address and their users' data.
///
/// Each layer reads and fills what is its own and passes the rest on, so one of these goes through all of them, boxed.
///
/// *Whose context is first.* At every access point the first of `contexts` is the user's own: presentation's user finds
/// its own abstract syntax there, and the user of association control, which puts its context in front of what it is
/// given, finds its own behind it. User data in primitives that name no context (open, accept, release, abort) is one
/// value in that first context. That of the session service's own primitives is one in the first context that is not
/// association control's, which never uses them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Association {
    /// The selectors called; of a passive open, those under which the user wants to be called.
    pub called: Selectors,
    /// The selectors of the caller; in answers those of the responder, where they are not those called.
    pub calling: Selectors,
    /// What the users agree on about the session.
    pub session: Options,
    /// The contexts proposed; of a passive open, those that the user can speak, under numbers that mean nothing.
    pub contexts: Vec<Context>,
    /// What became of them, in their order; on a request before they were answered, none.
    pub results: Vec<ContextResult>,
    /// What the entities want to do with each other; without one, the association is without association control.
    pub application_context: Option<Oid>,
    /// Who is called.
    pub called_names: Names,
    /// Who calls; in answers, who answers.
    pub calling_names: Names,
    /// How the one who speaks is authenticated.
    pub authentication: Option<Authentication>,
    /// F-INITIALIZE of a user of the file service: with a request to open and with an offer the request, with the
    /// answers to them the response. A response that says failure refuses the offer.
    pub initialize: Option<Box<Fpdu>>,
    /// Initiate of a user of MMS: with a request to open and an offer what is proposed, with the answers to them what
    /// is agreed. What a user leaves out the layer fills in.
    pub initiate: Option<Box<Initiate>>,
}

impl Payload for Association {}

impl Association {
    /// The contexts that stand, once they were answered.
    pub fn standing(&self) -> impl Iterator<Item = &Context> {
        self.contexts.iter().zip(&self.results).filter(|(_, result)| result.is_accepted()).map(|(context, _)| context)
    }
}
