//! How long a segment may be on its path: what ICMP tells, and what probes find out.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1191 section 6 and RFC 8201 section 5 (ICMP), RFC 5927 sections 4.1 and 7 (forged ICMP), RFC 4821 (probes, named there and here search_low, search_high, eff_pmtu), RFC 2923 section 2.1 (black holes) |
//! | The caller's part | the MSS itself (`set_mss`), sending again, IP's cache of paths |
//! | Left out | probes without SACK, by a source route, or by shifting data into one segment that follows; RFC 4821 section 7.8 (a path with several MTUs) but for black holes; waiting for a time-out before a smaller MTU is believed (RFC 5927 section 7.2; below) |
//!
//! Sizes are the text of a segment before options, as in the MSS option: a packet less the headers of IP and TCP.
//!
//! # What a router says is believed at once
//!
//! It is believed of a segment that is in flight and longer than what it says (RFC 5927 section 4.1, RFC 8201 section
//! 4), and of no other. RFC 5927 section 7.2 would have a sender that has had longer segments acknowledged wait until
//! that segment has timed out as well. That was weighed, and is left out. A forger who knows addresses and ports needs
//! one guess in 2^32 / flight: 65,536 datagrams where 64 KiB are in flight, a second of a fast line. What it gains is
//! bounded: segments of [`Config::min_path_mtu`] (552 octets, IPv6: 1280) for [`Config::path_mtu_raise`] (10 minutes)
//! at the most. That is 7 % more headers than with 1460 octets, and nearly three times the packets; nothing is lost and
//! nothing stands still. Waiting costs every connection on a path that truly narrows a retransmission time-out, the
//! congestion window with it, and all that goes out meanwhile. Routes do narrow, where tunnels and fail-over are. Who
//! thinks otherwise of a network has `path_mtu = "off"`.
//!
//! # Deviations
//!
//! A router that says less than the least MTU of IPv4 is heeded as far as that, and the datagrams may be fragmented
//! from then on, as Linux does. IPv6 has no router that may say so (RFC 8201 section 4).
//!
//! All that was too big goes again at once, and not one segment until acknowledgments arrive again (RFC 1191 section
//! 6.4): as much was in flight a moment before, and the congestion window stands.

use core::net::IpAddr;

use kumiki_graph::{Address, Below, Duration, Instant, Manage, OptionalTime, Request};
use kumiki_wire::inet::tcp::Seq;

use super::config::{Config, PathMtu};
use super::recovery::Phase;
use super::scoreboard::Span;
use super::send::{Next, SendLimit};
use super::session::{Ctx, Session};
use super::states::State;
use super::trace::Event;

/// Octets of IPv4 and TCP headers without options.
const HEADERS: u32 = 40;
/// Octets of IPv6 and TCP headers without options.
const HEADERS_IPV6: u32 = 60;
/// The least MTU of IPv4 (RFC 791) and of IPv6 (RFC 8200 section 5).
const LEAST: u32 = 68;
const LEAST_IPV6: u32 = 1280;
/// A search ends where it could gain no more than this; as Linux (tcp_probe_threshold).
const WORTH: u32 = 8;
/// Segments that are to follow a probe, so that its loss is noticed in time: DupThresh, and one that may be lost.
const FOLLOWERS: u32 = 4;
/// Sizes of packets that links and tunnels of today are likely to carry at most.
const COMMON: [u32; 14] = [1280, 1400, 1420, 1454, 1480, 1492, 1500, 2002, 4352, 8166, 9000, 9180, 17_914, 32_000];

/// What one connection knows of its path.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// The most that both ends take: where search_high begins.
    most: u32,
    /// When more is tried than the path was found to carry (RFC 8899's PMTU_RAISE_TIMER). Looked at when there is
    /// something to send, so it is no timer.
    raise_at: OptionalTime<Instant>,
    /// When segments became shorter because the path seemed to be a black hole, and SND.NXT then, until that is
    /// acknowledged.
    doubted: Option<Box<(Instant, Seq)>>,
    /// Datagrams may be fragmented.
    pub(crate) fragments: bool,
    search: Option<Box<Search>>,
}

