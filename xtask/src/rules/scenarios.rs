//! Scenarios can be read before a program runs them.
//!
//! | Rule | Says |
//! |---|---|
//! | scenario | every `.toml` below `scenarios/` is TOML; what the keys mean is judged by `kumiki-lab` |

use crate::finding::Finding;
use crate::tree::Tree;

/// Parses every scenario.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts(".toml").filter(|(file, _)| file.starts_with("scenarios/")) {
        if let Err(why) = text.parse::<toml::Table>() {
            let line = why.span().map_or(0, |span| super::line_of(text, span.start));
            findings.push(Finding::new("scenario", file, line, why.message(), "TOML 1.0"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_mistake_is_named() {
        let findings = check(&Tree::of(&[("scenarios/a.toml", "title = \"a\"\n[host.a\n")]));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_good_scenario_passes() {
        assert!(check(&Tree::of(&[("scenarios/paper3/a.toml", "title = \"a\"\n")])).is_empty());
    }
}
