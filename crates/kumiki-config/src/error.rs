//! What is wrong with an input file: one message that says where, what, and what would be right.
//!
//! ```text
//! scenarios/x.toml:12: host.sender.tcp.defaults = "bsd44": unknown profile of defaults; did you mean "bsd43"? (one of bsd43, solaris23)
//! ```
//!
//! Whoever finds a fault often knows only the path of the value. [`ConfigError::at`] takes that much;
//! [`Source::locate`](crate::tree::Source::locate) adds the file, the line and the value as it is written there.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use crate::hints;
use crate::quantity::{Invalid, Quantity};
use crate::refusal::{self, Access};
use crate::shown;

/// Something wrong with an input file or with `--set`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError(Box<Parts>);

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Parts {
    file: Option<String>,
    place: Option<ErrorPlace>,
    path: Vec<String>,
    found: Option<String>,
    problem: String,
    expected: Option<String>,
    suggestion: Option<String>,
    /// What would be accepted is a long list. Of keys it says little beside a suggestion; of values it may be what one
    /// is looking for.
    is_long: bool,
    /// All values are right by themselves, and what they make together cannot work.
    is_of_topology: bool,
    /// What of a name is wrong, where that is it.
    of_name: Option<NameFault>,
    /// What else is wrong with the same input.
    others: Vec<ConfigError>,
    /// More than these are wrong with it, which are not told; so many, or 0 where nobody has counted them.
    more: Option<usize>,
}

/// What is wrong with a name that stands for a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameFault {
    /// Nobody has given it.
    Unknown,
    /// Its definition needs itself.
    Circle,
    /// What it stands for is more than can be.
    Bulk,
}

/// How what is said of a key or a setting begins that stands where there is none of its name.
pub const UNKNOWN_KEY: [&str; 2] = ["unknown key ", "unknown setting "];

/// What is said of a key that the kind of its load, say, has no use for.
pub const OF_NO_USE: &str = " has no use for it";

/// More mistakes of one input are not told at once: who has so many starts at another place.
pub const MOST: usize = 8;

