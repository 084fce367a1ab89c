//! Over which time and of what each value is: of loads that write for a part of it, of echoes, of datagrams that never
//! arrive, of transfers that overlap.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_graph::{Duration, Instant};
use kumiki_lab::experiment::{Options, Run, SampleOf};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;
use kumiki_lab::rows::{Row, Scope};
use kumiki_lab::table::Lines;

use crate::arrange::{parse, point};

/// Two hosts; `text` says the rest.
fn ran(text: &str) -> (Vec<Row>, Vec<String>) {
    let hosts = "title = \"Two hosts\"\nhost.a.graph = [\"ip\", \"l0\"]\nhost.b.like = \"a\"\n";
    let outcome = Laboratory::default().run(&point(&parse(&format!("{hosts}{text}")), &[])).unwrap();
    (outcome.rows, outcome.notes)
}

fn load<'a>(rows: &'a [Row], name: &str) -> &'a Row {
    rows.iter().find(|row| row.scope == Scope::Load && row.load.as_deref() == Some(name)).unwrap()
}

fn flows<'a>(rows: &'a [Row], name: &str) -> Vec<&'a Row> {
    rows.iter().filter(|row| row.scope == Scope::Flow && row.load.as_deref() == Some(name)).collect()
}

/// 625 datagrams a second.
const STREAM: &str = r#"kind = "udp", from = "a", to = "b", message = "1000 B", rate = "5 Mb/s""#;

#[test]
fn of_datagrams_that_never_arrive_no_more_are_lost_than_are_sent() {
    let line = r#"link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", impair = { toward = "b", loss = "100 %" } }"#;
    for warm_up in ["500 ms", "1 s", "3 s"] {
        let text = format!("{line}\nload.x = {{ {STREAM} }}\nrun = {{ warm_up = \"{warm_up}\", duration = \"5 s\" }}");
        let (_, notes) = ran(&text);
        assert!(notes.iter().any(|note| note == "3125 datagrams sent, 0 received, 3125 lost"), "{warm_up}: {notes:?}");
    }
}

/// Of those that left before 2 s nobody asks, though it is known only later that they are lost.
#[test]
fn of_datagrams_into_a_line_that_goes_those_are_lost_that_left_while_it_was_measured() {
    let line =
        r#"link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "20 ms" }"#;
    let down = "event = [{ at = \"1990 ms\", link = \"line\", up = false }";
    let lost = |events: &str| {
        let run = "run = { warm_up = \"2 s\", duration = \"4 s\" }";
        let (_, notes) = ran(&format!("{line}\nload.x = {{ {STREAM} }}\n{run}\n{events}"));
        let note = notes.iter().find(|note| note.contains("datagrams sent")).unwrap().clone();
        let numbers: Vec<u64> = note.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect();
        (numbers[0], numbers[1], numbers[2])
    };
    assert_eq!(lost(&format!("{down}]")), (2500, 0, 2500));
    // From 4 s on it is there again: half of them come, but for the 12 or so that are on the line at the end; those
    // that are on it at 4 s come, too.
    let (sent, received, lost) = lost(&format!("{down}, {{ at = \"4 s\", link = \"line\", up = true }}]"));
    assert!(sent == 2500 && (1235..=1251).contains(&lost) && sent - received - lost < 20, "{sent} {received} {lost}");
}

/// A queue of 50 frames before a line that takes half of what comes: 50 wait when the measurement begins, and when it
/// ends.
#[test]
fn what_is_told_of_datagrams_adds_up() {
    let line = r#"link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "2.5 Mb/s", queue_frames = 50 }"#;
    for warm_up in ["0 s", "2 s"] {
        let run = format!("run = {{ warm_up = \"{warm_up}\", duration = \"4 s\" }}");
        let (_, notes) = ran(&format!("{line}\nload.x = {{ {STREAM} }}\n{run}"));
        let note = notes.iter().find(|note| note.contains("datagrams sent")).unwrap();
        let numbers: Vec<u64> = note.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect();
        match (warm_up, &numbers[..]) {
            ("0 s", [sent, received, lost, unknown]) => assert_eq!(received + lost + unknown, *sent, "{note}"),
            ("2 s", [sent, received, before, lost, unknown]) => {
                assert_eq!(received - before + lost + unknown, *sent, "{note}");
                assert!((50..=51).contains(before), "{note}");
            }
            _ => panic!("{note}"),
        }
        // 50 wait, one is on its way, and of the 160 ms in which these came about half was dropped.
        assert!((90..=110).contains(numbers.last().unwrap()), "{note}");
    }
}

