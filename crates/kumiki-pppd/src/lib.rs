//! A PPP link in real time: the stack on a line that carries octets, and somebody else's PPP at the other end.
//!
//! | | |
//! |---|---|
//! | Graph | [`PppDaemon`] and what uses the link on `ppp` on `hdlc` on the line; above, a relay to a TUN device, or IP with ICMP, and a program on TCP or ICMP |
//! | Line | any [`Opening`], its octets kept where that is asked for |
//! | Left out | programs over IPv6, though Linux uses it through the TUN device; several links at once, multilink |
//!
//! The daemon's log is what is told as it goes; [`Summary`] is what is left at the end. A program that calls begins
//! when IPCP has agreed on addresses, one that listens with the graph; the link is closed in order when it is done, or
//! at Ctrl-C.

use core::net::IpAddr;
use kumiki_ppp::ppp::Agreement;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use kumiki_graph::{Address, DeviceId, Duration, Graph, Instant, NodeId, Protocol, Reason, Token};
use kumiki_io::executor::DeviceConfig;
use kumiki_io::{
    Bell, Clock as _, Executor, ExecutorEnd, GraphId, Line, Pace, Plug, ProgramEnd, RealClock, RealDevice, RealId,
    ShutdownRequest, Watch, unguessable,
};
use kumiki_ppp::hdlc::{self, Hdlc};
use kumiki_ppp::ppp_daemon::{self, Kind, Phase, PppDaemon};
use kumiki_settings::NodeKinds;
use kumiki_wire::ppp::ppp::protocol;

use kumiki_config::ConfigError;
use kumiki_live::capture::Capture;
use kumiki_live::private::CaptureBudget;
use kumiki_live::{BATCH, LOOK, LiveError, OutputFormat, Stack, Watcher, system};

mod deferred;
mod kernel;
mod narrate;
mod record;
mod relay;
mod secrets;
#[cfg(test)]
mod tests;

// What a caller needs of the crates below.
pub use kumiki_io::Opening;
pub use kumiki_ppp::ppp_daemon::misbehave::Script;
pub use kumiki_ppp::ppp_daemon::{Config, End, Ipv4, Ipv6, Methods, Quality, Secret};

pub use secrets::secrets;

use deferred::{LinkProgram, WatchedProgram};
use kernel::Kernel;
use narrate::Narrator;
use record::Recorded;
use relay::Relay;

/// Packets that may wait for room in the line: as many as make a fast line busy, and few, for what waits is late.
const QUEUE: usize = 64;

/// Any token that is no timer of the daemon's: it looks around when it is woken.
const WAKE: Token = Token { session: kumiki_graph::Handle { index: 0, generation: 0 }, kind: u32::MAX };

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The line.
    pub line: Opening,
    /// Whether it is opened again when the far end has gone.
    pub persist: bool,
    /// What is negotiated.
    pub daemon: Config,
    /// The largest datagram that we send, whatever the peer takes, in octets.
    pub mtu: u16,
    /// Settings of layers, as `layer.key=value`.
    pub set: Vec<String>,
    /// Where frames are written, as pcapng.
    pub pcap: Option<PathBuf>,
    /// How many octets of each frame; 0 for all.
    pub snaplen: u32,
    /// With what the names of files begin in which octets are kept.
    pub record: Option<PathBuf>,
    /// Whether packets of the negotiation are told too.
    pub verbose: bool,
    /// How it is told.
    pub form: OutputFormat,
    /// The sandbox in which it runs.
    #[cfg(target_os = "linux")]
    pub sandbox: kumiki_live::sandbox::Sandbox,
}

/// What the daemon needs when all is open.
#[cfg(target_os = "linux")]
fn needs(options: &Options, has_tun: bool) -> kumiki_live::sandbox::Needs {
    use kumiki_live::sandbox::{Access, above, of_lines};
    let mut places = Vec::new();
    if let Some(prefix) = &options.record {
        places.push((above(prefix), Access::Make));
    }
    if has_tun {
        // Where it is seen that an address of IPv6 can be used.
        let files = ["if_inet6", "ipv6_route"].map(|file| PathBuf::from("/proc/thread-self/net").join(file));
        places.extend(files.map(|file| (file, Access::Read)));
    }
    kumiki_live::sandbox::Needs {
        // The addresses of the device are set when they have been agreed on.
        capabilities: has_tun,
        ..of_lines([&options.line], places)
    }
}

