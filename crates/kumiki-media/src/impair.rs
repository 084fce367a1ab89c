//! What goes wrong on a medium.

use kumiki_link::{Hold, Impairment, Loss};
use kumiki_settings::{BuildError, Duration, HasSettings as _, Reader, Settings};

use kumiki_config::{ConfigError, settings};

/// What can go wrong on every medium. Chances are per frame or cell, from 0 to 1.
#[derive(Clone, PartialEq, Debug, Default, Settings)]
#[settings(check = Self::loses_one_way)]
pub struct Impair {
    /// Only what travels towards this end of the line is impaired.
    #[setting(text, expected = "an end of the line", unset = "all that travels is")]
    pub toward: Option<String>,
    /// Chance of loss.
    #[setting(share)]
    pub loss: f64,
    /// Loss in bursts.
    #[setting(with = bursts)]
    pub burst_loss: Option<BurstLoss>,
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

/// Loss in bursts, after Gilbert (1960) and Elliott (1963): a good and a bad state, which may change before each frame
/// or cell. In the long run `p (1 - h) / (p + r) + r (1 - k) / (p + r)` of them are lost. The letters are those of
/// Linux's `netem`.
#[derive(Clone, Copy, PartialEq, Debug, Settings)]
pub struct BurstLoss {
    /// Chance of going from the good to the bad state.
    #[setting(share, unset = "")]
    pub p: f64,
    /// Chance of going from the bad to the good state: where all is lost in the bad one, bursts are 1/`r` long on
    /// average.
    #[setting(share, unset = "")]
    pub r: f64,
    /// Chance of getting through in the bad state.
    #[setting(share)]
    pub h: f64,
    /// Chance of getting through in the good state.
    #[setting(share)]
    pub k: f64,
}

impl Default for BurstLoss {
    fn default() -> Self {
        Self { p: 0.0, r: 0.0, h: 0.0, k: 1.0 }
    }
}

impl BurstLoss {
    const fn loss(self) -> Loss {
        Loss::Gilbert { to_bad: self.p, to_good: self.r, good: 1.0 - self.k, bad: 1.0 - self.h }
    }
}

fn bursts(place: &mut Option<BurstLoss>, reader: &Reader<'_>) -> Result<(), BuildError> {
    if reader.lists() {
        return super::perhaps("burst_loss", place, reader);
    }
    if reader.is_set("burst_loss") {
        reader.table("burst_loss", |reader| {
            let mut own = BurstLoss::default();
            own.read(reader)?;
            for (key, chance) in [("p", own.p), ("r", own.r)] {
                if !reader.is_set(key) {
                    return Err(reader.missing(key, "a chance such as \"1 %\""));
                }
                if chance <= 0.0 {
                    let expected = "more than nothing: without both ways between the states there are no bursts";
                    return Err(reader.wrong(key, &"nothing", expected));
                }
            }
            *place = Some(own);
            Ok(())
        })?;
    }
    Ok(())
}

/// What can go wrong on a medium with frames: an ATM connection keeps the order of its cells, and a cell has no room
/// for IP's mark.
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
    fn loses_one_way(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        if self.burst_loss.is_some() && self.loss > 0.0 {
            return Err(reader.wrong(
                "loss",
                &self.loss,
                "left out beside burst_loss, whose `k` says what is lost between bursts",
            ));
        }
        Ok(())
    }

    /// Towards which end alone, and what goes wrong.
    pub fn impairment(&self) -> (Option<&str>, Impairment) {
        let impairment = Impairment {
            loss: match self.burst_loss {
                Some(bursts) => bursts.loss(),
                None if self.loss > 0.0 => Loss::Independent(self.loss),
                None => Loss::None,
            },
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
    /// A [`ConfigError`] whose path begins at the keys of `table`.
    pub fn read(table: &toml::Table) -> Result<Self, ConfigError> {
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
    pub fn impairment(&self) -> (Option<&str>, Impairment) {
        let (toward, any) = self.any.impairment();
        let hold = (self.reorder > 0.0).then_some((self.reorder, Hold::Time(self.reorder_by)));
        (toward, Impairment { mark: self.mark, hold, ..any })
    }

    /// What goes wrong with frames that go towards the end `0` and the end `1` of a line between `ends`.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of `impair`, where it speaks of another end.
    pub fn toward(&self, ends: [&str; 2]) -> Result<[Impairment; 2], ConfigError> {
        let (toward, impairment) = self.impairment();
        is_end(toward, &ends)?;
        Ok(ends.map(|end| match toward {
            Some(toward) if !is_named(toward, end) => Impairment::default(),
            Some(_) | None => impairment.clone(),
        }))
    }
}

/// Whether `toward` means the end `host.device`: it says so, or names the host or switch alone.
pub fn is_named(toward: &str, end: &str) -> bool {
    toward == end || end.split_once('.').is_some_and(|(place, _)| place == toward)
}

/// Whether `toward` is one of `ends`, where it says anything.
pub fn is_end(toward: Option<&str>, ends: &[impl AsRef<str>]) -> Result<(), ConfigError> {
    let Some(toward) = toward else {
        return Ok(());
    };
    match ends.iter().filter(|end| is_named(toward, end.as_ref())).count() {
        0 => Err(ConfigError::unknown(["toward"], "end of this line", toward, ends)),
        1 => Ok(()),
        _ => Err(ConfigError::at(["toward"], "both ends are there").found(format!("{toward:?}")).one_of(ends)),
    }
}
