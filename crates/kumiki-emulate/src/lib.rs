//! Runs a program behind an emulated path, without root: what it sends crosses the path, and the gateway beyond opens
//! this host's sockets for it.
//!
//! ```text
//! PROGRAM -- kernel -- kumiki0 == path == gateway -- sockets of this host -- the world
//! |- in namespaces of its own -|   |- threads of this process ----------|
//! ```
//!
//! | read | for |
//! |---|---|
//! | [`namespace`] | the program's own network, and the process that becomes the program |
//! | [`live`] | a whole scenario in the place of the path, and programs at its hosts |
//! | `watched.rs`, `hop.rs` | the two ends of the path, which is that of [`kumiki_delay`] |
//! | `near.rs`, `proxy/` | a program in a network of its own at the near end, or a proxy on this host |
//! | `gateway/` | from the program's connections and flows to this host's |
//! | [`preset`] | paths by name |
//! | `signals.rs` | signals that the program gets from here |
//!
//! The program's TCP is the kernel's, and so is that of the world; between them stands one of ours, at the gateway. So
//! what the path loses is lost a hop away from either, and no sender is told. A path that stood in the sender's own
//! host would tell it.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

use kumiki_config::refusal::{self, Access};
use kumiki_delay::{Command, CommandSender, Control, ControlError, Engine, Path};
use kumiki_graph::{Duration, Instant};
use kumiki_io::{Clock as _, RealClock, RealDevice};
use kumiki_link::Opportunities;
use kumiki_pcapng::LinkType;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

mod gateway;
mod hop;
pub mod live;
pub mod namespace;
mod near;
pub mod preset;
mod proxy;
mod report;
mod signals;
mod watched;

use gateway::{GatewayThread, Places};
use near::NearEnd;
use report::Sampling;
use watched::{Capture, WatchedDevice};

pub use namespace::{FAILED, INSIDE, VARIABLE, become_program};
pub use preset::{PRESETS, Preset};

/// What the directions are called: from the program, and to it.
pub const WAYS: [&str; 2] = ["up", "down"];

/// How often it is looked whether all has left that a program has sent.
const LOOK: core::time::Duration = core::time::Duration::from_millis(10);

/// Who waits for longer is told for what.
const UNSAID: Duration = Duration::from_secs(1);

/// What is to be run, and behind what.
#[derive(Clone, Debug)]
pub struct Config {
    /// The program and its arguments; with a proxy there need not be one.
    pub program: Vec<OsString>,
    /// Where a proxy listens, in the place of namespaces: port 0 is a free one.
    pub proxy: Option<SocketAddr>,
    /// How the path is at the beginning.
    pub set: Vec<Command>,
    /// How it changes so long after the program has begun.
    pub schedule: Vec<(Instant, Command)>,
    /// Times at which each direction delivers, up and down, in place of a rate.
    pub traces: [Option<Arc<Opportunities>>; 2],
    /// Fixes what random settings do.
    pub seed: u64,
    /// The most octets of memory that packets in flight may hold.
    pub memory: u64,
    /// The most octets of a packet.
    pub mtu: u16,
    /// Where a control socket is made.
    pub control: Option<PathBuf>,
    /// Where packets at both ends of the path are captured.
    pub pcap: Option<PathBuf>,
    /// So many octets of each packet are captured; 0 for all.
    pub snaplen: u32,
    /// Where a page about what has crossed is written, at the end.
    pub report: Option<PathBuf>,
    /// The most octets of memory that connections and datagrams may hold at the gateway; beyond, who calls is refused.
    pub gateway_memory: u64,
    /// Whether the gateway's address is this host's loopback interface to the program.
    pub loopback: bool,
    /// Whether `/etc/resolv.conf` stays as it is for the program.
    pub keep_resolver: bool,
    /// How long what the program has sent may take to arrive once it has ended.
    pub linger: Duration,
    /// Whether what has crossed is said at the end.
    pub stats: bool,
}

