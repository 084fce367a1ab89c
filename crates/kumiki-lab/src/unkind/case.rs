//! What a seed decides: the line, the two hosts, their programs.
//!
//! Nothing here is drawn as a floating-point number with a logarithm in it: sizes and times that spread over decades are
//! drawn as a power of two and the bits below it, so that a seed means the same case on every machine.

use kumiki_graph::{Coalesce, Duration, EcnUse, Instant, Quality, Rng};
use kumiki_link::{Hold, Impairment, Loss};
use kumiki_proto::tcp::config::{
    AckRule, AckTimer, Beat, EdgeRule, HalfWindow, LossDetection, RateReduction, Rounding,
    WindowUpdate,
};
use kumiki_proto::tcp::congestion::{Algorithm, InitialWindow};
use kumiki_proto::tcp::{self, defaults, rtt};

mod extras;

/// The largest transfer in one direction: 64 MiB.
const MOST_OCTETS: u64 = 64 << 20;

/// What carries TCP's segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stack {
    /// IP datagrams, one to a frame. Only the Internet checksum protects them.
    Ip,
    /// IP over LLC/SNAP over AAL5 in software, one PDU to a frame. CRC-32 protects them.
    Aal5,
    /// IP over LLC/SNAP over an adapter that does AAL5 and sends cells.
    Cells,
}

/// The line between the hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Bits in a second, of what the near and the far host send. The same where the line carries cells.
    pub rates: [u64; 2],
    /// From end to end.
    pub propagation: Duration,
    /// Octets that may wait to be sent, in each direction; PDUs where the line carries cells.
    pub queue: u64,
    /// What befalls what the near and the far host send.
    pub weather: [Impairment; 2],
}

/// How an end begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// Calls the other end.
    Calls {
        /// So long after the start.
        after: Duration,
    },
    /// Waits for a call.
    Listens {
        /// From then on.
        after: Duration,
        /// So long after an offer it is taken.
        accepts_after: Duration,
        /// Offers are refused instead.
        refuses: bool,
        /// It goes on listening when it has taken an offer.
        stays: bool,
    },
}

/// How a program writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writing {
    /// Octets in all.
    pub total: u64,
    /// Octets in one write, the fewest and the most.
    pub piece: (u64, u64),
    /// After so many writes, a pause of so long.
    pub pause: Option<(u32, Duration)>,
    /// Each write of so many is urgent.
    pub urgent: Option<u32>,
    /// Content is written as real octets; otherwise as content that follows from its position, which costs nothing to
    /// carry and is compared all the same.
    pub stored: bool,
}

/// How a program gives credit back for what it has got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// All of it at once.
    AtOnce,
    /// All of it, so long after it came.
    Late(Duration),
    /// At most so many octets at a time, so far apart.
    Bits(u64, Duration),
    /// At once, but with one pause when so many octets have come.
    Pauses(u64, Duration),
}

/// When a program sends no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finish {
    /// When all is written.
    Written,
    /// When all is written and the peer sends no more.
    AfterPeer,
    /// So long after all is written.
    Later(Duration),
    /// So long after the start, whatever is left; at the latest when all is written.
    At(Duration),
}

/// When a program ends the connection at once, if it has not ended before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// When so many octets are written.
    Written(u64),
    /// When so many have been received.
    Received(u64),
    /// So long after the start; also during the handshake.
    Time(Duration),
}

/// One host: TCP and the program on it.
#[derive(Clone, PartialEq, Debug)]
pub struct End {
    /// What its TCP started from.
    pub profile: &'static str,
    /// Its TCP.
    pub tcp: tcp::Config,
    /// What the program asks for when it opens or accepts.
    pub quality: Quality,
    /// The largest datagram it can carry, in octets.
    pub mtu: u32,
    /// How many inputs its host takes before it settles.
    pub batch: usize,
    /// Clusters of send memory, where the memory is modelled.
    pub clusters: Option<u32>,
    /// How it begins.
    pub opening: Opening,
    /// How it writes.
    pub writing: Writing,
    /// How it reads.
    pub reading: Reading,
    /// How it ends.
    pub finish: Finish,
    /// When it ends at once.
    pub abort: Option<Moment>,
}

