//! The scenarios that repeat no paper: each runs and keeps what it promises.

mod theory;

use std::collections::BTreeMap;

use kumiki_graph::Duration;
use kumiki_lab::experiment::{Experiment, Measured, Options, SampleOf, Units};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::limit;
use kumiki_lab::profile;
use kumiki_lab::reproduce::Runner as _;
use kumiki_lab::rows::Scope;
use kumiki_lab::scenario::{Choice, Document, Fault, Point};

fn points(name: &str, set: &[&str]) -> Result<Vec<Point>, Fault> {
    let set = set.iter().map(|it| (*it).to_owned()).collect();
    Document::find(name)?.points(&Choice { set, quick: false, runs: None })
}

fn build(point: &Point, seed: u64) -> Result<Experiment, Fault> {
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
    let tested = "beside-tcp buffers classical-ip delayed-line ethernet fddi ftam-stall incast interleaved-vcs lossy \
        mapos marked-queue oc48 path-mtu pos romanow-floyd router theory-fairness theory-loss theory-overshoot theory-queue theory-window \
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
fn datagrams_cross_an_atm_line_at_the_rate_they_are_sent() {
    let measured = run("udp-over-atm");
    assert!(near(measured.total.goodput_mbps, 100.0, 0.01), "{measured:?}");
    let Units { sent, received, lost, duplicated, reordered } = measured.total.units.unwrap();
    // 90 ms at one datagram in 655.36 us; one is on the line at either end.
    assert_eq!((sent, received), (137, 137));
    assert_eq!((lost, duplicated, reordered), (0, 0, 0));
    // 8192 + 8 + 20 + 8 octets and a trailer of 8 take 172 cells.
    assert_eq!(count(&measured, "b.atm0 SAR", "pdus_in"), received);
    assert_eq!(8236_u64.div_ceil(48), 172);
}

#[test]
fn datagrams_cross_over_aal34_whoever_does_its_convergence_sublayer() {
    let aal = ["a", "b"].map(|host| format!("host.{host}.atm0={{aal=\"3/4\"}}"));
    let with_node =
        |host: &str| format!("host.{host}.graph=[\"app\", \"udp\", \"ip\", \"llc_snap\", \"aal34\", \"atm0\"]");
    let without = "host.b.graph=[\"app\", \"udp\", \"ip\", \"llc_snap\", \"atm0\"]";
    for set in [vec![], vec![with_node("a"), with_node("b")], vec![with_node("a"), without.to_owned()]] {
        let set: Vec<String> = aal.iter().cloned().chain(set).collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let measured = run_with("udp-over-atm", &set, 1);
        let units = measured.total.units.unwrap();
        assert_eq!((units.sent, units.received, units.lost), (137, 137, 0));
        assert_eq!(count(&measured, "b.atm0 SAR", "pdus_in"), 137);
        // 8236 octets as above, header and trailer: 188 cells of 44. One datagram has crossed in part.
        let cells = count(&measured, "b.atm0 SAR", "cells_in");
        assert_eq!(cells / 188, 137, "{set:?}");
        assert_eq!(count(&measured, "b.atm0 SAR", "stray"), 0);
    }
}

#[test]
fn wrong_bits_in_cells_of_aal34_do_not_reach_the_program() {
    let set = ["host.a.atm0={aal=\"3/4\"}", "host.b.atm0={aal=\"3/4\"}", "link.line.impair={corrupt=0.0002}"];
    let measured = run_with("udp-over-atm", &set, 1);
    let units = measured.total.units.unwrap();
    assert!(units.lost > 0, "{units:?}");
    assert_eq!((units.duplicated, units.reordered), (0, 0));
    // Each damaged cell is found by itself, and its place in the PDU by the next.
    let of = |name| count(&measured, "b.atm0 SAR", name);
    assert!(of("sar_crc") > 0 && of("sequence") > 0, "{measured:?}");
    assert_eq!((of("tag"), of("length")), (0, 0));
}

#[test]
fn a_switch_that_looks_for_the_ends_of_pdus_is_refused_for_aal34() {
    let said = |discard: &str| {
        let set = [
            "host.sender.atm0={aal=\"3/4\"}",
            "host.receiver.atm0={aal=\"3/4\"}",
            &format!("switch.e7550.discard={discard}"),
        ];
        let points = points("paper5-fig2", &set).unwrap_or_else(|fault| panic!("{fault}"));
        build(&points[0], 1).err().map(|fault| fault.to_string())
    };
    assert_eq!(said("tail"), None);
    for discard in ["ppd", "epd"] {
        let said = said(discard).unwrap_or_default();
        assert!(said.contains("switch.e7550.discard") && said.contains("AAL3/4"), "{said}");
    }
}

#[test]
fn two_senders_share_a_port_of_an_ethernet_switch_and_its_queue() {
    let measured = run_with("ethernet", &["queue=50", "run.warm_up=0 s"], 1);
    let of = |name| count(&measured, "sw", name);
    // Three stations are learned from ARP, whose requests go everywhere; nothing else does.
    assert_eq!((of("learned"), of("flooded"), of("moved"), of("strangers")), (3, 2, 0, 0));
    assert_eq!(of("frames_in"), of("forwarded") + of("flooded"));
    assert_eq!(of("copies"), of("forwarded") + 2 * of("flooded"));
    let came: u64 = [("a", "a_frames"), ("b", "a_frames"), ("c", "a_frames")]
        .map(|(line, n)| count(&measured, line, n))
        .iter()
        .sum();
    // What is on the lines at the end has not come.
    assert!((0..=3).contains(&(came - of("frames_in"))), "{came} {}", of("frames_in"));
    let drops = count(&measured, "c", "b_drops");
    assert!(drops > 100, "{drops}");
    assert_eq!(of("dropped"), drops);
    assert_eq!(measured.queues["c.b"].quantile(1.0), 50);
    assert_eq!(measured.queues["a.b"].quantile(1.0), 0);
    let udp = &measured.loads["voice"];
    assert!(udp.units.unwrap().lost > 0);
    // 1538 octets of the line for 1448 of TCP, and 1466 for 1400 of UDP.
    let line = measured.loads["bulk"].goodput_mbps * 1538.0 / 1448.0 + udp.goodput_mbps * 1466.0 / 1400.0;
    assert!((98.0..100.1).contains(&line), "{line}");
}

#[test]
fn the_port_of_an_ethernet_switch_marks_where_it_should() {
    let measured = run_with("ethernet", &["queue=250", "switch.sw.mark_frames=20", "run.warm_up=0 s"], 1);
    let [marks, echoes] = [count(&measured, "c", "b_marks"), count(&measured, "a.tcp", "ecn_reductions")];
    assert!(marks > 0 && echoes > 0, "{marks} {echoes}");
    assert_eq!(count(&measured, "a", "b_marks"), 0);
}

#[test]
fn lines_that_do_not_go_with_an_ethernet_switch_are_refused() {
    let said = |set: &[&str]| {
        let set = [&["queue=50"], set].concat();
        let points = points("ethernet", &set).map_err(|fault| fault.to_string())?;
        build(&points[0], 1).map(|_| ()).map_err(|fault| fault.to_string())
    };
    assert_eq!(said(&[]), Ok(()));
    for (set, words) in [
        (&["link.c.medium=oc3c-atm", "link.c.rate="][..], "link.c"),
        (&["host.c.graph=[\"bulk\", \"tcp\", \"ip\", \"eth0\"]"], "host.c"),
        (&["switch.sw.queue_cells=100"], "switch.sw.queue_cells"),
        (&["switch.sw.kind=token"], "unknown kind of switch \"token\"; one of atm, ethernet"),
        (&["switch.sw.ports=2"], "switch sw has no port \"2\""),
        (&["switch.sw.ageing=0 s"], "switch.sw.ageing"),
    ] {
        let said = said(set).err().unwrap_or_default();
        assert!(said.contains(words), "{set:?}: {said}");
    }
}

/// Two hosts, and two switches between them.
const TWO_SWITCHES: &str = r#"
title = "Two switches"
host.a = { graph = ["app", "udp", "ip", "arp", "eth", "l0"], ip = { address = "10.0.0.1/24", neighbours = "below" }, arp = { addresses = ["10.0.0.1"] }, eth = { address = "02:00:00:00:00:01" } }
host.b = { like = "a", ip = { address = "10.0.0.2/24" }, arp = { addresses = ["10.0.0.2"] }, eth = { address = "02:00:00:00:00:02" } }
switch.s = { kind = "ethernet", ports = 4, queue_frames = 9 }
switch.t = { kind = "ethernet", ports = 4, queue_frames = 9 }
link.a = { ends = ["a.l0", "s.0"], medium = "point-to-point", rate = "100 Mb/s" }
link.b = { ends = ["b.l0", "t.0"], medium = "point-to-point", rate = "100 Mb/s" }
link.between = { ends = ["s.1", "t.1"], medium = "point-to-point", rate = "100 Mb/s" }
run = { duration = "10 ms" }
load.bulk = { kind = "udp", from = "a.app", to = "b.app", message = "1000 B", rate = "10 Mb/s", count = 5 }
"#;

#[test]
fn switches_may_be_joined_one_way_and_not_two() {
    let built = |text: &str| {
        let document = Document::parse("two", "two.toml", text)?;
        let point = document.points(&Choice { set: Vec::new(), quick: false, runs: None })?.remove(0);
        build(&point, 1)
    };
    let measured = built(TWO_SWITCHES).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
    assert_eq!(measured.total.units.unwrap().received, 5);
    assert_eq!(["s", "t"].map(|switch| count(&measured, switch, "flooded")), [1, 1]);
    let joined = |one: &str, other: &str| {
        let line =
            format!("link.x = {{ ends = [\"{one}\", \"{other}\"], medium = \"point-to-point\", rate = \"1 Gb/s\" }}");
        format!("{TWO_SWITCHES}{line}")
    };
    for (text, words) in [
        (joined("t.2", "s.2"), "link.x.ends"),
        (joined("t.2", "s.2"), "two ways between the Ethernet switches t and s, and no spanning tree"),
        (joined("t.2", "t.3"), "two ways between the Ethernet switches t and t"),
        (
            TWO_SWITCHES.replace("[\"s.1\", \"t.1\"],", "[\"s.1\", \"t.1\"], queue_frames = 5,"),
            "link.between.queue_frames",
        ),
    ] {
        let said = built(&text).err().map(|fault| fault.to_string()).unwrap_or_default();
        assert!(said.contains(words), "{said}");
    }
}

/// 10 Mb/s of datagrams over a line that this is set of.
fn over(line: &str, message: &str, seconds: u64) -> Result<Measured, Fault> {
    let text = format!(
        r#"
title = "A line"
host.a = {{ graph = ["app", "udp", "ip", "l0"], ip = {{ address = "10.0.0.1/24" }} }}
host.b = {{ like = "a", ip = {{ address = "10.0.0.2/24" }} }}
link.line = {{ ends = ["a.l0", "b.l0"], {line} }}
run = {{ duration = "{seconds} s" }}
load.bulk = {{ kind = "udp", from = "a.app", to = "b.app", message = "{message}", rate = "10 Mb/s" }}
"#
    );
    let document = Document::parse("line", "line.toml", &text)?;
    let point = document.points(&Choice { set: Vec::new(), quick: false, runs: None })?.remove(0);
    Ok(build(&point, 1)?.run().measured)
}

#[test]
fn a_line_changes_when_its_schedule_says() {
    let line = r#"medium = "point-to-point", rate = "100 Mb/s", queue_frames = 10, schedule = [
        { at = "1 s", rate = "5 Mb/s" },
        { at = "2 s", rate = "0 b/s" },
        { at = "3 s", rate = "100 Mb/s", propagation = "1 ms" },
        { at = "4 s", up = false },
        { at = "5 s", up = true, loss = "50 %" },
        { at = "6 s", loss = 0 },
    ]"#;
    let measured = over(line, "1000 B", 7).unwrap_or_else(|fault| panic!("{fault}"));
    // Each second 1250 datagrams come; 1028 octets of them are on the line.
    let slow = 5_000_000 / (8 * 1028);
    let half = count(&measured, "line to b.l0", "a_lost") - 1250;
    assert!((550..700).contains(&half), "{half}");
    let expected = 1250 + slow + 1250 + (1250 - half) + 1250;
    let received = measured.total.units.unwrap().received;
    // What waits when the line slows down or stands still is some ten each time.
    assert!(received.abs_diff(expected) < 25, "{received}, not {expected}");
    let dropped = count(&measured, "line", "a_drops");
    assert!(dropped.abs_diff(1250 - slow + 1250) < 25, "{dropped}");
}

