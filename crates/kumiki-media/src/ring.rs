//! Rings of stations.

use kumiki_link::Impairment;
use kumiki_link::fddi::{Fddi, FddiError, StationConfig};
use kumiki_settings::{Duration, Settings};
use kumiki_wire::inet::ethernet::MacAddr;

use super::{FrameImpair, ImpairmentSchedule, Queue, Step, impaired, is_named, schedule};
use kumiki_config::ConfigError;

/// A ring of FDDI.
#[derive(Clone, PartialEq, Debug, Settings)]
pub struct Ring {
    /// Propagation from each station to the next.
    pub propagation: Duration,
    /// Latency of each station.
    pub latency: Duration,
    /// The target token rotation time.
    pub ttrt: Duration,
    /// What waits at each station.
    #[setting(flatten)]
    pub queue: Queue,
    /// What goes wrong on the way from the ring into a station.
    #[setting(with = impaired)]
    pub impair: Option<FrameImpair>,
}

impl Default for Ring {
    fn default() -> Self {
        let StationConfig { latency, ttrt, .. } = StationConfig::default();
        Self { propagation: Duration::ZERO, latency, ttrt, queue: Queue::default(), impair: None }
    }
}

impl Ring {
    /// The same, at each station of which `most` frames may wait where nothing is said.
    pub fn bounded(self, most: u32) -> Self {
        Self { queue: self.queue.bounded(most), ..self }
    }

    /// What goes wrong on it, and towards which station alone.
    pub fn impairment(&self) -> Option<(Option<&str>, Impairment)> {
        self.impair.as_ref().map(FrameImpair::impairment)
    }

    /// What goes wrong towards the station `end`, and how that changes; `None` where nothing ever does.
    pub fn toward(&self, end: &str, steps: &[Step]) -> Option<ImpairmentSchedule> {
        let own = self.impairment().filter(|(toward, _)| toward.is_none_or(|toward| is_named(toward, end)));
        schedule::of_path(steps, own.map(|(_, impairment)| impairment), end)
    }

    /// The ring of stations with these names and addresses, those by which their adapters know which frames to copy,
    /// and the seed of what is random on it.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of the ring.
    pub fn element(
        &self,
        stations: impl IntoIterator<Item = (String, Option<MacAddr>)>,
        seed: u64,
    ) -> Result<Fddi, ConfigError> {
        let Self { propagation, latency, ttrt, .. } = *self;
        let station = |address| StationConfig { address, latency, propagation, ttrt };
        let (names, addresses): (Vec<String>, Vec<_>) = stations.into_iter().unzip();
        let stations: Vec<_> = addresses.into_iter().map(station).collect();
        let queues = (0..stations.len()).map(|number| self.queue.discipline(seed, number)).collect();
        Fddi::with_disciplines(&stations, queues).map(|ring| ring.called(names)).map_err(said)
    }
}

fn said(error: FddiError) -> ConfigError {
    let key = match error {
        FddiError::Stations(_) => "ends",
        FddiError::Latency(_) => "latency",
        FddiError::Target { .. } => "ttrt",
    };
    ConfigError::at([key], error.to_string())
}
