//! Mistakes that people make, and what is said of them: the place where it is wrong, and what is meant.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Plan;
use kumiki_lab::scenario::{Choice, Document};
use kumiki_watchdog::process::Folder;

const RIGHT: &str = r#"title = "One line"
[host.a]
graph = ["tcp", "ip", "l0"]
tcp.congestion = "cubic"
[host.b]
like = "a"
[link.line]
ends = ["a", "b"]
medium = "point-to-point"
rate = "10 Mb/s"
propagation = "10 ms"
queue_frames = "${queue}"
[load.bulk]
kind = "netperf"
from = "a"
to = "b"
message = "8 KiB"
[run]
duration = "5 s"
[vary]
queue = [50, 100]
[report]
x = "queue"
"#;

fn said(text: &str) -> Result<(), String> {
    let document = Document::parse("x", "x.toml", text).map_err(|why| why.to_string())?;
    let plan = Plan::new(&[document], &Choice::default(), &Laboratory::default());
    plan.map(drop).map_err(|why| why.to_string())
}

/// What is said where the first text is the second one.
fn changed(changes: &[(&str, &str)]) -> String {
    let mut text = RIGHT.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    said(&text).expect_err(&text)
}

#[test]
fn a_mistake_is_told_where_it_is_with_what_is_meant() {
    assert_eq!(said(RIGHT), Ok(()));
    for (from, to, line, words) in [
        ("\"ip\", \"l0\"]", "\"ip\"]", 3, "host.a.graph = [\"tcp\", \"ip\"]: nothing is below ip"),
        ("\"ip\", \"l0\"]", "\"ip\"]", 3, "on which a link ends: [\"tcp\", \"ip\", \"l0\"]"),
        (
            "[\"tcp\", \"ip\", ",
            "[\"ip\", \"tcp\", ",
            3,
            "ip stands on tcp, and it is the other way round; expected tcp above ip",
        ),
        ("[report]", "[event]\nat = \"1 s\"\n[report]", 22, "expected two brackets, [[event]], above each"),
        ("[load.bulk]", "[[load]]", 13, "each load has a name; expected [load.NAME] above each"),
        ("duration", "repeat = 5\nduration", 19, "expected a table, such as repeat = { runs = 6 }"),
        (
            "duration",
            "confidence = \"95 %\"\nduration",
            19,
            "a table, such as confidence = { level = \"95 %\", width = \"5 %\" }",
        ),
        ("propagation", "delay", 11, "did you mean propagation, or impair.delay?"),
        (
            "message",
            "sessions = 3.0\nmessage",
            17,
            "load.bulk.sessions = 3.0: this is the number 3.0; did you mean 3? (expected a whole number from 0 to 4294967295",
        ),
        (
            "message",
            "sessions = -3.0\nmessage",
            17,
            "load.bulk.sessions = -3.0: this is the number -3.0; expected a whole number from 0 to 4294967295",
        ),
        (
            "propagation = \"10 ms\"",
            "propagation = \"10 ms / 2\"",
            11,
            "expected arithmetic within the braces of a name, such as \"${rtt / 2}\"",
        ),
        ("rate =", "bandwidth =", 10, "did you mean \"rate\"?"),
        (
            "[report]",
            "[[event]]\nat = \"1 s\"\nlink = \"line\"\ndelay = \"1 ms\"\n[report]",
            25,
            "did you mean propagation?",
        ),
        ("\"cubic\"", "\"reno\"", 4, "did you mean \"newreno\"?"),
        ("10 Mb/s", "10,5 Mb/s", 10, "a comma, where numbers have a point; try \"10.5 Mb/s\""),
        ("to = \"b\"", "to = \"c\"", 16, "unknown host \"c\"; one of a, b"),
        ("graph", "ip.address = \"10.0.0.300/24\"\ngraph", 3, "\"300\" is no number from 0 to 255"),
        ("graph", "ip.address = \"10.0.1/24\"\ngraph", 3, "no address of IPv4: 3 numbers"),
        ("graph", "ip.address = \"10.0.0.1/24\"\ngraph", 3, "hosts a and b have the same address, 10.0.0.1"),
        ("\"l0\"]", "\"l0\"", 4, "expected a ']' for what is opened in line 3, or a comma"),
        ("point-to-point", "ethernet", 9, "did you mean \"point-to-point\" with framing = \"24 B\""),
        ("[\"a\", \"b\"]", "[\"a\"]", 8, "1 value; expected a list of 2, such as ends = [\"a.l0\", \"b.l0\"]"),
        (
            "propagation",
            "impair.loss = 1\npropagation",
            11,
            "this is 100 %, and nothing would arrive; expected \"1 %\"",
        ),
        ("netperf", "iperf3", 14, "did you mean \"netperf\"?"),
        ("message", "count = 10\nmessage", 17, "load.bulk.count = 10: netperf has no use for it"),
        ("message", "step = \"AAL5\"\nmessage", 17, "netperf has no use for it; it is for limit"),
        ("\"netperf\"", "\"ttcp\"\nsize = \"0 B\"", 15, "transfers without octets; expected at least 1 B"),
        ("duration", "runs = 5\nduration", 19, "did you mean repeat = { runs = 5 }, or confidence = { level ="),
        ("duration", "seeds = 5\nduration", 19, "did you mean repeat = { runs = 5 }"),
        ("queue_frames", "queue_packets", 12, "did you mean \"queue_frames\"?"),
        ("tcp.congestion", "congestion", 4, "unknown key \"congestion\"; did you mean tcp.congestion?"),
        ("message", "socket_buffer = 16\nmessage", 17, "with a unit where that is a quantity: \"64 KiB\""),
        (
            "[load.bulk]",
            "[link.other]\nends = [\"a\", \"b\"]\nmedium = \"point-to-point\"\nrate = \"1 Mb/s\"\npropagation = \"0 s\"\n[load.bulk]",
            14,
            "another line ends here already; expected a device of its own for each line",
        ),
        ("x = \"queue\"", "x = \"queue\"\nvalue = \"goodput\"", 24, "did you mean \"goodput_mbps\"?"),
        ("x = \"queue\"", "x = \"queue\"\nvalue = \"throughput\"", 24, "did you mean \"goodput_mbps\"?"),
        ("10 Mb/s\"", "10 Mb/s\"\nframing_octets = 2", 11, "did you mean \"framing\"?"),
        ("\"5 s\"", "5 s # so long", 19, "not TOML: 5 s without quotes; expected \"5 s\""),
        ("[load.bulk]", "[load]", 14, "each load has a name; expected [load.NAME] above it"),
        ("[load.bulk]", "[workload.bulk]", 13, "unknown key \"workload\"; did you mean load?"),
        ("message = \"8 KiB\"\n", "", 13, "the key \"message\" is missing; expected a size, such as message = \""),
        ("queue_frames = \"${queue}\"", "queue = \"100 packets\"", 12, "did you mean queue_frames = 100?"),
        ("\"netperf\"", "netperf", 14, "not TOML: netperf without quotes; expected \"netperf\""),
        ("\"10 ms\"", "\u{201c}10 ms\u{201d}", 11, "10 ms\u{201d} in quotes of printed text; expected \"10 ms\""),
        ("duration", "duration = \"1 s\"\nduration", 20, "duration is there already, in line 19; expected one of both"),
        (
            "[load.bulk]",
            "[link.line] # again\n[load.bulk]",
            13,
            "[link.line] is there already, in line 7; expected all of",
        ),
        ("\"5 s\"", "true", 19, "this is true; expected a string, with a unit where that is a quantity: \"5 s\""),
    ] {
        let said = changed(&[(from, to)]);
        assert!(
            said.starts_with(&format!("x.toml:{line}: ")) && said.contains(words),
            "{to}\n  said {said}\n  not  {words}"
        );
    }
}

