//! AAL3/4 PDUs from segments, for each multiplexing identification of each virtual channel on its own (ITU-T I.363.3,
//! receiver; recalled).
//!
//! A PDU of which a segment is missing is given up at once: the sequence number tells.

use std::collections::BTreeMap;

use kumiki_octets::text::{are, counted};
use kumiki_wire::atm::aal34::sar::Header;
use kumiki_wire::atm::aal34::{MAX_SDU, pdu_len};

use super::{UnfinishedPdu, noted};
use crate::key::Circuit;

/// Unfinished PDUs at a time.
pub const MOST_PDUS: usize = 1024;
/// Octets of the longest PDU.
pub const MOST_OCTETS: usize = pdu_len(MAX_SDU);

/// What a segment led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Aal34Progress {
    /// The PDU goes on, or there is none.
    Waiting,
    /// The PDU has ended.
    Whole { octets: Vec<u8>, cells: usize, packets: Vec<u64> },
}

/// What a segment led to, and what was wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SegmentOutcome {
    pub(crate) outcome: Aal34Progress,
    /// What is missing.
    pub(crate) wrong: Option<String>,
    /// The channel whose PDU was given up to make room.
    pub(crate) given_up: Option<Circuit>,
}

#[derive(Debug, Default)]
struct Partial {
    octets: Vec<u8>,
    cells: usize,
    /// The sequence number of the next segment.
    sn: u8,
    packets: Vec<u64>,
    touched: u64,
}

/// All PDUs in progress.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    partial: BTreeMap<(Circuit, u16), Partial>,
    clock: u64,
}

impl Segments {
    /// Takes the octets of a segment whose sum is right.
    pub(crate) fn add(&mut self, circuit: Circuit, header: &Header, octets: &[u8], packet: u64) -> SegmentOutcome {
        self.clock = self.clock.saturating_add(1);
        let key = (circuit, header.mid);
        let mut came = SegmentOutcome { outcome: Aal34Progress::Waiting, wrong: None, given_up: None };
        let mut partial = if header.segment_type.begins() {
            if let Some(old) = self.partial.remove(&key) {
                came.wrong = Some(format!(
                    "the PDU before under MID {} ended after {} without its end",
                    header.mid,
                    counted(old.cells, "cell")
                ));
            }
            Partial::default()
        } else {
            let Some(partial) = self.partial.remove(&key) else {
                came.wrong = Some(format!("the beginning of the PDU under MID {} did not come", header.mid));
                return came;
            };
            if partial.sn != header.sn {
                let missing = header.sn.wrapping_sub(partial.sn) & 15;
                came.wrong = Some(format!(
                    "SN is {}, {} would be right: {} of the PDU {} missing, or so many less 16",
                    header.sn,
                    partial.sn,
                    counted(missing, "cell"),
                    are(missing)
                ));
                return came;
            }
            partial
        };
        partial.octets.extend_from_slice(octets);
        partial.cells = partial.cells.saturating_add(1);
        noted(&mut partial.packets, packet);
        if partial.octets.len() > MOST_OCTETS {
            came.wrong =
                Some(format!("{} and no end: a PDU has at most {MOST_OCTETS}", counted(partial.octets.len(), "octet")));
            return came;
        }
        if header.segment_type.ends() {
            came.outcome =
                Aal34Progress::Whole { octets: partial.octets, cells: partial.cells, packets: partial.packets };
            return came;
        }
        partial.sn = header.sn.wrapping_add(1) & 15;
        partial.touched = self.clock;
        came.given_up = self.make_room();
        self.partial.insert(key, partial);
        came
    }

    /// Its sender or a wrong length ended the PDU.
    pub(crate) fn give_up(&mut self, circuit: Circuit, mid: u16) {
        self.partial.remove(&(circuit, mid));
    }

    fn make_room(&mut self) -> Option<Circuit> {
        if self.partial.len() < MOST_PDUS {
            return None;
        }
        let oldest = self.partial.iter().min_by_key(|(_, partial)| partial.touched).map(|(key, _)| *key)?;
        self.partial.remove(&oldest);
        Some(oldest.0)
    }

    pub(crate) fn unfinished(&self) -> impl Iterator<Item = UnfinishedPdu> {
        self.partial.iter().map(|((circuit, mid), partial)| UnfinishedPdu {
            what: format!("AAL3/4 PDU on {circuit} under MID {mid}"),
            parts: partial.cells,
            octets: partial.octets.len(),
            first_packet: partial.packets.first().copied().unwrap_or_default(),
        })
    }
}
