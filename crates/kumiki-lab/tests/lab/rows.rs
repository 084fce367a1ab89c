//! What rows say of several loads and their flows.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;
use kumiki_lab::rows::{HALF_WIDTH, Parameter, Row, Scope};
use kumiki_lab::scenario::Choice;
use kumiki_lab::table::Lines;

use crate::arrange::{parse, point};

/// Two connections and datagrams to one host, over 10 Mb/s.
const SHARED: &str = r#"
title = "Who gets what?"
define = { start = "0 s" }
host.a = { graph = { bulk = ["tcp"], app = ["udp"], tcp = ["ip"], udp = ["ip"], ip = ["l0"] }, ip = { address = "10.0.0.1/24" } }
host.b = { like = "a", ip = { address = "10.0.0.2/24" } }
link.line = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms", queue_frames = 100 }
run = { warm_up = "2 s", duration = "4 s" }
load.bulk = { kind = "netperf", from = "a.bulk", to = "b.bulk", message = "8 KiB", sessions = 2, jitter = "10 ms" }
load.voice = { kind = "udp", from = "a.app", to = "b.app", message = "200 B", rate = "1 Mb/s", start = "${start}" }
"#;

fn rows(set: &[&str]) -> Vec<Row> {
    Laboratory::default().run(&point(&parse(SHARED), set)).unwrap().rows
}

fn of(rows: &[Row], scope: Scope) -> Vec<&Row> {
    rows.iter().filter(|row| row.scope == scope).collect()
}

/// What waits behind a segment that was lost is read at once when that has come, and more than the line can have
/// carried since.
#[test]
fn what_waited_behind_a_lost_segment_has_no_limit() {
    let text = r#"
title = "A hole"
host.a = { graph = ["ip","l0"] }
host.b.like = "a"
link.mid = { ends = ["a","b"], medium = "point-to-point", rate = "1 Mb/s", queue_frames = 200, queue = "fq-codel" }
load.t = { kind = "netperf", from = "b", to = "a", message = "8 KiB" }
run = { duration = "1 s", warm_up = "${w}" }
vary.w = ["100 ms", "300 ms"]
"#;
    for (set, is_known) in [("w=100 ms", true), ("w=300 ms", false)] {
        let outcome = Laboratory::default().run(&point(&parse(text), &[set])).unwrap();
        for row in &outcome.rows {
            assert_eq!(row.limit_mbps.is_some(), is_known, "{set}: {row:?}");
            assert!(row.limit_mbps.is_none_or(|limit| row.goodput_mbps <= limit * 1.05), "{row:?}");
        }
        let told = "t: more came than its lines carried over the time measured, for it waited in queues, or behind a segment that was lost, when that began, so there is no limit to compare with";
        assert_eq!(outcome.notes.iter().any(|note| note == told), !is_known, "{:?}", outcome.notes);
    }
}

