//! Beside others on one line.

use super::*;

/// XTP's share of what both get beside a TCP, the mean of who begins, and what of the line both use together.
fn share(line: Line, algorithm: Algorithm, packet: u32) -> (f64, f64) {
    let begin = |first: u64, second: u64| {
        let mut world = World::new(line);
        world.add(xtp(packet), ms(first), FOREVER);
        world.add(tcp(algorithm, packet), ms(second), FOREVER);
        let found = goodputs(&mut world, 10_000, 110_000);
        let both = found[0] + found[1];
        (found[0] / both, both * 1e6 / line.rate as f64)
    };
    let (one, other) = (begin(0, 500), begin(500, 0));
    (f64::midpoint(one.0, other.0), f64::midpoint(one.1, other.1))
}

fn jain(goodputs: &[f64]) -> f64 {
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|it| it * it).sum();
    sum * sum / (goodputs.len() as f64 * squares)
}

#[test]
fn beside_a_tcp_of_equal_round_trip_each_has_its_part() {
    for queue in [50, 100, 200] {
        let line = Line::new(20_000_000, ms(40), queue, 1500);
        for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
            let (share, use_of_line) = share(line, algorithm, 1500);
            // 40 % of a fair share is 20 % of the line, for either; and not more than 60 to 40 in its own favour.
            let good = (0.2..0.6).contains(&share) && use_of_line > 0.97;
            assert!(good, "{algorithm:?}, {queue} %: {share} of {use_of_line}");
            assert!(jain(&[share, 1.0 - share]) > 0.8);
        }
    }
}

#[test]
fn beside_newreno_it_is_near_half() {
    for queue in [50, 100, 200] {
        let line = Line::new(20_000_000, ms(40), queue, 1500);
        let (share, _) = share(line, Algorithm::NewReno, 1500);
        assert!((0.42..0.58).contains(&share), "{queue} %: {share}");
    }
}

#[test]
fn beside_others_of_its_kind_it_has_its_part() {
    for (count, queue) in [(2, 50), (2, 100), (2, 200), (4, 100), (16, 100)] {
        let mut world = World::new(Line::new(20_000_000, ms(40), queue, 1500));
        for number in 0..count {
            world.add(xtp(1500), ms(300 * number), FOREVER);
        }
        let found = goodputs(&mut world, 20_000, 80_000);
        let sum: f64 = found.iter().sum();
        let good = jain(&found) > 0.98 && sum > 0.97 * 20.0;
        assert!(good, "{count} at {queue} %: {found:?}");
    }
}

#[test]
fn what_another_leaves_is_taken_and_what_it_needs_is_given() {
    let mut world = World::new(Line::new(20_000_000, ms(40), 100, 1500));
    world.add(xtp(1500), ms(0), FOREVER);
    world.add(tcp(Algorithm::NewReno, 1500), ms(10_000), ms(40_000));
    let before = goodput(&mut world, 5000, 10_000);
    let beside = goodputs(&mut world, 15_000, 40_000);
    let after = goodput(&mut world, 42_000, 47_000);
    assert!(before > 19.0 && after > 19.0, "{before}, {after}");
    assert!(beside[1] > 6.0, "{beside:?}");
}

/// The table of `docs/xtp-congestion.md`; not a test of anything.
#[test]
#[ignore = "prints the table of docs/xtp-congestion.md, in minutes"]
fn table() {
    for (rate, rtt, packet) in [
        (20_000_000, 40, 1500),
        (20_000_000, 20, 1500),
        (10_000_000, 100, 1500),
        (45_000_000, 100, 9000),
        (100_000_000, 40, 1500),
    ] {
        for queue in [25, 50, 100, 200] {
            let line = Line::new(rate, ms(rtt), queue, packet);
            print!("| {} Mb/s, {rtt} ms, {packet} | {queue} % |", rate / 1_000_000);
            for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
                let (share, _) = share(line, algorithm, packet);
                print!(" {:.0} % ({:.2}) |", share * 100.0, jain(&[share, 1.0 - share]));
            }
            let mut world = World::new(line);
            world.add(tcp(Algorithm::NewReno, packet), ms(0), FOREVER);
            world.add(tcp(Algorithm::Cubic, packet), ms(500), FOREVER);
            let found = goodputs(&mut world, 10_000, 110_000);
            println!(" {:.0} % |", found[0] / (found[0] + found[1]) * 100.0);
        }
    }
}

/// The tables of `docs/xtp-congestion.md` on one sender alone; not a test of anything.
#[test]
#[ignore = "prints tables of docs/xtp-congestion.md"]
fn flatness() {
    let flows: [fn(u32) -> Box<dyn Flow>; 3] =
        [xtp, |packet| tcp(Algorithm::NewReno, packet), |packet| tcp(Algorithm::Cubic, packet)];
    for rtt in [0, 20, 60, 100, 200] {
        print!("| {rtt} ms |");
        for flow in flows {
            let mut world = alone(paper(rtt), flow(9000));
            world.run_until(Instant::ZERO + ms(5000));
            let lost = world.dropped[0];
            print!(" {:.2} ({lost}) |", goodput(&mut world, 5000, 65_000));
        }
        println!();
    }
    for loss in [0.0, 0.0001, 0.001, 0.01, 0.03] {
        print!("| {} % |", loss * 100.0);
        for flow in flows {
            print!(" {:.2} |", with_loss(loss, flow(1500)));
        }
        println!();
    }
}
