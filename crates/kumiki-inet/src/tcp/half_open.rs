//! Callers whose handshake is not done: SYN-RECEIVED of a passive open, in as little memory as it needs.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.10.7.4 for SYN-RECEIVED; RFC 4987 for what a flood of SYNs may cost |
//! | Memory | at most [`super::Config::half_open`] entries of less than 200 octets, with what indexes them, and [`TEXT`] octets of text that came with SYNs |
//! | Afterwards | the acknowledgment makes a [`super::session::Session`] of an entry, and is then its first segment |

use kumiki_wire::inet::SourceRoute;
use std::collections::BTreeSet;

use kumiki_graph::{Context, Handle, Instant, TimerSlot, Token};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Options, Seq};

use super::demux::{Pair, Secret};
use super::ecn::handshake::Answering;
use super::pairs::{ConnectionEntry, Pairs};

/// Octets of text with SYNs that are kept, over all callers. What finds no room is left to be retransmitted.
pub(crate) const TEXT: usize = 64 * 1024;
/// The timer of all entries.
pub(crate) const TOKEN: Token = Token { session: Handle { index: u32::MAX, generation: u32::MAX }, kind: u32::MAX - 1 };

/// What a SYN offers, as far as it is needed afterwards.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offer {
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack: bool,
    /// TSval.
    pub(crate) timestamp: Option<u32>,
}

impl Offer {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            mss: options.mss,
            window_scale: options.window_scale,
            sack: options.sack_permitted,
            timestamp: options.timestamps.map(|(value, _)| value),
        }
    }

    pub(crate) fn options(self) -> Options {
        Options {
            mss: self.mss,
            window_scale: self.window_scale,
            sack_permitted: self.sack,
            timestamps: self.timestamp.map(|value| (value, 0)),
            ..Options::NONE
        }
    }
}

/// One caller.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) pair: Pair,
    /// The passive open that it called.
    pub(crate) listener: Handle,
    pub(crate) irs: Seq,
    pub(crate) iss: Seq,
    pub(crate) offer: Offer,
    pub(crate) ecn: Answering,
    /// SEG.WND of its SYN.
    pub(crate) window: u16,
    /// The window that our SYN,ACK offers.
    pub(crate) offered: u16,
    /// SYN,ACKs sent, and of these the ones that were retransmitted by the timer.
    pub(crate) answers: u32,
    pub(crate) retries: u32,
    /// When the first SYN,ACK was sent; `None` where nobody knows.
    pub(crate) at: Option<Instant>,
    /// When the last one was sent.
    pub(crate) answered: Instant,
    /// When the next one is due.
    pub(crate) due: Instant,
    /// When something that could not be was answered last.
    pub(crate) challenged: Option<Instant>,
    /// The way back to it (MUST-53).
    pub(crate) route: Option<Box<SourceRoute>>,
    /// Text that came with the SYN, and whether a FIN did.
    pub(crate) text: Option<Box<(Message, bool)>>,
}

impl Caller {
    fn octets(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.0.len())
    }
}

impl ConnectionEntry for Caller {
    fn pair(&self) -> &Pair {
        &self.pair
    }
}

/// All callers.
#[derive(Default)]
pub(crate) struct HalfOpen {
    callers: Pairs<Caller>,
    due: BTreeSet<(Instant, u32)>,
    octets: usize,
    timer: TimerSlot,
    armed: Option<Instant>,
}

impl HalfOpen {
    pub(crate) fn len(&self) -> usize {
        self.callers.len()
    }

    /// Whether so many more octets of text may be kept.
    pub(crate) const fn has_room_for(&self, octets: usize) -> bool {
        self.octets.saturating_add(octets) <= TEXT
    }

    pub(crate) fn find(&self, secret: Secret, pair: &Pair) -> Option<u32> {
        self.callers.find(secret, pair)
    }

    pub(crate) fn get(&mut self, index: u32) -> Option<&mut Caller> {
        self.callers.get(index)
    }

    /// Takes in a caller that is not there yet.
    pub(crate) fn insert(&mut self, secret: Secret, caller: Caller, cx: &mut Context<'_>) {
        self.octets += caller.octets();
        let due = caller.due;
        let index = self.callers.insert(secret, caller);
        self.due.insert((due, index));
        self.arm(cx);
    }

    pub(crate) fn remove(&mut self, secret: Secret, index: u32) -> Option<Caller> {
        let caller = self.callers.remove(secret, index)?;
        self.due.remove(&(caller.due, index));
        self.octets = self.octets.saturating_sub(caller.octets());
        Some(caller)
    }

    /// Moves the time at which a caller is looked at.
    pub(crate) fn set_due(&mut self, index: u32, due: Instant, cx: &mut Context<'_>) {
        let Some(caller) = self.callers.get(index) else {
            return;
        };
        let was = core::mem::replace(&mut caller.due, due);
        self.due.remove(&(was, index));
        self.due.insert((due, index));
        self.arm(cx);
    }

    /// The first caller that is due.
    pub(crate) fn next_due(&self, now: Instant) -> Option<u32> {
        let &(due, index) = self.due.first()?;
        (due <= now).then_some(index)
    }

    /// The timer has expired.
    pub(crate) const fn expired(&mut self) {
        self.armed = None;
    }

    pub(crate) fn arm(&mut self, cx: &mut Context<'_>) {
        let Some(&(due, _)) = self.due.first() else {
            return;
        };
        if self.armed.is_none_or(|armed| due < armed) {
            cx.set_timer(&mut self.timer, TOKEN, due);
            self.armed = Some(due);
        }
    }

    /// All callers of a passive open.
    pub(crate) fn of(&self, listener: Handle) -> Vec<u32> {
        self.callers.which(|caller| caller.listener == listener)
    }
}
