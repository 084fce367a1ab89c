use kumiki_graph::{DeviceId, NodeId};
use kumiki_link::sonet::Defect;
use kumiki_link::sonet::DefectReport;
use kumiki_wire::numbering::MAPOS_PROTOCOL;
use kumiki_wire::numbering::PPP_PROTOCOL;
use kumiki_wire::ppp::mapos::AddressField;
use kumiki_wire::ppp::ppp::protocol::IPV4 as PPP_IPV4;

use super::*;
use crate::ppp::{self, Ppp};
use kumiki_testkit::bench::{Bench, hex};

const IP: &[Key] = &[Key::of(MAPOS_PROTOCOL, protocol::IPV4), Key::of(MAPOS_PROTOCOL, protocol::ARP)];
const REQUEST: &str = "0103fe03 00000001 00000000";

struct Driver {
    bench: Bench,
    line: DeviceId,
    mapos: NodeId,
}

fn driver(config: Config) -> Driver {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("sdh", &["line"], Sdh::new(config).unwrap());
    let mapos = bench.user("mapos", "sdh", IP);
    bench.start();
    Driver { bench, line, mapos }
}

/// With PPP beside MAPOS: its driver, IP on it, and a daemon.
fn shared(config: Config) -> (Driver, NodeId, NodeId) {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("sdh", &["line"], Sdh::new(config).unwrap());
    let mapos = bench.user("mapos", "sdh", IP);
    bench.node("ppp", &["sdh"], Ppp::new(ppp::Config::default()));
    let ip = bench.user("ip", "ppp", &[Key::of(PPP_PROTOCOL, PPP_IPV4)]);
    let daemon = bench.user("daemon", "ppp", &[Key::Raw]);
    bench.start();
    bench.requests();
    (Driver { bench, line, mapos }, ip, daemon)
}

impl Driver {
    fn heard(&mut self, user: NodeId) -> Vec<Vec<u8>> {
        let units = self.bench.units(user);
        units.iter().map(|it| it.data.to_vec()).collect()
    }

    fn receive(&mut self, octets: &str) {
        self.bench.octets(self.line, &hex(octets));
    }

    fn report(&mut self, report: Report) {
        let report = Indication::Report(Box::new(report));
        self.bench.indicate(self.line, report);
    }

    fn pass(&mut self, daemon: NodeId, pass: bool) {
        let link = LinkManage::Pass { protocol: PPP_IPV4, pass, local: Address::NONE, remote: Address::NONE };
        let request = Request::Manage(Box::new(Manage::special(link)));
        self.bench.say(daemon, request);
    }

    fn counters(&self) -> Counters {
        let node = self.bench.graph.node("sdh").unwrap();
        *self.bench.graph.protocol::<Sdh>(node).unwrap().counters()
    }
}

fn to(address: u16, octets: &[u8]) -> Unit {
    Unit { destination: Address::from(AddressField(address)), ..Unit::of(Message::from_octets(octets)) }
}

fn alarm(defect: Defect, present: bool) -> Report {
    Report::special(DefectReport { defect, present })
}

#[test]
fn the_address_is_asked_for_every_5_s_and_then_verified_every_30_s() {
    let mut driver = driver(Config::default());
    let asked = |driver: &mut Driver| {
        let sent = driver.bench.sent_octets();
        assert!(sent.iter().all(|it| *it == hex(REQUEST)), "{sent:x?}");
        sent.len()
    };
    assert_eq!(asked(&mut driver), 1);
    driver.bench.pass(Duration::from_millis(4999));
    assert_eq!(asked(&mut driver), 0);
    driver.bench.pass(Duration::from_millis(1));
    assert_eq!(asked(&mut driver), 1);
    // RFC 2173 figure 2: port 3 of switch 1.
    driver.receive("2303fe03 00000002 00000023");
    let mapos = driver.mapos;
    let reports = driver.bench.reports(mapos);
    let [Report::Route { source, .. }, Report::Up] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert_eq!(*source, Address::from(AddressField(0x23)));
    driver.bench.pass(Duration::from_millis(29_999));
    assert_eq!(asked(&mut driver), 0);
    driver.bench.pass(Duration::from_millis(1));
    assert_eq!(asked(&mut driver), 1);
    // The same again is no news; without an answer it is asked every 5 s.
    driver.receive("2303fe03 00000002 00000023");
    assert!(driver.bench.reports(mapos).is_empty());
    driver.bench.pass(Duration::from_secs(60));
    assert_eq!(asked(&mut driver), 1 + 6);
    // Another address is believed whatever the present one is.
    driver.receive("4903fe03 00000002 00000049");
    let reports = driver.bench.reports(mapos);
    let [Report::Route { source, .. }, Report::Up] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert_eq!(*source, Address::from(AddressField(0x49)));
}

