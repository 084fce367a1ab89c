//! `collect`: fetches what is new, and forgets nothing.
//!
//! What was fetched is in a state file, under the responder's names: size and date as the responder said, size and checksum as they came, and the
//! name here. For each file: it is fetched beside its place, synchronised, renamed, and only then gets its line in the state, which is synchronised
//! too. So whatever breaks, the next run fetches what is missing, and what a crash left between the two is recognised by its checksum.
//!
//! The next file is asked for while those before it, at most eight, are synchronised by a thread ([`Settler`]); state and deletion wait for that.
//!
//! A file that may still grow is held back ([`Closed`]): fetched in the middle of being written, it would come twice, each time with what the first one had. What is seen of it
//! has a line in the state as well, so that a later run knows since when it has not changed.
//!
//! A name whose size or date has changed is a new file: names rotate. It is fetched again, beside the old one, which is never replaced. Files of
//! which the responder tells neither size nor date are fetched each time, and are new where their checksum is.
//!
//! What breaks in the middle stays as a part, of one file, and the next run goes on with it as `get --resume` does; that file comes first then.
//!
//! A name that no file here can have is told, and so is a directory; the others are fetched.
//!
//! What is to be deleted there is asked about before, when the state has it: nothing locks it any more, and what was written to it since would be lost. Between the
//! answer and the deletion it still would.
//!
//! **Left out**: what is in directories below the one that is named, which has names and rows of its own; removing entries from the state (names that never come again stay there).

#[cfg(test)]
mod crashes;
mod deciding;
mod fetching;
mod names;
mod placing;
mod rows;
mod state;

use core::fmt::Write as _;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use kumiki_filetransfer::files::disk::{Disk, Errno, System};
use kumiki_filetransfer::osi::{
    self, Call, ContentsType, Duration, Failure, Gain, Operation, OperationOutcome, Progress, Protocols,
    ReadAttributes, Task,
};
use kumiki_filetransfer::url::Url;
use serde_json::{Map, Value};

use super::bar::Bar;
use super::show;
use super::work::{Manner, broken, look_at, narrated, started_over, status};
use crate::commands::{Stop, print, shown, unreadable, unwritable};
use crate::live::option;
use fetching::Job;
use kumiki_filetransfer::local::{MOST, Part, Received, Settler, digest, directory_of};
use names::collected;
use placing::Whole;
use rows::Range;
use state::State;

/// What is to be collected, and where it goes.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The directory here, which is made where there is none
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Only this name; may be given several times. The directory is not listed then, so this works with filestores that have none
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// The same from a file, a name on each line
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Only names that begin so
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
    /// When a file is taken for finished; `row` for FTAM and `settled` for MMS unless given
    #[arg(long, value_name = "RULE")]
    closed: Option<Closed>,
    /// How long size and date of a file must have been the same, from one run to another, where that says that it is finished
    #[arg(long, value_name = "TIME", default_value = "60s")]
    settle: String,
    /// The first and the last number that rows of names have; else all that the digits allow, from 0 where there is a 0
    #[arg(long, value_name = "FIRST-LAST", value_parser = range)]
    range: Option<Range>,
    /// Delete each file at the responder once it is here and the state says so
    #[arg(long)]
    delete: bool,
    /// Only say what would be fetched
    #[arg(long)]
    dry_run: bool,
    /// The state; .kumiki-collect.jsonl in DIR unless given
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

/// When a file may be fetched, for nothing is written to it any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Closed {
    /// A later file of its row is there; of names without a number as `settled`
    Row,
    /// Its size and date have been the same for --settle
    Settled,
    /// At once
    Any,
}

/// `FIRST-LAST`.
fn range(text: &str) -> Result<Range, String> {
    let numbers = text.split_once('-');
    let numbers = numbers.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match numbers {
        Some((first, last)) if first < last => Ok((first, last)),
        Some(_) | None => Err("two numbers, the smaller one first: 1-9999".to_owned()),
    }
}

/// The name of the state.
const STATE: &str = ".kumiki-collect.jsonl";

/// Exit status: nothing is new.
const NOTHING_NEW: u8 = 10;
/// Exit status: some files could not be fetched.
const SOME_FAILED: u8 = 11;
/// Exit status: all that could be fetched was, and names are missing in a row.
const MISSING: u8 = 12;

