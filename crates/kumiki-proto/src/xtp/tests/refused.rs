//! What is refused changes nothing: between any two steps of a transfer come packets that must be refused, and the rest of it is as
//! without them, octet for octet and nanosecond for nanosecond.

use kumiki_graph::Rng;
use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::xtp::{
    self, Control, Diagnosis, Errors, First, Format, Header, Join, Key, Options, Rates, Span,
    Traffic, TrafficControl, code, service,
};
use proptest::prelude::*;

use super::pair::*;
use crate::xtp::{Config, Recovery, congestion};

macro_rules! written {
    ($what:expr) => {{
        let what = &$what;
        let mut out = vec![0; what.len()];
        what.emit(&mut out);
        out
    }};
}

/// Why a packet must be refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// It echoes what nobody asked.
    Echo,
    /// It acknowledges what was never sent; so it does in the exchange of keys.
    Rseq,
    RseqWithKeys,
    /// Its spans are empty, out of order, touch `rseq`, or reach beyond what was sent.
    Empty,
    Crossed,
    Touching,
    Beyond,
    /// It says that the stream ends before what has come.
    Close,
    /// It confirms all that was written before it has been told where that ends, or with less.
    Confirms,
    /// Its data is where nothing may come, or where numbers end.
    Outside,
    Highest,
    /// It is of a group.
    Multi,
    Join,
    /// It begins what has begun, with our key or in the middle.
    FirstOfOurs,
    FirstLater,
    /// A DIAG that is late.
    Late,
    /// It is damaged, or no XTP that we know.
    Damaged,
    Version,
    Cut,
    /// Nobody has its key, or another host sent it.
    Key,
    Host,
}

const ALL: [Why; 21] = [
    Why::Echo,
    Why::Rseq,
    Why::RseqWithKeys,
    Why::Empty,
    Why::Crossed,
    Why::Touching,
    Why::Beyond,
    Why::Close,
    Why::Confirms,
    Why::Outside,
    Why::Highest,
    Why::Multi,
    Why::Join,
    Why::FirstOfOurs,
    Why::FirstLater,
    Why::Late,
    Why::Damaged,
    Why::Version,
    Why::Cut,
    Why::Key,
    Why::Host,
];

/// All that a packet can say of how its sender sends and of the end. It does not ask: the answer would tell our own state earlier.
fn tempting() -> Options {
    Options::NOERR | Options::FASTNAK | Options::RES | Options::NOFLOW | Options::DREQ
}

/// What a stranger who sees the wire knows of a context of `host`.
struct Known {
    key: Key,
    /// All that the peer has sent lies below.
    sent: u64,
    /// What the host has sent, and asked.
    nxt: u64,
    sync: u32,
    /// The host has told where its stream ends.
    closes: bool,
}

fn known(pair: &Pair, host: usize) -> Option<Known> {
    let counted = pair.counters(host);
    if counted.control_received + counted.data_received == 0 || pair.xtp(host).contexts() == 0 {
        return None;
    }
    let of = |from: usize| {
        let log = pair.log.iter();
        log.filter(move |it| it.from == from && !it.is(Format::Diag))
    };
    let returned = |it: &&Packet| it.header.key.is_returned();
    let end = |it: &Packet| it.header.seq + it.data().len() as u64;
    let data = |from: usize| {
        let packets = of(from).filter(|it| it.is(Format::Data) || it.is(Format::First));
        packets.map(end).max().unwrap_or(0)
    };
    Some(Known {
        key: of(1 - host).find(returned)?.header.key,
        sent: data(1 - host),
        nxt: data(host),
        sync: of(host).map(|it| it.header.sync).max().unwrap_or(0),
        closes: of(host).any(|it| it.has(Options::WCLOSE)),
    })
}

