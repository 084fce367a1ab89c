//! How a scenario is drawn.

use super::*;

#[test]
fn the_graph_is_drawn_as_text_and_as_svg() {
    let points = points(&["host.b.graph={ ttcp = ['tcp'], echo = ['tcp'], tcp = ['ip'], ip = ['p2p0'] }"], true);
    let scenario = &points.first().unwrap().scenario;
    assert_eq!(
        scenario.graph_text(),
        r#"Two hosts, one line

host a, profile zero
  ttcp
    tcp  mss = "8192 B", nagle = true, window = "48 KiB"
      ip  address = "10.0.0.1/24"
        p2p0  -- line -- b.p2p0

host b, profile zero
  echo
    tcp  mss = "1460 B", nagle = true, window = "48 KiB"
      ip  address = "10.0.0.2/24"
        p2p0  -- line -- a.p2p0
  ttcp
    tcp, as above

link line: a.p2p0 - b.p2p0, point-to-point, 155.52 Mb/s, 10 ms

load bulk: ttcp, a.ttcp - b.ttcp
"#
    );
    let svg = scenario.graph_svg();
    assert_eq!(svg.matches("<rect").count(), 10, "the page, four and five layers");
    assert!(svg.contains("line: point-to-point, 155.52 Mb/s, 10 ms"), "{svg}");
}

/// Two hosts of layers that branch and meet again, and a switch between them.
const SWITCHED: &str = r#"
title = "A switch <one & two>"
[host.a]
graph = { test = ["tcp", "xtp"], tcp = ["ip"], ip = ["vnet"], xtp = ["vnet"], vnet = ["atm0"] }
kind = { test = "netperf" }
[host.b]
graph = ["bench", "tcp", "ip", "llc_snap", "atm0"]
[switch.exchange]
ports = 2
queue_cells = 1024
channels = ["0 0/100 <-> 1 0/100"]
[link]
one = { ends = ["a.atm0", "exchange.0"], medium = "oc3c-atm", propagation = "1 us" }
two = { ends = ["exchange.1", "b.atm0"], medium = "ds3-plcp", impair = { delay = "10 ms" } }
[run]
duration = "1 s"
[load.bulk]
kind = "netperf"
from = "a.test"
to = "b.bench"
message = "8192 B"
"#;

/// As it is read, and not judged.
fn unjudged(text: &str) -> Scenario {
    toml::from_str(text).unwrap()
}

#[test]
fn what_several_layers_stand_on_and_what_a_switch_does_is_shown_once() {
    let scenario = unjudged(SWITCHED);
    let text = scenario.graph_text();
    let shared = "  test (netperf)\n    tcp\n      ip\n        vnet\n          atm0  -- one -- exchange.0\n    xtp\n      vnet, as above\n";
    assert!(text.contains(shared), "{text}");
    assert!(text.contains("\nswitch exchange, atm, 2 ports, 1024 cells in a queue\n  0 0/100 <-> 1 0/100\n"), "{text}");
    let svg = scenario.graph_svg();
    for words in
        ["test", "llc_snap", "exchange", "one: oc3c-atm, 1 us", "two: ds3-plcp, impaired", "&lt;one &amp; two&gt;"]
    {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    assert_eq!(svg, scenario.graph_svg());
}

#[test]
fn what_makes_no_sense_is_drawn_as_far_as_it_does() {
    let graph = "[\"bench\", \"tcp\", \"ip\", \"llc_snap\", \"atm0\"]";
    for (from, to) in [
        // A circle, a host like itself, a line to nowhere, a graph without nodes, a switch without ports, a host
        // without a graph.
        (graph, "{ a = [\"b\"], b = [\"a\"] }"),
        (graph, "{ a = [\"a\"] }\nlike = \"b\""),
        ("\"b.atm0\"]", "\"nobody.atm0\"]"),
        (graph, "[]"),
        ("ports = 2", "ports = 0"),
        ("graph = [\"bench\"", "#"),
    ] {
        let text = SWITCHED.replace(from, to);
        assert_ne!(text, SWITCHED, "{from}");
        let scenario = unjudged(&text);
        assert!(scenario.graph_text().ends_with('\n'), "{to}");
        assert!(scenario.graph_svg().contains("</svg>"), "{to}");
    }
}
