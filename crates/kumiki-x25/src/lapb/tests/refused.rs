//! Frames that must be refused change nothing.
//!
//! Not of this kind, for the standard wants more than an answer: a control field that is not defined, information where
//! there may be none or too much of it, and an N(R) of nothing that was sent, in information transfer. They are
//! answered by FRMR, and only a set-up ends that (X.25 section 2.4.7.3); that nothing of *them* is believed has a test
//! of its own. An I frame out of sequence, or for a user without room, is refused in its information alone: its N(R)
//! and P count (X.25 sections 2.4.5.4 and 2.4.5.7).

use super::wire::End;
use super::*;
use kumiki_testkit::bench::cases;
use kumiki_testkit::refused::{Answer, RefusedUnit, Session, Tally, UnitEffects, undisturbed};

#[derive(Clone, Debug)]
enum Step {
    Open(End, bool),
    Say(End, usize),
    Hold(End, bool),
    Reset(End),
    Abort(End),
    /// A reset is answered by its user late, and now.
    Answer(End),
    Pass(u64),
}

struct Talk(Wire);

impl Talk {
    fn new(config: Config, loss: u64, mut state: u64) -> Self {
        let mut wire = pair(config, dce(config));
        wire.answer_late(B);
        wire.fate = Box::new(move |_, _, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) % 100 < loss { Fate::Lost } else { Fate::Arrives }
        });
        Self(wire)
    }

    fn lapb(&mut self, end: End) -> &mut Lapb {
        self.0.node(&end.name("lapb"))
    }
}

/// A frame with the address of a command to `role`, or of a response to it.
fn frame(role: Role, response: bool, rest: &[u8]) -> Vec<u8> {
    let address = if response { role.peer() } else { role.own() };
    [&[address], rest].concat()
}

impl Session for Talk {
    type Step = Step;
    type End = End;

    fn step(&mut self, step: &Step) {
        let wire = &mut self.0;
        match *step {
            Step::Open(end, is_active) => {
                wire.say(end, if is_active { active(1) } else { passive(7) });
            }
            Step::Say(end, len) => {
                if let Some(session) = wire.session(end).filter(|_| wire.credit(end) > 0) {
                    wire.say(end, data(session, &vec![1; len]));
                }
            }
            Step::Hold(end, holds) => wire.hold(end, holds),
            Step::Reset(end) => {
                if let Some(session) = wire.session(end) {
                    let reason = Reason::User;
                    wire.say(end, Request::Reset { session, reason });
                }
            }
            Step::Abort(end) => {
                if let Some(session) = wire.session(end) {
                    let (reason, data) = (Reason::User, None);
                    wire.say(end, Request::Abort { session, reason, data });
                }
            }
            Step::Answer(end) => {
                if wire.has_unanswered(end) {
                    wire.answer(end);
                }
            }
            Step::Pass(time) => wire.pass(ms(time)),
        }
    }

    fn trace(&self) -> &[String] {
        self.0.trace()
    }

    fn refused(&mut self) -> Vec<RefusedUnit<End>> {
        [A, B].into_iter().flat_map(|end| self.to(end)).collect()
    }

    fn intrude(&mut self, to: End, unit: &[u8]) -> UnitEffects {
        self.0.intrude(to, unit)
    }
}

