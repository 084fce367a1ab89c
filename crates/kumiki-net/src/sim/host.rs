//! A host of the network: its layers, its programs, and what can be done to it.

use core::cell::RefCell;
use core::future::Future;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::pin::Pin;
use core::time::Duration;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::{Graph, Instant, Rng, Token};
use kumiki_inet::tcp;
use kumiki_link::{Impaired, Serial, Shared};
use kumiki_sim::{AdapterConfig, ElementId, HostId, Plug, World};
use tokio::task::{AbortHandle, JoinHandle};

use super::link::Link;
use super::net::Net;
use super::outcome::sealed::Outcome as _;
use super::skew::ClockOffset;
use super::task::OnHost;
use super::time::Clock;
use super::{Netstat, Outcome, SimError, ToHosts};
use crate::Stack;
use crate::layers::{LINE, Line, Plan, SOCKETS};
use crate::stack::{Driver, StackGuard};

/// The random streams of hosts; those of links are others.
const STREAM: u64 = 1;

/// What a packet can carry, headers included, unless somebody says otherwise.
pub(super) const MTU: u32 = 1500;

pub(super) type Program = Rc<dyn Fn() -> Pin<Box<dyn Future<Output = ()>>>>;

/// A host, as its network keeps it.
pub(super) struct HostSlot {
    pub(super) name: String,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) stack: Stack,
    pub(super) id: HostId,
    link: (Shared<Impaired>, Shared<Serial>),
    /// These, as the world numbers them.
    pieces: (ElementId, ElementId),
    config: tcp::Config,
    mtu: u32,
    pub(super) is_gateway: bool,
    /// Whether it has IPv4, and IPv6: addresses of these may come and go.
    pub(super) versions: [bool; 2],
    /// What runs on it, from its start.
    pub(super) programs: Vec<Program>,
    /// Tasks that have not ended, and some that have.
    tasks: Vec<AbortHandle>,
    /// How often it has been started.
    starts: u64,
    pub(super) is_down: bool,
    /// How far its wall clock is before the network's, or behind.
    pub(super) ahead: ClockOffset,
}

/// Tells the network that a host's sockets have something, and knows all names.
struct HostRinger {
    clock: Arc<Clock>,
    names: Names,
    host: usize,
}

/// The addresses of each name.
pub(super) type Names = Arc<Mutex<std::collections::BTreeMap<String, Vec<IpAddr>>>>;

impl Driver for HostRinger {
    fn ring(&self) {
        self.clock.bell.ring(self.host);
    }

    fn woke(&self) {
        self.clock.bell.woke();
    }

    fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(name).cloned().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no host of this network is called `{name}`"))
        })
    }
}

/// Runs the program of a host, whose failure ends the run.
async fn until_it_fails<F>(program: F)
where
    F: Future,
    F::Output: Outcome,
{
    if let Some(message) = program.await.failure()
        && let Some(net) = Net::current()
        && let Some(host) = net.current_host()
    {
        net.fail_with(SimError::Failed { host: host.name(), at: net.elapsed(), message });
    }
}

/// The layers of the host of this name and number, which has been started so often.
fn graph(
    (name, number, starts): (&str, usize, u64),
    (addresses, versions): (&[IpAddr], [bool; 2]),
    (tcp, mtu, is_gateway): (&tcp::Config, u32, bool),
    net: &Net,
) -> Result<(Graph, Stack), SimError> {
    // What it draws depends on its name, and on how often it was started; not on other hosts.
    let seed = Rng::named(net.0.seed, STREAM, name).next_u64().wrapping_add(starts);
    let driver = HostRinger { clock: Arc::clone(net.clock()), names: Arc::clone(&net.0.names), host: number };
    // It leads everywhere.
    let line = Line { prefixes: Some([0, 0]), later: versions, ..Line::plain(addresses.to_vec(), mtu) };
    let built = Plan { lines: &[line], tcp, is_gateway, budget: None, seed, part: None }.build(Box::new(driver));
    built.map_err(|why| SimError::Host { host: name.to_owned(), why })
}

/// The addresses of the host of this number: 192.168.0.1, fd00::1 and so on.
pub(super) fn addresses_of(number: usize) -> Vec<IpAddr> {
    let n = u16::try_from(number + 1).unwrap_or(u16::MAX);
    let [high, low] = n.to_be_bytes();
    vec![Ipv4Addr::new(192, 168, high, low).into(), Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n).into()]
}