/// What uses the link.
pub struct User<'a>(Use<'a>);

enum Use<'a> {
    Nothing,
    Tun(String),
    /// Until the link begins.
    Device(Option<Box<dyn RealDevice>>),
    Program(&'static str, Box<dyn LinkProgram + 'a>),
}

impl<'a> User<'a> {
    /// Nobody: the link alone, which answers pings.
    #[must_use]
    pub const fn nothing() -> Self {
        Self(Use::Nothing)
    }

    /// Linux's stack, by the TUN device `name`.
    #[must_use]
    pub fn tun(name: &str) -> Self {
        Self(Use::Tun(name.to_owned()))
    }

    /// Whoever is behind `device`, which carries datagrams and knows addresses by itself.
    #[must_use]
    pub fn device(device: Box<dyn RealDevice>) -> Self {
        Self(Use::Device(Some(device)))
    }

    /// A program called `name`, made of our address and the peer's when they are agreed on. One called `ping` stands on
    /// ICMP, another on TCP.
    pub fn program<P: Protocol>(
        name: &'static str,
        make: impl FnMut(IpAddr, IpAddr) -> P + 'a,
        watcher: &'a mut impl Watcher<P>,
    ) -> Self {
        let kind = core::marker::PhantomData;
        let watched = WatchedProgram { make, at_once: false, watcher, kind };
        Self(Use::Program(name, Box::new(watched)))
    }

    /// The same for a program that waits for calls to any address: it listens before the link is up. The peer's call
    /// may come right behind the last word about addresses, and would be refused where nobody listened yet.
    #[must_use]
    pub fn that_listens(mut self) -> Self {
        if let Use::Program(_, upper) = &mut self.0 {
            upper.set_at_once();
        }
        self
    }
}

/// What the line carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Frames and octets of the line, and what was damaged. Those that found no room in the line, or no line, were not
    /// sent.
    pub line: hdlc::Counters,
    /// Frames that found no room in the line: so many wait that others would be late.
    pub overflowed: u64,
    /// Frames for which there was no line.
    pub refused: u64,
    /// Datagrams that users sent and got.
    pub driver: kumiki_ppp::ppp::Counters,
    /// Control packets.
    pub daemon: ppp_daemon::Counters,
}

/// What became of the link.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Why it has ended.
    pub end: End,
    /// How the program of the line ended, where that went by itself.
    pub program: Option<ExitStatus>,
    /// Whether somebody wanted it to end.
    pub interrupted: bool,
    /// What was agreed on for frames, the last time.
    pub agreed: Option<Agreement>,
    /// The addresses of IPv4, ours and the peer's, the last time.
    pub ipv4: Option<(Address, Address)>,
    /// The same of IPv6.
    pub ipv6: Option<(Address, Address)>,
    /// As whom the peer came in, where it was asked.
    pub peer_name: Option<Vec<u8>>,
    /// What crossed.
    pub traffic: Traffic,
    /// How long all of it took.
    pub elapsed: Duration,
}

/// How an end is told to who called: the exit status of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LinkOutcome {
    /// The link came up and ended as somebody wanted it to, or was not wanted any more before.
    AsAsked,
    /// It never came up: no answer, or no agreement.
    NoAgreement,
    /// One end did not believe who the other is, or would not say who it is.
    NotAuthenticated,
    /// It was up, and the line or the peer was lost.
    Lost,
    /// The line leads back to us.
    LoopedBack,
}

/// How a program ended, in words.
fn program_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("its program has ended with status {code}"),
        (None, Some(signal)) => format!("its program was ended by signal {signal}"),
        (None, None) => "its program has ended".to_owned(),
    }
}