#[test]
fn signal_that_was_lost_makes_it_ask_at_once() {
    let mut driver = driver(Config::default());
    driver.receive("2303fe03 00000002 00000023");
    let mapos = driver.mapos;
    driver.bench.requests();
    driver.bench.reports(mapos);
    driver.bench.pass(Duration::from_secs(1));
    driver.report(alarm(Defect::Los, true));
    driver.report(alarm(Defect::Lof, true));
    assert!(matches!(driver.bench.reports(mapos)[..], [Report::Down]));
    driver.bench.pass(Duration::from_secs(100));
    assert!(driver.bench.sent_octets().is_empty());
    driver.report(alarm(Defect::Los, false));
    assert!(driver.bench.sent_octets().is_empty());
    driver.report(alarm(Defect::Lof, false));
    assert_eq!(driver.bench.sent_octets(), [hex(REQUEST)]);
    // It is up for its users when the address has been verified.
    assert!(driver.bench.reports(mapos).is_empty());
    driver.receive("2303fe03 00000002 00000023");
    assert_eq!(driver.bench.reports(mapos).len(), 2);
    // A peer that does not hear us is no loss of what we hear.
    driver.report(alarm(Defect::MsRdi, true));
    assert!(driver.bench.reports(mapos).is_empty());
}

#[test]
fn who_is_asked_gives_the_other_end_03_and_gets_it_too() {
    let mut driver = driver(Config::default());
    driver.bench.requests();
    // Looped: what was sent comes back.
    driver.receive(REQUEST);
    let sent = driver.bench.sent_octets();
    assert_eq!(sent, [hex("0303fe03 00000002 00000003")]);
    driver.bench.octets(driver.line, &sent[0]);
    driver.receive("03030021 45");
    let mapos = driver.mapos;
    assert_eq!(driver.heard(mapos), [[0x45]]);
}

#[test]
fn an_assignment_to_somebody_else_or_a_reject_changes_nothing() {
    let mut driver = driver(Config::default());
    for octets in [
        "ff03fe03 00000002 00000023",
        "2503fe03 00000002 00000023",
        "0103fe03 00000002 00000001",
        "8103fe03 00000002 00000081",
        "2303fe03 00000003 00000023",
        "2303fe03 00000002 000000",
        "2303fe03 00000004 00000023",
        // Requests that are not to the switch at the other end.
        "0303fe03 00000001 00000000",
        "ff03fe03 00000001 00000000",
    ] {
        driver.receive(octets);
    }
    let mapos = driver.mapos;
    assert!(driver.bench.reports(mapos).is_empty());
    assert_eq!(driver.bench.sent_octets(), [hex(REQUEST)]);
    let counters = driver.counters();
    assert_eq!((counters.malformed, counters.rejected), (6, 1));
    driver.bench.pass(Duration::from_secs(5));
    assert_eq!(driver.bench.sent_octets(), [hex(REQUEST)]);
}

#[test]
fn frames_for_others_or_with_a_wrong_header_are_dropped_and_counted() {
    let mut driver = driver(Config::default());
    driver.receive("2303fe03 00000002 00000023");
    for octets in [
        "23030021 01", // ours
        "ff030021 02", // everybody's
        "a5030021 03", // a group's
        "25030021 04", // another node's
        "0103fe05 05", // the switch's
        "23130021 06", // control
        "22030021 07", // no last bit
        "230300",      // cut short
        "23038035 08", // no such user
    ] {
        driver.receive(octets);
    }
    let mapos = driver.mapos;
    let heard = driver.bench.units(mapos);
    let groups: Vec<_> = heard.iter().map(|it| (it.data.to_vec(), it.destination, it.options.group)).collect();
    assert_eq!(
        groups,
        [
            (vec![1], Address::from(AddressField(0x23)), false),
            (vec![2], Address::from(AddressField(0xff)), true),
            (vec![3], Address::from(AddressField(0xa5)), true)
        ]
    );
    let counters = driver.counters();
    assert_eq!(
        (
            counters.received,
            counters.other_node,
            counters.invalid_control,
            counters.invalid_address,
            counters.malformed,
            counters.unknown_protocol
        ),
        (3, 2, 1, 1, 1, 1)
    );
    driver.receive(&format!("23030021 {}", "00".repeat(MAX_INFORMATION)));
    driver.receive(&format!("23030021 {}", "00".repeat(MAX_INFORMATION + 1)));
    assert_eq!(driver.heard(mapos).len(), 1);
    let drops = driver.bench.drops("sdh", "longer than MAPOS carries");
    assert_eq!(drops, 1);
}

