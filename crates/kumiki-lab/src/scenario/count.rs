//! How many points there are, before any is made.

use super::ConfigError;
use super::ScenarioKeys;
use super::load::{Document, holds, section_list, too_many};
use super::vary::product;
use kumiki_config::tree::{Node, Source};

impl Document {
    /// How many points it has, less those that are skipped. They are neither made nor checked, which takes a thousand
    /// times as long.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] of what is varied or skipped.
    pub fn count(&self) -> Result<usize, ConfigError> {
        let source = Source { keys: &ScenarioKeys, ..Source::new(self.file(), self.root()) };
        let axes = self.axes(&source)?;
        let skips = section_list(&source, "skip")?;
        let all = product(&axes).ok_or_else(|| source.locate(too_many()))?;
        let is_left = |combination: &Vec<(String, Node)>| {
            let varied: Vec<(String, toml::Value)> =
                combination.iter().map(|(name, node)| (name.clone(), node.to_toml())).collect();
            !skips.iter().any(|skip| holds(skip, &varied))
        };
        Ok(if skips.is_empty() { all.len() } else { all.iter().filter(|combination| is_left(combination)).count() })
    }
}
