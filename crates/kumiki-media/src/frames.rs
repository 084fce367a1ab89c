//! Lines that carry frames of no particular form.

use std::path::Path;
use std::sync::Arc;

use kumiki_link::{Carrier, Changing, Element, LineChange, Opportunities, Rate, Serial, SerialConfig, Shared, Stepped};
use kumiki_settings::{BuildError, Duration, Key, Reader, Settings, Value, ValueFormat};

use super::schedule::{self, Step};
use super::waits::Waits;
use super::{Clock, FASTEST, FrameImpair, Queue, impaired};
use kumiki_config::error::read_file;
use kumiki_config::errors::ConfigErrors;
use kumiki_config::{ConfigError, ErrorPlace};

/// What the frames are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framed {
    /// The payload of STS-3c or STM-1.
    Oc3c,
    /// That of STS-12c or STM-4.
    Oc12c,
    /// That of STS-48c or STM-16.
    Oc48c,
    /// Nothing: a line of so many bits per second, from the first end and from the second.
    Line([u64; 2]),
    /// Nothing: a line that delivers at the times of a recording.
    Recorded,
}

/// A line that carries frames.
#[derive(Clone, PartialEq, Debug, Settings)]
pub struct Frames {
    /// What they are in.
    #[setting(skip)]
    pub framed: Framed,
    /// Propagation, one way.
    pub propagation: Duration,
    /// What the line adds to each frame.
    #[setting(0..=65535, octets)]
    pub framing: u32,
    /// How fast its clock is, in parts per million; below 0 it is slow. Between two limits each run draws it.
    #[setting(text = Clock::parse, expected = "a whole number from -1000 to 1000, or two of them, the lower first, such as \"-20 .. 20\"")]
    pub clock_ppm: Clock,
    /// What waits at each end.
    #[setting(flatten)]
    pub queue: Queue,
    /// What goes wrong on it.
    #[setting(with = impaired)]
    pub impair: Option<FrameImpair>,
    /// What changes while it runs.
    #[setting(skip)]
    pub schedule: Vec<Step>,
    /// The files of a recording: one for both directions, or from the first end and from the second.
    #[setting(skip)]
    pub traces: Vec<String>,
}

/// A line whose rate is said.
#[derive(Settings)]
#[settings(check = Self::has_a_rate)]
pub(super) struct AtRate {
    /// Line rate.
    #[setting(with = written)]
    rate: [u64; 2],
    #[setting(flatten)]
    frames: Frames,
    /// What changes while it runs.
    #[setting(with = schedule::read)]
    schedule: Vec<Step>,
}

/// A line that delivers at the times of a recording.
#[derive(Settings)]
#[settings(check = Self::has_a_trace_for_each_direction)]
pub(super) struct Recorded {
    /// Files in mahimahi's format, of times in ms at which the line takes 1500 octets: one for both directions, or one
    /// from the first end and one from the second.
    #[setting(
        list,
        expected = "the path of a file",
        required = "files in mahimahi's format: one for both directions, or one for each"
    )]
    traces: Vec<String>,
    /// Propagation, one way.
    propagation: Duration,
    /// What the line adds to each frame.
    #[setting(0..=65535, octets)]
    framing: u32,
    /// What waits at each end.
    #[setting(flatten)]
    queue: Queue,
    /// What goes wrong on it.
    #[setting(with = impaired)]
    impair: Option<FrameImpair>,
}

impl Recorded {
    pub(super) fn new() -> Self {
        let Frames { propagation, framing, queue, impair, traces, .. } = Frames::on(Framed::Recorded);
        Self { traces, propagation, framing, queue, impair }
    }

    fn has_a_trace_for_each_direction(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        match self.traces.len() {
            1 | 2 => Ok(()),
            count => Err(reader.wrong("traces", &format!("{count} files"), "one for both directions, or one for each")),
        }
    }
}

impl From<Recorded> for Frames {
    fn from(Recorded { traces, propagation, framing, queue, impair }: Recorded) -> Self {
        Self { traces, propagation, framing, queue, impair, ..Self::on(Framed::Recorded) }
    }
}

