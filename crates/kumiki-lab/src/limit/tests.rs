use proptest::prelude::*;

use super::{
    Cost, Ladder, LadderError, Line, Overhead, PAPER_2, Ratio, aal5_padding, aal5_trailer, aal34_frame, aal34_padding,
    aal34_segments, cell_headers, ds3_plcp, figure, hdlc, ipv4, ladder, llc_snap, oc, of_load, ppp, rows, sonet,
    stuffing, sweep, table, tcp, udp,
};
use crate::scenario::Scenario;
use crate::table::Layout;

/// Classical IP over an OC-3c.
fn classical_ip() -> Vec<Overhead> {
    vec![sonet(), cell_headers(), aal5_padding(), aal5_trailer(), llc_snap(), ipv4(), tcp(false)]
}

fn printed(ladder: &Ladder) -> Vec<String> {
    let steps = ladder.condensed();
    steps.iter().map(|step| step.rate_mbps.to_string()).collect()
}

fn goodput(layers: &[Overhead], payload: u32) -> String {
    format!("{:.2}", ladder(&oc(3), layers, payload).unwrap().goodput_mbps())
}

#[test]
fn paper_2_table_2() {
    let ladder = ladder(&oc(3), &classical_ip(), 8192).unwrap();
    assert_eq!(printed(&ladder), ["155.520", "149.760", "135.632", "134.580"]);
    let factors: Vec<_> = ladder.condensed().iter().map(|step| step.factor).collect();
    assert_eq!(factors, [(1, 1), (2340, 2430), (48, 53), (8192, 8256)]);
    assert_eq!((ladder.cells, ladder.padding_octets), (Some(172), Ratio::whole(8)));
    let packets = ladder.condensed().pop().unwrap();
    assert_eq!(packets.note, "TCP 20, IP 20, LLC/SNAP 8, AAL5 trailer 8, padding 8, 172 cells");
}

#[test]
fn paper_2_rounded_on_the_way() {
    let ladder = ladder(&oc(3), &classical_ip(), 8192).unwrap();
    let rounded: Vec<String> = ladder.paper_arithmetic(3).iter().map(Ratio::to_string).collect();
    assert_eq!(rounded, ["155.520", "149.760", "135.632", "134.581"]);
}

#[test]
fn the_table_shows_the_paper_beside_each_step() {
    let ladder = ladder(&oc(3), &classical_ip(), 8192).unwrap();
    let text = table(&ladder, &PAPER_2).draw(Layout::default());
    for expected in ["155.520", "149.760", "135.632", "134.580", "paper 134.581", "2340/2430", "48/53", "172 cells"] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert!(text.contains("134.581; exactly 134.580290."), "{text}");
}

#[test]
fn rows_are_as_the_paper_prints_them() {
    let ladder = ladder(&oc(3), &classical_ip(), 8192).unwrap();
    let rows = rows(&ladder, Some(2), "table2", &PAPER_2);
    assert_eq!(rows.len(), 4);
    for (row, paper) in rows.iter().zip(PAPER_2) {
        assert_eq!(row.paper_mbps, Some(paper));
        assert!((row.goodput_mbps - paper).abs() < 0.0011, "{row:?}");
        row.check().unwrap();
    }
}

/// facts: cells = ceil((n + 40 + 8 + 8) / 48), goodput = R n / (53 cells).
#[test]
fn classical_ip_by_size_of_the_payload() {
    let expected = [
        (512, 12, "120.56"),
        (1024, 23, "125.80"),
        (1460, 32, "128.92"),
        (2048, 44, "131.52"),
        (4096, 87, "133.03"),
        (8192, 172, "134.58"),
        (9140, 192, "134.51"),
    ];
    for (payload, cells, mbps) in expected {
        let found = ladder(&oc(3), &classical_ip(), payload).unwrap();
        assert_eq!((found.cells, goodput(&classical_ip(), payload).as_str()), (Some(cells), mbps));
    }
    assert_eq!(goodput(&classical_ip(), 9160), "134.81");
}

/// As above, with ceil((n + 56) / 44) cells; the cells are those that the octets' own arithmetic gives.
#[test]
fn classical_ip_over_aal34_by_size_of_the_payload() {
    let layers =
        [sonet(), cell_headers(), aal34_segments(), aal34_padding(), aal34_frame(), llc_snap(), ipv4(), tcp(false)];
    for (payload, cells, mbps) in
        [(512, 13, "111.29"), (1460, 35, "117.87"), (8192, 188, "123.13"), (9140, 209, "123.57"), (9141, 210, "123.00")]
    {
        let found = ladder(&oc(3), &layers, payload).unwrap();
        assert_eq!((found.cells, goodput(&layers, payload).as_str()), (Some(cells), mbps));
        let sdu = usize::try_from(payload).unwrap() + 48;
        assert_eq!(kumiki_wire::atm::aal34::cells(sdu) as u128, cells);
    }
    let found = ladder(&oc(3), &layers, 9140).unwrap();
    assert_eq!(printed(&found), ["155.520", "149.760", "135.632", "124.329", "123.572"]);
    assert_eq!(found.padding_octets, Ratio::ZERO);
}

