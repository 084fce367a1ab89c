//! AAL5 PDUs from cells, for each virtual channel of each interface on its own (ITU-T I.363.5, receiver).
//!
//! Nothing is judged here: a PDU is what came up to a cell that ends one. Whether cells were lost shows in its trailer.

use std::collections::BTreeMap;

use kumiki_wire::atm::aal5::{MAX_SDU, cells};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use super::{UnfinishedPdu, noted};
use crate::key::Circuit;

/// Channels with an unfinished PDU at a time.
pub const MOST_CIRCUITS: usize = 1024;
/// Cells of the longest PDU: 1366.
pub const MOST_CELLS: usize = cells(MAX_SDU);

/// What a cell led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Aal5Progress {
    /// The PDU has so many cells now.
    Waiting { cells: usize },
    /// So many cells came without an end in time; their octets are not kept.
    TooLong { cells: usize },
    /// The PDU has ended.
    Whole { octets: Vec<u8>, cells: usize, packets: Vec<u64> },
}

#[derive(Debug, Default)]
struct Partial {
    octets: Vec<u8>,
    cells: usize,
    packets: Vec<u64>,
    /// The count of cells, over all channels, when one came here last.
    touched: u64,
}

impl Partial {
    /// A vector that grows by itself takes up to twice what it holds; this one ends at the longest PDU.
    fn keep(&mut self, payload: &[u8]) {
        let len = self.octets.len();
        if self.octets.capacity() - len < payload.len() {
            let most = (MOST_CELLS * PAYLOAD_LEN).saturating_sub(len);
            self.octets.reserve_exact(len.max(PAYLOAD_LEN).min(most));
        }
        self.octets.extend_from_slice(payload);
    }
}

/// All channels with an unfinished PDU.
#[derive(Debug, Default)]
pub(crate) struct Circuits {
    partial: BTreeMap<Circuit, Partial>,
    clock: u64,
}

impl Circuits {
    /// Takes the payload of a user cell; `ends` says that it is the last of a PDU. Also gives the channel whose PDU was
    /// given up to make room.
    pub(crate) fn add(
        &mut self,
        circuit: Circuit,
        payload: &[u8; PAYLOAD_LEN],
        ends: bool,
        packet: u64,
    ) -> (Aal5Progress, Option<Circuit>) {
        self.clock = self.clock.saturating_add(1);
        let given_up = if self.partial.contains_key(&circuit) { None } else { self.make_room() };
        let partial = self.partial.entry(circuit).or_default();
        partial.touched = self.clock;
        partial.cells = partial.cells.saturating_add(1);
        noted(&mut partial.packets, packet);
        let cells = partial.cells;
        if cells > MOST_CELLS {
            partial.octets = Vec::new();
            if ends {
                self.partial.remove(&circuit);
            }
            return (Aal5Progress::TooLong { cells }, given_up);
        }
        partial.keep(payload);
        if !ends {
            return (Aal5Progress::Waiting { cells }, given_up);
        }
        let Partial { octets, packets, .. } = self.partial.remove(&circuit).unwrap_or_default();
        let whole = Aal5Progress::Whole { octets, cells, packets };
        (whole, given_up)
    }

    fn make_room(&mut self) -> Option<Circuit> {
        if self.partial.len() < MOST_CIRCUITS {
            return None;
        }
        let oldest = self.partial.iter().min_by_key(|(_, partial)| partial.touched).map(|(circuit, _)| *circuit)?;
        self.partial.remove(&oldest);
        Some(oldest)
    }

    pub(crate) fn unfinished(&self) -> impl Iterator<Item = UnfinishedPdu> {
        self.partial.iter().map(|(circuit, partial)| UnfinishedPdu {
            what: circuit.name(),
            parts: partial.cells,
            octets: partial.cells.saturating_mul(PAYLOAD_LEN),
            first_packet: partial.packets.first().copied().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circuit(vci: u16) -> Circuit {
        Circuit { interface: 0, vpi: 0, vci }
    }

    #[test]
    fn channels_do_not_mix() {
        let mut circuits = Circuits::default();
        let waiting = |cells| (Aal5Progress::Waiting { cells }, None);
        assert_eq!(circuits.add(circuit(1), &[1; 48], false, 1), waiting(1));
        assert_eq!(circuits.add(circuit(2), &[2; 48], false, 2), waiting(1));
        let whole = Aal5Progress::Whole { octets: [[1; 48], [3; 48]].concat(), cells: 2, packets: vec![1, 3] };
        assert_eq!(circuits.add(circuit(1), &[3; 48], true, 3), (whole, None));
        assert_eq!(circuits.unfinished().count(), 1);
    }

    #[test]
    fn a_pdu_without_end_takes_no_more_memory_than_the_longest() {
        let mut circuits = Circuits::default();
        for _ in 0..MOST_CELLS {
            circuits.add(circuit(1), &[0; 48], false, 1);
        }
        for cells in MOST_CELLS + 1..MOST_CELLS + 10 {
            let (outcome, _) = circuits.add(circuit(1), &[0; 48], false, 1);
            assert_eq!(outcome, Aal5Progress::TooLong { cells });
        }
        circuits.add(circuit(1), &[0; 48], true, 1);
        assert_eq!(circuits.unfinished().count(), 0);
    }

    #[test]
    fn the_channel_touched_longest_ago_is_given_up() {
        let mut circuits = Circuits::default();
        for vci in 0..1024 {
            circuits.add(circuit(vci), &[0; 48], false, 1);
        }
        circuits.add(circuit(0), &[0; 48], false, 1);
        let (_, given_up) = circuits.add(circuit(5000), &[0; 48], false, 1);
        assert_eq!(given_up, Some(circuit(1)));
        assert_eq!(circuits.unfinished().count(), MOST_CIRCUITS);
    }
}