#[test]
fn units_become_frames_and_others_are_refused() {
    let mut driver = driver(Config::default());
    driver.bench.requests();
    let mapos = driver.mapos;
    driver.bench.send(mapos, to(0x49, &[7]));
    assert_eq!(driver.bench.sent_octets(), [hex("49030021 07")]);
    let mut arp = to(0xff, &[8]);
    arp.options.under = Some(Key::of(MAPOS_PROTOCOL, protocol::ARP));
    driver.bench.send(mapos, arp);
    assert_eq!(driver.bench.sent_octets(), [hex("ff03fe01 08")]);
    for refused in
        [to(0x22, &[1]), to(0x0123, &[1]), Unit::of(Message::from_octets(&[1])), to(3, &vec![0; MAX_INFORMATION + 1])]
    {
        driver.bench.send(mapos, refused);
    }
    assert!(driver.bench.sent_octets().is_empty());
    assert_eq!(driver.counters().refused, 4);
}

#[test]
fn addresses_of_16_bits_have_no_control_field() {
    let config = Config { width: Width::Sixteen, ..Config::default() };
    let mut driver = driver(config);
    let asked = driver.bench.sent_octets();
    assert_eq!(asked, [hex("0001fe03 00000001 00000000")]);
    driver.receive("5283fe03 00000002 00005283");
    driver.receive("52830021 01");
    driver.receive("feff0021 02");
    driver.receive("ff030021 03");
    let mapos = driver.mapos;
    assert_eq!(driver.heard(mapos), [[1], [2]]);
    assert_eq!(driver.counters().invalid_address, 1);
    driver.bench.send(mapos, to(0xfeff, &[9]));
    assert_eq!(driver.bench.sent_octets(), [hex("feff0021 09")]);
}

#[test]
fn an_address_that_was_set_by_hand_is_told_and_not_asked_for() {
    let config = |address: &str| Config { address: Some(address.parse().unwrap()), ..Config::default() };
    let mut driver = driver(config("0x09"));
    assert!(driver.bench.sent_octets().is_empty());
    let mapos = driver.mapos;
    assert_eq!(driver.bench.reports(mapos).len(), 2);
    driver.receive("4903fe03 00000002 00000049");
    driver.receive("09030021 01");
    assert_eq!(driver.heard(mapos), [[1]]);
    for wrong in ["0x01", "0xff", "0x81", "0x0009"] {
        assert!(Sdh::new(config(wrong)).is_err(), "{wrong}");
    }
}

/// Every kind of frame that begins with `FF 03`, whose it is while PPP passes no IP, and while it does.
const SHARED: [(&str, &str, &str); 9] = [
    ("ff030021 45", "mapos", "ppp"),
    ("ff03fe01 01", "mapos", "mapos"),
    ("ff03c021 01", "daemon", "daemon"),
    ("ff038021 01", "daemon", "daemon"),
    ("ff030057 60", "daemon", "daemon"),
    ("ff0321 45", "daemon", "ppp"),
    ("a5030021 45", "mapos", "mapos"),
    ("23030021 45", "mapos", "mapos"),
    ("2345", "nobody", "nobody"),
];

#[test]
fn ppp_and_mapos_share_a_line_by_the_rule() {
    let (mut driver, ip, daemon) = shared(Config::default());
    driver.receive("2303fe03 00000002 00000023");
    let mapos = driver.mapos;
    for passing in [false, true, false] {
        driver.pass(daemon, passing);
        // What PPP has sent before it closed is no longer in flight.
        driver.bench.pass(Duration::from_secs(3));
        for (octets, before, after) in SHARED {
            driver.receive(octets);
            let users = [("mapos", mapos), ("daemon", daemon), ("ppp", ip)];
            let heard = users.map(|(name, user)| (name, driver.heard(user).len()));
            let whose = heard.iter().find(|(_, count)| *count > 0);
            let whose = whose.map_or("nobody", |(name, _)| name);
            let expected = if passing { after } else { before };
            assert_eq!(whose, expected, "{octets}, PPP passes IP: {passing}");
        }
    }
}

