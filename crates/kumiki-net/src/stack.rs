//! A host's sockets as a whole: which host a program is on, and how its driver is told that there is something to do.

use core::cell::RefCell;
use core::fmt;
use core::future::{Future, poll_fn};
use core::net::{IpAddr, SocketAddr};
use core::pin::pin;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kumiki_graph::Rng;

use crate::sockets::{Layers, SocketCounts, Table, WakeList, reached, unmapped};

/// The stack of threads that have entered none.
static DEFAULT: Mutex<Option<Stack>> = Mutex::new(None);

thread_local! {
    static CURRENT: RefCell<Option<Stack>> = const { RefCell::new(None) };
}

/// Whoever lets a host's layers run, and is told when its sockets have something for them.
pub(crate) trait Driver: Send + Sync {
    /// There is something for the host's sockets node to hand down.
    fn ring(&self);

    /// Tasks have been woken by what came up.
    fn woke(&self);

    /// The addresses of the host called `name`.
    fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Returns when the layers have what was asked of the sockets, or will have it before anything that others ask or
    /// that comes from outside after that.
    fn settle(&self) -> io::Result<()> {
        Ok(())
    }

    /// Whether the layers may run while a thread waits for them.
    #[cfg(feature = "host")]
    fn may_block(&self) -> bool {
        false
    }
}

/// What the sockets of a host and its node share.
pub(crate) struct Shared {
    table: Mutex<Table>,
    driver: Box<dyn Driver>,
    /// Set before anybody can know what was asked for: a driver on another thread that sees something come from outside
    /// sees this too.
    asked: Arc<AtomicBool>,
    /// Where the host is several stacks and this is the first of them, which its user knows as the host.
    others: OnceLock<OtherStacks>,
}

/// The stacks of a host that has several, but the first.
struct OtherStacks {
    stacks: Box<[Stack]>,
    /// Which of all has connections between a local address and a remote one, by its number.
    owner: Box<dyn Fn(SocketAddr, SocketAddr) -> usize + Send + Sync>,
    /// Calls so far: they go round.
    calls: AtomicUsize,
}

// Whoever panics with the table has left it whole; see `lock`. A driver only passes messages on.
impl core::panic::UnwindSafe for Shared {}
impl core::panic::RefUnwindSafe for Shared {}

impl Shared {
    /// The table. A task that panicked with it has left it whole: nothing in it is half done between two statements
    /// that can panic.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the table; then those are woken whom that concerns, and the driver is told where there is something for
    /// it.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.lock();
        let result = act(&mut table);
        let woken = core::mem::take(&mut table.effects.woken);
        if table.is_down {
            // Nobody will take them.
            table.effects.requests.clear();
        }
        let rings = !table.has_rung && !table.effects.requests.is_empty();
        table.has_rung |= rings;
        if rings {
            self.asked.store(true, Ordering::Release);
        }
        drop(table);
        woken.wake();
        if rings {
            self.driver.ring();
        }
        result
    }
}

impl Shared {
    /// Who lets the layers run.
    pub(crate) fn driver(&self) -> &dyn Driver {
        &*self.driver
    }

