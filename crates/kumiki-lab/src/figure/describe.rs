//! What a figure shows, in words: for who listens to it, or points at one of its values.

use kumiki_octets::text::counted;

use super::draw::title;
use super::scale::number;
use super::text::clean;
use super::{Axis, Figure, Point, Scale, Series, Shape};

/// The axes, and of each series how many points it has and between which values they are.
pub(super) fn describe(figure: &Figure) -> String {
    let (x, y) = (title(&figure.x), title(&figure.y));
    let axes = [("Across", x), ("Upwards", y)].into_iter().filter(|(_, name)| !name.is_empty());
    let axes = axes.map(|(way, name)| format!("{way}: {name}."));
    let series = figure.series.iter().filter_map(|series| match series.shape {
        Shape::Mark => of_times(series, &figure.x),
        Shape::Line | Shape::Curve | Shape::Scatter | Shape::Span | Shape::Bars | Shape::Stack => {
            of_series(series, &figure.y)
        }
    });
    let limits = figure.limits.iter();
    let limits = limits.map(|limit| format!("{}: {}.", clean(&limit.label), value(&figure.y, limit.y)));
    axes.chain(series).chain(limits).collect::<Vec<_>>().join(" ")
}

/// More times than these are not told in words.
const MOST_TIMES: usize = 20;

/// "Times link.line: at 5 s down; at 7 s up."
fn of_times(series: &Series, x: &Axis) -> Option<String> {
    let times = series.points.iter().take(MOST_TIMES);
    let times: Vec<String> = times.map(|it| format!("at {} {}", value(x, it.x), clean(&it.said))).collect();
    let more = series.points.len().saturating_sub(MOST_TIMES);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!times.is_empty()).then(|| format!("Times {}: {}{more}.", clean(&series.label), times.join("; ")))
}

fn of_series(series: &Series, axis: &Axis) -> Option<String> {
    let values = || series.points.iter().flat_map(|point| ends(point, series.shape)).filter(|y| y.is_finite());
    let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let what = match series.shape {
        Shape::Line | Shape::Curve => "Curve",
        Shape::Scatter => "Points",
        Shape::Span => "Spans",
        Shape::Bars => "Bars",
        Shape::Stack => "Parts of bars",
        Shape::Mark => "Times",
    };
    let count = series.points.iter().filter(|point| point.y.is_finite()).count();
    let label = clean(&series.label);
    let name = if label.is_empty() { what.to_owned() } else { format!("{what} {label}") };
    let range = if least < most { format!("{} to {}", number(least, 3), value(axis, most)) } else { value(axis, most) };
    Some(format!("{name}: {values}, {range}.", values = counted(count, "value")))
}

/// Between what a point is: of a span both ends, else its value.
fn ends(point: &Point, shape: Shape) -> [f64; 2] {
    let span = point.spread.filter(|_| shape == Shape::Span);
    span.map_or([point.y; 2], |(low, high)| [low, high])
}

/// What is said of a point: its series, where it is, its value, and what bound it.
pub(super) fn of_point(point: &Point, series: &Series, figure: &Figure) -> String {
    let label = clean(&series.label);
    let colon = if label.is_empty() { "" } else { ": " };
    if series.shape == Shape::Mark {
        return format!("{label}{colon}{} at {}", clean(&point.said), value(&figure.x, point.x));
    }
    let bound = if point.bound.is_empty() { String::new() } else { format!(", bound by {}", clean(&point.bound)) };
    let said = if point.said.is_empty() { String::new() } else { format!(", {}", clean(&point.said)) };
    let [low, high] = ends(point, series.shape);
    let from = if low < high { format!("{} to ", number(low, 3)) } else { String::new() };
    format!("{label}{colon}{from}{} at {}{bound}{said}", value(&figure.y, high), value(&figure.x, point.x))
}

/// "8 KiB", "133.4 Mb/s", "nagle".
fn value(axis: &Axis, value: f64) -> String {
    let unit = if axis.unit.is_empty() { String::new() } else { format!(" {}", clean(&axis.unit)) };
    match &axis.scale {
        Scale::Names(names) => {
            let name = names.iter().zip(0_u32..).find(|(_, place)| (f64::from(*place) - value).abs() < 0.5);
            name.map_or_else(|| number(value, 0), |(name, _)| clean(name))
        }
        Scale::Octets => super::scale::octets(value),
        Scale::Linear | Scale::Log2 | Scale::Log10 => format!("{}{unit}", number(value, 3)),
    }
}
