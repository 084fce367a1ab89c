//! Urgent data: a place in the stream that the receiver should hurry to.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.8.5, RFC 6093; SND.UP and RCV.UP as there |
//! | Pointer | the sequence number after the last urgent octet (MUST-62). Where that is beyond the field's reach, the field says as far as it can, and later segments say more (MUST-31) |
//! | Data | stays in the stream at its place (RFC 6093 section 3.1); no octet is taken out of it |

use kumiki_graph::Indication;
use kumiki_octets::{Blank, Message, Payload};
use kumiki_wire::inet::tcp::{Flags, Seq};

use super::segment::Segment;
use super::send::Fin;
use super::session::{Ctx, Session};

/// What TCP tells the user of a session: urgent data is in flight, and the user should take what comes without delay
/// (RFC 9293 section 3.8.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UrgentAhead {
    /// It ends so many octets after the last one that was indicated; 0 when that one was its last.
    pub octets: u32,
}

impl Payload for UrgentAhead {}

/// The urgent pointers of one connection.
#[derive(Debug, Default)]
pub(crate) struct Urgent {
    /// SND.UP, until everything before it is acknowledged.
    snd_up: Option<Seq>,
    /// RCV.UP, until everything before it has been indicated.
    rcv_up: Option<Seq>,
}

impl Blank for Urgent {
    const BLANK: &'static Self = &Self { snd_up: None, rcv_up: None };
}

impl Urgent {
    /// Whether nothing is urgent, either way.
    pub(crate) const fn is_none(&self) -> bool {
        self.snd_up.is_none() && self.rcv_up.is_none()
    }
}

impl Session {
    /// Data to send that ends what is urgent (MUST-30).
    pub(crate) fn on_urgent(&mut self, data: Message, ctx: &mut Ctx<'_, '_>) {
        if data.is_empty() {
            ctx.cx.drop("urgent without data");
            return;
        }
        let before = self.board.nxt();
        if self.state.may_send() && self.send.fin == Fin::Open {
            let end = (before + self.send.unsent()).advance(data.len());
            self.urgent.snd_up = Some(end);
        }
        self.on_data(data, true, ctx);
        if self.board.nxt() == before && self.state.may_transmit() {
            // The data must wait, for example for a window: the peer is told to hurry all the same.
            self.emit(before, Flags::ACK, Message::new(), ctx);
        }
    }

    /// Whether urgent data ends beyond `seq`.
    pub(super) fn has_urgent_beyond(&self, seq: Seq) -> bool {
        self.urgent.snd_up.is_some_and(|up| up.gt(seq))
    }

    /// SEG.UP for a segment that begins with `seq`; 0 where nothing urgent follows.
    pub(super) fn urgent_pointer(&mut self, seq: Seq) -> u16 {
        let Some(up) = self.urgent.snd_up else {
            return 0;
        };
        if self.board.una().geq(up) {
            self.urgent.snd_up = None;
        }
        let ahead = up.distance_from(seq).max(0);
        u16::try_from(ahead).unwrap_or(u16::MAX)
    }

    /// The sixth step of RFC 9293 section 3.10.7.4. The user is told whenever the pointer advances (MUST-32), and how
    /// far it is (MUST-33).
    pub(super) fn take_urgent(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        if !segment.has(Flags::URG) || !self.state.may_receive() {
            return;
        }
        let up = segment.seq + u32::from(segment.urgent);
        let known = self.urgent.rcv_up.unwrap_or(self.receive.nxt);
        if up.leq(known) || self.receive.fin {
            return;
        }
        self.urgent.rcv_up = Some(up);
        self.tell_urgent(up - self.receive.nxt, ctx);
    }

    /// Data was indicated, or no more will come: perhaps all that was urgent has been.
    pub(super) fn settle_urgent(&mut self, ctx: &mut Ctx<'_, '_>) {
        let Some(up) = self.urgent.rcv_up else {
            return;
        };
        if self.accepted && (self.receive.nxt.geq(up) || self.receive.fin) {
            self.urgent.rcv_up = None;
            self.tell_urgent(0, ctx);
        }
    }

    /// The user has accepted the connection, and hears of what was urgent before the data that waited.
    pub(super) fn accept_urgent(&mut self, ctx: &mut Ctx<'_, '_>) {
        let Some(up) = self.urgent.rcv_up else {
            return;
        };
        let held: usize = self.receive.held.iter().map(|(text, _)| text.len()).sum();
        let indicated = self.receive.nxt - u32::try_from(held).unwrap_or(u32::MAX);
        self.tell_urgent(up - indicated, ctx);
    }

    fn tell_urgent(&self, octets: u32, ctx: &mut Ctx<'_, '_>) {
        if self.accepted {
            self.up(Indication::special(self.user, UrgentAhead { octets }), ctx);
        }
    }
}
