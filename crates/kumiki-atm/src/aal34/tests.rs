use kumiki_graph::Unit;
use kumiki_octets::{Checksum, Pattern, Sum};
use kumiki_testkit::bench::hex;
use kumiki_wire::atm::cell::Vc;
use proptest::prelude::*;

use super::*;
use crate::convergence::tests::Stack;

/// As in the published cell, whose tags are 05: the sixth PDU of its channel.
#[test]
fn the_sixth_pdu_is_the_published_one() {
    let mut stack = Stack::of(Aal34::default());
    for _ in 0..5 {
        stack.pdu(b"before");
    }
    let destination = Vc { vpi: 0, vci: 101 }.address();
    stack.bench.send(stack.user, Unit { destination, ..Unit::of(Message::from_octets(b"elsewhere")) });
    stack.bench.sent();
    let pdu = stack.pdu(b"hello");
    assert_eq!(pdu, hex("00050005 68656c6c6f000000 00050005"));
    stack.bench.octets(stack.sar, &pdu);
    assert_eq!(stack.bench.units(stack.user)[0].data.to_vec(), b"hello");
}

#[test]
fn errors_are_counted_apart() {
    let mut stack = Stack::of(Aal34::default());
    for text in [
        "00050005 68656c6c6f000000 00060005", // tags
        "01050005 68656c6c6f000000 00050005", // CPI
        "00050005 68656c6c6f000000 01050005", // AL
        "00050004 68656c6c6f000000 00050005", // BASize
        "00050005 68656c6c6f000000 00050004", // Length
        "00050000 00050000",                  // no SDU
        "000500",                             // less than a header
        "",
    ] {
        stack.bench.octets(stack.sar, &hex(text));
    }
    assert!(stack.bench.heard(stack.user).is_empty());
    let layer = stack.layer::<Envelope>();
    assert_eq!((layer.part().tag_errors, layer.part().field_errors), (1, 2));
    assert_eq!((layer.part().length_errors, layer.counters().received), (5, 0));
}

proptest! {
    #[test]
    fn what_goes_down_comes_up_with_the_sum_that_a_device_took(len in 1usize..3000, offset: u32) {
        let mut stack = Stack::of(Aal34::default());
        let data = Message::generated(Pattern::Counter, offset.into(), len);
        stack.bench.send(stack.user, Unit::of(data.clone()));
        let mut pdu = stack.bench.sent().remove(0).1;
        prop_assert_eq!(pdu.data.len(), pdu_len(len));
        let taken = Sum::of(&pdu.data.to_vec());
        pdu.data.meta_mut().checksum = Checksum::Sum(taken);
        stack.bench.receive(stack.sar, pdu);
        let found = &stack.bench.units(stack.user)[0].data;
        prop_assert_eq!(found, &data);
        let sum = Sum::of(&data.to_vec());
        prop_assert_eq!(found.meta().checksum, Checksum::Sum(sum));
    }

    #[test]
    fn no_octets_make_it_panic(octets: Vec<u8>) {
        let mut stack = Stack::of(Aal34::default());
        stack.bench.octets(stack.sar, &octets);
        let mut words = octets;
        words.resize(words.len().next_multiple_of(4), 0);
        stack.bench.octets(stack.sar, &words);
    }
}
