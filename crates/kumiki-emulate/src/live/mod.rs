//! A scenario in real time, with programs at some of its hosts: an emulated network between real programs.
//!
//! ```text
//! PROGRAM -- kernel -- kumiki0 -- host of the scenario == lines, switches, routers == host -- kumiki0 -- kernel -- PROGRAM
//! |- in namespaces of its own -|  |-------------- the world, in one thread --------------|  |- in others -|
//! ```
//!
//! | read | for |
//! |---|---|
//! | this file | who the real hosts are, and how a run begins and ends |
//! | `engine.rs`, `scene.rs` | the loop between the world and the real hosts, and what happens to the world at given times |
//! | [`lines`] | lines of text that change it while it runs |
//! | `ends.rs`, `serial.rs`, `sockets.rs` | what a real host is: a program, an interface, PPP on a serial line, Ethernet on a Unix socket, a gateway |
//! | `programs.rs` | programs that begin and end |
//!
//! A real host is a program in namespaces of its own, a network interface of this machine, who speaks PPP on a serial
//! line, or this machine's sockets as a gateway to the world. What is above IP at such a host is the kernel's or the
//! gateway's; from IP down it is the scenario's. Of one that is real by Ethernet nothing is the scenario's: its frames
//! enter the line as they are. Loads run at the hosts that are emulated.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use kumiki_delay::{CommandSender, Control, Instant};
use kumiki_graph::Duration;
use kumiki_io::{Bell, RealClock};
use kumiki_lab::experiment::LiveWorld;
use kumiki_net::host::HostStack;
use kumiki_pcapng::LinkType;

use crate::gateway::GatewayThread;
use crate::namespace::Files;
use crate::watched::Capture;
use crate::{EmulateError, failed, more_descriptors};

mod ends;
mod engine;
pub mod lines;
mod programs;
mod scene;
mod serial;
mod sockets;
mod told;

use ends::Ends;
use engine::Engine;
pub use lines::LiveCommand;
use programs::{Linger, Programs};
use scene::Scene;
use serial::Serial;

/// The environment of a program names its host in this variable.
const VARIABLE: &str = "KUMIKI_HOST";

/// How a scenario is run in real time.
#[derive(Debug)]
pub struct LiveConfig {
    /// The scenario, built.
    pub world: LiveWorld,
    /// The longest that it takes; without, as long as its programs do.
    pub most: Option<Duration>,
    /// The host whose program has the standard input and the keys of the terminal.
    pub attached: Option<String>,
    /// Whether `/etc/hosts` stays as it is for the programs; else it has the hosts of the scenario too.
    pub keep_hosts: bool,
    /// Whether a gateway's own address is this machine's loopback interface.
    pub loopback: bool,
    /// The most octets of memory that connections and datagrams may hold at a gateway; beyond, who calls is refused.
    pub gateway_memory: u64,
    /// What changes so long after the beginning.
    pub schedule: Vec<(Instant, LiveCommand)>,
    /// Where a control socket is made.
    pub control: Option<PathBuf>,
    /// How long what programs have written may take to arrive once those that are waited for have ended.
    pub linger: Duration,
    /// Where packets at the real hosts are captured.
    pub pcap: Option<PathBuf>,
    /// So many octets of each packet are captured; 0 for all.
    pub snaplen: u32,
    /// Whether what has crossed is said at the end.
    pub stats: bool,
}

/// How a run has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveEnd {
    /// All programs that are waited for have ended; the first status that is not 0 of them, by the names of their
    /// hosts.
    Status(u8),
    /// By a signal to this process.
    Signal(i32),
    /// The time was up.
    TimeUp,
    /// The network has ended; why was said.
    Failed,
}

/// What the thread that runs the programs hears of.
#[derive(Debug)]
enum Event {
    /// The program of the host has ended, with this status.
    Ended(usize, u8),
    /// A signal has come to this process.
    Signal(i32),
    /// The world has ended, and why.
    Failed(String),
    /// Somebody has said `quit`.
    Quit,
}

