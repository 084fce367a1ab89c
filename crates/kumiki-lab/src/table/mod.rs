//! Tables for the terminal, in the shape of the paper's own, with its numbers beside ours.
//!
//! A cell is a value, perhaps with the paper's value and the difference between them: `133.38  paper 133.4  -0.02 %`. A
//! value that the profile was fitted to has a `*`, and the legend says so. Where a table is wider than it may be, the
//! parts of its cells go below each other; where that is not enough, text wraps.
//!
//! Left out: colours, pages, and cells over several columns.

use comfy_table::{CellAlignment, ContentArrangement, TableStyle, presets};

use crate::stats::{Summary, written};
use kumiki_config::shown;

#[cfg(test)]
mod tests;

/// What a `*` behind a value says.
pub(crate) const FITTED: &str = "* the profile was fitted to this value; the others are predicted";

/// A table before it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Above the table: "Table 1: throughput by packet length (Mb/s)".
    pub title: String,
    /// What the row heads are: "packet length".
    pub corner: String,
    /// The column heads.
    pub columns: Vec<String>,
    /// Row heads with their cells; a row may be shorter than the heads.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// Lines below the table: profile, seeds, what was left out. A line that explains `*` is added where one is shown.
    pub legend: Vec<String>,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    value: String,
    number: Option<f64>,
    expected: Option<(&'static str, f64)>,
    fitted: bool,
    word: String,
}

impl Cell {
    /// Nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { value: text.into(), ..Self::default() }
    }

    /// A number with so many decimals.
    #[must_use]
    pub fn number(value: f64, decimals: usize) -> Self {
        Self { value: written(value, decimals), number: Some(value), ..Self::default() }
    }

    /// A number with so many decimals, and its unit behind it.
    #[must_use]
    pub fn number_of(value: f64, decimals: usize, unit: &str) -> Self {
        Self { value: format!("{} {unit}", written(value, decimals)), number: Some(value), ..Self::default() }
    }

    /// A mean with its interval, see [`Summary::short`].
    #[must_use]
    pub fn summary(summary: &Summary, decimals: usize) -> Self {
        Self { value: summary.short(decimals), number: Some(summary.mean), ..Self::default() }
    }

    /// With the value that is expected, where there is one: `whose` is `paper`, where one prints it.
    #[must_use]
    pub fn expected(self, whose: &'static str, value: Option<f64>) -> Self {
        Self { expected: value.map(|value| (whose, value)), ..self }
    }

    /// With the mark of a value that the profile was fitted to.
    #[must_use]
    pub fn fitted(self, fitted: bool) -> Self {
        Self { fitted, ..self }
    }

    /// With a word behind the value.
    #[must_use]
    pub fn word(self, word: impl Into<String>) -> Self {
        Self { word: word.into(), ..self }
    }

    /// With what is not seen escaped.
    fn shown(&self) -> Self {
        Self { value: shown::lines(&self.value), word: shown::lines(&self.word), ..self.clone() }
    }

    /// Whether it is a number, and no words.
    pub(crate) const fn is_number(&self) -> bool {
        self.number.is_some()
    }

    /// Whether the profile was fitted to it.
    pub(crate) const fn is_fitted(&self) -> bool {
        self.fitted
    }

    /// Value, paper's value and difference as they are shown.
    pub(crate) fn parts(&self, marked: bool) -> [String; 3] {
        let mark = match (marked, self.fitted) {
            (false, _) => "",
            (true, true) => "*",
            (true, false) => " ",
        };
        [
            match self.word.as_str() {
                "" => format!("{}{mark}", self.value),
                word => format!("{}{mark} {word}", self.value),
            },
            self.expected.map(|(whose, value)| format!("{whose} {value}")).unwrap_or_default(),
            self.number.zip(self.expected).and_then(|(ours, (_, value))| difference(ours, value)).unwrap_or_default(),
        ]
    }
}

/// How far `ours` is from `paper`, in per cent of it: `-0.02 %`, `+12.3 %`. `None` where `paper` is zero.
#[must_use]
pub fn difference(ours: f64, paper: f64) -> Option<String> {
    let percent = (paper != 0.0).then(|| 100.0 * (ours - paper) / paper)?;
    let text = if percent.abs() < 9.995 { format!("{percent:+.2} %") } else { format!("{percent:+.1} %") };
    Some(if matches!(text.as_str(), "+0.00 %" | "-0.00 %") { "0.00 %".to_owned() } else { text })
}

/// Which characters a table is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lines {
    /// Box-drawing characters.
    #[default]
    Unicode,
    /// `+`, `-` and `|`.
    Ascii,
    /// A Markdown table.
    Markdown,
}

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// Its characters.
    pub lines: Lines,
    /// The most columns of the terminal that it may take; `None` for no limit.
    pub width: Option<u16>,
}

/// How the parts of a cell stand to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Beside,
    Below,
}

