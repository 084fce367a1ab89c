//! An FDDI ring: stations that pass a token around, and frames that go once around and are taken off by their source.
//!
//! | | |
//! |---|---|
//! | Specification | ISO 9314-2 (timed token), ISO 9314-1 (symbols), as RFC 1390 and K. C. Sevcik, M. J. Johnson, "Cycle Time Properties of the FDDI Token Ring Protocol" (IEEE Trans. SE 13, 1987) describe them; recalled where neither says |
//! | Model | 100 Mbit/s, so a symbol of half an octet lasts 40 ns; each frame with its preamble of 16 symbols, delimiters, check sequence and frame status, each token with 11 octets |
//! | Left out | synchronous allocation, restricted tokens, thresholds of priorities, the second ring, bit errors and with them the E indicator, lost tokens and their recovery, what stripping leaves of a frame |
//!
//! | read | for |
//! |---|---|
//! | `station.rs` | what waits at a station, and its timers TRT and THT |
//! | `token.rs` | where the token is while nobody holds it |
//!
//! # The timed token
//!
//! Every station measures by its timer TRT how long the token takes around the ring. What is left of the target (TTRT)
//! when the token comes is how long the station may send (THT); a frame that was begun is ended. A token that is late
//! is passed on, and what it is late by counts against the next turn (`Late_Ct`). So a turn takes at most the target,
//! one frame, the way around and a token, and in no case twice the target: [`Fddi::new`] refuses a target for which
//! that would not hold.
//!
//! A token that comes when its last symbol does is held at that instant, and the first preamble follows. A station
//! repeats everything else its own latency later.
//!
//! # How the ring begins
//!
//! Stations bid for the target, the lowest bid wins (claim process). Here this is over before time begins: the target
//! is the lowest of the configured ones, and the first station that bade it lets the token go at time zero. Nobody
//! claims later.
//!
//! # Who copies a frame
//!
//! An adapter copies frames for its own address and for groups, and one without an address all of them. The source,
//! when its frame is back, sees whether somebody knew the address (A) and copied the frame (C): counters say how often.

use core::fmt;
use std::borrow::Cow;
use std::collections::BTreeMap;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::inet::ethernet::MacAddr;
use kumiki_wire::inet::fddi::{Header, LEN, LINE_OVERHEAD, MAX_INFORMATION, TOKEN_LEN};

mod station;
#[cfg(test)]
mod tests;
mod token;

use crate::{Backlog, BusyWatch, Counter, Counts, Discipline, DropTail, Element, Occupancy, Outlet, Rate, Unit};
use station::Station;
pub use station::Tally;
use token::Token;

/// What all stations signal in, data as half octets (4B/5B).
pub const RATE: Rate = Rate::bits_per_second(100_000_000);
/// A symbol.
pub const SYMBOL: Duration = Duration::from_nanos(40);

/// One station of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StationConfig {
    /// Its address; without one it copies every frame.
    pub address: Option<MacAddr>,
    /// From a symbol that comes to the same symbol leaving, at least one symbol; 600 ns is usual.
    pub latency: Duration,
    /// From here to the next station.
    pub propagation: Duration,
    /// The target rotation time that it bids.
    pub ttrt: Duration,
}

impl Default for StationConfig {
    /// A station that copies all, with a target of 8 ms and no fibre.
    fn default() -> Self {
        Self {
            address: None,
            latency: Duration::from_nanos(600),
            propagation: Duration::ZERO,
            ttrt: Duration::from_millis(8),
        }
    }
}

/// Why there is no such ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FddiError {
    /// Nobody to speak to.
    Stations(usize),
    /// A station faster than its symbols.
    Latency(Duration),
    /// A target that the longest frame and the way around use up.
    Target {
        /// The lowest bid.
        found: Duration,
        /// What would do.
        least: Duration,
    },
}

impl fmt::Display for FddiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stations(one) => write!(f, "a ring has {one} stations, expected at least 2"),
            Self::Latency(one) => write!(f, "a station has a latency of {one}, expected at least {SYMBOL}, one symbol"),
            Self::Target { found, least } => write!(
                f,
                "the target rotation time is {found}, expected at least {least} for a frame of 4500 octets and the way around"
            ),
        }
    }
}

impl core::error::Error for FddiError {}

/// A frame on its way around.
struct FrameInFlight {
    data: Message,
    address: Address,
    to: usize,
}

