//! From cells to SDUs, by channel and MID.
//!
//! Every cell says itself whether a PDU begins or ends with it, so a run of cells may hold any number of PDUs and parts
//! of such. Cells are taken when they have arrived, one by one; the receiver wakes up only for those with which
//! something leaves it, and for the last of a run.

use kumiki_wire::atm::cell::Vc;
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::atm::aal34::sar::{self, SegmentType};
use kumiki_wire::atm::aal34::{self, cpcs};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use super::Aal34;
use crate::atm::sar::{HOST, MONITOR, SarConfig};
use crate::{CellRun, Outlet, Unit};

/// Whose PDU a cell belongs to: channel and MID.
type Key = (u16, u16, u16);

/// A PDU of which not all cells have come.
struct Reassembly {
    octets: Vec<u8>,
    /// Longer it cannot become.
    room: usize,
    /// SN of the next cell.
    next_sn: u8,
    last_cell: Instant,
    /// Of `octets`, where there is a checksum unit.
    sum: Sum,
}

/// A run of which not all cells have been taken.
struct ArrivingRun {
    first: Instant,
    /// Without its payload.
    run: CellRun,
    octets: Vec<u8>,
    /// The next cell to take.
    next: u32,
    /// When something is to be done about it.
    due: Instant,
}

impl ArrivingRun {
    fn cell(&self, k: u32) -> Option<&[u8; PAYLOAD_LEN]> {
        let (cells, _) = self.octets.as_chunks();
        cells.get(usize::try_from(k).ok()?)
    }

    fn look_ahead(&mut self, announce: bool) {
        let matters = |k: &u32| {
            let header = self.cell(*k).and_then(|cell| sar::Header::parse(cell).ok());
            header.is_some_and(|(header, _)| {
                let st = header.segment_type;
                st.ends() || announce && st.begins()
            })
        };
        let last = self.run.count.saturating_sub(1);
        let k = (self.next..last).find(matters).unwrap_or(last);
        self.due = self.run.arrival(self.first, k);
    }
}

/// What happened: see [`crate::atm::Sar`].
#[derive(Default)]
struct Counters {
    cells: u64,
    pdus: u64,
    sar_crc: u64,
    sar_length: u64,
    sequence: u64,
    stray: u64,
    unfinished: u64,
    abort: u64,
    tag: u64,
    ba_size: u64,
    length: u64,
    cpi: u64,
    alignment: u64,
    oversize: u64,
    timeout: u64,
    no_context: u64,
}

pub(in crate::atm::sar) struct Receiver {
    config: SarConfig,
    aal34: Aal34,
    coming: Vec<ArrivingRun>,
    reassemblies: BTreeMap<Key, Reassembly>,
    count: Counters,
}

impl Receiver {
    pub(in crate::atm::sar) fn new(config: SarConfig, aal34: Aal34) -> Self {
        Self { config, aal34, coming: Vec::new(), reassemblies: BTreeMap::new(), count: Counters::default() }
    }

    /// The first cell of `run` has arrived.
    pub(in crate::atm::sar) fn offer(&mut self, now: Instant, mut run: CellRun, out: &mut Outlet) {
        self.poll(now, out);
        if run.count == 0 {
            return;
        }
        let octets = core::mem::take(&mut run.payload).to_vec();
        let mut coming = ArrivingRun { first: now, run, octets, next: 0, due: now };
        coming.look_ahead(self.config.announce);
        self.coming.push(coming);
        self.poll(now, out);
    }

    pub(in crate::atm::sar) fn cut(&mut self, id: u64, keep: u32) {
        let announce = self.config.announce;
        let found = self.coming.iter_mut().find(|coming| coming.run.id == id);
        if let Some(coming) = found {
            coming.run.count = coming.run.count.min(keep);
            coming.look_ahead(announce);
        }
        self.coming.retain(|coming| coming.next < coming.run.count);
    }

    pub(in crate::atm::sar) fn next_deadline(&self) -> Option<Instant> {
        self.coming.iter().map(|coming| coming.due).min()
    }

