//! What reaches an end: what it must take notice of, acknowledge and answer.

use kumiki_graph::Instant;
use kumiki_wire::inet::tcp::{Flags, Header, Seq};

use super::space::{Receiving, Sending, position};
use super::waits::AckTiming;
use super::{ANSWER, Checker};
use crate::tap::TappedSegment;

/// What the end must make of a segment, but for its timestamp: RFC 9293 section 3.10.7.4, RFC 7323 section 5.3.
struct Acceptability {
    acceptable: bool,
    /// Acceptable, perhaps, by what of the end is not seen yet.
    near: bool,
    /// It may have been kept already.
    stale: bool,
    /// Its acknowledgment may say something new.
    plausible: bool,
    /// Its acknowledgment is no reason to refuse its text.
    credible: bool,
}

impl Acceptability {
    /// Of one that occupies `start` to `end` and acknowledges what is below `ack`. Up to `had` the end may have had all
    /// before it.
    fn of(
        (start, end, ack): (i64, i64, i64),
        had: i64,
        (sending, receiving): (&Sending, &Receiving),
        own_shift: u32,
        now: Instant,
    ) -> Self {
        let expected = receiving.must.max(receiving.acked);
        let window = receiving.edge - expected;
        let within = |at: i64| expected <= at && at < receiving.edge;
        let acceptable = match (end > start, window > 0) {
            (false, false) => start == expected,
            (false, true) => within(start),
            (true, false) => start == expected,
            (true, true) => within(start) || within(end - 1),
        };
        // RCV.WND has up to one unit of the scale, less one octet, more than the end could say (RFC 7323 section 2.3:
        // SEG.WND = RCV.WND >> Rcv.Wind.Shift), and what is acceptable goes by RCV.WND.
        let within_unit = expected <= start && start < receiving.edge + (1 << own_shift) - 1;
        // What came ahead of its turn, or as a probe of the closed window, may have been kept or not, so that RCV.NXT
        // is not known until the end tells of it: it is at `had` at the most, or after this segment at what has come
        // now.
        let stale = expected <= start && start < had && end <= had;
        // Nor is the edge, where something was taken in this instant: the answer that moves it is seen later.
        let next = expected <= start && (start <= receiving.nxt || receiving.took_at == Some(now));
        let plausible = ack >= sending.una.max(1) && ack <= sending.max;
        // An old acknowledgment says nothing, but the text with it counts (RFC 9293 section 3.10.7.4; RFC 5961 section
        // 5.2 sets the bound).
        let outdated = ack < sending.una && ack >= (sending.una - sending.most_window).max(1);
        Self { acceptable, near: within_unit || next, stale, plausible, credible: plausible || outdated }
    }
}

impl Checker {
    /// An intact segment has reached the end.
    pub(crate) fn arrived(&mut self, now: Instant, seen: &TappedSegment) {
        self.look_at_clock(now);
        self.mix_segment(now, seen, false);
        if let Some(sending) = &mut self.sending {
            sending.unanswered = 0;
            sending.active = now;
        }
        let flags = seen.header.flags;
        if flags.contains(Flags::RST) {
            self.reset_came = true;
            self.reset_at = Some(now);
            self.doubtful |= self.passive && !self.facts.opened();
        } else if flags.contains(Flags::SYN) {
            self.syn_arrived(now, &seen.header);
        } else if flags.contains(Flags::ACK) {
            self.segment_arrived(now, seen);
        }
    }

    fn syn_arrived(&mut self, now: Instant, header: &Header) {
        let caller = (header.seq, header.options, header.window);
        let answer = header.flags.contains(Flags::ACK);
        match (&self.sending, &self.receiving) {
            (Some(sending), None) if !answer || position(header.ack, sending.iss) == 1 => {
                self.meet(header.seq, header.options, header.window);
            }
            (None, _) if !answer => self.callers.push(caller),
            (Some(_), _) if !answer && self.passive && !self.facts.opened() => {
                self.callers.push(caller);
            }
            _ => {}
        }
        self.doubt_answer();
        let Some(receiving) = &mut self.receiving else {
            return;
        };
        if answer && receiving.irs == header.seq && !self.facts.over() {
            if receiving.acked < 1 {
                receiving.owe(now);
            }
            if let Some(sending) = &mut self.sending
                && position(header.ack, sending.iss) == 1
            {
                let echo = header.options.timestamps.map(|(_, echo)| echo);
                let bounds = &self.bounds;
                let opens = sending.una < 1;
                sending.acknowledged(now, 1, echo, bounds);
                if opens {
                    // The window of a SYN is not scaled. One that comes again says nothing (RFC 5961 section 4.2).
                    sending.last_edge = 1 + i64::from(header.window);
                }
            }
        }
    }

    /// A SYN that came more than once may have been answered more than once before the answer that is seen here, which
    /// then is no measure for the end (Karn's rule).
    pub(super) fn doubt_answer(&mut self) {
        let (Some(sending), Some(receiving)) = (&mut self.sending, &self.receiving) else {
            return;
        };
        let same = self.callers.iter().filter(|it| it.0 == receiving.irs);
        if self.passive && same.count() > 1 {
            for flight in sending.flights.iter_mut().filter(|it| it.start == 0) {
                flight.forgotten = true;
            }
        }
    }

