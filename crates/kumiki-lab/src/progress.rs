//! How far a long command is, and how long it will still take.
//!
//! On a terminal a bar on standard error; elsewhere plain lines there, at most one every five seconds, so that a log
//! stays readable. Nothing is ever written to standard output, which belongs to results.
//!
//! This is the one place in the laboratory that reads a clock: how long a person waits is not part of any result.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The least time between two plain lines.
pub const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// The progress of one command.
#[derive(Debug)]
pub struct Progress {
    form: Form,
    started: Instant,
    course: Course,
}

#[derive(Debug)]
enum Form {
    Bar(ProgressBar),
    Lines,
    Hidden,
}

impl Progress {
    /// Starts `total` steps of `what` ("reproduce"): a bar where standard error is a terminal, lines otherwise.
    #[must_use]
    pub fn new(what: &str, total: u64) -> Self {
        let form = if std::io::stderr().is_terminal() { Form::Bar(bar(what, total)) } else { Form::Lines };
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

    fn with_form(what: &str, total: u64, form: Form) -> Self {
        Self { form, started: now(), course: Course::new(what, total) }
    }

    /// Says what is being done: "fig7, 48 KiB, 50 sessions". Shown beside the bar and on the next line.
    pub fn doing(&mut self, what: &str) {
        what.clone_into(&mut self.course.doing);
        if let Form::Bar(bar) = &self.form {
            bar.set_message(self.course.beside());
        }
    }

    /// `steps` more are done.
    pub fn advance(&mut self, steps: u64) {
        self.course.done = self.course.done.saturating_add(steps);
        match &self.form {
            Form::Bar(bar) => {
                bar.set_position(self.course.done);
                let elapsed = now().saturating_duration_since(self.started);
                let _ = self.course.estimate(elapsed);
                bar.set_message(self.course.beside());
            }
            Form::Lines => {
                if let Some(line) = self.course.line(now().saturating_duration_since(self.started)) {
                    say(&line);
                }
            }
            Form::Hidden => {}
        }
    }

    /// Prints `text` on a line of its own without disturbing the bar: a warning. Nothing where progress is hidden.
    pub fn note(&self, text: &str) {
        match &self.form {
            Form::Bar(bar) => bar.println(text),
            Form::Lines => say(text),
            Form::Hidden => {}
        }
    }

    /// Ends with one line that says how long it took; the bar is removed.
    pub fn finish(self) {
        let line = self.course.last_line(now().saturating_duration_since(self.started));
        match self.form {
            Form::Bar(bar) => {
                bar.finish_and_clear();
                say(&line);
            }
            Form::Lines => say(&line),
            Form::Hidden => {}
        }
    }
}

fn bar(what: &str, total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    // A template that does not parse would be a mistake of ours; the crate's own bar will do then.
    if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {elapsed}{wide_msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(what.to_owned());
    bar
}

/// Standard error may be closed; then there is nobody to tell.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

#[expect(clippy::disallowed_methods, reason = "how long a person waits is told to that person only")]
fn now() -> Instant {
    Instant::now()
}

/// What a line says, without a clock.
#[derive(Clone, Debug)]
struct Course {
    what: String,
    total: u64,
    done: u64,
    doing: String,
    last: Option<Duration>,
    /// The estimate that was told last, and when it was made.
    told: Option<(Duration, Duration)>,
}

/// A new estimate counts for so much of what is told, in percent; the rest is the one before, as it has gone down since. Points cost very unlike
/// times, and one estimate alone would leap with each.
const FRESH: u32 = 20;

impl Course {
    fn new(what: &str, total: u64) -> Self {
        Self { what: what.to_owned(), total, done: 0, doing: String::new(), last: None, told: None }
    }

    /// The line to print once `elapsed` has passed since the start, if it is time for one. The last step has none, as
    /// [`Course::last_line`] follows.
    fn line(&mut self, elapsed: Duration) -> Option<String> {
        let due = self.last.unwrap_or(Duration::ZERO) + BETWEEN_LINES;
        if elapsed < due || self.done >= self.total {
            return None;
        }
        self.last = Some(elapsed);
        let percent = self.done.saturating_mul(100).checked_div(self.total).unwrap_or(0);
        let mut line = format!("{}: {} of {} ({percent} %), {}", self.what, self.done, self.total, spoken(elapsed));
        if let Some(left) = self.estimate(elapsed) {
            let _ = write!(line, ", ETA {}", spoken(left));
        }
        if !self.doing.is_empty() {
            let _ = write!(line, "; {}", self.doing);
        }
        Some(line)
    }

    fn last_line(&self, elapsed: Duration) -> String {
        if self.done >= self.total {
            format!("{}: {} done in {}", self.what, self.done, spoken(elapsed))
        } else {
            format!("{}: stopped after {} of {}, {}", self.what, self.done, self.total, spoken(elapsed))
        }
    }

    /// What stands beside a bar: the time left, and what is being done.
    fn beside(&self) -> String {
        let mut text = String::new();
        if let Some((left, _)) = self.told {
            let _ = write!(text, ", ETA {}", spoken(left));
        }
        if !self.doing.is_empty() {
            let _ = write!(text, "; {}", self.doing);
        }
        text
    }

    /// The time left, smoothed: it goes down with the clock unless what is done says otherwise for a while.
    fn estimate(&mut self, elapsed: Duration) -> Option<Duration> {
        let fresh = self.left(elapsed)?;
        let told = match self.told {
            Some((before, at)) => {
                let gone = elapsed.saturating_sub(at);
                before.saturating_sub(gone) * (100 - FRESH) / 100 + fresh * FRESH / 100
            }
            None => fresh,
        };
        self.told = Some((told, elapsed));
        Some(told)
    }

    /// The time left, if steps go on as they did.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let millis = elapsed.as_millis().checked_mul(u128::from(self.total.checked_sub(self.done)?))?;
        let left = millis.checked_div(u128::from(self.done))?;
        u64::try_from(left).ok().map(Duration::from_millis)
    }
}

/// 8 s, 2 min 5 s, 1 h 3 min.
fn spoken(time: Duration) -> String {
    let s = time.as_secs();
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, 0) if time.subsec_millis() > 0 => format!("{} ms", time.subsec_millis()),
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn lines_come_at_most_every_five_seconds_and_estimate_the_rest() {
        let mut course = Course::new("sweep", 55);
        course.done = 1;
        assert_eq!(course.line(seconds(1)), None);
        course.done = 11;
        "fig7".clone_into(&mut course.doing);
        assert_eq!(course.line(seconds(6)).as_deref(), Some("sweep: 11 of 55 (20 %), 6 s, ETA 24 s; fig7"));
        course.done = 12;
        assert_eq!(course.line(seconds(10)), None);
        course.done = 22;
        assert_eq!(
            course.line(seconds(3_900)).as_deref(),
            // 1 h 37 min, if it goes on as it did; of that a fifth.
            Some("sweep: 22 of 55 (40 %), 1 h 5 min, ETA 19 min 30 s; fig7")
        );
        course.done = 55;
        assert_eq!(course.line(seconds(8_000)), None, "the last line follows");
        assert_eq!(course.last_line(seconds(125)), "sweep: 55 done in 2 min 5 s");
    }

