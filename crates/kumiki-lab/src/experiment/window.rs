//! What of a window was used, and what its acknowledgments waited for: from the counters of a run.

use core::fmt;

use super::measure::Measured;

/// The window of the connections of a writer, as it was used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowUse {
    /// W_eff: the octets in flight when acknowledgments came, on average. Only whole segments are.
    pub octets: f64,
    /// How long a segment waited at the reader for its acknowledgment, on average, in milliseconds.
    pub wait_ms: f64,
    /// 8 W_eff / goodput: the time in which the window goes round, in milliseconds. It is the round trip's, that of
    /// sending and handling a segment, and the wait.
    pub round_ms: f64,
}

impl WindowUse {
    /// That of the TCP that wrote most, and of the one that acknowledged most; `None` where none did.
    #[must_use]
    pub fn of(measured: &Measured) -> Option<Self> {
        let ratio = |host: &dyn Fn(&str) -> bool, above: &str, below: &str| {
            let counted =
                |key: &str, counts: &std::collections::BTreeMap<String, u64>| counts.get(key).copied().unwrap_or(0);
            measured
                .counters
                .iter()
                .filter(|(name, _)| host(name))
                .map(|(_, counts)| (counted(below, counts), counted(above, counts)))
                .max()
                .filter(|(below, _)| *below > 0)
                .map(|(below, above)| as_f64(above) / as_f64(below))
        };
        let writes = |name: &str| measured.writes(name);
        let reads = |name: &str| !measured.writes(name);
        let octets = ratio(&writes, "flight_at_acks", "new_acks")?;
        let wait_us = ratio(&reads, "acknowledgment_wait_us", "segments_acknowledged")?;
        (measured.total.goodput_mbps > 0.0).then(|| Self {
            octets,
            wait_ms: wait_us / 1e3,
            round_ms: octets * 8.0 / measured.total.goodput_mbps / 1e3,
        })
    }
}

/// What asking costs an XTP: control packets against data packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ControlShare {
    /// Data packets sent by the writer.
    pub data: u64,
    /// Control packets that its peer sent.
    pub control: u64,
}

impl ControlShare {
    /// That of the XTP that sent most data; `None` where none did.
    #[must_use]
    pub fn of(measured: &Measured) -> Option<Self> {
        let most = |key: &str, writes: bool| {
            let nodes = measured.counters.iter();
            nodes
                .filter(|(name, _)| measured.writes(name) == writes)
                .filter_map(|(_, counts)| counts.get(key).copied())
                .max()
        };
        let data = most("data_sent", true).filter(|data| *data > 0)?;
        let control = most("control_sent", false)?;
        Some(Self { data, control })
    }
}

impl fmt::Display for ControlShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data, control } = *self;
        let share = as_f64(control) / as_f64(data);
        write!(f, "{share:.3} control packets for each data packet")
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean for a printed figure")]
const fn as_f64(count: u64) -> f64 {
    count as f64
}

impl fmt::Display for WindowUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "W_eff {:.0} octets, an acknowledgment waits {:.1} ms, 8 W_eff / goodput = {:.1} ms",
            self.octets, self.wait_ms, self.round_ms
        )
    }
}
