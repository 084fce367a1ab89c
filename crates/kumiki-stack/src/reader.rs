//! Reads settings: by name, into their places, and says what is wrong. What it is asked for is what it knows.

use core::cell::RefCell;
use core::net::Ipv4Addr;
use core::ops::RangeInclusive;
use kumiki_wire::atm::cell::Vc;

use kumiki_graph::{Address, Duration};

use super::form::Size;
use super::{BuildError, Form, Problem, Setting, Settings, Value};

/// One table of settings being read.
pub(super) struct Reader<'a> {
    path: Vec<String>,
    settings: &'a Settings,
    known: RefCell<Vec<&'static str>>,
    /// Where a list of everything is wanted.
    list: Option<RefCell<Vec<Setting>>>,
}

type Read<T> = Result<T, BuildError>;

/// A whole number in a configuration.
pub(super) trait Whole: Copy + TryFrom<u64> {
    /// As 64 bits.
    fn wide(self) -> u64;
}

impl Whole for u8 {
    fn wide(self) -> u64 {
        self.into()
    }
}
impl Whole for u16 {
    fn wide(self) -> u64 {
        self.into()
    }
}
impl Whole for u32 {
    fn wide(self) -> u64 {
        self.into()
    }
}
impl Whole for u64 {
    fn wide(self) -> u64 {
        self
    }
}
impl Whole for usize {
    fn wide(self) -> u64 {
        u64::try_from(self).unwrap_or(u64::MAX)
    }
}

impl<'a> Reader<'a> {
    pub(super) const fn new(settings: &'a Settings) -> Self {
        Self { path: Vec::new(), settings, known: RefCell::new(Vec::new()), list: None }
    }

    /// A reader that lists what it is asked for.
    pub(super) fn listing(settings: &'a Settings) -> Self {
        Self { list: Some(RefCell::new(Vec::new())), ..Self::new(settings) }
    }

    pub(super) fn listed(self) -> Vec<Setting> {
        self.list.map(RefCell::into_inner).unwrap_or_default()
    }

    /// Whether this is for the list of all settings.
    pub(super) const fn lists(&self) -> bool {
        self.list.is_some()
    }

    fn at(&self, key: &str) -> Vec<String> {
        let mut path = self.path.clone();
        path.push(key.to_owned());
        path
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

    /// Refuses what nobody has asked for; only after everything has been read.
    pub(super) fn finish(&self) -> Read<()> {
        let known = self.known.borrow();
        let unknown = self.settings.iter().find(|(key, _)| !known.iter().any(|it| it == key));
        match unknown {
            None => Ok(()),
            Some((found, _)) => Err(BuildError::new(self.at(found), Problem::UnknownKey(known.clone()))),
        }
    }

    /// `key` must be there and is not.
    pub(super) fn missing(&self, key: &str, expected: &str) -> BuildError {
        let expected = expected.to_owned();
        BuildError::new(self.at(key), Problem::Missing { expected })
    }

    /// The value of `key` cannot be used.
    pub(super) fn wrong(&self, key: &str, found: &impl ToString, expected: &str) -> BuildError {
        let (found, expected) = (found.to_string(), expected.to_owned());
        BuildError::new(self.at(key), Problem::Value { found, expected })
    }

    /// Asks for `key`, for the list as well.
    fn ask(
        &self,
        key: &'static str,
        meaning: &'static str,
        form: &Form,
        default: impl FnOnce() -> String,
    ) -> Option<&'a Value> {
        if let Some(list) = &self.list {
            list.borrow_mut().push(Setting { path: self.at(key), form: form.clone(), meaning, default: default() });
        }
        self.value(key)
    }

    pub(super) fn boolean(&self, key: &'static str, meaning: &'static str, place: &mut bool) -> Read<()> {
        match self.ask(key, meaning, &Form::Boolean, || place.to_string()) {
            None => {}
            Some(Value::Boolean(yes)) => *place = *yes,
            Some(other) => return Err(self.wrong(key, other, "true or false")),
        }
        Ok(())
    }

    /// A whole number.
    pub(super) fn number<N: Whole>(
        &self,
        key: &'static str,
        meaning: &'static str,
        range: RangeInclusive<u64>,
        place: &mut N,
    ) -> Read<()> {
        let (least, most) = range.into_inner();
        let form = Form::Number { least, most };
        let Some(value) = self.ask(key, meaning, &form, || place.wide().to_string()) else {
            return Ok(());
        };
        let found = if let Value::Integer(number) = value { u64::try_from(*number).ok() } else { None };
        let found = found.filter(|number| (least..=most).contains(number));
        *place = found
            .and_then(|number| N::try_from(number).ok())
            .ok_or_else(|| self.wrong(key, value, &form.to_string()))?;
        Ok(())
    }

