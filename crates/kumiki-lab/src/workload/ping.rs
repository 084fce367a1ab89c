//! A program that asks for echoes and times the answers.
//!
//! | | |
//! |---|---|
//! | Specification | what ping does with RFC 792's echo; times are virtual, with nothing of the program's own in them |
//! | Above | nothing |
//! | Below | [`kumiki_inet::icmp`] |
//! | Left out | record route, flood, and more than 65535 echoes without answer |

use core::net::IpAddr;
use kumiki_wire::inet::IpParameters;
use std::collections::BTreeMap;

use kumiki_graph::{
    Above, Below, Context, Duration, Indication, Instant, Protocol, Report, Request, Service, Shape, TimerSlot, Token,
    Unit, Work,
};
use kumiki_octets::{Message, Pattern};

use super::gaps::Gaps;
use super::sink::first_wrong;
use super::{Opening, STACK, Times, Transfer};

/// What a [`Ping`] does.
#[derive(Clone, Debug)]
pub struct PingConfig {
    /// Whom to ask.
    pub peer: IpAddr,
    /// Octets of data in each echo.
    pub data: u32,
    /// How many echoes; without end where `None`.
    pub count: Option<u64>,
    /// From one to the next.
    pub interval: Duration,
    /// The content.
    pub pattern: Pattern,
    /// When the first goes.
    pub opening: Opening,
    /// How data gets into the stack's memory.
    pub transfer: Transfer,
}

/// What became of the echoes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Echoes {
    /// Asked for.
    pub sent: u64,
    /// Answered.
    pub answered: u64,
    /// Not answered so far, and on its way for all that is known: see [`Ping::echoes_by`].
    pub in_flight: u64,
    /// Neither answered nor in flight, and no error was told of it.
    pub lost: u64,
    /// How many of those that are neither answered nor in flight left while their way was not there.
    pub left_in_vain: u64,
    /// Answered more than once, or not to be told whose answer it is.
    pub stray: u64,
    /// Of which an error was told (ICMP).
    pub errors: u64,
    /// Answered with other data.
    pub wrong: u64,
    /// The longest time in which no answer came, from the first echo that is measured to where the one behind the last
    /// would have left.
    pub silence: Duration,
    /// The shortest round trip.
    pub min: Option<Duration>,
    /// All round trips together.
    pub sum: Duration,
    /// The longest round trip.
    pub max: Option<Duration>,
}

impl core::fmt::Display for Echoes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} echoes asked for, {} answered", self.sent, self.answered)?;
        if self.in_flight > 0 {
            write!(f, ", {} in flight", self.in_flight)?;
        }
        if self.lost > 0 {
            write!(f, ", {} lost", self.lost)?;
        }
        if let (Some(min), Some(mean), Some(max)) = (self.min, self.mean(), self.max) {
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            write!(f, ", round trip {:.3} / {:.3} / {:.3} ms (min, mean, max)", ms(min), ms(mean), ms(max))?;
        }
        for (count, what) in [(self.errors, "met an error"), (self.stray, "stray"), (self.wrong, "with wrong data")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

impl core::ops::AddAssign for Echoes {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.in_flight += other.in_flight;
        self.lost += other.lost;
        self.left_in_vain += other.left_in_vain;
        self.stray += other.stray;
        self.errors += other.errors;
        self.wrong += other.wrong;
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.silence = self.silence.max(other.silence);
    }
}

impl Echoes {
    /// One has been answered after so long, with the data that it had where `same`.
    fn answered_in(&mut self, took: Duration, same: bool) {
        self.answered += 1;
        self.sum += took;
        self.min = Some(self.min.map_or(took, |min| min.min(took)));
        self.max = Some(self.max.map_or(took, |max| max.max(took)));
        self.wrong += u64::from(!same);
    }

    /// How many are lost of those of which it is known, as a part of one; nothing where it is known of none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a printed figure needs no more than 53 bits")]
    pub fn lost_share(&self) -> Option<f64> {
        let known = self.sent.saturating_sub(self.in_flight);
        (known > 0).then(|| known.saturating_sub(self.answered) as f64 / known as f64)
    }

    /// The mean round trip, where there was one.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        (self.answered > 0).then(|| self.sum / self.answered)
    }
}

