//! The loop between two devices: what has come is offered to the path, what leaves it is handed over, and commands are
//! heard between.
//!
//! | | |
//! |---|---|
//! | Pass | what the schedule has for now; what has come at each end, a batch at most; what has left, to the other end; commands |
//! | Time | a unit came when the device says that it did, or else when it was read; it leaves as soon after its due time as the thread runs |
//! | Wait | in one `poll` for both devices, the bell of commands and Ctrl-C, and the next due time; there is no busy waiting, which has not been tried (docs/speed.md) |
//! | Super-segments | are for the path to cut or not: it knows what each end takes. Packets of one connection that leave one behind the other in one pass are put together for an end that takes such, as a network card does (GRO) |
//! | Left out | more than one thread: at the rates that this is for, one has little to do |

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Receiver;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_io::{Arrival, Bell, Clock, Descriptors, RealDevice, Sent, Watch};
use kumiki_link::offload::{Merger, Origin, packets};
use kumiki_octets::Message;
use serde_json::{Value, json};

use super::command::{Command, HELP, WAYS};
use super::command_requests::{CommandRequest, CommandSender};
use super::path::{Path, Ticket};

/// The most units that are read from one end before what is due leaves.
const BATCH: usize = 32;

/// And the most octets of them: what is read at once is still in the processor's cache when it leaves.
const BATCH_OCTETS: usize = 256 << 10;

/// So many units, or super-segments, may wait for room in a device; more are dropped and counted. As the transmit queue
/// of a network interface of Linux.
const QUEUE: usize = 1000;

/// So many octets of them may: as many of the longest that an Ethernet has.
const QUEUE_OCTETS: usize = 16 << 20;

/// How often a wish to end is looked at where nothing else happens.
const LOOK: Duration = Duration::from_secs(1);

/// Reading is not put off for longer: a socket of Linux holds 90 datagrams of 1500 octets where nobody has allowed it
/// more.
const PUT_OFF: Duration = Duration::from_millis(1);

/// What is handed to a device at once: a unit that has left the path, or several that were put together.
struct Departure {
    data: Message,
    units: Tickets,
}

/// What is counted of the units of a departure.
struct Tickets {
    first: Ticket,
    more: Vec<Ticket>,
}

impl Tickets {
    fn all(&self) -> impl Iterator<Item = &Ticket> {
        core::iter::once(&self.first).chain(&self.more)
    }
}

impl Origin for Tickets {
    fn allows(&self, _: &Self) -> bool {
        true
    }

    fn add(&mut self, next: Self) {
        self.more.push(next.first);
        self.more.extend(next.more);
    }
}

/// An end: a device, and what waits for room in it.
struct End {
    device: Box<dyn RealDevice>,
    merger: Merger<Tickets>,
    waiting: VecDeque<Departure>,
    /// Of those.
    octets: usize,
    is_full: bool,
}

/// Why an engine came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineEnd {
    /// By `quit`.
    Quit,
    /// The caller's wish.
    Wish,
    /// The time is up.
    TimedOut,
}

/// A device that is of no more use.
#[derive(Debug)]
pub struct Failed {
    /// Which end, 0 or 1.
    pub end: usize,
    /// What it said.
    pub why: io::Error,
}

/// The loop; see the module.
pub struct Engine<C> {
    clock: C,
    bell: Bell,
    ends: [End; 2],
    path: Path,
    names: [&'static str; 2],
    /// Takes the answers to lines of the schedule, and whether they are JSON.
    told: Box<dyn FnMut(&str) + Send>,
    told_json: bool,
    schedule: VecDeque<(Instant, Command)>,
    commands: Receiver<CommandRequest>,
    asking: CommandSender,
    began: Instant,
    /// From when on is counted.
    counting_since: Instant,
    /// When settings were changed last.
    changed_at: Instant,
    /// The schedule has said `quit`.
    has_quit: bool,
}

impl<C: Clock> Engine<C> {
    /// Between `a` and `b`, on `path`. What is in `schedule` happens at its time of `clock`.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub fn new(
        clock: C,
        [a, b]: [Box<dyn RealDevice>; 2],
        mut path: Path,
        mut schedule: Vec<(Instant, Command)>,
    ) -> io::Result<Self> {
        let bell = Bell::default();
        bell.open()?;
        path.leave_whole(0, b.takes_super_segments());
        path.leave_whole(1, a.takes_super_segments());
        // Equal times stay in the order of the file.
        schedule.sort_by_key(|(at, _)| *at);
        let (asking, commands) = CommandSender::new(bell.clone(), Command::parse);
        let end =
            |device| End { device, merger: Merger::for_device(), waiting: VecDeque::new(), octets: 0, is_full: false };
        let now = clock.now();
        Ok(Self {
            clock,
            bell,
            ends: [end(a), end(b)],
            path,
            names: WAYS,
            told: Box::new(|_| ()),
            told_json: false,
            schedule: schedule.into(),
            commands,
            asking,
            began: now,
            counting_since: now,
            changed_at: Instant::ZERO,
            has_quit: false,
        })
    }

