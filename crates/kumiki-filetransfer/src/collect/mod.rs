//! Collecting: what is new at a responder is fetched, and nothing is forgotten.
//!
//! What was fetched is in a state file, under the responder's names: size and date as the responder said, size and
//! checksum as they came, and the name here. For each file: it is fetched beside its place, synchronised, renamed, and
//! only then gets its line in the state, which is synchronised too. So whatever breaks, the next run fetches what is
//! missing, and what a crash left between the two is recognised by its checksum.
//!
//! The next file is asked for while those before it, at most eight, are synchronised by a thread ([`Settler`]); state
//! and deletion wait for that.
//!
//! A file that may still grow is held back ([`Closed`]): fetched in the middle of being written, it would come twice,
//! each time with what the first one had. What is seen of it has a line in the state as well, so that a later run knows
//! since when it has not changed.
//!
//! A name whose size or date has changed is a new file: names rotate. It is fetched again, beside the old one, which is
//! never replaced. Files of which the responder tells neither size nor date are fetched each time, and are new where
//! their checksum is.
//!
//! What breaks in the middle stays as a part, of one file, and the next run goes on with it as a transfer that is
//! resumed does; that file comes first then.
//!
//! A name that no file here can have is told, and so is a directory; the others are fetched.
//!
//! What is to be deleted there is asked about before, when the state has it: nothing locks it any more, and what was
//! written to it since would be lost. Between the answer and the deletion it still would.
//!
//! **Left out**: what is in directories below the one that is named, which has names and rows of its own; removing
//! entries from the state (names that never come again stay there).

#[cfg(test)]
mod crashes;
mod deciding;
mod fetching;
mod names;
mod placing;
mod rows;
mod state;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::attributes;
use crate::files::disk::{Disk, Errno};
use crate::local::{MOST, Part, Received, Settler, digest, directory_of};
use crate::osi::{ContentsType, Duration, Failure, Gain, Operation, OperationOutcome, Protocols, ReadAttributes};
use crate::url::Url;
use fetching::Job;
use names::collected;
use placing::FetchedFile;
pub use rows::Range;
use state::State;

/// What is to be collected, and where it goes.
#[derive(Clone, Debug)]
pub struct CollectArguments {
    /// The directory here, which is made where there is none.
    pub into: PathBuf,
    /// Only these names; none: what a listing of the directory has.
    pub names: Option<Vec<String>>,
    /// Only names that begin so.
    pub prefix: String,
    /// When a file is taken for finished; unless given [`Closed::Row`] with FTAM and [`Closed::Settled`] with MMS.
    pub closed: Option<Closed>,
    /// How long size and date of a file must have been the same, where that says that it is finished.
    pub settle: Duration,
    /// The first and the last number that rows of names have; else all that the digits allow.
    pub range: Option<Range>,
    /// Each file is deleted at the responder once it is here and the state says so.
    pub delete: bool,
    /// Nothing is fetched; it is only told what would be.
    pub dry_run: bool,
    /// The state; `.kumiki-collect.jsonl` in the directory unless given.
    pub state: Option<PathBuf>,
    /// As what files are opened, where that is to be asked for.
    pub contents_type: Option<ContentsType>,
}

/// When a file may be fetched, for nothing is written to it any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// A later file of its row is there; of names without a number as [`Closed::Settled`].
    Row,
    /// Its size and date have been the same for [`CollectArguments::settle`].
    Settled,
    /// At once.
    Any,
}

