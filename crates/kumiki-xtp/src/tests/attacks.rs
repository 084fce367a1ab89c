//! What a peer, or somebody who knows a key, may do to us: it is dropped and counted, or the context ends with a
//! reason.

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::xtp::{
    self, Control, Errors, First, Format, Header, Key, Options, Rates, Span, Traffic, code, service, val,
};
use proptest::prelude::*;

use super::pair::*;
use crate::Config;

macro_rules! written {
    ($what:expr) => {{
        let what = &$what;
        let mut out = vec![0; what.len()];
        what.emit(&mut out);
        out
    }};
}

/// A context in which A has sent 5000 octets that nobody has acknowledged, and the header of packets to A.
fn sending() -> (Pair, Header) {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.write(B, b"x");
    pair.run_for(ms(100));
    let key = pair.key(A);
    pair.rule(|_| vec![]);
    pair.write(A, &numbered(5000));
    pair.news();
    let header = Header {
        key,
        format: Format::Cntl,
        sync: pair.log.iter().rfind(|it| it.from == B).unwrap().header.sync,
        seq: 1,
        ..Header::default()
    };
    (pair, header)
}

fn still_works(mut pair: Pair) {
    pair.rule(|_| vec![ms(10)]);
    pair.run_for(ms(20_000));
    assert!(pair.app(B).received == numbered(5000), "{}", pair.tail());
}

#[test]
fn lies_are_dropped_and_said_to_be_so_once() {
    let control = |rseq, alloc, echo| Control { rseq, alloc, echo };
    let spans = |spans: &[(u64, u64)]| {
        let spans = spans.iter().map(|&(left, right)| Span { left, right });
        Errors { control: control(0, 64_000, 1), spans: spans.collect() }
    };
    let cntl = |it: Control| (Format::Cntl, written!(it));
    let ecntl = |it: Errors| (Format::Ecntl, written!(it));
    let lies = [
        cntl(control(5001, 64_000, 1)),
        cntl(control(u64::MAX, u64::MAX, 1)),
        cntl(control(0, 64_000, 900)),
        ecntl(spans(&[(1000, 1000)])),
        ecntl(spans(&[(2000, 1000)])),
        ecntl(spans(&[(0, 1000)])),
        ecntl(spans(&[(3000, 4000), (1000, 2000)])),
        ecntl(spans(&[(1000, 3000), (2000, 4000)])),
        ecntl(spans(&[(1000, 6000)])),
        ecntl(spans(&[(1000, u64::MAX)])),
    ];
    let count = lies.len() as u64;
    let (mut pair, header) = sending();
    for (format, payload) in lies {
        let header = Header { format, ..header };
        pair.inject(A, header, &payload);
    }
    assert_eq!(pair.counters(A).lies, count);
    let said: Vec<_> = pair.news().iter().filter(|it| it.is(Format::Diag)).map(|it| it.diagnosis()).collect();
    assert_eq!(said.len(), 1);
    assert_eq!((said[0].code, said[0].val), (code::PROTOCOL_ERROR, val::INVALID_RETRANSMISSION));
    still_works(pair);
}

#[test]
fn alloc_that_shrinks_is_ignored() {
    let (mut pair, header) = sending();
    for alloc in [100_000, 3000] {
        let control = Control { rseq: 0, alloc, echo: 1 };
        pair.inject(A, header, &written!(control));
    }
    pair.app(A).credit = 0;
    still_works(pair);
}

#[test]
fn a_receiver_that_forgets_what_it_reported_is_sent_it_again() {
    let (mut pair, header) = sending();
    let errors =
        Errors { control: Control { rseq: 0, alloc: 64_000, echo: 1 }, spans: vec![Span { left: 1000, right: 5000 }] };
    let header = Header { format: Format::Ecntl, ..header };
    // None of that has come.
    pair.inject(A, header, &written!(errors));
    still_works(pair);
}

