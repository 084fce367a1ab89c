//! Scenarios: what is wrong in them, and what they say of themselves.

use super::captures::TRANSFER;
use super::{Folder, TWO_HOSTS, UNCONNECTED, refused};

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

/// `kumiki live` runs them, and what it gives out is shown here.
#[test]
fn the_graph_of_a_network_of_real_hosts_shows_its_addresses() {
    let hosts =
        "title = \"Real\"\nhost.a.graph = [\"ip\", \"l0\"]\nhost.b.like = \"a\"\n[link.line]\nends = [\"a\", \"b\"]\n";
    let text = format!("{hosts}medium = \"point-to-point\"\nrate = \"8 Mb/s\"\n");
    for text in [format!("host.a.real.tun = \"k0\"\n{text}"), text] {
        let folder = Folder::with("real", &text);
        let output = folder.kumiki(&["graph", "x.toml"]);
        let [said, told] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
        assert!(output.status.success() && said.contains("10.0.0.1") && said.contains("10.0.0.2"), "{said}{told}");
        let run = refused(&folder.kumiki(&["run", "x.toml"]));
        assert!(run.contains("real"), "{run}");
    }
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
    assert_eq!(refused(&folder.kumiki(&["run", "none.toml"])), "kumiki: none.toml: no such file or directory\n");
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
    let folder = Folder::with("graph", UNCONNECTED.replace("10.0.5.2", "10.0.0.2").as_str());
    let text = folder.kumiki(&["graph", "x.toml", "--set", "host.near.tcp.mss=512 B"]);
    assert_eq!(text.status.code(), Some(0), "{text:?}");
    assert!(String::from_utf8(text.stdout).unwrap().contains("mss = \"512 B\""));
    let svg = folder.kumiki(&["graph", "x.toml", "--svg"]);
    assert!(svg.stdout.starts_with(b"<svg"));
}

#[test]
fn a_scenario_without_a_route_says_why_nothing_came_and_fails() {
    let folder = Folder::with("unconnected", UNCONNECTED);
    // What a run would say is said before it, too.
    for arguments in [&["run", "x.toml"][..], &["run", "x.toml", "--dry-run"]] {
        let output = folder.kumiki(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("x.toml:2: host.near.ip: near has no route to 10.0.5.2 of far; expected addresses of"),
            "{said}"
        );
        assert!(output.stdout.is_empty() && !folder.0.path("kumiki-out").exists(), "{output:?}");
    }
}

#[test]
fn the_only_point_that_fails_has_no_name_and_none_is_missing() {
    let lost = UNCONNECTED.replace("10.0.5.2", "10.0.0.2").replace("\"10 ms\"", "\"10 ms\", impair.loss = \"100 %\"");
    let folder = Folder::with("lost", lost.as_str());
    let output = folder.kumiki(&["run", "x.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("1 of 1 point failed:\n  x: no connection was established: near called 10.0.0.2"), "{said}");
}

#[test]
fn scenarios_are_listed_and_a_file_of_that_name_is_meant_first() {
    let folder = Folder::with("listed", TWO_HOSTS);
    let output = folder.kumiki(&["scenarios"]);
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && listed.lines().any(|line| line.starts_with("paper2-fig6 ")));
    let said = refused(&folder.kumiki(&["run", "x"]));
    assert_eq!(said.trim_end(), "kumiki: there is no scenario \"x\"; did you mean the file x.toml?");
}

#[test]
fn a_file_without_fewer_points_says_so_to_quick() {
    let folder = Folder::with("quick", &UNCONNECTED.replace("10.0.5.2", "10.0.0.2"));
    let output = folder.kumiki(&["run", "x.toml", "--quick", "--out", "seen"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("--quick: x names no fewer points"), "{told}");
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
    let text = include_str!("../../../../../scenarios/ftam-stall.toml");
    let text = text.replace("duration = \"60 s\"", "duration = \"2000 s\"");
    let down = format!("{text}\n[[event]]\nat = \"25 ms\"\nlink = \"line\"\nup = false\n");
    let lossy = text.replace("[run]", "impair = { toward = \"receiver\", loss = \"100 %\" }\n\n[run]");
    for (text, words) in [
        (down, "the peer stopped answering, and link.line was down from 0.025 s on; expected that it is up again"),
        (
            lossy,
            "the peer stopped answering, and link.line lost everything toward receiver from 0 s on; expected that it loses",
        ),
    ] {
        let folder = Folder::with("nobody", &text);
        let output = folder.kumiki(&["run", "x.toml", "--quick"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(words), "{told}");
        assert!(!told.contains("firewall"), "{told}");
    }
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
