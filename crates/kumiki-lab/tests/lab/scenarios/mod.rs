//! The scenarios that repeat no paper: each runs and keeps what it promises.

mod events;
mod lines;
mod loads;
mod queues;
mod refused;
mod switches;
mod theory;

use std::collections::BTreeMap;

use kumiki_graph::Duration;
use kumiki_lab::experiment::{Experiment, Measured, Options, Sample, SampleOf, Units};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::limit;
use kumiki_lab::profile;
use kumiki_lab::reproduce::Runner as _;
use kumiki_lab::rows::Scope;
use kumiki_lab::scenario::{Choice, ConfigError, Document, Point};

fn points(name: &str, set: &[&str]) -> Result<Vec<Point>, ConfigError> {
    let set = set.iter().map(|it| (*it).to_owned()).collect();
    Document::find(name)?.points(&Choice { set, quick: false, runs: None })
}

fn build(point: &Point, seed: u64) -> Result<Experiment, ConfigError> {
    let wanted = point.scenario.host.values();
    let wanted = wanted.map(|host| host.profile.clone().unwrap_or_else(|| profile::ZERO.to_owned()));
    let profiles: BTreeMap<_, _> =
        wanted.map(|name| (name.clone(), profile::load(&name).unwrap_or_else(|fault| panic!("{fault}")))).collect();
    Experiment::build(&point.scenario, &profiles, seed, &Options::default()).map_err(|fault| point.locate(fault))
}

fn run_with(name: &str, set: &[&str], seed: u64) -> Measured {
    let points = points(name, set).unwrap_or_else(|fault| panic!("{fault}"));
    let [point] = points.as_slice() else {
        panic!("{name} has several points");
    };
    let built = build(point, seed).unwrap_or_else(|fault| panic!("{fault}"));
    let measured = built.run().measured;
    assert_eq!(measured.total.wrong, None, "{name}: octets came wrong");
    let aborted = measured.total.flows.iter().find_map(|it| it.aborted.clone());
    assert_eq!(aborted, None, "{name}");
    measured
}

fn run(name: &str) -> Measured {
    run_with(name, &[], 1)
}

fn count(measured: &Measured, part: &str, name: &str) -> u64 {
    let counters = measured.counters.get(part);
    let counters = counters.unwrap_or_else(|| panic!("{part}: {:?}", measured.counters.keys()));
    *counters.get(name).unwrap_or_else(|| panic!("{name}: {counters:?}"))
}

fn near(found: f64, expected: f64, share: f64) -> bool {
    (found - expected).abs() <= expected * share
}

/// Those whose test is not here: `ftam-stall` is with paper 4, `x32-dialup` in `switched`.
#[test]
fn every_scenario_that_repeats_no_paper_has_a_test() {
    let tested = "beside-tcp bufferbloat buffers classical-ip delayed-line ethernet fddi ftam-stall incast interleaved-vcs lossy \
        mapos marked-queue oc48 outage path-mtu pos romanow-floyd router theory-fairness theory-loss theory-overshoot theory-queue theory-window \
        udp-over-atm x32-dialup";
    let found = Document::builtin().unwrap();
    let found = found.iter().map(Document::name);
    let found: Vec<&str> = found.filter(|name| !name.starts_with("paper")).collect();
    assert_eq!(found, tested.split_whitespace().collect::<Vec<_>>());
}

/// RFC 3168: marks in place of losses, told classically or counted (RFC 9768).
#[test]
fn two_connections_share_a_queue_that_marks_without_a_loss() {
    let run = |ecn: &str| {
        let set = [&format!("host.a.tcp.ecn=\"{ecn}\"")[..], &format!("host.b.tcp.ecn=\"{ecn}\"")];
        let points = points("marked-queue", &set).unwrap_or_else(|fault| panic!("{fault}"));
        let wanted = [(profile::ZERO.to_owned(), profile::load(profile::ZERO).unwrap())].into();
        let options = Options { traces: true, ..Options::default() };
        let built = Experiment::build(&points[0].scenario, &wanted, 1, &options);
        built.unwrap_or_else(|fault| panic!("{fault}")).run()
    };
    for ecn in ["classic", "accurate"] {
        let run = run(ecn);
        let measured = &run.measured;
        assert_eq!(measured.total.wrong, None);
        assert_eq!(count(measured, "line", "a_drops"), 0, "{ecn}");
        assert_eq!(count(measured, "a.tcp", "retransmissions"), 0, "{ecn}");
        assert!(count(measured, "line", "a_marks") > 0);
        assert_eq!(count(measured, "a.tcp", "ecn_disabled"), 0);
        // Of 1500 octets 52 are headers.
        let full = 20.0 * 1448.0 / 1500.0;
        assert!(near(measured.total.goodput_mbps, full, 0.001), "{ecn}: {measured:?}");
        let words = ["told of marks (ECE)", "reduced for marks"];
        for word in words {
            let senders = run.traces.iter().filter(|it| {
                let rows = it.rows();
                rows.iter().any(|row| row.event == word)
            });
            assert_eq!(senders.count(), 2, "{ecn}: {word}");
        }
    }
    // Without marks the queue overflows in slow start, which is over when it is measured.
    let measured = run_with("marked-queue", &["host.a.tcp.ecn=off", "host.b.tcp.ecn=off", "run.warm_up=0 s"], 1);
    assert_eq!(count(&measured, "line", "a_marks"), 0);
    assert!(count(&measured, "line", "a_drops") > 0);
}