/// Where nobody knows what lines leave a load, nobody knows it of its sessions.
#[test]
fn a_flow_has_no_limit_where_its_load_has_none() {
    let text = r#"
title = "Over a line that stands still"
host.a = { graph = ["ip","arp","eth","e0"] }
host.b.like = "a"
host.c.like = "a"
switch.sw = { kind = "ethernet", queue_frames = 100 }
link.la = { ends = ["a","sw"], medium = "point-to-point", rate = "1 Mb/s", propagation = "5 ms", framing = "24 B" }
link.lb = { ends = ["b","sw"], medium = "point-to-point", rate = "1 Mb/s", propagation = "5 ms", framing = "24 B" }
link.lc = { ends = ["c","sw"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms", framing = "24 B" }
load.x0 = { kind = "ttcp", from = "c", to = "a", message = "100 B", size = "exponential 50 kB", sessions = 5, stagger = "exponential 100 ms", socket_buffer = "64 KiB" }
event = [{ at = "0.5 s", link = "lc", rate = ["0 b/s","1 Mb/s"] }]
run.duration = "2 s"
"#;
    let rows = Laboratory::default().run(&point(&parse(text), &[])).unwrap().rows;
    let [load] = of(&rows, Scope::Load)[..] else { unreachable!() };
    let flows = of(&rows, Scope::Flow);
    assert_eq!((load.limit_mbps, flows.len()), (None, 5));
    assert!(flows.iter().all(|flow| flow.limit_mbps.is_none()), "{flows:?}");
}

#[test]
fn there_is_a_row_for_all_for_each_load_and_for_each_flow() {
    let rows = rows(&[]);
    let names: Vec<_> = rows.iter().map(|row| (row.scope, row.load.as_deref(), row.flow)).collect();
    assert_eq!(
        names,
        [
            (Scope::Total, None, None),
            (Scope::Load, Some("bulk"), None),
            (Scope::Flow, Some("bulk"), Some(0)),
            (Scope::Flow, Some("bulk"), Some(1)),
            (Scope::Load, Some("voice"), None),
            (Scope::Flow, Some("voice"), Some(0)),
        ]
    );
    let [total] = of(&rows, Scope::Total)[..] else { unreachable!() };
    for scope in [Scope::Load, Scope::Flow] {
        let parts = of(&rows, scope);
        assert_eq!(parts.iter().map(|row| row.octets).sum::<u64>(), total.octets, "{scope:?}");
        let rates: f64 = parts.iter().map(|row| row.goodput_mbps).sum();
        assert!((rates - total.goodput_mbps).abs() < 1e-9, "{rates}");
        // All over the same time.
        assert!(parts.iter().all(|row| row.measured_s == 4.0));
    }
    assert_eq!((total.bound_by.as_str(), total.counters.is_empty()), ("link", false));
    // What was sent before 2 s is not counted: 10 Mb/s for 4 s, and what is in the queue at either end.
    let octets = total.counters["line"]["a_octets"];
    assert!((4_900_000..5_100_000).contains(&octets), "{octets}");
    // The queue of the full line never runs empty for long, and holds 100 frames at most.
    let queue = &total.queues["line.a"];
    assert!(queue["mean"] > 10.0 && queue["p50"] <= queue["p95"] && queue["max"] <= 100.0, "{queue:?}");
    let flows = of(&rows, Scope::Flow);
    // A segment takes 1.2 ms, and the queue 120 at most; 10 ms are on the way.
    let trips = &flows[0].round_trip_ms;
    assert!(trips["min"] > 10.0 && trips["p50"] <= trips["p99"] && trips["max"] < 135.0, "{trips:?}");
    assert_eq!(flows[2].retransmissions, None);
    let held: f64 = flows[0].held.values().sum();
    assert!((held - 1.0).abs() < 1e-9 && flows[2].held.is_empty());
    // Over the two flows of the load; a transfer and datagrams share nothing.
    let of_two = flows[..2].iter().map(|row| row.octets as f64);
    let jain = of_two.clone().sum::<f64>().powi(2) / (2.0 * of_two.map(|x| x * x).sum::<f64>());
    assert!((rows[1].jain.unwrap() - jain).abs() < 1e-9);
    assert_eq!(total.jain, None);
}

#[test]
fn who_begins_too_late_has_a_row_all_the_same() {
    let rows = rows(&["start=10 s"]);
    let voice = rows.iter().rfind(|row| row.scope == Scope::Flow).unwrap();
    assert_eq!((voice.load.as_deref(), voice.octets, voice.goodput_mbps), (Some("voice"), 0, 0.0));
    assert_eq!((voice.bound_by.as_str(), voice.longest_gap_s), ("opening", None));
    assert_eq!(rows[0].jain, None);
}

/// A transfer is measured from its opening to its end, the others over the time that is asked for.
#[test]
fn a_load_with_an_end_does_not_end_the_others() {
    let text = SHARED.replace("kind = \"netperf\"", "kind = \"ttcp\", count = 20").replace("sessions = 2", "times = 2");
    let rows = Laboratory::default().run(&point(&parse(&text), &[])).unwrap().rows;
    let of_load =
        |name: &str| rows.iter().find(|row| row.scope == Scope::Load && row.load.as_deref() == Some(name)).unwrap();
    let (bulk, voice) = (of_load("bulk"), of_load("voice"));
    // All of it came before 2 s, and 200 octets go every 1.6 ms.
    assert_eq!(bulk.octets, 20 * 8192);
    assert!(bulk.measured_s < 1.0 && voice.measured_s == 4.0, "{} {}", bulk.measured_s, voice.measured_s);
    assert_eq!(voice.octets, 2500 * 200);
    // What is shown twice is that load alone.
    let rate = bulk.octets as f64 * 8e-6 / bulk.measured_s;
    assert!((bulk.goodput_mbps - 2.0 * rate).abs() < 1e-9 && (voice.goodput_mbps - 1.0).abs() < 1e-9);
    assert!((rows[0].goodput_mbps - bulk.goodput_mbps - voice.goodput_mbps).abs() < 1e-9);
}

/// Jain's index of the goodput of these flows.
fn jain(flows: &[&Row]) -> f64 {
    let rates = || flows.iter().map(|row| row.goodput_mbps);
    rates().sum::<f64>().powi(2) / (flows.len() as f64 * rates().map(|rate| rate * rate).sum::<f64>())
}

/// Each has a line of its own, and what one of them waits for is nothing to the other.
#[test]
fn each_transfer_is_measured_from_its_own_opening_to_its_own_end() {
    let text = r#"
title = "Two transfers of one size"
host.a = { count = 2, graph = ["tcp", "ip", "l0"] }
host.b.graph = ["tcp", "ip", "l0"]
host.r = { graph = { ip = ["l0", "l1", "l2"] }, ip.forwarding = true }
link.slow = { ends = ["a0", "r.l0"], medium = "point-to-point", rate = "1 Mb/s" }
link.fast = { ends = ["a1", "r.l1"], medium = "point-to-point", rate = "10 Mb/s" }
link.last = { ends = ["r.l2", "b"], medium = "point-to-point", rate = "100 Mb/s" }
load.t = { kind = "ttcp", from = "a*", to = "b", message = "100 kB", count = 10 }
run.duration = "60 s"
"#;
    let rows = Laboratory::default().run(&point(&parse(text), &[])).unwrap().rows;
    let flows = of(&rows, Scope::Flow);
    let full = 1448.0 / 1500.0;
    for (flow, rate) in flows.iter().zip([1.0, 10.0]) {
        assert!((flow.goodput_mbps / (rate * full) - 1.0).abs() < 0.01, "{flow:?}");
        assert!((flow.measured_s - 8e-6 * flow.octets as f64 / flow.goodput_mbps).abs() < 1e-9);
        assert_eq!(flow.bound_by, "link", "{flow:?}");
        // Of its own time, in which it wrote to the end.
        assert!((flow.held.values().sum::<f64>() - 1.0).abs() < 1e-9, "{flow:?}");
        assert!(!flow.held.contains_key("opening") && flow.held.get("closing").is_none_or(|it| *it < 0.2), "{flow:?}");
    }
    for row in &rows[..2] {
        assert!((0.59..0.61).contains(&row.jain.unwrap()) && row.bound_by == "link", "{row:?}");
        assert!((row.jain.unwrap() - jain(&flows)).abs() < 1e-9);
        assert!((row.measured_s - flows[0].measured_s).abs() < 1e-3, "{row:?}");
    }
    // Beside one that goes on, and where a line is slower once the first is over.
    let more = "load.n = { kind = \"netperf\", from = \"a1\", to = \"b\", message = \"8 KiB\" }\n\
        event = [{ at = \"4 s\", link = \"fast\", rate = \"1 Mb/s\" }]\n[run]\nduration = \"20 s\"";
    let text = text.replace("run.duration = \"60 s\"", more);
    let rows = Laboratory::default().run(&point(&parse(&text), &[])).unwrap().rows;
    let flows = of(&rows, Scope::Flow);
    assert_eq!(rows[0].jain, None, "what ends and what goes on share nothing");
    let transfers: Vec<&Row> = flows.into_iter().filter(|row| row.load.as_deref() == Some("t")).collect();
    let load = rows.iter().find(|row| row.scope == Scope::Load && row.load.as_deref() == Some("t")).unwrap();
    assert!((load.jain.unwrap() - jain(&transfers)).abs() < 1e-9);
    assert_eq!(transfers[1].bound_by, "link", "{transfers:?}");
    // The first of them was over when the line became slower.
    assert!(transfers[1].limit_mbps.unwrap() > load.limit_mbps.unwrap() + 3.0, "{transfers:?}");
}

/// One after the other has the line for itself, so none has less of it than another, however much it brings.
#[test]
fn transfers_of_unlike_sizes_that_do_not_meet_have_all_of_the_line() {
    let text = r#"
title = "One after the other"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms" }
load.t = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", size = "uniform 500 kB .. 3 MB", sessions = 4, stagger = "3 s" }
run.duration = "60 s"
"#;
    let rows = Laboratory::default().run(&point(&parse(text), &[])).unwrap().rows;
    let flows = of(&rows, Scope::Flow);
    let octets = || flows.iter().map(|row| row.octets);
    assert!(octets().max() > octets().min().map(|least| 2 * least), "{flows:?}");
    assert!(flows.iter().all(|row| row.bound_by == "link" && row.goodput_mbps > 9.4), "{flows:?}");
    assert!(rows[0].jain.unwrap() > 0.999);
}

/// More is sent than ever arrives, over two lines of which one changes as the measurement begins, or a second before
/// its end.
#[test]
fn the_limit_has_what_is_on_the_way_when_a_line_changes() {
    let text = r#"
title = "A long way"
host.a.graph = ["udp", "ip", "l0"]
host.b.like = "a"
host.r = { graph = { ip = ["l0", "l1"] }, ip.forwarding = true }
link.first = { ends = ["a", "r.l0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "200 ms", queue_frames = 5 }
link.line = { ends = ["r.l1", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "300 ms", queue_frames = 5 }
load.x = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "20 Mb/s" }
run = { warm_up = "2 s", duration = "3 s" }
"#;
    let full = 10.0 * 1000.0 / 1028.0;
    // What is on a line that becomes slower keeps its time: a packet, for as much of it as the line has lost.
    let packet = 8e-3;
    for (event, seconds, kept) in [
        ("at = \"2 s\", link = \"line\", rate = \"500 kb/s\"", 0.3 + 2.7 * 0.05, 0.95 * packet),
        ("at = \"2 s\", link = \"first\", rate = \"500 kb/s\"", 0.5 + 2.5 * 0.05, 0.95 * packet),
        ("at = \"4 s\", link = \"line\", rate = \"0 b/s\"", 2.3, packet),
        ("at = \"4 s\", link = \"line\", up = false", 2.0, 0.0),
        ("at = \"4 s\", link = \"first\", up = false", 2.3, 0.0),
    ] {
        let text = format!("event = [{{ {event} }}]\n{text}");
        let row = Laboratory::default().run(&point(&parse(&text), &[])).unwrap().rows.remove(0);
        let limit = row.limit_mbps.unwrap();
        assert!((limit - (full * seconds + kept) / 3.0).abs() < 0.01, "{event}: {limit}");
        assert!((0.97..1.02).contains(&(row.goodput_mbps / limit)), "{event}: {} of {limit}", row.goodput_mbps);
    }
}

/// Sessions go to each reader in turn, and each row has what its own reader got.
#[test]
fn a_flow_has_what_its_own_reader_got() {
    let text = r#"
title = "Two readers"
host.a = { graph = { n = ["tcp"], tcp = ["ip"], ip = ["l0", "l1"] }, ip = { interface.l0 = { address = "10.0.1.1/24", peer = "10.0.1.2" }, interface.l1 = { address = "10.0.2.1/24", peer = "10.0.2.2" } } }
host.b = { graph = ["n", "tcp", "ip", "l0"], ip = { address = "10.0.1.2/24", routes = { default = "10.0.1.1" } } }
host.c = { graph = ["n", "tcp", "ip", "l0"], ip = { address = "10.0.2.2/24", routes = { default = "10.0.2.1" } } }
link.fast = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms", queue_frames = 100 }
link.slow = { ends = ["a.l1", "c.l0"], medium = "point-to-point", rate = "4 Mb/s", propagation = "1 ms", queue_frames = 100 }
run = { warm_up = "2 s", duration = "4 s" }
load.bulk = { kind = "netperf", from = "a.n", to = ["b.n", "c.n"], message = "8 KiB", sessions = 3, jitter = "10 ms" }
"#;
    let rows = Laboratory::default().run(&point(&parse(text), &[])).unwrap().rows;
    let rates: Vec<f64> = of(&rows, Scope::Flow).iter().map(|row| row.goodput_mbps).collect();
    // Of 1500 octets 1448 are data; the first and the third share the fast line.
    let full = 1448.0 / 1500.0;
    assert!((rates[1] - 4.0 * full).abs() < 0.1, "{rates:?}");
    assert!((rates[0] + rates[2] - 10.0 * full).abs() < 0.1 && rates[0].min(rates[2]) > 1.0, "{rates:?}");
}

/// More comes than the line takes, so there is never less than one frame too few in the queue.
#[test]
fn the_queue_of_an_overloaded_line_is_full() {
    let set = ["load.voice.rate=12 Mb/s", "load.bulk.start=1 h"];
    let text = SHARED.replace("queue_frames = 100", "queue_frames = 50").replace("sessions = 2", "start = \"0 s\"");
    let row = Laboratory::default().run(&point(&parse(&text), &set)).unwrap().rows.remove(0);
    let queue = &row.queues["line.a"];
    assert!(queue["mean"] > 49.0 && queue["p50"] >= 49.0 && queue["max"] == 50.0, "{queue:?}");
    // Nothing comes back.
    assert_eq!((row.queues["line.b"]["mean"], row.queues["line.b"]["max"]), (0.0, 0.0));
}

/// One connection over 50 Mb/s and a round trip of 100 ms: it takes a second until the line is full.
const LONG: &str = r#"
title = "From nothing"
host.a = { graph = ["tcp", "ip", "l0"] }
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "50 Mb/s", propagation = "50 ms", queue_frames = 1000 }
run = { duration = "10 s" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
"#;

#[test]
fn a_warm_up_that_is_found_leaves_out_the_beginning_of_a_transfer() {
    let run =
        |warm_up: &str| Laboratory::default().run(&point(&parse(LONG), &[&format!("run.warm_up={warm_up}")])).unwrap();
    let (whole, found) = (run("0 s"), run("auto"));
    let Some(Parameter::Number(warm_up)) = found.rows[0].parameter("warm_up_s").cloned() else {
        panic!("{:?}", found.rows[0].varied);
    };
    assert!((0.4..4.0).contains(&warm_up), "{warm_up}");
    let (whole, found, notes) = (&whole.rows[0], &found.rows[0], &found.notes);
    assert!(
        found.goodput_mbps > whole.goodput_mbps + 1.0 && found.measured_s > 9.9,
        "{} {}",
        found.goodput_mbps,
        whole.goodput_mbps
    );
    assert_eq!(found.bound_by, "link");
    assert!(notes.iter().any(|note| note.contains("found where the rest varies least")), "{notes:?}");
    // The same as if it had been given.
    let given = run(&format!("{:.0} ns", warm_up * 1e9)).rows[0].clone();
    assert_eq!((given.octets, &given.counters, &given.held), (found.octets, &found.counters, &found.held));
}

/// Of n datagrams that come as a Poisson process the number varies by its root.
#[test]
fn batches_give_an_interval_as_wide_as_chance_makes_it() {
    let bulk = r#"kind = "netperf", from = "a", to = "b", message = "8 KiB""#;
    let voice = r#"kind = "udp", from = "a", to = "b", message = "200 B", rate = "1 Mb/s", arrivals = "poisson""#;
    let set = ["run.batches=20", "run.duration=20 s"];
    let outcome = Laboratory::default().run(&point(&parse(&LONG.replace(bulk, voice)), &set)).unwrap();
    let row = of(&outcome.rows, Scope::Load)[0];
    let Some(Parameter::Number(half)) = row.parameter(HALF_WIDTH).cloned() else {
        panic!("{:?}", row.varied);
    };
    // 625 a second, over 20 s; the two-sided t for 19 degrees of freedom.
    let expected = row.goodput_mbps * 2.093 / (625.0_f64 * 20.0).sqrt();
    assert!((0.6..1.6).contains(&(half / expected)), "{half}, and chance makes {expected}");
    let slow = rows(&["run.batches=20", "run.duration=1 s"]);
    assert!(slow[0].parameter(HALF_WIDTH).is_some());
}

#[test]
fn what_cannot_have_a_warm_up_or_batches_is_told_so() {
    let ends = LONG.replace("netperf", "ttcp").replace("message", "count = 10, message");
    for (text, set, expected) in [
        (&ends[..], "run.warm_up=auto", "run.warm_up: these loads are measured from their first opening"),
        (&ends, "run.batches=10", "run.batches: batches are parts of a time that is given"),
        (
            &LONG.replace("message = ", "times = 2, message = "),
            "run.batches=10",
            "load.bulk.times: batches are of what was measured",
        ),
        (LONG, "run.batches=4", "run.batches = 4: out of range; expected 5 to 1000"),
        (
            &LONG.replace("run = {", "run = { repeat.runs = 3, batches = 5,"),
            "run.seed=1",
            "run.batches = 5: an interval of the parts of one run",
        ),
        (
            LONG,
            "run.confidence={ level = 0.9, width = 0.1 }",
            "run.confidence.level = 0.9: no such level; expected \"95 %\" or \"99 %\"",
        ),
        (
            LONG,
            "run.confidence={ level = \"95 %\", width = 0 }",
            "run.confidence.width = 0: no width; expected a share above 0 %",
        ),
        (
            LONG,
            "run.confidence={ level = \"95 %\", width = 5 }",
            "run.confidence.width = 5: no unit; try \"5 UNIT\" with one of %, ppm, ppb",
        ),
        (LONG, "run.confidence={ level = \"95 %\", width_percent = 5 }", "unknown key \"width_percent\""),
        (LONG, "run.warm_up=automatic", "expected a duration such as \"20 ms\", or \"auto\""),
    ] {
        let set = [set.to_owned()].to_vec();
        let points = parse(text).points(&Choice { set, quick: false, runs: None });
        let fault = points.and_then(|points| Laboratory::default().check(&points[0])).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault}");
    }
}

/// What one draws does not follow from what else there is: neither from other hosts nor from other loads.
#[test]
fn another_host_and_another_load_change_no_random_number() {
    let text = LONG.replace("message = ", "jitter = \"50 ms\", message = ");
    let more = "host.aa.like = \"a\"\nhost.zz.like = \"a\"\nlink.aside = { ends = [\"aa\", \"zz\"], medium = \"point-to-point\", rate = \"1 Mb/s\" }
load.aside = { kind = \"udp\", from = \"aa\", to = \"zz\", message = \"100 B\", rate = \"10 kb/s\", arrivals = \"poisson\" }\n";
    let flow = |text: &str| {
        let rows = Laboratory::default().run(&point(&parse(text), &["run.duration=3 s"])).unwrap().rows;
        let row = rows.into_iter().find(|row| row.flow.is_some() && row.load.as_deref() == Some("bulk")).unwrap();
        (row.octets, row.round_trip_ms, row.held)
    };
    assert_eq!(flow(&text), flow(&format!("{text}{more}")));
}

/// A profile is that of the moment at which a scenario was read, for all of its points and for what is written of it.
#[test]
fn who_edits_a_profile_changes_no_run_that_has_begun() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("edited.toml");
    let write = |price: &str| {
        let price = format!("tcp.send = {{ value = \"{price}\", from = \"assumed: slow\" }}");
        std::fs::write(&file, format!("title = \"Mine\"\nabout = \"A test.\"\n[price]\n{price}\n")).unwrap();
    };
    let text = LONG.replacen("graph = ", &format!("profile = {file:?}, graph = "), 1);
    write("1 ms");
    let point = parse(&text).points(&Choice::default()).unwrap().remove(0);
    let laboratory = Laboratory::default();
    let before = laboratory.run(&point).unwrap().rows;
    write("10 ms");
    assert_eq!(before, laboratory.run(&point).unwrap().rows);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(before, laboratory.run(&point).unwrap().rows);
    write("10 ms");
    let after = parse(&text).points(&Choice::default()).unwrap().remove(0);
    assert_ne!(before, laboratory.run(&after).unwrap().rows);
}

/// What stands second in the alphabet is first in the file.
#[test]
fn loads_stand_in_the_order_of_the_file() {
    let text = SHARED.replace("load.bulk", "load.zeta").replace("load.voice", "load.alpha");
    let point = point(&parse(&text), &["run.warm_up=0 s", "run.duration=100 ms"]);
    let rows = Laboratory::default().run(&point).unwrap().rows;
    let loads: Vec<_> = of(&rows, Scope::Load).iter().filter_map(|row| row.load.clone()).collect();
    assert_eq!(loads, ["zeta", "alpha"]);
}

/// Two hosts at a line of 20 Mb/s that is not there for two seconds and then has a quarter of its rate.
const CHANGING: &str = r#"
title = "A line that changes"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "20 Mb/s", propagation = "10 ms", queue_frames = 50 }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run = { duration = "10 s" }
event = [{ at = "4 s", link = "line", up = false }, { at = "6 s", link = "line", up = true, rate = "5 Mb/s" }, { at = "11 s", link = "line", up = false }]
"#;

#[test]
fn the_limit_of_a_line_that_changes_is_of_what_it_could_carry() {
    let rows = |set: &[&str]| Laboratory::default().run(&point(&parse(CHANGING), set)).unwrap().rows;
    let whole = rows(&["run.duration=3 s"]).remove(0).limit_mbps.unwrap();
    assert!((19.0..20.0).contains(&whole), "{whole}");
    for row in rows(&[]).iter().filter(|row| row.limit_mbps.is_some()) {
        let part = row.limit_mbps.unwrap() / whole;
        assert!((part - (0.4 + 0.4 / 4.0)).abs() < 1e-3, "{part}");
        assert!(row.goodput_mbps < row.limit_mbps.unwrap(), "{row:?}");
    }
    // A direction in which only acknowledgments go is no limit of the data.
    let text = CHANGING.replace("up = false }, {", "up = false, toward = \"a\" }, {");
    let rows = Laboratory::default().run(&point(&parse(&text), &["run.duration=5 s"])).unwrap().rows;
    assert!((rows[0].limit_mbps.unwrap() - whole).abs() < 1e-9, "{rows:?}");
}

#[test]
fn a_line_that_dies_is_told_as_a_wait_for_the_timer() {
    let text = CHANGING.replace("{ at = \"6 s\", link = \"line\", up = true, rate = \"5 Mb/s\" }, ", "");
    let rows = Laboratory::default().run(&point(&parse(&text), &[])).unwrap().rows;
    // It is all that the line could carry.
    assert!(rows.iter().all(|row| row.goodput_mbps > 0.95 * row.limit_mbps.unwrap()), "{rows:?}");
    assert!(rows.iter().all(|row| row.bound_by == "retransmission time-out"), "{rows:?}");
}

#[test]
fn a_transfer_that_does_not_end_is_told() {
    let text = CHANGING.replace("kind = \"netperf\"", "kind = \"ttcp\", count = \"${count}\"");
    let text = format!("{text}define.count = 4000\n");
    let outcome = |set: &[&str]| Laboratory::default().run(&point(&parse(&text), set)).unwrap();
    let cut = outcome(&[]);
    let told = "0 of 1 transfer came to an end; meanwhile link.line was down from 4 s to 6 s";
    assert!(cut.notes.iter().any(|note| note == told), "{:?}", cut.notes);
    assert_eq!(cut.rows[0].completions, Some(0));
    let whole = outcome(&["count=100"]);
    assert!(!whole.notes.iter().any(|note| note.contains("to their end")), "{:?}", whole.notes);
    assert_eq!(whole.rows[0].completions, Some(1));
}

#[test]
fn a_load_without_a_ladder_takes_that_of_none_from_the_others() {
    let ping = r#"load.ping = { kind = "ping", from = "a", to = "b", message = "56 B" }"#;
    let text = Laboratory::limit(&point(&parse(&format!("{CHANGING}{ping}\n")), &[]), Lines::Unicode).unwrap();
    assert!(text.starts_with("bulk: ") && text.contains("\nNo limit of load.ping: echoes bring no goodput"), "{text}");
    assert!(text.contains("\nLeft out: acknowledgments, which go the other way"), "{text}");
    // Where there is none at all, that is an error.
    let bulk = CHANGING.lines().find(|line| line.starts_with("load.bulk")).unwrap();
    let why =
        Laboratory::limit(&point(&parse(&CHANGING.replace(bulk, ping)), &[]), Lines::Unicode).unwrap_err().to_string();
    assert!(why.starts_with("load.ping: echoes bring no goodput"), "{why}");
}

/// One transfer over 10 Mb/s, 10 ms away.
const ALONE: &str = r#"
title = "Alone"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms", queue_frames = 50 }
load.x = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
"#;

/// What a run of it says of its load, and of its flow. `load` stands in the place of its load, which `more` follows.
fn alone(load: &str, more: &str) -> (Row, Row, Vec<String>) {
    let text = ALONE.replace(r#"kind = "netperf", from = "a", to = "b", message = "8 KiB""#, load);
    let outcome = Laboratory::default().run(&point(&parse(&format!("{text}{more}\n")), &[])).unwrap();
    let find = |scope| outcome.rows.iter().find(|row| row.scope == scope && row.load.as_deref() == Some("x")).unwrap();
    (find(Scope::Load).clone(), find(Scope::Flow).clone(), outcome.notes)
}

const STREAM: &str = r#"kind = "netperf", from = "a", to = "b", message = "8 KiB""#;
const UNITS: &str = r#"kind = "udp", rate = "4 Mb/s", from = "a", to = "b", message = "1000 B""#;

#[test]
fn of_a_silence_that_began_before_only_what_was_measured_counts() {
    let down = r#"
run = { warm_up = "5 s", duration = "10 s" }
event = [{ at = "2 s", link = "line", up = false }, { at = "5500 ms", link = "line", up = true }]
"#;
    let told = "1 of 1 connection transferred nothing for a second or more";
    let silent = |notes: &[String]| notes.iter().any(|note| note.contains("transferred nothing"));
    let (units, _, notes) = alone(UNITS, down);
    let gap = units.longest_gap_s.unwrap();
    assert!((0.5..0.52).contains(&gap) && !silent(&notes), "{gap} {notes:?}");
    let (_, _, notes) = alone(UNITS, &down.replace("5500 ms", "8 s"));
    let of_units = "1 of 1 stream of datagrams transferred nothing for a second or more";
    assert!(notes.iter().any(|note| note == of_units), "{notes:?}");
    let (stream, _, notes) = alone(STREAM, down);
    let gap = stream.longest_gap_s.unwrap();
    // Until the retransmission timer expires.
    assert!((3.0..4.0).contains(&gap) && notes.iter().any(|note| note == told), "{gap} {notes:?}");
}

#[test]
fn what_has_stopped_is_not_silent() {
    for load in [STREAM, UNITS] {
        let over = "run = { warm_up = \"5 s\", duration = \"10 s\" }";
        let (row, flow, _) = alone(&format!("{load}, stop = \"4 s\""), over);
        assert_eq!((row.longest_gap_s, flow.longest_gap_s), (None, None), "{load}");
        let stops = "run = { warm_up = \"1 s\", duration = \"19 s\" }";
        let gap = alone(&format!("{load}, start = \"5 s\", stop = \"10 s\""), stops).0.longest_gap_s.unwrap();
        assert!(gap < 0.2, "{load}: {gap}");
    }
}

#[test]
fn what_was_over_before_it_was_measured_had_nothing_to_write() {
    for load in [STREAM, UNITS] {
        let (row, flow, _) =
            alone(&format!("{load}, stop = \"2 s\""), "run = { warm_up = \"5 s\", duration = \"5 s\" }");
        assert_eq!((row.bound_by.as_str(), flow.bound_by.as_str()), ("application", "application"), "{load}");
        assert_eq!((row.completions, flow.completion_s), (None, None), "{load}");
    }
}

#[test]
fn a_load_that_never_begins_is_bound_by_that_whatever_fills_the_line() {
    let more = format!("load.y = {{ {STREAM} }}\nrun = {{ warm_up = \"1 s\", duration = \"10 s\" }}");
    let (row, flow, _) = alone(&format!("{STREAM}, start = \"50 s\""), &more);
    assert_eq!((row.bound_by.as_str(), flow.bound_by.as_str()), ("opening", "opening"));
}

#[test]
fn a_load_that_fills_the_line_while_it_writes_is_bound_by_it() {
    for part in ["start = \"10 s\"", "stop = \"5 s\"", "start = \"5 s\", stop = \"15 s\""] {
        for beside in ["", "load.y = { kind = \"ping\", from = \"a\", to = \"b\", message = \"56 B\" }\n"] {
            let run = format!("{beside}run.duration = \"20 s\"");
            let (row, flow, _) = alone(&format!("{STREAM}, {part}"), &run);
            assert_eq!((row.bound_by.as_str(), flow.bound_by.as_str()), ("link", "link"), "{part} {beside}");
        }
        // A third of it is no more for that.
        let slow = UNITS.replace("4 Mb/s", "3 Mb/s");
        let (row, ..) = alone(&format!("{slow}, {part}"), "run.duration = \"20 s\"");
        assert_eq!(row.bound_by, "application", "{part}");
    }
}

/// What is written in 5 s takes 7.7 s to arrive.
#[test]
fn datagrams_that_all_arrive_and_come_faster_than_the_line_takes_them_are_bound_by_it() {
    let text = ALONE.replace("queue_frames = 50", "queue_frames = 10000");
    for (rate, bound) in [("15 Mb/s", "link"), ("9 Mb/s", "application")] {
        let units = UNITS.replace("4 Mb/s", rate);
        let text = format!("{}run.duration = \"10 s\"\n", text.replace(STREAM, &format!("{units}, stop = \"5 s\"")));
        let rows = Laboratory::default().run(&point(&parse(&text), &[])).unwrap().rows;
        assert!(rows.iter().all(|row| row.bound_by == bound), "{rate} {rows:?}");
    }
}

/// The line is full on the way there, whatever goes back.
#[test]
fn all_loads_together_are_bound_by_what_bound_those_that_brought_the_most() {
    let all = |rate: &str| {
        let back = format!(r#"load.y = {{ kind = "udp", from = "b", to = "a", message = "1472 B", rate = "{rate}" }}"#);
        let run = "run = { warm_up = \"5 s\", duration = \"10 s\" }";
        let text = ALONE.replace("queue_frames = 50", "queue_frames = 20");
        let rows = Laboratory::default().run(&point(&parse(&format!("{text}{back}\n{run}")), &[])).unwrap().rows;
        let bound = |scope| of(&rows, scope).into_iter().map(|row| row.bound_by.clone()).collect::<Vec<_>>();
        assert_eq!(bound(Scope::Total), ["link"], "{rate}");
        bound(Scope::Load)
    };
    assert_eq!(all("5 Mb/s"), ["link", "application"]);
    assert_eq!(all("20 Mb/s"), ["retransmission time-out", "link"]);
    assert_eq!(all("100 Mb/s"), ["opening", "link"]);
}

#[test]
fn where_no_load_brought_anything_most_of_them_say_what_bound_all() {
    let lost = ALONE.replace("queue_frames = 50", "impair.loss = \"100 %\"");
    let more = format!("load.y = {{ {STREAM} }}\nload.a = {{ {UNITS} }}\nrun.duration = \"5 s\"");
    let rows = Laboratory::default().run(&point(&parse(&format!("{lost}{more}")), &[])).unwrap().rows;
    assert_eq!(rows[0].bound_by, "opening", "{rows:?}");
}

/// One that is farther away has less than its share, which one that has long stopped does not make smaller.
#[test]
fn who_was_over_before_the_measurement_takes_no_share_of_a_line() {
    let text = r#"
title = "Far and near"
host.near.graph = ["ip", "l0"]
host.far.like = "near"
host.b.like = "near"
host.r = { graph = { ip = ["l0", "l1", "l2"] }, ip.forwarding = true }
link.one = { ends = ["near", "r.l0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.two = { ends = ["far", "r.l1"], medium = "point-to-point", rate = "100 Mb/s", propagation = "20 ms" }
link.last = { ends = ["r.l2", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms", queue_frames = 20 }
load.near = { kind = "netperf", from = "near", to = "b", message = "8 KiB" }
load.far = { kind = "netperf", from = "far", to = "b", message = "8 KiB" }
load.over = { kind = "netperf", from = "near", to = "b", message = "8 KiB", stop = "1 s" }
run = { warm_up = "5 s", duration = "20 s" }
"#;
    let rows = Laboratory::default().run(&point(&parse(text), &[])).unwrap().rows;
    let of = |name: &str| rows.iter().find(|row| row.load.as_deref() == Some(name)).unwrap();
    let [near, far] = ["near", "far"].map(|name| of(name).goodput_mbps);
    // Less than nine tenths of the mean of two, and more than that of three.
    assert!(far < 0.9 * (near + far) / 2.0 && far > 0.9 * (near + far) / 3.0, "{near} {far}");
    assert_eq!((of("near").bound_by.as_str(), of("over").bound_by.as_str()), ("link", "application"));
    assert_eq!(of("far").bound_by, "congestion window after a loss");
}

/// Measured is from an arrival to an arrival, and what happens to the line after the last of them takes nothing from
/// what it could carry.
#[test]
fn what_a_line_allows_is_of_the_very_time_that_is_measured() {
    let line = ALONE.replace("10 ms", "5 ms");
    let row = |event: &str| {
        let text = format!("{line}run = {{ warm_up = \"1 s\", duration = \"10 s\" }}\nevent = [{event}]\n");
        Laboratory::default().run(&point(&parse(&text), &[])).unwrap().rows.remove(0)
    };
    let full = 10.0 * 1448.0 / 1500.0;
    let whole = row(r#"{ at = "11 s", link = "line", up = false }"#);
    // A segment that had to be retransmitted held back what the reader had before that.
    assert!(whole.measured_s > 10.05, "{}", whole.measured_s);
    assert!((whole.limit_mbps.unwrap() - full).abs() < 1e-9, "{whole:?}");
    let slower = row(r#"{ at = "6 s", link = "line", rate = "2 Mb/s" }"#);
    // A segment, which takes 1.2 ms, may be on the line at either end and when it becomes slower.
    let (allowed, segments) = (slower.limit_mbps.unwrap() * slower.measured_s, 3.0 * 1448.0 * 8e-6);
    assert!((slower.octets as f64 * 8e-6 - allowed).abs() < segments, "{allowed} {slower:?}");
}

/// Datagrams of three times what the line carries, of which `p0` are in flight when it changes after 3 s.
const SHORTER: &str = r#"
title = "A way that changes"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "${p0}", queue_frames = 60, schedule = [{ at = "3 s", propagation = "${p1}", rate = "${rate}" }] }
load.u = { kind = "udp", from = "a", to = "b", message = "1472 B", rate = "30 Mb/s" }
run = { warm_up = "1 s", duration = "4 s" }
define = { p0 = "10 ms", p1 = "10 ms", rate = "10 Mb/s" }
"#;

#[test]
fn the_limit_of_a_way_that_becomes_longer_or_shorter_is_of_what_arrives() {
    // When the first and the last that is measured was sent, and how much the line carried then in all.
    for (p0, p1, rate, megabits) in [
        ("500 ms", "10 ms", "10 Mb/s", (4.99 - 0.5) * 10.0),
        ("500 ms", "100 ms", "5 Mb/s", 2.5f64.mul_add(10.0, 1.9 * 5.0)),
        ("10 ms", "500 ms", "10 Mb/s", (4.5 - 0.99) * 10.0),
        ("10 ms", "10 ms", "5 Mb/s", 2.01f64.mul_add(10.0, 1.99 * 5.0)),
    ] {
        let set = [format!("p0={p0}"), format!("p1={p1}"), format!("rate={rate}")];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let row = Laboratory::default().run(&point(&parse(SHORTER), &set)).unwrap().rows.remove(0);
        let (limit, expected) = (row.limit_mbps.unwrap(), megabits / 4.0 * 1472.0 / 1500.0);
        assert!((limit - expected).abs() < 0.01, "{p0} {p1} {rate}: {limit} {expected}");
        assert!((row.goodput_mbps - limit).abs() < 0.01, "{p0} {p1} {rate}: {} {limit}", row.goodput_mbps);
    }
}

#[test]
fn echoes_over_a_full_line_are_bound_by_it_on_either_way() {
    let echoes = r#"kind = "ping", from = "a", to = "b", message = "1000 B", interval = "500 us""#;
    let run = "run = { warm_up = \"1 s\", duration = \"5 s\" }";
    let text = format!("{}{run}\n", ALONE.replace(STREAM, echoes));
    let rows = |text: &str| Laboratory::default().run(&point(&parse(text), &[])).unwrap().rows;
    assert!(rows(&text).iter().all(|row| row.bound_by == "link"));
    // Half of 8 Mb/s is lost on the way, and the line is not full.
    let lossy = text.replace("500 us", "1 ms").replace("queue_frames = 50", "impair.loss = \"50 %\"");
    assert!(rows(&lossy).iter().all(|row| row.bound_by == "loss"));
}

#[test]
fn who_had_no_power_is_not_told_as_who_was_not_answered() {
    let notes =
        |load: &str, more: &str| alone(STREAM, &format!("load.y = {{ {load} }}\n{more}\nrun.duration = \"5 s\"")).2;
    let dead = notes(UNITS, "event = [{ at = \"0 s\", host = \"a\", up = false }]");
    let told = "x: no connection was established: a lost its power before 10.0.0.2 answered";
    assert!(dead.iter().any(|note| note == told), "{dead:?}");
    let late = notes(&format!("{STREAM}, start = \"5 s\""), "");
    let told = "y: no connection was established: a was not to call 10.0.0.2 before the end";
    assert!(late.iter().any(|note| note == told), "{late:?}");
}

/// The handshake takes 20 ms and is not measured; but where it is longer than the rest it is what bounds the transfer.
#[test]
fn what_held_a_transfer_is_of_its_time() {
    let run = "run.duration = \"10 s\"";
    let (row, ..) = alone(r#"kind = "ttcp", from = "a", to = "b", message = "1 B", count = 1"#, run);
    assert_eq!((row.held.len(), row.held.get("closing"), row.bound_by.as_str()), (1, Some(&1.0), "opening"));
    let (row, ..) = alone(r#"kind = "ttcp", from = "a", to = "b", message = "1 MB", count = 1"#, run);
    assert!(!row.held.contains_key("opening") && row.bound_by != "opening", "{}", row.bound_by);
    assert!((row.held.values().sum::<f64>() - 1.0).abs() < 1e-9, "{:?}", row.held);
}

#[test]
fn transfers_that_would_begin_after_the_end_are_told() {
    let load = r#"kind = "ttcp", from = "a", to = "b", message = "10 kB", count = 1, sessions = 20, stagger = "1 s""#;
    let (row, _, notes) = alone(load, "run.duration = \"10.5 s\"");
    assert_eq!(row.completions, Some(11));
    // Those that came to begin were all as fast.
    assert!((row.jain.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(notes, ["9 of 20 sessions would have begun after the end of the run"]);
    // The twelfth has not arrived.
    let (row, _, notes) = alone(&load.replace("10 kB", "100 kB"), "run.duration = \"11.05 s\"");
    assert_eq!(row.completions, Some(11));
    let told = [
        "8 of 20 sessions would have begun after the end of the run",
        "11 of 12 transfers that had begun came to an end",
    ];
    assert_eq!(notes, told);
    // What has a time to stop is complete.
    let (_, _, notes) = alone(&format!("{load}, stop = \"10 s\""), "run.duration = \"10.5 s\"");
    assert!(notes.iter().all(|note| !note.contains("sessions") && !note.contains("transfers")), "{notes:?}");
}

/// A connection for each call, and calls that come and go.
#[test]
fn who_had_no_call_to_make_is_not_told_as_treated_unfairly() {
    let load = r#"kind = "rpc", from = "a", to = "b", message = "100 B", response = "1 kB""#;
    let measured = "run = { warm_up = \"1 s\", duration = \"4 s\" }";
    let jain = |more: &str| alone(&format!("{load}, {more}"), measured).0.jain.unwrap();
    // Half of them come after the end.
    assert!(jain("count = 1, sessions = 20, stagger = \"500 ms\"") > 0.99);
    assert!(jain("count = 1, sessions = 200, stagger = \"exponential 50 ms\"") > 0.99);
    // What was to stop by then never was to begin, and who pauses all the time asks for nothing.
    assert!(jain("sessions = 8, stagger = \"1 s\", stop = \"3 s\"") > 0.4);
    assert!(jain("sessions = 2, stagger = \"2500 ms\", think = \"10 s\"") > 0.99);
    // Of those that ask for all of the time, who begins too late had less of it than the others.
    assert!((jain("sessions = 4, think = \"10 ms\", stagger = \"6 s\"") - 0.25).abs() < 1e-9);
}

/// Two files of 1 MB, one behind the other on 10 Mb/s, have 9 Mb/s each, and the line never carried 18.
#[test]
fn a_total_of_what_was_not_there_at_one_time_is_told() {
    let more = |second: &str| {
        let load = r#"kind = "ttcp", from = "a", to = "b", message = "8000 B", count = 125"#;
        let (row, _, notes) = alone(load, &format!("load.y = {{ {second} }}\nrun.duration = \"10 s\""));
        (row, notes.into_iter().find(|note| note.starts_with("the total is the sum")))
    };
    let file = r#"kind = "ttcp", from = "a", to = "b", message = "8000 B", count = 125, start = "${start}""#;
    let (row, note) = more(&file.replace("${start}", "4 s"));
    let note = note.unwrap();
    // From the opening of the first, 20 ms after the beginning, to the end of the second, which is as long after its
    // own.
    let time = 4.0 + row.measured_s;
    let rate = 16.0 / time;
    assert!(
        note.contains(&format!("over the {time:.2} s")) && note.ends_with(&format!("it was {rate:.2} Mb/s")),
        "{note}"
    );
    // What is told of one of them has that total beside it.
    let one =
        format!("load.y = {{ {} }}\nrun.duration = \"10 s\"\nreport.load = \"y\"", file.replace("${start}", "4 s"));
    let (_, _, notes) = alone(r#"kind = "ttcp", from = "a", to = "b", message = "8000 B", count = 125"#, &one);
    let all = note.replace("the total is", "the goodput of all loads is");
    assert!(notes.contains(&all), "{notes:?}");
    // Echoes bring nothing, so that there is no sum.
    assert_eq!(more(r#"kind = "ping", from = "a", to = "b", interval = "100 ms""#).1, None);
    // Datagrams have all of the time, and so has the other: the sum is what there was.
    let units = r#"kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s""#;
    let text = ALONE.to_owned() + &format!("load.y = {{ {units} }}\nrun.duration = \"10 s\"\n");
    let notes = Laboratory::default().run(&point(&parse(&text), &[])).unwrap().notes;
    assert!(notes.iter().all(|note| !note.starts_with("the total is the sum")), "{notes:?}");
}

/// A line that a schedule makes another one from its beginning on.
#[test]
fn a_line_is_what_its_schedule_says_at_0_s() {
    let first = ALONE
        .replace("queue_frames = 50", "queue_frames = \"1 bdp\", schedule = [{ at = \"0 s\", rate = \"40 Mb/s\", propagation = \"50 ms\" }, { at = \"900 s\", rate = \"1 Mb/s\" }]")
        + "run = { warm_up = \"2 s\", duration = \"3 s\" }\n";
    let point = point(&parse(&first), &[]);
    let queue = point.scenario.link["line"].settings["queue_frames"].as_integer();
    // 40 Mb/s for 100 ms, in frames of 1500 octets.
    assert_eq!(queue, Some(334));
    let text = Laboratory::limit(&point, Lines::Unicode).unwrap();
    assert!(text.contains("38.613"), "{text}");
    let rows = Laboratory::default().run(&point).unwrap().rows;
    assert!((rows[0].limit_mbps.unwrap() - 38.613).abs() < 1e-3, "{:?}", rows[0].limit_mbps);
}

/// A transfer of two packets, the first of which is on the line when that stands still for 200 ms.
#[test]
fn what_keeps_its_time_where_a_line_becomes_slower_is_no_more_than_the_limit() {
    let text = ALONE
        .replace("propagation = \"10 ms\"", "propagation = \"10 us\", schedule = [{ at = \"${still} us\", rate = \"0 b/s\" }, { at = \"200 ms\", rate = \"20 Mb/s\" }]")
        .replace("kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\"", "kind = \"ttcp\", from = \"a\", to = \"b\", message = \"100 B\", count = 20")
        + "run.duration = \"5 s\"\ndefine.still = 0\n";
    for still in ["still=150", "still=200", "still=500", "still=1000"] {
        let rows = Laboratory::default().run(&point(&parse(&text), &[still])).unwrap().rows;
        let (goodput, limit) = (rows[2].goodput_mbps, rows[2].limit_mbps.unwrap());
        assert!(goodput > 0.0 && goodput <= limit, "{still}: {goodput} of {limit}");
    }
}

/// The way back is down while the connection is opened: SYN,ACKs are lost and retransmitted, by the timer and since the
/// SYN comes again. Both ends of calls count, from their first segment on.
#[test]
fn what_answers_a_call_counts_from_its_first_answer_on() {
    let load = r#"kind = "rpc", from = "a", to = "b", message = "200 B", response = "500 B", think = "400 ms", start = "500 ms""#;
    let down = "event = [{ at = \"400 ms\", link = \"line\", up = false, toward = \"a\" }, { at = \"700 ms\", link = \"line\", up = true, toward = \"a\" }]\nrun.duration = \"3 s\"";
    let text = ALONE.replace(STREAM, load) + down + "\n";
    let rows = Laboratory::default().run(&point(&parse(&text), &[])).unwrap().rows;
    // The same by the counters of both TCPs, which have had nothing else to do.
    let counters = serde_json::to_value(&rows[0]).unwrap()["counters"].clone();
    let sum = |name: &str| ["a.tcp", "b.tcp"].map(|tcp| counters[tcp][name].as_u64().unwrap()).iter().sum::<u64>();
    let of = |row: &Row| [row.segments_sent, row.retransmissions, row.timeouts].map(Option::unwrap);
    let counted = ["segments_sent", "retransmissions", "timeouts"].map(sum);
    assert_eq!(counted[1], 3);
    assert!(rows.iter().all(|row| of(row) == counted), "{rows:?}");
}