/// Why no program was run.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct EmulateError {
    why: String,
    is_mistake: bool,
}

impl EmulateError {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_mistake: false }
    }

    /// That nothing can be made or written at `path`, which `option` names.
    fn of_place(option: &str, path: &std::path::Path, why: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let is_full = matches!(why.kind(), StorageFull | FileTooLarge | QuotaExceeded);
        let words = refusal::words(path, why, Access::Write);
        Self { why: format!("{option} {}: {words}", path.display()), is_mistake: !is_full }
    }

    /// Whether the command line has to be mended: it names a place that is none.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        self.is_mistake
    }
}

impl From<ControlError> for EmulateError {
    fn from(why: ControlError) -> Self {
        Self { why: format!("--control {why}"), is_mistake: true }
    }
}

fn failed(what: &str) -> impl Fn(io::Error) -> EmulateError + '_ {
    move |why| EmulateError::new(format!("{what}: {}", refusal::plain(&why)))
}

/// Runs the program until it has ended and what it sent has arrived. Says with `say` what goes wrong on the way, and
/// what has crossed where that is asked for. Returns the program's exit status: as shells have it 128 and the number of
/// the signal, where one has ended it.
///
/// # Errors
/// [`EmulateError`] where it was not run, or a capture is not complete.
pub fn run(config: &Config, say: impl Fn(&str) + Clone + Send + Sync + 'static) -> Result<u8, EmulateError> {
    if std::env::var_os(VARIABLE).is_some() {
        let why = format!("this is inside another `kumiki link`, as {VARIABLE} says, and that has the same addresses");
        return Err(EmulateError::new(why));
    }
    if let Some(path) = config.report.as_deref() {
        refusal::try_place(path).map_err(|why| EmulateError::of_place("--report", path, &why))?;
    }
    // Ahead of the threads, of which a proxy has some.
    let clock = RealClock::start();
    let (mut near_end, near_device) = NearEnd::open(config, clock, &say)?;
    let ends = [("program", LinkType::RawIp), ("gateway", LinkType::RawIp)];
    let capture = config.pcap.as_deref().map(|path| Capture::create((path, config.snaplen), ends, clock));
    let capture = capture.transpose()?;
    let mut control = config.control.as_deref().map(Control::listen).transpose()?;
    let [near, far] = hop::pair(config.mtu, clock).map_err(failed("no descriptor to wait with"))?;
    let on_hop = near.in_flight();
    more_descriptors();
    // The gateway ends with the path, whose end is said.
    let is_over = Arc::new(AtomicBool::new(false));
    let (gateway_says, path_is_over) = (say.clone(), Arc::clone(&is_over));
    let gateway_says = move |text: &str| {
        if !path_is_over.load(Ordering::Acquire) {
            gateway_says(text);
        }
    };
    let serving = GatewayThread::start(
        Box::new(far),
        (config.mtu, config.gateway_memory),
        Places::of_link(config.loopback),
        gateway_says,
    );
    let serving = serving.map_err(failed("the gateway"))?;
    let devices: [Box<dyn RealDevice>; 2] = [
        Box::new(WatchedDevice::at_router(near_device, 0, capture.clone())),
        Box::new(WatchedDevice::at_router(Box::new(near), 1, capture.clone())),
    ];
    let between = PathThread::start(config, clock, devices, (say.clone(), is_over))?;
    if let Some(control) = &mut control {
        control.begin(between.asking.clone());
    }
    let sampling = config.report.as_ref().map(|_| Sampling::start(between.asking.clone(), clock));
    let sampling = sampling.transpose().map_err(failed("no thread"))?;
    let (seen, signals) = channel();
    let status = near_end.run(config, (seen, &signals), &say)?;
    let waits = || say(&waits_for(serving.connections(), config.linger));
    let signal = linger((config.linger, UNSAID), clock, &signals, waits, || {
        // What has not come out of it never does.
        if between.has_ended() {
            return Some(0);
        }
        let has_crossed = is_of_no_use(between.in_flight(), serving.connections());
        let is_idle = has_crossed && on_hop.packets() == 0 && near_end.is_idle();
        is_idle.then(|| serving.served()).flatten()
    });
    let left = serving.connections();
    if left > 0 {
        say(&resets(left, config.linger, signal));
    }
    let crossed = sampling.map(Sampling::end);
    // The path stands between the two, and is of no more use once either has gone.
    let stacks = (serving.end(), near_end.end());
    let stats = between.end();
    drop(stacks);
    if config.stats {
        say(stats.trim_end());
    }
    if let Some((path, crossed)) = config.report.as_deref().zip(crossed) {
        let words: Vec<_> = config.program.iter().map(|word| word.to_string_lossy()).collect();
        let program = if words.is_empty() { "A proxy".to_owned() } else { words.join(" ") };
        report::write(path, &program, status, &crossed)
            .map_err(|why| EmulateError { is_mistake: false, ..EmulateError::of_place("--report", path, &why) })?;
    }
    capture.map_or(Ok(()), |capture| capture.finish())?;
    Ok(status)
}

