//! Who the ends are: PAP and CHAP with MD5, from both sides (RFC 1334 section 2, RFC 1994).
//!
//! [`AuthClient`] says who we are, [`Admit`] asks the peer. Both can run at once, by different methods. Neither knows a
//! clock or the graph: they say what is to be done.

use kumiki_graph::{Duration, Rng};
use kumiki_wire::ppp::ppp::{Text, chap, pap, protocol};
use md5::{Digest as _, Md5};

use super::config::{Config, Method, Secret};
use super::log::{End, Kind};
use super::machine::{Actions, MachineAction, Timer};

/// Octets of a challenge: as many as MD5 gives (RFC 1994 section 2.3).
const CHALLENGE: usize = 16;
const WELCOME: &[u8] = b"welcome";
const UNKNOWN: &[u8] = b"unknown name or wrong secret";

/// RFC 1994 section 4.1: the hash of identifier, secret and challenge.
#[must_use]
pub fn chap_md5(identifier: u8, secret: &[u8], challenge: &[u8]) -> [u8; 16] {
    Md5::new().chain_update([identifier]).chain_update(secret).chain_update(challenge).finalize().into()
}

/// Whether both are the same; how long it takes does not tell where they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    let pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn send_pap(identifier: u8, message: pap::Message<'_>, acts: &mut Actions) {
    let packet = pap::Packet { identifier, message };
    let mut information = vec![0; packet.len()];
    packet.emit(&mut information);
    acts.push(MachineAction::Send { protocol: protocol::PAP, information });
}

fn send_chap(identifier: u8, message: chap::Message<'_>, acts: &mut Actions) {
    let packet = chap::Packet { identifier, message };
    let mut information = vec![0; packet.len()];
    packet.emit(&mut information);
    acts.push(MachineAction::Send { protocol: protocol::CHAP, information });
}

fn note(acts: &mut Actions, text: String) {
    acts.push(MachineAction::Say(Kind::Note, text));
}

/// How far one side is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// It is not asked for.
    Idle,
    /// It goes on.
    Running(Method),
    /// It went well.
    Done(Method),
    /// It did not.
    Failed(Method),
}

impl Stage {
    const fn method(self) -> Option<Method> {
        match self {
            Self::Idle => None,
            Self::Running(method) | Self::Done(method) | Self::Failed(method) => Some(method),
        }
    }

    const fn is_over(self) -> bool {
        matches!(self, Self::Idle | Self::Done(_))
    }
}

/// We say who we are.
pub(super) struct AuthClient {
    name: Vec<u8>,
    secret: Vec<u8>,
    restart: Duration,
    tries: u32,
    stage: Stage,
    identifier: u8,
    sent: u32,
}