/// The queue is full from 1 s on, and a round trip takes 60 ms then. Until 3 s nothing is measured.
#[test]
fn what_is_said_of_echoes_is_of_those_that_were_measured() {
    let text = r#"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms", queue_frames = 50 }
host.a.graph = { tcp = ["ip"], ping = ["ip"], ip = ["l0"] }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB", start = "1 s" }
load.ask = { kind = "ping", from = "a", to = "b", message = "56 B", interval = "100 ms" }
run = { warm_up = "3 s", duration = "4 s" }
"#;
    let text = text.replace("host.a.graph = { tcp = [\"ip\"], ping = [\"ip\"], ip = [\"l0\"] }\n", "");
    let (rows, notes) = ran(&text);
    let note = notes.iter().find_map(|note| note.strip_prefix("ask: ")).unwrap();
    assert!(note.starts_with("40 echoes asked for, ") || note.starts_with("41 echoes asked for, "), "{note}");
    let round_trip = &load(&rows, "ask").round_trip_ms;
    // Of what streams brought none is lost by that.
    assert!(load(&rows, "ask").lost_percent.is_some() && rows[0].lost_percent.is_none());
    let least: f64 = note.split("round trip ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(least > 15.0 && (least / round_trip["min"] - 1.0).abs() < 0.01, "{note} {round_trip:?}");
}

/// With long packets a workstation almost fills the line: its CPU binds, and a faster one brings what is left of the
/// line.
#[test]
fn what_a_faster_host_can_bring_is_told_where_the_line_is_next() {
    let ran = |mtu: &str| {
        ran(&format!(
            r#"
host.a.profile = "ss20"
host.a.ip.mtu = "{mtu}"
host.b.profile = "zero"
host.b.ip.mtu = "{mtu}"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }}
load.bulk = {{ kind = "netperf", from = "a", to = "b", message = "8 KiB", socket_buffer = "512 KiB" }}
run = {{ warm_up = "300 ms", duration = "1 s" }}
"#
        ))
    };
    let note = |notes: &[String]| notes.iter().find(|note| note.contains("a faster host brings at most")).cloned();
    let (rows, notes) = ran("9180 B");
    let (goodput, limit) = (rows[0].goodput_mbps, rows[0].limit_mbps.unwrap());
    assert_eq!(rows[0].bound_by, "host");
    let expected = format!("at most {:.1} % more, the {limit:.2} Mb/s", (limit / goodput - 1.0) * 100.0);
    assert!(note(&notes).is_some_and(|note| note.contains(&expected)), "{notes:?}");
    // With short ones nothing is near.
    assert_eq!(note(&ran("1500 B").1), None);
}

/// Of packets of 192 cells of which a full queue drops one here and there the rest goes over the line for nothing.
#[test]
fn cells_of_packets_with_a_hole_are_told() {
    let ran = |cells: u32, discard: &str| {
        let text = format!(
            r#"
title = "Five hosts over one output"
host.s = {{ count = 5, graph = ["ip", "llc_snap", "atm0"], ip.mtu = "9180 B" }}
host.r.like = "s"
switch.sw = {{ queue_cells = {cells}, discard = "{discard}" }}
link.in = {{ count = 5, ends = ["s${{i}}", "sw"], medium = "oc3c-atm" }}
link.out = {{ ends = ["sw", "r"], medium = "oc3c-atm" }}
load.bulk = {{ kind = "netperf", from = "s*", to = "r", message = "8 KiB", socket_buffer = "64 KiB" }}
run.duration = "500 ms"
"#
        );
        let outcome = Laboratory::default().run(&point(&parse(&text), &[])).unwrap();
        let counts = outcome.rows[0].counters["r.atm0 SAR"].clone();
        let note = outcome.notes.into_iter().find(|note| note.contains("of the cells that came to r.atm0"));
        (note, counts["cells_in_vain"] as f64 / counts["cells_in"] as f64 * 100.0)
    };
    let (note, share) = ran(1000, "tail");
    assert!(share > 2.0);
    assert_eq!(
        note.unwrap(),
        format!(
            "{share:.1} % of the cells that came to r.atm0 were of PDUs with a hole, and brought nothing: `discard = \"epd\"` of a switch drops PDUs whole before its queue is full"
        )
    );
    let (note, share) = ran(1000, "epd");
    assert!(note.is_none() && share < 2.0, "{share}");
    // In a queue that is too short for packets of all five this is no cure.
    let (note, share) = ran(256, "epd");
    assert!(share > 50.0 && note.is_some_and(|note| note.ends_with("and brought nothing")), "{share}");
}