/// All that one run is.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Where it came from; also the seed of everything that happens in it.
    pub seed: u64,
    /// What carries TCP's segments.
    pub stack: Stack,
    /// The line.
    pub line: Line,
    /// The near and the far end. The near one always calls.
    pub ends: [End; 2],
}

/// Draws with words of their own.
struct Dice(Rng);

impl Dice {
    fn new(seed: u64, stream: u64) -> Self {
        // Streams of a seed up to 255 belong to hosts and elements.
        Self(Rng::new(seed, 256 + stream))
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    /// A number of `least..=most`, each power of two in between as likely as the other; `least` is at least 1.
    fn spread(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = (least.max(1).ilog2(), most.max(1).ilog2());
        let power = u64::from(low) + self.0.below(u64::from(high.saturating_sub(low)) + 1);
        let base = 1_u64 << power;
        (base + self.0.below(base)).clamp(least, most.max(least))
    }

    fn narrow(&mut self, least: u32, most: u32) -> u32 {
        u32::try_from(self.spread(least.into(), most.into())).unwrap_or(most)
    }

    fn uniform(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below(most.saturating_sub(least) + 1)
    }

    /// A time, spread like [`Dice::spread`].
    fn time(&mut self, least: Duration, most: Duration) -> Duration {
        Duration::from_nanos(self.spread(least.as_nanos(), most.as_nanos()))
    }

    /// Between 2^-`rare` and `most` parts of 1024.
    fn probability(&mut self, most: u64) -> f64 {
        let p = self.spread(1, most << 10);
        #[expect(clippy::cast_precision_loss, reason = "below 2^20")]
        let p = p as f64;
        p / 1_048_576.0
    }

    fn pick<T: Copy>(&mut self, of: &[T], or: T) -> T {
        let n = self.0.below(u64::try_from(of.len()).unwrap_or(0));
        usize::try_from(n)
            .ok()
            .and_then(|n| of.get(n))
            .copied()
            .unwrap_or(or)
    }
}

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}

impl Case {
    /// The case of `seed`.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed, 0);
        let stack = match dice.0.below(10) {
            0..=5 => Stack::Ip,
            6..=7 => Stack::Aal5,
            _ => Stack::Cells,
        };
        let mut near = end(seed, 0);
        let mut far = end(seed, 1);
        near.opening = Opening::Calls {
            after: if dice.one_in(4) {
                dice.time(us(1), s(1))
            } else {
                Duration::ZERO
            },
        };
        if dice.one_in(3) {
            // Hosts of one network mostly agree.
            far.mtu = near.mtu;
        }
        let mut line = line(&mut dice, stack, near.mtu.max(far.mtu));
        if dice.one_in(16) {
            let after = dice.time(us(1), line.propagation.max(us(2)));
            far.opening = Opening::Calls { after };
            near.opening = Opening::Calls {
                after: dice.time(us(1), line.propagation.max(us(2))),
            };
        }
        volume(&mut dice, [&mut near, &mut far], &line);
        if !dice.one_in(12) {
            bad_weather(&mut dice, &mut line, stack);
        }
        extras::extras(seed, [&mut near, &mut far]);
        if stack == Stack::Ip {
            marking(&mut Dice::new(seed, 22), &mut line);
        }
        ending(&mut dice, &mut near, &far);
        ending(&mut dice, &mut far, &near);
        if near.finish == Finish::AfterPeer && far.finish == Finish::AfterPeer {
            far.finish = Finish::Written;
        }
        Self {
            seed,
            stack,
            line,
            ends: [near, far],
        }
    }

    /// Whether anything can be lost between the hosts, for whatever reason.
    #[must_use]
    pub fn may_lose(&self) -> bool {
        let spoils = |weather: &Impairment| {
            weather.loss != Loss::None || weather.corrupt > 0.0 || !weather.down.is_empty()
        };
        self.line.queue != u64::MAX || self.line.weather.iter().any(spoils)
    }
}