    /// Points that cost little and points that cost much come in turn: what is told goes down, and does not leap.
    #[test]
    fn an_estimate_does_not_leap_from_line_to_line() {
        let mut course = Course::new("sweep", 100);
        let (mut elapsed, mut before) = (0, None);
        for done in 1..100 {
            elapsed += if done % 2 == 0 { 1 } else { 199 };
            course.done = done;
            let told = course.estimate(seconds(elapsed)).unwrap();
            if let Some(before) = before.replace(told).filter(|_| done > 10) {
                assert!(told < before + seconds(150), "{done}: {told:?} after {before:?}");
            }
        }
    }

    #[test]
    fn nothing_done_has_no_estimate_and_an_early_end_is_said() {
        let mut course = Course::new("sweep", 4);
        assert_eq!(course.line(seconds(6)).as_deref(), Some("sweep: 0 of 4 (0 %), 6 s"));
        assert_eq!(course.last_line(Duration::from_millis(250)), "sweep: stopped after 0 of 4, 250 ms");
        assert_eq!(Course::new("run", 0).last_line(Duration::ZERO), "run: 0 done in 0 s");
    }

    #[test]
    fn every_form_takes_steps() {
        for mut progress in [Progress::hidden(), Progress::lines("test", 3), Progress::new("test", 3)] {
            progress.doing("a step");
            progress.advance(2);
            progress.note("a note");
            progress.advance(u64::MAX);
            progress.finish();
        }
    }
}
