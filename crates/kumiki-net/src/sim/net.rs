//! The network as a whole.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::future::{Future, poll_fn};
use core::net::IpAddr;
use core::pin::pin;
use core::time::Duration;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_graph::{Instant, Rng};
use kumiki_inet::tcp;
use kumiki_sim::{ElementId, World};
use tokio::runtime::{Builder, LocalOptions};

use super::driver::{Polls, drive, first_of};
use super::host::{self, Host, HostSlot, Names};
use super::link::Link;
use super::named::ToHosts;
use super::plan::Plan;
use super::sim_network::SimNetwork;
use super::time::{Clock, nanos};
use crate::tcp::config::usual;

/// From host to host, unless somebody says otherwise.
const LATENCY: kumiki_graph::Duration = kumiki_graph::Duration::from_micros(500);

/// The random streams of the user's own draws; those of hosts and links are others.
const DRAWS: u64 = 16;

/// Nothing has to happen for longer than a day; but who waits for ever is told.
const LIMIT: Duration = Duration::from_hours(24);

/// Why a run ended before its time.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SimError {
    /// A host cannot be as it was asked for.
    Host {
        /// Its name.
        host: String,
        /// What is wrong.
        why: String,
    },
    /// A task of a host panicked.
    Panicked {
        /// Where it ran.
        host: String,
        /// When, in virtual time.
        at: Duration,
        /// What it said.
        message: String,
    },
    /// The program of a host has returned an error.
    Failed {
        /// Where it ran.
        host: String,
        /// When, in virtual time.
        at: Duration,
        /// What it said.
        message: String,
    },
    /// The time that a run may take is over, and what was to be done is not: perhaps all wait for each other.
    TimeLimit(Duration),
    /// The world stands still: things answer each other for ever at one instant.
    Standstill(String),
    /// tokio would not make a runtime.
    Runtime(String),
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { host, why } => write!(f, "host `{host}`: {why}"),
            Self::Panicked { host, at, message } => write!(f, "host `{host}`: a task panicked at {at:?}: {message}"),
            Self::Failed { host, at, message } => write!(f, "host `{host}`: a program failed at {at:?}: {message}"),
            Self::TimeLimit(limit) => write!(
                f,
                "nothing more came of it in {limit:?} of virtual time, and the program that was run has not ended"
            ),
            Self::Standstill(why) => write!(f, "{why}"),
            Self::Runtime(why) => write!(f, "no runtime: {why}"),
        }
    }
}

impl core::error::Error for SimError {}

/// What a network consists of.
pub(super) struct Parts {
    pub(super) seed: u64,
    pub(super) world: RefCell<World>,
    pub(super) cloud: SimNetwork,
    pub(super) cloud_id: ElementId,
    pub(super) hosts: RefCell<Vec<HostSlot>>,
    pub(super) names: Names,
    clock: Arc<Clock>,
    pub(super) tcp: RefCell<tcp::Config>,
    pub(super) link: RefCell<Link>,
    pub(super) plan: RefCell<Plan>,
    limit: Cell<Duration>,
    /// Somebody else's making is between the hosts.
    pub(super) has_between: Cell<bool>,
    is_running: Cell<bool>,
    failed: RefCell<Option<SimError>>,
    /// What all sockets were doing when the last run ended, where somebody wants to know.
    pub(super) last_sockets: RefCell<Option<String>>,
    #[cfg(feature = "capture")]
    pub(super) capture: RefCell<Option<super::capture::Capture>>,
}

/// A network of hosts in virtual time: see the [module](super).
///
/// It is a handle: copies are of the same network.
#[derive(Clone)]
pub struct Net(pub(super) Rc<Parts>);

thread_local! {
    /// The network that this thread runs.
    static CURRENT: RefCell<Option<Net>> = const { RefCell::new(None) };
}

