//! Questions and answers: sync and echo, EDGE, DREQ.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P4 (sync), P16 to P20 |
//! | The caller's part | the packets, the timers |
//! | Left out | questions that were forgotten because 64 others followed them unanswered |

use std::collections::VecDeque;

use kumiki_graph::Instant;

/// How many questions are remembered.
const ASKED: usize = 64;

/// Whether sync `a` is `b` or was given before it; numbers wrap (P4).
pub(crate) const fn at_or_before(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) < 1 << 31
}

/// A question (SREQ) that has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Question {
    pub(crate) sync: u32,
    /// Of the packet that asked, among all that left.
    pub(crate) order: u64,
    /// No packet is held to be on its way that left before it: the answer is the whole truth.
    pub(crate) certain: bool,
}

/// The asking side.
#[derive(Debug, Default)]
pub(crate) struct SyncRequests {
    /// saved_sync: the number of the last question.
    pub(crate) sync: u32,
    /// The largest echo that was believed.
    pub(crate) echoed: u32,
    questions: VecDeque<Question>,
    /// Octets of data that have left since the last question.
    pub(crate) since: u64,
    /// Since when there has been no answer, where one is waited for.
    pub(crate) waiting: Option<Instant>,
    /// Since the last answer a question was repeated because its answer was late (P20).
    pub(crate) repeated: bool,
    /// How often WTIMER has expired without an answer.
    pub(crate) back_off: u32,
    /// The synchronizing handshake that is in progress: nothing is sent, and older echoes are ignored.
    pub(crate) syncing: Option<u32>,
    /// EDGE as it is sent.
    pub(crate) edge: bool,
    /// Something may have been overtaken: the next question is a certain one.
    pub(crate) doubt: bool,
    /// A question waits until more has come of a caller that may be another (P49).
    withheld: bool,
    /// Questions that left before any data but FIRST's, to show that we have the peer's key.
    pub(crate) showed: u64,
    /// How often the tail was asked about since data left or was found to have come (P19).
    pub(crate) tails: u32,
}

impl SyncRequests {
    /// A packet with a question leaves as number `order`: its sync.
    pub(crate) fn ask(&mut self, order: u64, certain: bool, now: Instant) -> u32 {
        self.sync = self.sync.wrapping_add(1);
        if self.questions.len() >= ASKED {
            self.questions.pop_front();
        }
        self.questions.push_back(Question { sync: self.sync, order, certain });
        self.since = 0;
        self.withheld = false;
        self.waiting.get_or_insert(now);
        self.sync
    }

    /// A question may not leave now.
    pub(crate) fn withhold(&mut self, now: Instant) {
        self.withheld = true;
        self.waiting.get_or_insert(now);
    }

    /// Whether a question waits to leave.
    pub(crate) const fn is_withheld(&self) -> bool {
        self.withheld
    }

    /// Whether a question is unanswered, should it have left or not.
    pub(crate) fn is_open(&self) -> bool {
        self.withheld || !self.questions.is_empty()
    }

    /// Whether `echo` can be: nobody echoes what was not asked.
    pub(crate) const fn is_possible(&self, echo: u32) -> bool {
        at_or_before(echo, self.sync)
    }

    /// Whether a control packet with `echo` is older than the handshake that is in progress.
    pub(crate) fn is_stale(&self, echo: u32) -> bool {
        self.syncing.is_some_and(|sync| !at_or_before(sync, echo))
    }

    /// A control packet echoes `echo`: the last question that it answers, if it answers any.
    pub(crate) fn answered(&mut self, echo: u32, now: Instant) -> Option<Question> {
        let mut answered = None;
        while let Some(question) = self.questions.front()
            && at_or_before(question.sync, echo)
        {
            answered = self.questions.pop_front();
        }
        if answered.is_some() {
            self.echoed = echo;
            self.back_off = 0;
            self.repeated = false;
            self.waiting = self.is_open().then_some(now);
            self.syncing = None;
        }
        answered
    }

    /// WTIMER has expired: the question that is to be asked now is the beginning of a handshake.
    pub(crate) fn expired(&mut self) {
        self.back_off = self.back_off.saturating_add(1);
    }
}

/// The answering side.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    /// The largest sync received: what is echoed.
    pub(crate) echo: u32,
    /// EDGE as it was received last.
    edge: bool,
    /// Status is owed at the end of this batch.
    pub(crate) due: bool,
    /// A question waits until the user has taken so many octets of the stream (DREQ).
    pub(crate) dreq: Option<u64>,
}

impl Answering {
    /// A packet has come with `sync` and EDGE `edge`. Whether EDGE asks for status: a packet that was overtaken does
    /// not (P18).
    pub(crate) fn hear(&mut self, sync: u32, edge: bool) -> bool {
        if !at_or_before(self.echo, sync) {
            return false;
        }
        self.echo = sync;
        core::mem::replace(&mut self.edge, edge) != edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    #[test]
    fn an_answer_is_for_all_questions_up_to_the_one_it_echoes() {
        let mut asking = SyncRequests::default();
        for order in [3, 5, 9] {
            asking.ask(order, false, NOW);
        }
        assert!(asking.is_possible(3) && !asking.is_possible(4));
        let answered = asking.answered(2, NOW).map(|it| (it.sync, it.order));
        assert_eq!(answered, Some((2, 5)));
        assert_eq!(asking.answered(2, NOW), None);
        assert_eq!(asking.answered(1, NOW), None);
        assert!(asking.is_open() && asking.waiting.is_some());
        assert!(asking.answered(3, NOW).is_some());
        assert!(!asking.is_open() && asking.waiting.is_none());
    }

    #[test]
    fn a_handshake_ignores_older_echoes() {
        let mut asking = SyncRequests::default();
        asking.ask(1, false, NOW);
        asking.syncing = Some(asking.ask(2, true, NOW));
        assert!(asking.is_stale(1) && !asking.is_stale(2));
        assert!(asking.answered(2, NOW).is_some_and(|it| it.certain));
        assert_eq!(asking.syncing, None);
    }

    #[test]
    fn numbers_wrap() {
        let mut asking = SyncRequests { sync: u32::MAX, ..SyncRequests::default() };
        assert_eq!(asking.ask(1, false, NOW), 0);
        assert_eq!(asking.ask(2, false, NOW), 1);
        assert!(asking.is_possible(u32::MAX) && !asking.is_possible(2));
        assert_eq!(asking.answered(0, NOW).map(|it| it.order), Some(1));
    }

    #[test]
    fn many_unanswered_questions_do_not_grow_for_ever() {
        let mut asking = SyncRequests::default();
        for order in 0..1000 {
            asking.ask(order, false, NOW);
        }
        assert_eq!(asking.questions.len(), ASKED);
        assert_eq!(asking.answered(1000, NOW).map(|it| it.order), Some(999));
    }

    #[test]
    fn edge_asks_when_it_changes_unless_the_packet_is_old() {
        let mut answering = Answering::default();
        assert!(answering.hear(1, true));
        assert!(!answering.hear(1, true));
        assert!(!answering.hear(0, false), "overtaken");
        assert!(answering.hear(2, false));
        assert_eq!(answering.echo, 2);
    }
}