impl Summary {
    /// Why it has ended, in words.
    #[must_use]
    pub fn why(&self) -> String {
        let end = &self.end;
        match self.program {
            Some(status) => format!("{end}: {}", program_words(status)),
            None => end.to_string(),
        }
    }

    /// What kind of end it was.
    #[must_use]
    pub const fn outcome(&self) -> LinkOutcome {
        let was_up = self.ipv4.is_some() || self.ipv6.is_some();
        match &self.end {
            End::Asked | End::TimeUp => LinkOutcome::AsAsked,
            End::PeerFinished { .. } if was_up => LinkOutcome::AsAsked,
            End::LineDown if !was_up => LinkOutcome::NoAgreement,
            End::LineDown | End::NoEcho { .. } | End::Quality { .. } => LinkOutcome::Lost,
            End::NeverAnswered { .. }
            | End::NoAgreement { .. }
            | End::Pointless { .. }
            | End::PeerFinished { .. }
            | End::Incompatible { .. }
            | End::NoNetwork => LinkOutcome::NoAgreement,
            End::WillNotSayWho
            | End::CannotSayWho
            | End::Refused { .. }
            | End::NotLetIn { .. }
            | End::NeverSaidWho { .. } => LinkOutcome::NotAuthenticated,
            End::LoopedBack => LinkOutcome::LoopedBack,
        }
    }
}

/// A device on top of a link, and the kernel's end of it, where there are such.
type Top = (Option<Box<dyn RealDevice>>, Option<Kernel>);

impl Use<'_> {
    /// Opens what is on top.
    fn open(&mut self, mtu: u16) -> Result<Top, LiveError> {
        match self {
            Self::Tun(name) => {
                let (tun, kernel) = Kernel::open(name, mtu)?;
                Ok((Some(tun), Some(kernel)))
            }
            Self::Device(device) => Ok((device.take(), None)),
            Self::Nothing | Self::Program(..) => Ok((None, None)),
        }
    }
}

/// What a link and the programs on it are made of.
const KINDS: NodeKinds = NodeKinds::new(&[kumiki_inet::kinds::KINDS, kumiki_ppp::kinds::KINDS]);

/// The layers of a PPP link, and what `user` stands on.
fn layers(user: &Use<'_>, options: &Options) -> Stack {
    let below = |layers: &[&str]| layers.iter().map(|&it| it.to_owned()).collect();
    let mut graph = vec![("ppp_daemon", below(&["ppp"])), ("ppp", below(&["hdlc"])), ("hdlc", below(&["line"]))];
    let mut settings = vec![("ppp", "mtu", format!("{} B", options.mtu))];
    let is_async = options.daemon.accm.is_some();
    let mru = options.daemon.mru.max(1500);
    settings.push(("hdlc", "mru", format!("{mru} B")));
    let mut program = "relay";
    let has_ip = !matches!(user, Use::Tun(_) | Use::Device(_));
    if has_ip {
        graph.extend([("icmp", below(&["ip"])), ("ip", below(&["ppp"]))]);
        settings.push(("ip", "address", "negotiated".to_owned()));
        settings.push(("ip", "mtu", format!("{} B", options.mtu)));
    }
    match user {
        Use::Nothing => {}
        Use::Tun(_) | Use::Device(_) => graph.push(("relay", below(&["ppp", "tun"]))),
        Use::Program(name, _) => {
            program = name;
            let upper = if *name == "ping" { "icmp" } else { "tcp" };
            graph.extend([(*name, below(&[upper])), ("tcp", below(&["ip"]))]);
        }
    }
    let graph = graph.into_iter().map(|(node, below): (&str, Vec<String>)| (node.to_owned(), below));
    let mut stack = Stack::of(KINDS, graph, program, "ip", "line");
    for (node, key, value) in settings {
        stack.put(node, key, value.into());
    }
    stack.put("hdlc", "async", is_async.into());
    stack.put("hdlc", "fcs", options.daemon.fcs.to_string().into());
    if has_ip {
        let mut routes = toml::Table::new();
        routes.insert("default".to_owned(), "ppp".into());
        stack.put("ip", "routes", routes.into());
    }
    stack
}

