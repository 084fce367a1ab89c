//! A packet decoded: its layers and fields, and what is wrong with it.
//!
//! ```text
//! cargo run -p kumiki-examples --example decode_packet
//! ```
//!
//! The same code reads pcap and pcapng: give `Capture::open` a file, and leave format and layer to it.

use std::error::Error;

use kumiki_decode::{Capture, Decoder, Format, FormatHint, Registry, show};

/// A TCP SYN over IPv4. Its checksum is not the one that its octets give.
const PACKET: [u8; 44] = [
    0x45, 0x00, 0x00, 0x2c, 0x00, 0x01, 0x40, 0x00, 0x40, 0x06, 0x26, 0xc9, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
    0xc0, 0x00, 0x00, 0x50, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x60, 0x02, 0xff, 0xff, // TCP
    0x12, 0x34, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4, // checksum, urgent pointer, MSS
];

fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::new();
    let wish = FormatHint { format: Some(Format::Raw), layer: Some("ip") };
    let mut capture = Capture::open(&PACKET[..], wish, &registry)?;
    let mut decoder = Decoder::new(); // remembers what is being reassembled
    while let Some(record) = capture.next_record()? {
        let packet = decoder.decode(&record);
        println!("{}", show::tree(&record, &packet, None));

        // The same as data.
        if let Some(port) = packet.layer("tcp").and_then(|tcp| tcp.field("destination port")) {
            println!("to port {port:?}");
        }
        for (layer, remark) in packet.remarks() {
            println!("{}: {:?}", layer.protocol, remark);
        }
    }
    Ok(())
}
