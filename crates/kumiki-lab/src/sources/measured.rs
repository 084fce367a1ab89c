//! One's own measurements, as CSV.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 4180 with a line of heads; also with semicolons or tabs between the fields; lines that begin with `#` say nothing. A head carries its unit (`rtt_ms`, `window (KiB)`), or each value does (`64 KiB`) |
//! | Left out | decimal commas, thousands set apart, dates |

use std::collections::BTreeMap;

use kumiki_octets::text::counted;

use super::column::{Unit, amount, bracketed, split};
use super::{OF_NO_ROWS, SCOPE};
use crate::rows::{Parameter, Scope};
use crate::scenario::{Amount, ConfigError, ErrorPlace};
use kumiki_config::errors::ConfigErrors;

/// A file of measurements.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// The line of the heads.
    heads: usize,
    pub(super) columns: Vec<Column>,
    /// The line of the file that each record is on.
    pub(super) lines: Vec<u64>,
    /// The lines with a field that was told of and is taken for an empty one.
    pub(super) told: Vec<usize>,
    /// Whether it has the column [`SCOPE`] and that has no other words than rows and values over time.
    pub(super) is_scoped: bool,
    /// By the name without its unit, where among `columns` those are that are called so.
    by_stem: BTreeMap<String, Vec<usize>>,
}

/// A column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// Its name, in small letters and with its unit.
    pub(super) name: String,
    /// Which it is in the file, from 1, and its head there.
    pub(super) place: (usize, String),
    /// The unit that the head gives, where it is another than that of its name.
    unit: Option<Unit>,
    /// Nothing where a field is empty.
    pub(super) cells: Vec<Option<Parameter>>,
}

