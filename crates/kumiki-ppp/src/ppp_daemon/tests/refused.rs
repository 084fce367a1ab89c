//! Frames that must be refused change nothing: of LCP, of the network control protocols, of authentication.
//!
//! Not of this kind, for RFC 1661 wants more than an answer: a Configure-Ack or Configure-Nak that answers our last
//! request, and a Terminate-Ack that answers nothing, in Opened (section 4.1: RCA, RCN and RTA begin the negotiation
//! again), Code-Reject of a code that LCP cannot do without (RXJ-), and our own magic number (section 6.4: the link is
//! looped back).

use kumiki_graph::Duration;
use proptest::prelude::*;

use super::authentication::secretive;
use super::link::{LineFate, Link};
use super::negotiation::SECOND;
use crate::ppp_daemon::automaton::State;
use crate::ppp_daemon::{Config, Methods, Phase};
use kumiki_testkit::bench::cases;
use kumiki_testkit::refused::{Answer, RefusedUnit, Session, Tally, UnitEffects, undisturbed};

const LCP: u16 = 0xc021;
const IPCP: u16 = 0x8021;
const PAP: u16 = 0xc023;
const CHAP: u16 = 0xc223;
const IPV4: u16 = 0x0021;
/// A protocol that nobody does here.
const OTHER: u16 = 0x0033;

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Datagram(usize),
    Close(usize),
    Line(usize, bool),
}

struct Talk {
    link: Link,
    trace: Vec<String>,
    /// Frames of the link that are in the trace.
    seen: usize,
}

fn frame(number: u16, information: &[u8]) -> Vec<u8> {
    [&[0xff, 0x03], &number.to_be_bytes()[..], information].concat()
}

/// A packet with a right length.
fn packet(number: u16, code: u8, identifier: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 4).unwrap().to_be_bytes();
    let header = [code, identifier, length[0], length[1]];
    frame(number, &[&header, data].concat())
}

