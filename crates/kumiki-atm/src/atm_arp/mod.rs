//! Classical IP's address resolution over permanent virtual circuits.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2225 sections 8.2, 8.5 and 8.7 (replaces RFC 1577), RFC 1293 as it is quoted there |
//! | Above | users by EtherType: IP, whose interface is configured with [`kumiki_inet::ip::Neighbours::Below`], XTP; they share what is known |
//! | Below | LLC/SNAP, under the EtherTypes of the users and that of ARP |
//! | Left out | switched circuits and with them the ATMARP server, registration and NAKs; broadcast (RFC 2225 section 9 has no mapping for it) |
//!
//! # Why it stands between IP and LLC/SNAP
//!
//! IP hands down a datagram and the next hop, and need not know that there are circuits; this layer puts the circuit in
//! the next hop's place. What it learns stays here, so nothing has to be told to IP, and IP over another medium stands
//! on another resolver in the same place. On the way up it has nothing to do.
//!
//! # What it does
//!
//! On start it asks on every circuit who is there (`InATMARP_Request`), and again every [`Config::retry`] until
//! somebody says so. An entry is good for [`Config::timeout`]; from four fifths of that time on it is asked for again,
//! so that a circuit in order never stops. What is for a next hop that nobody has claimed waits, at most
//! [`Config::queue`] datagrams in all, and is forgotten after [`Config::max_wait`].
//!
//! Requests are answered once for each address of ours, and teach us the asker's address. `ATMARP_Request` is answered
//! too (section 8.5: clients must, for robustness).

use core::net::Ipv4Addr;
use std::collections::VecDeque;

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Instant, Key, Protocol, Report, Request, Shape, TimerSlot, Token, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_octets::Message;
use kumiki_wire::atm::atm_arp::{Address as AtmAddress, Header, MAX_LEN};
use kumiki_wire::inet::arp::Operation;

use kumiki_inet::resolution::{self, below, transmit, user};

mod config;
#[cfg(test)]
mod tests;

use config::check;
pub use config::{Config, ConfigError};

/// More addresses than these one circuit cannot have: a peer may make them up.
const MOST_ENTRIES: usize = 1024;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Requests sent.
    pub requests_sent: u64,
    /// Replies sent.
    pub replies_sent: u64,
    /// Requests received.
    pub requests_received: u64,
    /// Replies received.
    pub replies_received: u64,
    /// Packets dropped: malformed, or of an operation that is not for us.
    pub ignored: u64,
    /// Datagrams that had to wait.
    pub queued: u64,
    /// Datagrams dropped because they waited too long, or too many did.
    pub unresolved: u64,
}

/// Who is at the other end of a circuit.
#[derive(Clone, Copy, Debug)]
struct Entry {
    address: Ipv4Addr,
    vc: Address,
    /// When it is no longer good; `None` for what was configured.
    until: Option<Instant>,
}

/// A permanent circuit, and when its peer is next asked.
#[derive(Clone, Copy, Debug)]
struct Circuit {
    vc: Address,
    ask: Instant,
}

#[derive(Debug)]
struct QueuedUnit {
    next_hop: Ipv4Addr,
    since: Instant,
    user: Above,
    unit: Box<Unit>,
}

/// The protocol.
#[derive(Debug)]
pub struct AtmArp {
    config: Config,
    entries: Vec<Entry>,
    circuits: Vec<Circuit>,
    waiting: VecDeque<QueuedUnit>,
    timer: TimerSlot,
    counters: Counters,
}