impl core::fmt::Debug for AuthClient {
    /// Without the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AuthClient").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl AuthClient {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            name: config.name.clone().into_bytes(),
            secret: config.secret.clone().unwrap_or_default().into_bytes(),
            restart: config.restart,
            tries: config.max_configure,
            stage: Stage::Idle,
            identifier: 0,
            sent: 0,
        }
    }

    /// Whether nothing stands in the way of the next phase.
    pub(super) const fn is_over(&self) -> bool {
        self.stage.is_over()
    }

    pub(super) fn begin(&mut self, method: Option<Method>, acts: &mut Actions) {
        self.sent = 0;
        self.stage = method.map_or(Stage::Idle, Stage::Running);
        match method {
            None => {}
            Some(Method::Pap) => self.ask(acts),
            // It is the peer's turn; it has as long as its own tries take.
            Some(Method::Chap) => {
                acts.push(MachineAction::Arm(Timer::Prove, self.restart * u64::from(self.tries)));
            }
        }
    }

    pub(super) fn end(&mut self, acts: &mut Actions) {
        self.stage = Stage::Idle;
        acts.push(MachineAction::Disarm(Timer::Prove));
    }

    fn ask(&mut self, acts: &mut Actions) {
        self.sent += 1;
        // RFC 1334 section 2.2.1: another one each time.
        self.identifier = self.identifier.wrapping_add(1);
        let message = pap::Message::Request { peer_id: &self.name, password: &self.secret };
        send_pap(self.identifier, message, acts);
        acts.push(MachineAction::Arm(Timer::Prove, self.restart));
    }

    pub(super) fn expire(&mut self, acts: &mut Actions) {
        match self.stage {
            Stage::Running(Method::Pap) if self.sent < self.tries => self.ask(acts),
            Stage::Running(_) => {
                let end = End::NeverSaidWho { peer: false };
                acts.push(MachineAction::Fail(protocol::LCP, end));
            }
            Stage::Idle | Stage::Done(_) | Stage::Failed(_) => {}
        }
    }

    fn succeed(&mut self, method: Method, message: &[u8], acts: &mut Actions) {
        if self.stage == Stage::Running(method) {
            self.stage = Stage::Done(method);
            let text = Text(message);
            note(acts, format!("the peer lets us in by {method}: {text}"));
            acts.push(MachineAction::Disarm(Timer::Prove));
        }
    }

    fn fail(&mut self, method: Method, message: &[u8], acts: &mut Actions) {
        self.stage = Stage::Failed(method);
        let message = message.to_vec();
        acts.push(MachineAction::Fail(protocol::LCP, End::Refused { message }));
    }

    /// An answer to our request. False: it answers nothing.
    pub(super) fn hear_pap(&mut self, packet: &pap::Packet<'_>, acts: &mut Actions) -> bool {
        if self.stage != Stage::Running(Method::Pap) || packet.identifier != self.identifier {
            return false;
        }
        match packet.message {
            pap::Message::Request { .. } => return false,
            pap::Message::Ack { message } => {
                self.succeed(Method::Pap, message.unwrap_or_default(), acts);
            }
            pap::Message::Nak { message } => {
                self.fail(Method::Pap, message.unwrap_or_default(), acts);
            }
        }
        true
    }

    /// A challenge, or the answer to our response. False: there is nothing to it.
    pub(super) fn hear_chap(&mut self, packet: &chap::Packet<'_>, acts: &mut Actions) -> bool {
        let runs = match self.stage {
            Stage::Running(method) | Stage::Done(method) => method == Method::Chap,
            Stage::Idle | Stage::Failed(_) => false,
        };
        let is_answer = self.sent > 0 && packet.identifier == self.identifier;
        match packet.message {
            chap::Message::Challenge { value, .. } if runs => {
                self.identifier = packet.identifier;
                self.sent = self.sent.saturating_add(1);
                let hash = chap_md5(packet.identifier, &self.secret, value);
                let message = chap::Message::Response { value: &hash, name: &self.name };
                send_chap(packet.identifier, message, acts);
            }
            chap::Message::Success { message } if runs && is_answer => {
                self.succeed(Method::Chap, message, acts);
            }
            chap::Message::Failure { message } if runs && is_answer => {
                self.fail(Method::Chap, message, acts);
            }
            chap::Message::Challenge { .. }
            | chap::Message::Response { .. }
            | chap::Message::Success { .. }
            | chap::Message::Failure { .. } => return false,
        }
        true
    }
}

/// The peer says who it is.
#[derive(Debug)]
pub(super) struct Admit {
    name: Vec<u8>,
    secrets: Vec<Secret>,
    restart: Duration,
    tries: u32,
    rechallenge: Option<Duration>,
    stage: Stage,
    identifier: u8,
    challenge: [u8; CHALLENGE],
    /// Challenges sent since the last response.
    sent: u32,
    /// What the present challenge was answered with: the same is said again.
    answer: Option<bool>,
    peer: Option<Vec<u8>>,
}

