//! What crossed the access points of a run, as a capture that Wireshark and tshark read; and what TCP noted itself.
//!
//! | | |
//! |---|---|
//! | Specification | pcapng, by [`kumiki_pcapng`] |
//! | Interfaces | one for each access point on record, named `host.device` or `host.upper/lower` |
//! | Octets | a PDU with LLC/SNAP: behind a `SunATM` header where it has a virtual channel; a datagram, an Ethernet, FDDI or PPP frame: as it is; a LAPB frame: behind a `SITA` header; of any other layer: behind tags that name its dissector |
//! | Comments | `dropped:` and the reason, where the graph threw a PDU away before it came to another tap |
//! | Left out | cells, and what the media do to frames: taps are in hosts. Super-segments are not cut |
//!
//! Times are those at which a primitive crossed, in nanoseconds since the start of the run. One file can hold several
//! hosts, and then shows each packet once for each host that it passed; a reader that follows connections takes the
//! second for a retransmission, so give it the capture of one host ([`pcapng`] of one [`Captured`]).

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;
use std::io::Write;

pub use kumiki_capture::Content;
use kumiki_capture::{Form, Writer, channel, comment, direction};
use kumiki_graph::{AccessPoint, Address, Tapped};
use kumiki_pcapng::{CaptureError, PcapNg};
use kumiki_sim::Host;

mod plot;
mod spool;
#[cfg(test)]
mod tests;
pub mod trace;

pub(crate) use plot::thinned;
pub use spool::{Contents, Spool, Spooled};

/// Which access points are put on record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Layers {
    /// None.
    #[default]
    None,
    /// Those above devices: what adapters get and give. `device` in text.
    Device,
    /// Those below IP: datagrams. `ip` in text.
    Ip,
    /// Every one. `all` in text.
    All,
    /// These. `host.upper/lower` in text, separated by commas.
    Named(Vec<Name>),
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Device => f.write_str("device"),
            Self::Ip => f.write_str("ip"),
            Self::All => f.write_str("all"),
            Self::Named(names) => f.write_str(&names.iter().map(Name::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

/// The name of an access point.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name {
    /// The host.
    pub host: String,
    /// The node above.
    pub upper: String,
    /// The node or device below.
    pub lower: String,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.host, self.upper, self.lower)
    }
}

/// A text that names no layers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "\"{0}\" names no layer; write device, ip or all, or access points as host.upper/lower, as in sender.ip/llc_snap"
)]
pub struct NoLayer(String);

impl FromStr for Name {
    type Err = NoLayer;

    fn from_str(text: &str) -> Result<Self, NoLayer> {
        let parts = text.split_once('.').and_then(|(host, layers)| {
            let (upper, lower) = layers.split_once('/')?;
            Some([host, upper, lower])
        });
        match parts {
            Some(parts) if parts.iter().all(|part| !part.is_empty()) => {
                let [host, upper, lower] = parts.map(str::to_owned);
                Ok(Self { host, upper, lower })
            }
            _ => Err(NoLayer(text.to_owned())),
        }
    }
}

impl FromStr for Layers {
    type Err = NoLayer;

    fn from_str(text: &str) -> Result<Self, NoLayer> {
        Ok(match text.trim() {
            "device" => Self::Device,
            "ip" => Self::Ip,
            "all" => Self::All,
            names => {
                let names = names.split(',').map(|name| name.trim().parse());
                Self::Named(names.collect::<Result<_, _>>()?)
            }
        })
    }
}

/// An access point on record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tap {
    /// The node above.
    pub upper: String,
    /// The node or device below.
    pub lower: String,
    /// Whether a device is below.
    pub above_device: bool,
    /// What its PDUs are.
    pub content: Content,
}

impl Tap {
    /// What the interface of it is called.
    fn name(&self, host: &str) -> String {
        let Self { upper, lower, .. } = self;
        if self.above_device { format!("{host}.{lower}") } else { format!("{host}.{upper}/{lower}") }
    }
}

