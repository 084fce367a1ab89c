//! What is wrong with settings.

use std::fmt;

/// Why nothing can be built from settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildError {
    /// The kind of what was to be built, such as a protocol.
    pub kind: String,
    /// The setting, from the outermost table in; empty where the whole is meant.
    pub path: Vec<String>,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// There is no such kind; these there are.
    UnknownKind(Vec<&'static str>),
    /// There is no such setting; these there are.
    UnknownKey(Vec<&'static str>),
    /// A setting that must be there is not.
    Missing {
        /// What it must be.
        expected: String,
    },
    /// A value of the wrong type, or one that cannot be.
    Value {
        /// The value.
        found: String,
        /// What it must be.
        expected: String,
    },
    /// A word that is none of those known.
    Word {
        /// The word.
        found: String,
        /// All words.
        known: Vec<&'static str>,
    },
    /// Each setting is in order, and together they cannot be: in the words of what they are for.
    Refused(String),
}

impl std::error::Error for BuildError {}

impl BuildError {
    pub(crate) fn new(path: Vec<String>, problem: Problem) -> Self {
        Self { kind: String::new(), path, problem }
    }

    /// The settings are refused by what they are for, as they stand together.
    #[must_use]
    pub fn refused(why: &impl ToString) -> Self {
        Self::new(Vec::new(), Problem::Refused(why.to_string()))
    }

    /// There is no protocol `kind`.
    #[must_use]
    pub fn unknown_kind(kind: &str, known: Vec<&'static str>) -> Self {
        Self::new(Vec::new(), Problem::UnknownKind(known)).of(kind)
    }

    pub(crate) fn of(mut self, kind: &str) -> Self {
        kind.clone_into(&mut self.kind);
        self
    }

    /// Whether it is about the table at `path` as it stands, and none further in: all of its settings have been asked
    /// for.
    pub(crate) fn is_about_the_whole(&self, path: &[String]) -> bool {
        match self.problem {
            Problem::Missing { .. } => self.path.split_last().is_some_and(|(_, table)| table == path),
            Problem::Refused(_) => true,
            Problem::UnknownKind(_) | Problem::UnknownKey(_) | Problem::Value { .. } | Problem::Word { .. } => false,
        }
    }

    fn last(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, path, problem } = self;
        let parts: Vec<&str> = std::iter::once(kind.as_str()).chain(path.iter().map(String::as_str)).collect();
        let at = parts.join(".");
        match problem {
            Problem::UnknownKind(known) => {
                write!(f, "there is no protocol `{kind}`")?;
                write!(f, "{}; there are {}", meant(kind, known), list(known))
            }
            Problem::UnknownKey(known) => {
                let key = self.last();
                let table = parts.split_last().map_or_else(String::new, |(_, table)| table.join("."));
                write!(f, "`{table}` has no setting `{key}`")?;
                write!(f, "{}; it has {}", meant(key, known), list(known))
            }
            Problem::Missing { expected } => write!(f, "`{at}` is not set; it must be {expected}"),
            Problem::Value { found, expected } => {
                write!(f, "`{at}` is {found}; it must be {expected}")
            }
            Problem::Word { found, known } => {
                write!(f, "`{at}` is \"{found}\"")?;
                write!(f, "{}; it must be one of {}", meant(found, known), list(known))
            }
            Problem::Refused(why) => write!(f, "`{at}`: {why}"),
        }
    }
}

/// The name among `known` that is most like `found`, if one is much like it.
fn meant(found: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|name| (strsim::osa_distance(found, name), *name))
        .min()
        .filter(|&(distance, name)| distance <= 1 + name.len() / 4);
    nearest.map_or_else(String::new, |(_, name)| format!(" (is `{name}` meant?)"))
}

fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
}
