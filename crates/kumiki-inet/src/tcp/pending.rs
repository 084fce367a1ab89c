//! Callers whose SYN nobody has answered: those of passive opens that offer first ([`OfferFirst`]).
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.9.1.1 leaves to the implementation when a passive open answers; what other hosts call a transparent proxy (Linux: `IP_TRANSPARENT`) has no document |
//! | Memory | as many entries as the backlog of the passive open says: a SYN without its text, and its header to be quoted |
//! | Left out | forgetting a caller that has fallen silent: who is offered answers it, and learns by a reset or a time-out |

use kumiki_wire::inet::IpParameters;

use core::net::SocketAddr;

use kumiki_graph::{
    Above, Below, Context, Handle, Indication, Manage, Offered, Problem, Quality, Report, Request, Unit,
};
use kumiki_octets::{Checksum, Message, Payload};
use kumiki_wire::inet::tcp::{Flags, MAX_LEN, Seq};

use super::demux::Pair;
use super::pairs::ConnectionEntry;
use super::segment::{self, Segment};
use super::session::{Ctx, Session};
use super::table::Entry;
use super::{Tcp, isn};

/// Where CWR to FIN stand in a header.
const FLAGS_AT: usize = 13;
const SYN_AND_ACK: u8 = 0x12;
const SYN: u8 = 0x02;

/// Among the parameters of a passive open: each caller is offered before its SYN is answered, and as many may wait for
/// an answer as the backlog says; SYNs beyond that are dropped. Port 0 is every port then on which nobody else listens.
///
/// [`Request::Accept`] answers the SYN, and the session stands for its user from then on; credit follows when the
/// handshake is done. [`Request::Abort`] resets the caller, and [`RefuseCaller`] has ICMP say why, or nobody. A SYN
/// that comes again meanwhile is no other call. [`Withdrawn`] tells that a caller has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OfferFirst;

impl Payload for OfferFirst {}

/// As [`Manage::Special`]: a caller that was offered and not accepted is refused without a reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefuseCaller {
    /// Our handle, from [`Offered`].
    pub session: Handle,
    /// What ICMP tells the caller; `None`: nothing, as if its SYN had been lost.
    pub problem: Option<Problem>,
}

impl Payload for RefuseCaller {}

/// As [`Report::Special`]: a caller that was offered has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Withdrawn {
    /// Our handle, from [`Offered`].
    pub session: Handle,
}

impl Payload for Withdrawn {}

/// A caller.
#[derive(Debug)]
pub(super) struct Pending {
    pair: Pair,
    /// The passive open that it called.
    pub(super) listener: Handle,
    /// What the session is called that it may become.
    handle: Handle,
    /// Its latest SYN, without text: that is left to be retransmitted.
    segment: Segment,
    /// What the ISS must be beyond, after a connection of the same pair.
    least: Option<Seq>,
    /// The SYN as it came, as far as ICMP quotes it.
    quote: Option<Box<Unit>>,
}

impl ConnectionEntry for Pending {
    fn pair(&self) -> &Pair {
        &self.pair
    }
}

/// The header of a SYN, to be quoted; `None` of any other segment.
pub(super) fn quote(unit: &Unit) -> Option<Box<Unit>> {
    let mut header = [0; MAX_LEN];
    let len = unit.data.len().min(MAX_LEN);
    let front = header.get_mut(..len)?;
    if !unit.data.copy_to(0, front) || front.get(FLAGS_AT)? & SYN_AND_ACK != SYN {
        return None;
    }
    let mut data = Message::from_octets(front);
    data.meta_mut().checksum = Checksum::Verified;
    let Unit { source, destination, options, .. } = unit;
    Some(Box::new(Unit { source: *source, destination: *destination, options: *options, ..Unit::of(data) }))
}

impl Tcp {
    /// A SYN for a passive open that offers first.
    pub(super) fn offer(
        &mut self,
        at: Handle,
        pair: Pair,
        mut segment: Segment,
        (least, quote): (Option<Seq>, Option<Box<Unit>>),
        cx: &mut Context<'_>,
    ) {
        if self.shared.memory.is_spent(self.shared.config.memory) {
            self.refuse_for_memory(&pair, &segment, cx);
            return;
        }
        let unit = self.shared.own_mss(self.shared.unit, pair.remote.ip());
        let Some(listener) = self.table.listener(at) else {
            return;
        };
        listener.waiting += 1;
        let (above, user) = (listener.above, listener.user);
        let handle = self.table.reserve();
        self.table.fill(handle, Entry::Pending(Box::new(pair)));
        strip(&mut segment);
        let secret = self.shared.secret;
        self.pending.insert(secret, Pending { pair, listener: at, handle, segment, least, quote });
        let (local, remote) = (SocketAddr::from(pair.local).into(), SocketAddr::from(pair.remote).into());
        let offered = Offered { user, provider: handle, local, remote, unit, ..Offered::default() };
        cx.up(above, Indication::Offered(Box::new(offered)));
    }

