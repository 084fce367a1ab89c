//! What held a connection back, where theory says what it must be.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

use kumiki_inet::tcp::Limit;
use kumiki_lab::experiment::{Measured, Options, Run};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;

mod arrange;

use arrange::{parse, run};

/// A line of 1 Gb/s and 10 ms each way: 2.5 MB fill it.
const LINE: &str = r#"
title = "What holds it?"
host.a = { graph = ["netperf", "tcp", "ip", "p2p0"], ip = { address = "10.0.0.1/24" }, tcp = { send_buffer = "8 MiB", receive_buffer = "8 MiB" } }
host.b = { like = "a", ip = { address = "10.0.0.2/24" } }
link.line = { ends = ["a.p2p0", "b.p2p0"], medium = "point-to-point", rate = "1 Gb/s", propagation = "10 ms", queue_frames = 10000, impair = { toward = "b.p2p0", loss = "${loss}" } }
run = { warm_up = "500 ms", duration = "2 s" }
load.bulk = { kind = "netperf", from = "a.netperf", to = "b.netperf", message = "8 KiB" }
define = { loss = 0.0 }
"#;

fn with(set: &[&str]) -> Run {
    run(&parse(LINE), set, 1, &Options::default())
}

/// The share of the time for which `limit` held it.
fn share(run: &Run, limits: &[Limit]) -> f64 {
    let held = &run.measured.total.held();
    let whole: f64 = held.iter().map(|(_, share)| share).sum();
    assert!((whole - 1.0).abs() < 1e-9, "{held:?}");
    held.iter().filter(|(limit, _)| limits.contains(limit)).map(|(_, share)| share).sum()
}

#[test]
fn a_small_receive_buffer_is_the_window() {
    let run = with(&["host.b.tcp.receive_buffer=64 KiB", "host.b.tcp.max_receive_buffer=64 KiB"]);
    // 65,536 octets in 20 ms.
    let expected = 65_536.0 * 8.0 / 20e3;
    assert!((0.93..1.0).contains(&(run.measured.total.goodput_mbps / expected)), "{}", run.measured.total.goodput_mbps);
    assert!(share(&run, &[Limit::ReceiveWindow]) > 0.99, "{:?}", run.measured.total.held());
    assert_eq!(run.measured.bound(&run.measured.total, None, Some(980.0)).name(), "receive window");
}

#[test]
fn a_small_send_buffer_is_the_send_buffer() {
    let run = with(&["host.a.tcp.send_buffer=64 KiB"]);
    assert!(share(&run, &[Limit::SendBuffer]) > 0.99, "{:?}", run.measured.total.held());
}

/// A buffer of one segment and a half: Nagle keeps the half until the segment is acknowledged, and the peer waits 40 ms for a second one (Linux's
/// delay). A round trip takes 20 ms.
#[test]
fn an_acknowledgment_that_the_peer_keeps_back_is_the_peers() {
    let small = [
        "host.a.tcp.send_buffer=2000 B",
        "host.a.tcp.max_send_buffer=2000 B",
        "host.a.tcp.coalesce=nagle",
        "host.b.tcp.delayed_ack=40 ms",
    ];
    let late = with(&small);
    let share_of_it = share(&late, &[Limit::DelayedAcknowledgment]);
    assert!((0.64..0.68).contains(&share_of_it), "{:?}", late.measured.total.held());
    let bound = |run: &Run| run.measured.bound(&run.measured.total, None, Some(980.0)).name();
    assert_eq!(bound(&late), "delayed acknowledgment at the peer");
    // A receiver that keeps nothing back is blamed for nothing.
    let at_once = with(&[small.as_slice(), &["host.b.tcp.ack.every=1", "host.b.tcp.ack.count_small=true"]].concat());
    assert_eq!(share(&at_once, &[Limit::DelayedAcknowledgment]), 0.0);
    assert!(share(&at_once, &[Limit::SendBuffer, Limit::Coalescing]) > 0.99, "{:?}", at_once.measured.total.held());
    let never = with(&[small[0], small[1], small[3], "host.a.tcp.coalesce=never"]);
    let [late, at_once, never] = [&late, &at_once, &never].map(|run| run.measured.total.goodput_mbps);
    // Sent at once the half fills the buffer all the same until the acknowledgment comes.
    assert!(at_once > 1.4 * never && never > 1.4 * late, "{late} {at_once} {never}");
    // Nor is one in a long transfer, whatever its window.
    for bulk in [
        ["host.b.tcp.receive_buffer=64 KiB", "host.b.tcp.max_receive_buffer=64 KiB"],
        ["loss=0.001", "run.duration=4 s"],
    ] {
        assert!(share(&with(&bulk), &[Limit::DelayedAcknowledgment]) < 0.01);
    }
}

/// A buffer has room for two messages. The second waits for the acknowledgment of the first, and then the program for that of the second: without coalescing both
/// would take one round trip, so half of the time is lost to it.
#[test]
fn what_lies_in_a_full_buffer_and_is_not_sent_for_want_of_size_is_coalescing() {
    let set = |rule, buffer, message| {
        let rule = format!("host.a.tcp.coalesce={rule}");
        let [send, most] = ["send_buffer", "max_send_buffer"].map(|key| format!("host.a.tcp.{key}={buffer}"));
        let message = format!("load.bulk.message={message}");
        with(&[&rule, &send, &most, &message, "host.b.tcp.ack.every=1", "host.b.tcp.ack.count_small=true"])
    };
    let (kept, never) = (set("nagle", "2000 B", "1000 B"), set("never", "2000 B", "1000 B"));
    let [slow, fast] = [&kept, &never].map(|run| run.measured.total.goodput_mbps);
    assert!((0.49..0.52).contains(&(slow / fast)), "{slow} of {fast}");
    let share_of_it = share(&kept, &[Limit::Coalescing]);
    assert!((0.48..0.52).contains(&share_of_it), "{:?}", kept.measured.total.held());
    assert!(share(&never, &[Limit::SendBuffer]) > 0.99, "{:?}", never.measured.total.held());
    // What a large buffer leaves over costs next to nothing.
    let large = set("nagle", "64 KiB", "8 KiB");
    assert!(share(&large, &[Limit::SendBuffer]) > 0.99, "{:?}", large.measured.total.held());
}

