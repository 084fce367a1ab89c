//! Settings as a scenario has them, of nodes, devices and media: quantities are read in its notation, and what is wrong
//! is a [`ConfigError`].

use kumiki_graph::Duration;
use kumiki_settings::{BuildError, Problem, Reader, Setting, Settings, Value, ValueFormat};

use crate::error::{ConfigError, quantity};
use crate::hints;
use crate::quantity::{Octets, Quantity as _, Rate, Share, parse};

/// What `read` makes of the settings in `table`, which are of `kind`.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the keys of `table`.
pub fn read<T>(
    kind: &str,
    table: &toml::Table,
    read: impl Fn(&Reader<'_>) -> Result<T, BuildError>,
) -> Result<T, ConfigError> {
    let known = kumiki_settings::list(&Settings::new(), &read);
    let settings = self::table(&mut Vec::new(), table, &known)?;
    kumiki_settings::read(kind, &settings, read).map_err(|error| said(error, Some(kind), &known))
}

/// What `make` makes of `given`, whose settings are among `known`: of what kind that is says the path above it.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the keys of `given`.
pub fn build<T>(
    given: &toml::Table,
    known: &[Setting],
    make: impl FnOnce(&Settings) -> Result<T, BuildError>,
) -> Result<T, ConfigError> {
    let settings = table(&mut Vec::new(), given, known)?;
    make(&settings).map_err(|error| said(error, None, known))
}

/// Reads a table at `path`, whose settings are among `known`.
pub fn table<'a>(
    path: &mut Vec<&'a str>,
    settings: &'a toml::Table,
    known: &[Setting],
) -> Result<Settings, ConfigError> {
    let mut read = Settings::new();
    for (key, value) in settings {
        path.push(key);
        read.set(key, self::value(path, value, known)?);
        path.pop();
    }
    Ok(read)
}

fn value<'a>(path: &mut Vec<&'a str>, value: &'a toml::Value, known: &[Setting]) -> Result<Value, ConfigError> {
    let form = known.iter().find(|setting| setting.is_at(path)).map(|setting| &setting.form);
    Ok(match value {
        toml::Value::Table(inner) => Value::Table(table(path, inner, known)?),
        toml::Value::String(text) => match form {
            Some(ValueFormat::Time { .. }) => Value::Duration(quantity::<Duration>(path, text)?),
            Some(ValueFormat::Octets { .. }) => Value::Octets(quantity::<Octets>(path, text)?.count()),
            Some(ValueFormat::Rate { .. }) => Value::Rate(quantity::<Rate>(path, text)?.base()),
            Some(ValueFormat::Share) => Value::Share(quantity::<Share>(path, text)?.base()),
            Some(
                ValueFormat::Boolean
                | ValueFormat::Number { .. }
                | ValueFormat::Word(_)
                | ValueFormat::Text(_)
                | ValueFormat::List(_),
            )
            | None => Value::Text(text.clone()),
        },
        toml::Value::Integer(number) => match form {
            // A number that may be below 0 has no form of its own.
            Some(ValueFormat::Text(expected)) if expected.starts_with("a whole number") => {
                Value::Text(number.to_string())
            }
            Some(ValueFormat::Word(words)) if words.iter().any(|word| *word == number.to_string()) => {
                Value::Text(number.to_string())
            }
            Some(ValueFormat::Share) => share(number).unwrap_or(Value::Integer(*number)),
            Some(_) | None => Value::Integer(*number),
        },
        toml::Value::Boolean(yes) => Value::Boolean(*yes),
        // A list of tables is a table of them by number.
        toml::Value::Array(values) if !values.is_empty() && values.iter().all(toml::Value::is_table) => {
            let mut tables = Settings::new();
            for (number, value) in values.iter().enumerate() {
                let number = number.to_string();
                let mut path: Vec<&str> = path.iter().copied().chain([number.as_str()]).collect();
                tables.set(&number, self::value(&mut path, value, known)?);
            }
            Value::Table(tables)
        }
        toml::Value::Array(values) => {
            // The form of each is that of the list.
            let read = |(number, item): (usize, &'a toml::Value)| {
                let place = path.len();
                self::value(path, item, known).map_err(|fault| fault.in_item(place, number))
            };
            Value::List(values.iter().enumerate().map(read).collect::<Result<_, _>>()?)
        }
        toml::Value::Float(number) => match (form, share(number)) {
            // Where there is no such setting, that is what is wrong.
            (None, _) => Value::Text(number.to_string()),
            (Some(ValueFormat::Share), Some(share)) => share,
            (Some(form), _) => {
                let found = ConfigError::at(&*path, format!("this is the number {number}"));
                return Err(found.expected(expected(form)));
            }
        },
        toml::Value::Datetime(date) => Value::Text(date.to_string()),
    })
}

