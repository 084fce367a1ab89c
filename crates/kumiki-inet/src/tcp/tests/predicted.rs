//! The short way is the same way: with header prediction and without, all that can be told apart is equal.

use kumiki_graph::Coalesce;
use kumiki_wire::inet::EcnUse;
use proptest::prelude::*;

use super::pair::*;
use super::random::pair as seeded;
use super::random::{Weather, profiles, weather};
use crate::tcp::{Config, Record, defaults};

/// A user writes so much, and then so much time passes.
type Step = (usize, usize, u64);

/// All that can be told of a run: packets and their times, what the users heard and got, counters, records and how the connections stand.
#[derive(PartialEq, Debug)]
struct Told {
    packets: Vec<String>,
    users: Vec<(Vec<String>, Vec<u8>)>,
    counters: Vec<crate::tcp::Counters>,
    records: Vec<Vec<Record>>,
    standing: Vec<String>,
}

/// What is told of a conversation, and how many segments were predicted and how many sent at once.
fn converse(
    configs: [&Config; 2],
    weather: Weather,
    steps: &[Step],
    (batch, predict): (usize, bool),
) -> (Told, [u64; 2]) {
    let [a, b] = configs.map(|config| Config { header_prediction: predict, ..config.clone() });
    let mut pair = seeded(a, b, weather).batch(batch);
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(60_000));
    for &(host, octets, wait) in steps {
        pair.write(host, &numbered(octets));
        pair.run_for(ms(wait));
    }
    pair.run_for(ms(3_000));
    let standing = [A, B].map(|host| format!("{:?}", pair.tcp(host).snapshots().collect::<Vec<_>>()));
    for host in [A, B] {
        if pair.app(host).session.is_some() && !pair.app(host).over {
            pair.release(host);
        }
    }
    pair.run_for(ms(300_000));
    let ways = [A, B].map(|host| pair.tcp(host).predicted());
    let told = Told {
        packets: pair.taken_log(),
        users: [A, B].map(|host| (pair.app(host).heard.clone(), pair.app(host).received.clone())).into(),
        counters: [A, B].map(|host| pair.counters(host)).into(),
        records: [A, B].map(|host| pair.tcp(host).records().map(|(.., record)| record.clone()).collect()).into(),
        standing: standing.into(),
    };
    (told, [ways.iter().map(|way| way.0).sum(), ways.iter().map(|way| way.1).sum()])
}

/// Mostly small writes in turn, as in calls and their answers; some longer than a segment, some while others are under way.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let octets = prop_oneof![4 => 1usize..200, 1 => 200usize..20_000];
    let wait = prop_oneof![4 => 11u64..300, 2 => 0u64..12, 1 => 300u64..5_000];
    prop::collection::vec((0usize..2, octets, wait), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_predicted_changes_nothing(
        a in profiles(),
        b in profiles(),
        weather in weather(),
        calm: bool,
        ecn: bool,
        coalesce in prop::sample::select(&[Coalesce::Never, Coalesce::Nagle, Coalesce::Minshall][..]),
        steps in steps(),
        batch in 1usize..5,
    ) {
        let weather = if calm { Weather { loss: 0.0, duplication: 0.0, reordering: 0.0, ..weather } } else { weather };
        let [a, b] = [a, b].map(|config| Config {
            coalesce,
            ecn: if ecn { EcnUse::Classic } else { config.ecn },
            // A few buffers are too small for the writes, and a handshake of one side may know less than the other's.
            send_buffer: config.send_buffer.max(2_000),
            ..config
        });
        let (with, _) = converse([&a, &b], weather, &steps, (batch, true));
        let (without, ways) = converse([&a, &b], weather, &steps, (batch, false));
        prop_assert_eq!(ways, [0, 0]);
        prop_assert_eq!(with, without);
    }
}

#[test]
fn calls_and_answers_take_the_short_way() {
    let calm = Weather { loss: 0.0, duplication: 0.0, reordering: 0.0, seed: 1 };
    let steps: Vec<Step> = (0..100).map(|n| (n % 2, 64, 20)).collect();
    let config = defaults::modern();
    let (told, [predicted, sent]) = converse([&config, &config], calm, &steps, (1, true));
    // The end of the handshake shows more than data.
    assert!(predicted >= 98 && sent >= 98, "{predicted} of 100 predicted, {sent} sent at once");
    assert_eq!(told.users[A].1.len(), 50 * 64);
}
