//! Whether a line works, by what its device reports.

use std::collections::BTreeSet;

use kumiki_graph::Report;
use kumiki_link::sonet::{Defect, DefectReport};

/// What is known of a line. As long as nothing was reported, it works.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    down: bool,
    defects: BTreeSet<Defect>,
}

impl Line {
    /// Whether frames come in: there is signal, it is in frame, and its path carries our payload.
    pub(crate) fn is_up(&self) -> bool {
        !self.down && self.defects.iter().all(|&defect| is_remote(defect))
    }

    /// Whether the peer says that it does not receive us.
    pub(crate) fn is_deaf(&self) -> bool {
        self.defects.iter().any(|&defect| is_remote(defect))
    }

    /// Takes a report of the device; gives [`Line::is_up`] where that has changed.
    pub(crate) fn hear(&mut self, report: &Report) -> Option<bool> {
        let before = self.is_up();
        match report {
            Report::Up => self.down = false,
            Report::Down => self.down = true,
            Report::Special(what) => match what.get() {
                Some(DefectReport { defect, present: true }) => {
                    self.defects.insert(*defect);
                }
                Some(DefectReport { defect, present: false }) => {
                    self.defects.remove(defect);
                }
                None => {}
            },
            Report::Limits { .. } | Report::Route { .. } | Report::Unreachable { .. } => {}
        }
        let now = self.is_up();
        (now != before).then_some(now)
    }
}

/// Whether a defect is about what the peer receives.
const fn is_remote(defect: Defect) -> bool {
    match defect {
        Defect::MsRdi | Defect::PathRdi => true,
        Defect::Los
        | Defect::Lof
        | Defect::MsAis
        | Defect::Lop
        | Defect::PathAis
        | Defect::Unequipped
        | Defect::PayloadMismatch => false,
    }
}
