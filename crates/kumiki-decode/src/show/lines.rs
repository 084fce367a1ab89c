//! Packets as text: one line each, or a tree of layers and fields.

use std::fmt::Write as _;

use kumiki_octets::text::counted;

use crate::capture::{Direction, Record, Time};
use crate::packet::{Field, Layer, Level, Packet, UndissectedOctets};

/// One line: number, time since `start`, addresses, the innermost layers, what was not understood, the first mistake.
#[must_use]
pub fn line(record: &Record, packet: &Packet, start: Option<Time>) -> String {
    let mut out = format!("{:>5}", record.number);
    if let Some(time) = record.time {
        let since = time.since(start.unwrap_or_default());
        let _ = write!(out, " {:>13}", since.to_string());
    }
    if let Some(name) = &record.interface_name {
        let _ = write!(out, " {}", printable(name));
    }
    match record.direction {
        Some(Direction::Inbound) => out.push_str(" in "),
        Some(Direction::Outbound) => out.push_str(" out"),
        None => {}
    }
    let _ = write!(out, "  {}", what(packet));
    let octets: usize = packet.rest.iter().map(|rest| rest.length).sum();
    let said = |why: &str| {
        let remarks = packet.remarks();
        let mut bad = remarks.filter(|(_, remark)| remark.level == Level::Bad);
        bad.any(|(_, remark)| remark.text == why)
    };
    match packet.rest.as_slice() {
        [] => {}
        // The mistake stands at the end of the line.
        [rest] if said(&rest.why) => {
            let _ = write!(out, "  {octets} not read", octets = counted(octets, "octet"));
        }
        [rest] if !rest.why.starts_with("data") => {
            let _ = write!(out, "  {octets}: {}", printable(&rest.why), octets = counted(octets, "octet"));
        }
        _ => {
            let _ = write!(out, "  {octets} of data", octets = counted(octets, "octet"));
        }
    }
    let bad: Vec<&str> = packet
        .remarks()
        .filter(|(_, remark)| remark.level == Level::Bad)
        .map(|(_, remark)| remark.text.as_str())
        .collect();
    match bad.as_slice() {
        [] => {}
        [one] => {
            let _ = write!(out, "  !! {one}");
        }
        [first, more @ ..] => {
            let _ = write!(out, "  !! {first} (and {} more)", more.len());
        }
    }
    for comment in &record.comments {
        let _ = write!(out, "  \"{}\"", printable(comment));
    }
    if record.octets.len() < record.original_len {
        let _ = write!(out, "  (cut: {} of {})", record.octets.len(), counted(record.original_len, "octet"));
    }
    out
}

/// The outermost addresses, and every layer that carries no other or numbers what it carries.
fn what(packet: &Packet) -> String {
    let Some(last) = packet.layers.last() else {
        return "not understood".to_owned();
    };
    // The summary of an innermost IP header has the addresses itself.
    if last.ends.is_some() && packet.layers.iter().filter_map(|layer| layer.ends.as_ref()).count() == 1 {
        return last.summary.clone();
    }
    let mut out = String::new();
    if let Some([source, destination]) = packet.layers.iter().find_map(|layer| layer.ends.as_ref()) {
        let _ = write!(out, "{source} > {destination}  ");
    }
    // An error is about what it quotes.
    let quoting = packet.layers.iter().rev().skip(1).find(|layer| layer.protocol.starts_with("icmp"));
    if let Some(error) = quoting {
        let _ = write!(out, "{} about ", error.summary);
    }
    let all = innermost(packet);
    for (n, layer) in all.iter().take(MOST_INNERMOST).enumerate() {
        let _ = write!(out, "{}{}", if n > 0 { "; " } else { "" }, layer.summary);
    }
    if let more @ 1.. = all.len().saturating_sub(MOST_INNERMOST) {
        let _ = write!(out, "; and {more} more");
    }
    out
}

/// Of how many layers the line of a packet tells at most.
const MOST_INNERMOST: usize = 6;

