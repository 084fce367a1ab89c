//! One line of a script while it is read: where one is, what may come, and what is said where something else does.

use kumiki_graph::Duration;

use kumiki_config::nearest;

/// What is wrong with a script, where, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}; {expected}")]
pub struct ScriptError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub expected: String,
}

/// What is wrong at a place of the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SyntaxError {
    /// How many characters stand before the place.
    pub(super) at: usize,
    pub(super) what: String,
    pub(super) expected: String,
}

/// A place in a line.
pub(super) struct Cursor<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `text`, which ends at its comment.
    pub(super) fn new(text: &'a str) -> Self {
        let text = text.split('#').next().unwrap_or_default();
        Self { rest: text.trim_end(), at: 0 }
    }

    /// Another one at the same place.
    pub(super) const fn fork(&self) -> Self {
        Self { rest: self.rest, at: self.at }
    }

    fn advance(&mut self, octets: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(octets).unwrap_or((self.rest, ""));
        self.at += taken.chars().count();
        self.rest = rest;
        taken
    }

    /// Goes past blanks.
    pub(super) fn skip(&mut self) {
        let rest = self.rest.trim_start();
        self.advance(self.rest.len() - rest.len());
    }

    /// Whether nothing is left.
    pub(super) fn is_done(&mut self) -> bool {
        self.skip();
        self.rest.is_empty()
    }

    /// What is not as it should be, here.
    pub(super) fn fault(&self, what: impl Into<String>, expected: impl Into<String>) -> SyntaxError {
        SyntaxError { at: self.at, what: what.into(), expected: expected.into() }
    }

    /// Something else than `expected` stands here.
    pub(super) fn unexpected(&self, expected: impl Into<String>) -> SyntaxError {
        let expected = format!("here belongs {}", expected.into());
        match self.rest.split_whitespace().next() {
            None => self.fault("the line ends too early", expected),
            Some(found) => self.fault(format!("{found:?} is not understood"), expected),
        }
    }

    /// Takes `text`, if it stands right here.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let there = self.rest.starts_with(text);
        if there {
            self.advance(text.len());
        }
        there
    }

    /// As [`Cursor::take`], past blanks.
    pub(super) fn take_after_blanks(&mut self, text: &str) -> bool {
        self.skip();
        self.take(text)
    }

    /// Takes `text`, which must stand right here.
    pub(super) fn need(&mut self, text: &str, expected: &str) -> Result<(), SyntaxError> {
        if self.take(text) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Takes what `belongs` says.
    pub(super) fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|it| !belongs(it)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    /// Takes a word, past blanks: letters, digits and `_`, beginning with a letter; empty where there is none.
    pub(super) fn word(&mut self) -> &'a str {
        self.skip();
        if !self.rest.starts_with(|it: char| it.is_ascii_alphabetic()) {
            return "";
        }
        self.run(|it| it.is_ascii_alphanumeric() || it == '_')
    }

    /// Looks at the word that comes, past blanks.
    pub(super) fn peek_word(&mut self) -> &'a str {
        self.skip();
        let (rest, at) = (self.rest, self.at);
        let word = self.word();
        (self.rest, self.at) = (rest, at);
        word
    }

    /// Takes `word`, past blanks, if it is there as a whole.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let there = self.peek_word() == word;
        if there {
            self.word();
        }
        there
    }

    /// Takes a word, which must be one of `known`.
    pub(super) fn one_of<T: Copy>(&mut self, what: &str, known: &[(&str, T)]) -> Result<T, SyntaxError> {
        self.skip();
        let word = self.peek_word();
        if let Some((_, value)) = known.iter().find(|(name, _)| *name == word) {
            self.word();
            return Ok(*value);
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let listed = names.join(", ");
        if word.is_empty() {
            return Err(self.unexpected(format!("{what}: one of {listed}")));
        }
        let hint = match nearest(word, &names) {
            Some(near) => format!("perhaps {near}? There are {listed}"),
            None => format!("there are {listed}"),
        };
        Err(self.fault(format!("{word:?} is no {what}"), hint))
    }

    /// Takes a whole number, past blanks.
    pub(super) fn number<T: core::str::FromStr>(&mut self, what: &str) -> Result<T, SyntaxError> {
        self.skip();
        let (rest, at) = (self.rest, self.at);
        let minus = if self.take("-") { "-" } else { "" };
        let digits = self.run(|it| it.is_ascii_digit());
        let read = format!("{minus}{digits}").parse();
        read.map_err(|_| {
            (self.rest, self.at) = (rest, at);
            if digits.is_empty() {
                self.unexpected(what)
            } else {
                self.fault(format!("{minus}{digits} is out of range"), format!("here belongs {what}"))
            }
        })
    }

    /// Takes a time in seconds with up to nine decimals, right here.
    pub(super) fn seconds(&mut self, what: &str) -> Result<Duration, SyntaxError> {
        let (rest, at) = (self.rest, self.at);
        let whole = self.run(|it| it.is_ascii_digit());
        let part = if self.take(".") { self.run(|it| it.is_ascii_digit()) } else { "0" };
        let nanos = || {
            let whole: u64 = whole.parse().ok()?;
            let part: u64 = format!("{part:0<9}").parse().ok()?;
            let nanos = whole.checked_mul(1_000_000_000)?.checked_add(part)?;
            (nanos <= LONGEST).then_some(Duration::from_nanos(nanos))
        };
        let read = if part.is_empty() || part.len() > 9 { None } else { nanos() };
        read.ok_or_else(|| {
            (self.rest, self.at) = (rest, at);
            self.unexpected(format!("{what}, in seconds with up to nine decimals, such as 0.25"))
        })
    }
}

/// The longest time: 400 days. So no sum of a script's times is out of range.
const LONGEST: u64 = 400 * 24 * 3600 * 1_000_000_000;
