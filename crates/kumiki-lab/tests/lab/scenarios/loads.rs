//! Loads beside each other, as they come, go, end, and are told of.

use super::*;

const BESIDE: &str = r#"
title = "Datagrams beside a TCP"

[host.a]
graph = { tcp_program = ["tcp"], udp_program = ["udp"], tcp = ["ip"], udp = ["ip"], ip = ["line0"] }
ip = { address = "10.0.0.1/24" }

[host.b]
like = "a"
ip = { address = "10.0.0.2/24" }

[link.line]
ends = ["a.line0", "b.line0"]
medium = "point-to-point"
rate = "10 Mb/s"
propagation = "5 ms"

[run]
warm_up = "1 s"
duration = "2 s"

[load.bulk]
kind = "netperf"
from = "a.tcp_program"
to = "b.tcp_program"
message = "8 KiB"
socket_buffer = "16 KiB"

[load.datagrams]
kind = "udp"
from = "a.udp_program"
to = "b.udp_program"
message = "1000 B"
rate = "4 Mb/s"
start = "500 ms"
"#;

#[test]
fn two_loads_run_beside_each_other_and_each_is_measured() {
    let document = Document::parse("beside", "beside.toml", BESIDE).unwrap();
    let points = document.points(&Choice::default()).unwrap();
    let built = build(&points[0], 1).unwrap_or_else(|fault| panic!("{fault}"));
    let measured = built.run().measured;
    assert_eq!(measured.total.wrong, None);
    let datagrams = &measured.loads["datagrams"];
    assert!(near(datagrams.goodput_mbps, 4.0, 0.01), "{datagrams:?}");
    // What is left, less the headers: of 1500 octets 52, and of 1028 28.
    let left = (10.0 - 4.0 * 1.028) * 1448.0 / 1500.0;
    assert!(near(measured.loads["bulk"].goodput_mbps, left, 0.02), "{measured:?}");
}

