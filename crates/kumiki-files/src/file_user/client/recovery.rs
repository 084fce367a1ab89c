//! Going on with a transfer whose association broke: F-RECOVER on another one (ISO 8571-3, recalled).
//!
//! Nothing is lost on an association that stands, so there is nothing to restart there: what breaks is the association.
//! A file that was opened with recovery has a number by which the responder keeps what it had of the transfer, and
//! checkpoints by which both know how far it had come. Where one side has secured fewer, the fewer count.
//!
//! Where the responder does not go on, the transfer is started over on the association that stands by then: it has
//! forgotten, has another file there by now, or has no recovery. What was moved before counts for nothing then, and
//! whose side the file is on compares. What was to be added to a file is not, nor, within one run, what was to be a new
//! one: the responder may have added or made it, and only its answer was lost. By another run a new one is: it is
//! refused where it was made. That something is being added is noted before its first octet is sent, so that another
//! run knows of the doubt. A responder that never had recovery is called again likewise, and the transfer started over
//! at once.

use kumiki_osi_service::ftam::AccessRequest;
use kumiki_osi_service::ftam::file::{OpenResponse, RecoverRequest, RecoverResponse, RecoveryMode};

use super::super::PutMode;
use super::*;

/// "The system is going down".
const GOES_DOWN: i64 = 2;

/// The association of a transfer that is to go on has broken, and why.
#[derive(Clone, Debug)]
pub(super) struct Broken(Failure);

impl Client {
    /// Why the association broke, where another one is wanted.
    #[must_use]
    pub fn why_broken(&self) -> Option<&Failure> {
        self.broken.as_ref().map(|Broken(failure)| failure)
    }

    /// Another association is wanted, and could not be had for this reason. It is tried again as often as the settings
    /// say.
    pub fn on_missed(&mut self, why: Failure) {
        if self.forget_broken().is_some() {
            self.on_lost(why);
        }
    }

    /// The number by which the transfer of the next operation is known, if it is to be recovered.
    pub(super) fn next_activity(&mut self) -> Option<i64> {
        let wants = self.recoveries > 0 || self.settings.resumes;
        let recovers = wants && self.units.contains(FunctionalUnits::RECOVERY);
        recovers.then(|| {
            self.activity = self.activity.saturating_add(1);
            self.activity
        })
    }

    /// The association has broken: whether the transfer in progress is to go on on another one.
    pub(super) fn breaks(&mut self, failure: &Failure) -> bool {
        if !failure.transient || !self.can_go_on() {
            return false;
        }
        let Some(run) = &mut self.run else {
            return false;
        };
        // A responder that goes down keeps nothing: what must not be done twice cannot go on where it is there again.
        if failure.code == Some(GOES_DOWN) && !run.may_be_repeated() {
            return false;
        }
        self.recoveries -= 1;
        self.credit = 0;
        run.waiting.clear();
        run.unsent.clear();
        run.recovering = true;
        run.moving = TransferState::No;
        self.broken = Some(Broken(failure.clone()));
        true
    }

    /// No other association is wanted any more.
    pub(super) fn forget_broken(&mut self) -> Option<Failure> {
        self.broken.take().map(|Broken(failure)| failure)
    }

    /// Another association stands: F-RECOVER, if it has that; false if there is nothing to go on with.
    pub(super) fn recover(&mut self, out: &mut Vec<Action>) -> bool {
        if self.forget_broken().is_none() {
            return false;
        }
        let has_it = self.units.contains(FunctionalUnits::RECOVERY);
        let Some(run) = &mut self.run else {
            return false;
        };
        // Nothing is, on this association: where it is refused there is nothing to leave.
        (run.selected, run.open) = (false, false);
        let Some(activity_identifier) = run.activity.filter(|_| has_it) else {
            run.fail(unrecovered(run.activity.is_some()));
            self.finish();
            return false;
        };
        // Of what is sent, that counts of which the peer has said that it has it.
        let sends = matches!(run.operation, Operation::Put { .. });
        let point = if sends { run.secured.min(run.points.len()) } else { run.points.len() };
        run.points.truncate(point);
        run.waiting.push_back(Kind::RecoverResponse);
        out.push(request(run, activity_identifier).into());
        true
    }

