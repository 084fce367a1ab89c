//! The drawing: hosts side by side in frames, their layers as boxes, media below.

use std::collections::BTreeMap;

use svg::Document;
use svg::node::element::{Ellipse, Group, Polyline, Rectangle, Title};

use super::levels::{Levels, Slot, height};
use super::stack::Stack;
use super::{service, stacks};
use crate::figure::draw::{GREY, INK, at, words};
use crate::figure::text::{clean, width, wrap};
use crate::scenario::Scenario;

pub(super) const PAD: f64 = 24.0;
const TITLE: f64 = 22.0;
pub(super) const NAME: f64 = 17.0;
pub(super) const SMALL: f64 = 13.0;
pub(super) const BOX: f64 = 40.0;
/// From the top of one level to the top of the next.
const LEVEL: f64 = 74.0;
/// Between boxes beside each other.
pub(super) const GAP: f64 = 22.0;
/// Between hosts.
pub(super) const APART: f64 = 44.0;
const FRAME: &str = "#b5b5b5";
const PROVIDER: &str = "#f3f3f1";
const DEVICE: &str = "#d9d9d6";
const PROGRAM: &str = "#d6e6f2";

/// What has been drawn, and how far it reaches.
pub(super) struct Page {
    pub(super) lines: Group,
    pub(super) boxes: Group,
    pub(super) notes: Group,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

/// Middle and lower edge of what a line can end on.
pub(super) type Plugs = BTreeMap<String, (f64, f64)>;

pub(super) fn document(scenario: &Scenario) -> String {
    let mut page = Page { lines: Group::new(), boxes: Group::new(), notes: Group::new(), right: PAD, bottom: PAD };
    let title = clean(&scenario.title);
    let stacks = stacks(scenario);
    let depth = stacks.iter().map(|(_, stack)| height(stack)).max().unwrap_or(0);
    let top = PAD + TITLE * 1.9;
    let mut plugs = Plugs::new();
    let mut left = PAD;
    for (name, stack) in stacks {
        left = page.host(scenario, name, &stack, (left, top, depth), &mut plugs) + APART;
    }
    page.right = (left - APART).max(PAD);
    page.media(scenario, &plugs);
    let room = (page.right - PAD).max(320.0);
    let mut heading = Group::new();
    // Bold letters are a tenth wider.
    let lines = wrap(&title, TITLE * 1.1, room);
    for (number, line) in (0u8..).zip(&lines) {
        let y = PAD + TITLE * (0.8 + 1.25 * f64::from(number));
        heading = heading.add(words(line, PAD, y, TITLE, INK).set("font-weight", "bold"));
    }
    // Further lines of the title push the rest down.
    let extra = TITLE * 1.25 * f64::from(u32::try_from(lines.len().saturating_sub(1)).unwrap_or(0));
    let (wide, high) = (page.right.max(PAD + 320.0) + PAD, page.bottom + extra + PAD);
    let body = Group::new()
        .set("transform", format!("translate(0 {})", at(extra)))
        .add(page.lines)
        .add(page.boxes)
        .add(page.notes);
    let document = Document::new()
        .set("width", at(wide))
        .set("height", at(high))
        .set("viewBox", format!("0 0 {} {}", at(wide), at(high)))
        .set("role", "img")
        .set("font-family", "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif")
        .add(Title::new(title))
        .add(Rectangle::new().set("width", at(wide)).set("height", at(high)).set("fill", "#ffffff"))
        .add(heading)
        .add(body);
    format!("{document}\n")
}

impl Page {
    /// Draws a host with its upper left corner there, and returns its right edge.
    fn host(
        &mut self,
        scenario: &Scenario,
        name: &str,
        stack: &Stack<'_>,
        (left, top, depth): (f64, f64, usize),
        plugs: &mut Plugs,
    ) -> f64 {
        let levels = Levels::of(stack, depth);
        let wide = box_width(stack);
        let profile = stack.profile().map(|profile| format!("profile {}", clean(profile)));
        let heads = [width(&clean(name), NAME * 1.1), profile.as_ref().map_or(0.0, |text| width(text, SMALL))];
        let rows: Vec<Vec<f64>> = levels.rows.iter().map(|row| offsets(row, wide)).collect();
        let reach = rows.iter().flatten().map(|x| x.abs() + wide / 2.0);
        let inner = heads.into_iter().chain(reach.map(|half| 2.0 * half)).fold(120.0, f64::max);
        let right = left + inner + 2.0 * PAD;
        let middle = f64::midpoint(left, right);
        self.note(centred(&clean(name), middle, top + 26.0, NAME, INK).set("font-weight", "bold"));
        if let Some(profile) = profile {
            self.note(centred(&profile, middle, top + 44.0, SMALL, GREY));
        }
        let first = top + 62.0;
        let mut places: BTreeMap<&Slot<'_>, (f64, f64)> = BTreeMap::new();
        for (number, (row, offsets)) in levels.rows.iter().zip(&rows).enumerate() {
            let y = first + LEVEL * count(number);
            for (slot, offset) in row.iter().zip(offsets) {
                let x = middle + offset;
                places.insert(slot, (x, y));
                if let Slot::Node(node) = slot {
                    self.node(scenario, name, stack, node, (x - wide / 2.0, y, wide));
                    if stack.is_device(node) {
                        plugs.insert(format!("{name}.{node}"), (x, y + BOX));
                    }
                }
            }
        }
        straighten(&levels, &mut places);
        let ends = access_points(&levels, &places, stack);
        for line in &levels.lines {
            self.edge(stack, line, &places, &ends);
        }
        let bottom = first + LEVEL * count(levels.rows.len()) - (LEVEL - BOX) + PAD;
        let frame = rectangle(left, top, right - left, bottom - top, 12.0);
        // Behind everything else: the frame is drawn before the lines within it.
        let lines = core::mem::take(&mut self.lines);
        self.lines = Group::new().add(frame.set("fill", "#ffffff").set("stroke", FRAME)).add(lines);
        self.bottom = self.bottom.max(bottom);
        right
    }

