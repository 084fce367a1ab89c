//! The loader through its public surface.

use proptest::prelude::*;

use super::load::LONGEST_FILE;
use super::*;
use kumiki_media::Line;

mod drawing;
mod faults;
mod rows;

const TWO_HOSTS: &str = include_str!("../../tests/data/two-hosts.toml");

fn document(text: &str) -> Document {
    Document::parse("x", "scenarios/x.toml", text).unwrap()
}

fn choice(set: &[&str], quick: bool) -> Choice {
    Choice { set: set.iter().map(|&s| s.to_owned()).collect(), quick, runs: None }
}

fn points(set: &[&str], quick: bool) -> Vec<Point> {
    document(TWO_HOSTS).points(&choice(set, quick)).unwrap()
}

/// The message for the small scenario with one piece of text replaced.
fn refused(from: &str, to: &str) -> String {
    assert!(TWO_HOSTS.contains(from), "{from}");
    let text = TWO_HOSTS.replacen(from, to, 1);
    Document::parse("x", "x.toml", &text)
        .and_then(|document| document.points(&Choice::default()))
        .map(|points| points.len())
        .unwrap_err()
        .to_string()
}

fn refused_set(set: &str) -> String {
    document(TWO_HOSTS).points(&choice(&[set], false)).map(|points| points.len()).unwrap_err().to_string()
}

fn varied(point: &Point) -> String {
    let values: Vec<String> = point.varied.iter().map(|(name, value)| format!("{name}={value}")).collect();
    values.join(" ")
}

/// Else the time for all points, and their memory, would go with the square of how many there are.
#[test]
fn a_point_has_nothing_of_the_values_of_others() {
    let points = points(&[], false);
    assert!(points.len() > 1 && points.iter().all(|point| point.scenario.vary.is_empty()));
}

