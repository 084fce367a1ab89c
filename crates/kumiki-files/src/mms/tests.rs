//! The environment against a caller that writes its PDUs out by hand, on all layers below, which meet in a loopback.

use kumiki_graph::Parameters;
use kumiki_graph::Special;
use std::collections::VecDeque;

use kumiki_graph::{Accept, Credit, Duration, Graph, Instant, TimerSlot, Token};
use kumiki_osi_service::Association;
use kumiki_osi_service::mms::{ErrorClass, Pdu, Service as MmsService, ServiceError, Services};
use kumiki_osi_service::presentation::{Context as Proposed, Value};
use kumiki_osi_service::session::FunctionalUnits;
use proptest::prelude::*;

use super::*;
use kumiki_graph::loopback::{self, Loopback};
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Tp0};
use kumiki_testkit::bench::hex;

const OWN: Handle = Handle { index: 3, generation: 1 };

/// What the hand-written caller does.
#[derive(Clone)]
enum Step {
    /// One value in the context of MMS.
    Say(Vec<u8>),
    /// conclude-Request; what follows waits for the answer.
    Conclude,
    /// What follows waits until it was asked for a service of number 1.
    Asked,
    Release,
    Abort,
}

/// A caller on association control.
struct Hand {
    initiate: Vec<u8>,
    steps: VecDeque<Step>,
    session: Handle,
    heard: Vec<Vec<u8>>,
    ended: Option<&'static str>,
    room: u32,
    waits: bool,
    timer: TimerSlot,
}

impl Hand {
    fn say(&mut self, octets: &[u8], cx: &mut Context<'_>) {
        self.room -= 1;
        let session = self.session;
        let data = Message::from_octets(octets);
        let values = core::iter::once(Value { context: 3, data }).collect();
        cx.down(Below(0), Request::special(session, PData(values)));
    }

    fn go_on(&mut self, cx: &mut Context<'_>) {
        while self.room > 0
            && !self.waits
            && let Some(step) = self.steps.pop_front()
        {
            let session = self.session;
            match step {
                Step::Say(octets) => self.say(&octets, cx),
                Step::Conclude => {
                    self.waits = true;
                    self.say(&CONCLUDE, cx);
                }
                Step::Asked => self.waits = true,
                Step::Release => {
                    let data = None;
                    cx.down(Below(0), Request::Release { session, data });
                }
                Step::Abort => {
                    let (reason, data) = (Reason::User, None);
                    cx.down(Below(0), Request::Abort { session, reason, data });
                }
            }
        }
    }
}

impl Protocol for Hand {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    /// Who is called has one layer more, and listens a little later.
    fn start(&mut self, cx: &mut Context<'_>) {
        let token = Token { session: OWN, kind: 0 };
        let deadline = cx.now() + Duration::from_millis(1);
        cx.set_timer(&mut self.timer, token, deadline);
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        let mut association = Association {
            contexts: vec![Proposed::basic(3, ABSTRACT_SYNTAX)],
            application_context: Some(APPLICATION_CONTEXT),
            ..Association::default()
        };
        association.session.functional_units = FunctionalUnits::DUPLEX;
        let open = Open {
            user: OWN,
            parameters: Parameters::of(association),
            data: Some(Message::from_octets(&self.initiate)),
            ..Open::default()
        };
        cx.down(Below(0), Request::Open(Box::new(open)));
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Opened(opened) => {
                self.session = opened.provider;
                self.heard.push(opened.data.unwrap().to_vec());
            }
            Indication::Credit { credit, .. } => {
                self.room += credit.messages;
                self.go_on(cx);
            }
            Indication::Special { what, .. } => {
                let PData(values) = *what.take().expect("P-DATA");
                for value in values {
                    let octets = value.data.to_vec();
                    self.waits &= octets != CONCLUDED && octets != ASKED;
                    self.heard.push(octets);
                }
                let (session, credit) = (self.session, Credit::messages(1));
                cx.down(Below(0), Request::Credit { session, credit });
                self.go_on(cx);
            }
            Indication::Closed { .. } => self.ended = Some("closed"),
            Indication::Aborted { data, .. } => {
                self.heard.extend(data.map(|data| data.to_vec()));
                self.ended = Some("aborted");
            }
            Indication::Released { .. } => {}
            other @ (Indication::Unit(_)
            | Indication::Offered(_)
            | Indication::Data { .. }
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_)) => panic!("{other:?}"),
        }
    }
}

