//! Switches for cells and for frames, and datagrams over them.

use super::*;

#[test]
fn datagrams_cross_an_atm_line_at_the_rate_they_are_sent() {
    let measured = run("udp-over-atm");
    assert!(near(measured.total.goodput_mbps, 100.0, 0.01), "{measured:?}");
    let Units { sent, received, lost, duplicated, reordered, .. } = measured.total.units.unwrap();
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

/// Two full inputs into one output, 100 cells deep: it is busy all the time, and what it drops, marks and sends over
/// time adds up to what the switch counts.
#[test]
fn the_port_of_an_atm_switch_says_over_time_what_it_drops_and_how_busy_it_is() {
    for follow in [true, false] {
        let text = format!(
            r#"
title = "Two inputs, one output"
host.s = {{ count = 2, graph = ["ip", "llc_snap", "atm0"] }}
host.r.like = "s"
switch.sw = {{ queue_cells = 100, efci_cells = 50, follow_queues = {follow} }}
link.in = {{ count = 2, ends = ["s${{i}}", "sw"], medium = "oc3c-atm" }}
link.out = {{ ends = ["sw", "r"], medium = "oc3c-atm" }}
load.units = {{ kind = "udp", from = "s*", to = "r", message = "1000 B", rate = "100 Mb/s" }}
run = {{ duration = "200 ms", interval = "20 ms" }}
"#
        );
        let document = Document::parse("x", "x.toml", &text).unwrap_or_else(|fault| panic!("{fault}"));
        let point = document.points(&Choice::default()).unwrap_or_else(|fault| panic!("{fault}")).remove(0);
        let run = build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run();
        let measured = &run.measured;
        let samples = run.samples.unwrap_or_default().0;
        let out: Vec<_> = samples.iter().filter(|it| it.name == "sw.2").collect();
        assert_eq!(out.len(), 10);
        let sum = |of: fn(&Sample) -> Option<u64>| out.iter().filter_map(|it| of(it)).sum::<u64>();
        let (drops, marks) = (sum(|it| it.drops), sum(|it| it.marks));
        assert_eq!((drops, marks), (count(measured, "sw", "overflow"), count(measured, "sw", "efci")));
        assert_eq!((drops, marks), (count(measured, "sw.2", "drops"), count(measured, "sw.2", "efci")));
        // 2.06 times what the output takes comes, 22 cells a datagram.
        let sent = measured.total.units.unwrap_or_default().sent * 22;
        let passed = count(measured, "sw.2", "cells_out");
        assert!(sent.abs_diff(passed + drops) < 200, "{sent} {passed} {drops}");
        assert_eq!(count(measured, "sw.0", "cells_out") + count(measured, "sw.1", "cells_out"), 0);
        for sample in out.iter().skip(1) {
            assert!(near(sample.busy.unwrap_or(0.0), 1.0, 0.01), "{sample:?}");
            // It is full for no time: a cell leaves at the instant at which one finds room.
            assert_eq!(sample.queue_max, follow.then_some(99));
        }
        let busy = count(measured, "sw.2", "busy_ns");
        // 424 bits of 149.76 Mb/s.
        assert!(busy.abs_diff(passed * 424_000_000 / 149_760) < passed, "{busy}");
    }
}

/// One at a time sends on a ring, so it is busy as a whole, and no station by itself.
#[test]
fn a_ring_says_over_time_how_busy_it_is() {
    let text =
        include_str!("../../../../../scenarios/fddi.toml").replace("warm_up = \"100 ms\"", "interval = \"50 ms\"");
    let document = Document::parse("x", "x.toml", &text).unwrap_or_else(|fault| panic!("{fault}"));
    let point = document.points(&Choice::default()).unwrap_or_else(|fault| panic!("{fault}")).remove(0);
    let run = build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run();
    let busy_ns = count(&run.measured, "ring", "busy_ns");
    let samples = run.samples.unwrap_or_default().0;
    let ring: Vec<_> = samples.iter().filter(|it| it.name == "ring").collect();
    assert_eq!(ring.len(), 8);
    let busy: Vec<f64> = ring.iter().filter_map(|it| it.busy).collect();
    assert!(busy.iter().skip(1).all(|part| (0.9..1.0).contains(part)), "{busy:?}");
    let all = Duration::from_nanos(busy_ns).as_secs_f64();
    assert!(near(busy.iter().sum::<f64>() * 0.05, all, 0.001), "{busy:?} {all}");
    assert!(ring.iter().all(|it| it.queue_mean.is_none() && it.drops.is_none()));
}

/// A source of available bit rate that the network never slows down has all of the line but for its RM cells, and is
/// bound by the line.
#[test]
fn a_channel_of_available_bit_rate_has_what_its_rm_cells_leave() {
    let limits = ["abr", "ubr"].map(|service| {
        let text = format!(
            r#"
title = "One channel"
host.s = {{ graph = ["tcp", "ip", "llc_snap", "atm0"], ip.mtu = "9180 B", atm0.service = "{service}" }}
host.r.like = "s"
switch.sw = {{ queue_cells = 10000, efci_cells = 9000 }}
link.in = {{ ends = ["s", "sw"], medium = "oc3c-atm" }}
link.out = {{ ends = ["sw", "r"], medium = "oc3c-atm" }}
load.bulk = {{ kind = "netperf", from = "s", to = "r", message = "8 KiB", socket_buffer = "256 KiB" }}
run = {{ warm_up = "100 ms", duration = "400 ms" }}
"#
        );
        let document = Document::parse("x", "x.toml", &text).unwrap_or_else(|fault| panic!("{fault}"));
        let point = document.points(&Choice::default()).unwrap_or_else(|fault| panic!("{fault}")).remove(0);
        let outcome = Laboratory::default().run(&point).unwrap_or_else(|why| panic!("{why}"));
        let row = outcome.rows.first().unwrap_or_else(|| panic!("no row"));
        let limit = row.limit_mbps.unwrap_or_default();
        // The rate is what RM cells can say, 352,768 cells of 353,207 in a second, and as much is for those that go
        // back.
        assert!(near(row.goodput_mbps, limit, 0.004), "{service}: {} {limit}", row.goodput_mbps);
        assert_eq!(row.bound_by, "link", "{service}");
        limit
    });
    assert!(near(limits[0], limits[1] * 31.0 / 32.0, 1e-9), "{limits:?}");
}
