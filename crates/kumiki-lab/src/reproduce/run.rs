//! Running the points of a plan on several threads.
//!
//! Threads that run points belong to nobody: where somebody wants an end, they are left to their points, and end with
//! the process. A point may take hours, and nothing of it can be kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::done::{Captures, Failed, PointResult, Repeated, Unfinished, repeat};
use super::journal::{Entry, Journal, Stored};
use super::pieces::Pieces;
use super::shard::Shard;
use super::{NOT_RUN, Part, Plan, Results, Runner};
use crate::capture::Contents;
use crate::progress::{Progress, Stopwatch};
use crate::rows::{Output, OutputError};
use crate::scenario::Point;

/// How often it is looked whether somebody wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// How long what a journal got may be in memory alone. A machine that fails costs so much, and a disk is not asked for
/// each of many short points.
const UNSAFE: Duration = Duration::from_secs(1);

/// Says whether somebody wants the runs to end; by default nobody does.
#[derive(Clone, Default)]
pub struct Interruption(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Interruption {
    /// An end is wanted once `is_made` says so.
    #[must_use]
    pub fn by(is_made: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_made)))
    }

    pub(super) fn is_made(&self) -> bool {
        self.0.as_ref().is_some_and(|is_made| is_made())
    }
}

impl fmt::Debug for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interruption").field(&self.0.is_some()).finish()
    }
}

/// How a plan is run.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// How many points are run at once; at least one is. Where there are fewer, each is run on several cores.
    pub jobs: usize,
    /// Whether somebody wants an end. Then the rest is not run, and what runs is lost.
    pub interruption: Interruption,
    /// Where captures go as they come, so that they need not all be kept.
    pub output: Option<&'a Output>,
    /// What keeps each point as it ends, and has what is not to be run again.
    pub journal: Option<&'a mut Journal>,
    /// Which of the points.
    pub shard: Shard,
    /// Only these of them, where it is not all.
    pub only: Option<&'a BTreeSet<usize>>,
    /// What keeps each point in memory as it ends, and captures where there is no `output`; has what is not to be run
    /// again.
    pub pieces: Option<&'a mut Pieces>,
}

impl Options<'_> {
    fn has(&self, place: usize) -> bool {
        self.shard.has(place) && self.only.is_none_or(|only| only.contains(&place))
    }

    /// The key of the point at `place`, where somebody keeps it.
    fn key(&self, place: usize) -> String {
        let of_journal = self.journal.as_deref().map(|journal| journal.key(place));
        of_journal.or_else(|| Some(self.pieces.as_deref()?.key(place))).unwrap_or_default()
    }

    /// What has ended before, by the place of the point in the plan.
    fn known(&mut self) -> BTreeMap<usize, Entry> {
        let mut known = self.journal.as_deref_mut().map(Journal::take_kept).unwrap_or_default();
        if let Some(pieces) = self.pieces.as_deref_mut() {
            for (place, entry) in &known {
                pieces.put(*place, entry.clone());
            }
            known.extend(pieces.ended().map(|(place, entry)| (place, entry.clone())));
        }
        known
    }

    /// Keeps the captures of a point, and says what they are called and how many octets each has.
    fn keep(&mut self, captures: Vec<(String, Contents)>) -> Result<(Vec<String>, Vec<u64>), OutputError> {
        let names = captures.iter().map(|(name, _)| name.clone()).collect();
        let mut lengths = Vec::new();
        if let Some(output) = self.output {
            for (name, contents) in captures {
                lengths.push(output.write_capture(&name, &contents)?);
            }
        } else if let Some(pieces) = self.pieces.as_deref_mut() {
            for (name, contents) in captures {
                let octets = contents
                    .into_octets()
                    .map_err(|source| OutputError::Unread { path: name.as_str().into(), source })?;
                lengths.push(octets.len() as u64);
                pieces.put_files([(name, octets)]);
            }
        } else {
            return Ok((Vec::new(), Vec::new()));
        }
        Ok((names, lengths))
    }
}

/// A point that has ended on a thread.
struct EndedPoint {
    place: usize,
    took: Duration,
    result: Result<Repeated, Unfinished>,
}

/// What is kept of the points, by their places in the plan.
type KeptResults = BTreeMap<usize, Result<PointResult, Failed>>;