#[test]
fn ppp_over_sonet_with_its_stuffing() {
    let pos = |stuffing: Option<Overhead>, fcs, flags| {
        let mut layers = vec![sonet(), hdlc(fcs, flags)];
        layers.extend(stuffing);
        layers.extend([ppp(), ipv4(), tcp(false)]);
        layers
    };
    let exact = |layers: &[Overhead], payload| ladder(&oc(3), layers, payload).unwrap().goodput_mbps().to_string();
    assert_eq!(exact(&pos(None, 4, 1), 1460), "144.897");
    assert_eq!(exact(&pos(Some(stuffing(2, 256)), 4, 1), 1460), "143.810");
    // ttcp's pattern in writes of 4096 octets has 86 to stuff.
    let ttcp = || Some(stuffing(86, 4096));
    assert_eq!(exact(&pos(ttcp(), 4, 1), 1460), "142.012");
    assert_eq!(exact(&pos(ttcp(), 2, 1), 1460), "142.197");
    assert_eq!(exact(&pos(ttcp(), 2, 2), 1460), "142.104");
    assert_eq!(exact(&pos(ttcp(), 4, 2), 1460), "141.920");
    for (mtu, none, random, ttcp_s) in [
        (4470, "148.12", "146.99", "145.11"),
        (9180, "148.96", "147.81", "145.91"),
        (65280, "149.65", "148.49", "146.57"),
    ] {
        assert_eq!(goodput(&pos(None, 4, 1), mtu - 40), none);
        assert_eq!(goodput(&pos(Some(stuffing(2, 256)), 4, 1), mtu - 40), random);
        assert_eq!(goodput(&pos(ttcp(), 4, 1), mtu - 40), ttcp_s);
    }
}

#[test]
fn tcp_over_a_ds3() {
    let mut layers = classical_ip();
    layers[0] = ds3_plcp();
    let line = Line { name: "DS-3 line".to_owned(), bits_per_second: 44_736_000 };
    let found = ladder(&line, &layers, 9140).unwrap();
    assert_eq!(format!("{:.2}", found.goodput_mbps()), "36.56");
    assert_eq!(printed(&found)[..3], ["44.736", "40.704", "36.864"]);
}

#[test]
fn the_sweep_is_a_sawtooth_of_48_octets() {
    let swept = sweep(&oc(3), &classical_ip(), 8100..=8300).unwrap();
    let drops: Vec<u32> = swept.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[1].0).collect();
    // 8200 octets fill 172 cells to the last octet.
    assert!(drops.contains(&8201));
    assert!(drops.windows(2).all(|pair| pair[1] - pair[0] == 48));
    let figure = figure(&oc(3), &classical_ip(), 8100..=8300).unwrap();
    assert_eq!(figure.series[0].points.len(), 201);
}

#[test]
fn senseless_layers_are_refused() {
    let share = |cost| Overhead { name: "x".to_owned(), cost, note: String::new() };
    for cost in [
        Cost::Share { kept: 1, of: 0 },
        Cost::Share { kept: 2, of: 1 },
        Cost::Cells(0),
        Cost::Among { added: 1, per: 0 },
    ] {
        assert!(matches!(ladder(&oc(3), &[share(cost)], 1), Err(LadderError::Share(..))));
    }
    assert_eq!(ladder(&oc(3), &[], 0), Err(LadderError::NoPayload));
    let primes = [4_294_967_291, 4_294_967_279, 4_294_967_231, 4_294_967_197, 4_294_967_189];
    let layers = primes.map(|of| share(Cost::Share { kept: of - 2, of }));
    assert!(matches!(ladder(&oc(3), &layers, 1), Err(LadderError::TooBig(_))));
}

const PAPER_2_FIGURE_6: &str = r#"
title = "One session"
[host.sender]
graph = ["bench", "tcp", "ip", "llc_snap", "atm0"]
tcp = { defaults = "bsd43", mss = "8192 B" }
ip = { address = "10.0.0.1/24", mtu = "9180 B" }
[host.receiver]
like = "sender"
[switch.exchange]
ports = 2
queue_cells = 1024
channels = ["0 0/100 <-> 1 0/100"]
[link.one]
ends = ["sender.atm0", "exchange.0"]
medium = "oc3c-atm"
[link.two]
ends = ["exchange.1", "receiver.atm0"]
medium = "oc3c-atm"
[run]
duration = "1 s"

