//! The packets of option negotiation, as LCP and every network control protocol have them: RFC 1661 section 5 around
//! the automaton.
//!
//! A machine knows no graph and no clock. It says what is to be done, in order, as [`MachineAction`]s. What options
//! mean is its [`Negotiator`]'s.

use std::collections::BTreeSet;

use kumiki_graph::{Duration, Rng};
use kumiki_wire::Malformed;
use kumiki_wire::ppp::ppp::control::{Item, Packet, code, known, options};
use kumiki_wire::ppp::ppp::{Text, protocol};

use super::automaton::{self, Action, Automaton, Event, Restart, State, Step};
use super::log::{End, Kind};

/// So many times Max-Configure requests are a negotiation at most: the module doc of the daemon says why.
const ROUNDS: u32 = 4;
/// Octets of a text in a Terminate-Request at most.
const MAX_TEXT: usize = 128;

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timer {
    /// The Restart timer of LCP.
    Lcp,
    /// That of IPCP.
    Ipcp,
    /// That of IPV6CP.
    Ipv6cp,
    /// We say who we are: an answer is late.
    Prove,
    /// The peer says who it is: it is late, or is to be asked again.
    Admit,
    /// The next echo.
    Echo,
    /// Our next report of the quality.
    Report,
    /// The peer's next report is due.
    Expect,
    /// The link is tried again.
    Retry,
    /// The session's time is over.
    Session,
    /// The script has something to do.
    Script,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum MachineAction {
    /// Send a frame.
    Send { protocol: u16, information: Vec<u8> },
    /// Set a timer, in place of what it was set to.
    Arm(Timer, Duration),
    /// Stop a timer.
    Disarm(Timer),
    /// This-Layer-Up of a protocol.
    Up(u16),
    /// This-Layer-Down.
    Down(u16),
    /// This-Layer-Finished.
    Finished(u16),
    /// When the protocol finishes, this is why.
    Because(u16, End),
    /// The protocol is to be closed for this reason.
    Fail(u16, End),
    /// To the log.
    Say(Kind, String),
}

/// In order.
pub(super) type Actions = Vec<MachineAction>;

/// What becomes of an option of the peer's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum OptionVerdict {
    /// It is as we like.
    Ack,
    /// These options would be.
    Nak(Vec<u8>),
    /// It is not negotiated.
    Reject,
}

/// What the options of a protocol mean.
pub(super) trait Negotiator {
    /// Its number.
    const PROTOCOL: u16;

