//! Who reads what: every dissector, found by the numbers that it claims or by its name.

use std::collections::BTreeMap;

use crate::key::Key;
use crate::protocol;
use crate::reading::Reading;

/// One protocol: what it is called, where it is found, and how it is read.
#[derive(Debug)]
pub struct Dissector {
    /// Its name in `--as` and in JSON: lower case, with hyphens.
    pub name: &'static str,
    /// What it is, for the list of names.
    pub title: &'static str,
    /// The numbers by which other protocols and captures name it.
    pub claims: &'static [Key],
    /// Reads one PDU: fields, remarks, and what follows.
    pub dissect: fn(&mut Reading<'_>),
}

/// All dissectors, by key and by name.
#[derive(Debug)]
pub struct Registry {
    by_key: BTreeMap<Key, &'static Dissector>,
}

impl Registry {
    /// Those of [`protocol::ALL`].
    #[must_use]
    pub fn new() -> Self {
        let claims = protocol::ALL.iter().flat_map(|one| one.claims.iter().map(move |key| (*key, *one)));
        let names = protocol::ALL.iter().map(|one| (Key::Named(one.name), *one));
        Self { by_key: claims.chain(names).collect() }
    }

    /// The first of `keys` that somebody claims.
    #[must_use]
    pub fn find(&self, keys: &[Key]) -> Option<&'static Dissector> {
        keys.iter().find_map(|key| self.by_key.get(key).copied())
    }

    /// The dissector of this name.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&'static Dissector> {
        self.all().find(|one| one.name == name)
    }

    /// Every dissector, in the order of [`protocol::ALL`].
    pub fn all(&self) -> impl Iterator<Item = &'static Dissector> {
        protocol::ALL.iter().copied()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_dissectors_claim_the_same_number_or_name() {
        let claims: usize = protocol::ALL.iter().map(|one| one.claims.len() + 1).sum();
        assert_eq!(Registry::new().by_key.len(), claims);
    }

    #[test]
    fn names_are_words_that_can_be_typed() {
        for one in protocol::ALL {
            let typed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(one.name.chars().all(typed), "{}", one.name);
        }
    }
}
