//! A load as a file has it.

use std::fmt;

use kumiki_graph::Duration;
use kumiki_settings::Keys;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A load: a program that writes, and one or several that read.
#[derive(Clone, PartialEq, Debug, Deserialize, Keys)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// `netperf`: writes for the whole time; `ttcp`: writes so much and ends; `udp`: datagrams; `rtp`: a stream of
    /// sound or pictures; `ping`: echoes; `rpc`: requests and responses; `ftam`: a file; `limit`: nothing runs, octets
    /// are counted.
    #[key(is = "a word", example = "\"netperf\"")]
    pub kind: String,
    /// Who writes: `host.node`; `s*.node` is every host `s` and a number.
    #[key(is = "a name, or a list", example = "[\"a.app\", \"b.app\"]")]
    pub from: Nodes,
    /// Who reads: the sessions of a single writer go to each in turn; several writers have one reader, or one each. For
    /// `ping` the node that answers.
    #[key(is = "a name, or a list", example = "\"b.app\"")]
    pub to: Nodes,
    /// By which of its addresses of IPv4 a reader's host is called: the address, or the end of the line that has it,
    /// `host.device`. One of each host.
    #[key(is = "an address or an end, or a list", default = "that of the shortest way", example = "\"b.l1\"")]
    pub to_address: Option<Nodes>,
    /// Where readers listen.
    #[key(is = "a number from 1 to 65535", default = "given out from 5001 on", example = "5001")]
    pub port: Option<u16>,
    /// One write, one datagram, one request; the data of one echo, of which `ping` has 56 B where nothing is said, as
    /// ping(8).
    #[key(is = "a size", example = "\"8 KiB\"")]
    pub message: String,
    /// `rpc`: a response, drawn for each.
    #[key(is = "a size, drawn", default = "`message`", example = "\"exponential 20 kB\"")]
    pub response: Option<String>,
    /// `rpc`: from a response to the next request of the session, drawn each time.
    #[key(is = "a time, drawn", default = "0 s", example = "\"exponential 1 s\"")]
    pub think: Option<String>,
    /// `ttcp`, in the place of `count`: a session, drawn for each, one octet where none is drawn.
    #[key(is = "a size, drawn", default = "none", example = "\"pareto 1.2 1 KiB\"")]
    pub size: Option<String>,
    /// `ftam`: the file.
    #[key(is = "a size", default = "must be given for `ftam`", example = "\"1 MiB\"")]
    pub file: Option<String>,
    /// `ftam`: `put`, the node that writes asks, or `get`, the one that reads.
    #[key(is = "a word", default = "`put`", example = "\"get\"")]
    pub way: Option<String>,
    /// `ttcp`: messages in a session; `udp`, `rtp`, `ping`: how many; `rpc`: exchanges in a session.
    #[key(is = "a number", default = "without end", example = "1000")]
    pub count: Option<u64>,
    /// `rtp`: a frame, which leaves in packets of `message` octets and the rest, one after the other.
    #[key(is = "a size", default = "each packet is one", example = "\"8000 B\"")]
    pub frame: Option<String>,
    /// `rtp`: what the stream is of, by the numbers of RFC 3551, which say how fast its clock is; those without a
    /// number have 90 kHz.
    #[key(is = "a number from 0 to 127", default = "33, MPEG-2", example = "0")]
    pub payload_type: Option<u8>,
    /// `rtp`: how long after it has come the first packet is played; what comes later than its own time is late.
    #[key(is = "a time", default = "100 ms", example = "\"50 ms\"")]
    pub playout: Option<String>,
    /// `udp`, `rtp`: octets of messages over time while it sends, the mean where they come at random.
    #[key(is = "a rate", default = "must be given for these", example = "\"10 Mb/s\"")]
    pub rate: Option<String>,
    /// `udp`: `periodic`, or at random, `poisson`.
    #[key(is = "a word", default = "`periodic`", example = "\"poisson\"")]
    pub arrivals: Option<String>,
    /// `udp`: how long it sends before it is silent, drawn each time.
    #[key(is = "a time, drawn", default = "always on", example = "\"exponential 500 ms\"")]
    pub on: Option<String>,
    /// `udp`: how long it is silent after that, drawn each time.
    #[key(is = "a time, drawn", default = "never", example = "\"exponential 500 ms\"")]
    pub off: Option<String>,
    /// `ping`: from one to the next.
    #[key(is = "a time", default = "1 s", example = "\"20 ms\"")]
    pub interval: Option<String>,
    /// Asked for by one read.
    #[key(is = "a size", default = "`message`", example = "\"64 KiB\"")]
    pub read: Option<String>,
    /// `limit`: which step of the ladder that `kumiki limit` prints.
    #[key(is = "a text", default = "must be given for `limit`", example = "\"AAL5\"")]
    pub step: Option<String>,
    /// How many each writer opens.
    #[serde(default = "one")]
    #[key(is = "a number", default = "1", example = "4")]
    pub sessions: u32,
    /// How many of them write; the others stay idle.
    #[key(is = "a number", default = "all", example = "1")]
    pub busy: Option<u32>,
    /// When the first session opens.
    #[key(is = "a time", default = "0 s", example = "\"10 s\"")]
    pub start: Option<String>,
    /// From then on nothing is opened or written.
    #[key(is = "a time", default = "never", example = "\"20 s\"")]
    pub stop: Option<String>,
    /// How long after the one before each opens, drawn each time: `exponential 10 ms` makes arrivals of transfers a
    /// Poisson process. Of several writers each has its own, where it is drawn; else their sessions are one row.
    #[key(is = "a time, drawn", default = "0 s", example = "\"exponential 10 ms\"")]
    pub stagger: Option<String>,
    /// Each opening is put off by a random time below this.
    #[key(is = "a time", default = "0 s", example = "\"5 ms\"")]
    pub jitter: Option<String>,
    /// The content: `ttcp`, `zeros`, `random`, `counter`, or `flags`, the octet 7E alone, the worst case of octet
    /// stuffing.
    #[key(is = "a word", default = "`ttcp`", example = "\"random\"")]
    pub pattern: Option<String>,
    /// Until when `ttcp` is timed: `receiver`, until the last octet is read, or `sender`, until the last message is
    /// written. For `ftam` since when: `request` begins with the request for the association, and not when that stands.
    #[key(is = "a word", default = "`receiver`", example = "\"sender\"")]
    pub clock: Option<String>,
    /// What is shown is so many times what was measured, which rows then have as `raw_mbps`: 2 where data that is
    /// turned around passes each layer twice, and one way is wanted.
    #[key(is = "a number", default = "1", example = "2")]
    pub times: Option<u32>,
    /// Send and receive buffers at both ends.
    #[key(is = "a size", default = "as TCP tunes them", example = "\"64 KiB\"")]
    pub socket_buffer: Option<String>,
    /// Small segments: `nagle`, `minshall`, `never`; with `nagle` the last piece of a long response waits for a round
    /// trip.
    #[key(is = "a word", default = "`nagle`", example = "\"never\"")]
    pub coalesce: Option<String>,
}

