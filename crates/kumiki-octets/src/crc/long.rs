//! Long pieces, by carry-less multiplication: the register behind `octets`; `None` where the tables take less time.

use crc_fast::{CrcAlgorithm, Digest};

/// Piece length from which `crc-fast` is used: setting it up costs more than the tables need for less.
const LONG: usize = 128;

/// Piece lengths of FCS-32 from which on, and up to which, `crc32fast` is used: it costs less to set up and is slower
/// in the long run.
const TINY: usize = 16;
const MIDDLING: usize = 4096;

fn of(algorithm: CrcAlgorithm, register: u32, octets: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(algorithm, u64::from(register));
    digest.update(octets);
    let [a, b, c, d, ..] = digest.get_state().to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

pub(super) fn aal5(register: u32, octets: &[u8]) -> Option<u32> {
    (octets.len() >= LONG).then(|| of(CrcAlgorithm::Crc32Bzip2, register, octets))
}

pub(super) fn fcs16(register: u32, octets: &[u8]) -> Option<u32> {
    (octets.len() >= LONG).then(|| of(CrcAlgorithm::Crc16IbmSdlc, register, octets))
}

pub(super) fn fcs32(register: u32, octets: &[u8]) -> Option<u32> {
    match octets.len() {
        0..TINY => None,
        TINY..MIDDLING => {
            let mut hasher = crc32fast::Hasher::new_with_initial(!register);
            hasher.update(octets);
            Some(!hasher.finalize())
        }
        _ => Some(of(CrcAlgorithm::Crc32IsoHdlc, register, octets)),
    }
}
