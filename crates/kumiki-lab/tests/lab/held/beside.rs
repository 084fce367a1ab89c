//! What holds one of several loads, and all of them together.

use kumiki_lab::experiment::Options;
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;

use super::{CALLS, SHARED};
use crate::arrange::{self, parse, run};

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

/// Four transfers fill a line for 97 % of the time, and for the rest the last of them waits for its timer: a note says
/// so, and what binds them is the line.
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

/// Two hosts with two lines, of which routes take the one there and the other back.
const ROUTED: &str = r#"
title = "Routed"
host.a.graph = { ip = ["l0", "l1"] }
host.a.ip = { interface = { l0 = { address = "10.0.0.1/24" }, l1 = { address = "10.0.1.1/24" } }, routes = { "10.0.0.2/32" = "10.0.1.2" } }
host.b.like = "a"
host.b.ip = { interface = { l0 = { address = "10.0.0.2/24" }, l1 = { address = "10.0.1.2/24" } }, routes = { "10.0.1.1/32" = "10.0.0.1" } }
link.fast = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms" }
link.slow = { ends = ["a.l1", "b.l1"], medium = "point-to-point", rate = "1 Mb/s", propagation = "20 ms", queue_frames = "1 bdp" }
load.there = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run = { warm_up = "1 s", duration = "4 s" }
"#;

#[test]
fn limits_and_bounds_are_those_of_the_lines_that_routes_take() {
    let of = |text: &str| {
        let point = arrange::point(&parse(text), &[]);
        let row = Laboratory::default().run(&point).unwrap().rows.remove(0);
        (row.bound_by.clone(), row.goodput_mbps / row.limit_mbps.unwrap(), row.limit_mbps.unwrap())
    };
    // By a router's address, and by the layer behind which the other host is.
    let by_layer = ROUTED.replace("= \"10.0.1.2\"", "= \"l1\"").replace("= \"10.0.0.1\"", "= \"l0\"");
    assert_eq!(by_layer.matches("/32\" = \"l").count(), 2);
    for text in [ROUTED, &by_layer] {
        let (bound, part, limit) = of(text);
        assert!(
            bound == "link" && (0.9..=1.0).contains(&part) && (0.9..1.0).contains(&limit),
            "{bound} {part} {limit}"
        );
    }
    // Answers come over the fast line: 20 ms there and 1 ms back are 2625 octets of 1 Mb/s.
    let point = arrange::point(&parse(ROUTED), &[]);
    let told = point.scenario.queues_of_paths.values().next().unwrap();
    assert!(told.contains("2 frames of 1500 B: 1 Mb/s of a least round trip of 21 ms"), "{told}");
    // What is got goes the other way.
    let (bound, part, limit) = of(&ROUTED
        .replace("\"netperf\", from", "\"rpc\", sessions = 4, response = \"1 MB\", from")
        .replace("message = \"8 KiB\"", "message = \"100 B\""));
    // An answer may have begun before the time that counts.
    assert!(bound == "link" && (0.9..=1.001).contains(&part) && (9.0..10.0).contains(&limit), "{bound} {part} {limit}");
}

/// An address decides which way routes lead, and another load calls another one.
#[test]
fn each_of_two_loads_in_opposite_roles_has_the_limit_of_its_own_way() {
    let limits = |text: &str| {
        let point = arrange::point(&parse(text), &[]);
        let all = point.scenario.load.values().map(|load| kumiki_lab::limit::of_all(&point.scenario, load).unwrap());
        all.map(|mbps| format!("{mbps:.3}")).collect::<Vec<_>>()
    };
    let back = "load.z_back = { kind = \"netperf\", from = \"b\", to = \"a\", message = \"8 KiB\" }\n";
    assert_eq!(limits(&format!("{ROUTED}{back}")), ["0.965", "9.653"]);
    assert_eq!(limits(&format!("{ROUTED}{}", back.replace("z_back", "a_back"))), ["9.653", "0.965"]);
    // What can be set while it runs is no route.
    let event = "event = [{ at = \"100 s\", node = \"a.tcp\", set = { ack = { every = 1 } } }]\n";
    assert_eq!(limits(&format!("{ROUTED}{event}")), ["0.965"]);
}