impl Measured {
    /// Reads `text`, called `file` in messages, and what is wrong with single lines, which it leaves out, and with
    /// single fields, which it takes for empty ones. `renamed` says what some columns are: a name, and the head that it
    /// has here.
    pub(super) fn parse(
        file: &str,
        text: &str,
        renamed: &[(String, String)],
    ) -> Result<(Self, ConfigErrors), ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter(text))
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            // How many fields a line has is looked at here: the other lines may have mistakes, too.
            .flexible(true)
            .from_reader(text.as_bytes());
        let heads = reader.headers().map_err(|why| damaged((file, text), &why))?.clone();
        if heads.iter().all(str::is_empty) {
            return Err(ConfigError::new("no line of heads; the first line names the columns").in_file(file));
        }
        if heads.iter().all(|head| number(head).is_some()) {
            let fault = ConfigError::new("numbers in the place of heads").in_file(file);
            return Err(fault
                .in_place(ErrorPlace::Line(line_of_heads(text), 1))
                .expected("a first line that names the columns"));
        }
        let mut columns = columns((file, text), &heads, renamed)?;
        tell_apart((file, text), &columns)?;
        let mut faults = ConfigErrors::default();
        let FileRecords { lines, mut fields, last } =
            FileRecords::read((file, text), &mut reader, &heads, &mut faults)?;
        // What is opened by a quotation mark takes all that follows, to the end of the file: it is in the last record.
        if let Some(fault) = unclosed((file, text), last) {
            return Err(fault);
        }
        if lines.is_empty() && faults.is_empty() {
            return Err(ConfigError::new("heads, and no line of values below them").in_file(file));
        }
        let mut told = Vec::new();
        for (column, fields) in columns.iter_mut().zip(&mut fields) {
            told.extend(column.empty_commas(fields, &lines, file, &mut faults));
            column.read(fields);
        }
        // Values may have given a column the unit of another's name.
        tell_apart((file, text), &columns)?;
        let mut by_stem: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, column) in columns.iter().enumerate() {
            by_stem.entry(split(&column.name).0.to_owned()).or_default().push(place);
        }
        let is_scoped = columns.iter().any(Column::says_scope);
        Ok((Self { heads: line_of_heads(text), columns, lines, told, is_scoped, by_stem }, faults))
    }

    /// The names of the columns that are called like `name` but for the unit.
    pub(super) fn called_alike(&self, name: &str) -> impl Iterator<Item = &str> {
        self.alike(name).map(|column| column.name.as_str())
    }

    /// The column of exactly that name.
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.alike(name).find(|column| column.name == name)
    }

    fn alike(&self, name: &str) -> impl Iterator<Item = &Column> {
        let places = self.by_stem.get(split(name).0).into_iter().flatten();
        places.filter_map(|place| self.columns.get(*place))
    }

    /// The place of the head of the column of exactly that name, and its path in messages.
    pub(super) fn head(&self, name: &str) -> Option<(ErrorPlace, String)> {
        let column = self.column(name)?;
        Some((ErrorPlace::Line(self.heads, column.place.0), column.path()))
    }

    /// The name and the unit in the head of a column, where there is one in brackets that nobody knows.
    pub(super) fn unknown_unit(&self, name: &str) -> Option<(&str, &str)> {
        let (_, head) = &self.column(name)?.place;
        let (name, unit) = head.strip_suffix(')')?.rsplit_once('(')?;
        bracketed(head).is_none().then(|| (name.trim_end(), unit))
    }

    /// Adds what is no number of columns that have a unit to `faults` of `file`: what else is asked of them, they hold
    /// numbers.
    pub(super) fn no_quantities(&self, file: &str, faults: &mut ConfigErrors) {
        for column in self.columns.iter().filter(|column| split(&column.name).1.is_some()) {
            let _ = self.no_numbers(file, &column.name, faults);
        }
    }

    /// Whether most values of a column are numbers, or quantities of one kind.
    pub(super) fn is_of_numbers(&self, name: &str) -> bool {
        self.column(name).is_some_and(|column| {
            let filled = column.cells.iter().flatten().count();
            column.no_numbers().1.len() * 2 < filled
        })
    }

    /// What in the column of scopes is none of `known`, where most are.
    pub(super) fn foreign_scopes(&self, file: &str, known: &[&str]) -> ConfigErrors {
        let mut faults = ConfigErrors::default();
        let Some(column) = self.column(SCOPE) else {
            return faults;
        };
        let filled =
            self.lines.iter().zip(&column.cells).filter_map(|(line, cell)| Some((*line, cell.as_ref()?.to_string())));
        let (own, foreign): (Vec<_>, Vec<_>) = filled.partition(|(_, text)| known.contains(&text.as_str()));
        for (line, text) in foreign.iter().filter(|_| own.len() > foreign.len()) {
            let place = in_column(*line, column.place.0);
            let fault = || ConfigError::unknown([column.path()], SCOPE, text, known).in_place(place).in_file(file);
            faults.push_at(Some((whole(*line), column.place.0)), fault);
        }
        faults
    }

    /// Adds what of a column is no number to `faults` of `file`; which values these are.
    pub(super) fn no_numbers(&self, file: &str, name: &str, faults: &mut ConfigErrors) -> Vec<usize> {
        let Some(column) = self.column(name) else {
            return Vec::new();
        };
        let (first, wrong) = column.no_numbers();
        for at in &wrong {
            if let (Some(line), Some(Some(cell))) = (self.lines.get(*at), column.cells.get(*at)) {
                let place = in_column(*line, column.place.0);
                let fault = || column.no_number(&cell.to_string(), first).in_place(place).in_file(file);
                faults.push_at(Some((whole(*line), column.place.0)), fault);
            }
        }
        wrong
    }

    /// Takes what of a column is no number for empty fields, and adds each to `faults` of `file`; their lines. It may
    /// get the unit of the others by that, and another name.
    pub(super) fn leave_numbers(&mut self, file: &str, name: &str, faults: &mut ConfigErrors) -> Vec<usize> {
        let wrong = self.no_numbers(file, name, faults);
        let place = self.alike(name).position(|column| column.name == name);
        let place = place.and_then(|place| self.by_stem.get(split(name).0)?.get(place));
        if let Some(column) = place.and_then(|place| self.columns.get_mut(*place)).filter(|_| !wrong.is_empty()) {
            let text = |cell: &Option<Parameter>| cell.as_ref().map(Parameter::to_string).unwrap_or_default();
            let mut fields: Vec<String> = column.cells.iter().map(text).collect();
            for at in &wrong {
                if let Some(field) = fields.get_mut(*at) {
                    field.clear();
                }
            }
            column.read(&fields);
        }
        wrong.iter().filter_map(|at| self.lines.get(*at)).map(|line| whole(*line)).collect()
    }
}

/// The records of a file that have a field for each head.
struct FileRecords {
    /// The lines that they are on.
    lines: Vec<u64>,
    /// Their fields, head by head.
    fields: Vec<Vec<String>>,
    /// The octet at which the last of all records begins.
    last: u64,
}

