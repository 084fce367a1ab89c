//! "TCP in the OS", the fourth curve of paper 3's figure 3: Linux's own TCP with a window that is known, through
//! `kumiki delay`, and beside it Kumiki's TCP in virtual time (the scenario `delayed-line`) with the same window, rate,
//! delay and MTU.
//!
//! ```text
//! Linux, which sends --- d0 --- kumiki delay: 36 Mb/s, a delay --- d1 --- Linux, which reads, in a namespace of its own
//! ```
//!
//! The window is what the reader advertises, and is read from the packets on `d0`: a receive buffer that neither grows
//! nor shrinks, and no window scaling. Congestion control (Reno) does not limit, since nothing is lost. The rate is
//! that of octets of the middle of a transfer: from when the first [`SETTLED`] windows have been read, so that slow
//! start does not matter.
//!
//! What is judged is what makes the curve, and not how fast this machine is: Linux fills the window with whole
//! segments, as the virtual one does, never goes beyond what was advertised, nothing is lost on the way, and the box
//! delays by what it was told. The rates of both are told, and how small the window was while the reader had no time to
//! read.
//!
//! Usually it is two delays, at which the window decides and not the machine. With `--full` it is all of them, the
//! median of three transfers each. With `KUMIKI_CURVE=DIR`, DIR an absolute path, the points are written there, as a
//! table and as a figure.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use kumiki_lab::figure::{Axis, Figure, Point, Series};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, eth};
use serde_json::Value;

use crate::Case;
use crate::delay::{ABSENT, Between, set_up, without_ipv6};
use crate::host::{PORT, Said, accept, address, control, prefix, sysctl, when};
use crate::path::{Peer, needed};
use crate::single::holds;

/// Not a case: the peer that reads.
pub(crate) const PEER: &str = "curve-peer";

/// What a DS-3 line with PLCP leaves for datagrams of 1500 octets.
const RATE: &str = "36Mb/s";
const BITS_PER_SECOND: u64 = 36_000_000;

const MTU: u64 = 1500;

/// Headers and timestamps.
const ACKNOWLEDGMENT: u64 = 52;

/// The content of a full segment: 1500 octets without 40 of headers and 12 of timestamps.
const SEGMENT: u64 = 1448;

/// The reader's receive buffer. Linux lets the window have about 0.6 of it with packets of this size: 36 segments, as
/// many as fit into the 53,000 octets of the paper. What it comes to is measured.
const BUFFER: &str = "88000";

/// After so many windows a transfer is measured, and for at least so many.
const SETTLED: u64 = 15;
const MEASURED: u64 = 20;

/// What is measured lasts about this long at least, in seconds, where the line decides.
const LEAST_SECONDS: u64 = 2;

/// Round-trip delays, in milliseconds.
const ALL: [u64; 8] = [0, 2, 5, 10, 20, 50, 100, 200];
const FEW: [u64; 2] = [20, 100];

/// How often a transfer is carried again of which not all packets were seen: on a machine so busy that packets find no
/// room in the watch's queue there is nothing to judge.
const WATCHES: u32 = 5;

pub(crate) fn cases(full: bool) -> Vec<Case> {
    let case = |name: String, delays: Vec<u64>, runs: usize| Case {
        name,
        tries: 1,
        run: Box::new(move || sweep(&delays, runs)),
    };
    if full {
        let name = "curve::linux_tcp_keeps_to_the_virtual_curve_from_0_to_200_ms".to_owned();
        return vec![case(name, ALL.to_vec(), 3)];
    }
    FEW.into_iter()
        .map(|rtt| {
            let name = format!("curve::linux_tcp_keeps_to_the_virtual_curve_at_{rtt}_ms");
            case(name, vec![rtt], 1)
        })
        .collect()
}

/// One transfer of Linux's.
struct Transfer {
    mbps: f64,
    seen: CrossedOctets,
}

/// What both do at one delay.
struct Pair {
    rtt_ms: u64,
    window: u64,
    in_flight: u64,
    /// In increasing order.
    linux: Vec<f64>,
    virtually: f64,
    /// What bounds the virtual one.
    bound_by: String,
}

impl Pair {
    /// The median.
    fn linux(&self) -> f64 {
        self.linux[self.linux.len() / 2]
    }

    fn ratio(&self) -> f64 {
        self.linux() / self.virtually
    }

