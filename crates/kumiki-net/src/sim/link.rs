//! What is between a host and the network.

use core::time::Duration;
use kumiki_link::{
    Carrier, Codel, CodelConfig, Discipline, DropTail, FqCodel, FqCodelConfig, Hold, Impaired, Impairment, Loss, Rate,
    Serial, SerialConfig, Shared, Spread,
};

use super::time::nanos;

/// How long a frame that is held back waits at most where fewer than three come behind it.
const HELD: kumiki_graph::Duration = kumiki_graph::Duration::from_millis(50);

/// A host's line to the network, the same in both directions unless [`Link::up`] or [`Link::down`] says otherwise.
///
/// ```
/// use core::time::Duration;
/// use kumiki_net::sim::{Link, Net};
///
/// let net = Net::new(1);
/// let dsl = Link::new().rate(1_000_000).delay(Duration::from_millis(10)).loss(0.01).queue(100_000);
/// net.host("client").set_link(&dsl);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Link {
    up: LinkDirection,
    down: LinkDirection,
}

/// One direction.
#[derive(Clone, Debug, Default)]
struct LinkDirection {
    impairment: Impairment,
    rate: Option<u64>,
    queue: Queue,
}

/// How packets wait for the line.
#[derive(Clone, Copy, Debug, Default)]
enum Queue {
    /// All of them.
    #[default]
    Endless,
    /// So many octets.
    Octets(u64),
    CoDel,
    FqCoDel,
}

impl LinkDirection {
    fn discipline(&self, seed: u64) -> Box<dyn Discipline> {
        match self.queue {
            Queue::Endless => DropTail::UNLIMITED.queue(),
            Queue::Octets(octets) => DropTail::octets(octets).queue(),
            Queue::CoDel => Box::new(Codel::new(CodelConfig::default())),
            Queue::FqCoDel => Box::new(FqCodel::new(FqCodelConfig::default(), seed)),
        }
    }
}

impl Link {
    /// A line on which everything arrives at once.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn both(mut self, change: impl Fn(&mut LinkDirection)) -> Self {
        change(&mut self.up);
        change(&mut self.down);
        self
    }

    /// From the host to the network as `other` has it.
    #[must_use]
    pub fn up(mut self, other: &Self) -> Self {
        self.up = other.up.clone();
        self
    }

    /// From the network to the host as `other` has it.
    #[must_use]
    pub fn down(mut self, other: &Self) -> Self {
        self.down = other.down.clone();
        self
    }

    /// Every packet takes so long, besides the latency of the network.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        self.both(|way| way.impairment.delay = nanos(delay))
    }

    /// And up to so much more, each by itself; packets stay in order.
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Self {
        self.both(|way| {
            way.impairment.jitter = nanos(jitter);
            way.impairment.spread = Spread::Uniform;
        })
    }

    /// With this probability, 0 to 1, a packet is lost.
    ///
    /// # Panics
    /// Where it is no probability; so do the others.
    #[must_use]
    pub fn loss(self, probability: f64) -> Self {
        check(probability);
        self.both(|way| way.impairment.loss = Loss::Independent(probability))
    }

    /// Packets are lost in bursts of `burst` packets on average, and of all this part, 0 to 1 (Gilbert).
    #[must_use]
    pub fn burst_loss(self, part: f64, burst: f64) -> Self {
        check(part);
        assert!(burst >= 1.0, "bursts of {burst} packets: expected 1 or more on average");
        let part = part.min(0.999);
        let to_good = 1.0 / burst;
        let to_bad = (part * to_good / (1.0 - part)).min(1.0);
        self.both(|way| way.impairment.loss = Loss::Gilbert { to_bad, to_good, good: 0.0, bad: 1.0 })
    }

    /// With this probability, 0 to 1, a packet comes twice.
    #[must_use]
    pub fn duplicate(self, probability: f64) -> Self {
        check(probability);
        self.both(|way| way.impairment.duplicate = probability)
    }

    /// With this probability, 0 to 1, a packet is held back until three others have passed it.
    #[must_use]
    pub fn reorder(self, probability: f64) -> Self {
        check(probability);
        self.both(|way| way.impairment.hold = Some((probability, Hold::Followers(3, HELD))))
    }

    /// With this probability, 0 to 1, each bit is wrong.
    #[must_use]
    pub fn corrupt(self, probability: f64) -> Self {
        check(probability);
        self.both(|way| way.impairment.corrupt = probability)
    }

    /// So many bits a second; packets queue for it.
    ///
    /// # Panics
    /// Where it is 0: to let nothing pass, lose all or cut the host off.
    #[must_use]
    pub fn rate(self, bits_per_second: u64) -> Self {
        assert!(bits_per_second > 0, "a rate of 0 b/s lets nothing pass; loss(1.0) and Host::isolate do that");
        self.both(|way| way.rate = Some(bits_per_second))
    }

    /// So many octets may wait for the line; what finds no room is lost. Without it everything may wait.
    #[must_use]
    pub fn queue(self, octets: u64) -> Self {
        self.both(|way| way.queue = Queue::Octets(octets))
    }

    /// What waits is dropped, or marked where its sender allows that, once it has waited for longer than 5 ms for 100
    /// ms (CoDel, RFC 8289).
    #[must_use]
    pub fn codel(self) -> Self {
        self.both(|way| way.queue = Queue::CoDel)
    }

    /// And each flow waits for itself (FQ-CoDel, RFC 8290).
    #[must_use]
    pub fn fq_codel(self) -> Self {
        self.both(|way| way.queue = Queue::FqCoDel)
    }

    /// Whether everything passes it as it is, at once.
    pub(super) fn is_plain(&self) -> bool {
        let plain = |way: &LinkDirection| way.rate.is_none() && way.impairment == Impairment::default();
        plain(&self.up) && plain(&self.down)
    }

    /// The line's two pieces.
    pub(super) fn elements(&self, seed: u64) -> (Shared<Impaired>, Shared<Serial>) {
        let impaired = Impaired::new(self.up.impairment.clone(), self.down.impairment.clone(), seed);
        let queue = |way: &LinkDirection| way.discipline(seed);
        let mut serial = Serial::with_disciplines(serial(&self.up), queue(&self.up), queue(&self.down));
        serial.set_config(1, self::serial(&self.down));
        (Shared::new(impaired), Shared::new(serial))
    }

    /// Changes a line that is there.
    pub(super) fn apply(&self, (impaired, line): &(Shared<Impaired>, Shared<Serial>), seed: u64) {
        impaired.with(|it| {
            it.set(0, self.up.impairment.clone());
            it.set(1, self.down.impairment.clone());
        });
        line.with(|it| {
            for (port, way) in [&self.up, &self.down].into_iter().enumerate() {
                it.set_config(port, serial(way));
                it.set_discipline(port, way.discipline(seed));
            }
        });
    }
}

fn check(probability: f64) {
    assert!((0.0..=1.0).contains(&probability), "a probability of {probability}: expected 0 to 1");
}

/// So fast that no packet takes a nanosecond.
const AT_ONCE: u64 = 1 << 50;

const fn serial(way: &LinkDirection) -> SerialConfig {
    let rate = match way.rate {
        Some(rate) => rate,
        None => AT_ONCE,
    };
    SerialConfig {
        carrier: Carrier::Plain { rate: Rate::bits_per_second(rate), overhead: 0 },
        propagation: kumiki_graph::Duration::ZERO,
        say_sent: false,
    }
}
