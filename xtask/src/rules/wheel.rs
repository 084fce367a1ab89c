//! The package for Python is built of what the tests of the workspace have built.
//!
//! | Rule | Says |
//! |---|---|
//! | wheel | each package that `kumiki-python` alone builds on has the features that it has in a build of the whole workspace |
//!
//! Where one differs, all that stands on it is built a second time: 220 s of CPU when hyper first asked for a feature
//! of smallvec.

use std::collections::BTreeSet;

use crate::finding::Finding;

const FILE: &str = "crates/kumiki-python/Cargo.toml";
const RULE: &str = "wheel";

/// Judges what `workspace` and `wheel` are built of, one `name version<TAB>features` per line.
pub(crate) fn check(workspace: &str, wheel: &str) -> Vec<Finding> {
    let whole: BTreeSet<&str> = packages(workspace).collect();
    let others: BTreeSet<&str> = packages(wheel).filter(|line| !whole.contains(line)).collect();
    let finding = |line: &&str| {
        let (package, features) = line.split_once('\t').unwrap_or((line, ""));
        let in_whole = |it: &&&str| it.split_once('\t').is_some_and(|(name, _)| name == package);
        let wanted: Vec<&str> = whole.iter().filter(in_whole).filter_map(|it| Some(it.split_once('\t')?.1)).collect();
        let what = format!("{package} is built with the features \"{features}\" here alone");
        Finding::new(
            RULE,
            FILE,
            0,
            what,
            format!("ask here for those of the workspace: \"{}\"", wanted.join("\" or \"")),
        )
    };
    others.iter().map(finding).collect()
}

fn packages(lines: &str) -> impl Iterator<Item = &str> {
    // cargo tree marks so what it has shown above.
    lines.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_feature_that_only_the_workspace_asks_for_is_named() {
        let workspace = "smallvec v1.16.5\tconst_generics\nmemchr v2.8.3\tstd (*)\nmemchr v2.8.3\tstd\n";
        assert!(check(workspace, "memchr v2.8.3\tstd\n").is_empty());
        let findings = check(workspace, "memchr v2.8.3\tstd\nsmallvec v1.16.5\t\n");
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        assert!(finding.what.contains("smallvec") && finding.right.contains("const_generics"), "{finding}");
    }
}
