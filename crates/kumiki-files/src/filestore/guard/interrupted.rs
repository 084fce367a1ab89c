//! Transfers that broke with their association: kept in the table, so that whoever shares it can go on with them.
//!
//! A transfer keeps its selection, its locks and its open file, which one store has handed over and another one takes.
//! It ends when it is recovered, when its user turns to the file again, when it is old ([`Guard::age`]), or when there
//! are too many of one user or of all. What was written and the file that F-CREATE had made for it are gone then.
//! Another user who needs the file takes it over when the transfer has been kept for a short time
//! ([`Guard::yielding_after`]): then it ends as well, and who wants to recover it is told so. One that writes and has
//! no octets yet is not kept at all.
//!
//! **An association that still seems to stand.** Its user may know better: where he recovers its activity on another
//! one, that is claimed here, and whoever has it finds that by [`Guard::claimed`] and gives it up.

use kumiki_graph::{Duration, Instant};
use kumiki_osi_service::ftam::ProcessingMode;
use kumiki_osi_service::ftam::contents::ContentsType;

use super::super::newlines::Point;
use super::super::{Detached, FileId, Name, StoreError, User};
use super::{Guard, OwnSelection, Selection, Table};

/// Of so many transfers that were given up for another user it is remembered, to tell their own.
const REMEMBERED: usize = 64;

/// What a responder knows of a transfer that broke.
#[derive(Debug)]
pub(crate) struct Interrupted {
    pub(crate) user: User,
    pub(crate) activity: i64,
    pub(crate) selection: Selection,
    /// F-CREATE has made the file, and nothing is in it.
    pub(crate) is_new: bool,
    pub(crate) contents_type: ContentsType,
    /// For what it is open.
    pub(crate) mode: ProcessingMode,
    /// What is being read or written; none for a directory.
    pub(crate) file: Option<FileId>,
    /// Which of the two.
    pub(crate) writes: bool,
    /// Where each checkpoint is, from 1 on.
    pub(crate) checkpoints: Vec<Point>,
    /// Where the transfer began.
    pub(crate) begin: u64,
}

/// What is kept of it.
#[derive(Debug)]
pub(crate) struct TransferRecord {
    user: User,
    activity: i64,
    selection: Selection,
    own: OwnSelection,
    file: Option<Detached>,
    /// When it was seen first by who looks after its age.
    since: Option<Instant>,
    /// It has been kept for so long that another user may take the file over.
    yields: bool,
    pub(crate) is_new: bool,
    pub(crate) contents_type: ContentsType,
    pub(crate) mode: ProcessingMode,
    pub(crate) writes: bool,
    pub(crate) checkpoints: Vec<Point>,
    pub(crate) begin: u64,
}

impl TransferRecord {
    /// Whether this is its selection.
    pub(super) fn has(&self, selection: Selection) -> bool {
        self.selection == selection
    }
}

/// How many are kept, and for how long they stand in the way of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterruptedLimits {
    pub(super) in_all: usize,
    pub(super) of_one: usize,
    /// After this time another user may have the file.
    pub(super) yields_after: Duration,
}

impl Default for InterruptedLimits {
    fn default() -> Self {
        Self { in_all: 16, of_one: 4, yields_after: Duration::from_secs(30) }
    }
}

impl Guard {
    /// Keeps so many interrupted transfers; the oldest is given up for a new one.
    #[must_use]
    pub const fn with_dockets(mut self, most: usize) -> Self {
        self.most.in_all = most;
        self
    }

    /// Keeps so many interrupted transfers of one user; his oldest is given up for a new one.
    #[must_use]
    pub const fn with_dockets_of_one(mut self, most: usize) -> Self {
        self.most.of_one = most;
        self
    }

    /// Another user may take the file of an interrupted transfer over when that has been kept for so long, as
    /// [`Guard::age`] sees it; 30 s unless said.
    #[must_use]
    pub const fn yielding_after(mut self, time: Duration) -> Self {
        self.most.yields_after = time;
        self
    }

