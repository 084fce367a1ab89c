//! What settings look like.

use std::fmt;

use kumiki_graph::Duration;

/// A setting, for lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its name, from the outermost table in. A part in angle brackets stands for any name.
    pub path: Vec<String>,
    /// What its value looks like.
    pub form: ValueFormat,
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
pub enum ValueFormat {
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
    /// A rate in bits per second.
    Rate {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A part of a whole, such as a chance.
    Share,
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
impl fmt::Display for ValueFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("true or false"),
            Self::Number { least, most } => write!(f, "a number from {least} to {most}"),
            Self::Octets { least, most } => {
                write!(f, "a size from {} to {}", Size(*least), Size(*most))
            }
            Self::Rate { least, most } => write!(f, "a rate from {} to {}", Bits(*least), Bits(*most)),
            Self::Share => f.write_str("a share from 0 % to 100 %"),
            Self::Time { least } if least.is_zero() => f.write_str("a time"),
            Self::Time { least } => write!(f, "a time of at least {least}"),
            Self::Word(words) => {
                // A number among them is one, with or without quotes.
                let is_number = |word: &str| word.bytes().all(|octet| octet.is_ascii_digit());
                let shown = |word: &&str| if is_number(word) { (*word).to_owned() } else { format!("\"{word}\"") };
                let words: Vec<String> = words.iter().map(shown).collect();
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

/// Bits per second, in the largest unit of which they are a whole number.
pub(crate) struct Bits(pub(crate) u64);

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal(
            f,
            self.0,
            &[(1_000_000_000_000, "Tb/s"), (1_000_000_000, "Gb/s"), (1_000_000, "Mb/s"), (1_000, "kb/s"), (1, "b/s")],
        )
    }
}

/// Parts of 10^12, in the largest unit of which they are a whole number.
pub(crate) struct Part(pub(crate) u64);

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0 %"),
            parts => decimal(f, parts, &[(10_000_000_000, "%"), (1_000_000, "ppm"), (1_000, "ppb")]),
        }
    }
}

/// `number` in the first of `units` of which it is a whole number, otherwise in the last one, with a point.
fn decimal(f: &mut fmt::Formatter<'_>, number: u64, units: &[(u64, &str)]) -> fmt::Result {
    let of = |worth: u64| (number.checked_div(worth).unwrap_or(0), number.checked_rem(worth).unwrap_or(0));
    let mut whole = units.iter().filter(|(worth, _)| number > 0 && of(*worth).1 == 0);
    match (whole.next(), units.last()) {
        (Some((worth, unit)), _) => write!(f, "{} {unit}", of(*worth).0),
        (None, Some((worth, unit))) => {
            let (number, rest) = of(*worth);
            if rest == 0 { write!(f, "{number} {unit}") } else { write!(f, "{number}.{rest:03} {unit}") }
        }
        (None, None) => write!(f, "{number}"),
    }
}
