use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use kumiki_graph::Rng;
use kumiki_link::{Flow, FlowKeys, FragmentKeys};
use kumiki_octets::Message;
use kumiki_wire::inet::ipv4::protocol;

use super::fragments::Fragments;
use super::mailbox::{Mailbox, QueuedPacket};
use super::{BoundPorts, Owner, PortsOfAll};
use crate::sockets::{Registry as _, Terms};

const STACKS: usize = 3;

fn at(host: u8, port: u16) -> SocketAddr {
    SocketAddr::new([10, 0, 0, host].into(), port)
}

fn flow(protocol: u8, from: SocketAddr, to: SocketAddr) -> Flow {
    Flow { source: from.ip(), destination: to.ip(), protocol, ports: [from.port(), to.port()] }
}

fn owner(is_gateway: bool, udp: &Arc<BoundPorts>, seed: u64) -> Owner {
    Owner::new(STACKS, is_gateway, Arc::clone(udp), &mut Rng::new(seed, 0))
}

#[test]
fn all_stacks_have_an_even_part_which_nobody_foretells() {
    let udp = Arc::default();
    let [one, other] = [1, 2].map(|seed| owner(false, &udp, seed));
    let mut counts = [0; STACKS];
    let mut alike = 0;
    for port in 1..=3000 {
        let pair = (at(1, 80), at(2, port));
        counts[one.of_pair(pair.0, pair.1)] += 1;
        alike += usize::from(one.of_pair(pair.0, pair.1) == other.of_pair(pair.0, pair.1));
    }
    // Of 3000 a thousand each, 26 more or less; of two keys a third are alike.
    assert!(counts.iter().chain([&alike]).all(|it| (850..1150).contains(it)), "{counts:?}, {alike}");
}

#[test]
fn both_ways_of_writing_an_address_have_one_owner() {
    let owner = owner(false, &Arc::default(), 1);
    let mapped = |it: SocketAddr| match it.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), it.port()),
        IpAddr::V6(_) => it,
    };
    for port in 1..50 {
        let (local, remote) = (at(1, port), at(2, 80));
        assert_eq!(owner.of_pair(local, remote), owner.of_pair(mapped(local), mapped(remote)));
    }
}

#[test]
fn datagrams_are_for_the_socket_that_has_the_port_and_else_stay_or_are_the_gateways() {
    let udp = Arc::default();
    let [host, gateway] = [false, true].map(|is_gateway| owner(is_gateway, &udp, 1));
    let ports = PortsOfAll::new(Rng::new(1, 0), Some(Arc::clone(&udp)));
    let shared = Terms { reuse_port: true, ..Terms::default() };
    let bound = [(); 2].map(|()| ports.take(at(1, 53), shared).unwrap());
    let to = |port| flow(protocol::UDP, at(2, 9), at(1, port));
    for here in 0..STACKS {
        assert_eq!((host.of_flow(&to(53), here), gateway.of_flow(&to(53), here)), (0, 0));
        assert_eq!(host.of_flow(&to(54), here), here, "who reads it says that nobody has the port");
        assert_eq!(gateway.of_flow(&to(54), here), gateway.of_pair(at(1, 54), at(2, 9)));
        // Who is in a group is known where the sockets are.
        let group = flow(2, at(2, 0), SocketAddr::new([224, 0, 0, 1].into(), 0));
        assert_eq!(host.of_flow(&group, here), 0);
    }
    let [one, other] = bound;
    ports.give(one);
    assert_eq!(host.of_flow(&to(53), 2), 0, "another socket has it still");
    ports.give(other);
    assert_eq!(host.of_flow(&to(53), 2), 2);
}

/// A fragment of the packet with this number; the first one tells a port.
fn sight(identification: u32, port: Option<u16>) -> FlowKeys {
    let whole = port.map(|port| flow(protocol::TCP, at(2, port), at(1, 80)));
    let flow = flow(protocol::TCP, at(2, 0), at(1, 0));
    FlowKeys { flow, fragment: Some(FragmentKeys { identification, whole }), about: None }
}

/// What can go once this fragment has come: ports, and first octets.
fn take(fragments: &mut Fragments, identification: u32, port: Option<u16>, octet: u8) -> Vec<(u16, u8)> {
    let mut gone = Vec::new();
    fragments.take(&sight(identification, port), Message::from_octets(&[octet]), |flow, fragment| {
        gone.push((flow.ports[0], fragment.to_vec()[0]));
    });
    gone
}

#[test]
fn fragments_wait_for_the_first_one_and_go_where_it_goes() {
    let mut all = Fragments::default();
    assert_eq!(take(&mut all, 1, None, 1), []);
    assert_eq!(take(&mut all, 2, None, 2), []);
    assert_eq!(take(&mut all, 1, Some(7), 3), [(7, 1), (7, 3)]);
    assert_eq!(take(&mut all, 1, None, 4), [(7, 4)]);
    // The number comes again, of another packet.
    assert_eq!(take(&mut all, 1, Some(8), 5), [(8, 5)]);
    assert_eq!(take(&mut all, 1, None, 6), [(8, 6)]);
    assert_eq!(take(&mut all, 2, Some(9), 7), [(9, 2), (9, 7)]);
}

#[test]
fn fragments_without_a_first_one_fill_no_more_than_their_room() {
    let mut all = Fragments::default();
    for identification in 0..2000 {
        assert_eq!(take(&mut all, identification, None, 1), []);
    }
    for identification in 2000..2100 {
        assert_eq!(take(&mut all, identification, Some(7), 1), [(7, 1)]);
        assert_eq!(take(&mut all, identification, None, 2), [(7, 2)], "a flood keeps nobody out");
    }
    // Of one packet no more wait either.
    let mut all = Fragments::default();
    (0..2000).for_each(|_| drop(take(&mut all, 1, None, 1)));
    assert!(take(&mut all, 1, Some(7), 1).len() <= 257);
}

#[test]
fn a_mailbox_is_in_order_and_loses_what_it_has_no_room_for() {
    let mailbox = Mailbox::default();
    assert!(mailbox.is_empty() && mailbox.take().is_none());
    for number in 0..3000_u16 {
        mailbox.leave(QueuedPacket::Own(Message::from_octets(&number.to_be_bytes())));
    }
    let mut taken = 0_u16;
    while let Some(QueuedPacket::Own(packet)) = mailbox.take() {
        assert_eq!(packet.to_vec(), taken.to_be_bytes());
        taken += 1;
    }
    assert!(taken == 1024 && mailbox.is_empty());
}
