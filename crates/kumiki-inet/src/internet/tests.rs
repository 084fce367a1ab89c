//! Routes, and fragments that overlap.

use core::net::{Ipv4Addr, Ipv6Addr};

use kumiki_graph::{Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::inet::ipv4::Ecn;

use super::*;

#[test]
fn masks_cover_from_none_to_all() {
    assert_eq!(mask(0), 0);
    assert_eq!(mask(1), 1 << 127);
    assert_eq!(mask(128), u128::MAX);
    assert_eq!(mask(200), u128::MAX);
}

#[test]
fn the_longest_prefix_wins_and_is_gone_when_taken_back() {
    let mut routes = Routes::default();
    let net = |text: &str| text.parse::<Ipv6Addr>().unwrap();
    routes.add(net("::"), 0, 0, Some(net("fe80::1")));
    routes.add(net("fd00:1::"), 32, 1, None);
    routes.add(net("fd00:1:2::"), 48, 2, None);
    let to = net("fd00:1:2::9");
    let found = |routes: &Routes<Ipv6Addr>| routes.lookup(to, |_| true).map(|hop| hop.interface);
    assert_eq!(found(&routes), Some(2));
    assert_eq!(routes.lookup(to, |it| it != 2).map(|it| it.interface), Some(1));
    routes.remove(net("fd00:1:2::"), 48, 2, None);
    assert_eq!(found(&routes), Some(1));
    let hop = routes.lookup(net("2001:db8::1"), |_| true).unwrap();
    assert_eq!(hop.next, net("fe80::1"));
}

#[test]
fn version_4_addresses_are_matched_by_their_own_bits() {
    let mut routes = Routes::default();
    routes.add(Ipv4Addr::new(10, 1, 0, 0), 16, 7, None);
    assert!(routes.lookup([10, 1, 2, 3].into(), |_| true).is_some());
    assert!(routes.lookup([10, 2, 2, 3].into(), |_| true).is_none());
}

fn take(table: &mut Table<u8, ()>, first: usize, data: &[u8], last: bool) -> FragmentProgress<()> {
    let data = &Message::from_octets(data);
    let (key, head, ecn) = (0, (), Ecn::NotEct);
    let fragment = Fragment { key, first, last, head, ecn, data };
    table.take(Instant::ZERO, fragment)
}

#[test]
fn an_overlap_breaks_the_datagram_and_swallows_what_follows() {
    let mut table = Table::new(Reassembly::default(), Overlap::Refuse);
    assert!(matches!(take(&mut table, 0, &[1; 16], false), FragmentProgress::Waiting));
    // The very same again is none.
    assert!(matches!(take(&mut table, 0, &[1; 16], false), FragmentProgress::Waiting));
    assert!(matches!(take(&mut table, 8, &[2; 16], false), FragmentProgress::Broken));
    assert_eq!(table.octets(), 0);
    assert!(matches!(take(&mut table, 16, &[3; 4], true), FragmentProgress::Swallowed));
    // When its time has come there is nothing to report, and the name is free again.
    let later = Instant::ZERO + Duration::from_secs(60);
    assert!(table.late(later).is_none());
    assert!(matches!(take(&mut table, 16, &[3; 4], true), FragmentProgress::Waiting));
    let whole = take(&mut table, 0, &[1; 16], false);
    assert!(matches!(whole, FragmentProgress::Whole { data, .. } if data.len() == 20));
}

#[test]
fn the_same_octets_with_other_content_are_an_overlap() {
    let mut table = Table::new(Reassembly::default(), Overlap::Refuse);
    take(&mut table, 0, &[1; 16], false);
    assert!(matches!(take(&mut table, 0, &[2; 16], false), FragmentProgress::Broken));
}
