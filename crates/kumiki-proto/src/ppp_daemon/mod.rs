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
//! One [`Machine`](machine) with an [`Automaton`](automaton::Automaton) runs LCP, IPCP and IPV6CP alike; what their options mean is
//! said in a file for each. Authentication, reports of quality and echoes are parts of their own. All parts only say what is to be
//! done, in order; this file does it, and keeps the phases of RFC 1661 section 3.2.
//!
//! # From outside the graph
//!
//! An owner calls [`PppDaemon::close`] by [`Graph::protocol_mut`](kumiki_graph::Graph::protocol_mut), then
//! [`Graph::wake`](kumiki_graph::Graph::wake) with [`WAKE`] on the node, so that it is looked at without waiting for the next packet or timer. The
//! link has ended when [`PppDaemon::ended`] says why; a Terminate-Request is given Max-Terminate tries before.
//!
//! # Deviations
//!
//! A negotiation that does not come to an end is given up (see [`machine`]). A line that comes back to us after LCP has opened ends the
//! link. The link ends where no network protocol is left. Control packets are never compressed, whatever was agreed.

use std::collections::BTreeSet;

use kumiki_graph::{
    Above, Address, Agreement, Below, Context, Indication, Instant, Key, LinkManage, LinkReport,
    Manage, Protocol, Report, Request, Service, Shape, TimerSlot, Token, Unit, UnitIndication,
};
use kumiki_octets::Message;
use kumiki_wire::ppp::control::{self, code};
use kumiki_wire::ppp::lcp::Body;
use kumiki_wire::ppp::{Compression, Header, Text, chap, lqr, pap, protocol};

mod auth;
pub mod automaton;
mod config;
mod ipcp;
mod ipv6cp;
mod lcp;
mod log;
pub mod machine;
pub mod misbehave;
mod quality;
#[cfg(test)]
mod tests;

pub use auth::chap_md5;
pub use config::{
    Config, ConfigError, Ipv4, Ipv6, LEAST_MRU, MAX_NAME, Method, Methods, Quality, Secret,
};
pub use log::{End, Kind, Line, MAX_LINES, Phase};
pub use quality::Loss;

use auth::{Admit, Prove};
use automaton::{Event, State};
use ipcp::Ipcp;
use ipv6cp::Ipv6cp;
use lcp::Lcp;
use log::Log;
use machine::{Act, Acts, Dropped, Machine, Timer};
use misbehave::{Order, Player, Seen};
use quality::{Echo, send_body};

/// The token by which an owner lets the node look at what it was told from outside.
pub const WAKE: Token = Token {
    session: kumiki_graph::Handle {
        index: 0,
        generation: 0,
    },
    kind: u32::MAX,
};

