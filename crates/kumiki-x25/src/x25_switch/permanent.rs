//! Permanent virtual circuits: two channels of two ports, joined for as long as packets can cross both.
//!
//! An end is *there* when its packet layer has given us the channel and its interface is ready. Who is at the other end
//! hears by RESET when that changes, once for each change; the log says so, once for each change and for each other
//! status by which XOT's peer refuses.

use kumiki_graph::Parameters;
use kumiki_graph::{Below, Context, Duration, Handle, Open, Reason, Request, TimerSlot, Token};
use kumiki_osi_service::x25::{self, CauseField, cause, diagnostic};

use super::call::{Call, Half, Phase};
use super::config::CircuitEnd;
use super::{CallEvent, RETRY, Switch, call_of, half_handle};

/// The longest pause before an end is asked for again, unless [`super::Config::retry`] is longer: what RFC 1613 section
/// 6.5 suggests.
const LONGEST: Duration = Duration::from_secs(300);

/// How an end is, as the log has it.
#[derive(Clone, PartialEq, Eq, Debug)]
enum EndStatus {
    There,
    Away(Reason),
}

/// An end of a permanent circuit, beside its half.
#[derive(Debug)]
struct End {
    place: CircuitEnd,
    is_there: bool,
    said: Option<EndStatus>,
    /// How often it was asked for in vain since it was there.
    tries: u32,
    timer: TimerSlot,
}

/// What a permanent circuit has beside its halves.
#[derive(Debug)]
pub(super) struct Permanent {
    ends: [End; 2],
}

impl Permanent {
    pub(super) fn new(places: [CircuitEnd; 2]) -> Self {
        Self {
            ends: places.map(|place| End { place, is_there: false, said: None, tries: 0, timer: TimerSlot::default() }),
        }
    }

    fn end(&mut self, side: usize) -> &mut End {
        let [a, b] = &mut self.ends;
        if side == 0 { a } else { b }
    }

    /// Whether packets can cross the end of `side`.
    pub(super) fn is_there(&self, side: usize) -> bool {
        let [a, b] = &self.ends;
        if side == 0 { a.is_there } else { b.is_there }
    }

    pub(super) fn stop(&mut self, cx: &mut Context<'_>) {
        for end in &mut self.ends {
            cx.clear_timer(&mut end.timer);
        }
    }
}

const fn reset(cause: u8) -> x25::PacketCause {
    x25::PacketCause { what: CauseField::Reset, cause, diagnostic: diagnostic::NONE }
}

/// Whether only another configuration at one of the two ends helps where XOT's peer says so. That its interface is
/// down, or the circuit in use, passes.
fn is_for_good(reason: &Reason) -> bool {
    let refused = matches!(reason.cause(), Some(x25::Cause::CircuitRefused(0x13 | 0x15 | 0x16 | 0x18..=0xff)));
    refused || *reason == Reason::BadAddress
}

impl Switch {
    /// Asks for the ends of all circuits.
    pub(super) fn join_all(&mut self, cx: &mut Context<'_>) {
        for places in self.config.circuits.clone() {
            let [a, b] = &places;
            let (Some(a), Some(b)) = (self.number_of(&a.port), self.number_of(&b.port)) else {
                cx.drop("permanent circuit of a port that is not there");
                continue;
            };
            self.numbered += 1;
            let halves = [a, b].map(|port| Half::new(port, Handle::default(), Phase::Gone));
            let mut call = Call::new(self.numbered, halves, cx.now());
            call.permanent = Some(Box::new(Permanent::new(places)));
            let own = self.calls.insert(Box::new(call));
            self.occupy(a, true);
            self.occupy(b, true);
            for side in [0, 1] {
                self.join(half_handle(own, side), cx);
            }
        }
    }

    /// Asks for the end of a circuit that this half is, where it is missing.
    pub(super) fn join(&mut self, own_half: Handle, cx: &mut Context<'_>) {
        let (own, side) = call_of(own_half);
        let Some(call) = self.calls.get(own) else {
            return;
        };
        let Some(permanent) = &mut call.permanent else {
            return;
        };
        let end = permanent.end(side);
        cx.clear_timer(&mut end.timer);
        let channel = end.place.channel;
        let half = call.half(side);
        if half.phase != Phase::Gone {
            return;
        }
        // Credit of the end before is not this one's.
        *half = Half::new(half.port, Handle::default(), Phase::Opening);
        let open = Open {
            user: own_half,
            parameters: Parameters::of(x25::Call { channel: Some(channel), relayed: true, ..x25::Call::default() }),
            ..Open::default()
        };
        cx.down(Below(half.port), Request::Open(Box::new(open)));
    }