/// Why a host cannot be called so.
pub(super) fn wrong_name(name: &str) -> Option<String> {
    let what = if name.is_empty() {
        "is empty"
    } else if name.contains(|it: char| it.is_whitespace() || it.is_control()) {
        "has spaces, or what cannot be seen"
    } else if name.starts_with('.') || name.ends_with('.') {
        "has a dot at an end"
    } else if name.parse::<IpAddr>().is_ok() {
        "is an address, and would be taken for that"
    } else if name.contains(':') {
        "has a colon, which a port comes after"
    } else if name.eq_ignore_ascii_case("localhost") {
        "is that of every host for itself"
    } else {
        return None;
    };
    Some(format!("its name {what}; expected one such as `server` or `db.example`"))
}

/// Why these cannot be the addresses of a host.
pub(super) fn wrong_address(addresses: &[IpAddr]) -> Option<String> {
    for (place, address) in addresses.iter().enumerate() {
        let what = if address.is_unspecified() {
            "it stands for all"
        } else if address.is_loopback() {
            "every host has it for itself"
        } else if address.is_multicast() {
            "it is that of a group"
        } else if *address == IpAddr::V4(Ipv4Addr::BROADCAST) {
            "it is that of all hosts"
        } else if address.to_canonical() != *address {
            "it is one of IPv4, written as one of IPv6"
        } else if addresses.iter().take(place).any(|it| it == address) {
            return Some(format!("{address} is there twice"));
        } else {
            continue;
        };
        return Some(format!("{address} is no address of a host: {what}"));
    }
    None
}

/// A host of a [`Net`].
#[derive(Clone)]
pub struct Host {
    pub(super) net: Net,
    pub(super) number: usize,
}

/// One that has gone into a world: with its link to the cloud, started.
pub(super) fn add(
    net: &Net,
    name: &str,
    addresses: Vec<IpAddr>,
    (mtu, is_gateway): (u32, bool),
) -> Result<Host, SimError> {
    let number = net.0.hosts.borrow().len();
    let config = net.0.tcp.borrow().clone();
    let versions = [true, false].map(|is_v4| addresses.iter().any(|it| it.is_ipv4() == is_v4));
    let (graph, stack) = graph((name, number, 0), (&addresses, versions), (&config, mtu, is_gateway), net)?;
    let link = net.0.link.borrow().clone();
    let pieces = link.elements(link_seed(net, name));
    let mut world = net.0.world.borrow_mut();
    let id = world.add_host(fresh(net, name, mtu, graph));
    let impaired = world.add_element(name, Box::new(pieces.0.clone()));
    let serial = world.add_element(name, Box::new(pieces.1.clone()));
    // The pieces' own wires stay for good; whether they are in the path is said by `lead_by`.
    world.plug(Plug::Device(id, LINE), Plug::Port(impaired, 0));
    world.plug(Plug::Port(impaired, 1), Plug::Port(serial, 0));
    world.plug(Plug::Port(serial, 1), Plug::Port(net.0.cloud_id, number));
    lead_by(&mut world, (id, impaired, serial), Plug::Port(net.0.cloud_id, number), &link);
    for address in &addresses {
        net.0.cloud.lock().add(*address, number);
    }
    if is_gateway {
        net.0.cloud.lock().gateway = Some(number);
    }
    drop(world);
    net.know(name, addresses.clone());
    net.0.hosts.borrow_mut().push(HostSlot {
        name: name.to_owned(),
        addresses,
        stack,
        id,
        link: pieces,
        pieces: (impaired, serial),
        config,
        mtu,
        is_gateway,
        versions,
        programs: Vec::new(),
        tasks: Vec::new(),
        starts: 0,
        is_down: false,
        ahead: ClockOffset::default(),
    });
    let host = Host { net: net.clone(), number };
    host.begin()?;
    Ok(host)
}

/// What is random in the link of the host called `name` comes from it.
fn link_seed(net: &Net, name: &str) -> u64 {
    Rng::named(net.0.seed, STREAM + 1, name).next_u64()
}

/// What the host sends and is sent goes by its link where that does anything, and past it where it does not: each piece
/// costs.
fn lead_by(world: &mut World, (id, impaired, serial): (HostId, ElementId, ElementId), cloud: Plug, link: &Link) {
    let host = Plug::Device(id, LINE);
    let (up, down) = if link.is_plain() { (cloud, host) } else { (Plug::Port(impaired, 0), Plug::Port(serial, 1)) };
    world.lead(host, up);
    world.lead(cloud, down);
}

