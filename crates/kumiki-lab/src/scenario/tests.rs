//! The loader through its public surface.

use proptest::prelude::*;

use super::load::LONGEST_FILE;
use super::*;
use crate::medium::Line;

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

/// Whoever forgets a quotation mark is told of that, at the place where it is missing or what it closes begins.
#[test]
fn a_string_that_is_not_closed_is_told_where_it_begins() {
    for (text, wanted) in [
        (
            "title = \"A line\nx = 1\n",
            "x.toml:1: not TOML: nothing closes the string that begins here: \"A line; expected \" at its end, in the same line",
        ),
        (
            "title = 'A line\nx = 1\n",
            "x.toml:1: not TOML: nothing closes the string that begins here: 'A line; expected ' at its end, in the same line",
        ),
        (
            "a = 1\nb = \"x\" # \"no\nt = [\"a\", \"b]\n",
            "x.toml:3: not TOML: nothing closes the string that begins here: \"b]; expected \" at its end, in the same line",
        ),
        (
            "t = [\"a\", \"b, \"c\"]\n",
            "x.toml:1: not TOML: an odd number of quotation marks in one line, 5: a string is not closed, or not opened; expected \" on both sides of each string",
        ),
        (
            "t = [\"a\\\"a\", \"b, \"c\"]\n",
            "x.toml:1: not TOML: an odd number of quotation marks in one line, 5: a string is not closed, or not opened; expected \" on both sides of each string",
        ),
        (
            "a = 1\nt = \"\"\"A\nb = \"c\"\n",
            "x.toml:2: not TOML: nothing closes the text that begins with \"\"\" here; expected \"\"\" at its end",
        ),
        (
            "a = 1\nd = 2 s\"\n",
            "x.toml:2: not TOML: 2 s has a quotation mark behind it and none before it; expected \"2 s\"",
        ),
    ] {
        assert_eq!(Document::parse("x", "x.toml", text).unwrap_err().to_string(), wanted);
    }
}

