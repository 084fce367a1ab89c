//! How much captures of a point will have, before it has been run: so that nobody fills a disk unawares, and for
//! nothing else.
//!
//! What one load leaves of a line the others take, however unevenly: what counts of a full line is its rate. Where all
//! that loads could send by themselves is less than the lines carry, it is that. Losses of the path and what is
//! retransmitted are not foreseen.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Duration;

use super::cost::{RATE_MBPS, Share, Traffic, UNACKNOWLEDGED, answer, number, octets, runs, seconds, sessions, span};
use crate::capture::Layers;
use crate::limit::{self, Carried, Direction};
use crate::scenario::{Host, Point, Scenario, Workload};
use crate::topology::{Hop, Topology, place};

/// What stands around a packet in a capture: a block with its length, time and options.
const BLOCK: f64 = 46.0;
/// The headers of IP and TCP, with timestamps, and a link's.
const HEADERS: f64 = 60.0;

/// About how many octets captures of all runs have. A packet is captured wherever it crosses a device: at both of its
/// ends, and twice at each host that sends it on.
pub(super) fn foreseen(point: &Point, most: Option<u32>, (layers, snaplen): (&Layers, u32)) -> f64 {
    let transfers = transfers(point, layers);
    let kept = |octets: f64| if snaplen == 0 { octets } else { octets.min(f64::from(snaplen)) };
    let of = |(transfer, carried): (&Transfer<'_>, f64)| {
        let Transfer { load, traffic, taps, .. } = transfer;
        let acknowledged = if is_acknowledged(load) { 0.5 } else { 0.0 };
        let packet = BLOCK + kept(traffic.payload + HEADERS) + acknowledged * (BLOCK + kept(HEADERS));
        let message = octets(&load.message).max(1.0);
        let written = carried * traffic.payload / message * (BLOCK + kept(message));
        let refused = (traffic.offered - traffic.packets).max(0.0);
        carried * taps.packets * packet + refused * taps.sender * packet + written * taps.messages
    };
    let carried = carried(point, &transfers);
    transfers.iter().zip(carried).map(of).sum::<f64>() * f64::from(runs(point, most))
}

/// What one writer of a load sends one reader.
struct Transfer<'a> {
    load: &'a Workload,
    traffic: Traffic,
    sessions: f64,
    /// How many seconds a packet takes of each direction of a line that it crosses, the answers of a call there and its
    /// requests here.
    takes: Vec<(Direction<'a>, f64)>,
    taps: Taps,
}

/// How many access points on record see it.
#[derive(Default)]
struct Taps {
    packets: f64,
    /// Those of them at the sender, which see what its device throws away, too.
    sender: f64,
    /// Those above the transport, which see what programs write and not what goes by packets.
    messages: f64,
}

fn is_acknowledged(load: &Workload) -> bool {
    !UNACKNOWLEDGED.contains(&load.kind.as_str())
}

/// All transfers of all loads, each as if it were alone.
fn transfers<'a>(point: &'a Point, layers: &Layers) -> Vec<Transfer<'a>> {
    let scenario = &point.scenario;
    let topology = Topology::of(scenario);
    let parts = parts(point, &topology);
    let of_load = |load: &'a Workload| {
        let ladder = limit::of_load(scenario, load).ok();
        let pairs: Vec<(&str, &str)> = load.pairs().collect();
        let sessions = sessions(load) / number(u64::try_from(pairs.len().max(1)).unwrap_or(u64::MAX));
        let of_pair = |(from, to): (&'a str, &'a str)| {
            let ways = ways(scenario, load, &topology, (from, to));
            let rate = |it: &(Direction<'_>, f64)| it.1 * parts.get(&it.0).copied().unwrap_or(1.0);
            let alone = ways.iter().flatten().map(rate).reduce(f64::min).unwrap_or(RATE_MBPS);
            let share = Share { ladder: ladder.as_ref(), rate_mbps: alone, pair: (from, to), sessions };
            let traffic = share.traffic(point, load, &topology);
            let way = topology.way(from, to).unwrap_or_default();
            let taps = taps(scenario, layers, &way, (from, to));
            Transfer { load, takes: takes(load, &ways, traffic.payload), traffic, sessions, taps }
        };
        pairs.into_iter().map(of_pair).collect::<Vec<_>>()
    };
    scenario.load.values().flat_map(of_load).collect()
}