impl Why {
    /// Lets such a packet come to `host`. False where there can be none now.
    fn inject(self, pair: &mut Pair, host: usize, draw: u64) -> bool {
        let Some(known) = known(pair, host) else {
            return false;
        };
        let header = Header {
            key: known.key,
            options: tempting(),
            format: Format::Cntl,
            // Nothing new: what it asks would be heard where there is no room for its data.
            sync: 0,
            seq: known.sent + draw % 5000,
            ..Header::default()
        };
        // An echo of 0 is always old, and possible.
        let control = Control {
            rseq: 0,
            alloc: 1 << 40,
            echo: 0,
        };
        let nxt = known.nxt;
        let rates = Rates {
            maxdata: 1,
            inrate: 1,
            inburst: 1,
            ..Rates::default()
        };
        let traffic = Traffic {
            service: service::RELIABLE_STREAM,
            rates: Some(rates),
        };
        let keys = |control| TrafficControl {
            control,
            xkey: Key(draw).own(),
            traffic,
        };
        let with = |format, options| Header {
            format,
            options: header.options | options,
            ..header
        };
        let spans = |spans: &[(u64, u64)]| {
            let spans = spans.iter().map(|&(left, right)| Span { left, right });
            let errors = Errors {
                control,
                spans: spans.collect(),
            };
            (with(Format::Ecntl, Options::END), written!(errors))
        };
        let address = xtp::Address::Ip {
            domain: 0,
            destination: core::net::SocketAddr::new(of_host(host), PORT),
            source: core::net::SocketAddr::new(of_host(1 - host), PORT),
        };
        let (header, payload) = match self {
            Self::Echo => {
                let echo = known.sync.wrapping_add(2000 + draw as u32 % 1000);
                let control = Control {
                    rseq: nxt,
                    echo,
                    ..control
                };
                (with(Format::Cntl, Options::END), written!(control))
            }
            Self::Rseq => {
                // More than any of these transfers has.
                let rseq = 10_000_000 + draw;
                let control = Control { rseq, ..control };
                (with(Format::Cntl, Options::END), written!(control))
            }
            Self::RseqWithKeys => {
                let control = Control {
                    rseq: u64::MAX,
                    ..control
                };
                (with(Format::Tcntl, Options::SREQ), written!(keys(control)))
            }
            Self::Empty => spans(&[(5, 5)]),
            Self::Crossed => spans(&[(9, 12), (5, 7)]),
            Self::Touching => spans(&[(0, 7)]),
            Self::Beyond => spans(&[(1, 10_000_000)]),
            Self::Close if pair.app(host).received.len() > 1 => {
                let header = Header {
                    seq: 1,
                    ..with(Format::Cntl, Options::WCLOSE)
                };
                (header, written!(control))
            }
            Self::Confirms => {
                // What was told and has come may be confirmed.
                let rseq = if known.closes {
                    nxt.wrapping_sub(1)
                } else {
                    nxt
                };
                if known.closes && nxt == 0 {
                    return false;
                }
                let control = Control { rseq, ..control };
                let both = Options::RCLOSE | Options::END;
                (with(Format::Cntl, both), written!(control))
            }
            Self::Outside => {
                let header = Header {
                    seq: 10_000_000 + draw,
                    ..with(Format::Data, Options::EOM)
                };
                let header = Header {
                    // Which would be heard (P36).
                    options: header.options.without(Options::DREQ),
                    ..header
                };
                (header, vec![7; 900])
            }
            Self::Highest => {
                let header = Header {
                    seq: u64::MAX - draw % 900,
                    ..with(Format::Data, Options::EOM)
                };
                let header = Header {
                    // Which would be heard (P36).
                    options: header.options.without(Options::DREQ),
                    ..header
                };
                (header, vec![7; 900])
            }
            Self::Multi => (with(Format::Cntl, Options::MULTI), written!(control)),
            Self::Join => {
                let join = Join {
                    control,
                    xkey: Key(draw).own(),
                    address,
                    traffic,
                };
                (with(Format::Jcntl, Options::NONE), written!(join))
            }
            Self::FirstOfOurs => {
                let first = written!(First { address, traffic });
                let header = Header {
                    seq: 0,
                    ..with(Format::First, Options::WCLOSE)
                };
                (header, first)
            }
            Self::FirstLater => {
                let first = written!(First { address, traffic });
                let header = Header {
                    seq: 1 + draw % 100,
                    ..with(Format::First, Options::WCLOSE)
                };
                (header, [first, vec![7; 100]].concat())
            }
            Self::Late => {
                let late = Diagnosis {
                    code: code::REFUSED,
                    val: 0,
                };
                (with(Format::Diag, Options::NONE), written!(late))
            }
            Self::Damaged | Self::Version | Self::Cut => {
                let header = with(Format::Cntl, Options::END);
                let mut octets = octets_of(header, &written!(control));
                match self {
                    Self::Damaged => octets[40] ^= 1,
                    Self::Version => {
                        octets[11] ^= 0x40;
                        octets[16..18].copy_from_slice(&[0; 2]);
                        let check = kumiki_octets::Sum::of(&octets).checksum();
                        octets[16..18].copy_from_slice(&check.to_be_bytes());
                    }
                    _ => octets.truncate(40),
                }
                pair.deliver(ip(1 - host), host, &octets);
                return true;
            }
            Self::Key => {
                let header = Header {
                    key: Key(known.key.0 ^ 1),
                    ..with(Format::Cntl, Options::END)
                };
                (header, written!(control))
            }
            Self::Host => {
                let octets = octets_of(with(Format::Cntl, Options::END), &written!(control));
                pair.deliver(Address::from(of_host(7)), host, &octets);
                return true;
            }
            Self::Close => return false,
        };
        pair.inject(host, header, &payload);
        true
    }
}

