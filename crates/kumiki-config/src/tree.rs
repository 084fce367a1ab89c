//! A TOML document whose every value knows where it is written, with its keys in the order of the file.

use std::cmp::Ordering;
use std::fmt;

use kumiki_settings::Described;
use toml::de::{DeTable, DeValue};

use crate::error::{ConfigError, ErrorPlace};

/// Where a value comes from, small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Line and column, from 1.
    Line(usize, usize),
    /// The number of the `--set`, from 0.
    Set(usize),
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it is written.
    pub at: Origin,
    /// What is written.
    pub value: Value,
}

/// What is written in one place.
#[derive(Clone, Debug)]
pub enum Value {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Switch(bool),
    /// An array.
    List(Vec<Node>),
    /// A table, its keys in the order of the file.
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key is written.
    pub at: Origin,
    /// Its value.
    pub node: Node,
}

impl Entry {
    /// Where the key is written, unless `--set` put another value there.
    pub const fn place(&self) -> Origin {
        match self.node.at {
            Origin::Set(_) => self.node.at,
            Origin::Line(..) => self.at,
        }
    }
}

impl Node {
    /// Reads a document.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let lines = Lines::new(text);
        let document = DeTable::parse(text).map_err(|error| lines.syntax(text, &error))?;
        Ok(Self { at: Origin::Line(1, 1), value: table(document.get_ref(), &lines)? })
    }

    /// Reads one value as TOML writes it, as all from `at`.
    pub fn parse_value(text: &str, at: Origin) -> Option<Self> {
        let parsed = DeValue::parse(text).ok()?;
        let mut node = node(&parsed, &Lines::new(text)).ok()?;
        node.put_at(at);
        Some(node)
    }

    fn put_at(&mut self, at: Origin) {
        self.at = at;
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.put_at(at)),
            Value::Table(entries) => {
                for entry in entries {
                    entry.at = at;
                    entry.node.put_at(at);
                }
            }
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) => {}
        }
    }

    /// The entries of a table; none of anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) | Value::List(_) => &[],
        }
    }

    /// The value of `key` in a table.
    pub fn child(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The key `key` of a table, with its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The value at `key` of a table.
    pub fn child_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Value::Table(entries) = &mut self.value else {
            return None;
        };
        entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Puts `node` at `path` below this table, making tables on the way. Says which part of the path is no table.
    pub fn set(&mut self, path: &[&str], node: Self) -> Result<(), String> {
        let Some((first, rest)) = path.split_first() else {
            *self = node;
            return Ok(());
        };
        let Value::Table(entries) = &mut self.value else {
            return Err((*first).to_owned());
        };
        if let Some(entry) = entries.iter_mut().find(|entry| entry.key == *first) {
            if rest.is_empty() {
                entry.at = node.at;
            }
            return entry.node.set(rest, node);
        }
        let mut child = Self { at: node.at, value: Value::Table(Vec::new()) };
        let at = node.at;
        child.set(rest, node)?;
        entries.push(Entry { key: (*first).to_owned(), at, node: child });
        Ok(())
    }

    /// Takes away the key at `path` with its value; false where no table has it.
    pub fn remove(&mut self, path: &[String]) -> bool {
        let Some((key, rest)) = path.split_first() else {
            return false;
        };
        match &mut self.value {
            Value::Table(entries) if rest.is_empty() => {
                let before = entries.len();
                entries.retain(|entry| entry.key != *key);
                entries.len() < before
            }
            Value::Table(entries) => {
                entries.iter_mut().find(|it| it.key == *key).is_some_and(|it| it.node.remove(rest))
            }
            Value::List(items) => {
                key.parse::<usize>().ok().and_then(|place| items.get_mut(place)).is_some_and(|it| it.remove(rest))
            }
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) => false,
        }
    }

    /// As messages show it, which cut what is long: nothing for tables and long lists.
    pub fn shown(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(format!("{text:?}")),
            Value::Integer(_) | Value::Switch(_) => self.plain(),
            // Its decimal point may be what is wrong.
            Value::Float(x) => Some(format!("{x:?}")),
            Value::List(items) if items.len() <= 6 => {
                let items: Option<Vec<String>> = items.iter().map(Self::shown).collect();
                items.map(|items| format!("[{}]", items.join(", ")))
            }
            Value::List(_) | Value::Table(_) => None,
        }
    }

    /// A single value as text to put into another; `None` of lists and tables.
    pub fn plain(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Integer(n) => Some(n.to_string()),
            Value::Float(x) => Some(x.to_string()),
            Value::Switch(on) => Some(on.to_string()),
            Value::List(_) | Value::Table(_) => None,
        }
    }

    /// What it is, for messages.
    pub const fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Switch(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// As the crate `toml` has it.
    pub fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Text(text) => toml::Value::String(text.clone()),
            Value::Integer(n) => toml::Value::Integer(*n),
            Value::Float(x) => toml::Value::Float(*x),
            Value::Switch(on) => toml::Value::Boolean(*on),
            Value::List(items) => toml::Value::Array(items.iter().map(Self::to_toml).collect()),
            Value::Table(entries) => {
                toml::Value::Table(entries.iter().map(|entry| (entry.key.clone(), entry.node.to_toml())).collect())
            }
        }
    }

    /// The deepest value on `path` that is written down, and whether it is the value at `path` itself. List items are
    /// named by their numbers from 0.
    pub fn reach(&self, path: &[String]) -> (Origin, Option<&Self>) {
        let mut at = self.at;
        let mut node = self;
        for part in path {
            let next = match &node.value {
                Value::Table(entries) => {
                    entries.iter().find(|entry| entry.key == *part).map(|entry| (entry.place(), &entry.node))
                }
                Value::List(items) => part.parse::<usize>().ok().and_then(|i| items.get(i)).map(|item| (item.at, item)),
                Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) => None,
            };
            let Some(next) = next else {
                return (at, None);
            };
            (at, node) = next;
        }
        (at, Some(node))
    }

    /// The path of the key or the value that is written there.
    pub fn path_to(&self, line: usize, column: usize) -> Option<Vec<String>> {
        let here = Origin::Line(line, column);
        let nodes: Vec<(String, Origin, &Self)> = match &self.value {
            Value::Table(entries) => entries.iter().map(|it| (it.key.clone(), it.at, &it.node)).collect(),
            Value::List(items) => items.iter().enumerate().map(|(place, it)| (place.to_string(), it.at, it)).collect(),
            Value::Text(_) | Value::Integer(_) | Value::Float(_) | Value::Switch(_) => return None,
        };
        nodes.into_iter().find_map(|(key, at, node)| {
            if at == here || node.at == here {
                return Some(vec![key]);
            }
            let mut path = node.path_to(line, column)?;
            path.insert(0, key);
            Some(path)
        })
    }

    /// Reads a value of `T`.
    ///
    /// # Errors
    /// What is no such value, with its path from here.
    pub fn read<'de, T: serde::Deserialize<'de>>(&'de self) -> Result<T, crate::read::Problem> {
        T::deserialize(crate::read::Reader(self))
    }
}