/// The lines there and, of calls, back, with what each leaves alone in Mb/s.
fn ways<'a>(
    scenario: &'a Scenario,
    load: &Workload,
    topology: &Topology<'a>,
    (from, to): (&str, &str),
) -> Vec<Vec<(Direction<'a>, f64)>> {
    let there = limit::of_way(scenario, load, topology, ((from, to), Carried::Data));
    let back = (load.kind == "rpc").then(|| limit::of_way(scenario, load, topology, ((to, from), Carried::Answers)));
    [there].into_iter().chain(back).collect()
}

/// What part of its rate each direction has on average, where that changes.
fn parts<'a>(point: &'a Point, topology: &Topology<'a>) -> BTreeMap<Direction<'a>, f64> {
    let scenario = &point.scenario;
    if !limit::is_changing(scenario) {
        return BTreeMap::new();
    }
    let of_load = |load: &'a Workload| load.pairs().flat_map(move |pair| ways(scenario, load, topology, pair));
    let all: Vec<_> = scenario.load.values().flat_map(of_load).collect();
    let run = std::time::Duration::try_from_secs_f64(seconds(&scenario.run)).unwrap_or_default();
    limit::parts(scenario, &all, Duration::from_nanos(u64::try_from(run.as_nanos()).unwrap_or(u64::MAX)))
}

/// What a packet with so much payload takes of each direction.
fn takes<'a>(load: &Workload, ways: &[Vec<(Direction<'a>, f64)>], payload: f64) -> Vec<(Direction<'a>, f64)> {
    let (there, back) = match load.kind.as_str() {
        "rpc" => {
            let (request, answer) = (octets(&load.message).max(1.0), answer(load));
            let packets = (request + answer) / payload.max(1.0);
            (request / packets, answer / packets)
        }
        _ => (payload, 0.0),
    };
    let of = |(way, octets): (&Vec<(Direction<'a>, f64)>, f64)| -> Vec<(Direction<'a>, f64)> {
        way.iter().map(|(direction, mbps)| (*direction, octets * 8.0 / (mbps.max(1e-9) * 1e6))).collect()
    };
    ways.iter().zip([there, back]).flat_map(of).collect()
}

/// How many packets of each transfer the lines carry: all grow alike, octet for octet, until they have sent all or a
/// line of theirs is full.
fn carried(point: &Point, transfers: &[Transfer<'_>]) -> Vec<f64> {
    let mut left = capacities(point, transfers);
    let full: BTreeMap<_, f64> = left.iter().map(|(direction, seconds)| (*direction, seconds * 1e-9)).collect();
    let mut carried = vec![0.0; transfers.len()];
    let grows = |transfer: &Transfer<'_>| transfer.sessions.max(f64::MIN_POSITIVE) / transfer.traffic.payload.max(1.0);
    let mut growing: BTreeSet<usize> = (0..transfers.len()).collect();
    while !growing.is_empty() {
        let now = || growing.iter().filter_map(|number| Some((*number, transfers.get(*number)?)));
        let mut wanted: BTreeMap<Direction<'_>, f64> = BTreeMap::new();
        for (_, transfer) in now() {
            for (direction, seconds) in &transfer.takes {
                *wanted.entry(*direction).or_default() += grows(transfer) * seconds;
            }
        }
        let until_full = wanted.iter().filter_map(|(direction, each)| Some(left.get(direction)? / each));
        let until_sent = now().filter_map(|(number, it)| Some((it.traffic.packets - carried.get(number)?) / grows(it)));
        let Some(more) = until_full.chain(until_sent).filter(|it| it.is_finite()).reduce(f64::min) else {
            break;
        };
        let more = more.max(0.0);
        for (direction, each) in &wanted {
            left.entry(*direction).and_modify(|left| *left -= each * more);
        }
        for (number, transfer) in now() {
            if let Some(carried) = carried.get_mut(number) {
                *carried += grows(transfer) * more;
            }
        }
        let is_full = |direction: &Direction<'_>| left.get(direction) <= full.get(direction);
        let is_done = |number: &usize| {
            transfers.get(*number).zip(carried.get(*number)).is_none_or(|(it, carried)| {
                *carried >= it.traffic.packets * (1.0 - 1e-9)
                    || it.takes.iter().any(|(direction, _)| is_full(direction))
            })
        };
        let count = growing.len();
        growing.retain(|number| !is_done(number));
        if growing.len() == count {
            break;
        }
    }
    carried
}

/// For how many seconds each direction carries at its rate while there is somebody to use it.
fn capacities<'a>(point: &Point, transfers: &[Transfer<'a>]) -> BTreeMap<Direction<'a>, f64> {
    let topology = Topology::of(&point.scenario);
    let parts = parts(point, &topology);
    let mut spans: BTreeMap<Direction<'a>, Vec<(f64, f64)>> = BTreeMap::new();
    for transfer in transfers {
        for (direction, _) in &transfer.takes {
            spans.entry(*direction).or_default().push(span(&point.scenario.run, transfer.load));
        }
    }
    let together = |(direction, mut spans): (Direction<'a>, Vec<(f64, f64)>)| {
        spans.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let (mut seconds, mut until) = (0.0, 0.0);
        for (from, to) in spans {
            seconds += (to - from.max(until)).max(0.0);
            until = to.max(until);
        }
        (direction, seconds * parts.get(&direction).copied().unwrap_or(1.0))
    };
    spans.into_iter().map(together).collect()
}

