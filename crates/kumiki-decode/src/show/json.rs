//! One JSON object for each packet. The fields are described in `docs/decode.md`.

use serde::Serialize;

use crate::capture::{Direction, Record};
use crate::packet::{Layer, Packet, Reassembled, UndissectedOctets};
use crate::reassembly::UnfinishedPdu;

#[derive(Serialize)]
struct JsonPacket<'a> {
    packet: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    interface: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface_name: Option<&'a str>,
    file_offset: u64,
    link: String,
    captured: usize,
    length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    comments: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<RecordOption>,
    bad: bool,
    layers: &'a [Layer],
    rest: &'a [UndissectedOctets],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reassembled: &'a [Reassembled],
}

#[derive(Serialize)]
struct RecordOption {
    code: u16,
    hex: String,
}

#[derive(Serialize)]
struct ShownUnfinished<'a> {
    unfinished: &'a str,
    parts: usize,
    octets: usize,
    first_packet: u64,
}

/// The packet as one object on one line, without the line's end.
#[must_use]
pub fn json(record: &Record, packet: &Packet) -> String {
    let options =
        record.options.iter().map(|(code, value)| RecordOption { code: *code, hex: crate::packet::hex(value) });
    let shown = JsonPacket {
        packet: record.number,
        time: record.time.map(|time| time.to_string()),
        interface: record.interface,
        interface_name: record.interface_name.as_deref(),
        file_offset: record.file_offset,
        link: record.link.to_string(),
        captured: record.octets.len(),
        length: record.original_len.max(record.octets.len()),
        direction: record.direction.map(|direction| match direction {
            Direction::Inbound => "inbound",
            Direction::Outbound => "outbound",
        }),
        comments: &record.comments,
        options: options.collect(),
        bad: packet.is_bad(),
        layers: &packet.layers,
        rest: &packet.rest,
        reassembled: &packet.reassembled,
    };
    // Only a map with keys that are no strings can fail, and there is none.
    serde_json::to_string(&shown).unwrap_or_default()
}

/// A PDU that did not end, as one object on one line.
#[must_use]
pub fn json_unfinished(unfinished: &UnfinishedPdu) -> String {
    let shown = ShownUnfinished {
        unfinished: &unfinished.what,
        parts: unfinished.parts,
        octets: unfinished.octets,
        first_packet: unfinished.first_packet,
    };
    serde_json::to_string(&shown).unwrap_or_default()
}
