//! Which host or switch sends in each direction of the lines of a result: rows call the directions by letters.

use std::collections::{BTreeMap, BTreeSet};

use crate::scenario::directions::{Ends, lettered, sending};

/// The lines of the scenarios of a result, as each has them at its first point.
#[derive(Clone, Debug, Default)]
pub(super) struct Directions(Vec<BTreeMap<String, Ends>>);

impl Directions {
    /// Those of `scenarios`.
    pub(super) fn of(scenarios: &[toml::Table]) -> Self {
        let ends = |link: &toml::Value| {
            let ends = link.get("ends")?.as_array()?.iter().map(|end| end.as_str().map(str::to_owned));
            Ends::try_from(ends.collect::<Option<Vec<_>>>()?).ok()
        };
        let lines = |scenario: &toml::Table| {
            let links = scenario.get("link").and_then(toml::Value::as_table).into_iter().flatten();
            links.filter_map(|(name, link)| Some((name.clone(), ends(link)?))).collect()
        };
        Self(scenarios.iter().map(lines).collect())
    }

    /// What rows call the value `wanted`, which has a host or a switch in the place of a letter, where such a value
    /// `is_there`; nothing where scenarios do not agree on that.
    pub(super) fn lettered(&self, wanted: &str, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let names = self.0.iter().filter_map(|lines| lettered(wanted, &|line| lines.get(line)));
        let names: BTreeSet<String> = names.filter(|name| is_there(name)).collect();
        let [name] = <[String; 1]>::try_from(names.into_iter().collect::<Vec<_>>()).ok()?;
        Some(name)
    }

    /// The queue `queue` by who sends into it, where `lettered` finds it by that.
    pub(super) fn sending(&self, queue: &str) -> Option<String> {
        let names = self.0.iter().filter_map(|lines| sending(queue, |line| lines.get(line)));
        let mut names: Vec<String> = names.collect();
        names.dedup();
        let [name] = <[String; 1]>::try_from(names).ok()?;
        Some(name)
    }
}
