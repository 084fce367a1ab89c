//! A load as a file has it.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A load: a program that writes, and one or several that read.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// `ttcp` (a number of messages, then the end), `netperf` (for a time), `ftam` (a file, put by the file service), `udp` (datagrams at a
    /// constant rate), `rtp` (packets of a stream of sound or pictures), `ping` (echoes of ICMP), `rpc` (requests and responses), or `limit` (nothing runs; octets are counted).
    pub kind: String,
    /// The node that writes, as `host.node`, or several, each with so many `sessions`. A layer's node (`a.tcp`) or a host alone gets a program
    /// on it; `s*.app` is every host `s` and a number.
    pub from: Nodes,
    /// The node that reads, or several: the sessions of one writer go to each in turn, and several writers have one reader or one each. For
    /// `ping` the node that answers.
    pub to: Nodes,
    /// The port where readers listen; given out from 5001 on unless given.
    pub port: Option<u16>,
    /// Octets that one call writes; for `ping` the data of an echo, for `ftam` that of an F-DATA request.
    pub message: String,
    /// Octets of a response, for `rpc`, drawn for each; those of `message`, which is the request, unless given.
    pub response: Option<String>,
    /// From a response to the next request, for `rpc`, drawn for each.
    pub think: Option<String>,
    /// Octets of a session, for `ttcp` in the place of `count`: drawn for each (see [`crate::quantity::Distribution`]).
    pub size: Option<String>,
    /// Octets of the file, for `ftam`; `netperf`, which writes for a time, does not look at it.
    pub file: Option<String>,
    /// Who asks for the file, for `ftam`: `put`, the node that writes, or `get`, the one that reads; `put` unless given.
    pub way: Option<String>,
    /// Messages per session, for all but `netperf` and `ftam`; without end for `udp` and `ping` unless given.
    pub count: Option<u64>,
    /// Octets of a frame, for `rtp`, which leaves in packets of `message` octets and the rest, one after the other; each packet is a frame unless given.
    pub frame: Option<String>,
    /// What a stream of `rtp` is of, by the numbers of RFC 3551; 33 (MP2T) unless given.
    pub payload_type: Option<u8>,
    /// How long after it has come the first packet of `rtp` is played: what comes later than its own time is late. 100 ms unless given.
    pub playout: Option<String>,
    /// The rate of messages in each session, for `udp` and `rtp`: their octets per time.
    pub rate: Option<String>,
    /// Whether messages of `udp` come evenly (`periodic`, the default) or at random, with `rate` as the mean (`poisson`).
    pub arrivals: Option<String>,
    /// How long `udp` sends before it is silent, drawn for each burst.
    pub on: Option<String>,
    /// How long it is silent after that, drawn each time.
    pub off: Option<String>,
    /// From one echo to the next, for `ping`; 1 s unless given.
    pub interval: Option<String>,
    /// Octets asked for by one read; the message size unless given.
    pub read: Option<String>,
    /// For `limit`: which step of the overhead ladder.
    pub step: Option<String>,
    /// How many sessions each writer opens.
    #[serde(default = "one")]
    pub sessions: u32,
    /// How many of those of each writer write; all unless given.
    pub busy: Option<u32>,
    /// How long after the beginning the first of them opens.
    pub start: Option<String>,
    /// How long after the beginning nothing more is opened or written.
    pub stop: Option<String>,
    /// How long after the one before it each session opens, drawn for each: `exponential 10 ms` makes it a Poisson process.
    pub stagger: Option<String>,
    /// Each opening is put off by a random time below this.
    pub jitter: Option<String>,
    /// The content: `ttcp`, `zeros`, `random`, `counter`, `flags`: the octet 7E alone, the worst case of octet stuffing.
    pub pattern: Option<String>,
    /// Whose clock `ttcp` is timed by: `receiver` (the default), until the last octet is read, or `sender`, until the last message
    /// is written; the end of the stream is then not in the time, nor what is still in the send buffer. For `ftam`: `request` begins with the request for the association, and not when that stands.
    pub clock: Option<String>,
    /// What is shown is so many times what was measured, which rows then carry as `raw_mbps`: 2 where data that is turned around passes
    /// each layer twice, and one way is wanted.
    pub times: Option<u32>,
    /// Socket buffers on both sides, for both directions.
    pub socket_buffer: Option<String>,
    /// What to do with small segments: `nagle`, `minshall`, `never`.
    pub coalesce: Option<String>,
}

impl Workload {
    /// What `kind` may be.
    pub(crate) const KINDS: [&str; 8] = ["netperf", "ttcp", "udp", "rtp", "ping", "rpc", "ftam", "limit"];

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

/// One node or several, each as `host.node`. In a file a text alone is one.
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
        f.write_str("\"host.node\", or a list of such")
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
