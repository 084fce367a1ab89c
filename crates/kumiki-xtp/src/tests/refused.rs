//! What is refused changes nothing: between any two steps of a transfer come packets that must be refused, and the rest
//! of it is as without them, octet for octet and nanosecond for nanosecond.

use kumiki_graph::Rng;
use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::xtp::{
    self, Control, Diagnosis, Errors, First, Format, Header, Join, Key, Options, Rates, Span, Traffic, TrafficControl,
    code, service,
};
use proptest::prelude::*;

use super::pair::*;
use crate::{Config, Recovery, congestion};

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
    /// It acknowledges what was never sent.
    Rseq,
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
    /// A DIAG that is late, or says nothing that we know.
    Late(u32),
    /// It is damaged, or no XTP that we know, or its length is none.
    Damaged,
    Version,
    Cut,
    /// Its segments, or what stands in place of its data, are none.
    Malformed,
    /// Nobody has its key, or another host sent it.
    Key,
    Host,
}

use Format::{Cntl, Data, Diag, Ecntl, Jcntl, Tcntl};

/// Each reason with each packet type that can have it.
const ALL: [(Why, Format); 57] = [
    (Why::Echo, Cntl),
    (Why::Echo, Ecntl),
    (Why::Echo, Tcntl),
    (Why::Rseq, Cntl),
    (Why::Rseq, Ecntl),
    (Why::Rseq, Tcntl),
    (Why::Empty, Ecntl),
    (Why::Crossed, Ecntl),
    (Why::Touching, Ecntl),
    (Why::Beyond, Ecntl),
    (Why::Close, Cntl),
    (Why::Close, Ecntl),
    (Why::Close, Tcntl),
    (Why::Close, Data),
    (Why::Close, Format::First),
    (Why::Confirms, Cntl),
    (Why::Confirms, Ecntl),
    (Why::Confirms, Tcntl),
    (Why::Confirms, Data),
    (Why::Confirms, Format::First),
    (Why::Outside, Data),
    (Why::Highest, Data),
    (Why::Multi, Cntl),
    (Why::Multi, Ecntl),
    (Why::Multi, Tcntl),
    (Why::Multi, Jcntl),
    (Why::Multi, Data),
    (Why::Multi, Format::First),
    (Why::Join, Jcntl),
    (Why::FirstOfOurs, Format::First),
    (Why::FirstLater, Format::First),
    (Why::Late(code::REFUSED), Diag),
    (Why::Late(code::JOIN_REFUSED), Diag),
    (Why::Late(code::REQUEST_REFUSED), Diag),
    (Why::Late(77), Diag),
    (Why::Damaged, Cntl),
    (Why::Damaged, Data),
    (Why::Damaged, Format::First),
    (Why::Damaged, Diag),
    (Why::Version, Cntl),
    (Why::Version, Data),
    (Why::Version, Diag),
    (Why::Cut, Cntl),
    (Why::Cut, Tcntl),
    (Why::Cut, Diag),
    (Why::Malformed, Cntl),
    (Why::Malformed, Ecntl),
    (Why::Malformed, Tcntl),
    (Why::Malformed, Jcntl),
    (Why::Malformed, Format::First),
    (Why::Malformed, Diag),
    (Why::Key, Cntl),
    (Why::Key, Data),
    (Why::Key, Diag),
    (Why::Host, Cntl),
    (Why::Host, Data),
    (Why::Host, Diag),
];

/// What a stranger who sees the wire knows of a context of `host`.
struct Known {
    key: Key,
    /// The peer's own, by which its packets are known as well.
    own: Key,
    /// All that the peer has sent lies below.
    sent: u64,
    /// What the host has sent, and asked.
    nxt: u64,
    sync: u32,
    /// The host has told where its stream ends.
    closes: bool,
    /// The host knows that the other hears it: it tells its key no more (P13).
    shown: bool,
}

fn known(pair: &Pair, host: usize) -> Option<Known> {
    let counted = pair.counters(host);
    if counted.control_received + counted.data_received == 0 || pair.xtp(host).contexts() == 0 {
        return None;
    }
    let of = |from: usize| {
        let log = pair.log.iter();
        log.filter(move |it| it.from == from && !it.is(Diag))
    };
    let returned = |it: &&Packet| it.header.key.is_returned();
    let end = |it: &Packet| it.header.seq + it.data().len() as u64;
    let data = |from: usize| {
        let packets = of(from).filter(|it| it.is(Data) || it.is(Format::First));
        packets.map(end).max().unwrap_or(0)
    };
    Some(Known {
        key: of(1 - host).find(returned)?.header.key,
        own: of(host).find(returned)?.header.key.own(),
        sent: data(1 - host),
        nxt: data(host),
        sync: of(host).map(|it| it.header.sync).max().unwrap_or(0),
        closes: of(host).any(|it| it.has(Options::WCLOSE)),
        shown: of(host).any(|it| it.is(Cntl)),
    })
}

