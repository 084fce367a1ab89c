//! Whatever the wire does, octets arrive intact and in order, with their messages and tags, or the context ends with a
//! reason.

use kumiki_graph::*;
use kumiki_octets::Message;

use super::pair::*;
use crate::{Config, Recovery, congestion};

/// What a seed decides.
struct Case {
    configs: [Config; 2],
    loss: f64,
    duplication: f64,
    reordering: f64,
    /// Sizes of writes, and whether they have a tag and end a message.
    writes: [Vec<(usize, bool, bool)>; 2],
    quality: Quality,
}

fn case(rng: &mut Rng) -> Case {
    let mut config = || {
        let mut config = Config {
            send_buffer: 500 + rng.below(60_000) as u32,
            receive_buffer: 500 + rng.below(60_000) as u32,
            first_alloc: rng.below(10_000) as u32,
            recovery: if rng.chance(0.3) { Recovery::GoBack } else { Recovery::Selective },
            reordering: rng.below(4) as u32,
            edge: rng.chance(0.7),
            congestion: if rng.chance(0.5) { congestion::Kind::Off } else { congestion::Kind::Matched },
            ..plain()
        };
        config.tail = Duration::from_micros(rng.below(20_000));
        if rng.chance(0.2) {
            (config.rate, config.burst) = (200_000, 1000 + rng.below(3000) as u32);
        }
        config
    };
    let configs = [config(), config()];
    let mut writes = || {
        (0..rng.below(20))
            .map(|_| {
                let len = 1 + rng.below(4000) as usize;
                (len, rng.chance(0.3), rng.chance(0.5))
            })
            .collect()
    };
    let writes = [writes(), writes()];
    let calm = rng.chance(0.2);
    let factor = if calm { 0.0 } else { 1.0 };
    Case {
        configs,
        loss: factor * 0.2 * rng.unit(),
        duplication: factor * 0.1 * rng.unit(),
        reordering: factor * 0.4 * rng.unit(),
        writes,
        quality: Quality {
            check: Some(rng.chance(0.7)),
            error_control: Some(if rng.chance(0.3) { ErrorControl::Fast } else { ErrorControl::Full }),
            flow_control: Some(if rng.chance(0.1) { FlowControl::None } else { FlowControl::Window }),
            ..Quality::default()
        },
    }
}

