//! What the options of LCP mean to us (RFC 1661 section 6, RFC 1662 section 7, RFC 1570 section 2, RFC 1989 section
//! 2.5).

use crate::ppp::Agreement;
use std::collections::BTreeSet;

use kumiki_graph::{Duration, Rng};
use kumiki_wire::ppp::ppp::control::Item;
use kumiki_wire::ppp::ppp::lcp::{CHAP_MD5, Opt, fcs, kind};
use kumiki_wire::ppp::ppp::{DEFAULT_MRU, protocol};

use super::config::{Config, LEAST_MRU, Method, Methods};
use super::log::{End, Kind};
use super::machine::{Actions, MachineAction, Negotiator, OptionVerdict, option};

/// Which octets below 20 (hexadecimal) are escaped on an asynchronous line as long as nothing is agreed on.
const DEFAULT_ACCM: u32 = u32::MAX;

/// What one end asks for: of the peer, or the peer of us.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct DesiredOptions {
    pub(super) mru: Option<u16>,
    pub(super) accm: Option<u32>,
    pub(super) auth: Option<Method>,
    /// The period of reports, in 1/100 s.
    pub(super) quality: Option<u32>,
    pub(super) magic: Option<u32>,
    pub(super) pfc: bool,
    pub(super) acfc: bool,
    /// Bits of [`fcs`].
    pub(super) fcs: Option<u8>,
}

/// The options of LCP.
#[derive(Debug)]
pub(super) struct Lcp {
    config: Set,
    pub(super) ours: DesiredOptions,
    heard: DesiredOptions,
    pub(super) theirs: DesiredOptions,
    /// The magic number in the last Nak that we sent.
    nakked_magic: u32,
    /// How often in a row the peer's magic number was ours.
    loops: u32,
    /// Types that the peer rejected; they are not asked for because of a Nak.
    rejected: BTreeSet<u8>,
}

/// What of the configuration concerns LCP.
#[derive(Debug)]
struct Set {
    mru: u16,
    accm: Option<u32>,
    magic: bool,
    pfc: bool,
    acfc: bool,
    fcs: u8,
    ask_fcs: Option<u8>,
    auth: Methods,
    prove: Methods,
    period: Option<u32>,
    report: bool,
    max_loops: u32,
}

/// A time in 1/100 s, one at least.
fn hundredths(time: Duration) -> u32 {
    u32::try_from(time.as_millis() / 10).unwrap_or(u32::MAX).max(1)
}

const fn fcs_bit(bits: u8) -> u8 {
    if bits == 32 { fcs::FCS_32 } else { fcs::FCS_16 }
}

fn octets(opt: Opt<'_>) -> Vec<u8> {
    option(opt.len(), |out| opt.emit(out))
}

impl Method {
    fn option(self) -> Opt<'static> {
        match self {
            Self::Pap => Opt::Authentication { protocol: protocol::PAP, data: &[] },
            Self::Chap => Opt::Authentication { protocol: protocol::CHAP, data: &[CHAP_MD5] },
        }
    }

    fn of(protocol: u16, data: &[u8]) -> Option<Self> {
        match (protocol, data) {
            (protocol::PAP, []) => Some(Self::Pap),
            (protocol::CHAP, [CHAP_MD5]) => Some(Self::Chap),
            _ => None,
        }
    }
}

impl Lcp {
    pub(super) fn new(config: &Config) -> Self {
        let prove = if config.secret.is_some() { config.prove } else { Methods::None };
        Self {
            config: Set {
                mru: config.mru,
                accm: config.accm,
                magic: config.magic,
                pfc: config.pfc,
                acfc: config.acfc,
                fcs: config.fcs,
                ask_fcs: config.ask_fcs,
                auth: config.auth,
                prove,
                period: config.quality.period.map(hundredths),
                report: config.quality.report,
                max_loops: config.max_failure,
            },
            ours: DesiredOptions::default(),
            heard: DesiredOptions::default(),
            theirs: DesiredOptions::default(),
            nakked_magic: 0,
            loops: 0,
            rejected: BTreeSet::new(),
        }
    }

    /// Our magic number; 0 where none was agreed on.
    pub(super) fn magic(&self) -> u32 {
        self.ours.magic.unwrap_or(0)
    }

    /// The peer's magic number; 0 where it has none.
    pub(super) fn peer_magic(&self) -> u32 {
        self.theirs.magic.unwrap_or(0)
    }

