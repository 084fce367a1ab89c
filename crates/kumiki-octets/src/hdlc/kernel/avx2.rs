//! Stuffing and unstuffing with AVX2: 32 octets at a time, and where one of them is not itself eight at a time through
//! tables.
//!
//! Copying runs of clean octets and handling the others one by one would be as fast on random octets, but a hundred
//! times slower on octets that all are flags, and who sends the octets chooses them. Eight octets through a table cost
//! the same whatever they are.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi64_si128, _mm_loadu_si128, _mm_set1_epi8, _mm_shuffle_epi8, _mm_storeu_si128,
    _mm_unpacklo_epi8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_extract_epi64, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi64x,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256, _mm256_xor_si256,
};
use std::mem::MaybeUninit;

use super::masks::{lowest, pending_behind, standing};
use super::{Accm, COMPLEMENT, ESCAPE, FLAG, Run};

/// Octets in a vector.
const V: usize = 32;

/// An index that `PSHUFB` answers with zero.
const NONE: u8 = 0x80;

/// For each set of octets of eight that are escaped: which of sixteen, an escape and an octet in turn, are sent.
static WITH_ESCAPES: [[u8; 16]; 256] = {
    let mut table = [[NONE; 16]; 256];
    let mut set = 0;
    let mut rows: &mut [[u8; 16]] = &mut table;
    while let [row, others @ ..] = rows {
        let mut places: &mut [u8] = row;
        let mut octet = 0_u8;
        while octet < 8 {
            if (set >> octet) & 1 == 1
                && let [place, behind @ ..] = places
            {
                *place = 2 * octet;
                places = behind;
            }
            if let [place, behind @ ..] = places {
                *place = 2 * octet + 1;
                places = behind;
            }
            octet += 1;
        }
        set += 1;
        rows = others;
    }
    table
};

/// For each set of octets of eight: which they are, one after the other, in sixteen so that a row is one load.
static KEPT: [[u8; 16]; 256] = {
    let mut table = [[NONE; 16]; 256];
    let mut set = 0;
    let mut rows: &mut [[u8; 16]] = &mut table;
    while let [row, others @ ..] = rows {
        let mut places: &mut [u8] = row;
        let mut octet = 0_u8;
        while octet < 8 {
            if (set >> octet) & 1 == 1
                && let [place, behind @ ..] = places
            {
                *place = octet;
                places = behind;
            }
            octet += 1;
        }
        set += 1;
        rows = others;
    }
    table
};

#[inline]
#[target_feature(enable = "avx2")]
fn load(octets: &[u8; V]) -> __m256i {
    // SAFETY: the reference is valid for reading the 32 octets loaded, and the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(octets.as_ptr().cast()) }
}

/// Fewer than 32 octets, with zeros behind.
#[inline]
#[target_feature(enable = "avx2")]
fn load_part(octets: &[u8]) -> __m256i {
    let mut whole = [0; V];
    for (to, from) in whole.iter_mut().zip(octets) {
        *to = *from;
    }
    load(&whole)
}

