//! Media, as scenarios and services name them: each a type of its own, with the settings that it has and no others.
//!
//! | Medium | Names | What goes over it |
//! |---|---|---|
//! | [`Cells`] | `oc3c-atm`, `oc12c-atm`, `oc48c-atm`, `ds3`, `ds3-plcp`, `taxi-140` | cells, in slots |
//! | [`Pos`] | `oc3c-pos`, `oc12c-pos`, `oc48c-pos`, `oc192c-pos` | HDLC-like frames in the payload of SONET/SDH (PPP, MAPOS) |
//! | [`Synchronous`] | `sync-64k`, `sync-2m`, `synchronous` | HDLC frames bit by bit (LAPB) |
//! | [`Frames`] | `oc3c`, `oc12c`, `oc48c`, `point-to-point`, `trace` | frames of no particular form |
//! | [`Ring`] | `fddi` | frames, when the token comes |
//! | [`Switch`] | `atm`, `ethernet` | cells; frames of Ethernet |
//!
//! A new medium is a type with `#[derive(Settings)]`, what makes its element, and a row in [`LINES`], [`RINGS`] or
//! [`SWITCHES`]; what its octets cost, the laboratory's `limit` says. `docs/settings.md` lists all settings from here.

mod abr;
mod cells;
mod clock;
mod frames;
mod impair;
mod pos;
mod queue;
mod ring;
mod schedule;
mod switch;
mod synchronous;
#[cfg(test)]
mod tests;
mod waits;

pub use abr::{Abr, Feedback, FeedbackKind, Service};
pub use cells::{Cells, Device, Slotted};
pub use clock::Clock;
pub use frames::{Framed, Frames};
pub use impair::{FrameImpair, Impair};
pub use impair::{is_end, is_named};
use kumiki_graph::Instant;
use kumiki_link::sonet::Level;
use kumiki_link::{Element, Impairment};
use kumiki_settings::{BuildError, Duration, HasSettings, Reader, Setting, Settings};
use kumiki_wire::ppp::hdlc::FcsKind;
pub use pos::Pos;
pub use queue::{Aqm, Managed, Queue, Rule};
pub use ring::Ring;
pub use schedule::Step;
pub use switch::{AtmSwitch, Channel, Discard, EthernetSwitch, SWITCHES, Switch};
pub use synchronous::{Switched, Synchronous};
pub use waits::{Span, Waits, joined};

use kumiki_config::{ConfigError, settings};

/// What is between two ends.
#[derive(Clone, PartialEq, Debug)]
pub enum Line {
    /// Cells.
    Cells(Cells),
    /// HDLC-like frames in SONET/SDH.
    Pos(Pos),
    /// HDLC frames bit by bit.
    Synchronous(Synchronous),
    /// Frames of no particular form.
    Frames(Frames),
}

/// What goes wrong at first, and from which times on something else.
pub type ImpairmentSchedule = (Impairment, Vec<(Instant, Impairment)>);

