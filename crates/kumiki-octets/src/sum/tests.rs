use super::*;
use proptest::prelude::*;

/// RFC 1071 section 1, word by word, without any shortcut.
fn naive(octets: &[u8]) -> u16 {
    let mut sum = 0_u16;
    for pair in octets.chunks(2) {
        let word = u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]);
        let (added, carry) = sum.overflowing_add(word);
        sum = added + u16::from(carry);
    }
    sum
}

/// Octets without structure, the same in every run.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        })
        .collect()
}

#[test]
fn the_example_of_rfc_1071_sums_as_printed() {
    // Section 3.
    let octets = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7];
    assert_eq!(Sum::of(&octets).folded(), 0xDDF2);
    assert_eq!(Sum::of(&octets).checksum(), 0x220D);
    let (head, tail) = octets.split_at(3);
    assert_eq!(Sum::of(head).then(3, Sum::of(tail)).folded(), 0xDDF2);
}

#[test]
fn the_example_of_rfc_1624_updates_to_plus_zero() {
    // Section 4: equation 2 would give 0xFFFF.
    assert_eq!(Sum::update(0xDD2F, 0x5555, 0x3285), 0x0000);
}

#[test]
fn every_length_and_alignment_agrees_with_the_word_by_word_sum() {
    let octets = noise(4096 + 200);
    let ones = vec![0xFF; 4096 + 200];
    for source in [&octets, &ones] {
        for len in 0..=4096 + 100 {
            // Every alignment for the lengths around the block sizes, a moving one for the rest.
            let offsets = if len < 700 || len % 512 < 4 { 0..64 } else { len % 64..len % 64 + 1 };
            for offset in offsets {
                let part = &source[offset..offset + len];
                assert_eq!(Sum::of(part).folded(), naive(part), "offset {offset}, length {len}");
            }
        }
    }
}

#[test]
fn long_runs_of_ones_do_not_overflow() {
    let octets = vec![0xFF; (3 << 20) + 1];
    assert_eq!(Sum::of(&octets).folded(), naive(&octets));
}

#[test]
fn copying_copies_and_sums_every_length_and_alignment() {
    let octets = noise(9000);
    let mut to = vec![0; 9000];
    for len in (0..600).chain([1460, 4095, 4096, 4097, 8192, 8800]) {
        for (from_offset, to_offset) in [(0, 0), (1, 0), (0, 1), (7, 31), (33, 2), (64, 63)] {
            let from = &octets[from_offset..from_offset + len];
            to.fill(0);
            assert_eq!(Sum::copy(&mut to[to_offset..to_offset + len], from).folded(), naive(from));
            assert_eq!(&to[to_offset..to_offset + len], from);
            assert!(to[..to_offset].iter().chain(&to[to_offset + len..]).all(|octet| *octet == 0));
        }
    }
}

#[test]
fn both_zeros_are_equal_and_valid() {
    assert_eq!(Sum::from_folded(0xFFFF), Sum::ZERO);
    assert_ne!(Sum::from_folded(0xFFFF), Sum::from_folded(1));
    assert!(Sum::from_folded(0xFFFF).is_valid() && Sum::ZERO.is_valid());
    assert!(!Sum::from_folded(0xFFFE).is_valid());
    assert_eq!(Sum::default(), Sum::of(&[]));
}

#[test]
fn what_remains_of_zeros_is_zero_and_a_pseudo_header_makes_it_exact() {
    let octets = [0x12, 0x34, 0, 0];
    let rest = Sum::of(&octets).without_prefix(2, Sum::of(&octets[..2]));
    assert_eq!(rest, Sum::of(&octets[2..]));
    assert_eq!(rest.add_u32(0x0A00_0001).checksum(), Sum::ZERO.add_u32(0x0A00_0001).checksum());
}

proptest! {
    #[test]
    fn parts_compose_to_the_whole(octets in crate::arbitrary::octets(0..4200), a in 0..4200_usize, b in 0..4200_usize) {
        let (a, b) = (a.min(octets.len()), b.min(octets.len()));
        let (a, b) = (a.min(b), a.max(b));
        let whole = Sum::of(&octets);
        prop_assert_eq!(whole.folded(), naive(&octets));
        let (head, body, tail) = (Sum::of(&octets[..a]), Sum::of(&octets[a..b]), Sum::of(&octets[b..]));
        prop_assert_eq!(head.then(a, body).then(b, tail).folded(), whole.folded());
        prop_assert_eq!(head.then(a, body.then(b - a, tail)).folded(), whole.folded());
        prop_assert_eq!(whole.without(b, tail), head.then(a, body));
        prop_assert_eq!(whole.without_prefix(a, head), body.then(b - a, tail));
        prop_assert_eq!(whole.without(b, tail).without_prefix(a, head), body);
        let mut blanked = octets.clone();
        blanked[a..b].fill(0);
        prop_assert_eq!(whole.without(a, body), Sum::of(&blanked));
    }

    #[test]
    fn an_inserted_checksum_makes_the_sum_valid(mut octets in crate::arbitrary::octets(2..300)) {
        octets[..2].fill(0);
        let checksum = Sum::of(&octets).checksum();
        octets[..2].copy_from_slice(&checksum.to_be_bytes());
        prop_assert!(Sum::of(&octets).is_valid());
    }

    #[test]
    fn an_updated_checksum_is_the_recomputed_one(mut words in proptest::collection::vec(any::<u16>(), 1..20), at in 0..20_usize, new in any::<u16>()) {
        // Like the version field of IPv4, so that the sum is never 0x0000.
        words.push(0x4500);
        let at = at % (words.len() - 1);
        let sum = |words: &[u16]| words.iter().fold(Sum::ZERO, |sum, word| sum.add_u16(*word));
        let old = sum(&words).checksum();
        let old_word = std::mem::replace(&mut words[at], new);
        prop_assert_eq!(Sum::update(old, old_word, new), sum(&words).checksum());
    }
}

proptest! {
    #[test]
    fn words_added_at_once_are_words_added_one_by_one(
        first in word(), words in [word(), word(), word(), word(), word(), word()],
    ) {
        let one_by_one = words.into_iter().fold(Sum::from_folded(first), Sum::add_u16);
        prop_assert_eq!(Sum::from_folded(first).add_words(words).folded(), one_by_one.folded());
    }
}

/// Those at which carries happen are frequent.
fn word() -> impl Strategy<Value = u16> {
    prop_oneof![any::<u16>(), 0..3_u16, 0xfffd..=0xffff_u16]
}
