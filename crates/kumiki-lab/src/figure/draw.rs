//! Where everything goes, and what is drawn around the series.

use svg::node::element::{Description, Group, Line, SVG, TSpan, Text, Title};
use svg::{Document, Node as _};

use super::describe::describe;
use super::marks::{Bars, Pen, are_beside, foot, pens};
use super::palette::NEUTRAL;
use super::scale::{Needs, Ruler, number};
use super::size::Sizes;
use super::text::{clean, wrap};
use super::{Axis, Figure, Ink, Limit, Scale, Shape};

/// The frame of the plot and the two axes.
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Ruler,
    pub(super) y: Ruler,
}

impl Plot {
    pub(super) fn across(&self, value: f64) -> Option<f64> {
        self.x.share(value).map(|s| self.left + s * (self.right - self.left))
    }

    pub(super) fn down(&self, value: f64) -> Option<f64> {
        self.y.share(value).map(|s| self.bottom - s * (self.bottom - self.top))
    }

    /// Where a point is, if it has a place at all; it may be outside the frame.
    pub(super) fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.across(x)?, self.down(y)?))
    }

    /// Where a point is, if that is inside the frame.
    pub(super) fn inside(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        (self.x.holds(x) && self.y.holds(y)).then(|| self.place(x, y))?
    }
}

/// The figures below each other on one page.
pub(super) fn document(figures: &[Figure], sizes: &Sizes) -> String {
    let (mut panels, mut height) = (Vec::new(), 0.0);
    let mut plots: Vec<Plot> = figures.iter().map(|figure| plot(figure, figures, sizes)).collect();
    align(&mut plots);
    for (figure, plot) in figures.iter().zip(plots) {
        let (panel, own) = panel(figure, plot, sizes);
        // A page of one figure has no need to move it.
        panels.push(if height > 0.0 { panel.set("transform", format!("translate(0 {})", at(height))) } else { panel });
        height += own;
    }
    let described: Vec<String> = figures.iter().map(describe).collect();
    let titles: Vec<String> = figures.iter().map(|figure| clean(&figure.title)).collect();
    let document = Document::new()
        .set("width", at(sizes.width))
        .set("height", at(height))
        .set("viewBox", ["0".to_owned(), "0".to_owned(), at(sizes.width), at(height)].join(" "))
        .set("role", "img")
        .set("font-family", "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif")
        .add(Title::new(titles.join("; ")))
        .add(Description::new().add(svg::node::Text::new(described.join(" "))));
    let document = panels.into_iter().fold(document, Document::add);
    let drawn = format!("{document}\n");
    // Whatever has no colour of its own has this one.
    match figures.first().map(|figure| figure.ink) {
        Some(ink) if ink != Ink::Grey => drawn.replace(NEUTRAL, ink.colour()),
        Some(_) | None => drawn,
    }
}

/// Frames below each other begin and end at the same places.
fn align(plots: &mut [Plot]) {
    let left = plots.iter().map(|plot| plot.left).fold(0.0, f64::max);
    let right = plots.iter().map(|plot| plot.right).fold(f64::INFINITY, f64::min);
    for plot in plots {
        (plot.left, plot.right) = (left, right);
    }
}

/// One figure, and how high it is.
fn panel(figure: &Figure, mut plot: Plot, sizes: &Sizes) -> (Group, f64) {
    let mut page = Group::new();
    let mut top = sizes.pad;
    for line in wrap(&clean(&figure.title), sizes.title * 1.16, sizes.width - 2.0 * sizes.pad) {
        page =
            page.add(words(&line, sizes.pad, top + sizes.title * 0.8, sizes.title, NEUTRAL).set("font-weight", "bold"));
        top += sizes.title * 1.3;
    }
    // The legend shows how lines are drawn, which depends on where they run; its own height then places the plot.
    let pens = pens(figure, &plot);
    let (legend, top) = legend(figure, &pens, &plot, top + 8.0, sizes);
    page = page.add(legend);
    plot.top = top + 14.0;
    plot.bottom = plot.top + sizes.plot_height;
    page = page.add(grid(figure, &plot));
    page = page.add(limits(figure, &plot, sizes));
    // What a given range leaves out must not run over the frame: an inner svg clips without needing an identifier,
    // which could meet another one where figures share a page.
    let mut clipped = SVG::new()
        .set("x", at(plot.left))
        .set("y", at(plot.top))
        .set("width", at(plot.right - plot.left))
        .set("height", at(plot.bottom - plot.top))
        .set("viewBox", [plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top].map(at).join(" "));
    // What a script needs to draw a part of it as the whole: bars have their places, and nothing between them.
    if !has_bars(figure) {
        clipped = clipped.set("class", "plot").set("data-x", plot.x.told()).set("data-y", plot.y.told());
    }
    let bars = Bars::of(figure, &plot);
    for (pen, series) in pens.iter().zip(&figure.series) {
        clipped = clipped.add(pen.shape(series, figure, &plot, &bars));
    }
    page = page.add(clipped);
    for (pen, series) in pens.iter().zip(&figure.series) {
        page = page.add(pen.points(series, figure, &plot, &bars));
    }
    page = page.add(bars.words(figure, &plot));
    for (pen, series) in pens.iter().zip(&figure.series) {
        page = page.add(pen.paper(series, &plot, &bars));
    }
    let (axes, mut bottom) = axes(figure, &plot, sizes);
    page = page.add(axes);
    bottom += 10.0;
    let beside = if are_beside(figure) { BESIDE } else { "" };
    let caption = [clean(&figure.caption), beside.to_owned()];
    let caption: Vec<String> = caption.into_iter().filter(|text| !text.is_empty()).collect();
    for line in wrap(&caption.join(" "), sizes.caption, sizes.width - 2.0 * sizes.pad) {
        page = page.add(soft(words(&line, sizes.pad, bottom + sizes.caption, sizes.caption, NEUTRAL)));
        bottom += sizes.caption * 1.35;
    }
    (page, bottom + sizes.pad * 0.6)
}

