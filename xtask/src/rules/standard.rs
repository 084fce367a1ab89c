//! What RFC 9293 asks for, where it is done, and which test would fail without it.
//!
//! | Rule | Says |
//! |---|---|
//! | standard | every label of RFC 9293 appendix B stands in `docs/rfc9293.toml`; a MUST, SHLD or REC has a place in the code and a test, or says why it is unmet, and then has no test; no label is written that the RFC does not have; `docs/rfc9293.md` is what these give |
//!
//! How a label is written: STYLE.md, section Tests. `docs/rfc9293.md` names items and not lines, so that it changes
//! only when the answer does; `cargo xtask standard MUST-18` prints the lines.
//!
//! Left out: whether a test would really fail. Only breaking the code can tell.

mod labels;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::finding::Finding;
use crate::tree::Tree;
use labels::{Kind, Label, LabelComment};

const RULE: &str = "standard";
const DATA: &str = "docs/rfc9293.toml";
/// What `cargo xtask standard` writes.
pub(crate) const PAGE: &str = "docs/rfc9293.md";
const FORM: &str = "LABEL = { section = \"3.1\", what = \"...\" }, where it is not met with unmet = \"why\"";

/// What the RFC asks for under one label, and what answers it.
#[derive(Default)]
struct Row {
    section: String,
    /// In our words.
    what: String,
    /// Why it is not met.
    unmet: Option<String>,
    code: Vec<LabelComment>,
    tests: Vec<LabelComment>,
}

type Rows = BTreeMap<Label, Row>;

/// Compares data, labels and page.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    match page(tree) {
        Err(findings) => findings,
        Ok(page) if tree.text(PAGE) == Some(&page) => Vec::new(),
        Ok(_) => vec![Finding::new(
            RULE,
            PAGE,
            0,
            "the page is not what the labels in the code give",
            "run \"cargo xtask standard\" and look at what changed",
        )],
    }
}

/// The text of [`PAGE`], or what is wrong with data and labels.
pub(crate) fn page(tree: &Tree) -> Result<String, Vec<Finding>> {
    let mut findings = Vec::new();
    let rows = rows(tree, &mut findings);
    judge(&rows, &mut findings);
    if findings.is_empty() { Ok(written(&rows)) } else { Err(findings) }
}

/// Everything on one label, with lines; `None` where the RFC has no such label.
pub(crate) fn places(tree: &Tree, label: &str) -> Option<String> {
    let rows = rows(tree, &mut Vec::new());
    let (label, row) = rows.iter().find(|(candidate, _)| candidate.to_string() == label)?;
    let mut out = format!("{label}, section {}: {}\n", row.section, row.what);
    if let Some(why) = &row.unmet {
        let _ = writeln!(out, "not met: {why}");
    }
    for place in row.code.iter().chain(&row.tests) {
        let _ = writeln!(out, "{}:{}: {}", place.file, place.line, place.item);
    }
    Some(out)
}

fn rows(tree: &Tree, findings: &mut Vec<Finding>) -> Rows {
    let mut rows = data(tree, findings);
    let found = labels::all(tree);
    for (file, line) in found.malformed {
        findings.push(Finding::new(
            RULE,
            &file,
            line,
            "labels that belong to no test",
            "\"// RFC 9293: MUST-1, SHLD-2\", labels only, above a test's attributes",
        ));
    }
    for (label, place, is_test) in found.places {
        if let Some(row) = rows.get_mut(&label) {
            let places = if is_test { &mut row.tests } else { &mut row.code };
            // One item may name a label twice.
            if !places.iter().any(|other| other.same_item(&place)) {
                places.push(place);
            }
        } else {
            findings.push(Finding::new(
                RULE,
                &place.file,
                place.line,
                format!("{label}, which RFC 9293 does not have"),
                "a label of its appendix B",
            ));
        }
    }
    rows
}

