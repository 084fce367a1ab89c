//! Packets that must be refused change nothing.
//!
//! Not of this kind, for X.25 annex C wants more than an answer: what is wrong on a channel in data transfer (tables
//! C-3 and C-4: RESET, of which [that nothing is believed](super::rejects) has a test of its own) or before it (CLEAR),
//! what comes on a channel without a call and is no call or clearing (state p1: CLEAR with diagnostic 20), and RESTART
//! CONFIRMATION in r1 (table C-2: RESTART).

use super::states::{D, R};
use super::*;
use crate::lapb::tests::wire::End;
use kumiki_testkit::bench::cases;
use kumiki_testkit::refused::{Answer, RefusedUnit, Session, Tally, UnitEffects, undisturbed};

#[derive(Clone, Debug)]
enum Step {
    Call(End),
    Listen(End),
    Say(End, usize, bool),
    Interrupt(End),
    Hold(End, bool),
    Reset(End),
    Answer(End),
    Clear(End),
    /// The line below goes, or comes: then the interface is restarted.
    Line(End, bool),
    Pass(u64),
}

struct Talk(Wire);

/// A channel that no call comes to: those of calls go from 30 down and from 2 up, and few stand at a time.
const FREE: u8 = 20;

impl Talk {
    fn new(config: &Config, loss: u64, mut state: u64) -> Self {
        let mut wire = pair(config.clone(), dce(config));
        wire.answer_late(B);
        wire.fate = Box::new(move |_, _, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) % 100 < loss { Fate::Lost } else { Fate::Arrives }
        });
        Self(wire)
    }

    /// What the end `to` must refuse now.
    fn to(&mut self, to: End) -> Vec<RefusedUnit<End>> {
        let x25 = self.0.node::<X25>(&to.name("x25"));
        let (line, modulo) = (x25.line, x25.config.modulo);
        let is_dce = x25.role(line) == Role::Dce;
        let line = x25.lines.get(line).unwrap();
        let (r, channels) = (line.r, line.channels.clone());
        let states: Vec<(u8, P, D)> = channels
            .into_iter()
            .map(|(channel, handle)| {
                let circuit = x25.circuit(handle).unwrap();
                (channel as u8, circuit.p, circuit.d)
            })
            .collect();
        let (gfi, other) = match modulo {
            Modulo::Eight => (0x10, 0x20),
            Modulo::Extended => (0x20, 0x10),
        };
        let mut all = Vec::new();
        let mut add = |why, unit: Vec<u8>, answer| {
            all.push(RefusedUnit { why, to, unit, answer });
        };
        // A DCE tells what was wrong by DIAGNOSTIC; a DTE has no such packet.
        let told = || {
            if is_dce && r == R::Ready {
                Answer::Like(|octets| matches!(octets, [_, 0, 0xf1, ..]))
            } else {
                Answer::Nothing
            }
        };
        let p = |channel: u8, rest: &[u8]| [&[gfi, channel], rest].concat();
        // RR, DATA and a call, as they would be right elsewhere.
        let (rr, data) = match modulo {
            Modulo::Eight => (vec![0x01], vec![0x00, 7]),
            Modulo::Extended => (vec![0x01, 0], vec![0x00, 0, 7]),
        };
        let call = vec![0x0b, 0x01, 0x10, 0x00];
        for len in 0..3 {
            add("fewer than three octets", p(FREE, &[])[..len.min(2)].to_vec(), told());
        }
        add("another modulus", [&[other, FREE], &call[..]].concat(), told());
        add("no general format", [&[0x00, FREE], &call[..]].concat(), told());
        add("DIAGNOSTIC", p(0, &[0xf1, 0x24]), Answer::Nothing);
        if r != R::Ready {
            for rest in [&rr, &data, &call, &vec![0x13, 0, 0], &vec![0x23, 1]] {
                add("a packet during a restart", p(FREE, rest), Answer::Nothing);
                for (channel, ..) in &states {
                    add("a packet of a call during a restart", p(*channel, rest), Answer::Nothing);
                }
            }
            return all;
        }
        for rest in [&rr, &data, &call, &vec![0x13, 0, 0], &vec![0x17]] {
            add("a channel that is not assigned", p(200, rest), told());
            add("channel 0", p(0, rest), told());
        }
        for restart in [0xfb, 0xff] {
            add("RESTART with a channel", p(FREE, &[restart, 0, 0]), told());
        }
        let confirmed = Answer::These(p(FREE, &[0x17]));
        add("CLEAR without a call", p(FREE, &[0x13, 0, 0]), confirmed);
        for (channel, p_state, d_state) in states {
            if p_state == P::OursClearing {
                for rest in [&rr, &data, &call, &vec![0x0f], &vec![0x1b, 0, 0], &vec![0x23, 1]] {
                    add("a packet of a call that we clear", p(channel, rest), Answer::Nothing);
                }
                add("a wrong packet of a call that we clear", p(channel, &[0x2b]), Answer::Nothing);
            }
            if (p_state, d_state) == (P::Transfer, D::OursResetting) {
                for rest in [&rr, &data, &vec![0x23, 1], &vec![0x27], &vec![0x09, 0]] {
                    add("a packet of a channel that we reset", p(channel, rest), Answer::Nothing);
                }
                add("a wrong packet of a channel that we reset", p(channel, &[0x2b]), Answer::Nothing);
            }
            if (p_state, d_state) == (P::Transfer, D::TheirsResetting) {
                add("RESET again, which waits for a user", p(channel, &[0x1b, 0, 0]), Answer::Nothing);
            }
        }
        all
    }
}

