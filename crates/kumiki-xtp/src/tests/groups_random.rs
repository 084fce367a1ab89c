//! Whatever the wire does to each receiver, it gets every octet from where it begins, or ends with a reason.

use kumiki_graph::*;
use kumiki_octets::Message;

use super::groups::of_group;
use super::pair::*;
use crate::{Config, Recovery, congestion};

/// Host 0 sends to the others, of which the last comes late and the one before may be dead for good from a time on.
struct Case {
    config: Config,
    receivers: usize,
    loss: Vec<f64>,
    duplication: f64,
    reordering: f64,
    delay: Vec<u64>,
    dead: Option<(usize, u64)>,
    late: Option<(usize, u64)>,
    leaves: Option<(usize, u64)>,
    writes: Vec<(usize, bool, bool)>,
    quality: Quality,
}

fn case(rng: &mut Rng) -> Case {
    let receivers = 1 + rng.below(6) as usize;
    let mut config = Config {
        send_buffer: 2000 + rng.below(60_000) as u32,
        receive_buffer: 2000 + rng.below(60_000) as u32,
        recovery: if rng.chance(0.3) { Recovery::GoBack } else { Recovery::Selective },
        reordering: rng.below(4) as u32,
        edge: rng.chance(0.7),
        congestion: if rng.chance(0.5) { congestion::Kind::Off } else { congestion::Kind::Matched },
        slot: Duration::from_micros(rng.below(20_000)),
        ..of_group(1)
    };
    config.tail = Duration::from_micros(rng.below(20_000));
    if rng.chance(0.3) {
        (config.rate, config.burst) = (100_000, 1000 + rng.below(3000) as u32);
    }
    let calm = rng.chance(0.2);
    let factor = if calm { 0.0 } else { 0.15 };
    let late = (receivers > 1 && rng.chance(0.4)).then(|| (receivers, 1 + rng.below(1000)));
    let waited = receivers - usize::from(late.is_some());
    config.min_receivers = waited as u32;
    let some = |rng: &mut Rng, p| {
        let one = waited > 1 && rng.chance(p);
        one.then(|| (1 + rng.below(waited as u64) as usize, 1 + rng.below(1000)))
    };
    let dead = some(rng, 0.2);
    let leaves = some(rng, 0.2);
    if dead.is_some() || leaves.is_some() {
        config.min_receivers = 1;
    }
    Case {
        receivers,
        loss: (0..=receivers).map(|_| factor * rng.unit()).collect(),
        duplication: factor * rng.unit(),
        reordering: 2.0 * factor * rng.unit(),
        delay: (0..=receivers).map(|_| 1 + rng.below(40)).collect(),
        dead,
        late,
        leaves,
        writes: (0..rng.below(30))
            .map(|_| {
                let len = 1 + rng.below(4000) as usize;
                (len, rng.chance(0.3), rng.chance(0.5))
            })
            .collect(),
        quality: Quality {
            check: Some(rng.chance(0.7)),
            error_control: Some(if rng.chance(0.3) { ErrorControl::Fast } else { ErrorControl::Full }),
            ..Quality::default()
        },
        config,
    }
}