/// A key that is right elsewhere, or that others have: the message names its place.
#[test]
fn a_key_in_the_wrong_place_is_told_where_it_belongs() {
    for (before, wrong, line, meant) in [
        ("[host.b]", "window = \"64 KiB\"", 5, "tcp.receive_buffer, or load.bulk.socket_buffer?"),
        ("[host.b]", "tcp.window = \"64 KiB\"", 5, "did you mean \"receive_buffer\"?"),
        ("[host.b]", "tcp.congestion_control = \"cubic\"", 5, "did you mean \"congestion\"?"),
        ("[host.b]", "tcp.nagle = false", 5, "did you mean \"coalesce\"?"),
        ("[host.b]", "tcp.address = \"10.0.0.1/24\"", 5, "did you mean ip.address?"),
        ("[host.b]", "address = \"10.0.0.1/24\"", 5, "did you mean ip.address?"),
        ("[host.b]", "mss = \"1000 B\"", 5, "did you mean tcp.mss?"),
        ("[host.b]", "minimum = \"1 s\"", 5, "did you mean tcp.rto.minimum?"),
        ("[host.b]", "gateway = \"10.0.0.2\"", 5, "did you mean ip.routes?"),
        ("[host.b]", "rate = \"1 Mb/s\"", 5, "did you mean load.bulk.rate, or link.line.rate?"),
        ("rate =", "mtu = \"9000 B\"", 10, "did you mean host.a.ip.mtu?"),
        ("rate =", "rtt = \"20 ms\"", 10, "did you mean propagation, one way: half of a round trip?"),
        ("kind =", "congestion = \"cubic\"", 14, "did you mean host.a.tcp.congestion?"),
        ("kind =", "duration = \"5 s\"", 14, "did you mean run.duration?"),
        ("kind =", "flows = 4", 14, "did you mean sessions?"),
        ("kind =", "delay = \"10 ms\"", 14, "did you mean link.line.propagation?"),
        ("kind =", "interval = \"100 ms\"", 14, "it is for ping; did you mean run.interval?"),
        ("kind =", "rate = \"1 Mb/s\"", 14, "it is for udp and rtp; did you mean link.line.rate?"),
        ("duration", "sessions = 4", 19, "did you mean load.bulk.sessions?"),
        ("x =", "seed = 4", 23, "did you mean run.seed?"),
        ("[host.a]", "seed = 4", 2, "did you mean run.seed?"),
    ] {
        let said = changed(&[(before, &format!("{wrong}\n{before}"))]);
        assert!(
            said.starts_with(&format!("x.toml:{line}: ")) && said.contains(meant),
            "{wrong}\n  said {said}\n  not  {meant}"
        );
        assert!(said.len() < 250, "a long list beside what was meant: {said}");
    }
}

#[test]
fn a_group_where_one_is_meant_is_told_how_it_is_written() {
    let group = ("[host.a]", "[host.a]\ncount = 2");
    let one = ("like = \"a\"", "graph = [\"tcp\", \"ip\", \"l0\"]");
    for (end, wanted) in [("a", "a${i}"), ("a.l0", "a${i}.l0"), ("a*.l0", "a${i}.l0")] {
        let said = changed(&[group, one, ("[\"a\", \"b\"]", &format!("[\"{end}\", \"b\"]"))]);
        assert!(
            said.contains(&format!("as many lines: count = 2 beside `ends`, and \"{wanted}\" in it")),
            "{end}: {said}"
        );
    }
    let (group, line) = (("[host.a]", "[host.a]\ncount = 1"), ("[\"a\", \"b\"]", "[\"a0\", \"b\"]"));
    let said = changed(&[group, one, line, ("from = \"a\"", "from = \"a.tcp\"")]);
    assert!(
        said.contains("\"a\" is a group of 1; expected \"a*.tcp\" for all of them, or \"a0.tcp\" for one"),
        "{said}"
    );
}

