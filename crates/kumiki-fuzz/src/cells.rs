//! Cells as two adapters send them, and what a line may do to them: what arrives is what was sent, or it is thrown
//! away.

use kumiki_wire::atm::cell::Vc;
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};
use kumiki_link::atm::sar::{self, Adaptation, aal34::Aal34};
use kumiki_link::atm::{Sar, SarConfig, Slots};
use kumiki_link::{CellRun, Element, Outlet, Rate, Unit};
use kumiki_octets::Message;
use kumiki_octets::crc::Aal5Crc;
use kumiki_wire::atm::aal5::{CRC_OFFSET, LEN, MAX_SDU, Trailer, cells};
use kumiki_wire::atm::aal34::sar as segment;

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target = Target {
    name: "cells",
    title: "segmentation and reassembly of AAL5 and AAL3/4: cells lost, doubled, changed, made up",
    run,
};

/// A channel and 48 octets; whether the cell is marked as the last of an AAL5 PDU.
#[derive(Clone)]
struct Cell {
    vci: u16,
    last: bool,
    payload: [u8; 48],
}

/// What AAL5 says of a channel: payloads up to a marked cell are a PDU, which its trailer judges.
#[derive(Default)]
struct Channel {
    octets: Vec<u8>,
    too_long: bool,
}

impl Channel {
    fn take(&mut self, cell: &Cell) -> Option<Vec<u8>> {
        self.too_long |= self.octets.len() == 48 * cells(MAX_SDU);
        if !self.too_long {
            self.octets.extend(cell.payload);
        }
        if !cell.last {
            return None;
        }
        let Self { octets, too_long } = core::mem::take(self);
        let trailer = Trailer::parse(&octets).unwrap();
        let mut crc = Aal5Crc::new();
        crc.update(&octets[..octets.len() - LEN + CRC_OFFSET]);
        let len = trailer.check(octets.len(), crc.finish()).ok()?;
        (!too_long).then(|| octets[..len].to_vec())
    }
}

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let options = draw.octet();
    let aal34 = options & 1 != 0;
    let mids = if options & 2 != 0 { 7 } else { 1 };
    let config = SarConfig {
        adaptation: if aal34 { Adaptation::Aal34(Aal34 { mids, cpcs: true }) } else { Adaptation::Aal5 },
        interleave: options & 4 != 0,
        max_run: if options & 8 != 0 { 1 } else { u32::MAX },
        announce: options & 16 != 0,
        checksum_unit: options & 32 != 0,
        ..SarConfig::new(Slots::new(Rate::OC3C))
    };
    within_mb(64.0, || exchange(&mut draw, config, aal34));
}

fn exchange(draw: &mut Draw<'_>, config: SarConfig, aal34: bool) {
    let (mut from, mut to) = (Sar::new(config), Sar::new(config));
    let mut sent: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
    let mut model: BTreeMap<u16, Channel> = BTreeMap::new();
    let mut expected: Vec<(u16, Vec<u8>)> = Vec::new();
    let mut got: Vec<(u16, Vec<u8>)> = Vec::new();
    let (mut now, mut slot, mut harm) = (Instant::from_nanos(1), 0, false);
    for _ in 0..64 {
        if draw.is_empty() {
            break;
        }
        // The host gives something, which comes out as cells; or cells come from nowhere.
        let mut row: Vec<Cell> = Vec::new();
        let how = draw.octet();
        let vci = 100 + u16::from(how & 1);
        if how & 0xe0 == 0xe0 {
            harm = true;
            row.push(Cell { vci, last: how & 2 != 0, payload: whole(draw, aal34 && how & 4 != 0) });
        } else {
            let len = draw.below(if how & 0xc0 == 0xc0 { 65_536 } else { 300 });
            let start = draw.octet();
            let sdu: Vec<u8> = (0..len).map(|at| at.to_le_bytes()[0] ^ start).collect();
            if len > 0 {
                sent.entry(vci).or_default().push(sdu.clone());
            }
            let unit = Unit::Frame { data: Message::from_octets(&sdu), address: Vc { vpi: 0, vci }.address() };
            let mut out = Outlet::default();
            from.offer(now, sar::HOST, unit, &mut out);
            // Sometimes it stays in the queue while the next one is given.
            if how & 2 != 0 {
                drain(&mut from, &mut out, &mut now, &mut row);
            }
        }
        deliver(draw, &mut row, &mut harm);
        for cell in row {
            now += Duration::from_micros(3);
            if !aal34 && let Some(sdu) = model.entry(cell.vci).or_default().take(&cell) {
                expected.push((cell.vci, sdu));
            }
            arrive(&mut to, now, slot, &cell, &mut got);
            slot += 1;
        }
    }
    let (mut out, mut row) = (Outlet::default(), Vec::new());
    drain(&mut from, &mut out, &mut now, &mut row);
    for cell in row {
        now += Duration::from_micros(3);
        if !aal34 && let Some(sdu) = model.entry(cell.vci).or_default().take(&cell) {
            expected.push((cell.vci, sdu));
        }
        arrive(&mut to, now, slot, &cell, &mut got);
        slot += 1;
    }
    if !aal34 {
        assert!(got == expected, "AAL5 delivers what its trailers allow");
    }
    if !harm {
        for (vci, sdus) in sent {
            let came = got.iter().filter(|(on, _)| *on == vci);
            let mut came: Vec<&Vec<u8>> = came.map(|(_, sdu)| sdu).collect();
            let mut sdus: Vec<&Vec<u8>> = sdus.iter().collect();
            if config.interleave {
                // PDUs of one channel travel side by side: the shorter one is whole first.
                came.sort();
                sdus.sort();
            }
            assert!(came == sdus, "on channel {vci}: something is missing");
        }
    }
    let _ = (from.counters(), to.counters());
}

