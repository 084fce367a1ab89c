//! What settings look like.

use std::fmt;

use kumiki_graph::Duration;

/// A setting, for lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its name, from the outermost table in. A part in angle brackets stands for any name.
    pub path: Vec<String>,
    /// What its value looks like.
    pub form: Form,
    /// What it means.
    pub meaning: &'static str,
    /// Its value where it is not set; empty where there is none.
    pub default: String,
}

impl Setting {
    /// Whether this is the setting at `path`.
    #[must_use]
    pub fn is_at(&self, path: &[&str]) -> bool {
        let pairs = self.path.iter().zip(path);
        self.path.len() == path.len() && pairs.into_iter().all(|(own, part)| own == part || own.starts_with('<'))
    }
}

/// One line of a list.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, form, meaning, default } = self;
        write!(f, "`{}`: {form}. {meaning} Default: {default}", path.join("."))
    }
}

/// What a value looks like, and its unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// Yes or no.
    Boolean,
    /// A number without a unit.
    Number {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A size in octets.
    Octets {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A time.
    Time {
        /// The shortest.
        least: Duration,
    },
    /// One of these words.
    Word(Vec<&'static str>),
    /// Text, as said here.
    Text(&'static str),
    /// A list of texts, each as said here.
    List(&'static str),
}

/// What is expected, in words: `a size, 1 B to 65535 B`.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("true or false"),
            Self::Number { least, most } => write!(f, "a number from {least} to {most}"),
            Self::Octets { least, most } => {
                write!(f, "a size from {} to {}", Size(*least), Size(*most))
            }
            Self::Time { least } if least.is_zero() => f.write_str("a time"),
            Self::Time { least } => write!(f, "a time of at least {least}"),
            Self::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                f.write_str(&words.join(" or "))
            }
            Self::Text(what) => f.write_str(what),
            Self::List(what) => write!(f, "a list, each {what}"),
        }
    }
}

/// Octets, in the largest unit that has a whole number of them.
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0 B"),
            n if n.is_multiple_of(1 << 30) => write!(f, "{} GiB", n >> 30),
            n if n.is_multiple_of(1 << 20) => write!(f, "{} MiB", n >> 20),
            n if n.is_multiple_of(1 << 10) => write!(f, "{} KiB", n >> 10),
            n => write!(f, "{n} B"),
        }
    }
}
