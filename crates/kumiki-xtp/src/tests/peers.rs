//! Peers that say nothing wrong and are of no use: they never free what they got, never have what was sent, use keys
//! again. What is kept is bounded by the buffers, and where the user wants an end there is one.

use kumiki_graph::*;
use kumiki_wire::xtp::{Control, Errors, Format, Header, Key, Options, Span, code};

use super::pair::*;
use crate::Config;

/// B's user takes nothing, ever; A has written more than B has room for.
fn never_frees(stall: Duration) -> Pair {
    let config = Config { send_buffer: 20_000, stall, ..plain() };
    let small = Config { receive_buffer: 5000, ..plain() };
    let mut pair = Pair::new(config, small, ms(10));
    pair.app(B).lazy = true;
    let mut pair = pair.connected();
    pair.write(A, &numbered(20_000));
    pair.news();
    pair
}

#[test]
fn a_receiver_that_never_frees_is_asked_rarely_and_costs_a_buffer() {
    let mut pair = never_frees(Duration::ZERO);
    for hour in 0..10 {
        pair.news();
        pair.run_for(ms(3_600_000));
        assert_eq!(pair.xtp(A).held(), (15_000, 0));
        assert_eq!(pair.xtp(B).held(), (0, 0));
        let talk = pair.news().len();
        // A question a minute and its answer, once the waits have grown; CTIMER is another.
        assert!(talk < 300 || hour == 0, "{talk} packets in an hour");
    }
    assert_eq!(pair.app(B).received.len(), 5000);
    // As with TCP (RFC 9293 section 3.8.6.1), that is no reason to end: without a limit the user has to.
    assert_eq!(pair.heard(A), ["opened"]);
    pair.abort(A);
    pair.run_for(ms(200_000));
    assert_eq!(pair.heard(B).last().unwrap(), "aborted: Reset");
    for host in [A, B] {
        let xtp = pair.xtp(host);
        assert_eq!((xtp.contexts(), xtp.inactive(), xtp.held()), (0, 0, (0, 0)));
    }
}

#[test]
fn a_receiver_that_never_frees_is_given_up_where_the_user_wants_it() {
    let mut pair = never_frees(Duration::from_secs(120));
    pair.run_for(ms(119_000));
    assert_eq!(pair.heard(A), ["opened"]);
    // The next question after that time finds it out.
    pair.run_for(ms(61_000));
    assert_eq!(pair.heard(A), ["aborted: TimedOut"]);
    assert_eq!(pair.heard(B).last().unwrap(), "aborted: Reset");
    pair.run_for(ms(200_000));
    for host in [A, B] {
        let xtp = pair.xtp(host);
        assert_eq!((xtp.contexts(), xtp.inactive(), xtp.held()), (0, 0, (0, 0)));
    }
}

/// A peer that answers each question, and whose spans say that all has come but the first packet, which never does.
fn spans_lie() -> Pair {
    let config = Config { send_buffer: 20_000, ..plain() };
    let mut pair = Pair::new(config, plain(), ms(10)).connected();
    let key = pair.key(A);
    pair.rule(|_| vec![]);
    pair.write(A, &numbered(20_000));
    pair.run_for(ms(1));
    let mut answered = 0;
    for _ in 0..20_000 {
        if pair.xtp(A).contexts() == 0 {
            break;
        }
        let asked = pair.log.iter().rfind(|it| it.from == A && it.has(Options::SREQ));
        let sync = asked.unwrap().header.sync;
        if sync > answered {
            answered = sync;
            let errors = Errors {
                control: Control { rseq: 0, alloc: 64_000, echo: sync },
                spans: vec![Span { left: 1000, right: 20_000 }],
            };
            let mut payload = vec![0; errors.len()];
            errors.emit(&mut payload);
            let header = Header { key, format: Format::Ecntl, ..Header::default() };
            pair.inject(A, header, &payload);
            assert!(pair.xtp(A).held().0 <= 20_000);
        }
        pair.run_for(ms(10));
    }
    pair
}

#[test]
fn spans_that_lie_for_ever_cost_a_buffer_and_end_after_ctimeout() {
    let mut pair = spans_lie();
    assert_eq!(pair.heard(A), ["opened", "aborted: TimedOut"]);
    let at = pair.log.last().unwrap().at.as_secs_f64();
    assert!((60.0..62.0).contains(&at), "{at}");
    assert_eq!(pair.xtp(A).held(), (0, 0));
    // A question and what it is about, each round trip or so.
    assert!(pair.log.len() < 15_000, "{}", pair.log.len());
}