/// Which names are looked for elsewhere in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameSearch {
    /// That which is written.
    Own,
    /// Those of what others call so.
    Others,
}

/// What a front end knows of the keys of its documents, so that messages can say more.
pub trait KnownKeys: fmt::Debug {
    /// What the key at `path` is, with an example of its value.
    fn described(&self, _path: &[String]) -> Option<&'static Described> {
        None
    }

    /// The keys of the table at `path` of the document `root` of which it has none, where nobody else tells of them.
    fn strange(&self, _root: &Node, _path: &[String]) -> Vec<String> {
        Vec::new()
    }

    /// Where the last part of `path` is a key of the document `root`, by these names: the nearest places first, as they
    /// are written where `path` is. Nothing where it is none.
    fn elsewhere(&self, _root: &Node, _path: &[String], _names: &[NameSearch]) -> Option<String> {
        None
    }
}

/// Nothing is known but what serde says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoKeys;

impl KnownKeys for NoKeys {}

/// What a fault needs to be placed: the file, its values and the `--set`s.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// All that is in it.
    pub root: &'a Node,
    /// The texts of the `--set`s.
    pub sets: &'a [String],
    /// What is known of its keys.
    pub keys: &'a dyn KnownKeys,
}

impl<'a> Source<'a> {
    /// Of the file `file`, of whose keys nothing else is known, without `--set`s.
    #[must_use]
    pub const fn new(file: &'a str, root: &'a Node) -> Self {
        Self { file, root, sets: &[], keys: &NoKeys }
    }
}

