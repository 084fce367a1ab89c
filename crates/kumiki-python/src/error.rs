//! Errors, with the words of the command line.

use kumiki_lab::rows::{ColumnError, OutputError};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};

create_exception!(
    kumiki_lab,
    ScenarioError,
    PyValueError,
    "A scenario or a value for it is wrong: says where, what, and what would be right."
);
create_exception!(
    kumiki_lab,
    ResultError,
    PyOSError,
    "Results cannot be written, gone on with, or put together: says which file, and why."
);

pub(crate) fn fault(fault: &kumiki_config::ConfigError) -> PyErr {
    ScenarioError::new_err(fault.to_string())
}

pub(crate) fn output(why: &OutputError) -> PyErr {
    ResultError::new_err(why.to_string())
}

pub(crate) fn column(why: &ColumnError) -> PyErr {
    PyTypeError::new_err(why.to_string())
}