impl Talk {
    /// What the end `to` must refuse now.
    fn to(&mut self, to: End) -> Vec<RefusedUnit<End>> {
        let lapb = self.lapb(to);
        let (phase, modulo, role) = (lapb.phase, lapb.config.modulo, lapb.config.role);
        let listens = lapb.listener.is_some();
        let frmr = lapb.reject;
        let other_sabm = match modulo {
            Modulo::Eight => 0x6f,
            Modulo::Extended => 0x2f,
        };
        // RR and I with N(R) and N(S) of 0, with P or F and without.
        let (rr, polled, information) = match modulo {
            Modulo::Eight => (vec![0x01], vec![0x11], vec![0x00, 9]),
            Modulo::Extended => (vec![0x01, 0], vec![0x01, 1], vec![0x00, 0, 9]),
        };
        let mut all = Vec::new();
        let mut add = |why, unit: Vec<u8>, answer| {
            all.push(RefusedUnit { why, to, unit, answer });
        };
        let command = |rest: &[u8]| frame(role, false, rest);
        let response = |rest: &[u8]| frame(role, true, rest);
        let dm = |f: u8| Answer::These(vec![role.own(), 0x0f | f]);
        add("no octet", Vec::new(), Answer::Nothing);
        add("an address alone", command(&[]), Answer::Nothing);
        if modulo == Modulo::Extended {
            add("half a control field", command(&[0x01]), Answer::Nothing);
        }
        for address in [0x00, 0x07, 0x0f, 0xff] {
            for rest in [&rr, &information, &vec![0x3f], &vec![0x53], &vec![0x87]] {
                let unit = [&[address], &rest[..]].concat();
                add("an address of neither end", unit, Answer::Nothing);
            }
        }
        match phase {
            Phase::Disconnected => {
                for function in [0x63, 0x0f, 0x87] {
                    add("a response to nothing", response(&[function]), Answer::Nothing);
                }
                add("a command without a link", command(&rr), Answer::Nothing);
                add("a poll without a link", command(&polled), dm(0x10));
                add("SABM with information", command(&[0x3f, 1]), dm(0x10));
                add("SABM of the other modulus", command(&[other_sabm]), dm(0));
                if !listens {
                    let sabm = lapb_sabm(modulo);
                    add("SABM that nobody waits for", command(&[sabm]), dm(0));
                }
            }
            Phase::Setup => {
                for function in [0x63, 0x0f] {
                    add("an answer without F", response(&[function]), Answer::Nothing);
                    let late = response(&[function | 0x10, 1]);
                    add("an answer with information", late, Answer::Nothing);
                }
                add("FRMR during set-up", response(&[0x87, 0, 0, 0]), Answer::Nothing);
                add("a command during set-up", command(&information), Answer::Nothing);
                add("a poll during set-up", command(&polled), Answer::Nothing);
            }
            Phase::Disconnecting => {
                add("UA without F to DISC", response(&[0x63]), Answer::Nothing);
                add("a command to who clears", command(&information), Answer::Nothing);
                add("SABM to who clears", command(&[lapb_sabm(modulo)]), dm(0));
            }
            Phase::Transfer => {
                for function in [0x63, 0x73] {
                    add("UA that answers nothing", response(&[function]), Answer::Nothing);
                }
                add("SABM of the other modulus", command(&[other_sabm]), dm(0));
            }
            Phase::Resetting | Phase::Offered => {
                let sabm = lapb_sabm(modulo);
                add("SABM again, which waits for a user", command(&[sabm]), Answer::Nothing);
                add("a command while a user is asked", command(&information), Answer::Nothing);
                add("UA while a user is asked", response(&[0x73]), Answer::Nothing);
            }
            Phase::Rejecting => {
                let mut octets = vec![0; Reject::len(modulo)];
                frmr.emit(modulo, &mut octets);
                let again = [&[role.own(), 0x97], &octets[..]].concat();
                add("a command after FRMR", command(&information), Answer::Nothing);
                add("a poll after FRMR", command(&polled), Answer::These(again));
                add("UA after FRMR", response(&[0x73]), Answer::Nothing);
            }
        }
        all
    }
}

const fn lapb_sabm(modulo: Modulo) -> u8 {
    match modulo {
        Modulo::Eight => 0x2f,
        Modulo::Extended => 0x6f,
    }
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(A), Just(B)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (end(), any::<bool>()).prop_map(|(end, active)| Step::Open(end, active)),
        8 => (end(), 1_usize..4).prop_map(|(end, len)| Step::Say(end, len)),
        2 => (end(), any::<bool>()).prop_map(|(end, holds)| Step::Hold(end, holds)),
        1 => end().prop_map(Step::Reset),
        1 => end().prop_map(Step::Abort),
        2 => Just(Step::Answer(B)),
        6 => (0_u64..4).prop_map(Step::Pass),
        3 => (4_u64..2000).prop_map(Step::Pass),
    ]
}

/// Steps, the first of which set the link up, each with what comes before it.
fn session() -> impl Strategy<Value = Vec<(Step, Vec<usize>)>> {
    let picks = || prop::collection::vec(any::<usize>(), 0..4);
    let first = prop_oneof![
        3 => Just(vec![Step::Open(A, true), Step::Open(B, true), Step::Pass(5)]),
        1 => Just(vec![Step::Open(B, false), Step::Open(A, true), Step::Pass(5)]),
        1 => Just(vec![]),
    ];
    let rest = prop::collection::vec((step(), picks()), 1..40);
    (first, rest).prop_map(|(first, rest)| {
        let first = first.into_iter().map(|step| (step, vec![0]));
        first.chain(rest).collect()
    })
}

