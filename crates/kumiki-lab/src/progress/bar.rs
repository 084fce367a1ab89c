//! The bar on a terminal.
//!
//! Where there is no operating system there is no terminal either, and the library that draws would want a browser's
//! clock.

#[cfg(not(target_family = "wasm"))]
pub(super) use drawn::Bar;
#[cfg(target_family = "wasm")]
pub(super) use none::Bar;

#[cfg(not(target_family = "wasm"))]
mod drawn {
    use std::io::IsTerminal as _;

    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

    /// One that is drawn on standard error.
    pub(in super::super) struct Bar(ProgressBar);

    impl Bar {
        /// One for `total` steps of `what`, where standard error is a terminal.
        pub(in super::super) fn new(what: &str, total: u64) -> Option<Self> {
            if !std::io::stderr().is_terminal() {
                return None;
            }
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            // A template that does not parse would be a mistake of ours; the crate's own bar will do then.
            if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {elapsed}{wide_msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(what.to_owned());
            Some(Self(bar))
        }

        /// So many steps are done.
        pub(in super::super) fn at(&self, steps: u64) {
            self.0.set_position(steps);
        }

        /// Says `text` beside it.
        pub(in super::super) fn say(&self, text: String) {
            self.0.set_message(text);
        }

        /// Prints `text` above it.
        pub(in super::super) fn note(&self, text: &str) {
            self.0.println(text);
        }

        /// Takes it away.
        pub(in super::super) fn end(&self) {
            self.0.finish_and_clear();
        }
    }
}

#[cfg(target_family = "wasm")]
mod none {
    /// There is none.
    pub(in super::super) enum Bar {}

    impl Bar {
        pub(in super::super) fn new(_what: &str, _total: u64) -> Option<Self> {
            None
        }

        pub(in super::super) fn at(&self, _steps: u64) {
            match *self {}
        }

        pub(in super::super) fn say(&self, _text: String) {
            match *self {}
        }

        pub(in super::super) fn note(&self, _text: &str) {
            match *self {}
        }

        pub(in super::super) fn end(&self) {
            match *self {}
        }
    }
}
