//! Attacks on a host on which a packet costs CPU time: what they fill is bounded, and a connection beside them keeps
//! nine tenths of its rate.
//!
//! Somebody on the path puts packets in front of the host, 4000 in a second, two fifths of what the host could take if
//! it did nothing else. With the transfer and an answer to each it is busy for nine tenths of its time, so an attack
//! that draws more than that shows in the rate. Memory is counted twice: by what the layers say, and by what the
//! allocator gave.
//!
//! | attack | the tests here, and in `kumiki_inet::tcp::tests::attacks` |
//! |---|---|
//! | SYN floods | `a_flood_of_syns...`; `a_flood_of_syns...`, `where_cookies_are_off...` |
//! | blind resets | `blind_resets...`; `blind_resets_syns_and_data...`, `what_one_connection_is_asked...` |
//! | blind data | `blind_data...`; `blind_resets_syns_and_data...` |
//! | ACK storms | `a_storm_of_acknowledgments...`; `challenges_are_limited...`, `two_ends_that_disagree...` |
//! | tiny segments | `tiny_segments...`, `a_hole_behind_every_octet...`; `tiny_segments...` |
//! | shrinking windows | `shrinking_windows...`; `peers_that_keep_their_windows_closed...` |
//! | overlapping reassembly | `segments_that_overlap...`, `overlapping_fragments...` |
//! | endless reassembly | `windows_behind_a_hole...`, `so_many_windows...`, `a_hole_behind_every_octet...`, `endless_fragments...`, `fragments_of_eight_octets...`; `endless_holes...` |

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

mod bench;
mod packets;
mod peers;

use kumiki_wire::inet::tcp::{self, Flags, Header, Seq};

use bench::{INTERVAL, MEMORY, PORT, compared, harmless, harmless_with};
use packets::{Piece, Version, fragment, segment};
use peers::{Callers, Takers};

const KIB: usize = 1024;
const BOTH: [Version; 2] = [Version::Four, Version::Six];
/// Of hosts from which nothing else comes.
const ELSEWHERE: u32 = 0x10_0000;

/// A guess at the connection: addresses and ports, and no sequence numbers.
fn guess(n: u32, seen: Option<&Header>, flags: Flags, text: &[u8]) -> Option<Vec<u8>> {
    let header = Header {
        flags,
        seq: Seq(n.wrapping_mul(2_654_435_761)),
        ack: Seq(n.wrapping_mul(40_503) ^ 0x4000_0000),
        options: tcp::Options::NONE,
        ..*seen?
    };
    Some(segment(Version::Four.sender(), header, text))
}

#[test]
fn a_flood_of_syns_leaves_a_connection_its_rate_and_fills_no_more_than_the_room_for_callers() {
    for version in BOTH {
        let flood = move |n: u32, _: Option<&Header>| {
            let header = Header {
                source_port: 1024 + u16::try_from(n % 50_000).unwrap(),
                destination_port: PORT,
                seq: Seq(n),
                flags: Flags::SYN,
                window: 5000,
                ..Header::default()
            };
            Some(segment(version.address(ELSEWHERE + n), header, b""))
        };
        let kept = harmless(version, flood, 0, 256 * KIB);
        assert_eq!(kept.half_open, 64);
    }
}

#[test]
fn an_attack_that_costs_twice_as_much_shows_in_the_rate() {
    // What the other tests would see: as if each packet took twice as long.
    let attack = |n: u32, seen: Option<&Header>| guess(n, seen, Flags::ACK, b"evil");
    let (longer, _) = compared(Version::Four, attack, INTERVAL / 2, MEMORY);
    assert!(longer > 100);
}

fn blind(attack: fn(u32, Option<&Header>) -> Option<Vec<u8>>) {
    harmless(Version::Four, attack, 0, 256 * KIB);
}

#[test]
fn blind_resets_leave_a_connection_its_rate() {
    blind(|n, seen| guess(n, seen, Flags::RST, b""));
}

#[test]
fn blind_data_leaves_a_connection_its_rate() {
    blind(|n, seen| guess(n, seen, Flags::ACK, b"evil"));
}

#[test]
fn a_storm_of_acknowledgments_leaves_a_connection_its_rate() {
    blind(|n, seen| guess(n, seen, Flags::ACK, b""));
}

#[test]
fn tiny_segments_of_the_stream_leave_a_connection_its_rate() {
    // One octet of what has come, again and again: old text, each of which could draw an answer.
    blind(|n, seen| {
        let header = *seen?;
        let header = Header { seq: header.seq - n % 8, options: tcp::Options::NONE, ..header };
        Some(segment(Version::Four.sender(), header, b"x"))
    });
}

/// What the host must have room for, for each connection: what it has offered.
const BUFFER: u32 = 512 * 1024;
/// And what small segments with holes between them may take of a connection: a page for each 1024 octets of it.
const SPARSE: usize = 1536 * KIB;

