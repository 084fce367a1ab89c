//! The rule that no octet of a unit that will be refused may change a session, tried on two runs of one session:
//! between any two steps of one of them come units that must be refused, and what crosses and what users hear must be
//! the same in both, at the same times.
//!
//! What is said to the refused unit itself is apart, and so are counters and logs. Where a standard demands more than
//! an answer, such as a reset, a unit is not of this kind; who lists them says by which clause.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::test_runner::TestCaseError;

/// What came of a unit at once: what went out, and what users heard.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnitEffects {
    /// What went out.
    pub sent: Vec<Vec<u8>>,
    /// What users heard.
    pub heard: Vec<String>,
}

/// What may be said to a unit that is refused.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Nothing at all.
    Nothing,
    /// One with these octets.
    These(Vec<u8>),
    /// One that begins so, of those parts that are known.
    Like(fn(&[u8]) -> bool),
}

impl Answer {
    fn is(&self, sent: &[Vec<u8>]) -> bool {
        match (self, sent) {
            (Self::Nothing, []) => true,
            (Self::These(octets), [said]) => octets == said,
            (Self::Like(is), [said]) => is(said),
            (Self::Nothing | Self::These(_) | Self::Like(_), _) => false,
        }
    }
}

/// A unit that must be refused, why, and which end it comes to.
#[derive(Clone, Debug)]
pub struct RefusedUnit<E> {
    /// By which rule it must be refused.
    pub why: &'static str,
    /// Which end it comes to.
    pub to: E,
    /// Its octets.
    pub unit: Vec<u8>,
    /// What may be said to it.
    pub answer: Answer,
}

/// A session between two ends.
pub trait Session {
    /// What drives it.
    type Step: Clone + Debug;
    /// Its ends.
    type End: Copy + Debug;

    /// Takes one step.
    fn step(&mut self, step: &Self::Step);

    /// All that has crossed and that users have heard, each with its time.
    fn trace(&self) -> &[String];

    /// The units that must be refused now, each for another reason.
    fn refused(&mut self) -> Vec<RefusedUnit<Self::End>>;

    /// Lets a unit come that nobody has sent. What follows from it at once goes no further, and is not in the trace.
    fn intrude(&mut self, to: Self::End, unit: &[u8]) -> UnitEffects;
}

/// Which units were refused, and how often: a reason that never came up was not tried.
pub type Tally = RefCell<BTreeMap<&'static str, u32>>;

/// Runs `steps` twice, once with units that must be refused before each of them: `picks` says which of those that there
/// are.
pub fn undisturbed<S: Session>(
    make: impl Fn() -> S,
    steps: &[(S::Step, Vec<usize>)],
    tally: &Tally,
) -> Result<(), TestCaseError> {
    let (mut calm, mut disturbed) = (make(), make());
    let mut before = Vec::new();
    for (step, picks) in steps {
        let refused = disturbed.refused();
        for it in picks.iter().filter_map(|pick| refused.get(pick % refused.len().max(1))) {
            let outcome = disturbed.intrude(it.to, &it.unit);
            if !it.answer.is(&outcome.sent) || !outcome.heard.is_empty() {
                let RefusedUnit { why, to, unit, .. } = it;
                let text = format!("{why} ({unit:02x?} to {to:?}): {outcome:02x?}");
                return Err(TestCaseError::fail(text));
            }
            *tally.borrow_mut().entry(it.why).or_default() += 1;
            before.push(it.clone());
        }
        calm.step(step);
        disturbed.step(step);
        let (one, other) = (calm.trace(), disturbed.trace());
        if one != other {
            let at = one.iter().zip(other).position(|(a, b)| a != b);
            let at = at.unwrap_or_else(|| one.len().min(other.len()));
            let text = format!("after {before:02x?}: {:?} in place of {:?}", other.get(at), one.get(at));
            return Err(TestCaseError::fail(text));
        }
    }
    Ok(())
}
