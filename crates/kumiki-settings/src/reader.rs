//! Reads settings: by name, into their places, and says what is wrong. What it is asked for is what it knows.

use core::cell::RefCell;
use core::fmt::Display;
use core::ops::RangeInclusive;

use kumiki_graph::Duration;

use crate::form::{Bits, Part, Size};
use crate::slot::{Integer, Slot};
use crate::{BuildError, Problem, Setting, Settings, Value, ValueFormat};

/// What a setting is called, and what is shown of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    name: &'static str,
    meaning: &'static str,
    unset: Option<&'static str>,
}

impl Key {
    /// A setting `name` that means `meaning`.
    #[must_use]
    pub const fn new(name: &'static str, meaning: &'static str) -> Self {
        Self { name, meaning, unset: None }
    }

    /// The same, and what is done where it is not set: shown in the place of a default that is no value. Where it must
    /// be set that is nothing, and no default is shown.
    #[must_use]
    pub const fn unset(self, unset: &'static str) -> Self {
        Self { unset: Some(unset), ..self }
    }

    /// What is shown as default.
    fn default(&self, value: Option<impl Display>) -> String {
        match (value, self.unset) {
            (_, Some("")) => String::new(),
            (Some(value), _) => value.to_string(),
            (None, unset) => unset.unwrap_or("none").to_owned(),
        }
    }
}

/// One table of settings being read.
#[derive(Debug)]
pub struct Reader<'a> {
    path: Vec<String>,
    settings: &'a Settings,
    known: RefCell<Vec<&'static str>>,
    /// Where a list of everything is wanted.
    list: Option<RefCell<Vec<Setting>>>,
}

type ReadResult<T = ()> = Result<T, BuildError>;

impl<'a> Reader<'a> {
    pub(crate) const fn new(settings: &'a Settings) -> Self {
        Self { path: Vec::new(), settings, known: RefCell::new(Vec::new()), list: None }
    }

    /// A reader that lists what it is asked for.
    pub(crate) fn listing(settings: &'a Settings) -> Self {
        Self { list: Some(RefCell::new(Vec::new())), ..Self::new(settings) }
    }

    pub(crate) fn listed(self) -> Vec<Setting> {
        self.list.map(RefCell::into_inner).unwrap_or_default()
    }

    /// Whether this is for the list of all settings.
    #[must_use]
    pub const fn lists(&self) -> bool {
        self.list.is_some()
    }

    /// What `read` reads, unless something is set that it has not asked for.
    pub(crate) fn whole<T>(&self, read: impl FnOnce(&Self) -> ReadResult<T>) -> ReadResult<T> {
        let done = read(self);
        let known = self.known.borrow();
        let unknown = self.settings.iter().find(|(key, _)| !known.iter().any(|it| it == key));
        match (done, unknown) {
            (done, None) => done,
            // An unknown name is often the reason why another one is missing.
            (Err(error), Some(_)) if !error.is_about_the_whole(&self.path) => Err(error),
            (_, Some((found, _))) => Err(BuildError::new(self.at(&[found]), Problem::UnknownKey(known.clone()))),
        }
    }

    fn at(&self, keys: &[&str]) -> Vec<String> {
        let keys = keys.iter().map(|key| (*key).to_owned());
        self.path.iter().cloned().chain(keys).collect()
    }

    /// The value of `key` as it stands, if it is set; in no list.
    pub fn peek(&self, key: &'static str) -> Option<&'a Value> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
        self.settings.value(key)
    }

    /// Whether `key` is set.
    pub fn is_set(&self, key: &'static str) -> bool {
        self.peek(key).is_some()
    }

    /// `key` must be there and is not.
    #[must_use]
    pub fn missing(&self, key: &str, expected: &str) -> BuildError {
        let expected = expected.to_owned();
        BuildError::new(self.at(&[key]), Problem::Missing { expected })
    }

    /// The value of `key` cannot be used.
    #[must_use]
    pub fn wrong(&self, key: &str, found: &impl ToString, expected: &str) -> BuildError {
        wrong(self.at(&[key]), found, expected)
    }

    /// Adds to the list, where there is one.
    fn tell(&self, path: &[&str], key: &Key, form: &ValueFormat, default: impl FnOnce() -> String) {
        if let Some(list) = &self.list {
            let (path, form) = (self.at(path), form.clone());
            list.borrow_mut().push(Setting { path, form, meaning: key.meaning, default: default() });
        }
    }