/// What is known of the way of echoes, there and back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EchoPath {
    /// From when until when it was not there, in order.
    pub away: Vec<(Instant, Instant)>,
    /// Since when it has lost all that comes.
    pub gone_since: Option<Instant>,
    /// Since when it has been standing still, with what waits on it.
    pub still_since: Option<Instant>,
    /// How much of whatever waits on it, or elsewhere.
    pub waiting: u64,
}

/// The program; see the module.
#[derive(Debug)]
pub struct Ping {
    config: PingConfig,
    began: Instant,
    timer: TimerSlot,
    /// By the number that ICMP gives them: when each left.
    open: BTreeMap<u16, Instant>,
    /// When that left which left last of all that have been answered, where any has.
    latest: Option<Instant>,
    /// The most by which one that left later was answered before another one.
    overtaken_by: Duration,
    /// When the last answer came, or else the first echo left.
    heard: Option<Instant>,
    /// When the last echo left.
    asked: Option<Instant>,
    /// Between answers.
    gaps: Gaps,
    /// Since the start.
    echoes: Echoes,
    /// What left by then is not measured.
    before: Option<Instant>,
    /// Of those that left since, and of what came since that belongs to none.
    measured: Echoes,
    /// Of those that left since.
    round_trips: Times,
}

impl Ping {
    /// A program that does what `config` says.
    #[must_use]
    pub fn new(config: PingConfig) -> Self {
        Self {
            config,
            began: Instant::ZERO,
            timer: TimerSlot::default(),
            open: BTreeMap::new(),
            latest: None,
            overtaken_by: Duration::ZERO,
            heard: None,
            asked: None,
            gaps: Gaps::default(),
            echoes: Echoes::default(),
            before: None,
            measured: Echoes::default(),
            round_trips: Times::default(),
        }
    }

    /// Echoes that have left by `now` are not measured, and neither are their answers.
    pub fn measure_from(&mut self, now: Instant) {
        (self.before, self.measured, self.round_trips) = (Some(now), Echoes::default(), Times::default());
        self.gaps.measure_from(now);
    }

    /// Whether what has `left` then is measured.
    fn is_measured(&self, left: Instant) -> bool {
        self.before.is_none_or(|before| left > before)
    }

    /// What became of the echoes since the start.
    #[must_use]
    pub const fn echoes(&self) -> Echoes {
        self.echoes
    }

    /// What by `now` became of those that are measured, with what of them is in flight and what is lost. Lost is what
    /// has no answer and was overtaken, by more than any was that was answered all the same; what left when its way had
    /// gone; and what is out for longer than the longest round trip, or than a second where none has been. While its
    /// way stands still no time passes for what waits there, and no more is in flight than waits.
    #[must_use]
    pub fn echoes_by(&self, now: Instant, way: &EchoPath) -> Echoes {
        let most = self.echoes.max.unwrap_or(Duration::from_secs(1));
        let until = way.still_since.unwrap_or(now);
        // What was answered since has not gone that way.
        let gone = way.gone_since.filter(|since| self.latest.is_none_or(|latest| latest < *since));
        let may_come = |left: &Instant| {
            let is_overtaken = self.latest.is_some_and(|latest| latest.saturating_since(*left) > self.overtaken_by);
            let is_in_time = until.saturating_since(*left) <= most;
            !is_overtaken && is_in_time && gone.is_none_or(|since| *left < since)
        };
        let is_in_vain = |left: &Instant| {
            let place = way.away.partition_point(|(_, until)| until <= left);
            way.away.get(place).is_some_and(|(since, _)| since <= left)
        };
        let (out, lost): (Vec<Instant>, Vec<Instant>) =
            self.open.values().filter(|left| self.is_measured(**left)).partition(|left| may_come(left));
        let waits = if way.still_since.is_some() { way.waiting } else { u64::MAX };
        let in_flight = (out.len() as u64).min(waits);
        let beyond = out.len() as u64 - in_flight;
        Echoes {
            in_flight,
            lost: (lost.len() as u64 + beyond).saturating_sub(self.measured.errors),
            silence: self.silence_by(now),
            left_in_vain: lost.iter().filter(|left| is_in_vain(left)).count() as u64 + beyond,
            ..self.measured
        }
    }

