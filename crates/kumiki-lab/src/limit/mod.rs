//! The overhead ladder: from what a line can signal down to what a program can get, one step for each thing that takes
//! its share.
//!
//! | | |
//! |---|---|
//! | Specification | paper 2, table 2, made general; headers are those of RFC 791, 8200, 768, 9293 and 7323, LLC/SNAP of RFC 2684, PPP framing of RFC 1662, HDLC's of ISO 3309; what lines and cells take is said at each layer |
//! | Left out | acknowledgements and other traffic beside the data, windows, hosts: the ladder is what the octets alone allow |
//!
//! All arithmetic is exact; only what is printed is rounded. Paper 2 rounded at each step and so came to 134.581 Mb/s,
//! where the exact value is 134.580: [`Ladder::paper_arithmetic`] repeats it.

mod acknowledged;
mod course;
mod descent;
mod graph;
mod layers;
mod loads;
mod media;
mod packet;
mod path;
mod ratio;
mod show;
#[cfg(test)]
mod tests;
mod together;

pub use acknowledged::left_out;
pub(crate) use acknowledged::segments_each;
pub(crate) use course::parts;
pub use course::{is_changing, of_all_between};
use kumiki_octets::text::counted;
pub use layers::{
    aal5_padding, aal5_trailer, aal34_frame, aal34_padding, aal34_segments, alone, bit_stuffing, cell_headers, ds3,
    ds3_plcp, eth, fddi, fddi_framing, fddi_ring, framing, hdlc, hdlc_bits, ipv4, ipv6, lapb, lapb_ether, llc,
    llc_snap, mapos, oc, ppp, presentation, rm_cells, segments, session, sonet, stuffing, tcp, token, tp0, tpdus, tpkt,
    udp, value, x25, x25_iface, x25_packets, xot, xtp,
};
pub(crate) use loads::of_way;
pub use loads::{Carried, PathLine, lines, of_all, of_counted, of_load, of_loads, of_mix};
use packet::Packet;
pub(crate) use path::{Direction, NO_GOODPUT};
pub use ratio::Ratio;
pub use show::{PAPER_2, figure, on_way, rows, sweep, table};

/// A line, before anything has taken its share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its name: "SONET OC-3c line".
    pub name: String,
    /// What it signals, in bit/s.
    pub bits_per_second: u64,
}

/// Something that takes its share of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overhead {
    /// Its name: "cell headers".
    pub name: String,
    /// What it takes.
    pub cost: Cost,
    /// Where that comes from, in a few words.
    pub note: String,
}

/// What something takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// All the time the same share: of each `of` octets `kept` are left.
    Share {
        /// What is left, in octets.
        kept: u32,
        /// Of so many octets.
        of: u32,
    },
    /// So many octets with each packet.
    Octets(u32),
    /// What fills a packet up to whole cells of so many octets.
    Cells(u32),
    /// What is longer is cut into pieces of so many octets, the last of which may be shorter; all below is of each
    /// piece.
    Pieces(u32),
    /// A stream takes all pieces, of one packet behind the other, and cuts them again into segments of so many octets:
    /// a packet has a part of the segments that it shares.
    Segments(u32),
    /// Octets put in among those of the packet above, on average: for each `per` octets of user data `added`.
    Among {
        /// So many octets more.
        added: u32,
        /// For each so many octets of user data.
        per: u32,
    },
}

/// One step of a ladder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// What took its share.
    pub name: String,
    /// What is left after it, in 10^6 bit/s.
    pub rate_mbps: Ratio,
    /// What is left of what was there, as (left, there); in octets, where they are whole.
    pub factor: (u128, u128),
    /// How many octets it adds to each packet; `None` for what does not go by packets.
    pub octets: Option<Ratio>,
    /// Where that comes from.
    pub note: String,
}

/// The steps from a line's rate to the goodput of a program: see the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ladder {
    /// From the line down to the program; the first is the line itself.
    pub steps: Vec<Step>,
    /// Octets of user data in a packet, or in a message that goes in several.
    pub payload_octets: u32,
    /// Octets that a packet takes below everything that goes by packets.
    pub packet_octets: Ratio,
    /// How many pieces a packet is in, where layers below cut it: of messages that share segments, a part of one too.
    pub pieces: Ratio,
    /// Cells that a packet takes, where there are cells and a whole number of them.
    pub cells: Option<u128>,
    /// Octets of a packet that only fill its last cell.
    pub padding_octets: Ratio,
}

/// Why there is no ladder.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LadderError {
    /// Nothing to send.
    #[error("a packet without user data has no goodput; give it at least 1 octet")]
    NoPayload,
    /// A share of nothing, or cells of no octets, or more kept than there is.
    #[error("`{0}` has no sensible share: {1}")]
    Share(String, &'static str),
    /// Numbers beyond all measure.
    #[error("the numbers at `{0}` need more than 128 bits")]
    TooBig(String),
}

/// The ladder of `line` for packets with `payload_octets` of user data; `layers` from the line upwards.
///
/// # Errors
/// [`LadderError`], where the numbers make no sense.
pub fn ladder(line: &Line, layers: &[Overhead], payload_octets: u32) -> Result<Ladder, LadderError> {
    if payload_octets == 0 {
        return Err(LadderError::NoPayload);
    }
    of_packets(line, layers, payload_octets)
}