/// The first octets, as many as a vector holds, and how many there are.
#[inline]
#[target_feature(enable = "avx2")]
fn first(octets: &[u8]) -> (__m256i, usize) {
    octets.first_chunk().map_or_else(|| (load_part(octets), octets.len()), |whole| (load(whole), V))
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(to: &mut [MaybeUninit<u8>; V], vector: __m256i) {
    // SAFETY: the reference is valid for writing the 32 octets stored, and the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_half(to: &mut [MaybeUninit<u8>; 16], vector: __m128i) {
    // SAFETY: the reference is valid for writing the 16 octets stored, and the instruction needs no alignment.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), vector) }
}

/// The row of a table for the lowest eight bits of `set`.
#[inline]
#[target_feature(enable = "avx2")]
fn row(table: &[[u8; 16]; 256], set: u64) -> __m128i {
    let [set, ..] = set.to_le_bytes();
    #[expect(clippy::indexing_slicing, reason = "an octet is a valid index of 256 entries")]
    let row = &table[usize::from(set)];
    // SAFETY: the reference is valid for reading the 16 octets loaded, and the instruction needs no alignment.
    unsafe { _mm_loadu_si128(row.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn all(octet: u8) -> __m256i {
    _mm256_set1_epi8(octet.cast_signed())
}

/// The octets that are all ones, as bits.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(vector: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(vector).cast_unsigned())
}

/// The words of a shuffle, the same in both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(lower: u64, upper: u64) -> __m256i {
    let (lower, upper) = (lower.cast_signed(), upper.cast_signed());
    _mm256_setr_epi64x(lower, upper, lower, upper)
}

/// A map of control characters, ready to be looked at.
#[derive(Clone, Copy)]
struct Map {
    /// For each lower half of an octet: bit 0 if 0x00 to 0x0F has it, bit 1 if 0x10 to 0x1F has it.
    rows: __m256i,
}

impl Map {
    #[target_feature(enable = "avx2")]
    fn new(accm: Accm) -> Self {
        let octets = _mm256_set1_epi32(accm.bits().cast_signed());
        let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
        let first = _mm256_shuffle_epi8(octets, halves(0, 0x0101_0101_0101_0101));
        let second = _mm256_shuffle_epi8(octets, halves(0x0202_0202_0202_0202, 0x0303_0303_0303_0303));
        let first = _mm256_cmpeq_epi8(_mm256_and_si256(first, bit), bit);
        let second = _mm256_cmpeq_epi8(_mm256_and_si256(second, bit), bit);
        let rows = _mm256_or_si256(_mm256_and_si256(first, all(1)), _mm256_and_si256(second, all(2)));
        Self { rows }
    }

    /// All ones where an octet is not in the map.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn others(self, octets: __m256i) -> __m256i {
        // Upper halves 0 and 1 have a bit of their own, all others none.
        let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(octets), all(0x0F));
        let upper = _mm256_shuffle_epi8(halves(0x0201, 0), upper);
        let lower = _mm256_shuffle_epi8(self.rows, _mm256_and_si256(octets, all(0x0F)));
        _mm256_cmpeq_epi8(_mm256_and_si256(lower, upper), _mm256_setzero_si256())
    }

    /// The octets of the map.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn controls(self, octets: __m256i) -> u64 {
        bits(self.others(octets)) ^ lowest(V)
    }
}

/// The octets that are sent as two.
#[inline]
#[target_feature(enable = "avx2")]
fn escaped<const MAP: bool>(octets: __m256i, map: Map) -> u64 {
    let two = _mm256_or_si256(_mm256_cmpeq_epi8(octets, all(FLAG)), _mm256_cmpeq_epi8(octets, all(ESCAPE)));
    if MAP { bits(two) | map.controls(octets) } else { bits(two) }
}

/// Complements the octets that a set names.
#[inline]
#[target_feature(enable = "avx2")]
fn complement(octets: __m256i, which: u64) -> __m256i {
    let [a, b, c, d, ..] = which.to_le_bytes();
    let eight = |set: u8| 0x0101_0101_0101_0101_u64.wrapping_mul(u64::from(set)).cast_signed();
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let sets = _mm256_setr_epi64x(eight(a), eight(b), eight(c), eight(d));
    let found = _mm256_cmpeq_epi8(_mm256_and_si256(sets, bit), bit);
    _mm256_xor_si256(octets, _mm256_and_si256(found, all(COMPLEMENT)))
}

/// A vector as four words.
#[inline]
#[target_feature(enable = "avx2")]
fn words(vector: __m256i) -> [i64; 4] {
    [
        _mm256_extract_epi64::<0>(vector),
        _mm256_extract_epi64::<1>(vector),
        _mm256_extract_epi64::<2>(vector),
        _mm256_extract_epi64::<3>(vector),
    ]
}

/// As an index; never more than 64.
#[inline]
#[target_feature(enable = "popcnt")]
fn ones(mask: u64) -> usize {
    mask.count_ones() as usize
}

