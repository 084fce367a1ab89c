//! What an end sends: every field against the standard and against what has reached the end.

use std::collections::{BTreeMap, VecDeque};

use kumiki_graph::Instant;
use kumiki_wire::inet::tcp::{Flags, Header, Options, Seq};

use super::Checker;
use super::space::{Probe, Receiving, Sending, position};
use crate::case::Version;
use crate::tap::TappedSegment;
use kumiki_lab::workload::sink::first_wrong;

impl Checker {
    /// The end has sent a segment.
    pub(crate) fn sent(&mut self, now: Instant, seen: &TappedSegment) {
        self.look_at_clock(now);
        self.mix_segment(now, seen, true);
        let Header { flags, .. } = seen.header;
        let (own, peer) = (self.version.address(self.end), self.version.address(1 - self.end));
        if (seen.source, seen.destination) != (own, peer) {
            self.breaks(now, "malformed", || "sent to or from a stranger".to_owned());
        }
        if seen.datagram > self.bounds.mtu {
            let len = seen.datagram;
            self.breaks(now, "too long", || format!("a datagram of {len} octets"));
        }
        if flags.contains(Flags::SYN) && flags.intersects(Flags::FIN.with(Flags::RST)) {
            self.breaks(now, "malformed", || format!("flags {flags}"));
        }
        if flags.contains(Flags::RST) {
            self.sent_reset(now, seen);
            return;
        }
        // What was owed before a reset of the same instant may be sent after it was seen here.
        self.doubtful &= self.reset_at == Some(now);
        if flags.contains(Flags::SYN) {
            self.sent_syn(now, seen);
            return;
        }
        let options = &seen.header.options;
        if options.mss.is_some() || options.window_scale.is_some() || options.sack_permitted {
            self.breaks(now, "options", || format!("{options} outside of a SYN (MUST-65)"));
        }
        if !flags.contains(Flags::ACK) {
            self.breaks(now, "malformed", || format!("{flags} without ACK"));
        }
        if self.sending.is_none() || self.receiving.is_none() {
            self.breaks(now, "no connection", || format!("{} without a connection", seen.header));
            return;
        }
        self.sent_ack(now, &seen.header, false);
        self.sent_options(now, options);
        self.sent_text(now, seen);
    }

    fn sent_reset(&mut self, now: Instant, seen: &TappedSegment) {
        self.reset_sent = true;
        if !seen.text.is_empty() || seen.header.flags.contains(Flags::FIN) {
            self.breaks(now, "malformed", || format!("{} with text", seen.header));
        }
        self.doubtful |= self.passive && !self.facts.opened();
    }

    fn sent_syn(&mut self, now: Instant, seen: &TappedSegment) {
        let header = &seen.header;
        if !seen.text.is_empty() {
            self.breaks(now, "malformed", || "a SYN with text".to_owned());
        }
        // Who listens on answers an old SYN that comes when the connection is over (RFC 9293 section 3.5, figure 9), by
        // the same ISS where its clock has not moved since. An answer of the instant in which it ended may be older
        // than the end: unless more than the SYN was acknowledged.
        let over = self.passive && self.facts.over();
        let is_new = over && self.receiving.as_ref().is_some_and(|receiving| receiving.acked > 1);
        let again = !is_new && self.sending.as_ref().is_some_and(|sending| sending.iss == header.seq);
        if !again {
            if self.facts.opened() && !over {
                self.breaks(now, "second connection", || "a SYN with a new ISS after the connection stood".to_owned());
            }
            self.sending = Some(Sending::new(now, header));
            self.receiving = None;
        }
        if header.flags.contains(Flags::ACK) {
            if self.receiving.is_none() {
                let caller = self.callers.iter().rev().find(|(seq, ..)| *seq + 1 == header.ack).copied();
                let Some((irs, syn, window)) = caller else {
                    self.breaks(now, "acknowledgment", || format!("{header} answers a SYN that never came"));
                    return;
                };
                self.meet(irs, syn, window);
            }
            self.sent_ack(now, header, true);
        }
        if let Some(sending) = &mut self.sending {
            // Where SYNs cross, the answer may be here while the SYN is retransmitted: Karn's rule leaves no sample
            // then, but a timestamp may tell which SYN was answered.
            if again {
                sending.trips.doubt();
            }
            if let Some((value, _)) = header.options.timestamps {
                (sending.ts_last, sending.ts_at) = (Some(value), now);
            }
            sending.occupies(now, (0, 1), Probe::No, &self.bounds, false);
            if self.passive && self.bounds.cookies {
                // Nobody has kept when a cookie was sent.
                sending.flights.iter_mut().for_each(|flight| flight.forgotten = true);
            }
            self.most_again = self.most_again.max(sending.again);
            self.most_unanswered = self.most_unanswered.max(sending.unanswered);
        }
        self.doubt_answer();
    }

