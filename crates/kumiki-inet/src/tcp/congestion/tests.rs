use super::*;

const SMSS: u64 = 1000;

fn config() -> Config {
    Config::new(1000)
}

fn ack(octets: u64) -> Acked {
    Acked {
        now: Instant::ZERO,
        octets,
        flight: octets,
        srtt: None,
        rtt: None,
        una: Seq(0),
        nxt: Seq(0),
        window_limited: true,
    }
}

fn loss(flight: u64) -> Loss {
    Loss { now: Instant::ZERO, flight }
}

fn standard() -> [Box<dyn Congestion>; 2] {
    [Algorithm::NewReno, Algorithm::Cubic].map(|algorithm| algorithm.build(config()))
}

#[test]
fn initial_windows_are_those_of_their_rfcs() {
    use InitialWindow::{Rfc3390, Rfc6928, Segments};
    for (rule, smss, octets) in [
        (Segments(1), 536, 536),
        (Segments(0), 536, 536),
        (Segments(2), 1460, 2920),
        // RFC 5681 section 3.1: four segments, three, two.
        (Rfc3390, 1095, 4380),
        (Rfc3390, 1460, 4380),
        (Rfc3390, 2190, 4380),
        (Rfc3390, 9140, 18_280),
        (Rfc6928, 536, 5360),
        (Rfc6928, 1460, 14_600),
        (Rfc6928, 9140, 18_280),
    ] {
        assert_eq!(rule.octets(smss), octets, "{rule:?} {smss}");
    }
}

// RFC 9293: MUST-19
#[test]
fn slow_start_counts_octets_up_to_its_limit() {
    for mut cc in standard() {
        assert!(cc.in_slow_start());
        cc.on_ack(&ack(1));
        assert_eq!(cc.window(), 10_001);
        cc.on_ack(&ack(5000));
        assert_eq!(cc.window(), 12_001, "{}: L = 2", cc.name());
    }
}

#[test]
fn a_window_that_is_not_in_use_does_not_grow() {
    for mut cc in standard() {
        let idle = Acked { window_limited: false, ..ack(1000) };
        cc.on_ack(&idle);
        cc.on_loss(&loss(10_000));
        let window = cc.window();
        for _ in 0..100 {
            cc.on_ack(&idle);
        }
        assert_eq!(cc.window(), window, "{}", cc.name());
    }
}

#[test]
fn a_loss_halves_what_was_in_flight() {
    let mut cc = NewReno::new(config());
    cc.on_loss(&loss(9_000));
    assert_eq!((cc.window(), cc.ssthresh()), (4500, 4500));
    cc.on_loss(&loss(1_000));
    assert_eq!(cc.window(), 2 * SMSS, "not below two segments");
}

// RFC 9293: MUST-19
#[test]
fn congestion_avoidance_adds_a_segment_per_window() {
    let mut cc = NewReno::new(config());
    cc.on_loss(&loss(20_000));
    for _ in 0..9 {
        cc.on_ack(&ack(1000));
    }
    assert_eq!(cc.window(), 10_000);
    cc.on_ack(&ack(1000));
    assert_eq!(cc.window(), 11_000);
    // One ACK of everything is one segment too.
    cc.on_ack(&ack(11_000));
    assert_eq!(cc.window(), 12_000);
}

#[test]
fn recovery_ends_without_a_burst() {
    for mut cc in standard() {
        cc.on_loss(&loss(10_000));
        let ssthresh = cc.ssthresh();
        cc.on_recovered(Instant::ZERO, 100_000);
        assert_eq!(cc.window(), ssthresh);
        cc.on_recovered(Instant::ZERO, 0);
        assert_eq!(cc.window(), 2 * SMSS);
        assert!(cc.in_slow_start());
        cc.on_ack(&ack(1000));
        assert_eq!(cc.window(), 3 * SMSS);
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_lowers_ssthresh_once() {
    for (mut cc, ssthresh) in standard().into_iter().zip([5000, 7000]) {
        cc.on_timeout(&loss(10_000), false);
        assert_eq!((cc.window(), cc.ssthresh()), (SMSS, ssthresh));
        cc.on_timeout(&loss(1000), true);
        assert_eq!((cc.window(), cc.ssthresh()), (SMSS, ssthresh));
        // L is 1 after a time-out.
        cc.on_ack(&ack(8000));
        assert_eq!(cc.window(), 2 * SMSS, "{}", cc.name());
    }
}

#[test]
fn idleness_goes_back_to_the_initial_window() {
    for mut cc in standard() {
        for _ in 0..50 {
            cc.on_ack(&ack(2000));
        }
        assert!(cc.window() > 100_000);
        cc.on_idle(Instant::ZERO);
        assert_eq!(cc.window(), 10_000);
        cc.on_timeout(&loss(10_000), false);
        cc.on_idle(Instant::ZERO);
        assert_eq!(cc.window(), SMSS, "RW = min(IW, cwnd)");
    }
}

#[test]
fn a_lost_syn_starts_with_one_segment() {
    for mut cc in standard() {
        cc.on_syn_lost();
        assert_eq!(cc.window(), SMSS);
        cc.set_smss(500);
        assert_eq!(cc.window(), 500);
    }
}

#[test]
fn smss_sets_the_initial_window_again_until_the_first_ack() {
    for mut cc in standard() {
        cc.set_smss(9140);
        assert_eq!(cc.window(), 18_280);
        cc.set_smss(536);
        assert_eq!(cc.window(), 5360);
        cc.on_ack(&ack(100));
        cc.set_smss(1460);
        assert_eq!(cc.window(), 5460);
    }
}

/// RFC 5681 equation 4 and section 3.1, where path MTU discovery finds more while losses are made good.
#[test]
fn a_window_holds_a_segment_of_the_new_size_after_recovery_too() {
    for mut cc in standard() {
        cc.on_ack(&ack(100));
        cc.on_loss(&loss(2000));
        assert_eq!(cc.ssthresh(), 2 * SMSS);
        cc.set_smss(9140);
        cc.on_recovered(Instant::ZERO, 0);
        assert!(cc.window() >= 9140, "{}: {}", cc.name(), cc.window());
        assert_eq!(cc.ssthresh(), 18_280);
    }
}

#[test]
fn fixed_knows_no_bound() {
    let mut cc = Algorithm::Fixed.build(config());
    cc.on_timeout(&loss(10_000), false);
    cc.on_loss(&loss(10_000));
    cc.on_ecn(&loss(10_000));
    assert_eq!((cc.window(), cc.name()), (u64::MAX, "fixed"));
}

#[test]
fn a_reduction_for_nothing_is_taken_back_once_and_without_a_burst() {
    for mut cc in standard() {
        // In slow start the old ssthresh was safe.
        cc.save(10_000);
        cc.on_loss(&loss(10_000));
        cc.undo(12_000);
        assert_eq!((cc.window(), cc.ssthresh()), (10_000, u64::MAX));
        // In congestion avoidance what was in flight, and the window opens from what the caller allows.
        cc.on_loss(&loss(10_000));
        let before = cc.window();
        cc.save(before);
        cc.on_timeout(&loss(before), false);
        assert_eq!(cc.window(), SMSS);
        cc.undo(3 * SMSS);
        assert_eq!((cc.window(), cc.ssthresh()), (3 * SMSS, before), "{}", cc.name());
        cc.on_timeout(&loss(before), false);
        cc.undo(u64::MAX);
        assert_eq!(cc.window(), SMSS, "{}: nothing was saved", cc.name());
    }
}
