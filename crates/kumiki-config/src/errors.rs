//! The mistakes of one file while it is read.

use std::collections::BTreeMap;

use crate::ConfigError;
use crate::error::MOST;

/// A line and a column, both from 1; of the whole file nothing.
type FilePosition = Option<(usize, usize)>;

/// The first mistakes of a file, in the order of its lines: one more than are told, so that it is known that there are
/// more. However many there are, no more are kept.
#[derive(Clone, Debug, Default)]
pub struct ConfigErrors {
    /// With their numbers, since there may be several at one place.
    kept: BTreeMap<(FilePosition, usize), ConfigError>,
    added: usize,
}

impl ConfigErrors {
    /// Adds what is wrong at the place that it has.
    pub fn push(&mut self, fault: ConfigError) {
        self.push_at(fault.line_and_column(), || fault);
    }

    /// Adds what is wrong `at` a place, which is put into words only where it is one of the first.
    pub fn push_at(&mut self, at: FilePosition, fault: impl FnOnce() -> ConfigError) {
        let key = (at, self.added);
        self.added = self.added.saturating_add(1);
        if self.kept.len() > MOST {
            if self.kept.last_key_value().is_some_and(|(last, _)| *last < key) {
                return;
            }
            self.kept.pop_last();
        }
        self.kept.insert(key, fault());
    }

    /// Whether nothing is wrong.
    pub const fn is_empty(&self) -> bool {
        self.added == 0
    }

    /// All of them; nothing where there are none.
    pub fn all(self) -> Option<ConfigError> {
        let more = self.added.saturating_sub(MOST);
        let all = ConfigError::all_of(self.kept.into_values().take(MOST).collect())?;
        Some(if more > 0 { all.and_more(more) } else { all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorPlace;

    #[test]
    fn the_first_are_kept_wherever_they_stand_and_no_others_are_put_into_words() {
        let mut faults = ConfigErrors::default();
        let mut words = 0;
        for line in (1..=20).rev().chain(1..=100_000) {
            faults.push_at(Some((line, 1)), || {
                words += 1;
                ConfigError::new(format!("line {line}"))
            });
        }
        assert_eq!((faults.kept.len(), words), (MOST + 1, 20 + 4));
        faults.push(ConfigError::new("whole"));
        faults.push(ConfigError::new("line 0").in_place(ErrorPlace::Line(1, 0)));
        let told = faults.all().unwrap().to_string();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines[..4], ["whole", "line 1: line 0", "line 1", "line 1"]);
        assert_eq!(lines[MOST], "and 100,014 more, which are told when these are mended");
        assert!(ConfigErrors::default().all().is_none() && ConfigErrors::default().is_empty());
    }
}
