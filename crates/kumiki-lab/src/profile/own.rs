//! Prices that a scenario has in the place of those of a profile: what if a copy were free?

use std::collections::BTreeMap;

use kumiki_graph::Work;

use super::load::Picoseconds;
use super::{Profile, Sourced};
use crate::scenario::{ConfigError, Host};
use kumiki_config::quantity::parse;

impl Profile {
    /// With what `host` has of its own.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], whose path begins at the host's keys, where that is of a node or of work that there is not,
    /// or no price.
    pub fn with_prices_of(&self, host: &Host) -> Result<Self, ConfigError> {
        let nodes = host.graph.as_ref().map(crate::scenario::Graph::nodes).unwrap_or_default();
        let works = Work::ALL.map(Work::name);
        let mut profile = self.clone();
        for (node, prices) in &host.prices {
            if !nodes.contains(&node.as_str()) {
                return Err(ConfigError::unknown(["prices", node], "node", node, &nodes));
            }
            // What a node has of its own stands in the place of all that its kind has.
            let kind = host.kind_of(node);
            let list = || profile.price.get(kind).cloned().unwrap_or_default();
            let mut own: BTreeMap<String, Sourced> = profile.price.get(node).cloned().unwrap_or_else(list);
            for (work, price) in prices {
                if !works.contains(&work.as_str()) {
                    return Err(ConfigError::unknown(["prices", node, work], "kind of work", work, &works));
                }
                parse::<Picoseconds>(price)
                    .map_err(|invalid| ConfigError::quantity(["prices", node, work], &invalid))?;
                own.insert(work.clone(), Sourced { value: price.clone(), from: "the scenario".to_owned() });
            }
            // Others of the kind by whose name this one goes keep what they had.
            for other in nodes.iter().filter(|other| **other != node && host.kind_of(other) == node.as_str()) {
                if let Some(list) = self.price.get(node).filter(|_| !self.price.contains_key(*other)) {
                    profile.price.entry((*other).to_owned()).or_insert_with(|| list.clone());
                }
            }
            profile.price.insert(node.clone(), own);
        }
        Ok(profile)
    }
}