/// A part of a whole as a number from 0 to 1, where it is one.
fn share(number: &impl ToString) -> Option<Value> {
    parse::<Share>(&number.to_string()).ok().map(|share| Value::Share(share.base()))
}

/// What is expected, with the notation where that is a quantity.
fn expected(form: &ValueFormat) -> String {
    match form {
        ValueFormat::Time { .. } => format!("{form} such as \"20 ms\""),
        ValueFormat::Octets { .. } => format!("{form}, with its unit: \"8192 B\", \"64 KiB\""),
        ValueFormat::Rate { .. } => format!("{form}, with its unit: \"10 Mb/s\""),
        ValueFormat::Share => format!("{form}, such as \"0.5 %\", or a number from 0 to 1"),
        ValueFormat::Boolean
        | ValueFormat::Number { .. }
        | ValueFormat::Word(_)
        | ValueFormat::Text(_)
        | ValueFormat::List(_) => form.to_string(),
    }
}

/// A [`BuildError`] as a [`ConfigError`]: of settings among `known`, and of what `kind` that is where no path says
/// so.
pub fn said(error: BuildError, kind: Option<&str>, known: &[Setting]) -> ConfigError {
    let path: Vec<&str> = error.path.iter().map(String::as_str).collect();
    let last = path.last().copied().unwrap_or_default();
    match &error.problem {
        Problem::UnknownKind(kinds) => ConfigError::unknown(&path, "kind of node", &error.kind, kinds),
        Problem::UnknownKey(keys) => {
            let what = kind.map_or_else(|| "setting".to_owned(), |kind| format!("setting of {kind}"));
            let fault = ConfigError::unknown(&path, &what, last, keys);
            let names: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
            match (hints::also_called(last, &names), deeper(&path, known)) {
                (Some(meant), Some(below)) => fault.suggest(format!("{meant}, or {below}")),
                (None, Some(below)) => fault.suggest(below),
                (Some(meant), None) if last == "rtt" => {
                    fault.suggest(format!("{meant}, one way: half of a round trip"))
                }
                (_, None) => fault,
            }
        }
        Problem::Word { found, known } => {
            if let Some(other) = hints::other_control(found).filter(|_| last == "congestion") {
                let problem = format!("{other} is not among the congestion controls that there are");
                return ConfigError::at(&path, problem).found(format!("{found:?}")).one_of(known);
            }
            let fault = ConfigError::unknown(&path, "value", found, known);
            // How long it is, and not what decides about it.
            let (length, unit) = found.split_at(found.find(|c: char| !c.is_ascii_digit()).unwrap_or(found.len()));
            let is_length = !length.is_empty() && ["", "packets", "frames", "packet", "frame"].contains(&unit.trim());
            if last == "queue" && is_length { fault.suggest(format!("queue_frames = {length}")) } else { fault }
        }
        Problem::Missing { expected } => {
            let (_, above) = path.split_last().unwrap_or((&"", &[]));
            ConfigError::at(above, format!("the key {last:?} is missing")).expected(expected)
        }
        Problem::Value { found, expected } => {
            // An item of a list has the form of that.
            let list = path.split_last().filter(|(last, _)| last.parse::<usize>().is_ok()).map(|(_, list)| list);
            let is_there = |it: &&Setting| it.is_at(&path) || list.is_some_and(|list| it.is_at(list));
            let form = known.iter().find(|it| is_there(it) && it.form.to_string() == *expected);
            let expected = form.map_or_else(|| expected.clone(), |it| self::expected(&it.form));
            let fault = ConfigError::at(&path, format!("this is {found}"));
            match frames_of(last, found) {
                Some(frames) => fault.expected(format!("{expected}: {frames}")),
                None => fault.expected(expected),
            }
        }
        Problem::Refused(why) => ConfigError::at(&path, why.as_str()),
    }
}

/// That frames are counted, where `found` has the octets of a queue.
fn frames_of(key: &str, found: &str) -> Option<String> {
    const FRAME: u64 = 1500;
    let text = found.trim_matches('"');
    let octets = parse::<Octets>(text).ok().filter(|_| ["queue_frames", "mark_frames"].contains(&key))?;
    let frames = octets.count().div_ceil(FRAME);
    Some(format!(
        "frames are counted, and {text} are {frames} of {FRAME} B (with queue = \"fq-codel\", aqm.memory is in octets)"
    ))
}

/// A setting of the same name one table below the one of which `path` is none: `impair.loss` for `loss`.
fn deeper(path: &[&str], known: &[Setting]) -> Option<String> {
    let (last, above) = path.split_last()?;
    let is_meant = |setting: &&Setting| match setting.path.split_at_checked(above.len()) {
        Some((own, [_, name])) => own.iter().map(String::as_str).eq(above.iter().copied()) && name == last,
        Some(_) | None => false,
    };
    let found = known.iter().find(is_meant)?;
    found.path.get(above.len()..).map(|rest| rest.join("."))
}
