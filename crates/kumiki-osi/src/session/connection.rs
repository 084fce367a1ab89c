//! One session connection: its variables, by the names of X.225 section 5.4.

use std::collections::VecDeque;

use kumiki_graph::Address;
use kumiki_octets::{Gathering, Message};
use kumiki_osi_service::Association;
use kumiki_osi_service::session::{FunctionalUnits, LAST_SYNC_POINT, Resync, SyncPoint, TokenSetting, Tokens};
use kumiki_wire::osi::session::Connection as Cn;

use super::send::QueuedSend;
use super::states::State;
use crate::layer::Ends;

/// How far two releases have come that met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Collision {
    None,
    /// Neither has been answered.
    Met,
    /// The peer has answered ours.
    Answered,
}

#[derive(Debug)]
pub struct Connection {
    pub(super) ends: Ends<State>,
    /// Whether this side has sent CN.
    pub(super) initiator: bool,
    pub(super) local: Address,
    pub(super) remote: Address,
    /// What the user says to this layer and to others, until it has been said.
    pub(super) association: Option<Box<Association>>,
    /// What goes with CN, of which the part beyond its limit waits for OA.
    pub(super) data: Option<Message>,
    /// CN as it came, until its user has answered.
    pub(super) called: Option<Box<Cn>>,
    /// User data that comes in more than one CDO.
    pub(super) gathered: Gathering,
    /// What both have.
    pub(super) units: FunctionalUnits,
    /// Tokens on this side.
    pub(super) tokens: Tokens,
    /// The most octets of an SSDU segment that we send; none where SSDUs are not cut.
    pub(super) segment: Option<usize>,
    /// V(M): the next synchronisation point's number.
    pub(super) v_m: SyncPoint,
    /// V(A): the lowest that was not confirmed.
    pub(super) v_a: SyncPoint,
    /// V(R): the lowest that a restart may go back to.
    pub(super) v_r: SyncPoint,
    /// Vsc: this side confirms points, for the peer has set the last one.
    pub(super) v_sc: bool,
    /// The resynchronisation that is going on: the one that was sent, or that came.
    pub(super) resync: Option<(Resync, SyncPoint, TokenSetting)>,
    /// What of an SSDU has come, where it is cut.
    pub(super) part: Message,
    /// Both have asked for a release.
    pub(super) collision: Collision,
    /// TSDUs that transport takes.
    pub(super) room: u32,
    /// Of them, those that the user has been told of and has not used.
    pub(super) granted: u32,
    /// What waits for room.
    pub(super) waiting: VecDeque<QueuedSend>,
    /// TSDUs that transport may be granted and was not, because too much waits.
    pub(super) owed: u32,
}

impl Connection {
    pub(super) fn new(ends: Ends<State>, initiator: bool) -> Self {
        Self {
            ends,
            initiator,
            local: Address::NONE,
            remote: Address::NONE,
            association: None,
            data: None,
            called: None,
            gathered: Gathering::default(),
            units: FunctionalUnits::KERNEL,
            tokens: Tokens::default(),
            segment: None,
            v_m: 0,
            v_a: 0,
            v_r: 0,
            v_sc: false,
            resync: None,
            part: Message::new(),
            collision: Collision::None,
            room: 0,
            granted: 0,
            waiting: VecDeque::new(),
            owed: 0,
        }
    }

    /// Whether the user has been told of the session and not of its end.
    pub(super) const fn knows(&self) -> bool {
        !matches!(
            self.ends.state,
            State::WaitConnect | State::WaitOverflow | State::WaitResponse | State::WaitTransportEnd
        )
    }

    /// Whether this side has all of `tokens` that there are.
    pub(super) const fn owns(&self, tokens: Tokens) -> bool {
        let there = self.units.tokens().and(tokens);
        self.tokens.has(there)
    }

    /// Those on this side of a setting.
    pub(super) const fn own(&self, setting: TokenSetting) -> Tokens {
        let side = if self.initiator { setting.with_initiator() } else { setting.with_responder() };
        side.and(self.units.tokens())
    }

    /// The numbers at the beginning, and after a resynchronisation that starts over.
    pub(super) const fn number_from(&mut self, number: SyncPoint) {
        self.v_m = number;
        self.v_a = number;
        self.v_r = 0;
    }

    /// A minor synchronisation point is set, by us or by the peer (X.225 section 5.4.2).
    pub(super) const fn set_point(&mut self, by_peer: bool) {
        if by_peer {
            if !self.v_sc {
                self.v_a = self.v_m;
            }
            self.v_sc = true;
        } else {
            if self.v_sc {
                self.v_a = self.v_m;
            }
            self.v_sc = false;
        }
        self.v_m += 1;
    }

    /// Whether a point may still be set: numbers end, and a resynchronisation begins them again.
    pub(super) const fn may_set(&self) -> bool {
        self.v_m <= LAST_SYNC_POINT
    }

    /// Whether `number` is a point that waits for its confirmation, of the peer (`ours`) or of us.
    pub(super) const fn waits(&self, number: SyncPoint, ours: bool) -> bool {
        self.v_sc != ours && self.v_a <= number && number < self.v_m
    }

    /// The numbers after a resynchronisation.
    pub(super) const fn resynchronized(&mut self, kind: Resync, number: SyncPoint) {
        match kind {
            // V(R) stays: what was secured before is secured still.
            Resync::Restart => {
                self.v_a = number;
                self.v_m = number;
            }
            Resync::Abandon | Resync::Set => self.number_from(number),
        }
    }

    /// Whether a resynchronisation to `number` is possible.
    pub(super) const fn may_go_to(&self, kind: Resync, number: SyncPoint) -> bool {
        match kind {
            Resync::Restart => self.v_r <= number && number <= self.v_m,
            Resync::Abandon => self.v_m <= number && number <= LAST_SYNC_POINT,
            Resync::Set => number <= LAST_SYNC_POINT,
        }
    }

    /// Whether the RS that came counts, and not the one that we have sent: abandon before set before restart, the lower
    /// number of two restarts, and else the one of the initiator (X.225 section 7.16.4, recalled).
    pub(super) fn gives_way_to(&self, kind: Resync, number: SyncPoint) -> bool {
        const fn rank(kind: Resync) -> u8 {
            match kind {
                Resync::Abandon => 0,
                Resync::Set => 1,
                Resync::Restart => 2,
            }
        }
        let Some((own, own_number, _)) = self.resync else {
            return true;
        };
        let theirs = (rank(kind), if kind == Resync::Restart { number } else { 0 });
        let ours = (rank(own), if own == Resync::Restart { own_number } else { 0 });
        theirs < ours || theirs == ours && !self.initiator
    }
}
