//! How long a connection waits for its peer: R1 and R2, the user timeout and its option, keep-alive.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 sections 3.8.3 (R1, R2), 3.8.4 (keep-alive) and 3.9.1.8 (reports); RFC 5482 (user timeout option), named there and here ADV_UTO, REMOTE_UTO, CHANGEABLE, L_LIMIT, U_LIMIT |
//! | R2 | a count of retransmissions (or of probes of a closed window), or a user timeout: where there is one, it alone decides once the connection is synchronized. While memory is spent (`super::buffers`), 100 s without a word from the peer are enough where there is none |
//! | User timeout | runs from when data began to wait until some of it is acknowledged, a closed window included; a peer that keeps its window closed is borne for ever only without one (MUST-37) |
//! | FIN-WAIT-2 | the standard waits there for ever, which lets a peer that never sends its FIN hold a connection for good. Where the user has closed both ways nobody misses it, and it is forgotten after [`Config::fin_wait_2`], without a reset, as in Linux (tcp_fin_timeout) |
//! | Left out | keep-alive probes with an octet of garbage (MAY-6) |

use kumiki_graph::{
    Below, Duration, Indication, Instant, KeepAlive, Manage, NoPath, Notice, OptionalTime, Problem, Quality, Reason,
    Request,
};
use kumiki_octets::{Blank, Message, OnDemand};
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::IpQuality;
use kumiki_wire::inet::tcp::{Flags, UserTimeout};

use super::config::Config;
use super::rtt::Rtt;
use super::session::{Ctx, DSCP, Session};
use super::states::State;
use super::timers::Timer;

/// While memory is spent, a peer that was not heard of for so long is not tried again: the least R2 of RFC 9293
/// (SHLD-11).
pub(super) const SOON: Duration = Duration::from_secs(100);

/// What there is where somebody has asked for a user timeout or for keep-alive, or where something was wrong on the
/// way.
#[derive(Debug)]
struct RareTimeouts {
    /// USER_TIMEOUT as the user or the configuration has it.
    user_timeout: OptionalTime<Duration>,
    /// REMOTE_UTO.
    remote: OptionalTime<Duration>,
    keep_alive: KeepAlive,
    /// Keep-alive probes without an answer.
    probes: u32,
    /// What was last said to be wrong since the peer answered.
    problem: Option<Problem>,
}

impl RareTimeouts {
    const NOTHING: Self = Self {
        user_timeout: OptionalTime::NONE,
        remote: OptionalTime::NONE,
        keep_alive: KeepAlive::OFF,
        probes: 0,
        problem: None,
    };
}

impl Default for RareTimeouts {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl Blank for RareTimeouts {
    const BLANK: &'static Self = &Self::NOTHING;
}

/// What one connection waits for, and for how long.
#[derive(Debug)]
pub(crate) struct Timeouts {
    /// R2, as a count (MUST-21).
    pub(crate) retransmissions: u32,
    unusual: OnDemand<RareTimeouts>,
    /// CHANGEABLE.
    changeable: bool,
    /// The next segment with room for it should carry the user timeout option.
    uto_due: bool,
    /// When the peer was last heard of.
    pub(crate) heard: Instant,
    /// Since when data has been waiting to be acknowledged.
    waiting: OptionalTime<Instant>,
    /// The user takes what comes after it has released.
    half_close: bool,
    /// The user wants to be told (SHLD-20).
    notices: bool,
    /// The user has been told that there is no answer.
    told: bool,
    /// IP's part: time to live and type of service of the segments.
    ttl: u8,
    tos: u8,
}

impl Timeouts {
    pub(crate) fn new(config: &Config, quality: &Quality, now: Instant) -> Self {
        let mut timeouts = Self {
            retransmissions: config.max_retransmissions,
            unusual: OnDemand::new(),
            changeable: true,
            uto_due: config.user_timeout_option,
            heard: now,
            waiting: OptionalTime::NONE,
            half_close: true,
            notices: true,
            told: false,
            ttl: config.ttl,
            tos: config.tos & DSCP,
        };
        if config.user_timeout.is_some() {
            timeouts.unusual.user_timeout = config.user_timeout.into();
        }
        if config.keep_alive {
            timeouts.unusual.keep_alive = config.keep_alive_times;
        }
        timeouts.choose(quality);
        timeouts
    }