    /// Keeps an interrupted transfer, with its selection and its locks. One of the same user and number is given up for
    /// it. False where nothing is kept, for none may be or the store cannot hand the file over: then it is closed, and
    /// the selection is as it was.
    pub(crate) fn interrupt(&mut self, it: Interrupted) -> bool {
        let may = self.most.in_all > 0 && self.most.of_one > 0;
        let file = match it.file {
            Some(file) => match may.then(|| self.store.detach(file)).flatten() {
                Some(detached) => Some(detached),
                None => {
                    self.store.close(file);
                    return false;
                }
            },
            None if !may => return false,
            None => None,
        };
        let Some(own) = self.own.remove(&it.selection) else {
            return false;
        };
        self.keep(TransferRecord {
            user: it.user,
            activity: it.activity,
            selection: it.selection,
            own,
            file,
            since: None,
            yields: false,
            is_new: it.is_new,
            contents_type: it.contents_type,
            mode: it.mode,
            writes: it.writes,
            checkpoints: it.checkpoints,
            begin: it.begin,
        });
        true
    }

    /// Keeps what was taken by [`Guard::recover`] and cannot be gone on with as it was asked for.
    pub(crate) fn keep(&mut self, docket: TransferRecord) {
        let (user, activity) = (docket.user.clone(), docket.activity);
        self.forget_if(|it| it.user == user && it.activity == activity);
        let (most, mut docket) = (self.most, Some(docket));
        let gone = self.table(|table| {
            if let Some(docket) = docket.take() {
                if let Some(held) = table.held.get_mut(&docket.selection.0) {
                    (held.activity, held.is_claimed) = (None, false);
                }
                table.dockets.push(docket);
            }
            let mut gone = Vec::new();
            let of_one = table.dockets.iter().filter(|it| it.user == user).count();
            if of_one > most.of_one
                && let Some(oldest) = table.dockets.iter().position(|it| it.user == user)
            {
                gone.push(table.dockets.remove(oldest));
            }
            if table.dockets.len() > most.in_all {
                gone.push(table.dockets.remove(0));
            }
            gone
        });
        for docket in gone.unwrap_or_default() {
            self.forget(docket);
        }
    }

    /// Takes the interrupted transfer of this number and user. It has its locks, and goes by [`Guard::take_up`] or
    /// [`Guard::keep`].
    pub(crate) fn recover(&mut self, user: &User, activity: i64) -> Option<TransferRecord> {
        let is_it = |docket: &TransferRecord| docket.activity == activity && docket.user == *user;
        let taken = self.table(|table| {
            let at = table.dockets.iter().position(is_it)?;
            Some(table.dockets.remove(at))
        });
        taken.flatten()
    }

    /// The selection of a transfer that was kept, and its open file, are this guard's.
    ///
    /// # Errors
    /// 6006 where the store cannot go on with the file; then all of the transfer is gone.
    pub(crate) fn take_up(&mut self, mut docket: TransferRecord) -> Result<(Selection, Option<FileId>), StoreError> {
        let file = docket.file.take().map(|file| self.store.attach(file));
        let file = match file.transpose() {
            Ok(file) => file,
            Err(fault) => {
                self.forget(docket);
                return Err(fault);
            }
        };
        let selection = docket.selection;
        self.own.insert(selection, docket.own);
        self.name_activity(selection, &docket.user, docket.activity);
        Ok((selection, file))
    }

    /// What is done with a selection has a number from here on, by which its user may go on with it.
    pub(crate) fn name_activity(&mut self, selection: Selection, user: &User, activity: i64) {
        self.table(|table| {
            if let Some(held) = table.held.get_mut(&selection.0) {
                (held.activity, held.is_claimed) = (Some((user.clone(), activity)), false);
            }
        });
    }

    /// Gives up the interrupted transfers of others that hold what `which` says and have been kept for long enough:
    /// `user` needs the files.
    pub(super) fn take_over(&mut self, user: &User, which: impl Fn(&Name) -> bool) {
        let yields = |it: &TransferRecord| it.yields && it.user != *user && which(&it.own.name);
        self.table(|table| {
            let taken = table.dockets.iter().filter(|it| yields(it));
            let taken = taken.map(|it| (it.user.clone(), it.activity));
            table.taken_over.extend(taken);
            let more = table.taken_over.len().saturating_sub(REMEMBERED);
            table.taken_over.drain(..more);
        });
        self.forget_if(yields);
    }