/// How many of `octets` are sent as two.
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn escapes(octets: &[u8], accm: Accm) -> usize {
    if accm == Accm::NONE { count::<false>(octets, accm) } else { count::<true>(octets, accm) }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn count<const MAP: bool>(octets: &[u8], accm: Accm) -> usize {
    let map = Map::new(accm);
    let (vectors, tail) = octets.as_chunks::<V>();
    let mut total = 0;
    for vector in vectors {
        total += ones(escaped::<MAP>(load(vector), map));
    }
    total + tail.iter().filter(|octet| accm.escapes(**octet)).count()
}

/// Where the next octets go.
struct OutputCursor<'a> {
    room: &'a mut [MaybeUninit<u8>],
    at: usize,
}

impl OutputCursor<'_> {
    /// Writes whole vectors as long as nothing in them is escaped, and gives what is left.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn put_clean<'a, const MAP: bool>(&mut self, octets: &'a [u8], map: Map) -> &'a [u8] {
        let mut rest = octets;
        while let Some((block, behind)) = rest.split_first_chunk() {
            let vector = load(block);
            if escaped::<MAP>(vector, map) != 0 {
                break;
            }
            self.put(vector, V);
            rest = behind;
        }
        rest
    }

    /// Writes 32 octets of which `len` count. Whoever makes room makes 64 more than are wanted.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn put(&mut self, vector: __m256i, len: usize) {
        let to = self.room.get_mut(self.at..).and_then(|room| room.first_chunk_mut());
        store(to.expect("no room for a vector"), vector);
        self.at += len;
    }

    /// Writes 16 octets of which `len` count.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn put_half(&mut self, vector: __m128i, len: usize) {
        let to = self.room.get_mut(self.at..).and_then(|room| room.first_chunk_mut());
        store_half(to.expect("no room for half a vector"), vector);
        self.at += len;
    }

    /// Writes the octets that a set names.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn put_some(&mut self, vector: __m256i, which: u64) {
        let mut left = which;
        for word in words(vector) {
            let eight = _mm_shuffle_epi8(_mm_cvtsi64_si128(word), row(&KEPT, left));
            self.put_half(eight, ones(left & 0xFF));
            left >>= 8;
        }
    }
}

/// Writes the transparent form to the beginning of `room`, and gives its length.
///
/// # Panics
///
/// If the room is less than twice the octets and [`super::SLACK`] more.
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn stuff(octets: &[u8], accm: Accm, room: &mut [MaybeUninit<u8>]) -> usize {
    if accm == Accm::NONE { stuff_all::<false>(octets, accm, room) } else { stuff_all::<true>(octets, accm, room) }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn stuff_all<const MAP: bool>(octets: &[u8], accm: Accm, room: &mut [MaybeUninit<u8>]) -> usize {
    let map = Map::new(accm);
    let mut to = OutputCursor { room, at: 0 };
    let mut rest = octets;
    loop {
        rest = to.put_clean::<MAP>(rest, map);
        if rest.is_empty() {
            return to.at;
        }
        let (vector, len) = first(rest);
        let found = escaped::<MAP>(vector, map) & lowest(len);
        stuff_vector(vector, found, len, &mut to);
        rest = rest.get(V..).unwrap_or_default();
    }
}

/// Writes the transparent form of the first `len` octets of a vector.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn stuff_vector(vector: __m256i, escaped: u64, len: usize, to: &mut OutputCursor<'_>) {
    if escaped == 0 {
        to.put(vector, len);
        return;
    }
    let (mut left, mut len) = (escaped, len);
    for word in words(complement(vector, escaped)) {
        // An escape and an octet in turn, of which those are sent that are wanted.
        let pairs = _mm_unpacklo_epi8(_mm_set1_epi8(ESCAPE.cast_signed()), _mm_cvtsi64_si128(word));
        let octets = len.min(8);
        to.put_half(_mm_shuffle_epi8(pairs, row(&WITH_ESCAPES, left)), octets + ones(left & 0xFF));
        left >>= 8;
        len -= octets;
    }
}

