//! What can be chosen about a TCP. [`super::defaults`] has the profiles.

use core::net::IpAddr;
use kumiki_wire::inet::EcnUse;

use crate::settable::{Settings, Word};
use kumiki_graph::{Coalesce, Duration, KeepAlive};
#[cfg(feature = "settings")]
use kumiki_settings::{BuildError, HasSettings, Key, Reader, SOME};

use super::congestion::{self, Algorithm, InitialWindow};
use super::rtt;

/// The largest window (RFC 7323 section 2.3).
#[cfg(feature = "settings")]
const MAX_WINDOW: u64 = 1 << 30;
#[cfg(feature = "settings")]
const ANY: u64 = u32::MAX as u64;

/// The words for what is done about explicit congestion notification.
#[cfg(feature = "settings")]
const ECN: [(&str, EcnUse); 4] =
    [("off", EcnUse::Off), ("passive", EcnUse::Passive), ("classic", EcnUse::Classic), ("accurate", EcnUse::Accurate)];

/// Whether half of the largest window seen may be sent at once although it is no full segment (rule 3 of RFC 9293
/// section 3.8.6.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum HalfWindow {
    /// Never.
    Off,
    /// Where coalescing does not hold it back, as the RFC has it.
    Rfc,
    /// Whatever is in flight, as 4.3BSD has it.
    Always,
}

/// How losses are told where SACK was negotiated. Without, duplicate acknowledgments are counted (RFC 5681).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum LossDetection {
    /// By time: a segment is lost when one sent sufficiently later was delivered (RFC 8985).
    Rack,
    /// By what was SACKed above it (RFC 6675).
    Sack,
}

/// What is done to find out the path's MTU; as Linux's `tcp_mtu_probing`, whose 0, 1 and 2 are the last three.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum PathMtu {
    /// Nothing: datagrams may be fragmented, and what ICMP says of them is ignored.
    Off,
    /// ICMP is heeded (RFC 1191, RFC 8201).
    Icmp,
    /// And where nothing long arrives though ICMP does not say so, the MTU is searched for by probes (RFC 4821).
    ProbeOnBlackHole,
    /// It is searched for by probes from the start.
    Probe,
}

/// How the window shrinks in fast recovery, where SACK was negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum RateReduction {
    /// At once: nothing goes until enough has left the network (RFC 6675).
    #[word("at_once")]
    AtOnce,
    /// In proportion to what is delivered, with the bound that RFC 9937 chooses for each acknowledgment.
    Prr,
    /// The same with RFC 6937's conservative reduction bound.
    #[word("prr_crb")]
    PrrCrb,
    /// The same with RFC 6937's slow start reduction bound.
    #[word("prr_ssrb")]
    PrrSsrb,
}

/// How the receive buffer becomes the receive window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum Rounding {
    /// As it is.
    Exact,
    /// To a multiple of the MSS, and at least one.
    Up,
    /// To a multiple of the MSS, unless that is nothing.
    Down,
}

/// How far the right edge of the window must be able to move before a segment is sent only to say so; either is enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct WindowUpdate {
    /// A segment is sent only to move the window's right edge by so many full segments; 0: this rule is off.
    #[setting(0..=ANY)]
    pub segments: u32,
    /// Or by so many per cent of the receive buffer; 0: this rule is off.
    #[setting(with = whole_percent)]
    pub percent: u32,
}

#[cfg(feature = "settings")]
fn whole_percent(place: &mut u32, reader: &Reader<'_>) -> Result<(), BuildError> {
    let key = Key::new("share", "Or by such a part of the receive buffer, in whole per cents; 0: this rule is off.");
    let mut share = f64::from(*place) / 100.0;
    reader.share(&key, &mut share)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
    let percent = (share * 100.0).round() as u32;
    if (share - f64::from(percent) / 100.0).abs() > 1e-9 {
        return Err(reader.wrong("share", &"a part of a per cent", "a whole number of per cent"));
    }
    *place = percent;
    Ok(())
}

/// How far the right edge must be able to move before it does in a segment that is sent anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum EdgeRule {
    /// By min(half the buffer, MSS), RFC 9293 section 3.8.6.2.2.
    Rfc,
    /// At all, but a window below both a quarter of the buffer and one MSS is not offered, as 4.3BSD has it.
    Bsd,
}