/// A user that answers fileClose and nothing else, and agrees to every end.
#[derive(Default)]
struct ClosingUser {
    /// It asks for so many fileCloses when it is asked for one, under numbers down to 1.
    asks: u32,
    session: Handle,
    heard: Vec<Pdu>,
    ended: Option<&'static str>,
    credit: u32,
}

impl Protocol for ClosingUser {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::CONNECTION], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        let initiate = Initiate {
            max_serv_outstanding_calling: 2,
            services_supported: Services::of(&[MmsService::FILE_CLOSE, MmsService::FILE_DELETE]),
            ..Config::default().initiate
        };
        let open = Open {
            user: OWN,
            mode: Mode::Passive { backlog: 1 },
            parameters: Parameters::of(Association { initiate: Some(Box::new(initiate)), ..Association::default() }),
            ..Open::default()
        };
        cx.down(Below(0), Request::Open(Box::new(open)));
    }

    fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication {
            Indication::Offered(offered) => {
                self.session = offered.provider;
                let accept = Accept { session: offered.provider, user: OWN, ..Accept::default() };
                cx.down(Below(0), Request::Accept(Box::new(accept)));
            }
            Indication::Special { what, .. } => {
                let pdu = *what.take::<Pdu>().expect("a PDU of MMS");
                if let Pdu::Request { invoke, service, .. } = &pdu
                    && service.service() == MmsService::FILE_CLOSE
                {
                    let session = self.session;
                    let what = Special::new(Pdu::Response {
                        invoke: *invoke,
                        service: kumiki_osi_service::mms::Response::FileClose,
                    });
                    cx.down(Below(0), Request::Special { session, what });
                    for invoke in (1..=core::mem::take(&mut self.asks)).rev() {
                        let close = kumiki_osi_service::mms::Request::FileClose(1);
                        let what = Special::new(Pdu::request(invoke, close));
                        cx.down(Below(0), Request::Special { session, what });
                    }
                }
                self.heard.push(pdu);
            }
            Indication::Credit { credit, .. } => self.credit += credit.messages,
            Indication::Released { .. } => {
                let (session, data) = (self.session, None);
                cx.down(Below(0), Request::Release { session, data });
            }
            Indication::Closed { .. } => self.ended = Some("closed"),
            Indication::Aborted { .. } => self.ended = Some("aborted"),
            Indication::Opened(_) => {}
            other @ (Indication::Unit(_)
            | Indication::Data { .. }
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_)) => panic!("{other:?}"),
        }
    }
}

/// initiate-Request with PDUs of 1000 octets and 5 services each way.
fn initiate() -> Vec<u8> {
    let ours = Initiate { local_detail: Some(1000), ..Config::default().initiate };
    kumiki_wire::files::mms::emit(Pdu::InitiateRequest(ours)).to_vec()
}

fn run(initiate: Vec<u8>, steps: Vec<Step>) -> Graph {
    run_with(ClosingUser::default(), initiate, steps)
}