/// Who ends a link.
enum Ending {
    /// Signals to this process, which has nothing else to do and goes into a sandbox.
    Signals,
    /// Whoever makes this.
    Wish(ShutdownRequest),
}

impl Ending {
    /// What is looked at for it. Where the process is ours, this puts it into its sandbox.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "sandboxes are Linux's"))]
    fn wish(self, bell: &Bell, options: &Options, has_kernel: bool) -> Result<ShutdownRequest, LiveError> {
        match self {
            Self::Signals => {
                let wish = ShutdownRequest::listen(bell).map_err(system("cannot listen to Ctrl-C"))?;
                #[cfg(target_os = "linux")]
                kumiki_live::sandbox::enter(&options.sandbox, &needs(options, has_kernel))?;
                Ok(wish)
            }
            Self::Wish(wish) => Ok(wish),
        }
    }
}

/// Runs a link until it has ended, `user` is done, or somebody wants an end; tells by `say`, a line each time.
///
/// # Errors
/// [`LiveError`]; nothing has been sent where it is [`LiveError::Input`].
pub fn run(options: &Options, user: User<'_>, say: &mut dyn FnMut(&str)) -> Result<Summary, LiveError> {
    run_with(options, user, Ending::Signals, say)
}

/// As [`run`], in a process that does other things beside: until `wish` is made, which is seen within [`LOOK`], and
/// whatever signals come. No sandbox is entered.
///
/// # Errors
/// As there.
pub fn run_until(
    options: &Options,
    user: User<'_>,
    wish: ShutdownRequest,
    say: &mut dyn FnMut(&str),
) -> Result<Summary, LiveError> {
    run_with(options, user, Ending::Wish(wish), say)
}

fn run_with(
    options: &Options,
    user: User<'_>,
    ending: Ending,
    say: &mut dyn FnMut(&str),
) -> Result<Summary, LiveError> {
    let mut user = user.0;
    let captures = CaptureBudget::endless(options.snaplen);
    let Assembled { graph, nodes, line: line_device, tun: tun_device, capture } =
        assemble(&mut user, options, &captures)?;
    let clock = RealClock::start();
    let mut executor = Executor::new(clock, Pace { batch: BATCH, queue: QUEUE, ..Pace::default() });
    let host = executor.add_graph("host", graph);
    let (own, kernel) = user.open(options.mtu)?;
    if let Some(tun) = own {
        let at = tun_device.ok_or_else(|| missing("tun"))?;
        let real = executor.add_real(tun).map_err(system("no descriptor to wait for the device"))?;
        executor.set_device(host, at, DeviceConfig { mtu: options.mtu.into(), burst: 1 });
        executor.plug(Plug::Device(host, at), Plug::Real(real));
    }
    let mut narrator = Narrator::new(options.form, options.verbose, say);
    let mut line = Line::open(&options.line, options.persist).map_err(|why| LiveError::Line(why.to_string()))?;
    if let Some(name) = line.terminal() {
        narrator.terminal(name);
    }
    let bell = executor.bell();
    let wish = ending.wish(&bell, options, kernel.is_some())?;
    if !line.is_up() {
        narrator.waits(&options.line);
        wait_for(&mut line, &wish, &clock, &bell)?;
    }
    let program_end = line.program_end();
    let device = recorded(line, options.record.as_deref())?;
    let real = executor.add_real(device).map_err(system("no descriptor to wait for the line"))?;
    executor.plug(Plug::Device(host, line_device), Plug::Real(real));
    let session = Session {
        nodes,
        host,
        real,
        clock,
        began: clock.now(),
        wish,
        user,
        kernel,
        capture,
        captures,
        program_end,
        narrator,
        ipv4: None,
        ipv6: None,
        last: Last::default(),
        has_begun: false,
        has_finished: false,
        is_stopped: false,
        persist: options.persist,
        is_lost: false,
        is_closing: false,
        failed: None,
    };
    session.run(&mut executor)
}

