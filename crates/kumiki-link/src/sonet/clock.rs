//! When each octet of payload is on a SONET/SDH line.
//!
//! A frame lasts 125 us and has nine rows of `90 N` octets. In each row section and line overhead come first (`3 N`
//! octets), then, where the payload pointer is 522, the path overhead and fixed stuff (`N / 3` octets), then payload.
//! So payload comes in bursts of a row with gaps of 4 % between them, which [`OctetClock`] tells exactly, also where
//! the pointer is another or moves.

use core::fmt;

use kumiki_graph::Instant;
use kumiki_wire::ppp::sdh::POINTERS;

use super::envelope;
use crate::Rate;

/// Rows of a frame.
const ROWS: u64 = 9;
/// Nanoseconds that a frame lasts.
pub(super) const FRAME_NANOS: u64 = 125_000;
/// Where the envelope begins in the first row of the next frame.
const POINTER: u16 = 522;

/// The most that the clock of an envelope may differ from its line's, in parts per thousand million: with 300 parts per
/// million the pointer moves every fourth frame.
pub const MOST_OFFSET_PPB: i32 = 300_000;

/// A concatenated signal: one payload envelope in the whole of an STS-N or STM-M.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// OC-3c, STM-1 with one VC-4: 155.52 Mbit/s.
    Sts3c,
    /// OC-12c, STM-4 with VC-4-4c: 622.08 Mbit/s.
    Sts12c,
    /// OC-48c, STM-16 with VC-4-16c: 2488.32 Mbit/s.
    Sts48c,
    /// OC-192c, STM-64 with VC-4-64c: 9953.28 Mbit/s.
    Sts192c,
}

impl Level {
    /// All, the slowest first.
    pub const ALL: [Self; 4] = [Self::Sts3c, Self::Sts12c, Self::Sts48c, Self::Sts192c];

    /// N of STS-N: how many STS-1 it has the room of.
    #[must_use]
    pub const fn n(self) -> u64 {
        match self {
            Self::Sts3c => 3,
            Self::Sts12c => 12,
            Self::Sts48c => 48,
            Self::Sts192c => 192,
        }
    }

    /// Octets in a row of a frame.
    #[must_use]
    pub const fn row(self) -> u64 {
        90 * self.n()
    }

    /// Octets of section and line overhead at the beginning of each row.
    #[must_use]
    pub const fn transport_overhead(self) -> u64 {
        3 * self.n()
    }

    /// Columns of the payload envelope that carry path overhead (the first) or fixed stuff (the others).
    #[must_use]
    pub const fn path_overhead(self) -> u64 {
        self.n() / 3
    }

    /// Octets of payload in each row: 260 for STS-3c.
    #[must_use]
    pub const fn payload_row(self) -> u64 {
        self.row() - self.transport_overhead() - self.path_overhead()
    }

    /// Octets of a frame, overhead included.
    #[must_use]
    pub const fn frame(self) -> u64 {
        ROWS * self.row()
    }

    /// Octets of payload in a frame.
    #[must_use]
    pub const fn payload(self) -> u64 {
        ROWS * self.payload_row()
    }

    /// Of the line.
    #[must_use]
    pub const fn line_rate(self) -> Rate {
        Rate::bits_per_second(self.frame() * 8 * 8000)
    }

    /// Of the payload.
    #[must_use]
    pub const fn payload_rate(self) -> Rate {
        Rate::bits_per_second(self.payload() * 8 * 8000)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OC-{}c", self.n())
    }
}

/// Times of the octets of payload of a line whose frames begin at multiples of 125 us. Octets of payload are numbered
/// from 0 on: 0 is the first of the frame that begins at time 0.
///
/// Unless said otherwise the payload pointer is 522, so that the envelope begins in the first row behind the overhead,
/// and does not move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OctetClock {
    level: Level,
    /// Where the envelope begins.
    pointer: u16,
    /// How much faster the envelope is than the line, in parts per thousand million.
    offset_ppb: i32,
}

impl OctetClock {
    /// The clock of a line.
    #[must_use]
    pub const fn new(level: Level) -> Self {
        Self { level, pointer: POINTER, offset_ppb: 0 }
    }

