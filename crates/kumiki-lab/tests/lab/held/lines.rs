//! What holds it where a line is full, is not there, or has not delivered all at the end.

use kumiki_inet::tcp::Limit;
use kumiki_lab::experiment::Options;

use super::share;
use crate::arrange::{parse, run};

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
    // Five or six were in flight when the measurement began.
    assert_eq!(units.sent, 10_000);
    assert!((10_005..=10_006).contains(&(units.received + units.lost)), "{units}");
    assert!((7_990..8_010).contains(&units.lost), "{units}");
    assert!((0.79..0.81).contains(&total.goodput_mbps), "{}", total.goodput_mbps);
    // What is in flight at the end is not.
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
    assert_eq!((bound, echoes.sent, echoes.answered, echoes.in_flight), ("application", 3, 2, 1));
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
    // What waits in a queue that grows is not in flight in this sense.
    let set = ["rate=12 Mb/s", "run.warm_up=0 s", "run.duration=4 s", "link.line.queue_frames=100000"];
    for warm_up in ["0 s", "1 s"] {
        let (bound, total) = with(&udp, &[&set[..], &[&format!("run.warm_up={warm_up}")]].concat());
        assert_eq!((bound, total.units.unwrap().lost), ("link", 0), "{warm_up}");
    }
}
