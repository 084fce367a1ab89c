//! The short way is the same way: with header prediction and without, all that can be told apart is equal.

use core::net::Ipv4Addr;

use kumiki_graph::{Account, Coalesce, Duration, KeepAlive, Prices, Problem, Quality, Report, Work};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::{Flags, Header};
use kumiki_wire::inet::{EcnUse, SourceRoute};
use proptest::prelude::*;

use super::pair::*;
use super::random::pair as seeded;
use super::random::{Weather, profiles, weather};
use crate::tcp::config::{AckRule, EdgeRule, HalfWindow, PathMtu, WindowUpdate};
use crate::tcp::{Config, Record, Trace, defaults};

/// What happens at a host.
#[derive(Clone, Debug)]
enum HostEvent {
    /// The user writes so much.
    Write(usize),
    /// The user writes so much that is urgent.
    Urge(usize),
    /// The user ends its direction.
    Release,
    /// The user takes no data and no offers any more, or all of them.
    Idle(bool),
    /// The user asks for something else.
    Change(Quality),
    /// Settings are changed.
    Set(AckRule, bool),
    /// A link on the way carries so little from now on, and tells so or not.
    Narrow(u32, bool),
    /// The layer below takes so many segments as one.
    Burst(u32),
    /// The layer below says that there is a problem.
    Soft,
    /// What the peer sends comes by a source route from now on, or no more.
    Route(bool),
    /// A segment comes from somebody else: how it differs from the last one of the peer.
    Forge { flags: u16, seq: i32, ack: i32, stamp: i32, window: u16, octets: usize },
}

/// At this host this happens, and then so much time passes.
type Step = (usize, HostEvent, u64);

/// What a conversation begins with.
#[derive(Clone, Debug)]
struct Scene {
    configs: [Config; 2],
    weather: Weather,
    batch: usize,
    prices: [[u64; 5]; 2],
    free_below: u32,
    /// B takes offers only when it is told to.
    late: bool,
    /// A's sequence numbers go round soon.
    wraps: bool,
}

/// All that can be told of a run: packets and their times, what the users heard and got, counters, records, what work
/// was done, and how the connections stood after each step.
#[derive(PartialEq, Debug)]
struct RunTrace {
    packets: Vec<String>,
    users: Vec<(Vec<String>, Vec<u8>)>,
    counters: Vec<crate::tcp::Counters>,
    records: Vec<Vec<Record>>,
    traces: Vec<Vec<Trace>>,
    ways: Vec<Option<Box<SourceRoute>>>,
    advice: Vec<(usize, bool)>,
    accounts: Vec<Vec<(String, Account)>>,
    standing: Vec<String>,
}

/// What is told of a conversation, and how many segments were predicted and how many sent at once.
fn converse(scene: &Scene, steps: &[Step], predict: bool) -> (RunTrace, [u64; 2]) {
    let mut pair = begin(scene, predict);
    pair.listen(B, 5);
    pair.call(A);
    pair.run_for(ms(60_000));
    let mut standing = Vec::new();
    // Who is asked again and again, or does not agree with the peer on where they are, sends all the time.
    let is_silent = |(_, act, _): &Step| {
        matches!(act, HostEvent::Write(_) | HostEvent::Set(..) | HostEvent::Burst(_) | HostEvent::Soft)
    };
    let is_silent = steps.iter().all(is_silent);
    for (host, act, wait) in steps {
        happen(&mut pair, *host, act);
        pair.run_for(ms(if is_silent { *wait } else { *wait.min(&10_000) }));
        standing.extend([A, B].map(|host| stands(&pair, host)));
    }
    pair.run_for(ms(3_000));
    standing.extend([A, B].map(|host| stands(&pair, host)));
    for host in [A, B] {
        happen(&mut pair, host, &HostEvent::Idle(false));
        happen(&mut pair, host, &HostEvent::Release);
    }
    pair.run_for(ms(300_000));
    let ways = [A, B].map(|host| pair.tcp(host).predicted());
    let accounts = |host: usize| pair.hosts[host].graph.accounts().map(|(name, it)| (name.to_owned(), it)).collect();
    let told = RunTrace {
        accounts: [A, B].map(accounts).into(),
        packets: pair
            .log
            .iter()
            .map(|it| format!("{it} {:?} {:?} {:?} {}", it.at, it.header.options, it.cut, it.whole))
            .collect(),
        users: [A, B].map(|host| (pair.app(host).heard.clone(), pair.app(host).received.clone())).into(),
        counters: [A, B].map(|host| pair.counters(host)).into(),
        records: [A, B].map(|host| pair.tcp(host).records().map(|(.., record)| record.clone()).collect()).into(),
        traces: [A, B].map(|host| pair.tcp(host).traces().map(|(.., trace)| trace.clone()).collect()).into(),
        ways: pair.ways.clone(),
        advice: pair.advice.clone(),
        standing,
    };
    (told, [ways.iter().map(|way| way.0).sum(), ways.iter().map(|way| way.1).sum()])
}

