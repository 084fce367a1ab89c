//! Transport class 0: the OSI transport service on a network that loses nothing.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T X.224 (ISO 8073; RFC 905 is its text), class 0; RFC 1006 for its network on TCP. X.224 was not at hand: its parameter f0 is recalled |
//! | Above | session, or any user of messages of any length |
//! | Below | a network connection for each transport connection: [`tpkt`](crate::tpkt) (RFC 1006), or the packet layer of X.25 |
//! | Left out | multiplexing and other classes (a caller that offers class 0 among others gets it, one that does not is refused); expedited data, which RFC 1006 lets class 0 have "to experiment" |
//!
//! **TPDU size.** The standard ends at 2048 octets in class 0. On RFC 1006 peers propose and take more; on X.25 more is
//! *beyond the standard* and needs a peer that knows. We propose [`Config::tpdu_size`] and beside it, to peers that
//! know X.224 of 1993, [`Config::preferred_size`]. We take whatever a caller proposes, up to our own two.
//!
//! **Ending.** Class 0 has no release: the network connection ends, and what is in progress may be lost. Who wants an
//! orderly end agrees on it above. A DR on an open connection is taken as an end, though the standard has none there:
//! ISODE sends it before it closes.
//!
//! **Credit.** In TSDUs, both ways, of which up to [`Config::window`] wait in here. A TSDU that comes may have
//! [`Config::max_tsdu`] octets, and [`Config::max_first_tsdu`] before the user asks for more. It takes memory in
//! proportion to its octets, however small its TPDUs are, and one that comes in more TPDUs than its octets are worth
//! ends the connection ([`kumiki_octets::Gathering`]).
//!
//! **Memory.** Where the graph has a budget, what is gathered is claimed there. A caller that comes when it is short is
//! refused with "the transport entity is congested" (129); where a connection that stands cannot have what it sends,
//! the network connection ends, for class 0 has no other word.
//!
//! **Selectors.** A listener without a selector takes every caller. One with a selector takes those who call it, and
//! refuses others with "transport selector unknown".

use core::convert::Infallible;
use core::fmt;

use kumiki_graph::{
    Above, Accept, Below, Context, Credit, Duration, Handle, Indication, Mode, Offered, Open, Opened, Quality, Reason,
    Request, Service, Special,
};
use kumiki_octets::Message;
use kumiki_osi_service::OsiCause;
use kumiki_osi_service::{Association, Selector};
use kumiki_settings::{BuildError, Reader, Settings, Word};
use kumiki_wire::osi::cotp::{self, Cause, Disconnect, Parameters, Tpdu, reason};

use crate::entries::{abort_below, end_below};
use crate::layer::{Ends, Layer, Machine, Table};

mod connection;
mod longest;
mod receive;
mod states;
pub use longest::Longest;

#[cfg(test)]
mod tests;

use connection::Connection;
use states::{Action, Event, State};

/// What transport offers (X.214).
pub const SERVICE: Service = Service::CONNECTION.named("transport");

/// The network.
const NETWORK: Below = Below(0);
/// Call user data by which ISO transport is known on X.25: a UN TPDU that names protocol 1 (ISO 8073 addendum; X.224
/// annex B), recalled.
pub const CALL_USER_DATA: [u8; 4] = [3, 1, 1, 0];

/// The user data of a call without fast select: 16 octets at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallUserData {
    octets: [u8; 16],
    len: u8,
}

impl CallUserData {
    /// [`CALL_USER_DATA`].
    pub const TRANSPORT: Self = {
        let [a, b, c, d] = CALL_USER_DATA;
        Self { octets: [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], len: 4 }
    };

    /// These octets; none where there are more than 16.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut it = Self { octets: [0; 16], len: u8::try_from(octets.len()).ok()? };
        it.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(it)
    }

    /// The octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..self.len.into()).unwrap_or_default()
    }

    /// What is wrong with the user `data` of a call, which must begin with this, and may be left out. No more of it is
    /// shown than names a protocol.
    fn judge(&self, data: &[u8]) -> Option<String> {
        let expected = self.octets();
        if data.is_empty() || data.starts_with(expected) {
            return None;
        }
        let (shown, rest) = data.split_at_checked(expected.len()).unwrap_or((data, &[]));
        let points = if rest.is_empty() { "" } else { "..." };
        Some(format!("call user data is {}{points}, expected to begin {}", Digits(shown), Digits(expected)))
    }
}

/// Octets as they are given for the user data of a call: `03010100`.
struct Digits<'a>(&'a [u8]);