    pub(in crate::atm::sar) fn poll(&mut self, now: Instant, out: &mut Outlet) {
        let announce = self.config.announce;
        // Cells of a line follow each other, so there is more than one run only where something brought them out of
        // order.
        while let Some((at, number)) = self
            .coming
            .iter()
            .enumerate()
            .map(|(number, coming)| (coming.run.arrival(coming.first, coming.next), number))
            .min()
            .filter(|(at, _)| *at <= now)
        {
            let Some(coming) = self.coming.get_mut(number) else {
                return;
            };
            let cell = coming.cell(coming.next).copied();
            let vc = (coming.run.vpi, coming.run.vci);
            coming.next += 1;
            if coming.next >= coming.run.count {
                self.coming.remove(number);
            } else if at >= coming.due {
                coming.look_ahead(announce);
            }
            if let Some(cell) = cell {
                self.take(at, vc, &cell, out);
            }
        }
    }

    /// A cell of the channel `vc` has arrived at `at`.
    fn take(&mut self, at: Instant, vc: (u16, u16), cell: &[u8; PAYLOAD_LEN], out: &mut Outlet) {
        self.count.cells += 1;
        let (header, at_payload) = sar::Header::parse(cell).unwrap_or_default();
        let trailer = sar::Trailer::parse(cell).unwrap_or_default();
        let crc = if self.config.crc { sar::crc(cell) } else { trailer.crc };
        let (vpi, vci) = vc;
        let key = (vpi, vci, header.mid);
        let checked = trailer.check(header.segment_type, crc);
        if let Err(sar::SarError::Crc { .. }) = checked {
            // Whose it was cannot be known; SN will show that it is missing.
            self.count.sar_crc += 1;
            return;
        }
        self.expire(at, key);
        match checked {
            Ok(len) => {
                let octets = cell.get(at_payload..at_payload + len).unwrap_or_default();
                if header.segment_type.begins() {
                    self.begin(at, key, &header, octets, out);
                } else {
                    self.go_on(at, key, &header, octets, out);
                }
            }
            Err(sar::SarError::Abort) => {
                let in_flight = self.reassemblies.remove(&key).is_some();
                self.count.abort += u64::from(in_flight);
                self.count.stray += u64::from(!in_flight);
            }
            Err(sar::SarError::Crc { .. } | sar::SarError::Length { .. }) => {
                self.reassemblies.remove(&key);
                self.count.sar_length += 1;
            }
        }
    }

    /// Gives up what has stood still under `key` for too long.
    fn expire(&mut self, at: Instant, key: Key) {
        let stale = |pdu: &Reassembly| is_stale(pdu, at, self.config.timeout);
        if self.reassemblies.get(&key).is_some_and(stale) {
            self.reassemblies.remove(&key);
            self.count.timeout += 1;
        }
    }

    /// Whether another PDU may be in reassembly; those that have stood still for too long make room.
    fn has_context(&mut self, at: Instant) -> bool {
        let most = self.config.max_reassemblies;
        if self.reassemblies.len() >= most {
            let (before, timeout) = (self.reassemblies.len(), self.config.timeout);
            self.reassemblies.retain(|_, pdu| !is_stale(pdu, at, timeout));
            self.count.timeout += (before - self.reassemblies.len()) as u64;
        }
        self.reassemblies.len() < most
    }