    /// A size in octets.
    pub(super) fn octets<N: Whole>(
        &self,
        key: &'static str,
        meaning: &'static str,
        range: RangeInclusive<u64>,
        place: &mut N,
    ) -> Read<()> {
        let mut found = Some(*place);
        self.maybe_octets(key, meaning, range, &mut found, "")?;
        *place = found.unwrap_or(*place);
        Ok(())
    }

    /// A size in octets that need not be; `unset` says what is done without.
    pub(super) fn maybe_octets<N: Whole>(
        &self,
        key: &'static str,
        meaning: &'static str,
        range: RangeInclusive<u64>,
        place: &mut Option<N>,
        unset: &str,
    ) -> Read<()> {
        let (least, most) = range.into_inner();
        let form = Form::Octets { least, most };
        let default = || place.map_or_else(|| unset.to_owned(), |it| Size(it.wide()).to_string());
        let Some(value) = self.ask(key, meaning, &form, default) else {
            return Ok(());
        };
        let found = if let Value::Octets(octets) = value { Some(*octets) } else { None };
        let found = found.filter(|octets| (least..=most).contains(octets));
        let found = found.and_then(|octets| N::try_from(octets).ok());
        *place = Some(found.ok_or_else(|| self.wrong(key, value, &form.to_string()))?);
        Ok(())
    }

    /// A number that need not be; `unset` says what is done without.
    pub(super) fn maybe_number<N: Whole>(
        &self,
        key: &'static str,
        meaning: &'static str,
        range: RangeInclusive<u64>,
        place: &mut Option<N>,
        unset: &str,
    ) -> Read<()> {
        let (least, most) = range.into_inner();
        let form = Form::Number { least, most };
        let default = || place.map_or_else(|| unset.to_owned(), |it| it.wide().to_string());
        let Some(value) = self.ask(key, meaning, &form, default) else {
            return Ok(());
        };
        let found = if let Value::Integer(number) = value { u64::try_from(*number).ok() } else { None };
        let found = found.filter(|number| (least..=most).contains(number));
        let found = found.and_then(|number| N::try_from(number).ok());
        *place = Some(found.ok_or_else(|| self.wrong(key, value, &form.to_string()))?);
        Ok(())
    }

    /// A time of at least `least`.
    pub(super) fn time(
        &self,
        key: &'static str,
        meaning: &'static str,
        least: Duration,
        place: &mut Duration,
    ) -> Read<()> {
        let mut found = Some(*place);
        self.maybe_time(key, meaning, least, &mut found, "")?;
        *place = found.unwrap_or(*place);
        Ok(())
    }

    /// A time that need not be; `unset` says what is done without.
    pub(super) fn maybe_time(
        &self,
        key: &'static str,
        meaning: &'static str,
        least: Duration,
        place: &mut Option<Duration>,
        unset: &str,
    ) -> Read<()> {
        let form = Form::Time { least };
        let default = || place.map_or_else(|| unset.to_owned(), |it| it.to_string());
        match self.ask(key, meaning, &form, default) {
            None => {}
            Some(Value::Duration(time)) if *time >= least => *place = Some(*time),
            Some(other) => return Err(self.wrong(key, other, &form.to_string())),
        }
        Ok(())
    }

