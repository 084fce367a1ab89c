//! One broken rule at one place.

use std::fmt;

/// What was found, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path from the root of the workspace, with `/`.
    pub(crate) file: String,
    /// Counted from 1; 0 where the file as a whole is meant.
    pub(crate) line: usize,
    /// The name by which `tidy-exceptions.toml` knows the rule.
    pub(crate) rule: &'static str,
    /// What was found.
    pub(crate) what: String,
    /// What would be right.
    pub(crate) right: String,
}

impl Finding {
    pub(crate) fn new(
        rule: &'static str,
        file: &str,
        line: usize,
        what: impl Into<String>,
        right: impl Into<String>,
    ) -> Self {
        Self { file: file.to_owned(), line, rule, what: what.into(), right: right.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": [{}] {}; right: {}", self.rule, self.what, self.right)
    }
}