impl Path {
    pub(crate) fn new(config: &Config) -> Self {
        Self { fragments: config.path_mtu == PathMtu::Off, ..Self::default() }
    }

    /// Whether nothing is searched for, now or later, and nothing doubted.
    pub(crate) const fn is_calm(&self) -> bool {
        self.search.is_none() && self.raise_at.is_none() && self.doubted.is_none()
    }
}

/// A search for what the path carries.
#[derive(Debug)]
struct Search {
    /// search_low: known to arrive, or likely to.
    low: u32,
    /// search_high: may arrive.
    high: u32,
    /// In flight.
    probe: Option<Probe>,
    /// Nothing of the size `high` has failed yet: what the ends take most paths carry too.
    hopeful: bool,
    /// There is no probe before this.
    not_before: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    span: Span,
    text: u32,
}

impl Search {
    const fn new(low: u32, high: u32, hopeful: bool, not_before: Instant) -> Self {
        Self { low, high, probe: None, hopeful, not_before }
    }

    /// The size to try next; `None` where it is not worth it.
    fn next(&self, headers: u32) -> Option<u32> {
        if self.high < self.low + WORTH {
            return None;
        }
        if self.hopeful {
            return Some(self.high);
        }
        let worth = |&size: &u32| size >= self.low + WORTH && size <= self.high;
        let common: Vec<u32> = COMMON.iter().map(|size| size - headers).filter(worth).collect();
        let half = common.get(common.len() / 2).copied();
        Some(half.unwrap_or_else(|| self.low.midpoint(self.high + 1)))
    }

    /// The probe did not arrive; `told`: a router said so, and `high` may be exact.
    const fn failed(&mut self, high: u32, told: bool, not_before: Instant) {
        self.probe = None;
        self.hopeful = told;
        self.high = high;
        self.not_before = not_before;
    }
}

impl Session {
    /// Octets of the headers of IP and TCP without options.
    const fn headers(&self) -> u32 {
        match self.pair.remote.ip() {
            IpAddr::V4(_) => HEADERS,
            IpAddr::V6(_) => HEADERS_IPV6,
        }
    }

    /// The text of a packet of `mtu` octets, but not of less than the version's least.
    fn text_of(&self, mtu: u32) -> u32 {
        let least = match self.pair.remote.ip() {
            IpAddr::V4(_) => LEAST,
            IpAddr::V6(_) => LEAST_IPV6,
        };
        mtu.max(least) - self.headers()
    }

    /// The least that anybody can make us send, where it is not the ends' own wish.
    fn least_text(&self, config: &Config) -> u32 {
        self.text_of(config.min_path_mtu).min(self.path.most)
    }

    /// Where a search begins (BASE_PLPMTU).
    fn base_text(&self, config: &Config) -> u32 {
        self.text_of(config.path_mtu_base).min(self.path.most)
    }

    /// Both ends take segments of `text` octets.
    pub(crate) fn begin_path(&mut self, text: u32, ctx: &Ctx<'_, '_>) {
        let config = &ctx.shared.config;
        self.path = Path { most: text, ..Path::new(config) };
        let mut first = text;
        if config.path_mtu == PathMtu::Probe && self.sack {
            first = self.base_text(config);
            self.search_from(first, true, ctx.now());
        }
        self.set_mss(first);
    }

    /// Begins to search above `low`, where there is anything.
    fn search_from(&mut self, low: u32, hopeful: bool, not_before: Instant) {
        let search = Search::new(low, self.path.most, hopeful, not_before);
        let worth = self.sack && search.next(self.headers()).is_some();
        self.path.search = worth.then(|| Box::new(search));
    }

