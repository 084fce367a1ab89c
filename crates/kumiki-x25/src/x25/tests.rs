#![allow(clippy::cast_possible_truncation, reason = "small numbers in tests")]

use kumiki_graph::Duration;
use kumiki_graph::Parameters;
use kumiki_osi_service::layer;
use kumiki_osi_service::x25::{Call, Charging, Facilities, Facility, FastSelect, Flow, Modulo, cause, diagnostic};
use proptest::prelude::*;

use super::*;
use crate::lapb::tests::wire::{A, B, End, Fate, Wire};
use crate::lapb::{self, Lapb};
use kumiki_testkit::bench::{assert_violation, hex};

mod refused;
mod rejects;
mod resets;
mod switched;
mod transport;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn dce(config: &Config) -> Config {
    Config { role: Some(Role::Dce), ..config.clone() }
}

fn frames() -> Config {
    Config { over: PacketCarrier::Frames, ..Config::default() }
}

/// Two packet layers, packets as units between them: 1 ms from end to end.
fn pair(a: Config, b: Config) -> Wire {
    let mut wire = Wire::new(ms(1));
    for (end, config) in [(A, a), (B, b)] {
        let name = end.name("x25");
        wire.device(end);
        wire.add(&name, &[&end.name("line")], X25::new(config).unwrap());
        wire.user(end, &name);
    }
    wire.start();
    wire.pass(ms(10));
    wire
}

/// One packet layer, and the test as its peer; the restart is done.
fn alone(config: Config) -> Wire {
    let mut wire = Wire::new(ms(0));
    wire.device(A);
    wire.add("x25 a", &["line a"], X25::new(config).unwrap());
    wire.user(A, "x25 a");
    wire.start();
    assert_eq!(wire.log()[0].1[2], 0xfb);
    wire.inject(A, &hex("10 00 ff"));
    wire
}

const fn handle(index: u32) -> Handle {
    Handle { index, generation: 9 }
}

fn number(text: &str) -> Address {
    Address::from(Number::or_none(text).unwrap())
}

fn listen(local: &str) -> Request {
    let local = if local.is_empty() { Address::NONE } else { number(local) };
    Request::Open(Box::new(Open { user: handle(5), mode: Mode::Passive { backlog: 4 }, local, ..Open::default() }))
}

fn call_with(to: &str, data: &[u8], call: Option<Call>) -> Request {
    Request::Open(Box::new(Open {
        user: handle(1),
        remote: number(to),
        data: (!data.is_empty()).then(|| Message::from_octets(data)),
        parameters: call.map(Box::new).into(),
        ..Open::default()
    }))
}

fn call(to: &str) -> Request {
    call_with(to, &[3, 1, 1, 0], None)
}

fn data(session: Handle, octets: &[u8], end: bool) -> Request {
    Request::Data { session, data: Message::from_octets(octets), end }
}

fn abort(session: Handle) -> Request {
    let (reason, data) = (Reason::User, None);
    Request::Abort { session, reason, data }
}

/// A call from A to B that stands.
fn called(a: Config, b: Config) -> Wire {
    let mut wire = pair(a, b);
    wire.say(B, listen(""));
    wire.say(A, call("12345"));
    wire.pass(ms(10));
    assert!(wire.session(A).is_some() && wire.session(B).is_some());
    wire
}

fn sent(wire: &Wire, end: End) -> Vec<Vec<u8>> {
    let of = |(from, octets): (End, Vec<u8>)| (from == end).then_some(octets);
    wire.log().into_iter().filter_map(of).collect()
}

fn last(wire: &Wire, end: End) -> Vec<u8> {
    sent(wire, end).pop().unwrap()
}

