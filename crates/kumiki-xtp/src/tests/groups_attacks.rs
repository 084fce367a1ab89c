//! What is sent to members of a group by those who are none, and by receivers that lie.

use core::net::SocketAddr;

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::xtp::{
    self, Control, Diagnosis, Errors, First, Format, Header, Join, Key, Options, Span, Traffic, code, service, val,
};
use proptest::prelude::*;

use super::groups::{GROUP, hosts, of_group};
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

const RELIABLE: Traffic = Traffic { service: service::RELIABLE_MULTICAST, rates: None };

fn at_group(port: u16, source: usize) -> xtp::Address {
    xtp::Address::Ip {
        domain: 0,
        destination: SocketAddr::new(GROUP.into(), port),
        source: SocketAddr::new(of_host(source), PORT),
    }
}

fn join(port: u16, source: usize, control: Control, xkey: Key) -> Vec<u8> {
    written!(Join { control, xkey, address: at_group(port, source), traffic: RELIABLE })
}

const ROOM: Control = Control { rseq: 0, alloc: 64_000, echo: 1 };

/// Hosts 1 and 2 receive what host 0 sends. The key under which it is asked.
fn sending() -> (Pair, Key) {
    let config = Config { min_receivers: 1, receivers: 8, ..of_group(2) };
    let mut pair = hosts(&config, 2);
    pair.begin_to_transmit(&numbered(20_000));
    pair.run_for(ms(500));
    let joined = pair.log.iter().find(|it| it.is(Format::Jcntl)).unwrap();
    let key = joined.header.key;
    pair.news();
    (pair, key)
}

fn multi(key: Key, format: Format) -> Header {
    Header { key, format, options: Options::MULTI, ..Header::default() }
}

/// The stream goes on, with these receivers.
fn goes_on(mut pair: Pair, receivers: &[usize]) {
    pair.write(0, b"and so on");
    pair.release(0);
    pair.run_for(ms(30_000));
    let tail = pair.tail();
    for &host in receivers {
        let heard = pair.heard(host);
        assert_eq!(heard.last().unwrap(), "closed", "{host} {heard:?}\n{tail}");
        assert!(pair.app(host).received.ends_with(b"and so on"));
    }
    assert_eq!(pair.heard(0).last().unwrap(), "closed", "{tail}");
}

#[test]
fn a_receiver_that_lies_is_put_out_and_not_the_stream() {
    let spans = |spans: &[(u64, u64)]| {
        let spans = spans.iter().map(|&(left, right)| Span { left, right });
        let errors = Errors { control: Control { rseq: 10_000, ..ROOM }, spans: spans.collect() };
        (Format::Ecntl, Options::NONE, written!(errors))
    };
    let cntl = |control: Control| (Format::Cntl, Options::NONE, written!(control));
    let lies = [
        cntl(Control { rseq: 20_001, ..ROOM }),
        cntl(Control { echo: 900, ..ROOM }),
        spans(&[(9000, 9500)]),
        spans(&[(12_000, 12_000)]),
        spans(&[(12_000, 13_000), (12_500, 14_000)]),
        spans(&[(12_000, u64::MAX)]),
        (Format::Cntl, Options::RCLOSE, written!(Control { rseq: 20_000, ..ROOM })),
    ];
    for (format, options, payload) in lies {
        let (mut pair, key) = sending();
        let mut header = multi(key, format);
        header.options |= options;
        let octets = octets_of(header, &payload);
        pair.deliver(ip(2), 0, &octets);
        assert_eq!(pair.counters(0).lies, 1);
        assert_eq!(pair.counters(0).put_out, 1);
        pair.run_for(ms(50));
        assert_eq!(pair.heard(2).last().unwrap(), "aborted: Protocol");
        goes_on(pair, &[1]);
    }
}

#[test]
fn strangers_have_no_say() {
    let (mut pair, key) = sending();
    let shut = Control { rseq: 0, alloc: 0, echo: 1 };
    for options in [Options::NONE, Options::END, Options::SREQ] {
        let mut header = multi(key, Format::Cntl);
        header.options |= options;
        let octets = octets_of(header, &written!(shut));
        pair.deliver(of_host(77).into(), 0, &octets);
    }
    let told = pair.news();
    let told: Vec<_> = told.iter().map(Packet::diagnosis).collect();
    let expected = Diagnosis { code: code::ABANDONED, val: val::UNSPECIFIED };
    assert_eq!(told, [expected], "once in a second, and who goes is let go");
    // And receivers have no data.
    let octets = octets_of(multi(key, Format::Data), b"data");
    pair.deliver(ip(1), 0, &octets);
    assert_eq!((pair.counters(0).strays, pair.counters(0).lies), (3, 1));
    goes_on(pair, &[1, 2]);
}