/// More names than that are no help to who has a suggestion.
const SHORT: usize = 12;

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErrorPlace {
    /// A line of the file and a column in it, both from 1.
    Line(usize, usize),
    /// A `--set` of the command line, as it was given.
    Set(String),
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    /// A fault of the whole input.
    #[must_use]
    pub fn new(problem: impl Into<String>) -> Self {
        Self(Box::new(Parts { problem: problem.into(), ..Parts::default() }))
    }

    /// A fault of the value at `path`, as in `["host", "a", "tcp", "mss"]`.
    #[must_use]
    pub fn at<S: AsRef<str>>(path: impl IntoIterator<Item = S>, problem: impl Into<String>) -> Self {
        let mut fault = Self::new(problem);
        fault.0.path = path.into_iter().map(|s| s.as_ref().to_owned()).collect();
        fault
    }

    /// A quantity that cannot be read.
    #[must_use]
    pub fn quantity<S: AsRef<str>>(path: impl IntoIterator<Item = S>, invalid: &Invalid) -> Self {
        let mut fault = Self::at(path, invalid.problem.clone()).found(format!("{:?}", invalid.found));
        let is_sum = [" / ", " * ", " + ", " - "].iter().any(|it| invalid.found.contains(it));
        match &invalid.suggestion {
            _ if is_sum => {
                let right = "expected arithmetic within the braces of a name, such as \"${rtt / 2}\"";
                fault.0.expected = Some(right.to_owned());
            }
            Some(suggestion) => fault.0.expected = Some(format!("try {suggestion}")),
            None => fault.0.expected = Some(format!("expected {}", invalid.expected)),
        }
        fault
    }

    /// A name at `path` that is none of `known`: says which there are, and which is nearest.
    #[must_use]
    pub fn unknown<S: AsRef<str>>(
        path: impl IntoIterator<Item = S>,
        what: &str,
        name: &str,
        known: &[impl AsRef<str>],
    ) -> Self {
        let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
        let mut fault = Self::at(path, format!("unknown {what} {name:?}")).one_of(&names);
        fault.0.suggestion = nearest(name, &names).map(|near| format!("{near:?}"));
        fault
    }

    /// That all values are right by themselves, and the network that they make together cannot work.
    #[must_use]
    pub fn of_topology(mut self) -> Self {
        self.0.is_of_topology = true;
        self
    }

    /// That this is what is wrong with a name that stands for a value.
    pub fn of_name(mut self, what: NameFault) -> Self {
        self.0.of_name = Some(what);
        self
    }

    /// Whether that is what is wrong.
    pub fn is_of_name(&self, what: NameFault) -> bool {
        self.0.of_name == Some(what)
    }

    /// Whether all values are right by themselves, and only the network that they make together cannot work: there is
    /// no line or route, say.
    #[must_use]
    pub fn is_of_topology(&self) -> bool {
        self.0.is_of_topology && self.others().iter().all(Self::is_of_topology)
    }

    /// With what would be accepted: `a list of names`.
    #[must_use]
    pub fn expected(mut self, expected: impl fmt::Display) -> Self {
        self.0.expected = Some(format!("expected {expected}"));
        self
    }

    /// With all that would be accepted.
    #[must_use]
    pub fn one_of(mut self, names: &[impl AsRef<str>]) -> Self {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        self.0.is_long = names.len() > SHORT;
        self.0.expected = match names.as_slice() {
            [] => Some("there is none".to_owned()),
            [only] => Some(format!("there is only {only}")),
            _ => Some(format!("one of {}", names.join(", "))),
        };
        self
    }

    /// With what was probably meant.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.0.suggestion = Some(suggestion.into());
        self
    }

    /// With what was probably meant, where that is known.
    pub fn suggest_if(self, suggestion: Option<&str>) -> Self {
        match suggestion {
            Some(suggestion) => self.suggest(format!("{suggestion:?}")),
            None => self,
        }
    }

    /// With more of what is wrong.
    pub fn besides(mut self, more: impl fmt::Display) -> Self {
        self.0.problem.push_str(&more.to_string());
        self
    }

    /// With the value as it is written.
    #[must_use]
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.0.found = Some(found.into());
        self
    }

    /// With what has given the value, where that is known.
    pub fn given_by(mut self, what: &str) -> Self {
        if let Some(found) = &mut self.0.found {
            found.push_str(&format!(" ({what})"));
        }
        self
    }

    /// All of `faults` of one input and what is told with them, each in a line of its own, but no more than [`MOST`];
    /// nothing where there are none.
    #[must_use]
    pub fn all_of(faults: Vec<Self>) -> Option<Self> {
        let mut faults: Vec<Self> = faults.into_iter().flat_map(Self::apart).collect();
        let untold: Vec<usize> = faults.iter_mut().filter_map(|it| it.0.more.take()).collect();
        // Of more than one input, or where these are too many, nobody has counted all.
        let more = match untold.as_slice() {
            [] if faults.len() <= MOST => None,
            [count] if faults.len() <= MOST => Some(*count),
            _ => Some(0),
        };
        faults.truncate(MOST);
        let mut faults = faults.into_iter();
        let mut first = faults.next()?;
        first.0.others = faults.collect();
        first.0.more = more;
        Some(first)
    }

    /// With so many more, which are not told.
    pub fn and_more(mut self, count: usize) -> Self {
        self.0.more = Some(count);
        self
    }

    /// It and what else is wrong with the same input, each by itself; that there is more stays with the first.
    pub fn apart(mut self) -> Vec<Self> {
        let others = core::mem::take(&mut self.0.others);
        core::iter::once(self).chain(others.into_iter().flat_map(Self::apart)).collect()
    }

    /// What else is wrong with the same input.
    #[must_use]
    pub fn others(&self) -> &[Self] {
        &self.0.others
    }

    /// At this path in the place of another one.
    pub fn moved(mut self, path: Vec<String>) -> Self {
        self.0.path = path;
        self
    }

    /// In the item `number` of the list whose own path has `place` keys.
    pub fn in_item(mut self, place: usize, number: usize) -> Self {
        let place = place.min(self.0.path.len());
        self.0.path.splice(place..place, [number.to_string()]);
        self
    }

    /// In this file.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.0.file = Some(file.to_owned());
        self
    }

    /// At this place of the file.
    #[must_use]
    pub fn in_place(mut self, place: ErrorPlace) -> Self {
        self.0.place = Some(place);
        self
    }

    /// At this path, unless it names a file or a path already.
    #[must_use]
    pub fn or_at(mut self, path: &[&str]) -> Self {
        if self.0.file.is_none() && self.0.path.is_empty() {
            self.0.path = path.iter().map(|&part| part.to_owned()).collect();
        }
        self
    }

    /// With `keys` in front of its path, unless it names a file: whoever asked knows where the value stood.
    #[must_use]
    pub fn under(mut self, keys: &[&str]) -> Self {
        if self.0.file.is_none() {
            self.0.path.splice(0..0, keys.iter().map(|&key| key.to_owned()));
        }
        self
    }

    /// The file, once it is known.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The path of the value; empty where the whole input is meant.
    #[must_use]
    pub fn path(&self) -> &[String] {
        &self.0.path
    }

    /// The place, once it is known.
    #[must_use]
    pub const fn place(&self) -> Option<&ErrorPlace> {
        self.0.place.as_ref()
    }

    /// The line, from 1, where the fault is in a file and its place is known.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        match self.place() {
            Some(ErrorPlace::Line(line, _)) => Some(*line),
            Some(ErrorPlace::Set(_)) | None => None,
        }
    }

    /// The line and the column in it, both from 1, where they are known.
    #[must_use]
    pub const fn line_and_column(&self) -> Option<(usize, usize)> {
        match self.place() {
            Some(ErrorPlace::Line(line, column)) => Some((*line, *column)),
            Some(ErrorPlace::Set(_)) | None => None,
        }
    }

    /// What is wrong, with the key and its value but without the place; and what would be right. Of what is long only
    /// the beginning is told.
    #[must_use]
    pub fn words(&self) -> (String, Option<String>) {
        let parts = &*self.0;
        // An empty name is seen in quotes.
        let key = |key: &String| if key.is_empty() { "\"\"".to_owned() } else { shown::begun(key).to_string() };
        let mut what = parts.path.iter().map(key).collect::<Vec<_>>().join(".");
        if let (false, Some(found)) = (what.is_empty(), &parts.found) {
            what.push_str(&format!(" = {}", shown::message(found)));
        }
        if !what.is_empty() {
            what.push_str(": ");
        }
        what.push_str(&shown::message(&parts.problem));
        // What was probably meant comes first: a list of all that there is can be long.
        let [suggestion, expected] = [&parts.suggestion, &parts.expected].map(|it| it.as_deref().map(shown::message));
        let right = match (suggestion, expected) {
            (Some(meant), Some(expected)) if !(parts.is_long && self.is_of_key()) => {
                Some(format!("did you mean {meant}? ({expected})"))
            }
            (Some(meant), _) => Some(format!("did you mean {meant}?")),
            (None, expected) => expected,
        };
        (what, right)
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// Whether the value as it is written is known.
    #[must_use]
    pub const fn has_found(&self) -> bool {
        self.0.found.is_some()
    }

    /// The key that its table lacks, where it says that one is missing.
    pub fn missing(&self) -> Option<&str> {
        self.problem().strip_prefix("the key \"")?.split_once("\" is missing").map(|(key, _)| key)
    }

    /// What was probably meant, where somebody has said so.
    pub fn meant(&self) -> Option<&str> {
        self.0.suggestion.as_deref()
    }

    /// Whether a key or a setting stands where there is none of its name, and nobody has said what was meant.
    pub fn is_unknown_key(&self) -> bool {
        self.is_of_key() && self.meant().is_none()
    }

    fn is_of_key(&self) -> bool {
        UNKNOWN_KEY.iter().any(|it| self.0.problem.starts_with(it))
    }

    /// Whether a key stands where nobody has a use for it, and nobody has said what was meant.
    pub fn is_of_no_use(&self) -> bool {
        self.0.problem.contains(OF_NO_USE) && self.meant().is_none()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &*self.0;
        match (&parts.file, &parts.place) {
            (Some(file), Some(ErrorPlace::Line(line, _))) => write!(f, "{file}:{line}: ")?,
            (None, Some(ErrorPlace::Line(line, _))) => write!(f, "line {line}: ")?,
            (Some(file), Some(ErrorPlace::Set(set))) => write!(f, "--set {} ({file}): ", shown::begun(set))?,
            (None, Some(ErrorPlace::Set(set))) => write!(f, "--set {}: ", shown::begun(set))?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, None) => {}
        }
        let (what, right) = self.words();
        f.write_str(&what)?;
        if let Some(right) = right {
            write!(f, "; {right}")?;
        }
        self.others().iter().try_for_each(|other| write!(f, "\n{other}"))?;
        match parts.more {
            None => Ok(()),
            Some(0) => f.write_str("\nand more, which are told when these are mended"),
            Some(1) => f.write_str("\nand 1 more, which is told when these are mended"),
            Some(count) => write!(f, "\nand {} more, which are told when these are mended", in_thousands(count)),
        }
    }
}

