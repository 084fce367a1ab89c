//! The series themselves: lines, bars, markers and the paper's points.

use svg::Node;
use svg::node::element::{Circle, Element, Group, Line, Path, Polyline, Rectangle, Title};

use super::describe::of_point;
use super::draw::{Plot, at, line, stroke, words};
use super::palette::{COLOURS, NEUTRAL};
use super::scale::number;
use super::text::{clean, width, wrap};
use super::{Figure, Scale, Series, Shape};

/// So many shapes of markers there are: more than colours, so that neither comes again beside the same other one.
const MARKERS: usize = 8;

/// An upright cross.
const CROSS: [(f64, f64); 12] = [
    (-0.4, -1.35),
    (0.4, -1.35),
    (0.4, -0.4),
    (1.35, -0.4),
    (1.35, 0.4),
    (0.4, 0.4),
    (0.4, 1.35),
    (-0.4, 1.35),
    (-0.4, 0.4),
    (-1.35, 0.4),
    (-1.35, -0.4),
    (-0.4, -0.4),
];

/// A star of five points.
const STAR: [(f64, f64); 10] = [
    (0.0, -1.6),
    (0.38, -0.52),
    (1.52, -0.49),
    (0.62, 0.2),
    (0.94, 1.29),
    (0.0, 0.65),
    (-0.94, 1.29),
    (-0.62, 0.2),
    (-1.52, -0.49),
    (-0.38, -0.52),
];

/// Between two lines of a hatch.
const HATCH: f64 = 7.0;

/// What tells one series from the others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pen {
    index: usize,
    /// Drawn with gaps and smaller markers.
    broken: bool,
}

/// The pens of all series. Broken are those that run over an earlier one, which would else be hidden, and those that
/// use a colour for the second time.
pub(super) fn pens(figure: &Figure, plot: &Plot) -> Vec<Pen> {
    // Longer series are curves of samples, which do not meet point by point.
    const LONGEST: usize = 300;
    let places: Vec<Vec<(f64, f64)>> = figure
        .series
        .iter()
        .map(|s| if is_apart(s.shape) { &[] } else { s.points.as_slice() })
        .map(|points| points.iter().take(LONGEST).filter_map(|p| plot.inside(p.x, p.y)).collect())
        .collect();
    let meet = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).abs() < 4.0 && (a.1 - b.1).abs() < 4.0;
    places
        .iter()
        .enumerate()
        .map(|(index, own)| {
            let covers =
                |earlier: &Vec<(f64, f64)>| own.iter().filter(|a| earlier.iter().any(|b| meet(a, b))).count() > 1;
            Pen { index, broken: index >= COLOURS.len() || places.iter().take(index).any(covers) }
        })
        .collect()
}

/// Whether what is drawn has a look of its own, over which a line need not be broken.
const fn is_apart(shape: Shape) -> bool {
    matches!(shape, Shape::Bars | Shape::Stack | Shape::Span | Shape::Mark)
}

