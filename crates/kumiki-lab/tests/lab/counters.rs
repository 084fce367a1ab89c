//! `docs/counters.md` has every counter of a row with its unit and meaning, and every counter there is stands there.

use std::fmt::Write as _;

use kumiki_lab::experiment::{COUNTERS, Experiment, Options, unit_of_counter};
use kumiki_lab::scenario::{Choice, Document};

const HEAD: &str = "\
# Counters

What each counter of [a row](scenarios.md#rows) means, and what it is a number of; in `rows.csv` and a table a column has its name behind its place
(`counters.near.tcp.rack_lost`). All are counted while it was measured, but for what is said to be since the start. A counter of a line has `a_` in front for what the first of
its `ends` sends, and `b_` for the second. Made from the program: do not edit.
";

fn document() -> String {
    let mut text = HEAD.to_owned();
    for group in COUNTERS {
        let _ = writeln!(text, "\n## {}\n\n{}.\n\n| counter | unit | which |\n|---|---|---|", group.of, group.place);
        for counter in group.counters {
            let _ = writeln!(text, "| `{}` | {} | {} |", counter.name, counter.unit, counter.meaning);
        }
    }
    text
}

#[test]
fn the_list_of_counters_is_up_to_date() {
    crate::generated::is_up_to_date("counters.md", &document(), "counters");
}

/// Queues, media and switches that no scenario of the repository has.
const OTHERS: &str = r#"
title = "Others"
host.a = { graph = ["udp", "ip", "l0"], ip = { address = "10.0.0.1/24" } }
host.b = { like = "a", ip = { address = "10.0.0.2/24" } }
link.line = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s", queue = "${queue}", impair = { toward = "b.l0", loss = 0.1 } }
load.flood = { kind = "rtp", from = "a.udp", to = "b.udp", message = "188 B", rate = "12 Mb/s" }
run.duration = "1 s"
vary.queue = ["drop-tail", "codel", "fq-codel", "pie"]
"#;

/// Of all scenarios that come with the program; and each name is there once in its group.
#[test]
fn every_counter_has_a_unit() {
    let mut unknown: Vec<String> = Vec::new();
    let all = Document::builtin().unwrap().into_iter().chain([crate::arrange::parse(OTHERS)]);
    let points = all.flat_map(|document| document.points(&Choice { quick: true, ..Choice::default() }).unwrap());
    for point in points.filter(|point| point.scenario.load.values().all(|load| load.kind != "limit")) {
        let profiles = crate::arrange::profiles(&point);
        let built = Experiment::build(&point.scenario, &profiles, 1, &Options::default()).unwrap();
        for (place, counters) in built.counters() {
            for name in counters.into_keys().filter(|name| unit_of_counter(&place, name).is_none()) {
                let of = format!("{place} {name}");
                if !unknown.contains(&of) {
                    unknown.push(of);
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    for group in COUNTERS {
        let names: std::collections::BTreeSet<&str> = group.counters.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), group.counters.len(), "{}", group.of);
        let texts = group.counters.iter().flat_map(|it| [it.unit, it.meaning]);
        assert!(texts.into_iter().all(|text| !text.is_empty() && !text.contains('|')), "{}", group.of);
    }
}

#[test]
fn a_name_means_what_it_means_at_its_place() {
    for (place, name, unit) in [
        ("a.tcp", "rack_lost", Some("octets")),
        ("a.app", "lost", Some("packets")),
        ("line to b.l0", "a_lost", Some("frames or cells")),
        ("line", "a_drops", Some("frames")),
        ("switch.0", "drops", Some("cells")),
        ("a.atm0", "dropped, queue full", Some("packets")),
        ("a.ip", "dropped, no route", Some("messages")),
        ("a.tcp", "nothing", None),
    ] {
        assert_eq!(unit_of_counter(place, name), unit, "{place} {name}");
    }
}
