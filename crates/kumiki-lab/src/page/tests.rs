//! Judged by a strict parser of XML, which knows nothing of how the page is written.

use roxmltree::{Document, Node, ParsingOptions};

use super::*;
use crate::figure::contrast::contrast;
use crate::figure::{Point, Series, Shape};
use crate::reproduce::Judgement;
use crate::table::Cell;

/// What must not do anything on a page.
const HOSTILE: &str = "</script></style><script>alert(1)</script>\"'&amp;<!--]]>\u{202e}\u{0}\u{2028}\u{feff}";
/// The same as a reader sees it.
const SHOWN: &str = "</script></style><script>alert(1)</script>\"'&amp;<!--]]>\\u{202e}\\u{0}\\u{2028}\\u{feff}";

fn verdict(text: &str, verdict: Judgement) -> Verdict {
    Verdict {
        paper: Some(2),
        scenario: text.to_owned(),
        figure: text.to_owned(),
        statement: text.to_owned(),
        number: text.to_owned(),
        at: text.to_owned(),
        source: text.to_owned(),
        value: Some(133.4),
        least: None,
        most: Some(140.07),
        ours: Some(133.37),
        difference: Some(-0.03),
        unit: "Mb/s",
        verdict,
        lacking: String::new(),
        fitted: true,
        ours_reading: true,
    }
}

fn span(text: &str) -> Series {
    let point = Point { spread: Some((1.0, 3.0)), said: text.to_owned(), ..Point::new(1.0, 3.0) };
    Series { label: text.to_owned(), shape: Shape::Span, points: vec![point], ..Series::default() }
}

/// A time at which something happens beside a curve.
fn course(text: &str, table: Table) -> PointSeries {
    let curve = Series {
        label: text.to_owned(),
        shape: Shape::Curve,
        points: vec![Point::new(1.0, 2.0), Point::new(3.0, 2.5)],
        ..Series::default()
    };
    let time = Point { said: text.to_owned(), ..Point::new(2.0, 0.0) };
    let times = Series { label: text.to_owned(), shape: Shape::Mark, points: vec![time], ..Series::default() };
    let figure = Figure { title: text.to_owned(), series: vec![curve, times], ..Figure::default() };
    PointSeries { place: text.to_owned(), notes: vec![text.to_owned()], figures: vec![(figure, table)] }
}

fn part(name: &str, text: &str) -> Part {
    let table = Table {
        title: text.to_owned(),
        corner: text.to_owned(),
        columns: vec![text.to_owned(), "second".to_owned()],
        rows: vec![
            (text.to_owned(), vec![Cell::number(133.37, 2).expected("paper", Some(133.4)).fitted(true).word(text)]),
            ("short".to_owned(), Vec::new()),
        ],
        legend: vec![text.to_owned()],
    };
    let series = Series { label: text.to_owned(), points: vec![Point::new(1.0, 2.0)], ..Series::default() };
    Part {
        name: name.to_owned(),
        title: text.to_owned(),
        about: format!("{text}\n\nA second paragraph."),
        points: 2,
        figures: vec![Figure {
            title: text.to_owned(),
            series: vec![series],
            caption: text.to_owned(),
            ..Figure::default()
        }],
        tables: vec![table.clone()],
        meaning: vec![(text.to_owned(), text.to_owned())],
        verdicts: vec![verdict(text, Judgement::Misses), verdict("plain", Judgement::Holds)],
        glance: vec![(text.to_owned(), text.to_owned())],
        bounds: table.clone(),
        each_flow: table.clone(),
        courses: vec![course(text, table.clone()), course(text, table)],
        failures: vec![(text.to_owned(), text.to_owned())],
        flows: vec![Flow {
            place: text.to_owned(),
            figure: Figure { title: text.to_owned(), series: vec![span(text)], ..Figure::default() },
            packets: vec![(text.to_owned(), text.to_owned())],
            are_all: true,
            notes: vec![text.to_owned()],
        }],
        scenario: format!("title = \"{text}\"\n"),
    }
}

fn page(text: &str) -> String {
    let parts = vec![part("one", text), part("../\"two\" <b>", text)];
    let (origins, systems) = (Some(text.to_owned()), vec![text.to_owned()]);
    Page { title: text.to_owned(), origins, systems, parts, provenance: vec![(text.to_owned(), text.to_owned())] }
        .to_html()
}

fn parsed(html: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(html, options).unwrap()
}

fn named<'a>(document: &'a Document<'_>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.has_tag_name(name) || node.tag_name().name() == name)
}

fn words(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|it| it.text()).collect()
}

