//! Live runs: one host in real time on a device of this machine, and strangers at the other end.
//!
//! | | |
//! |---|---|
//! | Graph | a program on `tcp` or `xtp` on `ip` or `ipv6` on the device, with `icmp` beside it, or on an Ethernet in datagrams: made by name and settings, as a host in a scenario |
//! | Clock | [`RealClock`]; the stack's secrets come from the operating system, so that no two runs have the same sequence numbers and ports |
//! | Line | between the graph and the device stands [`Impaired`], where something is to go wrong |
//! | Left out | several devices, UDP programs, both versions of IP at once |
//!
//! The parts are apart so that other stacks and devices can use them: [`Stack`] says what stands on what, [`Line`]
//! opens the device, [`run`] joins both and lets them run until the program is done or somebody wants an end.

use core::fmt;
use core::net::{IpAddr, SocketAddrV4};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kumiki_graph::{DeviceId, Graph, Instant, NodeId, Protocol, Reason, Token};
use kumiki_io::executor::{DeviceConfig, ElementId};
use kumiki_io::{
    Clock as _, Executor, ExecutorEnd, Failure, Pace, Plug, RealClock, RealCounters, RealDevice, RemoteEnd, Udp,
    cpu_time,
};
#[cfg(target_os = "linux")]
use kumiki_io::{Packets, Tun, TunConfig, TunError, tun::Layer};
use kumiki_link::Impaired;

use capture::Capture;
use host::Host;
use kumiki_capture::Stream;
use kumiki_config::tree::{Node, Origin};
use kumiki_config::{ConfigError, ErrorPlace};
pub use kumiki_config::{refusal, shown};
use kumiki_media::FrameImpair;
use kumiki_pcapng::CaptureError;
use kumiki_settings::NodeKinds;
use private::CaptureBudget;

#[cfg(target_os = "linux")]
pub mod allowance;
pub mod capture;
#[cfg(target_os = "linux")]
pub mod descriptors;
#[cfg(target_os = "linux")]
pub mod gate;
mod host;
#[cfg(target_os = "linux")]
pub mod line;
pub mod logbook;
#[cfg(target_os = "linux")]
pub mod memory;
pub mod private;
#[cfg(target_os = "linux")]
pub mod recorder;
#[cfg(target_os = "linux")]
pub mod sandbox;
#[cfg(test)]
mod tests;
pub mod throttle;

// What a caller of `run` needs of the crates below.
pub use kumiki_graph::{Duration, Protocol as Program, Quality};
pub use kumiki_io::admission;
pub use kumiki_io::prompt::secret;
pub use kumiki_io::{Bell, ShutdownRequest, hear_of_long_files, unguessable};
pub use kumiki_octets::Pattern;
pub use kumiki_octets::text::is_unseen;

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputFormat {
    /// Lines for people.
    #[default]
    Text,
    /// JSON Lines for programs, each with a key `event`: `listening`, `connection`, `ping`, `end`.
    Json,
}

/// How many inputs are handled, and packets read, before TCP decides on acknowledgments. Assumed: as many as Linux's
/// NAPI takes from a device in one turn.
pub const BATCH: usize = 64;

/// So many segments TCP hands down at once to a device that takes them, as far as a datagram holds them: as Linux does.
const BURST: u32 = 64;

/// How often the watcher looks where nothing happens.
pub const LOOK: Duration = Duration::from_millis(200);

/// How long what an interrupted program says last may take to leave, where the device has no room or the line delays
/// it.
const FAREWELL: Duration = Duration::from_secs(1);

/// The layers of the host, from settings written as in scenarios.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack {
    host: Host,
    /// The program's node, and IP's.
    pub program: String,
    ip: &'static str,
    device: String,
    /// Between which layers a capture is taken, where not between IP and the device.
    frames: Option<(&'static str, &'static str)>,
    /// The settings as they were written.
    sets: Vec<String>,
}

/// What all connections hold at most where this process is not bounded: as the profiles have it.
const CONNECTIONS_MEMORY: u64 = 1 << 30;
/// With less nobody could be served.
const LEAST_MEMORY: u64 = 1 << 20;

