//! A scenario's graphs for a person: as indented text, and as SVG with one column of boxes for each host.
//!
//! In the text a layer on which several stand is shown in full once. In the drawing a layer is as high as the longest
//! way down to a device, so that everything stands on what is below it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use svg::node::element::{Group, Line, Rectangle, Text};

use super::{Graph, Host, Scenario};

const BOX_HEIGHT: f64 = 28.0;
const BOX_GAP: f64 = 16.0;
const LEVEL: f64 = 56.0;
const PAD: f64 = 24.0;
const TITLE: f64 = 18.0;
const LETTER: f64 = 14.0;
const INK: &str = "#222222";
const PAPER: &str = "#f4f4f4";
/// A deeper graph would be a file made to be deep.
const DEEPEST: usize = 100;

impl Scenario {
    /// The graph of every host, its settings, the lines between them, and what they carry.
    #[must_use]
    pub fn graph_text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for (name, host) in &self.host {
            let profile = host.profile.as_deref().unwrap_or(crate::profile::ZERO);
            let real = host.real.as_ref().map(|real| format!(", {}", real.words())).unwrap_or_default();
            let _ = writeln!(text, "\nhost {name}, profile {profile}{real}");
            let Some(graph) = &host.graph else {
                continue;
            };
            let mut shown = Vec::new();
            for top in tops(graph) {
                self.branch(&mut text, (name, host, graph), top, 1, &mut shown);
            }
        }
        for (name, switch) in &self.switch {
            let _ = writeln!(text, "\nswitch {name}, {}, {} ports, {}", switch.kind, switch.ports, switch.words());
            for channel in switch.channels() {
                let _ = writeln!(text, "  {channel}");
            }
        }
        for (name, link) in &self.link {
            let _ = writeln!(text, "\nlink {name}: {} - {}, {}", link.ends[0], link.ends[1], link.words());
        }
        for (name, ring) in &self.ring {
            let _ = writeln!(text, "\nring {name}: {}, {}", ring.ends.join(" - "), ring.words());
        }
        for (name, load) in &self.load {
            let (from, to) = (load.from.0.join(", "), load.to.0.join(", "));
            let _ = writeln!(text, "\nload {name}: {}, {from} - {to}", load.kind);
        }
        for event in &self.event {
            let _ = writeln!(text, "\nevent at {event}");
        }
        text
    }

    fn branch<'a>(
        &self,
        text: &mut String,
        place: (&str, &Host, &'a Graph),
        node: &'a str,
        depth: usize,
        shown: &mut Vec<&'a str>,
    ) {
        let (name, host, graph) = place;
        let below = graph.below(node);
        let again = shown.contains(&node) && !below.is_empty();
        let _ = write!(text, "{}{node}", "  ".repeat(depth));
        if let Some(kind) = host.kind.get(node) {
            let _ = write!(text, " ({kind})");
        }
        if again {
            text.push_str(", as above\n");
            return;
        }
        shown.push(node);
        if let Some(settings) = host.settings.get(node) {
            let settings: Vec<String> = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let _ = write!(text, "  {}", settings.join(", "));
        }
        let plug = format!("{name}.{node}");
        if let Some((link, line)) = self.link.iter().find(|(_, line)| line.ends.contains(&plug)) {
            let other = line.ends.iter().find(|end| **end != plug).map_or("", String::as_str);
            let _ = write!(text, "  -- {link} -- {other}");
        }
        if let Some((ring, _)) = self.ring.iter().find(|(_, ring)| ring.ends.contains(&plug)) {
            let _ = write!(text, "  -- {ring}");
        }
        text.push('\n');
        if depth < DEEPEST {
            for layer in below {
                self.branch(text, place, layer, depth + 1, shown);
            }
        }
    }

    /// The ends of each line, and of each hop of a ring, with what it is.
    fn lines_in_words(&self) -> impl Iterator<Item = ([&str; 2], String)> {
        let lines = self.link.iter().map(|(name, link)| {
            let [one, other] = &link.ends;
            let words = format!("{name}: {}", link.words());
            ([one.as_str(), other.as_str()], words)
        });
        let rings = self.ring.iter().flat_map(|(name, ring)| {
            let words = format!("{name}: {}", ring.words());
            ring.hops().map(move |hop| (hop, words.clone()))
        });
        lines.chain(rings)
    }

    /// The same as a drawing, without the settings.
    #[must_use]
    pub fn graph_svg(&self) -> String {
        let mut page = Group::new().add(words(&self.title, PAD, PAD + TITLE, TITLE).set("font-weight", "bold"));
        let heights: BTreeMap<&str, BTreeMap<&str, usize>> =
            self.host.iter().filter_map(|(name, host)| Some((name.as_str(), levels(host.graph.as_ref()?)))).collect();
        let highest = heights.values().flat_map(BTreeMap::values).max().copied().unwrap_or(0);
        let top = PAD * 2.0 + TITLE * 2.0;
        let bottom = top + LEVEL * float(highest);
        let mut left = PAD;
        let mut plugs: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (name, host) in &self.host {
            let (Some(graph), Some(levels)) = (&host.graph, heights.get(name.as_str())) else {
                continue;
            };
            let (drawn, width) = column(&mut plugs, (name, graph, levels), left, bottom);
            page = page.add(words(name, left, top - LETTER, LETTER).set("font-weight", "bold")).add(drawn);
            left += width + PAD * 2.0;
        }
        let base = bottom + BOX_HEIGHT;
        for (name, switch) in &self.switch {
            let width = box_width(name).max(float(switch.ports) * 24.0);
            page = page.add(boxed(name, left, bottom, width));
            for port in 0..switch.ports.min(DEEPEST) {
                let x = left + width * (float(port) + 0.5) / float(switch.ports);
                plugs.insert(format!("{name}.{port}"), (x, base));
            }
            left += width + PAD * 2.0;
        }
        let mut low = base;
        for (ends, about) in self.lines_in_words() {
            let ends = ends.map(|end| plugs.get(end).copied());
            let [Some((x1, y1)), Some((x2, y2))] = ends else {
                continue;
            };
            low += LETTER * 2.0;
            page = page
                .add(stroke((x1, y1), (x1, low)))
                .add(stroke((x1, low), (x2, low)))
                .add(stroke((x2, low), (x2, y2)))
                .add(words(&about, x1.min(x2) + 6.0, low + LETTER * 0.95, LETTER * 0.85));
            left = left.max(x1.min(x2) + box_width(&about));
        }
        let width = (left - PAD).max(box_width(&self.title) * TITLE / LETTER + PAD * 2.0);
        let height = low + LETTER + PAD;
        let document = svg::Document::new()
            .set("width", at(width))
            .set("height", at(height))
            .set("viewBox", format!("0 0 {} {}", at(width), at(height)))
            .set("font-family", "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif")
            .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff"))
            .add(page);
        format!("{document}\n")
    }
}

