//! One scenario: figures, tables, verdicts, notes, and what bound each point.

use super::Part;
use super::html::Html;
use crate::figure::Figure;
use crate::reproduce::{Judgement, Verdict};
use crate::table::{Cell, FITTED, Table, named};

impl Part {
    /// All of it below `heading`.
    pub(super) fn write(&self, html: &mut Html, heading: &str) {
        let id = self.id();
        let title = format!("{id}-title");
        html.open("section", &[("id", &id), ("aria-labelledby", &title)]);
        html.leaf("h2", &[("id", &title)], heading);
        for paragraph in self.about.split("\n\n").map(str::trim).filter(|it| !it.is_empty()) {
            html.prose("p", &[], paragraph);
        }
        for (label, why) in &self.failures {
            let colon = if label.is_empty() { "" } else { ": " };
            html.leaf("p", &[("class", "failed")], &format!("✗ failed: {label}{colon}{why}"));
        }
        for it in &self.figures {
            figure(html, it);
        }
        for it in self.tables.iter().filter(|table| !table.rows.is_empty()) {
            table(html, it);
        }
        if !self.meaning.is_empty() {
            html.open("dl", &[]);
            for (word, meaning) in &self.meaning {
                html.leaf("dt", &[], word);
                html.prose("dd", &[], meaning);
            }
            html.close();
        }
        let verdicts: Vec<&Verdict> = self.verdicts.iter().collect();
        if !verdicts.is_empty() {
            let is_of_paper = verdicts.iter().any(|it| it.paper.is_some());
            let whose = if is_of_paper { "the paper says" } else { "is expected" };
            html.leaf("h3", &[], &format!("What {whose}"));
            self::verdicts(html, &format!("What {whose}, and whether it holds here"), &verdicts, false);
        }
        self.write_bounds(html);
        self.write_notes(html);
        self.write_courses(html);
        self.write_flows(html);
        if !self.scenario.is_empty() {
            html.open("details", &[]);
            html.leaf("summary", &[], "The scenario at its first point, with everything put in");
            html.leaf("pre", &[("tabindex", "0")], &self.scenario);
            html.close();
        }
        html.close();
    }

    fn write_bounds(&self, html: &mut Html) {
        let bounds = [
            ("What bound each point, and what was lost", &self.bounds),
            ("What bound each flow, and what it retransmitted", &self.each_flow),
        ];
        for (summary, it) in bounds.into_iter().filter(|(_, table)| !table.rows.is_empty()) {
            // Where no paper says what should have come out, this is what a reader asks first.
            html.open("details", if self.glance.is_empty() { &[] } else { &[("open", "open")] });
            html.leaf("summary", &[], summary);
            table(html, it);
            if !it.legend.is_empty() {
                html.open("details", &[]);
                html.leaf("summary", &[], "What these words mean");
                list(html, it.legend.iter().map(String::as_str));
                html.close();
            }
            html.close();
        }
    }

    fn write_notes(&self, html: &mut Html) {
        let is_fitted = self.tables.iter().any(Table::is_fitted);
        let notes: Vec<&str> =
            is_fitted.then_some(FITTED).into_iter().chain(self.notes().map(String::as_str)).collect();
        if notes.is_empty() {
            return;
        }
        html.leaf("h3", &[], "Notes");
        list(html, notes.into_iter());
    }
}

/// Notes; nothing where there are none.
pub(super) fn list<'a>(html: &mut Html, notes: impl Iterator<Item = &'a str>) {
    let mut notes = notes.peekable();
    if notes.peek().is_none() {
        return;
    }
    html.open("ul", &[("class", "notes")]);
    for note in notes {
        html.prose("li", &[], note);
    }
    html.close();
}

/// Begins what scrolls by itself where it is wider than the page; a keyboard reaches it.
pub(super) fn scroll(html: &mut Html, label: &str) {
    html.open("div", &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", label)]);
}

/// As wide as a page; and where a style sheet shows one of both, for a narrow screen as well. None makes that of the
/// other: letters would shrink with the rest.
pub(super) fn figure(html: &mut Html, figure: &Figure) {
    let narrow = html.is_styled().then(|| ("narrow", figure.to_narrow_svg()));
    for (class, svg) in [("wide", figure.to_svg())].into_iter().chain(narrow) {
        html.open("figure", &[("class", class)]);
        scroll(html, &format!("Figure: {}", figure.title));
        // Its words are escaped where it is drawn.
        html.raw(&svg);
        html.close();
        html.close();
    }
}

pub(super) fn heads<'a>(html: &mut Html, names: impl Iterator<Item = &'a str>) {
    html.open("thead", &[]);
    html.open("tr", &[]);
    for name in names {
        html.leaf("th", &[("scope", "col")], name);
    }
    html.close();
    html.close();
}

