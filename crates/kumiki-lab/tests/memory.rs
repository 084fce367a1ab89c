//! How much memory a run takes does not depend on how much time it models. One test, alone in its process: it counts
//! what everything in it allocates.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use kumiki_lab::experiment::Options;
use peak_alloc::PeakAlloc;

#[path = "lab/arrange.rs"]
mod arrange;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// The most octets that a run of so many seconds holds at once, beyond what was held before.
fn peak(set: &[&str], seconds: u32) -> usize {
    let duration = format!("run.duration={seconds} s");
    let set: Vec<&str> = set.iter().copied().chain(["run.warm_up=0 s", &duration]).collect();
    let document = arrange::scenario("paper2-fig6");
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let run = arrange::run(&document, &set, 1, &Options::default());
    assert!(run.measured.total.goodput_mbps > 100.0);
    ALLOCATED.peak_usage() - before
}

#[test]
fn ten_times_the_time_takes_the_same_memory() {
    for board in ["board=zero", "board=atm-board"] {
        let set = [board, "window=256 KiB"];
        // What is allocated once for the process is there after this.
        peak(&set, 1);
        let (short, long) = (peak(&set, 2), peak(&set, 20));
        println!("{board}: {short} octets in 2 s, {long} in 20 s");
        // Queues and tables grow by doubling, so a rare longer queue may cost a little. 20 s are 40 000 segments: a
        // leak of one octet for each would be seen.
        assert!(long < short + 16_384, "{board}: {short}, {long}");
    }
}
