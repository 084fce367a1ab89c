//! What every Rust file must look like.
//!
//! | Rule | Says |
//! |---|---|
//! | module-doc | the first line is `//!`, except in test files |
//! | size | at most 800 lines before the tests, except in test files |
//! | unsafe | only in `kumiki-octets`, `kumiki-io`, `kumiki-sandbox` and `kumiki-packetdrill` |
//! | unfinished | no placeholder macro |

use crate::finding::Finding;
use crate::rust::{code_only, has_word, is_test_file, without_tests};
use crate::tree::Tree;

/// Past this a reader looks for a seam: direction, lifetime, algorithm, chapter of the standard.
const LINES_MAX: usize = 800;

/// The folders in which a block may be unsafe.
const MAY_BE_UNSAFE: [&str; 4] =
    ["crates/kumiki-octets/", "crates/kumiki-io/", "crates/kumiki-sandbox/", "crates/kumiki-packetdrill/"];

/// Reads every `.rs` file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts(".rs") {
        if !is_test_file(file) {
            layout(file, text, &mut findings);
        }
        let code = code_only(text);
        for (number, line) in (1..).zip(code.lines()) {
            if !MAY_BE_UNSAFE.iter().any(|folder| file.starts_with(folder)) {
                for word in ["unsafe", "unsafe_code"] {
                    if has_word(line, word) {
                        let right = "move it into kumiki-octets (memory, SIMD), kumiki-io (devices), kumiki-sandbox (rights) or kumiki-packetdrill (callers in C)";
                        findings.push(Finding::new("unsafe", file, number, format!("`{word}`"), right));
                    }
                }
            }
            for word in ["todo", "unimplemented"] {
                if has_word(line, word) && line.contains(&format!("{word}!")) {
                    let right = "write it, return an error that says what is left out, or leave the item out";
                    findings.push(Finding::new("unfinished", file, number, format!("`{word}!`"), right));
                }
            }
        }
    }
    findings
}

fn layout(file: &str, text: &str, findings: &mut Vec<Finding>) {
    if !text.starts_with("//!") {
        findings.push(Finding::new(
            "module-doc",
            file,
            1,
            "the file does not say what it is",
            "a first line \"//! ...\": what it is, by which specification, what is left out",
        ));
    }
    let lines = without_tests(text).lines().count();
    if lines > LINES_MAX {
        findings.push(Finding::new(
            "size",
            file,
            0,
            format!("{lines} lines before the tests"),
            format!(
                "at most {LINES_MAX}: give the shared variables an owner and split there, or add a reason to xtask/tidy-exceptions.toml"
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(file: &str, text: &str) -> Vec<&'static str> {
        check(&Tree::of(&[(file, text)])).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_file_says_what_it_is() {
        assert_eq!(rules("crates/kumiki-wire/src/inet/llc.rs", "use x;\n"), ["module-doc"]);
        assert!(rules("crates/kumiki-wire/src/inet/llc.rs", "//! LLC.\nuse x;\n").is_empty());
        assert!(rules("crates/kumiki-wire/src/inet/llc/tests.rs", "use x;\n").is_empty());
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_do_not_count() {
        let long = format!("//! Long.\n{}", "fn a() {}\n".repeat(LINES_MAX));
        assert_eq!(rules("crates/kumiki-wire/src/a.rs", &long), ["size"]);
        let tested = format!("//! Short.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn a() {}\n".repeat(LINES_MAX));
        assert!(rules("crates/kumiki-wire/src/a.rs", &tested).is_empty());
    }

    #[test]
    fn unsafe_has_four_homes() {
        let text = "//! A.\nfn a() { unsafe { b() } }\n";
        assert_eq!(rules("crates/kumiki-wire/src/a.rs", text), ["unsafe"]);
        assert!(rules("crates/kumiki-octets/src/a.rs", text).is_empty());
        assert!(rules("crates/kumiki-wire/src/a.rs", "//! Not unsafe.\n").is_empty());
        assert_eq!(rules("crates/kumiki-wire/src/a.rs", "//! A.\n#![allow(unsafe_code)]\n"), ["unsafe"]);
    }

    #[test]
    fn a_placeholder_is_found() {
        assert_eq!(rules("crates/kumiki-wire/src/a.rs", "//! A.\nfn a() { todo!() }\n"), ["unfinished"]);
    }
}