    /// A negotiation begins: what is configured is wished for again.
    fn begin(&mut self, rng: &mut Rng);
    /// The options of the next Configure-Request.
    fn wishes(&self) -> Vec<u8>;
    /// A request of the peer's is about to be judged.
    fn hear(&mut self);
    /// Judges an option of it; its length is right.
    fn judge(&mut self, item: Item<'_>, rng: &mut Rng, acts: &mut Actions) -> OptionVerdict;
    /// An option that would be agreed to in place of one of a wrong length.
    fn right(&self, kind: u8) -> Option<Vec<u8>>;
    /// Whether this type is never rejected, however often it was nak'd.
    fn is_vital(&self, kind: u8) -> bool {
        let _ = kind;
        false
    }
    /// Options that the peer should have had in its request, to be appended to a Nak.
    fn missing(&mut self, seen: &BTreeSet<u8>) -> Vec<u8>;
    /// The request that was judged is agreed to.
    fn commit(&mut self);
    /// The peer would rather have this of an option that was `asked` for, or not.
    fn nakked(&mut self, item: Item<'_>, asked: bool, rng: &mut Rng, acts: &mut Actions);
    /// The peer does not negotiate this option of ours.
    fn rejected(&mut self, kind: u8, acts: &mut Actions);
}

/// Why a packet was dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Dropped {
    /// It breaks the rules of packets.
    Malformed(Malformed),
    /// It answers nothing that we have sent last.
    NoAnswer,
}

impl From<Malformed> for Dropped {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// What came and belongs to the event at hand.
#[derive(Default)]
struct Cause<'a> {
    identifier: u8,
    /// The answer to a Configure-Request.
    reply: Option<(u8, Vec<u8>)>,
    /// A packet of unknown code, from its code on.
    unknown: &'a [u8],
}

/// One protocol's negotiation.
#[derive(Debug)]
pub(super) struct Machine<N> {
    pub(super) negotiator: N,
    automaton: Automaton,
    timer: Timer,
    max_failure: u32,
    max_requests: u32,
    /// The options of the last Configure-Request; its identifier.
    request: Vec<u8>,
    request_id: u8,
    /// Whether that request has had a valid answer, so that the next one needs another identifier.
    is_answered: bool,
    /// Whether that answer was an Ack.
    is_acked: bool,
    last_id: u8,
    /// The identifier of the last packet that rejects one of the peer's.
    reject_id: u8,
    terminate_id: Option<u8>,
    text: Vec<u8>,
    /// Naks sent since the last Ack.
    failures: u32,
    naks_heard: u32,
    /// Configure-Requests sent in this negotiation.
    requests: u32,
    /// Whether the peer has said anything in it.
    has_heard: bool,
}

/// A control packet's octets.
pub(super) fn packet(code: u8, identifier: u8, data: &[u8]) -> Vec<u8> {
    let packet = Packet { code, identifier, data };
    let mut octets = vec![0; packet.len()];
    packet.emit(&mut octets);
    octets
}

/// An option's octets, from its length and what writes it.
pub(super) fn option(len: usize, emit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut octets = vec![0; len];
    emit(&mut octets);
    octets
}

impl<N: Negotiator> Machine<N> {
    pub(super) fn new(negotiator: N, config: automaton::Config, max_failure: u32, timer: Timer) -> Self {
        Self {
            negotiator,
            automaton: Automaton::new(config),
            timer,
            max_failure,
            max_requests: config.max_configure.saturating_mul(ROUNDS),
            request: Vec::new(),
            request_id: 0,
            is_answered: true,
            is_acked: false,
            last_id: 0,
            reject_id: 0,
            terminate_id: None,
            text: Vec::new(),
            failures: 0,
            naks_heard: 0,
            requests: 0,
            has_heard: false,
        }
    }

    pub(super) const fn state(&self) -> State {
        self.automaton.state()
    }

    /// Configure-Requests sent in this negotiation, and whether the peer has said anything in it.
    pub(super) const fn told(&self) -> (u32, bool) {
        (self.requests, self.has_heard)
    }

    /// An identifier for a packet that needs a new one.
    pub(super) const fn fresh_id(&mut self) -> u8 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    /// An identifier for a packet that rejects one of the peer's: another one each time (RFC 1661 sections 5.6 and
    /// 5.7). They have a row of their own, so that what we refuse does not show in what we send otherwise.
    pub(super) const fn reject_id(&mut self) -> u8 {
        self.reject_id = self.reject_id.wrapping_add(1);
        self.reject_id
    }

    /// Something that is no packet happened; what cannot happen in the present state is ignored.
    pub(super) fn on(&mut self, event: Event, rng: &mut Rng, acts: &mut Actions) {
        self.feed(event, &Cause::default(), rng, acts);
    }

    /// As [`Event::Close`]; the peer is told `text`.
    pub(super) fn close(&mut self, text: &str, rng: &mut Rng, acts: &mut Actions) {
        self.text = text.bytes().take(MAX_TEXT).collect();
        self.on(Event::Close, rng, acts);
    }

    /// The Restart timer has expired; in Stopped, where it does not run, its owner has set it to begin again.
    pub(super) fn expire(&mut self, rng: &mut Rng, acts: &mut Actions) {
        let was = self.state();
        if was == State::Stopped {
            self.on(Event::Open, rng, acts);
            return;
        }
        if let Ok(step) = self.automaton.expire() {
            self.follow(step, was, &Cause::default(), rng, acts);
        }
    }