#[test]
fn peers_are_found_by_inatmarp_and_answer_all_echoes() {
    let measured = run("classical-ip");
    let echoes = measured.total.echoes.unwrap();
    assert_eq!((echoes.sent, echoes.answered), (10, 10));
    assert_eq!((echoes.stray, echoes.errors, echoes.wrong), (0, 0, 0));
    // Four times 1 ms of line, twice 20 us of switch, and cells; the first also waits for an answer of InATMARP, which
    // is as long again at most.
    let min = echoes.min.unwrap();
    assert!(min > Duration::from_micros(4040) && min < Duration::from_micros(4100), "{min}");
    let max = echoes.max.unwrap();
    assert!(max > min && max < min * 2 + Duration::from_micros(100), "{max}");
    assert!(echoes.mean().unwrap() < max);
}

#[test]
fn echoes_that_get_lost_are_not_answered() {
    let measured = run_with("classical-ip", &["link.one.impair={loss=0.1}"], 1);
    let echoes = measured.total.echoes.unwrap();
    assert_eq!((echoes.sent, echoes.stray, echoes.wrong), (10, 0, 0));
    assert!((1..10).contains(&echoes.answered), "{echoes:?}");
}

#[test]
fn a_message_names_the_line_of_the_file() {
    let text = r#"title = "Wrong"
[host.a]
graph = ["ttcp", "tcp", "ip", "line0"]
[host.a.tcp]
defaults = "bsd43"
recieve_buffer = "8 KiB"
[host.a.ip]
address = "10.0.0.1/24"
[host.b]
like = "a"
ip = { address = "10.0.0.2/24" }
tcp = { recieve_buffer = "4 KiB" }
[link.line]
ends = ["a.line0", "b.line0"]
medium = "oc3c"
[run]
duration = "1 s"

[load.bulk]
kind = "netperf"
from = "a.ttcp"
to = "b.ttcp"
message = "8 KiB"
"#;
    let document = Document::parse("wrong", "wrong.toml", text).unwrap();
    let points = document.points(&Choice::default()).unwrap();
    let Err(fault) = build(&points[0], 1) else {
        panic!("it was built");
    };
    let said = fault.to_string();
    let begin = "wrong.toml:6: host.a.tcp.recieve_buffer = \"8 KiB\": unknown setting \"recieve_buffer\"; did you mean \"receive_buffer\"?";
    assert_eq!(said, begin);
}

#[test]
fn a_router_fragments_for_a_smaller_mtu() {
    let measured = run("router");
    let units = measured.total.units.unwrap();
    assert_eq!((units.sent, units.received, units.lost), (60, 60, 0));
    // 8200 octets in pieces of 1480.
    assert_eq!(count(&measured, "router.ip", "messages_up"), 60);
    assert_eq!(count(&measured, "line", "a_frames"), 60 * 8200_u64.div_ceil(1480));
    assert_eq!(count(&measured, "b.udp", "messages_up"), 60);
}

#[test]
fn tcp_finds_the_mtu_of_its_path_and_nothing_is_fragmented() {
    let measured = run("path-mtu");
    let refused = count(&measured, "router.ip", "dropped, too big and not to be fragmented");
    assert!((1..=10).contains(&refused), "{refused}");
    // All else goes on as it came, in both directions.
    assert_eq!(
        count(&measured, "router.ip", "messages_up") - refused,
        count(&measured, "line", "a_frames") + count(&measured, "line", "b_frames")
    );
    let octets: u64 = measured.total.flows.iter().map(|it| it.octets).sum();
    assert_eq!(octets, 256 * 8192);
}

#[test]
fn buffers_that_tune_themselves_fill_a_long_line() {
    // 64 KiB in each round trip of 100 ms, and what headers leave of 100 Mb/s.
    for (most, least_mbps, most_mbps) in [("64 KiB", 4.9, 5.3), ("4 MiB", 96.0, 96.6)] {
        let most = format!("most={most}");
        let goodput = run_with("buffers", &[&most], 1).total.goodput_mbps;
        let expected = least_mbps..most_mbps;
        assert!(expected.contains(&goodput), "{most}: {goodput}");
    }
}