    /// Why the two are on different curves; none where they are on the same.
    fn differs(&self) -> Option<String> {
        let whole = self.whole();
        if self.in_flight != whole {
            return Some(format!(
                "Linux has {} octets in flight, and whole segments of the window are {whole}",
                self.in_flight
            ));
        }
        // Where the window decides in virtual time, too: less than it by a part of a segment at most, since a part may
        // wait for more.
        let virtually = self.virtually_in_flight();
        let least = whole.saturating_sub(SEGMENT) as f64;
        let agrees = (least..=whole as f64).contains(&virtually);
        (self.bound_by == "send buffer" && !agrees)
            .then(|| format!("{virtually:.0} octets are in flight in virtual time, and {whole} with Linux"))
    }

    /// What is in flight in virtual time: the rate, times the delay and the time of a segment and of its acknowledgment
    /// on the line.
    fn virtually_in_flight(&self) -> f64 {
        let on_the_line = 8.0 * (MTU + ACKNOWLEDGMENT) as f64 / BITS_PER_SECOND as f64;
        let round_trip = self.rtt_ms as f64 / 1e3 + on_the_line;
        self.virtually * 1e6 / 8.0 * round_trip
    }

    /// W_eff: whole segments.
    fn whole(&self) -> u64 {
        self.window / SEGMENT * SEGMENT
    }

    /// W_eff in each round trip.
    fn bound(&self) -> Option<f64> {
        (self.rtt_ms > 0).then(|| (self.whole() * 8) as f64 / 1e3 / self.rtt_ms as f64)
    }
}

fn sweep(delays: &[u64], runs: usize) -> Said<String> {
    let set = format!("both rate {RATE} queue 200 packets");
    let Some((between, mut peer)) = set_up("tun", &set, PEER)? else {
        return Ok(ABSENT.to_owned());
    };
    sysctl("tcp_no_metrics_save", "1")?;
    let mut pairs = Vec::new();
    for rtt in delays {
        let pair = pair(&between, &mut peer, *rtt, runs)?;
        pairs.push(pair);
    }
    let text = table(&pairs);
    if let Some(folder) = std::env::var_os("KUMIKI_CURVE").map(PathBuf::from) {
        keep(&folder, &pairs)?;
    }
    let differs = |pair: &Pair| Some((pair.rtt_ms, pair.differs()?));
    match pairs.iter().find_map(differs) {
        None => Ok(text),
        Some((rtt_ms, why)) => Err(format!("{text}\nat {rtt_ms} ms {why}")),
    }
}

fn pair(between: &Between, peer: &mut Peer, rtt_ms: u64, runs: usize) -> Said<Pair> {
    between.told(&format!("both delay {}us", rtt_ms * 500))?;
    let mut transfers = Vec::new();
    for _ in 0..runs {
        transfers.push(watched(between, peer, rtt_ms)?);
    }
    let window = transfers.iter().map(|it| it.seen.window).max();
    let window = window.ok_or("no transfer")?;
    for Transfer { seen, .. } in &transfers {
        holds(window > 0 && !seen.is_beyond, || {
            format!("at {rtt_ms} ms Linux sends more than was advertised: {seen:?}")
        })?;
    }
    let (virtually, bound_by) = virtually(rtt_ms, window)?;
    let mut pair = Pair {
        rtt_ms,
        window,
        in_flight: transfers.iter().map(|it| it.seen.in_flight).max().unwrap_or(0),
        linux: transfers.iter().map(|it| it.mbps).collect(),
        virtually,
        bound_by,
    };
    pair.linux.sort_by(f64::total_cmp);
    Ok(pair)
}

/// How much a transfer carries before it is measured, and until that ends.
fn octets(rtt_ms: u64) -> (u64, u64) {
    // What Linux advertises is not known yet; this is near enough to it.
    let window = 36 * SEGMENT;
    let at_line_rate = BITS_PER_SECOND / 8 * LEAST_SECONDS;
    // As many at a delay in between as the window lets through in that time.
    let by_window = match rtt_ms {
        0 => at_line_rate,
        rtt => window * 1000 * LEAST_SECONDS / rtt,
    };
    let from = SETTLED * window;
    (from, from + by_window.min(at_line_rate).max(MEASURED * window))
}

/// A transfer of which each packet was seen.
fn watched(between: &Between, peer: &mut Peer, rtt_ms: u64) -> Said<Transfer> {
    for _ in 1..WATCHES {
        if let Some(transfer) = transfer(between, peer, rtt_ms)? {
            return Ok(transfer);
        }
    }
    transfer(between, peer, rtt_ms)?.ok_or_else(|| "packets find no room in a queue".to_owned())
}

