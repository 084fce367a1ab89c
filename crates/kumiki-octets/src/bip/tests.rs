use proptest::prelude::*;

use super::*;

#[test]
fn the_parity_makes_the_ones_of_each_bit_even() {
    let octets: Vec<u8> = (0..999_u32).map(|at| at.wrapping_mul(0x9E37_79B9).to_be_bytes()[0]).collect();
    let mut parity = Bip8::new();
    parity.update(&octets);
    for bit in 0..8 {
        let ones = octets.iter().chain(&[parity.value()]).filter(|octet| **octet >> bit & 1 == 1).count();
        assert_eq!(ones % 2, 0);
    }
    assert_eq!(parity.errors(parity.value()), 0);
    assert_eq!(parity.errors(parity.value() ^ 0x81), 2);
}

#[test]
fn signals_that_do_not_divide_192_are_refused() {
    let taken: Vec<usize> = (0..1000).filter(|signals| Interleaved::new(*signals).is_some()).collect();
    assert_eq!(taken, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 192]);
}

proptest! {
    #[test]
    fn every_form_gives_each_signal_its_own_parity_in_any_cuts(
        octets in crate::arbitrary::octets(0..3000),
        cuts in prop::collection::vec(0..700_usize, 0..5),
        signals in prop::sample::select(vec![1_usize, 3, 12, 48, 192]),
    ) {
        let mut expected = vec![0; signals];
        for (at, octet) in octets.iter().enumerate() {
            expected[at % signals] ^= octet;
        }
        for form in Form::detected() {
            let (mut many, mut one, mut rest) = (Interleaved::new(signals).unwrap(), Bip8::new(), &octets[..]);
            for cut in cuts.iter().chain(&[usize::MAX]) {
                let (piece, behind) = rest.split_at(rest.len().min(*cut));
                many.update_with(form, piece);
                one.update_with(form, piece);
                rest = behind;
            }
            prop_assert_eq!(many.values().collect::<Vec<u8>>(), expected.clone());
            prop_assert_eq!(one.value(), expected.iter().fold(0, |parity, octet| parity ^ octet));
            prop_assert_eq!(many.errors(&expected), 0);
        }
    }
}