/// A workstation that can send some 40 Mb/s into a line of 100.
#[test]
fn a_processor_without_time_left_while_a_load_writes_is_what_holds_it() {
    let line = r#"
host.a.profile = "ss20"
host.b.profile = "zero"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
load.ask = { kind = "ping", from = "b", to = "a", message = "56 B" }
run = { warm_up = "1 s", duration = "8 s" }
"#;
    let loads = [
        r#"kind = "netperf", start = "3 s", stop = "5 s""#,
        r#"kind = "netperf", start = "3 s""#,
        r#"kind = "netperf", stop = "5 s""#,
        r#"kind = "ttcp", count = 1000, start = "2 s""#,
    ];
    for kind in loads {
        let of_load =
            format!(r#"load.bulk = {{ {kind}, from = "a", to = "b", message = "8 KiB", socket_buffer = "1 MiB" }}"#);
        let (rows, _) = ran(&format!("{line}{of_load}\n"));
        let bulk = load(&rows, "bulk");
        assert_eq!(bulk.bound_by, "host", "{kind}: {} Mb/s, {:?}", bulk.goodput_mbps, bulk.held);
        assert!(flows(&rows, "bulk").iter().all(|row| row.bound_by == "host"), "{kind}");
    }
    // Beside what it does for a short time it has nothing to do.
    let slow = r#"load.bulk = { kind = "udp", rate = "100 kb/s", from = "a", to = "b", message = "1000 B" }"#;
    assert_eq!(load(&ran(&format!("{line}{slow}\n")).0, "bulk").bound_by, "application");
}

/// Beside it two other hosts have a line of their own.
#[test]
fn a_processor_that_has_nothing_to_do_with_a_load_does_not_hold_it() {
    let text = r#"
host.a.profile = "ss20"
host.b.profile = "zero"
host.c.like = "b"
host.d.like = "b"
link.one = { ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.other = { ends = ["c", "d"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB", socket_buffer = "1 MiB" }
load.small = { kind = "netperf", from = "c", to = "d", message = "8 KiB", socket_buffer = "4 KiB" }
run = { warm_up = "1 s", duration = "2 s" }
"#;
    let (rows, _) = ran(text);
    assert_eq!(["bulk", "small"].map(|name| load(&rows, name).bound_by.as_str()), ["host", "send buffer"]);
}

/// Two connections over one line, of which one has a small window and a long file, and one a large window and a short
/// file. While both are there the one has less than its share, and so does not wait for the line, which the other
/// fills.
#[test]
fn a_transfer_is_compared_with_those_that_it_meets_while_it_meets_them() {
    let line = r#"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "20 ms", queue_frames = 40 }
run.duration = "10 s"
load.small = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", count = 20, socket_buffer = "4 KiB" }
"#;
    let large = |more: &str| {
        format!(r#"load.large = {{ {more}, from = "a", to = "b", message = "8 KiB", socket_buffer = "256 KiB" }}"#)
    };
    for kind in [r#"kind = "ttcp", count = 500"#, r#"kind = "netperf""#] {
        let (rows, _) = ran(&format!("{line}{}\n", large(kind)));
        assert_eq!(load(&rows, "small").bound_by, "send buffer", "{kind}");
        assert_eq!(load(&rows, "large").bound_by, "link", "{kind}");
    }
}

/// A buffer has room for two messages, and half of the time goes by for want of an acknowledgment of the first, half
/// for want of room.
#[test]
fn of_two_limits_that_held_equally_long_it_is_the_one_before_the_other() {
    let run = |buffer: &str| {
        let text = format!(
            r#"
host.a.tcp = {{ coalesce = "nagle", send_buffer = "{buffer}", max_send_buffer = "{buffer}" }}
host.b.tcp = {{ ack.every = 1, ack.count_small = true }}
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "1 Gb/s", propagation = "10 ms" }}
load.x = {{ kind = "netperf", from = "a", to = "b", message = "1000 B" }}
run = {{ warm_up = "500 ms", duration = "2 s" }}
"#
        );
        load(&ran(&text).0, "x").clone()
    };
    let row = run("2000 B");
    let [buffer, coalescing] = ["send buffer", "coalescing"].map(|what| row.held[what]);
    assert!((buffer - coalescing).abs() < 0.01, "{:?}", row.held);
    assert_eq!(row.bound_by, "send buffer", "{:?}", row.held);
}

/// Sound whose packets are delayed by up to 40 ms more for the first seconds only.
#[test]
fn the_jitter_of_a_stream_is_that_of_the_measured_time() {
    let text = r#"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms" }
load.voice = { kind = "rtp", from = "a", to = "b", message = "160 B", rate = "64 kb/s", payload_type = 0 }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB", START }
run = { warm_up = "2 s", duration = "6 s" }
"#;
    let jitter = |when: &str| -> Vec<f64> {
        let (_, notes) = ran(&text.replace("START", when));
        let note = notes.iter().find(|note| note.contains("jitter")).unwrap().clone();
        let (_, jitter) = note.split_once("jitter ").unwrap();
        jitter.split(' ').filter_map(|it| it.parse().ok()).collect()
    };
    // Beside a transfer that ends before: of its jitter some is left at the beginning.
    let before = jitter(r#"start = "0 s", stop = "1 s""#);
    let first = jitter(r#"start = "2 s", stop = "4 s""#);
    let last = jitter(r#"start = "6 s", stop = "8 s""#);
    assert!(2.0 * before[0] < first[0] && 2.0 * before[1] < first[1], "{before:?} {first:?}");
    // A transfer at the beginning counts as much as one at the end.
    for [mean, largest] in [[first[0], first[1]], [last[0], last[1]]] {
        assert!(mean > 0.02 && largest > 2.0 * mean, "{first:?} {last:?}");
    }
    assert!((0.3..3.0).contains(&(first[0] / last[0])), "{first:?} {last:?}");
}

/// Each exchange takes 20 ms, with a second of pause behind it.
#[test]
fn a_pause_between_exchanges_is_no_silence() {
    let text = r#"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }
load.ask = { kind = "rpc", from = "a", to = "b", message = "100 B", think = "1 s", sessions = 3 }
run = { warm_up = "2 s", duration = "10 s" }
"#;
    let gap = |text: &str| load(&ran(text).0, "ask").longest_gap_s.unwrap();
    let alone = gap(text);
    assert!((0.02..0.025).contains(&alone), "{alone}");
    // What is awaited is silent until the end.
    let down = format!("{text}event = [{{ at = \"9 s\", link = \"line\", up = false }}]\n");
    let silent = gap(&down);
    assert!((1.9..3.0).contains(&silent), "{silent}");
}

/// A call of a connection of its own, in the order of its parts: 60 and 60 octets to open it, and 121.47 ms with it
/// until the answer is there; 20.02 ms more until the end is acknowledged.
const CALLS: &str = r#"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "50 Mb/s", propagation = "10 ms" }
load.call = { kind = "rpc", from = "a", to = "b", message = "200 B", response = "20 kB", count = 1, sessions = 20, stagger = "200 ms" }
run = { duration = "20 s" }
"#;

/// And not until somebody looks again whether it is.
#[test]
fn so_many_exchanges_are_measured_until_the_last_is_over() {
    let one = CALLS.replace("sessions = 20", "sessions = 1");
    let bulk = r#"load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB", start = "1 s" }"#;
    for text in [one.clone(), format!("{one}{bulk}")] {
        let rows = ran(&text).0;
        let flow = rows.iter().find(|row| row.scope == Scope::Flow && row.load.as_deref() == Some("call")).unwrap();
        let took = flow.completion_s.unwrap();
        assert!((0.1414..0.1416).contains(&took), "{took}");
        for row in [flow, load(&rows, "call")] {
            assert!((row.measured_s - took).abs() < 1e-9, "{} {took}", row.measured_s);
            assert!((row.goodput_mbps - 20_000.0 * 8e-6 / took).abs() < 1e-9, "{}", row.goodput_mbps);
        }
    }
    // The last begins at 3.8 s.
    let rows = ran(CALLS).0;
    let all = load(&rows, "call");
    assert!((3.9414..3.9416).contains(&all.measured_s), "{}", all.measured_s);
}

/// Five of the twenty are over when the measurement begins, and no less well treated than the others.
#[test]
fn who_was_through_before_it_was_measured_got_no_less() {
    let rows = ran(&CALLS.replace("duration", "warm_up = \"1 s\", duration")).0;
    let all = load(&rows, "call");
    assert_eq!(all.completions, Some(15));
    assert!(all.jain.is_some_and(|jain| (jain - 1.0).abs() < 1e-6), "{:?}", all.jain);
    assert!((2.9414..2.9416).contains(&all.measured_s), "{}", all.measured_s);
}

/// A frame of 1028 octets takes 8.2 ms of an interval of 20 ms, and a line cannot be busy for longer than that.
#[test]
fn no_line_is_busy_for_longer_than_the_interval() {
    let text = r#"
title = "Twice what the line takes"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "1 Mb/s", queue_frames = 10 }
load.x = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "2 Mb/s", stop = "1 s" }
run = { duration = "2 s", interval = "20 ms" }
"#;
    let run = crate::arrange::run(&parse(text), &[], 1, &Options::default());
    let busy: Vec<f64> =
        run.samples.unwrap().0.iter().filter(|it| it.name == "line.a").map(|it| it.busy.unwrap()).collect();
    assert!(busy.len() == 100 && busy[..50].iter().all(|it| (it - 1.0).abs() < 1e-9), "{busy:?}");
    // What is put off is not lost: all together is what the line counts.
    let all = busy.iter().sum::<f64>() * 20e6;
    let counted = run.measured.counters["line"]["a_busy_ns"];
    assert!((all - counted as f64).abs() < 1.0, "{all} {counted}");
    assert_eq!(busy[60], 0.0);
}

/// A call of a megabyte, on which the processor works for some 98 % of the time: in the rest the request is on its way,
/// and there is nothing to work on.
#[test]
fn a_processor_holds_a_call_though_it_rests_between_two() {
    let text = r#"
host.a.profile = "atm-board"
host.b.profile = "zero"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "1 Gb/s", propagation = "1 ms" }
load.ask = { kind = "rpc", from = "a", to = "b", message = "1000 B", response = "1 MB" }
run = { warm_up = "1 s", duration = "2 s" }
"#;
    let bound = |text: &str| {
        let (rows, _) = ran(text);
        let ask = load(&rows, "ask");
        (ask.bound_by.clone(), ask.held.clone())
    };
    let (large, held) = bound(text);
    assert_eq!(large, "host", "{held:?}");
    // Of short ones that come from many the way takes the time, be the processor as busy.
    let (short, held) = bound(&text.replace("\"1 MB\" }", "\"1000 B\", sessions = 4 }"));
    assert_eq!(short, "round trip", "{held:?}");
}

/// Least, mean and greatest are those that came, to the nanosecond, and not the edges of boxes of 1 %.
#[test]
fn the_least_round_trip_is_no_shorter_than_the_way() {
    let text = r#"
title = "Exact"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "1 Gb/s", propagation = "19.95 ms", queue_frames = 1000 }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
load.ping = { kind = "ping", from = "a", to = "b", message = "56 B", interval = "10 ms" }
load.call = { kind = "rpc", from = "a", to = "b", message = "100 B", response = "100 B" }
run = { warm_up = "500 ms", duration = "2 s" }
"#;
    let outcome = Laboratory::default().run(&point(&parse(text), &[])).unwrap();
    let ping = load(&outcome.rows, "ping");
    for times in
        [&load(&outcome.rows, "bulk").round_trip_ms, &ping.round_trip_ms, &load(&outcome.rows, "call").completion_ms]
    {
        assert!(times["min"] > 39.9 && times["min"] < 39.92, "{times:?}");
        let all = ["min", "p50", "p95", "p99", "max"].map(|name| times[name]);
        assert!(all.is_sorted() && times["mean"] >= times["min"] && times["mean"] <= times["max"], "{times:?}");
    }
    // What the note says of echoes is what the row says.
    let [min, mean, max] = ["min", "mean", "max"].map(|name| ping.round_trip_ms[name]);
    let said = format!("round trip {min:.3} / {mean:.3} / {max:.3} ms (min, mean, max)");
    assert!(outcome.notes.iter().any(|note| note.contains(&said)), "{said}: {:?}", outcome.notes);
}

/// What waits where it is sent is not lost, though nothing has ever come.
#[test]
fn datagrams_that_wait_are_not_lost_where_none_ever_arrived() {
    let text = format!(
        "link.line = {{ ends = [\"a\", \"b\"], medium = \"point-to-point\", rate = \"2.5 Mb/s\", impair = {{ toward = \"b\", loss = \"100 %\" }} }}\n\
         load.x = {{ {STREAM} }}\nrun.duration = \"4 s\""
    );
    let (_, notes) = ran(&text);
    let note = notes.iter().find(|note| note.contains("datagrams sent")).unwrap();
    let numbers: Vec<u64> = note.split(|c: char| !c.is_ascii_digit()).filter_map(|it| it.parse().ok()).collect();
    let [sent, received, lost, waiting] = numbers[..] else { panic!("{note}") };
    // Half of 2501 has left.
    assert!(sent == 2501 && received == 0 && lost + waiting == sent, "{note}");
    assert!((1200..1230).contains(&lost), "{note}");
}

/// In each interval a load has retransmitted what its flows have, and in all of them what its row says; echoes send
/// nothing again.
#[test]
fn what_a_load_sends_again_over_time_is_the_sum_of_its_flows() {
    let text = r#"
title = "Loss"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms", impair = { toward = "b", loss = 0.02 } }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB", sessions = 3 }
load.get = { kind = "rpc", from = "a", to = "b", message = "10 kB", response = "100 B", port = 6000 }
load.echo = { kind = "ping", from = "a", to = "b", message = "56 B" }
run = { duration = "4 s", interval = "500 ms" }
"#;
    let run = crate::arrange::run(&parse(text), &[], 1, &Options::default());
    let samples = run.samples.unwrap().0;
    // Echoes have no goodput, also not over time.
    let has_goodput = |name: &str| samples.iter().any(|it| it.name == name && it.goodput_mbps.is_some());
    assert!(has_goodput("bulk") && has_goodput("get") && !has_goodput("echo"));
    let of = |scope, name: &str| -> Vec<Option<u64>> {
        let own = samples.iter().filter(|it| it.scope == scope && it.name == name);
        own.map(|it| it.retransmissions).collect()
    };
    for (name, flows) in [("bulk", 3), ("get", 1)] {
        let load = of(SampleOf::Load, name);
        let each = of(SampleOf::Flow, name);
        let sums = each.chunks(flows).map(|own| own.iter().copied().sum::<Option<u64>>());
        assert_eq!(load, sums.collect::<Vec<_>>(), "{name}");
        let sender = run.measured.loads[name].sender().unwrap();
        assert_eq!(load.iter().flatten().sum::<u64>(), sender.retransmissions, "{name}");
        assert!(sender.retransmissions > 3, "{name}: {}", sender.retransmissions);
    }
    assert_eq!(of(SampleOf::Load, "echo"), [None; 8]);
}

/// Over time a transfer has what its row has: neither its lost SYNs, nor what is lost of its close. The line is not
/// there at first, and for a while in the middle and at the end.
#[test]
fn what_a_transfer_sends_again_over_time_is_what_its_row_has() {
    let text = r#"
title = "Late"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "1 Mb/s", propagation = "10 ms", schedule = [
    { at = "0 s", up = false }, { at = "3.5 s", up = true }, { at = "7.4 s", up = false }, { at = "9 s", up = true } ] }
load.file = { kind = "ttcp", from = "a", to = "b", message = "8000 B", count = 20 }
run = { duration = "60 s", interval = "500 ms" }
"#;
    let run = crate::arrange::run(&parse(text), &[], 1, &Options::default());
    let in_row = run.measured.loads["file"].sender().unwrap().retransmissions;
    assert!(in_row > 0);
    let samples = run.samples.unwrap().0;
    for scope in [SampleOf::Load, SampleOf::Flow] {
        let own = samples.iter().filter(|it| it.scope == scope && it.retransmissions.is_some_and(|count| count > 0));
        let told: Vec<(f64, u64)> = own.map(|it| (it.time_s, it.retransmissions.unwrap())).collect();
        assert_eq!(told.iter().map(|(_, count)| count).sum::<u64>(), in_row, "{scope:?}: {told:?}");
        // The call was answered behind 7 s, and what was lost then is retransmitted behind 7.4 s.
        assert!(told.iter().all(|(time, _)| *time > 7.4 && *time < 12.0), "{scope:?}: {told:?}");
    }
}

