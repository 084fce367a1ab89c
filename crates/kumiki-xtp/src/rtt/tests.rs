use super::*;

const PACKET: u64 = 9000;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

fn config(algorithm: Algorithm) -> Config {
    Config { algorithm, ..Config::new(9000) }
}

/// Data packets for each question, where packets leave at `rate` bit/s without a pause and answers come after `rtt`.
fn packets_per_question(algorithm: Algorithm, rate: u64, rtt: Duration) -> u64 {
    let mut estimator = Estimator::new(&config(algorithm));
    let time = |packets: u64| {
        let bits = u128::from(packets * PACKET * 8);
        Duration::from_nanos(u64::try_from(bits * 1_000_000_000 / u128::from(rate)).unwrap())
    };
    // The estimate is there, and what came before it is over.
    estimator.asked(0, Instant::ZERO);
    estimator.answered(0, Instant::ZERO + rtt);
    let start = Instant::ZERO + rtt + ms(1000);
    let mut answers = Vec::new();
    let (mut questions, mut packets) = (0, 0);
    let mut last = 0;
    while questions < 20 {
        let now = start + time(packets);
        answers.retain(|(sync, comes)| {
            let has_come = *comes <= now;
            if has_come {
                estimator.answered(*sync, *comes);
            }
            !has_come
        });
        let asks = match algorithm {
            Algorithm::Paper => estimator.measures(),
            Algorithm::Mended => estimator.due(now),
        };
        if asks {
            questions += 1;
            estimator.asked(questions, now);
            estimator.measured(questions);
            answers.push((questions, now + rtt));
            last = packets;
        }
        estimator.sent(PACKET);
        packets += 1;
    }
    let per_question = last / u64::from(questions - 1);
    assert_eq!(last % u64::from(questions - 1), 0, "all alike");
    per_question
}

#[test]
fn what_asking_costs_is_what_the_table_says() {
    let table = [
        (0, [1, 16, 1, 70]),
        (1, [1, 16, 14, 70]),
        (10, [3, 16, 139, 70]),
        (50, [12, 16, 695, 174]),
        (200, [48, 16, 2778, 695]),
    ];
    for (rtt, row) in table {
        let of = |algorithm, rate| packets_per_question(algorithm, rate, ms(rtt));
        let found = [
            of(Algorithm::Paper, 17_000_000),
            of(Algorithm::Mended, 17_000_000),
            of(Algorithm::Paper, 1_000_000_000),
            of(Algorithm::Mended, 1_000_000_000),
        ];
        assert_eq!(found, row, "{rtt} ms");
    }
}

#[test]
fn what_asking_costs_is_what_the_formula_says() {
    for rate in [64_000, 1_000_000, 45_000_000, 2_488_320_000] {
        for rtt in [0, 3, 17, 40, 170, 900] {
            let rtt = ms(rtt);
            let up = |time: Duration| {
                let octets = u128::from(time.as_nanos()) * u128::from(rate / 8);
                u64::try_from(octets.div_ceil(u128::from(PACKET) * 1_000_000_000)).unwrap()
            };
            let paper = up(rtt).max(1);
            assert_eq!(packets_per_question(Algorithm::Paper, rate, rtt), paper);
            let Config { per_rtt, floor, octets, fresh, .. } = Config::new(9000);
            let interval = (rtt / per_rtt).max(floor);
            let mended = up(interval).max((octets / PACKET).min(up(fresh.max(rtt))));
            let found = packets_per_question(Algorithm::Mended, rate, rtt);
            assert_eq!(found, mended, "{rate} bit/s, {rtt}");
        }
    }
}

#[test]
fn the_first_packet_asks() {
    for algorithm in [Algorithm::Paper, Algorithm::Mended] {
        let mut estimator = Estimator::new(&config(algorithm));
        assert!(estimator.due(at(0)));
        estimator.asked(1, at(0));
        assert!(!estimator.due(at(0)));
    }
}

#[test]
fn after_an_answer_the_paper_asks_at_once() {
    let mut estimator = Estimator::new(&config(Algorithm::Paper));
    assert!(estimator.measures());
    estimator.asked(1, at(0));
    estimator.measured(1);
    assert!(!estimator.measures(), "however long it takes");
    estimator.asked(2, at(10));
    estimator.answered(0, at(20));
    assert!(!estimator.measures());
    // Its answer was lost; that of a later question takes its place.
    estimator.answered(2, at(5000));
    assert!(estimator.measures());
    assert!(!Estimator::new(&config(Algorithm::Mended)).measures());
}