impl Net {
    /// A network without hosts. All that is random in it comes from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut world = World::new();
        let cloud = SimNetwork::new(LATENCY);
        let cloud_id = world.add_element("network", Box::new(cloud.clone()));
        Self(Rc::new(Parts {
            seed,
            world: RefCell::new(world),
            cloud,
            cloud_id,
            hosts: RefCell::default(),
            names: Arc::new(Mutex::new(BTreeMap::new())),
            clock: Arc::default(),
            tcp: RefCell::new(usual()),
            link: RefCell::default(),
            plan: RefCell::default(),
            limit: Cell::new(LIMIT),
            has_between: Cell::new(false),
            is_running: Cell::new(false),
            failed: RefCell::new(None),
            last_sockets: RefCell::new(None),
            #[cfg(feature = "capture")]
            capture: RefCell::new(None),
        }))
    }

    /// The network that is running on this thread, for programs in it.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(super) fn current_or_panic() -> Self {
        match Self::current() {
            Some(net) => net,
            None => panic!("no network runs on this thread"),
        }
    }

    /// The host that the present task is on.
    #[must_use]
    pub fn current_host(&self) -> Option<Host> {
        host::current().map(|number| Host { net: self.clone(), number })
    }

    pub(super) fn clock(&self) -> &Arc<Clock> {
        &self.0.clock
    }

    pub(super) fn is_running(&self) -> bool {
        self.0.is_running.get()
    }

    pub(super) fn now(&self) -> Instant {
        self.0.clock.now()
    }

    /// Its seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Random numbers for the user's own draws, which depend on the seed and `name` alone: the same each time that they
    /// are asked for.
    #[must_use]
    pub fn rng(&self, name: &str) -> Rng {
        Rng::named(self.0.seed, DRAWS, name)
    }

    /// How much time has passed in it.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now().as_nanos())
    }

    /// The host called `name`: a new one with the next free addresses (192.168.0.1 and fd00::1, and so on) where there
    /// is none.
    ///
    /// # Panics
    /// Where the name cannot be ([`Net::host_at`] says which), and where there are 65,535 hosts already: they would
    /// need addresses of another plan. Where something stands [between](Net::with) the hosts there can be no others.
    pub fn host(&self, name: &str) -> Host {
        if let Some(host) = self.find(name) {
            return host;
        }
        let number = self.0.hosts.borrow().len();
        match self.host_at(name, host::addresses_of(number)) {
            Ok(host) => host,
            Err(error) => panic!("{error}"),
        }
    }

    /// A new host for which every destination is its own that no other host has: see [`crate::gateway`]. Its
    /// [stack](Host::stack) has the [`Gateway`](crate::Gateway). One at a time gets what is for nobody, the one that
    /// was added last.
    ///
    /// # Errors
    /// [`SimError::Host`] where the name is taken.
    pub fn gateway(&self, name: &str) -> Result<Host, SimError> {
        if self.find(name).is_some() {
            return Err(SimError::Host { host: name.to_owned(), why: "there is one of this name already".to_owned() });
        }
        let number = self.0.hosts.borrow().len();
        self.refuse_more_hosts(name)?;
        host::add(self, name, host::addresses_of(number), (host::MTU, true))
    }

    /// The host called `name`, if there is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Host> {
        let hosts = self.0.hosts.borrow();
        let number = hosts.iter().position(|it| it.name == name)?;
        Some(Host { net: self.clone(), number })
    }

    /// A new host with these addresses; of several of one version what says no other is from the first. A name has no
    /// spaces and no colon, no dot at its ends, is no address and not `localhost`, for none of these would be looked
    /// up. Large and small letters are different ones.
    ///
    /// # Errors
    /// [`SimError::Host`] where the name or an address is taken, or an address cannot be a host's.
    pub fn host_at(&self, name: &str, addresses: impl Into<Vec<IpAddr>>) -> Result<Host, SimError> {
        self.refuse_more_hosts(name)?;
        self.add_host(name, addresses.into(), (host::MTU, false))
    }

    /// As [`Net::host_at`], with packets of so many octets at most, and any addresses.
    pub(super) fn add_host(
        &self,
        name: &str,
        addresses: Vec<IpAddr>,
        (mtu, is_gateway): (u32, bool),
    ) -> Result<Host, SimError> {
        let wrong = |why: String| Err(SimError::Host { host: name.to_owned(), why });
        if self.find(name).is_some() {
            return wrong("there is one of this name already".to_owned());
        }
        if let Some(why) = host::wrong_name(name).or_else(|| host::wrong_address(&addresses)) {
            return wrong(why);
        }
        if addresses.is_empty() {
            return wrong("no address; a host has at least one".to_owned());
        }
        for address in &addresses {
            let hosts = self.0.hosts.borrow();
            if let Some(other) = hosts.iter().find(|it| it.has(*address)) {
                return wrong(format!("{address} is the address of `{}`", other.name));
            }
        }
        host::add(self, name, addresses, (mtu, is_gateway))
    }

    /// What stands between hosts knows all that there are.
    fn refuse_more_hosts(&self, name: &str) -> Result<(), SimError> {
        if !self.0.has_between.get() {
            return Ok(());
        }
        let names: Vec<String> = self.hosts().iter().map(|host| format!("`{}`", host.name())).collect();
        let why = format!("no program can be at it: this network was made with the hosts {}", names.join(", "));
        Err(SimError::Host { host: name.to_owned(), why })
    }

    /// `name` has these addresses.
    pub(super) fn know(&self, name: &str, addresses: Vec<IpAddr>) {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), addresses);
    }

    /// All hosts, in the order of being added.
    #[must_use]
    pub fn hosts(&self) -> Vec<Host> {
        let count = self.0.hosts.borrow().len();
        (0..count).map(|number| Host { net: self.clone(), number }).collect()
    }

    /// The link that hosts get which are added from here on; one on which everything arrives at once unless it is set.
    pub fn set_link(&self, link: &Link) -> &Self {
        *self.0.link.borrow_mut() = link.clone();
        self
    }

    /// From host to host everything takes so long, besides what their links add; half a millisecond unless it is set.
    /// Of a pair: [`Host::set_latency_to`].
    pub fn set_latency(&self, latency: Duration) -> &Self {
        self.0.cloud.lock().latency = nanos(latency);
        self
    }

    /// The TCP of hosts that are added from here on: [`usual`](crate::tcp::config::usual) unless it is set.
    pub fn set_tcp(&self, config: tcp::Config) -> &Self {
        *self.0.tcp.borrow_mut() = config;
        self
    }

    /// How much virtual time a run may take, 24 hours unless it is set.
    pub fn set_time_limit(&self, limit: Duration) -> &Self {
        self.0.limit.set(limit);
        self
    }

    /// The numbers of the hosts that are meant: one of another network has the number of one of ours, and is another.
    pub(super) fn numbers(&self, hosts: &impl ToHosts) -> Vec<usize> {
        let ours = |host: &Host| {
            assert!(Rc::ptr_eq(&self.0, &host.net.0), "`{}` is a host of another network", host.name());
            host.number
        };
        hosts.hosts(self).iter().map(ours).collect()
    }

    fn set_cut(&self, one: &impl ToHosts, other: &impl ToHosts, is_cut: bool) {
        let (one, other) = (self.numbers(one), self.numbers(other));
        let mut cloud = self.0.cloud.lock();
        for pair in one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b))) {
            for pair in [pair, (pair.1, pair.0)] {
                if is_cut {
                    cloud.cut.insert(pair);
                } else {
                    cloud.cut.remove(&pair);
                }
            }
        }
    }

    /// From now on nothing gets from any of `one` to any of `other`, nor back. What is in flight arrives.
    ///
    /// # Panics
    /// Where one of them is of another network, and where there is no host of a name; so do the others of this kind.
    pub fn partition(&self, one: impl ToHosts, other: impl ToHosts) -> &Self {
        self.set_cut(&one, &other, true);
        self
    }

    /// Everything gets through again.
    pub fn repair(&self, one: impl ToHosts, other: impl ToHosts) -> &Self {
        self.set_cut(&one, &other, false);
        self
    }

    /// From now on nothing gets from `from` to `to`; the other way is as it was.
    pub fn cut_one_way(&self, from: impl ToHosts, to: impl ToHosts) -> &Self {
        let (from, to) = (self.numbers(&from), self.numbers(&to));
        let pairs = from.iter().flat_map(|a| to.iter().map(move |b| (*a, *b)));
        self.0.cloud.lock().cut.extend(pairs);
        self
    }

    /// Nothing is cut off any more.
    pub fn repair_all(&self) -> &Self {
        self.0.cloud.lock().cut.clear();
        self
    }

    /// A number of all that was sent so far: which host sent which octets when. It is the same for two runs that were
    /// the same on the network, and (but for a chance of 2^-64) for no others.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.0.cloud.lock().digest()
    }

    /// How many packets have entered the network, and how many of them it has lost: for partitions, for hosts that are
    /// down, and for nobody having the address. What links lose is not among them.
    #[must_use]
    pub fn packets(&self) -> (u64, u64) {
        let cloud = self.0.cloud.lock();
        (cloud.passed + cloud.lost, cloud.lost)
    }

    pub(super) fn fail_with(&self, error: SimError) {
        self.0.failed.borrow_mut().get_or_insert(error);
        self.0.clock.bell.change();
    }

    pub(super) fn failure(&self) -> Option<SimError> {
        if let Some(standstill) = self.0.world.borrow().standstill() {
            return Some(SimError::Standstill(standstill.to_string()));
        }
        if self.0.has_between.get()
            && let Some(why) = self.0.cloud.lock().between.as_ref().and_then(|it| it.failure())
        {
            return Some(SimError::Standstill(why));
        }
        self.0.failed.borrow().clone()
    }

    /// Runs the network, and the programs of its hosts that are up, for so long.
    ///
    /// # Errors
    /// As [`Net::run`].
    pub fn run_for(&self, duration: Duration) -> Result<(), SimError> {
        self.run(async { super::time::sleep(duration).await })
    }

    /// Runs the network, and the programs of its hosts that are up, until `future` is done. The programs begin, in the
    /// order of their hosts; when all of them wait for something, `future` does. That is on no host; to be on one:
    /// [`Host::run`].
    ///
    /// The tasks of its hosts end with it, in the order in which they were started; the network stays as it is, and may
    /// be run again, when the hosts' programs start again. Sockets that are kept go on in the next run. Tasks that were
    /// started by `tokio::spawn` end in no order that repeats: who runs one network twice, and has such, may not count
    /// on the same packets in the second run.
    ///
    /// # Errors
    /// [`SimError`] where a task of a host panicked, also one whose panic somebody has looked at, or the program of one
    /// has returned an error, the [time limit](Net::set_time_limit) is over or time stands still. Time goes on around a
    /// task of a host that asks again and again without waiting, such as a loop around `yield_now` until something has
    /// come: the network does its next event after 10,000 turns of it, then after 100 each. One of `tokio::spawn` is
    /// not found out. [`SimError::Runtime`] within another runtime: a test of it is a `#[test]`, not a
    /// `#[tokio::test]`.
    ///
    /// # Panics
    /// As `future` does.
    pub fn run<F: Future>(&self, future: F) -> Result<F::Output, SimError> {
        if tokio::runtime::Handle::try_current().is_ok() {
            let why = "a network has one of its own, and this is within another: a test of it is a `#[test]`, not a `#[tokio::test]`";
            return Err(SimError::Runtime(why.to_owned()));
        }
        let idle = self.0.clock.idle.clone();
        let mut builder = Builder::new_current_thread();
        builder.enable_time().start_paused(true).on_thread_park(idle.hook());
        #[cfg(tokio_unstable)]
        builder.rng_seed(tokio::runtime::RngSeed::from_bytes(&self.0.seed.to_le_bytes()));
        let runtime = builder.build_local(LocalOptions::default());
        let runtime = runtime.map_err(|error| SimError::Runtime(error.to_string()))?;
        self.0.failed.replace(None);
        let _running = CurrentNet::begin(self);
        runtime.block_on(async {
            self.0.clock.follow(tokio::time::Instant::now());
            let limit = self.now() + nanos(self.0.limit.get());
            for host in self.hosts().into_iter().filter(|it| !it.is_down()) {
                for program in host.with(|it| it.programs.clone()) {
                    host.spawn(program());
                }
            }
            // What they listen for is there before anybody calls.
            idle.wait().await;
            let (ended, drives) =
                (async { Ok(self.watched(future).await) }, async { Err(drive(self, &idle, limit).await) });
            let result = first_of(ended, drives).await;
            self.note_sockets();
            // In their order: the runtime would drop them in one of its own, and their sockets with them.
            for host in self.hosts() {
                host.end_tasks();
            }
            idle.wait().await;
            // Outside of its runtime tokio's clock is the real one.
            self.0.clock.stop(self.now());
            result.and_then(|output| self.failure().map_or(Ok(output), Err))
        })
    }

    /// Does `future`, and where that panics remembers how far time had come.
    async fn watched<F: Future>(&self, future: F) -> F::Output {
        let (mut future, mut polls) = (pin!(future), Polls::default());
        poll_fn(|cx| {
            self.0.clock.idle.polled(&mut polls);
            catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))).unwrap_or_else(|panic| {
                self.0.clock.stop(self.now());
                self.note_sockets();
                resume_unwind(panic)
            })
        })
        .await
    }

    pub(super) fn time_limit(&self) -> SimError {
        SimError::TimeLimit(self.0.limit.get())
    }
}

/// Whoever still has sockets of it is told that their host is gone.
impl Drop for Parts {
    fn drop(&mut self) {
        for host in self.hosts.get_mut() {
            host.stack.0.with(|table| table.go_down(None));
        }
    }
}

impl HostSlot {
    fn has(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address)
    }
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.hosts.borrow().iter().map(|it| it.name.clone()).collect();
        write!(f, "Net of {names:?}")
    }
}

/// While it is there the network is the one that this thread runs.
struct CurrentNet {
    net: Net,
    before: Option<Net>,
}

impl CurrentNet {
    fn begin(net: &Net) -> Self {
        net.0.is_running.set(true);
        Self { net: net.clone(), before: CURRENT.replace(Some(net.clone())) }
    }
}

impl Drop for CurrentNet {
    fn drop(&mut self) {
        if self.net.0.clock.is_followed() {
            // Somebody panicked: it has come so far as the network has.
            let now = self.net.0.world.try_borrow().map(|world| world.now());
            self.net.0.clock.stop(now.unwrap_or_default());
        }
        self.net.0.is_running.set(false);
        CURRENT.replace(self.before.take());
    }
}
