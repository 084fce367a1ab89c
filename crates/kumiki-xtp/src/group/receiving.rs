//! A receiver: it asks to join, begins where it is told to, and spreads its answers.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P38 and P39 (joining), P44 (answers), P46 (leaving), P48 (a transmitter that is gone) |
//! | Left out | questions of its own to the transmitter |

use core::net::{IpAddr, SocketAddr};

use kumiki_graph::{Address, Duration, Instant, Membership, Notice};
use kumiki_octets::Message;
use kumiki_wire::xtp::{self, Format, Join, Options};

use crate::context::{Ctx, Endpoint, Exchange, HEADER};
use crate::packet::{DataPrefix, transmit};
use crate::receive::Receive;
use crate::send::Writer;
use crate::table::key_of;
use crate::timers::Timer;

use super::Part;

/// What a context needs to know as a receiver.
#[derive(Debug)]
pub(crate) struct Member {
    /// The group, and the port at which we listen.
    pub(crate) group: SocketAddr,
    /// The transmitter has answered.
    pub(crate) admitted: bool,
    /// We have not heard its call.
    pub(crate) late: bool,
    /// The stream begins here, which the user does not know yet.
    begins: Option<u64>,
    /// How often we have asked to join.
    tries: u32,
    /// The answer that waits for its slot is for more than a gap.
    owed: bool,
}

impl Endpoint {
    /// The context receives what is sent to `group`.
    pub(crate) fn become_receiver(&mut self, group: SocketAddr, late: bool, own: IpAddr) {
        self.part =
            Part::Receiver(Box::new(Member { group, admitted: false, late, begins: None, tries: 0, owed: false }));
        self.path.local = own;
        // Nothing goes the other way.
        self.send.writer = Writer::Closed;
    }

    fn member(&mut self) -> Option<&mut Member> {
        match &mut self.part {
            Part::Receiver(member) => Some(member),
            Part::Pair | Part::Transmitter(_) => None,
        }
    }

    /// Whether the context receives what is sent to `group`.
    pub(crate) fn is_member_of(&self, group: SocketAddr) -> bool {
        matches!(&self.part, Part::Receiver(member) if member.group == group)
    }

    /// JCNTL, which is for us: the transmitter has us in its list, and says where we begin (P39).
    pub(crate) fn on_admission(&mut self, begin: u64, address: &xtp::Address, ctx: &mut Ctx<'_, '_>) {
        let xtp::Address::Ip { source, .. } = address else {
            return;
        };
        let Some(member) = self.member().filter(|it| !it.admitted) else {
            return;
        };
        member.admitted = true;
        let late = member.late;
        // What was asked before we were in the list.
        self.answering.due |= core::mem::take(&mut member.owed);
        self.exchange = Exchange::Done;
        self.timers.clear(Timer::Slot, ctx.cx);
        if self.remote.ip().is_unspecified() {
            self.path.remote = source.ip();
        }
        self.remote = *source;
        if begin > self.receive.rseq {
            self.begin_at(begin);
        } else if late && self.receive.noerr {
            // What came before was passed over.
            let held = self.receive.waiting_octets();
            let begin = self.receive.rseq.saturating_sub(held);
            if let Some(member) = self.member().filter(|_| begin > 0) {
                member.begins = Some(begin);
            }
        }
        if self.accepted {
            self.deliver_held(ctx);
        } else if late {
            self.offer(ctx);
        }
    }

    /// The stream is over. Who has all of it need not have been told to begin.
    pub(crate) fn take_whole_stream(&mut self, ctx: &mut Ctx<'_, '_>) {
        let whole = self.part.is_joining() && self.read_closed && self.accepted;
        if let Some(member) = self.member().filter(|_| whole) {
            member.admitted = true;
            self.deliver_held(ctx);
        }
    }

    /// What comes before `begin` we shall not get.
    fn begin_at(&mut self, begin: u64) {
        let room = self.receive.room + self.receive.waiting_octets();
        let mut receive = Receive::new(room, self.receive.noerr);
        receive.rseq = begin;
        receive.alloc = begin.saturating_add(room);
        receive.end = self.receive.end.filter(|end| *end >= begin);
        self.receive = receive;
        if let Some(member) = self.member() {
            member.begins = Some(begin);
        }
    }

    /// The user gets what has waited for the transmitter's answer.
    fn deliver_held(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.tell_beginning(ctx);
        for piece in self.receive.take_waiting() {
            self.deliver(piece, ctx);
        }
        self.answer_if_taken();
        self.release_if_complete(ctx);
        self.dirty = true;
    }