impl FileRecords {
    /// Those of `reader`. The other lines are told of in `faults`.
    fn read(
        (file, text): (&str, &str),
        reader: &mut csv::Reader<&[u8]>,
        heads: &csv::StringRecord,
        faults: &mut ConfigErrors,
    ) -> Result<Self, ConfigError> {
        let mut last = heads.position().map_or(0, csv::Position::byte);
        let mut lines = Vec::new();
        let mut fields: Vec<Vec<String>> = vec![Vec::new(); heads.len()];
        for record in reader.records() {
            let record = record.map_err(|why| damaged((file, text), &why))?;
            last = record.position().map_or(last, csv::Position::byte);
            let line = record.position().map_or(0, |place| line_of(text, place));
            if record.len() != heads.len() {
                let problem = || format!("{} below {}", counted(record.len(), "field"), counted(heads.len(), "head"));
                let fault = || {
                    ConfigError::new(problem()).in_file(file).in_place(in_column(line, 1)).expected("one for each head")
                };
                faults.push_at(Some((whole(line), 1)), fault);
                continue;
            }
            lines.push(line);
            for (column, field) in fields.iter_mut().zip(&record) {
                column.push(field.to_owned());
            }
        }
        Ok(Self { lines, fields, last })
    }
}

/// A column of a line of the file.
fn in_column(line: u64, column: usize) -> ErrorPlace {
    ErrorPlace::Line(whole(line), column)
}

/// The number of a line, as places have it.
fn whole(line: u64) -> usize {
    usize::try_from(line).unwrap_or(0)
}

/// What stands between the fields: whatever of the usual is there most often in the line of heads.
fn delimiter(text: &str) -> u8 {
    let heads = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    let count = |it: u8| heads.bytes().filter(|octet| *octet == it).count();
    // Of equal ones the last: a comma stands within heads, too, a tab does not.
    let found = [b',', b';', b'\t'].into_iter().filter(|it| count(*it) > 0);
    found.max_by_key(|it| count(*it)).unwrap_or(b',')
}

/// The line of the record that begins here: what says nothing before it counts to it for whoever gave the place.
fn line_of(text: &str, place: &csv::Position) -> u64 {
    let rest = usize::try_from(place.byte()).ok().and_then(|at| text.get(at..)).unwrap_or_default();
    let nothing = rest.lines().take_while(|line| line.is_empty() || line.starts_with('#'));
    place.line() + nothing.count() as u64
}

/// That a quotation mark is open at the end of what begins with this octet, where one is.
fn unclosed((file, text): (&str, &str), record: u64) -> Option<ConfigError> {
    enum State {
        /// Of a field.
        Beginning,
        Plain,
        Quoted,
        /// Behind a quotation mark: one more there, and the field goes on.
        Closed,
    }
    let start = usize::try_from(record).ok()?;
    let rest = text.get(start..)?;
    let nothing = |line: &&str| line.trim_end().is_empty() || line.starts_with('#');
    let skipped: usize = rest.split_inclusive('\n').take_while(nothing).map(str::len).sum();
    let delimiter = char::from(delimiter(text));
    let (mut state, mut opened) = (State::Beginning, 0);
    for (at, it) in rest.get(skipped..)?.char_indices() {
        state = match (state, it) {
            (State::Beginning, '"') => {
                opened = at;
                State::Quoted
            }
            (State::Quoted, '"') => State::Closed,
            (State::Quoted, _) | (State::Closed, '"') => State::Quoted,
            (_, '\n' | '\r') => State::Beginning,
            (_, it) if it == delimiter => State::Beginning,
            _ => State::Plain,
        };
    }
    if !matches!(state, State::Quoted) {
        return None;
    }
    let lines = text.get(..start + skipped + opened)?.matches('\n').count();
    let fault = ConfigError::new("a quotation mark opens a field here, and none closes it").in_file(file);
    Some(fault.in_place(ErrorPlace::Line(lines + 1, 1)).expected("one at the end of the field, or two for one in it"))
}

fn damaged((file, text): (&str, &str), why: &csv::Error) -> ConfigError {
    let place = why.position();
    if let Some(fault) = place.and_then(|place| unclosed((file, text), place.byte())) {
        return fault;
    }
    let fault = ConfigError::new(why.to_string()).in_file(file);
    match place {
        Some(place) => fault.in_place(in_column(line_of(text, place), 1)),
        None => fault,
    }
}

fn line_of_heads(text: &str) -> usize {
    1 + text.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count()
}

/// No two columns have one name.
fn tell_apart((file, text): (&str, &str), columns: &[Column]) -> Result<(), ConfigError> {
    let mut known: BTreeMap<&str, &Column> = BTreeMap::new();
    for column in columns {
        let Column { name, place: (number, head), .. } = column;
        if let Some(Column { place: (earlier, other), .. }) = known.insert(name, column) {
            let problem = format!("column {earlier} ({other}) is called {name:?} too");
            let path = [format!("column {number} ({head})")];
            let line = ErrorPlace::Line(line_of_heads(text), *number);
            return Err(ConfigError::at(path, problem).in_place(line).in_file(file));
        }
    }
    Ok(())
}