    /// A segment of a caller that waits for its answer. It is given back where it is of another call, with what the ISS
    /// must be beyond.
    pub(super) fn pending_says(
        &mut self,
        index: u32,
        mut segment: Segment,
        cx: &mut Context<'_>,
    ) -> Option<(Segment, Option<Seq>)> {
        let it = self.pending.get(index)?;
        let irs = it.segment.seq;
        if segment.has(Flags::RST) {
            // All that it can have sent before is its SYN.
            if segment.seq == irs + 1 {
                self.shared.counters.resets_received += 1;
                self.withdraw(index, cx);
            }
            return None;
        }
        if !segment.has(Flags::SYN) || segment.has(Flags::ACK) {
            return None;
        }
        if segment.seq != irs {
            let least = it.least;
            self.withdraw(index, cx);
            return Some((segment, least));
        }
        // Its timestamp is the later one.
        strip(&mut segment);
        it.segment = segment;
        None
    }

    /// Takes a caller out of the table; the handle names nothing then.
    fn take_pending(&mut self, index: u32) -> Option<Pending> {
        let it = self.pending.remove(self.shared.secret, index)?;
        if let Some(listener) = self.table.listener(it.listener) {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
        Some(it)
    }

    fn withdraw(&mut self, index: u32, cx: &mut Context<'_>) {
        let Some(it) = self.take_pending(index) else {
            return;
        };
        self.table.remove(it.handle);
        if let Some(above) = self.table.listener(it.listener).map(|listener| listener.above) {
            let report = Report::special(Withdrawn { session: it.handle });
            cx.up(above, Indication::Report(Box::new(report)));
        }
    }

    /// The caller of `above` that `handle` names.
    fn pending_of(&mut self, above: Above, handle: Handle) -> Option<u32> {
        let pair = self.table.pending(handle)?;
        let index = self.pending.find(self.shared.secret, &pair)?;
        let listener = self.pending.get(index)?.listener;
        self.table.listener(listener).filter(|listener| listener.above == above)?;
        Some(index)
    }

    /// The user takes a caller: its SYN is answered. False where `handle` is of none.
    pub(super) fn accept_pending(
        &mut self,
        above: Above,
        (handle, user): (Handle, Handle),
        quality: &Quality,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(it) = self.pending_of(above, handle).and_then(|index| self.take_pending(index)) else {
            return false;
        };
        let iss = isn::initial(self.shared.secret, &it.pair, cx.now());
        let iss = super::callers::beyond(iss, it.least);
        let unit = self.shared.unit;
        let mut ctx = Ctx { cx, shared: &mut self.shared };
        let session = Session::new((handle, above, user), it.pair, quality, (unit, Some(iss)), &mut ctx);
        self.table.fill(handle, Entry::Session(Box::new(session)));
        self.demux.insert(it.pair, handle, |handle| self.table.pair(handle));
        self.with(handle, cx, |session, ctx| session.take_call(it.segment, ctx))
    }

    /// The user will not have a caller: a reset says so, or ICMP, or nobody. False where `handle` is of none.
    pub(super) fn refuse_pending(
        &mut self,
        above: Above,
        handle: Handle,
        how: Option<RefuseCaller>,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(it) = self.pending_of(above, handle).and_then(|index| self.take_pending(index)) else {
            return false;
        };
        self.table.remove(handle);
        match how {
            None => self.reset_caller(&it.pair, &it.segment, cx),
            Some(RefuseCaller { problem, .. }) => {
                if let (Some(problem), Some(unit)) = (problem, it.quote) {
                    cx.down(Below(0), Request::Manage(Box::new(Manage::Refuse { unit, problem })));
                }
            }
        }
        true
    }

    /// A passive open ends: who waits there is reset.
    pub(super) fn refuse_all_pending(&mut self, listener: Handle, cx: &mut Context<'_>) {
        for index in self.pending.which(|it| it.listener == listener) {
            if let Some(it) = self.take_pending(index) {
                self.table.remove(it.handle);
                self.reset_caller(&it.pair, &it.segment, cx);
            }
        }
    }

    /// There is no memory for a caller: one that is told can go elsewhere, and does not come again and again.
    pub(super) fn refuse_for_memory(&mut self, pair: &Pair, segment: &Segment, cx: &mut Context<'_>) {
        self.lacks_memory(cx);
        self.reset_caller(pair, segment, cx);
    }

    /// There is no memory for a connection that would begin.
    pub(super) fn lacks_memory(&mut self, cx: &mut Context<'_>) {
        self.shared.counters.out_of_memory += 1;
        self.shared.memory.refuse();
        cx.drop("no memory for another connection");
    }

    fn reset_caller(&mut self, pair: &Pair, segment: &Segment, cx: &mut Context<'_>) {
        let options: IpParameters = self.shared.unit_options();
        if segment::reset(pair, segment, options, cx) {
            self.shared.counters.resets_sent += 1;
        }
    }
}

/// Leaves of a SYN what a caller is answered by.
fn strip(segment: &mut Segment) {
    segment.text = Message::new();
    segment.flags = segment.flags.without(Flags::FIN);
}

impl Session {
    /// The user takes a caller whose SYN nobody has answered. That is as if the user had called, and the two SYNs had
    /// crossed (RFC 9293 figure 7), but for a SYN that was never sent.
    pub(super) fn take_call(&mut self, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        self.passive = true;
        self.accepted = true;
        self.answer_call(segment, ctx);
    }
}