impl Pen {
    pub(super) fn colour(self) -> &'static str {
        self.index.checked_rem(COLOURS.len()).and_then(|n| COLOURS.get(n)).copied().unwrap_or(NEUTRAL)
    }

    /// Another one for each time that a colour comes again, and for the second of two blues, which would be one where
    /// there are no markers.
    pub(super) fn dashes(self) -> &'static str {
        const SKY_BLUE: usize = 5;
        match (self.index.checked_div(COLOURS.len()), self.index.checked_rem(COLOURS.len())) {
            (Some(0), Some(SKY_BLUE)) => "14 4 2 4",
            (Some(1), Some(SKY_BLUE)) => "14 4 2 4 2 4",
            (Some(2), Some(SKY_BLUE)) => "14 4 2 4 2 4 2 4",
            (Some(1), _) => "5 4",
            (Some(2), _) => "2 3",
            _ if self.broken => "9 7",
            _ => "none",
        }
    }

    /// A group of what belongs to the series, which a page can colour and hide by its classes: `sN` is the series, `cN`
    /// its colour.
    pub(super) fn group(self, class: &str) -> Group {
        let colour = self.index.checked_rem(COLOURS.len()).unwrap_or(0);
        Group::new().set("class", format!("{class} s{} c{colour}", self.index))
    }

    /// The line or the bars of a series.
    pub(super) fn shape(self, series: &Series, figure: &Figure, plot: &Plot, bars: &Bars) -> Group {
        let group = self.group("series");
        let places = series.points.iter().filter_map(|p| Some((p, plot.place(p.x, p.y)?)));
        match series.shape {
            Shape::Scatter => group,
            // There may be thousands of them, so what they have in common is said once.
            Shape::Span => series.points.iter().fold(self.stroked(group), |group, point| {
                let ends = point.spread.and_then(|(low, high)| Some((plot.down(low)?, plot.down(high)?)));
                let Some((x, (low, high))) = plot.across(point.x).zip(ends) else {
                    return group;
                };
                let span = line(x, low, x, high).set("class", "ln pt");
                group.add(span.add(Title::new(of_point(point, series, figure))))
            }),
            Shape::Mark => series.points.iter().filter(|point| plot.x.holds(point.x)).fold(group, |group, point| {
                let Some(x) = plot.across(point.x) else {
                    return group;
                };
                let upright = self.when(x, plot.top, plot.bottom).set("class", "ln pt when");
                group.add(upright.add(Title::new(of_point(point, series, figure))))
            }),
            Shape::Line | Shape::Curve => {
                let points: Vec<String> = places.map(|(_, (x, y))| format!("{},{}", at(x), at(y))).collect();
                let curve = Polyline::new()
                    .set("points", points.join(" "))
                    .set("class", "ln")
                    .set("fill", "none")
                    .set("stroke", self.colour())
                    .set("stroke-width", "2.5")
                    .set("stroke-linejoin", "round")
                    .set("stroke-dasharray", self.dashes());
                group.add(curve)
            }
            Shape::Stack => series.points.iter().fold(group, |group, point| {
                let low = foot(figure, self.index, point.x);
                let ends = plot.place(point.x, low).zip(plot.place(point.x, low + point.y));
                let Some(((x, below), (_, above))) = ends.filter(|_| point.y > 0.0) else {
                    return group;
                };
                let (top, foot) = (above.max(plot.top - 9.0), below.min(plot.bottom + 9.0));
                let bar = self.bar(x + bars.left(), top, bars.width, (foot - top).max(0.0));
                group.add(bar.set("class", "pt").add(Title::new(of_point(point, series, figure))))
            }),
            Shape::Bars => {
                let zero = plot.down(0.0).unwrap_or(plot.bottom);
                places.fold(group, |group, (point, (x, y))| {
                    let left = x + bars.shift(self.index) - bars.width / 2.0 + 1.0;
                    // What is far outside is cut off here, so that its hatch has an end.
                    let (top, foot) = (y.min(zero).max(plot.top - 9.0), y.max(zero).min(plot.bottom + 9.0));
                    let bar = self.bar(left, top, (bars.width - 2.0).max(1.0), (foot - top).max(0.0));
                    group.add(bar.set("class", "pt").add(Title::new(of_point(point, series, figure))))
                })
            }
        }
    }

    /// A span, thin, thick or with gaps, so that it is not known by its colour alone.
    pub(super) fn upright(self, x: f64, y1: f64, y2: f64) -> Line {
        let (width, dashes) = self.thickness();
        stroke(line(x, y1, x, y2), self.colour(), width).set("stroke-dasharray", dashes)
    }

    /// A group of spans.
    fn stroked(self, group: Group) -> Group {
        let (width, dashes) = self.thickness();
        group.set("stroke", self.colour()).set("stroke-width", width).set("stroke-dasharray", dashes)
    }

    const fn thickness(self) -> (f64, &'static str) {
        match self.index % 3 {
            1 => (4.0, "none"),
            2 => (2.5, "3 2"),
            _ => (2.0, "none"),
        }
    }

    /// A time at which something happened.
    pub(super) fn when(self, x: f64, y1: f64, y2: f64) -> Line {
        stroke(line(x, y1, x, y2), self.colour(), 2.0).set("stroke-dasharray", "3 5")
    }

    /// A bar with a hatch of its own, so that it is not known by its colour alone.
    pub(super) fn bar(self, x: f64, y: f64, width: f64, height: f64) -> Group {
        let face = Rectangle::new()
            .set("x", at(x))
            .set("y", at(y))
            .set("width", at(width))
            .set("height", at(height))
            .set("class", "br")
            .set("fill", self.colour())
            .set("fill-opacity", "0.3")
            .set("stroke", self.colour())
            .set("stroke-width", "1.5");
        let lines: Vec<String> = hatch(self.index, width, height)
            .into_iter()
            .map(|(x1, y1, x2, y2)| format!("M{} {}L{} {}", at(x + x1), at(y + y1), at(x + x2), at(y + y2)))
            .collect();
        let group = Group::new().add(face);
        if lines.is_empty() {
            return group;
        }
        group.add(
            Path::new()
                .set("d", lines.concat())
                .set("class", "ln")
                .set("stroke", self.colour())
                .set("stroke-width", "1.2"),
        )
    }

    /// Error bars and markers of a series; each says its values where a reader points at it.
    pub(super) fn points(self, series: &Series, figure: &Figure, plot: &Plot, bars: &Bars) -> Group {
        let mut group = self.group("series");
        for point in &series.points {
            let Some((x, y)) = plot.inside(point.x, point.y) else {
                continue;
            };
            let x = x + bars.shift(self.index);
            let is_drawn = series.shape == Shape::Span;
            let ends = point.spread.filter(|_| !is_drawn);
            // What has no place on a logarithmic axis is below everything that has one.
            let ends = ends.and_then(|(low, high)| Some((plot.down(low).unwrap_or(f64::INFINITY), plot.down(high)?)));
            if let Some((low, high)) = ends {
                let is_open = low > plot.bottom + 0.5;
                let (low, high) = (low.clamp(plot.top, plot.bottom), high.clamp(plot.top, plot.bottom));
                let x = x + beside(figure, self.index);
                let is_bar = matches!(series.shape, Shape::Bars | Shape::Stack);
                let (ink, class) = if is_bar { (NEUTRAL, "frame") } else { (self.colour(), "ln") };
                let foot = Some((x - 6.0, low, x + 6.0, low)).filter(|_| !is_open);
                let rest = [(x, low, x, high), (x - 6.0, high, x + 6.0, high)];
                for (x1, y1, x2, y2) in rest.into_iter().chain(foot) {
                    group = group.add(stroke(line(x1, y1, x2, y2), ink, 1.5).set("class", class));
                }
            }
            if matches!(series.shape, Shape::Line | Shape::Scatter) {
                let mut marker = self.filled(x, y);
                marker.assign("class", "mk pt");
                marker.append(Title::new(of_point(point, series, figure)));
                group = group.add(marker);
            }
        }
        group
    }

    /// The paper's points of a series.
    pub(super) fn paper(self, series: &Series, plot: &Plot, bars: &Bars) -> Group {
        let (ink, class) = if series.shape == Shape::Bars { (NEUTRAL, "frame") } else { (self.colour(), "ln") };
        series.paper.iter().filter_map(|&(x, y)| plot.inside(x, y)).fold(self.group("series"), |group, (x, y)| {
            let mut marker = self.hollow(x + bars.shift(self.index), y, ink);
            marker.assign("class", class);
            group.add(marker)
        })
    }

    /// Our marker: filled.
    pub(super) fn filled(self, x: f64, y: f64) -> Element {
        let mut marker = self.outline(x, y, if self.broken { 3.6 } else { 5.5 });
        marker.assign("class", "mk");
        marker.assign("fill", self.colour());
        marker
    }

    /// The paper's marker: the same shape, hollow and larger, so that both are seen where they agree.
    pub(super) fn hollow(self, x: f64, y: f64, ink: &str) -> Element {
        let mut marker = self.outline(x, y, 9.0);
        marker.assign("fill", "none");
        marker.assign("stroke", ink);
        marker.assign("stroke-width", "2");
        marker
    }

    /// The shape of the markers, of about the area of a circle with `radius`.
    fn outline(self, x: f64, y: f64, radius: f64) -> Element {
        let corners: &[(f64, f64)] = match self.index.checked_rem(MARKERS) {
            Some(1) => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
            Some(2) => &[(0.0, -1.3), (1.18, 0.82), (-1.18, 0.82)],
            Some(3) => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Some(4) => &[(0.0, 1.3), (1.18, -0.82), (-1.18, -0.82)],
            Some(5) => &CROSS,
            Some(6) => &[(-1.1, -1.2), (1.1, -1.2), (-1.1, 1.2), (1.1, 1.2)],
            Some(7) => &STAR,
            _ => {
                let mut circle = Element::from(Circle::new());
                circle.assign("cx", at(x));
                circle.assign("cy", at(y));
                circle.assign("r", at(radius));
                return circle;
            }
        };
        let points: Vec<String> =
            corners.iter().map(|(dx, dy)| format!("{} {}", at(x + dx * radius), at(y + dy * radius))).collect();
        Element::from(Path::new().set("d", format!("M{}Z", points.join("L"))).set("stroke-linejoin", "round"))
    }
}

