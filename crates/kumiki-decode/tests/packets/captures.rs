//! Parse then emit gives the same octets: every header that our codecs know, in the captures of real peers.
//!
//! The captures lie beside the repository, in `../shared/captures`; where they are not, the test says so and passes.

use std::fs::File;
use std::path::{Path, PathBuf};

use kumiki_decode::{Capture, Decoder, FormatHint, Packet, Registry};

use super::arrange::{bad, notes};

fn folder() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let found = root.ancestors().skip(1).take(2);
    let mut folders = found.map(|above| above.join("shared/captures"));
    let folder = folders.find(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: there is no ../shared/captures beside the repository");
    }
    folder
}

fn decoded(file: &Path) -> Vec<Packet> {
    let capture = Capture::open(File::open(file).unwrap(), FormatHint::default(), &Registry::new());
    let mut decoder = Decoder::new();
    let records = capture.unwrap().map(Result::unwrap);
    records.map(|record| decoder.decode(&record)).collect()
}

/// The packets of the handmade capture of XTP that were given a wrong checksum; tshark says so of the same ones.
const WRONG: [usize; 2] = [12, 13];

#[test]
fn what_is_read_is_written_as_the_same_octets() {
    let Some(folder) = folder() else {
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "pcap" || end == "pcapng"))
        .collect();
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    let mut headers = 0;
    for file in files {
        for (number, packet) in (1..).zip(decoded(&file)) {
            let place = format!("{}, packet {number}", file.display());
            if file.ends_with("xtp-4.0b-handmade.pcap") && WRONG.contains(&number) {
                assert!(bad(&packet)[0].starts_with("xtp: check is"), "{place}");
                continue;
            }
            let mut bad = bad(&packet);
            if file.ends_with("linux-kernel-lapb-x25.pcap") {
                // Its call says that it carries ISO transport, and what it carries is a test's own octets.
                bad.retain(|it| !it.starts_with("cotp: "));
            }
            assert_eq!(bad, [""; 0], "{place}");
            for layer in &packet.layers {
                // ISODE writes lengths in long forms, which BER leaves to the sender (X.690 section 8.1.3).
                let own_form = format!("{}: written again, in definite lengths", layer.protocol);
                if notes(&packet).iter().any(|it| it.starts_with(&own_form)) {
                    continue;
                }
                // `None`: no codec, as for LLC with other access points than SNAP's.
                assert_ne!(layer.verbatim, Some(false), "{place}, {}: {:?}", layer.protocol, notes(&packet));
                headers += usize::from(layer.verbatim == Some(true));
            }
        }
    }
    // Ethernet in all of the 100 packets, IPv4 and TCP in most.
    assert!(headers >= 220, "{headers}");
}

#[test]
fn segments_of_a_loopback_have_their_sums_left_to_a_device() {
    let Some(folder) = folder() else {
        return;
    };
    for packet in decoded(&folder.join("isode-bin-small.pcap")) {
        let mut notes = notes(&packet);
        notes.retain(|it| it.starts_with("tcp: "));
        assert!(matches!(notes.as_slice(), [one] if one.contains("left to a device")), "{notes:?}");
    }
}