impl fmt::Display for Digits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// What the network is, as far as it makes a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Network {
    /// RFC 1006 on TCP: 65531 octets where no TPDU size is said.
    #[default]
    Rfc1006,
    /// X.25: 128 octets where none is said, and call user data that names the protocol.
    X25,
}

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
#[settings(check = power_of_two)]
pub struct Config {
    /// What is below: RFC 1006 on TCP, or X.25.
    #[setting(word)]
    pub network: Network,
    /// What calls of X.25 say that they carry, and what a call must begin with that is taken; one without any is taken
    /// too.
    #[setting(skip)]
    pub call_user_data: CallUserData,
    /// The TPDU size that is proposed and the largest that is taken: a power of two; above 2048 it is beyond the
    /// standard.
    #[setting(128..=8192, octets, name = "tpdu")]
    pub tpdu_size: u16,
    /// The size that is proposed beside it to peers that know X.224 of 1993: a multiple of 128; nothing where 0.
    ///
    /// And the largest that is taken from them.
    #[setting(0..=65_408, octets, name = "preferred_tpdu")]
    pub preferred_size: u32,
    /// How many TSDUs a user may hand over ahead of the network, and be handed before it has granted any.
    #[setting(1..=1024)]
    pub window: u32,
    /// The longest TSDU that is taken.
    #[setting(1024..=1 << 30, octets)]
    pub max_tsdu: u32,
    /// The longest TSDU that is taken before session says that its connection stands.
    ///
    /// By [`Longest`]: a peer that nobody has let in yet is to have no more memory than that.
    #[setting(1024..=1 << 30, octets)]
    pub max_first_tsdu: u32,
    /// How long an answer is waited for.
    ///
    /// CC, CR on a connection that was accepted, and our own user's.
    #[setting(positive)]
    pub timeout: Duration,
    /// The most connections at a time.
    #[setting(1..=1_000_000)]
    pub connections: u32,
}

fn power_of_two(config: &Config, reader: &Reader<'_>) -> Result<(), BuildError> {
    if !config.tpdu_size.is_power_of_two() {
        return Err(reader.wrong("tpdu", &config.tpdu_size, "a power of two from 128 B to 8192 B"));
    }
    Ok(())
}