/// The lines of the hatch number `index` in a bar of this size: none, rising, falling, level, upright, crossed, and
/// again. With seven colours that makes 42 looks.
fn hatch(index: usize, width: f64, height: f64) -> Vec<(f64, f64, f64, f64)> {
    let steps = |to: f64| (1..400_u16).map(|n| f64::from(n) * HATCH).take_while(move |at| *at < to);
    // A line on which the distances from one corner add up to `sum`: where it leaves the bar.
    let slanted = |sum: f64| (sum.min(width), sum - sum.min(width), sum - sum.min(height), sum.min(height));
    match index.checked_rem(6) {
        Some(1) => steps(width + height).map(slanted).collect(),
        Some(2) => {
            let turned = |(x1, y1, x2, y2): (f64, f64, f64, f64)| (width - x1, y1, width - x2, y2);
            steps(width + height).map(slanted).map(turned).collect()
        }
        Some(3) => steps(height).map(|y| (0.0, y, width, y)).collect(),
        Some(4) => steps(width).map(|x| (x, 0.0, x, height)).collect(),
        Some(5) => [hatch(1, width, height), hatch(2, width, height)].concat(),
        _ => Vec::new(),
    }
}

/// Whether intervals stand beside the places of their values: see [`beside`].
pub(super) fn are_beside(figure: &Figure) -> bool {
    (0..figure.series.len()).any(|i| beside(figure, i) != 0.0)
}

