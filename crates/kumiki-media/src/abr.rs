//! Service categories of channels: what the ends do ([`Abr`]), and what a switch tells them ([`Feedback`]).

use core::fmt;
use core::str::FromStr;

use kumiki_link::CellRate;
use kumiki_link::atm::{self, AbrConfig, Erica, Slots};
use kumiki_settings::{BuildError, Duration, Reader, Settings, Word};

/// How fast channels of a device send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Service {
    /// As fast as the line takes it: unspecified bit rate.
    #[default]
    Ubr,
    /// As fast as the network says: available bit rate.
    Abr,
}

/// A part of a whole: 1 / 2^this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Factor(u32);

impl FromStr for Factor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let below: u32 = text.strip_prefix('1').ok_or(())?.strip_prefix('/').unwrap_or("1").parse().map_err(|_| ())?;
        let log = below.checked_ilog2().filter(|_| text == "1" || text.contains('/'));
        log.filter(|log| below.is_power_of_two() && *log <= 15).map(Self).ok_or(())
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("1") } else { write!(f, "1/{}", 1_u64 << self.0.min(63)) }
    }
}

/// The cutoff decrease factor, which may be none at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cutoff(Option<Factor>);

impl FromStr for Cutoff {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "0" {
            return Ok(Self(None));
        }
        let factor: Factor = text.parse()?;
        (factor.0 <= 6).then_some(Self(Some(factor))).ok_or(())
    }
}

impl fmt::Display for Cutoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("0"),
            Some(factor) => factor.fmt(f),
        }
    }
}

/// Parameters of available bit rate, by their names in the ATM Forum's Traffic Management 4.0. Rates are in cells per
/// second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
#[settings(check = Self::rates_are_in_order)]
pub struct Abr {
    /// PCR: no source sends more cells per second.
    #[setting(1..=u32::MAX.into(), unset = "what the line carries")]
    pub pcr_cps: Option<u32>,
    /// MCR: every source may always send so many cells per second.
    #[setting(0..=u32::MAX.into())]
    pub mcr_cps: u32,
    /// ICR: at first, and after silence, so many cells per second.
    #[setting(0..=u32::MAX.into(), unset = "PCR")]
    pub icr_cps: Option<u32>,
    /// RIF: with each RM cell that allows it the rate goes up by this part of PCR.
    #[setting(text, expected = "a part from 1 to 1/32768, such as \"1/16\"")]
    pub rif: Factor,
    /// RDF: with each RM cell that tells of congestion the rate goes down by this part of it.
    #[setting(text, expected = "a part from 1 to 1/32768, such as \"1/16\"")]
    pub rdf: Factor,
    /// CDF: where no RM cells come back the rate goes down by this part of it with each that goes out.
    #[setting(text, expected = "0, or a part from 1 to 1/64, such as \"1/16\"")]
    pub cdf: Cutoff,
    /// Nrm: of so many cells one is an RM cell.
    #[setting(2..=256)]
    pub nrm: u32,
    /// Mrm: so many other cells go at least between two RM cells.
    #[setting(1..=256)]
    pub mrm: u32,
    /// Trm: after this time an RM cell goes when `mrm` cells have.
    #[setting(positive)]
    pub trm: Duration,
    /// ADTF: after so long without an RM cell the rate is no more than ICR.
    #[setting(positive)]
    pub adtf: Duration,
    /// TBE: so many cells may go before the first RM cell comes back; CRM is TBE / Nrm.
    #[setting(1..=16_777_215)]
    pub tbe_cells: u32,
    /// FRTT: the round trip for which TBE bounds ICR.
    pub frtt: Duration,
    /// TCR: so many RM cells per second go out of rate where there is next to no rate.
    #[setting(1..=1000)]
    pub tcr_cps: u32,
}

impl Default for Abr {
    fn default() -> Self {
        let AbrConfig { rif, rdf, cdf, nrm, mrm, trm, adtf, tbe, frtt, .. } = AbrConfig::new(CellRate::MAX);
        let (rif, rdf, cdf) = (Factor(rif), Factor(rdf), Cutoff(cdf.map(Factor)));
        Self {
            pcr_cps: None,
            mcr_cps: 0,
            icr_cps: None,
            rif,
            rdf,
            cdf,
            nrm,
            mrm,
            trm,
            adtf,
            tbe_cells: tbe,
            frtt,
            tcr_cps: 10,
        }
    }
}

impl Abr {
    fn rates_are_in_order(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        let most = self.pcr_cps.unwrap_or(u32::MAX);
        if self.mcr_cps > most {
            return Err(reader.wrong("mcr_cps", &self.mcr_cps, &format!("no more than pcr_cps, {most}")));
        }
        match self.icr_cps.filter(|icr| !(self.mcr_cps..=most).contains(icr)) {
            Some(icr) => {
                let least = self.mcr_cps;
                Err(reader.wrong("icr_cps", &icr, &format!("from mcr_cps, {least}, to pcr_cps, {most}")))
            }
            None => Ok(()),
        }
    }

