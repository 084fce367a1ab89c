//! tshark reads what the papers' experiments send, and finds nothing wrong with it.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::capture::{self, Layers};
use kumiki_lab::experiment::{Experiment, Options, Run};
use kumiki_watchdog::process::Folder;

use crate::arrange::{run, scenario, tshark};

// 4.3BSD begins with one segment, whose acknowledgment waits for the beat of 200 ms.
const SHORT: [&str; 2] = ["run.warm_up=0 ms", "run.duration=400 ms"];

fn captured(layers: Layers) -> Options {
    Options { captures: layers, ..Options::default() }
}

fn short(name: &str, set: &[&str], layers: Layers) -> Run {
    let set: Vec<&str> = SHORT.iter().chain(set).copied().collect();
    run(&scenario(name), &set, 1, &captured(layers))
}

/// What tshark may remark: conversations begin, and windows are as small as the experiment makes them.
const ALLOWED: [&str; 4] = [
    "Connection establish request (SYN): server port 5001",
    "Connection establish acknowledge (SYN+ACK): server port 5001",
    "TCP window update",
    "TCP window specified by the receiver is now completely full",
];

/// Gives each host's capture to tshark. Every packet is a TCP segment with good checksums, and at least `segments` of
/// them carry data.
fn approve(name: &str, run: &Run, segments: usize, frame: &str) {
    let fields = [
        "frame.protocols",
        "ip.checksum.status",
        "tcp.checksum.status",
        "_ws.malformed",
        "_ws.expert.message",
        "tcp.len",
        "frame.packet_flags",
    ];
    assert_eq!(run.measured.total.wrong, None);
    let mut directions = Vec::new();
    for host in &run.captured {
        let octets = capture::pcapng(core::slice::from_ref(host), Vec::new()).unwrap();
        let Some(rows) = tshark(&format!("{name}-{}", host.host), &octets, &fields) else {
            return;
        };
        assert_eq!(rows.len(), host.seen.len());
        let mut full = 0;
        for row in &rows {
            assert!(row[0].starts_with(frame), "{row:?}");
            assert!(row[0].contains("ip:tcp"), "{row:?}");
            assert_eq!(row[1..4], ["1", "1", ""], "{row:?}");
            let remarks = row[4].split(';').filter(|remark| !remark.is_empty());
            for remark in remarks {
                assert!(ALLOWED.contains(&remark), "{name}, {}: {row:?}", host.host);
            }
            full += usize::from(row[5] != "0");
        }
        assert!(full >= segments, "{name}, {}: {full}", host.host);
        directions.push(rows.iter().filter(|row| row[6] == "0x00000002").count());
    }
    // Both hosts send and receive.
    assert_eq!(directions.len(), 2);
    assert!(directions.iter().all(|sent| *sent > 0), "{directions:?}");
}

#[test]
fn paper_2_figure_6_without_a_board_is_as_tshark_wants_it() {
    for (window, segments) in [("16 KiB", 30), ("256 KiB", 200)] {
        let set = ["board=zero", &format!("window={window}")];
        let run = short("paper2-fig6", &set, Layers::Device);
        approve(&format!("fig6-zero-{segments}"), &run, segments, "atm:llc:ip:tcp");
    }
}

#[test]
fn paper_2_figure_6_with_the_board_is_as_tshark_wants_it() {
    for (window, segments) in [("16 KiB", 150), ("256 KiB", 150)] {
        let set = ["board=atm-board", &format!("window={window}")];
        let run = short("paper2-fig6", &set, Layers::Device);
        approve(&format!("fig6-board-{}", &window[..2]), &run, segments, "atm:llc:ip:tcp");
    }
}

#[test]
fn paper_2_figure_7_with_three_sessions_is_as_tshark_wants_it() {
    for pages in ["paper", "shared"] {
        let set = ["window=48 KiB", "sessions=3", &format!("pages={pages}")];
        let run = short("paper2-fig7", &set, Layers::Device);
        approve(&format!("fig7-{pages}"), &run, 200, "atm:llc:ip:tcp");
    }
}

