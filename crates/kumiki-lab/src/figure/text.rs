//! How wide text will be, roughly, without a font.

/// The width of `text` in a sans-serif font of `size`, on the wide side: DejaVu Sans, the widest of the usual ones,
/// fits.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
            'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' | '/' => 0.42,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.96,
            'A'..='Z' => 0.72,
            c if c.is_ascii() => 0.62,
            // Ideographs and symbols.
            _ => 1.0,
        })
        .sum();
    ems * size
}

/// `text` in lines of at most `limit`, broken at spaces; a longer word has a line of its own.
pub(crate) fn wrap(text: &str, size: f64, limit: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `text` without what XML does not allow, even escaped, and without the backticks of code, which has no look of its
/// own in a figure.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| *c != '`')
        .map(|c| if kumiki_octets::text::is_unseen(c) || matches!(c, '\u{fffe}' | '\u{ffff}') { ' ' } else { c })
        .collect()
}