#[test]
fn points_are_all_combinations_less_those_skipped_in_the_order_of_the_file() {
    let points = points(&[], false);
    let all: Vec<String> = points.iter().map(varied).collect();
    assert_eq!(
        all,
        [
            r#"nagle=true window="8 KiB" rtt="1 ms""#,
            r#"nagle=true window="48 KiB" rtt="20 ms""#,
            r#"nagle=true window="256 KiB" rtt="20 ms""#,
            r#"nagle=false window="48 KiB" rtt="20 ms""#,
            r#"nagle=false window="256 KiB" rtt="20 ms""#,
        ]
    );
    assert_eq!(points.iter().map(|p| p.index).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn quick_has_fewer_points() {
    assert_eq!(points(&[], true).len(), 2);
}

#[test]
fn names_are_replaced_and_keep_their_type() {
    let points = points(&[], false);
    let point = points.get(2).unwrap();
    let a = &point.scenario.host["a"];
    assert_eq!(a.graph.as_ref().unwrap().nodes(), ["ttcp", "tcp", "ip", "p2p0"]);
    let tcp = &a.settings["tcp"];
    assert_eq!(tcp["nagle"], toml::Value::Boolean(true));
    assert_eq!(tcp["window"].as_str(), Some("256 KiB"));
    assert_eq!(point.scenario.link["line"].settings["propagation"].as_str(), Some("10 ms"));
}

#[test]
fn a_host_takes_what_it_does_not_say_from_the_one_it_is_like() {
    let points = points(&[], false);
    let b = &points.first().unwrap().scenario.host["b"];
    assert_eq!(b.profile.as_deref(), Some("zero"));
    assert_eq!(b.settings["tcp"]["mss"].as_str(), Some("1460 B"));
    assert_eq!(b.settings["tcp"]["window"].as_str(), Some("8 KiB"));
}

#[test]
fn set_replaces_definitions_varied_names_and_values() {
    let set = points(&["mss=512 B", "nagle=false", "host.b.tcp.mss=9140 B", "load.bulk.sessions=3"], false);
    assert_eq!(set.len(), 2, "nagle off skips one of three windows");
    let scenario = &set.first().unwrap().scenario;
    assert_eq!(scenario.host["a"].settings["tcp"]["mss"].as_str(), Some("512 B"));
    assert_eq!(scenario.host["b"].settings["tcp"]["mss"].as_str(), Some("9140 B"));
    assert_eq!(scenario.load["bulk"].sessions, 3);
    assert_eq!(points(&["window=16 KiB", "nagle=true"], false).len(), 2, "two round trips");
    assert_eq!(points(&["rtt=0 ms .. 8 ms step 2 ms", "nagle=true"], false).len(), 15);
}

#[test]
fn the_papers_value_belongs_to_its_point_however_it_is_written() {
    let with: Vec<usize> =
        points(&["window=262144 B"], false).iter().filter(|p| p.compare().is_some()).map(|p| p.index).collect();
    assert_eq!(with, [0], "its row alone, nagle on");
}

#[test]
fn each_of_several_loads_is_judged() {
    let beside = |text: &str| {
        let text = format!("{TWO_HOSTS}\n[load.other]\n{text}\n");
        let document = Document::parse("x", "x.toml", &text);
        let points = document.and_then(|document| document.points(&Choice::default()));
        points.map(|_| ()).map_err(|fault| {
            // Without the line.
            let text = fault.to_string();
            let (_, words) = text.split_once(": ").unwrap();
            words.to_owned()
        })
    };
    let other = "kind = \"netperf\"\nfrom = \"a.ttcp\"\nto = \"b.ttcp\"\nmessage = \"8 KiB\"";
    for (from, to, fault) in [
        ("8 KiB", "0 B", r#"load.other.message = "0 B": messages without octets"#),
        (
            "\"netperf\"",
            "\"ttcp\"\nsize = \"0 B\"",
            r#"load.other.size = "0 B": transfers without octets; expected at least 1 B"#,
        ),
        (
            "\"netperf\"",
            "\"ttcp\"\nsize = \"exponential 0 B\"",
            r#"load.other.size = "exponential 0 B": transfers without octets"#,
        ),
        ("b.ttcp", "c.ttcp", r#"load.other.to = "c.ttcp": unknown host "c"; one of a, b"#),
        ("message", "start = \"2 d\"\nmessage", r#"load.other.start = "2 d": unknown unit "d""#),
        (
            "message",
            "start = \"25 h\"\nmessage",
            r#"load.other.start = "25 h": longer than a day; expected at most 24 h"#,
        ),
    ] {
        let found = beside(&other.replacen(from, to, 1)).unwrap_err();
        assert!(found.starts_with(fault), "{found}");
    }
}

/// Whether that host had a value before or not.
#[test]
fn what_is_set_on_a_host_is_not_set_on_those_that_are_like_it() {
    for (set, key, other) in
        [("host.a.tcp.window=9 KiB", "window", Some("8 KiB")), ("host.a.tcp.sack=yes", "sack", None)]
    {
        let points = points(&[set], false);
        let hosts = &points.first().unwrap().scenario.host;
        let of = |host: &str| hosts[host].settings["tcp"].get(key).cloned();
        let (_, value) = set.split_once('=').unwrap();
        assert_eq!(of("a").as_ref().and_then(|it| it.as_str()), Some(value));
        assert_eq!(of("b").as_ref().and_then(|it| it.as_str()), other);
    }
    // Which host it is like may be chosen too, and is settled by then.
    let said = refused_set("host.b.like=c");
    assert!(said.contains("unknown host \"c\""), "{said}");
}

/// Also where the table stands behind a name, or a name of that; who else has it by that name keeps it.
#[test]
fn a_part_of_a_table_that_is_defined_can_be_set() {
    let text = r#"
title = "x"
define = { stack = "${${which}}", plain = { congestion = "cubic", ecn = "off" }, mine = "${plain}", which = "plain" }
host.a = { graph = ["tcp", "ip", "l0"], tcp = "${mine}" }
host.b = { graph = ["tcp", "ip", "l0"], tcp = "${mine}" }
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run.duration = "1 s"
"#;
    let tcp = |set: &str, host: &str| {
        let points = document(text).points(&choice(&[set], false)).unwrap();
        points[0].scenario.host[host].settings["tcp"].to_string()
    };
    let [set, other] = ["a", "b"].map(|host| tcp("host.a.tcp.ecn=classic", host));
    assert_eq!((set.contains("classic"), set.contains("cubic")), (true, true), "{set}");
    assert!(other.contains("off") && other.contains("cubic"), "{other}");
    // What is chosen point by point is not known when that is set.
    let text = text.replace("tcp = \"${mine}\"", "tcp = \"${${which}}\"");
    let said = document(&text).points(&choice(&["host.a.tcp.ecn=classic"], false)).unwrap_err().to_string();
    assert!(said.contains("host.a.tcp.ecn: there is no table above \"ecn\""), "{said}");
}

#[test]
fn the_scenarios_of_the_repository_load_in_full_and_quick() {
    for document in Document::builtin().unwrap() {
        for quick in [false, true] {
            let points = document.points(&choice(&[], quick)).map(|points| points.len());
            let count = points.unwrap_or_else(|why| panic!("{why}"));
            // They can be counted without being made.
            assert!(quick || count == document.count().unwrap(), "{}", document.name());
        }
    }
}

proptest! {
    #[test]
    fn no_text_panics(text: String) {
        let _ = Document::parse("x", "x", &text).and_then(|d| d.points(&Choice::default()));
    }

    #[test]
    fn no_change_of_a_scenario_panics(at in 0..TWO_HOSTS.len(), length in 0..40_usize, new in "[a-z\\[\\]{}\"$=. 0-9\n]{0,12}", set: String) {
        let end = (at + length).min(TWO_HOSTS.len());
        let mut text = TWO_HOSTS.to_owned();
        text.replace_range(at..end, &new);
        let _ = Document::parse("x", "x", &text).and_then(|d| d.points(&choice(&[&set, "rtt=3 ms"], at % 2 == 0)));
        let _ = Document::parse("x", "x", TWO_HOSTS).and_then(|d| d.points(&choice(&[&set, &format!("{new}={set}")], false)));
    }
}

/// One notation for a chance, whoever reads it: a number, or a share with its unit.
#[test]
fn a_chance_is_a_number_or_a_share() {
    let loss = |text: &str| {
        let medium = "medium = \"point-to-point\"";
        assert!(TWO_HOSTS.contains(medium));
        let with = format!("{medium}\nimpair = {{ loss = {text} }}");
        let points = document(&TWO_HOSTS.replacen(medium, &with, 1)).points(&Choice::default());
        points
            .map(|points| {
                let Line::Frames(frames) = points[0].scenario.link["line"].line().unwrap() else {
                    panic!("not a line with frames");
                };
                frames.impair.unwrap().any.loss
            })
            .map_err(|fault| fault.to_string())
    };
    for text in ["0.01", "\"1%\"", "\"1 %\"", "\"0.01\"", "\"10000 ppm\""] {
        assert_eq!(loss(text), Ok(0.01), "{text}");
    }
    for text in ["2", "1.5", "\"200 %\"", "\"much\""] {
        assert!(loss(text).is_err(), "{text}");
    }
}

/// A sweep has many points, which differ in little.
#[test]
fn what_is_the_same_at_two_points_is_in_memory_once() {
    let points = points(&[], false);
    let [one, other] = [0, 1].map(|number| &*points[number].scenario);
    // The round trip and the window vary, so the line and the hosts do, and the load does not.
    assert!(one.host != other.host && one.link != other.link);
    assert!(std::ptr::eq(&raw const *one.load, &raw const *other.load));
    let mut changed = Scenario::clone(one);
    changed.load.get_mut("bulk").unwrap().count = Some(7);
    assert_eq!((changed.load["bulk"].count, other.load["bulk"].count), (Some(7), Some(100)));
}
