//! The daemon of a PPP link: what the two ends agree on before it carries anything, and whether they still can.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1661 (phases, automaton, LCP), RFC 1662 section 7.1, RFC 1570, PAP (RFC 1334), CHAP with MD5 (RFC 1994), IPCP (RFC 1332, name servers RFC 1877), IPV6CP (RFC 5072), link quality (RFC 1989); RFC 2615 for SONET/SDH |
//! | Above | nobody: owners look at it ([`PppDaemon::take_log`], [`PppDaemon::ended`] and what stands beside them) |
//! | Below | the PPP driver ([`crate::ppp`]) under [`Key::Raw`]: whole frames, without flags and check sequence |
//! | Left out | EAP, MS-CHAP, MD5 over anything but CHAP; compression of headers and data, multilink, bridging, OSI; null FCS; self-describing padding, callback and compound frames, which are rejected |
//!
//! # Parts
//!
//! One machine of RFC 1661's packets with an [`Automaton`](automaton::Automaton) runs LCP, IPCP and IPV6CP alike; what
//! their options mean is said in a file for each. Authentication, reports of quality and echoes are parts of their own.
//! All parts only say what is to be done, in order; this file does it. The phases of RFC 1661 section 3.2 and who gets
//! what comes have files of their own.
//!
//! # From outside the graph
//!
//! An owner calls [`PppDaemon::close`] by [`Graph::protocol_mut`](kumiki_graph::Graph::protocol_mut), then
//! [`Graph::wake`](kumiki_graph::Graph::wake) with [`WAKE`] on the node, so that it is looked at without waiting for
//! the next packet or timer. The link has ended when [`PppDaemon::ended`] says why; a Terminate-Request is given
//! Max-Terminate tries before.
//!
//! # Deviations
//!
//! A peer could keep the automaton asking for ever, by Naks or by Acks, since it counts again with each of them. A
//! negotiation is given up after four times Max-Configure requests; and after Max-Failure Naks heard what the peer
//! still naks is taken as rejected, as RFC 1661 section 4.6 has it for those sent. Once a request is acknowledged,
//! further answers to it are dropped: by the table they begin the negotiation again, and where a line doubles frames no
//! link would come up. A line that comes back to us after LCP has opened ends the link. The link ends where no network
//! protocol is left. Control packets are never compressed, whatever was agreed.

use crate::ppp::Agreement;
use crate::ppp::LinkManage;
use kumiki_link::sonet::DefectReport;
use std::collections::BTreeSet;

use kumiki_graph::{
    Above, Address, Below, Context, Indication, Instant, Key, Manage, Protocol, Report, Request, Service, Shape,
    TimerSlot, Token, Unit, UnitIndication,
};
use kumiki_octets::Message;
use kumiki_wire::ppp::ppp::{Compression, Header, chap, control, lqr, pap, protocol};

mod auth;
pub mod automaton;
mod config;
mod ipcp;
mod ipv6cp;
mod lcp;
mod log;
mod machine;
pub mod misbehave;
mod phases;
mod quality;
mod receive;
#[cfg(test)]
mod tests;

pub use auth::chap_md5;
pub use config::{Config, ConfigError, Ipv4, Ipv6, LEAST_MRU, MAX_NAME, Method, Methods, Quality, Secret};
pub use log::{End, Kind, Line, MAX_LINES, Phase};
pub use quality::Loss;

use auth::{Admit, AuthClient};
use automaton::{Event, State};
use ipcp::Ipcp;
use ipv6cp::Ipv6cp;
use lcp::Lcp;
use log::Log;
use machine::{Actions, Machine, MachineAction, Timer};
use misbehave::{Order, Player};
use quality::Echo;

/// The token by which an owner lets the node look at what it was told from outside.
pub const WAKE: Token = Token { session: kumiki_graph::Handle { index: 0, generation: 0 }, kind: u32::MAX };

const BELOW: Below = Below(0);

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames sent.
    pub sent: u64,
    /// Frames that came.
    pub received: u64,
    /// Frames dropped: they break the rules of their protocol.
    pub malformed: u64,
    /// Packets dropped: answers to nothing, or not for this phase.
    pub unexpected: u64,
    /// Frames of protocols that are not known; Protocol-Reject is sent where LCP is Opened.
    pub unknown_protocol: u64,
    /// How often LCP has reached Opened.
    pub opened: u64,
}

