//! The door of a node that serves a filestore, whichever protocol brings the callers: who is called and answers, how
//! many come in, how long they may be silent, and how it ended.

use kumiki_graph::Parameters;
use kumiki_graph::{Accept, Context, Duration, Handle, Instant, Mode, Open, Reason, Request, TimerSlot, Token};
use kumiki_osi_service::acse::Names;
use kumiki_osi_service::ftam::time::Zone;
use kumiki_osi_service::ftam::{CalendarTime, Diagnostic};
use kumiki_osi_service::{Association, OsiCause};

use super::{FILES, LISTENER};
use crate::filestore::StoreError;

/// The kind of the token by which nothing has come of an association for too long.
const IDLE: u32 = 0;

/// 1970-01-01, where a clock says nothing that a date can be made of.
const EPOCH: CalendarTime =
    CalendarTime { year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0, nanosecond: 0, zone: Zone::Offset(0) };

/// How an association ended, or why there was none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// In order.
    InOrder,
    /// It was refused: what was said.
    Refused(Vec<Diagnostic>),
    /// Association control has refused it: what it said, and why, where that says more.
    Rejected(OsiCause, String),
    /// The initiator's user aborted it: what was said.
    Aborted(Vec<Diagnostic>),
    /// It was aborted from here: what was said.
    Stopped(Vec<Diagnostic>),
    /// A layer below, or the network, ended it.
    Broken(Reason),
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Associations accepted.
    pub accepted: u64,
    /// Associations refused.
    pub refused: u64,
    /// Associations that ended in order.
    pub closed: u64,
    /// Associations that broke or were aborted.
    pub aborted: u64,
    /// Associations ended because nothing came.
    pub idle: u64,
    /// Data elements sent.
    pub elements_sent: u64,
    /// Octets in them.
    pub octets_sent: u64,
}

/// The limits of a node, and what came of its callers.
#[derive(Debug)]
pub struct Door {
    associations: u32,
    idle: Duration,
    began: i64,
    pub(super) counters: Counters,
    last_end: Option<End>,
    stopping: Option<StoreError>,
    pub(super) failure: Option<Reason>,
}

impl Door {
    /// One for so many associations at a time, of which none is silent for longer than `idle` (zero: than it likes);
    /// the graph's clock began at this second since 1970.
    pub(super) fn new(associations: u32, idle: Duration, began: i64) -> Self {
        Self { associations, idle, began, counters: Counters::default(), last_end: None, stopping: None, failure: None }
    }

    /// How the association that ended last did so, or why there was none.
    #[must_use]
    pub const fn last_end(&self) -> Option<&End> {
        self.last_end.as_ref()
    }

    /// What happened.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Why nobody can call any more, if so.
    #[must_use]
    pub const fn failure(&self) -> Option<&Reason> {
        self.failure.as_ref()
    }

    /// Waits to be called as `association` says.
    pub(super) fn listen(&self, association: Association, cx: &mut Context<'_>) {
        let backlog = self.associations;
        let open = Open {
            user: LISTENER,
            mode: Mode::Passive { backlog },
            parameters: Parameters::of(association),
            ..Open::default()
        };
        cx.down(FILES, Request::Open(Box::new(open)));
    }

    /// Whether another association may come beside this many.
    ///
    /// # Errors
    /// What the caller is told where not.
    pub(super) fn has_room(&self, beside: usize) -> Result<(), StoreError> {
        let most = usize::try_from(self.associations).unwrap_or(usize::MAX);
        if beside < most {
            return Ok(());
        }
        Err(StoreError::transient(9, "too many associations"))
    }

    /// The date, by the graph's clock.
    pub(super) fn date(&self, now: Instant) -> CalendarTime {
        let since = now.saturating_since(Instant::default()).as_nanos() / 1_000_000_000;
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        let seconds = self.began.saturating_add(since);
        CalendarTime::from_unix_seconds(seconds).unwrap_or(EPOCH)
    }

    /// Begins to wait again for a word on an association: not longer than `most`, where that is given.
    pub(super) fn wait(&self, session: Handle, timer: &mut TimerSlot, most: Option<Duration>, cx: &mut Context<'_>) {
        let idle = Some(self.idle).filter(|idle| *idle > Duration::ZERO);
        let most = most.filter(|most| *most > Duration::ZERO);
        match idle.into_iter().chain(most).min() {
            Some(time) => {
                let kind = IDLE;
                cx.set_timer(timer, Token { session, kind }, cx.now() + time);
            }
            None => cx.clear_timer(timer),
        }
    }

    /// A caller was not let in.
    pub(super) fn refused(&mut self, end: End) {
        self.counters.refused += 1;
        self.last_end = Some(end);
    }

    /// An association has ended.
    pub(super) fn ended(&mut self, end: End) {
        if end == End::InOrder {
            self.counters.closed += 1;
        } else {
            self.counters.aborted += 1;
        }
        self.last_end = Some(end);
    }

    /// All associations are to be aborted for this reason, at the next [`WAKE`](super::WAKE).
    pub(super) fn stop(&mut self, why: StoreError) {
        self.stopping = Some(why);
    }

    /// Why all are to be aborted now, if so.
    pub(super) const fn stops(&mut self) -> Option<StoreError> {
        self.stopping.take()
    }
}

/// Why an association is ended by which nothing has come.
pub(super) const fn silence(keeps_others_out: bool) -> &'static str {
    if keeps_others_out {
        "nothing came for too long while a file was locked for others"
    } else {
        "nothing came for too long"
    }
}

/// Lets the caller of a `session` in, which is `user` here. The answer is what it has said, but for who answers: who
/// was called, where there is no name of our `own`.
pub(super) fn accept(
    (session, user): (Handle, Handle),
    mut association: Box<Association>,
    own: &Names,
    cx: &mut Context<'_>,
) {
    association.authentication = None;
    association.calling = association.called;
    association.calling_names = if *own == Names::default() { association.called_names.clone() } else { own.clone() };
    let accept = Accept { session, user, parameters: association.into(), ..Accept::default() };
    cx.down(FILES, Request::Accept(Box::new(accept)));
}
