//! A host in a thread of its own.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use kumiki_graph::Duration;
use kumiki_io::{Bell, Ended, RealClock, RealDevice, unguessable};

use super::config::HostConfig;
use super::engine::Engine;
use crate::{Gateway, Stack};

/// How long the loop goes on before it looks up: there is nothing that it would see then and not before.
const LONG: Duration = Duration::from_secs(3600);

/// A TCP/IP that runs in a thread of its own until it is dropped: see the [module](super).
#[derive(Debug)]
pub struct HostStack {
    stack: Stack,
    ends: Arc<AtomicBool>,
    bell: Bell,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl HostStack {
    /// Starts it on `device`.
    ///
    /// # Errors
    /// `InvalidInput` where an address or the MTU cannot be; those of the operating system.
    pub fn start(device: Box<dyn RealDevice>, config: &HostConfig) -> io::Result<Self> {
        Self::start_on(vec![device], config)
    }

    /// Starts it on several devices: that of the host itself, and one for each [line](HostConfig::line) more, in their order.
    ///
    /// # Errors
    /// As [`HostStack::start`]; `InvalidInput` where these are not as many.
    pub fn start_on(devices: Vec<Box<dyn RealDevice>>, config: &HostConfig) -> io::Result<Self> {
        // What a stack on a network draws must not be guessable.
        let engine = Engine::new(RealClock::start(), devices, config, unguessable()?)?;
        let (stack, bell) = (engine.stack.clone(), engine.executor.bell());
        let ends = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ends);
        let thread = thread::Builder::new().name("kumiki-net".to_owned()).spawn(move || run(engine, &seen))?;
        Ok(Self { stack, ends, bell, thread: Some(thread) })
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
    /// Why it had ended by itself, where its device failed or its thread panicked.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.ends.store(true, Ordering::Release);
        self.bell.ring();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            // What it did when it had panicked has panicked too.
            Some(Err(panic)) => Err(io::Error::other(panicked(&*panic))),
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

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("its thread panicked{}", text.map_or_else(String::new, |text| format!(": {text}")))
}

/// The loop of the thread, whatever becomes of it: its sockets hear of that.
fn run(mut engine: Engine<RealClock>, ends: &AtomicBool) -> io::Result<()> {
    let stack = engine.stack.clone();
    // All that is looked at after a panic is the table, which is whole.
    let ended = catch_unwind(AssertUnwindSafe(|| turn(&mut engine, ends)));
    ended.unwrap_or_else(|panic| {
        let why = panicked(&*panic);
        stack.0.with(|table| table.go_down(Some(why.clone())));
        Err(io::Error::other(why))
    })
}

fn turn(engine: &mut Engine<RealClock>, ends: &AtomicBool) -> io::Result<()> {
    loop {
        let Engine { executor, clock, watch, .. } = engine;
        let ended = executor.run(LONG, |_| {
            watch.look(clock);
            ends.load(Ordering::Acquire)
        });
        engine.check()?;
        if ended == Ended::Done {
            return Ok(());
        }
    }
}