    /// The peer's SYN is known.
    pub(super) fn meet(&mut self, irs: Seq, syn: Options, window: u16) {
        self.receiving = Some(Receiving {
            irs,
            syn,
            nxt: 1,
            ahead: BTreeMap::new(),
            acked: 0,
            edge: 0,
            known: None,
            came_at: Instant::ZERO,
            must: 1,
            took_at: None,
            owed: VecDeque::new(),
            up_to_date: None,
            ts_recent: syn.timestamps.map(|(value, _)| value),
            ts_newest: syn.timestamps.map(|(value, _)| value),
        });
        if let Some(sending) = &mut self.sending {
            sending.edge = sending.edge.max(1 + i64::from(window));
            sending.sure_edge = sending.edge;
            sending.last_edge = sending.edge;
            sending.most_window = i64::from(window);
        }
    }

    /// Acknowledgment and window of what the end sends.
    fn sent_ack(&mut self, now: Instant, header: &Header, syn: bool) {
        let shift = if syn { 0 } else { self.own_shift() };
        let Some(receiving) = &mut self.receiving else {
            return;
        };
        let ack = position(header.ack, receiving.irs);
        let edge = ack + (i64::from(header.window) << shift);
        let (nxt, acked, offered) = (receiving.nxt, receiving.acked, receiving.edge);
        receiving.acked = acked.max(ack);
        receiving.edge = offered.max(edge);
        receiving.answered(now, ack);
        if ack > nxt {
            self.breaks(now, "acknowledgment", || {
                format!("acknowledges {ack}, but only what is before {nxt} has come")
            });
        }
        if ack < acked {
            self.breaks(now, "acknowledgment", || format!("acknowledges {ack} after {acked}"));
        }
        // Where RCV.NXT lies between two units of the scale, the edge must move on or back (RFC 7323 section 2.4).
        if edge + (1 << shift) <= offered {
            self.breaks(now, "window", || {
                format!("moves the window's right edge back from {offered} to {edge} (SHLD-14)")
            });
        }
    }

    /// How the windows of this end are scaled.
    fn own_shift(&self) -> u32 {
        self.shifts().0
    }

    /// How the windows of this end and of the peer are scaled (RFC 7323 section 2.2).
    pub(super) fn shifts(&self) -> (u32, u32) {
        let (Some(sending), Some(receiving)) = (&self.sending, &self.receiving) else {
            return (0, 0);
        };
        match (sending.syn.window_scale, receiving.syn.window_scale) {
            (Some(own), Some(peer)) => (own.min(14).into(), peer.min(14).into()),
            _ => (0, 0),
        }
    }

    pub(super) fn has_timestamps(&self) -> bool {
        let (Some(sending), Some(receiving)) = (&self.sending, &self.receiving) else {
            return false;
        };
        sending.syn.timestamps.is_some() && receiving.syn.timestamps.is_some()
    }

    pub(super) fn has_sack(&self) -> bool {
        let (Some(sending), Some(receiving)) = (&self.sending, &self.receiving) else {
            return false;
        };
        sending.syn.sack_permitted && receiving.syn.sack_permitted
    }

    fn sent_options(&mut self, now: Instant, options: &Options) {
        if self.has_timestamps() != options.timestamps.is_some() {
            self.breaks(now, "options", || "timestamps only in some segments (RFC 7323 section 3.2)".to_owned());
        }
        let (Some(sending), Some(receiving)) = (&mut self.sending, &self.receiving) else {
            return;
        };
        if let Some((value, echo)) = options.timestamps {
            let last = sending.ts_last.replace(value);
            sending.ts_at = now;
            let newest = receiving.ts_newest;
            if last.is_some_and(|last| Seq(value).lt(Seq(last))) {
                self.breaks(now, "options", || "TSval goes back".to_owned());
            } else if newest.is_some_and(|newest| Seq(echo).gt(Seq(newest))) {
                self.breaks(now, "options", || "TSecr never came".to_owned());
            }
        }
        self.sent_sack(now, options);
    }

