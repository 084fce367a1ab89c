//! Labels of RFC 9293, and the comments of the workspace that name them.

use std::fmt;

use crate::rust::{is_test_file, without_tests};
use crate::tree::Tree;

/// Where a test says which labels it is about.
const MARK: &str = "// RFC 9293: ";
/// The folder whose comments are read.
const CODE: &str = "crates/";

/// How strongly something is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Must,
    Shld,
    Rec,
    May,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Must, Self::Shld, Self::Rec, Self::May];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Shld => "SHLD",
            Self::Rec => "REC",
            Self::May => "MAY",
        }
    }

    /// With what the RFC means by it.
    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::Must => "MUST: must, must not",
            Self::Shld => "SHLD: should, should not",
            Self::Rec => "REC: recommended",
            Self::May => "MAY: may (met: done)",
        }
    }

    /// How the page begins to say why not.
    pub(super) const fn refusal(self) -> &'static str {
        match self {
            Self::Must | Self::Shld | Self::Rec => "not met",
            Self::May => "not done",
        }
    }

    /// The highest number in appendix B; they begin with 1 and none is left out.
    const fn last(self) -> u32 {
        match self {
            Self::Must => 69,
            Self::Shld => 31,
            Self::Rec => 1,
            Self::May => 18,
        }
    }
}

/// For example MUST-18.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Label {
    pub(super) kind: Kind,
    pub(super) number: u32,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.kind.name(), self.number)
    }
}

impl Label {
    /// Every label that the RFC has.
    pub(super) fn every() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().flat_map(|kind| (1..=kind.last()).map(move |number| Self { kind, number }))
    }

    pub(super) const fn exists(self) -> bool {
        self.number > 0 && self.number <= self.kind.last()
    }

    /// A label and nothing else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, number) = text.split_once('-')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name)?;
        let digits = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        let number = number.parse().ok().filter(|_| digits)?;
        Some(Self { kind, number })
    }

    /// The labels in a comment, in their order.
    fn within(comment: &str) -> Vec<Self> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        comment.split(|c| !is_part(c)).filter_map(Self::parse).collect()
    }
}

/// A comment that names a label.
#[derive(Clone, Debug)]
pub(super) struct LabelComment {
    pub(super) file: String,
    /// From 1.
    pub(super) line: usize,
    /// The function, type or field that the comment is about, or `module`.
    pub(super) item: String,
}

impl LabelComment {
    pub(super) fn same_item(&self, other: &Self) -> bool {
        (&self.file, &self.item) == (&other.file, &other.item)
    }

    /// A link to the file, and the item.
    pub(super) fn in_code(&self) -> String {
        let short = self.file.rsplit_once("/src/").map_or(&*self.file, |it| it.1);
        format!("[{short}](../{}) `{}`", self.file, self.item)
    }

    /// The test as a link to its file.
    pub(super) fn as_test(&self) -> String {
        format!("[{}](../{})", self.item, self.file)
    }
}

/// What the comments say.
#[derive(Default)]
pub(super) struct LabelIndex {
    /// Label, place, and whether it stands above a test.
    pub(super) places: Vec<(Label, LabelComment, bool)>,
    /// File and line of a [`MARK`] that is none.
    pub(super) malformed: Vec<(String, usize)>,
}

/// Reads every Rust file below [`CODE`].
pub(super) fn all(tree: &Tree) -> LabelIndex {
    let mut found = LabelIndex::default();
    for (file, text) in tree.texts(".rs") {
        if !file.starts_with(CODE) {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        let tests_from = if is_test_file(file) { 0 } else { without_tests(text).lines().count() };
        for (at, line) in lines.iter().enumerate() {
            let Some((_, comment)) = line.split_once("//") else {
                continue;
            };
            let labels = Label::within(comment);
            let place = |item| LabelComment { file: file.to_owned(), line: at + 1, item };
            if let Some(list) = line.trim_start().strip_prefix(MARK) {
                let only_labels = list.split(", ").all(|part| Label::parse(part).is_some());
                match test_below(&lines, at).filter(|_| only_labels && at >= tests_from) {
                    Some(name) => {
                        found.places.extend(labels.into_iter().map(|label| (label, place(name.to_owned()), true)));
                    }
                    None => found.malformed.push((file.to_owned(), at + 1)),
                }
            } else if at < tests_from {
                for label in labels {
                    found.places.push((label, place(item(&lines, at)), false));
                }
            } else {
                // A remark inside a test is no claim, but its label must exist.
                for label in labels.into_iter().filter(|label| !label.exists()) {
                    found.places.push((label, place(String::new()), false));
                }
            }
        }
    }
    found
}

/// The name of the test whose attributes begin below the line `at`.
fn test_below<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    let mut below = lines.iter().skip(at + 1).map(|line| line.trim_start());
    let mut is_test = false;
    loop {
        let line = below.next()?;
        if line.starts_with("#[test]") {
            is_test = true;
        } else if !line.starts_with("//") && !line.starts_with("#[") {
            return function(line).filter(|_| is_test);
        }
    }
}

