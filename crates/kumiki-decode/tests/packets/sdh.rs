//! Frames of SONET/SDH, put together by the drawing of the standard.

use kumiki_decode::{Decoder, Packet, show};
use kumiki_octets::scramble;

use super::arrange::{bad, decode_all, notes, record, value};
use super::judge::{compare_with, pcap};

/// A frame of STM-1, counted from 1 as the drawing does.
#[derive(Clone)]
struct Frame(Vec<u8>);

impl Frame {
    /// With any octets where any may be, and J1 to N1 where the pointer says.
    fn new(pointer: u16, seed: u8) -> Self {
        let mut octet = seed;
        let mut frame = Self(vec![0; 2430]);
        for octet_of in &mut frame.0 {
            octet = octet.wrapping_mul(37).wrapping_add(11);
            *octet_of = octet;
        }
        for column in 1..=3 {
            frame.set(1, column, 0xf6);
            frame.set(1, column + 3, 0x28);
            frame.set(4, column, 0x9b);
            frame.set(4, column + 3, 0xff);
        }
        let [h1, h2] = pointer.to_be_bytes();
        frame.set(4, 1, 0x68 | h1);
        frame.set(4, 4, h2);
        frame.set(5, 7, seed & 0xf8);
        frame.set(9, 6, seed % 25);
        for (row, octet) in [(3, 0x16), (6, 0)] {
            frame.set_path(pointer, row, octet);
        }
        frame
    }

    fn set(&mut self, row: usize, column: usize, octet: u8) {
        self.0[(row - 1) * 270 + column - 1] = octet;
    }

    fn octet(&self, row: usize, column: usize) -> u8 {
        self.0[(row - 1) * 270 + column - 1]
    }

    /// Each unit of the pointer is three octets behind H3; nine rows of 261 columns go round.
    fn set_path(&mut self, pointer: u16, row: usize, octet: u8) {
        let mut place = (4, 10);
        for _ in 0..3 * usize::from(pointer) + 261 * (row - 1) {
            place = match place {
                (9, 270) => (1, 10),
                (row, 270) => (row + 1, 10),
                (row, column) => (row, column + 1),
            };
        }
        self.set(place.0, place.1, octet);
    }

    /// The frame with the parities of the one before.
    fn behind(mut self, before: &Self) -> Self {
        let mut line = before.0.clone();
        scramble::frame(0, &mut line[9..]);
        self.set(2, 1, line.iter().fold(0, |parity, octet| parity ^ octet));
        for part in 1..=3 {
            let mut parity = 0;
            for row in 1..=9 {
                let first = if row <= 3 { 10 } else { 1 };
                for column in (first..=270).filter(|column| column % 3 == part % 3) {
                    parity ^= before.octet(row, column);
                }
            }
            self.set(5, part, parity);
        }
        self
    }
}

/// Frames one behind the other.
fn line(pointers: &[u16]) -> Vec<Vec<u8>> {
    let mut frames: Vec<Frame> = Vec::new();
    for (seed, pointer) in (3..).zip(pointers) {
        let frame = Frame::new(*pointer, seed);
        frames.push(match frames.last() {
            Some(before) => frame.behind(before),
            None => frame,
        });
    }
    frames.into_iter().map(|frame| frame.0).collect()
}

fn remarks(packets: &[Packet]) -> Vec<String> {
    let all = packets.iter().flat_map(|packet| [bad(packet), notes(packet)].concat());
    all.collect()
}