fn run_with(shelf: ClosingUser, initiate: Vec<u8>, steps: Vec<Step>) -> Graph {
    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let hand = Hand {
        initiate,
        steps: steps.into(),
        session: Handle::default(),
        heard: Vec::new(),
        ended: None,
        room: 0,
        waits: false,
        timer: TimerSlot::default(),
    };
    let nodes: [(&str, Box<dyn Protocol>); 8] = [
        ("loopback", Box::new(Loopback::new(loopback::Config::default()))),
        ("tp0", Box::new(Tp0::new(tp0::Config::default()))),
        ("session", Box::new(Session::new(session::Config::default()))),
        ("presentation", Box::new(Presentation::new(presentation::Config::default()))),
        ("acse", Box::new(Acse::new(acse::Config::default()))),
        ("mms", Box::new(Mms::new(Config::default()))),
        ("shelf", Box::new(shelf)),
        ("hand", Box::new(hand)),
    ];
    for (name, protocol) in nodes {
        graph.add_node(name, task, protocol).unwrap();
    }
    for pair in ["mms", "acse", "presentation", "session", "tp0", "loopback"].windows(2) {
        let [above, below] = pair else { continue };
        graph.connect(above, below).unwrap();
    }
    graph.connect("shelf", "mms").unwrap();
    graph.connect("hand", "acse").unwrap();
    graph.start(Instant::ZERO).unwrap();
    let mut now = Instant::ZERO;
    loop {
        while graph.waiting(task).is_some() {
            graph.run(task, now, 1);
        }
        match graph.next_timer().filter(|at| *at <= Instant::ZERO + Duration::from_secs(600)) {
            Some(at) => now = at,
            None => return graph,
        }
        graph.fire(now);
    }
}

fn hand(graph: &Graph) -> &Hand {
    graph.protocol(graph.node("hand").unwrap()).unwrap()
}

fn shelf(graph: &Graph) -> &ClosingUser {
    graph.protocol(graph.node("shelf").unwrap()).unwrap()
}

/// fileClose of state machine 1 under this number.
fn close(invoke: u8) -> Step {
    Step::Say(vec![0xa0, 0x07, 2, 1, invoke, 0x9f, 0x4a, 1, 1])
}

/// fileDelete of "a", which the user here never answers.
fn delete(invoke: u8) -> Step {
    Step::Say(vec![0xa0, 0x09, 2, 1, invoke, 0xbf, 0x4c, 3, 0x19, 1, b'a'])
}

fn reject(invoke: u8, pdu: u8, code: u8) -> Vec<u8> {
    vec![0xa4, 0x06, 0x80, 1, invoke, 0x80 | pdu, 1, code]
}

const CONCLUDE: [u8; 2] = [0x8b, 0];
const CONCLUDED: [u8; 2] = [0x8c, 0];
/// fileClose of number 1.
const ASKED: [u8; 9] = [0xa0, 0x07, 2, 1, 1, 0x9f, 0x4a, 1, 1];

/// What the caller heard behind the answer to initiate.
fn heard(steps: Vec<Step>) -> Vec<Vec<u8>> {
    hand(&run(initiate(), steps)).heard[1..].to_vec()
}

#[test]
fn the_lesser_of_both_is_agreed_on() {
    let graph = run(initiate(), Vec::new());
    let Pdu::InitiateResponse(agreed) = kumiki_wire::files::mms::parse_octets(&hand(&graph).heard[0]).unwrap() else {
        panic!("no answer");
    };
    assert_eq!(agreed.local_detail, Some(1000));
    assert_eq!(agreed.max_serv_outstanding_calling, 2);
    assert_eq!(agreed.max_serv_outstanding_called, 5);
    assert!(agreed.services_supported.has(MmsService::FILE_CLOSE));
    assert!(!agreed.services_supported.has(MmsService::FILE_OPEN));
    assert_eq!(shelf(&graph).credit, 5, "as many as this side may ask for");
}

#[test]
fn services_are_answered_under_their_numbers() {
    let answer = |invoke| vec![0xa1, 0x06, 2, 1, invoke, 0x9f, 0x4a, 0];
    assert_eq!(heard(vec![close(7), close(9)]), [answer(7), answer(9)]);
}

#[test]
fn what_nobody_here_answers_is_rejected() {
    // fileOpen; getNameList with content that is none.
    let open = vec![0xa0, 0x0e, 2, 1, 1, 0xbf, 0x48, 8, 0xa0, 3, 0x19, 1, b'a', 0x81, 1, 0];
    let list = vec![0xa0, 0x05, 2, 1, 2, 0xa1, 0];
    assert_eq!(heard(vec![Step::Say(open), Step::Say(list)]), [reject(1, 1, 1), reject(2, 1, 1)]);
}

