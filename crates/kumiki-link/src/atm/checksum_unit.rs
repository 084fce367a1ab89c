//! A checksum on the fly for each virtual channel.
//!
//! | | |
//! |---|---|
//! | Specification | paper 2, section 3.2 (VC-wise on-the-fly checksum) |
//! | Model | cells of different channels arrive interleaved; a register per channel is loaded at the beginning of a transfer to memory, takes in the transferred octets, and is stored at its end |
//! | Left out | nothing costs time here: the unit watches the bus while the transfer happens anyway |

use std::collections::BTreeMap;

use kumiki_octets::{Message, Sum};

/// A virtual channel, as path and channel identifier.
type Vc = (u16, u16);

/// What has been summed of a PDU.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    sum: Sum,
    octets: usize,
}

/// The registers, by virtual channel.
#[derive(Clone, Debug, Default)]
pub struct ChecksumUnit {
    registers: BTreeMap<Vc, Register>,
    transfers: u64,
    octets: u64,
}

impl ChecksumUnit {
    /// Takes in the octets of one transfer for the channel `vpi`, `vci`.
    pub fn transfer(&mut self, vpi: u16, vci: u16, octets: &mut Message) {
        let register = self.registers.entry((vpi, vci)).or_default();
        register.sum = register.sum.then(register.octets, octets.sum());
        register.octets += octets.len();
        self.transfers += 1;
        self.octets += octets.len() as u64;
    }

    /// Reads the channel's register and clears it; `None` where nothing has been transferred since it was last cleared.
    pub fn take(&mut self, vpi: u16, vci: u16) -> Option<Sum> {
        self.registers.remove(&(vpi, vci)).map(|register| register.sum)
    }

    /// How many transfers there were, and of how many octets.
    #[must_use]
    pub const fn taken(&self) -> (u64, u64) {
        (self.transfers, self.octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_channels_keep_their_own_sums() {
        let mut unit = ChecksumUnit::default();
        let (a, b) = (b"a channel with odd length.", b"and another one");
        for k in 0..6 {
            for (vci, all) in [(1, &a[..]), (2, &b[..])] {
                let part: Vec<_> = all.iter().skip(k * 5).take(5).copied().collect();
                unit.transfer(0, vci, &mut Message::from_octets(&part));
            }
        }
        assert_eq!(unit.take(0, 1), Some(Sum::of(a)));
        assert_eq!(unit.take(0, 2), Some(Sum::of(b)));
        assert_eq!(unit.take(0, 1), None);
    }
}