/// What comes next, beside the token.
enum Event {
    /// The last symbol of a frame has come to a station that copies it.
    Arrives(FrameInFlight),
    /// The frame that `from` sends has left with its last symbol.
    Ends { from: usize },
    /// It is back at its source, and was known to somebody, or not.
    Back { known: bool },
}

/// Who has the token.
enum Holder {
    /// Nobody: it goes around.
    Nobody(Token),
    /// A station that sends, until its THT has expired.
    Station { number: usize, until: Instant },
}

/// A ring: port `n` is station `n`, in the order in which the token goes.
///
/// Counters: `frames` and `octets` put on the ring (octets with all that is around a frame), `drops` and `marks` at the
/// stations, `busy_ns` in which frames were sent, `tokens` held, `late` tokens that a station with frames had to pass
/// on, `longest_rotation_ns` between two tokens at one station, `ttrt_ns`, `copied` and `unknown`, frames that came
/// back with and without the indicators A and C, and `strangers`, units that are no frames of FDDI; and what the
/// disciplines count beside drops and marks, of all stations together. Those of each station are its own, and so is its
/// queue, by its number or by the name that [`Fddi::called`] has given it.
pub struct Fddi {
    stations: Vec<Station>,
    /// Of those that have one.
    names: Vec<String>,
    /// From the first station to each one, its own latency not counted.
    offsets: Vec<Duration>,
    /// The whole way around.
    around: Duration,
    ttrt: Duration,
    holder: Holder,
    events: BTreeMap<(Instant, u64), Event>,
    made: u64,
    /// When a station holds the token next.
    next_capture: Option<(Instant, usize)>,
    copied: u64,
    unknown: u64,
    strangers: u64,
    watch: Option<BusyNotifier>,
}

/// Who is told when anybody had something to send.
struct BusyNotifier {
    tell: BusyWatch,
    /// Since when somebody has, as far as is not told.
    since: Option<Instant>,
}

impl Fddi {
    /// A ring of `stations` with room for everything that waits.
    ///
    /// # Errors
    /// [`FddiError`] names what cannot be.
    pub fn new(stations: &[StationConfig]) -> Result<Self, FddiError> {
        let disciplines = stations.iter().map(|_| DropTail::UNLIMITED.queue());
        Self::with_disciplines(stations, disciplines.collect())
    }

    /// As [`Fddi::new`], with the stations' queues.
    ///
    /// # Errors
    /// [`FddiError`] names what cannot be.
    pub fn with_disciplines(
        configs: &[StationConfig],
        disciplines: Vec<Box<dyn Discipline>>,
    ) -> Result<Self, FddiError> {
        if configs.len() < 2 {
            return Err(FddiError::Stations(configs.len()));
        }
        if let Some(fast) = configs.iter().find(|it| it.latency < SYMBOL) {
            return Err(FddiError::Latency(fast.latency));
        }
        let mut offsets = Vec::new();
        let mut around = Duration::ZERO;
        for config in configs {
            offsets.push(around);
            around = around + config.latency + config.propagation;
        }
        let lowest = configs.iter().enumerate().min_by_key(|(_, it)| it.ttrt);
        let (winner, ttrt) = lowest.map_or((0, Duration::ZERO), |(it, config)| (it, config.ttrt));
        let longest = octets(LINE_OVERHEAD + MAX_INFORMATION);
        let least = longest + around + token_time();
        if ttrt < least {
            let found = ttrt;
            return Err(FddiError::Target { found, least });
        }
        let stations = configs.iter().zip(disciplines);
        let token = Token { left: winner, at: Instant::ZERO };
        Ok(Self {
            stations: stations.map(|(config, discipline)| Station::new(*config, discipline, ttrt)).collect(),
            names: Vec::new(),
            offsets,
            around,
            ttrt,
            holder: Holder::Nobody(token),
            events: BTreeMap::new(),
            made: 0,
            next_capture: None,
            copied: 0,
            unknown: 0,
            strangers: 0,
            watch: None,
        })
    }

    /// The same, whose stations have these names, in their order.
    #[must_use]
    pub fn called(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    fn name(&self, number: usize) -> Cow<'static, str> {
        self.names.get(number).cloned().unwrap_or_else(|| number.to_string()).into()
    }

    /// The target that the bids have led to.
    #[must_use]
    pub const fn ttrt(&self) -> Duration {
        self.ttrt
    }

    /// How long a token takes around the ring that nobody holds: fibre and stations.
    #[must_use]
    pub const fn around(&self) -> Duration {
        self.around
    }

