//! What goes wrong on a medium.

use kumiki_link::{Hold, Impairment, Loss};
use kumiki_settings::{BuildError, Duration, Reader, Settings};

use crate::scenario::{Fault, settings};

/// What can go wrong on every medium. Chances are per frame or cell, from 0 to 1.
#[derive(Clone, PartialEq, Debug, Default, Settings)]
pub struct Impair {
    /// Only what travels towards this end of the line is impaired.
    #[setting(text, expected = "an end of the line", unset = "all that travels is")]
    pub toward: Option<String>,
    /// Chance of loss.
    #[setting(share)]
    pub loss: f64,
    /// Chance of being sent twice.
    #[setting(share)]
    pub duplicate: f64,
    /// Chance of one wrong bit.
    #[setting(share)]
    pub corrupt: f64,
    /// Added to the propagation.
    pub delay: Duration,
    /// Added to the delay: a random time below this.
    pub jitter: Duration,
}

/// What can go wrong on a medium with frames: an ATM connection keeps the order of its cells, and a cell has no room for IP's mark.
#[derive(Clone, PartialEq, Debug, Default, Settings)]
#[settings(check = Self::holds_for_some_time)]
pub struct FrameImpair {
    /// What is no matter of frames.
    #[setting(flatten)]
    pub any: Impair,
    /// Chance of being held back.
    #[setting(share)]
    pub reorder: f64,
    /// For how long a frame held back is held.
    pub reorder_by: Duration,
    /// Chance of a congestion mark (ECN), where the sender of a frame's IP packet allows it.
    #[setting(share)]
    pub mark: f64,
}

impl Impair {
    /// Towards which end alone, and what goes wrong.
    pub(crate) fn impairment(&self) -> (Option<&str>, Impairment) {
        let impairment = Impairment {
            loss: if self.loss > 0.0 { Loss::Independent(self.loss) } else { Loss::None },
            duplicate: self.duplicate,
            corrupt: self.corrupt,
            delay: self.delay,
            jitter: self.jitter,
            ..Impairment::default()
        };
        (self.toward.as_deref(), impairment)
    }
}

impl FrameImpair {
    /// What `table`, an `impair` of a scenario, says of a medium with frames.
    ///
    /// # Errors
    /// A [`Fault`] whose path begins at the keys of `table`.
    pub fn read(table: &toml::Table) -> Result<Self, Fault> {
        settings::read("impair", table, |reader| super::set(Self::default(), reader))
    }

    fn holds_for_some_time(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        if self.reorder > 0.0 && self.reorder_by.is_zero() {
            let problem = "0 s, and frames that are held back for no time stay in order";
            return Err(reader.wrong("reorder_by", &problem, "a time of at least 1 ns beside `reorder`"));
        }
        Ok(())
    }

    /// Towards which end alone, and what goes wrong.
    pub(crate) fn impairment(&self) -> (Option<&str>, Impairment) {
        let (toward, any) = self.any.impairment();
        let hold = (self.reorder > 0.0).then_some((self.reorder, Hold::Time(self.reorder_by)));
        (toward, Impairment { mark: self.mark, hold, ..any })
    }

    /// What goes wrong with frames that go towards the end `0` and the end `1` of a line between `ends`.
    ///
    /// # Errors
    /// A [`Fault`] whose path begins at the keys of `impair`, where it speaks of another end.
    pub fn toward(&self, ends: [&str; 2]) -> Result<[Impairment; 2], Fault> {
        let (toward, impairment) = self.impairment();
        is_end(toward, &ends)?;
        Ok(ends.map(|end| match toward {
            Some(toward) if toward != end => Impairment::default(),
            Some(_) | None => impairment.clone(),
        }))
    }
}

/// Whether `toward` is one of `ends`, where it says anything.
pub(crate) fn is_end(toward: Option<&str>, ends: &[impl AsRef<str>]) -> Result<(), Fault> {
    match toward.filter(|toward| !ends.iter().any(|end| end.as_ref() == *toward)) {
        Some(toward) => Err(Fault::unknown(["toward"], "end of this line", toward, ends)),
        None => Ok(()),
    }
}
