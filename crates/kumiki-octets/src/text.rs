//! Text of others, before it is shown.

/// Characters of the general category `Cf` (format), with the first and the last of each run. Unicode Character Database.
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

/// Whether a character does something instead of being seen, so that it is to be escaped where text of others is shown: a control character, which a terminal
/// takes for an order, a format character, which changes the direction of what stands beside it or cannot be seen, or a separator of lines or paragraphs (`Cc`, `Cf`, `Zl`, `Zp`).
#[must_use]
pub fn is_unseen(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    let formats = || FORMAT.iter().any(|(first, last)| (*first..=*last).contains(&c));
    c.is_control() || separates || !c.is_ascii() && formats()
}

#[cfg(test)]
mod tests {
    use super::*;

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
