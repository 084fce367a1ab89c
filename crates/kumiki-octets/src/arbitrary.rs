//! Octets for property tests.

use core::ops::Range;

use proptest::prelude::*;

/// So many octets of any value. Fewer are tried where a test fails, but not others: a value of its own for each octet,
/// which the library offers, takes most of the time of a test of some thousand, and of a few dozen under Miri.
pub(crate) fn octets(len: Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    len.prop_perturb(|len, mut random| {
        let mut octets = vec![0; len];
        random.fill_bytes(&mut octets);
        octets
    })
}