const BELOW: Below = Below(0);
/// The least MTU of IPv6 (RFC 5072 section 2).
const IPV6_LEAST: u16 = 1280;

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
    prove: Prove,
    admit: Admit,
    quality: quality::Quality,
    echo: Echo,
    phase: Phase,
    line_is_up: bool,
    has_started: bool,
    /// The owner wants the link closed.
    is_asked: bool,
    /// LCP has finished and was not begun again.
    is_over: bool,
    /// The link will be tried again.
    is_retrying: bool,
    /// What LCP will have finished for.
    because: Option<End>,
    ended: Option<End>,
    /// Network protocols that are not tried any more on this link.
    given_up: BTreeSet<u16>,
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
            prove: Prove::new(&config),
            admit: Admit::new(&config),
            quality: quality::Quality::new(&config),
            echo: Echo::new(&config),
            player: config.script.clone().map(Player::new),
            config,
            phase: Phase::Dead,
            line_is_up: true,
            has_started: false,
            is_asked: false,
            is_over: false,
            is_retrying: false,
            because: None,
            ended: None,
            given_up: BTreeSet::new(),
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

    /// Our address and the peer's, where the network `protocol` (0021, 0057) may pass; [`Address::None`] for one that was not agreed on.
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
        self.ended.as_ref().filter(|_| !self.is_retrying)
    }

    /// Why the link has ended last, though it may be tried again.
    #[must_use]
    pub const fn last_end(&self) -> Option<&End> {
        self.ended.as_ref()
    }

    /// Asks for the link to be closed in order. It is done when the node is run next: see the module.
    pub const fn close(&mut self) {
        self.is_asked = true;
    }

    fn say(&mut self, kind: Kind, text: String, cx: &Context<'_>) {
        self.log.add(cx.now(), kind, text);
    }

    /// Does what a part has said.
    fn run(&mut self, acts: Acts, cx: &mut Context<'_>) {
        for act in acts {
            match act {
                Act::Send {
                    protocol,
                    information,
                } => self.send(protocol, &information, cx),
                Act::Arm(timer, time) => {
                    let deadline = cx.now() + time;
                    self.arm(timer, deadline, cx);
                }
                Act::Disarm(timer) => {
                    if let Some(slot) = self.timers.get_mut(timer as usize) {
                        cx.clear_timer(slot);
                    }
                }
                Act::Up(number) => {
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
                Act::Down(protocol::LCP) => self.link_down(cx),
                Act::Down(number) => self.network_down(number, cx),
                Act::Finished(protocol::LCP) => self.finished(cx),
                Act::Finished(_) => {}
                Act::Because(protocol::LCP, end) => {
                    self.because.get_or_insert(end);
                }
                Act::Because(number, end) => {
                    let name = protocol::Name(number);
                    self.say(Kind::Note, format!("{name}: {end}"), cx);
                }
                Act::Fail(protocol::LCP, end) => self.fail(end, cx),
                Act::Fail(number, end) => self.withdraw(number, &end, cx),
                Act::Say(kind, text) => self.say(kind, text, cx),
            }
        }
    }

    fn arm(&mut self, timer: Timer, deadline: Instant, cx: &mut Context<'_>) {
        if let Some(slot) = self.timers.get_mut(timer as usize) {
            let token = Token {
                kind: timer as u32,
                ..Token::default()
            };
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
                        Ok((header, len)) => {
                            described(header.protocol, frame.get(len..).unwrap_or_default())
                        }
                        Err(wrong) => format!("a frame that is none: {wrong}"),
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
        cx.down(BELOW, Request::Unit(Unit::of(data)));
    }

    fn tell(link: LinkManage, cx: &mut Context<'_>) {
        cx.down(BELOW, Request::Manage(Box::new(Manage::Link(link))));
    }

    /// An event of LCP's automaton, and what follows from it.
    fn on(&mut self, event: Event, cx: &mut Context<'_>) {
        let mut acts = Acts::new();
        self.lcp.on(event, cx.rng(), &mut acts);
        self.run(acts, cx);
        self.follow_phase(cx);
    }

    /// The phase that LCP's state means; in Opened it is what it was made.
    fn follow_phase(&mut self, cx: &mut Context<'_>) {
        let phase = match self.lcp.state() {
            State::Initial | State::Starting | State::Closed => Phase::Dead,
            State::Stopped if self.is_over => Phase::Dead,
            State::Stopped | State::ReqSent | State::AckRcvd | State::AckSent => Phase::Establish,
            State::Closing | State::Stopping => Phase::Terminate,
            State::Opened => self.phase,
        };
        self.enter(phase, cx);
        if self.lcp.state().is_negotiating() && self.is_over {
            // The peer began before we tried again.
            self.is_over = false;
            self.is_retrying = false;
            self.run(vec![Act::Disarm(Timer::Retry)], cx);
        }
    }

    fn enter(&mut self, phase: Phase, cx: &Context<'_>) {
        if core::mem::replace(&mut self.phase, phase) != phase {
            self.say(Kind::State, format!("the link is in phase {phase}"), cx);
        }
    }

    /// LCP is Opened.
    fn link_up(&mut self, cx: &mut Context<'_>) {
        self.because = None;
        self.has_told_magic = false;
        self.counters.opened += 1;
        let agreement = self.lcp.negotiator.agreement();
        self.say(Kind::Note, agreed(&agreement), cx);
        Self::tell(LinkManage::Agreed(Some(agreement)), cx);
        let (ours, theirs) = (self.lcp.negotiator.ours, self.lcp.negotiator.theirs);
        // Where nobody is asked, the phase is over before it is worth a word.
        if ours.auth.is_some() || theirs.auth.is_some() {
            self.enter(Phase::Authenticate, cx);
        } else {
            self.phase = Phase::Authenticate;
        }
        let mut acts = Acts::new();
        if let Some(text) = &self.config.identification {
            let body = Body::Identification {
                magic: self.lcp.negotiator.magic(),
                message: text.as_bytes(),
            };
            let fresh = self.lcp.fresh_id();
            acts.push(send_body(code::IDENTIFICATION, fresh, &body));
        }
        self.quality.begin(theirs.quality, ours.quality, &mut acts);
        self.echo.begin(&mut acts);
        self.prove.begin(theirs.auth, &mut acts);
        self.admit.begin(ours.auth, cx.rng(), &mut acts);
        self.run(acts, cx);
        self.follow_auth(cx);
    }

    /// Goes on to the network protocols once both ends know who the other is.
    fn follow_auth(&mut self, cx: &mut Context<'_>) {
        let is_known = self.prove.is_over() && self.admit.is_over();
        if self.phase != Phase::Authenticate || !is_known || self.lcp.state() != State::Opened {
            return;
        }
        self.enter(Phase::Network, cx);
        self.given_up.clear();
        let mut acts = Acts::new();
        if let Some(session) = self.config.session {
            let seconds = session.as_nanos().div_ceil(1_000_000_000);
            let body = Body::TimeRemaining {
                magic: self.lcp.negotiator.magic(),
                seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
                message: b"",
            };
            let fresh = self.lcp.fresh_id();
            acts.push(send_body(code::TIME_REMAINING, fresh, &body));
            acts.push(Act::Arm(Timer::Session, session));
        }
        if let Some(ipcp) = &mut self.ipcp {
            ipcp.on(Event::Open, cx.rng(), &mut acts);
            ipcp.on(Event::Up, cx.rng(), &mut acts);
        }
        if self.lcp.negotiator.peer_mru() < IPV6_LEAST && self.ipv6cp.is_some() {
            let why = "the peer takes less than 1280 octets";
            let protocol = "IPV6CP";
            acts.push(Act::Fail(
                protocol::IPV6CP,
                End::Pointless { protocol, why },
            ));
        } else if let Some(ipv6cp) = &mut self.ipv6cp {
            ipv6cp.on(Event::Open, cx.rng(), &mut acts);
            ipv6cp.on(Event::Up, cx.rng(), &mut acts);
        }
        self.run(acts, cx);
    }

    /// LCP has left Opened, and with it everything above.
    fn link_down(&mut self, cx: &mut Context<'_>) {
        let mut acts = Acts::new();
        if let Some(ipcp) = &mut self.ipcp {
            ipcp.on(Event::Down, cx.rng(), &mut acts);
        }
        if let Some(ipv6cp) = &mut self.ipv6cp {
            ipv6cp.on(Event::Down, cx.rng(), &mut acts);
        }
        self.prove.end(&mut acts);
        self.admit.end(&mut acts);
        self.quality.end(&mut acts);
        Echo::end(&mut acts);
        acts.push(Act::Disarm(Timer::Session));
        self.run(acts, cx);
        let agreement = self.lcp.negotiator.agreement();
        let is_other = [agreement.send_fcs, agreement.receive_fcs] != [self.config.fcs; 2];
        self.is_parting = is_other && self.lcp.state() == State::Closing;
        if !self.is_parting {
            Self::tell(LinkManage::Agreed(None), cx);
        }
    }

    /// A network control protocol is Opened.
    fn network_up(&mut self, number: u16, cx: &mut Context<'_>) {
        let Some(protocol) = carried(number) else {
            return;
        };
        self.passing.insert(protocol);
        let (local, remote) = self.network(protocol).unwrap_or_default();
        let name = protocol::Name(protocol);
        self.say(
            Kind::Note,
            format!("{name} may pass: local address {local}, remote address {remote}"),
            cx,
        );
        let pass = LinkManage::Pass {
            protocol,
            pass: true,
            local,
            remote,
        };
        Self::tell(pass, cx);
    }

    fn network_down(&mut self, number: u16, cx: &mut Context<'_>) {
        let Some(protocol) = carried(number) else {
            return;
        };
        if self.passing.remove(&protocol) {
            let pass = LinkManage::Pass {
                protocol,
                pass: false,
                local: Address::None,
                remote: Address::None,
            };
            Self::tell(pass, cx);
        }
    }

    /// A network protocol is given up on this link; the link ends where it was the last one.
    fn withdraw(&mut self, number: u16, end: &End, cx: &mut Context<'_>) {
        self.say(Kind::Note, end.to_string(), cx);
        let mut acts = Acts::new();
        let text = end.to_string();
        if number == protocol::IPCP {
            if let Some(ipcp) = &mut self.ipcp {
                ipcp.close(&text, cx.rng(), &mut acts);
            }
        } else if let Some(ipv6cp) = &mut self.ipv6cp {
            ipv6cp.close(&text, cx.rng(), &mut acts);
        }
        self.run(acts, cx);
        self.give_up(number, cx);
    }

    fn give_up(&mut self, number: u16, cx: &mut Context<'_>) {
        self.given_up.insert(number);
        let ours = [
            self.ipcp.as_ref().map(|_| protocol::IPCP),
            self.ipv6cp.as_ref().map(|_| protocol::IPV6CP),
        ];
        let mut ours = ours.into_iter().flatten();
        if ours.all(|number| self.given_up.contains(&number)) {
            self.fail(End::NoNetwork, cx);
        }
    }

    /// The link is to be closed.
    fn fail(&mut self, end: End, cx: &mut Context<'_>) {
        if self.is_over && !self.is_retrying {
            return;
        }
        self.say(Kind::Note, format!("the link is closed: {end}"), cx);
        let text = end.to_string();
        if end == End::Asked {
            self.because = Some(end);
        } else {
            self.because.get_or_insert(end);
        }
        let mut acts = Acts::new();
        self.lcp.close(&text, cx.rng(), &mut acts);
        self.run(acts, cx);
        if matches!(self.lcp.state(), State::Initial | State::Closed) {
            self.finished(cx);
        }
        self.follow_phase(cx);
    }

    /// LCP has finished: the line is no longer needed.
    fn finished(&mut self, cx: &mut Context<'_>) {
        let asked = self.because == Some(End::Asked);
        if core::mem::replace(&mut self.is_over, true) && !asked {
            return;
        }
        let (requests, has_heard) = self.lcp.told();
        let end = self.because.take().unwrap_or(if has_heard {
            let protocol = "LCP";
            End::NoAgreement { protocol, requests }
        } else {
            End::NeverAnswered { requests }
        });
        self.is_retrying = self.config.persist && end != End::Asked;
        self.say(Kind::Note, format!("the link has ended: {end}"), cx);
        self.ended = Some(end);
        if self.is_retrying {
            let retry = self.config.retry;
            self.run(vec![Act::Arm(Timer::Retry, retry)], cx);
        } else {
            self.run(vec![Act::Disarm(Timer::Retry)], cx);
            // Stopped would answer a peer that calls.
            if self.lcp.state() == State::Stopped {
                self.on(Event::Close, cx);
            }
        }
        self.follow_phase(cx);
    }

    /// The line is there, or gone.
    fn line(&mut self, is_up: bool, cx: &mut Context<'_>) {
        if core::mem::replace(&mut self.line_is_up, is_up) == is_up {
            return;
        }
        let text = if is_up { "up" } else { "down" };
        self.say(Kind::State, format!("the line is {text}"), cx);
        if is_up {
            self.on(Event::Up, cx);
            return;
        }
        let was_closing = matches!(self.lcp.state(), State::Closing);
        self.on(Event::Down, cx);
        if was_closing {
            self.finished(cx);
        } else if !self.config.persist && !self.is_over {
            self.fail(End::LineDown, cx);
        }
    }

    fn receive(&mut self, unit: &Unit, cx: &mut Context<'_>) {
        self.counters.received += 1;
        let frame = unit.data.to_vec();
        let Ok((header, len)) = Header::parse(&frame) else {
            self.malformed(cx);
            return;
        };
        let information = frame.get(len..).unwrap_or_default();
        let Some(player) = &mut self.player else {
            self.dispatch(header.protocol, information, cx);
            return;
        };
        let (seen, orders) = player.incoming(header.protocol, information, cx.now());
        let said = described(header.protocol, information);
        match seen {
            Seen::Whole => self.dispatch(header.protocol, information, cx),
            Seen::Changed(other) => {
                self.say(
                    Kind::Received,
                    format!("made another by the script: {said}"),
                    cx,
                );
                self.dispatch(header.protocol, &other, cx);
            }
            Seen::Nothing => {
                self.say(Kind::Received, format!("taken by the script: {said}"), cx);
            }
        }
        self.obey(orders, cx);
    }

    fn malformed(&mut self, cx: &mut Context<'_>) {
        self.counters.malformed += 1;
        cx.drop("malformed PPP packet");
    }

    fn unexpected(&mut self, cx: &mut Context<'_>) {
        self.counters.unexpected += 1;
        cx.drop("PPP packet at the wrong time");
    }

    fn dispatch(&mut self, number: u16, information: &[u8], cx: &mut Context<'_>) {
        if number != protocol::LCP && self.lcp.state() != State::Opened {
            // RFC 1661 section 3.4: in silence.
            self.unexpected(cx);
            return;
        }
        let is_ours = match number {
            protocol::LCP | protocol::PAP | protocol::CHAP | protocol::LQR => true,
            protocol::IPCP | protocol::IPV4 => self.ipcp.is_some(),
            protocol::IPV6CP | protocol::IPV6 => self.ipv6cp.is_some(),
            _ => false,
        };
        let is_data = matches!(number, protocol::IPV4 | protocol::IPV6);
        if is_ours && !is_data {
            let text = format!("rcvd {}", described(number, information));
            self.say(Kind::Received, text, cx);
        }
        match number {
            protocol::LCP => self.receive_lcp(information, cx),
            protocol::PAP | protocol::CHAP => self.receive_auth(number, information, cx),
            protocol::LQR => self.receive_report(information, cx),
            // RFC 1661 section 3.5: in silence.
            _ if self.phase != Phase::Network => self.unexpected(cx),
            // Its control protocol is not Opened, or the driver has no user for it.
            _ if is_ours && is_data => self.unexpected(cx),
            protocol::IPCP | protocol::IPV6CP if is_ours => {
                self.receive_network(number, information, cx);
            }
            _ => self.reject_protocol(number, information, cx),
        }
    }

    /// RFC 1661 section 5.7.
    fn reject_protocol(&mut self, number: u16, information: &[u8], cx: &mut Context<'_>) {
        self.counters.unknown_protocol += 1;
        let name = protocol::Name(number);
        self.say(Kind::Refusal, format!("we do not do {name}"), cx);
        let room = usize::from(self.lcp.negotiator.peer_mru()).saturating_sub(6);
        let body = Body::ProtocolReject {
            protocol: number,
            information: information.get(..room).unwrap_or(information),
        };
        let fresh = self.lcp.fresh_id();
        let act = send_body(code::PROTOCOL_REJECT, fresh, &body);
        self.run(vec![act], cx);
    }

    fn receive_lcp(&mut self, information: &[u8], cx: &mut Context<'_>) {
        let Ok((packet, _)) = control::Packet::parse(information) else {
            self.malformed(cx);
            return;
        };
        if (code::PROTOCOL_REJECT..=code::TIME_REMAINING).contains(&packet.code) {
            let Ok(body) = Body::read(packet.code, packet.data) else {
                self.malformed(cx);
                return;
            };
            if !self.maintain(packet.code, packet.identifier, body, cx) {
                return;
            }
        }
        let limit = usize::from(self.lcp.negotiator.peer_mru());
        let mut acts = Acts::new();
        let result = self.lcp.receive(packet, limit, cx.rng(), &mut acts);
        self.run(acts, cx);
        self.dropped(result, cx);
        self.follow_phase(cx);
    }

    fn dropped(&mut self, result: Result<(), Dropped>, cx: &mut Context<'_>) {
        match result {
            Ok(()) => {}
            Err(Dropped::Malformed(_)) => self.malformed(cx),
            Err(Dropped::NoAnswer) => self.unexpected(cx),
        }
    }

    /// Packets that only LCP has. False: dropped.
    fn maintain(&mut self, code: u8, identifier: u8, body: Body<'_>, cx: &mut Context<'_>) -> bool {
        let is_opened = self.lcp.state() == State::Opened;
        let magic = match body {
            Body::Echo { magic, .. }
            | Body::Identification { magic, .. }
            | Body::TimeRemaining { magic, .. } => Some(magic),
            Body::Options(_)
            | Body::Data(_)
            | Body::CodeReject(_)
            | Body::ProtocolReject { .. } => None,
        };
        // Identification can come at any time (RFC 1570 section 1.1), the others only now.
        if !is_opened && code != code::IDENTIFICATION {
            self.unexpected(cx);
            return false;
        }
        if let Some(magic) = magic.filter(|_| is_opened)
            && self.is_looped(magic, cx)
        {
            return false;
        }
        match body {
            Body::ProtocolReject { protocol, .. } => self.hear_protocol_reject(protocol, cx),
            Body::Echo { data, .. } if code == code::ECHO_REQUEST => {
                let magic = self.lcp.negotiator.magic();
                let room = usize::from(self.lcp.negotiator.peer_mru()).saturating_sub(8);
                let data = data.get(..room).unwrap_or(data);
                let body = Body::Echo { magic, data };
                let act = send_body(code::ECHO_REPLY, identifier, &body);
                self.run(vec![act], cx);
            }
            Body::Echo { .. } if code == code::ECHO_REPLY => self.echo.answered(),
            Body::Identification { message, .. } => {
                let text = format!("the peer says that it is {}", Text(message));
                self.say(Kind::Note, text, cx);
            }
            Body::TimeRemaining {
                seconds, message, ..
            } => {
                let text = format!("the peer says that {seconds} s remain: {}", Text(message));
                self.say(Kind::Note, text, cx);
            }
            // Discard-Request.
            Body::Echo { .. } | Body::Options(_) | Body::Data(_) | Body::CodeReject(_) => {}
        }
        true
    }

    /// RFC 1661 section 6.4: whose magic number came.
    fn is_looped(&mut self, magic: u32, cx: &mut Context<'_>) -> bool {
        let (ours, theirs) = (
            self.lcp.negotiator.magic(),
            self.lcp.negotiator.peer_magic(),
        );
        if magic != 0 && magic == ours {
            self.fail(End::LoopedBack, cx);
            return true;
        }
        if magic != 0 && magic != theirs && !core::mem::replace(&mut self.has_told_magic, true) {
            let text = format!(
                "magic number {magic:#010x} came, {theirs:#010x} was agreed on: it may be another peer"
            );
            self.say(Kind::Note, text, cx);
        }
        false
    }

    fn hear_protocol_reject(&mut self, number: u16, cx: &mut Context<'_>) {
        let name = protocol::Name(number);
        self.say(Kind::Refusal, format!("the peer does not do {name}"), cx);
        let mut acts = Acts::new();
        match number {
            protocol::LCP | protocol::PAP | protocol::CHAP => {
                let what = name.to_string();
                self.fail(End::Incompatible { what }, cx);
            }
            protocol::LQR => self.quality.stop_sending(&mut acts),
            // RFC 1661 section 5.7: nothing more of it is sent, not even that it is closed.
            protocol::IPCP | protocol::IPV4 => {
                if let Some(ipcp) = &mut self.ipcp {
                    ipcp.on(Event::Down, cx.rng(), &mut acts);
                    ipcp.on(Event::Close, cx.rng(), &mut acts);
                    self.run(acts, cx);
                    self.give_up(protocol::IPCP, cx);
                }
                return;
            }
            protocol::IPV6CP | protocol::IPV6 => {
                if let Some(ipv6cp) = &mut self.ipv6cp {
                    ipv6cp.on(Event::Down, cx.rng(), &mut acts);
                    ipv6cp.on(Event::Close, cx.rng(), &mut acts);
                    self.run(acts, cx);
                    self.give_up(protocol::IPV6CP, cx);
                }
                return;
            }
            _ => {}
        }
        self.run(acts, cx);
    }

    fn receive_auth(&mut self, number: u16, information: &[u8], cx: &mut Context<'_>) {
        let mut acts = Acts::new();
        let heard = if number == protocol::PAP {
            let Ok((packet, _)) = pap::Packet::parse(information) else {
                self.malformed(cx);
                return;
            };
            self.prove.hear_pap(&packet, &mut acts) || self.admit.hear_pap(&packet, &mut acts)
        } else {
            let Ok((packet, _)) = chap::Packet::parse(information) else {
                self.malformed(cx);
                return;
            };
            self.prove.hear_chap(&packet, &mut acts) || self.admit.hear_chap(&packet, &mut acts)
        };
        if !heard {
            self.unexpected(cx);
        }
        self.run(acts, cx);
        self.follow_auth(cx);
    }

    fn receive_report(&mut self, information: &[u8], cx: &mut Context<'_>) {
        let Ok((report, len)) = lqr::Report::parse(information) else {
            self.malformed(cx);
            return;
        };
        let appended = information.get(len..).unwrap_or_default();
        // The driver appends what it has counted; without it nothing can be said.
        let Some(arrival) = crate::ppp::Arrival::parse(appended) else {
            self.unexpected(cx);
            return;
        };
        let magic = self.lcp.negotiator.magic();
        if report.magic != 0 && self.is_looped(report.magic, cx) {
            return;
        }
        let mut acts = Acts::new();
        self.quality.hear(report, arrival, magic, &mut acts);
        self.run(acts, cx);
    }

    fn receive_network(&mut self, number: u16, information: &[u8], cx: &mut Context<'_>) {
        let Ok((packet, _)) = control::Packet::parse(information) else {
            self.malformed(cx);
            return;
        };
        if self.given_up.contains(&number) {
            self.unexpected(cx);
            return;
        }
        let limit = usize::from(self.lcp.negotiator.peer_mru());
        let mut acts = Acts::new();
        let result = match (&mut self.ipcp, &mut self.ipv6cp) {
            (Some(ipcp), _) if number == protocol::IPCP => {
                ipcp.receive(packet, limit, cx.rng(), &mut acts)
            }
            (_, Some(ipv6cp)) if number == protocol::IPV6CP => {
                ipv6cp.receive(packet, limit, cx.rng(), &mut acts)
            }
            _ => Ok(()),
        };
        self.run(acts, cx);
        self.dropped(result, cx);
    }
}

/// The network protocol that a control protocol is for.
const fn carried(number: u16) -> Option<u16> {
    match number {
        protocol::IPCP => Some(protocol::IPV4),
        protocol::IPV6CP => Some(protocol::IPV6),
        _ => None,
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

/// What was agreed on, in words.
fn agreed(agreement: &Agreement) -> String {
    let Agreement {
        peer_mru,
        mru,
        send_accm,
        receive_accm,
        acfc,
        pfc,
        send_fcs,
        receive_fcs,
    } = agreement;
    let short = match (acfc, pfc) {
        (false, false) => "headers at full length",
        (true, false) => "no address and control",
        (false, true) => "short protocols",
        (true, true) => "no address and control, short protocols",
    };
    format!(
        "agreed: mru {mru} here, {peer_mru} there; asyncmap {receive_accm:#010x} here, {send_accm:#010x} there; \
         check sequence of {receive_fcs} bits here, {send_fcs} there; {short}"
    )
}

impl Protocol for PppDaemon {
    fn shape(&self) -> Shape {
        Shape {
            offers: None,
            needs: &[Service::UnitData],
            below: (1, 1),
            keys: vec![Key::Raw],
        }
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
        cx.drop("nobody is above the PPP daemon");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(&unit, cx),
            Some(UnitIndication::Report(report)) => match *report {
                Report::Up => self.line(true, cx),
                Report::Down => self.line(false, cx),
                Report::Link(LinkReport::Alarm { defect, present }) => {
                    let text = if present { "there is" } else { "gone is" };
                    self.say(Kind::Note, format!("on the line {text} {defect}"), cx);
                }
                Report::Link(LinkReport::Addresses { .. } | LinkReport::Damaged { .. })
                | Report::Limits { .. }
                | Report::Route { .. }
                | Report::Unreachable { .. } => {}
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
        let mut acts = Acts::new();
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
            Timer::Session => acts.push(Act::Fail(protocol::LCP, End::TimeUp)),
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
        if self.has_started && core::mem::take(&mut self.is_asked) {
            self.fail(End::Asked, cx);
        }
    }
}