#[test]
fn a_flood_of_joins_fills_the_list_and_no_more() {
    let (mut pair, key) = sending();
    for n in 0..2000_u16 {
        let [a, b] = n.to_be_bytes();
        let from = core::net::IpAddr::from([10, 9, a, b]);
        let payload = join(PORT, 1, ROOM, Key(n.into()));
        let octets = octets_of(multi(key, Format::Jcntl), &payload);
        pair.deliver(from.into(), 0, &octets);
    }
    let counters = pair.counters(0);
    assert_eq!((counters.joined, counters.refused), (8, 1994));
    assert!(counters.diag_sent <= 100);
    // They answer nothing, and are given up.
    pair.write(0, b"to them too; ");
    pair.run_for(ms(40_000));
    assert_eq!(pair.counters(0).put_out, 6);
    goes_on(pair, &[1, 2]);
}

#[test]
fn who_asks_to_join_what_is_not_there_is_refused() {
    let (mut pair, key) = sending();
    let octets = octets_of(multi(key, Format::Jcntl), &join(PORT + 1, 7, ROOM, Key(5)));
    pair.deliver(of_host(7).into(), 0, &octets);
    let told = pair.news();
    let refused = Diagnosis { code: code::JOIN_REFUSED, val: val::NO_LISTENER };
    assert_eq!(told[0].diagnosis(), refused);
    // A join that claims what was never sent, and one of nobody.
    let beyond = Control { rseq: 90_000, ..ROOM };
    let octets = octets_of(multi(key, Format::Jcntl), &join(PORT, 7, beyond, Key(5)));
    pair.deliver(of_host(7).into(), 0, &octets);
    let octets = octets_of(multi(key, Format::Jcntl), &join(PORT, 7, ROOM, Key(5)));
    pair.deliver(Address::from(GROUP), 0, &octets);
    assert_eq!((pair.counters(0).joined, pair.counters(0).lies), (2, 1));
    goes_on(pair, &[1, 2]);
}

#[test]
fn a_port_that_nobody_sends_to_is_asked_for_once() {
    let mut config = of_group(1);
    (config.rate, config.burst) = (100_000, 5000);
    let mut pair = hosts(&config, 2);
    pair.transmit(&numbered(100_000));
    let (passive, at) = (Mode::Passive { backlog: 5 }, SocketAddr::new(GROUP.into(), 9));
    pair.run_for(ms(100));
    let listener = pair.app(2).session.unwrap();
    let _ = listener;
    pair.ask(2, vec![open(passive, at.into(), Address::NONE)]);
    pair.run_for(ms(2000));
    let asked = pair.log.iter().filter(|it| it.from == 2 && it.is(Format::Jcntl));
    assert_eq!(asked.count(), 1);
    assert_eq!(pair.heard(2).last().unwrap(), "closed");
}

#[test]
fn calls_to_a_group_and_to_a_host_are_not_mixed_up() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.listen(1, 5);
    pair.listen_to_group(1);
    let first = |address| written!(First { address, traffic: Traffic { service: service::UNSPECIFIED, rates: None } });
    let to_host = xtp::Address::Ip {
        domain: 0,
        destination: SocketAddr::new(of_host(1), PORT),
        source: SocketAddr::new(of_host(0), PORT),
    };
    let header = |options| Header { key: Key(1), format: Format::First, options, ..Header::default() };
    let (host, all) = (ip(1), Address::from(GROUP));
    let cases = [
        (Options::MULTI, first(to_host.clone()), host),
        (Options::MULTI, first(at_group(PORT, 0)), host),
        (Options::NONE, first(at_group(PORT, 0)), all),
        (Options::MULTI, first(to_host), all),
        (Options::MULTI, first(at_group(9, 0)), all),
    ];
    for (options, payload, destination) in cases {
        let octets = octets_of(header(options), &payload);
        pair.deliver_as(ip(0), destination, 1, &octets);
    }
    assert_eq!(pair.xtp(1).contexts(), 0);
    assert_eq!(pair.counters(1).refused, 5);
    // Groups are not answered.
    let told = pair.news();
    assert_eq!(told.len(), 1, "once in a second for a key");
    let octets = octets_of(header(Options::MULTI), &first(at_group(PORT, 0)));
    pair.deliver_as(ip(0), all, 1, &octets);
    assert_eq!(pair.xtp(1).contexts(), 1);
}

#[test]
fn multi_on_a_context_of_two_and_none_on_a_groups_change_nothing() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    let key = pair.key(A);
    for format in [Format::Data, Format::Cntl, Format::Jcntl] {
        let payload = match format {
            Format::Jcntl => join(PORT, 1, ROOM, Key(5)),
            _ => written!(ROOM),
        };
        let mut header = multi(key, format);
        header.options |= Options::END;
        pair.inject(A, header, &payload);
    }
    assert_eq!(pair.counters(A).lies, 3);
    assert_eq!(pair.xtp(A).contexts(), 1);
    let (mut pair, key) = sending();
    let mut header = multi(key, Format::Cntl);
    header.options = Options::END;
    pair.deliver(ip(1), 0, &octets_of(header, &written!(ROOM)));
    assert_eq!(pair.counters(0).lies, 1);
    // The group's own key, and data for one of its members alone.
    let of_group = multi(key.own(), Format::Data);
    let octets = octets_of(of_group, b"not from the transmitter");
    pair.deliver(ip(0), 1, &octets);
    assert_eq!(pair.counters(1).lies, 1);
    goes_on(pair, &[1, 2]);
}