#[test]
fn paper_5_is_as_tshark_wants_it() {
    for figure in ["paper5-fig2", "paper5-fig3"] {
        // Where throughput collapses, where windows are a few segments, and where nothing holds it back.
        for (buffer, message, segments) in
            [("4 KiB", "4 KiB", 5), ("8 KiB", "8 KiB", 10), ("16 KiB", "1 KiB", 30), ("64 KiB", "64 KiB", 50)]
        {
            let (by, of) = (format!("buffer={buffer}"), format!("message={message}"));
            let set = [&by, &of, "load.bulk.jitter=1 ms", "run.duration=400 ms"];
            let run = short(figure, &set, Layers::Device);
            let name = format!("{figure}-{}", &buffer[..2]).replace(' ', "");
            approve(&name, &run, segments, "atm:llc:ip:tcp");
        }
    }
}

#[test]
fn datagrams_over_atm_are_as_tshark_wants_them() {
    for scenario in ["udp-over-atm", "router"] {
        let run = run(&crate::arrange::scenario(scenario), &[], 1, &captured(Layers::Device));
        let fields =
            ["_ws.malformed", "ip.checksum.status", "udp.checksum.status", "_ws.expert.message", "frame.protocols"];
        for host in &run.captured {
            let octets = capture::pcapng(core::slice::from_ref(host), Vec::new()).unwrap();
            let name = format!("{scenario}-{}", host.host);
            let Some(rows) = tshark(&name, &octets, &fields) else {
                return;
            };
            // Fragments are data to tshark, but for the last of each datagram.
            let datagrams = rows.iter().filter(|row| row[4].contains("udp"));
            assert!(datagrams.count() > 50, "{name}");
            for row in rows {
                assert_eq!((row[0].as_str(), row[1].as_str()), ("", "1"), "{row:?}");
                let sum = if row[4].contains("udp") { "1" } else { "" };
                assert_eq!((row[2].as_str(), row[3].as_str()), (sum, ""), "{row:?}");
            }
        }
    }
}

#[test]
fn datagrams_can_be_captured_in_the_place_of_frames() {
    let set = ["board=zero", "window=64 KiB"];
    let run = short("paper2-fig6", &set, Layers::Ip);
    approve("ip", &run, 100, "raw:ip:tcp");
}

fn of<'a>(rows: &'a [Vec<String>], interface: &'a str) -> impl Iterator<Item = &'a Vec<String>> {
    rows.iter().filter(move |row| row[0] == interface)
}

#[test]
fn every_layer_can_be_captured_at_once() {
    let set = ["board=zero", "window=64 KiB"];
    let run = short("paper2-fig6", &set, Layers::All);
    let octets = crate::arrange::octets(&run);
    let fields =
        ["frame.interface_name", "frame.protocols", "_ws.malformed", "tcp.checksum.status", "frame.time_epoch"];
    let Some(rows) = tshark("all", &octets, &fields) else {
        return;
    };
    for host in ["sender", "receiver"] {
        for (layer, protocols) in
            [("atm0", "atm:llc:ip:tcp"), ("ip/llc_snap", "raw:ip:tcp"), ("tcp/ip", "exported_pdu:tcp")]
        {
            let name = format!("{host}.{layer}");
            assert!(of(&rows, &name).count() > 100, "{name}");
            for row in of(&rows, &name) {
                assert!(row[1].starts_with(protocols), "{row:?}");
                assert_eq!(row[2..4], ["", "1"], "{row:?}");
            }
        }
        let name = format!("{host}.bench/tcp");
        assert!(of(&rows, &name).count() > 100);
        assert!(of(&rows, &name).all(|row| row[1] == "exported_pdu:data"));
    }
    let times: Vec<f64> = rows.iter().map(|row| row[4].parse().unwrap()).collect();
    assert!(times.is_sorted());
}

