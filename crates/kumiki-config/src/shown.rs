//! Texts of scenarios, files and command lines for a terminal, which takes what is not seen for orders, or shows
//! something else than there is.

use kumiki_octets::text::is_unseen;

/// `text` with what is not seen escaped.
#[must_use]
pub fn line(text: &str) -> String {
    escaped(text, is_unseen)
}

/// The same of what may have several lines, or columns.
#[must_use]
pub fn lines(text: &str) -> String {
    escaped(text, |it| is_unseen(it) && !matches!(it, '\n' | '\t'))
}

/// So many characters of what is quoted are shown, and it is told how many there were.
const QUOTED: usize = 80;

/// A word of a message that is no longer than that is shown whole, quoted or not: names of files are long.
const WORD: usize = 300;

/// The beginning of `text`, where it is long: who has written it knows it by that.
#[must_use]
pub(crate) fn begun(text: &str) -> String {
    cut(text, QUOTED)
}

/// A message with no more than the beginning of each long stretch that stands in it between quotation marks or
/// backquotes, or has no space in it.
#[must_use]
pub(crate) fn message(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, mark, after)) = split_at_mark(rest) {
        words(before, &mut out);
        out.push(mark);
        rest = after;
        if let Some(end) = closing(after, mark)
            && let Some((quoted, after)) = after.split_at_checked(end)
        {
            out.push_str(&cut(quoted, QUOTED));
            out.push(mark);
            rest = after.get(mark.len_utf8()..).unwrap_or_default();
        }
    }
    words(rest, &mut out);
    out
}

fn split_at_mark(text: &str) -> Option<(&str, char, &str)> {
    let (at, mark) = text.char_indices().find(|(_, it)| ['"', '`'].contains(it))?;
    Some((text.get(..at)?, mark, text.get(at + mark.len_utf8()..)?))
}

/// Where what begins behind `mark` ends.
fn closing(text: &str, mark: char) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, it)| {
        let was_escaped = is_escaped;
        is_escaped = !was_escaped && it == '\\' && mark == '"';
        (it == mark && !was_escaped).then_some(at)
    })
}

fn words(text: &str, out: &mut String) {
    for word in text.split_inclusive(' ') {
        out.push_str(&cut(word, WORD));
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}... ({} characters)", text.get(..at).unwrap_or_default(), text.chars().count()),
    }
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        if is_escaped(it) {
            out.extend(it.escape_default());
        } else {
            out.push(it);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_long_the_beginning_is_shown() {
        let long = "x".repeat(1000);
        assert_eq!(begun("short"), "short");
        assert_eq!(begun(&long), format!("{}... (1000 characters)", "x".repeat(80)));
        let eighty = "x".repeat(80);
        for whole in [format!("unknown key \"{eighty}\"; `{eighty}` is \"one\""), "a \" alone".to_owned()] {
            assert_eq!(message(&whole), whole);
        }
        for mark in ['"', '`'] {
            let found = message(&format!("unknown {mark}a {long}{mark}: one of a, b"));
            assert_eq!(found, format!("unknown {mark}a {}... (1002 characters){mark}: one of a, b", "x".repeat(78)));
        }
        // A mark in what is quoted does not end it.
        let found = message(&format!("no {:?} there", format!("a\"{long}")));
        assert!(found.len() < 120 && found.ends_with("(1003 characters)\" there"), "{found}");
        assert!(message(&format!("no {long} here")).len() < 350);
        assert!(message(&format!("no \"{long} here")).len() < 350);
        assert_eq!(message(&"\u{e4}".repeat(301)).chars().filter(|it| *it == '\u{e4}').count(), 300);
    }
}