    /// Octets behind the protocol field that the peer takes.
    pub(super) fn peer_mru(&self) -> u16 {
        self.theirs.mru.unwrap_or(DEFAULT_MRU)
    }

    /// What both ends agree on while LCP is Opened.
    pub(super) fn agreement(&self) -> Agreement {
        let (ours, theirs) = (&self.ours, &self.theirs);
        let default = self.config.accm.map_or(0, |_| DEFAULT_ACCM);
        let fcs = |asked: Option<u8>| match asked {
            Some(bits) if bits & fcs::FCS_32 != 0 => 32,
            Some(bits) if bits & fcs::FCS_16 != 0 => 16,
            _ => self.config.fcs,
        };
        Agreement {
            peer_mru: self.peer_mru().into(),
            mru: ours.mru.unwrap_or(DEFAULT_MRU).into(),
            send_accm: theirs.accm.unwrap_or(default),
            receive_accm: ours.accm.unwrap_or(default),
            acfc: theirs.acfc && self.config.acfc,
            pfc: theirs.pfc && self.config.pfc,
            send_fcs: fcs(theirs.fcs),
            receive_fcs: fcs(ours.fcs),
        }
    }

    fn new_magic(&self, rng: &mut Rng) -> u32 {
        // Neither 0 nor one that was in the game; three tries in a row cannot all be wrong.
        let draws = [rng.next_u32(), rng.next_u32(), rng.next_u32()];
        let used = [0, self.magic(), self.nakked_magic];
        let fresh = draws.into_iter().find(|magic| !used.contains(magic));
        fresh.unwrap_or(1)
    }

    fn judge_auth(&self, asked: Opt<'_>, method: Option<Method>, acts: &mut Actions) -> OptionVerdict {
        match method {
            Some(method) if self.config.prove.allow(method) => OptionVerdict::Ack,
            _ => match self.config.prove.first() {
                Some(first) => {
                    let able = self.config.prove;
                    say(acts, format!("we refuse {asked}: we can do {able}"));
                    OptionVerdict::Nak(octets(first.option()))
                }
                None => {
                    let why = "we have no secret by which to say who we are";
                    say(acts, format!("we refuse {asked}: {why}"));
                    acts.push(MachineAction::Because(protocol::LCP, End::CannotSayWho));
                    OptionVerdict::Reject
                }
            },
        }
    }

    fn judge_magic(&mut self, magic: u32, rng: &mut Rng, acts: &mut Actions) -> OptionVerdict {
        let is_ours = magic != 0 && Some(magic) == self.ours.magic;
        if !is_ours && magic != 0 {
            self.loops = 0;
            self.heard.magic = Some(magic);
            return OptionVerdict::Ack;
        }
        let other = self.new_magic(rng);
        self.nakked_magic = other;
        if is_ours {
            self.loops += 1;
            let opt = Opt::Magic(magic);
            say(acts, format!("we refuse {opt}: it is our own, the line may be looped back"));
            if self.loops >= self.config.max_loops {
                acts.push(MachineAction::Fail(protocol::LCP, End::LoopedBack));
            }
        } else {
            say(acts, "we refuse magic 0: it says nothing".to_owned());
        }
        OptionVerdict::Nak(octets(Opt::Magic(other)))
    }

    fn nakked_auth(&mut self, wanted: Opt<'_>, method: Option<Method>, acts: &mut Actions) {
        let Some(asked) = self.ours.auth else {
            return;
        };
        say(acts, format!("the peer will not use {asked}; it would use {wanted}"));
        // Either: what the peer would rather have, or else the one that was not tried.
        self.ours.auth = match (self.config.auth, asked, method) {
            (Methods::Either, _, Some(method)) => Some(method),
            (Methods::Either, Method::Chap, None) => Some(Method::Pap),
            _ => None,
        };
        if self.ours.auth.is_none() {
            self.ours.auth = Some(asked);
            acts.push(MachineAction::Fail(protocol::LCP, End::WillNotSayWho));
        }
    }
}

/// A refusal, to the log.
pub(super) fn say(acts: &mut Actions, text: String) {
    acts.push(MachineAction::Say(Kind::Refusal, text));
}

impl Negotiator for Lcp {
    const PROTOCOL: u16 = protocol::LCP;

