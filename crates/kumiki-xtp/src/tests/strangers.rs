//! Callers that may not be who they say they are (P49), and what is kept of them before anybody accepts.

use kumiki_graph::*;
use kumiki_octets::Message;
use kumiki_wire::xtp::{self, Control, First, Format, Header, Key, LEN, Options, Traffic, TrafficControl, service};
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

/// What FIRST without data and with the shortest segments has: of all packets that begin something it is the shortest.
fn call() -> Vec<u8> {
    written!(First {
        address: xtp::Address::Ip {
            domain: 0,
            destination: core::net::SocketAddr::new(of_host(B), PORT),
            source: core::net::SocketAddr::new(of_host(A), 7),
        },
        traffic: Traffic { service: service::RELIABLE_STREAM, rates: None },
    })
}

fn header(format: Format, options: Options, seq: u64) -> Header {
    Header { key: Key(77), format, options, sync: 1, seq, ..Header::default() }
}

fn octets(packet: &Packet) -> u64 {
    (LEN + packet.payload.len()) as u64
}

/// Octets of all packets that B has sent.
fn sent_by_b(pair: &Pair) -> u64 {
    let sent = pair.log.iter().filter(|it| it.from == B);
    sent.map(octets).sum()
}

/// B listens and answers whoever calls with `answer` octets. What it sends reaches nobody.
fn forged(config: Config, answer: usize) -> Pair {
    let mut pair = Pair::with_rule(plain(), config, |_| vec![]);
    pair.listen(B, 5);
    pair.app(B).outbox.push_back((Message::from_octets(&numbered(answer)), None, true));
    pair.app(B).release_when_sent = true;
    pair
}

#[test]
fn a_forged_caller_gets_three_times_what_it_sent_and_is_given_up() {
    for (answer, lazy) in [(50_000, false), (90, false), (1, true), (0, true)] {
        let mut pair = forged(plain(), answer);
        if lazy {
            // Nothing is written: all that B sends it sends by itself.
            pair.app(B).outbox.clear();
            pair.app(B).release_when_sent = false;
        }
        let first = call();
        let came = (LEN + first.len()) as u64;
        pair.inject(B, header(Format::First, Options::SREQ, 0), &first);
        pair.run_for(ms(1000 * 600));
        let sent = sent_by_b(&pair);
        assert!((88..=3 * came).contains(&sent), "{answer}: {sent} for {came}\n{}", pair.tail());
        assert_eq!(pair.xtp(B).contexts(), 0, "{answer}");
        assert_eq!(pair.counters(B).timed_out, 1, "{answer}");
    }
}

#[test]
fn without_the_limit_a_forged_caller_gets_all_that_may_be_sent_unasked() {
    let config = Config { amplification: 0, ..plain() };
    let mut pair = forged(config, 50_000);
    pair.inject(B, header(Format::First, Options::SREQ, 0), &call());
    pair.run_for(ms(1000));
    assert!(sent_by_b(&pair) > 50_000);
}

/// An exchange of a request and an answer of so many octets over a wire of 10 ms: after how long the caller has the
/// answer, in ms.
fn exchange(request: usize, answer: usize, amplification: u32) -> u64 {
    let config = Config { amplification, ..plain() };
    let mut pair = Pair::new(plain(), config, ms(10));
    pair.listen(B, 5);
    let data = Message::from_octets(&numbered(answer));
    pair.app(B).outbox.push_back((data, None, true));
    let Request::Open(mut open) = open(Mode::Active, Address::NONE, address(B, PORT)) else {
        return 0;
    };
    open.data = Some(Message::from_octets(&numbered(request)));
    pair.ask(A, vec![Request::Open(open)]);
    for step in 1.. {
        pair.run_for(ms(1));
        if pair.app(A).received.len() == answer {
            return step;
        }
        assert!(step < 1000, "{}", pair.tail());
    }
    0
}

#[test]
fn an_answer_that_fits_costs_nothing_and_any_other_one_round_trip() {
    for request in [0, 1, 100, 900] {
        // 40 octets of segments, and 88 of TCNTL.
        let fits = 3 * (LEN + 40 + request) - 88 - LEN;
        let fits = if fits > DATA { DATA } else { fits };
        assert_eq!(exchange(request, fits, 0), 20, "{request}");
        assert_eq!(exchange(request, fits, 3), 20, "{request}");
        assert_eq!(exchange(request, 40_000, 0), 20, "{request}");
        assert_eq!(exchange(request, 40_000, 3), 40, "{request}");
    }
}

