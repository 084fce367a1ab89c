//! The progress of a transfer: a bar on standard error where that is a terminal, and nothing elsewhere.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use kumiki_config::refusal::unnumbered;

use crate::commands::{lines_shown, shown};

/// A bar, or none.
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    /// Octets moved before this operation.
    before: u64,
    at: u64,
}

impl Bar {
    /// One, unless `quiet` or nobody sees it.
    pub(crate) fn new(quiet: bool) -> Self {
        let seen = !quiet && std::io::stderr().is_terminal();
        let bar = seen.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            // A template that does not parse would be a mistake of ours; the crate's own bar will do then.
            if let Ok(style) =
                ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, ETA {eta}  {wide_msg}")
            {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Self { bar, before: 0, at: 0 }
    }

    /// Begins with something else.
    pub(crate) fn begin(&mut self, title: &str) {
        self.before = self.at;
        if let Some(bar) = &self.bar {
            bar.set_message(shown(title));
            bar.set_position(0);
        }
    }

    /// So many octets will come.
    pub(crate) fn expect(&mut self, octets: Option<u64>) {
        if let (Some(bar), Some(octets)) = (&self.bar, octets) {
            bar.set_length(octets);
        }
    }

    /// So many octets have been moved by all operations.
    pub(crate) fn at(&mut self, octets: u64) {
        if octets == self.at {
            return;
        }
        self.at = octets;
        if let Some(bar) = &self.bar {
            bar.set_position(octets.saturating_sub(self.before));
        }
    }

    /// A line of its own.
    pub(crate) fn say(&self, line: &str) {
        let line = lines_shown(&unnumbered(line));
        match &self.bar {
            Some(bar) => bar.suspend(|| tell!("{line}")),
            None => tell!("{line}"),
        }
    }

    /// Takes the bar away.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