#[test]
fn a_table_that_is_whole_is_named_with_its_line() {
    let whole = ("title = \"One line\"", "title = \"One line\"\nrun = { duration = \"5 s\" }");
    for more in ["[run.confidence]\nlevel = \"95 %\"", "[[run.confidence]]\nlevel = \"95 %\""] {
        assert_eq!(
            changed(&[whole, ("[run]\nduration = \"5 s\"", more)]),
            "x.toml:19: run is whole: it is written between braces in line 2; expected all of its keys between these, or [run] in the place of them"
        );
    }
    let said = changed(&[whole, ("[host.a]", "run.seed = 5\n[host.a]")]);
    assert!(said.starts_with("x.toml:3: run is whole: it is written between braces in line 2"), "{said}");
}

#[test]
fn what_a_host_takes_from_another_is_told_of_that_one() {
    let like = ("[host.b]\nlike = \"a\"", "[host.a]\nlike = \"b\"");
    let said = changed(&[("[host.a]", "[host.b]"), like, ("\"cubic\"", "\"reno\"")]);
    assert!(said.starts_with("x.toml:4: host.b.tcp.congestion = \"reno\""), "{said}");
}

/// The first words of each line.
fn places(said: &str) -> Vec<&str> {
    said.lines().map(|line| line.split(" = ").next().unwrap()).collect()
}

#[test]
fn mistakes_that_have_nothing_to_do_with_each_other_are_told_at_once() {
    let said = changed(&[
        ("\"cubic\"", "\"reno\"\ntcp.sak = true"),
        ("rate = \"10 Mb/s\"", "rate = \"10,5 Mb/s\""),
        ("propagation", "delay"),
        ("message", "sesions = 4\nmessage"),
        ("duration", "warmup = \"1 s\"\nduration"),
        ("\"${queue}\"", "50"),
    ]);
    let expected = [
        "x.toml:4: host.a.tcp.congestion",
        "x.toml:5: host.a.tcp.sak",
        "x.toml:11: link.line.rate",
        "x.toml:12: link.line.delay",
        "x.toml:18: load.bulk.sesions",
        "x.toml:21: run.warmup",
        "x.toml:24: vary.queue",
    ];
    assert_eq!(places(&said), expected, "{said}");
}

/// What must be given is not left out, and nothing is said of what stands in its place.
#[test]
fn a_wrong_value_of_what_must_be_given_is_one_line() {
    for (from, wrong, line) in [
        ("\"10 Mb/s\"", "\"10M\"", 10),
        ("\"10 Mb/s\"", "10", 10),
        ("\"10 Mb/s\"", "\"0 b/s\"", 10),
        ("\"8 KiB\"", "\"8 foo\"", 17),
        ("\"8 KiB\"", "\"0 B\"", 17),
        ("\"5 s\"", "\"5 x\"", 19),
        ("\"5 s\"", "5", 19),
        ("\"5 s\"", "\"0 s\"", 19),
        ("\"5 s\"", "\"100000 s\"", 19),
        ("\"5 s\"", "\"5 s\"\nconfidence = { level = \"95 x\", width = \"5 %\" }", 20),
        ("\"5 s\"", "\"5 s\"\nconfidence = { level = \"195 %\", width = \"5 %\" }", 20),
    ] {
        let said = changed(&[(from, wrong)]);
        assert!(said.lines().count() == 1 && said.starts_with(&format!("x.toml:{line}: ")), "{wrong}\n{said}");
    }
    let said = changed(&[
        ("\"10 Mb/s\"", "\"10M\""),
        ("\"10 ms\"", "\"10 parsec\""),
        ("\"8 KiB\"", "\"8 foo\""),
        ("\"5 s\"", "\"5 x\"\nwarm_up = \"1 y\""),
    ]);
    let expected = [
        "x.toml:10: link.line.rate",
        "x.toml:11: link.line.propagation",
        "x.toml:17: load.bulk.message",
        "x.toml:19: run.duration",
        "x.toml:20: run.warm_up",
    ];
    assert_eq!(places(&said), expected, "{said}");
}

#[test]
fn no_mistake_is_told_that_follows_from_another() {
    // That nothing uses it follows from the slip.
    assert_eq!(places(&changed(&[("${queue}", "${quue}")])), ["x.toml:12: link.line.queue_frames"]);
    // That it is not varied would follow from leaving it out.
    let said = changed(&[("\"${queue}\"", "50"), ("x = \"queue\"", "x = \"queue\"\nvalue = \"goodput\"")]);
    assert_eq!(places(&said), ["x.toml:24: report.value", "x.toml:21: vary.queue"], "{said}");
    // That the name is not used would follow from leaving out where it is.
    let said = changed(&[
        ("message", "socket_buffer = \"${window}\"\nmessage"),
        ("queue = [", "window = [\"16k\", \"64 KiB\"]\nqueue = ["),
    ]);
    assert_eq!(places(&said), ["x.toml:17: load.bulk.socket_buffer"], "{said}");
    // That one of two must be given would follow from leaving out the one.
    let said = changed(&[("\"netperf\"", "\"ttcp\"\nsize = \"0 B\"")]);
    assert_eq!(places(&said), ["x.toml:15: load.bulk.size"], "{said}");
    // That a host or a name is missing would follow from leaving out its section.
    let said = changed(&[("[host.b]", "[hosts.b]")]);
    assert_eq!(places(&said), ["x.toml:5: hosts: unknown key \"hosts\"; did you mean host?"]);
    let said = changed(&[("[vary]", "[varied]")]);
    assert_eq!(said.lines().count(), 1, "{said}");
    let said = changed(&[("[report]", "[window]")]);
    assert!(said.lines().count() == 1 && said.contains("did you mean load.bulk.socket_buffer"), "{said}");
    // Other mistakes are told beside it.
    let said = changed(&[("[host.b]", "[hosts.b]"), ("10 Mb/s", "10 Mx/s")]);
    assert_eq!(said.lines().count(), 2, "{said}");
    // Nothing is said of lines without ends.
    let said = changed(&[("[\"a\", \"b\"]", "[\"a\", \"c\"]")]);
    assert_eq!(said.lines().count(), 1, "{said}");
    let said = changed(&[("rate = \"10 Mb/s\"\n", "")]);
    assert_eq!(
        places(&said),
        ["x.toml:7: link.line: the key \"rate\" is missing; expected a rate such as \"10 Mb/s\""]
    );
}