#[test]
fn what_a_scenario_says_is_read_and_does_nothing() {
    let html = page(HOSTILE);
    let document = parsed(&html);
    let heading = named(&document, "h1").next().unwrap();
    assert_eq!(words(heading), SHOWN);
    assert!(!html.contains("alert(1)</script>"), "it ends a script");
    assert!(named(&document, "script").all(|node| !words(node).contains("alert(1)")));
    assert!(named(&document, "style").all(|node| !words(node).contains("alert(1)")));
    // Everything that was said is there: title, about, table, statement, note, why it failed, scenario, provenance.
    for name in ["h1", "h2", "h4", "p", "caption", "th", "td", "li", "pre", "summary", "dt", "dd", "a"] {
        assert!(named(&document, name).any(|node| words(node).contains(SHOWN)), "{name}");
    }
}

#[test]
fn links_lead_to_places_that_are_there_once() {
    let html = page("A title");
    let document = parsed(&html);
    let mut ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an identifier is there twice");
    for link in named(&document, "a") {
        let target = link.attribute("href").and_then(|it| it.strip_prefix('#')).unwrap();
        assert!(ids.contains(&target), "{target}");
    }
    for label in document.descendants().filter_map(|node| node.attribute("aria-labelledby")) {
        assert!(ids.contains(&label), "{label}");
    }
}

#[test]
fn nothing_is_fetched() {
    let html = page(HOSTILE);
    let document = parsed(&html);
    for node in document.descendants() {
        for attribute in
            node.attributes().filter(|it| matches!(it.name(), "href" | "src" | "srcset" | "data" | "action"))
        {
            let value = attribute.value();
            assert!(value.starts_with('#') || value.starts_with("data:,"), "{value}");
        }
    }
    for name in ["style", "script"] {
        for text in named(&document, name).map(words) {
            assert!(!["http", "url(", "@import", "fetch("].iter().any(|it| text.contains(it)));
        }
    }
    let policy = named(&document, "meta").find(|it| it.attribute("http-equiv") == Some("Content-Security-Policy"));
    assert!(policy.unwrap().attribute("content").unwrap().starts_with("default-src 'none';"));
}

#[test]
fn a_reader_who_listens_finds_the_way() {
    let html = page("A title");
    let document = parsed(&html);
    assert_eq!(document.root_element().attribute("lang"), Some("en"));
    for landmark in ["header", "nav", "main", "footer", "h1"] {
        assert_eq!(named(&document, landmark).count(), 1, "{landmark}");
    }
    for head in named(&document, "th") {
        assert!(matches!(head.attribute("scope"), Some("row" | "col")));
    }
    for table in named(&document, "table") {
        assert!(table.children().any(|it| it.tag_name().name() == "caption"));
        // On a narrow screen it scrolls by itself, also by keyboard.
        let around = table.parent().unwrap();
        assert_eq!((around.attribute("class"), around.attribute("tabindex")), (Some("scroll"), Some("0")));
        // Every row has a cell for each column.
        let cells = |row: Node<'_, '_>| row.children().filter(|it| matches!(it.tag_name().name(), "th" | "td")).count();
        let rows: Vec<usize> = table.descendants().filter(|it| it.tag_name().name() == "tr").map(cells).collect();
        assert!(rows.iter().all(|count| Some(count) == rows.first()), "{rows:?}");
    }
    let levels: Vec<u32> =
        document.descendants().filter_map(|node| node.tag_name().name().strip_prefix('h')?.parse().ok()).collect();
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "a level of headings is left out: {levels:?}");
    for svg in named(&document, "svg").filter(|it| it.attribute("role").is_some()) {
        for name in ["title", "desc"] {
            assert!(svg.children().any(|it| it.tag_name().name() == name && !words(it).is_empty()), "{name}");
        }
    }
}

#[test]
fn verdicts_are_counted_first_and_none_is_told_by_colour_alone() {
    let html = page("A title");
    let document = parsed(&html);
    let summary = document.descendants().find(|it| it.attribute("id") == Some("summary")).unwrap();
    let counts: Vec<String> = summary.descendants().filter(|it| it.tag_name().name() == "b").map(words).collect();
    assert_eq!(counts, ["2", "2"]);
    for class in ["holds", "misses"] {
        for node in document.descendants().filter(|it| it.attribute("class") == Some(class)) {
            assert!(words(node).contains(class), "{class}");
        }
    }
}

#[test]
fn captures_without_connections_say_so() {
    let flow = Flow { notes: vec!["nothing is in them".to_owned()], ..Flow::default() };
    let part = Part { flows: vec![flow], ..Part::default() };
    let html = part.to_html();
    assert!(html.contains("<li>nothing is in them</li>"), "{html}");
    assert!(!html.contains("<svg") && !html.contains("<h4>"), "{html}");
}

/// A bound of ours is no number of the paper, and what it is a bound of stands there.
#[test]
fn a_verdict_can_be_read_without_the_file() {
    let html = page("A `title`");
    let document = parsed(&html);
    let tables = named(&document, "table");
    let table = tables.into_iter().find(|it| words(*it).contains("What the paper says")).unwrap();
    let heads: Vec<String> = table.descendants().filter(|it| it.attribute("scope") == Some("col")).map(words).collect();
    assert_eq!(heads, ["statement", "verdict", "here", "would agree", "at"]);
    let said = words(table);
    assert!(
        said.contains("judged: A title") && said.contains("our reading of the words, give or take 6.670 Mb/s"),
        "{said}"
    );
    assert!(said.contains("-0.030 Mb/s from it") && said.contains("a price was fitted to it"), "{said}");
    assert!(named(&document, "code").any(|it| words(it) == "title"), "backticks are no letters");
    let summary = document.descendants().find(|it| it.attribute("id") == Some("summary")).unwrap();
    assert!(words(summary).contains("Where what is here differs from the papers' systems"));
}