#[test]
fn more_services_than_were_agreed_on_and_numbers_used_twice_are_rejected() {
    let graph = run(initiate(), vec![delete(1), delete(1), delete(2), delete(3)]);
    assert_eq!(hand(&graph).heard[1..], [reject(1, 1, 3), reject(3, 1, 6)]);
    assert_eq!(shelf(&graph).heard.len(), 2);
}

#[test]
fn modifiers_answers_to_nothing_and_octets_that_are_no_pdu_are_rejected() {
    let modified = vec![0xa0, 0x0b, 2, 1, 4, 0x30, 2, 0xa0, 0, 0x9f, 0x4a, 1, 1];
    let answer = vec![0xa1, 0x06, 2, 1, 5, 0x9f, 0x4a, 0];
    let error = vec![0xa2, 0x0a, 0x80, 1, 6, 0xa2, 5, 0xa0, 3, 0x8b, 1, 7];
    let bad = vec![0xa0, 0x05, 2, 1, 8, 0x9f, 0x4a];
    let none = vec![0xbe, 0];
    assert_eq!(
        heard([modified, answer, error, bad, none].map(Step::Say).into()),
        [reject(4, 1, 2), reject(5, 2, 2), reject(6, 3, 2), reject(8, 1, 4), vec![0xa4, 3, 0x85, 1, 1],]
    );
}

#[test]
fn answers_that_are_none_end_their_services_and_the_user_is_told() {
    let shelf_asks = ClosingUser { asks: 3, ..ClosingUser::default() };
    // Without a service; the answer of fileDelete; an error without an error. Each of them twice: then nothing is under
    // way any more.
    let bad = [vec![0xa1, 0x03, 2, 1, 1], vec![0xa1, 0x06, 2, 1, 2, 0x9f, 0x4c, 0], vec![0xa2, 0x03, 0x80, 1, 3]];
    let steps = bad.iter().chain(&bad).cloned().map(Step::Say);
    let steps = [close(7), Step::Asked].into_iter().chain(steps);
    // Nobody is asked for a service that he has not said he has.
    let ours = Initiate {
        local_detail: Some(1000),
        services_supported: Services::of(&[MmsService::FILE_CLOSE]),
        ..Config::default().initiate
    };
    let ours = kumiki_wire::files::mms::emit(Pdu::InitiateRequest(ours)).to_vec();
    let graph = run_with(shelf_asks, ours, steps.collect());
    let codes = [(1, 2, 3), (2, 2, 2), (3, 3, 3)];
    let rejects = codes.map(|(invoke, pdu, code)| reject(invoke, pdu, code));
    let heard = hand(&graph).heard.iter();
    let heard: Vec<Vec<u8>> = heard.filter(|it| it[0] == 0xa4).cloned().collect();
    // What comes again answers nothing.
    assert_eq!(heard, [&rejects[..], &rejects].concat());
    let told = shelf(&graph).heard[1..].iter();
    let told: Vec<Vec<u8>> = told.map(|pdu| kumiki_wire::files::mms::emit(pdu.clone()).to_vec()).collect();
    assert_eq!(told, rejects);
    assert_eq!(shelf(&graph).credit, 5 + 3, "each may be asked for again");
}

#[test]
fn only_what_is_under_way_can_be_cancelled() {
    let graph = run(initiate(), vec![delete(1), Step::Say(vec![0x85, 1, 1]), Step::Say(vec![0x85, 1, 9])]);
    assert_eq!(hand(&graph).heard[1..], [vec![0xa7, 0x0a, 0x80, 1, 9, 0xa1, 5, 0xa0, 3, 0x8a, 1, 1]]);
    assert_eq!(shelf(&graph).heard.len(), 2, "the user was told of the other");
}

#[test]
fn conclude_and_release_end_in_order_with_or_without_each_other() {
    for steps in [
        vec![Step::Conclude, Step::Release],
        vec![Step::Release],
        // Who hangs up when the end was agreed on has ended in order.
        vec![Step::Conclude, Step::Abort],
    ] {
        let concludes = steps.len() > 1;
        let aborts = matches!(steps.last(), Some(Step::Abort));
        let graph = run(initiate(), steps);
        if concludes && !aborts {
            assert_eq!(hand(&graph).heard[1..], [CONCLUDED.to_vec()]);
        }
        if !aborts {
            assert_eq!(hand(&graph).ended, Some("closed"));
            assert_eq!(shelf(&graph).ended, Some("closed"));
        }
    }
}