    /// Asks for the value of `key`, for the list as well, and has `read` make something of it.
    fn ask<T>(
        &self,
        key: &Key,
        form: &ValueFormat,
        default: impl FnOnce() -> String,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> ReadResult<Option<T>> {
        self.tell(&[key.name], key, form, default);
        let Some(value) = self.peek(key.name) else {
            return Ok(None);
        };
        read(value).map(Some).ok_or_else(|| self.wrong(key.name, value, &form.to_string()))
    }

    /// Yes or no.
    ///
    /// # Errors
    /// It is neither.
    pub fn boolean(&self, key: &Key, place: &mut impl Slot<Value = bool>) -> ReadResult {
        let read = |value: &Value| if let Value::Boolean(yes) = value { Some(*yes) } else { None };
        let read = self.ask(key, &ValueFormat::Boolean, || key.default(place.value()), read)?;
        if let Some(yes) = read {
            place.put(yes);
        }
        Ok(())
    }

    /// A whole number.
    ///
    /// # Errors
    /// It is none, or out of `range`.
    pub fn number<N: Integer>(
        &self,
        key: &Key,
        range: RangeInclusive<u64>,
        place: &mut impl Slot<Value = N>,
    ) -> ReadResult {
        let (least, most) = range.into_inner();
        let default = || key.default(place.value().map(Integer::wide));
        let read = |value: &Value| {
            let number = if let Value::Integer(number) = value { u64::try_from(*number).ok() } else { None };
            number.filter(|number| (least..=most).contains(number))?.try_into().ok()
        };
        let read = self.ask(key, &ValueFormat::Number { least, most }, default, read)?;
        if let Some(number) = read {
            place.put(number);
        }
        Ok(())
    }

    /// A size in octets.
    ///
    /// # Errors
    /// It is none, or out of `range`.
    pub fn octets<N: Integer>(
        &self,
        key: &Key,
        range: RangeInclusive<u64>,
        place: &mut impl Slot<Value = N>,
    ) -> ReadResult {
        let (least, most) = range.into_inner();
        let default = || key.default(place.value().map(|it| Size(it.wide())));
        let read = |value: &Value| {
            let octets = if let Value::Octets(octets) = value { Some(*octets) } else { None };
            octets.filter(|octets| (least..=most).contains(octets))?.try_into().ok()
        };
        let read = self.ask(key, &ValueFormat::Octets { least, most }, default, read)?;
        if let Some(octets) = read {
            place.put(octets);
        }
        Ok(())
    }

    /// A rate in bits per second.
    ///
    /// # Errors
    /// It is none, or out of `range`.
    pub fn rate(&self, key: &Key, range: RangeInclusive<u64>, place: &mut impl Slot<Value = u64>) -> ReadResult {
        let (least, most) = range.into_inner();
        let read = |value: &Value| {
            let bits = if let Value::Rate(bits) = value { Some(*bits) } else { None };
            bits.filter(|bits| (least..=most).contains(bits))
        };
        let read = self.ask(key, &ValueFormat::Rate { least, most }, || key.default(place.value().map(Bits)), read)?;
        if let Some(bits) = read {
            place.put(bits);
        }
        Ok(())
    }

    /// A part of a whole, from 0 to 1.
    ///
    /// # Errors
    /// It is none.
    pub fn share(&self, key: &Key, place: &mut impl Slot<Value = f64>) -> ReadResult {
        const WHOLE: u64 = 1_000_000_000_000;
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
        let of_whole = |parts: u64| parts as f64 / WHOLE as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a default, from 0 to 1")]
        let default = || key.default(place.value().map(|share| Part((share * 1e12).round() as u64)));
        let read = |value: &Value| {
            let parts = if let Value::Share(parts) = value { Some(*parts) } else { None };
            parts.filter(|parts| *parts <= WHOLE).map(of_whole)
        };
        if let Some(share) = self.ask(key, &ValueFormat::Share, default, read)? {
            place.put(share);
        }
        Ok(())
    }

    /// A time of at least `least`.
    ///
    /// # Errors
    /// It is none, or shorter.
    pub fn time(&self, key: &Key, least: Duration, place: &mut impl Slot<Value = Duration>) -> ReadResult {
        let read = |value: &Value| {
            let time = if let Value::Duration(time) = value { Some(*time) } else { None };
            time.filter(|time| *time >= least)
        };
        let read = self.ask(key, &ValueFormat::Time { least }, || key.default(place.value()), read)?;
        if let Some(time) = read {
            place.put(time);
        }
        Ok(())
    }

    /// One of `words`.
    ///
    /// # Errors
    /// It is none of them.
    pub fn word<T: Copy + PartialEq>(&self, key: &Key, words: &[(&'static str, T)], place: &mut T) -> ReadResult {
        let names = || words.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let default = || {
            let own = words.iter().find(|(_, value)| value == place);
            own.map_or("", |(name, _)| name).to_owned()
        };
        let Some(found) =
            self.ask(key, &ValueFormat::Word(names()), default, |value| text_of(value).map(str::to_owned))?
        else {
            return Ok(());
        };
        let Some((_, value)) = words.iter().find(|(name, _)| *name == found) else {
            return Err(BuildError::new(self.at(&[key.name]), Problem::Word { found, known: names() }));
        };
        *place = *value;
        Ok(())
    }

    /// Text that `parse` understands.
    ///
    /// # Errors
    /// It does not understand it.
    pub fn text<T: Display>(
        &self,
        key: &Key,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
        place: &mut T,
    ) -> ReadResult {
        let default = || key.unset.map_or_else(|| place.to_string(), str::to_owned);
        let read = self.ask(key, &ValueFormat::Text(expected), default, |value| text_of(value).and_then(parse))?;
        if let Some(text) = read {
            *place = text;
        }
        Ok(())
    }

    /// The same, where it may be left out.
    ///
    /// # Errors
    /// It does not understand it.
    pub fn maybe_text<T>(
        &self,
        key: &Key,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
        place: &mut Option<T>,
    ) -> ReadResult {
        let default = || key.default(None::<&str>);
        let read = self.ask(key, &ValueFormat::Text(expected), default, |value| text_of(value).and_then(parse))?;
        if let Some(text) = read {
            *place = Some(text);
        }
        Ok(())
    }

    /// A list of texts that `parse` understands.
    ///
    /// # Errors
    /// There is one that it does not understand.
    pub fn list<T>(
        &self,
        key: &Key,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
        place: &mut Vec<T>,
    ) -> ReadResult {
        let form = ValueFormat::List(expected);
        self.tell(&[key.name], key, &form, || key.default(None::<&str>));
        match self.peek(key.name) {
            None => {}
            Some(Value::List(values)) => {
                let read = |value| text_of(value).and_then(&parse);
                let each = values.iter().map(|it| read(it).ok_or_else(|| self.wrong(key.name, it, &form.to_string())));
                *place = each.collect::<ReadResult<_>>()?;
            }
            Some(other) => return Err(self.wrong(key.name, other, &form.to_string())),
        }
        Ok(())
    }

    /// The pairs of a table whose names and values `parse` understands together. In a list `any` stands for the names.
    ///
    /// # Errors
    /// There is one that it does not understand.
    pub fn pairs<T>(
        &self,
        key: &Key,
        any: &'static str,
        expected: &'static str,
        parse: impl Fn(&str, &str) -> Option<T>,
        place: &mut Vec<T>,
    ) -> ReadResult {
        self.tell(&[key.name, any], key, &ValueFormat::Text(expected), || key.default(None::<&str>));
        match self.peek(key.name) {
            None => {}
            Some(Value::Table(table)) => {
                let read = |name, value| text_of(value).and_then(|text| parse(name, text));
                let each = table.iter().map(|(name, value)| {
                    read(name, value).ok_or_else(|| wrong(self.at(&[key.name, name]), value, expected))
                });
                *place = each.collect::<ReadResult<_>>()?;
            }
            Some(other) => return Err(self.wrong(key.name, other, &format!("a table of {any} = {expected}"))),
        }
        Ok(())
    }

    /// A table, read by `read`; without it as one in which nothing is set.
    ///
    /// # Errors
    /// It is no table, those of `read`, or something is set there that it has not asked for.
    pub fn table(&self, key: &'static str, read: impl FnOnce(&Reader<'_>) -> ReadResult) -> ReadResult {
        match self.peek(key) {
            Some(Value::Table(table)) => self.inner(self.at(&[key]), table, read),
            Some(other) => Err(self.wrong(key, other, "a table")),
            None => self.inner(self.at(&[key]), &Settings::new(), read),
        }
    }

    /// A table of tables, each read by `read` with its name. In a list `any` stands for the names.
    ///
    /// # Errors
    /// As [`Reader::table`].
    pub fn tables(
        &self,
        key: &'static str,
        any: &'static str,
        mut read: impl FnMut(&str, &Reader<'_>) -> ReadResult,
    ) -> ReadResult {
        let tables = match self.peek(key) {
            Some(Value::Table(tables)) => tables,
            Some(other) => return Err(self.wrong(key, other, "a table of tables")),
            None => &Settings::new(),
        };
        if self.lists() {
            // What is missing in an empty table is of no interest here.
            let _ = self.inner(self.at(&[key, any]), &Settings::new(), |reader| read(any, reader));
        }
        for (name, value) in tables.iter() {
            let path = self.at(&[key, name]);
            let Value::Table(table) = value else {
                return Err(wrong(path, value, "a table"));
            };
            self.inner(path, table, |reader| read(name, reader))?;
        }
        Ok(())
    }

    fn inner(
        &self,
        path: Vec<String>,
        settings: &Settings,
        read: impl FnOnce(&Reader<'_>) -> ReadResult,
    ) -> ReadResult {
        let list = self.lists().then(RefCell::default);
        let reader = Reader { path, settings, known: RefCell::default(), list };
        let done = reader.whole(|reader| read(reader));
        if let Some(list) = &self.list {
            list.borrow_mut().extend(reader.listed());
        }
        done
    }
}

const fn text_of(value: &Value) -> Option<&str> {
    if let Value::Text(text) = value { Some(text.as_str()) } else { None }
}

fn wrong(path: Vec<String>, found: &impl ToString, expected: &str) -> BuildError {
    let (found, expected) = (found.to_string(), expected.to_owned());
    BuildError::new(path, Problem::Value { found, expected })
}
