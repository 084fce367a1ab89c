//! The same rows as one flat table.

use std::collections::{BTreeMap, BTreeSet};

use super::{CLOCKS, Row, RowError};

/// CSV with a header line. The columns are those of any row: varied parameters in the order in which they first appear,
/// and times as `round_trip_ms.name`, `delay_ms.name`, `completion_ms.name` and `with_opening_ms.name`, what held the
/// connections as `held.name`, drawn clocks as `clocks_ppm.line`, queues as `queues.queue.name`, and counters as
/// `counters.layer.name`, in the order of their names. A cell is empty where a row has no such value.
///
/// # Errors
///
/// [`RowError`] of the first row that cannot be written.
pub fn to_csv(rows: &[Row]) -> Result<String, RowError> {
    let mut form = CsvForm::default();
    for row in rows {
        row.check()?;
        form.see(row);
    }
    let form_of = |why: csv::Error| RowError::Form(why.to_string());
    let mut octets = record(&form.head()).map_err(form_of)?;
    for row in rows {
        octets.extend(form.line(row).map_err(form_of)?);
    }
    String::from_utf8(octets).map_err(|e| RowError::Form(e.to_string()))
}

/// Which columns there are, of rows that need not all be there at once.
#[derive(Default)]
pub(super) struct CsvForm {
    varied: Vec<String>,
    /// By the place of the map among those of a row.
    maps: BTreeMap<usize, BTreeSet<String>>,
    clocks: BTreeSet<String>,
    queues: Names,
    counters: Names,
}

/// What there is of each.
type Names = BTreeMap<String, BTreeSet<String>>;

impl CsvForm {
    /// A row has these.
    pub(super) fn see(&mut self, row: &Row) {
        for (name, _) in &row.varied {
            if !self.varied.contains(name) {
                self.varied.push(name.clone());
            }
        }
        for (place, (_, values)) in row.maps().into_iter().enumerate() {
            add(self.maps.entry(place).or_default(), values.keys());
        }
        add(&mut self.clocks, row.clocks_ppm.keys());
        add_all(&mut self.queues, &row.queues);
        add_all(&mut self.counters, &row.counters);
    }

    pub(super) fn head(&self) -> Vec<String> {
        let mut head: Vec<String> = ["paper", "figure", "series"].map(str::to_owned).to_vec();
        head.extend(self.varied.iter().cloned());
        head.extend(Row::default().fields().map(|(name, _)| name.to_owned()));
        for ((field, _), names) in Row::default().maps().iter().zip(self.maps.values()) {
            head.extend(names.iter().map(|name| format!("{field}.{name}")));
        }
        head.extend(self.clocks.iter().map(|line| format!("{CLOCKS}.{line}")));
        head.extend(pairs(&self.queues).map(|(queue, name)| format!("queues.{queue}.{name}")));
        head.extend(pairs(&self.counters).map(|(layer, name)| format!("counters.{layer}.{name}")));
        head.push("version".to_owned());
        head
    }

    /// The line of `row`, with its end.
    pub(super) fn line(&self, row: &Row) -> Result<Vec<u8>, csv::Error> {
        let mut cells = vec![optional(row.paper), row.figure.clone(), row.series.clone()];
        cells.extend(self.varied.iter().map(|name| optional(row.parameter(name))));
        cells.extend(row.fields().map(|(_, value)| optional(value)));
        for ((_, values), names) in row.maps().iter().zip(self.maps.values()) {
            cells.extend(names.iter().map(|name| optional(values.get(name.as_str()))));
        }
        cells.extend(self.clocks.iter().map(|line| optional(row.clocks_ppm.get(line))));
        if row.queues.is_empty() && row.counters.is_empty() {
            return self.short(&cells, &row.version);
        }
        let of_queue = |(queue, name): (&String, &String)| row.queues.get(queue).and_then(|values| values.get(name));
        cells.extend(pairs(&self.queues).map(|place| optional(of_queue(place))));
        let of_layer = |(layer, name): (&String, &String)| row.counters.get(layer).and_then(|values| values.get(name));
        cells.extend(pairs(&self.counters).map(|place| optional(of_layer(place))));
        cells.push(row.version.clone());
        record(&cells)
    }

    /// The line of a row of a load or a flow, which has neither queues nor counters: of a thousand hosts those are some
    /// hundred thousand empty cells, in each of a thousand lines.
    fn short(&self, cells: &[String], version: &str) -> Result<Vec<u8>, csv::Error> {
        let empty: usize = self.queues.values().chain(self.counters.values()).map(BTreeSet::len).sum();
        let mut line = record(cells)?;
        line.pop();
        line.resize(line.len() + empty, b',');
        // Of two cells, since a line of nothing but an empty one would have quotes.
        line.extend(record(&[String::new(), version.to_owned()])?);
        Ok(line)
    }
}

fn add<'a>(known: &mut BTreeSet<String>, names: impl Iterator<Item = &'a String>) {
    for name in names {
        if !known.contains(name) {
            known.insert(name.clone());
        }
    }
}

fn add_all<T>(known: &mut Names, all: &BTreeMap<String, BTreeMap<String, T>>) {
    for (of, values) in all {
        match known.get_mut(of) {
            Some(names) => add(names, values.keys()),
            None => add(known.entry(of.clone()).or_default(), values.keys()),
        }
    }
}

fn pairs(names: &Names) -> impl Iterator<Item = (&String, &String)> {
    names.iter().flat_map(|(of, names)| names.iter().map(move |name| (of, name)))
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

/// A line of these cells, with its end.
pub(super) fn record(cells: &[String]) -> Result<Vec<u8>, csv::Error> {
    let mut line = csv::Writer::from_writer(Vec::new());
    line.write_record(cells)?;
    line.into_inner().map_err(|why| why.into_error().into())
}