/// What is waited for.
enum Doing {
    Listing,
    /// The attributes of this name.
    Asking(String),
    Fetching(Whole),
    /// Whether this one, under this name at the responder, is still what was fetched and is to be deleted.
    Checking(String, String),
    Removing(String),
}

/// A collection.
struct Collection<'a, D: Disk> {
    disk: D,
    wanted: &'a Options,
    protocol: Protocols,
    manner: Manner,
    /// The directory at the responder.
    directory: String,
    contents_type: Option<ContentsType>,
    state: State<D>,
    /// When a file may be fetched.
    closed: Closed,
    settle: Duration,
    /// It is not listed yet.
    to_list: bool,
    /// What was listed or asked about and is not decided on yet.
    seen: Vec<(String, ReadAttributes)>,
    to_ask: VecDeque<String>,
    jobs: VecDeque<Job>,
    to_check: VecDeque<(String, String)>,
    /// The one that may be deleted now.
    to_remove: Option<(String, String)>,
    doing: Option<Doing>,
    /// What has come whole and is not in its place yet, in the order in which it came.
    whole: VecDeque<Whole>,
    settler: Settler<D>,
    /// Names whose files here must not be replaced.
    taken: BTreeSet<String>,
    fetched: u64,
    deleted: u64,
    found: u64,
    /// How many files may still grow.
    held: u64,
    /// Names that are missing.
    missing: Vec<String>,
    failed: Vec<(String, Failure)>,
    /// The same for what no file here can be.
    unusable: Vec<(String, Failure)>,
    /// The names of what has come of files that are not whole, or not in their places. It is the last of an earlier run that goes on, if it is one of these.
    parts: Vec<PathBuf>,
    /// It is of no use to go on.
    broken: Option<String>,
    bar: Bar,
}

impl<'a, D: Disk> Collection<'a, D> {
    /// Begins a collection from what is at a URL: of these names, or of the directory where there are none and no file with names is given.
    fn open(
        disk: D,
        (protocol, url): (Protocols, &Url),
        wanted: &'a Options,
        names: Vec<String>,
        manner: Manner,
        settler: Settler<D>,
    ) -> Result<Self, Stop> {
        let settle = option("--settle", &wanted.settle)?;
        make_directories(&disk, &wanted.into).map_err(|why| unwritable("--into", &wanted.into, &why.into()))?;
        let path = wanted.state.clone().unwrap_or_else(|| wanted.into.join(STATE));
        let state = State::open_on(disk.clone(), &path, &url.place())?;
        let taken = state.files().values().map(|entry| entry.local.clone()).collect();
        // One for each place: two collections may go to one directory, with a state each.
        let digest = digest(url.place().as_bytes());
        let of = digest.get(..8).unwrap_or_default();
        let others = (1..MOST).map(|number| format!("{STATE}-{of}-{number}.part"));
        let parts = [format!("{STATE}-{of}.part")].into_iter().chain(others);
        let parts = parts.map(|it| wanted.into.join(it)).collect();
        Ok(Self {
            disk,
            wanted,
            protocol,
            manner,
            directory: collected(protocol, &url.name),
            contents_type: None,
            state,
            closed: wanted.closed.unwrap_or(match protocol {
                Protocols::Ftam => Closed::Row,
                // A device numbers what happens, and writes each record once.
                Protocols::Mms => Closed::Settled,
            }),
            settle,
            seen: Vec::new(),
            to_list: names.is_empty() && wanted.names.is_none(),
            to_ask: names.into(),
            jobs: VecDeque::new(),
            to_check: VecDeque::new(),
            to_remove: None,
            doing: None,
            whole: VecDeque::new(),
            settler,
            taken,
            fetched: 0,
            deleted: 0,
            found: 0,
            held: 0,
            missing: Vec::new(),
            failed: Vec::new(),
            unusable: Vec::new(),
            parts,
            broken: None,
            bar: Bar::new(manner.quiet),
        })
    }

    /// Removes what was left of a file that is not there any more.
    fn tidy(&self) {
        if self.failed.is_empty() && !self.wanted.dry_run {
            for part in &self.parts {
                Part::forget_left(&self.disk, part);
            }
        }
    }

