//! Who waits for something.

use core::task::Waker;

use smallvec::SmallVec;

/// More than this many different tasks that wait for one thing are woken to say again that they do: most of them may have gone.
const MOST: usize = 64;

/// The tasks that wait for one thing. Each is there once, however often it asks.
#[derive(Debug)]
pub(crate) struct Wakers {
    waiting: SmallVec<[Waker; 1]>,
    /// How many there may be; twice as many each time, for those who are there still come back, and must find room.
    most: usize,
}

impl Default for Wakers {
    fn default() -> Self {
        Self { waiting: SmallVec::new(), most: MOST }
    }
}

impl Wakers {
    /// `waker` is woken the next time that something happens.
    pub(crate) fn register(&mut self, waker: &Waker, woken: &mut Woken) {
        if self.waiting.iter().any(|it| it.will_wake(waker)) {
            return;
        }
        if self.waiting.len() >= self.most {
            self.most = self.waiting.len().saturating_mul(2);
            self.wake(woken);
        }
        self.waiting.push(waker.clone());
    }

    /// It has happened.
    pub(crate) fn wake(&mut self, woken: &mut Woken) {
        woken.0.extend(self.waiting.drain(..));
    }
}

/// Those to be woken when no lock is held any more: whoever is woken may do anything.
#[derive(Debug, Default)]
pub(crate) struct Woken(SmallVec<[Waker; 4]>);

impl Woken {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One more, who waits alone for his thing.
    #[cfg(all(feature = "host", target_os = "linux"))]
    pub(crate) fn push(&mut self, waker: Waker) {
        self.0.push(waker);
    }

    pub(crate) fn wake(self) {
        for waker in self.0 {
            waker.wake();
        }
    }
}
