#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one of many")]
//! TPDUs that must be refused change nothing beyond their own network connection.
//!
//! Class 0 has no kinder answer than ER, or DR to a CR, and the end of the network connection, and with it of the
//! transport connection (X.224 section 6.22, RFC 905 section 6.22.3: "so as not to jeopardize any other transport
//! connections not assigned to that network connection"). So what is tried here is all others: those that stand, and
//! those that begin later. That nothing of the TPDU itself is believed has a test of its own.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use kumiki_osi_service::layer;
use kumiki_testkit::bench::{assert_violation, cases};
use kumiki_testkit::refused::{Answer, RefusedUnit, Session, Tally, UnitEffects, undisturbed};

/// What a session's peer and user do; a number says to which connection, of those that there are.
#[derive(Clone, Debug)]
enum Step {
    PeerCalls,
    UserCalls,
    PeerSends(usize, usize, bool),
    UserSends(usize, usize),
    Room(usize),
    PeerEnds(usize),
    NetworkEnds(usize),
    UserEnds(usize),
    Pass(u64),
}

/// A network connection, and the transport connection on it.
#[derive(Clone, Copy, Default)]
struct Call {
    /// The network's handle of it, and ours.
    lower: Handle,
    own: Handle,
    /// The provider's handle for the user, once it stands.
    session: Option<Handle>,
    is_over: bool,
}

struct Talk {
    bench: Bench,
    user: NodeId,
    network: DeviceId,
    /// The handle under which the layer listens at the network.
    listener: Handle,
    calls: Vec<Call>,
    strangers: u32,
    trace: Vec<String>,
}

fn message(octets: &[u8]) -> Message {
    Message::from_octets(octets)
}

impl Talk {
    fn new() -> Self {
        let mut bench = Bench::new();
        let network = bench.graph.add_device("network", Service::CONNECTION);
        let network = network.unwrap();
        bench.node("tp0", &["network"], Tp0::new(Config::default()));
        let user = bench.user("user", "tp0", &[]);
        bench.start();
        let open = Open {
            user: LISTENER,
            mode: Mode::Passive { backlog: 1 },
            parameters: association("#259").into(),
            ..Open::default()
        };
        bench.say(user, Request::Open(Box::new(open)));
        let [(_, Request::Open(opened))] = &bench.requests()[..] else {
            panic!("it listens");
        };
        let listener = opened.user;
        let provider = Handle { index: 1, generation: 1 };
        let mut talk = Self { bench, user, network, listener, calls: Vec::new(), strangers: 0, trace: Vec::new() };
        talk.tell(Indication::Opened(Box::new(Opened { user: listener, provider, ..Opened::default() })));
        talk.absorb();
        talk
    }

    fn tell(&mut self, indication: Indication) {
        self.bench.indicate(self.network, indication);
    }

    /// A call that the network offers; the layer takes all, for only CR says whom the caller wants. Gives its handle of
    /// ours.
    fn offer(&mut self, lower: Handle) -> Handle {
        self.tell(Indication::Offered(Box::new(Offered {
            user: self.listener,
            provider: lower,
            ..Offered::default()
        })));
        let requests = self.bench.requests();
        let [(_, Request::Accept(accept))] = &requests[..] else {
            panic!("{requests:?}");
        };
        assert_eq!(accept.session, lower);
        accept.user
    }

    fn data(&mut self, session: Handle, octets: &[u8]) {
        let (data, end) = (message(octets), true);
        self.tell(Indication::Data { session, data, end });
    }

    fn room(&mut self, session: Handle, messages: u32) {
        let credit = Credit::messages(messages);
        self.tell(Indication::Credit { session, credit });
    }

    /// One of the calls that are not over.
    fn call(&self, pick: usize) -> Option<(usize, Call)> {
        let live = self.calls.iter().enumerate().filter(|(_, it)| !it.is_over);
        let live: Vec<_> = live.map(|(number, call)| (number, *call)).collect();
        live.get(pick % live.len().max(1)).copied()
    }

