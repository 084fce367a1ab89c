use super::*;
use kumiki_graph::Duration;
use kumiki_wire::inet::tcp::Seq;

const SMSS: u64 = 1000;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn loss(cc: &Cubic, ms: u64) -> Loss {
    Loss { now: at(ms), flight: cc.window() }
}

/// One window's worth of ACKs, one per segment, at the end of a round trip of `rtt` ms.
fn round(cc: &mut Cubic, now: u64, rtt: u64) {
    for _ in 0..cc.window() / SMSS {
        cc.on_ack(&Acked {
            now: at(now),
            octets: SMSS,
            flight: cc.window(),
            srtt: Some(Duration::from_millis(rtt)),
            rtt: None,
            una: Seq(0),
            nxt: Seq(0),
            window_limited: true,
        });
    }
}

/// Just after a loss at `segments`.
fn reduced(segments: u64) -> Cubic {
    let mut cc = Cubic::new(Config::new(1000));
    cc.window.cwnd = segments * SMSS;
    let event = loss(&cc, 0);
    cc.on_loss(&event);
    cc.on_recovered(at(0), cc.window());
    cc
}

#[test]
fn cube_roots_are_right_to_the_last_digits() {
    for root in [0.0, 0.001, 0.5, 1.0, 3.0, 10.0, 43.25, 1e4, 1e6] {
        let got = cube_root(root * root * root);
        assert!((got - root).abs() <= root * 1e-12 + 1e-30, "{root}: {got}");
    }
}

#[test]
fn a_loss_leaves_seven_tenths() {
    let cc = reduced(1000);
    assert_eq!((cc.window(), cc.ssthresh()), (700_000, 700_000));
}

// RFC 9293: MAY-18
#[test]
fn the_window_is_back_at_w_max_after_k() {
    // K = cbrt(W_max (1 - beta) / C) = cbrt(1000 * 0.3 / 0.4) = 9.086 s.
    let mut cc = reduced(1000);
    let mut windows = Vec::new();
    for now in (100..20_000).step_by(100) {
        round(&mut cc, now, 100);
        windows.push(cc.window());
    }
    let at_k = windows[90];
    assert!((985_000..=1_001_000).contains(&at_k), "{at_k}");
    let step = |i: usize| windows[i + 1] - windows[i];
    assert!(step(0) > 5 * step(80), "concave before K");
    assert!(step(180) > 5 * step(95), "convex after K");
    // 0.4 * (18 - 9.086)^3 = 283 segments above W_max at 18 s.
    let later = windows[179];
    assert!((1_270_000..1_300_000).contains(&later), "{later}");
}

#[test]
fn small_windows_and_short_round_trips_go_with_reno() {
    let mut cc = reduced(20);
    let start = cc.window();
    for now in 1..=30 {
        round(&mut cc, now, 1);
    }
    // alpha = 9/17 segments per round trip up to cwnd_prior, 20 segments, then one.
    let grown = cc.window() - start;
    assert!((17_000..24_000).contains(&grown), "{grown}");
}

#[test]
fn a_second_loss_below_the_maximum_makes_room() {
    let mut cc = reduced(1000);
    assert!(cc.curve.w_max == 1_000_000.0);
    let event = loss(&cc, 10);
    cc.on_loss(&event);
    assert!(cc.curve.w_max == 700_000.0 * 0.85, "{}", cc.curve.w_max);
}

#[test]
fn after_a_timeout_the_plateau_is_where_slow_start_ends() {
    let mut cc = reduced(1000);
    let event = loss(&cc, 10);
    cc.on_timeout(&event, false);
    let ssthresh = cc.ssthresh();
    for now in 1..100 {
        if cc.in_slow_start() {
            round(&mut cc, now, 1);
        }
    }
    round(&mut cc, 100, 1);
    assert!(!cc.in_slow_start());
    assert!(cc.curve.w_max >= ssthresh as f64 && cc.curve.w_max < 1.01 * ssthresh as f64);
}

#[test]
fn time_without_demand_does_not_count() {
    let mut busy = reduced(1000);
    round(&mut busy, 100, 100);
    let mut idle = busy.clone();
    let window = idle.window();
    idle.on_ack(&Acked {
        now: at(60_000),
        octets: SMSS,
        flight: SMSS,
        srtt: None,
        rtt: None,
        una: Seq(0),
        nxt: Seq(0),
        window_limited: false,
    });
    assert_eq!(idle.window(), window);
    round(&mut idle, 60_100, 100);
    round(&mut busy, 200, 100);
    assert_eq!(idle.window(), busy.window());
}

#[test]
fn the_window_at_most_grows_by_half_per_round_trip() {
    let mut cc = reduced(10);
    round(&mut cc, 100, 100);
    let window = cc.window();
    round(&mut cc, 3_600_000, 100);
    assert!(cc.window() <= window * 3 / 2 + SMSS, "{}", cc.window());
}
