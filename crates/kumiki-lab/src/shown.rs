//! Texts of scenarios, files and command lines for a terminal, which takes what is not seen for orders, or shows something else than there is.

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
