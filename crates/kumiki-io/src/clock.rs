//! Clocks: the one place where time comes from outside.

use core::task::{Context, Poll, Waker};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use kumiki_graph::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

/// Wakes an executor that waits: something has come for it from another thread.
///
/// A bell that is rung while nobody waits is heard by the next one to wait.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    state: Mutex<State>,
    changed: Condvar,
    /// Where an executor waits for devices too: what becomes readable as the bell is rung.
    wire: OnceLock<Wire>,
    /// The same for signals, which write an octet.
    rope: OnceLock<Wire>,
}

/// What was done to a bell and not heard yet. A call of the operating system is made only where somebody needs it: a
/// bell is rung for each packet of a busy program.
#[derive(Debug, Default)]
struct State {
    rung: bool,
    /// There is something to read from the wire.
    is_written: bool,
    /// How many threads wait for `changed`.
    waiting: usize,
    /// A task that waits ([`Bell::poll_rung`]).
    task: Option<Waker>,
}

/// What is written at one end and read at the other.
#[derive(Debug)]
struct Wire {
    read: OwnedFd,
    /// None where the same descriptor is both.
    write: Option<OwnedFd>,
}

impl Wire {
    fn pipe() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { read, write: Some(write) })
    }

    /// One that takes as few descriptors as there is need for: each caller of a server has its own.
    #[cfg(target_os = "linux")]
    fn new() -> io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let read = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { read, write: None })
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> io::Result<Self> {
        Self::pipe()
    }

    fn write(&self) -> &OwnedFd {
        self.write.as_ref().unwrap_or(&self.read)
    }

    /// Reads all that is there.
    fn empty(&self) {
        let mut octets = [0; 64];
        while rustix::io::read(&self.read, &mut octets).is_ok_and(|read| read == octets.len()) {}
    }

    fn watch(&self) -> Watch<'_> {
        Watch { descriptor: self.read.as_fd(), reading: true, writing: false }
    }
}

/// A device to wait for.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// Its descriptor.
    pub descriptor: BorrowedFd<'a>,
    /// Whether to wait for something to read.
    pub reading: bool,
    /// Whether to wait for room to write.
    pub writing: bool,
}

