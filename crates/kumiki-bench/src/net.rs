//! Calls of 64 octets over sockets in a simulation of ten hosts: nine servers, and a client with a connection to each.
//!
//! | | |
//! |---|---|
//! | Ours | `kumiki_net::sim`: TCP with all that it has, half a millisecond from host to host |
//! | Rival | turmoil-net: a TCP without congestion control and retransmission timers, in steps of a millisecond |
//! | Measured | CPU time of this process for each call, from the first connection to the last answer: programs, tokio, sockets, both ends of TCP, and the network |

use core::future::Future;
use std::io;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::load::cpu_s;
use crate::tcp::median;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Calls {
    /// Fewer calls and fewer runs
    #[arg(long)]
    quick: bool,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
    /// Runs of each, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only ours: for a profiler
    #[arg(long)]
    alone: bool,
}

const SERVERS: usize = 9;
const SIZE: usize = 64;
const PORT: u16 = 7;

/// Calls each server so often.
type Run = fn(u32) -> Result<(), String>;

#[derive(Serialize)]
struct Row {
    who: &'static str,
    calls: u32,
    /// Median, least and most CPU time of a call, in microseconds.
    us: f64,
    least: f64,
    most: f64,
}

/// Answers until the peer closes.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut octets = [0; SIZE];
    while stream.read_exact(&mut octets).await.is_ok() {
        if stream.write_all(&octets).await.is_err() {
            return;
        }
    }
}

/// Calls so often, one after the other.
async fn call(mut stream: impl AsyncRead + AsyncWrite + Unpin, calls: u32) -> io::Result<()> {
    let mut octets = [7; SIZE];
    for _ in 0..calls {
        stream.write_all(&octets).await?;
        stream.read_exact(&mut octets).await?;
    }
    Ok(())
}

fn name(server: usize) -> String {
    format!("server{server}")
}

/// Connects to all servers and calls each of them so often.
async fn client<S, F>(connect: impl Fn(String) -> F, each: u32) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = io::Result<S>>,
{
    let mut tasks = Vec::new();
    for server in 0..SERVERS {
        let stream = connect(format!("{}:{PORT}", name(server))).await?;
        tasks.push(tokio::spawn(call(stream, each)));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

fn ours(each: u32) -> Result<(), String> {
    use kumiki_net::sim::{Net, spawn};
    use kumiki_net::{TcpListener, TcpStream};

    let net = Net::new(1);
    for server in 0..SERVERS {
        net.host(&name(server)).start(|| async {
            if let Ok(listener) = TcpListener::bind(("0.0.0.0", PORT)).await {
                while let Ok((stream, _)) = listener.accept().await {
                    let _ = stream.set_nodelay(true);
                    spawn(answer(stream));
                }
            }
        });
    }
    let connect = |address: String| async move {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let done = net.host("client").run(client(connect, each)).map_err(|error| error.to_string())?;
    done.map_err(|error| error.to_string())
}

fn turmoil(each: u32) -> Result<(), String> {
    use turmoil_net::fixture::ClientServer;
    use turmoil_net::shim::tokio::net::{TcpListener, TcpStream};

    let mut network = ClientServer::new();
    for server in 0..SERVERS {
        network = network.server(name(server).as_str(), async {
            if let Ok(listener) = TcpListener::bind(("0.0.0.0", PORT)).await {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(answer(stream));
                }
            }
        });
    }
    let done = network.run("client", client(TcpStream::connect::<String>, each));
    done.map_err(|error| error.to_string())
}

/// Runs all and prints what each call takes.
///
/// # Errors
/// Says which run did not do what it should.
pub(crate) fn measure(what: &Calls) -> Result<(), String> {
    let runs = if what.quick { 3 } else { what.runs.max(1) };
    let each: u32 = if what.quick { 2_000 } else { 20_000 };
    let calls = each * u32::try_from(SERVERS).unwrap_or(u32::MAX);
    let mut all: Vec<(&str, Run)> = vec![("Kumiki", ours)];
    if !what.alone {
        all.push(("turmoil-net", turmoil));
    }
    let mut taken = vec![Vec::new(); all.len()];
    for _ in 0..runs {
        for ((_, run), taken) in all.iter().zip(&mut taken) {
            let begin = cpu_s();
            run(each)?;
            taken.push((cpu_s() - begin) * 1e6 / f64::from(calls));
        }
    }
    let row = |((who, _), taken): (&(&'static str, _), &mut Vec<f64>)| {
        let us = median(taken);
        let (least, most) = (taken.iter().copied().fold(f64::MAX, f64::min), taken.iter().copied().fold(0.0, f64::max));
        Row { who, calls, us, least, most }
    };
    let rows: Vec<Row> = all.iter().zip(&mut taken).map(row).collect();
    if what.json {
        println!("{}", serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["calls of 64 octets", "us of CPU each", "calls a CPU second"]);
    for Row { who, us, least, most, .. } in rows {
        table.add_row([who.to_owned(), format!("{us:.2} ({least:.2} to {most:.2})"), format!("{:.0}", 1e6 / us)]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    Ok(())
}