pub(super) fn table(html: &mut Html, table: &Table) {
    scroll(html, &format!("Table: {}", table.title));
    html.open("table", &[]);
    html.leaf("caption", &[], &table.title);
    let count = table.rows.iter().map(|(_, cells)| cells.len()).chain([table.columns.len()]).max().unwrap_or(0);
    let columns = (0..count).map(|i| table.columns.get(i).map_or("", String::as_str));
    heads(html, std::iter::once(table.corner.as_str()).chain(columns));
    html.open("tbody", &[]);
    for (head, cells) in &table.rows {
        html.open("tr", &[]);
        html.leaf("th", &[("scope", "row")], named(head));
        for i in 0..count {
            cell(html, cells.get(i));
        }
        html.close();
    }
    html.close();
    html.close();
    html.close();
}

fn cell(html: &mut Html, cell: Option<&Cell>) {
    let Some(cell) = cell else {
        return html.leaf("td", &[], "");
    };
    let [value, paper, difference] = cell.parts(cell.is_fitted());
    let class = match value.chars().count() {
        _ if cell.is_number() => "number",
        length if length > LONG => "long",
        _ => "",
    };
    let attributes = [("class", class)];
    html.open("td", if class.is_empty() { &[] } else { &attributes });
    html.text(&value);
    if !paper.is_empty() {
        let difference = if difference.is_empty() { String::new() } else { format!(" ({difference})") };
        html.leaf("span", &[("class", "paper")], &format!("{paper}{difference}"));
    }
    html.close();
}

/// Its class, and its sign and word: colour alone says nothing.
pub(super) const fn judgement(judgement: Judgement) -> (&'static str, &'static str) {
    match judgement {
        Judgement::Holds => ("holds", "✓ holds"),
        Judgement::Misses => ("misses", "✗ misses"),
        Judgement::Open => ("open", "? open"),
    }
}

/// So many characters in a cell want more room than a narrow column gives.
const LONG: usize = 24;

/// What papers say; of several scenarios with where that is.
pub(super) fn verdicts(html: &mut Html, title: &str, verdicts: &[&Verdict], are_of_several: bool) {
    scroll(html, title);
    html.open("table", &[]);
    html.leaf("caption", &[], title);
    heads(html, ["statement", "verdict", "here", "would agree", "at"].into_iter());
    html.open("tbody", &[]);
    for verdict in verdicts {
        html.open("tr", &[]);
        html.open("th", &[("scope", "row")]);
        html.words(&verdict.statement);
        let place = if are_of_several { verdict.place() } else { String::new() };
        let from: Vec<&str> = [place.as_str(), &verdict.source].into_iter().filter(|it| !it.is_empty()).collect();
        html.prose("span", &[("class", "from")], &from.join(", "));
        if !verdict.number.is_empty() {
            html.prose("span", &[("class", "from")], &format!("judged: {}", verdict.number));
        }
        html.close();
        let (class, word) = judgement(verdict.verdict);
        html.open("td", &[]);
        html.leaf("span", &[("class", class)], word);
        if verdict.verdict == Judgement::Open && !verdict.lacking.is_empty() {
            html.leaf("span", &[("class", "from")], verdict.why_open());
        }
        if verdict.fitted {
            html.leaf("span", &[("class", "from")], "a price was fitted to it, or chosen for it");
        }
        html.close();
        html.open("td", &[("class", "number")]);
        html.text(&verdict.here());
        if !verdict.distance().is_empty() {
            html.leaf("span", &[("class", "from")], &format!("{} from it", verdict.distance()));
        }
        html.close();
        html.open("td", &[]);
        html.text(&verdict.agreement());
        let within = verdict.within();
        let within = if within.is_empty() { within } else { format!(", give or take {within}") };
        html.leaf("span", &[("class", "from")], &format!("{}{within}", verdict.whose()));
        html.close();
        html.leaf("td", &[], &verdict.at);
        html.close();
    }
    html.close();
    html.close();
    html.close();
}