/// When data is acknowledged without waiting for the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Settings)]
pub struct AckRule {
    /// Acknowledge at once after so many segments; 1: each; 0: not by count (window updates and the timer remain).
    #[setting(0..=ANY)]
    pub every: u32,
    /// Whether segments that are not full count.
    pub count_small: bool,
    /// Whether a segment that is not full and was pushed is acknowledged at once: its sender has no more to send.
    pub pushed: bool,
}

/// How an acknowledgment that is held back gets sent in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckTimer {
    /// So long after the first segment that it is for.
    Timeout(Duration),
    /// At the next beat of a clock that beats for all connections alike.
    Heartbeat(Beat),
}

/// When a call is answered without keeping anything of it (RFC 4987 section 3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Word)]
pub enum SynCookies {
    /// Never: where there is no room, calls are dropped.
    Never,
    /// Where there is no room.
    WhenFull,
    /// Always.
    Always,
}

/// A clock that beats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beat {
    /// From beat to beat.
    pub period: Duration,
    /// The first beat after the executor's start; `None`: random.
    pub phase: Option<Duration>,
}

/// All that can be chosen about a TCP. Start from a profile in [`super::defaults`]; its fields say where the values are
/// from.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// The local address where a user leaves it open on an active open to a peer of its version; unspecified: the layer
    /// below chooses by the route.
    #[setting(skip)]
    pub address: IpAddr,
    /// Send buffer at first, where the user does not ask for one.
    #[setting(1..=MAX_WINDOW, octets)]
    pub send_buffer: u32,
    /// Receive buffer at first, where the user does not ask for one.
    #[setting(1..=MAX_WINDOW, octets)]
    pub receive_buffer: u32,
    /// What the send buffer may grow to by itself, with the congestion window, where the user does not ask for one; up
    /// to `send_buffer`: not at all.
    #[setting(0..=MAX_WINDOW, octets)]
    pub max_send_buffer: u32,
    /// What the receive buffer may grow to by itself, with what the user takes in a round trip; up to `receive_buffer`:
    /// not at all.
    #[setting(0..=MAX_WINDOW, octets)]
    pub max_receive_buffer: u32,
    /// What all connections together may hold, about: from half of it on no buffer grows, beyond it each has 4 KiB, and
    /// from a quarter more on what comes is dropped; text ahead of its turn has a quarter of it; 0 B: no bound.
    #[setting(0..=1 << 50, octets)]
    pub memory: u64,
    /// The user may write again only when at least this much of the send buffer is free (or all of it).
    #[setting(0..=MAX_WINDOW, octets)]
    pub low_water: u32,
    /// The socket layer hands data over in pieces of this size, and TCP looks after each whether to send; 0 B: whole.
    #[setting(0..=MAX_WINDOW, octets)]
    pub send_granularity: u32,
    /// Most data in a segment, both ways (RFC 9293 section 3.7.1).
    #[setting(1..=65535, octets, unset = "what IP carries")]
    pub mss: Option<u16>,
    /// How the path's MTU is found out: not (datagrams may be fragmented), by ICMP (RFC 1191, RFC 8201), also by probes
    /// where nothing long arrives, by probes from the start (RFC 4821).
    #[setting(word)]
    pub path_mtu: PathMtu,
    /// Nothing that ICMP says, and no black hole, makes packets smaller than this; over IPv6 than 1280 B.
    #[setting(68..=65535, octets)]
    pub min_path_mtu: u32,
    /// Packets of this size are taken to arrive where longer ones may not (BASE_PLPMTU of RFC 8899); over IPv6 at least
    /// 1280 B.
    #[setting(68..=65535, octets)]
    pub path_mtu_base: u32,
    /// How long a path is taken to carry no more than was found out (PMTU_RAISE_TIMER of RFC 8899).
    #[setting(least = Duration::from_secs(300))]
    pub path_mtu_raise: Duration,
    /// The peer's MSS where it does not say, over IPv4.
    #[setting(1..=65535, octets)]
    pub default_mss: u16,
    /// The peer's MSS where it does not say, over IPv6.
    #[setting(1..=65535, octets)]
    pub default_mss_ipv6: u16,
    /// Take a short way for the segment that is expected next (RFC 7323 section 5.6). What is sent is the same without.
    pub header_prediction: bool,
    /// Offer and use timestamps, with PAWS (RFC 7323).
    pub timestamps: bool,
    /// Offer and use window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Offer and use selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Congestion control; fixed: none.
    #[setting(word)]
    pub congestion: Algorithm,
    /// The congestion window at first.
    #[setting(with = initial_window)]
    pub initial_window: InitialWindow,
    /// At most so many segments are added to the congestion window for one acknowledgment in slow start (L of RFC
    /// 3465).
    #[setting(1..=ANY)]
    pub slow_start_limit: u32,
    /// Leave the first slow start when round trips grow longer (HyStart++, RFC 9406).
    pub hystart: bool,
    /// Congestion marks, where the user does not say: ignore them, agree to heed them, or ask for it with classic (RFC
    /// 3168) or accurate feedback (RFC 9768).
    #[setting(words = ECN)]
    pub ecn: EcnUse,
    /// Answer a congestion mark in congestion avoidance with less than a loss (RFC 8511).
    pub abe: bool,
    /// Send at a rate of 1.2 times the congestion window per round trip (2 in slow start), and not in bursts.
    pub pacing: bool,
    /// Begin again with the initial window after an idle time of one RTO (RFC 5681 section 4.1).
    pub slow_start_after_idle: bool,
    /// What tells of losses where SACK was negotiated: time (RFC 8985), or what was SACKed above (RFC 6675).
    #[setting(word)]
    pub loss_detection: LossDetection,
    /// Probe for losses at the tail before the retransmission timer expires (RFC 8985 section 7); only with `rack`.
    pub tail_loss_probe: bool,
    /// How long the peer may hold back the acknowledgment of a single segment, for tail loss probes (TLP.max_ack_delay
    /// of RFC 8985).
    pub max_ack_delay: Duration,
    /// How the window shrinks in fast recovery with SACK: at once (RFC 6675), or in proportion (RFC 9937, RFC 6937).
    #[setting(word)]
    pub rate_reduction: RateReduction,
    /// Undo what a recovery did to congestion control, where timestamps (RFC 3522), D-SACK (RFC 3708) or F-RTO show
    /// that nothing was lost (RFC 4015).
    pub undo: bool,
    /// After a time-out, send new data to find out whether it was for nothing (RFC 5682); needs `undo`.
    pub f_rto: bool,
    /// Where RACK is not used, wait for more duplicate acknowledgments once reordering was seen.
    pub adapt_to_reordering: bool,
    /// Duplicate acknowledgments that mean a loss; 0: no fast retransmit.
    #[setting(0..=ANY)]
    pub duplicate_threshold: u32,
    /// Whether recovery goes on at partial acknowledgments (RFC 6582); without, it ends at the first new one (Reno).
    pub new_reno: bool,
    /// Send new data at the first duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// What to do with small segments while data is unacknowledged, where the user does not say.
    #[setting(words = Coalesce::WORDS)]
    pub coalesce: Coalesce,
    /// Mark also the end of each super-segment as pushed, as a receiver that puts segments together then passes them
    /// on; where the device below takes none, nothing.
    pub push_bursts: bool,
    /// Whether half of the largest window seen may go though it is no full segment.
    #[setting(word)]
    pub half_window: HalfWindow,
    /// How long sender silly window avoidance may hold data back.
    #[setting(positive)]
    pub override_timeout: Duration,
    /// How the receive buffer becomes the window: as it is, or a multiple of the MSS.
    #[setting(word)]
    pub rounding: Rounding,
    /// When a segment is sent only to move the window's right edge.
    #[setting(table)]
    pub window_update: WindowUpdate,
    /// When the window's right edge moves in a segment that is sent anyway.
    #[setting(word)]
    pub edge: EdgeRule,
    /// When data is acknowledged at once.
    #[setting(table)]
    pub ack: AckRule,
    /// When it is acknowledged at last.
    #[setting(with = ack_timer)]
    pub ack_timer: AckTimer,
    /// Constants of the retransmission time-out.
    #[setting(table)]
    pub rto: rtt::Config,
    /// The beat on which the retransmission, persist and TIME-WAIT timers expire; `None`: exactly when due.
    #[setting(with = slow_beat)]
    pub slow_beat: Option<Beat>,
    /// Retransmissions of one segment after which IP and the user are told that there is no answer (R1).
    #[setting(1..=ANY)]
    pub advise_after: u32,
    /// Retransmissions of one segment after which a connection is given up, where there is no `user_timeout` (R2).
    #[setting(0..=ANY)]
    pub max_retransmissions: u32,
    /// Retransmissions of a SYN segment after which a connection is given up.
    #[setting(0..=ANY)]
    pub syn_retries: u32,
    /// How long nothing may be acknowledged before a connection is given up.
    #[setting(positive, unset = "as `max_retransmissions` says")]
    pub user_timeout: Option<Duration>,
    /// Tell the peer the `user_timeout`, and heed what it tells (ENABLED of RFC 5482).
    pub user_timeout_option: bool,
    /// End a call that nobody has answered when ICMP says that its destination cannot be reached, even where that may
    /// pass (RFC 5461). RFC 9293 has it go on (MUST-56), and the user is told of the error.
    pub soft_errors_end_calls: bool,
    /// What a peer tells cannot make the user timeout shorter than this (L_LIMIT of RFC 5482).
    #[setting(positive)]
    pub min_user_timeout: Duration,
    /// What a peer tells cannot make the user timeout longer than this (U_LIMIT of RFC 5482).
    #[setting(positive)]
    pub max_user_timeout: Duration,
    /// Ask idle peers whether they are still there, where the user does not say.
    pub keep_alive: bool,
    /// When `keep_alive` asks.
    #[setting(with = keep_alive_times)]
    pub keep_alive_times: KeepAlive,
    /// Callers, over all passive opens, that may be in the handshake at one time.
    #[setting(1..=ANY)]
    pub half_open: u32,
    /// When a call is answered without keeping anything of it (RFC 4987); when-full: where there are `half_open`.
    #[setting(word)]
    pub syn_cookies: SynCookies,
    /// The least time between two challenges of one connection; copies of what it received lately are answered more
    /// often (RFC 5961 section 7).
    pub challenge_interval: Duration,
    /// Challenges that all connections together may send in a second, about; 0: no such limit.
    #[setting(0..=ANY)]
    pub challenge_limit: u32,
    /// Connections that may be in TIME-WAIT at one time; of more the oldest is forgotten.
    #[setting(0..=ANY)]
    pub time_waits: u32,
    /// How long a connection stays in TIME-WAIT: 2 MSL.
    pub time_wait: Duration,
    /// How long a connection whose user has closed both ways waits in FIN-WAIT-2 for the peer's FIN; zero: for ever, as
    /// in RFC 9293.
    pub fin_wait_2: Duration,
    /// Answer by the source route by which a peer's segments came (RFC 9293 section 3.9.2.1, MUST-53).
    ///
    /// Hosts of today switch this off, for it lets others answer for an address that is not theirs.
    pub return_routes: bool,
    /// IP time to live; 0: IP's default.
    #[setting(0..=255)]
    pub ttl: u8,
    /// IP type of service octet; its ECN field is TCP's own.
    #[setting(0..=255)]
    pub tos: u8,
    /// Keep a trace of every connection.
    ///
    /// See [`super::Trace`].
    pub trace: bool,
    /// Keep a record of what each connection does and what holds it back.
    ///
    /// See [`super::Record`]. It grows as long as the connection lasts, and stays when that is over: it is for runs
    /// that end.
    pub record: bool,
}