fn line(dice: &mut Dice, stack: Stack, mtu: u32) -> Line {
    // A full frame takes at most two seconds, and a full queue twenty: with more, no time-out that is allowed would
    // be longer than the round trip.
    let least = u64::from(mtu) * 8 / 2;
    let rate = dice.spread(least.max(10_000), 10_000_000_000);
    let back = if stack != Stack::Cells && dice.one_in(4) {
        (rate / dice.spread(1, 64)).max(least).max(10_000)
    } else {
        rate
    };
    let queue = if dice.one_in(3) {
        u64::MAX
    } else if stack == Stack::Cells {
        dice.spread(1, 256)
    } else {
        let frames = dice.spread(1, 512);
        frames.saturating_mul(mtu.into())
    };
    let in_20_s = rate.min(back) / 8 * 20;
    let queue = if stack == Stack::Cells {
        queue.min((in_20_s / u64::from(mtu)).max(1))
    } else if queue == u64::MAX && in_20_s > 64 * MOST_OCTETS {
        queue
    } else {
        queue.min(in_20_s)
    };
    Line {
        rates: [rate, back],
        propagation: if dice.one_in(8) {
            Duration::ZERO
        } else {
            dice.time(us(1), s(1))
        },
        queue,
        weather: [Impairment::default(), Impairment::default()],
    }
}

/// How much goes in each direction, and in which pieces.
///
/// One direction in 32 is empty; one in 32 of the others has 1 to 64 MiB, the rest 1 octet to 1 MiB, every power of two
/// as likely. Then it is cut so that it takes at most 40,000 full segments, 4,000 windows, or 500 segments where nothing
/// controls congestion, and a slow writer or reader at most a few thousand steps.
fn volume(dice: &mut Dice, ends: [&mut End; 2], line: &Line) {
    let [near, far] = ends;
    let one_way = dice.0.below(3);
    for number in 0..2 {
        let (from, to) = if number == 0 {
            (&mut *near, &mut *far)
        } else {
            (&mut *far, &mut *near)
        };
        let wanted = match dice.0.below(32) {
            0 => 0,
            1 => dice.spread(1 << 20, MOST_OCTETS),
            _ => dice.spread(1, 1 << 20),
        };
        let segment = u64::from(segment(from, to));
        let window = u64::from(from.send_buffer().min(to.receive_buffer()));
        let mut most = (40_000 * segment).min(4_000 * window);
        if from.tcp.congestion == Algorithm::Fixed {
            most = most.min(500 * segment);
        }
        let rate = line.rates.iter().copied().min().unwrap_or(1);
        // A day and a half on the slowest lines.
        most = most.min(rate / 8 * 100_000);
        let total = if one_way == 1 + number {
            0
        } else {
            wanted.min(most.max(1))
        };
        let least = (total / 4_000).max(1);
        let piece = dice.spread(least, 128 << 10);
        from.writing = Writing {
            total,
            piece: if dice.one_in(2) {
                (piece, piece)
            } else {
                (least, piece)
            },
            pause: dice.one_in(4).then(|| {
                let writes = total / piece.max(1);
                let every = dice.spread(1, 1_000).max(writes / 200);
                (
                    u32::try_from(every).unwrap_or(u32::MAX),
                    dice.time(us(1), s(3)),
                )
            }),
            urgent: None,
            stored: total <= 256 << 10 && dice.one_in(2),
        };
        let reading = match dice.0.below(8) {
            0 => Reading::Late(dice.time(us(1), s(2))),
            1 => Reading::Bits(
                dice.spread(1, 64 << 10).max(total / 1_000).max(1),
                dice.time(us(1), s(2)),
            ),
            2 => Reading::Pauses(dice.0.below(total + 1), dice.time(ms(1), s(200))),
            _ => Reading::AtOnce,
        };
        to.reading = reading;
    }
    // With few enough octets, memory can be modelled without ever being short of receive memory.
    if near.writing.total + far.writing.total <= 1 << 15 {
        for end in [near, far] {
            end.clusters = dice
                .one_in(3)
                .then(|| u32::try_from(dice.spread(1, 64)).unwrap_or(1));
        }
    }
}

