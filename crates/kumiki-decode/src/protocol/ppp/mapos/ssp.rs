//! Switch Switch Protocol.
//!
//! | | |
//! |---|---|
//! | Codec | [`kumiki_wire::ppp::mapos::ssp`] |
//! | Found | MAPOS protocol FE05 |

use kumiki_wire::ppp::mapos::ssp::{
    Command, ENTRY_LEN, Entry, Header, LEN, MAX_ENTRIES, Metric, VERSION, afi, entries,
};
use kumiki_wire::ppp::mapos::{Address, protocol};

use super::{hex, sent_elsewhere, width};
use crate::key::Key;
use crate::packet::in_words;
use crate::reading::Reading;
use crate::registry::Dissector;

pub(crate) const DISSECTOR: Dissector = Dissector {
    name: "mapos-ssp",
    title: "MAPOS Switch Switch Protocol",
    claims: &[Key::MaposProtocol(protocol::SSP)],
    dissect,
};

/// Entries that are named in the summary.
const NAMED: usize = 3;

fn dissect(reading: &mut Reading<'_>) {
    let parsed = Header::parse(reading.octets(), reading.total());
    let header = match (reading.octets(), parsed) {
        (_, Ok((header, _))) => Some(header),
        // What is wrong with the command or the length does not hide the entries. Another version may have any form.
        ([_, VERSION, _, _, ..], Err(why)) => {
            reading.bad(in_words(&why));
            None
        }
        (_, Err(why)) => return reading.malformed(&why),
    };
    let behind = reading.part(LEN, reading.total());
    let list: Vec<Entry> = entries(behind).collect();
    let end = LEN + list.len() * ENTRY_LEN;
    reading.header_len(end);
    let name = header.map_or_else(|| "SSP".to_owned(), |header| header.to_string());
    reading.summary(format!("{name}{}", named(&list)));
    if let Some(header) = header {
        let write = |mut out: &mut [u8]| {
            let parts = core::iter::once(LEN).chain(list.iter().map(Entry::len));
            for (at, len) in parts.enumerate() {
                let (part, rest) = core::mem::take(&mut out).split_at_mut(len);
                match at.checked_sub(1).and_then(|at| list.get(at)) {
                    None => header.emit(part),
                    Some(entry) => entry.emit(part),
                }
                out = rest;
            }
        };
        reading.emitted(write, end);
    }
    let meaning = header.map(|header| header.command.to_string());
    let command = reading.part(0, 1).first().copied().unwrap_or_default();
    reading.named("command", 0, 1, command, meaning.unwrap_or_default());
    reading.field("version", 1, 1, VERSION);
    if let Some(elsewhere) = sent_elsewhere(reading, Address::local_control) {
        reading.bad(format!("SSP goes to the control processor of the next switch, not to {elsewhere:#04x}"));
    }
    for (number, entry) in list.iter().enumerate() {
        let at = LEN + number * ENTRY_LEN;
        reading.field("address family identifier", at, 2, entry.afi);
        reading.field("hdlc address", at + 4, 4, hex(entry.address, 8));
        reading.field("subnet mask", at + 8, 4, hex(entry.mask, 8));
        let metric = entry.metric;
        reading.named("metric", at + 16, 4, metric.0, meaning_of(metric));
        let number = number + 1;
        match header.map(|header| header.command) {
            Some(Command::Response) => {
                if let Err(why) = entry.route(width(reading, entry.address)) {
                    let why = in_words(&why);
                    reading.bad(format!("entry {number} is to be ignored: {why}"));
                }
            }
            Some(Command::Request) if entry.afi != afi::UNSPECIFIED => {
                let found = entry.afi;
                reading.bad(format!(
                    "entry {number} of a request has the address family {found}; only 0, for the whole table, is answered"
                ));
            }
            Some(Command::Request) | None => {}
        }
    }
    let why = if list.len() == MAX_ENTRIES { "more than a packet can have" } else { "not a whole entry" };
    reading.rest(end, usize::MAX, why);
}

fn named(list: &[Entry]) -> String {
    let (first, more) = list.split_at(list.len().min(NAMED));
    let mut text: Vec<String> = first.iter().map(Entry::to_string).collect();
    if !more.is_empty() {
        text.push(format!("{} more", more.len()));
    }
    let text = text.join(", ");
    if text.is_empty() { text } else { format!(" {text}") }
}

fn meaning_of(metric: Metric) -> String {
    match metric {
        Metric::LOCAL => "the switch itself".to_owned(),
        Metric::UNREACHABLE => "unreachable".to_owned(),
        metric if metric.is_poisoned() => {
            let before = metric.0.saturating_sub(Metric::UNREACHABLE.0);
            format!("poisoned reverse of {before}")
        }
        metric if metric.is_legal() => String::new(),
        _ => "illegal".to_owned(),
    }
}
