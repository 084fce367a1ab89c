//! Calls over sockets in a simulation of ten hosts: nine servers, and a client with a connection to each. A call is 64
//! octets there and back, or a request of hyper's HTTP/1.1 and its response.
//!
//! | | |
//! |---|---|
//! | Ours | `kumiki_net::sim`: TCP with all that it has, half a millisecond from host to host |
//! | Rival | turmoil-net: a TCP without congestion control and retransmission timers, in steps of a millisecond |
//! | By itself | what the programs take where there is no network: a pipe of tokio in memory ([`tokio::io::duplex`]) |
//! | Measured | CPU time of this process for each call, from the first connection to the last answer: programs, tokio, sockets, both ends of TCP, and the network |

mod http;

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
    /// turmoil-net, too: its version 0.1 turns in a loop of its own on some machines, and never ends
    #[arg(long)]
    turmoil: bool,
    /// Only ours: for a profiler
    #[arg(long, conflicts_with = "turmoil")]
    alone: bool,
}

const SERVERS: usize = 9;
const SIZE: usize = 64;
const PORT: u16 = 7;

/// What the programs at both ends of a connection say.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Conversation {
    Octets,
    Http,
}

impl Conversation {
    const ALL: [Self; 2] = [Self::Octets, Self::Http];

    const fn title(self) -> &'static str {
        match self {
            Self::Octets => "64 octets",
            Self::Http => "hyper",
        }
    }

    /// Answers until the peer closes.
    async fn answer(self, stream: impl Stream) {
        match self {
            Self::Octets => answer(stream).await,
            Self::Http => http::answer(stream).await,
        }
    }

    /// Calls so often, one after the other.
    async fn call(self, stream: impl Stream, calls: u32) -> io::Result<()> {
        match self {
            Self::Octets => call(stream, calls).await,
            Self::Http => http::call(stream, calls).await,
        }
    }
}

/// A stream of octets, whoever carries it.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// Calls each server so often.
type Run = fn(Conversation, u32) -> Result<(), String>;

#[derive(Serialize)]
struct Row {
    what: Conversation,
    who: &'static str,
    calls: u32,
    /// Median, least and most CPU time of a call, in microseconds.
    us: f64,
    least: f64,
    most: f64,
}

async fn answer(mut stream: impl Stream) {
    let mut octets = [0; SIZE];
    while stream.read_exact(&mut octets).await.is_ok() {
        if stream.write_all(&octets).await.is_err() {
            return;
        }
    }
}

async fn call(mut stream: impl Stream, calls: u32) -> io::Result<()> {
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
async fn client<S: Stream, F>(connect: impl Fn(String) -> F, what: Conversation, each: u32) -> io::Result<()>
where
    F: Future<Output = io::Result<S>>,
{
    let mut tasks = Vec::new();
    for server in 0..SERVERS {
        let stream = connect(format!("{}:{PORT}", name(server))).await?;
        tasks.push(tokio::spawn(what.call(stream, each)));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

fn ours(what: Conversation, each: u32) -> Result<(), String> {
    use kumiki_net::sim::{Net, spawn};
    use kumiki_net::{TcpListener, TcpStream};

    let net = Net::new(1);
    for server in 0..SERVERS {
        net.host(&name(server)).start(move || async move {
            if let Ok(listener) = TcpListener::bind(("0.0.0.0", PORT)).await {
                while let Ok((stream, _)) = listener.accept().await {
                    let _ = stream.set_nodelay(true);
                    spawn(what.answer(stream));
                }
            }
        });
    }
    let connect = |address: String| async move {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let done = net.host("client").run(client(connect, what, each)).map_err(|error| error.to_string())?;
    done.map_err(|error| error.to_string())
}

fn turmoil(what: Conversation, each: u32) -> Result<(), String> {
    use turmoil_net::fixture::ClientServer;
    use turmoil_net::shim::tokio::net::{TcpListener, TcpStream};

    let mut network = ClientServer::new();
    for server in 0..SERVERS {
        network = network.server(name(server).as_str(), async move {
            if let Ok(listener) = TcpListener::bind(("0.0.0.0", PORT)).await {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(what.answer(stream));
                }
            }
        });
    }
    let done = network.run("client", client(TcpStream::connect::<String>, what, each));
    done.map_err(|error| error.to_string())
}

/// Without a network: each stream is a pipe in memory.
fn by_itself(what: Conversation, each: u32) -> Result<(), String> {
    let connect = |_| async move {
        let (here, there) = tokio::io::duplex(4096);
        tokio::spawn(what.answer(there));
        Ok(here)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string())?;
    runtime.block_on(client(connect, what, each)).map_err(|error| error.to_string())
}

/// Runs all and prints what each call takes.
///
/// # Errors
/// Says which run did not do what it should.
pub(crate) fn measure(what: &Calls) -> Result<(), String> {
    let runs = if what.quick { 3 } else { what.runs.max(1) };
    let each: u32 = if what.quick { 2_000 } else { 20_000 };
    let mut all: Vec<(&'static str, Run)> = vec![("Kumiki", ours)];
    if what.turmoil {
        all.push(("turmoil-net", turmoil));
    }
    if !what.alone {
        all.push(("by itself", by_itself));
    }
    let mut rows = Vec::new();
    for conversation in Conversation::ALL {
        rows.extend(taken(conversation, &all, each, runs)?);
    }
    if what.json {
        println!("{}", serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())?);
    } else {
        show(&rows);
    }
    Ok(())
}

/// What each of `all` takes for a call of `what`, in runs taken in turn.
fn taken(what: Conversation, all: &[(&'static str, Run)], each: u32, runs: usize) -> Result<Vec<Row>, String> {
    let calls = each * u32::try_from(SERVERS).unwrap_or(u32::MAX);
    let mut taken = vec![Vec::new(); all.len()];
    for _ in 0..runs {
        for ((_, run), taken) in all.iter().zip(&mut taken) {
            let begin = cpu_s();
            run(what, each)?;
            taken.push((cpu_s() - begin) * 1e6 / f64::from(calls));
        }
    }
    let row = |((who, _), taken): (&(&'static str, _), &mut Vec<f64>)| {
        let us = median(taken);
        let (least, most) = (taken.iter().copied().fold(f64::MAX, f64::min), taken.iter().copied().fold(0.0, f64::max));
        Row { what, who, calls, us, least, most }
    };
    Ok(all.iter().zip(&mut taken).map(row).collect())
}

fn show(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["calls", "", "us of CPU each", "calls a CPU second"]);
    for Row { what, who, us, least, most, .. } in rows {
        let range = format!("{us:.2} ({least:.2} to {most:.2})");
        table.add_row([what.title().to_owned(), (*who).to_owned(), range, format!("{:.0}", 1e6 / us)]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
}
