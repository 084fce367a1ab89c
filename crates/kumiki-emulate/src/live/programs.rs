//! The programs of a run: each begins at its time, and when those that are waited for have ended, the others are ended.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;

use kumiki_graph::{Duration, Instant};
use kumiki_io::{Clock as _, RealClock};
use rustix::process::getpgid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{Event, LiveEnd, next};
use crate::namespace::{Connections, FAILED, InhabitedNetwork, Namespace, Program, SignalForwarder, is_any_left_of};
use crate::signals::is_of_terminal;
use crate::{EmulateError, UNSAID, failed};

/// How long a program that is to end may take, before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// How often is looked at whether what programs have left behind has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Nothing is waited for any longer at once.
const LONGEST: Duration = Duration::from_secs(3600);

/// A program that has not begun.
pub(super) struct PendingProgram {
    /// Whose: a place among the real hosts.
    pub(super) host: usize,
    pub(super) namespace: Namespace,
    /// How long after the beginning it begins.
    pub(super) start: Duration,
    pub(super) background: bool,
    /// Whether it has the terminal; others lead process groups of their own.
    pub(super) is_attached: bool,
}

/// A program that has begun.
struct RunningProgram {
    host: usize,
    program: Program,
    passing: SignalForwarder,
    /// All who are in it are its program's, daemons too.
    network: InhabitedNetwork,
    connections: Connections,
    background: bool,
    is_attached: bool,
}

impl RunningProgram {
    /// To all processes of the host, each once.
    fn pass(&self, signal: i32) {
        let id = self.passing.id();
        if self.is_attached {
            self.passing.pass(signal);
            self.network.pass(signal, |it| it == id);
        } else {
            self.passing.pass_to_group(signal);
            self.network.pass(signal, |it| getpgid(Some(it)).is_ok_and(|group| group == id));
        }
    }
}

/// All of them.
pub(super) struct Programs {
    clock: RealClock,
    waiting: Vec<PendingProgram>,
    running: Vec<RunningProgram>,
    /// Those that have ended. They are waited for at the end, as long as which no other group has their numbers: what
    /// they have started may still run.
    ended: Vec<RunningProgram>,
    /// Of those in the foreground that have ended, by host.
    statuses: Vec<(usize, u8)>,
    told: Sender<Event>,
    /// Whether keys of the terminal are those of a program that runs.
    has_keys: Arc<AtomicBool>,
}

/// What is waited for when all programs that are waited for have ended.
#[derive(Clone, Copy)]
pub(super) struct Linger<'a> {
    /// For so long at most.
    pub(super) most: Duration,
    /// How many connections gateways have.
    pub(super) served: &'a dyn Fn() -> usize,
    pub(super) say: &'a dyn Fn(&str),
}

/// So many of them, in words.
fn connections(count: usize) -> String {
    if count == 1 { "one of their connections".to_owned() } else { format!("{count} of their connections") }
}

/// How it went.
pub(super) struct ProgramsEnd {
    pub(super) end: LiveEnd,
    /// What it ended with.
    pub(super) last: Event,
}

