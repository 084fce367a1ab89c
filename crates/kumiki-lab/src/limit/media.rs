//! What lines take of a packet: cells, frames, stuffing, and the token of a ring.

use std::collections::{BTreeMap, BTreeSet};

use kumiki_graph::Duration;
use kumiki_link::sonet::Level;
use kumiki_octets::Pattern;
use kumiki_octets::bit_stuffing::BitCounter;
use kumiki_octets::hdlc::{Accm, FLAG};
use kumiki_wire::inet::fddi::{LINE_OVERHEAD, MAX_INFORMATION};
use kumiki_wire::ppp::hdlc::FcsKind;

use super::graph::parse_octets;
use super::{
    Line, Overhead, bit_stuffing, ds3, ds3_plcp, fddi_framing, fddi_ring, framing, hdlc, hdlc_bits, oc, of_packets,
    sonet, stuffing, token,
};
use crate::scenario::{Link, Ring, Scenario, Workload};
use crate::topology::{HopKind, Topology};
use kumiki_media::{self as medium, Framed, Frames, Slotted};

/// What the setting `aal` of a device is for AAL3/4.
pub(super) const AAL34: &str = "3/4";

/// A ring and what it takes, lowest first, where so many stations send frames with these `layers` above them.
pub(super) fn around(
    ring: &Ring,
    stations: usize,
    (layers, payload): (&[Overhead], u32),
) -> Result<(Line, Vec<Overhead>), String> {
    let built = ring.ring().and_then(|it| it.element(ring.ends.iter().map(|end| (end.clone(), None)), 0));
    let built = built.map_err(|fault| fault.to_string())?;
    let nanos = |time: Duration| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX);
    // Whoever has held the token sends it on.
    let away = built.around() + kumiki_link::fddi::token_time();
    let mut own = vec![fddi_framing()];
    let whole: Vec<Overhead> = own.iter().chain(layers).cloned().collect();
    let octets = of_packets(&fddi_ring(), &whole, payload).map_err(|error| error.to_string())?.packet_octets.ceil();
    // What is longer goes as several.
    let octets = octets.min((LINE_OVERHEAD + MAX_INFORMATION) as u128);
    let frame = kumiki_link::fddi::RATE.time_of_octets(u64::try_from(octets).unwrap_or(0));
    let stations = u32::try_from(stations).unwrap_or(u32::MAX);
    own.insert(0, token(nanos(away), nanos(built.ttrt()), nanos(frame), stations));
    Ok((fddi_ring(), own))
}

/// How many stations of the ring called `name` send what counts of loads: of calls the answers.
pub(super) fn senders_on(scenario: &Scenario, topology: &Topology<'_>, name: &str) -> usize {
    let of_all = || {
        let mut all: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for load in scenario.load.values().filter(|load| load.kind != "ping") {
            let way = |(from, to)| {
                if load.kind == "rpc" { topology.way_of_answers(to, from) } else { topology.way(from, to) }
            };
            for hop in load.pairs().filter_map(way).flatten().filter(|hop| hop.kind == HopKind::Ring) {
                all.entry(hop.line).or_default().insert(hop.out);
            }
        }
        all
    };
    // Each pair that crosses a ring asks.
    topology.senders.get_or_init(of_all).get(name).map_or(0, BTreeSet::len)
}

/// What octet stuffing adds to the content of the load, on average; of headers it is not counted.
pub(super) fn stuffed(load: &Workload) -> Result<Option<Overhead>, String> {
    let message = parse_octets("message", &load.message)?;
    let (pattern, per) = match load.pattern.as_deref().unwrap_or("ttcp") {
        "zeros" => return Ok(None),
        // Two of 256 octets, flag and escape.
        "random" | "counter" => return Ok(Some(stuffing(2, 256))),
        "flags" => (Pattern::Fill(FLAG), 1),
        _ => (Pattern::Ttcp { write_len: message }, message),
    };
    let octets = usize::try_from(per).unwrap_or(usize::MAX);
    let added = pattern.stuffed_len(0, octets, Accm::NONE) - octets;
    let added = u32::try_from(added).unwrap_or(u32::MAX);
    Ok((added > 0).then(|| stuffing(added, per)))
}