#[test]
fn a_sample_is_the_time_from_question_to_answer() {
    let mut estimator = Estimator::new(&Config::new(9000));
    estimator.asked(7, at(0));
    estimator.asked(8, at(10));
    estimator.asked(9, at(20));
    // The answer to 7 was lost.
    assert_eq!(estimator.answered(8, at(50)), Some(ms(40)));
    assert_eq!(estimator.answered(7, at(51)), None, "answered by that of 8");
    assert_eq!(estimator.answered(8, at(52)), None, "not asked for again");
    assert_eq!(estimator.answered(9, at(70)), Some(ms(50)));
    assert_eq!(estimator.answered(10, at(80)), None, "never asked");
}

#[test]
fn numbers_of_questions_wrap() {
    let mut estimator = Estimator::new(&Config::new(9000));
    estimator.asked(u32::MAX, at(0));
    estimator.asked(0, at(10));
    assert_eq!(estimator.answered(u32::MAX, at(30)), Some(ms(30)));
    assert_eq!(estimator.answered(0, at(30)), Some(ms(20)));
}

#[test]
fn of_many_unanswered_questions_the_last_64_are_known() {
    let mut estimator = Estimator::new(&Config::new(9000));
    for sync in 0..100 {
        estimator.asked(sync, at(sync.into()));
    }
    assert_eq!(estimator.answered(35, at(200)), None);
    assert_eq!(estimator.answered(36, at(200)), Some(ms(164)));
    assert_eq!(estimator.answered(99, at(200)), Some(ms(101)));
}

/// Asks and is answered.
fn sample(estimator: &mut Estimator, sync: u32, now: Instant, rtt: Duration) {
    estimator.asked(sync, now);
    estimator.answered(sync, now + rtt);
}

#[test]
fn smoothing_is_that_of_rfc_6298() {
    let mut estimator = Estimator::new(&Config { minimum: Duration::ZERO, ..Config::new(9000) });
    assert_eq!(estimator.wtimer(), ms(1000), "before the first sample");
    sample(&mut estimator, 1, at(0), ms(80));
    assert_eq!(estimator.srtt(), Some(ms(80)));
    assert_eq!(estimator.rttvar(), Some(ms(40)));
    assert_eq!(estimator.wtimer(), ms(80 + 4 * 40));
    sample(&mut estimator, 2, at(100), ms(160));
    // 7/8 * 80 + 1/8 * 160, 3/4 * 40 + 1/4 * |80 - 160|.
    assert_eq!(estimator.srtt(), Some(ms(90)));
    assert_eq!(estimator.rttvar(), Some(ms(50)));
    assert_eq!(estimator.wtimer(), ms(90 + 4 * 50));
}

#[test]
fn wtimer_keeps_to_its_bounds() {
    let mut estimator = Estimator::new(&Config { maximum: ms(3000), ..Config::new(9000) });
    for sync in 0..100 {
        sample(&mut estimator, sync, at(u64::from(sync) * 10), ms(10));
    }
    assert_eq!(estimator.wtimer(), ms(200));
    sample(&mut estimator, 100, at(5000), ms(60_000));
    assert_eq!(estimator.wtimer(), ms(3000));
}

#[test]
fn without_a_minimum_there_is_room_for_the_clock() {
    let mut estimator = Estimator::new(&Config { minimum: Duration::ZERO, ..Config::new(9000) });
    for sync in 0..100 {
        sample(&mut estimator, sync, at(u64::from(sync) * 10), ms(10));
    }
    // RTTVAR has gone to nothing; G is left.
    assert_eq!(estimator.wtimer(), ms(11));
}

#[test]
fn the_shortest_sample_counts_for_ten_seconds() {
    let mut estimator = Estimator::new(&Config::new(9000));
    assert_eq!(estimator.min(), None);
    sample(&mut estimator, 0, at(0), ms(20));
    for second in 1..10 {
        sample(&mut estimator, second, at(u64::from(second) * 1000), ms(50));
        assert_eq!(estimator.min(), Some(ms(20)), "{second} s");
    }
    sample(&mut estimator, 10, at(10_500), ms(40));
    assert_eq!(estimator.min(), Some(ms(40)));
    // After a pause nothing of before is left.
    sample(&mut estimator, 11, at(100_000), ms(90));
    assert_eq!(estimator.min(), Some(ms(90)));
}
