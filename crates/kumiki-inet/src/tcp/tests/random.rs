//! Whatever the wire does, octets arrive intact and in order, or the connection ends with a reason.

use kumiki_graph::{Instant, Rng};
use kumiki_wire::inet::tcp::{Flags, Header, Options, SackBlock, Seq};
use proptest::prelude::*;

use super::pair::*;
use crate::tcp::config::{LossDetection, RateReduction};
use crate::tcp::congestion::Algorithm;
use crate::tcp::{Config, defaults};

pub(super) fn profiles() -> impl Strategy<Value = Config> {
    const DETECTIONS: [LossDetection; 2] = [LossDetection::Rack, LossDetection::Sack];
    const REDUCTIONS: [RateReduction; 4] =
        [RateReduction::AtOnce, RateReduction::Prr, RateReduction::PrrCrb, RateReduction::PrrSsrb];
    let base =
        prop_oneof![Just(plain()), Just(defaults::modern()), Just(defaults::bsd43()), Just(defaults::solaris23())];
    let congestion = prop_oneof![Just(Algorithm::NewReno), Just(Algorithm::Cubic), Just(Algorithm::Fixed)];
    let sizes = (500u32..100_000, 500u32..100_000, 100u16..9000);
    let recovery = (
        prop::sample::select(&DETECTIONS[..]),
        prop::sample::select(&REDUCTIONS[..]),
        any::<(bool, bool, bool, bool)>(),
    );
    let flags = any::<(bool, bool, bool)>();
    (base, congestion, sizes, flags, recovery).prop_map(
        |(base, congestion, (send, receive, mss), (sack, timestamps, window_scaling), recovery)| {
            let (loss_detection, rate_reduction, flags) = recovery;
            let (pacing, tail_loss_probe, undo, f_rto) = flags;
            Config {
                loss_detection,
                rate_reduction,
                pacing,
                tail_loss_probe,
                undo,
                f_rto,
                congestion,
                send_buffer: send,
                receive_buffer: receive,
                mss: Some(mss),
                sack,
                timestamps,
                window_scaling,
                ..base
            }
        },
    )
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    pub(super) loss: f64,
    pub(super) duplication: f64,
    pub(super) reordering: f64,
    pub(super) seed: u64,
}

pub(super) fn weather() -> impl Strategy<Value = Weather> {
    (0.0..0.15, 0.0..0.1, 0.0..0.4, any::<u64>()).prop_map(|(loss, duplication, reordering, seed)| Weather {
        loss,
        duplication,
        reordering,
        seed,
    })
}

pub(super) fn pair(a: Config, b: Config, weather: Weather) -> Pair {
    let [a, b] = [a, b].map(|config| Config { record: true, ..config });
    let mut rng = Rng::new(weather.seed, 99);
    Pair::seeded(
        a,
        b,
        weather.seed,
        9180,
        Box::new(move |_| {
            let mut fate = Vec::new();
            let copies = 1 + u32::from(rng.chance(weather.duplication));
            for _ in 0..copies {
                if rng.chance(weather.loss) {
                    continue;
                }
                let late = u64::from(rng.chance(weather.reordering)) * rng.below(40);
                fate.push(ms(5 + late));
            }
            fate
        }),
    )
}

fn exchange(pair: &mut Pair, writes: [&[usize]; 2]) {
    pair.listen(B, 5);
    for (host, writes) in [(A, writes[A]), (B, writes[B])] {
        let mut at = 0;
        let octets = numbered(writes.iter().sum());
        for len in writes {
            let write = kumiki_octets::Message::from_octets(&octets[at..at + len]);
            pair.app(host).outbox.push_back(write);
            at += len;
        }
        pair.app(host).release_when_sent = true;
    }
    pair.call(A);
    // Without timestamps, a backed-off RTO of a minute stays until something arrives that was sent once (Karn).
    for _ in 0..300 {
        pair.run_for(ms(30_000));
        if pair.app(A).over && pair.app(B).over {
            break;
        }
    }
}