/// Of one table all is told, too, where the first is that a key has another name, or is not there.
#[test]
fn mistakes_of_one_table_are_told_at_once() {
    let line = ["x.toml:8: link.line.between", "x.toml:10: link.line.rate", "x.toml:12: link.line.queue_frames"];
    let said = changed(&[("ends =", "between ="), ("10 Mb/s", "10M"), ("\"${queue}\"", "\"64 KiB\"")]);
    assert_eq!(places(&said)[..3], line, "{said}");
    let said = changed(&[("rate = \"10 Mb/s\"\n", ""), ("10 ms", "10 parsec"), ("5 s", "5 x")]);
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(said.contains("the key \"rate\" is missing") && said.contains("parsec"), "{said}");
    let said = changed(&[("message = \"8 KiB\"", "sise = \"1 x\"\nsocket_bufer = \"64 Ki\"\nstop = \"x\"")]);
    let load =
        ["load.bulk: the key \"message\" is missing", "load.bulk.sise", "load.bulk.socket_bufer", "load.bulk.stop"];
    assert!(load.iter().all(|place| said.contains(place)), "{said}");
    // What is called as it was meant, and wrong there, is one line.
    let said = changed(&[("rate =", "bandwidth ="), ("10 Mb/s", "10 parsec")]);
    assert_eq!(places(&said), ["x.toml:10: link.line.bandwidth"], "{said}");
}

#[test]
fn a_missing_key_is_looked_for_among_those_that_are_there() {
    let said = changed(&[("ends =", "between =")]);
    assert!(
        said.starts_with("x.toml:8: link.line.between = [\"a\", \"b\"]: unknown key \"between\"; did you mean ends?"),
        "{said}"
    );
    let said = changed(&[("ends = [\"a\", \"b\"]", "from = \"a\"\nto = \"b\"")]);
    let words = "x.toml:7: link.line: the key \"ends\" is missing, and there is \"from\"; expected a list of two names";
    assert!(said.starts_with(words), "{said}");
    let said = changed(&[("ends = [\"a\", \"b\"]\n", "")]);
    assert!(said.starts_with("x.toml:7: link.line: the key \"ends\" is missing; expected a list of"), "{said}");
}

#[test]
fn octets_of_a_queue_and_controls_of_others_are_told_as_that() {
    let said = changed(&[("\"${queue}\"", "\"64 KiB\""), ("\"cubic\"", "\"bbr\"")]);
    let congestion = "host.a.tcp.congestion = \"bbr\": BBR is not among the congestion controls that there are; one of newreno, cubic, fixed";
    let queue = "link.line.queue_frames = \"64 KiB\": this is \"64 KiB\"; expected a whole number of frames from 0 to 4294967295, or a product of bandwidth and delay such as \"1 bdp\": frames are counted, and 64 KiB are 44 of 1500 B (with queue = \"fq-codel\", aqm.memory is in octets)";
    assert!(said.contains(congestion) && said.contains(queue), "{said}");
}

#[test]
fn bursts_in_which_nothing_leaves_are_refused() {
    let line = RIGHT.lines().position(|line| line == "message = \"8 KiB\"").unwrap() + 2;
    let bursts = |on: &str, off: &str| {
        let more = format!("message = \"1000 B\"\non = \"{on}\"\noff = \"{off}\"\nrate = \"8 Mb/s\"");
        let graph = ["graph = [\"tcp\"", "graph = [\"udp\"", "tcp.congestion = \"cubic\"", "", "netperf", "udp"];
        let [tcp, udp, cubic, none, netperf, units] = graph;
        changed(&[(tcp, udp), (cubic, none), (netperf, units), ("message = \"8 KiB\"", &more)])
    };
    for (on, off, mean) in [
        ("0 s", "1 s", "0 s"),
        ("0 s", "exponential 1 s", "0 s"),
        ("uniform 0 s .. 0 s", "1 s", "0 s"),
        ("0 s", "0 s", "0 s"),
        ("1 ns", "1 ns", "1 ns"),
        ("exponential 999 ns", "1 ms", "999 ns"),
    ] {
        let said = bursts(on, off);
        let right = format!(
            "x.toml:{line}: load.bulk.on = \"{on}\": bursts of {mean} on average, where 1 ms of sending are from one datagram to the next; expected at least 1 us on average"
        );
        assert_eq!(said, right);
    }
}

#[test]
fn a_transfer_without_octets_is_refused() {
    let sized = |size: &str| changed(&[("kind = \"netperf\"", &format!("kind = \"ttcp\"\nsize = \"{size}\""))]);
    assert!(
        sized("0 B").contains("load.bulk.size = \"0 B\": transfers without octets; expected at least 1 B"),
        "{}",
        sized("0 B")
    );
}