/// The layers that nothing lies in, and those that stay. Most packets have one; a segment of TCP may hold several TPKTs
/// or packets of XOT, and a value of presentation several FPDUs.
fn innermost(packet: &Packet) -> Vec<&Layer> {
    let ends = |layer: &Layer, next: Option<&Layer>| {
        next.is_none_or(|next| {
            let ftam = |layer: &Layer| layer.protocol.starts_with("ftam");
            ["tpkt", "xot"].contains(&next.protocol) && layer.protocol != "tcp" || ftam(layer) && ftam(next)
        })
    };
    let following = packet.layers.iter().skip(1).map(Some).chain([None]);
    let pairs = packet.layers.iter().zip(following);
    pairs.filter(|(layer, next)| layer.stays || ends(layer, *next)).map(|(layer, _)| layer).collect()
}

/// The packet with everything in it: layers, fields with their places, remarks, octets that were not understood.
#[must_use]
pub fn tree(record: &Record, packet: &Packet, start: Option<Time>) -> String {
    let mut out = format!("Packet {}", record.number);
    let length = record.original_len.max(record.octets.len());
    if record.octets.len() < length {
        let _ = write!(out, ", cut: {} of {octets}", record.octets.len(), octets = counted(length, "octet"));
    } else {
        let _ = write!(out, ", {octets}", octets = counted(length, "octet"));
    }
    if let Some(time) = record.time {
        let since = time.since(start.unwrap_or_default());
        let _ = write!(out, ", at {time} s (+{since})");
    }
    let _ = write!(out, ", interface {}", record.interface);
    if let Some(name) = &record.interface_name {
        let _ = write!(out, " \"{}\"", printable(name));
    }
    if let Some(direction) = record.direction {
        let _ = write!(out, ", {direction:?}");
    }
    let _ = writeln!(out, ", {}, at octet {} of the file", record.link, record.file_offset);
    for comment in &record.comments {
        let _ = writeln!(out, "  comment: {}", printable(comment));
    }
    for (code, value) in &record.options {
        let _ = writeln!(out, "  option {code}: {}", crate::packet::hex(value));
    }
    let mut buffer = 0;
    for layer in &packet.layers {
        if layer.buffer > buffer {
            buffer = layer.buffer;
            reassembled(&mut out, packet, buffer);
        }
        one_layer(&mut out, layer);
    }
    for rest in &packet.rest {
        one_rest(&mut out, rest);
    }
    out
}

fn reassembled(out: &mut String, packet: &Packet, buffer: usize) {
    let Some(pdu) = buffer.checked_sub(1).and_then(|at| packet.reassembled.get(at)) else {
        return;
    };
    let packets: Vec<String> = pdu.packets.iter().map(ToString::to_string).collect();
    let _ = writeln!(
        out,
        "  {} of {} from {} in packets {}",
        pdu.what,
        counted(pdu.octets.len(), "octet"),
        counted(pdu.parts, "part"),
        packets.join(" ")
    );
}

fn one_layer(out: &mut String, layer: &Layer) {
    let _ = writeln!(out, "  {}", layer.summary);
    for field in &layer.fields {
        one_field(out, field);
    }
    for remark in &layer.remarks {
        let mark = match remark.level {
            Level::Note => "note:",
            Level::Bad => "!!",
        };
        let _ = writeln!(out, "    {mark} {}", remark.text);
    }
}

fn one_field(out: &mut String, field: &Field) {
    let value = printable(&field.value.to_string());
    let _ = write!(out, "    {:>5} {:>4}  {:<22} {value}", field.offset, field.length, field.name);
    if let Some(meaning) = &field.meaning {
        let _ = write!(out, " ({})", printable(meaning));
    }
    out.push('\n');
}

fn one_rest(out: &mut String, rest: &UndissectedOctets) {
    let _ = writeln!(out, "  {} from {}: {}", counted(rest.length, "octet"), rest.offset, printable(&rest.why));
    for (number, row) in rest.octets.chunks(16).enumerate() {
        let digits: Vec<String> = row.iter().map(|octet| format!("{octet:02x}")).collect();
        let shown = |octet: &u8| match octet {
            b' '..=b'~' => char::from(*octet),
            _ => '.',
        };
        let characters: String = row.iter().map(shown).collect();
        let at = rest.offset.saturating_add(16 * number);
        let _ = writeln!(out, "    {at:05x}  {:<47}  {characters}", digits.join(" "));
    }
}

/// What comes from a file must not move a terminal's cursor or colour it.
fn printable(text: &str) -> String {
    text.chars().map(|c| if kumiki_octets::text::is_unseen(c) { '.' } else { c }).collect()
}
