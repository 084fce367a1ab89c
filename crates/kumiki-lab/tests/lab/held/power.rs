//! What waits for power or for an address.

use kumiki_lab::experiment::Options;
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;

use crate::arrange::{self, parse, run};

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