    /// Wakes those whom something concerns that came up.
    pub(crate) fn wake(&self, woken: WakeList) {
        if !woken.is_empty() {
            woken.wake();
            self.driver.woke();
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

/// What the connections and datagrams of a host hold together.
#[cfg(all(feature = "host", target_os = "linux"))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Octets of memory.
    pub held: u64,
    /// Calls that were reset for want of it.
    pub refused: u64,
    /// Datagrams that were dropped.
    pub dropped: u64,
}

/// A host's TCP/IP, as its sockets know it.
///
/// A program is on one host at a time: sockets that it makes by `TcpStream::connect`, `TcpListener::bind` and
/// `UdpSocket::bind` are of the stack that it has [entered](Stack::enter). Tasks of a simulation have entered that of
/// their host whenever they are polled.
#[derive(Clone)]
pub struct Stack(pub(crate) Arc<Shared>);

impl Stack {
    pub(crate) fn new(layers: Layers, addresses: Vec<IpAddr>, rng: Rng, driver: Box<dyn Driver>) -> Self {
        let asked = Arc::default();
        let table = Mutex::new(Table::new(layers, addresses, rng));
        Self(Arc::new(Shared { table, driver, asked, others: OnceLock::new() }))
    }

    /// From now on it is the first of several stacks of a host, of which `owner` has the connections between a local
    /// address and a remote one.
    #[cfg(feature = "host")]
    pub(crate) fn lead(
        &self,
        others: Vec<Self>,
        owner: impl Fn(SocketAddr, SocketAddr) -> usize + Send + Sync + 'static,
    ) {
        let others = OtherStacks { stacks: others.into(), owner: Box::new(owner), calls: AtomicUsize::new(0) };
        // It is said once, before anybody has it.
        let _ = self.0.others.set(others);
    }

    /// The stacks of its host but itself, which is the first: none where it is the only one.
    pub(crate) fn others(&self) -> &[Self] {
        self.0.others.get().map(|it| &*it.stacks).unwrap_or_default()
    }

    /// All stacks of its host.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        core::iter::once(self).chain(self.others())
    }

    /// Its host is gone, for this reason: all sockets have ended.
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub(crate) fn go_down(&self, why: &str) {
        for stack in self.all() {
            stack.0.with(|table| table.go_down(Some(why.to_owned())));
        }
    }

    fn number(&self, number: usize) -> &Self {
        number.checked_sub(1).and_then(|it| self.others().get(it)).unwrap_or(self)
    }

    /// The stack that makes a call to `remote`: that whose connection it is where the local address is given, which may
    /// be one that the host has yet to choose; else they have turns.
    pub(crate) fn for_call(&self, local: Option<SocketAddr>, remote: SocketAddr) -> &Self {
        let Some(others) = self.0.others.get() else {
            return self;
        };
        let number = match local {
            Some(local) => (others.owner)(self.0.lock().own_for(local, remote), reached(unmapped(remote))),
            None => others.calls.fetch_add(1, Ordering::Relaxed) % (others.stacks.len() + 1),
        };
        self.number(number)
    }

    /// What says that the sockets have left something for their node, which whoever lets that run clears.
    #[cfg(feature = "host")]
    pub(crate) fn asked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.asked)
    }

    /// Whether they have, and it has not run.
    #[cfg(feature = "host")]
    pub(crate) fn is_asking(&self) -> bool {
        self.0.asked.load(Ordering::Acquire)
    }

    /// The stack that this thread has entered, or that of the [whole process](Stack::set_default).
    ///
    /// # Errors
    /// `Unsupported` where there is neither.
    pub fn current() -> io::Result<Self> {
        let default = || DEFAULT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        CURRENT.with_borrow(Clone::clone).or_else(default).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                "no host here: a task of a simulation is started by `Host::spawn` or `sim::spawn`; elsewhere `Stack::enter` says whose \
                 sockets a thread means, `Stack::scope` whose a task, and `Stack::set_default` whose the process",
            )
        })
    }

    /// Enters the stack: until the guard is dropped, the sockets that this thread makes are of it.
    #[must_use = "the stack is left when the guard is dropped"]
    pub fn enter(&self) -> StackGuard {
        StackGuard { before: CURRENT.replace(Some(self.clone())), not_send: core::marker::PhantomData }
    }

    /// Runs `future` on this stack: whenever it is polled, the sockets that it makes are of it. As [`Stack::enter`],
    /// for futures that a runtime moves from thread to thread: `tokio::spawn(stack.scope(serve()))`.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let stack = self.clone();
        async move {
            let mut future = pin!(future);
            poll_fn(|cx| {
                let _entered = stack.enter();
                future.as_mut().poll(cx)
            })
            .await
        }
    }

    /// Whether a thread may wait for it.
    #[cfg(feature = "host")]
    pub(crate) fn may_block(&self) -> bool {
        self.0.driver.may_block()
    }

    /// From now on it is the stack of every thread of this process that has entered none; `None`: there is no such
    /// stack.
    pub fn set_default(stack: Option<Self>) {
        *DEFAULT.lock().unwrap_or_else(PoisonError::into_inner) = stack;
    }

    /// How many sockets there are.
    #[must_use]
    pub fn counts(&self) -> SocketCounts {
        self.all().map(|it| it.0.lock().counts()).reduce(SocketCounts::with).unwrap_or_default()
    }

    /// What its connections and datagrams hold of memory, where they have [one bound](crate::host::HostConfig::memory).
    #[cfg(all(feature = "host", target_os = "linux"))]
    #[must_use]
    pub fn memory(&self) -> Option<MemoryUse> {
        let budget = self.0.lock().effects.budget.clone()?;
        let (refused, dropped) = budget.refused();
        Some(MemoryUse { held: budget.held(), refused, dropped })
    }

    /// So many callers of a listener may wait from now on, where it does not say.
    #[cfg(feature = "turmoil")]
    pub(crate) fn set_backlog(&self, callers: u32) {
        self.0.lock().backlog = callers;
    }

    /// The addresses of the host called `name`, which the network of this stack knows.
    ///
    /// # Errors
    /// `NotFound` where it knows none of that name.
    pub fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.0.driver.lookup(name)
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stack")
    }
}

/// Has entered a [`Stack`], and leaves it when dropped.
#[derive(Debug)]
pub struct StackGuard {
    before: Option<Stack>,
    /// It is of the thread that entered.
    not_send: core::marker::PhantomData<*const ()>,
}

impl Drop for StackGuard {
    fn drop(&mut self) {
        CURRENT.replace(self.before.take());
        let _ = self.not_send;
    }
}