fn begin(scene: &Scene, predict: bool) -> Pair {
    let seeded = || {
        let [a, b] = scene.configs.clone().map(|config| Config { header_prediction: predict, ..config });
        seeded(a, b, scene.weather).batch(scene.batch)
    };
    let mut pair = seeded();
    if scene.wraps {
        let mut before = seeded();
        before.call(A);
        let first = before.first[A].unwrap();
        // The clock of RFC 9293 section 3.4.1.
        pair.run_for(Duration::from_micros(4 * u64::from(0_u32.wrapping_sub(first.0).wrapping_sub(20_000))));
    }
    for host in [A, B] {
        for node in ["app", "tcp"] {
            let mut prices = Prices::default();
            let kinds = [Work::Push, Work::Pop, Work::Send, Work::Deliver, Work::Sum];
            for (work, price) in kinds.into_iter().zip(scene.prices[host]) {
                prices.set(work, price);
            }
            pair.price(host, node, prices);
        }
        pair.hosts[host].graph.set_free_below(scene.free_below);
    }
    pair.app(B).idle = scene.late;
    pair
}

/// All that a host knows of its connections, but for what is only looked at after it was written again.
fn stands(pair: &Pair, host: usize) -> String {
    let tcp = pair.tcp(host);
    let mut known = format!("{:?} {} ", tcp.snapshots().collect::<Vec<_>>(), tcp.held());
    for session in tcp.table.sessions() {
        let all = format!("{session:?}");
        let mut parts = all.split("credible: ");
        known.push_str(parts.next().unwrap());
        known.extend(parts.map(|part| part.split_once(", ").unwrap().1));
    }
    known
}

fn happen(pair: &mut Pair, host: usize, act: &HostEvent) {
    let session = pair.app(host).session.filter(|_| !pair.app(host).over);
    match act {
        HostEvent::Write(octets) => pair.write(host, &numbered(*octets)),
        HostEvent::Urge(octets) if session.is_some() => pair.urge(host, &numbered(*octets)),
        HostEvent::Release if session.is_some() => pair.release(host),
        HostEvent::Change(quality) if session.is_some() => pair.change(host, *quality),
        HostEvent::Idle(true) => pair.app(host).idle = true,
        HostEvent::Idle(false) => {
            pair.app(host).idle = false;
            if session.is_some() {
                pair.take(host, 1_000_000);
            } else if let Some(offer) = pair.app(host).offers.last().copied() {
                pair.app(host).session = Some(offer);
                pair.ask(host, vec![accept(offer)]);
            }
        }
        HostEvent::Urge(_) | HostEvent::Release | HostEvent::Change(_) => {}
        HostEvent::Set(ack, slow_start_after_idle) => {
            let config =
                Config { ack: *ack, slow_start_after_idle: *slow_start_after_idle, ..pair.tcp(host).config().clone() };
            pair.tcp_mut(host).change(&config);
        }
        HostEvent::Narrow(mtu, tells) => pair.narrow = Some(Narrow { mtu: *mtu, tells: tells.then_some(ms(10)) }),
        HostEvent::Burst(burst) => pair.report(host, Report::Limits { unit: 9180 - IP, burst: *burst }),
        HostEvent::Route(routed) => {
            let route = SourceRoute { gateways: vec![Ipv4Addr::new(10, 0, 0, 9)], strict: false };
            pair.return_route = routed.then_some((1 - host, route));
        }
        HostEvent::Soft => {
            if pair.log.iter().any(|packet| packet.from == host) {
                pair.icmp(host, Problem::Soft { code: 0, kind: 3 });
            }
        }
        HostEvent::Forge { flags, seq, ack, stamp, window, octets } => {
            let Some(last) = pair.log.iter().rev().find(|packet| packet.from != host) else {
                return;
            };
            let mut header = last.header;
            header.flags = Flags::from_bits(*flags);
            let next = last.header.seq.advance(last.len());
            header.seq = kumiki_wire::inet::tcp::Seq(next.0.wrapping_add_signed(*seq));
            header.ack = kumiki_wire::inet::tcp::Seq(header.ack.0.wrapping_add_signed(*ack));
            header.window = header.window.wrapping_add(*window);
            header.urgent_pointer = 3;
            if let Some((value, _)) = &mut header.options.timestamps {
                *value = value.wrapping_add_signed(*stamp);
            }
            if header.options.mss.is_some() {
                header.options = kumiki_wire::inet::tcp::Options::NONE;
            }
            raw(pair, host, header, &numbered(*octets));
        }
    }
}