    fn begin(&mut self, rng: &mut Rng) {
        let config = &self.config;
        // The number stays: it is this end's, and nothing has shown that the peer has it too.
        let magic = match self.ours.magic {
            None if config.magic => Some(self.new_magic(rng)),
            magic => magic.filter(|_| config.magic),
        };
        self.ours = DesiredOptions {
            mru: Some(config.mru).filter(|mru| *mru != DEFAULT_MRU),
            accm: config.accm.filter(|accm| *accm != DEFAULT_ACCM),
            auth: config.auth.first(),
            quality: config.period,
            magic,
            pfc: config.pfc,
            acfc: config.acfc,
            fcs: config.ask_fcs.map(fcs_bit),
        };
        self.theirs = DesiredOptions::default();
        self.rejected.clear();
    }

    fn wishes(&self) -> Vec<u8> {
        let period = self.ours.quality.unwrap_or_default().to_be_bytes();
        let opts = [
            self.ours.mru.map(Opt::Mru),
            self.ours.accm.map(Opt::Accm),
            self.ours.auth.map(Method::option),
            self.ours.quality.map(|_| Opt::Quality { protocol: protocol::LQR, data: &period }),
            self.ours.magic.map(Opt::Magic),
            self.ours.pfc.then_some(Opt::Pfc),
            self.ours.acfc.then_some(Opt::Acfc),
            self.ours.fcs.map(Opt::FcsAlternatives),
        ];
        opts.into_iter().flatten().flat_map(octets).collect()
    }

    fn hear(&mut self) {
        self.heard = DesiredOptions::default();
    }

    fn judge(&mut self, item: Item<'_>, rng: &mut Rng, acts: &mut Actions) -> OptionVerdict {
        let opt = Opt::of(item);
        match opt {
            Opt::Mru(mru) if mru < LEAST_MRU => {
                say(acts, format!("we refuse {opt}: we would take {LEAST_MRU} or more"));
                return OptionVerdict::Nak(octets(Opt::Mru(LEAST_MRU)));
            }
            Opt::Mru(mru) => self.heard.mru = Some(mru),
            Opt::Accm(accm) => self.heard.accm = Some(accm),
            Opt::Authentication { protocol, data } => {
                let method = Method::of(protocol, data);
                let judged = self.judge_auth(opt, method, acts);
                if judged == OptionVerdict::Ack {
                    self.heard.auth = method;
                }
                return judged;
            }
            Opt::Quality { protocol, data } => {
                if !self.config.report {
                    say(acts, format!("we refuse {opt}: we send no reports"));
                    return OptionVerdict::Reject;
                }
                let (protocol::LQR, &[a, b, c, d]) = (protocol, data) else {
                    let period = self.config.period.unwrap_or(1000).to_be_bytes();
                    let better = Opt::Quality { protocol: protocol::LQR, data: &period };
                    say(acts, format!("we refuse {opt}: we can do {better}"));
                    return OptionVerdict::Nak(octets(better));
                };
                self.heard.quality = Some(u32::from_be_bytes([a, b, c, d]));
            }
            Opt::Magic(magic) => return self.judge_magic(magic, rng, acts),
            Opt::Pfc => self.heard.pfc = true,
            Opt::Acfc => self.heard.acfc = true,
            Opt::FcsAlternatives(bits) if bits & (fcs::FCS_16 | fcs::FCS_32) == 0 => {
                let better = Opt::FcsAlternatives(fcs_bit(self.config.fcs));
                say(acts, format!("we refuse {opt}: we can do {better}"));
                return OptionVerdict::Nak(octets(better));
            }
            Opt::FcsAlternatives(bits) => self.heard.fcs = Some(bits),
            Opt::SelfDescribingPadding(_) | Opt::Callback { .. } | Opt::CompoundFrames | Opt::Other(_) => {
                say(acts, format!("we refuse {opt}: we do not do that"));
                return OptionVerdict::Reject;
            }
        }
        OptionVerdict::Ack
    }

    fn right(&self, kind: u8) -> Option<Vec<u8>> {
        let opt = match kind {
            kind::MRU => Opt::Mru(DEFAULT_MRU),
            kind::ACCM => Opt::Accm(0),
            kind::AUTHENTICATION => self.config.prove.first()?.option(),
            // Any number that is not ours would do.
            kind::MAGIC => Opt::Magic(self.magic().wrapping_add(1).max(1)),
            kind::FCS_ALTERNATIVES => Opt::FcsAlternatives(fcs_bit(self.config.fcs)),
            // Booleans have no value to be nak'd with, and the others are not negotiated.
            _ => return None,
        };
        Some(octets(opt))
    }