#[test]
fn a_value_that_is_wrong_is_not_missing_as_well() {
    let changes = [("\"10 Mb/s\"", "\"10 Mb\""), ("queue_frames = \"${queue}\"", "queue_frame = \"${queue}\"")];
    let said = changed(&changes);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.iter().any(|line| line.contains("unknown unit \"Mb\"")), "{said}");
    assert!(!said.contains("missing"), "{said}");
    // Both of what must be given are wrong: neither is missing.
    let said = changed(&[("\"10 Mb/s\"", "\"10 Mb\""), ("\"10 ms\"", "\"10\""), ("message =", "mesage =")]);
    assert!(said.contains("link.line.propagation = \"10\"") && said.contains("mesage"), "{said}");
    assert!(!said.contains("\"rate\" is missing"), "{said}");
}

#[test]
fn where_eight_mistakes_are_not_all_there_are_said_to_be_more() {
    let wrong = |count: usize| {
        let keys: String = (0..count).map(|number| format!("\nzz{number}qqq = 1")).collect();
        changed(&[("message = \"8 KiB\"", &format!("message = \"8 KiB\"{keys}"))])
    };
    let eight = wrong(8);
    assert_eq!(eight.lines().count(), 8, "{eight}");
    assert!(!eight.contains("and more"), "{eight}");
    let nine = wrong(9);
    assert_eq!(nine.lines().count(), 9, "{nine}");
    assert!(nine.ends_with("\nand more, which are told when these are mended"), "{nine}");
}

/// A schedule is told of whole, whether something is wrong with the scenario as well or not, and so is each of several.
#[test]
fn all_mistakes_of_schedules_are_told() {
    let folder = Folder::new("schedules");
    let [one, other] = ["one.csv", "other.csv"].map(|name| folder.path(name));
    std::fs::write(&one, "at (s),rate (Mb/s)\n1,x\n2,-1\n3,y\n").unwrap();
    std::fs::write(&other, "at (s),rate (Mb/s)\n1,-2\n2,3\n2,4\n").unwrap();
    let [one, other] = [one, other].map(|path| path.display().to_string());
    let of_one = ("propagation", &*format!("schedule = {one:?}\npropagation"));
    let lines = |said: &str| {
        let places =
            said.lines().map(|line| line.split(": ").next().unwrap().replace(folder.place().to_str().unwrap(), ""));
        places.collect::<Vec<_>>()
    };
    let alone = changed(&[of_one]);
    assert_eq!(lines(&alone), ["/one.csv:2", "/one.csv:3", "/one.csv:4"], "{alone}");
    let second =
        format!("[link.second]\nends = [\"a\", \"b\"]\nmedium = \"point-to-point\"\nschedule = {other:?}\n[load.bulk]");
    let both = changed(&[of_one, ("[load.bulk]", &second)]);
    // Of a host at which two lines end, too: that comes first.
    let each = ["x.toml:15", "/one.csv:2", "/one.csv:3", "/one.csv:4", "/other.csv:2", "/other.csv:4"];
    assert_eq!(lines(&both), each, "{both}");
    let many: String = (0..12).map(|at| format!("{at},x\n")).collect();
    std::fs::write(&one, format!("at (s),rate (Mb/s)\n{many}")).unwrap();
    let many = changed(&[of_one, ("duration", "warmup = \"1 s\"\nduration")]);
    assert!(
        many.starts_with("x.toml:") && many.ends_with("\nand more, which are told when these are mended"),
        "{many}"
    );
    assert_eq!((many.lines().count(), many.matches("one.csv:").count()), (9, 7), "{many}");
}

#[test]
fn a_key_of_no_use_names_the_loads_that_have_one() {
    let count = changed(&[("message =", "count = 10\nmessage =")]);
    assert!(count.contains("it is for ttcp, udp, rtp, ping and rpc, and netperf writes until `stop`"), "{count}");
    assert!(!count.contains("keep_alive"), "{count}");
}

#[test]
fn a_key_between_braces_and_a_table_that_are_there_twice_are_named() {
    let twice =
        changed(&[("tcp.congestion = \"cubic\"", "tcp = { congestion = \"cubic\", congestion = \"newreno\" }")]);
    assert_eq!(twice, "x.toml:4: congestion is there already in the same line; expected one of both");
    let table = changed(&[("[host.a]", "load.bulk = { kind = \"netperf\" }\n[host.a]")]);
    assert!(
        table.starts_with("x.toml:14: [load.bulk] is there already, in line 2; expected all of its keys"),
        "{table}"
    );
}

#[test]
fn an_interval_of_no_time_is_told_as_that() {
    let zero = changed(&[("duration = \"5 s\"", "duration = \"5 s\"\ninterval = \"0 s\"")]);
    assert!(zero.contains("run.interval = \"0 s\": no time at all; expected at least 50 us"), "{zero}");
}

#[test]
fn queues_in_products_are_told_rightly() {
    let queue = |to: &str| {
        changed(&[("\"${queue}\"", to), ("queue = [50, 100]", "mss = [500, 1000]"), ("x = \"queue\"", "x = \"mss\"")])
    };
    let many = queue("\"5000000 bdp\"");
    assert!(many.contains("up to \"1000 bdp\", or so many frames"), "{many}");
    for odd in ["\"1 bdps\"", "\"50 %\"", "0.5"] {
        let odd = queue(odd);
        let words = "expected a whole number of frames from 0 to 4294967295, or a product of bandwidth and delay such as \"1 bdp\"";
        assert!(odd.contains(words), "{odd}");
    }
    // What goes into ten seconds each way of 10 Gb/s, a thousand times.
    let long = [("10 Mb/s", "10 Gb/s"), ("10 ms", "10 s"), ("\"${queue}\"", "\"1000 bdp\"")];
    let long = changed(&long);
    assert!(long.contains("frames of 1500 B, and no queue has more than 4294967295"), "{long}");
}