impl Workload {
    /// What `kind` may be.
    pub(crate) const KINDS: [&str; 8] = ["netperf", "ttcp", "udp", "rtp", "ping", "rpc", "ftam", "limit"];

    /// When it is to begin, where that is said.
    pub(crate) fn begins(&self) -> Option<Duration> {
        self.start.as_ref().and_then(|text| kumiki_config::quantity::parse(text).ok())
    }

    /// Each writer with each reader that it has: all where it is the only writer, the only one, or its own.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let (writers, readers) = (self.from.0.len(), self.to.0.len());
        self.from.0.iter().enumerate().flat_map(move |(number, from)| {
            let sessions = usize::try_from(self.sessions).unwrap_or(usize::MAX);
            let own = match (writers, readers) {
                // Those behind the last session get none.
                (1, all) => 0..all.min(sessions),
                (_, 1) => 0..1,
                _ => number..number.saturating_add(1),
            };
            let readers = self.to.0.get(own).unwrap_or_default();
            readers.iter().map(|to| (from.as_str(), to.as_str()))
        })
    }
}

/// One name or several, of nodes each as `host.node`. In a file a text alone is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nodes(pub Vec<String>);

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodesVisitor)
    }
}

struct NodesVisitor;

impl<'de> Visitor<'de> for NodesVisitor {
    type Value = Nodes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a list of names")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Nodes, E> {
        Ok(Nodes(vec![name.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Nodes, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = list.next_element()? {
            names.push(name);
        }
        Ok(Nodes(names))
    }
}

const fn one() -> u32 {
    1
}