    fn segment_arrived(&mut self, now: Instant, seen: &TappedSegment) {
        let (has_timestamps, sack) = (self.has_timestamps(), self.has_sack());
        let (own_shift, shift) = self.shifts();
        let (Some(sending), Some(receiving)) = (&mut self.sending, &mut self.receiving) else {
            return;
        };
        let header = &seen.header;
        let fin = header.flags.contains(Flags::FIN);
        let text = i64::try_from(seen.text.len()).unwrap_or(i64::MAX);
        let start = position(header.seq, receiving.irs);
        let end = start + text + i64::from(fin);
        let ack = position(header.ack, sending.iss);
        let edge = ack + (i64::from(header.window) << shift);
        // What may ever be acknowledged, and what the peer may ever have said: of all that is intact.
        let had = receiving.known.unwrap_or(receiving.nxt);
        receiving.take(start, end);
        if end > start {
            (receiving.known, receiving.came_at) = (None, now);
        }
        sending.edge = sending.edge.max(edge);
        if ack > sending.heard.0 && ack <= sending.max {
            sending.heard = (ack, now);
        }
        if let Some((value, _)) = header.options.timestamps {
            let newest = receiving.ts_newest.get_or_insert(value);
            if Seq(value).gt(Seq(*newest)) {
                *newest = value;
            }
        }
        if has_timestamps && header.options.timestamps.is_none() {
            return;
        }
        let expected = receiving.must.max(receiving.acked);
        let standing = Acceptability::of((start, end, ack), had, (sending, receiving), own_shift, now);
        let Acceptability { acceptable, near, stale, plausible, credible } = standing;
        let recent = header.options.timestamps.zip(receiving.ts_recent);
        let old = has_timestamps && recent.is_some_and(|((value, _), recent)| Seq(value).lt(Seq(recent)));
        let over = self.facts.over();
        // Of many copies not each must be answered, nor anything that PAWS refuses (RFC 5961 section 7).
        let lately = |at: Instant| now.saturating_since(at) <= ANSWER;
        let spared = !acceptable && receiving.up_to_date.is_some_and(lately);
        // Where nothing is kept of a call, what comes ahead of its turn is not known to belong to one.
        let kept = !(self.passive && self.bounds.cookies) || self.facts.opened();
        let known = kept || start <= expected;
        if text > 0 && !over && credible && !old && !spared && known {
            receiving.owe(now);
        }
        let echo = header.options.timestamps.map(|(_, echo)| echo);
        if plausible && (old || !acceptable || stale) {
            sending.perhaps_edge(edge);
        }
        if !old && plausible && (stale || (!acceptable && near)) {
            sending.perhaps_acknowledged(now, ack, echo, &self.bounds);
            sending.perhaps_marked(now, &self.bounds, sack);
        }
        if old || !acceptable || !credible {
            return;
        }
        if has_timestamps
            && let Some((value, _)) = header.options.timestamps
            && start <= receiving.acked
        {
            receiving.ts_recent = Some(value);
        }
        if plausible && !stale {
            self.take_ack(now, header, (start, end), shift);
        }
        let Some(receiving) = &mut self.receiving else {
            return;
        };
        if start <= expected && end > expected && !over {
            // A FIN needs no room.
            let most = receiving.edge.max(expected) + i64::from(fin && start + text <= receiving.edge);
            let must = end.min(most);
            if must > receiving.must {
                receiving.must = must;
                receiving.took_at = Some(now);
                receiving.owe(now);
            }
        }
    }

    /// The end takes notice of the acknowledgment and the window of a segment that occupies `start` to `end`; the
    /// peer's windows are in units of 2^`shift`.
    fn take_ack(&mut self, now: Instant, header: &Header, (start, end): (i64, i64), shift: u32) {
        let has_sack = self.has_sack();
        let Some(sending) = &mut self.sending else {
            return;
        };
        let ack = position(header.ack, sending.iss);
        let edge = ack + (i64::from(header.window) << shift);
        let echo = header.options.timestamps.map(|(_, echo)| echo);
        let una = sending.una;
        let bounds = &self.bounds;
        // The timer may be the one before this acknowledgment's sample or the one after it.
        sending.perhaps_marked(now, bounds, has_sack);
        sending.acknowledged(now, ack, echo, bounds);
        sending.perhaps_marked(now, bounds, has_sack);
        let mut sack: Option<(i64, i64, i64)> = None;
        for block in header.options.sack.as_slice() {
            let (left, right) = (position(block.left, sending.iss), position(block.right, sending.iss));
            sending.reported(now, (left, right), bounds);
            let (least, low, high) = sack.unwrap_or((left, right, right));
            sack = Some((least.min(left), low.min(right), high.max(right)));
        }
        let same = edge == sending.last_edge;
        if let Some(clock) = sending.clock.take() {
            let duplicate = ack == una && end == start && same;
            let tick = AckTiming { ack, una, duplicate, echo, sack };
            sending.clock = clock.on_ack(now, &tick);
        }
        let (wl1, wl2) = sending.wl;
        if wl1 < start || (wl1 == start && wl2 <= ack) || wl2 < ack {
            // Our TCP takes any that acknowledges more; by RFC 9293 it would have to be newer by its sequence number.
            sending.wl = (wl1.max(start), ack);
            let opens = edge > sending.una && sending.last_edge <= sending.una;
            let shuts = edge <= sending.una && sending.last_edge > sending.una;
            if shuts && sending.probed == Some(sending.una) {
                // What was probed waits for a new probe of the window.
                sending.head_at = now;
            }
            if !same {
                sending.changed = now;
            }
            sending.move_edge(now, edge);
            if opens {
                sending.probes = 0;
                if sending.max - sending.una == 1 {
                    // What was a probe may now be sent as anything else.
                    sending.head_at = now;
                }
            }
        }
        if edge > sending.sure_edge {
            if sending.una >= sending.sure_edge {
                // What was a probe may now be sent as anything else.
                sending.head_at = now;
                sending.again = 0;
            }
            sending.sure_edge = edge;
            sending.changed = now;
        } else if edge + (1 << shift) > sending.sure_edge {
            // Rounding in the units of a scaled window (RFC 7323 section 2.4).
            sending.sure_edge = edge;
        }
    }
}
