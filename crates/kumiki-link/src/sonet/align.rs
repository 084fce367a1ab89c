//! Where frames begin: the hunt for A1 and A2, in frame and out of it.
//!
//! | | |
//! |---|---|
//! | Specification | ITU-T G.783, G.707; GR-253 (recalled) |
//! | Left out | bits: octets come as they were sent |
//!
//! Out of frame, three A1 with three A2 behind them are looked for at every octet. What is found is believed when the
//! same is there a frame later. In frame only the last A1 and the first A2 are looked at: more of them would be wrong
//! too often at an error rate of 1e-3, at which a receiver is to stay in frame. After four wrong ones in a row it is
//! out of frame, and goes on where it was until it has found frames elsewhere.

use kumiki_wire::ppp::sdh::{A1, A2};

/// Wrong alignment words in a row after which a receiver is out of frame.
const WRONG: u8 = 4;

/// What is looked for.
pub(super) const WORD: [u8; 6] = [A1, A1, A1, A2, A2, A2];

/// Looks for frames.
#[derive(Clone, Debug)]
pub(super) struct Aligner {
    /// Octets of a frame.
    frame: u64,
    in_frame: bool,
    wrong: u8,
    /// The last octets before what comes next.
    last: [u8; WORD.len() - 1],
    /// Where, as octets of the line are counted, an alignment word ended that nothing has confirmed yet.
    candidate: Option<u64>,
}

/// Where a word ends among octets, and whether frames are found with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AlignmentWord {
    /// How many octets there are up to and with its last.
    pub(super) taken: usize,
    /// Whether another was there a frame before.
    pub(super) confirmed: bool,
}

impl Aligner {
    pub(super) const fn new(frame: u64) -> Self {
        Self { frame, in_frame: false, wrong: 0, last: [0; WORD.len() - 1], candidate: None }
    }

    pub(super) const fn in_frame(&self) -> bool {
        self.in_frame
    }

    /// What was found is confirmed.
    pub(super) const fn enter(&mut self) {
        self.in_frame = true;
        self.wrong = 0;
        self.candidate = None;
    }

    /// Whether the last alignment word was right.
    pub(super) const fn is_steady(&self) -> bool {
        self.in_frame && self.wrong == 0
    }

    /// The last A1 and the first A2 of a frame have come; false where that puts the receiver out of frame.
    pub(super) const fn check(&mut self, a1: u8, a2: u8) -> bool {
        if a1 == A1 && a2 == A2 {
            self.wrong = 0;
            return true;
        }
        self.wrong = self.wrong.saturating_add(1);
        if self.in_frame && self.wrong >= WRONG {
            self.in_frame = false;
            self.last = [0; WORD.len() - 1];
            self.candidate = None;
            return false;
        }
        true
    }

    /// Looks through `octets`, of which the first is number `at` of the line, for the next word; only out of frame. Up
    /// to its end, or all of them, they need not be shown again.
    pub(super) fn hunt(&mut self, at: u64, octets: &[u8]) -> Option<AlignmentWord> {
        let mut joined = [0; 2 * (WORD.len() - 1)];
        let (before, begin) = joined.split_at_mut(WORD.len() - 1);
        before.copy_from_slice(&self.last);
        let front = octets.len().min(begin.len());
        for (to, octet) in begin.iter_mut().zip(octets) {
            *to = *octet;
        }
        let here = joined.get(..WORD.len() - 1 + front).unwrap_or_default();
        let taken = position(here).map(|place| place + 1).or_else(|| position(octets).map(|place| place + WORD.len()));
        let passed = octets.get(..taken.unwrap_or(octets.len()));
        for octet in passed.unwrap_or_default().iter().rev().take(5).rev() {
            self.last.rotate_left(1);
            if let Some(last) = self.last.last_mut() {
                *last = *octet;
            }
        }
        let end = at + taken? as u64;
        let due = self.candidate.map(|candidate| candidate + self.frame);
        let confirmed = due == Some(end);
        if due.is_none_or(|due| due < end) {
            self.candidate = Some(end);
        }
        taken.map(|taken| AlignmentWord { taken, confirmed })
    }
}

/// Where the word is first.
fn position(octets: &[u8]) -> Option<usize> {
    let mut from = 0;
    // The first A2 behind an A1 is rare, and one comparison.
    loop {
        let rest = octets.get(from..)?;
        let found = rest.windows(2).position(|pair| pair == [A1, A2])?;
        let begin = (from + found).checked_sub(2);
        if let Some(begin) = begin
            && octets.get(begin..)?.starts_with(&WORD)
        {
            return Some(begin);
        }
        from += found + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where words are found in `octets` that come in pieces.
    fn found(octets: &[u8], piece: usize) -> Vec<(u64, bool)> {
        let mut aligner = Aligner::new(100);
        let (mut at, mut places) = (0, Vec::new());
        for piece in octets.chunks(piece) {
            let mut rest = piece;
            while !rest.is_empty() {
                let Some(found) = aligner.hunt(at, rest) else {
                    at += rest.len() as u64;
                    break;
                };
                at += found.taken as u64;
                rest = &rest[found.taken..];
                places.push((at, found.confirmed));
            }
        }
        places
    }

    #[test]
    fn a_word_is_believed_when_it_comes_again_a_frame_later() {
        let mut octets = vec![0; 400];
        for at in [7, 60, 160, 260] {
            octets[at..at + 6].copy_from_slice(&WORD);
        }
        for piece in [1, 2, 3, 5, 6, 7, 64, 400] {
            assert_eq!(
                found(&octets, piece),
                // The first of all stands in the way until it is due.
                [(13, false), (66, false), (166, false), (266, true)],
                "{piece}"
            );
        }
    }

    #[test]
    fn longer_rows_of_both_octets_hold_one_word() {
        let octets = [[A1; 9].as_slice(), &[A2; 9], &[A1, A2, A1, A1, A2]].concat();
        assert_eq!(found(&octets, 4), [(12, false)]);
    }

    #[test]
    fn four_wrong_words_in_a_row_are_out_of_frame() {
        let mut aligner = Aligner::new(100);
        aligner.in_frame = true;
        for _ in 0..10 {
            assert!((0..3).all(|_| aligner.check(A1, 0)));
            assert!(aligner.check(A1, A2));
        }
        assert!((0..3).all(|_| aligner.check(0, A2)));
        assert!(!aligner.check(0, A2));
        assert!(!aligner.in_frame());
    }
}
