//! Flow control negotiation: what may be agreed to.

/// A size of packets as its logarithm.
pub(super) fn log2(packet: u16) -> u8 {
    u8::try_from(packet.checked_ilog2().unwrap_or(7)).unwrap_or(7)
}

/// The size of packets of a logarithm; none where there is no such size.
pub(super) fn from_log2(log: u8) -> Option<u16> {
    (4..=12).contains(&log).then(|| 1 << log)
}

/// What is agreed to of `asked`, where `most` is wanted: no further from `standard` than asked.
pub(super) fn agree<T: Ord + Copy>(asked: T, most: T, standard: T) -> T {
    if asked > standard { asked.min(most.max(standard)) } else { asked }
}

/// Whether `agreed` lies between `asked` and the standard.
pub(super) fn is_between<T: Ord + Copy>(agreed: T, asked: T, standard: T) -> bool {
    (asked.min(standard)..=asked.max(standard)).contains(&agreed)
}
