//! What holds requests and their answers.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_inet::tcp::Limit;
use kumiki_lab::experiment::{LoadResult, Options, Run};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;

use super::{CALLS, SHARED, share};
use crate::arrange::{self, parse, run};

/// The one that answers writes nearly all there is.
#[test]
fn calls_are_held_by_what_holds_either_end() {
    let calls = |set: &[&str]| run(&parse(CALLS), set, 1, &Options::default());
    let bound = |run: &Run| run.measured.bound(&run.measured.total, None, Some(96.53)).name();
    let small = calls(&[]);
    assert!(share(&small, &[Limit::SendBuffer]) > 0.9, "{:?}", small.measured.total.held());
    assert_eq!(bound(&small), "send buffer");
    let lossy = calls(&["load.get.socket_buffer=4 MiB", "loss=0.01"]);
    assert_eq!(bound(&lossy), "congestion window after a loss");
    let sender = lossy.measured.total.sender().unwrap();
    assert!(sender.retransmissions > 20 && sender.segments_sent > 9_000, "{}", sender.retransmissions);
    // What of an answer is small waits for the acknowledgment that the one that asks keeps back: 10.1, 40 and 10 ms.
    let late = calls(&["load.get.response=1500 B", "link.line.propagation=5 ms"]);
    let held = late.measured.total.held();
    assert_eq!(bound(&late), "coalescing");
    assert!((0.65..0.68).contains(&share(&late, &[Limit::DelayedAcknowledgment])), "{held:?}");
    assert!((0.16..0.18).contains(&share(&late, &[Limit::Coalescing])), "{held:?}");
    // Sent at once it is there in 10 ms, and with an acknowledgment at once in 20.
    let faster = |set: &str| calls(&["load.get.response=1500 B", "link.line.propagation=5 ms", set]);
    let [never, at_once] = ["load.get.coalesce=never", "host.a.tcp.ack.every=1"].map(faster);
    let [late, never, at_once] = [&late, &never, &at_once].map(|run| run.measured.total.goodput_mbps);
    assert!(never > 5.8 * late && (2.5..3.1).contains(&(at_once / late)), "{late} {never} {at_once}");
    // And a pause is the program's, beside a round trip of 20 ms.
    let idle = calls(&["load.get.response=100 B", "load.get.think=100 ms"]);
    let held = idle.measured.total.held();
    assert!((0.83..0.84).contains(&share(&idle, &[Limit::Application])), "{held:?}");
    assert!((0.16..0.17).contains(&share(&idle, &[Limit::RoundTrip])), "{held:?}");
}

/// Calls beside transfers, a file and datagrams.
const ALL_KINDS: &str = r#"
title = "All kinds on one line"
host.a.graph = { tcp = ["ip"], udp = ["ip"], ip = ["l0"], ftam_user = ["ftam"], ftam_keeper = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"] }
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "20 Mb/s", propagation = "10 ms", queue_frames = 60 }
load.short = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", count = 5, start = "1 s" }
load.long = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", count = 500, start = "1.5 s" }
load.file = { kind = "ftam", from = "a.ftam_user", to = "b.ftam_keeper", message = "8000 B", file = "1 MB", start = "2 s" }
load.rpc = { kind = "rpc", from = "a", to = "b", message = "200 B", response = "20 kB", think = "${think}", coalesce = "${coalesce}" }
load.u = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "2 Mb/s" }
run.duration = "8 s"
define = { think = "50 ms", coalesce = "nagle" }
"#;

