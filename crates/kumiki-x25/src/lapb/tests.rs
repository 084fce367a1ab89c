use kumiki_graph::Duration;
use kumiki_osi_service::{layer, x25};
use proptest::prelude::*;

use super::*;
use kumiki_testkit::bench::{assert_violation, hex};

mod refused;
pub(crate) mod wire;

use wire::{A, B, End, Fate, Wire};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Two LAPBs on a line: 1 ms from end to end.
fn pair(a: Config, b: Config) -> Wire {
    let mut wire = Wire::new(ms(1));
    for (end, config) in [(A, a), (B, b)] {
        let name = end.name("lapb");
        let line = end.name("line");
        wire.device(end);
        wire.add(&name, &[&line], Lapb::new(config).unwrap());
        wire.user(end, &name);
    }
    wire.start();
    wire
}

fn dce(config: Config) -> Config {
    Config { role: Role::Dce, ..config }
}

fn active(user: u32) -> Request {
    Request::Open(Box::new(Open { user: handle(user), ..Open::default() }))
}

fn passive(user: u32) -> Request {
    Request::Open(Box::new(Open { user: handle(user), mode: Mode::Passive { backlog: 1 }, ..Open::default() }))
}

const fn handle(index: u32) -> Handle {
    Handle { index, generation: 9 }
}

fn data(session: Handle, octets: &[u8]) -> Request {
    Request::Data { session, data: Message::from_octets(octets), end: true }
}

/// Both ends open, and the link stands.
fn standing(a: Config, b: Config) -> Wire {
    let mut wire = pair(a, b);
    wire.say(A, active(1));
    wire.say(B, active(2));
    wire.pass(ms(5));
    assert!(wire.session(A).is_some() && wire.session(B).is_some());
    wire
}

fn counters(wire: &mut Wire, end: End) -> Counters {
    let lapb = wire.node::<Lapb>(&end.name("lapb"));
    *lapb.counters()
}

#[test]
fn one_end_calls_and_the_other_accepts() {
    for modulo in [Modulo::Eight, Modulo::Extended] {
        let config = Config { modulo, ..Config::default() };
        let mut wire = pair(config, dce(config));
        wire.say(B, passive(7));
        wire.say(A, active(1));
        wire.pass(ms(5));
        let (a, b) = (wire.session(A).unwrap(), wire.session(B).unwrap());
        assert_eq!(wire.credit(A), 7);
        wire.say(A, data(a, b"up"));
        wire.say(B, data(b, b"down"));
        wire.pass(ms(5));
        assert_eq!(wire.taken(B), [b"up"]);
        assert_eq!(wire.taken(A), [b"down"]);
        wire.pass(ms(500));
        // Acknowledged after T2 at the latest: all of the window is free again.
        assert_eq!((wire.credit(A), wire.credit(B)), (7, 7));
    }
}

#[test]
fn the_octets_of_a_set_up_are_those_of_the_standard() {
    let mut wire = pair(Config::default(), dce(Config::default()));
    wire.say(B, passive(7));
    wire.say(A, active(1));
    wire.pass(ms(5));
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, &[0x10, 0, 0xfb, 0, 0]));
    wire.pass(ms(300));
    wire.say(A, Request::Abort { session, reason: Reason::User, data: None });
    wire.pass(ms(5));
    assert_eq!(
        wire.log(),
        [
            (A, hex("01 3f")),
            (B, hex("01 73")),
            (A, hex("01 00 10 00 fb 00 00")),
            (B, hex("01 21")),
            (A, hex("01 53")),
            (B, hex("01 73")),
        ]
    );
    assert_eq!(wire.aborted(B), Some(Reason::Reset));
    assert_eq!(wire.aborted(A), None);
}

#[test]
fn both_ends_may_begin_at_once() {
    let mut wire = standing(Config::default(), dce(Config::default()));
    let (a, b) = (wire.session(A).unwrap(), wire.session(B).unwrap());
    for n in 0..20_u8 {
        wire.say(A, data(a, &[n]));
        wire.say(B, data(b, &[n]));
        wire.pass(ms(3));
    }
    let all: Vec<Vec<u8>> = (0..20).map(|n| vec![n]).collect();
    assert_eq!((wire.taken(A), wire.taken(B)), (all.clone(), all));
    assert_eq!(counters(&mut wire, A).resets, 0);
}