/// How far the interval of series `i` stands from its value's place, so that those of several curves at one place do
/// not lie on one another.
fn beside(figure: &Figure, i: usize) -> f64 {
    /// From one to the next, and all of them together at most.
    const STEP: f64 = 4.0;
    const MOST: f64 = 24.0;
    let has_some = |series: &Series| {
        matches!(series.shape, Shape::Line | Shape::Scatter) && series.points.iter().any(|point| point.spread.is_some())
    };
    let own: Vec<usize> = figure.series.iter().enumerate().filter(|(_, it)| has_some(it)).map(|(i, _)| i).collect();
    let Some(rank) = own.iter().position(|it| *it == i) else {
        return 0.0;
    };
    let float = |n: usize| f64::from(u16::try_from(n).unwrap_or(u16::MAX));
    let steps = float(own.len()) - 1.0;
    if steps < 1.0 { 0.0 } else { (float(rank) - steps / 2.0) * STEP.min(MOST / steps) }
}

/// What is below the part of a bar at `x` that belongs to series `i`: the parts of those before it.
pub(super) fn foot(figure: &Figure, i: usize, x: f64) -> f64 {
    let before = figure.series.iter().take(i).filter(|series| series.shape == Shape::Stack);
    before.flat_map(|series| series.points.iter().filter(|point| point.x == x)).map(|point| point.y).sum()
}

/// How wide bars are, and which series have them.
pub(super) struct Bars {
    series: Vec<usize>,
    width: f64,
    /// Right of each bar of parts, for their names; 0 where there is no room.
    room: f64,
}

/// The size of words beside parts of bars.
const WORD: f64 = 14.0;
/// Less room for them is none.
const LEAST_ROOM: f64 = 84.0;
/// Between a bar and the words beside it.
const GAP: f64 = 8.0;