/// The access points on record that a transfer crosses.
fn taps(scenario: &Scenario, layers: &Layers, way: &[Hop<'_>], (from, to): (&str, &str)) -> Taps {
    let plugs: Vec<&str> = way.iter().flat_map(|hop| [hop.out, hop.into]).collect();
    let at_hosts = plugs.iter().filter_map(|plug| Some((*plug, scenario.host.get(place(plug))?)));
    let one = |is_sender: bool| Taps { packets: 1.0, sender: f64::from(u8::from(is_sender)), messages: 0.0 };
    let is_sender = |plug: &str| place(plug) == place(from);
    let of = |(plug, host): (&str, &Host)| match layers {
        Layers::None => Taps::default(),
        Layers::Device | Layers::Ip => one(is_sender(plug)),
        Layers::All => {
            let end = [from, to].into_iter().find(|end| place(end) == place(plug));
            of_all_layers(host, end, plug, is_sender(plug))
        }
        Layers::Named(_) => Taps::default(),
    };
    let mut all = at_hosts.map(of).fold(Taps::default(), |sum, it| Taps {
        packets: sum.packets + it.packets,
        sender: sum.sender + it.sender,
        messages: sum.messages + it.messages,
    });
    if let Layers::Named(names) = layers {
        let hosts: BTreeSet<&str> = plugs.iter().map(|plug| place(plug)).collect();
        let seen = names.iter().filter(|name| hosts.contains(name.host.as_str())).count();
        all.packets = number(u64::try_from(seen).unwrap_or(u64::MAX));
    }
    all
}

/// Every access point between the node of `end` and the device of `plug`; of a host between the ends from its IP down.
fn of_all_layers(host: &Host, end: Option<&str>, plug: &str, is_sender: bool) -> Taps {
    let device = plug.split_once('.').map_or(plug, |(_, device)| device);
    let Some(graph) = &host.graph else {
        return Taps { packets: 1.0, ..Taps::default() };
    };
    let is_of = |node: &&str, kinds: &[&str]| kinds.contains(&host.kind_of(node));
    let own = end.and_then(|end| end.split_once('.')).map(|(_, node)| node);
    let top = own.or_else(|| graph.nodes().into_iter().find(|node| is_of(node, &["ip", "ipv6"])));
    let mut path = Vec::new();
    if !top.is_some_and(|top| down(graph, top, device, &mut path)) {
        return Taps { packets: 1.0, ..Taps::default() };
    }
    let edges = path.len().saturating_sub(1);
    let above = path.iter().position(|node| is_of(node, &["tcp", "udp"])).unwrap_or(0);
    let [edges, above] = [edges, above].map(|it| number(u64::try_from(it).unwrap_or(u64::MAX)));
    // What is read of a stream comes as segments do.
    let messages = if is_sender { above } else { (above - 1.0).max(0.0) };
    Taps { packets: edges - messages, sender: if is_sender { edges - messages } else { 0.0 }, messages }
}

/// Finds a way from `node` down to `device`.
fn down<'a>(graph: &'a crate::scenario::Graph, node: &'a str, device: &str, path: &mut Vec<&'a str>) -> bool {
    if path.contains(&node) {
        return false;
    }
    path.push(node);
    if node == device || graph.below(node).into_iter().any(|below| down(graph, below, device, path)) {
        return true;
    }
    path.pop();
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Choice, Document};

    /// A connection, and `more` beside it.
    fn point(more: &str) -> Point {
        let text = format!(
            r#"
title = "A line"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }}
run.duration = "20 s"
{more}
"#
        );
        Document::parse("line", "line.toml", &text).unwrap().points(&Choice::default()).unwrap().remove(0)
    }

    const BULK: &str = r#"load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }"#;

    fn of(more: &str, layers: &str, snaplen: u32) -> f64 {
        foreseen(&point(more), None, (&layers.parse().unwrap(), snaplen))
    }

    #[test]
    fn captures_are_foreseen_by_what_the_line_carries() {
        // 9.65 Mb/s of 1448 octets each for 20 s, at both hosts, and half as many acknowledgments.
        let packets = 2.0 * 9.65e6 / 8.0 / 1448.0 * 20.0;
        let all = packets * (46.0 + 1448.0 + 60.0 + 0.5 * 106.0);
        assert!((of(BULK, "device", 0) / all - 1.0).abs() < 0.01, "{} {all}", of(BULK, "device", 0));
        assert!((of(BULK, "device", 128) / (packets * (46.0 + 128.0 + 53.0)) - 1.0).abs() < 0.01);
        assert_eq!(of(BULK, "a.ip/l0", 0) * 2.0, of(BULK, "ip", 0));
        assert_eq!(foreseen(&point(BULK), None, (&Layers::None, 0)), 0.0);
        assert_eq!(of(&format!("{BULK}\nrun.repeat.runs = 3"), "ip", 0), 3.0 * of(BULK, "ip", 0));
    }

    /// What is foreseen with another load, beside what is without.
    fn beside(load: &str) -> f64 {
        of(&format!("{BULK}\nload.more = {{ message = \"8 KiB\", {load} }}"), "device", 0) / of(BULK, "device", 0)
    }

    #[test]
    fn captures_of_loads_on_one_line_are_what_it_carries_however_they_share_it() {
        let same = |load: &str| assert!((beside(load) - 1.0).abs() < 1e-6, "{load}: {}", beside(load));
        same(r#"kind = "netperf", from = "a", to = "b""#);
        // What one leaves the other takes.
        same(r#"kind = "netperf", from = "a", to = "b", start = "10 s""#);
        same(r#"kind = "netperf", from = "a", to = "b", socket_buffer = "4 KiB""#);
        same(r#"kind = "ttcp", from = "a", to = "b", count = 10"#);
        let back = beside(r#"kind = "netperf", from = "b", to = "a""#);
        assert!((back - 2.0).abs() < 1e-9, "{back}");
        let calls = |more: &str| {
            let load = format!(
                "{BULK}\nload.calls = {{ kind = \"rpc\", from = \"b\", to = \"a\", message = \"200 B\", response = \"2 kB\"{more} }}"
            );
            of(&load, "device", 0) / of(BULK, "device", 0)
        };
        // Answers are among what the line carries; requests, of 200 octets, go the other way.
        assert!((1.0..1.1).contains(&calls("")), "{}", calls(""));
        assert!((1.0..1.02).contains(&calls(", think = \"200 ms\"")), "{}", calls(", think = \"200 ms\""));
    }

    #[test]
    fn what_a_window_or_a_schedule_leaves_of_a_line_is_foreseen() {
        let all = of(BULK, "device", 0);
        // 4 KiB in each round trip of 20 ms are 1.64 Mb/s.
        let small = of(&BULK.replace("\"8 KiB\"", "\"8 KiB\", socket_buffer = \"4 KiB\""), "device", 0);
        assert!((small / all / (1.6384 / 9.653) - 1.0).abs() < 0.01, "{}", small / all);
        let faster = of(&format!("{BULK}\n[[event]]\nat = \"10 s\"\nlink = \"line\"\nrate = \"40 Mb/s\""), "device", 0);
        assert!((faster / all - 2.5).abs() < 0.01, "{}", faster / all);
        let gone = of(&format!("{BULK}\n[[event]]\nat = \"5 s\"\nlink = \"line\"\nup = false"), "device", 0);
        assert!((gone / all - 0.25).abs() < 0.01, "{}", gone / all);
    }

    #[test]
    fn what_a_device_throws_away_is_in_the_capture_of_the_sender() {
        let load = |rate: &str| {
            format!(
                "host.a.graph = [\"udp\", \"ip\", \"l0\"]\nload.u = {{ kind = \"udp\", from = \"a\", to = \"b\", message = \"1000 B\", rate = \"{rate}\" }}"
            )
        };
        let point = |rate: &str| {
            let text = format!(
                r#"
title = "A line"
{}
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }}
run.duration = "20 s"
"#,
                load(rate)
            );
            let document = Document::parse("line", "line.toml", &text).unwrap();
            foreseen(&document.points(&Choice::default()).unwrap().remove(0), None, (&Layers::Device, 0))
        };
        // Twice what is sent, and of ten times the line's rate all of it at the sender.
        let (half, flood) = (point("5 Mb/s"), point("100 Mb/s"));
        assert!((10.9..11.0).contains(&(flood / half)), "{}", flood / half);
    }

    #[test]
    fn of_all_layers_those_above_the_transport_see_messages_and_those_below_packets() {
        let text = r#"
title = "A file"
host.a.graph = { ftam_user = ["ftam"], ftam_keeper = ["ftam"], ftam = ["acse"], acse = ["presentation"], presentation = ["session"], session = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["l0"] }
host.a.ip = { address = "10.0.0.1/24", peer = "10.0.0.2" }
host.b.like = "a"
host.b.ip = { address = "10.0.0.2/24", peer = "10.0.0.1" }
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }
load.f = { kind = "ftam", from = "a.ftam_user", to = "b.ftam_keeper", message = "8000 B", file = "1 MB" }
run.duration = "10 s"
"#;
        let document = Document::parse("file", "file.toml", text).unwrap();
        let point = document.points(&Choice::default()).unwrap().remove(0);
        let of = |layers: &str, snaplen| foreseen(&point, None, (&layers.parse().unwrap(), snaplen)) / 1e6;
        // What such runs left: 2.219 MB, of 64 octets of each 0.221 MB.
        assert!((2.0..2.4).contains(&of("device", 0)), "{}", of("device", 0));
        assert!((0.2..0.26).contains(&of("device", 64)), "{}", of("device", 64));
        // Seven of nine access points are above TCP.
        assert!((17.0..19.5).contains(&of("all", 0)), "{}", of("all", 0));
    }
}