impl Config {
    /// The MSS of a peer with an address such as `ip` that does not say it (RFC 9293 section 3.7.1, MUST-15).
    pub(crate) const fn default_mss(&self, ip: IpAddr) -> u16 {
        match ip {
            IpAddr::V4(_) => self.default_mss,
            IpAddr::V6(_) => self.default_mss_ipv6,
        }
    }

    /// What congestion control is told of it, for segments of `smss` octets.
    pub(crate) const fn congestion_of(&self, smss: u32) -> congestion::Config {
        congestion::Config {
            smss,
            initial_window: self.initial_window,
            slow_start_limit: self.slow_start_limit,
            hystart: self.hystart,
            abe: self.abe,
            paced: self.pacing,
        }
    }
}

#[cfg(feature = "settings")]
impl Config {
    /// The profile that settings name, and on top of it what else they say. `defaults` is asked for first: all other
    /// settings have their defaults from it.
    ///
    /// # Errors
    /// [`BuildError`] names the setting that is wrong, and what would be right.
    pub fn of_settings(reader: &Reader<'_>) -> Result<Self, BuildError> {
        let key = Key::new("defaults", "The profile that all other settings have their defaults from.");
        let mut profile = "modern";
        reader.word(&key, &super::defaults::NAMES.map(|name| (name, name)), &mut profile)?;
        let mut config = super::defaults::named(profile).unwrap_or_else(super::defaults::modern);
        config.read(reader)?;
        Ok(config)
    }
}

