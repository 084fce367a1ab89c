//! The longest time in which nothing came.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::{Outcome, Runner as _};

use crate::arrange::{graph_of_files, parse, point};

/// A line of 20 Mb/s, 10 ms each way, that is not there from one time to another.
fn outcome(load: &str, (down, up): (&str, &str), duration: &str) -> Outcome {
    let graph = |user: &str| match load.contains("ftam") {
        true => graph_of_files(user),
        false => r#"["ip", "l0"]"#.to_owned(),
    };
    let [user, keeper] = ["user", "keeper"].map(graph);
    let text = format!(
        r#"
title = "Silent"
host.a.graph = {user}
host.b.graph = {keeper}
link.line = {{ ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "20 Mb/s", propagation = "10 ms", schedule = [
    {{ at = "{down}", up = false }}, {{ at = "{up}", up = true }} ] }}
load.x = {{ {load} }}
run.duration = "{duration}"
"#
    );
    Laboratory::default().run(&point(&parse(&text), &[])).unwrap()
}

const APPS: &str = r#"from = "a", to = "b", message = "1000 B""#;
const FILE: &str = r#"kind = "ftam", from = "a.user", to = "b.keeper", message = "8000 B", file = "200 kB""#;

fn is_told(outcome: &Outcome) -> bool {
    outcome.notes.iter().any(|note| note.contains("transferred nothing for a second or more"))
}

/// Lost is what is sent first, be it that it was to come before anything else.
#[test]
fn a_silence_before_the_first_octet_is_one() {
    let units = r#"kind = "udp", from = "a", to = "b", message = "1000 B", rate = "1 Mb/s""#;
    let streams = ["kind = \"netperf\"", "kind = \"ttcp\", count = 160", "kind = \"rpc\"", "kind = \"rpc\", count = 9"];
    let of_streams = streams.map(|kind| format!("{kind}, {APPS}"));
    // When it is down, and how long the silence is: until the timer has run out often enough, or the next datagram
    // comes.
    let all = of_streams.iter().map(|load| (load.as_str(), "25 ms", 0.64..0.86));
    for (load, down, silence) in all.chain([(units, "0 s", 0.6..0.62), (FILE, "165 ms", 0.43..1.1)]) {
        let of = outcome(load, (down, "600 ms"), "5 s");
        for row in &of.rows {
            let gap = row.longest_gap_s.unwrap();
            assert!(silence.contains(&gap) && gap <= row.measured_s, "{load}: {gap} of {}", row.measured_s);
        }
        assert_eq!(is_told(&of), of.rows[0].longest_gap_s >= Some(1.0), "{load}: {:?}", of.notes);
        let of = outcome(load, (down, "1500 ms"), "5 s");
        assert!(of.rows.iter().all(|row| row.longest_gap_s >= Some(1.2)) && is_told(&of), "{load}: {:?}", of.rows);
    }
}

/// Of echoes what they have is shown: how long none was answered, and which part was lost; and that is what a scenario
/// of them alone shows.
#[test]
fn echoes_are_told_by_their_silence_and_by_what_was_lost() {
    let ping = r#"kind = "ping", from = "a", to = "b", interval = "50 ms""#;
    let ran = |load: &str| outcome(load, ("1 s", "3 s"), "5 s");
    let of = ran(ping);
    let note = of.notes.iter().find(|note| note.contains("echoes asked for")).unwrap();
    let count = |what: &str| -> f64 {
        let part = note.split(", ").find_map(|part| part.split(';').next()?.strip_suffix(what)).unwrap();
        part.parse().unwrap()
    };
    // One that asks each 50 ms hears nothing from the answer to one that left at 0.95 s, at most, to that of one that
    // left at 3 s.
    let [silence, lost] = [of.rows[0].longest_gap_s.unwrap(), of.rows[0].lost_percent.unwrap()];
    assert!((2.0..2.11).contains(&silence), "{silence}");
    let (answered, gone) = (count(" answered"), count(" lost"));
    assert!((lost - 100.0 * gone / (answered + gone)).abs() < 1e-9 && (39.0..42.0).contains(&lost), "{lost} {note}");
    // Once it has stopped nobody waits.
    let stopped = ran(&format!("{ping}, stop = \"500 ms\""));
    assert!(stopped.rows[0].longest_gap_s.unwrap() < 0.1 && stopped.rows[0].lost_percent == Some(0.0));
    // Where none is ever answered all of the time is silent.
    let none = outcome(ping, ("0 s", "50 s"), "5 s");
    assert!(none.failed.is_none() && none.rows[0].longest_gap_s.unwrap() > 4.9);
    assert!(none.rows[0].lost_percent.unwrap() > 99.0, "{:?}", none.notes);
}

#[test]
fn a_scenario_of_echoes_alone_shows_what_is_lost() {
    let shown = |more: &str| {
        let text = format!(
            r#"
title = "Echoes"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "20 Mb/s" }}
load.x = {{ kind = "ping", from = "a", to = "b", interval = "50 ms" }}
run.duration = "1 s"
{more}"#
        );
        point(&parse(&text), &[]).scenario.report.shown().name().to_owned()
    };
    assert_eq!(shown(""), "lost_percent");
    assert_eq!(shown("report.notes = [\"x\"]"), "lost_percent");
    assert_eq!(shown("report.value = \"round_trip_ms.p99\""), "round_trip_ms.p99");
    assert_eq!(shown("load.y = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\" }"), "goodput_mbps");
}

/// What begins late is not silent before that.
#[test]
fn nobody_is_silent_before_its_call() {
    for kind in ["kind = \"netperf\"", "kind = \"ttcp\", count = 160", "kind = \"rpc\""] {
        let of = outcome(&format!("{kind}, {APPS}, start = \"3 s\""), ("50 s", "51 s"), "5 s");
        assert!(of.rows.iter().all(|row| row.longest_gap_s < Some(0.05)) && !is_told(&of), "{kind}: {:?}", of.rows);
    }
}

/// TCP gives a connection up after some 15 minutes. A transfer is measured until its last octet then, so no silence is
/// longer; what is measured from one time to another is silent until that.
#[test]
fn no_silence_is_longer_than_what_was_measured() {
    let gap = |load: &str| {
        let row = outcome(load, ("500 ms", "1900 s"), "1800 s").rows.remove(1);
        assert_eq!(row.bound_by, "aborted", "{load}");
        (row.measured_s, row.longest_gap_s.unwrap())
    };
    let (measured, silent) = gap(&format!("kind = \"ttcp\", count = 10000, {APPS}"));
    assert!((0.4..0.5).contains(&measured) && silent < 0.1, "{measured} {silent}");
    let (measured, silent) = gap(&format!("kind = \"netperf\", {APPS}"));
    assert!(measured == 1800.0 && (1799.4..1799.6).contains(&silent), "{measured} {silent}");
}
