use super::*;
use crate::{AssignedRoute, Assignment, Authority, Change};

const NEXT: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 7);
const FAR: Ipv4Addr = Ipv4Addr::new(192, 168, 7, 7);

fn assign(bench: &mut Bench, user: NodeId, change: Change) {
    assign_by(Authority::Owner, bench, user, change);
}

fn assign_by(by: Authority, bench: &mut Bench, user: NodeId, change: Change) {
    let what = Assignment { interface: 0, by, change };
    bench.say(user, Request::Manage(Box::new(Manage::special(what))));
}

const fn address(address: Ipv4Addr, prefix: u8) -> Change {
    Change::Address { address: std::net::IpAddr::V4(address), prefix, probe: false }
}

fn told(bench: &mut Bench, user: NodeId) -> Vec<Change> {
    let change = |report: &Report| {
        if let Report::Special(what) = report { what.get::<Assignment>().map(|it| it.change) } else { None }
    };
    bench.reports(user).iter().filter_map(change).collect()
}

/// From which address what is sent to `destination` comes; none where it is not sent.
fn source(bench: &mut Bench, user: NodeId, destination: Ipv4Addr) -> Option<Ipv4Addr> {
    bench.send(user, to(destination, &[1]));
    bench.sent_octets().first().map(|octets| parsed(octets).0.source)
}

#[test]
fn a_new_address_is_taken_and_spoken_from_and_one_that_goes_is_neither() {
    let (mut bench, eth, user) = bench(host(1500));
    assign(&mut bench, user, address(NEXT, 16));
    assert_eq!(told(&mut bench, user), [address(NEXT, 16)]);
    let near = Ipv4Addr::new(10, 1, 9, 9);
    assert_eq!((source(&mut bench, user, near), source(&mut bench, user, B)), (Some(NEXT), Some(A)));
    bench.octets(eth, &datagram(|header| header.destination = NEXT, &[5]));
    bench.octets(eth, &datagram(|header| header.destination = Ipv4Addr::new(10, 1, 255, 255), &[6]));
    assert_eq!(bench.units(user).iter().map(|it| it.options.group).collect::<Vec<_>>(), [false, true]);

    assign(&mut bench, user, Change::NoAddress(A.into()));
    assert_eq!(told(&mut bench, user), [Change::NoAddress(A.into())]);
    assert_eq!(source(&mut bench, user, B), None, "its network has gone with it");
    bench.send(user, Unit { source: Address::from(A), ..to(near, &[1]) });
    assert!(bench.sent().is_empty());
    bench.octets(eth, &datagram(|_| {}, &[5]));
    assert!(bench.units(user).is_empty());
    // And is there again as if nothing had been.
    assign(&mut bench, user, address(A, 24));
    assert_eq!(source(&mut bench, user, B), Some(A));
    bench.octets(eth, &datagram(|_| {}, &[5]));
    assert_eq!(bench.units(user).len(), 1);
}

#[test]
fn what_was_found_out_for_the_last_datagram_ends_with_the_address() {
    let (mut bench, eth, user) = bench(host(1500));
    let unit = || Unit { source: Address::from(A), ..to(B, &[1]) };
    bench.send(user, unit());
    bench.octets(eth, &datagram(|_| {}, &[5]));
    assert_eq!((bench.sent().len(), bench.units(user).len()), (1, 1));
    assign(&mut bench, user, Change::NoAddress(A.into()));
    bench.send(user, unit());
    bench.octets(eth, &datagram(|_| {}, &[5]));
    assert_eq!((bench.sent().len(), bench.units(user).len()), (0, 0));
    assert_eq!(bench.drops("ip", "source is not ours"), 1);
}

