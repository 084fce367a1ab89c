//! Stuffing and unstuffing with AVX-512 VBMI2: 64 octets at a time, of which `VPCOMPRESSB` keeps those that a mask
//! names.

use std::arch::x86_64::{
    __m512i, _mm512_castsi512_si256, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi16,
    _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8,
    _mm512_maskz_mov_epi8, _mm512_movepi8_mask, _mm512_movm_epi8, _mm512_or_si512, _mm512_permutexvar_epi8,
    _mm512_set1_epi8, _mm512_set1_epi16, _mm512_slli_epi16, _mm512_storeu_si512, _mm512_sub_epi8, _mm512_xor_si512,
    _pdep_u64,
};
use std::mem::MaybeUninit;

use super::masks::{lowest, pending_behind, standing};
use super::{Accm, COMPLEMENT, ESCAPE, FLAG, Run};

/// Octets in a vector.
const V: usize = 64;

#[inline]
#[target_feature(enable = "avx512f")]
fn load(octets: &[u8; V]) -> __m512i {
    // SAFETY: the reference is valid for reading the 64 octets loaded, and the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(octets.as_ptr().cast()) }
}

/// Fewer than 64 octets, with zeros behind.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_part(octets: &[u8]) -> __m512i {
    // SAFETY: the mask names only octets of the slice, and others are not read.
    unsafe { _mm512_maskz_loadu_epi8(lowest(octets.len()), octets.as_ptr().cast()) }
}

/// The first octets, as many as a vector holds, and how many there are.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn first(octets: &[u8]) -> (__m512i, usize) {
    octets.first_chunk().map_or_else(|| (load_part(octets), octets.len()), |whole| (load(whole), V))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut [MaybeUninit<u8>; V], vector: __m512i) {
    // SAFETY: the reference is valid for writing the 64 octets stored, and the instruction needs no alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(octet: u8) -> __m512i {
    _mm512_set1_epi8(octet.cast_signed())
}

/// The octets of `accm`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn controls(octets: __m512i, accm: Accm) -> u64 {
    // The map as octets; the permutation looks at six bits of each index, so the comparison must exclude the others.
    let map = _mm512_movm_epi8(u64::from(accm.bits()));
    let found = _mm512_movepi8_mask(_mm512_permutexvar_epi8(octets, map));
    found & _mm512_cmplt_epu8_mask(octets, all(0x20))
}

/// The octets that are sent as two.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn escaped<const MAP: bool>(octets: __m512i, accm: Accm) -> u64 {
    // 0x7D and 0x7E are neighbours.
    let two = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(octets, all(ESCAPE)), all(2));
    if MAP { two | controls(octets, accm) } else { two }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn complement(octets: __m512i, which: u64) -> __m512i {
    _mm512_xor_si512(octets, _mm512_maskz_mov_epi8(which, all(COMPLEMENT)))
}

/// How many of `octets` are sent as two.
#[target_feature(enable = "bmi2,popcnt,avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
pub(super) fn escapes(octets: &[u8], accm: Accm) -> usize {
    if accm == Accm::NONE { count::<false>(octets, accm) } else { count::<true>(octets, accm) }
}

#[inline]
#[target_feature(enable = "bmi2,popcnt,avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn count<const MAP: bool>(octets: &[u8], accm: Accm) -> usize {
    let (vectors, tail) = octets.as_chunks::<V>();
    let mut total = 0;
    for vector in vectors {
        total += u64::from(escaped::<MAP>(load(vector), accm).count_ones());
    }
    if !tail.is_empty() {
        let found = escaped::<MAP>(load_part(tail), accm) & lowest(tail.len());
        total += u64::from(found.count_ones());
    }
    usize::try_from(total).unwrap_or(usize::MAX)
}

/// Where the next octets go.
struct OutputCursor<'a> {
    room: &'a mut [MaybeUninit<u8>],
    at: usize,
}

impl OutputCursor<'_> {
    /// Writes whole vectors as long as nothing in them is escaped, and gives what is left.
    #[inline]
    #[target_feature(enable = "popcnt,avx512f,avx512bw,avx512vbmi")]
    fn put_clean<'a, const MAP: bool>(&mut self, octets: &'a [u8], accm: Accm) -> &'a [u8] {
        let mut rest = octets;
        while let Some((block, behind)) = rest.split_first_chunk() {
            let vector = load(block);
            if escaped::<MAP>(vector, accm) != 0 {
                break;
            }
            self.put(vector, V);
            rest = behind;
        }
        rest
    }

    /// Writes 64 octets of which `len` count. Whoever makes room is asked for twice the octets and 64 more.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn put(&mut self, vector: __m512i, len: usize) {
        let to = self.room.get_mut(self.at..).and_then(|room| room.first_chunk_mut());
        store(to.expect("no room for a vector"), vector);
        self.at += len;
    }
}

/// As an index; never more than 64.
#[inline]
#[target_feature(enable = "popcnt")]
fn ones(mask: u64) -> usize {
    mask.count_ones() as usize
}

/// Writes the transparent form to the beginning of `room`, and gives its length.
///
/// # Panics
///
/// If the room is less than twice the octets and [`super::SLACK`] more.
#[target_feature(enable = "bmi2,popcnt,avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
pub(super) fn stuff(octets: &[u8], accm: Accm, room: &mut [MaybeUninit<u8>]) -> usize {
    if accm == Accm::NONE { stuff_all::<false>(octets, accm, room) } else { stuff_all::<true>(octets, accm, room) }
}