#[test]
fn tcp_gets_through_a_line_that_loses_frames_at_the_rate_that_the_loss_allows() {
    let measured = run("lossy");
    // Mathis et al.: the rate of a window that is halved at each loss. CUBIC gets no less, and the line is not full.
    let mathis_mbps = 1460.0 * 8.0 / 0.020 * 1.22 / 0.01_f64.sqrt() / 1e6;
    let goodput = measured.total.goodput_mbps;
    assert!(goodput > mathis_mbps / 2.0 && goodput < mathis_mbps * 3.0, "{goodput}");
    let octets: u64 = measured.total.flows.iter().map(|it| it.octets).sum();
    assert_eq!(octets, 512 * 8192);
    let lost = count(&measured, "line to b.line0", "a_lost");
    assert!(lost > 0 && count(&measured, "a.tcp", "retransmissions") >= lost);
}

#[test]
fn a_transfer_that_is_cut_off_is_measured_to_that_moment() {
    let set = ["load.bulk.sessions=2", "load.bulk.stagger=20 s", "run.duration=20.1 s", "link.line.impair={loss=0}"];
    let measured = run_with("lossy", &set, 1);
    let octets: Vec<u64> = measured.total.flows.iter().map(|it| it.octets).collect();
    let [first, second] = octets.as_slice() else {
        panic!("{octets:?}");
    };
    assert_eq!(*first, 512 * 8192);
    assert!((1..*first).contains(second), "{second}");
    // The first opened after one round trip.
    assert!(near(measured.total.time.as_secs_f64(), 20.08, 1e-4), "{}", measured.total.time);
}

#[test]
fn two_hosts_fill_an_oc48_line() {
    let measured = run("oc48");
    let limit_mbps = 2396.16 * 48.0 / 53.0 * 9128.0 / (192.0 * 48.0);
    assert!(near(measured.total.goodput_mbps, limit_mbps, 0.01), "{}", measured.total.goodput_mbps);
    assert!(measured.total.goodput_mbps <= limit_mbps);
}

#[test]
fn sums_on_the_fly_are_right_though_the_cells_of_three_channels_interleave() {
    let measured = run("interleaved-vcs");
    let limit_mbps = 149.76 * 48.0 / 53.0 * 8192.0 / (172.0 * 48.0);
    assert!(near(measured.total.goodput_mbps, limit_mbps, 0.01), "{}", measured.total.goodput_mbps);
    assert!(measured.total.jain.unwrap() > 0.99);
    // Cells that do not interleave cross the line in runs, one for a PDU.
    let runs = count(&measured, "from", "forward");
    let cells = count(&measured, "sender.atm0 SAR", "cells_out");
    assert!(runs > cells * 9 / 10, "{runs} runs of {cells} cells");
    for host in ["two", "three", "four"] {
        let tcp = format!("{host}.tcp");
        assert_eq!(count(&measured, &tcp, "bad_checksums"), 0);
        assert_eq!(count(&measured, &tcp, "summed_octets"), 0, "the CPU read data of {host}");
        assert!(count(&measured, &tcp, "segments_received") > 100);
    }
}

/// Of five echoes the first is asked for before the link stands. On a line between two nodes both have the address 03
/// (RFC 2173).
#[test]
fn ppp_is_negotiated_beside_mapos_on_one_driver() {
    let measured = run("pos");
    let echoes = measured.total.echoes.unwrap();
    assert_eq!((echoes.answered, echoes.wrong), (4, 0));
    for host in ["near", "far"] {
        let counters = &measured.counters[&format!("{host}.sdh")];
        assert_eq!(counters.get("dropped, unknown MAPOS protocol"), None);
    }
}

#[test]
fn hosts_on_two_mapos_switches_find_each_other() {
    let measured = run("mapos");
    // Of 65,280 octets 52 are headers; a frame takes 7 more. Both connections leave by one line.
    let full = 149.76 * 65_228.0 / 65_287.0;
    assert!(near(measured.total.goodput_mbps, full, 0.001), "{measured:?}");
    // Each host has asked once, and its switch has answered; then half a minute is over only once the run is.
    for (host, switch) in [("a", "s1"), ("b", "s1"), ("c", "s2")] {
        let dropped = |part: &str, why: &str| {
            let counters = &measured.counters[&format!("{host}.{part}")];
            counters.get(&format!("dropped, {why}")).copied()
        };
        assert_eq!(dropped("sdh", "unknown MAPOS protocol"), None);
        assert_eq!(dropped("mapos", "no address for the next hop"), None);
        let no_route = "dropped, no route to that switch";
        let counters = &measured.counters[&format!("{switch}.mapos_switch")];
        assert_eq!(counters.get(no_route), None);
    }
    let again = run("mapos");
    assert_eq!(again.counters, measured.counters, "same seed");
}

