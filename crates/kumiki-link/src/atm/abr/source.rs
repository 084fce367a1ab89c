//! The source end system of a channel: what it may send next, and how fast.
//!
//! It knows no slots and no line: whoever asks says what time it is. Comments name the rules by their numbers.

use kumiki_graph::Instant;
use kumiki_wire::atm::cell::rm::{CellRate, Rm};

use super::AbrConfig;

/// What an in-rate cell is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A forward RM cell.
    Forward,
    /// A backward RM cell.
    Backward,
    /// A cell of data.
    Data,
}

/// What a source knows.
#[derive(Clone, Debug)]
pub struct Source {
    config: AbrConfig,
    acr: CellRate,
    /// When the last forward RM cell went in rate; none has before the first cell.
    forward: Option<Instant>,
    /// In-rate cells since then, that one not counted.
    since: u32,
    /// Whether a backward RM cell was among them.
    returned: bool,
    /// Forward RM cells in rate since a backward one came that is no notification.
    unanswered: u64,
}

impl Source {
    /// A source that has sent nothing.
    #[must_use]
    pub fn new(config: AbrConfig) -> Self {
        // Rule 2: ACR begins with ICR.
        Self { config, acr: config.initial(), forward: None, since: 0, returned: false, unanswered: 0 }
    }

    /// ACR, the rate at which in-rate cells may go.
    #[must_use]
    pub const fn acr(&self) -> CellRate {
        self.acr
    }

    /// What the next in-rate cell is at `now`, where data or a backward RM cell waits; nothing where neither does.
    ///
    /// Where there is nothing to send no forward RM cell is sent either.
    #[must_use]
    pub fn next(&self, now: Instant, data: bool, backward: bool) -> Option<Next> {
        if !data && !backward {
            return None;
        }
        let Some(last) = self.forward else {
            return Some(Next::Forward); // Rule 2.
        };
        let AbrConfig { nrm, mrm, trm, .. } = self.config;
        // Rule 3.
        let late = self.since >= mrm && now.saturating_since(last) >= trm;
        if late || self.since.saturating_add(1) >= nrm {
            Some(Next::Forward)
        } else if backward && (!self.returned || !data) {
            Some(Next::Backward)
        } else {
            Some(Next::Data)
        }
    }

    /// An in-rate cell of this kind goes at `now`; for a forward RM cell [`Source::forward`] is asked first what is in
    /// it.
    pub const fn sent(&mut self, now: Instant, kind: Next) {
        match kind {
            Next::Forward => {
                self.forward = Some(now);
                self.since = 0;
                self.returned = false;
                self.unanswered += 1;
            }
            Next::Backward => {
                self.since = self.since.saturating_add(1);
                self.returned = true;
            }
            Next::Data => self.since = self.since.saturating_add(1),
        }
    }

    /// What a forward RM cell says that goes in rate at `now`.
    pub fn forward(&mut self, now: Instant) -> Rm {
        let AbrConfig { adtf, cdf, mcr, .. } = self.config;
        let initial = self.config.initial();
        // Rule 5.
        if self.acr > initial && self.forward.is_some_and(|last| now.saturating_since(last) > adtf) {
            self.acr = initial;
        }
        // Rule 6.
        if let Some(cdf) = cdf
            && self.unanswered >= self.config.crm()
        {
            self.acr = less(self.acr, cdf).max(mcr);
        }
        // Rule 7: what is in the cell is what goes for those behind it.
        self.rm()
    }

    /// What a forward RM cell says that goes out of rate.
    #[must_use]
    pub fn rm(&self) -> Rm {
        Rm { explicit: self.config.pcr, current: self.acr, minimum: self.config.mcr, ..Rm::default() }
    }

    /// A backward RM cell has come.
    pub fn backward(&mut self, rm: &Rm) {
        let AbrConfig { pcr, mcr, rif, rdf, .. } = self.config;
        if !rm.notification {
            self.unanswered = 0;
        }
        // Rule 8: down at congestion, up where nobody is against it.
        if rm.congestion {
            self.acr = less(self.acr, rdf).max(mcr);
        } else if !rm.no_increase {
            let more = pcr.parts() >> rif.min(63);
            self.acr = CellRate::from_parts(self.acr.parts().saturating_add(more)).min(pcr);
        }
        // And then no more than all on the way allow: commonly counted as rule 9, of which no text was read.
        self.acr = self.acr.min(rm.explicit).max(mcr);
    }
}

/// `rate` less a part of 2^`factor` of it.
fn less(rate: CellRate, factor: u32) -> CellRate {
    CellRate::from_parts(rate.parts() - (rate.parts() >> factor.min(63)))
}
