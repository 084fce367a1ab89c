//! Resets and restarts whose answers come late, and peers that never answer.

use super::*;
use kumiki_graph::Parameters;

/// With one permanent circuit, number 1.
fn permanent() -> Config {
    Config { ranges: Ranges { permanent: 1, two_way: (2, 8), ..Config::default().ranges }, ..frames() }
}

fn take_permanent() -> Request {
    Request::Open(Box::new(Open {
        user: handle(1),
        parameters: Parameters::of(Call { channel: Some(1), ..Call::default() }),
        ..Open::default()
    }))
}

fn errors(wire: &mut Wire) -> u64 {
    wire.node::<X25>("x25 a").counters().errors
}

#[test]
fn what_comes_before_the_user_answers_our_reset_is_kept() {
    let mut wire = alone(frames());
    wire.say(A, call("1"));
    wire.inject(A, &hex("10 20 0f"));
    wire.answer_late(A);
    // Out of sequence: we reset, the peer confirms and starts over.
    wire.inject(A, &hex("10 20 04 00"));
    assert_eq!(last(&wire, A), hex("10 20 1b 00 01"));
    wire.inject(A, &hex("10 20 1f"));
    wire.inject(A, &hex("10 20 00 61 62"));
    assert_eq!(wire.taken(A).len(), 0);
    wire.answer(A);
    wire.inject(A, &hex("10 20 02 63 64"));
    assert_eq!(wire.taken(A), [b"ab", b"cd"]);
    assert_eq!((errors(&mut wire), wire.credit(A)), (1, 7));
}

#[test]
fn a_permanent_circuit_begins_once_when_the_restart_is_done() {
    let mut wire = alone(permanent());
    wire.say(A, take_permanent());
    assert_eq!(wire.credit(A), 2);
    // A confirmation that nobody asked for: we restart, and the user answers its reset at once.
    wire.inject(A, &hex("10 00 ff"));
    assert_eq!(last(&wire, A), hex("10 00 fb 00 11"));
    assert_eq!((wire.resets(A), wire.credit(A)), (1, 0));
    wire.inject(A, &hex("10 00 ff"));
    assert_eq!(wire.credit(A), 2);
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, b"x", true));
    assert_eq!(last(&wire, A), hex("10 01 00 78"));
}

#[test]
fn a_restart_confirms_the_reset_that_the_user_has_asked_for() {
    let mut wire = alone(permanent());
    wire.say(A, take_permanent());
    wire.answer_late(A);
    let (session, reason) = (wire.session(A).unwrap(), Reason::User);
    wire.say(A, Request::Reset { session, reason });
    assert_eq!(last(&wire, A), hex("10 01 1b 00 00"));
    wire.inject(A, &hex("10 00 fb 07 00"));
    assert_eq!((wire.resets(A), wire.credit(A)), (1, 2));
}

#[test]
fn a_permanent_circuit_that_was_given_up_is_reset_again_for_who_takes_it() {
    let mut wire = alone(permanent());
    wire.say(A, take_permanent());
    let (session, reason) = (wire.session(A).unwrap(), Reason::User);
    wire.say(A, Request::Reset { session, reason });
    wire.pass(Duration::from_secs(600));
    assert_eq!(wire.aborted(A), Some(Reason::TimedOut));
    wire.say(A, take_permanent());
    assert_eq!(wire.credit(A), 0);
    assert_eq!(last(&wire, A), hex("10 01 1b 00 a1"));
    wire.inject(A, &hex("10 01 1f"));
    assert_eq!(wire.credit(A), 2);
}

#[test]
fn calls_do_not_wait_for_a_peer_that_never_restarts() {
    let mut wire = Wire::new(ms(0));
    wire.device(A);
    wire.add("x25 a", &["line a"], X25::new(frames()).unwrap());
    wire.user(A, "x25 a");
    wire.start();
    wire.say(A, call("1"));
    wire.pass(Duration::from_secs(600));
    assert_eq!(wire.aborted(A), Some(Reason::TimedOut));
    // It may still come up.
    wire.inject(A, &hex("10 00 ff"));
    wire.say(A, call("1"));
    assert_eq!(last(&wire, A)[..3], [0x10, 0x20, 0x0b]);
}

#[test]
fn who_takes_a_call_back_names_its_own_and_no_others() {
    let mut bench = kumiki_testkit::bench::Bench::new();
    let line = bench.device("line");
    bench.node("x25", &["line"], X25::new(frames()).unwrap());
    let users = ["first", "second"].map(|name| bench.user(name, "x25", &[]));
    bench.start();
    bench.octets(line, &hex("10 00 ff"));
    for user in users {
        bench.say(user, call("1"));
    }
    bench.sent();
    // Both have the same handle, each in its own numbers.
    bench.say(users[1], Request::Cancel { user: handle(1) });
    let cleared = bench.sent_octets();
    assert_eq!(cleared, [hex("10 1f 13 00 00")]);
}

#[test]
fn what_cannot_be_read_during_a_restart_resets_nothing() {
    let mut wire = alone(permanent());
    wire.inject(A, &hex("10 00 ff"));
    let before = sent(&wire, A).len();
    wire.inject(A, &hex("10 01 7b"));
    assert_eq!(sent(&wire, A).len(), before);
}