[load.bulk]
kind = "netperf"
from = "sender.bench"
to = "receiver.bench"
message = "8192 B"
"#;

/// The ladder of its only load.
fn only(scenario: &Scenario) -> Result<Ladder, String> {
    of_load(scenario, scenario.load.values().next().unwrap())
}

fn changed(from: &str, to: &str) -> Result<Ladder, String> {
    let text = PAPER_2_FIGURE_6.replace(from, to);
    assert!(from.is_empty() || text != PAPER_2_FIGURE_6);
    let scenario: Scenario = toml::from_str(&text).unwrap();
    only(&scenario)
}

#[test]
fn a_scenario_has_the_ladder_of_its_stack() {
    let found = changed("", "").unwrap();
    assert_eq!(printed(&found), ["155.520", "149.760", "135.632", "134.580"]);
    assert_eq!(found, ladder(&oc(3), &classical_ip(), 8192).unwrap());
}

#[test]
fn a_line_carries_as_much_as_its_clock_has_it() {
    let line = "medium = \"oc3c-atm\"";
    // Between limits the middle counts.
    for (clock, first) in [("1000", "155.676"), ("\"400 .. 1000\"", "155.629"), ("\"-20 .. 20\"", "155.520")] {
        let found = changed(line, &format!("{line}\nclock_ppm = {clock}")).unwrap();
        assert_eq!(printed(&found)[0], first, "{clock}");
    }
    let fast = changed(line, &format!("{line}\nclock_ppm = 1000")).unwrap().goodput_mbps().as_f64();
    let right = changed("", "").unwrap().goodput_mbps().as_f64();
    assert!((fast / right - 1.001).abs() < 1e-8, "{fast} {right}");
}

#[test]
fn without_an_mss_a_segment_fills_the_mtu() {
    let found = changed(", mss = \"8192 B\"", "").unwrap();
    assert_eq!((found.payload_octets, found.cells), (9140, Some(192)));
    let stamped = changed("mss = \"8192 B\"", "timestamps = true").unwrap();
    assert_eq!((stamped.payload_octets, stamped.cells), (9128, Some(192)));
    let ends = "from = \"sender.bench\"\nto = \"receiver.bench\"";
    let back = changed(ends, "from = \"receiver.bench\"\nto = \"sender.bench\"").unwrap();
    assert_eq!(back.payload_octets, 8192);
}

#[test]
fn of_a_channel_of_available_bit_rate_some_cells_are_rm_cells() {
    let found = |settings: &str| {
        let found = changed("ip = {", &format!("atm0 = {{ {settings} }}\nip = {{")).unwrap();
        printed(&found).join(" ")
    };
    assert_eq!(found("service = \"abr\""), "155.520 149.760 145.080 131.393 130.375");
    assert_eq!(found("service = \"abr\", abr = { nrm = 256 }"), "155.520 149.760 149.175 135.102 134.055");
}

#[test]
fn a_device_with_aal34_has_the_ladder_of_aal34() {
    let found = changed("ip = {", "atm0 = { aal = \"3/4\" }\nip = {").unwrap();
    assert_eq!((found.cells, found.goodput_mbps().to_string().as_str()), (Some(188), "123.127"));
}

#[test]
fn the_slowest_line_on_the_way_is_the_limit() {
    let found = changed(
        "ends = [\"exchange.1\", \"receiver.atm0\"]\nmedium = \"oc3c-atm\"",
        "ends = [\"exchange.1\", \"receiver.atm0\"]\nmedium = \"ds3-plcp\"",
    )
    .unwrap();
    assert_eq!(found.steps[0].rate_mbps.to_string(), "44.736");
}

#[test]
fn a_slow_line_that_a_switch_leads_to_is_no_limit_where_nobody_reads_behind_it() {
    let switch = |third: &str| {
        let ports = "kind = \"ethernet\"\nports = 3\nqueue_frames = 9";
        let text = PAPER_2_FIGURE_6
            .replace("ports = 2\nqueue_cells = 1024\nchannels = [\"0 0/100 <-> 1 0/100\"]", ports)
            .replace("\"llc_snap\", \"atm0\"", "\"eth\", \"atm0\"")
            .replace("medium = \"oc3c-atm\"", "medium = \"point-to-point\"\nrate = \"100 Mb/s\"")
            .replace("[run]", &format!("[host.third]\nlike = \"sender\"\n{third}\n[run]"));
        let scenario: Scenario = toml::from_str(&text).unwrap();
        only(&scenario).unwrap().steps[0].rate_mbps.to_string()
    };
    let slow = "medium = \"point-to-point\"\nrate = \"1 Mb/s\"";
    assert_eq!(switch(&format!("[link.three]\nends = [\"exchange.2\", \"third.atm0\"]\n{slow}")), "100.000");
}