    /// What station `number` has sent.
    #[must_use]
    pub fn tally(&self, number: usize) -> Tally {
        self.stations.get(number).map(Station::tally).unwrap_or_default()
    }

    /// What waits at station `number`.
    #[must_use]
    pub fn backlog(&self, number: usize) -> Backlog {
        let station = self.stations.get(number);
        station.map(Station::backlog).unwrap_or_default()
    }

    /// From the instant at which something leaves `from` until it comes to `to`; once around, less the station's own
    /// latency, where that is the same.
    fn way(&self, from: usize, to: usize) -> Duration {
        let offset = |number: usize| self.offsets.get(number).copied().unwrap_or_default();
        let latency = self.stations.get(from).map_or(Duration::ZERO, |it| it.config.latency);
        // Offsets begin where something comes to a station, and it leaves its latency later.
        let (from_here, there) = (offset(from) + latency, offset(to));
        if to > from { there.saturating_sub(from_here) } else { (there + self.around).saturating_sub(from_here) }
    }

    /// Tells who watches, after something has happened.
    fn tell(&mut self, now: Instant) {
        let Some(BusyNotifier { tell, since }) = &mut self.watch else {
            return;
        };
        if let Some(since) = since.filter(|since| *since < now) {
            tell(since, now);
        }
        *since = self.stations.iter().any(Station::is_busy).then_some(now);
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.made += 1;
        self.events.insert((at, self.made), event);
    }

    /// Looks for the station that holds the token next: of those with frames the one that it comes to first.
    fn look_for_capture(&mut self) {
        self.next_capture = None;
        let Holder::Nobody(token) = &self.holder else {
            return;
        };
        let stations = self.stations.iter().enumerate();
        let wanting = stations.filter_map(|(number, station)| {
            let since = station.waits_since()?;
            let way = self.way(token.left, number);
            Some((token.comes(way, self.around, since), number))
        });
        self.next_capture = wanting.min();
    }

    /// The token has come to station `number`, which has frames.
    fn capture(&mut self, now: Instant, number: usize, out: &mut Outlet) {
        let Holder::Nobody(token) = &self.holder else {
            return;
        };
        // All have seen it pass, some of them many times.
        let ways: Vec<Duration> = (0..self.stations.len()).map(|to| self.way(token.left, to)).collect();
        for (station, way) in self.stations.iter_mut().zip(ways) {
            station.passes(token.at + way, self.around, now, self.ttrt);
        }
        let latency = self.stations.get(number).map_or(Duration::ZERO, |it| it.config.latency);
        let held = self.stations.get_mut(number).and_then(|it| it.visit(now, self.ttrt));
        let Some(until) = held else {
            self.holder = Holder::Nobody(Token { left: number, at: now + latency });
            self.look_for_capture();
            return;
        };
        self.holder = Holder::Station { number, until };
        self.send(now, out);
    }

    /// The station that holds the token sends its next frame, or lets the token go.
    fn send(&mut self, now: Instant, out: &mut Outlet) {
        let Holder::Station { number, until } = self.holder else {
            return;
        };
        let station = self.stations.get_mut(number);
        let started = station.filter(|_| now < until).and_then(|it| it.start(now, (number, out)));
        let Some((data, address)) = started else {
            self.holder = Holder::Nobody(Token { left: number, at: now + token_time() });
            self.look_for_capture();
            return;
        };
        let ends = now + octets(LINE_OVERHEAD - LEN + data.len());
        self.schedule(ends, Event::Ends { from: number });
        let mut front = [0; LEN];
        let whole = data.copy_to(0, &mut front);
        let header = Header::parse(&front).ok().filter(|_| whole);
        let mut known = false;
        for to in (0..self.stations.len()).filter(|&to| to != number) {
            let copies = self.stations.get(to).zip(header).is_some_and(|(station, (header, _))| {
                let destination = header.destination;
                station.config.address.is_none_or(|own| own == destination || destination.is_group())
            });
            if copies {
                known = true;
                let at = ends + self.way(number, to);
                let data = data.clone();
                self.schedule(at, Event::Arrives(FrameInFlight { data, address, to }));
            }
        }
        let back = ends + self.way(number, number);
        self.schedule(back, Event::Back { known });
    }

