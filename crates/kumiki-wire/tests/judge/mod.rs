//! tshark as judge: packets go into a capture file, tshark's reading of named fields comes back.

use std::io::Write;
use std::path::Path;

use kumiki_watchdog::peers::{CHECKSUMS, tshark_fields};

/// Link types of capture files.
pub(crate) mod link_type {
    #[allow(dead_code, reason = "one of the tests that judge has no Ethernet")]
    pub(crate) const ETHERNET: u32 = 1;
    #[allow(dead_code, reason = "some of the tests that judge have no bare IP")]
    pub(crate) const RAW: u32 = 101;
    #[allow(dead_code, reason = "one of the tests that judge has no ATM")]
    pub(crate) const ATM_RFC1483: u32 = 100;
}

/// What tshark reads in each packet: one row per packet, one text per field, several values of a field joined by a
/// comma. `None`, with the reason printed, where there is no tshark.
pub(crate) fn fields(name: &str, link_type: u32, packets: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&capture(link_type, packets)).unwrap();
    drop(file);

    let relative = ["-o", "tcp.relative_sequence_numbers:FALSE"];
    tshark_fields(path, &[&CHECKSUMS[..], &relative].concat(), fields)
}

/// A classic capture file, microseconds, little-endian.
fn capture(link_type: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend(65535u32.to_le_bytes());
    file.extend(link_type.to_le_bytes());
    for packet in packets {
        let len = u32::try_from(packet.len()).unwrap().to_le_bytes();
        file.extend([0; 8]);
        file.extend(len);
        file.extend(len);
        file.extend(packet);
    }
    file
}