/// Programs of real hosts need no way to each other, and that there is none explains no queue of a line over which
/// nothing goes.
#[test]
fn a_queue_in_products_of_a_line_that_nobody_uses_is_refused_beside_real_hosts_apart() {
    let apart = "title = \"x\"\n\
                 host.a = { real = { run = \"true\" }, graph = [\"ip\", \"l0\"] }\n\
                 host.b = { real = { run = \"true\" }, graph = [\"ip\", \"l0\"] }\n\
                 host.c = { real = { run = \"true\" }, graph = [\"ip\", \"l0\"] }\n\
                 host.d.graph = [\"ip\", \"l0\"]\n\
                 link.line = { ends = [\"a\", \"b\"], medium = \"point-to-point\", rate = \"10 Mb/s\", propagation = \"10 ms\" }\n\
                 link.alone = { ends = [\"c\", \"d\"], medium = \"point-to-point\", rate = \"10 Mb/s\", propagation = \"10 ms\", queue_frames = \"1 bdp\" }\n\
                 run.duration = \"1 s\"\n";
    let points = |text: &str| Document::parse("x", "x.toml", text).unwrap().points(&Choice::default());
    let refused = points(apart).unwrap_err().to_string();
    assert!(refused.starts_with("x.toml:7: link.alone.queue_frames = \"1 bdp\": no load goes this way"), "{refused}");
    points(&apart.replace("\"1 bdp\"", "1")).unwrap();
}

#[test]
fn a_synchronous_line_has_a_rate_by_which_its_queue_is_reckoned() {
    let text = RIGHT.replacen("\"point-to-point\"", "\"synchronous\"", 1);
    let text = text.replacen("\"${queue}\"", "\"1 bdp\"", 1);
    let said = said(&text).expect_err("`queue` is used nowhere");
    assert!(said.contains("queue") && !said.contains("bdp"), "{said}");
}

/// Two hosts of FDDI, or of packets over SONET/SDH: a queue in products is reckoned by the rate of each.
#[test]
fn queues_in_products_are_of_rings_and_of_sonet_too() {
    let hosts = |layers: &str, device: &str, medium: &str| {
        format!(
            "title = \"x\"\n\
             host.a = {{ graph = [\"netperf\", \"tcp\", \"ip\", {layers}, \"{device}\"], ip = {{ address = \"10.0.0.1/24\" }} }}\n\
             host.b = {{ like = \"a\", ip = {{ address = \"10.0.0.2/24\" }} }}\n\
             {medium}, queue_frames = \"2 bdp\" }}\n\
             run = {{ duration = \"1 s\" }}\n\
             load.l = {{ kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\", socket_buffer = \"64 KiB\" }}\n"
        )
    };
    let reckoned = |text: &str| {
        let document = Document::parse("x", "x.toml", text).unwrap();
        let points = document.points(&Choice::default()).map_err(|fault| panic!("{fault}")).unwrap();
        points[0].scenario.queues_of_paths.values().next().cloned().unwrap()
    };
    // Around it: two stations, each 1 us of latency and 4 ms of fibre, and 10 ms for the token; 100 Mb/s of 18.002 ms,
    // twice, are 450,050 octets.
    let ring = "ring.r = { ends = [\"a.f0\", \"b.f0\"], medium = \"fddi\", propagation = \"4 ms\", latency = \"1 us\", ttrt = \"10 ms\"";
    let told = reckoned(&hosts("\"arp\", \"llc_snap\", \"fddi\"", "f0", ring));
    assert!(told.contains("301 frames of 1500 B: 100 Mb/s of a least round trip of 18.002 ms"), "{told}");
    // The payload of OC-3c is 149.76 Mb/s; of 20 ms, twice, 748,800 octets.
    let line = "link.l = { ends = [\"a.p0\", \"b.p0\"], medium = \"oc3c-pos\", propagation = \"10 ms\"";
    let told = reckoned(&hosts("\"ppp\"", "p0", line));
    assert!(told.contains("500 frames of 1500 B: 149.76 Mb/s of a least round trip of 20 ms"), "{told}");
    let switch =
        changed(&[("[link.line]", "[switch.s]\nkind = \"ethernet\"\nqueue_frames = \"1 bdp\"\n\n[link.line]")]);
    let words = "a product of bandwidth and delay is of a line or a ring; the ports of a switch may have many rates; expected a \
                 number of frames";
    assert!(switch.contains(words), "{switch}");
}

