//! Text of others, before it is shown.

use std::borrow::Cow;
use std::fmt;

/// Characters of the general category `Cf` (format), with the first and the last of each run. Unicode Character
/// Database.
const FORMAT: [(char, char); 21] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{2064}'),
    ('\u{2066}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

/// Whether a character does something instead of being seen, so that it is to be escaped where text of others is shown:
/// a control character, which a terminal takes for an order, a format character, which changes the direction of what
/// stands beside it or cannot be seen, or a separator of lines or paragraphs (`Cc`, `Cf`, `Zl`, `Zp`).
#[must_use]
pub fn is_unseen(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    let formats = || FORMAT.iter().any(|(first, last)| (*first..=*last).contains(&c));
    c.is_control() || separates || !c.is_ascii() && formats()
}

/// So many of what is called `one` where there is one of it: "1 octet", "0 octets", "2 entries".
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, one: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| match one.strip_suffix('y') {
        _ if count == N::from(1) => write!(f, "1 {one}"),
        Some(stem) => write!(f, "{count} {stem}ies"),
        None => write!(f, "{count} {one}s"),
    })
}

/// The verb behind so many.
pub fn are<N: PartialEq + From<u8>>(count: N) -> &'static str {
    if count == N::from(1) { "is" } else { "are" }
}

/// The most octets of a text of others that a line of a log has whole.
pub const WHOLE: usize = 512;

/// The first and the last octets of a text that is longer than [`WHOLE`], without parts of a character.
fn ends(text: &str) -> Option<(&str, &str)> {
    if text.len() <= WHOLE {
        return None;
    }
    let (first, _) = text.split_at_checked(text.floor_char_boundary(WHOLE / 2))?;
    let (_, last) = text.split_at_checked(text.ceil_char_boundary(text.len() - WHOLE / 2))?;
    Some((first, last))
}

/// A text of others for a line of a log: in quotes, so that it cannot be taken for what the line says itself; of a long
/// one both ends, and how long it is.
#[must_use]
pub fn quoted(text: &str) -> String {
    match ends(text) {
        None => format!("{text:?}"),
        Some((first, last)) => format!("{first:?} to {last:?} ({} octets)", text.len()),
    }
}

/// The same of a name, which stays as it is where it has nothing but letters, digits and signs that end nothing.
#[must_use]
pub fn named(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+~#$%&=!^".contains(c);
    let stays = !name.is_empty() && name.len() <= WHOLE && name.chars().all(is_plain);
    if stays { name.to_owned() } else { quoted(name) }
}

/// Words of our own in which there may be quoted ones of others: as they are, but of many both ends, in quotes of their
/// own. So no end of a quotation is cut off.
#[must_use]
pub fn short(words: &str) -> Cow<'_, str> {
    if words.len() <= 2 * WHOLE { Cow::Borrowed(words) } else { Cow::Owned(quoted(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1_usize, "octet").to_string(), "1 octet");
        assert_eq!(counted(0_u8, "octet").to_string(), "0 octets");
        assert_eq!([counted(1_u32, "entry"), counted(21, "entry")].map(|it| it.to_string()), ["1 entry", "21 entries"]);
        assert_eq!((are(1_u64), are(2_u64)), ("is", "are"));
    }

    #[test]
    fn a_name_stays_where_it_cannot_be_taken_for_anything_else() {
        for plain in ["note.txt", "a/b-c_d.e", "/", "Größe", "日本"] {
            assert_eq!(named(plain), plain);
        }
        let lie = "y (6 octets), deleted note.txt; 0.0 s";
        for other in ["", "a b", "a,b", "a;b", "a(b", "a\"b", "a@b", "a:b", "a\nb", "a\u{202e}b", "a\\b", lie] {
            assert_eq!(named(other), format!("{other:?}"));
        }
    }

    #[test]
    fn of_a_long_text_a_line_has_both_ends_and_the_length() {
        assert_eq!(quoted(&"a".repeat(WHOLE)).len(), WHOLE + 2);
        // Three octets each: no part of one is shown.
        let long = format!("begin{}end", "日".repeat(20_000));
        for shown in [quoted(&long), named(&long), short(&long).into_owned()] {
            assert!(
                shown.contains("begin日") && shown.contains("日end") && shown.ends_with("(60008 octets)"),
                "{shown}"
            );
            assert!(shown.len() < WHOLE + 40, "{}", shown.len());
        }
        // What is not seen takes ten times its octets and no more.
        assert!(quoted(&"\u{1}".repeat(60_000)).len() < 10 * WHOLE);
    }

    #[test]
    fn no_length_of_a_name_lets_it_end_its_quotation() {
        let lie = ", deleted note.txt; 0.0 s";
        for (before, after) in (0..1200).map(|before| (before, 300)).chain((0..600).map(|after| (400, after))) {
            let name = format!("{}\"{lie}{}", "a".repeat(before), "b".repeat(after));
            let shown = short(&format!("rename {} to", quoted(&name))).into_owned();
            // Outside quotes, which no escaped one ends.
            let (mut is_quoted, mut is_escaped, mut outside) = (false, false, String::new());
            for c in shown.chars() {
                match c {
                    _ if is_escaped => is_escaped = false,
                    '\\' => is_escaped = true,
                    '"' => is_quoted = !is_quoted,
                    c if !is_quoted => outside.push(c),
                    _ => {}
                }
            }
            assert!(!is_quoted && !outside.contains("note"), "{before} {after}: {outside}");
        }
    }

    #[test]
    fn what_is_not_seen_is_told_from_what_is() {
        for unseen in "\0\u{1b}\u{9b}\u{200b}\u{200f}\u{2028}\u{2029}\u{202e}\u{2066}\u{2069}\u{feff}\u{ad}".chars() {
            assert!(is_unseen(unseen), "{unseen:?}");
        }
        for seen in "a ~\u{a0}äעع\u{3000}日\u{2010}\u{2030}\u{1f600}".chars() {
            assert!(!is_unseen(seen), "{seen:?}");
        }
    }
}
