//! What can be chosen about an XTP.

use core::net::{IpAddr, Ipv6Addr};

use kumiki_graph::{Duration, ErrorControl, FlowControl};

use super::congestion;
use super::rtt;

/// What is sent again when something is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Recovery {
    /// Everything from the first octet on that is missing (go-back-N).
    GoBack,
    /// What is missing, as the receiver's spans show it.
    #[default]
    Selective,
}

/// All that can be chosen. `docs/xtp.md` says what the values do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The local address where a user leaves it open on an active open and the layer below knows no routes; unspecified: there is none.
    pub address: IpAddr,
    /// Send buffer where the user does not ask for one, in octets.
    pub send_buffer: u32,
    /// Receive buffer where the user does not ask for one, in octets.
    pub receive_buffer: u32,
    /// Send credit is granted only when at least this much of the send buffer is free (or all of it), in octets.
    pub low_water: u32,
    /// The most octets of tag and data in a packet, sent or received; `None`: what the layer below carries.
    pub maxdata: Option<u32>,
    /// What may be sent before the peer has said what it allows, in octets (P12).
    pub first_alloc: u32,
    /// Whether the checksum covers the data, where the user does not say (P30).
    pub check: bool,
    /// What is done about lost data, where the user does not say.
    pub error_control: ErrorControl,
    /// What keeps a sender from sending too much, where the user does not say.
    pub flow_control: FlowControl,
    /// The priority, where the user does not say; `None`: none (P28).
    pub priority: Option<u16>,
    /// What is sent again.
    pub recovery: Recovery,
    /// So many packets may overtake another before it is taken for lost (P23).
    pub reordering: u32,
    /// Toggle EDGE with each question (P18).
    pub edge: bool,
    /// Congestion control.
    pub congestion: congestion::Kind,
    /// When the sender asks, and WTIMER.
    pub rtt: rtt::Config,
    /// How long after the last packet a question follows, where nothing more is to be sent; an eighth of the round trip where that is
    /// longer (P19).
    pub tail: Duration,
    /// CTIMER: a peer that was not heard of for so long is asked (P21); zero: never.
    pub ctimer: Duration,
    /// CTIMEOUT: a peer that has answered nothing for so long is given up (P20); zero: never.
    pub ctimeout: Duration,
    /// A peer that answers but allows nothing for so long is given up (P22); zero: never.
    pub stall: Duration,
    /// How long a context that is over still answers (P14).
    pub hold: Duration,
    /// How fast a context sends, in octets a second, where the user does not say; 0: no limit (P29).
    pub rate: u32,
    /// How much of that may go at once, in octets; 0: no limit.
    pub burst: u32,
    /// How fast the peer may send, in octets a second, as the traffic segment tells it; 0: no limit.
    pub in_rate: u32,
    /// How much of that may come at once, in octets.
    pub in_burst: u32,
    /// How fast all contexts together send, in octets a second; 0: no limit (P28).
    pub total_rate: u32,
    /// How much of that may go at once, in octets.
    pub total_burst: u32,
    /// The most receivers of one transmitter (P40).
    pub receivers: u32,
    /// A transmitter sends nothing behind FIRST while it has fewer receivers (P42).
    pub least_receivers: u32,
    /// A receiver that has not answered so many questions, each after WTIMER, is given up (P43); so often a receiver asks again to join.
    pub receiver_tries: u32,
    /// Answers of a receiver are delayed by a random time below this, so that those of many do not come at once (P44).
    pub slot: Duration,
    /// How many contexts there may be at a time, those that are over not among them.
    pub max_contexts: u32,
    /// What all contexts together may hold, about, in octets; 0: no bound.
    pub memory: u64,
    /// A caller that has not shown that it hears us is sent at most so many times the octets of the packets that came from it (P49); 0: no limit.
    pub amplification: u32,
    /// How many contexts that are over still answer; beyond that the oldest is forgotten.
    pub max_held: u32,
    /// The same key is sent a DIAG only once in this time (P35).
    pub diag_interval: Duration,
    /// How many DIAG packets are sent in a second.
    pub diag_rate: u32,
    /// IP time to live; 0: IP's default.
    pub ttl: u8,
    /// IP type of service octet, without its ECN field.
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
            hold: Duration::from_secs(60),
            rate: 0,
            burst: 0,
            in_rate: 0,
            in_burst: 0,
            total_rate: 0,
            total_burst: 0,
            receivers: 64,
            least_receivers: 1,
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