/// What bit stuffing adds to the content of the load, on average; of headers it is not counted.
pub(super) fn bits_stuffed(load: &Workload) -> Result<Option<Overhead>, String> {
    let message = parse_octets("message", &load.message)?;
    let (pattern, per) = match load.pattern.as_deref().unwrap_or("ttcp") {
        "zeros" => return Ok(None),
        // A run of five ones is there once in 2 + 4 + 8 + 16 + 32 bits that are drawn.
        "random" | "counter" => return Ok(Some(bit_stuffing(1, 62))),
        "flags" => (Pattern::Fill(FLAG), 1),
        // A share of a long write is that of its beginning.
        _ => (Pattern::Ttcp { write_len: message }, message.min(9500)),
    };
    let mut octets = vec![0; usize::try_from(per).unwrap_or(0)];
    pattern.fill(0, &mut octets);
    let mut counter = BitCounter::new();
    counter.update(&octets);
    let bits = per.saturating_mul(8);
    let added = u32::try_from(counter.bits().saturating_sub(bits.into())).unwrap_or(u32::MAX);
    Ok((added > 0).then(|| bit_stuffing(added, bits)))
}

fn ds3_line() -> Line {
    Line { name: "DS-3 line".to_owned(), bits_per_second: 44_736_000 }
}

fn sonet_line(n: u32) -> (Line, Vec<Overhead>) {
    (oc(n), vec![sonet()])
}

/// What a recorded line delivers in the long run of what its first end sends, or (`is_b`) its second.
fn recorded(frames: &Frames, is_b: bool) -> Result<u64, String> {
    let times = frames.recording().map_err(|fault| fault.to_string())?;
    let own = times.map(|[from_a, from_b]| if is_b { from_b } else { from_a });
    let (bits, seconds) = own.map_or((0, 1), |times| times.rate().fraction());
    Ok(bits.checked_div(seconds).unwrap_or(0))
}

/// A direction of a line and what its medium takes, lowest first; `cells` where it carries those, `stuffed` where
/// octets or (true) bits are stuffed.
pub(super) fn medium(
    (link, is_b): (&Link, bool),
    cells: &[Overhead],
    stuffed: &impl Fn(bool) -> Result<Option<Overhead>, String>,
) -> Result<(Line, Vec<Overhead>), String> {
    let at = |name: &str, bits_per_second| (Line { name: name.to_owned(), bits_per_second }, Vec::new());
    let flags = |both: bool| if both { 2 } else { 1 };
    let fcs = |kind: FcsKind| u32::try_from(kind.len()).unwrap_or(0);
    let line = link.line_at_first().map_err(|fault| fault.to_string())?;
    let ppm = line.clock().ppm();
    let (mut line, layers) = match line {
        medium::Line::Cells(line) => {
            let (line, mut layers) = match line.slotted {
                Slotted::Oc3c => sonet_line(3),
                Slotted::Oc12c => sonet_line(12),
                Slotted::Oc48c => sonet_line(48),
                Slotted::Ds3 => (ds3_line(), vec![ds3()]),
                Slotted::Ds3Plcp => (ds3_line(), vec![ds3_plcp()]),
                Slotted::Taxi140 => at("ATM LAN (TAXI)", 140_000_000),
            };
            layers.extend(cells.iter().cloned());
            (line, layers)
        }
        medium::Line::Pos(pos) => {
            let n = match pos.level {
                Level::Sts3c => 3,
                Level::Sts12c => 12,
                Level::Sts48c => 48,
                Level::Sts192c => 192,
            };
            let (line, mut layers) = sonet_line(n);
            layers.push(hdlc(fcs(pos.fcs), flags(pos.opening_flag)));
            layers.extend(stuffed(false)?);
            (line, layers)
        }
        medium::Line::Synchronous(it) => {
            let (line, mut layers) = at("synchronous line", it.rate);
            layers.push(hdlc_bits(fcs(it.fcs), flags(it.opening_flag)));
            layers.extend(stuffed(true)?);
            (line, layers)
        }
        medium::Line::Frames(frames) => {
            let (line, mut layers) = match frames.framed {
                Framed::Oc3c => sonet_line(3),
                Framed::Oc12c => sonet_line(12),
                Framed::Oc48c => sonet_line(48),
                Framed::Line([a, b]) => at("point-to-point line", if is_b { b } else { a }),
                Framed::Recorded => at("recorded line", recorded(&frames, is_b)?),
            };
            layers.extend(Some(frames.framing).filter(|octets| *octets > 0).map(framing));
            (line, layers)
        }
    };
    line.bits_per_second = by_clock(line.bits_per_second, ppm);
    Ok((line, layers))
}

/// A rate by a clock that is off by `ppm` parts per million, to the bit per second.
fn by_clock(bits_per_second: u64, ppm: i32) -> u64 {
    const MILLION: i128 = 1_000_000;
    let rate = i128::from(bits_per_second) * (MILLION + i128::from(ppm)) / MILLION;
    u64::try_from(rate).unwrap_or(bits_per_second)
}