impl Admit {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            name: config.name.clone().into_bytes(),
            secrets: config.secrets.clone(),
            restart: config.restart,
            tries: config.max_configure,
            rechallenge: config.rechallenge,
            stage: Stage::Idle,
            identifier: 0,
            challenge: [0; CHALLENGE],
            sent: 0,
            answer: None,
            peer: None,
        }
    }

    /// Whether nothing stands in the way of the next phase.
    pub(super) const fn is_over(&self) -> bool {
        self.stage.is_over()
    }

    /// As whom the peer has come in.
    pub(super) fn peer(&self) -> Option<&[u8]> {
        self.peer.as_deref()
    }

    pub(super) fn begin(&mut self, method: Option<Method>, rng: &mut Rng, acts: &mut Actions) {
        self.stage = method.map_or(Stage::Idle, Stage::Running);
        (self.sent, self.answer, self.peer) = (0, None, None);
        match method {
            None => {}
            Some(Method::Chap) => self.ask(rng, acts),
            // It is the peer's turn.
            Some(Method::Pap) => {
                acts.push(MachineAction::Arm(Timer::Admit, self.restart * u64::from(self.tries)));
            }
        }
    }

    pub(super) fn end(&mut self, acts: &mut Actions) {
        self.stage = Stage::Idle;
        self.peer = None;
        acts.push(MachineAction::Disarm(Timer::Admit));
    }

    fn ask(&mut self, rng: &mut Rng, acts: &mut Actions) {
        self.sent += 1;
        self.answer = None;
        // RFC 1994 section 4.1: another one each time, both.
        self.identifier = self.identifier.wrapping_add(1);
        for part in self.challenge.chunks_mut(8) {
            for (octet, random) in part.iter_mut().zip(rng.next_u64().to_be_bytes()) {
                *octet = random;
            }
        }
        let message = chap::Message::Challenge { value: &self.challenge, name: &self.name };
        send_chap(self.identifier, message, acts);
        acts.push(MachineAction::Arm(Timer::Admit, self.restart));
    }

    pub(super) fn expire(&mut self, rng: &mut Rng, acts: &mut Actions) {
        match self.stage {
            Stage::Running(Method::Chap) if self.sent < self.tries => self.ask(rng, acts),
            // After the peer has come in: it is asked again, as often.
            Stage::Done(Method::Chap) if self.answer.is_some() || self.sent < self.tries => {
                if self.answer.is_some() {
                    self.sent = 0;
                }
                self.ask(rng, acts);
            }
            Stage::Running(_) | Stage::Done(_) => {
                let end = End::NeverSaidWho { peer: true };
                acts.push(MachineAction::Fail(protocol::LCP, end));
            }
            Stage::Idle | Stage::Failed(_) => {}
        }
    }

    fn let_in(&mut self, method: Method, name: &[u8], acts: &mut Actions) {
        if self.stage == Stage::Running(method) {
            note(acts, format!("{} is let in by {method}", Text(name)));
        }
        self.stage = Stage::Done(method);
        self.peer = Some(name.to_vec());
        match (method, self.rechallenge) {
            (Method::Chap, Some(time)) => acts.push(MachineAction::Arm(Timer::Admit, time)),
            (Method::Chap, None) | (Method::Pap, _) => acts.push(MachineAction::Disarm(Timer::Admit)),
        }
    }

    fn keep_out(&mut self, method: Method, name: &[u8], acts: &mut Actions) {
        self.stage = Stage::Failed(method);
        let name = name.to_vec();
        acts.push(MachineAction::Disarm(Timer::Admit));
        acts.push(MachineAction::Fail(protocol::LCP, End::NotLetIn { name }));
    }

    /// Whether `value` is the challenge that the peer has of us.
    pub(super) fn has_asked(&self, value: &[u8]) -> bool {
        self.stage.method() == Some(Method::Chap) && !value.is_empty() && value == self.challenge
    }

    /// A request of the peer's. False: nobody has asked for it.
    pub(super) fn hear_pap(&mut self, packet: &pap::Packet<'_>, acts: &mut Actions) -> bool {
        let pap::Message::Request { peer_id, password } = packet.message else {
            return false;
        };
        if self.stage.method() != Some(Method::Pap) {
            return false;
        }
        // RFC 1334 section 2.2.1: what was answered once is answered in the same way, for the answer may be lost.
        let is_good = self.answer.unwrap_or_else(|| {
            let good = |entry: &Secret| entry.name.as_bytes() == peer_id && same(entry.secret.as_bytes(), password);
            self.secrets.iter().any(good)
        });
        let message = if is_good { WELCOME } else { UNKNOWN };
        let message = Some(message);
        let reply = if is_good { pap::Message::Ack { message } } else { pap::Message::Nak { message } };
        send_pap(packet.identifier, reply, acts);
        if self.answer.replace(is_good).is_none() {
            if is_good {
                self.let_in(Method::Pap, peer_id, acts);
            } else {
                self.keep_out(Method::Pap, peer_id, acts);
            }
        }
        true
    }

    /// A response to our challenge. False: it is none.
    pub(super) fn hear_chap(&mut self, packet: &chap::Packet<'_>, acts: &mut Actions) -> bool {
        let chap::Message::Response { value, name } = packet.message else {
            return false;
        };
        if self.stage.method() != Some(Method::Chap) || packet.identifier != self.identifier {
            return false;
        }
        // RFC 1994 section 4.1: another response to the same challenge must not find out more.
        let is_good = self.answer.unwrap_or_else(|| {
            let entry = self.secrets.iter().find(|it| it.name.as_bytes() == name);
            entry.is_some_and(|entry| {
                let right = chap_md5(self.identifier, entry.secret.as_bytes(), &self.challenge);
                // Our own response to our own challenge, reflected, has our name; it is nobody's who may come in.
                same(value, &right) && name != self.name
            })
        });
        let reply = if is_good {
            chap::Message::Success { message: WELCOME }
        } else {
            chap::Message::Failure { message: UNKNOWN }
        };
        send_chap(packet.identifier, reply, acts);
        if self.answer.replace(is_good).is_none() {
            if is_good {
                self.let_in(Method::Chap, name, acts);
            } else {
                self.keep_out(Method::Chap, name, acts);
            }
        }
        true
    }
}
