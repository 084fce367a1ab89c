//! Every package that the workspace builds on may be used under a licence that `deny.toml` allows.
//!
//! | Rule | Says |
//! |---|---|
//! | licence | the SPDX expression of a package can be met from `licenses.allow` in `deny.toml` |
//!
//! Left out: the packages of other platforms, advisories and sources. `cargo deny check` judges those; this rule is the
//! part of it that costs nothing and needs no network.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::finding::Finding;
use crate::tree::Tree;

const FILE: &str = "deny.toml";
const RULE: &str = "licence";

/// Judges `packages`, one `name version<TAB>licence` per line.
pub(crate) fn check(tree: &Tree, packages: &str) -> Vec<Finding> {
    let allowed = tree.text(FILE).and_then(|text| text.parse::<Table>().ok());
    let allowed = allowed.as_ref().and_then(|table| table.get("licenses")?.get("allow")?.as_array());
    let Some(allowed) = allowed else {
        return vec![Finding::new(RULE, FILE, 0, "no list of allowed licences", "[licenses] allow = [\"MIT\", ...]")];
    };
    let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
    let lines: BTreeSet<&str> = packages.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut findings = Vec::new();
    for line in lines {
        // cargo tree marks so what it has shown above.
        let line = line.trim_end_matches(" (*)");
        let (package, licence) = line.split_once('\t').unwrap_or((line, ""));
        if !is_met(licence, &allowed) {
            let what = format!("{package} has the licence \"{licence}\"");
            findings.push(Finding::new(RULE, "Cargo.lock", 0, what, format!("one of {}", allowed.join(", "))));
        }
    }
    findings
}

/// Whether an SPDX expression (or the older form with `/` for OR) can be met with the allowed licences.
fn is_met(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    matches!(any_of(&words, allowed), Some((true, [])))
}

/// `all_of { OR all_of }`: whether it is met, and the words after it; `None` where it is no expression.
fn any_of<'w>(words: &'w [&'w str], allowed: &[&str]) -> Option<(bool, &'w [&'w str])> {
    let (mut met, mut rest) = all_of(words, allowed)?;
    while let ["OR", after @ ..] = rest {
        let (next, after) = all_of(after, allowed)?;
        met |= next;
        rest = after;
    }
    Some((met, rest))
}

/// `one { AND one }`.
fn all_of<'w>(words: &'w [&'w str], allowed: &[&str]) -> Option<(bool, &'w [&'w str])> {
    let (mut met, mut rest) = one(words, allowed)?;
    while let ["AND", after @ ..] = rest {
        let (next, after) = one(after, allowed)?;
        met &= next;
        rest = after;
    }
    Some((met, rest))
}

/// A licence, a licence WITH an exception, or an expression in parentheses.
fn one<'w>(words: &'w [&'w str], allowed: &[&str]) -> Option<(bool, &'w [&'w str])> {
    match words {
        ["(", inner @ ..] => match any_of(inner, allowed)? {
            (met, [")", rest @ ..]) => Some((met, rest)),
            _ => None,
        },
        // An exception only gives further permissions.
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => Some((allowed.contains(licence), rest)),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOW: (&str, &str) = (FILE, "[licenses]\nallow = [\"MIT\", \"Apache-2.0\", \"Unicode-3.0\"]\n");

    #[test]
    fn an_expression_is_met_as_spdx_says() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
        for good in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "GPL-2.0-only OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-2.0-only) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR MPL-2.0",
        ] {
            assert!(is_met(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT", "MIT MIT", "MPL-2.0 OR MIT AND GPL-2.0-only"] {
            assert!(!is_met(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn a_licence_outside_the_list_is_found_once() {
        let findings = check(&Tree::of(&[ALLOW]), "a v1\tMIT\nb v2\tGPL-3.0-only\nb v2\tGPL-3.0-only\n\nc v3\t\n");
        assert_eq!(findings.len(), 2, "{findings:?}");
    }

    #[test]
    fn the_list_must_exist() {
        assert_eq!(check(&Tree::default(), "").len(), 1);
    }
}