#[test]
fn random_loss_is_loss() {
    let run = with(&["loss=0.01"]);
    // Far below what the buffers and the line allow (Mathis et al.: some 1448 * 8 / 20 ms * 1.22 / 0.1 = 7 Mb/s of Reno).
    assert!(run.measured.total.goodput_mbps < 40.0, "{}", run.measured.total.goodput_mbps);
    assert!(share(&run, &[Limit::Loss, Limit::Timeout]) > 0.9, "{:?}", run.measured.total.held());
}

#[test]
fn a_start_is_slow_start() {
    let run = with(&["run.warm_up=0 s", "run.duration=120 ms"]);
    assert!(share(&run, &[Limit::SlowStart, Limit::Opening]) > 0.9, "{:?}", run.measured.total.held());
}

/// Four flows over two routers, of which the line between them is the slowest.
#[test]
fn the_line_between_two_routers_is_the_line() {
    let text = r#"
title = "A dumbbell"
host.a = { graph = ["n", "tcp", "ip", "l0"], ip = { address = "10.0.0.1/24", routes = { default = "10.0.0.254" } }, tcp = { congestion = "cubic" } }
host.b = { graph = ["n", "tcp", "ip", "l0"], ip = { address = "10.0.2.1/24", routes = { default = "10.0.2.254" } } }
host.r1 = { graph = { ip = ["l0", "l1"] }, ip = { forwarding = true, interface.l0 = { address = "10.0.0.254/24", peer = "10.0.0.1" }, interface.l1 = { address = "10.0.1.1/24", peer = "10.0.1.2" }, routes = { "10.0.2.0/24" = "10.0.1.2" } } }
host.r2 = { graph = { ip = ["l0", "l1"] }, ip = { forwarding = true, interface.l0 = { address = "10.0.1.2/24", peer = "10.0.1.1" }, interface.l1 = { address = "10.0.2.254/24", peer = "10.0.2.1" }, routes = { "10.0.0.0/24" = "10.0.1.1" } } }
link.in = { ends = ["a.l0", "r1.l0"], medium = "point-to-point", rate = "1 Gb/s", propagation = "500 us" }
link.mid = { ends = ["r1.l1", "r2.l0"], medium = "point-to-point", rate = "20 Mb/s", framing = "2 B", propagation = "9 ms", queue_frames = 100 }
link.out = { ends = ["r2.l1", "b.l0"], medium = "point-to-point", rate = "1 Gb/s", propagation = "500 us" }
run = { warm_up = "3 s", duration = "6 s" }
load.bulk = { kind = "netperf", from = "a.n", to = "b.n", message = "8 KiB", socket_buffer = "4 MiB", sessions = 4, jitter = "10 ms" }
"#;
    let measured = run(&parse(text), &[], 1, &Options::default()).measured;
    assert!(measured.total.line > 0.98 && measured.total.line < 1.01, "{}", measured.total.line);
    assert_eq!(measured.bound(&measured.total, None, None).name(), "link");
    // A tenth of it does not fill the line.
    let slow = run(&parse(text), &["load.bulk.socket_buffer=4 KiB"], 1, &Options::default()).measured;
    assert!(slow.total.line < 0.98, "{}", slow.total.line);
    assert_eq!(slow.bound(&slow.total, None, None).name(), "send buffer");
}

/// Two hosts and a line of 10 Mb/s that is down from 5 s on: of 20 s measured from 1 s on, it carries for 4.
const CUT: &str = r#"
title = "A line that dies"
host.a = { graph = ["tcp", "ip", "l0"] }
host.b = { like = "a" }
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms", queue_frames = 50 }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run = { warm_up = "1 s", duration = "20 s" }
event = [{ at = "5 s", link = "line", up = false }]
"#;

