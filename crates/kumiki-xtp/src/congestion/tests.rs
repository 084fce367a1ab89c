//! The properties that matter, over a bottleneck in a model. What the tolerances are about stands at each; shares and
//! goodputs of more paths are in `docs/xtp-congestion.md`.

mod bottleneck;
mod fairness;
mod flows;
mod rules;

use bottleneck::{Line, World};
use flows::{Flow, Tcp, Xtp};
use kumiki_graph::{Duration, Instant};

use super::Kind;
use crate::rtt::Config;
use kumiki_inet::tcp::congestion::Algorithm;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const FOREVER: Duration = Duration::from_secs(100_000);

fn xtp(packet: u32) -> Box<dyn Flow> {
    Box::new(Xtp::new(Kind::Matched, Config::new(packet), packet))
}

fn tcp(algorithm: Algorithm, packet: u32) -> Box<dyn Flow> {
    Box::new(Tcp::new(algorithm, packet))
}

/// `flow` alone on `line`.
fn alone(line: Line, flow: Box<dyn Flow>) -> World {
    let mut world = World::new(line);
    world.add(flow, Duration::ZERO, FOREVER);
    world
}

/// Mb/s of each sender from one time to another, in ms; the world is no later than the first.
fn goodputs(world: &mut World, from: u64, to: u64) -> Vec<f64> {
    world.run_until(Instant::ZERO + ms(from));
    let before = world.delivered();
    world.run_until(Instant::ZERO + ms(to));
    let after = world.delivered();
    let octets = after.iter().zip(before).map(|(after, before)| after - before);
    let seconds = ms(to - from).as_secs_f64();
    octets.map(|it| it as f64 * 8e-6 / seconds).collect()
}

fn goodput(world: &mut World, from: u64, to: u64) -> f64 {
    goodputs(world, from, to)[0]
}

/// Paper 3's path: 17 Mb/s are what its hosts manage, and 50 KB are the buffers of the UDP socket that feeds its
/// receiver.
fn paper(rtt: u64) -> Line {
    Line { rate: 17_000_000, rtt: ms(rtt), queue: 5, loss: 0.0, seed: 1 }
}

#[test]
fn goodput_is_flat_at_any_delay_though_the_queue_holds_five_packets() {
    for rtt in (0..=200).step_by(20) {
        let mut world = alone(paper(rtt), xtp(9000));
        let found = goodput(&mut world, 5000, 30_000);
        // 3 % for what a probe costs now and then.
        assert!(found > 0.97 * 17.0, "{rtt} ms: {found}");
    }
    // The same for TCP, whose window is halved where the queue holds a tenth of it.
    let mut world = alone(paper(200), tcp(Algorithm::NewReno, 9000));
    let found = goodput(&mut world, 5000, 30_000);
    assert!(found < 0.75 * 17.0, "{found}");
}

#[test]
fn the_start_overshoots_a_queue_of_five_packets_by_about_what_it_holds() {
    for rtt in (0..=200).step_by(20) {
        let mut world = alone(paper(rtt), xtp(9000));
        // Ten round trips, in which it comes up to the rate of the line.
        let start = 10 * rtt.max(50);
        world.run_until(Instant::ZERO + ms(start));
        assert!(world.dropped[0] <= 10, "{rtt} ms: {:?}", world.dropped);
        let found = goodput(&mut world, start, start + 10 * rtt.max(100));
        // A hole in the sequence holds back what came after it for a round trip.
        assert!(found > 0.8 * 17.0, "{rtt} ms: {found}");
    }
}

/// What `flow` gets of 20 Mb/s, where one packet in `1 / loss` is lost.
fn with_loss(loss: f64, flow: Box<dyn Flow>) -> f64 {
    let line = Line::new(20_000_000, ms(40), 100, 1500);
    goodput(&mut alone(Line { loss, ..line }, flow), 10_000, 60_000)
}

