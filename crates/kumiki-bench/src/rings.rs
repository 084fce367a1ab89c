//! A program and its stack in two processes, beside the same in one.
//!
//! | | |
//! |---|---|
//! | One thread | the stack in the program's own runtime ([`HostDriver`]) |
//! | One process | the stack in a thread of the program's process ([`HostStack`]) |
//! | Rings | the stack in a process of its own, the program attached by rings in shared memory ([`RemoteStack`]) |
//! | Load | both ends of a connection in the program, in one runtime of one thread, through the stack to itself |
//! | Measured | CPU time of the program's and the stack's process together; the time of an exchange, of which each is timed |

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use kumiki_io::{Clock as _, RealClock};
use kumiki_net::host::{HostConfig, HostDriver, HostStack, NullDevice};
use kumiki_net::rings::{Limits, RemoteStack, StackServer};
use kumiki_net::{Stack, TcpListener, TcpStream};
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Builder;

use crate::load::{SMALL, cpu_s};
use crate::tcp::median;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Rings {
    /// Fewer octets, exchanges and runs
    #[arg(long)]
    quick: bool,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
    /// Runs of each, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// As the stack's process is started.
#[derive(Args, Debug)]
pub(crate) struct StackParameters {
    #[arg(long)]
    at: PathBuf,
}

const OWN: &str = "10.9.0.1";
const AT: &str = "10.9.0.1:7";

/// Octets of each write and read.
const PIECE: usize = 64 * 1024;

#[derive(Clone, Copy)]
struct Work {
    octets: u64,
    exchanges: usize,
}

/// What one run has come to.
struct RunCost {
    /// CPU seconds for each GiB.
    bulk: f64,
    /// SandboxPart-clock rate of it, in Gbit/s.
    rate: f64,
    /// Microseconds of CPU for each exchange.
    cpu_us: f64,
    /// Times of exchanges, in microseconds: the middle one, and what 99 of 100 do not exceed.
    middle_us: f64,
    most_us: f64,
}

#[derive(Serialize)]
struct Row {
    who: &'static str,
    bulk_s_per_gib: [f64; 3],
    rate_gbit_s: f64,
    exchange_cpu_us: f64,
    exchange_us: f64,
    exchange_p99_us: f64,
}

fn said(what: &str) -> impl Fn(std::io::Error) -> String {
    move |why| format!("{what}: {why}")
}

fn config() -> Result<HostConfig, String> {
    let own: core::net::IpAddr = OWN.parse().map_err(|why| format!("{OWN}: {why}"))?;
    Ok(HostConfig::new([own]))
}

/// The stack's process.
struct StackProcess {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

impl StackProcess {
    fn start() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(said("a folder"))?;
        let program = std::env::current_exe().map_err(said("this program"))?;
        let mut command = Command::new(program);
        command.arg("rings-stack").arg("--at").arg(folder.path().join("stack"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(said("the stack"))?;
        let (ask, answers) = (child.stdin.take().ok_or("no input")?, child.stdout.take().ok_or("no output")?);
        Ok(Self { child, ask, answers: BufReader::new(answers), folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("stack")
    }

    /// Its CPU time so far, in seconds.
    fn cpu_s(&mut self) -> Result<f64, String> {
        self.ask.write_all(b"\n").map_err(said("the stack"))?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(said("the stack"))?;
        line.trim().parse().map_err(|why| format!("the stack: {why}"))
    }
}

impl Drop for StackProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The stack's process itself: tells its CPU time for each line that it reads.
pub(crate) fn be_stack(parameters: &StackParameters) -> Result<(), String> {
    let driver = HostDriver::new(Box::new(NullDevice), &config()?).map_err(said("the stack"))?;
    let at = parameters.at.clone();
    std::thread::spawn(move || {
        if let Err(why) = StackServer::run(driver, &at, 0o600, Limits::default()) {
            eprintln!("the stack: {why}");
        }
    });
    for line in std::io::stdin().lines() {
        line.map_err(said("the stack's input"))?;
        println!("{}", cpu_s());
    }
    Ok(())
}

/// Both ends of a connection through `stack`, and what they take; `other` is the CPU time of others.
async fn through(stack: &Stack, work: Work, other: &mut dyn FnMut() -> Result<f64, String>) -> Result<RunCost, String> {
    let clock = RealClock::start();
    let wrong = said("the program");
    let listener = stack.scope(TcpListener::bind(AT)).await.map_err(&wrong)?;
    let (accepted, called) = tokio::join!(listener.accept(), stack.scope(TcpStream::connect(AT)));
    let ((mut accepted, _), mut called) = (accepted.map_err(&wrong)?, called.map_err(&wrong)?);
    for stream in [&accepted, &called] {
        stream.set_nodelay(true).map_err(&wrong)?;
    }
    let mut times = Vec::with_capacity(work.exchanges);
    let (mut request, mut reply) = ([7; SMALL], [7; SMALL]);
    let mut cpu = cpu_s() + other()?;
    let answering = async {
        for _ in 0..work.exchanges {
            accepted.read_exact(&mut reply).await?;
            accepted.write_all(&reply).await?;
        }
        std::io::Result::Ok(())
    };
    let asking = async {
        for _ in 0..work.exchanges {
            let begin = clock.now();
            called.write_all(&request).await?;
            called.read_exact(&mut request).await?;
            times.push(clock.now().saturating_since(begin).as_nanos());
        }
        std::io::Result::Ok(())
    };
    tokio::try_join!(answering, asking).map_err(&wrong)?;
    let exchanges = cpu_s() + other()? - cpu;
    cpu += exchanges;
    let begin = clock.now();
    let sending = async {
        let mut left = work.octets;
        while left > 0 {
            let piece = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
            called.write_all(vec![7; PIECE].get(..piece).unwrap_or_default()).await?;
            left -= piece as u64;
        }
        called.shutdown().await
    };
    let reading = async {
        let (mut buffer, mut read) = (vec![0; PIECE], 0);
        loop {
            match accepted.read(&mut buffer).await? {
                0 => return Ok(read),
                n => read += n as u64,
            }
        }
    };
    let ((), read) = tokio::try_join!(sending, reading).map_err(&wrong)?;
    if read != work.octets {
        return Err(format!("{read} octets of {} were read", work.octets));
    }
    let took = clock.now().saturating_since(begin).as_nanos();
    let bulk = cpu_s() + other()? - cpu;
    times.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default() as f64 / 1e3;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let (octets, count) = (work.octets as f64, work.exchanges as f64);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let rate = octets * 8.0 / took as f64;
    let gib = octets / f64::from(1 << 30);
    Ok(RunCost { bulk: bulk / gib, rate, cpu_us: exchanges * 1e6 / count, middle_us: at(50), most_us: at(99) })
}

fn one_thread(work: Work) -> Result<RunCost, String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(said("a runtime"))?;
    runtime.block_on(async {
        let driver = HostDriver::new(Box::new(NullDevice), &config()?).map_err(said("the stack"))?;
        let stack = driver.stack().clone();
        let driving = tokio::spawn(driver.drive());
        let taken = through(&stack, work, &mut || Ok(0.0)).await;
        driving.abort();
        taken
    })
}

fn one_process(work: Work) -> Result<RunCost, String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(said("a runtime"))?;
    let host = HostStack::start(Box::new(NullDevice), &config()?).map_err(said("the stack"))?;
    runtime.block_on(through(host.stack(), work, &mut || Ok(0.0)))
}

/// Attaches as soon as the stack listens.
fn attach(path: &Path, process: &mut StackProcess) -> Result<RemoteStack, String> {
    loop {
        match RemoteStack::connect(path) {
            Ok(remote) => return Ok(remote),
            // It answers as soon as it runs, and listens soon after that.
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => process.cpu_s().map(drop)?,
            Err(why) => return Err(format!("the stack: {why}")),
        }
    }
}

fn rings(work: Work) -> Result<RunCost, String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(said("a runtime"))?;
    let mut process = StackProcess::start()?;
    let remote = attach(&process.path(), &mut process)?;
    runtime.block_on(through(remote.stack(), work, &mut || process.cpu_s()))
}

/// Runs all and prints what they take.
///
/// # Errors
/// Says which run did not do what it should.
pub(crate) fn measure(what: &Rings) -> Result<(), String> {
    let runs = if what.quick { 3 } else { what.runs.max(1) };
    let work = if what.quick {
        Work { octets: 256 << 20, exchanges: 5_000 }
    } else {
        Work { octets: 2 << 30, exchanges: 50_000 }
    };
    type Run = fn(Work) -> Result<RunCost, String>;
    let all: [(&str, Run); 3] =
        [("stack in the program's thread", one_thread), ("in a thread of its process", one_process), ("rings", rings)];
    let mut taken: Vec<Vec<RunCost>> = all.iter().map(|_| Vec::new()).collect();
    for _ in 0..runs {
        for ((_, run), taken) in all.iter().zip(&mut taken) {
            taken.push(run(work)?);
        }
    }
    let rows: Vec<Row> = all.iter().zip(&taken).map(|((who, _), taken)| row(who, taken)).collect();
    if what.json {
        println!("{}", serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["", "CPU s/GiB", "MB per CPU s", "Gbit/s", "exchange: us of CPU", "us", "p99 us"]);
    for Row { who, bulk_s_per_gib: [bulk, least, most], rate_gbit_s, exchange_cpu_us, exchange_us, exchange_p99_us } in
        rows
    {
        table.add_row([
            who.to_owned(),
            format!("{bulk:.3} ({least:.3} to {most:.3})"),
            format!("{:.0}", f64::from(1 << 30) / 1e6 / bulk),
            format!("{rate_gbit_s:.1}"),
            format!("{exchange_cpu_us:.1}"),
            format!("{exchange_us:.1}"),
            format!("{exchange_p99_us:.1}"),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    Ok(())
}

fn row(who: &'static str, taken: &[RunCost]) -> Row {
    let of = |value: fn(&RunCost) -> f64| taken.iter().map(value).collect::<Vec<_>>();
    let bulk = of(|it| it.bulk);
    let (least, most) = (bulk.iter().copied().fold(f64::MAX, f64::min), bulk.iter().copied().fold(0.0, f64::max));
    Row {
        who,
        bulk_s_per_gib: [median(&bulk), least, most],
        rate_gbit_s: median(&of(|it| it.rate)),
        exchange_cpu_us: median(&of(|it| it.cpu_us)),
        exchange_us: median(&of(|it| it.middle_us)),
        exchange_p99_us: median(&of(|it| it.most_us)),
    }
}
