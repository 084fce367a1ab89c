//! A run: here, or piece by piece on other machines.

use std::collections::BTreeSet;
use std::path::{self, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::progress::{Progress, Step};
use kumiki_lab::reproduce::{self, Header, Interruption, Journal, Options, Pieces, Plan, Provenance, Results, Shard};
use kumiki_lab::rows::{Output, OutputError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::outcome::Outcome;
use crate::work::ChosenScenario;

/// Octets by the names of files.
type Files<'py> = Vec<(String, Bound<'py, PyBytes>)>;

/// The points of a scenario, those that have ended among them.
#[pyclass(module = "kumiki_lab._kumiki")]
pub(crate) struct Job {
    plan: Plan,
    pieces: Pieces,
    provenance: Provenance,
    to: Option<(Output, Journal)>,
}

#[pymethods]
impl Job {
    /// `out` is a directory in which each point is kept as it ends; with `resume` what is there already is not run
    /// again, and with `force` it is replaced. `command` and `started` are for `run.json`.
    #[new]
    fn new(
        work: &ChosenScenario,
        out: Option<PathBuf>,
        resume: bool,
        force: bool,
        command: String,
        started: String,
    ) -> PyResult<Self> {
        let before = out.clone().filter(|_| resume);
        let provenance = Provenance::begin(command, started).after(before);
        let header = Header::new(core::slice::from_ref(&work.document), &work.choice, "", Shard::WHOLE);
        let mut pieces = Pieces::new(header.clone(), &work.plan).map_err(|why| error::fault(&why))?;
        let mut open = |out| -> Result<_, OutputError> {
            let output = Output::open(out, force || resume)?;
            let mut journal = Journal::open(&output, &header, &work.plan, resume)?;
            pieces.take(&mut journal);
            Ok((output, journal))
        };
        let to = out.map(&mut open).transpose().map_err(|why| error::output(&why))?;
        Ok(Self { plan: work.plan.clone(), pieces, provenance, to })
    }

    /// Takes the points of another run of the same, which are not run again.
    fn know(&mut self, outcome: &Outcome) -> PyResult<()> {
        let text = outcome.pieces.to_journal().map_err(|why| error::output(&why))?;
        // Those of a run with a directory are there and not in memory.
        let files = outcome.pieces.captures(outcome.directory.as_deref()).map_err(|why| error::output(&why))?;
        self.put(&text, files).map(drop)
    }

    /// The same in memory, with no point that has ended.
    fn empty(&self) -> Self {
        let (plan, provenance) = (self.plan.clone(), self.provenance.clone());
        Self { plan, pieces: self.pieces.empty(), provenance, to: None }
    }

    /// A hash over everything that the rows depend on, what profiles said as they were read among it.
    fn digest(&self) -> String {
        self.pieces.digest()
    }

    /// The places of the points that have not ended.
    fn missing(&self) -> Vec<usize> {
        let ended: BTreeSet<usize> = self.pieces.places().collect();
        (0..self.plan.len()).filter(|place| !ended.contains(place)).collect()
    }

    /// Runs what is missing, or those of it that are in `only`. `hear` is told of each point that ends: how many have,
    /// of how many, which one, and how many seconds are left. What it raises, and what Ctrl-C raises, ends the run:
    /// what had ended by then is kept.
    fn run(
        &mut self,
        py: Python<'_>,
        jobs: Option<usize>,
        only: Option<BTreeSet<usize>>,
        hear: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let stop = Arc::new(Stop::here());
        let (asked, heard) = (Arc::clone(&stop), Arc::clone(&stop));
        let ran = py.detach(|| {
            let total = u64::try_from(self.plan.len()).unwrap_or(u64::MAX);
            let mut progress = match hear {
                None => Progress::hidden(),
                Some(hear) => Progress::told(total, move |step| tell(&hear, step, &heard)),
            };
            let (output, journal) = match &mut self.to {
                Some((output, journal)) => (Some(&*output), Some(journal)),
                None => (None, None),
            };
            let options = Options {
                jobs: jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
                interruption: Interruption::by(move || asked.is_made()),
                output,
                journal,
                only: only.as_ref(),
                pieces: Some(&mut self.pieces),
                ..Options::default()
            };
            self.plan.run(&Arc::new(Laboratory::default()), options, &mut progress).map(drop)
        });
        ran.map_err(|why| error::output(&why))?;
        stop.reason().map_or(Ok(()), Err)
    }

    /// What has ended, to be sent: a journal, and files by name.
    fn sent<'py>(&self, py: Python<'py>) -> PyResult<(String, Files<'py>)> {
        let text = self.pieces.to_journal().map_err(|why| error::output(&why))?;
        let files = self.pieces.files().map(|(name, octets)| (name.to_owned(), PyBytes::new(py, octets)));
        Ok((text, files.collect()))
    }

    /// Takes what another process has sent; gives the places of the points in it.
    fn put(&mut self, text: &str, files: Vec<(String, Vec<u8>)>) -> PyResult<Vec<usize>> {
        let to = self.to.as_mut().map(|(output, journal)| (&*output, journal));
        self.pieces.add(text, files, to).map_err(|why| error::output(&why))
    }

    /// Says that the point at `place` failed elsewhere, and why.
    fn fail(&mut self, place: usize, why: &str) -> PyResult<()> {
        let journal = self.to.as_mut().map(|(_, journal)| journal);
        self.pieces.fail(&self.plan, place, why, journal).map_err(|why| error::output(&why))
    }

    /// What came of it. Where it goes to a directory, and nothing is left, that is written, too.
    fn end(&mut self, py: Python<'_>) -> PyResult<Outcome> {
        py.detach(|| self.ended()).map_err(|why| error::output(&why))
    }
}

