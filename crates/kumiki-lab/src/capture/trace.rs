//! What each TCP connection of a run noted of itself: as rows, as figures, and for xplot.
//!
//! | | |
//! |---|---|
//! | Rows | one for each [`Event`], with the state just after it; JSON Lines and CSV |
//! | Figures | congestion window over time, sequence numbers over time |
//! | xplot | a time-sequence graph in the manner of tcptrace |
//! | Left out | connections of other protocols |
//!
//! Sequence numbers count octets of the connection: 0 is the first octet of data in each direction. They go on beyond
//! 2^32.

use core::net::SocketAddr;
use std::io::Write;

use kumiki_inet::tcp::{AckReason, Event, Tcp, TraceEntry};
use kumiki_sim::{HostId, World};
use kumiki_wire::inet::tcp::Seq;
use serde::Serialize;

use super::plot;
use crate::figure::Figure;

/// One end of a connection, and what it noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connection {
    /// The host.
    pub host: String,
    /// The TCP node.
    pub node: String,
    /// Its own socket.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// What happened, in order.
    pub entries: Vec<TraceEntry>,
}

/// One line of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// The host and its TCP node, `host.node`.
    pub end: String,
    /// Its own socket.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// When, in nanoseconds since the start of the run.
    pub at_ns: u64,
    /// What: a word or two.
    pub event: &'static str,
    /// The congestion window, in octets; `None` where there is no bound.
    pub cwnd_octets: Option<u64>,
    /// The slow start threshold, in octets; `None` as long as nothing was lost.
    pub ssthresh_octets: Option<u64>,
    /// SND.NXT - SND.UNA, in octets.
    pub flight_octets: u64,
    /// SND.UNA: so much the peer has acknowledged.
    pub snd_una: u64,
    /// SND.NXT: so much was sent.
    pub snd_nxt: u64,
    /// SND.WND, in octets.
    pub snd_wnd_octets: u32,
    /// RCV.NXT: so much has come in order.
    pub rcv_nxt: u64,
    /// RCV.WND, in octets.
    pub rcv_wnd_octets: u32,
    /// The smoothed round-trip time in nanoseconds, once it is known.
    pub srtt_ns: Option<u64>,
}

