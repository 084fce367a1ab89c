//! What captures show of TCP connections, for the page of results: sequence numbers over time, and packets.
//!
//! | | |
//! |---|---|
//! | Which | the [`FLOWS`] connections that were seen first, of the first point of a scenario that has captures, in its first run; of several scenarios all together so many, and none of those behind the first [`FLOWS`] |
//! | Where | each where its first packet was seen first, which is the host that opens it; of several access points there the one with the most layers |
//! | How much | of all connections together [`SEGMENTS`] packets in figures and [`PACKETS`] that unfold, each with [`CONTENT`] octets of what it carries, out of the first [`RECORDS`] of all captures in the order of time; what is left out is said |
//! | Left out | other protocols; connections through X.25 or PPP multilink are found as far as `kumiki decode` finds them |
//!
//! So the page stays below a megabyte, and making it takes a part of a second, however long runs and however many
//! captures are.
//!
//! A capture that cannot be read is no reason to be without the page: its connections are not on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kumiki_decode::capture::Time;
use kumiki_decode::{Packet, Record, show};
use kumiki_octets::text::counted;

use super::Results;
use super::run::is_of_first_run;
use crate::page::Flow;
use crate::progress::Progress;
use crate::rows::Output;

mod reader;
mod segment;
mod sequence;
#[cfg(test)]
mod tests;
mod watch;

use reader::Readers;
use watch::{ConnectionView, Watch};

/// So many connections are shown.
const FLOWS: usize = 4;
/// So many packets of all of them are drawn, each block of a selective acknowledgment counted as one more.
const SEGMENTS: usize = 1200;
/// So many of these unfold.
const PACKETS: usize = 120;
/// So many packets of captures are looked at.
const RECORDS: u64 = 20_000;
/// So many octets of what nobody decodes are printed of a packet.
const CONTENT: usize = 32;

/// How much of the page a scenario may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageLimits {
    flows: usize,
    segments: usize,
    packets: usize,
    records: u64,
}

impl PageLimits {
    /// For each of so many scenarios.
    fn among(scenarios: usize) -> Self {
        let shown = scenarios.clamp(1, FLOWS);
        let part = |all: usize| all.checked_div(shown).unwrap_or(all);
        let records = RECORDS.checked_div(shown as u64).unwrap_or(RECORDS);
        Self { flows: part(FLOWS), segments: part(SEGMENTS), packets: part(PACKETS), records }
    }

    /// For each of so many connections: how many packets are drawn, and how many unfold.
    fn of_each(self, flows: usize) -> (usize, usize) {
        let part = |all: usize| all.checked_div(flows).unwrap_or(all);
        (part(self.segments), part(self.packets))
    }
}

/// What captures show of TCP connections, by the name of the scenario.
#[derive(Clone, Debug, Default)]
pub struct CapturedConnections(BTreeMap<String, Vec<Flow>>);

impl CapturedConnections {
    /// Those of each scenario of `results` that has captures in `output`.
    #[must_use]
    pub fn of(output: &Output, results: &[Results], progress: &mut Progress) -> Self {
        let captures = |result: &Results| {
            let (label, names) = result.captures().next()?;
            let names = names.iter().filter(|name| is_shown(name));
            let files: Vec<PathBuf> = names.map(|name| output.path(name)).collect();
            // Traces and values over time stand among captures, and show no packets.
            (!files.is_empty()).then(|| (result.name().to_owned(), label, files))
        };
        let all: Vec<(String, String, Vec<PathBuf>)> = results.iter().filter_map(captures).collect();
        let room = PageLimits::among(all.len());
        let of_scenario = |(number, (name, label, files)): (usize, (String, String, Vec<PathBuf>))| {
            if number >= FLOWS {
                let flow = not_shown(&name);
                return (name, vec![flow]);
            }
            progress.then(&format!("looking into captures of {name} for the page"));
            let mut found = of_files(&files, &label, room);
            if found.is_empty() {
                found.push(nothing(&label));
            }
            (name, found)
        };
        Self(all.into_iter().enumerate().map(of_scenario).collect())
    }

    /// Those of the scenario called `name`.
    pub(super) fn of_scenario(&self, name: &str) -> &[Flow] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }
}

