//! Lines that are changed by whoever runs their world, while it runs.

use kumiki_graph::Duration;
use kumiki_link::{Carrier, Discipline, Element, Impaired, Impairment, Rate, Serial, Shared, Stepped};
use kumiki_sim::{ElementId, Plug, World};

use super::fault::{ConfigError, fault};
use kumiki_media::{self as medium, Framed, ImpairmentSchedule, Line, Queue, Step};

/// A line of a [`LiveWorld`](super::LiveWorld).
pub struct LiveLine {
    /// The name of its medium.
    medium: String,
    line: Line,
    ends: [String; 2],
    /// What waits for the line at each end.
    queues: [Queue; 2],
    seed: u64,
    /// The line itself, where it carries frames of no particular form.
    serial: Option<Shared<Serial>>,
    ways: Vec<LineEnd>,
}

/// The way from the medium to one of its ends.
struct LineEnd {
    impaired: Shared<Impaired>,
    element: ElementId,
    /// What is joined where nothing goes wrong.
    plugs: [Plug; 2],
    /// Whether units cross the element: where nothing goes wrong they go past it, for it costs.
    is_crossed: bool,
}

/// What the way to one end of a line is like.
#[derive(Clone, PartialEq, Debug)]
pub struct LineState {
    /// Bits per second; `None` where the medium has a rate of its own.
    pub rate: Option<u64>,
    /// What it adds to each frame, in octets.
    pub framing: u32,
    /// One way.
    pub propagation: Duration,
    /// What waits for it.
    pub queue: Queue,
    /// What goes wrong on it.
    pub impairment: Impairment,
}

/// How the way to one end of a line changes. What says nothing stays as it is.
#[derive(Default)]
pub struct LineUpdate {
    /// Bits per second.
    pub rate: Option<u64>,
    /// What it adds to each frame, in octets.
    pub framing: Option<u32>,
    /// One way.
    pub propagation: Option<Duration>,
    /// What waits for it. What waits already stays.
    pub discipline: Option<Box<dyn Discipline>>,
    /// What goes wrong on it: units that are in flight keep their fate.
    pub impairment: Impairment,
}

impl LiveLine {
    pub(super) fn new(
        (medium, line): (&str, &Line),
        ends: [String; 2],
        (queues, seed): ([Queue; 2], u64),
        serial: Option<Shared<Serial>>,
    ) -> Self {
        Self { medium: medium.to_owned(), line: line.clone(), ends, queues, seed, serial, ways: Vec::new() }
    }

    /// As [`plug_in`](super::media::plug_in) for the next end.
    pub(super) fn plug_in(
        &mut self,
        name: &str,
        (medium, port): (ElementId, usize),
        (end, plug): (&str, Plug),
        (wrong, seed): (Option<ImpairmentSchedule>, u64),
        world: &mut World,
    ) {
        let is_crossed = wrong.is_some();
        let (impairment, changes) = wrong.unwrap_or_default();
        let impaired = Shared::new(Impaired::new(impairment, Impairment::default(), seed));
        let element: Box<dyn Element> = if changes.is_empty() {
            Box::new(impaired.clone())
        } else {
            Box::new(Stepped::new(impaired.clone(), changes))
        };
        let element = world.add_element(&format!("{name} to {end}"), element);
        let plugs = [Plug::Port(medium, port), plug];
        world.plug(Plug::Port(medium, port), Plug::Port(element, 0));
        world.plug(Plug::Port(element, 1), plug);
        if !is_crossed {
            let [near, far] = plugs;
            world.lead(near, far);
            world.lead(far, near);
        }
        self.ways.push(LineEnd { impaired, element, plugs, is_crossed });
    }

    /// Its ends, `host.device` or `switch.port`.
    #[must_use]
    pub const fn ends(&self) -> &[String; 2] {
        &self.ends
    }