    fn node(&mut self, scenario: &Scenario, host: &str, stack: &Stack<'_>, node: &str, (x, y, w): (f64, f64, f64)) {
        let plug = format!("{host}.{node}");
        let mut loads = scenario.load.values();
        let role = match () {
            () if loads.clone().any(|load| load.from.0.contains(&plug)) => Some("writes"),
            () if loads.any(|load| load.to.0.contains(&plug)) => Some("reads"),
            () => None,
        };
        let fill = match role {
            _ if stack.is_device(node) => DEVICE,
            Some(_) => PROGRAM,
            None => PROVIDER,
        };
        let radius = if stack.is_device(node) { 2.0 } else { 7.0 };
        let shape = rectangle(x, y, w, BOX, radius).set("fill", fill).set("stroke", INK);
        self.boxes = core::mem::take(&mut self.boxes).add(shape);
        let kind = stack.other_kind(node);
        let second = role.map(str::to_owned).or(kind);
        let middle = x + w / 2.0;
        if let Some(second) = second {
            self.note(centred(&clean(node), middle, y + 18.0, NAME, INK));
            self.note(centred(&clean(&second), middle, y + 33.0, SMALL, GREY));
        } else {
            self.note(centred(&clean(node), middle, y + BOX / 2.0 + 6.0, NAME, INK));
        }
    }