#[test]
fn a_call_is_made_and_carries_data_both_ways() {
    let mut wire = called(frames(), dce(&frames()));
    assert_eq!((wire.credit(A), wire.credit(B)), (7, 7));
    let (a, b) = (wire.session(A).unwrap(), wire.session(B).unwrap());
    wire.say(A, data(a, b"up", true));
    wire.say(B, data(b, b"down", true));
    wire.pass(ms(500));
    assert_eq!(wire.taken(B), [b"up"]);
    assert_eq!(wire.taken(A), [b"down"]);
    assert_eq!((wire.credit(A), wire.credit(B)), (7, 7));
    wire.say(A, abort(a));
    wire.pass(ms(10));
    let told = told(CauseField::Clear, 0, 0);
    assert_eq!((wire.aborted(A), wire.aborted(B)), (None, Some(told)));
    // The channel is free again.
    wire.say(A, call("12345"));
    wire.pass(ms(10));
    assert!(wire.session(A).is_some());
}

/// The octets of a whole call in a capture of Linux's packet layer, from the side of its peer.
#[test]
fn our_call_to_linux_is_that_of_the_capture() {
    let config = Config {
        address: "9001".parse().unwrap(),
        ranges: Ranges { two_way: (1, 1), ..Config::default().ranges },
        t24: ms(0),
        acknowledge: Some(7),
        ..frames()
    };
    let mut wire = Wire::new(ms(0));
    wire.device(A);
    wire.add("x25 a", &["line a"], X25::new(config).unwrap());
    wire.user(A, "x25 a");
    wire.start();
    // Linux restarts; ours collides with it, and either is the other's confirmation.
    wire.inject(A, &hex("10 00 fb 00 00"));
    wire.say(A, call("12345"));
    assert_eq!(last(&wire, A), hex("10 01 0b 45 12 34 59 00 10 06 42 0a 0a 43 07 07 03 01 01 00"));
    wire.inject(A, &hex("10 01 0f 00 06 42 0a 0a 43 07 07"));
    let session = wire.session(A).unwrap();
    let before = sent(&wire, A).len();
    for n in 0..3 {
        wire.say(A, data(session, format!("hello{n}").as_bytes(), true));
    }
    let packets =
        [hex("10 01 00 68 65 6c 6c 6f 30"), hex("10 01 02 68 65 6c 6c 6f 31"), hex("10 01 04 68 65 6c 6c 6f 32")];
    assert_eq!(sent(&wire, A)[before..], packets);
    for packet in ["10 01 60 68 65 6c 6c 6f 30", "10 01 62 68 65 6c 6c 6f 31", "10 01 64 68 65 6c 6c 6f 32"] {
        wire.inject(A, &hex(packet));
    }
    assert_eq!(wire.taken(A), [b"hello0", b"hello1", b"hello2"]);
    assert_eq!(last(&wire, A), hex("10 01 61"));
    wire.say(A, abort(session));
    assert_eq!(last(&wire, A), hex("10 01 13 00 00"));
    wire.inject(A, &hex("10 01 17"));
    assert_eq!(wire.node::<X25>("x25 a").counters().errors, 0);
}

#[test]
fn packet_sizes_and_windows_are_negotiated_towards_the_standard() {
    let small = Config {
        wanted: Flow { packet_out: 256, packet_in: 512, window_out: 3, window_in: 4, ..Flow::DEFAULT },
        ..dce(&frames())
    };
    let mut wire = called(frames(), small);
    let mut opened = wire.opened(A).unwrap();
    let agreed = opened.parameters.take::<Call>().unwrap().agreed.unwrap();
    assert_eq!(agreed, Flow { packet_out: 512, packet_in: 256, window_out: 4, window_in: 3, ..Flow::DEFAULT });
    assert_eq!((opened.unit, wire.credit(A), wire.credit(B)), (512, 4, 3));
    // The answer says so, from the called DTE first.
    assert!(last(&wire, B).ends_with(&hex("0f 00 06 42 08 09 43 03 04")));
}

#[test]
fn an_answer_beyond_what_was_asked_clears_the_call() {
    let mut wire = alone(frames());
    wire.say(A, call("1"));
    wire.inject(A, &hex("10 20 0f 00 03 42 0b 0b"));
    let found = "CALL CONNECTED: packet sizes are 2048 out and 2048 in, expected from 1024 and 1024, which were asked for, towards 128 (octets 10 20 0f 00 ...)";
    assert_violation(wire.aborted(A).as_ref(), layer::X25, found);
    assert_eq!(last(&wire, A), hex("10 20 13 00 42"));
}