#[cfg(feature = "settings")]
fn initial_window(window: &mut InitialWindow, reader: &Reader<'_>) -> Result<(), BuildError> {
    const SEGMENTS: &str = "initial_window_segments";
    reader.word(&Key::new("initial_window", "The congestion window at first."), InitialWindow::WORDS, window)?;
    let mut segments = match *window {
        InitialWindow::Segments(segments) => segments,
        InitialWindow::Rfc3390 | InitialWindow::Rfc6928 => 0,
    };
    let key = Key::new(SEGMENTS, "The congestion window at first, in segments; 0: as `initial_window` says.");
    reader.number(&key, 0..=65535, &mut segments)?;
    match *window {
        _ if segments > 0 => *window = InitialWindow::Segments(segments),
        InitialWindow::Segments(_) => {
            return Err(reader.wrong(SEGMENTS, &segments, "at least 1 where there is no `initial_window`"));
        }
        InitialWindow::Rfc3390 | InitialWindow::Rfc6928 => {}
    }
    Ok(())
}

#[cfg(feature = "settings")]
fn ack_timer(timer: &mut AckTimer, reader: &Reader<'_>) -> Result<(), BuildError> {
    let (mut delay, mut beat, mut phase) = match *timer {
        AckTimer::Timeout(delay) => (Some(delay), None, None),
        AckTimer::Heartbeat(Beat { period, phase }) => (None, Some(period), phase),
    };
    let (delay_key, beat_key) = ("delayed_ack", "delayed_ack_heartbeat");
    let key = Key::new(delay_key, "An acknowledgment is held back at most so long.");
    reader.time(&key, Duration::ZERO, &mut delay)?;
    reader.time(&Key::new(beat_key, "Or until the next beat of a clock with this period."), SOME, &mut beat)?;
    let key = Key::new("delayed_ack_phase", "When that clock first beats.").unset("random");
    reader.time(&key, Duration::ZERO, &mut phase)?;
    if let (Some(found), true) = (reader.peek(delay_key), reader.is_set(beat_key)) {
        return Err(reader.wrong(delay_key, found, "left out where there is a `delayed_ack_heartbeat`"));
    }
    *timer = match (delay, beat) {
        (Some(delay), None) => AckTimer::Timeout(delay),
        (Some(delay), Some(_)) if reader.is_set(delay_key) => AckTimer::Timeout(delay),
        (_, Some(period)) => AckTimer::Heartbeat(Beat { period, phase }),
        (None, None) => *timer,
    };
    Ok(())
}

