//! Switches: of cells, and of Ethernet.

use core::fmt;
use core::str::FromStr;

use kumiki_link::atm::{self, OutputConfig, PortVc, Slots};
use kumiki_link::ethernet::{self, MOST_FRAME, SwitchConfig};
use kumiki_settings::{BuildError, Duration, Reader, SOME, Settings, Word};
use kumiki_wire::atm::cell::Vc;
use kumiki_wire::inet::ethernet::LEN;

use super::{Feedback, FeedbackKind, Managed, MediumMaker, Queue, Slotted, set};
use kumiki_config::ConfigError;

/// What switches.
#[derive(Clone, PartialEq, Debug)]
pub enum Switch {
    /// Cells.
    Atm(AtmSwitch),
    /// Frames of Ethernet.
    Ethernet(EthernetSwitch),
}

/// The switches, by name.
pub const SWITCHES: [(&str, MediumMaker<Switch>); 2] = [
    ("atm", |it| set(AtmSwitch::default(), it).map(Switch::Atm)),
    ("ethernet", |it| set(EthernetSwitch::default(), it).map(Switch::Ethernet)),
];

/// What an ATM switch does when a queue fills.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Word)]
pub enum Discard {
    /// It drops the cells for which there is no room.
    #[default]
    Tail,
    /// And the rest of their PDUs (partial packet discard).
    Ppd,
    /// And lets no new PDU in where many cells wait (early packet discard).
    Epd,
}

/// An ATM switch with permanent virtual channels.
#[derive(Clone, PartialEq, Debug, Default, Settings)]
#[settings(check = Self::has_thresholds_within_the_queue)]
pub struct AtmSwitch {
    /// Cells that may wait for each port.
    #[setting(0..=u32::MAX.into(), required = "how many cells may wait for each port")]
    pub queue_cells: u32,
    /// Time from a cell's arrival to the earliest slot it can leave in.
    pub latency: Duration,
    /// Permanent channels: one way with `->`, both ways with `<->`. Without any there is one for each pair of hosts
    /// that a load joins.
    #[setting(list, expected = "a channel at two ports, such as \"0 0/100 <-> 1 0/100\"")]
    pub channels: Vec<Channel>,
    /// What is done when a queue fills: cells are dropped, or with them the rest of their PDU (PPD), or whole PDUs
    /// before that (EPD).
    #[setting(word)]
    pub discard: Discard,
    /// For `epd`: from how many waiting cells on no new PDU is let in.
    #[setting(0..=u32::MAX.into(), unset = "half of `queue_cells`")]
    pub epd_cells: Option<u32>,
    /// From how many waiting cells on a cell is marked (EFCI).
    #[setting(0..=u32::MAX.into(), unset = "none is")]
    pub efci_cells: Option<u32>,
    /// What it does for sources of available bit rate.
    #[setting(flatten)]
    pub feedback: Feedback,
    /// What its ports are, as of a link.
    #[setting(
        text = Slotted::named,
        expected = "a medium with cells: oc3c-atm, oc12c-atm, oc48c-atm, ds3, ds3-plcp or taxi-140",
        unset = "each is what its line is"
    )]
    pub medium: Option<Slotted>,
}

/// A permanent channel through a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// Where its cells come in.
    pub from: PortVc,
    /// Where they go out.
    pub to: PortVc,
    /// Whether cells go the other way too.
    pub both: bool,
}

impl FromStr for Channel {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (both, ends) = match text.split_once("<->") {
            Some(ends) => (true, Some(ends)),
            None => (false, text.split_once("->")),
        };
        let (from, to) = ends.ok_or(())?;
        let end = |text: &str| {
            let (port, vc) = text.trim().split_once(' ')?;
            let Vc { vpi, vci } = Vc::circuit(vc.trim())?.get()?;
            Some(PortVc { port: port.parse().ok()?, vpi, vci })
        };
        Ok(Self { from: end(from).ok_or(())?, to: end(to).ok_or(())?, both })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, both } = self;
        let arrow = if *both { "<->" } else { "->" };
        write!(f, "{} {}/{} {arrow} {} {}/{}", from.port, from.vpi, from.vci, to.port, to.vpi, to.vci)
    }
}