/// The two colours of `--name: light-dark(#..., #...)`.
fn colours(name: &str) -> [&'static str; 2] {
    let (_, rest) = STYLE.split_once(&format!("--{name}: light-dark(")).unwrap();
    let (both, _) = rest.split_once(')').unwrap();
    let (light, dark) = both.split_once(", ").unwrap();
    [light, dark]
}

#[test]
fn words_and_lines_stand_out_in_light_and_dark() {
    let words = ["ink", "soft", "link", "good", "bad"].map(|name| (name, 4.5));
    let lines = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"].map(|name| (name, 3.0));
    for ground in ["page", "panel"] {
        for (ink, least) in words.into_iter().chain(lines) {
            for (ground_colour, ink_colour) in colours(ground).into_iter().zip(colours(ink)) {
                let ratio = contrast(ground_colour, ink_colour);
                assert!(ratio >= least, "{ink} on {ground}: {ratio:.2}");
            }
        }
    }
}

/// All that a script adds it makes itself: without one no button is there that does nothing, and no words are missing.
#[test]
fn the_page_is_whole_without_its_script() {
    let html = page("A title");
    let document = parsed(&html);
    assert_eq!(named(&document, "button").count(), 0);
    assert!(document.descendants().all(|node| node.attribute("hidden").is_none()));
    assert!(named(&document, "title").any(|it| words(it) == "A title: 2 at 1"), "a browser shows it under the mouse");
    // What the script looks for is there.
    let has = |class: &str| {
        let classes =
            |node: &Node<'_, '_>| node.attribute("class").unwrap_or_default().split(' ').any(|it| it == class);
        document.descendants().any(|node| classes(&node))
    };
    assert!(["pt", "key", "series", "s0", "scroll"].into_iter().all(has));
    for moving in ["transition", "animation", "smooth"] {
        assert!(!STYLE.contains(moving) && !SCRIPT.contains(moving), "{moving}");
    }
}

#[test]
fn a_figure_is_there_for_a_wide_and_a_narrow_screen_of_which_one_is_shown() {
    let html = page("A title");
    let count = |class: &str| html.matches(&format!("<figure class=\"{class}\">")).count();
    assert!(count("wide") > 0 && count("wide") == count("narrow"));
    for rule in ["figure.narrow { display: none; }", "figure.wide { display: none; }"] {
        assert!(STYLE.contains(rule), "{rule}");
    }
    // Where there is no style sheet both would be shown.
    assert!(!part("one", "A title").to_html().contains("narrow"));
}

#[test]
fn an_empty_page_is_one() {
    parsed(&Page::default().to_html());
}

#[test]
fn where_no_paper_says_anything_the_summary_says_how_it_went() {
    let page = |glance: &[(&str, &str)]| {
        let glance = glance.iter().map(|(what, said)| ((*what).to_owned(), (*said).to_owned())).collect();
        let part = Part { glance, ..part("one", "A title") };
        Page { title: "A title".to_owned(), parts: vec![part], ..Page::default() }.to_html()
    };
    let of_summary = |html: &str| {
        let document = parsed(html);
        let summary = document.descendants().find(|it| it.attribute("id") == Some("summary")).unwrap();
        summary.descendants().filter(|it| matches!(it.tag_name().name(), "dt" | "dd")).map(words).collect::<Vec<_>>()
    };
    let html = page(&[("Bound by", "loss at 4")]);
    assert_eq!(of_summary(&html), ["Bound by", "loss at 4"]);
    assert!(of_summary(&page(&[])).is_empty());
    // The title of the page does not stand above its only part again.
    let document = parsed(&html);
    let headings: Vec<String> = named(&document, "h2").map(words).collect();
    assert_eq!(headings, ["Summary", "Results", "Where this comes from"]);
}

#[test]
fn values_over_time_have_figures_with_their_tables_and_times_at_which_something_happens() {
    let html = page("A title");
    let document = parsed(&html);
    let times = document.descendants().filter(|it| it.attribute("class") == Some("ln pt when"));
    assert!(times.clone().all(|it| words(it).contains("A title: A title at 2")));
    // Each figure is there twice: for a wide screen and for a narrow one.
    assert_eq!(times.count(), 8);
    let summaries = named(&document, "summary").map(words).filter(|it| it == "Values: A title");
    assert_eq!(summaries.count(), 4);
    assert!(named(&document, "desc").any(|it| words(it).contains("Times A title: at 2 A title.")));
}
