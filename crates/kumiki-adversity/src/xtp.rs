//! What one end with XTP may do, by `docs/xtp.md`, judged from what it sends and what reaches it.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`; the items are named P1 and so on |
//! | Knows | the packets at the end's own plug, what its program has asked for, and what the end was configured for |
//! | Does not know | anything of the code under test |
//! | Left out | fragments of IP, beyond that they are there; which packet is retransmitted, and how fast: congestion control is free within what the peer allows |
//!
//! Where somebody makes packets up under the right keys (`path::liar`), what depends on what this end was told is not
//! judged: rules 2, 4 and 6, and what the peer allows.
//!
//! # The rules
//!
//! 1. *What is sent is well formed*: it says the same when it is read and written again, and its sums are right.
//! 2. *What is told does not move back*: `rseq` and `alloc` (P6); spans lie above `rseq`, in order and apart (P1); what
//!    is echoed has been asked (P4).
//! 3. *Data is what was written*: octets, messages and tags (P2, P27), and WCLOSE stands at the end (P31). It is within
//!    what the peer allows (P12).
//! 4. *Nobody waits for ever* ("stall"). Where anything is in flight or waits, and until the peer has said that it has
//!    it, something is retransmitted within WTIMER * 2^n, n being how often was asked without an answer (P20). WTIMER
//!    is at most what five times the longest round trip gives, within its bounds.
//! 5. *Nobody talks for ever* ("talk"). Where nothing goes on, there are not more control packets than data packets and
//!    milliseconds account for.
//! 6. *Whoever is asked and gives no answer is given up* ("timeout"): after CTIMEOUT (P20), and no time-out is twice as
//!    long.
//! 7. *A caller that may be another gets little* ("amplification"). Until a packet with this end's own key has come,
//!    what it sends is at most so many times what has come (P49). Who has sent so much is no stall of rule 4.

use std::collections::VecDeque;
use std::sync::Arc;

use kumiki_graph::{Duration, FlowControl, Instant};
use kumiki_octets::{Message, Pattern};
use kumiki_wire::xtp::{Control, Format, Header, Key, Options, Span};
use kumiki_xtp::Config;

use super::case::{Case, End, Opening, Stack};
use super::checker::Violation;
use super::judge::Evidence;
use super::tap::{Witness, xtp_of};
use super::user::Facts;
use kumiki_lab::workload::sink::first_wrong;
use read::{Body, DecodedPacket};

mod read;

/// So many questions are remembered, as many as a sender does.
const ASKED: usize = 64;
/// So many control packets need no reason, and one each millisecond more.
const SMALL_TALK: u64 = 400;
/// Octets of a TCNTL packet, with which a caller is asked that does not show yet that it has our key (P13).
const TCNTL: u64 = 88;
/// So many for each packet of data.
const PER_DATA: u64 = 3;
/// A rate makes a packet wait at the most so long.
const BY_RATE: Duration = Duration::from_secs(10);
/// Timers are exact; this is for what a batch puts off, and for the tail's question.
const SLACK: Duration = Duration::from_millis(1_500);
/// An end that has said nothing for so long has nothing to say: longer than two of the longest CTIMER and CTIMEOUT.
const QUIET: Duration = Duration::from_secs(700);

/// Of what went on last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Progress {
    /// The highest octets sent, told as expected, and heard to be expected.
    nxt: u64,
    rseq: u64,
    heard: u64,
    allowed: u64,
    handed: u64,
    releasing: bool,
}