#[test]
fn a_line_that_dies_is_measured_over_all_of_the_time() {
    let total = run(&parse(CUT), &[], 1, &Options::default()).measured.total;
    assert_eq!(total.time.as_nanos(), 20_000_000_000);
    assert!((1.92..1.94).contains(&total.goodput_mbps), "{}", total.goodput_mbps);
    // So does one that was down when the measurement began.
    let late = CUT.replace(r#"{ at = "5 s", link = "line", up = false }"#, EARLY);
    let total = run(&parse(&late), &[], 1, &Options::default()).measured.total;
    assert_eq!(total.time.as_nanos(), 20_000_000_000);
    assert!(total.goodput_mbps < 9.4, "{}", total.goodput_mbps);
    // Of a silence that began before, only what was measured counts.
    let silent = CUT.replace("at = \"5 s\"", "at = \"500 ms\"");
    let total = run(&parse(&silent), &[], 1, &Options::default()).measured.total;
    assert_eq!(total.flows[0].longest_gap, total.time);
}

/// What may come is nothing then, and of nothing all has come.
#[test]
fn a_line_that_is_never_there_is_not_full() {
    let silent = CUT.replace("at = \"5 s\"", "at = \"500 ms\"");
    let udp = r#"{ kind = "udp", rate = "4 Mb/s", from = "a", to = "b", message = "1000 B" }"#;
    let units = silent.replace(r#"{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }"#, udp);
    for (text, bound) in [(silent, "retransmission time-out"), (units, "loss")] {
        let measured = run(&parse(&text), &[], 1, &Options::default()).measured;
        assert_eq!(measured.bound(&measured.total, None, Some(0.0)).name(), bound);
    }
}

/// Down from half a second before the measurement on, for a second.
const EARLY: &str = r#"{ at = "500 ms", link = "line", up = false }, { at = "1500 ms", link = "line", up = true }"#;

#[test]
fn datagrams_into_a_dead_line_are_lost() {
    let udp = r#"{ kind = "udp", rate = "4 Mb/s", from = "a", to = "b", message = "1000 B" }"#;
    let text = CUT.replace(r#"{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }"#, udp);
    let total = run(&parse(&text), &[], 1, &Options::default()).measured.total;
    let units = total.units.unwrap();
    // Five or six were under way when the measurement began.
    assert_eq!(units.sent, 10_000);
    assert!((10_005..=10_006).contains(&(units.received + units.lost)), "{units}");
    assert!((7_990..8_010).contains(&units.lost), "{units}");
    assert!((0.79..0.81).contains(&total.goodput_mbps), "{}", total.goodput_mbps);
    // What is under way at the end is not.
    let whole = run(&parse(&text), &["run.duration=3 s"], 1, &Options::default()).measured.total.units.unwrap();
    assert_eq!((whole.sent, whole.lost), (1500, 0));
}

/// Of the time in which a line is not there nobody says that it was not full.
#[test]
fn a_line_is_full_where_it_was_busy_while_it_was_there() {
    let text = CUT.replace("at = \"5 s\"", "at = \"18 s\"");
    let measured = run(&parse(&text), &[], 1, &Options::default()).measured;
    assert!(measured.total.line > 0.99 && measured.total.line < 1.01, "{}", measured.total.line);
    assert_eq!(measured.bound(&measured.total, None, None).name(), "link");
    // Nor of that in which an end has no power, or the rate is nothing.
    for event in [r#"host = "b", up = false"#, r#"link = "line", rate = "0 b/s""#] {
        let text = text.replace(r#"link = "line", up = false"#, event);
        let total = run(&parse(&text), &[], 1, &Options::default()).measured.total;
        assert!(total.line > 0.99 && total.line < 1.01, "{event}: {}", total.line);
    }
    // And what goes into it then does not fill it: 4 of 10 Mb/s are no more for that.
    let udp = r#"{ kind = "udp", rate = "4 Mb/s", from = "a", to = "b", message = "1000 B" }"#;
    let text = CUT.replace(r#"{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }"#, udp);
    let measured = run(&parse(&text), &[], 1, &Options::default()).measured;
    assert!((0.4..0.45).contains(&measured.total.line), "{}", measured.total.line);
    assert_eq!(measured.bound(&measured.total, None, None).name(), "loss");
}

/// The timer expires at 200 ms, 600 ms, ... 12.6 s after the last segment was heard, and then only after the end.
#[test]
fn what_waits_for_the_timer_when_the_run_ends_is_held_by_it() {
    for duration in ["10 s", "12 s", "20 s", "31 s"] {
        let run = run(&parse(CUT), &[&format!("run.duration={duration}")], 1, &Options::default());
        let after = duration.trim_end_matches(" s").parse::<f64>().unwrap() - 4.0;
        let expected = after / (after + 4.0);
        let timer = share(&run, &[Limit::Timeout]);
        assert!((expected - 0.1..=expected).contains(&timer), "{duration}: {timer} of {expected}");
        assert_eq!(run.measured.bound(&run.measured.total, None, Some(9.65)).name(), "retransmission time-out");
    }
}

/// Calls with large answers.
const CALLS: &str = r#"
title = "Calls"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s", propagation = "10 ms", impair = { loss = "${loss}", toward = "a" } }
load.get = { kind = "rpc", from = "a", to = "b", message = "100 B", response = "4 MB", socket_buffer = "16 KiB", coalesce = "nagle" }
run = { warm_up = "1 s", duration = "10 s" }
define.loss = 0.0
"#;

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

/// The last piece of each answer waits for an acknowledgment, which is kept back: two shares, each less than that of the pauses, and one wait, which saves more than these if it goes.
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

/// A transfer, one with a small buffer and a call over one line of 10 Mb/s.
const SHARED: &str = r#"
title = "A full line"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms", queue_frames = 100, queue = "fq-codel" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
load.small = { kind = "netperf", from = "a", to = "b", message = "8 KiB", socket_buffer = "8 KiB" }
load.call = { kind = "rpc", from = "a", to = "b", message = "200 B", response = "10 kB", think = "200 ms" }
run = { warm_up = "5 s", duration = "10 s" }
"#;

/// Whoever crosses a full line is not for that bound by it.
#[test]
fn what_waits_for_something_else_beside_a_full_line_is_not_bound_by_it() {
    let measured = run(&parse(SHARED), &[], 1, &Options::default()).measured;
    let bound = |name: &str| measured.bound(&measured.loads[name], None, None).name();
    assert!(measured.total.line > 0.98, "{}", measured.total.line);
    assert_eq!([bound("bulk"), bound("call")], ["link", "application"]);
    assert_eq!(bound("small"), "send buffer");
    let flow = &measured.loads["small"].flows[0];
    assert_eq!(measured.bound(&measured.loads["small"], Some(flow), None).name(), "send buffer");
    assert_eq!(measured.bound_of_all(|_| None).name(), "link");
    // Two alike wait for the line, and so does a call whose answers take most of it.
    let alike = run(&parse(SHARED), &["load.small.socket_buffer=4 MiB"], 1, &Options::default()).measured;
    assert_eq!(alike.bound(&alike.loads["small"], None, None).name(), "link");
    let set = ["load.get.socket_buffer=4 MiB"];
    let large = run(&parse(CALLS), &set, 1, &Options::default()).measured;
    assert_eq!(large.bound(&large.loads["get"], None, Some(96.53)).name(), "link");
}

/// What left shortly before the end is not lost.
#[test]
fn what_is_under_way_at_the_end_is_not_lost() {
    let with = |load: &str, set: &[&str]| {
        let text = CUT.replace(r#"{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }"#, load);
        let measured = run(&parse(&text), set, 1, &Options::default()).measured;
        (measured.bound(&measured.total, None, None).name(), measured.total)
    };
    let ping = r#"{ kind = "ping", from = "a", to = "b", message = "56 B" }"#;
    let (bound, total) = with(ping, &["run.duration=3 s"]);
    let echoes = total.echoes.unwrap();
    assert_eq!((bound, echoes.sent, echoes.answered, echoes.under_way), ("application", 3, 2, 1));
    let (bound, total) = with(ping, &["run.duration=9 s"]);
    assert_eq!(bound, "loss", "{:?}", total.echoes);
    let udp = r#"{ kind = "udp", rate = "${rate}", from = "a", to = "b", message = "1000 B" }"#;
    let udp = format!("{udp}\ndefine.rate = \"1 Mb/s\"");
    // Two or three of 63: as many as leave in 20 ms.
    let short = ["run.warm_up=0 s", "run.duration=500 ms", "link.line.propagation=20 ms"];
    let (bound, total) = with(&udp, &short);
    let units = total.units.unwrap();
    assert!(units.lost == 0 && units.received * 100 < units.sent * 98, "{units}");
    assert_eq!(bound, "application");
    // What waits in a queue that grows is not under way in this sense.
    let set = ["rate=12 Mb/s", "run.warm_up=0 s", "run.duration=4 s", "link.line.queue_frames=100000"];
    for warm_up in ["0 s", "1 s"] {
        let (bound, total) = with(&udp, &[&set[..], &[&format!("run.warm_up={warm_up}")]].concat());
        assert_eq!((bound, total.units.unwrap().lost), ("link", 0), "{warm_up}");
    }
}

/// What is told of a transfer, a call and a ping together is about something that they have in common.
#[test]
fn values_of_loads_of_unlike_kinds_together_are_not_mixed() {
    let ping = "load.ping = { kind = \"ping\", from = \"a\", to = \"b\", message = \"56 B\", interval = \"50 ms\" }";
    let text = format!("{}\n{ping}", SHARED.replace("load.small", "#"));
    let measured = run(&parse(&text), &[], 1, &Options::default()).measured;
    let (total, bulk) = (&measured.total, &measured.loads["bulk"]);
    assert_eq!(total.jain, None);
    // Round trips are those of the connections, and not of the probe beside them.
    assert!(total.round_trips.is_none() && measured.loads["ping"].round_trips.is_some());
    assert!(total.sender().unwrap().round_trips.len() > bulk.sender().unwrap().round_trips.len());
    // A call that idles says nothing of what nearly all of the octets wait for.
    assert_eq!(total.held()[0].0, bulk.held()[0].0);
    assert!(total.held()[0].1 > 0.9, "{:?}", total.held());
    let rows = Laboratory::default().run(&arrange::point(&parse(&text), &[])).unwrap().rows;
    assert!(rows[0].jain.is_none() && rows[0].completions.is_none() && !rows[0].round_trip_ms.is_empty());
    // Of loads of one kind there is nothing to leave out.
    let alike = run(&parse(&SHARED.replace("load.call", "#")), &[], 1, &Options::default()).measured.total;
    assert!(alike.jain.is_some_and(|jain| jain < 0.99), "{:?}", alike.jain);
}

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

/// Two of 24 wait for their timers for 140 ms in which nothing is on the line; the others were held by losses for 60 ms in which it was full.
#[test]
fn an_incast_that_waits_for_the_timers_of_a_few_is_bound_by_them() {
    let (bound, held, idle) = incast(24, 136);
    assert_eq!((bound, held), ("retransmission time-out", Limit::Loss));
    assert!(idle[0].0 == Limit::Timeout && idle[0].1 > 0.9, "{idle:?}");
    // Some have only their last octets to send again, after 200 ms of which a probe is the end: it is no wait for the close.
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
    // Where the end of a transfer arrives, and what was before it does not, its SACK block tells so, and nobody waits for a timer. Where the end alone is lost, the
    // acknowledgment of the rest is kept back for 40 ms, and only then begins the wait. Where both are lost, it begins at once.
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

/// Nagle keeps back the last and short segment of the file, and the peer the acknowledgment that would let it go: 40 of some 46 ms.
#[test]
fn a_file_over_tcp_is_held_as_what_goes_over_tcp_is() {
    let file = |coalesce: &str, more: &[&str]| {
        let set = [&[coalesce, "delay=40 ms"][..], more].concat();
        let measured = run(&arrange::scenario("ftam-stall"), &set, 1, &Options::default()).measured;
        let held = measured.total.held();
        let of = |limit| held.iter().find(|(it, _)| *it == limit).map_or(0.0, |(_, share)| *share);
        let shares = [Limit::DelayedAcknowledgment, Limit::RoundTrip].map(of);
        assert!((held.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9, "{held:?}");
        assert!(measured.total.sender().is_some_and(|sender| sender.segments_sent > 10));
        (measured.bound(&measured.total, None, Some(96.0)).name(), shares)
    };
    for way in ["way=put", "way=get"] {
        let (bound, [late, _]) = file("coalesce=nagle", &["file=20 kB", way]);
        assert!(bound == "coalescing" && (0.8..0.95).contains(&late), "{way}: {bound} {late}");
        // Without it the file is as fast as request and answer follow each other.
        let (bound, [late, trips]) = file("coalesce=never", &["file=20 kB", way]);
        assert!(bound == "round trip" && late == 0.0 && trips > 0.5, "{way}: {bound} {trips}");
        let (bound, _) = file("coalesce=never", &["file=20 MB", way]);
        assert_eq!(bound, "link", "{way}");
    }
}

/// Where the time is over before the file is closed, though all octets were moved, that is what is told, and not that some are missing. So are the events of the run.
#[test]
fn a_transfer_that_does_not_end_says_what_is_missing_and_what_happened() {
    let event = "run = { duration = \"${time}\" }\nevent = [{ at = \"${down}\", link = \"line\", up = false }]\n";
    let text = include_str!("../../../scenarios/ftam-stall.toml").replace("[run]\nduration = \"60 s\"\n", "");
    let text = format!("define = {{ time = \"60 s\", down = \"50 s\" }}\n{event}{text}");
    let outcome = |time: u64, down: u64, way: &str| {
        let [time, down] = [("time", time), ("down", down)].map(|(key, ms)| format!("{key}={ms} ms"));
        let set = ["coalesce=never", "delay=0 ms", "file=20 kB", way, &time, &down];
        Laboratory::default().run(&arrange::point(&parse(&text), &set)).unwrap()
    };
    let failure = |time: u64, down: u64, way: &str| outcome(time, down, way).failed;
    for way in ["way=put", "way=get"] {
        let told: Vec<String> = (1..30).filter_map(|time| failure(time, 50, way)).collect();
        assert!(told.iter().all(|it| !it.contains("20000 of 20000")), "{told:?}");
        let all = told.iter().filter(|it| it.contains("all 20000 octets were moved, but it was not closed"));
        assert!(all.count() > 0, "{told:?}");
        assert!(told.iter().any(|it| it.contains(": 0 of 20000 octets were moved")), "{told:?}");
    }
    let cut = failure(20, 2, "way=put").unwrap();
    assert!(cut.contains("during the run: ") && cut.contains("line"), "{cut}");
    // What would be right is no longer time, but that line; and the row says how far it came.
    assert!(cut.contains("link.line was down from 0.002 s on; expected") && !cut.contains("`duration`"), "{cut}");
    let row = outcome(500, 4, "way=put").rows.remove(0);
    let told = (row.completions, row.measured_s, row.octets);
    assert!(told.0 == Some(0) && (0.49..0.5).contains(&told.1) && told.2 < 20_000, "{told:?}");
    assert_eq!(row.bound_by, "retransmission time-out");
}

/// A transfer that fails is told of what was missing then, is measured until then, and has nothing to do with what happens while others go on.
#[test]
fn what_happens_after_a_file_has_failed_is_not_why() {
    let text = r#"
title = "Failed"
host.a.graph = { user = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }
host.b.graph = { keeper = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }
host.c.graph = ["ip", "l0"]
host.d.like = "c"
link.line = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.other = { ends = ["c", "d"], medium = "point-to-point", rate = "10 Mb/s" }
load.file = { kind = "ftam", from = "a.user", to = "b.keeper", message = "8000 B", file = "20 MB", way = "put" }
load.echo = { kind = "ping", from = "c", to = "d", message = "56 B", interval = "10 s" }
run.duration = "2000 s"
"#;
    let told = |event: &str| {
        let text = format!(
            "{text}\n[[event]]\nat = \"1 s\"\nlink = \"line\"\n{event}\n[[event]]\nat = \"1500 s\"\nlink = \"line\"\nup = true\nrate = \"10 Mb/s\"\n[[event]]\nat = \"1990 s\"\nhost = \"b\"\nup = false\n"
        );
        Laboratory::default().run(&arrange::point(&parse(&text), &[])).unwrap()
    };
    for (event, why) in [("up = false", "was down"), ("rate = \"0 b/s\"", "had a rate of 0 b/s")] {
        let outcome = told(event);
        let failed = outcome.failed.unwrap();
        let words =
            format!("the peer stopped answering, and link.line {why} from 1 s on; expected that it is up again");
        assert!(failed.contains(&words) && !failed.contains("host.b had no power"), "{failed}");
        let row = outcome.rows.iter().find(|row| row.load.as_deref() == Some("file")).unwrap();
        assert!((100.0..1490.0).contains(&row.measured_s), "{}", row.measured_s);
        let goodput = row.octets as f64 * 8.0 / row.measured_s / 1e6;
        assert!((row.goodput_mbps - goodput).abs() < 1e-9 && row.octets > 500_000, "{goodput} {row:?}");
        assert_eq!(row.bound_by, "aborted");
    }
}

/// A ring is called so, and has no rate that could be given back.
#[test]
fn a_file_whose_ring_is_down_says_so() {
    let station = |name: &str, number: u8, user: &str| {
        format!(
            "[host.{name}]\ngraph = {{ {user} = [\"ftam\"], ftam = [\"acse\"], acse = [\"presentation\"], presentation = [\"session\"], session = [\"tp0\"], tp0 = [\"tpkt\"], tpkt = [\"tcp\"], tcp = [\"ip\"], ip = [\"arp\"], arp = [\"llc\"], llc = [\"fddi\"], fddi = [\"f0\"] }}\nip = {{ address = \"10.0.0.{number}/24\", mtu = \"4352 B\", neighbours = \"below\" }}\narp = {{ addresses = [\"10.0.0.{number}\"] }}\nfddi = {{ address = \"02:00:00:00:00:0{number}\" }}\n"
        )
    };
    let text = format!(
        "title = \"Ring\"\nrun.duration = \"3 s\"\nevent = [{{ at = \"1 s\", ring = \"backbone\", up = false }}]\n{}{}[ring.backbone]\nends = [\"a.f0\", \"b.f0\"]\nmedium = \"fddi\"\n[load.file]\nkind = \"ftam\"\nfrom = \"a.user\"\nto = \"b.keeper\"\nmessage = \"8000 B\"\nfile = \"200 MB\"\nway = \"put\"\n",
        station("a", 1, "user"),
        station("b", 2, "keeper")
    );
    let failed = Laboratory::default().run(&arrange::point(&parse(&text), &[])).unwrap().failed.unwrap();
    let words =
        "octets were moved: ring.backbone was down from 1 s on; expected that it is up again while there is time";
    assert!(failed.contains(words) && !failed.contains("link."), "{failed}");
}

/// A host that has lost its power does not get it back: more time would not help.
#[test]
fn a_file_whose_host_has_no_power_says_so() {
    let event = "[[event]]\nat = \"${off}\"\nhost = \"receiver\"\nup = false\n";
    let text = include_str!("../../../scenarios/ftam-stall.toml").replace("[run]\n", &format!("{event}[run]\n"));
    let text = format!("define = {{ off = \"2 s\" }}\n{text}");
    for (off, said) in [("off=300 ms", "of 20000000 octets were moved"), ("off=0 s", "there was no association")] {
        let set = ["coalesce=never", "delay=0 ms", "file=20 MB", "way=put", "run.duration=5 s", off];
        let outcome = Laboratory::default().run(&arrange::point(&parse(&text), &set)).unwrap();
        let why = outcome.failed.unwrap();
        assert!(why.contains(said) && why.contains("host.receiver had no power from 0"), "{why}");
        assert!(!why.contains("`duration`") && why.contains("expected an event later than that"), "{why}");
        for row in &outcome.rows {
            assert_eq!((row.bound_by.as_str(), row.completions), ("power", (row.flow.is_none()).then_some(0)));
        }
        assert!(outcome.rows.len() == 3, "{:?}", outcome.rows);
    }
}

/// Ten segments of 47 ms are more than the round trip of 300 ms: the line is never idle, and a larger first window changes nothing.
#[test]
fn a_line_that_a_burst_fills_from_the_beginning_is_the_line() {
    let line = "link.line = { ends = [\"a\", \"b\"], medium = \"point-to-point\", rate = \"256 kb/s\", propagation = \"150 ms\" }";
    let text = |load: &str| {
        format!(
            "title = \"Slow\"\nhost.a = {{ graph = [\"ip\", \"l0\"], tcp = {{ initial_window_segments = \"${{first}}\" }} }}\nhost.b.like = \"a\"\n{line}\nload.u = {{ from = \"a\", to = \"b\", {load} }}\nrun.duration = \"100 s\"\ndefine.first = 10\n"
        )
    };
    let measured = |load: &str, first: &str| run(&parse(&text(load)), &[first], 1, &Options::default()).measured;
    let bound = |measured: &Measured| {
        let load = &measured.loads["u"];
        [None, load.flows.first()].map(|flow| measured.bound(load, flow, Some(0.2471)).name())
    };
    for load in [
        r#"kind = "ttcp", message = "8000 B", size = "20 kB""#,
        r#"kind = "ttcp", message = "8000 B", size = "100 kB""#,
        r#"kind = "rpc", message = "200 B", response = "100 kB", count = 1"#,
    ] {
        let [small, large] = ["first=10", "first=700"].map(|first| measured(load, first));
        assert_eq!(bound(&small), ["link"; 2], "{load}: {:?}", small.total.held());
        assert_eq!(bound(&large), ["link"; 2], "{load}: {:?}", large.total.held());
    }
    // A window of two segments leaves the line idle for most of each round trip.
    let short = r#"kind = "ttcp", message = "8000 B", size = "100 kB", socket_buffer = "4000 B""#;
    assert_eq!(bound(&measured(short, "first=10")), ["send buffer"; 2]);
    // One of nine tenths of what the way holds leaves it idle for a tenth, and a line of twice the rate would change nothing.
    let nearly = text(r#"kind = "ttcp", message = "8000 B", size = "10 MB", socket_buffer = "68 kB""#);
    let nearly = nearly.replace("256 kb/s", "2 Mb/s");
    let run = run(&parse(&nearly), &["first=10"], 1, &Options::default()).measured;
    assert!((0.8..0.97).contains(&(run.total.goodput_mbps / 1.93)), "{}", run.total.goodput_mbps);
    assert_eq!(run.bound(&run.loads["u"], None, Some(1.93)).name(), "send buffer");
}

/// Round trips of the file service are a twentieth of the time; in the rest a line is full, whatever window TCP waits for.
#[test]
fn a_line_that_a_file_fills_is_the_line() {
    let stack = r#"graph = { ftam_user = ["ftam"], ftam_keeper = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }, tp0 = { tpdu = "2048 B" }, tpkt = { coalesce = "${coalesce}" }"#;
    let text = format!(
        "title = \"File\"\nhost.a = {{ {stack}, ip = {{ address = \"10.0.0.1/24\" }} }}\nhost.b = {{ like = \"a\", ip = {{ address = \"10.0.0.2/24\" }} }}\nlink.line = {{ ends = [\"a.l0\", \"b.l0\"], medium = \"point-to-point\", rate = \"256 kb/s\", propagation = \"150 ms\", queue_frames = \"${{queue}}\" }}\nload.x = {{ kind = \"ftam\", from = \"a.ftam_user\", to = \"b.ftam_keeper\", message = \"8000 B\", file = \"${{file}}\", way = \"${{way}}\" }}\nrun.duration = \"300 s\"\ndefine = {{ coalesce = \"nagle\", queue = \"1000 bdp\", file = \"500 kB\", way = \"put\" }}\n"
    );
    let bound = |set: &[&str]| {
        let rows = Laboratory::default().run(&arrange::point(&parse(&text), set)).unwrap().rows;
        rows.into_iter().map(|row| row.bound_by).collect::<Vec<_>>()
    };
    for set in [
        ["coalesce=nagle", "way=put", "queue=1000 bdp"],
        ["coalesce=never", "way=get", "queue=1000 bdp"],
        ["coalesce=never", "way=put", "queue=1 bdp"],
    ] {
        assert_eq!(bound(&set), ["link"; 3], "{set:?}");
    }
    // A short one is as slow as its round trips.
    assert_eq!(bound(&["file=20 kB", "coalesce=never"]), ["round trip"; 3]);
}

/// Four transfers fill a line for 97 % of the time, and for the rest the last of them waits for its timer: a note says so, and what binds them is the line.
#[test]
fn what_the_last_waits_for_beside_a_line_that_was_nearly_always_full_does_not_bind_all() {
    let text = r#"
title = "Four"
host.a = { count = 4, graph = ["ip", "l0"] }
host.b.graph = ["ip", "l0"]
host.r = { graph = { ip = ["in0", "in1", "in2", "in3", "out"] }, ip = { forwarding = true } }
link.in = { count = 4, ends = ["a${i}", "r.in${i}"], medium = "point-to-point", rate = "100 Mb/s", propagation = "5 ms" }
link.out = { ends = ["r.out", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms", queue_frames = 35 }
load.u = { kind = "ttcp", from = "a*", to = "b", message = "8 KiB", size = "2 MB", stagger = "250 ms" }
run = { duration = "60 s" }
"#;
    let outcome = Laboratory::default().run(&arrange::point(&parse(text), &[])).unwrap();
    let of_limit = outcome.rows[1].goodput_mbps / outcome.rows[1].limit_mbps.unwrap();
    assert!((0.9..0.985).contains(&of_limit), "{of_limit}");
    assert_eq!(outcome.rows[1].bound_by, "link");
    assert!(
        outcome.notes.iter().any(|note| note.contains("they waited for retransmission time-out")),
        "{:?}",
        outcome.notes
    );
}

/// Three loads on two lines in a row: one of them over both, one over each.
const PARKING_LOT: &str = r#"
title = "Parking lot"
host.a = { count = 3, graph = ["ip", "l0"] }
host.b = { like = "a", count = 3 }
host.r0 = { graph = { ip = ["l0", "l1", "out"] }, ip.forwarding = true }
host.r1 = { graph = { ip = ["in", "out", "x", "y"] }, ip.forwarding = true }
host.r2 = { graph = { ip = ["in", "l0", "l1"] }, ip.forwarding = true }
link.a0 = { ends = ["a0", "r0.l0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.a1 = { ends = ["a1", "r0.l1"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.a2 = { ends = ["a2", "r1.x"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.b1 = { ends = ["r1.y", "b1"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.b0 = { ends = ["r2.l0", "b0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.b2 = { ends = ["r2.l1", "b2"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.one = { ends = ["r0.out", "r1.in"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms", queue_frames = "1 bdp", queue = "fq-codel" }
link.two = { ends = ["r1.out", "r2.in"], medium = "point-to-point", rate = "20 Mb/s", propagation = "5 ms", queue_frames = "1 bdp", queue = "fq-codel" }
load.long = { kind = "netperf", from = "a0", to = "b0", message = "8 KiB" }
load.first = { kind = "netperf", from = "a1", to = "b1", message = "8 KiB" }
load.second = { kind = "netperf", from = "a2", to = "b2", message = "8 KiB" }
run = { warm_up = "3 s", duration = "10 s" }
"#;

/// Which of the two is the busier by a hair is chance; the narrower is the one whose share the long way has.
#[test]
fn who_has_its_share_of_one_full_line_is_bound_by_it_beside_another() {
    let measured = run(&parse(PARKING_LOT), &[], 1, &Options::default()).measured;
    for name in ["long", "first", "second"] {
        assert_eq!(measured.bound(&measured.loads[name], None, None).name(), "link", "{name}");
    }
}

/// A transfer over a line of 1 ms each way.
const SHORT: &str = r#"
title = "Short"
host.a = { graph = ["ip", "l0"], tcp = { initial_window_segments = "${first}" } }
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "${rate}", propagation = "1 ms" }
load.t = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", count = "${count}" }
run.duration = "5 s"
define = { rate = "500 Mb/s", first = 10, count = 100 }
"#;

/// What is named is what gains more if it is given: the rate, or the window. Whether a run is a hundredth of a second long or ten times that does not matter, nor when it begins.
#[test]
fn a_short_transfer_is_bound_by_what_would_make_it_faster() {
    let measured = |set: &[&str]| run(&parse(SHORT), set, 1, &Options::default()).measured;
    for (rate, twice, count, bound) in [
        ("500 Mb/s", "1 Gb/s", 60, "slow start"),
        ("500 Mb/s", "1 Gb/s", 98, "link"),
        ("500 Mb/s", "1 Gb/s", 100, "link"),
        ("2 Gb/s", "4 Gb/s", 400, "slow start"),
        ("2 Gb/s", "4 Gb/s", 800, "link"),
    ] {
        let set = [format!("rate={rate}"), format!("count={count}"), "first=10".to_owned()];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let found = measured(&set);
        let load = &found.loads["t"];
        let twice = measured(&[&set[..], &[&format!("rate={twice}")]].concat()).total.goodput_mbps;
        let window = measured(&[&set[..], &["first=8000"]].concat()).total.goodput_mbps;
        let said = [None, load.flows.first()].map(|flow| found.bound(load, flow, None).name());
        assert_eq!(said, [bound; 2], "{rate}, {count}: {} {twice} {window}", load.goodput_mbps);
        assert_eq!(twice >= window, bound == "link", "{rate}, {count}: {} {twice} {window}", load.goodput_mbps);
    }
}

/// All of it is one burst of less than a round trip: nothing goes round, and a faster line saves more than a shorter one.
#[test]
fn a_burst_is_bound_by_the_line_that_it_leaves_no_break_on() {
    let text = SHORT
        .replace("propagation = \"1 ms\"", "propagation = \"${way}\"")
        .replace("define = {", "define = { way = \"10 ms\",");
    let measured = |set: &[&str]| {
        let found = run(&parse(&text), &[&["first=40", "count=5"], set].concat(), 1, &Options::default()).measured;
        (found.bound(&found.loads["t"], None, None).name(), found.total.goodput_mbps)
    };
    let (bound, goodput) = measured(&["rate=20 Mb/s"]);
    let (faster, shorter) = (measured(&["rate=40 Mb/s"]).1, measured(&["rate=20 Mb/s", "way=5 ms"]).1);
    assert_eq!(bound, "link");
    assert!(faster > 1.4 * goodput && faster > shorter, "{goodput} {faster} {shorter}");
}

/// The only idle time is that of slow start and of the ends; what the window is after the loss that ends slow start costs nothing, for the queue is never empty.
#[test]
fn a_line_that_is_full_behind_slow_start_is_the_line() {
    let text = SHORT.replace("propagation = \"1 ms\"", "propagation = \"10 ms\", queue_frames = 40");
    let measured = |set: &[&str]| {
        let found = run(&parse(&text), &[&["rate=20 Mb/s"], set].concat(), 1, &Options::default()).measured;
        (found.bound(&found.loads["t"], None, None).name(), found.total.goodput_mbps, found.total.held()[0].0)
    };
    for count in ["count=125", "count=200"] {
        let (bound, goodput, held) = measured(&[count]);
        let (.., faster, _) = measured(&[count, "rate=40 Mb/s"]);
        assert_eq!((bound, held), ("link", Limit::Loss), "{count}");
        assert!(faster > 1.6 * goodput, "{count}: {goodput} {faster}");
    }
    // So it is of what writes for a time.
    let endless =
        text.replace("kind = \"ttcp\"", "kind = \"netperf\"").replace("count = \"${count}\"", "start = \"0 s\"");
    let endless = endless.replace("5 s", "1 s");
    let found = run(&parse(&endless), &["rate=20 Mb/s"], 1, &Options::default()).measured;
    assert_eq!(found.bound(&found.loads["t"], None, Some(19.3)).name(), "link", "{:?}", found.total.held());
}

/// One begins each 20 ms and has 17 ms to send: a faster line changes nothing of what they bring together. Two with a small buffer leave the line idle in each
/// round trip.
#[test]
fn flows_that_begin_one_after_another_are_bound_by_that() {
    let text = SHORT.replace("propagation = \"1 ms\"", "propagation = \"10 ms\"");
    let bound = |more: &str, set: &[&str]| {
        let text = text.replace("count = \"${count}\"", more);
        let found = run(&parse(&text), set, 1, &Options::default()).measured;
        (found.bound(&found.loads["t"], None, None).name(), found.total.goodput_mbps)
    };
    for (stagger, most) in [("20 ms", 1.02), ("exponential 20 ms", 1.03)] {
        let more = format!("count = 5, sessions = 50, stagger = \"{stagger}\"");
        let (paced, goodput) = bound(&more, &["rate=20 Mb/s"]);
        let (.., faster) = bound(&more, &["rate=40 Mb/s"]);
        assert_eq!(paced, "application");
        assert!(faster < most * goodput, "{goodput} {faster}");
    }
    // Faster than the line takes them.
    assert_eq!(bound("count = 5, sessions = 50, stagger = \"10 ms\"", &["rate=20 Mb/s"]).0, "link");
    let small = "count = 40, sessions = 2, socket_buffer = \"14 KiB\"";
    assert_eq!(bound(small, &["rate=10 Mb/s"]).0, "send buffer");
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

/// A ring of 60 us from station to station, where a token that comes late goes on.
const RING: &str = r#"
title = "Ring"
host.s = { count = 4, graph = ["tcp", "ip", "arp", "llc", "fddi", "fddi0"], ip.mtu = "4352 B" }
host.r.like = "s"
ring.ring = { ends = ["s0.fddi0", "s1.fddi0", "s2.fddi0", "s3.fddi0", "r.fddi0"], medium = "fddi", propagation = "60 us", ttrt = "${ttrt}", queue_frames = 10000 }
load.bulk = { kind = "netperf", from = "${from}", to = "r", message = "8 KiB", socket_buffer = "1 MiB" }
run = { warm_up = "1 s", duration = "1 s" }
define = { ttrt = "4 ms", from = "s*" }
"#;

/// A turn of the token is n (T - D) of n T + D for n stations that always have something to send; acknowledgments cost some hundredths, the more the shorter a turn is.
#[test]
fn a_ring_is_full_while_stations_wait_for_its_token() {
    for (ttrt, from) in [("4 ms", "s*"), ("4 ms", "s1"), ("8 ms", "s*"), ("2 ms", "s1")] {
        let set = [format!("ttrt={ttrt}"), format!("from={from}")];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let rows = Laboratory::default().run(&arrange::point(&parse(RING), &set)).unwrap().rows;
        let of_limit = rows[0].goodput_mbps / rows[0].limit_mbps.unwrap();
        assert!((0.95..1.0).contains(&of_limit), "{ttrt} {from}: {of_limit}");
        assert!(rows.iter().all(|row| row.bound_by == "link"), "{ttrt} {from}");
    }
    // A small window leaves the ring idle.
    let small = RING.replace("1 MiB", "8 KiB");
    let rows = Laboratory::default().run(&arrange::point(&parse(&small), &["from=s1"])).unwrap().rows;
    assert_ne!(rows[0].bound_by, "link");
}

/// Four transfers through a switch, of which one host loses its power.
const POWERLESS: &str = r#"
title = "Powerless"
host.s = { count = 4, graph = ["ip", "arp", "eth", "lan"] }
host.r.like = "s"
switch.tor = { kind = "ethernet", queue_frames = "${room}" }
link.in = { count = 4, ends = ["s${i}", "tor"], medium = "point-to-point", rate = "100 Mb/s", framing = "24 B", propagation = "10 us" }
link.out = { ends = ["tor", "r"], medium = "point-to-point", rate = "100 Mb/s", framing = "24 B", propagation = "10 us" }
load.t = { kind = "ttcp", from = "s*", to = "r", message = "64 KiB", count = 10 }
event = [ { at = "100 ms", host = "s0", up = false } ]
run.duration = "${duration}"
define = { duration = "2 s", room = 64 }
"#;

#[test]
fn transfers_that_wait_for_power_alone_are_bound_by_it() {
    let bound = |duration: &str| {
        let found = run(&parse(POWERLESS), &[duration], 1, &Options::default()).measured;
        let load = &found.loads["t"];
        assert_eq!(load.flows.iter().filter(|flow| flow.completion.is_some()).count(), 3, "{duration}");
        assert_eq!(found.bound(&found.total, None, None), found.bound(load, None, None));
        found.bound(load, None, None).name()
    };
    assert_eq!(bound("duration=2 s"), "power");
    // Until shortly after the others are through the line was full.
    assert_eq!(bound("duration=250 ms"), "link");
}

/// Requests of ARP are broadcasts that find no room in the port of a switch, and come again after a second.
#[test]
fn transfers_that_wait_for_addresses_say_so() {
    let of = |room: &str| {
        let text =
            POWERLESS.replace("count = 4,", "count = 40,").replace("event = ", "# ").replace("up = false } ]", "");
        let set = [room, "duration=20 s"];
        Laboratory::default().run(&arrange::point(&parse(&text), &set)).unwrap()
    };
    let is_told =
        |notes: &[String]| notes.iter().any(|note| note.contains("who asks for a MAC address (ARP) asks again"));
    assert!(is_told(&of("room=16").notes));
    assert!(!is_told(&of("room=10000").notes));
}
