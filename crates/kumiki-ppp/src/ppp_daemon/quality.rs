//! Reports of what the line loses (RFC 1989), and echoes that show whether the peer is there (RFC 1661 section 5.8).
//!
//! The counters of packets and octets are the driver's ([`crate::ppp`]): it fills in those of a report that passes on
//! its way out, and appends its own to one that comes in.

use std::collections::VecDeque;

use kumiki_graph::Duration;
use kumiki_wire::ppp::ppp::lqr::{LEN, Report};
use kumiki_wire::ppp::ppp::{lcp, protocol};

use super::config::{self, Config};
use super::log::{End, Kind};
use super::machine::{Actions, MachineAction, Timer, packet};
use crate::ppp::Arrival;

/// What a report says was lost in one direction since the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loss {
    /// Packets sent.
    pub sent: u32,
    /// Packets of them that did not arrive.
    pub lost: u32,
}

impl Loss {
    /// From what each end has counted since; a packet on its way between two countings can make more arrive than were
    /// sent.
    const fn of(sent: u32, arrived: u32) -> Self {
        let lost = sent.saturating_sub(arrived);
        Self { sent, lost }
    }

    const fn is_within(self, percent: u32) -> bool {
        self.lost as u64 * 100 <= self.sent as u64 * percent as u64
    }
}

impl core::fmt::Display for Loss {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { sent, lost } = self;
        let tenths = (u64::from(*lost) * 1000).checked_div((*sent).into()).unwrap_or(0);
        write!(f, "{lost} of {sent} ({}.{} %)", tenths / 10, tenths % 10)
    }
}

/// A report that came, and what our driver had counted by then.
#[derive(Clone, Copy, Debug)]
struct ReceivedReport {
    report: Report,
    arrival: Arrival,
    in_lqrs: u32,
}

/// Link quality monitoring.
#[derive(Debug)]
pub(super) struct Quality {
    config: config::Quality,
    /// How often we send; `None`: not at all; zero: only as an answer.
    period: Option<Duration>,
    /// How often the peer must.
    expected: Option<Duration>,
    out_lqrs: u32,
    in_lqrs: u32,
    last: Option<ReceivedReport>,
    /// Reports since the last period ended.
    came: u32,
    /// Whether what came in this period was good.
    is_good: bool,
    periods: VecDeque<bool>,
    /// What was lost last: of ours, and of the peer's.
    losses: Option<(Loss, Loss)>,
}