/// Reads [`DATA`].
fn data(tree: &Tree, findings: &mut Vec<Finding>) -> Rows {
    let mut rows = Rows::new();
    let mut wrong = |what: String| findings.push(Finding::new(RULE, DATA, 0, what, FORM));
    let table = match tree.text(DATA).map(str::parse::<toml::Table>) {
        None => {
            wrong("there is no such file".into());
            return rows;
        }
        Some(Err(why)) => {
            wrong(why.message().into());
            return rows;
        }
        Some(Ok(table)) => table,
    };
    for (key, value) in &table {
        let Some(label) = Label::parse(key).filter(|label| label.exists()) else {
            wrong(format!("{key}, which RFC 9293 does not have"));
            continue;
        };
        let text = |name| {
            let text = value.get(name).and_then(toml::Value::as_str);
            text.filter(|text| !text.trim().is_empty() && !text.contains(['|', '\n'])).map(str::to_owned)
        };
        let keys = value.as_table().map_or(0, toml::Table::len);
        let (Some(section), Some(what)) = (text("section"), text("what")) else {
            wrong(format!("{key} is incomplete"));
            continue;
        };
        let unmet = text("unmet");
        if keys != 2 + usize::from(unmet.is_some()) {
            wrong(format!("{key} has something that is not read"));
        }
        let row = Row { section, what, unmet, ..Row::default() };
        rows.insert(label, row);
    }
    for label in Label::every().filter(|label| !rows.contains_key(label)) {
        wrong(format!("no {label}"));
    }
    rows
}

/// Whether each row is answered.
fn judge(rows: &Rows, findings: &mut Vec<Finding>) {
    for (label, row) in rows {
        let mut wrong = |what: String, right: &str| {
            findings.push(Finding::new(RULE, DATA, 0, what, right));
        };
        if row.unmet.is_some() {
            if let Some(test) = row.tests.first() {
                let what = format!("{label} is unmet, and {} tests it", test.item);
                wrong(what, "take \"unmet\" out, or the label from the test");
            }
            continue;
        }
        if row.code.is_empty() {
            wrong(
                format!("{label} has no place in the code"),
                "a comment that names it where it is done, or \"unmet\" with the reason",
            );
        }
        if row.tests.is_empty() && label.kind != Kind::May {
            wrong(
                format!("{label} has no test"),
                "\"// RFC 9293: LABEL\" above a test that fails without it, or \"unmet\" with the reason",
            );
        }
    }
}

fn written(rows: &Rows) -> String {
    let mut out = String::from(
        "# RFC 9293, label by label\n\n\
         RFC 9293 numbers what it asks of a TCP; appendix B lists the labels. Each stands here with its section, in our words, \
         with where it is done\nand with the tests that fail without it.\n\
         Written by `cargo xtask standard` from [rfc9293.toml](rfc9293.toml) and from the comments that name labels; \
         `cargo xtask tidy` compares.\n\
         `cargo xtask standard MUST-18` prints the lines of one label.\n\n\
         | | labels | met |\n|---|---|---|\n",
    );
    for kind in Kind::ALL {
        let of_kind = || rows.iter().filter(|(label, _)| label.kind == kind);
        let met = of_kind().filter(|(_, row)| row.unmet.is_none()).count();
        let _ = writeln!(out, "| {} | {} | {met} |", kind.meaning(), of_kind().count());
    }
    for kind in Kind::ALL {
        let _ =
            write!(out, "\n## {}\n\n| label | section | what | where | tests |\n|---|---|---|---|---|\n", kind.name());
        for (label, row) in rows.iter().filter(|(label, _)| label.kind == kind) {
            let code: Vec<String> = row.code.iter().map(LabelComment::in_code).collect();
            let tests: Vec<String> = match &row.unmet {
                Some(why) => vec![format!("**{}**: {why}", kind.refusal())],
                None => row.tests.iter().map(LabelComment::as_test).collect(),
            };
            let _ = writeln!(
                out,
                "| {label} | {} | {} | {} | {} |",
                row.section,
                row.what,
                code.join("<br>"),
                tests.join("<br>")
            );
        }
    }
    out
}

#[cfg(test)]
mod tests;
