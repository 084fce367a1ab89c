//! A TCP/IP of one's own in real time, on a device of this machine.
//!
//! A [`HostStack`] runs our layers on any [`RealDevice`] of `kumiki-io`, such as a [`Tun`], in a thread of its own; sockets are used from any
//! other, by any runtime. Linux's TCP at the other end of a TUN is the peer in the tests.
//!
//! ```no_run
//! use kumiki_net::host::{HostConfig, HostStack, Tun};
//! use kumiki_net::TcpListener;
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let tun = Tun::open("kumiki0", 1500)?;
//! tun.configure_kernel("10.9.0.1".parse()?, 24, 1500)?;          // Linux's end
//! let host = HostStack::start(Box::new(tun), &HostConfig::new(["10.9.0.2".parse()?]))?;
//! let listener = host.stack().scope(TcpListener::bind("10.9.0.2:80")).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Left out
//!
//! Several devices, Ethernet (ARP) below, and the user's own loop in place of the thread.

use core::fmt;
use core::net::IpAddr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use kumiki_graph::{Duration, Token};
use kumiki_inet::tcp::{self, defaults};
use kumiki_io::{Bell, Clock as _, DeviceConfig, Ended, Executor, GraphId, Pace, Plug, RealClock, unguessable};

pub use kumiki_io::{RealDevice, Tun};

pub use crate::gateway::{Flow, Gateway, GatewayConfig, Refusal, TcpOffer, UdpFlow};

use crate::Stack;
use crate::layers::{LINE, Plan, SOCKETS};
use crate::stack::Driver;

/// How long the loop goes on before it looks up: there is nothing that it would see then and not before.
const LONG: Duration = Duration::from_secs(3600);

/// What TCP hands down at once where the device takes it whole, in packets; where it does not, it is cut before.
const BURST: u32 = 64;

/// Looks up the addresses of a name. It may block: whoever asks for a name waits for it.
pub type Resolver = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// What a [`HostStack`] is to be.
#[derive(Clone)]
pub struct HostConfig {
    addresses: Vec<IpAddr>,
    mtu: u16,
    tcp: tcp::Config,
    resolver: Option<Resolver>,
    is_gateway: bool,
}

impl HostConfig {
    /// A host without an address, for which every destination is its own, of both versions of IP: see [`crate::gateway`].
    #[must_use]
    pub fn gateway() -> Self {
        Self { is_gateway: true, ..Self::new([]) }
    }

    /// A host with these addresses, one of IPv4 at most, on a device that carries 1500 octets.
    #[must_use]
    pub fn new(addresses: impl Into<Vec<IpAddr>>) -> Self {
        Self { addresses: addresses.into(), mtu: 1500, tcp: defaults::modern(), resolver: None, is_gateway: false }
    }

    /// What a packet can have at most, in octets.
    #[must_use]
    pub const fn mtu(mut self, octets: u16) -> Self {
        self.mtu = octets;
        self
    }

    /// What TCP is like.
    #[must_use]
    pub fn tcp(mut self, config: tcp::Config) -> Self {
        self.tcp = config;
        self
    }

    /// Who knows the addresses of names; nobody unless it is set.
    #[must_use]
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = Some(resolver);
        self
    }
}

impl fmt::Debug for HostConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostConfig").field("addresses", &self.addresses).field("mtu", &self.mtu).finish_non_exhaustive()
    }
}

/// What the thread is told.
#[derive(Debug, Default)]
struct Told {
    /// The sockets have something to hand down.
    has_rung: AtomicBool,
    ends: AtomicBool,
}

struct ThreadDriver {
    told: Arc<Told>,
    bell: Bell,
    resolver: Option<Resolver>,
}

impl Driver for ThreadDriver {
    fn ring(&self) {
        self.told.has_rung.store(true, Ordering::Release);
        self.bell.ring();
    }

    fn woke(&self) {}

    fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match &self.resolver {
            Some(resolver) => resolver(name),
            None => {
                let text = format!("`{name}`: this stack looks up no names; HostConfig::resolver gives it who does");
                Err(io::Error::new(io::ErrorKind::NotFound, text))
            }
        }
    }
}

/// A TCP/IP that runs in a thread of its own until it is dropped: see the [module](self).
#[derive(Debug)]
pub struct HostStack {
    stack: Stack,
    told: Arc<Told>,
    bell: Bell,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl HostStack {
    /// Starts it on `device`.
    ///
    /// # Errors
    /// `InvalidInput` where an address or the MTU cannot be; those of the operating system.
    pub fn start(device: Box<dyn RealDevice>, config: &HostConfig) -> io::Result<Self> {
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let clock = RealClock::start();
        let mut executor = Executor::new(clock, Pace::default());
        let (told, bell) = (Arc::new(Told::default()), executor.bell());
        bell.open()?;
        let driver = ThreadDriver { told: Arc::clone(&told), bell: bell.clone(), resolver: config.resolver.clone() };
        // What a stack on a network draws must not be guessable.
        let plan = Plan {
            addresses: &config.addresses,
            mtu: config.mtu.into(),
            tcp: &config.tcp,
            is_gateway: config.is_gateway,
            seed: unguessable()?,
        };
        let (graph, stack) = plan.build(Box::new(driver)).map_err(wrong)?;
        let id = executor.add_graph("host", graph);
        executor.set_device(id, LINE, DeviceConfig { mtu: config.mtu.into(), burst: BURST });
        let real = executor.add_real(device)?;
        executor.plug(Plug::Device(id, LINE), Plug::Real(real));
        executor.start().map_err(|error| wrong(error.to_string()))?;
        let (seen, shared) = (Arc::clone(&told), stack.clone());
        let thread = thread::Builder::new().name("kumiki-net".to_owned()).spawn(move || {
            let ended = run(&mut executor, clock, &seen, id);
            shared.0.with(|table| table.go_down(None));
            ended
        })?;
        Ok(Self { stack, told, bell, thread: Some(thread) })
    }

    /// Its sockets.
    #[must_use]
    pub const fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Its gateway; one at a time.
    ///
    /// # Errors
    /// `InvalidInput` where it was not made [as one](HostConfig::gateway), `AddrInUse` where somebody has it.
    pub fn gateway(&self) -> io::Result<Gateway> {
        self.stack.gateway()
    }

    /// Ends it. Sockets that are left say that the host is gone.
    ///
    /// # Errors
    /// Why it had ended by itself, where its device failed.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.told.ends.store(true, Ordering::Release);
        self.bell.ring();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(io::Error::other("the stack's thread panicked")),
            None => Ok(()),
        }
    }
}

impl Drop for HostStack {
    fn drop(&mut self) {
        // Who wants to know calls `stop`.
        let _ = self.end();
    }
}

/// The loop of the thread.
fn run(executor: &mut Executor<RealClock>, clock: RealClock, told: &Told, id: GraphId) -> io::Result<()> {
    loop {
        let ended = executor.run(LONG, |it| {
            if told.has_rung.swap(false, Ordering::AcqRel)
                && let Some(graph) = it.graph_mut(id)
                && let Some(node) = graph.node(SOCKETS)
            {
                graph.wake(clock.now(), node, Token::default());
            }
            told.ends.load(Ordering::Acquire)
        });
        match ended {
            Ended::Done => return Ok(()),
            Ended::Idle | Ended::TimedOut => {}
            Ended::Failed => {
                let why = executor.failure().map_or_else(|| "it failed".to_owned(), ToString::to_string);
                return Err(io::Error::other(why));
            }
        }
    }
}
