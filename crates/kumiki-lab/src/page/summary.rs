//! What comes first: how much of what papers say holds, what misses, and which scenarios there are.

use kumiki_octets::text::counted;

use super::html::Html;
use super::{Page, Part, parts};
use crate::reproduce::{Judgement, Verdict};

impl Page {
    pub(super) fn summary(&self, html: &mut Html) {
        html.open("section", &[("id", "summary"), ("class", "first"), ("aria-labelledby", "summary-title")]);
        html.leaf("h2", &[("id", "summary-title")], "Summary");
        let verdicts: Vec<&Verdict> = self.parts.iter().flat_map(|part| &part.verdicts).collect();
        if !verdicts.is_empty() {
            counts(html, &verdicts);
        }
        if let Some(origins) = &self.origins {
            html.leaf("p", &[], origins);
        }
        if !self.systems.is_empty() {
            html.leaf("h3", &[], "Where what is here differs from the papers' systems");
            html.open("ul", &[("class", "notes")]);
            for system in &self.systems {
                html.prose("li", &[], system);
            }
            html.close();
        }
        self.failures(html);
        for part in self.parts.iter().filter(|part| !part.glance.is_empty()) {
            if self.parts.len() > 1 {
                html.leaf("h3", &[], &part.title);
            }
            html.open("dl", &[]);
            for (what, said) in &part.glance {
                html.leaf("dt", &[], what);
                html.leaf("dd", &[], said);
            }
            html.close();
        }
        let misses: Vec<&Verdict> = of(&verdicts, Judgement::Misses).collect();
        if !misses.is_empty() {
            html.leaf("h3", &[], "What misses");
            parts::verdicts(html, "Statements that do not hold here", &misses, true);
        }
        if self.parts.len() > 1 {
            html.leaf("h3", &[], "Scenarios");
            self.overview(html);
        }
        html.close();
    }

    fn failures(&self, html: &mut Html) {
        let failures: usize = self.parts.iter().map(|part| part.failures.len()).sum();
        if failures > 0 {
            let points: usize = self.parts.iter().map(|part| part.points).sum();
            html.leaf(
                "p",
                &[("class", "failed")],
                &format!("✗ {failures} of {} failed.", counted(points as u64, "point")),
            );
        }
    }

    /// Each scenario in a line.
    fn overview(&self, html: &mut Html) {
        parts::scroll(html, "Scenarios");
        html.open("table", &[]);
        html.leaf("caption", &[], "What was run, and what became of what papers say of it");
        parts::heads(html, ["scenario", "points", "failed", "hold", "miss", "open"].into_iter());
        html.open("tbody", &[]);
        for part in &self.parts {
            html.open("tr", &[]);
            html.open("th", &[("scope", "row")]);
            html.leaf("a", &[("href", &format!("#{}", part.id()))], &part.title);
            html.close();
            let of = |wanted| part.verdicts.iter().filter(|it| it.verdict == wanted).count();
            let judged = [Judgement::Holds, Judgement::Misses, Judgement::Open].map(of);
            for count in [part.points, part.failures.len()].into_iter().chain(judged) {
                html.leaf("td", &[("class", "number")], &shown(count));
            }
            html.close();
        }
        html.close();
        html.close();
        html.close();
    }
}

/// Nothing is told from something at a glance.
fn shown(count: usize) -> String {
    if count == 0 { "–".to_owned() } else { count.to_string() }
}

fn of<'a>(verdicts: &'a [&'a Verdict], wanted: Judgement) -> impl Iterator<Item = &'a Verdict> {
    verdicts.iter().copied().filter(move |it| it.verdict == wanted)
}

fn counts(html: &mut Html, verdicts: &[&Verdict]) {
    let of_papers = verdicts.iter().any(|it| it.paper.is_some());
    let what = if of_papers { "Values and sentences of papers" } else { "What is expected" };
    html.leaf("p", &[], &format!("{what}, judged by what came out here:"));
    html.open("ul", &[("class", "counts")]);
    let lack = of(verdicts, Judgement::Open).any(|it| !it.lacking.is_empty());
    let or = if lack { ", or they have no such value" } else { "" };
    let open = format!("not all of their points are there{or}");
    for (wanted, note) in [(Judgement::Holds, ""), (Judgement::Misses, ""), (Judgement::Open, open.as_str())] {
        let count = of(verdicts, wanted).count();
        if count == 0 && wanted == Judgement::Open {
            continue;
        }
        let (class, word) = parts::judgement(wanted);
        html.open("li", &[]);
        html.leaf("b", &[], &count.to_string());
        html.leaf("span", &[("class", class)], word);
        if count > 0 && !note.is_empty() {
            html.leaf("small", &[], note);
        }
        html.close();
    }
    html.close();
}

impl Part {
    /// What is not told by verdicts already.
    pub(super) fn notes(&self) -> impl Iterator<Item = &String> {
        let meanings = self.meaning.iter().map(|(word, meaning)| format!("{word}: {meaning}"));
        let told: Vec<String> = self.verdicts.iter().map(Verdict::told).chain(meanings).collect();
        let notes = self.tables.iter().flat_map(|table| &table.legend);
        notes.filter(move |note| !told.contains(note))
    }
}