impl AtRate {
    fn has_a_rate(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        if reader.is_set("rate") || reader.lists() {
            return Ok(());
        }
        Err(reader.missing("rate", "a rate such as \"10 Mb/s\""))
    }
}

impl Default for AtRate {
    fn default() -> Self {
        Self { rate: [0; 2], frames: Frames::on(Framed::Line([0; 2])), schedule: Vec::new() }
    }
}

/// Reads the rates that are written.
fn written(place: &mut [u64; 2], reader: &Reader<'_>) -> Result<(), BuildError> {
    const MEANING: &str = "Line rate; as a list of two, such as [\"1 Mb/s\", \"8 Mb/s\"], that of what the first end sends, and that of what the second does.";
    *place = rates(&Key::new("rate", MEANING).unset(""), 1, reader)?.unwrap_or_default();
    Ok(())
}

/// Reads the rate of both directions, of at least `least`, or a list of that from the first end and that from the
/// second.
pub(super) fn rates(key: &Key, least: u64, reader: &Reader<'_>) -> Result<Option<[u64; 2]>, BuildError> {
    if let Some(Value::List(values)) = reader.peek("rate") {
        let form = ValueFormat::Rate { least, most: FASTEST };
        let rate = |(number, value): (usize, &Value)| {
            let bits = if let Value::Rate(bits) = value { Some(*bits) } else { None };
            let bits = bits.filter(|bits| (least..=FASTEST).contains(bits));
            bits.ok_or_else(|| {
                let mut wrong = reader.wrong("rate", value, &form.to_string());
                wrong.path.push(number.to_string());
                wrong
            })
        };
        let rates = values.iter().enumerate().map(rate).collect::<Result<Vec<u64>, _>>()?;
        let expected = "one rate for both directions, or a list of two, from the first end and from the second";
        return <[u64; 2]>::try_from(rates)
            .map(Some)
            .map_err(|_| reader.wrong("rate", &format!("{} rates", values.len()), expected));
    }
    let mut both: Option<u64> = None;
    reader.rate(key, least..=FASTEST, &mut both)?;
    Ok(both.map(|both| [both; 2]))
}

impl From<AtRate> for Frames {
    fn from(AtRate { rate, frames, schedule }: AtRate) -> Self {
        Self { framed: Framed::Line(rate), schedule, ..frames }
    }
}

impl Frames {
    pub(super) const fn on(framed: Framed) -> Self {
        Self {
            framed,
            propagation: Duration::ZERO,
            framing: 0,
            clock_ppm: Clock::RIGHT,
            queue: Queue::NONE,
            impair: None,
            schedule: Vec::new(),
            traces: Vec::new(),
        }
    }

    /// How fast it is at first, in bits per second, in the direction in which it is faster; nothing of a recording.
    pub fn bits_per_second(&self) -> Option<u64> {
        let rates = self.rates().map(|rate| {
            let (bits, seconds) = rate.fraction();
            bits.checked_div(seconds)
        });
        rates.into_iter().max().flatten().filter(|_| self.framed != Framed::Recorded)
    }

    /// From the first end, and from the second.
    fn rates(&self) -> [Rate; 2] {
        match self.framed {
            Framed::Oc3c => [Rate::OC3C; 2],
            Framed::Oc12c => [Rate::OC12C; 2],
            Framed::Oc48c => [Rate::OC48C; 2],
            Framed::Line(rates) => rates.map(Rate::bits_per_second),
            // Nothing goes at it.
            Framed::Recorded => [Rate::bits_per_second(1); 2],
        }
    }