#[test]
fn messages_longer_than_a_packet_go_with_m_and_short_parts_wait() {
    let mut wire = called(frames(), dce(&frames()));
    let session = wire.session(A).unwrap();
    let before = sent(&wire, A).len();
    wire.say(A, data(session, &[1; 2500], true));
    wire.say(A, data(session, &[2; 1000], false));
    wire.say(A, data(session, &[3; 100], true));
    wire.pass(ms(10));
    let packets = sent(&wire, A);
    let heads: Vec<(u8, usize)> = packets[before..].iter().map(|it| (it[2], it.len())).collect();
    assert_eq!(heads, [(0x10, 1027), (0x12, 1027), (0x04, 455), (0x16, 1027), (0x08, 79)]);
    let lengths: Vec<usize> = wire.taken(B).iter().map(Vec::len).collect();
    assert_eq!(lengths, [1024, 1024, 452, 1024, 76]);
    assert_eq!(wire.ends(B), [false, false, true, false, true]);
}

#[test]
fn the_window_and_rnr_hold_the_sender() {
    let two = Config { wanted: Flow::DEFAULT, ..frames() };
    let mut wire = called(two.clone(), dce(&two));
    wire.hold(B, true);
    let session = wire.session(A).unwrap();
    assert_eq!(wire.credit(A), 2);
    wire.say(A, data(session, b"1", true));
    wire.say(A, data(session, b"2", true));
    wire.pass(ms(100));
    // Both were taken, and there is no room for more: RNR with P(R) = 2.
    assert_eq!(last(&wire, B), hex("10 20 45"));
    wire.say(A, data(session, b"3", true));
    wire.pass(ms(1000));
    assert_eq!(wire.taken(B).len(), 2);
    wire.hold(B, false);
    wire.pass(ms(300));
    assert_eq!(wire.taken(B).len(), 3);
    assert_eq!(wire.credit(A), 2);
}

#[test]
fn a_reset_in_a_call_is_as_the_services_have_it() {
    let mut wire = alone(frames());
    wire.say(A, call("12345"));
    wire.inject(A, &hex("10 20 0f"));
    assert_eq!(wire.credit(A), 7);
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, &[0; 1024], false));
    // Network congestion; the user answers, and numbers begin at 0.
    wire.inject(A, &hex("10 20 1b 07 00"));
    assert_eq!(wire.resets(A), 1);
    assert_eq!(last(&wire, A), hex("10 20 1f"));
    assert_eq!(wire.credit(A), 7);
    wire.say(A, data(session, b"x", true));
    assert_eq!(last(&wire, A), hex("10 20 00 78"));
    let expedited = |octet| Request::Expedited { session, data: Message::from_octets(&[octet]) };
    wire.say(A, expedited(1));
    wire.say(A, expedited(2));
    assert_eq!(last(&wire, A), hex("10 20 23 01"));
    wire.inject(A, &hex("10 20 27"));
    assert_eq!(last(&wire, A), hex("10 20 23 02"));
    wire.inject(A, &hex("10 20 23 aa bb"));
    assert_eq!(last(&wire, A), hex("10 20 27"));
    assert_eq!(wire.expedited(A), [hex("aa bb")]);
}

#[test]
fn both_may_reset_and_the_user_hears_the_confirm() {
    let mut wire = called(frames(), dce(&frames()));
    let (a, b) = (wire.session(A).unwrap(), wire.session(B).unwrap());
    let reason = Reason::User;
    wire.say(A, Request::Reset { session: a, reason: reason.clone() });
    wire.say(B, Request::Reset { session: b, reason: reason.clone() });
    wire.pass(ms(10));
    assert_eq!((wire.resets(A), wire.resets(B)), (1, 1));
    assert_eq!((wire.credit(A), wire.credit(B)), (7, 7));
    wire.say(A, Request::Reset { session: a, reason });
    wire.pass(ms(10));
    assert_eq!((wire.resets(A), wire.resets(B)), (2, 2));
    wire.say(A, data(a, b"after", true));
    wire.pass(ms(10));
    assert_eq!(wire.taken(B), [b"after"]);
}