    /// Begins to go on with what an earlier run has left; gives the operation back where that cannot be.
    pub(super) fn resume(&mut self, mut operation: Operation) -> Option<Operation> {
        let Some(at) = operation.interrupted() else {
            return Some(operation);
        };
        let floor = usize::try_from(at.point).unwrap_or(usize::MAX);
        let has_it = self.units.contains(FunctionalUnits::RECOVERY);
        // That it has begun is all that is known of what must not be done twice, where there is no checkpoint yet.
        let is_anywhere = operation.adds() || floor > 0;
        if self.starts_over || !has_it || !is_anywhere || floor > MOST_CHECKPOINTS {
            if operation.adds() {
                self.plan.note(operation.title(), Err(unrecovered(false).doubtful()));
                return None;
            }
            // That a note of it stays does no harm.
            let _ = operation.secured(None);
            return Some(operation);
        }
        let leave = Stage::Ask(leaving(true, true));
        let mut run = Box::new(Run::new(operation, [leave].into()));
        run.activity = Some(at.activity);
        run.points = vec![at.offset; floor];
        (run.floor, run.secured) = (floor, floor);
        (run.recovering, run.resuming) = (true, true);
        run.unsent.push_back(request(&run, at.activity));
        self.run = Some(run);
        None
    }

    /// Whether the responder does not go on with what was interrupted, and has said so: it is started over.
    pub(super) fn started_over(&mut self) -> bool {
        let Some(mut run) = self.run.take_if(|run| run.is_refused()) else {
            return false;
        };
        self.plan.progress.octets = self.plan.progress.octets.saturating_sub(run.counted());
        let why = run.failure.take();
        self.started_over = why.map(|why| (run.operation.title(), why));
        // The responder refuses what is noted once more.
        let _ = run.operation.secured(None);
        self.plan.put_back(run.operation);
        self.starts_over = true;
        true
    }
}

/// The responder that is there again has no recovery, or none any more.
fn unrecovered(had: bool) -> Failure {
    let why = if had {
        "the responder does not agree to recovery any more"
    } else {
        "the responder has no recovery, or was not asked for it"
    };
    Failure::of_diagnostics(&[Diagnostic { further_details: Some(why.into()), ..diagnostic(6000) }])
}

/// F-RECOVER, from the last checkpoint.
fn request(run: &Run, activity_identifier: i64) -> Fpdu {
    Fpdu::RecoverRequest(Box::new(RecoverRequest {
        activity_identifier,
        bulk_transfer_number: 1,
        requested_access: access(&run.operation),
        recovery_point: i64::try_from(run.points.len()).unwrap_or(i64::MAX),
        ..RecoverRequest::default()
    }))
}

impl Run {
    /// What F-OPEN's response says of recovery.
    pub(super) fn opened(&mut self, opened: &OpenResponse) {
        if opened.recovery_mode != RecoveryMode::AtAnyActiveCheckpoint {
            self.activity = None;
        }
        if self.operation.adds() && self.failure.is_none() {
            // Another run finds nothing under the number of one that cannot be recovered.
            let begun = Secured { activity: self.activity.unwrap_or(0), point: 0, offset: 0 };
            if let Err(why) = self.operation.secured(Some(begun)) {
                self.fail(Failure::local(why));
            }
        }
    }

    /// All that this run has begun is undone: the responder has said so, and nothing of it is in doubt.
    pub(super) fn is_undone(&self) -> bool {
        self.failure.is_some() && !self.recovering && self.moving == TransferState::No
    }

    /// Whether it was interrupted, the responder does not go on with it, and starting over does no harm.
    fn is_refused(&self) -> bool {
        let code = self.failure.as_ref().and_then(|failure| failure.code);
        // Who gives the command once more to go on with what an earlier run has left wants it all the same, but for
        // what may be there twice then.
        let is_harmless = self.may_be_repeated() || self.resuming && !self.operation.adds();
        is_harmless && self.is_lost(code)
    }

