//! Programs that make and take traffic: nodes at the top of a graph.
//!
//! They see what a program sees: they open sessions, write messages while there is room, and read what has arrived.
//! What a program's calls cost is charged as [`kumiki_graph::Work`] and priced by the host's profile.

use kumiki_graph::{Accept, Address, Below, Context, Credit, Duration, Handle, Instant, Mode, Open, Quality, Request};
pub use kumiki_inet::times::Times;
use kumiki_octets::Message;

use kumiki_config::quantity::Distribution;

pub mod bell;
pub mod files;
pub mod gaps;
pub mod idle;
pub mod ping;
pub mod rpc;
pub mod rtp;
pub mod sink;
pub mod source;
pub mod talker;
pub mod udp_sink;
pub mod udp_source;

pub use bell::{Bell, Ringer, TransferEvent};
pub use files::{FileConfig, FileDirection, FileKeeper, FileKeeperConfig, FileUser, FileUserConfig};
pub use idle::Idle;
pub use ping::{Ping, PingConfig};
pub use rpc::{RpcClient, RpcClientConfig, RpcServer, RpcServerConfig};
pub use sink::{Sink, SinkConfig};
pub use source::{Source, SourceConfig};
pub use talker::{Talker, TalkerConfig};
pub use udp_sink::{UdpSink, UdpSinkConfig};
pub use udp_source::{UdpSource, UdpSourceConfig};

/// When the sessions of a program begin, and when they are to end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Opening {
    /// When the first does.
    pub start: Duration,
    /// How long after the one before it each does.
    pub stagger: Distribution<Duration>,
    /// Whether the first is put off by such a time, too: it is one of several programs that begin at random.
    pub is_one_of_several: bool,
    /// Each is put off by a random time below this, so that repetitions differ.
    pub jitter: Duration,
    /// From then on nothing new is opened or written.
    pub stop: Option<Duration>,
}

impl Default for Opening {
    fn default() -> Self {
        let (start, jitter) = (Duration::ZERO, Duration::ZERO);
        Self { start, stagger: Distribution::Constant(Duration::ZERO), is_one_of_several: false, jitter, stop: None }
    }
}

impl Opening {
    /// When each of so many sessions begins; draws random numbers.
    fn times(&self, sessions: u32, cx: &mut Context<'_>) -> Vec<Instant> {
        let mut next = cx.now() + self.start;
        let mut time = |number| {
            if number > 0 || self.is_one_of_several {
                next += self.stagger.draw(cx.rng());
            }
            next + Duration::from_nanos(cx.rng().below(self.jitter.as_nanos()))
        };
        (0..sessions).map(&mut time).collect()
    }

    /// When the only session begins; draws a random number.
    fn first(&self, cx: &mut Context<'_>) -> Instant {
        self.times(1, cx).first().copied().unwrap_or_default()
    }

    /// Whether it is time to open and write nothing more.
    fn is_over(&self, now: Instant) -> bool {
        self.stop.is_some_and(|stop| now >= Instant::ZERO + stop)
    }

    /// When that is.
    pub(crate) fn end(&self) -> Option<Instant> {
        self.stop.map(|stop| Instant::ZERO + stop)
    }
}

/// The stack that a program stands on.
const STACK: Below = Below(0);

/// The handle of a passive open itself.
const LISTEN: Handle = Handle { index: u32::MAX, generation: 0 };

/// A program's own name for session `number`.
const fn handle(number: u32) -> Handle {
    Handle { index: number, generation: 0 }
}

/// Has the stack connect `local` to `remote`; `user` is the program's name for the session.
fn connect(user: Handle, (local, remote): (Address, Address), quality: Quality, cx: &mut Context<'_>) {
    let open = Open { user, mode: Mode::Active, local, remote, quality, ..Open::default() };
    cx.down(STACK, Request::Open(Box::new(open)));
}

/// Has the stack listen at `local`, where up to `backlog` callers may wait.
fn listen(local: Address, backlog: u32, quality: Quality, cx: &mut Context<'_>) {
    let mode = Mode::Passive { backlog };
    let open = Open { user: LISTEN, mode, local, remote: Address::NONE, quality, ..Open::default() };
    cx.down(STACK, Request::Open(Box::new(open)));
}

/// Accepts the `session` that the stack has offered; `user` is the program's name for it.
fn accept(session: Handle, user: Handle, quality: Quality, cx: &mut Context<'_>) {
    let accept = Accept { session, user, quality, ..Accept::default() };
    cx.down(STACK, Request::Accept(Box::new(accept)));
}

/// The peer of session `number`, where sessions go to each of `peers` in turn.
fn in_turn<T>(peers: &[T], number: u32) -> Option<&T> {
    let number = usize::try_from(number).ok()?;
    peers.get(number.checked_rem(peers.len())?)
}

/// The credit that is granted again for `data` that was taken: a stream looks at the octets, a connection at the
/// messages.
fn taken(data: &Message) -> Credit {
    Credit { octets: data.len() as u64, messages: 1 }
}

/// How a program's data gets into and out of the stack's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// How often the CPU copies each octet: 1 for an ordinary socket call, 0 where pages are handed over.
    pub copies: u64,
    /// The sum is taken while the data is moved in, at no cost to the CPU (paper 2's on-the-fly checksum).
    pub summed: bool,
    /// The largest piece of memory that is kept ready; each further page of this size must be mapped first.
    pub ready_page: Option<u32>,
    /// After each message the writing program waits before it writes the next: off the CPU, whatever for.
    pub wait: Wait,
}

/// How long a program waits after a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wait {
    /// For each message.
    pub message: Duration,
    /// For each octet of it, in picoseconds.
    pub octet_ps: u64,
}

impl Wait {
    /// After a message of `octets`.
    const fn after(self, octets: u32) -> Duration {
        let per_octet = self.octet_ps.saturating_mul(octets as u64) / 1_000;
        Duration::from_nanos(self.message.as_nanos().saturating_add(per_octet))
    }
}

impl Default for Transfer {
    fn default() -> Self {
        Self { copies: 0, summed: true, ready_page: None, wait: Wait::default() }
    }
}

impl Transfer {
    /// How many pages must be mapped to hold `octets`.
    const fn pages_to_map(&self, octets: u32) -> u64 {
        match self.ready_page {
            Some(page) if page > 0 => (octets.saturating_sub(page)).div_ceil(page) as u64,
            Some(_) | None => 0,
        }
    }
}
