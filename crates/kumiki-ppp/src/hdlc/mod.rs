//! HDLC-like framing on a device that carries octets: frames become octets of a line, and octets frames.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1662 sections 3, 4, 6 and 7.1; RFC 1570 section 2.1 (which frame check sequence a frame has) |
//! | Above | [`crate::ppp`]: one unit is one frame, from address or protocol field to the end of its information |
//! | Below | a device whose units are octets of a line, in pieces of any size: a terminal, a socket, the standard streams |
//! | Left out | the null sequence (RFC 1570 section 2.1.2), for which the default one is used; sending maps of more than 32 characters; Configure- and Terminate-Requests sent twice where another sequence was agreed on; bit-synchronous lines |
//!
//! Frames are written by what the ends have agreed on ([`LinkManage::Agreed`]), before that by the defaults: all
//! control characters escaped on an asynchronous line, and the sequence of [`Config::fcs`]. LCP's packets of codes 1 to
//! 7 always go by the defaults (RFC 1662 section 7.1), for the peer may have lost what was agreed on.
//!
//! # The moment of change
//!
//! What is received is read by the defaults until the ends have agreed, and the peer uses what was agreed on in the
//! frame right behind the packet that completes it, which may be in the same piece. So as long as nothing is agreed on,
//! a piece is taken only up to the first Configure-Request or -Ack, and the rest when the layers above have dealt with
//! that. Where more than [`MOST_WAITING`] octets wait, they are taken as they are.
//!
//! In the same way frames wait behind a Configure-Request or -Ack of a network control protocol, behind which that
//! protocol's datagrams may pass.
//!
//! A peer that believes that the ends have agreed, where we do not, sends control characters as they are. Taking them
//! out, as is right on an asynchronous line, spoils its frames. So as long as nothing is agreed on, a frame whose
//! sequence is right with them is one: a deviation from RFC 1662 section 4.2, which would drop it.

use crate::ppp::Agreement;
use crate::ppp::DamagedFrames;
use crate::ppp::LinkManage;
use std::collections::VecDeque;

use kumiki_graph::{
    Above, Below, Context, Indication, Key, Manage, Protocol, Report, Request, Service, Shape, TimerSlot, Token, Unit,
    UnitIndication, UnitRequest,
};
use kumiki_octets::Message;
use kumiki_octets::hdlc::{Accm, FLAG, Stop, Unstuffer};
use kumiki_settings::Settings;
use kumiki_wire::ppp::hdlc::{Deframed, Deframer, FcsKind, Framing, FramingCounters};
use kumiki_wire::ppp::ppp::{self, DEFAULT_MRU, control::code, protocol};

#[cfg(test)]
mod tests;

/// The words for the bits of a check sequence.
const FCS: [(&str, FcsKind); 2] = [("16", FcsKind::Fcs16), ("32", FcsKind::Fcs32)];

/// What can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Whether the line is asynchronous: control characters are escaped until less is agreed on (RFC 1662 section 7.1).
    #[setting(name = "async")]
    pub asynchronous: bool,
    /// Bits of the frame check sequence that the line begins with.
    #[setting(words = FCS)]
    pub fcs: FcsKind,
    /// The most octets behind the protocol field that are taken; where more is agreed on, more.
    #[setting(LEAST_MRU.into()..=65535, octets)]
    pub mru: u32,
    /// Whether each frame has a flag before it too, so that noise on an idle line spoils none.
    pub opening_flag: bool,
}

/// What every implementation must be able to receive, whatever it asked for (RFC 1661 section 6.1).
pub const LEAST_MRU: u32 = DEFAULT_MRU as u32;

/// Address, control, protocol, and room for the padding of peers that pad (RFC 1661 section 2).
const ROOM: usize = 4 + 64;

/// The most octets that wait while the layers above deal with a packet that may change how the rest is read.
pub const MOST_WAITING: usize = 256 * 1024;

