//! Who waits for something.

use core::task::Waker;

use smallvec::SmallVec;

/// More than this many different tasks that wait for one thing are woken to say again that they do: most of them may
/// have gone.
const MOST: usize = 64;

/// The tasks that wait for one thing. Each is there once, however often it asks.
///
/// Mostly it is one or none, and each connection has two of these, be it ever so idle: so more have memory of their
/// own.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    first: Option<Waker>,
    others: Option<Box<MoreWakers>>,
}

#[derive(Debug)]
struct MoreWakers {
    waiting: Vec<Waker>,
    /// How many there may be in all; twice as many each time, for those who are there still come back, and must find
    /// room.
    most: usize,
}

impl Default for MoreWakers {
    fn default() -> Self {
        Self { waiting: Vec::new(), most: MOST }
    }
}

impl Wakers {
    /// `waker` is woken the next time that something happens.
    pub(crate) fn register(&mut self, waker: &Waker, woken: &mut WakeList) {
        let others = self.others.iter().flat_map(|it| &it.waiting);
        if self.first.iter().chain(others).any(|it| it.will_wake(waker)) {
            return;
        }
        if let Some(others) = &mut self.others
            && others.waiting.len() + 1 >= others.most
        {
            others.most = (others.waiting.len() + 1).saturating_mul(2);
            self.wake(woken);
        }
        match &self.first {
            None => self.first = Some(waker.clone()),
            Some(_) => self.others.get_or_insert_default().waiting.push(waker.clone()),
        }
    }

    /// It has happened.
    pub(crate) fn wake(&mut self, woken: &mut WakeList) {
        woken.0.extend(self.first.take());
        if let Some(others) = &mut self.others {
            woken.0.extend(others.waiting.drain(..));
        }
    }
}

/// Those to be woken when no lock is held any more: whoever is woken may do anything.
#[derive(Debug, Default)]
pub(crate) struct WakeList(SmallVec<[Waker; 4]>);

impl WakeList {
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
