//! Tables of a scenario that its points have in memory once where they are the same.

use std::collections::BTreeMap;
use std::collections::btree_map::Iter;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer};

/// What a scenario has by name, such as its hosts. Clones share it until one of them is changed: a sweep has many
/// points, and what varies is in few of their tables.
#[derive(Debug)]
pub struct Tables<T>(Arc<BTreeMap<String, T>>);

impl<T: PartialEq> Tables<T> {
    /// Shares `earlier` where that is the same.
    pub(super) fn share(&mut self, earlier: &Self) {
        if self == earlier {
            *self = earlier.clone();
        }
    }
}

impl<T: PartialEq> PartialEq for Tables<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T> Clone for Tables<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Tables<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Deref for Tables<T> {
    type Target = BTreeMap<String, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: Clone> DerefMut for Tables<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl<'a, T> IntoIterator for &'a Tables<T> {
    type Item = (&'a String, &'a T);
    type IntoIter = Iter<'a, String, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Tables<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(from).map(|tables| Self(Arc::new(tables)))
    }
}
