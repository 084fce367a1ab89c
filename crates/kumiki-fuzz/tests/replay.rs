//! Every octets that were kept, without libFuzzer: what was once found stays mended, and what was of interest still holds.

#![allow(clippy::unwrap_used, reason = "a test: what fails stops it")]

use std::path::{Path, PathBuf};

use kumiki_fuzz::{TARGETS, target};

/// The kept files of a target, in order.
fn kept(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(name);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|why| panic!("{}: {why}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn replay(name: &str) {
    let target = target(name).unwrap();
    let files = kept(name);
    assert!(!files.is_empty(), "nothing is kept of {name}");
    for file in files {
        // What a panic prints is captured with this, so the last line names the file.
        println!("{}", file.display());
        (target.run)(&std::fs::read(&file).unwrap());
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