impl Bell {
    /// Wakes whoever waits.
    pub fn ring(&self) {
        let mut state = self.state();
        if core::mem::replace(&mut state.rung, true) {
            // Whoever waits has been told.
            return;
        }
        if state.waiting > 0 {
            self.0.changed.notify_all();
        }
        if let Some(task) = state.task.take() {
            drop(state);
            task.wake();
            return;
        }
        self.write(&mut state);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the wire readable, where there is one: with the state locked, so that it says what the state says.
    fn write(&self, state: &mut State) {
        if let Some(wire) = self.0.wire.get() {
            // An eventfd takes a number of eight octets (eventfd(2)).
            state.is_written = rustix::io::write(wire.write(), &1_u64.to_ne_bytes()).is_ok();
        }
    }

    /// Ready where it is rung; otherwise the task of `cx` is woken when it is, and nothing else: no descriptor tells of
    /// that ring.
    pub fn poll_rung(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.rung {
            return Poll::Ready(());
        }
        match &mut state.task {
            Some(task) => task.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Makes this bell one that is heard while waiting for devices. Does nothing where it is one.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub fn open(&self) -> io::Result<()> {
        let mut state = self.state();
        if self.0.wire.get().is_none() {
            // Nobody else opens it meanwhile: the state is locked.
            let _ = self.0.wire.set(Wire::new()?);
            if state.rung {
                self.write(&mut state);
            }
        }
        Ok(())
    }

    /// A descriptor that rings the bell, while somebody waits for devices, by whatever is written to it.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub(crate) fn rope(&self) -> io::Result<Option<OwnedFd>> {
        if self.0.rope.get().is_none() {
            let _ = self.0.rope.set(Wire::pipe()?);
        }
        self.0.rope.get().map(|rope| rope.write().try_clone()).transpose()
    }

    /// Waits until the bell is rung, but not longer than `at_most`. May end early.
    fn wait(&self, at_most: Duration) {
        let mut state = self.state();
        if !state.rung {
            state.waiting += 1;
            let at_most = std::time::Duration::from_nanos(at_most.as_nanos());
            state = self.0.changed.wait_timeout(state, at_most).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
        self.take(&mut state);
    }

    /// As [`Bell::wait`], and until one of `devices` is ready.
    fn wait_for(&self, at_most: Duration, devices: &[Watch<'_>]) {
        let rung = self.state().rung;
        let wires = [&self.0.wire, &self.0.rope].into_iter().filter_map(OnceLock::get);
        let wires: Vec<Watch<'_>> = wires.map(Wire::watch).collect();
        let mut polled: Vec<PollFd<'_>> = wires
            .iter()
            .chain(devices)
            .map(|watch| {
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, watch.reading);
                flags.set(PollFlags::OUT, watch.writing);
                PollFd::from_borrowed_fd(watch.descriptor, flags)
            })
            .collect();
        let at_most = if rung { Duration::ZERO } else { at_most };
        let at_most = std::time::Duration::from_nanos(at_most.as_nanos());
        // Signals and spurious failures end the wait early, as the caller must expect.
        if Timespec::try_from(at_most).is_ok_and(|at_most| poll(&mut polled, Some(&at_most)).is_err()) {
            return;
        }
        self.hear();
    }

    /// It has been heard: until it is rung again nothing is to be heard of it.
    pub(crate) fn hear(&self) {
        self.take(&mut self.state());
        if let Some(rope) = self.0.rope.get() {
            rope.empty();
        }
    }

    fn take(&self, state: &mut State) {
        state.rung = false;
        if core::mem::take(&mut state.is_written)
            && let Some(wire) = self.0.wire.get()
        {
            wire.empty();
        }
    }

    /// What becomes readable as it is rung, once it is [open](Bell::open).
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let wires = [&self.0.wire, &self.0.rope].into_iter().filter_map(OnceLock::get);
        wires.map(|wire| wire.read.as_fd())
    }
}

/// 64 bits that nobody can guess, from the operating system: for secrets of a stack that speaks to others.
///
/// # Errors
/// Where the operating system gives none.
pub fn unguessable() -> io::Result<u64> {
    let mut octets = [0; 8];
    let got = rustix::rand::getrandom(&mut octets, rustix::rand::GetRandomFlags::empty())?;
    if got == octets.len() { Ok(u64::from_le_bytes(octets)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// The CPU time that this process has taken so far, in user and in system mode, all threads together.
#[must_use]
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Seconds since 1970 by the machine's clock: for files whose readers want a date, and nothing else.
#[must_use]
pub fn seconds_since_1970() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    u64::try_from(time.tv_sec).unwrap_or(0)
}

/// Tells the time, and lets it pass.
pub trait Clock: Send {
    /// The time since the clock's start. Never goes back.
    fn now(&self) -> Instant;

    /// Waits until `until` has come, `bell` is rung, or one of `devices` is ready. May end early.
    fn wait(&self, until: Instant, bell: &Bell, devices: &[Watch<'_>]);
}

/// The machine's monotonic clock. Clones have the same start.
#[derive(Clone, Copy, Debug)]
pub struct RealClock(std::time::Instant);

impl RealClock {
    /// A clock that starts at this moment.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "real time is read here and in now()")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Asks the kernel not to put off this thread's timers so that several expire together, as it does by 50 us
    /// otherwise. Where there is no such request (elsewhere than on Linux) nothing changes.
    pub fn wait_without_slack(self) {
        // Nothing depends on it but lateness.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
    }
}

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "real time is read here and in start()")]
    fn now(&self) -> Instant {
        let since = std::time::Instant::now().saturating_duration_since(self.0);
        Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    fn wait(&self, until: Instant, bell: &Bell, devices: &[Watch<'_>]) {
        let left = until.saturating_since(self.now());
        if left.is_zero() {
            return;
        }
        if devices.is_empty() {
            bell.wait(left);
        } else {
            bell.wait_for(left, devices);
        }
    }
}

/// A clock whose time passes only by waiting for it, and then at once: for tests. It waits for no device. Clones show
/// the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Lets `time` pass.
    pub fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos(), Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn wait(&self, until: Instant, _: &Bell, _: &[Watch<'_>]) {
        self.0.fetch_max(until.as_nanos(), Ordering::Relaxed);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    /// A wait that nothing ends takes as long, and fails.
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_manual_clock_moves_when_waited_for_and_never_back() {
        let clock = ManualClock::default();
        let other = clock.clone();
        clock.wait(Instant::from_nanos(70), &Bell::default(), &[]);
        other.wait(Instant::from_nanos(50), &Bell::default(), &[]);
        other.advance(Duration::from_nanos(5));
        assert_eq!(clock.now(), Instant::from_nanos(75));
    }

    #[test]
    fn a_real_clock_does_not_go_back_and_its_clones_agree() {
        let clock = RealClock::start();
        let (first, second) = (clock.now(), { clock }.now());
        assert!(first <= second);
        // Already over: returns without waiting.
        clock.wait(first, &Bell::default(), &[]);
    }

    #[test]
    fn a_bell_rung_beforehand_ends_the_next_wait() {
        kumiki_watchdog::minute();
        let (clock, bell) = (RealClock::start(), Bell::default());
        bell.ring();
        let minute = clock.now() + MINUTE;
        clock.wait(minute, &bell, &[]);
        assert!(clock.now() < minute);
    }

    #[test]
    fn a_bell_or_a_device_ends_a_wait_for_devices() {
        kumiki_watchdog::minute();
        let (clock, bell) = (RealClock::start(), Bell::default());
        bell.open().unwrap();
        let (read, write) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let device = Watch { descriptor: read.as_fd(), reading: true, writing: false };
        let minute = clock.now() + MINUTE;
        bell.ring();
        clock.wait(minute, &bell, &[device]);
        rustix::io::write(&write, &[7]).unwrap();
        clock.wait(minute, &bell, &[device]);
        assert!(clock.now() < minute);
        let (clock, other) = (RealClock::start(), bell.clone());
        let ringer = std::thread::spawn(move || other.ring());
        let mut octet = [0];
        rustix::io::read(&read, &mut octet).unwrap();
        let minute = clock.now() + MINUTE;
        clock.wait(minute, &bell, &[device]);
        assert!(clock.now() < minute);
        ringer.join().unwrap();
    }

    /// Whether a descriptor of the bell is readable.
    fn is_readable(bell: &Bell) -> bool {
        let mut polled: Vec<_> = bell.descriptors().map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN)).collect();
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() > 0
    }

    #[test]
    fn descriptors_say_what_was_rung_and_not_heard_however_it_is_heard() {
        kumiki_watchdog::minute();
        let (clock, bell) = (RealClock::start(), Bell::default());
        bell.ring();
        bell.open().unwrap();
        assert!(is_readable(&bell), "rung before it was opened");
        bell.hear();
        assert!(!is_readable(&bell));
        let (silent, _write) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let device = Watch { descriptor: silent.as_fd(), reading: true, writing: false };
        for devices in [None, Some(&[][..]), Some(&[device][..])] {
            bell.ring();
            bell.ring();
            assert!(is_readable(&bell));
            match devices {
                None => bell.hear(),
                Some(devices) => clock.wait(clock.now() + MINUTE, &bell, devices),
            }
            assert!(!is_readable(&bell));
        }
    }

    #[test]
    fn a_task_that_waits_is_woken_in_the_place_of_descriptors() {
        struct Woken(AtomicU64);
        impl std::task::Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let woken = Arc::new(Woken(AtomicU64::new(0)));
        let waker = Waker::from(Arc::clone(&woken));
        let cx = Context::from_waker(&waker);
        let bell = Bell::default();
        bell.open().unwrap();
        for count in 1..=2 {
            assert!(bell.poll_rung(&cx).is_pending() && bell.poll_rung(&cx).is_pending());
            bell.ring();
            bell.ring();
            assert_eq!(woken.0.load(Ordering::Relaxed), count);
            assert!(bell.poll_rung(&cx).is_ready() && !is_readable(&bell));
            bell.hear();
        }
        // Who does not wait so any more has descriptors.
        bell.ring();
        assert!(is_readable(&bell));
    }

    #[test]
    fn a_bell_takes_one_descriptor_and_what_signals_write_rings_it() {
        kumiki_watchdog::minute();
        let (clock, bell) = (RealClock::start(), Bell::default());
        bell.open().unwrap();
        assert_eq!(bell.0.wire.get().unwrap().write.is_none(), cfg!(target_os = "linux"));
        let rope = bell.rope().unwrap().unwrap();
        let (silent, _write) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let device = Watch { descriptor: silent.as_fd(), reading: true, writing: false };
        let minute = clock.now() + MINUTE;
        for _ in 0..2 {
            rustix::io::write(&rope, &[1]).unwrap();
            clock.wait(minute, &bell, &[device]);
            bell.ring();
            clock.wait(minute, &bell, &[device]);
        }
        assert!(clock.now() < minute);
    }
}
