//! Segmentation and reassembly: the hardware of an ATM adapter that turns SDUs of AAL5 or AAL3/4 into cells and back.
//!
//! | | |
//! |---|---|
//! | Specification | AAL5 common part: ITU-T I.363.5; AAL3/4: [`aal34`]; checksum on the fly: paper 2, section 3.2 |
//! | Ports | [`HOST`]: SDUs as [`Unit::Frame`] with a [`Vc`]. [`LINE`]: cells. [`MONITOR`]: where asked for, every CPCS-PDU that arrived whole, trailer included, good or bad |
//! | Available bit rate | [`super::abr`] |
//! | Left out | OAM cells, traffic shaping other than that, corrupted-data delivery; AAL1 and AAL2 |
//!
//! The receiver of AAL5 does not know a cell's place in its PDU: it puts payloads of a channel together until one ends
//! the PDU, and lets Length and CRC judge the result. That of AAL3/4 reads it in each cell.

pub mod aal34;
mod abr;
mod pdus;
mod receive;
mod transmit;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_wire::atm::aal5;
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::atm::cell::rm::CellRate;

use super::{AbrConfig, Slots};
use crate::{Element, Outlet, Unit};
use aal34::Aal34;
use receive::Receiver;
use transmit::Transmitter;

/// The host's port of a [`Sar`].
pub const HOST: usize = 0;
/// The line's port of a [`Sar`].
pub const LINE: usize = 1;
/// The port of a [`Sar`] where arrived CPCS-PDUs can be watched.
pub const MONITOR: usize = 2;

/// How SDUs become cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Adaptation {
    /// AAL type 5: nothing in the cells but a mark on the last.
    #[default]
    Aal5,
    /// AAL type 3/4: 4 of the 48 octets of each cell are its own.
    Aal34(Aal34),
}

/// What a [`Sar`] is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SarConfig {
    /// The line it sends on. What it receives says itself what line it came by.
    pub slots: Slots,
    /// How SDUs become cells, both ways.
    pub adaptation: Adaptation,
    /// Whether PDUs of different virtual channels are sent cell by cell in turn; otherwise one PDU after the other.
    pub interleave: bool,
    /// Whether all channels are of the available bit rate, and how: then cells are sent as each may, and
    /// [`SarConfig::interleave`] says nothing. Otherwise the bit rate is unspecified, and RM cells that come are
    /// strangers.
    pub abr: Option<AbrConfig>,
    /// How many PDUs are taken from the host before they are sent; more are dropped, which [`Unit::Sent`] says.
    pub queue: usize,
    /// Whether [`Unit::Sent`] is said.
    pub say_sent: bool,
    /// The most cells in a run: 1 gives every cell an event of its own, to the same effect.
    pub max_run: u32,
    /// Whether CRCs are computed and checked. Without it the field is zero, and nobody looks at it: for runs over
    /// media that change no octet.
    pub crc: bool,
    /// The longest SDU received, in octets; what grows longer is given up.
    pub max_sdu: usize,
    /// How many PDUs may be in reassembly at once; cells of others are dropped. With AAL3/4 single cells need no place.
    pub max_reassemblies: usize,
    /// How long a PDU may stand still in reassembly. Found when the next cell of its channel, and with AAL3/4 of its
    /// MID, comes, and with AAL3/4 when the place is needed.
    pub timeout: Option<Duration>,
    /// Whether received SDUs carry the sum taken on the fly ([`kumiki_octets::Checksum::Sum`]).
    pub checksum_unit: bool,
    /// Whether [`Unit::Arriving`] is said.
    pub announce: bool,
    /// Whether [`MONITOR`] is used.
    pub monitor: bool,
}

impl SarConfig {
    /// AAL5, PDU after PDU on `slots`, room for everything, everything checked, the checksum unit off.
    #[must_use]
    pub const fn new(slots: Slots) -> Self {
        Self {
            slots,
            adaptation: Adaptation::Aal5,
            interleave: false,
            abr: None,
            queue: usize::MAX,
            say_sent: true,
            max_run: u32::MAX,
            crc: true,
            max_sdu: aal5::MAX_SDU,
            max_reassemblies: usize::MAX,
            timeout: None,
            checksum_unit: false,
            announce: false,
            monitor: false,
        }
    }
}

/// Segmentation and reassembly hardware: SDUs on one side, cells on the other.
///
/// Counters: `busy_ns`, how long its slots took in which a cell went, `pdus_out`, `cells_out` put on the line,
/// `refused` SDUs that found the queue full, had no channel or cannot be sent, `cells_in`, `cells_in_vain` of PDUs of
/// AAL5 that were not delivered, `pdus_in` delivered, those below, and `strangers`, units that do not belong at their
/// port.
///
/// With AAL5, of PDUs not delivered `crc`, `length`, `cpi`, `abort`, `oversize`, `timeout`; `no_context`, cells dropped
/// because too many PDUs were in reassembly.
///
/// With AAL3/4, of cells `sar_crc`, `sar_length` (LI not possible in such a segment; its PDU is lost), `stray` (belongs
/// to no PDU in reassembly, be it that it never began or that it was given up), `no_context` (would have begun one too
/// many); of PDUs `sequence` (a cell is missing or too many), `unfinished` (the next began under its MID), `tag`,
/// `ba_size` (longer than promised), `length`, `cpi`, `alignment`, `abort`, `oversize` (promises to be longer than
/// allowed), `timeout`.
///
/// With available bit rate, of RM cells `rm_forward`, `rm_backward` and `rm_out_of_rate` sent; `rm_in` come,
/// `rm_congested` of them back with CI; `rm_overwritten`, which came before the one before them had been sent back;
/// `rm_wrong`, damaged or of another protocol.
pub struct Sar {
    transmitter: Sending,
    receiver: Receiving,
    strangers: u64,
    slots: Slots,
}

