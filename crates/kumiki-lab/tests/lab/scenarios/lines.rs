//! What lines do over time and to what crosses them.

use super::*;

/// 10 Mb/s of datagrams over a line that this is set of.
fn over(line: &str, message: &str, seconds: u64) -> Result<Measured, ConfigError> {
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

/// As ADSL has it: what the first end sends goes at the first rate.
#[test]
fn a_line_may_have_another_rate_in_each_direction() {
    let goodput = |rates: &str, more: &str| {
        let line = format!(r#"medium = "point-to-point", rate = {rates}, queue_frames = 20{more}"#);
        over(&line, "1472 B", 2).unwrap_or_else(|fault| panic!("{fault}")).total.goodput_mbps
    };
    let slow = 1472.0 / 1500.0;
    for (rates, more, rate) in [
        (r#"["1 Mb/s", "80 Mb/s"]"#, "", slow),
        (r#"["80 Mb/s", "1 Mb/s"]"#, "", 10.0),
        // What says nothing of a rate leaves each as it is; a rate is that of both.
        (r#"["1 Mb/s", "80 Mb/s"]"#, r#", schedule = [{ at = "1 s", propagation = "1 ms" }]"#, slow),
        (r#"["80 Mb/s", "1 Mb/s"]"#, r#", schedule = [{ at = "1 us", rate = "2 Mb/s" }]"#, 2.0 * slow),
        (r#""1 Mb/s""#, r#", schedule = [{ at = "1 us", rate = ["2 Mb/s", "80 Mb/s"] }]"#, 2.0 * slow),
    ] {
        let found = goodput(rates, more);
        assert!(near(found, rate, 0.02), "{rates}{more}: {found} {rate}");
    }
    let wanted = "expected one rate for both directions, or a list of two, from the first end and from the second";
    for (rates, wanted) in [
        (r#"["1 Mb/s"]"#, wanted),
        (r#"["1 Mb/s", "2 Mb/s", "3 Mb/s"]"#, wanted),
        (r#"["1 Mb/s", "0 b/s"]"#, "this is 0 b/s; expected a rate from 1 b/s"),
    ] {
        let line = format!(r#"medium = "point-to-point", rate = {rates}"#);
        let said = over(&line, "1472 B", 1).err().unwrap().to_string();
        assert!(said.contains("link.line.rate") && said.contains(wanted), "{said}");
    }
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
    assert!(
        missing.contains("link.line.traces.0 = \"no-such.up\": no-such.up: no such file or directory"),
        "{missing}"
    );
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
fn each_run_draws_the_clocks_that_may_differ() {
    let goodput = |seed| {
        let lines = ["one", "two"].map(|line| format!("link.{line}.clock_ppm=-1000 .. 1000"));
        let set = ["board=zero", "window=64 KiB", "run.warm_up=500 ms", "run.duration=500 ms", &lines[0], &lines[1]];
        run_with("paper2-fig6", &set, seed).total.goodput_mbps
    };
    let rates = [1, 2, 3, 4].map(goodput);
    assert!(rates.iter().all(|rate| (rate / 134.580 - 1.0).abs() < 0.0021), "{rates:?}");
    assert!((1..4).all(|one| (rates[one] - rates[0]).abs() > 1e-6), "{rates:?}");
    assert_eq!(goodput(3).to_bits(), rates[2].to_bits());
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
    // What is in flight at the end is neither.
    let in_flight = units.sent - units.received - units.lost;
    assert!(in_flight < 10, "{units:?}");
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
