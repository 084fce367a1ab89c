//! Rows as Parquet, for whoever asked for it when the program was built.

use std::path::PathBuf;
use std::sync::Arc;

use kumiki_lab::reproduce::Results;
use kumiki_lab::rows::{Column, Output, Row, TABLES, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::super::Stop;

/// Writes the rows, the queues and the counters of all runs, and says where.
pub(super) fn write(output: &Output, results: &[Results]) -> Result<Vec<PathBuf>, Stop> {
    let points = results.iter().flat_map(Results::whole_rows).collect::<Result<Vec<_>, _>>()?;
    let rows = points.iter().flat_map(|(point, rows)| rows.iter().map(move |row| (*point, row)));
    let rows: Vec<(usize, &Row)> = rows.collect();
    let points_of: Vec<Row> = results.iter().flat_map(Results::rows_to_be).collect();
    let mut files = Vec::new();
    for (name, make) in TABLES {
        let name = format!("{name}.parquet");
        let columns = make(&rows, &points_of).map_err(|why| Stop::Failed(format!("{name}: {why}")))?;
        let octets = octets(&columns).map_err(|why| Stop::Failed(format!("{name}: {why}")))?;
        files.push(output.write(&name, &octets)?);
    }
    Ok(files)
}

fn octets(columns: &[Column]) -> Result<Vec<u8>, ParquetError> {
    let fields = columns.iter().map(field).collect::<Result<Vec<TypePtr>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields).build()?);
    let properties = Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        match &column.values {
            Values::Switches(values) => put::<BoolType, _>(&mut group, values, |value| *value)?,
            Values::Integers(values) => put::<Int64Type, _>(&mut group, values, |value| *value)?,
            Values::Floats(values) => put::<DoubleType, _>(&mut group, values, |value| *value)?,
            Values::Texts(values) => {
                put::<ByteArrayType, _>(&mut group, values, |value| ByteArray::from(value.as_str()))?;
            }
        }
    }
    group.close()?;
    writer.into_inner()
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Switches(_) => (Physical::BOOLEAN, None),
        Values::Integers(_) => (Physical::INT64, None),
        Values::Floats(_) => (Physical::DOUBLE, None),
        Values::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    field.build().map(Arc::new)
}

/// Writes the next column: its values, and in which rows it has one.
fn put<T: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[Option<V>],
    of: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let has: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.iter().flatten().map(of).collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, Some(&has), None)?;
        column.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let column = |name: &str, values| Column { name: name.to_owned(), values };
        let columns = [
            column("s", Values::Switches(vec![Some(true), None])),
            column("i", Values::Integers(vec![Some(-1), Some(2)])),
            column("f", Values::Floats(vec![None, Some(0.5)])),
            column("t", Values::Texts(vec![Some("a".to_owned()), None])),
        ];
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&octets(&columns).unwrap()).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows, ["{s: true, i: -1, f: null, t: \"a\"}", "{s: null, i: 2, f: 0.5, t: null}"]);
    }
}
