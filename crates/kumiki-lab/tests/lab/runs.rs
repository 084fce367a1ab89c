//! What must hold of any run: it repeats, its counts agree, and content arrives whole whatever happens to it.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a test: what fails stops it"
)]

use kumiki_lab::capture::{Layers, trace};
use kumiki_lab::experiment::{Options, Run};
use kumiki_lab::profile;

use crate::arrange::{octets, parse, point, profiles, run, run_point, scenario};

const CAPTURED: Options = Options { captures: Layers::All, traces: true, parts: None, live: false };

/// Everything that a run brings, as text and octets.
fn all(run: &Run) -> (String, String, Vec<u8>) {
    let rows = format!("{:?}", run.measured);
    (rows, trace::to_csv(&run.traces).unwrap(), octets(run))
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let set = [
        "pages=paper",
        "window=24 KiB",
        "sessions=4",
        "load.bulk.jitter=1 ms",
        "run.warm_up=300 ms",
        "run.duration=100 ms",
    ];
    let document = scenario("paper2-fig7");
    let [first, again, other] = [7, 7, 8].map(|seed| all(&run(&document, &set, seed, &CAPTURED)));
    assert!(first == again);
    assert_ne!(first.0, other.0);
    assert_ne!(first.1, other.1);
    assert_ne!(first.2, other.2);
    assert!(first.1.lines().count() > 100);
}

#[test]
fn looking_does_not_change_a_run() {
    let set = ["board=atm-board", "window=32 KiB", "run.warm_up=300 ms", "run.duration=100 ms"];
    let document = scenario("paper2-fig6");
    let looked = run(&document, &set, 1, &CAPTURED);
    let unseen = run(&document, &set, 1, &Options::default());
    assert_eq!(looked.measured, unseen.measured);
    assert!(unseen.traces.is_empty());
    assert_eq!(looked.traces.len(), 2);
}

/// The cells that the datagrams which both IPs say they sent must take: LLC/SNAP and the trailer are 8 octets each.
fn cells(run: &Run) -> u64 {
    let datagrams = run.captured.iter().flat_map(|host| &host.seen);
    datagrams.filter(|tapped| tapped.down).map(|tapped| (tapped.data.len() as u64 + 8 + 8).div_ceil(48)).sum()
}

fn count(run: &Run, part: &str, name: &str) -> u64 {
    run.measured.counters[part][name]
}

/// A transfer from its beginning to its end, so that nothing is in flight when cells are counted.
fn transfer(set: &[&str]) -> Run {
    let whole = [
        "board=zero",
        "window=64 KiB",
        "load.bulk.kind=ttcp",
        "load.bulk.count=100",
        "run.warm_up=0 s",
        "run.duration=200 s",
    ];
    let set: Vec<&str> = whole.iter().chain(set).copied().collect();
    let options = Options { captures: Layers::Ip, ..Options::default() };
    let run = run(&scenario("paper2-fig6"), &set, 1, &options);
    assert_eq!(run.measured.total.wrong, None);
    assert_eq!(run.measured.total.flows[0].octets, 819_200);
    run
}

#[test]
fn the_switch_counts_the_cells_of_the_datagrams_that_were_sent() {
    let run = transfer(&[]);
    let sent = cells(&run);
    // 100 segments of 8192 octets, each with 20 + 20 octets of headers: 172 cells; the rest are short segments.
    assert!(sent > 100 * 172);
    assert_eq!(count(&run, "exchange", "cells_in"), sent);
    assert_eq!(count(&run, "exchange", "cells_out"), sent);
    for (host, back) in [("sender", "receiver"), ("receiver", "sender")] {
        let out = count(&run, &format!("{host}.atm0 SAR"), "cells_out");
        assert_eq!(count(&run, &format!("{back}.atm0 SAR"), "cells_in"), out);
    }
}

#[test]
fn the_switch_counts_what_it_drops() {
    // It sends on at 40 Mb/s what comes at 150, and can hold three PDUs.
    let run = transfer(&[
        "link.two.medium=ds3-plcp",
        "switch.exchange.queue_cells=512",
        "host.sender.tcp.congestion=newreno",
        "host.receiver.tcp.congestion=newreno",
    ]);
    let (sent, lost) = (cells(&run), count(&run, "exchange", "overflow"));
    assert!(lost > 0);
    assert_eq!(count(&run, "exchange", "cells_in"), sent);
    assert_eq!(count(&run, "exchange", "cells_out"), sent - lost);
    assert!(count(&run, "sender.tcp", "retransmissions") > 0);
}

#[test]
fn cells_lost_on_a_line_are_missing_at_the_switch() {
    let impair = "link.one.impair={ loss = 0.0005 }";
    let run = transfer(&[impair]);
    let lost = count(&run, "one to exchange.0", "a_lost");
    assert!(lost > 0);
    assert_eq!(count(&run, "exchange", "cells_in"), cells(&run) - lost);
}