    /// A rate that is always to be had, or at first, and that a line of these slots does not have: its key, and what it
    /// is.
    pub fn above(&self, line: &Slots) -> Option<(&'static str, u32)> {
        let rates = [("mcr_cps", Some(self.mcr_cps)), ("icr_cps", self.icr_cps)];
        let mut rates = rates.into_iter().filter_map(|(key, cps)| Some((key, cps?)));
        rates.find(|(_, cps)| CellRate::per_second((*cps).into()) > line.rate())
    }

    /// The same for a device that sends in these slots.
    pub fn config(&self, line: &Slots) -> AbrConfig {
        let rate = |cells: u32| CellRate::per_second(cells.into());
        let pcr = self.pcr_cps.map_or_else(|| line.rate(), rate).min(line.rate());
        AbrConfig {
            pcr,
            mcr: rate(self.mcr_cps).min(pcr),
            icr: self.icr_cps.map_or(pcr, rate).min(pcr),
            rif: self.rif.0,
            rdf: self.rdf.0,
            cdf: self.cdf.0.map(|it| it.0),
            nrm: self.nrm,
            mrm: self.mrm,
            trm: self.trm,
            adtf: self.adtf,
            tbe: self.tbe_cells,
            frtt: self.frtt,
            tcr: rate(self.tcr_cps),
        }
    }
}

/// What an ATM switch tells sources of available bit rate in RM cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum FeedbackKind {
    /// Nothing.
    #[default]
    Nothing,
    /// That its queue is long.
    Relative,
    /// How fast each may send, by ERICA.
    Erica,
}

/// What a switch does for sources of available bit rate.
#[derive(Clone, PartialEq, Debug, Settings)]
#[settings(check = Self::has_what_it_needs)]
pub struct Feedback {
    /// What sources of available bit rate are told in RM cells: nothing, that the queue is long, or how fast each may
    /// send, by ERICA.
    #[setting(word, name = "feedback")]
    pub tells: FeedbackKind,
    /// For `relative`: from how many waiting cells on sources are told to send less (CI).
    #[setting(0..=u32::MAX.into(), unset = "they are not")]
    pub ci_cells: Option<u32>,
    /// For `relative`: from how many waiting cells on sources are told not to send more (NI).
    #[setting(0..=u32::MAX.into(), unset = "they are not")]
    pub ni_cells: Option<u32>,
    /// For `erica`: for how long the load is measured.
    #[setting(positive)]
    pub erica_interval: Duration,
    /// For `erica`: how much of the line is given away.
    #[setting(share)]
    pub erica_target: f64,
    /// For `erica`: how much of a channel still counts as active for each interval in which it is silent.
    #[setting(share)]
    pub erica_memory: f64,
    /// For `erica`: a load by so much above the target is no overload.
    #[setting(share)]
    pub erica_overload: f64,
    /// Whether the rows say how long the queues of the switch were, at an event for each cell; with `feedback` they do.
    pub follow_queues: bool,
}

impl Default for Feedback {
    fn default() -> Self {
        Self {
            tells: FeedbackKind::Nothing,
            ci_cells: None,
            ni_cells: None,
            erica_interval: Duration::from_millis(1),
            erica_target: 0.9,
            erica_memory: 0.9,
            erica_overload: 0.1,
            follow_queues: false,
        }
    }
}

impl Feedback {
    fn has_what_it_needs(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        let keys = |tells: FeedbackKind| match tells {
            FeedbackKind::Nothing => [].as_slice(),
            FeedbackKind::Relative => &["ci_cells", "ni_cells"],
            FeedbackKind::Erica => &["erica_interval", "erica_target", "erica_memory", "erica_overload"],
        };
        for other in [FeedbackKind::Relative, FeedbackKind::Erica].into_iter().filter(|it| *it != self.tells) {
            if let Some(key) = keys(other).iter().find(|key| reader.is_set(key)) {
                let word = if other == FeedbackKind::Erica { "erica" } else { "relative" };
                return Err(reader.wrong(key, &"set", &format!("left out: it is for feedback = {word:?}")));
            }
        }
        if self.tells == FeedbackKind::Relative && self.ci_cells.is_none() && self.ni_cells.is_none() {
            return Err(reader.missing("ci_cells", "from how many waiting cells on sources are told; or ni_cells"));
        }
        Ok(())
    }

    /// The same as a switch takes it.
    pub(super) fn config(&self) -> Option<atm::Feedback> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share has at most so many millionths"
        )]
        let millionths = |share: f64| (share * 1e6).round() as u32;
        match self.tells {
            FeedbackKind::Nothing => None,
            FeedbackKind::Relative => {
                Some(atm::Feedback::Relative { ci: self.ci_cells.map(u64::from), ni: self.ni_cells.map(u64::from) })
            }
            FeedbackKind::Erica => Some(atm::Feedback::Erica(Erica {
                interval: self.erica_interval,
                target: millionths(self.erica_target),
                memory: millionths(self.erica_memory),
                overload: millionths(self.erica_overload),
            })),
        }
    }
}
