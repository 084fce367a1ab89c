//! LAPB, X.25 and XOT: tshark reads the captures of Linux's kernel and of xotpad as we do.

use std::path::Path;

use super::arrange::bad;
use super::judge::{Pair, compare, ours, pcap};

const FIELDS: [Pair; 13] = [
    ("lapb.address", "lapb", "address"),
    ("lapb.control", "lapb", "control"),
    ("lapb.control.n_r", "lapb", "n(r)"),
    ("lapb.control.n_s", "lapb", "n(s)"),
    ("x25.gfi", "x25", "gfi"),
    ("x25.p_s", "x25", "p(s)"),
    ("x25.p_r", "x25", "p(r)"),
    ("x25.called_address", "x25", "called"),
    ("x25.calling_address", "x25", "calling"),
    (
        "x25.facility.packet_size.called_dte",
        "x25",
        "packet size code, called",
    ),
    (
        "x25.facility.packet_size.calling_dte",
        "x25",
        "packet size code, calling",
    ),
    ("x25.window_size.called_dte", "x25", "window, called"),
    ("x25.window_size.calling_dte", "x25", "window, calling"),
];

fn capture(name: &str) -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut folders = root.skip(3).take(2);
    let found = folders.find_map(|it| std::fs::read(it.join("shared/captures").join(name)).ok());
    if found.is_none() {
        println!("skipped: there is no ../shared/captures beside the repository");
    }
    found
}

#[test]
fn captures_of_linux_and_xotpad_are_read_as_tshark_reads_them() {
    for name in ["linux-kernel-lapb-x25.pcap", "xot-xotpad.pcap"] {
        let Some(file) = capture(name) else {
            continue;
        };
        compare(name, &file, &FIELDS);
        for packet in ours(&file) {
            assert_eq!(bad(&packet), [""; 0]);
        }
    }
}

/// A frame of LAPB in one of Ethernet.
fn frame(octets: &str) -> Vec<u8> {
    let digits: Vec<u8> = octets
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(|it| u8::try_from(it).unwrap())
        .collect();
    let octets: Vec<u8> = digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect();
    let length = u8::try_from(octets.len()).unwrap();
    let mut frame = [0xff; 6].to_vec();
    frame.extend([2, 0, 0, 0, 0, 1, 0x60, 0x00, length, 0]);
    frame.extend(octets);
    frame.resize(60, 0);
    frame
}

#[test]
fn what_no_capture_has_is_read_as_tshark_reads_it() {
    let frames = [
        // Addresses with type and plan, throughput and fast select.
        "01 00 90 02 0b 07 06 11 23 45 61 12 34 50 04 01 80 02 ad 01",
        "01 02 10 05 1b 05 91",
        "01 04 10 05 05",
        "01 06 10 05 49",
        "01 08 10 05 23 aa",
        "01 0a 10 05 13 09 f1",
        "01 0c 10 00 f1 24 10 99 0b",
        "01 15",
        "01 19",
        "03 53",
        "03 1f",
        "01 87 a1 56 08",
    ];
    let frames: Vec<Vec<u8>> = frames.iter().map(|it| frame(it)).collect();
    let fields = &FIELDS[..7];
    compare("x25.pcap", &pcap(1, &frames), fields);
}

/// As recorders of SITA's have it, and as Kumiki's captures of LAPB do.
#[test]
fn frames_behind_their_direction_are_read_as_tshark_reads_them() {
    let frames: [&[u8]; 2] = [&[3, 0x3f], &[1, 0, 0x10, 0, 0xfb, 0, 0]];
    let behind = |(received, frame): (u8, &[u8])| [&[received, 0, 0, 0, 1], frame].concat();
    let frames: Vec<Vec<u8>> = (0..).zip(frames).map(behind).collect();
    compare("sita.pcap", &pcap(196, &frames), &FIELDS[..5]);
}
