//! Hexadecimal text, in the forms that people paste.
//!
//! | Line | As of |
//! |---|---|
//! | `00000010: 4500 0054 ...  E..T` | `xxd` |
//! | `00000010  45 00 00 54 ...  \|E..T\|` | `hexdump -C` |
//! | `0010  45 00 00 54 ...   E..T` | `tshark -x`, Wireshark |
//! | `4500 0054`, `45:00:00:54`, `0x45, 0x00`, `45000054` | plain digits |
//!
//! Where lines have offsets, these are checked, and offset 0 begins another packet; plain digits end at an empty line.
//! Lines with `#` are comments. Left out: `hexdump` without `-C`, whose 16-bit words are in the order of the machine.

use std::io::Read;

use super::guess::guess_layer;
use super::source::{ReadPosition, Source};
use super::{Format, Link, MOST_OCTETS, Record, Unreadable};

/// Longest line.
const MOST_LINE: usize = 64 << 10;

pub(super) struct Reader {
    layer: Option<&'static str>,
    line: u64,
}

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// Nothing, or a comment.
    Empty,
    Comment,
    /// Octets after an offset, which may be none.
    At(usize, Vec<u8>),
    Plain(Vec<u8>),
}

impl Reader {
    pub(super) const fn new(layer: Option<&'static str>) -> Self {
        Self { layer, line: 0 }
    }

    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>, number: u64) -> Result<Option<Record>, Unreadable> {
        let mut octets = Vec::new();
        let mut began = source.offset();
        loop {
            let place = ReadPosition { format: Format::Hex, packet: number, what: "a line", began: source.offset() };
            let (text, len) = peek_line(source, &place)?;
            if len == 0 {
                break;
            }
            let at_line = self.line.saturating_add(1);
            let line = read(&text, octets.len())
                .map_err(|(found, right)| place.wrong(format!("line {at_line}: {found}"), right))?;
            // The line belongs to the next packet, and is read again with it.
            if matches!(line, Line::At(0, _)) && !octets.is_empty() {
                break;
            }
            self.line = at_line;
            source.skip(len);
            let more = match line {
                Line::Comment => continue,
                Line::Empty if octets.is_empty() => continue,
                Line::Empty => break,
                Line::At(_, more) | Line::Plain(more) => more,
            };
            if octets.is_empty() {
                began = place.began;
            }
            octets.extend(more);
            if octets.len() > MOST_OCTETS {
                return Err(place.wrong(
                    format!("line {at_line}: a packet of more than {MOST_OCTETS} octets"),
                    "an empty line or an offset of 0 between packets",
                ));
            }
        }
        if octets.is_empty() {
            return Ok(None);
        }
        let layer = match self.layer {
            Some(layer) => layer,
            None => guess_layer(&octets).map(|(layer, _)| layer).ok_or_else(|| {
                Unreadable::Unknown(format!(
                    "hex, packet {number}: its first octets tell no layer; say which it is with --as"
                ))
            })?,
        };
        Ok(Some(Record {
            number,
            file_offset: began,
            link: Link::Named(layer),
            original_len: octets.len(),
            octets,
            ..Record::default()
        }))
    }
}

/// The next line, and how many octets of the file it takes.
fn peek_line<R: Read>(source: &mut Source<R>, place: &ReadPosition) -> Result<(String, usize), Unreadable> {
    let mut looked = 256;
    loop {
        let ahead = source.peek(looked)?;
        let end = ahead.iter().position(|octet| *octet == b'\n');
        if let Some(end) = end {
            let line = ahead.get(..end).unwrap_or_default();
            return Ok((String::from_utf8_lossy(line).into_owned(), end + 1));
        }
        if ahead.len() < looked {
            return Ok((String::from_utf8_lossy(ahead).into_owned(), ahead.len()));
        }
        if looked >= MOST_LINE {
            return Err(place
                .wrong(format!("a line of more than {MOST_LINE} characters"), "shorter lines of hexadecimal digits"));
        }
        looked *= 2;
    }
}

/// Reads a line after `before` octets of the same packet; else what was found and what would be right.
fn read(line: &str, before: usize) -> Result<Line, (String, String)> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(Line::Empty);
    }
    if line.starts_with('#') {
        return Ok(Line::Comment);
    }
    let Some((offset, rest)) = split_offset(line, before) else {
        return Ok(Line::Plain(digits(line).map_err(|why| {
            if is_swapped(line) {
                let found = "words of 16 bits as hexdump prints them, in the order of the machine";
                return (found.to_owned(), "octets in their order, as of hexdump -C or xxd".to_owned());
            }
            why
        })?));
    };
    if offset != before && offset != 0 {
        return Err((
            format!("the offset {offset:#x} after {before:#x} octets"),
            format!("{before:#x}, or 0 for another packet"),
        ));
    }
    Ok(Line::At(offset, columns(rest)?))
}

/// Whether this is a line of `hexdump` without `-C`: an offset of seven digits, then groups of four.
fn is_swapped(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next().is_some_and(|word| word.len() == 7) && words.all(|word| word.len() == 4)
}

/// The offset that a line begins with, if it does.
fn split_offset(line: &str, before: usize) -> Option<(usize, &str)> {
    let end = line.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(line.len());
    let (first, rest) = line.split_at_checked(end)?;
    let offset = usize::from_str_radix(first, 16).ok()?;
    if let Some(rest) = rest.strip_prefix(':')
        && (rest.is_empty() || rest.starts_with(' '))
        && first.len() > 2
    {
        return Some((offset, rest));
    }
    // Without a colon, two spaces tell an offset from digits; so does the right value in front of pairs.
    if first.len() < 4 || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let pairs = rest.split_whitespace().next().is_some_and(|word| word.len() == 2);
    let two = rest.starts_with("  ") || rest.starts_with('\t');
    let last = rest.is_empty() && before > 0 && offset == before;
    (last || (pairs && (two || offset == before))).then_some((offset, rest))
}

/// The octets of a line with columns: those before the characters that some tools repeat at the end.
fn columns(rest: &str) -> Result<Vec<u8>, (String, String)> {
    let rest = rest.trim();
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    if let Some((octets, _)) = rest.split_once("  |") {
        return digits(octets);
    }
    let mut parts = rest.split("  ").map(str::trim).filter(|part| !part.is_empty());
    let mut octets = digits(parts.next().unwrap_or_default())?;
    // A gap in the middle of sixteen octets is no end.
    let is_pairs = |part: &str| part.split(' ').all(|word| word.len() == 2);
    if octets.len() == 8
        && let Some(part) = parts.next().filter(|part| is_pairs(part))
        && let Ok(more) = digits(part)
    {
        octets.extend(more);
    }
    Ok(octets)
}

/// Digits in pairs, with or without spaces, colons, commas and `0x`.
fn digits(text: &str) -> Result<Vec<u8>, (String, String)> {
    let mut octets = Vec::new();
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ':' | ',' | '-'));
    for word in words.filter(|word| !word.is_empty()) {
        let bare = word.strip_prefix("0x").unwrap_or(word);
        let pairs = bare.as_bytes().chunks(2);
        for pair in pairs {
            let octet = match *pair {
                [high, low] => nibble(high).zip(nibble(low)).map(|(high, low)| high << 4 | low),
                _ => None,
            };
            octets.push(octet.ok_or_else(|| {
                (
                    format!("\"{}\"", word.chars().take(40).collect::<String>().escape_debug()),
                    "pairs of hexadecimal digits".to_owned(),
                )
            })?);
        }
    }
    Ok(octets)
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
