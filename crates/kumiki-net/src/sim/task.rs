//! Tasks that are on a host.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tokio::task::JoinHandle;

use super::driver::Polls;
use super::{Host, Net};

/// A future that is on a host whenever it is polled.
pub(super) struct OnHost<F> {
    host: Host,
    future: Pin<Box<F>>,
    polls: Polls,
}

impl<F: Future> OnHost<F> {
    pub(super) fn new(host: Host, future: F) -> Self {
        Self { host, future: Box::pin(future), polls: Polls::default() }
    }
}

impl<F: Future> Future for OnHost<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { host, future, polls } = &mut *self;
        host.net.clock().idle.polled(polls);
        let _on = host.enter();
        // A program that panics has failed its test, also where nobody waits for it.
        catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            host.net.fail_with(super::SimError::Panicked {
                host: host.name(),
                at: host.net.elapsed(),
                message: text.unwrap_or_else(|| "it said nothing".to_owned()),
            });
            resume_unwind(panic)
        })
    }
}

/// Starts a task on the host that this one is on; as `tokio::spawn`, but sockets that it makes are that host's, and it
/// ends when the host [crashes](Host::crash).
///
/// # Panics
/// Where this task is on no host.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match Net::current().and_then(|net| net.current_host()) {
        Some(host) => host.spawn(future),
        None => panic!("this task is on no host: start it by `Host::spawn`, or from one that is"),
    }
}
