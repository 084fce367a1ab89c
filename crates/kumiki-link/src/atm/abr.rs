//! Available bit rate (ABR): an end of a channel that sends as fast as the network says.
//!
//! | | |
//! |---|---|
//! | Specification | ATM Forum af-tm-0056 (Traffic Management 4.0, 1996). Its text was not to be had whole: source rules 1 to 8 are followed as S. Kalyanaraman's dissertation ("Traffic Management for the Available Bit Rate (ABR) Service in Asynchronous Transfer Mode (ATM) Networks", Ohio State 1997) and the manual of NEC's µPD98501 reprint them; that ER bounds ACR after them, commonly counted as rule 9, was read in neither; out-of-rate cells and the destination as the manual of Freescale's MPC8260 (sections 30.5.1.1 and 30.5.1.2) has them |
//! | Above | [`super::sar`], whose adapters have a source and a destination for each channel where [`super::SarConfig::abr`] says so |
//! | In the network | [`super::switch::Feedback`]: marks in RM cells, or explicit rates |
//! | Left out | rule 13 (use it or lose it, optional), notifications (BN) of destinations and switches, virtual sources, channels to several points, signalling: parameters are given, and nothing is negotiated |
//!
//! It stands in the adapter and not in a node of a graph: when a cell may leave is decided for each slot of the line,
//! RM cells take slots between those of a PDU, and hosts of then had it in the chip that segments. Cells are what this
//! crate is about; no family of protocols knows of ABR, and ABR of none.
//!
//! Each slot goes to a channel whose time has come, so at a rate below the line's every cell is a run of its own
//! ([`crate::CellRun`] is cells in consecutive slots): an event for each cell and element on the way, where a PDU
//! without ABR costs one.

mod source;
#[cfg(test)]
mod tests;

use kumiki_graph::Duration;
use kumiki_wire::atm::cell::rm::CellRate;

pub use source::{Next, Source};

/// The parameters of a channel, by the names of the specification.
///
/// Defaults are those of Table 5-5 of the specification as it is commonly cited; only Nrm, Trm and ADTF were found in
/// texts that could be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbrConfig {
    /// Peak cell rate: no source sends faster.
    pub pcr: CellRate,
    /// Minimum cell rate: every source may always send so fast.
    pub mcr: CellRate,
    /// Initial cell rate, also after silence. See [`AbrConfig::initial`].
    pub icr: CellRate,
    /// Rate increase factor: up by PCR / 2^this.
    pub rif: u32,
    /// Rate decrease factor: down by ACR / 2^this.
    pub rdf: u32,
    /// Cutoff decrease factor: down by ACR / 2^this for each forward RM cell while none comes back; never where `None`.
    pub cdf: Option<u32>,
    /// At most so many in-rate cells to a forward RM cell, that one included; at least 2.
    pub nrm: u32,
    /// At least so many in-rate cells between forward RM cells.
    pub mrm: u32,
    /// After this time a forward RM cell goes after `mrm` cells.
    pub trm: Duration,
    /// ACR decrease time factor: after so long without a forward RM cell ACR is not above ICR.
    pub adtf: Duration,
    /// Transient buffer exposure: so many cells may be sent before the first RM cell comes back.
    pub tbe: u32,
    /// Fixed round-trip time, for what TBE makes of ICR.
    pub frtt: Duration,
    /// Tagged cell rate: of forward RM cells that go out of rate while ACR is below it.
    pub tcr: CellRate,
}

impl AbrConfig {
    /// A channel that may send as fast as `pcr`, everything else by default.
    #[must_use]
    pub const fn new(pcr: CellRate) -> Self {
        Self {
            pcr,
            mcr: CellRate::ZERO,
            icr: pcr,
            rif: 4,
            rdf: 4,
            cdf: Some(4),
            nrm: 32,
            mrm: 2,
            trm: Duration::from_millis(100),
            adtf: Duration::from_millis(500),
            tbe: 16_777_215,
            frtt: Duration::ZERO,
            tcr: CellRate::per_second(10),
        }
    }

    /// What ACR begins with: ICR, at most TBE in FRTT, and no less than MCR.
    #[must_use]
    pub fn initial(&self) -> CellRate {
        let nanos = u128::from(self.frtt.as_nanos());
        let parts = u128::from(CellRate::per_second(self.tbe.into()).parts()) * 1_000_000_000;
        let exposed = parts.checked_div(nanos).map_or(u64::MAX, |it| u64::try_from(it).unwrap_or(u64::MAX));
        self.icr.min(CellRate::from_parts(exposed)).min(self.pcr).max(self.mcr)
    }

    /// CRM: so many forward RM cells may be without an answer.
    #[must_use]
    pub const fn crm(&self) -> u64 {
        let nrm = if self.nrm < 2 { 2 } else { self.nrm };
        self.tbe.div_ceil(nrm) as u64
    }
}