/// The columns without their values, each with the unit that its head gives, where it is another than that of its name.
fn columns(
    (file, text): (&str, &str),
    heads: &csv::StringRecord,
    renamed: &[(String, String)],
) -> Result<Vec<Column>, ConfigError> {
    let first = line_of_heads(text);
    let mut columns: Vec<Column> = Vec::new();
    for (number, head) in (1..).zip(heads) {
        let given = renamed.iter().find(|(_, own)| own == head);
        let given = given.or_else(|| renamed.iter().find(|(_, own)| bracketed(own).is_some_and(|(it, _)| it == head)));
        // The head without its unit will do.
        let given = given.or_else(|| renamed.iter().find(|(_, own)| bracketed(head).is_some_and(|(it, _)| it == own)));
        let (name, unit) = match given {
            Some((name, own)) => {
                let from = bracketed(head).or_else(|| bracketed(own)).map(|(_, unit)| unit).or_else(|| split(own).1);
                (name.clone(), from.filter(|_| split(name).1.is_some()))
            }
            None => named(head),
        };
        let line = ErrorPlace::Line(first, number);
        let path = [format!("column {number} ({head})")];
        if name.is_empty() {
            return Err(ConfigError::new(format!("column {number} has no head")).in_place(line).in_file(file));
        }
        if let (Some(from), Some(to)) = (unit, split(&name).1)
            && from.in_units_of(to).is_none()
        {
            let problem = format!("its unit is no unit of {name}");
            return Err(ConfigError::at(path, problem).in_place(line).in_file(file));
        }
        columns.push(Column { name, place: (number, head.to_owned()), unit, cells: Vec::new() });
    }
    if let Some((name, own)) = renamed.iter().find(|(name, _)| !columns.iter().any(|it| it.name == *name)) {
        let heads: Vec<&str> = heads.iter().collect();
        return Err(ConfigError::unknown([format!("--column {name}={own}")], "head", own, &heads).in_file(file));
    }
    Ok(columns)
}

/// What a column with this head is called, and its unit where the head has one in brackets.
fn named(head: &str) -> (String, Option<Unit>) {
    let plain = |text: &str| text.to_lowercase().replace(' ', "_");
    match bracketed(head) {
        Some((before, unit)) => (format!("{}{}", plain(before), unit.suffix()), Some(unit)),
        None => (plain(head), None),
    }
}

/// Whether `text` would be a number, perhaps with a unit, with a point in the place of its comma.
fn has_decimal_comma(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.matches(',').count() == 1 && number(first.replace(',', ".").trim_end_matches('%')).is_some()
}

/// Nothing that somebody measures is larger, in any unit; sums and squares of what is smaller are numbers still.
const LARGEST: f64 = 1e100;

/// A number as it is written; nothing where it is none, or endless, or larger than what anybody measures.
fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.abs() <= LARGEST)
}

/// A quantity that is more than a number.
fn with_unit(text: &str) -> Option<Amount> {
    amount(text).filter(|it| !matches!(it, Amount::Count(_)))
}

impl Column {
    /// Takes those of its `fields` that have a decimal comma for empty ones, and tells of each in `faults` of `file`;
    /// the lines of these.
    fn empty_commas(&self, fields: &mut [String], lines: &[u64], file: &str, faults: &mut ConfigErrors) -> Vec<usize> {
        let mut told = Vec::new();
        for (field, line) in fields.iter_mut().zip(lines).filter(|(field, _)| has_decimal_comma(field)) {
            let fault = || self.fault("not a number", field, *line).in_file(file);
            let at = Some((whole(*line), self.place.0));
            faults.push_at(at, || fault().expected("a point in the place of the comma"));
            field.clear();
            told.push(whole(*line));
        }
        told
    }

    /// Whether it says what rows, or values over time, are of, and nothing else.
    fn says_scope(&self) -> bool {
        let of_rows = [Scope::Total, Scope::Load, Scope::Flow].map(Scope::name);
        let is_known = |cell: &Parameter| matches!(cell, Parameter::Text(word) if of_rows.iter().chain(&OF_NO_ROWS).any(|it| it == word));
        self.name == SCOPE && self.cells.iter().flatten().all(is_known)
    }

    /// How messages call it.
    fn path(&self) -> String {
        let (number, head) = &self.place;
        format!("column {number} ({head})")
    }

    /// What is wrong with a field of it.
    fn fault(&self, problem: &str, field: &str, line: u64) -> ConfigError {
        ConfigError::at([self.path()], problem).found(format!("{field:?}")).in_place(in_column(line, self.place.0))
    }

