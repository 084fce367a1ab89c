//! An end to every wait of a test, whatever goes wrong.
//!
//! | | |
//! |---|---|
//! | Used by | tests that wait for a process, a socket, a device or another thread |
//! | Left out | tests that only compute: they wait for nobody, and a busy machine may take its time |
//!
//! A test that waits calls [`minute`] first, best in what all tests of a file wait with; one that waits once and
//! computes for long has that wait [`during`] which it is watched. One that looks again and again [`until`] something
//! is there has one minute for all of it together, for what it looks with may wait itself. Where the same thread
//! neither calls it again nor ends within [`LIMIT`], the test is named on standard error, the processes that this one
//! has started are killed, and this one ends with the status of a test that failed. So nothing that a test waits with
//! needs a limit of its own: no read, no join, no child.
//!
//! The time is that of the wall, and no verdict depends on it but that of what hangs.
//!
//! Beside that, what else tests of programs have in common:
//!
//! | read | for |
//! |---|---|
//! | [`Port`] | a port that nobody takes meanwhile |
//! | [`process`] | a folder of a test's own, and processes that end with it |
//! | [`peers`] | programs of others, tshark among them, and going without them |

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub mod peers;
mod port;
pub mod process;

pub use port::Port;

/// How long a test may wait.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The status of a test program of which a test failed.
const FAILED: i32 = 101;

/// Who waits, and until when at most, by the number of the thread's [`Armed`].
static WAITING: Mutex<BTreeMap<u64, Wait>> = Mutex::new(BTreeMap::new());
static CHANGED: Condvar = Condvar::new();

struct Wait {
    test: String,
    until: Instant,
}

fn waiting() -> MutexGuard<'static, BTreeMap<u64, Wait>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "a watchdog is a clock; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}

/// That a thread waits; ends with the thread.
struct Armed(u64);

impl Drop for Armed {
    fn drop(&mut self) {
        waiting().remove(&self.0);
    }
}

thread_local! {
    static ARMED: OnceCell<Armed> = const { OnceCell::new() };
    /// When what this thread does [`during`] a watch must be over, whatever it waits for therein.
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Puts back what was the end before, also where a test fails meanwhile.
struct PreviousEnd(Option<Instant>);

impl Drop for PreviousEnd {
    fn drop(&mut self) {
        END.set(self.0);
        ARMED.with(|armed| armed.get().map(|armed| waiting().remove(&armed.0)));
        if self.0.is_some() {
            minute();
        }
    }
}

/// From now on this thread waits for [`LIMIT`] at most. What it was allowed before does not count any more.
pub fn minute() {
    within(LIMIT);
}

/// Waits by `wait` for [`LIMIT`] at most, whatever is called in it, after which this thread may take its time.
pub fn during<T>(wait: impl FnOnce() -> T) -> T {
    let end = now() + LIMIT;
    let before = END.get();
    END.set(Some(before.map_or(end, |before| before.min(end))));
    let _before = PreviousEnd(before);
    minute();
    wait()
}

/// Waits until something is seen, for [`LIMIT`] at most, whatever it is seen with.
pub fn until(mut seen: impl FnMut() -> bool) {
    during(|| {
        while !seen() {
            pause();
        }
    });
}

/// A millisecond between two looks at what tells nobody that it is there: whoever is to bring it, and every test beside
/// this one, has the processor meanwhile. Nothing may depend on how long it is.
#[expect(
    clippy::disallowed_methods,
    reason = "another look follows, and no deadline is known; no result depends on it"
)]
pub fn pause() {
    std::thread::sleep(Duration::from_millis(1));
}

/// As [`minute`], with another limit.
pub fn within(limit: Duration) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("in a thread without a name");
    ARMED.with(|armed| {
        let mut waiting = waiting();
        let armed = armed.get_or_init(|| {
            static THREADS: Mutex<u64> = Mutex::new(0);
            let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
            if *threads == 0 {
                // It ends with the process.
                std::thread::spawn(watch);
            }
            *threads += 1;
            Armed(*threads)
        });
        let until = now() + limit;
        let wait = Wait { test: test.to_owned(), until: END.get().map_or(until, |end| end.min(until)) };
        waiting.insert(armed.0, wait);
        CHANGED.notify_all();
    });
}

/// Waits for somebody who waits too long.
fn watch() {
    let mut all = waiting();
    loop {
        let Some(next) = all.values().min_by_key(|wait| wait.until) else {
            all = CHANGED.wait(all).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let left = next.until.saturating_duration_since(now());
        if left.is_zero() {
            // The output of a test is kept back by who runs it, and would be lost with the process: this is written
            // past that.
            let told = format!(
                "\ntest {} ... FAILED: it hangs; the watchdog ends this program and those that it has started\n",
                next.test
            );
            let _ = std::io::stderr().write_all(told.as_bytes());
            for child in descendants("self") {
                let _ = kill_process(child, Signal::KILL);
            }
            std::process::exit(FAILED);
        }
        all = CHANGED.wait_timeout(all, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The processes that `process` has started, and those that these have.
fn descendants(process: &str) -> Vec<Pid> {
    let mut all = Vec::new();
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        // Where the kernel has no such file nobody is found, and those who are left see their input end.
        let children = std::fs::read_to_string(thread.path().join("children"));
        for child in children.unwrap_or_default().split_whitespace() {
            all.extend(descendants(child));
            all.extend(child.parse().ok().and_then(Pid::from_raw));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(test: &str) -> Vec<Instant> {
        let all = waiting();
        let of_it = all.values().filter(|wait| wait.test == test);
        of_it.map(|wait| wait.until).collect()
    }

    #[test]
    fn who_goes_on_has_a_minute_again_and_who_has_ended_is_forgotten() {
        let thread = std::thread::Builder::new().name("goes on".to_owned());
        let goes_on = thread.spawn(|| {
            minute();
            let first = of("goes on");
            minute();
            let then = of("goes on");
            let during = during(|| of("goes on"));
            let computes = of("goes on");
            minute();
            (first, then, during, computes)
        });
        let (first, then, during, computes) = goes_on.expect("a thread").join().expect("it ends");
        assert_eq!((first.len(), then.len(), during.len()), (1, 1, 1));
        assert!(computes.is_empty());
        assert!(first < then);
        assert!(of("goes on").is_empty());
    }

    #[test]
    fn who_looks_again_and_again_has_one_minute_for_all_of_it() {
        let looks = std::thread::Builder::new().name("looks".to_owned());
        let looks = looks.spawn(|| {
            during(|| {
                let first = of("looks");
                minute();
                let then = of("looks");
                let inner = during(|| of("looks"));
                (first, then, inner, of("looks"))
            })
        });
        let (first, then, inner, after) = looks.expect("a thread").join().expect("it ends");
        assert_eq!(first.len(), 1);
        assert_eq!((&then, &inner, &after), (&first, &first, &first));
    }
}