/// Each connection takes one, and what the shell allows a program by default is for few.
fn more_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // With what there is it works too.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// What `kumiki link` waits for when the program has ended.
fn waits_for(connections: usize, linger: Duration) -> String {
    let what = match connections {
        0 => "what it has sent is still in flight".to_owned(),
        1 => "one of its connections has not ended".to_owned(),
        _ => format!("{connections} of its connections have not ended"),
    };
    format!("the program has ended, but {what}: waiting for that, {linger} at most (--linger); Ctrl-C ends it")
}

/// Whether nobody needs what is in flight: what is for the program, which has ended, is of use to its connections
/// alone.
const fn is_of_no_use([up, down]: [u64; 2], connections: usize) -> bool {
    up == 0 && (down == 0 || connections == 0)
}

/// What becomes of connections that have not ended when the wait for them has, perhaps by a signal.
fn resets(connections: usize, linger: Duration, signal: Option<i32>) -> String {
    let why = signal.map_or_else(|| format!("--linger {linger}"), |signal| format!("signal {signal}"));
    format!("{connections} of the program's connections had not ended, and are reset ({why})")
}

/// Waits until nothing waits anywhere twice in a row, with the same count of what was done, at most so long, and not at
/// all once a signal has come, which it returns. Who waits for longer than `unsaid` is told by `waits`.
fn linger(
    (most, unsaid): (Duration, Duration),
    clock: RealClock,
    signals: &Receiver<i32>,
    waits: impl FnOnce(),
    done: impl Fn() -> Option<u64>,
) -> Option<i32> {
    let now = clock.now();
    let (until, mut waits) = (now + most, Some((now + unsaid, waits)));
    // What has been written may be between two queues once.
    let mut before = None;
    while clock.now() < until {
        if let Some((_, waits)) = waits.take_if(|(at, _)| *at <= clock.now()) {
            waits();
        }
        let now = done();
        if now.is_some() && now == before {
            return None;
        }
        before = now;
        if let Ok(signal) = signals.recv_timeout(LOOK) {
            return Some(signal);
        }
    }
    None
}

/// The path, in a thread of its own.
struct PathThread {
    asking: CommandSender,
    /// It is to end now, and not only because somebody says `quit`.
    ends: Arc<AtomicBool>,
    thread: JoinHandle<String>,
}

