//! Who waits for something.

use core::task::Waker;

use smallvec::SmallVec;

/// More than this many different tasks that wait for one thing are woken to say again that they do: most of them will have gone.
const MOST: usize = 64;

/// The tasks that wait for one thing. Each is there once, however often it asks.
#[derive(Debug, Default)]
pub(crate) struct Wakers(SmallVec<[Waker; 1]>);

impl Wakers {
    /// `waker` is woken the next time that something happens.
    pub(crate) fn register(&mut self, waker: &Waker, woken: &mut Woken) {
        if self.0.iter().any(|it| it.will_wake(waker)) {
            return;
        }
        if self.0.len() >= MOST {
            self.wake(woken);
        }
        self.0.push(waker.clone());
    }

    /// It has happened.
    pub(crate) fn wake(&mut self, woken: &mut Woken) {
        woken.0.extend(self.0.drain(..));
    }
}

/// Those to be woken when no lock is held any more: whoever is woken may do anything.
#[derive(Debug, Default)]
pub(crate) struct Woken(SmallVec<[Waker; 4]>);

impl Woken {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn wake(self) {
        for waker in self.0 {
            waker.wake();
        }
    }
}