#[test]
fn data_beyond_the_window_and_huge_numbers_find_no_room() {
    let (mut pair, header) = sending();
    let data = |seq| Header { format: Format::Data, seq, ..header };
    for seq in [64_002, 1 << 40, u64::MAX - 3, u64::MAX] {
        pair.inject(A, data(seq), &[7; 1000]);
    }
    assert_eq!(pair.counters(A).no_room, 4);
    assert_eq!(pair.app(A).received, b"x");
    // A close that says another end, and a confirmation of none.
    let close = |seq| Header { options: Options::WCLOSE, seq, ..header };
    let payload = written!(Control { rseq: 0, alloc: 64_000, echo: 1 });
    // A seq of 0 says nothing (P3).
    pair.inject(A, close(0), &payload);
    pair.inject(A, close(50), &payload);
    assert_eq!(pair.counters(A).lies, 0);
    pair.inject(A, close(60), &payload);
    assert_eq!(pair.counters(A).lies, 1);
    let early = Header { options: Options::RCLOSE, ..header };
    pair.inject(A, early, &payload);
    assert_eq!(pair.counters(A).lies, 2);
}

#[test]
fn keys_that_nobody_has_and_wrong_hosts_change_nothing() {
    let (mut pair, header) = sending();
    let other = Header { key: Key(header.key.0 ^ 1), options: Options::END, ..header };
    let payload = written!(Control::default());
    pair.inject(A, other, &payload);
    let end = Header { options: Options::END, ..header };
    let octets = octets_of(end, &payload);
    pair.deliver(Address::from(of_host(7)), A, &octets);
    assert_eq!(pair.counters(A).strays, 2);
    assert_eq!(pair.xtp(A).contexts(), 1);
    still_works(pair);
}

fn first(port: u16, traffic: Traffic) -> First {
    First {
        address: xtp::Address::Ip {
            domain: 0,
            destination: core::net::SocketAddr::new(of_host(B), PORT),
            source: core::net::SocketAddr::new(of_host(A), port),
        },
        traffic,
    }
}

const STREAM: Traffic = Traffic { service: service::RELIABLE_STREAM, rates: None };

#[test]
fn a_flood_of_calls_fills_the_backlog_and_no_more() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).idle = true;
    pair.listen(B, 5);
    for n in 0..2000 {
        let header = Header { key: Key(n), format: Format::First, ..Header::default() };
        pair.inject(B, header, &[written!(first(7, STREAM)), vec![1; 900]].concat());
    }
    assert_eq!(pair.xtp(B).contexts(), 5);
    assert_eq!(pair.counters(B).refused, 1995);
    assert!(pair.counters(B).diag_sent <= 100);
    let said = pair.log.iter().map(|it| it.diagnosis());
    assert!(said.into_iter().all(|it| (it.code, it.val) == (code::REFUSED, val::NO_RESOURCE)));
}

#[test]
fn calls_that_cannot_be_are_refused_with_the_reason() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(B, 50);
    let good = written!(first(7, STREAM));
    let with = |at: usize, to: u8| {
        let mut octets = good.clone();
        octets[at] = to;
        octets
    };
    let no_rates = Traffic { service: 9, rates: Some(Rates::default()) };
    let cases = [
        (with(3, 4), Options::NONE, val::ADDRESS_FORMAT),
        (with(1, 15), Options::NONE, val::MALFORMED_ADDRESS),
        (with(7, 77), Options::NONE, val::MALFORMED_ADDRESS),
        (with(11, 77), Options::NONE, val::MALFORMED_ADDRESS),
        (with(19, 2), Options::NONE, val::TRAFFIC_FORMAT),
        (with(17, 9), Options::NONE, val::MALFORMED_TRAFFIC),
        (good.clone(), Options::MULTI, val::OPTIONS_REFUSED),
        (written!(first(7, no_rates)), Options::NONE, val::NO_PROVIDER),
        (with(12, 1), Options::NONE, val::NO_LISTENER),
    ];
    for (n, (payload, options, expected)) in cases.into_iter().enumerate() {
        let header = Header { key: Key(n as u64), format: Format::First, options, ..Header::default() };
        pair.inject(B, header, &payload);
        let news = pair.news();
        let said = news[0].diagnosis();
        assert_eq!((said.code, said.val), (code::REFUSED, expected), "{n}");
        assert_eq!(news[0].header.key, Key(n as u64).returned());
    }
    assert_eq!(pair.xtp(B).contexts(), 0);
}