/// How many frames the hosts called `names` sent from one time to another, both included.
fn frames(run: &Run, names: &[&str], (from, to): (Instant, Instant)) -> u64 {
    let hosts = run.captured.iter().filter(|host| names.contains(&host.host.as_str()));
    hosts.flat_map(|host| &host.seen).filter(|it| it.down && it.at >= from && it.at <= to).count() as u64
}

/// A transfer is measured from its opening to its end: what its call, its association or the close of its connection
/// had it send again does not count. The line is not there at first, for a while in the middle, and when the last
/// acknowledgment of the close would come.
#[test]
fn a_transfer_counts_what_it_sends_again_while_it_is_measured() {
    const LINE: &str = r#"
link.line = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "1 Mb/s", propagation = "10 ms", schedule = [
    { at = "0 s", up = false }, { at = "3.5 s", up = true }, { at = "7.4 s", up = false }, { at = "9 s", up = true } ] }
run = { duration = "60 s" }
"#;
    let stream = format!(
        "title = \"Stream\"\nhost.a.graph = [\"ip\", \"l0\"]\nhost.b.like = \"a\"\n{LINE}load.x = {{ kind = \"ttcp\", from = \"a\", to = \"b\", message = \"8000 B\", count = 20 }}\n"
    );
    let stack = r#"graph = { ftam_user = ["ftam"], ftam_keeper = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }"#;
    let file = format!(
        "title = \"File\"\nhost.a = {{ {stack}, tp0 = {{ tpdu = \"2048 B\" }}, ip = {{ address = \"10.0.0.1/24\" }} }}\nhost.b = {{ like = \"a\", ip = {{ address = \"10.0.0.2/24\" }} }}\n{LINE}load.x = {{ kind = \"ftam\", from = \"a.ftam_user\", to = \"b.ftam_keeper\", message = \"8000 B\", file = \"160 kB\" }}\n"
    );
    for (text, writers) in [(stream, &["a"][..]), (file, &["a", "b"])] {
        let run = crate::arrange::run_captured(&text);
        let [flow] = &run.measured.total.flows[..] else { panic!("one flow") };
        let sender = flow.sender.clone().unwrap();
        let end = flow.began + flow.time;
        assert!(flow.began > Instant::ZERO + Duration::from_secs(7), "{:?}", flow.began);
        assert!(end > Instant::ZERO + Duration::from_secs(9), "{end:?}");
        assert_eq!(sender.segments_sent, frames(&run, writers, (flow.began, end)));
        // Three calls were lost before that, and a part of a window after it.
        let counted = |name: &str| {
            let of = |host: &&str| run.measured.counters.get(&format!("{host}.tcp")).and_then(|it| it.get(name));
            writers.iter().filter_map(of).sum::<u64>()
        };
        let (again, timeouts) = (counted("retransmissions"), counted("timeouts"));
        assert!(sender.timeouts > 0 && sender.timeouts + 3 == timeouts, "{sender:?} of {timeouts}");
        assert!(sender.retransmissions > 0 && sender.retransmissions + 3 == again, "{sender:?} of {again}");
    }
}