/// What a program of octets stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// XTP.
    Xtp,
}

impl Transport {
    const fn kind(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Xtp => "xtp",
        }
    }
}

/// A socket that is a station of an Ethernet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimEther {
    /// Its own address and port.
    pub local: SocketAddrV4,
    /// Who gets frames for all stations.
    pub stations: Vec<SocketAddrV4>,
    /// A box between the stations to which all frames go.
    pub via: Option<SocketAddrV4>,
}

impl SimEther {
    /// What the device is called in the graph.
    const DEVICE: &'static str = "socket";

    /// Refuses addresses of other machines, and those by which others reach this one.
    ///
    /// # Errors
    /// A [`ConfigError`] that says which, and what to do.
    pub fn keep_to_loopback(&self) -> Result<(), ConfigError> {
        let own = [("--sim-ether", self.local)];
        let via = self.via.map(|via| ("--via", via));
        let others = self.stations.iter().map(|it| ("--station", *it));
        let mut all = own.into_iter().chain(via).chain(others);
        match all.find(|(_, address)| !address.ip().is_loopback()) {
            Some((option, address)) => {
                let why = format!("{address} is not on the loopback interface");
                Err(ConfigError::at([option], why).expected("an address of 127.0.0.0/8, or --beyond-loopback as well"))
            }
            None => Ok(()),
        }
    }

    /// Opens the socket.
    ///
    /// # Errors
    /// [`LiveError::Line`], which says what would help.
    pub fn open(&self) -> Result<Box<dyn RealDevice>, LiveError> {
        let socket = Udp::open(self.local.into(), RemoteEnd::Any);
        let socket = socket.map_err(|why| LiveError::Line(why.to_string()))?;
        Ok(Box::new(socket))
    }
}

/// Nodes, each on one other.
fn chain<'a>(graph: impl IntoIterator<Item = (&'a str, &'a str)>) -> impl Iterator<Item = (String, Vec<String>)> {
    let graph = graph.into_iter();
    graph.map(|(node, below)| (node.to_owned(), vec![below.to_owned()]))
}

fn octets(mtu: u16) -> toml::Value {
    format!("{mtu} B").into()
}

/// Between which ends a line is: [`Impair::toward`](kumiki_media::Impair::toward) names one.
const ENDS: [&str; 2] = ["linux", "kumiki"];

impl Stack {
    /// `program` on `transport` on IP on the TUN device `device`, with ICMP beside it. A program called `ping` stands
    /// on ICMP. The version of IP is that of `address`. `kinds` has those of the families that are needed.
    #[must_use]
    pub fn tun(kinds: NodeKinds, program: &str, transport: Transport, address: &str, mtu: u16, device: &str) -> Self {
        let transport = transport.kind();
        let upper = if program == "ping" { "icmp" } else { transport };
        let ip = if address.contains(':') { "ipv6" } else { "ip" };
        let graph = [(program, upper), (transport, ip), ("icmp", ip), (ip, device)];
        let mut stack = Self::of(kinds, chain(graph), program, ip, device);
        stack.put(ip, "address", address.into());
        stack.put(ip, "mtu", octets(mtu));
        stack
    }

