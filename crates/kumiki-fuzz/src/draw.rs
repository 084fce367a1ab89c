//! Choices made of octets.

/// Octets of which one choice after the other is made. When they are used up every choice is the first one.
#[derive(Clone, Debug)]
pub struct Draw<'a>(&'a [u8]);

impl<'a> Draw<'a> {
    /// Choices of `octets`.
    #[must_use]
    pub const fn new(octets: &'a [u8]) -> Self {
        Self(octets)
    }

    /// Whether all octets are used up.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Any octet.
    pub fn octet(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// Any number of 16 bits.
    pub fn word(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    /// Any number of 32 bits.
    pub fn long(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    /// A number below `n`, which is at most 65,536; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        match n {
            0 => 0,
            1..=256 => usize::from(self.octet()) % n,
            _ => usize::from(self.word()) % n,
        }
    }

    /// One time in `n`, and not when all octets are used up.
    pub fn once_in(&mut self, n: usize) -> bool {
        !self.is_empty() && self.below(n) == n - 1
    }

    /// The next `n` octets, or as many as there are.
    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }

    /// `N` octets, zeros where there are none.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut octets = [0; N];
        let taken = self.take(N);
        octets[..taken.len()].copy_from_slice(taken);
        octets
    }
}
