//! What captures show of TCP connections, for the page of results: sequence numbers over time, and packets.
//!
//! | | |
//! |---|---|
//! | Which | the first [`FLOWS`] connections of the first point of each scenario that has captures, in its first run |
//! | Where | each where its first packet was seen first, which is the host that opens it; of several access points there the one with the most layers |
//! | How much | [`SEGMENTS`] packets in a figure, [`PACKETS`] that unfold, of the first [`RECORDS`] of a capture, each with [`CONTENT`] octets of what it carries; what is left out is said |
//! | Left out | other protocols; connections through X.25 or PPP multilink are found as far as `kumiki decode` finds them |
//!
//! A capture that cannot be read is no reason to be without the page: its connections are not on it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use kumiki_decode::capture::Time;
use kumiki_decode::{Capture, Decoder, Packet, Record, Registry, Wish, show};
use kumiki_lab::page::Flow;
use kumiki_lab::reproduce::{Flows, Results};
use kumiki_lab::rows::Output;

mod segment;
mod sequence;
#[cfg(test)]
mod tests;

use segment::{Connection, Segment};

/// So many connections of a scenario are shown.
const FLOWS: usize = 4;
/// So many packets of a connection are drawn.
const SEGMENTS: usize = 2000;
/// So many of them unfold.
const PACKETS: usize = 500;
/// So many packets of a capture are looked at.
const RECORDS: u64 = 50_000;
/// So many octets of what nobody decodes are printed of a packet.
const CONTENT: usize = 32;

/// The connections of each scenario.
pub(super) fn of(output: &Output, results: &[Results]) -> Flows {
    let mut flows = Flows::new();
    for result in results {
        let Some((label, names)) = result.captures().next() else {
            continue;
        };
        let names = names.iter().filter(|name| is_of_first_run(name));
        let files: Vec<PathBuf> = names.map(|name| output.path(name)).collect();
        // Traces and values over time stand among captures, and show no packets.
        if files.is_empty() {
            continue;
        }
        let mut found = of_files(&files, &label);
        if found.is_empty() {
            found.push(nothing(&label));
        }
        flows.insert(result.name().to_owned(), found);
    }
    flows
}

/// What stands there instead, where captures have nothing that can be shown.
fn nothing(label: &str) -> Flow {
    let note = "The captures show no connection of TCP. Where the line's own frames are not decoded as packets, as those of SONET/SDH, `--pcap=ip` captures packets of IP.";
    Flow { place: label.to_owned(), notes: vec![note.to_owned()], ..Flow::default() }
}

/// Whether a name is of a capture, and not as `captures/x/000-run2-near.pcapng`.
fn is_of_first_run(name: &str) -> bool {
    let file = name.rsplit_once('/').map_or(name, |(_, file)| file);
    let own = file.split_once('-').map_or(file, |(_, own)| own);
    let run = own.strip_prefix("run").and_then(|rest| rest.split_once('-'));
    let is_later = run.is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    Path::new(file).extension().is_some_and(|it| it == "pcapng") && !is_later
}

/// Where a connection is seen: the number of the file, and the interface in it.
type Place = (usize, u32);

/// What is seen of a connection at one place.
#[derive(Default)]
struct Seen {
    /// The access point.
    name: String,
    /// Its first packets.
    segments: Vec<Segment>,
    /// How many there are.
    count: usize,
    /// Layers of the first one.
    layers: usize,
}

