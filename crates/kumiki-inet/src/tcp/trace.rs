//! What happened on one connection, for figures.

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::Seq;

use super::receive::AckReason;

/// What made an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The connection is established.
    Established,
    /// New data was sent.
    Sent,
    /// Something was retransmitted.
    Retransmitted,
    /// A pure acknowledgment was sent.
    Acked(AckReason),
    /// A probe of a closed window was sent.
    Probed,
    /// A tail loss probe was sent.
    LossProbe,
    /// A probe of the path was sent, in a packet of so many octets (RFC 4821).
    PathProbe(u32),
    /// Packets have at most so many octets from now on.
    PathMtu(u32),
    /// New data was acknowledged.
    Acknowledged,
    /// Data came in order.
    Received,
    /// Fast recovery began.
    Recovery,
    /// Recovery ended.
    Recovered,
    /// Recovery was for nothing: what it did to congestion control is undone.
    Undone,
    /// The retransmission timer expired.
    TimedOut,
    /// A segment came that was marked on its way (CE).
    Marked,
    /// The peer told of marks on what we sent (ECE, or its counter of marks moved).
    Echoed,
    /// The window was reduced for it.
    Reduced,
    /// CWR was sent.
    CwrSent,
    /// The connection is over.
    Ended,
}

/// The state of a connection just after an [`Event`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// When.
    pub at: Instant,
    /// What.
    pub event: Event,
    /// Congestion window, in octets.
    pub cwnd: u64,
    /// Slow start threshold, in octets.
    pub ssthresh: u64,
    /// SND.UNA.
    pub snd_una: Seq,
    /// SND.NXT.
    pub snd_nxt: Seq,
    /// SND.WND, in octets.
    pub snd_wnd: u32,
    /// RCV.NXT.
    pub rcv_nxt: Seq,
    /// RCV.WND, in octets.
    pub rcv_wnd: u32,
    /// Smoothed round-trip time, where known.
    pub srtt: Option<Duration>,
}

/// The entries of one connection, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace(pub Vec<Entry>);

/// How a connection stands, for those who watch from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// The state, as RFC 9293 section 3.3.2 names it.
    pub state: &'static str,
    /// Congestion window, in octets.
    pub cwnd: u64,
    /// Slow start threshold, in octets.
    pub ssthresh: u64,
    /// SND.WND, in octets.
    pub snd_wnd: u32,
    /// RCV.WND, in octets.
    pub rcv_wnd: u32,
    /// The most octets of text in a segment without options but timestamps.
    pub mss: u32,
    /// Octets sent and not acknowledged: FlightSize.
    pub flight: u32,
    /// Of these, those that the peer has told that it has (SACK).
    pub sacked: u32,
    /// Those that are taken for lost.
    pub lost: u32,
    /// Those that were retransmitted.
    pub resent: u32,
    /// What is being made good.
    pub recovering: Recovering,
    /// Smoothed round-trip time, where known.
    pub srtt: Option<Duration>,
    /// Its variation, where known.
    pub rttvar: Option<Duration>,
    /// Retransmission time-out, as backed off.
    pub rto: Duration,
    /// Retransmissions of the first unacknowledged segment, or probes of a closed window, that were not answered.
    pub unanswered: u32,
}

/// Which losses a connection is making good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovering {
    /// None.
    No,
    /// Fast recovery (RFC 5681 section 3.2, RFC 6675).
    Fast,
    /// After the retransmission timer expired.
    Timeout,
}
