//! Connections that TCP gives up, or that nobody ever answers.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::{Outcome, Runner as _};
use kumiki_lab::rows::{Row, Scope};

use crate::arrange::{graph_of_files, parse, point};

/// Of `loads` over 10 Mb/s and 10 ms each way, where these `events` happen.
fn outcome(loads: &str, events: &str, seconds: u32) -> Outcome {
    let text = format!(
        r#"
title = "Given up"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a.l0", "b.l0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }}
{loads}
run.duration = "{seconds} s"
event = [{events}]
"#
    );
    Laboratory::default().run(&point(&parse(&text), &[])).unwrap()
}

const DOWN: &str = "{ at = \"1 s\", link = \"line\", up = false }";

fn bounds(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.bound_by.as_str()).collect()
}

/// The end that answers has something in flight and gives it up; the one that asks waits, and never hears of it.
#[test]
fn calls_that_the_other_end_gives_up_are_aborted() {
    let call = "kind = \"rpc\", from = \"a\", to = \"b\", message = \"100 B\", response = \"20 kB\", sessions = 2";
    let of = outcome(&format!("load.t = {{ {call}, count = 100 }}"), DOWN, 2000);
    assert_eq!(bounds(&of.rows), ["aborted"; 4]);
    for row in &of.rows {
        // Until the last octet, and nothing holds them behind that.
        assert!((0.9..1.0).contains(&row.measured_s) && row.longest_gap_s < Some(0.1), "{row:?}");
        assert!(
            (row.held.values().sum::<f64>() - 1.0).abs() < 1e-9 && !row.held.contains_key("retransmission time-out")
        );
        assert!(row.timeouts >= Some(15), "{row:?}");
    }
    // Without an end they are measured over all of the time, and held until they were given up.
    let of = outcome(&format!("load.t = {{ {call} }}"), DOWN, 2000);
    assert_eq!(bounds(&of.rows), ["aborted"; 4]);
    for row in &of.rows {
        assert!(row.measured_s == 2000.0 && row.longest_gap_s > Some(1998.0), "{row:?}");
        assert!(row.held["retransmission time-out"] > 0.99, "{row:?}");
    }
    // As long as none is given up, nothing is.
    let of = outcome(&format!("load.t = {{ {call}, count = 100 }}"), DOWN, 200);
    assert_eq!(bounds(&of.rows), ["retransmission time-out"; 4]);
}