    /// Keeps what went out and what was heard, by the numbers of calls and not by handles, which are names alone;
    /// answers what is a peer's or a user's to answer.
    fn absorb(&mut self) {
        loop {
            let (requests, heard) = (self.bench.requests(), self.bench.heard(self.user));
            if requests.is_empty() && heard.is_empty() {
                return;
            }
            for (_, request) in requests {
                self.goes_out(request);
            }
            for indication in heard {
                self.is_heard(indication);
            }
        }
    }

    fn keep(&mut self, number: usize, what: &str) {
        let now = self.bench.now;
        self.trace.push(format!("{now} {number}: {what}"));
    }

    fn by_lower(&self, lower: Handle) -> usize {
        self.calls.iter().position(|it| it.lower == lower).unwrap()
    }

    fn goes_out(&mut self, request: Request) {
        match request {
            Request::Open(open) => {
                // The network connection stands at once, and the peer answers the CR that follows.
                let number = self.calls.len();
                let lower = lower(number);
                let own = open.user;
                self.calls.push(Call { lower, own, ..Call::default() });
                self.keep(number, "calls");
                self.tell(Indication::Opened(Box::new(Opened { user: own, provider: lower, ..Opened::default() })));
                self.room(own, 8);
            }
            Request::Data { session, data, .. } => {
                let number = self.by_lower(session);
                let octets = data.to_vec();
                self.keep(number, &format!("{octets:02x?}"));
                if octets.get(1) == Some(&0xe0) {
                    let reference = [octets[4], octets[5]];
                    let cc = [&hex("06 d0")[..], &reference, &hex("0007 00")].concat();
                    self.data(self.calls[number].own, &cc);
                }
            }
            Request::Credit { session, credit } => {
                let number = self.by_lower(session);
                self.keep(number, &format!("credit {}", credit.messages));
            }
            Request::Abort { session, .. } => {
                let number = self.by_lower(session);
                self.calls[number].is_over = true;
                self.keep(number, "ends");
            }
            other => panic!("{other:?}"),
        }
    }

    fn is_heard(&mut self, indication: Indication) {
        match indication {
            Indication::Offered(offered) => {
                let number = self.calls.len() - 1;
                self.keep(number, &format!("offered {:?}", offered.parameters));
                self.calls[number].session = Some(offered.provider);
                let accept = Accept { session: offered.provider, user: users(number), ..Accept::default() };
                self.bench.say(self.user, Request::Accept(Box::new(accept)));
            }
            Indication::Opened(opened) if opened.user == LISTENER => {}
            Indication::Opened(opened) => {
                let number = number(opened.user);
                self.calls[number].session = Some(opened.provider);
                self.keep(number, "opened");
            }
            Indication::Credit { session, credit } => {
                self.keep(number(session), &format!("may send {}", credit.messages));
            }
            Indication::Data { session, data, end } => {
                let data = data.to_vec();
                self.keep(number(session), &format!("hears {data:02x?} {end}"));
            }
            Indication::Aborted { session, reason, .. } => {
                self.keep(number(session), &format!("hears its end: {reason}"));
            }
            other => panic!("{other:?}"),
        }
    }
}

fn lower(number: usize) -> Handle {
    Handle { index: 100 + number as u32, generation: 1 }
}

fn users(number: usize) -> Handle {
    Handle { index: 1000 + number as u32, generation: 1 }
}

fn number(user: Handle) -> usize {
    user.index as usize - 1000
}

impl Session for Talk {
    type Step = Step;
    type End = ();