#[test]
fn who_begins_with_something_else_or_too_small_is_refused() {
    let small = Initiate { local_detail: Some(SHORTEST - 1), ..Config::default().initiate };
    let small = kumiki_wire::files::mms::emit(Pdu::InitiateRequest(small)).to_vec();
    let none = Initiate { version: 0, ..Config::default().initiate };
    let none = kumiki_wire::files::mms::emit(Pdu::InitiateRequest(none)).to_vec();
    // localDetail is no integer; what follows it is not to be in a log.
    let broken = hex("a808 8000 8104 70617373");
    for (initiate, code, text, told) in [
        (
            small,
            2,
            "localDetail is 63 octets, expected 64 at least",
            "MMS: refused to begin: too short PDUs (error 8.2), with the words \"localDetail is 63 octets, expected 64 at least\"",
        ),
        (
            none,
            1,
            "version is 0, expected 1 at least",
            "MMS: refused to begin: no common version (error 8.1), with the words \"version is 0, expected 1 at least\"",
        ),
        (
            CONCLUDE.to_vec(),
            0,
            "conclude-Request to begin with, expected initiate-Request",
            "MMS: the peer broke the protocol: conclude-Request to begin with, expected initiate-Request (octets 8b 00)",
        ),
        (
            broken,
            0,
            "initiate-Request: localDetail: 0 octets of content, expected 1 at least",
            "MMS: the peer broke the protocol: initiate-Request: localDetail: 0 octets of content, expected 1 at least (octets a8 08 ...)",
        ),
    ] {
        let graph = run(initiate, Vec::new());
        assert_eq!(hand(&graph).ended, Some("aborted"));
        let said = hand(&graph).heard.last().unwrap();
        let error = ServiceError::new(ErrorClass::INITIATE, code).saying(text);
        assert_eq!(*said, kumiki_wire::files::mms::emit(Pdu::InitiateError(error)).to_vec());
        assert_eq!(shelf(&graph).session, Handle::default());
        let mms = graph.find::<Mms>("mms").unwrap();
        assert_eq!((mms.counters().refused, mms.refusal().map(ToString::to_string).as_deref()), (1, Some(told)));
    }
}

/// What is rejected of an association that stands is not lost either, and nothing of a user's is shown.
#[test]
fn the_last_pdu_that_was_rejected_is_told_with_its_header() {
    let rejected = |said: &str| {
        let graph = run(initiate(), vec![Step::Say(hex(said))]);
        let mms = graph.find::<Mms>("mms").unwrap();
        assert_eq!(mms.counters().rejected, 1);
        mms.refusal().unwrap().to_string()
    };
    // fileDelete without its end; fileOpen without a name; no PDU; an answer to nothing; a service that nobody here
    // has.
    let said = ["a005 020108 9f4a", "a006 020105 bf4800", "be00", "a106 020105 9f4a00", "a005 020102 a100"];
    assert_eq!(
        said.map(rejected),
        [
            "MMS: the peer broke the protocol: confirmed-Request: listOfModifier: 3 octets, of which 2 are there (octets a0 05 ...)",
            "MMS: the peer broke the protocol: fileOpen: fileName: missing, [0] is expected (octets a0 06 ...)",
            "MMS: the peer broke the protocol: MMS PDU: tag: [30] where [0] confirmed-Request to [13] conclude-Error is expected (octets be 00)",
            "MMS: the peer broke the protocol: an answer to service 5, which was not asked for, or is another (octets a1 06 ...)",
            "rejected a request: unrecognized service (reject reason 1.1)",
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_a_caller_says_the_association_can_be_ended(
        said in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..30), 1..20)
    ) {
        let steps = said.into_iter().map(Step::Say);
        let last = [Step::Abort];
        let graph = run(initiate(), steps.chain(last).collect());
        prop_assert!(shelf(&graph).ended.is_some());
    }
}