fn raw(pair: &mut Pair, host: usize, header: Header, text: &[u8]) {
    let mut octets = vec![0; header.len()];
    header.emit(&mut octets);
    octets.extend(text);
    let mut data = Message::from_octets(&octets);
    data.meta_mut().checksum = kumiki_octets::Checksum::Verified;
    pair.deliver(host, data);
}

/// Mostly small writes in turn, as in calls and their answers; some longer than a segment, some while others are under
/// way.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let octets = || prop_oneof![8 => 1usize..200, 2 => 200usize..20_000, 1 => 20_000usize..60_000];
    let near = || prop_oneof![6 => Just(0), 2 => -3i32..4, 1 => -70_000..70_000, 1 => any::<i32>()];
    let flags = prop::sample::select(
        &[0x10u16, 0x18, 0x18, 0x18, 0x11, 0x04, 0x14, 0x02, 0x12, 0x30, 0x38, 0x00, 0x50, 0xc2][..],
    );
    let forged = (
        flags,
        near(),
        near(),
        near(),
        prop_oneof![3 => Just(0), 1 => any::<u16>()],
        prop_oneof![2 => Just(0usize), 4 => 0usize..3000, 1 => 0usize..90_000],
    );
    let quality = (0..8, 0u32..30_000).prop_map(|(what, much)| {
        let time = ms(u64::from(much) + 1);
        let keep_alive = KeepAlive { idle: time + ms(1_000), interval: time, count: 3 };
        let quality = Quality::default();
        match what {
            0 => Quality { coalesce: Some(Coalesce::Never), ..quality },
            1 => Quality { coalesce: Some(Coalesce::Nagle), ..quality },
            2 => Quality { coalesce: Some(Coalesce::Minshall), ..quality },
            3 => Quality { keep_alive: Some(keep_alive), ..quality },
            4 => Quality { user_timeout: Some(time), ..quality },
            5 => Quality { send_buffer: Some(much + 1), ..quality },
            6 => Quality { receive_buffer: Some(much + 1), ..quality },
            _ => Quality { half_close: Some(false), ..quality },
        }
    });
    let act = prop_oneof![
        40 => octets().prop_map(HostEvent::Write),
        1 => octets().prop_map(HostEvent::Urge),
        1 => Just(HostEvent::Release),
        2 => any::<bool>().prop_map(HostEvent::Idle),
        3 => quality.prop_map(HostEvent::Change),
        1 => (rules(), any::<bool>()).prop_map(|(rule, restart)| HostEvent::Set(rule, restart)),
        1 => (500u32..9200, any::<bool>()).prop_map(|(mtu, tells)| HostEvent::Narrow(mtu, tells)),
        1 => (1u32..50).prop_map(HostEvent::Burst),
        1 => Just(HostEvent::Soft),
        2 => any::<bool>().prop_map(HostEvent::Route),
        8 => forged.prop_map(|(flags, seq, ack, stamp, window, octets)| HostEvent::Forge { flags, seq, ack, stamp, window, octets }),
    ];
    // The longest of them is longer than TS.Recent is good for.
    let wait = prop_oneof![80 => 11u64..300, 40 => 0u64..12, 20 => 300u64..5_000, 2 => Just(25 * 24 * 3_600_000)];
    prop::collection::vec((0usize..2, act, wait), 1..60)
}

fn rules() -> impl Strategy<Value = AckRule> {
    (0u32..4, any::<bool>(), any::<bool>()).prop_map(|(every, count_small, pushed)| AckRule {
        every,
        count_small,
        pushed,
    })
}