impl Job {
    fn ended(&mut self) -> Result<Outcome, OutputError> {
        let results = self.pieces.results(&self.plan);
        let (left, all) = results.iter().map(|it| it.left()).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let failed = results.iter().map(|it| it.failures().len()).sum();
        let run = self.provenance.end(&self.plan, (all - left, all), failed);
        let mut directory = None;
        if let Some((output, mut journal)) = self.to.take() {
            // Python may go to another directory before it asks for files.
            directory = Some(path::absolute(output.directory()).unwrap_or_else(|_| output.directory().to_owned()));
            if left == all {
                // Nothing is in it, and the next attempt makes it again.
                journal.discard()?;
            } else {
                let kept = results.iter().flat_map(Results::captures).flat_map(|(_, names)| names.iter().cloned());
                journal.replace(&output, &kept.collect())?;
                output.write(Output::RUN, run.as_bytes())?;
                if left == 0 && results.iter().any(|it| it.rows().next().is_some()) {
                    reproduce::write(&output, &results)?;
                }
            }
        }
        Ok(Outcome { plan: self.plan.clone(), pieces: self.pieces.clone(), results, run, directory })
    }
}

/// Tells Python of a step.
fn tell(hear: &Py<PyAny>, step: &Step<'_>, stop: &Stop) {
    let left = step.left.map(|left| left.as_secs_f64());
    Python::attach(|py| {
        if let Err(why) = hear.call1(py, (step.done, step.total, step.what, left)) {
            stop.make(why);
        }
    });
}

/// Why a run is to end, where it is.
struct Stop {
    is_made: AtomicBool,
    why: Mutex<Option<PyErr>>,
    /// The thread that waits for the run: signals are Python's main thread's, and what else runs here is none of
    /// Python's.
    waits: ThreadId,
}

impl Stop {
    fn here() -> Self {
        Self { is_made: AtomicBool::new(false), why: Mutex::new(None), waits: thread::current().id() }
    }

    fn make(&self, why: PyErr) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.is_made.store(true, Ordering::Relaxed);
    }

    fn is_made(&self) -> bool {
        if !self.is_made.load(Ordering::Relaxed)
            && thread::current().id() == self.waits
            && let Err(why) = Python::attach(|py| py.check_signals())
        {
            self.make(why);
        }
        self.is_made.load(Ordering::Relaxed)
    }

    fn reason(&self) -> Option<PyErr> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
