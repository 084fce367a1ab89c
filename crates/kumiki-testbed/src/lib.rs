//! tokio programs at the hosts of a scenario, in virtual time.
//!
//! A [`Testbed`] is a scenario of the laboratory: its lines, routers, switches and rings, its schedules and events, and
//! the loads of the hosts that are emulated. At some of its hosts are programs over [`kumiki_net`]: for them there is a
//! [`Net`], with all that it can do.
//!
//! ```
//! use kumiki_net::{TcpListener, TcpStream};
//! use kumiki_testbed::Testbed;
//! use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
//!
//! // A host on ATM, a router, and a line.
//! let net = Testbed::find("router")?.at(["a", "b"]).net(7)?;
//! net.host("b").start(|| async {
//!     let (mut stream, _) = TcpListener::bind("0.0.0.0:80").await?.accept().await?;
//!     stream.write_all(b"hello").await
//! });
//! let said = net.host("a").run(async {
//!     let mut said = String::new();
//!     TcpStream::connect("b:80").await?.read_to_string(&mut said).await?;
//!     std::io::Result::Ok(said)
//! })??;
//! assert_eq!(said, "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who is what
//!
//! | | is |
//! |---|---|
//! | a host with programs | from IP down what the scenario says, prices included; above it, in place of what the file has there, the TCP and UDP of [`kumiki_net`] ([`Testbed::tcp`] says which) |
//! | a host without | emulated, with the loads that the file gives it. Loads that write or read at hosts with programs are not run |
//! | a host with `real = { gateway = true }` | the same, and every destination is its own that comes to it: its programs take that by [`Stack::gateway`](kumiki_net::Stack::gateway) |
//! | an [event](kumiki_lab::scenario::Event) that takes the power of a host with programs | [`Host::crash`](kumiki_net::sim::Host::crash), and `restart` where it comes back |
//! | names | those of all hosts whose addresses the file gives |
//!
//! It is what `kumiki live` does in real time with programs of the operating system, and as there at most 10,240 frames
//! or PDUs wait wherever the file says nothing.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::path::Path;

use kumiki_graph::Instant;
use kumiki_lab::experiment::{LiveWorld, RealHost};
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::scenario::{Choice, ConfigError, Document, Point};
use kumiki_net::sim::{self, HostBetween, Net, NetworkModel, SimError};
use kumiki_net::tcp::config::Config;
use kumiki_octets::Message;

/// Why a scenario cannot be a network for programs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestbedError {
    /// Something is wrong with the scenario, or with what was [set](Testbed::set) in it.
    #[error("{0}")]
    Scenario(ConfigError),
    /// A host of it cannot have programs.
    #[error("{0}")]
    Host(SimError),
}

impl From<ConfigError> for TestbedError {
    fn from(fault: ConfigError) -> Self {
        Self::Scenario(fault)
    }
}

/// A scenario, and at which of its hosts programs are: see the [crate](self).
#[derive(Clone, Debug)]
pub struct Testbed {
    document: Document,
    choice: Choice,
    tcp: Option<Config>,
}