#[test]
fn frames_are_read_as_tshark_reads_them() {
    let single = [
        "A1", "A2", "J0", "B1", "E1", "F1", "D1", "D2", "D3", "B2", "K1", "K2", "D4", "D5", "D6", "D7", "D8", "D9",
        "D10", "D11", "D12", "S1", "M1", "E2", "J1",
    ];
    let names: Vec<String> = single.iter().map(|name| format!("sdh.{}", name.to_lowercase())).collect();
    let pairs: Vec<(&str, &str, &str)> =
        names.iter().zip(single).map(|(theirs, ours)| (theirs.as_str(), "sdh", ours)).collect();
    let more = ["-o", r#"uat:user_dlts:"User 13 (DLT=160)","sdh","0","","0","""#];
    for pointer in [0, 1, 86, 87, 300, 521, 522, 782] {
        let file = pcap(160, &line(&[pointer; 4]));
        compare_with(&more, "judge-sdh.pcap", &file, &pairs);
    }
}

#[test]
fn right_frames_are_named_and_nothing_is_remarked() {
    for pointer in [0, 300, 522] {
        let packets = decode_all("sdh", &line(&[pointer; 3]));
        assert_eq!(remarks(&packets), [""; 0]);
        for packet in &packets {
            assert_eq!(
                packet.layer("sdh").unwrap().summary,
                format!("STS-3c (STM-1) frame, pointer {pointer}, PPP with x^43+1 scrambling")
            );
            assert_eq!(value(packet, "sdh", "C2"), "0x16");
        }
    }
    let mut scrambled = line(&[522; 3]);
    let plain = decode_all("sdh", &scrambled);
    for frame in &mut scrambled {
        scramble::frame(0, &mut frame[9..]);
    }
    let packets = decode_all("sdh", &scrambled);
    assert_eq!(remarks(&packets), ["sdh: captured scrambled; the fields are shown as they are before"; 3]);
    for (one, other) in packets.iter().zip(plain) {
        assert_eq!(one.layers[0].fields, other.layers[0].fields);
    }
}

#[test]
fn wrong_parities_are_told_from_the_frame_before() {
    let mut frames = line(&[522; 3]);
    // One bit of the payload of the second.
    frames[1][1000] ^= 1;
    let packets = decode_all("sdh", &frames);
    assert_eq!(bad(&packets[1]), [""; 0]);
    let found = value(&packets[2], "sdh", "B1");
    let right = u8::from_str_radix(&found[2..], 16).unwrap() ^ 1;
    assert_eq!(
        bad(&packets[2]),
        [
            format!("sdh: B1 is {found}, the frame before (packet 2) gives {right:#04x}"),
            "sdh: 1 bit of B2 differs from what the frame before (packet 2) gives".to_owned(),
        ]
    );
    // Frames of other lines are between them.
    let mut decoder = Decoder::new();
    let frames = line(&[522; 2]);
    let link = || kumiki_decode::capture::Link::Named("sdh");
    let mut other = record(2, link(), &frames[1]);
    other.interface = 1;
    for record in [record(1, link(), &frames[0]), other, record(3, link(), &frames[1])] {
        assert_eq!(bad(&decoder.decode(&record)), [""; 0]);
    }
}

#[test]
fn what_a_pointer_says_is_told() {
    // 522 with the bits of an increment inverted, then 523.
    let packets = decode_all("sdh", &line(&[522, 522 ^ 0x2aa, 523, 523 ^ 0x155, 522]));
    let said: Vec<&str> = packets.iter().map(|packet| packet.layers[0].summary.as_str()).collect();
    assert_eq!(
        said,
        [
            "STS-3c (STM-1) frame, pointer 522, PPP with x^43+1 scrambling",
            "STS-3c (STM-1) frame, positive justification from 522",
            "STS-3c (STM-1) frame, pointer 523, PPP with x^43+1 scrambling",
            "STS-3c (STM-1) frame, negative justification from 523",
            "STS-3c (STM-1) frame, pointer 522, PPP with x^43+1 scrambling",
        ]
    );
    assert_eq!(remarks(&packets), [""; 0]);
    let one = |edit: &dyn Fn(&mut Frame)| {
        let mut frame = Frame::new(522, 1);
        edit(&mut frame);
        remarks(&decode_all("sdh", &[frame.0]))
    };
    assert_eq!(
        one(&|frame| frame.set(4, 1, 0x0a)),
        ["sdh: the new data flag is 0x0, 0x6 (no) and 0x9 (yes) are known"]
    );
    assert_eq!(
        one(&|frame| {
            frame.set(4, 1, 0x6b);
            frame.set(4, 4, 0xff);
        }),
        ["sdh: pointer is 1023, at most 782 is right"]
    );
    assert_eq!(
        one(&|frame| {
            frame.set(4, 2, 0x68);
            frame.set(1, 5, 0x29);
        }),
        [
            "sdh: 1 of 3 A2 are not 0x28",
            "sdh: 1 of 2 further pairs of H1 and H2 do not say that the envelope is concatenated (0x93ff or 0x9bff)"
        ]
    );
    assert_eq!(one(&|frame| frame.set_path(522, 6, 7)), ["sdh: H4 is 0x07; RFC 2615 section 2 wants 0 with PPP"]);
    assert_eq!(
        remarks(&decode_all("sdh", &[vec![0; 2431]])),
        ["sdh: frame (2430, 9720, 38880 or 155520) is 2431 octets, expected 2430 to 155520"]
    );
}

#[test]
fn alarms_are_in_the_line_of_a_frame() {
    let mut frame = Frame::new(522, 1);
    frame.0[3 * 270..].fill(0xff);
    let packet = decode_all("sdh", &[frame.0.clone()]).remove(0);
    let text = show::line(&record(1, Default::default(), &frame.0), &packet, None);
    assert!(text.ends_with("STS-3c (STM-1) frame, AIS-P, AIS-L"), "{text}");
    assert_eq!(
        notes(&packet),
        [
            "sdh: H1 and H2 are all ones: path alarm indication (AIS-P)",
            "sdh: M1 is 255, more than 24 errors there cannot be: read as none",
        ]
    );
    let mut frame = Frame::new(522, 1);
    frame.set(5, 7, 6);
    frame.set_path(522, 4, 0x38);
    let packet = decode_all("sdh", &[frame.0.clone()]).remove(0);
    let json = show::json(&record(1, Default::default(), &frame.0), &packet);
    for part in [
        r#"{"name":"K2","value":6,"meaning":"RDI-L","offset":1086,"length":1}"#,
        r#"{"name":"G1","value":56,"meaning":"3 errors at the far end (REI-P), RDI-P","offset":819,"length":1}"#,
    ] {
        assert!(json.contains(part), "{part}\n{json}");
    }
}
