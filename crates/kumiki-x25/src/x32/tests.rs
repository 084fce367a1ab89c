use kumiki_graph::Special;
use kumiki_graph::{DeviceId, NodeId};
use kumiki_octets::Payload;
use proptest::prelude::*;

use super::*;
use kumiki_testkit::bench::{Bench, hex};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

/// Calls 200 when a link is wanted.
fn caller() -> Config {
    Config { number: Some(number("200")), ..Config::default() }
}

/// One end of a circuit, with the test as its exchange, its link and its identification.
struct End {
    bench: Bench,
    line: DeviceId,
    link: NodeId,
    identification: NodeId,
    node: NodeId,
}

/// What has been said to the exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Dial(Number),
    Answer,
    Clear,
}

/// What the link has heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LinkReport {
    Up,
    Down,
    Dte(bool),
}

impl End {
    fn new(config: Config) -> Self {
        let mut bench = Bench::new();
        let line = bench.device("line");
        let node = bench.node("x32", &["line"], X32::new(config).unwrap());
        let link = bench.user("link", "x32", &[Key::Only]);
        let identification = bench.user("identification", "x32", &[Key::Raw]);
        bench.start();
        let mut end = Self { bench, line, link, identification, node };
        assert_eq!(end.told(), [LinkReport::Down]);
        end
    }

    fn manage(&mut self, user: NodeId, what: impl Payload) {
        let manage = Box::new(Manage::special(what));
        self.bench.say(user, Request::Manage(manage));
    }

    fn want(&mut self, wanted: bool) {
        self.manage(self.link, LinkWanted(wanted));
    }

    fn judge(&mut self, verdict: Verdict) {
        self.manage(self.identification, verdict);
    }

    fn hear(&mut self, what: CircuitReport) {
        let report = Box::new(Report::special(what));
        self.bench.indicate(self.line, Indication::Report(report));
    }

    fn ring(&mut self, from: &str) {
        let from = Some(number(from));
        self.hear(CircuitReport::Ringing { from });
    }

    fn connect(&mut self, calling: bool) {
        self.hear(CircuitReport::Connected { calling });
    }

    fn cleared(&mut self, cause: Cleared) {
        self.hear(CircuitReport::Cleared(cause));
    }

    fn said(&mut self) -> Vec<Said> {
        let calls = |(_, request)| {
            let Request::Manage(manage) = request else {
                return None;
            };
            let Manage::Special(what) = *manage else {
                return None;
            };
            Some(match *what.get()? {
                CircuitManage::Dial { number } => Said::Dial(number),
                CircuitManage::Answer => Said::Answer,
                CircuitManage::Clear => Said::Clear,
            })
        };
        self.bench.requests().into_iter().filter_map(calls).collect()
    }

    fn told(&mut self) -> Vec<LinkReport> {
        let told = |report| {
            if let Report::Special(what) = &report {
                return what.get().map(|LineEnd { dte }| LinkReport::Dte(*dte));
            }
            let up = matches!(report, Report::Up);
            let down = matches!(report, Report::Down);
            (up || down).then_some(if up { LinkReport::Up } else { LinkReport::Down })
        };
        let reports = self.bench.reports(self.link);
        reports.into_iter().filter_map(told).collect()
    }

    fn state(&mut self) -> State {
        self.node().state()
    }

    fn node(&mut self) -> &X32 {
        self.bench.graph.protocol_mut::<X32>(self.node).unwrap()
    }

    fn counters(&mut self) -> Counters {
        *self.node().counters()
    }

    /// A frame from the line.
    fn frame(&mut self, octets: &str) {
        self.bench.octets(self.line, &hex(octets));
    }

    /// A frame from the link.
    fn send(&mut self, octets: &str) {
        let data = Message::from_octets(&hex(octets));
        self.bench.send(self.link, Unit::of(data));
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        self.bench.sent_octets()
    }
}

/// A circuit for which it has called stands.
fn called(config: Config) -> End {
    let mut end = End::new(config);
    end.want(true);
    assert_eq!(end.said(), [Said::Dial(number("200"))]);
    end.connect(true);
    end
}

