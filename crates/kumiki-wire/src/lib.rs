//! Octets to headers and back, a folder and a feature per family and one file per protocol. No state, no time, no I/O.
//!
//! A header arrives in front of content that may be held elsewhere, so every protocol has the same four:
//!
//! | Function | Contract |
//! |---|---|
//! | `Header::parse(front, total)` | `front`: the octets that lie together at the front, at least the header. `total`: length of the whole PDU as delivered. Gives the header and its length. Protocols without a length of their own take `front` alone |
//! | `Header::len()` | octets that `emit` writes |
//! | `Header::emit(out)` | writes exactly `len()` octets; checksum fields as given. Never fails: bits that a field cannot hold are left out |
//! | `Display` | one line, as a sniffer would print it |
//!
//! `parse` never panics, whatever the octets, and refuses with [`Malformed`]. Sums over the content belong to whoever
//! holds the content; what this crate can sum (an IPv4 header, a cell header) it does.
//!
//! The control PDUs of the OSI layers are small and read from one piece into types that own what they say; what carries
//! user data there works on a `Message`, so that no content octet moves.
//!
//! `out` of another length than `len()` is a mistake of the caller: debug builds stop there, release builds write what
//! fits.

#[cfg(feature = "atm")]
pub mod atm;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "inet")]
pub mod inet;
pub mod numbering;
#[cfg(feature = "osi")]
pub mod osi;
#[cfg(feature = "ppp")]
pub mod ppp;
#[cfg(feature = "x25")]
pub mod x25;
#[cfg(feature = "xtp")]
pub mod xtp;

#[cfg(any(feature = "inet", feature = "xtp"))]
mod flags;
#[cfg(any(feature = "inet", feature = "xtp"))]
mod layout;
mod malformed;

#[cfg(any(feature = "inet", feature = "xtp"))]
pub use layout::Field;
pub use malformed::Malformed;

/// Writes `octets` at the front of `out` and moves `out` past them.
#[cfg(any(feature = "inet", feature = "x25", feature = "xtp"))]
pub(crate) fn put<const N: usize>(out: &mut &mut [u8], octets: [u8; N]) {
    let here = core::mem::take(out);
    let have = here.len();
    let Some((field, rest)) = here.split_first_chunk_mut::<N>() else {
        debug_assert!(have >= N, "emit was given too little room: {have} octets left, {N} needed");
        return;
    };
    *field = octets;
    *out = rest;
}

/// Writes a run of octets whose length is known only at run time; otherwise as [`put`].
#[cfg(any(feature = "inet", feature = "x25", feature = "xtp"))]
pub(crate) fn put_slice(out: &mut &mut [u8], octets: &[u8]) {
    let here = core::mem::take(out);
    let have = here.len();
    let Some((field, rest)) = here.split_at_mut_checked(octets.len()) else {
        debug_assert!(have >= octets.len(), "emit was given too little room: {have} octets left");
        return;
    };
    field.copy_from_slice(octets);
    *out = rest;
}
