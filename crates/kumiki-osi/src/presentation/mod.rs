//! Presentation: what is talked about, and how it is written.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.226 (ISO 8823-1), normal mode, kernel. The text was not at hand: what is recalled and not seen in a capture is marked |
//! | Above | ACSE, or any user of the presentation service |
//! | Below | [`session`] |
//! | Left out | context management and restoration, which are never agreed on; more than one value of user data where it is not P-DATA; typed data in parts; transfer syntaxes other than BER, but where both users name one: then a value is the octets of one PDV-list |
//!
//! **Values.** P-DATA is [`PData`], as request and as indication. A value is what comes after the headers of its
//! PDV-list, in the messages it arrived in: nothing is copied, and an octet-aligned list with several values in it
//! becomes several. What is sent has definite lengths and a PDV-list for each value.
//!
//! **Contexts.** A caller's user proposes them. Of a called user,
//! [`contexts`](kumiki_osi_service::Association::contexts) of the passive open say what it speaks; without any it is
//! offered everything in BER. `Offered` tells what this layer would have of each
//! ([`results`](kumiki_osi_service::Association::results)), in an order in which the context of the caller's data is
//! first, and else the first that the user speaks. The user's `Accept` may say other results, beside contexts in any
//! order, or without contexts in that of the offer.
//!
//! **User data that names no context** is one value in the first context (the convention of
//! [`Association`](kumiki_osi_service::Association)). That of session's own primitives is in the first that is not
//! association control's: for association control, which stands in front, never uses them, and its user does.
//!
//! **Without contexts** there is the default context ([`DEFAULT_CONTEXT`]) and data is simply encoded. One that CP
//! names is taken if it is in BER and the user speaks it, and refused otherwise.
//!
//! **Refusal and abort.** CPR is in the data of RF, ARU and ARP in that of AB. A caller that was refused finds why in
//! the `Reason`: a code of presentation's, or how many contexts were refused where that says more
//! ([`OsiCause::ContextsRefused`]), else [`Reason::Refused`] for a refusal of the called user, whose data comes along;
//! where there is no CPR, what session says.
//!
//! **What came last** ([`Layer::refusal`]): of a caller that broke the protocol and was refused for it, how it did;
//! nothing where the last was refused by the user, without a reason of presentation's.
//!
//! **Bounds.** Contexts by [`Config`], beyond which each is refused; selectors and lists by the codec; user data by
//! session and transport: what goes with an acceptance, a refusal, a release or an abort has to fit into its SPDU. An
//! acceptance that does not is a refusal (local limit), what else is asked for ends the connection (`NoResources`), and
//! of a refusal or an abort the user data is left out and counted.

use core::convert::Infallible;

use crate::session;
use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Handle, Indication, Mode, Offered, Open, Opened, Reason, Request, Service,
    Special,
};
use kumiki_octets::{Beginning, Message};
use kumiki_osi_service::OsiCause;
use kumiki_osi_service::presentation::PData;
use kumiki_osi_service::presentation::{ContextId, ContextResult, abort, refusal};
use kumiki_osi_service::session::Primitive;
use kumiki_osi_service::{Oid, Selectors};
use kumiki_settings::Settings;

use crate::entries::{abort_below, end_below, tell_aborted};
use crate::layer::{Ends, Layer, Machine, Table};

mod act;
mod connecting;
mod connection;
mod states;
#[cfg(test)]
pub(crate) mod tests;

use connection::Connection;
use states::{Action, Event, State};

/// What presentation offers (X.216): data is [`PData`], and [`Primitive`] goes through.
pub const SERVICE: Service = Service::CONNECTION.named("presentation");

/// Session.
const SESSION: Below = Below(0);

/// What values name where no context was proposed. It never goes over the wire.
pub const DEFAULT_CONTEXT: ContextId = 0;

/// The most octets that go with an SPDU of session that has a length: its 65,535, less what else is in it. Data, typed
/// data and CN have no such limit.
const MOST_USER_DATA: usize = kumiki_wire::osi::session::MOST_LENGTH - 512;

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// The most presentation contexts of a connection; more are refused one by one.
    ///
    /// Nor are more proposed; the codec reads no more than 128.
    #[setting(1..=128)]
    pub contexts: u32,
    /// The most connections at a time.
    #[setting(1..=1_000_000)]
    pub connections: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { contexts: 64, connections: 1024 }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// P-DATA sent.
    pub sent: u64,
    /// P-DATA handed up.
    pub received: u64,
    /// Values in those that were handed up.
    pub values: u64,
    /// Callers refused.
    pub refused: u64,
    /// Protocol errors of peers.
    pub errors: u64,
}

/// What a user wants that waits to be called.
#[derive(Debug)]
pub struct ListenTerms {
    /// Those under which its user wants to be called; one that is not said does not matter.
    called: Selectors,
    /// The abstract syntaxes that its user speaks.
    spoken: Vec<Oid>,
}

/// The layer.
pub type Presentation = Layer<Ppm>;

/// The presentation protocol machine.
#[derive(Debug, Default)]
pub struct Ppm;

type Input = crate::layer::Input<Infallible>;

impl Machine for Ppm {
    type Config = Config;
    type Counters = Counters;
    type Connection = Connection;
    type ListenTerms = ListenTerms;
    type State = State;
    type Event = Event;
    type Action = Action;
    type Pdu = Infallible;

    const SERVICE: Service = SERVICE;
    const NEEDS: &'static [Service] = &[session::SERVICE];
    const TABLE: Table<Self> = Table {
        cell: states::cell,
        act: Presentation::act,
        open: Presentation::open,
        called: Presentation::session_offered,
        refuse_offer: |layer, own, cx| {
            let told = OsiCause::PresentationRefused(refusal::NO_ACCESS_POINT);
            layer.abort(own, Reason::peer(told), None, cx);
        },
        most: |config| config.connections,
        ends: |it| &it.ends,
        ends_mut: |it| &mut it.ends,
        offered: State::WaitResponse,
        accepted: Event::ConRsp,
        release: |_| Ok(Event::RelReq),
        abort: |_| Event::AbortReq,
        confirmed: Event::Cpa,
        released: Some(Event::Release),
        closed: Some(Event::Closed),
        ended: Event::End,
        may_end_late: false,
        unexpected: Some(Event::Unexpected),
        timeout: None,
        no_such: "no such connection",
        no_expedited: "expedited data was not agreed on",
    };

    fn special(layer: &mut Presentation, own: Handle, what: Special, cx: &mut Context<'_>) {
        let event = if what.is::<PData>() {
            Event::DataReq
        } else if what.is::<Primitive>() {
            Event::PrimitiveReq
        } else {
            return cx.drop("a primitive of another service");
        };
        layer.on(own, event, Input::special(what), cx);
    }

    fn came(layer: &mut Presentation, own: Handle, data: Message, _: bool, cx: &mut Context<'_>) {
        layer.on(own, Event::Td, Input::data(Some(data)), cx);
    }

    fn said(layer: &mut Presentation, own: Handle, what: Special, cx: &mut Context<'_>) {
        if !what.is::<Primitive>() {
            return cx.drop("a primitive of another service");
        }
        layer.on(own, Event::Primitive, Input::special(what), cx);
    }
}