    /// A packet of this protocol came. Codes above Code-Reject are the owner's, who tells of them by [`Machine::on`].
    ///
    /// `limit`: octets of a packet that the peer takes.
    pub(super) fn receive(
        &mut self,
        packet: Packet<'_>,
        limit: usize,
        rng: &mut Rng,
        acts: &mut Actions,
    ) -> Result<(), Dropped> {
        if matches!(self.state(), State::Initial | State::Starting) {
            return Err(Dropped::NoAnswer);
        }
        let mut cause = Cause { identifier: packet.identifier, ..Cause::default() };
        let event = match packet.code {
            code::CONFIGURE_REQUEST => {
                all_whole(packet.data)?;
                if self.looks_at_requests() {
                    let (event, reply) = self.judge(packet.data, rng, acts);
                    cause.reply = Some(reply);
                    event
                } else {
                    Event::RcrPlus
                }
            }
            code::CONFIGURE_ACK => {
                self.is_answer(packet.identifier)?;
                if packet.data != self.request {
                    return Err(Dropped::NoAnswer);
                }
                Event::Rca
            }
            code::CONFIGURE_NAK | code::CONFIGURE_REJECT => {
                self.hear_no(&packet, rng, acts)?;
                Event::Rcn
            }
            code::TERMINATE_REQUEST => {
                self.hear_terminate(packet.data, acts);
                Event::Rtr
            }
            code::TERMINATE_ACK => Event::Rta,
            code::CODE_REJECT => {
                let Some(&rejected) = packet.data.first() else {
                    return Err(Dropped::NoAnswer);
                };
                self.hear_code_reject(rejected, acts)
            }
            // Known to LCP; echoes and the like do nothing to the automaton.
            code::PROTOCOL_REJECT..=code::TIME_REMAINING if N::PROTOCOL == protocol::LCP => Event::Rxr,
            unknown => {
                let text = format!("we do not know code {unknown} of {}", protocol::Name(N::PROTOCOL));
                acts.push(MachineAction::Say(Kind::Refusal, text));
                Event::Ruc
            }
        };
        let unknown = self::packet(packet.code, packet.identifier, packet.data);
        cause.unknown = unknown.get(..limit.saturating_sub(4)).unwrap_or(&unknown);
        self.feed(event, &cause, rng, acts);
        // Behind what may have begun a negotiation.
        self.has_heard |= event != Event::Ruc;
        Ok(())
    }

    /// Wishes for what the peer would rather have, and does without what it rejects, which must be part of what it was
    /// asked.
    fn hear_no(&mut self, packet: &Packet<'_>, rng: &mut Rng, acts: &mut Actions) -> Result<(), Dropped> {
        self.is_answer(packet.identifier)?;
        all_whole(packet.data)?;
        let is_reject = packet.code == code::CONFIGURE_REJECT;
        if is_reject && !is_part(packet.data, &self.request) {
            return Err(Dropped::NoAnswer);
        }
        if !self.is_asking() {
            return Ok(());
        }
        if !is_reject {
            self.hear_nak(packet.data, rng, acts);
            return Ok(());
        }
        for item in options(packet.data).flatten() {
            self.negotiator.rejected(item.kind, acts);
        }
        Ok(())
    }

    /// Tells why the peer ends it, where it says so or it stood.
    fn hear_terminate(&self, data: &[u8], acts: &mut Actions) {
        if self.state() == State::Opened {
            let end = End::PeerFinished { message: data.iter().copied().take(MAX_TEXT).collect() };
            acts.push(MachineAction::Because(N::PROTOCOL, end));
        } else if !data.is_empty() {
            let text = Text(data);
            let name = protocol::Name(N::PROTOCOL);
            acts.push(MachineAction::Say(Kind::Note, format!("{name}: the peer says {text}")));
        }
    }

    /// Whether our request is on its way, so that answers to it change what we wish for.
    const fn is_asking(&self) -> bool {
        self.state().is_negotiating()
    }

    /// Whether the options of a request matter.
    const fn looks_at_requests(&self) -> bool {
        match self.state() {
            State::Initial | State::Starting | State::Closed | State::Closing | State::Stopping => false,
            State::Stopped | State::ReqSent | State::AckRcvd | State::AckSent | State::Opened => true,
        }
    }

    const fn is_answer(&self, identifier: u8) -> Result<(), Dropped> {
        // Before the first request nothing can be an answer.
        if self.requests > 0 && identifier == self.request_id && !self.is_acked {
            Ok(())
        } else {
            Err(Dropped::NoAnswer)
        }
    }

    fn hear_nak(&mut self, data: &[u8], rng: &mut Rng, acts: &mut Actions) {
        self.naks_heard = self.naks_heard.saturating_add(1);
        let is_too_many = self.naks_heard > self.max_failure;
        let asked: BTreeSet<u8> = kinds(&self.request);
        let mut given_up = BTreeSet::new();
        for item in options(data).flatten() {
            let is_asked = asked.contains(&item.kind);
            if is_asked && is_too_many {
                if given_up.insert(item.kind) {
                    self.negotiator.rejected(item.kind, acts);
                }
            } else if !is_too_many {
                self.negotiator.nakked(item, is_asked, rng, acts);
            }
        }
    }

