//! A PAD: packet assembly and disassembly, for a terminal that sends and shows characters.
//!
//! | | |
//! |---|---|
//! | Specification | X.3, X.28, X.29 (1988). Recalled, as the texts were not at hand; parameters, profiles, commands and service signals were compared with public manuals (Solaris X.25, HP, Digi, Northern) and with a public implementation that cites X.28 (12/97); PAD messages with tshark 4.0 |
//! | Above | nobody: a person |
//! | Below | first a network, `Connection`: the packet layer of X.25; then a terminal, `Stream`: [`pipe`](kumiki_graph::pipe) on a device, [`telnet`](crate::telnet) on that, TCP |
//! | Left out | finding the terminal's speed (states 1 to 4 of X.28): parameter 11 says 9600 bit/s; abbreviated addresses; other languages; a break towards the terminal, which a stream does not have: it is counted |
//!
//! One node has one terminal. It listens for it below, and when one has gone it waits for the next.
//!
//! **Break.** `Expedited` of the terminal's stream is a break, whatever it carries; and there is the command `BREAK`.
//!
//! **Credit.** What was typed and not yet handed to the network is at most [`Config::room`] octets; a terminal that has
//! sent as much is not read any more, and is told so by X-OFF where parameter 5 says so. Of what comes from the network
//! a packet is taken when the one before has been handed to the terminal, so a terminal that does not read closes the
//! window.
//!
//! # Where this differs
//!
//! - With parameter 21 at 0 bit 8 is data, and a character that has it is never a control: the standard looks at seven
//!   bits, which breaks UTF-8. Terminals with a parity bit set parameter 21.
//! - What is typed while a call is made waits for it, instead of being lost: who writes a call and its input into a
//!   pipe wants both. The recall character gives the call up, where nothing was typed for the call before it.
//! - Parameters are, when a call is over, what the terminal had set itself; what the host set is forgotten.

use crate::x25 as packets;
use std::collections::VecDeque;

use kumiki_graph::{
    Above, Accept, Address, Below, Context, Credit, Duration, Handle, Indication, Mode, Offered, Open, Protocol,
    Quality, Reason, Request, Service, Shape, TimerSlot, Token,
};
use kumiki_octets::Message;
use kumiki_osi_service::x25::pad::{Parameter, Parameters};
use kumiki_osi_service::x25::{self, Call as Facts, CauseField, Number, Primitive, diagnostic};
use kumiki_wire::x25::x29;

mod command;
mod messages;
mod network;
mod printer;
mod signal;
mod states;
mod terminal;
#[cfg(test)]
mod tests;

use printer::Printer;
pub use states::State;
use states::{Event, next};

/// The network.
const NETWORK: Below = Below(0);
/// The terminal.
const TERMINAL: Below = Below(1);

/// Our handles: who waits for a terminal, the terminal, who waits for calls.
const DOOR: Handle = handle(0, 1);
const SEAT: Handle = handle(1, 1);
const BELL: Handle = handle(2, 1);
/// The index of calls, which are told apart by their generation.
const CALL: u32 = 3;

const fn handle(index: u32, generation: u32) -> Handle {
    Handle { index, generation }
}

/// What timers are for.
mod timer {
    /// Parameter 4: what was typed leaves.
    pub(super) const IDLE: u32 = 0;
    /// The terminal sends no more and the host has been silent: the call is cleared.
    pub(super) const LINGER: u32 = 1;
    /// Somebody from outside wants an end.
    pub(super) const CLOSE: u32 = 2;
}

