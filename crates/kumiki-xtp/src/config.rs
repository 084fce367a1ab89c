//! What can be chosen about an XTP.

use core::net::{IpAddr, Ipv6Addr};

use kumiki_graph::{Duration, ErrorControl, FlowControl};
use kumiki_settings::{Settings, Word};

use super::congestion;
use super::rtt;

/// The largest window.
const MAX_WINDOW: u64 = 1 << 30;
const ANY: u64 = u32::MAX as u64;

/// The words for what is done about lost data.
const ERROR_CONTROL: [(&str, ErrorControl); 3] =
    [("full", ErrorControl::Full), ("fast", ErrorControl::Fast), ("none", ErrorControl::None)];

/// The words for what keeps a sender from sending too much.
const FLOW_CONTROL: [(&str, FlowControl); 3] =
    [("window", FlowControl::Window), ("reservation", FlowControl::Reservation), ("none", FlowControl::None)];

/// What is retransmitted when something is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Recovery {
    /// Everything from the first octet on that is missing (go-back-N).
    GoBack,
    /// What is missing, as the receiver's spans show it.
    #[default]
    Selective,
}

/// All that can be chosen. `docs/xtp.md` says what the values do.
#[derive(Clone, PartialEq, Eq, Debug, Settings)]
pub struct Config {
    /// Our own address, where the layer below does not tell it and the user leaves it open.
    #[setting(text, expected = "an IP address", unset = "none")]
    pub address: IpAddr,
    /// Send buffer, where the user does not ask for one.
    #[setting(1..=MAX_WINDOW, octets)]
    pub send_buffer: u32,
    /// Receive buffer, where the user does not ask for one: what `alloc` allows.
    #[setting(1..=MAX_WINDOW, octets)]
    pub receive_buffer: u32,
    /// The user may write again only when at least this much of the send buffer is free (or all of it).
    #[setting(0..=MAX_WINDOW, octets)]
    pub low_water: u32,
    /// The most octets of tag and data in a packet, sent or received.
    #[setting(1..=65_535, octets, unset = "what the layer below carries")]
    pub maxdata: Option<u32>,
    /// What may be sent before the peer has said what it allows.
    ///
    /// P12.
    #[setting(1..=MAX_WINDOW, octets)]
    pub first_alloc: u32,
    /// Whether the checksum covers the data, and not the header alone (NOCHECK), where the user does not say.
    ///
    /// P30.
    pub check: bool,
    /// What is done about lost data, where the user does not say: it is retransmitted, and told of when asked (full) or
    /// at once (fast, FASTNAK); or nothing (none, NOERR).
    #[setting(words = ERROR_CONTROL)]
    pub error_control: ErrorControl,
    /// What keeps a sender from sending too much, where the user does not say: the buffer's room, what the user has
    /// granted (reservation, RES), or nothing (none, NOFLOW).
    #[setting(words = FLOW_CONTROL)]
    pub flow_control: FlowControl,
    /// The priority where the user does not say; the smaller goes first (SORT).
    ///
    /// P28.
    #[setting(0..=65_535, unset = "none")]
    pub priority: Option<u16>,
    /// What is retransmitted: all from the first loss on, or what is missing.
    #[setting(word)]
    pub recovery: Recovery,
    /// So many packets may overtake another before it is taken for lost.
    ///
    /// P23.
    #[setting(0..=1_000_000)]
    pub reordering: u32,
    /// Whether EDGE changes with each question, so that a lost question is answered with the next packet.
    ///
    /// P18.
    pub edge: bool,
    /// The congestion avoidance, with its version.
    #[setting(words = congestion::Kind::WORDS)]
    pub congestion: congestion::Kind,
    /// When the sender asks, and WTIMER.
    #[setting(flatten)]
    pub rtt: rtt::Config,
    /// How long after the last packet a question follows, where nothing more is to be sent; an eighth of the round trip
    /// where that is longer.
    ///
    /// P19.
    pub tail: Duration,
    /// A peer that was not heard of for so long is asked; 0 s: never.
    ///
    /// P21.
    pub ctimer: Duration,
    /// A peer that has answered nothing for so long is given up; 0 s: never.
    ///
    /// P20.
    pub ctimeout: Duration,
    /// A peer that answers but allows nothing for so long is given up; 0 s: never.
    ///
    /// P22.
    pub stall: Duration,
    /// How long a context that is over still answers.
    ///
    /// P14.
    pub closed_timeout: Duration,
    /// Octets a second that a context sends at most, where the user does not say; 0: no limit.
    ///
    /// P29.
    #[setting(0..=ANY)]
    pub rate: u32,
    /// Octets of that which may go at once; 0: no limit.
    #[setting(0..=ANY)]
    pub burst: u32,
    /// Octets a second that the peer may send, as the traffic segment tells it; 0: no limit.
    #[setting(0..=ANY)]
    pub in_rate: u32,
    /// Octets of that which may come at once; 0: no limit.
    #[setting(0..=ANY)]
    pub in_burst: u32,
    /// Octets a second that all contexts send together; 0: no limit.
    ///
    /// P28.
    #[setting(0..=ANY)]
    pub total_rate: u32,
    /// Octets of that which may go at once; 0: no limit.
    #[setting(0..=ANY)]
    pub total_burst: u32,
    /// The most receivers of what is sent to a group.
    ///
    /// P40.
    #[setting(1..=65_536)]
    pub receivers: u32,
    /// While fewer receive what is sent to a group, only calls are sent; with 0 it is sent to whoever hears it.
    ///
    /// P42.
    #[setting(0..=65_536)]
    pub min_receivers: u32,
    /// A receiver that has not answered so many handshakes, each after WTIMER, is given up; so often one asks again to
    /// join.
    ///
    /// P43.
    #[setting(1..=100)]
    pub receiver_tries: u32,
    /// The time over which receivers of a group spread their answers; 0 s: they answer at once.
    ///
    /// P44.
    pub slot: Duration,
    /// Contexts at a time, those that are over not among them.
    #[setting(1..=1 << 20)]
    pub max_contexts: u32,
    /// What all contexts together may hold, about: beyond it each may write 4 KiB, and from a quarter more on callers
    /// are not heard and what comes is dropped; data ahead of its turn has a quarter of it; 0 B: no bound.
    #[setting(0..=1 << 50, octets)]
    pub memory: u64,
    /// A caller that has not shown that it hears us is sent at most so many times the octets that came from it; 0: no
    /// limit.
    ///
    /// P49.
    #[setting(0..=1_000_000)]
    pub amplification: u32,
    /// Contexts that are over and still answer; beyond that the oldest is forgotten.
    #[setting(0..=1 << 20)]
    pub max_held: u32,
    /// The same key is sent a DIAG only once in this time.
    ///
    /// P35.
    #[setting(name = "interval", within = "diag")]
    pub diag_interval: Duration,
    /// DIAG packets that are sent in a second.
    #[setting(0..=1_000_000, name = "rate", within = "diag")]
    pub diag_rate: u32,
    /// IP time to live; 0: IP's default.
    #[setting(0..=255)]
    pub ttl: u8,
    /// IP type of service octet, its ECN field 0.
    #[setting(0..=255)]
    pub tos: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: Ipv6Addr::UNSPECIFIED.into(),
            // Paper 3 gives XTP 1 MB.
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            low_water: 1,
            maxdata: None,
            first_alloc: 1 << 16,
            check: true,
            error_control: ErrorControl::Full,
            flow_control: FlowControl::Window,
            priority: None,
            recovery: Recovery::Selective,
            reordering: 3,
            edge: true,
            congestion: congestion::Kind::default(),
            rtt: rtt::Config::new(8948),
            tail: Duration::from_millis(5),
            ctimer: Duration::from_secs(60),
            ctimeout: Duration::from_secs(60),
            stall: Duration::ZERO,
            closed_timeout: Duration::from_secs(60),
            rate: 0,
            burst: 0,
            in_rate: 0,
            in_burst: 0,
            total_rate: 0,
            total_burst: 0,
            receivers: 64,
            min_receivers: 1,
            receiver_tries: 6,
            slot: Duration::from_millis(2),
            max_contexts: 65_536,
            // As TCP's.
            memory: 1 << 30,
            // RFC 9000 section 8.1.
            amplification: 3,
            max_held: 65_536,
            diag_interval: Duration::from_secs(1),
            diag_rate: 100,
            ttl: 0,
            tos: 0,
        }
    }
}