    fn step(&mut self, step: &Step) {
        match *step {
            Step::PeerCalls => {
                let lower = lower(self.calls.len());
                let own = self.offer(lower);
                self.calls.push(Call { lower, own, ..Call::default() });
                self.room(own, 8);
                self.data(own, &hex("0d e0 0000 0007 00 c2 02 0103 c0 01 0b"));
            }
            Step::UserCalls => {
                let open =
                    Open { user: users(self.calls.len()), parameters: association("#259").into(), ..Open::default() };
                self.bench.say(self.user, Request::Open(Box::new(open)));
            }
            Step::PeerSends(pick, len, eot) => {
                if let Some((_, call)) = self.call(pick) {
                    let head = [2, 0xf0, u8::from(eot) << 7];
                    self.data(call.own, &[&head, &vec![5; len][..]].concat());
                }
            }
            Step::UserSends(pick, len) => {
                if let Some(session) = self.call(pick).and_then(|(_, call)| call.session) {
                    let (data, end) = (message(&vec![6; len]), true);
                    self.bench.say(self.user, Request::Data { session, data, end });
                }
            }
            Step::Room(pick) => {
                if let Some((_, call)) = self.call(pick) {
                    self.room(call.own, 2);
                    if let Some(session) = call.session {
                        let credit = Credit::messages(1);
                        self.bench.say(self.user, Request::Credit { session, credit });
                    }
                }
            }
            Step::PeerEnds(pick) => {
                if let Some((_, call)) = self.call(pick) {
                    self.data(call.own, &hex("06 80 0001 0001 80"));
                }
            }
            Step::NetworkEnds(pick) => {
                if let Some((number, call)) = self.call(pick) {
                    self.calls[number].is_over = true;
                    let (session, reason, data) = (call.own, Reason::Down, None);
                    self.tell(Indication::Aborted { session, reason, data });
                }
            }
            Step::UserEnds(pick) => {
                if let Some((_, call)) = self.call(pick)
                    && let Some(session) = call.session
                {
                    let (reason, data) = (Reason::User, None);
                    self.bench.say(self.user, Request::Abort { session, reason, data });
                }
            }
            Step::Pass(time) => self.bench.pass(Duration::from_millis(time)),
        }
        self.absorb();
    }

    fn trace(&self) -> &[String] {
        &self.trace
    }

    fn refused(&mut self) -> Vec<RefusedUnit<()>> {
        let is_refusal: fn(&[u8]) -> bool = |sent| matches!(sent, [_, 0x70 | 0x80, ..]);
        let refused = |(why, unit): (&'static str, &str)| RefusedUnit {
            why,
            to: (),
            unit: hex(unit),
            answer: Answer::Like(is_refusal),
        };
        // Each is the first that comes on a network connection of its own.
        [
            ("no TPDU", ""),
            ("a length of nothing", "00"),
            ("a length beyond the TPDU", "0d e0 0000 0007 00"),
            ("a reserved length", "ff e0 0000 0007 00"),
            ("DT before CR", "02 f0 80 61 62"),
            ("CC to nothing", "06 d0 0001 0001 00"),
            ("AK, of another class", "04 60 0001 05"),
            ("a TPDU that is not defined", "06 30 0000 0007 00"),
            ("CR of class 4 alone", "06 e0 0000 0007 40"),
            ("CR with a reference of ours", "0d e0 0001 0007 00 c2 02 0103 c0 01 0b"),
            ("CR to nobody", "0d e0 0000 0007 00 c2 02 7878 c0 01 0b"),
            ("CR that is cut", "0c e0 0000 0007 00 c2 02 0103 c0 05"),
        ]
        .map(refused)
        .into()
    }

    fn intrude(&mut self, (): (), unit: &[u8]) -> UnitEffects {
        let lower = Handle { index: 9_000 + self.strangers, generation: 1 };
        self.strangers += 1;
        let own = self.offer(lower);
        self.room(own, 8);
        self.data(own, unit);
        let mut outcome = UnitEffects::default();
        let mut ends = false;
        for (_, request) in self.bench.requests() {
            match request {
                Request::Data { session, data, .. } if session == lower => {
                    outcome.sent.push(data.to_vec());
                }
                Request::Abort { session, .. } if session == lower => ends = true,
                other => panic!("{other:?}"),
            }
        }
        assert!(ends, "its network connection is ended: {unit:02x?}");
        let heard = self.bench.heard(self.user);
        outcome.heard = heard.iter().map(|heard| format!("{heard:?}")).collect();
        outcome
    }
}

fn step() -> impl Strategy<Value = Step> {
    let pick = || any::<usize>();
    prop_oneof![
        2 => Just(Step::PeerCalls),
        2 => Just(Step::UserCalls),
        6 => (pick(), 0_usize..60, any::<bool>()).prop_map(|(n, len, eot)| Step::PeerSends(n, len, eot)),
        4 => (pick(), 0_usize..3000).prop_map(|(n, len)| Step::UserSends(n, len)),
        4 => pick().prop_map(Step::Room),
        1 => pick().prop_map(Step::PeerEnds),
        1 => pick().prop_map(Step::NetworkEnds),
        1 => pick().prop_map(Step::UserEnds),
        1 => (0_u64..40_000).prop_map(Step::Pass),
    ]
}