#[test]
fn graphs_that_are_not_chains_and_lines_of_any_rate_are_understood() {
    let text = r#"
        title = "x"
        [host.a]
        graph = { bench = ["talk"], talk = ["inet"], inet = ["lo", "line"], ping = ["inet"] }
        kind = { talk = "udp", inet = "ip" }
        [link.l]
        ends = ["a.line", "b.line"]
        medium = "point-to-point"
        rate = "10 Mb/s"
        framing = "24 B"
        [run]
        duration = "1 s"

        [load.bulk]
        kind = "netperf"
        from = "a.bench"
        to = "b.bench"
        message = "1448 B"
    "#;
    let line = Line { name: "point-to-point line".to_owned(), bits_per_second: 10_000_000 };
    let expected = ladder(&line, &[super::framing(24), ipv4(), udp()], 1448).unwrap();
    assert_eq!(only(&toml::from_str(text).unwrap()).unwrap(), expected);
    let big = text.replace("1448 B", "1473 B");
    let error = only(&toml::from_str(&big).unwrap()).unwrap_err();
    assert!(error.contains("1473") && error.contains("1472"), "{error}");
}

/// The ladder of a writer of 8000 octets on these nodes.
fn on_nodes(graph: &str, settings: &str) -> Result<Ladder, String> {
    on_nodes_with(graph, settings, "8000 B")
}

fn on_nodes_with(graph: &str, settings: &str, message: &str) -> Result<Ladder, String> {
    let text = format!(
        r#"
        title = "x"
        [host.a]
        graph = {{ {graph} }}
        {settings}
        [link.l]
        ends = ["a.line", "b.line"]
        medium = "point-to-point"
        rate = "10 Mb/s"
        [run]
        duration = "1 s"

        [load.file]
        kind = "ftam"
        from = "a.user"
        to = "b.user"
        message = "{message}"
    "#
    );
    only(&toml::from_str(&text).unwrap())
}

#[test]
fn tpdus_in_a_stream_fill_its_segments() {
    let graph = r#"user = ["tp0"], tp0 = ["tpkt"], tpkt = ["tcp"], tcp = ["ip"], ip = ["line"]"#;
    let found = on_nodes(graph, "tp0 = { tpdu = \"2048 B\" }").unwrap();
    // 8000 octets are 3 TPDUs of 2045 and one of 1865, each with 3 + 4 octets, in segments of 1448, each with 52.
    assert_eq!(found.payload_octets, 8000);
    assert_eq!(found.packet_octets, Ratio::new(8028 * 1500, 1448).unwrap());
    // Short messages share a segment.
    let short = on_nodes_with(graph, "", "200 B").unwrap();
    assert_eq!(short.packet_octets, Ratio::new(207 * 1500, 1448).unwrap());
    let mbps = Ratio::new(10 * 200 * 1448, 207 * 1500).unwrap();
    assert_eq!(short.goodput_mbps(), mbps);
}

#[test]
fn packets_over_xot_on_an_interface_and_in_ethernet_take_what_is_in_front_of_them() {
    // 8000 octets are 62 packets of 128 octets and one of 64.
    let graph = r#"user = ["x25"], x25 = ["xot"], xot = ["tcp"], tcp = ["ip"], ip = ["line"]"#;
    let found = on_nodes(graph, "").unwrap();
    let octets = 8000 + 63 * 7;
    assert_eq!(found.packet_octets, Ratio::new(octets * 1500, 1448).unwrap());
    let graph = r#"user = ["x25"], x25 = ["iface"], iface = ["line"]"#;
    let found = on_nodes(graph, "kind = { iface = \"x25_iface\" }").unwrap();
    assert_eq!(found.packet_octets, Ratio::whole(8000 + 63 * 4));
    let graph = r#"user = ["x25"], x25 = ["lapb"], lapb = ["ether"], ether = ["eth"], eth = ["line"]"#;
    let found = on_nodes(graph, "kind = { ether = \"lapb_ether\" }").unwrap();
    assert_eq!(found.packet_octets, Ratio::whole(8000 + 63 * (3 + 2 + 2 + 14)));
}

#[test]
fn a_switch_of_packets_adds_nothing_of_its_own() {
    let graph = r#"user = ["exchange"], exchange = ["x25"], x25 = ["line"]"#;
    let why = on_nodes(graph, "kind = { exchange = \"x25_switch\" }").unwrap_err();
    assert!(why.contains("`exchange`") && why.contains("from a host that writes"), "{why}");
}