#[test]
fn routes_come_and_go_and_the_source_is_on_the_routers_network() {
    let (mut bench, _, user) = bench(host(1500));
    let router = Ipv4Addr::new(10, 1, 0, 1);
    let way = AssignedRoute { network: Ipv4Addr::UNSPECIFIED.into(), prefix: 0, router: Some(router.into()) };
    assert_eq!(source(&mut bench, user, FAR), None);
    assign(&mut bench, user, Change::Route(way));
    assign(&mut bench, user, Change::Route(way));
    assert_eq!(source(&mut bench, user, FAR), Some(A));
    assign(&mut bench, user, address(NEXT, 16));
    assert_eq!(source(&mut bench, user, FAR), Some(NEXT));
    assign(&mut bench, user, Change::NoRoute(way));
    assign(&mut bench, user, Change::NoRoute(way));
    assert_eq!(source(&mut bench, user, FAR), None);
    let expected = [Change::Route(way), address(NEXT, 16), Change::NoRoute(way)];
    assert_eq!(told(&mut bench, user), expected, "each is told once");
}

#[test]
fn a_smaller_mtu_is_told_and_ends() {
    let (mut bench, _, user) = bench(host(1500));
    bench.say(user, Request::Manage(Box::new(Manage::Limits)));
    for mtu in [Some(1400), Some(67), Some(9000), None] {
        assign(&mut bench, user, Change::Mtu(mtu));
    }
    let unit = |report: &Report| if let Report::Limits { unit, .. } = report { Some(*unit) } else { None };
    let limits: Vec<u32> = bench.reports(user).iter().filter_map(unit).collect();
    assert_eq!(limits, [1480, 1380, 1480], "it is never more than the configuration has, nor less than 68");
}

#[test]
fn what_whoever_has_the_host_has_given_no_server_takes() {
    let (mut bench, _, user) = bench(host(1500));
    bench.say(user, Request::Manage(Box::new(Manage::Limits)));
    let server = |bench: &mut Bench, change| assign_by(Authority::Server, bench, user, change);
    let router = Ipv4Addr::new(10, 1, 0, 1);
    let way = AssignedRoute { network: Ipv4Addr::UNSPECIFIED.into(), prefix: 0, router: Some(router.into()) };
    // Address and route are there; whoever grants the address once more hears that it is.
    assign(&mut bench, user, Change::Route(way));
    told(&mut bench, user);
    server(&mut bench, address(A, 24));
    server(&mut bench, Change::Route(way));
    assert_eq!(told(&mut bench, user), [address(A, 24)]);
    server(&mut bench, Change::NoRoute(way));
    server(&mut bench, Change::NoAddress(A.into()));
    assert!(told(&mut bench, user).is_empty());
    assert_eq!(source(&mut bench, user, FAR), Some(A));
    // What the server has given it takes, and so does whoever has the host.
    for by in [Authority::Server, Authority::Owner] {
        server(&mut bench, address(NEXT, 16));
        let second = AssignedRoute { network: FAR.into(), prefix: 24, router: None };
        server(&mut bench, Change::Route(second));
        assign_by(Authority::Router, &mut bench, user, Change::NoAddress(NEXT.into()));
        assign_by(by, &mut bench, user, Change::NoRoute(second));
        assign_by(by, &mut bench, user, Change::NoAddress(NEXT.into()));
        let expected =
            [address(NEXT, 16), Change::Route(second), Change::NoRoute(second), Change::NoAddress(NEXT.into())];
        assert_eq!(told(&mut bench, user), expected, "{by:?}");
    }
    // The least of what has been said counts, and what the server no longer says is as it was.
    assign(&mut bench, user, Change::Mtu(Some(1400)));
    for mtu in [Some(1450), Some(1300), None] {
        server(&mut bench, Change::Mtu(mtu));
    }
    let unit = |report: &Report| if let Report::Limits { unit, .. } = report { Some(*unit) } else { None };
    let limits: Vec<u32> = bench.reports(user).iter().filter_map(unit).collect();
    assert_eq!(limits, [1380, 1280, 1380]);
}

