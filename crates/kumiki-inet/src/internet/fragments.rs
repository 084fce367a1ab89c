//! A datagram becomes several, and several become one again.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 791 section 3.2, RFC 8200 section 4.5; RFC 1122 section 3.3.2 (timeout) |
//!
//! The holes are counted by [`reassembly`](super::reassembly).

use kumiki_graph::{Context, Token, Unit};
use kumiki_octets::Message;

use super::checksum::complete_checksum;
use super::errors::{IcmpError, OriginalDatagram, REASSEMBLY};
use super::family::Family;
use super::node::{Ip, REASSEMBLY_TIMER};
use super::reassembly::{Fragment, FragmentProgress};
use super::send::SendError;

/// Fragments begin at multiples of this many octets.
pub(crate) const UNIT: usize = 8;

/// What fragments of one datagram have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FragmentKey<A> {
    pub(crate) source: A,
    pub(crate) destination: A,
    /// 0 in version 6, where it does not count.
    pub(crate) protocol: u8,
    pub(crate) identification: u32,
}

/// What is kept of the first fragment: it, and what it carries, where the header does not say that.
pub(crate) type FragmentHead<F> = (OriginalDatagram<F>, u8);

impl<F: Family> Ip<F> {
    /// Cuts `datagram`, which begins with `header`, so that no piece is longer than `mtu`. Content is shared, not
    /// copied.
    pub(super) fn cut(
        &mut self,
        header: &F::Header,
        datagram: &mut Message,
        mtu: usize,
        cx: &mut Context<'_>,
    ) -> Result<Vec<Message>, SendError> {
        if datagram.meta().segment_size != 0 {
            self.counters.frag_fails += 1;
            return Err(SendError::Impossible("super-segment beyond the MTU"));
        }
        complete_checksum(datagram, cx);
        let _ = datagram.pop(F::facts(header).len);
        let (mut at, mut pieces) = (0, Vec::with_capacity(datagram.len() / mtu.max(UNIT) + 1));
        while !datagram.is_empty() {
            let room = F::room(header, at == 0, mtu);
            let last = datagram.len() <= room;
            let take = if last { datagram.len() } else { room / UNIT * UNIT };
            let Some(cut) = Some(take).filter(|&take| take > 0).and_then(|take| datagram.split_to(take).ok()) else {
                self.counters.frag_fails += 1;
                return Err(SendError::Impossible("MTU too small for a fragment"));
            };
            pieces.push(F::fragment(self, header, at, !last, cut));
            at += take;
        }
        self.counters.frag_oks += 1;
        self.counters.frag_creates += pieces.len() as u64;
        Ok(pieces)
    }

    /// Takes a fragment of a datagram for us, which came in `unit`: that takes what is whole with it.
    pub(crate) fn reassemble(
        &mut self,
        fragment: Fragment<'_, FragmentKey<F::Address>, FragmentHead<F>>,
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) {
        match self.reassembly.take(cx.now(), fragment) {
            FragmentProgress::Waiting | FragmentProgress::Swallowed => {}
            FragmentProgress::Whole { head: (mut about, next), ecn, data } => {
                match F::rejoin(&mut about.header, next, Some(ecn), data) {
                    Some(datagram) => {
                        self.counters.reasm_oks += 1;
                        about.reassembled = true;
                        unit.data = datagram;
                        F::take_ours(self, &about, unit, cx);
                    }
                    None => self.broken(cx),
                }
            }
            FragmentProgress::Broken => self.broken(cx),
        }
        while self.reassembly.over() {
            self.counters.reasm_fails += 1;
            cx.drop("too many fragments held");
        }
        self.set_reassembly_timer(cx);
    }

    pub(crate) fn broken(&mut self, cx: &mut Context<'_>) {
        self.counters.reasm_fails += 1;
        cx.drop("fragments that do not fit together");
    }

    fn set_reassembly_timer(&mut self, cx: &mut Context<'_>) {
        let token = Token { kind: REASSEMBLY_TIMER, ..Token::default() };
        match self.reassembly.deadline() {
            None => cx.clear_timer(&mut self.reassembly_timer),
            Some(deadline) if self.reassembly_timer.deadline() == Some(deadline) => {}
            Some(deadline) => cx.set_timer(&mut self.reassembly_timer, token, deadline),
        }
    }

    pub(super) fn give_up_reassembly(&mut self, cx: &mut Context<'_>) {
        while let Some(late) = self.reassembly.late(cx.now()) {
            self.counters.reasm_fails += 1;
            cx.drop("fragments missing for too long");
            if let Some(((mut about, next), first)) = late
                && let Some(first) = F::rejoin(&mut about.header, next, None, first)
            {
                self.error(&about, IcmpError::TimeExceeded(REASSEMBLY), &first, cx);
            }
        }
        cx.clear_timer(&mut self.reassembly_timer);
        self.set_reassembly_timer(cx);
    }
}
