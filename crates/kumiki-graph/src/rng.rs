//! Random numbers that repeat: a seed and a stream give the same numbers everywhere.

use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A stream of random numbers (`ChaCha` with 8 rounds), fixed by its seed and stream number.
#[derive(Clone, Debug)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream `stream` of `seed`. Streams of one seed are independent of each other.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`, each as likely as the other; 0 where `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.random_range(0..bound) }
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// True with probability `p`; never for `p` of 0 or less, always for 1 or more.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }
}
