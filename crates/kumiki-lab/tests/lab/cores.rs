//! A scenario on one core and on several: the same rows, captures, traces and series.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

use kumiki_lab::capture::Layers;
use kumiki_lab::experiment::{Experiment, Options};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner;

use crate::arrange::{parse, point, profiles};

/// Two networks far from each other: bulk, calls, datagrams and a ping across, with a queue that drops at random, an
/// event of a host, and a line within one of them whose rate changes.
const SCENARIO: &str = r#"
title = "Two networks"
host.a = { count = 3, graph = ["ip", "l0"] }
host.b = { count = 3, graph = ["ip", "l0"] }
host.r = { graph = { ip = ["a0", "a1", "a2", "out"] }, ip = { forwarding = true } }
host.s = { graph = { ip = ["b0", "b1", "b2", "out"] }, ip = { forwarding = true } }
link.a = { count = 3, ends = ["a${i}", "r.a${i}"], medium = "point-to-point", rate = "100 Mb/s", propagation = "10 us" }
link.b = { count = 3, ends = ["b${i}", "s.b${i}"], medium = "point-to-point", rate = "100 Mb/s", propagation = "10 us" }
link.far = { ends = ["r.out", "s.out"], medium = "point-to-point", rate = "30 Mb/s", propagation = "5 ms", queue_frames = 50, impair = { toward = "s.out", loss = "0.1 %" } }
load.bulk = { kind = "netperf", from = "a*", to = "b*", message = "8 KiB" }
load.calls = { kind = "rpc", from = "a0", to = "b0", message = "64 B", response = "2 kB", sessions = 2 }
load.voice = { kind = "udp", from = "b1", to = "a1", rate = "200 kb/s", message = "160 B" }
load.ping = { kind = "ping", from = "a2", to = "b2" }
run = { warm_up = "300 ms", duration = "1500 ms", interval = "100 ms" }
event = [{ at = "1 s", host = "b2", up = false }]
"#;

#[test]
fn the_same_rows_captures_traces_and_series_on_any_number_of_cores() {
    let point = point(&parse(SCENARIO), &[]);
    let laboratory = Laboratory { pcap: Layers::Ip, trace: true, ..Laboratory::default() };
    let one = laboratory.run(&point).unwrap();
    assert!(one.rows.len() > 8 && one.captures.len() > 8);
    for cores in [2, 4] {
        let several = laboratory.run_on(&point, cores).unwrap();
        assert_eq!((&several.rows, &several.notes), (&one.rows, &one.notes));
        assert!(several.captures == one.captures, "captures, traces and series");
    }
}

/// In how many parts a world with this in it is run on two cores.
fn parts(scenario: &str) -> usize {
    let point = point(&parse(scenario), &[]);
    let built = Experiment::build(&point.scenario, &profiles(&point), 1, &Options::default()).unwrap();
    built.run_on(2).parts
}

#[test]
fn a_world_is_divided_at_long_lines_unless_what_happens_in_it_must_be_looked_at() {
    assert_eq!(parts(SCENARIO), 2);
    // A transfer is looked at when it begins and ends.
    let transfer = SCENARIO.replace(
        "load.ping",
        "load.t = { kind = \"ttcp\", from = \"a0\", to = \"b0\", message = \"8 KiB\", count = 3 }\nload.ping",
    );
    assert_eq!(parts(&transfer), 1);
    // Two switches, and short lines to the hosts.
    let switches = r#"
title = "Switches"
host.a = { count = 4, graph = ["ip", "arp", "eth", "l0"] }
host.b = { count = 4, graph = ["ip", "arp", "eth", "l0"] }
switch = { near = { kind = "ethernet", queue_frames = 100 }, far = { kind = "ethernet", queue_frames = 100 } }
link.a = { count = 4, ends = ["a${i}", "near"], medium = "point-to-point", rate = "100 Mb/s", framing = "24 B", propagation = "1 us" }
link.b = { count = 4, ends = ["b${i}", "far"], medium = "point-to-point", rate = "100 Mb/s", framing = "24 B", propagation = "1 us" }
link.trunk = { ends = ["near", "far"], medium = "point-to-point", rate = "100 Mb/s", framing = "24 B", propagation = "5 ms" }
load.bulk = { kind = "netperf", from = "a*", to = "b*", message = "8 KiB" }
run.duration = "500 ms"
"#;
    assert_eq!(parts(switches), 2);
    let point = point(&parse(switches), &[]);
    let laboratory = Laboratory::default();
    assert_eq!(laboratory.run(&point).unwrap().rows, laboratory.run_on(&point, 2).unwrap().rows);
}
