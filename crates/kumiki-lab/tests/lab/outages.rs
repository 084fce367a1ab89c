//! What is lost, and waited for, while a line is not there.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::experiment::Options;
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::{Outcome, Runner as _};
use kumiki_lab::rows::{Row, Scope};
use kumiki_lab::workload::ping::Echoes;

use crate::arrange::{parse, point, run};

const PING: &str =
    "load.probe = { kind = \"ping\", from = \"a\", to = \"b\", message = \"56 B\", interval = \"50 ms\" }";
const BULK: &str = "load.bulk = { kind = \"netperf\", from = \"b\", to = \"a\", message = \"8 KiB\" }";

/// These `loads` over 5 Mb/s and 20 ms each way, where these `events` happen.
fn text(loads: &str, events: &str) -> String {
    format!(
        r#"
title = "Not there"
host.a.graph = ["ip", "l0"]
host.b.like = "a"
link.line = {{ ends = ["a", "b"], medium = "point-to-point", rate = "5 Mb/s", propagation = "20 ms", queue_frames = 10 }}
{loads}
run.duration = "10 s"
event = [{events}]
"#
    )
}

fn outcome(loads: &str, events: &str) -> Outcome {
    Laboratory::default().run(&point(&parse(&text(loads, events)), &[])).unwrap()
}

fn of<'a>(of: &'a Outcome, scope: Scope, load: &str) -> &'a Row {
    of.rows.iter().find(|row| row.scope == scope && row.load.as_deref() == Some(load)).unwrap()
}

fn rate(at: &str, rate: &str) -> String {
    format!("{{ at = \"{at}\", link = \"line\", rate = \"{rate}\" }}")
}

fn up(at: &str, up: bool) -> String {
    format!("{{ at = \"{at}\", link = \"line\", up = {up} }}")
}

/// What became of echoes, and how many found no room in the queue there.
fn echoes(events: &str) -> (Echoes, u64) {
    let measured = run(&parse(&text(PING, events)), &[], 1, &Options::default()).measured;
    (measured.total.echoes.unwrap(), measured.counters["line"]["a_drops"])
}

#[test]
fn echoes_that_found_no_room_are_lost_and_not_under_way() {
    // The longest round trip is more than 6 s. What leaves last is on its way.
    let (back, drops) = echoes(&format!("{}, {}", rate("3 s", "0 b/s"), rate("9 s", "5 Mb/s")));
    assert!((100..120).contains(&drops), "{drops}");
    assert_eq!((back.lost, back.in_flight, back.answered), (drops, 1, back.sent - drops - 1), "{back}");
    // What waits on a line that stands still has not been lost, however long that is.
    let (still, drops) = echoes(&rate("3 s", "0 b/s"));
    assert_eq!((still.lost, still.in_flight), (drops, 10), "{still}");
}

#[test]
fn echoes_that_leave_when_their_way_has_gone_are_lost() {
    for at in ["0 s", "3 s", "9800 ms"] {
        let (gone, _) = echoes(&up(at, false));
        let (lossy, _) = echoes(&format!("{{ at = \"{at}\", link = \"line\", loss = \"100 %\" }}"));
        let (off, _) = echoes(&format!("{{ at = \"{at}\", host = \"b\", up = false }}"));
        for (echoes, what) in [(gone, "down"), (lossy, "lossy"), (off, "off")] {
            assert_eq!(echoes.in_flight, 0, "{at} {what}: {echoes}");
            assert_eq!(echoes.lost, echoes.sent - echoes.answered, "{at} {what}: {echoes}");
        }
    }
}

#[test]
fn echoes_that_overtake_each_other_are_not_lost() {
    let text = text(&PING.replace("50 ms", "2 ms"), "").replace("queue_frames = 10", "impair.jitter = \"60 ms\"");
    let echoes = run(&parse(&text), &[], 1, &Options::default()).measured.total.echoes.unwrap();
    assert_eq!(echoes.lost, 0, "{echoes}");
    assert!(echoes.in_flight > 10, "{echoes}");
}

/// A line that others fill while it is there is not what echoes and datagrams lack that leave when it is not.
#[test]
fn what_is_lost_with_the_line_is_not_bound_by_its_rate() {
    let units = "load.units = { kind = \"udp\", from = \"a\", to = \"b\", message = \"100 B\", rate = \"100 kb/s\" }";
    let back = "load.back = { kind = \"netperf\", from = \"a\", to = \"b\", message = \"8 KiB\" }";
    let loads = format!("{PING}\n{BULK}\n{back}\n{units}");
    for (events, told) in [
        (up("2 s", false), "link.line was down from 2 s on"),
        (rate("2 s", "0 b/s"), "link.line had a rate of 0 b/s from 2 s on"),
        (format!("{}, {}", up("2 s", false), up("9 s", true)), "link.line was down from 2 s to 9 s"),
        (
            "{ at = \"2 s\", link = \"line\", loss = \"100 %\", toward = \"b\" }".to_owned(),
            "lost everything toward b from 2 s on",
        ),
    ] {
        let outcome = outcome(&loads, &events);
        assert_eq!(of(&outcome, Scope::Load, "probe").bound_by, "loss", "{events}");
        assert_eq!(of(&outcome, Scope::Load, "units").bound_by, "loss", "{events}");
        let note = outcome.notes.iter().find(|note| note.starts_with("probe: ")).unwrap();
        assert!(note.contains(" lost, round trip ") && note.ends_with(told), "{note}");
    }
    // As long as it is there it loses what finds no room.
    let outcome = outcome(&PING.replace("50 ms", "100 us"), &up("9900 ms", false));
    assert_eq!(of(&outcome, Scope::Load, "probe").bound_by, "link");
}

