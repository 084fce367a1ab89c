//! One call, or one permanent circuit: two halves, and what waits between them.

use core::net::SocketAddr;
use kumiki_graph::Special;
use std::collections::VecDeque;

use kumiki_graph::{Below, Context, Credit, Handle, Instant, Offered, Reason, Request, TimerSlot};
use kumiki_octets::{Account, Message};
use kumiki_osi_service::x25::{self, Number, Primitive};

use super::config::Counters;
use super::permanent::Permanent;

/// How far a half is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The packet layer does not know it.
    Gone,
    /// It has offered the call, and was told our handle.
    Offered,
    /// It was asked for.
    Opening,
    /// It stands.
    Stands,
    /// It stands, and we have asked for a reset.
    Resetting,
}

/// A packet on its way from one half to the other.
#[derive(Debug)]
pub(super) struct RelayedData {
    data: Message,
    end: bool,
    qualified: bool,
    delivery: bool,
}

/// What a packet layer knows of the call.
#[derive(Debug)]
pub(super) struct Half {
    /// The port, which is also the layer below of this number.
    pub(super) port: u16,
    /// The packet layer's handle.
    pub(super) lower: Handle,
    pub(super) phase: Phase,
    /// Packets that the packet layer takes.
    credit: u32,
    /// What has come from the other half and finds no credit. As long as the window of that one, which is granted as
    /// this is emptied.
    queue: VecDeque<RelayedData>,
    /// An interrupt that waits for the end of a reset.
    interrupt: Option<Message>,
    /// A reset that is to follow the one in progress: of a permanent circuit, each says something.
    next_reset: Option<x25::PacketCause>,
    /// Octets that have come by it.
    pub(super) octets: u64,
    /// Where the peer is, if it is reached by XOT.
    pub(super) peer: Option<SocketAddr>,
}

impl Half {
    pub(super) fn new(port: u16, lower: Handle, phase: Phase) -> Self {
        Self {
            port,
            lower,
            phase,
            credit: 0,
            queue: VecDeque::new(),
            interrupt: None,
            next_reset: None,
            octets: 0,
            peer: None,
        }
    }

    fn down(&self, request: Request, cx: &mut Context<'_>) {
        cx.down(Below(self.port), request);
    }

    /// Ends it, where there is something to end.
    pub(super) fn end(&mut self, why: x25::PacketCause, data: Option<Message>, own: Handle, cx: &mut Context<'_>) {
        let (session, reason) = (self.lower, Reason::peer(x25::Cause::Packet(why)));
        match core::mem::replace(&mut self.phase, Phase::Gone) {
            Phase::Gone => {}
            Phase::Opening => {
                let user = (own.index, own.generation);
                self.particular(Primitive::TakeBack { user, why, data }, cx);
            }
            Phase::Offered | Phase::Stands | Phase::Resetting => {
                self.down(Request::Abort { session, reason, data }, cx);
            }
        }
    }

    /// Nothing that was on its way to it arrives.
    fn purge(&mut self, counters: &mut Counters) {
        counters.purged += u64::try_from(self.queue.len()).unwrap_or(u64::MAX);
        self.queue.clear();
        self.interrupt = None;
    }

    fn particular(&self, what: Primitive, cx: &mut Context<'_>) {
        let session = self.lower;
        let what = Special::new(what);
        self.down(Request::Special { session, what }, cx);
    }
}

/// A call and what it is about.
#[derive(Debug)]
pub(super) struct Call {
    /// Counted from 1.
    pub(super) number: u64,
    /// The half that calls and the one that is called; of a permanent circuit as they were given.
    pub(super) halves: [Half; 2],
    pub(super) calling: Number,
    pub(super) called: Number,
    /// What was asked for, until it stands or nobody is left to be asked: the offer, and which targets of which route
    /// come next.
    pub(super) wanted: Option<Box<PendingCall>>,
    pub(super) permanent: Option<Box<Permanent>>,
    /// By which port it was tried last, and why it does not stand there.
    pub(super) tried: Option<(u16, Reason)>,
    /// When it was set up.
    pub(super) since: Option<Instant>,
    /// When something crossed it last, and when that is looked at.
    pub(super) last: Instant,
    pub(super) timer: TimerSlot,
    /// Its account of the memory of the process, where that is bounded.
    pub(super) budget: Option<Account>,
}

/// Which call something is told of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Named {
    /// Its number; 0: none.
    pub(super) number: u64,
    /// Where its ends are.
    pub(super) peers: [Option<SocketAddr>; 2],
}

/// A call that is being set up.
#[derive(Debug)]
pub(super) struct PendingCall {
    pub(super) offered: Offered,
    pub(super) called: Number,
    pub(super) calling: Number,
    /// Ports that are still to be tried, the last one first.
    pub(super) targets: Vec<u16>,
    /// Why the last one that was tried failed.
    pub(super) failed: Option<Reason>,
}

/// The two halves, the one of `side` first.
fn split(halves: &mut [Half; 2], side: usize) -> (&mut Half, &mut Half) {
    let [a, b] = halves;
    if side == 0 { (a, b) } else { (b, a) }
}

impl Call {
    /// A call of this number, of which nothing more is known.
    pub(super) fn new(number: u64, halves: [Half; 2], now: Instant) -> Self {
        Self {
            number,
            halves,
            calling: Number::NONE,
            called: Number::NONE,
            wanted: None,
            permanent: None,
            tried: None,
            since: None,
            last: now,
            timer: TimerSlot::default(),
            budget: None,
        }
    }