#[test]
fn the_wish_for_a_link_makes_the_call_and_its_end_clears_it() {
    let mut end = called(caller());
    assert_eq!(end.told(), [LinkReport::Dte(true), LinkReport::Up]);
    assert_eq!(end.state(), State::Connected);
    end.want(false);
    assert_eq!((end.said(), end.told()), (vec![Said::Clear], vec![LinkReport::Down]));
    assert_eq!(end.state(), State::Clearing);
    end.cleared(Cleared::Own);
    assert_eq!(end.state(), State::Idle);
    // And again.
    end.want(true);
    assert_eq!(end.said(), [Said::Dial(number("200"))]);
}

#[test]
fn who_answers_has_the_address_of_the_dce_unless_that_is_fixed() {
    let mut end = End::new(Config::default());
    end.ring("100");
    assert_eq!(end.said(), [Said::Answer]);
    end.connect(false);
    assert_eq!(end.told(), [LinkReport::Dte(false), LinkReport::Up]);
    let mut end = End::new(Config { side: Side::Fixed(Role::Dte), ..Config::default() });
    end.ring("100");
    end.connect(false);
    assert_eq!(end.told(), [LinkReport::Dte(true), LinkReport::Up]);
}

#[test]
fn frames_cross_only_while_the_circuit_stands() {
    let mut end = End::new(caller());
    end.send("01 3f");
    end.want(true);
    end.send("01 3f");
    end.frame("03 3f");
    assert!(end.sent().is_empty());
    assert_eq!(end.counters().dropped, 3);
    end.connect(true);
    end.send("01 3f");
    end.frame("01 73");
    assert_eq!(end.sent(), [hex("01 3f")]);
    let units = end.bench.units(end.link);
    assert_eq!(units.len(), 1);
}

#[test]
fn a_busy_number_is_called_again_with_longer_and_longer_waits_until_it_is_given_up() {
    let mut end = End::new(caller());
    end.want(true);
    for (least, most) in [(5, 7), (10, 13), (20, 26)] {
        assert_eq!(end.said().len(), 1);
        end.cleared(Cleared::Busy);
        end.bench.pass(secs(least) - Duration::from_millis(1));
        assert_eq!((end.said(), end.state()), (vec![], State::Waiting));
        end.bench.pass(secs(most - least));
    }
    assert_eq!(end.said().len(), 1);
    assert_eq!(end.told(), []);
    end.cleared(Cleared::NoAnswer);
    assert_eq!((end.told(), end.state()), (vec![LinkReport::Down], State::Idle));
    let counters = end.counters();
    assert_eq!((counters.dialled, counters.redialled), (4, 3));
    assert_eq!((counters.failed, counters.given_up), (4, 1));
    end.bench.pass(secs(600));
    assert_eq!(end.said(), []);
}

#[test]
fn a_number_that_there_is_not_is_not_called_again() {
    let mut end = End::new(caller());
    end.want(true);
    end.cleared(Cleared::Unobtainable);
    assert_eq!((end.told(), end.state()), (vec![LinkReport::Down], State::Idle));
}

#[test]
fn nobody_waits_for_ever_for_a_call_to_be_answered() {
    let mut end = End::new(caller());
    end.want(true);
    end.said();
    end.bench.pass(secs(60));
    assert_eq!((end.said(), end.state()), (vec![Said::Clear], State::Clearing));
    end.cleared(Cleared::Own);
    assert_eq!(end.state(), State::Waiting);
}

#[test]
fn who_wants_no_link_any_more_is_not_called_for() {
    let mut end = End::new(caller());
    end.want(true);
    end.want(false);
    assert_eq!(end.said(), [Said::Dial(number("200")), Said::Clear]);
    end.cleared(Cleared::Own);
    assert_eq!(end.state(), State::Idle);
    end.want(true);
    end.cleared(Cleared::Busy);
    end.said();
    end.want(false);
    end.bench.pass(secs(600));
    assert_eq!((end.said(), end.state()), (vec![], State::Idle));
}

#[test]
fn a_foreign_caller_is_refused() {
    let mut end = End::new(Config { callers: vec![number("100")], ..Config::default() });
    end.ring("666");
    assert_eq!(end.said(), [Said::Clear]);
    end.cleared(Cleared::Own);
    // Who does not tell is nobody that we know.
    end.hear(CircuitReport::Ringing { from: None });
    assert_eq!(end.said(), [Said::Clear]);
    end.cleared(Cleared::Own);
    assert_eq!(end.counters().foreign, 2);
    end.ring("100");
    assert_eq!(end.said(), [Said::Answer]);
}