    /// Segments are `text` octets long from now on, before options.
    fn change_text(&mut self, text: u32, ctx: &Ctx<'_, '_>) {
        self.set_mss(text);
        self.path.raise_at = (text < self.path.most).then(|| ctx.now() + ctx.shared.config.path_mtu_raise).into();
        self.note(Event::PathMtu(text + self.headers()), ctx.now());
    }

    /// What is lost is no sign of congestion and goes again at once, in segments that fit (RFC 1191 section 6.4).
    fn send_again_at_once(&mut self) {
        self.recovery.resend_until(self.board.nxt());
        self.dirty = true;
    }

    /// A link on the way carries no more than `mtu` octets, and so not the segment that begins at `seq`.
    pub(crate) fn on_too_big(&mut self, mtu: u32, seq: Seq, ctx: &mut Ctx<'_, '_>) {
        let told = self.text_of(mtu);
        let fits = told.saturating_sub(self.option_octets());
        // What is no longer than that, or has arrived, cannot have met this link.
        let met = self.board.record_at(seq);
        if !met.is_some_and(|sent| sent.span.len() > fits && !sent.sacked) {
            return;
        }
        let to = Address::from(self.pair.remote.ip());
        let narrow = Manage::Narrow { to, mtu };
        ctx.cx.down(Below(0), Request::Manage(Box::new(narrow)));
        if ctx.shared.config.path_mtu == PathMtu::Off {
            return;
        }
        ctx.shared.counters.too_bigs += 1;
        let wait = self.wait(ctx);
        if let Some(search) = &mut self.path.search
            && let Some(probe) = search.probe
            && probe.span.start == seq
        {
            // RFC 4821 section 7.6.2; what was verified is not taken back for it.
            let high = told.clamp(search.low, probe.text - 1);
            search.failed(high, true, ctx.now() + wait);
            self.give_up_probe(probe, ctx);
            return;
        }
        let least = self.least_text(&ctx.shared.config);
        let narrow = mtu.saturating_sub(self.headers()) < least;
        self.path.fragments |= narrow && self.pair.remote.ip().is_ipv4();
        let text = told.max(least);
        if text >= self.route.text {
            return;
        }
        self.path.search = None;
        self.change_text(text, ctx);
        let fits = self.send.mss;
        self.board.mark_lost_if(|sent| sent.span.len() > fits);
        self.send_again_at_once();
    }

    /// How long there is no probe after one was lost: as many round trips as the congestion window has segments (RFC
    /// 4821 section 7.6.2).
    fn wait(&self, ctx: &Ctx<'_, '_>) -> Duration {
        let segments = self.congestion.window() / u64::from(self.send.mss.max(1));
        let srtt = self.rtt.srtt().unwrap_or_default();
        let most = ctx.shared.config.path_mtu_raise;
        // With a window that large the bound decides anyway.
        (srtt * segments.min(1 << 20)).min(most)
    }

    /// A probe will not arrive: its text goes again as the text of other segments does.
    fn give_up_probe(&mut self, probe: Probe, ctx: &mut Ctx<'_, '_>) {
        ctx.shared.counters.path_probes_lost += 1;
        self.board.mark_lost_if(|sent| probe.span.start.leq(sent.span.start) && sent.span.end.leq(probe.span.end));
        self.end_search_if_done(ctx.now() + ctx.shared.config.path_mtu_raise);
        self.send_again_at_once();
    }

    fn end_search_if_done(&mut self, raise_at: Instant) {
        let headers = self.headers();
        let search = self.path.search.as_ref();
        if search.is_some_and(|search| search.next(headers).is_none()) {
            self.path.search = None;
            self.path.raise_at = (self.route.text < self.path.most).then_some(raise_at).into();
        }
    }

    /// Whether the text at `seq` is a probe, which goes as one segment whatever the MSS is.
    pub(crate) fn is_path_probe(&self, seq: Seq) -> bool {
        let search = self.path.search.as_ref();
        search.and_then(|search| search.probe).is_some_and(|probe| probe.span.start == seq)
    }

