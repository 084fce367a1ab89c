//! How exact a delay is: datagrams over the loopback interface, through a delay generator, at the rate of a DS-3.
//!
//! | | |
//! |---|---|
//! | Load | a thread sends datagrams of one size at 45 Mbit/s, each with its number and the time of its sending |
//! | Between | Kumiki's delay generator, as `kumiki delay` runs it; in turn with it a plain forwarder: one thread reads, another sleeps until the next datagram is due. Each with a priority ahead of other programs ("first", where this user may) and without |
//! | Measured | from the sender's stamp to when the kernel had the datagram in the receiver's socket, less the delay that was asked for. So the way through two sockets is in it, and how late the receiver ran is not |
//! | Left out | TUN and TAP devices, other load on the machine: whoever wants that starts some beside it |
//!
//! Times are those of a wall clock, here and in no other bench: lateness is what is measured.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration as Span;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use kumiki_delay::command::{Change, Directions};
use kumiki_delay::{Engine, Path};
use kumiki_graph::{Duration, Instant};
use kumiki_io::{Arrival, Bell, Clock, RealClock, RealDevice, RemoteEnd, Udp, Watch, cpu_time, priority};
use serde::Serialize;

/// What to measure, and how to show it.
#[derive(Args, Debug)]
pub(crate) struct Exactness {
    /// Seconds of sending for each case
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Rounds of all cases
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// Megabits each second
    #[arg(long, default_value_t = 45)]
    rate: u64,
    /// Write what was measured as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum DelayMethod {
    Kumiki,
    Sleep,
}

/// Who forwards, and whether it asks for a priority ahead of other programs.
const WHO: [(DelayMethod, bool); 4] = [
    (DelayMethod::Kumiki, true),
    (DelayMethod::Sleep, true),
    (DelayMethod::Kumiki, false),
    (DelayMethod::Sleep, false),
];

/// One row of the table; times in microseconds.
#[derive(Debug, Serialize)]
struct Row {
    who: DelayMethod,
    /// Whether it ran ahead of other programs.
    first: bool,
    octets: usize,
    delay_ms: u64,
    sent: u64,
    lost: u64,
    /// Least, median, 99th and 99.9th percentile, most of what was measured less what was asked for.
    late_us: [f64; 5],
    /// The 99th percentile as the receiving program saw it, once it ran.
    seen_p99_us: f64,
    /// CPU seconds of all threads for each second.
    cpu: f64,
}

const LOOPBACK: &str = "127.0.0.1:0";

/// Lets the last datagrams arrive.
const AFTER: Duration = Duration::from_millis(300);

type Failed = Box<dyn std::error::Error>;

pub(crate) fn measure(what: &Exactness) -> Result<(), String> {
    let mut rows = Vec::new();
    for _ in 0..what.rounds.max(1) {
        for octets in [1500, 9000] {
            for delay_ms in [0, 20, 100] {
                for who in WHO {
                    let row = one(who, octets, delay_ms, what).map_err(|why| why.to_string())?;
                    eprintln!("{who:?}, {octets} octets, {delay_ms} ms: done");
                    rows.push(row);
                }
            }
        }
    }
    crate::show::show(&rows, what.json, |rows| table(rows, what.rate))
}

/// A forwarder: where it takes datagrams, and its threads.
type Forwarder = (SocketAddr, Vec<JoinHandle<()>>);

/// A forwarder between two sockets, which ends when it is told to.
fn forward(
    who: DelayMethod,
    first: bool,
    delay: Duration,
    to: SocketAddr,
    over: &Arc<AtomicBool>,
) -> Result<Forwarder, Failed> {
    match who {
        DelayMethod::Kumiki => ours(first, delay, to, over),
        DelayMethod::Sleep => sleeping(first, delay, to, over),
    }
}

/// Has this thread run ahead of others where that is wanted; where it may not, it does not, which the table shows.
fn run_first(first: bool) {
    if first {
        let _ = priority::run_first();
    }
}

fn ours(first: bool, delay: Duration, to: SocketAddr, over: &Arc<AtomicBool>) -> Result<Forwarder, Failed> {
    let mut near = Udp::open(LOOPBACK.parse()?, RemoteEnd::First)?;
    near.tell_waits();
    let mut far = Udp::open(LOOPBACK.parse()?, RemoteEnd::Given(to))?;
    far.tell_waits();
    let at = near.local();
    let mut path = Path::new(1);
    path.set(Instant::ZERO, Directions::Both, &[Change::Delay(delay)]);
    let over = Arc::clone(over);
    let thread = std::thread::spawn(move || {
        run_first(first);
        let clock = RealClock::start();
        clock.wait_without_slack();
        let devices: [Box<dyn RealDevice>; 2] = [Box::new(near), Box::new(far)];
        if let Ok(mut engine) = Engine::new(clock, devices, path, Vec::new()) {
            let _ = engine.run(None, || over.load(Ordering::Relaxed));
        }
    });
    Ok((at, vec![thread]))
}