    /// The times at which a recorded line delivers what the first end sends, and the second; `None` for other lines.
    ///
    /// # Errors
    /// A [`ConfigError`] with the file and its line, or at `traces`.
    pub fn recording(&self) -> Result<Option<[Arc<Opportunities>; 2]>, ConfigError> {
        let read = |(number, file): (usize, &String)| {
            let at = ["traces".to_owned(), number.to_string()];
            let text = read_file(Path::new(file)).map_err(|fault| ConfigError::at(&at, fault.to_string()))?;
            let mut faults = ConfigErrors::default();
            let times = Opportunities::parse_all(&text, |error| {
                let fault = || ConfigError::new(error.problem).in_file(file).in_place(ErrorPlace::Line(error.line, 1));
                faults.push_at(Some((error.line, 1)), fault);
            });
            times
                .map(Arc::new)
                .ok_or_else(|| faults.all().unwrap_or_else(|| ConfigError::new("no recording").in_file(file)))
        };
        let times = self.traces.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(match times.as_slice() {
            [] => None,
            [both] => Some([Arc::clone(both), Arc::clone(both)]),
            [one, other, ..] => Some([Arc::clone(one), Arc::clone(other)]),
        })
    }

    /// The line, at whose ends this waits, with the seed of what is random on it, and how it changes; of connections
    /// that are watched it is put down when they wait there. At the ends that are `switched` an Ethernet switch sends.
    ///
    /// # Errors
    /// Those of [`Frames::recording`].
    pub fn element(
        &self,
        (queues, switched): ([Queue; 2], [bool; 2]),
        seed: u64,
        steps: &[Step],
        waits: Option<&Arc<Waits>>,
    ) -> Result<Box<dyn Element>, ConfigError> {
        let mut line = self.serial(queues, seed, waits)?;
        (0..2).zip(switched).filter(|(_, is_switch)| *is_switch).for_each(|(port, _)| line.count_groups(port));
        Ok(self.stepped(line, steps))
    }

    /// The same, and a hand by which it is changed by others too.
    ///
    /// # Errors
    /// Those of [`Frames::recording`].
    pub fn shared(
        &self,
        queues: [Queue; 2],
        seed: u64,
        steps: &[Step],
    ) -> Result<(Box<dyn Element>, Shared<Serial>), ConfigError> {
        let line = Shared::new(self.serial(queues, seed, None)?);
        Ok((self.stepped(line.clone(), steps), line))
    }

    /// As it is at 0 s, where that is said by its schedule; of a line that stands still then with the rate beside it.
    pub(super) fn at_first(mut self) -> Self {
        for step in self.schedule.iter().take_while(|step| step.at.is_zero()) {
            if let (Framed::Line(rates), Some(first)) = (&mut self.framed, step.rate) {
                rates.iter_mut().zip(first).filter(|(_, first)| *first > 0).for_each(|(rate, first)| *rate = first);
            }
            self.propagation = step.propagation.unwrap_or(self.propagation);
        }
        self
    }

    /// For frames from the first end, and from the second.
    fn config(&self) -> [SerialConfig; 2] {
        self.rates().map(|rate| {
            let carrier = Carrier::Plain { rate: rate.off_by(self.clock_ppm.ppm()), overhead: self.framing };
            SerialConfig { carrier, propagation: self.propagation, say_sent: true }
        })
    }

    fn serial(&self, [a, b]: [Queue; 2], seed: u64, waits: Option<&Arc<Waits>>) -> Result<Serial, ConfigError> {
        let queues = [a.discipline(seed, 0), b.discipline(seed, 1)];
        let queues = queues.map(|queue| match waits {
            Some(waits) => waits.watch(queue),
            None => queue,
        });
        let [config, back] = self.config();
        if let Some(times) = self.recording()? {
            return Ok(Serial::recorded(config, times, queues));
        }
        let [from_0, from_1] = queues;
        let mut line = Serial::with_disciplines(config, from_0, from_1);
        line.set_config(1, back);
        Ok(line)
    }

    fn stepped(&self, line: impl Changing<Change = LineChange> + 'static, steps: &[Step]) -> Box<dyn Element> {
        // A recording is not changed.
        let changes = schedule::of_line(steps, self.config(), self.clock_ppm.ppm());
        if changes.is_empty() { Box::new(line) } else { Box::new(Stepped::new(line, changes)) }
    }
}
