//! A ladder as a table, as result rows, and over the size of the payload.

use kumiki_octets::text::counted;

use super::{Carried, Ladder, LadderError, Line, Overhead, PathLine, Ratio, Step, ladder, short};
use crate::figure::{Axis, Figure, Point, Scale, Series, Shape};
use crate::rows::{Parameter, Row};
use crate::table::{Cell, Table};

/// What paper 2 prints in table 2, in 10^6 bit/s.
pub const PAPER_2: [f64; 4] = [155.52, 149.76, 135.632, 134.581];

/// The steps of `ladder`, all of them, as a table. `paper` has the values that a paper prints for the steps of
/// [`Ladder::condensed`], in order; they stand beside the steps that they are about.
#[must_use]
pub fn table(ladder: &Ladder, paper: &[f64]) -> Table {
    let shares = ladder.steps.iter().filter(|step| step.octets.is_none());
    let shares = shares.count();
    let last = ladder.steps.len() - 1;
    let row = |(number, step): (usize, &Step)| {
        let paper = if number < shares {
            paper.get(number)
        } else if number == last {
            paper.get(shares)
        } else {
            None
        };
        let octets = step.octets.map_or_else(Cell::empty, |octets| Cell::text(short(octets)));
        let factor = match step.factor {
            (1, 1) => Cell::empty(),
            (left, there) => Cell::text(format!("{left}/{there}")),
        };
        let rate = Cell::number(step.rate_mbps.as_f64(), 3).expected("paper", paper.copied());
        (step.name.clone(), vec![rate, factor, octets, Cell::text(&step.note)])
    };
    let heads = ["Mb/s", "left", "octets", "what it is"];
    Table {
        title: format!(
            "From line rate to goodput, {} of user data in a {}",
            counted(ladder.payload_octets, "octet"),
            if is_one_packet(ladder) { "packet" } else { "message" }
        ),
        corner: "after".to_owned(),
        columns: heads.map(str::to_owned).to_vec(),
        rows: ladder.steps.iter().enumerate().map(row).collect(),
        legend: legend(ladder, paper),
    }
}

fn is_one_packet(ladder: &Ladder) -> bool {
    ladder.pieces == Ratio::whole(1)
}

fn legend(ladder: &Ladder, paper: &[f64]) -> Vec<String> {
    let mut lines = Vec::new();
    let octets = short(ladder.packet_octets);
    let unit = if is_one_packet(ladder) {
        format!("A packet is {octets} octets")
    } else {
        format!("A message is {octets} octets in {} packets", short(ladder.pieces))
    };
    if let Some(cells) = ladder.cells {
        let cells = counted(cells, "cell");
        lines.push(format!("{unit} in {cells}, {} of them padding.", short(ladder.padding_octets)));
    } else {
        lines.push(format!("{unit}."));
    }
    let rounded = ladder.paper_arithmetic(3);
    let (exact, by_paper) = (ladder.goodput_mbps(), rounded.last());
    if !paper.is_empty()
        && let Some(by_paper) = by_paper
        && exact.rounded(3).as_ref() != Some(by_paper)
    {
        lines.push(format!(
            "Paper arithmetic, each step rounded to 3 decimals before the next: {by_paper:.3}; exactly {exact:.6}."
        ));
    }
    lines
}

