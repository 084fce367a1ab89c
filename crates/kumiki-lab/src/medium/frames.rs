//! Lines that carry frames of no particular form.

use kumiki_link::{Carrier, Element, Rate, Serial, SerialConfig};
use kumiki_settings::{Duration, Settings};

use super::{FASTEST, FrameImpair, Queue, impaired};

/// What the frames are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framed {
    /// The payload of STS-3c or STM-1.
    Oc3c,
    /// That of STS-12c or STM-4.
    Oc12c,
    /// That of STS-48c or STM-16.
    Oc48c,
    /// Nothing: a line of so many bits per second.
    Line(u64),
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
    /// What waits at each end.
    #[setting(flatten)]
    pub queue: Queue,
    /// What goes wrong on it.
    #[setting(with = impaired)]
    pub impair: Option<FrameImpair>,
}

/// A line whose rate is said.
#[derive(Settings)]
pub(super) struct AtRate {
    /// Line rate.
    #[setting(1..=FASTEST, rate, required = "a rate such as \"10 Mb/s\"")]
    rate: u64,
    #[setting(flatten)]
    frames: Frames,
}

impl Default for AtRate {
    fn default() -> Self {
        Self { rate: 0, frames: Frames::on(Framed::Line(0)) }
    }
}

impl From<AtRate> for Frames {
    fn from(AtRate { rate, frames }: AtRate) -> Self {
        Self { framed: Framed::Line(rate), ..frames }
    }
}

impl Frames {
    pub(super) const fn on(framed: Framed) -> Self {
        let queue = Queue { queue_frames: None, mark_frames: None };
        Self { framed, propagation: Duration::ZERO, framing: 0, queue, impair: None }
    }

    const fn rate(&self) -> Rate {
        match self.framed {
            Framed::Oc3c => Rate::OC3C,
            Framed::Oc12c => Rate::OC12C,
            Framed::Oc48c => Rate::OC48C,
            Framed::Line(rate) => Rate::bits_per_second(rate),
        }
    }

    /// The line, at whose ends this waits.
    pub(crate) fn element(&self, queues: [Queue; 2]) -> Box<dyn Element> {
        let carrier = Carrier::Plain { rate: self.rate(), overhead: self.framing };
        let config = SerialConfig { carrier, propagation: self.propagation, say_sent: true };
        let [from_0, from_1] = queues.map(Queue::discipline);
        Box::new(Serial::with_disciplines(config, from_0, from_1))
    }
}