#[test]
fn what_ppp_sent_before_it_closed_does_not_become_mapos() {
    let (mut driver, ip, daemon) = shared(Config::default());
    let mapos = driver.mapos;
    driver.pass(daemon, true);
    driver.pass(daemon, false);
    driver.bench.pass(Duration::from_millis(2999));
    driver.receive("ff030021 45");
    let users = [mapos, ip, daemon];
    assert_eq!(users.map(|user| driver.heard(user).len()), [0, 0, 1]);
    driver.bench.pass(Duration::from_millis(1));
    driver.receive("ff030021 45");
    assert_eq!(users.map(|user| driver.heard(user).len()), [1, 0, 0]);
    // Behind a loss of signal nothing is in flight.
    driver.pass(daemon, true);
    driver.report(Report::Down);
    driver.report(Report::Up);
    driver.receive("ff030021 45");
    assert_eq!(users.map(|user| driver.heard(user).len()), [1, 0, 0]);
}

#[test]
fn our_own_broadcasts_of_ip_wait_for_ppp_to_close() {
    let (mut driver, _, daemon) = shared(Config::default());
    let mapos = driver.mapos;
    driver.bench.send(mapos, to(0xff, &[1]));
    driver.pass(daemon, true);
    driver.bench.requests();
    driver.bench.send(mapos, to(0xff, &[2]));
    assert_eq!(driver.bench.drops("sdh", "the peer would take it for PPP's"), 1);
    // Nobody takes these for PPP's.
    driver.bench.send(mapos, to(0x23, &[3]));
    driver.bench.send(mapos, to(0xa5, &[4]));
    let mut arp = to(0xff, &[5]);
    arp.options.under = Some(Key::of(MAPOS_PROTOCOL, protocol::ARP));
    driver.bench.send(mapos, arp);
    driver.bench.send(daemon, Unit::of(Message::from_octets(&hex("c0210101"))));
    driver.bench.send(daemon, Unit::of(Message::from_octets(&hex("ff03c0210101"))));
    assert_eq!(
        driver.bench.sent_octets(),
        [hex("23030021 03"), hex("a5030021 04"), hex("ff03fe01 05"), hex("ff03c0210101")]
    );
    let drops = driver.bench.drops("sdh", "PPP frame without address and control");
    assert_eq!(drops, 1);
}

#[test]
fn with_16_bits_ff_03_is_always_ppp() {
    let config = Config { width: Width::Sixteen, ..Config::default() };
    let (mut driver, _, daemon) = shared(config);
    for octets in ["ff030021 45", "ff03fe01 01", "ff03c021 01", "feff0021 02"] {
        driver.receive(octets);
    }
    let mapos = driver.mapos;
    assert_eq!(driver.heard(mapos), [[2]]);
    assert_eq!(driver.heard(daemon).len(), 3);
    driver.pass(daemon, true);
    driver.bench.requests();
    driver.bench.send(mapos, to(0xfeff, &[3]));
    assert_eq!(driver.bench.sent_octets(), [hex("feff0021 03")]);
}

#[test]
fn alone_ppp_has_all_frames_and_nobody_is_asked_for_an_address() {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("sdh", &["line"], Sdh::new(Config::default()).unwrap());
    bench.node("ppp", &["sdh"], Ppp::new(ppp::Config::default()));
    let ip = bench.user("ip", "ppp", &[Key::of(PPP_PROTOCOL, PPP_IPV4)]);
    bench.start();
    assert!(bench.sent_octets().is_empty());
    for octets in ["ff030021 45", "2145", "0103fe03 0000000100000000"] {
        bench.octets(line, &hex(octets));
    }
    assert_eq!(bench.units(ip).len(), 2);
    assert!(bench.sent_octets().is_empty());
}

#[test]
fn users_that_cannot_be_are_refused() {
    let mut bench = Bench::new();
    bench.device("line");
    bench.node("sdh", &["line"], Sdh::new(Config::default()).unwrap());
    let task = bench.graph.add_task("other");
    for (name, keys) in [("none", &[Key::Only][..]), ("nsp", &[Key::of(MAPOS_PROTOCOL, protocol::NSP)])] {
        let user = Box::new(kumiki_testkit::bench::User::with_keys(keys));
        bench.graph.add_node(name, task, user).unwrap();
        assert!(bench.graph.connect(name, "sdh").is_err(), "{name}");
    }
}
