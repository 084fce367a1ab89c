//! What is wrong with a scenario is told in one message, with its place and what would be right.

use super::*;

#[test]
fn a_fault_found_later_is_placed_by_its_path() {
    let points = points(&["host.a.tcp.sack=yes"], false);
    let point = points.first().unwrap();
    let fault = ConfigError::unknown(["host", "b", "tcp", "mss"], "size", "1460 B", &["1", "2"]);
    assert_eq!(
        point.locate(fault).to_string(),
        r#"scenarios/x.toml:17: host.b.tcp.mss = "1460 B": unknown size "1460 B"; one of 1, 2"#
    );
    let inherited = point.locate(ConfigError::at(["host", "b", "tcp", "window"], "too small"));
    assert_eq!(inherited.line(), Some(13));
    let set = point.locate(ConfigError::at(["host", "a", "tcp", "sack"], "no such setting"));
    assert_eq!(
        set.to_string(),
        r#"--set host.a.tcp.sack=yes (scenarios/x.toml): host.a.tcp.sack = "yes": no such setting"#
    );
    let above = point.locate(ConfigError::at(["host", "a", "ip", "mtu"], "is missing"));
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
            "t = [\"a\", \"b, \"c\"] # \"b\" is 5\" wide\n",
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
            "mss = \"8192 B\"\none = \"${other / 2}\"\nother = [\"x ${one}\"]",
            r#"x.toml:9: define.other.0 = "x ${one}": a definition that needs itself: one -> other -> one"#,
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
fn an_unknown_profile_is_named_with_those_there_are() {
    let message = refused("profile = \"zero\"", "profile = \"zreo\"");
    let (start, end) =
        ("x.toml:11: host.a.profile = \"zreo\": unknown profile \"zreo\"; did you mean \"zero\"? (", "zero)");
    assert!(message.starts_with(start) && message.ends_with(end), "{message}");
    assert_eq!(
        refused("profile = \"zero\"", "profile = \"./none.toml\""),
        "x.toml:11: host.a.profile = \"./none.toml\": ./none.toml: no such file or directory"
    );
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
    assert_eq!(
        unknown,
        "there is no scenario \"none\"; expected a name that `kumiki scenarios` lists, or a file: a path with a slash or \
         ending in .toml"
    );
    let near = Document::find("paper2-fig66").unwrap_err().to_string();
    assert!(near.contains("did you mean paper2-fig6?") && near.len() < 100, "{near}");
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
    // Lists of that kind are told at the first of them, whether anything uses it or not: each takes as long to find
    // out.
    let doubled: String =
        (0..25).map(|i| format!("d{i} = [\"${{d{next}}}\", \"${{d{next}}}\"]\n", next = i + 1)).collect();
    let text = TWO_HOSTS.replace("mss = \"8192 B\"", &format!("mss = \"8192 B\"\n{doubled}d25 = 1"));
    assert!(load(&text).unwrap_err().contains("more than 262144 values once all names are replaced"));
    // No longer than a file may be.
    let deep = 1_000;
    let chain: String = (0..deep).map(|i| format!("d{i} = \"${{d{}}}\"\n", i + 1)).collect();
    let text = TWO_HOSTS.replace("mss = \"8192 B\"", &format!("mss = \"${{d0}}\"\n{chain}d{deep} = \"1 B\""));
    assert!(load(&text).unwrap_err().contains("more than 32 deep"));
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