#[test]
fn procedure_errors_in_data_transfer_reset_the_channel_with_their_diagnostic() {
    for (packet, code) in [
        // P(S), P(R), interrupt confirmation, too long, REJ, a packet of no type, reset confirmation.
        ("10 20 02 00", diagnostic::PS),
        ("10 20 20 00", diagnostic::PR),
        ("10 20 21", diagnostic::PR),
        ("10 20 27", diagnostic::INTERRUPT_CONFIRMATION),
        ("10 20 10 00", diagnostic::M_BIT),
        ("10 20 09", diagnostic::REJECT),
        ("10 20 2b", diagnostic::UNIDENTIFIABLE),
        ("10 20 23", diagnostic::SHORT),
        ("10 20 1f", diagnostic::D1),
        ("10 20 01 00", diagnostic::LONG),
    ] {
        let mut wire = alone(frames());
        wire.say(A, call("1"));
        wire.inject(A, &hex("10 20 0f"));
        wire.inject(A, &hex(packet));
        assert_eq!(last(&wire, A), [&hex("10 20 1b 00")[..], &[code]].concat(), "{packet}");
        // The user has answered, so it goes on when the peer confirms.
        assert_eq!((wire.resets(A), wire.credit(A)), (1, 0), "{packet}");
        wire.inject(A, &hex("10 20 1f"));
        assert_eq!(wire.credit(A), 7, "{packet}");
    }
    let mut wire = alone(frames());
    wire.say(A, call("1"));
    wire.inject(A, &hex("10 20 0f 00 00"));
    wire.inject(A, &[&hex("10 20 00")[..], &[0; 1025]].concat());
    assert_eq!(last(&wire, A), hex("10 20 1b 00 27"));
}

#[test]
fn errors_before_and_after_a_call_clear_with_the_state_as_diagnostic() {
    // p1, on a channel without a call.
    let mut wire = alone(frames());
    wire.inject(A, &hex("10 05 00 00"));
    assert_eq!(last(&wire, A), hex("10 05 13 00 14"));
    let found = "packet type invalid for state p1 (octets 10 05 00 ...)";
    assert_violation(wire.node::<X25>("x25 a").refusal(), layer::X25, found);
    wire.inject(A, &hex("10 05 17"));
    // p2: data before the answer.
    wire.say(A, call("1"));
    wire.inject(A, &hex("10 20 00 00"));
    assert_eq!(last(&wire, A), hex("10 20 13 00 15"));
    let found = "packet type invalid for state p2 (octets 10 20 00 ...)";
    assert_violation(wire.aborted(A).as_ref(), layer::X25, found);
    // p6: what comes still is let be, until the confirmation.
    let before = sent(&wire, A).len();
    wire.inject(A, &hex("10 20 00 00"));
    wire.inject(A, &hex("10 20 0f"));
    wire.inject(A, &hex("10 20 17"));
    assert_eq!(sent(&wire, A).len(), before);
    // p4: a second answer.
    wire.say(A, call("1"));
    wire.inject(A, &hex("10 20 0f"));
    wire.inject(A, &hex("10 20 0f"));
    assert_eq!(last(&wire, A), hex("10 20 13 00 17"));
    // A call on a channel that does not exist: a DTE says nothing, a DCE tells.
    let before = sent(&wire, A).len();
    wire.inject(A, &hex("10 99 0b 00 00"));
    assert_eq!(sent(&wire, A).len(), before);
    let mut wire = alone(dce(&frames()));
    wire.inject(A, &hex("10 99 0b 00 00"));
    assert_eq!(last(&wire, A), hex("10 00 f1 24 10 99 0b"));
    wire.inject(A, &hex("10 01 0b 01 10 00"));
    // Nobody listens: not obtainable.
    assert_eq!(last(&wire, A), hex("10 01 13 0d 43"));
}

