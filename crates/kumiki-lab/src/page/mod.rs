//! One page with all results, for whoever has them to read.
//!
//! | | |
//! |---|---|
//! | Specification | HTML (living standard), written so that it is well-formed XML as well; WCAG 2.2 level AA: contrast, headings, table heads, focus; figures as in [`figure`](crate::figure) |
//! | Left out | results of other runs beside these |
//!
//! The script adds values under the mouse, a part of a figure as the whole, switches for series, and one for the theme;
//! without it the page is whole. Nothing on it moves by itself.
//!
//! The file stands alone: style, script and figures are in it, and its `Content-Security-Policy` lets a browser fetch
//! nothing. What comes from a scenario is escaped at one place, when it is written. The same results give the same
//! octets; only [`Page::provenance`] says where and when.
//!
//! Why no template engine: a page is mostly loops over tables, which are shorter in Rust than in a template with Rust
//! in it, and what an engine would be trusted with, escaping, is one function here.

use crate::figure::Figure;
use crate::reproduce::Verdict;
use crate::table::Table;

mod courses;
mod flows;
mod html;
mod parts;
mod summary;
#[cfg(test)]
mod tests;

use html::Html;

const STYLE: &str = include_str!("page.css");

/// Has neither `<` nor `&` in it, so that it is XML as it is.
const SCRIPT: &str = concat!(include_str!("zoom.js"), include_str!("page.js"));

/// What a browser may load: nothing from anywhere, and of what is in the file no more than is needed.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Everything on the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Its first heading, and what a browser calls it.
    pub title: String,
    /// Of where the numbers of verdicts come from, in a sentence.
    pub origins: Option<String>,
    /// How what is here differs from the systems of the papers.
    pub systems: Vec<String>,
    /// The scenarios.
    pub parts: Vec<Part>,
    /// Where the results come from: names with values.
    pub provenance: Vec<(String, String)>,
}

/// One scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Its name: no two of a page have the same.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// What a reader should know; paragraphs are apart by an empty line.
    pub about: String,
    /// How many points it has.
    pub points: usize,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its tables; their legends are notes.
    pub tables: Vec<Table>,
    /// What words mean that stand in figures and tables.
    pub meaning: Vec<(String, String)>,
    /// What papers say, and whether it holds.
    pub verdicts: Vec<Verdict>,
    /// How it went in a few lines: what, and how much of it. Empty where a paper says what should have come out.
    pub glance: Vec<(String, String)>,
    /// What bound each point, and what was lost on the way.
    pub bounds: Table,
    /// The same of each flow; without rows where no load has several.
    pub each_flow: Table,
    /// Values over time.
    pub courses: Vec<PointSeries>,
    /// The points that failed, and why.
    pub failures: Vec<(String, String)>,
    /// What captures show of connections.
    pub flows: Vec<Flow>,
    /// The scenario with everything put in, as TOML.
    pub scenario: String,
}

/// Values of one point over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointSeries {
    /// Of which point; empty where there is only one.
    pub place: String,
    /// What happens to lines, hosts and loads, and what else a reader should know.
    pub notes: Vec<String>,
    /// Figures, each with the table of its values.
    pub figures: Vec<(Figure, Table)>,
}

/// A connection as a capture shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Of which point, and seen where: "loss 0.1 %, near.p2p0".
    pub place: String,
    /// Sequence numbers over time.
    pub figure: Figure,
    /// Its first packets: a line of each, and all that is in it.
    pub packets: Vec<(String, String)>,
    /// Whether these are all that there are of it.
    pub are_all: bool,
    /// What a reader should know of both.
    pub notes: Vec<String>,
}

impl Page {
    /// The page as a file.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut html = Html::styled();
        html.raw("<!DOCTYPE html>\n");
        html.open("html", &[("lang", "en"), ("xmlns", "http://www.w3.org/1999/xhtml")]);
        self.head(&mut html);
        html.open("body", &[]);
        html.leaf("a", &[("class", "skip"), ("href", "#summary")], "To the summary");
        html.open("header", &[]);
        html.leaf("h1", &[], &self.title);
        self.navigation(&mut html);
        html.close();
        html.open("main", &[]);
        self.summary(&mut html);
        for part in &self.parts {
            part.write(&mut html, self.heading(part));
        }
        html.close();
        self.footer(&mut html);
        html.open("script", &[]);
        html.raw(SCRIPT);
        html.close();
        html.finish()
    }

    /// What stands above a part. What stands above all of the page need not stand above the only part of it again.
    fn heading<'a>(&self, part: &'a Part) -> &'a str {
        if self.parts.len() == 1 && part.title == self.title { "Results" } else { &part.title }
    }

    fn head(&self, html: &mut Html) {
        html.open("head", &[]);
        html.void("meta", &[("charset", "utf-8")]);
        html.void("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
        html.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
        html.leaf("title", &[], &self.title);
        // Without it a browser asks a server for one.
        html.void("link", &[("rel", "icon"), ("href", "data:,")]);
        html.open("style", &[]);
        html.raw(STYLE);
        html.close();
        html.close();
    }

    fn navigation(&self, html: &mut Html) {
        html.open("nav", &[("aria-label", "On this page")]);
        // Of many scenarios the summary has a list.
        html.open("details", if self.parts.len() <= 6 { &[("open", "open")] } else { &[] });
        html.leaf("summary", &[], "On this page");
        html.open("ul", &[]);
        let parts = self.parts.iter().map(|part| (part.id(), self.heading(part).to_owned()));
        let ends = [("provenance".to_owned(), "Where this comes from".to_owned())];
        for (id, title) in [("summary".to_owned(), "Summary".to_owned())].into_iter().chain(parts).chain(ends) {
            html.open("li", &[]);
            html.leaf("a", &[("href", &format!("#{id}"))], &title);
            html.close();
        }
        html.close();
        html.close();
        html.close();
    }

    fn footer(&self, html: &mut Html) {
        html.open("footer", &[]);
        html.open("section", &[("id", "provenance"), ("aria-labelledby", "provenance-title")]);
        html.leaf("h2", &[("id", "provenance-title")], "Where this comes from");
        html.open("dl", &[]);
        for (name, value) in &self.provenance {
            html.leaf("dt", &[], name);
            html.leaf("dd", &[], value);
        }
        html.close();
        html.close();
        html.close();
    }
}

impl Part {
    /// What stands of it on the page, alone.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut html = Html::default();
        self.write(&mut html, &self.title);
        html.finish()
    }

    /// What links to it say. A name may have any characters that a file's may.
    fn id(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
        format!("scenario-{}", self.name.chars().map(plain).collect::<String>())
    }
}