impl Bars {
    pub(super) fn of(figure: &Figure, plot: &Plot) -> Self {
        let series: Vec<usize> =
            figure.series.iter().enumerate().filter(|(_, s)| s.shape == Shape::Bars).map(|(i, _)| i).collect();
        let mut places: Vec<f64> = figure
            .series
            .iter()
            .filter(|s| matches!(s.shape, Shape::Bars | Shape::Stack))
            .flat_map(|s| &s.points)
            .filter_map(|p| plot.across(p.x))
            .collect();
        places.sort_by(f64::total_cmp);
        let names = matches!(figure.x.scale, Scale::Names(_)).then(|| plot.x.unit() * (plot.right - plot.left));
        let gaps = places.iter().zip(places.iter().skip(1)).map(|(a, b)| b - a).filter(|gap| *gap > 0.5);
        let slot = names.unwrap_or_else(|| gaps.fold((plot.right - plot.left) / 4.0, f64::min));
        let count = f64::from(u16::try_from(series.len()).unwrap_or(u16::MAX).max(1));
        let width = (slot * 0.76 / count).min(90.0);
        let is_stack = figure.series.iter().any(|s| s.shape == Shape::Stack);
        if !is_stack {
            return Self { series, width, room: 0.0 };
        }
        // Where names have room beside bars, these are narrower, and both stand in the middle together.
        let narrow = (slot * 0.32).min(80.0);
        let room = slot * 0.92 - narrow;
        if room < LEAST_ROOM {
            return Self { series, width, room: 0.0 };
        }
        Self { series, width: narrow, room }
    }

    /// Where the left edge of a bar of parts is, beside its value's place.
    fn left(&self) -> f64 {
        -(self.width + self.room) / 2.0
    }

    /// The names of the parts of bars beside them, where there is room.
    pub(super) fn words(&self, figure: &Figure, plot: &Plot) -> Group {
        let mut group = Group::new();
        if self.room <= 0.0 {
            return group;
        }
        let parts = figure.series.iter().enumerate().filter(|(_, series)| series.shape == Shape::Stack);
        for (i, series) in parts {
            for point in &series.points {
                let low = foot(figure, i, point.x);
                let ends = plot.place(point.x, low).zip(plot.place(point.x, low + point.y));
                let Some(((x, below), (_, above))) = ends else {
                    continue;
                };
                let share = number(point.y, if point.y < 9.95 { 1 } else { 0 });
                let unit = if figure.y.unit.is_empty() { String::new() } else { format!(" {}", figure.y.unit) };
                let share = format!("{share}{unit}");
                let mut lines = wrap(&clean(&series.label), WORD, self.room - GAP);
                // A number and its unit stay together.
                match lines.last_mut() {
                    Some(last) if width(&format!("{last} {share}"), WORD) <= self.room - GAP => {
                        last.push_str(&format!(" {share}"));
                    }
                    _ => lines.push(share),
                }
                let height = f64::from(u16::try_from(lines.len()).unwrap_or(u16::MAX)) * WORD * 1.15;
                // What is lower than its name would write over the next one.
                if below - above < height || lines.iter().any(|line| width(line, WORD) > self.room - GAP) {
                    continue;
                }
                let mut y = f64::midpoint(below, above) - height / 2.0 + WORD;
                for line in lines {
                    group = group.add(words(&line, x + self.left() + self.width + GAP, y, WORD, NEUTRAL));
                    y += WORD * 1.15;
                }
            }
        }
        group
    }

    /// How far the middle of series `i`'s bars is from their value's place.
    fn shift(&self, i: usize) -> f64 {
        let Some(rank) = self.series.iter().position(|s| *s == i) else {
            return 0.0;
        };
        let float = |n: usize| f64::from(u16::try_from(n).unwrap_or(u16::MAX));
        (float(rank) - (float(self.series.len()) - 1.0) / 2.0) * self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blues are one on a slide.
    #[test]
    fn sixteen_curves_are_told_apart_with_and_without_markers() {
        let all: Vec<Pen> = (0..16).map(|index| Pen { index, broken: index >= COLOURS.len() }).collect();
        let shape = |pen: Pen| {
            let mut outline = pen.outline(0.0, 0.0, 5.5).to_string();
            outline.retain(|it| it != '\n');
            outline
        };
        let hue = |pen: Pen| if pen.colour() == COLOURS[5] { COLOURS[0] } else { pen.colour() };
        for (place, one) in all.iter().enumerate() {
            for other in all.iter().skip(place + 1) {
                let [has_other_hue, has_other_dashes] = [hue(*one) != hue(*other), one.dashes() != other.dashes()];
                assert!(has_other_hue || has_other_dashes, "{one:?} {other:?}: without markers");
                assert!(shape(*one) != shape(*other) || (has_other_hue && has_other_dashes), "{one:?} {other:?}");
            }
        }
    }
}
