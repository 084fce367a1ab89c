//! Wrong bits of a line, each independent of the others.
//!
//! How far it is to the next one is drawn at once, so that a clean stretch costs nothing. The draw uses multiplications
//! and comparisons only, which give the same on every machine; a logarithm need not.

use kumiki_graph::Rng;

/// Distances are below 2 to this.
const POWERS: usize = 48;

/// Draws wrong bits.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// The probability that 2^k bits in a row are right, by k.
    right: [f64; POWERS],
    rng: Rng,
    /// Right bits before the next wrong one; nothing where no bit is ever wrong.
    next: Option<u64>,
    wrong: u64,
}

impl Noise {
    /// Each bit is wrong with the probability `rate`, at most a half.
    pub(super) fn new(rate: f64, rng: Rng) -> Self {
        let mut right = [0.0; POWERS];
        let mut power = 1.0 - rate.clamp(0.0, 0.5);
        for slot in &mut right {
            *slot = power;
            power *= power;
        }
        let mut noise = Self { right, rng, next: None, wrong: 0 };
        if rate > 0.0 {
            noise.next = Some(noise.draw());
        }
        noise
    }

    /// Whether no bit is ever wrong.
    pub(super) const fn is_none(&self) -> bool {
        self.next.is_none()
    }

    /// How many bits have been wrong.
    pub(super) const fn wrong(&self) -> u64 {
        self.wrong
    }

    /// How many bits are right before a wrong one: at least n of them with the probability of n right ones.
    fn draw(&mut self) -> u64 {
        let limit = self.rng.unit();
        let (mut all_right, mut bits) = (1.0, 0);
        for (power, right) in self.right.iter().enumerate().rev() {
            if all_right * right > limit {
                all_right *= right;
                bits += 1 << power;
            }
        }
        bits
    }

    /// Makes bits of the next octets wrong.
    pub(super) fn apply(&mut self, octets: &mut [u8]) {
        let bits = 8 * octets.len() as u64;
        let mut at = 0;
        while let Some(next) = self.next {
            if next >= bits - at {
                self.next = Some(next - (bits - at));
                return;
            }
            at += next;
            let octet = usize::try_from(at / 8).unwrap_or(usize::MAX);
            if let Some(octet) = octets.get_mut(octet) {
                *octet ^= 0x80 >> (at % 8);
            }
            self.wrong += 1;
            at += 1;
            self.next = Some(self.draw());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bits_are_wrong_as_the_rate_says_wherever_pieces_end() {
        for rate in [1e-1, 1e-3, 1e-5] {
            let mut noise = Noise::new(rate, Rng::new(3, 0));
            let mut line = vec![0_u8; 4_000_000];
            for piece in line.chunks_mut(977) {
                noise.apply(piece);
            }
            let wrong: u32 = line.iter().map(|octet| octet.count_ones()).sum();
            assert_eq!(u64::from(wrong), noise.wrong());
            let expected = 32e6 * rate;
            // Five standard deviations of a Poisson distribution; the seed is fixed.
            let off = (f64::from(wrong) - expected).abs();
            assert!(off < 5.0 * expected.sqrt(), "{rate}: {wrong}");
            let mut again = Noise::new(rate, Rng::new(3, 0));
            let mut other = vec![0_u8; line.len()];
            again.apply(&mut other);
            assert!(line == other);
        }
    }

    #[test]
    fn a_rate_of_nothing_changes_nothing() {
        let mut noise = Noise::new(0.0, Rng::new(3, 0));
        let mut line = vec![0_u8; 1000];
        noise.apply(&mut line);
        assert!(noise.is_none() && line.iter().all(|octet| *octet == 0));
    }
}
