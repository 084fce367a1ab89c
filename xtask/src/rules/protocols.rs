//! Every protocol folder has the same doors.
//!
//! | Rule | Says |
//! |---|---|
//! | protocol | `src/<name>/` of a family's crate has `mod.rs`, whose doc table has the rows Specification, Above, Below and Left out, and `tests.rs` |

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::tree::Tree;

/// The crates of the families. XTP is one protocol, whose `mod.rs` is the crate's `lib.rs`; it has the other folders of
/// a protocol directly below.
const FAMILIES: [&str; 6] = ["inet", "atm", "ppp", "x25", "osi", "files"];
const ROWS: [&str; 4] = ["Specification", "Above", "Below", "Left out"];
const RULE: &str = "protocol";

/// Looks at every folder directly below `src/` of a family's crate.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let folders: BTreeSet<&str> = tree
        .paths()
        .filter_map(|path| {
            let (family, inside) = path.strip_prefix("crates/kumiki-")?.split_once("/src/")?;
            let (folder, _) = inside.split_once('/')?;
            let there = path.len() - inside.len() + folder.len();
            FAMILIES.contains(&family).then(|| path.get(..there))?
        })
        .collect();
    let mut findings = Vec::new();
    for folder in folders {
        let file = format!("{folder}/mod.rs");
        match tree.text(&file) {
            None => findings.push(Finding::new(
                RULE,
                &file,
                0,
                "a protocol without mod.rs",
                "mod.rs with the doc table, Config, Counters and the entity",
            )),
            Some(text) => {
                let absent: Vec<_> = ROWS.into_iter().filter(|row| !has_row(text, row)).collect();
                if !absent.is_empty() {
                    let what = format!("the doc table has no row {}", absent.join(", "));
                    findings.push(Finding::new(RULE, &file, 1, what, "\"//! | Left out | ... |\" and so on"));
                }
            }
        }
        let tests = format!("{folder}/tests.rs");
        if !tree.has(&tests) && !tree.has(&format!("{folder}/tests")) {
            let right = "tests.rs, through the public surface of the protocol";
            findings.push(Finding::new(RULE, &tests, 0, "a protocol without tests", right));
        }
    }
    findings
}

/// Whether the module doc has a table row with this head, plain or bold, and something beside it.
fn has_row(text: &str, row: &str) -> bool {
    text.lines().take_while(|line| line.starts_with("//!")).any(|line| {
        let mut columns = line.trim_start_matches("//!").trim().split('|').map(str::trim);
        columns.next() == Some("")
            && columns.next().is_some_and(|head| head.trim_matches('*') == row)
            && columns.any(|column| !column.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "//! SNAP.\n//!\n//! | | |\n//! |---|---|\n//! | Specification | IEEE 802 |\n//! | **Above** | IP |\n//! | Below | LLC |\n//! | Left out | nothing |\n";
    const MOD: &str = "crates/kumiki-inet/src/snap/mod.rs";
    const TESTS: &str = "crates/kumiki-inet/src/snap/tests.rs";

    #[test]
    fn a_complete_protocol_passes() {
        assert!(check(&Tree::of(&[(MOD, GOOD), (TESTS, "")])).is_empty());
    }

    #[test]
    fn a_row_that_is_absent_or_empty_is_found() {
        for text in [GOOD.replace("Left out", "Missing"), GOOD.replace("nothing", "")] {
            let findings = check(&Tree::of(&[(MOD, &text), (TESTS, "")]));
            assert!(findings.iter().any(|finding| finding.what.ends_with("Left out")), "{findings:?}");
        }
    }

    #[test]
    fn both_files_are_wanted() {
        assert_eq!(check(&Tree::of(&[(MOD, GOOD)])).len(), 1);
        assert_eq!(check(&Tree::of(&[(TESTS, "")])).len(), 1);
    }

    #[test]
    fn a_file_beside_the_folders_is_not_a_protocol() {
        assert!(check(&Tree::of(&[("crates/kumiki-stack/src/", "")])).is_empty());
    }
}