#[test]
fn a_circuit_on_which_no_information_passes_is_cleared() {
    let mut end = called(caller());
    end.bench.pass(secs(100));
    // An I frame up, and later RR, which is no use of the circuit.
    end.frame("03 00 10 00 fb 00 00");
    end.bench.pass(secs(100));
    end.send("01 21");
    end.bench.pass(Duration::from_millis(19_999));
    assert_eq!(end.state(), State::Connected);
    end.bench.pass(Duration::from_millis(1));
    assert_eq!((end.said(), end.counters().idle), (vec![Said::Clear], 1));
}

#[test]
fn a_circuit_cleared_under_the_link_ends_it_and_is_called_again_when_it_is_wanted() {
    let mut end = called(caller());
    end.told();
    end.cleared(Cleared::Network);
    assert_eq!((end.told(), end.state()), (vec![LinkReport::Down], State::Idle));
    assert_eq!((end.said(), end.counters().lost), (vec![], 1));
    end.want(true);
    assert_eq!(end.said(), [Said::Dial(number("200"))]);
}

#[test]
fn a_caller_is_refused_and_called_back_at_the_number_that_is_known() {
    let mut end =
        End::new(Config { callers: vec![number("100"), number("101")], call_back: true, ..Config::default() });
    end.ring("101");
    assert_eq!(end.said(), [Said::Clear]);
    end.cleared(Cleared::Own);
    assert_eq!(end.state(), State::CallingBack);
    end.bench.pass(secs(2));
    assert_eq!(end.said(), [Said::Dial(number("101"))]);
    // Busy, for its caller has not hung up yet.
    end.cleared(Cleared::Busy);
    end.bench.pass(secs(7));
    assert_eq!(end.said(), [Said::Dial(number("101"))]);
    end.connect(true);
    assert_eq!(end.told(), [LinkReport::Dte(true), LinkReport::Up]);
    assert_eq!(end.counters().called_back, 2);
}

#[test]
fn who_is_to_be_called_back_waits_for_that_call() {
    let config = Config { call_back_within: secs(30), ..caller() };
    let mut end = End::new(config.clone());
    end.want(true);
    end.said();
    end.cleared(Cleared::Refused);
    assert_eq!((end.state(), end.told()), (State::Expecting, vec![]));
    end.bench.pass(secs(10));
    end.ring("200");
    assert_eq!(end.said(), [Said::Answer]);
    end.connect(false);
    assert_eq!(end.told(), [LinkReport::Dte(false), LinkReport::Up]);
    // And calls again where nobody does.
    let mut end = End::new(config);
    end.want(true);
    end.said();
    end.cleared(Cleared::Refused);
    end.bench.pass(secs(37));
    assert_eq!(end.said(), [Said::Dial(number("200"))]);
}

#[test]
fn of_two_calls_that_meet_the_one_that_rings_is_taken() {
    let mut end = End::new(caller());
    end.want(true);
    end.said();
    end.ring("200");
    assert_eq!(end.said(), [Said::Answer]);
    end.connect(false);
    assert_eq!(end.told(), [LinkReport::Dte(false), LinkReport::Up]);
}

fn identifying() -> Config {
    Config { identify: secs(15), ..Config::default() }
}

/// What identification has got: information, whether a response, P or F.
fn exchanged(end: &mut End) -> Vec<(Vec<u8>, bool, bool)> {
    let heard = end.bench.heard(end.identification);
    let xid = |indication| {
        let Indication::Special { what, .. } = indication else {
            return None;
        };
        let it = what.take::<Identification>()?;
        Some((it.information.to_vec(), it.response, it.poll))
    };
    heard.into_iter().filter_map(xid).collect()
}

