use super::*;

fn words<T>(result: Result<T, Misfit>) -> String {
    result
        .err()
        .map_or_else(|| "fits".to_owned(), |misfit| misfit.to_string())
}

fn idle() -> Box<Scripted> {
    node(|_, _| {})
}

fn graph() -> Graph {
    let mut graph = Graph::new(1, 1);
    let task = graph.add_task("cpu");
    graph.add_device("eth0", Service::Frame).unwrap();
    for name in ["ip", "snap"] {
        graph.add_node(name, task, idle()).unwrap();
    }
    let mut stream = idle();
    stream.shape.offers = Some(Service::Stream);
    stream.shape.needs = &[Service::UnitData];
    stream.shape.below = (1, 1);
    graph.add_node("tcp", task, stream).unwrap();
    let mut program = idle();
    program.shape.offers = None;
    program.shape.needs = &[Service::Stream, Service::Connection];
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
    assert_eq!(words(graph.add_device("ip", Service::Frame)), taken);
    assert!(words(graph.add_node("eth0", task, idle())).contains("two layers called `eth0`"));
}

#[test]
fn an_unknown_layer_is_named() {
    let mut graph = graph();
    assert_eq!(
        words(graph.connect("ip", "eth1")),
        "there is no layer called `eth1`"
    );
    assert_eq!(
        words(graph.connect("udp", "ip")),
        "there is no layer called `udp`"
    );
    // A device is below, never above.
    assert_eq!(
        words(graph.connect("eth0", "ip")),
        "there is no layer called `eth0`"
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
    assert_eq!(
        words(few.start(ns(0))),
        "`tcp` stands on 0 layer(s); it needs 1 to 1"
    );
    few.connect("tcp", "ip").unwrap();
    assert_eq!(words(few.start(ns(0))), "fits");
    few.connect("tcp", "snap").unwrap();
    assert_eq!(
        words(few.start(ns(0))),
        "`tcp` stands on 2 layer(s); it needs 1 to 1"
    );
}

#[test]
fn a_layer_that_refuses_says_why() {
    let mut graph = graph();
    let mut picky = idle();
    picky.refuses = Some("it has a user already");
    graph.add_node("picky", TaskId(0), picky).unwrap();
    assert_eq!(
        words(graph.connect("ip", "picky")),
        "`ip` on `picky`: it has a user already"
    );
    // Nothing was joined: what is connected next has the first place below.
    graph.connect("ip", "eth0").unwrap();
    let joined: Vec<_> = graph
        .access_points()
        .map(|(_, upper, lower)| (upper, lower))
        .collect();
    assert_eq!(joined, [("ip", "eth0")]);
    assert_eq!(format!("{graph:?}"), r#"[("ip", "eth0")]"#);
}

#[test]
fn a_layer_cannot_stand_on_itself_however_deep() {
    let mut graph = graph();
    assert_eq!(
        words(graph.connect("ip", "ip")),
        "`ip` cannot stand on `ip`, because `ip` stands on `ip`"
    );
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
