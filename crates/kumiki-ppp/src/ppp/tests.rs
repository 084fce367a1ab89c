use core::net::Ipv4Addr;
use kumiki_wire::numbering::PPP_PROTOCOL;

use kumiki_graph::{DeviceId, NodeId};
use kumiki_octets::Message;

use super::*;
use kumiki_testkit::bench::{Bench, hex};

const IP: &[Key] = &[Key::of(PPP_PROTOCOL, 0x0021)];

fn unit(octets: &[u8]) -> Unit {
    Unit::of(Message::from_octets(octets))
}

struct Driver {
    bench: Bench,
    line: DeviceId,
    ip: NodeId,
    daemon: NodeId,
}

fn with_daemon() -> Driver {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("ppp", &["line"], Ppp::new(Config { mtu: 4470 }));
    let ip = bench.user("ip", "ppp", IP);
    let daemon = bench.user("daemon", "ppp", &[Key::Raw]);
    bench.start();
    Driver { bench, line, ip, daemon }
}

fn say(driver: &mut Driver, link: LinkManage) {
    let request = Request::Manage(Box::new(Manage::special(link)));
    driver.bench.say(driver.daemon, request);
}

const AGREED: Agreement = Agreement {
    peer_mru: 1500,
    mru: 4470,
    send_accm: 0,
    receive_accm: 0,
    acfc: true,
    pfc: true,
    send_fcs: 32,
    receive_fcs: 32,
};

#[test]
fn without_a_daemon_all_protocols_with_a_user_pass_from_the_start() {
    let mut bench = Bench::new();
    let line = bench.device("line");
    bench.node("ppp", &["line"], Ppp::new(Config::default()));
    let ip = bench.user("ip", "ppp", IP);
    bench.start();
    bench.send(ip, unit(&[0x45, 1]));
    assert_eq!(bench.sent_octets(), [hex("ff030021 4501")]);
    for octets in ["ff030021 4502", "21 4503", "002145 04"] {
        bench.octets(line, &hex(octets));
    }
    let heard: Vec<_> = bench.units(ip).iter().map(|it| it.data.to_vec()).collect();
    assert_eq!(heard, [[0x45, 2], [0x45, 3], [0x45, 4]]);
    bench.octets(line, &hex("ff03c021 01010004"));
    bench.octets(line, &hex("ff13c021 01010004"));
    assert_eq!(bench.drops("ppp", "unknown PPP protocol"), 1);
    assert_eq!(bench.drops("ppp", "no PPP header"), 1);
    bench.send(ip, unit(&[0; 1501]));
    assert_eq!(bench.drops("ppp", "longer than the peer takes"), 1);
}

#[test]
fn with_a_daemon_nothing_passes_before_it_says_so() {
    let mut driver = with_daemon();
    let (ip, daemon, line) = (driver.ip, driver.daemon, driver.line);
    assert!(matches!(driver.bench.reports(ip)[..], [Report::Down]));
    driver.bench.send(ip, unit(&[0x45, 1]));
    assert_eq!(driver.bench.drops("ppp", "protocol may not pass yet"), 1);
    // What comes goes to the daemon as it is.
    driver.bench.octets(line, &hex("ff030021 4502"));
    driver.bench.octets(line, &hex("ff03c021 01010004"));
    let heard = driver.bench.units(daemon);
    let heard: Vec<_> = heard.iter().map(|it| it.data.to_vec()).collect();
    assert_eq!(heard, [hex("ff030021 4502"), hex("ff03c021 01010004")]);
    // And what it hands down goes as it is.
    driver.bench.send(daemon, unit(&hex("ff03c021 02010004")));
    assert_eq!(driver.bench.sent_octets(), [hex("ff03c021 02010004")]);

    say(&mut driver, LinkManage::Agreed(Some(AGREED)));
    let local = Address::from(Ipv4Addr::new(10, 0, 0, 1));
    let remote = Address::from(Ipv4Addr::new(10, 0, 0, 2));
    let pass = |pass| LinkManage::Pass { protocol: 0x0021, pass, local, remote };
    say(&mut driver, pass(true));
    let reports = driver.bench.reports(ip);
    let [Report::Limits { unit: mtu, .. }, Report::Special(addresses), Report::Up] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert_eq!(*mtu, 1500);
    assert_eq!(addresses.get(), Some(&LinkAddresses { local, remote }));
    driver.bench.send(ip, unit(&[0x45, 1]));
    assert_eq!(driver.bench.sent_octets(), [hex("21 4501")]);
    say(&mut driver, pass(false));
    assert!(matches!(driver.bench.reports(ip)[..], [Report::Down]));
}

