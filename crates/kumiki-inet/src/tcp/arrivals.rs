//! What arrives from below: segments, which are brought to their session or to who listens, and reports.

use core::net::SocketAddr;

use kumiki_graph::{Address, Context, Problem, Report, Unit};
use kumiki_octets::Message;
use kumiki_wire::inet::tcp::Seq;

use super::Tcp;
use super::demux::Pair;
use super::pending;
use super::segment::{self, Packet, Segment};
use super::states::Verdict;

impl Tcp {
    pub(super) fn unit(&mut self, unit: Box<Unit>, cx: &mut Context<'_>) {
        let quote = if self.offers_first { pending::quote(&unit) } else { None };
        let mut packet = match segment::receive(unit, cx) {
            Ok(packet) => packet,
            Err(reason) => return self.drop(reason, cx),
        };
        if self.predict(&mut packet, cx) {
            return;
        }
        let (pair, segment) = match packet.into_segment() {
            Ok(segment) => segment,
            Err(reason) => return self.drop(reason, cx),
        };
        self.shared.counters.segments_received += 1;
        if let Some(handle) = self.demux.find(&pair, |handle| self.table.pair(handle)) {
            self.with(handle, cx, |session, ctx| session.on_segment(segment, ctx));
        } else {
            self.uncalled(pair, segment, quote, cx);
        }
    }

    fn drop(&mut self, reason: &'static str, cx: &mut Context<'_>) {
        let counters = &mut self.shared.counters;
        match reason {
            "bad checksum" => counters.bad_checksums += 1,
            _ => counters.malformed += 1,
        }
        cx.drop(reason);
    }

    /// Takes what is in `packet`, where it is what its connection expects; else leaves it as it was, and is false.
    fn predict(&mut self, packet: &mut Packet, cx: &mut Context<'_>) -> bool {
        if !self.shared.config.header_prediction {
            return false;
        }
        let Some(header) = packet.plain() else {
            return false;
        };
        let pair = packet.pair(header.destination_port, header.source_port);
        let Some(handle) = self.demux.find(&pair, |handle| self.table.pair(handle)) else {
            return false;
        };
        let mut taken = false;
        self.with_on_course(handle, cx, |session, ctx| taken = session.predict(&header, packet, ctx));
        taken
    }

    /// A segment for no connection: somebody may listen.
    fn uncalled(&mut self, pair: Pair, mut segment: Segment, quote: Option<Box<Unit>>, cx: &mut Context<'_>) {
        if let Some(caller) = self.half_open.find(self.shared.secret, &pair) {
            self.caller_says(caller, segment, cx);
            return;
        }
        let mut least = None;
        if let Some(index) = self.pending.find(self.shared.secret, &pair) {
            match self.pending_says(index, segment, cx) {
                Some(another) => (segment, least) = another,
                None => return,
            }
        }
        let local = pair.local.into();
        let own = self.demux.listener(local);
        let listener = own.or_else(|| self.demux.listener_at_all_ports(local));
        let verdict = listener
            .and_then(|listener| self.table.listener(listener))
            .map_or(Verdict::Reset, |listener| listener.judge(&pair, &segment));
        if let Some(entry) = self.time_waits.find(self.shared.secret, &pair) {
            let may_begin = verdict == Verdict::Begin && self.has_room_for_callers();
            least = self.in_time_wait(entry, &segment, may_begin, cx);
            if least.is_none() {
                return;
            }
        }
        let segment = match self.cookie_returned(own, &pair, segment, cx) {
            Ok(()) => return,
            Err(segment) => segment,
        };
        match (verdict, listener) {
            (Verdict::Begin, Some(at)) => {
                if self.table.listener(at).is_some_and(|it| it.offers_first) {
                    self.offer(at, pair, segment, (least, quote), cx);
                } else {
                    self.called(at, pair, segment, least, cx);
                }
            }
            (Verdict::Full, _) => {
                self.shared.counters.backlog_full += 1;
                cx.drop("backlog full");
            }
            (Verdict::Ignore, _) => {}
            (Verdict::Reset | Verdict::Begin, _) => {
                let options = self.shared.unit_options();
                if segment::reset(&pair, &segment, options, cx) {
                    self.shared.counters.resets_sent += 1;
                }
            }
        }
    }

    pub(super) fn report(&mut self, report: &Report, cx: &mut Context<'_>) {
        match report {
            Report::Limits { unit, burst } => {
                (self.shared.unit, self.shared.burst) = (*unit, *burst);
            }
            Report::Route { to, source, unit, bypass, .. } => self.routed(*to, *source, (*unit, *bypass), cx),
            Report::Unreachable { source, destination, problem, start } => {
                self.unreachable(*source, *destination, *problem, start, cx);
            }
            Report::Up | Report::Down | Report::Special(_) => {}
        }
    }

    /// ICMP speaks of a segment that began with `start` (MUST-54, MUST-56).
    pub(super) fn unreachable(
        &mut self,
        source: Address,
        destination: Address,
        problem: Problem,
        start: &Message,
        cx: &mut Context<'_>,
    ) {
        let (Some(source), Some(destination)) = (source.ip(), destination.ip()) else {
            return;
        };
        let mut quoted = [0; 8];
        if !start.copy_to(0, &mut quoted) {
            return;
        }
        let [s0, s1, d0, d1, q0, q1, q2, q3] = quoted;
        let local = SocketAddr::new(source, u16::from_be_bytes([s0, s1]));
        let remote = SocketAddr::new(destination, u16::from_be_bytes([d0, d1]));
        let pair = Pair::new(local, remote);
        let seq = Seq(u32::from_be_bytes([q0, q1, q2, q3]));
        let Some(handle) = self.demux.find(&pair, |handle| self.table.pair(handle)) else {
            return;
        };
        self.with(handle, cx, |session, ctx| {
            // RFC 5927 section 4.1: only something in flight can have met an error.
            if seq.lt(session.board.una()) || seq.geq(session.send.max) {
                return;
            }
            match problem {
                Problem::TooBig { mtu } => session.on_too_big(mtu, seq, ctx),
                Problem::Hard { .. } => session.on_hard_error(problem, ctx),
                Problem::NoNeighbour => session.on_no_neighbour(ctx),
                Problem::Soft { .. } | Problem::NoRoute => session.on_soft_error(problem, ctx),
            }
        });
    }
}
