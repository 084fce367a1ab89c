//! SYN-RECEIVED: RFC 9293 section 3.10.7.4 as far as it concerns this state. Who was called comes through it at once,
//! see [`crate::tcp::half_open`]; who calls is here in a simultaneous open.

use kumiki_graph::{Duration, Reason};
use kumiki_wire::inet::tcp::{Flags, Options, Seq};

use super::State;
use crate::tcp::segment::{self, Segment};
use crate::tcp::send::Fin;
use crate::tcp::session::{Ctx, Session};

/// No link carries less than 68 octets (RFC 791 section 3.2), and what a peer can put together, of which its MSS should
/// speak, is 576 at least (RFC 1122 section 3.3.2): so none needs segments of less than 28. One that asks for less
/// would have us keep a record for each octet of the send buffer. Linux (tcp_min_snd_mss) and FreeBSD (minmss) have
/// such a least too.
const LEAST_MSS: u16 = 28;

/// When a peer may send its SYN or SYN,ACK again at the earliest: RFC 6298 rule 2.1's RTO before there is a round trip.
const PEER_REPEATS: Duration = Duration::from_secs(1);

impl Session {
    pub(super) fn in_syn_received(&mut self, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        let is_syn_again = segment.has(Flags::SYN) && segment.seq == self.receive.irs;
        if is_syn_again && !segment.has(Flags::RST) && !segment.has(Flags::ACK) {
            // The peer has not seen our SYN,ACK.
            if !self.take_crossing_again(&segment) {
                self.reset(Some(Reason::Protocol), ctx);
                return;
            }
            // Or the last one is still on its way: see `caller_says`.
            let interval = ctx.shared.config.challenge_interval;
            if ctx.now().saturating_since(self.last_sent) < interval {
                ctx.shared.counters.challenges_spared += 1;
            } else {
                self.send_syn(ctx);
            }
            return;
        }
        if is_syn_again && segment.has(Flags::ACK) && segment.ack == self.send.max {
            // Simultaneous open: the peer's SYN,ACK acknowledges our SYN.
            self.dirty = true;
            self.enter_established(segment, ctx);
            return;
        }
        if !self.passes_checks(&segment, ctx) {
            return;
        }
        if segment.ack.leq(self.board.una()) || segment.ack.gt(self.send.max) {
            let options = ctx.shared.unit_options();
            if segment::reset(&self.pair, &segment, options, ctx.cx) {
                ctx.shared.counters.resets_sent += 1;
            }
            return;
        }
        self.enter_established(segment, ctx);
    }

    fn enter_established(&mut self, segment: Segment, ctx: &mut Ctx<'_, '_>) {
        self.syn_acked(&segment, ctx);
        self.begin_ecn(&segment, ctx);
        self.established(ctx);
        if self.send.fin == Fin::Queued {
            self.state = State::FinWait1;
        }
        if !segment.has(Flags::SYN) {
            self.in_data_transfer(segment, ctx);
        }
        // What came with the SYN.
        self.take_queued(false, ctx);
    }

    /// A reset in SYN-RECEIVED: of who was called only a user that has accepted already is told (MUST-11).
    pub(super) fn refused(&mut self, ctx: &mut Ctx<'_, '_>) {
        let reason = if self.passive { Reason::Reset } else { Reason::Refused };
        self.end(Some(reason), ctx);
    }

    /// Our SYN is acknowledged: the first round trip is known. Where it was sent more than once a timestamp tells which
    /// was answered (RFC 6298 section 3, RFC 7323 section 4.1), and the 3 s of RFC 6298 rule 5.7 are for where nothing
    /// does.
    ///
    /// What took [`PEER_REPEATS`] or longer may have been answered more than once, and the time until the peer's timer
    /// ran out is no round trip: after an outage a first sample of a minute would hold RTO at its maximum for dozens of
    /// round trips.
    pub(super) fn syn_acked(&mut self, segment: &Segment, ctx: &mut Ctx<'_, '_>) {
        let outcome = self.board.on_cumulative_ack(segment.ack.min(self.iss + 1), ctx.now());
        let told = || self.echoed_trip(segment, ctx.now()).filter(|&trip| trip < PEER_REPEATS);
        if let Some(rtt) = outcome.rtt {
            self.on_round_trip(rtt, ctx);
        } else if let Some(rtt) = told() {
            self.on_echoed_trip(rtt, ctx);
        }
    }

    /// The window of a SYN segment, which is never scaled.
    pub(super) fn take_syn_window(&mut self, window: u16, seq: Seq, ack: Seq) {
        self.send.wnd = window.into();
        self.send.max_wnd = self.send.wnd;
        self.send.wl1 = seq;
        self.send.wl2 = ack;
    }

    /// What both SYNs offer is used (RFC 7323 sections 2.2 and 3.2, RFC 2018 section 2).
    pub(super) fn negotiate(&mut self, options: &Options, ctx: &mut Ctx<'_, '_>) {
        let config = &ctx.shared.config;
        self.receive.scaling = config.window_scaling && options.window_scale.is_some();
        if let (true, Some(shift)) = (self.receive.scaling, options.window_scale) {
            self.send.shift = shift.min(kumiki_wire::inet::tcp::options::MAX_WINDOW_SCALE);
            self.receive.shift = crate::tcp::receive::Receive::shift_for(config, self.receive.most).unwrap_or(0);
        }
        self.sack = config.sack && options.sack_permitted;
        self.timestamps = config.timestamps && options.timestamps.is_some();
        if let (true, Some((value, _))) = (self.timestamps, options.timestamps) {
            self.receive.ts_recent = (value, ctx.now());
        }
        if let Some(told) = options.user_timeout {
            self.take_user_timeout(told, ctx);
        }
        let config = &ctx.shared.config;
        let ip = self.pair.remote.ip();
        let peer = options.mss.unwrap_or_else(|| config.default_mss(ip));
        let text = u32::from(peer.max(LEAST_MSS)).min(self.own_mss);
        self.begin_path(text, ctx);
        let config = &ctx.shared.config;
        // The initial window is reckoned in the segments that will be sent.
        let settings = config.congestion_of(self.send.mss);
        self.congestion = config.congestion.build(settings);
    }

    /// Octets of the options that every segment carries, IP's among them.
    pub(crate) fn option_octets(&self) -> u32 {
        self.route.option_octets() + if self.timestamps { 12 } else { 0 }
    }

    /// Eff.snd.MSS (MUST-16): what fits beside the options that every segment carries.
    pub(crate) fn set_mss(&mut self, text: u32) {
        self.route.text = text;
        self.send.mss = text.saturating_sub(self.option_octets()).max(1);
        self.board.set_smss(self.send.mss);
        self.congestion.set_smss(self.send.mss);
    }
}