    /// The interface of `port` is ready or no longer, or has a circuit that nobody has taken.
    pub(super) fn look_at_ends(&mut self, port: u16, cx: &mut Context<'_>) {
        for own in self.calls.handles() {
            for side in [0, 1] {
                let Some(call) = self.calls.get(own) else {
                    continue;
                };
                if call.permanent.is_none() || call.half(side).port != port {
                    continue;
                }
                self.join(half_handle(own, side), cx);
                self.look(own, side, Reason::Down, cx);
            }
        }
    }

    /// A channel was given to us.
    pub(super) fn joined(&mut self, own: Handle, side: usize, cx: &mut Context<'_>) {
        self.look(own, side, Reason::Down, cx);
    }

    /// A channel is ours no longer, or was not to be had.
    pub(super) fn parted(&mut self, own: Handle, side: usize, reason: Reason, cx: &mut Context<'_>) {
        let retry = self.config.retry;
        let Some(call) = self.calls.get(own) else {
            return;
        };
        let Some(permanent) = &mut call.permanent else {
            return;
        };
        let end = permanent.end(side);
        let longest = LONGEST.max(retry);
        let pause =
            if is_for_good(&reason) { longest } else { retry.saturating_mul(1 << end.tries.min(16)).min(longest) };
        end.tries = end.tries.saturating_add(1);
        // RFC 1613 section 6.5: so two that have refused each other do not do it again.
        let half = pause.as_nanos() / 2;
        let pause = Duration::from_nanos(half + cx.rng().below(half.max(1)));
        let deadline = cx.now() + pause;
        let token = Token { session: half_handle(own, side), kind: RETRY };
        cx.set_timer(&mut end.timer, token, deadline);
        self.look(own, side, reason, cx);
    }

    /// Whether a port leads over XOT: what fails there is the network between, and not the interface of somebody.
    fn is_network(&self, port: u16) -> bool {
        let name = self.name(port);
        self.config.always_up.contains(&name)
    }

    /// Looks whether an end is there, and tells who has to know; `reason` is why not.
    fn look(&mut self, own: Handle, side: usize, reason: Reason, cx: &mut Context<'_>) {
        let Some(call) = self.calls.get(own) else {
            return;
        };
        let ports = [call.half(side).port, call.other(side).port];
        let [is_up, _] = ports.map(|port| self.is_up(port));
        let [near, far] = ports.map(|port| self.is_network(port));
        let Some(call) = self.calls.get(own) else {
            return;
        };
        let phase = call.half(side).phase;
        let is_there = is_up && matches!(phase, Phase::Stands | Phase::Resetting);
        let other_phase = call.other(side).phase;
        let Some(permanent) = &mut call.permanent else {
            return;
        };
        let (other_there, other_said) = {
            let other = permanent.end(1 - side);
            (other.is_there, other.said.clone())
        };
        let end = permanent.end(side);
        let was_there = core::mem::replace(&mut end.is_there, is_there);
        let place = end.place.clone();
        if is_there {
            if was_there {
                return;
            }
            end.tries = 0;
            end.said = Some(EndStatus::There);
            // What has waited was for an end that is no more.
            call.purge(&mut self.counters);
            if other_there {
                let up = if near { cause::RESET_NETWORK_UP } else { cause::RESET_REMOTE_UP };
                call.reset(1 - side, reset(up), cx);
            } else if other_phase != Phase::Opening || other_said.is_some() {
                call.reset(side, reset(down(far)), cx);
            }
            let named = call.named();
            return self.tell(named, CallEvent::Joined(place), cx);
        }
        if was_there {
            call.purge(&mut self.counters);
        }
        // Its channel is asked for, or its interface has never been ready: nothing is known yet.
        if phase != Phase::Gone && !was_there {
            return;
        }
        let before = end_said(call, side, EndStatus::Away(reason.clone()));
        let is_news = match &before {
            // What a peer breaks may differ each time; that it does is news once.
            Some(EndStatus::Away(before)) => match (before.as_violation(), reason.as_violation()) {
                (Some(before), Some(now)) => before.layer != now.layer,
                _ => *before != reason && reason.is_told(),
            },
            Some(EndStatus::There) | None => true,
        };
        if other_there && !matches!(before, Some(EndStatus::Away(_))) {
            call.reset(1 - side, reset(down(near)), cx);
        }
        if is_news {
            let named = call.named();
            self.tell(named, CallEvent::Parted(place, reason), cx);
        }
    }
}

/// What is told where an end is away.
const fn down(is_network: bool) -> u8 {
    if is_network { cause::RESET_NETWORK_DOWN } else { cause::RESET_OUT_OF_ORDER }
}

/// Notes what the log says of an end, and gives what it said before.
fn end_said(call: &mut Call, side: usize, said: EndStatus) -> Option<EndStatus> {
    let permanent = call.permanent.as_mut()?;
    permanent.end(side).said.replace(said)
}
