//! Addresses, ways and resolvers that come while it runs, and how users hear of them.

use core::net::IpAddr;

use kumiki_wire::inet::icmpv6::option::Opt;

use super::discovery::{discovery, frames, prefix, router_says, station};
use super::*;
use crate::{AssignedRoute, Assignment, Authority, Change, Resolvers};

const NEXT: Ipv6Addr = Ipv6Addr::new(0xfd07, 0, 0, 0, 0, 0, 0, 7);
/// What is made of the prefix that the router tells, and our MAC address.
const MADE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0xff, 0xfe00, 1);

const fn address(address: Ipv6Addr) -> Change {
    Change::Address { address: IpAddr::V6(address), prefix: 64, probe: false }
}

fn assign(bench: &mut Bench, user: NodeId, change: Change) {
    let what = Assignment { interface: 0, by: Authority::Owner, change };
    bench.say(user, Request::Manage(Box::new(Manage::special(what))));
}

fn told(bench: &mut Bench, user: NodeId) -> Vec<Assignment> {
    let change = |report: &Report| {
        if let Report::Special(what) = report { what.get::<Assignment>().copied() } else { None }
    };
    bench.reports(user).iter().filter_map(change).collect()
}

fn changes(bench: &mut Bench, user: NodeId) -> Vec<Change> {
    told(bench, user).into_iter().map(|it| it.change).collect()
}

#[test]
fn an_address_that_is_given_is_asked_about_and_then_told_and_used() {
    let (mut bench, device, user) = station(discovery(1));
    bench.pass(Duration::from_secs(5));
    assign(&mut bench, user, address(NEXT));
    assert!(told(&mut bench, user).is_empty());
    let sent = frames(&mut bench);
    assert_eq!(said(&sent[sent.len() - 1].1).1, Icmp::NeighbourSolicitation { target: NEXT });
    bench.pass(Duration::from_secs(1));
    assert_eq!(changes(&mut bench, user), [address(NEXT)]);
    let near = Ipv6Addr::new(0xfd07, 0, 0, 0, 0, 0, 0, 9);
    bench.send(user, Unit { source: Address::from(NEXT), ..to(near, &[1]) });
    assert!(!frames(&mut bench).is_empty());
    assign(&mut bench, user, Change::NoAddress(NEXT.into()));
    assert_eq!(changes(&mut bench, user), [Change::NoAddress(NEXT.into())]);
    bench.send(user, Unit { source: Address::from(NEXT), ..to(near, &[1]) });
    assert_eq!(bench.drops("ip", "source is not ours"), 1);
    let _ = device;
}

#[test]
fn an_address_that_somebody_else_has_is_told_to_be_a_duplicate() {
    let (mut bench, device, user) = station(discovery(1));
    bench.pass(Duration::from_secs(5));
    assign(&mut bench, user, address(NEXT));
    bench.octets(device, &discovery::claims(NEXT));
    assert_eq!(changes(&mut bench, user), [Change::Duplicate(NEXT.into())]);
    bench.pass(Duration::from_secs(5));
    assert!(told(&mut bench, user).is_empty());
}

#[test]
fn what_a_router_says_is_told_and_ends_with_its_time() {
    let told_by = Discovery { advertisements: Some(true), ..discovery(1) };
    let (mut bench, device, user) = station(told_by);
    bench.pass(Duration::from_secs(5));
    bench.reports(user);
    let server = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53];
    let resolvers = Opt::Resolvers { lifetime_s: 60, addresses: &[server] };
    bench.octets(device, &router_says(1800, &[Opt::Mtu(1400), prefix(600, 300), resolvers]));
    bench.pass(Duration::from_secs(2));
    let on_link = AssignedRoute { network: "2001:db8:7::".parse().unwrap(), prefix: 64, router: None };
    let default =
        AssignedRoute { network: "::".parse().unwrap(), prefix: 0, router: Some("fe80::ff".parse().unwrap()) };
    let all = bench.reports(user);
    let assigned: Vec<Assignment> = all
        .iter()
        .filter_map(|it| if let Report::Special(what) = it { what.get::<Assignment>().copied() } else { None })
        .collect();
    assert!(assigned.iter().all(|it| it.by == Authority::Router));
    let changes_of: Vec<Change> = assigned.iter().map(|it| it.change).collect();
    let expected = [Change::Route(default), Change::Route(on_link), Change::Mtu(Some(1400)), address(MADE)];
    assert_eq!(changes_of, expected);
    let servers = |all: &[Report]| -> Vec<Vec<IpAddr>> {
        let of = |it: &Report| if let Report::Special(it) = it { it.get::<Resolvers>().cloned() } else { None };
        all.iter().filter_map(of).map(|it| it.servers).collect()
    };
    assert_eq!(servers(&all), [vec![IpAddr::from(server)]]);
    // Said again nothing is new.
    bench.octets(device, &router_says(1800, &[Opt::Mtu(1400), prefix(600, 300), resolvers]));
    assert!(bench.reports(user).is_empty());
    bench.pass(Duration::from_secs(61));
    assert_eq!(servers(&bench.reports(user)), [Vec::<IpAddr>::new()]);
    bench.pass(Duration::from_secs(600));
    let gone = changes(&mut bench, user);
    assert_eq!(gone, [Change::NoAddress(MADE.into()), Change::NoRoute(on_link)]);
    bench.pass(Duration::from_secs(1800));
    assert_eq!(changes(&mut bench, user), [Change::NoRoute(default)]);
}

#[test]
fn however_much_routers_say_little_is_kept_and_all_of_it_ends() {
    let (mut bench, device, user) = station(Discovery { advertisements: Some(true), ..discovery(1) });
    bench.pass(Duration::from_secs(5));
    bench.reports(user);
    let (mut asked, mut most) = (Vec::new(), 0);
    for number in 0..2000_u16 {
        let Opt::Prefix(mut told) = prefix(600, 300) else { panic!() };
        told.prefix = Ipv6Addr::new(0x2001, 0xdb8, number, 0, 0, 0, 0, 0);
        let server = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, number).octets();
        // To all of them, to nobody, and to ourselves.
        let none = ["ff02::fb", "::", "::1"].map(|it| it.parse::<Ipv6Addr>().unwrap().octets());
        let resolvers = [
            Opt::Resolvers { lifetime_s: 600, addresses: &[server] },
            Opt::Resolvers { lifetime_s: 600, addresses: &none },
        ];
        bench.octets(device, &router_says(1800, &[Opt::Prefix(told), resolvers[0], resolvers[1]]));
        for report in bench.reports(user) {
            let Report::Special(what) = report else { continue };
            if let Some(it) = what.get::<Resolvers>() {
                asked.clone_from(&it.servers);
            } else {
                most += 1;
            }
        }
    }
    bench.pass(Duration::from_secs(2));
    most += changes(&mut bench, user).len();
    // The default route, 16 networks, and no more addresses than 16 with that of the link.
    assert!(most <= 1 + 16 + 16, "{most}");
    let first: Vec<IpAddr> = (0..8).map(|number| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, number).into()).collect();
    assert_eq!(asked, first);
    bench.pass(Duration::from_secs(2000));
    let (addresses, routes): (Vec<_>, Vec<_>) =
        changes(&mut bench, user).into_iter().partition(|it| matches!(it, Change::NoAddress(_)));
    assert_eq!(addresses.len() + routes.len(), most);
    assert!(routes.iter().all(|it| matches!(it, Change::NoRoute(_))));
}
