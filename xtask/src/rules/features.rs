//! A crate asks for what it uses of `kumiki-wire`, so that it builds by itself and not only beside others that ask for
//! more.
//!
//! | Rule | Says |
//! |---|---|
//! | features | who names a family of `kumiki-wire` has its feature, or one that brings it; tests may have it from `dev-dependencies` |

use toml::{Table, Value};

use crate::finding::Finding;
use crate::rust::{code_only, is_test_file};
use crate::tree::Tree;

const RULE: &str = "features";
const WIRE: &str = "crates/kumiki-wire/Cargo.toml";
const NAMED: &str = "kumiki_wire::";

/// Reads the manifest and the Rust files of each crate that depends on `kumiki-wire`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(features) = tree.text(WIRE).and_then(|text| text.parse::<Table>().ok()).and_then(|it| {
        let features = it.get("features")?.as_table()?;
        Some(features.clone())
    }) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (manifest, text) in tree.texts("/Cargo.toml") {
        let Some((folder, Ok(table))) = manifest.strip_suffix("Cargo.toml").map(|it| (it, text.parse::<Table>()))
        else {
            continue;
        };
        let mut code = asked_for(&table, "dependencies", &features);
        code.extend(passed_on(&table));
        let mut tests = asked_for(&table, "dev-dependencies", &features);
        tests.extend(code.iter().cloned());
        let uses = |section| table.get(section).and_then(|it: &Value| it.get("kumiki-wire")).is_some();
        if !uses("dependencies") && !uses("dev-dependencies") {
            continue;
        }
        for (file, text) in tree.texts(".rs").filter(|(file, _)| file.starts_with(folder)) {
            let has = if is_test_file(file) { &tests } else { &code };
            for (number, line) in (1..).zip(code_only(text).lines()) {
                for family in families(line).filter(|it| features.contains_key(*it) && !has.iter().any(|its| its == it))
                {
                    let right = format!("features = [\"{family}\"] for kumiki-wire in {manifest}");
                    findings.push(Finding::new(RULE, file, number, format!("{NAMED}{family}"), right));
                }
            }
        }
    }
    findings
}

/// The features of `kumiki-wire` that a manifest asks for in `section`, and those that they bring.
fn asked_for(manifest: &Table, section: &str, features: &Table) -> Vec<String> {
    let wire = manifest.get(section).and_then(|it| it.get("kumiki-wire"));
    let mut found = names(wire.and_then(|it| it.get("features")));
    let mut at = 0;
    while let Some(feature) = found.get(at) {
        let more = names(features.get(feature));
        found.extend(more);
        at += 1;
    }
    found
}

/// Those that the crate's own features ask for.
fn passed_on(manifest: &Table) -> impl Iterator<Item = String> {
    let own = manifest.get("features").and_then(Value::as_table).into_iter().flat_map(Table::values);
    own.flat_map(|list| names(Some(list))).filter_map(|it| it.strip_prefix("kumiki-wire/").map(str::to_owned))
}

fn names(list: Option<&Value>) -> Vec<String> {
    let all = list.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The modules of `kumiki-wire` that a line names by their path.
fn families(line: &str) -> impl Iterator<Item = &str> {
    line.split(NAMED).skip(1).filter_map(|rest| rest.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES: &str = "[features]\ndefault = [\"atm\"]\ninet = []\natm = [\"inet\"]\nppp = []\n";

    fn found(manifest: &str, file: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[(WIRE, FEATURES), ("crates/x/Cargo.toml", manifest), (file, text)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_family_that_was_not_asked_for_is_found() {
        let manifest = "[dependencies]\nkumiki-wire = { workspace = true, features = [\"inet\"] }\n";
        let uses = "use kumiki_wire::atm::cell::Vc;\nuse kumiki_wire::inet::tcp;\nuse kumiki_wire::Malformed;\n";
        assert_eq!(found(manifest, "crates/x/src/a.rs", uses), ["kumiki_wire::atm"]);
        assert_eq!(found(manifest, "crates/x/src/tests/a.rs", uses), ["kumiki_wire::atm"]);
        let nothing = "[dependencies]\nkumiki-wire.workspace = true\n";
        assert_eq!(found(nothing, "crates/x/src/a.rs", "use kumiki_wire::ppp::hdlc;\n"), ["kumiki_wire::ppp"]);
    }

    #[test]
    fn one_feature_brings_another() {
        let manifest = "[dependencies]\nkumiki-wire = { workspace = true, features = [\"atm\"] }\n";
        assert_eq!(found(manifest, "crates/x/src/a.rs", "use kumiki_wire::inet::tcp;\n"), [""; 0]);
    }

    #[test]
    fn a_feature_of_ones_own_passes_one_on() {
        let manifest = "[features]\nlines = [\"kumiki-wire/ppp\"]\n[dependencies]\nkumiki-wire.workspace = true\n";
        assert_eq!(found(manifest, "crates/x/src/a.rs", "use kumiki_wire::ppp::hdlc;\n"), [""; 0]);
    }

    #[test]
    fn tests_may_have_more() {
        let manifest = "[dependencies]\nkumiki-wire = { workspace = true, features = [\"inet\"] }\n\
                        [dev-dependencies]\nkumiki-wire = { workspace = true, features = [\"ppp\"] }\n";
        let uses = "use kumiki_wire::ppp::hdlc;\n";
        assert_eq!(found(manifest, "crates/x/src/tests.rs", uses), [""; 0]);
        assert_eq!(found(manifest, "crates/x/src/a.rs", uses), ["kumiki_wire::ppp"]);
    }

    #[test]
    fn comments_and_others_do_not_count() {
        assert_eq!(found("", "crates/x/src/a.rs", "use kumiki_wire::atm;\n"), [""; 0]);
        let manifest = "[dependencies]\nkumiki-wire = { workspace = true, features = [\"inet\"] }\n";
        assert_eq!(found(manifest, "crates/x/src/a.rs", "// as kumiki_wire::atm does\n"), [""; 0]);
    }
}