/// Two loads over one line, one of them in datagrams of another size, and calls: all of them together fill it, and have
/// a limit that says so.
#[test]
fn loads_that_share_a_line_have_a_limit_together() {
    let line = "link.line = { ends = [\"a\", \"b\"], medium = \"point-to-point\", rate = \"10 Mb/s\", propagation = \"5 ms\", queue_frames = 40 }\nrun = { warm_up = \"1 s\", duration = \"4 s\" }\n";
    let bulk = |from: &str, to: &str| {
        format!("load.{from} = {{ kind = \"netperf\", from = \"{from}\", to = \"{to}\", message = \"8 KiB\" }}\n")
    };
    let one = 10.0 * 1448.0 / 1500.0;
    let limit = |loads: &str| {
        let rows = ran(&format!("{line}{loads}")).0;
        (rows[0].limit_mbps, rows[0].goodput_mbps)
    };
    let second = bulk("a", "b").replace("load.a", "load.more");
    let (found, came) = limit(&format!("{}{second}", bulk("a", "b")));
    assert!((found.unwrap() - one).abs() < 1e-9 && came > 0.99 * one, "{found:?} {came}");
    // Of 472 octets 28 are headers, and of the mix each has what it has.
    let small = "load.small = { kind = \"udp\", from = \"a\", to = \"b\", message = \"444 B\", rate = \"4 Mb/s\", arrivals = \"poisson\" }\n";
    let (found, came) = limit(&format!("{}{small}", bulk("a", "b")));
    let found = found.unwrap();
    assert!((10.0 * 444.0 / 472.0..one).contains(&found) && (0.985..1.002).contains(&(came / found)), "{found} {came}");
    // What goes the other way is on another line.
    let (found, _) = limit(&format!("{}{}", bulk("a", "b"), bulk("b", "a")));
    assert!((1.9 * one..=2.0 * one + 1e-9).contains(&found.unwrap()), "{found:?}");
    // Echoes bring nothing; a transfer has a time of its own.
    let ping = "load.ping = { kind = \"ping\", from = \"a\", to = \"b\", message = \"56 B\" }\n";
    assert!((limit(&format!("{}{ping}", bulk("a", "b"))).0.unwrap() - one).abs() < 1e-9);
    let transfer = second.replace("kind = \"netperf\"", "kind = \"ttcp\", count = 100");
    assert_eq!(limit(&format!("{}{transfer}", bulk("a", "b"))).0, None);
    // `kumiki limit` says it before anything runs.
    let text = format!(
        "title = \"Two hosts\"\nhost.a.graph = [\"ip\", \"l0\"]\nhost.b.like = \"a\"\n{line}{}{second}",
        bulk("a", "b")
    );
    let told = Laboratory::limit(&point(&parse(&text), &[]), Lines::Ascii).unwrap();
    assert!(
        told.contains(&format!("All loads together, where those on one line share it alike: {one:.3} Mb/s")),
        "{told}"
    );
}

