//! The program from outside: exit statuses, where messages go, and that a mistake leaves no files.
#![expect(clippy::unwrap_used, reason = "a test may stop where something is not as it should be")]

use std::process::{Command, Output};

use kumiki_watchdog::process;
use rustix::process::Signal;

const TWO_HOSTS: &str = include_str!("../../kumiki-lab/tests/data/two-hosts.toml");
const SCRIPT: &str = include_str!("../../../scripts/tcp/sending/nodelay.script");

/// Two hosts without a route from one to the other.
const UNCONNECTED: &str = r#"title = "Nobody is there"
host.near = { graph = ["netperf", "tcp", "ip", "p2p0"], ip = { address = "10.0.0.1/24" } }
host.far = { like = "near", ip = { address = "10.0.5.2/24" } }
link.line = { ends = ["near.p2p0", "far.p2p0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "10 ms" }
run = { duration = "1 s" }
load.bulk = { kind = "netperf", from = "near.netperf", to = "far.netperf", message = "8 KiB", socket_buffer = "64 KiB" }
"#;

/// A folder of its own for one test.
struct Folder(process::Folder);

impl Folder {
    fn new(name: &str) -> Self {
        Self(process::Folder::within(env!("CARGO_TARGET_TMPDIR").as_ref(), name))
    }

    /// With this scenario in it.
    fn with(name: &str, scenario: &str) -> Self {
        let folder = Self::new(name);
        folder.0.write("x.toml", scenario.as_bytes());
        folder
    }

    fn kumiki(&self, arguments: &[&str]) -> Output {
        kumiki_watchdog::minute();
        Command::new(env!("CARGO_BIN_EXE_kumiki")).args(arguments).current_dir(self.0.place()).output().unwrap()
    }

    fn names(&self) -> Vec<String> {
        self.0.names("")
    }
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "results belong to standard output, errors do not");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Whoever sends a scenario to somebody does not write on their terminal with it.
#[test]
fn orders_to_a_terminal_in_titles_and_values_are_seen() {
    let head = "title = \"Two \\u001b[31mhosts\"\nabout = \"${note}\"\nvary.note = [\"a \\u009b31m line\", \"x\"]\n";
    let text = UNCONNECTED.replace("title = \"Nobody is there\"\n", head).replace("10.0.5.2", "10.0.0.2");
    let folder = Folder::with("orders", &text);
    for arguments in
        [&["run", "x.toml"][..], &["run", "x.toml", "--dry-run", "--force"], &["limit", "x.toml"], &["graph", "x.toml"]]
    {
        let output = folder.kumiki(arguments);
        let [said, told] = [&output.stdout, &output.stderr].map(|it| String::from_utf8(it.clone()).unwrap());
        assert!(output.status.success(), "{arguments:?}: {told}");
        assert!(
            !said.contains(['\u{1b}', '\u{9b}']) && !told.contains(['\u{1b}', '\u{9b}']),
            "{arguments:?}: {said:?} {told:?}"
        );
        // Each shows one of them or both, but for `limit`.
        let shows = ["Two \\u{1b}[31mhosts", "a \\u{9b}31m line"].map(|it| said.contains(it));
        assert!(shows.contains(&true) || arguments[0] == "limit", "{arguments:?}: {said}");
    }
}

#[test]
fn a_wrong_scenario_is_one_line_with_its_place_and_leaves_no_files() {
    let folder = Folder::with("wrong", &TRANSFER.replace("medium =", "medum ="));
    let message = refused(&folder.kumiki(&["run", "x.toml"]));
    assert_eq!(
        message,
        "kumiki: x.toml:4: link.line.medum = \"point-to-point\": unknown key \"medum\"; did you mean medium? (one of ends, medium, \
         a setting of the medium)\n"
    );
    assert_eq!(folder.names(), ["x.toml"]);
}

/// Whoever looks at a scenario first, by whichever command, need not come back for each mistake.
#[test]
fn every_command_tells_all_mistakes_of_a_scenario() {
    let wrong = UNCONNECTED.replace("100 Mb/s", "100 Mx/s").replace("duration =", "wurm_up = \"1 s\", duration =");
    let folder = Folder::with("mistakes", &wrong);
    folder.0.write("m.csv", b"goodput_mbps\n1\n");
    let commands: &[&[&str]] = &[
        &["run", "x.toml"],
        &["graph", "x.toml"],
        &["limit", "x.toml"],
        &["fit", "x.toml", "m.csv", "--free", "tcp.send"],
        #[cfg(target_os = "linux")]
        &["live", "x.toml", "--run", "near=true"],
    ];
    for arguments in commands {
        let said = refused(&folder.kumiki(arguments));
        assert!(
            said.contains("x.toml:4: link.line.rate") && said.contains("x.toml:5: run.wurm_up"),
            "{arguments:?}: {said}"
        );
    }
    assert_eq!(folder.names(), ["m.csv", "x.toml"]);
}

/// Nor for each of a file that the scenario names.
#[test]
fn the_mistakes_of_a_schedule_hide_none_of_the_scenario() {
    let scenario =
        UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("\"10 ms\" }", "\"10 ms\", schedule = \"l.csv\" }");
    let folder = Folder::with("schedule", &scenario.replace("duration =", "wurm_up = \"1 s\", duration ="));
    folder.0.write("l.csv", b"at (s),rate (Mb/s)\n1,x\n2,-1\n");
    let said = refused(&folder.kumiki(&["run", "x.toml"]));
    let places: Vec<&str> = said.lines().filter_map(|line| line.split(": ").find(|it| *it != "kumiki")).collect();
    assert_eq!(places, ["x.toml:5", "l.csv:2", "l.csv:3"], "{said}");
    folder.0.write("l.csv", b"at (s),rate (Mb/s)\n1,3\n2,1\n");
    let said = refused(&folder.kumiki(&["run", "x.toml"]));
    assert!(said.starts_with("kumiki: x.toml:5: run.wurm_up") && said.lines().count() == 1, "{said}");
    assert_eq!(folder.names(), ["l.csv", "x.toml"]);
}

/// What cannot be run is not drawn either: `graph` is for checking a scenario before it is run.
#[test]
fn the_graph_of_a_scenario_that_cannot_be_run_is_refused() {
    let folder = Folder::with("not-drawn", &UNCONNECTED.replace("\"tcp\", \"ip\"", "\"ip\", \"tcp\""));
    let [graph, run] = ["graph", "run"].map(|command| refused(&folder.kumiki(&[command, "x.toml"])));
    assert_eq!(graph, run);
}

#[cfg(target_os = "linux")]
#[test]
fn the_terminal_goes_to_a_host_at_which_a_program_runs() {
    let folder = Folder::with("attach", &UNCONNECTED.replace("10.0.5.2", "10.0.0.2"));
    let said = refused(&folder.kumiki(&["live", "x.toml", "--run", "near=true", "--attach", "far"]));
    assert_eq!(said, "kumiki: --attach far: no program runs at that host; programs run at: near\n");
}

#[test]
fn missing_files_and_unknown_names_are_input_errors() {
    let folder = Folder::new("missing");
    assert_eq!(refused(&folder.kumiki(&["run", "none.toml"])), "kumiki: none.toml: there is nothing of that name\n");
    let unknown = refused(&folder.kumiki(&["graph", "none"]));
    assert!(unknown.starts_with("kumiki: there is no scenario \"none\""), "{unknown}");
    assert!(folder.names().is_empty());
}

#[test]
fn a_wrong_set_is_named_as_it_was_given() {
    let folder = Folder::with("set", TWO_HOSTS);
    assert_eq!(
        refused(&folder.kumiki(&["run", "x.toml", "--set", "widow=3 KiB"])),
        "kumiki: --set widow=3 KiB (x.toml): unknown name \"widow\"; did you mean window? (one of nagle, window, rtt, mss, stack_plain)\n"
    );
    assert_eq!(folder.names(), ["x.toml"]);
}

#[test]
fn an_older_result_is_not_replaced_without_force() {
    let folder = Folder::new("older");
    std::fs::create_dir(folder.0.path("out")).unwrap();
    std::fs::write(folder.0.path("out/rows.jsonl"), "{}").unwrap();
    let message = refused(&folder.kumiki(&["run", "paper2-fig6", "--out", "out"]));
    assert!(message.contains("already has a result") && message.contains("--force"), "{message}");
    assert_eq!(std::fs::read_to_string(folder.0.path("out/rows.jsonl")).unwrap(), "{}");
}

#[test]
fn wrong_usage_is_2_and_help_is_0() {
    let folder = Folder::new("usage");
    for arguments in [&["reproduce", "6"][..], &["run"], &["fly"], &["run", "x.toml", "--jobs", "0"], &[]] {
        assert_eq!(folder.kumiki(arguments).status.code(), Some(2), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["--version"], &["reproduce", "--help"], &["run", "--help"]] {
        let output = folder.kumiki(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty());
    }
}

/// What would be there for nobody would be waited for in vain.
#[test]
#[cfg(target_os = "linux")]
fn a_stack_of_its_own_says_what_is_wrong_before_it_is_there() {
    let folder = Folder::new("stack");
    let stack = ["stack", "--at", "s.sock", "--addr"];
    let cases: [(&[&str], &str); 5] = [
        (&["10.9.0.2"], "write an address and its prefix"),
        (&["10.9.0.2/24", "--programs", "0"], "expected a whole number from 1"),
        (&["10.9.0.2/24", "--sockets", "0"], "expected a whole number from 1"),
        (&["10.9.0.2/24", "--addr", "10.9.0.3/24"], "two addresses of IPv4"),
        (&["10.9.0.2/24", "--mode", "999"], "expected three octal digits"),
    ];
    for (rest, expected) in cases {
        let said = refused(&folder.kumiki(&[&stack[..], rest].concat()));
        assert!(said.contains(expected), "{rest:?}: {said}");
        assert!(folder.names().is_empty());
    }
}

#[test]
fn a_group_that_cannot_be_is_refused_before_anybody_waits() {
    let folder = Folder::new("group");
    let message = |arguments: &str| {
        // On a machine without TUN, or without the right to it, what is asked would fail with 1.
        let all = format!("{arguments} --tun kumiki-none --addr 10.9.0.2/24");
        refused(&folder.kumiki(&all.split(' ').collect::<Vec<_>>()))
    };
    let xtp = "ttcp --receive --protocol xtp --group";
    assert_eq!(
        message(&format!("{xtp} 10.1.2.3")),
        "kumiki: --group: 10.1.2.3 is no multicast address; expected one such as 239.1.2.3 or ff0e::1\n"
    );
    assert_eq!(
        message(&format!("{xtp} ff0e::1")),
        "kumiki: --group: ff0e::1 is of another version of IP than --addr 10.9.0.2; expected both of one version\n"
    );
    assert_eq!(
        message("sink --listen 5001 --group 239.1.2.3"),
        "kumiki: --group: 239.1.2.3 is a group, and TCP has none; expected --protocol xtp\n"
    );
    for (arguments, option) in [
        ("ttcp --receive --group 239.1.2.3", "--group"),
        ("ttcp --transmit 239.1.2.3", "--transmit"),
        ("ttcp --transmit ff0e::1 --protocol xtp", "--transmit"),
        ("source --to 239.1.2.3:5001", "--to"),
    ] {
        let message = message(arguments);
        assert!(message.starts_with(&format!("kumiki: {option}: ")), "{message}");
    }
}

#[test]
fn the_graph_is_printed() {
    let folder = Folder::with("graph", UNCONNECTED);
    let text = folder.kumiki(&["graph", "x.toml", "--set", "host.near.tcp.mss=512 B"]);
    assert_eq!(text.status.code(), Some(0), "{text:?}");
    assert!(String::from_utf8(text.stdout).unwrap().contains("mss = \"512 B\""));
    let svg = folder.kumiki(&["graph", "x.toml", "--svg"]);
    assert!(svg.stdout.starts_with(b"<svg"));
}

#[test]
fn a_directory_that_cannot_be_made_is_refused_before_anything_runs() {
    let folder = Folder::new("unwritable");
    std::fs::write(folder.0.path("out"), "a file").unwrap();
    let output = folder.kumiki(&["run", "paper2-fig6", "--out", "out/below"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_run_prints_rows_and_leaves_them() {
    let folder = Folder::new("success");
    let output = folder.kumiki(&["run", "paper2-fig6", "--json", "--set", "window=64 KiB", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout, std::fs::read(folder.0.path("out/rows.jsonl")).unwrap());
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"window_bytes\":65536"));
    assert!(folder.0.path("out/figures/paper2-fig6.svg").is_file());
}

#[test]
fn impaired_links_are_the_same_on_any_number_of_threads_and_leave_no_files() {
    let folder = Folder::new("adversity");
    let run = |jobs| {
        let output = folder.kumiki(&["adversity", "--from", "100", "--count", "20", "--jobs", jobs]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run("1");
    assert!(text.starts_with("20 transfers: "), "{text}");
    assert!(text.contains("0 failed; hash "), "{text}");
    assert_eq!(text, run("3"));
    assert!(folder.names().is_empty());
    assert_eq!(folder.kumiki(&["adversity", "--pcap"]).status.code(), Some(2), "captures are of one seed");
}

#[test]
fn no_seeds_and_no_port_are_mistakes_that_are_named() {
    let folder = Folder::new("mistakes");
    let said = |arguments: &[&str]| {
        let output = folder.kumiki(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let none = said(&["adversity", "--count", "0"]);
    assert!(none.contains("'0' for '--count <N>'"), "{none}");
    for (to, expected) in [
        ("192.168.3.2", "needs a port, as 192.168.3.2:5001"),
        ("fd00::1", "needs a port, as [fd00::1]:5001"),
        ("[fd00::1]", "needs a port, as [fd00::1]:5001"),
        ("host", "not an address and a port, as 10.9.0.1:5001 or [fd00::1]:5001"),
    ] {
        let text = said(&["echo", "--tun", "tun9", "--addr", "192.168.3.1/24", "--to", to]);
        assert!(text.contains(expected), "{text}");
    }
}

/// TPDUs of 8192 octets in packets of 2048, on LAPB.
#[test]
fn decode_reads_file_transfer_on_lapb() {
    let folder = Folder::new("on-lapb");
    let point = ["tpdu=8192 B", "path=line", "flow=credit"];
    let set = point.iter().flat_map(|it| ["--set", it]);
    let arguments: Vec<&str> = ["run", "paper4-fig2b", "--pcap", "--out", "seen"].into_iter().chain(set).collect();
    assert!(folder.kumiki(&arguments).status.success());
    for host in ["sender", "receiver"] {
        let file = format!("seen/captures/paper4-fig2b/000-{host}.pcapng");
        let bad = folder.kumiki(&["decode", "--bad", &file]);
        assert_eq!(String::from_utf8(bad.stdout).unwrap(), "", "{host}");
        let all = folder.kumiki(&["decode", &file]);
        let all = String::from_utf8(all.stdout).unwrap();
        assert!(all.contains("file, 8000 octets"), "{host}");
    }
}

#[test]
fn decode_has_nothing_to_remark_on_what_an_xtp_sends() {
    let folder = Folder::new("adversity-xtp");
    for seed in 0..20 {
        let seed = seed.to_string();
        let arguments = ["adversity", "--protocol", "xtp", "--seed", &seed, "--pcap"];
        let output = folder.kumiki(&[&arguments[..], &["--out", "seen"]].concat());
        assert!(output.status.success(), "{output:?}");
        for name in ["near", "far"] {
            let file = format!("seen/adversity-{seed}-{name}.pcapng");
            let output = folder.kumiki(&["decode", "--bad", &file]);
            let text = String::from_utf8(output.stdout).unwrap();
            // What comes in may have been spoilt on the line.
            let sent = text.lines().find(|it| it.contains(" out ") && it.contains("!!"));
            assert_eq!(sent, None, "seed {seed}");
        }
    }
    let output = folder.kumiki(&["adversity", "--protocol", "xtp", "--seed", "1", "--trace"]);
    assert_eq!(output.status.code(), Some(2), "there is none of XTP");
}

#[test]
fn one_seed_is_told_in_words_and_kept_in_captures() {
    let folder = Folder::new("adversity-one");
    let output = folder.kumiki(&["adversity", "--seed", "7", "-v", "--pcap", "--trace", "--out", "seen"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Case 7\n"), "{text}");
    for name in ["7-near.pcapng", "7-far.pcapng", "7-tcp.csv"] {
        assert!(folder.0.path(&format!("seen/adversity-{name}")).exists());
    }
}

#[test]
fn captures_are_their_owners_alone_and_no_link_is_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new("captures");
    let path = |name: &str| folder.0.path(name);
    let mode = |name: &str| path(name).metadata().unwrap().permissions().mode() & 0o777;
    std::fs::write(path("victim"), "kept").unwrap();
    std::fs::write(path("x.script"), SCRIPT).unwrap();
    std::fs::create_dir(path("seen")).unwrap();
    for (arguments, capture) in [
        (&["adversity", "--seed", "4", "--pcap", "--out", "seen"][..], "seen/adversity-4-far.pcapng"),
        (&["adversity", "--seed", "4", "--trace", "--out", "seen"], "seen/adversity-4-tcp.csv"),
        (&["script", "x.script", "--pcap", "seen/x.pcapng"], "seen/x.pcapng"),
    ] {
        let output = folder.kumiki(arguments);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(mode(capture), 0o600, "{capture}");
        std::fs::remove_file(path(capture)).unwrap();
        symlink(path("victim"), path(capture)).unwrap();
        let output = folder.kumiki(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("symbolic link"), "{output:?}");
        assert_eq!(std::fs::read_to_string(path("victim")).unwrap(), "kept");
    }
}

#[test]
fn a_scenario_without_a_route_says_why_nothing_came_and_fails() {
    let folder = Folder::with("unconnected", UNCONNECTED);
    let output = folder.kumiki(&["run", "x.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let why = "no connection was established: near has no route to 10.0.5.2";
    assert!(said.contains(why), "{said}");
    // The only point has no name, and none is missing.
    assert!(said.contains(&format!("x: {why}")) && !said.contains(", :"), "{said}");
}

#[test]
fn scenarios_are_listed_and_a_file_of_that_name_is_meant_first() {
    let folder = Folder::with("listed", TWO_HOSTS);
    let output = folder.kumiki(&["scenarios"]);
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && listed.lines().any(|line| line.starts_with("paper2-fig6 ")));
    let said = refused(&folder.kumiki(&["run", "x"]));
    assert!(said.starts_with("kumiki: there is no scenario \"x\"; did you mean the file x.toml? ("), "{said}");
}

#[test]
fn what_would_be_run_is_told_and_nothing_is_written() {
    let folder = Folder::with("dry", &three_points("1 s"));
    let said = |arguments: &[&str]| {
        let output = folder.kumiki(&[&["run", "x.toml", "--dry-run"], arguments].concat());
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr))
    };
    let (status, text) = said(&["--shard", "2/2", "--jobs", "1"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("10.0.5.2, time 100 ms") && text.contains("shard 1/2"), "{text}");
    assert!(text.contains("3 points, 1 to be run, 2 of other shards; about "), "{text}");
    assert_eq!(folder.names(), ["x.toml"]);
    // Of a run that would be refused that is told as well.
    std::fs::create_dir(folder.0.path("out")).unwrap();
    folder.0.write("out/rows.jsonl", b"{}");
    let (status, text) = said(&["--out", "out", "--json"]);
    assert_eq!((status, text.lines().count()), (Some(2), 4), "{text}");
    assert!(text.contains("\"state\":\"runs\"") && text.contains("out already has a result"), "{text}");
}

/// Nobody answers at the first of two points. What it has to show is kept and marked, and no command takes it for a result.
#[test]
fn a_point_that_failed_is_kept_and_is_no_result() {
    let lossy =
        UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("\"10 ms\"", "\"10 ms\", impair.loss = \"${loss}\"");
    let folder = Folder::with("failed", &format!("{lossy}vary.loss = [\"100 %\", \"0 %\"]\n"));
    for out in ["before", "after"] {
        let ran = folder.kumiki(&["run", "x.toml", "--out", out, "--pcap", "--trace"]);
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    }
    let rows = std::fs::read_to_string(folder.0.path("before/rows.jsonl")).unwrap();
    let marked: Vec<bool> = rows.lines().map(|row| row.contains("\"failed\":true")).collect();
    assert_eq!(marked, [true, true, true, false, false, false], "{rows}");
    assert!(rows.lines().take(3).all(|row| row.contains("\"bound_by\":\"opening\"")), "{rows}");
    let captures = folder.0.names("before/captures/x");
    let of = |point: &str, name: &str| captures.contains(&format!("{point}-{name}"));
    assert!(["000", "001"].iter().all(|point| of(point, "near.pcapng") && of(point, "trace.csv")), "{captures:?}");
    let page = std::fs::read_to_string(folder.0.path("before/report.html")).unwrap();
    assert!(page.contains("nobody answered until the end") && page.contains("loss 100 %, failed"), "the page");
    let text = |output: &Output| String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    let listed = text(&folder.kumiki(&["scenarios", "before"]));
    assert!(listed.contains("before: x: 2 of 2 points (1 failed), "), "{listed}");
    let said = "before: 1 point has failed and is left out: loss 100 %";
    let compared = text(&folder.kumiki(&["compare", "before", "after"]));
    assert!(compared.contains(said) && !compared.contains("│ loss 100 %"), "{compared}");
    let drawn = text(&folder.kumiki(&["plot", "before", "--x", "round_trip_ms.mean", "-o", "f.svg"]));
    assert!(drawn.contains(said), "{drawn}");
    // Where all have failed there is nothing to compare.
    let all = folder.kumiki(&["run", "x.toml", "--out", "none", "--set", "loss=100 %"]);
    assert_eq!(all.status.code(), Some(1), "{all:?}");
    let none = refused(&folder.kumiki(&["compare", "none", "after"]));
    assert!(none.contains("none: all of its points have failed, so there is no result in it"), "{none}");
}

#[test]
fn results_are_listed_compared_and_drawn_beside_measurements() {
    let folder = Folder::with("compared", UNCONNECTED.replace("10.0.5.2", "10.0.0.2").as_str());
    std::fs::create_dir_all(folder.0.path("results/before")).unwrap();
    folder.0.write("results/before/rows.parquet", b"of an older result");
    for (out, set) in [("before", "1 s"), ("after", "2 s")] {
        let set = format!("run.duration={set}");
        let ran = folder.kumiki(&["run", "x.toml", "--force", "--out", &format!("results/{out}"), "--set", &set]);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    }
    assert!(!folder.0.names("results/before").iter().any(|name| name == "rows.parquet"), "columns of older rows");
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    let listed = text(&folder.kumiki(&["list", "results"]));
    assert!(listed.contains("results/after: x: 1 of 1 points") && listed.contains("run.duration=2 s"), "{listed}");
    let both = ["compare", "results/before", "results/after"];
    let octets = folder.kumiki(&[&both[..], &["--value", "octets", "--fail-over=3%", "-o", "f.svg"]].concat());
    assert_eq!(octets.status.code(), Some(1), "{octets:?}");
    let told = String::from_utf8_lossy(&octets.stderr);
    assert!(told.contains("1 difference is more than --fail-over allows:\n  after, the only point: +"), "{told}");
    assert!(text(&octets).contains("scenario x, run.duration: \"1 s\" in before, \"2 s\" in after"), "{octets:?}");
    assert_eq!(folder.kumiki(&[&both[..], &["--value", "octets", "--fail-over=-3%"]].concat()).status.code(), Some(0));
    folder.0.write("mine.csv", b"measured (s),goodput (kb/s)\n1,5000\n2,5100\n");
    let drawn = folder.kumiki(&["plot", "results/before", "linux=mine.csv", "--x", "measured_s", "-o", "f.svg"]);
    assert_eq!(drawn.status.code(), Some(0), "{drawn:?}");
    let figure = String::from_utf8(folder.0.read("f.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.contains("linux"), "{figure}");
    // A slip of the pen must not cost the measurements.
    let slip = refused(&folder.kumiki(&["plot", "mine.csv", "--x", "measured_s", "-o", "mine.csv"]));
    assert!(slip.contains("--out mine.csv: pictures are SVG, and not csv; did you mean mine.svg?"), "{slip}");
    folder.0.write("notes.svg", b"no picture");
    let slip = refused(&folder.kumiki(&["plot", "mine.csv", "--x", "measured_s", "-o", "notes.svg"]));
    assert!(slip.contains("notes.svg: there is a file that is no picture"), "{slip}");
    assert_eq!(folder.0.read("notes.svg"), b"no picture");
}

#[test]
fn prices_are_fitted_and_the_profile_is_ready_for_use() {
    let scenario =
        UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("10 ms", "1 us").replace("\"1 s\"", "\"100 ms\"");
    let scenario =
        scenario.replace("host.near = {", "host.near = { profile = \"ss20\",") + "vary.mss = [\"536 B\", \"1072 B\"]\n";
    let scenario =
        scenario.replace("address = \"10.0.0.1/24\" }", "address = \"10.0.0.1/24\" }, tcp = { mss = \"${mss}\" }");
    let folder = Folder::with("fitted", &scenario);
    folder.0.write("mine.csv", b"mss (B),goodput (Mb/s)\n536,14\n1072,24\n");
    let fit = ["fit", "x.toml", "mine.csv", "--free", "tcp.send", "-o", "mine.toml"];
    let fitted = folder.kumiki(&fit);
    let said = String::from_utf8_lossy(&fitted.stdout);
    assert!(fitted.status.success() && said.contains("tcp.send") && said.contains("mss 1072 B"), "{fitted:?}");
    assert!(refused(&folder.kumiki(&fit)).contains("mine.toml: it is there already; --force replaces it"));
    let run = folder.kumiki(&["run", "x.toml", "--set", "host.near.profile=./mine.toml"]);
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("./mine.toml: 1 parameter fitted to 2 values"), "{run:?}");
    folder.0.write("bad.csv", b"mss (B),goodput (Mb/s)\n536,14\n1072,2x4\n");
    let bad = refused(&folder.kumiki(&["fit", "x.toml", "bad.csv"]));
    assert!(bad.starts_with("kumiki: bad.csv:3: column 2 (goodput (Mb/s)) = \"2x4\": not a number"), "{bad}");
}

#[test]
fn options_of_responders_that_have_no_effect_or_no_sense_are_refused_for_what_is_wrong() {
    let folder = Folder::new("responders");
    let ftamd = ["ftamd", "--root", "."];
    for (more, said) in [
        (&["--anonymous", "--user", "ada"][..], &["--anonymous", "--user"][..]),
        (&["--anonymous", "--listen", "127.0.0.1:99999"], &["99999", "no port", "65535"]),
        (&["--anonymous", "--listen", "localhost"], &["localhost", "names are not looked up"]),
        (&["--anonymous", "--listen", "localhost:102"], &["localhost", "names are not looked up"]),
        (&["--anonymous", "--listen", "127.0.0.1:"], &["no port"]),
        (&["--anonymous", "--listen", "[::1"], &["no address"]),
        (
            &["--anonymous", "--listen", "127.0.0.1:0", "--pcap", "none/x"],
            &["--pcap none/x: there is no directory none; make it, or choose another place"],
        ),
    ] {
        let told = refused(&folder.kumiki(&[&ftamd[..], more].concat()));
        for part in said {
            assert!(told.contains(part), "{part:?} is not in {told}");
        }
    }
    let told = refused(&folder.kumiki(&["mmsd", "--root", ".", "--anonymous", "--user", "ada"]));
    assert!(told.contains("--anonymous"), "{told}");
}

/// Each of these was taken without a word once, had no effect, or failed later in words that did not help.
#[test]
fn options_that_cannot_be_or_would_do_nothing_are_refused() {
    let folder = Folder::new("options");
    let live = "--tun none0 --addr 10.9.0.2/24";
    for (program, options, said) in [
        ("ping", "--to 10.9.0.1 --bytes 65508B", "at most 65507 B"),
        ("ping", "--to fd00::1", "another version of IP"),
        ("ping", "--to 10.9.0.1 --count 0", "--count"),
        ("ping", "--to 10.9.0.1 --station 127.0.0.1:7000", "--station"),
        ("ping", "--to 10.9.0.1 --via 127.0.0.1:7000", "--via"),
        ("ping", "--to 10.9.0.1 --beyond-loopback", "--beyond-loopback"),
        ("ping", "--to 10.9.0.1 --linux 10.9.0.2/24", "is --addr, too"),
        ("ping", "--to 10.9.0.1 --linux fd00::1/64", "another version of IP"),
        ("ping", "--to 10.9.0.1 --linux 10.8.0.1/24", "would not find --addr"),
        ("source", "--to [fd00::1]:5001", "another version of IP"),
        ("source", "--to 10.9.0.1:0", "port 0"),
        ("sink", "--listen 0", "--listen"),
        ("sink", "--listen 1 --write 1kB", "--write"),
        ("echo", "--listen 1 --write 0B", "--write"),
        ("sink", "--to 10.9.0.1:1 --group 239.1.2.3 --protocol xtp", "--group"),
        ("ttcp", "--transmit 10.9.0.1 --group 239.1.2.3 --protocol xtp", "--group"),
    ] {
        let all: Vec<&str> = [program].into_iter().chain(live.split(' ')).chain(options.split(' ')).collect();
        let told = refused(&folder.kumiki(&all));
        assert!(told.contains(said), "{program} {options}: {told}");
    }
    for (command, said) in [
        ("ping --tun none0 --addr fd00::2/64 --linux fd00::1/64 --mtu 1279 --to fd00::1", "1280"),
        ("ppp exec:true --tun none0 --listen 5", "--listen"),
        ("ppp exec:true --run sink --listen 0", "--listen"),
        ("ppp exec:true --run source --to 0", "--to"),
        ("x25 pad --listen 127.0.0.1:0 -- true", "--listen"),
        ("x25 pad 123 --xot 127.0.0.1:1 --begin 1s", "--begin is about many callers"),
        ("x25 pad 123 --xot 127.0.0.1:1 --strangers 1:2:3", "--strangers is about many callers"),
        ("x25 pad 123 --xot 127.0.0.1:1 --of-one-host 3", "--of-one-host is about many callers"),
        ("x25 pad --listen 127.0.0.1:0 --xot 127.0.0.1:1 --idle 0s", "--idle: no time"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --begin 0s", "--begin: no time"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --idle 0s", "--idle: no time"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --longest 0s", "--longest: no time"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --memory 1MiB", "6 MiB or more"),
        ("ftamd --root . --anonymous --listen 127.0.0.1:0 --pcap x --pcap-most 3kB", "64 KiB or more"),
        ("ftam ls ftam://127.0.0.1:1/ --retries 1", "--retries"),
        ("ftam get ftam://127.0.0.1:1/x --element 9kB", "--element"),
        ("mms ls mms://127.0.0.1:1/ --window 2", "--window"),
    ] {
        let all: Vec<&str> = command.split(' ').collect();
        let told = refused(&folder.kumiki(&all));
        assert!(told.contains(said), "{command}: {told}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_file_without_fewer_points_says_so_to_quick() {
    let folder = Folder::with("quick", &UNCONNECTED.replace("10.0.5.2", "10.0.0.2"));
    let output = folder.kumiki(&["run", "x.toml", "--quick", "--out", "seen"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("--quick: x names no fewer points"), "{told}");
}

/// A point that ends at once, one that fails at once, and one that takes as long as is said.
fn three_points(last: &str) -> String {
    let text = UNCONNECTED.replace("host.far = {", "define = {}\nvary.\"far, time\" = [[\"10.0.0.2\", \"100 ms\"], [\"10.0.5.2\", \"100 ms\"], [\"10.0.0.2\", \"LAST\"]]\nhost.far = {");
    let text =
        text.replace("define = {}\n", "").replace("10.0.5.2/24\"", "${far}/24\"").replace("\"1 s\"", "\"${time}\"");
    text.replace("LAST", last)
}

/// Starts `arguments`, and ends it by `signal` once two of the three points have ended.
fn ended_by(folder: &Folder, arguments: &[&str], signal: Signal) -> process::Ran {
    // What it says while it runs is told on standard error.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1", env!("CARGO_BIN_EXE_kumiki")]);
    command.args(arguments).args(["--jobs", "1"]).current_dir(folder.0.place());
    let mut running = process::Running::start(command);
    running.wait_for("no connection was established");
    running.signal(signal);
    running.end()
}

#[test]
fn what_is_interrupted_says_how_to_go_on_and_waits_for_nothing() {
    let folder = Folder::with("interrupted", &three_points("20 h"));
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let ran = ended_by(&folder, &["run", "x.toml", "--out", "an end", "--force"], signal);
        let said = "interrupted: 2 of 3 points have ended, they are in an end/journal.jsonl. To go on:\n  kumiki run x.toml --out 'an end' --jobs 1 --resume\n";
        assert!(ran.status == Some(status) && ran.out.ends_with(said), "{ran:?}");
        assert_eq!(folder.0.names("an end"), ["journal.jsonl", "run.json"]);
    }
    let from = String::from_utf8(folder.0.read("an end/run.json")).unwrap();
    for said in ["kumiki run x.toml --out 'an end' --jobs 1\"", "\"done\": 2", "\"all\": 3", "duration = \\\"100 ms"] {
        assert!(from.contains(said), "{said:?} is not in {from}");
    }
    let refused = refused(&folder.kumiki(&["run", "x.toml", "--out", "an end"]));
    assert!(refused.contains("go on with it by --resume"), "{refused}");
    let other = folder.kumiki(&["run", "x.toml", "--out", "an end", "--resume", "--set", "time=1 s"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("an end/journal.jsonl:1: it is of options"), "{other:?}");
}

/// A result that may grow no more (`ulimit -f`; a full disk is alike) is no lost one.
#[test]
fn what_finds_no_room_says_so_and_how_to_go_on() {
    let text = UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("\"64 KiB\"", "\"${buffer}\"");
    let folder = Folder::with("room", &format!("{text}vary.buffer = \"4 KiB .. 128 KiB step 4 KiB\"\n"));
    let whole = folder.kumiki(&["run", "x.toml", "--out", "whole"]);
    assert!(whole.status.success(), "{whole:?}");
    let mut limited = Command::new("sh");
    // Blocks are of 512 or 1024 octets.
    limited.args(["-c", "ulimit -f 60; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_kumiki")]);
    limited.args(["run", "x.toml", "--out", "short"]).current_dir(folder.0.place());
    let ended = limited.output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let told = String::from_utf8(ended.stderr).unwrap();
    let words =
        ["kumiki: short/journal.jsonl: File too large", " of 32 points have ended, which are in short/journal.jsonl"];
    assert!(words.iter().all(|it| told.contains(it)), "{told}");
    assert!(told.ends_with("to go on:\n  kumiki run x.toml --out short --resume\n"), "{told}");
    let resumed = folder.kumiki(&["run", "x.toml", "--out", "short", "--resume"]);
    assert!(resumed.status.success(), "{resumed:?}");
    for file in ["rows.jsonl", "rows.csv"] {
        assert_eq!(folder.0.read(&format!("short/{file}")), folder.0.read(&format!("whole/{file}")));
    }
}

#[test]
fn what_is_killed_and_resumed_and_what_is_merged_is_what_runs_at_once() {
    let folder = Folder::with("killed", &three_points("1 s"));
    let whole = folder.kumiki(&["run", "x.toml", "--out", "whole"]);
    assert_eq!(whole.status.code(), Some(1), "a point of it fails");
    let _ = ended_by(&folder, &["run", "x.toml", "--out", "killed"], Signal::KILL);
    let resumed = folder.kumiki(&["run", "x.toml", "--out", "killed", "--resume"]);
    for shard in ["1/2", "2/2"] {
        let out = &shard[..1];
        let ran = folder.kumiki(&["run", "x.toml", "--out", out, "--shard", shard]);
        assert!(ran.stdout.is_empty() && !folder.0.path(out).join("rows.jsonl").exists(), "{ran:?}");
    }
    let merged = folder.kumiki(&["merge", "2", "1", "--out", "merged"]);
    for (other, out) in [(resumed, "killed"), (merged, "merged")] {
        assert_eq!(other.status.code(), Some(1), "{other:?}");
        let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text(&other).replace(&format!("{out}/"), "whole/"), text(&whole));
        for file in ["rows.jsonl", "rows.csv"] {
            assert_eq!(folder.0.read(&format!("{out}/{file}")), folder.0.read(&format!("whole/{file}")), "{out}");
        }
    }
    let missing = refused(&folder.kumiki(&["merge", "2", "--out", "none"]));
    assert!(missing.contains("No directory of shard 1/2 is given"), "{missing}");
    for (what, words) in [("nope", "nope: there is no such directory"), (".", ".: no journal in it")] {
        let none = folder.kumiki(&["merge", what]);
        assert_eq!(none.status.code(), Some(2), "{none:?}");
        let told = refused(&none);
        assert!(told.contains(&format!("{words}; expected one that `run --shard` has left")), "{told}");
    }
}

#[test]
fn a_name_too_long_for_files_of_results_is_refused_before_anything_runs() {
    let folder = Folder::with("long", UNCONNECTED);
    let long = format!("{}.toml", "x".repeat(201));
    std::fs::copy(folder.0.path("x.toml"), folder.0.path(&long)).unwrap();
    let refused = folder.kumiki(&["run", &long, "--out", "out"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("a name of 201 octets, and files of its results are called by it"), "{told}");
    assert!(!folder.0.path("out").exists());
}

const TRANSFER: &str = r#"title = "A line"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run.duration = "200 ms"
"#;

/// Cut packets are read as far as they go, and nothing that is not there is called wrong.
#[test]
fn captures_are_cut_and_told_as_that() {
    let folder = Folder::with("snaplen", TRANSFER);
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let foreseen = folder.kumiki(&["run", "x.toml", "--pcap", "--dry-run"]);
    let told = text(&foreseen.stdout);
    assert!(
        told.contains("With --pcap: captures of about 536 kB; with --snaplen 128, which keeps headers, about"),
        "{told}"
    );
    let ran = folder.kumiki(&["run", "x.toml", "--out", "cut", "--pcap", "--snaplen", "96"]);
    assert!(ran.status.success(), "{ran:?}");
    let capture = "cut/captures/x/000-a.pcapng";
    let lines = text(&folder.kumiki(&["decode", capture]).stdout);
    assert!(lines.contains("(cut: 96 of 1500 octets)") && !lines.contains("!!"), "{lines}");
    assert!(lines.lines().all(|line| line.contains("  TCP ")), "{lines}");
    let trees = folder.kumiki(&["decode", "-v", capture]);
    let tree = text(&trees.stdout);
    assert!(trees.status.success() && tree.contains(", cut: 96 of 1500 octets, at "), "{tree}");
    assert!(text(&folder.0.read("cut/report.html")).contains("(cut: 96 of 1500 octets)"));
    // Whoever goes on with it has captures of one kind.
    let other = refused(&folder.kumiki(&["run", "x.toml", "--out", "cut", "--pcap", "--resume"]));
    let words = "it is of captures device, 96 octets of each packet, and not of captures device";
    assert!(other.contains(words), "{other}");
    let alone = folder.kumiki(&["run", "x.toml", "--snaplen", "96"]);
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
}

#[test]
fn options_that_are_keys_of_the_scenario_are_told_as_that() {
    let folder = Folder::with("elsewhere", UNCONNECTED);
    for (arguments, words) in [
        (
            &["run", "x.toml", "--repeat", "5"][..],
            "tip: the scenario says how often: --set run.repeat.runs=5, or run.confidence",
        ),
        (&["run", "x.toml", "--seed", "3"], "tip: the scenario has it: --set run.seed=3"),
        (&["run", "x.toml", "-o", "there"], "tip: the directory for results is --out DIR"),
        (&["reproduce", "paper5"], "expected the number of a paper, from 1 to 5"),
        (&["reproduce", "6"], "expected the number of a paper, from 1 to 5"),
    ] {
        let message = refused(&folder.kumiki(arguments));
        assert!(message.contains(words) && !message.contains("--set'"), "{message}");
    }
    assert_eq!(folder.names(), ["x.toml"]);
}

/// Whoever goes on with what was killed knows when it began.
#[test]
fn when_a_run_began_is_there_before_its_end() {
    let folder = Folder::with("begun", &three_points("1 s"));
    let arguments = ["run", "x.toml", "--out", "out"];
    let _ = ended_by(&folder, &arguments, Signal::KILL);
    let begun = String::from_utf8(folder.0.read("out/run.json")).unwrap();
    let before = begun.replacen("\"started\": \"20", "\"started\": \"19", 1);
    assert_ne!(before, begun);
    folder.0.write("out/run.json", before.as_bytes());
    // One of the points fails.
    assert_eq!(folder.kumiki(&[&arguments[..], &["--resume"]].concat()).status.code(), Some(1));
    let again = String::from_utf8(folder.0.read("out/run.json")).unwrap();
    assert!(again.contains("\"started\": \"19") && again.contains("\"done\": 3"), "{again}");
}

#[test]
fn a_directory_with_only_the_origin_of_a_result_is_refused_before_anything_is_written() {
    let folder = Folder::with("origin", &three_points("1 s"));
    std::fs::create_dir(folder.0.path("out")).unwrap();
    folder.0.write("out/run.json", b"{}");
    let message = refused(&folder.kumiki(&["run", "x.toml", "--out", "out"]));
    assert!(message.contains("out already has a result (run.json)"), "{message}");
    assert_eq!(folder.0.names("out"), ["run.json"]);
}

/// A name that cannot be, or a place where nobody may write, is a mistake of the command line, whoever is asked to write there.
#[test]
fn a_place_that_cannot_be_written_is_the_command_lines_mistake() {
    let folder = Folder::with("places", TRANSFER);
    folder.0.write("s.script", SCRIPT.as_bytes());
    folder.0.write("m.csv", b"goodput_mbps\n9\n");
    folder.0.write("file", b"in the way");
    for (arguments, place) in [
        (&["run", "x.toml", "--out", "file/below"][..], "--out file/below: "),
        (&["adversity", "--seed", "7", "--trace", "--out", "file/below"], "--out file/below: "),
        (&["adversity", "--seed", "7", "--pcap", "--out", "file/below"], "--out file/below: "),
        (&["script", "s.script", "--pcap", "none/x"], "--pcap none/x: "),
        (&["fit", "x.toml", "m.csv", "--free", "tcp.send", "--out", "none/p.toml"], "--out none/p.toml: "),
        (&["plot", "m.csv", "--x", "goodput_mbps", "--out", "none/x.svg"], "--out none/x.svg: "),
        (&["compare", "m.csv", "m.csv", "--out", "none/x.svg"], "--out none/x.svg: "),
        (&["man", "file/below"], "man file/below: "),
    ] {
        let output = folder.kumiki(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(&format!("kumiki: {place}")), "{arguments:?}: {told}");
    }
    // In a directory that is there nobody may make files, root neither.
    #[cfg(target_os = "linux")]
    for arguments in [
        &["run", "x.toml", "--out", "/sys/kernel"][..],
        &["run", "x.toml", "--out", "/sys/kernel", "--force"],
        &["run", "x.toml", "--out", "/sys/kernel", "--resume"],
        &["run", "x.toml", "--out", "/sys/kernel/none"],
    ] {
        let told = refused(&folder.kumiki(arguments));
        assert!(told.starts_with("kumiki: --out /sys/kernel/"), "{arguments:?}: {told}");
    }
    assert_eq!(folder.names(), ["file", "m.csv", "s.script", "x.toml"]);
}

/// What cannot be read is told alike by all, without numbers of the operating system.
#[test]
fn a_place_that_cannot_be_read_is_told_in_words() {
    let folder = Folder::with("unread", TRANSFER);
    folder.0.write("file", b"in the way");
    folder.0.write("latin.toml", b"title = \"\xe9\"\n");
    std::fs::create_dir(folder.0.path("dir.toml")).unwrap();
    for (arguments, said) in [
        (&["run", "file/x.toml"][..], "file/x.toml: file is no directory"),
        (&["run", "none/x.toml"], "none/x.toml: there is no directory none"),
        (&["run", "latin.toml"], "latin.toml: not UTF-8 text"),
        (&["run", "dir.toml"], "dir.toml: it is a directory; expected a file"),
        (&["decode", "none/x.pcap"], "none/x.pcap: there is no directory none"),
        (&["decode", "x.pcap"], "x.pcap: there is nothing of that name"),
        (&["script", "x.script"], "x.script: there is nothing of that name"),
        (&["compare", "m.csv", "n.csv"], "m.csv: there is nothing of that name"),
        (&["list", "none"], "none: there is nothing of that name"),
        (&["ppp", "pty", "--script", "none/x"], "--script none/x: there is no directory none"),
        #[cfg(target_os = "linux")]
        (&["link", "--up-trace", "none/x", "--", "true"], "--up-trace none/x: there is no directory none"),
        #[cfg(target_os = "linux")]
        (&["x25", "switch", "file/x", "--check"], "file/x: file is no directory"),
    ] {
        let output = folder.kumiki(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.starts_with(&format!("kumiki: {said}\n")), "{arguments:?}: {told}");
    }
    // And so is what cannot be written, before anything begins.
    for (arguments, said) in [
        (
            &["run", "x.toml", "--out", "file/below", "--dry-run"][..],
            "--out file/below: file is no directory; choose another place",
        ),
        (
            &["link", "--pcap", "none/x", "--", "true"],
            "--pcap none/x: there is no directory none; make it, or choose another place",
        ),
        (&["link", "--report", ".", "--", "true"], "--report .: it is a directory; expected a file"),
        (
            &["link", "--control", "none/x", "--", "true"],
            "--control none/x: there is no directory none; make it, or choose another place",
        ),
        (&["ftamd", "--anonymous", "--root", "none"], "--root none: there is nothing of that name"),
        (&["mmsd", "--anonymous", "--root", "file"], "--root file: it is no directory"),
        (&["ftamd", "--root", ".", "--passwords", "none"], "--passwords none: there is nothing of that name"),
        (
            &["ftamd", "--root", ".", "--anonymous", "--port-file", "none/x"],
            "--port-file none/x: there is no directory none; make it, or choose another place",
        ),
        (&["mms", "ls", "--pcap", ".", "mms://127.0.0.1:1/"], "--pcap .: it is a directory; expected a file"),
        (
            &["mms", "get", "mms://127.0.0.1:1/a", "none/x"],
            "none: there is no such directory; make it, or choose another place",
        ),
        (&["ftam", "put", "none", "ftam://127.0.0.1:1/a"], "none: there is nothing of that name"),
        (
            &["mms", "ls", "--password-file", "none", "mms://127.0.0.1:1/"],
            "--password-file none: there is nothing of that name",
        ),
        (
            &["delay", "--send", "none", "stats"],
            "--send none: there is nothing of that name; `kumiki delay`, `link` or `live` with --control and this path would listen there",
        ),
        (&["decode", "."], ".: it is a directory; expected a file"),
        (&["merge", "file"], "file: it is no directory; expected one that `run --shard` has left"),
    ] {
        let run = folder.kumiki(arguments);
        let told = String::from_utf8(run.stderr).unwrap();
        assert!(told.contains(&format!("kumiki: {said}\n")), "{arguments:?}: {told}");
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {told}");
    }
    for (arguments, said) in [
        (&["run", "x.toml", "--out", "file/below"][..], "--out file/below: file is no directory; choose another place"),
        (
            &["adversity", "--seed", "7", "--pcap", "--out", "file"],
            "--out file: something else is there; choose another place",
        ),
        (
            &["script", "s.script", "--pcap", "none/a/x"],
            "--pcap none/a/x: there is no directory none; make it, or choose another place",
        ),
        (&["man", "file"], "man file: something else is there; choose another place"),
    ] {
        folder.0.write("s.script", SCRIPT.as_bytes());
        let told = String::from_utf8(folder.kumiki(arguments).stderr).unwrap();
        assert!(told.contains(&format!("kumiki: {said}\n")) && !told.contains("os error"), "{arguments:?}: {told}");
    }
}

/// The parser does not ask for a seed where `--count` rules it out.
#[test]
fn captures_of_many_seeds_are_refused() {
    let folder = Folder::new("adversity-many");
    for option in ["--pcap", "--trace", "--shrink", "-v"] {
        let told = refused(&folder.kumiki(&["adversity", "--count", "1", option, "--out", "seen"]));
        assert!(told.contains("is of one seed; expected --seed S, and neither --from nor --count"), "{option}: {told}");
    }
    assert!(folder.names().is_empty());
}

/// A file that can be read and a network that cannot work: nothing is run, and it is no mistake of a value.
#[test]
fn a_topology_that_cannot_work_says_why_and_fails() {
    let apart = |from: &str, to: &str| UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace(from, to);
    let line = UNCONNECTED.lines().find(|line| line.starts_with("link.line")).unwrap();
    let ring = "\
        host.a = { graph = [\"netperf\", \"tcp\", \"ip\", \"fddi\", \"f0\"] }\n\
        host.b.like = \"a\"\n\
        ring.r = { ends = [\"a.f0\", \"b.f0\"], medium = \"fddi\" }\n\
        run.duration = \"1 s\"\n\
        load.bulk = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\" }\n";
    let router = "\
        host.near = { graph = [\"netperf\", \"tcp\", \"ip\", \"p0\"] }\n\
        host.far.like = \"near\"\n\
        host.mid = { graph = { ip = [\"l\", \"r\"] } }\n\
        link.l = { ends = [\"near\", \"mid.l\"], medium = \"point-to-point\", rate = \"10 Mb/s\" }\n\
        link.r = { ends = [\"mid.r\", \"far\"], medium = \"point-to-point\", rate = \"10 Mb/s\" }\n\
        run.duration = \"1 s\"\n\
        load.bulk = { kind = \"netperf\", from = \"near\", to = \"far\", message = \"8 KiB\" }\n";
    for (text, words) in [
        (apart(line, ""), "no line ends on the device \"p2p0\""),
        (apart(line, &format!("{line}\n{}", line.replace("line", "more"))), "another line ends here already"),
        (apart("10.0.0.2", "10.0.0.1"), "hosts far and near have the same address, 10.0.0.1"),
        (ring.to_owned(), "nothing finds the MAC addresses of others"),
        (router.to_owned(), "mid, on the way from near to far, does not forward"),
    ] {
        let folder =
            Folder::with("topology", &format!("title = \"x\"\n{}", text.replace("title = \"Nobody is there\"\n", "")));
        for command in ["run", "graph", "limit"] {
            let output = folder.kumiki(&[command, "x.toml"]);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{command}: {told}");
            assert!(told.contains(words) && output.stdout.is_empty(), "{command}: {told}");
        }
        assert_eq!(folder.names(), ["x.toml"]);
    }
    // A wrong value beside it is a mistake of the file.
    let wrong = apart("10.0.0.2", "10.0.0.1").replace("8 KiB", "8 KaB");
    let told = refused(&Folder::with("topology", &wrong).kumiki(&["run", "x.toml"]));
    assert!(told.contains("8 KaB") && told.contains("have the same address"), "{told}");
}

/// What helps in a real network is none of what a scenario has: what was missing is told, or else where to look.
#[test]
fn a_file_that_finds_nobody_is_told_in_words_of_a_scenario() {
    let text = include_str!("../../../scenarios/ftam-stall.toml");
    let text = text.replace("duration = \"60 s\"", "duration = \"2000 s\"");
    let down = format!("{text}\n[[event]]\nat = \"25 ms\"\nlink = \"line\"\nup = false\n");
    let lossy = text.replace("[run]", "impair = { toward = \"receiver\", loss = \"100 %\" }\n\n[run]");
    for (text, words) in [
        (down, "the peer stopped answering, and link.line was down from 0.025 s on; expected that it is up again"),
        (lossy, "the peer stopped answering; see what its lines lose, and when lines and hosts are up"),
    ] {
        let folder = Folder::with("nobody", &text);
        let output = folder.kumiki(&["run", "x.toml", "--quick"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(words), "{told}");
        assert!(!told.contains("firewall"), "{told}");
    }
}

#[test]
fn two_results_have_two_names() {
    let folder = Folder::new("names");
    std::fs::create_dir(folder.0.path("other")).unwrap();
    for file in ["m.csv", "n.csv", "other/m.csv"] {
        folder.0.write(file, b"goodput_mbps\n1\n");
    }
    for command in [&["compare"][..], &["plot", "--x", "goodput_mbps"]] {
        let said = |results: &[&str]| refused(&folder.kumiki(&[command, results].concat()));
        let twice = "kumiki: a=m.csv: \"a\" is what a=n.csv is called, too; expected a name for each\n";
        assert_eq!(said(&["a=m.csv", "a=n.csv"]), twice);
        assert!(said(&["m.csv=n.csv", "m.csv", "other/m.csv"]).contains("is what m.csv is called, too"));
    }
    let told = |results: &[&str]| {
        let output = folder.kumiki(&[&["compare"][..], results].concat());
        assert!(output.status.success(), "{results:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(told(&["m=n.csv", "m.csv"]).contains("m.csv"), "the one without a name of its own is called by its path");
    assert!(told(&["m.csv", "other/m.csv"]).contains("other/m.csv"));
}

/// Whatever is captured, it is asked for alike how much of each packet.
#[test]
fn every_command_with_captures_cuts_them() {
    let folder = Folder::with("cut", TRANSFER);
    folder.0.write("s.script", SCRIPT.as_bytes());
    for arguments in [
        &["run", "x.toml", "--pcap", "--snaplen", "3"][..],
        &["adversity", "--seed", "7", "--pcap", "--snaplen", "3"],
        &["script", "s.script", "--pcap", "x", "--snaplen", "3"],
        &["ttcp", "-r", "--tun", "t", "--addr", "10.9.0.1/24", "--pcap", "x", "--snaplen", "3"],
        &["ppp", "pty", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["ftam", "get", "ftam://127.0.0.1/x", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["mms", "get", "mms://127.0.0.1/x", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["ftamd", "--root", ".", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["mmsd", "--root", ".", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["x25", "switch", "x.toml", "--pcap", "x", "--snaplen", "3"],
        #[cfg(target_os = "linux")]
        &["x25", "pad", "123", "--pcap", "x", "--snaplen", "3"],
    ] {
        let told = refused(&folder.kumiki(arguments));
        let words =
            "expected a whole number of octets from 4 to 4294967295: in captures of ATM so many stand before a packet";
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
    let cut = |arguments: &[&str], capture: &str| {
        let ran = folder.kumiki(arguments);
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
        let lines = String::from_utf8(folder.kumiki(&["decode", capture]).stdout).unwrap();
        assert!(lines.contains("(cut: 44 of "), "{arguments:?}: {lines}");
    };
    cut(&["script", "s.script", "--pcap", "s.pcapng", "--snaplen", "44"], "s.pcapng");
    cut(&["adversity", "--seed", "7", "--pcap", "--snaplen", "44", "--out", "seen"], "seen/adversity-7-near.pcapng");
}

#[test]
fn blanks_between_names_and_numbers_of_a_list_are_none_of_them() {
    let folder = Folder::new("blanks");
    folder.0.write("a.csv", b"x,a,b,goodput_mbps\n1,1,1,10\n1,2,2,12\n");
    folder.0.write("b.csv", b"x,a,b,goodput_mbps\n1,3,3,11\n1,4,4,13\n");
    for over in ["a,b", "a, b", " a ,b "] {
        let told = folder.kumiki(&["compare", "a.csv", "b.csv", "--over", over]);
        assert!(told.status.success(), "{over}: {told:?}");
    }
    let missing = refused(&folder.kumiki(&["compare", "a.csv", "b.csv", "--over", "a,,b"]));
    assert!(missing.contains("a name is missing"), "{missing}");
    let drawn = folder.kumiki(&["plot", "a.csv", "--x", "x", "--series", "a, b", "--where", "a = 1"]);
    assert!(drawn.status.success(), "{drawn:?}");
    let shard = ["run", "paper2-fig6", "--quick", "--dry-run", "--set", "window = 64 KiB", "--shard", "1 / 2"];
    assert!(folder.kumiki(&shard).status.success());
}
