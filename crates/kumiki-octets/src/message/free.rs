//! Messages without octets that a thread keeps for its next ones, last in, first out. No result depends on it.

use core::cell::RefCell;

use super::Inner;

#[expect(clippy::vec_box, reason = "what is kept is the allocation")]
struct Free {
    kept: Vec<Box<Inner>>,
    most: usize,
}

thread_local! {
    static FREE: RefCell<Free> = const { RefCell::new(Free { kept: Vec::new(), most: FreeMessages::KEPT }) };
}

/// Keeps what a message was, if there is room.
pub(super) fn keep(inner: Box<Inner>) {
    // A thread that is shutting down has no stack any more; its memory goes back to the allocator.
    let _ = FREE.try_with(|free| {
        if let Ok(mut free) = free.try_borrow_mut()
            && free.kept.len() < free.most
        {
            free.kept.push(inner);
        }
    });
}

/// What was kept last.
pub(super) fn again() -> Option<Box<Inner>> {
    FREE.try_with(|free| free.try_borrow_mut().ok()?.kept.pop()).ok().flatten()
}

/// Free messages on their way from a thread that frees more than it makes to one that makes more than it frees.
/// Otherwise the first gives them back to the allocator while the other asks that for new ones, and each waits for the
/// other there.
///
/// ```
/// use kumiki_octets::{FreeMessages, Message};
///
/// drop(Message::new());
/// let spare = FreeMessages::take(16);
/// std::thread::spawn(move || {
///     spare.give();
///     let again = Message::new();
///     drop(again);
/// })
/// .join()
/// .expect("nothing there panics");
/// ```
#[derive(Default)]
#[expect(clippy::vec_box, reason = "what is kept is the allocation")]
pub struct FreeMessages(Vec<Box<Inner>>);

impl FreeMessages {
    /// How many a thread keeps that has been told nothing.
    pub const KEPT: usize = 1024;

    /// From here on this thread keeps up to `most` of them, some 400 octets each.
    pub fn keep_up_to(most: usize) {
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            free.most = most;
            free.kept.truncate(most);
        });
    }

    /// Takes from this thread all but those that it has freed last, `leave` of them.
    #[must_use]
    pub fn take(leave: usize) -> Self {
        let taken = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            let beyond = free.kept.len().saturating_sub(leave);
            free.kept.drain(..beyond).collect()
        });
        Self(taken.unwrap_or_default())
    }

    /// Gives them to this thread, as though they had been freed first.
    pub fn give(mut self) {
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            let room = free.most.saturating_sub(free.kept.len());
            self.0.truncate(room);
            let own = core::mem::replace(&mut free.kept, self.0);
            free.kept.extend(own);
        });
    }

    /// Brings all of `others` together here.
    pub fn gather(&mut self, others: &mut Self) {
        self.0.append(&mut others.0);
    }

    /// Takes so many out of these, if there are as many.
    #[must_use]
    pub fn part(&mut self, count: usize) -> Self {
        Self(self.0.split_off(self.0.len().saturating_sub(count)))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    fn kept() -> usize {
        FREE.with(|free| free.borrow().kept.len())
    }

    #[test]
    fn free_messages_go_from_one_thread_to_another() {
        FreeMessages::keep_up_to(10);
        drop((0..20).map(|_| Message::new()).collect::<Vec<_>>());
        assert_eq!(kept(), 10);
        let mut spare = FreeMessages::take(3);
        assert_eq!((spare.len(), kept()), (7, 3));
        let part = spare.part(2);
        let there = std::thread::spawn(move || {
            part.give();
            let before = kept();
            let message = Message::from_octets(b"again");
            assert_eq!(message.to_vec(), b"again");
            (before, kept())
        });
        assert_eq!(there.join().unwrap(), (2, 1));
        // What there is no room for goes back to the allocator.
        let mut all = FreeMessages::take(0);
        spare.gather(&mut all);
        assert_eq!((spare.len(), all.is_empty()), (8, true));
        FreeMessages::keep_up_to(5);
        spare.give();
        assert_eq!(kept(), 5);
        FreeMessages::keep_up_to(FreeMessages::KEPT);
    }
}