/// A transfer whose reader had all, and whose sender does not learn of it, is over where its reader had all.
#[test]
fn a_load_is_over_when_its_readers_have_all_whoever_does_not_learn_of_it() {
    const LINE: &str = r#"
title = "No last acknowledgment"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }
load.t = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", count = 100 }
run = { duration = "20 s" }
"#;
    let time = |events: &str| {
        let measured = crate::arrange::run(&parse(&format!("{LINE}{events}")), &[], 1, &Options::default()).measured;
        let load = &measured.loads["t"];
        let flow = &load.flows[0];
        assert_eq!(flow.octets, 819_200);
        (load.time, flow.time)
    };
    let (whole, flow) = time("");
    assert_eq!(whole, flow);
    for event in [r#"link = "line", up = false, toward = "a""#, r#"host = "a", up = false"#] {
        let found = time(&format!("event = [{{ at = \"719 ms\", {event} }}]"));
        assert_eq!(found, (whole, flow), "{event}");
    }
}

/// A load whose connections were all given up is aborted as they are, and no line or window bound it.
#[test]
fn a_load_of_which_all_was_given_up_is_aborted() {
    for kind in [r#"kind = "ttcp", count = 1000"#, r#"kind = "netperf", sessions = 2"#] {
        let text = format!(
            r#"
title = "Gone"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }}
load.t = {{ {kind}, from = "a", to = "b", message = "8 KiB" }}
event = [{{ at = "500 ms", link = "line", up = false }}]
run = {{ duration = "2000 s" }}
"#
        );
        let measured = crate::arrange::run(&parse(&text), &[], 1, &Options::default()).measured;
        let load = &measured.loads["t"];
        assert_eq!(measured.bound(load, None, Some(9.65)).name(), "aborted", "{kind}");
        assert_eq!(measured.bound_of_all(|_| Some(9.65)).name(), "aborted", "{kind}");
    }
}
