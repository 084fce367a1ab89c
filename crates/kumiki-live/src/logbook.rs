//! The log of a program that others rely on: a line each, on standard output, where a disk may be full.
//!
//! What cannot be written stops nothing. A line of which a part was taken is ended when the rest can be written, so
//! that none is torn; lines behind it are counted meanwhile. That lines are being lost is told on standard error when
//! it begins; how many were, in the log as soon as something can be written again, or at the end on standard error.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kumiki_octets::text::counted;

use crate::OutputFormat;
use crate::refusal::unnumbered;

/// Standard output, with no buffer in between: what it does not take is known at once, and not kept to be written in
/// front of something else.
#[derive(Debug)]
pub struct Output;

impl Write for Output {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(io::stdout(), octets)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct State<O, E> {
    out: O,
    aside: E,
    form: OutputFormat,
    /// The rest of a line of which a part is written.
    rest: Vec<u8>,
    /// Lines that were not written, and since when.
    lost: u64,
    since: String,
    /// Why not, as long as nothing has been written since.
    why: Option<String>,
}

/// A log, which several threads may have.
#[derive(Debug)]
pub struct Logbook<O: Write, E: Write>(Mutex<State<O, E>>);

/// The log of this program.
pub type Standard = Logbook<Output, io::Stderr>;

impl Standard {
    /// The log on standard output, and standard error beside it.
    #[must_use]
    pub fn standard(form: OutputFormat) -> Self {
        Self::new(Output, io::stderr(), form)
    }
}

impl<O: Write, E: Write> Logbook<O, E> {
    /// A log on `out`, which has its trouble told on `aside`.
    pub fn new(out: O, aside: E, form: OutputFormat) -> Self {
        let (rest, since) = (Vec::new(), String::new());
        Self(Mutex::new(State { out, aside, form, rest, lost: 0, since, why: None }))
    }

    fn state(&self) -> MutexGuard<'_, State<O, E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line, which has no end yet.
    pub fn tell(&self, line: &str) {
        let mut state = self.state();
        if !(state.catch_up() && state.put(&format!("{}\n", unnumbered(line)))) {
            state.lose();
        }
    }
}

impl<O: Write, E: Write> State<O, E> {
    /// Writes what is left of before: true where nothing is.
    fn catch_up(&mut self) -> bool {
        let rest = core::mem::take(&mut self.rest);
        if !self.take(rest) {
            return false;
        }
        if self.lost == 0 {
            return true;
        }
        let (lost, since) = (self.lost, &self.since);
        let why = self.why.as_deref().unwrap_or("reason unknown");
        let line = match self.form {
            OutputFormat::Text => {
                let lines = if lost == 1 { "1 line" } else { &format!("{lost} lines") };
                format!("{} {lines} could not be written since {since}: {why}\n", crate::date())
            }
            OutputFormat::Json => {
                let line = serde_json::json!({ "event": "lost", "lines": lost, "since": since, "why": why });
                format!("{line}\n")
            }
        };
        let is_begun = self.put(&line);
        if is_begun {
            self.lost = 0;
        }
        is_begun && self.rest.is_empty()
    }

    /// Writes a line: true where it was, or the rest of it will be.
    fn put(&mut self, line: &str) -> bool {
        let octets = line.as_bytes().to_vec();
        let len = octets.len();
        let is_whole = self.take(octets);
        if !is_whole && self.rest.len() == len {
            self.rest.clear();
            return false;
        }
        true
    }

    /// Writes octets, and keeps what is not taken: true where that is nothing.
    fn take(&mut self, mut octets: Vec<u8>) -> bool {
        while !octets.is_empty() {
            let why = match self.out.write(&octets) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(taken) => {
                    octets.drain(..taken.min(octets.len()));
                    continue;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => why,
            };
            self.rest = octets;
            self.fail(&why);
            return false;
        }
        if self.lost == 0 {
            self.why = None;
        }
        true
    }

