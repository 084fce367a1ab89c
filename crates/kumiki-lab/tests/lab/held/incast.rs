//! What holds many transfers at once, and short ones of which a part was lost.

use kumiki_inet::tcp::Limit;
use kumiki_lab::experiment::{Measured, Options};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;

use crate::arrange::{self, parse, run};

fn measured_incast(senders: u32, queue: u32) -> Measured {
    measured_incast_of("256 KiB", senders, queue)
}

fn measured_incast_of(message: &str, senders: u32, queue: u32) -> Measured {
    let set = [
        format!("senders={senders}"),
        format!("switch.tor.queue_frames={queue}"),
        format!("load.answers.message={message}"),
    ];
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    run(&arrange::scenario("incast"), &set, 1, &Options::default()).measured
}

/// What bound the only load of an incast, what held it, and what while its line was idle.
fn incast(senders: u32, queue: u32) -> (&'static str, Limit, Vec<(Limit, f64)>) {
    let measured = measured_incast(senders, queue);
    let [load] = measured.loads.values().collect::<Vec<_>>()[..] else { panic!("one load") };
    assert_eq!(measured.bound(&measured.total, None, Some(949.0)), measured.bound(load, None, Some(949.0)));
    let bound = measured.bound(load, None, Some(949.0)).name();
    let held = load.held().first().map(|(limit, _)| *limit).unwrap();
    (bound, held, load.held_while_idle().unwrap_or_default())
}

/// Two of 24 wait for their timers for 140 ms in which nothing is on the line; the others were held by losses for 60 ms
/// in which it was full.
#[test]
fn an_incast_that_waits_for_the_timers_of_a_few_is_bound_by_them() {
    let (bound, held, idle) = incast(24, 136);
    assert_eq!((bound, held), ("retransmission time-out", Limit::Loss));
    assert!(idle[0].0 == Limit::Timeout && idle[0].1 > 0.9, "{idle:?}");
    // Some have only their last octets to send again, after 200 ms of which a probe is the end: it is no wait for the
    // close.
    let all = measured_incast(16, 64);
    let share =
        |held: &[(Limit, f64)], limit| held.iter().find(|(it, _)| *it == limit).map_or(0.0, |(_, share)| *share);
    let held: Vec<_> = all.loads["answers"].flows.iter().map(kumiki_lab::experiment::Flow::held).collect();
    let late: Vec<_> = held.iter().filter(|held| share(held, Limit::Timeout) > 0.9).collect();
    assert!(!late.is_empty() && late.iter().all(|held| share(held, Limit::Closing) < 0.01), "{held:?}");
    // With room for all of them nothing is lost, and the line is full to the end.
    let (bound, ..) = incast(24, 10000);
    assert_eq!(bound, "link");
}

/// For how long `limit` held each flow of `load` that was measured over a time of its own, in seconds.
fn seconds(measured: &Measured, load: &str, limit: Limit) -> Vec<f64> {
    let of = |flow: &kumiki_lab::experiment::Flow| {
        let share = flow.held().into_iter().find(|(it, _)| *it == limit).map_or(0.0, |(_, share)| share);
        share * flow.time.as_secs_f64()
    };
    measured.loads.get(load).unwrap().flows.iter().map(of).collect()
}

/// Transfers of one segment, of which some lose that, some their end, and some both.
const TAILS: &str = r#"
title = "Lost tails"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms", impair = { toward = "b", loss = "15 %" } }
load.tail = { kind = "ttcp", from = "a", to = "b", message = "1000 B", count = 1, sessions = 40, stagger = "2 s" }
run = { duration = "100 s" }
"#;

#[test]
fn the_wait_for_a_lost_tail_is_never_one_for_the_close() {
    // Where the end of a transfer arrives, and what was before it does not, its SACK block tells so, and nobody waits
    // for a timer. Where the end alone is lost, the acknowledgment of the rest is kept back for 40 ms, and only then
    // begins the wait. Where both are lost, it begins at once.
    let measured = run(&parse(TAILS), &[], 1, &Options::default()).measured;
    let [closing, timeout] = [Limit::Closing, Limit::Timeout].map(|limit| seconds(&measured, "tail", limit));
    assert!(timeout.iter().filter(|seconds| **seconds > 0.15).count() > 5, "{timeout:?}");
    assert!(closing.iter().all(|seconds| *seconds < 0.06), "{closing:?}");
}

/// Where the shortest round trip has a queue in it the answer to a probe comes in less than a part of that.
#[test]
fn the_answer_to_a_probe_may_come_sooner_than_any_before() {
    let measured = measured_incast_of("64 KiB", 40, 16);
    let [closing, timeout] = [Limit::Closing, Limit::Timeout].map(|limit| seconds(&measured, "answers", limit));
    assert!(timeout.iter().filter(|seconds| **seconds > 0.15).count() > 1, "{timeout:?}");
    assert!(closing.iter().all(|seconds| *seconds < 0.06), "{closing:?}");
}

#[test]
fn a_transfer_whose_calls_were_lost_is_bound_by_its_opening() {
    let text = TAILS.replace(
        "impair = { toward = \"b\", loss = \"15 %\" }",
        "schedule = [{ at = \"0 s\", up = false }, { at = \"${up}\", up = true }]",
    );
    let text =
        text.replace("count = 1, sessions = 40, stagger = \"2 s\"", "count = 20") + "define = { up = \"0 s\" }\n";
    let bound = |up: &str| {
        let rows = Laboratory::default().run(&arrange::point(&parse(&text), &[up])).unwrap().rows;
        rows.into_iter().map(|row| row.bound_by).collect::<Vec<_>>()
    };
    assert_eq!(bound("up=3.5 s"), ["opening"; 3]);
    assert!(bound("up=1 us").iter().all(|bound| bound != "opening"));
}

/// All that is idle is what the last octets take to the reader.
#[test]
fn an_incast_that_keeps_its_line_full_is_bound_by_it_however_short_it_is() {
    for senders in [4, 6] {
        let measured = measured_incast_of("64 KiB", senders, 10_000);
        let load = &measured.loads["answers"];
        assert!(load.goodput_mbps > 900.0, "{}", load.goodput_mbps);
        assert_eq!(measured.bound(load, None, Some(949.0)).name(), "link", "{senders}");
    }
}
