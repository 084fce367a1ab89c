//! What runs a point: the one place where the commands and the experiments meet.

use kumiki_lab::reproduce::{Failure, Outcome, Runner};
use kumiki_lab::scenario::Point;

/// Runs points in virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Laboratory {
    /// Keep captures.
    pub(crate) pcap: bool,
    /// Keep an event log.
    pub(crate) trace: bool,
}

impl Runner for Laboratory {
    fn run(&self, _point: &Point) -> Result<Outcome, Failure> {
        let Self { pcap, trace } = self;
        Err(format!("this build has no experiments (captures: {pcap}, trace: {trace})").into())
    }
}

impl Laboratory {
    /// The overhead ladder of a point, as text.
    pub(crate) fn limit(self, _point: &Point) -> Result<String, Failure> {
        Err("this build has no experiments".into())
    }
}