impl Quality {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            config: config.quality,
            period: None,
            expected: None,
            out_lqrs: 0,
            in_lqrs: 0,
            last: None,
            came: 0,
            is_good: true,
            periods: VecDeque::new(),
            losses: None,
        }
    }

    /// What was lost between the last two reports: of what we sent, and of what the peer sent.
    pub(super) const fn losses(&self) -> Option<(Loss, Loss)> {
        self.losses
    }

    /// LCP is Opened: the peer wants reports every `ours` hundredths of a second, and sends one every `theirs`.
    pub(super) fn begin(&mut self, ours: Option<u32>, theirs: Option<u32>, acts: &mut Actions) {
        let time = |hundredths: u32| Duration::from_millis(10) * u64::from(hundredths);
        self.period = ours.map(time);
        self.expected = theirs.map(time);
        (self.out_lqrs, self.in_lqrs, self.last) = (0, 0, None);
        (self.came, self.is_good, self.losses) = (0, true, None);
        self.periods.clear();
        if let Some(period) = self.period.filter(|period| !period.is_zero()) {
            acts.push(MachineAction::Arm(Timer::Report, period));
        }
        if let Some(expected) = self.expected {
            acts.push(MachineAction::Arm(Timer::Expect, report_timeout(expected)));
        }
    }

    pub(super) fn end(&mut self, acts: &mut Actions) {
        (self.period, self.expected) = (None, None);
        acts.extend([MachineAction::Disarm(Timer::Report), MachineAction::Disarm(Timer::Expect)]);
    }

    /// RFC 1989 section 2.7: the peer does not know reports, so none are sent.
    pub(super) fn stop_sending(&mut self, acts: &mut Actions) {
        self.period = None;
        acts.push(MachineAction::Disarm(Timer::Report));
    }

    /// The time for our next report has come.
    pub(super) fn send(&mut self, magic: u32, acts: &mut Actions) {
        let Some(period) = self.period else {
            return;
        };
        self.out_lqrs = self.out_lqrs.wrapping_add(1);
        let heard = self.last;
        let last = heard.map(|heard| heard.report).unwrap_or_default();
        let arrival = heard.map(|heard| heard.arrival).unwrap_or_default();
        let report = Report {
            magic,
            last_out_lqrs: last.peer_out_lqrs,
            last_out_packets: last.peer_out_packets,
            last_out_octets: last.peer_out_octets,
            peer_in_lqrs: heard.map_or(0, |heard| heard.in_lqrs),
            peer_in_packets: arrival.packets,
            peer_in_discards: arrival.discards,
            peer_in_errors: arrival.errors,
            peer_in_octets: arrival.octets,
            peer_out_lqrs: self.out_lqrs,
            // The driver's.
            peer_out_packets: 0,
            peer_out_octets: 0,
        };
        let mut information = vec![0; LEN];
        report.emit(&mut information);
        acts.push(MachineAction::Send { protocol: protocol::LQR, information });
        if !period.is_zero() {
            acts.push(MachineAction::Arm(Timer::Report, period));
        }
    }

    /// A report came.
    pub(super) fn hear(&mut self, report: Report, arrival: Arrival, magic: u32, acts: &mut Actions) {
        self.in_lqrs = self.in_lqrs.wrapping_add(1);
        self.came = self.came.saturating_add(1);
        let now = ReceivedReport { report, arrival, in_lqrs: self.in_lqrs };
        let before = self.last.replace(now);
        if let Some(before) = before {
            self.compare(&before, &now, acts);
        }
        // RFC 1989 section 2.7: an answer where there is no timer, and where the peer seems to have missed one.
        let missed = before.is_some_and(|before| before.report.peer_in_lqrs == report.peer_in_lqrs);
        if self.period.is_some_and(Duration::is_zero) || missed {
            self.send(magic, acts);
        }
    }

    /// RFC 1989 section 2.8.
    fn compare(&mut self, before: &ReceivedReport, now: &ReceivedReport, acts: &mut Actions) {
        let (old, new) = (&before.report, &now.report);
        let theirs = Loss::of(
            new.peer_out_packets.wrapping_sub(old.peer_out_packets),
            now.arrival.packets.wrapping_sub(before.arrival.packets),
        );
        // Zero: what the peer says it has received says nothing yet.
        let ours = if old.peer_in_lqrs == 0 {
            Loss::default()
        } else {
            Loss::of(
                new.last_out_packets.wrapping_sub(old.last_out_packets),
                new.peer_in_packets.wrapping_sub(old.peer_in_packets),
            )
        };
        self.losses = Some((ours, theirs));
        let most = self.config.loss_percent;
        if !ours.is_within(most) || !theirs.is_within(most) {
            self.is_good = false;
        }
        let text = format!("link quality: lost {ours} of our packets, {theirs} of the peer's");
        acts.push(MachineAction::Say(Kind::Note, text));
    }

    /// A period in which the peer should have sent a report is over.
    pub(super) fn judge(&mut self, acts: &mut Actions) {
        let Some(expected) = self.expected else {
            return;
        };
        acts.push(MachineAction::Arm(Timer::Expect, report_timeout(expected)));
        let came = core::mem::take(&mut self.came);
        let is_good = core::mem::replace(&mut self.is_good, true) && came > 0;
        if came == 0 {
            let text = "link quality: no report came in time".to_owned();
            acts.push(MachineAction::Say(Kind::Note, text));
        }
        let config::Quality { good, of, .. } = self.config;
        self.periods.push_back(is_good);
        while self.periods.len() > of as usize {
            self.periods.pop_front();
        }
        if self.periods.len() < of as usize {
            return;
        }
        let count = self.periods.iter().filter(|good| **good).count();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        if count < good {
            let end = End::Quality { good: count, of };
            acts.push(MachineAction::Fail(protocol::LCP, end));
        }
    }
}

/// A report on its way takes a while: half a period more.
fn report_timeout(period: Duration) -> Duration {
    period + period / 2
}

/// Echoes at intervals.
#[derive(Debug)]
pub(super) struct Echo {
    interval: Option<Duration>,
    failure: u32,
    identifier: u8,
    /// Sent since the last answer.
    waiting: u32,
}

impl Echo {
    pub(super) const fn new(config: &Config) -> Self {
        Self { interval: config.echo_interval, failure: config.echo_failure, identifier: 0, waiting: 0 }
    }

    pub(super) fn begin(&mut self, acts: &mut Actions) {
        self.waiting = 0;
        if let Some(interval) = self.interval {
            acts.push(MachineAction::Arm(Timer::Echo, interval));
        }
    }

    pub(super) fn end(acts: &mut Actions) {
        acts.push(MachineAction::Disarm(Timer::Echo));
    }

    /// An answer has come; whether it is one, to one of the requests that wait: then the peer is there.
    pub(super) fn answered(&mut self, identifier: u8) -> bool {
        let age = self.identifier.wrapping_sub(identifier);
        let is_answer = u32::from(age) < self.waiting;
        if is_answer {
            self.waiting = 0;
        }
        is_answer
    }

    pub(super) fn expire(&mut self, magic: u32, acts: &mut Actions) {
        let Some(interval) = self.interval else {
            return;
        };
        if self.failure > 0 && self.waiting >= self.failure {
            let requests = self.waiting;
            acts.push(MachineAction::Fail(protocol::LCP, End::NoEcho { requests }));
            return;
        }
        self.waiting = self.waiting.saturating_add(1);
        self.identifier = self.identifier.wrapping_add(1);
        let body = lcp::Body::Echo { magic, data: &[] };
        acts.push(send_body(kumiki_wire::ppp::ppp::control::code::ECHO_REQUEST, self.identifier, &body));
        acts.push(MachineAction::Arm(Timer::Echo, interval));
    }
}

/// A packet that only LCP has.
pub(super) fn send_body(code: u8, identifier: u8, body: &lcp::Body<'_>) -> MachineAction {
    let mut data = vec![0; body.len()];
    body.emit(&mut data);
    MachineAction::Send { protocol: protocol::LCP, information: packet(code, identifier, &data) }
}
