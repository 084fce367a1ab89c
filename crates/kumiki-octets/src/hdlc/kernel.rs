//! How octets are stuffed and unstuffed.
//!
//! Who sends the octets chooses them, so no content may be much slower than another (RFC 2615, section 6, on what a
//! user can do with chosen octets). Hence every form treats a block that is not clean without a branch that depends on
//! where its octets are.
//!
//! Measured on one core of a shared Xeon virtual machine by `kumiki-bench kernels`, in GB/s (1e9 octets, before
//! stuffing) with frames of 1500 octets; a copy took 109 in the same run. ttcp's octets are escaped in two of 95; text
//! and zeros have none that are.
//!
//! | | random | ttcp | text | flags only |
//! |---|---|---|---|---|
//! | stuff: plain loop | 1.1 | 1.2 | 1.2 | 0.76 |
//! | portable | 3.4 | 3.1 | 4.0 | 0.74 |
//! | AVX2 | 10 | 7.0 | 26 | 3.1 |
//! | AVX-512 VBMI2 | 22 | 15 | 49 | 11 |
//! | count: plain loop | 1.7 | 1.7 | 1.7 | 1.7 |
//! | portable | 24 | 23 | 24 | 23 |
//! | AVX2 | 38 | 37 | 38 | 38 |
//! | AVX-512 VBMI2 | 89 | 86 | 88 | 86 |
//! | unstuff: plain loop | 0.5 | 0.6 | 1.0 | 0.5 |
//! | portable | 2.3 | 2.0 | 3.1 | 0.25 |
//! | AVX2 | 12 | 8.0 | 18 | 2.3 |
//! | AVX-512 VBMI2 | 28 | 22 | 34 | 8.6 |
//!
//! With frames of 64 octets the call counts: 7 to stuff, 22 to count, 4 to unstuff. Flags only are as slow as it gets,
//! since as many octets again come from the line or go to it.

use super::{Accm, COMPLEMENT, ESCAPE, FLAG, Stop, Unstuffed};
use crate::Form;
use crate::form::{Kind, Work};

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector loads and stores take pointers")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod masks;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "vector loads and stores take pointers")]
mod vbmi2;

/// Octets for which room is made at a time, so that a long clean run does not reserve twice its length.
#[cfg(target_arch = "x86_64")]
const PIECE: usize = 4096;

/// Octets that a vector form may write behind those that count.
#[cfg(target_arch = "x86_64")]
const SLACK: usize = 64;

/// A vector form's part of the work.
#[cfg(target_arch = "x86_64")]
struct Run {
    taken: usize,
    /// Octets of the room that hold plain octets now.
    written: usize,
    /// Whether the last octet taken is a flag.
    flag: bool,
}

/// How many of `octets` are sent as two.
pub(super) fn escapes(form: Form, octets: &[u8], accm: Accm) -> usize {
    match form.kind() {
        Kind::Portable => escapes_portable(octets, accm),
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the vector instructions may be called only where they exist")]
        // SAFETY: a form of this kind exists only where its instructions were detected.
        Kind::Avx2 => unsafe { avx2::escapes(octets, accm) },
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the vector instructions may be called only where they exist")]
        // SAFETY: a form of this kind exists only where its instructions were detected.
        Kind::Vbmi2 => unsafe { vbmi2::escapes(octets, accm) },
    }
}

fn escapes_portable(octets: &[u8], accm: Accm) -> usize {
    if accm == Accm::NONE {
        // As many as an octet can count, so that the compiler makes narrow vectors of it.
        return octets
            .chunks(255)
            .map(|chunk| {
                let count = chunk.iter().fold(0_u8, |count, octet| count + u8::from(matches!(*octet, FLAG | ESCAPE)));
                usize::from(count)
            })
            .sum();
    }
    octets.iter().filter(|octet| accm.escapes(**octet)).count()
}