#[test]
fn a_named_access_point_is_captured_alone_and_one_that_is_not_there_is_a_fault() {
    let layers = "receiver.tcp/ip".parse().unwrap();
    let run = short("paper2-fig6", &["board=zero", "window=64 KiB"], layers);
    let seen: Vec<(usize, bool)> = run.captured.iter().map(|host| (host.taps.len(), host.seen.is_empty())).collect();
    // The hosts are in the order of their names.
    assert_eq!(seen, [(1, false), (0, true)]);

    let point = crate::arrange::point(&scenario("paper2-fig6"), &["board=zero", "window=64 KiB"]);
    let layers = captured("receiver.tcp/udp".parse().unwrap());
    let profiles = crate::arrange::profiles(&point);
    let built = Experiment::build(&point.scenario, &profiles, 1, &layers);
    let fault = point.locate(built.err().unwrap()).to_string();
    assert!(fault.contains("`tcp` does not stand on `udp` there"), "{fault}");
}

#[test]
fn tshark_reads_the_negotiation_of_a_link_and_the_datagrams_that_pass_then() {
    let run = run(&scenario("pos"), &[], 1, &captured(Layers::All));
    let echoes = run.measured.total.echoes.unwrap();
    // The first is asked for before the link stands.
    assert_eq!((echoes.answered, echoes.wrong), (4, 0));
    let mut near = run.captured.into_iter().find(|it| it.host == "near").unwrap();
    // What the driver hands to the line and gets from it: PPP frames alone.
    let (line, _) = near.taps.iter().find(|(_, tap)| tap.upper == "driver" && tap.lower == "sdh").unwrap();
    let line = *line;
    near.taps.retain(|access_point, _| *access_point == line);
    near.seen.retain(|tapped| tapped.access_point == line);
    let octets = capture::pcapng(core::slice::from_ref(&near), Vec::new()).unwrap();
    let fields = ["frame.protocols", "_ws.malformed", "ppp.code", "icmp.type"];
    let Some(rows) = tshark("pos-near", &octets, &fields) else {
        return;
    };
    assert!(rows.iter().all(|row| row[1].is_empty()), "{rows:?}");
    let count = |protocol: &str, field: usize, value: &str| {
        let of = |row: &&Vec<String>| row[0].contains(protocol) && row[field] == value;
        rows.iter().filter(of).count()
    };
    for protocol in ["lcp", "ipcp", "ipv6cp"] {
        // Each asks, and each is asked; both are acknowledged.
        assert_eq!(count(protocol, 2, "1"), 2, "{protocol} {rows:?}");
        assert_eq!(count(protocol, 2, "2"), 2, "{protocol} {rows:?}");
    }
    assert_eq!(count("icmp", 3, "8"), 4);
    assert_eq!(count("icmp", 3, "0"), 4);
}

const LLC_ON_ETHERNET: &str = r#"
title = "LLC on Ethernet"
[host.a]
graph = ["app", "tcp", "ip", "arp", "llc", "eth", "lan"]
ip = { address = "10.0.0.1/24", mtu = "1492 B", neighbours = "below" }
arp = { addresses = ["10.0.0.1"] }
eth = { address = "02:00:00:00:00:01" }
[host.b]
like = "a"
ip = { address = "10.0.0.2/24" }
arp = { addresses = ["10.0.0.2"] }
eth = { address = "02:00:00:00:00:02" }
[link.line]
ends = ["a.lan", "b.lan"]
medium = "point-to-point"
rate = "100 Mb/s"
[run]
warm_up = "10 ms"
duration = "20 ms"

[load.bulk]
kind = "netperf"
from = "a.app"
to = "b.app"
message = "8192 B"
"#;