#[test]
fn wrong_scenarios_get_one_message_with_line_and_suggestion() {
    for (from, to, message) in [
        (
            "title = \"Two hosts, one line\"",
            "title = ",
            r#"x.toml:1: not TOML: string values must be quoted, expected literal string"#,
        ),
        (
            "medium =",
            "medum =",
            r#"x.toml:21: link.line.medum = "point-to-point": unknown key "medum"; did you mean medium? (one of ends, medium, a setting of the medium)"#,
        ),
        (
            "profile = \"zero\"",
            "profil = \"zero\"",
            r#"x.toml:11: host.a.profil = "zero": unknown key "profil"; did you mean profile? (one of count, like, profile, graph, kind, a table of settings for each node)"#,
        ),
        ("[run]", "[runs]", r#"x.toml:25: runs: unknown key "runs"; did you mean run?"#),
        (
            "message = \"8 KiB\"",
            "message = \"8 KB\"",
            r#"x.toml:32: load.bulk.message = "8 KB": unit "KB" is not accepted, as it stands for 1000 as often as for 1024; try KiB (1024 octets) or kB (1000 octets)"#,
        ),
        (
            "rate = \"155.52 Mb/s\"",
            "rate = \"155.52 Mbsp\"",
            r#"x.toml:22: link.line.rate = "155.52 Mbsp": unknown unit "Mbsp"; try Mb/s"#,
        ),
        (
            "duration = \"10 s\"",
            "duration = 10",
            r#"x.toml:26: run.duration = 10: this is the integer 10; expected a string, with a unit where that is a quantity: "5 s""#,
        ),
        (
            "count = 100",
            "count = -1",
            r#"x.toml:33: load.bulk.count = -1: the integer -1 is out of range; expected a whole number from 0"#,
        ),
        (
            "window = \"${window}\"",
            "window = \"${widow}\"",
            r#"x.toml:13: host.a.tcp.window = "${widow}": unknown name ${widow}; did you mean ${window}?"#,
        ),
        (
            "from = \"a.ttcp\"",
            "from = \"c.ttcp\"",
            r#"x.toml:30: load.bulk.from = "c.ttcp": unknown host "c"; one of a, b"#,
        ),
        (
            "to = \"b.ttcp\"",
            "to = \"b.tcpp\"",
            r#"x.toml:31: load.bulk.to = "b.tcpp": unknown layer of host b "tcpp"; did you mean "tcp"? (one of ttcp, tcp, ip, p2p0)"#,
        ),
        (
            "\"b.p2p0\"]",
            "\"b.p2p1\"]",
            r#"x.toml:20: link.line.ends.1 = "b.p2p1": unknown device of host b "p2p1"; did you mean "p2p0"? (there is only p2p0)"#,
        ),
        (
            "\"b.p2p0\"]",
            "\"b.ip\"]",
            r#"x.toml:20: link.line.ends.1 = "b.ip": the layer "ip" of host b is no device, as it stands on another; there is only p2p0"#,
        ),
        (
            "\"b.p2p0\"]",
            "\"a.p2p0\"]",
            r#"x.toml:20: link.line.ends.1 = "a.p2p0": another line ends here already; expected a device of its own for each line: another name at the end of the graph of a"#,
        ),
        (
            "\"b.p2p0\"]",
            "\"b.p2p0\", \"c.p2p0\"]",
            r#"x.toml:20: link.line.ends = ["a.p2p0", "b.p2p0", "c.p2p0"]: 3 values; expected a list of 2, such as ends = ["a.l0", "b.l0"]"#,
        ),
        (
            "like = \"a\"",
            "like = \"A\"",
            r#"x.toml:16: host.b.like = "A": unknown host "A"; did you mean "a"? (one of a, b)"#,
        ),
        ("like = \"a\"", "like = \"b\"", r#"x.toml:16: host.b.like = "b": a host that is like itself: b like b"#),
        (
            "x = \"window\"",
            "x = \"windows\"",
            r#"x.toml:47: report.x = "windows": unknown varied name "windows"; did you mean "window"? (one of nagle, window, rtt)"#,
        ),
        (
            "at = { window = \"256 KiB\"",
            "at = { window = \"265 KiB\"",
            r#"x.toml:53: compare.0.at.window = "265 KiB": unknown value of window "265 KiB"; did you mean "256 KiB"? (one of 8 KiB, 48 KiB, 256 KiB)"#,
        ),
        (
            "nagle = [true, false]",
            "nagle = \"on\"",
            r#"x.toml:36: vary.nagle = "on": neither a list nor quantities; expected a list such as ["on"], or a range such as "0 ms .. 200 ms step 20 ms""#,
        ),
        ("nagle = [true, false]", "nagle = []", r#"x.toml:36: vary.nagle: a list without values"#),
        (
            "\"window, rtt\" = [[\"8 KiB\", \"1 ms\"]",
            "\"window, rtt\" = [[\"8 KiB\"]",
            r#"x.toml:37: vary.window, rtt: 1 value for 2 names; expected a list of lists, each with one value for each of the 2 names"#,
        ),
        (
            "mss = \"8192 B\"",
            "mss = \"${size}\"\nsize = \"${mss}\"",
            r#"x.toml:8: define.size = "${mss}": a definition that needs itself: mss -> size -> mss"#,
        ),
        (
            "[quick]\n\"window, rtt\"",
            "[quick]\n\"window,rtt,x\"",
            r#"x.toml:40: quick.window,rtt,x = [["48 KiB", "20 ms"]]: unknown name "window,rtt,x"; did you mean "window, rtt"? (one of nagle, window, rtt, mss, stack_plain)"#,
        ),
        (
            "rtt / 2",
            "rtt / 3",
            r#"x.toml:23: link.line.propagation = "${rtt / 3}": ${rtt / 3} cannot be worked out, as rtt is "1 ms": it is not whole; expected a result that is whole, in the smallest unit of its kind"#,
        ),
        (
            "\"${rtt / 2}\"",
            "\"${rtt / 1 us}\"",
            r#"x.toml:23: link.line.propagation = 1000 (worked out with vary.rtt in line 37): this is 1000; expected a time such as "20 ms""#,
        ),
        (
            "nagle = [true, false]\n\"window, rtt\"",
            "nagle = [true, true]\n\"window, rtt\"",
            r#"x.toml:36: vary.nagle: true is there twice; expected each value once; [run] repeat makes several runs of it"#,
        ),
        (
            "[\"256 KiB\", \"20 ms\"]]",
            "[\"8192 B\", \"1000 us\"]]",
            r#"x.toml:37: vary.window, rtt: "8192 B", "1000 us" is the same as "8 KiB", "1 ms"; expected each value once; [run] repeat makes several runs of it"#,
        ),
        (
            "nagle = [true, false]\n\"window, rtt\"",
            "nagle = \"-20 .. 20 step 20\"\n\"window, rtt\"",
            r#"x.toml:36: vary.nagle = "-20 .. 20 step 20": values below 0 are numbers of a list; expected a list such as [-20, 0, 20]; ranges begin at 0 or above"#,
        ),
        (
            "duration = \"10 s\"",
            "duration = \"10 s\"\nseed = 9223372036854775807\nrepeat = { runs = 3 }",
            r#"x.toml:27: run.seed = 9223372036854775807: the seeds of 3 runs would be more than a file can give; expected at most 9223372036854775805"#,
        ),
        (
            "count = 100",
            "count = 18446744073709551615",
            r#"x.toml:33: the number 18446744073709551615 is out of range; expected a whole number from -9223372036854775808 to 9223372036854775807"#,
        ),
        (
            "nagle = \"${nagle}\"",
            "nagle = true",
            r#"x.toml:36: vary.nagle = [true, false]: nothing in the scenario uses ${nagle}, so all its values would give the same"#,
        ),
        (
            "graph = \"${stack_plain}\"",
            "graph = 3",
            r#"x.toml:12: host.a.graph = 3: this is the integer 3; expected a list of layers, or a table that gives the list of layers below each node, such as graph = ["netperf", "tcp", "ip", "l0"]"#,
        ),
        (
            "graph = \"${stack_plain}\"",
            "graph = { ttcp = [\"tcp\"], tcp = [\"ttcp\"] }",
            r#"x.toml:12: host.a.graph: layers that stand on themselves: tcp on ttcp on tcp"#,
        ),
        ("paper = 2", "paper = 7", r#"x.toml:3: paper = 7: there is no paper 7; expected 1 to 5"#),
        (
            "tcp = { mss = \"1460 B\" }",
            "tpc = { mss = \"1460 B\" }",
            r#"x.toml:17: host.b.tpc: unknown layer "tpc"; did you mean "tcp"? (one of ttcp, tcp, ip, p2p0)"#,
        ),
    ] {
        assert_eq!(refused(from, to), message);
    }
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

#[test]
fn an_unknown_profile_is_named_with_those_there_are() {
    let message = refused("profile = \"zero\"", "profile = \"zreo\"");
    let (start, end) =
        ("x.toml:11: host.a.profile = \"zreo\": unknown profile \"zreo\"; did you mean \"zero\"? (", "zero)");
    assert!(message.starts_with(start) && message.ends_with(end), "{message}");
    assert_eq!(
        refused("profile = \"zero\"", "profile = \"./none.toml\""),
        "x.toml:11: host.a.profile = \"./none.toml\": ./none.toml: there is nothing of that name"
    );
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
fn wrong_settings_get_one_message_with_a_suggestion() {
    for (set, message) in [
        ("mss", r#"--set mss (scenarios/x.toml): no "="; expected NAME=VALUE"#),
        (
            "widow=3",
            r#"--set widow=3 (scenarios/x.toml): unknown name "widow"; did you mean window? (one of nagle, window, rtt, mss, stack_plain)"#,
        ),
        ("host.c.tcp.mss=3", r#"--set host.c.tcp.mss=3 (scenarios/x.toml): there is no host "c"; one of a, b"#),
        (
            "laod.bulk.sessions=3",
            r#"--set laod.bulk.sessions=3 (scenarios/x.toml): "laod" cannot be set; did you mean load? (one of host, switch, link, ring, load, run, report, title)"#,
        ),
        (
            "load.bulk.sessions=many",
            r#"--set load.bulk.sessions=many (scenarios/x.toml): load.bulk.sessions = "many": this is a string; expected a whole number from 0 to 4294967295"#,
        ),
        (
            "rtt=5 ms .. 1 ms step 1 ms",
            r#"--set rtt=5 ms .. 1 ms step 1 ms (scenarios/x.toml): vary.rtt = "5 ms .. 1 ms step 1 ms": the range runs backwards; try 1 ms .. 5 ms"#,
        ),
    ] {
        assert_eq!(refused_set(set), message);
    }
}

#[test]
fn a_wrong_value_from_set_is_said_to_be_from_there() {
    for (set, words) in [
        ("report.value=jian", "--set report.value=jian"),
        ("report.x=widow", "unknown varied name \"widow\""),
        ("report.x_scale=log3", "unknown scale \"log3\""),
    ] {
        assert!(refused_set(set).contains(words), "{}", refused_set(set));
    }
    assert_eq!(
        refused_set("load.bulk.message=8 KB"),
        "--set load.bulk.message=8 KB (scenarios/x.toml): load.bulk.message = \"8 KB\": unit \"KB\" is not accepted, as it stands for 1000 as \
         often as for 1024; try KiB (1024 octets) or kB (1000 octets)"
    );
    let text = TWO_HOSTS.replace("message = \"8 KiB\"", "message = \"${mss}\"");
    let fault = Document::parse("x", "x.toml", &text)
        .and_then(|document| document.points(&choice(&["mss=[8KiB]"], false)))
        .map(|points| points.len())
        .unwrap_err();
    assert!(fault.to_string().starts_with("--set mss=[8KiB] (x.toml): load.bulk.message = \"[8KiB]\": "), "{fault}");
}

#[test]
fn a_missing_file_and_an_unknown_name_are_said() {
    assert_eq!(
        Document::find("scenarios/none.toml").unwrap_err().to_string(),
        "scenarios/none.toml: there is no directory scenarios"
    );
    let unknown = Document::find("none").unwrap_err().to_string();
    assert!(unknown.starts_with("there is no scenario \"none\""), "{unknown}");
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

#[test]
fn rows_carry_what_varies_as_numbers_in_the_unit_of_their_names() {
    use crate::rows::Parameter;

    let parameters = |set: &[&str], text: &str| {
        let document = Document::parse("x", "x", text).unwrap();
        document.points(&choice(set, false)).unwrap().remove(0).parameters()
    };
    let named = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        parameters(&["rtt=1500 us"], TWO_HOSTS),
        [
            named("nagle", Parameter::Switch(true)),
            named("window_bytes", Parameter::Count(8192)),
            named("rtt_ms", Parameter::Number(1.5)),
        ]
    );
    let without = TWO_HOSTS.replace("rows = { window = \"window_bytes\", rtt = \"rtt_ms\" }", "");
    assert_eq!(
        parameters(&[], &without),
        [
            named("nagle", Parameter::Switch(true)),
            named("window_bytes", Parameter::Count(8192)),
            named("rtt_ms", Parameter::Count(1)),
        ],
        "the unit is added"
    );
    let seconds = TWO_HOSTS.replace("rtt = \"rtt_ms\"", "rtt = \"rtt_us\", nagle = \"series\"");
    assert_eq!(
        parameters(&[], &seconds),
        [named("window_bytes", Parameter::Count(8192)), named("rtt_us", Parameter::Count(1000)),],
        "what is the series is not repeated"
    );
}

/// Else half of them could not be named: `--where` looks in one.
#[test]
fn all_values_of_a_name_stand_in_one_column_of_rows() {
    use crate::rows::Parameter::{Count, Number, Text};

    let text = r#"
title = "One line"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", impair.loss = "${loss}" }
load.call = { kind = "rpc", from = "a", to = "b", message = "100 B", think = "${think}" }
run.duration = "1 s"
vary = { loss = [0.0001, "0.1 %", 0], think = ["0 s", "100 ms"] }
"#;
    let of = |name: &str, set: &[&str]| {
        let points = Document::parse("x", "x", text).unwrap().points(&choice(set, false)).unwrap();
        let all = points.iter().flat_map(Point::parameters).filter(|(column, _)| column.starts_with(name));
        let mut all: Vec<_> = all.collect();
        all.dedup();
        all
    };
    let named = |name: &str, value| (name.to_owned(), value);
    let percent = |value| named("loss_percent", value);
    assert_eq!(of("loss", &["think=0 s"]), [percent(Number(0.01)), percent(Number(0.1)), percent(Number(0.0))]);
    // Of one kind each says for itself what it is.
    assert_eq!(
        of("loss", &["think=0 s", "loss=[0.5, 0.25]"]),
        [named("loss", Number(0.5)), named("loss", Number(0.25))]
    );
    assert_eq!(of("think", &["loss=0"]), [named("think_ms", Count(0)), named("think_ms", Count(100))]);
    let drawn = r#"think=["0 s", "100 ms", "exponential 100 ms"]"#;
    let words = ["0 s", "100 ms", "exponential 100 ms"].map(|it| named("think", Text(it.to_owned())));
    assert_eq!(of("think", &["loss=0", drawn]), words);
}

#[test]
fn a_row_knows_its_place_in_the_paper_before_it_ran() {
    let points = points(&[], false);
    let row = points.get(2).unwrap().row();
    assert_eq!(
        (row.paper, row.figure.as_str(), row.series.as_str(), row.profile.as_str()),
        (Some(2), "fig6", "nagle on", "zero")
    );
    assert_eq!((row.paper_mbps, row.seed, row.fitted), (Some(133.4), 1, false));
    assert_eq!(points.first().unwrap().label(), "nagle on, window 8 KiB, rtt 1 ms");
}

#[test]
fn depth_and_size_have_ends() {
    let load = |text: &str| {
        Document::parse("x", "x", text)
            .and_then(|d| d.points(&Choice::default()))
            .map(|points| points.len())
            .map_err(|fault| fault.to_string())
    };
    let deep = 100_000;
    for text in [
        format!("x = {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("x = {}1{}", "{ a = ".repeat(deep), "}".repeat(deep)),
        format!("{}x = 1", "a.".repeat(deep)),
        format!("[{}x]", "a.".repeat(deep)),
        TWO_HOSTS.replace("8192 B", &format!("{}{}", "${".repeat(deep), "}".repeat(deep))),
        TWO_HOSTS.replace("[true, false]", "\"0 .. 60000 step 1\""),
        TWO_HOSTS.replace("8192 B", &"${window}".repeat(deep)),
    ] {
        assert!(load(&text).is_err());
    }
    // Each definition is twice the one before it.
    let doubled: String = (0..40).map(|i| format!("d{i} = \"${{d{next}}}${{d{next}}}\"\n", next = i + 1)).collect();
    let text = TWO_HOSTS.replace("mss = \"8192 B\"", &format!("mss = \"${{d0}}\"\n{doubled}d40 = \"\""));
    assert!(load(&text).is_err());
    // No longer than a file may be.
    let deep = 1_000;
    let chain: String = (0..deep).map(|i| format!("d{i} = \"${{d{}}}\"\n", i + 1)).collect();
    let text = TWO_HOSTS.replace("mss = \"8192 B\"", &format!("mss = \"${{d0}}\"\n{chain}d{deep} = \"1 B\""));
    assert!(load(&text).unwrap_err().contains("more than 32 deep"));
}

#[test]
fn the_graph_is_drawn_as_text_and_as_svg() {
    let points = points(&["host.b.graph={ ttcp = ['tcp'], echo = ['tcp'], tcp = ['ip'], ip = ['p2p0'] }"], true);
    let scenario = &points.first().unwrap().scenario;
    assert_eq!(
        scenario.graph_text(),
        r#"Two hosts, one line

host a, profile zero
  ttcp
    tcp  mss = "8192 B", nagle = true, window = "48 KiB"
      ip  address = "10.0.0.1/24"
        p2p0  -- line -- b.p2p0

host b, profile zero
  echo
    tcp  mss = "1460 B", nagle = true, window = "48 KiB"
      ip  address = "10.0.0.2/24"
        p2p0  -- line -- a.p2p0
  ttcp
    tcp, as above

link line: a.p2p0 - b.p2p0, point-to-point, 155.52 Mb/s, 10 ms

load bulk: ttcp, a.ttcp - b.ttcp
"#
    );
    let svg = scenario.graph_svg();
    assert_eq!(svg.matches("<rect").count(), 10, "the page, four and five layers");
    assert!(svg.contains("line: point-to-point, 155.52 Mb/s, 10 ms"), "{svg}");
}

/// Two hosts of layers that branch and meet again, and a switch between them.
const SWITCHED: &str = r#"
title = "A switch <one & two>"
[host.a]
graph = { test = ["tcp", "xtp"], tcp = ["ip"], ip = ["vnet"], xtp = ["vnet"], vnet = ["atm0"] }
kind = { test = "netperf" }
[host.b]
graph = ["bench", "tcp", "ip", "llc_snap", "atm0"]
[switch.exchange]
ports = 2
queue_cells = 1024
channels = ["0 0/100 <-> 1 0/100"]
[link]
one = { ends = ["a.atm0", "exchange.0"], medium = "oc3c-atm", propagation = "1 us" }
two = { ends = ["exchange.1", "b.atm0"], medium = "ds3-plcp", impair = { delay = "10 ms" } }
[run]
duration = "1 s"
[load.bulk]
kind = "netperf"
from = "a.test"
to = "b.bench"
message = "8192 B"
"#;

/// As it is read, and not judged.
fn unjudged(text: &str) -> Scenario {
    toml::from_str(text).unwrap()
}

#[test]
fn what_several_layers_stand_on_and_what_a_switch_does_is_shown_once() {
    let scenario = unjudged(SWITCHED);
    let text = scenario.graph_text();
    let shared = "  test (netperf)\n    tcp\n      ip\n        vnet\n          atm0  -- one -- exchange.0\n    xtp\n      vnet, as above\n";
    assert!(text.contains(shared), "{text}");
    assert!(text.contains("\nswitch exchange, atm, 2 ports, 1024 cells in a queue\n  0 0/100 <-> 1 0/100\n"), "{text}");
    let svg = scenario.graph_svg();
    for words in
        ["test", "llc_snap", "exchange", "one: oc3c-atm, 1 us", "two: ds3-plcp, impaired", "&lt;one &amp; two&gt;"]
    {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    assert_eq!(svg, scenario.graph_svg());
}

#[test]
fn what_makes_no_sense_is_drawn_as_far_as_it_does() {
    let graph = "[\"bench\", \"tcp\", \"ip\", \"llc_snap\", \"atm0\"]";
    for (from, to) in [
        // A circle, a host like itself, a line to nowhere, a graph without nodes, a switch without ports, a host without a graph.
        (graph, "{ a = [\"b\"], b = [\"a\"] }"),
        (graph, "{ a = [\"a\"] }\nlike = \"b\""),
        ("\"b.atm0\"]", "\"nobody.atm0\"]"),
        (graph, "[]"),
        ("ports = 2", "ports = 0"),
        ("graph = [\"bench\"", "#"),
    ] {
        let text = SWITCHED.replace(from, to);
        assert_ne!(text, SWITCHED, "{from}");
        let scenario = unjudged(&text);
        assert!(scenario.graph_text().ends_with('\n'), "{to}");
        assert!(scenario.graph_svg().contains("</svg>"), "{to}");
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

#[test]
fn what_is_too_much_is_counted_before_it_is_made() {
    let many = vec!["1"; 10_001].join(", ");
    assert_eq!(
        refused("[vary]\n", &format!("[vary]\nmore = [{many}]\n")),
        "x.toml:36: vary.more: 10001 values make more than 10000 combinations"
    );
    let text = "x".repeat(LONGEST_FILE + 1);
    let told = Document::parse("x", "x.toml", &text).unwrap_err();
    assert_eq!(told.to_string(), "x.toml: 262145 octets; a scenario has at most 262144");
    let host = |n: u32| format!("\n[host.h{n}]\nlike = \"h{}\"\n", n + 1);
    let row: String = (0..40).map(host).collect();
    let told = refused("[host.b]\n", &format!("{row}\n[host.h40]\nlike = \"a\"\n[host.b]\n"));
    let expected = "more than 32 hosts in a row that are like each other";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_table_that_there_is_not_is_told_before_the_names_that_it_would_have_given() {
    assert_eq!(
        refused("[vary]", "[sweep]").split(" (one of title").next().unwrap(),
        "x.toml:35: sweep: unknown key \"sweep\"; did you mean vary?"
    );
    assert!(refused("[run]", "[runs]").contains("unknown key \"runs\"; did you mean run?"));
}

#[test]
fn a_wrong_value_that_is_varied_is_told_with_the_line_that_has_it() {
    let text = r#"title = "Which?"
host.a = { graph = ["tcp", "ip", "l0"], tcp.send_buffer = "${size}" }
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "${of}", rate = "1 Mb/s" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run.duration = "1 s"
[vary]
of = ["point-to-point", "point-to-pont"]
size = ["8 KiB", "8 Kib"]
"#;
    let said = |text: &str, set: &[&str]| {
        let points = Document::parse("x", "x.toml", text).unwrap().points(&choice(set, false));
        points.map(|points| points.len()).unwrap_err().to_string()
    };
    let wanted = "x.toml:4: link.line.medium = \"point-to-pont\" (a value of vary.of in line 8): ";
    assert!(said(text, &[]).starts_with(wanted), "{}", said(text, &[]));
    // Where it was set, that says it.
    assert!(said(text, &["of=oc3"]).starts_with("--set of=oc3 (x.toml): link.line.medium = \"oc3\": "));
}

/// Whoever writes a megabyte where a word is expected is not shown it again, or twice.
#[test]
fn of_what_is_long_a_message_has_the_beginning() {
    let long = "x".repeat(100_000);
    let two = |from: &str, to: &str| TWO_HOSTS.replace(from, to);
    for text in [
        two("\"10 s\"", &format!("\"{long}\"")),
        two("\"10 s\"", &format!("\"{}\"", "a \\\" b ".repeat(20_000))),
        two("\"10 s\"", &format!("\"${{1 + {long}}}\"")),
        two("\"ttcp\"\nfrom", &format!("\"{long}\"\nfrom")),
        two("\"a.ttcp\"", &format!("\"{long}\"")),
        two("like = \"a\"", &format!("like = \"{long}\"")),
        two("\"point-to-point\"", &format!("\"{long}\"")),
        two("\"zero\"", &format!("\"{long}\"")),
        two("[run]", &format!("[run]\n{long} = 1")),
        two("[report]", &format!("[report]\nvalue = \"{long}\"")),
        format!("{long} = 1\n{TWO_HOSTS}"),
    ] {
        let points = Document::parse("two", "two.toml", &text).and_then(|it| it.points(&Choice::default()));
        let told = points.unwrap_err().to_string();
        assert!(
            told.len() < 1000 && told.contains(" characters)"),
            "{} octets: {}",
            told.len(),
            &told[..told.len().min(500)]
        );
    }
    let choice = Choice { set: vec![format!("run.duration={long}")], ..Choice::default() };
    let told = Document::parse("two", "two.toml", TWO_HOSTS).unwrap().points(&choice).unwrap_err().to_string();
    assert!(told.len() < 500 && told.starts_with("--set run.duration=xxx"), "{} octets", told.len());
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
