//! What the algorithms share: cwnd, ssthresh and slow start.

use super::hystart::{Growth, HyStart};
use super::{Acked, Config, InitialWindow};

/// cwnd and ssthresh, in octets.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) config: Config,
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// The rule that cwnd comes from, until the first ACK.
    initial: Option<InitialWindow>,
    /// Slow start is the recovery from a time-out.
    after_timeout: bool,
    /// cwnd and ssthresh before a reduction that may be undone.
    saved: Option<Box<(u64, u64)>>,
    /// Until the first slow start is over, where that is asked for.
    hystart: Option<HyStart>,
}

impl Window {
    pub(super) fn new(config: Config) -> Self {
        let config = Config { smss: config.smss.max(1), ..config };
        Self {
            cwnd: config.initial_window.octets(config.smss),
            ssthresh: u64::MAX,
            initial: Some(config.initial_window),
            after_timeout: false,
            saved: None,
            hystart: config.hystart.then(HyStart::default),
            config,
        }
    }

    pub(super) fn smss(&self) -> u64 {
        u64::from(self.config.smss)
    }

    /// Before the first ACK the initial window is found again, since RFC 5681 section 3.1 wants it reduced where SMSS
    /// turns out to be smaller. Later neither cwnd nor ssthresh stays below what RFC 5681 lets them come down to: a
    /// window of less than a segment would never let anything go.
    pub(super) fn set_smss(&mut self, smss: u32) {
        self.config.smss = smss.max(1);
        self.ssthresh = self.ssthresh.max(2 * self.smss());
        self.cwnd = match self.initial {
            Some(rule) => rule.octets(self.config.smss),
            None => self.cwnd.max(self.smss()),
        };
    }

    /// Takes an ACK in slow start (RFC 9293 MUST-19); false where it belongs to congestion avoidance, or nothing may
    /// grow.
    pub(super) fn slow_start(&mut self, ack: &Acked) -> bool {
        self.initial = None;
        if self.cwnd >= self.ssthresh {
            self.after_timeout = false;
            return false;
        }
        if self.ssthresh == u64::MAX
            && let Some(hystart) = &mut self.hystart
        {
            let Growth { octets, leave } = hystart.on_ack(ack, self.config.smss.into(), self.config.paced);
            if ack.window_limited {
                self.cwnd = self.cwnd.saturating_add(octets);
            }
            if leave {
                self.ssthresh = self.cwnd;
            }
            return true;
        }
        if ack.window_limited {
            // An ACK after a time-out may cover what arrived long ago (RFC 3465 section 2.3).
            let limit = if self.after_timeout { 1 } else { self.config.slow_start_limit.max(1) };
            let most = self.smss().saturating_mul(u64::from(limit));
            self.cwnd = self.cwnd.saturating_add(ack.octets.min(most));
        }
        true
    }

    /// The window becomes `ssthresh`, or two segments if that is more.
    pub(super) fn reduce(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh.max(2 * self.smss());
        self.cwnd = self.ssthresh;
        self.initial = None;
        self.after_timeout = false;
    }

    /// A congestion mark: ssthresh as after a loss, but the window goes on down to one segment, as RFC 3168 section
    /// 6.1.2 has it; `kept`, in per cent, of what it was.
    pub(super) fn reduce_for_mark(&mut self, ssthresh: u64, kept: u64) {
        let target = self.cwnd.saturating_mul(kept) / 100;
        self.reduce(ssthresh);
        self.cwnd = self.ssthresh.min(target.max(self.smss()));
    }

    /// Whether a congestion mark is answered by RFC 8511: only in congestion avoidance (its section 4).
    pub(super) const fn has_own_factor(&self) -> bool {
        self.config.abe && self.cwnd >= self.ssthresh
    }

    /// The end of fast recovery: RFC 6582 section 3.2 step 3, option 1, which lets slow start fill the window where
    /// little is outstanding, rather than a burst.
    pub(super) fn deflate(&mut self, flight: u64) {
        let smss = self.smss();
        self.cwnd = self.ssthresh.min(flight.max(smss).saturating_add(smss));
    }

    /// The window becomes one segment (RFC 5681 section 3.1), whatever ssthresh is.
    pub(super) fn collapse(&mut self) {
        self.cwnd = self.smss();
        self.initial = None;
        self.after_timeout = true;
    }

    /// RFC 4015 section 3.2: what is a safe ssthresh before the reduction (pipe_prev).
    pub(super) fn save(&mut self, flight: u64) {
        let safe = if self.cwnd < self.ssthresh { self.ssthresh } else { flight.min(self.cwnd).max(2 * self.smss()) };
        self.saved = Some(Box::new((self.cwnd, safe)));
    }

    /// Whether there was something to undo.
    pub(super) fn undo(&mut self, cwnd: u64) -> bool {
        let Some((was, safe)) = self.saved.take().map(|saved| *saved) else {
            return false;
        };
        self.cwnd = self.cwnd.max(was.min(cwnd));
        self.ssthresh = self.ssthresh.max(safe);
        self.after_timeout = false;
        true
    }

    /// RW = min(IW, cwnd) (RFC 5681 section 4.1).
    pub(super) fn restart(&mut self) {
        let initial = self.config.initial_window.octets(self.config.smss);
        self.cwnd = self.cwnd.min(initial);
    }

    pub(super) fn syn_lost(&mut self) {
        let rule = InitialWindow::Segments(1);
        self.initial = Some(rule);
        self.cwnd = rule.octets(self.config.smss);
    }
}
