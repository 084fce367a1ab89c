//! Any octets as any layer, packet after packet with what is reassembled between them.

use kumiki_decode::capture::Link;
use kumiki_decode::{Decoder, Packet, Record, Registry, show};

use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target =
    Target { name: "layers", title: "decoding: any octets as any layer, with reassembly", run };

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let registry = Registry::new();
    let first = layer(&mut draw, &registry);
    let mut decoder = Decoder::new();
    // User cells of one channel go to a layer of choice.
    if draw.octet() & 1 != 0 {
        let name = layer(&mut draw, &registry);
        if let Some(dissector) = registry.by_name(name) {
            decoder = decoder.adapting(0, 100, dissector);
        }
    }
    within_mb(64.0, || {
        for number in 1..=64 {
            if draw.is_empty() {
                break;
            }
            let len = draw.below(1 << 11);
            let octets = draw.take(len);
            // What the capture cut off, in a few cases.
            let more = if len % 8 == 7 { len } else { 0 };
            let record = Record {
                number,
                link: Link::Named(first),
                octets: octets.to_vec(),
                original_len: octets.len() + more,
                ..Record::default()
            };
            let packet = decoder.decode(&record);
            look(&record, &packet);
        }
        for left in decoder.unfinished() {
            let _ = show::json_unfinished(&left);
        }
    });
}

/// A layer, by the next 16 bits: that of which the hash of the name follows them. So a new layer takes the octets of
/// few others, and what is kept in the corpus goes on to mean what it did.
pub(crate) fn layer(draw: &mut Draw<'_>, registry: &Registry) -> &'static str {
    let wanted = draw.word();
    let hash = |name: &str| {
        name.bytes().fold(0_u16, |hash, octet| (hash ^ u16::from(octet)).wrapping_mul(0x9e37).rotate_left(5))
    };
    let names = registry.all().map(|one| one.name);
    names.min_by_key(|name| hash(name).wrapping_sub(wanted)).unwrap()
}

/// What is shown lies within what was there.
fn look(record: &Record, packet: &Packet) {
    let total = record.original_len.max(record.octets.len());
    let whole = |buffer: usize| match buffer.checked_sub(1) {
        None => (record.octets.as_slice(), total),
        Some(at) => {
            let octets = packet.reassembled[at].octets.as_slice();
            (octets, octets.len())
        }
    };
    for layer in &packet.layers {
        assert!(layer.offset <= whole(layer.buffer).1, "{layer:?}");
        assert!(!layer.protocol.is_empty());
    }
    for rest in &packet.rest {
        let (octets, _) = whole(rest.buffer);
        assert!(rest.octets.len() <= rest.length);
        let found = &octets[rest.offset.min(octets.len())..];
        assert!(found.starts_with(&rest.octets), "{rest:?}");
    }
    let line = show::line(record, packet, None);
    assert!(!line.chars().any(char::is_control), "{line:?}");
    let _ = show::tree(record, packet, None);
    assert!(show::json(record, packet).starts_with('{'));
}
