//! The time-sequence plot of a connection, as Shepard (MIT, 1990) drew it and tcptrace does: what is sent as upright
//! lines from its first octet to its last, what is acknowledged as a staircase below, the window's right edge as one
//! above.
//!
//! It shows the way on which more octets went. Octets are counted from the first one, over the end of sequence numbers.

use std::net::SocketAddr;

use kumiki_octets::text::counted;

use super::segment::Segment;
use crate::figure::{Axis, Figure, Point, Series, Shape};

/// A figure, and what a reader should know of it.
pub(super) struct NotedFigure {
    pub(super) figure: Figure,
    pub(super) notes: Vec<String>,
}

/// The series of the plot.
#[derive(Default)]
struct Curves {
    sent: Vec<Point>,
    again: Vec<Point>,
    acknowledged: Vec<Point>,
    edge: Vec<Point>,
    sack: Vec<Point>,
    marks: Vec<Point>,
}

/// Above this, times are in seconds.
const LONG_NS: i128 = 10_000_000_000;

impl NotedFigure {
    pub(super) fn of(segments: &[Segment]) -> Self {
        let Some((first, (from, to))) = segments.first().zip(way(segments)) else {
            return Self { figure: Figure::default(), notes: Vec::new() };
        };
        let span = segments.last().map_or(0, |last| last.at_ns - first.at_ns);
        let (unit, per_unit) = if span > LONG_NS { ("s", 1e9) } else { ("ms", 1e6) };
        let shift = shift(segments, (from, to));
        let curves = Curves::of(segments, (from, to), shift, per_unit);
        let octets = |from: SocketAddr| -> u64 {
            segments
                .iter()
                .filter(|it| it.ends.is_some_and(|(source, _)| source == from))
                .map(|it| u64::from(it.len))
                .sum()
        };
        let mut notes = Vec::new();
        if shift.is_none() {
            notes.push(
                "The window's edge is not drawn: without both SYNs nothing says what its numbers count.".to_owned(),
            );
        }
        let back = octets(to);
        if back > 0 {
            notes.push(format!(
                "The other way went {octets}, which the figure does not have.",
                octets = counted(back, "octet")
            ));
        }
        let axis = |label: &str, unit: &str| Axis { label: label.to_owned(), unit: unit.to_owned(), ..Axis::default() };
        let figure = Figure {
            title: format!("{from} to {to}"),
            x: axis("time", unit),
            y: axis("octets of the connection", "octets"),
            series: curves.series(),
            caption: format!(
                "{} were sent, {} seen.",
                counted(octets(from), "octet"),
                counted(segments.len(), "packet")
            ),
            ..Figure::default()
        };
        Self { figure, notes }
    }
}

/// The way on which more octets went; where none did, that of the first segment.
fn way(segments: &[Segment]) -> Option<(SocketAddr, SocketAddr)> {
    let (source, destination) = segments.first()?.ends?;
    let (mut there, mut back) = (0_u64, 0_u64);
    for segment in segments {
        let is_there = segment.ends.is_some_and(|(from, _)| from == source);
        *(if is_there { &mut there } else { &mut back }) += u64::from(segment.len);
    }
    Some(if back > there { (destination, source) } else { (source, destination) })
}

/// By how many bits the windows of the receiver are shifted: known where both SYNs are there, and none where one of
/// them has no shift count (RFC 7323 section 2.2).
fn shift(segments: &[Segment], (from, to): (SocketAddr, SocketAddr)) -> Option<u32> {
    let of = |end: SocketAddr| {
        let mut syns = segments.iter().filter(|it| it.syn && it.ends.is_some_and(|(source, _)| source == end));
        syns.next().map(|syn| syn.shift)
    };
    let (sender, receiver) = (of(from)?, of(to)?);
    Some(sender.and(receiver).unwrap_or(0))
}

/// A sequence number that does not wrap around.
struct Count {
    last: u32,
    at: i64,
}