    /// The user learns that it does not get the stream from its first octet on.
    pub(crate) fn tell_beginning(&mut self, ctx: &mut Ctx<'_, '_>) {
        if let Some(at) = self.member().and_then(|it| it.begins.take()) {
            self.notice(Notice::Member(Box::new(Membership::Begins(at))), ctx);
        }
    }

    /// An answer is owed: it leaves at a time of its own within the slot, and so do not all answers at once (P44). What
    /// is only for a gap is not sent where the gap has gone by then.
    pub(crate) fn answer_in_slot(&mut self, for_gap: bool, ctx: &mut Ctx<'_, '_>) {
        self.answering.due = false;
        let Some(member) = self.member() else {
            return;
        };
        member.owed |= !for_gap;
        if self.timers.is_set(Timer::Slot) {
            return;
        }
        let wait = spread(ctx);
        if wait.is_zero() {
            self.slot_expired(ctx);
        } else {
            self.timers.set(Timer::Slot, ctx.now() + wait, ctx.cx);
        }
    }

    /// The time for an answer, or to ask once more to join.
    pub(crate) fn slot_expired(&mut self, ctx: &mut Ctx<'_, '_>) {
        let Some(member) = self.member() else {
            return;
        };
        let owed = core::mem::take(&mut member.owed);
        if !member.admitted {
            self.ask_to_join(ctx);
        } else if self.accepted && self.read_closed && self.released {
            self.finish(ctx);
        } else if self.accepted && (owed || self.receive.misses()) {
            self.tell(Options::NONE, ctx);
        }
    }

    /// Asks to join, or asks again; after so many tries there is nobody to answer.
    fn ask_to_join(&mut self, ctx: &mut Ctx<'_, '_>) {
        let most = ctx.shared.config.receiver_tries;
        let Some(member) = self.member() else {
            return;
        };
        if member.tries > most {
            // Should the transmitter have us in its list, it need not wait for us.
            self.give_up(ctx);
            return;
        }
        let wait = ctx.shared.config.rtt.minimum * (1 << member.tries.min(16));
        member.tries += 1;
        self.send_join(ctx);
        let at = ctx.now() + wait + spread(ctx);
        self.timers.set(Timer::Slot, at, ctx.cx);
    }

    fn send_join(&mut self, ctx: &mut Ctx<'_, '_>) {
        let Some(group) = self.member().map(|it| it.group) else {
            return;
        };
        let address =
            xtp::Address::Ip { domain: 0, destination: group, source: SocketAddr::new(self.path.local, group.port()) };
        let join =
            Join { control: self.control(), xkey: key_of(self.handle), address, traffic: self.traffic(ctx.shared) };
        let octets = u64::from(HEADER) + join.len() as u64;
        if self.may_send() < octets {
            // The next try finds what has come until then.
            return;
        }
        self.allowance.on_sent(octets);
        let options = Options::SREQ | Options::WCLOSE;
        self.transmit_join(&join, options, self.path, self.key(), ctx);
    }

    pub(crate) fn transmit_join(
        &mut self,
        join: &Join,
        options: Options,
        path: crate::packet::Path,
        key: xtp::Key,
        ctx: &mut Ctx<'_, '_>,
    ) {
        ctx.shared.counters.jcntl_sent += 1;
        let mut octets = vec![0; join.len()];
        join.emit(&mut octets);
        let seq = self.send.board.nxt();
        let header = xtp::Header { key, ..self.header(Format::Jcntl, options, seq) };
        transmit(&path, header, &DataPrefix::Octets(&octets), Message::new(), ctx.cx);
    }

    /// The user wants no more of it (P46). What is complete already ends by itself.
    pub(crate) fn leave(&mut self, ctx: &mut Ctx<'_, '_>) {
        if !(self.read_closed && self.released) {
            self.send_end(Options::NONE, ctx);
            self.closed(ctx);
        }
    }

    /// Whether the transmitter has not been heard of for too long (P48); otherwise, when that will be.
    pub(crate) fn transmitter_is_gone(&self, now: Instant) -> Result<(), Option<Instant>> {
        if self.modes.ctimeout.is_zero() {
            return Err(None);
        }
        let at = self.heard_at + self.modes.ctimer + self.modes.ctimeout;
        if at <= now { Ok(()) } else { Err(Some(at)) }
    }

    /// The name under which the group's packets come, and the port, for who shall not hear them again.
    pub(crate) fn unwanted(&self) -> Option<((Address, xtp::Key), u16)> {
        let Part::Receiver(member) = &self.part else {
            return None;
        };
        self.name().map(|name| (name, member.group.port()))
    }
}

/// A time within the slot.
fn spread(ctx: &mut Ctx<'_, '_>) -> Duration {
    let slot = ctx.shared.config.slot;
    Duration::from_nanos(ctx.cx.rng().below(slot.as_nanos()))
}
