//! What is to be run: a scenario with what is chosen for it.

use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Plan;
use kumiki_lab::scenario::{Choice, Document};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error;

/// The scenarios that are built in, each with its title.
#[pyfunction]
pub(crate) fn scenarios() -> PyResult<Vec<(String, String)>> {
    let documents = Document::builtin().map_err(|why| error::fault(&why))?;
    Ok(documents.iter().map(|it| (it.name().to_owned(), it.title())).collect())
}

/// A scenario with what is chosen for it, of which every point can run.
#[pyclass(frozen, module = "kumiki_lab._kumiki")]
pub(crate) struct ChosenScenario {
    pub(crate) document: Document,
    pub(crate) choice: Choice,
    pub(crate) plan: Plan,
}

impl ChosenScenario {
    fn of(document: Document, set: Vec<String>, quick: bool, runs: Option<u32>) -> PyResult<Self> {
        let choice = Choice { set, quick, runs };
        let documents = [document];
        let plan = Plan::new(&documents, &choice, &Laboratory::default()).map_err(|why| error::fault(&why))?;
        let [document] = documents;
        Ok(Self { document, choice, plan })
    }
}

#[pymethods]
impl ChosenScenario {
    /// A path, or the name of one that is built in.
    #[staticmethod]
    fn find(py: Python<'_>, name: &str, set: Vec<String>, quick: bool, runs: Option<u32>) -> PyResult<Self> {
        py.detach(|| {
            let document = Document::find(name).map_err(|why| error::fault(&why))?;
            Self::of(document, set, quick, runs)
        })
    }

    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        file: &str,
        text: &str,
        set: Vec<String>,
        quick: bool,
        runs: Option<u32>,
    ) -> PyResult<Self> {
        py.detach(|| {
            let document = Document::parse(name, file, text).map_err(|why| error::fault(&why))?;
            Self::of(document, set, quick, runs)
        })
    }

    #[getter]
    fn name(&self) -> &str {
        self.document.name()
    }

    #[getter]
    fn title(&self) -> String {
        self.document.title()
    }

    #[getter]
    fn file(&self) -> &str {
        self.document.file()
    }

    #[getter]
    fn text(&self) -> &str {
        self.document.text()
    }

    /// Each point: its label, its values, and what it is expected to cost beside others.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyDict>, f64)>> {
        let points = self.plan.points().map(|(_, point, cost)| {
            let values = PyDict::new(py);
            for (name, value) in &point.varied {
                values.set_item(name, to_python(py, value)?)?;
            }
            Ok((point.label(), values, cost))
        });
        points.collect()
    }
}

/// The value as Python has it; a date as text.
fn to_python<'py>(py: Python<'py>, value: &toml::Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        toml::Value::String(text) => Ok(text.into_pyobject(py)?.into_any()),
        toml::Value::Integer(number) => Ok(number.into_pyobject(py)?.into_any()),
        toml::Value::Float(number) => Ok(number.into_pyobject(py)?.into_any()),
        toml::Value::Boolean(on) => Ok(on.into_pyobject(py)?.to_owned().into_any()),
        toml::Value::Datetime(date) => Ok(date.to_string().into_pyobject(py)?.into_any()),
        toml::Value::Array(values) => {
            let values = values.iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, values)?.into_any())
        }
        toml::Value::Table(table) => {
            let values = PyDict::new(py);
            for (name, value) in table {
                values.set_item(name, to_python(py, value)?)?;
            }
            Ok(values.into_any())
        }
    }
}