#[test]
fn an_end_without_a_user_refuses() {
    let mut wire = pair(Config::default(), dce(Config::default()));
    wire.say(A, active(1));
    wire.pass(ms(5));
    assert_eq!(wire.aborted(A), Some(Reason::Refused));
    assert_eq!(wire.log().last().unwrap(), &(B, hex("01 1f")));
    // So does a user that does not want it.
    wire.refuse(B);
    wire.say(B, passive(7));
    wire.say(A, active(2));
    wire.pass(ms(5));
    assert_eq!(wire.aborted(A), Some(Reason::Refused));
}

#[test]
fn a_set_up_of_the_other_modulus_is_answered_by_dm() {
    let extended = Config { modulo: Modulo::Extended, ..Config::default() };
    let mut wire = pair(extended, dce(Config::default()));
    wire.say(B, passive(7));
    wire.say(A, active(1));
    wire.pass(ms(5));
    assert_eq!(wire.aborted(A), Some(Reason::Refused));
}

#[test]
fn a_peer_that_is_not_there_is_given_up_after_n2_tries() {
    let config = Config { n2: 4, ..Config::default() };
    let mut wire = pair(config, dce(config));
    wire.fate = Box::new(|_, _, _| Fate::Lost);
    wire.say(A, active(1));
    wire.pass(Duration::from_secs(11));
    assert_eq!(wire.aborted(A), None);
    wire.pass(Duration::from_secs(2));
    assert_eq!(wire.aborted(A), Some(Reason::TimedOut));
    assert_eq!(wire.log().len(), 4);
}

#[test]
fn a_peer_that_vanishes_is_noticed_by_silence_alone() {
    let config = Config { n2: 2, ..Config::default() };
    let mut wire = standing(config, dce(config));
    wire.fate = Box::new(|_, _, _| Fate::Lost);
    // T3, two polls, and two tries of a reset.
    wire.pass(Duration::from_secs(60 + 4 * 3 + 1));
    assert_eq!(wire.aborted(A), Some(Reason::TimedOut));
    assert_eq!(wire.aborted(B), Some(Reason::TimedOut));
}

#[test]
fn a_peer_that_answers_and_takes_nothing_is_given_up_too() {
    let config = Config { n2: 3, ..Config::default() };
    let mut wire = standing(config, dce(config));
    // As a line does that corrupts all that is long.
    wire.fate = Box::new(|_, octets, _| if octets[1] & 1 == 0 { Fate::Lost } else { Fate::Arrives });
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, b"x"));
    wire.pass(Duration::from_secs(3 * 3 + 1));
    assert_eq!(wire.resets(A), 1);
}

#[test]
fn two_resets_that_are_answered_late_are_two_and_no_more() {
    let mut wire = standing(Config::default(), dce(Config::default()));
    wire.answer_late(A);
    // FRMR: we reset. Then the peer does.
    wire.inject(A, &hex("01 97 00 00 01"));
    wire.pass(ms(5));
    wire.inject(A, &hex("03 3f"));
    assert_eq!(wire.resets(A), 2);
    let before = counters(&mut wire, A);
    wire.answer(A);
    assert_ne!(wire.log().last().unwrap(), &(A, hex("03 73")));
    wire.answer(A);
    assert_eq!(wire.log().last().unwrap(), &(A, hex("03 73")));
    wire.pass(ms(5));
    let after = counters(&mut wire, A);
    assert_eq!((after.resets, after.sabm_sent), (before.resets, before.sabm_sent));
    assert_eq!(wire.credit(A), 7);
}

#[test]
fn a_peer_that_clears_what_it_has_set_up_is_not_taken_to_stand() {
    let mut wire = Wire::new(ms(0));
    wire.device(A);
    wire.add("lapb a", &["line a"], Lapb::new(Config::default()).unwrap());
    wire.user(A, "lapb a");
    wire.start();
    wire.say(A, active(1));
    // It sets up as well, its UA is lost, and then it clears.
    wire.inject(A, &hex("03 3f"));
    wire.inject(A, &hex("03 53"));
    wire.pass(Duration::from_secs(4));
    assert_eq!(wire.session(A), None);
    assert_eq!(wire.log().last().unwrap(), &(A, hex("01 3f")));
}

#[test]
fn a_lost_frame_is_asked_for_and_sent_again_at_once() {
    let mut wire = standing(Config::default(), dce(Config::default()));
    // The second I frame of A.
    let mut seen = 0;
    wire.fate = Box::new(move |from, octets, _| {
        let is_information = from == A && octets[1] & 1 == 0;
        seen += u32::from(is_information);
        if is_information && seen == 2 { Fate::Lost } else { Fate::Arrives }
    });
    let session = wire.session(A).unwrap();
    for n in 0..5 {
        wire.say(A, data(session, &[n]));
    }
    wire.pass(ms(20));
    assert_eq!(wire.taken(B), [[0], [1], [2], [3], [4]]);
    let (a, b) = (counters(&mut wire, A), counters(&mut wire, B));
    assert_eq!((b.rej_sent, b.out_of_sequence), (1, 3));
    assert_eq!((a.i_again, a.t1_expired), (4, 0));
}

