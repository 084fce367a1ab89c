//! The house rules, one file each, and the list of exceptions.
//!
//! A rule is a function from a [`Tree`] to findings. It reads nothing else, so every rule has a test in which it fails.

mod direction;
mod exceptions;
mod features;
mod graph;
pub(crate) mod licences;
mod links;
mod names;
mod protocols;
mod scenarios;
mod snippets;
mod sources;
pub(crate) mod standard;
pub(crate) mod wheel;
mod words;

use crate::finding::Finding;
use crate::tree::Tree;

/// Every rule, with the exceptions taken out and the stale exceptions added.
pub(crate) fn all(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in [
        direction::check,
        features::check,
        graph::check,
        links::check,
        names::check,
        protocols::check,
        scenarios::check,
        snippets::check,
        sources::check,
        standard::check,
        words::check,
    ] {
        findings.extend(rule(tree));
    }
    exceptions::apply(tree, findings)
}

/// The line of `text` in which the octet at `offset` stands, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|octet| *octet == b'\n').count()
}
