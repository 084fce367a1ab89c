//! A network that switches circuits: subscribers with numbers, who call each other and then have a line between them.
//!
//! | | |
//! |---|---|
//! | Model | a call takes its set-up time, rings at the subscriber called, and becomes a [`Serial`] line of its own when that answers; either end or the network clears it |
//! | Left out | signalling (X.21, Q.931, tones) and modems, whose times are in the set-up; circuits between exchanges, which always suffice; several circuits of one subscriber; charges, but for how long circuits stood |
//!
//! What hosts say and hear is call control in types of its own: [`Unit::Circuit`] from them, [`CircuitReport`] to them.
//! Frames that come when no circuit stands are lost, and so are those that are in flight when one is cleared.

use core::fmt;

use crate::CircuitManage;
use crate::CircuitReport;
use crate::Cleared;
use std::collections::BTreeMap;

use kumiki_graph::{Address, Duration, Instant, Report};
use kumiki_octets::Message;
use kumiki_octets::Number;

use crate::{DropTail, Element, Outlet, Serial, SerialConfig, Unit};

/// What an [`Exchange`] is like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExchangeConfig {
    /// The line that two subscribers have while their circuit stands.
    pub line: SerialConfig,
    /// The queue at each end of it.
    pub queue: DropTail,
    /// From dialling to the moment at which the subscriber called is rung, or found busy: signalling, and the training
    /// of modems.
    pub setup: Duration,
    /// How long a subscriber is rung before that counts as no answer.
    pub ring: Duration,
    /// From clearing to the moment at which both ends are told, and can call again.
    pub release: Duration,
    /// Whether the subscriber called is told who calls.
    pub tells_caller: bool,
    /// When the network clears all circuits that stand.
    pub clears: Vec<Instant>,
}

impl ExchangeConfig {
    /// Circuits of `line`, two seconds until the other end is rung, half a minute of ringing, and no faults.
    #[must_use]
    pub const fn new(line: SerialConfig) -> Self {
        Self {
            line,
            queue: DropTail::UNLIMITED,
            setup: Duration::from_secs(2),
            ring: Duration::from_secs(30),
            release: Duration::from_millis(500),
            tells_caller: true,
            clears: Vec::new(),
        }
    }
}

/// Why there can be no such exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExchangeError {
    /// Somebody has nobody to call.
    Few(usize),
    /// A number is none.
    NoNumber(usize),
    /// Two have one number.
    Twice(usize, usize),
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Few(count) => write!(f, "an exchange with {count} subscribers; expected two at least"),
            Self::NoNumber(one) => write!(f, "the subscriber at port {one} has no number; expected digits"),
            Self::Twice(one, other) => {
                write!(f, "the subscribers at ports {one} and {other} have the same number; expected one for each")
            }
        }
    }
}

impl core::error::Error for ExchangeError {}

/// Where a subscriber's call stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    /// It has called `number`, which is found at that time.
    Dialling {
        number: Number,
        until: Instant,
    },
    /// The subscriber at port `called` is rung for it.
    Calling {
        called: usize,
    },
    /// It is rung, for the subscriber at port `caller`, until that time.
    Rung {
        caller: usize,
        until: Instant,
    },
    /// It has the circuit that the subscriber at port `caller` has called for.
    Talking {
        caller: usize,
    },
    /// Its circuit is cleared, which it is told at that time.
    Clearing {
        until: Instant,
        cause: Cleared,
    },
}

/// A circuit that stands. The caller has port 0 of its line, the subscriber called port 1.
struct Circuit {
    line: Serial,
    called: usize,
    since: Instant,
    offered: u64,
    delivered: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    calls: u64,
    connected: u64,
    busy: u64,
    no_answer: u64,
    refused: u64,
    unobtainable: u64,
    abandoned: u64,
    cleared: u64,
    frames: u64,
    octets: u64,
    lost: u64,
    /// Of circuits that are cleared.
    stood: Duration,
}

/// A network that switches circuits between the subscribers at its ports.
///
/// Of what happens at one instant, first comes what circuits carry, then the network's clearing, then calls in the
/// order of ports.
///
/// Counters: `calls`; what became of them: `connected`, `busy`, `no_answer`, `refused`, `unobtainable`, `abandoned` by
/// the caller; `cleared` by the network; `frames` and `octets` delivered; `lost` frames, for which no circuit stood
/// long enough; `stood_ns`, how long circuits stood; `strangers`, units that are neither frames nor calls, and calls
/// that cannot be where they come.
pub struct Exchange {
    config: ExchangeConfig,
    numbers: Vec<Number>,
    states: Vec<State>,
    /// By the port of the caller.
    circuits: BTreeMap<usize, Circuit>,
    /// How many of the network's clearings are over.
    past: usize,
    now: Instant,
    tally: Tally,
    strangers: u64,
}