/// A link in its graph, of which nothing is open yet.
struct Assembled {
    graph: Graph,
    nodes: Nodes,
    line: DeviceId,
    /// Where packets are relayed to, if they are.
    tun: Option<DeviceId>,
    capture: Option<Capture>,
}

fn assemble(user: &mut Use<'_>, options: &Options, captures: &CaptureBudget) -> Result<Assembled, LiveError> {
    let daemon =
        PppDaemon::new(options.daemon.clone()).map_err(|why| LiveError::Input(ConfigError::new(why.to_string())))?;
    let mut stack = layers(user, options);
    stack.set(&options.set)?;
    let seed = unguessable().map_err(system("no random number for the stack's secrets"))?;
    let mut nodes: Vec<(&str, Box<dyn Protocol>)> = vec![("ppp_daemon", Box::new(daemon))];
    match user {
        Use::Nothing => {}
        Use::Tun(_) | Use::Device(_) => nodes.push(("relay", Box::new(Relay))),
        Use::Program(name, upper) => nodes.push((name, upper.node())),
    }
    let (mut graph, devices) = stack.graph(nodes, seed)?;
    let capture = match &options.pcap {
        Some(path) => kumiki_live::begin_capture((path, captures), &mut graph, ("ppp", "hdlc"))?,
        None => None,
    };
    let named = |name: &str| graph.node(name).ok_or_else(|| missing(name));
    let nodes = Nodes {
        daemon: named("ppp_daemon")?,
        driver: named("ppp")?,
        framing: named("hdlc")?,
        user: graph.node(&stack.program),
    };
    let line = devices.get("line").copied().ok_or_else(|| missing("line"))?;
    Ok(Assembled { graph, nodes, line, tun: devices.get("tun").copied(), capture })
}

/// Waits until somebody is at the other end of a line, or an end is wanted.
fn wait_for(line: &mut Line, wish: &ShutdownRequest, clock: &RealClock, bell: &Bell) -> Result<(), LiveError> {
    while !line.is_up() && !wish.is_made() {
        let came = line.receive().map_err(system("the line"))?;
        if came.is_some() || line.is_up() {
            continue;
        }
        let read = line.descriptors().read.map(|descriptor| Watch { descriptor, reading: true, writing: false });
        let watches: Vec<Watch<'_>> = read.into_iter().collect();
        clock.wait(clock.now() + LOOK, bell, &watches);
    }
    Ok(())
}

/// A line whose octets are kept, where there is a prefix for their files.
fn recorded(line: Line, prefix: Option<&Path>) -> Result<Box<dyn RealDevice>, LiveError> {
    let line = Box::new(line);
    let Some(prefix) = prefix else {
        return Ok(line);
    };
    let recorded = Recorded::new(line, prefix).map_err(|why| LiveError::Line(why.to_string()))?;
    Ok(Box::new(recorded))
}

fn missing(name: &str) -> LiveError {
    LiveError::Input(ConfigError::new(format!("the stack has no {name}")))
}

/// Where the nodes are.
#[derive(Clone, Copy)]
struct Nodes {
    daemon: NodeId,
    driver: NodeId,
    framing: NodeId,
    user: Option<NodeId>,
}

/// What was agreed on last.
#[derive(Default)]
struct Last {
    agreed: Option<Agreement>,
    ipv4: Option<(Address, Address)>,
    ipv6: Option<(Address, Address)>,
    peer_name: Option<Vec<u8>>,
}

/// A link while it runs.
struct Session<'a, 's> {
    nodes: Nodes,
    host: GraphId,
    /// The line.
    real: RealId,
    clock: RealClock,
    began: Instant,
    wish: ShutdownRequest,
    user: Use<'a>,
    kernel: Option<Kernel>,
    capture: Option<Capture>,
    captures: CaptureBudget,
    program_end: ProgramEnd,
    narrator: Narrator<'s>,
    /// What may pass now.
    ipv4: Option<(Address, Address)>,
    ipv6: Option<(Address, Address)>,
    last: Last,
    /// The program on top has begun.
    has_begun: bool,
    /// It is done.
    has_finished: bool,
    /// It was told to end before it was.
    is_stopped: bool,
    persist: bool,
    /// The line was lost before there was anything to end.
    is_lost: bool,
    is_closing: bool,
    failed: Option<LiveError>,
}