#[test]
fn names_without_letters_and_counts_of_nothing_are_refused_with_what_would_be_right() {
    for (from, to, words) in [
        (
            "[load.bulk]",
            "[load.\"\"]",
            "x.toml:13: load.\"\": a load with an empty name; expected a name such as [load.NAME]",
        ),
        ("[link.line]", "[link.\" \"]", "a link with an empty name; expected a name such as [link.NAME]"),
        ("[host.b]", "[host.\"\"]", "x.toml:5: host.\"\": a host with an empty name"),
        ("[host.b]", "[host.\"b.c\"]", "a point in a name, where it stands between a host and its device"),
        // The counters of host a's tcp are called so.
        ("[link.line]", "[link.\"a.tcp\"]", "a point in a name"),
        (
            "[link.line]",
            "[switch.line]\nkind = \"ethernet\"\n\n[link.line]",
            "x.toml:7: switch.line: there is a link line, too; expected another name",
        ),
        (
            "[host.b]",
            "[host.\"b/c\"]",
            "\"/\" in a name, which no file can have that is called so; expected a name such as [host.b-c]",
        ),
        (
            "[host.b]",
            "[host.\"b\\u0000\"]",
            "\"\\u{0}\" in a name, which no file can have that is called so; expected a name such as [host.b-]",
        ),
        (
            "[host.b]",
            &format!("[host.{}]", "b".repeat(201)),
            "a name of 201 octets, of which files are called; at most 200 are expected",
        ),
        ("[host.b]", "[host.\"b.c\"]", "expected a name such as [host.b-c]"),
        (
            "\"ip\", \"l0\"]",
            "\"ip\", \"\"]",
            "a layer with an empty name; expected the name of a layer, or of a device at the end",
        ),
        ("\"8 KiB\"", "\"0 B\"", "load.bulk.message = \"0 B\": messages without octets; expected at least 1 B"),
        (
            "\"8 KiB\"",
            "\"8 KiB\"\nsessions = 0",
            "load.bulk.sessions = 0: a load without sessions; expected at least 1",
        ),
    ] {
        let said = changed(&[(from, to)]);
        assert!(said.contains(words), "{to}: {said}");
    }
    for (kind, words) in [
        ("ttcp", "load.bulk.count = 0: no messages; expected at least 1"),
        ("ping", "load.bulk.count = 0: no echoes; expected at least 1, or left out: without end"),
        ("rpc", "load.bulk.count = 0: no exchanges; expected at least 1, or left out: without end"),
        ("udp", "load.bulk.count = 0: no datagrams; expected at least 1, or left out: without end"),
    ] {
        let said = changed(&[("kind = \"netperf\"", &format!("kind = {kind:?}\ncount = 0"))]);
        assert!(said.contains(words), "{kind}: {said}");
    }
}

#[test]
fn what_newcomers_write_leads_to_what_is_meant() {
    for (from, to, words) in [
        ("\"point-to-point\"\nrate = \"10 Mb/s\"", "\"pos\"", "unknown medium \"pos\"; did you mean \"oc3c-pos\"?"),
        ("\"point-to-point\"\nrate = \"10 Mb/s\"", "\"cellular\"", "did you mean \"trace\"?"),
        (
            "\"point-to-point\"",
            "\"oc3c-pos\"",
            "link.line.rate = \"10 Mb/s\": oc3c-pos has the rate of its name; expected no `rate`, or medium = \"point-to-point\"",
        ),
        (
            "\"point-to-point\"",
            "\"sync-2m\"",
            "sync-2m has the rate of its name; expected no `rate`, or medium = \"synchronous\"",
        ),
        ("kind = \"netperf\"", "kind = \"icmp\"", "unknown load \"icmp\"; did you mean \"ping\"?"),
        (
            "[50, 100]",
            "\"50-100\"",
            "vary.queue = \"50-100\": a number without unit is wanted, not \"-100\"; did you mean the range \"50 .. 100\"?",
        ),
        (
            "\"10 ms\"",
            "\"${queue*2}\"",
            "unknown name ${queue*2}; expected blanks around each sign, such as ${rtt / 2}",
        ),
        ("to = \"b\"", "to = \"a\"", "writes, and cannot read as well; expected another host, or another program"),
        (
            "[\"tcp\", \"ip\", \"l0\"]",
            "[\"tcp\", \"ip\", \"east\", \"l0\"]",
            "and what a layer with a name of its own is by `kind`) \"east\"",
        ),
        (
            "[report]",
            "[[event]]\nat = \"1 s\"\nlink = \"line\"\nstate = \"down\"\n[report]",
            "unknown key \"state\"; did you mean up?",
        ),
        ("x = \"queue\"", "x = \"queue\"\nvalue = \"fairness\"", "did you mean \"jain\"?"),
    ] {
        let said = changed(&[(from, to)]);
        assert!(said.contains(words), "{to}: {said}");
    }
    // What is on no way is told of the load alone.
    let said = changed(&[("\"${queue}\"", "\"1 bdp\""), ("to = \"b\"", "to = \"c\"")]);
    assert!(said.contains("load.bulk.to = \"c\"") && !said.contains("bdp"), "{said}");
}

/// A hyphen stands in many things that are no range: what is suggested is one, and nothing else is expected beside it.
#[test]
fn a_range_with_a_hyphen_is_told_as_the_range_that_it_would_be() {
    let varied = |text: &str| changed(&[("[50, 100]", &format!("{text:?}"))]);
    for (text, range) in [
        ("1 - 5", "1 .. 5"),
        ("50-100", "50 .. 100"),
        ("10 ms-100 ms", "10 ms .. 100 ms step 10 ms"),
        ("8 KiB - 64 KiB", "8 KiB .. 64 KiB step 8 KiB"),
    ] {
        let said = varied(text);
        assert!(said.ends_with(&format!("; did you mean the range {range:?}?")), "{said}");
    }
    for text in ["1e-5", "5-1", "10 ms-5", "1-5 frames"] {
        let said = varied(text);
        assert!(said.starts_with("x.toml:21: vary.queue") && !said.contains("the range"), "{said}");
    }
}

/// Three hosts on a switch, with `arp` or without.
fn segment(changes: &[(&str, &str)]) -> String {
    let mut text = r#"title = "x"
host.h = { count = 3, graph = ["ip", "arp", "eth", "lan"] }
switch.s = { kind = "ethernet", queue_frames = 50 }
link.in = { count = 3, ends = ["h${i}", "s"], medium = "point-to-point", rate = "10 Mb/s", framing = "24 B" }
load.t = { kind = "netperf", from = ["h0", "h1"], to = "h2", message = "8 KiB" }
run = { duration = "2 s" }
"#
    .to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    said(&text).expect_err(&text)
}

