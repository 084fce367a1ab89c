use std::fmt::Write as _;

use crate::scenario::Scenario;
use crate::scenario::groups::tests::read;

/// Two hosts at each side of two routers.
const DUMBBELL: &str = r#"
title = "Dumbbell"
host.a = { count = 2, graph = ["ip", "l0"] }
host.b = { like = "a", count = 2 }
host.left = { graph = { ip = ["l0", "l1", "out"] }, ip.forwarding = true }
host.right = { like = "left" }
link.in = { count = 2, ends = ["a${i}", "left.l${i}"], medium = "point-to-point", rate = "1 Gb/s" }
link.out = { count = 2, ends = ["right.l${i}", "b${i}"], medium = "point-to-point", rate = "1 Gb/s" }
link.mid = { ends = ["left.out", "right.out"], medium = "point-to-point", rate = "10 Mb/s" }
load.bulk = { kind = "netperf", from = "a*", to = "b*", message = "8 KiB" }
run.duration = "1 s"
"#;

/// What `ip` of `host` is set to.
fn ip(scenario: &Scenario, host: &str) -> String {
    let mut text = String::new();
    for (key, value) in &scenario.host[host].settings["ip"] {
        let _ = write!(text, "{key} = {value}; ");
    }
    text
}

#[test]
fn each_line_is_a_network_and_routes_lead_to_all() {
    let scenario = read(DUMBBELL, &[]).unwrap();
    let of_a = "address = \"10.0.0.1/24\"; routes = { default = \"10.0.0.2\" }; ";
    assert_eq!(ip(&scenario, "a0"), of_a);
    let left = &scenario.host["left"].settings["ip"];
    assert_eq!(left["interface"]["l1"]["address"].as_str(), Some("10.0.1.2/24"));
    let right = left["routes"]["default"].as_str().unwrap();
    let out = scenario.host["right"].settings["ip"]["interface"]["out"]["address"].as_str().unwrap();
    assert_eq!(out.split_once('/'), Some((right, "24")));
}

#[test]
fn what_is_given_is_left_as_it_is_and_neighbours_get_the_same_network() {
    let more = "host.a1.ip = { address = \"192.168.7.9/28\", routes = { default = \"192.168.7.1\" } }\n";
    let scenario = read(&format!("{more}{DUMBBELL}"), &[]).unwrap();
    assert_eq!(ip(&scenario, "a1"), "address = \"192.168.7.9/28\"; routes = { default = \"192.168.7.1\" }; ");
    let left = &scenario.host["left"].settings["ip"]["interface"]["l1"];
    assert_eq!(left["address"].as_str(), Some("192.168.7.1/28"));
    let two = ["host.a1.ip.address=10.1.0.1/24", "host.left.ip.interface.l1.address=10.2.0.1/24"];
    let scenario = read(DUMBBELL, &two).unwrap();
    assert_eq!(scenario.host["a1"].settings["ip"]["address"].as_str(), Some("10.1.0.1/24"), "nobody lacks one there");
}