/// The last piece of each answer waits for an acknowledgment, which is kept back: two shares, each less than that of
/// the pauses, and one wait, which saves more than these if it goes.
#[test]
fn a_wait_of_a_small_segment_for_an_acknowledgment_that_is_kept_back_is_one() {
    let text = parse(ALL_KINDS);
    let measured = |set: &str| run(&text, &[set], 1, &Options::default()).measured;
    let found = measured("think=50 ms");
    let call = &found.loads["rpc"];
    let of =
        |shares: &[(Limit, f64)], limit| shares.iter().find(|(it, _)| *it == limit).map_or(0.0, |(_, share)| *share);
    let [held, causes] = [call.held(), call.causes()];
    let [pauses, late, small] =
        [Limit::Application, Limit::DelayedAcknowledgment, Limit::Coalescing].map(|limit| of(&held, limit));
    assert!(pauses > late && late > small && small > 0.1, "{held:?}");
    // They add up, and so does what else there is.
    assert!((of(&causes, Limit::Coalescing) - late - small).abs() < 1e-9, "{causes:?}");
    assert!((causes.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9, "{causes:?}");
    for flow in [None, call.flows.first()] {
        assert_eq!(found.bound(call, flow, None).name(), "coalescing");
    }
    let [never, unpaused] =
        ["coalesce=never", "think=0 s"].map(|set| measured(set).loads["rpc"].goodput_mbps / call.goodput_mbps);
    assert!(never > unpaused && unpaused > 1.4, "{never} {unpaused}");
    // The table says which shares are one.
    let outcome = Laboratory::default().run(&arrange::point(&text, &[])).unwrap();
    let told = |note: &&String| note.starts_with("rpc: small segments waited for acknowledgments for ");
    assert_eq!(outcome.notes.iter().filter(told).count(), 1, "{:?}", outcome.notes);
}

/// A call that never pauses waits for a round trip, whatever the program could do.
#[test]
fn a_call_without_a_pause_waits_for_a_round_trip() {
    let set = |more: &[&str]| {
        let set = ["load.get.response=1000 B", "load.get.socket_buffer=4 MiB"];
        run(&parse(CALLS), &[&set[..], more].concat(), 1, &Options::default())
    };
    let idle = set(&[]);
    assert!(share(&idle, &[Limit::RoundTrip]) > 0.99, "{:?}", idle.measured.total.held());
    assert_eq!(idle.measured.bound(&idle.measured.total, None, Some(96.53)).name(), "round trip");
    // A pause of as long as the exchange takes is half of the time.
    let pauses = set(&["load.get.think=20.1 ms"]);
    let [own, way] = [Limit::Application, Limit::RoundTrip].map(|limit| share(&pauses, &[limit]));
    assert!((0.49..0.51).contains(&own) && (0.49..0.51).contains(&way), "{:?}", pauses.measured.total.held());
}

/// A connection for each call: a round trip opens it, and another is the call's.
#[test]
fn a_connection_for_each_call_opens_for_a_round_trip() {
    let text = CALLS.replace("coalesce =", "count = 1, sessions = 50, stagger = \"50 ms\", coalesce =");
    let set = ["load.get.response=1000 B", "load.get.socket_buffer=4 MiB", "run.warm_up=0 s"];
    let run = run(&parse(&text), &set, 1, &Options::default());
    let [opening, way] = [Limit::Opening, Limit::RoundTrip].map(|limit| share(&run, &[limit]));
    assert!((opening - way).abs() < 0.01 && opening + way > 0.99, "{:?}", run.measured.total.held());
    let point = arrange::point(&parse(&text), &set);
    let rows = Laboratory::default().run(&point).unwrap().rows;
    let of = |name: &str| (rows[0].completion_ms[name], rows[0].with_opening_ms[name]);
    for (name, exactly) in [("min", true), ("mean", true), ("p50", false), ("p99", false), ("max", true)] {
        let (without, with) = of(name);
        let within = if exactly { 0.001 } else { 0.5 };
        // The SYN and its answer have 56 octets of 100 Mb/s each.
        assert!((with - without - 20.01).abs() < within + 0.01, "{name}: {without} {with}");
    }
    // Of a connection that stays only the first exchange has it.
    let kept = Laboratory::default().run(&arrange::point(&parse(CALLS), &set)).unwrap().rows;
    assert!(kept[0].with_opening_ms["max"] > kept[0].completion_ms["max"] + 19.0);
    assert_eq!(kept[0].with_opening_ms["min"], kept[0].completion_ms["min"]);
}

/// There is no pause behind the last answer: nothing follows it.
#[test]
fn a_call_after_which_none_follows_does_not_pause() {
    let calls = |count: &str, more: &[&str]| {
        let text = CALLS.replace("coalesce =", &format!("{count}, think = \"100 ms\", coalesce ="));
        let set = ["load.get.response=1000 B", "load.get.socket_buffer=4 MiB", "run.warm_up=0 s"];
        run(&parse(&text), &[&set[..], more].concat(), 1, &Options::default())
    };
    let pauses = |run: &Run| share(run, &[Limit::Application]);
    let one = calls("count = 1", &[]);
    assert!(pauses(&one) < 0.001, "{:?}", one.measured.total.held());
    // A round trip of 20 ms opens the connection; of three exchanges of as long there are two pauses between.
    let three = calls("count = 3", &[]);
    assert!((0.71..0.72).contains(&pauses(&three)), "{:?}", three.measured.total.held());
    // What comes back after the `stop` is the last answer, too.
    let stopped = calls("stop = \"30 ms\"", &[]);
    assert!(pauses(&stopped) < 0.001, "{:?}", stopped.measured.total.held());
}

/// Behind a full queue a call waits for that, and not for the way.
#[test]
fn a_call_behind_a_full_queue_waits_for_the_queue() {
    let text =
        SHARED.replace("load.small", "#").replace(r#"response = "10 kB", think = "200 ms""#, r#"response = "1000 B""#);
    let calls = |set: &[&str]| {
        let measured = run(&parse(&text), set, 1, &Options::default()).measured;
        let call = &measured.loads["call"];
        let shares = [Limit::Queue, Limit::RoundTrip]
            .map(|wanted| call.held().iter().find(|(limit, _)| *limit == wanted).map_or(0.0, |(_, share)| *share));
        let mean = call.flows[0].exchanges.as_ref().unwrap().mean_ns().unwrap() / 1e6;
        (measured.bound(call, None, None).name(), shares, mean)
    };
    let (bound, [queue, way], mean) = calls(&["link.line.queue=drop-tail"]);
    assert_eq!(bound, "queue");
    // Its own packets take 20 ms and some 1.2 ms of 10 Mb/s.
    assert!((queue - (1.0 - 21.2 / mean)).abs() < 0.03 && queue > 0.5, "{queue} of {mean} ms");
    assert!((queue + way - 1.0).abs() < 0.02, "{queue} {way}");
    // It has a queue of its own, and waits for a packet that is on the line.
    let (bound, [queue, way], _) = calls(&[]);
    assert!(bound == "round trip" && queue < 0.1 && way > 0.9, "{bound} {queue} {way}");
}

/// The answers of the one load and the requests of the other share a line and fill it: a faster one is what both wait
/// for, whatever of that is a queue.
#[test]
fn calls_in_opposite_roles_are_bound_by_the_line_that_they_fill() {
    let text = r#"
title = "Calls in opposite roles"
host.a.graph = { one = ["tcp"], two = ["tcp"], tcp = ["ip"], ip = ["l0"] }
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "${propagation}", queue_frames = 1000 }
load.down = { kind = "rpc", from = "a.one", to = "b.one", message = "100 B", response = "${octets}", coalesce = "never", socket_buffer = "4 MiB", sessions = "${sessions}" }
load.up = { kind = "rpc", from = "b.two", to = "a.two", message = "${octets}", response = "100 B", coalesce = "never", socket_buffer = "4 MiB", sessions = "${sessions}" }
define = { propagation = "1 ms", octets = "20 kB", sessions = 1 }
run = { warm_up = "1 s", duration = "5 s" }
"#;
    let bounds = |text: &str, set: &[&str]| {
        let measured = run(&parse(text), set, 1, &Options::default()).measured;
        let of_load =
            |(name, load): (&String, &LoadResult)| (name.clone(), measured.bound(load, None, Some(9.0)).name());
        let flows = measured.loads.values().flat_map(|load| load.flows.iter().map(move |flow| (load, flow)));
        let flows = flows.map(|(load, flow)| measured.bound(load, Some(flow), Some(9.0)).name());
        (measured.loads.iter().map(of_load).collect::<BTreeMap<_, _>>(), flows.collect::<BTreeSet<_>>())
    };
    for set in [&[][..], &["sessions=10"], &["octets=1 kB", "sessions=20"], &["octets=3 kB"], &["propagation=5 ms"]] {
        let (loads, flows) = bounds(text, set);
        assert!(loads.values().all(|bound| *bound == "link"), "{set:?} {loads:?}");
        assert_eq!(flows, ["link"].into(), "{set:?}");
    }
    // With a way of 100 ms the line is mostly empty.
    let (loads, _) = bounds(text, &["propagation=50 ms"]);
    assert!(loads.values().all(|bound| *bound == "round trip"), "{loads:?}");
    // One that asks for little has next to nothing of the line that the others fill, and waits in their queue.
    let small =
        r#"load.small = { kind = "rpc", from = "a.three", to = "b.three", message = "100 B", coalesce = "never" }"#;
    let small = text.replace("define =", &format!("{small}\ndefine =")).replace("two =", "three = [\"tcp\"], two =");
    let (loads, _) = bounds(&small, &["sessions=10"]);
    assert_eq!(loads["small"], "queue", "{loads:?}");
}
