//! Tables for whoever reads Arrow: polars, pandas, pyarrow, DuckDB and others, none of which is needed here.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use kumiki_lab::rows::{Column, Values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table of columns with a type each. Whoever takes it shares its memory.
#[pyclass(frozen, module = "kumiki_lab._kumiki")]
pub(crate) struct Table(RecordBatch);

fn refused(why: ArrowError) -> PyErr {
    PyValueError::new_err(why.to_string())
}

impl Table {
    pub(crate) fn of(columns: Vec<Column>) -> PyResult<Self> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().map(field).unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map(Self).map_err(refused)
    }
}

fn field(column: Column) -> (Field, ArrayRef) {
    let (kind, array): (DataType, ArrayRef) = match column.values {
        Values::Switches(values) => (DataType::Boolean, Arc::new(BooleanArray::from(values))),
        Values::Integers(values) => (DataType::Int64, Arc::new(Int64Array::from(values))),
        Values::Floats(values) => (DataType::Float64, Arc::new(Float64Array::from(values))),
        Values::Texts(values) => (DataType::Utf8, Arc::new(StringArray::from(values))),
    };
    (Field::new(column.name, kind, true), array)
}

#[pymethods]
impl Table {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<kumiki_lab.Table of {} rows and {} columns>", self.0.num_rows(), self.0.num_columns())
    }

    /// The types of the columns, as a capsule of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(refused)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table, as a capsule of Arrow. Its types are what they are: whoever wants others casts.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}