fn has_bars(figure: &Figure) -> bool {
    figure.series.iter().any(|s| matches!(s.shape, Shape::Bars | Shape::Stack))
}

/// What is said where error bars are moved.
const BESIDE: &str = "Error bars of several curves stand side by side; each is of the marker next to it.";

/// The plot's frame, with room for what is written around it. Where `all`, which stand below each other, have the same
/// horizontal axis, what stands above one another has the same value on it.
fn plot(figure: &Figure, all: &[Figure], sizes: &Sizes) -> Plot {
    let points = || figure.series.iter().flat_map(|s| &s.points);
    let printed = || figure.series.iter().flat_map(|s| &s.paper);
    let bars = has_bars(figure);
    let alike = || all.iter().filter(|other| other.x == figure.x).flat_map(|other| &other.series);
    let xs = || alike().flat_map(|s| s.points.iter().map(|p| p.x).chain(s.paper.iter().map(|p| p.0)));
    // What is never below zero is not made flat by intervals that are.
    let least = if points().all(|p| p.y >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    let spreads = points().filter_map(|p| p.spread).flat_map(|(low, high)| [low.max(least), high]);
    let tops = figure.series.iter().enumerate().filter(|(_, s)| s.shape == Shape::Stack);
    let tops = tops.flat_map(|(i, s)| s.points.iter().map(move |p| foot(figure, i, p.x) + p.y));
    let valued = figure.series.iter().filter(|s| s.shape != Shape::Mark);
    let ys = valued
        .flat_map(|s| &s.points)
        .map(|p| p.y)
        .chain(tops)
        .chain(spreads)
        .chain(printed().map(|p| p.1))
        .chain(figure.limits.iter().map(|l| l.y));
    // Bars stand on zero, which has no place among equal factors.
    let scale = if figure.y.scale == Scale::Log10 && !bars { Scale::Log10 } else { Scale::Linear };
    let y_axis = Axis { scale, ..figure.y.clone() };
    let y = Ruler::new(&y_axis, ys, Needs { zero: bars, vertical: true, ticks: 7, margin: 0.0 });

    let ticks = y.ticks.iter().map(|t| sizes.small_width(&t.label)).fold(0.0, f64::max);
    let left = sizes.pad + sizes.label * 1.5 + ticks + 10.0;
    let names = figure
        .limits
        .iter()
        .flat_map(|l| limit_lines(l, &figure.y, sizes))
        .map(|line| sizes.small_width(&line))
        .fold(0.0, f64::max);
    let is_beside = sizes.limits.is_some() && !figure.limits.is_empty();
    let right = sizes.width - if is_beside { sizes.pad + names + 22.0 } else { sizes.pad * 1.4 };
    // Bars at the ends of a numeric axis are half outside otherwise.
    let margin = if bars { 0.12 } else { 0.03 };
    let needs = |ticks| Needs { zero: false, vertical: false, ticks, margin };
    let fits =
        |ruler: &Ruler| ruler.ticks.iter().map(|t| sizes.small_width(&t.label) + 16.0).sum::<f64>() <= right - left;
    let x = [12, 9, 7, 5].into_iter().map(|count| Ruler::new(&figure.x, xs(), needs(count))).find(fits);
    let x = x.unwrap_or_else(|| Ruler::new(&figure.x, xs(), needs(3)));
    // Half of the last tick's words may stand right of the frame, and none of it right of the figure.
    let ends = x.ticks.iter().filter(|_| !matches!(figure.x.scale, Scale::Names(_))).filter_map(|tick| {
        let share = x.share(tick.at)?;
        Some(left + share * (right - left) + sizes.small_width(&tick.label) / 2.0)
    });
    let right = right - (ends.fold(0.0, f64::max) + 2.0 - sizes.width).max(0.0);
    Plot { left, right, top: 0.0, bottom: sizes.plot_height, x, y }
}

/// Where the next key of a legend goes: beside the one before it, or below.
struct Keys<'a> {
    sizes: &'a Sizes,
    x: f64,
    y: f64,
    /// Below the first line of the last key.
    more: f64,
}

