//! Short forms for faults found while an experiment is built.

pub(super) use crate::scenario::{ConfigError, quantity};

/// At `path`: `problem`.
pub(super) fn fault(path: &[&str], problem: impl Into<String>) -> ConfigError {
    ConfigError::at(path, problem)
}

/// The `what` called `found` at `path` is none of `known`.
pub(super) fn unknown(path: &[&str], what: &str, found: &str, known: &[&str]) -> ConfigError {
    ConfigError::unknown(path, what, found, known)
}