/// What makes a medium of its settings.
pub type MediumMaker<T> = fn(&Reader<'_>) -> Result<T, BuildError>;

/// The media of links, by name.
pub const LINES: [(&str, MediumMaker<Line>); 18] = [
    ("oc3c-atm", |it| set(Cells::on(Slotted::Oc3c), it).map(Line::Cells)),
    ("oc12c-atm", |it| set(Cells::on(Slotted::Oc12c), it).map(Line::Cells)),
    ("oc48c-atm", |it| set(Cells::on(Slotted::Oc48c), it).map(Line::Cells)),
    ("ds3", |it| set(Cells::on(Slotted::Ds3), it).map(Line::Cells)),
    ("ds3-plcp", |it| set(Cells::on(Slotted::Ds3Plcp), it).map(Line::Cells)),
    ("taxi-140", |it| set(Cells::on(Slotted::Taxi140), it).map(Line::Cells)),
    ("oc3c", |it| set(Frames::on(Framed::Oc3c), it).map(Line::Frames)),
    ("oc12c", |it| set(Frames::on(Framed::Oc12c), it).map(Line::Frames)),
    ("oc48c", |it| set(Frames::on(Framed::Oc48c), it).map(Line::Frames)),
    ("oc3c-pos", |it| set(Pos::at(Level::Sts3c), it).map(Line::Pos)),
    ("oc12c-pos", |it| set(Pos::at(Level::Sts12c), it).map(Line::Pos)),
    ("oc48c-pos", |it| set(Pos::at(Level::Sts48c), it).map(Line::Pos)),
    ("oc192c-pos", |it| set(Pos::at(Level::Sts192c), it).map(Line::Pos)),
    ("sync-64k", |it| set(Synchronous::at(64_000), it).map(Line::Synchronous)),
    ("sync-2m", |it| set(Synchronous::at(2_000_000), it).map(Line::Synchronous)),
    ("synchronous", |it| set(synchronous::AtRate::default(), it).map(|it| Line::Synchronous(it.into()))),
    ("point-to-point", |it| set(frames::AtRate::default(), it).map(|it| Line::Frames(it.into()))),
    ("trace", |it| set(frames::Recorded::new(), it).map(|it| Line::Frames(it.into()))),
];

/// The media of rings, by name.
pub const RINGS: [(&str, MediumMaker<Ring>); 1] = [("fddi", |it| set(Ring::default(), it))];

fn set<T: HasSettings>(mut medium: T, reader: &Reader<'_>) -> Result<T, BuildError> {
    medium.read(reader)?;
    Ok(medium)
}

/// A device on a line with cells, of the settings in `table`.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the keys of the device.
pub fn device(table: &toml::Table) -> Result<Device, ConfigError> {
    settings::read("a device", table, |reader| set(Device::default(), reader))
}

/// All settings that `medium` of `media` has; none where there is no such medium.
#[must_use]
pub fn settings_of<T>(media: &[(&str, MediumMaker<T>)], medium: &str) -> Vec<Setting> {
    let found = media.iter().find(|(name, _)| *name == medium);
    found.map_or_else(Vec::new, |(_, make)| kumiki_settings::list(&Settings::new(), make))
}

/// The medium called `medium` among `media`, of the settings in `table`.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the keys of the link or ring.
pub fn read<T>(media: &[(&str, MediumMaker<T>)], medium: &str, table: &toml::Table) -> Result<T, ConfigError> {
    if table.contains_key("rate") && !WITH_RATE.contains(&medium) && media.iter().any(|(name, _)| *name == medium) {
        let (rate, other) = match medium {
            "trace" => ("the rate of its recording", ", or medium = \"point-to-point\""),
            _ if RINGS.iter().any(|(name, _)| *name == medium) => ("a rate of its own", ""),
            _ if medium.starts_with("sync-") => ("the rate of its name", ", or medium = \"synchronous\""),
            _ => ("the rate of its name", ", or medium = \"point-to-point\""),
        };
        let fault = ConfigError::at(["rate"], format!("{medium} has {rate}"));
        return Err(fault.expected(format!("no `rate`{other}")));
    }
    named(media, ("medium", "medium"), medium, |name| name.to_owned(), table)
}

/// The media whose rate is set.
const WITH_RATE: [&str; 2] = ["point-to-point", "synchronous"];

/// The switch of the kind `kind`, of the settings in `table`.
///
/// # Errors
/// A [`ConfigError`] whose path begins at the keys of the switch.
pub fn read_switch(kind: &str, table: &toml::Table) -> Result<Switch, ConfigError> {
    named(&SWITCHES, ("kind", "kind of switch"), kind, |name| format!("a switch of the kind {name}"), table)
}

/// What is called `name` among `all` and says so by `key`, of the settings in `table`.
fn named<T>(
    all: &[(&str, MediumMaker<T>)],
    (key, what): (&str, &str),
    name: &str,
    words: impl Fn(&str) -> String,
    table: &toml::Table,
) -> Result<T, ConfigError> {
    let Some((name, make)) = all.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let fault = ConfigError::unknown([key], what, name, &known);
        return Err(match name {
            "ethernet" if known.contains(&"point-to-point") => {
                fault.suggest("\"point-to-point\" with framing = \"24 B\", which is what Ethernet adds to a frame")
            }
            _ => fault,
        });
    };
    settings::read(&words(name), table, make)
}