/// Runs seed `seed` and gives what was heard at the end, and a number that depends on every octet sent.
fn run(seed: u64) -> (Vec<Vec<String>>, u64) {
    let mut rng = Rng::new(seed, 11);
    let Case { config, receivers, loss, duplication, reordering, delay, dead, late, leaves, writes, quality } =
        case(&mut rng);
    let rule = move |packet: &Packet| {
        let other = packet.from.max(packet.to);
        let now = packet.at.as_nanos() / 1_000_000;
        if dead.is_some_and(|(host, at)| host == other && now >= at) {
            return vec![];
        }
        let copies = 1 + u32::from(rng.chance(duplication));
        let mut fate = Vec::new();
        for _ in 0..copies {
            if !rng.chance(loss[other]) {
                let more = u64::from(rng.chance(reordering)) * rng.below(40);
                fate.push(ms(delay[other] + more));
            }
        }
        fate
    };
    let configs = vec![config; receivers + 1];
    let mut pair = Pair::of_many(configs, seed, Box::new(rule));
    let octets = numbered(150_000);
    let mut at = 0;
    for &(len, tag, end) in &writes {
        let data = Message::from_octets(&octets[at..at + len]);
        let tag = tag.then_some([at as u8; 8]);
        pair.app(0).outbox.push_back((data, tag, end));
        at += len;
    }
    let octets = &octets[..at];
    pair.app(0).quality = quality;
    pair.app(0).release_when_sent = true;
    for host in 1..=receivers {
        if late.is_none_or(|it| it.0 != host) {
            pair.listen_to_group(host);
        }
    }
    pair.call_group(0);
    let mut events: Vec<(u64, usize, bool)> = Vec::new();
    events.extend(late.map(|(host, at)| (at, host, true)));
    events.extend(leaves.map(|(host, at)| (at, host, false)));
    events.sort_unstable();
    for (at, host, comes) in events {
        pair.run_until(Instant::ZERO + ms(at));
        if comes {
            pair.listen_to_group(host);
        } else if !pair.app(host).over && pair.app(host).session.is_some() {
            pair.release(host);
        }
    }
    for _ in 0..100 {
        pair.run_for(ms(10_000));
        if pair.app(0).over {
            break;
        }
    }
    pair.run_for(ms(300_000));
    let tail = pair.tail();
    let heard: Vec<_> = (0..=receivers).map(|host| pair.heard(host)).collect();
    let ends = |host: usize| heard[host].last().map_or("", String::as_str);
    let own = format!("seed {seed}: {heard:?}\n{tail}");
    assert!(ends(0) == "closed" || ends(0).starts_with("aborted"), "{own}");
    for (host, its) in heard.iter().enumerate().skip(1) {
        let app = pair.app(host);
        let gone = |it: &Option<(usize, u64)>| it.is_some_and(|it| it.0 == host);
        let begins = its.iter().find_map(|it| {
            let at = it.strip_prefix("notice: Member(Begins(")?;
            at.strip_suffix("))")?.parse().ok()
        });
        let begins: usize = begins.unwrap_or(0);
        if its.iter().filter(|it| *it == "offered").count() > 1 {
            // It has left or was given up, listens on, and was offered the same once more.
            assert!(dead.is_some() || leaves.is_some(), "{host} {own}");
            continue;
        }
        // Who is not waited for may come too late, or not at all.
        let waited = dead.is_none() && leaves.is_none() && late.is_none();
        assert!(!waited || begins == 0, "{host} {own}");
        assert!(octets[begins..].starts_with(&app.received), "{host} {own}");
        if ends(host) == "closed" && !gone(&leaves) {
            assert!(octets[begins..] == app.received, "{host} {own}");
        } else {
            let never = its.is_empty() && !waited;
            let reason = ends(host).starts_with("aborted") || gone(&leaves) || never;
            assert!(reason, "{host} {own}");
        }
        if begins > 0 {
            continue;
        }
        let mut tags = Vec::new();
        let mut at = 0;
        for &(len, tag, _) in &writes {
            if tag {
                tags.push((at, [at as u8; 8]));
            }
            at += len;
        }
        assert!(tags.starts_with(&app.tags), "{host} {own}");
    }
    for host in 0..=receivers {
        let xtp = pair.xtp(host);
        assert_eq!(xtp.contexts() + xtp.inactive(), 0, "half dead {host} {own}");
        assert_eq!(pair.counters(host).lies, 0, "{host} {own}");
    }
    let listening: Vec<usize> = pair.members.iter().map(|it| it.0).collect();
    assert!(!listening.contains(&0), "{own}");
    let mut hash = 0_u64;
    for packet in &pair.log {
        let header = packet.header;
        for word in [packet.at.as_nanos(), header.key.0, header.seq, header.check.into()] {
            hash = (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(17);
        }
    }
    (heard, hash)
}

#[test]
fn every_receiver_gets_every_octet_or_ends_with_a_reason() {
    let (mut complete, mut others) = (0, 0);
    // The last ones: a receiver that is waited for held up the repair of others, and losses of many a handshake.
    for seed in (0..300).chain([327, 1042, 2732]) {
        let (heard, _) = run(seed);
        for it in &heard[1..] {
            if it.last().is_some_and(|it| it == "closed") {
                complete += 1;
            } else {
                others += 1;
            }
        }
    }
    assert!(others * 8 < complete, "{others} beside {complete}");
}

#[test]
fn a_seed_decides_everything() {
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}