/// A file of 1 MB over a router, where these `events` happen.
fn file(way: &str, events: &str, seconds: u32) -> Outcome {
    let [user, keeper] = ["user", "keeper"].map(graph_of_files);
    let text = format!(
        r#"
title = "Given up"
host.a.graph = {user}
host.b.graph = {keeper}
host.r = {{ graph = {{ ip = ["l0", "l1"] }}, ip.forwarding = true }}
link.l = {{ ends = ["a.l0", "r.l0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }}
link.m = {{ ends = ["r.l1", "b.l0"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms" }}
load.f = {{ kind = "ftam", from = "a.user", to = "b.keeper", message = "8000 B", file = "1 MB", way = "{way}" }}
run.duration = "{seconds} s"
event = [{events}]
"#
    );
    Laboratory::default().run(&point(&parse(&text), &[])).unwrap()
}

/// The file service waits for 15 minutes, TCP a little longer. What the line does later helps nobody.
#[test]
fn files_whose_association_was_given_up_are_aborted() {
    for way in ["put", "get"] {
        let events = r#"{ at = "300 ms", link = "l", up = false }, { at = "1500 s", link = "l", up = true }"#;
        let of = file(way, events, 2000);
        assert_eq!(bounds(&of.rows), ["aborted"; 3], "{way}");
        let why = of.failed.unwrap();
        let said = "the peer stopped answering, and link.l was down from 0.3 s on; expected that it is up again, with a rate, before that";
        assert!(why.contains(": given up at 900.") && why.contains(said), "{way}: {why}");
        for row in of.rows {
            assert!((900.0..901.0).contains(&row.measured_s) && row.longest_gap_s <= Some(row.measured_s), "{row:?}");
            assert!(row.segments_sent > Some(50) && row.timeouts > Some(10), "{way}: {row:?}");
            // Who asks waits for longer than that, and nothing holds what the other end has given up.
            assert!(row.held["retransmission time-out"] > 0.99, "{way}: {:?}", row.held);
        }
    }
}

/// What was missing is told, all of it, and how much the reader has: more had been written.
#[test]
fn a_file_that_fails_says_all_that_was_missing() {
    for (events, said) in [
        (r#"{ at = "300 ms", link = "l", up = false, toward = "a" }"#, "link.l was down toward a from 0.3 s on"),
        (
            r#"{ at = "300 ms", link = "l", rate = ["10 Mb/s", "0 b/s"] }"#,
            "link.l had a rate of 0 b/s toward a from 0.3 s on",
        ),
        (
            r#"{ at = "300 ms", link = "l", loss = "100 %" }"#,
            "link.l lost everything from 0.3 s on; expected that it loses less while there is time",
        ),
        (
            r#"{ at = "300 ms", link = "l", up = false }, { at = "400 ms", host = "r", up = false }"#,
            "host.r had no power from 0.4 s on, link.l was down from 0.3 s on",
        ),
        (r#"{ at = "300 ms", link = "l", loss = "99 %" }"#, "when the time was over; `duration` gives it more"),
        (
            r#"{ at = "300 ms", link = "l", up = false }, { at = "19.9 s", link = "l", up = true }"#,
            "when the time was over; `duration` gives it more",
        ),
    ] {
        let of = file("put", events, 20);
        let (why, octets) = (of.failed.unwrap(), of.rows[0].octets);
        assert!(why.contains(said), "{events}: {why}");
        assert!(
            octets < 300_000 && why.contains(&format!(": {octets} of 1000000 octets were moved")),
            "{octets}: {why}"
        );
    }
}

/// What was sent in vain says why: three calls in six seconds, of each session.
#[test]
fn what_calls_that_nobody_answers_have_sent_is_in_their_rows() {
    let units = r#"load.u = { kind = "udp", from = "b", to = "a", message = "100 B", rate = "8 kb/s" }"#;
    let down = r#"{ at = "0 s", link = "line", up = false }"#;
    for kind in ["kind = \"netperf\"", "kind = \"ttcp\", count = 5", "kind = \"rpc\"", "kind = \"rpc\", count = 5"] {
        let loads =
            format!("{units}\nload.t = {{ {kind}, from = \"a\", to = \"b\", message = \"1000 B\", sessions = 3 }}");
        let of = outcome(&loads, down, 6);
        let counted = |row: &Row| [row.segments_sent, row.retransmissions, row.timeouts];
        let mut flows = of.rows.iter().filter(|row| row.scope == Scope::Flow && row.load.as_deref() == Some("t"));
        let counter = |name: &str| of.rows[0].counters["a.tcp"].get(name).copied();
        assert!(flows.clone().count() == 3 && flows.all(|row| counted(row) == [Some(3), Some(2), Some(2)]), "{kind}");
        let load = of.rows.iter().find(|row| row.scope == Scope::Load && row.load.as_deref() == Some("t")).unwrap();
        assert_eq!(counted(load), [Some(9), counter("retransmissions"), counter("timeouts")], "{kind}");
        assert_eq!(load.bound_by, "opening", "{kind}");
    }
    // Sessions that begin when the line is gone, beside one that had been open before. The last was given up after two
    // minutes and does not keep the others waiting.
    let load = r#"load.t = { kind = "ttcp", from = "a", to = "b", message = "8 KiB", count = 100, sessions = 3, stagger = "600 ms" }"#;
    let of = outcome(load, DOWN, 2000);
    let sent: Vec<Option<u64>> = of.rows[2..].iter().map(|row| row.segments_sent).collect();
    assert!(sent[0] > Some(500) && sent[1] > Some(100) && sent[2] == Some(8), "{sent:?}");
    assert_eq!(bounds(&of.rows[3..]), ["aborted"; 2]);
    assert!(of.rows[..2].iter().all(|row| row.measured_s < 1.0), "{:?}", of.rows[0]);
}

/// A load that never had a connection is a failure where there is no other, or where it was refused, whatever its kind;
/// its rows are there in any case.
#[test]
fn a_load_without_a_connection_has_rows() {
    let down = r#"{ at = "0 s", link = "line", up = false }"#;
    let units = r#"load.u = { kind = "udp", from = "b", to = "a", message = "100 B", rate = "80 b/s" }"#;
    for kind in ["kind = \"netperf\"", "kind = \"ttcp\", count = 5", "kind = \"rpc\"", "kind = \"rpc\", count = 5"] {
        let load = format!("load.t = {{ {kind}, from = \"a\", to = \"b\", message = \"1000 B\" }}");
        for (seconds, bound, why) in
            [(6, "opening", "there was no answer until the end"), (300, "aborted", "the peer stopped answering")]
        {
            let alone = outcome(&load, down, seconds);
            assert_eq!(bounds(&alone.rows), [bound; 3], "{kind}");
            let failed = alone.failed.unwrap();
            assert!(failed.starts_with("no connection was established: ") && failed.contains(why), "{kind}: {failed}");
            // Beside another that is only unlucky, and a longer run makes no failure of it.
            let beside = outcome(&format!("{load}\n{units}"), down, seconds);
            let own: Vec<&Row> = beside.rows.iter().filter(|row| row.load.as_deref() == Some("t")).collect();
            assert_eq!((beside.failed, own.len(), own[0].bound_by.as_str()), (None, 2, bound), "{kind}");
            assert!(beside.notes.iter().any(|note| note.contains(why)), "{kind}: {:?}", beside.notes);
        }
    }
}

/// Whatever a load is, what was not there on its way is why it did not begin, or end, and it is told what would be
/// right.
#[test]
fn loads_that_do_not_end_say_which_line_or_host_was_missing() {
    let down = r#"{ at = "0 s", link = "line", up = false }"#;
    let line = "link.line was down from 0 s on; expected that it is up again, with a rate, while there is time";
    let off = |host: &str, at: &str| format!(r#"{{ at = "{at}", host = "{host}", up = false }}"#);
    let power = "host.b had no power from 0 s on; expected an event later than that, for a host with a program of a load does not get its power back";
    for kind in ["kind = \"ttcp\", count = 5", "kind = \"rpc\", count = 5", "kind = \"netperf\""] {
        let load = format!("load.t = {{ {kind}, from = \"a\", to = \"b\", message = \"1000 B\" }}");
        for (event, why) in [(down, line), (&off("b", "0 s"), power)] {
            let failed = outcome(&load, event, 6).failed.unwrap();
            let words = format!(
                "no connection was established: a called 10.0.0.2, and there was no answer until the end: {why}"
            );
            assert!(failed.starts_with(&words), "{kind}: {failed}");
        }
        // Given up before that, so what is missing later is not why.
        let later = format!("{down}, {}", off("b", "250 s"));
        let failed = outcome(&load, &later, 300).failed.unwrap();
        let words = "the peer stopped answering: link.line was down from 0 s on; expected that it is up again, with a rate, before that";
        assert!(failed.contains(words), "{kind}: {failed}");
    }
    // So it is with what a line loses from the beginning on, be it of one direction.
    let text = r#"
title = "Lossy"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", impair = { loss = "100 %", toward = "a" } }
load.t = { kind = "ttcp", from = "a", to = "b", message = "1000 B", count = 9 }
run.duration = "5 s"
"#;
    let failed = Laboratory::default().run(&point(&parse(text), &[])).unwrap().failed.unwrap();
    let words = "there was no answer until the end: link.line lost everything toward a from 0 s on; expected that it loses less";
    assert!(failed.contains(words), "{failed}");
    // Begun, and cut off.
    for (kind, what) in [
        ("kind = \"ttcp\", size = \"10 MB\"", "0 of 1 transfer came to an end: "),
        ("kind = \"rpc\", response = \"10 kB\", count = 5000", "what was asked for did not all come: "),
    ] {
        let load = format!("load.t = {{ {kind}, from = \"a\", to = \"b\", message = \"1000 B\" }}");
        let of = outcome(&load, DOWN, 6);
        let note = of.notes.iter().find(|note| note.starts_with(what)).unwrap_or_else(|| panic!("{:?}", of.notes));
        assert!(
            of.failed.is_none() && note.contains("link.line was down from 1 s on; expected that it is up"),
            "{note}"
        );
        // What is there again is not why.
        let of = outcome(&load, &format!("{DOWN}, {{ at = \"1500 ms\", link = \"line\", up = true }}"), 6);
        assert!(!of.notes.iter().any(|note| note.contains("expected")), "{:?}", of.notes);
    }
}

/// A file of which the router between goes may have that again; of a host at its end nobody speaks of one between.
#[test]
fn what_is_expected_of_a_host_without_power_fits_its_place() {
    for (host, right) in [
        ("b", "for a host with a program of a load does not get its power back"),
        ("r", "or power again while there is time"),
    ] {
        let failed = file("put", &format!("{{ at = \"300 ms\", host = \"{host}\", up = false }}"), 10).failed.unwrap();
        let words = format!("host.{host} had no power from 0.3 s on; expected an event later than that, {right}");
        assert!(failed.contains(&words), "{failed}");
    }
}
