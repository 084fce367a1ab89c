//! Loads that run beside the measured one.

use serde::Deserialize;

use super::{Targets, Workload};

/// A load that runs beside the measured one, as `[beside.NAME]`: as long as that does, and measured in the same time.
///
/// Its goodput stands in the notes of a point, and what it read in the counters of its row, as `beside.NAME`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// `netperf` or `udp`: those that have no end of their own.
    pub kind: String,
    /// The node that writes, as `host.node`.
    pub from: String,
    /// The node that reads, or several, as for the workload.
    pub to: Targets,
    /// Octets that one call writes.
    pub message: String,
    /// The rate of messages in each session, for `udp`.
    pub rate: Option<String>,
    /// Octets asked for by one read; the message size unless given.
    pub read: Option<String>,
    /// How many sessions.
    #[serde(default = "super::one")]
    pub sessions: u32,
    /// How long after the beginning the first of them opens.
    pub start: Option<String>,
    /// How long after the one before it each further session opens.
    pub stagger: Option<String>,
    /// Each opening is put off by a random time below this.
    pub jitter: Option<String>,
    /// The content, as for the workload.
    pub pattern: Option<String>,
    /// Socket buffers on both sides, for both directions.
    pub socket_buffer: Option<String>,
    /// What to do with small segments, as for the workload.
    pub coalesce: Option<String>,
}

impl Beside {
    /// The same as a workload, with the times and the seed of `main`.
    #[must_use]
    pub fn workload(&self, main: &Workload) -> Workload {
        Workload {
            kind: self.kind.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            message: self.message.clone(),
            file: None,
            way: None,
            times: None,
            count: None,
            rate: self.rate.clone(),
            interval: None,
            read: self.read.clone(),
            step: None,
            sessions: self.sessions,
            busy: None,
            stagger: self.stagger.clone(),
            jitter: self.jitter.clone(),
            pattern: self.pattern.clone(),
            clock: None,
            warm_up: main.warm_up.clone(),
            duration: main.duration.clone(),
            socket_buffer: self.socket_buffer.clone(),
            coalesce: self.coalesce.clone(),
            repeat: None,
            confidence: None,
            seed: main.seed,
        }
    }
}
