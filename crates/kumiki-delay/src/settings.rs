//! What is done to the units of one direction, and how it is written.

use core::fmt;

use kumiki_graph::{Duration, Instant};
use kumiki_link::{
    Carrier, Codel, CodelConfig, Discipline, DropTail, FqCodel, FqCodelConfig, Hold, Impairment, Loss as LinkLoss, Pie,
    PieConfig, Rate as LinkRate, SerialConfig, Spread,
};

use kumiki_config::quantity::{Octets, Rate, Share};
use kumiki_media::Rule;
use kumiki_settings::Word as _;

/// How units get lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Loss {
    /// Not at all.
    #[default]
    None,
    /// Each with this probability, whatever became of the others.
    Each(Share),
    /// In bursts, by Gilbert's two states, one of which may follow the other before each unit.
    Gilbert {
        /// Probability of going from good to bad.
        to_bad: Share,
        /// Probability of going from bad to good.
        to_good: Share,
        /// Probability of loss in the bad state.
        bad: Share,
        /// Probability of loss in the good state.
        good: Share,
    },
}

/// For how long units are held back, so that others overtake them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reorder {
    /// For that long.
    By(Duration),
    /// Until so many others have passed, or for that long where fewer come.
    Behind(u32, Duration),
}

/// How much may wait for the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queue {
    /// So many packets.
    Packets(u64),
    /// So many octets of packets.
    Octets(Octets),
    /// All that comes, up to [`super::MOST_UNITS`] and the memory that there is.
    Unlimited,
}

/// How much may wait where nothing else is said: as the disciplines of Linux of these names have it.
pub(super) const fn usual(rule: Rule) -> Queue {
    match rule {
        Rule::DropTail | Rule::Codel | Rule::Pie => Queue::Packets(QUEUE),
        Rule::FqCodel => Queue::Packets(10_240),
    }
}

/// A queue with this room, with the times that RFCs 8289, 8290 and 8033 name. `seed` fixes what it draws.
fn begin(rule: Rule, limit: DropTail, seed: u64) -> Box<dyn Discipline> {
    match rule {
        Rule::DropTail => limit.queue(),
        Rule::Codel => Box::new(Codel::new(CodelConfig { limit, ..CodelConfig::default() })),
        Rule::FqCodel => Box::new(FqCodel::new(FqCodelConfig { limit, ..FqCodelConfig::default() }, seed)),
        Rule::Pie => Box::new(Pie::new(PieConfig { limit, ..PieConfig::default() }, seed)),
    }
}

/// What is done to the units of one direction; the default is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Of the line on which units are put one behind the other, first of all; `None`: it takes no time.
    pub rate: Option<Rate>,
    /// What may wait for the line; the rest is dropped.
    pub queue: Queue,
    /// Who decides about what waits.
    pub rule: Rule,
    /// Octets that each unit has on the line beside its own.
    pub overhead: Octets,
    /// Which units that have left the line are lost.
    pub loss: Loss,
    /// Probability that a unit comes twice.
    pub duplicate: Share,
    /// Probability that a bit of a unit is wrong.
    pub corrupt: Share,
    /// Added to each unit's time.
    pub delay: Duration,
    /// So much more, as `spread` has it.
    pub jitter: Duration,
    /// How `jitter` spreads.
    pub spread: Spread,
    /// Whether units may overtake others for their jitter.
    pub overtake: bool,
    /// Probability that a unit is held back, and for how long.
    pub reorder: Option<(Share, Reorder)>,
    /// Whether the line is down: what comes to its end meanwhile is lost.
    pub is_down: bool,
}

/// As the transmit queue of a network interface of Linux.
const QUEUE: u64 = 1000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: None,
            queue: Queue::Packets(QUEUE),
            rule: Rule::DropTail,
            overhead: Octets::new(0),
            loss: Loss::None,
            duplicate: Share::default(),
            corrupt: Share::default(),
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            spread: Spread::Uniform,
            overtake: false,
            reorder: None,
            is_down: false,
        }
    }
}

impl Settings {
    /// No unit that comes now leaves before so long.
    pub(super) fn least_delay(&self) -> Duration {
        if self.spread == Spread::Normal && !self.jitter.is_zero() { Duration::ZERO } else { self.delay }
    }

    /// Whether all that happens to units is to wait equally long: those of a super-segment then leave together, as they
    /// came.
    pub(super) fn only_delay(&self) -> bool {
        // Of a line that takes no time every queue is empty; but one that is managed may draw for what passes it.
        let plain = Self::default();
        let Self { delay, queue, overhead, spread, overtake, .. } = plain;
        Self { delay, queue, overhead, spread, overtake, ..*self } == plain
    }