/// The same, where packets may have no user data either.
fn of_packets(line: &Line, layers: &[Overhead], payload_octets: u32) -> Result<Ladder, LadderError> {
    layers.iter().try_for_each(check)?;
    // Downwards: how large the packet is below each layer.
    let mut packet = Packet::new(payload_octets);
    let mut sizes = Vec::new();
    for layer in layers.iter().rev() {
        let too_big = || LadderError::TooBig(layer.name.clone());
        let above = packet.size().ok_or_else(too_big)?;
        packet.pass(layer.cost).ok_or_else(too_big)?;
        sizes.push((above, packet.size().ok_or_else(too_big)?));
    }
    let size = packet.size().ok_or_else(|| LadderError::TooBig(line.name.clone()))?;
    // Upwards: what each layer leaves of the rate.
    let name = line.name.clone();
    let bits = u128::from(line.bits_per_second);
    let rate_mbps = Ratio::new(bits, 1_000_000).unwrap_or(Ratio::ZERO);
    let note = "line rate".to_owned();
    let mut steps = vec![Step { name, rate_mbps, factor: (1, 1), octets: None, note }];
    let mut rate = rate_mbps;
    for (layer, (above, below)) in layers.iter().zip(sizes.into_iter().rev()) {
        let step = step(rate, layer, above, below);
        let step = step.ok_or_else(|| LadderError::TooBig(layer.name.clone()))?;
        rate = step.rate_mbps;
        steps.push(step);
    }
    Ok(Ladder {
        steps,
        payload_octets,
        packet_octets: size,
        pieces: packet.count().ok_or_else(|| LadderError::TooBig(line.name.clone()))?,
        cells: packet.cells,
        padding_octets: packet.padding,
    })
}

fn check(layer: &Overhead) -> Result<(), LadderError> {
    let wrong = |why| Err(LadderError::Share(layer.name.clone(), why));
    match layer.cost {
        Cost::Share { of: 0, .. } | Cost::Among { per: 0, .. } => wrong("a part of 0 octets"),
        Cost::Share { kept, of } if kept > of => wrong("more is left than there was"),
        Cost::Cells(0) | Cost::Pieces(0) | Cost::Segments(0) => wrong("cells or pieces of 0 octets"),
        Cost::Share { .. }
        | Cost::Among { .. }
        | Cost::Cells(_)
        | Cost::Pieces(_)
        | Cost::Segments(_)
        | Cost::Octets(_) => Ok(()),
    }
}

fn step(rate: Ratio, layer: &Overhead, above: Ratio, below: Ratio) -> Option<Step> {
    let (factor, octets) = match layer.cost {
        Cost::Share { kept, of } => ((u128::from(kept), u128::from(of)), None),
        Cost::Octets(_) | Cost::Cells(_) | Cost::Pieces(_) | Cost::Segments(_) | Cost::Among { .. } => {
            (octets_of(above, below)?, Some(below.checked_sub(above)?))
        }
    };
    Some(Step {
        name: layer.name.clone(),
        rate_mbps: rate.checked_mul(Ratio::new(factor.0, factor.1)?)?,
        factor,
        octets,
        note: layer.note.clone(),
    })
}

/// Both over one denominator, which is 1 where both are whole.
fn octets_of(above: Ratio, below: Ratio) -> Option<(u128, u128)> {
    Some((above.numerator().checked_mul(below.denominator())?, below.numerator().checked_mul(above.denominator())?))
}

impl Ladder {
    /// What is left for the program, in 10^6 bit/s.
    #[must_use]
    pub fn goodput_mbps(&self) -> Ratio {
        self.steps.last().map_or(Ratio::ZERO, |step| step.rate_mbps)
    }

    /// How many packets the line takes in a second, one behind the other.
    fn packets_per_second(&self) -> f64 {
        let shares = self.steps.iter().filter(|step| step.octets.is_none());
        let line = self.steps.first().map_or(0.0, |line| line.rate_mbps.as_f64() * 1e6);
        #[expect(clippy::cast_precision_loss, reason = "a part for a sentence")]
        let left = shares.fold(line, |rate, step| rate * step.factor.0 as f64 / step.factor.1 as f64);
        left / 8.0 / self.packet_octets.as_f64()
    }

    /// The ladder with all that goes by packets as one step, as papers print it.
    #[must_use]
    pub fn condensed(&self) -> Vec<Step> {
        let (shares, packets): (Vec<&Step>, Vec<&Step>) = self.steps.iter().partition(|step| step.octets.is_none());
        let mut steps: Vec<Step> = shares.into_iter().cloned().collect();
        if packets.is_empty() {
            return steps;
        }
        let mut parts: Vec<String> = Vec::new();
        for step in packets.iter().rev() {
            if let Some(octets) = step.octets.filter(|octets| octets.numerator() != 0) {
                parts.push(format!("{} {}", step.name, short(octets)));
            }
        }
        if let Some(cells) = self.cells {
            parts.push(counted(cells, "cell").to_string());
        }
        let payload = Ratio::whole(u128::from(self.payload_octets));
        steps.push(Step {
            name: "packets".to_owned(),
            rate_mbps: self.goodput_mbps(),
            factor: octets_of(payload, self.packet_octets).unwrap_or((0, 1)),
            octets: self.packet_octets.checked_sub(payload),
            note: parts.join(", "),
        });
        steps
    }

    /// The rates of [`Ladder::condensed`] as one gets them who rounds each to so many decimals before going on, in 10^6
    /// bit/s.
    #[must_use]
    pub fn paper_arithmetic(&self, decimals: u32) -> Vec<Ratio> {
        let mut rate = self.steps.first().map_or(Ratio::ZERO, |line| line.rate_mbps);
        let mut rates = Vec::new();
        for Step { factor: (left, there), .. } in self.condensed() {
            let next = Ratio::new(left, there).and_then(|factor| rate.checked_mul(factor)?.rounded(decimals));
            rate = next.unwrap_or(rate);
            rates.push(rate);
        }
        rates
    }
}

/// A number of octets without needless decimals.
fn short(octets: Ratio) -> String {
    if octets.denominator() == 1 { octets.numerator().to_string() } else { format!("{octets:.2}") }
}
