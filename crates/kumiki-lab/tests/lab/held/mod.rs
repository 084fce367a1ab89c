//! What held a connection back, where theory says what it must be.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test: what fails stops it")]

use kumiki_inet::tcp::Limit;
use kumiki_lab::experiment::Run;

mod beside;
mod calls;
mod connection;
mod files;
mod full;
mod incast;
mod lines;
mod power;

/// The share of the time for which `limit` held it.
fn share(run: &Run, limits: &[Limit]) -> f64 {
    let held = &run.measured.total.held();
    let whole: f64 = held.iter().map(|(_, share)| share).sum();
    assert!((whole - 1.0).abs() < 1e-9, "{held:?}");
    held.iter().filter(|(limit, _)| limits.contains(limit)).map(|(_, share)| share).sum()
}

/// Calls with large answers.
const CALLS: &str = r#"
title = "Calls"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "100 Mb/s", propagation = "10 ms", impair = { loss = "${loss}", toward = "a" } }
load.get = { kind = "rpc", from = "a", to = "b", message = "100 B", response = "4 MB", socket_buffer = "16 KiB", coalesce = "nagle" }
run = { warm_up = "1 s", duration = "10 s" }
define.loss = 0.0
"#;

/// A transfer, one with a small buffer and a call over one line of 10 Mb/s.
const SHARED: &str = r#"
title = "A full line"
host.a.graph = ["tcp", "ip", "l0"]
host.b.like = "a"
link.line = { ends = ["a", "b"], medium = "point-to-point", rate = "10 Mb/s", propagation = "10 ms", queue_frames = 100, queue = "fq-codel" }
load.bulk = { kind = "netperf", from = "a", to = "b", message = "8 KiB" }
load.small = { kind = "netperf", from = "a", to = "b", message = "8 KiB", socket_buffer = "8 KiB" }
load.call = { kind = "rpc", from = "a", to = "b", message = "200 B", response = "10 kB", think = "200 ms" }
run = { warm_up = "5 s", duration = "10 s" }
"#;