#[test]
fn a_link_waits_until_identification_has_admitted_the_other_end() {
    let mut end = End::new(identifying());
    end.ring("100");
    end.connect(false);
    assert_eq!((end.told(), end.state()), (vec![], State::Identifying));
    // Too early, and of no use to a link that does not stand.
    end.frame("01 3f");
    // XID, a command with P to us, the DCE; what is in it is nobody's here.
    end.frame("01 bf 82 80 00");
    assert_eq!(exchanged(&mut end), [(hex("82 80 00"), false, true)]);
    let what =
        Special::new(Identification { information: Message::from_octets(&hex("aa bb")), response: true, poll: true });
    let session = Handle::default();
    end.bench.say(end.identification, Request::Special { session, what });
    assert_eq!(end.sent(), [hex("01 bf aa bb")]);
    end.judge(Verdict::Admit);
    assert_eq!(end.told(), [LinkReport::Dte(false), LinkReport::Up]);
    end.frame("01 3f");
    assert_eq!(end.bench.units(end.link).len(), 1);
    let counters = end.counters();
    assert_eq!((counters.xid_received, counters.xid_sent), (1, 1));
    assert_eq!(counters.dropped, 1);
}

#[test]
fn who_is_not_admitted_is_cleared_and_so_is_who_says_nothing() {
    let mut end = End::new(identifying());
    end.ring("100");
    end.connect(false);
    end.said();
    end.judge(Verdict::Refuse);
    assert_eq!(end.said(), [Said::Clear]);
    end.cleared(Cleared::Own);
    end.ring("100");
    end.connect(false);
    end.said();
    end.bench.pass(secs(15));
    assert_eq!((end.said(), end.counters().not_admitted), (vec![Said::Clear], 2));
}

#[test]
fn identification_may_have_somebody_called_back() {
    let mut end = End::new(identifying());
    end.ring("666");
    end.connect(false);
    end.said();
    end.judge(Verdict::CallBack(number("123")));
    assert_eq!(end.said(), [Said::Clear]);
    end.cleared(Cleared::Own);
    end.bench.pass(secs(2));
    assert_eq!(end.said(), [Said::Dial(number("123"))]);
}

#[test]
fn without_identification_xid_is_the_links_affair() {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("x32", &["line"], X32::new(Config::default()).unwrap());
    let link = bench.user("link", "x32", &[Key::Only]);
    bench.start();
    for what in [CircuitReport::Ringing { from: None }, CircuitReport::Connected { calling: false }] {
        let report = Box::new(Report::special(what));
        bench.indicate(line, Indication::Report(report));
    }
    bench.octets(line, &hex("01 bf 01"));
    assert_eq!(bench.units(link).len(), 1);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let said = |config: Config| X32::new(config).err();
    let nobody = Config { call_back: true, ..Config::default() };
    assert_eq!(said(nobody), Some(ConfigError::NobodyToCallBack));
    let shorter = Config { max_redial: secs(1), ..Config::default() };
    assert_eq!(said(shorter), Some(ConfigError::Most(secs(1), secs(5))));
    let none = Config { number: Some(Number::NONE), ..Config::default() };
    assert_eq!(said(none), Some(ConfigError::NoDigits));
}

proptest! {
    /// Whatever comes, the link is told up and down by turns, and what it sends goes out exactly while it is up.
    #[test]
    fn the_link_has_a_circuit_exactly_while_it_is_told_so(
        what in prop::collection::vec((0_u8..14, 0_u64..40), 0..60),
        identify in prop::bool::ANY,
        call_back in prop::bool::ANY,
    ) {
        let mut end = End::new(Config {
            identify: if identify { secs(15) } else { Duration::ZERO },
            call_back_within: secs(20),
            call_back,
            callers: vec![number("100"), number("200")],
            ..caller()
        });
        let mut up = false;
        for (which, time) in what {
            match which {
                0 | 1 => end.want(true),
                2 => end.want(false),
                3 => end.ring("100"),
                4 => end.ring("666"),
                5 | 6 => end.connect(time % 2 == 0),
                7 => end.cleared(Cleared::Busy),
                8 => end.cleared(Cleared::Refused),
                9 => end.cleared(Cleared::Peer),
                10 => end.judge(Verdict::Admit),
                11 => end.judge(Verdict::Refuse),
                12 => end.judge(Verdict::CallBack(number("123"))),
                _ => end.bench.pass(secs(time)),
            }
            for told in end.told() {
                match told {
                    LinkReport::Up => {
                        prop_assert!(!up);
                        up = true;
                    }
                    LinkReport::Down => up = false,
                    LinkReport::Dte(_) => {}
                }
            }
            end.said();
            end.send("01 3f");
            prop_assert_eq!(end.sent().len(), usize::from(up));
            prop_assert_eq!(up, end.state() == State::Connected);
        }
    }
}