impl Session for Talk {
    type Step = Step;
    type End = End;

    fn step(&mut self, step: &Step) {
        let wire = &mut self.0;
        match *step {
            Step::Call(end) => {
                if wire.session(end).is_none() {
                    wire.say(end, call("12345"));
                }
            }
            Step::Listen(end) => wire.say(end, listen("")),
            Step::Say(end, len, more) => {
                if let Some(session) = wire.session(end).filter(|_| wire.credit(end) > 0) {
                    wire.say(end, data(session, &vec![1; len], !more));
                }
            }
            Step::Interrupt(end) => {
                if let Some(session) = wire.session(end) {
                    let data = Message::from_octets(&[1]);
                    wire.say(end, Request::Expedited { session, data });
                }
            }
            Step::Hold(end, holds) => wire.hold(end, holds),
            Step::Reset(end) => {
                if let Some(session) = wire.session(end) {
                    let reason = Reason::User;
                    wire.say(end, Request::Reset { session, reason });
                }
            }
            Step::Answer(end) => {
                if wire.has_unanswered(end) {
                    wire.answer(end);
                }
            }
            Step::Clear(end) => {
                if let Some(session) = wire.session(end) {
                    wire.say(end, abort(session));
                }
            }
            Step::Line(end, is_up) => {
                wire.report(end, if is_up { Report::Up } else { Report::Down });
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

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(A), Just(B)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => end().prop_map(Step::Call),
        1 => end().prop_map(Step::Listen),
        8 => (end(), 1_usize..80, any::<bool>()).prop_map(|(end, len, more)| Step::Say(end, len, more)),
        1 => end().prop_map(Step::Interrupt),
        2 => (end(), any::<bool>()).prop_map(|(end, holds)| Step::Hold(end, holds)),
        2 => end().prop_map(Step::Reset),
        2 => Just(Step::Answer(B)),
        1 => end().prop_map(Step::Clear),
        1 => (end(), any::<bool>()).prop_map(|(end, is_up)| Step::Line(end, is_up)),
        6 => (0_u64..4).prop_map(Step::Pass),
        1 => (4_u64..2000).prop_map(Step::Pass),
        1 => (60_000_u64..250_000).prop_map(Step::Pass),
    ]
}

fn session() -> impl Strategy<Value = Vec<(Step, Vec<usize>)>> {
    let picks = || prop::collection::vec(any::<usize>(), 0..4);
    let first = prop_oneof![
        3 => Just(vec![Step::Listen(A), Step::Listen(B), Step::Call(A), Step::Pass(5)]),
        1 => Just(vec![Step::Listen(A), Step::Call(B), Step::Pass(5)]),
        1 => Just(vec![]),
    ];
    let rest = prop::collection::vec((step(), picks()), 1..40);
    (first, rest).prop_map(|(first, rest)| {
        let first = first.into_iter().map(|step| (step, vec![0]));
        first.chain(rest).collect()
    })
}

#[test]
fn a_packet_that_is_refused_changes_nothing() {
    let tally = Tally::default();
    let mut runner = proptest::test_runner::TestRunner::new(cases(300));
    let case = (session(), any::<bool>(), any::<bool>(), 0_u64..12, any::<u64>());
    runner
        .run(&case, |(steps, extended, reject, loss, state)| {
            let small = Flow { packet_out: 16, packet_in: 16, ..Flow::DEFAULT };
            let config = Config {
                modulo: if extended { Modulo::Extended } else { Modulo::Eight },
                wanted: small,
                reject,
                ranges: Ranges { permanent: 1, two_way: (2, 30), ..Config::default().ranges },
                ..frames()
            };
            undisturbed(|| Talk::new(&config, loss, state), &steps, &tally)
        })
        .unwrap();
    for why in [
        "another modulus",
        "a channel that is not assigned",
        "CLEAR without a call",
        "a packet during a restart",
        "a packet of a call that we clear",
        "a packet of a channel that we reset",
    ] {
        assert!(tally.borrow().contains_key(why), "{why}: {tally:?}");
    }
}