/// All that a packet can say of how its sender sends, ask, and say of the end: what `draw` has of it, END and a
/// question in half of all cases each.
fn tempting(draw: u64, format: Format) -> Options {
    let all = Options::NOERR
        | Options::FASTNAK
        | Options::RES
        | Options::NOFLOW
        | Options::DREQ
        | Options::SREQ
        | Options::EDGE
        | Options::SORT
        | Options::END;
    let data = Options::NOCHECK | Options::EOM | Options::BTAG;
    let of = |draw: u64, options: Options| Options::from_bits(draw as u32 & options.bits());
    let some = of(draw >> 8, all);
    if format == Data { some | of(draw >> 3, data) } else { some }
}

impl Why {
    /// Lets such a packet of type `format` come to `host`. False where there can be none now.
    fn inject(self, format: Format, pair: &mut Pair, host: usize, draw: u64) -> bool {
        let Some(known) = known(pair, host) else {
            return false;
        };
        let nxt = known.nxt;
        let mut options = tempting(draw, format);
        let mut seq = known.sent + draw % 5000;
        // An echo of 0 is always old, and possible.
        let mut control = Control { rseq: 0, alloc: 1 << 40, echo: 0 };
        let mut spans = Vec::new();
        let mut text = vec![7; 1 + (draw % 900) as usize];
        let rates = Rates { maxdata: 1, inrate: 1, inburst: 1, ..Rates::default() };
        let traffic = Traffic { service: service::RELIABLE_STREAM, rates: Some(rates) };
        let address = xtp::Address::Ip {
            domain: 0,
            destination: core::net::SocketAddr::new(of_host(host), PORT),
            source: core::net::SocketAddr::new(of_host(1 - host), PORT),
        };
        let mut diagnosis = Diagnosis {
            // It would end the context.
            code: code::PROTOCOL_ERROR,
            val: 0,
        };
        // A caller is known by either key.
        let mut key = if draw & 1 == 0 { known.key } else { known.own };
        let mut from = ip(1 - host);
        match self {
            Self::Echo => {
                control.rseq = nxt;
                control.echo = known.sync.wrapping_add(2000 + draw as u32 % 1000);
            }
            // More than any of these transfers has.
            Self::Rseq => control.rseq = [10_000_000 + draw, u64::MAX][draw as usize % 2],
            Self::Empty => spans.push((5, 5)),
            Self::Crossed => spans = vec![(9, 12), (5, 7)],
            Self::Touching => spans.push((0, 7)),
            Self::Beyond => spans.push((1, 10_000_000)),
            Self::Close if pair.app(host).received.len() > 1 => {
                options |= Options::WCLOSE;
                (seq, text) = match format {
                    Data => (0, vec![7]),
                    Format::First => (0, vec![]),
                    _ => (1, vec![]),
                };
                if format == Format::First {
                    key = known.own;
                }
            }
            Self::Confirms => {
                options |= Options::RCLOSE;
                // What was told and has come may be confirmed: in a packet that says how much that is.
                let says = matches!(format, Cntl | Ecntl | Tcntl);
                if known.closes && (nxt == 0 || !says) {
                    return false;
                }
                control.rseq = if known.closes { nxt - 1 } else { nxt };
                if format == Format::First {
                    (key, seq) = (known.own, 0);
                }
            }
            // Of a caller that may be another its octets would count (P49).
            Self::Outside | Self::Highest if !known.shown => return false,
            Self::Outside | Self::Highest => {
                seq = if self == Self::Outside { 10_000_000 + draw } else { u64::MAX - draw % 900 };
                // What it asks would be heard (P36).
                options = options.without(Options::DREQ | Options::SREQ | Options::EDGE | Options::END);
                text = vec![7; 900];
            }
            Self::Multi => {
                options |= Options::MULTI;
                if format == Format::First {
                    (key, seq) = (known.own, 0);
                }
            }
            Self::Join => {}
            Self::FirstOfOurs => {
                (key, seq) = (known.key, 0);
                options |= Options::WCLOSE;
            }
            Self::FirstLater => {
                seq = 1 + draw % 100;
                options |= Options::WCLOSE;
            }
            Self::Late(code) => {
                diagnosis.code = code;
                options = Options::NONE;
            }
            Self::Damaged | Self::Version | Self::Cut | Self::Malformed => {
                options = options.without(Options::NOCHECK);
            }
            Self::Key => key = Key(known.key.0 ^ 1),
            Self::Host => (key, from) = (known.key, Address::from(of_host(7))),
            Self::Close => return false,
        }
        let looks = matches!(self, Self::Outside | Self::Highest);
        let header = Header {
            key,
            options,
            format,
            // What it asks would be heard where there is no room for its data.
            sync: if looks { 0 } else { draw as u32 },
            sort: if options.contains(Options::SORT) { 9 } else { 0 },
            seq,
            ..Header::default()
        };
        let mut payload = match format {
            Data => text,
            Format::First => [written!(First { address, traffic }), text].concat(),
            Cntl => written!(control),
            Ecntl => {
                let spans = spans.iter().map(|&(left, right)| Span { left, right });
                let spans = spans.collect();
                written!(Errors { control, spans })
            }
            Tcntl => written!(TrafficControl { control, xkey: Key(draw).own(), traffic }),
            Jcntl => written!(Join { control, xkey: Key(draw).own(), address, traffic }),
            Diag => written!(diagnosis),
        };
        if self == Self::Malformed {
            match format {
                // The number of spans, the format of a segment.
                Ecntl => payload[23] ^= 1,
                Tcntl => payload[35] ^= 4,
                Jcntl => payload[35] ^= 8,
                Format::First => payload[3] ^= 8,
                _ => payload.truncate(7),
            }
        }
        let mut octets = octets_of(header, &payload);
        match self {
            Self::Damaged => octets[xtp::LEN] ^= 1,
            Self::Version => {
                octets[11] ^= 0x40;
                octets[16..18].copy_from_slice(&[0; 2]);
                let covered = xtp::covered(&octets, octets.len()).unwrap();
                let check = kumiki_octets::Sum::of(&octets[..covered]).checksum();
                octets[16..18].copy_from_slice(&check.to_be_bytes());
            }
            Self::Cut => octets.truncate(octets.len() - 1),
            _ => {}
        }
        pair.deliver(from, host, &octets);
        true
    }
}

