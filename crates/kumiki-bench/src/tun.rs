//! A TUN device with Linux as the peer: what one stack's process takes for a GiB each way.
//!
//! | | |
//! |---|---|
//! | Load | one connection, bulk, between a stack in this process and Linux's own in another: `sudo unshare --net kumiki-bench tun`, so that nothing of the machine's network is touched |
//! | Measured | CPU time of this process, user and system. The kernel works on its account too: what is written to a TUN device goes through Linux's IP and TCP before the call returns |
//! | Beside it | the same without super-segments; smoltcp, which knows none; and a *bare* end of a connection, a hundred lines that read, acknowledge and write what is needed and nothing more: the ceiling |
//! | Loss | there is none on the way, but where a queue is full; the bare end, which knows none, gives the run up then, and the table says how many it has so lost |
//! | Several connections | `kumiki-bench tun-queues`: a host on one queue and on several |
//! | Exchanges | `kumiki-bench tun-paced`: how long each takes at a given rate |
//! | Left out | TAP, IPv6, loss |

mod bare;
mod ours;
mod paced;
mod peer;
mod queues;
mod smol;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table, presets};
use kumiki_io::tun::Layer;
use kumiki_io::{Packets, Tun, TunConfig};
use serde::Serialize;

use crate::load::cpu_s;
use crate::tcp::median;
pub(crate) use paced::{Paced, measure as measure_paced};
pub(crate) use peer::{Parameters as PeerParameters, be as be_peer};
use peer::{Peer, Role};
pub(crate) use queues::{Queues, measure as measure_queues};

/// Linux's end.
const LINUX: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 1);
/// The stack's.
const STACK: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 2);
const PREFIX: u8 = 24;
const PORT: u16 = 5001;
const DEVICE: &str = "bench0";

/// A run may take so long, in seconds.
const LIMIT_S: u64 = 300;

const GIB: f64 = (1u64 << 30) as f64;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct OverTun {
    /// Octets of each run, in MiB
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    /// Runs of each case, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only this MTU, in octets
    #[arg(long)]
    mtu: Option<u16>,
    /// Only this one
    #[arg(long)]
    who: Option<MeasuredEnd>,
    /// Only what the stack receives, or only what it sends
    #[arg(long)]
    way: Option<TunDirection>,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
}

/// Whose end of the connection is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum MeasuredEnd {
    /// Kumiki with super-segments
    Kumiki,
    /// Kumiki with single packets
    Single,
    /// Smoltcp
    Smoltcp,
    /// The bare end, with super-segments
    Bare,
}

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum TunDirection {
    /// Linux sends
    In,
    /// The stack sends
    Out,
}

/// One transfer.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    way: TunDirection,
    mtu: u16,
    octets: u64,
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    who: MeasuredEnd,
    way: TunDirection,
    mtu: u16,
    /// CPU seconds per GiB of each run.
    s_per_gib: Vec<f64>,
    /// Gbit/s of the wall clock of each run.
    gbit_s: Vec<f64>,
    /// Runs given up, and not among these, since a packet was lost.
    lost: usize,
}

/// How a stack has done its part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TransferEnd {
    Done,
    /// A packet was lost, and it is one that knows no loss.
    Lost,
}