    /// The line. One without a rate is so fast that nothing ever waits for it.
    pub(super) fn line(&self) -> SerialConfig {
        let rate = self.rate.map_or(u64::MAX, Rate::bits_per_second);
        SerialConfig {
            carrier: Carrier::Plain {
                rate: LinkRate::bits_per_second(rate),
                overhead: u32::try_from(self.overhead.count()).unwrap_or(u32::MAX),
            },
            propagation: Duration::ZERO,
            say_sent: false,
        }
    }

    /// Its queue. `seed` fixes what it draws.
    #[must_use]
    pub fn discipline(&self, seed: u64) -> Box<dyn Discipline> {
        begin(self.rule, self.room(), seed)
    }

    const fn room(&self) -> DropTail {
        match self.queue {
            Queue::Packets(n) => DropTail::frames(n),
            Queue::Octets(n) => DropTail::octets(n.count()),
            Queue::Unlimited => DropTail::UNLIMITED,
        }
    }

    /// What happens behind the line.
    pub(super) fn impairment(&self) -> Impairment {
        let mut impairment = Impairment { delay: self.delay, ..Impairment::default() };
        self.impair(&mut impairment);
        impairment
    }

    /// What can go wrong behind the line, in `impairment`, which keeps its delay and what is not set here: another line
    /// may have these.
    pub fn impair(&self, impairment: &mut Impairment) {
        impairment.loss = match self.loss {
            Loss::None => LinkLoss::None,
            Loss::Each(share) => LinkLoss::Independent(share.as_f64()),
            Loss::Gilbert { to_bad, to_good, bad, good } => LinkLoss::Gilbert {
                to_bad: to_bad.as_f64(),
                to_good: to_good.as_f64(),
                good: good.as_f64(),
                bad: bad.as_f64(),
            },
        };
        impairment.duplicate = self.duplicate.as_f64();
        impairment.corrupt = self.corrupt.as_f64();
        impairment.jitter = self.jitter;
        impairment.spread = self.spread;
        impairment.overtake = self.overtake;
        impairment.hold = self.reorder.map(|(share, reorder)| {
            let hold = match reorder {
                Reorder::By(time) => Hold::Time(time),
                Reorder::Behind(units, time) => Hold::Followers(units, time),
            };
            (share.as_f64(), hold)
        });
        impairment.down.retain(|outage| *outage != ALWAYS);
        impairment.down.extend(self.is_down.then_some(ALWAYS));
    }
}

/// When a line is down that is down until somebody says otherwise.
const ALWAYS: (Instant, Instant) = (Instant::ZERO, Instant::from_nanos(u64::MAX));

/// The name of a spread on the command line.
pub(super) const SPREADS: [(&str, Spread); 4] = [
    ("uniform", Spread::Uniform),
    ("normal", Spread::Normal),
    ("exponential", Spread::Exponential),
    ("pareto", Spread::Pareto),
];

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Each(share) => share.fmt(f),
            Self::Gilbert { to_bad, to_good, bad, good } => write!(f, "gilbert {to_bad} {to_good} {bad} {good}"),
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Octets(n) => n.fmt(f),
            Self::Unlimited => f.write_str("none"),
        }
    }
}

/// As a line of [`super::Command`] has it: all that is not as it is at the beginning.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Self::default();
        let mut parts = Vec::new();
        if let Some(rate) = self.rate {
            parts.push(format!("rate {rate}"));
        }
        if (self.rule, self.queue) != (plain.rule, plain.queue) {
            let rule = Rule::WORDS.iter().find(|(_, rule)| *rule == self.rule && *rule != plain.rule);
            let rule = rule.map_or_else(String::new, |(name, _)| format!("{name} "));
            parts.push(format!("queue {rule}{}", self.queue));
        }
        if self.overhead != plain.overhead {
            parts.push(format!("overhead {}", self.overhead));
        }
        if self.loss != plain.loss {
            parts.push(format!("loss {}", self.loss));
        }
        if self.duplicate != plain.duplicate {
            parts.push(format!("duplicate {}", self.duplicate));
        }
        if self.corrupt != plain.corrupt {
            parts.push(format!("corrupt {}", self.corrupt));
        }
        if self.delay != plain.delay {
            parts.push(format!("delay {}", self.delay));
        }
        if self.jitter != plain.jitter {
            let spread = SPREADS.iter().find(|(_, spread)| *spread == self.spread);
            let spread = spread.map_or("uniform", |(name, _)| name);
            parts.push(format!("jitter {} {spread}", self.jitter));
        }
        if self.overtake {
            parts.push("order free".to_owned());
        }
        if let Some((share, reorder)) = self.reorder {
            parts.push(match reorder {
                Reorder::By(time) => format!("reorder {share} by {time}"),
                Reorder::Behind(units, time) => format!("reorder {share} behind {units} {time}"),
            });
        }
        if self.is_down {
            parts.push("state down".to_owned());
        }
        if parts.is_empty() {
            parts.push("clear".to_owned());
        }
        f.write_str(&parts.join(" "))
    }
}