#[test]
fn a_line_that_goes_down_ends_what_was_agreed() {
    let mut driver = with_daemon();
    say(&mut driver, LinkManage::Agreed(Some(AGREED)));
    let pass = LinkManage::Pass { protocol: 0x0021, pass: true, local: Address::NONE, remote: Address::NONE };
    say(&mut driver, pass);
    let (ip, daemon) = (driver.ip, driver.daemon);
    let _ = (driver.bench.reports(ip), driver.bench.reports(daemon));
    for report in [Report::Down, Report::Up] {
        let indication = Indication::Report(Box::new(report));
        driver.bench.indicate(driver.line, indication);
    }
    // The next peer may take more.
    let reports = driver.bench.reports(ip);
    assert!(matches!(reports[..], [Report::Limits { unit: 4470, .. }, Report::Down]), "{reports:?}");
    let heard = driver.bench.reports(daemon);
    assert!(matches!(heard[..], [Report::Limits { .. }, Report::Down, Report::Up]));
    driver.bench.send(ip, unit(&[0x45, 1]));
    assert_eq!(driver.bench.drops("ppp", "protocol may not pass yet"), 1);
}

/// Octets as the numbers of a report.
fn words(octets: &[u8]) -> Vec<u32> {
    let words = octets.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_be_bytes(*word)).collect()
}

/// RFC 1989 sections 2.3 and 2.6: packets and octets with the report itself, its check sequence and one flag among
/// them.
#[test]
fn reports_of_quality_are_filled_in_as_they_pass() {
    let mut driver = with_daemon();
    let report = [&hex("ff03c025")[..], &[0; 48]].concat();
    driver.bench.send(driver.daemon, unit(&report));
    let sent = driver.bench.sent_octets();
    let out = words(&sent[0][4..]);
    assert_eq!(out.len(), 12);
    // 4 of header, 48 of report, 2 of check sequence, 1 flag.
    assert_eq!(out[10..], [1, 55]);
    assert_eq!(out[..10], [0; 10]);

    say(&mut driver, LinkManage::Agreed(Some(AGREED)));
    let pass = LinkManage::Pass { protocol: 0x0021, pass: true, local: Address::NONE, remote: Address::NONE };
    say(&mut driver, pass);
    driver.bench.send(driver.ip, unit(&[0x45; 100]));
    driver.bench.send(driver.daemon, unit(&report));
    let sent = driver.bench.sent_octets();
    // One octet of header now, and 32 bits of check sequence.
    assert_eq!(words(&sent[1][4..])[10..], [3, 55 + (1 + 100 + 5) + 57]);

    // What comes has appended to it what had come by then; padding goes.
    let line = driver.line;
    driver.bench.units(driver.daemon);
    let damaged = Report::special(DamagedFrames(7));
    driver.bench.indicate(line, Indication::Report(Box::new(damaged)));
    driver.bench.octets(line, &hex("21 4501"));
    driver.bench.octets(line, &hex("ff13"));
    driver.bench.octets(line, &[&report[..], &[0; 9]].concat());
    let heard = driver.bench.units(driver.daemon);
    let heard = heard[0].data.to_vec();
    let octets = (1 + 2 + 5) + (4 + 48 + 9 + 5);
    assert_eq!(words(&heard[4 + 48..]), [2, 1, 7, octets]);
    let arrival = Arrival::parse(&heard[4 + 48..]).unwrap();
    assert_eq!((arrival.packets, arrival.octets), (2, octets));
}

#[test]
fn a_second_daemon_is_refused() {
    let mut driver = with_daemon();
    let task = driver.bench.graph.add_task("other");
    let user = Box::new(kumiki_testkit::bench::User::with_keys(&[Key::Raw]));
    driver.bench.graph.add_node("second", task, user).unwrap();
    assert!(driver.bench.graph.connect("second", "ppp").is_err());
}
