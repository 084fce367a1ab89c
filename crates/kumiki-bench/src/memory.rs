//! How much memory TCP's connections take: many in one process, idle, and one after the other with data in flight.
//!
//! | | |
//! |---|---|
//! | Measured | what the allocator has handed out, both ends together, less what is there without connections; octets, not pages of the system |
//! | Left out | rivals: smoltcp's is what its user gives it as buffers |

mod link;
#[allow(dead_code, reason = "shared with the program that measures time")]
mod load;
#[allow(dead_code, reason = "shared with the program that measures time")]
mod ours;
mod programs;

use std::process::ExitCode;

use clap::Parser;
use kumiki_graph::Duration;
use kumiki_octets::Page;
use load::{Load, Work};
use ours::Layers;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Counts the octets that a connection takes, both ends together.
#[derive(Parser, Debug)]
#[command(name = "kumiki-bench-memory", version)]
struct Cli {
    /// How many connections, all open at once
    #[arg(long, default_value_t = 100_000)]
    sessions: u32,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
}

#[derive(serde::Serialize)]
struct MemoryUse {
    sessions: u32,
    /// How often each has exchanged 64 octets before it was idle.
    exchanges: u64,
    /// Octets of one connection, both ends of TCP and the device below.
    stacks: usize,
    /// Octets that the two programs of the benchmark keep for it.
    programs: usize,
    cpu_s: f64,
}

/// How long the timers of a connection that was busy take to find nothing to do.
const QUIET: Duration = Duration::from_secs(2);

/// `sessions` connections that have exchanged so often, and then nothing for a while.
fn idle(sessions: u32, exchanges: u64) -> Result<MemoryUse, String> {
    let load = Load { mtu: 1500, sessions, work: Work::Exchanges(exchanges), check: false };
    // What the thread keeps free, and what is there once.
    drop(ours::Pair::new(Load { sessions: 1, ..load }, Layers::FEW)?);
    let begin = load::cpu_s();
    let before = ALLOCATED.current_usage();
    let mut pair = ours::Pair::new(load, Layers::FEW)?;
    pair.open()?;
    if exchanges > 0 {
        pair.finish(load)?;
    }
    pair.rest(QUIET);
    let all = ALLOCATED.current_usage() - before;
    let sessions = usize::try_from(sessions).unwrap_or(1).max(1);
    let programs = programs::octets_each();
    Ok(MemoryUse {
        sessions: load.sessions,
        exchanges,
        stacks: (all / sessions).saturating_sub(programs),
        programs,
        cpu_s: load::cpu_s() - begin,
    })
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let counts = if cli.sessions > 1000 { vec![1000, cli.sessions] } else { vec![cli.sessions] };
    let cases = counts.into_iter().map(|count| (count, 0)).chain([(cli.sessions, 3)]);
    let taken: Result<Vec<MemoryUse>, String> = cases.map(|(count, exchanges)| idle(count, exchanges)).collect();
    let taken = match taken {
        Ok(taken) => taken,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    // A page is what data in flight takes, beside the connection itself.
    let before = ALLOCATED.current_usage();
    let page = Page::copied(&load::content(load::WRITE), 1448);
    let page_octets = ALLOCATED.current_usage() - before;
    drop(page);
    if cli.json {
        match serde_json::to_string_pretty(&taken) {
            Ok(text) => println!("{text}"),
            Err(why) => eprintln!("{why}"),
        }
        return ExitCode::SUCCESS;
    }
    for MemoryUse { sessions, exchanges, stacks, programs, cpu_s } in taken {
        println!(
            "{sessions} idle connections after {exchanges} exchanges: {stacks} octets each in the two stacks ({} at one end), {programs} in the two \
             programs; opened in {cpu_s:.2} s of CPU",
            stacks / 2
        );
    }
    println!("each write of 64 KiB in flight: {page_octets} octets of page, shared by both ends while it is");
    ExitCode::SUCCESS
}