#[inline]
#[target_feature(enable = "bmi2,popcnt,avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn stuff_all<const MAP: bool>(octets: &[u8], accm: Accm, room: &mut [MaybeUninit<u8>]) -> usize {
    let mut to = OutputCursor { room, at: 0 };
    let mut rest = octets;
    loop {
        rest = to.put_clean::<MAP>(rest, accm);
        if rest.is_empty() {
            return to.at;
        }
        let (vector, len) = first(rest);
        let found = escaped::<MAP>(vector, accm) & lowest(len);
        stuff_vector(vector, found, len, &mut to);
        rest = rest.get(V..).unwrap_or_default();
    }
}

/// Writes the transparent form of the first `len` octets of a vector.
#[inline]
#[target_feature(enable = "bmi2,popcnt,avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn stuff_vector(vector: __m512i, escaped: u64, len: usize, to: &mut OutputCursor<'_>) {
    if escaped == 0 {
        to.put(vector, len);
        return;
    }
    let vector = complement(vector, escaped);
    // Each half with an escape before each octet, of which those are kept that are wanted.
    let (first, second) = (escaped & lowest(32), escaped >> 32);
    let lower = doubled(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(vector)));
    to.put(keep(lower, first), len.min(32) + ones(first));
    if len > 32 {
        let upper = doubled(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(vector)));
        to.put(keep(upper, second), len - 32 + ones(second));
    }
}

/// From octets as words of 16 bits to an escape and the octet, in memory's order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn doubled(words: __m512i) -> __m512i {
    _mm512_or_si512(_mm512_slli_epi16::<8>(words), _mm512_set1_epi16(ESCAPE as i16))
}

/// All octets and the escapes of those that `escaped` names.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw,avx512vbmi2")]
fn keep(doubled: __m512i, escaped: u64) -> __m512i {
    const ESCAPES: u64 = 0x5555_5555_5555_5555;
    _mm512_maskz_compress_epi8(!ESCAPES | _pdep_u64(escaped, ESCAPES), doubled)
}

/// Writes plain octets, at most `limit`, to the beginning of `room`, up to a flag or to the end of the octets, or until
/// those of a vector would not fit.
///
/// # Panics
///
/// If the room is less than `limit` and [`super::SLACK`] more.
#[target_feature(enable = "bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
pub(super) fn unstuff(octets: &[u8], accm: Accm, escape: &mut bool, limit: usize, room: &mut [MaybeUninit<u8>]) -> Run {
    if accm == Accm::NONE {
        unstuff_all::<false>(octets, accm, escape, limit, room)
    } else {
        unstuff_all::<true>(octets, accm, escape, limit, room)
    }
}

#[inline]
#[target_feature(enable = "bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn unstuff_all<const MAP: bool>(
    octets: &[u8],
    accm: Accm,
    escape: &mut bool,
    limit: usize,
    room: &mut [MaybeUninit<u8>],
) -> Run {
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
            let special = escaped::<MAP>(vector, accm);
            if special == 0 && !pending {
                to.put(vector, V);
            } else {
                let found = _mm512_cmpeq_epi8_mask(vector, all(ESCAPE));
                if special != found {
                    break;
                }
                // Senders do not escape escapes.
                let doubled = found & (found << 1 | u64::from(pending)) != 0;
                let standing = if doubled { standing(found, pending) } else { found };
                let complemented = (standing << 1) | u64::from(pending);
                to.put(_mm512_maskz_compress_epi8(!standing, complement(vector, complemented)), V - ones(standing));
                pending = standing >> (V - 1) & 1 == 1;
            }
            rest = behind;
        }
        if rest.is_empty() {
            break;
        }
        let (vector, len) = first(rest);
        let Some((place, still)) = unstuff_vector::<MAP>(vector, len, accm, pending, limit, &mut to) else {
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
#[target_feature(enable = "bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn unstuff_vector<const MAP: bool>(
    vector: __m512i,
    len: usize,
    accm: Accm,
    pending: bool,
    limit: usize,
    to: &mut OutputCursor<'_>,
) -> Option<(usize, bool)> {
    let flags = _mm512_cmpeq_epi8_mask(vector, all(FLAG));
    // Zeros behind a part are no flags, and without one this is 64.
    let flag = flags.trailing_zeros() as usize;
    let (mut vector, mut len) = (vector, len.min(flag));
    if MAP {
        let removed = controls(vector, accm) & lowest(len);
        if removed != 0 {
            vector = _mm512_maskz_compress_epi8(!removed, vector);
            len -= ones(removed);
        }
    }
    let found = _mm512_cmpeq_epi8_mask(vector, all(ESCAPE)) & lowest(len);
    if found == 0 && !pending {
        if to.at + len > limit {
            return None;
        }
        to.put(vector, len);
        return Some((flag, false));
    }
    let standing = standing(found, pending);
    let kept = len - ones(standing);
    if to.at + kept > limit {
        return None;
    }
    let complemented = (standing << 1) | u64::from(pending);
    to.put(_mm512_maskz_compress_epi8(!standing, complement(vector, complemented)), kept);
    let still = pending_behind(found, len, pending);
    Some((flag, still))
}
