//! A layer of OSI: what is the same in all of them, around a [`Machine`] that is each one's own.
//!
//! A layer keeps connections and listeners ([`Entries`]), and is asked and told by primitives. Most of them are a row
//! of the table in the layer's standard, and the [`Machine`] says which: the table then says what is done and which
//! state comes next, and the machine does it. What no table has is here: who is told of what, whose credit is whose,
//! that a listener which goes refuses whom its user has not answered, and that nobody answers a call twice.

use core::fmt::Debug;

use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Duration, Handle, Indication, Offered, Open, Opened, Protocol, Reason,
    Request, Service, Shape, Special, TimerSlot, Token,
};
use kumiki_octets::{Beginning, Message};

use crate::entries::{Entries, tell_aborted};

/// The layer below.
const BELOW: Below = Below(0);

/// Why a primitive is dropped that no layer of OSI speaks.
const FOREIGN: &str = "a primitive of another service";

/// What a connection is called above and below, and where it is.
#[derive(Debug)]
pub struct Ends<S> {
    /// Whose it is.
    pub above: Above,
    /// Its user's handle; none before the user has answered.
    pub user: Handle,
    /// Its handle below; none before it stands there.
    pub lower: Handle,
    /// Whose user was told of it, where somebody else calls.
    pub listener: Handle,
    /// Its state.
    pub state: S,
    /// How long something is waited for.
    pub timer: TimerSlot,
}

impl<S> Ends<S> {
    /// Those of a connection that `user` asks for, or whose user is not known yet.
    pub fn new(above: Above, user: Handle, state: S) -> Self {
        Self { above, user, lower: Handle::default(), listener: Handle::default(), state, timer: TimerSlot::default() }
    }

    /// Tells the user of the end.
    pub fn tell_aborted(&self, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        tell_aborted(self.above, self.user, reason, data, cx);
    }

    /// Tells the user of the end in order.
    pub fn tell_closed(&self, cx: &mut Context<'_>) {
        cx.up(self.above, Indication::Closed { session: self.user });
    }

    /// Tells the user that the peer releases, or has answered a release.
    pub fn tell_released(&self, data: Option<Message>, cx: &mut Context<'_>) {
        cx.up(self.above, Indication::Released { session: self.user, data });
    }

    /// Tells the user what only this service has.
    pub fn tell(&self, what: Special, cx: &mut Context<'_>) {
        cx.up(self.above, Indication::Special { session: self.user, what });
    }

    /// Hands data up.
    pub fn hand_up(&self, data: Message, cx: &mut Context<'_>) {
        cx.up(self.above, Indication::Data { session: self.user, data, end: true });
    }

    /// Lets the user hand over so much more.
    pub fn let_send(&self, credit: Credit, cx: &mut Context<'_>) {
        cx.up(self.above, Indication::Credit { session: self.user, credit });
    }

    /// Says below what only that service has.
    pub fn say(&self, what: Special, cx: &mut Context<'_>) {
        cx.down(BELOW, Request::Special { session: self.lower, what });
    }

    /// Releases below, or answers a release.
    pub fn release(&self, data: Option<Message>, cx: &mut Context<'_>) {
        cx.down(BELOW, Request::Release { session: self.lower, data });
    }

    /// Hands data down.
    pub fn hand_down(&self, data: Message, cx: &mut Context<'_>) {
        cx.down(BELOW, Request::Data { session: self.lower, data, end: true });
    }

    /// Lets the layer below hand over so much more.
    pub fn let_come(&self, credit: Credit, cx: &mut Context<'_>) {
        cx.down(BELOW, Request::Credit { session: self.lower, credit });
    }
}

/// What comes with an event. Of most events most is not there.
#[derive(Debug)]
pub struct Input<P> {
    /// User data, or what it is in.
    pub data: Option<Message>,
    /// The data ends here.
    pub end: bool,
    /// What only this service has, asked for, or that of the layer below, told.
    pub special: Option<Special>,
    /// The confirmation of the layer below.
    pub opened: Option<Box<Opened>>,
    /// The user's answer.
    pub accept: Option<Box<Accept>>,
    /// The PDU that came.
    pub pdu: Option<P>,
    /// How that begins, or what it came in.
    pub beginning: Beginning,
    /// Why something ends.
    pub why: Option<Reason>,
}

impl<P> Default for Input<P> {
    fn default() -> Self {
        Self {
            data: None,
            end: true,
            special: None,
            opened: None,
            accept: None,
            pdu: None,
            beginning: Beginning::default(),
            why: None,
        }
    }
}

