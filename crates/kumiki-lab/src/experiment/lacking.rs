//! Which values the rows of an experiment can never have, whatever its run brings.

use super::Experiment;
use super::flows::tcps;
use super::load::{Kind, Load};
use super::measure::is_mixed;
use crate::limit::NO_GOODPUT;
use crate::rows::ValueName;

/// Of loads that are not alike, what only one of them tells is told of that.
const OF_EACH: &str = "its loads are not alike, so that each has its own; `load` in [report] names one";

impl Experiment {
    /// What alone has that value, in words, where a row of `load`, or of all loads together, can have none; nothing
    /// where it may.
    #[must_use]
    pub fn lacks(&self, load: Option<&str>, value: &ValueName) -> Option<&'static str> {
        let own = || self.loads.iter().filter(|(name, _)| load.is_none_or(|load| load == *name)).map(|(_, it)| it);
        // Where nothing is known of a load, nothing is refused.
        own().next()?;
        let any = |is: fn(&Load) -> bool| own().any(is);
        let is_mixed = load.is_none() && is_mixed(&self.loads);
        let any_tcp = || own().any(|load| self.is_of_tcp(load));
        match value.field() {
            "queues" | "counters" if load.is_some() => {
                Some("what lines, switches and layers count is in rows of all loads together; leave `load` out")
            }
            "held" | "segments_sent" | "retransmissions" | "timeouts" if !any_tcp() => {
                Some("only connections of TCP have it")
            }
            "round_trip_ms" if !any_tcp() && !any(|load| load.kind == Kind::Ping) => {
                Some("only connections of TCP and pings have it")
            }
            "delay_ms" if !any(is_of_units) => Some("only datagrams have it, so udp and rtp"),
            "completions" | "completion_ms" if !any(has_end) => {
                Some("only what comes to an end has it: ttcp, ftam, rpc, and netperf with `stop`")
            }
            "with_opening_ms" if !any(|load| load.kind == Kind::Rpc) => Some("only rpc has it"),
            "completions" | "completion_ms" | "with_opening_ms" if is_mixed => Some(OF_EACH),
            "lost_percent" if !any(is_of_units) && !any(|load| load.kind == Kind::Ping) => {
                Some("only datagrams and echoes have it, so udp, rtp and ping")
            }
            "lost_percent" if !own().all(is_of_units) && !own().all(|load| load.kind == Kind::Ping) => Some(OF_EACH),
            "jain" if !any(|load| load.kind != Kind::Ping) => Some("echoes share nothing"),
            "limit_mbps" if !any(|load| load.kind != Kind::Ping) => Some(NO_GOODPUT),
            "jain" if is_mixed => Some(OF_EACH),
            _ => None,
        }
    }

    /// Whether what it writes may go by TCP, whose connections tell of themselves.
    fn is_of_tcp(&self, load: &Load) -> bool {
        let answering = load.to.iter().filter(|_| load.is_of_exchanges());
        let mut writing = load.from.iter().chain(answering);
        let is_stream = matches!(load.kind, Kind::Stream | Kind::File | Kind::Rpc);
        is_stream && writing.any(|(host, _)| tcps(&self.world, &self.hosts, host).next().is_some())
    }
}

fn is_of_units(load: &Load) -> bool {
    load.kind == Kind::Units
}

/// Whether its flows, or its exchanges, may come to their end.
fn has_end(load: &Load) -> bool {
    match load.kind {
        Kind::Stream => load.until_done || load.stop.is_some(),
        Kind::File | Kind::Rpc => true,
        Kind::Units | Kind::Ping => false,
    }
}