impl Source<'_> {
    /// Reads a value of `T` from `node`, which is at `path`.
    ///
    /// # Errors
    /// A [`ConfigError`] with its place, where there is none.
    pub fn read<'de, T: serde::Deserialize<'de>>(&self, node: &'de Node, path: &[&str]) -> Result<T, ConfigError> {
        node.read().map_err(|why| why.fault(self, path))
    }

    /// Where `at` is, for people; `None` of a `--set` that is not there.
    pub fn place(&self, at: Origin) -> Option<ErrorPlace> {
        match at {
            Origin::Line(line, column) => Some(ErrorPlace::Line(line, column)),
            Origin::Set(number) => self.sets.get(number).cloned().map(ErrorPlace::Set),
        }
    }

    /// `fault` with file, place and value as far as they are known and were missing.
    pub fn locate(&self, fault: ConfigError) -> ConfigError {
        // Found in another file.
        if fault.file().is_some_and(|file| file != self.file) {
            return fault;
        }
        let (at, node) = self.root.reach(fault.path());
        let mut fault = fault;
        if !fault.has_found()
            && let Some(found) = node.and_then(Node::shown)
        {
            fault = fault.found(found);
        }
        if fault.place().is_none()
            && let Some(place) = self.place(at)
        {
            fault = fault.in_place(place);
        }
        let names: &[NameSearch] = if fault.is_unknown_key() {
            &[NameSearch::Others, NameSearch::Own]
        } else if fault.is_of_no_use() {
            // The key is right, and its place may not be.
            &[NameSearch::Own]
        } else {
            &[]
        };
        if let Some(places) = self.keys.elsewhere(self.root, fault.path(), names) {
            fault = fault.suggest(places);
        }
        fault.in_file(self.file)
    }
}

fn table(table: &DeTable<'_>, lines: &Lines) -> Result<Value, ConfigError> {
    let mut entries: Vec<_> = table.iter().collect();
    // The crate sorts by key; the order of the file is that of the keys' places.
    entries.sort_by(|(a, _), (b, _)| match a.span().start.cmp(&b.span().start) {
        Ordering::Equal => a.get_ref().cmp(b.get_ref()),
        unequal @ (Ordering::Less | Ordering::Greater) => unequal,
    });
    let entries: Result<_, _> = entries
        .into_iter()
        .map(|(key, value)| {
            Ok(Entry { key: key.get_ref().to_string(), at: lines.origin(key.span().start), node: node(value, lines)? })
        })
        .collect();
    entries.map(Value::Table)
}

fn node(spanned: &toml::Spanned<DeValue<'_>>, lines: &Lines) -> Result<Node, ConfigError> {
    let at = lines.origin(spanned.span().start);
    let refuse = |problem: String| Err(ConfigError::new(problem).in_place(lines.place(spanned.span().start)));
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => {
                let problem = format!("the number {n} is out of range");
                let fault = ConfigError::new(problem).in_place(lines.place(spanned.span().start));
                return Err(fault.expected(format!("a whole number from {} to {}", i64::MIN, i64::MAX)));
            }
        },
        DeValue::Float(x) => match x.as_str().parse::<f64>() {
            Ok(x) if x.is_finite() => Value::Float(x),
            _ => return refuse(format!("{x} is not a finite number")),
        },
        DeValue::Boolean(on) => Value::Switch(*on),
        DeValue::Datetime(date) => {
            return refuse(format!("{date} is a date, and nothing here takes dates; write it in quotes"));
        }
        DeValue::Array(items) => Value::List(items.iter().map(|item| node(item, lines)).collect::<Result<_, _>>()?),
        DeValue::Table(entries) => table(entries, lines)?,
    };
    Ok(Node { at, value })
}

/// Where the lines of a text begin.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, octet)| *octet == b'\n');
        Self { starts: std::iter::once(0).chain(breaks.map(|(i, _)| i + 1)).collect() }
    }

    /// Columns are counted in bytes, as editors that jump to them do not agree on anything else either.
    fn line(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).and_then(|i| self.starts.get(i)).copied();
        (line, offset - start.unwrap_or(0) + 1)
    }

    fn origin(&self, offset: usize) -> Origin {
        let (line, column) = self.line(offset);
        Origin::Line(line, column)
    }

    fn place(&self, offset: usize) -> ErrorPlace {
        let (line, column) = self.line(offset);
        ErrorPlace::Line(line, column)
    }

    fn syntax(&self, text: &str, error: &toml::de::Error) -> ConfigError {
        let message = error.message().trim().replace('\n', ", ");
        let fault = ConfigError::new(format!("not TOML: {message}"));
        let Some(span) = error.span() else {
            return fault;
        };
        let fault = fault.in_place(self.place(span.start));
        if let Some(said) = self.closed(text, error, span.start).or_else(|| self.unquoted(text, &message, span.start)) {
            return said;
        }
        if message.contains("duplicate key")
            && let Some(said) = self.twice(text, span.start)
        {
            return said;
        }
        // A word that begins as `inf` or `nan` does is no number.
        let is_bare = message.contains("must be quoted") || message.contains("invalid float");
        if let Some(bare) = bare_text(text, span.start).filter(|_| is_bare) {
            let plain = bare.trim_matches(|c| "\u{201c}\u{201d}\u{201e}\u{2018}\u{2019}".contains(c));
            let what = if plain == bare { "without quotes" } else { "in quotes of printed text" };
            return ConfigError::new(format!("not TOML: {bare} {what}"))
                .in_place(self.place(span.start))
                .expected(format!("{plain:?}"));
        }
        match open_bracket(text, span.start).map(|(at, bracket)| (self.line(at).0, bracket)) {
            // Where it was opened in an earlier line, it is more often what closes it that is missing than a comma.
            Some((line, bracket)) if line < self.line(span.start).0 => {
                fault.expected(format!("a {bracket:?} for what is opened in line {line}, or a comma"))
            }
            Some(_) | None => fault,
        }
    }
}