    /// One of `words`.
    pub(super) fn word<T: Copy + PartialEq>(
        &self,
        key: &'static str,
        meaning: &'static str,
        words: &[(&'static str, T)],
        place: &mut T,
    ) -> Read<()> {
        let names = || words.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let default = || {
            let own = words.iter().find(|(_, value)| value == place);
            own.map_or_else(String::new, |(name, _)| (*name).to_owned())
        };
        match self.ask(key, meaning, &Form::Word(names()), default) {
            None => {}
            Some(Value::Text(text)) => {
                let found = words.iter().find(|(name, _)| name == text);
                let (_, value) = found.ok_or_else(|| {
                    let (found, known) = (text.clone(), names());
                    BuildError::new(self.at(key), Problem::Word { found, known })
                })?;
                *place = *value;
            }
            Some(other) => return Err(self.wrong(key, other, &Form::Word(names()).to_string())),
        }
        Ok(())
    }

    /// Text that `parse` understands.
    pub(super) fn text<T>(
        &self,
        key: &'static str,
        meaning: &'static str,
        expected: &'static str,
        default: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Read<Option<T>> {
        let value = self.ask(key, meaning, &Form::Text(expected), || default.to_owned());
        let Some(value) = value else {
            return Ok(None);
        };
        let read = text_of(value).and_then(parse);
        read.map(Some).ok_or_else(|| self.wrong(key, value, expected))
    }

    /// A list of texts that `parse` understands.
    pub(super) fn texts<T>(
        &self,
        key: &'static str,
        meaning: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Read<Vec<T>> {
        let form = Form::List(expected);
        match self.ask(key, meaning, &form, || "none".to_owned()) {
            None => Ok(Vec::new()),
            Some(Value::List(values)) => values
                .iter()
                .map(|value| {
                    let read = text_of(value).and_then(&parse);
                    read.ok_or_else(|| self.wrong(key, value, &form.to_string()))
                })
                .collect(),
            Some(other) => Err(self.wrong(key, other, &form.to_string())),
        }
    }

    /// A table, read by `read`; without it as one in which nothing is set.
    pub(super) fn table(&self, key: &'static str, read: impl FnOnce(&Reader<'_>) -> Read<()>) -> Read<()> {
        match self.value(key) {
            Some(Value::Table(table)) => self.inner(self.at(key), table, read),
            Some(other) => Err(self.wrong(key, other, "a table")),
            None => self.inner(self.at(key), &Settings::new(), read),
        }
    }

    /// A table of tables, each read by `read` with its name. In a list `any` stands for the names.
    pub(super) fn tables(
        &self,
        key: &'static str,
        any: &'static str,
        mut read: impl FnMut(&str, &Reader<'_>) -> Read<()>,
    ) -> Read<()> {
        let tables = match self.value(key) {
            Some(Value::Table(tables)) => tables,
            Some(other) => return Err(self.wrong(key, other, "a table of tables")),
            None => &Settings::new(),
        };
        let under = |name: &str| {
            let mut path = self.at(key);
            path.push(name.to_owned());
            path
        };
        if self.lists() {
            // What is missing in an empty table is of no interest here.
            let _ = self.inner(under(any), &Settings::new(), |reader| read(any, reader));
        }
        for (name, value) in tables.iter() {
            let Value::Table(table) = value else {
                let found = value.to_string();
                let expected = "a table".to_owned();
                return Err(BuildError::new(under(name), Problem::Value { found, expected }));
            };
            self.inner(under(name), table, |reader| read(name, reader))?;
        }
        Ok(())
    }

    fn inner(&self, path: Vec<String>, settings: &Settings, read: impl FnOnce(&Reader<'_>) -> Read<()>) -> Read<()> {
        let reader = Reader { path, settings, known: RefCell::default(), list: self.lists().then(RefCell::default) };
        let done = read(&reader);
        let finished = reader.finish();
        if let Some(list) = &self.list {
            list.borrow_mut().extend(reader.listed());
        }
        match (done, finished) {
            (Err(error), Err(unknown)) if error.is_about_the_whole() => Err(unknown),
            (done, finished) => done.and(finished),
        }
    }

    /// The pairs of a table whose names and values `parse` understands together. In a list `any` stands for the names.
    pub(super) fn pairs<T>(
        &self,
        key: &'static str,
        any: &'static str,
        meaning: &'static str,
        expected: &'static str,
        parse: impl Fn(&str, &str) -> Option<T>,
    ) -> Read<Vec<T>> {
        if let Some(list) = &self.list {
            let mut path = self.at(key);
            path.push(any.to_owned());
            list.borrow_mut().push(Setting { path, form: Form::Text(expected), meaning, default: "none".to_owned() });
        }
        match self.value(key) {
            None => Ok(Vec::new()),
            Some(Value::Table(table)) => table
                .iter()
                .map(|(name, value)| {
                    let read = text_of(value).and_then(|text| parse(name, text));
                    read.ok_or_else(|| {
                        let mut path = self.at(key);
                        path.push(name.to_owned());
                        let (found, expected) = (value.to_string(), expected.to_owned());
                        BuildError::new(path, Problem::Value { found, expected })
                    })
                })
                .collect(),
            Some(other) => Err(self.wrong(key, other, &format!("a table of {any} = {expected}"))),
        }
    }
}

const fn text_of(value: &Value) -> Option<&str> {
    if let Value::Text(text) = value { Some(text.as_str()) } else { None }
}

/// A circuit: "VPI/VCI".
pub(super) fn circuit(text: &str) -> Option<Address> {
    let (vpi, vci) = text.split_once('/')?;
    let vpi = vpi.trim().parse().ok().filter(|&vpi| vpi <= 4095)?;
    let vci = vci.trim().parse().ok()?;
    Some(Vc { vpi, vci }.address())
}

/// A network, or an address and its network: "10.0.0.1/24".
pub(super) fn network(text: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let prefix = prefix.parse().ok().filter(|&prefix| prefix <= 32)?;
    Some((address.parse().ok()?, prefix))
}