impl Programs {
    /// With signals to this process told as events from here on.
    pub(super) fn new(waiting: Vec<PendingProgram>, told: Sender<Event>) -> Result<Self, EmulateError> {
        let has_keys = Arc::new(AtomicBool::new(false));
        listen(Arc::clone(&has_keys), told.clone()).map_err(failed("cannot listen to signals"))?;
        let (clock, running, ended, statuses) = (RealClock::start(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { clock, waiting, running, ended, statuses, told, has_keys })
    }

    /// Runs them, for at most so long.
    pub(super) fn run(&mut self, events: &Receiver<Event>, most: Option<Duration>, linger: Linger<'_>) -> ProgramsEnd {
        let until = Instant::ZERO + most.unwrap_or(Duration::MAX);
        // Where nobody is waited for, only a signal or the time ends it.
        let waits_for_some = self.waiting.iter().any(|it| !it.background);
        let last = loop {
            if let Err(why) = self.begin_due() {
                break Event::Failed(why);
            }
            if waits_for_some && !self.is_foreground_left() {
                break Event::Ended(0, 0);
            }
            let now = self.clock.now();
            if now >= until {
                break Event::Ended(0, 0);
            }
            let starts = self.waiting.iter().map(|it| Instant::ZERO + it.start);
            let wake = starts.chain([until]).min().unwrap_or(until);
            match next(events, wake.saturating_since(now).min(LONGEST)) {
                Some(Event::Ended(host, status)) => self.ended(host, status),
                Some(other) => break other,
                None => {}
            }
        };
        let is_done = waits_for_some && !self.is_foreground_left();
        if is_done && matches!(last, Event::Ended(..)) {
            self.linger(events, until.min(self.clock.now() + linger.most), linger);
        }
        self.end_all(events);
        let end = match &last {
            Event::Signal(signal) => LiveEnd::Signal(*signal),
            Event::Failed(_) => LiveEnd::Failed,
            Event::Quit => LiveEnd::Status(self.status()),
            Event::Ended(..) if is_done || !waits_for_some => LiveEnd::Status(self.status()),
            Event::Ended(..) => LiveEnd::TimeUp,
        };
        ProgramsEnd { end, last }
    }

    /// Waits, until then at most, for the connections of programs that have ended, and for those of gateways: what was
    /// written is to arrive. A signal ends that. Who waits for longer than a second is told for what.
    fn linger(&mut self, events: &Receiver<Event>, until: Instant, Linger { most, served, say }: Linger<'_>) {
        let (mut is_told, began) = (false, self.clock.now());
        loop {
            let own: usize = self.ended.iter().map(|it| it.connections.count()).sum();
            let left = own + served();
            let now = self.clock.now();
            if left == 0 || now >= until {
                if left > 0 {
                    say(&format!("{} had not ended, and what is in flight is lost (--linger)", connections(left)));
                }
                return;
            }
            if !is_told && now >= began + UNSAID {
                is_told = true;
                let what = connections(left);
                say(&format!(
                    "the programs have ended, but not {what}: waiting for that, {most} at most (--linger); Ctrl-C ends it"
                ));
            }
            match next(events, until.saturating_since(now).min(LOOK)) {
                Some(Event::Signal(_) | Event::Failed(_) | Event::Quit) => return,
                // What is in the background may end.
                Some(Event::Ended(host, status)) => self.ended(host, status),
                None => {}
            }
        }
    }

    /// Lets those begin whose time has come.
    fn begin_due(&mut self) -> Result<(), String> {
        let now = self.clock.now();
        let due = |it: &mut PendingProgram| Instant::ZERO + it.start <= now;
        let due: Vec<PendingProgram> = self.waiting.extract_if(.., due).collect();
        for PendingProgram { host, namespace, background, is_attached, .. } in due {
            let passing = namespace.passing().map_err(|why| format!("the program's process: {why}"))?;
            if is_attached {
                self.has_keys.store(true, Ordering::Release);
            }
            let (network, connections) = (namespace.network(), namespace.connections());
            let (program, told) = (namespace.go()?, self.told.clone());
            let seen = program.seen();
            self.running.push(RunningProgram { host, program, passing, network, connections, background, is_attached });
            let waits = move || {
                let status = seen.map_or(FAILED, |seen| seen.wait().unwrap_or(FAILED));
                // Whoever listens may have ended.
                let _ = told.send(Event::Ended(host, status));
            };
            thread::Builder::new()
                .name("program".to_owned())
                .spawn(waits)
                .map_err(|why| format!("no thread: {why}"))?;
        }
        Ok(())
    }

    fn is_foreground_left(&self) -> bool {
        self.waiting.iter().any(|it| !it.background) || self.running.iter().any(|it| !it.background)
    }

    fn ended(&mut self, host: usize, status: u8) {
        let mut running = self.running.iter();
        if let Some(place) = running.position(|it| it.host == host) {
            let it = self.running.swap_remove(place);
            if it.is_attached {
                self.has_keys.store(false, Ordering::Release);
            }
            if !it.background {
                self.statuses.push((host, status));
            }
            self.ended.push(it);
        }
    }

    /// Ends those that run, and what others have left behind, with more force after a while.
    fn end_all(&mut self, events: &Receiver<Event>) {
        self.waiting.clear();
        for signal in [SIGTERM, SIGKILL] {
            for it in self.running.iter().chain(&self.ended) {
                it.pass(signal);
            }
            let until = self.clock.now() + EXIT_TIMEOUT;
            while self.is_any_left() && self.clock.now() < until {
                match next(events, until.saturating_since(self.clock.now()).min(LOOK)) {
                    Some(Event::Ended(host, status)) => self.ended(host, status),
                    Some(Event::Signal(_)) => break,
                    Some(Event::Failed(_) | Event::Quit) | None => {}
                }
            }
        }
        for it in self.ended.drain(..) {
            // How it has ended is known.
            let _ = it.program.wait();
        }
    }

    /// Whether a program runs, or something in the group or the network of one that has ended.
    fn is_any_left(&self) -> bool {
        let groups = self.ended.iter().filter(|it| !it.is_attached).map(|it| it.passing.id());
        !self.running.is_empty()
            || is_any_left_of(&groups.collect::<Vec<_>>())
            || self.ended.iter().any(|it| it.network.is_any_left())
    }

    /// The first status that is not 0, by host.
    fn status(&mut self) -> u8 {
        self.statuses.sort_unstable();
        self.statuses.iter().map(|(_, status)| *status).find(|status| *status != 0).unwrap_or(0)
    }
}

/// From here on signals that end a process are told, but for keys as long as a program `has_keys`.
fn listen(has_keys: Arc<AtomicBool>, told: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if !(has_keys.load(Ordering::Acquire) && is_of_terminal(signal)) {
                // The process may be at its end.
                let _ = told.send(Event::Signal(signal));
            }
        }
    })?;
    Ok(())
}