/// Where values are wrong and the network cannot work either, both are told, and the values decide the exit status.
#[test]
fn that_nothing_finds_mac_addresses_hides_no_wrong_value() {
    const NO_ARP: (&str, &str) = ("\"arp\", ", "");
    let alone = segment(&[NO_ARP]);
    assert!(alone.starts_with("x.toml:2: host.h0.graph") && !alone.contains('\n'), "{alone}");
    for (from, to, words) in [
        ("\"2 s\"", "\"-2 s\"", "x.toml:6: run.duration"),
        ("\"8 KiB\"", "\"8 KiX\"", "x.toml:5: load.t.message"),
        ("to = \"h2\"", "to = \"h9\"", "x.toml:5: load.t.to"),
    ] {
        let both = segment(&[NO_ARP, (from, to)]);
        assert!(both.contains(words), "{both}");
    }
    let both = segment(&[NO_ARP, ("\"2 s\"", "\"2 x\"")]);
    assert_eq!(both.lines().count(), 2, "{both}");
    assert!(both.contains("nothing finds the MAC addresses"), "{both}");
}

#[test]
fn a_wrong_unit_in_a_group_of_lines_is_no_missing_key() {
    let unit = segment(&[("10 Mb/s", "10 Mq/s")]);
    assert_eq!(unit, "x.toml:4: link.in0.rate = \"10 Mq/s\": unknown unit \"Mq/s\"; try Mb/s");
}

#[test]
fn nothing_is_told_of_what_stands_nowhere_in_the_file() {
    let block = changed(&[("message =", "block =")]);
    assert!(block.contains("unknown key \"block\"; did you mean message?") && !block.contains("clock"), "{block}");
    // What looks like a slip of another key has a value that this key cannot have.
    let other = changed(&[("message =", "clack = \"8 KiB\"\nmassage =")]);
    assert!(!other.contains("load.bulk.clock"), "{other}");
}

#[test]
fn layers_that_there_are_not_and_transports_on_transports_are_told_at_their_graph() {
    let unknown = changed(&[("\"ip\", \"l0\"]", "\"ipv4\", \"l0\"]")]);
    assert!(
        unknown.starts_with(
            "x.toml:3: host.a.graph = [\"tcp\", \"ipv4\", \"l0\"]: unknown kind of layer \"ipv4\"; did you mean \"ip\"?"
        ),
        "{unknown}"
    );
    let both = changed(&[("\"ip\", \"l0\"]", "\"icmp\", \"ip\", \"l0\"]")]);
    assert!(both.starts_with("x.toml:3: host.a.graph") && both.contains("tcp stands on icmp"), "{both}");
}

#[test]
fn a_load_that_would_end_before_it_begins_is_told_at_its_event() {
    let event = |first: &str, second: &str| {
        let events = format!(
            "[[event]]\nat = \"1 s\"\nload = \"bulk\"\n{first}\n[[event]]\nat = \"2 s\"\nload = \"bulk\"\n{second}\n[vary]"
        );
        changed(&[("[vary]", &events), ("queue = [50, 100]", "queue = [50, 0.5]")])
    };
    let wrong = event("up = false", "up = true");
    assert!(
        wrong.contains("x.toml:25: event.1.at = \"2 s\": the load would end at 1 s, before it begins at 2 s"),
        "{wrong}"
    );
    assert!(!event("up = true", "up = false").contains("before it begins"));
}

#[test]
fn all_names_that_are_none_are_told_at_once() {
    let names =
        changed(&[("[host.b]", "[host.\"\"]"), ("[link.line]", "[link.\" \"]"), ("[load.bulk]", "[load.\"\"]")]);
    let lines: Vec<&str> = names.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(lines, ["x.toml:5", "x.toml:7", "x.toml:13"], "{names}");
}

#[test]
fn what_else_is_wrong_with_a_ring_is_told_of_rings() {
    let ring = |ends: &str| {
        let text = format!(
            "title = \"x\"\nhost.s = {{ count = 3, graph = [\"ip\", \"arp\", \"llc_snap\", \"fddi\", \"f0\"] }}\n\
             switch.w = {{ kind = \"ethernet\", ports = 2 }}\nring.r = {{ ends = {ends}, medium = \"fddi\" }}\n\
             load.t = {{ kind = \"netperf\", from = \"s0\", to = \"s2\", message = \"8 KiB\" }}\nrun.duration = \"1 s\"\n"
        );
        said(&text).err().unwrap_or_default()
    };
    assert!(!ring("[\"s0\", \"s1\", \"s2.f0\"]").contains("ring"), "{}", ring("[\"s0\", \"s1\", \"s2.f0\"]"));
    // What it stands on is a device, and no MAC.
    let bare = "title = \"x\"\nhost.a.graph = [\"ip\", \"f0\"]\nhost.b.like = \"a\"\nring.r = { ends = [\"a\", \"b\"], medium = \"fddi\" }\n\
         load.t = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\" }\nrun.duration = \"1 s\"\n";
    let bare = said(bare).err().unwrap_or_default();
    let words = "the stations of a ring have addresses, and on f0 stands no layer `fddi`; expected such as [\"ip\", \"arp\", \"llc_snap\", \"fddi\", \"f0\"]";
    assert!(bare.contains("x.toml:4: ring.r.ends.0") && bare.contains(words), "{bare}");
    for (ends, words) in [
        ("[\"s\", \"s1\", \"s2\"]", "\"s\" is 3 of them; expected a name for each: \"s0\", \"s1\" and so on"),
        ("[\"s0\", \"w\", \"s2\"]", "w is a switch, and none is a station of a ring; expected a host"),
        ("[\"s0\", \"s7\", \"s2\"]", "unknown host \"s7\""),
    ] {
        let said = ring(ends);
        assert!(said.contains("x.toml:4: ring.r.ends") && said.contains(words), "{said}");
    }
}
