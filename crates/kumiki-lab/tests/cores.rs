//! A scenario on one core and on several: the same rows, captures, traces and series.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

mod arrange;

use kumiki_lab::capture::Layers;
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner;

use arrange::{parse, point};

/// Two networks far from each other: bulk, calls, datagrams and a ping across, with a queue that drops at random, an event of a host, and a line within
/// one of them whose rate changes.
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
