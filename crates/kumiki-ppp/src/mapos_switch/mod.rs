//! A MAPOS frame switch: forwards frames between its lines, assigns addresses to nodes, finds the other switches.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2171 and RFC 2175 (frames), RFC 2173 section 4 (the switch's side of NSP), RFC 2174 (SSP) |
//! | Above | nothing |
//! | Below | one line for each port; each frames, as the one below [`crate::sdh`] does |
//! | Left out | pruning of groups (RFC 2174 section 2: every node gets every multicast), remote error indications (REI) as a sign that a peer does not hear us, a network layer of the control processor |
//!
//! The control processor is in here: frames to 01 are for it, NSP and SSP, and it forwards nothing of them. Frames to
//! its address in other lines' view, switch number and port 0, reach it and are dropped, since it has nothing to say to
//! nodes elsewhere.
//!
//! Ports are numbered 3, 5, 7 and so on in the order of the layers below, unless [`Config::ports`] says otherwise. A
//! switch is presumed behind each until a node asks for its address there; from then on no SSP is spoken there until
//! the node has been silent for 90 s or the signal is lost.
//!
//! # Unicast
//!
//! The route whose switch number has most bits says by which port; our own number means one of our own ports. There is
//! no hop count in a frame, so one that would leave by the port that it came from is dropped: a loop of two switches,
//! while routes change, is none then.
//!
//! # The spanning tree
//!
//! Groups and broadcasts go along one tree, to the port towards the switch of the lowest number (VSS), to the ports
//! from which its route comes back poisoned, and to nodes; and they are taken from these only. A port of the first two
//! kinds is used when the neighbour has confirmed it for `FORWARD_DELAY`.
//!
//! # Where RFC 2174 leaves a choice or contradicts itself
//!
//! - Of the two implementations of section 5.4's note 1 this is the second: one tree, that of the present VSS. Another
//!   VSS makes it invalid.
//! - The ports of nodes stay in an invalid tree (section 4.9 has all of it invalid): among them nothing can loop, and
//!   they would be out of reach until their next request.
//! - Section 5.4 clears the bit of the port that an ordinary update came by, in cases (a) and (c) even where it is the
//!   upstream port, whose every update would so end the tree. Section 4.7, of which this is the detail, speaks of
//!   downstream ports; so the upstream port keeps its bit. For the same reason `PORT_EXPIRATION`, which only poisoned
//!   routes prolong, is not for the upstream port: its route's `EXPIRATION` is.
//! - Case (a), a longer way by the same next hop, lists no triggered update, section 3.4.3 wants one. It is sent.
//! - Section 5.5 counts timers in units of `FULL_UPDATE`, so that they end up to one unit early. Here they end when
//!   their time is over. `FORWARD_DELAY` is looked at when a confirmation arrives, as there; but it is time that is
//!   counted and not confirmations, of which triggered updates bring more.
//! - Nothing bounds how often triggered updates follow each other. Here the first is sent at once and the next
//!   [`Timers::triggered`] later at the earliest.
//! - A route poisoned towards its next hop must not have 32 as its metric; see [`kumiki_wire::ppp::mapos::ssp`].
//!
//! # Bounds
//!
//! [`Config::routes`] routes at most; others are counted. Each frame that comes is answered by at most one frame of NSP
//! or one table, tables at most once in [`Timers::triggered`] for each port, and whatever comes, triggered updates
//! leave no more often than that.

use std::collections::BTreeMap;

use kumiki_graph::{
    Above, Below, Context, Duration, Indication, Instant, Protocol, Report, Request, Service, Shape, TimerSlot, Token,
    UnitIndication,
};
use kumiki_octets::Message;
use kumiki_settings::{BuildError, HasSettings, Key, Reader, Settings};
use kumiki_wire::ppp::mapos::ssp::{self, Metric};
use kumiki_wire::ppp::mapos::{Address, LEN, Subnet, Width, nsp, protocol};

use crate::sdh::frame;

mod forward;
mod port;
mod routing;
mod table;
#[cfg(test)]
mod tests;
mod update;

use port::Port;
use table::{Destination, Route, Table};

