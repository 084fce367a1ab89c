//! The laboratory for Python: what `kumiki_lab` (in `python/`) stands on.
//!
//! | | |
//! |---|---|
//! | Specification | Python's stable ABI of 3.9; the Arrow C data and stream interfaces through their PyCapsules |
//! | Left out | captures of packets, traces, `reproduce`; whoever wants them has the command |
//!
//! It is thin: the laboratory reads, runs, judges and draws. What is here turns its types into Python's, and hears
//! Ctrl-C.

use pyo3::prelude::*;

mod error;
mod job;
mod outcome;
mod table;
mod work;

/// What is compiled of `kumiki_lab`.
#[pymodule]
mod _kumiki {
    #[pymodule_export]
    use crate::error::{ResultError, ScenarioError};
    #[pymodule_export]
    use crate::job::Job;
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::work::{ChosenScenario, scenarios};
    use pyo3::prelude::*;

    /// The version is that of the command.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