    /// `program` on `transport` on an Ethernet whose frames go in datagrams of `socket`. TCP has IP below it, and ICMP
    /// beside it; XTP has VNET, and its packets are in the frames. A program called `ping` stands on ICMP, so on IP,
    /// whatever `transport` is.
    ///
    /// # Errors
    /// A [`ConfigError`] where `address` is of IPv6, for ARP resolves addresses of IPv4, and where the socket's
    /// cannot be a station's.
    pub fn sim_ether(
        kinds: NodeKinds,
        program: &str,
        transport: Transport,
        address: Network,
        mtu: u16,
        socket: &SimEther,
    ) -> Result<Self, ConfigError> {
        let IpAddr::V4(own) = address.address else {
            return Err(ConfigError::at(["--addr"], "ARP resolves IPv4 addresses")
                .expected("an IPv4 address and its prefix, such as 192.168.3.1/24"));
        };
        let station = socket.local;
        if station.ip().is_unspecified() || station.port() == 0 || station.port() % 2 == 1 {
            let why = format!("no station can be at {station}");
            return Err(ConfigError::at(["--sim-ether"], why)
                .expected("a host's IPv4 address and an even port, such as 127.0.0.1:7000"));
        }
        let is_ping = program == "ping";
        let transport = if is_ping { Transport::Tcp } else { transport };
        let lower = [("arp", "eth"), ("eth", "sim_ether"), ("sim_ether", SimEther::DEVICE)];
        let network = match transport {
            Transport::Tcp => "ip",
            Transport::Xtp => "vnet",
        };
        let kind = transport.kind();
        let upper = if is_ping { "icmp" } else { kind };
        let mut graph = vec![(program, upper), (kind, network), (network, "arp")];
        if network == "ip" {
            graph.push(("icmp", network));
        }
        graph.extend(lower);
        let mut stack = Self::of(kinds, chain(graph), program, network, SimEther::DEVICE);
        stack.frames = Some(("eth", "sim_ether"));
        match transport {
            Transport::Tcp => {
                stack.put("ip", "address", address.to_string().into());
                stack.put("ip", "mtu", octets(mtu));
                stack.put("ip", "neighbours", "below".into());
            }
            Transport::Xtp => {
                let list = vec![toml::Value::from(address.to_string())];
                stack.put("vnet", "addresses", list.into());
            }
        }
        stack.put("arp", "addresses", vec![toml::Value::from(own.to_string())].into());
        stack.put("eth", "address", socket.local.to_string().into());
        stack.put("eth", "mtu", octets(mtu));
        stack.put("sim_ether", "address", socket.local.to_string().into());
        let stations: Vec<toml::Value> = socket.stations.iter().map(|station| station.to_string().into()).collect();
        if !stations.is_empty() {
            stack.put("sim_ether", "stations", stations.into());
        }
        if let Some(via) = socket.via {
            stack.put("sim_ether", "via", via.to_string().into());
        }
        Ok(stack)
    }

    /// Nodes and what each stands on; `program` is the uppermost, `ip` the node of IP. They are made by their `kinds`, so
    /// whoever calls knows which families there are.
    pub fn of(
        kinds: NodeKinds,
        graph: impl IntoIterator<Item = (String, Vec<String>)>,
        program: &str,
        ip: &'static str,
        device: &str,
    ) -> Self {
        let mut stack = Self {
            frames: None,
            host: Host { kinds, layers: graph.into_iter().collect(), settings: BTreeMap::new() },
            program: program.to_owned(),
            ip,
            device: device.to_owned(),
            sets: Vec::new(),
        };
        // Where this process is bounded, callers are refused before an allocation is.
        if let Some(most) = memory::of_connections().filter(|most| *most < CONNECTIONS_MEMORY) {
            for transport in ["tcp", "xtp"] {
                if stack.layers().contains(&transport) {
                    stack.put(transport, "memory", format!("{} B", most.max(LEAST_MEMORY)).into());
                }
            }
        }
        stack
    }

    /// Sets `key` of `node`.
    pub fn put(&mut self, node: &str, key: &str, value: toml::Value) {
        let settings = self.host.settings.entry(node.to_owned()).or_default();
        settings.insert(key.to_owned(), value);
    }

    /// The layers that can be set.
    fn layers(&self) -> Vec<&str> {
        let lower = ["icmp", "ppp", "hdlc", "arp", "eth", "sim_ether"];
        let all = ["tcp", "xtp", self.ip].into_iter().chain(lower);
        all.filter(|layer| self.host.layers.contains_key(*layer)).collect()
    }