impl Default for Config {
    /// An asynchronous line as RFC 1662 has it.
    fn default() -> Self {
        Self { asynchronous: true, fcs: FcsKind::Fcs16, mru: LEAST_MRU, opening_flag: true }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames sent.
    pub sent: u64,
    /// Octets of the line that carried them.
    pub line_sent: u64,
    /// Frames handed up.
    pub received: u64,
    /// Octets that came from the line.
    pub line_received: u64,
    /// Frames dropped: wrong frame check sequence.
    pub bad_fcs: u64,
    /// Frames dropped: aborted by the sender.
    pub aborts: u64,
    /// Frames dropped: too short.
    pub runts: u64,
    /// Frames dropped: longer than we take.
    pub oversize: u64,
    /// Octets that belonged to no frame.
    pub skipped: u64,
}

/// What a frame is, as far as framing must know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// LCP, codes 1 or 2: what is agreed on may change behind it.
    Turning,
    /// LCP, codes 3 to 7.
    Control,
    /// A network control protocol, codes 1 or 2: what may pass may change behind it.
    Passing,
    Other,
}

impl Kind {
    fn of(front: &[u8]) -> Self {
        let Ok((header, len)) = ppp::Header::parse(front) else {
            return Self::Other;
        };
        let code = front.get(len).copied();
        let is_configure = matches!(code, Some(code::CONFIGURE_REQUEST | code::CONFIGURE_ACK));
        match (header.protocol, code) {
            (protocol::LCP, _) if is_configure => Self::Turning,
            (protocol::LCP, Some(code::CONFIGURE_NAK..=code::CODE_REJECT)) => Self::Control,
            // RFC 1661 section 2: the control protocols of network protocols.
            (0x8000..=0xbfff, _) if is_configure => Self::Passing,
            _ => Self::Other,
        }
    }
}

/// The layer.
#[derive(Debug)]
pub struct Hdlc {
    config: Config,
    agreed: Option<Agreement>,
    deframer: Deframer,
    /// Frames behind one that may change what passes; they go up when the layers above have dealt with that.
    held: VecDeque<Message>,
    /// Their octets.
    held_octets: usize,
    /// Octets that have come and are taken when the timer expires, which is at once.
    waiting: Vec<u8>,
    resume: TimerSlot,
    /// The octets of the line behind the last flag, while nothing is agreed on and the line is asynchronous.
    raw: Vec<u8>,
    /// Frames that the deframer found bad and that were right in another way.
    otherwise_right: u64,
    /// How many damaged frames the layer above has been told of.
    told: u64,
    /// Where a frame is put together.
    line: Vec<u8>,
    counters: Counters,
}

const BELOW: Below = Below(0);
const USER: Above = Above(0);

const fn fcs(bits: u8, default: FcsKind) -> FcsKind {
    match bits {
        16 => FcsKind::Fcs16,
        32 => FcsKind::Fcs32,
        _ => default,
    }
}

impl Hdlc {
    /// A layer as `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let framing = Self::default_framing(config);
        Self {
            config,
            agreed: None,
            deframer: Deframer::new(framing, Self::longest(config.mru)),
            held: VecDeque::new(),
            held_octets: 0,
            waiting: Vec::new(),
            resume: TimerSlot::default(),
            raw: Vec::new(),
            otherwise_right: 0,
            told: 0,
            line: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        let FramingCounters { bad_fcs, aborts, runts, oversize, skipped, .. } = *self.deframer.counters();
        Counters {
            bad_fcs: bad_fcs.saturating_sub(self.otherwise_right),
            aborts,
            runts,
            oversize,
            skipped,
            ..self.counters
        }
    }

    /// Frames that came damaged so far.
    #[must_use]
    pub const fn damaged(&self) -> u64 {
        let counters = self.counters();
        counters.bad_fcs + counters.aborts + counters.runts + counters.oversize
    }

    fn longest(mru: u32) -> usize {
        let mru = mru.clamp(LEAST_MRU, u16::MAX.into());
        usize::try_from(mru).unwrap_or(usize::MAX) + ROOM
    }

    const fn default_framing(config: Config) -> Framing {
        Framing {
            fcs: config.fcs,
            accm: if config.asynchronous { Accm::ALL } else { Accm::NONE },
            opening_flag: config.opening_flag,
        }
    }

    /// How a frame goes to the peer.
    fn sending(&self, kind: Kind) -> Framing {
        let default = Self::default_framing(self.config);
        match (kind, self.agreed) {
            (Kind::Other | Kind::Passing, Some(agreed)) => {
                Framing { fcs: fcs(agreed.send_fcs, self.config.fcs), accm: self.accm(agreed.send_accm), ..default }
            }
            (Kind::Other | Kind::Passing, None) | (Kind::Turning | Kind::Control, _) => default,
        }
    }

