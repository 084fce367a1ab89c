//! Scenarios with IPv6, Ethernet and ARP, and tshark as the judge of what their hosts say.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::capture;
use kumiki_lab::experiment::Run;

use crate::arrange::{run_captured, tshark};

/// Two hosts on an Ethernet of 100 Mb/s; `{X}` is the program and what it stands on.
const ETHERNET: &str = r#"
title = "Two stations"
[host.near]
graph = ["source", {ABOVE}, "eth", "p2p0"]
eth = { address = "02:00:00:00:00:01" }
{NEAR}
[host.far]
graph = ["sink", {ABOVE}, "eth", "p2p0"]
eth = { address = "02:00:00:00:00:02" }
{FAR}
[link.line]
ends = ["near.p2p0", "far.p2p0"]
medium = "point-to-point"
rate = "100 Mb/s"
propagation = "1 ms"
framing = "24 B"
[run]
duration = "20 s"

[load.bulk]
from = "near.source"
{LOAD}
"#;

const SIX: [&str; 2] = [
    r#"ipv6 = { address = "fd00::1/64", neighbours = "discover", discovery = { duplicate_transmits = 0 } }"#,
    r#"ipv6 = { address = "fd00::2/64", neighbours = "discover", discovery = { duplicate_transmits = 0 } }"#,
];
const FOUR: [&str; 2] = [
    "ip = { address = \"10.0.0.1/24\", neighbours = \"below\" }\narp = { addresses = [\"10.0.0.1\"] }",
    "ip = { address = \"10.0.0.2/24\", neighbours = \"below\" }\narp = { addresses = [\"10.0.0.2\"] }",
];
const TTCP: &str = "to = \"far.sink\"\nkind = \"ttcp\"\nmessage = \"8 KiB\"\ncount = 40";
const PING: &str = "to = \"far.icmp\"\nkind = \"ping\"\nmessage = \"4000 B\"\ncount = 5\ninterval = \"100 ms\"";
const UDP: &str = "to = \"far.sink\"\nkind = \"udp\"\nmessage = \"2000 B\"\ncount = 20\nrate = \"10 Mb/s\"";

fn ran(above: &str, hosts: [&str; 2], load: &str) -> Run {
    let text = ETHERNET
        .replace("{ABOVE}", above)
        .replace("{NEAR}", hosts[0])
        .replace("{FAR}", hosts[1])
        .replace("{LOAD}", load);
    // Who answers echoes is no program.
    let text = if load == PING { text.replace("\"sink\", ", "") } else { text };
    run_captured(&text)
}

/// Shows both captures to tshark, which finds every checksum right and nothing malformed; how many packets are of
/// `protocol`.
fn approved(name: &str, run: &Run, protocol: &str) -> Option<usize> {
    let fields = [
        "frame.protocols",
        "icmpv6.checksum.status",
        "tcp.checksum.status",
        "udp.checksum.status",
        "ip.checksum.status",
        "_ws.malformed",
    ];
    let mut found = 0;
    for host in &run.captured {
        let octets = capture::pcapng(core::slice::from_ref(host), Vec::new()).unwrap();
        let rows = tshark(&format!("{name}-{}", host.host), &octets, &fields)?;
        assert!(!rows.is_empty());
        for row in &rows {
            assert!(row[0].starts_with("eth:ethertype:"), "{row:?}");
            for status in &row[1..5] {
                assert!(["", "1"].contains(&status.as_str()), "{row:?}");
            }
            assert_eq!(row[5], "", "{row:?}");
        }
        let of_protocol = |row: &&Vec<String>| row[0].contains(protocol);
        found += rows.iter().filter(of_protocol).count();
    }
    Some(found)
}

#[test]
fn echoes_over_ipv6_are_answered_in_fragments_that_tshark_puts_together() {
    let run = ran(r#""icmp", "ipv6""#, SIX, PING);
    if let Some(found) = approved("ping6", &run, ":icmpv6") {
        // Five echoes and replies, a solicitation and its answer, and two hosts that look for routers; seen twice.
        assert!(found >= 24, "{found}");
    }
}

#[test]
fn tcp_goes_over_ipv6() {
    let run = ran(r#""tcp", "ipv6""#, SIX, TTCP);
    // 40 writes of 8 KiB in segments of 1440 octets less timestamps.
    if let Some(found) = approved("tcp6", &run, "ipv6:tcp") {
        assert!(found >= 2 * 230, "{found}");
    }
}

#[test]
fn udp_goes_over_ipv6() {
    let run = ran(r#""udp", "ipv6""#, SIX, UDP);
    if let Some(found) = approved("udp6", &run, ":udp") {
        assert!(found >= 2 * 20, "{found}");
    }
}

#[test]
fn tcp_goes_over_arp_and_ethernet() {
    let run = ran(r#""tcp", "ip", "arp""#, FOUR, TTCP);
    if let Some(found) = approved("tcp4", &run, "ip:tcp") {
        assert!(found >= 2 * 220, "{found}");
    }
    if let Some(found) = approved("arp", &run, "ethertype:arp") {
        assert!(found >= 4, "{found}");
    }
}