#[test]
fn what_is_not_known_is_said() {
    for (from, to, expected) in [
        ("\"llc_snap\"", "\"mystery\"", "`mystery`"),
        ("medium = \"oc3c-atm\"", "medium = \"string\"", "unknown medium \"string\"; one of oc3c-atm, "),
        ("from = \"sender.bench\"", "from = \"bench\"", "host.node"),
        ("from = \"sender.bench\"", "from = \"nobody.bench\"", "`nobody`"),
        ("from = \"sender.bench\"", "from = \"sender.tester\"", "`tester`"),
        ("sender.atm0", "sender.atm1", "no way down"),
        ("8192 B\" }", "8192 W\" }", "tcp.mss"),
    ] {
        let error = changed(from, to).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

proptest! {
    #[test]
    fn rounding_is_to_the_nearest(n in 0u128..1 << 60, d in 1u128..1 << 40, decimals in 0u32..6) {
        let ratio = Ratio::new(n, d).unwrap();
        let rounded = ratio.rounded(decimals).unwrap();
        let off = rounded.checked_sub(ratio).or_else(|| ratio.checked_sub(rounded)).unwrap();
        let half = Ratio::new(1, 2 * 10u128.pow(decimals)).unwrap();
        prop_assert!(half.checked_sub(off).is_some());
        prop_assert_eq!(rounded.rounded(decimals), Some(rounded));
        // A decimal number reads back as the fraction that it shows.
        let text = format!("{ratio:.0$}", usize::try_from(decimals).unwrap());
        let digits: u128 = text.replace('.', "").parse().unwrap();
        prop_assert_eq!(Ratio::new(digits, 10u128.pow(decimals)), Some(rounded));
    }

    #[test]
    fn steps_multiply_up_to_the_goodput(payload in 1u32..70_000, overheads in prop::collection::vec(0u32..100, 0..6)) {
        let mut layers = classical_ip();
        layers.extend(overheads.into_iter().map(super::framing));
        let found = ladder(&oc(3), &layers, payload).unwrap();
        let cells = found.cells.unwrap();
        prop_assert_eq!(found.packet_octets, Ratio::whole(cells * 48));
        let expected = Ratio::new(149_760 * u128::from(payload), 1_000 * 53 * cells);
        prop_assert_eq!(Some(found.goodput_mbps()), expected);
        prop_assert!(found.steps.windows(2).all(|pair| pair[0].rate_mbps.checked_sub(pair[1].rate_mbps).is_some()));
    }
}

/// A target of 4 ms of which the token is away for 0.2 ms: one station sends for 3.8 of 4.2 ms, four for 15.2 of 16.2.
/// What does not fit into 32 bits is a share all the same.
#[test]
fn stations_of_a_ring_have_what_the_timed_token_leaves_them() {
    let share = |frame, stations| {
        let Cost::Share { kept, of } = super::token(200_000, 4_000_000, frame, stations).cost else {
            panic!("a token is a share")
        };
        f64::from(kept) / f64::from(of)
    };
    for (frame, stations, expected) in
        [(0, 1, 3.8 / 4.2), (0, 4, 15.2 / 16.2), (400_000, 1, 4.2 / 4.6), (0, 10_000, 38_000.0 / 40_000.2)]
    {
        assert!((share(frame, stations) - expected).abs() < 1e-8, "{frame} {stations}");
    }
}

/// What is expanded of `text`.
fn read(text: &str) -> Scenario {
    let document = crate::scenario::Document::parse("test", "test.toml", text).unwrap();
    let choice = crate::scenario::Choice { set: Vec::new(), quick: false, runs: None };
    let mut points = document.points(&choice).unwrap();
    std::sync::Arc::unwrap_or_clone(points.remove(0).scenario)
}

/// Calls of `request` octets, with what else is said of them, over 10 Mb/s.
fn calls(request: &str, response: &str) -> Scenario {
    let text = format!(
        r#"
title = "Calls"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "1 ms" }}
load.calls = {{ kind = "rpc", from = "a", to = "b", message = "{request}"{response} }}
run.duration = "1 s"
"#
    );
    read(&text)
}

#[test]
fn of_calls_the_limit_is_that_of_answers_which_go_by_themselves() {
    let all = |request, response: &str| {
        let scenario = calls(request, response);
        let load = scenario.load.values().next().unwrap();
        let ladder = super::of_counted(&scenario, load).unwrap().goodput_mbps().as_f64();
        [ladder, super::of_all(&scenario, load).unwrap()].map(|mbps| format!("{mbps:.3}"))
    };
    // 200 octets of 252; a full segment and 552 octets, in 2104.
    assert_eq!(all("100 B", ", response = \"200 B\""), ["7.937"; 2]);
    assert_eq!(all("100 B", ", response = \"2 kB\""), ["9.506"; 2]);
    // Of what is drawn segments may be full. Without a length of its own an answer has that of the request.
    assert_eq!(all("100 B", ", response = \"exponential 2 kB\""), ["9.653"; 2]);
    assert_eq!(all("1448 B", ""), ["9.653"; 2]);
    // Each answer of 100 octets needs a request of 1000: 1052 on the line for each 100.
    assert_eq!(all("1000 B", ", response = \"100 B\""), ["6.579", "0.951"]);
    // Where lengths have no mean, nobody knows how many requests there are for so many octets of answers.
    assert_eq!(all("1000 B", ", response = \"pareto 1 100 B\""), ["9.653"; 2]);
}

