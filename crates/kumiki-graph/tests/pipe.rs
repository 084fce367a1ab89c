//! One user on a pipe, and a device whose other end is the test.

use kumiki_graph::pipe::{Config, Pipe};
use kumiki_graph::{Accept, Credit, DeviceId, Handle, Indication, Mode, NodeId, Open, Report, Request};
use kumiki_octets::Message;
use kumiki_testkit::bench::Bench;

/// The pipe's handle of its one session.
const SESSION: Handle = Handle { index: 0, generation: 1 };

const USER: Handle = Handle { index: 7, generation: 1 };

struct Setup {
    bench: Bench,
    user: NodeId,
    device: DeviceId,
}

fn setup() -> Setup {
    let mut bench = Bench::new();
    let device = bench.device("socket");
    bench.node("pipe", &["socket"], Pipe::new(Config::default()));
    let user = bench.user("user", "pipe", &[]);
    bench.start();
    Setup { bench, user, device }
}

impl Setup {
    fn open(&mut self, mode: Mode) {
        let open = Open { user: USER, mode, ..Open::default() };
        self.bench.say(self.user, Request::Open(Box::new(open)));
    }

    fn report(&mut self, report: Report) {
        self.bench.indicate(self.device, Indication::Report(Box::new(report)));
    }

    fn room(&mut self, octets: u64) {
        let session = Handle::default();
        let credit = Credit::octets(octets);
        self.bench.indicate(self.device, Indication::Credit { session, credit });
    }

    fn heard(&mut self) -> Vec<String> {
        let name = |heard| match heard {
            Indication::Opened(opened) => format!("opened {}", opened.provider.index),
            Indication::Offered(offered) => format!("offered {}", offered.provider.index),
            Indication::Data { data, .. } => format!("data {}", data.len()),
            Indication::Credit { credit, .. } => format!("credit {}", credit.octets),
            Indication::Released { .. } => "released".to_owned(),
            Indication::Closed { .. } => "closed".to_owned(),
            Indication::Aborted { reason, .. } => format!("aborted {reason:?}"),
            Indication::Unit(_)
            | Indication::Special { .. }
            | Indication::Expedited { .. }
            | Indication::Reset { .. }
            | Indication::Notice { .. }
            | Indication::Report(_) => "what no pipe says".to_owned(),
        };
        self.bench.heard(self.user).into_iter().map(name).collect()
    }

    fn granted(&mut self) -> u64 {
        let octets = |(_, request)| {
            let Request::Credit { credit, .. } = request else {
                return 0;
            };
            credit.octets
        };
        self.bench.requests().into_iter().map(octets).sum()
    }
}

#[test]
fn a_call_stands_as_soon_as_the_peer_is_there_and_credit_passes_through() {
    let mut it = setup();
    it.open(Mode::Active);
    it.room(1000);
    assert_eq!(it.heard(), [""; 0]);
    it.report(Report::Up);
    assert_eq!(it.heard(), ["opened 0", "credit 1000"]);
    assert_eq!(it.granted(), 256 * 1024);
    it.room(5);
    it.bench.octets(it.device, &[1; 30]);
    assert_eq!(it.heard(), ["credit 5", "data 30"]);
    let session = SESSION;
    let credit = Credit::octets(30);
    it.bench.say(it.user, Request::Credit { session, credit });
    assert_eq!(it.granted(), 30);
    let data = Message::from_octets(b"down");
    let end = true;
    it.bench.say(it.user, Request::Data { session, data, end });
    assert_eq!(it.bench.sent_octets(), [b"down".to_vec()]);
}

#[test]
fn who_listens_is_offered_the_peer_and_reads_only_after_accepting() {
    let mut it = setup();
    it.open(Mode::Passive { backlog: 1 });
    it.report(Report::Up);
    it.room(1000);
    assert_eq!(it.heard(), ["opened 1", "offered 0"]);
    assert_eq!(it.granted(), 0);
    let accept = Accept { session: SESSION, user: USER, ..Accept::default() };
    it.bench.say(it.user, Request::Accept(Box::new(accept)));
    assert_eq!(it.heard(), ["credit 1000"]);
    assert_eq!(it.granted(), 256 * 1024);
}

#[test]
fn the_end_of_file_ends_it_in_order() {
    let mut it = setup();
    it.open(Mode::Active);
    it.report(Report::Up);
    it.report(Report::Down);
    assert_eq!(it.heard(), ["opened 0", "released"]);
    let (session, data) = (SESSION, None);
    it.bench.say(it.user, Request::Release { session, data });
    assert_eq!(it.heard(), ["closed"]);
}

#[test]
fn a_peer_that_never_comes_is_a_refusal_and_an_offer_can_be_late() {
    let mut it = setup();
    it.open(Mode::Active);
    it.report(Report::Down);
    assert_eq!(it.heard(), ["aborted Refused"]);

    let mut it = setup();
    it.open(Mode::Passive { backlog: 1 });
    it.report(Report::Up);
    it.report(Report::Down);
    let accept = Accept { session: SESSION, user: USER, ..Accept::default() };
    it.bench.say(it.user, Request::Accept(Box::new(accept)));
    assert_eq!(it.heard(), ["opened 1", "offered 0", "aborted NoSession"]);
}