/// The boxes of one host with what they stand on, from `left`, devices at `bottom`; and how wide that is.
fn column(
    plugs: &mut BTreeMap<String, (f64, f64)>,
    host: (&str, &Graph, &BTreeMap<&str, usize>),
    left: f64,
    bottom: f64,
) -> (Group, f64) {
    let (name, graph, levels) = host;
    let mut rows: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (node, level) in levels {
        rows.entry(*level).or_default().push(node);
    }
    let row_width = |row: &Vec<&str>| row.iter().map(|node| box_width(node) + BOX_GAP).sum::<f64>() - BOX_GAP;
    let width = rows.values().map(row_width).fold(box_width(name), f64::max);
    let mut places: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let mut boxes = Group::new();
    for (level, row) in &rows {
        let mut x = left + (width - row_width(row)) / 2.0;
        let y = bottom - LEVEL * float(*level);
        for node in row {
            let width = box_width(node);
            boxes = boxes.add(boxed(node, x, y, width));
            let middle = x + width / 2.0;
            places.insert(node, (middle, y));
            plugs.insert(format!("{name}.{node}"), (middle, y + BOX_HEIGHT));
            x += width + BOX_GAP;
        }
    }
    let mut lines = Group::new();
    for (node, (x, y)) in &places {
        for below in graph.below(node) {
            if let Some(to) = places.get(below) {
                lines = lines.add(stroke((*x, y + BOX_HEIGHT), *to));
            }
        }
    }
    (Group::new().add(lines).add(boxes), width)
}

/// The layers that nothing stands on.
fn tops(graph: &Graph) -> Vec<&str> {
    let nodes = graph.nodes();
    let carried: Vec<&str> = nodes.iter().flat_map(|node| graph.below(node)).collect();
    nodes.iter().copied().filter(|node| !carried.contains(node)).collect()
}

/// How many layers are below each, on the longest way. A loaded graph has no loops; one that has ends all the same.
fn levels(graph: &Graph) -> BTreeMap<&str, usize> {
    let nodes = graph.nodes();
    let mut levels: BTreeMap<&str, usize> = nodes.iter().map(|node| (*node, 0)).collect();
    for _ in 0..nodes.len().min(DEEPEST) {
        for node in &nodes {
            let below = graph.below(node);
            let level = below.iter().filter_map(|layer| levels.get(layer)).max().map_or(0, |level| level + 1);
            levels.insert(node, level);
        }
    }
    levels
}

fn boxed(name: &str, x: f64, y: f64, width: f64) -> Group {
    let frame = Rectangle::new()
        .set("x", at(x))
        .set("y", at(y))
        .set("width", at(width))
        .set("height", at(BOX_HEIGHT))
        .set("rx", "4")
        .set("fill", PAPER)
        .set("stroke", INK);
    let name = words(name, x + width / 2.0, y + BOX_HEIGHT * 0.66, LETTER).set("text-anchor", "middle");
    Group::new().add(frame).add(name)
}

fn words(text: &str, x: f64, y: f64, size: f64) -> Text {
    // XML has no form for control characters.
    let text: String = text.chars().map(|c| if kumiki_octets::text::is_unseen(c) { ' ' } else { c }).collect();
    Text::new(text).set("x", at(x)).set("y", at(y)).set("font-size", at(size)).set("fill", INK)
}

fn stroke(from: (f64, f64), to: (f64, f64)) -> Line {
    Line::new().set("x1", at(from.0)).set("y1", at(from.1)).set("x2", at(to.0)).set("y2", at(to.1)).set("stroke", INK)
}

/// Wide enough for `name` in any usual font.
fn box_width(name: &str) -> f64 {
    float(name.chars().count()) * LETTER * 0.68 + 20.0
}

fn at(value: f64) -> String {
    format!("{value:.1}")
}

fn float(n: usize) -> f64 {
    u32::try_from(n).map_or(0.0, f64::from)
}