/// Requests and answers are counted each in its own octets, so that no line carries more than it can; the narrowest is
/// the one that leaves the answers least.
#[test]
fn of_calls_the_lines_of_requests_are_told_apart_from_those_of_answers() {
    let told = |request, response| {
        let scenario = calls(request, response);
        super::on_way(&super::lines(&scenario, scenario.load.values().next().unwrap()).unwrap())
    };
    let [answers, requests] =
        ["answers, each alone (Mb/s)", "requests, each alone (Mb/s of requests, one for each answer)"]
            .map(|what| format!("Lines on the way of the {what}: line "));
    // 300 octets of 352, and 2000 of 2104.
    assert_eq!(told("300 B", ", response = \"2 kB\""), format!("{answers}9.506, the narrowest\n{requests}8.523\n"));
    let expected = format!("{answers}6.579\n{requests}9.506, the narrowest: it leaves the answers 0.951\n");
    assert_eq!(told("1000 B", ", response = \"100 B\""), expected);
    // Of what is drawn answers may be full segments, and one comes back for each request all the same: 2000 octets on
    // average for 300.
    let expected = format!("{answers}9.653, the narrowest\n{requests}8.523\n");
    assert_eq!(told("300 B", ", response = \"exponential 2 kB\""), expected);
    let expected = format!("{answers}9.653\n{requests}9.506, the narrowest: it leaves the answers 0.951\n");
    assert_eq!(told("1000 B", ", response = \"uniform 50 B .. 150 B\""), expected);
}

