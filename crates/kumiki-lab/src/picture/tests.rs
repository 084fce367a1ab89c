use super::{svg, text};
use crate::scenario::Scenario;

const SWITCHED: &str = r#"
title = "Throughput against window size"
[host.sender]
profile = "atm-board"
graph = ["bench", "tcp", "ip", "llc_snap", "atm0"]
[host.receiver]
like = "sender"
[switch.exchange]
ports = 2
queue_cells = 1024
channels = ["0 0/100 <-> 1 0/100"]
[link.one]
ends = ["sender.atm0", "exchange.0"]
medium = "oc3c-atm"
propagation = "1 us"
[link.two]
ends = ["exchange.1", "receiver.atm0"]
medium = "oc3c-atm"
propagation = "1 us"
[run]
duration = "1 s"

[load.bulk]
kind = "netperf"
from = "sender.bench"
to = "receiver.bench"
message = "8192 B"
"#;

const BRANCHED: &str = r#"
title = "Throughput against round-trip delay <XTP & TCP>"
[host.a]
graph = { xtp_test = ["xtp"], tcp_test = ["tcp"], xtp = ["vnet"], tcp = ["ip"], ip = ["vnet"], vnet = ["eth", "fddi0"], eth = ["sim_ether"], sim_ether = ["os_udp"], os_udp = ["os_ip"], os_ip = ["atm0"] }
kind = { os_udp = "udp", os_ip = "ip" }
[host.b]
like = "a"
[link.path]
ends = ["a.atm0", "b.atm0"]
medium = "ds3-plcp"
impair = { delay = "10 ms" }
[link.ring]
ends = ["a.fddi0", "b.fddi0"]
medium = "point-to-point"
rate = "100 Mb/s"
[run]
duration = "1 s"

[load.bulk]
kind = "netperf"
from = "a.tcp_test"
to = "b.tcp_test"
message = "8192 B"
"#;

fn scenario(text: &str) -> Scenario {
    toml::from_str(text).unwrap()
}

#[test]
fn a_chain_reads_from_the_top_down() {
    let expected = "\
Throughput against window size

host sender, profile atm-board
  bench
  └─ tcp: stream
     └─ ip: unit data
        └─ llc_snap: unit data
           └─ atm0: device on line one

host receiver, profile atm-board
  bench
  └─ tcp: stream
     └─ ip: unit data
        └─ llc_snap: unit data
           └─ atm0: device on line two

switch exchange, atm, 2 ports, 1024 cells in a queue
  0 0/100 <-> 1 0/100

lines
  one: sender.atm0 -- exchange.0, oc3c-atm, 1 us
  two: exchange.1 -- receiver.atm0, oc3c-atm, 1 us

loads
  bulk: netperf, sender.bench -> receiver.bench
";
    assert_eq!(text(&scenario(SWITCHED)), expected);
    let events = "[[event]]\nat = \"1 s\"\nlink = [\"one\", \"two\"]\nup = false\nloss = 0.01\ntoward = \"exchange\"\n";
    let told = "\nevents\n  1 s: one, two, up = false, loss = 1 %, toward = exchange\n";
    assert_eq!(text(&scenario(&format!("{SWITCHED}{events}"))), format!("{expected}{told}"));
}

#[test]
fn what_two_layers_stand_on_is_shown_once() {
    let text = text(&scenario(BRANCHED));
    let expected = "\
host a
  tcp_test
  └─ tcp: stream
     └─ ip: unit data
        └─ vnet: unit data
           ├─ eth: unit data
           │  └─ sim_ether
           │     └─ os_udp (udp): unit data
           │        └─ os_ip (ip): unit data
           │           └─ atm0: device on line path
           └─ fddi0: device on line ring
  xtp_test
  └─ xtp
     └─ vnet: unit data, as above
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_drawing_shows_every_node_line_and_switch_and_is_well_formed() {
    for (source, shown) in [
        (
            SWITCHED,
            &["bench", "llc_snap", "atm0", "exchange", "one: oc3c-atm, 1 us", "profile atm-board", "writes", "reads"][..],
        ),
        (BRANCHED, &["xtp_test", "vnet", "os_ip", "path: ds3-plcp, impaired", "&lt;XTP &amp; TCP&gt;"]),
    ] {
        let drawn = svg(&scenario(source));
        for words in shown {
            assert!(drawn.contains(words), "{words}");
        }
        assert_eq!(drawn, svg(&scenario(source)));
    }
}

#[test]
fn what_makes_no_sense_is_drawn_as_far_as_it_does() {
    for (from, to) in [
        // A circle, a host like itself, a line to nowhere, a graph without nodes.
        ("[\"bench\", \"tcp\", \"ip\", \"llc_snap\", \"atm0\"]", "{ a = [\"b\"], b = [\"a\"] }"),
        ("like = \"sender\"", "like = \"receiver\""),
        ("receiver.atm0\"]", "nobody.atm0\"]"),
        ("[\"bench\", \"tcp\", \"ip\", \"llc_snap\", \"atm0\"]", "[]"),
        ("ports = 2", "ports = 0"),
        ("like = \"sender\"", ""),
    ] {
        let changed = scenario(&SWITCHED.replace(from, to));
        assert!(text(&changed).ends_with('\n'));
        assert!(svg(&changed).contains("</svg>"));
    }
}