#[test]
fn calls_to_what_does_not_begin_with_our_number_are_cleared() {
    let config = Config { answers: "12".parse().unwrap(), ..frames() };
    let mut wire = alone(config);
    wire.say(A, listen(""));
    // Of a DTE the cause is 0; 67 is an invalid called address.
    for other in ["10 01 0b 02 13 00", "10 02 0b 01 10 00"] {
        wire.inject(A, &hex(other));
        let cleared = hex(other)[..2].to_vec();
        assert_eq!(last(&wire, A), [&cleared[..], &hex("13 00 43")].concat());
    }
    // Ours, one with a subaddress, and a call that names nobody.
    for ours in ["10 03 0b 02 12 00", "10 04 0b 03 12 30 00", "10 05 0b 00 00"] {
        wire.inject(A, &hex(ours));
        let answer = last(&wire, A);
        assert_eq!(answer[..3], [&hex(ours)[..2], &[0x0f]].concat(), "accepted");
    }
}

#[test]
fn calls_that_meet_on_a_channel_are_sorted_out_by_role() {
    let one = Config { ranges: Ranges { two_way: (1, 1), ..Config::default().ranges }, ..frames() };
    let mut wire = pair(one.clone(), dce(&one));
    wire.say(A, listen(""));
    wire.say(B, listen(""));
    wire.say(A, call("1"));
    wire.say(B, call("2"));
    wire.pass(ms(10));
    // The DTE's stands; the DCE has no other channel for its own.
    assert!(wire.session(A).is_some());
    let reason = told(CauseField::Clear, cause::CLEAR_CONGESTION, diagnostic::COLLISION);
    assert_eq!(wire.aborted(B), Some(reason));
    let two = Config { ranges: Ranges { two_way: (1, 2), ..Config::default().ranges }, ..frames() };
    // With one call on channel 2 both choose channel 1, and the DCE ends up with none; with two free they do not meet.
    let mut wire = pair(two.clone(), dce(&two));
    wire.say(A, listen(""));
    wire.say(B, listen(""));
    wire.say(A, call("1"));
    wire.say(B, call("2"));
    wire.pass(ms(10));
    assert_eq!((wire.aborted(A), wire.aborted(B)), (None, None));
}

#[test]
fn two_dtes_find_out_who_is_the_dce() {
    let open = Config { role: None, ..frames() };
    let mut wire = pair(open.clone(), open);
    // They restart at once and collide; one waits for less long than the other.
    wire.pass(Duration::from_secs(60));
    let line = |wire: &mut Wire, end: End| {
        let x25 = wire.node::<X25>(&end.name("x25"));
        let line = x25.line;
        (x25.role(line), x25.is_ready(line))
    };
    let roles = [line(&mut wire, A), line(&mut wire, B)];
    assert!(roles.contains(&(Role::Dte, true)), "{roles:?}");
    assert!(roles.contains(&(Role::Dce, true)), "{roles:?}");
    wire.say(B, listen("12"));
    wire.say(A, call("12345"));
    wire.pass(ms(10));
    assert!(wire.session(A).is_some());
}

#[test]
fn fast_select_carries_data_in_the_clearing_of_a_call() {
    let fast = |fast_select| {
        Some(Call {
            facilities: Facilities(vec![Facility::Charging(Charging { fast_select, ..Charging::default() })]),
            ..Call::default()
        })
    };
    let mut wire = alone(frames());
    wire.say(A, call_with("1", &[7; 17], None));
    assert_eq!(wire.aborted(A), Some(told(CauseField::Clear, 0, diagnostic::LONG)));
    wire.say(A, call_with("1", &[7; 128], fast(FastSelect::Restricted)));
    let sent = last(&wire, A);
    assert_eq!(sent[..8], hex("10 20 0b 01 10 08 01 c0")[..]);
    assert_eq!(sent.len(), 3 + 1 + 1 + 1 + 8 + 128);
    wire.inject(A, &[&hex("10 20 13 00 00 00 00")[..], b"answer"].concat());
    assert_eq!(wire.aborted(A), Some(told(CauseField::Clear, 0, 0)));
    assert_eq!(wire.aborted_data(A), b"answer");
    assert_eq!(last(&wire, A), hex("10 20 17"));
}

