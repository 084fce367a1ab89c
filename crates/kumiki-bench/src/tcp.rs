//! The cases, their runs in turn, and the table.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::load::{Load, Outcome, SMALL, WRITE, Work};
use crate::ours::Layers;
use crate::rival::Setting;
use crate::{Tcp, ours, rival};

const GIB: f64 = (1u64 << 30) as f64;

/// Who runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Contender {
    Kumiki,
    /// With other layers, or without paths through them.
    Layered(Layers),
    Smoltcp(Setting),
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    load: Load,
    who: Contender,
    /// CPU seconds of each run, in their order.
    cpu_s: Vec<f64>,
    /// CPU seconds per GiB delivered, or CPU microseconds per exchange: the median.
    cost: f64,
    /// The smallest and the largest.
    spread: (f64, f64),
    /// Of the last run.
    outcome: Outcome,
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "counts of octets and exchanges are far below 2^52")]
fn cost(load: &Load, cpu_s: f64) -> f64 {
    match load.work {
        Work::Octets(_) => cpu_s * GIB / load.octets() as f64,
        Work::Exchanges(_) => cpu_s * 1e6 / load.exchanges() as f64,
    }
}

fn run(who: Contender, load: Load) -> Result<Outcome, String> {
    let outcome = match who {
        Contender::Kumiki => ours::run(load, Layers::FEW),
        Contender::Layered(layers) => ours::run(load, layers),
        Contender::Smoltcp(setting) => rival::run(load, setting),
    }?;
    if outcome.longest > load.mtu {
        return Err(format!("{who:?}: a packet of {} octets where the MTU is {}", outcome.longest, load.mtu));
    }
    if outcome.wrong > 0 {
        return Err(format!("{who:?}: {} octets wrong", outcome.wrong));
    }
    if let Work::Octets(_) = load.work
        && outcome.octets != load.octets()
    {
        return Err(format!("{who:?}: {} octets arrived", outcome.octets));
    }
    Ok(outcome)
}

/// The setting with which smoltcp does best at `load`.
fn best(load: Load, cubic: bool) -> Result<Setting, String> {
    let mut found: Option<(f64, Setting)> = None;
    let part = match load.work {
        Work::Octets(octets) => Work::Octets((octets / 8).max(WRITE as u64)),
        Work::Exchanges(count) => Work::Exchanges((count / 8).max(1)),
    };
    let load = Load { work: part, ..load };
    for kib in [16, 32, 64, 128, 256] {
        // Below two segments it can only stop and wait; and a window above 64 KiB needs the next scale.
        if kib * 1024 < 2 * load.mtu.min(32 * 1024) {
            continue;
        }
        for delay_acks in [true, false] {
            for buffer in [kib * 1024 - 1, kib * 1024] {
                let setting = Setting { buffer, delay_acks, cubic };
                let cpu_s = run(Contender::Smoltcp(setting), load)?.cpu_s;
                if found.is_none_or(|(least, _)| cpu_s < least) {
                    found = Some((cpu_s, setting));
                }
            }
        }
    }
    found.map(|(_, setting)| setting).ok_or_else(|| "no setting for smoltcp".to_owned())
}

fn loads(what: &Tcp) -> Vec<Load> {
    let total: u64 = if what.quick { 1 << 27 } else { 1 << 30 };
    let exchanges: u64 = if what.quick { 100_000 } else { 1_000_000 };
    let mut loads = Vec::new();
    let load = |mtu, sessions: u32, work| Load { mtu, sessions, work, check: false };
    for mtu in [1500, 9180, 65_535] {
        for sessions in [1u32, 60, 1000] {
            let each = total / u64::from(sessions) / 16 * 16;
            loads.push(load(mtu, sessions, Work::Octets(each)));
        }
    }
    for sessions in [1u32, 60] {
        let each = exchanges / u64::from(sessions);
        loads.push(load(1500, sessions, Work::Exchanges(each)));
    }
    loads.retain(|load| {
        let quick = !what.quick || load.mtu < 65_535;
        let kind = match load.work {
            Work::Octets(_) => "octets",
            Work::Exchanges(_) => "exchanges",
        };
        quick
            && what.mtu.is_none_or(|mtu| mtu == load.mtu)
            && what.sessions.is_none_or(|sessions| sessions == load.sessions)
            && what.only.as_deref().is_none_or(|only| only == kind)
    });
    loads
}

