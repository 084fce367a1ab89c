//! Lines that carry HDLC-like frames in the payload of SONET/SDH (RFC 2615, RFC 1619).

use kumiki_graph::Instant;
use kumiki_link::sonet::{FaultInterval, Level, LineConfig, LineFault, OctetClock, Section, SectionConfig};
use kumiki_link::{Carrier, Element, Serial, SerialConfig};
use kumiki_settings::{BuildError, Duration, Reader, Settings};
use kumiki_wire::ppp::hdlc::{FcsKind, Framing};

use super::{FCS, FLAGS, FrameImpair, Queue, impaired, time};

/// A line with packets over SONET/SDH.
#[derive(Clone, PartialEq, Debug, Settings)]
#[settings(check = Self::can_be_spoilt)]
pub struct Pos {
    /// The level of its hierarchy.
    #[setting(skip)]
    pub level: Level,
    /// Propagation, one way.
    pub propagation: Duration,
    /// Bits of the frame check sequence; RFC 2615 wants 32.
    #[setting(words = FCS)]
    pub fcs: FcsKind,
    /// Flags between two frames.
    #[setting(words = FLAGS, name = "flags")]
    pub opening_flag: bool,
    /// Whether the line is run octet by octet, with its frames of SONET/SDH, their overhead and alarms; times are the
    /// same.
    #[setting(unset = "where bits are wrong or the signal is lost")]
    pub octet_exact: Option<bool>,
    /// Whether its payload is scrambled (RFC 2615, C2 16) or not (RFC 1619, C2 CF).
    pub scrambled: bool,
    /// The chance of each bit of it to be wrong.
    #[setting(share, unset = "0 %")]
    pub bit_errors: Option<f64>,
    /// When it has no signal, in both directions.
    #[setting(list = outage, expected = "a stretch of time such as \"2 s .. 2.5 s\"")]
    pub outages: Vec<FaultInterval>,
    /// What waits at each end.
    #[setting(flatten)]
    pub queue: Queue,
    /// What goes wrong on it.
    #[setting(with = impaired)]
    pub impair: Option<FrameImpair>,
}

/// `"2 s .. 2.5 s"`.
fn outage(text: &str) -> Option<FaultInterval> {
    let (from, until) = text.split_once("..")?;
    let [from, until] = [time(from)?, time(until)?].map(|after| Instant::ZERO + after);
    (from < until).then_some(FaultInterval { from, until, what: LineFault::NoSignal })
}

impl Pos {
    pub(super) const fn at(level: Level) -> Self {
        Self {
            level,
            propagation: Duration::ZERO,
            fcs: FcsKind::Fcs32,
            opening_flag: false,
            octet_exact: None,
            scrambled: true,
            bit_errors: None,
            outages: Vec::new(),
            queue: Queue::NONE,
            impair: None,
        }
    }

    const fn is_spoilt(&self) -> bool {
        self.bit_errors.is_some() || !self.outages.is_empty()
    }

    fn can_be_spoilt(&self, reader: &Reader<'_>) -> Result<(), BuildError> {
        if self.is_spoilt() && self.octet_exact == Some(false) {
            let problem = "false, and only a line that is run octet by octet can have wrong bits or no signal";
            return Err(reader.wrong("octet_exact", &problem, "true"));
        }
        Ok(())
    }

    /// With the seed of what is random on it, and when it has no signal beside its own `outages`.
    pub(super) fn element(&self, seed: u64, outages: &[(Instant, Instant)]) -> Box<dyn Element> {
        let clock = OctetClock::new(self.level);
        let framing = Framing { fcs: self.fcs, opening_flag: self.opening_flag, ..Framing::default() };
        let (propagation, say_sent) = (self.propagation, true);
        let [from_0, from_1] = [0, 1].map(|end| self.queue.discipline(seed, end));
        if !self.is_spoilt() && outages.is_empty() && self.octet_exact != Some(true) {
            let config = SerialConfig { carrier: Carrier::Sonet { clock, framing }, propagation, say_sent };
            return Box::new(Serial::with_disciplines(config, from_0, from_1));
        }
        let end = LineConfig::ppp(self.level, self.scrambled);
        let usual = SectionConfig::ppp(self.level);
        let config = SectionConfig { clock, framing, propagation, say_sent, ends: [end, end], seed, ..usual };
        let mut line = Section::with_disciplines(config, from_0, from_1);
        let more = outages.iter().map(|&(from, until)| FaultInterval { from, until, what: LineFault::NoSignal });
        let mut all: Vec<FaultInterval> = self.outages.iter().copied().chain(more).collect();
        all.sort_by_key(|trouble| trouble.from);
        for port in 0..2 {
            line.spoil(port, self.bit_errors.unwrap_or(0.0), &all);
        }
        Box::new(line)
    }
}