/// The judge of one end; see the module.
#[derive(Debug)]
pub(super) struct XtpWitness {
    number: usize,
    stack: Stack,
    config: Config,
    /// What may be sent before the peer has said what it allows; without flow control any number.
    first_alloc: u64,
    ctimeout: Duration,
    gaps: bool,
    /// Somebody who knows the keys may tell this end what nobody sees here.
    lied_to: bool,
    pattern: Pattern,
    facts: Arc<Facts>,
    violation: Option<Violation>,
    hash: u64,
    packets: u64,
    damaged: u64,
    sent_at: Instant,
    /// The largest sync that came, and the largest that was sent.
    sync_came: Option<u32>,
    sync_sent: Option<u32>,
    /// `alloc` as told by this end, and by the peer.
    alloc_told: u64,
    allowed: Option<u64>,
    first_allowed_at: Option<Instant>,
    /// The largest sync that this end has echoed.
    echoed: u32,
    /// A call has come.
    called: bool,
    /// The first of two control packets has left.
    of_two: bool,
    progress: Progress,
    progress_at: Instant,
    controls: u64,
    datas: u64,
    /// Questions of this end and when they left, oldest first, and how many were asked since one was answered.
    asked: VecDeque<(u32, Instant)>,
    unanswered: u32,
    /// Since one was answered this end had to be silent: questions that may not leave double the wait as well, and are
    /// not seen (P49).
    withheld: bool,
    longest: Option<Duration>,
    rclose_came: bool,
    most_unanswered: u32,
    reset_sent: bool,
    reset_came: bool,
    /// It waits for a call, and nothing has shown yet that the caller hears it.
    stranger: Option<UnknownCaller>,
    /// Since when it may speak again to a caller of whom too little had come.
    may_speak_since: Instant,
}

/// What came of a caller that may be another, and what went back, in octets of packets.
#[derive(Clone, Copy, Debug, Default)]
struct UnknownCaller {
    /// At the most: all that came.
    came: u64,
    /// For sure: what came under the key of the call, beginning with its FIRST. Which FIRST that is nobody sees where
    /// one was refused, or nobody listened yet: at the latest it is the last one before this end says anything of the
    /// call.
    sure: u64,
    call: Option<Key>,
    went: u64,
}

impl UnknownCaller {
    fn came(&mut self, header: &Header) {
        let octets = octets(header);
        self.came += octets;
        if header.format == Format::First && self.went == 0 {
            (self.call, self.sure) = (Some(header.key), 0);
        }
        if self.call == Some(header.key) {
            self.sure += octets;
        }
    }
}

/// Octets of a packet with such a header.
fn octets(header: &Header) -> u64 {
    kumiki_wire::xtp::LEN as u64 + u64::from(header.dlen)
}

/// Whether number `a` is `b` or was given before it (P4).
const fn at_or_before(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) < 1 << 31
}

impl XtpWitness {
    pub(super) fn new(case: &Case, number: usize, config: &Config, pattern: Pattern, facts: &Arc<Facts>) -> Self {
        let end = case.ends.get(number);
        let flow = end.and_then(|it| it.quality.flow_control);
        let first_alloc = match flow.unwrap_or(config.flow_control) {
            FlowControl::None => u64::MAX,
            FlowControl::Reservation => 0,
            FlowControl::Window => config.first_alloc.into(),
        };
        let ctimeout = end.and_then(|it| it.quality.user_timeout);
        Self {
            number,
            stack: case.stack,
            config: config.clone(),
            first_alloc,
            ctimeout: ctimeout.unwrap_or(config.ctimeout),
            gaps: end.is_some_and(End::sends_without_error_control),
            lied_to: case.has_lies(),
            pattern,
            facts: Arc::clone(facts),
            violation: None,
            hash: 0xcbf2_9ce4_8422_2325,
            packets: 0,
            damaged: 0,
            sent_at: Instant::ZERO,
            sync_came: None,
            sync_sent: None,
            alloc_told: 0,
            allowed: None,
            first_allowed_at: None,
            echoed: 0,
            called: false,
            of_two: false,
            progress: Progress::default(),
            progress_at: Instant::ZERO,
            controls: 0,
            datas: 0,
            asked: VecDeque::new(),
            unanswered: 0,
            withheld: false,
            longest: None,
            rclose_came: false,
            most_unanswered: 0,
            reset_sent: false,
            reset_came: false,
            stranger: end
                .filter(|it| matches!(it.opening, Opening::Listens { .. }))
                // What is made up under our key shows it as well, and is not seen here.
                .filter(|_| config.amplification > 0 && !case.has_lies())
                .map(|_| UnknownCaller::default()),
            may_speak_since: Instant::ZERO,
        }
    }