    /// Takes what the user asks for.
    fn choose(&mut self, quality: &Quality) {
        if let Some(keep_alive) = quality.keep_alive {
            // MUST-24.
            self.unusual.keep_alive = keep_alive;
            self.unusual.probes = 0;
        }
        if let Some(limit) = quality.user_timeout {
            self.unusual.user_timeout = Some(limit).filter(|limit| !limit.is_zero()).into();
            // RFC 5482 section 3: what the user sets, no peer changes.
            self.changeable = false;
            self.uto_due = true;
        }
        if let Some(most) = quality.retransmissions {
            self.retransmissions = most;
        }
        self.half_close = quality.half_close.unwrap_or(self.half_close);
        self.notices = quality.notices.unwrap_or(self.notices);
        // MUST-48, MUST-49, SHLD-21.
        let asked = IpQuality::from(quality.special);
        self.ttl = asked.ttl.unwrap_or(self.ttl);
        self.tos = asked.tos.map_or(self.tos, |tos| tos & DSCP);
    }

    /// Something is wrong on the way. It may pass, and is then why the connection ends only where nobody answers until
    /// that is given up (RFC 1122 section 4.2.3.9), as on Linux.
    pub(crate) fn note(&mut self, problem: Problem) {
        self.unusual.problem = Some(problem);
    }

    /// Whether the user knows that there is no answer, and is to be told of one.
    pub(crate) const fn has_told(&self) -> bool {
        self.told
    }

    /// USER_TIMEOUT: min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT)) where the peer has a say (RFC 5482 section 3.1).
    /// L_LIMIT must be larger than RTO.
    fn limit(&self, config: &Config, rtt: &Rtt) -> Option<Duration> {
        let (true, true, Some(remote)) = (config.user_timeout_option, self.changeable, self.unusual.remote.known())
        else {
            return self.unusual.user_timeout.known();
        };
        let (lower, upper) = (config.min_user_timeout, config.max_user_timeout);
        let adv = self.unusual.user_timeout.known().unwrap_or_default();
        Some(adv.max(remote).max(lower).min(upper).max(rtt.rto(&config.rto) * 2))
    }
}

/// The option that tells `limit`, in seconds where they fit and else in minutes; none for what cannot be told.
fn option(limit: Duration) -> Option<UserTimeout> {
    const MOST: u64 = 0x7fff;
    let seconds = limit.as_nanos().div_ceil(1_000_000_000);
    let (value, minutes) = if seconds <= MOST { (seconds, false) } else { (seconds.div_ceil(60).min(MOST), true) };
    let value = u16::try_from(value).ok().filter(|&value| value > 0)?;
    Some(UserTimeout { value, minutes })
}

/// What a SYN,ACK tells, before there is a connection.
pub(super) fn configured_option(config: &Config) -> Option<UserTimeout> {
    option(config.user_timeout.filter(|_| config.user_timeout_option)?)
}

impl Session {
    /// The user changes what it asked for, while the connection stands (MUST-21, MUST-24, SHLD-21).
    pub(crate) fn on_quality(&mut self, quality: &Quality, ctx: &mut Ctx<'_, '_>) {
        self.timeouts.choose(quality);
        self.buffers.choose(quality);
        if let Some(buffer) = quality.send_buffer {
            self.send.buffer = buffer;
        }
        if let Some(coalesce) = quality.coalesce {
            // MUST-17.
            self.send.coalesce = coalesce;
        }
        if let Some(buffer) = quality.receive_buffer {
            // What has been offered to the peer is not taken back (SHLD-14).
            self.receive.buffer = self.receive.buffer.max(buffer);
        }
        self.dirty = true;
        self.arm_keep_alive(ctx);
        self.arm_fin_wait_2(ctx);
        self.move_user_timeout(ctx);
    }

    /// Our FIN is acknowledged, or the user has closed the other way as well: the peer's FIN has so much time from now
    /// on.
    pub(super) fn arm_fin_wait_2(&mut self, ctx: &mut Ctx<'_, '_>) {
        let most = ctx.shared.config.fin_wait_2;
        let waits = self.state == State::FinWait2 && !self.timeouts.half_close;
        if waits && !most.is_zero() && !self.timers.is_set(Timer::FinWait2) {
            let at = self.slow(most, ctx);
            self.timers.set(Timer::FinWait2, at, ctx.cx);
        }
    }

