//! Small programs whose threads share a value, run by loom in every order in which they may meet.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p kumiki-octets --lib --target-dir target/loom weighted::models`; `./check` does
//! so. A value here says to loom when it is read and when it is written, so that an order in which both may happen at
//! once is found, whatever this processor does; and loom counts what is never dropped.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::*;

/// What is shared: a number that is read by holders and written by who alone has it, and something of which loom counts
/// the holders.
struct Shared {
    number: UnsafeCell<u32>,
    alive: Arc<()>,
}

#[expect(unsafe_code, reason = "loom's cells are reached through pointers")]
mod reach {
    use super::Shared;

    // SAFETY: who has a shared reference only reads the number; it is written through a unique one. That holders keep
    // to it is what the models are to show: loom stops where it is read and written at once.
    unsafe impl Sync for Shared {}

    impl Shared {
        pub(super) fn read(&self) -> u32 {
            // SAFETY: nobody writes while there are holders.
            self.number.with(|number| unsafe { *number })
        }

        pub(super) fn write(&mut self, value: u32) {
            // SAFETY: the reference is unique.
            self.number.with_mut(|number| unsafe { *number = value });
        }
    }
}

/// A value with one handle; and a look at whether it is still there.
fn shared() -> (Weighted<Shared>, Arc<()>) {
    let alive = Arc::new(());
    let number = UnsafeCell::new(1);
    let value = Shared { number, alive: Arc::clone(&alive) };
    (Unique::new(value).share(), alive)
}

/// Writes to the value where this was the last handle; whether it was.
fn last(handle: Weighted<Shared>) -> bool {
    handle.into_unique().is_some_and(|mut unique| {
        assert_eq!(Arc::strong_count(&unique.alive), 2);
        unique.write(2);
        true
    })
}

#[test]
fn clones_that_are_dropped_drop_the_value_once() {
    loom::model(|| {
        let (handle, alive) = shared();
        let clone = handle.clone();
        let other = thread::spawn(move || {
            let again = clone.clone();
            drop(clone);
            assert_eq!(again.read(), 1);
        });
        assert_eq!(handle.read(), 1);
        drop(handle);
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn a_part_that_is_divided_off_and_sent_is_united_or_dropped() {
    loom::model(|| {
        let (mut handle, alive) = shared();
        let (mut back, gone) = (handle.split(), handle.split());
        let there = thread::spawn(move || {
            assert_eq!(back.read(), 1);
            let part = back.split();
            drop(part);
            back
        });
        let other = thread::spawn(move || {
            assert_eq!(gone.read(), 1);
            drop(gone);
        });
        let back = there.join().unwrap();
        assert!(handle.merge(back).is_ok());
        // The other one may still be there.
        drop(handle);
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn of_two_that_want_it_alone_exactly_one_gets_it() {
    loom::model(|| {
        let (mut handle, alive) = shared();
        let part = handle.split();
        let other = thread::spawn(move || {
            assert_eq!(part.read(), 1);
            last(part)
        });
        assert_eq!(handle.read(), 1);
        let here = last(handle);
        assert!(here != other.join().unwrap(), "both got it, or none");
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

/// As in a graph: one cuts packets off a page while another lets go of them.
#[test]
fn of_three_exactly_one_gets_it_although_one_still_makes_new_holds() {
    loom::model(|| {
        let (mut handle, alive) = shared();
        let (part, third) = (handle.split(), handle.split());
        let other = thread::spawn(move || {
            let clone = part.clone();
            usize::from(last(part)) + usize::from(last(clone))
        });
        let one_more = thread::spawn(move || usize::from(last(third)));
        let here = usize::from(last(handle));
        assert_eq!(here + other.join().unwrap() + one_more.join().unwrap(), 1);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}