impl Count {
    fn to(&mut self, seq: u32) -> i64 {
        let distance = i64::from(seq.wrapping_sub(self.last).cast_signed());
        (self.last, self.at) = (seq, self.at.saturating_add(distance));
        self.at
    }
}

impl Curves {
    fn of(segments: &[Segment], (from, _): (SocketAddr, SocketAddr), shift: Option<u32>, per_unit: f64) -> Self {
        let mut curves = Self::default();
        let is_ours = |segment: &Segment| segment.ends.is_some_and(|(source, _)| source == from);
        let Some(first) = segments.iter().find(|it| is_ours(it)) else {
            return curves;
        };
        // SYN takes a number of its own, in front of the data.
        let start = first.seq.wrapping_add(u32::from(first.syn));
        let (mut sent, mut acked) = (Count { last: start, at: 0 }, Count { last: start, at: 0 });
        let mut highest = 0_i64;
        for segment in segments {
            let x = lossy(segment.at_ns) / per_unit;
            let said = format!("packet {}", segment.number);
            if is_ours(segment) {
                let low = sent.to(segment.seq).saturating_add(i64::from(segment.syn));
                let high = low.saturating_add(segment.len.into());
                for (is_set, word) in [(segment.syn, "SYN"), (segment.fin, "FIN"), (segment.reset, "RST")] {
                    if is_set {
                        let said = format!("{word}, {said}");
                        curves.marks.push(Point { said, ..Point::new(x, lossy(high)) });
                    }
                }
                if segment.len > 0 {
                    let curve = if low < highest { &mut curves.again } else { &mut curves.sent };
                    curve.push(span(x, (low, high), &said));
                    highest = highest.max(high);
                }
                continue;
            }
            let Some(ack) = segment.ack else {
                continue;
            };
            let at = acked.to(ack);
            let edges: Vec<(i64, i64)> = segment
                .sack
                .iter()
                .map(|(left, right)| {
                    let near = |seq: u32| at.saturating_add(seq.wrapping_sub(ack).cast_signed().into());
                    (near(*left), near(*right))
                })
                .collect();
            curves.sack.extend(edges.into_iter().map(|edges| span(x, edges, &said)));
            step(&mut curves.acknowledged, x, lossy(at));
            // The window of a SYN is never shifted.
            let bits = if segment.syn { Some(0) } else { shift };
            if let Some(window) = shift.and(bits).and_then(|bits| segment.window.checked_shl(bits)) {
                step(&mut curves.edge, x, lossy(at.saturating_add(window.into())));
            }
        }
        curves
    }

    fn series(self) -> Vec<Series> {
        let series = |label: &str, shape, points| Series { label: label.to_owned(), shape, points, paper: Vec::new() };
        let all = [
            series("sent", Shape::Span, self.sent),
            series("retransmitted", Shape::Span, self.again),
            series("acknowledged selectively (SACK)", Shape::Span, self.sack),
            series("acknowledged", Shape::Curve, self.acknowledged),
            series("window's right edge", Shape::Curve, self.edge),
            series("SYN, FIN, RST", Shape::Scatter, self.marks),
        ];
        all.into_iter().filter(|series| !series.points.is_empty()).collect()
    }
}

fn span(x: f64, (low, high): (i64, i64), said: &str) -> Point {
    Point { spread: Some((lossy(low), lossy(high))), said: said.to_owned(), ..Point::new(x, lossy(high)) }
}

/// Goes on with a staircase: level up to `x`, then to `y`.
fn step(curve: &mut Vec<Point>, x: f64, y: f64) {
    if let Some(last) = curve.last() {
        let level = last.y;
        curve.push(Point::new(x, level));
    }
    curve.push(Point::new(x, y));
}

#[expect(clippy::cast_precision_loss, reason = "places in a figure, far below 2^53")]
fn lossy(value: impl Into<i128>) -> f64 {
    let value: i128 = value.into();
    value as f64
}
