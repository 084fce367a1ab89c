//! Packet sequences of X.25 on lines: put together by call and direction, and given up where something is missing.

use kumiki_decode::capture::{Direction, Link};
use kumiki_decode::{Decoder, Packet, Record};

use super::arrange::{bad, record};

const CALL: &[u8] = &[0x10, 1, 0x0b, 0, 0, 3, 1, 1, 0];

/// A DATA packet modulo 8 on channel 1.
fn data(ps: u8, more: bool, octets: &[u8]) -> Vec<u8> {
    let kind = u8::from(more) << 4 | ps << 1;
    [&[0x10, 1, kind], octets].concat()
}

/// A TPDU of class 0 with these octets, the last of its TSDU.
fn dt(octets: &[u8]) -> Vec<u8> {
    [&[2, 0xf0, 0x80], octets].concat()
}

/// An I frame of LAPB, as link type 207 has it; its direction is in the address too.
fn frame(from_dte: bool, ns: u8, packet: &[u8]) -> Vec<u8> {
    let address = if from_dte { 1 } else { 3 };
    [&[u8::from(!from_dte), address, ns << 1], packet].concat()
}

/// Packets on a line, each in a frame of its own.
fn line(packets: &[(bool, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut next = [0; 2];
    let frames = packets.iter().map(|(from_dte, packet)| {
        let ns = &mut next[usize::from(*from_dte)];
        let made = frame(*from_dte, *ns, packet);
        *ns = (*ns + 1) % 8;
        made
    });
    frames.collect()
}

fn on_lapb(frames: &[Vec<u8>]) -> Vec<Packet> {
    let mut decoder = Decoder::new();
    let records = (1..).zip(frames).map(|(number, it)| record(number, Link::Number(207), it));
    records.map(|it| decoder.decode(&it)).collect()
}

/// Without LAPB; the direction is what the capture says, if that.
fn bare(packets: &[(Option<Direction>, Vec<u8>)]) -> Vec<Packet> {
    let mut decoder = Decoder::new();
    let records = (1..)
        .zip(packets)
        .map(|(number, (direction, it))| Record { direction: *direction, ..record(number, Link::Named("x25"), it) });
    records.map(|it| decoder.decode(&it)).collect()
}

/// The TPDUs that were read, by the packet they came whole in, and how many packets they took.
fn tpdus(packets: &[Packet]) -> Vec<(usize, usize, Vec<u8>)> {
    assert_eq!(packets.iter().flat_map(bad).collect::<Vec<_>>(), [""; 0], "nothing is wrong with these");
    let read = (0..).zip(packets).filter(|(_, packet)| {
        let mut layers = packet.layers.iter();
        layers.any(|layer| layer.protocol == "cotp")
    });
    read.map(|(at, packet)| {
        let whole = packet.reassembled.first();
        let parts = whole.map_or(1, |it| it.parts);
        let octets = &packet.rest[0].octets;
        (at, parts, octets.clone())
    })
    .collect()
}

fn notes(packet: &Packet) -> String {
    let remarks = packet.layers.iter().flat_map(|layer| &layer.remarks);
    remarks.map(|it| it.text.as_str()).collect()
}

/// Sequences of both directions at a time, with D in one of their packets; numbers go around.
fn both_ways() -> Vec<(bool, Vec<u8>)> {
    let up = dt(&[0xaa; 100]);
    let down = dt(&[0xbb; 90]);
    let mut delivery = data(1, true, &down[30..60]);
    delivery[0] |= 0x40;
    let mut packets = vec![
        (true, CALL.to_vec()),
        (false, vec![0x10, 1, 0x0f]),
        (true, data(0, true, &up[..50])),
        (false, data(0, true, &down[..30])),
        (true, data(1, false, &up[50..])),
        (false, delivery),
        (true, data(2, false, &dt(b"short"))),
        (false, data(2, false, &down[60..])),
    ];
    for ps in 3..12 {
        packets.push((true, data(ps % 8, ps < 11, if ps == 3 { &up } else { &[0xaa] })));
    }
    packets
}

fn read_both_ways() -> Vec<(usize, usize, Vec<u8>)> {
    vec![(4, 2, vec![0xaa; 100]), (6, 1, b"short".to_vec()), (7, 3, vec![0xbb; 90]), (16, 9, vec![0xaa; 108])]
}

#[test]
fn sequences_of_both_directions_are_put_together_on_lapb() {
    assert_eq!(tpdus(&on_lapb(&line(&both_ways()))), read_both_ways());
}

#[test]
fn the_direction_may_be_that_of_the_capture() {
    let packets: Vec<_> = both_ways()
        .into_iter()
        .map(|(up, packet)| {
            let direction = if up { Direction::Outbound } else { Direction::Inbound };
            (Some(direction), packet)
        })
        .collect();
    assert_eq!(tpdus(&bare(&packets)), read_both_ways());
}

#[test]
fn without_a_direction_nothing_is_put_together_and_nothing_is_wrong() {
    let mut packets: Vec<_> = both_ways().into_iter().map(|(_, it)| (None, it)).collect();
    assert_eq!(tpdus(&bare(&packets)), []);
    // Where each TPDU has a packet of its own, there is nothing to put together.
    packets.truncate(2);
    packets.push((None, data(0, false, &dt(b"short"))));
    assert_eq!(tpdus(&bare(&packets)), [(2, 1, b"short".to_vec())]);
}

/// TSDUs and presentation contexts are those of a call, as on XOT.
#[test]
fn a_tsdu_is_put_together_from_the_tpdus_of_a_call() {
    let [first, last] = [[&[2, 0xf0, 0][..], b"one "].concat(), dt(b"and another")];
    let packets = on_lapb(&line(&[
        (true, CALL.to_vec()),
        (true, data(0, true, &first[..4])),
        (true, data(1, false, &first[4..])),
        (true, data(2, false, &last)),
    ]));
    let whole = &packets[3].reassembled[0];
    assert_eq!((whole.what, whole.octets.as_slice()), ("TSDU", &b"one and another"[..]));
}

/// After a loss LAPB sends the lost frame and all behind it again.
#[test]
fn what_lapb_sends_again_counts_once() {
    let up = dt(&[0xaa; 100]);
    let frames = line(&[
        (true, CALL.to_vec()),
        (true, data(0, true, &up[..50])),
        (true, data(1, true, &up[50..80])),
        (true, data(2, false, &up[80..])),
        (true, data(3, false, &dt(b"next"))),
    ]);
    let read = |order: &[usize]| {
        let seen: Vec<_> = order.iter().map(|at| frames[*at].clone()).collect();
        let read = tpdus(&on_lapb(&seen));
        read.into_iter().map(|(_, _, it)| it).collect::<Vec<_>>()
    };
    let right = [vec![0xaa; 100], b"next".to_vec()];
    // Where they are sent, and where the lost one does not come at first.
    assert_eq!(read(&[0, 1, 2, 3, 1, 2, 3, 4]), right);
    assert_eq!(read(&[0, 1, 3, 4, 2, 3, 4]), right);
}

#[test]
fn clears_resets_and_restarts_forget_a_part() {
    let up = dt(&[0xaa; 100]);
    let endings: [(&[u8], bool); 3] =
        [(&[0x10, 1, 0x13, 0, 0], true), (&[0x10, 1, 0x1b, 0, 0], false), (&[0x10, 0, 0xfb, 0, 0], true)];
    for (ending, is_new) in endings {
        let mut packets = vec![(true, CALL.to_vec()), (true, data(0, true, &up[..50])), (false, ending.to_vec())];
        if is_new {
            // What came too late for the call is data of nobody.
            packets.push((true, data(1, false, &up[50..])));
            packets.push((true, CALL.to_vec()));
        }
        packets.push((true, data(0, false, &dt(b"again"))));
        let packets = on_lapb(&line(&packets));
        assert!(notes(&packets[2]).contains("given up, 50 octets"));
        let read = tpdus(&packets);
        assert_eq!(read.last().unwrap().2, b"again");
        assert_eq!(read.len(), 1);
    }
}

#[test]
fn what_a_circuit_carries_whose_call_was_not_seen_is_data() {
    let up = dt(&[0xaa; 100]);
    let packets = on_lapb(&line(&[(true, data(0, true, &up[..50])), (true, data(1, false, &up[50..]))]));
    assert_eq!(tpdus(&packets), []);
    assert_eq!(packets[1].rest[0].octets, [0xaa; 53]);
}

#[test]
fn what_stands_behind_a_missing_packet_is_read_from_the_next_sequence_on() {
    let up = dt(&[0xaa; 100]);
    let packets = [
        CALL.to_vec(),
        data(0, true, &up[..50]),
        data(2, true, &up[60..80]),
        data(3, false, &up[80..]),
        data(4, false, &dt(b"next")),
    ];
    let packets = packets.map(|it| (Some(Direction::Inbound), it));
    assert_eq!(tpdus(&bare(&packets)), [(4, 1, b"next".to_vec())]);
}

/// A port of XOT has a connection for each call, and all may have one number.
#[test]
fn calls_with_one_number_are_not_mixed() {
    let up = dt(&[0xaa; 100]);
    let packets = on_lapb(&line(&[
        (true, CALL.to_vec()),
        (true, CALL.to_vec()),
        (true, data(0, true, &up[..50])),
        (true, data(0, true, &up[..50])),
        (true, data(1, false, &up[50..])),
        (true, vec![0x10, 1, 0x13, 0, 0]),
        (true, data(1, false, &up[50..])),
        (true, vec![0x10, 1, 0x13, 0, 0]),
        (true, CALL.to_vec()),
        (true, data(0, false, &dt(b"alone"))),
    ]));
    assert_eq!(tpdus(&packets), [(9, 1, b"alone".to_vec())]);
    assert!(notes(&packets[4]).contains("nothing tells their packets apart"));
}

/// X.25 has a network reset such a call.
#[test]
fn a_sequence_whose_packets_differ_in_q_is_wrong() {
    let up = dt(&[0xaa; 100]);
    let mut qualified = data(1, false, &up[50..]);
    qualified[0] |= 0x80;
    let mut of_pad = data(2, false, b"qualified");
    of_pad[0] |= 0x80;
    let packets = on_lapb(&line(&[
        (true, CALL.to_vec()),
        (true, data(0, true, &up[..50])),
        (true, qualified),
        (true, of_pad),
        (true, data(3, false, &dt(b"next"))),
    ]));
    let said: Vec<String> = packets.iter().flat_map(bad).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("differ in Q"), "{said:?}");
    // Qualified data alone is none of transport's, and no mistake.
    assert_eq!(packets[3].rest[0].octets, b"qualified");
    assert_eq!(packets[4].layers.last().unwrap().protocol, "cotp");
}

#[test]
fn a_sequence_is_not_kept_beyond_what_memory_allows() {
    let mut packets = vec![(true, CALL.to_vec())];
    for at in 0..20_u8 {
        packets.push((true, data(at % 8, at < 19, &[0xaa; 4096])));
    }
    packets.push((true, data(4, false, &dt(b"next"))));
    let packets = on_lapb(&line(&packets));
    assert!(notes(&packets[17]).contains("longer than 64 KiB"));
    assert_eq!(tpdus(&packets), [(21, 1, b"next".to_vec())]);
}