/// The largest text of a segment from one end to the other, or a little less.
fn segment(from: &End, to: &End) -> u32 {
    let cap = |end: &End| {
        let link = end.mtu.saturating_sub(40);
        link.min(end.tcp.mss.map_or(u32::MAX, u32::from))
    };
    cap(from).min(cap(to)).saturating_sub(12).max(1)
}

impl End {
    /// The send buffer it really has, in octets.
    #[must_use]
    pub fn send_buffer(&self) -> u32 {
        self.quality.send_buffer.unwrap_or(self.tcp.send_buffer)
    }

    /// The receive buffer it begins with, in octets.
    #[must_use]
    pub fn receive_buffer(&self) -> u32 {
        match self.opening {
            Opening::Calls { .. } => self
                .quality
                .receive_buffer
                .unwrap_or(self.tcp.receive_buffer),
            // What is asked for on accepting only ever adds.
            Opening::Listens { .. } => self.tcp.receive_buffer,
        }
    }
}

fn end(seed: u64, number: u64) -> End {
    let dice = &mut Dice::new(seed, 1 + number);
    let (profile, mut tcp) = match dice.0.below(10) {
        0..=5 => ("modern", defaults::modern()),
        6..=7 => ("bsd43", defaults::bsd43()),
        _ => ("solaris23", defaults::solaris23()),
    };
    if dice.one_in(2) {
        (tcp.timestamps, tcp.sack, tcp.window_scaling) =
            (dice.one_in(2), dice.one_in(2), dice.one_in(2));
    }
    if dice.one_in(2) {
        tcp.send_buffer = buffer(dice);
    }
    if dice.one_in(2) {
        tcp.receive_buffer = buffer(dice);
    }
    if dice.one_in(3) {
        sending(dice, &mut tcp);
    }
    // Draws of its own, so that another way to recover changes nothing else of a seed.
    recovery(&mut Dice::new(seed, 3 + number), &mut tcp);
    // As before.
    marks(&mut Dice::new(seed, 20 + number), &mut tcp);
    if dice.one_in(3) {
        acknowledging(dice, &mut tcp);
    }
    if dice.one_in(3) {
        timing(dice, &mut tcp);
    }
    let mut quality = Quality::default();
    if dice.one_in(8) {
        quality.send_buffer = Some(buffer(dice));
    }
    if dice.one_in(8) {
        quality.receive_buffer = Some(buffer(dice));
    }
    if dice.one_in(2) {
        let rules = [Coalesce::Never, Coalesce::Nagle, Coalesce::Minshall];
        quality.coalesce = Some(dice.pick(&rules, Coalesce::Nagle));
    }
    let mtu = match dice.0.below(12) {
        0 => 68,
        1 => 65_527,
        2 => dice.narrow(68, 65_527),
        3 => 296,
        4 => 576,
        5 => 4_352,
        6..=7 => 9_180,
        _ => 1_500,
    };
    if dice.one_in(4) {
        tcp.mss = u16::try_from(dice.narrow(28, 9_140)).ok();
    }
    End {
        profile,
        tcp,
        quality,
        mtu,
        batch: if dice.one_in(4) {
            usize::try_from(dice.uniform(2, 8)).unwrap_or(1)
        } else {
            1
        },
        clusters: None,
        opening: Opening::Listens {
            after: if dice.one_in(16) {
                dice.time(us(1), s(10))
            } else {
                Duration::ZERO
            },
            accepts_after: if dice.one_in(5) {
                dice.time(us(1), s(5))
            } else {
                Duration::ZERO
            },
            refuses: dice.one_in(64),
            stays: dice.one_in(2),
        },
        writing: Writing {
            total: 0,
            piece: (1, 1),
            pause: None,
            urgent: None,
            stored: false,
        },
        reading: Reading::AtOnce,
        finish: Finish::Written,
        abort: None,
    }
}