    /// Whether it was interrupted, and the responder says by `code` that it does not go on with it.
    fn is_lost(&self, code: Option<i64>) -> bool {
        self.recovering && code.is_some_and(|code| (6000..7000).contains(&code))
    }

    /// Why it failed, for whoever has asked for it.
    pub(super) fn told(&self, failure: Failure) -> Failure {
        if self.operation.adds() && self.is_lost(failure.code) { failure.doubtful() } else { failure }
    }

    /// Whether to do it twice is as good as once, though nobody knows whether it was done.
    const fn may_be_repeated(&self) -> bool {
        !matches!(&self.operation, Operation::Put { mode: PutMode::Append | PutMode::New, .. })
    }

    /// So many octets of it are counted as moved.
    pub(super) fn counted(&self) -> u64 {
        match self.operation {
            Operation::Put { .. } => {
                let earlier = self.floor.checked_sub(1);
                let earlier = earlier.and_then(|at| self.points.get(at));
                self.offset.saturating_sub(earlier.copied().unwrap_or(0))
            }
            Operation::Get { .. }
            | Operation::List { .. }
            | Operation::Stat { .. }
            | Operation::Rename { .. }
            | Operation::Remove { .. }
            | Operation::MakeDirectory { .. } => self.moved,
        }
    }

    /// Where it can be gone on with, if it has a number.
    pub(super) fn place(&self) -> Option<Secured> {
        Some(Secured {
            activity: self.activity?,
            point: u32::try_from(self.secured).ok()?,
            offset: *self.points.get(self.secured.checked_sub(1)?)?,
        })
    }

    /// Whether a transfer is in progress, or was to be gone on with, and nothing else is wrong with it.
    pub(super) fn can_go_on(&self) -> bool {
        let moves = match self.moving {
            TransferState::In | TransferState::Out | TransferState::Ended => true,
            TransferState::No => self.recovering,
            TransferState::Cancelling => false,
        };
        let can = self.activity.is_some() || self.may_be_repeated() && !self.transferred;
        moves && can && self.failure.is_none()
    }

    /// The file is open again: the transfer goes on from a checkpoint that both have. Gives how many octets are moved
    /// once more.
    pub(super) fn recovered(&mut self, response: &RecoverResponse, units: FunctionalUnits) -> u64 {
        let point = usize::try_from(response.recovery_point);
        let has = self.floor..=self.points.len();
        let Some(point) = point.ok().filter(|point| has.contains(point)) else {
            self.fail(Failure::of_diagnostics(&[diagnostic(6009)]));
            return 0;
        };
        self.points.truncate(point);
        self.secured = point;
        let before = self.offset;
        self.resuming = false;
        self.offset = self.points.last().copied().unwrap_or(0);
        // What comes once more has not been moved.
        let again = before - self.offset.min(before);
        self.moved = self.moved.saturating_sub(again);
        self.form = Form::of(&response.contents_type);
        self.lengths = Lengths::of(&response.contents_type);
        let moves = |stage: &Stage| matches!(stage, Stage::Read(_) | Stage::Write(_));
        let stages = stages(&self.operation, units, AttributeGroups::NONE, None).unwrap_or_default();
        if let Some(stage) = stages.into_iter().find(moves) {
            self.stages.push_front(stage);
        }
        again
    }
}

/// What is to be done with a file that is opened again.
const fn access(operation: &Operation) -> AccessRequest {
    match operation {
        Operation::Put { mode, .. } => match mode {
            PutMode::New | PutMode::Replace => AccessRequest::REPLACE,
            PutMode::Append => AccessRequest::EXTEND,
        },
        Operation::Get { .. }
        | Operation::List { .. }
        | Operation::Stat { .. }
        | Operation::Rename { .. }
        | Operation::Remove { .. }
        | Operation::MakeDirectory { .. } => AccessRequest::READ,
    }
}