    /// The same where the envelope begins elsewhere: `pointer` counts in units of N octets behind H3 and is taken
    /// modulo 783.
    #[must_use]
    pub const fn with_pointer(self, pointer: u16) -> Self {
        let pointer = pointer % POINTERS;
        Self { pointer, ..self }
    }

    /// The same where the envelope has a clock of its own, so that its pointer moves: `ppb` parts per thousand million
    /// faster than the line, or slower where it is negative. At most [`MOST_OFFSET_PPB`] either way, for there must be
    /// three frames between two moves.
    #[must_use]
    pub const fn with_offset(self, ppb: i32) -> Self {
        let offset_ppb = if ppb > MOST_OFFSET_PPB {
            MOST_OFFSET_PPB
        } else if ppb < -MOST_OFFSET_PPB {
            -MOST_OFFSET_PPB
        } else {
            ppb
        };
        Self { offset_ppb, ..self }
    }

    /// What the line is.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Where the envelope begins in frame 0: the payload pointer.
    #[must_use]
    pub const fn pointer(&self) -> u16 {
        self.pointer
    }

    /// How much faster the envelope is than the line, in parts per thousand million.
    #[must_use]
    pub const fn offset_ppb(&self) -> i32 {
        self.offset_ppb
    }

    /// Whether the envelope begins behind the overhead of the first row, always.
    const fn is_plain(&self) -> bool {
        self.pointer == POINTER && self.offset_ppb == 0
    }

    /// The place of payload octet `n` on the line: in which frame, and how many octets of that frame are before it.
    #[must_use]
    pub const fn place(&self, n: u64) -> (u64, u64) {
        if !self.is_plain() {
            return envelope::place(self, n);
        }
        let level = self.level;
        let (frame, n) = (n / level.payload(), n % level.payload());
        let (row, column) = (n / level.payload_row(), n % level.payload_row());
        let before = level.transport_overhead() + level.path_overhead();
        (frame, row * level.row() + before + column)
    }

    /// When `octets` of frame number `frame` are on the line, rounded up to a nanosecond.
    const fn at(&self, frame: u64, octets: u64) -> Instant {
        let nanos = (octets * FRAME_NANOS).div_ceil(self.level.frame());
        Instant::from_nanos(frame.saturating_mul(FRAME_NANOS).saturating_add(nanos))
    }

    /// When payload octet `n` begins, rounded up to a nanosecond.
    #[must_use]
    pub const fn begins(&self, n: u64) -> Instant {
        let (frame, before) = self.place(n);
        self.at(frame, before)
    }

    /// When the last bit of payload octet `n` is on the line, rounded up to a nanosecond.
    #[must_use]
    pub const fn ends(&self, n: u64) -> Instant {
        let (frame, before) = self.place(n);
        self.at(frame, before + 1)
    }

    /// The first payload octet that begins at `t` or later.
    #[must_use]
    pub fn first_at_or_after(&self, t: Instant) -> u64 {
        let (frame, octet) = self.line_octet_at_or_after(t);
        let level = self.level;
        if !self.is_plain() {
            return envelope::payload_at_or_after(self, frame, octet);
        }
        let (row, column) = (octet / level.row(), octet % level.row());
        let overhead = level.transport_overhead() + level.path_overhead();
        let in_row = column.saturating_sub(overhead);
        frame * level.payload() + row * level.payload_row() + in_row
    }

    /// The first octet of the line that begins at `t` or later: its frame, and how many octets of that frame are before
    /// it, which may be all.
    pub(super) const fn line_octet_at_or_after(&self, t: Instant) -> (u64, u64) {
        let Some(before) = t.as_nanos().checked_sub(1) else {
            return (0, 0);
        };
        let (frame, nanos) = (before / FRAME_NANOS, before % FRAME_NANOS);
        // Times are rounded up, so it is the first octet of the line that begins after the nanosecond before `t`.
        (frame, nanos * self.level.frame() / FRAME_NANOS + 1)
    }