/// Octets that may wait for the terminal before nothing more is made for it.
const MOST_PRINTED: usize = 1024;
/// PAD messages and packets that may wait for the network's credit before nothing more is taken from it.
const MOST_WAITING: usize = 64;

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The parameters that a terminal begins with.
    pub initial: Parameters,
    /// What the terminal is told when it comes; nothing where empty.
    pub identification: String,
    /// Our address, the calling one; none leaves it to the packet layer.
    pub address: Number,
    /// Whether calls are taken, and to which addresses: those that begin with this.
    pub answer: Option<Number>,
    /// A selection that is made as soon as the terminal is there, as if it had been typed.
    pub call: Option<String>,
    /// The terminal is let go when a call of it is over.
    pub once: bool,
    /// How long a call goes on in which the host is silent after the terminal has ended its side; `None`: until the
    /// host clears it.
    pub linger: Option<Duration>,
    /// Whether a terminal that has ended its side is waited for as long as it takes to read what it was sent; without
    /// it a call takes one that does not read for silent, and what is left behind the call is thrown away.
    pub drains: bool,
    /// The terminal is a stream of any octets, in which X-ON and X-OFF mean nothing: no host can set parameters 5 and
    /// 12 to anything but 0.
    pub is_stream: bool,
    /// Where terminals come in, where the stream below has more than one place.
    pub door: Address,
    /// The most octets typed and not yet sent.
    pub room: u32,
    /// Packets that the network may hand over ahead of the terminal; at least 1.
    pub window: u32,
    /// Whether a host may have the PAD call another (X.29's reselection).
    pub reselection: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial: Parameters::SIMPLE,
            identification: "KUMIKI PAD".to_owned(),
            address: Number::NONE,
            answer: None,
            call: None,
            once: false,
            linger: Some(Duration::from_secs(2)),
            drains: true,
            is_stream: false,
            door: Address::NONE,
            room: 4096,
            window: 2,
            reselection: false,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Calls asked for.
    pub calls_out: u64,
    /// Calls taken.
    pub calls_in: u64,
    /// Packets of characters sent.
    pub packets_out: u64,
    /// Packets of characters received.
    pub packets_in: u64,
    /// PAD messages sent.
    pub messages_out: u64,
    /// PAD messages received.
    pub messages_in: u64,
    /// Breaks of the terminal.
    pub breaks: u64,
    /// Breaks that the host wanted at the terminal, which it was not told of.
    pub breaks_lost: u64,
    /// Characters with wrong parity.
    pub parity_errors: u64,
    /// Octets thrown away because parameter 8 said so.
    pub discarded: u64,
}

/// How the last call went.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallOutcome {
    /// Whether one was asked for or taken.
    pub asked: bool,
    /// Whether it stood.
    pub stood: bool,
    /// Why it ended, where that was not our doing.
    pub why: Option<Reason>,
    /// A selection that was made for the terminal could not be read.
    pub is_bad: bool,
}

/// What has come from the network and waits for its turn.
#[derive(Debug)]
enum Item {
    Characters(VecDeque<u8>),
    Message { octets: Vec<u8>, packets: u32, is_long: bool },
}

/// A PAD message in progress.
#[derive(Debug, Default)]
struct Partial {
    octets: Vec<u8>,
    packets: u32,
    is_long: bool,
}

/// What waits for the network's credit.
#[derive(Debug)]
struct Outgoing {
    qualified: bool,
    octets: Vec<u8>,
}

/// The terminal.
#[derive(Debug)]
struct TerminalUser {
    provider: Handle,
    /// Octets that it takes.
    credit: u64,
    /// Octets that it may still send.
    granted: u64,
    /// It sends no more.
    has_ended: bool,
    /// We have said X-OFF to it.
    is_held: bool,
    /// It was let go.
    is_released: bool,
}

/// A call.
#[derive(Debug)]
struct Call {
    user: Handle,
    /// `None` until it stands.
    provider: Option<Handle>,
    /// Octets of a packet.
    unit: usize,
    /// Packets that the network takes.
    credit: u32,
    /// It is over, and what has come before is still to be shown.
    ended: Option<Reason>,
    /// We have asked for a reset.
    resets: bool,
    /// The terminal has asked for parameters of the other end.
    asks: bool,
}

/// The node.
#[derive(Debug)]
pub struct Pad {
    config: Config,
    state: State,
    parameters: Parameters,
    /// As the terminal has set them.
    own: Parameters,
    seat: Option<TerminalUser>,
    call: Option<Call>,
    calls: u32,
    /// Typed, and not yet looked at.
    typed: VecDeque<u8>,
    /// The command in progress, and whether it is too long to be one.
    line: Vec<u8>,
    is_long: bool,
    /// Data that has not been forwarded.
    data: Vec<u8>,
    outgoing: VecDeque<Outgoing>,
    incoming: VecDeque<Item>,
    partial: Partial,
    printer: Printer,
    idle: TimerSlot,
    linger: TimerSlot,
    /// The terminal is let go when all has been shown.
    leaves: bool,
    /// Somebody from outside wants an end.
    closes: bool,
    over: bool,
    outcome: CallOutcome,
    counters: Counters,
}