/// Runs seed `seed` and gives what was heard at the end, and a number that depends on every octet sent.
fn run(seed: u64) -> (Vec<String>, u64) {
    let mut rng = Rng::new(seed, 7);
    let Case { configs, loss, duplication, reordering, writes, quality } = case(&mut rng);
    let rule = move |_: &Packet| {
        let copies = 1 + u32::from(rng.chance(duplication));
        let mut fate = Vec::new();
        for _ in 0..copies {
            if !rng.chance(loss) {
                let late = u64::from(rng.chance(reordering)) * rng.below(40);
                fate.push(ms(5 + late));
            }
        }
        fate
    };
    let mut pair = Pair::of_many(configs.into(), seed, Box::new(rule));
    pair.app(A).quality = quality;
    pair.app(B).quality = quality;
    pair.listen(B, 5);
    for host in [A, B] {
        let octets = numbered(100_000);
        let mut at = 0;
        for &(len, tag, end) in &writes[host] {
            let data = Message::from_octets(&octets[at..at + len]);
            let tag = tag.then_some([at as u8; 8]);
            pair.app(host).outbox.push_back((data, tag, end));
            at += len;
        }
        pair.app(host).release_when_sent = true;
    }
    pair.call(A);
    for _ in 0..200 {
        pair.run_for(ms(10_000));
        if pair.app(A).over && pair.app(B).over {
            break;
        }
    }
    let tail = pair.tail();
    let heard = [pair.heard(A), pair.heard(B)];
    let timed_out = heard.iter().flatten().any(|it| it.starts_with("aborted"));
    for (from, to) in [(A, B), (B, A)] {
        let len: usize = writes[from].iter().map(|it| it.0).sum();
        let app = pair.app(to);
        assert!(numbered(100_000).starts_with(&app.received), "seed {seed}: wrong octets at {to}\n{tail}");
        let (mut ends, mut tags, mut at) = (Vec::new(), Vec::new(), 0);
        for &(len, tag, end) in &writes[from] {
            if tag {
                tags.push((at, [at as u8; 8]));
            }
            at += len;
            if end {
                ends.push(at);
            }
        }
        assert!(ends.starts_with(&app.ends) && tags.starts_with(&app.tags), "seed {seed}: messages at {to}\n{tail}");
        if !timed_out {
            assert_eq!(app.received.len(), len, "seed {seed} {heard:?}\n{tail}");
            assert_eq!((app.ends.len(), app.tags.len()), (ends.len(), tags.len()));
        }
    }
    for heard in &heard {
        let last = heard.last().map(String::as_str);
        assert!(timed_out || last == Some("closed"), "seed {seed} {heard:?}\n{tail}");
    }
    pair.run_for(ms(200_000));
    for host in [A, B] {
        let xtp = pair.xtp(host);
        assert_eq!(xtp.contexts() + xtp.inactive(), 0, "seed {seed}: half dead");
        assert_eq!(pair.counters(host).lies, 0, "seed {seed}\n{tail}");
    }
    let mut hash = 0_u64;
    for packet in &pair.log {
        let header = packet.header;
        for word in [packet.at.as_nanos(), header.key.0, header.seq, header.check.into()] {
            hash = (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(17);
        }
    }
    (heard.concat(), hash)
}

#[test]
fn random_transfers_are_intact_or_end_with_a_reason() {
    let mut aborted = 0;
    for seed in 0..300 {
        let (heard, _) = run(seed);
        aborted += u32::from(heard.iter().any(|it| it.starts_with("aborted")));
    }
    assert!(aborted < 10, "{aborted} of 300 gave up");
}

#[test]
fn a_seed_decides_everything() {
    for seed in 0..10 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}

#[test]
fn without_error_control_messages_come_whole_and_in_order_and_closing_is_reliable() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed, 8);
        let loss = 0.3 * rng.unit();
        let rule = move |_: &Packet| {
            let late = u64::from(rng.chance(0.2)) * rng.below(20);
            if rng.chance(loss) { vec![] } else { vec![ms(5 + late)] }
        };
        let mut pair = Pair::of_many(vec![plain(), plain()], seed, Box::new(rule));
        pair.app(A).quality.error_control = Some(ErrorControl::None);
        pair.app(B).release_when_released = true;
        pair.listen(B, 5);
        for n in 0..100u8 {
            let data = Message::from_octets(&[n; 500]);
            pair.app(A).outbox.push_back((data, Some([n; 8]), true));
        }
        pair.app(A).release_when_sent = true;
        pair.call(A);
        pair.run_for(ms(200_000));
        let tail = pair.tail();
        for host in [A, B] {
            let heard = pair.heard(host);
            assert_eq!(heard.last().unwrap(), "closed", "seed {seed}\n{tail}");
        }
        assert_eq!(pair.counters(A).retransmitted, pair.counters(A).first_sent - 1);
        let app = pair.app(B);
        let tags: Vec<u8> = app.tags.iter().map(|(_, tag)| tag[0]).collect();
        assert!(tags.is_sorted_by(|a, b| a < b), "seed {seed} {tags:?}");
        for ((at, tag), message) in app.tags.iter().zip(app.received.chunks(500)) {
            assert_eq!(at % 500, 0);
            assert!(message.iter().all(|octet| *octet == tag[0]), "seed {seed}");
        }
    }
}

#[test]
fn a_line_that_is_down_for_a_while_is_waited_for() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed, 9);
        let outages: Vec<(u64, u64)> =
            (0..3).map(|n| (n * 60_000 + rng.below(10_000), 1 + rng.below(25_000))).collect();
        let rule = move |packet: &Packet| {
            let at = packet.at.as_nanos() / 1_000_000;
            let down = outages.iter().any(|(from, len)| (*from..from + len).contains(&at));
            if down { vec![] } else { vec![ms(20)] }
        };
        let config = Config { rate: 2000, burst: 1000, ..plain() };
        let mut pair = Pair::of_many(vec![config, plain()], seed, Box::new(rule));
        pair.app(B).release_when_released = true;
        pair.app(A).release_when_sent = true;
        pair.listen(B, 5);
        let data = Message::from_octets(&numbered(200_000));
        pair.app(A).outbox.push_back((data, None, true));
        pair.call(A);
        pair.run_for(ms(400_000));
        let tail = pair.tail();
        assert!(pair.app(B).received == numbered(200_000), "seed {seed}\n{tail}");
        for host in [A, B] {
            let heard = pair.heard(host);
            assert_eq!(heard.last().unwrap(), "closed", "seed {seed}\n{tail}");
        }
    }
}