/// Nothing answers datagrams: what is the matter with the way back is none with them.
#[test]
fn datagrams_are_bound_by_what_their_own_way_lacks() {
    let load = |kind: &str, rate: &str| {
        format!(
            "load.{kind} = {{ kind = \"{kind}\", from = \"a\", to = \"b\", message = \"1000 B\", rate = \"{rate}\" }}"
        )
    };
    // Two, so that none of them alone has all that the line can carry.
    let loads = [load("udp", "15 Mb/s"), load("rtp", "2500 kb/s")].join("\n");
    let toward = |end: &str| format!("{{ at = \"200 ms\", link = \"line\", up = false, toward = \"{end}\" }}");
    let still = "{ at = \"200 ms\", link = \"line\", rate = [\"5 Mb/s\", \"0 b/s\"] }".to_owned();
    for (events, bound) in
        [(toward("a"), "link"), (still, "link"), (toward("b"), "loss"), (up("200 ms", false), "loss")]
    {
        let outcome = outcome(&loads, &events);
        for load in ["udp", "rtp"] {
            assert_eq!(of(&outcome, Scope::Load, load).bound_by, bound, "{load}: {events}");
        }
    }
}

#[test]
fn a_ping_that_nobody_answers_makes_no_result_of_a_failure() {
    let down = up("0 s", false);
    let failed = outcome(&format!("{PING}\n{BULK}"), &down).failed.unwrap();
    assert!(failed.starts_with("no connection was established for load.bulk: "), "{failed}");
    // One that was answered does, and so does one that is alone: it says how many were lost.
    assert_eq!(
        outcome(&format!("{PING}\n{}", BULK.replace(" }", ", start = \"5 s\" }")), &up("4 s", false)).failed,
        None
    );
    assert_eq!(outcome(PING, &down).failed, None);
}

#[test]
fn what_never_opened_has_the_limit_of_the_time_in_which_it_called() {
    let load = "load.t = { kind = \"ttcp\", from = \"a\", to = \"b\", message = \"8 KiB\", count = 500 }";
    for (events, part) in [(up("0 s", false), 0.0), (format!("{}, {}", up("0 s", false), up("9900 ms", true)), 0.01)] {
        let outcome = outcome(load, &events);
        let limits = [Scope::Load, Scope::Flow].map(|scope| of(&outcome, scope, "t").limit_mbps.unwrap());
        assert!(limits.iter().all(|limit| (limit - part * 4.83).abs() < 0.01), "{events}: {limits:?}");
    }
}

/// The packet of a call that waits in the queue of a line that stands still waits for no other.
#[test]
fn a_line_that_stands_still_is_no_queue() {
    let web = "load.web = { kind = \"rpc\", from = \"a\", to = \"b\", message = \"300 B\", response = \"20 kB\" }";
    let file = "load.file = { kind = \"ttcp\", from = \"b\", to = \"a\", message = \"8 KiB\", count = 2000 }";
    let loads = format!("{web}\n{file}");
    let text = text(&loads, &format!("{}, {}", rate("3 s", "0 b/s"), rate("9500 ms", "5 Mb/s")));
    let deep = text.replace("queue_frames = 10", "queue_frames = 100");
    let outcome = Laboratory::default().run(&point(&parse(&deep), &[])).unwrap();
    let row = of(&outcome, Scope::Load, "web");
    assert_eq!(row.bound_by, "retransmission time-out", "{:?}", row.held);
    assert!(row.held["retransmission time-out"] > 0.6, "{:?}", row.held);
    // What was not there for most of the time is told, be it there again.
    let told = "file: 0 of 1 transfer came to an end; meanwhile link.line had a rate of 0 b/s from 3 s to 9.5 s";
    assert!(outcome.notes.iter().any(|note| note == told), "{:?}", outcome.notes);
}

/// What waits before the narrow line when the wide one before it goes comes all the same, and so more than both carry
/// together from then on.
#[test]
fn where_more_came_from_a_queue_than_lines_carried_there_is_no_limit() {
    let text = r#"
title = "A queue behind a line that goes"
host.a.graph = ["tcp", "ip", "l0"]
host.r = { graph = { ip = ["l0", "l1"] }, ip.forwarding = true }
host.b.like = "a"
link.up = { ends = ["a", "r.l0"], medium = "point-to-point", rate = "100 Mb/s", propagation = "1 ms" }
link.down = { ends = ["r.l1", "b"], medium = "point-to-point", rate = "1 Mb/s", propagation = "1 ms" }
load.bulk = { kind = "udp", from = "a", to = "b", message = "1000 B", rate = "10 Mb/s" }
run = { warm_up = "2 s", duration = "5 s" }
event = [{ at = "2 s", link = "up", up = false }]
"#;
    let outcome = Laboratory::default().run(&point(&parse(text), &[])).unwrap();
    assert!(outcome.rows.iter().all(|row| row.limit_mbps.is_none() && row.goodput_mbps > 0.9), "{:?}", outcome.rows);
    assert!(
        outcome.notes.iter().any(|note| note.contains("so there is no limit to compare with")),
        "{:?}",
        outcome.notes
    );
}