/// Acknowledgments cost the ring what the limit, which has only data, does not know.
#[test]
fn tcp_on_an_fddi_ring_comes_near_what_the_ring_leaves_it() {
    let measured = run("fddi");
    let point = points("fddi", &[]).unwrap_or_else(|fault| panic!("{fault}"));
    let limit = limit::of_load(&point[0].scenario, point[0].scenario.load.values().next().unwrap()).unwrap();
    let limit = limit.goodput_mbps().as_f64();
    assert!(measured.total.goodput_mbps < limit);
    assert!(near(measured.total.goodput_mbps, limit, 0.02), "{measured:?}");
    let [b, c] = &measured.total.flows[..] else { panic!("{measured:?}") };
    let share = b.octets as f64 / (b.octets + c.octets) as f64;
    assert!(near(share, 0.5, 0.05), "{share}");
    let of = |name| count(&measured, "ring", name);
    // Every frame was copied by somebody, and no turn of the token took twice the target.
    assert_eq!((of("unknown"), of("drops"), of("strangers")), (0, 0, 0));
    assert!(of("copied") > 1000 && of("ttrt_ns") == 8_000_000);
    assert!(of("longest_rotation_ns") < 16_000_000);
    // Who was not meant was not bothered: an adapter copies its own frames and those to all.
    let heard = |host: &str| count(&measured, &format!("{host}.fddi"), "messages_up");
    assert!(heard("b") + heard("c") < count(&measured, "a.fddi", "messages_down") + 10);
}

#[test]
fn what_cannot_be_of_a_ring_is_said_at_its_place() {
    let said = |set: &str| {
        let points = points("fddi", &[set]);
        let fault = points.map_or_else(Some, |points| build(&points[0], 1).err());
        fault.map(|fault| fault.to_string()).unwrap_or_default()
    };
    for (set, words) in [
        ("ring.ring.medium=token-ring", "there is only fddi"),
        ("ring.ring.ttrt=300 us", "expected at least"),
        ("ring.ring.latency=10 ns", "one symbol"),
        ("ring.ring.ends=[\"a.fddi0\"]", "at least two stations"),
        ("ring.ring.ends=[\"a.fddi0\", \"b.fddi0\"]", "no line ends on the device"),
        ("ring.ring.impair={toward=\"d.fddi0\"}", "toward"),
        ("ring.wrong.ttrt=8 ms", "there is no ring"),
        ("host.a.fddi.mtu=4479 B", "from 76 B to 4478 B"),
    ] {
        let said = said(set);
        assert!(said.contains(words), "{set}: {said}");
    }
}

/// The virtual curve beside Linux's TCP through `kumiki delay`, whose test is in the crate `kumiki`.
#[test]
fn beyond_the_knee_of_a_delayed_line_each_round_trip_carries_a_window() {
    let points = points("delayed-line", &[]).unwrap_or_else(|fault| panic!("{fault}"));
    let at = |rtt_ms: u64| run_with("delayed-line", &[&format!("rtt=\"{rtt_ms} ms\"")], 1);
    assert_eq!(points.len(), 8);
    // Of 1500 octets 52 are headers; 36 segments of 1448 take 12 ms of the line.
    let line = 36.0 * 1448.0 / 1500.0;
    for rtt_ms in [0, 10] {
        let measured = at(rtt_ms);
        assert!(near(measured.total.goodput_mbps, line, 0.001), "{measured:?}");
    }
    for rtt_ms in [20, 200] {
        let measured = at(rtt_ms);
        // A round trip is the delay, the time for a segment on the line and the wait for an acknowledgment of two.
        let least = 36.0 * 1448.0 * 8.0 / (1000.0 * (rtt_ms as f64 + 1.0));
        let most = 36.0 * 1448.0 * 8.0 / (1000.0 * rtt_ms as f64);
        let found = measured.total.goodput_mbps;
        assert!(least < found && found < most, "{rtt_ms} ms: {found}");
        assert_eq!(count(&measured, "near.tcp", "retransmissions"), 0);
    }
}

/// A fair share is half of what both get; nobody has less than half of that, and the line is full.
#[test]
fn xtp_and_tcp_in_one_queue_leave_each_other_their_part() {
    for beside in ["beside=newreno", "beside=cubic"] {
        let measured = run_with("beside-tcp", &[beside, "queue=67"], 1);
        let both = measured.total.goodput_mbps;
        let part = 0.25 * both..0.6 * both;
        assert!(part.contains(&measured.loads["xtp"].goodput_mbps) && both > 0.95 * 19.3, "{beside}: {both}");
    }
}