/// A tiny, an ordinary or a huge buffer.
fn buffer(dice: &mut Dice) -> u32 {
    match dice.0.below(8) {
        0 => dice.narrow(1, 512),
        1 => dice.narrow(1 << 20, 64 << 20),
        _ => dice.narrow(512, 1 << 20),
    }
}

fn sending(dice: &mut Dice, tcp: &mut tcp::Config) {
    let controls = [Algorithm::NewReno, Algorithm::Cubic, Algorithm::Fixed];
    tcp.congestion = dice.pick(&controls, Algorithm::NewReno);
    let segments = dice.narrow(1, 16);
    let windows = [
        InitialWindow::Rfc6928,
        InitialWindow::Rfc3390,
        InitialWindow::Segments(segments),
    ];
    tcp.initial_window = dice.pick(&windows, InitialWindow::Rfc6928);
    tcp.slow_start_limit = dice.narrow(1, 8);
    tcp.slow_start_after_idle = dice.one_in(2);
    tcp.duplicate_threshold = u32::try_from(dice.0.below(6)).unwrap_or(3);
    tcp.new_reno = dice.one_in(2);
    tcp.limited_transmit = dice.one_in(2);
    let halves = [HalfWindow::Off, HalfWindow::Rfc, HalfWindow::Always];
    tcp.half_window = dice.pick(&halves, HalfWindow::Rfc);
    // RFC 9293 section 3.8.6.2.1: 0.1 to 1 s.
    tcp.override_timeout = dice.time(ms(100), s(1));
    tcp.send_granularity = if dice.one_in(2) {
        0
    } else {
        dice.narrow(64, 8_192)
    };
    tcp.low_water = dice.narrow(1, 16_384);
}

fn recovery(dice: &mut Dice, tcp: &mut tcp::Config) {
    if !dice.one_in(2) {
        return;
    }
    let detections = [LossDetection::Sack, LossDetection::Rack];
    tcp.loss_detection = dice.pick(&detections, LossDetection::Rack);
    let reductions = [
        RateReduction::AtOnce,
        RateReduction::Prr,
        RateReduction::PrrCrb,
        RateReduction::PrrSsrb,
    ];
    tcp.rate_reduction = dice.pick(&reductions, RateReduction::Prr);
    tcp.tail_loss_probe = dice.one_in(2);
    tcp.undo = dice.one_in(2);
    tcp.f_rto = dice.one_in(2);
    tcp.adapt_to_reordering = dice.one_in(2);
    tcp.hystart = dice.one_in(2);
    tcp.pacing = dice.one_in(2);
}

fn marks(dice: &mut Dice, tcp: &mut tcp::Config) {
    if dice.one_in(3) {
        return;
    }
    let uses = [
        EcnUse::Off,
        EcnUse::Passive,
        EcnUse::Classic,
        EcnUse::Accurate,
        EcnUse::Accurate,
    ];
    tcp.ecn = dice.pick(&uses, EcnUse::Classic);
    tcp.abe = dice.one_in(4);
}

/// Congestion marks, which only plain datagrams get: few, many, or on all that can be marked.
fn marking(dice: &mut Dice, line: &mut Line) {
    for weather in &mut line.weather {
        if dice.one_in(2) {
            weather.mark = if dice.one_in(12) {
                1.0
            } else {
                dice.probability(400)
            };
        }
    }
}

fn acknowledging(dice: &mut Dice, tcp: &mut tcp::Config) {
    let roundings = [Rounding::Exact, Rounding::Up, Rounding::Down];
    tcp.rounding = dice.pick(&roundings, Rounding::Exact);
    tcp.window_update = WindowUpdate {
        segments: u32::try_from(dice.0.below(4)).unwrap_or(2),
        percent: u32::try_from(dice.uniform(10, 60)).unwrap_or(50),
    };
    tcp.edge = dice.pick(&[EdgeRule::Rfc, EdgeRule::Bsd], EdgeRule::Rfc);
    tcp.ack = AckRule {
        every: u32::try_from(dice.0.below(5)).unwrap_or(2),
        count_small: dice.one_in(2),
    };
    // MUST-40: less than half a second.
    tcp.ack_timer = if dice.one_in(2) {
        AckTimer::Timeout(dice.time(ms(1), ms(490)))
    } else {
        AckTimer::Heartbeat(Beat {
            period: dice.time(ms(1), ms(490)),
            phase: None,
        })
    };
}