    /// Applies settings written as `node.key=value`, such as `tcp.sack=false`.
    ///
    /// # Errors
    /// A [`ConfigError`] where one names no node of this stack.
    pub fn set(&mut self, sets: &[String]) -> Result<(), ConfigError> {
        for text in sets {
            let place = || ErrorPlace::Set(text.clone());
            let (path, value) = assignment(text)?;
            let [node, keys @ .., last] = path.as_slice() else {
                return Err(ConfigError::new("no key")
                    .in_place(place())
                    .expected("NODE.KEY=VALUE, such as tcp.sack=false"));
            };
            let known = self.layers();
            if !known.contains(node) {
                return Err(ConfigError::unknown(std::iter::empty::<&str>(), "layer", node, &known).in_place(place()));
            }
            let mut table = self.host.settings.entry((*node).to_owned()).or_default();
            for key in keys {
                let inner = table.entry((*key).to_owned()).or_insert_with(|| toml::Table::new().into());
                table = inner
                    .as_table_mut()
                    .ok_or_else(|| ConfigError::at(&path, format!("{key:?} is no table")).in_place(place()))?;
            }
            table.insert((*last).to_owned(), value);
        }
        self.sets.extend_from_slice(sets);
        Ok(())
    }

    /// Between which layers a capture is taken.
    fn captured(&self) -> (&str, &str) {
        self.frames.unwrap_or((self.ip, &self.device))
    }

    /// Why it cannot go on.
    fn failed(&self, failure: &Failure) -> LiveError {
        let what = match failure {
            Failure::Device(..) => format!("device {} is of no more use", self.device),
            Failure::Graph(..) => "the stack cannot go on".to_owned(),
        };
        LiveError::System { what, why: failure.to_error() }
    }

    /// The graph.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the setting which is wrong.
    fn build(&self, program: Box<dyn Protocol>, seed: u64) -> Result<(Graph, DeviceId), ConfigError> {
        let nodes = vec![(self.program.as_str(), program)];
        let (graph, devices) = self.graph(nodes, seed)?;
        let device = devices.get(&self.device).copied();
        let device = device.ok_or_else(|| ConfigError::new("the stack stands on no device"))?;
        Ok((graph, device))
    }
}

impl Stack {
    /// The graph with these nodes, and its devices by name.
    pub fn graph(
        &self,
        nodes: Vec<(&str, Box<dyn Protocol>)>,
        seed: u64,
    ) -> Result<(Graph, BTreeMap<String, DeviceId>), ConfigError> {
        self.host.graph(nodes, seed).map_err(|fault| self.locate(fault))
    }

    /// A fault with the setting that it is about.
    fn locate(&self, fault: ConfigError) -> ConfigError {
        let path: Vec<&str> = fault.path().iter().map(String::as_str).collect();
        let is_it = |text: &&String| assignment(text).is_ok_and(|(set, _)| set == path);
        match self.sets.iter().rev().find(is_it) {
            Some(text) => {
                let place = ErrorPlace::Set(text.clone());
                fault.in_place(place)
            }
            None => fault,
        }
    }
}

/// `a.b=value`: the path, and the value as TOML writes it, or else as text.
fn assignment(text: &str) -> Result<(Vec<&str>, toml::Value), ConfigError> {
    let Some((name, written)) = text.split_once('=') else {
        return Err(ConfigError::new("no \"=\"").in_place(ErrorPlace::Set(text.to_owned())).expected("NAME=VALUE"));
    };
    let written = written.trim();
    let value = Node::parse_value(written, Origin::Set(0))
        .map_or_else(|| toml::Value::String(written.to_owned()), |node| node.to_toml());
    Ok((name.trim().split('.').map(str::trim).collect(), value))
}

/// What goes wrong on the line, from `key=value` of what a scenario has as `impair`, such as `loss=5%`.
///
/// # Errors
/// A [`ConfigError`] where there is no such key, or the value is none for it.
pub fn impair(texts: &[String]) -> Result<Option<FrameImpair>, ConfigError> {
    let mut table = toml::Table::new();
    for text in texts {
        let (path, value) = assignment(text)?;
        table.insert(path.join("."), value);
    }
    if table.is_empty() {
        return Ok(None);
    }
    FrameImpair::read(&table).map(Some).map_err(|fault| fault.under(&["impair"]))
}

/// An address with the length of its prefix, such as `10.9.0.1/24`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    /// The address.
    pub address: IpAddr,
    /// How many of its bits name the network, 0 to 32 or to 128.
    pub prefix: u8,
}