/// Runs a scenario until all programs that are waited for have ended, somebody ends it, or the time is up. Says with
/// `say` what goes wrong on the way, and what has crossed.
///
/// # Errors
/// [`EmulateError`] where nothing was run.
pub fn run_live(
    config: LiveConfig,
    say: impl Fn(&str) + Clone + Send + Sync + 'static,
) -> Result<LiveEnd, EmulateError> {
    let LiveConfig {
        world,
        most,
        attached,
        keep_hosts,
        loopback,
        gateway_memory,
        schedule,
        control,
        linger,
        pcap,
        snaplen,
        stats,
    } = config;
    let clock = RealClock::start();
    more_descriptors();
    let mut ends = Ends::new(attached);
    let hosts = (!keep_hosts).then(|| hosts_file(world.known()));
    let known: Vec<IpAddr> = world.known().iter().map(|(_, address)| *address).collect();
    let resolver = world.real().iter().find(|it| it.real.gateway).and_then(ends::first_address);
    let files = Files { resolver, hosts };
    for (number, host) in world.real().iter().enumerate() {
        ends.open((number, host), &files, &known, (loopback, gateway_memory), clock, &say)?;
    }
    if !world.left_out().is_empty() {
        say(&format!("not run, as they write or read at real hosts: load {}", world.left_out().join(", load ")));
    }
    let interfaces = world.real().iter().map(|host| {
        let link = if host.real.is_ethernet() { LinkType::Ethernet } else { LinkType::RawIp };
        (host.name.as_str(), link)
    });
    let capture = pcap.map(|path| Capture::create((&path, snaplen), interfaces, clock)).transpose()?;
    if let Some(capture) = &capture {
        ends.watch(capture);
    }
    say(&told::addresses(world.known()));
    let (told, events) = channel();
    let mut control = control.as_deref().map(Control::listen).transpose()?;
    let scene = Scene::new(world, schedule).map_err(EmulateError::new)?;
    let engine = Engine::new(clock, scene, ends.devices, say.clone());
    let network = WorldThread::start(clock, engine.map_err(failed("no descriptor to wait with"))?, told.clone())?;
    if let Some(control) = &mut control {
        control.begin(network.asking.clone());
    }
    let mut programs = Programs::new(ends.programs, told)?;
    let served = || ends.gateways.iter().map(GatewayThread::connections).sum();
    let ended = programs.run(&events, most, Linger { most: linger, served: &served, say: &say });
    if let Event::Failed(why) = &ended.last {
        say(why);
    }
    let engine = network.end();
    drop(ends.gateways.into_iter().filter_map(GatewayThread::end).collect::<Vec<HostStack>>());
    ends.serials.into_iter().for_each(Serial::end);
    if let Some(engine) = engine.filter(|_| stats) {
        say(told::as_text(&engine).trim_end());
    }
    capture.map_or(Ok(()), |capture| capture.finish())?;
    Ok(ended.end)
}

/// The lines of `/etc/hosts` for the hosts of the scenario.
fn hosts_file(known: &[(String, IpAddr)]) -> String {
    let mut text = String::new();
    for (name, address) in known {
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

/// The world, in a thread of its own.
struct WorldThread {
    bell: Bell,
    asking: CommandSender<LiveCommand>,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Engine<RealClock>>,
}

impl WorldThread {
    fn start(clock: RealClock, mut engine: Engine<RealClock>, told: Sender<Event>) -> Result<Self, EmulateError> {
        // The wait for a packet's time must not be stretched to save wake-ups.
        clock.wait_without_slack();
        let (bell, asking, ends) = (engine.bell(), engine.asking(), Arc::new(AtomicBool::new(false)));
        let is_told = Arc::clone(&ends);
        let thread = thread::Builder::new().name("network".to_owned()).spawn(move || {
            // Where it may not, packets are late now and then.
            let _ = kumiki_io::priority::run_first();
            let has_quit = engine.run(|| is_told.load(Ordering::Acquire));
            let standstill = engine.world().standstill().map(|why| Event::Failed(why.to_string()));
            if let Some(event) = standstill.or_else(|| has_quit.then_some(Event::Quit)) {
                // Whoever listens may have ended.
                let _ = told.send(event);
            }
            engine
        });
        Ok(Self { bell, asking, ends, thread: thread.map_err(failed("no thread"))? })
    }

    /// Ends it. Returns it with what it has counted.
    fn end(self) -> Option<Engine<RealClock>> {
        self.ends.store(true, Ordering::Release);
        self.bell.ring();
        self.thread.join().ok()
    }
}

/// Waits for what happens next, so long at most; `None` where nothing has.
fn next(events: &Receiver<Event>, most: Duration) -> Option<Event> {
    events.recv_timeout(core::time::Duration::from_nanos(most.as_nanos())).ok()
}