/// One transfer; `None` where not all of its packets were seen.
fn transfer(between: &Between, peer: &mut Peer, rtt_ms: u64) -> Said<Option<Transfer>> {
    kumiki_watchdog::minute();
    let (from, to) = octets(rtt_ms);
    quiet(between)?;
    between.told("reset")?;
    peer.told(&format!("{from} {to}"))?;
    let watch = Watch::begin(from)?;
    let packets = AtomicU64::new(u64::MAX);
    let (done, seen) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch.until(&packets));
        let mut act = || -> Said<(String, u64)> {
            send(to)?;
            let said = peer.line()?;
            let all = quiet(between)?;
            let count = |way: &str, what: &str| all[way][what].as_u64().ok_or("no count");
            Ok((said, count("a>b", "packets_in")? + count("b>a", "packets_out")?))
        };
        let done = act();
        packets.store(done.as_ref().map_or(0, |done| done.1), Ordering::Relaxed);
        (done, watch.join())
    });
    let ((said, _), seen) = (done?, seen.map_err(|_| "the watch stopped")??);
    let Some(seen) = seen else { return Ok(None) };
    let mbps: f64 = said.parse().map_err(|_| format!("the peer said \"{said}\""))?;
    let all = between.statistics()?;
    for way in ["a>b", "b>a"] {
        let count = |what: &str| all[way][what].as_u64().unwrap_or(u64::MAX);
        let gone = ["lost", "dropped", "refused", "overflowed"].map(count);
        holds(gone == [0; 4], || format!("something was lost: {all}"))?;
        let asked = all[way]["delay_intended"]["min_ms"].as_f64();
        let least = rtt_ms as f64 / 2.0;
        holds(asked.is_some_and(|asked| asked >= least), || format!("not delayed by {least} ms: {all}"))?;
    }
    Ok(Some(Transfer { mbps, seen }))
}

/// What has crossed, once nothing is in flight.
fn quiet(between: &Between) -> Said<Value> {
    between.once(|all| ["a>b", "b>a"].iter().all(|way| all[*way]["in_flight"] == 0))
}

/// Sends so many octets, and a little more, so that what is measured ends before it does.
fn send(octets: u64) -> Said<()> {
    let mut stream = TcpStream::connect((address(0, 2), PORT)).map_err(when("connect"))?;
    control(&stream, "reno")?;
    let buffer = [7; 8192];
    let mut left = octets + 4 * 36 * SEGMENT;
    while left > 0 {
        kumiki_watchdog::minute();
        stream.write_all(&buffer).map_err(when("write"))?;
        left = left.saturating_sub(buffer.len() as u64);
    }
    Ok(())
}

/// What crossed `d0` in the time that was measured, in octets.
#[derive(Clone, Copy, Debug)]
struct CrossedOctets {
    /// The largest window that the reader advertised, and the smallest.
    window: u64,
    least: u64,
    /// The most that was in flight unacknowledged.
    in_flight: u64,
    /// Something was sent that nobody had asked for yet.
    is_beyond: bool,
}

/// Sees the packets of this namespace.
struct Watch {
    socket: std::os::fd::OwnedFd,
    from: u64,
}