impl Talk {
    fn new(configs: [Config; 2], loss: u64, mut state: u64) -> Self {
        let way: LineFate = Box::new(move |from, frame| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let is_lost = (state >> 33) % 100 < loss;
            if is_lost { Vec::new() } else { vec![(1 - from, frame)] }
        });
        let mut talk = Self { link: Link::over(configs, way), trace: Vec::new(), seen: 0 };
        talk.pass(Duration::ZERO);
        talk
    }

    /// Lets time pass, and keeps what has crossed and where both ends are.
    fn pass(&mut self, time: Duration) {
        self.link.pass(time);
        let frames = self.link.frames.iter().zip(&self.link.times);
        let frames = frames.skip(self.seen);
        let frames = frames.map(|((from, frame), at)| format!("{at} {from}: {frame:02x?}"));
        self.trace.extend(frames);
        self.seen = self.link.frames.len();
        let now = self.link.bench.now;
        for end in 0..2 {
            let user = self.link.users[end];
            let heard = self.link.bench.heard(user);
            let daemon = self.link.end(end);
            let (phase, lcp) = (daemon.phase(), daemon.lcp_state());
            let (network, agreed) = (daemon.network(IPV4), daemon.agreement());
            let ended = daemon.last_end().cloned();
            self.trace.push(format!("{now} {end}: {phase:?} {lcp:?} {network:?} {agreed:?} {ended:?} {}", heard.len()));
        }
    }

    /// Information of the last packet with this code that `end` has sent.
    fn last(&self, end: usize, number: u16, code: u8) -> Option<&[u8]> {
        let frames = self.link.frames.iter().rev();
        let mut own = frames.filter(|(from, _)| *from == end);
        own.find_map(|(_, frame)| {
            let begins = frame.starts_with(&frame_of(number)) && frame.get(4) == Some(&code);
            begins.then(|| &frame[4..])
        })
    }

    /// What a machine of RFC 1661 refuses of what claims to answer its requests.
    fn answers(&self, to: usize, number: u16, state: State, add: &mut impl FnMut(&'static str, Vec<u8>, Answer)) {
        if matches!(state, State::Initial | State::Starting) {
            return;
        }
        let nothing = || Answer::Nothing;
        let short = frame(number, &[1, 77, 0, 6, 1, 4]);
        add("an option that runs past its packet", short, nothing());
        let short = frame(number, &[1, 77, 0, 6, 1, 1]);
        add("an option shorter than its header", short, nothing());
        let code_reject: fn(&[u8]) -> bool = match number {
            LCP => |sent| sent.starts_with(&[0xff, 3, 0xc0, 0x21, 7]),
            _ => |sent| sent.starts_with(&[0xff, 3, 0x80, 0x21, 7]),
        };
        let unknown = packet(number, 200, 9, b"what?");
        add("an unknown code", unknown, Answer::Like(code_reject));
        add("Code-Reject of nothing", packet(number, 7, 9, &[]), nothing());
        let Some(request) = self.last(to, number, 1) else {
            for code in 2..5 {
                let answer = packet(number, code, 1, &[]);
                add("an answer before a request", answer, nothing());
            }
            return;
        };
        let (identifier, options) = (request[1], &request[4..]);
        for code in 2..5 {
            for off in [1, 128, 255] {
                let other = identifier.wrapping_add(off);
                let answer = packet(number, code, other, options);
                add("an answer with another identifier", answer, nothing());
            }
        }
        let other = [options, &[200, 2]].concat();
        let answer = packet(number, 2, identifier, &other);
        add("Configure-Ack of something else", answer, nothing());
        let mut other = options.to_vec();
        if let Some(last) = other.last_mut() {
            *last ^= 1;
            let answer = packet(number, 2, identifier, &other);
            add("Configure-Ack with another value", answer, nothing());
        }
        let answer = packet(number, 3, identifier, &[1, 9]);
        add("Configure-Nak that is cut", answer, nothing());
        let answer = packet(number, 4, identifier, &[200, 2]);
        add("Configure-Reject of what was not asked", answer, nothing());
    }

    /// What the end `to` must refuse now.
    fn to(&mut self, to: usize) -> Vec<RefusedUnit<usize>> {
        let daemon = self.link.end(to);
        let (lcp, phase) = (daemon.lcp_state(), daemon.phase());
        let ipcp = daemon.ipcp.as_ref().unwrap().state();
        let is_up = daemon.line_is_up;
        let passes = daemon.network(IPV4).is_some();
        let given_up = daemon.given_up.contains(&IPCP);
        let mut all = Vec::new();
        let mut add = |why, unit: Vec<u8>, answer| {
            all.push(RefusedUnit { why, to, unit, answer });
        };
        if !is_up {
            return Vec::new();
        }
        let nothing = || Answer::Nothing;
        for len in 0..4 {
            let unit = frame(LCP, &[])[..len].to_vec();
            add("less than a header", unit, nothing());
        }
        add("another control field", [&[0xff, 0x13], &frame(LCP, &[1, 1, 0, 4])[2..]].concat(), nothing());
        for number in [LCP, IPCP, PAP, CHAP] {
            for information in [&[1, 1, 0][..], &[1, 1, 0, 3], &[2, 1, 1, 0, 0]] {
                add("a length that cannot be", frame(number, information), nothing());
            }
        }
        self.answers(to, LCP, lcp, &mut add);
        for code in [2, 3] {
            add("PAP that answers nothing", packet(PAP, code, 99, &[0]), nothing());
        }
        for code in [2, 3, 4] {
            let data = [&[16][..], &[7; 16], b"far"].concat();
            add("CHAP that answers nothing", packet(CHAP, code, 99, &data), nothing());
        }
        if !passes {
            add("a datagram too early", frame(IPV4, &[0x45; 20]), nothing());
        }
        if lcp == State::Opened {
            let foreign = [0xde, 0xad, 0xbe, 0xef];
            let echo = self.last(to, LCP, 9).map_or(0, |echo| echo[1]);
            add("an echo of another peer", packet(LCP, 10, echo, &foreign), nothing());
            let other = packet(LCP, 10, echo.wrapping_add(100), &[0; 4]);
            add("an echo of no request", other, nothing());
            add("a short echo", packet(LCP, 9, 1, &[0, 0]), nothing());
            add("a short Protocol-Reject", packet(LCP, 8, 1, &[0]), nothing());
            let is_reject: fn(&[u8]) -> bool = |sent| sent.starts_with(&[0xff, 3, 0xc0, 0x21, 8]);
            let rejected = match phase {
                Phase::Network => Answer::Like(is_reject),
                Phase::Dead | Phase::Establish | Phase::Authenticate | Phase::Terminate => nothing(),
            };
            add("a protocol that nobody does", frame(OTHER, b"what?"), rejected);
        } else {
            for code in [8, 9, 10, 11] {
                let early = packet(LCP, code, 1, &[0, 0, 0, 0]);
                add("a packet of Opened before that", early, nothing());
            }
            add("a protocol before LCP", frame(OTHER, b"what?"), nothing());
            add("authentication before LCP", packet(PAP, 1, 1, &[0, 0]), nothing());
        }
        if lcp == State::Opened && phase == Phase::Network && !given_up {
            self.answers(to, IPCP, ipcp, &mut add);
        } else {
            let early = packet(IPCP, 1, 1, &[3, 6, 10, 0, 0, 9]);
            add("IPCP in another phase", early, nothing());
        }
        all
    }
}