#[test]
fn a_tpdu_that_is_refused_changes_no_other_connection() {
    let tally = Tally::default();
    let mut runner = proptest::test_runner::TestRunner::new(cases(300));
    let picks = prop::collection::vec(any::<usize>(), 0..4);
    let steps = prop::collection::vec((step(), picks), 1..40);
    runner.run(&steps, |steps| undisturbed(Talk::new, &steps, &tally)).unwrap();
    let tried: BTreeMap<_, _> = tally.into_inner();
    assert_eq!(tried.len(), 12, "{tried:?}");
}

/// RFC 905 sections 6.22.3 and 13.12: one ER, with the TPDU up to where it is wrong, then the end; of a TSDU that was
/// coming the user hears nothing.
#[test]
fn nothing_is_believed_of_a_tpdu_that_is_answered_by_er() {
    for (bad, er) in [
        ("04 60 0001 05", "08 70 0007 02 c1 02 0460"),
        ("06 30 0000 0007 00", "08 70 0007 02 c1 02 0630"),
        ("06 d0 0001 0009 00", "08 70 0007 02 c1 02 06d0"),
        ("06 e0 0000 0007 00", "08 70 0007 02 c1 02 06e0"),
        ("00", ""),
        ("", ""),
        ("0d f0 80", ""),
    ] {
        let mut talk = Talk::new();
        talk.step(&Step::PeerCalls);
        talk.step(&Step::PeerSends(0, 5, false));
        let call = talk.calls[0];
        talk.data(call.own, &hex(bad));
        let requests = talk.bench.requests();
        let [(_, Request::Data { data, .. }), (_, Request::Abort { .. })] = &requests[..] else {
            panic!("{bad}: {requests:?}");
        };
        let sent = data.to_vec();
        assert_eq!(sent[1..4], [0x70, 0, 7], "{bad}: {sent:02x?}");
        let expected = hex(er);
        assert!(expected.is_empty() || sent == expected, "{bad}: {sent:02x?}");
        let heard = talk.bench.heard(talk.user);
        assert!(matches!(heard[..], [Indication::Aborted { .. }]), "{bad}: {heard:?}");
    }
}

/// Where the network hands up a TPDU in parts, one that is too long has an ER too.
#[test]
fn a_tpdu_that_is_longer_than_any_is_told_by_its_beginning() {
    let mut talk = Talk::new();
    talk.step(&Step::PeerCalls);
    let session = talk.calls[0].own;
    let part = [&[0x02, 0xf0, 0x80][..], &[7; 997]].concat();
    for _ in 0..70 {
        let (data, end) = (message(&part), false);
        talk.tell(Indication::Data { session, data, end });
    }
    let requests = talk.bench.requests();
    let er = requests.iter().find_map(|it| match it {
        (_, Request::Data { data, .. }) => Some(data.to_vec()),
        _ => None,
    });
    let er = er.unwrap();
    assert!(er.ends_with(&[0xc1, 2, 0x02, 0xf0]), "{er:02x?}");
    let [Indication::Aborted { reason, .. }] = &talk.bench.heard(talk.user)[..] else { panic!("it ends") };
    let told = "a TPDU of at least 66000 octets, expected 2048 at most, as agreed on (octets 02 f0 80 ...)";
    assert_violation(Some(reason), layer::TRANSPORT, told);
}

/// Parts of a TPDU take memory in proportion to their octets, however small they are.
#[test]
fn a_tpdu_that_comes_in_many_parts_is_held_in_few_pieces() {
    let mut talk = Talk::new();
    talk.step(&Step::PeerCalls);
    let session = talk.calls[0].own;
    for _ in 0..5000 {
        let (data, end) = (message(&[7]), false);
        talk.tell(Indication::Data { session, data, end });
    }
    let graph = &mut talk.bench.graph;
    let node = graph.node("tp0").unwrap();
    let tp0 = graph.protocol_mut::<Tp0>(node).unwrap();
    let part = &tp0.connection(session).unwrap().part;
    assert_eq!(part.len(), 5000);
    assert!(part.slices().len() < 500, "{}", part.slices().len());
}