    fn hear_code_reject(&self, rejected: u8, acts: &mut Actions) -> Event {
        let name = protocol::Name(N::PROTOCOL);
        let what = code::short_name(rejected)
            .map_or_else(|| format!("code {rejected} of {name}"), |it| format!("{name} {it}"));
        let text = format!("the peer does not know {what}");
        acts.push(MachineAction::Say(Kind::Refusal, text));
        // RFC 1661 section 4.3: a code that the protocol cannot do without is catastrophic.
        if (code::CONFIGURE_REQUEST..=code::CODE_REJECT).contains(&rejected) {
            acts.push(MachineAction::Because(N::PROTOCOL, End::Incompatible { what }));
            Event::RxjMinus
        } else {
            Event::RxjPlus
        }
    }

    /// The event that a Configure-Request is, and code and data of its answer (RFC 1661 sections 5.2 to 5.4).
    fn judge(&mut self, data: &[u8], rng: &mut Rng, acts: &mut Actions) -> (Event, (u8, Vec<u8>)) {
        let is_patient = self.failures < self.max_failure;
        self.negotiator.hear();
        let (mut naks, mut rejects) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for item in options(data).flatten() {
            let judged = if seen.insert(item.kind) {
                self.judge_one(item, rng, acts)
            } else {
                let name = protocol::Name(N::PROTOCOL);
                let text = format!("we refuse the second option {} of {name}", item.kind);
                acts.push(MachineAction::Say(Kind::Refusal, text));
                OptionVerdict::Reject
            };
            match judged {
                OptionVerdict::Ack => {}
                OptionVerdict::Nak(better) if is_patient || self.negotiator.is_vital(item.kind) => {
                    naks.extend(better);
                }
                OptionVerdict::Nak(_) | OptionVerdict::Reject => {
                    rejects.extend(option(item.len(), |out| item.emit(out)));
                }
            }
        }
        if !rejects.is_empty() {
            return (Event::RcrMinus, (code::CONFIGURE_REJECT, rejects));
        }
        if is_patient {
            naks.extend(self.negotiator.missing(&seen));
        }
        if naks.is_empty() {
            (Event::RcrPlus, (code::CONFIGURE_ACK, data.to_vec()))
        } else {
            self.failures = self.failures.saturating_add(1);
            (Event::RcrMinus, (code::CONFIGURE_NAK, naks))
        }
    }

    fn judge_one(&mut self, item: Item<'_>, rng: &mut Rng, acts: &mut Actions) -> OptionVerdict {
        if known(N::PROTOCOL, item.kind).is_none() {
            let name = protocol::Name(N::PROTOCOL);
            let text = format!("we do not know {item} of {name}");
            acts.push(MachineAction::Say(Kind::Refusal, text));
            return OptionVerdict::Reject;
        }
        match item.check(N::PROTOCOL) {
            Ok(()) => self.negotiator.judge(item, rng, acts),
            Err(wrong) => {
                acts.push(MachineAction::Say(Kind::Refusal, format!("we refuse {item}: {wrong}")));
                self.negotiator.right(item.kind).map_or(OptionVerdict::Reject, OptionVerdict::Nak)
            }
        }
    }

    fn feed(&mut self, event: Event, cause: &Cause<'_>, rng: &mut Rng, acts: &mut Actions) {
        let was = self.state();
        // What cannot happen there changes nothing.
        let Ok(step) = self.automaton.on(event) else {
            return;
        };
        if matches!(event, Event::Rca | Event::Rcn) {
            self.is_answered = true;
            self.is_acked = event == Event::Rca;
        }
        self.follow(step, was, cause, rng, acts);
    }

