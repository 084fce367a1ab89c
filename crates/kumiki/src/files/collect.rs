//! `collect`: from the command line to [`kumiki_filetransfer::collect`], and what that tells.

use core::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kumiki_filetransfer::collect::{self, CollectArguments, Collected, Collection, Event, OpenError, Range, Teller};
use kumiki_filetransfer::files::disk::System;
use kumiki_filetransfer::local::Settler;
use kumiki_filetransfer::osi::{
    self, Call, ContentsType, Duration, Failure, Operation, OperationOutcome, Progress, Protocols, Task,
};
use kumiki_filetransfer::url::Url;
use serde_json::{Map, Value};

use super::bar::Bar;
use super::work::{OutputManner, broken, look_at, narrated, started_over, status};
use crate::commands::{Stop, print, shown, unreadable, unwritable};
use crate::live::option;

/// What is to be collected, and where it goes.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The directory here, which is made where there is none
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Only this name; may be given several times. The directory is not listed then, so this works with filestores that
    /// have none
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
    /// How long size and date of a file must have been the same, from one run to another, where that says that it is
    /// finished
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

impl Closed {
    const fn rule(self) -> collect::Closed {
        match self {
            Self::Row => collect::Closed::Row,
            Self::Settled => collect::Closed::Settled,
            Self::Any => collect::Closed::Any,
        }
    }
}

impl Options {
    fn wanted(&self, contents_type: Option<ContentsType>) -> Result<CollectArguments, Stop> {
        Ok(CollectArguments {
            into: self.into.clone(),
            names: self.names()?,
            prefix: self.prefix.clone(),
            closed: self.closed.map(Closed::rule),
            settle: option("--settle", &self.settle)?,
            range: self.range,
            delete: self.delete,
            dry_run: self.dry_run,
            state: self.state.clone(),
            contents_type,
        })
    }