impl Line {
    /// How fast its clock is. That of a recording tells no rate, and frames in SONET/SDH have no other than that.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        match self {
            Self::Cells(line) => line.clock_ppm,
            Self::Synchronous(line) => line.clock_ppm,
            Self::Frames(Frames { framed: Framed::Recorded, .. }) | Self::Pos(_) => Clock::RIGHT,
            Self::Frames(line) => line.clock_ppm,
        }
    }

    /// How long what is sent takes to the other end, at first.
    pub const fn propagation(&self) -> Duration {
        match self {
            Self::Cells(it) => it.propagation,
            Self::Pos(it) => it.propagation,
            Self::Synchronous(it) => it.propagation,
            Self::Frames(it) => it.propagation,
        }
    }

    /// The same, at each end of which `most` frames may wait where nothing is said.
    pub fn bounded(mut self, most: u32) -> Self {
        match &mut self {
            // What waits for cells waits as PDUs, in the host's device.
            Self::Cells(_) => {}
            Self::Pos(pos) => pos.queue = pos.queue.bounded(most),
            Self::Synchronous(synchronous) => synchronous.queue = synchronous.queue.bounded(most),
            Self::Frames(frames) => frames.queue = frames.queue.bounded(most),
        }
        self
    }

    /// As it is at 0 s, where it has a schedule that says so.
    pub fn at_first(self) -> Self {
        match self {
            Self::Frames(frames) => Self::Frames(frames.at_first()),
            Self::Cells(_) | Self::Pos(_) | Self::Synchronous(_) => self,
        }
    }

    /// As it goes into the world, with the seed of what is random on it, and how it changes.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of the link.
    pub fn element(&self, seed: u64, steps: &[Step]) -> Result<Box<dyn Element>, ConfigError> {
        match self {
            Self::Cells(cells) => Ok(cells.element()),
            Self::Pos(pos) => Ok(pos.element(seed, &schedule::outages(steps, None))),
            Self::Synchronous(synchronous) => synchronous.element(seed),
            Self::Frames(frames) => frames.element(([frames.queue; 2], [false; 2]), seed, steps, None),
        }
    }

    /// What goes wrong towards `end`, and how that changes; `None` where nothing ever does.
    pub fn toward(&self, end: &str, steps: &[Step]) -> Option<ImpairmentSchedule> {
        let own = self.impairment().filter(|(toward, _)| toward.is_none_or(|toward| is_named(toward, end)));
        let own = own.map(|(_, impairment)| impairment);
        match self {
            // A line of SONET/SDH that is not there has no signal, which its ends see.
            Self::Pos(_) => {
                let losses: Vec<Step> = steps.iter().cloned().map(|step| Step { up: None, ..step }).collect();
                schedule::of_path(&losses, own, end)
            }
            Self::Frames(_) | Self::Cells(_) | Self::Synchronous(_) => schedule::of_path(steps, own, end),
        }
    }

    /// What it says itself of how it changes.
    pub fn schedule(&self) -> &[Step] {
        match self {
            Self::Frames(frames) => &frames.schedule,
            Self::Cells(_) | Self::Pos(_) | Self::Synchronous(_) => &[],
        }
    }

    /// Whether it, which is a `medium`, can change so.
    ///
    /// # Errors
    /// A [`ConfigError`] whose path begins at the keys of the step.
    pub fn judge(&self, medium: &str, step: &Step) -> Result<(), ConfigError> {
        if let Some(key) = step.of_both_ways() {
            let fault = ConfigError::at([key], "it changes both ways, and the event is of one");
            return Err(match key {
                "rate" => fault.expected(
                    "no `toward` beside it; for one way alone a list of the rates from the first end and from the second, with the other as it is",
                ),
                _ => fault.expected("no `toward` beside it"),
            });
        }
        let (has_rate, has_propagation) = match self {
            Self::Frames(frames) => (matches!(frames.framed, Framed::Line(_)), frames.framed != Framed::Recorded),
            Self::Cells(_) | Self::Pos(_) | Self::Synchronous(_) => (false, false),
        };
        for (key, is_set, can_be) in
            [("rate", step.rate.is_some(), has_rate), ("propagation", step.propagation.is_some(), has_propagation)]
        {
            if is_set && !can_be {
                let problem = format!("the {key} of {medium} stays as it is");
                return Err(ConfigError::at([key], problem).expected("a line of the medium \"point-to-point\""));
            }
        }
        match self {
            Self::Pos(_) if step.up.is_some() && step.toward.is_some() => {
                Err(ConfigError::at(["toward"], format!("{medium} loses its signal both ways at once")))
            }
            Self::Pos(pos) if step.up.is_some() && pos.octet_exact == Some(false) => {
                let problem = format!("{medium} has no signal to lose where it is not run octet by octet");
                Err(ConfigError::at(["up"], problem).expected("octet_exact = true, or not set, at the line"))
            }
            Self::Pos(_) | Self::Frames(_) | Self::Cells(_) | Self::Synchronous(_) => Ok(()),
        }
    }

    /// Reads what is not in the scenario itself.
    ///
    /// # Errors
    /// A [`ConfigError`] of a file, or at the keys of the link.
    pub fn judge_files(&self) -> Result<(), ConfigError> {
        match self {
            Self::Frames(frames) => frames.recording().map(|_| ()),
            Self::Cells(_) | Self::Pos(_) | Self::Synchronous(_) => Ok(()),
        }
    }

    /// What goes wrong on it, and towards which end alone.
    pub fn impairment(&self) -> Option<(Option<&str>, Impairment)> {
        match self {
            Self::Cells(cells) => cells.impair.as_ref().map(Impair::impairment),
            Self::Pos(pos) => pos.impair.as_ref().map(FrameImpair::impairment),
            Self::Frames(frames) => frames.impair.as_ref().map(FrameImpair::impairment),
            // Receivers of HDLC check what comes.
            Self::Synchronous(line) => line.impair.as_ref().map(|impair| {
                let (toward, impairment) = impair.impairment();
                (toward, Impairment { checked: true, ..impairment })
            }),
        }
    }
}