#[test]
fn what_is_heard_of_unknown_streams_is_bounded() {
    let mut pair = hosts(&of_group(1), 1);
    pair.listen_to_group(1);
    for n in 0..2000 {
        let octets = octets_of(multi(Key(n), Format::Data), b"data");
        pair.deliver_as(ip(0), Address::from(GROUP), 1, &octets);
    }
    assert_eq!(pair.xtp(1).contexts(), 5);
    pair.run_for(ms(100_000));
    assert_eq!(pair.xtp(1).contexts(), 0);
    assert_eq!(pair.heard(1), Vec::<String>::new());
    let mut pair = hosts(&of_group(1), 1);
    pair.listen_to_group(1);
    pair.app(1).refuse_offers = true;
    pair.call_group(0);
    pair.write(0, b"something");
    pair.run_for(ms(70_000));
    assert_eq!(pair.heard(0).last().unwrap(), "aborted: TimedOut");
    assert_eq!(pair.counters(1).diag_sent, 0);
}

/// Host 7 has joined with `room`, and answers each question: it has all before octet 20,000 and never more, and allows
/// what is before `alloc`. How long it stays.
fn until_put_out(pair: &mut Pair, key: Key, room: Control, alloc: u64) -> Duration {
    let octets = octets_of(multi(key, Format::Jcntl), &join(PORT, 7, room, Key(5)));
    pair.deliver(of_host(7).into(), 0, &octets);
    let start = pair.now;
    for n in 0..2000 {
        if n % 100 == 0 {
            pair.write(0, b"more");
        }
        pair.run_for(ms(50));
        let echo = pair.log.iter().filter(|it| it.from == 0).map(|it| it.header.sync).max();
        let control = Control { rseq: 20_000, alloc, echo: echo.unwrap() };
        let octets = octets_of(multi(key, Format::Cntl), &written!(control));
        pair.deliver(of_host(7).into(), 0, &octets);
        if pair.counters(0).put_out > 0 {
            break;
        }
    }
    pair.now.saturating_since(start)
}

#[test]
fn a_receiver_that_gets_nowhere_is_given_up() {
    let (mut pair, key) = sending();
    let took = until_put_out(&mut pair, key, ROOM, 90_000);
    assert!(took > ms(59_000) && took < ms(70_000), "{took:?}");
    goes_on(pair, &[1, 2]);
}

#[test]
fn a_receiver_that_never_has_room_is_given_up() {
    let (mut pair, key) = sending();
    let room = Control { rseq: 0, alloc: 0, echo: 1 };
    let took = until_put_out(&mut pair, key, room, 20_000);
    assert!(took > ms(59_000) && took < ms(70_000), "{took:?}");
    goes_on(pair, &[1, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Packets of whatever sense, with keys that are known, do no harm to memory or to sanity.
    #[test]
    fn no_packets_make_it_panic(
        packets in prop::collection::vec(
            (0usize..7, any::<u32>(), any::<u32>(), 0u64..30_000, prop::collection::vec(any::<u64>(), 0..12), 0usize..4),
            1..30,
        ),
    ) {
        let formats = [
            Format::Data, Format::Cntl, Format::First, Format::Ecntl, Format::Tcntl, Format::Jcntl, Format::Diag,
        ];
        let (mut pair, key) = sending();
        pair.write(0, &numbered(3000));
        for (format, options, sync, seq, words, how) in packets {
            let (to, destination) = match how {
                0 | 1 => (0, ip(0)),
                2 => (1, Address::from(GROUP)),
                _ => (1, ip(1)),
            };
            let header = Header {
                key: if to == 0 { key } else { key.own() },
                options: Options::from_bits(options).without(Options::SORT).with(Options::MULTI),
                format: formats[format],
                sync: sync % 5,
                seq,
                ..Header::default()
            };
            let payload: Vec<u8> = if formats[format] == Format::Jcntl {
                let [a, b, ..] = words[..] else { continue };
                join(PORT, 1, Control { rseq: a % 30_000, alloc: b % 90_000, echo: sync % 9 }, Key(a))
            } else {
                words.iter().flat_map(|it| (it % 30_000).to_be_bytes()).collect()
            };
            let source = ip(if to == 0 { 1 } else { 0 });
            pair.deliver_as(source, destination, to, &octets_of(header, &payload));
            pair.run_for(ms(3));
        }
        let data = Message::from_octets(b"end");
        pair.app(0).outbox.push_back((data, None, true));
        pair.run_for(ms(300_000));
    }
}