    /// What was found out long ago may be so no more: more is tried (RFC 1191 section 6.3, RFC 4821 section 7.3).
    fn doubt_path(&mut self, ctx: &Ctx<'_, '_>) {
        if self.path.raise_at.known().is_none_or(|at| at > ctx.now()) {
            return;
        }
        self.path.raise_at = OptionalTime::NONE;
        match ctx.shared.config.path_mtu {
            PathMtu::ProbeOnBlackHole | PathMtu::Probe if self.sack => {
                self.search_from(self.route.text, true, ctx.now());
            }
            PathMtu::Icmp | PathMtu::ProbeOnBlackHole | PathMtu::Probe => {
                self.path.fragments = false;
                self.change_text(self.path.most, ctx);
            }
            PathMtu::Off => {}
        }
    }

    /// `next` may be sent, or is held back: a probe in its place, where one is due (RFC 4821 section 7.4). New data
    /// waits until the window has room for a probe, so that none exceeds it.
    pub(super) fn probe_path(
        &mut self,
        next: Result<Next, SendLimit>,
        window: u64,
        ctx: &mut Ctx<'_, '_>,
    ) -> Result<Next, SendLimit> {
        if self.path.search.is_none() && self.path.raise_at.is_none() {
            return next;
        }
        self.doubt_path(ctx);
        let (headers, options) = (self.headers(), self.option_octets());
        let calm = self.recovery.phase == Phase::None
            && self.recovery.duplicates == 0
            && self.board.sacked() == 0
            && matches!(self.state, State::Established | State::CloseWait)
            && self.route.gateways.is_none();
        let Some(search) = &mut self.path.search else {
            return next;
        };
        let due = calm && search.probe.is_none() && search.not_before <= ctx.now();
        let Some(text) = search.next(headers).filter(|_| due) else {
            return next;
        };
        let octets = text.saturating_sub(options);
        let all = octets.saturating_add(FOLLOWERS * self.send.mss);
        let room = |window: u64| window.saturating_sub(self.board.pipe().into());
        let ready = self.send.unsent() >= all
            && self.send.wnd >= all
            && window >= all.into()
            && !matches!(next, Err(SendLimit::Nothing | SendLimit::Coalesce | SendLimit::Silly));
        if !ready {
            return next;
        }
        let edge = self.board.una() + self.send.wnd;
        let usable = u32::try_from(edge.distance_from(self.board.nxt())).unwrap_or(0);
        if usable < all || room(window) < octets.into() {
            // The peer's window may be what holds back; where nothing is in flight all of it is usable.
            return Err(SendLimit::Congestion);
        }
        let start = self.board.nxt();
        let span = Span { start, end: start + octets };
        search.probe = Some(Probe { span, text });
        ctx.shared.counters.path_probes += 1;
        self.note(Event::PathProbe(text + headers), ctx.now());
        Ok(Next { octets, fin: false })
    }

    /// The longest text of a segment, at the least, that everything before `ack` shows to have arrived though the path
    /// had seemed to be a black hole for it: what was not retransmitted since then came in a segment of before, which a
    /// slow line took its time for.
    ///
    /// A record may stand for a train of segments, all of the same length but for the last; either one of these is in
    /// it, or all of it was in one segment. With a FIN it is one octet less, and nothing new follows that.
    pub(crate) fn carried(&self, ack: Seq) -> Option<u32> {
        let (at, nxt) = **self.path.doubted.as_ref()?;
        let acked = self.board.records().take_while(|sent| sent.span.end.leq(ack) && sent.span.end.leq(nxt));
        acked.filter(|sent| sent.last_sent < at).map(|sent| sent.span.len()).max()
    }