#[test]
fn the_longest_address_gets_the_call_and_the_backlog_bounds_it() {
    let mut wire = alone(frames());
    wire.defer(A);
    wire.say(A, listen("123"));
    for channel in 1..=5_u8 {
        wire.inject(A, &[&[0x10, channel][..], &hex("0b 05 12 34 50 00")].concat());
    }
    // Four wait; the fifth finds no room: DTE originated, resource constraint.
    assert_eq!(wire.offers(A), 4);
    assert_eq!(last(&wire, A), hex("10 05 13 00 a3"));
    wire.inject(A, &hex("10 06 0b 02 99 00"));
    assert_eq!(last(&wire, A), hex("10 06 13 00 43"));
}

#[test]
fn timers_repeat_and_give_up() {
    let mut wire = alone(frames());
    wire.say(A, call("1"));
    wire.pass(Duration::from_secs(201));
    assert_eq!(wire.aborted(A), Some(Reason::TimedOut));
    assert_eq!(last(&wire, A), hex("10 20 13 00 31"));
    let before = sent(&wire, A).len();
    // T23, once more, and then the channel is left alone.
    wire.pass(Duration::from_secs(1000));
    assert_eq!(sent(&wire, A)[before..], [hex("10 20 13 00 31")]);
    wire.say(A, call("1"));
    assert_eq!(last(&wire, A)[1], 0x1f);
    wire.inject(A, &hex("10 1f 0f"));
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, b"x", true));
    // T25 resets, T22 repeats, and the call is cleared.
    wire.pass(Duration::from_secs(201));
    assert_eq!(last(&wire, A), hex("10 1f 1b 00 92"));
    wire.pass(Duration::from_secs(361));
    assert_eq!(last(&wire, A), hex("10 1f 13 00 33"));
    assert_eq!(wire.aborted(A), Some(Reason::TimedOut));
}

#[test]
fn a_restart_ends_all_calls() {
    let mut wire = alone(frames());
    wire.say(A, call("1"));
    wire.inject(A, &hex("10 20 0f"));
    wire.inject(A, &hex("10 00 fb 07 00"));
    assert_eq!(wire.aborted(A), Some(told(CauseField::Restart, 7, 0)));
    assert_eq!(last(&wire, A), hex("10 00 ff"));
    // A restart confirmation that nobody asked for restarts.
    wire.inject(A, &hex("10 00 ff"));
    assert_eq!(last(&wire, A), hex("10 00 fb 00 11"));
}

#[test]
fn a_permanent_circuit_needs_no_call() {
    let config = Config { ranges: Ranges { permanent: 2, two_way: (3, 8), ..Config::default().ranges }, ..frames() };
    let mut wire = pair(config.clone(), dce(&config));
    let permanent = || {
        Request::Open(Box::new(Open {
            user: handle(1),
            parameters: Parameters::of(Call { channel: Some(2), ..Call::default() }),
            ..Open::default()
        }))
    };
    wire.say(A, permanent());
    wire.say(B, permanent());
    assert_eq!((wire.credit(A), wire.credit(B)), (2, 2));
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, b"always", true));
    wire.pass(ms(10));
    assert_eq!(wire.taken(B), [b"always"]);
    wire.inject(B, &hex("10 02 13 00 00"));
    // CLEAR is nothing for a permanent circuit.
    assert_eq!(last(&wire, B), hex("10 02 1b 05 23"));
    wire.pass(ms(10));
    assert_eq!((wire.resets(A), wire.resets(B)), (1, 1));
    wire.say(A, data(session, b"after", true));
    wire.pass(ms(10));
    assert_eq!(wire.taken(B).last().unwrap(), b"after");
}

#[test]
fn the_d_bit_is_confirmed_when_the_user_says_so() {
    let mut wire = pair(frames(), dce(&frames()));
    wire.say(B, listen(""));
    wire.wants_delivery(B);
    let delivery = Some(Call { delivery: true, ..Call::default() });
    wire.say(A, call_with("1", &[], delivery));
    wire.pass(ms(10));
    let (a, b) = (wire.session(A).unwrap(), wire.session(B).unwrap());
    let what = Special::new(Primitive::Data {
        data: Message::from_octets(b"sure"),
        end: true,
        qualified: true,
        delivery: true,
    });
    wire.say(A, Request::Special { session: a, what });
    wire.pass(ms(500));
    assert_eq!(last(&wire, A), hex("d0 20 00 73 75 72 65"));
    assert_eq!(wire.confirmed(A), 0);
    let what = Special::new(Primitive::Confirm { packets: 1 });
    wire.say(B, Request::Special { session: b, what });
    wire.pass(ms(10));
    assert_eq!(wire.confirmed(A), 1);
}

