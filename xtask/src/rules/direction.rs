//! Which crate may depend on which, and what every manifest must inherit.
//!
//! | Rule | Says |
//! |---|---|
//! | direction | a dependency follows `kumiki -> {lab, services -> live} -> {sim, io} -> link, {stack, services} -> families -> settings -> graph, wire -> osi-service -> octets`; no service knows the laboratory, and only the laboratory and the program know all families; `wire` and `graph` do not know each other, nor do `link` and the families, nor `sim` and `io`, and those two know no protocol; of the families `atm`, `ppp` and `xtp` know `inet`, and `files` knows `osi` |
//! | dev-direction | the same for what only tests use; an exception with a reason is possible |
//! | lints | every manifest takes lints, edition and licence from the workspace |

use toml::{Table, Value};

use crate::finding::Finding;
use crate::tree::Tree;

/// What a crate of this workspace may use of it.
struct MayUse {
    name: &'static str,
    /// These, and all that they may use.
    with_below: &'static [&'static str],
    /// These alone.
    alone: &'static [&'static str],
}

const fn all_below(name: &'static str, with_below: &'static [&'static str]) -> MayUse {
    MayUse { name, with_below, alone: &[] }
}

const fn only(name: &'static str, alone: &'static [&'static str]) -> MayUse {
    MayUse { name, with_below: &[], alone }
}

const MAY_USE: [MayUse; 44] = [
    only("kumiki-octets", &[]),
    // What primitives and PDUs of OSI both carry, so that the two that follow need not know each other.
    only("kumiki-osi-service", &["kumiki-octets"]),
    only("kumiki-wire", &["kumiki-octets", "kumiki-osi-service"]),
    only("kumiki-graph", &["kumiki-octets"]),
    // What configurations say of their fields; no protocol.
    only("kumiki-settings-derive", &[]),
    only("kumiki-settings", &["kumiki-graph", "kumiki-settings-derive"]),
    // What people write, whoever reads it: the laboratory or a service.
    MayUse { name: "kumiki-config", with_below: &["kumiki-settings"], alone: &["kumiki-octets"] },
    only("kumiki-inet", &["kumiki-octets", "kumiki-wire", "kumiki-graph", "kumiki-settings"]),
    all_below("kumiki-atm", &["kumiki-inet"]),
    // Drivers hear what their lines say of defects and of calls.
    all_below("kumiki-ppp", &["kumiki-inet", "kumiki-link"]),
    all_below("kumiki-xtp", &["kumiki-inet"]),
    all_below("kumiki-x25", &["kumiki-wire", "kumiki-link", "kumiki-settings"]),
    all_below("kumiki-osi", &["kumiki-wire", "kumiki-graph", "kumiki-settings"]),
    all_below("kumiki-files", &["kumiki-osi"]),
    all_below("kumiki-stack", &["kumiki-atm", "kumiki-ppp", "kumiki-xtp", "kumiki-x25", "kumiki-files"]),
    // Media know the headers they frame with: cells, HDLC, SONET.
    only("kumiki-link", &["kumiki-octets", "kumiki-wire", "kumiki-graph"]),
    // The same by name, with what goes wrong on them: for scenarios and for the delay generator.
    all_below("kumiki-media", &["kumiki-config", "kumiki-link"]),
    only("kumiki-sim", &["kumiki-octets", "kumiki-graph", "kumiki-link"]),
    only("kumiki-io", &["kumiki-octets", "kumiki-graph", "kumiki-link", "kumiki-pcapng"]),
    // Sockets: TCP/IP on either clock, and nothing of the laboratory.
    all_below("kumiki-net", &["kumiki-inet", "kumiki-sim", "kumiki-io", "kumiki-pcapng"]),
    only("kumiki-sandbox", &[]),
    // An analyser judges octets by the codecs alone, not by what our state machines believe.
    all_below("kumiki-decode", &["kumiki-wire"]),
    only("kumiki-pcapng", &[]),
    only("kumiki-capture", &["kumiki-octets", "kumiki-wire", "kumiki-graph", "kumiki-pcapng"]),
    // Without an operating system: "io" is for its tests alone.
    all_below(
        "kumiki-lab",
        &["kumiki-stack", "kumiki-media", "kumiki-capture", "kumiki-sim", "kumiki-io", "kumiki-decode"],
    ),
    // What stands on the laboratory, side by side.
    all_below("kumiki-adversity", &["kumiki-lab"]),
    all_below("kumiki-script", &["kumiki-lab"]),
    all_below("kumiki-python", &["kumiki-lab"]),
    // What runs in real time needs nothing of the laboratory, nor a world.
    // The kinds of nodes that it makes are told it by its users, so it knows no family.
    MayUse {
        name: "kumiki-live",
        with_below: &["kumiki-media", "kumiki-capture", "kumiki-io", "kumiki-sandbox"],
        alone: &["kumiki-osi-service"],
    },
    // Services: each on what they share, and none on another.
    all_below("kumiki-delay", &["kumiki-live"]),
    // A path of the one, sockets behind it, and hosts on serial lines; or a world of the laboratory.
    all_below("kumiki-emulate", &["kumiki-lab", "kumiki-delay", "kumiki-net", "kumiki-pppd"]),
    // Programs over sockets, in the worlds of the laboratory.
    all_below("kumiki-testbed", &["kumiki-lab", "kumiki-net"]),
    // Sockets, for a program that tests them.
    all_below("kumiki-packetdrill", &["kumiki-net"]),
    all_below("kumiki-pppd", &["kumiki-live", "kumiki-ppp"]),
    // X.25 over LAPB over Ethernet.
    all_below("kumiki-switch", &["kumiki-live", "kumiki-x25", "kumiki-inet"]),
    all_below("kumiki-pad", &["kumiki-live", "kumiki-x25"]),
    all_below("kumiki-filetransfer", &["kumiki-live", "kumiki-x25", "kumiki-files"]),
    all_below("kumiki", SERVICES_AND_JUDGES),
    // Nobody may use these four.
    all_below("kumiki-bench", SERVICES_AND_JUDGES),
    all_below("kumiki-examples", SERVICES_AND_JUDGES),
    // Its targets are tests.
    MayUse { name: "kumiki-fuzz", with_below: SERVICES_AND_JUDGES, alone: &["kumiki-testkit"] },
    only("xtask", &[]),
    // And these only tests, those of all others.
    only("kumiki-watchdog", &[]),
    only("kumiki-testkit", &["kumiki-octets", "kumiki-graph"]),
];

const SERVICES_AND_JUDGES: &[&str] = &[
    "kumiki-decode",
    "kumiki-adversity",
    "kumiki-net",
    "kumiki-script",
    "kumiki-delay",
    "kumiki-emulate",
    "kumiki-testbed",
    "kumiki-pppd",
    "kumiki-switch",
    "kumiki-pad",
    "kumiki-filetransfer",
];

const FOR_TESTS: [&str; 2] = ["kumiki-watchdog", "kumiki-testkit"];

/// All that the crate `name` may use; none where it has no place.
fn allowed(name: &str) -> Option<Vec<&'static str>> {
    let own = MAY_USE.iter().find(|it| it.name == name)?;
    let mut found = own.alone.to_vec();
    for below in own.with_below {
        found.extend(allowed(below).unwrap_or_default());
        found.push(below);
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Reads every `Cargo.toml` but the workspace's own.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts("/Cargo.toml") {
        match text.parse::<Table>() {
            Ok(manifest) => manifest_findings(file, text, &manifest, &mut findings),
            Err(why) => {
                let line = why.span().map_or(0, |span| super::line_of(text, span.start));
                findings.push(Finding::new("direction", file, line, why.message(), "TOML"));
            }
        }
    }
    findings
}

fn manifest_findings(file: &str, text: &str, manifest: &Table, findings: &mut Vec<Finding>) {
    let package = manifest.get("package");
    let name = package.and_then(|package| package.get("name")).and_then(Value::as_str).unwrap_or("");
    let Some(allowed) = allowed(name) else {
        findings.push(Finding::new(
            "direction",
            file,
            0,
            format!("the crate \"{name}\" has no place in the layering"),
            "give it one in MAY_USE in xtask/src/rules/direction.rs and in ARCHITECTURE.md",
        ));
        return;
    };
    for (rule, used) in dependencies(manifest) {
        let ours = MAY_USE.iter().any(|it| it.name == used);
        let for_tests = FOR_TESTS.contains(&used.as_str()) && rule == "dev-direction";
        if ours && !for_tests && !allowed.contains(&used.as_str()) {
            findings.push(Finding::new(
                rule,
                file,
                line_with(text, &used),
                format!("{name} depends on {used}"),
                match &allowed[..] {
                    [] => format!("{name} uses no other crate of this workspace"),
                    _ => format!("{name} may use {}", allowed.join(", ")),
                },
            ));
        }
    }
    let inherits =
        |value: Option<&Value>| value.and_then(|value| value.get("workspace")) == Some(&Value::Boolean(true));
    if !inherits(manifest.get("lints")) {
        findings.push(Finding::new(
            "lints",
            file,
            0,
            "the lints of the workspace do not apply",
            "[lints] workspace = true",
        ));
    }
    for key in ["edition", "license"] {
        if !inherits(package.and_then(|package| package.get(key))) {
            let right = format!("{key}.workspace = true");
            findings.push(Finding::new("lints", file, 0, format!("{key} is not the workspace's"), right));
        }
    }
}

/// Every dependency of a manifest with the rule that judges it: of all platforms, under its real name.
fn dependencies(manifest: &Table) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    for table in platforms.filter_map(Value::as_table).chain([manifest]) {
        for (section, rule) in
            [("dependencies", "direction"), ("build-dependencies", "direction"), ("dev-dependencies", "dev-direction")]
        {
            for (key, value) in table.get(section).and_then(Value::as_table).into_iter().flatten() {
                let name = value.get("package").and_then(Value::as_str).unwrap_or(key);
                found.push((rule, name.to_owned()));
            }
        }
    }
    found
}

