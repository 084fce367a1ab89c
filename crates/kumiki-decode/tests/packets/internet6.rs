//! IPv6: what is wrong in headers, fragments and options is named, and the rest is read all the same.

use kumiki_wire::inet::icmpv6::Message;
use kumiki_wire::inet::icmpv6::option::Opt;
use kumiki_wire::inet::ipv6::extension::Fragment;

use super::arrange::{
    B6, bad, decode, decode_all, fragment6, icmp6, names, nd_option, notes, plain6, summed6, tcp, udp, value,
};

fn datagram() -> Vec<u8> {
    summed6(17, udp(b"hello"), 6)
}

fn fragment(start: usize, more: bool, data: &[u8]) -> Vec<u8> {
    let fragment = Fragment { next_header: 17, offset: u16::try_from(start / 8).unwrap(), more, identification: 77 };
    plain6(44, &fragment6(fragment, data))
}

#[test]
fn extension_headers_are_layers_in_front_of_what_they_carry() {
    // Hop-by-hop options with a router alert, destination options with one that nobody knows, a routing header that is
    // done.
    let hop = [60, 0, 5, 2, 0, 0, 1, 0];
    let destination = [43, 0, 0x9e, 4, 1, 2, 3, 4];
    let routing = [6, 0, 4, 0, 0, 0, 0, 0];
    let segment = summed6(6, tcp(Default::default(), b"data"), 16);
    let packet = plain6(0, &[&hop[..], &destination, &routing, &segment].concat());
    let packet = decode("ip", &packet);
    let all = ["ipv6", "ipv6-hop-by-hop", "ipv6-destination", "ipv6-routing", "tcp"];
    assert_eq!(names(&packet), all);
    assert_eq!(bad(&packet), [""; 0]);
    let meaning = |layer: &str| {
        let layer = packet.layer(layer).unwrap();
        let option = layer.fields.iter().find(|field| field.name == "option");
        option.unwrap().meaning.clone().unwrap()
    };
    assert_eq!(meaning("ipv6-hop-by-hop"), "type 0x05, router alert, else skip");
    assert_eq!(meaning("ipv6-destination"), "type 0x9e, else discard and tell");
}

/// RFC 8200 section 8.1.
#[test]
fn sums_behind_a_source_route_cover_the_last_destination() {
    let routing = |kind, left, last: [u8; 16]| {
        let mut header = vec![17, 2, kind, left, 0, 0, 0, 0];
        header.extend(last);
        header
    };
    let decoded = |routing: Vec<u8>| decode("ip", &plain6(43, &[routing, datagram()].concat()));
    let (last, other) = (B6.octets(), [9; 16]);
    for kind in [2, 4] {
        let packet = decoded(routing(kind, 1, last));
        assert_eq!(names(&packet), ["ipv6", "ipv6-routing", "udp"]);
        assert_eq!(bad(&packet), [""; 0], "{kind}");
        let bad = bad(&decoded(routing(kind, 1, other)));
        assert!(bad[0].starts_with("udp: checksum is 0x"), "{bad:?}");
    }
    assert_eq!(bad(&decoded(routing(2, 0, other))), [""; 0]);
    let packet = decoded(routing(0, 1, last));
    assert!(bad(&packet)[0].contains("type 0 has segments left"));
    assert_eq!(bad(&packet).len(), 1);
    assert_eq!(bad(&decoded(routing(0, 1, other))).len(), 2);
    // Eight octets are left out of the last address, and eight pad it.
    let short = [vec![17, 2, 3, 1, 0x08, 0x80, 0, 0], last[8..].to_vec()].concat();
    let short = [short, vec![0; 8]].concat();
    assert_eq!(bad(&decoded(short)), [""; 0]);
    // Nobody knows the end of these.
    assert_eq!(bad(&decoded(routing(2, 2, other))), [""; 0]);
    assert_eq!(bad(&decoded(routing(200, 1, other))), [""; 0]);
}