    /// The names that are given, and those of the file; none where neither is.
    fn names(&self) -> Result<Option<Vec<String>>, Stop> {
        let mut names = self.name.clone();
        if let Some(path) = &self.names {
            let text = std::fs::read_to_string(path).map_err(|why| unreadable("--names", path, &why))?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            names.extend(lines.map(str::to_owned));
        }
        Ok(Some(names).filter(|names| !names.is_empty() || self.names.is_some()))
    }
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

/// Exit status: nothing is new.
const NOTHING_NEW: u8 = 10;
/// Exit status: some files could not be fetched.
const SOME_FAILED: u8 = 11;
/// Exit status: all that could be fetched was, and names are missing in a row.
const MISSING: u8 = 12;

/// What a collection tells, on the terminal.
struct Telling {
    bar: Bar,
    json: bool,
    manner: OutputManner,
}

impl Teller for Telling {
    fn tell(&mut self, name: &str, event: &Event<'_>) {
        let (event, more) = words(event);
        if self.json {
            let mut map = Map::new();
            map.insert("event".to_owned(), event.into());
            map.insert("name".to_owned(), name.into());
            map.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
            // That nobody reads it to the end is no reason to stop what is in flight.
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

    fn begin(&mut self, name: &str, size: Option<u64>) {
        self.bar.begin(name);
        self.bar.expect(size);
    }
}

/// The name of an event, and what else is said of it.
fn words(event: &Event<'_>) -> (&'static str, Vec<(&'static str, Value)>) {
    let size = |size: &Option<u64>| vec![("size", size.map_or(Value::Null, Value::from))];
    let why = |why: &str| vec![("why", why.into())];
    match event {
        Event::New(octets) => ("new", size(octets)),
        Event::Changed(octets) => ("changed", size(octets)),
        Event::Missing => ("missing", Vec::new()),
        Event::Held(reason) => ("held", why(reason)),
        Event::Kept(reason) => ("kept", why(reason)),
        Event::Failed(reason) => ("failed", why(&reason.to_string())),
        Event::Deleted => ("deleted", Vec::new()),
        Event::Unchanged => ("unchanged", Vec::new()),
        Event::Fetched { bytes, sha256, local, resumed } => {
            let mut more = vec![("bytes", (*bytes).into()), ("sha256", (*sha256).into()), ("local", (*local).into())];
            if *resumed > 0 {
                more.push(("resumed", (*resumed).into()));
            }
            ("fetched", more)
        }
    }
}

/// A collection that is seen on the terminal.
struct Shown {
    of: Protocols,
    collection: Collection<System, Telling>,
}

impl Shown {
    const fn telling(&mut self) -> &mut Telling {
        &mut self.collection.teller
    }
}

impl Task for Shown {
    fn next(&mut self) -> Option<Operation> {
        self.collection.poll_operation()
    }

    fn heard(&mut self, outcome: &OperationOutcome) {
        self.told(&narrated(self.of, outcome));
        self.collection.heard(outcome);
    }

    fn progress(&mut self, progress: Progress) {
        self.telling().bar.at(progress.octets);
    }

    fn broken(&mut self, title: &str, why: &Failure, wait: Duration) {
        self.telling().bar.say(&broken(title, why, wait));
    }

    fn started_over(&mut self, title: &str, why: &Failure) {
        self.telling().bar.say(&started_over(title, why));
    }

    fn warned(&mut self, line: &str) {
        self.telling().bar.say(&format!("kumiki: {line}"));
    }

    fn told(&mut self, line: &str) {
        let telling = self.telling();
        if telling.manner.verbose {
            telling.bar.say(line);
        }
    }
}

/// Collects.
pub(crate) fn run(
    call: &Call,
    url: &Url,
    wanted: &Options,
    contents_type: Option<ContentsType>,
    manner: OutputManner,
) -> Result<(), Stop> {
    let of = call.calls.protocol();
    let settler = Settler::start().map_err(|why| Stop::Failed(format!("no thread: {why}")))?;
    let telling = Telling { bar: Bar::new(manner.quiet), json: wanted.json, manner };
    let opened = Collection::open(System, (of, url), wanted.wanted(contents_type)?, settler, telling);
    let collection = opened.map_err(|why| match why {
        OpenError::Directory(why) => unwritable("--into", &wanted.into, &why),
        OpenError::State(why) => Stop::Failed(why),
    })?;
    let mut shown = Shown { of, collection };
    let done = osi::call(call, &mut shown);
    shown.collection.settle_all();
    shown.telling().bar.end();
    look_at(&done?, call, manner)?;
    if let Some(why) = &shown.collection.collected().broken {
        return Err(Stop::Failed(why.clone()));
    }
    shown.collection.tidy();
    ended(shown.collection.collected(), wanted.dry_run)
}

/// How a collection that was not broken ends.
fn ended(done: &Collected, dry_run: bool) -> Result<(), Stop> {
    let stop = |status, why: String| Err(Stop::Ended { status, why });
    let fetched = done.fetched;
    let failed = done.failed.len() + done.unusable.len();
    let first_failed = done.failed.first();
    match first_failed.or_else(|| done.unusable.first()) {
        Some((name, first)) if fetched == 0 => stop(
            first_failed.map_or(SOME_FAILED, |(_, first)| status(first, true)),
            format!("nothing was fetched, and {failed} failed, the first of them {name}: {first}"),
        ),
        Some((name, first)) => {
            stop(SOME_FAILED, format!("{fetched} fetched and {failed} failed, the first of them {name}: {first}"))
        }
        None if !done.missing.is_empty() => {
            stop(MISSING, format!("{fetched} fetched; missing: {}", done.missing.join(", ")))
        }
        None if fetched == 0 && done.deleted == 0 && !(dry_run && done.found > 0) => {
            let held = match done.held {
                0 => String::new(),
                held => format!("; {held} held back, for they may still grow"),
            };
            stop(NOTHING_NEW, format!("nothing is new{held}"))
        }
        None => Ok(()),
    }
}