    /// Whether this transfer was given up because another user has taken its file over. It is told once.
    pub(crate) fn was_taken_over(&mut self, user: &User, activity: i64) -> bool {
        let found = self.table(|table| {
            let all = &mut table.taken_over;
            let at = all.iter().position(|it| it.0 == *user && it.1 == activity);
            at.and_then(|at| all.remove(at)).is_some()
        });
        found.unwrap_or(false)
    }

    /// Whether an association has this activity of a user in progress. Whoever has it is told that it is to be gone on
    /// with elsewhere.
    pub(crate) fn claim(&mut self, user: &User, activity: i64) -> bool {
        let claimed = self.table(|table| {
            let mut is_there = false;
            for held in table.held.values_mut() {
                let is_it = held.activity.as_ref();
                if is_it.is_some_and(|(who, number)| who == user && *number == activity) {
                    (held.is_claimed, is_there) = (true, true);
                }
            }
            is_there
        });
        claimed.unwrap_or(false)
    }

    /// What this guard's associations have in progress and its users go on with elsewhere.
    pub(crate) fn claimed(&mut self) -> Vec<(User, i64)> {
        let own: Vec<Selection> = self.own.keys().copied().collect();
        let claimed = self.table(|table| {
            let held = own.iter().filter_map(|it| table.held.get(&it.0));
            let claimed = held.filter(|held| held.is_claimed);
            claimed.filter_map(|held| held.activity.clone()).collect()
        });
        claimed.unwrap_or_default()
    }

    fn forget(&mut self, docket: TransferRecord) {
        // What was written goes with it.
        drop(docket.file);
        if docket.is_new {
            // That it stays where the store cannot delete it is the lesser evil.
            let _ = self.store.delete(&docket.user, &docket.own.name);
        }
        self.deselect(docket.selection);
    }

    fn forget_if(&mut self, unwanted: impl Fn(&TransferRecord) -> bool) {
        let gone = self.table(|table| {
            let all = core::mem::take(&mut table.dockets).into_iter();
            let (gone, kept) = all.partition::<Vec<_>, _>(&unwanted);
            table.dockets = kept;
            gone
        });
        for docket in gone.unwrap_or_default() {
            self.forget(docket);
        }
    }

    /// Who turns to a file again does not go on with what was interrupted there: it no longer stands in its own user's
    /// way.
    pub(super) fn begin_again(&mut self, user: &User, name: &Name) {
        self.forget_if(|it| it.user == *user && it.own.name == *name);
    }

    /// How many interrupted transfers are kept, for all who share the table.
    #[must_use]
    pub fn interrupted(&mut self) -> usize {
        self.table(|table| table.dockets.len()).unwrap_or(0)
    }

    /// Gives up the interrupted transfers that have been seen here for as long as `kept`: they would hold their locks
    /// for ever. Says when the next one is due.
    ///
    /// One who shares the table does this, as each has a clock of his own.
    pub fn age(&mut self, now: Instant, kept: Duration) -> Option<Instant> {
        let after = self.most.yields_after;
        self.table(|table| {
            for docket in &mut table.dockets {
                let since = *docket.since.get_or_insert(now);
                docket.yields = now >= since + after;
            }
        });
        self.forget_if(|it| it.since.is_some_and(|since| now >= since + kept));
        let due = self.table(|table| {
            let due = |it: &TransferRecord| {
                let (end, yields) = (it.since? + kept, it.since? + after);
                Some(if it.yields { end } else { end.min(yields) })
            };
            table.dockets.iter().filter_map(due).min()
        });
        due.flatten()
    }

    /// Gives all interrupted transfers up.
    pub fn forget_interrupted(&mut self) {
        self.forget_if(|_| true);
    }
}

impl Table {
    /// How many selections there are.
    pub(super) fn selections(&self) -> usize {
        self.held.len()
    }
}
