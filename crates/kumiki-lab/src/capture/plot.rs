//! Figures of traces.

use core::fmt::Write as _;

use super::trace::{RETRANSMITTED, Row};
use crate::figure::{Axis, Figure, Point, Scale, Series, Shape};

/// Places along the horizontal axis at which a curve is drawn; at each its lowest and highest values.
const COLUMNS: usize = 1000;

/// One value over time: for each row that has it.
fn points(rows: impl Iterator<Item = Row>, value: impl Fn(&Row) -> Option<u64>) -> Vec<Point> {
    let all = rows.filter_map(|row| Some(Point::new(seconds(row.at_ns), lossy(value(&row)?))));
    all.collect()
}

/// Integer nanoseconds are exact in an f64 up to 2^53: 104 days.
fn seconds(at_ns: u64) -> f64 {
    lossy(at_ns) / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "places in a figure, far below 2^53")]
const fn lossy(value: u64) -> f64 {
    value as f64
}

/// Leaves the lowest and the highest of many points that would be drawn at one of so many places.
pub(crate) fn thinned(points: Vec<Point>, columns: usize) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return points;
    };
    if points.len() <= 2 * columns {
        return points;
    }
    let (from, width) = (first.x, (last.x - first.x) / lossy(columns as u64));
    let mut kept: Vec<Point> = Vec::new();
    let mut rest = points.as_slice();
    let mut end = from;
    while !rest.is_empty() {
        end += width;
        let (column, others) = rest.split_at(rest.iter().take_while(|point| point.x <= end).count());
        rest = others;
        let lowest = column.iter().enumerate().min_by(|(_, a), (_, b)| a.y.total_cmp(&b.y));
        let highest = column.iter().enumerate().max_by(|(_, a), (_, b)| a.y.total_cmp(&b.y));
        if let (Some(low), Some(high)) = (lowest, highest) {
            let (one, other) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            kept.push(one.1.clone());
            if one.0 != other.0 {
                kept.push(other.1.clone());
            }
        }
        if width <= 0.0 {
            break;
        }
        // Rounding may leave the last points beyond the last column.
        if end > last.x {
            kept.extend_from_slice(rest);
            break;
        }
    }
    kept
}

fn curve(label: &str, points: Vec<Point>) -> Series {
    Series { label: label.to_owned(), shape: Shape::Curve, points: thinned(points, COLUMNS), paper: Vec::new() }
}

fn figure(title: &str, y: &str, series: Vec<Series>) -> Figure {
    let axis = |label: &str, unit: &str| Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        scale: Scale::Linear,
        range: None,
    };
    Figure {
        title: title.to_owned(),
        x: axis("time", "s"),
        y: axis(y, "octets"),
        series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
        limits: Vec::new(),
        caption: String::new(),
        ..Figure::default()
    }
}

pub(super) fn window<I: Iterator<Item = Row>>(name: &str, rows: impl Fn() -> I) -> Figure {
    let series = vec![
        curve("congestion window", points(rows(), |row| row.cwnd_octets)),
        curve("slow start threshold", points(rows(), |row| row.ssthresh_octets)),
        curve("receive window (rwnd)", points(rows(), |row| Some(row.snd_wnd_octets.into()))),
        curve("bytes in flight", points(rows(), |row| Some(row.flight_octets))),
    ];
    figure(&format!("{name}: windows"), "window", series)
}

pub(super) fn sequence<I: Iterator<Item = Row>>(name: &str, rows: impl Fn() -> I) -> Figure {
    let again = points(rows(), |row| (row.event == RETRANSMITTED).then_some(row.snd_una));
    let series = vec![
        curve("sent", points(rows(), |row| Some(row.snd_nxt))),
        curve("acknowledged", points(rows(), |row| Some(row.snd_una))),
        curve("window's right edge", points(rows(), |row| Some(edge(row)))),
        Series { label: RETRANSMITTED.to_owned(), shape: Shape::Scatter, points: again, paper: Vec::new() },
    ];
    figure(&format!("{name}: sequence numbers"), "octets of the connection", series)
}

fn edge(row: &Row) -> u64 {
    row.snd_una + u64::from(row.snd_wnd_octets)
}

/// xplot's text form: axes of plain numbers, one command to a line, the last one `go`.
pub(super) fn xpl(name: &str, rows: &[Row]) -> String {
    let mut out = format!("double double\ntitle\n{name}\nxlabel\ntime (s)\nylabel\nsequence number (octets)\n");
    for pair in rows.windows(2) {
        let [before, row] = pair else { continue };
        let (from, to) = (time(before.at_ns), time(row.at_ns));
        let mut line = |colour: &str, (x1, y1): (&str, u64), (x2, y2): (&str, u64)| {
            let _ = writeln!(out, "{colour}\nline {x1} {y1} {x2} {y2}");
        };
        if row.snd_nxt > before.snd_nxt {
            line("white", (&to, before.snd_nxt), (&to, row.snd_nxt));
        }
        if row.event == RETRANSMITTED {
            line("red", (&to, row.snd_una), (&to, row.snd_nxt));
        }
        for (colour, old, new) in [("green", before.snd_una, row.snd_una), ("yellow", edge(before), edge(row))] {
            line(colour, (&from, old), (&to, old));
            if new != old {
                line(colour, (&to, old), (&to, new));
            }
        }
    }
    out.push_str("go\n");
    out
}

/// Seconds with all nanoseconds.
fn time(at_ns: u64) -> String {
    format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000)
}