/// What stands there instead, where other scenarios have what the page has room for.
fn not_shown(name: &str) -> Flow {
    let note = format!(
        "Packets are shown of the first {FLOWS} scenarios alone. What was captured here is in captures/{name}; a run of this scenario alone has a page with its connections."
    );
    Flow { notes: vec![note], ..Flow::default() }
}

/// What stands there instead, where captures have nothing that can be shown.
fn nothing(label: &str) -> Flow {
    let note = "The captures show no connection of TCP. Where the line's own frames are not decoded as packets, as those of SONET/SDH, `--pcap=ip` captures packets of IP.";
    Flow { place: label.to_owned(), notes: vec![note.to_owned()], ..Flow::default() }
}

/// Whether a name is of a capture of a first run, as `captures/x/000-near.pcapng`.
fn is_shown(name: &str) -> bool {
    let file = name.rsplit_once('/').map_or(name, |(_, file)| file);
    Path::new(file).extension().is_some_and(|it| it == "pcapng") && is_of_first_run(file)
}

fn of_files(files: &[PathBuf], label: &str, room: PageLimits) -> Vec<Flow> {
    let mut watch = Watch::new(room);
    let mut readers = Readers::open(files);
    let mut looked = 0;
    let is_whole = loop {
        let Some((file, record)) = readers.next(|file| watch.wants(file)) else {
            break true;
        };
        if looked == room.records {
            break false;
        }
        looked += 1;
        let packet = readers.decode(file, &record);
        watch.see(file, &record, &packet, readers.start(file));
    };
    let (others, has_more) = (watch.others, readers.have_more());
    let found = watch.found();
    let (drawn, unfolded) = room.of_each(found.len());
    let mut notes = Vec::new();
    if found.len() == room.flows && (others || has_more) {
        let (most, have) = (counted(room.flows, "connection"), if others { "have" } else { "may have" });
        notes.push(format!(
            "No more than {most} of this scenario are shown, those that began first; its captures {have} others."
        ));
    }
    if !is_whole {
        notes.push(format!("Only the first {} of its captures were looked at.", counted(looked, "packet")));
    }
    let shown = found.into_iter().filter_map(|known| {
        let (place, seen) = known.best()?;
        Some(flow(seen, (drawn, unfolded), (files.get(place.file)?, is_whole), label))
    });
    let mut flows: Vec<Flow> = shown.collect();
    if let Some(flow) = flows.last_mut() {
        flow.notes.extend(notes);
    }
    flows
}

/// A packet as it unfolds: a line, and all that is in it.
fn unfolding(record: &Record, packet: &Packet, start: Option<Time>) -> (String, String) {
    let line = show::line(record, packet, start);
    let mut packet = packet.clone();
    for rest in &mut packet.rest {
        if rest.octets.len() > CONTENT {
            rest.octets.truncate(CONTENT);
            rest.why = format!("{}, of which the first {CONTENT}:", rest.why);
        }
    }
    (line.trim_start().to_owned(), show::tree(record, &packet, start))
}

/// What stands on the page of a connection, of which so many packets are drawn and so many unfold; and whether its file
/// was looked at as far as there is something to show.
fn flow(
    mut seen: ConnectionView,
    (drawn, unfolded): (usize, usize),
    (file, is_whole): (&Path, bool),
    label: &str,
) -> Flow {
    let file = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let place: Vec<&str> = [label, &seen.name].into_iter().filter(|part| !part.is_empty()).collect();
    let place = place.join(", ");
    let mut marks = 0;
    let room = seen.segments.iter().take_while(|segment| {
        marks += 1 + segment.sack.len();
        marks <= drawn
    });
    seen.segments.truncate(room.count());
    seen.packets.truncate(unfolded);
    let sequence::NotedFigure { figure, mut notes } = sequence::NotedFigure::of(&seen.segments);
    if seen.segments.len() < seen.count {
        notes.push(format!("The figure has the first {} packets; {file} has all of them.", seen.segments.len()));
    }
    let are_all = is_whole && seen.packets.len() == seen.count;
    Flow { place, figure, packets: seen.packets, are_all, notes }
}