/// How a frame of this protocol begins.
fn frame_of(number: u16) -> Vec<u8> {
    frame(number, &[])
}

impl Session for Talk {
    type Step = Step;
    type End = usize;

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Pass(time) => self.pass(Duration::from_millis(time)),
            Step::Datagram(from) => {
                self.link.carries(from, &[0x45; 20]);
            }
            Step::Close(end) => self.link.close(end),
            Step::Line(end, is_up) => self.link.line(end, is_up),
        }
        self.pass(Duration::ZERO);
    }

    fn trace(&self) -> &[String] {
        &self.trace
    }

    fn refused(&mut self) -> Vec<RefusedUnit<usize>> {
        (0..2).flat_map(|end| self.to(end)).collect()
    }

    fn intrude(&mut self, to: usize, unit: &[u8]) -> UnitEffects {
        self.link.octets(to, unit);
        let sent = self.link.bench.sent_octets();
        let users = self.link.users;
        let heard = users.into_iter().flat_map(|user| self.link.bench.heard(user));
        let heard = heard.map(|heard| format!("{heard:?}")).collect();
        UnitEffects { sent, heard }
    }
}

fn session() -> impl Strategy<Value = Vec<(Step, Vec<usize>)>> {
    let step = prop_oneof![
        8 => (0_u64..10).prop_map(Step::Pass),
        4 => (10_u64..9_000).prop_map(Step::Pass),
        2 => (0..2_usize).prop_map(Step::Datagram),
        1 => (0..2_usize).prop_map(Step::Close),
        1 => (0..2_usize, any::<bool>()).prop_map(|(end, is_up)| Step::Line(end, is_up)),
    ];
    let picks = prop::collection::vec(any::<usize>(), 0..5);
    prop::collection::vec((step, picks), 1..25)
}

fn methods() -> impl Strategy<Value = Methods> {
    prop_oneof![Just(Methods::None), Just(Methods::Pap), Just(Methods::Chap)]
}

#[test]
fn a_frame_that_is_refused_changes_nothing() {
    let tally = Tally::default();
    let mut runner = proptest::test_runner::TestRunner::new(cases(300));
    let case = (session(), methods(), methods(), any::<bool>(), 0_u64..25, any::<u64>());
    runner
        .run(&case, |(steps, near, far, persist, loss, state)| {
            let configs = secretive(near, far).map(|config| Config {
                echo_interval: Some(SECOND),
                rechallenge: Some(SECOND * 3),
                persist,
                ..config
            });
            undisturbed(|| Talk::new(configs.clone(), loss, state), &steps, &tally)
        })
        .unwrap();
    for why in [
        "an unknown code",
        "an answer with another identifier",
        "Configure-Ack with another value",
        "a packet of Opened before that",
        "an echo of another peer",
        "an echo of no request",
        "a protocol that nobody does",
        "PAP that answers nothing",
        "IPCP in another phase",
    ] {
        assert!(tally.borrow().contains_key(why), "{why}: {tally:?}");
    }
}

/// A peer that is gone is found, whatever claims to be its echo.
#[test]
fn echoes_that_answer_nothing_do_not_keep_a_link() {
    let configs = secretive(Methods::None, Methods::None).map(|config| Config {
        echo_interval: Some(SECOND),
        echo_failure: 3,
        ..config
    });
    let mut link = Link::new(configs);
    link.pass(SECOND / 2);
    assert_eq!(link.end(0).phase(), Phase::Network);
    link.cut();
    for _ in 0..20 {
        // An identifier that no request has had; then one of another peer's, with the identifier of the first.
        link.octets(0, &packet(LCP, 10, 200, &[0; 4]));
        link.octets(0, &packet(LCP, 10, 1, &[0xde, 0xad, 0xbe, 0xef]));
        link.pass(SECOND / 2);
    }
    assert!(link.says(0, "LCP TermReq"), "{}", link.transcript());
}
