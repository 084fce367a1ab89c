//! The timers of a connection.

use kumiki_graph::{Context, Handle, Instant, TimerSlot, Token};
use smallvec::SmallVec;

/// What a timer is for and what it does when it expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Something sent was not acknowledged in time: send it again, back off, give up after R2.
    Retransmit,
    /// An acknowledgment has been held back long enough: send it.
    DelayedAck,
    /// The peer's window is closed: probe it.
    Persist,
    /// Sender silly window avoidance has held back what could have been sent: send it.
    SwsOverride,
    /// Nothing was acknowledged for as long as the user is willing to wait: abort (RFC 9293 section 3.10.8).
    UserTimeout,
    /// The peer has not been heard of for long, or has not answered a question: ask.
    KeepAlive,
    /// What was overtaken has had time enough: take it for lost (RFC 8985 section 6.2).
    Reordering,
    /// An acknowledgment is overdue: probe for a loss at the tail (RFC 8985 section 7).
    LossProbe,
    /// A segment that was held back to keep the pace may go.
    Pacing,
    /// The peer of a user that has closed both ways has not ended its side for long: forget the connection.
    FinWait2,
}

impl Timer {
    const ALL: [Self; 10] = [
        Self::Retransmit,
        Self::DelayedAck,
        Self::Persist,
        Self::SwsOverride,
        Self::UserTimeout,
        Self::KeepAlive,
        Self::Reordering,
        Self::LossProbe,
        Self::Pacing,
        Self::FinWait2,
    ];

    const fn kind(self) -> u32 {
        match self {
            Self::Retransmit => 0,
            Self::DelayedAck => 1,
            Self::Persist => 2,
            Self::SwsOverride => 3,
            Self::UserTimeout => 4,
            Self::KeepAlive => 5,
            Self::Reordering => 6,
            Self::LossProbe => 7,
            Self::Pacing => 8,
            Self::FinWait2 => 9,
        }
    }

    const fn bit(self) -> u16 {
        1 << self.kind()
    }

    pub(crate) fn of_kind(kind: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|timer| timer.kind() == kind)
    }
}

/// One timer: where it is armed, and its deadline where it is set.
///
/// Deadlines usually move on with every acknowledgment. Arming again only where the deadline comes *earlier* keeps the
/// timer wheel out of the path of a segment; an expiry that comes too early is answered by arming for the rest.
#[derive(Debug, Default)]
struct Alarm {
    slot: TimerSlot,
    /// Means nothing where the timer is not set.
    deadline: Instant,
}

/// The timers of one connection. Of a timer that has expired and was not set again nothing is kept.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    session: Handle,
    /// Which are set: a bit for each, by its kind.
    set: u16,
    armed: Option<Box<Armed>>,
}

/// Those that are armed: all that are set, and others that were.
#[derive(Debug, Default)]
struct Armed {
    /// Where the alarm of each is, counted from 1; 0 for what is not armed.
    places: [u8; Timer::ALL.len()],
    alarms: SmallVec<[Alarm; 2]>,
}

impl Timers {
    pub(crate) fn new(session: Handle) -> Self {
        Self { session, ..Self::default() }
    }

    /// The alarm of `timer`, which is empty where that is not armed.
    #[inline]
    fn alarm(&mut self, timer: Timer) -> Option<&mut Alarm> {
        let Armed { places, alarms } = &mut **self.armed.get_or_insert_default();
        let place = places.get_mut(timer.kind() as usize)?;
        if *place == 0 {
            begin(place, alarms);
        }
        alarms.get_mut(usize::from(*place).checked_sub(1)?)
    }

    /// `timer` is armed no more.
    fn forget(&mut self, timer: Timer) {
        let Some(Armed { places, alarms }) = self.armed.as_deref_mut() else {
            return;
        };
        let last = u8::try_from(alarms.len()).unwrap_or(0);
        let place = places.get_mut(timer.kind() as usize).map_or(0, core::mem::take);
        let Some(index) = usize::from(place).checked_sub(1) else {
            return;
        };
        alarms.swap_remove(index);
        // The last has come there.
        if let Some(moved) = places.iter_mut().find(|other| **other == last) {
            *moved = place;
        }
        if alarms.is_empty() {
            self.armed = None;
        }
    }

    pub(crate) const fn is_set(&self, timer: Timer) -> bool {
        self.set & timer.bit() != 0
    }

    pub(crate) fn set(&mut self, timer: Timer, deadline: Instant, cx: &mut Context<'_>) {
        let token = Token { session: self.session, kind: timer.kind() };
        self.set |= timer.bit();
        let Some(alarm) = self.alarm(timer) else {
            return;
        };
        alarm.deadline = deadline;
        if alarm.slot.deadline().is_none_or(|armed| deadline < armed) {
            cx.set_timer(&mut alarm.slot, token, deadline);
        }
    }

    pub(crate) const fn clear(&mut self, timer: Timer) {
        self.set &= !timer.bit();
    }

    /// The wheel says that `timer` expired: whether its deadline has really come.
    pub(crate) fn expired(&mut self, timer: Timer, cx: &mut Context<'_>) -> bool {
        let (now, set) = (cx.now(), self.is_set(timer));
        let Some(alarm) = self.alarm(timer) else {
            return false;
        };
        if alarm.slot.deadline().is_some_and(|armed| armed > now) {
            // It was armed again while this expiry waited in the task's inbox.
            return false;
        }
        alarm.slot = TimerSlot::default();
        let deadline = alarm.deadline;
        if set && deadline > now {
            self.set(timer, deadline, cx);
            return false;
        }
        self.clear(timer);
        self.forget(timer);
        set
    }

    /// Disarms everything.
    pub(crate) fn end(&mut self, cx: &mut Context<'_>) {
        for alarm in self.armed.take().iter_mut().flat_map(|armed| &mut armed.alarms) {
            cx.clear_timer(&mut alarm.slot);
        }
        self.set = 0;
    }
}

/// The timer of `place` will be armed.
#[cold]
fn begin(place: &mut u8, alarms: &mut SmallVec<[Alarm; 2]>) {
    alarms.push(Alarm::default());
    *place = u8::try_from(alarms.len()).unwrap_or(0);
}