    fn fail(&mut self, why: &io::Error) {
        let why = why.to_string();
        if self.why.is_none() {
            // Where that cannot be written either, nobody can be told.
            let _ = writeln!(self.aside, "kumiki: the log cannot be written: {why}; lines that are lost are counted");
        }
        self.why = Some(why);
    }

    fn lose(&mut self) {
        if self.lost == 0 {
            self.since = crate::date();
        }
        self.lost += 1;
    }
}

impl<O: Write, E: Write> Drop for Logbook<O, E> {
    fn drop(&mut self) {
        let mut state = self.state();
        state.catch_up();
        let lost = state.lost + u64::from(!state.rest.is_empty());
        if lost > 0 {
            let since = if state.since.is_empty() { String::new() } else { format!(" since {}", state.since) };
            let _ = writeln!(
                state.aside,
                "kumiki: {lines} of the log could not be written{since}",
                lines = counted(lost, "line")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A disk: what is written, and how much more it takes.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Disk {
        fn has_room(&self, octets: usize) {
            self.0.lock().unwrap().1 = octets;
        }

        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().0.clone()).unwrap()
        }
    }

    impl Write for Disk {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let mut it = self.0.lock().unwrap();
            let taken = it.1.min(octets.len());
            if taken == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            it.0.extend_from_slice(&octets[..taken]);
            it.1 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn log(form: OutputFormat) -> (Logbook<Disk, Disk>, Disk, Disk) {
        let (out, aside) = (Disk::default(), Disk::default());
        aside.has_room(usize::MAX);
        (Logbook::new(out.clone(), aside.clone(), form), out, aside)
    }

    #[test]
    fn no_line_is_torn_and_those_that_are_lost_are_counted() {
        let (log, out, aside) = log(OutputFormat::Text);
        // The first line, and four octets of the second.
        out.has_room(10);
        for line in ["line 1", "line 2", "line 3", "line 4"] {
            log.tell(line);
        }
        assert_eq!(out.text(), "line 1\nlin");
        let said = aside.text();
        assert!(said.contains("the log cannot be written") && said.lines().count() == 1, "{said}");
        out.has_room(1000);
        log.tell("line 5");
        let text = out.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1], lines[3]), ("line 1", "line 2", "line 5"), "{text}");
        assert!(lines[2].contains("2 lines could not be written since "), "{text}");
        drop(log);
        assert_eq!((out.text(), aside.text()), (text, said));
    }

    /// At any place the disk may be full, and be full again after any number of octets.
    #[test]
    fn every_line_is_whole_or_counted_wherever_the_disk_is_full() {
        for first in 0..30 {
            for second in 0..120 {
                let (log, out, _) = log(OutputFormat::Text);
                let told = (0..9).map(|number| format!("line {number}"));
                for (number, line) in told.enumerate() {
                    match number {
                        0 => out.has_room(first),
                        4 => out.has_room(second),
                        7 => out.has_room(usize::MAX),
                        _ => {}
                    }
                    log.tell(&line);
                }
                let (mut there, mut lost) = (0, 0);
                for line in out.text().lines() {
                    if line.starts_with("line ") && line.len() == 6 {
                        there += 1;
                    } else {
                        let count = line.split(' ').nth(1).unwrap_or_default();
                        assert!(line.contains("could not be written since"), "{line}");
                        lost += count.parse::<u32>().unwrap();
                    }
                }
                assert_eq!(there + lost, 9, "{first} {second}: {}", out.text());
            }
        }
    }

    #[test]
    fn what_could_never_be_written_is_told_at_the_end() {
        let (log, _, aside) = log(OutputFormat::Text);
        log.tell("one");
        log.tell("two");
        drop(log);
        assert!(aside.text().contains("2 lines of the log could not be written since "), "{}", aside.text());
    }

    #[test]
    fn a_log_of_json_stays_one() {
        let (log, out, _) = log(OutputFormat::Json);
        log.tell("{}");
        out.has_room(1000);
        log.tell("{}");
        for line in out.text().lines() {
            assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
        }
        assert!(out.text().contains("\"lines\":1"));
    }
}