/// What a seed decides about a transfer in both directions over a bad wire.
fn transfer(seed: u64) -> Pair {
    let mut rng = Rng::new(seed, 11);
    let mut config = || Config {
        send_buffer: 2000 + rng.below(30_000) as u32,
        receive_buffer: 2000 + rng.below(30_000) as u32,
        recovery: if rng.chance(0.3) { Recovery::GoBack } else { Recovery::Selective },
        congestion: if rng.chance(0.5) { congestion::Kind::Off } else { congestion::Kind::Matched },
        ctimer: ms(1000 + rng.below(5000)),
        ..plain()
    };
    let configs = vec![config(), config()];
    let loss = 0.15 * rng.unit();
    let rule = move |packet: &Packet| {
        if packet.is(Diag) {
            // An answer to who was refused reaches nobody, and takes no draw.
            return vec![];
        }
        let late = u64::from(rng.chance(0.2)) * rng.below(20);
        if rng.chance(loss) { vec![] } else { vec![ms(5 + late)] }
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

/// The transfer of `seed`, with a packet of `foreign` at each step. What crossed the wire besides answers to those,
/// what the applications heard, and how many packets were put in.
fn run(seed: u64, steps: &[u64], foreign: &[(usize, usize, u64)]) -> (Vec<String>, u32) {
    let mut pair = transfer(seed);
    let mut injected = 0;
    for round in 0..4 * steps.len() {
        pair.run_for(Duration::from_micros(steps[round % steps.len()]));
        if let Some(&(why, host, draw)) = foreign.get(round % foreign.len().max(1)) {
            let (why, format) = ALL[why];
            injected += u32::from(why.inject(format, &mut pair, host, draw));
        }
    }
    pair.run_for(ms(300_000));
    let mut told: Vec<String> = pair
        .log
        .iter()
        .filter(|it| !it.is(Diag))
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
                let draws = [123, 0xffff_ffff, 0x0034_5678, 0xedcb_a986, 0x8000_4201];
                let (disturbed, count) = run(seed, &steps, &draws.map(|it| (number, host, it)));
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
    let header = Header { key: pair.key(B), format: Data, ..Header::default() };
    (pair, header)
}

#[test]
fn data_without_room_does_not_switch_error_control_off() {
    let (mut pair, header) = quiet();
    let refused = Header { options: Options::NOERR | Options::WCLOSE, seq: 10_000_000, ..header };
    pair.inject(B, refused, &[7; 100]);
    assert_eq!(pair.counters(B).no_room, 1);
    // The next packet leaves a gap, which is not passed over.
    let next = Header { seq: 4000, ..header };
    pair.inject(B, next, &[7; 100]);
    assert_eq!(pair.app(B).received.len(), 3000);
    assert_eq!(pair.counters(B).passed_over, 0);
}

#[test]
fn the_question_of_data_without_room_is_answered() {
    let (mut pair, header) = quiet();
    let refused = Header { options: Options::SREQ, sync: 77, seq: 10_000_000, ..header };
    pair.inject(B, refused, &[7; 100]);
    let news = pair.news();
    assert_eq!(news.len(), 1, "{}", pair.tail());
    assert_eq!((news[0].control().rseq, news[0].control().echo), (3000, 77));
}

#[test]
fn a_second_other_end_takes_the_whole_packet_with_it() {
    let (mut pair, header) = quiet();
    let close = |seq, options| Header { format: Cntl, options: Options::WCLOSE | options, seq, ..header };
    let payload = written!(Control { rseq: 0, alloc: 64_000, echo: 0 });
    pair.inject(B, close(4000, Options::NONE), &payload);
    assert_eq!(pair.counters(B).lies, 0);
    pair.inject(B, close(3500, Options::END), &payload);
    assert_eq!((pair.counters(B).lies, pair.xtp(B).contexts()), (1, 1));
    // Who writes 0 there says nothing (P3), and is obeyed in the rest.
    pair.inject(B, close(0, Options::END), &payload);
    assert_eq!((pair.counters(B).lies, pair.xtp(B).contexts()), (1, 0));
}

/// Where the layer below knows no IP, packets are known by the station that sent the first ones: not by who was
/// refused.
#[test]
fn a_refused_packet_does_not_say_where_the_peer_is() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.nameless = true;
    pair.listen(B, 5);
    pair.call(A);
    let lie = Control { rseq: 9_000_000, alloc: 0, echo: 0 };
    let header = Header { key: pair.log[0].header.key.returned(), format: Cntl, ..Header::default() };
    let octets = octets_of(header, &written!(lie));
    pair.deliver_as(Address::from(MacAddr([9; 6])), Address::NONE, A, &octets);
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
        traffic: Traffic { service: service::RELIABLE_STREAM, rates: None },
    };
    for n in 0..20 {
        let header = Header { key: Key(n), format: Format::First, options: Options::RCLOSE, ..Header::default() };
        pair.inject(B, header, &written!(first));
    }
    assert_eq!((pair.xtp(B).contexts(), pair.counters(B).offered), (0, 0));
    assert_eq!(pair.news()[0].diagnosis().val, xtp::val::OPTIONS_REFUSED);
}

