//! The phases of a link (RFC 1661 section 3.2): what follows when a protocol comes up, goes down or has finished.

use crate::ppp::Agreement;
use crate::ppp::LinkManage;
use kumiki_graph::{Address, Context};
use kumiki_wire::ppp::ppp::control::code;
use kumiki_wire::ppp::ppp::lcp::Body;
use kumiki_wire::ppp::ppp::protocol;

use super::PppDaemon;
use super::automaton::{Event, State};
use super::log::{End, Kind, Phase};
use super::machine::{Actions, MachineAction, Timer};
use super::quality::{Echo, send_body};

/// The least MTU of IPv6 (RFC 5072 section 2).
const IPV6_LEAST: u16 = 1280;

impl PppDaemon {
    /// An event of LCP's automaton, and what follows from it.
    pub(super) fn on(&mut self, event: Event, cx: &mut Context<'_>) {
        let mut acts = Actions::new();
        self.lcp.on(event, cx.rng(), &mut acts);
        self.run(acts, cx);
        self.follow_phase(cx);
    }

    /// The phase that LCP's state means; in Opened it is what it was made.
    pub(super) fn follow_phase(&mut self, cx: &mut Context<'_>) {
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
            self.run(vec![MachineAction::Disarm(Timer::Retry)], cx);
        }
    }

    pub(super) fn enter(&mut self, phase: Phase, cx: &Context<'_>) {
        if core::mem::replace(&mut self.phase, phase) != phase {
            self.say(Kind::State, format!("the link is in phase {phase}"), cx);
        }
    }

    /// LCP is Opened.
    pub(super) fn link_up(&mut self, cx: &mut Context<'_>) {
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
        let mut acts = Actions::new();
        if let Some(text) = &self.config.identification {
            let body = Body::Identification { magic: self.lcp.negotiator.magic(), message: text.as_bytes() };
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
    pub(super) fn follow_auth(&mut self, cx: &mut Context<'_>) {
        let is_known = self.prove.is_over() && self.admit.is_over();
        if self.phase != Phase::Authenticate || !is_known || self.lcp.state() != State::Opened {
            return;
        }
        self.enter(Phase::Network, cx);
        self.given_up.clear();
        self.parted.clear();
        let mut acts = Actions::new();
        if let Some(session) = self.config.session {
            let seconds = session.as_nanos().div_ceil(1_000_000_000);
            let body = Body::TimeRemaining {
                magic: self.lcp.negotiator.magic(),
                seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
                message: b"",
            };
            let fresh = self.lcp.fresh_id();
            acts.push(send_body(code::TIME_REMAINING, fresh, &body));
            acts.push(MachineAction::Arm(Timer::Session, session));
        }
        if let Some(ipcp) = &mut self.ipcp {
            ipcp.on(Event::Open, cx.rng(), &mut acts);
            ipcp.on(Event::Up, cx.rng(), &mut acts);
        }
        if self.lcp.negotiator.peer_mru() < IPV6_LEAST && self.ipv6cp.is_some() {
            let why = "the peer takes less than 1280 octets";
            let protocol = "IPV6CP";
            acts.push(MachineAction::Fail(protocol::IPV6CP, End::Pointless { protocol, why }));
        } else if let Some(ipv6cp) = &mut self.ipv6cp {
            ipv6cp.on(Event::Open, cx.rng(), &mut acts);
            ipv6cp.on(Event::Up, cx.rng(), &mut acts);
        }
        self.run(acts, cx);
    }

    /// LCP has left Opened, and with it everything above.
    pub(super) fn link_down(&mut self, cx: &mut Context<'_>) {
        let mut acts = Actions::new();
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
        acts.push(MachineAction::Disarm(Timer::Session));
        self.run(acts, cx);
        let agreement = self.lcp.negotiator.agreement();
        let is_other = [agreement.send_fcs, agreement.receive_fcs] != [self.config.fcs; 2];
        self.is_parting = is_other && self.lcp.state() == State::Closing;
        if !self.is_parting {
            Self::tell(LinkManage::Agreed(None), cx);
        }
    }

    /// A network control protocol is Opened.
    pub(super) fn network_up(&mut self, number: u16, cx: &mut Context<'_>) {
        let Some(protocol) = carried(number) else {
            return;
        };
        self.parted.remove(&number);
        self.passing.insert(protocol);
        let (local, remote) = self.network(protocol).unwrap_or_default();
        let name = protocol::Name(protocol);
        self.say(Kind::Note, format!("{name} may pass: local address {local}, remote address {remote}"), cx);
        let pass = LinkManage::Pass { protocol, pass: true, local, remote };
        Self::tell(pass, cx);
    }

    /// A network control protocol has come to rest. RFC 1661 section 3.6: nobody knows how long a peer takes to begin
    /// with it.
    pub(super) fn network_finished(&mut self, number: u16, cx: &mut Context<'_>) {
        let is_wanted = !self.given_up.contains(&number) && !self.parted.contains(&number);
        if self.phase == Phase::Network && is_wanted {
            let timer = if number == protocol::IPCP { Timer::Ipcp } else { Timer::Ipv6cp };
            self.run(vec![MachineAction::Arm(timer, self.config.retry)], cx);
        }
    }

    pub(super) fn network_down(&mut self, number: u16, cx: &mut Context<'_>) {
        let Some(protocol) = carried(number) else {
            return;
        };
        if self.passing.remove(&protocol) {
            let pass = LinkManage::Pass { protocol, pass: false, local: Address::NONE, remote: Address::NONE };
            Self::tell(pass, cx);
        }
    }

    /// A network protocol is given up on this link; the link ends where it was the last one.
    pub(super) fn withdraw(&mut self, number: u16, end: &End, cx: &mut Context<'_>) {
        self.say(Kind::Note, end.to_string(), cx);
        let mut acts = Actions::new();
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

    pub(super) fn give_up(&mut self, number: u16, cx: &mut Context<'_>) {
        self.given_up.insert(number);
        let ours = [self.ipcp.as_ref().map(|_| protocol::IPCP), self.ipv6cp.as_ref().map(|_| protocol::IPV6CP)];
        let mut ours = ours.into_iter().flatten();
        if ours.all(|number| self.given_up.contains(&number)) {
            self.fail(End::NoNetwork, cx);
        }
    }

    /// The link is to be closed.
    pub(super) fn fail(&mut self, end: End, cx: &mut Context<'_>) {
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
        let mut acts = Actions::new();
        self.lcp.close(&text, cx.rng(), &mut acts);
        self.run(acts, cx);
        if matches!(self.lcp.state(), State::Initial | State::Closed) {
            self.finished(cx);
        }
        self.follow_phase(cx);
    }

    /// LCP has finished: the line is no longer needed.
    pub(super) fn finished(&mut self, cx: &mut Context<'_>) {
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
            self.run(vec![MachineAction::Arm(Timer::Retry, retry)], cx);
        } else {
            self.run(vec![MachineAction::Disarm(Timer::Retry)], cx);
            // Stopped would answer a peer that calls.
            if self.lcp.state() == State::Stopped {
                self.on(Event::Close, cx);
            }
        }
        self.follow_phase(cx);
    }

    /// The line is there, or gone.
    pub(super) fn line(&mut self, is_up: bool, cx: &mut Context<'_>) {
        if core::mem::replace(&mut self.line_is_up, is_up) == is_up {
            return;
        }
        let text = if is_up { "up" } else { "down" };
        self.say(Kind::State, format!("the line is {text}"), cx);
        if is_up {
            self.on(Event::Up, cx);
            return;
        }
        let was_closing = self.lcp.state() == State::Closing;
        // A line that was never there, as that of a server nobody has called yet, is waited for.
        let (_, has_heard) = self.lcp.told();
        self.on(Event::Down, cx);
        if self.config.persist && !was_closing {
            // What ended the link with this peer says nothing of the next.
            self.because = None;
        }
        if was_closing {
            self.finished(cx);
        } else if !self.config.persist && !self.is_over && has_heard {
            self.fail(End::LineDown, cx);
        }
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

/// What was agreed on, in words.
fn agreed(agreement: &Agreement) -> String {
    let Agreement { peer_mru, mru, send_accm, receive_accm, acfc, pfc, send_fcs, receive_fcs } = agreement;
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