impl Watch {
    /// Nothing is counted before octet `from` is acknowledged.
    fn begin(from: u64) -> Said<Self> {
        let family = AddressFamily::PACKET;
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, Some(eth::ALL));
        let socket = socket.map_err(when("see packets"))?;
        // More than Linux allows by itself, where we may have it; less does on a machine that is not busy.
        let room = 64 << 20;
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, room).is_err() {
            rustix::net::sockopt::set_socket_recv_buffer_size(&socket, room).map_err(when("SO_RCVBUF"))?;
        }
        Ok(Self { socket, from })
    }

    /// Until as many packets have been seen as there are then; `None` where not all can be.
    fn until(self, packets: &AtomicU64) -> Said<Option<CrossedOctets>> {
        let mut seen = CrossedOctets { window: 0, least: u64::MAX, in_flight: 0, is_beyond: false };
        let (mut begin, mut acknowledged, mut highest) = (None, 0, 0);
        // What has been advertised ends here.
        let mut edge = 0;
        let mut count = 0;
        loop {
            let all = packets.load(Ordering::Relaxed);
            if count >= all {
                return Ok(Some(seen));
            }
            let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
            let timeout = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            if poll(&mut polled, Some(&timeout)).map_err(when("wait for packets"))? == 0 {
                // Whatever crossed the device is in the queue at once.
                if all < u64::MAX {
                    return Ok(None);
                }
                continue;
            }
            let mut octets = [0_u8; 128];
            let got = rustix::net::recv(&self.socket, &mut octets[..], RecvFlags::empty());
            let (length, _) = got.map_err(when("see a packet"))?;
            count += 1;
            let Some(segment) = Segment::parse(&octets[..length]) else {
                continue;
            };
            if segment.to == PORT && segment.syn {
                begin = Some((segment.from, segment.seq.wrapping_add(1)));
            }
            let Some((port, begin)) = begin else { continue };
            let place = |number: u32| u64::from(number.wrapping_sub(begin));
            // The end of the connection before may still be in flight.
            let [ours, theirs] = [(port, PORT), (PORT, port)].map(|ports| (segment.from, segment.to) == ports);
            if theirs {
                edge = edge.max(place(segment.ack) + segment.window);
            }
            let [ours, theirs] = [ours, theirs].map(|it| it && !segment.syn);
            if ours {
                highest = highest.max(place(segment.seq) + segment.length);
                seen.is_beyond |= highest > edge;
            } else if theirs {
                acknowledged = place(segment.ack).max(acknowledged);
                if acknowledged >= self.from {
                    seen.window = seen.window.max(segment.window);
                    seen.least = seen.least.min(segment.window);
                }
            }
            if acknowledged >= self.from {
                seen.in_flight = seen.in_flight.max(highest.saturating_sub(acknowledged));
            }
        }
    }
}

/// What matters of a segment of TCP over IPv4.
struct Segment {
    from: u16,
    to: u16,
    seq: u32,
    ack: u32,
    syn: bool,
    window: u64,
    length: u64,
}

impl Segment {
    fn parse(octets: &[u8]) -> Option<Self> {
        let (first, protocol) = (*octets.first()?, *octets.get(9)?);
        if first >> 4 != 4 || protocol != 6 {
            return None;
        }
        let ip = usize::from(first & 15) * 4;
        let two = |at: usize| Some(u16::from_be_bytes(octets.get(at..at + 2)?.try_into().ok()?));
        let four = |at: usize| Some(u32::from_be_bytes(octets.get(at..at + 4)?.try_into().ok()?));
        let header = usize::from(octets.get(ip + 12)? >> 4) * 4;
        Some(Self {
            from: two(ip)?,
            to: two(ip + 2)?,
            seq: four(ip + 4)?,
            ack: four(ip + 8)?,
            syn: octets.get(ip + 13)? & 2 != 0,
            window: two(ip + 14)?.into(),
            length: u64::from(two(2)?).checked_sub((ip + header) as u64)?,
        })
    }
}

/// What Kumiki's TCP carries in virtual time, in Mb/s, and what bounds it.
fn virtually(rtt_ms: u64, window: u64) -> Said<(f64, String)> {
    let name = format!("kumiki-curve-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_kumiki"))
        .args(["run", "delayed-line", "--json", "--force", "--out"])
        .arg(&folder)
        .args(["--set", &format!("rtt=\"{rtt_ms} ms\"")])
        .args(["--set", &format!("window=\"{window} B\"")])
        .output();
    let _ = std::fs::remove_dir_all(&folder);
    let output = output.map_err(when("kumiki run"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // The first row is that of all loads together.
    let row: Value = serde_json::from_str(text.lines().next().unwrap_or_default()).map_err(|why| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("kumiki run said \"{text}\": {why}; {errors}")
    })?;
    let mbps = row["goodput_mbps"].as_f64().ok_or("no goodput")?;
    Ok((mbps, row["bound_by"].as_str().unwrap_or("").to_owned()))
}

fn table(pairs: &[Pair]) -> String {
    let mut text = String::new();
    for pair in pairs {
        let bound = pair.bound().map_or_else(|| "-".to_owned(), |bound| format!("{bound:.2}"));
        let _ = write!(
            text,
            "{}{} ms: window {} octets, in flight {}; Linux {:.2}, virtual {:.2} Mb/s ({}), ratio {:.3}; 8 W_eff / RTT {bound}",
            if text.is_empty() { "" } else { "\n" },
            pair.rtt_ms,
            pair.window,
            pair.in_flight,
            pair.linux(),
            pair.virtually,
            pair.bound_by,
            pair.ratio(),
        );
    }
    text
}

