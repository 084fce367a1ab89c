//! What a scenario has seen.

use std::fmt::Debug;
use std::io;

/// What was done, and what came of it.
#[derive(Default)]
pub(crate) struct Notes(pub(crate) Vec<(String, String)>);

impl Notes {
    pub(crate) fn add(&mut self, what: &str, seen: impl Debug) {
        self.0.push((what.to_owned(), format!("{seen:?}").replace('"', "")));
    }
}

/// What a call says: what is good about it, or the kind of its error.
pub(crate) fn say<T: Debug>(result: &io::Result<T>) -> String {
    match result {
        Ok(value) => {
            let text = format!("{value:?}");
            // A socket shows itself in its own way.
            if text.contains('{') || text.len() > 60 { "ok".to_owned() } else { format!("ok {text}") }
        }
        Err(error) => format!("{:?}", error.kind()),
    }
}
