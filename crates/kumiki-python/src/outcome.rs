//! What came of a run.

use std::path::PathBuf;

use kumiki_lab::reproduce::{self, Pieces, Plan, Results, Verdict};
use kumiki_lab::rows::{Output, OutputError, Row, TABLES, to_jsonl};
use kumiki_lab::table::{Layout, Lines};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::table::Table;

/// What came of a run.
#[pyclass(frozen, module = "kumiki_lab._kumiki")]
pub(crate) struct Outcome {
    pub(crate) plan: Plan,
    pub(crate) pieces: Pieces,
    pub(crate) results: Vec<Results>,
    /// The text of `run.json`.
    pub(crate) run: String,
    /// Where it was written as it ran.
    pub(crate) directory: Option<PathBuf>,
}

#[pymethods]
impl Outcome {
    /// The rows as JSON Lines.
    fn rows(&self, py: Python<'_>) -> PyResult<String> {
        let rows: Vec<Row> = self.results.iter().flat_map(Results::rows).cloned().collect();
        py.detach(|| to_jsonl(&rows)).map_err(|why| PyValueError::new_err(why.to_string()))
    }

    /// A table of all runs: `rows`, `queues` or `counters`.
    fn table(&self, py: Python<'_>, which: &str) -> PyResult<Table> {
        let known = TABLES.iter().find(|(name, _)| *name == which);
        let Some((_, make)) = known else {
            let names = TABLES.map(|(name, _)| name).join(", ");
            return Err(PyValueError::new_err(format!("no table {which:?}; one of {names}")));
        };
        let columns = py.detach(|| {
            let points = self.results.iter().flat_map(Results::rows_of_points);
            let rows: Vec<(usize, &Row)> =
                points.flat_map(|(point, rows)| rows.iter().map(move |row| (point, row))).collect();
            let points_of: Vec<Row> = self.results.iter().flat_map(Results::rows_to_be).collect();
            make(&rows, &points_of)
        });
        Table::of(columns.map_err(|why| error::column(&why))?)
    }

    /// The figures: name, title, SVG.
    fn figures(&self) -> Vec<(String, String, String)> {
        let figures = self.results.iter().flat_map(Results::figures);
        figures.map(|(name, figure)| (name, figure.title.clone(), figure.to_svg())).collect()
    }

    /// The tables as a terminal shows them.
    fn text(&self) -> String {
        let layout = Layout { lines: Lines::Unicode, width: None };
        let tables = self.results.iter().flat_map(|it| [Some(it.table()), it.task_table()]).flatten();
        tables.map(|table| table.draw(layout)).collect::<Vec<_>>().join("\n")
    }

    /// What the page says of it.
    fn html(&self) -> String {
        self.results.iter().map(|it| it.to_html(&self.results)).collect()
    }

    /// What the paper says, and whether it holds here, as JSON Lines.
    fn verdicts(&self) -> String {
        let verdicts: Vec<Verdict> = self.results.iter().flat_map(|it| it.verdicts(&self.results)).collect();
        reproduce::to_jsonl(&verdicts)
    }

    /// The points that failed, and why.
    fn failures(&self) -> Vec<(String, String)> {
        self.results.iter().flat_map(Results::failures).collect()
    }

    /// How many points were not run, and how many there are.
    fn left(&self) -> (usize, usize) {
        self.results.iter().map(Results::left).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }

    /// Series over time, by the names of their files.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let files = self.pieces.captures(self.directory.as_deref()).map_err(|why| error::output(&why))?;
        Ok(files.into_iter().map(|(name, octets)| (name, PyBytes::new(py, &octets))).collect())
    }

    /// Where it came from, as in `run.json`.
    #[getter]
    fn provenance(&self) -> &str {
        &self.run
    }

    /// Where it was written as it ran.
    #[getter]
    fn directory(&self) -> Option<&PathBuf> {
        self.directory.as_ref()
    }

    /// Writes everything that the command writes, and says where.
    fn write(&self, py: Python<'_>, out: PathBuf, force: bool) -> PyResult<Vec<PathBuf>> {
        let write = || -> Result<Vec<PathBuf>, OutputError> {
            let output = Output::open(out, force)?;
            self.pieces.write(&self.plan, &output, self.directory.as_deref())?;
            output.write(Output::RUN, self.run.as_bytes())?;
            reproduce::write(&output, &self.results)
        };
        py.detach(write).map_err(|why| error::output(&why))
    }
}