/// Each fills its own line, where the second calls its reader by the address of the other line.
#[test]
fn two_loads_between_two_hosts_take_a_line_each() {
    let text = r#"
title = "A line each"
host.a.graph = { ip = ["l0", "l1"] }
host.b.like = "a"
link.fast = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s", queue_frames = 20 }
link.slow = { ends = ["a.l1", "b.l1"], medium = "point-to-point", rate = "1 Mb/s", queue_frames = 20 }
load.one = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
load.other = { kind = "netperf", from = "a", to = "b", to_address = "b.l1", message = "8 KiB" }
load.units = { kind = "udp", from = "b", to = "a", to_address = "10.0.1.1", message = "1000 B", rate = "500 kb/s" }
load.echo = { kind = "ping", from = "a", to = "b", to_address = "b.l1", message = "56 B", count = 1 }
run = { warm_up = "1 s", duration = "5 s" }
"#;
    let points = Document::parse("two", "two.toml", text).unwrap().points(&Choice::default()).unwrap();
    let measured = build(&points[0], 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
    let rate = |load: &str| measured.loads[load].goodput_mbps;
    let share = 1448.0 / 1500.0;
    assert!(near(rate("one"), 10.0 * share, 0.02) && near(rate("other"), share, 0.02), "{measured:?}");
    assert!(near(rate("units"), 0.5, 0.01), "{measured:?}");
}

/// Routes lead there through it, and it takes what is for any of its addresses.
#[test]
fn a_router_reads_what_is_for_the_address_of_its_far_side() {
    let text = r#"
title = "A router that reads"
host.a.graph = ["tcp", "ip", "l0"]
host.b = { graph = { ip = ["l0", "l1"], tcp = ["ip"] }, ip.forwarding = true }
host.c.like = "a"
link.near = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.far = { ends = ["b.l1", "c.l0"], medium = "point-to-point", rate = "1 Mb/s" }
load.bulk = { kind = "netperf", from = "a", to = "b", to_address = "b.l1", message = "8 KiB" }
load.echo = { kind = "ping", from = "a", to = "b", to_address = "b.l1", message = "56 B", count = 1 }
run = { warm_up = "1 s", duration = "5 s" }
"#;
    let points = Document::parse("far", "far.toml", text).unwrap().points(&Choice::default()).unwrap();
    let measured = build(&points[0], 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
    assert!(near(measured.loads["bulk"].goodput_mbps, 10.0 * 1448.0 / 1500.0, 0.02), "{measured:?}");
    assert!(!measured.loads["echo"].unanswered);
}

/// What of a load is random is so by itself: with other arrivals it sends and is silent at the same times.
#[test]
fn turns_of_sending_and_silence_do_not_depend_on_arrivals() {
    let sent = |arrivals: &str, seed: u64| {
        let text = format!(
            r#"
title = "Turns"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s" }}
load.units = {{ kind = "udp", from = "a", to = "b", message = "1000 B", rate = "8 Mb/s", on = "exponential 1 s", off = "exponential 1 s", arrivals = "{arrivals}" }}
run.duration = "10 s"
"#
        );
        let points = Document::parse("turns", "turns.toml", &text).unwrap().points(&Choice::default()).unwrap();
        build(&points[0], seed).unwrap_or_else(|fault| panic!("{fault}")).run().measured.loads["units"]
            .units
            .unwrap()
            .sent
    };
    for seed in 1..4 {
        let [periodic, random] = ["periodic", "poisson"].map(|arrivals| sent(arrivals, seed) as f64);
        // Of thousands that come at random one in seventy is a standard deviation.
        assert!(near(random, periodic, 0.06), "{seed}: {periodic} {random}");
    }
}

/// Two on one transport have a port each; a ping and datagrams of their own nodes. Ends that are hosts alone, or that
/// other loads have, get nodes of their own.
#[test]
fn loads_share_nodes_transports_and_hosts() {
    let more = r#"
[load.second]
kind = "netperf"
from = "a.tcp_program"
to = "b.tcp_program"
message = "8 KiB"
socket_buffer = "16 KiB"

[load.back]
kind = "netperf"
from = "b"
to = "a"
message = "8 KiB"
socket_buffer = "16 KiB"

[load.probe]
kind = "ping"
from = "a"
to = "b"
message = "56 B"
interval = "50 ms"
"#;
    let document = Document::parse("beside", "beside.toml", &format!("{BESIDE}{more}")).unwrap();
    let points = document.points(&Choice::default()).unwrap();
    let measured = build(&points[0], 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
    assert_eq!(measured.total.wrong, None);
    let rate = |load: &str| measured.loads[load].goodput_mbps;
    let left = (10.0 - 4.0 * 1.028) * 1448.0 / 1500.0;
    assert!(near(rate("bulk") + rate("second"), left, 0.05), "{} {}", rate("bulk"), rate("second"));
    assert!(rate("bulk") > 1.0 && rate("second") > 1.0 && rate("back") > 2.0, "{measured:?}");
    let echoes = measured.loads["probe"].echoes.unwrap();
    // Of two measured seconds.
    assert!(echoes.sent == 40 && echoes.sent - echoes.answered <= 1, "{echoes:?}");
}

/// What comes and goes: datagrams of one second on and one off, from 1 s to 5 s; then twenty transfers that end, of
/// sizes that are drawn.
#[test]
fn loads_come_in_bursts_stop_and_end() {
    let text = r#"
title = "Coming and going"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms" }
run = { duration = "10 s", interval = "500 ms" }
load.bursts = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "4 Mb/s", on = "1 s", off = "1 s", start = "1 s", stop = "4500 ms" }
load.flows = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", size = "uniform 10 kB .. 30 kB", sessions = 20, start = "6 s", stagger = "exponential 100 ms" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let run = build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run();
    let of = |name: &str, from: f64, to: f64| -> Vec<f64> {
        let samples = run.samples.as_ref().unwrap().0.iter();
        let own = samples.filter(|it| it.scope == SampleOf::Load && it.name == name);
        own.filter(|it| it.time_s > from && it.time_s <= to).map(|it| it.goodput_mbps.unwrap()).collect()
    };
    assert!(
        of("bursts", 0.0, 1.0)
            .iter()
            .chain(&of("bursts", 2.5, 3.0))
            .chain(&of("bursts", 5.0, 10.0))
            .all(|rate| *rate == 0.0)
    );
    let on = [of("bursts", 1.0, 2.0), of("bursts", 3.0, 4.0)].concat();
    assert!(on.len() == 4 && on.iter().all(|rate| near(*rate, 4.0, 0.03)), "{on:?}");
    let flows = &run.measured.loads["flows"].flows;
    assert!(flows.iter().all(|flow| (10_000..=30_000).contains(&flow.octets) && flow.completion.is_some()));
    let mut sizes: Vec<u64> = flows.iter().map(|flow| flow.octets).collect();
    sizes.dedup();
    assert!(sizes.len() > 15, "{sizes:?}");
    assert_eq!(run.measured.total.wrong, None);
}

/// A few fill the line; of a hundred some wait for their timers, and all come to an end.
#[test]
fn a_hundred_senders_at_once_lose_what_a_few_do_not() {
    for point in points("incast", &["senders=8, 100"]).unwrap_or_else(|fault| panic!("{fault}")) {
        let senders = point.scenario.load["answers"].from.0.len();
        let measured = build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
        let flows = &measured.total.flows;
        assert!(flows.len() == senders && flows.iter().all(|it| it.completion.is_some() && it.octets == 65536));
        let timeouts: u64 = flows.iter().filter_map(|flow| flow.sender.as_ref()).map(|it| it.timeouts).sum();
        // Of 1538 octets on the line 1448 are data.
        let is_full = measured.total.goodput_mbps > 0.95 * 1000.0 * 1448.0 / 1538.0;
        assert_eq!((is_full, timeouts > 0), (senders == 8, senders == 100), "{timeouts}: {measured:?}");
    }
}

/// What is said of times: a datagram of 972 octets and 28 of headers is 0.8 ms on a line of 10 Mb/s and 10 ms under
/// way; one sent at once behind another waits for that; flows that end take no less than their octets and three round
/// trips.
#[test]
fn rows_say_how_long_things_took() {
    let text = r#"
title = "Times"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }
run.duration = "10 s"
load.even = { kind = "udp", from = "a", to = "b", message = "972 B", rate = "777600 b/s", count = 100 }
load.pair = { kind = "udp", from = "a", to = "b", message = "972 B", rate = "77.76 Gb/s", count = 2, start = "2 s" }
load.probe = { kind = "ping", from = "a", to = "b", message = "972 B", interval = "100 ms", start = "3 s", count = 10 }
load.flows = { kind = "ttcp", from = "a", to = "b", message = "14480 B", count = 1, sessions = 10, start = "5 s", stagger = "200 ms" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let rows = Laboratory::default().run(&point).unwrap().rows;
    let of =
        |load: &str| rows.iter().find(|row| row.scope == Scope::Load && row.load.as_deref() == Some(load)).unwrap();
    let all = |map: &BTreeMap<String, f64>, low: f64, high: f64| {
        assert_eq!(map.len(), 6, "{map:?}");
        // Times are known to 1 %.
        assert!(map["min"] >= low * 0.99 && map["max"] <= high * 1.01, "{low} to {high}: {map:?}");
    };
    all(&of("even").delay_ms, 10.8, 10.8);
    all(&of("pair").delay_ms, 10.8, 11.6);
    assert!(near(of("pair").delay_ms["mean"], 11.2, 0.01));
    all(&of("probe").round_trip_ms, 21.6, 21.6);
    // The handshake is over before the clock begins; ten segments are one first window.
    all(&of("flows").completion_ms, 10.0 * 1.5 * 0.8 + 10.0, 3.0 * 21.6 + 10.0 * 1.5 * 0.8);
    let flows = rows.iter().filter(|row| row.scope == Scope::Flow && row.load.as_deref() == Some("flows"));
    let (mut count, mut hosts) = (0, Vec::new());
    for row in flows {
        assert!(row.completion_s.is_some() && row.completion_ms.is_empty());
        count += 1;
        hosts.extend(row.from.clone());
    }
    assert_eq!((count, hosts), (10, vec!["a".to_owned(); 10]));
}

/// One exchange takes a round trip and the times on the line: of 100 + 52 octets there and, one behind the other, of
/// 3000 + 3 * 52 back. With Nagle's algorithm the last piece of a response would wait for another round trip.
#[test]
fn requests_are_answered_and_each_exchange_is_timed() {
    let text = r#"
title = "Requests"
host.a = { count = 2, graph = ["ip", "l0"] }
host.b.graph = { ip = ["l0", "l1"] }
link.line = { count = 2, ends = ["a${i}", "b.l${i}"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }
run = { warm_up = "1 s", duration = "10 s" }
load.ask = { kind = "rpc", from = "a*", to = "b", message = "100 B", response = "3000 B", sessions = 2, think = "exponential 50 ms", coalesce = "never" }
load.once = { kind = "rpc", from = "a1", to = "b", message = "8 B", response = "uniform 1 B .. 100 kB", count = 5, start = "2 s" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let rows = Laboratory::default().run(&point).unwrap().rows;
    let of =
        |load: &str| rows.iter().find(|row| row.scope == Scope::Load && row.load.as_deref() == Some(load)).unwrap();
    let ask = of("ask");
    let times = &ask.completion_ms;
    let alone = 20.0 + (152.0 + 3156.0) * 8.0 / 10_000.0;
    assert!(near(times["min"], alone, 0.01) && near(times["p50"], alone, 0.05), "{alone}: {times:?}");
    // Four sessions, each of an exchange and a pause.
    let expected = 4.0 * 10.0 / ((times["mean"] + 50.0) / 1e3);
    let count = ask.completions.unwrap();
    assert!(near(count as f64, expected, 0.1), "{count} {expected}");
    assert!(near(ask.octets as f64, count as f64 * 3000.0, 0.01), "{}", ask.octets);
    let flows = rows.iter().filter(|row| row.scope == Scope::Flow && row.load.as_deref() == Some("ask"));
    assert_eq!(flows.filter_map(|row| row.completions).sum::<u64>(), count);
    let once = of("once");
    assert!(once.completions == Some(5) && once.octets <= 500_000, "{once:?}");
}

/// Those with a title; the others are parts.
#[test]
fn the_examples_of_the_language_can_be_built() {
    let text = include_str!("../../../../../docs/language.md");
    let blocks = text.split("```toml\n").skip(1).filter_map(|block| block.split("```").next());
    let whole: Vec<&str> = blocks.filter(|block| block.starts_with("title")).collect();
    assert_eq!(whole.len(), 5);
    for block in whole {
        let points = Document::parse("language", "language.md", block).and_then(|it| it.points(&Choice::default()));
        for point in points.unwrap_or_else(|fault| panic!("{fault}")) {
            build(&point, 1).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}

/// Looking at a run changes nothing of it.
#[test]
fn values_over_time_leave_a_run_as_it_is() {
    // One that writes for a time, and one that ends.
    for (name, set) in [("marked-queue", &[][..]), ("path-mtu", &[])] {
        let plain = run_with(name, set, 1);
        for interval in ["run.interval=10 ms", "run.interval=7 ms"] {
            assert_eq!(plain, run_with(name, &[set, &[interval]].concat(), 1), "{name} {interval}");
        }
    }
}

/// Half of the time they are silent, so they send half of their rate, however short the bursts are; what comes at
/// random too.
#[test]
fn bursts_keep_the_rate_while_they_last() {
    let text = r#"
title = "Bursts"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s" }
run.duration = "20 s"
load.long = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s", on = "exponential 100 ms", off = "exponential 100 ms" }
load.short = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s", on = "exponential 2 ms", off = "exponential 2 ms" }
load.random = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s", on = "8 ms", off = "8 ms", arrivals = "poisson" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let measured = build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
    for (name, load) in &measured.loads {
        assert!(near(load.goodput_mbps, 0.5, 0.1), "{name}: {}", load.goodput_mbps);
        assert_eq!(load.stopped, 0, "{name}: silence is no standstill");
    }
}

/// A line of 1 Mb/s holds one of them and not the other, whose buffer does; what the one cannot use of a shared line is
/// left to the other.
#[test]
fn what_bounds_a_flow_and_how_much_all_can_have_depend_on_the_way_of_each() {
    let text = r#"
title = "Unequal"
host.a = { count = 2, graph = ["ip", "l0"] }
host.b.graph = ["ip", "l0"]
host.r = { graph = { ip = ["l0", "l1", "out"] }, ip.forwarding = true }
link.slow = { ends = ["a0", "r.l0"], medium = "point-to-point", rate = "1 Mb/s", propagation = "5 ms" }
link.fast = { ends = ["a1", "r.l1"], medium = "point-to-point", rate = "100 Mb/s", propagation = "5 ms" }
link.out = { ends = ["r.out", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms" }
run = { warm_up = "2 s", duration = "10 s" }
load.bulk = { kind = "netperf", from = "a*", to = "b", message = "8 KiB", socket_buffer = "8 KiB" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let limit = limit::of_all(&point.scenario, &point.scenario.load["bulk"]).unwrap();
    assert!(near(limit, 10.0 * 1448.0 / 1500.0, 1e-6), "{limit}");
    let rows = Laboratory::default().run(&point).unwrap().rows;
    let bound = |from: &str| rows.iter().find(|row| row.from.as_deref() == Some(from)).unwrap().bound_by.as_str();
    assert_eq!((bound("a0"), bound("a1")), ("link", "send buffer"));
}