    /// RFC 2018 section 4: blocks report what has arrived; the first may be a duplicate (RFC 2883).
    fn sent_sack(&mut self, now: Instant, options: &Options) {
        let (Some(sending), Some(receiving)) = (&self.sending, &self.receiving) else {
            return;
        };
        if options.sack.is_empty() {
            return;
        }
        let mut wrong = None;
        if !sending.syn.sack_permitted || !receiving.syn.sack_permitted {
            wrong = Some("SACK without permission".to_owned());
        }
        for (number, block) in options.sack.as_slice().iter().enumerate() {
            let left = position(block.left, receiving.irs);
            let right = position(block.right, receiving.irs);
            let has_come = receiving.has(left, right);
            let old = left < receiving.acked;
            if left >= right || !has_come || (old && number > 0) {
                wrong = Some(format!("SACK block {left} to {right} has not come"));
            }
        }
        if let Some(what) = wrong {
            self.breaks(now, "SACK", || what);
        }
    }

    fn sent_text(&mut self, now: Instant, seen: &TappedSegment) {
        let sack = self.has_sack();
        let (Some(sending), Some(receiving)) = (&mut self.sending, &self.receiving) else {
            return;
        };
        let header = &seen.header;
        let text = i64::try_from(seen.text.len()).unwrap_or(i64::MAX);
        let start = position(header.seq, sending.iss);
        let text_end = start + text;
        let fin = header.flags.contains(Flags::FIN);
        let handed = i64::try_from(self.facts.handed()).unwrap_or(i64::MAX - 1) + 1;
        // MUST-15.
        let default = match self.version {
            Version::Four => 536,
            Version::Six => 1220,
        };
        let mss = i64::from(receiving.syn.mss.unwrap_or(default));
        let options = i64::try_from(header.len()).unwrap_or(0) - 20;
        let probe = if text == 1 { sending.probe(now, start) } else { Probe::No };
        let mut broken: Option<(&'static str, String)> = None;
        if start > sending.max || start < i64::from(text > 0 || fin) {
            let max = sending.max;
            broken = Some(("sequence", format!("position {start} after {max}")));
        } else if text > 0 && text_end > handed {
            broken = Some(("content", format!("sends up to {text_end}, but only what is before {handed} was written")));
        } else if text > 0 && text_end > sending.edge && !(text == 1 && start == sending.edge) {
            let edge = sending.edge;
            broken =
                Some(("window", format!("sends {start} to {text_end} beyond the peer's window, which ends at {edge}")));
        } else if text > 0
            && start >= sending.max
            && text_end > sending.present_edge(now)
            && !(text == 1 && start >= sending.present_edge(now))
        {
            let edge = sending.present_edge(now);
            broken = Some((
                "window",
                format!("sends new data up to {text_end} after the window has shrunk to {edge} (SHLD-15)"),
            ));
        } else if text > 1 && text + options > mss {
            broken = Some((
                "too long",
                format!("{text} octets of text and {options} of options, the peer's MSS is {mss} (MUST-16)"),
            ));
        } else if sending.fin.is_some_and(|at| (text > 0 && text_end > at) || (fin && text_end != at)) {
            broken = Some(("FIN", format!("FIN or text at {text_end}, after another FIN")));
        } else if fin && (text_end != handed || !self.facts.releasing()) {
            broken = Some(("FIN", format!("FIN at {text_end}, but the program's octets end at {handed}")));
        } else if text > 0
            && let Ok(offset) = u64::try_from(start - 1)
            && let Some(at) = first_wrong(self.pattern, offset, &seen.text)
        {
            broken = Some(("content", format!("sends octet {at} of the stream wrong")));
        }
        if fin {
            sending.fin = Some(text_end);
        }
        let end = text_end + i64::from(fin);
        if end > start {
            sending.occupies(now, (start, end), probe, &self.bounds, sack);
            self.most_again = self.most_again.max(sending.again);
            self.most_unanswered = self.most_unanswered.max(sending.unanswered);
        }
        if let Some((rule, what)) = broken {
            self.breaks(now, rule, || what);
        }
    }
}
