//! Exchanges of 64 octets at a given rate over a TUN device: how long each takes, and what the stack's process takes
//! for it.
//!
//! | | |
//! |---|---|
//! | Load | Linux asks, in a process of its own that never sleeps, on all connections in turn, whether or not the answers before have come (an open loop) |
//! | Measured | from when a question was due until its answer was read, and from when it was written. Where the process that asks got no processor the first has that too, which is no stack's doing |
//! | Beside it | Kumiki in one thread with its programs and with a thread of its own; smoltcp; a bare end that knows no loss: the floor |
//! | Left out | the first tenth of each run, in which connections and caches are new |

use core::time::Duration;
use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table, presets};
use kumiki_io::tun::Layer;
use kumiki_io::{Packets, Tun, TunConfig};
use rustix::event::{Timespec, epoll};
use serde::{Deserialize, Serialize};

use super::peer::{Parameters, Peer, Role};
use super::{DEVICE, LINUX, PREFIX, TransferEnd, bare, queues, smol};
use crate::load::{SMALL, content, cpu_s};
use crate::tcp::median;

const MTU: u16 = 1500;

/// So many questions may wait for an answer on one connection: what they have of octets fits the buffers of any socket.
const MOST: usize = 64;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Paced {
    /// Exchanges a second, on all connections together
    #[arg(long, default_value_t = 60_000)]
    rate: u64,
    /// Connections, all open at once
    #[arg(long, default_value_t = 60)]
    connections: usize,
    /// Seconds of each run
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Runs of each, of which the median counts
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only this one
    #[arg(long)]
    who: Option<AnsweringEnd>,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
}

/// Who answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum AnsweringEnd {
    /// Kumiki in the runtime of its programs, one thread
    Driven,
    /// Kumiki with a thread of its own
    Threaded,
    /// Smoltcp
    Smoltcp,
    /// The bare end
    Bare,
}

/// What came of a run, as whoever asks has seen it; times in microseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct PacedOutcome {
    /// Exchanges, the first ones left out.
    done: usize,
    /// Of all, how many in a second.
    rate: f64,
    /// From when a question was due until its answer was read: half, and 99 of 100, took so long at most.
    due_p50: f64,
    due_p99: f64,
    /// From when it was written.
    written_p50: f64,
    written_p99: f64,
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    who: AnsweringEnd,
    outcomes: Vec<PacedOutcome>,
    /// CPU time of the stack's process for each exchange, in microseconds.
    cpu_us: Vec<f64>,
    /// Runs given up, since a packet was lost.
    lost: usize,
}

pub(crate) fn measure(what: &Paced) -> Result<(), String> {
    let all = [AnsweringEnd::Driven, AnsweringEnd::Threaded, AnsweringEnd::Smoltcp, AnsweringEnd::Bare].into_iter();
    let wanted = all.filter(|who| what.who.is_none_or(|only| only == *who));
    let mut rows: Vec<Row> = wanted.map(|who| Row { who, outcomes: Vec::new(), cpu_us: Vec::new(), lost: 0 }).collect();
    // In turn, so that what else the machine does hits all alike.
    for _ in 0..what.runs.max(1) {
        for row in &mut rows {
            match run(row.who, what)? {
                Some((outcome, cpu)) => {
                    row.outcomes.push(outcome);
                    row.cpu_us.push(cpu);
                }
                None => row.lost += 1,
            }
        }
    }
    crate::show::show(&rows, what.json, table)
}

/// What came of it, and microseconds of CPU for each exchange; nothing where the run was given up.
fn run(who: AnsweringEnd, what: &Paced) -> Result<Option<(PacedOutcome, f64)>, String> {
    let packets = if who == AnsweringEnd::Smoltcp { Packets::Plain } else { Packets::Any };
    let config = TunConfig { layer: Layer::Ip, mtu: MTU, packets };
    let tun = Tun::open_as(DEVICE, config).map_err(|why| why.to_string())?;
    tun.configure_kernel(LINUX.into(), PREFIX, MTU).map_err(|why| why.to_string())?;
    let (connections, rate, count) = (what.connections.max(1), what.rate.max(1), what.rate * what.seconds.max(1));
    let start = || Peer::start(&Parameters { role: Role::Paces, octets: count, connections, rate });
    let before = cpu_s();
    let (ended, mut peer) = match who {
        AnsweringEnd::Driven => queues::answer_driven(tun, connections, start).map(|peer| (TransferEnd::Done, peer)),
        AnsweringEnd::Threaded => {
            queues::answer_threaded(tun, connections, start).map(|peer| (TransferEnd::Done, peer))
        }
        AnsweringEnd::Smoltcp => {
            let peer = start()?;
            smol::answer(&tun, MTU, connections).map(|()| (TransferEnd::Done, peer))
        }
        AnsweringEnd::Bare => {
            let peer = start()?;
            bare::answer(&tun, MTU, connections).map(|ended| (ended, peer))
        }
    }?;
    let cpu = cpu_s() - before;
    if ended == TransferEnd::Lost {
        return Ok(None);
    }
    let said = peer.says()?;
    if said.is_empty() {
        peer.end()?;
        return Err("the peer says nothing".to_owned());
    }
    let outcome: PacedOutcome = serde_json::from_str(&said).map_err(|why| format!("the peer says `{said}`: {why}"))?;
    peer.end()?;
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let cpu = cpu * 1e6 / count as f64;
    Ok(Some((outcome, cpu)))
}