impl Plan {
    /// Runs the points of a shard on several threads, but for those that the journal has. A point is among the results
    /// whole or not at all ([`Results::left`]); those of other shards are not among them.
    ///
    /// # Errors
    ///
    /// [`OutputError`] where a capture or the journal cannot be written. A point that fails is among the results.
    pub fn run<R: Runner + Send + 'static>(
        &self,
        runner: &Arc<R>,
        mut options: Options<'_>,
        progress: &mut Progress,
    ) -> Result<Vec<Results>, OutputError> {
        let mut kept: KeptResults = BTreeMap::new();
        let own = self.costs.iter().enumerate().filter(|(place, _)| options.has(*place));
        progress.foresee(own.map(|(_, cost)| *cost), options.jobs);
        for (place, entry) in options.known() {
            let Some((_, point)) = self.at(place) else {
                continue;
            };
            if let Some(cost) = self.costs.get(place).filter(|_| options.has(place)) {
                progress.known(*cost, Duration::from_millis(entry.took_ms));
            }
            let stored = options.journal.as_deref().and_then(|journal| journal.stored(place));
            kept.insert(place, done(point, entry, stored));
        }
        progress.begun();
        let places = 0..self.len();
        let queue: Vec<usize> = places.filter(|it| options.has(*it) && !kept.contains_key(it)).collect();
        let (threads, ended) = self.begin(runner, queue, &options);
        let was_interrupted = self.collect(&ended, &mut options, &mut kept, progress)?;
        drop(ended);
        if !was_interrupted {
            for thread in threads {
                // As if it had happened here.
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        }
        Ok(self.results(kept, options.shard))
    }

    /// Begins the threads that run the points of `queue`.
    fn begin<R: Runner + Send + 'static>(
        &self,
        runner: &Arc<R>,
        queue: Vec<usize>,
        options: &Options<'_>,
    ) -> (Vec<JoinHandle<()>>, Receiver<EndedPoint>) {
        // Captures are large: who runs points waits until those before are written.
        let (sender, ended) = mpsc::sync_channel(1);
        let next = Arc::new(AtomicUsize::new(0));
        let jobs = options.jobs.clamp(1, queue.len().max(1));
        // Fewer points than may run at once: each has its part of the rest.
        let cores = options.jobs.max(1) / jobs;
        let queue: Arc<[usize]> = queue.into();
        let begin = |_| {
            let (plan, runner, sender) = (self.clone(), Arc::clone(runner), sender.clone());
            let (queue, next, interruption) = (Arc::clone(&queue), Arc::clone(&next), options.interruption.clone());
            std::thread::spawn(move || {
                while !interruption.is_made() {
                    let place = queue.get(next.fetch_add(1, Ordering::Relaxed)).copied();
                    let Some((place, (_, point))) = place.and_then(|place| Some((place, plan.at(place)?))) else {
                        return;
                    };
                    let began = Stopwatch::start();
                    let result = repeat(&*runner, (point, cores), plan.choice.runs, &interruption);
                    // Nobody listens any more where there is an end, or a capture could not be written.
                    if sender.send(EndedPoint { place, took: began.elapsed(), result }).is_err() {
                        return;
                    }
                }
            })
        };
        ((0..jobs).map(begin).collect(), ended)
    }

    /// Keeps what the threads bring until they end or somebody wants an end; says whether that was so.
    fn collect(
        &self,
        ended: &Receiver<EndedPoint>,
        options: &mut Options<'_>,
        kept: &mut KeptResults,
        progress: &mut Progress,
    ) -> Result<bool, OutputError> {
        let mut synced = Stopwatch::start();
        let was_interrupted = loop {
            // What has ended before the wish is kept all the same.
            let wait = if options.interruption.is_made() { Duration::ZERO } else { LOOK };
            match ended.recv_timeout(wait) {
                Ok(it) => self.keep(it, options, kept, progress)?,
                Err(RecvTimeoutError::Timeout) if wait.is_zero() => break true,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break false,
            }
            if let Some(journal) = options.journal.as_deref_mut().filter(|_| synced.elapsed() >= UNSAFE) {
                journal.sync()?;
                synced = Stopwatch::start();
            }
        };
        options.journal.as_deref_mut().map_or(Ok(()), Journal::sync)?;
        Ok(was_interrupted)
    }

    fn keep(
        &self,
        ended: EndedPoint,
        options: &mut Options<'_>,
        kept: &mut KeptResults,
        progress: &mut Progress,
    ) -> Result<(), OutputError> {
        let EndedPoint { place, took, result } = ended;
        let Some((part, point)) = self.at(place) else {
            return Ok(());
        };
        let label = point.label();
        let doing = [part.name.as_str(), &label].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>();
        let doing = doing.join(", ");
        progress.doing(&doing);
        let mut entry = Entry {
            key: options.key(place),
            scenario: part.name.clone(),
            point: point.index,
            label,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            captures: Vec::new(),
            octets: Vec::new(),
            failed: None,
            runs: Vec::new(),
        };
        match result {
            Ok(Repeated { runs, captures, failed }) => {
                // Those of a point that failed are what one wants to look at.
                (entry.captures, entry.octets) = options.keep(files(&part.name, point.index, captures))?;
                (entry.runs, entry.failed) = (runs, failed);
            }
            Err(Unfinished::Unwritten(why)) => return Err(why),
            Err(Unfinished::Failed(why)) if why == NOT_RUN => return Ok(()),
            Err(Unfinished::Failed(why)) => entry.failed = Some(why),
        }
        if let Some(why) = &entry.failed {
            progress.note(&format!("{doing}: {why}"));
        }
        // Captures first: what is in the journal has its files.
        let stored = options.journal.as_deref_mut().map(|journal| journal.add(&entry)).transpose()?;
        if let Some(pieces) = options.pieces.as_deref_mut() {
            pieces.put(place, entry.clone());
        }
        kept.insert(place, done(point, entry, stored));
        if let Some(cost) = self.costs.get(place) {
            progress.done(*cost, took);
        }
        Ok(())
    }

    /// The point at `place`, and the scenario that it is of.
    pub(super) fn at(&self, place: usize) -> Option<(&Part, &Point)> {
        let mut place = place;
        for part in &*self.parts {
            match place.checked_sub(part.points.len()) {
                None => return Some((part, part.points.get(place)?)),
                Some(left) => place = left,
            }
        }
        None
    }

    /// The results of all points of a shard.
    pub(super) fn results(&self, mut kept: KeptResults, shard: Shard) -> Vec<Results> {
        let mut place = 0;
        let mut results = Vec::with_capacity(self.parts.len());
        for part in &*self.parts {
            let mut points = Vec::new();
            for point in &part.points {
                if shard.has(place) {
                    let result = kept.remove(&place).unwrap_or_else(|| Err(NOT_RUN.to_owned().into()));
                    points.push((point.clone(), result));
                }
                place += 1;
            }
            let (name, left_out) = (part.name.clone(), part.left_out.clone());
            results.push(Results { name, choice: self.choice.clone(), points, left_out });
        }
        results
    }
}

