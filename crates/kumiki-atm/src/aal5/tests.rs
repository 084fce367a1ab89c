use kumiki_graph::Unit;
use kumiki_octets::Pattern;
use kumiki_octets::crc::Aal5Crc;
use kumiki_testkit::bench::hex;
use proptest::prelude::*;

use super::*;
use crate::convergence::tests::Stack;

/// Published CRCs of AAL5.
#[test]
fn pdus_end_as_published_ones_do() {
    let counting: Vec<u8> = (1..=0x28).collect();
    let cases: [(&[u8], &str); 4] = [
        (&[0; 40], "00000028 864d7f99"),
        (&[0xff; 40], "00000028 c55e457a"),
        (&counting, "00000028 bf671ed0"),
        (b"hello", "00000005 7f4cd5de"),
    ];
    for (sdu, trailer) in cases {
        let mut stack = Stack::of(Aal5::default());
        let pdu = stack.pdu(sdu);
        assert_eq!(pdu.len(), 48);
        assert_eq!(pdu[40..], hex(trailer));
        stack.bench.octets(stack.sar, &pdu);
        assert_eq!(stack.bench.units(stack.user)[0].data.to_vec(), sdu);
    }
}

#[test]
fn errors_are_counted_apart() {
    let mut stack = Stack::of(Aal5::default());
    let good = stack.pdu(b"hello");
    let mut bits = good.clone();
    bits[3] ^= 1;
    // Two PDUs become one when the last cell of the first is lost.
    let pdu = stack.pdu(&[7; 50]);
    let two = [&pdu[..48], &good].concat();
    for octets in [&bits[..], &two, &good[..47], &[]] {
        stack.bench.octets(stack.sar, octets);
    }
    for (uu_cpi, length) in [([0, 1], 5_u16), ([0, 0], 0), ([0, 0], 41)] {
        let mut pdu = [&[7; 40][..], &uu_cpi, &length.to_be_bytes(), &[0; 4]].concat();
        let mut crc = Aal5Crc::new();
        crc.update(&pdu[..44]);
        pdu[44..].copy_from_slice(&crc.finish().to_be_bytes());
        stack.bench.octets(stack.sar, &pdu);
    }
    assert!(stack.bench.heard(stack.user).is_empty());
    let counted = Trailer { crc_errors: 2, length_errors: 3, cpi_errors: 1, aborts: 1 };
    assert_eq!(*stack.layer::<Trailer>().part(), counted);
}

proptest! {
    #[test]
    fn what_goes_down_comes_up(len in 1usize..3000, offset: u32) {
        let mut stack = Stack::of(Aal5::default());
        let data = Message::generated(Pattern::Counter, offset.into(), len);
        stack.bench.send(stack.user, Unit::of(data.clone()));
        let pdu = stack.bench.sent().remove(0).1;
        prop_assert_eq!(pdu.data.len() % 48, 0);
        stack.bench.receive(stack.sar, pdu);
        prop_assert_eq!(&stack.bench.units(stack.user)[0].data, &data);
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let mut stack = Stack::of(Aal5::default());
        stack.bench.octets(stack.sar, &octets);
        let mut whole = octets;
        whole.resize(whole.len().next_multiple_of(48), 0);
        stack.bench.octets(stack.sar, &whole);
    }
}