/// `config` with what else there is to choose.
fn chosen(config: Config) -> impl Strategy<Value = Config> {
    let paths = [PathMtu::Off, PathMtu::Icmp, PathMtu::ProbeOnBlackHole, PathMtu::Probe];
    let ecn = [EcnUse::Off, EcnUse::Off, EcnUse::Off, EcnUse::Classic, EcnUse::Accurate];
    let coalesce = [Coalesce::Never, Coalesce::Nagle, Coalesce::Minshall];
    (
        (
            prop::sample::select(Vec::from(paths)),
            prop::sample::select(Vec::from(ecn)),
            prop::sample::select(Vec::from(coalesce)),
        ),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        prop::sample::select(vec![0u32, 0, 0, 100, 1000]),
        prop::sample::select(vec![0u64, 0, 0, 20_000, 60_000]),
        prop::option::weighted(0.2, 100u64..100_000),
        prop::sample::select(vec![HalfWindow::Off, HalfWindow::Rfc, HalfWindow::Always]),
        prop::sample::select(vec![EdgeRule::Rfc, EdgeRule::Bsd]),
        rules(),
        prop_oneof![1 => Just((0u32, 0u32)), 8 => (0u32..4, 0u32..60)],
        prop::sample::select(vec![0u32, 1, 3]),
        prop::sample::select(vec![0u32, 20_000]),
    )
        .prop_map(
            move |(words, flags, granularity, memory, timeout, half_window, edge, ack, update, duplicates, grows)| {
                let (keep_alive, option, hystart, restart, plain_pace) = flags;
                // It has everything go the long way.
                let trace = update == (0, 0);
                Config {
                    path_mtu: words.0,
                    ecn: words.1,
                    coalesce: words.2,
                    path_mtu_raise: ms(5_000),
                    keep_alive,
                    trace,
                    keep_alive_times: KeepAlive { idle: ms(700_000), interval: ms(75_000), count: 3 },
                    user_timeout_option: option,
                    hystart,
                    slow_start_after_idle: restart,
                    pacing: config.pacing && !plain_pace,
                    send_granularity: granularity,
                    memory,
                    user_timeout: timeout.map(ms),
                    half_window,
                    edge,
                    ack: if ack.every == 0 { config.ack } else { ack },
                    window_update: WindowUpdate { segments: update.0, percent: update.1 },
                    duplicate_threshold: duplicates,
                    max_send_buffer: grows * 10,
                    max_receive_buffer: grows * 10,
                    // A few buffers are too small for the writes, and a handshake of one side may know less than the
                    // other's.
                    send_buffer: config.send_buffer.max(2_000),
                    ..config.clone()
                }
            },
        )
}

fn scenes() -> impl Strategy<Value = Scene> {
    let config = || profiles().prop_flat_map(|config| prop_oneof![chosen(config.clone()), Just(config)]);
    let price = || prop_oneof![1 => Just([0; 5]), 1 => prop::array::uniform5(0u64..3_000_000_000)];
    let weather = (weather(), any::<bool>()).prop_map(|(weather, calm)| {
        if calm { Weather { loss: 0.0, duplication: 0.0, reordering: 0.0, ..weather } } else { weather }
    });
    let late = prop::bool::weighted(0.2);
    let free_below = prop::sample::select(vec![0u32, 0, 100, 1000]);
    ([config(), config()], weather, 1usize..5, [price(), price()], free_below, late, any::<bool>()).prop_map(
        |(configs, weather, batch, mut prices, free_below, late, wraps)| {
            // An octet is summed in a thousandth of what a segment takes.
            for prices in &mut prices {
                prices[4] /= 1_000;
            }
            Scene { configs, weather, batch, prices, free_below, late, wraps }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_predicted_changes_nothing(scene in scenes(), steps in steps()) {
        let (with, _) = converse(&scene, &steps, true);
        let (without, short) = converse(&scene, &steps, false);
        prop_assert_eq!(short, [0, 0]);
        let RunTrace { packets, users, counters, records, traces, ways, advice, accounts, standing } = without;
        prop_assert_eq!(with.users, users);
        prop_assert_eq!(with.packets, packets);
        prop_assert_eq!(with.counters, counters);
        prop_assert_eq!(with.accounts, accounts);
        prop_assert_eq!(with.records, records);
        prop_assert_eq!(with.traces, traces);
        prop_assert_eq!((with.ways, with.advice), (ways, advice));
        for (at, (with, without)) in with.standing.iter().zip(&standing).enumerate() {
            prop_assert_eq!(with, without, "after step {} at {}", at / 2, at % 2);
        }
    }
}

#[test]
fn calls_and_answers_take_the_short_way() {
    let weather = Weather { loss: 0.0, duplication: 0.0, reordering: 0.0, seed: 1 };
    let steps: Vec<Step> = (0..100).map(|n| (n % 2, HostEvent::Write(64), 20)).collect();
    let configs = [defaults::modern(), defaults::modern()];
    let scene = Scene { configs, weather, batch: 1, prices: [[0; 5]; 2], free_below: 0, late: false, wraps: false };
    let (told, [predicted, sent]) = converse(&scene, &steps, true);
    // The end of the handshake shows more than data.
    assert!(predicted >= 98 && sent >= 98, "{predicted} of 100 predicted, {sent} sent at once");
    assert_eq!(told.users[A].1.len(), 50 * 64);
}
