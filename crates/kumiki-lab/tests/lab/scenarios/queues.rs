//! Active queue management: CoDel, FQ-CoDel and PIE on lines that TCP fills.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "what fails here fails the test")]

use std::sync::Arc;

use kumiki_lab::progress::Progress;
use kumiki_lab::reproduce::{self, Judgement, Plan};
use kumiki_lab::rows::Row;

use super::*;

fn choice(set: &[&str]) -> Choice {
    Choice { set: set.iter().map(|it| (*it).to_owned()).collect(), quick: false, runs: None }
}

/// The row of all loads together of the one point of `bufferbloat` with these settings.
fn total(set: &[&str]) -> Row {
    let points = points("bufferbloat", set).unwrap_or_else(|fault| panic!("{fault}"));
    Laboratory::default().run(&points[0]).unwrap().rows.into_iter().next().unwrap()
}

fn counter(row: &Row, name: &str) -> u64 {
    *row.counters["line"].get(name).unwrap_or_else(|| panic!("{name}: {:?}", row.counters["line"].keys()))
}

/// What RFCs 8289, 8290 and 8033 promise is in the scenario.
#[test]
fn each_discipline_keeps_its_promise_where_a_long_queue_does_not() {
    let document = Document::find("bufferbloat").unwrap();
    let laboratory = Laboratory::default();
    let plan = Plan::new(&[document], &choice(&[]), &laboratory).unwrap();
    let options = reproduce::Options::default();
    let results = plan.run(&Arc::new(laboratory), options, &mut Progress::hidden()).unwrap();
    let mut verdicts = results[0].verdicts(&results);
    assert_eq!(verdicts.len(), 6);
    verdicts.retain(|it| it.verdict != Judgement::Holds);
    assert_eq!(verdicts, []);
    // What a discipline counts is among the counters, and what it does not is not.
    let mut rows = results[0].rows().filter(|row| row.scope == Scope::Total);
    let [tail, codel, fq, pie] = [(); 4].map(|()| rows.next().unwrap());
    assert!(counter(tail, "a_drops") > 0 && !tail.counters["line"].contains_key("a_overlimit"));
    for row in [codel, fq, pie] {
        assert!(counter(row, "a_drops") > 0, "{row:?}");
        assert_eq!((counter(row, "a_overlimit"), counter(row, "a_marks")), (0, 0));
    }
    // A packet of the call each 20 ms and a ping each 100 ms, for 60 s: theirs are new flows time and again. TCP's is
    // one where its queue has run empty, and then has two frames.
    let (new, sparse) = (counter(fq, "a_new_flows"), counter(fq, "a_sparse_frames"));
    assert!(new >= 3590 && (new - 5..=2 * new).contains(&sparse), "{new} {sparse}");
    assert!(!codel.counters["line"].contains_key("a_sparse_frames"));
}

/// RFC 8289 section 3.2: the standing queue, which is the shortest that there was within an interval.
#[test]
fn a_standing_queue_is_gone_with_codel() {
    let set = ["run.duration=20 s", "run.warm_up=10 s"];
    let mean = |queue: &str| total(&[&set[..], &[&format!("queue={queue}")]].concat()).queues["line.a"]["mean"];
    // Room for 1000 frames of 1.2 ms; 5 ms are 4 of them.
    let (tail, codel) = (mean("drop-tail"), mean("codel"));
    assert!(tail > 600.0, "{tail}");
    assert!(codel < 20.0, "{codel}");
}

#[test]
fn where_both_ends_have_ecn_managed_queues_mark_and_nothing_is_sent_again() {
    for queue in ["codel", "fq-codel"] {
        // Slow start is over when it is measured. Those of the call and of the ping may not be marked.
        let set = ["run.duration=20 s", "host.a.tcp.ecn=classic", &format!("queue={queue}")];
        let row = total(&set);
        assert_eq!(row.counters["a.tcp"]["retransmissions"], 0, "{queue}");
        assert!(counter(&row, "a_marks") > 10, "{queue}");
        assert!(row.goodput_mbps > 8.5, "{queue}: {}", row.goodput_mbps);
        // Where marks are not wanted the sender's wish is nothing.
        let row = total(&[&set[..], &["link.line.aqm={ecn=false}"]].concat());
        assert!(counter(&row, "a_drops") > 10 && counter(&row, "a_marks") == 0, "{queue}");
    }
}

#[test]
fn a_seed_fixes_what_chance_and_hashes_do() {
    for queue in ["fq-codel", "pie"] {
        let set = ["run.duration=5 s", "run.warm_up=5 s", &format!("queue={queue}")];
        assert_eq!(format!("{:?}", total(&set)), format!("{:?}", total(&set)), "{queue}");
    }
}

/// Four senders whose round trips are 12, 32, 52 and 72 ms share 20 Mb/s.
fn four(queue: &str) -> Measured {
    let text = format!(
        r#"
title = "Four round trips"
host.a = {{ count = 4, graph = ["tcp", "ip", "l0"] }}
host.b = {{ like = "a", count = 4 }}
host.left = {{ graph = {{ ip = ["l0", "l1", "l2", "l3", "out"] }}, ip.forwarding = true }}
host.right.like = "left"
link.in0 = {{ ends = ["a0.l0", "left.l0"], medium = "point-to-point", rate = "1 Gb/s", propagation = "1 ms" }}
link.in1 = {{ ends = ["a1.l0", "left.l1"], medium = "point-to-point", rate = "1 Gb/s", propagation = "11 ms" }}
link.in2 = {{ ends = ["a2.l0", "left.l2"], medium = "point-to-point", rate = "1 Gb/s", propagation = "21 ms" }}
link.in3 = {{ ends = ["a3.l0", "left.l3"], medium = "point-to-point", rate = "1 Gb/s", propagation = "31 ms" }}
link.out = {{ count = 4, ends = ["right.l${{i}}", "b${{i}}"], medium = "point-to-point", rate = "1 Gb/s" }}
link.mid = {{ ends = ["left.out", "right.out"], medium = "point-to-point", rate = "20 Mb/s", propagation = "5 ms", queue_frames = 400, queue = "{queue}" }}
load.bulk = {{ kind = "netperf", from = "a*", to = "b*", message = "8 KiB", socket_buffer = "2 MiB" }}
run = {{ warm_up = "10 s", duration = "40 s" }}
"#
    );
    let document = Document::parse("four", "four.toml", &text).unwrap();
    let point = document.points(&choice(&[])).unwrap_or_else(|fault| panic!("{fault}")).remove(0);
    build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured
}

/// RFC 8290: what a queue of its own for each flow is for.
#[test]
fn flows_with_other_round_trips_have_equal_shares_with_fq_codel() {
    let (fq, one) = (four("fq-codel"), four("codel"));
    let jain = |measured: &Measured| measured.total.jain.unwrap();
    assert!(jain(&fq) > 0.99, "{} {:?}", jain(&fq), fq.total.flows);
    // In one queue the shorter round trip has more.
    assert!(jain(&one) < jain(&fq), "{}", jain(&one));
    let full = 20.0 * 1448.0 / 1500.0;
    assert!(fq.total.goodput_mbps > 0.97 * full, "{}", fq.total.goodput_mbps);
}