#[test]
fn loss_without_a_queue_is_not_taken_for_congestion() {
    for (loss, least, times) in [(0.0001, 19.5, 1.0), (0.001, 19.0, 1.5), (0.01, 16.0, 4.0)] {
        let found = with_loss(loss, xtp(1500));
        let newreno = with_loss(loss, tcp(Algorithm::NewReno, 1500));
        let good = found > least && found > times * newreno;
        assert!(good, "{loss}: {found}, NewReno {newreno}");
    }
}

#[test]
fn where_round_trips_are_shorter_than_questions_are_apart_it_is_the_rate_that_is_kept() {
    for (rate, rtt, queue, packet) in
        [(100_000_000, 200, 32, 1500), (1_000_000_000, 50, 64, 9000), (10_000_000, 500, 10, 1500)]
    {
        let line = Line { rate, rtt: Duration::from_micros(rtt), queue, loss: 0.0, seed: 1 };
        let mut world = alone(line, xtp(packet));
        let found = goodput(&mut world, 500, 3000) * 1e6 / rate as f64;
        assert!(found > 0.97, "{rate} bit/s: {found}");
    }
}

#[test]
fn a_line_that_becomes_faster_is_filled_and_one_that_becomes_slower_too() {
    for (before, after) in [(20, 5), (5, 20), (5, 100), (100, 5)] {
        let line = Line::new(before * 1_000_000, ms(40), 100, 1500);
        let mut world = alone(Line { queue: 60, ..line }, xtp(1500));
        world.run_until(Instant::ZERO + ms(10_000));
        world.set_rate(after * 1_000_000);
        // Three seconds to notice.
        let found = goodput(&mut world, 13_000, 20_000) / after as f64;
        assert!(found > 0.97, "{before} to {after} Mb/s: {found}");
    }
}

#[test]
fn after_an_outage_it_goes_on() {
    for outage in [1000, 20_000] {
        let line = Line::new(20_000_000, ms(40), 100, 1500);
        let mut world = alone(line, xtp(1500));
        world.run_until(Instant::ZERO + ms(10_000));
        world.set_loss(1.0);
        let none = goodput(&mut world, 11_000.min(10_000 + outage), 10_000 + outage);
        assert!(none < 0.1 || outage == 1000, "{none}");
        world.set_loss(0.0);
        // What the last back-off still waits, at most as long as the outage was, and three seconds to come up.
        let from = 10_000 + 2 * outage + 3000;
        let found = goodput(&mut world, from, from + 5000);
        assert!(found > 0.97 * 20.0, "{outage} ms: {found}");
    }
}

#[test]
fn a_window_that_the_peer_limits_does_not_grow() {
    let line = Line::new(100_000_000, ms(40), 100, 1500);
    let flow = Xtp::new(Kind::Matched, Config::new(1500), 1500).with_alloc(60_000);
    let mut world = alone(line, Box::new(flow));
    world.run_until(Instant::ZERO + ms(60_000));
    assert!(world.window(0) < 4 * 60_000, "{}", world.window(0));
}

#[test]
fn without_congestion_control_the_queue_overflows() {
    let flow = Xtp::new(Kind::Off, Config::new(9000), 9000).with_alloc(1 << 20);
    let mut off = alone(paper(100), Box::new(flow));
    let flow = Xtp::new(Kind::Matched, Config::new(9000), 9000).with_alloc(1 << 20);
    let mut matched = alone(paper(100), Box::new(flow));
    let without = goodput(&mut off, 1000, 11_000);
    let with = goodput(&mut matched, 1000, 11_000);
    assert!(off.dropped[0] > 10 * matched.dropped[0]);
    assert!(without < with, "{without}, {with}");
}

#[test]
fn a_run_repeats() {
    let run = || {
        let line = Line::new(20_000_000, ms(40), 50, 1500);
        let mut world = World::new(Line { loss: 0.001, ..line });
        world.add(xtp(1500), ms(0), FOREVER);
        world.add(tcp(Algorithm::Cubic, 1500), ms(70), FOREVER);
        world.run_until(Instant::ZERO + ms(20_000));
        (world.delivered(), world.dropped)
    };
    assert_eq!(run(), run());
}
