//! The timers of a context.

use kumiki_graph::{Context, Handle, Instant, TimerSlot, Token};

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// WTIMER: a question was not answered in time.
    Wait,
    /// CTIMER: the peer has not been heard of for long.
    Alive,
    /// RTIMER, and the pace of congestion control: more may leave.
    Rate,
    /// The peer allows nothing more: ask whether it does.
    Probe,
    /// What left last has not been asked about.
    Tail,
    /// An answer is late: ask again.
    Late,
    /// In a group: the answer of a receiver is due, or it asks once more to join; a transmitter has waited for all to
    /// join.
    Slot,
}

impl Timer {
    const ALL: [Self; 7] = [Self::Wait, Self::Alive, Self::Rate, Self::Probe, Self::Tail, Self::Late, Self::Slot];

    pub(crate) fn of_kind(kind: u32) -> Option<Self> {
        Self::ALL.into_iter().zip(0..).find(|(_, number)| *number == kind).map(|(timer, _)| timer)
    }

    const fn kind(self) -> u32 {
        match self {
            Self::Wait => 0,
            Self::Alive => 1,
            Self::Rate => 2,
            Self::Probe => 3,
            Self::Tail => 4,
            Self::Late => 5,
            Self::Slot => 6,
        }
    }
}

/// Which of them are set.
#[derive(Debug)]
pub(crate) struct Timers {
    session: Handle,
    slots: [(TimerSlot, bool); Timer::ALL.len()],
}

impl Timers {
    pub(crate) fn new(session: Handle) -> Self {
        Self { session, slots: [(TimerSlot::default(), false); Timer::ALL.len()] }
    }

    fn slot(&mut self, timer: Timer) -> Option<&mut (TimerSlot, bool)> {
        self.slots.get_mut(timer.kind() as usize)
    }

    /// Sets `timer`, in place of what it was set to.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant, cx: &mut Context<'_>) {
        let session = self.session;
        if let Some((slot, is_set)) = self.slot(timer) {
            let kind = timer.kind();
            cx.set_timer(slot, Token { session, kind }, at);
            *is_set = true;
        }
    }

    pub(crate) fn clear(&mut self, timer: Timer, cx: &mut Context<'_>) {
        if let Some((slot, is_set)) = self.slot(timer)
            && core::mem::take(is_set)
        {
            cx.clear_timer(slot);
        }
    }

    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.slots.get(timer.kind() as usize).is_some_and(|(_, is_set)| *is_set)
    }

    /// When `timer` expires, if it is set.
    pub(crate) fn deadline(&self, timer: Timer) -> Option<Instant> {
        let (slot, is_set) = self.slots.get(timer.kind() as usize)?;
        slot.deadline().filter(|_| *is_set)
    }

    /// `timer` has expired.
    pub(crate) fn expired(&mut self, timer: Timer) {
        if let Some((_, is_set)) = self.slot(timer) {
            *is_set = false;
        }
    }

    /// Clears all.
    pub(crate) fn end(&mut self, cx: &mut Context<'_>) {
        for timer in Timer::ALL {
            self.clear(timer, cx);
        }
    }
}
