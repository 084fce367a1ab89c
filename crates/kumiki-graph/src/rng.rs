//! Random numbers that repeat: a seed and a stream give the same numbers everywhere.
//!
//! How a number within bounds is made of drawn bits stands here, as the crate `rand` 0.10 does it: there it depends on
//! a feature that anybody in the same build may ask for, and that would change all results.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};

/// A stream of random numbers (`ChaCha` with 8 rounds), fixed by its seed and stream number.
#[derive(Debug)]
pub struct Rng(ChaCha8Rng);

/// A copy, which gives the same numbers from here on.
impl Clone for Rng {
    fn clone(&self) -> Self {
        Self(ChaCha8Rng::deserialize_state(&self.0.serialize_state()))
    }
}

impl Rng {
    /// The stream `stream` of `seed`. Streams of one seed are independent of each other.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// The stream of what is called `name` within the stream `stream` of `seed`: the same whatever else there is.
    ///
    /// The names of one stream are few, so that a hash of 64 bits (FNV-1a) keeps them apart.
    #[must_use]
    pub fn named(seed: u64, stream: u64, name: &str) -> Self {
        const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let octets = stream.to_le_bytes().into_iter().chain(name.bytes());
        Self::new(seed, octets.fold(BASIS, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(PRIME)))
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`, each as likely as the other but for one part in 2^64; 0 where `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Canon's method with one step: the integer part of a fraction of 64 bits times the bound, with 64 bits more
        // where they may carry.
        let (whole, part) = product(self.next_u64(), bound);
        let carries = part > bound.wrapping_neg() && part.checked_add(product(self.next_u64(), bound).0).is_none();
        whole + u64::from(carries)
    }

    /// A number in `0.0..1.0`, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (f64::EPSILON / 2.0)
    }

    /// True with probability `p`; never for `p` of 0 or less, always for 1 or more.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }
}

/// The upper and the lower half of a product.
const fn product(a: u64, b: u64) -> (u64, u64) {
    let product = a as u128 * b as u128;
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    ((product >> 64) as u64, product as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert_eq, prop_oneof, proptest};
    use rand::RngExt as _;

    use super::Rng;

    proptest! {
        /// Of `rand`, as it is unless somebody asks for its feature `unbiased`.
        #[test]
        fn numbers_within_bounds_are_those_of_another_implementation(
            seed: u64,
            bounds in prop::collection::vec(prop_oneof![1..100_u64, any::<u64>(), (1 << 63)..=u64::MAX], 1..50),
        ) {
            let mut rng = Rng::new(seed, 3);
            let mut other = rng.clone().0;
            for bound in bounds {
                let expected = if bound == 0 { 0 } else { other.random_range(0..bound) };
                prop_assert_eq!(rng.below(bound), expected);
                prop_assert_eq!(rng.unit(), other.random::<f64>());
            }
        }
    }

    /// By another implementation of `ChaCha`, the crate `rand_chacha` 0.10. Another value changes every result of every
    /// experiment.
    #[test]
    fn a_seed_and_a_stream_give_these_numbers() {
        let mut rng = Rng::new(1, 2);
        assert_eq!((rng.next_u32(), rng.next_u64()), (0x9132_7536, 0xeb71_10d5_e05b_5d7e));
        assert_eq!((rng.below(1000), rng.next_u64()), (256, 0x2213_c449_562f_c396));
        // Across the ends of blocks, and of a stream with high bits.
        let mut rng = Rng::new(7, u64::MAX - 1);
        let draw = |rng: &mut Rng, n| if n % 3 == 0 { rng.next_u32().into() } else { rng.next_u64() };
        let sum = (0..1000).fold(0_u64, |sum, n| sum.rotate_left(1).wrapping_add(draw(&mut rng, n)));
        assert_eq!(sum, 0xa6b8_184b_3ed6_0f83);
    }

    #[test]
    fn a_copy_goes_on_as_its_original_does() {
        let mut rng = Rng::new(1, 2);
        for _ in 0..150 {
            let mut copy = rng.clone();
            let numbers: Vec<u64> = (0..40).map(|_| copy.next_u64()).collect();
            let mut original = rng.clone();
            rng.next_u32();
            original.next_u32();
            assert_eq!(original.next_u64(), rng.clone().next_u64());
            let mut again = Rng::new(1, 2);
            again.0.set_word_pos(rng.0.get_word_pos() - 1);
            assert_eq!((0..40).map(|_| again.next_u64()).collect::<Vec<_>>(), numbers);
        }
    }
}
