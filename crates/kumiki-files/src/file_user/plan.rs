//! The plan of a client, whichever protocol does it: what is still to be done over one association, and what came of
//! the rest.

use std::collections::VecDeque;

use super::{Failure, Gain, Operation, OperationOutcome, Progress};

/// What is to be done, what was done, and whether the association for it stands.
#[derive(Debug, Default)]
pub struct Plan {
    waiting: VecDeque<Operation>,
    outcomes: Vec<OperationOutcome>,
    pub(crate) progress: Progress,
    failure: Option<Failure>,
    /// The association stands, or has stood until it ended in order.
    stands: bool,
    /// It is kept when the plan is done.
    held: bool,
    ending: bool,
    over: bool,
}

impl Plan {
    /// One whose operations are done in order.
    pub(crate) fn new(operations: Vec<Operation>) -> Self {
        Self { waiting: operations.into(), ..Self::default() }
    }

    /// Whether the association stands.
    #[must_use]
    pub const fn stands(&self) -> bool {
        self.stands && !self.over
    }

    /// What came of the operations that are over.
    #[must_use]
    pub fn outcomes(&self) -> &[OperationOutcome] {
        &self.outcomes
    }

    /// How far it is.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        self.progress
    }

    /// Why there was no association, or it ended too soon.
    #[must_use]
    pub const fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Whether all is done and the association is gone.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the association is kept when the plan is done.
    pub(crate) const fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// The association stands.
    pub(crate) const fn begins(&mut self) {
        self.stands = true;
    }

    /// The association has broken; perhaps another one is made.
    pub(crate) const fn breaks(&mut self) {
        self.stands = false;
    }

    /// The association has ended in order.
    pub(crate) const fn close(&mut self) {
        self.over = true;
    }

    /// Whether no operation waits for its turn.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the association is being ended in order.
    pub(crate) const fn is_ending(&self) -> bool {
        self.ending
    }

    /// Whether an operation may begin, where none is in progress.
    pub(crate) const fn may_begin(&self) -> bool {
        self.stands() && !self.ending
    }

    /// Puts an operation behind the others; where the association has ended it has failed.
    pub(crate) fn add(&mut self, operation: Operation) {
        if self.over || self.ending {
            let why = || Failure::local("the association has ended");
            let why = self.failure.clone().unwrap_or_else(why);
            return self.note(operation.title(), Err(why));
        }
        self.waiting.push_back(operation);
    }

    /// Puts an operation back that was to be begun.
    pub(crate) fn put_back(&mut self, operation: Operation) {
        self.waiting.push_front(operation);
    }

    /// The next operation.
    pub(crate) fn next(&mut self) -> Option<Operation> {
        self.waiting.pop_front()
    }

    /// All is done: whether the association is to be ended now, which is said once.
    pub(crate) const fn ends(&mut self) -> bool {
        let ends = !self.ending && !self.over && !self.held;
        self.ending |= ends;
        ends
    }

    /// What came of an operation.
    pub(crate) fn note(&mut self, title: String, result: Result<Gain, Failure>) {
        self.outcomes.push(OperationOutcome { title, result });
        self.progress.over += 1;
    }

    /// None of what waits is done, and the association is not kept.
    pub(crate) fn give_up(&mut self, why: &Failure) {
        for operation in core::mem::take(&mut self.waiting) {
            self.note(operation.title(), Err(why.clone()));
        }
        self.held = false;
    }

    /// Nothing more can be done.
    pub(crate) fn fail(&mut self, why: Failure) {
        self.give_up(&why);
        self.failure = Some(why);
        self.over = true;
    }
}