impl Pad {
    /// What a node is woken with after [`Pad::close`].
    pub const CLOSE: Token = Token { session: Handle { index: 0, generation: 0 }, kind: timer::CLOSE };

    /// A PAD as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            state: State::Waiting,
            parameters: config.initial,
            own: config.initial,
            seat: None,
            call: None,
            calls: 0,
            typed: VecDeque::new(),
            line: Vec::new(),
            is_long: false,
            data: Vec::new(),
            outgoing: VecDeque::new(),
            incoming: VecDeque::new(),
            partial: Partial::default(),
            printer: Printer::default(),
            idle: TimerSlot::default(),
            linger: TimerSlot::default(),
            leaves: false,
            closes: false,
            over: false,
            outcome: CallOutcome::default(),
            counters: Counters::default(),
            config,
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Where the terminal is.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The parameters as they are.
    #[must_use]
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Whether there was a terminal and it is gone, and all that it was to see has been handed to it.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// How the last call went.
    #[must_use]
    pub const fn outcome(&self) -> &CallOutcome {
        &self.outcome
    }

    /// Has the call cleared, if there is one or one is being made, and the terminal let go: true where there is. The
    /// node is to be woken with [`Pad::CLOSE`].
    pub const fn close(&mut self) -> bool {
        self.closes = true;
        self.call.is_some()
    }

    /// What happens to the state; an event that cannot happen there changes nothing.
    const fn go(&mut self, event: Event) {
        if let Some(state) = next(self.state, event) {
            self.state = state;
        }
    }

    /// Does whatever can be done now, in both directions.
    fn pump(&mut self, cx: &mut Context<'_>) {
        while self.read_typed(cx) | self.read_incoming(cx) | self.send(cx) | self.print(cx) {}
        self.grant(cx);
        self.leave(cx);
    }

    /// Hands the terminal what it takes.
    fn print(&mut self, cx: &mut Context<'_>) -> bool {
        if self.of(Parameter::Flow) == 0 {
            // Whoever has said X-OFF before that was taken away could say X-ON no more.
            self.printer.is_stopped = false;
        }
        let Some(seat) = &mut self.seat else {
            self.printer.discard();
            return false;
        };
        let most = usize::try_from(seat.credit).unwrap_or(usize::MAX);
        let octets = self.printer.take(most);
        if octets.is_empty() {
            // While a call stands, whoever does not read is silent; behind it nobody waits for them.
            let is_over = self.call.as_ref().is_none_or(|it| it.ended.is_some());
            let is_lost = is_over && seat.has_ended && !self.config.drains;
            let discards = is_lost && self.printer.len() > 0;
            if discards {
                self.printer.discard();
            }
            return discards;
        }
        seat.credit = seat.credit.saturating_sub(octets.len() as u64);
        let (session, data, end) = (seat.provider, Message::from_octets(&octets), true);
        cx.down(TERMINAL, Request::Data { session, data, end });
        if self.provider().is_some() {
            // The window may have been closed until now.
            self.start_linger(cx);
        }
        true
    }

    /// Lets the terminal send as much as there is room for.
    fn grant(&mut self, cx: &mut Context<'_>) {
        let held = self.held();
        let room = u64::from(self.config.room);
        let Some(seat) = &mut self.seat else {
            return;
        };
        let free = room.saturating_sub(seat.granted.saturating_add(held));
        // Small grants cost more than they are worth.
        if free >= room.div_ceil(4) {
            seat.granted = seat.granted.saturating_add(free);
            let (session, credit) = (seat.provider, Credit::octets(free));
            cx.down(TERMINAL, Request::Credit { session, credit });
        }
        self.hold_off(held, cx);
    }