    /// How many octets of the line have ended by `t`.
    #[must_use]
    pub const fn line_octets_by(&self, t: Instant) -> u64 {
        let (frame, nanos) = (t.as_nanos() / FRAME_NANOS, t.as_nanos() % FRAME_NANOS);
        let frame_len = self.level.frame();
        frame * frame_len + nanos * frame_len / FRAME_NANOS
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn level() -> impl Strategy<Value = Level> {
        prop::sample::select(Level::ALL.to_vec())
    }

    #[test]
    fn levels_have_the_rates_of_the_standard() {
        let rates = [Rate::OC3C, Rate::OC12C, Rate::OC48C, Rate::OC192C];
        for (level, rate) in Level::ALL.into_iter().zip(rates) {
            assert_eq!(level.payload_rate(), rate);
        }
        assert_eq!(Level::Sts3c.line_rate(), Rate::OC3_LINE);
        let frames: Vec<u64> = Level::ALL.into_iter().map(Level::frame).collect();
        assert_eq!(frames, [2_430, 9_720, 38_880, 155_520]);
        let payloads: Vec<u64> = Level::ALL.into_iter().map(Level::payload).collect();
        assert_eq!(payloads, [2_340, 9_360, 37_440, 149_760]);
    }

    #[test]
    fn the_first_row_of_an_oc3c_begins_behind_ten_octets() {
        let clock = OctetClock::new(Level::Sts3c);
        assert_eq!(clock.place(0), (0, 10));
        assert_eq!(clock.place(259), (0, 269));
        assert_eq!(clock.place(260), (0, 280));
        assert_eq!(clock.place(2_340), (1, 10));
        // An octet lasts 125000 / 2430 ns.
        assert_eq!(clock.begins(0).as_nanos(), 515);
        assert_eq!(clock.ends(0).as_nanos(), 566);
        assert_eq!(clock.ends(2_339).as_nanos(), 125_000);
    }

    fn clock() -> impl Strategy<Value = OctetClock> {
        let offset = prop_oneof![2 => Just(0), 1 => -MOST_OFFSET_PPB..=MOST_OFFSET_PPB];
        let pointer = prop_oneof![2 => Just(522_u16), 1 => 0..POINTERS];
        (level(), pointer, offset)
            .prop_map(|(level, pointer, offset)| OctetClock::new(level).with_pointer(pointer).with_offset(offset))
    }

    #[test]
    fn an_envelope_with_its_own_clock_carries_its_own_rate() {
        for ppb in [-200_000, -1, 20_000, 300_000] {
            let clock = OctetClock::new(Level::Sts3c).with_offset(ppb);
            // A thousand seconds.
            let nominal = 8_000_000 * Level::Sts3c.payload();
            let carried = clock.first_at_or_after(Instant::from_nanos(1_000_000_000_000));
            let expected = i64::try_from(nominal / 1_000_000).unwrap() * i64::from(ppb) / 1000;
            let found = i64::try_from(carried).unwrap() - i64::try_from(nominal).unwrap();
            // A move is three octets, and there are no parts of one.
            assert!((found - expected).abs() <= 4, "{ppb}: {found} {expected}");
        }
    }

    proptest! {
        #[test]
        fn a_payload_octet_is_found_by_its_beginning(clock in clock(), n in 0..1_u64 << 40) {
            let begin = clock.begins(n);
            let found = clock.first_at_or_after(begin);
            // Several octets of a fast line can begin in one nanosecond.
            prop_assert!(found <= n && clock.begins(found) == begin);
            prop_assert!(found == 0 || clock.begins(found - 1) < begin);
            prop_assert!(clock.begins(n) <= clock.ends(n) && clock.ends(n) <= clock.begins(n + 1));
        }

        #[test]
        fn the_octet_found_is_the_first_not_before_the_time(clock in clock(), nanos in 0..1_u64 << 50) {
            let t = Instant::from_nanos(nanos);
            let found = clock.first_at_or_after(t);
            prop_assert!(clock.begins(found) >= t);
            prop_assert!(found == 0 || clock.begins(found - 1) < t);
        }
    }
}