impl PathThread {
    fn start(
        config: &Config,
        clock: RealClock,
        devices: [Box<dyn RealDevice>; 2],
        (say, is_over): (impl Fn(&str) + Clone + Send + 'static, Arc<AtomicBool>),
    ) -> Result<Self, EmulateError> {
        // The wait for a packet's time must not be stretched to save wake-ups.
        clock.wait_without_slack();
        let mut path = Path::new(config.seed).with_memory(config.memory);
        for command in &config.set {
            if let Command::Set(way, changes) = command {
                path.set(Instant::ZERO, *way, changes);
            }
        }
        for (from, times) in config.traces.iter().enumerate() {
            if let Some(times) = times {
                path.follow(from, Arc::clone(times));
            }
        }
        let engine = Engine::new(clock, devices, path, config.schedule.clone());
        let mut engine = engine.map_err(failed("no descriptor to wait with"))?.with_names(WAYS);
        engine = engine.telling(false, say.clone());
        let asking = engine.asking();
        let ends = Arc::new(AtomicBool::new(false));
        let is_told = Arc::clone(&ends);
        let thread = thread::Builder::new().name("path".to_owned()).spawn(move || {
            // Where it may not, packets are late now and then.
            let _ = kumiki_io::priority::run_first();
            let ended = engine.run(None, || false);
            is_over.store(true, Ordering::Release);
            match ended {
                Err(why) => say(&format!("the path has ended: {}", why.why)),
                Ok(_) if is_told.load(Ordering::Acquire) => {}
                Ok(_) => say("the path has ended, by `quit`: the program has no network from here on"),
            }
            engine.told("end", false)
        });
        Ok(Self { asking, ends, thread: thread.map_err(failed("no thread"))? })
    }

    /// Whether it is not there any more, since it failed or was told to end.
    fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// How much is in flight, up and down.
    fn in_flight(&self) -> [u64; 2] {
        let Some(Ok(told)) = self.asking.ask(Command::Stats { json: true }, true) else {
            return [0; 2];
        };
        let told: serde_json::Value = serde_json::from_str(&told).unwrap_or_default();
        let in_flight =
            |way: &str| told.get(way).and_then(|it| it.get("in_flight")).and_then(serde_json::Value::as_u64);
        WAYS.map(|way| in_flight(way).unwrap_or(u64::MAX))
    }

    /// Ends it. Returns what has crossed.
    fn end(self) -> String {
        self.ends.store(true, Ordering::Release);
        // Where it has ended already, nobody answers.
        let _ = self.asking.ask(Command::Quit, false);
        self.thread.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// As behind a slow line when a download is cancelled.
    #[test]
    fn what_is_for_a_program_that_has_ended_is_not_waited_for() {
        for (in_flight, connections, is) in
            [([0, 0], 1, true), ([1, 0], 0, false), ([0, 1], 1, false), ([0, 1], 0, true)]
        {
            assert_eq!(is_of_no_use(in_flight, connections), is, "{in_flight:?} {connections}");
        }
    }

    #[test]
    fn who_waits_for_the_end_of_connections_is_told_for_what() {
        let (sender, signals) = channel();
        let (told, looks) = (Cell::new(0), Cell::new(0_u64));
        let linger = |unsaid| {
            told.set(0);
            looks.set(0);
            let waits = || told.set(told.get() + 1);
            let signal = linger((Duration::from_secs(3600), unsaid), RealClock::start(), &signals, waits, || {
                looks.set(looks.get() + 1);
                (looks.get() > 3).then_some(7)
            });
            (told.get(), looks.get(), signal)
        };
        assert_eq!(linger(Duration::ZERO), (1, 5, None));
        assert_eq!(linger(Duration::from_secs(3600)), (0, 5, None));
        sender.send(2).unwrap();
        assert_eq!(linger(Duration::from_secs(3600)), (0, 1, Some(2)));
        assert!(resets(2, Duration::from_secs(10), None).ends_with("are reset (--linger 10 s)"));
        assert!(resets(2, Duration::from_secs(10), Some(2)).ends_with("are reset (signal 2)"));
        let said = waits_for(2, Duration::from_secs(10));
        assert!(said.contains("2 of its connections have not ended") && said.contains("10 s at most"), "{said}");
        assert!(waits_for(0, Duration::from_secs(10)).contains("in flight"));
    }
}