/// Why rows could not be laid out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// As CSV.
    #[error("the trace could not be written as CSV: {0}")]
    Csv(#[from] csv::Error),
    /// As JSON.
    #[error("the trace could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Takes the traces of all TCPs of hosts of `world` that keep any (`tcp::Config::trace`): by host and node, those of
/// connections that are over first. They are not in these any more, for a long run has none to spare in memory.
pub fn collect(world: &mut World) -> Vec<Connection> {
    let mut all = Vec::new();
    for id in (0..world.hosts().count()).map(HostId) {
        let Some(host) = world.host_mut(id) else {
            continue;
        };
        let keeps = |node: &str| host.graph.find::<Tcp>(node).is_some_and(|tcp| tcp.traces().next().is_some());
        let names = host.graph.accounts().map(|(node, _)| node).filter(|node| keeps(node));
        let names: Vec<String> = names.map(str::to_owned).collect();
        for node in names {
            let found = host.graph.node(&node);
            let tcp: Option<&mut Tcp> = found.and_then(|found| host.graph.protocol_mut(found));
            let traces = tcp.map(Tcp::take_traces).unwrap_or_default();
            all.extend(traces.into_iter().map(|(local, remote, trace)| Connection {
                host: host.name.clone(),
                node: node.clone(),
                local,
                remote,
                entries: trace.0,
            }));
        }
    }
    all
}

/// All rows as JSON Lines.
///
/// # Errors
/// [`TraceError::Json`], which no row gives cause for.
pub fn to_jsonl(connections: &[Connection]) -> Result<String, TraceError> {
    let mut out = String::new();
    for row in connections.iter().flat_map(Connection::each_row) {
        out.push_str(&serde_json::to_string(&row)?);
        out.push('\n');
    }
    Ok(out)
}

/// All rows as CSV with a header line.
///
/// # Errors
/// [`TraceError::Csv`], which no row gives cause for.
pub fn to_csv(connections: &[Connection]) -> Result<String, TraceError> {
    let mut octets = Vec::new();
    write_csv(connections, &mut octets)?;
    Ok(String::from_utf8_lossy(&octets).into_owned())
}

/// The same to `out`, row by row.
///
/// # Errors
/// [`TraceError::Csv`]: those of `out`.
pub fn write_csv(connections: &[Connection], out: impl Write) -> Result<(), TraceError> {
    let mut out = csv::Writer::from_writer(out);
    for row in connections.iter().flat_map(Connection::each_row) {
        out.serialize(row)?;
    }
    Ok(out.flush().map_err(csv::Error::from)?)
}

impl Connection {
    /// `host local > remote`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {} > {}", self.host, self.local, self.remote)
    }

    /// Its rows, in order.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.each_row().collect()
    }

    /// The same one by one: a row takes several times what its entry does.
    pub(super) fn each_row(&self) -> impl Iterator<Item = Row> + '_ {
        let first = self.entries.first();
        let [snd, received] = [first.map(|it| it.snd_una), first.map(|it| it.rcv_nxt)].map(Option::unwrap_or_default);
        let (mut una, mut nxt, mut rcv) = (Count::from(snd), Count::from(snd), Count::from(received));
        let end = format!("{}.{}", self.host, self.node);
        let row = move |entry: &TraceEntry| {
            let (snd_una, snd_nxt) = (una.to(entry.snd_una), nxt.to(entry.snd_nxt));
            Row {
                end: end.clone(),
                local: self.local,
                remote: self.remote,
                at_ns: entry.at.as_nanos(),
                event: word(entry.event),
                cwnd_octets: bounded(entry.cwnd),
                ssthresh_octets: bounded(entry.ssthresh),
                flight_octets: snd_nxt.saturating_sub(snd_una),
                snd_una,
                snd_nxt,
                snd_wnd_octets: entry.snd_wnd,
                rcv_nxt: rcv.to(entry.rcv_nxt),
                rcv_wnd_octets: entry.rcv_wnd,
                srtt_ns: entry.srtt.map(kumiki_graph::Duration::as_nanos),
            }
        };
        self.entries.iter().map(row)
    }

    /// The congestion window, the slow start threshold, the peer's receive window and the bytes in flight, over time.
    #[must_use]
    pub fn window_figure(&self) -> Figure {
        plot::window(&self.name(), || self.each_row())
    }

    /// What was sent and acknowledged over time. What was retransmitted is marked at SND.UNA, where the gap is that
    /// it begins to fill.
    #[must_use]
    pub fn sequence_figure(&self) -> Figure {
        plot::sequence(&self.name(), || self.each_row())
    }

    /// As [`Connection::sequence_figure`], for xplot: white arrows and lines for data, red ones for what is
    /// retransmitted, green for acknowledgments, yellow for the window's right edge.
    #[must_use]
    pub fn to_xpl(&self) -> String {
        plot::xpl(&self.name(), &self.rows())
    }
}

/// A window; none where it is beyond what sequence numbers can count, which stands for "no bound".
fn bounded(window: u64) -> Option<u64> {
    (window < 1 << 32).then_some(window)
}

/// A sequence number that does not wrap around.
struct Count {
    last: Seq,
    at: i64,
}

impl Count {
    const fn from(first: Seq) -> Self {
        Self { last: first, at: 0 }
    }

    fn to(&mut self, seq: Seq) -> u64 {
        self.at += i64::from(seq.distance_from(self.last));
        self.last = seq;
        u64::try_from(self.at).unwrap_or(0)
    }
}

const fn word(event: Event) -> &'static str {
    match event {
        Event::Established => "established",
        Event::Sent => "sent",
        Event::Retransmitted => "retransmitted",
        Event::Acked(AckReason::Timer) => "acked: timer",
        Event::Acked(AckReason::Data) => "acked: data",
        Event::Acked(AckReason::WindowUpdate) => "acked: window update",
        Event::Acked(AckReason::OutOfOrder) => "acked: out of order",
        Event::Acked(AckReason::Fin) => "acked: FIN",
        Event::Acked(AckReason::Syn) => "acked: SYN",
        Event::Acked(AckReason::Unacceptable) => "acked: unacceptable",
        Event::Acked(AckReason::Marks) => "acked: marks",
        Event::Probed => "probed",
        Event::LossProbe => "loss probe",
        Event::PathProbe(_) => "path probe",
        Event::PathMtu(_) => "path MTU",
        Event::Acknowledged => "acknowledged",
        Event::Received => "received",
        Event::Recovery => "recovery",
        Event::Recovered => "recovered",
        Event::Undone => "undone",
        Event::TimedOut => "timed out",
        Event::Marked => "came marked (CE)",
        Event::Echoed => "told of marks (ECE)",
        Event::Reduced => "reduced for marks",
        Event::CwrSent => "CWR sent",
        Event::Ended => "ended",
    }
}

/// The word for an [`Event::Retransmitted`].
pub(super) const RETRANSMITTED: &str = word(Event::Retransmitted);