    /// Which of its ends `toward` means: 0 or 1. A host or switch alone is enough where it is at one end.
    ///
    /// # Errors
    /// A [`ConfigError`] where it is none of them.
    pub fn end(&self, toward: &str) -> Result<usize, ConfigError> {
        medium::is_end(Some(toward), &self.ends)?;
        Ok(usize::from(!self.ends.first().is_some_and(|end| medium::is_named(toward, end))))
    }

    /// Whether it can change so: what `step` says of both ways, and `queue` where what waits for it, or what it adds to
    /// frames, is to change.
    ///
    /// # Errors
    /// A [`ConfigError`] that says what would be right.
    pub fn judge(&self, step: &Step, queue: bool) -> Result<(), ConfigError> {
        self.line.judge(&self.medium, step)?;
        if queue && self.serial.is_none() {
            let problem = format!("what waits for {} stays as it is", self.medium);
            return Err(fault(&["queue"], problem).expected("a line of the medium \"point-to-point\""));
        }
        // Its ends would see that there is no signal, and so they do where the file says it.
        if step.up.is_some() && matches!(self.line, Line::Pos(_)) {
            let problem = format!("{} loses its signal at times that are known beforehand", self.medium);
            return Err(fault(&["up"], problem).expected("an event of the file, or a loss of 100 %"));
        }
        Ok(())
    }

    /// What the way to its end `end` (0, or else 1) is like.
    #[must_use]
    pub fn state(&self, end: usize) -> LineState {
        let impairment = self.ways.get(end).map(|way| way.impaired.with(|it| it.impairment(0).clone()));
        let (rate, framing) = match &self.line {
            Line::Frames(frames) => match frames.framed {
                Framed::Line(rates) => (rates.get(1 - end.min(1)).copied(), frames.framing),
                Framed::Oc3c | Framed::Oc12c | Framed::Oc48c | Framed::Recorded => (None, frames.framing),
            },
            Line::Cells(_) | Line::Pos(_) | Line::Synchronous(_) => (None, 0),
        };
        let queue = self.queues.get(1 - end.min(1)).copied().unwrap_or_default();
        let propagation = self.line.propagation();
        LineState { rate, framing, propagation, queue, impairment: impairment.unwrap_or_default() }
    }

    /// What waits for it on the way to its end `end` (0, or else 1), again and as the file has it.
    #[must_use]
    pub fn discipline(&self, end: usize) -> Box<dyn Discipline> {
        let from = 1 - end.min(1);
        self.queues.get(from).copied().unwrap_or_default().discipline(self.seed, from)
    }

    /// What is random of it comes from this.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Changes the way to its end `end` (0, or else 1). The world has been run up to the present time.
    pub(super) fn change(&mut self, end: usize, update: LineUpdate, world: &mut World) {
        let LineUpdate { rate, framing, propagation, discipline, impairment } = update;
        let from = 1 - end.min(1);
        if let Some(serial) = &self.serial {
            let ppm = if let Line::Frames(frames) = &self.line { frames.clock_ppm.ppm() } else { 0 };
            serial.with(|it| {
                let mut config = it.config(from);
                if let Carrier::Plain { rate: own, overhead } = &mut config.carrier {
                    *own = rate.map_or(*own, |rate| Rate::bits_per_second(rate).off_by(ppm));
                    *overhead = framing.unwrap_or(*overhead);
                }
                config.propagation = propagation.unwrap_or(config.propagation);
                it.set_config(from, config);
                if let Some(discipline) = discipline {
                    it.set_discipline(from, discipline);
                }
            });
        }
        let Some(way) = self.ways.get_mut(end) else {
            return;
        };
        if !core::mem::replace(&mut way.is_crossed, true) {
            let [near, far] = way.plugs;
            world.lead(near, Plug::Port(way.element, 0));
            world.lead(far, Plug::Port(way.element, 1));
        }
        way.impaired.with(|it| it.set(0, impairment));
    }
}
