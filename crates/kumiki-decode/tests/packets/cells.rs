//! Captured cells: put together, checked, and read on; what was lost is named.

use kumiki_decode::Decoder;
use kumiki_decode::capture::Link;
use kumiki_wire::atm::cell::oam::{END_POINT, Loopback, set_crc10};
use kumiki_wire::atm::cell::rm::{CellRate, Rm};
use kumiki_wire::atm::cell::{self, Interface, Pti};

use super::arrange::{bad, cells, cells34, decode, decode_all, names, pdu, plain, record, udp, value};

const CARRIED: [&str; 7] = ["cells", "aal5-cell", "aal5", "llc-snap", "ipv4", "udp", ""];

fn datagram(octets: usize) -> Vec<u8> {
    plain(17, &udp(&vec![7; octets]))
}

#[test]
fn a_datagram_is_read_out_of_its_cells() {
    let row = cells(100, &pdu(&datagram(120)));
    assert_eq!(row.len(), 4);
    let packets = decode_all("cells", &row);
    for packet in &packets[..3] {
        assert_eq!(names(packet), CARRIED[..2]);
    }
    assert_eq!(names(&packets[3]), CARRIED[..6]);
    assert_eq!(packets[3].reassembled[0].packets, [1, 2, 3, 4]);
    assert_eq!(value(&packets[3], "udp", "length"), "128");
    for packet in &packets {
        assert_eq!(bad(packet), [""; 0]);
        assert!(packet.layers.iter().all(|layer| layer.verbatim != Some(false)));
    }
    // And all in one packet.
    let at_once = decode("cells", &row.concat());
    let all = at_once.layers.iter().filter(|layer| layer.protocol == "cells");
    assert_eq!(all.count(), 4);
    assert_eq!(value(&at_once, "udp", "length"), "128");
}

#[test]
fn channels_are_put_together_each_on_its_own() {
    let (first, second) = (cells(100, &pdu(&datagram(60))), cells(101, &pdu(&datagram(61))));
    let mixed: Vec<Vec<u8>> = first.into_iter().zip(second).flat_map(|(a, b)| [a, b]).collect();
    let packets = decode_all("cells", &mixed);
    let found: Vec<String> = packets.iter().map(|packet| value(packet, "udp", "length")).collect();
    assert_eq!(found[found.len() - 2..], ["68", "69"]);
}

#[test]
fn a_lost_cell_shows_in_the_trailer() {
    let mut row = cells(100, &pdu(&datagram(200)));
    row.remove(2);
    let packets = decode_all("cells", &row);
    let remarks = bad(packets.last().unwrap());
    assert!(remarks[1].starts_with("aal5: CRC-32 is 0x"), "{remarks:?}");
    assert_eq!(remarks[..1], ["aal5: Length 236 takes 6 cells and 5 came: 1 lost"]);
    assert_eq!(packets.last().unwrap().rest[0].why, "a damaged AAL5 PDU");
}

#[test]
fn a_lost_end_makes_two_pdus_one() {
    let (first, second) = (cells(100, &pdu(&datagram(120))), cells(100, &pdu(&datagram(60))));
    let row = [&first[..first.len() - 1], &second[..]].concat();
    let remarks = bad(decode_all("cells", &row).last().unwrap());
    assert!(
        remarks[0].starts_with(
            "aal5: Length 96 takes 3 cells and 6 came: the last cell of an earlier PDU was lost, of which 3 are here"
        ),
        "{remarks:?}"
    );
}

#[test]
fn one_wrong_bit_is_named_and_the_datagram_still_read() {
    let mut row = cells(100, &pdu(&datagram(120)));
    // In the data of the datagram.
    row[1][30] ^= 1;
    let packets = decode_all("cells", &row);
    assert_eq!(names(&packets[3]), CARRIED[..6]);
    let remarks = bad(&packets[3]);
    assert!(remarks[0].contains("CRC-32 is 0x") && remarks[0].contains("the octets give 0x"));
    assert!(remarks[1].starts_with("udp: checksum is 0x"));
}