/// What each of `lines` carries, in a line for each kind of what they carry; nothing where there is only one, of which
/// the ladder says it.
#[must_use]
pub fn on_way(lines: &[PathLine]) -> String {
    if lines.len() < 2 && lines.iter().all(|line| line.carried != Carried::Calls) {
        return String::new();
    }
    let least = lines.iter().map(|line| line.leaves_mbps).fold(f64::INFINITY, f64::min);
    let is_least = |line: &PathLine| line.leaves_mbps - least <= 1e-9;
    // Where several are so, none of them alone.
    let narrowest = if lines.iter().filter(|line| is_least(line)).count() == 1 { "the" } else { "one of the" };
    let told = |line: &PathLine| {
        let narrowest = match line.carried {
            _ if !is_least(line) => String::new(),
            Carried::Requests => format!(", {narrowest} narrowest: it leaves the answers {:.3}", line.leaves_mbps),
            Carried::Data | Carried::Answers | Carried::Calls => format!(", {narrowest} narrowest"),
        };
        let from = line.from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default();
        format!("{}{from} {:.3}{narrowest}", line.line, line.mbps)
    };
    let kinds = [
        (Carried::Data, "Lines on the way, each alone (Mb/s)"),
        (Carried::Answers, "Lines on the way of the answers, each alone (Mb/s)"),
        (Carried::Calls, "Rings on both ways, each alone (Mb/s of answers, with the requests beside them)"),
        (Carried::Requests, "Lines on the way of the requests, each alone (Mb/s of requests, one for each answer)"),
    ];
    let mut text = String::new();
    for (carried, head) in kinds {
        let own: Vec<String> = lines.iter().filter(|line| line.carried == carried).map(told).collect();
        if !own.is_empty() {
            text += &format!("{head}: {}\n", own.join("; "));
        }
    }
    text
}

/// The steps of [`Ladder::condensed`] as result rows of `paper`'s `figure`, varied over `step`. `printed` has the
/// paper's values, in order.
#[must_use]
pub fn rows(ladder: &Ladder, paper: Option<u8>, figure: &str, printed: &[f64]) -> Vec<Row> {
    let payload = u64::from(ladder.payload_octets);
    let row = |(number, step): (usize, Step)| Row {
        paper,
        figure: figure.to_owned(),
        series: "limit".to_owned(),
        varied: vec![
            ("step".to_owned(), Parameter::Text(step.name)),
            ("message_bytes".to_owned(), Parameter::Count(payload)),
        ],
        goodput_mbps: step.rate_mbps.as_f64(),
        limit_mbps: Some(step.rate_mbps.as_f64()),
        bound_by: "link".to_owned(),
        paper_mbps: printed.get(number).copied(),
        profile: "zero".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Row::default()
    };
    ladder.condensed().into_iter().enumerate().map(row).collect()
}

/// The goodput for each of these sizes of the payload, in octets and 10^6 bit/s.
///
/// # Errors
/// As [`ladder`].
pub fn sweep(
    line: &Line,
    layers: &[Overhead],
    payloads: impl IntoIterator<Item = u32>,
) -> Result<Vec<(u32, f64)>, LadderError> {
    payloads.into_iter().map(|octets| Ok((octets, ladder(line, layers, octets)?.goodput_mbps().as_f64()))).collect()
}

/// The limit against the size of the payload: over cells a sawtooth with a tooth each 48 octets.
///
/// # Errors
/// As [`ladder`].
pub fn figure(
    line: &Line,
    layers: &[Overhead],
    payloads: impl IntoIterator<Item = u32>,
) -> Result<Figure, LadderError> {
    let points = sweep(line, layers, payloads)?;
    let names: Vec<&str> = layers.iter().rev().map(|layer| layer.name.as_str()).collect();
    Ok(Figure {
        title: "What the line allows, by size of the payload".to_owned(),
        x: Axis {
            label: "user data in a packet".to_owned(),
            unit: "octets".to_owned(),
            scale: Scale::Linear,
            range: None,
        },
        y: Axis { label: "goodput".to_owned(), unit: "Mb/s".to_owned(), ..Axis::default() },
        series: vec![Series {
            label: line.name.clone(),
            shape: Shape::Curve,
            points: points.into_iter().map(|(x, y)| Point::new(f64::from(x), y)).collect(),
            paper: Vec::new(),
        }],
        limits: Vec::new(),
        caption: format!("Exact arithmetic; {}.", names.join(", ")),
        ..Figure::default()
    })
}
