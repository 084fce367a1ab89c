//! Lines that carry HDLC frames bit by bit, and those among them that are there only when one end has called the other.

use kumiki_graph::Instant;
use kumiki_link::{Carrier, Element, Exchange, ExchangeConfig, Rate, Serial, SerialConfig};
use kumiki_settings::{BuildError, Duration, Reader, Settings};
use kumiki_wire::ppp::hdlc::{BitFraming, FcsKind};

use super::{Clock, FASTEST, FCS, FLAGS, FrameImpair, Managed, Queue, Rule, impaired, perhaps, time};
use kumiki_config::ConfigError;

/// A synchronous line.
#[derive(Clone, PartialEq, Debug, Settings)]
#[settings(check = Self::is_marked_alone)]
pub struct Synchronous {
    /// Bits per second.
    #[setting(skip)]
    pub rate: u64,
    /// Propagation, one way.
    pub propagation: Duration,
    /// How fast its clock is, in parts per million; below 0 it is slow. Between two limits each run draws it.
    #[setting(text = Clock::parse, expected = "a whole number from -1000 to 1000, or two of them, the lower first, such as \"-20 .. 20\"")]
    pub clock_ppm: Clock,
    /// Bits of the frame check sequence.
    #[setting(words = FCS)]
    pub fcs: FcsKind,
    /// Flags between two frames.
    #[setting(words = FLAGS, name = "flags")]
    pub opening_flag: bool,
    /// What waits at each end.
    #[setting(flatten)]
    pub queue: Queue,
    /// The circuits, where it is there only when one end has called the other.
    #[setting(with = Self::switched)]
    pub switched: Option<Switched>,
    /// What goes wrong on it.
    #[setting(with = impaired)]
    pub impair: Option<FrameImpair>,
}

/// A line whose rate is said.
#[derive(Settings)]
pub(super) struct AtRate {
    /// Line rate.
    #[setting(1..=FASTEST, rate, required = "a rate such as \"256 kb/s\"")]
    rate: u64,
    #[setting(flatten)]
    line: Synchronous,
}

/// The circuits of a line that is switched, for `x32`.
#[derive(Clone, PartialEq, Debug, Settings)]
pub struct Switched {
    /// The numbers of the two ends, in their order.
    #[setting(list, expected = "a number of digits, one for each end", required = "the numbers of the two ends")]
    pub numbers: Vec<String>,
    /// From dialling until the other end is rung.
    pub setup: Duration,
    /// How long it is rung at most.
    pub ring: Duration,
    /// From clearing until both ends are told, and can call again.
    pub release: Duration,
    /// Whether who is called is told who calls.
    pub tells_caller: bool,
    /// When the network clears the circuit, where one stands, from the start.
    #[setting(list = time, expected = "a time such as \"20 s\"")]
    pub clears: Vec<Duration>,
}

impl Default for AtRate {
    fn default() -> Self {
        Self { rate: 0, line: Synchronous::at(0) }
    }
}

impl From<AtRate> for Synchronous {
    fn from(AtRate { rate, line }: AtRate) -> Self {
        Self { rate, ..line }
    }
}

impl Default for Switched {
    fn default() -> Self {
        let usual = ExchangeConfig::new(Synchronous::at(0).line());
        let ExchangeConfig { setup, ring, release, tells_caller, .. } = usual;
        Self { numbers: Vec::new(), setup, ring, release, tells_caller, clears: Vec::new() }
    }
}

impl Synchronous {
    pub(super) const fn at(rate: u64) -> Self {
        Self {
            rate,
            propagation: Duration::ZERO,
            clock_ppm: Clock::RIGHT,
            fcs: FcsKind::Fcs16,
            opening_flag: false,
            queue: Queue::NONE,
            switched: None,
            impair: None,
        }
    }

    fn switched(place: &mut Option<Switched>, reader: &Reader<'_>) -> Result<(), BuildError> {
        perhaps("switched", place, reader)
    }

    fn is_marked_alone(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        if self.switched.is_none() {
            return Ok(());
        }
        let Managed { mark_frames, queue, .. } = self.queue.managed;
        if let Some(frames) = mark_frames {
            return Err(reader.wrong("mark_frames", &frames, "left out: frames of a circuit are no packets of IP's"));
        }
        match queue {
            Rule::DropTail => Ok(()),
            Rule::Codel | Rule::FqCodel | Rule::Pie => {
                Err(reader.wrong("queue", &queue.word(), "drop-tail: a circuit must lose none of its frames"))
            }
        }
    }

    const fn line(&self) -> SerialConfig {
        let framing = BitFraming { fcs: self.fcs, opening_flag: self.opening_flag };
        let carrier =
            Carrier::Synchronous { rate: Rate::bits_per_second(self.rate).off_by(self.clock_ppm.ppm()), framing };
        SerialConfig { carrier, propagation: self.propagation, say_sent: true }
    }

    pub(super) fn element(&self, seed: u64) -> Result<Box<dyn Element>, ConfigError> {
        let Some(switched) = &self.switched else {
            let [from_0, from_1] = [0, 1].map(|end| self.queue.discipline(seed, end));
            return Ok(Box::new(Serial::with_disciplines(self.line(), from_0, from_1)));
        };
        let Switched { numbers, setup, ring, release, tells_caller, clears } = switched;
        let config = ExchangeConfig {
            queue: self.queue.room(),
            setup: *setup,
            ring: *ring,
            release: *release,
            tells_caller: *tells_caller,
            clears: clears.iter().map(|after| Instant::ZERO + *after).collect(),
            ..ExchangeConfig::new(self.line())
        };
        let wrong = |why: String| ConfigError::at(["switched", "numbers"], why);
        if numbers.len() != 2 {
            return Err(wrong(format!("{} numbers", numbers.len())).expected("one for each of the two ends"));
        }
        let numbers = numbers.iter().map(|text| text.parse().map_err(|error| format!("{error}")));
        let numbers = numbers.collect::<Result<_, String>>().map_err(wrong)?;
        Ok(Box::new(Exchange::new(config, numbers).map_err(|error| wrong(error.to_string()))?))
    }
}
