//! Every octets that were kept, without libFuzzer: what was once found stays mended, and what was of interest still
//! holds.

#![allow(clippy::unwrap_used, reason = "a test: what fails stops it")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use kumiki_fuzz::{TARGETS, target};

/// The kept inputs of a target by name.
fn kept(name: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let path = folder.join(format!("{name}.tar.gz"));
    let file = File::open(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let read = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let mut octets = Vec::new();
        entry.read_to_end(&mut octets).unwrap();
        (entry.path().unwrap().to_string_lossy().into_owned(), octets)
    };
    archive.entries().unwrap().map(read).collect()
}

fn replay(name: &str) {
    let target = target(name).unwrap();
    let inputs = kept(name);
    assert!(!inputs.is_empty(), "nothing is kept of {name}");
    for (input, octets) in inputs {
        // What a panic prints is captured with this, so the last line names the input.
        println!("{name}/{input}");
        (target.run)(&octets);
    }
    (target.run)(&[]);
}

macro_rules! replays {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

replays! {
    codecs
    captures
    layers
    cells
    framing
    section
    fragments
    segments
    offload
    texts
    callers
    hosts
    forged
    contexts
    station
    ppp
    mapos
    osi
    files
    mms
    circuits
    terminals
}
