//! The scenarios whose outcome theory gives: what they compare with is in them.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::limit;
use kumiki_lab::reproduce::Runner as _;
use kumiki_lab::rows::Row;
use kumiki_lab::scenario::Point;
use kumiki_lab::table::Lines;

use super::{build, count, near, points};

/// Runs all points of the scenario: what their tables show is as near to theory as the scenario asks. What is held all
/// together, of each point.
fn as_theory_has_it(name: &str, set: &[&str]) -> Vec<Row> {
    let points = points(name, set).unwrap();
    let total = |point: &Point| {
        let outcome = Laboratory::default().run(point).unwrap();
        let row = outcome.rows.into_iter().next().unwrap();
        let found = row.value(&point.scenario.report.shown()).unwrap();
        let compare = point.compare().unwrap_or_else(|| panic!("{name} at {}: nothing to compare with", point.label()));
        let (theory, within) = (compare.value, compare.within.unwrap().of(compare.value));
        assert!((found - theory).abs() <= within, "{name} at {}: {found}, and theory has {theory}", point.label());
        row
    };
    points.iter().map(total).collect()
}

/// The round trip is the propagation both ways and the time on the line: of a segment of 8948 + 52 octets, and of an
/// acknowledgment.
#[test]
fn a_fixed_window_goes_once_around_in_a_round_trip() {
    as_theory_has_it("theory-window", &["run.duration=4 s"]);
}

/// Pollaczek and Khinchine: the mean number that waits, which is the mean wait times the rate of arrivals (Little).
#[test]
fn datagrams_at_random_wait_as_in_an_md1_queue() {
    for row in as_theory_has_it("theory-queue", &[]) {
        assert_eq!(row.bound_by, "application");
    }
}

#[test]
fn random_loss_leaves_what_the_square_root_law_has() {
    for row in as_theory_has_it("theory-loss", &[]) {
        assert_eq!(row.bound_by, "congestion window after a loss");
    }
}

/// Rate times round trip is 166 frames of 1500 octets.
#[test]
fn slow_start_loses_as_much_as_path_and_queue_hold() {
    as_theory_has_it("theory-overshoot", &[]);
    let gentle = points("theory-overshoot", &["host.a.tcp.hystart=true", "queue=500"]).unwrap();
    let measured = build(&gentle[0], 1).unwrap().run().measured;
    assert!(count(&measured, "line", "a_drops") < 300, "HyStart++ ends slow start earlier");
}

/// The retransmission time-out doubles (RFC 6298), so TCP goes on with the first after the end of an outage.
#[test]
fn tcp_goes_on_with_the_first_time_out_after_an_outage() {
    as_theory_has_it("outage", &[]);
    // Of the datagrams, a thousand in a second, those of the outage are lost, and at the end 11 are in flight.
    for (outage, lost) in [("100 ms", 100), ("2 s", 2000)] {
        for point in points("outage", &[&format!("outage=\"{outage}\"")]).unwrap() {
            let units = build(&point, 1).unwrap().run().measured.loads["datagrams"].units.unwrap();
            assert!(units.received.abs_diff(10_000 - lost - 11) <= 1, "{}: {units:?}", point.label());
        }
    }
}

#[test]
fn equal_flows_come_to_share_a_line_alike() {
    let point = &points("theory-fairness", &[]).unwrap()[0];
    // Of 1500 octets 52 are headers; over routers, and for all together.
    let limit = 100.0 * 1448.0 / 1500.0;
    let load = &point.scenario.load["bulk"];
    let ladder = limit::of_load(&point.scenario, load).unwrap();
    assert!(near(ladder.goodput_mbps().as_f64(), limit, 1e-9));
    assert!(near(limit::of_all(&point.scenario, load).unwrap(), limit, 1e-9));
    let text = Laboratory::limit(point, Lines::Unicode).unwrap();
    for told in ["in0 965.333; bottleneck 96.533, the narrowest; out0 965.333", "All 4 pairs together: 96.533 Mb/s"] {
        assert!(text.contains(told), "{text}");
    }
    let rows = as_theory_has_it("theory-fairness", &[]);
    assert!(near(rows[0].goodput_mbps, limit, 0.02), "{}", rows[0].goodput_mbps);
    assert_eq!(rows[0].bound_by, "link");
}

/// Romanow and Floyd's sentences, at the buffer of which they say most and with segments in ten and in many cells. The
/// whole scenario takes a minute.
#[test]
fn whole_packets_dropped_early_leave_the_most_of_a_switch() {
    for mtu in ["1500 B", "9180 B"] {
        let set = [&format!("mtu=\"{mtu}\"") as &str, "cells=1000", "run.duration=3 s"];
        let points = points("romanow-floyd", &set).unwrap();
        let rows =
            points.iter().map(|point| Laboratory::default().run(point).unwrap().rows.into_iter().next().unwrap());
        let rows: Vec<Row> = rows.collect();
        let [tail, ppd, epd] = &rows[..] else {
            panic!("{} points", rows.len());
        };
        let found = format!("{mtu}: {:?}", [tail, ppd, epd].map(|row| (row.goodput_mbps, row.jain)));
        let (most, limit) = (epd.goodput_mbps, epd.limit_mbps.unwrap());
        assert!(tail.goodput_mbps < ppd.goodput_mbps && ppd.goodput_mbps < most, "{found}");
        assert!(most > 0.9 * limit, "{found}");
        assert!(rows.iter().all(|row| row.jain.unwrap() > 0.8), "{found}");
    }
}

/// Of ten hosts that give up soon those that are kept out say so, and not that the line, which another fills, is what
/// they wait for.
#[test]
fn who_is_kept_out_of_a_full_line_says_why() {
    let set = ["mtu=\"9180 B\"", "discard=\"tail\"", "cells=256", "run.duration=1 s", "host.s.tcp.syn_retries=2"];
    let points = points("romanow-floyd", &[&set[..], &["host.s.tcp.max_retransmissions=4"]].concat()).unwrap();
    let outcome = Laboratory::default().run(&points[0]).unwrap();
    let flows: Vec<&Row> = outcome.rows.iter().filter(|row| row.flow.is_some()).collect();
    let aborted = flows.iter().filter(|row| row.bound_by == "aborted").count();
    let idle = flows.iter().filter(|row| row.octets == 0).all(|row| row.bound_by != "link");
    assert!(
        flows.len() == 10 && aborted > 0 && idle,
        "{:?}",
        flows.iter().map(|row| &row.bound_by).collect::<Vec<_>>()
    );
    let told = format!("{aborted} of 10 sessions were aborted: ");
    assert!(outcome.notes.iter().any(|note| note.starts_with(&told)), "{:?}", outcome.notes);
}