/// What one host's taps have seen.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The host.
    pub host: String,
    /// Its access points on record.
    pub taps: BTreeMap<AccessPoint, Tap>,
    /// What crossed them, in the order in which the host did it.
    pub seen: Vec<Tapped>,
}

impl Captured {
    /// Puts the access points of `host` on record that `layers` asks for. `kind_of` gives the kind of the node or
    /// device of a name.
    pub fn tap(
        layers: &Layers,
        host: &mut Host,
        is_device: impl Fn(&str) -> bool,
        kind_of: impl Fn(&str) -> String,
    ) -> Self {
        let wanted = |upper: &str, lower: &str| match layers {
            Layers::None => false,
            Layers::Device => is_device(lower),
            Layers::Ip => ["ip", "ipv6"].contains(&kind_of(upper).as_str()),
            Layers::All => true,
            Layers::Named(names) => names.iter().any(|name| {
                (name.host.as_str(), name.upper.as_str(), name.lower.as_str()) == (&host.name, upper, lower)
            }),
        };
        let taps: BTreeMap<AccessPoint, Tap> = host
            .graph
            .access_points()
            .filter(|(_, upper, lower)| wanted(upper, lower))
            .map(|(access_point, upper, lower)| {
                let tap = Tap {
                    upper: upper.to_owned(),
                    lower: lower.to_owned(),
                    above_device: is_device(lower),
                    content: Content::between(&kind_of(upper), &kind_of(lower)),
                };
                (access_point, tap)
            })
            .collect();
        for access_point in taps.keys() {
            host.graph.tap(*access_point);
        }
        Self { host: host.name.clone(), taps, seen: Vec::new() }
    }

    /// Whether `name` is one of its access points on record.
    pub(crate) fn has(&self, name: &Name) -> bool {
        self.host == name.host && self.taps.values().any(|tap| (&tap.upper, &tap.lower) == (&name.upper, &name.lower))
    }
}

/// As [`cut`], with every octet.
///
/// # Errors
/// As [`cut`].
pub fn pcapng<W: Write>(captured: &[Captured], out: W) -> Result<W, CaptureError> {
    cut(captured, 0, out)
}

/// Writes what was `captured` as pcapng, in order of time, of each PDU with what stands before it no more than the
/// first `snaplen` octets, or all where that is 0; hands `out` back, flushed.
///
/// `out` gets many short writes: hand over a [`std::io::BufWriter`] where that matters. Where several things happened
/// at one instant, those of one host keep their order, and hosts come in the order of `captured`.
///
/// # Errors
/// [`CaptureError`] where `out` refuses, or a PDU has 2 GiB or more.
pub fn cut<W: Write>(captured: &[Captured], snaplen: u32, out: W) -> Result<W, CaptureError> {
    let mut file = PcapNg::new(out)?;
    let mut interfaces = BTreeMap::new();
    for (number, captured) in captured.iter().enumerate() {
        for (access_point, tap) in &captured.taps {
            let form = form_of(captured, *access_point, tap.content);
            let id = file.add_interface(&tap.name(&captured.host), form.link_type(), snaplen)?;
            interfaces.insert((number, *access_point), (id, form));
        }
    }
    let seen = captured
        .iter()
        .enumerate()
        .flat_map(|(number, captured)| captured.seen.iter().map(move |tapped| (number, tapped)));
    let mut seen: Vec<(usize, &Tapped)> = seen.collect();
    seen.sort_by_key(|(_, tapped)| tapped.at);
    let mut writer = Writer::new(snaplen);
    for (number, tapped) in seen {
        if let Some(place) = interfaces.get(&(number, tapped.access_point)) {
            writer.write(&mut file, *place, tapped)?;
        }
    }
    file.finish()
}

/// How the records of an access point are laid out, of which all are known.
fn form_of(captured: &Captured, access_point: AccessPoint, content: Content) -> Form {
    let has_channel = |tapped: &Tapped| tapped.access_point == access_point && channel(tapped) != Address::NONE;
    Form::with(content, || captured.seen.iter().any(has_channel))
}