impl Exchange {
    /// An exchange whose ports have these numbers.
    ///
    /// # Errors
    /// There are fewer than two subscribers, or one without a number, or two with the same.
    pub fn new(mut config: ExchangeConfig, numbers: Vec<Number>) -> Result<Self, ExchangeError> {
        if numbers.len() < 2 {
            return Err(ExchangeError::Few(numbers.len()));
        }
        for (port, number) in numbers.iter().enumerate() {
            if number.is_empty() {
                return Err(ExchangeError::NoNumber(port));
            }
            if let Some(first) = numbers.iter().take(port).position(|it| it == number) {
                return Err(ExchangeError::Twice(first, port));
            }
        }
        config.clears.sort_unstable();
        Ok(Self {
            states: vec![State::Idle; numbers.len()],
            config,
            numbers,
            circuits: BTreeMap::new(),
            past: 0,
            now: Instant::ZERO,
            tally: Tally::default(),
            strangers: 0,
        })
    }

    fn state(&self, port: usize) -> State {
        self.states.get(port).copied().unwrap_or(State::Idle)
    }

    fn set(&mut self, port: usize, state: State) {
        if let Some(slot) = self.states.get_mut(port) {
            *slot = state;
        }
    }

    /// What a subscriber wants of its calls.
    fn control(&mut self, port: usize, what: CircuitManage, out: &mut Outlet) {
        match (what, self.state(port)) {
            (CircuitManage::Dial { number }, State::Idle) => {
                self.tally.calls += 1;
                let until = self.now + self.config.setup;
                self.set(port, State::Dialling { number, until });
            }
            (CircuitManage::Answer, State::Rung { caller, .. }) => self.connect(caller, port, out),
            (CircuitManage::Clear, State::Dialling { .. }) => {
                self.tally.abandoned += 1;
                self.free(port, Cleared::Own, out);
            }
            (CircuitManage::Clear, State::Calling { called }) => {
                self.tally.abandoned += 1;
                self.free(port, Cleared::Own, out);
                self.free(called, Cleared::Peer, out);
            }
            (CircuitManage::Clear, State::Rung { caller, .. }) => {
                self.tally.refused += 1;
                self.free(port, Cleared::Own, out);
                self.free(caller, Cleared::Refused, out);
            }
            (CircuitManage::Clear, State::Talking { caller }) => {
                self.disconnect(caller, Some(port), out);
            }
            // It has crossed what it was told of the other end's, or is told soon.
            (CircuitManage::Clear, State::Idle) => {
                told(port, CircuitReport::Cleared(Cleared::Own), out);
            }
            (CircuitManage::Clear, State::Clearing { .. }) => {}
            // A call that rings goes before one that has not been made.
            (
                CircuitManage::Dial { .. },
                State::Dialling { .. }
                | State::Calling { .. }
                | State::Rung { .. }
                | State::Talking { .. }
                | State::Clearing { .. },
            )
            | (
                CircuitManage::Answer,
                State::Idle
                | State::Dialling { .. }
                | State::Calling { .. }
                | State::Talking { .. }
                | State::Clearing { .. },
            ) => self.strangers += 1,
        }
    }

    /// A subscriber has no call any more.
    fn free(&mut self, port: usize, cause: Cleared, out: &mut Outlet) {
        self.set(port, State::Idle);
        told(port, CircuitReport::Cleared(cause), out);
    }

    /// The set-up time of a call is over.
    fn switch(&mut self, caller: usize, number: Number, out: &mut Outlet) {
        let Some(called) = self.numbers.iter().position(|it| *it == number) else {
            self.tally.unobtainable += 1;
            return self.free(caller, Cleared::Unobtainable, out);
        };
        if self.state(called) != State::Idle {
            self.tally.busy += 1;
            return self.free(caller, Cleared::Busy, out);
        }
        self.set(caller, State::Calling { called });
        let until = self.now + self.config.ring;
        self.set(called, State::Rung { caller, until });
        let from = self.numbers.get(caller).copied();
        let from = from.filter(|_| self.config.tells_caller);
        told(called, CircuitReport::Ringing { from }, out);
    }

    fn connect(&mut self, caller: usize, called: usize, out: &mut Outlet) {
        self.tally.connected += 1;
        let line = Serial::new(self.config.line, self.config.queue);
        let since = self.now;
        self.circuits.insert(caller, Circuit { line, called, since, offered: 0, delivered: 0 });
        for (port, calling) in [(caller, true), (called, false)] {
            self.set(port, State::Talking { caller });
            told(port, CircuitReport::Connected { calling }, out);
        }
    }

    /// Clears a circuit, for the subscriber at port `by`, or for the network.
    fn disconnect(&mut self, caller: usize, by: Option<usize>, out: &mut Outlet) {
        let Some(circuit) = self.circuits.remove(&caller) else {
            return;
        };
        self.tally.stood += self.now.saturating_since(circuit.since);
        self.tally.lost += circuit.offered.saturating_sub(circuit.delivered);
        let until = self.now + self.config.release;
        for port in [caller, circuit.called] {
            let cause = match by {
                None => Cleared::Network,
                Some(by) if by == port => Cleared::Own,
                Some(_) => Cleared::Peer,
            };
            self.unsent(port, out);
            self.set(port, State::Clearing { until, cause });
        }
        self.settle(out);
    }

