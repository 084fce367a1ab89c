//! What crossed the path over time, as a page that stands alone.
//!
//! The path is asked for what it has counted every tenth of a second; a run of which that would be too much for a page
//! is asked half as often, again and again. What it is set to is asked as well, and since when, so that changes have
//! their marks, whoever has made them. Times are those of the schedule.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use kumiki_delay::Command;
use kumiki_delay::CommandSender;
use kumiki_graph::{Duration, Instant};
use kumiki_io::{Clock as _, RealClock};
use kumiki_lab::figure::{Axis, Figure, Point, Series, Shape};
use kumiki_lab::page::{Page, Part, PointSeries};
use kumiki_lab::table::{Cell, Table};
use kumiki_live::private;
use kumiki_octets::text::counted;
use serde_json::Value;

use crate::WAYS;

/// How often it is looked at first.
const INTERVAL: Duration = Duration::from_millis(100);

/// The most times that are kept: more than a figure can show apart.
const MOST: usize = 1200;

/// The most rows of a table of values.
const ROWS: usize = 100;

/// What one direction has counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counted {
    octets_out: f64,
    packets_in: f64,
    packets_out: f64,
    lost: f64,
    dropped: f64,
    queue: f64,
    queue_most: f64,
    delay_ms: f64,
    delay_p99_ms: f64,
}

impl Counted {
    fn of(told: &Value) -> Self {
        let number = |key: &str| told.get(key).and_then(Value::as_f64).unwrap_or_default();
        let delay = told.get("delay_measured").cloned().unwrap_or_default();
        let time = |key: &str| delay.get(key).and_then(Value::as_f64).unwrap_or_default();
        Self {
            octets_out: number("octets_out"),
            packets_in: number("packets_in"),
            packets_out: number("packets_out"),
            lost: number("lost"),
            dropped: number("dropped") + number("no_room") + number("overflowed"),
            queue: number("queue_packets"),
            queue_most: number("queue_packets_max"),
            delay_ms: time("mean_ms"),
            delay_p99_ms: time("p99_ms"),
        }
    }

    /// What has been counted since `before`; all of it where somebody has had counting start over.
    fn since(&self, before: &Self) -> Self {
        let before = if self.packets_in < before.packets_in { &Self::default() } else { before };
        let packets_out = self.packets_out - before.packets_out;
        let delays = self.delay_ms * self.packets_out - before.delay_ms * before.packets_out;
        Self {
            octets_out: self.octets_out - before.octets_out,
            packets_in: self.packets_in - before.packets_in,
            packets_out,
            lost: self.lost - before.lost,
            dropped: self.dropped - before.dropped,
            // The mean of those of the interval alone.
            delay_ms: if packets_out > 0.0 { (delays / packets_out).max(0.0) } else { f64::NAN },
            ..*self
        }
    }
}

/// The path at one time.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    /// Seconds since the beginning.
    at: f64,
    ways: [Counted; 2],
}

/// What was seen of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunSamples {
    samples: Vec<Sample>,
    /// What the path was set to, from which times on.
    settings: Vec<(f64, String)>,
}

impl RunSamples {
    fn take(&mut self, asking: &CommandSender, at: f64) {
        let Some(Ok(told)) = asking.ask(Command::Stats { json: true }, true) else {
            return;
        };
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        let ways = WAYS.map(|way| Counted::of(told.get(way).unwrap_or(&Value::Null)));
        self.samples.push(Sample { at, ways });
        let Some(Ok(told)) = asking.ask(Command::Settings, true) else {
            return;
        };
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        let way = |way: &str| format!("{way} {}", told.get(way).and_then(Value::as_str).unwrap_or_default());
        let settings = WAYS.map(way).join("\n");
        if self.settings.last().is_none_or(|(_, last)| *last != settings) {
            let changed = told.get("changed_seconds").and_then(Value::as_f64);
            self.settings.push((changed.unwrap_or(at), settings));
        }
    }

    /// Keeps every second sample, and the last.
    fn thin(&mut self) {
        let mut number = 0_usize;
        self.samples.retain(|_| {
            number += 1;
            number.is_multiple_of(2)
        });
    }

    /// What was counted between two samples, by the end of that time and with how long it is.
    fn intervals(&self) -> impl Iterator<Item = (f64, f64, [Counted; 2])> {
        self.samples.windows(2).filter_map(|pair| {
            let [before, now] = pair else { return None };
            let mut ways = now.ways;
            for (way, before) in ways.iter_mut().zip(&before.ways) {
                *way = way.since(before);
            }
            Some((now.at, now.at - before.at, ways))
        })
    }

