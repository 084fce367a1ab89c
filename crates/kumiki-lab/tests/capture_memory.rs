//! How much memory a run takes does not depend on how much is captured of it. One test, alone in its process: it counts
//! what everything in it allocates.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::capture::Layers;
use kumiki_lab::laboratory::Laboratory;
use kumiki_lab::reproduce::Runner as _;
use kumiki_watchdog::process::Folder;
use peak_alloc::PeakAlloc;

#[path = "lab/arrange.rs"]
mod arrange;

use arrange::{point, scenario};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Counts what it is given.
#[derive(Default)]
struct Length(u64);

impl std::io::Write for Length {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0 += octets.len() as u64;
        Ok(octets.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The most octets that a run of so many seconds holds at once, beyond what was held before, and how many its captures
/// have.
fn peak(laboratory: &Laboratory, seconds: u32) -> (usize, u64) {
    let duration = format!("run.duration={seconds} s");
    let point = point(&scenario("paper2-fig6"), &["board=zero", "window=256 KiB", "run.warm_up=0 s", &duration]);
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let outcome = laboratory.run(&point).unwrap();
    let mut length = Length::default();
    for (_, contents) in &outcome.captures {
        contents.write_to(&mut length).unwrap();
    }
    (ALLOCATED.peak_usage() - before, length.0)
}

#[test]
fn what_is_captured_is_not_in_memory() {
    let folder = Folder::new("capture-memory");
    for snaplen in [0, 96] {
        let directory = Some(folder.path("."));
        let laboratory = Laboratory { pcap: Layers::Device, snaplen, directory, ..Laboratory::default() };
        // What is allocated once for the process is there after this.
        peak(&laboratory, 1);
        let ((short, few), (long, many)) = (peak(&laboratory, 2), peak(&laboratory, 8));
        println!("{snaplen}: {short} octets of memory for {few} of captures, {long} for {many}");
        assert!(many > 3 * few && few > 1_000_000, "{few} {many}");
        // Spans are as long as they were at the end of the short run, or half or twice that.
        assert!(long < short + (4 << 20) && long < 24 << 20, "{snaplen}: {short}, {long}");
    }
    // What TCP notes of itself is in memory, but neither twice nor as text.
    let (traced, text) = peak(&Laboratory { trace: true, ..Laboratory::default() }, 8);
    println!("{traced} octets of memory for {text} of traces");
    assert!(text > 4 << 20 && traced as u64 <= 2 * text, "{traced}, {text}");
    // Nothing of it has a name.
    assert_eq!(folder.names("."), Vec::<String>::new());
}
