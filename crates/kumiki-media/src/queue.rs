//! What waits at the ends of media with frames, and what decides about it.

use kumiki_graph::Rng;
use kumiki_link::{Codel, CodelConfig, Discipline, DropTail, FqCodel, FqCodelConfig, MarkFrom, Pie, PieConfig};
use kumiki_settings::{BuildError, Duration, Reader, Settings, Word};

/// What decides which frames go on and which are dropped or marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Rule {
    /// Whether there is room.
    #[default]
    DropTail,
    /// `CoDel`: for how long frames have waited.
    Codel,
    /// The same in a queue for each flow.
    FqCodel,
    /// `PIE`: chance, more or less of it as frames wait for longer or for less.
    Pie,
}

/// What waits at each end of a medium with frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Settings)]
pub struct Queue {
    /// Frames that may wait at each end, or so many products of bandwidth and delay, where the medium has one rate.
    ///
    /// How these are reckoned: [queues](scenarios.md#queues).
    #[setting(
        text = frames,
        expected = "a whole number of frames from 0 to 4294967295, or a product of bandwidth and delay such as \"1 bdp\"",
        unset = "as many as come; with `fq-codel` 10240"
    )]
    pub queue_frames: Option<u32>,
    /// What decides about them.
    #[setting(flatten)]
    pub managed: Managed,
}

/// A number of frames. Products have become one before it is read.
fn frames(text: &str) -> Option<u32> {
    text.parse().ok()
}

/// What decides about frames that wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Settings)]
#[settings(check = Self::is_of_its_rule)]
pub struct Managed {
    /// For `drop-tail`: from so many waiting frames on, those that come are marked for congestion (ECN) where their
    /// senders allow it.
    #[setting(0..=u32::MAX.into(), unset = "none is marked")]
    pub mark_frames: Option<u32>,
    /// Which frames are dropped: those that find no room; and those that have waited too long (CoDel, RFC 8289), the
    /// same in a queue for each flow (RFC 8290), or some by chance (PIE, RFC 8033).
    #[setting(word)]
    pub queue: Rule,
    /// What active queue management is set to.
    #[setting(table)]
    pub aqm: Aqm,
}

/// What active queue management is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Settings)]
pub struct Aqm {
    /// How long frames may wait.
    #[setting(unset = "5 ms; with `pie` 15 ms")]
    pub target: Option<Duration>,
    /// For `codel` and `fq-codel`: for how long all must have waited for longer than that, before one is dropped.
    #[setting(positive, unset = "100 ms")]
    pub interval: Option<Duration>,
    /// Whether frames are marked for congestion instead, where their senders allow it; with `pie` while chances are
    /// below 10 %.
    #[setting(unset = "true")]
    pub ecn: Option<bool>,
    /// For `fq-codel`: how many queues there are; flows whose hash is the same share one. Flows are told apart by IP's
    /// addresses and protocol, and the ports of TCP and UDP.
    #[setting(1..=65536, unset = "1024")]
    pub flows: Option<u32>,
    /// For `fq-codel`: how much of a flow goes before it is the next one's turn.
    #[setting(1..=u32::MAX.into(), octets, unset = "1514 B")]
    pub quantum: Option<u32>,
    /// For `fq-codel`: how much may wait, as `queue_frames` says how many frames.
    #[setting(0..=1 << 40, octets, unset = "32000000 B")]
    pub memory: Option<u64>,
    /// For `pie`: for how long a burst is let through.
    #[setting(unset = "150 ms")]
    pub burst: Option<Duration>,
}

impl Aqm {
    /// Each setting, and what it is for.
    const OF: [(&'static str, &'static [Rule]); 7] = [
        ("target", &[Rule::Codel, Rule::FqCodel, Rule::Pie]),
        ("interval", &[Rule::Codel, Rule::FqCodel]),
        ("ecn", &[Rule::Codel, Rule::FqCodel, Rule::Pie]),
        ("flows", &[Rule::FqCodel]),
        ("quantum", &[Rule::FqCodel]),
        ("memory", &[Rule::FqCodel]),
        ("burst", &[Rule::Pie]),
    ];
}