#[test]
fn the_size_of_a_batch_decides_nothing_where_each_segment_is_acknowledged() {
    // Settling decides when to acknowledge and to announce the window. Here every segment is acknowledged as it comes,
    // so there is nothing left to decide.
    let set = [
        "board=zero",
        "window=64 KiB",
        "host.sender.tcp.ack={ every = 1, count_small = true }",
        "host.receiver.tcp.ack={ every = 1, count_small = true }",
        "run.warm_up=0 s",
        "run.duration=300 ms",
    ];
    let point = point(&scenario("paper2-fig6"), &set);
    let [one, some, many] = [1, 4, 64].map(|batch| {
        let text = format!(
            r#"
            title = "no CPU cost"
            about = "As zero, but for the size of batches."
            [cpu.cpu]
            switch = {{ value = "0 us", from = "assumed: free" }}
            [task.all]
            nodes = ["bench", "tcp", "ip", "llc_snap"]
            batch = {batch}
            from = "assumed: as zero"
            "#
        );
        let mut profiles = profiles(&point);
        let profile = profile::parse_text("batch.toml", &text);
        profiles.insert("zero".to_owned(), profile.unwrap_or_else(|fault| panic!("{fault}")));
        let run = run_point(&point, &profiles, 1, &CAPTURED);
        all(&run)
    });
    assert!(one.1.lines().count() > 1000);
    assert!(one == some);
    assert!(one == many);
}

const LINE: &str = r#"
title = "A line on which things go wrong"

[define]
loss = 0.0
duplicate = 0.0
reorder = 0.0
corrupt = 0.0
sessions = 3
stack = "modern"

[host.a]
graph = ["bench", "tcp", "ip", "line"]
tcp = { defaults = "${stack}" }
ip = { address = "10.0.0.1/24" }

[host.b]
like = "a"
ip = { address = "10.0.0.2/24" }

[link.line]
ends = ["a.line", "b.line"]
medium = "point-to-point"
rate = "10 Mb/s"
propagation = "2 ms"
impair = { loss = "${loss}", duplicate = "${duplicate}", reorder = "${reorder}", reorder_by = "5 ms", corrupt = "${corrupt}", jitter = "100 us" }

[run]
duration = "600 s"

[load.bulk]
kind = "ttcp"
from = "a.bench"
to = "b.bench"
message = "5000 B"
count = 200
sessions = "${sessions}"
pattern = "random"
"#;

#[test]
fn content_arrives_whole_whatever_happens_to_it() {
    let document = parse(LINE);
    let cases: [&[&str]; 6] = [
        &[],
        &["loss=0.01"],
        &["duplicate=0.02"],
        &["reorder=0.02"],
        &["corrupt=0.02"],
        &["loss=0.01", "duplicate=0.01", "reorder=0.01", "corrupt=0.01"],
    ];
    for stack in ["modern", "bsd43", "solaris23"] {
        for set in cases {
            let stack = format!("stack={stack}");
            let set: Vec<&str> = set.iter().copied().chain([stack.as_str()]).collect();
            let run = run(&document, &set, 3, &Options::default());
            assert_eq!(run.measured.total.wrong, None, "{set:?}");
            for session in &run.measured.total.flows {
                assert_eq!((session.octets, session.aborted.clone()), (1_000_000, None), "{set:?}");
            }
            assert_eq!(run.measured.total.flows.len(), 3);
            let happened = |name| count(&run, "line to a.line", name) + count(&run, "line to b.line", name);
            for (key, name) in
                [("loss", "a_lost"), ("duplicate", "a_duplicated"), ("reorder", "a_held"), ("corrupt", "a_corrupted")]
            {
                let wanted = set.iter().any(|text| text.starts_with(key));
                assert_eq!(happened(name) > 0, wanted, "{set:?} {name}");
            }
        }
    }
}