#[test]
fn windows_behind_a_hole_leave_other_connections_their_rate_and_fill_no_more_than_what_was_offered() {
    // The first octet never comes, and all that the window has room for behind it does, again and again.
    for version in BOTH {
        let attack = Callers::new(version, 16, |k| (1 + k * 1400 % (BUFFER - 1400), 1400));
        harmless(version, attack, 16, 16 * 1024 * KIB);
    }
}

#[test]
fn so_many_windows_behind_holes_that_memory_is_full_leave_other_connections_their_rate() {
    // A hundred connections, which could fill all of it, and send as much as it holds.
    let memory = 16 << 20;
    for version in BOTH {
        let attack = Callers::new(version, 100, |k| (1 + k * 1400 % (BUFFER - 1400), 1400));
        let kept = harmless_with(version, attack, 100, 6 * 1024 * KIB, memory);
        // And what one batch brings, for it is counted at the end.
        assert!(kept.held <= memory / 4 + 4096, "{kept:?}");
    }
}

#[test]
fn a_hole_behind_every_octet_leaves_other_connections_their_rate_and_fills_little() {
    // Each segment brings one octet that touches no other.
    for version in BOTH {
        let attack = Callers::new(version, 1, |k| (1 + k * 2 % (BUFFER - 2), 1));
        harmless(version, attack, 1, SPARSE);
        let attack = Callers::new(version, 16, |k| (1 + k * 2 % (BUFFER - 2), 1));
        harmless(version, attack, 16, 16 * SPARSE);
    }
}

#[test]
fn segments_that_overlap_in_every_way_leave_other_connections_their_rate_and_fill_little() {
    // Ends that lie in front of, at and behind those of what came before.
    for version in BOTH {
        let attack = Callers::new(version, 4, |k| {
            let at = k.wrapping_mul(2_654_435_761) >> 8;
            (1 + at % 8192, 1 + (k % 7 * (k % 3)) as usize)
        });
        harmless(version, attack, 4, 4 * SPARSE);
    }
}

#[test]
fn shrinking_windows_leave_other_connections_their_rate_and_draw_little() {
    for version in BOTH {
        // Open by a few segments, then closed over what is in flight, then by an octet; nothing is ever acknowledged.
        let windows = |k| ([20_000, 0, 1, 3000, 700, 0, 65_535, 2][k as usize % 8], false);
        let kept = harmless(version, Takers::new(version, 1000, windows), 0, 8192 * KIB);
        assert!(kept.sent < 6000, "{kept:?}");
        // The same, and now and then all is acknowledged.
        let windows = |k| ([20_000, 0, 1, 3000, 700, 0, 65_535, 2][k as usize % 8], k % 64 == 2);
        let kept = harmless(version, Takers::new(version, 1000, windows), 0, 8192 * KIB);
        assert!(kept.sent < 6000, "{kept:?}");
    }
}

#[test]
fn endless_fragments_leave_a_connection_its_rate_and_fill_no_more_than_the_room_for_them() {
    // Of each datagram only one piece ever comes.
    for version in BOTH {
        let attack = move |n: u32, _: Option<&Header>| {
            let piece = Piece {
                identification: u16::try_from(n % 65_536).unwrap(),
                offset: u16::try_from(n % 100).unwrap(),
                more: true,
            };
            Some(fragment(version.address(ELSEWHERE + n), piece, &[0; 1400]))
        };
        harmless(version, attack, 0, 8192 * KIB);
    }
}

#[test]
fn fragments_of_eight_octets_leave_a_connection_its_rate_and_fill_no_more_than_the_room_for_them() {
    // Every second piece of few datagrams: as many holes as there can be.
    for version in BOTH {
        let attack = move |n: u32, _: Option<&Header>| {
            let piece = Piece {
                identification: u16::try_from(n % 4).unwrap(),
                offset: u16::try_from(n / 4 * 2 % 8180).unwrap(),
                more: true,
            };
            Some(fragment(version.address(ELSEWHERE), piece, &[0; 8]))
        };
        harmless(version, attack, 0, 8192 * KIB);
    }
}

#[test]
fn overlapping_fragments_leave_a_connection_its_rate_and_fill_no_more_than_the_room_for_them() {
    // Few datagrams, of which the same pieces come again and again, a little further on each time.
    for version in BOTH {
        let attack = move |n: u32, _: Option<&Header>| {
            let piece = Piece {
                identification: u16::try_from(n % 4).unwrap(),
                offset: u16::try_from(n % 4000).unwrap(),
                more: true,
            };
            Some(fragment(version.address(ELSEWHERE), piece, &[0; 1400]))
        };
        harmless(version, attack, 0, 8192 * KIB);
    }
}