/// What a seed decides about a transfer in both directions over a bad wire.
fn transfer(seed: u64) -> Pair {
    let mut rng = Rng::new(seed, 11);
    let mut config = || Config {
        send_buffer: 2000 + rng.below(30_000) as u32,
        receive_buffer: 2000 + rng.below(30_000) as u32,
        recovery: if rng.chance(0.3) {
            Recovery::GoBack
        } else {
            Recovery::Selective
        },
        congestion: if rng.chance(0.5) {
            congestion::Kind::Off
        } else {
            congestion::Kind::Matched
        },
        ctimer: ms(1000 + rng.below(5000)),
        ..plain()
    };
    let configs = vec![config(), config()];
    let loss = 0.15 * rng.unit();
    let rule = move |packet: &Packet| {
        if packet.is(Format::Diag) {
            // An answer to who was refused reaches nobody, and takes no draw.
            return vec![];
        }
        let late = u64::from(rng.chance(0.2)) * rng.below(20);
        if rng.chance(loss) {
            vec![]
        } else {
            vec![ms(5 + late)]
        }
    };
    let mut pair = Pair::of_many(configs, seed, Box::new(rule));
    let errors = [ErrorControl::Full, ErrorControl::Fast];
    pair.app(A).quality.error_control = Some(errors[seed as usize % 2]);
    pair.listen(B, 5);
    for host in [A, B] {
        for n in 0..20 {
            let data = Message::from_octets(&numbered(100 + 150 * n));
            let tag = (n % 3 == 0).then_some([n as u8; 8]);
            pair.app(host).outbox.push_back((data, tag, true));
        }
        pair.app(host).release_when_sent = true;
    }
    pair.call(A);
    pair
}