/// What the comment in the line `at` is about.
fn item(lines: &[&str], at: usize) -> String {
    let Some(line) = lines.get(at) else {
        return String::new();
    };
    let start = line.trim_start();
    if start.starts_with("//!") {
        return "module".into();
    }
    if start.starts_with("///") {
        let below = lines.iter().enumerate().skip(at + 1).find(|(_, line)| {
            let line = line.trim_start();
            !line.starts_with("//") && !line.starts_with("#[")
        });
        let named = below.and_then(|(below, line)| Some((below, name(line.trim_start())?)));
        return named.map_or_else(
            || "module".into(),
            |(below, name)| match owner(lines, below) {
                Some(owner) => format!("{owner}::{name}"),
                None => name.to_owned(),
            },
        );
    }
    // Inside a body: the function around it, else the type.
    let mut indent = indent(line);
    for (above, line) in lines.iter().enumerate().take(at).rev() {
        // What ends a list of arguments is no deeper than what begins it.
        let start = line.trim_start();
        if start.is_empty() || start.starts_with(')') || self::indent(line) >= indent {
            continue;
        }
        indent = self::indent(line);
        if let Some(name) = function(start) {
            return match owner(lines, above) {
                Some(owner) => format!("{owner}::{name}"),
                None => name.to_owned(),
            };
        }
    }
    owner(lines, at).map_or_else(|| "module".into(), str::to_owned)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The type in whose `impl` or definition the line `at` stands.
fn owner<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    if indent(lines.get(at)?) == 0 {
        return None;
    }
    let head = lines
        .iter()
        .take(at)
        .rev()
        .find(|line| indent(line) == 0 && !line.trim().is_empty() && !line.starts_with([')', '#', '/']))?;
    if let Some(rest) = head.strip_prefix("impl") {
        let of = rest.split_once(" for ").map_or(rest, |(_, of)| of);
        // After the generics of the `impl` itself, if it has them.
        let of = match of.strip_prefix('<') {
            Some(generics) => generics.split_once("> ")?.1,
            None => of,
        };
        return of.split(|c: char| !is_word(c)).find(|word| !word.is_empty());
    }
    name(head)
}

/// The name in `fn name(`.
fn function(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let plain = before.is_empty() || before.ends_with(' ');
    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    rest.get(..end).filter(|name| plain && !name.is_empty() && !line.starts_with("//"))
}

/// The name that a definition, a field or a variant begins with.
fn name(line: &str) -> Option<&str> {
    const BEFORE: [&str; 12] =
        ["pub", "crate", "super", "const", "static", "async", "fn", "struct", "enum", "trait", "type", "mod"];
    line.split(|c: char| !is_word(c)).find(|word| !word.is_empty() && !BEFORE.contains(word))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "//! T (MUST-1).\n\nimpl<'a> Session<'a> {\n    /// One (MUST-2).\n    pub(crate) fn one(&self) {\n        if x {\n            // MUST-3.\n        }\n    }\n}\n\n/// Two, SHLD-4.\n#[derive(Debug)]\npub struct Two {\n    /// Of MAY-5.\n    pub(super) field: u32,\n}\n\nconst fn three(\n    x: u8,\n) -> Config {\n    Config {\n        // REC-1.\n        four: 5, // MUST-6, not MUST-7x or XMUST-8\n    }\n}\n\n#[cfg(test)]\nmod tests {\n    // RFC 9293: MUST-9, MUST-10\n    #[test]\n    fn nine_is_ten() {\n        // MUST-11.\n    }\n}\n";

    fn found(text: &str) -> LabelIndex {
        all(&Tree::of(&[("crates/a/src/b.rs", text)]))
    }

    #[test]
    fn a_label_belongs_to_the_item_that_its_comment_is_about() {
        let found = found(FILE);
        let of: Vec<String> = found
            .places
            .iter()
            .map(|(label, place, is_test)| format!("{label} {} {} {is_test}", place.line, place.item))
            .collect();
        assert_eq!(
            of,
            [
                "MUST-1 1 module false",
                "MUST-2 4 Session::one false",
                "MUST-3 7 Session::one false",
                "SHLD-4 12 Two false",
                "MAY-5 15 Two::field false",
                "REC-1 23 three false",
                "MUST-6 24 three false",
                "MUST-9 30 nine_is_ten true",
                "MUST-10 30 nine_is_ten true",
            ]
        );
        assert!(found.malformed.is_empty());
    }

    #[test]
    fn a_list_above_no_test_or_with_more_than_labels_is_found() {
        for text in [
            "#[cfg(test)]\nmod tests {\n    // RFC 9293: MUST-9\n    fn f() {}\n}\n",
            "#[cfg(test)]\nmod tests {\n    // RFC 9293: MUST-9 and MUST-8\n    #[test]\n    fn f() {}\n}\n",
            "// RFC 9293: MUST-9\nfn f() {}\n",
        ] {
            assert_eq!(found(text).malformed.len(), 1, "{text}");
        }
    }

    #[test]
    fn there_are_119_labels() {
        assert_eq!(Label::every().count(), 119);
        assert!(Label::parse("MUST-70").is_some_and(|label| !label.exists()));
        assert_eq!(Label::parse("MUST-+1"), None);
    }
}