    /// What an adapter is still sending does not get through: it may go on.
    fn unsent(&self, port: usize, out: &mut Outlet) {
        if self.config.line.say_sent {
            let (number, address, whole) = (0, Address::NONE, false);
            out.put(port, Unit::Sent { number, address, whole });
        }
    }

    fn frame(&mut self, port: usize, data: Message, address: Address, out: &mut Outlet) {
        let talking = match self.state(port) {
            State::Talking { caller } => self.circuits.get_mut(&caller).map(|it| (caller, it)),
            State::Idle
            | State::Dialling { .. }
            | State::Calling { .. }
            | State::Rung { .. }
            | State::Clearing { .. } => None,
        };
        let Some((caller, circuit)) = talking else {
            self.tally.lost += 1;
            return self.unsent(port, out);
        };
        circuit.offered += 1;
        let mut inner = Outlet::default();
        let side = usize::from(port != caller);
        let unit = Unit::Frame { data, address };
        circuit.line.offer(self.now, side, unit, &mut inner);
        Self::carried(caller, circuit, &mut self.tally, &mut inner, out);
    }

    /// What has left the line of a circuit.
    fn carried(caller: usize, circuit: &mut Circuit, tally: &mut Tally, inner: &mut Outlet, out: &mut Outlet) {
        for (side, unit) in inner.drain() {
            if let Unit::Frame { data, .. } = &unit {
                circuit.delivered += 1;
                tally.frames += 1;
                tally.octets += data.len() as u64;
            }
            let port = if side == 0 { caller } else { circuit.called };
            out.put(port, unit);
        }
    }

    fn next_clear(&self) -> Option<Instant> {
        self.config.clears.get(self.past).copied()
    }

    /// When something happens to a subscriber's call by itself.
    const fn due(state: State) -> Option<Instant> {
        match state {
            State::Dialling { until, .. } | State::Rung { until, .. } | State::Clearing { until, .. } => Some(until),
            State::Idle | State::Calling { .. } | State::Talking { .. } => None,
        }
    }

    /// Calls whose time has come, in the order of ports.
    fn settle(&mut self, out: &mut Outlet) {
        for port in 0..self.states.len() {
            let state = self.state(port);
            if Self::due(state).is_none_or(|at| at > self.now) {
                continue;
            }
            match state {
                State::Dialling { number, .. } => self.switch(port, number, out),
                State::Rung { caller, .. } => {
                    self.tally.no_answer += 1;
                    self.free(caller, Cleared::NoAnswer, out);
                    self.free(port, Cleared::Peer, out);
                }
                State::Clearing { cause, .. } => self.free(port, cause, out),
                State::Idle | State::Calling { .. } | State::Talking { .. } => {}
            }
        }
    }
}

/// Tells the subscriber at `port`.
fn told(port: usize, what: CircuitReport, out: &mut Outlet) {
    let report = Report::special(what);
    out.put(port, Unit::Report(Box::new(report)));
}

impl Element for Exchange {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        self.now = now;
        match unit {
            Unit::Frame { data, address } => self.frame(port, data, address, out),
            Unit::Circuit(what) => self.control(port, what, out),
            Unit::Cells(_) | Unit::Cut { .. } | Unit::Sent { .. } | Unit::Arriving { .. } | Unit::Report(_) => {
                self.strangers += 1;
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let lines = self.circuits.values().filter_map(|it| it.line.next_deadline());
        let calls = self.states.iter().filter_map(|state| Self::due(*state));
        lines.chain(calls).chain(self.next_clear()).min()
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.now = now;
        let mut inner = Outlet::default();
        for (caller, circuit) in &mut self.circuits {
            circuit.line.poll(now, &mut inner);
            Self::carried(*caller, circuit, &mut self.tally, &mut inner, out);
        }
        while self.next_clear().is_some_and(|at| at <= now) {
            self.past += 1;
            let standing: Vec<usize> = self.circuits.keys().copied().collect();
            for caller in standing {
                self.tally.cleared += 1;
                self.disconnect(caller, None, out);
            }
        }
        self.settle(out);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let standing = self.circuits.values().map(|it| self.now.saturating_since(it.since));
        let stood = standing.fold(self.tally.stood, |sum, it| sum + it);
        vec![
            ("calls", self.tally.calls),
            ("connected", self.tally.connected),
            ("busy", self.tally.busy),
            ("no_answer", self.tally.no_answer),
            ("refused", self.tally.refused),
            ("unobtainable", self.tally.unobtainable),
            ("abandoned", self.tally.abandoned),
            ("cleared", self.tally.cleared),
            ("frames", self.tally.frames),
            ("octets", self.tally.octets),
            ("lost", self.tally.lost),
            ("stood_ns", stood.as_nanos()),
            ("strangers", self.strangers),
        ]
    }
}

#[cfg(test)]
mod tests;