/// The times of NSP and SSP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Timers {
    /// From one update of the whole table to the next (FULL_UPDATE_TIME).
    #[setting(positive)]
    pub full_update: Duration,
    /// How long a route is believed without an update (EXPIRATION_TIMER).
    #[setting(positive)]
    pub expiration: Duration,
    /// How long a route that has ended is advertised as unreachable (GC_TIMER).
    #[setting(positive)]
    pub gc: Duration,
    /// How long a port must have been confirmed before broadcasts go through it (FORWARD_DELAY_TIMER).
    pub forward_delay: Duration,
    /// How long a switch downstream is believed without a confirmation (PORT_EXPIRATION_TIMER).
    #[setting(positive)]
    pub port_expiration: Duration,
    /// How long a node is believed to be there without a request (RFC 2173 section 4.1).
    #[setting(positive)]
    pub node: Duration,
    /// The least time between two triggered updates, and between two answers to one neighbour.
    ///
    /// Assumed: 100 ms.
    pub triggered: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        let three = Duration::from_secs(30);
        Self {
            full_update: Duration::from_secs(10),
            expiration: three,
            gc: three,
            forward_delay: three,
            port_expiration: three,
            node: Duration::from_secs(90),
            triggered: Duration::from_millis(100),
        }
    }
}

/// What can be set.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// How wide addresses are, and how many of their bits are the switch number.
    #[setting(with = subnet)]
    pub subnet: Subnet,
    /// Our switch number, another one than that of any other switch.
    #[setting(0..=4095, name = "number")]
    pub switch: u16,
    /// The numbers of ports, by the names of their lines; others are numbered in order.
    #[setting(skip)]
    pub ports: BTreeMap<String, u16>,
    /// What a route costs more for having come by one of our lines.
    #[setting(1..=15)]
    pub cost: u8,
    /// The times.
    #[setting(table)]
    pub timers: Timers,
    /// Routes that are kept, our own among them.
    #[setting(1..=65535)]
    pub routes: usize,
    /// How long after the start the switch says that nothing can be reached by it, and is silent from then on.
    #[setting(unset = "never")]
    pub shutdown: Option<Duration>,
}

impl Config {
    /// A switch of this number.
    #[must_use]
    pub fn new(subnet: Subnet, switch: u16) -> Self {
        Self { subnet, switch, ports: BTreeMap::new(), cost: 1, timers: Timers::default(), routes: 256, shutdown: None }
    }
}

impl Config {
    /// What settings say, on lines `below` of these names.
    ///
    /// # Errors
    /// [`BuildError`] names the setting that is wrong, and what would be right.
    pub fn of_settings(reader: &Reader<'_>, below: &[&str]) -> Result<Self, BuildError> {
        const PORTS: Key =
            Key::new("ports", "The number of a port, by the name of its line; others are numbered 3, 5, 7 in order.");
        let mut config = Self::new(Subnet::undivided(Width::Eight), 0);
        config.read(reader)?;
        let port = |name: &str, number: &str| {
            let number = u16::from_str_radix(number.strip_prefix("0x")?, 16).ok()?;
            below.contains(&name).then(|| (name.to_owned(), number))
        };
        let mut ports = Vec::new();
        reader.pairs(&PORTS, "<below>", "an odd number such as \"0x09\" for a layer below", port, &mut ports)?;
        config.ports = ports.into_iter().collect();
        Ok(config)
    }
}

fn subnet(subnet: &mut Subnet, reader: &Reader<'_>) -> Result<(), BuildError> {
    const VERSION: &str = "Which MAPOS: addresses of 8 bits (RFC 2171) or of 16 (RFC 2175).";
    const BITS: &str =
        "How many bits of an address are the switch number, the same in all switches; 5 at most, of MAPOS 16 12.";
    let (mut width, mut switch_bits) = (subnet.width(), subnet.switch_bits());
    reader.word(&Key::new("version", VERSION), &crate::mapos::WIDTHS, &mut width)?;
    reader.number(&Key::new("switch_bits", BITS), 0..=12, &mut switch_bits)?;
    let wrong = || reader.wrong("switch_bits", &switch_bits, "0 to 5 in version \"mapos\"");
    *subnet = Subnet::new(width, switch_bits).ok_or_else(wrong)?;
    Ok(())
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A number that no address can have.
    #[error("the switch has the number {number}, expected one of {bits} bits, as addresses have them")]
    Switch {
        /// The number.
        number: u16,
        /// The bits that there are.
        bits: u8,
    },
    /// Something that is 0, or a cost that no route survives.
    #[error("the switch has {0}, expected {1}")]
    Range(&'static str, &'static str),
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames for one station that were sent on.
    pub forwarded: u64,
    /// Frames for several nodes that were sent on, to whomever there was.
    pub spread: u64,
    /// How often, for each port once.
    pub copies: u64,
    /// Frames dropped: header cut short, wrong control field or address, information too long.
    pub malformed: u64,
    /// Frames dropped: nobody knows the switch, or the port is not there or down.
    pub no_route: u64,
    /// Frames dropped: they would have gone back by the port that they came from.
    pub turned_back: u64,
    /// Frames for several nodes dropped: from a port that the tree does not use.
    pub off_tree: u64,
    /// Frames dropped: for the control processor, and not of its protocols.
    pub for_control: u64,
    /// Addresses assigned, again and again to the same node.
    pub assigned: u64,
    /// Packets of NSP dropped: malformed, or no requests.
    pub nsp_ignored: u64,
    /// Nodes that have gone silent.
    pub nodes_lost: u64,
    /// Responses of SSP received.
    pub ssp_received: u64,
    /// Packets of SSP dropped: malformed, of another version, or requests for something else than the table.
    pub ssp_malformed: u64,
    /// Packets of SSP dropped: from a node, from a switch that does not hear us, or requests too often.
    pub ssp_refused: u64,
    /// Entries of SSP ignored: illegal values, or poisoned without reason.
    pub entries_ignored: u64,
    /// Routes that there was no room for.
    pub table_full: u64,
    /// Entries by which another switch claims our number.
    pub conflicts: u64,
    /// Full updates.
    pub updates: u64,
    /// Triggered updates.
    pub triggered: u64,
}