/// A number with commas between its thousands.
fn in_thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Reads a quantity written at `path`.
///
/// # Errors
///
/// [`ConfigError`] with the path, where `text` is not such a quantity.
pub fn quantity<Q: Quantity>(path: &[&str], text: &str) -> Result<Q, ConfigError> {
    crate::quantity::parse(text).map_err(|invalid| ConfigError::quantity(path, &invalid))
}

/// No input file is longer: a device such as `/dev/zero` must not fill the memory.
const LONGEST_FILE: u64 = 16 << 20;

/// The text of an input file.
pub fn read_file(path: &Path) -> Result<String, ConfigError> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LONGEST_FILE + 1).read_to_string(&mut text));
    if u64::try_from(text.len()).is_ok_and(|length| length > LONGEST_FILE) {
        let problem = "longer than 16 MiB, which no input file is";
        return Err(ConfigError::new(problem.to_owned()).in_file(&path.display().to_string()));
    }
    read.map(|_| text)
        .map_err(|why| ConfigError::new(refusal::words(path, &why, Access::Read)).in_file(&path.display().to_string()))
}

/// The name of `known` that `typed` is closest to: equal but for capitals, called so elsewhere, a few slips away, or
/// the only one that begins or ends so.
#[must_use]
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    // Longer texts are no slips of anything, and comparing them would take long.
    if typed.is_empty() || typed.len() > 100 {
        return None;
    }
    let letters = typed.chars().count();
    let exact = known.iter().find(|name| name.eq_ignore_ascii_case(typed)).copied();
    let slips = || {
        let distances = known.iter().map(|name| (strsim::osa_distance(name, typed), *name));
        let near = distances.filter(|(distance, name)| {
            // Where all letters differ it is another name.
            (*distance < letters || name.starts_with(typed)) && *distance <= (name.chars().count() / 3).clamp(1, 3)
        });
        // Of those that are as near, the one that begins as it was typed.
        let begins = |name: &str| typed.chars().zip(name.chars()).take_while(|(one, other)| one == other).count();
        near.min_by_key(|(distance, name)| (*distance, core::cmp::Reverse(begins(name)))).map(|(_, name)| name)
    };
    exact
        .or_else(|| hints::also_called(typed, known))
        .or_else(|| hints::member(typed, known))
        .or_else(slips)
        .or_else(|| hints::nearly_called(typed, known))
        .or_else(|| hints::longer(typed, known))
        .or_else(|| hints::shorter(typed, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_mistakes_of_a_topology_are_of_it_as_few_are() {
        for count in [1, MOST, MOST + 1, 12] {
            let of = |others: ConfigError| {
                let faults = (1..count).map(|number| ConfigError::new(format!("{number}")).of_topology());
                ConfigError::all_of(faults.chain([others]).collect()).unwrap()
            };
            assert!(of(ConfigError::new("x").of_topology()).is_of_topology(), "{count}");
            let told = of(ConfigError::new("x").of_topology()).to_string();
            assert_eq!(
                (told.lines().count(), told.contains("and more")),
                (count.min(MOST + 1), count > MOST),
                "{told}"
            );
        }
        let both = vec![ConfigError::new("x").of_topology(), ConfigError::new("y")];
        assert!(!ConfigError::all_of(both).unwrap().is_of_topology());
    }

    #[test]
    fn what_is_told_with_others_is_told_of_each() {
        let several = |count: usize| {
            ConfigError::all_of((0..count).map(|it| ConfigError::new(format!("{it}"))).collect()).unwrap()
        };
        let all = ConfigError::all_of(vec![several(3), several(3)]).unwrap().to_string();
        assert_eq!(all, "0\n1\n2\n0\n1\n2");
        let more = ConfigError::all_of(vec![several(2), several(12)]).unwrap().to_string();
        assert_eq!(more, "0\n1\n0\n1\n2\n3\n4\n5\nand more, which are told when these are mended");
    }
}