/// Data does not take what the key needs that would make an end of it.
#[test]
fn with_any_factor_an_answer_takes_few_packets() {
    for amplification in 1..10 {
        let config = Config { amplification, ..plain() };
        let mut pair = Pair::new(plain(), config, ms(1));
        pair.listen(B, 5);
        let data = Message::from_octets(&numbered(20_000));
        pair.app(B).outbox.push_back((data, None, true));
        pair.call(A);
        pair.run_for(ms(5000));
        assert_eq!(pair.app(A).received.len(), 20_000, "{amplification}");
        assert!(pair.log.len() < 50, "{amplification}:\n{}", pair.tail());
    }
}

#[test]
fn who_uses_our_key_has_heard_us() {
    let mut pair = forged(plain(), 50_000);
    pair.inject(B, header(Format::First, Options::SREQ, 0), &call());
    pair.run_for(ms(10));
    let told = pair.log.iter().find(|it| it.is(Format::Tcntl)).unwrap();
    let xkey = TrafficControl::parse(&told.payload).unwrap().xkey;
    // Nobody else can: not with the place alone.
    let answer = |key: Key| {
        let control = Control { rseq: 0, alloc: 64_000, echo: 1 };
        let header = Header { key: key.returned(), ..header(Format::Cntl, Options::NONE, 0) };
        (header, written!(control))
    };
    let before = sent_by_b(&pair);
    let (wrong, payload) = answer(Key(xkey.0 ^ 1));
    pair.inject(B, wrong, &payload);
    pair.run_for(ms(10));
    let news = pair.log.iter().rev().find(|it| it.from == B).unwrap();
    assert!(news.is(Format::Diag) && sent_by_b(&pair) == before + octets(news));
    let (right, payload) = answer(xkey);
    pair.inject(B, right, &payload);
    pair.run_for(ms(10));
    assert!(sent_by_b(&pair) > 50_000, "{}", pair.tail());
}

#[test]
fn what_comes_more_is_worth_three_times_as_much_and_what_is_refused_nothing() {
    let mut pair = forged(plain(), 50_000);
    pair.inject(B, header(Format::First, Options::SREQ, 0), &call());
    pair.run_for(ms(10));
    let before = sent_by_b(&pair);
    // It confirms what it cannot know of.
    let lie = written!(Control { rseq: 900_000, alloc: 0, echo: 0 });
    pair.inject(B, header(Format::Cntl, Options::SREQ, 0), &lie);
    assert_eq!(pair.counters(B).lies, 1);
    let diag = pair.log.last().map_or(0, octets);
    pair.run_for(ms(10));
    assert_eq!(sent_by_b(&pair), before + diag);
    // Three times that is a packet and a bit: little by little nothing goes.
    for (octets, expected) in [(68, 0), (400, 1032)] {
        let before = sent_by_b(&pair);
        pair.inject(B, header(Format::Data, Options::NONE, 0), &vec![7; octets]);
        pair.run_for(ms(10));
        let more = sent_by_b(&pair) - before;
        assert_eq!(more, expected, "{octets}\n{}", pair.tail());
    }
    // What finds no room has come as well.
    let before = (sent_by_b(&pair), pair.counters(B).no_room);
    pair.inject(B, header(Format::Data, Options::NONE, 1 << 40), &[7; 400]);
    pair.run_for(ms(10));
    let after = (sent_by_b(&pair), pair.counters(B).no_room);
    assert_eq!((after.0 - before.0, after.1 - before.1), (1032, 1), "{}", pair.tail());
}

/// An answer to all that was asked need not show the key, and data that does not fit waits for that: it is asked for.
#[test]
fn where_data_waits_for_a_caller_to_be_known_it_is_asked() {
    let mut pair = forged(plain(), 50_000);
    pair.inject(B, header(Format::First, Options::SREQ, 0), &call());
    pair.run_for(ms(10));
    let last = pair.news().pop().unwrap();
    let rseq = last.header.seq + last.data().len() as u64;
    let answer = written!(Control { rseq, alloc: 64_000, echo: last.header.sync });
    for _ in 0..2 {
        pair.inject(B, header(Format::Cntl, Options::NONE, 0), &answer);
    }
    pair.run_for(ms(20));
    let news = pair.news();
    let questions = news.iter().filter(|it| it.from == B && it.has(Options::SREQ));
    assert_eq!(questions.count(), 1, "{}", pair.tail());
    assert!(news.iter().all(|it| it.is(Format::Tcntl)), "{}", pair.tail());
}