impl AtmArp {
    /// Address resolution as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        check(&config)?;
        let entry = |&(address, vc)| Entry { address, vc, until: None };
        let circuit = |&vc| Circuit { vc, ask: Instant::ZERO };
        Ok(Self {
            entries: config.known.iter().map(entry).collect(),
            circuits: config.circuits.iter().map(circuit).collect(),
            waiting: VecDeque::new(),
            timer: TimerSlot::default(),
            counters: Counters::default(),
            config,
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The circuit to `next_hop`, where it is known at `now`.
    #[must_use]
    pub fn circuit(&self, next_hop: Ipv4Addr, now: Instant) -> Option<Address> {
        let good = |entry: &&Entry| entry.address == next_hop && entry.until.is_none_or(|until| now < until);
        self.entries.iter().find(good).map(|entry| entry.vc)
    }

    fn send(&mut self, user: Above, unit: Box<Unit>, cx: &mut Context<'_>) {
        let Some(next_hop) = unit.destination.get::<Ipv4Addr>() else {
            cx.drop("next hop is not an IPv4 address");
            return;
        };
        if let Some(vc) = self.circuit(next_hop, cx.now()) {
            transmit(user, vc, unit, cx);
            return;
        }
        if unit.options.group {
            cx.drop("ATM has no broadcast");
            return;
        }
        if self.waiting.len() >= self.config.queue && self.waiting.pop_front().is_some() {
            self.unresolved(cx);
        }
        if self.config.queue == 0 {
            self.unresolved(cx);
            return;
        }
        self.counters.queued += 1;
        self.waiting.push_back(QueuedUnit { next_hop, since: cx.now(), user, unit });
    }

    fn unresolved(&mut self, cx: &mut Context<'_>) {
        self.counters.unresolved += 1;
        cx.drop("no address for the next hop");
    }

    /// `address` is at the other end of `vc`.
    fn learn(&mut self, address: Ipv4Addr, vc: Address, cx: &mut Context<'_>) {
        let now = cx.now();
        let until = Some(now + self.config.timeout);
        let found = self.entries.iter().position(|it| it.address == address);
        match found.and_then(|at| self.entries.get_mut(at)) {
            // What was configured stays.
            Some(Entry { until: None, .. }) => {}
            Some(entry) => (entry.vc, entry.until) = (vc, until),
            None => {
                self.entries.retain(|it| it.until.is_none_or(|until| now < until));
                if self.entries.len() >= MOST_ENTRIES {
                    cx.drop("too many addresses");
                    return;
                }
                self.entries.push(Entry { address, vc, until });
            }
        }
        let again = now + self.config.timeout * 4 / 5;
        for circuit in self.circuits.iter_mut().filter(|it| it.vc == vc) {
            circuit.ask = again;
        }
        self.set_timer(cx);
        self.release(now, cx);
    }

    /// Sends what has waited for a next hop that is known by now.
    fn release(&mut self, now: Instant, cx: &mut Context<'_>) {
        for waiting in core::mem::take(&mut self.waiting) {
            if now.saturating_since(waiting.since) > self.config.max_wait {
                self.unresolved(cx);
            } else if let Some(vc) = self.circuit(waiting.next_hop, now) {
                transmit(waiting.user, vc, waiting.unit, cx);
            } else {
                self.waiting.push_back(waiting);
            }
        }
    }

    fn header(&self, op: Operation, spa: Option<Ipv4Addr>) -> Header {
        Header {
            op,
            sha: self.config.atm_address,
            ssa: AtmAddress::NULL,
            spa,
            tha: AtmAddress::NULL,
            tsa: AtmAddress::NULL,
            tpa: None,
        }
    }

    /// Asks who is there on every circuit whose time has come, and lets go of what has waited too long.
    fn ask(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        let own = self.config.addresses.first().copied();
        let header = self.header(Operation::InverseRequest, own);
        let mut due = Vec::new();
        for circuit in self.circuits.iter_mut().filter(|it| it.ask <= now) {
            circuit.ask = now + self.config.retry;
            due.push(circuit.vc);
        }
        for vc in due {
            self.counters.requests_sent += 1;
            packet(vc, &header, cx);
        }
        self.release(now, cx);
        self.set_timer(cx);
    }

    fn set_timer(&mut self, cx: &mut Context<'_>) {
        if let Some(next) = self.circuits.iter().map(|it| it.ask).min()
            && self.timer.deadline() != Some(next)
        {
            cx.set_timer(&mut self.timer, Token::default(), next);
        }
    }

    fn reply(&mut self, op: Operation, own: Ipv4Addr, vc: Address, to: &Header, cx: &mut Context<'_>) {
        let reply = Header { tha: to.sha, tsa: to.ssa, tpa: to.spa, ..self.header(op, Some(own)) };
        self.counters.replies_sent += 1;
        packet(vc, &reply, cx);
    }

    /// A packet of our own protocol.
    fn receive(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let vc = unit.source;
        let Ok((header, _)) = Header::parse(unit.data.front_at_least(MAX_LEN)) else {
            self.counters.ignored += 1;
            cx.drop("ATMARP packet malformed");
            return;
        };
        // Null, or said to be what only we are: nothing to learn.
        let sender = header.spa.filter(|spa| !self.config.addresses.contains(spa));
        match header.op {
            Operation::InverseRequest => {
                self.counters.requests_received += 1;
                for own in self.config.addresses.clone() {
                    self.reply(Operation::InverseReply, own, vc, &header, cx);
                }
                if let Some(sender) = sender {
                    self.learn(sender, vc, cx);
                }
            }
            Operation::InverseReply => {
                self.counters.replies_received += 1;
                if let Some(sender) = sender {
                    self.learn(sender, vc, cx);
                }
            }
            Operation::Request => {
                self.counters.requests_received += 1;
                let asked = header.tpa;
                let own = self.config.addresses.iter().copied();
                if let Some(own) = own.into_iter().find(|&own| asked == Some(own)) {
                    self.reply(Operation::Reply, own, vc, &header, cx);
                }
            }
            Operation::Reply | Operation::Nak | Operation::Other(_) => {
                self.counters.ignored += 1;
                cx.drop("ATMARP operation that is not for us");
            }
        }
    }

    /// The circuits are gone, and what was known with them (RFC 2225 section 8.5.2).
    fn forget(&mut self) {
        self.entries.retain(|entry| entry.until.is_none());
    }

    /// What the link says to us and not to a user.
    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match report {
            Report::Down => self.forget(),
            Report::Up => {
                let now = cx.now();
                for circuit in &mut self.circuits {
                    circuit.ask = now;
                }
                self.ask(cx);
            }
            Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } | Report::Special(_) => {}
        }
    }
}

fn packet(vc: Address, header: &Header, cx: &mut Context<'_>) {
    let mut data = Message::new();
    header.emit(data.push(header.len()));
    resolution::packet(vc, data, cx);
}

impl Protocol for AtmArp {
    fn shape(&self) -> Shape {
        resolution::shape()
    }

    fn passes_users_through(&self) -> bool {
        true
    }

    fn bind(&mut self, _: Above, keys: &[Key]) -> Result<(), String> {
        resolution::bind("ATMARP", keys)
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.ask(cx);
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
            Some(UnitRequest::Manage(manage)) => cx.down(below(from), Request::Manage(manage)),
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        match (user(from), indication.of_unit_data()) {
            (None, Some(UnitIndication::Unit(unit))) => self.receive(unit, cx),
            (None, Some(UnitIndication::Report(report))) => self.report(&report, cx),
            (Some(user), Some(UnitIndication::Unit(unit))) => cx.up(user, Indication::Unit(unit)),
            (Some(user), Some(UnitIndication::Report(report))) => {
                cx.up(user, Indication::Report(report));
            }
            (_, Some(UnitIndication::Credit(_))) => {}
            (_, None) => cx.drop("not a unit"),
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        cx.clear_timer(&mut self.timer);
        self.ask(cx);
    }
}
