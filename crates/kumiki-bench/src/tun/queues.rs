//! A host on one queue of a TUN device and on several, each with a core of its own: many connections, with Linux's
//! sockets at their other ends.
//!
//! The programs run in a runtime with as many threads as the host has queues, in the same process; Linux's in another,
//! a thread for each connection.

use std::io;
use std::time::Instant;

use clap::Args;
use comfy_table::{Table, presets};
use kumiki_io::Tun;
use kumiki_net::host::{HostConfig, HostDriver, HostStack, RealDevice};
use kumiki_net::{Stack, TcpListener, TcpStream};
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::peer::{Parameters, Peer, Role};
use super::{DEVICE, GIB, LINUX, PORT, PREFIX, STACK};
use crate::load::{WRITE, content, cpu_s};
use crate::tcp::median;

const MTU: u16 = 1500;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Queues {
    /// Connections, all open at once: one number or several, each a row
    #[arg(long, value_delimiter = ',', default_values_t = [60])]
    connections: Vec<usize>,
    /// Octets of each run of bulk, in MiB, on all connections
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    /// And on each of them at least so many, in MiB: with fewer a run of many connections is handshakes and slow start
    #[arg(long, default_value_t = 0)]
    mib_each: u64,
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
    connections: usize,
    queues: usize,
    /// Octets, or exchanges, of each connection in each run.
    each: u64,
    /// CPU seconds of each run: for a GiB, or for a million exchanges.
    cpu_s: Vec<f64>,
    /// Seconds by the clock on the wall, likewise.
    wall_s: Vec<f64>,
}

pub(crate) fn measure(what: &Queues) -> Result<(), String> {
    let loads = [Load::In, Load::Out, Load::Exchanges];
    let mut rows = Vec::new();
    for load in loads {
        for connections in what.connections.iter().map(|it| (*it).max(1)) {
            let each = match load {
                Load::In | Load::Out => ((what.mib << 20) / connections as u64).max(what.mib_each << 20),
                Load::Exchanges => what.exchanges,
            };
            for &queues in &what.queues {
                rows.push(Row { load, connections, queues, each, cpu_s: Vec::new(), wall_s: Vec::new() });
            }
        }
    }
    // In turn, so that what else the machine does hits all alike.
    for _ in 0..what.runs.max(1) {
        for row in &mut rows {
            let (cpu, wall) = run(row)?;
            row.cpu_s.push(cpu);
            row.wall_s.push(wall);
        }
    }
    crate::show::show(&rows, what.json, table)
}

/// CPU seconds of this process, and seconds of the wall clock, for a GiB or a million exchanges.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn run(row: &Row) -> Result<(f64, f64), String> {
    let wrong = |why: io::Error| why.to_string();
    let &Row { load, connections, queues, each, .. } = row;
    let tuns = Tun::open_queues(DEVICE, MTU, queues).map_err(|why| why.to_string())?;
    if let Some(first) = tuns.first() {
        first.configure_kernel(LINUX.into(), PREFIX, MTU).map_err(|why| why.to_string())?;
    }
    let devices = tuns.into_iter().map(|it| Box::new(it) as Box<dyn RealDevice>).collect();
    let host = HostStack::start_on(devices, &HostConfig::new([STACK.into()]).queues(queues)).map_err(wrong)?;
    let runtime = Builder::new_multi_thread().worker_threads(queues).build().map_err(wrong)?;
    let listener = runtime.block_on(host.stack().scope(TcpListener::bind((STACK, PORT)))).map_err(wrong)?;
    let role = match load {
        Load::In => Role::Writes,
        Load::Out => Role::Reads,
        Load::Exchanges => Role::Asks,
    };
    let peer = Peer::start(&Parameters::new(role, each, connections))?;
    #[expect(clippy::disallowed_methods, reason = "how long it takes by the clock on the wall is measured")]
    let (before, began) = (cpu_s(), Instant::now());
    let stack = host.stack().clone();
    let all = async move {
        let mut programs = JoinSet::new();
        for _ in 0..connections {
            match load {
                Load::Out => {
                    let stream = stack.scope(TcpStream::connect((LINUX, PORT))).await?;
                    programs.spawn(send(stream, each))
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
        Load::In | Load::Out => GIB / (each * connections as u64) as f64,
        Load::Exchanges => 1e6 / (each * connections as u64) as f64,
    };
    Ok((cpu * unit, wall * unit))
}

/// Answers on as many connections until they have ended, with a stack that has a thread of its own. The peer starts
/// when it is heard.
pub(super) fn answer_threaded(
    tun: Tun,
    connections: usize,
    start: impl FnOnce() -> Result<Peer, String>,
) -> Result<Peer, String> {
    let host = HostStack::start(Box::new(tun), &HostConfig::new([STACK.into()])).map_err(|why| why.to_string())?;
    let runtime = Builder::new_current_thread().build().map_err(|why| why.to_string())?;
    runtime.block_on(answer_all(host.stack(), connections, start))
}

/// The same with one that the runtime of the programs drives.
pub(super) fn answer_driven(
    tun: Tun,
    connections: usize,
    start: impl FnOnce() -> Result<Peer, String>,
) -> Result<Peer, String> {
    let driver = HostDriver::new(Box::new(tun), &HostConfig::new([STACK.into()])).map_err(|why| why.to_string())?;
    let stack = driver.stack().clone();
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|why| why.to_string())?;
    runtime.block_on(async {
        tokio::select! {
            driven = driver.drive() => Err(format!("the stack has ended: {driven:?}")),
            answered = answer_all(&stack, connections, start) => answered,
        }
    })
}

async fn answer_all(
    stack: &Stack,
    connections: usize,
    start: impl FnOnce() -> Result<Peer, String>,
) -> Result<Peer, String> {
    let listener = stack.scope(TcpListener::bind((STACK, PORT))).await.map_err(|why| why.to_string())?;
    let peer = start()?;
    let mut programs = JoinSet::new();
    for _ in 0..connections {
        let (stream, _) = listener.accept().await.map_err(|why| why.to_string())?;
        programs.spawn(answer(stream));
    }
    while let Some(ended) = programs.join_next().await {
        ended.map_err(|why| why.to_string())?.map_err(|why| why.to_string())?;
    }
    Ok(peer)
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
    table.set_header(["load", "connections", "queues", "CPU s", "least to most", "wall s", "least to most", "rate"]);
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
            row.connections.to_string(),
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