#[test]
fn a_line_delivers_when_its_recording_says() {
    let file = |name: &str, text: &str| {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (quick, slow, bad) = (file("quick.up", "1\n"), file("slow.up", "1\n3\n4"), file("bad.up", "1\n2\nx\n"));
    // 1472 octets and 28 of headers are an opportunity: one in a millisecond is more than comes, three in four are not.
    for (traces, rate) in [(format!("{quick:?}"), 10.0), (format!("{slow:?}, {quick:?}"), 9.0 * 1472.0 / 1500.0)] {
        let line = format!(r#"medium = "trace", traces = [{traces}], propagation = "5 ms", queue_frames = 20"#);
        let goodput = over(&line, "1472 B", 2).unwrap_or_else(|fault| panic!("{fault}")).total.goodput_mbps;
        // It begins without any.
        assert!(near(goodput, rate, 0.01), "{goodput} {rate}");
    }
    let said =
        |file: &str| over(&format!(r#"medium = "trace", traces = [{file:?}]"#), "1472 B", 1).err().unwrap().to_string();
    assert_eq!(said(&bad), format!("{bad}:3: \"x\" is no whole number of milliseconds"));
    let missing = said("no-such.up");
    assert!(missing.contains("link.line.traces.0 = \"no-such.up\": no-such.up: there is no such file"), "{missing}");
}

#[test]
fn bursts_of_loss_come_as_often_as_theory_has_it() {
    let line = r#"medium = "point-to-point", rate = "1 Gb/s", impair = { burst_loss = { p = "2 %", r = "20 %", h = "10 %" } }"#;
    let measured = over(line, "100 B", 4).unwrap_or_else(|fault| panic!("{fault}"));
    let lost = count(&measured, "line to b.l0", "a_lost");
    let (units, bad) = (50_000.0, 0.02 / 0.22);
    let expected = bad * 0.9;
    // Four deviations, which neighbours that share a state widen.
    let variance = expected * (1.0 - expected) + 2.0 * 0.81 * bad * (1.0 - bad) * 0.78 / 0.22;
    let most = 4.0 * f64::sqrt(units * variance);
    assert!((f64::from(u32::try_from(lost).unwrap()) - units * expected).abs() < most, "{lost}");
}

#[test]
fn a_line_of_cells_is_as_fast_as_its_clock() {
    let goodput = |ppm: i32| {
        let lines = ["one", "two"].map(|line| format!("link.{line}.clock_ppm={ppm}"));
        let set = ["board=zero", "window=64 KiB", "run.warm_up=500 ms", "run.duration=500 ms", &lines[0], &lines[1]];
        run_with("paper2-fig6", &set, 1).total.goodput_mbps
    };
    let [slow, right, fast] = [-1000, 0, 1000].map(goodput);
    // 0.1 %, to a segment of 8192 octets in 0.5 s.
    let segment = 8192.0 * 8.0 / 0.5e6;
    assert!((right - 134.580).abs() < segment, "{right}");
    assert!((fast - right * 1.001).abs() < segment && (slow - right * 0.999).abs() < segment, "{slow} {right} {fast}");
    assert!(slow < right && right < fast, "{slow} {right} {fast}");
}

#[test]
fn what_a_line_does_to_datagrams_is_counted() {
    let impair = "link.line.impair={loss=0.05, duplicate=0.05, reorder=0.05, reorder_by=\"3 ms\"}";
    let set = ["link.line.medium=point-to-point", "link.line.rate=1 Gb/s", impair, "run.duration=1 s"];
    let units = run_with("udp-over-atm", &set, 1).total.units.unwrap();
    let within = |found: u64| (units.sent / 40..units.sent / 13).contains(&found);
    assert!(within(units.lost), "{units:?}");
    assert!(within(units.duplicated), "{units:?}");
    assert!(within(units.reordered), "{units:?}");
    // What is under way at the end is neither.
    let under_way = units.sent - units.received - units.lost;
    assert!(under_way < 10, "{units:?}");
    let again = run_with("udp-over-atm", &set, 1).total.units.unwrap();
    assert_eq!(units, again, "same seed");
    assert_ne!(units, run_with("udp-over-atm", &set, 2).total.units.unwrap(), "other seed");
}

#[test]
fn wrong_bits_in_cells_do_not_reach_the_program() {
    let set = ["link.line.impair={corrupt=0.0002}"];
    let measured = run_with("udp-over-atm", &set, 1);
    let units = measured.total.units.unwrap();
    assert!(units.lost > 0, "{units:?}");
    assert!(units.received > units.sent / 2, "{units:?}");
}

#[test]
fn a_line_may_impair_one_way_only() {
    let set = ["link.line.impair={loss=0.5, toward=\"a.atm0\"}"];
    let units = run_with("udp-over-atm", &set, 1).total.units.unwrap();
    assert_eq!(units.lost, 0);
}

#[test]
fn peers_are_found_by_inatmarp_and_answer_all_echoes() {
    let measured = run("classical-ip");
    let echoes = measured.total.echoes.unwrap();
    assert_eq!((echoes.sent, echoes.answered), (10, 10));
    assert_eq!((echoes.stray, echoes.errors, echoes.wrong), (0, 0, 0));
    // Four times 1 ms of line, twice 20 us of switch, and cells; the first also waits for an answer of InATMARP, which is
    // as long again at most.
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
    let begin = "wrong.toml:6: host.a.tcp.recieve_buffer = \"8 KiB\": unknown setting \"recieve_buffer\"; did you mean \"receive_buffer\"? (one of defaults, send_buffer, receive_buffer,";
    assert!(said.starts_with(begin), "{said}");
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

/// What is said about `name` with `set`.
fn said(name: &str, set: &str) -> String {
    let built = points(name, &[set]).and_then(|points| {
        let first = points.first().unwrap_or_else(|| panic!("{name} has no points"));
        build(first, 1).map(|_| ())
    });
    match built {
        Ok(()) => panic!("{name} with {set} was built"),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn what_is_wrong_with_settings_is_said_with_its_place_and_what_would_be_right() {
    let cases = [
        ("oc48", "host.a.tcp.window_scalng=true", "unknown setting \"window_scalng\""),
        ("oc48", "host.a.tcp.window_scalng=true", "did you mean \"window_scaling\"?"),
        ("oc48", "host.a.tcp.receive_buffer=2 GiB", "expected a size from 1 B to 1 GiB"),
        ("oc48", "host.a.tcp.mss=0 B", "expected a size from 1 B to 65535 B"),
        ("oc48", "host.a.tcp.mss=70000 B", "expected a size from 1 B to 65535 B"),
        ("oc48", "host.a.tcp.mss=9141 B", "at most 9140 B with IP's mtu of 9180 B"),
        ("oc48", "host.a.tcp.mss=20 ms", "B"),
        ("oc48", "host.a.tcp.mss=1460", "this is 1460; expected a size from 1 B to 65535 B, with its unit"),
        ("oc48", "host.a.tcp.time_wait=5 MB", "host.a.tcp.time_wait"),
        ("oc48", "host.a.tcp.time_wait=1.5", "such as \"20 ms\""),
        ("oc48", "host.a.tcp.sack=yes", "expected true or false"),
        ("oc48", "host.a.tcp.defaults=bsd44", "did you mean \"bsd43\"?"),
        ("oc48", "host.a.tcp.ack={evry=2}", "host.a.tcp.ack.evry"),
        ("oc48", "host.a.ip.mtu=60 B", "host.a.ip.mtu = \"60 B\": this is 60 B; expected a size from 68 B to 65535 B"),
        ("oc48", "host.a.ip.address=10.0.0.1/33", "0 to 32"),
        ("oc48", "host.a.ip.neighbours={\"10.0.0.2\"=\"0.100\"}", "host.a.ip.neighbours.10.0.0.2"),
        ("oc48", "host.a.ip.routes={default=\"10.0.0.300\"}", "a router's IPv4 address"),
        ("oc48", "host.a.llc_snap={vc=7}", "this is 7; expected a circuit"),
        ("oc48", "host.a.prices.tcpp.push=1 us", "unknown node \"tcpp\""),
        ("oc48", "host.a.prices.tcp.shove=1 us", "unknown kind of work \"shove\""),
        ("oc48", "host.a.prices.tcp.push=1 MB", "a price such as \"46.1 ns\""),
        ("oc48", "host.a.atm0={interleve=true}", "did you mean \"interleave\"?"),
        ("oc48", "host.a.atm0={interleave=1}", "expected true or false"),
        ("oc48", "host.a.atm0={aal=\"4\"}", "one of 5, 3/4"),
        ("oc48", "host.a.atm0={aal=2}", "this is 2; expected 5 or \"3/4\""),
        ("oc48", "host.a.atm0={abr={nrm=4}}", "expected left out: it is for service = \"abr\""),
        (
            "oc48",
            "host.a.atm0={service=\"abr\", abr={rif=\"1/3\"}}",
            "expected a part from 1 to 1/32768, such as \"1/16\"",
        ),
        ("oc48", "host.a.atm0={service=\"abr\", abr={cdf=\"1/128\"}}", "expected 0, or a part from 1 to 1/64"),
        ("oc48", "host.a.atm0={service=\"abr\", abr={pcr_cps=10, mcr_cps=11}}", "expected no more than pcr_cps, 10"),
        ("oc48", "host.a.atm0={service=\"abr\", abr={pcr_cps=10, icr_cps=11}}", "from mcr_cps, 0, to pcr_cps, 10"),
        (
            "oc48",
            "host.a.atm0={service=\"abr\", abr={icr_cps=5651321}}",
            "host.a.atm0.abr.icr_cps = 5651321: more cells than there are slots on the line; expected no more than the line's 5651320",
        ),
        ("oc48", "host.a.atm0={service=\"abr\", abr={mcr_cps=6000000}}", "no more than the line's 5651320"),
        (
            "oc48",
            "host.b.atm0={service=\"abr\"}",
            "host.b.atm0.service = \"abr\": at the other end of a channel host.a.atm0.service is \"ubr\"; expected the same at both ends",
        ),
        ("oc48", "host.a.atm0={service=\"vbr\"}", "did you mean \"ubr\"? (one of ubr, abr)"),
        ("interleaved-vcs", "switch.exchange.ci_cells=4", "left out: it is for feedback = \"relative\""),
        ("interleaved-vcs", "switch.exchange.erica_target=90 %", "left out: it is for feedback = \"erica\""),
        ("paper2-media", "load.video.payload_type=72", "expected 0 to 127, but for 72 to 76"),
        ("paper2-media", "load.video.message=20 B", "expected 28 B to 65507 B"),
        ("paper2-media", "load.video.frame=1330 B", "of 1330 octets the last packet has 2"),
        ("paper2-media", "load.video.on=1 s", "rtp has no use for it"),
        ("lossy", "host.a.line0={interleave=true}", "no cells on the line"),
        ("oc48", "load.bulk.socket_buffer=2 GiB", "RFC 7323"),
        ("oc48", "load.bulk.message=0 B", "load.bulk.message"),
        ("oc48", "load.bulk.message=4 GiB", "4 GiB or more; expected at most 4294967295 B"),
        ("oc48", "load.bulk.rate=1 Mb/s", "it is for udp and rtp"),
        ("oc48", "load.bulk.playout=1 ms", "it is for rtp"),
        ("oc48", "load.bulk.kind=ftp", "one of netperf, ttcp, udp, rtp, ping, rpc, ftam, limit"),
        ("oc48", "load.bulk.to=[\"b.netperf\", \"b.netperf\"]", "is there twice"),
        ("oc48", "load.bulk.to=[]", "nobody"),
        ("oc48", "load.bulk.to=a.netperf", "cannot read as well"),
        ("lossy", "run.warm_up=1 s", "no part left out"),
        ("oc48", "load.bulk.sessions=4000000000", "expected 1 to 16384"),
        ("interleaved-vcs", "switch.exchange.ports=1000000000000000", "expected 1 to 8192 ports"),
        ("udp-over-atm", "load.datagrams.message=4 B", "expected 16 B to 65507 B"),
        ("udp-over-atm", "load.datagrams.rate=0 b/s", "nothing would ever be sent"),
        (
            "oc48",
            "link.line.rate=1 Gb/s",
            "unknown setting of oc48c-atm \"rate\"; one of propagation, clock_ppm, impair",
        ),
        ("lossy", "link.line.rate=0 b/s", "this is 0 b/s; expected a rate from 1 b/s to 1000 Tb/s"),
        ("lossy", "link.line.medium=oc3", "did you mean \"oc3c\"?"),
        ("lossy", "link.line.impair={reorder=0.1}", "beside `reorder`"),
        (
            "oc48",
            "link.line.impair={reorder=0.1, reorder_by=\"1 ms\"}",
            "unknown setting of oc48c-atm \"reorder\"; one of toward, loss",
        ),
        ("lossy", "link.line.impair={loss=2.0}", "or a number from 0 to 1"),
        ("lossy", "link.line.impair={loss=0.1, toward=\"c\"}", "unknown end of this line"),
    ];
    for (name, set, expected) in cases {
        let said = said(name, set);
        assert!(said.contains(expected), "{set}\n  said {said}\n  not  {expected}");
        assert!(said.starts_with(&format!("--set {set} (scenarios/{name}.toml): ")), "{said}");
    }
}

/// Of five echoes the first is asked for before the link stands. On a line between two nodes both have the address 03 (RFC 2173).
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
        assert_eq!(dropped("mapos", "nobody knows the next hop"), None);
        let no_route = "dropped, no route to that switch";
        let counters = &measured.counters[&format!("{switch}.mapos_switch")];
        assert_eq!(counters.get(no_route), None);
    }
    let again = run("mapos");
    assert_eq!(again.counters, measured.counters, "same seed");
}

const BESIDE: &str = r#"
title = "Datagrams beside a TCP"

[host.a]
graph = { tcp_program = ["tcp"], udp_program = ["udp"], tcp = ["ip"], udp = ["ip"], ip = ["line0"] }
ip = { address = "10.0.0.1/24" }

[host.b]
like = "a"
ip = { address = "10.0.0.2/24" }

[link.line]
ends = ["a.line0", "b.line0"]
medium = "point-to-point"
rate = "10 Mb/s"
propagation = "5 ms"

[run]
warm_up = "1 s"
duration = "2 s"

[load.bulk]
kind = "netperf"
from = "a.tcp_program"
to = "b.tcp_program"
message = "8 KiB"
socket_buffer = "16 KiB"

[load.datagrams]
kind = "udp"
from = "a.udp_program"
to = "b.udp_program"
message = "1000 B"
rate = "4 Mb/s"
start = "500 ms"
"#;

#[test]
fn two_loads_run_beside_each_other_and_each_is_measured() {
    let document = Document::parse("beside", "beside.toml", BESIDE).unwrap();
    let points = document.points(&Choice::default()).unwrap();
    let built = build(&points[0], 1).unwrap_or_else(|fault| panic!("{fault}"));
    let measured = built.run().measured;
    assert_eq!(measured.total.wrong, None);
    let datagrams = &measured.loads["datagrams"];
    assert!(near(datagrams.goodput_mbps, 4.0, 0.01), "{datagrams:?}");
    // What is left, less the headers: of 1500 octets 52, and of 1028 28.
    let left = (10.0 - 4.0 * 1.028) * 1448.0 / 1500.0;
    assert!(near(measured.loads["bulk"].goodput_mbps, left, 0.02), "{measured:?}");
}

/// Two on one transport have a port each; a ping and datagrams of their own nodes. Ends that are hosts alone, or that other loads have, get nodes of their own.
#[test]
fn loads_share_nodes_transports_and_hosts() {
    let more = r#"
[load.second]
kind = "netperf"
from = "a.tcp_program"
to = "b.tcp_program"
message = "8 KiB"
socket_buffer = "16 KiB"

[load.back]
kind = "netperf"
from = "b"
to = "a"
message = "8 KiB"
socket_buffer = "16 KiB"

[load.probe]
kind = "ping"
from = "a"
to = "b"
message = "56 B"
interval = "50 ms"
"#;
    let document = Document::parse("beside", "beside.toml", &format!("{BESIDE}{more}")).unwrap();
    let points = document.points(&Choice::default()).unwrap();
    let measured = build(&points[0], 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
    assert_eq!(measured.total.wrong, None);
    let rate = |load: &str| measured.loads[load].goodput_mbps;
    let left = (10.0 - 4.0 * 1.028) * 1448.0 / 1500.0;
    assert!(near(rate("bulk") + rate("second"), left, 0.05), "{} {}", rate("bulk"), rate("second"));
    assert!(rate("bulk") > 1.0 && rate("second") > 1.0 && rate("back") > 2.0, "{measured:?}");
    let echoes = measured.loads["probe"].echoes.unwrap();
    assert!(echoes.sent >= 60 && echoes.sent - echoes.answered <= 1, "{echoes:?}");
}

/// What comes and goes: datagrams of one second on and one off, from 1 s to 5 s; then twenty transfers that end, of sizes that are drawn.
#[test]
fn loads_come_in_bursts_stop_and_end() {
    let text = r#"
title = "Coming and going"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms" }
run = { duration = "10 s", interval = "500 ms" }
load.bursts = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "4 Mb/s", on = "1 s", off = "1 s", start = "1 s", stop = "4500 ms" }
load.flows = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", size = "uniform 10 kB .. 30 kB", sessions = 20, start = "6 s", stagger = "exponential 100 ms" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let run = build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run();
    let of = |name: &str, from: f64, to: f64| -> Vec<f64> {
        let samples = run.samples.as_ref().unwrap().0.iter();
        let own = samples.filter(|it| it.scope == SampleOf::Load && it.name == name);
        own.filter(|it| it.time_s > from && it.time_s <= to).map(|it| it.goodput_mbps.unwrap()).collect()
    };
    assert!(
        of("bursts", 0.0, 1.0)
            .iter()
            .chain(&of("bursts", 2.5, 3.0))
            .chain(&of("bursts", 5.0, 10.0))
            .all(|rate| *rate == 0.0)
    );
    let on = [of("bursts", 1.0, 2.0), of("bursts", 3.0, 4.0)].concat();
    assert!(on.len() == 4 && on.iter().all(|rate| near(*rate, 4.0, 0.03)), "{on:?}");
    let flows = &run.measured.loads["flows"].flows;
    assert!(flows.iter().all(|flow| (10_000..=30_000).contains(&flow.octets) && flow.completion.is_some()));
    let mut sizes: Vec<u64> = flows.iter().map(|flow| flow.octets).collect();
    sizes.dedup();
    assert!(sizes.len() > 15, "{sizes:?}");
    assert_eq!(run.measured.total.wrong, None);
}

/// A few fill the line; of a hundred some wait for their timers, and all come to an end.
#[test]
fn a_hundred_senders_at_once_lose_what_a_few_do_not() {
    for point in points("incast", &["senders=8, 100"]).unwrap_or_else(|fault| panic!("{fault}")) {
        let senders = point.scenario.load["answers"].from.0.len();
        let measured = build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
        let flows = &measured.total.flows;
        assert!(flows.len() == senders && flows.iter().all(|it| it.completion.is_some() && it.octets == 65536));
        let timeouts: u64 = flows.iter().filter_map(|flow| flow.sender.as_ref()).map(|it| it.timeouts).sum();
        // Of 1538 octets on the line 1448 are data.
        let is_full = measured.total.goodput_mbps > 0.95 * 1000.0 * 1448.0 / 1538.0;
        assert_eq!((is_full, timeouts > 0), (senders == 8, senders == 100), "{timeouts}: {measured:?}");
    }
}

/// What is said of times: a datagram of 972 octets and 28 of headers is 0.8 ms on a line of 10 Mb/s and 10 ms under way; one sent at once behind another waits for that; flows
/// that end take no less than their octets and three round trips.
#[test]
fn rows_say_how_long_things_took() {
    let text = r#"
title = "Times"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }
run.duration = "10 s"
load.even = { kind = "udp", from = "a", to = "b", message = "972 B", rate = "777600 b/s", count = 100 }
load.pair = { kind = "udp", from = "a", to = "b", message = "972 B", rate = "77.76 Gb/s", count = 2, start = "2 s" }
load.probe = { kind = "ping", from = "a", to = "b", message = "972 B", interval = "100 ms", start = "3 s", count = 10 }
load.flows = { kind = "ttcp", from = "a", to = "b", message = "14480 B", count = 1, sessions = 10, start = "5 s", stagger = "200 ms" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let rows = Laboratory::default().run(&point).unwrap().rows;
    let of =
        |load: &str| rows.iter().find(|row| row.scope == Scope::Load && row.load.as_deref() == Some(load)).unwrap();
    let all = |map: &BTreeMap<String, f64>, low: f64, high: f64| {
        assert_eq!(map.len(), 6, "{map:?}");
        // Times are known to 1 %.
        assert!(map["min"] >= low * 0.99 && map["max"] <= high * 1.01, "{low} to {high}: {map:?}");
    };
    all(&of("even").delay_ms, 10.8, 10.8);
    all(&of("pair").delay_ms, 10.8, 11.6);
    assert!(near(of("pair").delay_ms["mean"], 11.2, 0.01));
    all(&of("probe").round_trip_ms, 21.6, 21.6);
    // The handshake is over before the clock begins; ten segments are one first window.
    all(&of("flows").completion_ms, 10.0 * 1.5 * 0.8 + 10.0, 3.0 * 21.6 + 10.0 * 1.5 * 0.8);
    let flows = rows.iter().filter(|row| row.scope == Scope::Flow && row.load.as_deref() == Some("flows"));
    let (mut count, mut hosts) = (0, Vec::new());
    for row in flows {
        assert!(row.completion_s.is_some() && row.completion_ms.is_empty());
        count += 1;
        hosts.extend(row.from.clone());
    }
    assert_eq!((count, hosts), (10, vec!["a".to_owned(); 10]));
}

/// One exchange takes a round trip and the times on the line: of 100 + 52 octets there and, one behind the other, of 3000 + 3 * 52 back. With
/// Nagle's algorithm the last piece of a response would wait for another round trip.
#[test]
fn requests_are_answered_and_each_exchange_is_timed() {
    let text = r#"
title = "Requests"
host.a = { count = 2, graph = ["ip", "l0"] }
host.b.graph = { ip = ["l0", "l1"] }
link.line = { count = 2, ends = ["a${i}", "b.l${i}"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }
run = { warm_up = "1 s", duration = "10 s" }
load.ask = { kind = "rpc", from = "a*", to = "b", message = "100 B", response = "3000 B", sessions = 2, think = "exponential 50 ms", coalesce = "never" }
load.once = { kind = "rpc", from = "a1", to = "b", message = "8 B", response = "uniform 1 B .. 100 kB", count = 5, start = "2 s" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let rows = Laboratory::default().run(&point).unwrap().rows;
    let of =
        |load: &str| rows.iter().find(|row| row.scope == Scope::Load && row.load.as_deref() == Some(load)).unwrap();
    let ask = of("ask");
    let times = &ask.completion_ms;
    let alone = 20.0 + (152.0 + 3156.0) * 8.0 / 10_000.0;
    assert!(near(times["min"], alone, 0.01) && near(times["p50"], alone, 0.05), "{alone}: {times:?}");
    // Four sessions, each of an exchange and a pause.
    let expected = 4.0 * 10.0 / ((times["mean"] + 50.0) / 1e3);
    let count = ask.completions.unwrap();
    assert!(near(count as f64, expected, 0.1), "{count} {expected}");
    assert!(near(ask.octets as f64, count as f64 * 3000.0, 0.01), "{}", ask.octets);
    let flows = rows.iter().filter(|row| row.scope == Scope::Flow && row.load.as_deref() == Some("ask"));
    assert_eq!(flows.filter_map(|row| row.completions).sum::<u64>(), count);
    let once = of("once");
    assert!(once.completions == Some(5) && once.octets <= 500_000, "{once:?}");
}

/// Those with a title; the others are parts.
#[test]
fn the_examples_of_the_language_can_be_built() {
    let text = include_str!("../../../../docs/language.md");
    let blocks = text.split("```toml\n").skip(1).filter_map(|block| block.split("```").next());
    let whole: Vec<&str> = blocks.filter(|block| block.starts_with("title")).collect();
    assert_eq!(whole.len(), 5);
    for block in whole {
        let points = Document::parse("language", "language.md", block).and_then(|it| it.points(&Choice::default()));
        for point in points.unwrap_or_else(|fault| panic!("{fault}")) {
            build(&point, 1).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}

/// Looking at a run changes nothing of it.
#[test]
fn values_over_time_leave_a_run_as_it_is() {
    // One that writes for a time, and one that ends.
    for (name, set) in [("marked-queue", &[][..]), ("path-mtu", &[])] {
        let plain = run_with(name, set, 1);
        for interval in ["run.interval=10 ms", "run.interval=7 ms"] {
            assert_eq!(plain, run_with(name, &[set, &[interval]].concat(), 1), "{name} {interval}");
        }
    }
}

/// Half of the time they are silent, so they send half of their rate, however short the bursts are; what comes at random too.
#[test]
fn bursts_keep_the_rate_while_they_last() {
    let text = r#"
title = "Bursts"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s" }
run.duration = "20 s"
load.long = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s", on = "exponential 100 ms", off = "exponential 100 ms" }
load.short = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s", on = "exponential 2 ms", off = "exponential 2 ms" }
load.random = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s", on = "8 ms", off = "8 ms", arrivals = "poisson" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let measured = build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured;
    for (name, load) in &measured.loads {
        assert!(near(load.goodput_mbps, 0.5, 0.1), "{name}: {}", load.goodput_mbps);
        assert_eq!(load.stopped, 0, "{name}: silence is no standstill");
    }
}

/// A line of 1 Mb/s holds one of them and not the other, whose buffer does; what the one cannot use of a shared line is left to the other.
#[test]
fn what_bounds_a_flow_and_how_much_all_can_have_depend_on_the_way_of_each() {
    let text = r#"
title = "Unequal"
host.a = { count = 2, graph = ["ip", "l0"] }
host.b.graph = ["ip", "l0"]
host.r = { graph = { ip = ["l0", "l1", "out"] }, ip.forwarding = true }
link.slow = { ends = ["a0", "r.l0"], medium = "point-to-point", rate = "1 Mb/s", propagation = "5 ms" }
link.fast = { ends = ["a1", "r.l1"], medium = "point-to-point", rate = "100 Mb/s", propagation = "5 ms" }
link.out = { ends = ["r.out", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "5 ms" }
run = { warm_up = "2 s", duration = "10 s" }
load.bulk = { kind = "netperf", from = "a*", to = "b", message = "8 KiB", socket_buffer = "8 KiB" }
"#;
    let document = Document::parse("x", "x.toml", text).unwrap();
    let point = document.points(&Choice::default()).unwrap().remove(0);
    let limit = limit::of_all(&point.scenario, &point.scenario.load["bulk"]).unwrap();
    assert!(near(limit, 10.0 * 1448.0 / 1500.0, 1e-6), "{limit}");
    let rows = Laboratory::default().run(&point).unwrap().rows;
    let bound = |from: &str| rows.iter().find(|row| row.from.as_deref() == Some(from)).unwrap().bound_by.as_str();
    assert_eq!((bound("a0"), bound("a1")), ("link", "send buffer"));
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
