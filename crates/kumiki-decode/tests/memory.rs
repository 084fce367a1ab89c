//! However long a capture is and whatever is in it, memory does not grow with it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use std::io::{self, Read};

use kumiki_decode::{Capture, Decoder, Format, FormatHint, Registry, reassembly};
use kumiki_wire::atm::cell::{Header, Interface};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Cells that never end a PDU, on as many channels as there are.
struct Flood {
    cell: [u8; 53],
    at: usize,
    left: u32,
}

impl Flood {
    fn turn(&mut self) {
        self.left -= 1;
        let header = Header { vci: 32 + u16::try_from(self.left % 3000).unwrap(), ..Header::default() };
        self.cell[..5].copy_from_slice(&header.octets(Interface::Uni));
        self.at = 0;
    }
}

impl Read for Flood {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        for place in out {
            if self.at == self.cell.len() {
                if self.left == 0 {
                    break;
                }
                self.turn();
            }
            *place = self.cell[self.at];
            self.at += 1;
            written += 1;
        }
        Ok(written)
    }
}

#[test]
fn a_flood_of_cells_on_many_channels_takes_bounded_memory() {
    let flood = Flood { cell: [0; 53], at: 53, left: 100_000 };
    let wish = FormatHint { format: Some(Format::Raw), layer: Some("cells") };
    let capture = Capture::open(flood, wish, &Registry::new()).unwrap();
    let mut decoder = Decoder::new();
    let (mut cells, mut given_up) = (0, 0);
    for record in capture {
        let packet = decoder.decode(&record.unwrap());
        cells += 1;
        given_up += packet.remarks().filter(|(_, remark)| remark.text.contains("given up")).count();
    }
    assert_eq!(cells, 100_000);
    // Every cell meets a channel that was given up 1976 cells ago.
    assert_eq!(given_up, 100_000 - reassembly::aal5::MOST_CIRCUITS);
    assert_eq!(decoder.unfinished().len(), reassembly::aal5::MOST_CIRCUITS);
    // One cell for each channel, and what is read at a time: 5.3 MB went through.
    let peak = MEMORY.peak_usage_as_mb();
    assert!(peak < 2.0, "{peak} MB");
}
