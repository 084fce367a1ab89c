//! The same rows as one flat table.

use std::collections::{BTreeMap, BTreeSet};

use super::{Row, RowError};

/// CSV with a header line. The columns are those of any row: varied parameters in the order in which they first appear, and
/// times as `round_trip_ms.name`, `delay_ms.name` and `completion_ms.name`, what held the connections as `held.name`, queues as `queues.queue.name`, and counters as `layer.name`, in the order of their names. A cell is empty where a row has no such value.
///
/// # Errors
///
/// [`RowError`] of the first row that cannot be written.
pub fn to_csv(rows: &[Row]) -> Result<String, RowError> {
    let mut varied: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut maps: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    let (mut queues, mut counters) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        row.check()?;
        for (name, _) in &row.varied {
            if seen.insert(name.as_str()) {
                varied.push(name);
            }
        }
        for (place, (_, values)) in row.maps().into_iter().enumerate() {
            maps.entry(place).or_default().extend(values.keys().map(String::as_str));
        }
        for (queue, values) in &row.queues {
            queues.extend(values.keys().map(|name| (queue.as_str(), name.as_str())));
        }
        for (layer, values) in &row.counters {
            counters.extend(values.keys().map(|name| (layer.as_str(), name.as_str())));
        }
    }

    let mut out = csv::Writer::from_writer(Vec::new());
    let mut head: Vec<String> = ["paper", "figure", "series"].map(str::to_owned).to_vec();
    head.extend(varied.iter().map(|&name| name.to_owned()));
    head.extend(Row::default().fields().map(|(name, _)| name.to_owned()));
    for ((field, _), names) in Row::default().maps().iter().zip(maps.values()) {
        head.extend(names.iter().map(|name| format!("{field}.{name}")));
    }
    head.extend(queues.iter().map(|(queue, name)| format!("queues.{queue}.{name}")));
    head.extend(counters.iter().map(|(layer, name)| format!("{layer}.{name}")));
    head.push("version".to_owned());
    write(&mut out, &head)?;

    for row in rows {
        let mut cells = vec![optional(row.paper), row.figure.clone(), row.series.clone()];
        cells.extend(varied.iter().map(|name| optional(row.parameter(name))));
        cells.extend(row.fields().map(|(_, value)| optional(value)));
        for ((_, values), names) in row.maps().iter().zip(maps.values()) {
            cells.extend(names.iter().map(|&name| optional(values.get(name))));
        }
        let of_queue = |&(queue, name): &(&str, &str)| row.queues.get(queue).and_then(|values| values.get(name));
        cells.extend(queues.iter().map(|place| optional(of_queue(place))));
        cells.extend(
            counters.iter().map(|&(layer, name)| optional(row.counters.get(layer).and_then(|values| values.get(name)))),
        );
        cells.push(row.version.clone());
        write(&mut out, &cells)?;
    }
    let octets = out.into_inner().map_err(|e| RowError::Form(e.to_string()))?;
    String::from_utf8(octets).map_err(|e| RowError::Form(e.to_string()))
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn write(out: &mut csv::Writer<Vec<u8>>, cells: &[String]) -> Result<(), RowError> {
    out.write_record(cells).map_err(|e| RowError::Form(e.to_string()))
}