    fn happens(&mut self, now: Instant, event: Event, out: &mut Outlet) {
        match event {
            Event::Arrives(FrameInFlight { data, address, to }) => {
                out.put(to, Unit::Frame { data, address });
            }
            Event::Ends { from } => {
                if let Some(station) = self.stations.get_mut(from) {
                    station.sent((from, out));
                }
                self.send(now, out);
            }
            Event::Back { known: true } => self.copied += 1,
            Event::Back { known: false } => self.unknown += 1,
        }
    }

    /// Whether `data` has the form of a frame, and is not too long to be one.
    fn is_frame(data: &Message) -> bool {
        (LEN..=LEN + MAX_INFORMATION).contains(&data.len())
    }
}

/// How long a token lasts on the ring.
#[must_use]
pub fn token_time() -> Duration {
    octets(TOKEN_LEN)
}

/// How long `n` octets last on the ring.
fn octets(n: usize) -> Duration {
    RATE.time_of_octets(n as u64)
}

impl Element for Fddi {
    fn offer(&mut self, now: Instant, port: usize, unit: Unit, out: &mut Outlet) {
        let Unit::Frame { data, address } = unit else {
            self.strangers += 1;
            return;
        };
        let is_frame = Self::is_frame(&data);
        self.strangers += u64::from(!is_frame);
        let Some(station) = self.stations.get_mut(port) else {
            return;
        };
        if station.offer(now, (data, address), is_frame, (port, out)) {
            self.look_for_capture();
        }
        self.tell(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let event = self.events.first_key_value().map(|(&(at, _), _)| at);
        let capture = self.next_capture.map(|(at, _)| at);
        match (event, capture) {
            (Some(event), Some(capture)) => Some(event.min(capture)),
            (event, capture) => event.or(capture),
        }
    }

    fn poll(&mut self, now: Instant, out: &mut Outlet) {
        loop {
            // What arrives comes before a token of the same instant.
            if let Some(entry) = self.events.first_entry()
                && entry.key().0 <= now
            {
                let event = entry.remove();
                self.happens(now, event, out);
            } else if let Some((at, number)) = self.next_capture
                && at <= now
            {
                self.next_capture = None;
                self.capture(now, number, out);
            } else {
                break;
            }
        }
        self.tell(now);
    }

    fn watch_busy(&mut self, _port: usize, watch: BusyWatch) -> bool {
        self.watch = Some(BusyNotifier { tell: watch, since: None });
        true
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let tallies = || self.stations.iter().map(Station::tally);
        let sum = |of: fn(Tally) -> u64| tallies().map(of).sum();
        let longest = tallies().map(|it| it.longest_rotation.as_nanos()).max();
        let mut all = vec![
            ("frames", sum(|it| it.frames)),
            ("octets", sum(|it| it.octets)),
            ("drops", sum(|it| it.drops)),
            ("marks", sum(|it| it.marks)),
            ("busy_ns", octets(usize::try_from(sum(|it| it.octets)).unwrap_or(usize::MAX)).as_nanos()),
            ("tokens", sum(|it| it.tokens)),
            ("late", sum(|it| it.late)),
            ("longest_rotation_ns", longest.unwrap_or(0)),
            ("ttrt_ns", self.ttrt.as_nanos()),
            ("copied", self.copied),
            ("unknown", self.unknown),
            ("strangers", self.strangers),
        ];
        for Counter { names: [name, ..], value } in self.stations.iter().flat_map(Station::counters) {
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += value,
                None => all.push((name, value)),
            }
        }
        all
    }

    fn port_counters(&self) -> Vec<(Cow<'static, str>, Counts)> {
        let of = |(number, station): (usize, &Station)| {
            let Tally { frames, octets: taken, drops, marks, tokens, late, longest_rotation } = station.tally();
            let busy = octets(usize::try_from(taken).unwrap_or(usize::MAX));
            let mut all = vec![
                ("frames", frames),
                ("octets", taken),
                ("drops", drops),
                ("marks", marks),
                ("busy_ns", busy.as_nanos()),
                ("tokens", tokens),
                ("late", late),
                ("longest_rotation_ns", longest_rotation.as_nanos()),
            ];
            all.extend(station.counters().into_iter().map(|Counter { names: [name, ..], value }| (name, value)));
            (self.name(number), all)
        };
        self.stations.iter().enumerate().map(of).collect()
    }

    fn queues(&self, now: Instant) -> Vec<(Cow<'static, str>, Occupancy)> {
        let stations = self.stations.iter().enumerate();
        stations.map(|(number, station)| (self.name(number), station.occupancy(now))).collect()
    }
}