fn check(pair: &mut Pair, writes: [&[usize]; 2]) {
    let heard = [pair.app(A).heard.clone(), pair.app(B).heard.clone()];
    let timed_out = pair.counters(A).timed_out + pair.counters(B).timed_out > 0;
    let tail = pair.taken_log();
    let tail = tail[tail.len().saturating_sub(40)..].join("\n");
    for (host, writes) in [(B, writes[A]), (A, writes[B])] {
        let expected = numbered(writes.iter().sum());
        let received = &pair.app(host).received;
        assert!(expected.starts_with(received), "wrong octets at {host}");
        if !timed_out {
            assert_eq!(received.len(), expected.len(), "{heard:?}\n{tail}");
        }
    }
    for host in [A, B] {
        for (_, _, record) in pair.tcp(host).records() {
            let limits = &record.limits;
            let mut spans = limits.spans(Instant::ZERO, pair.now);
            let (_, mut end, mut last) = spans.next().unwrap();
            for (since, until, limit) in spans {
                assert!(since == end && until > since && limit != last, "one thing at any time: {limits:?}");
                (end, last) = (until, limit);
            }
            assert!(end <= pair.now);
        }
    }
    for heard in &heard {
        // A caller may give up before the other side has heard of it. Where the acknowledgment of a FIN is lost again
        // and again, the peer's TIME-WAIT may be over first, and the last FIN is answered by a reset: nothing is lost
        // then.
        let in_order =
            |last: &String| last == "closed" || (last == "aborted: Reset" && heard.contains(&"released".into()));
        assert!(heard.is_empty() || timed_out || heard.last().is_some_and(in_order), "{heard:?}\n{tail}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn octets_arrive_intact_and_in_order(
        a in profiles(),
        b in profiles(),
        weather in weather(),
        forth in prop::collection::vec(1usize..20_000, 0..6),
        back in prop::collection::vec(1usize..20_000, 0..6),
        batch in 1usize..5,
    ) {
        let mut pair = pair(a, b, weather).batch(batch);
        exchange(&mut pair, [&forth, &back]);
        check(&mut pair, [&forth, &back]);
    }

    #[test]
    fn the_same_seed_gives_the_same_trace(a in profiles(), b in profiles(), weather in weather()) {
        let run = || {
            let mut pair = pair(a.clone(), b.clone(), weather);
            exchange(&mut pair, [&[30_000], &[5_000]]);
            pair.taken_log()
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn arbitrary_segments_do_no_harm(
        seed: u64,
        steps in prop::collection::vec((any::<(bool, u16, u16, u16, u16, u16)>(), 0usize..1500), 1..60),
    ) {
        let config = Config { trace: true, ..defaults::modern() };
        let calm = Weather { loss: 0.0, duplication: 0.0, reordering: 0.0, seed };
        let mut pair = pair(config.clone(), config, calm).connected();
        pair.write(A, &numbered(30_000));
        for ((to_a, flags, seq, ack, window, extra), len) in steps {
            let to = usize::from(!to_a);
            let mut header = pair.header(1 - to);
            header.flags = Flags::from_bits(flags & !0x2000);
            header.seq = Seq(u32::from(seq).wrapping_sub(3_000));
            header.ack = Seq(u32::from(ack).wrapping_sub(3_000));
            header.window = window;
            header.options = Options {
                mss: (extra & 1 != 0).then_some(extra),
                window_scale: (extra & 2 != 0).then_some(extra as u8),
                timestamps: (extra & 4 != 0).then_some((u32::from(extra) << 16, 7)),
                ..Options::NONE
            };
            if extra & 8 != 0 {
                let left = pair.first[to].unwrap_or_default() + u32::from(seq);
                header.options.sack.push(SackBlock { left, right: left + u32::from(ack) });
            }
            pair.inject(to, header, &numbered(len));
            pair.run_for(ms(u64::from(extra % 50)));
        }
        pair.run_for(ms(200_000));
    }

    #[test]
    fn arbitrary_octets_do_no_harm(seed: u64, octets in prop::collection::vec(any::<u8>(), 0..100)) {
        let mut pair = Pair::new(plain(), plain(), ms(1)).connected();
        let mut data = kumiki_octets::Message::from_octets(&octets);
        if seed & 1 != 0 {
            data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
        }
        pair.deliver(B, data);
        let _ = Header::default();
        pair.run_for(ms(1000));
    }
}
