//! One switch on the bench, its neighbours in the hands of the test; [`network`] has several.

use kumiki_graph::DeviceId;
use kumiki_link::sonet::Defect;
use kumiki_link::sonet::DefectReport;
use kumiki_wire::ppp::mapos::ssp::Entry;

use super::*;
use kumiki_testkit::bench::{Bench, hex};

mod network;

const REQUEST: &str = "0103fe03 00000001 00000000";
const WHOLE: &str = "0103fe05 01010000 00000000 00000000 00000000 00000000 00000000";

fn subnet() -> Subnet {
    Subnet::new(Width::Eight, 2).unwrap()
}

struct Switch {
    bench: Bench,
    ports: Vec<DeviceId>,
}

/// Switch `number` of two bits, with `ports` ports: 3, 5, 7 and so on.
fn switch(number: u16, ports: usize) -> Switch {
    with(Config::new(subnet(), number), ports)
}

fn with(config: Config, ports: usize) -> Switch {
    let mut bench = Bench::new();
    let names: Vec<String> = (0..ports).map(|port| format!("p{port}")).collect();
    let ports = names.iter().map(|name| bench.device(name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    bench.node("switch", &names, MaposSwitch::new(config).unwrap());
    bench.start();
    Switch { bench, ports }
}

/// Switch 2, with switch 1, the root of the tree, at its port 3.
fn under_the_root(ports: usize) -> Switch {
    let mut switch = switch(2, ports);
    switch.hear(0, &[entry(1, 0)]);
    switch.bench.requests();
    switch
}

fn entry(switch: u16, metric: u32) -> Entry {
    Entry::from(ssp::Route { subnet: subnet(), switch, metric: Metric(metric) })
}

fn packet(command: u8, entries: &[Entry]) -> Vec<u8> {
    let mut octets = vec![1, 3, 0xfe, 5, command, 1, 0, 0];
    for entry in entries {
        let at = octets.len();
        octets.resize(at + ssp::ENTRY_LEN, 0);
        entry.emit(&mut octets[at..]);
    }
    octets
}

impl Switch {
    fn octets(&mut self, port: usize, octets: &[u8]) {
        self.bench.octets(self.ports[port], octets);
    }

    fn receive(&mut self, port: usize, octets: &str) {
        self.octets(port, &hex(octets));
    }

    /// An update of the neighbour at `port`.
    fn hear(&mut self, port: usize, entries: &[Entry]) {
        self.octets(port, &packet(2, entries));
    }

    fn report(&mut self, port: usize, report: Report) {
        let report = Indication::Report(Box::new(report));
        self.bench.indicate(self.ports[port], report);
    }

    /// All that was sent, by port.
    fn sent(&mut self) -> Vec<(usize, Vec<u8>)> {
        let port = |device| self.ports.iter().position(|it| *it == device).unwrap();
        let sent = self.bench.sent().into_iter();
        sent.map(|(device, unit)| (port(device), unit.data.to_vec())).collect()
    }

    /// What the neighbour at `port` was told: switches and metrics. What was sent elsewhere is let go.
    fn told(&mut self, port: usize) -> Vec<(u16, u32)> {
        let mut told = Vec::new();
        for (at, octets) in self.sent() {
            if at != port || octets[2..5] != [0xfe, 5, 2] {
                continue;
            }
            assert_eq!(octets[..2], [1, 3]);
            for entry in ssp::entries(&octets[8..]) {
                let route = entry.route(Width::Eight).unwrap();
                told.push((route.switch, route.metric.0));
            }
        }
        told
    }

    fn pass(&mut self, seconds: u64) {
        self.bench.pass(Duration::from_secs(seconds));
    }

    fn protocol(&self) -> &MaposSwitch {
        let node = self.bench.graph.node("switch").unwrap();
        self.bench.graph.protocol(node).unwrap()
    }

    fn counters(&self) -> Counters {
        *self.protocol().counters()
    }

    /// Switch, metric and port of each route.
    fn routes(&self) -> Vec<(u16, u32, Option<u16>)> {
        let routes = self.protocol().routes();
        routes.map(|(route, port)| (route.switch, route.metric.0, port)).collect()
    }

    fn spreads_to(&self) -> Vec<u16> {
        self.protocol().spreads_to().collect()
    }
}

#[test]
fn at_the_start_every_neighbour_is_asked_and_told_of_us() {
    let mut switch = switch(1, 2);
    let own = packet(2, &[entry(1, 0)]);
    let sent = switch.sent();
    let expected = [(0, hex(WHOLE)), (1, hex(WHOLE)), (0, own.clone()), (1, own.clone())];
    assert_eq!(sent, expected);
    // A request for the whole table is answered to who asked; others are not.
    switch.pass(1);
    switch.receive(1, WHOLE);
    assert_eq!(switch.sent(), [(1, own)]);
    for wrong in [
        WHOLE.replace("01010000", "01020000"),
        WHOLE.replace("01010000 0000", "01010000 0002"),
        WHOLE.replace("01010000", "03010000"),
        "0103fe05 01010000".to_owned(),
    ] {
        switch.receive(1, &wrong);
        assert!(switch.sent().is_empty(), "{wrong}");
    }
    assert_eq!(switch.counters().ssp_malformed, 4);
}

#[test]
fn a_node_is_assigned_its_port_and_hears_no_ssp_until_it_is_silent_for_90_s() {
    let mut switch = switch(1, 2);
    switch.sent();
    switch.receive(0, REQUEST);
    // RFC 2173 figure 2.
    let assignment = hex("2303fe03 00000002 00000023");
    assert_eq!(switch.sent(), [(0, assignment.clone())]);
    assert_eq!(switch.spreads_to(), [3]);
    switch.pass(60);
    assert!(switch.sent().iter().all(|(port, _)| *port == 1));
    switch.receive(0, REQUEST);
    assert_eq!(switch.sent(), [(0, assignment)]);
    switch.pass(89);
    assert!(switch.sent().iter().all(|(port, _)| *port == 1));
    switch.pass(1);
    assert!(switch.spreads_to().is_empty());
    switch.pass(10);
    assert!(switch.sent().iter().any(|(port, _)| *port == 0));
    assert_eq!(switch.counters().nodes_lost, 1);
    // What is no request is not answered.
    for other in [
        "0103fe03 00000002 00000003",
        "0103fe03 00000003 00000000",
        "0103fe03 00000001",
        "2103fe03 00000001 00000000",
        "6103fe03 00000001 00000000",
    ] {
        switch.receive(0, other);
    }
    assert!(switch.sent().is_empty() && switch.spreads_to().is_empty());
}

/// Section 3.2 and table 1.
#[test]
fn unicast_goes_by_switch_number_and_then_by_port() {
    let mut switch = with(Config::new(subnet(), 1), 4);
    switch.hear(1, &[entry(2, 0), entry(3, 1), entry(1, 17)]);
    switch.hear(2, &[entry(3, 0), entry(2, 1), entry(1, 17)]);
    assert_eq!(switch.routes(), [(1, 0, None), (2, 1, Some(5)), (3, 1, Some(7))]);
    switch.sent();
    for (from, address, out) in [
        (0, "43", Some(1)),
        (0, "69", Some(2)),
        (1, "69", Some(2)),
        (1, "23", Some(0)),
        (1, "29", Some(3)),
        // Nobody has switch number 0, nor is there a port 0b.
        (0, "03", None),
        (0, "2b", None),
        // Back where it came from, by a route or at a port.
        (1, "43", None),
        (0, "23", None),
        // The control processors: ours, and that of another switch.
        (0, "21", None),
        (0, "41", Some(1)),
        (0, "01", None),
    ] {
        let frame = hex(&format!("{address}030021 45"));
        switch.octets(from, &frame);
        let expected: Vec<_> = out.map(|out| (out, frame)).into_iter().collect();
        assert_eq!(switch.sent(), expected, "{address}");
    }
    let counters = switch.counters();
    assert_eq!((counters.forwarded, counters.no_route), (6, 2));
    assert_eq!((counters.turned_back, counters.for_control), (2, 2));
    // A line that is down is no way.
    switch.report(3, Report::Down);
    switch.receive(0, "29030021 45");
    assert_eq!(switch.counters().no_route, 3);
    for malformed in ["22030021 45", "23130021 45", "2303"] {
        switch.receive(0, malformed);
    }
    assert_eq!(switch.counters().malformed, 3);
}

#[test]
fn the_route_with_the_longest_mask_is_taken() {
    let mut switch = switch(1, 3);
    let three = Subnet::new(Width::Eight, 3).unwrap();
    let route = |subnet, switch| Entry::from(ssp::Route { subnet, switch, metric: Metric(0) });
    switch.hear(1, &[route(subnet(), 2)]);
    switch.hear(2, &[route(three, 5)]);
    switch.sent();
    switch.receive(0, "43030021 45");
    switch.receive(0, "53030021 45");
    let ports: Vec<_> = switch.sent().iter().map(|it| it.0).collect();
    assert_eq!(ports, [1, 2]);
}

/// Section 5.3.1: with 16 added to the next hop, as it is to others.
#[test]
fn a_route_is_poisoned_towards_its_next_hop_only() {
    let mut switch = switch(2, 3);
    switch.sent();
    switch.pass(1);
    switch.hear(0, &[entry(1, 0), entry(3, 4)]);
    let triggered = switch.sent();
    let own = |metrics: [u32; 2]| packet(2, &[entry(1, metrics[0]), entry(3, metrics[1])]);
    assert_eq!(triggered, [(0, own([17, 21])), (1, own([1, 5])), (2, own([1, 5]))]);
    // The next full update has all of it, and no other comes before.
    switch.pass(8);
    assert!(switch.sent().is_empty());
    switch.pass(1);
    assert_eq!(switch.told(0), [(1, 17), (2, 0), (3, 21)]);
    assert_eq!(switch.counters().updates, 1);
}

/// Section 5.4: what an entry must be.
#[test]
fn entries_with_illegal_values_are_ignored_one_by_one() {
    let mut switch = switch(1, 2);
    let right = entry(2, 0);
    let wrong = [
        Entry { afi: 0, ..right },
        Entry { afi: 1, ..right },
        Entry { metric: Metric(32), ..right },
        Entry { metric: Metric(u32::MAX), ..right },
        Entry { address: 0xff, ..right },
        Entry { address: 0x141, ..right },
        Entry { mask: 0xff, ..right },
        Entry { mask: 0, ..right },
    ];
    switch.hear(0, &wrong);
    assert_eq!(switch.routes(), [(1, 0, None)]);
    let mixed = [wrong[0], right, wrong[2]];
    switch.hear(0, &mixed);
    assert_eq!(switch.routes(), [(1, 0, None), (2, 1, Some(3))]);
    assert_eq!(switch.counters().entries_ignored, 10);
}

/// Section 5.4, case 1 and the cases of case 2, for one switch that is not the root.
#[test]
fn a_heard_metric_does_to_a_route_what_the_standard_says() {
    // Heard before at port 3 with 4; then at port 3 or 5; metric and port in the end, and whether others are told.
    for (port, metric, after, port_after, told) in [
        (0, 15, 16, 3, true), // (d)
        (0, 16, 16, 3, true),
        (1, 16, 5, 3, false), // (e)
        (0, 14, 15, 3, true), // (a) from the next hop
        (1, 14, 5, 3, false), // (a) from another
        (0, 4, 5, 3, false),  // (c)
        (1, 4, 5, 3, false),
        (0, 2, 3, 3, true), // (b)
        (1, 2, 3, 5, true),
        (1, 3, 4, 5, true),
        (0, 17, 5, 3, false), // step 1, from our own next hop
        (1, 31, 5, 3, false), // step 1
    ] {
        let mut switch = switch(1, 2);
        switch.hear(0, &[entry(2, 4)]);
        switch.pass(1);
        switch.sent();
        switch.hear(port, &[entry(2, metric)]);
        assert_eq!(switch.routes()[1], (2, after, Some(port_after)), "{metric} at {port}");
        assert_eq!(!switch.sent().is_empty(), told, "{metric} at {port}");
    }
    // Case 1: nobody is added who cannot be reached.
    let mut switch = switch(1, 2);
    for metric in [15, 16, 17, 31] {
        switch.hear(0, &[entry(2, metric)]);
    }
    assert_eq!(switch.routes(), [(1, 0, None)]);
    switch.hear(0, &[entry(2, 14)]);
    assert_eq!(switch.routes()[1], (2, 15, Some(3)));
}

/// Figure 3.
#[test]
fn a_route_expires_after_30_s_is_advertised_as_unreachable_and_goes_after_30_more() {
    let mut switch = switch(1, 2);
    switch.pass(5);
    switch.hear(0, &[entry(2, 0)]);
    switch.pass(29);
    assert_eq!(switch.routes()[1], (2, 1, Some(3)));
    switch.sent();
    switch.pass(1);
    assert_eq!(switch.routes()[1], (2, 16, Some(3)));
    assert_eq!(switch.told(1), [(2, 16)]);
    // Unreachable is not unreachable with 16 more.
    switch.pass(5);
    assert_eq!(switch.told(0), [(1, 0), (2, 16)]);
    // What says so again does not prolong it.
    switch.pass(4);
    switch.hear(0, &[entry(2, 16)]);
    switch.pass(20);
    assert_eq!(switch.told(1), [(1, 0), (2, 16), (1, 0), (2, 16)]);
    switch.pass(1);
    assert_eq!(switch.routes(), [(1, 0, None)]);
    // Another way takes the place of what is unreachable.
    switch.hear(0, &[entry(2, 0)]);
    switch.hear(0, &[entry(2, 16)]);
    switch.hear(1, &[entry(2, 3)]);
    assert_eq!(switch.routes()[1], (2, 4, Some(5)));
    // An update keeps it.
    for _ in 0..20 {
        switch.pass(10);
        switch.hear(1, &[entry(2, 3)]);
    }
    assert_eq!(switch.routes()[1], (2, 4, Some(5)));
}

/// Figure 10, at the root.
#[test]
fn a_port_downstream_is_used_after_30_s_and_not_after_30_s_of_silence() {
    let mut switch = switch(1, 2);
    let poisoned = [entry(1, 17), entry(2, 0)];
    for seconds in 0..60 {
        if seconds % 10 == 5 {
            switch.hear(0, &poisoned);
        }
        let used = switch.spreads_to();
        assert_eq!(used, if seconds < 35 { vec![] } else { vec![3] }, "{seconds}");
        switch.pass(1);
    }
    // The last word came at 55 s.
    switch.pass(24);
    assert_eq!(switch.spreads_to(), [3]);
    switch.pass(1);
    assert!(switch.spreads_to().is_empty());
}

#[test]
fn confirmations_in_quick_succession_do_not_shorten_the_delay() {
    let mut switch = switch(1, 2);
    for _ in 0..100 {
        switch.hear(0, &[entry(1, 17)]);
    }
    assert!(switch.spreads_to().is_empty());
    switch.pass(29);
    switch.hear(0, &[entry(1, 17)]);
    assert!(switch.spreads_to().is_empty());
    switch.pass(1);
    switch.hear(0, &[entry(1, 17)]);
    assert_eq!(switch.spreads_to(), [3]);
}

#[test]
fn a_switch_that_finds_another_way_to_the_root_is_not_downstream() {
    let mut switch = switch(1, 3);
    for _ in 0..4 {
        for port in 0..3 {
            switch.hear(port, &[entry(1, 17)]);
        }
        switch.pass(10);
    }
    assert_eq!(switch.spreads_to(), [3, 5, 7]);
    // Sections 4.7 and 5.4 (a), (e).
    switch.hear(0, &[entry(1, 2)]);
    switch.hear(1, &[entry(1, 16)]);
    assert_eq!(switch.spreads_to(), [7]);
    // What it says of others than the root is no sign.
    switch.hear(2, &[entry(2, 1), entry(3, 16)]);
    assert_eq!(switch.spreads_to(), [7]);
}

#[test]
fn the_upstream_port_is_used_after_30_s_and_keeps_its_bit() {
    let mut switch = under_the_root(2);
    assert_eq!(switch.protocol().vss(), 1);
    for metric in [0, 0, 3] {
        assert!(switch.spreads_to().is_empty());
        switch.pass(10);
        switch.hear(0, &[entry(1, metric)]);
    }
    assert_eq!(switch.spreads_to(), [3]);
    // Updates with the same metric and with a longer one, sections 5.4 (c) and (a).
    switch.hear(0, &[entry(1, 3)]);
    switch.hear(0, &[entry(1, 4)]);
    assert_eq!(switch.spreads_to(), [3]);
    // A better way: the old bit goes, the new one has to wait.
    switch.hear(1, &[entry(1, 0)]);
    assert!(switch.spreads_to().is_empty());
    for _ in 0..3 {
        switch.pass(10);
        switch.hear(1, &[entry(1, 0)]);
    }
    assert_eq!(switch.spreads_to(), [5]);
    // Who says that he comes by us, whom we come by, is not believed.
    switch.hear(1, &[entry(1, 17)]);
    assert_eq!(switch.spreads_to(), [5]);
    assert_eq!(switch.routes()[0], (1, 1, Some(5)));
}

#[test]
fn another_root_makes_the_tree_invalid_but_for_nodes() {
    let mut switch = switch(2, 4);
    switch.receive(3, REQUEST);
    for _ in 0..4 {
        switch.hear(1, &[entry(2, 17), entry(3, 0)]);
        switch.pass(10);
    }
    assert_eq!(switch.spreads_to(), [5, 9]);
    switch.hear(0, &[entry(1, 0)]);
    assert_eq!(switch.protocol().vss(), 1);
    assert_eq!(switch.spreads_to(), [9]);
    for _ in 0..4 {
        switch.hear(0, &[entry(1, 0)]);
        switch.hear(1, &[entry(1, 18), entry(3, 0)]);
        switch.pass(10);
    }
    assert_eq!(switch.spreads_to(), [3, 5, 9]);
    // The root is lost.
    switch.hear(0, &[entry(1, 16)]);
    assert_eq!(switch.protocol().vss(), 2);
    assert_eq!(switch.spreads_to(), [9]);
}

#[test]
fn group_frames_go_along_the_tree_and_come_along_it() {
    let mut switch = under_the_root(4);
    switch.receive(2, REQUEST);
    switch.receive(3, REQUEST);
    for _ in 0..3 {
        switch.pass(10);
        switch.hear(0, &[entry(1, 0)]);
    }
    assert_eq!(switch.spreads_to(), [3, 7, 9]);
    switch.sent();
    for frame in ["ff030021 45", "a5030021 45", "fd03fe01 00"] {
        for (from, to) in [(0, &[2, 3][..]), (2, &[0, 3]), (3, &[0, 2]), (1, &[])] {
            switch.receive(from, frame);
            let sent = switch.sent();
            assert!(sent.iter().all(|(_, octets)| *octets == hex(frame)));
            let ports: Vec<_> = sent.iter().map(|it| it.0).collect();
            assert_eq!(ports, to, "{frame} from {from}");
        }
    }
    assert_eq!(switch.counters().off_tree, 3);
}

#[test]
fn a_line_without_signal_ends_routes_and_nodes_at_once() {
    let mut switch = switch(1, 3);
    switch.receive(0, REQUEST);
    switch.hear(1, &[entry(2, 0), entry(3, 1)]);
    switch.pass(1);
    switch.sent();
    let los = |present| Report::special(DefectReport { defect: Defect::Los, present });
    switch.report(1, los(true));
    assert_eq!(switch.told(2), [(2, 16), (3, 16)]);
    switch.report(0, Report::Down);
    assert!(switch.spreads_to().is_empty());
    switch.sent();
    // A port that comes on-line is asked (section 5.3.2); an assignment waits for a request.
    switch.report(1, los(false));
    switch.report(0, Report::Up);
    assert_eq!(switch.sent(), [(1, hex(WHOLE)), (0, hex(WHOLE))]);
}

/// Section 6.2.
#[test]
fn routes_of_a_switch_that_does_not_hear_us_are_refused() {
    for defect in [Defect::MsRdi, Defect::PathRdi] {
        let mut switch = switch(1, 2);
        let alarm = |present| Report::special(DefectReport { defect, present });
        switch.report(0, alarm(true));
        switch.hear(0, &[entry(2, 0)]);
        assert_eq!(switch.routes(), [(1, 0, None)]);
        assert_eq!(switch.counters().ssp_refused, 1);
        switch.report(0, alarm(false));
        switch.hear(0, &[entry(2, 0)]);
        assert_eq!(switch.routes().len(), 2);
    }
}

#[test]
fn a_node_at_a_port_ends_what_a_switch_there_has_said() {
    let mut switch = under_the_root(2);
    switch.receive(0, REQUEST);
    assert_eq!(switch.routes()[0], (1, 16, Some(3)));
    assert_eq!((switch.protocol().vss(), switch.spreads_to()), (2, vec![3]));
    switch.hear(0, &[entry(1, 0)]);
    assert_eq!(switch.routes()[0], (1, 16, Some(3)));
    assert_eq!(switch.counters().ssp_refused, 1);
}

/// Section 5.3.2 (4).
#[test]
fn a_switch_that_takes_its_leave_says_that_nothing_can_be_reached() {
    let config = Config { shutdown: Some(Duration::from_secs(15)), ..Config::new(subnet(), 2) };
    let mut switch = with(config, 2);
    switch.hear(0, &[entry(1, 0)]);
    switch.pass(14);
    switch.sent();
    switch.pass(1);
    assert_eq!(switch.told(0), [(1, 16), (2, 16)]);
    switch.receive(0, REQUEST);
    switch.pass(100);
    assert!(switch.sent().is_empty());
}

#[test]
fn a_long_table_takes_several_packets() {
    let wide = Subnet::new(Width::Sixteen, 8).unwrap();
    let mut switch = with(Config::new(wide, 1), 2);
    let told = |numbers: core::ops::Range<u16>| -> Vec<u8> {
        let mut octets = vec![0, 1, 0xfe, 5, 2, 1, 0, 0];
        for switch in numbers {
            let entry = Entry::from(ssp::Route { subnet: wide, switch, metric: Metric(0) });
            let at = octets.len();
            octets.resize(at + ssp::ENTRY_LEN, 0);
            entry.emit(&mut octets[at..]);
        }
        octets
    };
    for first in [2, 27, 52] {
        switch.octets(0, &told(first..first + 25));
    }
    switch.sent();
    switch.pass(10);
    let sent = switch.sent();
    let of = |port| sent.iter().filter(move |it| it.0 == port);
    let lengths: Vec<_> = of(1).map(|it| it.1.len()).collect();
    // 76 routes; a frame's header, SSP's, the entries.
    assert_eq!(lengths[lengths.len() - 4..], [508, 508, 508, 28]);
    assert!(lengths.iter().all(|len| len - LEN <= 512));
    // A node at port 3 of switch A6, as in the codec's vectors.
    let mut switch = with(Config::new(wide, 0xa6), 1);
    switch.sent();
    switch.receive(0, "0001fe03 00000001 00000000");
    assert_eq!(switch.sent(), [(0, hex("5283fe03 00000002 00005283"))]);
}

#[test]
fn floods_are_counted_and_bounded() {
    let config = Config { routes: 8, ..Config::new(Subnet::new(Width::Eight, 5).unwrap(), 1) };
    let five = config.subnet;
    let mut switch = with(config, 1);
    let all = (0..25).map(|switch| Entry::from(ssp::Route { subnet: five, switch, metric: Metric(0) }));
    let all: Vec<_> = all.collect();
    switch.pass(1);
    switch.sent();
    for round in 0..100 {
        let mut changed = all.clone();
        for entry in &mut changed {
            entry.metric = Metric(round % 14);
        }
        switch.hear(0, &changed);
        switch.receive(0, WHOLE);
    }
    assert_eq!(switch.routes().len(), 8);
    assert_eq!(switch.counters().table_full, 100 * 17);
    // One triggered update and one answer.
    assert_eq!(switch.sent().len(), 2);
    switch.bench.pass(Duration::from_millis(100));
    assert_eq!(switch.sent().len(), 1);
    // Another switch with our number is noticed.
    assert_eq!(switch.counters().conflicts, 8);
}

#[test]
fn ports_are_numbered_in_order_or_as_they_are_told() {
    let mut config = Config::new(subnet(), 1);
    config.ports = [("p1".to_owned(), 3), ("p2".to_owned(), 0x1f)].into();
    let mut switch = with(config, 4);
    switch.sent();
    let mut assigned = |port| {
        switch.receive(port, REQUEST);
        let sent = switch.sent();
        sent.iter().find(|it| it.1[3] == 3).unwrap().1[0]
    };
    assert_eq!([0, 1, 2, 3].map(&mut assigned), [0x25, 0x23, 0x3f, 0x27]);
    // Four bits of switch number leave two for ports: 3, 5 and 7.
    let four = Subnet::new(Width::Eight, 4).unwrap();
    let mut graph = kumiki_graph::Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let node = MaposSwitch::new(Config::new(four, 1)).unwrap();
    graph.add_node("switch", task, Box::new(node)).unwrap();
    for port in 0..4 {
        let name = format!("p{port}");
        graph.add_device(&name, Service::FRAME).unwrap();
        assert_eq!(graph.connect("switch", &name).is_ok(), port < 3);
    }
    assert!(MaposSwitch::new(Config::new(subnet(), 4)).is_err());
}