    /// What it is called where it is told of.
    pub(super) fn named(&self) -> Named {
        let [from, to] = &self.halves;
        Named { number: self.number, peers: [from.peer, to.peer] }
    }

    pub(super) fn half(&mut self, side: usize) -> &mut Half {
        split(&mut self.halves, side).0
    }

    pub(super) fn other(&mut self, side: usize) -> &mut Half {
        split(&mut self.halves, side).1
    }

    /// Whether packets can cross the half of `side`: of a permanent circuit it stands also while its interface is away.
    fn is_there(&self, side: usize) -> bool {
        let permanent = self.permanent.as_ref();
        permanent.is_none_or(|it| it.is_there(side))
    }

    /// Sends what the half of `side` has credit for, and lets the other one bring as much.
    fn pump(&mut self, side: usize, cx: &mut Context<'_>) {
        let (half, other) = split(&mut self.halves, side);
        let mut moved = 0;
        while half.phase == Phase::Stands && half.credit > 0 {
            let Some(piece) = half.queue.pop_front() else {
                break;
            };
            half.credit -= 1;
            moved += 1;
            let RelayedData { data, end, qualified, delivery } = piece;
            if qualified || delivery {
                let what = Primitive::Data { data, end, qualified, delivery };
                half.particular(what, cx);
            } else {
                let session = half.lower;
                half.down(Request::Data { session, data, end }, cx);
            }
        }
        if moved > 0 && other.phase == Phase::Stands {
            let (session, credit) = (other.lower, Credit::messages(moved));
            other.down(Request::Credit { session, credit }, cx);
        }
    }

    /// A packet has come by the half of `side`.
    pub(super) fn data(
        &mut self,
        side: usize,
        data: Message,
        end: bool,
        (qualified, delivery): (bool, bool),
        counters: &mut Counters,
        cx: &mut Context<'_>,
    ) {
        let is_cut = !self.is_there(1 - side);
        self.last = cx.now();
        let (half, other) = split(&mut self.halves, side);
        if half.phase != Phase::Stands || is_cut {
            // Sent before a reset that is not confirmed yet, or to an end that is away: no more is granted for it.
            counters.purged += 1;
            return;
        }
        counters.packets += 1;
        counters.octets += data.len() as u64;
        half.octets += data.len() as u64;
        other.queue.push_back(RelayedData { data, end, qualified, delivery });
        self.pump(1 - side, cx);
    }

    pub(super) fn credit(&mut self, side: usize, messages: u32, cx: &mut Context<'_>) {
        let half = self.half(side);
        half.credit = half.credit.saturating_add(messages);
        self.pump(side, cx);
    }

    /// So many packets with the D bit have been confirmed at the half of `side`.
    pub(super) fn confirmed(&mut self, side: usize, packets: u32, cx: &mut Context<'_>) {
        let other = self.other(side);
        if other.phase == Phase::Stands {
            other.particular(Primitive::Confirm { packets }, cx);
        }
    }

    pub(super) fn interrupt(&mut self, side: usize, data: Message, cx: &mut Context<'_>) {
        if !self.is_there(1 - side) {
            return cx.drop("interrupt to an end that is away");
        }
        self.last = cx.now();
        let other = self.other(side);
        if other.phase == Phase::Stands {
            let session = other.lower;
            other.down(Request::Expedited { session, data }, cx);
        } else {
            other.interrupt = Some(data);
        }
    }

    pub(super) fn interrupt_confirmed(&mut self, side: usize, cx: &mut Context<'_>) {
        let other = self.other(side);
        if other.phase == Phase::Stands {
            other.particular(Primitive::InterruptConfirm, cx);
        }
    }

    /// Asks for a reset of the half of `side`, where it stands.
    pub(super) fn reset(&mut self, side: usize, why: x25::PacketCause, cx: &mut Context<'_>) {
        let (is_permanent, is_there) = (self.permanent.is_some(), self.is_there(side));
        let half = self.half(side);
        if half.phase == Phase::Resetting && is_permanent {
            half.next_reset = Some(why);
        } else if half.phase == Phase::Stands && is_there {
            half.phase = Phase::Resetting;
            half.credit = 0;
            let (session, reason) = (half.lower, Reason::peer(x25::Cause::Packet(why)));
            half.down(Request::Reset { session, reason }, cx);
        }
    }

    /// The half of `side` says that it is reset; true where that is no answer to us, and the other one is to be reset
    /// too.
    pub(super) fn was_reset(&mut self, side: usize, counters: &mut Counters, cx: &mut Context<'_>) -> bool {
        let half = self.half(side);
        half.credit = 0;
        if half.phase == Phase::Resetting {
            half.phase = Phase::Stands;
            if let Some(why) = half.next_reset.take() {
                self.reset(side, why, cx);
            } else if let Some(data) = half.interrupt.take() {
                let session = half.lower;
                half.down(Request::Expedited { session, data }, cx);
            }
            return false;
        }
        for half in &mut self.halves {
            half.purge(counters);
        }
        let half = self.half(side);
        let (session, reason) = (half.lower, Reason::User);
        half.down(Request::Reset { session, reason }, cx);
        true
    }

    /// What waits for a half that has gone is of no use any more.
    pub(super) fn purge(&mut self, counters: &mut Counters) {
        for half in &mut self.halves {
            half.purge(counters);
        }
    }
}
