//! A file over all seven layers of OSI, there and back.
//!
//! | | |
//! |---|---|
//! | In process | both users, FTAM, ACSE, presentation, session, TP0 and a turning point below it in one graph: gigabits for each second of CPU time. Nobody looks at an octet, and nobody is to copy one: what is measured is what happens for each element and each TPDU |
//! | Over RFC 1006 | two threads, and a connection of the operating system's TCP on the loopback interface: gigabits each second of the wall clock, and CPU seconds of both together. In turn with it the same octets on a bare connection, which is the most there can be: read into memory that is kept, as the store of a put keeps it, and read into one buffer, as for a get |
//! | Before | a run in which every octet that comes back is looked at |
//! | Left out | disks: the store is in memory; rivals, for there is no other FTAM that this machine could run in the same process |

mod stack;
mod tcp;
mod whole;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use self::stack::{Content, Shape};
use crate::tcp::median;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Osi {
    /// Fewer octets, fewer runs and fewer cases
    #[arg(long)]
    quick: bool,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
    /// Runs of each case, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only data elements of so many octets
    #[arg(long)]
    element: Option<usize>,
    /// Only TPDUs of so many octets
    #[arg(long)]
    tpdu: Option<u32>,
    /// Only in process, or only over RFC 1006
    #[arg(long, value_parser = ["process", "tcp"])]
    only: Option<String>,
    /// Only ours: for a profiler
    #[arg(long)]
    alone: bool,
}

const ELEMENTS: [usize; 3] = [8000, 64 * 1024, 1024 * 1024];
/// The last one is the most that RFC 1006 can carry, 65,531 octets, in whole units of 128.
const TPDUS: [u32; 3] = [2048, 8192, 65_408];

/// Which way the file goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum FileDirection {
    Put = 0,
    Get = 1,
}

impl FileDirection {
    const BOTH: [Self; 2] = [Self::Put, Self::Get];
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
struct TimeUse {
    cpu_s: f64,
    /// 0 where it is not what counts.
    wall_s: f64,
}

/// Who moves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum FileMover {
    Process(Shape),
    Rfc1006(Shape),
    Copy,
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    who: FileMover,
    way: FileDirection,
    octets: usize,
    /// Of each run, in their order.
    taken: Vec<TimeUse>,
    /// Gbit/s: the median, the least and the most.
    rate: [f64; 3],
    /// CPU seconds of a run: the median.
    cpu_s: f64,
}

impl Row {
    #[expect(clippy::cast_precision_loss, reason = "octets are far below 2^52")]
    fn new(who: FileMover, way: FileDirection, octets: usize, taken: Vec<TimeUse>) -> Self {
        let rates: Vec<f64> = taken
            .iter()
            .map(|it| match who {
                FileMover::Process(_) => it.cpu_s,
                FileMover::Rfc1006(_) | FileMover::Copy => it.wall_s,
            })
            .map(|seconds| octets as f64 * 8.0 / 1e9 / seconds)
            .collect();
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        let cpu: Vec<f64> = taken.iter().map(|it| it.cpu_s).collect();
        Self { who, way, octets, rate: [median(&rates), least, most], cpu_s: median(&cpu), taken }
    }
}

/// The shapes of the cases.
fn shapes(what: &Osi, octets: usize) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for element in ELEMENTS {
        for tpdu in TPDUS {
            let quick = !what.quick || element != 64 * 1024;
            if quick && what.element.is_none_or(|it| it == element) && what.tpdu.is_none_or(|it| it == tpdu) {
                shapes.push(Shape { octets, element, tpdu });
            }
        }
    }
    shapes
}

type Run = fn(Shape, &Content, bool) -> Result<[TimeUse; 2], String>;

/// A name, the octets of the file, how a result is headed, and what runs it.
type Case = (&'static str, usize, fn(Shape) -> FileMover, Run);

/// Runs all cases and prints them.
///
/// # Errors
/// Says which run did not do what it should.
pub(crate) fn measure(what: &Osi) -> Result<(), String> {
    let runs = if what.quick { 3 } else { what.runs.max(1) };
    let mut rows = Vec::new();
    let kinds: [Case; 2] =
        [("process", 64_000_000, FileMover::Process, whole::run), ("tcp", 200_000_000, FileMover::Rfc1006, tcp::run)];
    for (kind, octets, who, run) in kinds {
        if what.only.as_deref().is_some_and(|only| only != kind) {
            continue;
        }
        let octets = if what.quick { octets / 4 } else { octets };
        let content = Content::new(octets);
        let plain = if kind == "tcp" && !what.alone { content.octets() } else { Vec::new() };
        let shapes = shapes(what, octets);
        if !what.alone {
            for &shape in &shapes {
                run(shape, &content, true).map_err(|why| format!("{:?}: {why}", who(shape)))?;
            }
        }
        let mut taken = vec![[Vec::new(), Vec::new()]; shapes.len()];
        let mut copies = [Vec::new(), Vec::new()];
        for _ in 0..runs {
            for (&shape, [puts, gets]) in shapes.iter().zip(&mut taken) {
                let [put, get] = run(shape, &content, false).map_err(|why| format!("{:?}: {why}", who(shape)))?;
                puts.push(put);
                gets.push(get);
            }
            if !plain.is_empty() {
                for (way, copies) in FileDirection::BOTH.into_iter().zip(&mut copies) {
                    copies.push(tcp::copy(&plain, way == FileDirection::Put)?);
                }
            }
        }
        for (shape, taken) in shapes.into_iter().zip(taken) {
            for (way, taken) in FileDirection::BOTH.into_iter().zip(taken) {
                rows.push(Row::new(who(shape), way, octets, taken));
            }
        }
        if !plain.is_empty() {
            for (way, copies) in FileDirection::BOTH.into_iter().zip(copies) {
                rows.push(Row::new(FileMover::Copy, way, octets, copies));
            }
        }
    }
    if what.json {
        let text = serde_json::to_string_pretty(&rows).map_err(|why| why.to_string())?;
        println!("{text}");
    } else {
        show(&rows, runs);
    }
    Ok(())
}

fn show(rows: &[Row], runs: usize) {
    println!(
        "A file put and fetched over FTAM, ACSE, presentation, session and TP0, both ends on this machine. Median of {runs} runs in turn \
         (least to most).\nIn process: Gbit/s of CPU time. Over RFC 1006 on the loopback interface: Gbit/s of the wall clock.\n"
    );
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["below", "element", "TPDU", "way", "Gbit/s", "spread", "CPU s", "CPU s/GiB"]);
    for row in rows {
        let (below, shape) = match row.who {
            FileMover::Process(shape) => ("in process", Some(shape)),
            FileMover::Rfc1006(shape) => ("RFC 1006", Some(shape)),
            FileMover::Copy => ("plain TCP", None),
        };
        let [rate, least, most] = row.rate;
        #[expect(clippy::cast_precision_loss, reason = "octets are far below 2^52")]
        let gib = row.octets as f64 / f64::from(1 << 30);
        table.add_row([
            below.to_owned(),
            shape.map_or(String::new(), |it| it.element.to_string()),
            shape.map_or(String::new(), |it| it.tpdu.to_string()),
            match row.way {
                FileDirection::Put => "put",
                FileDirection::Get => "get",
            }
            .to_owned(),
            format!("{rate:.1}"),
            format!("{least:.1} to {most:.1}"),
            format!("{:.4}", row.cpu_s),
            format!("{:.3}", row.cpu_s / gib),
        ]);
    }
    for column in [1, 2, 4, 5, 6, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("{table}");
}