/// What a line of a journal says of `point`; where it is `stored` there, the rest need not be in memory.
pub(super) fn done(point: &Point, entry: Entry, stored: Option<Stored>) -> Result<PointResult, Failed> {
    let done = PointResult::of_entry(point, entry)?;
    Ok(match stored {
        Some(stored) => done.stored(stored, point),
        None => done,
    })
}

/// The captures of a point as files below the directory of results: those of the first run by their names alone, unless
/// a name begins as those of others do.
fn files(scenario: &str, index: usize, captures: Captures) -> Vec<(String, Contents)> {
    let named = |(repetition, name, contents): (u32, String, Contents)| {
        let repetition = match repetition {
            0 if number_of_run(&name).is_none() => String::new(),
            n => format!("run{n}-"),
        };
        (format!("{}/{scenario}/{}{repetition}{name}", Output::CAPTURES, of_point(index)), contents)
    };
    captures.into_iter().map(named).collect()
}

/// How the names of the captures of a point begin.
fn of_point(index: usize) -> String {
    format!("{index:03}-")
}

/// What follows the number of the point in the name of a capture, where it is that point's.
pub(super) fn own_name(file: &str, index: usize) -> Option<&str> {
    file.strip_prefix(&of_point(index))
}

/// Whether the capture in a `file` called as `000-near.pcapng` is of the first run of its point, and not as
/// `000-run2-near.pcapng`.
pub(super) fn is_of_first_run(file: &str) -> bool {
    let own = file.split_once('-').map_or(file, |(_, own)| own);
    number_of_run(own).is_none_or(|number| number == "0")
}

/// The number, where `name` begins with `run`, a number and a hyphen.
fn number_of_run(name: &str) -> Option<&str> {
    let (number, _) = name.strip_prefix("run")?.split_once('-')?;
    (!number.is_empty() && number.bytes().all(|octet| octet.is_ascii_digit())).then_some(number)
}