/// What transmitters call the cells that they have sent, RM cells among them.
const CELLS_OUT: &str = "cells_out";

/// The transmitter of a service category.
enum Sending {
    Unspecified(Transmitter),
    Available(abr::Transmitter),
}

/// The receiver of an adaptation.
enum Receiving {
    Aal5(Receiver),
    Aal34(aal34::Receiver),
}

impl Receiving {
    fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Aal5(receiver) => receiver.next_deadline(),
            Self::Aal34(receiver) => receiver.next_deadline(),
        }
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        match self {
            Self::Aal5(receiver) => receiver.poll(now, out),
            Self::Aal34(receiver) => receiver.poll(now, out),
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        match self {
            Self::Aal5(receiver) => receiver.counters(),
            Self::Aal34(receiver) => receiver.counters(),
        }
    }
}

impl Sar {
    /// The hardware as `config` says.
    #[must_use]
    pub fn new(config: SarConfig) -> Self {
        Self {
            transmitter: match config.abr {
                None => Sending::Unspecified(Transmitter::new(config)),
                Some(abr) => Sending::Available(abr::Transmitter::new(config, abr)),
            },
            receiver: match config.adaptation {
                Adaptation::Aal5 => Receiving::Aal5(Receiver::new(config)),
                Adaptation::Aal34(aal34) => Receiving::Aal34(aal34::Receiver::new(config, aal34)),
            },
            strangers: 0,
            slots: config.slots,
        }
    }

    /// How many PDUs the host has given that have not left whole.
    #[must_use]
    pub fn backlog(&self) -> usize {
        match &self.transmitter {
            Sending::Unspecified(transmitter) => transmitter.backlog(),
            Sending::Available(transmitter) => transmitter.backlog(),
        }
    }
}

impl Element for Sar {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        match (port, unit) {
            (HOST, Unit::Frame { data, address }) => match &mut self.transmitter {
                Sending::Unspecified(transmitter) => transmitter.offer(now, data, address, out),
                Sending::Available(transmitter) => transmitter.offer(now, data, address, out),
            },
            (LINE, Unit::Cells(run)) if run.rm => match &mut self.transmitter {
                Sending::Unspecified(_) => self.strangers += 1,
                Sending::Available(transmitter) => transmitter.rm_came(now, &run, out),
            },
            (LINE, Unit::Cells(run)) => {
                if let Sending::Available(transmitter) = &mut self.transmitter {
                    transmitter.data_came(&run);
                }
                match &mut self.receiver {
                    Receiving::Aal5(receiver) => receiver.offer(now, run, out),
                    Receiving::Aal34(receiver) => receiver.offer(now, run, out),
                }
            }
            (LINE, Unit::Cut { id, keep }) => match &mut self.receiver {
                Receiving::Aal5(receiver) => receiver.cut(id, keep),
                Receiving::Aal34(receiver) => receiver.cut(id, keep),
            },
            _ => self.strangers += 1,
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let sending = match &self.transmitter {
            Sending::Unspecified(transmitter) => transmitter.next_deadline(),
            Sending::Available(transmitter) => transmitter.next_deadline(),
        };
        let (a, b) = (sending, self.receiver.next_deadline());
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        self.receiver.poll(now, out);
        match &mut self.transmitter {
            Sending::Unspecified(transmitter) => transmitter.poll(now, out),
            Sending::Available(transmitter) => transmitter.poll(now, out),
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut all = match &self.transmitter {
            Sending::Unspecified(transmitter) => transmitter.counters(),
            Sending::Available(transmitter) => transmitter.counters(),
        };
        all.extend(self.receiver.counters());
        all.push(("strangers", self.strangers));
        let cells = all.iter().find(|(name, _)| *name == CELLS_OUT).map_or(0, |(_, count)| *count);
        let busy = self.slots.at(cells).saturating_since(self.slots.at(0));
        all.push(("busy_ns", busy.as_nanos()));
        all
    }

    fn waiting(&self, _: Instant) -> u64 {
        self.backlog() as u64
    }

    fn cell_rates(&self) -> Vec<(Address, CellRate)> {
        match &self.transmitter {
            Sending::Unspecified(_) => Vec::new(),
            Sending::Available(transmitter) => transmitter.rates(),
        }
    }
}

/// The channel of an address, if it is one.
fn channel(address: Address) -> Option<(u16, u16)> {
    address.get().map(|Vc { vpi, vci }| (vpi, vci))
}

#[cfg(test)]
mod tests;
