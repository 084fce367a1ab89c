//! What holds one connection: buffers, windows, loss and its start.

use kumiki_inet::tcp::Limit;
use kumiki_lab::experiment::{Options, Run};

use super::share;
use crate::arrange::{parse, run};

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

/// A buffer of one segment and a half: Nagle keeps the half until the segment is acknowledged, and the peer waits 40 ms
/// for a second one (Linux's delay). A round trip takes 20 ms.
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

/// A buffer has room for two messages. The second waits for the acknowledgment of the first, and then the program for
/// that of the second: without coalescing both would take one round trip, so half of the time is lost to it.
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
    // Far below what the buffers and the line allow (Mathis et al.: some 1448 * 8 / 20 ms * 1.22 / 0.1 = 7 Mb/s of
    // Reno).
    assert!(run.measured.total.goodput_mbps < 40.0, "{}", run.measured.total.goodput_mbps);
    assert!(share(&run, &[Limit::Loss, Limit::Timeout]) > 0.9, "{:?}", run.measured.total.held());
}

#[test]
fn a_start_is_slow_start() {
    let run = with(&["run.warm_up=0 s", "run.duration=120 ms"]);
    assert!(share(&run, &[Limit::SlowStart, Limit::Opening]) > 0.9, "{:?}", run.measured.total.held());
}