    /// The same, where answers call the direction from a, and that from b, by these names.
    #[must_use]
    pub fn with_names(mut self, names: [&'static str; 2]) -> Self {
        self.names = names;
        self.asking = self.asking.reading(move |line| Command::parse_as(line, names));
        self
    }

    /// The same, where `tell` gets the answers to lines of the schedule, as JSON or as text.
    #[must_use]
    pub fn telling(mut self, json: bool, tell: impl FnMut(&str) + Send + 'static) -> Self {
        (self.told, self.told_json) = (Box::new(tell), json);
        self
    }

    /// By which other threads have commands carried out.
    #[must_use]
    pub fn asking(&self) -> CommandSender {
        self.asking.clone()
    }

    /// Ringing it ends a wait.
    #[must_use]
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// The path.
    #[must_use]
    pub const fn path(&self) -> &Path {
        &self.path
    }

    /// Runs until `quit` comes, `wish` says so, or `until`.
    ///
    /// # Errors
    /// [`Failed`] where a device is of no more use.
    pub fn run(&mut self, until: Option<Instant>, mut wish: impl FnMut() -> bool) -> Result<EngineEnd, Failed> {
        loop {
            let more = self.pass()?;
            if self.obey() {
                return Ok(EngineEnd::Quit);
            }
            if wish() {
                return Ok(EngineEnd::Wish);
            }
            let now = self.clock.now();
            if until.is_some_and(|until| until <= now) {
                return Ok(EngineEnd::TimedOut);
            }
            if !more {
                let look = now + LOOK;
                let deadlines = [self.next_deadline(), until, Some(look)];
                let next = deadlines.into_iter().flatten().min();
                self.wait(next.unwrap_or(look));
            }
        }
    }

    /// Does what is due, once; true where more may be there to be read.
    ///
    /// # Errors
    /// [`Failed`] where a device is of no more use.
    pub fn pass(&mut self) -> Result<bool, Failed> {
        self.follow();
        let mut more = false;
        for from in [0, 1] {
            more |= self.read(from).map_err(|why| Failed { end: from, why })?;
        }
        self.path.run(self.clock.now());
        for from in [0, 1] {
            self.write(from).map_err(|why| Failed { end: 1 - from, why })?;
        }
        Ok(more)
    }

    fn end(&mut self, number: usize) -> &mut End {
        let [a, b] = &mut self.ends;
        if number == 0 { a } else { b }
    }

    /// Does what the schedule has, at its time.
    fn follow(&mut self) {
        let now = self.clock.now();
        while let Some((at, command)) = self.schedule.pop_front_if(|(at, _)| *at <= now) {
            self.has_quit |= command == Command::Quit;
            let answer = self.carry_out(at, command, self.told_json);
            if !answer.is_empty() {
                (self.told)(answer.trim_end());
            }
        }
    }

    /// Offers to the path what has come at the end `from`; true where there may be more.
    fn read(&mut self, from: usize) -> io::Result<bool> {
        let mut octets = 0;
        for _ in 0..BATCH {
            if octets >= BATCH_OCTETS {
                break;
            }
            match self.end(from).device.receive()? {
                Some(Arrival::Unit { data, waited, .. }) => {
                    octets += data.len();
                    let now = self.clock.now().as_nanos();
                    let came = Instant::from_nanos(now.saturating_sub(waited.as_nanos()));
                    self.path.offer(came, from, data);
                }
                Some(Arrival::Up | Arrival::Down | Arrival::Room(_) | Arrival::NoUnit | Arrival::Told(_)) => {}
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Hands to the other end what has left, behind what waits for room there.
    fn write(&mut self, from: usize) -> io::Result<()> {
        let Self { clock, ends, path, .. } = self;
        let [a, b] = ends;
        let to = if from == 0 { b } else { a };
        to.collect(path, from);
        while let Some(departure) = to.pop() {
            match to.device.send(&departure.data, Address::NONE)? {
                Sent::Taken => {
                    let now = clock.now();
                    departure.units.all().for_each(|unit| path.counted(from).went(unit, now));
                }
                Sent::Refused => path.counted(from).refused += packets(&departure.data) as u64,
                Sent::Full => {
                    to.octets += departure.data.len();
                    to.waiting.push_front(departure);
                    break;
                }
            }
        }
        path.counted(from).overflowed += to.shed();
        to.is_full = to.device.flush()?;
        Ok(())
    }

    /// Carries out what others ask for; true where it is to end.
    fn obey(&mut self) -> bool {
        let mut quit = self.has_quit;
        while let Ok(CommandRequest { command, json, answer }) = self.commands.try_recv() {
            quit |= command == Command::Quit;
            let said = self.carry_out(self.clock.now(), command, json);
            // Who asked may have gone.
            let _ = answer.send(Ok(said));
        }
        quit
    }

    fn carry_out(&mut self, at: Instant, command: Command, json: bool) -> String {
        match command {
            Command::Set(way, changes) => {
                self.path.set(at, way, &changes);
                self.changed_at = at;
                String::new()
            }
            Command::Stats { json: wanted } => self.told("stats", json || wanted),
            Command::Settings => self.settings(json),
            Command::Reset => {
                self.path.reset();
                self.counting_since = at;
                String::new()
            }
            Command::Help if json => json!({ "event": "help", "text": HELP }).to_string(),
            Command::Help => HELP.to_owned(),
            Command::Quit | Command::Nothing => String::new(),
        }
    }

    fn settings(&self, json: bool) -> String {
        let [a, b] = self.names;
        let [to_b, to_a] = [0, 1].map(|from| self.path.told(from));
        if json {
            let changed = self.changed_at.saturating_since(Instant::ZERO).as_secs_f64();
            json!({ "event": "settings", a: to_b, b: to_a, "changed_seconds": changed }).to_string()
        } else {
            format!("{a} {to_b}\n{b} {to_a}\n")
        }
    }

    /// What has crossed, as text or as one line of JSON with this `event`.
    #[must_use]
    pub fn told(&self, event: &str, json: bool) -> String {
        let now = self.clock.now();
        let since = |then: Instant| now.saturating_since(then).as_secs_f64();
        let [mut to_b, mut to_a] = self.path.statistics();
        let [end_a, end_b] = &self.ends;
        // What has left the path and finds no room at its device.
        to_b.in_flight = to_b.in_flight.saturating_add(end_b.packets());
        to_a.in_flight = to_a.in_flight.saturating_add(end_a.packets());
        let [a, b] = self.names;
        if json {
            let mut told = json!({
                "event": event,
                "seconds": since(self.began),
                "counted_seconds": since(self.counting_since),
            });
            if let Value::Object(told) = &mut told {
                told.insert(a.to_owned(), to_b.json());
                told.insert(b.to_owned(), to_a.json());
            }
            told.to_string()
        } else {
            let counted = since(self.counting_since);
            format!("{}{}     in {counted:.3} s\n", to_b.text(a), to_a.text(b))
        }
    }

    /// When there is something to do next that does not come from outside.
    fn next_deadline(&self) -> Option<Instant> {
        let scheduled = self.schedule.front().map(|(at, _)| *at);
        [scheduled, self.path.next_deadline()].into_iter().flatten().min()
    }

    fn wait(&self, until: Instant) {
        let left = until.saturating_since(self.clock.now());
        let watches: Vec<Watch<'_>> = self
            .ends
            .iter()
            .enumerate()
            .flat_map(|(from, end)| {
                // What comes meanwhile is due later, and the device says when it came: it can be read then. So where
                // units come and leave one by one, the thread wakes up for half as many.
                let later = left <= PUT_OFF.min(self.path.settings(from).least_delay());
                end.watches(later && end.device.tells_waits())
            })
            .collect();
        self.clock.wait(until, &self.bell, &watches);
    }
}

impl End {
    /// How many wait for room.
    fn packets(&self) -> u64 {
        self.waiting.iter().map(|unit| packets(&unit.data) as u64).sum()
    }

    /// Takes what has left the path, in order of time; what may be put together as one.
    fn collect(&mut self, path: &mut Path, from: usize) {
        let merges = path.left(from) > 1 && self.device.takes_super_segments();
        let Self { merger, waiting, octets, .. } = self;
        let mut wait = |units, data: Message| {
            *octets += data.len();
            waiting.push_back(Departure { data, units });
        };
        while let Some(unit) = path.take(from) {
            let units = Tickets { first: unit.ticket(), more: Vec::new() };
            if merges {
                merger.take(units, unit.data, &mut wait);
            } else {
                wait(units, unit.data);
            }
        }
        merger.flush(&mut wait);
    }

    /// Drops what finds no room behind what waits. Returns how many packets that is.
    fn shed(&mut self) -> u64 {
        if self.waiting.len() <= QUEUE && self.octets <= QUEUE_OCTETS {
            return 0;
        }
        let (mut departures, mut octets, mut dropped) = (0, 0, 0);
        self.waiting.retain(|departure| {
            let len = departure.data.len();
            let fits = departures < QUEUE && octets + len <= QUEUE_OCTETS;
            if fits {
                departures += 1;
                octets += len;
            } else {
                dropped += packets(&departure.data) as u64;
            }
            fits
        });
        self.octets = octets;
        dropped
    }

    fn pop(&mut self) -> Option<Departure> {
        let unit = self.waiting.pop_front()?;
        self.octets = self.octets.saturating_sub(unit.data.len());
        Some(unit)
    }

    /// What is waited for; what has come is not, where it is to be read later.
    fn watches(&self, later: bool) -> impl Iterator<Item = Watch<'_>> {
        let Descriptors { read, write } = self.device.descriptors();
        let read = read.filter(|_| !later);
        let write = write.filter(|_| self.is_full || !self.waiting.is_empty());
        let watch = |descriptor, reading| Watch { descriptor, reading, writing: !reading };
        let read = read.map(|descriptor| watch(descriptor, true));
        read.into_iter().chain(write.map(|descriptor| watch(descriptor, false)))
    }
}
