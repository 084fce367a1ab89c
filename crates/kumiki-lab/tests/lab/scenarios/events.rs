//! What happens at given times: to lines, hosts and loads.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "what fails here fails the test")]

use super::*;

/// Datagrams of 1000 octets, a thousand in a second, from a over r to b, and echoes between the same two; what the
/// lines are made of may differ.
const OVER_A_ROUTER: &str = r#"
title = "Over a router"
host.a = { graph = ["ip", "l0"] }
host.b.like = "a"
host.r = { graph = { ip = ["l0", "l1"] }, ip.forwarding = true }
link.near = { ends = ["a", "r.l0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.far = { ends = ["r.l1", "b"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
load.units = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "8 Mb/s" }
load.echoes = { kind = "ping", from = "a", to = "b", message = "56 B", interval = "10 ms" }
run.duration = "4 s"
"#;

fn read(text: &str) -> Result<Point, ConfigError> {
    let document = Document::parse("events", "events.toml", text)?;
    Ok(document.points(&Choice::default())?.remove(0))
}

fn ran(text: &str) -> Measured {
    let point = read(text).unwrap_or_else(|fault| panic!("{fault}"));
    build(&point, 1).unwrap_or_else(|fault| panic!("{fault}")).run().measured
}

fn with(events: &str) -> Measured {
    ran(&format!("{OVER_A_ROUTER}\nevent = [{events}]"))
}

/// How many datagrams and how many answers came.
fn came(measured: &Measured) -> (u64, u64) {
    let (units, echoes) = (&measured.loads["units"].units, &measured.loads["echoes"].echoes);
    (units.unwrap().received, echoes.unwrap().answered)
}

/// Of 4000 datagrams and 400 echoes those of the last few milliseconds are still in flight at the end.
fn nearly((units, echoes): (u64, u64), (all, answered): (u64, u64)) -> bool {
    all.saturating_sub(units) < 6 && answered.saturating_sub(echoes) < 3 && units <= all && echoes <= answered
}

#[test]
fn datagrams_are_lost_as_long_as_a_line_is_not_there() {
    for (events, expected) in [
        ("", (4000, 400)),
        (r#"{ at = "1 s", link = "far", up = false }, { at = "1.5 s", link = "far", up = true }"#, (3500, 350)),
        // Each of both lines for a tenth of a second, at the same times.
        (
            r#"{ at = "1 s .. 3 s step 1 s", link = ["near", "far"], up = false },
               { at = "1.1 s .. 3.1 s step 1 s", link = ["near", "far"], up = true }"#,
            (3700, 370),
        ),
        // A list of the file is as one between commas.
        (
            r#"{ at = "1 s, 2 s, 3 s", link = ["near", "far"], up = false },
               { at = ["1.1 s", "2.1 s .. 3.1 s step 1 s"], link = ["near", "far"], up = true }"#,
            (3700, 370),
        ),
        // One way: datagrams get there, answers do not.
        (r#"{ at = "1 s", link = "near", up = false, toward = "a" }"#, (4000, 100)),
        (
            r#"{ at = "1 s", link = "near", loss = "100 %", toward = "r" }, { at = "2 s", link = "near", loss = 0 }"#,
            (3000, 300),
        ),
        // Standing still loses nothing but what finds no room, and here is all.
        (
            r#"{ at = "1 s", link = "near", rate = "0 b/s" }, { at = "2 s", link = "near", rate = "100 Mb/s" }"#,
            (4000, 400),
        ),
        // In one direction alone: echoes go there as well, and on the way back none comes.
        (r#"{ at = "1 s", link = "near", rate = ["0 b/s", "100 Mb/s"] }"#, (1000, 100)),
        (r#"{ at = "1 s", link = "near", rate = ["100 Mb/s", "0 b/s"] }"#, (4000, 100)),
    ] {
        let came = came(&with(events));
        assert!(nearly(came, expected), "{events}: {came:?}");
    }
}

#[test]
fn a_router_without_power_loses_all_and_counts_on_when_it_has_begun_again() {
    let events = r#"{ at = "1 s", host = "r", up = false }, { at = "2 s", host = "r", up = true },
        { at = "3 s", host = "r", up = false }, { at = "3.2 s", host = "r", up = true }"#;
    let measured = with(events);
    let (units, echoes) = came(&measured);
    assert!(nearly((units, echoes), (2800, 280)), "{units} {echoes}");
    // What each of its three lives has counted is in one sum: datagrams, echoes and answers.
    assert_eq!(measured.without_power, BTreeMap::from([("r".to_owned(), Duration::from_millis(1200))]));
    let forwarded = count(&measured, "r.ip", "messages_up");
    assert!(forwarded.abs_diff(units + 2 * echoes) < 12, "{forwarded}: {units} {echoes}");
    // What was measured since a moment between two of them is so as well.
    let later =
        ran(&format!("{OVER_A_ROUTER}\nrun.warm_up = \"1.5 s\"\nevent = [{events}]").replace("\"4 s\"", "\"2.5 s\""));
    let since = count(&later, "r.ip", "messages_up");
    assert!(forwarded.abs_diff(since + 1200) < 12, "{since} of {forwarded}");
    assert_eq!(later.without_power, BTreeMap::from([("r".to_owned(), Duration::from_millis(700))]));
}

#[test]
fn echoes_are_bound_by_power_that_fails_at_either_end() {
    for (host, at, bound) in [("a", "0 s", "power"), ("a", "1 s", "power"), ("b", "1 s", "power"), ("b", "3 s", "loss")]
    {
        let text = format!("{OVER_A_ROUTER}event = [{{ at = \"{at}\", host = \"{host}\", up = false }}]\n");
        let point = read(&text).unwrap_or_else(|fault| panic!("{fault}"));
        let rows = Laboratory::default().run(&point).unwrap().rows;
        let row = rows.iter().find(|row| row.load.as_deref() == Some("echoes")).unwrap();
        assert_eq!(row.bound_by, bound, "{host} {at}");
    }
}

#[test]
fn a_host_without_power_answers_nobody_for_good() {
    let measured = with(r#"{ at = "1 s", host = "b", up = false }"#);
    assert!(nearly(came(&measured), (1000, 100)), "{measured:?}");
    let text = format!("{OVER_A_ROUTER}\nevent = [{{ at = \"1 s\", host = \"b\", up = false }}]");
    assert!(read(&text).unwrap().scenario.graph_text().ends_with("\nevent at 1 s: b, up = false\n"));
    // And what it has measured by then is kept: with the power of that instant it sends once more.
    let sender = with(r#"{ at = "1 s", host = "a", up = false }"#);
    assert_eq!(came(&sender), (1001, 100));
    assert_eq!(sender.loads["units"].units.unwrap().sent, 1001);
    assert_eq!(sender.without_power, BTreeMap::from([("a".to_owned(), Duration::from_secs(3))]));
}

/// Nothing holds a sender without power, and that it has none is what bounds it where that is most of the time.
#[test]
fn a_transfer_is_bound_by_power_that_fails() {
    let rows = |event: &str| {
        let text = OVER_A_ROUTER.replace("[load]", "").replace(
            "load.units = ",
            "load.bulk = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\", socket_buffer = \"16 KiB\" }\nload.units = ",
        );
        let point = read(&format!("{text}event = [{event}]")).unwrap_or_else(|fault| panic!("{fault}"));
        let outcome = Laboratory::default().run(&point).unwrap();
        let row = outcome.rows.into_iter().find(|row| row.load.as_deref() == Some("bulk")).unwrap();
        (row.bound_by, row.held, outcome.notes)
    };
    for (host, at, bound) in [("a", "1 s", "power"), ("b", "1 s", "power"), ("a", "3 s", "send buffer")] {
        let (found, held, notes) = rows(&format!("{{ at = \"{at}\", host = \"{host}\", up = false }}"));
        assert_eq!(found, bound, "{host} {at}");
        assert!((held.values().sum::<f64>() - 1.0).abs() < 1e-6, "{held:?}");
        let time = if at == "1 s" { 3 } else { 1 };
        assert!(notes.contains(&format!("{host} had no power for {time} s")), "{notes:?}");
        // Until then it was held by its buffer, and after that by nothing; the other end waits for its timer.
        let (most, share) = if host == "a" { ("send buffer", 0.95) } else { ("retransmission time-out", 0.3) };
        assert!(held[most] > share, "{host} {at}: {held:?}");
    }
}

#[test]
fn an_event_after_the_end_is_told_of() {
    let events =
        r#"event = [{ at = "3 s, 5 s", link = "far", loss = 0.5 }, { at = "4.5 s", link = "far", up = false }]"#;
    let point = read(&format!("{OVER_A_ROUTER}\n{events}")).unwrap();
    let notes = Laboratory::default().run(&point).unwrap().notes;
    let late: Vec<&String> = notes.iter().filter(|note| note.starts_with("after the end")).collect();
    assert_eq!(late, ["after the end of the run, and so never: at 4.5 s link.far down; at 5 s link.far loss 50 %"]);
}

/// What a router has learnt of its neighbours is gone with its power.
#[test]
fn a_router_that_begins_again_asks_for_its_neighbours_again() {
    let asked = |events: &str| {
        let text = r#"
title = "Over a router between two networks of Ethernet"
host.a = { graph = ["ip", "arp", "eth", "l0"] }
host.b.like = "a"
[host.r]
graph = { ip = ["arp0", "arp1"], arp0 = ["eth0"], arp1 = ["eth1"], eth0 = ["l0"], eth1 = ["l1"] }
kind = { arp0 = "arp", arp1 = "arp", eth0 = "eth", eth1 = "eth" }
ip.forwarding = true
[link]
near = { ends = ["a", "r.l0"], medium = "point-to-point", rate = "100 Mb/s" }
far = { ends = ["r.l1", "b"], medium = "point-to-point", rate = "100 Mb/s" }
[load]
units = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s" }
[run]
duration = "1 s"
"#;
        let measured = ran(&format!("event = [{events}]\n{text}"));
        count(&measured, "far", "a_frames") - count(&measured, "r.arp1", "messages_down")
    };
    let (once, again) =
        (asked(""), asked(r#"{ at = "0.5 s", host = "r", up = false }, { at = "0.5 s", host = "r", up = true }"#));
    assert_eq!((once, again), (1, 2));
}

/// The window goes once around in each round trip, and that is another one from the middle on.
#[test]
fn a_window_goes_around_as_fast_as_the_propagation_lets_it() {
    let text = r#"
title = "A window"
host.a = { graph = ["tcp", "ip", "l0"], tcp = { congestion = "fixed", mss = "1000 B" } }
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Gb/s", propagation = "5 ms" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "1000 B", socket_buffer = "40000 B" }
run = { warm_up = "1 s", duration = "4 s" }
event = [{ at = "3 s", link = "line", propagation = "20 ms" }]
"#;
    let rate = |rtt: f64| 40_000.0 * 8.0 / rtt / 1e6;
    let expected = f64::midpoint(rate(0.010), rate(0.040));
    let goodput = ran(text).total.goodput_mbps;
    assert!(near(goodput, expected, 0.01), "{goodput} {expected}");
}

#[test]
fn cells_and_frames_in_sonet_are_lost_as_well() {
    let events = r#"event = [{ at = "1 s", link = "line", up = false }, { at = "1.5 s", link = "line", up = true }]"#;
    let text = |graph: &str, medium: &str| {
        format!(
            r#"
title = "A line"
host.a.graph = [{graph}]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "{medium}", propagation = "1 ms" }}
load.units = {{ kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s" }}
run.duration = "4 s"
{events}
"#
        )
    };
    for (graph, medium) in [
        (r#""ip", "llc_snap", "l0""#, "oc3c-atm"),
        (r#""ip", "l0""#, "oc3c"),
        (r#""ip", "l0""#, "sync-2m"),
        (r#""ip", "l0""#, "oc3c-pos"),
    ] {
        let received = ran(&text(graph, medium)).total.units.unwrap().received;
        // 125 in a second; that a line of SONET has its signal back is seen some frames later.
        assert!((434..=438).contains(&received), "{medium}: {received}");
    }
}

#[test]
fn an_event_of_a_load_is_its_start_or_its_stop() {
    let by_keys = OVER_A_ROUTER.replace(r#"rate = "8 Mb/s""#, r#"rate = "8 Mb/s", start = "1 s", stop = "3 s""#);
    let events = r#"{ at = "1 s", load = "units", up = true }, { at = "3 s", load = "units", up = false }"#;
    let measured = with(events);
    assert_eq!(came(&measured), came(&ran(&by_keys)));
    assert_eq!(came(&measured).0, 2000);
}

#[test]
fn an_event_that_cannot_happen_is_refused_with_its_line() {
    let line = OVER_A_ROUTER.lines().count() + 1;
    for (event, expected) in [
        (
            r#"at = "1 s""#,
            "event.0: it happens to nothing; expected a `link`, a `ring`, a `host`, a `load` or a `node`",
        ),
        (r#"link = "far", up = false"#, "event.0: the key \"at\" is missing"),
        (
            r#"at = "1 s", link = "fra", up = false"#,
            "event.0.link = \"fra\": unknown line \"fra\"; did you mean \"far\"? (one of far, near)",
        ),
        (r#"at = "1 s", host = "s*", up = false"#, "event.0.host = \"s*\": unknown host \"s*\"; one of a, b, r"),
        (r#"at = "1 s", link = "far""#, "event.0: nothing changes; expected one of up, rate, propagation, loss"),
        (r#"at = "1 s", host = "r""#, "event.0: nothing changes; expected up = true or false"),
        (r#"at = "1 s", host = "r", up = false, loss = 0.1"#, "event.0.loss = 0.1: only lines and rings have it"),
        (r#"at = "1 s", link = "far", up = 1"#, "event.0.up = 1: this is the integer 1; expected true or false"),
        (r#"at = "1", link = "far", up = true"#, "event.0.at = \"1\": no unit"),
        (r#"at = "2 s .. 1 s step 1 s", link = "far", up = true"#, "the range runs backwards"),
        (
            r#"at = "1 s", link = "far", loss = "120 %""#,
            "event.0.loss = \"120 %\": more than everything; expected a share from 0 % to 100 %",
        ),
        (
            r#"at = "1 s", link = "far", loss = "1 promille""#,
            "event.0.loss = \"1 promille\": unknown unit \"promille\"",
        ),
        (
            r#"at = "1 s", link = "far", loss = true"#,
            "event.0.loss = true: this is true; expected a share such as \"0.5 %\" (%, ppm, ppb) or 0.005",
        ),
        (
            r#"at = "1 s", link = "far", rate = "1 Mb/s", toward = "b""#,
            "event.0.rate = \"1 Mb/s\": it changes both ways, and the event is of one; expected no `toward` beside it; for one way alone a list of the rates from the first end and from the second, with the other as it is",
        ),
        (
            r#"at = "1 s", link = "far", rate = ["1 Mb/s", "2 Mb/s"], toward = "b""#,
            "it changes both ways, and the event is of one; expected no `toward` beside it; for one way alone a list of the rates",
        ),
        (
            r#"at = "1 s", link = "far", rate = "1001 Tb/s""#,
            "event.0.rate = \"1001 Tb/s\": no line is so fast; expected 0 b/s, with which nothing is sent, or 1 b/s to 1000 Tb/s",
        ),
        (
            r#"at = "1 s", link = "far", rate = ["1 Mb/s", "18446744 Tb/s"]"#,
            "event.0.rate.1 = \"18446744 Tb/s\": no line is so fast",
        ),
        (r#"at = "1 s", link = "far", rate = ["1 Mb/s", "1 mph"]"#, "event.0.rate.1 = \"1 mph\": unknown unit \"mph\""),
        (
            r#"at = "1 s", link = "far", rate = ["1 Mb/s"]"#,
            "event.0.rate = [\"1 Mb/s\"]: expected a rate, or a list of that from the first end and that from the second",
        ),
        (r#"at = "1 s", link = "far", up = false, toward = "a""#, "event.0.toward = \"a\": unknown end of this line"),
        (r#"at = "1 s", link = "far", up = false, loss_rate = 1"#, "event.0.loss_rate = 1: unknown key \"loss_rate\""),
        (
            r#"at = "1 s", host = "r", up = true"#,
            "event.0.up = true: at 1 s host r is to change, and it has power already",
        ),
        (
            r#"at = "1 s, 2 s", host = "r", up = false"#,
            "event.0.up = false: at 2 s host r is to change, and it has no power already",
        ),
        (
            r#"at = "1 s", load = "untis", up = true"#,
            "event.0.load = \"untis\": unknown load \"untis\"; did you mean \"units\"?",
        ),
        (
            r#"at = "1 s .. 3 s step 1 s", load = "units", up = true"#,
            "event.0.at = \"1 s .. 3 s step 1 s\": a load begins and ends once",
        ),
    ] {
        let said = read(&format!("{OVER_A_ROUTER}event = [{{ {event} }}]"))
            .err()
            .unwrap_or_else(|| panic!("{event}"))
            .to_string();
        assert!(said.starts_with(&format!("events.toml:{line}: ")) && said.contains(expected), "{event}: {said}");
    }
    let events = r#"event = [{ at = "1 s", host = "b", up = false }, { at = "2 s", host = "b", up = true }]"#;
    let said = read(&format!("{OVER_A_ROUTER}{events}")).err().unwrap().to_string();
    assert!(said.contains("event.1.up = true: a load runs a program on host b"), "{said}");
    let text = OVER_A_ROUTER.replace("rate = \"8 Mb/s\"", "rate = \"8 Mb/s\", start = \"1 s\"");
    let said =
        read(&format!("{text}event = [{{ at = \"1 s\", load = \"units\", up = true }}]")).err().unwrap().to_string();
    assert!(said.contains("event.0.load = \"units\": the load has a `start` already"), "{said}");
    // A line that cannot change so.
    for (medium, event, expected) in [
        ("oc3c", "rate = \"1 Mb/s\"", "event.0.rate = \"1 Mb/s\": the rate of oc3c stays as it is"),
        (
            "oc3c-pos",
            "propagation = \"1 ms\"",
            "event.0.propagation = \"1 ms\": the propagation of oc3c-pos stays as it is",
        ),
        (
            "oc3c-pos",
            "up = false, toward = \"b\"",
            "event.0.toward = \"b\": oc3c-pos loses its signal both ways at once",
        ),
    ] {
        let text = OVER_A_ROUTER
            .replace("medium = \"point-to-point\", rate = \"100 Mb/s\"", &format!("medium = \"{medium}\""));
        let said =
            read(&format!("{text}event = [{{ at = \"1 s\", link = \"far\", {event} }}]")).err().unwrap().to_string();
        assert!(said.contains(expected), "{medium}: {said}");
    }
}

/// A buffer of one segment and a half, of which Nagle keeps the half until the peer's delayed acknowledgment comes;
/// from 2 s on that delays none.
#[test]
fn what_can_be_changed_of_tcp_is_changed_while_it_runs() {
    let text = r#"
title = "Nagle and delayed acknowledgments"
host.a = { graph = ["tcp", "ip", "l0"], tcp = { send_buffer = "2000 B", max_send_buffer = "2000 B", coalesce = "nagle" } }
host.b = { graph = ["tcp", "ip", "l0"], tcp = { ack = { count_small = true } } }
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s", propagation = "10 ms" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run.duration = "4 s"
"#;
    let event = |event: &str| format!("event = [{event}]\n{text}");
    let ended = read(&event(r#"{ at = "2 s", node = "b.tcp", set = { ack = { every = 1 } } }"#)).unwrap();
    let outcome = Laboratory::default().run(&ended).unwrap();
    assert!(
        outcome.notes.contains(&"during the run: at 2 s host.b.tcp ack.every = 1".to_owned()),
        "{:?}",
        outcome.notes
    );
    let late = |measured: &Measured| {
        let held = measured.total.held();
        held.iter()
            .find(|(limit, _)| *limit == kumiki_lab::experiment::Limit::DelayedAcknowledgment)
            .map_or(0.0, |(_, share)| *share)
    };
    let (always, half) = (late(&ran(text)), late(&build(&ended, 1).unwrap().run().measured));
    assert!((0.6..0.7).contains(&always) && (half / always - 0.5).abs() < 0.02, "{always} {half}");
    for (wrong, expected) in [
        (r#"node = "b.tcp""#, "nothing changes"),
        (r#"node = "b.tpc", set = { ack = { every = 1 } }"#, "there is no node \"b.tpc\""),
        (r#"node = "b.ip", set = { mtu = "1500 B" }"#, "b.ip is of kind ip, which stays as it is while it runs"),
        (
            r#"node = "b.tcp", set = { congestion = "cubic" }"#,
            "congestion of tcp is looked at when a connection begins",
        ),
        (r#"link = "line", up = true, set = { ack = { every = 1 } }"#, "nothing is set"),
    ] {
        let said = read(&event(&format!("{{ at = \"1 s\", {wrong} }}"))).err().unwrap().to_string();
        assert!(said.contains(expected), "{wrong}: {said}");
    }
    let wrong = read(&event(r#"{ at = "1 s", node = "b.tcp", set = { ack = { every = "two" } } }"#)).unwrap();
    let said = build(&wrong, 1).err().unwrap().to_string();
    assert!(said.contains("event.0.set.ack.every"), "{said}");
}

/// Three stations of FDDI, of which one sends a thousand datagrams in a second to another.
const ON_A_RING: &str = r#"
title = "On a ring"
[host.a]
graph = ["ip", "arp", "llc", "fddi", "f0"]
ip = { address = "10.0.0.1/24", mtu = "4352 B", neighbours = "below" }
arp = { addresses = ["10.0.0.1"] }
fddi = { address = "02:00:00:00:00:01" }
[host.b]
like = "a"
ip = { address = "10.0.0.2/24" }
arp = { addresses = ["10.0.0.2"] }
fddi = { address = "02:00:00:00:00:02" }
[host.c]
like = "a"
ip = { address = "10.0.0.3/24" }
arp = { addresses = ["10.0.0.3"] }
fddi = { address = "02:00:00:00:00:03" }
[ring.ring]
ends = ["a.f0", "b.f0", "c.f0"]
medium = "fddi"
[load.units]
kind = "udp"
from = "a"
to = "b"
message = "1000 B"
rate = "8 Mb/s"
[run]
duration = "4 s"
"#;

#[test]
fn a_ring_and_a_station_of_it_can_be_away_for_a_while() {
    for (events, expected) in [
        ("", 4000),
        (r#"{ at = "1 s", ring = "ring", up = false }, { at = "1.5 s", ring = "ring", up = true }"#, 3500),
        (r#"{ at = "1 s", ring = "ring", up = false, toward = "b" }, { at = "3 s", ring = "ring", loss = 0.0 }"#, 1000),
        (r#"{ at = "1 s", ring = "ring", loss = "100 %", toward = "c.f0" }"#, 4000),
        (r#"{ at = "2 s", ring = "ring", loss = "100 %" }, { at = "3 s", ring = "ring", loss = 0 }"#, 3000),
    ] {
        let measured = ran(&format!("event = [{events}]\n{ON_A_RING}"));
        let came = measured.total.units.unwrap().received;
        assert!(came <= expected && expected - came < 6, "{events}: {came}");
        // 8 Mb/s of 1000 octets are some 8.5 Mb/s of 100 on the ring.
        assert!((0.08..0.1).contains(&measured.total.line), "{events}: {}", measured.total.line);
    }
    let told = read(&format!("event = [{{ at = \"2 s\", ring = \"ring\", up = false }}]\n{ON_A_RING}")).unwrap();
    let outcome = Laboratory::default().run(&told).unwrap();
    assert!(outcome.notes.contains(&"during the run: at 2 s ring.ring down".to_owned()), "{:?}", outcome.notes);
    for (event, expected) in [
        ("ring = \"rung\", up = false", "unknown ring \"rung\"; did you mean \"ring\"?"),
        ("ring = \"ring\", rate = \"1 Mb/s\"", "event.0.rate = \"1 Mb/s\": the rate of fddi stays as it is"),
        ("ring = \"ring\"", "nothing changes"),
        ("ring = \"ring\", up = false, toward = \"d\"", "unknown end of this line \"d\""),
    ] {
        let said = read(&format!("event = [{{ at = \"1 s\", {event} }}]\n{ON_A_RING}")).err().unwrap().to_string();
        assert!(said.contains(expected), "{event}: {said}");
    }
}

/// A line with cells says nothing itself: the adapter that sends on it does, and the port of a switch. A ring says it
/// of all its stations.
#[test]
fn lines_with_cells_and_rings_are_full_where_they_are() {
    let full = |measured: &Measured| {
        assert!((0.97..1.001).contains(&measured.total.line), "{}", measured.total.line);
    };
    let ring = run("fddi");
    full(&ring);
    let text = r#"
title = "Two writers over a switch"
host.a = { graph = ["tcp", "ip", "l0"] }
host.b.like = "a"
host.c.like = "a"
switch.s = { ports = 3, queue_cells = 4096, channels = ["0 0/100 <-> 2 0/100", "1 0/100 <-> 2 0/101"] }
link.a = { ends = ["a", "s.0"], medium = "oc3c-atm" }
link.b = { ends = ["b", "s.1"], medium = "oc3c-atm" }
link.c = { ends = ["c", "s.2"], medium = "oc3c-atm" }
load.one = { kind = "netperf", from = "a", to = "c", message = "8 KiB" }
run = { warm_up = "200 ms", duration = "1 s" }
"#;
    let alone = ran(text);
    full(&alone);
    assert!(count(&alone, "a.l0 SAR", "busy_ns") > 900_000_000);
}