impl AtmSwitch {
    fn has_thresholds_within_the_queue(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        let thresholds = [
            ("epd_cells", self.epd_cells),
            ("efci_cells", self.efci_cells),
            ("ci_cells", self.feedback.ci_cells),
            ("ni_cells", self.feedback.ni_cells),
        ];
        for (key, cells) in thresholds {
            if let Some(cells) = cells.filter(|cells| *cells >= self.queue_cells) {
                let expected = format!(
                    "less than queue_cells, {}: the queue never holds so many before one comes",
                    self.queue_cells
                );
                return Err(reader.wrong(key, &cells, &expected));
            }
        }
        match self.epd_cells.filter(|_| self.discard != Discard::Epd) {
            Some(cells) => Err(reader.wrong(
                "epd_cells",
                &cells,
                "left out: only early packet discard (discard = \"epd\") has a threshold",
            )),
            None => Ok(()),
        }
    }

    /// The switch whose port `n` sends in slots `n` of `lines`, or where there are none in those that its own medium
    /// has.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of the switch.
    pub fn element(&self, lines: &[Option<Slots>]) -> Result<atm::Switch, ConfigError> {
        let own = Slots::new(self.medium.unwrap_or_default().rate());
        let queue = u64::from(self.queue_cells);
        let usual = OutputConfig::new(own, queue);
        let output = OutputConfig {
            ppd: self.discard != Discard::Tail,
            // Romanow and Floyd: the threshold must leave room for the PDUs that are let in; half the queue is assumed.
            epd: (self.discard == Discard::Epd).then(|| self.epd_cells.map_or(queue / 2, u64::from)),
            efci: self.efci_cells.map(u64::from),
            feedback: self.feedback.config(),
            follow: self.feedback.follow_queues || self.feedback.tells != FeedbackKind::Nothing,
            ..usual
        };
        let outputs: Vec<_> =
            lines.iter().map(|slots| OutputConfig { slots: slots.unwrap_or(own), ..output }).collect();
        let mut switch = atm::Switch::new(self.latency, &outputs);
        for channel in &self.channels {
            let Channel { from, to, both } = *channel;
            let fault = |why: String| ConfigError::at(["channels"], format!("\"{channel}\": {why}"));
            if let Some(end) = [from, to].iter().find(|end| end.port >= lines.len()) {
                let last = lines.len().saturating_sub(1);
                return Err(fault(format!("there is no port {}", end.port)).expected(format!("ports 0 to {last}")));
            }
            if both {
                switch.connect_both(from, to);
            } else {
                switch.connect(from, to);
            }
        }
        Ok(switch)
    }
}

/// An Ethernet switch: a transparent bridge. There is no spanning tree.
#[derive(Clone, PartialEq, Debug, Settings)]
pub struct EthernetSwitch {
    /// Frames that may wait for each port, at that end of the port's line.
    #[setting(0..=u32::MAX.into(), required = "how many frames may wait for each port")]
    pub queue_frames: u32,
    /// What decides about them.
    #[setting(flatten)]
    pub managed: Managed,
    /// Time from when a frame has come whole until it can leave.
    pub latency: Duration,
    /// For how long a station is known that sends nothing.
    #[setting(positive)]
    pub ageing: Duration,
    /// How many stations are known at most; what goes to the others goes everywhere.
    #[setting(0..=1_000_000)]
    pub max_addresses: usize,
    /// The longest frame, with its header and without its check sequence; a longer one is dropped.
    #[setting(LEN as u64..=1 << 20, octets)]
    pub max_frame: usize,
}

impl Default for EthernetSwitch {
    fn default() -> Self {
        let SwitchConfig { latency, ageing, max_addresses, .. } = SwitchConfig::new(0);
        let (ageing, max_frame) = (ageing.max(SOME), MOST_FRAME);
        Self { queue_frames: 0, managed: Managed::default(), latency, ageing, max_addresses, max_frame }
    }
}

impl EthernetSwitch {
    /// What waits for each port.
    pub const fn queue(&self) -> Queue {
        Queue { queue_frames: Some(self.queue_frames), managed: self.managed }
    }

    /// The switch with so many ports.
    pub fn element(&self, ports: usize) -> ethernet::Switch {
        let Self { latency, ageing, max_addresses, max_frame, .. } = *self;
        ethernet::Switch::new(SwitchConfig { ports, latency, ageing, max_addresses, max_frame })
    }
}