    fn breaks(&mut self, at: Instant, rule: &'static str, what: String) {
        let end = self.number;
        self.violation.get_or_insert(Violation { at, end, rule, what });
    }

    fn mix(&mut self, word: u64) {
        // FNV-1a by words, and a turn so that high bits count.
        self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    fn note(&mut self, now: Instant, seen: &DecodedPacket, sent: bool) {
        let Header { key, options, sync, seq, check, .. } = seen.header;
        for word in [
            now.as_nanos() << 1 | u64::from(sent),
            key.0,
            seq,
            u64::from(sync) << 32 | u64::from(options.bits()),
            u64::from(check) << 32 | u64::from(seen.header.dlen),
        ] {
            self.mix(word);
        }
        self.packets += 1;
    }

    /// Whether the rules of a transfer hold for what crosses now.
    fn is_judged(&self) -> bool {
        self.violation.is_none() && self.facts.opened() && !self.facts.over()
    }

    /// Something may have gone on.
    fn look_for_progress(&mut self, now: Instant) {
        let progress = Progress {
            handed: self.facts.handed(),
            releasing: self.facts.releasing(),
            allowed: self.allowed.unwrap_or(0),
            ..self.progress
        };
        self.goes_on(now, progress);
    }

    fn goes_on(&mut self, now: Instant, progress: Progress) {
        if progress != self.progress {
            (self.progress, self.progress_at) = (progress, now);
            (self.controls, self.datas) = (0, 0);
        }
    }

    fn sent(&mut self, now: Instant, seen: &DecodedPacket) {
        self.note(now, seen, true);
        let header = seen.header;
        let both = Options::RCLOSE.with(Options::WCLOSE);
        let aborts = header.options.contains(Options::END) && !header.options.contains(both);
        self.reset_sent |= aborts || seen.diagnosis().is_some();
        self.sent_at = now;
        self.judge_amplification(now, seen);
        if let Some((control, _)) = seen.control() {
            self.tells(now, header, control);
        }
        if self.is_judged()
            && let Err(why) = self.judge_sent(now, seen)
        {
            self.breaks(now, "packet", format!("sent {header}: {why}"));
        }
        self.look_for_progress(now);
        match seen.body {
            Body::First { .. } | Body::Data { .. } => self.datas += 1,
            Body::Control { .. } | Body::Diag(_) => self.controls += 1,
        }
        let elapsed = now.saturating_since(self.progress_at).as_millis();
        let most = SMALL_TALK + elapsed + PER_DATA * self.datas;
        if self.controls > most {
            let (controls, since) = (self.controls, self.progress_at);
            let what = format!("{controls} control packets since {since}, when something went on last");
            self.breaks(now, "talk", what);
        }
        if header.options.contains(Options::SREQ) && seen.diagnosis().is_none() {
            self.unanswered += 1;
            self.most_unanswered = self.most_unanswered.max(self.unanswered);
            if self.asked.len() >= ASKED {
                self.asked.pop_front();
            }
            self.asked.push_back((header.sync, now));
        }
        if !header.options.contains(Options::END) && seen.diagnosis().is_none() {
            self.sync_sent = Some(header.sync);
        }
        self.withheld |= self.must_be_silent();
    }

    /// Rule 7. What refuses, and what is left of a context, answers one packet by one.
    fn judge_amplification(&mut self, now: Instant, seen: &DecodedPacket) {
        let answers = seen.diagnosis().is_some() || seen.header.options.contains(Options::END);
        let Some(stranger) = self.stranger.as_mut().filter(|_| !answers) else {
            return;
        };
        stranger.went += octets(&seen.header);
        let times = u64::from(self.config.amplification);
        let UnknownCaller { came, went, .. } = *stranger;
        if went > came.saturating_mul(times) {
            let what = format!("sent {went} octets to a caller of whom {came} have come (P49)");
            self.breaks(now, "amplification", what);
        }
    }

    /// Not even a question may go to a caller that may be another: it is the caller that must ask.
    fn must_be_silent(&self) -> bool {
        let times = u64::from(self.config.amplification);
        self.stranger.is_some_and(|it| it.sure.saturating_mul(times) < it.went.saturating_add(TCNTL))
    }

    /// A control packet of this end tells how far it is.
    fn tells(&mut self, now: Instant, header: Header, control: Control) {
        if header.options.contains(Options::END) {
            return;
        }
        let rseq = control.rseq.max(self.progress.rseq);
        self.goes_on(now, Progress { rseq, ..self.progress });
    }

    fn judge_sent(&mut self, now: Instant, seen: &DecodedPacket) -> Result<(), String> {
        let Header { options, sync, seq, .. } = seen.header;
        if seen.diagnosis().is_some() {
            return Ok(());
        }
        if let Some(before) = self.sync_sent {
            let next = before.wrapping_add(u32::from(options.contains(Options::SREQ)));
            // Of two control packets only the last one asks.
            let first = seen.header.format == Format::Ecntl && sync == next.wrapping_add(1);
            // What waits for ARP may be dropped before it gets here.
            let later = !self.stack.has_ip() && at_or_before(next, sync);
            if sync != next && !later && !first && !self.of_two && !options.contains(Options::END) {
                return Err(format!("sync {next} is next (P4)"));
            }
            self.of_two = first;
        }
        if let Some((control, spans)) = seen.control()
            && !self.lied_to
        {
            self.judge_control(control, spans)?;
        }
        let (text, tag) = match &seen.body {
            Body::Data { text, tag } => (text, *tag),
            Body::First { text } => (text, None),
            Body::Control { .. } | Body::Diag(_) => return self.judge_close(seen, seq),
        };
        let end = seq + text.len() as u64;
        let nxt = self.progress.nxt.max(end);
        self.goes_on(now, Progress { nxt, ..self.progress });
        if end > self.facts.handed() {
            return Err(format!("only {} octets are written", self.facts.handed()));
        }
        if let Some(position) = first_wrong(self.pattern, seq, text) {
            return Err(format!("octet {position} is not what was written"));
        }
        let (tags, ends) = self.facts.marks(seq, end);
        let told = tag.is_none_or(|tag| u64::from_be_bytes(tag) == seq);
        let empty = text.is_empty();
        if !(empty || tags.is(tag.is_some()) && told) {
            return Err(format!("its tag is {tag:02x?}, and written was: {tags:?} (P27)"));
        }
        if !empty && !ends.is(options.contains(Options::EOM)) {
            return Err(format!("messages end there: {ends:?} (P27)"));
        }
        let most = self.most_allowed(now);
        let is_bound = self.first_alloc != u64::MAX && seen.header.format == Format::Data;
        if is_bound && end > most && !self.lied_to {
            return Err(format!("octets before {most} are allowed (P12)"));
        }
        self.judge_close(seen, end)
    }

    /// What the peer allows: the largest `alloc` (P6), as soon as there is one.
    fn most_allowed(&self, now: Instant) -> u64 {
        let most = self.allowed.unwrap_or(self.first_alloc);
        // What came at this instant may still wait for its turn.
        let before = self.first_allowed_at.is_none_or(|it| it == now);
        if before { most.max(self.first_alloc) } else { most }
    }

    fn judge_close(&self, seen: &DecodedPacket, end: u64) -> Result<(), String> {
        let closes = seen.header.options.contains(Options::WCLOSE) && !seen.header.options.contains(Options::END);
        if closes && !(self.facts.releasing() && end == self.facts.handed()) {
            return Err(format!("the stream does not end at {end}: {} octets are written (P31)", self.facts.handed()));
        }
        Ok(())
    }

    fn judge_control(&mut self, control: Control, spans: &[Span]) -> Result<(), String> {
        let Control { rseq, alloc, echo } = control;
        if rseq < self.progress.rseq {
            return Err(format!("rseq {rseq} is less than was told before"));
        }
        if alloc < self.alloc_told {
            let before = self.alloc_told;
            return Err(format!("alloc {alloc} is less than {before}, told before (P6)"));
        }
        self.alloc_told = alloc;
        // What came at this instant may still wait for its turn.
        let came = self.sync_came.unwrap_or(0);
        if !at_or_before(echo, came) || !at_or_before(self.echoed, echo) {
            return Err(format!("echo {echo}, and the largest sync that came is {came} (P4)"));
        }
        self.echoed = echo;
        let mut before = rseq;
        for span in spans {
            if span.left <= before || span.right <= span.left {
                return Err(format!("the span {span:?} behind {before} (P1)"));
            }
            before = span.right;
        }
        Ok(())
    }

    fn arrived(&mut self, now: Instant, seen: &DecodedPacket) {
        self.look_at_clock(now);
        self.note(now, seen, false);
        let header = seen.header;
        let both = Options::RCLOSE.with(Options::WCLOSE);
        let aborts = header.options.contains(Options::END) && !header.options.contains(both);
        let ends = seen.diagnosis().is_some();
        // An end in order is one for a program only that has closed both ways.
        self.reset_came |= aborts || ends || header.options.contains(Options::END);
        if ends {
            return;
        }
        let was_silent = self.must_be_silent();
        if header.key.is_returned() {
            self.stranger = None;
        }
        if let Some(stranger) = &mut self.stranger {
            stranger.came(&header);
        }
        if was_silent && !self.must_be_silent() {
            self.may_speak_since = now;
        }
        if self.sync_came.is_none_or(|came| at_or_before(came, header.sync)) {
            self.sync_came = Some(header.sync);
        }
        if let Body::Data { .. } | Body::First { .. } = seen.body {
            self.datas += 1;
        }
        self.rclose_came |= header.options.contains(Options::RCLOSE);
        // Before a call nothing that comes has a context.
        self.called |= header.format == Format::First;
        if let Some((control, _)) = seen.control()
            && (self.called || self.facts.opened())
        {
            let most = self.allowed.map_or(control.alloc, |it| it.max(control.alloc));
            self.allowed = Some(most);
            self.first_allowed_at.get_or_insert(now);
            self.answered(now, control);
        }
        self.look_for_progress(now);
    }

    fn answered(&mut self, now: Instant, control: Control) {
        let heard = self.progress.heard.max(control.rseq);
        self.goes_on(now, Progress { heard, ..self.progress });
        while let Some((sync, at)) = self.asked.front().copied()
            && at_or_before(sync, control.echo)
        {
            self.asked.pop_front();
            (self.unanswered, self.withheld) = (0, false);
            if sync == control.echo {
                let trip = now.saturating_since(at);
                self.longest = self.longest.max(Some(trip));
            }
        }
    }

    /// Whether anything is in flight or waits.
    fn is_busy(&self) -> bool {
        if !self.facts.opened() || self.facts.over() {
            return false;
        }
        let known = if self.gaps { self.progress.nxt } else { self.progress.heard };
        self.facts.handed() > known || (self.facts.releasing() && !self.rclose_came)
    }

    /// WTIMER at the most, backed off.
    fn wait(&self) -> Duration {
        let rtt = &self.config.rtt;
        let shut = self.allowed.is_some_and(|it| it <= self.progress.nxt);
        // What was asked while ARP was is not seen here.
        if shut || self.withheld || !self.stack.has_ip() {
            return rtt.maximum.max(rtt.minimum);
        }
        let trip = self.longest.map_or(rtt.initial, |it| it * 5 + rtt.granularity);
        let factor = 1_u64 << self.unanswered.min(16);
        let once = trip.max(rtt.minimum);
        once.saturating_mul(factor).min(rtt.maximum.max(once))
    }

    fn look_at_clock(&mut self, now: Instant) {
        if self.violation.is_some() || self.lied_to || !self.is_busy() {
            return;
        }
        let since = self.sent_at.max(self.facts.said()).max(self.progress_at).max(self.may_speak_since);
        let deadline = since + self.wait() + BY_RATE + SLACK;
        if now > deadline && !self.must_be_silent() {
            let (handed, heard) = (self.facts.handed(), self.progress.heard);
            let what = format!(
                "nothing was sent since {since}: {handed} octets are written, {} sent, {:?} allowed, the peer has {heard}, and {} questions have no answer",
                self.progress.nxt, self.allowed, self.unanswered
            );
            self.breaks(deadline, "stall", what);
            return;
        }
        let limit = self.ctimeout * 2 + self.config.rtt.maximum + SLACK;
        if !self.ctimeout.is_zero()
            && let Some((_, asked)) = self.asked.front()
            && now > *asked + limit
        {
            let what = format!("asked at {asked} and heard nothing: it should have been given up (P20)");
            self.breaks(*asked + limit, "timeout", what);
        }
    }
}

impl Witness for XtpWitness {
    fn pdu(&mut self, now: Instant, data: &Message, sent: bool) {
        self.look_at_clock(now);
        match (xtp_of(data, self.stack), sent) {
            (Ok(Some(packet)), true) => match read::read(&packet, true) {
                Ok(seen) => self.sent(now, &seen),
                Err(why) => {
                    self.breaks(now, "malformed", format!("sent something malformed: {why}"));
                }
            },
            (Ok(Some(packet)), false) => match read::read(&packet, false) {
                Ok(seen) => self.arrived(now, &seen),
                Err(_) => self.damaged += 1,
            },
            (Ok(None), _) => {
                if sent {
                    self.sent_at = now;
                }
                self.mix(now.as_nanos());
                self.mix(data.len() as u64);
            }
            (Err(why), true) => {
                self.breaks(now, "malformed", format!("sent something malformed: {why}"));
            }
            (Err(_), false) => {
                self.damaged += 1;
                self.mix(now.as_nanos());
            }
        }
    }