/// Appends the transparent form.
pub(super) fn stuff(form: Form, octets: &[u8], accm: Accm, out: &mut Vec<u8>) {
    #[cfg(target_arch = "x86_64")]
    if form != Form::PORTABLE {
        for piece in octets.chunks(PIECE) {
            out.reserve(2 * piece.len() + SLACK);
            let room = out.spare_capacity_mut();
            #[expect(
                unsafe_code,
                reason = "the vector instructions may be called only where they exist, and write to memory not initialized"
            )]
            let written = match form.kind() {
                Kind::Portable => 0,
                // SAFETY: a form of this kind exists only where its instructions were detected.
                Kind::Avx2 => unsafe { avx2::stuff(piece, accm, room) },
                // SAFETY: as above.
                Kind::Vbmi2 => unsafe { vbmi2::stuff(piece, accm, room) },
            };
            let len = out.len() + written;
            debug_assert!(len <= out.capacity(), "more was written than there is room for");
            #[expect(unsafe_code, reason = "the octets behind the length were not initialized before")]
            // SAFETY: each kernel gives the number of octets of the room, from its beginning, that it has written.
            unsafe {
                out.set_len(len);
            }
        }
        return;
    }
    let _ = form;
    stuff_portable(octets, accm, out);
}

fn stuff_portable(octets: &[u8], accm: Accm, out: &mut Vec<u8>) {
    out.reserve(octets.len());
    let (eights, rest) = octets.as_chunks::<8>();
    for eight in eights {
        if is_clean(*eight, accm) {
            out.extend_from_slice(eight);
        } else {
            stuff_eight(*eight, accm, out);
        }
    }
    stuff_each(rest, accm, out);
}

/// Without a branch that depends on the octets.
fn stuff_eight(eight: [u8; 8], accm: Accm, out: &mut Vec<u8>) {
    let (mut stuffed, mut len) = ([0; 16], 0_usize);
    for octet in eight {
        let escaped = accm.escapes(octet);
        // Written in any case, and overwritten where it is not wanted.
        if let Some(place) = stuffed.get_mut(len) {
            *place = ESCAPE;
        }
        len += usize::from(escaped);
        if let Some(place) = stuffed.get_mut(len) {
            *place = octet ^ (u8::from(escaped) * COMPLEMENT);
        }
        len += 1;
    }
    append(&stuffed, len, out);
}

/// Appends the first `len` octets. To append all and take the others away again costs less than a copy of any length.
fn append<const N: usize>(octets: &[u8; N], len: usize, out: &mut Vec<u8>) {
    let end = out.len() + len.min(N);
    out.extend_from_slice(octets);
    out.truncate(end);
}

/// The loop that all others are compared with.
fn stuff_each(octets: &[u8], accm: Accm, out: &mut Vec<u8>) {
    for octet in octets {
        if accm.escapes(*octet) {
            out.extend_from_slice(&[ESCAPE, octet ^ COMPLEMENT]);
        } else {
            out.push(*octet);
        }
    }
}

/// The same octet eight times.
const fn eight_times(octet: u8) -> u64 {
    u64::from_ne_bytes([octet; 8])
}

/// Whether none of eight octets is a flag, an escape, or, where there is a map, below 0x20.
fn is_clean(eight: [u8; 8], accm: Accm) -> bool {
    let word = u64::from_ne_bytes(eight);
    // The top bit of an octet of the result is 1 if some octet is below `limit`, at most 0x80. It may be 1 in a higher
    // octet too.
    let below = |word: u64, limit: u8| word.wrapping_sub(eight_times(limit)) & !word & eight_times(0x80);
    let found = below(word ^ eight_times(FLAG), 1) | below(word ^ eight_times(ESCAPE), 1);
    let controls = if accm == Accm::NONE { 0 } else { below(word, 0x20) };
    found | controls == 0
}

/// How many whole blocks of flags come first.
pub(super) struct BlocksOfFlags<'a>(pub(super) &'a [[u8; 64]]);

impl Work for BlocksOfFlags<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let flags = |block: &[u8; 64]| block.iter().fold(0, |other, octet| other | (octet ^ FLAG)) == 0;
        self.0.iter().take_while(|block| flags(block)).count()
    }
}

