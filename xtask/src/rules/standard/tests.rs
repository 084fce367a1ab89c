use super::*;

const CODE: &str = "crates/a/src/lib.rs";

/// Data in which every label is unmet but those in `met`.
fn data(met: &[&str]) -> String {
    Label::every()
        .map(|label| {
            let unmet = if met.contains(&&*label.to_string()) { "" } else { ", unmet = 'a reason'" };
            format!("{label} = {{ section = '3.1', what = 'words'{unmet} }}\n")
        })
        .collect()
}

fn source(place: &str, tested: &str) -> String {
    format!(
        "//! A.\n/// Does it ({place}).\nfn does() {{}}\n#[cfg(test)]\nmod tests {{\n    // RFC 9293: {tested}\n    #[test]\n    fn it_is_done() {{}}\n}}\n"
    )
}

fn found(data: &str, code: &str) -> Vec<String> {
    let tree = Tree::of(&[(DATA, data), (CODE, code)]);
    let findings = check(&tree).into_iter();
    findings.map(|finding| finding.what).filter(|what| !what.starts_with("the page")).collect()
}

#[test]
fn a_page_that_is_what_the_labels_give_passes_and_another_does_not() {
    let (data, code) = (data(&["MUST-18"]), source("MUST-18", "MUST-18"));
    let page = page(&Tree::of(&[(DATA, &data), (CODE, &code)])).unwrap_or_default();
    let row =
        "| MUST-18 | 3.1 | words | [lib.rs](../crates/a/src/lib.rs) `does` | [it_is_done](../crates/a/src/lib.rs) |\n";
    assert!(page.contains(row), "{page}");
    assert!(page.contains("| MUST: must, must not | 69 | 1 |\n"));
    assert!(page.contains("| MAY-3 | 3.1 | words |  | **not done**: a reason |\n"));
    let with = |page: &str| check(&Tree::of(&[(DATA, &data), (CODE, &code), (PAGE, page)])).len();
    assert_eq!((with(&page), with(&page.replace("words", "other"))), (0, 1));
    assert_eq!(check(&Tree::of(&[(DATA, &data), (CODE, &code)])).len(), 1);
}

#[test]
fn a_must_without_place_or_test_is_found() {
    let met = data(&["MUST-18"]);
    assert_eq!(found(&met, "//! A.\n").len(), 2);
    let placed = "//! A (MUST-18).\n";
    assert_eq!(found(&met, placed), ["MUST-18 has no test"]);
    // What is only permitted needs no test.
    assert!(found(&data(&["MAY-18"]), &placed.replace("MUST", "MAY")).is_empty());
}

#[test]
fn what_is_unmet_has_no_test() {
    let code = source("SHLD-8", "SHLD-8");
    assert_eq!(found(&data(&[]), &code), ["SHLD-8 is unmet, and it_is_done tests it"]);
    assert!(found(&data(&["SHLD-8"]), &code).is_empty());
}

#[test]
fn a_label_that_does_not_exist_is_found() {
    let code = source("MUST-70", "SHLD-32");
    assert_eq!(found(&data(&[]), &code).len(), 2);
    let inside = "//! A.\n#[cfg(test)]\nmod tests {\n    // MUST-99.\n}\n";
    assert_eq!(found(&data(&[]), inside).len(), 1);
}

#[test]
fn data_that_is_not_complete_is_found() {
    let all = data(&[]);
    for (from, to) in [
        ("MUST-7 =", "MUST-77 ="),
        ("MUST-7 = { section = '3.1',", "MUST-7 = {"),
        ("MUST-7 = { section", "MUST-7 = { note = 'x', section"),
        ("MUST-7 = {", "MUST-7 = "),
    ] {
        assert!(!found(&all.replacen(from, to, 1), "//! A.\n").is_empty(), "{to}");
    }
    assert!(found(&all, "//! A.\n").is_empty());
    assert_eq!(
        check(&Tree::of(&[(CODE, "//! A.\n")])).iter().filter(|it| it.what.starts_with("there is no")).count(),
        1
    );
}

#[test]
fn places_are_told_with_their_lines() {
    let (data, code) = (data(&["MUST-18"]), source("MUST-18", "MUST-18"));
    let tree = Tree::of(&[(DATA, &data), (CODE, &code)]);
    assert_eq!(
        places(&tree, "MUST-18").unwrap_or_default(),
        "MUST-18, section 3.1: words\ncrates/a/src/lib.rs:2: does\ncrates/a/src/lib.rs:6: it_is_done\n"
    );
    assert!(places(&tree, "MUST-70").is_none());
}