/// The layer.
#[derive(Debug)]
pub struct PppDaemon {
    config: Config,
    lcp: Machine<Lcp>,
    ipcp: Option<Machine<Ipcp>>,
    ipv6cp: Option<Machine<Ipv6cp>>,
    prove: AuthClient,
    admit: Admit,
    quality: quality::Quality,
    echo: Echo,
    phase: Phase,
    line_is_up: bool,
    has_started: bool,
    /// Why the owner has the link closed.
    wanted: Option<End>,
    /// LCP has finished and was not begun again.
    is_over: bool,
    /// The link will be tried again.
    is_retrying: bool,
    /// What LCP will have finished for.
    because: Option<End>,
    ended: Option<End>,
    /// Network protocols that are not tried any more on this link.
    given_up: BTreeSet<u16>,
    /// Control protocols that the peer has finished, or cannot do: it is for the peer to begin again.
    parted: BTreeSet<u16>,
    /// Network protocols that are Opened.
    passing: BTreeSet<u16>,
    /// The next packet of LCP goes out twice, see [`PppDaemon::send`].
    is_parting: bool,
    /// A foreign magic number has been told of.
    has_told_magic: bool,
    timers: [TimerSlot; TIMERS.len()],
    player: Option<Player>,
    log: Log,
    counters: Counters,
}

/// Every timer, at the place that its number says.
const TIMERS: [Timer; 11] = [
    Timer::Lcp,
    Timer::Ipcp,
    Timer::Ipv6cp,
    Timer::Prove,
    Timer::Admit,
    Timer::Echo,
    Timer::Report,
    Timer::Expect,
    Timer::Retry,
    Timer::Session,
    Timer::Script,
];

impl PppDaemon {
    /// A daemon as `config` says; it begins when the graph starts.
    ///
    /// # Errors
    /// What of `config` cannot be.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let max_failure = config.max_failure;
        let (link, network) = (config.of_link(), config.of_network());
        let ipcp = config.ipv4.clone().map(Ipcp::new);
        let ipv6cp = config.ipv6.map(Ipv6cp::new);
        Ok(Self {
            lcp: Machine::new(Lcp::new(&config), link, max_failure, Timer::Lcp),
            ipcp: ipcp.map(|ipcp| Machine::new(ipcp, network, max_failure, Timer::Ipcp)),
            ipv6cp: ipv6cp.map(|ipv6cp| Machine::new(ipv6cp, network, max_failure, Timer::Ipv6cp)),
            prove: AuthClient::new(&config),
            admit: Admit::new(&config),
            quality: quality::Quality::new(&config),
            echo: Echo::new(&config),
            player: config.script.clone().map(Player::new),
            config,
            phase: Phase::Dead,
            line_is_up: true,
            has_started: false,
            wanted: None,
            is_over: false,
            is_retrying: false,
            because: None,
            ended: None,
            given_up: BTreeSet::new(),
            parted: BTreeSet::new(),
            passing: BTreeSet::new(),
            is_parting: false,
            has_told_magic: false,
            timers: [TimerSlot::default(); TIMERS.len()],
            log: Log::default(),
            counters: Counters::default(),
        })
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The lines since this was last asked; at most [`MAX_LINES`] are kept.
    pub fn take_log(&mut self) -> Vec<Line> {
        self.log.take()
    }

    /// Where the link is.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Where LCP's automaton is.
    #[must_use]
    pub const fn lcp_state(&self) -> State {
        self.lcp.state()
    }

    /// Our address and the peer's, where the network `protocol` (0021, 0057) may pass; [`Address::NONE`] for one that
    /// was not agreed on.
    #[must_use]
    pub fn network(&self, protocol: u16) -> Option<(Address, Address)> {
        if !self.passing.contains(&protocol) {
            return None;
        }
        match protocol {
            protocol::IPV4 => self.ipcp.as_ref().map(|ipcp| ipcp.negotiator.addresses()),
            protocol::IPV6 => self.ipv6cp.as_ref().map(|it| it.negotiator.addresses()),
            _ => None,
        }
    }

    /// The name servers that the peer told, first and second.
    #[must_use]
    pub fn name_servers(&self) -> [Option<core::net::Ipv4Addr>; 2] {
        let passes = self.passing.contains(&protocol::IPV4);
        let ipcp = self.ipcp.as_ref().filter(|_| passes);
        ipcp.map_or([None; 2], |ipcp| ipcp.negotiator.servers())
    }

    /// What the ends have agreed on for their frames, while LCP is Opened.
    #[must_use]
    pub fn agreement(&self) -> Option<Agreement> {
        (self.lcp.state() == State::Opened).then(|| self.lcp.negotiator.agreement())
    }

    /// As whom the peer has come in, where it was asked.
    #[must_use]
    pub fn peer_name(&self) -> Option<&[u8]> {
        self.admit.peer()
    }