/// Any payload; of AAL3/4 perhaps with a right CRC, since no other is looked at.
fn whole(draw: &mut Draw<'_>, summed: bool) -> [u8; 48] {
    let mut payload: [u8; 48] = draw.array();
    if summed {
        let crc = segment::crc(&payload);
        let [high, low] = crc.to_be_bytes();
        payload[46] = payload[46] & 0xfc | high;
        payload[47] = low;
    }
    payload
}

/// Lets `from` send all it has.
fn drain(from: &mut Sar, out: &mut Outlet, now: &mut Instant, row: &mut Vec<Cell>) {
    for round in 0.. {
        assert!(round < 100_000, "the adapter never has done");
        for (port, unit) in out.drain() {
            if let (sar::LINE, Unit::Cells(run)) = (port, unit) {
                split(&run, row);
            }
        }
        let Some(due) = from.next_deadline() else {
            break;
        };
        *now = (*now).max(due);
        from.poll(*now, out);
    }
}

fn split(run: &CellRun, row: &mut Vec<Cell>) {
    let octets = run.payload.to_vec();
    assert_eq!(octets.len(), 48 * run.count as usize);
    for (number, payload) in (1..).zip(octets.chunks(48)) {
        row.push(Cell {
            vci: run.vci,
            last: run.ends_pdu && number == run.count,
            payload: payload.try_into().unwrap(),
        });
    }
}

/// What the line does to a row of cells.
fn deliver(draw: &mut Draw<'_>, row: &mut Vec<Cell>, harm: &mut bool) {
    for _ in 0..4 {
        let what = draw.octet();
        if what < 128 || row.is_empty() {
            return;
        }
        *harm = true;
        let at = draw.below(row.len().min(65_536));
        match what % 5 {
            0 => drop(row.remove(at)),
            1 => row.insert(at, row[at].clone()),
            2 => {
                let place = draw.below(48);
                row[at].payload[place] ^= draw.octet().max(1);
            }
            3 => row[at].last ^= true,
            _ => {
                let other = draw.below(row.len().min(65_536));
                row.swap(at, other);
            }
        }
    }
}

fn arrive(to: &mut Sar, now: Instant, slot: u64, cell: &Cell, got: &mut Vec<(u16, Vec<u8>)>) {
    let run = CellRun {
        id: slot,
        vpi: 0,
        vci: cell.vci,
        clp: false,
        efci: false,
        payload: Message::from_octets(&cell.payload),
        count: 1,
        ends_pdu: cell.last,
        rm: false,
        line: Slots::new(Rate::OC3C),
        slot,
    };
    let mut out = Outlet::default();
    to.offer(now, sar::LINE, Unit::Cells(run), &mut out);
    to.poll(now, &mut out);
    for (port, unit) in out.drain() {
        if let (sar::HOST, Unit::Frame { data, address }) = (port, unit) {
            let Some(Vc { vci, .. }) = address.get::<Vc>() else {
                panic!("{address:?} is no channel");
            };
            assert!(!data.is_empty() && data.len() <= MAX_SDU);
            got.push((vci, data.to_vec()));
        }
    }
}