impl Keys<'_> {
    /// The place of a sample, and the words beside it.
    fn place(&mut self, label: &str) -> (f64, f64, Text) {
        let sizes = self.sizes;
        let beside = sizes.key + 8.0;
        let lines = wrap(label, sizes.small, sizes.width - 1.5 * sizes.pad - beside);
        let widest = lines.iter().map(|line| sizes.small_width(line)).fold(0.0, f64::max);
        let needed = beside + widest + 22.0;
        if self.x > sizes.pad && self.x + needed > sizes.width - sizes.pad * 0.5 {
            self.x = sizes.pad;
            self.y += sizes.small * 1.6 + self.more;
            self.more = 0.0;
        }
        let (x, y) = (self.x, self.y);
        self.x += needed;
        let leading = sizes.small * 1.2;
        let (left, baseline) = (x + beside, y + sizes.small * 0.36);
        let text = match lines.as_slice() {
            [first, rest @ ..] if !rest.is_empty() => {
                let start = words(&format!("{first} "), left, baseline, sizes.small, NEUTRAL);
                rest.iter().fold(start, |text, line| {
                    self.more += leading;
                    text.add(TSpan::new(format!("{line} ")).set("x", at(left)).set("dy", at(leading)))
                })
            }
            _ => words(label, left, baseline, sizes.small, NEUTRAL),
        };
        (x, y, text)
    }

    /// Where they end.
    fn end(&self) -> f64 {
        self.y + self.more + self.sizes.small * 0.8
    }
}

/// One row or more of keys, and where they end.
fn legend(figure: &Figure, pens: &[Pen], plot: &Plot, top: f64, sizes: &Sizes) -> (Group, f64) {
    let mut group = Group::new();
    let mut keys = Keys { sizes, x: sizes.pad, y: top + sizes.small * 0.8, more: 0.0 };
    for (pen, series) in pens.iter().zip(&figure.series) {
        let label = clean(&series.label);
        // The only series may go without a name; a key would then stand beside nothing.
        if label.is_empty() {
            continue;
        }
        let (x, y, text) = keys.place(&label);
        let mut key = pen.group("key");
        key = match series.shape {
            Shape::Bars | Shape::Stack => key.add(pen.bar(x + 4.0, y - 9.0, sizes.key - 8.0, 18.0)),
            Shape::Line | Shape::Curve => {
                let sample = stroke(line(x, y, x + sizes.key, y), pen.colour(), 2.5).set("class", "ln");
                key.add(sample.set("stroke-dasharray", pen.dashes()))
            }
            Shape::Scatter => key,
            Shape::Mark => key.add(pen.when(x + sizes.key / 2.0, y - 9.0, y + 9.0).set("class", "ln")),
            Shape::Span => {
                let sample = pen.upright(x + sizes.key / 2.0, y - 9.0, y + 9.0);
                key.add(sample.set("class", "ln"))
            }
        };
        if matches!(series.shape, Shape::Line | Shape::Scatter) {
            key = key.add(pen.filled(x + sizes.key / 2.0, y));
        }
        group = group.add(key.add(text));
    }
    if figure.series.iter().any(|s| !s.paper.is_empty()) {
        let label = &format!("{} (hollow)", if figure.whose.is_empty() { "paper" } else { figure.whose });
        let (x, y, text) = keys.place(label);
        let mut marker = Pen::default().hollow(x + sizes.key / 2.0, y, NEUTRAL);
        marker.assign("class", "limit");
        group = group.add(marker).add(text);
    }
    if sizes.limits.is_none() {
        for limit in figure.limits.iter().filter(|limit| plot.y.holds(limit.y)) {
            let (x, y, text) = keys.place(&limit_lines(limit, &figure.y, sizes).join(" "));
            group = group.add(limit_line(line(x, y, x + sizes.key, y))).add(soft(text));
        }
    }
    (group, keys.end())
}

