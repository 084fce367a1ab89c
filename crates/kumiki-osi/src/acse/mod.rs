//! ACSE: who wants to do what with whom.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.227 (ISO 8650-1), normal mode, kernel and authentication. The text was not at hand: what is recalled and not seen in a capture is marked |
//! | Above | FTAM, or any user of an association |
//! | Below | [`presentation`] |
//! | Left out | negotiation of the application context by a list; user information of more than one value, of which the one in the user's context, else the first, is taken; associations without ACSE, whose users stand on presentation |
//!
//! **Contexts.** Association control puts a context of its own in front of the user's, under the next odd number, and
//! takes it away again from what it tells the user: the first is the user's own. Of an offer that is the context of
//! AARQ's user information, and else the one that the user named first. Results beside an `Accept` are those of the
//! user's contexts.
//!
//! **Data** is not its business: values and session's primitives pass unchanged both ways, but for values in its own
//! context.
//!
//! **User information** is one EXTERNAL: with both references in AARQ and AARE, with the indirect one elsewhere, as
//! ISODE has it. Either is taken.
//!
//! **Answers.** In an `Accept`, [`calling_names`](kumiki_osi_service::Association::calling_names) and its selectors say
//! who answers; a user that hands back what it was offered would say that the caller does. Without an application
//! context the caller's is confirmed.
//!
//! **Refusal.** `Abort` of an offer is AARE rejected, in CPR, with what [`kumiki_osi_service::OsiCause::Rejected`]
//! says, else for good and without a reason. The caller finds the same in its `Aborted`. An AARQ that cannot be read is
//! refused with an ABRT.
//!
//! **Abort** is ABRT, in ARU; [`kumiki_osi_service::OsiCause::AssociationAborted`] comes of it. One that stands in AB
//! by itself is understood too.
//!
//! **Release.** An answer in a collision that comes too early, on the side of the responder, is held until the
//! initiator has answered. FN and DN without an APDU are taken for RLRQ and RLRE without anything to say.

use crate::presentation;
use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Handle, Indication, Mode, Offered, Open, Opened, Reason, Request, Service,
    Special,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::acse::{ABSTRACT_SYNTAX, AssociateResult, Diagnostic};
use kumiki_osi_service::presentation::{BASIC_ENCODING_RULES, Context as Proposed, ContextId, ContextResult};
use kumiki_osi_service::{Association, Oid};
use kumiki_settings::Settings;
use kumiki_wire::Malformed;
use kumiki_wire::osi::acse::{Abort, Apdu, Information, Release, reason, source};
use kumiki_wire::osi::presentation::Form;

use crate::entries::{abort_below, end_below, tell_aborted};
use crate::layer::{Ends, Layer, Machine, Table};

mod act;
mod associating;
mod states;
#[cfg(test)]
mod tests;

use act::{informed, rejected, said, send_abrt};
use states::{Action, Event, State};

/// What association control offers beside what presentation does (X.217).
pub const SERVICE: Service = Service::CONNECTION.named("association");

/// Presentation.
const PRESENTATION: Below = Below(0);

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// The most associations at a time.
    #[setting(1..=1_000_000)]
    pub associations: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { associations: 1024 }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// AARQ sent.
    pub asked: u64,
    /// AARQ handed up.
    pub offered: u64,
    /// AARE sent that reject.
    pub rejected: u64,
    /// Protocol errors of peers.
    pub errors: u64,
}

/// One association.
#[derive(Debug)]
pub struct Connection {
    ends: Ends<State>,
    /// Whether this side has sent AARQ.
    initiator: bool,
    /// Association control's own context.
    control: Option<Proposed>,
    /// The user's contexts, its own first.
    contexts: Vec<Proposed>,
    /// What presentation would have of them.
    results: Vec<ContextResult>,
    /// The application context that the caller named.
    asked: Option<Oid>,
    /// The user's answer in a collision, until the peer has answered.
    held: Option<Option<Message>>,
}

impl Connection {
    /// Whether a context is association control's own.
    fn is_control(&self, id: ContextId) -> bool {
        self.control.as_ref().is_some_and(|it| it.id == id)
    }

    /// The user's own context.
    fn own(&self) -> Option<ContextId> {
        self.contexts.first().map(|it| it.id)
    }
}

/// The layer.
pub type Acse = Layer<Acpm>;

/// The association control protocol machine.
#[derive(Debug, Default)]
pub struct Acpm;

type Input = crate::layer::Input<Result<Apdu, Malformed>>;

impl Machine for Acpm {
    type Config = Config;
    type Counters = Counters;
    type Connection = Connection;
    /// The abstract syntax that its user names first.
    type ListenTerms = Option<Oid>;
    type State = State;
    type Event = Event;
    type Action = Action;
    type Pdu = Result<Apdu, Malformed>;

    const SERVICE: Service = SERVICE;
    const NEEDS: &'static [Service] = &[presentation::SERVICE];
    const TABLE: Table<Self> = Table {
        cell: states::cell,
        act: Acse::act,
        open: Acse::open,
        called: Acse::on_aarq,
        refuse_offer: |layer, own, cx| layer.abort(own, Reason::NoResources, None, cx),
        most: |config| config.associations,
        ends: |it| &it.ends,
        ends_mut: |it| &mut it.ends,
        offered: State::WaitResponse,
        accepted: Event::AscRsp,
        release: |_| Ok(Event::RlsReq),
        abort: |_| Event::AbrReq,
        confirmed: Event::Aare,
        // RLRQ or RLRE: the APDU says which.
        released: None,
        closed: Some(Event::Closed),
        ended: Event::End,
        may_end_late: false,
        unexpected: None,
        timeout: None,
        no_such: "no such association",
        no_expedited: "a primitive of another service",
    };

    fn special(layer: &mut Acse, own: Handle, what: Special, cx: &mut Context<'_>) {
        layer.on(own, Event::DataReq, Input::special(what), cx);
    }

    fn said(layer: &mut Acse, own: Handle, what: Special, cx: &mut Context<'_>) {
        layer.on(own, Event::Data, Input::special(what), cx);
    }

    fn released(layer: &mut Acse, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        layer.came_release(own, data, cx);
    }
}