#[test]
fn the_last_frame_lost_is_found_by_a_poll_when_t1_expires() {
    let mut wire = standing(Config::default(), dce(Config::default()));
    let mut first = true;
    wire.fate = Box::new(move |from, octets, _| {
        let lost = from == A && octets[1] & 1 == 0 && core::mem::replace(&mut first, false);
        if lost { Fate::Lost } else { Fate::Arrives }
    });
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, b"last"));
    wire.pass(ms(2_900));
    assert!(wire.taken(B).is_empty());
    wire.pass(ms(200));
    assert_eq!(wire.taken(B), [b"last"]);
    // RR with P and what answers it.
    let log = wire.log();
    let tail = &log[log.len() - 4..];
    assert_eq!(
        [&tail[1], &tail[2], &tail[3]],
        [&(A, hex("01 11")), &(B, hex("01 11")), &(A, [&hex("01 00")[..], b"last"].concat())]
    );
}

#[test]
fn the_window_stops_the_sender_and_its_last_frame_polls() {
    let slow = Config { t2: ms(2_000), acknowledge: Some(7), k: 3, ..Config::default() };
    let polling = Config { k: 3, ..Config::default() };
    let mut wire = standing(polling, dce(Config { k: 7, ..slow }));
    assert_eq!(wire.credit(A), 3);
    let session = wire.session(A).unwrap();
    for n in 0..3 {
        wire.say(A, data(session, &[n]));
    }
    assert_eq!(wire.credit(A), 0);
    wire.pass(ms(4));
    // The third has P, so the answer does not wait for T2.
    assert_eq!(wire.credit(A), 3);
    assert_eq!(wire.log().last().unwrap(), &(B, hex("01 71")));
}

#[test]
fn a_full_window_is_acknowledged_at_once() {
    let config = Config { poll: false, t2: ms(2_000), acknowledge: Some(7), ..Config::default() };
    let mut wire = standing(config, dce(config));
    let session = wire.session(A).unwrap();
    for n in 0..6 {
        wire.say(A, data(session, &[n]));
    }
    wire.pass(ms(10));
    assert_eq!(wire.credit(A), 1);
    wire.say(A, data(session, &[6]));
    wire.pass(ms(3));
    assert_eq!(wire.credit(A), 7);
}

#[test]
fn a_user_without_room_makes_the_peer_wait() {
    let small = Config { receive: 2, ..Config::default() };
    let mut wire = standing(Config::default(), dce(small));
    wire.hold(B, true);
    let session = wire.session(A).unwrap();
    for n in 0..7 {
        wire.say(A, data(session, &[n]));
    }
    // T1 polls, and RNR with F answers each time; N2 polls are no end.
    wire.pass(Duration::from_secs(60));
    assert_eq!(wire.taken(B).len(), 2);
    assert!(counters(&mut wire, A).t1_expired > 12);
    assert_eq!(wire.aborted(A), None);
    wire.hold(B, false);
    wire.pass(ms(50));
    assert_eq!(wire.taken(B).len(), 7);
    let b = counters(&mut wire, B);
    assert!(b.rnr_sent > 0 && b.busy_discarded > 0, "{b:?}");
}

#[test]
fn a_reset_by_a_user_empties_the_link_and_both_go_on() {
    let mut wire = standing(Config::default(), dce(Config::default()));
    let session = wire.session(A).unwrap();
    wire.fate = Box::new(|from, octets, _| if from == A && octets[1] & 1 == 0 { Fate::Lost } else { Fate::Arrives });
    wire.say(A, data(session, b"lost"));
    wire.pass(ms(3));
    wire.fate = Box::new(|_, _, _| Fate::Arrives);
    let reason = Reason::User;
    wire.say(A, Request::Reset { session, reason });
    wire.pass(ms(5));
    assert_eq!((wire.resets(A), wire.resets(B)), (1, 1));
    assert_eq!((wire.credit(A), wire.credit(B)), (7, 7));
    wire.say(A, data(session, b"after"));
    wire.pass(ms(5));
    assert_eq!(wire.taken(B), [b"after"]);
}

