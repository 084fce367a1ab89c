//! What can be chosen about a TCP. [`super::defaults`] has the profiles.

use core::net::IpAddr;
use kumiki_wire::inet::EcnUse;

use kumiki_graph::{Coalesce, Duration, KeepAlive};

use super::congestion::{self, Algorithm, InitialWindow};
use super::rtt;

/// Whether half of the largest window seen may be sent at once although it is no full segment (rule 3 of RFC 9293
/// section 3.8.6.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HalfWindow {
    /// Never.
    Off,
    /// Where coalescing does not hold it back, as the RFC has it.
    Rfc,
    /// Whatever is under way, as 4.3BSD has it.
    Always,
}

/// How losses are told where SACK was negotiated. Without, duplicate acknowledgments are counted (RFC 5681).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDetection {
    /// By time: a segment is lost when one sent sufficiently later was delivered (RFC 8985).
    Rack,
    /// By what was SACKed above it (RFC 6675).
    Sack,
}

/// What is done to find out the path's MTU; as Linux's `tcp_mtu_probing`, whose 0, 1 and 2 are the last three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateReduction {
    /// At once: nothing goes until enough has left the network (RFC 6675).
    AtOnce,
    /// In proportion to what is delivered, with the bound that RFC 9937 chooses for each acknowledgment.
    Prr,
    /// The same with RFC 6937's conservative reduction bound.
    PrrCrb,
    /// The same with RFC 6937's slow start reduction bound.
    PrrSsrb,
}

/// How the receive buffer becomes the receive window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// As it is.
    Exact,
    /// To a multiple of the MSS, and at least one.
    Up,
    /// To a multiple of the MSS, unless that is nothing.
    Down,
}

/// How far the right edge of the window must be able to move before a segment is sent only to say so; either is enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowUpdate {
    /// By so many full segments; 0: this rule is off.
    pub segments: u32,
    /// By so many per cent of the receive buffer; 0: this rule is off.
    pub percent: u32,
}

/// How far the right edge must be able to move before it does in a segment that is sent anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeRule {
    /// By min(half the buffer, MSS), RFC 9293 section 3.8.6.2.2.
    Rfc,
    /// At all, but a window below both a quarter of the buffer and one MSS is not offered, as 4.3BSD has it.
    Bsd,
}