fn of_files(files: &[PathBuf], label: &str) -> Vec<Flow> {
    let mut found: BTreeMap<Connection, BTreeMap<Place, Seen>> = BTreeMap::new();
    let mut is_cut = vec![false; files.len()];
    for ((number, file), is_cut) in files.iter().enumerate().zip(&mut is_cut) {
        *is_cut = read(file, |record, packet, _| {
            let Some((connection, segment)) = Segment::of(record, packet) else {
                return true;
            };
            let seen = found.entry(connection).or_default().entry((number, record.interface)).or_default();
            if seen.count == 0 {
                seen.layers = packet.layers.len();
                seen.name = record.interface_name.clone().unwrap_or_default();
            }
            seen.count += 1;
            if seen.segments.len() < SEGMENTS {
                seen.segments.push(segment);
            }
            true
        });
    }
    let mut best: Vec<(Connection, Place, Seen)> = Vec::new();
    for (connection, places) in found {
        let first = |seen: &Seen| seen.segments.first().map(|segment| segment.at_ns);
        let order = |(place, seen): &(Place, Seen)| (first(seen), std::cmp::Reverse(seen.layers), *place);
        best.extend(places.into_iter().min_by_key(order).map(|(place, seen)| (connection, place, seen)));
    }
    best.sort_by_key(|(_, _, seen)| seen.segments.first().map(|segment| (segment.at_ns, segment.number)));
    let all = best.len();
    best.truncate(FLOWS);
    let mut flows: Vec<Flow> = Vec::new();
    for (connection, place, seen) in best {
        let (Some(file), Some(is_cut)) = (files.get(place.0), is_cut.get(place.0)) else {
            continue;
        };
        let packets = packets(file, connection, place.1);
        flows.push(flow(&seen, packets, (file, *is_cut), label));
    }
    if let Some(flow) = flows.last_mut().filter(|_| all > FLOWS) {
        flow.notes.push(format!("The first {FLOWS} of {all} connections are shown; the captures have all of them."));
    }
    flows
}

/// The first packets of a connection at one interface of `file`: a line of each, and all that is in it.
fn packets(file: &Path, connection: Connection, interface: u32) -> Vec<(String, String)> {
    let mut packets = Vec::new();
    read(file, |record, packet, start| {
        let is_own =
            record.interface == interface && Segment::of(record, packet).is_some_and(|(found, _)| found == connection);
        if is_own {
            let line = show::line(record, packet, start);
            let mut packet = packet.clone();
            for rest in &mut packet.rest {
                if rest.octets.len() > CONTENT {
                    rest.octets.truncate(CONTENT);
                    rest.why = format!("{}, of which the first {CONTENT}:", rest.why);
                }
            }
            packets.push((line.trim_start().to_owned(), show::tree(record, &packet, start)));
        }
        packets.len() < PACKETS
    });
    packets
}

/// Gives each packet of `file` to `take`, with the time of the first one, until that wants no more; says whether there are more than were looked at.
fn read(file: &Path, mut take: impl FnMut(&Record, &Packet, Option<Time>) -> bool) -> bool {
    let Ok(octets) = File::open(file) else {
        return false;
    };
    let Ok(mut capture) = Capture::open(BufReader::new(octets), Wish::default(), &Registry::new()) else {
        return false;
    };
    let mut decoder = Decoder::new();
    let mut start = None;
    while let Ok(Some(record)) = capture.next_record() {
        if record.number > RECORDS {
            return true;
        }
        start = start.or(record.time);
        let packet = decoder.decode(&record);
        if !take(&record, &packet, start) {
            break;
        }
    }
    false
}

fn flow(seen: &Seen, packets: Vec<(String, String)>, (file, is_cut): (&Path, bool), label: &str) -> Flow {
    let file = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let place: Vec<&str> = [label, &seen.name].into_iter().filter(|part| !part.is_empty()).collect();
    let drawn = sequence::Drawn::of(&seen.segments);
    let mut notes = drawn.notes;
    if seen.segments.len() < seen.count {
        let more = if is_cut { "at least " } else { "" };
        notes.push(format!(
            "The figure has the first {} of {more}{} packets; {file} has all of them.",
            seen.segments.len(),
            seen.count
        ));
    } else if is_cut {
        notes.push(format!("Only the first {RECORDS} packets of {file} were looked at."));
    }
    Flow { place: place.join(", "), figure: drawn.figure, packets, count: seen.count, notes }
}