#[test]
fn a_trace_agrees_with_what_was_counted() {
    let options = Options { traces: true, ..Options::default() };
    for stack in ["modern", "bsd43"] {
        let stack = format!("stack={stack}");
        let run = run(&parse(LINE), &["loss=0.01", &stack], 3, &options);
        let mut again = 0;
        for connection in &run.traces {
            let rows = connection.rows();
            assert!(rows.is_sorted_by_key(|row| row.at_ns));
            assert_eq!((rows[0].event, rows[0].snd_una), ("established", 0));
            assert!(rows.iter().all(|row| row.snd_una <= row.snd_nxt));
            again += rows.iter().filter(|row| row.event == "retransmitted").count() as u64;
            let last = rows.last().unwrap();
            // A FIN counts as an octet. The run ends when the FIN of the side that reads has come, acknowledged or not.
            let (sent, received) = if connection.host == "a" { (1_000_001, 1) } else { (1, 1_000_001) };
            let name = format!("{stack} {}", connection.name());
            assert_eq!((last.snd_nxt, last.rcv_nxt), (sent, received), "{name}");
            if connection.host == "a" {
                assert_eq!(last.snd_una, sent, "{name}");
            }
            if connection.host == "a" && stack == "stack=modern" {
                // Twice the propagation, and more.
                assert!(last.srtt_ns.is_some_and(|srtt| srtt > 4_000_000));
            }
            for figure in [connection.window_figure(), connection.sequence_figure()] {
                assert!(figure.to_svg().contains("</svg>"));
            }
            assert!(connection.to_xpl().ends_with("go\n"));
        }
        let counted = count(&run, "a.tcp", "retransmissions") + count(&run, "b.tcp", "retransmissions");
        assert!(again > 0);
        assert_eq!(again, counted, "{stack}");
        let lines = trace::to_jsonl(&run.traces).unwrap().lines().count();
        assert_eq!(lines, trace::to_csv(&run.traces).unwrap().lines().count() - 1);
    }
}

#[test]
fn a_capture_says_which_frames_were_dropped_and_why() {
    let options = Options { captures: Layers::Device, ..Options::default() };
    let run = run(&parse(LINE), &["corrupt=0.02"], 3, &options);
    let fields = ["frame.comment", "ip.checksum.status", "tcp.checksum.status"];
    let Some(rows) = crate::arrange::tshark("dropped", &octets(&run), &fields) else {
        return;
    };
    let dropped: Vec<_> = rows.iter().filter(|row| !row[0].is_empty()).collect();
    let bad = count(&run, "a.tcp", "bad_checksums") + count(&run, "b.tcp", "bad_checksums");
    let of = |comment: &str| dropped.iter().filter(|row| row[0] == comment).count() as u64;
    assert!(bad > 0);
    assert_eq!(of("dropped: bad checksum"), bad);
    for row in &rows {
        if row[0] == "dropped: bad checksum" {
            assert_eq!(row[1..], ["1", "0"], "{row:?}");
        } else if row[0].is_empty() {
            assert_eq!(row[1..], ["1", "1"], "{row:?}");
        }
    }
}

#[test]
fn wrong_impairments_are_faults_with_their_place() {
    for (set, expected) in [
        ("link.line.impair={ reorder = 0.1 }", "beside `reorder`"),
        ("link.line.impair={ delay = \"2 furlongs\" }", "link.line.impair.delay"),
    ] {
        let choice = kumiki_lab::scenario::Choice { set: vec![set.to_owned()], quick: false, runs: None };
        let fault = match parse(LINE).points(&choice) {
            Err(fault) => fault.to_string(),
            Ok(points) => {
                let profiles = profiles(&points[0]);
                let built =
                    kumiki_lab::experiment::Experiment::build(&points[0].scenario, &profiles, 1, &Options::default());
                points[0].locate(built.err().unwrap()).to_string()
            }
        };
        assert!(fault.contains(expected), "{fault}");
    }
}

/// Slow start into a queue of 6000 frames leaves holes in a window of 24 MiB by the thousand. What was lost is lost
/// once: the receiver has offered the window, and keeps what comes of it. The overshoot is over after the first
/// seconds.
#[test]
fn a_long_fat_pipe_loses_nothing_at_its_receiver() {
    let text = r#"
        title = "long fat pipe"
        host.a = { graph = ["n", "tcp", "ip", "p0"], ip = { address = "10.0.0.1/24" } }
        host.b = { like = "a", ip = { address = "10.0.0.2/24" } }
        link.line = { ends = ["a.p0", "b.p0"], medium = "point-to-point", rate = "1 Gb/s", propagation = "40 ms", queue_frames = 6000 }
        run = { duration = "1 s", warm_up = "1 s" }
        load.bulk = { kind = "netperf", from = "a.n", to = "b.n", message = "64 KiB", socket_buffer = "24 MiB" }
    "#;
    for buffer in ["24 MiB", "32 MiB"] {
        let set = format!("load.bulk.socket_buffer={buffer}");
        let run = run(&parse(text), &[&set], 1, &Options::default());
        let count = |name: &str| -> u64 {
            let all = run.measured.counters.values().flatten();
            all.filter(|(known, _)| known.contains(name)).map(|(_, count)| count).sum()
        };
        let lost = count("a_drops");
        assert!(lost > 1024, "{buffer}: the queue overflowed {lost} times");
        assert_eq!(count("reassembly queue full"), 0, "{buffer}");
        assert_eq!(run.measured.total.wrong, None);
    }
}