/// Writes plain octets, at most `limit`, to the beginning of `room`, up to a flag or to the end of the octets, or until
/// those of a vector would not fit.
///
/// # Panics
///
/// If the room is less than `limit` and [`super::SLACK`] more.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn unstuff(octets: &[u8], accm: Accm, escape: &mut bool, limit: usize, room: &mut [MaybeUninit<u8>]) -> Run {
    if accm == Accm::NONE {
        unstuff_all::<false>(octets, accm, escape, limit, room)
    } else {
        unstuff_all::<true>(octets, accm, escape, limit, room)
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn unstuff_all<const MAP: bool>(
    octets: &[u8],
    accm: Accm,
    escape: &mut bool,
    limit: usize,
    room: &mut [MaybeUninit<u8>],
) -> Run {
    let map = Map::new(accm);
    let mut to = OutputCursor { room, at: 0 };
    // Values of its own, which need not be in memory after each vector.
    let (mut pending, mut flag) = (*escape, false);
    let mut rest = octets;
    loop {
        // Whole vectors that fit, without flags and without octets to be removed; the others one at a time.
        while let Some((block, behind)) = rest.split_first_chunk()
            && to.at + V <= limit
        {
            let vector = load(block);
            let special = escaped::<MAP>(vector, map);
            if special == 0 && !pending {
                to.put(vector, V);
            } else {
                let found = bits(_mm256_cmpeq_epi8(vector, all(ESCAPE)));
                if special != found {
                    break;
                }
                // Senders do not escape escapes.
                let doubled = found & (found << 1 | u64::from(pending)) != 0;
                let standing = if doubled { standing(found, pending) } else { found };
                let complemented = (standing << 1) | u64::from(pending);
                to.put_some(complement(vector, complemented), !standing & lowest(V));
                pending = standing >> (V - 1) & 1 == 1;
            }
            rest = behind;
        }
        if rest.is_empty() {
            break;
        }
        let (vector, len) = first(rest);
        let Some((place, still)) = unstuff_vector::<MAP>(vector, len, map, pending, limit, &mut to) else {
            break;
        };
        pending = still;
        // A branch, since where the next vector is must not wait for what is in this one.
        if place < 64 {
            flag = true;
            rest = rest.get(place + 1..).unwrap_or_default();
            break;
        }
        rest = rest.get(V..).unwrap_or_default();
    }
    *escape = pending;
    Run { taken: octets.len() - rest.len(), written: to.at, flag }
}

/// Writes the plain form of the first `len` octets of a vector, and gives the place of the flag that stopped it, or 64,
/// and whether an escape is pending; nothing where the octets would not fit, and then nothing has changed.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn unstuff_vector<const MAP: bool>(
    vector: __m256i,
    len: usize,
    map: Map,
    pending: bool,
    limit: usize,
    to: &mut OutputCursor<'_>,
) -> Option<(usize, bool)> {
    // Zeros behind a part are no flags, and without one this is 64.
    let flag = bits(_mm256_cmpeq_epi8(vector, all(FLAG))).trailing_zeros() as usize;
    let (mut vector, mut len) = (vector, len.min(flag));
    if MAP {
        let removed = map.controls(vector) & lowest(len);
        if removed != 0 {
            let kept = lowest(len) & !removed;
            let mut room = [MaybeUninit::new(0); V + 16];
            OutputCursor { room: &mut room, at: 0 }.put_some(vector, kept);
            let whole = room.first_chunk().map(|whole: &[MaybeUninit<u8>; V]| {
                // SAFETY: octets are initialized where the room was made, and `MaybeUninit` has the layout of what it
                // holds.
                unsafe { &*core::ptr::from_ref(whole).cast::<[u8; V]>() }
            });
            vector = whole.map_or(vector, |whole| load(whole));
            len = ones(kept);
        }
    }
    let found = bits(_mm256_cmpeq_epi8(vector, all(ESCAPE))) & lowest(len);
    if found == 0 && !pending {
        if to.at + len > limit {
            return None;
        }
        to.put(vector, len);
        return Some((flag, false));
    }
    let standing = standing(found, pending);
    let kept = lowest(len) & !standing;
    if to.at + ones(kept) > limit {
        return None;
    }
    let complemented = (standing << 1) | u64::from(pending);
    to.put_some(complement(vector, complemented), kept);
    let still = pending_behind(found, len, pending);
    Some((flag, still))
}