#[test]
fn a_lost_packet_is_asked_for_where_both_have_rej() {
    let config = Config { reject: true, modulo: Modulo::Extended, ..frames() };
    let mut wire = called(config.clone(), dce(&config));
    let session = wire.session(A).unwrap();
    let mut seen = 0;
    wire.fate = Box::new(move |from, octets, _| {
        let is_data = from == A && octets[2] & 1 == 0;
        seen += u32::from(is_data);
        if is_data && seen == 2 { Fate::Lost } else { Fate::Arrives }
    });
    for n in 0..5 {
        wire.say(A, data(session, &[n], true));
    }
    wire.pass(ms(20));
    assert_eq!(wire.taken(B), [[0], [1], [2], [3], [4]]);
    assert_eq!(wire.node::<X25>("x25 a").counters().data_again, 4);
}

/// X.25 on LAPB on a line that loses frames.
fn stack(loss: u64, seed: u64) -> Wire {
    let mut wire = Wire::new(ms(1));
    for (end, role, side) in [(A, lapb::Role::Dte, Role::Dte), (B, lapb::Role::Dce, Role::Dce)] {
        wire.device(end);
        let link = lapb::Config { role, t1: ms(100), t2: ms(10), n2: 200, ..lapb::Config::default() };
        let config = Config { role: Some(side), t24: ms(20), ..Config::default() };
        wire.add(&end.name("lapb"), &[&end.name("line")], Lapb::new(link).unwrap());
        wire.add(&end.name("x25"), &[&end.name("lapb")], X25::new(config).unwrap());
        wire.user(end, &end.name("x25"));
    }
    wire.start();
    wire.pass(ms(50));
    let mut state = seed;
    wire.fate = Box::new(move |_, _, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33) % 100 < loss { Fate::Lost } else { Fate::Arrives }
    });
    wire
}

#[test]
fn a_call_over_lapb_ends_with_the_link_and_comes_again() {
    let mut wire = stack(0, 1);
    wire.say(B, listen("12"));
    wire.say(A, call("12345"));
    wire.pass(ms(50));
    assert!(wire.session(A).is_some());
    wire.report(A, Report::Down);
    assert_eq!(wire.aborted(A), Some(Reason::Down));
    // A call that is made meanwhile waits for the link.
    wire.say(A, call("12345"));
    wire.report(A, Report::Up);
    wire.pass(ms(100));
    assert!(wire.session(A).is_some());
    // The peer's link was reset, and its calls were with it.
    assert_eq!(wire.aborted(B), Some(Reason::Reset));
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, b"again", true));
    wire.pass(ms(50));
    assert_eq!(wire.taken(B), [b"again"]);
}

#[test]
fn a_call_ends_with_what_the_link_below_has_found() {
    let mut wire = stack(0, 1);
    wire.say(B, listen("12"));
    wire.say(A, call("12345"));
    wire.pass(ms(50));
    // RR with information, from A's side.
    wire.inject(B, &hex("01 01 00"));
    wire.pass(ms(100));
    let found = "information of 1 octet, expected none in this frame (octets 01 01 ...)";
    assert_violation(wire.aborted(B).as_ref(), layer::LAPB, found);
}