/// FDDI is link type 10, its addresses turned around (RFC 1390). On an Ethernet LLC's frames have a length.
#[test]
fn frames_of_fddi_and_of_llc_on_ethernet_are_as_tshark_wants_them() {
    let fields = [
        "frame.protocols",
        "fddi.src",
        "eth.src",
        "ip.src",
        "ip.checksum.status",
        "tcp.checksum.status",
        "_ws.malformed",
        "_ws.expert.message",
    ];
    let short = ["run.duration=20 ms", "run.warm_up=10 ms"];
    for (name, document, source) in [("fddi", scenario("fddi"), 1), ("llc", crate::arrange::parse(LLC_ON_ETHERNET), 2)]
    {
        let run = run(&document, &short, 1, &captured(Layers::Device));
        let host = &run.captured[0];
        let octets = capture::pcapng(core::slice::from_ref(host), Vec::new()).unwrap();
        let Some(rows) = tshark(name, &octets, &fields) else {
            return;
        };
        let medium = if name == "fddi" { "fddi" } else { "eth" };
        let mut data = 0;
        for row in &rows {
            assert!(row[0].starts_with(&format!("{medium}:llc:")), "{row:?}");
            let arp = row[0].ends_with(":arp");
            let sums = if arp { ["", ""] } else { ["1", "1"] };
            assert_eq!(row[4..6], sums, "{row:?}");
            assert_eq!(row[6], "", "{row:?}");
            for remark in row[7].split(';').filter(|remark| !remark.is_empty()) {
                assert!(ALLOWED.contains(&remark), "{row:?}");
            }
            if !arp {
                data += 1;
                let last = row[3].rsplit('.').next().unwrap();
                // tshark gives FDDI's twice, as address and as source.
                let station = row[source].split(';').next();
                assert_eq!(station, Some(&*format!("02:00:00:00:00:0{last}")), "{row:?}");
            }
        }
        assert!(data > 50, "{name}: {data}");
    }
}

/// A line on which packets are lost, wait and are thrown away, and a router that is switched off and on.
const ROUTED: &str = r#"
title = "A router"
host.a = { graph = { tcp = ["ip"], udp = ["ip"], ip = ["l0"] } }
host.b = { like = "a" }
host.r = { graph = { ip = ["l0", "l1"] }, ip = { forwarding = true } }
link.a = { ends = ["a.l0", "r.l0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "10 us" }
link.b = { ends = ["r.l1", "b.l0"], medium = "point-to-point", rate = "20 Mb/s", propagation = "2 ms", queue_frames = 20, impair = { toward = "b.l0", loss = "0.5 %" } }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
load.voice = { kind = "udp", from = "b", to = "a", rate = "200 kb/s", message = "160 B" }
run = { duration = "900 ms" }
event = [{ at = "300 ms", host = "r", up = false }, { at = "400 ms", host = "r", up = true }]
"#;

/// What is taken while a run goes on, and written to a file or kept in memory, is what is written when all was kept.
#[test]
fn captures_that_are_written_while_a_run_goes_on_are_those_of_the_whole_run() {
    let folder = Folder::new("spooled");
    let fig6 = ["board=atm-board", "window=32 KiB", "run.warm_up=0 s", "run.duration=400 ms"];
    let [shared, router, pos] = ["paper2-fig7", "router", "pos"].map(scenario);
    let fig7 = ["pages=paper", "window=24 KiB", "sessions=4", "run.warm_up=0 s", "run.duration=300 ms"];
    for (name, document, set) in [
        ("paper2-fig6", &scenario("paper2-fig6"), &fig6[..]),
        ("paper2-fig7", &shared, &fig7[..]),
        ("router", &router, &[]),
        ("pos", &pos, &[]),
        ("routed", &crate::arrange::parse(ROUTED), &[]),
    ] {
        for (layers, snaplen) in [(Layers::Device, 0), (Layers::All, 0), (Layers::All, 60)] {
            let point = crate::arrange::point(document, set);
            let profiles = crate::arrange::profiles(&point);
            let build =
                || Experiment::build(&point.scenario, &profiles, 1, &captured(layers.clone())).map_err(drop).unwrap();
            let whole = build().run();
            for directory in [None, Some(folder.path("."))] {
                let (run, spools) = build().run_spooled(1, (snaplen, directory.as_deref())).unwrap();
                assert!(run.measured == whole.measured, "{name}");
                assert_eq!(spools.len(), whole.captured.len(), "{name}");
                for ((host, spool), captured) in spools.into_iter().zip(&whole.captured) {
                    let expected = capture::cut(core::slice::from_ref(captured), snaplen, Vec::new()).unwrap();
                    let found = spool.finish().unwrap().into_octets().unwrap();
                    assert!(found == expected, "{name}, {layers:?}, {snaplen}: {host}");
                }
            }
        }
    }
}