fn grid(figure: &Figure, plot: &Plot) -> Group {
    let mut group =
        Group::new().set("class", "grid").set("stroke", NEUTRAL).set("stroke-opacity", "0.3").set("stroke-width", "1");
    for y in plot.y.ticks.iter().filter_map(|t| plot.down(t.at)) {
        group = group.add(line(plot.left, y, plot.right, y).set("class", "ty"));
    }
    let between_names = matches!(figure.x.scale, Scale::Names(_));
    for x in plot.x.ticks.iter().filter(|_| !between_names).filter_map(|t| plot.across(t.at)) {
        group = group.add(line(x, plot.top, x, plot.bottom).set("class", "tx"));
    }
    group
}

/// The frame, ticks and labels, and where they end.
fn axes(figure: &Figure, plot: &Plot, sizes: &Sizes) -> (Group, f64) {
    let mut group = Group::new();
    let mut frame = Group::new().set("class", "frame").set("stroke", NEUTRAL).set("stroke-width", "1.5");
    frame = frame.add(line(plot.left, plot.top, plot.left, plot.bottom));
    frame = frame.add(line(plot.left, plot.bottom, plot.right, plot.bottom));
    for tick in &plot.y.ticks {
        let Some(y) = plot.down(tick.at) else {
            continue;
        };
        frame = frame.add(line(plot.left - 5.0, y, plot.left, y).set("class", "ty"));
        let label = words(&tick.label, plot.left - 9.0, y + sizes.small * 0.36, sizes.small, NEUTRAL);
        group = group.add(label.set("text-anchor", "end").set("class", "ty"));
    }
    let slot = plot.x.unit() * (plot.right - plot.left);
    let has_names = matches!(figure.x.scale, Scale::Names(_));
    let words_of = |label: &str| label.split_whitespace().map(|word| sizes.small_width(word)).fold(0.0, f64::max);
    // Names that are wider than their places would run over each other.
    let are_turned = has_names && plot.x.ticks.iter().any(|tick| words_of(&tick.label) > slot - 2.0);
    let mut bottom = plot.bottom + 8.0 + sizes.small;
    for tick in &plot.x.ticks {
        let Some(x) = plot.across(tick.at) else {
            continue;
        };
        if are_turned {
            let (x, y) = (x + sizes.small * 0.36, plot.bottom + 8.0);
            let label = words(&tick.label, x, y, sizes.small, NEUTRAL).set("text-anchor", "end").set("class", "tx");
            group = group.add(label.set("transform", format!("rotate(-90 {} {})", at(x), at(y))));
            bottom = bottom.max(y + sizes.small_width(&tick.label));
            continue;
        }
        let lines = if has_names {
            wrap(&tick.label, sizes.small, slot - 6.0)
        } else {
            frame = frame.add(line(x, plot.bottom, x, plot.bottom + 5.0).set("class", "tx"));
            vec![tick.label.clone()]
        };
        let mut y = plot.bottom + 8.0 + sizes.small;
        for line in lines {
            group = group.add(words(&line, x, y, sizes.small, NEUTRAL).set("text-anchor", "middle").set("class", "tx"));
            bottom = bottom.max(y);
            y += sizes.small * 1.2;
        }
    }
    let middle = f64::midpoint(plot.left, plot.right);
    let room = 2.0 * middle.min(sizes.width - middle) - sizes.pad;
    for (number, line) in wrap(&title(&figure.x), sizes.label, room).iter().enumerate() {
        bottom += sizes.label * if number == 0 { 1.5 } else { 1.2 };
        group = group.add(words(line, middle, bottom, sizes.label, NEUTRAL).set("text-anchor", "middle"));
    }
    let y_label = title(&figure.y);
    if !y_label.is_empty() {
        let (x, y) = (sizes.pad + sizes.label * 0.6, (plot.top + plot.bottom) / 2.0);
        let turned =
            words(&y_label, x, y, sizes.label, NEUTRAL).set("transform", format!("rotate(-90 {} {})", at(x), at(y)));
        group = group.add(turned.set("text-anchor", "middle"));
    }
    (group.add(frame), bottom + 6.0)
}

/// "window (KB)".
pub(super) fn title(axis: &Axis) -> String {
    match (axis.label.is_empty(), axis.unit.is_empty()) {
        (_, true) => clean(&axis.label),
        (true, false) => clean(&axis.unit),
        (false, false) => format!("{} ({})", clean(&axis.label), clean(&axis.unit)),
    }
}