#[test]
fn a_frame_that_is_refused_changes_nothing() {
    let tally = Tally::default();
    let mut runner = proptest::test_runner::TestRunner::new(cases(300));
    let case = (session(), any::<bool>(), 0_u64..20, any::<u64>());
    runner
        .run(&case, |(steps, extended, loss, state)| {
            let config = Config {
                modulo: if extended { Modulo::Extended } else { Modulo::Eight },
                t1: ms(300),
                t2: ms(20),
                t3: ms(900),
                n2: 4,
                k: 3,
                receive: 4,
                ..Config::default()
            };
            undisturbed(|| Talk::new(config, loss, state), &steps, &tally)
        })
        .unwrap();
    for why in [
        "an address of neither end",
        "a command during set-up",
        "UA that answers nothing",
        "SABM of the other modulus",
        "SABM to who clears",
        "UA while a user is asked",
    ] {
        assert!(tally.borrow().contains_key(why), "{why}: {tally:?}");
    }
}

/// X.25 section 2.4.7.3: one FRMR, and nothing of the frame itself is believed: no N(R), no information, no P but for
/// its answer.
#[test]
fn nothing_is_believed_of_a_frame_that_is_answered_by_frmr() {
    for (bad, bits) in [
        // Two frames of ours wait for acknowledgment. I as a response, with a good N(R).
        ("01 40 aa", 0x01),
        // RR with information, N(R) = 2.
        ("03 41 00", 0x03),
        // N(R) = 3, of nothing that was sent: of RR and of I.
        ("03 61", 0x08),
        ("03 60 aa", 0x08),
        // A supervisory frame and an unnumbered one that are not defined.
        ("03 4d", 0x01),
        ("03 ef", 0x01),
        // SABM and DISC with information.
        ("03 3f 00", 0x03),
        ("03 53 00", 0x03),
        // SABM of the other modulus with information.
        ("03 6f 00", 0x03),
    ] {
        let config = Config { poll: false, ..Config::default() };
        let mut wire = standing(config, dce(config));
        wire.fate = Box::new(|_, _, _| Fate::Lost);
        let session = wire.session(A).unwrap();
        wire.say(A, data(session, b"1"));
        wire.say(A, data(session, b"2"));
        let UnitEffects { sent, heard } = wire.intrude(A, &hex(bad));
        let [frmr] = &sent[..] else {
            panic!("{bad}: {sent:02x?}");
        };
        let p = hex(bad)[1] & 0x10;
        let p = if hex(bad)[0] == 0x03 { p } else { 0 };
        // V(R) = 0, V(S) = 2.
        let c_r = if hex(bad)[0] == 0x01 { 0x10 } else { 0 };
        let expected = [0x03, 0x87 | p, hex(bad)[1], 0x04 | c_r, bits];
        assert_eq!(frmr[1..], expected[1..], "{bad}");
        assert_eq!(heard, [""; 0], "{bad}");
        // Both frames are still there when the link is set up again: nothing was taken as acknowledged.
        let lapb = wire.node::<Lapb>("lapb a");
        assert_eq!((lapb.queued(), lapb.v.va, lapb.v.vr), (2, 0, 0), "{bad}");
    }
}

/// Whoever polls a link that has refused a frame cannot put off its set-up for ever.
#[test]
fn polls_after_frmr_do_not_put_off_what_follows() {
    let config = Config { t1: ms(100), t2: ms(10), n2: 3, ..Config::default() };
    let mut wire = standing(config, dce(config));
    // RR with information; then a poll each 50 ms.
    wire.inject(A, &hex("03 01 00"));
    wire.fate = Box::new(|_, _, _| Fate::Lost);
    for _ in 0..20 {
        wire.intrude(A, &hex("03 11"));
        wire.pass(ms(50));
    }
    assert_eq!(wire.resets(A), 1);
}

/// A peer of which frames are taken is there, and is not asked whether it is.
#[test]
fn each_frame_that_is_taken_begins_t3_again() {
    let config = Config { t1: ms(100), t2: ms(10), t3: ms(1000), ..Config::default() };
    // RR, and I: of the latter each has the next number.
    for is_information in [false, true] {
        let mut wire = standing(config, dce(config));
        wire.fate = Box::new(|_, _, _| Fate::Lost);
        let polls = |wire: &mut Wire| wire.node::<Lapb>("lapb a").v.polled;
        for number in 0..5 {
            wire.pass(ms(900));
            assert!(!polls(&mut wire), "{is_information} {number}");
            let frame = if is_information { [0x03, number << 1, 7].to_vec() } else { hex("03 01") };
            wire.inject(A, &frame);
        }
        wire.pass(ms(1001));
        assert!(polls(&mut wire), "{is_information}");
    }
}