#[test]
fn a_peer_that_never_confirms_the_end_is_given_up_after_ctimeout() {
    let mut pair = Pair::new(plain(), plain(), ms(10)).connected();
    pair.rule(|packet| {
        // Whoever was believed to have all has not: what it lacks has been let go of.
        let lost = packet.from == A && packet.is(Format::Data);
        if lost { vec![] } else { vec![ms(10)] }
    });
    pair.write(A, &numbered(3000));
    let header = Header { key: pair.key(A), format: Format::Cntl, ..Header::default() };
    let control =
        Control { rseq: 3000, alloc: 64_000, echo: pair.log.iter().rfind(|it| it.from == A).unwrap().header.sync };
    let mut payload = vec![0; control.len()];
    control.emit(&mut payload);
    pair.inject(A, header, &payload);
    pair.release(A);
    pair.news();
    pair.run_for(ms(59_000));
    assert_eq!(pair.heard(A), ["opened"]);
    pair.run_for(ms(3000));
    assert_eq!(pair.heard(A), ["aborted: TimedOut"]);
    assert_eq!(pair.heard(B).last().unwrap(), "aborted: Reset");
    // A question and its answer each WTIMER, once the waits have grown.
    let talk = pair.news().len();
    assert!(talk < 700, "{talk}");
}

fn answers(pair: &mut Pair) -> Vec<Format> {
    let news = pair.news();
    let from_b = news.iter().filter(|it| it.from == B);
    from_b.map(|it| it.header.format).collect()
}

#[test]
fn keys_used_again_begin_nothing_while_they_are_known() {
    let mut pair = Pair::new(plain(), plain(), ms(10));
    pair.app(B).release_when_released = true;
    let mut pair = pair.connected();
    let first = pair.log[0].clone();
    let (header, payload) = (first.header, first.payload);
    // While the context stands: an old FIRST, and one that says another thing, are data that has come.
    pair.inject(B, header, &payload);
    let mut other = payload.clone();
    other[13] ^= 1;
    pair.inject(B, header, &other);
    assert_eq!((pair.xtp(B).contexts(), pair.counters(B).offered), (1, 1));
    // Another key told late changes nothing.
    let key = pair.key(A);
    let tcntl = pair.log.iter().find(|it| it.is(Format::Tcntl)).unwrap();
    let (mut octets, mut said) = (tcntl.payload.clone(), tcntl.header);
    octets[24..32].copy_from_slice(&Key(99).0.to_be_bytes());
    said.key = key;
    pair.inject(A, said, &octets);
    pair.write(A, &numbered(3000));
    pair.release(A);
    pair.run_for(ms(1000));
    assert_eq!(pair.heard(B), ["offered", "released", "closed"]);
    assert_eq!(pair.app(B).received, numbered(3000));
    // While what is left of it answers: the same.
    pair.news();
    pair.inject(B, header, &payload);
    assert_eq!(answers(&mut pair), [Format::Cntl], "it is over");
    assert_eq!((pair.xtp(B).contexts(), pair.counters(B).offered), (0, 1));
    // A key of ours that nobody has any more is refused, and the host that used it is told once.
    pair.run_for(ms(100_000));
    pair.news();
    let dead = Header { key: tcntl_key(&pair), format: Format::Data, ..Header::default() };
    pair.inject(B, dead, b"late");
    pair.inject(B, dead, b"late");
    let news = pair.news();
    assert_eq!(news.len(), 1);
    assert_eq!(news[0].diagnosis().code, code::INVALID_CONTEXT);
    // And a caller may use its own again: that is a new context with a new key of ours.
    pair.inject(B, header, &payload);
    assert_eq!((pair.xtp(B).contexts(), pair.counters(B).offered), (1, 2));
}

/// The key that B told first.
fn tcntl_key(pair: &Pair) -> Key {
    let tcntl = pair.log.iter().find(|it| it.is(Format::Tcntl)).unwrap();
    let key = tcntl.payload[24..32].try_into().unwrap();
    Key(u64::from_be_bytes(key)).returned()
}
