//! A program behind `kumiki link`: how much the path carries, how late its packets are, and how long transfers take.
//!
//! | read | for |
//! |---|---|
//! | this file | what is measured, and the table |
//! | `peer.rs` | the program behind the path, and the server that it calls |
//! | `one.rs` | one run of the path, in a process of its own |
//! | `linux.rs` | the same path between two interfaces of Linux |
//! | `truth.rs` | transfer times beside those of virtual time and of Linux |
//!
//! | | |
//! |---|---|
//! | Load | one connection, bulk, between a program behind the path and a server on the loopback interface of the host |
//! | Measured | the time by the program's clock, from its call to the last octet; CPU time of the process that is the path and the gateway; how much later packets leave than they should |
//! | Left out | several connections, datagrams |

mod linux;
mod one;
mod peer;
mod truth;

use std::process::Command;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use serde_json::Value;

use crate::tcp::median;
pub(crate) use linux::{Parameters as LinuxParameters, be as be_linux};
pub(crate) use one::{Parameters as OneParameters, be as be_one};
pub(crate) use peer::{Parameters as PeerParameters, be as be_peer};
use peer::{PeerAction, Server};

const GIB: f64 = (1u64 << 30) as f64;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Emulated {
    /// Octets of each run, in MiB
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    /// Runs of each case, of which the median counts
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Only these settings of the path, in place of the usual ones, as in 'rate 1Gb/s delay 5ms'; '' is nothing
    #[arg(long)]
    path: Option<String>,
    /// Only what the program fetches, or only what it sends
    #[arg(long)]
    act: Option<PeerAction>,
    /// Transfer times beside those of virtual time and of Linux instead, of so many transfers for each
    #[arg(long, value_name = "TRANSFERS")]
    truth: Option<u32>,
    /// For those, the longest transfer, in octets
    #[arg(long, default_value_t = 10_000_000)]
    longest: u64,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
}

/// What the path is like where nothing else is asked for.
const PATHS: [&str; 4] = ["", "delay 5ms", "rate 1Gb/s", "rate 1Gb/s delay 5ms"];

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    path: String,
    act: PeerAction,
    gbit_s: Vec<f64>,
    /// CPU seconds per GiB of the process that is the path and the gateway.
    s_per_gib: Vec<f64>,
    /// Mean, 99th percentile and most by which packets of the direction with the load were late, in ms.
    late_ms: Vec<[f64; 3]>,
}

pub(crate) fn measure(what: &Emulated) -> Result<(), String> {
    if let Some(transfers) = what.truth {
        return truth::measure(transfers.max(1), what.longest, what.json);
    }
    let paths = what.path.as_ref().map_or_else(|| PATHS.map(str::to_owned).to_vec(), |path| vec![path.clone()]);
    let mut rows = Vec::new();
    for path in paths {
        for act in [PeerAction::Fetch, PeerAction::Send] {
            if what.act.is_none_or(|only| only == act) {
                let (gbit_s, s_per_gib, late_ms) = Default::default();
                rows.push(Row { path: path.clone(), act, gbit_s, s_per_gib, late_ms });
            }
        }
    }
    let server = Server::start()?;
    let octets = what.mib << 20;
    // In turn, so that what else the machine does hits all alike.
    for _ in 0..what.runs.max(1) {
        for row in &mut rows {
            let run = one::run(&row.path, 1, &server, row.act, &[octets])?;
            #[expect(clippy::cast_precision_loss, reason = "counts of octets are far below 2^52")]
            let octets = octets as f64;
            let seconds = run.seconds.first().copied().ok_or("the program said nothing")?;
            row.gbit_s.push(octets * 8.0 / seconds / 1e9);
            row.s_per_gib.push(run.cpu_s * GIB / octets);
            row.late_ms.push(run.late_ms(row.act)?);
        }
    }
    crate::show::show(&rows, what.json, table)
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["path", "the program", "Gbit/s", "least to most", "CPU s/GiB", "late, mean", "p99, ms", "most"]);
    for row in rows {
        let path = if row.path.is_empty() { "nothing" } else { row.path.as_str() };
        let act = match row.act {
            PeerAction::Fetch => "fetches",
            PeerAction::Send => "sends",
        };
        let least = row.gbit_s.iter().copied().fold(f64::INFINITY, f64::min);
        let most = row.gbit_s.iter().copied().fold(0.0, f64::max);
        let late = |at: usize| {
            let all: Vec<f64> = row.late_ms.iter().filter_map(|late| late.get(at).copied()).collect();
            format!("{:.3}", median(&all))
        };
        table.add_row([
            path.to_owned(),
            act.to_owned(),
            format!("{:.2}", median(&row.gbit_s)),
            format!("{least:.2} to {most:.2}"),
            format!("{:.2}", median(&row.s_per_gib)),
            late(0),
            late(1),
            late(2),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Runs this program once more to its end, and gives what it has said, line by line.
fn itself(arguments: &[&str]) -> Result<Vec<String>, String> {
    let program = std::env::current_exe().map_err(|why| format!("this program: {why}"))?;
    let output = Command::new(program).args(arguments).output().map_err(|why| format!("this program: {why}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, errors.trim()));
    }
    eprint!("{errors}");
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(ToOwned::to_owned).collect())
}

/// The times that programs have said, and what else was said as JSON.
fn said(lines: &[String]) -> (Vec<f64>, Option<Value>) {
    let seconds = lines.iter().filter_map(|line| line.strip_prefix(peer::TOOK)?.trim().parse().ok()).collect();
    let rest = lines.iter().find(|line| line.starts_with('{')).and_then(|line| serde_json::from_str(line).ok());
    (seconds, rest)
}