    fn follow(&mut self, step: Step, was: State, cause: &Cause<'_>, rng: &mut Rng, acts: &mut Actions) {
        let name = protocol::Name(N::PROTOCOL);
        if step.crossed {
            let text = format!("{name}: an answer out of step, it starts over");
            acts.push(MachineAction::Say(Kind::Note, text));
        }
        let mut told = (was == self.state()).then_some(());
        let mut tell = |acts: &mut Actions, state: State| {
            if told.replace(()).is_none() {
                acts.push(MachineAction::Say(Kind::State, format!("{name} is {state}")));
            }
        };
        // The timer first: what follows from these acts may stop it again.
        match step.restart {
            Restart::Keep => {}
            Restart::Start(time) => acts.push(MachineAction::Arm(self.timer, time)),
            Restart::Stop => acts.push(MachineAction::Disarm(self.timer)),
        }
        let mut is_new = !was.is_negotiating();
        for action in step.actions {
            match action {
                Action::Tlu => {
                    tell(acts, self.state());
                    acts.push(MachineAction::Up(N::PROTOCOL));
                }
                Action::Tld => acts.push(MachineAction::Down(N::PROTOCOL)),
                Action::Tlf => {
                    tell(acts, self.state());
                    acts.push(MachineAction::Finished(N::PROTOCOL));
                }
                Action::Scr => {
                    if core::mem::take(&mut is_new) {
                        self.begin(rng);
                    }
                    self.send_request(acts);
                }
                Action::Sca | Action::Scn => {
                    if let Some((code, data)) = &cause.reply {
                        self.send(*code, cause.identifier, data, acts);
                    }
                    if action == Action::Sca {
                        self.failures = 0;
                        self.negotiator.commit();
                    }
                }
                Action::Str => {
                    let fresh = self.terminate_id.unwrap_or_else(|| self.fresh_id());
                    self.terminate_id = Some(fresh);
                    let text = self.text.clone();
                    self.send(code::TERMINATE_REQUEST, fresh, &text, acts);
                }
                Action::Sta => self.send(code::TERMINATE_ACK, cause.identifier, &[], acts),
                Action::Scj => {
                    let fresh = self.reject_id();
                    self.send(code::CODE_REJECT, fresh, cause.unknown, acts);
                }
                // An echo is the owner's, who knows magic numbers; nothing below is started by us. The counter is the
                // automaton's.
                Action::Ser | Action::Tls | Action::Irc | Action::Zrc => {}
            }
        }
        tell(acts, self.state());
    }

    fn begin(&mut self, rng: &mut Rng) {
        self.negotiator.begin(rng);
        self.failures = 0;
        self.naks_heard = 0;
        self.requests = 0;
        self.has_heard = false;
        self.terminate_id = None;
        self.text.clear();
    }

    fn send_request(&mut self, acts: &mut Actions) {
        if self.requests >= self.max_requests {
            let end = End::NoAgreement {
                protocol: protocol::name(N::PROTOCOL).unwrap_or("a protocol"),
                requests: self.requests,
            };
            acts.push(MachineAction::Fail(N::PROTOCOL, end));
            return;
        }
        let wishes = self.negotiator.wishes();
        // RFC 1661 section 5.1: another identifier for other contents, and after a valid answer.
        if core::mem::take(&mut self.is_answered) || wishes != self.request {
            self.request_id = self.fresh_id();
            self.is_acked = false;
        }
        self.request = wishes;
        self.requests += 1;
        let request = self.request.clone();
        self.send(code::CONFIGURE_REQUEST, self.request_id, &request, acts);
    }

    fn send(&self, code: u8, identifier: u8, data: &[u8], acts: &mut Actions) {
        acts.push(MachineAction::Send { protocol: N::PROTOCOL, information: packet(code, identifier, data) });
    }
}

/// The types among options.
fn kinds(data: &[u8]) -> BTreeSet<u8> {
    options(data).flatten().map(|item| item.kind).collect()
}

/// RFC 1661 section 6: a packet with an option that runs past it is dropped, and nothing has changed.
fn all_whole(data: &[u8]) -> Result<(), Malformed> {
    options(data).find_map(Result::err).map_or(Ok(()), Err)
}

/// RFC 1661 section 5.4: what is rejected stands in the request, unmodified and in its order. All of it may be, though
/// the standard says "proper": a request of one option could not be rejected otherwise.
fn is_part(rejected: &[u8], request: &[u8]) -> bool {
    let mut rest = options(request).flatten();
    let mut some = false;
    options(rejected).flatten().all(|item| {
        some = true;
        rest.any(|own| own == item)
    }) && some
}