/// The switch.
#[derive(Debug)]
pub struct MaposSwitch {
    config: Config,
    own: Destination,
    ports: Vec<Port>,
    table: Table,
    /// The root of the tree.
    vss: Destination,
    next_update: Instant,
    /// From when on changes are told at once.
    next_trigger: Instant,
    shutdown: Option<Instant>,
    is_shut_down: bool,
    timer: TimerSlot,
    counters: Counters,
}

impl MaposSwitch {
    /// A switch as `config` says.
    ///
    /// # Errors
    /// [`ConfigError`] names what cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        if config.subnet.address(config.switch, 1).is_none() {
            return Err(ConfigError::Switch { number: config.switch, bits: config.subnet.switch_bits() });
        }
        if !(1..=15).contains(&config.cost) {
            return Err(ConfigError::Range("another cost", "1 to 15"));
        }
        let Timers { full_update, expiration, gc, forward_delay: _, port_expiration, node, triggered: _ } =
            config.timers;
        let times = [full_update, expiration, gc, port_expiration, node];
        if times.iter().any(|time| time.is_zero()) {
            return Err(ConfigError::Range("a time of 0", "more"));
        }
        if config.routes == 0 {
            return Err(ConfigError::Range("no room for its own route", "some"));
        }
        let own = Destination::new(config.subnet, config.switch);
        let mut table = Table::default();
        let route = Route { next_hop: None, metric: Metric::LOCAL, deadline: None, changed: true };
        table.set(own, route);
        Ok(Self {
            config,
            own,
            ports: Vec::new(),
            table,
            vss: own,
            next_update: Instant::ZERO,
            next_trigger: Instant::ZERO,
            shutdown: None,
            is_shut_down: false,
            timer: TimerSlot::default(),
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The routes, our own among them, in the order of switch numbers, and the number of the port that each leads by.
    pub fn routes(&self) -> impl Iterator<Item = (ssp::Route, Option<u16>)> {
        self.table.iter().map(|(to, route)| {
            let port = route.next_hop.and_then(|port| self.ports.get(port));
            let route = ssp::Route { subnet: to.subnet, switch: to.switch, metric: route.metric };
            (route, port.map(|port| port.number))
        })
    }

    /// The number of the switch at the root of the tree.
    #[must_use]
    pub const fn vss(&self) -> u16 {
        self.vss.switch
    }

    /// The numbers of the ports that frames for several nodes go through.
    pub fn spreads_to(&self) -> impl Iterator<Item = u16> {
        let ports = self.ports.iter().filter(|port| port.forwards());
        ports.map(|port| port.number)
    }

    fn receive(&mut self, from: usize, mut data: Message, cx: &mut Context<'_>) {
        let width = self.config.subnet.width();
        let header = match frame::read(width, &mut data) {
            Ok(header) => header,
            Err(wrong) => {
                self.counters.malformed += 1;
                cx.drop(wrong.words());
                return;
            }
        };
        let to = header.destination;
        if to == Address::local_control(width) {
            // The header was read, so it is there.
            let _ = data.pop_header(LEN);
            match header.protocol {
                protocol::NSP => self.hear_nsp(from, &mut data, cx),
                protocol::SSP => self.hear_ssp(from, &mut data, cx),
                _ => {
                    self.counters.for_control += 1;
                    cx.drop("for the control processor");
                }
            }
        } else if to.is_group() {
            self.spread(from, &data, cx);
        } else {
            self.forward(from, to, data, cx);
        }
    }

    fn hear_nsp(&mut self, from: usize, data: &mut Message, cx: &mut Context<'_>) {
        let request = nsp::Header::parse(data.front_at_least(nsp::LEN));
        let request = request.ok().map(|(header, _)| header.command);
        if request != Some(nsp::Command::Request) {
            self.counters.nsp_ignored += 1;
            cx.drop("no request of NSP");
            return;
        }
        let now = cx.now();
        let until = now + self.config.timers.node;
        let Some(port) = self.ports.get_mut(from) else {
            return;
        };
        let new = port.node.replace(until).is_none();
        let number = port.number;
        if new {
            // No switch is here, whatever was believed.
            self.lose_port(from, now);
        }
        self.counters.assigned += 1;
        let address = self.config.subnet.address(self.config.switch, number);
        let local = Address::local_control(self.config.subnet.width());
        let (to, answer) = match address {
            Some(address) => (address, nsp::Header::assignment(address)),
            None => (local, nsp::Header::REJECT),
        };
        Self::transmit(from, frame::nsp(to, answer), cx);
    }

    fn report(&mut self, from: usize, report: &Report, cx: &mut Context<'_>) {
        let Some(port) = self.ports.get_mut(from) else {
            return;
        };
        let changed = port.line.hear(report);
        let asks = port.leads_to_switch();
        if asks && (changed == Some(true) || matches!(report, Report::Up)) {
            self.ask(from, cx);
        } else if changed == Some(false) {
            if port.node.take().is_some() {
                self.counters.nodes_lost += 1;
            }
            self.lose_port(from, cx.now());
        }
    }

    /// After each input: what has changed is told, and the timer set.
    fn conclude(&mut self, cx: &mut Context<'_>) {
        self.trigger(cx);
        let triggered = self.table.any_changed().then_some(self.next_trigger);
        let next = [triggered, self.next_aged(), self.shutdown];
        let next = next.into_iter().flatten().chain([self.next_update]).min();
        if let Some(next) = next {
            cx.set_timer(&mut self.timer, Token::default(), next);
        }
    }

    /// The number of the port on the line `name`.
    fn number(&self, name: &str) -> Result<u16, String> {
        let taken = |number: u16| self.ports.iter().any(|port| port.number == number);
        let fits = |number: u16| {
            let address = self.config.subnet.address(self.config.switch, number);
            address.is_some() && number >= 3
        };
        if let Some(&number) = self.config.ports.get(name) {
            if !fits(number) || taken(number) {
                let kind = if fits(number) { "is taken" } else { "cannot be" };
                return Err(format!("its port number {number:#04x} {kind}"));
            }
            return Ok(number);
        }
        let most = match self.config.subnet.width() {
            Width::Eight => 0x7f,
            Width::Sixteen => 0x7eff,
        };
        let free = |number: &u16| {
            let set = self.config.ports.values().any(|set| set == number);
            fits(*number) && !taken(*number) && !set
        };
        (3..=most).step_by(2).find(free).ok_or_else(|| {
            let bits = self.config.subnet.switch_bits();
            format!("addresses with {bits} bits of switch number have no number for another port")
        })
    }
}

impl Protocol for MaposSwitch {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, u16::MAX),
            keys: vec![kumiki_graph::Key::Only],
        }
    }

    fn attach(&mut self, _: Below, name: &str) -> Result<(), String> {
        let number = self.number(name)?;
        self.ports.push(Port::new(number));
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        self.shutdown = self.config.shutdown.map(|after| now + after);
        self.next_update = now + self.config.timers.full_update;
        for port in 0..self.ports.len() {
            self.ask(port, cx);
        }
        self.conclude(cx);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("a switch has no users");
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        if self.is_shut_down {
            cx.drop("the switch is out of service");
            return;
        }
        let from = usize::from(from.0);
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(from, unit.data, cx),
            Some(UnitIndication::Report(report)) => self.report(from, &report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
        self.conclude(cx);
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        let now = cx.now();
        if self.shutdown.is_some_and(|at| at <= now) {
            self.is_shut_down = true;
            self.say_goodbye(cx);
            cx.clear_timer(&mut self.timer);
            return;
        }
        self.age(now);
        if self.next_update <= now {
            self.update(cx);
        }
        self.conclude(cx);
    }
}
