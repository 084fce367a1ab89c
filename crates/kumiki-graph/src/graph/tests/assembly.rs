use super::*;
use kumiki_octets::Numbering;

const ETHER_TYPE: &Numbering = &Numbering::hexadecimal("EtherType", 4);
const IP_PROTOCOL: &Numbering = &Numbering::decimal("IP protocol");

fn words<T>(result: Result<T, GraphError>) -> String {
    result.err().map_or_else(|| "fits".to_owned(), |graph_error| graph_error.to_string())
}

fn idle() -> Box<Scripted> {
    node(|_, _| {})
}

fn graph() -> Graph {
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    graph.add_device("eth0", Service::FRAME).unwrap();
    for name in ["ip", "snap"] {
        graph.add_node(name, task, idle()).unwrap();
    }
    let mut stream = idle();
    stream.shape.offers = Some(Service::STREAM);
    stream.shape.needs = &[Service::UNIT_DATA];
    stream.shape.below = (1, 1);
    graph.add_node("tcp", task, stream).unwrap();
    let mut program = idle();
    program.shape.offers = None;
    program.shape.needs = &[Service::STREAM, Service::CONNECTION];
    graph.add_node("ttcp", task, program).unwrap();
    let mut island = idle();
    island.shape.needs = &[];
    graph.add_node("island", task, island).unwrap();
    graph
}

#[test]
fn a_name_is_given_once() {
    let mut graph = graph();
    let task = TaskId(0);
    let taken = "there are two layers called `ip`; names must differ";
    assert_eq!(words(graph.add_node("ip", task, idle())), taken);
    assert_eq!(words(graph.add_device("ip", Service::FRAME)), taken);
    assert!(words(graph.add_node("eth0", task, idle())).contains("two layers called `eth0`"));
}

#[test]
fn an_unknown_layer_is_named() {
    let mut graph = graph();
    assert_eq!(words(graph.connect("ip", "eth1")), "there is no layer called `eth1`");
    assert_eq!(words(graph.connect("udp", "ip")), "there is no layer called `udp`");
    // A device is below, never above.
    assert_eq!(words(graph.connect("eth0", "ip")), "there is no layer called `eth0`");
}

#[test]
fn a_service_with_a_name_fits_its_own_and_any_without() {
    let mut graph = graph();
    let task = TaskId(0);
    let mut named = |name: &str, offers, needs| {
        let mut layer = idle();
        (layer.shape.offers, layer.shape.needs) = (Some(offers), needs);
        graph.add_node(name, task, layer).unwrap();
    };
    const TRANSPORT: Service = Service::CONNECTION.named("transport");
    const SESSION: Service = Service::CONNECTION.named("session");
    named("transport", TRANSPORT, &[]);
    named("loopback", Service::CONNECTION, &[]);
    named("session", SESSION, &[TRANSPORT]);
    named("presentation", SESSION, &[SESSION]);
    assert_eq!(words(graph.connect("session", "transport")), "fits");
    assert_eq!(words(graph.connect("session", "loopback")), "fits");
    assert_eq!(words(graph.connect("ttcp", "transport")), "fits");
    assert_eq!(
        words(graph.connect("presentation", "transport")),
        "`presentation` cannot stand on `transport`: it needs session, and `transport` offers transport"
    );
}

#[test]
fn neighbours_that_do_not_fit_are_told_what_would() {
    let mut graph = graph();
    assert_eq!(
        words(graph.connect("ttcp", "ip")),
        "`ttcp` cannot stand on `ip`: it needs stream or connection, and `ip` offers unit data"
    );
    assert_eq!(
        words(graph.connect("tcp", "eth0")),
        "`tcp` cannot stand on `eth0`: it needs unit data, and `eth0` offers frame"
    );
    assert_eq!(
        words(graph.connect("ip", "ttcp")),
        "`ip` cannot stand on `ttcp`: it needs unit data or frame, and `ttcp` offers nothing"
    );
    assert_eq!(
        words(graph.connect("island", "ip")),
        "`island` cannot stand on `ip`: it needs nothing below it, and `ip` offers unit data"
    );
}

#[test]
fn too_few_and_too_many_layers_below_are_counted_at_the_start() {
    let mut few = graph();
    assert_eq!(words(few.start(ns(0))), "`tcp` stands on 0 layer(s); it needs 1 to 1");
    few.connect("tcp", "ip").unwrap();
    assert_eq!(words(few.start(ns(0))), "fits");
    few.connect("tcp", "snap").unwrap();
    assert_eq!(words(few.start(ns(0))), "`tcp` stands on 2 layer(s); it needs 1 to 1");
}