impl<P> Input<P> {
    /// User data.
    #[must_use]
    pub fn data(data: Option<Message>) -> Self {
        Self { data, ..Self::default() }
    }

    /// Why something ends.
    #[must_use]
    pub fn why(why: Reason) -> Self {
        Self { why: Some(why), ..Self::default() }
    }

    /// What only one service has.
    #[must_use]
    pub fn special(what: Special) -> Self {
        Self { special: Some(what), ..Self::default() }
    }
}

/// A cell.
pub type Cell<M> = (<M as Machine>::Action, Option<<M as Machine>::State>);

/// An action.
pub type ActionFn<M> = fn(
    &mut Layer<M>,
    Handle,
    <M as Machine>::Action,
    <M as Machine>::State,
    Input<<M as Machine>::Pdu>,
    &mut Context<'_>,
);

/// The table of a layer, what is done by it, and which of its rows the primitives are that all layers have.
#[derive(Debug)]
pub struct Table<M: Machine> {
    /// What is done where an event comes in a state, and the next state; `None` where it stays, or the action says it.
    pub cell: fn(M::State, M::Event) -> Cell<M>,
    /// Does that, with the state as it was before.
    pub act: ActionFn<M>,
    /// A user calls, or waits to be called. There is room for it.
    pub open: fn(&mut Layer<M>, Above, Open, &mut Context<'_>),
    /// Somebody calls.
    pub called: fn(&mut Layer<M>, Offered, &mut Context<'_>),
    /// Refuses who calls, because a listener has gone whose user has not answered.
    pub refuse_offer: fn(&mut Layer<M>, Handle, &mut Context<'_>),
    /// The most connections at a time, listeners among them.
    pub most: fn(&M::Config) -> u32,
    /// The ends of a connection.
    pub ends: fn(&M::Connection) -> &Ends<M::State>,
    /// The same, to be changed.
    pub ends_mut: fn(&mut M::Connection) -> &mut Ends<M::State>,
    /// The state in which the user was told of a caller and has not answered.
    pub offered: M::State,
    /// The user takes the call.
    pub accepted: M::Event,
    /// The user releases, or answers a release; or why it cannot.
    pub release: fn(M::State) -> Result<M::Event, &'static str>,
    /// The user aborts, or refuses the call.
    pub abort: fn(M::State) -> M::Event,
    /// The connection below stands.
    pub confirmed: M::Event,
    /// The connection below is released; `None`: that is its end.
    pub released: Option<M::Event>,
    /// The connection below has ended in order; `None`: that is as another end.
    pub closed: Option<M::Event>,
    /// The connection below is over, or never was.
    pub ended: M::Event,
    /// That may also be told of a connection that is over here: then it says nothing.
    pub may_end_late: bool,
    /// A reset, or expedited data, that nobody can have agreed on; `None`: a reset is an end, and there is no expedited
    /// data.
    pub unexpected: Option<M::Event>,
    /// It took too long, where something is waited for.
    pub timeout: Option<M::Event>,
    /// Why something is dropped that is about no connection.
    pub no_such: &'static str,
    /// Why expedited data of the user is.
    pub no_expedited: &'static str,
}

/// The protocol machine of a layer: its table in the shape of its standard, its actions, and what is its own in how it
/// is asked and told.
pub trait Machine: Debug + Default + Send + Sized + 'static {
    /// What can be set.
    type Config: Debug + Default + Send;
    /// What happened.
    type Counters: Debug + Default + Send;
    /// A connection.
    type Connection: Debug + Send;
    /// What a user wants that waits to be called.
    type ListenTerms: Debug + Send;
    /// A column of the table.
    type State: Copy + PartialEq;
    /// A row of the table.
    type Event: Copy;
    /// An action of the table.
    type Action;
    /// A PDU.
    type Pdu;

    /// What is offered to users.
    const SERVICE: Service;
    /// What it stands on.
    const NEEDS: &'static [Service];
    /// The table.
    const TABLE: Table<Self>;

    /// A user's data. Where all data are values that name their contexts, other is none, and its credit comes back.
    fn data(layer: &mut Layer<Self>, own: Handle, data: Message, end: bool, cx: &mut Context<'_>) {
        let _ = (data, end);
        if let Some(ends) = layer.ends(own) {
            ends.let_send(Credit::messages(1), cx);
        }
        cx.drop("data that is no presentation data value");
    }

    /// What only this service has.
    fn special(layer: &mut Layer<Self>, own: Handle, what: Special, cx: &mut Context<'_>);

    /// A user takes more. Where messages are the same above and below, it is for the layer below.
    fn credit(layer: &mut Layer<Self>, own: Handle, credit: Credit, cx: &mut Context<'_>) {
        if let Some(ends) = layer.ends(own) {
            ends.let_come(credit, cx);
        }
    }

    /// Data of the layer below, of one that has such.
    fn came(layer: &mut Layer<Self>, own: Handle, data: Message, end: bool, cx: &mut Context<'_>) {
        let _ = (layer, own, data, end);
        cx.drop(FOREIGN);
    }

    /// What only the layer below has, of one that has such.
    fn said(layer: &mut Layer<Self>, own: Handle, what: Special, cx: &mut Context<'_>) {
        let _ = (layer, own, what);
        cx.drop(FOREIGN);
    }

    /// The layer below takes more. Where messages are the same above and below, it is for the user.
    fn credited(layer: &mut Layer<Self>, own: Handle, credit: Credit, cx: &mut Context<'_>) {
        if let Some(ends) = layer.ends(own) {
            ends.let_send(credit, cx);
        }
    }

    /// The layer below is released, or has answered.
    fn released(layer: &mut Layer<Self>, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        match Self::TABLE.released {
            Some(event) => layer.on(own, event, Input::data(data), cx),
            None => layer.closed(own, cx),
        }
    }
}

/// A layer.
#[derive(Debug)]
pub struct Layer<M: Machine> {
    pub(crate) config: M::Config,
    pub(crate) entries: Entries<M::Connection, M::ListenTerms>,
    pub(crate) counters: M::Counters,
    pub(crate) refusal: Option<Reason>,
    /// The machine's variables that are of no connection.
    pub(crate) machine: M,
}

impl<M: Machine> Layer<M> {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: M::Config) -> Self {
        Self {
            config,
            entries: Entries::default(),
            counters: M::Counters::default(),
            refusal: None,
            machine: M::default(),
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &M::Counters {
        &self.counters
    }

    /// What came last: how a peer broke the protocol, a caller or not, or what a caller was told that was refused. Who
    /// is refused for want of room before it has said what it wants leaves nothing here.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Reason> {
        self.refusal.as_ref()
    }

    pub(crate) fn connection(&mut self, handle: Handle) -> Option<&mut M::Connection> {
        self.entries.connection(handle)
    }

    fn ends(&mut self, handle: Handle) -> Option<&mut Ends<M::State>> {
        self.connection(handle).map(M::TABLE.ends_mut)
    }

    /// Whether there is no room for another connection.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= (M::TABLE.most)(&self.config) as usize
    }

    /// An event and what came with it: the table says what is done.
    pub(crate) fn on(&mut self, own: Handle, event: M::Event, input: Input<M::Pdu>, cx: &mut Context<'_>) {
        let Some(ends) = self.ends(own) else {
            return cx.drop(M::TABLE.no_such);
        };
        let before = ends.state;
        let (todo, next) = (M::TABLE.cell)(before, event);
        if let Some(state) = next {
            ends.state = state;
        }
        (M::TABLE.act)(self, own, todo, before, input, cx);
    }

    /// Begins to wait again.
    pub(crate) fn wait(&mut self, own: Handle, timeout: Duration, cx: &mut Context<'_>) {
        let deadline = cx.now() + timeout;
        if let Some(ends) = self.ends(own) {
            cx.set_timer(&mut ends.timer, Token { session: own, kind: 0 }, deadline);
        }
    }

    fn accept(&mut self, above: Above, accept: Box<Accept>, cx: &mut Context<'_>) {
        let own = accept.session;
        if self.ends(own).is_none_or(|it| it.state != M::TABLE.offered) {
            return tell_aborted(above, accept.user, Reason::NoSession, None, cx);
        }
        self.on(own, M::TABLE.accepted, Input { accept: Some(accept), ..Input::default() }, cx);
    }

    pub(crate) fn abort(&mut self, own: Handle, reason: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        if let Some(request) = self.entries.unlisten(own, Reason::User) {
            // Those whom its user has not answered hear that nobody is there any more.
            let ends = M::TABLE.ends;
            let offered = |it: &M::Connection| (ends(it).state, ends(it).listener) == (M::TABLE.offered, own);
            for own in self.entries.connections(offered) {
                (M::TABLE.refuse_offer)(self, own, cx);
            }
            return cx.down(BELOW, request);
        }
        match self.ends(own).map(|it| it.state) {
            Some(state) => self.on(own, (M::TABLE.abort)(state), Input { data, ..Input::why(reason) }, cx),
            None => cx.drop(M::TABLE.no_such),
        }
    }

    fn opened(&mut self, opened: Box<Opened>, cx: &mut Context<'_>) {
        let own = opened.user;
        if let Some((connection, opened)) = self.entries.on_opened(opened, BELOW, cx) {
            (M::TABLE.ends_mut)(connection).lower = opened.provider;
            self.on(own, M::TABLE.confirmed, Input { opened: Some(opened), ..Input::default() }, cx);
        }
    }

    /// Something is over below: a listener goes, of which its user is told, or a connection.
    fn ended(&mut self, own: Handle, why: Reason, data: Option<Message>, cx: &mut Context<'_>) {
        if self.entries.on_ended(own, why.clone(), cx) || M::TABLE.may_end_late && self.connection(own).is_none() {
            return;
        }
        self.on(own, M::TABLE.ended, Input { data, ..Input::why(why) }, cx);
    }

    fn closed(&mut self, own: Handle, cx: &mut Context<'_>) {
        match M::TABLE.closed {
            Some(event) => self.on(own, event, Input::why(Reason::Down), cx),
            None => self.ended(own, Reason::Down, None, cx),
        }
    }

    fn unexpected(&mut self, own: Handle, reset: Option<Reason>, cx: &mut Context<'_>) {
        match (M::TABLE.unexpected, reset) {
            (Some(event), _) => self.on(own, event, Input::default(), cx),
            (None, Some(why)) => self.ended(own, why, None, cx),
            (None, None) => cx.drop(FOREIGN),
        }
    }

    fn release(&mut self, own: Handle, data: Option<Message>, cx: &mut Context<'_>) {
        match self.ends(own).map(|it| (M::TABLE.release)(it.state)) {
            Some(Ok(event)) => self.on(own, event, Input::data(data), cx),
            Some(Err(why)) => cx.drop(why),
            None => cx.drop(M::TABLE.no_such),
        }
    }
}

impl<M: Machine> Protocol for Layer<M> {
    fn shape(&self) -> Shape {
        Shape { offers: Some(M::SERVICE), needs: M::NEEDS, below: (1, 1), keys: Vec::new() }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request {
            Request::Open(open) if self.is_full() => tell_aborted(from, open.user, Reason::NoResources, None, cx),
            Request::Open(open) => (M::TABLE.open)(self, from, *open, cx),
            Request::Accept(accept) => self.accept(from, accept, cx),
            Request::Data { session, data, end } => M::data(self, session, data, end, cx),
            Request::Special { session, what } => M::special(self, session, what, cx),
            Request::Credit { session, credit } => M::credit(self, session, credit, cx),
            Request::Release { session, data } => self.release(session, data, cx),
            Request::Abort { session, reason, data } => self.abort(session, reason, data, cx),
            Request::Cancel { user } => {
                let ends = M::TABLE.ends;
                let own = self.entries.named(from, user, |it| (ends(it).above, ends(it).user));
                self.abort(own, Reason::User, None, cx);
            }
            Request::Expedited { .. } => cx.drop(M::TABLE.no_expedited),
            Request::Manage(_) | Request::Reset { .. } | Request::Unit(_) => cx.drop(FOREIGN),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => self.opened(opened, cx),
            Indication::Offered(offered) => (M::TABLE.called)(self, *offered, cx),
            Indication::Data { session, data, end } => M::came(self, session, data, end, cx),
            Indication::Special { session, what } => M::said(self, session, what, cx),
            Indication::Credit { session, credit } => M::credited(self, session, credit, cx),
            Indication::Released { session, data } => M::released(self, session, data, cx),
            Indication::Closed { session } => self.closed(session, cx),
            Indication::Aborted { session, reason, data } => self.ended(session, reason, data, cx),
            Indication::Expedited { session, .. } => self.unexpected(session, None, cx),
            Indication::Reset { session, reason } => self.unexpected(session, Some(reason), cx),
            Indication::Unit(_) => cx.drop(FOREIGN),
            Indication::Notice { .. } | Indication::Report(_) => {}
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if self.connection(token.session).is_some()
            && let Some(event) = M::TABLE.timeout
        {
            self.on(token.session, event, Input::why(Reason::TimedOut), cx);
        }
    }
}
