//! When a line is what is waited for, though it is idle at times.

use kumiki_inet::tcp::Limit;
use kumiki_lab::experiment::{Measured, Options};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;

use crate::arrange::{self, parse, run};

/// Ten segments of 47 ms are more than the round trip of 300 ms: the line is never idle, and a larger first window
/// changes nothing.
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
    // One of nine tenths of what the way holds leaves it idle for a tenth, and a line of twice the rate would change
    // nothing.
    let nearly = text(r#"kind = "ttcp", message = "8000 B", size = "10 MB", socket_buffer = "68 kB""#);
    let nearly = nearly.replace("256 kb/s", "2 Mb/s");
    let run = run(&parse(&nearly), &["first=10"], 1, &Options::default()).measured;
    assert!((0.8..0.97).contains(&(run.total.goodput_mbps / 1.93)), "{}", run.total.goodput_mbps);
    assert_eq!(run.bound(&run.loads["u"], None, Some(1.93)).name(), "send buffer");
}

/// Twice what the line takes, for a quarter of the time.
const BURSTS: &str = r#"
title = "Bursts"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms", queue_frames = "${queue}", impair = { toward = "b", loss = "${loss}" } }
load.oo = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "20 Mb/s", on = "100 ms", off = "300 ms" }
run = { warm_up = "1 s", duration = "10 s" }
define = { queue = 50, loss = "1 %" }
"#;

/// The line is full whenever there is anything, and that is not most of the time: a third finds no room, and one of a
/// hundred is lost on the way.
#[test]
fn datagrams_that_find_no_room_in_a_queue_wait_for_the_line() {
    let bound = |set: &[&str]| {
        let measured = run(&parse(BURSTS), set, 1, &Options::default()).measured;
        let (load, line) = (&measured.loads["oo"], &measured.counters["line"]);
        assert!(load.line < 0.98, "{}", load.line);
        let bound = measured.bound(load, None, None).name();
        (bound, line["a_drops"] > 0, load.units.unwrap().lost > 0)
    };
    assert_eq!(bound(&[]), ("link", true, true));
    // Where there is room for all of it, only what is lost on the way is.
    assert_eq!(bound(&["queue=1000", "loss=5 %"]), ("loss", false, true));
    // Nor is it the line where most is lost on the way, and a little in the queue.
    assert_eq!(bound(&["queue=120", "loss=60 %"]), ("loss", true, true));
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

/// What is named is what gains more if it is given: the rate, or the window. Whether a run is a hundredth of a second
/// long or ten times that does not matter, nor when it begins.
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

/// All of it is one burst of less than a round trip: nothing goes round, and a faster line saves more than a shorter
/// one.
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

/// The only idle time is that of slow start and of the ends; what the window is after the loss that ends slow start
/// costs nothing, for the queue is never empty.
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

/// One begins each 20 ms and has 17 ms to send: a faster line changes nothing of what they bring together. Two with a
/// small buffer leave the line idle in each round trip.
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

/// A turn of the token is n (T - D) of n T + D for n stations that always have something to send; acknowledgments cost
/// some hundredths, the more the shorter a turn is.
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