/// Who asks a context that is over hears so; nothing else moves what is left of it, nor what it says.
#[test]
fn a_key_that_is_over_says_the_same_whatever_came_before() {
    let over = |disturb: bool| {
        let (mut pair, header) = quiet();
        pair.release(A);
        pair.release(B);
        pair.run_for(ms(500));
        assert_eq!((pair.xtp(B).contexts(), pair.xtp(B).inactive()), (0, 1));
        pair.news();
        let control = Control { rseq: 77_777, alloc: 1 << 40, echo: 9 };
        for draw in 0..if disturb { 400 } else { 0 } {
            let formats = [Cntl, Ecntl, Tcntl, Jcntl, Data, Format::First, Diag];
            let format = formats[draw as usize % 7];
            let quiet = Options::SREQ | Options::DREQ;
            // Neither a packet that asks nothing, nor one that ends as well, nor a DIAG.
            let options = tempting(draw << 7 | draw, format).without(Options::SORT | quiet);
            let (asks, ends) = (draw % 3 == 0, draw % 3 == 0 || format == Diag);
            let options = options.with_if(asks, Options::SREQ).with_if(ends, Options::END);
            let header = Header { format, options, sync: 1000 + draw as u32, seq: draw, ..header };
            let traffic = Traffic { service: service::RELIABLE_STREAM, rates: None };
            let payload = match format {
                Cntl => written!(control),
                Ecntl => written!(Errors { control, spans: vec![] }),
                Tcntl => written!(TrafficControl { control, xkey: Key(draw), traffic }),
                Diag => written!(Diagnosis { code: code::ABANDONED, val: 0 }),
                _ => vec![7; 80],
            };
            pair.inject(B, header, &payload);
        }
        let told = pair.news().iter().filter(|it| !it.is(Diag)).count();
        assert_eq!(told, 0);
        let question = Header { format: Cntl, options: Options::SREQ, sync: 5, ..header };
        pair.inject(B, question, &written!(control));
        let answer = pair.news();
        assert_eq!(answer.len(), 1);
        let heard = pair.heard(B);
        (answer[0].header, answer[0].payload.clone(), heard, pair.app(B).received.clone())
    };
    assert_eq!(over(false), over(true));
}