impl core::str::FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(address, prefix)| {
            let address: IpAddr = address.parse().ok()?;
            let bits = if address.is_ipv4() { 32 } else { 128 };
            let prefix = prefix.parse().ok().filter(|prefix| *prefix <= bits)?;
            Some(Self { address, prefix })
        });
        parts.ok_or_else(|| "write an address and its prefix, such as 10.9.0.2/24 or fd00:9::2/64".to_owned())
    }
}

impl Network {
    /// Whether it is one address alone, to which whoever sets it makes routes himself.
    #[must_use]
    pub const fn is_host(&self) -> bool {
        self.prefix == if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// Whether `address` is in it; an IPv4 address inside IPv6 is that of IPv4.
    #[must_use]
    pub const fn contains(&self, address: IpAddr) -> bool {
        let (bits, width) = match (address.to_canonical(), self.address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => ((a.to_bits() ^ b.to_bits()) as u128, 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits(), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        let rest: u32 = width - if (self.prefix as u32) < width { self.prefix as u32 } else { width };
        // Of a prefix of no bits all 128 are shifted out.
        match bits.checked_shr(rest) {
            Some(bits) => bits == 0,
            None => true,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// The device and what is between it and the graph.
pub struct Line {
    /// The device.
    pub device: Box<dyn RealDevice>,
    /// The largest unit that it takes, in octets.
    pub mtu: u16,
    /// What goes wrong.
    pub impair: Option<FrameImpair>,
    /// Fixes what goes wrong.
    pub seed: u64,
    /// Where what crosses the device is written, as pcapng.
    pub pcap: Option<PathBuf>,
    /// How many octets of each packet; 0 for all.
    pub snaplen: u32,
    /// The sandbox in which it runs.
    #[cfg(target_os = "linux")]
    pub sandbox: sandbox::Sandbox,
}

/// Why there was no run, or none to the end.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Something on the command line is wrong.
    #[error("{0}")]
    Input(#[from] ConfigError),
    /// The graph is not complete.
    #[error("{0}")]
    Start(#[from] kumiki_io::CannotStart),
    /// The operating system refused what the run needs.
    #[error("{what}: {}", refusal::plain(why))]
    System {
        /// What.
        what: String,
        /// Its reason.
        why: io::Error,
    },
    /// A place that was named cannot be had.
    #[error("{option} {}: {}", path.display(), refusal::words(path, why, *access))]
    Place {
        /// By which option.
        option: &'static str,
        /// The place.
        path: PathBuf,
        /// The reason of the file system.
        why: io::Error,
        /// What was to be done there.
        access: refusal::Access,
    },
    /// The line or the device cannot be had, or is of no more use.
    #[error("{0}")]
    Line(String),
    /// The sandbox cannot be entered.
    #[cfg(target_os = "linux")]
    #[error("sandbox: {0}")]
    Sandbox(#[from] sandbox::SandboxError),
}

/// `name`, where an interface can be called so.
///
/// # Errors
/// A sentence that says what would be right.
pub fn interface(name: &str) -> Result<String, String> {
    #[cfg(target_os = "linux")]
    kumiki_io::tun::check_name(name)?;
    Ok(name.to_owned())
}

/// Opens the TUN device `name`; where `linux` is given, the kernel gets that address at its end, and the device is
/// brought up. Super-segments cross it where they may and the kernel knows how; that it does not is said on standard
/// error.
///
/// # Errors
/// [`TunError`], which says what would help.
#[cfg(target_os = "linux")]
pub fn open_tun(
    name: &str,
    mtu: u16,
    linux: Option<Network>,
    super_segments: bool,
) -> Result<Box<dyn RealDevice>, TunError> {
    let packets = if super_segments { Packets::Any } else { Packets::Plain };
    let tun = Tun::open_as(name, TunConfig { layer: Layer::Ip, mtu, packets })?;
    if let Some(why) = tun.plain_because() {
        // That nobody reads it is no reason to stop.
        let _ = writeln!(
            io::stderr(),
            "kumiki: TUN device `{name}`: packets cross it one by one, since the kernel refuses super-segments (IFF_VNET_HDR): {why}"
        );
    }
    if let Some(Network { address, prefix }) = linux {
        tun.configure_kernel(address, prefix, mtu)?;
    }
    Ok(Box::new(tun))
}

/// TUN devices are Linux's: none can be opened here.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn open_tun(name: &str, _: u16, _: Option<Network>, _: bool) -> Result<Box<dyn RealDevice>, io::Error> {
    let why = format!("TUN device `{name}`: only Linux has such devices");
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// The time now, as a log has it.
pub fn date() -> String {
    let seconds = i64::try_from(kumiki_io::clock::seconds_since_1970()).unwrap_or(i64::MAX);
    let Some(it) = kumiki_osi_service::ftam::CalendarTime::from_unix_seconds(seconds) else {
        return String::new();
    };
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", it.year, it.month, it.day, it.hour, it.minute, it.second)
}

/// A descriptor that stands for nothing, for when there is no other; it needs no file, which a sandbox may refuse.
#[cfg(target_os = "linux")]
pub fn spare() -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd as _;
    io::stderr().as_fd().try_clone_to_owned().ok()
}

/// That what `option` names cannot be had.
pub fn place(option: &'static str, path: &Path, access: refusal::Access) -> impl FnOnce(io::Error) -> LiveError {
    let path = path.to_owned();
    move |why| LiveError::Place { option, path, why, access }
}

/// What the operating system says where `what` did not go.
pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> LiveError {
    let what = what.into();
    move |why| LiveError::System { what, why }
}

/// What a run did, but for what the program itself says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveOutcome {
    /// Whether somebody wanted it to end before the program was done.
    pub interrupted: bool,
    /// How long it took.
    pub elapsed: Duration,
    /// The CPU time of this process in it.
    pub cpu: Duration,
    /// What the device did.
    pub device: RealCounters,
    /// What the line did to frames, `a_` to those from the device and `b_` to those from the graph.
    pub impaired: Vec<(&'static str, u64)>,
}

/// What looks at the program after each pass and says whether it is done.
pub trait Watcher<P> {
    /// Called often; must be quick where nothing has happened.
    fn look(&mut self, program: &P, now: Instant) -> bool;

    /// Has `program` end what it has open, for this reason, and says by which token it is to be woken for that; none:
    /// nothing is open. Called once at most, and what has ended so is told at the next [`Watcher::look`].
    fn stop(&mut self, program: &mut P, why: Reason) -> Option<Token>;
}

/// Runs `program` on `stack` on `line` until `watcher` finds it done, or Ctrl-C, which aborts what is open.
///
/// # Errors
/// [`LiveError`]; nothing has been sent where it is [`LiveError::Input`].
pub fn run<P: Protocol>(
    stack: &Stack,
    program: P,
    line: Line,
    watcher: &mut impl Watcher<P>,
) -> Result<LiveOutcome, LiveError> {
    let seed = unguessable().map_err(system("no random number for the stack's secrets"))?;
    let (mut graph, device) = stack.build(Box::new(program), seed)?;
    let captures = CaptureBudget::endless(line.snaplen);
    let capture = match &line.pcap {
        Some(path) => begin_capture((path, &captures), &mut graph, stack.captured())?,
        None => None,
    };
    let node = graph.node(&stack.program);
    let clock = RealClock::start();
    // The packets of super-segments count, and several of these are to come together.
    let (batch, burst) = if line.device.takes_super_segments() { (4 * BATCH, BURST) } else { (BATCH, 1) };
    let pace = Pace { batch, ..Pace::default() };
    let mut executor = Executor::new(clock, pace);
    let host = executor.add_graph("host", graph);
    let config = DeviceConfig { mtu: line.mtu.into(), burst };
    executor.set_device(host, device, config);
    let real = executor.add_real(line.device).map_err(system("no descriptor to wait for the device"))?;
    let ends = (Plug::Device(host, device), Plug::Real(real));
    let impaired = join(&mut executor, ends, line.impair.as_ref().map(|it| (it, line.seed)))?;
    let wish = ShutdownRequest::listen(&executor.bell()).map_err(system("cannot listen to Ctrl-C"))?;
    #[cfg(target_os = "linux")]
    sandbox::enter(&line.sandbox, &sandbox::of_lines([], Vec::new()))?;
    let (began, cpu) = (clock.now(), cpu_time());
    executor.start()?;
    let mut running = Running { watcher, node, wish, capture, captures, is_stopped: false };
    loop {
        let ended = executor
            .run(LOOK, |executor| executor.graph_mut(host).is_none_or(|graph| running.look::<P>(graph, clock.now())));
        if ended != ExecutorEnd::TimedOut {
            break;
        }
    }
    if running.is_stopped {
        executor.run(FAREWELL, |executor| !executor.is_leaving());
    }
    let outcome = LiveOutcome {
        interrupted: running.wish.is_made(),
        elapsed: clock.now().saturating_since(began),
        cpu: Duration::from_nanos(cpu_time().as_nanos().saturating_sub(cpu.as_nanos())),
        device: executor.real_counters(real),
        impaired: impaired.map(|element| executor.element_counters(element)).unwrap_or_default(),
    };
    if let Some(capture) = running.capture {
        capture.finish();
        captures_end(&running.captures);
    }
    executor.failure().map_or(Ok(outcome), |failure| Err(stack.failed(failure)))
}

/// A program while it runs.
struct Running<'a, W> {
    watcher: &'a mut W,
    node: Option<NodeId>,
    wish: ShutdownRequest,
    capture: Option<Capture>,
    captures: CaptureBudget,
    /// It was told to end.
    is_stopped: bool,
}

impl<W> Running<'_, W> {
    /// Looks around after a pass; true where the program is done.
    fn look<P: Protocol>(&mut self, graph: &mut Graph, now: Instant) -> bool
    where
        W: Watcher<P>,
    {
        if let Some(capture) = &mut self.capture {
            capture.take_from(graph);
            captures_end(&self.captures);
        }
        let Some((node, program)) = self.node.and_then(|node| Some((node, graph.protocol_mut::<P>(node)?))) else {
            return true;
        };
        if self.wish.is_made()
            && !core::mem::replace(&mut self.is_stopped, true)
            && let Some(token) = self.watcher.stop(program, Reason::User)
        {
            // It says what it has to say in the next pass.
            graph.wake(now, node, token);
            return false;
        }
        self.watcher.look(program, now) || self.is_stopped
    }
}

/// Joins the two ends of a line, `impaired` with its seed where it is to be; gives the element that does that.
fn join(
    executor: &mut Executor<RealClock>,
    (inner, outer): (Plug, Plug),
    impaired: Option<(&FrameImpair, u64)>,
) -> Result<Option<ElementId>, LiveError> {
    let Some((impair, seed)) = impaired else {
        executor.plug(inner, outer);
        return Ok(None);
    };
    let [to_linux, to_kumiki] = impair.toward(ENDS).map_err(|fault| fault.under(&["impair"]))?;
    let element = executor.add_element(Box::new(Impaired::new(to_kumiki, to_linux, seed)));
    executor.plug(outer, Plug::Port(element, 0));
    executor.plug(Plug::Port(element, 1), inner);
    Ok(Some(element))
}

/// Begins a capture of what crosses between the node `upper`, which is called as its kind, and `lower`.
///
/// # Errors
/// [`LiveError`] where the file cannot be made, or no such layers are there.
pub fn begin_capture(
    (path, budget): (&Path, &CaptureBudget),
    graph: &mut Graph,
    (upper, lower): (&str, &str),
) -> Result<Option<Capture>, LiveError> {
    let capture =
        Capture::begin(path, budget, |file| Stream::new(graph, (upper, upper), lower, (file, budget.snaplen())));
    capture.map_err(|why| uncaptured(path, why))
}

/// That no capture can begin at `path`.
#[must_use]
pub fn uncaptured(path: &Path, why: CaptureError) -> LiveError {
    if let CaptureError::Io(why) = why {
        return place("--pcap", path, refusal::Access::Write)(why);
    }
    ConfigError::new(format!("--pcap {}: {why}", path.display())).into()
}

/// Has standard error say, once, that captures have ended, and why: standard output may be a line or JSON.
pub fn captures_end(budget: &CaptureBudget) {
    if let Some(remark) = budget.remark() {
        // That nobody reads it is no reason to stop.
        let _ = writeln!(io::stderr(), "kumiki: --pcap: {remark}");
    }
}