impl Default for Config {
    fn default() -> Self {
        Self {
            network: Network::Rfc1006,
            call_user_data: CallUserData::TRANSPORT,
            tpdu_size: 2048,
            preferred_size: 0,
            window: 4,
            max_tsdu: 16 * 1024 * 1024,
            max_first_tsdu: 1 << 30,
            timeout: Duration::from_secs(30),
            connections: 1024,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// DTs sent.
    pub sent: u64,
    /// DTs received.
    pub received: u64,
    /// Callers refused.
    pub refused: u64,
    /// TPDUs that could not be read or came at the wrong time.
    pub errors: u64,
}

/// The layer.
pub type Tp0 = Layer<Class0>;

/// The transport protocol machine of class 0.
#[derive(Debug, Default)]
pub struct Class0 {
    last_ref: u16,
}

type Input = crate::layer::Input<Infallible>;

impl Machine for Class0 {
    type Config = Config;
    type Counters = Counters;
    type Connection = Connection;
    /// The selector of those who may call; none: all may.
    type ListenTerms = Option<Selector>;
    type State = State;
    type Event = Event;
    type Action = Action;
    type Pdu = Infallible;

    const SERVICE: Service = SERVICE;
    const NEEDS: &'static [Service] = &[Service::CONNECTION];
    const TABLE: Table<Self> = Table {
        cell: states::next,
        act: Tp0::act,
        open: Tp0::open,
        called: Tp0::network_offered,
        refuse_offer: |layer, own, cx| layer.on(own, Event::DisconnectRequest, Input::default(), cx),
        most: |config| config.connections,
        ends: |it| &it.ends,
        ends_mut: |it| &mut it.ends,
        offered: State::WaitResponse,
        accepted: Event::Response,
        release: |_| Err("class 0 has no release"),
        abort: |_| Event::DisconnectRequest,
        confirmed: Event::NetworkConfirm,
        released: None,
        closed: None,
        ended: Event::NetworkEnd,
        may_end_late: true,
        // Class 0 cannot recover from a reset (X.224 section 6.6.2).
        unexpected: None,
        timeout: Some(Event::Timeout),
        no_such: "no such connection",
        no_expedited: "class 0 has no expedited data",
    };

    fn data(layer: &mut Tp0, session: Handle, data: Message, end: bool, cx: &mut Context<'_>) {
        let Some(connection) = layer.connection(session).filter(|it| it.ends.state == State::Open) else {
            return cx.drop("no such connection");
        };
        connection.granted = connection.granted.saturating_sub(1);
        if !connection.partial.is_empty() || !end {
            connection.partial.append(data);
            if end {
                let whole = core::mem::take(&mut connection.partial);
                connection.waiting.push_back(whole);
            }
        } else {
            connection.waiting.push_back(data);
        }
        layer.flow(session, cx);
    }

    fn special(layer: &mut Tp0, own: Handle, what: Special, cx: &mut Context<'_>) {
        let Some(&Longest(octets)) = what.get() else {
            return cx.drop("a primitive of another service");
        };
        match layer.connection(own) {
            Some(connection) => connection.longest = octets,
            None => cx.drop("no such connection"),
        }
    }

    fn credit(layer: &mut Tp0, own: Handle, credit: Credit, cx: &mut Context<'_>) {
        layer.credit(own, credit.messages, cx);
    }

    fn came(layer: &mut Tp0, own: Handle, data: Message, end: bool, cx: &mut Context<'_>) {
        layer.came(own, data, end, cx);
    }

    fn credited(layer: &mut Tp0, own: Handle, credit: Credit, cx: &mut Context<'_>) {
        if let Some(connection) = layer.connection(own) {
            connection.room = connection.room.saturating_add(credit.messages);
            layer.flow(own, cx);
        }
    }
}

impl Tp0 {
    fn open(&mut self, above: Above, mut open: Open, cx: &mut Context<'_>) {
        let user = open.user;
        let association = open.parameters.get::<Association>();
        let called = association.and_then(|it| it.called.transport);
        let own = match open.mode {
            Mode::Passive { .. } => self.entries.listen(above, user, called),
            Mode::Active => {
                let reference = self.reference();
                let mut connection = Connection::new(Ends::new(above, user, State::WaitNetwork), reference);
                connection.longest = self.config.max_first_tsdu;
                connection.called = called;
                connection.calling = association.and_then(|it| it.calling.transport);
                connection.association = open.parameters.take();
                connection.wanted = open.quality.receive_buffer.unwrap_or(self.config.window);
                self.entries.keep(connection)
            }
        };
        let data = match self.config.network {
            Network::X25 => Some(Message::from_octets(self.config.call_user_data.octets())),
            Network::Rfc1006 => None,
        };
        let open =
            Open { user: own, quality: below(open.quality), parameters: kumiki_graph::Parameters::NONE, data, ..open };
        cx.down(NETWORK, Request::Open(Box::new(open)));
    }

    fn act(&mut self, own: Handle, todo: Action, _: State, input: Input, cx: &mut Context<'_>) {
        let why = input.why.unwrap_or(Reason::User);
        match todo {
            Action::Nothing | Action::Take | Action::Offer => {}
            Action::SendCr => self.send_cr(own, cx),
            Action::SendCc => {
                if let Some(accept) = input.accept {
                    self.send_cc(own, *accept, cx);
                }
            }
            Action::Confirm => self.confirm(own, cx),
            Action::Refuse => {
                let code = if let Some(OsiCause::Disconnected(code)) = why.cause() {
                    *code
                } else if why == Reason::NoResources {
                    reason::CONGESTION
                } else {
                    reason::NOT_ATTACHED
                };
                self.refuse(own, code, cx);
            }
            Action::Leave => self.end(own, None, cx),
            Action::Lost | Action::Error => self.end(own, Some(why), cx),
        }
    }

    /// A reference that is not 0. Nobody looks connections up by it in class 0.
    fn reference(&mut self) -> u16 {
        self.machine.last_ref = self.machine.last_ref.wrapping_add(1).max(1);
        self.machine.last_ref
    }

    /// DR, and the end of the network connection.
    fn refuse(&mut self, own: Handle, code: u8, cx: &mut Context<'_>) {
        self.counters.refused += 1;
        self.refusal = Some(Reason::peer(OsiCause::Disconnected(code)));
        if let Some(connection) = self.connection(own) {
            let dr = Tpdu::Disconnect(Disconnect {
                dst_ref: connection.dst_ref,
                src_ref: 0,
                reason: code,
                additional: Vec::new(),
            });
            send(connection, &dr, cx);
        }
        self.end(own, None, cx);
    }

    /// Ends the network connection, and tells the user `why` where it knows of the connection and has not asked for it.
    fn end(&mut self, own: Handle, why: Option<Reason>, cx: &mut Context<'_>) {
        let Some(mut connection) = self.entries.forget(own) else {
            return;
        };
        cx.clear_timer(&mut connection.ends.timer);
        end_below(NETWORK, (own, connection.ends.lower), None, cx);
        let knows = matches!(connection.ends.state, State::WaitNetwork | State::WaitConfirm | State::Open);
        if let Some(reason) = why.filter(|_| knows) {
            connection.ends.tell_aborted(reason, None, cx);
        }
    }

    fn send_cr(&mut self, own: Handle, cx: &mut Context<'_>) {
        let mut parameters = self.proposal();
        let default = self.default_size();
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.tpdu_size = default;
        parameters.called = connection.called;
        parameters.calling = connection.calling;
        let cr =
            Tpdu::Request(cotp::Connection { src_ref: connection.src_ref, parameters, ..cotp::Connection::default() });
        connection.first = Some(Message::owning(cr.emit()));
        self.wait(own, self.config.timeout, cx);
        self.flow(own, cx);
    }

    /// TPDU sizes as we propose them.
    fn proposal(&self) -> Parameters {
        Parameters {
            size: u8::try_from(self.config.tpdu_size.max(128).ilog2()).ok(),
            preferred: Some(self.config.preferred_size / 128).filter(|units| *units > 0),
            ..Parameters::default()
        }
    }

    fn default_size(&self) -> usize {
        match self.config.network {
            Network::Rfc1006 => cotp::DEFAULT_SIZE_RFC1006,
            Network::X25 => cotp::DEFAULT_SIZE,
        }
    }

    fn send_cc(&mut self, own: Handle, mut accept: Accept, cx: &mut Context<'_>) {
        let answer = self.proposal();
        let window = self.config.window;
        let Some(connection) = self.connection(own) else {
            return;
        };
        connection.ends.user = accept.user;
        connection.wanted = accept.quality.receive_buffer.unwrap_or(window);
        connection.association = accept.parameters.take();
        cx.clear_timer(&mut connection.ends.timer);
        let size = connection.tpdu_size;
        // What was agreed is said in the words in which it was proposed: `on_cr` has left one of the two.
        let preferred = u32::try_from(size / 128).ok();
        let is_power = size.is_power_of_two() && (128..=8192).contains(&size);
        let parameters = Parameters {
            size: u8::try_from(size.ilog2()).ok().filter(|_| is_power),
            preferred: preferred.filter(|_| !is_power && size.is_multiple_of(128) && answer.preferred.is_some()),
            called: connection.called,
            calling: connection.calling,
            ..Parameters::default()
        };
        let cc = Tpdu::Confirm(cotp::Connection {
            dst_ref: connection.dst_ref,
            src_ref: connection.src_ref,
            parameters,
            ..cotp::Connection::default()
        });
        connection.first = Some(Message::owning(cc.emit()));
        self.flow(own, cx);
    }

    fn confirm(&mut self, own: Handle, cx: &mut Context<'_>) {
        let unit = self.config.max_tsdu;
        let Some(connection) = self.connection(own) else {
            return;
        };
        cx.clear_timer(&mut connection.ends.timer);
        let opened = Opened {
            user: connection.ends.user,
            provider: own,
            unit,
            parameters: connection.association.take().into(),
            ..Opened::default()
        };
        if let Some(connection) = self.connection(own) {
            cx.up(connection.ends.above, Indication::Opened(Box::new(opened)));
        }
        self.flow(own, cx);
    }

    /// Hands the network what it takes, and the user what credit that leaves.
    fn flow(&mut self, own: Handle, cx: &mut Context<'_>) {
        let (window, mut sent) = (self.config.window, 0);
        let Some(connection) = self.connection(own) else {
            return;
        };
        while connection.room > 0
            && let Some(data) = connection.next_out()
        {
            connection.room -= 1;
            sent += u64::from(connection.ends.state == State::Open);
            connection.ends.hand_down(data, cx);
        }
        let waiting = u32::try_from(connection.waiting.len()).unwrap_or(u32::MAX);
        let messages = window.max(1).saturating_sub(connection.granted).saturating_sub(waiting);
        if connection.ends.state == State::Open && messages > 0 {
            connection.granted += messages;
            connection.ends.let_send(Credit::messages(messages), cx);
        }
        self.counters.sent += sent;
    }
}

/// The network's credit counts other messages than the user's.
fn below(quality: Quality) -> Quality {
    Quality { receive_buffer: None, ..quality }
}

/// A TPDU that ends a connection. It goes whether the network has granted credit or not: a network that has no room
/// loses it, and ends the connection all the same.
fn send(connection: &mut Connection, tpdu: &Tpdu, cx: &mut Context<'_>) {
    connection.room = connection.room.saturating_sub(1);
    connection.ends.hand_down(Message::owning(tpdu.emit()), cx);
}
