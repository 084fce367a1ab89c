//! How far a long command is, and how long it will still take.
//!
//! On a terminal a bar on standard error; elsewhere plain lines there, at most one every five seconds, so that a log
//! stays readable. Nothing is ever written to standard output, which belongs to results.
//!
//! This is the one place in the laboratory that reads a clock: how long a person waits is not part of any result.

use std::fmt;
use std::io::Write as _;
use std::time::{Duration, Instant};

use kumiki_config::shown;

mod bar;
mod course;

use bar::Bar;
use course::ProgressLine;
pub(crate) use course::spoken;

/// The least time between two plain lines.
pub const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// What a step is expected to cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// Steps of one group cost about the same for their weight, as the points of one figure do.
    pub group: usize,
    /// How much beside other steps; above 0. Between groups this is a guess, for as long as nothing of a group is done.
    pub weight: f64,
}

/// How long something takes.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on.
    #[must_use]
    pub fn start() -> Self {
        Self(now())
    }

    /// How long it has been.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        now().saturating_duration_since(self.0)
    }
}

/// The progress of one command.
#[derive(Debug)]
pub struct Progress {
    form: Form,
    started: Instant,
    course: ProgressLine,
}

enum Form {
    Bar(Bar),
    Lines,
    Told(Box<dyn FnMut(&Step<'_>)>),
    Hidden,
}

/// How far it is after a step.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// How many steps are done.
    pub done: u64,
    /// Of how many.
    pub total: u64,
    /// What was done last.
    pub what: &'a str,
    /// How long it will still take, where that is known.
    pub left: Option<Duration>,
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bar(_) => "Bar",
            Self::Lines => "Lines",
            Self::Told(_) => "Told",
            Self::Hidden => "Hidden",
        })
    }
}

impl Progress {
    /// Starts `total` steps of `what` ("reproduce"): a bar where standard error is a terminal, lines otherwise.
    #[must_use]
    pub fn new(what: &str, total: u64) -> Self {
        let form = Bar::new(what, total).map_or(Form::Lines, Form::Bar);
        Self::with_form(what, total, form)
    }

    /// Plain lines, also on a terminal.
    #[must_use]
    pub fn lines(what: &str, total: u64) -> Self {
        Self::with_form(what, total, Form::Lines)
    }

    /// Shows nothing: for `--quiet`, and where another program reads.
    #[must_use]
    pub fn hidden() -> Self {
        Self::with_form("", 0, Form::Hidden)
    }

    /// Tells `hear` of each step: where another program shows it.
    #[must_use]
    pub fn told(total: u64, hear: impl FnMut(&Step<'_>) + 'static) -> Self {
        Self::with_form("", total, Form::Told(Box::new(hear)))
    }

    fn with_form(what: &str, total: u64, form: Form) -> Self {
        Self { form, started: now(), course: ProgressLine::new(&shown::line(what), total) }
    }

    /// Says what is being done: "fig7, 48 KiB, 50 sessions". Shown beside the bar and on the next line.
    pub fn doing(&mut self, what: &str) {
        // A program that is told shows it in its own way.
        match &self.form {
            Form::Told(_) => self.course.doing(what),
            Form::Bar(_) | Form::Lines | Form::Hidden => self.course.doing(&shown::line(what)),
        }
        if let Form::Bar(bar) = &self.form {
            bar.say(self.course.beside());
        }
    }

    /// `steps` more are done, of steps that are all alike.
    pub fn advance(&mut self, steps: u64) {
        self.course.advance(steps, now().saturating_duration_since(self.started));
        self.show();
    }

    /// Says what the steps cost beside each other, so many of which are in progress at a time; then they need not be
    /// alike for the estimate.
    pub fn foresee(&mut self, costs: impl IntoIterator<Item = Cost>, jobs: usize) {
        self.course.foresee(costs, jobs);
    }

    /// A step was done before this began, and took so long then.
    pub fn known(&mut self, cost: Cost, took: Duration) {
        self.course.done(cost, took);
        if let Form::Bar(bar) = &self.form {
            bar.at(self.course.steps());
        }
    }

    /// All that was done before this began is told of: shows where it stands, and how long the rest will take. A
    /// program that is told hears of its own steps alone.
    pub fn begun(&mut self) {
        if self.course.steps() == 0 {
            return;
        }
        match &self.form {
            Form::Bar(bar) => {
                let _ = self.course.estimate(Duration::ZERO);
                bar.say(self.course.beside());
            }
            Form::Lines => {
                if let Some(line) = self.course.first_line() {
                    say(&line);
                }
            }
            Form::Told(_) | Form::Hidden => {}
        }
    }

    /// A step is done, and has taken so long.
    pub fn done(&mut self, cost: Cost, took: Duration) {
        self.course.done(cost, took);
        self.show();
    }

    fn show(&mut self) {
        let elapsed = now().saturating_duration_since(self.started);
        match &mut self.form {
            Form::Bar(bar) => {
                bar.at(self.course.steps());
                let _ = self.course.estimate(elapsed);
                bar.say(self.course.beside());
            }
            Form::Lines => {
                if let Some(line) = self.course.line(elapsed) {
                    say(&line);
                }
            }
            Form::Told(hear) => {
                let left = self.course.estimate(elapsed);
                hear(&Step { left, ..self.course.step() });
            }
            Form::Hidden => {}
        }
    }

    /// Says what is being done now that all steps are: at once beside the bar, and on a line of its own where nothing
    /// was said for a while.
    pub fn then(&mut self, what: &str) {
        self.doing(what);
        if matches!(self.form, Form::Lines)
            && let Some(line) = self.course.further_line(now().saturating_duration_since(self.started))
        {
            say(&line);
        }
    }

    /// Prints `text` on a line of its own without disturbing the bar: a warning. Nothing where progress is hidden.
    pub fn note(&self, text: &str) {
        match &self.form {
            Form::Bar(bar) => bar.note(&shown::lines(text)),
            Form::Lines => say(&shown::lines(text)),
            Form::Told(_) | Form::Hidden => {}
        }
    }

    /// Ends with one line that says how long it took; the bar is removed.
    pub fn finish(self) {
        let line = self.course.last_line(now().saturating_duration_since(self.started));
        match self.form {
            Form::Bar(bar) => {
                bar.end();
                say(&line);
            }
            Form::Lines => say(&line),
            Form::Told(_) | Form::Hidden => {}
        }
    }
}

/// Standard error may be closed; then there is nobody to tell.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

#[expect(clippy::disallowed_methods, reason = "how long a person waits is told to that person only")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_takes_steps() {
        let told = Progress::told(3, |step| assert_eq!((step.total, step.what), (3, "a step")));
        for mut progress in [Progress::hidden(), Progress::lines("test", 3), Progress::new("test", 3), told] {
            progress.doing("a step");
            progress.advance(2);
            progress.note("a note");
            progress.advance(u64::MAX);
            progress.finish();
        }
    }
}
