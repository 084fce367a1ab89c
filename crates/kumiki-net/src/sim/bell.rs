//! How sockets tell the network that there is something to do.

use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct State {
    /// The hosts whose sockets have something to hand down, in the order in which they rang.
    hosts: Vec<usize>,
    /// Something else has changed.
    changed: bool,
    /// Tasks were woken since that was last asked.
    woke: bool,
    waker: Option<Waker>,
}

/// The bell of a network.
#[derive(Debug, Default)]
pub(super) struct Bell(Mutex<State>);

impl Bell {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sockets of `host` have something.
    pub(super) fn ring(&self, host: usize) {
        let mut state = self.lock();
        state.hosts.push(host);
        Self::wake(state);
    }

    /// Something has changed that the network must look at.
    pub(super) fn change(&self) {
        let mut state = self.lock();
        state.changed = true;
        Self::wake(state);
    }

    fn wake(mut state: MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Tasks were woken by something that has come to them.
    pub(super) fn woke(&self) {
        self.lock().woke = true;
    }

    /// Whether tasks were woken since this was last asked.
    pub(super) fn take_woke(&self) -> bool {
        core::mem::take(&mut self.lock().woke)
    }

    /// Whether it has rung since it was last answered.
    pub(super) fn has_rung(&self) -> bool {
        let state = self.lock();
        state.changed || !state.hosts.is_empty()
    }

    /// Answers it: the hosts that rang, in order, into `hosts`.
    pub(super) fn answer(&self, hosts: &mut Vec<usize>) {
        let mut state = self.lock();
        state.changed = false;
        hosts.clear();
        core::mem::swap(&mut state.hosts, hosts);
    }

    /// Waits until it rings.
    pub(super) async fn rung(&self) {
        poll_fn(|cx| {
            let mut state = self.lock();
            if state.changed || !state.hosts.is_empty() {
                return Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