    /// RFC 1661 section 6.4: who asks for a magic number does not reject the peer's.
    fn is_vital(&self, kind: u8) -> bool {
        kind == kind::MAGIC && self.ours.magic.is_some()
    }

    fn missing(&mut self, _: &BTreeSet<u8>) -> Vec<u8> {
        Vec::new()
    }

    fn commit(&mut self) {
        self.theirs = self.heard;
    }

    fn nakked(&mut self, item: Item<'_>, asked: bool, rng: &mut Rng, acts: &mut Actions) {
        let opt = Opt::of(item);
        if self.rejected.contains(&item.kind) {
            return;
        }
        match opt {
            // What an end takes is its own affair: more than it can it does not promise.
            Opt::Mru(mru) => {
                let own = self.ours.mru.unwrap_or(DEFAULT_MRU);
                if asked {
                    say(acts, format!("the peer will not have mru {own}; it would take {mru}"));
                }
                if (LEAST_MRU..=self.config.mru.max(DEFAULT_MRU)).contains(&mru) {
                    self.ours.mru = Some(mru);
                }
            }
            // RFC 1662 section 7.1: the union of both.
            Opt::Accm(accm) => {
                if let Some(own) = self.ours.accm {
                    let own_text = Opt::Accm(own);
                    say(acts, format!("the peer will not have {own_text}; it would take {opt}"));
                    self.ours.accm = Some(own | accm);
                }
            }
            Opt::Authentication { protocol, data } => {
                self.nakked_auth(opt, Method::of(protocol, data), acts);
            }
            Opt::Quality { protocol, data } => {
                let period = match (protocol, data) {
                    (protocol::LQR, &[a, b, c, d]) => Some(u32::from_be_bytes([a, b, c, d])),
                    _ => None,
                };
                if asked {
                    say(acts, format!("the peer will not send reports as we ask for them; it would do {opt}"));
                    self.ours.quality = period.filter(|period| *period > 0);
                }
            }
            Opt::Magic(magic) => {
                if !self.config.magic {
                    return;
                }
                let own = Opt::Magic(self.magic());
                say(acts, format!("the peer will not have {own}; it would take {opt}"));
                // RFC 1661 section 6.4: another than our last Nak had is one that no end has.
                let is_new = magic != 0 && magic != self.nakked_magic;
                self.ours.magic = Some(if is_new { magic } else { self.new_magic(rng) });
            }
            Opt::FcsAlternatives(bits) => {
                if asked {
                    say(acts, format!("the peer would rather do {opt}"));
                    let able = bits & (fcs::FCS_16 | fcs::FCS_32);
                    self.ours.fcs = (able != 0).then_some(able);
                }
            }
            // RFC 1661 section 5.3: these are never nak'd, so nothing would be agreed to.
            Opt::Pfc | Opt::Acfc => self.rejected(item.kind, acts),
            Opt::SelfDescribingPadding(_) | Opt::Callback { .. } | Opt::CompoundFrames | Opt::Other(_) => {}
        }
    }

    fn rejected(&mut self, kind: u8, acts: &mut Actions) {
        self.rejected.insert(kind);
        let name = match kind {
            kind::MRU => {
                self.ours.mru = None;
                "mru"
            }
            kind::ACCM => {
                self.ours.accm = None;
                "asyncmap"
            }
            kind::AUTHENTICATION => {
                acts.push(MachineAction::Fail(protocol::LCP, End::WillNotSayWho));
                "auth"
            }
            kind::QUALITY => {
                self.ours.quality = None;
                "quality"
            }
            kind::MAGIC => {
                self.ours.magic = None;
                "magic"
            }
            kind::PFC => {
                self.ours.pfc = false;
                "pcomp"
            }
            kind::ACFC => {
                self.ours.acfc = false;
                "accomp"
            }
            kind::FCS_ALTERNATIVES => {
                self.ours.fcs = None;
                "fcs"
            }
            _ => "what we did not ask for",
        };
        say(acts, format!("the peer rejects {name}: it cannot be negotiated"));
    }
}
