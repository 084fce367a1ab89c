//! Frames of SDH in a capture, and tshark beside us: it names the octets of overhead, and finds J1 by the pointer.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use std::path::Path;

use kumiki_link::sonet::{Alarm, Feedback, Level, LineConfig, OctetClock, Transmitter};
use kumiki_octets::scramble;
use kumiki_pcapng::{LinkType, PcapNg};

const FIELDS: [&str; 15] = [
    "sdh.a1", "sdh.a2", "sdh.j0", "sdh.b1", "sdh.e1", "sdh.d1", "sdh.h1", "sdh.h2", "sdh.au", "sdh.b2", "sdh.k1",
    "sdh.k2", "sdh.s1", "sdh.m1", "sdh.j1",
];

/// What tshark reads in each frame of a capture; `None`, with the reason printed, where there is no tshark and
/// `KUMIKI_REQUIRE_TSHARK` is not set.
fn tshark(capture: &Path) -> Option<Vec<Vec<String>>> {
    // User 13 is link type 160. tshark does not descramble, so that what is captured is the frame before it is
    // scrambled.
    let user = ["-o", r#"uat:user_dlts:"User 13 (DLT=160)","sdh","0","","0","""#];
    let mut rows = kumiki_watchdog::peers::tshark_fields(capture, &user, &FIELDS)?;
    for cell in rows.iter_mut().flatten() {
        cell.retain(|it| it != ':');
    }
    Some(rows)
}

/// The parities that the frame behind this one carries, octet by octet as the standards describe them.
fn parities(line: &[u8], clear: &[u8], n: usize) -> (u8, Vec<u8>) {
    let b1 = line.iter().fold(0, |parity, octet| parity ^ octet);
    let mut b2 = vec![0; n];
    for (at, octet) in clear.iter().enumerate() {
        let (row, column) = (at / (90 * n), at % (90 * n));
        if row >= 3 || column >= 3 * n {
            b2[column % n] ^= octet;
        }
    }
    (b1, b2)
}

fn number(text: &str) -> u64 {
    let digits = text.strip_prefix("0x");
    digits.map_or_else(|| text.parse().unwrap(), |digits| u64::from_str_radix(digits, 16).unwrap())
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[test]
fn tshark_names_the_overhead_of_frames_whose_pointer_moves() {
    // STM-1 only: of longer frames tshark 4.0 looks at the wrong places.
    let (level, n) = (Level::Sts3c, 3);
    for (pointer, ppb) in [(522, 0), (1, -300_000), (600, 300_000)] {
        let config = LineConfig { sdh: true, j0: 0xc5, j1: 0x5a, ..LineConfig::ppp(level, true) };
        let clock = OctetClock::new(level).with_pointer(pointer).with_offset(ppb);
        let mut transmitter = Transmitter::new(config, pointer, 7);
        transmitter.set_offset(ppb);
        let name = format!("sdh-{pointer}.pcapng");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        let mut capture = PcapNg::new(file).unwrap();
        let interface = capture.add_interface("line", LinkType::User(13), 0).unwrap();
        let mut expected = Vec::new();
        let (mut b1, mut b2) = (0, vec![0; n]);
        let mut pointers = Vec::new();
        for number in 0..24_u32 {
            transmitter.set_feedback(Feedback {
                b2_errors: number,
                line_defect: number % 3 == 0,
                ..Feedback::default()
            });
            transmitter.set_alarm((number == 20).then_some(Alarm::Line));
            let moves = |transmitter: &Transmitter| transmitter.counters().positive + transmitter.counters().negative;
            let before = moves(&transmitter);
            pointers.push(transmitter.pointer());
            let mut line = vec![0; 810 * n];
            transmitter.emit(&mut line, |payload| payload.fill(0x7e));
            let moves = moves(&transmitter) != before;
            let mut clear = line.clone();
            scramble::frame(0, &mut clear[3 * n..]);
            capture.write(interface, u64::from(number) * 125_000, &clear, clear.len(), None).unwrap();
            expected.push((number, b1, b2, moves));
            (b1, b2) = parities(&line, &clear, n);
        }
        capture.finish().unwrap();
        let moved = pointers.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let offset = u64::from(clock.offset_ppb().unsigned_abs());
        assert_eq!(moved as u64, 23 * 783 * offset / 1_000_000_000);
        let Some(rows) = tshark(&path) else {
            return;
        };
        assert_eq!(rows.len(), expected.len());
        for ((row, (frame, b1, b2, moves)), pointer) in rows.iter().zip(expected).zip(pointers) {
            let value = |name: &str| {
                let place = FIELDS.iter().position(|field| *field == name).unwrap();
                row[place].clone()
            };
            assert_eq!(value("sdh.a1"), "f6f6f6");
            assert_eq!(value("sdh.a2"), "282828");
            assert_eq!(number(&value("sdh.j0")), 0xc5);
            assert_eq!(number(&value("sdh.b1")), b1.into(), "frame {frame}");
            if frame == 20 {
                assert_eq!(number(&value("sdh.k2")), 0xff);
                continue;
            }
            assert_eq!(value("sdh.b2"), hex(&b2), "frame {frame}");
            let k2 = if frame % 3 == 0 { 6 } else { 0 };
            assert_eq!(number(&value("sdh.k2")), k2);
            assert_eq!(number(&value("sdh.m1")), frame.into());
            assert_eq!(number(&value("sdh.h1")) & 0xfc, 0x68);
            if !moves {
                assert_eq!(number(&value("sdh.au")), pointer.into());
                // It is there in this frame, or in the next one's beginning at the same place.
                assert_eq!(number(&value("sdh.j1")), 0x5a, "frame {frame}");
            }
        }
    }
}