#[test]
fn a_sum_over_ipv6_is_wrong_with_the_right_one_beside_it() {
    let mut packet = plain6(58, &icmp6(Message::RouterSolicitation, &[]));
    packet[43] ^= 1;
    let bad = bad(&decode("ip", &packet));
    assert!(bad[0].starts_with("icmpv6: checksum is 0x"), "{bad:?}");
    assert_eq!(bad.len(), 1);
}

#[test]
fn a_payload_beyond_the_packet_is_named() {
    let whole = plain6(17, &datagram());
    let cut = decode("ip", &whole[..50]);
    assert_eq!(
        bad(&cut),
        ["ipv6: payload length is 13 octets, expected 0 to 10", "udp: length is 13 octets, expected 8 to 10"]
    );
    let padded = [&whole[..], &[0; 6]].concat();
    let packet = decode("ip", &padded);
    assert_eq!(value(&packet, "ipv6", "padding"), "000000000000");
    assert_eq!(bad(&packet), [""; 0]);
}

#[test]
fn fragments_are_read_on_when_the_packet_is_whole() {
    let data = summed6(17, udp(&[5; 100]), 6);
    let row = [fragment(64, false, &data[64..]), fragment(0, true, &data[..32]), fragment(32, true, &data[32..64])];
    let packets = decode_all("ip", &row);
    assert_eq!(names(&packets[1]), ["ipv6", "ipv6-fragment"]);
    assert_eq!(packets[1].rest[0].why, "fragment: octets 0 to 32 of packet 0x0000004d");
    assert_eq!(names(&packets[2]), ["ipv6", "ipv6-fragment", "udp"]);
    assert_eq!(packets[2].reassembled[0].what, "IPv6 packet");
    assert!(packets.iter().all(|packet| !packet.is_bad()));
    // All of it in one: nothing to wait for.
    let packet = decode("ip", &fragment(0, false, &data));
    assert_eq!(names(&packet), ["ipv6", "ipv6-fragment", "udp"]);
    assert_eq!(packet.reassembled.len(), 0);
    // What contradicts is said.
    let row = [fragment(0, true, &[1; 16]), fragment(8, true, &[2; 16])];
    let packets = decode_all("ip", &row);
    assert!(bad(&packets[1])[0].contains("octets from 8 came before with other values"));
}

#[test]
fn an_error_quotes_a_packet_that_may_be_cut() {
    let quoted = plain6(17, &datagram());
    let error = icmp6(Message::TimeExceeded { code: 0 }, &quoted[..44]);
    let packet = decode("ip", &plain6(58, &error));
    assert_eq!(names(&packet), ["ipv6", "icmpv6", "ipv6", "udp"]);
    assert_eq!(bad(&packet), [""; 0]);
    let redirected = nd_option(Opt::Redirected(&quoted[..48]));
    let redirect = Message::Redirect { target: super::arrange::A6, destination: B6 };
    let packet = decode("ip", &plain6(58, &icmp6(redirect, &redirected)));
    assert_eq!(names(&packet), ["ipv6", "icmpv6", "ipv6", "udp"]);
    assert_eq!(bad(&packet), [""; 0]);
}

#[test]
fn an_option_of_no_length_ends_the_options() {
    let octets = [&[1, 1, 2, 0, 0, 0, 0, 1][..], &[7, 0, 0, 0, 0, 0, 0, 0]].concat();
    let packet = decode("ip", &plain6(58, &icmp6(Message::RouterSolicitation, &octets)));
    assert_eq!(bad(&packet), ["icmpv6: option at octet 16: option length is 0 octets, expected 8"]);
    assert_eq!(value(&packet, "icmpv6", "source link-layer address"), "02:00:00:00:00:01");
    assert_eq!(packet.rest[0].why, "options");
    assert_eq!(notes(&packet), [""; 0]);
}