#[test]
fn a_layer_that_refuses_says_why() {
    let mut graph = graph();
    let mut picky = idle();
    picky.refuses = Some("it has a user already");
    graph.add_node("picky", TaskId(0), picky).unwrap();
    assert_eq!(words(graph.connect("ip", "picky")), "`ip` on `picky`: it has a user already");
    // Nothing was joined: what is connected next has the first place below.
    graph.connect("ip", "eth0").unwrap();
    let joined: Vec<_> = graph.access_points().map(|(_, upper, lower)| (upper, lower)).collect();
    assert_eq!(joined, [("ip", "eth0")]);
    assert_eq!(format!("{graph:?}"), r#"[("ip", "eth0")]"#);
}

#[test]
fn a_layer_cannot_stand_on_itself_however_deep() {
    let mut graph = graph();
    assert_eq!(words(graph.connect("ip", "ip")), "`ip` cannot stand on `ip`, because `ip` stands on `ip`");
    graph.connect("ip", "snap").unwrap();
    graph.add_node("tunnel", TaskId(0), idle()).unwrap();
    graph.connect("tunnel", "ip").unwrap();
    assert_eq!(
        words(graph.connect("snap", "tunnel")),
        "`snap` cannot stand on `tunnel`, because `tunnel` stands on `snap`"
    );
}

#[test]
fn a_protocol_is_found_by_its_type() {
    let mut graph = graph();
    let ip = graph.node("ip").unwrap();
    assert_eq!(graph.protocol::<Scripted>(ip).unwrap().refuses, None);
    graph.protocol_mut::<Scripted>(ip).unwrap().refuses = Some("no");
    assert_eq!(graph.protocol::<Scripted>(ip).unwrap().refuses, Some("no"));
    assert!(graph.node("eth0").is_none() && graph.node("nobody").is_none());
}

/// Two users on a layer that passes them through, on two others.
fn passing(pairs: &[(&str, &str)], own: Vec<Key>) -> (Graph, [Log; 3]) {
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    let users = [("ip", 0x0800), ("xtp", 0x817d)];
    for (name, number) in users {
        let mut user = idle();
        user.shape.keys = vec![Key::of(ETHER_TYPE, number)];
        graph.add_node(name, task, user).unwrap();
    }
    let mut vnet = idle();
    (vnet.passes_users_through, vnet.shape.keys) = (true, own);
    let lan = [idle(), idle()];
    let logs = [&vnet.joined, &lan[0].joined, &lan[1].joined].map(Clone::clone);
    graph.add_node("vnet", task, vnet).unwrap();
    for (name, node) in ["lan0", "lan1"].into_iter().zip(lan) {
        graph.add_node(name, task, node).unwrap();
    }
    for (upper, lower) in pairs {
        graph.connect(upper, lower).unwrap();
    }
    (graph, logs)
}

#[test]
fn a_layer_that_passes_users_through_has_an_access_point_for_each() {
    let users_first = [("ip", "vnet"), ("xtp", "vnet"), ("vnet", "lan0"), ("vnet", "lan1")];
    let mut users_last = users_first;
    users_last.rotate_left(2);
    for (pairs, order) in [(users_first, [0, 1, 2, 3]), (users_last, [0, 2, 1, 3])] {
        let (mut graph, [vnet, lan0, lan1]) = passing(&pairs, Vec::new());
        let bound = ["user 0 [EtherType 0x0800]", "user 1 [EtherType 0x817d]"];
        assert_eq!(lan0.take(), bound);
        assert_eq!(lan1.take(), bound);
        let vnet = vnet.take();
        let on = |line: &&String| line.starts_with("on");
        let places = |name: &str| -> Vec<usize> {
            let lines = vnet.iter().filter(on).enumerate();
            lines.filter(|(_, line)| line.contains(name)).map(|(n, _)| n).collect()
        };
        assert_eq!(places("lan0"), order[..2]);
        assert_eq!(places("lan1"), order[2..]);
        graph.start(Instant::ZERO).unwrap();
        assert_eq!(graph.access_points().count(), 2 + 2 * 2);
    }
}

#[test]
fn a_layer_that_passes_users_through_may_have_keys_of_its_own() {
    let (_, [_, lan0, _]) = passing(&[("vnet", "lan0"), ("xtp", "vnet")], vec![Key::of(ETHER_TYPE, 0x0806)]);
    assert_eq!(lan0.take(), ["user 0 [EtherType 0x0806]", "user 1 [EtherType 0x817d]"]);
}

#[test]
fn users_pass_through_several_layers() {
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    let mut user = idle();
    user.shape.keys = vec![Key::of(IP_PROTOCOL, 36)];
    let bottom = idle();
    let bound = bottom.joined.clone();
    graph.add_node("xtp", task, user).unwrap();
    for name in ["vsize", "vnet"] {
        let mut layer = idle();
        layer.passes_users_through = true;
        layer.shape.keys.clear();
        graph.add_node(name, task, layer).unwrap();
    }
    graph.add_node("ip", task, bottom).unwrap();
    for (upper, lower) in [("xtp", "vsize"), ("vnet", "ip"), ("vsize", "vnet")] {
        graph.connect(upper, lower).unwrap();
    }
    assert_eq!(bound.take(), ["user 0 [IP protocol 36]"]);
    assert!(words(graph.connect("ip", "xtp")).contains("cannot stand"));
}

#[test]
fn no_layer_that_passes_users_through_stands_on_a_device() {
    let mut graph = graph();
    let mut vnet = idle();
    vnet.passes_users_through = true;
    graph.add_node("vnet", TaskId(0), vnet).unwrap();
    assert!(words(graph.connect("vnet", "eth0")).contains("put a layer between"));
}