    const fn accm(&self, bits: u32) -> Accm {
        if self.config.asynchronous { Accm::new(bits) } else { Accm::NONE }
    }

    fn send(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let kind = Kind::of(unit.data.front_at_least(ppp::MAX_LEN + 1));
        self.line.clear();
        self.sending(kind).emit(&unit.data, &mut self.line);
        self.counters.sent += 1;
        self.counters.line_sent += self.line.len() as u64;
        unit.data = Message::from_octets(&self.line);
        cx.down(BELOW, Request::Unit(unit));
    }

    fn agree(&mut self, agreed: Option<Agreement>) {
        if self.agreed == agreed {
            return;
        }
        self.agreed = agreed;
        self.raw.clear();
        let default = Self::default_framing(self.config);
        let framing = agreed.map_or(default, |agreed| Framing {
            fcs: fcs(agreed.receive_fcs, self.config.fcs),
            accm: self.accm(agreed.receive_accm),
            ..default
        });
        self.deframer.set_framing(framing);
        let mru = agreed.map_or(0, |agreed| agreed.mru);
        self.deframer.set_longest(Self::longest(mru.max(self.config.mru)));
    }

    /// Octets have come.
    fn take(&mut self, data: &Message, cx: &mut Context<'_>) {
        self.counters.line_received += data.len() as u64;
        if !self.waiting.is_empty() || self.agreed.is_none() {
            data.for_each(|octets| self.waiting.extend_from_slice(octets));
            // Behind what waits already, in order.
            if self.resume.deadline().is_none() {
                self.resume(cx);
            }
        } else {
            data.for_each(|octets| {
                self.deframe(octets, cx);
            });
            self.wait(cx);
        }
        self.tell_damaged(cx);
    }

    /// Takes what waits, up to a frame behind which the rest may have to be read in another way.
    fn resume(&mut self, cx: &mut Context<'_>) {
        while let Some(frame) = self.held.pop_front() {
            self.held_octets = self.held_octets.saturating_sub(frame.len());
            if self.hand_up(frame, cx) && self.held_octets <= MOST_WAITING {
                break;
            }
        }
        let waiting = core::mem::take(&mut self.waiting);
        let mut rest = waiting.as_slice();
        while !rest.is_empty() {
            if self.agreed.is_some() || rest.len() > MOST_WAITING {
                self.deframe(rest, cx);
                rest = &[];
                break;
            }
            let flag = rest.iter().position(|octet| *octet == FLAG);
            let (piece, behind) = rest.split_at_checked(flag.map_or(rest.len(), |at| at + 1)).unwrap_or((rest, &[]));
            rest = behind;
            if self.deframe(piece, cx) {
                break;
            }
        }
        self.waiting.extend_from_slice(rest);
        self.wait(cx);
    }

    /// Looks again, at once, but behind the layers above, where something waits.
    fn wait(&mut self, cx: &mut Context<'_>) {
        if !(self.waiting.is_empty() && self.held.is_empty()) && self.resume.deadline().is_none() {
            cx.set_timer(&mut self.resume, Token::default(), cx.now());
        }
    }

    /// Hands up a frame; true where what comes behind it must wait for what the layers above make of it.
    fn hand_up(&mut self, frame: Message, cx: &mut Context<'_>) -> bool {
        let mut unit = Unit::of(frame);
        let kind = Kind::of(unit.data.front_at_least(ppp::MAX_LEN + 1));
        cx.up(USER, Indication::Unit(Box::new(unit)));
        matches!(kind, Kind::Turning | Kind::Passing)
    }