/// Of a line with a rate for each direction it is told who sends; and no one of several alike is the narrowest.
#[test]
fn lines_on_the_way_are_told_with_their_directions() {
    let told = |rates: &str| {
        let (rates, events) = rates.split_once('\n').unwrap_or((rates, ""));
        let text = format!(
            r#"
title = "Over a router"
host.a = {{ graph = ["tcp", "ip", "l0"] }}
host.b.like = "a"
host.r = {{ graph = {{ ip = ["l0", "l1"] }}, ip.forwarding = true }}
link.dsl = {{ ends = ["a", "r.l0"], medium = "point-to-point", rate = {rates} }}
link.far = {{ ends = ["r.l1", "b"], medium = "point-to-point", rate = "10 Mb/s" }}
load.bulk = {{ kind = "netperf", from = "b", to = "a", message = "8 KiB" }}
run.duration = "1 s"
{events}
"#
        );
        let scenario = read(&text);
        super::on_way(&super::lines(&scenario, &scenario.load["bulk"]).unwrap())
    };
    let head = "Lines on the way, each alone (Mb/s):";
    assert_eq!(told(r#"["1 Mb/s", "8 Mb/s"]"#), format!("{head} far 9.653; dsl from r 7.723, the narrowest\n"));
    let alike = format!("{head} far 9.653, one of the narrowest; dsl 9.653, one of the narrowest\n");
    assert_eq!(told("\"10 Mb/s\""), alike);
    // What is told is of the beginning, in which direction it is needs to be said where that matters later.
    let later = alike.replace("dsl", "dsl from r");
    let change = r#"at = "500 ms", rate = ["1 Mb/s", "8 Mb/s"]"#;
    assert_eq!(told(&format!("\"10 Mb/s\", schedule = [{{ {change} }}]")), later);
    assert_eq!(told(&format!("\"10 Mb/s\"\nevent = [{{ link = \"dsl\", {change} }}]")), later);
    assert_eq!(told("\"10 Mb/s\"\nevent = [{ link = \"dsl\", at = \"500 ms\", rate = \"1 Mb/s\" }]"), alike);
}

/// The requests of the one share a line with the answers of the other: each has half of it, and not as many answers as
/// the other.
#[test]
fn calls_in_opposite_roles_share_a_line_by_what_is_on_it() {
    let mut scenario = calls("100 B", ", response = \"100 kB\"");
    let mut other = calls("100 kB", ", response = \"100 B\"").load.remove("calls").unwrap();
    core::mem::swap(&mut other.from, &mut other.to);
    scenario.load.insert("other".to_owned(), other);
    let found = super::of_loads(&scenario).unwrap();
    // Half of 9.649, and a thousandth of that.
    assert!((found - 9.649 / 2.0 * 1.001).abs() < 0.002, "{found}");
}

/// Both go around a ring: the ladder is that of an answer, and with the request there is less.
#[test]
fn on_a_ring_calls_are_told_with_their_requests() {
    let text = r#"
title = "Calls on a ring"
host.a.graph = { ip = ["arp"], arp = ["llc"], llc = ["fddi"], fddi = ["fddi0"] }
host.b.like = "a"
ring.r = { medium = "fddi", ends = ["a.fddi0", "b.fddi0"] }
load.calls = { kind = "rpc", from = "a", to = "b", message = "1 kB", response = "1 kB" }
run.duration = "1 s"
"#;
    let scenario = read(text);
    let load = scenario.load.values().next().unwrap();
    let all = super::of_all(&scenario, load).unwrap();
    let ladder = super::of_counted(&scenario, load).unwrap().goodput_mbps().as_f64();
    // Of equal lengths half of it.
    assert!((all / ladder - 0.5).abs() < 1e-9, "{all} {ladder}");
    let told = super::on_way(&super::lines(&scenario, load).unwrap());
    let expected = format!(
        "Rings on both ways, each alone (Mb/s of answers, with the requests beside them): r {all:.3}, the narrowest\n"
    );
    assert_eq!(told, expected);
}

#[test]
fn a_message_of_several_packets_is_told_as_that() {
    let shown = |request, response| {
        let scenario = calls(request, response);
        let ladder = super::of_counted(&scenario, scenario.load.values().next().unwrap()).unwrap();
        let table = table(&ladder, &[]);
        (table.title, table.legend)
    };
    let (title, legend) = shown("100 B", ", response = \"2 kB\"");
    assert!(title.ends_with("2000 octets of user data in a message"), "{title}");
    assert_eq!(legend, ["A message is 2104 octets in 2 packets."]);
    let (title, legend) = shown("100 B", "");
    assert!(title.ends_with("100 octets of user data in a packet"), "{title}");
    assert_eq!(legend, ["A packet is 152 octets."]);
}

#[test]
fn what_acknowledgments_take_of_lines_with_other_data_is_told() {
    let adsl = r#"
title = "ADSL"
host.home.graph = ["tcp", "ip", "l0"]
host.isp.like = "home"
link.dsl = { ends = ["home", "isp"], medium = "point-to-point", rate = ["1 Mb/s", "8 Mb/s"] }
load.down = { kind = "netperf", from = "isp", to = "home", message = "8 KiB" }
load.up = { kind = "netperf", from = "home", to = "isp", message = "8 KiB" }
run.duration = "1 s"
"#;
    let told = |text: &str| super::left_out(&read(text)).unwrap();
    // For 2 segments of 1500 octets at 8 Mb/s, 52 at 1 Mb/s; the other way a sixty-fourth of that.
    let way = "acknowledgments, which go the other way";
    assert_eq!(
        told(adsl),
        format!(
            "{way}; with one for every two full segments they take at most: those of down 13.9 % of what home.l0 sends over dsl (52 octets each), those of up 0.2 % of what isp.l0 sends over dsl (52 octets each)"
        )
    );
    // A line on which nobody else sends data is told of where they are much of it.
    let up = adsl.lines().find(|line| line.starts_with("load.up")).unwrap();
    let alone = adsl.replace(up, "");
    assert!(told(&alone).ends_with("at most: those of down 13.9 % of what home.l0 sends over dsl (52 octets each)"));
    assert_eq!(told(&alone.replace("[\"1 Mb/s\", \"8 Mb/s\"]", "\"8 Mb/s\"")), way);
    // Less than what they would take leaves room for fewer.
    let narrow = told(&alone.replace("\"1 Mb/s\"", "\"20 kb/s\""));
    assert!(
        narrow.ends_with(
            "at most: those of down more than home.l0 can send over dsl (52 octets each), where one fits for every 13.9 segments: unless most of them are lost, they hold it to less than the ladder"
        ),
        "{narrow}"
    );
    // A ring is told of where there is one, and of datagrams there is nothing to tell.
    let ring = alone.replace("\"ip\", \"l0\"", "\"ip\", \"arp\", \"llc\", \"fddi\", \"f0\"");
    let line = ring.lines().find(|line| line.starts_with("link.dsl")).unwrap();
    let ring = ring.replace(line, "ring.r = { ends = [\"home\", \"isp\"], medium = \"fddi\" }");
    assert_eq!(told(&ring), format!("{way}, on a ring beside the data"));
    let units = alone.replace("\"tcp\"", "\"udp\"").replace("netperf\"", "udp\", rate = \"1 Mb/s\"");
    assert_eq!(super::left_out(&read(&units)), None);
}

#[test]
fn each_direction_of_a_line_has_the_limit_of_its_own_rate() {
    let text = r#"
title = "ADSL"
host.home.graph = ["tcp", "ip", "l0"]
host.exchange.like = "home"
link.dsl = { ends = ["home", "exchange"], medium = "point-to-point", rate = ["1 Mb/s", "8 Mb/s"], propagation = "20 ms", queue_frames = "1 bdp" }
load.up = { kind = "netperf", from = "home", to = "exchange", message = "8 KiB" }
load.down = { kind = "netperf", from = "exchange", to = "home", message = "8 KiB" }
run.duration = "10 s"
event = [{ at = "5 s", link = "dsl", rate = "2 Mb/s" }, { at = "7.5 s", link = "dsl", rate = ["500 kb/s", "4 Mb/s"] }]
"#;
    let scenario = read(text);
    let told: Vec<String> = scenario.happenings().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["link.dsl rate 2 Mb/s", "link.dsl rate 500 kb/s and 4 Mb/s"]);
    let of = |load: &str| {
        let load = &scenario.load[load];
        let seconds = |from, to| {
            let time = kumiki_graph::Duration::from_secs;
            super::of_all_between(&scenario, load, (time(from), time(to))).unwrap() * 1500.0 / 1448.0
        };
        let at_first = of_load(&scenario, load).unwrap().steps[0].rate_mbps.as_f64();
        [at_first, seconds(6, 7), seconds(8, 10)].map(|mbps| format!("{mbps:.3}"))
    };
    assert_eq!([of("up"), of("down")], [["1.000", "2.000", "0.500"], ["8.000", "2.000", "4.000"]]);
    // A round trip of 40 ms at the higher of both rates: 26.7 frames.
    assert_eq!(scenario.link["dsl"].settings["queue_frames"].as_integer(), Some(27));
}

#[test]
fn of_what_is_said_twice_at_one_instant_the_later_alone_happens() {
    let told = |events: &str| -> Vec<String> {
        let text = format!(
            r#"
title = "Twice"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.l = {{ ends = ["a", "b"], medium = "point-to-point", rate = "1 Mb/s" }}
load.up = {{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }}
run.duration = "10 s"
event = [{events}]
"#
        );
        read(&text).happenings().iter().map(|it| it.told()).collect()
    };
    let at = |what: &str| format!("{{ at = \"5 s\", link = \"l\", {what} }}");
    for (one, other, left) in [
        ("up = false", "up = true", ["up"].as_slice()),
        ("rate = \"2 Mb/s\", up = false", "rate = \"3 Mb/s\"", &["down", "rate 3 Mb/s"]),
        ("loss = 0.1, toward = \"a\"", "loss = 0.2, toward = \"a.l0\"", &["loss 20 %, toward a.l0"]),
        ("loss = 0.1, toward = \"a\"", "loss = 0.2", &["loss 20 %"]),
        ("loss = 0.1", "loss = 0.2, toward = \"a\"", &["loss 10 %", "loss 20 %, toward a"]),
        ("up = false, toward = \"b\"", "up = true, toward = \"a\"", &["down, toward b", "up, toward a"]),
    ] {
        let left: Vec<String> = left.iter().map(|what| format!("at 5 s link.l {what}")).collect();
        assert_eq!(told(&format!("{}, {}", at(one), at(other))), left, "{one}; {other}");
    }
    let set = |every: &str| format!("{{ at = \"5 s\", node = \"a.tcp\", set = {{ ack = {{ every = {every} }} }} }}");
    assert_eq!(told(&format!("{}, {}", set("1"), set("2"))), ["at 5 s host.a.tcp ack.every = 2"]);
}

#[test]
fn each_direction_of_a_recorded_line_has_the_limit_of_its_own_recording() {
    let folder = kumiki_watchdog::process::Folder::new("limit-of-recordings");
    // 1500 octets each millisecond, and each fourth.
    let files = [("from-a", "1\n"), ("from-b", "4\n")].map(|(name, times)| {
        folder.write(name, times.as_bytes());
        folder.path(name).display().to_string()
    });
    let text = format!(
        r#"
title = "A recording of each direction"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "trace", traces = {files:?} }}
load.up = {{ kind = "netperf", from = "a", to = "b", message = "8 KiB" }}
load.down = {{ kind = "netperf", from = "b", to = "a", message = "8 KiB" }}
run.duration = "1 s"
"#
    );
    let scenario = read(&text);
    let line_rate = |load: &str| of_load(&scenario, &scenario.load[load]).unwrap().steps[0].rate_mbps.to_string();
    assert_eq!(["up", "down"].map(line_rate), ["12.000", "3.000"]);
}