/// When data is acknowledged without waiting for the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckRule {
    /// After so many segments; 1: each at once; 0: not by count (window updates and the timer remain).
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The local address where a user leaves it open on an active open to a peer of its version; unspecified: the layer
    /// below chooses by the route.
    pub address: IpAddr,
    /// Send buffer at first, in octets.
    pub send_buffer: u32,
    /// Receive buffer at first, in octets.
    pub receive_buffer: u32,
    /// What the send buffer may grow to by itself, where the user does not ask for one, in octets; up to `send_buffer`: not
    /// at all.
    pub send_buffer_most: u32,
    /// The same for the receive buffer.
    pub receive_buffer_most: u32,
    /// What all connections together may hold, about, in octets; 0: no bound.
    pub memory: u64,
    /// Send credit is granted only when at least this much of the send buffer is free (or all of it), in octets.
    pub low_water: u32,
    /// The socket layer hands data over in pieces of so many octets and TCP looks after each whether to send; 0: whole.
    pub send_granularity: u32,
    /// Cap on both MSS, in octets of segment data; `None`: what the layer below can carry.
    pub mss: Option<u16>,
    /// How the path's MTU is found out.
    pub path_mtu: PathMtu,
    /// Nothing that ICMP over IPv4 says, and no black hole, makes packets smaller than this, in octets; over IPv6 the least
    /// is 1280 at least.
    pub path_mtu_least: u32,
    /// Packets of so many octets are taken to arrive where longer ones may not: RFC 8899's BASE_PLPMTU.
    pub path_mtu_base: u32,
    /// How long the path is taken to carry no more than was found out: RFC 8899's PMTU_RAISE_TIMER.
    pub path_mtu_raise: Duration,
    /// The peer's MSS where it does not say, over IPv4.
    pub default_mss: u16,
    /// The peer's MSS where it does not say, over IPv6.
    pub default_mss_ipv6: u16,
    /// Offer and use timestamps, with PAWS (RFC 7323).
    pub timestamps: bool,
    /// Offer and use window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Offer and use selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Congestion control.
    pub congestion: Algorithm,
    /// The congestion window at first.
    pub initial_window: InitialWindow,
    /// At most so many segments are added to the congestion window for one acknowledgment in slow start (RFC 3465's L).
    pub slow_start_limit: u32,
    /// Leave the first slow start when round trips grow longer (HyStart++, RFC 9406).
    pub hystart: bool,
    /// What to do about explicit congestion notification, where the user does not say.
    pub ecn: EcnUse,
    /// Answer a congestion mark in congestion avoidance with less than a loss (RFC 8511).
    pub abe: bool,
    /// Send at a rate of a little more than the congestion window per round trip, and not in bursts.
    pub pacing: bool,
    /// Begin anew with the initial window after an idle time of one RTO (RFC 5681 section 4.1).
    pub slow_start_after_idle: bool,
    /// How losses are told where SACK was negotiated.
    pub loss_detection: LossDetection,
    /// Probe for losses at the tail before the retransmission timer expires (RFC 8985 section 7); only where RACK tells of
    /// losses.
    pub tail_loss_probe: bool,
    /// How long the peer may hold back the acknowledgment of a single segment (RFC 8985's TLP.max_ack_delay).
    pub max_ack_delay: Duration,
    /// How the window shrinks in fast recovery, where SACK was negotiated.
    pub rate_reduction: RateReduction,
    /// Undo what a recovery did to congestion control, where timestamps (RFC 3522), D-SACK (RFC 3708) or F-RTO show that
    /// nothing was lost (RFC 4015).
    pub undo: bool,
    /// After a time-out, send new data to find out whether it was for nothing (RFC 5682).
    pub f_rto: bool,
    /// Where RACK is not used, wait for more duplicate acknowledgments once reordering was seen.
    pub adapt_to_reordering: bool,
    /// Duplicate acknowledgments that mean a loss; 0: no fast retransmit.
    pub duplicate_threshold: u32,
    /// Whether recovery goes on at partial acknowledgments (RFC 6582); without, it ends at the first new one (Reno).
    pub new_reno: bool,
    /// Send new data at the first duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// What to do with small segments while data is unacknowledged, where the user does not say.
    pub coalesce: Coalesce,
    /// Whether half a window may go though it is no full segment.
    pub half_window: HalfWindow,
    /// How long sender silly window avoidance may hold data back.
    pub override_timeout: Duration,
    /// How the receive buffer becomes the window.
    pub rounding: Rounding,
    /// When a segment is sent only to move the window's right edge.
    pub window_update: WindowUpdate,
    /// When the right edge moves in a segment sent anyway.
    pub edge: EdgeRule,
    /// When data is acknowledged at once.
    pub ack: AckRule,
    /// When it is acknowledged at last.
    pub ack_timer: AckTimer,
    /// Constants of the retransmission time-out.
    pub rto: rtt::Config,
    /// The beat on which the retransmission, persist and TIME-WAIT timers expire; `None`: exactly when due.
    pub slow_beat: Option<Beat>,
    /// Retransmissions of one segment after which IP and the user are told that there is no answer (R1).
    pub advise_after: u32,
    /// Retransmissions of one segment after which the connection is given up (R2), where there is no user timeout.
    pub max_retransmissions: u32,
    /// As `max_retransmissions`, for SYN segments.
    pub syn_retries: u32,
    /// How long nothing may be acknowledged before the connection is given up; `None`: as the retransmissions say.
    pub user_timeout: Option<Duration>,
    /// Send and heed the user timeout option (ENABLED of RFC 5482).
    pub user_timeout_option: bool,
    /// What a peer tells cannot make the user timeout shorter than this (`L_LIMIT`).
    pub user_timeout_least: Duration,
    /// What a peer tells cannot make the user timeout longer than this (`U_LIMIT`).
    pub user_timeout_most: Duration,
    /// Ask idle peers whether they are still there, where the user does not say.
    pub keep_alive: bool,
    /// When `keep_alive` asks.
    pub keep_alive_times: KeepAlive,
    /// Callers, over all passive opens, that may be in the handshake at one time.
    pub half_open: u32,
    /// What is done where there are more.
    pub syn_cookies: SynCookies,
    /// The least time between two challenges of one connection; copies of what it received lately are answered more often
    /// (RFC 5961 section 7).
    pub challenge_interval: Duration,
    /// Challenges that all connections together may send in a second, about; 0: no such limit.
    pub challenge_limit: u32,
    /// Connections that may be in TIME-WAIT at one time; of more the oldest is forgotten.
    pub time_waits: u32,
    /// How long a connection stays in TIME-WAIT: 2 MSL.
    pub time_wait: Duration,
    /// How long a connection whose user has closed both ways waits in FIN-WAIT-2 for the peer's FIN; zero: for ever, as in
    /// RFC 9293.
    pub fin_wait_2: Duration,
    /// Answer by the source route by which a peer's segments came (MUST-53). Hosts of today switch this off, for it lets
    /// others answer for an address that is not theirs.
    pub return_routes: bool,
    /// IP time to live; 0: the provider's default.
    pub ttl: u8,
    /// IP type of service octet; its ECN field is TCP's own.
    pub tos: u8,
    /// Keep a [`super::Trace`] of every connection.
    pub trace: bool,
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