    /// Hands up the frames in `octets`; true where one may change how the next is read.
    fn deframe(&mut self, octets: &[u8], cx: &mut Context<'_>) -> bool {
        let Self { config, deframer, held, held_octets, raw, otherwise_right, counters, agreed, .. } = self;
        let longest = Self::longest(config.mru);
        let within = octets.split_last().map_or(octets, |(_, within)| within);
        let is_open = config.asynchronous && agreed.is_none() && !within.contains(&FLAG);
        if is_open && raw.len() <= 2 * longest {
            raw.extend_from_slice(octets);
        }
        let receiving = agreed.map_or(config.fcs, |agreed| fcs(agreed.receive_fcs, config.fcs));
        let mut turning = false;
        // Frame by frame where nothing is agreed on.
        let mut is_held = false;
        let mut bare = Vec::new();
        deframer.take(octets, |_, found| {
            let frame = match found {
                Deframed::Frame(frame) => frame,
                Deframed::BadFcs(frame) => {
                    let otherwise = if is_open {
                        with_bare_characters(raw, config.fcs, longest, &mut bare)
                    } else {
                        // The peer has gone back to the default.
                        by_default_sequence(frame, config.fcs, receiving)
                    };
                    let Some(frame) = otherwise else {
                        return;
                    };
                    *otherwise_right += 1;
                    frame
                }
                Deframed::Dropped => return,
            };
            let kind = Kind::of(frame);
            turning |= kind == Kind::Turning;
            counters.received += 1;
            let message = Message::from_octets(frame);
            if is_held || !held.is_empty() {
                *held_octets += message.len();
                held.push_back(message);
                return;
            }
            is_held = matches!(kind, Kind::Turning | Kind::Passing);
            cx.up(USER, Indication::Unit(Box::new(Unit::of(message))));
        });
        if octets.ends_with(&[FLAG]) {
            raw.clear();
        }
        turning
    }

    fn tell_damaged(&mut self, cx: &mut Context<'_>) {
        let frames = self.damaged();
        if frames != self.told {
            self.told = frames;
            let report = Report::special(DamagedFrames(frames));
            cx.up(USER, Indication::Report(Box::new(report)));
        }
    }

    fn manage(&mut self, manage: Manage, cx: &mut Context<'_>) {
        if let Manage::Limits = manage {
            let longest = Self::longest(self.config.mru);
            let limits = Report::Limits { unit: u32::try_from(longest).unwrap_or(u32::MAX), burst: 1 };
            cx.up(USER, Indication::Report(Box::new(limits)));
        } else if let Manage::Special(what) = manage {
            if let Some(LinkManage::Agreed(agreed)) = what.get() {
                self.agree(*agreed);
            }
        } else if let Manage::Refuse { .. } = manage {
            cx.drop("a line sends nothing back");
        }
    }

    fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match report {
            Report::Up | Report::Down => {
                self.deframer.lose();
                self.waiting.clear();
                self.held.clear();
                self.held_octets = 0;
                self.raw.clear();
                cx.clear_timer(&mut self.resume);
                self.agree(None);
                cx.up(USER, Indication::Report(Box::new(report.clone())));
            }
            Report::Special(_) => cx.up(USER, Indication::Report(Box::new(report.clone()))),
            // How many octets the device takes in one piece is no matter of frames.
            Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } => {}
        }
    }
}

/// `octets` of a frame that is wrong by the sequence that was agreed on, without the default one: where it is right by
/// that and a packet of LCP that goes by the defaults.
fn by_default_sequence(octets: &[u8], default: FcsKind, agreed: FcsKind) -> Option<&[u8]> {
    let frame = octets.get(..octets.len().checked_sub(default.len())?)?;
    let right = default != agreed && default.is_right_in(octets);
    let is_control = matches!(Kind::of(frame), Kind::Turning | Kind::Control);
    (right && is_control).then_some(frame)
}

/// The frame in `line`, the octets of the line behind a flag and up to the next, where it is right with the control
/// characters that came as they are; put together in `frame`.
fn with_bare_characters<'a>(line: &[u8], fcs: FcsKind, longest: usize, frame: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    frame.clear();
    let most = longest + fcs.len();
    let taken = Unstuffer::new().unstuff(line, Accm::NONE, most, frame);
    let is_right = taken.stop == Stop::Flag && fcs.is_right_in(frame);
    let len = frame.len().checked_sub(fcs.len()).filter(|_| is_right)?;
    frame.get(..len)
}

impl Protocol for Hdlc {
    fn shape(&self) -> Shape {
        Shape {
            offers: Some(Service::FRAME),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (1, 1),
            keys: vec![Key::Only],
        }
    }

    fn bind(&mut self, above: Above, _: &[Key]) -> Result<(), String> {
        if above == USER { Ok(()) } else { Err("a line carries the frames of one user and has it already".to_owned()) }
    }

    fn push(&mut self, _: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(unit, cx),
            Some(UnitRequest::Manage(manage)) => self.manage(*manage, cx),
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.take(&unit.data, cx),
            Some(UnitIndication::Report(report)) => self.report(&report, cx),
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        cx.clear_timer(&mut self.resume);
        self.resume(cx);
        self.tell_damaged(cx);
    }
}