fn timing(dice: &mut Dice, tcp: &mut tcp::Config) {
    let rtos = [
        rtt::Config::LINUX,
        rtt::Config::RFC6298,
        rtt::Config::BSD,
        rtt::Config {
            maximum: Duration::from_secs(60),
            ..rtt::Config::LINUX
        },
    ];
    tcp.rto = dice.pick(&rtos, rtt::Config::LINUX);
    tcp.slow_beat = dice.one_in(3).then(|| Beat {
        period: dice.time(ms(10), ms(500)),
        phase: None,
    });
    tcp.max_retransmissions = u32::try_from(dice.uniform(8, 15)).unwrap_or(15);
    tcp.syn_retries = u32::try_from(dice.uniform(3, 8)).unwrap_or(7);
    tcp.user_timeout = dice.one_in(8).then(|| dice.time(s(10), s(600)));
    tcp.time_wait = dice.time(s(1), s(240));
}

/// When an end stops, given what it writes and what the other one does.
fn ending(dice: &mut Dice, end: &mut End, other: &End) {
    end.finish = match dice.0.below(8) {
        0..=1 => Finish::AfterPeer,
        2 => Finish::Later(dice.time(us(1), s(100))),
        3 => Finish::At(dice.time(us(1), s(30))),
        _ => Finish::Written,
    };
    if dice.one_in(5) {
        end.abort = Some(match dice.0.below(3) {
            0 => Moment::Written(dice.0.below(end.writing.total + 1)),
            1 => Moment::Received(dice.0.below(other.writing.total + 1)),
            _ => Moment::Time(dice.time(us(1), s(100))),
        });
    }
}

fn bad_weather(dice: &mut Dice, line: &mut Line, stack: Stack) {
    let first = one_way(dice, stack);
    let second = match dice.0.below(4) {
        0 => Impairment::default(),
        1 => one_way(dice, stack),
        _ => first.clone(),
    };
    let turned = dice.one_in(2);
    line.weather = if turned {
        [second, first]
    } else {
        [first, second]
    };
}

fn one_way(dice: &mut Dice, stack: Stack) -> Impairment {
    let mut it = Impairment::default();
    if dice.one_in(2) {
        it.loss = if dice.one_in(3) {
            Loss::Gilbert {
                to_bad: dice.probability(50),
                to_good: 0.2 + dice.probability(600),
                good: 0.0,
                bad: 0.5 + dice.probability(512),
            }
        } else {
            // A cell lost is a PDU lost, and a PDU may be hundreds of cells.
            Loss::Independent(dice.probability(if stack == Stack::Cells { 8 } else { 200 }))
        };
    }
    if dice.one_in(3) {
        it.duplicate = dice.probability(if stack == Stack::Cells { 4 } else { 200 });
    }
    if dice.one_in(3) {
        it.corrupt = dice.probability(if stack == Stack::Cells { 4 } else { 60 });
        // Two wrong bits can make up for each other in the Internet checksum, never in CRC-32 at these lengths.
        if stack != Stack::Ip && dice.one_in(2) {
            it.corrupt_again = 0.5;
        }
    }
    if dice.one_in(3) {
        it.jitter = dice.time(us(1), s(1));
    }
    if stack != Stack::Cells && dice.one_in(3) {
        let time = dice.time(us(10), s(2));
        let followers = dice.narrow(1, 12);
        let hold = if dice.one_in(2) {
            Hold::Time(time)
        } else {
            Hold::Followers(followers, time)
        };
        it.hold = Some((dice.probability(300), hold));
    }
    if dice.one_in(6) {
        let mut at = Instant::ZERO;
        for _ in 0..dice.uniform(1, 3) {
            at += dice.time(ms(1), s(60));
            let until = at + dice.time(ms(1), s(300));
            it.down.push((at, until));
            at = until;
        }
    }
    it
}