/// The most that a line is set to, in bits per second: a thousand times what one fibre carries in our time.
pub const FASTEST: u64 = 1_000_000_000_000_000;

/// The words for the bits of a check sequence.
const FCS: [(&str, FcsKind); 2] = [("16", FcsKind::Fcs16), ("32", FcsKind::Fcs32)];

/// The words for flags between two frames: whether each has one in front too.
const FLAGS: [(&str, bool); 2] = [("1", false), ("2", true)];

/// Reads a table that need not be there; where it is, what is not set in it is as by default.
fn perhaps<T: HasSettings + Default>(
    key: &'static str,
    place: &mut Option<T>,
    reader: &Reader<'_>,
) -> Result<(), BuildError> {
    let mut found = T::default();
    if reader.is_set(key) {
        reader.table(key, |reader| found.read(reader))?;
        *place = Some(found);
    } else if reader.lists() {
        // What is missing in an empty table is of no interest here.
        let _ = reader.table(key, |reader| found.read(reader));
    }
    Ok(())
}

/// What goes wrong on a medium, where `impair` says so.
fn impaired<T: HasSettings + Default>(place: &mut Option<T>, reader: &Reader<'_>) -> Result<(), BuildError> {
    perhaps("impair", place, reader)
}

/// A time, for lists of them.
fn time(text: &str) -> Option<Duration> {
    kumiki_config::quantity::parse(text).ok()
}
