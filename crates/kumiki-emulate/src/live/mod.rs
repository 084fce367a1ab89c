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
//! | `engine.rs` | the loop between the world and the real hosts |
//! | `programs.rs` | programs that begin and end |
//!
//! A real host is a program in namespaces of its own, a network interface of this machine, or this machine's sockets as a gateway to the world. What is
//! above IP at such a host is the kernel's or the gateway's; from IP down it is the scenario's. Loads run at the hosts that are emulated.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use kumiki_graph::Duration;
use kumiki_io::tun::Layer;
use kumiki_io::{Bell, Packets, RealClock, RealDevice, Tun, TunConfig};
use kumiki_lab::experiment::{LiveWorld, RealHost};
use kumiki_net::host::HostStack;

use crate::gateway::{Places, Serving};
use crate::namespace::{Files, Namespace, Network};
use crate::{EmulateError, failed, hop, more_descriptors};

mod engine;
mod programs;

use engine::{Crossed, Engine};
use programs::{Programs, Waiting};

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
    /// Whether what has crossed is said at the end.
    pub stats: bool,
}

/// How a run has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveEnd {
    /// All programs that are waited for have ended; the first status that is not 0 of them, by the names of their hosts.
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
}

/// Runs a scenario until all programs that are waited for have ended, somebody ends it, or the time is up. Says with `say` what goes wrong on the way,
/// and what has crossed.
///
/// # Errors
/// [`EmulateError`] where nothing was run.
pub fn run_live(
    config: LiveConfig,
    say: impl Fn(&str) + Clone + Send + Sync + 'static,
) -> Result<LiveEnd, EmulateError> {
    let LiveConfig { world, most, attached, keep_hosts, loopback, stats } = config;
    let clock = RealClock::start();
    more_descriptors();
    if let Some(host) = &attached
        && !world.real().iter().any(|it| it.name == *host && it.real.run.is_some())
    {
        return Err(EmulateError(format!("no program runs at a host {host}, which is to be attached")));
    }
    let mut ends = Ends { attached, devices: Vec::new(), programs: Vec::new(), gateways: Vec::new() };
    let hosts = (!keep_hosts).then(|| hosts_file(world.known()));
    let emulated: Vec<IpAddr> = world.known().iter().map(|(_, address)| *address).collect();
    let resolver = world.real().iter().find(|it| it.real.gateway).and_then(first_address);
    let files = Files { resolver, hosts };
    for (number, host) in world.real().iter().enumerate() {
        ends.open((number, host), &files, &emulated, loopback, clock, &say)?;
    }
    if !world.left_out().is_empty() {
        say(&format!("not run, as they write or read at real hosts: load {}", world.left_out().join(", load ")));
    }
    let names: Vec<String> = world.real().iter().map(|it| it.name.clone()).collect();
    let (told, events) = channel();
    let network = Running::start(clock, world, ends.devices, told.clone())?;
    let mut programs = Programs::new(ends.programs, told)?;
    let ended = programs.run(&events, most);
    if let Event::Failed(why) = &ended.last {
        say(why);
    }
    let engine = network.end();
    drop(ends.gateways.into_iter().filter_map(Serving::end).collect::<Vec<HostStack>>());
    if let Some(engine) = engine.filter(|_| stats) {
        say(told_at_end(&engine, &names).trim_end());
    }
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

fn first_address(host: &RealHost) -> Option<IpAddr> {
    host.addresses.first().map(|(address, _)| *address)
}

/// What the real hosts are, opened.
struct Ends {
    attached: Option<String>,
    devices: Vec<Box<dyn RealDevice>>,
    programs: Vec<Waiting>,
    gateways: Vec<Serving>,
}

impl Ends {
    fn open(
        &mut self,
        (number, host): (usize, &RealHost),
        files: &Files,
        emulated: &[IpAddr],
        loopback: bool,
        clock: RealClock,
        say: &(impl Fn(&str) + Clone + Send + Sync + 'static),
    ) -> Result<(), EmulateError> {
        let said = |why: String| EmulateError(format!("host {}: {why}", host.name));
        let RealHost { name, real, addresses, mtu, power: _ } = host;
        if let Some(command) = &real.run {
            let is_attached = self.attached.as_ref() == Some(name);
            let network = Network {
                mtu: *mtu,
                addresses: addresses.clone(),
                routers: Vec::new(),
                all_behind: true,
                variable: (VARIABLE.to_owned(), name.clone()),
                own_group: !is_attached,
            };
            let words: Vec<OsString> = command.words().into_iter().map(OsString::from).collect();
            let none = File::open("/dev/null").map_err(|why| said(format!("/dev/null: {why}")))?;
            let input = io::stdin();
            let input = if is_attached { input.as_fd() } else { none.as_fd() };
            let (namespace, tun) = Namespace::begin(&words, &network, files, input).map_err(said)?;
            let start = real.start().map_err(|fault| said(fault.to_string()))?;
            self.programs.push(Waiting { host: number, namespace, start, background: real.background, is_attached });
            self.devices.push(Box::new(tun));
        } else if let Some(interface) = &real.tun {
            self.devices.push(Box::new(open_tun(interface, host, say).map_err(said)?));
        } else {
            let [near, far] = hop::pair(*mtu, clock).map_err(failed("no descriptor to wait with"))?;
            let own: Vec<IpAddr> = addresses.iter().map(|(address, _)| *address).collect();
            let emulated = emulated.iter().copied().filter(|it| !own.contains(it)).collect();
            let places = Places::of_host(loopback, own, emulated);
            let serving = Serving::start(Box::new(far), *mtu, places, say.clone());
            self.gateways.push(serving.map_err(failed("the gateway"))?);
            self.devices.push(Box::new(near));
        }
        Ok(())
    }
}

/// The network interface of this machine that is the host, with the host's addresses where it may be given them.
fn open_tun(interface: &str, host: &RealHost, say: &impl Fn(&str)) -> Result<Tun, String> {
    let config = TunConfig { layer: Layer::Ip, mtu: host.mtu, packets: Packets::Any };
    let tun = Tun::open_as(interface, config).map_err(|why| why.to_string())?;
    for (address, prefix) in &host.addresses {
        match tun.configure_kernel(*address, *prefix, host.mtu) {
            Ok(()) => {}
            // Whoever has made it for this user has set it up too, or does so now.
            Err(why) if why.why.kind() == io::ErrorKind::PermissionDenied => {
                say(&format!("host {}: {why}", host.name));
                break;
            }
            Err(why) => return Err(why.to_string()),
        }
    }
    Ok(tun)
}

/// The world, in a thread of its own.
struct Running {
    bell: Bell,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Engine<RealClock>>,
}

impl Running {
    fn start(
        clock: RealClock,
        world: LiveWorld,
        devices: Vec<Box<dyn RealDevice>>,
        told: Sender<Event>,
    ) -> Result<Self, EmulateError> {
        // The wait for a packet's time must not be stretched to save wake-ups.
        clock.wait_without_slack();
        let mut engine = Engine::new(clock, world, devices).map_err(failed("no descriptor to wait with"))?;
        let (bell, ends) = (engine.bell(), Arc::new(AtomicBool::new(false)));
        let is_told = Arc::clone(&ends);
        let thread = thread::Builder::new().name("network".to_owned()).spawn(move || {
            // Where it may not, packets are late now and then.
            let _ = kumiki_io::priority::run_first();
            let ended = engine.run(|| is_told.load(Ordering::Acquire));
            let why = match ended {
                Err(failed) => {
                    let host = engine.world().real().get(failed.host).map_or("", |it| it.name.as_str());
                    Some(format!("the network of host {host} has ended: {}", failed.why))
                }
                Ok(()) => engine.world().standstill().map(ToString::to_string),
            };
            if let Some(why) = why {
                // Whoever listens may have ended.
                let _ = told.send(Event::Failed(why));
            }
            engine
        });
        Ok(Self { bell, ends, thread: thread.map_err(failed("no thread"))? })
    }

    /// Ends it. Returns it with what it has counted.
    fn end(self) -> Option<Engine<RealClock>> {
        self.ends.store(true, Ordering::Release);
        self.bell.ring();
        self.thread.join().ok()
    }
}

/// What has crossed, in lines for people.
fn told_at_end(engine: &Engine<RealClock>, names: &[String]) -> String {
    let mut text = String::new();
    for (name, crossed) in names.iter().zip(engine.crossed()) {
        let Crossed { sent, got, lost, late } = crossed;
        let _ = writeln!(text, "{name}: sent {sent} packets, got {got}, late {}", late.text());
        if *lost > 0 {
            let _ = writeln!(text, "    {lost} for it were lost on this machine: its kernel did not take them in time");
        }
    }
    for (name, counters) in engine.world().media() {
        let counted: Vec<String> =
            counters.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{what} {count}")).collect();
        if !counted.is_empty() {
            let _ = writeln!(text, "{name}: {}", counted.join(", "));
        }
    }
    text
}

/// Waits for what happens next, so long at most; `None` where nothing has.
fn next(events: &Receiver<Event>, most: Duration) -> Option<Event> {
    events.recv_timeout(core::time::Duration::from_nanos(most.as_nanos())).ok()
}