/// The text without quotes of which a part is at `at`: `10 ms` of `delay = 10 ms # each way`.
fn bare_text(text: &str, at: usize) -> Option<&str> {
    let (before, behind) = text.split_at_checked(at)?;
    let line = before.rsplit('\n').next().unwrap_or(before);
    let start = at - line.len() + line.rfind(['=', ',', '[']).map_or(0, |place| place + 1);
    let end = behind.find(['\n', ',', ']', '}', '#']).map_or(text.len(), |length| at + length);
    text.get(start..end).map(str::trim).filter(|bare| !bare.is_empty() && !bare.contains('"'))
}

impl Lines {
    /// Which key or table is there already that is written once more at `at`, and where.
    fn twice(&self, text: &str, at: usize) -> Option<ConfigError> {
        let (number, _) = self.line(at);
        let words = |line: &str| -> String {
            let line = line.trim();
            let name = if line.starts_with('[') { line.split('#').next() } else { line.split('=').next() };
            name.unwrap_or_default().split_whitespace().collect()
        };
        let lines: Vec<&str> = text.lines().collect();
        let own = words(lines.get(number.checked_sub(1)?)?);
        let is_table = own.starts_with('[');
        // A table may be there as one between braces.
        let plain = own.trim_matches(['[', ']']);
        let before = lines.get(..number - 1)?.iter().enumerate().rev();
        // Of keys those of the same table.
        let mut before = before.take_while(|(_, line)| is_table || !line.trim().starts_with('['));
        let is_it = |line: &str| words(line) == own || is_table && words(line) == plain;
        let Some((first, _)) = before.find(|(_, line)| is_it(line)) else {
            return self.twice_in_line(text, at);
        };
        let fault = ConfigError::new(format!("{own} is there already, in line {}", first + 1)).in_place(self.place(at));
        Some(fault.expected(if is_table { "all of its keys in one place, or another name" } else { "one of both" }))
    }

    /// The same of a key that stands in one line with the first of its name, as between braces.
    fn twice_in_line(&self, text: &str, at: usize) -> Option<ConfigError> {
        let (before, behind) = text.split_at_checked(at)?;
        let key =
            behind.split(|c: char| c.is_whitespace() || "=,]}".contains(c)).next().filter(|key| !key.is_empty())?;
        let is_key = |part: &str| part.split_once('=').is_some_and(|(name, _)| name.trim() == key);
        let is_there = before.rsplit('\n').next()?.split(['{', ',']).any(is_key);
        let at_once = if is_there { " in the same line" } else { "" };
        let fault = ConfigError::new(format!("{key} is there already{at_once}")).in_place(self.place(at));
        Some(fault.expected("one of both"))
    }

