//! Recovery that turns out to have been for nothing, and what tells so.
//!
//! | | |
//! |---|---|
//! | Specification | Eifel detection (RFC 3522) by timestamps; RFC 3708 section 2 by D-SACK; F-RTO (RFC 5682), basic and with SACK; the response of RFC 4015 |
//! | The caller's part | when recovery begins, what is retransmitted; the response itself |
//! | Left out | RFC 4015's adaptation of RTO (step 11): the back-off is taken back, and the long round trip is a sample as any other; RFC 5682's appendix A (window-limited cases) |

use kumiki_octets::Blank;
use kumiki_wire::inet::tcp::{SackBlock, Seq};

use crate::tcp::scoreboard::Span;

/// Retransmissions of one recovery that are remembered; with more, D-SACK undoes nothing.
const MOST: usize = 64;

/// How far F-RTO has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frto {
    /// It does not run.
    Off,
    /// Step 2: the first segment, which ends here, was retransmitted.
    Again(Seq),
    /// Step 3: new data goes instead of what is taken for lost, so many segments more.
    New(u8),
}

/// What an acknowledgment says in step 3 of F-RTO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Genuine,
    Spurious,
}

/// The variables of one recovery, kept until the next begins.
#[derive(Debug)]
pub(crate) struct Undo {
    /// There is something that can be undone.
    armed: bool,
    /// The recovery began with a time-out.
    pub(crate) timeout: bool,
    /// Most duplicate acknowledgments in a row since just before it began.
    pub(crate) duplicates: u32,
    /// RetransmitTS, until the first acceptable ACK.
    retransmit_ts: Option<u32>,
    /// The first acceptable ACK has come.
    acknowledged: bool,
    /// Sent again and not reported to have come twice.
    again: Vec<Span>,
    /// More were retransmitted than are remembered, or none.
    uncounted: bool,
    /// A D-SACK option has come on this connection.
    dsack_seen: bool,
    pub(crate) frto: Frto,
}

impl Default for Undo {
    fn default() -> Self {
        Self::new()
    }
}

impl Blank for Undo {
    const BLANK: &'static Self = &Self::new();
}

impl Undo {
    pub(crate) const fn new() -> Self {
        Self {
            armed: false,
            timeout: false,
            duplicates: 0,
            retransmit_ts: None,
            acknowledged: false,
            again: Vec::new(),
            uncounted: true,
            dsack_seen: false,
            frto: Frto::Off,
        }
    }

    /// A recovery begins, and what congestion control was is remembered.
    pub(crate) fn begin(&mut self, timeout: bool, duplicates: u32) {
        self.armed = true;
        self.timeout = timeout;
        self.duplicates = duplicates;
        self.retransmit_ts = None;
        self.acknowledged = false;
        self.again.clear();
        self.uncounted = true;
        self.frto = Frto::Off;
    }

    pub(crate) const fn disarm(&mut self) {
        self.armed = false;
        self.frto = Frto::Off;
    }

    /// `span` was retransmitted in recovery, with TSval `ts`.
    pub(crate) fn on_again(&mut self, span: Span, ts: Option<u32>) {
        if matches!(self.frto, Frto::Again(end) if span.start.geq(end)) {
            // Only where nothing but the first segment was retransmitted can an acknowledgment of what is behind it say
            // that the time-out was for nothing.
            self.frto = Frto::Off;
        }
        if !self.armed {
            return;
        }
        if self.again.is_empty() && self.uncounted && !self.acknowledged {
            self.uncounted = false;
            self.retransmit_ts = ts;
        }
        if self.again.len() < MOST {
            self.again.push(span);
        } else {
            self.uncounted = true;
        }
    }

    /// Eifel detection at an acceptable ACK with TSecr `echo`, in recovery; `all`: it acknowledges all that is
    /// outstanding.
    pub(crate) fn on_acceptable(&mut self, echo: Option<u32>, dsack: bool, all: bool) -> bool {
        self.acknowledged = true;
        let (Some(sent), Some(echo)) = (self.retransmit_ts.take(), echo) else {
            return false;
        };
        let earlier = Seq(echo).lt(Seq(sent));
        self.armed && earlier && !dsack && (self.dsack_seen || !all)
    }

    /// A D-SACK option came: whether with it all that was retransmitted has been reported.
    pub(crate) fn on_dsack(&mut self, block: SackBlock) -> bool {
        self.dsack_seen = true;
        if !self.armed || self.uncounted {
            return false;
        }
        let covered = |span: &Span| block.left.leq(span.start) && span.end.leq(block.right);
        let Some(at) = self.again.iter().position(covered) else {
            return false;
        };
        self.again.swap_remove(at);
        self.again.is_empty()
    }

    /// Step 3 of F-RTO for an acknowledgment that advances SND.UNA or is a duplicate; `news`: it tells of octets not
    /// acknowledged before, none of them beyond RecoveryPoint.
    pub(crate) fn frto_verdict(&mut self, news: bool) -> Option<Verdict> {
        if !matches!(self.frto, Frto::New(_)) {
            return None;
        }
        self.frto = Frto::Off;
        Some(if news { Verdict::Spurious } else { Verdict::Genuine })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u32, end: u32) -> Span {
        Span { start: Seq(start), end: Seq(end) }
    }

    fn dsack(left: u32, right: u32) -> SackBlock {
        SackBlock { left: Seq(left), right: Seq(right) }
    }

    #[test]
    fn every_copy_must_be_reported() {
        let mut undo = Undo::new();
        undo.begin(false, 3);
        undo.on_again(span(0, 10), None);
        undo.on_again(span(20, 30), None);
        undo.on_again(span(0, 10), None);
        assert!(!undo.on_dsack(dsack(0, 10)));
        assert!(!undo.on_dsack(dsack(40, 50)), "made up, or by the network");
        assert!(!undo.on_dsack(dsack(20, 30)));
        assert!(undo.on_dsack(dsack(0, 10)));
        undo.begin(false, 3);
        for n in 0..100 {
            undo.on_again(span(n, n + 1), None);
        }
        assert!((0..100).all(|n| !undo.on_dsack(dsack(n, n + 1))), "too many");
    }

    #[test]
    fn eifel_compares_the_echo_with_the_first_retransmission() {
        let run = |echo, dsack, all, seen| {
            let mut undo = Undo::new();
            if seen {
                undo.on_dsack(SackBlock::default());
            }
            undo.begin(true, 0);
            undo.on_again(span(0, 10), Some(100));
            undo.on_again(span(10, 20), Some(105));
            let spurious = undo.on_acceptable(Some(echo), dsack, all);
            assert!(!undo.on_acceptable(Some(0), false, false), "only the first");
            spurious
        };
        assert!(run(99, false, false, false));
        assert!(!run(100, false, false, false), "not smaller");
        assert!(!run(99, true, false, false), "the acknowledgments were lost");
        assert!(!run(99, false, true, false), "they may have been");
        assert!(run(99, false, true, true), "D-SACK would have told");
    }
}
