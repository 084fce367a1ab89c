//! Permanent virtual circuits: two channels of two ports, joined for as long as both are there.

use kumiki_graph::{Below, Context, Handle, Open, Reason, Request, TimerSlot, Token};
use kumiki_osi::x25::{self, Number, What, cause, diagnostic};

use super::call::{Call, Half, Phase};
use super::{Happened, RETRY, Switch, causes, half_handle};

const fn reset(cause: u8) -> x25::Told {
    x25::Told {
        what: What::Reset,
        cause,
        diagnostic: diagnostic::NONE,
    }
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
            let call = Call {
                number: self.numbered,
                halves: [a, b].map(|port| Half::new(port, Handle::default(), Phase::Gone)),
                calling: Number::NONE,
                called: Number::NONE,
                wanted: None,
                permanent: Some(places.clone()),
                since: None,
                timer: TimerSlot::default(),
            };
            let own = self.calls.insert(Box::new(call));
            self.occupy(a, true);
            self.occupy(b, true);
            self.join(own, cx);
        }
    }

    /// Asks for the ends of a circuit that are missing.
    pub(super) fn join(&mut self, own: Handle, cx: &mut Context<'_>) {
        for side in [0, 1] {
            let Some(call) = self.calls.get(own) else {
                return;
            };
            let place = call.permanent.as_ref().and_then(|places| places.get(side));
            let Some(channel) = place.map(|place| place.channel) else {
                return;
            };
            let half = call.half(side);
            if half.phase != Phase::Gone {
                continue;
            }
            // Credit of the end before is not this one's.
            *half = Half::new(half.port, Handle::default(), Phase::Opening);
            let open = Open {
                user: half_handle(own, side),
                call: Some(Box::new(x25::Call {
                    channel: Some(channel),
                    relayed: true,
                    ..x25::Call::default()
                })),
                ..Open::default()
            };
            cx.down(Below(half.port), Request::Open(Box::new(open)));
        }
    }

    /// An end of a circuit is there.
    pub(super) fn joined(&mut self, own: Handle, side: usize, cx: &mut Context<'_>) {
        let Some(call) = self.calls.get(own) else {
            return;
        };
        // What it has heard meanwhile was for nobody.
        call.purge(&mut self.counters);
        call.reset(1 - side, reset(cause::RESET_REMOTE_UP), cx);
        let (number, place) = (call.number, place(call, side));
        if let Some(place) = place {
            self.tell(number, Happened::Joined(place), cx);
        }
    }

    /// An end of a circuit is there no longer.
    pub(super) fn parted(
        &mut self,
        own: Handle,
        side: usize,
        reason: Reason,
        cx: &mut Context<'_>,
    ) {
        let deadline = cx.now() + self.config.retry;
        let Some(call) = self.calls.get(own) else {
            return;
        };
        call.purge(&mut self.counters);
        let mut why = causes::of_reset(reason);
        why.cause = cause::RESET_NETWORK_DOWN;
        call.reset(1 - side, why, cx);
        let token = Token {
            session: own,
            kind: RETRY,
        };
        cx.set_timer(&mut call.timer, token, deadline);
        let (number, place) = (call.number, place(call, side));
        if let Some(place) = place {
            self.tell(number, Happened::Parted(place), cx);
        }
    }
}

fn place(call: &Call, side: usize) -> Option<super::Place> {
    call.permanent.as_ref()?.get(side).cloned()
}
