//! HTML as it is written: tags are ours, everything else is escaped.

use core::fmt::Write as _;

/// A document, or a part of one. What is written is well-formed XML, too, so that a strict parser can judge it.
#[derive(Default)]
pub(super) struct Html {
    text: String,
    /// Tags that are open.
    open: Vec<&'static str>,
    /// Whether our style sheet is with it.
    is_styled: bool,
}

/// Names with their values.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a str)];

impl Html {
    /// A document with our style sheet.
    pub(super) fn styled() -> Self {
        Self { is_styled: true, ..Self::default() }
    }

    pub(super) const fn is_styled(&self) -> bool {
        self.is_styled
    }

    /// Begins an element, which `close` ends.
    pub(super) fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.tag(tag, attributes, ">");
        self.open.push(tag);
    }

    /// Ends the element that was begun last.
    pub(super) fn close(&mut self) {
        if let Some(tag) = self.open.pop() {
            self.text.extend(["</", tag, ">\n"]);
        }
    }

    /// An element with text alone.
    pub(super) fn leaf(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(tag, attributes);
        self.text(text);
        self.close();
    }

    /// An element that has no end.
    pub(super) fn void(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.tag(tag, attributes, "/>\n");
    }

    /// Anybody's text.
    pub(super) fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                '\n' | '\t' => self.text.push(c),
                // What turns the direction of text or hides is shown, so that nothing reads other than it is; two more
                // are no XML.
                '\u{fffe}' | '\u{ffff}' => self.unseen(c),
                c if kumiki_octets::text::is_unseen(c) => self.unseen(c),
                c => self.text.push(c),
            }
        }
    }

    /// An element with text alone, in which what stands between backticks is code.
    pub(super) fn prose(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(tag, attributes);
        self.words(text);
        self.close();
    }

    /// Anybody's text, in which what stands between backticks is code.
    pub(super) fn words(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, (code, after))) =
            rest.split_once('`').and_then(|(before, behind)| Some((before, behind.split_once('`')?)))
        {
            self.text(before);
            self.tag("code", &[], ">");
            self.text(code);
            self.text.push_str("</code>");
            rest = after;
        }
        self.text(rest);
    }

    /// What is HTML already, made by this program and escaped where it was made.
    pub(super) fn raw(&mut self, html: &str) {
        self.text.push_str(html);
    }

    /// The whole, with all elements ended.
    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn tag(&mut self, tag: &str, attributes: Attributes<'_>, end: &str) {
        self.text.extend(["<", tag]);
        for (name, value) in attributes {
            self.text.extend([" ", name, "=\""]);
            self.text(value);
            self.text.push('"');
        }
        self.text.push_str(end);
    }

    fn unseen(&mut self, c: char) {
        let _ = write!(self.text, "{}", c.escape_unicode());
    }
}