    /// The changes after the beginning, of each only what is new.
    fn changes(&self) -> impl Iterator<Item = (f64, String)> {
        self.settings.windows(2).filter_map(|pair| {
            let [(_, before), (at, now)] = pair else { return None };
            let new: Vec<&str> = now.lines().filter(|line| !before.lines().any(|it| it == *line)).collect();
            Some((*at, new.join("; ")))
        })
    }
}

/// Looks at a path until it is told to end.
pub(crate) struct Sampling {
    ends: Sender<()>,
    thread: JoinHandle<RunSamples>,
}

impl Sampling {
    /// From now on.
    ///
    /// # Errors
    /// Where the process may have no more threads.
    pub(crate) fn start(asking: CommandSender, clock: RealClock) -> io::Result<Self> {
        let (ends, ended) = channel();
        let thread = thread::Builder::new().name("report".to_owned()).spawn(move || {
            let (mut seen, mut interval) = (RunSamples::default(), INTERVAL);
            let seconds = || clock.now().saturating_since(Instant::ZERO).as_secs_f64();
            loop {
                seen.take(&asking, seconds());
                if seen.samples.len() > MOST {
                    seen.thin();
                    interval = interval + interval;
                }
                let now = clock.now();
                let wait = next_look(now, interval).saturating_since(now).as_nanos();
                if ended.recv_timeout(core::time::Duration::from_nanos(wait)) != Err(RecvTimeoutError::Timeout) {
                    seen.take(&asking, seconds());
                    return seen;
                }
            }
        })?;
        Ok(Self { ends, thread })
    }

    /// Ends it. Returns what was seen, to the present time.
    pub(crate) fn end(self) -> RunSamples {
        // Where the thread has ended, nobody listens.
        let _ = self.ends.send(());
        self.thread.join().unwrap_or_default()
    }
}

/// The next multiple of `interval`, so that times are round and none is late for those before it.
fn next_look(now: Instant, interval: Duration) -> Instant {
    let past = now.as_nanos() % interval.as_nanos().max(1);
    now + interval - Duration::from_nanos(past)
}

/// Writes the page about `program`, which has ended with `status`.
///
/// # Errors
/// Where the file cannot be made or written.
pub(crate) fn write(path: &Path, program: &str, status: u8, seen: &RunSamples) -> io::Result<()> {
    let page = page(program, status, seen);
    private::create(path)?.write_all(page.to_html().as_bytes())
}

fn page(program: &str, status: u8, seen: &RunSamples) -> Page {
    let part = Part {
        name: "path".to_owned(),
        title: "The path".to_owned(),
        glance: glance(status, seen),
        courses: vec![course(seen)],
        points: 1,
        ..Part::default()
    };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let provenance = [("program", program.to_owned()), ("made by", format!("kumiki link {version}"))];
    Page {
        title: format!("{} behind an emulated path", short(program)),
        parts: vec![part],
        provenance: provenance.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        ..Page::default()
    }
}

/// What fits into a heading.
fn short(program: &str) -> String {
    const MOST: usize = 60;
    if program.chars().count() <= MOST {
        return program.to_owned();
    }
    let start: String = program.chars().take(MOST).collect();
    format!("{}…", start.trim_end())
}

/// Each direction in a few lines.
fn glance(status: u8, seen: &RunSamples) -> Vec<(String, String)> {
    let took = seen.samples.last().zip(seen.samples.first()).map_or(0.0, |(last, first)| last.at - first.at);
    let mut lines = vec![("run".to_owned(), format!("{took:.1} s, exit status {status}"))];
    let first = seen.settings.first().map(|(_, text)| text.as_str()).unwrap_or_default();
    for (way, name) in WAYS.iter().enumerate() {
        let set = first.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        lines.push((format!("{name}, at first"), set.to_owned()));
        let total = seen.samples.last().and_then(|last| last.ways.get(way)).copied().unwrap_or_default();
        lines.push(((*name).to_owned(), said(&total, took)));
    }
    lines
}

fn said(total: &Counted, took: f64) -> String {
    let mut text = String::new();
    let megabits = if took > 0.0 { total.octets_out * 8.0 / took / 1e6 } else { 0.0 };
    let _ = write!(
        text,
        "{} of {} arrived, {:.3} MB, {megabits:.2} Mb/s on average",
        total.packets_out,
        counted(total.packets_in, "packet"),
        total.octets_out / 1e6
    );
    for (count, what) in [(total.lost, "lost"), (total.dropped, "dropped by the queue")] {
        if count > 0.0 {
            let _ = write!(text, "; {count} {what} ({:.2} %)", count * 100.0 / total.packets_in.max(1.0));
        }
    }
    if total.packets_out > 0.0 {
        let _ =
            write!(text, "; in transit for {:.1} ms in the mean, {:.1} ms at 99 %", total.delay_ms, total.delay_p99_ms);
    }
    if total.queue_most > 0.0 {
        let _ = write!(text, "; at most {} in the queue", total.queue_most);
    }
    text
}

