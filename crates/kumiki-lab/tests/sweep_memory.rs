//! How much memory a sweep takes beside its plan does not depend on how much its rows hold. One test, alone in its
//! process: it counts what everything in it allocates.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: what fails stops it")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use kumiki_lab::progress::Progress;
use kumiki_lab::reproduce::{self, Failure, Header, Journal, Options, Outcome, Plan, Results, Runner, Shard};
use kumiki_lab::rows::{Output, Row, Scope};
use kumiki_lab::scenario::{Choice, Document, Point};
use kumiki_watchdog::process::Folder;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const SWEEP: &str = r#"
title = "A sweep"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "${rate} Mb/s" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
run = { duration = "1 s", repeat = { runs = 2 } }
vary.rate = "1 .. POINTS step 1"
"#;

/// Each run has a row with a thousand counters, and twenty flows: some 100 KiB.
struct Fat;

impl Runner for Fat {
    fn run(&self, point: &Point) -> Result<Outcome, Failure> {
        let layer = |layer: usize| {
            let counters = (0..50).map(|number| (format!("counter {number} with a name"), number + point.index as u64));
            (format!("a.layer {layer}"), counters.collect::<BTreeMap<String, u64>>())
        };
        let total =
            Row { goodput_mbps: 1.0 + point.index as f64, counters: (0..20).map(layer).collect(), ..point.row() };
        let load =
            Row { scope: Scope::Load, load: Some("bulk".to_owned()), counters: BTreeMap::new(), ..total.clone() };
        let flow = |number| Row { scope: Scope::Flow, flow: Some(number), ..load.clone() };
        let flows: Vec<Row> = (0..20).map(flow).collect();
        Ok(Outcome { rows: [total, load].into_iter().chain(flows).collect(), ..Outcome::default() })
    }
}

/// Runs so many points into `folder`, with a journal or without; how much it took at most, beside the plan.
fn run(points: usize, folder: &Folder, is_kept: bool) -> usize {
    let text = SWEEP.replace("POINTS", &points.to_string());
    let document = [Document::parse("sweep", "sweep.toml", &text).unwrap()];
    let choice = Choice::default();
    let plan = Plan::new(&document, &choice, &Fat).unwrap();
    let output = Output::open(folder.path(&format!("{points} {is_kept}")), false).unwrap();
    let header = Header::new(&document, &choice, "", Shard::WHOLE);
    let mut journal = is_kept.then(|| Journal::open(&output, &header, &plan, false).unwrap());
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let options = Options { jobs: 1, journal: journal.as_mut(), ..Options::default() };
    let results = plan.run(&Arc::new(Fat), options, &mut Progress::hidden()).unwrap();
    assert_eq!(results.iter().flat_map(Results::whole_rows).count(), points);
    // The page has a line for each point, and is not what is asked here.
    output.write_rows_of(|| reproduce::whole_rows(&results)).unwrap();
    ALLOCATED.peak_usage() - before
}

#[test]
fn the_rows_of_a_sweep_are_not_in_memory() {
    let folder = Folder::new("sweep-memory");
    // What is allocated once for the process is there after this, and the first points keep the rows of their flows.
    run(70, &folder, true);
    let (few, many) = (run(100, &folder, true), run(300, &folder, true));
    let each = many.saturating_sub(few) / 200;
    println!("{few} octets for 100 points, {many} for 300: {each} for each");
    assert!(each < 10_000, "{each} octets for each point more");
    // What is written is the same as if all had been in memory.
    run(100, &folder, false);
    for name in [Output::ROWS_JSONL, Output::ROWS_CSV] {
        let [kept, held] = ["100 true", "100 false"].map(|run| fs::read(folder.path(run).join(name)).unwrap());
        assert!(kept == held && kept.len() > 1_000_000, "{name}");
    }
}