impl Testbed {
    /// The scenario in this file.
    ///
    /// # Errors
    /// [`TestbedError::Scenario`] where it cannot be read, or is not TOML.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, TestbedError> {
        Ok(Self::of(Document::load(file.as_ref())?))
    }

    /// The scenario of Kumiki's own that is called `name`.
    ///
    /// # Errors
    /// [`TestbedError::Scenario`] where there is none.
    pub fn find(name: &str) -> Result<Self, TestbedError> {
        Ok(Self::of(Document::find(name)?))
    }

    /// The scenario that `text` is.
    ///
    /// # Errors
    /// [`TestbedError::Scenario`] where it is not TOML.
    pub fn parse(text: &str) -> Result<Self, TestbedError> {
        Ok(Self::of(Document::parse("scenario", "the scenario", text)?))
    }

    fn of(document: Document) -> Self {
        Self { document, choice: Choice::default(), tcp: None }
    }

    /// Programs are at these hosts, beside those that the file says are real.
    #[must_use]
    pub fn at<'a>(mut self, hosts: impl IntoIterator<Item = &'a str>) -> Self {
        // In virtual time nobody runs it: only that there is somebody counts.
        self.choice.set.extend(hosts.into_iter().map(|host| format!("host.{host}.real={{ run = \"a program\" }}")));
        self
    }

    /// `name=value`, as `--set` of the command line has it: for a name of the file's `[define]` or `[vary]`, or for any
    /// other value, such as `link.wan.rate=5 Mb/s`. Of what is varied and not set it is the first value.
    #[must_use]
    pub fn set(mut self, what: &str) -> Self {
        self.choice.set.push(what.to_owned());
        self
    }

    /// The TCP of programs; as in every [`Net`] unless it is set.
    #[must_use]
    pub fn tcp(mut self, config: Config) -> Self {
        self.tcp = Some(config);
        self
    }

    /// The network: all that is random in it and in the scenario comes from `seed`.
    ///
    /// # Errors
    /// [`TestbedError::Scenario`] where the scenario cannot be, or no program is anywhere in it; [`TestbedError::Host`]
    /// where a host of it cannot have programs, for one whose name is none.
    pub fn net(&self, seed: u64) -> Result<Net, TestbedError> {
        self.net_of(&self.point()?, seed)
    }

    /// Runs `test` on this network with each of these seeds, as [`sim::for_seeds`] does.
    ///
    /// # Errors
    /// As [`Testbed::net`].
    ///
    /// # Panics
    /// As `test` does.
    pub fn for_seeds(&self, seeds: impl IntoIterator<Item = u64>, test: impl Fn(&Net)) -> Result<(), TestbedError> {
        let point = self.point()?;
        // What is wrong with it is so with every seed.
        self.net_of(&point, 0)?;
        let make = |seed| match self.net_of(&point, seed) {
            Ok(net) => net,
            Err(why) => panic!("seed {seed}: {why}"),
        };
        sim::for_seeds_with(seeds, make, test);
        Ok(())
    }

    fn point(&self) -> Result<Point, ConfigError> {
        self.document.first_checked(&self.choice, |point| Laboratory::live(point).map(drop)).map(|first| first.point)
    }

    fn net_of(&self, point: &Point, seed: u64) -> Result<Net, TestbedError> {
        let mut point = point.clone();
        std::sync::Arc::make_mut(&mut point.scenario).run.seed = seed;
        let world = Laboratory::live(&point).map_err(|fault| point.locate(fault))?;
        if world.real().is_empty() {
            let fault =
                ConfigError::at(["host"], "no program is at any host").expected("Testbed::at with the names of hosts");
            return Err(point.locate(fault).into());
        }
        if let Some(host) = world.real().iter().find(|it| it.real.is_ethernet()) {
            let path = ["host", &host.name, "real"];
            let fault = ConfigError::at(
                path,
                "frames of Ethernet of this machine or of a socket, which are not in virtual time",
            );
            return Err(point.locate(fault.expected("Testbed::at with its name: programs are there, then")).into());
        }
        let host = |it: &RealHost| HostBetween {
            name: it.name.clone(),
            addresses: it.addresses.iter().map(|(address, _)| *address).collect(),
            mtu: it.mtu,
            is_gateway: it.real.gateway,
        };
        let hosts: Vec<HostBetween> = world.real().iter().map(host).collect();
        let power: Vec<_> = world.real().iter().map(|it| (it.name.clone(), it.power.clone())).collect();
        let mut known: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
        for (name, address) in world.known() {
            known.entry(name.clone()).or_default().push(*address);
        }
        let between = Box::new(ScenarioBetween(world));
        let net = Net::with(seed, between, hosts, known, self.tcp.clone()).map_err(TestbedError::Host)?;
        for (name, changes) in power {
            for (at, is_up) in changes {
                let name = name.clone();
                net.at(core::time::Duration::from_nanos(at.as_nanos()), move |net| {
                    let host = net.host(&name);
                    _ = if is_up { host.restart() } else { host.crash() };
                });
            }
        }
        Ok(net)
    }
}

/// The world of a scenario, between its hosts with programs.
struct ScenarioBetween(LiveWorld);

impl NetworkModel for ScenarioBetween {
    fn pass(&mut self, now: Instant) {
        self.0.pass(now);
    }

    fn send(&mut self, host: usize, packet: Message) {
        self.0.arrive(host, packet);
    }

    fn arrived(&mut self) -> Option<(usize, Message)> {
        self.0.take_left().map(|left| (left.host, left.packet))
    }

    fn next_deadline(&mut self) -> Option<Instant> {
        self.0.standstill().is_none().then(|| self.0.next_event_at()).flatten()
    }

    fn failure(&self) -> Option<String> {
        self.0.standstill().map(ToString::to_string)
    }
}