#[test]
fn what_makes_no_sense_is_answered_once_and_never_a_diag() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    let header = Header { key: Key(9), format: Format::Data, ..Header::default() };
    let mut octets = octets_of(header, b"data");
    octets[8] = 0x80;
    octets[16..18].copy_from_slice(&[0; 2]);
    let check = kumiki_octets::Sum::of(&octets).checksum();
    octets[16..18].copy_from_slice(&check.to_be_bytes());
    for _ in 0..3 {
        pair.deliver(ip(A), B, &octets);
    }
    let news = pair.news();
    assert_eq!(news.len(), 1);
    assert_eq!(news[0].diagnosis().code, code::PROTOCOL_ERROR);
    octets[20] ^= 1;
    pair.deliver(ip(A), B, &octets);
    assert_eq!(pair.counters(B).malformed, 4);
    let diag = Header { key: Key(9).returned(), format: Format::Diag, ..Header::default() };
    pair.inject(B, diag, &[0; 8]);
    pair.inject(B, diag, &[0; 7]);
    assert_eq!(pair.news().len(), 0);
}

#[test]
fn diag_ends_a_context_with_the_reason_it_gives() {
    let cases = [
        (code::ABANDONED, Some("aborted: Reset")),
        (code::INVALID_CONTEXT, Some("aborted: Reset")),
        (code::PROTOCOL_ERROR, Some("aborted: Protocol")),
        (code::PACKET_SIZE, Some("aborted: Protocol")),
        (code::REFUSED, None),
        (code::REQUEST_REFUSED, None),
        (77, None),
    ];
    for (code, expected) in cases {
        let (mut pair, header) = sending();
        let header = Header { format: Format::Diag, ..header };
        let payload = written!(xtp::Diagnosis { code, val: 0 });
        pair.heard(A);
        pair.inject(A, header, &payload);
        let heard = pair.heard(A);
        assert_eq!(heard.first().map(String::as_str), expected);
    }
}

#[test]
fn a_tiny_maxdata_does_not_make_packets_of_nothing() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).quality.send_buffer = Some(10_000);
    pair.listen(B, 5);
    let rates = Rates { maxdata: 1, inrate: 1, inburst: 1, ..Rates::default() };
    let traffic = Traffic { rates: Some(rates), ..STREAM };
    let header = Header { key: Key(5), format: Format::First, ..Header::default() };
    pair.inject(B, header, &written!(first(9, traffic)));
    pair.rule(|_| vec![]);
    pair.write(B, &numbered(5000));
    pair.run_for(ms(10_000));
    assert!(pair.log.len() < 40, "{}", pair.tail());
}

#[test]
fn icmp_or_the_link_says_that_nobody_is_there() {
    for end in [Problem::Hard { kind: 3, code: 2 }, Problem::NoNeighbour] {
        let mut pair = Pair::with_rule(plain(), plain(), |_| vec![]);
        pair.call(A);
        let octets = octets_of(pair.log[0].header, &pair.log[0].payload);
        let report = |problem| Report::Unreachable {
            source: ip(A),
            destination: ip(B),
            problem,
            start: Message::from_octets(&octets[..8]),
        };
        pair.report(A, report(Problem::Soft { kind: 3, code: 0 }));
        pair.report(A, report(end));
        let heard = pair.heard(A);
        assert_eq!(heard.last().unwrap(), "aborted: Unreachable(Host)");
        assert_eq!(heard.len(), 3);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Packets of whatever sense, with keys that are ours, change nothing that the two ends may not change.
    #[test]
    fn no_packets_make_it_panic(
        packets in prop::collection::vec(
            (0usize..7, any::<u32>(), any::<u32>(), 0u64..9000, prop::collection::vec(any::<u64>(), 0..12), any::<bool>()),
            1..30,
        ),
    ) {
        let formats = [
            Format::Data, Format::Cntl, Format::First, Format::Ecntl, Format::Tcntl, Format::Jcntl, Format::Diag,
        ];
        let config = Config { ctimeout: ms(5000), ..plain() };
        let mut pair = Pair::new(config.clone(), config, ms(10)).connected();
        pair.write(A, &numbered(3000));
        let keys = [pair.key(B), pair.key(A)];
        for (format, options, sync, seq, words, from_b) in packets {
            let host = usize::from(!from_b);
            let header = Header {
                key: keys[1 - host],
                options: Options::from_bits(options).without(Options::SORT),
                format: formats[format],
                sync: sync % 5,
                seq,
                ..Header::default()
            };
            let payload: Vec<u8> = words.iter().flat_map(|it| (it % 10_000).to_be_bytes()).collect();
            pair.inject(host, header, &payload);
            pair.run_for(ms(3));
        }
        pair.run_for(ms(30_000));
    }
}