fn fresh(net: &Net, name: &str, mtu: u32, graph: Graph) -> kumiki_sim::Host {
    #[cfg(feature = "capture")]
    let graph = {
        let mut graph = graph;
        if net.0.capture.borrow().is_some() {
            super::capture::tap(&mut graph);
        }
        graph
    };
    #[cfg(not(feature = "capture"))]
    let _ = net;
    let mut host = kumiki_sim::Host::new(name, graph);
    host.set_adapter(LINE, AdapterConfig { mtu, ..AdapterConfig::default() });
    host
}

impl Host {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut HostSlot) -> T) -> T {
        let mut hosts = self.net.0.hosts.borrow_mut();
        #[expect(clippy::indexing_slicing, reason = "hosts are numbered as they are added, and none is taken out")]
        act(&mut hosts[self.number])
    }

    /// Starts its graph.
    fn begin(&self) -> Result<(), SimError> {
        let (id, name) = self.with(|it| (it.id, it.name.clone()));
        let mut world = self.net.0.world.borrow_mut();
        let now = world.own_time(id, self.net.now());
        match world.host_mut(id).map(|host| host.graph.start(now)) {
            Some(Err(error)) => Err(SimError::Host { host: name, why: error.to_string() }),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Lets the sockets' node hand down what they have left for it.
    pub(super) fn hand_down(&self, now: Instant) {
        let id = self.with(|it| it.id);
        let mut world = self.net.0.world.borrow_mut();
        let now = world.own_time(id, now);
        if let Some(host) = world.host_mut(id)
            && let Some(node) = host.graph.node(SOCKETS)
        {
            host.graph.wake(now, node, Token::default());
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        self.with(|it| it.name.clone())
    }

    /// Its addresses: at first those that the network has given it.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.with(|it| it.addresses.clone())
    }

    /// Its sockets as a whole.
    #[must_use]
    pub fn stack(&self) -> Stack {
        self.with(|it| it.stack.clone())
    }

    /// Until the guard is dropped, sockets that are made are this host's, and [`spawn`](super::spawn) starts tasks on
    /// it. Tasks of the host have that by themselves.
    #[must_use = "the host is left when the guard is dropped"]
    pub fn enter(&self) -> HostGuard {
        HostGuard { _stack: self.stack().enter(), before: CURRENT.replace(Some(self.number)) }
    }

    /// Gives it this program: it runs from when the network does, and again after each [restart](Host::restart).
    ///
    /// A program may return. One that returns an error ends the run with [`SimError::Failed`], and one that panics with
    /// [`SimError::Panicked`]: nobody else would hear of it. It is kept as long as the network: one that itself keeps a
    /// [`Host`] or a [`Net`] keeps the network for good, so it asks for [`Net::current`] instead.
    pub fn start<P, F>(&self, program: P) -> &Self
    where
        P: Fn() -> F + 'static,
        F: Future + 'static,
        F::Output: Outcome,
    {
        let program: Program = Rc::new(move || Box::pin(until_it_fails(program())));
        self.with(|it| it.programs.push(Rc::clone(&program)));
        if self.net.is_running() && !self.is_down() {
            self.spawn(program());
        }
        self
    }

    /// Starts a task on it, which ends when the host crashes; on one that is down it ends at once. To be called while
    /// the network runs.
    ///
    /// # Panics
    /// Where the network does not run.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        assert!(
            self.net.is_running(),
            "the network of `{}` does not run: tasks are started while it does",
            self.name()
        );
        let task = tokio::task::spawn_local(OnHost::new(self.clone(), future));
        if self.is_down() {
            task.abort();
        }
        self.with(|it| {
            if it.tasks.len() == it.tasks.capacity() {
                it.tasks.retain(|task| !task.is_finished());
            }
            it.tasks.push(task.abort_handle());
        });
        task
    }

    /// Runs the network until `future`, on this host, is done; see [`Net::run`].
    ///
    /// # Errors
    /// As there.
    pub fn run<F: Future>(&self, future: F) -> Result<F::Output, SimError> {
        self.net.run(OnHost::new(self.clone(), future))
    }

    /// Changes its line to the network, from now on: what is on the line stays as it is.
    pub fn set_link(&self, link: &Link) -> &Self {
        let (pieces, (impaired, serial), id) = self.with(|it| (it.link.clone(), it.pieces, it.id));
        link.apply(&pieces, link_seed(&self.net, &self.name()));
        let cloud = Plug::Port(self.net.0.cloud_id, self.number);
        lead_by(&mut self.net.0.world.borrow_mut(), (id, impaired, serial), cloud, link);
        self
    }

    /// Its tasks end, in the order in which they were started.
    pub(super) fn end_tasks(&self) {
        for task in self.with(|it| core::mem::take(&mut it.tasks)) {
            task.abort();
        }
    }

    /// The power fails: its tasks are dropped, its connections are gone without a word, what comes for it is lost.
    ///
    /// Tasks started by `tokio::spawn`, by a library perhaps, are not known to be this host's: they go on, with sockets
    /// that say that the host is gone.
    pub fn crash(&self) -> &Self {
        let stack = self.with(|it| {
            it.is_down = true;
            it.stack.clone()
        });
        self.net.0.cloud.lock().down.insert(self.number);
        self.end_tasks();
        stack.0.with(|table| table.go_down(None));
        // Nothing that it remembers survives: it is another graph from here on, which says nothing while it is down.
        self.renew();
        self
    }

    fn renew(&self) {
        self.with(|it| it.starts += 1);
        self.build_again();
    }

    /// Other layers, which know nothing yet, take the place of those that it has.
    pub(super) fn build_again(&self) {
        let (name, own, config, id, starts, (mtu, is_gateway)) = self.with(|it| {
            let own = (it.addresses.clone(), it.versions);
            (it.name.clone(), own, it.config.clone(), it.id, it.starts, (it.mtu, it.is_gateway))
        });
        let renewed = graph((&name, self.number, starts), (&own.0, own.1), (&config, mtu, is_gateway), &self.net);
        match renewed {
            Ok((graph, stack)) => {
                // With the layers goes what they have on record.
                #[cfg(feature = "capture")]
                self.net.collect();
                if let Some(host) = self.net.0.world.borrow_mut().host_mut(id) {
                    *host = fresh(&self.net, &name, mtu, graph);
                }
                self.with(|it| it.stack = stack);
            }
            // It was built before from the same.
            Err(error) => self.net.fail_with(error),
        }
    }

    /// The power is back: its layers start over, and with them the programs that it was [started](Host::start) with.
    pub fn restart(&self) -> &Self {
        if !self.with(|it| it.is_down) {
            self.crash();
        }
        self.with(|it| it.is_down = false);
        self.net.0.cloud.lock().down.remove(&self.number);
        if let Err(error) = self.begin() {
            self.net.fail_with(error);
        }
        self.net.clock().bell.change();
        // Where the network does not run they begin with it.
        if self.net.is_running() {
            for program in self.with(|it| it.programs.clone()) {
                self.spawn(program());
            }
        }
        self
    }

    /// From now on nothing gets from it to any host that is there, nor back, until [`Net::repair_all`] or
    /// [`Host::rejoin`].
    pub fn isolate(&self) -> &Self {
        self.net.partition(self, self.others());
        self
    }

    /// Everything gets through between it and all others again.
    pub fn rejoin(&self) -> &Self {
        self.net.repair(self, self.others());
        self
    }

    pub(super) fn others(&self) -> Vec<Self> {
        self.net.hosts().into_iter().filter(|it| it.number != self.number).collect()
    }

    /// Whether it has crashed and was not restarted.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.with(|it| it.is_down)
    }

    /// From now on packets that are longer than `octets`, and come from it or go to it, are lost without a word: a path
    /// with a smaller MTU behind a router that sends no ICMP (RFC 2923 section 2.1). `None`: no longer.
    pub fn set_black_hole(&self, octets: Option<usize>) -> &Self {
        let mut cloud = self.net.0.cloud.lock();
        match octets {
            Some(octets) => cloud.largest.insert(self.number, octets),
            None => cloud.largest.remove(&self.number),
        };
        drop(cloud);
        self
    }

    /// The latency of what it sends to `other`, from now on.
    ///
    /// # Panics
    /// As [`Net::partition`].
    pub fn set_latency_to(&self, other: impl ToHosts, latency: Duration) -> &Self {
        let (others, latency) = (self.net.numbers(&other), super::time::nanos(latency));
        self.net.0.cloud.lock().latencies.extend(others.into_iter().map(|other| ((self.number, other), latency)));
        self
    }

    /// Its sockets, one a line.
    #[must_use]
    pub fn netstat(&self) -> Netstat {
        Netstat::of(self)
    }
}

impl core::fmt::Debug for Host {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Host({})", self.name())
    }
}

thread_local! {
    /// The number of the host that this thread is on.
    static CURRENT: RefCell<Option<usize>> = const { RefCell::new(None) };
}

pub(super) fn current() -> Option<usize> {
    CURRENT.with_borrow(|it| *it)
}

/// Is on a [`Host`], and leaves it when dropped.
#[derive(Debug)]
pub struct HostGuard {
    _stack: StackGuard,
    before: Option<usize>,
}

impl Drop for HostGuard {
    fn drop(&mut self) {
        CURRENT.replace(self.before);
    }
}
