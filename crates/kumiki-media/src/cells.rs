//! Lines that carry cells, and the devices on them.

use kumiki_link::atm::{Aal34, AbrConfig, Adaptation, Slots};
use kumiki_link::{Element, Rate, Wire};
use kumiki_settings::{BuildError, Duration, Reader, Settings, Word};

use super::{Abr, Clock, Impair, Service, impaired};

/// What the slots of a line are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Slotted {
    /// STS-3c or STM-1.
    #[default]
    #[word("oc3c-atm")]
    Oc3c,
    /// STS-12c or STM-4.
    #[word("oc12c-atm")]
    Oc12c,
    /// STS-48c or STM-16.
    #[word("oc48c-atm")]
    Oc48c,
    /// DS-3, cells mapped straight into it.
    #[word("ds3")]
    Ds3,
    /// DS-3 with PLCP framing.
    #[word("ds3-plcp")]
    Ds3Plcp,
    /// The 4B/5B line of an ATM LAN, at 140 Mbit/s.
    #[word("taxi-140")]
    Taxi140,
}

impl Slotted {
    /// The one that the medium called `medium` is, if that carries cells.
    #[must_use]
    pub fn named(medium: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(name, _)| *name == medium).map(|(_, slotted)| *slotted)
    }

    /// What cells get of it.
    #[must_use]
    pub const fn rate(self) -> Rate {
        match self {
            Self::Oc3c => Rate::OC3C,
            Self::Oc12c => Rate::OC12C,
            Self::Oc48c => Rate::OC48C,
            Self::Ds3 => Rate::DS3,
            Self::Ds3Plcp => Rate::DS3_PLCP,
            Self::Taxi140 => Rate::TAXI_140,
        }
    }
}

/// A line that carries cells.
#[derive(Clone, PartialEq, Debug, Default, Settings)]
pub struct Cells {
    /// What the slots are in.
    #[setting(skip)]
    pub slotted: Slotted,
    /// Propagation, one way.
    pub propagation: Duration,
    /// How fast its clock is, in parts per million; below 0 it is slow. Between two limits each run draws it.
    #[setting(text = Clock::parse, expected = "a whole number from -1000 to 1000, or two of them, the lower first, such as \"-20 .. 20\"")]
    pub clock_ppm: Clock,
    /// What goes wrong on it.
    #[setting(with = impaired)]
    pub impair: Option<Impair>,
}

impl Cells {
    pub(super) fn on(slotted: Slotted) -> Self {
        Self { slotted, ..Self::default() }
    }

    /// What cells get of it by its own clock.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.slotted.rate().off_by(self.clock_ppm.ppm())
    }

    pub(super) fn element(&self) -> Box<dyn Element> {
        Box::new(Wire::new(self.propagation))
    }
}

/// An ATM adaptation layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Aal {
    /// AAL5.
    #[default]
    #[word("5")]
    Five,
    /// AAL3/4.
    #[word("3/4")]
    ThreeFour,
}

/// A device of a host on a line with cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Settings)]
#[settings(check = Self::has_abr_where_it_says_so)]
pub struct Device {
    /// The ATM adaptation layer, which must be the same at both ends of a channel; under a node `aal34` the device does
    /// its segments only.
    #[setting(word)]
    pub aal: Aal,
    /// Whether cells of several virtual channels are sent in turn, rather than PDU after PDU.
    pub interleave: bool,
    /// The service category of all its channels, which must be the same at their other ends: `ubr`, as fast as the line
    /// takes cells, or `abr`, as fast as the network says.
    #[setting(word)]
    pub service: Service,
    /// Parameters of `abr`.
    #[setting(table)]
    pub abr: Abr,
}

impl Device {
    fn has_abr_where_it_says_so(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        if self.service == Service::Abr {
            return Ok(());
        }
        match ["abr"].into_iter().find(|key| reader.is_set(key)) {
            Some(key) => Err(reader.wrong(key, &"set", "left out: it is for service = \"abr\"")),
            None => Ok(()),
        }
    }

    /// Available bit rate on a line of these slots, where its channels are of that.
    #[must_use]
    pub fn available(&self, line: &Slots) -> Option<AbrConfig> {
        (self.service == Service::Abr).then(|| self.abr.config(line))
    }

    /// A rate of `abr` that a line of these slots does not have, in cells per second: its key, and what it is.
    #[must_use]
    pub fn above(&self, line: &Slots) -> Option<(&'static str, u32)> {
        if self.service == Service::Abr { self.abr.above(line) } else { None }
    }

    /// What it does to frames, where a node `aal34` stands on it or not.
    #[must_use]
    pub const fn adaptation(self, under_aal34: bool) -> Adaptation {
        match self.aal {
            Aal::Five => Adaptation::Aal5,
            Aal::ThreeFour => Adaptation::Aal34(Aal34 { cpcs: !under_aal34, ..Aal34::WHOLE }),
        }
    }
}