    /// The path has carried a segment of `octets` octets of text after all (RFC 4821 section 7.1: search_low is the
    /// largest known to work); another search begins there.
    pub(crate) fn trust_path(&mut self, octets: Option<u32>, ctx: &Ctx<'_, '_>) {
        let Some((_, nxt)) = self.path.doubted.as_deref().copied() else {
            return;
        };
        let text = octets.map_or(0, |octets| octets.saturating_add(self.option_octets()).min(self.path.most));
        if text > self.route.text {
            self.change_text(text, ctx);
            self.search_from(text, true, ctx.now());
        }
        if nxt.leq(self.board.una()) {
            self.path.doubted = None;
        }
    }

    /// New data was acknowledged: a probe may be among it.
    pub(crate) fn take_path_answer(&mut self, ctx: &Ctx<'_, '_>) {
        let una = self.board.una();
        let Some(search) = &mut self.path.search else {
            return;
        };
        let Some(probe) = search.probe.filter(|probe| probe.span.end.leq(una)) else {
            return;
        };
        search.probe = None;
        search.low = probe.text;
        let raise_at = self.path.raise_at.known();
        if probe.text > self.route.text {
            self.change_text(probe.text, ctx);
        }
        let later = ctx.now() + ctx.shared.config.path_mtu_raise;
        self.end_search_if_done(raise_at.map_or(later, |at| at.max(later)));
    }

    /// Recovery is about to begin: whether only a probe was lost, which is no sign of congestion (RFC 4821 section
    /// 7.6.2). Then it has been seen to.
    pub(crate) fn only_probe_lost(&mut self, ctx: &mut Ctx<'_, '_>) -> bool {
        let wait = self.wait(ctx);
        let Some(search) = &mut self.path.search else {
            return false;
        };
        let Some(probe) = search.probe.take() else {
            return false;
        };
        let lost = self.board.record_at(probe.span.start);
        let its = lost.map_or(0, |sent| if sent.is_pending() { sent.span.len() } else { 0 });
        if self.board.una() != probe.span.start || self.board.pending() > its {
            // Inconclusive (section 7.6.4): it is tried again.
            return false;
        }
        search.failed(probe.text - 1, false, ctx.now() + wait);
        self.give_up_probe(probe, ctx);
        true
    }

    /// The retransmission timer has expired: a probe in flight may be why (RFC 4821 section 7.6.3), and after several
    /// times the path may be a black hole for segments of this size (section 7.7).
    pub(crate) fn suspect_path(&mut self, ctx: &mut Ctx<'_, '_>) {
        let config = &ctx.shared.config;
        let base = self.base_text(config);
        let least = self.least_text(config);
        let probes = matches!(config.path_mtu, PathMtu::ProbeOnBlackHole | PathMtu::Probe);
        if !probes || self.state.is_before_established() {
            return;
        }
        let wait = self.wait(ctx);
        if let Some(search) = &mut self.path.search
            && let Some(probe) = search.probe.take()
        {
            let high = if self.board.una() == probe.span.start {
                ctx.shared.counters.path_probes_lost += 1;
                probe.text - 1
            } else {
                search.high
            };
            search.failed(high, false, ctx.now() + wait * 5);
            self.end_search_if_done(ctx.now() + ctx.shared.config.path_mtu_raise);
        }
        if self.unanswered < ctx.shared.config.advise_after {
            return;
        }
        let low = match &self.path.search {
            Some(search) if search.low < self.route.text => search.low,
            _ if self.route.text > base => base,
            _ => (self.route.text / 2).max(least),
        };
        let fits = low.saturating_sub(self.option_octets());
        let first = self.board.record_at(self.board.una());
        if low >= self.route.text || first.is_none_or(|sent| sent.span.len() <= fits) {
            return;
        }
        ctx.shared.counters.black_holes += 1;
        self.change_text(low, ctx);
        self.path.doubted = Some(Box::new((ctx.now(), self.board.nxt())));
        // Not before it is known that this much arrives.
        self.search_from(low, false, ctx.now() + wait);
    }
}