impl Session<'_, '_> {
    /// Runs the link until it has ended.
    fn run(mut self, executor: &mut Executor<RealClock>) -> Result<Summary, LiveError> {
        executor.start()?;
        let ended = loop {
            let ended = executor.run(LOOK, |executor| self.look(executor));
            if ended != ExecutorEnd::TimedOut {
                break ended;
            }
        };
        if ended == ExecutorEnd::Failed {
            let why = executor.failure().map(ToString::to_string);
            return Err(LiveError::Line(why.unwrap_or_default()));
        }
        self.finish(executor)
    }

    /// Looks around after a pass; true where the link has ended.
    fn look(&mut self, executor: &mut Executor<RealClock>) -> bool {
        let now = self.clock.now();
        let Some(graph) = executor.graph_mut(self.host) else {
            return true;
        };
        if let Some(capture) = &mut self.capture {
            capture.take_from(graph);
            kumiki_live::captures_end(&self.captures);
        }
        let Some(daemon) = graph.protocol_mut::<PppDaemon>(self.nodes.daemon) else {
            return true;
        };
        for line in daemon.take_log() {
            self.narrator.line(&line);
        }
        self.narrator.due(now, false);
        if self.persist
            && let Some(status) = self.program_end.take()
        {
            self.narrator.program(now, status);
        }
        let has_ended = daemon.ended().is_some();
        // The line was there at first. Without it the daemon waits for the next, which nobody wants here.
        let is_dead = daemon.phase() == Phase::Dead;
        self.is_lost |= is_dead && !has_ended && !self.persist && !self.is_closing;
        let ipv4 = daemon.network(protocol::IPV4);
        let ipv6 = daemon.network(protocol::IPV6);
        if let Some(agreed) = daemon.agreement() {
            self.last.agreed = Some(agreed);
        }
        if let Some(name) = daemon.peer_name() {
            self.last.peer_name = Some(name.to_vec());
        }
        if (ipv4, ipv6) != (self.ipv4, self.ipv6) {
            self.pass(graph, now, ipv4, ipv6);
        }
        let is_done = self.look_at_user(graph, now);
        if self.wish.is_made() && self.stop_user(graph, now, Reason::User) {
            // What its peers are told crosses the link before that closes.
            return false;
        }
        if is_done || self.wish.is_made() {
            self.close(graph, now);
        } else if self.is_lost
            && !core::mem::replace(&mut self.is_closing, true)
            && let Some(daemon) = graph.protocol_mut::<PppDaemon>(self.nodes.daemon)
        {
            daemon.lose();
            graph.wake(now, self.nodes.daemon, WAKE);
        }
        has_ended
    }

    /// Something else may pass from now on, between these addresses.
    fn pass(
        &mut self,
        graph: &mut Graph,
        now: Instant,
        ipv4: Option<(Address, Address)>,
        ipv6: Option<(Address, Address)>,
    ) {
        (self.ipv4, self.ipv6) = (ipv4, ipv6);
        self.last.ipv4 = ipv4.or(self.last.ipv4);
        self.last.ipv6 = ipv6.or(self.last.ipv6);
        let mtu = self.last.agreed.map_or(u32::MAX, |agreed| agreed.peer_mru);
        if let Some(kernel) = &mut self.kernel
            && let Err(why) = kernel.follow(mtu, ipv4, ipv6)
        {
            self.failed = Some(why);
            self.close(graph, now);
        }
        self.narrator.networks(now, ipv4, ipv6);
    }