    /// How segments travel; what the user said goes down unchanged (SHLD-22).
    pub(crate) const fn unit_options(&self) -> IpParameters {
        IpParameters {
            ttl: self.timeouts.ttl,
            tos: self.timeouts.tos,
            dont_fragment: !self.path.fragments,
            ..IpParameters::NONE
        }
    }

    /// A report that ends nothing (MUST-47).
    fn notify(&self, notice: Notice, ctx: &mut Ctx<'_, '_>) {
        if self.timeouts.notices && (self.accepted || !self.passive) {
            let session = self.user;
            self.up(Indication::Notice { session, notice }, ctx);
        }
    }

    // R1 and R2.

    /// A segment is about to be sent once more for want of an answer: false where it has been often enough, and the
    /// connection is over (MUST-20, MUST-22).
    pub(super) fn may_try_again(&mut self, ctx: &mut Ctx<'_, '_>) -> bool {
        let config = &ctx.shared.config;
        let most = if self.state.is_before_established() {
            config.syn_retries
        } else if self.timeouts.limit(config, &self.rtt).is_some() {
            u32::MAX
        } else {
            self.timeouts.retransmissions
        };
        let memory_is_spent = ctx.shared.memory.is_spent(ctx.shared.config.memory);
        let in_vain = memory_is_spent && ctx.now().saturating_since(self.timeouts.heard) >= SOON;
        if self.unanswered >= most || (in_vain && most < u32::MAX && !self.state.is_before_established()) {
            self.give_up(ctx);
            return false;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        if self.unanswered == ctx.shared.config.advise_after && !self.timeouts.told {
            // SHLD-9.
            self.timeouts.told = true;
            self.advise(false, ctx);
            self.notify(Notice::NoAnswer, ctx);
        }
        true
    }

    /// Nobody has answered for long enough: the user is told why, where that is known.
    pub(super) fn give_up(&mut self, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.timed_out += 1;
        let problem = self.timeouts.unusual.problem;
        let reason = problem.map_or(Reason::TimedOut, |problem| self.reason_of(problem));
        self.reset(Some(reason), ctx);
    }

    /// Why the connection ends that ends by `problem`.
    pub(super) fn reason_of(&self, problem: Problem) -> Reason {
        crate::reason_of(problem, self.pair.remote.ip()).unwrap_or(Reason::Unreachable(NoPath::Host))
    }

    /// The peer has answered: what was sent arrives.
    pub(super) fn answered(&mut self, ctx: &mut Ctx<'_, '_>) {
        self.unanswered = 0;
        if self.timeouts.unusual.problem.is_some() {
            self.timeouts.unusual.problem = None;
        }
        if core::mem::take(&mut self.timeouts.told) {
            self.advise(true, ctx);
            self.notify(Notice::Answered, ctx);
        }
    }

    /// Something new has been acknowledged: what is still waiting waits from now on.
    pub(super) const fn progressed(&mut self) {
        self.timeouts.waiting = OptionalTime::NONE;
        self.timers.clear(Timer::UserTimeout);
    }

    /// Advice for dead gateway detection (MUST-20, RFC 1122 section 3.3.1.4).
    fn advise(&self, answered: bool, ctx: &mut Ctx<'_, '_>) {
        let to = self.pair.remote.ip().into();
        let advice = Manage::Advise { to, answered };
        ctx.cx.down(Below(0), Request::Manage(Box::new(advice)));
    }

    /// The layer below says that something may be wrong on the way: the user is told, and told again where that is why
    /// nobody answers (SHLD-25, MUST-56), unless a call is to end by it (RFC 5461).
    pub(crate) fn on_soft_error(&mut self, problem: Problem, ctx: &mut Ctx<'_, '_>) {
        if ctx.shared.config.soft_errors_end_calls && self.state.is_before_established() {
            self.end(Some(self.reason_of(problem)), ctx);
            return;
        }
        self.timeouts.note(problem);
        self.notify(Notice::Problem(problem), ctx);
    }

    // The user timeout and its option.

    pub(super) fn arm_user_timeout(&mut self, ctx: &mut Ctx<'_, '_>) {
        if self.timers.is_set(Timer::UserTimeout) {
            return;
        }
        let now = ctx.now();
        let since = self.timeouts.waiting.get_or_insert(now);
        if let Some(limit) = self.user_timeout(ctx) {
            self.timers.set(Timer::UserTimeout, since + limit, ctx.cx);
        }
    }

    /// The limit in force; before the connection is synchronized only the configured one (RFC 5482 section 3.3).
    fn user_timeout(&self, ctx: &Ctx<'_, '_>) -> Option<Duration> {
        let config = &ctx.shared.config;
        if self.state.is_before_established() {
            return self.timeouts.unusual.user_timeout.known();
        }
        self.timeouts.limit(config, &self.rtt)
    }

    /// The limit may have changed while data waits.
    fn move_user_timeout(&mut self, ctx: &mut Ctx<'_, '_>) {
        let Some(since) = self.timeouts.waiting.known() else {
            return;
        };
        match self.user_timeout(ctx) {
            Some(limit) => self.timers.set(Timer::UserTimeout, since + limit, ctx.cx),
            None => self.timers.clear(Timer::UserTimeout),
        }
    }

    /// The option for a segment that has room for it, once for each new value (RFC 5482 section 3).
    pub(super) fn next_user_timeout(&mut self, ctx: &Ctx<'_, '_>, syn: bool) -> Option<UserTimeout> {
        if !ctx.shared.config.user_timeout_option || !self.timeouts.uto_due {
            return None;
        }
        // It goes with the SYN and again with the first segment after it.
        self.timeouts.uto_due = syn;
        option(self.timeouts.unusual.user_timeout.known()?)
    }

    /// Whether the next segment with room for it tells the user timeout.
    pub(super) const fn owes_user_timeout(&self, ctx: &Ctx<'_, '_>) -> bool {
        ctx.shared.config.user_timeout_option && self.timeouts.uto_due
    }

    /// The peer has told its user timeout. The reserved value of zero is ignored (RFC 5482 section 3.4).
    pub(super) fn take_user_timeout(&mut self, told: UserTimeout, ctx: &mut Ctx<'_, '_>) {
        if !ctx.shared.config.user_timeout_option || told.value == 0 {
            return;
        }
        let unit = if told.minutes { 60 } else { 1 };
        let remote = Duration::from_secs(u64::from(told.value) * unit);
        if self.timeouts.unusual.remote.known() == Some(remote) {
            return;
        }
        self.timeouts.unusual.remote = Some(remote).into();
        if self.timeouts.changeable {
            self.move_user_timeout(ctx);
        }
        self.notify(Notice::UserTimeout(remote), ctx);
    }

    // Keep-alive.

    pub(super) fn arm_keep_alive(&mut self, ctx: &mut Ctx<'_, '_>) {
        let idle = self.timeouts.unusual.keep_alive.idle;
        if idle.is_zero() || !self.state.may_idle() {
            self.timers.clear(Timer::KeepAlive);
            return;
        }
        let at = (self.timeouts.heard + idle).max(ctx.now());
        self.timers.set(Timer::KeepAlive, at, ctx.cx);
    }

    /// Asks an idle peer whether it is still there (MAY-5): nothing is in flight, and nothing has been heard for as
    /// long as the user said (MUST-26, MUST-27).
    pub(super) fn on_keep_alive_timer(&mut self, ctx: &mut Ctx<'_, '_>) {
        let KeepAlive { idle, interval, count } = self.timeouts.unusual.keep_alive;
        if idle.is_zero() || !self.state.may_idle() {
            return;
        }
        let silent = ctx.now().saturating_since(self.timeouts.heard);
        if !self.board.is_empty() || self.send.unsent() > 0 {
            // Who has something to send will find out by that.
            self.timeouts.unusual.probes = 0;
            self.timers.set(Timer::KeepAlive, ctx.now() + idle, ctx.cx);
            return;
        }
        if silent < idle {
            self.timeouts.unusual.probes = 0;
            self.arm_keep_alive(ctx);
            return;
        }
        // MUST-29: one probe without an answer means nothing.
        if self.timeouts.unusual.probes >= count.max(2) {
            self.give_up(ctx);
            return;
        }
        self.timeouts.unusual.probes += 1;
        ctx.shared.counters.keep_alives += 1;
        // SHLD-12: without data, from before the window, so that the peer must answer.
        let seq = self.board.nxt() - 1;
        self.emit(seq, Flags::ACK, Message::new(), ctx);
        let again = ctx.now() + interval.max(Duration::from_secs(1));
        self.timers.set(Timer::KeepAlive, again, ctx.cx);
    }
}

impl State {
    /// A connection in this state may be idle for ever.
    const fn may_idle(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait | Self::FinWait2)
    }
}