impl Table {
    /// Draws the table, with title and legend; ends with a line feed. What is not seen is escaped.
    #[must_use]
    pub fn draw(&self, layout: Layout) -> String {
        self.shown().draw_shown(layout)
    }

    /// With what is not seen escaped, so that it has the width that it takes.
    fn shown(&self) -> Self {
        let row = |(head, cells): &(String, Vec<Cell>)| (shown::lines(head), cells.iter().map(Cell::shown).collect());
        Self {
            title: shown::lines(&self.title),
            corner: shown::lines(&self.corner),
            columns: self.columns.iter().map(|head| shown::lines(head)).collect(),
            rows: self.rows.iter().map(row).collect(),
            legend: self.legend.iter().map(|line| shown::lines(line)).collect(),
        }
    }

    fn draw_shown(&self, layout: Layout) -> String {
        let beside = self.grid(layout, Parts::Beside);
        let fits = |grid: &str| layout.width.is_none_or(|width| widest(grid) <= usize::from(width));
        // Markdown has no cells of several lines.
        let grid =
            if fits(&beside) || layout.lines == Lines::Markdown { beside } else { self.grid(layout, Parts::Below) };
        let mut text = String::new();
        if !self.title.is_empty() {
            text.push_str(&self.title);
            text.push('\n');
            if layout.lines == Lines::Markdown {
                text.push('\n');
            }
        }
        text.push_str(&grid);
        text.push('\n');
        let mark = self.is_fitted().then_some(FITTED);
        for line in mark.into_iter().chain(self.legend.iter().map(String::as_str)) {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Whether it has a value with a `*`.
    pub(crate) fn is_fitted(&self) -> bool {
        self.rows.iter().flat_map(|(_, cells)| cells).any(Cell::is_fitted)
    }

    fn grid(&self, layout: Layout, parts: Parts) -> String {
        let mut grid = comfy_table::Table::new();
        grid.load_style(style(layout.lines, parts));
        match (layout.width, parts) {
            // Only where nothing else helps does text wrap.
            (Some(width), Parts::Below) => {
                grid.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            }
            _ => {
                grid.set_content_arrangement(ContentArrangement::Disabled);
            }
        }
        let right = |text: String| comfy_table::Cell::new(text).set_alignment(CellAlignment::Right);
        let count = self.rows.iter().map(|(_, cells)| cells.len()).chain([self.columns.len()]).max().unwrap_or(0);
        let heads = (0..count).map(|i| right(self.columns.get(i).cloned().unwrap_or_default()));
        grid.set_header(std::iter::once(comfy_table::Cell::new(&self.corner)).chain(heads));
        let columns: Vec<Vec<String>> = (0..count).map(|i| self.column(i, parts)).collect();
        for (j, (head, _)) in self.rows.iter().enumerate() {
            let cells = columns.iter().map(|column| right(column.get(j).cloned().unwrap_or_default()));
            grid.add_row(std::iter::once(comfy_table::Cell::new(named(head))).chain(cells));
        }
        grid.trim_fmt()
    }

    /// The cells of one column, their parts aligned with each other.
    fn column(&self, index: usize, parts: Parts) -> Vec<String> {
        let marked = self.rows.iter().filter_map(|(_, cells)| cells.get(index)).any(|c| c.fitted);
        let of_row = |cells: &[Cell]| cells.get(index).map(|c| c.parts(marked)).unwrap_or_default();
        let rows: Vec<[String; 3]> = self.rows.iter().map(|(_, cells)| of_row(cells)).collect();
        match parts {
            Parts::Below => rows
                .iter()
                .map(|parts| {
                    let filled: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.trim().is_empty()).collect();
                    filled.join("\n")
                })
                .collect(),
            Parts::Beside => {
                let mut widths = [0; 3];
                for row in &rows {
                    for (width, part) in widths.iter_mut().zip(row) {
                        *width = (*width).max(part.chars().count());
                    }
                }
                rows.iter()
                    .map(|row| {
                        let aligned = row.iter().zip(widths).filter(|(_, width)| *width > 0);
                        aligned.map(|(part, width)| format!("{part:>width$}")).collect::<Vec<_>>().join("  ")
                    })
                    .collect()
            }
        }
    }
}

/// What a row is called; where nothing is varied the only point has no name.
pub(crate) const fn named(head: &str) -> &str {
    if head.is_empty() { "the only point" } else { head }
}

fn style(lines: Lines, parts: Parts) -> TableStyle {
    match (lines, parts) {
        (Lines::Unicode, Parts::Beside) => presets::UTF8_FULL_CONDENSED,
        (Lines::Unicode, Parts::Below) => presets::UTF8_FULL,
        (Lines::Ascii, Parts::Beside) => presets::ASCII_FULL_CONDENSED,
        (Lines::Ascii, Parts::Below) => presets::ASCII_FULL,
        (Lines::Markdown, _) => presets::ASCII_MARKDOWN,
    }
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}