#[test]
fn what_cannot_be_changes_nothing() {
    let (mut bench, _, user) = bench(host(1500));
    let impossible = [
        address(A, 24),
        address(Ipv4Addr::new(224, 0, 0, 1), 24),
        address(Ipv4Addr::LOCALHOST, 8),
        address(Ipv4Addr::UNSPECIFIED, 0),
        address(NEXT, 33),
        Change::NoAddress(NEXT.into()),
        Change::Address { address: "fd00::1".parse().unwrap(), prefix: 64, probe: false },
        Change::Route(AssignedRoute { network: FAR.into(), prefix: 33, router: None }),
        Change::Route(AssignedRoute { network: FAR.into(), prefix: 24, router: Some("fe80::1".parse().unwrap()) }),
    ];
    for change in impossible {
        assign(&mut bench, user, change);
    }
    let elsewhere = Assignment { interface: 1, by: Authority::Owner, change: address(NEXT, 16) };
    bench.say(user, Request::Manage(Box::new(Manage::special(elsewhere))));
    assert!(told(&mut bench, user).is_empty());
    assert_eq!(source(&mut bench, user, B), Some(A));
}

#[test]
fn who_has_no_address_yet_speaks_to_all_from_none() {
    let config = Config::host(Interface::negotiated("eth"));
    let (mut bench, eth, user) = bench(config);
    assert_eq!(source(&mut bench, user, B), None);
    assert_eq!(source(&mut bench, user, Ipv4Addr::BROADCAST), Some(Ipv4Addr::UNSPECIFIED));
    bench.octets(eth, &datagram(|header| header.destination = Ipv4Addr::BROADCAST, &[5]));
    assert_eq!(bench.units(user).len(), 1);
    assign(&mut bench, user, address(A, 24));
    assert_eq!(source(&mut bench, user, Ipv4Addr::BROADCAST), Some(A));
}

#[test]
fn what_came_while_it_ran_is_still_there_when_the_link_agrees_on_an_address() {
    let (mut bench, eth, user) = bench(Config::host(Interface::negotiated("eth")));
    let way = AssignedRoute { network: FAR.into(), prefix: 16, router: None };
    assign(&mut bench, user, address(NEXT, 16));
    assign(&mut bench, user, Change::Route(way));
    let agreed = LinkAddresses { local: Address::from(A), remote: Address::from(B) };
    bench.indicate(eth, Indication::Report(Box::new(Report::special(agreed))));
    assert_eq!(source(&mut bench, user, B), Some(A));
    assert_eq!(source(&mut bench, user, Ipv4Addr::new(10, 1, 9, 9)), Some(NEXT));
    assert!(source(&mut bench, user, FAR).is_some());
}

#[test]
fn of_equal_routes_that_of_the_first_interface_counts_after_a_link_has_agreed_on_an_address_too() {
    let mut bench = Bench::new();
    let media = ["one", "two"].map(|name| bench.device(name));
    let interfaces = vec![Interface::negotiated("one"), Interface::new("two", NEXT, 16)];
    let config = Config { interfaces, ..Config::host(Interface::negotiated("one")) };
    bench.node("ip", &["one", "two"], Ip::new(config).unwrap());
    let user = bench.user("user", "ip", &[UDP]);
    bench.start();
    bench.requests();
    let way = Change::Route(AssignedRoute { network: Ipv4Addr::UNSPECIFIED.into(), prefix: 0, router: None });
    for interface in [1, 0] {
        let what = Assignment { interface, by: Authority::Owner, change: way };
        bench.say(user, Request::Manage(Box::new(Manage::special(what))));
    }
    let agreed = LinkAddresses { local: Address::from(A), remote: Address::from(B) };
    bench.indicate(media[0], Indication::Report(Box::new(Report::special(agreed))));
    bench.send(user, to(FAR, &[1]));
    assert_eq!(bench.sent().iter().map(|(device, _)| *device).collect::<Vec<_>>(), [media[0]]);
}