#[test]
fn a_frame_that_cannot_be_is_rejected_and_the_link_is_reset() {
    for (frame, why, found) in [
        // S frame of no kind, RR with information, N(R) beyond what was sent, an I frame as a response.
        ("01 0d", "01", "a control field that is not defined for a command (octets 01 0d)"),
        ("01 01 00", "03", "information of 1 octet, expected none in this frame (octets 01 01 ...)"),
        ("01 61", "08", "N(R) is 3, expected 0 (octets 01 61)"),
        ("03 00 01", "01", "a control field that is not defined for a response (octets 03 00 ...)"),
    ] {
        let mut wire = standing(Config::default(), dce(Config::default()));
        wire.inject(B, &hex(frame));
        wire.pass(ms(10));
        let frmr = wire.log().into_iter().find(|(_, octets)| octets[1] & 0xef == 0x87);
        let (from, octets) = frmr.expect(frame);
        assert_eq!((from, octets.len()), (B, 5), "{frame}");
        assert_eq!(octets[2], hex(frame)[1]);
        assert_eq!(octets[4..], hex(why)[..], "{frame}");
        // Who is rejected sends SABM, and the link stands again.
        assert_eq!((wire.resets(A), wire.resets(B)), (1, 1), "{frame}");
        assert_violation(wire.why_reset(B).as_ref(), layer::LAPB, found);
        let refused = Reason::peer(x25::Cause::FrameRejected(hex(why)[0]));
        assert_eq!(wire.why_reset(A), Some(refused), "{frame}");
        let session = wire.session(A).unwrap();
        wire.say(A, data(session, b"on"));
        wire.pass(ms(5));
        assert_eq!(wire.taken(B), [b"on"]);
    }
}

#[test]
fn information_longer_than_n1_is_rejected() {
    let small = Config { information: 10, ..Config::default() };
    let mut wire = standing(Config::default(), dce(small));
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, &[0; 11]));
    wire.pass(ms(10));
    let (_, octets) = wire.log().into_iter().find(|(_, octets)| octets[1] & 0xef == 0x87).unwrap();
    assert_eq!(octets[4], 4);
}

#[test]
fn the_line_going_down_ends_the_session() {
    let mut wire = standing(Config::default(), dce(Config::default()));
    wire.report(A, Report::Down);
    assert_eq!(wire.aborted(A), Some(Reason::Down));
    wire.report(A, Report::Up);
    // The peer notices when it next sends or T3 expires; a new set-up is a reset to it.
    wire.say(A, active(3));
    wire.pass(ms(5));
    assert!(wire.session(A).is_some());
    assert_eq!(wire.resets(B), 1);
}

#[test]
fn what_is_too_long_without_credit_or_for_no_session_is_dropped() {
    let mut wire = standing(Config::default(), dce(Config::default()));
    let session = wire.session(A).unwrap();
    wire.say(A, data(session, &[0; 3000]));
    assert_eq!(wire.credit(A), 7);
    wire.say(A, data(handle(4), b"x"));
    let before = wire.log().len();
    wire.pass(ms(5));
    assert_eq!(wire.log().len(), before);
    assert_eq!(wire.bench.drops("lapb a", "data longer than a frame"), 1);
    assert_eq!(wire.bench.drops("lapb a", "no such session"), 1);
}