/// The transfer of `seed`, with a packet of `foreign` at each step. What crossed the wire besides answers to those, what the
/// applications heard, and how many packets were put in.
fn run(seed: u64, steps: &[u64], foreign: &[(usize, usize, u64)]) -> (Vec<String>, u32) {
    let mut pair = transfer(seed);
    let mut injected = 0;
    for round in 0..4 * steps.len() {
        pair.run_for(Duration::from_micros(steps[round % steps.len()]));
        if let Some(&(why, host, draw)) = foreign.get(round % foreign.len().max(1)) {
            injected += u32::from(ALL[why].inject(&mut pair, host, draw));
        }
    }
    pair.run_for(ms(300_000));
    let mut told: Vec<String> = pair
        .log
        .iter()
        .filter(|it| !it.is(Format::Diag))
        .map(|it| format!("{} {:?} {:02x?}", it.at, it.header, it.payload))
        .collect();
    for host in [A, B] {
        told.extend(pair.heard(host));
        let app = pair.app(host);
        told.push(format!("{:?} {:?} {:?}", app.received, app.ends, app.tags));
    }
    (told, injected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn refused_packets_between_any_two_steps_change_nothing(
        seed in 0u64..10_000,
        steps in prop::collection::vec(1u64..60_000, 10..60),
        foreign in prop::collection::vec((0..ALL.len(), 0usize..2, any::<u32>().prop_map(u64::from)), 1..60),
    ) {
        let (plain, _) = run(seed, &steps, &[]);
        let (disturbed, _) = run(seed, &steps, &foreign);
        for (number, (plain, disturbed)) in plain.iter().zip(&disturbed).enumerate() {
            prop_assert_eq!(plain, disturbed, "packet {}", number);
        }
        prop_assert_eq!(plain.len(), disturbed.len());
    }
}

/// Each reason by itself, at each of many moments: which one it was is then seen at once.
#[test]
fn each_reason_alone_changes_nothing_and_has_its_moments() {
    let steps: Vec<u64> = (0..50).map(|n| 700 + 977 * n).collect();
    let mut injected = [0; ALL.len()];
    for seed in 0..3 {
        let (plain, _) = run(seed, &steps, &[]);
        for (number, why) in ALL.iter().enumerate() {
            for host in [A, B] {
                let (disturbed, count) = run(seed, &steps, &[(number, host, 123)]);
                injected[number] += count;
                let differs = plain.iter().zip(&disturbed).position(|(a, b)| a != b);
                assert!(
                    differs.is_none() && plain.len() == disturbed.len(),
                    "{why:?} to {host}, seed {seed}: packet {differs:?}"
                );
            }
        }
    }
    for (why, count) in ALL.iter().zip(injected) {
        assert!(count > 20, "{why:?}: {count}");
    }
}

/// A context of two in which all is quiet, and the key of packets to B.
fn quiet() -> (Pair, Header) {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(A, &numbered(3000));
    pair.run_for(ms(500));
    pair.news();
    let header = Header {
        key: pair.key(B),
        format: Format::Data,
        ..Header::default()
    };
    (pair, header)
}

#[test]
fn data_without_room_does_not_switch_error_control_off() {
    let (mut pair, header) = quiet();
    let refused = Header {
        options: Options::NOERR | Options::WCLOSE,
        seq: 10_000_000,
        ..header
    };
    pair.inject(B, refused, &[7; 100]);
    assert_eq!(pair.counters(B).no_room, 1);
    // The next packet leaves a gap, which is not passed over.
    let next = Header {
        seq: 4000,
        ..header
    };
    pair.inject(B, next, &[7; 100]);
    assert_eq!(pair.app(B).received.len(), 3000);
    assert_eq!(pair.counters(B).passed_over, 0);
}

#[test]
fn the_question_of_data_without_room_is_answered() {
    let (mut pair, header) = quiet();
    let refused = Header {
        options: Options::SREQ,
        sync: 77,
        seq: 10_000_000,
        ..header
    };
    pair.inject(B, refused, &[7; 100]);
    let news = pair.news();
    assert_eq!(news.len(), 1, "{}", pair.tail());
    assert_eq!((news[0].control().rseq, news[0].control().echo), (3000, 77));
}

#[test]
fn a_second_other_end_takes_the_whole_packet_with_it() {
    let (mut pair, header) = quiet();
    let close = |seq, options| Header {
        format: Format::Cntl,
        options: Options::WCLOSE | options,
        seq,
        ..header
    };
    let payload = written!(Control {
        rseq: 0,
        alloc: 64_000,
        echo: 0
    });
    pair.inject(B, close(4000, Options::NONE), &payload);
    assert_eq!(pair.counters(B).lies, 0);
    pair.inject(B, close(3500, Options::END), &payload);
    assert_eq!((pair.counters(B).lies, pair.xtp(B).contexts()), (1, 1));
    // Who writes 0 there says nothing (P3), and is obeyed in the rest.
    pair.inject(B, close(0, Options::END), &payload);
    assert_eq!((pair.counters(B).lies, pair.xtp(B).contexts()), (1, 0));
}

/// Where the layer below knows no IP, packets are known by the station that sent the first ones: not by who was refused.
#[test]
fn a_refused_packet_does_not_say_where_the_peer_is() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.nameless = true;
    pair.listen(B, 5);
    pair.call(A);
    let lie = Control {
        rseq: 9_000_000,
        alloc: 0,
        echo: 0,
    };
    let header = Header {
        key: pair.log[0].header.key.returned(),
        format: Format::Cntl,
        ..Header::default()
    };
    let octets = octets_of(header, &written!(lie));
    pair.deliver_as(Address::Mac([9; 6]), Address::None, A, &octets);
    assert_eq!(pair.counters(A).lies, 1);
    pair.write(A, &numbered(3000));
    pair.run_for(ms(5000));
    assert_eq!(pair.app(B).received.len(), 3000, "{}", pair.tail());
    assert_eq!(pair.counters(A).strays, 0);
}

#[test]
fn a_call_that_confirms_what_nobody_wrote_takes_no_place() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 5);
    let first = First {
        address: xtp::Address::Ip {
            domain: 0,
            destination: core::net::SocketAddr::new(of_host(B), PORT),
            source: core::net::SocketAddr::new(of_host(A), 7),
        },
        traffic: Traffic {
            service: service::RELIABLE_STREAM,
            rates: None,
        },
    };
    for n in 0..20 {
        let header = Header {
            key: Key(n),
            format: Format::First,
            options: Options::RCLOSE,
            ..Header::default()
        };
        pair.inject(B, header, &written!(first));
    }
    assert_eq!((pair.xtp(B).contexts(), pair.counters(B).offered), (0, 0));
    assert_eq!(pair.news()[0].diagnosis().val, xtp::val::OPTIONS_REFUSED);
}
