//! The loader through its public surface.

use proptest::prelude::*;

use super::*;

const TWO_HOSTS: &str = include_str!("../../tests/data/two-hosts.toml");

fn document(text: &str) -> Document {
    Document::parse("x", "scenarios/x.toml", text).unwrap()
}

fn choice(set: &[&str], quick: bool) -> Choice {
    Choice {
        set: set.iter().map(|&s| s.to_owned()).collect(),
        quick,
    }
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
    document(TWO_HOSTS)
        .points(&choice(&[set], false))
        .map(|points| points.len())
        .unwrap_err()
        .to_string()
}

fn varied(point: &Point) -> String {
    let values: Vec<String> = point
        .varied
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    values.join(" ")
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
    assert_eq!(
        points.iter().map(|p| p.index).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
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
    assert_eq!(
        a.graph.as_ref().unwrap().nodes(),
        ["ttcp", "tcp", "ip", "p2p0"]
    );
    let tcp = &a.settings["tcp"];
    assert_eq!(tcp["nagle"], toml::Value::Boolean(true));
    assert_eq!(tcp["window"].as_str(), Some("256 KiB"));
    assert_eq!(
        point.scenario.link["line"].propagation.as_deref(),
        Some("10 ms")
    );
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
    let set = points(
        &[
            "mss=512 B",
            "nagle=false",
            "host.b.tcp.mss=9140 B",
            "workload.sessions=3",
        ],
        false,
    );
    assert_eq!(set.len(), 2, "nagle off skips one of three windows");
    let scenario = &set.first().unwrap().scenario;
    assert_eq!(
        scenario.host["a"].settings["tcp"]["mss"].as_str(),
        Some("512 B")
    );
    assert_eq!(
        scenario.host["b"].settings["tcp"]["mss"].as_str(),
        Some("9140 B")
    );
    assert_eq!(scenario.workload.sessions, 3);
    assert_eq!(
        points(&["window=16 KiB", "nagle=true"], false).len(),
        2,
        "two round trips"
    );
    assert_eq!(
        points(&["rtt=0 ms .. 8 ms step 2 ms", "nagle=true"], false).len(),
        15
    );
}

#[test]
fn the_papers_value_belongs_to_its_point_however_it_is_written() {
    let with: Vec<usize> = points(&["window=262144 B"], false)
        .iter()
        .filter(|p| p.compare().is_some())
        .map(|p| p.index)
        .collect();
    assert_eq!(with, [0, 1], "two round trips, nagle on");
}

#[test]
fn a_fault_found_later_is_placed_by_its_path() {
    let points = points(&["host.a.tcp.sack=yes"], false);
    let point = points.first().unwrap();
    let fault = Fault::unknown(["host", "b", "tcp", "mss"], "size", "1460 B", &["1", "2"]);
    assert_eq!(
        point.locate(fault).to_string(),
        r#"scenarios/x.toml:17: host.b.tcp.mss = "1460 B": unknown size "1460 B"; one of 1, 2"#
    );
    let inherited = point.locate(Fault::at(["host", "b", "tcp", "window"], "too small"));
    assert_eq!(inherited.line(), Some(13));
    let set = point.locate(Fault::at(["host", "a", "tcp", "sack"], "no such setting"));
    assert_eq!(
        set.to_string(),
        r#"--set host.a.tcp.sack=yes (scenarios/x.toml): host.a.tcp.sack = "yes": no such setting"#
    );
    let above = point.locate(Fault::at(["host", "a", "ip", "mtu"], "is missing"));
    assert_eq!(above.line(), Some(10), "{above}");
}

#[test]
fn wrong_scenarios_get_one_message_with_line_and_suggestion() {
    let cases: &[(&str, &str, &str)] = &[
        ("title = \"Two hosts, one line\"", "title = ", ""),
        ("medium =", "medum =", ""),
        ("profile = \"zero\"", "profil = \"zero\"", ""),
        ("[workload]", "[workloads]", ""),
        ("message = \"8 KiB\"", "message = \"8 KB\"", ""),
        ("rate = \"155.52 Mb/s\"", "rate = \"155.52 Mbsp\"", ""),
        ("duration = \"10 s\"", "duration = 10", ""),
        ("count = 100", "count = -1", ""),
        ("window = \"${window}\"", "window = \"${widow}\"", ""),
        ("from = \"a.ttcp\"", "from = \"c.ttcp\"", ""),
        ("to = \"b.ttcp\"", "to = \"b.tcpp\"", ""),
        ("\"b.p2p0\"]", "\"b.p2p1\"]", ""),
        ("\"b.p2p0\"]", "\"b.ip\"]", ""),
        ("\"b.p2p0\"]", "\"a.p2p0\"]", ""),
        ("\"b.p2p0\"]", "\"b.p2p0\", \"c.p2p0\"]", ""),
        ("like = \"a\"", "like = \"A\"", ""),
        ("like = \"a\"", "like = \"b\"", ""),
        ("x = \"window\"", "x = \"windows\"", ""),
        (
            "at = { window = \"256 KiB\"",
            "at = { window = \"265 KiB\"",
            "",
        ),
        ("nagle = [true, false]", "nagle = \"on\"", ""),
        ("nagle = [true, false]", "nagle = []", ""),
        (
            "\"window, rtt\" = [[\"8 KiB\", \"1 ms\"]",
            "\"window, rtt\" = [[\"8 KiB\"]",
            "",
        ),
        (
            "mss = \"8192 B\"",
            "mss = \"${size}\"\nsize = \"${mss}\"",
            "",
        ),
        ("[quick]\n\"window, rtt\"", "[quick]\n\"window,rtt,x\"", ""),
        ("rtt / 2", "rtt / 3", ""),
        ("${rtt / 2}", "1 ms", ""),
        ("graph = \"${stack_plain}\"", "graph = 3", ""),
        (
            "graph = \"${stack_plain}\"",
            "graph = { ttcp = [\"tcp\"], tcp = [\"ttcp\"] }",
            "",
        ),
        ("paper = 2", "paper = 7", ""),
        (
            "tcp = { mss = \"1460 B\" }",
            "tpc = { mss = \"1460 B\" }",
            "",
        ),
    ];
    for (from, to, expected) in cases {
        println!("{}", refused(from, to));
        let _ = expected;
    }
    for set in [
        "mss",
        "widow=3",
        "host.c.tcp.mss=3",
        "worklaod.sessions=3",
        "workload.sessions=many",
        "rtt=5 ms .. 1 ms step 1 ms",
    ] {
        println!("{}", refused_set(set));
    }
    println!("{}", Document::find("scenarios/none.toml").unwrap_err());
    println!("{}", Document::find("none").unwrap_err());
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
