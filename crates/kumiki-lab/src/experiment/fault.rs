//! What is wrong with an experiment, and where in its file.

use core::fmt;

use crate::quantity::{self, Quantity};

/// Something in a scenario or profile that cannot be, named by the path of its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The keys from the top of the file down: `host`, `sender`, `tcp`, `mss`.
    pub path: Vec<String>,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl Fault {
    /// At `path`: `problem`.
    #[must_use]
    pub fn new(path: &[&str], problem: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|&key| key.to_owned()).collect(),
            problem: problem.into(),
        }
    }

    /// The same problem, with `keys` in front of its path.
    #[must_use]
    pub fn under(mut self, keys: &[&str]) -> Self {
        self.path.splice(0..0, keys.iter().map(|&key| key.to_owned()));
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.join("."), self.problem)
    }
}

impl core::error::Error for Fault {}

/// The quantity that `text` at `path` stands for.
///
/// # Errors
/// A [`Fault`] that says what was found and what is accepted.
pub fn quantity<Q: Quantity>(path: &[&str], text: &str) -> Result<Q, Fault> {
    quantity::parse(text).map_err(|invalid| {
        let key = path.last().copied().unwrap_or_default();
        Fault::new(path, invalid.at(key))
    })
}

/// `found` is none of `known`: says so, and which of them it is nearest to.
#[must_use]
pub fn unknown(path: &[&str], what: &str, found: &str, known: &[&str]) -> Fault {
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(found, name), *name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(3) / 2)
        .map(|(_, name)| format!("; did you mean \"{name}\"?"))
        .unwrap_or_default();
    Fault::new(
        path,
        format!("unknown {what} \"{found}\"; one of {}{nearest}", known.join(", ")),
    )
}