#[cfg(feature = "settings")]
fn slow_beat(beat: &mut Option<Beat>, reader: &Reader<'_>) -> Result<(), BuildError> {
    const PERIOD: &str =
        "The retransmission, persist and TIME-WAIT timers expire on beats of this period; 0 s: when due.";
    let mut period = beat.map(|beat| beat.period).unwrap_or_default();
    let mut phase = beat.and_then(|beat| beat.phase);
    reader.time(&Key::new("slow_beat", PERIOD), Duration::ZERO, &mut period)?;
    let key = Key::new("slow_beat_phase", "When that clock first beats.").unset("random");
    reader.time(&key, Duration::ZERO, &mut phase)?;
    *beat = (!period.is_zero()).then_some(Beat { period, phase });
    Ok(())
}

#[cfg(feature = "settings")]
fn keep_alive_times(times: &mut KeepAlive, reader: &Reader<'_>) -> Result<(), BuildError> {
    reader.table("keep_alive_times", |table| {
        table.time(&Key::new("idle", "An idle peer is asked after so long without a word."), SOME, &mut times.idle)?;
        let key = Key::new("interval", "Again after so long without an answer.");
        table.time(&key, Duration::from_secs(1), &mut times.interval)?;
        let key = Key::new("count", "Questions without an answer after which a connection is given up.");
        table.number(&key, 2..=ANY, &mut times.count)
    })
}