#[test]
fn a_wrong_header_is_corrected_and_said() {
    let mut row = cells(100, &pdu(&datagram(10)));
    row[0][1] ^= 0x10;
    let packet = decode("cells", &row[0]);
    assert_eq!(value(&packet, "cells", "vpi"), "0");
    assert_eq!(bad(&packet).len(), 1);
    assert!(bad(&packet)[0].ends_with("one wrong bit, corrected"));
    row[0][1] ^= 0x21;
    assert!(bad(&decode("cells", &row[0]))[0].ends_with("more than one wrong bit"));
}

#[test]
fn cells_without_end_are_oversize_once_and_at_the_end() {
    let header = |pti| cell::Header { vci: 100, pti, ..cell::Header::default() };
    let cell = |pti| [&header(pti).octets(Interface::Uni)[..], &[0; 48]].concat();
    let mut row = vec![cell(Pti::USER); 1400];
    row.push(cell(Pti::USER_END));
    let packets = decode_all("cells", &row);
    let places: Vec<usize> = (0..packets.len()).filter(|at| packets[*at].is_bad()).collect();
    assert_eq!(places, [1366, 1400]);
    assert!(bad(&packets[1366])[0].contains("1367 cells and no end before: a PDU has at most 1366"));
}

#[test]
fn what_has_not_ended_is_told_at_the_end() {
    let row = cells(100, &pdu(&datagram(120)));
    let mut decoder = Decoder::new();
    for octets in &row[..3] {
        decoder.decode(&record(7, Link::Named("cells"), octets));
    }
    let unfinished: Vec<String> = decoder.unfinished().iter().map(ToString::to_string).collect();
    assert_eq!(unfinished, ["not finished at the end: AAL5 PDU on 0/100, 3 parts with 144 octets since packet 7"]);
}

#[test]
fn oam_cells_are_read_and_checked() {
    let header = cell::Header { vci: 100, pti: Pti::F5_END_TO_END, ..cell::Header::default() };
    let loopback = Loopback { indication: true, correlation_tag: 7, location: END_POINT, source: [1; 16] };
    let mut cell = [&header.octets(Interface::Uni)[..], &loopback.octets()].concat();
    let packet = decode("cells", &cell);
    assert_eq!(names(&packet), ["cells", "oam"]);
    assert_eq!(packet.layers[1].summary, "OAM loopback request tag 7");
    assert_eq!((packet.layers[1].verbatim, bad(&packet).len()), (Some(true), 0));
    cell[20] ^= 1;
    assert!(bad(&decode("cells", &cell))[0].starts_with("oam: CRC-10 is 0x"));
}

#[test]
fn rm_cells_are_read_and_checked() {
    let header = cell::Header { vci: 100, pti: Pti::RM, ..cell::Header::default() };
    let rm = Rm { backward: true, no_increase: true, explicit: CellRate::per_second(1000), ..Rm::default() };
    let mut cell = [&header.octets(Interface::Uni)[..], &rm.octets()].concat();
    let packet = decode("cells", &cell);
    assert_eq!(names(&packet), ["cells", "rm"]);
    assert_eq!(packet.layers[1].summary, "RM backward NI ER 1000 cells/s");
    assert_eq!((packet.layers[1].verbatim, bad(&packet).len()), (Some(true), 0));
    cell[20] ^= 1;
    assert!(bad(&decode("cells", &cell))[0].starts_with("rm: CRC-10 is 0x"));
    // Another protocol is named and checked only.
    let mut other = rm.octets();
    other[0] = 2;
    set_crc10(&mut other);
    let packet = decode("cells", &[&header.octets(Interface::Uni)[..], &other].concat());
    assert_eq!((packet.layers[1].summary.as_str(), bad(&packet).len()), ("RM protocol 2", 0));
}

#[test]
fn idle_cells_and_bare_ip_are_told_apart() {
    let idle = [&cell::Header::IDLE.octets(Interface::Uni)[..], &[0x6a; 48]].concat();
    assert_eq!(decode("cells", &idle).rest[0].why, "idle cell");
    // VC multiplexing: no LLC before the datagram.
    let packet = decode("aal5-sdu", &datagram(10));
    assert_eq!(names(&packet), ["ipv4", "udp"]);
}

