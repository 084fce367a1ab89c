//! A host in a thread of its own.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use kumiki_graph::Duration;
use kumiki_io::{Bell, ExecutorEnd, RealClock, RealDevice, unguessable};

use super::config::HostConfig;
use super::engine::Engine;
use super::engines::Engines;
use crate::sockets::Table;
use crate::{Gateway, Stack};

/// How long the loop goes on before it looks up: there is nothing that it would see then and not before.
const LONG: Duration = Duration::from_secs(3600);

/// How long a host that gives its address back is given for that.
const LAST: Duration = Duration::from_millis(100);

/// A TCP/IP that runs in a thread of its own, or in one for each of its [queues](HostConfig::queues), until it is
/// dropped: see the [module](super).
#[derive(Debug)]
pub struct HostStack {
    stack: Stack,
    ends: Arc<Ends>,
    /// One for each queue.
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// How the threads of a host end: all at once.
#[derive(Debug)]
struct Ends {
    is_over: AtomicBool,
    bells: Vec<Bell>,
}

impl Ends {
    fn now(&self) {
        self.is_over.store(true, Ordering::Release);
        self.bells.iter().for_each(Bell::ring);
    }
}

impl HostStack {
    /// Starts it on `device`.
    ///
    /// # Errors
    /// `InvalidInput` where an address or the MTU cannot be; those of the operating system.
    pub fn start(device: Box<dyn RealDevice>, config: &HostConfig) -> io::Result<Self> {
        Self::start_on(vec![device], config)
    }

    /// Starts it on several devices: that of the host itself, and one for each [line](HostConfig::line) more, in their
    /// order.
    ///
    /// # Errors
    /// As [`HostStack::start`]; `InvalidInput` where these are not as many.
    pub fn start_on(devices: Vec<Box<dyn RealDevice>>, config: &HostConfig) -> io::Result<Self> {
        // What a stack on a network draws must not be guessable.
        let engines = Engines::new(&RealClock::start(), devices, config, unguessable()?)?;
        let stack = engines.stack().cloned().ok_or(io::ErrorKind::InvalidInput)?;
        let bells = engines.all().iter().map(|it| it.executor.bell()).collect();
        let ends = Arc::new(Ends { is_over: AtomicBool::new(false), bells });
        // Where there cannot be as many threads, those that are there end with it.
        let mut host = Self { stack, ends, threads: Vec::new() };
        for engine in engines.into_all() {
            let (whole, ends) = (host.stack.clone(), Arc::clone(&host.ends));
            let thread = thread::Builder::new().name("kumiki-net".to_owned());
            host.threads.push(thread.spawn(move || run(engine, &whole, &ends))?);
        }
        Ok(host)
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
        self.ends.now();
        let ended = self.threads.drain(..).map(|thread| match thread.join() {
            Ok(ended) => ended,
            // What it did when it had panicked has panicked too.
            Err(panic) => Err(io::Error::other(panicked(&*panic))),
        });
        // All are waited for, whatever became of the first.
        ended.fold(Ok(()), io::Result::and)
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

/// The loop of a thread, whatever becomes of it: the sockets of the `whole` host hear of that, and its other threads
/// end.
fn run(mut engine: Engine<RealClock>, whole: &Stack, ends: &Ends) -> io::Result<()> {
    // All that is looked at after a panic is the table, which is whole.
    let ended = catch_unwind(AssertUnwindSafe(|| turn(&mut engine, &ends.is_over)));
    let ended = ended.unwrap_or_else(|panic| Err(io::Error::other(panicked(&*panic))));
    if let Err(why) = &ended {
        whole.go_down(&why.to_string());
        ends.now();
    }
    ended
}

fn turn(engine: &mut Engine<RealClock>, ends: &AtomicBool) -> io::Result<()> {
    loop {
        let Engine { executor, clock, watch, .. } = engine;
        let ended = executor.run(LONG, |_| {
            watch.look(clock);
            ends.load(Ordering::Acquire)
        });
        engine.check()?;
        if ended == ExecutorEnd::Done {
            if engine.stack.0.with(Table::release_addresses) {
                // Its last word goes to a station that may have to be asked for.
                engine.executor.run(LAST, |_| false);
            }
            return Ok(());
        }
    }
}