fn line_with(text: &str, name: &str) -> usize {
    let named = |line: &str| line.trim_start().starts_with(name) || line.contains(&format!("\"{name}\""));
    // The first lines name the package itself.
    text.lines().skip(2).position(named).map_or(0, |at| at + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INHERITS: &str = "edition.workspace = true\nlicense.workspace = true\n[lints]\nworkspace = true\n";

    fn found(name: &str, rest: &str) -> Vec<(&'static str, String)> {
        let manifest = format!("[package]\nname = \"{name}\"\n{INHERITS}{rest}");
        let tree = Tree::of(&[("crates/x/Cargo.toml", &manifest)]);
        check(&tree).into_iter().map(|finding| (finding.rule, finding.what)).collect()
    }

    #[test]
    fn downward_is_allowed() {
        assert!(found("kumiki-inet", "[dependencies]\nkumiki-wire.workspace = true\nthiserror = \"2\"\n").is_empty());
        assert!(found("kumiki-link", "[dependencies]\nkumiki-wire.workspace = true\n").is_empty());
    }

    #[test]
    fn upward_and_sideways_are_refused() {
        for (name, used) in [
            ("kumiki-octets", "kumiki-wire"),
            ("kumiki-wire", "kumiki-graph"),
            ("kumiki-graph", "kumiki-wire"),
            ("kumiki-inet", "kumiki-link"),
            ("kumiki-link", "kumiki-inet"),
            ("kumiki-sim", "kumiki-inet"),
            ("kumiki-sim", "kumiki-wire"),
            ("kumiki-sim", "kumiki-io"),
            ("kumiki-io", "kumiki-sim"),
            ("kumiki-lab", "kumiki"),
            ("kumiki-config", "kumiki-lab"),
            ("kumiki-live", "kumiki-lab"),
            ("kumiki-live", "kumiki-sim"),
            ("kumiki-live", "kumiki-stack"),
            ("kumiki-live", "kumiki-inet"),
            ("kumiki-pppd", "kumiki-xtp"),
            ("kumiki-pppd", "kumiki-stack"),
            ("kumiki-pad", "kumiki-inet"),
            ("kumiki-switch", "kumiki-stack"),
            ("kumiki-pppd", "kumiki-lab"),
            ("kumiki-filetransfer", "kumiki-lab"),
            ("kumiki-pad", "kumiki-lab"),
            ("kumiki-switch", "kumiki-lab"),
            ("kumiki-delay", "kumiki-lab"),
            ("kumiki", "xtask"),
        ] {
            let findings = found(name, &format!("[dependencies]\n{used}.workspace = true\n"));
            assert_eq!(findings, [("direction", format!("{name} depends on {used}"))]);
        }
    }

    #[test]
    fn another_name_or_platform_does_not_hide_a_dependency() {
        let renamed = "[dependencies]\nheaders = { package = \"kumiki-wire\", path = \"../kumiki-wire\" }\n";
        assert_eq!(found("kumiki-graph", renamed).len(), 1);
        let platform = "[target.'cfg(unix)'.dependencies]\nkumiki-inet.workspace = true\n";
        assert_eq!(found("kumiki-io", platform).len(), 1);
        let build = "[build-dependencies]\nkumiki-inet.workspace = true\n";
        assert_eq!(found("kumiki-io", build).len(), 1);
    }

    #[test]
    fn what_only_tests_use_has_a_rule_of_its_own() {
        let findings = found("kumiki-graph", "[dev-dependencies]\nkumiki-wire.workspace = true\n");
        assert_eq!(findings.first().map(|(rule, _)| *rule), Some("dev-direction"));
    }

    #[test]
    fn a_crate_without_a_place_is_refused() {
        assert_eq!(found("kumiki-misc", "").len(), 1);
    }

    #[test]
    fn a_manifest_must_inherit() {
        let tree = Tree::of(&[("crates/x/Cargo.toml", "[package]\nname = \"kumiki-io\"\nedition = \"2021\"\n")]);
        assert_eq!(check(&tree).len(), 3);
    }

    #[test]
    fn the_line_of_the_dependency_is_named() {
        let text = "[package]\nname = \"kumiki-io\"\nx = 1\nkumiki-sim.workspace = true\n";
        assert_eq!(line_with(text, "kumiki-sim"), 4);
    }
}