/// What is written in an hour: a thread that reads and stamps, and a thread that sleeps and sends.
fn sleeping(first: bool, delay: Duration, to: SocketAddr, over: &Arc<AtomicBool>) -> Result<Forwarder, Failed> {
    let near = UdpSocket::bind(LOOPBACK)?;
    near.set_read_timeout(Some(Span::from_millis(100)))?;
    let far = UdpSocket::bind(LOOPBACK)?;
    let at = near.local_addr()?;
    let clock = RealClock::start();
    let (sender, receiver) = channel::<(Instant, Vec<u8>)>();
    let over = Arc::clone(over);
    let reads = std::thread::spawn(move || {
        run_first(first);
        let mut buffer = vec![0; 1 << 16];
        while !over.load(Ordering::Relaxed) {
            if let Ok(length) = near.recv(&mut buffer) {
                let octets = buffer.get(..length).unwrap_or_default().to_vec();
                if sender.send((clock.now() + delay, octets)).is_err() {
                    return;
                }
            }
        }
    });
    let sends = std::thread::spawn(move || {
        run_first(first);
        while let Ok((due, octets)) = receiver.recv() {
            let left = due.saturating_since(clock.now());
            if !left.is_zero() {
                #[expect(clippy::disallowed_methods, reason = "that is what this rival is made of")]
                std::thread::sleep(Span::from_nanos(left.as_nanos()));
            }
            let _ = far.send_to(&octets, to);
        }
    });
    Ok((at, vec![reads, sends]))
}

/// Sends `count` datagrams, `gap` apart: one that is late does not make the next ones late.
fn send(clock: RealClock, to: SocketAddr, octets: usize, gap: Duration, count: u64) {
    clock.wait_without_slack();
    let Ok(socket) = UdpSocket::bind(LOOPBACK) else {
        return;
    };
    let (began, bell) = (clock.now(), Bell::default());
    let mut datagram = vec![0; octets];
    for number in 0..count {
        let due = began + gap * number;
        while clock.now() < due {
            clock.wait(due, &bell, &[]);
        }
        if let Some((head, _)) = datagram.split_first_chunk_mut::<8>() {
            *head = clock.now().as_nanos().to_be_bytes();
        }
        let _ = socket.send_to(&datagram, to);
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for print need no more than 53 bits")]
fn one((who, first): (DelayMethod, bool), octets: usize, delay_ms: u64, what: &Exactness) -> Result<Row, Failed> {
    let clock = RealClock::start();
    clock.wait_without_slack();
    let mut end = Udp::open(LOOPBACK.parse()?, RemoteEnd::First)?;
    end.tell_waits();
    let over = Arc::new(AtomicBool::new(false));
    let delay = Duration::from_millis(delay_ms);
    let (at, threads) = forward(who, first, delay, end.local(), &over)?;
    let bits = octets as u64 * 8;
    let gap = Duration::from_nanos(bits * 1000 / what.rate.max(1));
    let sending = Duration::from_secs(what.seconds);
    let count = sending.as_nanos() / gap.as_nanos().max(1);
    let before = cpu_time();
    let sender = std::thread::spawn(move || send(clock, at, octets, gap, count));
    let until = clock.now() + sending + delay + AFTER;
    let (mut late, mut seen) = (Vec::new(), Vec::new());
    let bell = Bell::default();
    while clock.now() < until && (late.len() as u64) < count {
        while let Some(arrival) = end.receive()? {
            let now = clock.now().as_nanos();
            let Arrival::Unit { mut data, waited, .. } = arrival else {
                continue;
            };
            let stamp = data.front(8).ok().and_then(|octets| octets.try_into().ok());
            let stamp = stamp.map_or(0, u64::from_be_bytes);
            let asked = stamp as f64 + delay.as_nanos() as f64;
            let arrived = now.saturating_sub(waited.as_nanos());
            late.push((arrived as f64 - asked) / 1e3);
            seen.push((now as f64 - asked) / 1e3);
        }
        if let Some(descriptor) = end.descriptors().read {
            let watch = Watch { descriptor, reading: true, writing: false };
            bell.open()?;
            clock.wait(until, &bell, &[watch]);
        }
    }
    let cpu = Duration::from_nanos(cpu_time().as_nanos().saturating_sub(before.as_nanos()));
    over.store(true, Ordering::Relaxed);
    let _ = sender.join();
    // Whoever waits for a datagram gets one.
    let waker = UdpSocket::bind(LOOPBACK)?;
    let _ = waker.send_to(&[], at);
    for thread in threads {
        let _ = thread.join();
    }
    let received = late.len() as u64;
    late.sort_by(f64::total_cmp);
    seen.sort_by(f64::total_cmp);
    Ok(Row {
        who,
        first,
        octets,
        delay_ms,
        sent: count,
        lost: count.saturating_sub(received),
        late_us: [0.0, 0.5, 0.99, 0.999, 1.0].map(|part| quantile(&late, part)),
        seen_p99_us: quantile(&seen, 0.99),
        cpu: cpu.as_secs_f64() / (what.seconds as f64 + (delay + AFTER).as_secs_f64()),
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a sample of far less than 2^52"
)]
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * part).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

fn table(rows: &[Row], rate: u64) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["octets", "delay", "who", "min", "median", "p99", "p99.9", "max", "p99 as seen", "lost", "CPU"]);
    for row in rows {
        let who = match row.who {
            DelayMethod::Kumiki => "Kumiki",
            DelayMethod::Sleep => "sleep",
        };
        let who = if row.first { format!("{who}, first") } else { who.to_owned() };
        let mut cells = vec![row.octets.to_string(), format!("{} ms", row.delay_ms), who];
        cells.extend(row.late_us.map(|us| format!("{us:.1}")));
        cells.push(format!("{:.1}", row.seen_p99_us));
        cells.push(format!("{} of {}", row.lost, row.sent));
        cells.push(format!("{:.1} %", row.cpu * 100.0));
        table.add_row(cells);
    }
    for column in 3..9 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("Measured less intended, in us, at {rate} Mbit/s over loopback UDP:\n{table}")
}