    /// A PDU begins, and with an SSM ends.
    fn begin(&mut self, at: Instant, key: Key, header: &sar::Header, octets: &[u8], out: &mut Outlet) {
        if self.reassemblies.remove(&key).is_some() {
            self.count.unfinished += 1;
        }
        let whole = header.segment_type == SegmentType::Ssm;
        let mut room = aal34::pdu_len(self.config.max_sdu);
        if self.aal34.cpcs {
            let (front, _) = cpcs::Header::parse(octets).unwrap_or_default();
            if usize::from(front.ba_size) > self.config.max_sdu {
                self.count.oversize += 1;
                return;
            }
            room = cpcs::room(front.ba_size);
        }
        if !whole && !self.has_context(at) {
            self.count.no_context += 1;
            return;
        }
        let (vpi, vci, _) = key;
        if self.config.announce {
            let begin = if self.aal34.cpcs { cpcs::HEADER_LEN } else { 0 };
            let head = Message::from_octets(octets.get(begin..).unwrap_or_default());
            let address = Vc { vpi, vci }.address();
            out.put(HOST, Unit::Arriving { address, head });
        }
        let sum = if self.config.checksum_unit { Sum::of(octets) } else { Sum::default() };
        let pdu = Reassembly { octets: octets.to_vec(), room, next_sn: (header.sn + 1) % 16, last_cell: at, sum };
        if whole {
            self.judge(key, &pdu, out);
        } else {
            self.reassemblies.insert(key, pdu);
        }
    }

    /// A PDU goes on, and with an EOM ends.
    fn go_on(&mut self, at: Instant, key: Key, header: &sar::Header, octets: &[u8], out: &mut Outlet) {
        let Some(pdu) = self.reassemblies.get_mut(&key) else {
            self.count.stray += 1;
            return;
        };
        if pdu.next_sn != header.sn {
            self.reassemblies.remove(&key);
            self.count.sequence += 1;
            return;
        }
        pdu.next_sn = (header.sn + 1) % 16;
        pdu.last_cell = at;
        if self.config.checksum_unit {
            pdu.sum = pdu.sum.then(pdu.octets.len(), Sum::of(octets));
        }
        pdu.octets.extend_from_slice(octets);
        if pdu.octets.len() > pdu.room {
            self.reassemblies.remove(&key);
            if self.aal34.cpcs {
                self.count.ba_size += 1;
            } else {
                self.count.oversize += 1;
            }
        } else if header.segment_type.ends()
            && let Some(pdu) = self.reassemblies.remove(&key)
        {
            self.judge(key, &pdu, out);
        }
    }

    fn judge(&mut self, key: Key, found: &Reassembly, out: &mut Outlet) {
        let (vpi, vci, _) = key;
        let address = Vc { vpi, vci }.address();
        let mut pdu = Message::from_octets(&found.octets);
        if self.config.monitor {
            let data = pdu.clone();
            out.put(MONITOR, Unit::Frame { data, address });
        }
        if self.config.checksum_unit {
            pdu.meta_mut().checksum = Checksum::Sum(found.sum);
        }
        let judged = if self.aal34.cpcs { cpcs::sdu(pdu) } else { Ok(pdu) };
        let count = &mut self.count;
        match judged {
            Ok(data) => {
                count.pdus += 1;
                out.put(HOST, Unit::Frame { data, address });
            }
            Err(cpcs::CpcsError::Tag { .. }) => count.tag += 1,
            Err(cpcs::CpcsError::Cpi { .. }) => count.cpi += 1,
            Err(cpcs::CpcsError::Alignment { .. }) => count.alignment += 1,
            Err(cpcs::CpcsError::Length { .. }) => count.length += 1,
            Err(cpcs::CpcsError::BufferSize { .. }) => count.ba_size += 1,
        }
    }

    pub(in crate::atm::sar) fn counters(&self) -> Vec<(&'static str, u64)> {
        let count = &self.count;
        vec![
            ("cells_in", count.cells),
            ("pdus_in", count.pdus),
            ("sar_crc", count.sar_crc),
            ("sar_length", count.sar_length),
            ("sequence", count.sequence),
            ("stray", count.stray),
            ("unfinished", count.unfinished),
            ("abort", count.abort),
            ("tag", count.tag),
            ("ba_size", count.ba_size),
            ("length", count.length),
            ("cpi", count.cpi),
            ("alignment", count.alignment),
            ("oversize", count.oversize),
            ("timeout", count.timeout),
            ("no_context", count.no_context),
        ]
    }
}

fn is_stale(pdu: &Reassembly, at: Instant, timeout: Option<Duration>) -> bool {
    timeout.is_some_and(|timeout| at.saturating_since(pdu.last_cell) > timeout)
}
