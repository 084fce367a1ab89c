//! Reads settings: by name, with their types, and says what is wrong.

use core::cell::RefCell;
use core::net::Ipv4Addr;

use kumiki_graph::{Address, Duration};

use super::{BuildError, Settings, Value, list, nearest};

/// One table of settings being read. What it has been asked for is what it knows.
pub(super) struct Reader<'a> {
    place: String,
    settings: &'a Settings,
    known: RefCell<Vec<&'static str>>,
}

type Read<T> = Result<Option<T>, BuildError>;

impl<'a> Reader<'a> {
    pub(super) fn new(place: &str, settings: &'a Settings) -> Self {
        Self {
            place: place.to_owned(),
            settings,
            known: RefCell::default(),
        }
    }

    fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.place)
    }

    fn value(&self, key: &'static str) -> Option<&'a Value> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.settings.value(key)
    }

    /// The value of `key` as it stands.
    pub(super) fn peek(&self, key: &'static str) -> Option<&'a Value> {
        self.value(key)
    }

    /// Whether `key` is set.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// Refuses what nobody has asked for; only after everything has been read.
    pub(super) fn finish(&self) -> Result<(), BuildError> {
        let known = self.known.borrow();
        let unknown = self
            .settings
            .iter()
            .find(|(key, _)| !known.iter().any(|it| it == key));
        let Some((found, _)) = unknown else {
            return Ok(());
        };
        Err(BuildError::UnknownKey {
            place: self.place.clone(),
            found: found.to_owned(),
            nearest: nearest(found, &known),
            known: list(&known),
        })
    }

    pub(super) fn refused(&self, why: &impl ToString) -> BuildError {
        BuildError::Refused {
            kind: self.place.clone(),
            why: why.to_string(),
        }
    }

    /// Reads `key` with `read`, which gives `None` for what it cannot take.
    fn get<T>(
        &self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Read<T> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(wrong(self.path(key), value, expected)),
        }
    }

    pub(super) fn boolean(&self, key: &'static str) -> Read<bool> {
        self.get(key, "true or false", |value| match value {
            Value::Boolean(yes) => Some(*yes),
            Value::Text(_)
            | Value::Integer(_)
            | Value::Duration(_)
            | Value::Octets(_)
            | Value::List(_)
            | Value::Table(_) => None,
        })
    }

    /// A whole number from `least` to `most`.
    pub(super) fn integer(&self, key: &'static str, least: u32, most: u32) -> Read<u32> {
        self.get(key, &format!("a number from {least} to {most}"), |value| {
            let Value::Integer(number) = value else {
                return None;
            };
            let number = u32::try_from(*number).ok();
            number.filter(|number| (least..=most).contains(number))
        })
    }

    /// A size in octets from `least` to `most`.
    pub(super) fn octets(&self, key: &'static str, least: u64, most: u64) -> Read<u64> {
        let expected = format!("a size such as \"9180 B\" or \"64 KiB\", {least} B to {most} B");
        self.get(key, &expected, |value| {
            let octets = match value {
                Value::Octets(octets) => Some(*octets),
                Value::Integer(number) => u64::try_from(*number).ok(),
                Value::Text(text) => {
                    with_unit(text, &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20)])
                }
                Value::Boolean(_) | Value::Duration(_) | Value::List(_) | Value::Table(_) => None,
            };
            octets.filter(|octets| (least..=most).contains(octets))
        })
    }

    pub(super) fn duration(&self, key: &'static str) -> Read<Duration> {
        const UNITS: [(&str, u64); 5] = [
            ("ns", 1),
            ("us", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
        ];
        self.get(
            key,
            "a time such as \"20 ms\" or \"15 min\"",
            |value| match value {
                Value::Duration(time) => Some(*time),
                Value::Text(text) => with_unit(text, &UNITS).map(Duration::from_nanos),
                Value::Integer(_)
                | Value::Boolean(_)
                | Value::Octets(_)
                | Value::List(_)
                | Value::Table(_) => None,
            },
        )
    }

    /// Text that `parse` understands.
    pub(super) fn text<T>(
        &self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Read<T> {
        self.get(key, expected, |value| parse(text_of(value)?))
    }

    /// A list of texts that `parse` understands.
    pub(super) fn texts<T>(
        &self,
        key: &'static str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, BuildError> {
        let expected = format!("a list of {expected}");
        let read = self.get(key, &expected, |value| {
            let Value::List(values) = value else {
                return None;
            };
            values.iter().map(|value| parse(text_of(value)?)).collect()
        })?;
        Ok(read.unwrap_or_default())
    }

    /// A table, read by `read`.
    pub(super) fn table<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Reader<'_>) -> Result<T, BuildError>,
    ) -> Read<T> {
        let table = self.get(key, "a table", table_of)?;
        table
            .map(|table| read_table(&self.path(key), table, read))
            .transpose()
    }

    /// A list of tables, each read by `read`.
    pub(super) fn tables<T>(
        &self,
        key: &'static str,
        read: impl Fn(&Reader<'_>) -> Result<T, BuildError>,
    ) -> Result<Vec<T>, BuildError> {
        let tables: Option<Vec<&Settings>> = self.get(key, "a list of tables", |value| {
            let Value::List(values) = value else {
                return None;
            };
            values.iter().map(table_of).collect()
        })?;
        tables
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .map(|(number, table)| {
                read_table(&format!("{}[{number}]", self.path(key)), table, &read)
            })
            .collect()
    }

    /// The pairs of a table whose names are addresses and whose values are circuits.
    pub(super) fn circuits_by_address(
        &self,
        key: &'static str,
    ) -> Result<Vec<(Ipv4Addr, Address)>, BuildError> {
        let table = self.get(key, "a table of addresses and circuits", table_of)?;
        let pair = |(address, value): (&str, &Value)| {
            let read = address.parse().ok().zip(text_of(value).and_then(circuit));
            let expected = "an IPv4 address and its circuit such as \"0/100\"";
            read.ok_or_else(|| wrong(format!("{}.{address}", self.path(key)), value, expected))
        };
        table.map_or_else(|| Ok(Vec::new()), |table| table.iter().map(pair).collect())
    }

    /// What must be there.
    pub(super) fn need<T>(
        &self,
        key: &'static str,
        read: Read<T>,
        expected: &'static str,
    ) -> Result<T, BuildError> {
        read?.ok_or_else(|| BuildError::Missing {
            key: self.path(key),
            expected,
        })
    }
}

fn read_table<T>(
    place: &str,
    table: &Settings,
    read: impl FnOnce(&Reader<'_>) -> Result<T, BuildError>,
) -> Result<T, BuildError> {
    let reader = Reader::new(place, table);
    let value = read(&reader)?;
    reader.finish()?;
    Ok(value)
}

fn wrong(key: String, value: &Value, expected: &str) -> BuildError {
    BuildError::Value {
        key,
        found: value.to_string(),
        expected: expected.to_owned(),
    }
}

fn text_of(value: &Value) -> Option<&str> {
    if let Value::Text(text) = value {
        Some(text)
    } else {
        None
    }
}

fn table_of(value: &Value) -> Option<&Settings> {
    if let Value::Table(table) = value {
        Some(table)
    } else {
        None
    }
}

/// A whole number and one of the units.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// A circuit: "VPI/VCI".
pub(super) fn circuit(text: &str) -> Option<Address> {
    let (vpi, vci) = text.split_once('/')?;
    let vpi = vpi.parse().ok().filter(|&vpi| vpi <= 4095)?;
    let vci = vci.parse().ok()?;
    Some(Address::Vc { vpi, vci })
}

/// A network, or an address and its network: "10.0.0.1/24".
pub(super) fn network(text: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let prefix = prefix.parse().ok().filter(|&prefix| prefix <= 32)?;
    Some((address.parse().ok()?, prefix))
}