/// Appends the plain form, until something stops it.
pub(super) fn unstuff(
    form: Form,
    escape: &mut bool,
    octets: &[u8],
    accm: Accm,
    limit: usize,
    out: &mut Vec<u8>,
) -> Unstuffed {
    #[cfg(not(target_arch = "x86_64"))]
    let taken = 0;
    #[cfg(target_arch = "x86_64")]
    let mut taken = 0;
    #[cfg(target_arch = "x86_64")]
    if form != Form::PORTABLE {
        while let Some(rest) = octets.get(taken..).filter(|rest| !rest.is_empty()) {
            let room = limit.saturating_sub(out.len()).min(rest.len()).min(PIECE);
            out.reserve(room + SLACK);
            let to = out.spare_capacity_mut();
            #[expect(unsafe_code, reason = "the vector instructions may be called only where they exist")]
            let run = match form.kind() {
                Kind::Portable => break,
                // SAFETY: a form of this kind exists only where its instructions were detected.
                Kind::Avx2 => unsafe { avx2::unstuff(rest, accm, escape, room, to) },
                // SAFETY: as above.
                Kind::Vbmi2 => unsafe { vbmi2::unstuff(rest, accm, escape, room, to) },
            };
            let len = out.len() + run.written;
            debug_assert!(len <= out.capacity(), "more was written than there is room for");
            #[expect(unsafe_code, reason = "the octets behind the length were not initialized before")]
            // SAFETY: each kernel gives the number of octets of the room, from its beginning, that it has written.
            unsafe {
                out.set_len(len);
            }
            taken += run.taken;
            if run.flag {
                let stop = if core::mem::take(escape) { Stop::Abort } else { Stop::Flag };
                return Unstuffed { taken, stop };
            }
            if run.taken == 0 {
                // The next block may not fit: octet by octet.
                break;
            }
        }
    }
    let _ = form;
    let rest = octets.get(taken..).unwrap_or_default();
    let Unstuffed { taken: more, stop } = unstuff_portable(escape, rest, accm, limit, out);
    Unstuffed { taken: taken + more, stop }
}

fn unstuff_portable(escape: &mut bool, octets: &[u8], accm: Accm, limit: usize, out: &mut Vec<u8>) -> Unstuffed {
    let mut rest = octets;
    while let Some((eight, behind)) = rest.split_first_chunk::<8>()
        && out.len().saturating_add(8) <= limit
    {
        if !*escape && is_clean(*eight, accm) {
            out.extend_from_slice(eight);
        } else if eight.contains(&FLAG) {
            break;
        } else {
            unstuff_eight(escape, *eight, accm, out);
        }
        rest = behind;
    }
    let taken = octets.len() - rest.len();
    let Unstuffed { taken: more, stop } = unstuff_each(escape, rest, accm, limit, out);
    Unstuffed { taken: taken + more, stop }
}

/// Without a branch that depends on the octets, of which none may be a flag.
fn unstuff_eight(escape: &mut bool, eight: [u8; 8], accm: Accm, out: &mut Vec<u8>) {
    let (mut plain, mut len, mut pending) = ([0; 8], 0_usize, *escape);
    for octet in eight {
        let removed = accm.contains(octet);
        let escaping = octet == ESCAPE && !pending;
        if let Some(place) = plain.get_mut(len) {
            *place = octet ^ (u8::from(pending) * COMPLEMENT);
        }
        len += usize::from(!removed && !escaping);
        pending = escaping || (pending && removed);
    }
    *escape = pending;
    append(&plain, len, out);
}

/// The loop that all others are compared with.
fn unstuff_each(escape: &mut bool, octets: &[u8], accm: Accm, limit: usize, out: &mut Vec<u8>) -> Unstuffed {
    for (taken, octet) in octets.iter().enumerate() {
        match *octet {
            removed if accm.contains(removed) => {}
            FLAG => {
                let stop = if core::mem::take(escape) { Stop::Abort } else { Stop::Flag };
                return Unstuffed { taken: taken + 1, stop };
            }
            ESCAPE if !*escape => *escape = true,
            _ if out.len() >= limit => {
                return Unstuffed { taken, stop: Stop::Full };
            }
            octet => out.push(if core::mem::take(escape) { octet ^ COMPLEMENT } else { octet }),
        }
    }
    Unstuffed { taken: octets.len(), stop: Stop::End }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
