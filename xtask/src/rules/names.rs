//! File and folder names say what is inside, and names of types what they are.
//!
//! | Rule | Says |
//! |---|---|
//! | file-name | no name that would fit any content |
//! | type-name | no type outside tests whose whole name is a pronoun, a preposition, an adverb or a participle |
//! | left-over | no file that a patch or a merge has left behind, `.orig` or `.rej`, anywhere |
//! | root | what lies at the root has an ending, or is a file that everybody looks for there: what a command has left behind is not taken along |

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::rust::{code_only, is_test_file, without_tests};
use crate::tree::Tree;

/// Words that say nothing about the content.
const EMPTY: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "misc", "manager", "managers"];

/// Names of types that say nothing to who meets them away from their module, and that a search does not find among
/// sentences.
const VAGUE: &str = "About Against Ahead Apart Around As Aside Asked At Away Before Begins Between Blame By Came Cloud Coming Course Dice \
    Docket Doing Each Ear Far Few Flying Followed Following Found Front Given Handed Happened Hear Heed Here How Judged Kept Known Later Leaving \
    Lesson Liar Lie Looked Made Make Manner Many Maybe Met Moment Most Near News Nobody Nowhere Of Off On Others Out Over Own Ran Reach Rest \
    Returns Said Same Say Says See Serves Serving Siege Spot Spy Squeeze Standing Stood Taken Tells To Together Told Towards Trouble Troubled \
    Turnstile Want Wanted Wants Way What Which Who Whole Why Wish Wishes Within Wrong";

/// Files at the root without an ending.
const AT_ROOT: [&str; 4] = ["Containerfile", "LICENSE-APACHE", "LICENSE-MIT", "check"];

/// Reads the names of all Rust files and of the folders above them, and of what lies at the root.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for path in tree.paths().filter(|path| !path.contains(['/', '.']) && !AT_ROOT.contains(path)) {
        let right = "leave it out; what belongs here has an ending, or a place in AT_ROOT of xtask/src/rules/names.rs";
        findings.push(Finding::new("root", path, 0, "an unexpected file", right));
    }
    for path in tree.paths().filter(|path| [".orig", ".rej"].iter().any(|ending| path.ends_with(ending))) {
        let right = "take over what is still missing, and remove it";
        findings.push(Finding::new("left-over", path, 0, "a file that a patch or a merge has left behind", right));
    }
    for path in tree.paths().filter(|path| path.ends_with(".rs")) {
        let mut upto = 0;
        for part in path.split('/') {
            upto += part.len();
            let place = path.get(..upto).unwrap_or(path);
            upto += 1;
            let stem = part.strip_suffix(".rs").unwrap_or(part);
            let empty = stem.split(['_', '-']).find(|word| EMPTY.contains(word));
            if let Some(word) = empty
                && seen.insert(place)
            {
                let right = "name it after what it holds; where that is several things, one file for each";
                findings.push(Finding::new("file-name", place, 0, format!("\"{word}\" would fit any content"), right));
            }
        }
    }
    findings.extend(types(tree));
    findings
}

/// Reads the names of all types outside tests.
fn types(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts(".rs").filter(|(file, _)| !is_test_file(file)) {
        let code = code_only(without_tests(text));
        for (number, name) in (1..).zip(code.lines()).filter_map(|(number, line)| Some((number, type_name(line)?))) {
            if VAGUE.split_whitespace().any(|word| word == name) {
                let right = "name it by what it is, in the word of its standard or of its field: a noun";
                findings.push(Finding::new("type-name", file, number, format!("a type `{name}`"), right));
            }
        }
    }
    findings
}

/// The name of the type that a line of code begins to define.
fn type_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub") || *word == "unsafe");
    let kind = words.next()?;
    let name = words.next().filter(|_| ["struct", "enum", "trait", "type", "union"].contains(&kind))?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Vec<String> {
        let files: Vec<_> = paths.iter().map(|path| (*path, "")).collect();
        check(&Tree::of(&files)).into_iter().map(|finding| finding.file).collect()
    }

    #[test]
    fn a_name_that_fits_anything_is_found() {
        assert_eq!(files(&["crates/x/src/utils.rs"]), ["crates/x/src/utils.rs"]);
        assert_eq!(files(&["crates/x/src/timer_manager.rs"]), ["crates/x/src/timer_manager.rs"]);
    }

    #[test]
    fn a_folder_is_reported_once() {
        assert_eq!(files(&["crates/x/src/common/a.rs", "crates/x/src/common/b.rs"]), ["crates/x/src/common"]);
    }

    #[test]
    fn a_type_that_could_be_anything_is_found() {
        let text = "//! A.\npub(crate) enum Told<'a> {}\nstruct Wish;\n    type Said: Debug;\npub struct Header;\nenum Kind { Told }\n";
        let found = |file| -> Vec<_> { check(&Tree::of(&[(file, text)])).into_iter().map(|it| it.line).collect() };
        assert_eq!(found("crates/kumiki-wire/src/a.rs"), [2, 3, 4]);
        assert!(found("crates/kumiki-wire/src/a/tests.rs").is_empty());
    }

    #[test]
    fn what_was_left_at_the_root_is_found() {
        assert_eq!(files(&["check", "closing", "README.md", ".gitignore", "scripts/closing"]), ["closing"]);
    }

    #[test]
    fn what_a_patch_has_left_is_found_anywhere() {
        let left = ["crates/x/src/ledger.rs.orig", "docs/ledger.md.rej"];
        assert_eq!(files(&[left[0], "crates/x/src/ledger.rs", left[1]]), left);
    }

    #[test]
    fn a_name_with_content_is_left_alone() {
        assert!(files(&["crates/x/src/commonality.rs", "crates/x/src/ledger.rs"]).is_empty());
    }
}
