//! How long the parts of a frame are, as octets are counted in memory.

use kumiki_octets::bip::Interleaved;
use kumiki_octets::scramble;
use kumiki_wire::ppp::sdh::ROWS;

use super::Level;

/// Lengths in octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Size {
    /// N of STS-N.
    pub(super) n: usize,
    /// A row of a frame.
    pub(super) row: usize,
    /// Section and line overhead of a row.
    pub(super) overhead: usize,
    /// A row of the envelope.
    pub(super) envelope: usize,
    /// Path overhead and fixed stuff of a row of the envelope.
    pub(super) stuff: usize,
    /// A frame.
    pub(super) frame: usize,
}

impl Size {
    pub(super) const fn of(level: Level) -> Self {
        let n = match level {
            Level::Sts3c => 3,
            Level::Sts12c => 12,
            Level::Sts48c => 48,
            Level::Sts192c => 192,
        };
        Self { n, row: 90 * n, overhead: 3 * n, envelope: 87 * n, stuff: n / 3, frame: ROWS * 90 * n }
    }

    /// Octets without a change that are no signal: a fifth of a frame, 25 us, where the standards have 2.3 to 100 us
    /// (recalled). More than a row, so that none of that length lies within one.
    pub(super) const fn quiet(&self) -> usize {
        self.frame / 5
    }

    /// N parities of nothing.
    pub(super) const fn parities(level: Level) -> Interleaved {
        const fn of(signals: usize) -> Interleaved {
            match Interleaved::new(signals) {
                Some(parities) => parities,
                None => panic!("N divides 192"),
            }
        }
        // While this is compiled.
        const PARITIES: [Interleaved; 4] = [of(3), of(12), of(48), of(192)];
        let [n3, n12, n48, n192] = PARITIES;
        match level {
            Level::Sts3c => n3,
            Level::Sts12c => n12,
            Level::Sts48c => n48,
            Level::Sts192c => n192,
        }
    }

    /// Adds the frame's sequence to octets behind the first `at` of a frame, but for those of the first row that go in
    /// clear.
    pub(super) fn scramble(&self, at: usize, octets: &mut [u8]) {
        let clear = self.overhead.saturating_sub(at).min(octets.len());
        if let Some(octets) = octets.get_mut(clear..) {
            scramble::frame((at + clear).saturating_sub(self.overhead), octets);
        }
    }

    /// The octet of the envelope that is behind H3 where the pointer is this.
    pub(super) fn phase_behind_h3(&self, pointer: u16) -> usize {
        let pointers = usize::from(kumiki_wire::ppp::sdh::POINTERS);
        (pointers - usize::from(pointer) % pointers) % pointers * self.n
    }
}