pub(crate) fn measure(what: &OverTun) -> Result<(), String> {
    let mut rows = Vec::new();
    for mtu in [1500, 9180] {
        for way in [TunDirection::In, TunDirection::Out] {
            for who in [MeasuredEnd::Kumiki, MeasuredEnd::Single, MeasuredEnd::Smoltcp, MeasuredEnd::Bare] {
                let wanted = what.mtu.is_none_or(|only| only == mtu)
                    && what.way.is_none_or(|only| only == way)
                    && what.who.is_none_or(|only| only == who);
                if wanted {
                    rows.push(Row { who, way, mtu, s_per_gib: Vec::new(), gbit_s: Vec::new(), lost: 0 });
                }
            }
        }
    }
    // In turn, so that what else the machine does hits all alike.
    for _ in 0..what.runs.max(1) {
        for row in &mut rows {
            let transfer = Transfer { way: row.way, mtu: row.mtu, octets: what.mib << 20 };
            let Some((cpu, wall)) = run(row.who, transfer)? else {
                row.lost += 1;
                continue;
            };
            #[expect(clippy::cast_precision_loss, reason = "counts of octets are far below 2^52")]
            let octets = transfer.octets as f64;
            row.s_per_gib.push(cpu * GIB / octets);
            row.gbit_s.push(octets * 8.0 / wall / 1e9);
        }
    }
    crate::show::show(&rows, what.json, table)
}

/// CPU seconds of this process, and seconds of the wall clock; nothing where the run was given up.
fn run(who: MeasuredEnd, transfer: Transfer) -> Result<Option<(f64, f64)>, String> {
    let packets = match who {
        MeasuredEnd::Kumiki | MeasuredEnd::Bare => Packets::Any,
        MeasuredEnd::Single | MeasuredEnd::Smoltcp => Packets::Plain,
    };
    let config = TunConfig { layer: Layer::Ip, mtu: transfer.mtu, packets };
    let tun = Tun::open_as(DEVICE, config).map_err(|why| why.to_string())?;
    if let Some(why) = tun.plain_because() {
        return Err(format!("this kernel has no super-segments for TUN devices: {why}"));
    }
    tun.configure_kernel(IpAddr::V4(LINUX), PREFIX, transfer.mtu).map_err(|why| why.to_string())?;
    let role = match transfer.way {
        TunDirection::In => Role::Writes,
        TunDirection::Out => Role::Reads,
    };
    let peer = Peer::start(&PeerParameters::new(role, transfer.octets, 1))?;
    #[expect(clippy::disallowed_methods, reason = "how long a transfer takes by the clock on the wall is measured")]
    let (before, began) = (cpu_s(), Instant::now());
    let ended = match who {
        MeasuredEnd::Kumiki | MeasuredEnd::Single => ours::run(tun, transfer).map(|()| TransferEnd::Done),
        MeasuredEnd::Smoltcp => smol::run(&tun, transfer).map(|()| TransferEnd::Done),
        MeasuredEnd::Bare => bare::run(&tun, transfer),
    }?;
    let (cpu, wall) = (cpu_s() - before, began.elapsed().as_secs_f64());
    if ended == TransferEnd::Lost {
        return Ok(None);
    }
    peer.end()?;
    Ok(Some((cpu, wall)))
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["MTU", "who sends", "the other end", "CPU s/GiB", "least to most", "Gbit/s"]);
    for row in rows {
        let sends = match row.way {
            TunDirection::In => "Linux",
            TunDirection::Out => "the stack",
        };
        let who = match row.who {
            MeasuredEnd::Kumiki => "Kumiki, super-segments",
            MeasuredEnd::Single => "Kumiki, single packets",
            MeasuredEnd::Smoltcp => "smoltcp",
            MeasuredEnd::Bare => "bare",
        };
        let who = match row.lost {
            0 => who.to_owned(),
            lost => format!("{who} ({lost} of {} runs given up)", lost + row.s_per_gib.len()),
        };
        let mut cells = vec![row.mtu.to_string(), sends.to_owned(), who];
        if !row.s_per_gib.is_empty() {
            let least = row.s_per_gib.iter().copied().fold(f64::INFINITY, f64::min);
            let most = row.s_per_gib.iter().copied().fold(0.0, f64::max);
            cells.push(format!("{:.3}", median(&row.s_per_gib)));
            cells.push(format!("{least:.3} to {most:.3}"));
            cells.push(format!("{:.1}", median(&row.gbit_s)));
        }
        table.add_row(cells);
    }
    for column in [0, 3, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