    /// A line from a box to the access point on another, with the service that is offered there.
    fn edge(
        &mut self,
        stack: &Stack<'_>,
        line: &[Slot<'_>],
        places: &BTreeMap<&Slot<'_>, (f64, f64)>,
        ends: &BTreeMap<(String, String), f64>,
    ) {
        let [Slot::Node(upper), .., Slot::Node(lower)] = line else {
            return;
        };
        let point = |slot: &Slot<'_>| places.get(slot).copied();
        let mut points = Vec::new();
        for (number, slot) in line.iter().enumerate() {
            let Some((x, y)) = point(slot) else {
                return;
            };
            match slot {
                Slot::Node(_) if number == 0 => points.push((x, y + BOX)),
                Slot::Node(_) => {
                    let key = ((*upper).to_owned(), (*lower).to_owned());
                    points.push((ends.get(&key).copied().unwrap_or(x), y));
                }
                Slot::Passage(..) => points.extend([(x, y), (x, y + BOX)]),
            }
        }
        self.lines = core::mem::take(&mut self.lines).add(polyline(&points, INK, 1.4));
        let Some((x, y)) = points.last().copied() else {
            return;
        };
        let access_point = Ellipse::new()
            .set("cx", at(x))
            .set("cy", at(y))
            .set("rx", at(7.0))
            .set("ry", at(4.0))
            .set("fill", "#ffffff")
            .set("stroke", INK);
        self.notes = core::mem::take(&mut self.notes).add(access_point);
        // Once for each provider, for it offers the same at all its access points: beside the last one, or where a line
        // comes from that side, beside the first.
        let Some(service) = service(stack.kind(lower)) else {
            return;
        };
        let same = |key: &(String, String)| key.1 == *lower;
        let all = ends.iter().filter(|(key, _)| same(key)).map(|(_, x)| *x);
        let slanted =
            points.len().checked_sub(2).and_then(|before| points.get(before)).is_some_and(|(from, _)| *from > x + 4.0);
        let (first, last) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        if x >= last {
            let text = service.to_string();
            let label = if slanted {
                words(&text, first - 11.0, y - 7.0, SMALL, GREY).set("text-anchor", "end")
            } else {
                words(&text, x + 11.0, y - 7.0, SMALL, GREY)
            };
            self.note(label);
        }
    }

    pub(super) fn note(&mut self, note: svg::node::element::Text) {
        self.notes = core::mem::take(&mut self.notes).add(note);
    }
}

/// Where the lines end on the boxes that they lead to: side by side, in the order in which they come.
fn access_points(
    levels: &Levels<'_>,
    places: &BTreeMap<&Slot<'_>, (f64, f64)>,
    stack: &Stack<'_>,
) -> BTreeMap<(String, String), f64> {
    let mut arriving: BTreeMap<&str, Vec<(f64, &str)>> = BTreeMap::new();
    for line in &levels.lines {
        if let ([Slot::Node(upper), .., Slot::Node(lower)], [.., before, _]) = (line.as_slice(), line.as_slice()) {
            let from = places.get(before).map_or(0.0, |(x, _)| *x);
            arriving.entry(lower).or_default().push((from, upper));
        }
    }
    let mut ends = BTreeMap::new();
    for (lower, mut users) in arriving {
        users.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
        let Some((middle, _)) = places.get(&Slot::Node(lower)) else {
            continue;
        };
        let step = box_width(stack) / count(users.len() + 1);
        let first = middle - box_width(stack) / 2.0;
        for (number, (_, upper)) in users.into_iter().enumerate() {
            ends.insert((upper.to_owned(), lower.to_owned()), first + step * count(number + 1));
        }
    }
    ends
}

/// How wide the boxes of a host are: all the same, so that what stands on one layer alone stands straight above it.
fn box_width(stack: &Stack<'_>) -> f64 {
    let needs = |node: &str| {
        let second = stack.other_kind(node);
        let second = second.map_or(0.0, |kind| width(&clean(&kind), SMALL));
        width(&clean(node), NAME).max(second) + 24.0
    };
    stack.nodes().into_iter().map(needs).fold(96.0, f64::max)
}

/// The middles of a row's slots from the middle of the host, with the boxes in the middle; lines that only pass by hang on at
/// the sides.
fn offsets(row: &[Slot<'_>], wide: f64) -> Vec<f64> {
    let mut right = 0.0;
    let mut spans = Vec::new();
    for slot in row {
        let w = match slot {
            Slot::Node(_) => wide,
            Slot::Passage(..) => 6.0,
        };
        spans.push((right, right + w));
        right += w + GAP;
    }
    let boxes = || {
        let pairs = row.iter().zip(&spans);
        pairs.filter_map(|(slot, span)| matches!(slot, Slot::Node(_)).then_some(*span))
    };
    let (first, last) = match (boxes().next(), boxes().next_back()) {
        (Some((first, _)), Some((_, last))) => (first, last),
        _ => (0.0, right - GAP),
    };
    let middle = f64::midpoint(first, last);
    spans.into_iter().map(|(left, right)| f64::midpoint(left, right) - middle).collect()
}

/// Lets lines that pass by several levels on the outside run straight down.
fn straighten<'s, 'a>(levels: &'s Levels<'a>, places: &mut BTreeMap<&'s Slot<'a>, (f64, f64)>) {
    for line in &levels.lines {
        let passages: Vec<&Slot<'a>> = levels
            .rows
            .iter()
            .flatten()
            .filter(|slot| matches!(slot, Slot::Passage(..)) && line.contains(slot))
            .collect();
        let all_are = |at_end: &dyn Fn(&Slot<'a>, &[Slot<'a>]) -> bool| {
            passages.iter().all(|slot| levels.rows.iter().any(|row| at_end(slot, row)))
        };
        let xs = || passages.iter().filter_map(|slot| places.get(*slot)).map(|(x, _)| *x);
        let x = if all_are(&|slot, row| row.first() == Some(slot)) {
            xs().fold(f64::INFINITY, f64::min)
        } else if all_are(&|slot, row| row.last() == Some(slot)) {
            xs().fold(f64::NEG_INFINITY, f64::max)
        } else {
            continue;
        };
        for slot in passages {
            if let Some(place) = places.get_mut(slot) {
                place.0 = x;
            }
        }
    }
}

pub(super) fn centred(text: &str, x: f64, y: f64, size: f64, ink: &str) -> svg::node::element::Text {
    words(text, x, y, size, ink).set("text-anchor", "middle")
}

pub(super) fn rectangle(x: f64, y: f64, w: f64, h: f64, radius: f64) -> Rectangle {
    Rectangle::new().set("x", at(x)).set("y", at(y)).set("width", at(w)).set("height", at(h)).set("rx", at(radius))
}

pub(super) fn polyline(points: &[(f64, f64)], ink: &str, thick: f64) -> Polyline {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", at(*x), at(*y))).collect();
    Polyline::new()
        .set("points", points.join(" "))
        .set("fill", "none")
        .set("stroke", ink)
        .set("stroke-width", at(thick))
        .set("stroke-linejoin", "round")
}

/// A small number of things, for arithmetic with places.
pub(super) fn count(n: usize) -> f64 {
    f64::from(u16::try_from(n).unwrap_or(u16::MAX))
}
