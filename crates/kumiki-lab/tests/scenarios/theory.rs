//! The scenarios whose outcome theory gives.

use kumiki_lab::experiment::{Bound, Limit};
use kumiki_lab::limit;

use super::{build, count, near, points};

/// A window in each round trip, which is the propagation both ways and the time on the line: of a segment of 8948 + 52 octets, and of an acknowledgment.
#[test]
fn a_fixed_window_goes_once_around_in_a_round_trip() {
    for point in points("theory-window", &["run.duration=4 s"]).unwrap() {
        let of = |name: &str| point.varied.iter().find(|(key, _)| key == name).unwrap().1.as_str().unwrap();
        let window: f64 = of("window").trim_end_matches(" B").parse().unwrap();
        let rtt: f64 = of("rtt").trim_end_matches(" ms").parse::<f64>().unwrap() / 1e3 + (9000.0 + 52.0) * 8.0 / 100e9;
        let found = build(&point, 1).unwrap().run().measured.total.goodput_mbps;
        let theory = window * 8.0 / rtt / 1e6;
        assert!(near(found, theory, 0.001), "{window} octets in {rtt} s: {found}, and theory has {theory}");
    }
}

/// Pollaczek and Khinchine: the mean number that waits, which is the mean wait times the rate of arrivals (Little).
#[test]
fn datagrams_at_random_wait_as_in_an_md1_queue() {
    for (point, rho) in points("theory-queue", &[]).unwrap().iter().zip([0.5, 0.8]) {
        let measured = build(point, 3).unwrap().run().measured;
        let (found, theory) = (measured.queues["line.a"].mean(), rho * rho / 2.0 / (1.0 - rho));
        assert!(near(found, theory, 0.02), "at a load of {rho}: {found} wait, and theory has {theory}");
        let bound = measured.bound(&measured.total, None, None);
        assert_eq!(bound, Bound::Held(Limit::Application));
    }
}

#[test]
fn random_loss_leaves_what_the_square_root_law_has() {
    for (point, loss) in points("theory-loss", &[]).unwrap().iter().zip([1e-4_f64, 1e-3, 1e-2]) {
        let measured = build(point, 1).unwrap().run().measured;
        let theory = 1448.0 * 8.0 / 0.010 * (1.5 / loss).sqrt() / 1e6;
        let found = measured.total.goodput_mbps;
        assert!(near(found, theory, 0.1), "with a loss of {loss}: {found}, and theory has {theory}");
        assert_eq!(measured.bound(&measured.total, None, None), Bound::Held(Limit::Loss));
    }
}

/// Rate times round trip is 166 frames of 1500 octets.
#[test]
fn slow_start_loses_as_much_as_path_and_queue_hold() {
    for (point, queue) in points("theory-overshoot", &[]).unwrap().iter().zip([166.0, 500.0]) {
        let measured = build(point, 1).unwrap().run().measured;
        let drops = count(&measured, "line", "a_drops");
        assert!(near(drops as f64, 166.0 + queue, 0.02), "a queue of {queue}: {drops} lost");
    }
    let gentle = points("theory-overshoot", &["host.a.tcp.hystart=true", "queue=500"]).unwrap();
    let measured = build(&gentle[0], 1).unwrap().run().measured;
    assert!(count(&measured, "line", "a_drops") < 300, "HyStart++ ends slow start earlier");
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
    let measured = build(point, 1).unwrap().run().measured;
    assert!(measured.total.jain.is_some_and(|jain| jain > 0.97), "{:?}", measured.total.jain);
    assert!(near(measured.total.goodput_mbps, limit, 0.02), "{}", measured.total.goodput_mbps);
    assert_eq!(measured.bound(&measured.total, None, None), Bound::Link);
    let mut starts: Vec<&str> = measured.total.flows.iter().map(|flow| flow.from.as_str()).collect();
    starts.sort_unstable();
    assert_eq!(starts, ["a0", "a1", "a2", "a3"]);
}