/// What is known of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// It would be fetched, for it is new; its size.
    New(Option<u64>),
    /// It would be fetched, for it has changed; its size.
    Changed(Option<u64>),
    /// It is missing in its row; the name may stand for several.
    Missing,
    /// It is not fetched yet, and why.
    Held(&'a str),
    /// It is not deleted at the responder, and why.
    Kept(&'a str),
    /// Why something was not done.
    Failed(&'a Failure),
    /// It was deleted at the responder.
    Deleted,
    /// It was fetched, and is what was here.
    Unchanged,
    /// It was fetched.
    Fetched {
        /// Its size.
        bytes: u64,
        /// SHA-256 in hexadecimal.
        sha256: &'a str,
        /// Its name here.
        local: &'a str,
        /// So many of its bytes were here before.
        resumed: u64,
    },
}

/// Who is told how a collection goes, as it goes.
pub trait Teller {
    /// Something is known of the file of this name at the responder.
    fn tell(&mut self, name: &str, event: &Event<'_>);

    /// The file of this name is fetched from here on; its size, where that is known.
    fn begin(&mut self, name: &str, size: Option<u64>);
}

/// Why a collection cannot begin.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory here cannot be made.
    #[error(transparent)]
    Directory(io::Error),
    /// The state cannot be had: it is another's, another process has it, or the disk says no.
    #[error("{0}")]
    State(String),
}

/// How far a collection has come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// How many files were fetched, of which none was here.
    pub fetched: u64,
    /// How many were deleted at the responder.
    pub deleted: u64,
    /// How many were to be fetched.
    pub found: u64,
    /// How many may still grow, and are not fetched yet.
    pub held: u64,
    /// Names that are missing.
    pub missing: Vec<String>,
    /// What failed.
    pub failed: Vec<(String, Failure)>,
    /// What no file here can be.
    pub unusable: Vec<(String, Failure)>,
    /// Why it was of no use to go on.
    pub broken: Option<String>,
}

/// The name of the state.
const STATE: &str = ".kumiki-collect.jsonl";

/// What is waited for.
enum CollectStep {
    Listing,
    /// The attributes of this name.
    Asking(String),
    Fetching(FetchedFile),
    /// Whether this one, under this name at the responder, is still what was fetched and is to be deleted.
    Checking(String, String),
    Removing(String),
}

/// A collection: it says what to do next, and hears what came of it.
pub struct Collection<D: Disk, T: Teller> {
    disk: D,
    /// Who is told.
    pub teller: T,
    wanted: CollectArguments,
    protocol: Protocols,
    /// The directory at the responder.
    directory: String,
    state: State<D>,
    /// When a file may be fetched.
    closed: Closed,
    /// It is not listed yet.
    to_list: bool,
    /// What was listed or asked about and is not decided on yet.
    seen: Vec<(String, ReadAttributes)>,
    to_ask: VecDeque<String>,
    jobs: VecDeque<Job>,
    to_check: VecDeque<(String, String)>,
    /// The one that may be deleted now.
    to_remove: Option<(String, String)>,
    doing: Option<CollectStep>,
    /// What has come whole and is not in its place yet, in the order in which it came.
    whole: VecDeque<FetchedFile>,
    settler: Settler<D>,
    /// Names whose files here must not be replaced.
    taken: BTreeSet<String>,
    /// The names of what has come of files that are not whole, or not in their places. It is the last of an earlier run
    /// that goes on, if it is one of these.
    parts: Vec<PathBuf>,
    done: Collected,
}

impl<D: Disk, T: Teller> Collection<D, T> {
    /// Begins a collection from what is at a URL of a protocol.
    ///
    /// # Errors
    /// The directory cannot be made, or the state not be had.
    pub fn open(
        disk: D,
        (protocol, url): (Protocols, &Url),
        wanted: CollectArguments,
        settler: Settler<D>,
        teller: T,
    ) -> Result<Self, OpenError> {
        make_directories(&disk, &wanted.into).map_err(|why| OpenError::Directory(why.into()))?;
        let path = wanted.state.clone().unwrap_or_else(|| wanted.into.join(STATE));
        let state = State::open_on(disk.clone(), &path, &url.place()).map_err(OpenError::State)?;
        let taken = state.files().values().map(|entry| entry.local.clone()).collect();
        let parts = parts(&wanted.into, url);
        let names = wanted.names.clone();
        Ok(Self {
            disk,
            teller,
            protocol,
            directory: collected(protocol, &url.name),
            state,
            closed: wanted.closed.unwrap_or(match protocol {
                Protocols::Ftam => Closed::Row,
                // A device numbers what happens, and writes each record once.
                Protocols::Mms => Closed::Settled,
            }),
            to_list: names.is_none(),
            to_ask: names.unwrap_or_default().into(),
            wanted,
            seen: Vec::new(),
            jobs: VecDeque::new(),
            to_check: VecDeque::new(),
            to_remove: None,
            doing: None,
            whole: VecDeque::new(),
            settler,
            taken,
            parts,
            done: Collected::default(),
        })
    }

    /// How far it has come. Where all is done, [`Collection::settle_all`] comes before.
    #[must_use]
    pub const fn collected(&self) -> &Collected {
        &self.done
    }

    /// Removes what was left of a file that is not there any more.
    pub fn tidy(&self) {
        if self.done.failed.is_empty() && !self.wanted.dry_run {
            for part in &self.parts {
                Part::forget_left(&self.disk, part);
            }
        }
    }

    /// Deletes what is here, if it is still the same: what was written to it since it was fetched would be lost.
    fn check(&mut self, remote: String, name: String, attributes: &ReadAttributes) {
        let old = self.state.get(&name);
        if old.is_some_and(|old| old.has_changed(attributes)) {
            return self.teller.tell(&name, &Event::Kept("it has changed since it was fetched"));
        }
        self.remove(remote, name);
    }

    /// Has it deleted there, when what is known of it here is on the disk.
    fn remove(&mut self, remote: String, name: String) {
        match self.state.secure() {
            Ok(()) => self.to_remove = Some((remote, name)),
            Err(why) => self.done.broken = Some(why),
        }
    }

    fn fail(&mut self, name: String, why: Failure) {
        self.teller.tell(&name, &Event::Failed(&why));
        self.done.failed.push((name, why));
    }

    /// What this machine cannot keep it cannot keep of the next one either.
    fn lose(&mut self, name: String, why: Failure) {
        self.done.broken = Some(why.meaning.clone());
        self.fail(name, why);
    }

    /// What no file here can be, by its name or as it is a directory; there may be such a one among many.
    fn pass_over(&mut self, name: String, why: &str) {
        let why = Failure::local(why);
        self.teller.tell(&name, &Event::Failed(&why));
        self.done.unusable.push((name, why));
    }
}

impl<D: Disk, T: Teller> Collection<D, T> {
    /// The next thing to do, as far as it does not depend on what is not in its place yet.
    fn next_now(&mut self) -> Option<Operation> {
        if self.done.broken.is_some() {
            return None;
        }
        if core::mem::take(&mut self.to_list) {
            self.doing = Some(CollectStep::Listing);
            let name = self.directory.clone();
            return Some(Operation::List { name });
        }
        // Only who knows all names knows which is the last of a row.
        if let Some(name) = self.to_ask.pop_front() {
            let remote = self.remote(&name);
            self.doing = Some(CollectStep::Asking(name));
            return Some(Operation::Stat { name: remote });
        }
        if !self.seen.is_empty() {
            self.decide();
            if self.done.broken.is_some() {
                return None;
            }
        }
        if let Some((remote, name)) = self.to_remove.take() {
            self.doing = Some(CollectStep::Removing(name));
            return Some(Operation::Remove { name: remote });
        }
        if let Some((remote, name)) = self.to_check.pop_front() {
            self.doing = Some(CollectStep::Checking(remote.clone(), name));
            return Some(Operation::Stat { name: remote });
        }
        self.fetch()
    }
}

impl<D: Disk, T: Teller> Collection<D, T> {
    /// What is to be done now; none where all is done, or it is of no use to go on.
    pub fn poll_operation(&mut self) -> Option<Operation> {
        self.settle(false);
        loop {
            let next = self.next_now();
            if next.is_some() || self.whole.is_empty() {
                return next;
            }
            // There may be something to delete then.
            self.settle(true);
        }
    }

    /// What came of it.
    pub fn heard(&mut self, outcome: &OperationOutcome) {
        let Some(doing) = self.doing.take() else {
            return;
        };
        if let CollectStep::Fetching(whole) = &doing
            && whole.receipt.read().waits
        {
            let local = whole.path.file_name().unwrap_or_default();
            self.taken.insert(local.to_string_lossy().into_owned());
        }
        match &outcome.result {
            Ok(gain) => self.gained(doing, gain),
            Err(why) => self.refused(doing, why),
        }
    }

    fn gained(&mut self, doing: CollectStep, gain: &Gain) {
        match (doing, gain) {
            (CollectStep::Listing, Gain::Entries(entries)) => self.listed(entries),
            (CollectStep::Asking(name), Gain::Attributes(attributes)) => {
                self.seen.push((name, (**attributes).clone()));
            }
            (CollectStep::Fetching(whole), _) if whole.receipt.read().waits => {
                self.whole.push_back(whole);
            }
            (CollectStep::Fetching(whole), _) => {
                // In the order in which they came.
                self.settle_all();
                self.keep(vec![whole]);
            }
            (CollectStep::Checking(remote, name), Gain::Attributes(attributes)) => {
                self.check(remote, name, attributes);
            }
            (CollectStep::Checking(remote, name), _) => self.remove(remote, name),
            (CollectStep::Removing(name), _) => {
                self.done.deleted += 1;
                self.teller.tell(&name, &Event::Deleted);
            }
            (CollectStep::Listing | CollectStep::Asking(_), _) => {}
        }
    }

    fn listed(&mut self, entries: &[ReadAttributes]) {
        for entry in entries {
            match (attributes::exact_name(entry), attributes::name(entry)) {
                (Some(name), _) => self.seen.push((name, entry.clone())),
                (None, Some(name)) if self.is_wanted(&name, entry) => {
                    self.pass_over(name, "its name is no UTF-8");
                }
                (None, Some(_) | None) => {}
            }
        }
        self.seen.sort_by(|one, other| one.0.cmp(&other.0));
    }

    fn refused(&mut self, doing: CollectStep, why: &Failure) {
        match doing {
            CollectStep::Listing => self.fail(self.directory.clone(), why.clone()),
            CollectStep::Asking(name) | CollectStep::Removing(name) => self.fail(name, why.clone()),
            // Who does not tell is not asked: it may be a right that is not given.
            CollectStep::Checking(remote, name) => self.remove(remote, name),
            CollectStep::Fetching(whole) if whole.receipt.read().is_lost => {
                self.lose(whole.job.name, why.clone());
            }
            CollectStep::Fetching(whole) => {
                // It may be put into its place all the same: nobody else has its name before.
                let is_due = |it: Received| it.waits && !it.is_there && !it.is_lost;
                while is_due(whole.receipt.read()) && self.settler.look(true) {}
                self.fail(whole.job.name, why.clone());
            }
        }
    }
}

/// Under which names files come. One set for each place: two collections may go to one directory, with a state each.
fn parts(into: &Path, url: &Url) -> Vec<PathBuf> {
    let digest = digest(url.place().as_bytes());
    let of = digest.get(..8).unwrap_or_default();
    let others = (1..MOST).map(|number| format!("{STATE}-{of}-{number}.part"));
    let names = [format!("{STATE}-{of}.part")].into_iter().chain(others);
    names.map(|it| into.join(it)).collect()
}

/// Makes a directory, and those above it that are missing.
///
/// They are on the disk then, also where an earlier run has made them: all that is collected would be lost with them.
fn make_directories<D: Disk>(disk: &D, path: &Path) -> Result<(), Errno> {
    let above = directory_of(path);
    match disk.make_directory(None, path, 0o777) {
        Err(Errno::NOENT) if above != path => {
            make_directories(disk, above)?;
            disk.make_directory(None, path, 0o777)?;
        }
        // A file of this name is seen when something is to be made in it.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(why) => return Err(why),
    }
    // Who may not read what is above has not made it either.
    match disk.sync_directory(above) {
        Err(Errno::ACCESS) => Ok(()),
        done => done,
    }
}