/// Runs all cases and prints them.
///
/// # Errors
/// Says which run did not do what it should.
pub(crate) fn measure(what: &Tcp) -> Result<(), String> {
    let runs = if what.quick { 3 } else { what.runs.max(1) };
    let mut rows = Vec::new();
    for load in loads(what) {
        let mut who = vec![Contender::Kumiki];
        if let Work::Exchanges(_) = load.work {
            let layered = |between, paths| Contender::Layered(Layers { between, paths });
            who.extend([layered(false, false), layered(true, true), layered(true, false)]);
        }
        if !what.alone {
            who.push(Contender::Smoltcp(best(load, false)?));
            who.push(Contender::Smoltcp(best(load, true)?));
        }
        // First every octet is looked at; what is timed does not pay for that.
        for &who in &who {
            let part = match load.work {
                Work::Octets(octets) => Work::Octets((octets / 16).max(1)),
                Work::Exchanges(count) => Work::Exchanges((count / 16).max(1)),
            };
            let checked = Load { work: part, check: true, ..load };
            run(who, checked)?;
        }
        let mut taken: Vec<(Vec<f64>, Outcome)> = vec![(Vec::new(), Outcome::default()); who.len()];
        for _ in 0..runs {
            for (&who, (times, last)) in who.iter().zip(&mut taken) {
                *last = run(who, load)?;
                times.push(last.cpu_s);
            }
        }
        for (who, (cpu_s, outcome)) in who.into_iter().zip(taken) {
            let costs: Vec<f64> = cpu_s.iter().map(|&s| cost(&load, s)).collect();
            let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
            let most = costs.iter().copied().fold(0.0, f64::max);
            rows.push(Row { load, who, cost: median(&costs), spread: (least, most), cpu_s, outcome });
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

fn name(who: Contender) -> (String, String) {
    match who {
        Contender::Kumiki => {
            ("kumiki".to_owned(), "CUBIC, SACK, timestamps and PAWS, checksums; 512 KiB, ACKs not delayed".to_owned())
        }
        Contender::Layered(Layers { between, paths }) => {
            let between = if between { "VNET and LLC/SNAP too" } else { "the same layers" };
            ("kumiki".to_owned(), format!("{between}; {}", if paths { "with paths" } else { "without paths" }))
        }
        Contender::Smoltcp(setting) => (
            "smoltcp".to_owned(),
            format!(
                "{}, no SACK sent, checksums; {} octets{}",
                if setting.cubic { "CUBIC, timestamps, no PAWS" } else { "no congestion control, no timestamps" },
                setting.buffer,
                if setting.delay_acks { "" } else { ", ACKs not delayed" }
            ),
        ),
    }
}

fn show(rows: &[Row], runs: usize) {
    println!(
        "Both ends of TCP in one thread: program, TCP, IP, device, link, device, IP, TCP, program. Median of {runs} runs in \
         turn (least to most).\nLink: no delay, no loss; it hands each packet on at once and forgets all sums. \
         Copy in and copy out. Writes of as many whole segments as {} KiB hold; exchanges of {SMALL} octets each way.\n",
        WRITE / 1024,
    );
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "MTU",
        "connections",
        "work",
        "who",
        "cost",
        "spread",
        "to the first",
        "Gbit/s",
        "packets",
        "longest",
        "with",
    ]);
    let mut ours = f64::NAN;
    for row in rows {
        let (who, with) = name(row.who);
        if row.who == Contender::Kumiki {
            ours = row.cost;
        }
        let ratio = if row.who == Contender::Kumiki { String::new() } else { format!("{:.2}", row.cost / ours) };
        let (work, unit, digits, rate) = match row.load.work {
            Work::Octets(_) => {
                let rate = 8.0 * GIB / 1e9 / row.cost;
                ("one way", "s/GiB", 4, format!("{rate:.1}"))
            }
            Work::Exchanges(_) => ("exchanges", "us each", 3, String::new()),
        };
        table.add_row([
            row.load.mtu.to_string(),
            row.load.sessions.to_string(),
            work.to_owned(),
            who,
            format!("{:.digits$} {unit}", row.cost),
            format!("{:.digits$} to {:.digits$}", row.spread.0, row.spread.1),
            ratio,
            rate,
            row.outcome.packets.to_string(),
            row.outcome.longest.to_string(),
            with,
        ]);
    }
    for column in [0, 1, 4, 6, 7, 8, 9, 10] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("{table}");
}