    fn say(&self, event: &str, name: &str, more: &[(&str, Value)]) {
        if self.wanted.json {
            let mut map = Map::new();
            map.insert("event".to_owned(), event.into());
            map.insert("name".to_owned(), name.into());
            map.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            // That nobody reads it to the end is no reason to stop what is under way.
            let _ = print(&format!("{}\n", Value::Object(map)));
            return;
        }
        if self.manner.quiet && event == "fetched" {
            return;
        }
        let mut line = format!("{event} {}", shown(name));
        for (key, value) in more {
            let text = value.as_str().map_or_else(|| value.to_string(), shown);
            // Writing to a text cannot fail.
            let _ = write!(line, ", {key} {text}");
        }
        self.bar.say(&line);
    }

    /// Deletes what is here, if it is still the same: what was written to it since it was fetched would be lost.
    fn check(&mut self, remote: String, name: String, attributes: &ReadAttributes) {
        let old = self.state.get(&name);
        if old.is_some_and(|old| old.has_changed(attributes)) {
            let why = "it has changed since it was fetched";
            return self.say("kept", &name, &[("why", why.into())]);
        }
        self.remove(remote, name);
    }

    /// Has it deleted there, when what is known of it here is on the disk.
    fn remove(&mut self, remote: String, name: String) {
        match self.state.secure() {
            Ok(()) => self.to_remove = Some((remote, name)),
            Err(why) => self.broken = Some(why),
        }
    }

    fn fail(&mut self, name: String, why: Failure) {
        self.say("failed", &name, &[("why", why.to_string().into())]);
        self.failed.push((name, why));
    }

    /// What this machine cannot keep it cannot keep of the next one either.
    fn lose(&mut self, name: String, why: Failure) {
        self.broken = Some(why.meaning.clone());
        self.fail(name, why);
    }

    /// What no file here can be, by its name or as it is a directory; there may be such a one among many.
    fn pass_over(&mut self, name: String, why: &str) {
        let why = Failure::local(why);
        self.say("failed", &name, &[("why", why.to_string().into())]);
        self.unusable.push((name, why));
    }
}

impl<D: Disk> Collection<'_, D> {
    /// The next thing to do, as far as it does not depend on what is not in its place yet.
    fn next_now(&mut self) -> Option<Operation> {
        if self.broken.is_some() {
            return None;
        }
        if core::mem::take(&mut self.to_list) {
            self.doing = Some(Doing::Listing);
            let name = self.directory.clone();
            return Some(Operation::List { name });
        }
        // Only who knows all names knows which is the last of a row.
        if let Some(name) = self.to_ask.pop_front() {
            let remote = self.remote(&name);
            self.doing = Some(Doing::Asking(name));
            return Some(Operation::Stat { name: remote });
        }
        if !self.seen.is_empty() {
            self.decide();
            if self.broken.is_some() {
                return None;
            }
        }
        if let Some((remote, name)) = self.to_remove.take() {
            self.doing = Some(Doing::Removing(name));
            return Some(Operation::Remove { name: remote });
        }
        if let Some((remote, name)) = self.to_check.pop_front() {
            self.doing = Some(Doing::Checking(remote.clone(), name));
            return Some(Operation::Stat { name: remote });
        }
        self.fetch()
    }
}