    /// Which of the values are no numbers, and no quantities like the others, of which the first is given where there
    /// are any.
    fn no_numbers(&self) -> (Option<Amount>, Vec<usize>) {
        let is_word = |cell: &Option<Parameter>| matches!(cell, Some(Parameter::Text(_) | Parameter::Switch(_)));
        // Where one value is no number, all are kept as words: those that are none have to be looked for.
        if !self.cells.iter().any(is_word) {
            return (None, Vec::new());
        }
        let texts = || self.cells.iter().enumerate().filter_map(|(at, cell)| Some((at, cell.as_ref()?.to_string())));
        // The head has the unit, or every value has: where they are mixed, most of them say which it is.
        let bare = texts().filter(|(_, text)| number(text).is_some()).count();
        let is_bare = self.unit.is_some() || bare > texts().filter(|(_, text)| with_unit(text).is_some()).count();
        let first = texts().find_map(|(_, text)| with_unit(&text)).filter(|_| !is_bare);
        let is_right = |text: &str| match first {
            Some(first) => amount(text).is_some_and(|it| it.is_like(first) || it.base() == 0),
            None => number(text).is_some(),
        };
        (first, texts().filter(|(_, text)| !is_right(text)).map(|(at, _)| at).collect())
    }

    /// What is wrong with a value that is none of those, beside `first` of them.
    fn no_number(&self, text: &str, first: Option<Amount>) -> ConfigError {
        let (problem, expected) = match (text.parse::<f64>(), first) {
            (Ok(it), _) if it.is_finite() && number(text).is_none() => {
                ("larger than anything that is measured", "no more than 1e100")
            }
            (_, Some(_)) if with_unit(text).is_some() => {
                ("not of the kind of the values above it", "quantities of one kind in a column")
            }
            (Ok(_), Some(_)) => {
                ("no unit, which the other values have", "one behind every value, or in the head alone")
            }
            _ => (
                "not a number",
                "a number such as 93.5, with a point; its unit stands in the head, or behind every value",
            ),
        };
        ConfigError::at([self.path()], problem).found(format!("{text:?}")).expected(expected)
    }

    /// Takes the values: numbers where all are, quantities where all are of one kind, switches, or words.
    fn read(&mut self, fields: &[String]) {
        let filled = || fields.iter().filter(|field| !field.is_empty());
        let each = |of: &dyn Fn(&str) -> Option<Parameter>| -> Vec<Option<Parameter>> {
            fields.iter().map(|field| if field.is_empty() { None } else { of(field) }).collect()
        };
        if filled().all(|field| number(field).is_some()) {
            let own = split(&self.name).1;
            let times = self.unit.zip(own).and_then(|(from, to)| from.in_units_of(to)).unwrap_or(1.0);
            self.cells = each(&|field| number(field).map(|it| Parameter::Number(it * times)));
            return;
        }
        if let Some(worth) = self.settle_unit(filled()) {
            let value = |field: &str| {
                let amount = amount(field)?;
                #[expect(clippy::cast_precision_loss, reason = "what is drawn or fitted needs no more than 53 bits")]
                let base = amount.base() as f64;
                Some(Parameter::Number(base / worth))
            };
            self.cells = each(&value);
            return;
        }
        let switch = |field: &str| match field.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" => Some(Parameter::Switch(true)),
            "false" | "off" | "no" => Some(Parameter::Switch(false)),
            _ => None,
        };
        let all = filled().all(|field| switch(field).is_some());
        self.cells = each(&|field| if all { switch(field) } else { Some(Parameter::Text(field.to_owned())) });
    }

    /// Where all values are quantities of one kind, how many base units those of the column's name have; the name gets
    /// a unit where it has none.
    fn settle_unit<'a>(&mut self, filled: impl Iterator<Item = &'a String>) -> Option<f64> {
        let amounts: Option<Vec<Amount>> = filled.map(|field| amount(field)).collect();
        let amounts = amounts?;
        let is_some = |it: &&Amount| it.base() > 0;
        // Nothing is as much in any unit, and where there is nothing else its own counts.
        let first = amounts.iter().find(is_some).or_else(|| amounts.iter().find(|it| !matches!(it, Amount::Count(_))));
        let first = first.filter(|it| !matches!(it, Amount::Count(_)))?;
        if amounts.iter().filter(is_some).any(|it| !it.is_like(*first)) {
            return None;
        }
        let one = Unit::of(first.with_base(1))?;
        if split(&self.name).1.is_none() {
            self.name.push_str(one.suffix());
        }
        let (_, unit) = split(&self.name);
        unit?.in_units_of(one)
    }
}
