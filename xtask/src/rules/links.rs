//! Links between the documents of the repository lead somewhere.
//!
//! | Rule | Says |
//! |---|---|
//! | link | a relative link in Markdown names a file or folder of the repository and, after `#`, a heading of it |
//! | summary | every page below `docs/` is a chapter of the book: it stands in `docs/SUMMARY.md`, which mdBook goes by |
//!
//! Left out: links to other sites, which no check without a network can judge, and links written in HTML.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::tree::Tree;

/// Follows every relative link of every `.md` file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts(".md") {
        for (number, line) in prose(text) {
            for target in targets(&line) {
                if let Some(what) = broken(tree, file, target) {
                    let right = "the path of an existing file, seen from this one, and a heading that it has";
                    findings.push(Finding::new("link", file, number, what, right));
                }
            }
        }
    }
    findings.extend(outside_the_book(tree));
    findings
}

/// The table of contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages that a reader of the book never sees.
fn outside_the_book(tree: &Tree) -> Vec<Finding> {
    let Some(summary) = tree.text(SUMMARY) else {
        return Vec::new();
    };
    let lines: Vec<String> = prose(summary).map(|(_, line)| line).collect();
    let targets = lines.iter().flat_map(|line| targets(line));
    let chapters: BTreeSet<String> = targets.filter_map(|target| resolve(SUMMARY, target)).collect();
    let pages = tree.texts(".md").map(|(file, _)| file).filter(|file| file.starts_with("docs/") && *file != SUMMARY);
    let missing = pages.filter(|file| !chapters.contains(*file));
    let finding =
        |file| Finding::new("summary", file, 0, "the page is no chapter of the book", "a line in docs/SUMMARY.md");
    missing.map(finding).collect()
}

/// The lines outside code blocks, with inline code blanked.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fence = None;
    (1..).zip(text.lines()).filter_map(move |(number, line)| {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(close)) if open == close => fence = None,
            (None, None) => {
                let pieces = line.split('`').enumerate();
                return Some((number, pieces.map(|(at, s)| if at % 2 == 0 { s } else { "code" }).collect()));
            }
            (Some(_), _) => {}
        }
        None
    })
}

/// What `[text](target)`, `![text](target "title")` and `[label]: target` point to.
fn targets(line: &str) -> Vec<&str> {
    let inline = line.match_indices("](").filter_map(|(at, open)| {
        let rest = line.get(at + open.len()..)?;
        rest.get(..rest.find(')')?)
    });
    let reference = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        // `[^label]: text` is a footnote.
        .filter(|(label, _)| !label.contains(']') && !label.starts_with('^'))
        .map(|(_, target)| target);
    inline
        .chain(reference)
        .filter_map(|target| target.split_whitespace().next())
        .map(|target| target.trim_start_matches('<').trim_end_matches('>'))
        .collect()
}

/// Why `target`, written in `file`, leads nowhere; `None` where it leads somewhere or elsewhere.
fn broken(tree: &Tree, file: &str, target: &str) -> Option<String> {
    let elsewhere = target.split_once(':').is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphabetic()));
    if elsewhere {
        return None;
    }
    let (path, heading) = match target.split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (target, None),
    };
    let Some(found) = resolve(file, path) else {
        return Some(format!("\"{target}\" leads out of the repository"));
    };
    if !tree.has(&found) {
        return Some(format!("\"{target}\" leads to {found}, which does not exist"));
    }
    let text = tree.text(&found).filter(|_| found.ends_with(".md"))?;
    let heading = heading?;
    (!headings(text).iter().any(|slug| slug == heading)).then(|| format!("{found} has no heading \"{heading}\""))
}

/// The path from the root; `None` where it climbs out.
fn resolve(file: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(file.to_owned());
    }
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        parts.clear();
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The headings of a document as the usual renderers write them after `#`.
fn headings(text: &str) -> Vec<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut slugs = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let count = seen.entry(slug.clone()).or_default();
        slugs.push(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    slugs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("docs/a.md", text), ("docs/b.md", "# B, and more\n## B\n## B\n"), ("STYLE.md", "")]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "[b](b.md) [s](../STYLE.md) [d](../docs) [r](/STYLE.md) [h](b.md#b-and-more) [2](b.md#b-1)\n\
                    [x](https://example.org/nothing) [m](mailto:a@b.c) ![p](b.md \"title\")\n[l]: b.md\n[^f]: footnote\n";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(found("[c](c.md)").len(), 1);
        assert_eq!(found("[b](b.md) and [c](../c.md)").len(), 1);
        assert_eq!(found("[b](b.md#nothing)").len(), 1);
        assert_eq!(found("[self](#nothing)").len(), 1);
        assert_eq!(found("[out](../../x.md)").len(), 1);
        assert_eq!(found("[l]: c.md").len(), 1);
    }

    #[test]
    fn a_page_that_is_no_chapter_is_found() {
        let summary = "[Introduction](introduction.md)\n\n- [One](tutorial/one.md)\n";
        let tree = |page| {
            let files =
                [("docs/SUMMARY.md", summary), ("docs/introduction.md", ""), ("docs/tutorial/one.md", ""), (page, "")];
            check(&Tree::of(&files)).into_iter().map(|finding| finding.file).collect::<Vec<_>>()
        };
        assert!(tree("elsewhere/README.md").is_empty());
        assert_eq!(tree("docs/tutorial/two.md"), ["docs/tutorial/two.md"]);
    }

    #[test]
    fn code_is_not_a_link() {
        assert!(found("```\n[c](c.md)\n```\n`[c](c.md)`\n").is_empty());
        assert_eq!(found("```\n```\n[c](c.md)\n").len(), 1);
    }
}