    /// Octets that were typed and have not been handed on.
    fn held(&self) -> u64 {
        let waiting: usize = self.outgoing.iter().map(|it| it.octets.len()).sum();
        let sum = self.typed.len() + self.data.len() + self.line.len() + waiting;
        sum as u64
    }

    /// Lets the terminal go, where that is wanted and it has been told everything.
    fn leave(&mut self, cx: &mut Context<'_>) {
        let is_silent = self.typed.is_empty() && self.call.is_none();
        let Some(seat) = &mut self.seat else {
            return;
        };
        if seat.has_ended && is_silent && self.state != State::Connecting {
            self.leaves = true;
        }
        if self.leaves && self.call.is_none() && self.printer.len() == 0 && !seat.is_released {
            seat.is_released = true;
            self.over = true;
            let (session, data) = (seat.provider, None);
            cx.down(TERMINAL, Request::Release { session, data });
        }
    }

    /// A terminal is there.
    fn seat(&mut self, offered: &Offered, cx: &mut Context<'_>) {
        let session = offered.provider;
        if self.seat.is_some() {
            let (reason, data) = (Reason::Refused, None);
            let abort = Request::Abort { session, reason, data };
            return cx.down(TERMINAL, abort);
        }
        self.seat = Some(TerminalUser {
            provider: session,
            credit: 0,
            granted: self.config.room.into(),
            has_ended: false,
            is_held: false,
            is_released: false,
        });
        let quality = Quality { receive_buffer: Some(self.config.room), ..Quality::default() };
        let accept = Accept { session, user: SEAT, quality, ..Accept::default() };
        cx.down(TERMINAL, Request::Accept(Box::new(accept)));
        self.parameters = self.config.initial;
        self.own = self.config.initial;
        self.state = State::Waiting;
        self.printer = Printer::default();
        self.leaves = false;
        self.over = false;
        if let Some(line) = self.config.call.clone() {
            match command::parse(line.as_bytes()) {
                Some(command::Command::Select(selection)) => self.select(*selection, cx),
                Some(_) | None => {
                    self.outcome.is_bad = true;
                    self.leaves = true;
                    self.signal("ERR");
                }
            }
        } else {
            if !self.config.identification.is_empty() {
                let text = self.config.identification.clone();
                self.signal(&text);
            }
            self.prompt();
        }
    }

    /// The terminal has gone.
    fn unseat(&mut self, cx: &mut Context<'_>) {
        self.seat = None;
        self.over = true;
        self.typed.clear();
        self.drop_line();
        self.clear(diagnostic::NONE, cx);
        self.printer.discard();
        self.state = State::Waiting;
    }
}

impl Protocol for Pad {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[packets::SERVICE, Service::STREAM], below: (2, 2), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let open = Open { user: DOOR, mode: Mode::Passive { backlog: 1 }, local: self.config.door, ..Open::default() };
        cx.down(TERMINAL, Request::Open(Box::new(open)));
        if let Some(number) = self.config.answer {
            let open = Open {
                user: BELL,
                mode: Mode::Passive { backlog: 1 },
                local: if number.is_empty() { Address::NONE } else { Address::from(number) },
                ..Open::default()
            };
            cx.down(NETWORK, Request::Open(Box::new(open)));
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a PAD has no users");
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if from == TERMINAL {
            self.on_terminal(indication, cx);
        } else {
            self.on_network(indication, cx);
        }
        self.pump(cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        match token.kind {
            timer::IDLE => self.forward(cx),
            // What was typed last is still to leave, or what the host said is still to be shown: with a closed window
            // it cannot but be silent.
            timer::LINGER
                if !self.outgoing.is_empty()
                    || self.config.drains && (!self.incoming.is_empty() || self.printer.len() > 0) =>
            {
                self.start_linger(cx);
            }
            timer::LINGER => {
                self.clear(diagnostic::NONE, cx);
                self.signal("CLR CONF");
            }
            timer::CLOSE if self.closes => {
                if self.call.is_some() {
                    self.clear(diagnostic::NONE, cx);
                    self.signal("CLR CONF");
                }
                self.leaves = true;
            }
            _ => {}
        }
        self.pump(cx);
    }
}