    /// What was lost between the last two reports of quality: of what we sent, and of what the peer sent.
    #[must_use]
    pub const fn losses(&self) -> Option<(Loss, Loss)> {
        self.quality.losses()
    }

    /// Why the link has ended, where it will not be tried again.
    #[must_use]
    pub fn ended(&self) -> Option<&End> {
        let is_last = |end: &&End| !self.config.persist || **end == End::Asked;
        self.ended.as_ref().filter(is_last)
    }

    /// Why the link has ended last, though it may be tried again.
    #[must_use]
    pub const fn last_end(&self) -> Option<&End> {
        self.ended.as_ref()
    }

    /// Asks for the link to be closed in order. It is done when the node is run next: see the module.
    pub fn close(&mut self) {
        self.wanted = Some(End::Asked);
    }

    /// The line has gone for good, and the link with it, as nobody has asked for. It is done when the node is run next,
    /// too.
    pub fn lose(&mut self) {
        self.wanted.get_or_insert(End::LineDown);
    }

    fn say(&mut self, kind: Kind, text: String, cx: &Context<'_>) {
        self.log.add(cx.now(), kind, text);
    }

    /// Does what a part has said.
    fn run(&mut self, acts: Actions, cx: &mut Context<'_>) {
        for act in acts {
            match act {
                MachineAction::Send { protocol, information } => self.send(protocol, &information, cx),
                MachineAction::Arm(timer, time) => {
                    let deadline = cx.now() + time;
                    self.arm(timer, deadline, cx);
                }
                MachineAction::Disarm(timer) => {
                    if let Some(slot) = self.timers.get_mut(timer as usize) {
                        cx.clear_timer(slot);
                    }
                }
                MachineAction::Up(number) => {
                    if number == protocol::LCP {
                        self.link_up(cx);
                    } else {
                        self.network_up(number, cx);
                    }
                    if let Some(player) = &mut self.player {
                        player.opened(number, cx.now());
                        self.follow_script(cx);
                    }
                }
                MachineAction::Down(protocol::LCP) => self.link_down(cx),
                MachineAction::Down(number) => self.network_down(number, cx),
                MachineAction::Finished(protocol::LCP) => self.finished(cx),
                MachineAction::Finished(number) => self.network_finished(number, cx),
                MachineAction::Because(protocol::LCP, end) => {
                    self.because.get_or_insert(end);
                }
                MachineAction::Because(number, end) => {
                    self.parted.insert(number);
                    let name = protocol::Name(number);
                    self.say(Kind::Note, format!("{name}: {end}"), cx);
                }
                MachineAction::Fail(protocol::LCP, end) => self.fail(end, cx),
                MachineAction::Fail(number, end) => self.withdraw(number, &end, cx),
                MachineAction::Say(kind, text) => self.say(kind, text, cx),
            }
        }
    }

    fn arm(&mut self, timer: Timer, deadline: Instant, cx: &mut Context<'_>) {
        if let Some(slot) = self.timers.get_mut(timer as usize) {
            let token = Token { kind: timer as u32, ..Token::default() };
            cx.set_timer(slot, token, deadline);
        }
    }

    /// Sends a packet in a frame at full length: a peer that has lost what was agreed on understands it too.
    fn send(&mut self, protocol: u16, information: &[u8], cx: &mut Context<'_>) {
        self.send_once(protocol, information, cx);
        // RFC 1570 section 2.1.1: a peer that has forgotten the check sequence that was agreed on hears the second one.
        if protocol == protocol::LCP && core::mem::take(&mut self.is_parting) {
            Self::tell(LinkManage::Agreed(None), cx);
            self.send_once(protocol, information, cx);
        }
    }

    fn send_once(&mut self, protocol: u16, information: &[u8], cx: &mut Context<'_>) {
        let header = Header::new(protocol, Compression::NONE);
        let mut frame = vec![0; header.len()];
        header.emit(&mut frame);
        frame.extend(information);
        let said = described(protocol, information);
        let Some(player) = &mut self.player else {
            self.say(Kind::Sent, format!("sent {said}"), cx);
            self.put(&frame, cx);
            return;
        };
        let orders = player.outgoing(protocol, information, cx.now());
        if orders == [Order::Put(frame.clone())] {
            self.say(Kind::Sent, format!("sent {said}"), cx);
            self.put(&frame, cx);
            return;
        }
        if orders.is_empty() {
            self.say(Kind::Sent, format!("kept back by the script: {said}"), cx);
        }
        self.obey(orders, cx);
    }