    /// The longest time without an answer until `now`.
    fn silence_by(&self, now: Instant) -> Duration {
        let mut gaps = self.gaps;
        // Nobody waits once no more is asked for.
        if let Some(asked) = self.asked {
            gaps.arrived(self.heard, now.min(asked + self.config.interval));
        }
        gaps.measured
    }

    /// The round trips of those that are measured.
    #[must_use]
    pub const fn round_trips(&self) -> &Times {
        &self.round_trips
    }

    /// Whether all echoes have been answered, where their number is given.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let Echoes { sent, errors, .. } = self.echoes;
        let out = u64::try_from(self.open.len()).unwrap_or(u64::MAX);
        self.config.count.is_some_and(|count| sent >= count) && out <= errors
    }

    /// Whether it was to stop by now.
    #[must_use]
    pub fn has_stopped(&self, now: Instant) -> bool {
        self.config.opening.is_over(now)
    }

    /// Whether no more echoes will be asked for.
    #[must_use]
    pub fn has_asked_all(&self) -> bool {
        self.config.count.is_some_and(|count| self.echoes.sent >= count)
    }

    fn ask(&mut self, cx: &mut Context<'_>) {
        let PingConfig { data, count, interval, pattern, transfer, .. } = self.config;
        if self.config.opening.is_over(cx.now()) || count.is_some_and(|count| self.echoes.sent >= count) {
            return;
        }
        let now = cx.now();
        self.echoes.sent += 1;
        self.measured.sent += 1;
        // ICMP numbers the echoes of each user from 1.
        let [.., high, low] = self.echoes.sent.to_be_bytes();
        self.open.insert(u16::from_be_bytes([high, low]), now);
        self.asked = Some(now);
        self.heard.get_or_insert(now);
        let mut message = Message::generated(pattern, 0, usize::try_from(data).unwrap_or(0));
        if transfer.summed {
            message.sum();
        }
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, u64::from(data) * transfer.copies);
        cx.down(STACK, Request::Unit(Box::new(Unit { destination: self.config.peer.into(), ..Unit::of(message) })));
        let at = (self.began + interval * self.echoes.sent).max(now);
        cx.set_timer(&mut self.timer, Token::default(), at);
    }

    fn answered(&mut self, unit: &Unit, cx: &mut Context<'_>) {
        cx.charge(Work::Call, 1);
        cx.charge(Work::Copy, unit.data.len() as u64 * self.config.transfer.copies);
        let Some(left) = self.open.remove(&IpParameters::from(unit.options.special).identification) else {
            self.echoes.stray += 1;
            self.measured.stray += 1;
            return;
        };
        let took = cx.now().saturating_since(left);
        self.gaps.arrived(self.heard.replace(cx.now()), cx.now());
        let overtaken_by = self.latest.map_or(Duration::ZERO, |latest| latest.saturating_since(left));
        self.overtaken_by = self.overtaken_by.max(overtaken_by);
        self.latest = self.latest.max(Some(left));
        let same_len = unit.data.len() as u64 == u64::from(self.config.data);
        let same = same_len && first_wrong(self.config.pattern, 0, &unit.data).is_none();
        self.echoes.answered_in(took, same);
        if self.is_measured(left) {
            self.measured.answered_in(took, same);
            self.round_trips.record(took);
        }
    }
}

impl Protocol for Ping {
    fn shape(&self) -> Shape {
        Shape { offers: None, needs: &[Service::UNIT_DATA], below: (1, 1), keys: Vec::new() }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.began = self.config.opening.first(cx);
        cx.set_timer(&mut self.timer, Token::default(), self.began);
    }

    fn push(&mut self, _: Above, _: Request, cx: &mut Context<'_>) {
        cx.drop("nothing stands above a program");
    }

    fn pop(&mut self, _: Below, indication: Indication, cx: &mut Context<'_>) {
        if let Indication::Unit(unit) = indication {
            self.answered(&unit, cx);
        } else if let Indication::Report(report) = indication {
            let errors = u64::from(matches!(*report, Report::Unreachable { .. }));
            self.echoes.errors += errors;
            self.measured.errors += errors;
        }
    }

    fn expire(&mut self, _: Token, cx: &mut Context<'_>) {
        self.ask(cx);
    }
}