#[test]
fn a_call_waits_for_a_link_that_nobody_sets_up_for_t21_at_most() {
    for mut wire in [stack(0, 1), pair(frames(), dce(&frames()))] {
        wire.report(A, Report::Down);
        wire.report(B, Report::Down);
        wire.say(A, call("12345"));
        wire.pass(Duration::from_secs(199));
        assert_eq!(wire.aborted(A), None);
        wire.pass(Duration::from_secs(2));
        assert_eq!(wire.aborted(A), Some(Reason::TimedOut));
        // One that comes later has the whole time again, and the link may still come.
        wire.say(B, listen("12"));
        wire.say(A, call("12345"));
        wire.pass(Duration::from_secs(150));
        wire.report(B, Report::Up);
        wire.report(A, Report::Up);
        wire.pass(Duration::from_secs(1));
        assert!(wire.session(A).is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_is_lost_over_lapb(seed: u64, loss in 0_u64..25, lengths in proptest::collection::vec(1_usize..3000, 1..20)) {
        let mut wire = stack(loss, seed);
        wire.say(B, listen(""));
        wire.say(A, call("1"));
        let (mut next, mut rounds) = (0, 0);
        let total: usize = lengths.iter().sum();
        loop {
            while let Some(session) = wire.session(A).filter(|_| wire.credit(A) > 0 && next < lengths.len()) {
                wire.say(A, data(session, &vec![next as u8; lengths[next]], true));
                next += 1;
            }
            wire.pass(ms(20));
            rounds += 1;
            prop_assert!(rounds < 5_000);
            if wire.taken(B).iter().map(Vec::len).sum::<usize>() == total {
                break;
            }
        }
        let expected: Vec<u8> = lengths.iter().enumerate().flat_map(|(n, len)| vec![n as u8; *len]).collect();
        prop_assert_eq!(wire.taken(B).concat(), expected);
        prop_assert_eq!(wire.ends(B).iter().filter(|end| **end).count(), lengths.len());
        prop_assert_eq!((wire.resets(A), wire.resets(B)), (0, 0));
    }

    /// Whatever packets come, in whatever state.
    #[test]
    fn no_packets_make_it_panic(packets in proptest::collection::vec((0_u8..4, 0_u8..3, any::<u8>(), proptest::collection::vec(any::<u8>(), 0..12), 0_u64..100_000), 0..60), is_dce: bool, listening: bool) {
        let config = Config {
            ranges: Ranges { permanent: 1, two_way: (2, 32), ..Config::default().ranges },
            reject: true,
            ..frames()
        };
        let mut wire = alone(if is_dce { dce(&config) } else { config });
        wire.say(A, if listening { listen("") } else { call("1") });
        let kinds = [0x0b, 0x0f, 0x13, 0x17, 0, 0x02, 0x10, 0x23, 0x27, 1, 5, 9, 0x1b, 0x1f, 0xfb, 0xff];
        for (gfi, channel, kind, rest, gap) in packets {
            let channel = [0, 1, if is_dce { 2 } else { 32 }][usize::from(channel)];
            let head = [gfi << 6 | 0x10, channel, kinds[usize::from(kind) % 16]];
            wire.inject(A, &[&head[..], &rest].concat());
            wire.pass(ms(gap));
            if let Some(session) = wire.session(A).filter(|_| wire.credit(A) > 0) {
                wire.say(A, data(session, &rest, gap % 2 == 0));
            }
        }
    }
}

/// What is discarded while an interface is restarted is told to a call that has waited for that; what is discarded of a
/// circuit is old once another packet came.
#[test]
fn what_was_discarded_is_told_until_something_better_comes() {
    let mut wire = Wire::new(ms(0));
    wire.device(A);
    wire.add("x25 a", &["line a"], X25::new(frames()).unwrap());
    wire.user(A, "x25 a");
    wire.start();
    wire.say(A, call("1"));
    wire.inject(A, &hex("20 00 ff"));
    wire.pass(Duration::from_secs(1200));
    let found = "invalid general format identifier: X.25: general format identifier is 0x2, expected 1, modulo 8 (octets 20 00 ff)";
    assert_violation(wire.aborted(A).as_ref(), layer::X25, found);

    let mut wire = alone(frames());
    wire.say(A, call("1"));
    wire.inject(A, &hex("20 20 0f"));
    wire.inject(A, &hex("10 20 0f"));
    wire.say(A, Request::Reset { session: wire.session(A).unwrap(), reason: Reason::User });
    wire.pass(Duration::from_secs(1200));
    assert_eq!(wire.aborted(A), Some(Reason::TimedOut));
}