#[test]
fn a_channel_can_be_given_to_another_dissector() {
    let row = cells(100, &pdu(&datagram(10)));
    let oam = kumiki_decode::Registry::new().by_name("oam").unwrap();
    let mut decoder = Decoder::new().adapting(0, 100, oam);
    let packet = decoder.decode(&record(1, Link::Named("cells"), &row[0]));
    assert_eq!(names(&packet), ["cells", "oam"]);
}

fn aal34() -> Decoder {
    let cells = kumiki_decode::Registry::new().by_name("aal34-cell").unwrap();
    Decoder::new().adapting(0, 100, cells)
}

fn decode34(row: &[Vec<u8>]) -> Vec<kumiki_decode::Packet> {
    let mut decoder = aal34();
    (1..).zip(row).map(|(number, octets)| decoder.decode(&record(number, Link::Named("cells"), octets))).collect()
}

#[test]
fn a_datagram_is_read_out_of_cells_of_aal34() {
    let (first, second) = (cells34(100, 3, &datagram(120)), cells34(100, 900, &datagram(121)));
    assert_eq!(first.len(), 4);
    // Two PDUs of one channel, cell by cell in turn.
    let mixed: Vec<Vec<u8>> = first.into_iter().zip(second).flat_map(|(a, b)| [a, b]).collect();
    let packets = decode34(&mixed);
    assert_eq!(names(&packets[0]), ["cells", "aal34-cell"]);
    let carried = ["cells", "aal34-cell", "aal34", "llc-snap", "ipv4", "udp"];
    for (packet, length) in packets[6..].iter().zip(["128", "129"]) {
        assert_eq!(names(packet), carried);
        assert_eq!(value(packet, "udp", "length"), length);
    }
    assert_eq!(packets[6].reassembled[0].packets, [1, 3, 5, 7]);
    for packet in &packets {
        assert_eq!(bad(packet), [""; 0]);
        let same = |layer: &kumiki_decode::packet::Layer| layer.verbatim != Some(false);
        assert!(packet.layers.iter().all(same));
    }
}

#[test]
fn what_is_missing_or_wrong_in_aal34_is_named() {
    let row = cells34(100, 3, &datagram(200));
    let mut lost = row.clone();
    lost.remove(2);
    let packets = decode34(&lost);
    assert_eq!(
        bad(&packets[2]),
        ["aal34-cell: SN is 3, 2 would be right: 1 cell of the PDU is missing, or so many less 16"]
    );
    assert_eq!(bad(&packets[3]), ["aal34-cell: the beginning of the PDU under MID 3 did not come"]);
    let mut spoilt = row.clone();
    spoilt[1][20] ^= 1;
    let remarks = bad(&decode34(&spoilt)[1]);
    assert!(remarks[0].starts_with("aal34-cell: CRC-10 is 0x"), "{remarks:?}");
    // Begins again before it has ended.
    let again = [&row[..2], &row[..]].concat();
    assert_eq!(
        bad(&decode34(&again)[2]),
        ["aal34-cell: the PDU before under MID 3 ended after 2 cells without its end"]
    );
    let mut decoder = aal34();
    decoder.decode(&record(7, Link::Named("cells"), &row[0]));
    assert_eq!(
        decoder.unfinished()[0].to_string(),
        "not finished at the end: AAL3/4 PDU on 0/100 under MID 3, 1 part with 44 octets since packet 7"
    );
}

#[test]
fn a_header_and_a_trailer_that_do_not_belong_together_are_named() {
    let sdu = [7; 41];
    let (front, back, count) = kumiki_wire::atm::aal34::cpcs::around(41, 5);
    let mut pdu = [&front[..], &sdu, &back[back.len() - count..]].concat();
    assert_eq!(bad(&decode("aal34", &pdu)), [""; 0]);
    let etag = pdu.len() - 3;
    pdu[etag] = 6;
    assert_eq!(bad(&decode("aal34", &pdu)), ["aal34: BTag is 0x05, Etag is 0x06"]);
}