#[test]
fn a_load_without_a_way_is_refused_with_what_lacks() {
    for (from, to, words) in [
        (
            "ip.forwarding = true",
            "ip.ttl = 9",
            "load.bulk.to = \"b*\": left, on the way from a0 to b0, does not forward; expected forwarding = true for the ip of left",
        ),
        (
            "ends = [\"a${i}\", \"left.l${i}\"]",
            "ends = [\"a${i}\", \"left\"]",
            "host left has several devices; one of left.l0, left.l1, left.out",
        ),
    ] {
        assert!(DUMBBELL.contains(from), "{from}");
        let found = read(&DUMBBELL.replace(from, to), &[]).unwrap_err();
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn hosts_that_no_line_joins_are_told_apart_from_those_that_do_not_forward() {
    let apart = r#"
title = "Apart"
host.a = { count = 4, graph = ["ip", "l0"] }
link.one = { ends = ["a0", "a1"], medium = "point-to-point", rate = "1 Mb/s" }
link.two = { ends = ["a2", "a3"], medium = "point-to-point", rate = "1 Mb/s" }
load.bulk = { kind = "netperf", from = "a0", to = "a3", message = "8 KiB" }
run.duration = "1 s"
"#;
    let found = read(apart, &[]).unwrap_err();
    assert!(found.starts_with("x.toml:6: load.bulk.to = \"a3\": no line leads from a0 to a3"), "{found}");
}

/// Two pairs of hosts on two switches.
const CELLS: &str = r#"
title = "Cells"
host.s = { count = 2, graph = ["ip", "llc_snap", "atm0"] }
host.r = { like = "s", count = 2 }
switch.one = { queue_cells = 100 }
switch.two = { queue_cells = 100 }
link.in = { count = 2, ends = ["s${i}", "one"], medium = "oc3c-atm" }
link.mid = { ends = ["one", "two"], medium = "oc3c-atm" }
link.out = { count = 2, ends = ["two", "r${i}"], medium = "oc3c-atm" }
load.bulk = { kind = "netperf", from = "s*", to = "r*", message = "8 KiB" }
run.duration = "1 s"
"#;

#[test]
fn pairs_that_speak_over_cells_get_channels_through_the_switches() {
    let scenario = read(CELLS, &[]).unwrap();
    assert_eq!((scenario.switch["one"].ports, scenario.switch["two"].ports), (3, 3));
    let channels =
        |switch: &str| -> Vec<String> { scenario.switch[switch].channels().map(|it| it.to_string()).collect() };
    assert_eq!(channels("one"), ["0 0/100 <-> 2 0/100", "1 0/101 <-> 2 0/101"]);
    assert_eq!(channels("two"), ["0 0/100 <-> 1 0/100", "0 0/101 <-> 2 0/101"]);
    assert_eq!(ip(&scenario, "s1"), "address = \"10.0.0.4/24\"; neighbours = { \"10.0.0.2\" = \"0/101\" }; ");
    assert_eq!(ip(&scenario, "r1"), "address = \"10.0.0.2/24\"; neighbours = { \"10.0.0.4\" = \"0/101\" }; ");
}

#[test]
fn channels_that_are_given_are_followed() {
    let given = CELLS
        .replace("switch.one = {", "switch.one = { channels = [\"1 0/40 <-> 2 0/41\", \"0 0/50 <-> 2 0/51\"], ")
        .replace("switch.two = {", "switch.two = { channels = [\"0 0/41 <-> 2 0/42\", \"0 0/51 <-> 1 0/52\"], ");
    let scenario = read(&given, &[]).unwrap();
    assert!(ip(&scenario, "s1").contains("\"0/40\""), "{}", ip(&scenario, "s1"));
    assert!(ip(&scenario, "r1").contains("\"0/42\""), "{}", ip(&scenario, "r1"));
    assert!(ip(&scenario, "r0").contains("\"0/52\""), "{}", ip(&scenario, "r0"));
    let asks = CELLS.replace("\"ip\", \"llc_snap\"", "\"ip\", \"atm_arp\", \"llc_snap\"");
    let scenario = read(&asks, &[]).unwrap();
    let arp = &scenario.host["s0"].settings["atm_arp"];
    assert_eq!(arp["known"]["10.0.0.1"].as_str(), Some("0/100"), "{arp:?}");
    assert!(ip(&scenario, "s0").contains("neighbours = \"below\""));
}

#[test]
fn who_asks_for_link_addresses_is_told_its_own() {
    let lan = r#"
title = "A line of Ethernet"
host.a = { graph = ["ip", "arp", "llc", "eth", "lan"] }
host.b = { like = "a", eth.address = "02:00:00:00:00:77" }
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s" }
load.probe = { kind = "ping", from = "a", to = "b", message = "56 B" }
run.duration = "1 s"
"#;
    let scenario = read(lan, &[]).unwrap();
    let of = |host: &str, node: &str, key: &str| scenario.host[host].settings[node][key].to_string();
    assert_eq!(of("a", "eth", "address"), "\"02:00:00:00:00:01\"");
    assert_eq!(of("b", "eth", "address"), "\"02:00:00:00:00:77\"");
    assert_eq!(of("b", "arp", "addresses"), "[\"10.0.0.2\"]");
    assert_eq!(of("a", "ip", "neighbours"), "\"below\"");
}

#[test]
fn a_network_of_many_has_room_for_all() {
    let many = CELLS
        .replace("host.s = { count = 2", "host.s = { count = 300")
        .replace("link.in = { count = 2", "link.in = { count = 300");
    let many = many.replace("to = \"r*\"", "to = \"r0\"");
    let scenario = read(&many, &[]).unwrap();
    let addresses: std::collections::BTreeSet<String> =
        scenario.host.keys().map(|host| scenario.host[host].settings["ip"]["address"].to_string()).collect();
    assert_eq!(addresses.len(), 302);
    assert!(addresses.contains("\"10.0.1.46/23\""), "{addresses:?}");
    assert_eq!(scenario.switch["one"].channels().count(), 300);
}

/// Two hosts on one segment, with `graph`, and `more`.
fn segment(graph: &str, more: &[&str]) -> Result<Scenario, String> {
    let text = format!(
        r#"
title = "A segment"
host.a.graph = [{graph}]
host.b.graph = [{graph}]
switch.lan = {{ kind = "ethernet", queue_frames = 64 }}
link.a = {{ ends = ["a", "lan"], medium = "point-to-point", rate = "10 Mb/s" }}
link.b = {{ ends = ["b", "lan"], medium = "point-to-point", rate = "10 Mb/s" }}
load.bulk = {{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }}
run.duration = "1 s"
"#
    );
    read(&text, more)
}

#[test]
fn two_stations_of_a_segment_with_one_mac_address_are_refused() {
    const GRAPH: &str = r#""ip", "arp", "eth", "l0""#;
    let one = "host.a.eth.address=02:00:00:00:00:0a";
    segment(GRAPH, &[one]).unwrap();
    segment(GRAPH, &[one, "host.b.eth.address=02:00:00:00:00:0b"]).unwrap();
    let refused = segment(GRAPH, &[one, "host.b.eth.address=02:00:00:00:00:0A"]).unwrap_err();
    let words = "host a has the address 02:00:00:00:00:0a already, on the same network";
    assert!(refused.contains("host.b.eth.address"), "{refused}");
    assert!(refused.contains(words), "{refused}");
}

#[test]
fn ip_on_ethernet_without_arp_is_refused() {
    let refused = segment(r#""ip", "eth", "l0""#, &[]).unwrap_err();
    let words = "ip stands on eth, and nothing finds the MAC addresses of others; expected `arp` between them";
    assert!(refused.contains("host.a.graph"), "{refused}");
    assert!(refused.contains(words), "{refused}");
}

/// Three stations of a ring, with `graph`, and `more`.
fn ring(graph: &str, more: &[&str]) -> Result<Scenario, String> {
    let text = format!(
        r#"
title = "A ring"
host.a.graph = [{graph}]
host.b.graph = [{graph}]
host.c.graph = [{graph}]
ring.r = {{ ends = ["a.f0", "b.f0", "c.f0"], medium = "fddi" }}
load.bulk = {{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }}
run.duration = "1 s"
"#
    );
    read(&text, more)
}

#[test]
fn a_ring_without_arp_is_refused_with_its_line() {
    ring(r#""ip", "arp", "llc_snap", "fddi", "f0""#, &[]).unwrap();
    let refused = ring(r#""ip", "llc_snap", "fddi", "f0""#, &[]).unwrap_err();
    for words in [
        "x.toml:3: host.a.graph",
        "ip stands on llc_snap on fddi, and nothing finds the MAC addresses of others",
        r#"expected `arp` between them: "ip", "arp", "llc_snap", "fddi", "f0""#,
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    // Without LLC as well, both are told at once.
    let refused = ring(r#""ip", "fddi", "f0""#, &[]).unwrap_err();
    assert!(refused.contains(r#"expected `arp` between them: "ip", "arp", "llc_snap", "fddi", "f0""#), "{refused}");
    // Whatever is said of neighbours, no MAC address comes of it.
    for said in ["\"one\"", "\"below\"", "{ \"10.0.0.2\" = \"0/100\" }"] {
        let more = format!("host.a.ip.neighbours={said}");
        let refused = ring(r#""ip", "llc_snap", "fddi", "f0""#, &[&more]).unwrap_err();
        assert!(refused.contains("nothing finds the MAC addresses"), "{refused}");
    }
}

#[test]
fn arp_that_is_there_is_asked() {
    const GRAPH: &str = r#""ip", "arp", "llc_snap", "fddi", "f0""#;
    ring(GRAPH, &["host.a.ip.neighbours=below"]).unwrap();
    let refused = ring(GRAPH, &["host.b.ip.neighbours=one"]).unwrap_err();
    for words in ["host.b.ip.neighbours", "arp finds the MAC addresses of others, and is not asked; expected \"below\""]
    {
        assert!(refused.contains(words), "{words}: {refused}");
    }
}

#[test]
fn ipv6_on_ethernet_asks_its_neighbours() {
    const GRAPH: &str = r#""tcp", "ipv6", "eth", "l0""#;
    const ADDRESSES: [&str; 4] = [
        "host.a.ipv6.address=fd00::1/64",
        "host.b.ipv6.address=fd00::2/64",
        "host.a.eth.address=02:00:00:00:00:01",
        "host.b.eth.address=02:00:00:00:00:02",
    ];
    let asked = ["host.a.ipv6.neighbours=discover", "host.b.ipv6.neighbours=discover"];
    segment(GRAPH, &[&ADDRESSES[..], &asked].concat()).unwrap();
    let refused = segment(GRAPH, &[&ADDRESSES[..], &asked[..1]].concat()).unwrap_err();
    for words in ["host.b.graph", "does not ask for the MAC addresses", "ipv6.neighbours = \"discover\""] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
}

/// Two routers between two hosts, with these routes.
fn routed(left: &str, right: &str) -> Result<Scenario, String> {
    let text = format!(
        r#"
title = "Two routers"
host.a = {{ graph = ["ip", "l0"], ip = {{ address = "10.0.0.2/24", routes = {{ default = "10.0.0.1" }} }} }}
host.b = {{ graph = ["ip", "l0"], ip = {{ address = "10.0.2.2/24", routes = {{ default = "10.0.2.1" }} }} }}
[host.left]
graph = {{ ip = ["near", "mid"] }}
ip.forwarding = true
ip.interface = {{ near = {{ address = "10.0.0.1/24" }}, mid = {{ address = "10.0.1.1/24" }} }}
ip.routes = {{ {left} }}
[host.right]
graph = {{ ip = ["near", "mid"] }}
ip.forwarding = true
ip.interface = {{ near = {{ address = "10.0.2.1/24" }}, mid = {{ address = "10.0.1.2/24" }} }}
ip.routes = {{ {right} }}
[link]
x = {{ ends = ["a", "left.near"], medium = "point-to-point", rate = "10 Mb/s" }}
y = {{ ends = ["left.mid", "right.mid"], medium = "point-to-point", rate = "10 Mb/s" }}
z = {{ ends = ["right.near", "b"], medium = "point-to-point", rate = "10 Mb/s" }}
[load]
bulk = {{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }}
[run]
duration = "1 s"
"#
    );
    read(&text, &[])
}

#[test]
fn routes_that_lead_nowhere_or_in_a_circle_are_refused_with_their_line() {
    routed("default = \"10.0.1.2\"", "default = \"10.0.1.1\"").unwrap();
    for (left, right, words) in [
        (
            "\"10.0.9.0/24\" = \"10.0.1.2\"",
            "default = \"10.0.1.1\"",
            "x.toml:9: host.left.ip.routes: left, on the way from a to b, has no route to 10.0.2.2",
        ),
        (
            "default = \"10.0.1.2\"",
            "\"10.0.9.0/24\" = \"10.0.1.1\"",
            "x.toml:14: host.right.ip.routes: right, on the way from b to a, has no route to 10.0.0.2",
        ),
        (
            "default = \"10.0.1.2\"",
            "default = \"10.0.1.1\", \"10.0.2.2/32\" = \"10.0.1.1\"",
            "x.toml:9: host.left.ip.routes: what a sends to b (10.0.2.2) goes in a circle: left, right, left",
        ),
    ] {
        let refused = routed(left, right).unwrap_err();
        assert!(refused.starts_with(words), "{refused}");
        assert!(refused.contains("or no `routes` at all: then they are found"), "{refused}");
    }
}

/// The reader has two addresses, of which the first is called and only the other one has a route.
#[test]
fn the_address_that_is_called_is_the_one_that_needs_a_route() {
    let text = r#"
title = "Two ways"
host.a = { graph = ["ip", "l0"], ip = { address = "10.0.0.1/24", routes.default = "10.0.0.2" } }
host.r.graph = { ip = ["l0", "l1", "l2"] }
host.r.ip = { forwarding = true, interface.l0.address = "10.0.0.2/24", interface.l1.address = "10.3.0.1/24", interface.l2.address = "10.4.0.1/24", routes = { "10.2.0.0/24" = "10.4.0.2" } }
host.one = { graph = { ip = ["l0", "l1"] }, ip = { forwarding = true, interface.l0.address = "10.3.0.2/24", interface.l1.address = "10.1.0.2/24", routes.default = "10.3.0.1" } }
host.two = { graph = { ip = ["l0", "l1"] }, ip = { forwarding = true, interface.l0.address = "10.4.0.2/24", interface.l1.address = "10.2.0.2/24", routes.default = "10.4.0.1" } }
host.b = { graph = { ip = ["l0", "l1"] }, ip = { interface.l0.address = "10.1.0.1/24", interface.l1.address = "10.2.0.1/24", routes.default = "10.1.0.2" } }
link.k0 = { ends = ["a.l0", "r.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.k1 = { ends = ["r.l1", "one.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.k2 = { ends = ["r.l2", "two.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.k3 = { ends = ["one.l1", "b.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.k4 = { ends = ["two.l1", "b.l1"], medium = "point-to-point", rate = "10 Mb/s" }
load.some = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "3 Mb/s" }
run.duration = "1 s"
"#;
    let refused = read(text, &[]).unwrap_err();
    assert!(refused.contains("host.r.ip.routes: r, on the way from a to b, has no route to 10.1.0.1"), "{refused}");
    read(&text.replace("\"10.2.0.0/24\" = ", "\"10.1.0.0/24\" = \"10.3.0.2\", \"10.2.0.0/24\" = "), &[]).unwrap();
}

/// Two hosts at a router, over `layers`, with these default routers, and the server at this address.
fn over_ethernet(layers: &str, [client, server]: [&str; 2], address: &str) -> Result<Scenario, String> {
    let text = format!(
        r#"
title = "Over Ethernet"
host.c = {{ graph = ["ip", {layers} "l0"], ip = {{ address = "10.0.1.5/24", routes = {{ default = "{client}" }} }} }}
host.s = {{ graph = ["ip", {layers} "l0"], ip = {{ address = "{address}/24", routes = {{ default = "{server}" }} }} }}
host.r.graph = {{ ip = ["arp0", "arp1"], arp0 = ["eth0"], arp1 = ["eth1"], eth0 = ["l0"], eth1 = ["l1"] }}
host.r.kind = {{ arp0 = "arp", arp1 = "arp", eth0 = "eth", eth1 = "eth" }}
host.r.ip = {{ forwarding = true, interface = {{ arp0.address = "10.0.1.1/24", arp1.address = "10.0.2.1/24" }} }}
link.a = {{ ends = ["c", "r.l0"], medium = "point-to-point", rate = "100 Mb/s", framing = "24 B" }}
link.b = {{ ends = ["r.l1", "s"], medium = "point-to-point", rate = "100 Mb/s", framing = "24 B" }}
load.t = {{ kind = "netperf", from = "c", to = "s", message = "8 KiB" }}
run.duration = "1 s"
"#
    );
    read(&text, &[])
}

#[test]
fn a_router_that_nobody_is_is_refused_with_who_could_be_it() {
    let ethernet = |routers| over_ethernet("\"arp\", \"eth\",", routers, "10.0.2.5").map(|_| ());
    ethernet(["10.0.1.1", "10.0.2.1"]).unwrap();
    for (routers, words) in [
        (["10.0.1.2", "10.0.2.1"], ["x.toml:3: host.c.ip.routes", "10.0.1.2, the router of c's", "10.0.1.1 of r"]),
        (["10.0.1.1", "10.0.2.77"], ["x.toml:4: host.s.ip.routes", "10.0.2.77, the router of s's", "10.0.2.1 of r"]),
    ] {
        let refused = ethernet(routers).unwrap_err();
        let [place, who, such] = words;
        assert!(
            refused.starts_with(&format!("{place}: no host answers for {who} default route; expected")),
            "{refused}"
        );
        assert!(refused.contains(&format!("such as {such}, or no `routes`")), "{refused}");
    }
}

#[test]
fn an_address_of_two_hosts_is_told_before_the_circle_that_it_makes() {
    let refused = over_ethernet("\"arp\", \"eth\",", ["10.0.1.1", "10.0.2.1"], "10.0.2.1").unwrap_err();
    assert!(refused.contains("hosts r and s have the same address, 10.0.2.1"), "{refused}");
}

/// Datagrams are answered by nobody, so that who reads them needs no route.
#[test]
fn a_host_without_a_route_to_whom_it_sends_is_refused_before_anything_runs() {
    let read = |layers: &str, [from, to]: [&str; 2], load: &str| {
        let text = format!(
            r#"
title = "Apart"
host.a = {{ graph = ["ip", {layers} "l0"], ip.address = "10.0.0.1/24" }}
host.b = {{ graph = ["ip", {layers} "l0"], ip.address = "10.0.1.2/16" }}
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s" }}
load.x = {{ {load}, from = "{from}", to = "{to}", message = "1000 B" }}
run.duration = "1 s"
"#
        );
        read(&text, &[])
    };
    let [calls, units] = ["kind = \"netperf\"", "kind = \"udp\", rate = \"1 Mb/s\""];
    for layers in ["", "\"arp\", \"eth\","] {
        // b is in a network of which a is, and a in one of which b is not.
        for (ends, load) in [(["a", "b"], calls), (["b", "a"], calls), (["a", "b"], units)] {
            let refused = read(layers, ends, load).unwrap_err();
            assert!(refused.starts_with("x.toml:3: host.a.ip: a has no route to 10.0.1.2 of b; expected"), "{refused}");
        }
        read(layers, ["b", "a"], units).unwrap();
    }
}

#[test]
fn a_router_is_called_by_the_address_of_its_far_side() {
    let text = r#"
title = "A router that reads"
host.a.graph = ["tcp", "ip", "l0"]
host.b = { graph = { ip = ["l0", "l1"], tcp = ["ip"] }, ip.forwarding = true }
host.c.like = "a"
link.near = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.far = { ends = ["b.l1", "c.l0"], medium = "point-to-point", rate = "1 Mb/s" }
load.bulk = { kind = "netperf", from = "a", to = "b", to_address = "b.l1", message = "8 KiB" }
run.duration = "1 s"
"#;
    let scenario = read(text, &[]).unwrap();
    let topology = crate::topology::Topology::of(&scenario);
    let load = &scenario.load["bulk"];
    let (from, to) = (&load.from.0[0], &load.to.0[0]);
    let lines = |way: Option<Vec<crate::topology::Hop<'_>>>| -> Vec<String> {
        way.unwrap().iter().map(|hop| hop.line.to_owned()).collect()
    };
    assert_eq!(lines(topology.way(from, to)), ["near"]);
    assert_eq!(lines(topology.way_of_answers(to, from)), ["near"]);
    assert_eq!(topology.called_at(from, to), Some("b.l1"));
    // Who does not forward has no route to it.
    let ends = read(&text.replace(", ip.forwarding = true", ""), &[]).unwrap_err();
    assert!(ends.contains("load.bulk"), "{ends}");
}

#[test]
fn a_load_says_by_which_of_its_addresses_a_host_is_called() {
    let text = r#"
title = "Two lines"
host.a = { graph = { ip = ["l0", "l1"] } }
host.b = { like = "a" }
link.fast = { ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s" }
link.slow = { ends = ["a.l1", "b.l1"], medium = "point-to-point", rate = "1 Mb/s" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run.duration = "1 s"
"#;
    let crossed = |address: &str| {
        let set = format!("load.bulk.to_address={address}");
        let set = [set.as_str()];
        let scenario = read(text, if address.is_empty() { &[] } else { &set })?;
        let topology = crate::topology::Topology::of(&scenario);
        let load = &scenario.load["bulk"];
        let (from, to) = (&load.from.0[0], &load.to.0[0]);
        let lines = |way: Option<Vec<crate::topology::Hop<'_>>>| {
            way.unwrap().into_iter().map(|hop| hop.line.to_owned()).collect::<String>()
        };
        let ways = [topology.way(from, to), topology.way_of_answers(to, from)].map(lines);
        let limit = crate::limit::of_load(&scenario, load).unwrap().steps[0].rate_mbps.to_string();
        Ok::<_, String>((ways, limit))
    };
    let over = |line: &str, mbps: &str| Ok(([line, line].map(str::to_owned), mbps.to_owned()));
    assert_eq!(crossed(""), over("fast", "10.000"));
    for address in ["b.l1", "10.0.1.2", "[\"b.l1\"]"] {
        assert_eq!(crossed(address), over("slow", "1.000"), "{address}");
    }
    assert_eq!(crossed("b.l0"), over("fast", "10.000"));
    for (address, words) in [
        ("10.0.1.1", "10.0.1.1 is no address of IPv4 of who reads; one of 10.0.0.2 (b.l0), 10.0.1.2 (b.l1)"),
        ("a.l1", "a.l1 is no address of IPv4 of who reads"),
        ("[]", "a list without addresses; expected one of who reads, or no `to_address`"),
        ("[\"b.l0\", \"10.0.1.2\"]", "two addresses of b; expected one of each host, or two loads"),
    ] {
        let said = crossed(address).unwrap_err();
        assert!(said.contains("load.bulk.to_address") && said.contains(words), "{said}");
    }
    // It is the address that cannot be reached, and not the host.
    let apart = text.replace("ends = [\"a.l1\", \"b.l1\"]", "ends = [\"c\", \"b.l1\"]");
    let apart = apart.replace("host.b = ", "host.c = { graph = [\"ip\", \"l0\"] }\nhost.b = ");
    let apart = apart.replace("graph = { ip = [\"l0\", \"l1\"] } }\nhost.c", "graph = [\"ip\", \"l0\"] }\nhost.c");
    let apart = apart.replace("host.b = { like = \"a\" }", "host.b = { graph = { ip = [\"l0\", \"l1\"] } }");
    let said = read(&apart, &["load.bulk.to_address=b.l1"]).map(drop).unwrap_err();
    assert!(said.contains("load.bulk.to_address = \"b.l1\": no line leads from a to b.l1"), "{said}");
}
