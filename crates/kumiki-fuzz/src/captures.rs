//! Files of packets in any format: read to the end or refused, each record within the file, in bounded memory.

use kumiki_decode::capture::MOST_OCTETS;
use kumiki_decode::{Capture, Decoder, Format, FormatHint, Registry, show};

use crate::layers::layer;
use crate::{Draw, Target, within_mb};

pub(crate) const TARGET: Target =
    Target { name: "captures", title: "files of packets: pcap, pcapng, ERF, hexadecimal text, raw octets", run };

fn run(octets: &[u8]) {
    let mut draw = Draw::new(octets);
    let registry = Registry::new();
    // Without a wish the format is guessed.
    let format = Format::NAMES.get(draw.below(6)).map(|(_, format)| *format);
    let layer = match draw.octet() & 1 {
        0 => None,
        _ => Some(layer(&mut draw, &registry)),
    };
    let file = draw.rest();
    // A file may promise a record of 4 MiB, which is then read as far as it goes.
    within_mb(64.0, || {
        let Ok(capture) = Capture::open(file, FormatHint { format, layer }, &registry) else {
            return;
        };
        let mut decoder = Decoder::new();
        let mut number = 0;
        for record in capture {
            let record = match record {
                Ok(record) => record,
                Err(why) => {
                    assert!(!why.to_string().is_empty());
                    break;
                }
            };
            number += 1;
            assert_eq!(record.number, number);
            assert!(record.octets.len() <= MOST_OCTETS && record.octets.len() <= file.len());
            assert!(record.file_offset <= file.len() as u64);
            let packet = decoder.decode(&record);
            let _ = show::line(&record, &packet, record.time);
            assert!(show::json(&record, &packet).starts_with('{'));
        }
        for left in decoder.unfinished() {
            let _ = show::json_unfinished(&left);
        }
    });
}