/// A capture of Linux's kernel LAPB as DTE with a peer that is a DCE: what the peer sent is what our DCE sends, given
/// the same frames.
#[test]
fn our_dce_answers_linux_as_its_peer_did() {
    let config = Config { acknowledge: Some(1), poll: false, ..Config::default() };
    let mut wire = Wire::new(ms(0));
    wire.device(A);
    wire.add("lapb a", &["line a"], Lapb::new(dce(config)).unwrap());
    wire.user(A, "lapb a");
    wire.start();
    wire.say(A, passive(7));
    // From Linux, and what went back; data that the peer's packet layer sent of its own is handed down at its place.
    let exchange: [(&str, &[&str], &[&str]); 9] = [
        ("01 3f", &[], &["01 73"]),
        ("01 00 10 00 fb 00 00", &[], &["01 21"]),
        (
            "",
            &["10 00 ff", "10 01 0b 45 12 34 59 00 10 06 42 0a 0a 43 07 07 03 01 01 00"],
            &["03 20 10 00 ff", "03 22 10 01 0b 45 12 34 59 00 10 06 42 0a 0a 43 07 07 03 01 01 00"],
        ),
        ("01 42 10 01 0f 00 06 42 0a 0a 43 07 07", &[], &["01 41"]),
        (
            "",
            &["10 01 00 68", "10 01 02 68", "10 01 04 68"],
            &["03 44 10 01 00 68", "03 46 10 01 02 68", "03 48 10 01 04 68"],
        ),
        ("01 a4 10 01 60 68", &[], &["01 61"]),
        ("01 a6 10 01 62 68", &[], &["01 81"]),
        ("01 a8 10 01 64 68", &[], &["01 a1"]),
        ("", &["10 01 61", "10 01 13 00 00"], &["03 aa 10 01 61", "03 ac 10 01 13 00 00"]),
    ];
    for (from_linux, handed_down, expected) in exchange {
        let before = wire.log().len();
        if !from_linux.is_empty() {
            wire.inject(A, &hex(from_linux));
        }
        for packet in handed_down {
            let session = wire.session(A).unwrap();
            wire.say(A, data(session, &hex(packet)));
        }
        wire.pass(ms(1));
        let sent: Vec<Vec<u8>> = wire.log()[before..].iter().map(|(_, it)| it.clone()).collect();
        let expected: Vec<Vec<u8>> = expected.iter().map(|it| hex(it)).collect();
        assert_eq!(sent, expected, "after {from_linux:?}");
    }
    wire.inject(A, &hex("01 ea 10 01 17"));
    wire.pass(ms(1));
    assert_eq!(wire.log().last().unwrap().1, hex("01 c1"));
    assert_eq!(wire.taken(A).len(), 6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Frames are lost at random once the link stands: what arrives is what was sent, in order, without a reset. While
    /// it is set up from both ends, the loss of a UA can make one end begin before the other, and SABM then resets it.
    #[test]
    fn nothing_is_lost_and_nothing_is_out_of_order(seed: u64, loss in 0_u64..35, k in 1_u8..8, extended: bool, poll: bool, receive in 1_u32..10) {
        let config = Config {
            modulo: if extended { Modulo::Extended } else { Modulo::Eight },
            k,
            poll,
            receive,
            n2: 200,
            t1: ms(100),
            t2: ms(10),
            ..Config::default()
        };
        let mut wire = standing(config, dce(config));
        let mut state = seed;
        wire.fate = Box::new(move |_, _, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) % 100 < loss { Fate::Lost } else { Fate::Arrives }
        });
        let (mut next, mut rounds) = ([0_u8; 2], 0);
        while wire.taken(A).len() < 60 || wire.taken(B).len() < 60 {
            for (n, end) in [A, B].into_iter().enumerate() {
                while let Some(session) = wire.session(end).filter(|_| wire.credit(end) > 0 && next[n] < 60) {
                    wire.say(end, data(session, &[next[n]]));
                    next[n] += 1;
                }
            }
            wire.pass(ms(7));
            rounds += 1;
            prop_assert!(rounds < 20_000, "{:?} of {next:?}", (wire.taken(A).len(), wire.taken(B).len()));
        }
        let all: Vec<Vec<u8>> = (0..60).map(|n| vec![n]).collect();
        prop_assert_eq!(wire.taken(A), all.clone());
        prop_assert_eq!(wire.taken(B), all);
        prop_assert_eq!((wire.resets(A), wire.resets(B)), (0, 0));
    }

    /// Whatever octets come, in any order and at any time.
    #[test]
    fn no_frames_make_it_panic(frames in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..8), 0_u64..4_000), 0..60), open: bool) {
        let mut wire = pair(Config::default(), dce(Config::default()));
        wire.say(A, if open { active(1) } else { passive(1) });
        wire.say(B, active(2));
        for (mut octets, gap) in frames {
            if let Some(first) = octets.first_mut() {
                *first = if *first & 1 == 0 { 1 } else { 3 };
            }
            wire.inject(A, &octets);
            wire.pass(ms(gap));
        }
    }
}

#[test]
fn an_open_waits_for_a_line_that_is_down_and_ends_with_the_line_that_is_not_to_be_had() {
    let mut wire = pair(Config::default(), dce(Config::default()));
    wire.say(B, passive(7));
    wire.report(A, Report::Down);
    wire.say(A, active(1));
    wire.pass(Duration::from_secs(600));
    assert!(wire.log().is_empty());
    wire.report(A, Report::Down);
    assert_eq!(wire.aborted(A), Some(Reason::Down));
    wire.say(A, active(1));
    wire.report(A, Report::Up);
    wire.pass(ms(5));
    assert!(wire.session(A).is_some() && wire.session(B).is_some());
}

#[test]
fn a_switched_circuit_says_which_end_it_is() {
    let mut wire = pair(Config::default(), Config::default());
    wire.say(B, passive(7));
    wire.report(A, Report::special(LineEnd { dte: false }));
    wire.say(A, active(1));
    wire.pass(ms(5));
    assert!(wire.session(A).is_some());
    assert_eq!(wire.log()[..2], [(A, hex("03 3f")), (B, hex("03 73"))]);
}
