//! `xtask/tidy-exceptions.toml`: which finding is accepted, and why.
//!
//! An exception names a rule and a file and gives a reason; one that excuses nothing is itself a finding.

use crate::finding::Finding;
use crate::tree::Tree;

const FILE: &str = "xtask/tidy-exceptions.toml";
const RULE: &str = "exceptions";
const FORM: &str = "[[except]] with rule, file and reason, each a string that is not empty";

/// Rules that hold everywhere: the workspace would not be what ARCHITECTURE.md says without them.
const ABSOLUTE: [&str; 3] = ["direction", "lints", "unsafe"];

/// Takes the excused findings out and adds what is wrong with the list of exceptions.
pub(crate) fn apply(tree: &Tree, mut findings: Vec<Finding>) -> Vec<Finding> {
    let Some(text) = tree.text(FILE) else {
        return findings;
    };
    let list = match text.parse::<toml::Table>() {
        Ok(list) => list,
        Err(why) => {
            let line = why.span().map_or(0, |span| super::line_of(text, span.start));
            findings.push(Finding::new(RULE, FILE, line, why.message(), "TOML"));
            return findings;
        }
    };
    let mut wrong = Vec::new();
    for key in list.keys().filter(|key| *key != "except") {
        wrong.push(Finding::new(RULE, FILE, 0, format!("unknown key \"{key}\""), FORM));
    }
    for entry in list.get("except").and_then(toml::Value::as_array).into_iter().flatten() {
        let value = |key| entry.get(key).and_then(toml::Value::as_str).filter(|value| !value.trim().is_empty());
        let (Some(rule), Some(file), Some(_reason)) = (value("rule"), value("file"), value("reason")) else {
            wrong.push(Finding::new(RULE, FILE, 0, format!("incomplete entry: {entry}"), FORM));
            continue;
        };
        if ABSOLUTE.contains(&rule) {
            wrong.push(Finding::new(
                RULE,
                FILE,
                0,
                format!("an exception to \"{rule}\" for {file}"),
                "this rule takes none: change the file",
            ));
            continue;
        }
        let before = findings.len();
        findings.retain(|finding| finding.rule != rule || finding.file != file);
        if findings.len() == before {
            wrong.push(Finding::new(
                RULE,
                FILE,
                0,
                format!("the exception to \"{rule}\" for {file} excuses nothing"),
                "take the entry out",
            ));
        }
    }
    findings.extend(wrong);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(file: &str) -> Finding {
        Finding::new("size", file, 0, "long", "short")
    }

    fn exceptions(text: &str) -> Tree {
        Tree::of(&[(FILE, text)])
    }

    #[test]
    fn a_reason_excuses_one_rule_in_one_file() {
        let tree = exceptions("[[except]]\nrule = 'size'\nfile = 'a.rs'\nreason = 'a table'\n");
        assert_eq!(apply(&tree, vec![size("a.rs"), size("b.rs")]), [size("b.rs")]);
    }

    #[test]
    fn an_exception_without_a_reason_excuses_nothing() {
        let tree = exceptions("[[except]]\nrule = 'size'\nfile = 'a.rs'\nreason = ' '\n");
        assert_eq!(apply(&tree, vec![size("a.rs")]).len(), 2);
    }

    #[test]
    fn a_stale_exception_is_a_finding() {
        let tree = exceptions("[[except]]\nrule = 'size'\nfile = 'a.rs'\nreason = 'a table'\n");
        let left = apply(&tree, Vec::new());
        assert!(left.iter().any(|finding| finding.what.contains("excuses nothing")), "{left:?}");
    }

    #[test]
    fn an_absolute_rule_takes_no_exception() {
        let tree = exceptions("[[except]]\nrule = 'unsafe'\nfile = 'a.rs'\nreason = 'faster'\n");
        let found = Finding::new("unsafe", "a.rs", 1, "unsafe", "none");
        assert_eq!(apply(&tree, vec![found]).len(), 2);
    }

    #[test]
    fn a_list_that_is_not_toml_is_a_finding() {
        assert_eq!(apply(&exceptions("[[except]\n"), Vec::new()).len(), 1);
        assert_eq!(apply(&exceptions("[[excuse]]\n"), Vec::new()).len(), 1);
    }
}