/// A connection, as whoever asks has it.
struct Line {
    stream: TcpStream,
    /// When the questions were due that were not answered yet, and when they were written, in nanoseconds.
    open: VecDeque<(u64, u64)>,
    /// Octets of the next answer that have come.
    part: usize,
}

/// Asks on all `streams` in turn, `rate` times a second and `count` times in all; what is not done in twice the time it
/// takes then is left.
pub(super) fn asks(streams: Vec<TcpStream>, count: u64, rate: u64) -> io::Result<PacedOutcome> {
    let watched = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut lines = Vec::new();
    for (number, stream) in (0..).zip(streams) {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        epoll::add(&watched, &stream, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
        lines.push(Line { stream, open: VecDeque::new(), part: 0 });
    }
    let message = content(SMALL);
    #[expect(clippy::disallowed_methods, reason = "how long it takes by the clock on the wall is measured")]
    let began = Instant::now();
    let now = || u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let due = |number: u64| number.saturating_mul(1_000_000_000) / rate;
    let limit = due(count) * 2 + 2_000_000_000;
    let mut times = Times::new(count);
    let mut asked = 0;
    let mut events = Vec::with_capacity(MOST);
    while times.answered < count && now() < limit {
        while asked < count && due(asked) <= now() {
            let number = usize::try_from(asked).unwrap_or(0) % lines.len();
            let Some(line) = lines.get_mut(number).filter(|line| line.open.len() < MOST) else {
                break;
            };
            line.open.push_back((due(asked), now()));
            line.stream.write_all(&message)?;
            asked += 1;
        }
        events.clear();
        epoll::wait(&watched, rustix::buffer::spare_capacity(&mut events), Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        for event in &events {
            let number = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
            if let Some(line) = lines.get_mut(number) {
                line.read(&mut times, now)?;
            }
        }
    }
    if times.since_due.is_empty() {
        return Err(io::Error::other(format!("{} of {count} were answered in time, too few to tell", times.answered)));
    }
    Ok(times.outcome(Duration::from_nanos(now())))
}

impl Line {
    fn read(&mut self, times: &mut Times, now: impl Fn() -> u64) -> io::Result<()> {
        let mut buffer = [0; MOST * SMALL];
        let octets = match self.stream.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            read => read?,
        };
        let now = now();
        self.part += octets;
        while self.part >= SMALL
            && let Some((due, written)) = self.open.pop_front()
        {
            self.part -= SMALL;
            times.add(now.saturating_sub(due), now.saturating_sub(written));
        }
        Ok(())
    }
}

/// How long exchanges took, in nanoseconds.
struct Times {
    answered: u64,
    /// So many of the first do not count.
    first: u64,
    since_due: Vec<u64>,
    since_written: Vec<u64>,
}

impl Times {
    fn new(count: u64) -> Self {
        let room = || Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        Self { answered: 0, first: count / 10, since_due: room(), since_written: room() }
    }

    fn add(&mut self, since_due: u64, since_written: u64) {
        self.answered += 1;
        if self.answered > self.first {
            self.since_due.push(since_due);
            self.since_written.push(since_written);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn outcome(mut self, took: Duration) -> PacedOutcome {
        let [due_p50, due_p99] = percentiles(&mut self.since_due);
        let [written_p50, written_p99] = percentiles(&mut self.since_written);
        let rate = self.answered as f64 / took.as_secs_f64();
        PacedOutcome { done: self.since_due.len(), rate, due_p50, due_p99, written_p50, written_p99 }
    }
}

/// In microseconds, what half of `times` and 99 of 100 do not exceed.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run are far below 2^52")]
fn percentiles(times: &mut [u64]) -> [f64; 2] {
    times.sort_unstable();
    [50, 99].map(|percent| {
        let place = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(place).map_or(f64::NAN, |nanos| *nanos as f64 / 1000.0)
    })
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "who answers",
        "a second",
        "from due: p50",
        "p99",
        "least to most",
        "from written: p50",
        "p99",
        "CPU us",
    ]);
    for row in rows {
        let who = match row.who {
            AnsweringEnd::Driven => "Kumiki, one thread",
            AnsweringEnd::Threaded => "Kumiki, a thread of its own",
            AnsweringEnd::Smoltcp => "smoltcp",
            AnsweringEnd::Bare => "bare",
        };
        let all = |value: fn(&PacedOutcome) -> f64| row.outcomes.iter().map(value).collect::<Vec<_>>();
        let middle = |value: fn(&PacedOutcome) -> f64| format!("{:.0}", median(&all(value)));
        let worst = all(|it| it.due_p99);
        let least = worst.iter().copied().fold(f64::INFINITY, f64::min);
        let mut cells = match row.lost {
            0 => vec![who.to_owned()],
            lost => vec![format!("{who} ({lost} of {} runs given up)", lost + worst.len())],
        };
        if !worst.is_empty() {
            cells.push(middle(|it| it.rate));
            cells.push(middle(|it| it.due_p50));
            cells.push(middle(|it| it.due_p99));
            cells.push(format!("{least:.0} to {:.0}", worst.iter().copied().fold(0.0, f64::max)));
            cells.push(middle(|it| it.written_p50));
            cells.push(middle(|it| it.written_p99));
            cells.push(format!("{:.1}", median(&row.cpu_us)));
        }
        table.add_row(cells);
    }
    for column in 1..8 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_99_of_100_do_not_exceed_what_is_said() {
        let mut times: Vec<u64> = (1..=200).rev().map(|it| it * 1000).collect();
        assert_eq!(percentiles(&mut times), [100.0, 198.0]);
        assert_eq!(percentiles(&mut [7000]), [7.0, 7.0]);
    }
}