/// One curve of a figure: what of which direction, and its name.
type Curve = (&'static str, fn(&Counted, f64) -> f64);

fn course(seen: &RunSamples) -> PointSeries {
    let rate: [Curve; 1] = [("", |it, took| it.octets_out * 8.0 / took.max(1e-9) / 1e6)];
    let queue: [Curve; 1] = [("", |it, _| it.queue)];
    let delay: [Curve; 1] = [("", |it, _| it.delay_ms)];
    let losses: [Curve; 2] = [(" lost", |it, _| it.lost), (" dropped by the queue", |it, _| it.dropped)];
    let changes: Vec<(f64, String)> = seen.changes().collect();
    let figures = [
        ("Rate of what arrives", "rate", "Mb/s", &rate[..]),
        ("Packets in the queue", "packets", "", &queue),
        ("Mean one-way delay", "time", "ms", &delay),
        ("Packets that do not arrive", "packets", "", &losses),
    ];
    let figures = figures.into_iter().filter_map(|(title, label, unit, curves)| {
        let figure = figure(seen, &changes, (title, label, unit), curves)?;
        let table = table(&figure);
        Some((figure, table))
    });
    let notes = changes.iter().map(|(at, what)| format!("At {at:.1} s: {what}."));
    PointSeries { place: String::new(), notes: notes.collect(), figures: figures.collect() }
}

/// `None` where all of it is nothing.
fn figure(
    seen: &RunSamples,
    changes: &[(f64, String)],
    (title, label, unit): (&str, &str, &str),
    curves: &[Curve],
) -> Option<Figure> {
    let mut series = Vec::new();
    for (way, name) in WAYS.iter().enumerate() {
        for (what, value) in curves {
            let points = seen.intervals().filter_map(|(at, took, ways)| {
                let y = value(ways.get(way)?, took);
                y.is_finite().then(|| Point::new(at, y))
            });
            let points: Vec<Point> = points.collect();
            if points.iter().any(|point| point.y > 0.0) {
                series.push(Series { label: format!("{name}{what}"), shape: Shape::Curve, points, paper: Vec::new() });
            }
        }
    }
    if series.is_empty() {
        return None;
    }
    if !changes.is_empty() {
        let points = changes.iter().map(|(at, what)| Point { said: what.clone(), ..Point::new(*at, 0.0) });
        let label = "changes of the path".to_owned();
        series.push(Series { label, shape: Shape::Mark, points: points.collect(), paper: Vec::new() });
    }
    let axis = |label: &str, unit: &str| Axis { label: label.to_owned(), unit: unit.to_owned(), ..Axis::default() };
    Some(Figure { title: title.to_owned(), x: axis("time", "s"), y: axis(label, unit), series, ..Figure::default() })
}

/// The values of a figure, of several in a row their mean.
fn table(figure: &Figure) -> Table {
    let curves: Vec<&Series> = figure.series.iter().filter(|series| series.shape != Shape::Mark).collect();
    let mut by_time: BTreeMap<u64, Vec<Option<f64>>> = BTreeMap::new();
    for (column, curve) in curves.iter().enumerate() {
        for point in &curve.points {
            // Times are not below zero, so their bits are in their order.
            let row = by_time.entry(point.x.to_bits()).or_insert_with(|| vec![None; curves.len()]);
            if let Some(cell) = row.get_mut(column) {
                *cell = Some(point.y);
            }
        }
    }
    let all: Vec<(u64, Vec<Option<f64>>)> = by_time.into_iter().collect();
    let rows = all.chunks(all.len().div_ceil(ROWS).max(1)).filter_map(|chunk| {
        let (until, _) = chunk.last()?;
        let mean = |column: usize| {
            let values: Vec<f64> = chunk.iter().filter_map(|(_, row)| row.get(column).copied().flatten()).collect();
            let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
            if count == 0 { Cell::empty() } else { Cell::number(values.iter().sum::<f64>() / f64::from(count), 2) }
        };
        Some((format!("{:.1}", f64::from_bits(*until)), (0..curves.len()).map(mean).collect()))
    });
    let unit = if figure.y.unit.is_empty() { String::new() } else { format!(" ({})", figure.y.unit) };
    Table {
        title: format!("{}{unit}", figure.title),
        corner: "until (s)".to_owned(),
        columns: curves.iter().map(|curve| curve.label.clone()).collect(),
        rows: rows.collect(),
        legend: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counted(units: f64, delay_ms: f64) -> Counted {
        Counted {
            octets_out: units * 1250.0,
            packets_in: units + 1.0,
            packets_out: units,
            lost: 1.0,
            delay_ms,
            ..Counted::default()
        }
    }

    fn seen() -> RunSamples {
        let sample = |at, units, delay| Sample { at, ways: [Counted::default(), counted(units, delay)] };
        RunSamples {
            samples: vec![sample(0.0, 0.0, 0.0), sample(1.0, 100.0, 10.0), sample(2.0, 300.0, 20.0)],
            settings: vec![
                (0.0, "up clear\ndown rate 1 Mb/s".to_owned()),
                (1.5, "up clear\ndown rate 2 Mb/s <b>".to_owned()),
            ],
        }
    }

    #[test]
    fn what_is_counted_in_all_becomes_what_there_was_in_each_interval() {
        let rows: Vec<_> =
            seen().intervals().map(|(at, took, [_, down])| (at, took, down.packets_out, down.delay_ms)).collect();
        // 300 at 20 ms, of which 100 took 10 ms: the others took 25 ms.
        assert_eq!(rows, [(1.0, 1.0, 100.0, 10.0), (2.0, 1.0, 200.0, 25.0)]);
        // Somebody has had counting start over.
        let down = counted(5.0, 3.0).since(&counted(100.0, 10.0));
        assert_eq!((down.packets_out, down.delay_ms), (5.0, 3.0));
        // Nothing has arrived.
        assert!(counted(5.0, 3.0).since(&counted(5.0, 3.0)).delay_ms.is_nan());
    }

    #[test]
    fn the_page_has_the_figures_their_values_and_what_has_changed() {
        let seen = seen();
        let html = page("curl <x>", 7, &seen).to_html();
        for part in [
            "curl &lt;x&gt; behind an emulated path",
            "2.0 s, exit status 7",
            "300 of 301 packets arrived, 0.375 MB, 1.50 Mb/s on average; 1 lost (0.33 %)",
            "Rate of what arrives",
            "Mean one-way delay",
            "At 1.5 s: down rate 2 Mb/s &lt;b&gt;.",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // Nothing waited, so there is no figure of the queue.
        assert!(!html.contains("Packets in the queue"));
        assert_eq!(page("curl <x>", 7, &seen).to_html(), html);
    }

    #[test]
    fn a_long_command_is_cut_in_the_heading_alone() {
        let program = "x ".repeat(100);
        let html = page(&program, 0, &seen()).to_html();
        assert!(html.contains(&format!("<h1>{}… behind", "x ".repeat(30).trim_end())) && html.contains(&program));
    }

    /// Whenever it is looked.
    #[test]
    fn a_change_is_marked_when_it_was_made() {
        let (asking, asked) = CommandSender::new(kumiki_io::Bell::default(), Command::parse);
        let path = thread::spawn(move || {
            let mut changes = [(0.0, "clear"), (1.0, "rate 2 Mb/s"), (1.0, "rate 2 Mb/s")].into_iter();
            while let Ok(kumiki_delay::CommandRequest { command, answer, .. }) = asked.recv() {
                let told = if command == Command::Settings {
                    let (at, down) = changes.next().unwrap();
                    json!({ "event": "settings", "up": "clear", "down": down, "changed_seconds": at }).to_string()
                } else {
                    "{}".to_owned()
                };
                answer.send(Ok(told)).unwrap();
            }
        });
        let mut seen = RunSamples::default();
        for at in [0.03, 1.07, 1.17] {
            seen.take(&asking, at);
        }
        drop(asking);
        path.join().unwrap();
        assert_eq!(seen.changes().collect::<Vec<_>>(), [(1.0, "down rate 2 Mb/s".to_owned())]);
    }

    #[test]
    fn it_is_looked_at_round_times() {
        let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
        for (now, next) in [(0, 100), (43, 100), (100, 200), (749, 800), (1234, 1300)] {
            assert_eq!(next_look(ms(now), Duration::from_millis(100)), ms(next));
        }
    }

    #[test]
    fn a_long_run_is_kept_in_bounds() {
        let mut seen = RunSamples::default();
        for number in 0..10_u32 {
            seen.samples.push(Sample { at: f64::from(number), ways: Default::default() });
        }
        seen.thin();
        let times: Vec<f64> = seen.samples.iter().map(|it| it.at).collect();
        assert_eq!(times, [1.0, 3.0, 5.0, 7.0, 9.0]);
    }
}