    /// Does what the script says.
    fn obey(&mut self, orders: Vec<Order>, cx: &mut Context<'_>) {
        for order in orders {
            match order {
                Order::Put(frame) => {
                    let said = match Header::parse(&frame) {
                        Ok((header, len)) => described(header.protocol, frame.get(len..).unwrap_or_default()),
                        Err(wrong) => format!("malformed frame: {wrong}"),
                    };
                    self.say(Kind::Sent, format!("sent by the script: {said}"), cx);
                    self.put(&frame, cx);
                }
                Order::Terminate => self.fail(End::Asked, cx),
            }
        }
        self.follow_script(cx);
    }

    /// Has the script looked at when it has something to do.
    fn follow_script(&mut self, cx: &mut Context<'_>) {
        if let Some(deadline) = self.player.as_ref().and_then(Player::next_deadline) {
            self.arm(Timer::Script, deadline, cx);
        }
    }

    fn put(&mut self, frame: &[u8], cx: &mut Context<'_>) {
        self.counters.sent += 1;
        let data = Message::from_octets(frame);
        cx.down(BELOW, Request::Unit(Box::new(Unit::of(data))));
    }

    fn tell(link: LinkManage, cx: &mut Context<'_>) {
        cx.down(BELOW, Request::Manage(Box::new(Manage::special(link))));
    }
}

/// A packet in words.
fn described(number: u16, information: &[u8]) -> String {
    let name = protocol::Name(number);
    let said = match number {
        protocol::PAP => pap::Packet::parse(information).map(|(packet, _)| packet.to_string()),
        protocol::CHAP => chap::Packet::parse(information).map(|(packet, _)| packet.to_string()),
        protocol::LQR => lqr::Report::parse(information).map(|(report, _)| report.to_string()),
        _ => control::Packet::parse(information).map(|(packet, _)| packet.of(number).to_string()),
    };
    said.unwrap_or_else(|wrong| format!("{name}, malformed: {wrong}"))
}

impl Protocol for PppDaemon {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::UNIT_DATA], below: (1, 1), keys: vec![Key::Raw] }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.has_started = true;
        if let Some(player) = &mut self.player {
            player.begin(cx.now());
        }
        self.follow_script(cx);
        self.on(Event::Open, cx);
        // A line that is not there has said so, or will.
        if self.line_is_up {
            self.on(Event::Up, cx);
        }
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("the PPP daemon has no user");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(&unit, cx),
            Some(UnitIndication::Report(report)) => match *report {
                Report::Up => self.line(true, cx),
                Report::Down => self.line(false, cx),
                Report::Special(what) => {
                    if let Some(DefectReport { defect, present }) = what.get() {
                        let text = if *present { "there is" } else { "gone is" };
                        self.say(Kind::Note, format!("on the line {text} {defect}"), cx);
                    }
                }
                Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } => {}
            },
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let timer = usize::try_from(token.kind).ok();
        // Any other is a wake-up call: what is to be done is done when the node settles.
        let Some(timer) = timer.and_then(|timer| TIMERS.get(timer)) else {
            return;
        };
        let magic = self.lcp.negotiator.magic();
        let mut acts = Actions::new();
        match timer {
            Timer::Lcp => self.lcp.expire(cx.rng(), &mut acts),
            Timer::Ipcp => {
                if let Some(ipcp) = &mut self.ipcp {
                    ipcp.expire(cx.rng(), &mut acts);
                }
            }
            Timer::Ipv6cp => {
                if let Some(ipv6cp) = &mut self.ipv6cp {
                    ipv6cp.expire(cx.rng(), &mut acts);
                }
            }
            Timer::Prove => self.prove.expire(&mut acts),
            Timer::Admit => self.admit.expire(cx.rng(), &mut acts),
            Timer::Echo => self.echo.expire(magic, &mut acts),
            Timer::Report => self.quality.send(magic, &mut acts),
            Timer::Expect => self.quality.judge(&mut acts),
            Timer::Session => acts.push(MachineAction::Fail(protocol::LCP, End::TimeUp)),
            Timer::Retry => {
                self.is_over = false;
                self.is_retrying = false;
                self.on(Event::Open, cx);
            }
            Timer::Script => {
                let now = cx.now();
                let orders = self.player.as_mut().map(|player| player.expire(magic, now));
                self.obey(orders.unwrap_or_default(), cx);
            }
        }
        self.run(acts, cx);
        self.follow_phase(cx);
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        if self.has_started
            && let Some(end) = self.wanted.take()
        {
            self.fail(end, cx);
        }
    }
}
