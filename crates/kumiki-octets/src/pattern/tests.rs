use super::*;
use proptest::prelude::*;

fn octets(pattern: Pattern, offset: u64, len: usize) -> Vec<u8> {
    let mut out = vec![0xA5; len];
    pattern.fill(offset, &mut out);
    out
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Zeros),
        any::<u8>().prop_map(Pattern::Fill),
        (0..400_u32).prop_map(|write_len| Pattern::Ttcp { write_len }),
        prop_oneof![Just(512), Just(1461), Just(4096), Just(8192), any::<u32>()]
            .prop_map(|write_len| Pattern::Ttcp { write_len }),
        any::<u64>().prop_map(|seed| Pattern::Random { seed }),
        Just(Pattern::Counter),
    ]
}

/// Positions near the start, anywhere, and where the count of positions begins again.
fn any_offset() -> impl Strategy<Value = u64> {
    prop_oneof![0..20_000_u64, any::<u64>(), (0..6000_u64).prop_map(|back| u64::MAX - back)]
}

#[test]
fn ttcp_sends_the_printable_characters_again_with_each_write() {
    let stream = octets(Pattern::Ttcp { write_len: 100 }, 0, 205);
    assert_eq!(&stream[..4], b" !\"#");
    assert_eq!(&stream[90..104], b"z{|}~ !\"#$ !\"#");
    let definition = |x: usize| 0x20 + u8::try_from(x % 100 % 95).unwrap();
    assert!(stream.iter().enumerate().all(|(x, octet)| *octet == definition(x)));
}

#[test]
fn ttcp_has_the_number_of_escaped_octets_known_for_its_write_sizes() {
    for (write_len, escaped) in [(512_u16, 10), (1024, 20), (2048, 42), (4096, 86), (8192, 172)] {
        let ttcp = Pattern::Ttcp { write_len: write_len.into() };
        let write = octets(ttcp, 0, write_len.into());
        let escapes = write.iter().filter(|octet| matches!(octet, 0x7D | 0x7E));
        assert_eq!(escapes.count(), escaped);
    }
}

#[test]
fn random_is_splitmix64() {
    // The first outputs for seed 1234567, as other implementations print them.
    let outputs = [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    let expected: Vec<u8> = outputs.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(octets(Pattern::Random { seed: 1_234_567 }, 0, 24), expected);
}

#[test]
fn counter_is_the_exclusive_or_of_its_position() {
    for x in [0_u64, 1, 255, 256, 257, 0x0001_0203, 0xFFFF_FFFF_FFFF_FFFF] {
        assert_eq!(Pattern::Counter.octet(x), x.to_be_bytes().iter().fold(0, |a, b| a ^ b));
    }
    assert_ne!(octets(Pattern::Counter, 0, 256), octets(Pattern::Counter, 256, 256));
}

#[test]
fn no_octets_sum_to_plus_zero() {
    for pattern in [Pattern::Zeros, Pattern::Fill(7), Pattern::Ttcp { write_len: 9 }, Pattern::Counter] {
        assert_eq!(pattern.sum(3, 0).folded(), 0);
    }
}

#[test]
fn a_huge_range_is_summed_without_generating_it() {
    let len = usize::MAX >> 8;
    let half = len.div_ceil(2);
    for pattern in [Pattern::Fill(3), Pattern::Ttcp { write_len: 8191 }, Pattern::Counter] {
        let halves = pattern.sum(5, half).then(half, pattern.sum(5 + half as u64, len - half));
        assert_eq!(pattern.sum(5, len).folded(), halves.folded());
    }
}

proptest! {
    #[test]
    fn the_sum_is_that_of_the_octets(pattern in any_pattern(), offset in any_offset(), len in 0..6000_usize) {
        let octets = octets(pattern, offset, len);
        prop_assert_eq!(pattern.sum(offset, len).folded(), Sum::of(&octets).folded());
    }

    #[test]
    fn filling_in_pieces_is_filling_at_once(pattern in any_pattern(), offset in any_offset(), len in 0..6000_usize, cut in 0..6000_usize) {
        let cut = cut.min(len);
        let mut pieces = octets(pattern, offset, cut);
        pieces.extend(octets(pattern, offset.wrapping_add(cut as u64), len - cut));
        prop_assert_eq!(&pieces, &octets(pattern, offset, len));
        if let Some(octet) = pieces.get(cut) {
            prop_assert_eq!(pattern.octet(offset.wrapping_add(cut as u64)), *octet);
        }
    }
}