/// Writes the points: `tcp-os.csv` and `tcp-os.svg`.
fn keep(folder: &Path, pairs: &[Pair]) -> Said<()> {
    let mut csv = "rtt_ms,window_bytes,in_flight_bytes,linux_mbps,linux_least_mbps,linux_most_mbps,virtual_mbps,bound_mbps,ratio\n".to_owned();
    for pair in pairs {
        let bound = pair.bound().map_or_else(String::new, |it| it.to_string());
        let _ = writeln!(
            csv,
            "{},{},{},{},{},{},{},{bound},{}",
            pair.rtt_ms,
            pair.window,
            pair.in_flight,
            pair.linux(),
            pair.linux[0],
            pair.linux[pair.linux.len() - 1],
            pair.virtually,
            pair.ratio(),
        );
    }
    let series = |label: &str, of: &dyn Fn(&Pair) -> Point| Series {
        label: label.to_owned(),
        points: pairs.iter().map(of).collect(),
        ..Series::default()
    };
    let linux = |pair: &Pair| Point {
        spread: Some((pair.linux[0], pair.linux[pair.linux.len() - 1])),
        ..Point::new(pair.rtt_ms as f64, pair.linux())
    };
    let axis = |label: &str, unit: &str| Axis { label: label.to_owned(), unit: unit.to_owned(), ..Axis::default() };
    let figure = Figure {
        title: "TCP in the OS: measured, and in virtual time".to_owned(),
        x: axis("round-trip delay", "ms"),
        y: axis("goodput", "Mb/s"),
        series: vec![
            series("Linux through kumiki delay", &linux),
            series("Kumiki in virtual time", &|pair| Point::new(pair.rtt_ms as f64, pair.virtually)),
        ],
        limits: Vec::new(),
        whose: "",
        caption: format!(
            "line {RATE}, MTU 1500, window {} octets; Linux: median, least and most of {}",
            pairs.first().map_or(0, |pair| pair.window),
            pairs.first().map_or(0, |pair| pair.linux.len()),
        ),
        ..Figure::default()
    };
    for (name, text) in [("tcp-os.csv", csv), ("tcp-os.svg", figure.to_svg())] {
        std::fs::create_dir_all(folder).map_err(when("KUMIKI_CURVE"))?;
        std::fs::write(folder.join(name), text).map_err(when(name))?;
    }
    Ok(())
}

/// The peer's process, in its own namespace.
pub(crate) fn peer() -> ExitCode {
    let acted = || -> Said<()> {
        without_ipv6()?;
        sysctl("tcp_window_scaling", "0")?;
        sysctl("tcp_rmem", &format!("4096 {BUFFER} {BUFFER}"))?;
        println!("begun");
        let mut lines = std::io::stdin().lines();
        let mut next = || -> Said<Option<String>> { lines.next().transpose().map_err(when("input")) };
        // "moved"
        next()?;
        let own: IpAddr = address(0, 2);
        needed(&format!("addr add {own}/{} dev d1", prefix()))?;
        needed("link set d1 up")?;
        let listener = TcpListener::bind((own, PORT)).map_err(when("bind"))?;
        println!("listening");
        while let Some(line) = next()? {
            let numbers = line.split_once(' ').and_then(|(from, to)| {
                let numbers: (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
                Some(numbers)
            });
            let (from, to) = numbers.ok_or("no numbers")?;
            println!("{}", measured(&mut accept(&listener)?, from, to)?);
        }
        Ok(())
    };
    match acted() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Reads all, and the rate from octet `from` to octet `to`, in Mb/s.
#[expect(
    clippy::disallowed_methods,
    reason = "Linux's TCP has no other time than that of the wall; it is told, not judged"
)]
fn measured(stream: &mut TcpStream, from: u64, to: u64) -> Said<f64> {
    let mut buffer = vec![0; 1 << 18];
    let (mut octets, mut first, mut last) = (0_u64, None, None);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => octets += read as u64,
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(format!("read after {octets} octets: {why}")),
        }
        let now = || (octets, Instant::now());
        if octets >= from && first.is_none() {
            first = Some(now());
        }
        if octets >= to && last.is_none() {
            last = Some(now());
        }
    }
    let both = first.zip(last).ok_or("the transfer ended too early")?;
    let ((from, began), (to, ended)) = both;
    let seconds = ended.duration_since(began).as_secs_f64();
    Ok((to - from) as f64 * 8.0 / 1e6 / seconds)
}