impl Managed {
    /// As many as come, and none is marked.
    pub(super) const NONE: Self = Self {
        mark_frames: None,
        queue: Rule::DropTail,
        aqm: Aqm { target: None, interval: None, ecn: None, flows: None, quantum: None, memory: None, burst: None },
    };

    fn is_of_its_rule(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        if let Some(frames) = self.mark_frames.filter(|_| self.queue != Rule::DropTail) {
            let expected = "left out: only queue = \"drop-tail\" marks from a length on";
            return Err(reader.wrong("mark_frames", &frames, expected));
        }
        reader.table("aqm", |reader| {
            let found = Aqm::OF.map(|(key, rules)| (key, rules, reader.peek(key)));
            for (key, rules, value) in found {
                if let Some(value) = value.filter(|_| !rules.contains(&self.queue)) {
                    let rules = rules.iter().map(|rule| format!("\"{}\"", rule.word())).collect::<Vec<_>>();
                    let expected = format!("left out, or queue = {}", rules.join(" or "));
                    return Err(reader.wrong(key, value, &expected));
                }
            }
            Ok(())
        })
    }
}

impl Rule {
    /// Its name.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, rule)| *rule == self).map_or("", |(word, _)| word)
    }
}

impl Queue {
    /// As many as come, and none is marked.
    pub(super) const NONE: Self = Self { queue_frames: None, managed: Managed::NONE };

    /// The same, in which `most` frames may wait where nothing is said.
    pub(super) fn bounded(self, most: u32) -> Self {
        Self { queue_frames: Some(self.queue_frames.unwrap_or(most)), ..self }
    }

    /// How much may wait.
    pub(super) fn room(self) -> DropTail {
        self.queue_frames.map_or(DropTail::UNLIMITED, |frames| DropTail::frames(frames.into()))
    }

    /// The queue of a medium's end `end`; `seed` is that of what is random of the medium.
    pub fn discipline(self, seed: u64, end: usize) -> Box<dyn Discipline> {
        let limit = self.room();
        let Managed { mark_frames, queue, aqm } = self.managed;
        let seed = Rng::named(seed, end as u64, "queue").next_u64();
        let ecn = aqm.ecn.unwrap_or(true);
        match queue {
            Rule::DropTail => match mark_frames {
                None => limit.queue(),
                Some(frames) => MarkFrom { room: limit, frames: frames.into() }.queue(),
            },
            Rule::Codel => {
                let usual = CodelConfig::default();
                let target = aqm.target.unwrap_or(usual.target);
                let interval = aqm.interval.unwrap_or(usual.interval);
                Box::new(Codel::new(CodelConfig { target, interval, ecn, limit }))
            }
            Rule::FqCodel => {
                let usual = FqCodelConfig::default();
                let config = FqCodelConfig {
                    target: aqm.target.unwrap_or(usual.target),
                    interval: aqm.interval.unwrap_or(usual.interval),
                    ecn,
                    flows: aqm.flows.unwrap_or(usual.flows),
                    quantum: aqm.quantum.unwrap_or(usual.quantum),
                    limit: DropTail {
                        frames: self.queue_frames.map_or(usual.limit.frames, u64::from),
                        octets: aqm.memory.unwrap_or(usual.limit.octets),
                    },
                    ..usual
                };
                Box::new(FqCodel::new(config, seed))
            }
            Rule::Pie => {
                let usual = PieConfig::default();
                let target = aqm.target.unwrap_or(usual.target);
                let max_burst = aqm.burst.unwrap_or(usual.max_burst);
                Box::new(Pie::new(PieConfig { target, max_burst, ecn, limit }, seed))
            }
        }
    }
}
