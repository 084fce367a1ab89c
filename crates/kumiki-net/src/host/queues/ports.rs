//! Which ports are in use, of a host that is several stacks.

use core::net::SocketAddr;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kumiki_graph::Rng;

use crate::sockets::{Bound, Ports, Registry, Terms};

const BITS: usize = 64;

/// The ports of UDP that sockets have: whoever reads a packet looks here, without a lock.
#[derive(Debug)]
pub(in crate::host) struct BoundPorts([AtomicU64; (1 << 16) / BITS]);

impl Default for BoundPorts {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; (1 << 16) / BITS])
    }
}

impl BoundPorts {
    fn place(&self, port: u16) -> Option<(&AtomicU64, u64)> {
        let port = usize::from(port);
        Some((self.0.get(port / BITS)?, 1 << (port % BITS)))
    }

    pub(super) fn has(&self, port: u16) -> bool {
        self.place(port).is_some_and(|(word, bit)| word.load(Ordering::Acquire) & bit != 0)
    }

    fn set(&self, port: u16, is_bound: bool) {
        if let Some((word, bit)) = self.place(port) {
            if is_bound {
                word.fetch_or(bit, Ordering::AcqRel)
            } else {
                word.fetch_and(!bit, Ordering::AcqRel)
            };
        }
    }
}

/// The ports of one transport, of all stacks of a host together.
#[derive(Debug)]
pub(in crate::host) struct PortsOfAll {
    ports: Mutex<(Ports, Rng)>,
    /// Who wants to know which are bound.
    bound: Option<Arc<BoundPorts>>,
}

impl PortsOfAll {
    pub(in crate::host) fn new(rng: Rng, bound: Option<Arc<BoundPorts>>) -> Self {
        Self { ports: Mutex::new((Ports::default(), rng)), bound }
    }

    fn lock(&self) -> MutexGuard<'_, (Ports, Rng)> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry for PortsOfAll {
    fn take(&self, local: SocketAddr, terms: Terms) -> io::Result<Bound> {
        let mut guard = self.lock();
        let (ports, rng) = &mut *guard;
        let taken = ports.take(local, terms, rng)?;
        if let Some(bound) = &self.bound {
            bound.set(taken.local.port(), true);
        }
        Ok(taken)
    }

    fn listen(&self, bound: Bound) -> io::Result<()> {
        self.lock().0.listen(bound)
    }

    fn give(&self, given: Bound) {
        let mut guard = self.lock();
        guard.0.give(given);
        if let Some(bound) = &self.bound {
            let port = given.local.port();
            bound.set(port, guard.0.has(port));
        }
    }
}