    /// That a string is not closed, or was never opened, and where.
    fn unquoted(&self, text: &str, message: &str, at: usize) -> Option<ConfigError> {
        let before = text.get(..at)?;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let said = |open: usize, problem: String, expected: String| {
            ConfigError::new(format!("not TOML: {problem}")).in_place(self.place(open)).expected(expected)
        };
        if message.contains("multi-line") {
            let mark = if message.contains("basic") { "\"\"\"" } else { "'''" };
            let open = before.rfind(mark)?;
            let problem = format!("nothing closes the text that begins with {mark} here");
            return Some(said(open, problem, format!("{mark} at its end")));
        }
        let line = text.get(start..)?.split('\n').next()?;
        if message.contains("missing opening quote") {
            // From behind what separates values to the quote that has none before it.
            let (word, _) = line.split_once(['"', '\''])?;
            let word = word.rsplit(['=', ',', '[']).next()?.trim();
            return Some(said(
                at,
                format!("{word} has a quotation mark behind it and none before it"),
                format!("{word:?}"),
            ));
        }
        // Where a string was closed too late, something stands right behind it.
        let is_late = message.contains("missing comma") && before.ends_with(['"', '\'']);
        let line = if is_late { without_comment(line, at - start) } else { line };
        let open = start + open_quote(line)?;
        let begun = text.get(open..start + line.len())?.trim_end();
        let quote = begun.chars().next()?;
        if begun.starts_with("\"\"\"") || begun.starts_with("'''") {
            return None;
        }
        // A string that was closed too late leaves what follows without a comma.
        Some(if message.contains("missing comma") {
            let count = quotes(line, quote);
            let problem =
                format!("an odd number of quotation marks in one line, {count}: a string is not closed, or not opened");
            said(at, problem, format!("{quote} on both sides of each string"))
        } else {
            let problem = format!("nothing closes the string that begins here: {begun}");
            said(open, problem, format!("{quote} at its end, in the same line"))
        })
    }

    /// That keys are added to a table that is whole, as it is written between braces, in an earlier line: which, and
    /// where.
    fn closed(&self, text: &str, error: &toml::de::Error, at: usize) -> Option<ConfigError> {
        if !error.message().contains("inline table") {
            return None;
        }
        let (line, _) = self.line(at);
        let words = text.lines().nth(line.checked_sub(1)?)?.trim();
        let name = words.trim_start_matches('[').split([']', '=']).next()?.trim();
        // The longest part of the name that is given between braces somewhere.
        let parts: Vec<&str> = name.split('.').map(str::trim).collect();
        let opened = |name: &str| {
            let is_it = |line: &str| {
                line.split_once('=').is_some_and(|(key, value)| key.trim() == name && value.trim().starts_with('{'))
            };
            text.lines().position(is_it)
        };
        let found = (1..parts.len()).rev().find_map(|count| {
            let name = parts.get(..count)?.join(".");
            Some((opened(&name)?, name))
        });
        let (opened, name) = found?;
        let problem = format!("{name} is whole: it is written between braces in line {}", opened + 1);
        let expected = format!("all of its keys between these, or [{name}] in the place of them");
        Some(ConfigError::new(problem).expected(expected).in_place(self.place(at)))
    }
}

/// `line` without the comment behind `from`, where a string in front of that is not closed: it would seem to end there.
fn without_comment(line: &str, from: usize) -> &str {
    let marks = line.match_indices(" #").map(|(at, _)| at).filter(|at| *at >= from);
    let mut parts = marks.filter_map(|at| line.get(..at)).filter(|part| open_quote(part).is_some());
    parts.next().unwrap_or(line)
}

/// How many strings `quote` begins or ends in `line`: between two of `"` a reverse solidus has the next character stand
/// for itself.
fn quotes(line: &str, quote: char) -> usize {
    let mut escaped = false;
    let is_one = |c: &char| {
        let is_one = *c == quote && !escaped;
        escaped = quote == '"' && *c == '\\' && !escaped;
        is_one
    };
    line.chars().filter(is_one).count()
}

/// Where the string begins that `line` does not close.
fn open_quote(line: &str) -> Option<usize> {
    let (mut open, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match open {
            Some((_, '"')) if escaped => escaped = false,
            Some((_, '"')) if c == '\\' => escaped = true,
            Some((_, quote)) if quote == c => open = None,
            Some(_) => {}
            None if c == '#' => break,
            None if c == '"' || c == '\'' => open = Some((at, c)),
            None => {}
        }
    }
    open.map(|(at, _)| at)
}

/// Where the last bracket before `end` is that is not closed there, and what would close it. Those of lines with the
/// names of tables are closed in the same line.
fn open_bracket(text: &str, end: usize) -> Option<(usize, char)> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let (mut quote, mut comment) = (None, false);
    let mut before = ' ';
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < end) {
        match (quote, c) {
            (_, '\n') => comment = false,
            _ if comment => {}
            (Some(own), _) if own == c && before != '\\' => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => comment = true,
            (None, '[') => open.push((at, ']')),
            (None, '{') => open.push((at, '}')),
            (None, ']' | '}') => drop(open.pop()),
            (None, _) => {}
        }
        before = c;
    }
    open.pop()
}