    /// True where the program on top is done.
    fn look_at_user(&mut self, graph: &mut Graph, now: Instant) -> bool {
        let (Use::Program(_, upper), Some(node)) = (&mut self.user, self.nodes.user) else {
            return false;
        };
        if let Some((local, remote)) = self.ipv4.filter(|_| !self.has_begun) {
            let (Some(local), Some(remote)) = (local.ip(), remote.ip()) else {
                let why = ConfigError::new("IPv4 has come up, and no address was agreed on for one of the ends")
                    .expected("LOCAL:REMOTE, as in 10.7.0.1:10.7.0.2");
                self.failed = Some(LiveError::Input(why));
                return true;
            };
            self.has_begun = true;
            upper.begin(graph, node, now, (local, remote));
        }
        self.has_finished = self.has_finished || self.has_begun && upper.look(graph, node, now);
        self.has_finished
    }

    /// Has the program on top end what it has open in the next pass, once; false where there is nothing to end.
    fn stop_user(&mut self, graph: &mut Graph, now: Instant, why: Reason) -> bool {
        let (Use::Program(_, upper), Some(node)) = (&mut self.user, self.nodes.user) else {
            return false;
        };
        if !self.has_begun || self.has_finished || core::mem::replace(&mut self.is_stopped, true) {
            return false;
        }
        upper.stop(graph, node, now, why);
        true
    }

    /// What the program on top has open when the link goes is told of too.
    fn end_user(&mut self, executor: &mut Executor<RealClock>) {
        let now = self.clock.now();
        let Some(graph) = executor.graph_mut(self.host) else {
            return;
        };
        let end = graph.protocol::<PppDaemon>(self.nodes.daemon).and_then(PppDaemon::last_end);
        let is_wanted = matches!(end, Some(End::Asked | End::TimeUp) | None);
        if !self.stop_user(graph, now, if is_wanted { Reason::User } else { Reason::Down }) {
            return;
        }
        executor.run(Duration::ZERO, |_| true);
        if let Some(graph) = executor.graph_mut(self.host) {
            self.look_at_user(graph, now);
        }
    }

    /// Has the daemon close the link, once.
    fn close(&mut self, graph: &mut Graph, now: Instant) {
        if core::mem::replace(&mut self.is_closing, true) {
            return;
        }
        if let Some(daemon) = graph.protocol_mut::<PppDaemon>(self.nodes.daemon) {
            daemon.close();
            graph.wake(now, self.nodes.daemon, WAKE);
        }
    }

    fn finish(mut self, executor: &mut Executor<RealClock>) -> Result<Summary, LiveError> {
        if let Some(why) = self.failed {
            return Err(why);
        }
        self.end_user(executor);
        if let Some(capture) = self.capture {
            capture.finish();
            kumiki_live::captures_end(&self.captures);
        }
        let elapsed = self.clock.now().saturating_since(self.began);
        let graph = executor.graph(self.host).ok_or_else(|| missing("graph"))?;
        let framing = graph.protocol::<Hdlc>(self.nodes.framing);
        let driver = graph.protocol::<kumiki_ppp::ppp::Ppp>(self.nodes.driver);
        let daemon = graph.protocol::<PppDaemon>(self.nodes.daemon);
        let device = executor.real_counters(self.real);
        let mut line = framing.map(Hdlc::counters).unwrap_or_default();
        line.sent = line.sent.saturating_sub(device.overflowed + device.refused);
        line.line_sent = line.line_sent.saturating_sub(device.unsent_octets);
        let traffic = Traffic {
            line,
            overflowed: device.overflowed,
            refused: device.refused,
            driver: driver.map(|it| *it.counters()).unwrap_or_default(),
            daemon: daemon.map(|it| *it.counters()).unwrap_or_default(),
        };
        let end = daemon.and_then(PppDaemon::last_end);
        let end = end.cloned().unwrap_or(End::Asked);
        let program = if end == End::LineDown { self.program_end.wait() } else { self.program_end.take() };
        let summary = Summary {
            end,
            program,
            interrupted: self.wish.is_made(),
            agreed: self.last.agreed,
            ipv4: self.last.ipv4,
            ipv6: self.last.ipv6,
            peer_name: self.last.peer_name,
            traffic,
            elapsed,
        };
        self.narrator.due(self.clock.now(), true);
        self.narrator.end(&summary);
        Ok(summary)
    }
}