impl<D: Disk> Task for Collection<'_, D> {
    fn next(&mut self) -> Option<Operation> {
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

    fn heard(&mut self, outcome: &OperationOutcome) {
        let Some(doing) = self.doing.take() else {
            return;
        };
        self.told(&narrated(self.protocol, outcome));
        if let Doing::Fetching(whole) = &doing
            && whole.receipt.read().waits
        {
            let local = whole.path.file_name().unwrap_or_default();
            self.taken.insert(local.to_string_lossy().into_owned());
        }
        match (doing, &outcome.result) {
            (Doing::Listing, Ok(Gain::Entries(entries))) => {
                for entry in entries {
                    match (show::exact_name(entry), show::name(entry)) {
                        (Some(name), _) => self.seen.push((name, entry.clone())),
                        (None, Some(name)) if self.is_wanted(&name, entry) => {
                            self.pass_over(name, "its name is no UTF-8");
                        }
                        (None, Some(_) | None) => {}
                    }
                }
                self.seen.sort_by(|one, other| one.0.cmp(&other.0));
            }
            (Doing::Asking(name), Ok(Gain::Attributes(attributes))) => {
                self.seen.push((name, (**attributes).clone()));
            }
            (Doing::Fetching(whole), Ok(_)) if whole.receipt.read().waits => {
                self.whole.push_back(whole);
            }
            (Doing::Fetching(whole), Ok(_)) => {
                // In the order in which they came.
                self.settle_all();
                self.keep(vec![whole]);
            }
            (Doing::Checking(remote, name), Ok(Gain::Attributes(attributes))) => {
                self.check(remote, name, attributes);
            }
            // Who does not tell is not asked: it may be a right that is not given.
            (Doing::Checking(remote, name), Ok(_) | Err(_)) => self.remove(remote, name),
            (Doing::Removing(name), Ok(_)) => {
                self.deleted += 1;
                self.say("deleted", &name, &[]);
            }
            (Doing::Listing, Err(why)) => {
                self.fail(self.directory.clone(), why.clone());
            }
            (Doing::Asking(name) | Doing::Removing(name), Err(why)) => {
                self.fail(name, why.clone());
            }
            (Doing::Fetching(whole), Err(why)) if whole.receipt.read().is_lost => {
                self.lose(whole.job.name, why.clone());
            }
            (Doing::Fetching(whole), Err(why)) => {
                // It may be put into its place all the same: nobody else has its name before.
                let is_due = |it: Received| it.waits && !it.is_there && !it.is_lost;
                while is_due(whole.receipt.read()) && self.settler.look(true) {}
                self.fail(whole.job.name, why.clone());
            }
            (Doing::Listing | Doing::Asking(_), Ok(_)) => {}
        }
    }

    fn progress(&mut self, progress: Progress) {
        self.bar.at(progress.octets);
    }

    fn broken(&mut self, title: &str, why: &Failure, wait: Duration) {
        self.bar.say(&broken(title, why, wait));
    }

    fn started_over(&mut self, title: &str, why: &Failure) {
        self.bar.say(&started_over(title, why));
    }

    fn warned(&mut self, line: &str) {
        self.bar.say(&format!("kumiki: {line}"));
    }

    fn told(&mut self, line: &str) {
        if self.manner.verbose {
            self.bar.say(line);
        }
    }
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

/// Collects.
pub(crate) fn run(
    call: &Call,
    url: &Url,
    wanted: &Options,
    contents_type: Option<ContentsType>,
    manner: Manner,
) -> Result<(), Stop> {
    let mut names = wanted.name.clone();
    if let Some(path) = &wanted.names {
        let text = std::fs::read_to_string(path).map_err(|why| unreadable("--names", path, &why))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        names.extend(lines.map(str::to_owned));
    }
    let protocol = call.calls.protocol();
    let settler = Settler::start().map_err(|why| Stop::Failed(format!("no thread: {why}")))?;
    let from = (protocol, url);
    let mut collection = Collection::open(System, from, wanted, names, manner, settler)?;
    collection.contents_type = contents_type;
    let done = osi::call(call, &mut collection);
    collection.settle_all();
    collection.bar.end();
    look_at(&done?, call, manner)?;
    if let Some(why) = collection.broken {
        return Err(Stop::Failed(why));
    }
    let stop = |status, why: String| Err(Stop::Ended { status, why });
    collection.tidy();
    let fetched = collection.fetched;
    let failed = collection.failed.len() + collection.unusable.len();
    let first_failed = collection.failed.first();
    match first_failed.or_else(|| collection.unusable.first()) {
        Some((name, first)) if fetched == 0 => stop(
            first_failed.map_or(SOME_FAILED, |(_, first)| status(first, true)),
            format!("nothing was fetched, and {failed} failed, the first of them {name}: {first}"),
        ),
        Some((name, first)) => {
            stop(SOME_FAILED, format!("{fetched} fetched and {failed} failed, the first of them {name}: {first}"))
        }
        None if !collection.missing.is_empty() => {
            stop(MISSING, format!("{fetched} fetched; missing: {}", collection.missing.join(", ")))
        }
        None if fetched == 0 && collection.deleted == 0 && !(wanted.dry_run && collection.found > 0) => {
            let held = match collection.held {
                0 => String::new(),
                held => format!("; {held} held back, for they may still grow"),
            };
            stop(NOTHING_NEW, format!("nothing is new{held}"))
        }
        None => Ok(()),
    }
}
