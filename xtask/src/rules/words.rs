//! Words that no text file of the repository may hold.
//!
//! | Rule | Says |
//! |---|---|
//! | unfinished | no mark of unfinished work |
//! | machine-path | no path of one machine, outside tests and captures |

use crate::finding::Finding;
use crate::rust::{has_word, is_test_file, without_tests};
use crate::tree::Tree;

// Written in two halves so that this file passes its own rule.
const UNFINISHED: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];
const MACHINE_PATHS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/t", "mp/")];

/// Reads every text file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts("") {
        for (number, line) in (1..).zip(text.lines()) {
            for word in UNFINISHED.into_iter().filter(|word| has_word(line, word)) {
                let right = "finish it, or say under \"Left out\" what is missing and why";
                findings.push(Finding::new("unfinished", file, number, format!("\"{word}\""), right));
            }
        }
        // What a test or a foreign peer's octets name is theirs.
        if is_test_file(file) || file.starts_with("captures/") {
            continue;
        }
        for (number, line) in (1..).zip(without_tests(text).lines()) {
            for path in MACHINE_PATHS.into_iter().filter(|path| starts_path(line, path)) {
                let right = "a path from the root of the repository, or one that the user gives";
                findings.push(Finding::new("machine-path", file, number, format!("\"{path}\""), right));
            }
        }
    }
    findings
}

/// Whether an absolute path in `line` starts with `prefix`; the same folder name inside a longer path does not count.
fn starts_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        let before = line.get(..at).and_then(|s| s.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "_-./~$}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(file: &str, text: &str) -> Vec<&'static str> {
        check(&Tree::of(&[(file, text)])).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn unfinished_work_is_found_everywhere() {
        for word in UNFINISHED {
            assert_eq!(rules("docs/a.md", &format!("text {word}: later")), ["unfinished"]);
            assert!(rules("docs/a.md", &format!("A{word}B")).is_empty());
        }
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for path in MACHINE_PATHS {
            assert_eq!(rules("README.md", &format!("see \"{path}me\"")), ["machine-path"]);
            assert_eq!(rules("src/a.rs", &format!("//! A.\nopen({path}me)")), ["machine-path"]);
            assert!(rules("README.md", &format!("see https://example.org{path}")).is_empty());
            assert!(rules("crates/x/tests/a.rs", &format!("open({path}me)")).is_empty());
            assert!(rules("captures/ftam.txt", &format!("open {path}me")).is_empty());
            assert!(rules("src/a.rs", &format!("//! A.\n#[cfg(test)]\nmod tests {{\n \"{path}\"\n}}\n")).is_empty());
        }
    }
}
