//! From cells to SDUs.

use kumiki_wire::atm::cell::Vc;
use std::collections::BTreeMap;

use kumiki_graph::Instant;
use kumiki_octets::{Checksum, Message, Sum};
use kumiki_wire::atm::aal5::{self, Aal5Error};
use kumiki_wire::atm::cell::PAYLOAD_LEN;

use super::{HOST, MONITOR, SarConfig};
use crate::atm::ChecksumUnit;
use crate::{CellRun, Outlet, Unit};

/// A PDU of which not all cells have come.
#[derive(Default)]
struct Reassembly {
    octets: Option<Message>,
    /// It has grown too long: all is thrown away up to the end of the PDU.
    given_up: bool,
    /// How many of its cells have come.
    cells: u64,
    last_cell: Instant,
}

/// A run whose last cell has not come, or has not been looked at.
struct ArrivingRun {
    first: Instant,
    end: Instant,
    run: CellRun,
}

pub(super) struct Receiver {
    config: SarConfig,
    coming: Vec<ArrivingRun>,
    reassemblies: BTreeMap<(u16, u16), Reassembly>,
    checksums: ChecksumUnit,
    cells: u64,
    in_vain: u64,
    pdus: u64,
    crc: u64,
    length: u64,
    cpi: u64,
    abort: u64,
    oversize: u64,
    timeout: u64,
    no_context: u64,
}

impl Receiver {
    pub(super) fn new(config: SarConfig) -> Self {
        Self {
            config,
            coming: Vec::new(),
            reassemblies: BTreeMap::new(),
            checksums: ChecksumUnit::default(),
            cells: 0,
            in_vain: 0,
            pdus: 0,
            crc: 0,
            length: 0,
            cpi: 0,
            abort: 0,
            oversize: 0,
            timeout: 0,
            no_context: 0,
        }
    }

    /// The first cell of `run` has arrived.
    pub(super) fn offer(&mut self, now: Instant, run: CellRun, out: &mut Outlet) {
        self.poll(now, out);
        if run.count == 0 {
            return;
        }
        self.announce(&run, out);
        self.coming.push(ArrivingRun { first: now, end: run.end(now), run });
        self.poll(now, out);
    }

    fn announce(&self, run: &CellRun, out: &mut Outlet) {
        let (vpi, vci) = (run.vpi, run.vci);
        if self.config.announce
            && !self.reassemblies.contains_key(&(vpi, vci))
            && self.reassemblies.len() < self.config.max_reassemblies
        {
            let head = run.payload.share(0, PAYLOAD_LEN).unwrap_or_default();
            let address = Vc { vpi, vci }.address();
            out.put(HOST, Unit::Arriving { address, head });
        }
    }

    pub(super) fn cut(&mut self, id: u64, keep: u32) {
        if let Some(coming) = self.coming.iter_mut().find(|coming| coming.run.id == id) {
            coming.run.truncate(keep);
            coming.end = coming.run.end(coming.first);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.coming.iter().map(|coming| coming.end).min()
    }

    pub(super) fn poll(&mut self, now: Instant, out: &mut Outlet) {
        // Cells of a line follow each other, so there is more than one run only where something brought them out of
        // order.
        while let Some((at, _)) =
            self.coming.iter().enumerate().filter(|(_, coming)| coming.end <= now).min_by_key(|(_, coming)| coming.end)
        {
            let coming = self.coming.remove(at);
            self.take(coming, out);
        }
    }

    /// All cells of a run have arrived.
    fn take(&mut self, coming: ArrivingRun, out: &mut Outlet) {
        let ArrivingRun { first, end, mut run } = coming;
        self.cells += u64::from(run.count);
        let vc = (run.vpi, run.vci);
        let full = self.reassemblies.len() >= self.config.max_reassemblies;
        if full && !self.reassemblies.contains_key(&vc) {
            self.no_context += u64::from(run.count);
            self.in_vain += u64::from(run.count);
            return;
        }
        let pdu = self.reassemblies.entry(vc).or_default();
        if let Some(timeout) = self.config.timeout
            && !pdu.given_up
            && pdu.octets.is_some()
            && first.saturating_since(pdu.last_cell) > timeout
        {
            self.in_vain += pdu.cells;
            *pdu = Reassembly::default();
            self.checksums.take(run.vpi, run.vci);
            self.timeout += 1;
        }
        pdu.last_cell = end;
        pdu.cells += u64::from(run.count);
        if !pdu.given_up {
            if self.config.checksum_unit {
                self.checksums.transfer(run.vpi, run.vci, &mut run.payload);
            }
            let octets = match &mut pdu.octets {
                Some(octets) => {
                    octets.append(run.payload);
                    octets
                }
                none => none.insert(run.payload),
            };
            if octets.len() > aal5::pdu_len(self.config.max_sdu) {
                pdu.octets = None;
                pdu.given_up = true;
                self.oversize += 1;
            }
        }
        if run.ends_pdu
            && let Some(pdu) = self.reassemblies.remove(&vc)
        {
            let sum = self.checksums.take(run.vpi, run.vci);
            if !pdu.octets.is_some_and(|octets| self.judge(vc, octets, sum, out)) {
                self.in_vain += pdu.cells;
            }
        }
    }

    /// Hands on what is whole; whether it was.
    fn judge(&mut self, vc: (u16, u16), mut pdu: Message, sum: Option<Sum>, out: &mut Outlet) -> bool {
        let (vpi, vci) = vc;
        let address = Vc { vpi, vci }.address();
        if self.config.monitor {
            let data = pdu.clone();
            out.put(MONITOR, Unit::Frame { data, address });
        }
        pdu.meta_mut().checksum = sum.map_or(Checksum::Unknown, Checksum::Sum);
        let delivered = self.pdus;
        match aal5::sdu(pdu, self.config.crc) {
            Ok(sdu) if sdu.len() > self.config.max_sdu => self.oversize += 1,
            Ok(data) => {
                self.pdus += 1;
                out.put(HOST, Unit::Frame { data, address });
            }
            Err(Aal5Error::Crc { .. }) => self.crc += 1,
            Err(Aal5Error::Length { .. }) => self.length += 1,
            Err(Aal5Error::Cpi { .. }) => self.cpi += 1,
            Err(Aal5Error::Abort) => self.abort += 1,
        }
        self.pdus > delivered
    }

    pub(super) fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("cells_in", self.cells),
            ("cells_in_vain", self.in_vain),
            ("pdus_in", self.pdus),
            ("crc", self.crc),
            ("length", self.length),
            ("cpi", self.cpi),
            ("abort", self.abort),
            ("oversize", self.oversize),
            ("timeout", self.timeout),
            ("no_context", self.no_context),
        ]
    }
}