    fn is_broken(&self) -> bool {
        self.violation.is_some()
    }

    fn last(&self) -> Instant {
        self.progress_at
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn has_something_to_say(&mut self, now: Instant) -> bool {
        self.look_at_clock(now);
        now < self.progress_at + QUIET
    }

    fn evidence(&mut self, now: Instant) -> Evidence {
        self.look_at_clock(now);
        Evidence {
            broken: self.violation.clone(),
            in_vain: self.most_unanswered,
            reset_sent: self.reset_sent,
            reset_came: self.reset_came,
            packets: self.packets,
            damaged: self.damaged,
            hash: self.hash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(stranger: &mut UnknownCaller, key: u64, format: Format, dlen: u32) {
        stranger.came(&Header { key: Key(key), format, dlen, ..Header::default() });
    }

    #[test]
    fn for_sure_only_what_comes_behind_the_first_of_a_call_counts() {
        let mut stranger = UnknownCaller::default();
        // It has overtaken its FIRST, which is refused; the next one is not.
        came(&mut stranger, 7, Format::Data, 1000);
        came(&mut stranger, 7, Format::First, 40);
        came(&mut stranger, 7, Format::Data, 1000);
        came(&mut stranger, 7, Format::First, 40);
        assert_eq!((stranger.came, stranger.sure), (2208, 72));
        stranger.went = 88;
        came(&mut stranger, 7, Format::First, 40);
        came(&mut stranger, 7, Format::Data, 100);
        came(&mut stranger, 8, Format::Cntl, 20);
        assert_eq!((stranger.came, stranger.sure), (2464, 276));
    }
}
