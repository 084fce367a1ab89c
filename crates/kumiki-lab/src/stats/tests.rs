use super::*;

fn close(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} is not within {within} of {b}");
}

#[test]
fn student_values_are_the_printed_ones() {
    for (level, n, t) in [
        (Level::P99, 3, 9.925),
        (Level::P99, 5, 4.604),
        (Level::P99, 10, 3.250),
        (Level::P99, 30, 2.756),
        (Level::P95, 3, 4.303),
        (Level::P95, 5, 2.776),
        (Level::P95, 10, 2.262),
        (Level::P95, 2, 12.706),
    ] {
        close(student_t(level, n - 1).unwrap(), t, 0.0005);
    }
    assert_eq!(student_t(Level::P99, 0), None);
}

#[test]
fn means_and_deviations_follow_their_definitions() {
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    assert_eq!(mean(&values), Some(5.0));
    close(sample_deviation(&values).unwrap(), (32.0_f64 / 7.0).sqrt(), 1e-12);
    assert_eq!(mean(&[]), None);
    assert_eq!(sample_deviation(&[1.0]), None);
    // The sum of three tenths is not three times a tenth; equal values still have no spread.
    assert_eq!(sample_deviation(&[0.1; 3]), Some(0.0));
}

#[test]
fn the_trimmed_mean_leaves_out_best_and_worst() {
    assert_eq!(trimmed_mean(&[100.0, 2.0, 4.0, 0.0], 1), Some(3.0));
    assert_eq!(trimmed_mean(&[1.0, 2.0], 1), None);
    assert_eq!(trimmed_mean(&[1.0], 1), None);
    assert_eq!(trimmed_mean(&[1.0, 3.0], 0), Some(2.0));
}

#[test]
fn fairness_runs_from_one_nth_to_one() {
    assert_eq!(jain(&[5.0; 4]), Some(1.0));
    assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain(&[0.0; 4]), None);
    assert_eq!(jain(&[]), None);
}

/// What is said of runs that all have a value.
fn after(rule: Stopping, values: &[f64]) -> Verdict {
    rule.after(values, values.len())
}

#[test]
fn runs_without_a_value_are_not_made_for_ever() {
    let rule = Stopping::default();
    for values in [&[][..], &[1.0], &[1.0, 100.0]] {
        assert_eq!(rule.after(values, 9), Verdict::More);
        assert!(matches!(rule.after(values, 10), Verdict::TooWide { .. }), "{values:?}");
    }
    assert!(matches!(rule.after(&[1.0; 3], 9), Verdict::Enough { .. }));
}

#[test]
fn the_width_is_total_and_runs_are_clamped() {
    // s = 1, n = 3: the half width is 9.925 / sqrt(3) = 5.730, which is 11.46 % of the mean in all.
    let values = [99.0, 100.0, 101.0];
    close(Stopping::width_percent(&values, Level::P99), 11.460, 0.001);
    let rule = Stopping::new(Level::P99, 11.461);
    assert_eq!(after(rule, &values[..1]), Verdict::More);
    assert_eq!(after(rule, &[100.0, 100.0]), Verdict::More);
    assert!(matches!(after(rule, &values), Verdict::Enough { .. }));
    assert_eq!(after(Stopping::new(Level::P99, 11.459), &values), Verdict::More);
    let wild: Vec<f64> = (0..30).map(|n| if n % 2 == 0 { 1.0 } else { 100.0 }).collect();
    let rule = Stopping::default();
    assert_eq!(after(rule, &wild[..9]), Verdict::More);
    assert!(matches!(after(rule, &wild[..10]), Verdict::TooWide { .. }));
    let rule = rule.runs(1000, 1);
    assert_eq!(after(rule, &wild[..29]), Verdict::More);
    assert!(matches!(after(rule, &wild), Verdict::TooWide { .. }));
    assert_eq!(Stopping::default().runs(2, 7), Stopping { level: Level::P99, width_percent: 5.0, min: 7, max: 7 });
}

#[test]
fn a_mean_of_zero_is_never_narrow_unless_nothing_varied() {
    assert_eq!(after(Stopping::default(), &[0.0; 3]), Verdict::Enough { width_percent: 0.0 });
    assert_eq!(Stopping::width_percent(&[-1.0, 0.0, 1.0], Level::P99), f64::INFINITY);
}

#[test]
fn no_spread_is_not_printed_as_confidence() {
    let text = |values: &[f64]| Summary::of(values, Level::P99).unwrap().text(2);
    assert_eq!(text(&[133.381]), "133.38 (one seed, no interval)");
    assert_eq!(text(&[133.381; 7]), "133.38 (7 equal runs, no interval)");
    assert_eq!(text(&[99.0, 100.0, 101.0]), "100.00 +- 5.73 (99 %, n=3)");
    assert_eq!(text(&[100.0, 100.0, 100.0001]), "100.00 +- <0.01 (99 %, n=3)");
    assert_eq!(Summary::of(&[], Level::P95), None);
    let summary = Summary::of(&[3.0, 1.0], Level::P95).unwrap();
    assert_eq!((summary.min, summary.max, summary.n), (1.0, 3.0, 2));
}

/// What decays by half in each of the first values has settled when it is lost in what varies.
#[test]
fn the_end_of_a_decay_is_found() {
    let noise = |place: usize| [0.5, -0.25, 0.125, -0.5, 0.25, -0.125, 0.375][place % 7];
    let decays = |half_life: f64| -> Vec<f64> {
        (0..500).map(|place| 100.0 + noise(place) - 80.0 * 0.5_f64.powf(place as f64 / half_life)).collect()
    };
    let after = truncation_point(&decays(10.0)).unwrap();
    assert!((50..=120).contains(&after), "{after}");
    assert!(truncation_point(&decays(1e-9)).unwrap() <= 10, "settled from the beginning");
    let climbs: Vec<f64> = (0..500).map(f64::from).collect();
    assert_eq!(truncation_point(&climbs), None, "what always grows never settles");
    assert_eq!(truncation_point(&[]), None);
}

#[test]
fn neighbours_that_go_together_are_told_from_those_that_do_not() {
    let slow: Vec<f64> = (0..100).map(|place| f64::from(place / 20)).collect();
    assert!(autocorrelation(&slow).unwrap() > 0.9);
    let fast: Vec<f64> = (0..100).map(|place| f64::from(place % 2)).collect();
    assert!(autocorrelation(&fast).unwrap() < -0.9);
    assert_eq!((autocorrelation(&[1.0; 5]), autocorrelation(&[])), (None, None));
}

#[test]
fn of_the_largest_numbers_the_mean_is_a_number_and_there_is_no_interval() {
    let values = [1e308, 1.5e308];
    let mean = mean(&values).unwrap();
    assert!((mean / 1.25e308 - 1.0).abs() < 1e-12, "{mean}");
    assert_eq!((sample_deviation(&values), half_width(&values, Level::P95)), (None, None));
    assert_eq!(Summary::of(&values, Level::P95).unwrap().half_width, None);
    assert_eq!(super::mean(&[]), None);
}