/// The name of a limit in lines, with its value in the last one.
fn limit_lines(limit: &Limit, axis: &Axis, sizes: &Sizes) -> Vec<String> {
    let value = number(limit.y, 3);
    let value = if axis.unit.is_empty() { value } else { format!("{value} {}", clean(&axis.unit)) };
    let mut lines = wrap(&clean(&limit.label), sizes.small, sizes.limits.unwrap_or(f64::INFINITY));
    lines.push(value);
    lines
}

fn limit_line(line: Line) -> Line {
    stroke(line, NEUTRAL, 1.5).set("class", "limit").set("stroke-dasharray", "8 5")
}

/// The dashed lines, with their names beside the plot and never over each other.
fn limits(figure: &Figure, plot: &Plot, sizes: &Sizes) -> Group {
    let leading = sizes.small * 1.15;
    let mut group = Group::new();
    let mut labels: Vec<(f64, Vec<String>)> = figure
        .limits
        .iter()
        .filter(|l| plot.y.holds(l.y))
        .filter_map(|l| Some((plot.down(l.y)?, limit_lines(l, &figure.y, sizes))))
        .collect();
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let heights: Vec<f64> =
        labels.iter().map(|(_, lines)| leading * f64::from(u16::try_from(lines.len()).unwrap_or(1)) + 8.0).collect();
    let wanted: Vec<(f64, f64)> = labels.iter().map(|(y, _)| *y).zip(heights).collect();
    for ((y, lines), centre) in labels.iter().zip(spread_out(&wanted, plot.top - 8.0)) {
        group = group.add(limit_line(line(plot.left, *y, plot.right, *y)));
        if sizes.limits.is_none() {
            continue;
        }
        let leader = line(plot.right + 2.0, *y, plot.right + 16.0, centre);
        group = group.add(stroke(leader, NEUTRAL, 1.0).set("class", "limit"));
        let count = f64::from(u16::try_from(lines.len()).unwrap_or(1));
        let mut baseline = centre - leading * count / 2.0 + sizes.small * 0.86;
        for text in lines {
            group = group.add(soft(words(text, plot.right + 20.0, baseline, sizes.small, NEUTRAL)));
            baseline += leading;
        }
    }
    group
}

/// Centres for labels that want to be at some height and need some room: as near as possible without touching.
/// `wanted` is sorted by height; no label goes above `ceiling`.
fn spread_out(wanted: &[(f64, f64)], ceiling: f64) -> Vec<f64> {
    /// Labels that touch: they share one displacement.
    struct Block {
        labels: usize,
        /// Sum over labels of (wanted top - offset within the block).
        sum: f64,
        room: f64,
    }
    impl Block {
        fn top(&self, ceiling: f64) -> f64 {
            let mean = self.sum / f64::from(u16::try_from(self.labels).unwrap_or(u16::MAX).max(1));
            mean.max(ceiling)
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    for &(centre, room) in wanted {
        let mut block = Block { labels: 1, sum: centre - room / 2.0, room };
        while let Some(above) = blocks.pop_if(|above| above.top(ceiling) + above.room > block.top(ceiling)) {
            let below = f64::from(u16::try_from(block.labels).unwrap_or(u16::MAX));
            block = Block {
                labels: above.labels + block.labels,
                sum: above.sum + block.sum - below * above.room,
                room: above.room + block.room,
            };
        }
        blocks.push(block);
    }
    let mut rooms = wanted.iter().map(|(_, room)| *room);
    let mut centres = Vec::new();
    for block in blocks {
        let mut top = block.top(ceiling);
        for room in rooms.by_ref().take(block.labels) {
            centres.push(top + room / 2.0);
            top += room;
        }
    }
    centres
}

pub(crate) fn words(text: &str, x: f64, y: f64, size: f64, ink: &str) -> Text {
    Text::new(text).set("x", at(x)).set("y", at(y)).set("font-size", at(size)).set("fill", ink)
}

/// Words that matter less, where a style sheet says what that looks like.
fn soft(text: Text) -> Text {
    text.set("class", "soft")
}

pub(crate) fn line(x1: f64, y1: f64, x2: f64, y2: f64) -> Line {
    Line::new().set("x1", at(x1)).set("y1", at(y1)).set("x2", at(x2)).set("y2", at(y2))
}

pub(crate) fn stroke(line: Line, ink: &str, width: f64) -> Line {
    line.set("stroke", ink).set("stroke-width", at(width))
}

/// A coordinate: a tenth of a unit is finer than any screen, and shorter than a full float.
pub(crate) fn at(value: f64) -> String {
    // A value far outside would be no number that a reader of SVG must accept.
    let text = format!("{:.1}", value.clamp(-1e5, 1e5) + 0.0);
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}
