use super::*;
use proptest::prelude::*;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn with(config: Config) -> (Config, Rtt) {
    (config, Rtt::new(&config))
}

#[test]
fn without_a_sample_rto_is_one_second() {
    let (config, rtt) = with(Config::RFC6298);
    assert_eq!((rtt.rto(&config), rtt.srtt(), rtt.rttvar()), (ms(1000), None, None));
}

// RFC 9293: MUST-18
#[test]
fn the_first_sample_and_the_next_follow_rules_2_2_and_2_3() {
    let (config, mut rtt) = with(Config::LINUX);
    rtt.on_sample(ms(400), &config);
    assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(400)), Some(ms(200))));
    assert_eq!(rtt.rto(&config), ms(1200));
    rtt.on_sample(ms(800), &config);
    // RTTVAR = 3/4 * 200 + 1/4 * |400 - 800|, with the old SRTT; SRTT = 7/8 * 400 + 1/8 * 800.
    assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(450)), Some(ms(250))));
    assert_eq!(rtt.rto(&config), ms(1450));
    assert_eq!(rtt.min(), Some(ms(400)));
}

#[test]
fn a_steady_path_keeps_the_granularity_as_variance() {
    let (config, mut rtt) = with(Config { minimum: Duration::ZERO, granularity: ms(10), ..Config::RFC6298 });
    for _ in 0..200 {
        rtt.on_sample(ms(100), &config);
    }
    assert_eq!(rtt.rto(&config), ms(110));
}

#[test]
fn rto_has_a_floor_and_a_ceiling() {
    let (config, mut rtt) = with(Config::RFC6298);
    rtt.on_sample(ms(1), &config);
    assert_eq!(rtt.rto(&config), ms(1000));
    rtt.on_sample(Duration::from_secs(1_000), &config);
    assert_eq!(rtt.rto(&config), Duration::from_secs(120));
    rtt.on_sample(Duration::MAX, &config);
    rtt.back_off();
    assert_eq!(rtt.rto(&config), Duration::from_secs(120));
}

// RFC 9293: MUST-19
#[test]
fn back_off_doubles_until_a_sample_comes() {
    let (config, mut rtt) = with(Config::RFC6298);
    let mut rtos = Vec::new();
    for _ in 0..9 {
        rtos.push(rtt.rto(&config).as_millis() / 1000);
        rtt.back_off();
    }
    assert_eq!(rtos, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
    for _ in 0..1000 {
        rtt.back_off();
    }
    assert_eq!(rtt.rto(&config), Duration::from_secs(120));
    rtt.on_sample(ms(500), &config);
    assert_eq!((rtt.rto(&config), rtt.back_offs()), (ms(1500), 0));
    rtt.back_off();
    assert_eq!((rtt.rto(&config), rtt.back_offs()), (ms(3000), 1));
    rtt.reset_back_off();
    assert_eq!(rtt.rto(&config), ms(1500));
}

#[test]
fn data_after_a_lost_syn_start_at_three_seconds() {
    let (config, mut rtt) = with(Config::RFC6298);
    rtt.back_off();
    rtt.restart(Duration::from_secs(3));
    assert_eq!((rtt.rto(&config), rtt.srtt()), (Duration::from_secs(3), None));
    rtt.on_sample(ms(1000), &config);
    assert_eq!(rtt.rto(&config), Duration::from_secs(3), "1 s + 4 * 0.5 s");
}

#[test]
fn coarse_ticks_round_samples_and_rto() {
    let (config, mut rtt) = with(Config::BSD);
    assert_eq!(rtt.rto(&config), Duration::from_secs(6));
    rtt.on_sample(ms(700), &config);
    assert_eq!((rtt.srtt(), rtt.min()), (Some(ms(500)), Some(ms(700))));
    assert_eq!(rtt.rto(&config), ms(1500));
    rtt.on_sample(ms(1), &config);
    assert_eq!(rtt.rto(&config).as_nanos() % ms(500).as_nanos(), 0);
    for _ in 0..200 {
        rtt.on_sample(ms(1), &config);
    }
    assert_eq!(rtt.rto(&config), ms(1000), "never below two ticks");
}

proptest! {
    #[test]
    fn rto_stays_in_bounds_and_above_srtt(samples in prop::collection::vec(any::<u64>(), 1..50), offs in 0u32..80) {
        for config in [Config::RFC6298, Config::LINUX, Config::BSD] {
            let mut rtt = Rtt::new(&config);
            for sample in &samples {
                rtt.on_sample(Duration::from_nanos(*sample >> 20), &config);
                let rto = rtt.rto(&config);
                prop_assert!(config.minimum <= rto && rto <= config.maximum);
                prop_assert!(rtt.srtt().is_some_and(|srtt| srtt <= rto || rto == config.maximum));
            }
            for _ in 0..offs {
                let before = rtt.rto(&config);
                rtt.back_off();
                prop_assert!(before <= rtt.rto(&config) && rtt.rto(&config) <= config.maximum);
            }
        }
    }
}