/// Four sessions, of which two have opened before the end.
#[test]
fn who_got_nothing_counts_for_fairness() {
    let text = r#"
title = "Late ones"
host.a = { graph = ["netperf", "tcp", "ip", "p2p0"], ip = { address = "10.0.0.1/24" } }
host.b = { like = "a", ip = { address = "10.0.0.2/24" } }
link.line = { ends = ["a.p2p0", "b.p2p0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms" }
run = { warm_up = "1 s", duration = "4 s" }
load.bulk = { kind = "netperf", from = "a.netperf", to = "b.netperf", message = "8 KiB", sessions = 4, stagger = "3 s" }
"#;
    let measured = run(&parse(text), &[], 1, &Options::default()).measured;
    let flows = &measured.total.flows;
    assert_eq!((flows.len(), flows.iter().filter(|it| it.octets > 0).count()), (4, 2));
    let octets: Vec<f64> = flows.iter().map(|it| it.octets as f64).collect();
    let (sum, squares) = (octets.iter().sum::<f64>(), octets.iter().map(|x| x * x).sum::<f64>());
    assert!((measured.total.jain.unwrap() - sum * sum / (4.0 * squares)).abs() < 1e-9, "{:?}", measured.total.jain);
    assert!(measured.total.jain.unwrap() < 0.5);
}

/// Rates of loads that share a line add up to no more than it carries only where all are over the same time.
#[test]
fn loads_beside_each_other_are_measured_over_the_same_time() {
    let set = ["beside=cubic", "queue=67", "run.warm_up=1 s", "run.duration=2 s"];
    let measured = run(&scenario("beside-tcp"), &set, 1, &Options::default()).measured;
    let times: Vec<f64> = measured.loads.values().map(|it| it.time.as_secs_f64()).collect();
    assert_eq!(times, [2.0, 2.0]);
}

/// The runs behind an interval are independent only where what one line loses with one seed is not what another line
/// loses with the next.
#[test]
fn lines_whose_names_differ_in_a_letter_lose_other_packets_in_every_run() {
    let text = |line: &str| {
        format!(
            r#"
title = "One line"
host.x = {{ graph = ["app", "udp", "ip", "l0"], ip = {{ address = "10.0.0.1/24" }} }}
host.y = {{ like = "x", ip = {{ address = "10.0.0.2/24" }} }}
link.{line} = {{ ends = ["x.l0", "y.l0"], medium = "point-to-point", rate = "100 Mb/s", impair = {{ toward = "y.l0", loss = 0.1 }} }}
run = {{ duration = "1 s" }}
load.datagrams = {{ kind = "udp", from = "x.app", to = "y.app", message = "1000 B", rate = "50 Mb/s", count = 2000 }}
"#
        )
    };
    let received = |line: &str, seed| {
        let measured = run(&parse(&text(line)), &[], seed, &Options::default()).measured;
        (measured.total.units.unwrap().received, measured.total.units.unwrap().lost)
    };
    let mut seen = std::collections::BTreeMap::new();
    for line in ["a", "b", "c", "a0"] {
        for seed in 0..4 {
            *seen.entry(received(line, seed)).or_insert(0) += 1;
        }
    }
    // Of 16 counts around 1800 with a deviation of 13 some are equal by chance, and never so many.
    assert!(seen.values().all(|&times| times <= 3), "{seen:?}");
}

/// Three sessions of a load and one of another, to hosts whose names come first.
#[test]
fn the_ends_that_write_are_the_first_of_the_traces_in_the_order_of_the_flows() {
    let text = r#"
title = "Who writes?"
host.z = { graph = { late = ["tcp"], bulk = ["tcp"], tcp = ["ip"], ip = ["l0"] }, ip = { address = "10.0.0.1/24" } }
host.a = { like = "z", ip = { address = "10.0.0.2/24" } }
link.line = { ends = ["z.l0", "a.l0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms" }
run = { duration = "200 ms" }
load.some = { kind = "netperf", from = "z.late", to = "a.late", message = "8 KiB", sessions = 3, port = 6000 }
load.bulk = { kind = "netperf", from = "z.bulk", to = "a.bulk", message = "8 KiB", port = 5000 }
"#;
    let options = Options { traces: true, ..Options::default() };
    let run = run(&parse(text), &[], 1, &options);
    let ends: Vec<(&str, u16)> = run.traces.iter().map(|it| (it.host.as_str(), it.remote.port())).collect();
    assert_eq!(ends[..4], [("z", 6000), ("z", 6000), ("z", 6000), ("z", 5000)], "{ends:?}");
    assert_eq!(ends[4..].iter().map(|(host, _)| *host).collect::<Vec<_>>(), ["a"; 4]);
    let locals: Vec<u16> = run.traces[..3].iter().map(|it| it.local.port()).collect();
    assert!(locals.is_sorted(), "{locals:?}");
}
