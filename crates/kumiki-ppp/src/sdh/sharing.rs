//! Whose a frame is where MAPOS and PPP share a line; the rule is in the documentation of [`crate::sdh`].

use kumiki_graph::{Above, Duration, Instant};
use kumiki_wire::ppp::mapos::{CONTROL, Width, protocol};

use crate::MaposProtocol;
use kumiki_graph::users::Users;

/// A protocol that PPP passes, or has passed a moment ago.
#[derive(Clone, Copy, Debug)]
struct Claim {
    protocol: u16,
    /// When it ends; `None` while PPP passes the protocol.
    until: Option<Instant>,
}

/// The users of both protocols, and what PPP passes.
#[derive(Debug)]
pub(super) struct Sharing {
    width: Width,
    hold: Duration,
    /// MAPOS's.
    pub(super) users: Users<MaposProtocol>,
    /// PPP's only one.
    pub(super) ppp: Option<Above>,
    claims: Vec<Claim>,
}

impl Sharing {
    pub(super) fn new(width: Width, hold: Duration) -> Self {
        Self { width, hold, users: Users::default(), ppp: None, claims: Vec::new() }
    }

    /// Whether both protocols have users, so that frames must be told apart.
    pub(super) fn is_shared(&self) -> bool {
        self.ppp.is_some() && !self.users.is_empty()
    }

    /// PPP says whether it passes `protocol`. Where the line is not `up`, nothing of it is in flight.
    pub(super) fn pass(&mut self, protocol: u16, pass: bool, up: bool, now: Instant) {
        let was = self.claims.iter().any(|it| it.protocol == protocol);
        self.claims.retain(|it| it.protocol != protocol && it.until.is_none_or(|until| now < until));
        if pass {
            let until = None;
            self.claims.push(Claim { protocol, until });
        } else if was && up && !self.hold.is_zero() {
            let until = Some(now + self.hold);
            self.claims.push(Claim { protocol, until });
        }
    }

    /// The line is down, so nothing is in flight any more.
    pub(super) fn cut(&mut self) {
        self.claims.retain(|it| it.until.is_none());
    }

    /// Whether frames to all with this protocol are PPP's because PPP passes it.
    pub(super) fn is_claimed(&self, protocol: u16, now: Instant) -> bool {
        self.claims.iter().any(|it| it.protocol == protocol && it.until.is_none_or(|until| now < until))
    }

    /// Whether our own frame of MAPOS to all could be taken for PPP's.
    pub(super) fn is_ambiguous(&self, protocol: u16, now: Instant) -> bool {
        self.width == Width::Eight && self.is_shared() && self.is_claimed(protocol, now)
    }

    /// Whether a frame of PPP is one that the peer can tell from MAPOS's.
    pub(super) fn is_clear(&self, front: &[u8]) -> bool {
        !self.is_shared() || front.starts_with(&[0xff, CONTROL])
    }

    /// Whether a frame that begins like this is PPP's.
    pub(super) fn is_ppp(&self, front: &[u8], now: Instant) -> bool {
        if !self.is_shared() {
            return self.ppp.is_some();
        }
        let [0xff, CONTROL, behind @ ..] = front else {
            return false;
        };
        // FF is no first octet of an address of 16 bits.
        if self.width == Width::Sixteen {
            return true;
        }
        match *behind {
            // A protocol field of one octet.
            [first, ..] if first & 1 == 1 => true,
            [first, second, ..] => match u16::from_be_bytes([first, second]) {
                protocol::ARP | protocol::NSP | protocol::SSP => false,
                other => self.is_claimed(other, now) || self.users.find(MaposProtocol(other)).is_none(),
            },
            [] | [_] => false,
        }
    }
}
