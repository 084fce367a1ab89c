//! A host on one queue of a TUN device and on several, each with a core of its own: many connections, with Linux's sockets at their other ends.
//!
//! The programs run in a runtime with as many threads as the host has queues, in the same process; Linux's in another, a thread for each connection.

use std::io;
use std::time::Instant;

use clap::Args;
use comfy_table::{Table, presets};
use kumiki_io::Tun;
use kumiki_net::host::{HostConfig, HostStack, RealDevice};
use kumiki_net::{TcpListener, TcpStream};
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use super::peer::{Peer, Role};
use super::{DEVICE, GIB, LINUX, PORT, PREFIX, STACK};
use crate::load::{WRITE, content, cpu_s};
use crate::tcp::median;

const MTU: u16 = 1500;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Queues {
    /// Connections, all open at once
    #[arg(long, default_value_t = 60)]
    connections: usize,
    /// Octets of each run of bulk, in MiB, on all connections
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    /// Exchanges of 64 octets on each connection
    #[arg(long, default_value_t = 2000)]
    exchanges: u64,
    /// Runs of each case, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// On how many queues
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    queues: Vec<usize>,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
}

/// What goes over the connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Load {
    /// Linux sends.
    In,
    /// The stack sends.
    Out,
    /// Linux asks, the stack answers.
    Exchanges,
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    load: Load,
    queues: usize,
    /// CPU seconds of each run: for a GiB, or for a million exchanges.
    cpu_s: Vec<f64>,
    /// Seconds by the clock on the wall, likewise.
    wall_s: Vec<f64>,
}

pub(crate) fn measure(what: &Queues) -> Result<(), String> {
    let loads = [Load::In, Load::Out, Load::Exchanges];
    let row = |load, queues| Row { load, queues, cpu_s: Vec::new(), wall_s: Vec::new() };
    let mut rows: Vec<Row> =
        loads.into_iter().flat_map(|load| what.queues.iter().map(move |queues| row(load, *queues))).collect();
    // In turn, so that what else the machine does hits all alike.
    for _ in 0..what.runs.max(1) {
        for row in &mut rows {
            let (cpu, wall) = run(row.load, row.queues, what)?;
            row.cpu_s.push(cpu);
            row.wall_s.push(wall);
        }
    }
    crate::show::show(&rows, what.json, table)
}

/// CPU seconds of this process, and seconds of the wall clock, for a GiB or a million exchanges.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn run(load: Load, queues: usize, what: &Queues) -> Result<(f64, f64), String> {
    let wrong = |why: io::Error| why.to_string();
    let connections = what.connections.max(1);
    let octets = (what.mib << 20) / connections as u64;
    let tuns = Tun::open_queues(DEVICE, MTU, queues).map_err(|why| why.to_string())?;
    if let Some(first) = tuns.first() {
        first.configure_kernel(LINUX.into(), PREFIX, MTU).map_err(|why| why.to_string())?;
    }
    let devices = tuns.into_iter().map(|it| Box::new(it) as Box<dyn RealDevice>).collect();
    let host = HostStack::start_on(devices, &HostConfig::new([STACK.into()]).queues(queues)).map_err(wrong)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(queues).build().map_err(wrong)?;
    let listener = runtime.block_on(host.stack().scope(TcpListener::bind((STACK, PORT)))).map_err(wrong)?;
    let (role, count) = match load {
        Load::In => (Role::Writes, octets),
        Load::Out => (Role::Reads, octets),
        Load::Exchanges => (Role::Asks, what.exchanges),
    };
    let peer = Peer::start(role, count, connections)?;
    #[expect(clippy::disallowed_methods, reason = "how long it takes by the clock on the wall is measured")]
    let (before, began) = (cpu_s(), Instant::now());
    let stack = host.stack().clone();
    let all = async move {
        let mut programs = JoinSet::new();
        for _ in 0..connections {
            match load {
                Load::Out => {
                    let stream = stack.scope(TcpStream::connect((LINUX, PORT))).await?;
                    programs.spawn(send(stream, octets))
                }
                Load::In => programs.spawn(receive(listener.accept().await?.0)),
                Load::Exchanges => programs.spawn(answer(listener.accept().await?.0)),
            };
        }
        while let Some(ended) = programs.join_next().await {
            ended.map_err(io::Error::other)??;
        }
        io::Result::Ok(())
    };
    runtime.block_on(runtime.spawn(all)).map_err(|why| why.to_string())?.map_err(wrong)?;
    let (cpu, wall) = (cpu_s() - before, began.elapsed().as_secs_f64());
    peer.end()?;
    let unit = match load {
        Load::In | Load::Out => GIB / (octets * connections as u64) as f64,
        Load::Exchanges => 1e6 / (what.exchanges * connections as u64) as f64,
    };
    Ok((cpu * unit, wall * unit))
}

async fn send(mut stream: TcpStream, octets: u64) -> io::Result<()> {
    let buffer = content(WRITE);
    let mut left = octets;
    while left > 0 {
        let piece = usize::try_from(left).unwrap_or(WRITE).min(WRITE);
        stream.write_all(buffer.get(..piece).unwrap_or_default()).await?;
        left -= piece as u64;
    }
    stream.shutdown().await?;
    // Until the other end has all of it, and has gone.
    let _ = stream.read(&mut [0]).await;
    Ok(())
}

async fn receive(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; WRITE];
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}

async fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut message = [0; crate::load::SMALL];
    loop {
        match stream.read_exact(&mut message).await {
            Ok(_) => stream.write_all(&message).await?,
            Err(_) => return Ok(()),
        }
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["load", "queues", "CPU s", "least to most", "wall s", "least to most", "rate"]);
    for row in rows {
        let (load, rate) = match row.load {
            Load::In => ("Linux sends, a GiB", format!("{:.2} Gbit/s", GIB * 8.0 / 1e9 / median(&row.wall_s))),
            Load::Out => ("the stack sends, a GiB", format!("{:.2} Gbit/s", GIB * 8.0 / 1e9 / median(&row.wall_s))),
            Load::Exchanges => ("a million exchanges", format!("{:.0} a second", 1e6 / median(&row.wall_s))),
        };
        let range = |all: &[f64]| {
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            format!("{least:.2} to {:.2}", all.iter().copied().fold(0.0, f64::max))
        };
        table.add_row([
            load.to_owned(),
            row.queues.to_string(),
            format!("{:.2}", median(&row.cpu_s)),
            range(&row.cpu_s),
            format!("{:.2}", median(&row.wall_s)),
            range(&row.wall_s),
            rate,
        ]);
    }
    table
}