/// However the packets of the exchange are lost, it goes on: nobody waits for the other one.
#[test]
fn any_two_packets_may_be_lost_and_the_answer_comes() {
    for one in 0..12 {
        for other in one..12 {
            let mut number = 0;
            let rule = move |_: &Packet| {
                number += 1;
                if number - 1 == one || number - 1 == other { vec![] } else { vec![ms(10)] }
            };
            let mut pair = Pair::with_rule(plain(), plain(), rule);
            pair.listen(B, 5);
            let data = Message::from_octets(&numbered(20_000));
            pair.app(B).outbox.push_back((data, None, true));
            pair.call(A);
            pair.run_for(ms(12_000));
            assert_eq!(pair.app(A).received.len(), 20_000, "{one} {other}\n{}", pair.tail());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a caller sends under its own key, it gets no more than three times as much.
    #[test]
    fn no_packets_of_a_stranger_get_more_than_three_times_their_octets(
        packets in prop::collection::vec(
            (0usize..6, any::<u32>(), 0u64..5000, prop::collection::vec(any::<u8>(), 0..200), 0u64..3000),
            1..40,
        ),
        answer in 0usize..60_000,
    ) {
        let formats = [
            Format::Data, Format::Cntl, Format::First, Format::Ecntl, Format::Tcntl, Format::Data,
        ];
        let mut pair = forged(plain(), answer);
        let first = call();
        let mut came = (LEN + first.len()) as u64;
        pair.inject(B, header(Format::First, Options::SREQ, 0), &first);
        for (format, options, seq, payload, wait) in packets {
            let options = Options::from_bits(options)
                .without(Options::SORT | Options::MULTI | Options::END | Options::BTAG);
            let mut header = header(formats[format], options, seq);
            header.sync = options.bits() & 7;
            let payload = match header.format {
                Format::Cntl => written!(Control { rseq: 0, alloc: seq, echo: 0 }),
                Format::First => [first.clone(), payload].concat(),
                _ => payload,
            };
            came += (LEN + payload.len()) as u64;
            pair.inject(B, header, &payload);
            pair.run_for(ms(wait));
            prop_assert!(sent_by_b(&pair) <= 3 * came, "{} for {came}\n{}", sent_by_b(&pair), pair.tail());
        }
        pair.run_for(ms(1000 * 400));
        prop_assert!(sent_by_b(&pair) <= 3 * came, "{} for {came}\n{}", sent_by_b(&pair), pair.tail());
    }
}

/// B is called by somebody who sends `count` packets of `len` octets, and takes its time to accept.
fn undecided(count: u64, len: usize, from: u64) -> Pair {
    let mut pair = Pair::with_rule(plain(), plain(), |_| vec![]);
    pair.app(B).idle = true;
    pair.listen(B, 5);
    pair.inject(B, header(Format::First, Options::SREQ, 0), &call());
    for n in 0..count {
        let seq = from + n * (len as u64);
        pair.inject(B, header(Format::Data, Options::NONE, seq), &vec![7; len]);
    }
    pair
}

#[test]
fn before_anybody_accepts_tiny_packets_are_as_few_as_large_ones() {
    // 64,000 octets of room: 128 pieces, in order or not.
    for from in [0, 5] {
        let pair = undecided(10_000, 1, from);
        assert_eq!(pair.counters(B).no_room, 10_000 - 128);
        assert_eq!(pair.xtp(B).held().1, 128);
    }
    // Of packets of a fair size octets decide.
    let mut pair = undecided(100, 900, 0);
    assert_eq!(pair.xtp(B).held().1, 64_000);
    // What was dropped comes again when somebody has accepted.
    let session = pair.app(B).offers[0];
    pair.app(B).session = Some(session);
    pair.ask(B, vec![app::accept(session, Quality::default())]);
    pair.run_for(ms(10));
    assert_eq!(pair.app(B).received.len(), 64_000);
    pair.inject(B, header(Format::Data, Options::NONE, 64_000), &[7; 500]);
    assert_eq!(pair.app(B).received.len(), 64_500);
}

#[test]
fn tiny_packets_before_the_call_is_accepted_are_all_there_in_the_end() {
    let config = Config { send_buffer: 4000, ..plain() };
    let mut pair = Pair::new(config, plain(), ms(10));
    pair.app(B).idle = true;
    pair.listen(B, 5);
    pair.call(A);
    for n in 0..1000_usize {
        let data = Message::from_octets(&numbered(1000)[n..=n]);
        pair.app(A).outbox.push_back((data, None, true));
    }
    pair.ask(A, Vec::new());
    pair.run_for(ms(500));
    assert!(pair.counters(B).no_room > 0);
    let session = pair.app(B).offers[0];
    pair.app(B).session = Some(session);
    pair.ask(B, vec![app::accept(session, Quality::default())]);
    pair.run_for(ms(60_000));
    assert!(pair.app(B).received == numbered(1000), "{}", pair.tail());
    assert_eq!(pair.app(B).ends.len(), 1000);
}

/// FIRST of a caller with this key, and data ahead of its turn.
fn calls_and_sends_ahead(pair: &mut Pair, key: u64) {
    let first = Header { key: Key(key), ..header(Format::First, Options::SREQ, 0) };
    pair.inject(B, first, &call());
    for n in 1..20 {
        let data = Header { key: Key(key), ..header(Format::Data, Options::NONE, n * 1024) };
        pair.inject(B, data, b"x");
    }
}

#[test]
fn what_all_contexts_hold_is_bounded_and_who_calls_when_there_is_room_again_gets_in() {
    let config = Config { memory: 1 << 20, ..plain() };
    let mut pair = Pair::new(plain(), config, ms(10));
    pair.listen(B, 10_000);
    pair.app(B).idle = true;
    for key in 1..2000 {
        calls_and_sends_ahead(&mut pair, key);
    }
    let (contexts, counters) = (pair.xtp(B).contexts(), pair.counters(B));
    assert!((10..1000).contains(&contexts), "{contexts}");
    assert!(counters.out_of_memory > 1000 && counters.diag_sent == 0, "{counters:?}");
    // An honest caller is not refused, and gets in when those who do not answer have been given up.
    pair.app(B).idle = false;
    pair.write(A, b"hello");
    pair.call(A);
    pair.run_for(ms(1000));
    assert_eq!(pair.heard(A), ["opened"]);
    let gone: Vec<Handle> = pair.app(B).offers.clone();
    for session in gone {
        let (reason, data) = (Reason::User, None);
        pair.ask(B, vec![Request::Abort { session, reason, data }]);
    }
    pair.run_for(ms(30_000));
    assert_eq!(pair.app(B).received, b"hello");
    assert_eq!(pair.xtp(B).contexts(), 1);
}

#[test]
fn data_that_nobody_takes_is_not_taken_beyond_the_bound_and_comes_once_there_is_room() {
    let config = Config { memory: 16 * 1024, ..plain() };
    let mut pair = Pair::new(plain(), config, ms(10)).connected();
    pair.app(B).lazy = true;
    pair.write(A, &numbered(60_000));
    pair.run_for(ms(5_000));
    let mut taken = 0;
    let got = pair.app(B).received.len();
    assert!((10_000..24_000).contains(&got), "{got}");
    assert!(pair.counters(B).out_of_memory > 0);
    for _ in 0..300 {
        let got = pair.app(B).received.len() as u64;
        pair.take(B, got - taken);
        taken = got;
        pair.run_for(ms(1_000));
    }
    assert_eq!(pair.app(B).received, numbered(60_000));
}

#[test]
fn what_is_ahead_of_its_turn_has_a_quarter_of_the_bound_and_the_rest_comes_again() {
    let config = Config { memory: 64 * 1024, ..plain() };
    let mut pair = Pair::new(plain(), config, ms(10)).connected();
    // What is sent first is lost: all behind it is ahead of its turn.
    let mut is_first = true;
    pair.rule(move |packet| {
        let is_lost = packet.is(Format::Data) && core::mem::take(&mut is_first);
        if is_lost { vec![] } else { vec![ms(10)] }
    });
    pair.write(A, &numbered(60_000));
    pair.run_for(ms(60_000));
    assert!(pair.counters(B).out_of_memory > 0, "{:?}", pair.counters(B));
    assert_eq!(pair.app(B).received, numbered(60_000));
}
