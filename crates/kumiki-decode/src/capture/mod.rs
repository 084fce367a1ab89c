//! Captures and other files that hold packets, read one packet at a time.
//!
//! | Format | Known by |
//! |---|---|
//! | pcap | magic number: micro- and nanoseconds, both byte orders |
//! | pcapng | magic number: sections of both byte orders, several interfaces, time units, comments and other options |
//! | ERF | nothing but that its first records hang together |
//! | hex | text: plain digits, or lines with offsets as of `xxd`, `hexdump -C` and `tshark -x` |
//! | hdlc | flags around a first frame whose check sequence is right |
//! | raw | what is left: one packet, or cells |
//!
//! Memory: one record of at most [`MOST_OCTETS`] octets, whatever the size of the file. Left out: compressed files; the
//! modified pcap of some old kernels.

use std::fmt;
use std::io::{self, Read};

use crate::key::Key;
use crate::registry::Registry;

mod erf;
mod guess;
mod hdlc;
mod hex;
mod pcap;
mod pcapng;
mod raw;
mod source;
#[cfg(test)]
mod tests;

pub use guess::{Guess, guess_layer};
use kumiki_octets::text::counted;
use source::Source;

/// Longest record or block that is read.
pub const MOST_OCTETS: usize = 4 << 20;

/// One packet as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Record {
    /// Counted from 1.
    pub number: u64,
    /// Where the record begins in the file, in octets.
    pub file_offset: u64,
    /// When it was seen, where that is known.
    pub time: Option<Time>,
    /// Which interface of the capture.
    pub interface: u32,
    /// The interface's name, where it has one.
    pub interface_name: Option<String>,
    /// What its octets begin with.
    pub link: Link,
    /// The octets that were kept.
    pub octets: Vec<u8>,
    /// Octets that there were on the medium.
    pub original_len: usize,
    /// Octets of frame check sequence at the end, if the capture says so.
    pub fcs_len: usize,
    /// Which way it went, seen from whoever captured it.
    pub direction: Option<Direction>,
    /// What somebody wrote about it.
    pub comments: Vec<String>,
    /// Other options of the record: number and value, as in pcapng.
    pub options: Vec<(u16, Vec<u8>)>,
}

/// What the octets of a record begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A link type of the tcpdump.org registry.
    Number(u32),
    /// The dissector of this name.
    Named(&'static str),
}

impl Default for Link {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl Link {
    pub(crate) const fn key(self) -> Key {
        match self {
            Self::Number(number) => Key::LinkType(number),
            Self::Named(name) => Key::Named(name),
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "link type {number}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    Inbound,
    /// Sent.
    Outbound,
}

/// A point in time, in nanoseconds since the epoch of the capture: 1970 for real ones, the start of the run for
/// emulated ones. Finer units are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub i128);

impl Time {
    const SECOND: i128 = 1_000_000_000;

    pub(crate) fn new(seconds: impl Into<i128>, nanoseconds: impl Into<i128>) -> Self {
        Self(seconds.into() * Self::SECOND + nanoseconds.into())
    }

    /// From `ticks` of which there are `per_second` (not 0).
    pub(crate) fn from_ticks(ticks: u64, per_second: u128) -> Self {
        let (ticks, per_second) = (u128::from(ticks), per_second.max(1));
        let seconds = i128::try_from(ticks / per_second).unwrap_or_default();
        let rest = (ticks % per_second).saturating_mul(1_000_000_000) / per_second;
        Self::new(seconds, i128::try_from(rest).unwrap_or_default())
    }

    /// The time from `earlier` to this.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    /// Seconds with nine places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        let second = Self::SECOND.unsigned_abs();
        write!(f, "{sign}{}.{:09}", ns / second, ns % second)
    }
}

/// Why a file cannot be read on: where, what was found, what would be right.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file itself could not be read.
    #[error("at octet {offset}: {why}")]
    Io {
        /// How far it could be read.
        offset: u64,
        /// The system's reason.
        why: io::Error,
    },
    /// The file ends in the middle of something.
    #[error(
        "{format}, packet {packet}: the file ends at octet {end}, where {what} that began at octet {offset} (0x{offset:x}) has {have} of {octets}; it was cut there, or a length before is wrong", octets = counted(*need, "octet"))]
    Ends {
        /// The format that it was read as.
        format: Format,
        /// The packet that would have been next, from 1.
        packet: u64,
        /// What was being read.
        what: &'static str,
        /// Where that began.
        offset: u64,
        /// Octets that are there.
        have: usize,
        /// Octets that should be there.
        need: usize,
        /// Where the file ends.
        end: u64,
    },
    /// What is there is not what the format wants.
    #[error("{format}, packet {packet}, octet {offset} (0x{offset:x}) of the file: {found}; right: {right}")]
    Wrong {
        /// The format that it was read as.
        format: Format,
        /// The packet that would have been next, from 1.
        packet: u64,
        /// Where in the file.
        offset: u64,
        /// What was found.
        found: String,
        /// What would have been accepted.
        right: String,
    },
    /// Nothing says what the file is.
    #[error("{0}")]
    Unknown(String),
}

/// A way to hold packets in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The format of libpcap.
    Pcap,
    /// Its successor.
    PcapNg,
    /// Records of DAG cards.
    Erf,
    /// Hexadecimal digits.
    Hex,
    /// The octets of a line in HDLC-like framing (RFC 1662).
    Hdlc,
    /// The octets themselves.
    Raw,
}

impl Format {
    /// All, with their names.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("pcap", Self::Pcap),
        ("pcapng", Self::PcapNg),
        ("erf", Self::Erf),
        ("hex", Self::Hex),
        ("hdlc", Self::Hdlc),
        ("raw", Self::Raw),
    ];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, format)| format == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

/// What a user may say of a file; the rest is guessed.
#[derive(Clone, Copy, Debug, Default)]
pub struct FormatHint {
    /// The format.
    pub format: Option<Format>,
    /// The name of the dissector of the first layer.
    pub layer: Option<&'static str>,
}

/// A file of packets being read.
pub struct Capture<R> {
    source: Source<R>,
    reader: Reader,
    guess: Guess,
    packets: u64,
    ended: bool,
}

impl<R> fmt::Debug for Capture<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("guess", &self.guess).field("packets", &self.packets).finish_non_exhaustive()
    }
}

enum Reader {
    Pcap(pcap::Reader),
    PcapNg(pcapng::Reader),
    Erf,
    Hex(hex::Reader),
    Hdlc(hdlc::Reader),
    Raw(raw::Reader),
}

impl<R: Read> Capture<R> {
    /// Looks at the beginning of `file`. It is read in large pieces.
    ///
    /// # Errors
    /// [`Unreadable`] where it cannot be read, or nothing says what it is.
    pub fn open(file: R, wish: FormatHint, registry: &Registry) -> Result<Self, Unreadable> {
        let mut source = Source::new(file);
        let guess = Guess::of(&mut source, wish, registry)?;
        let layer = guess.layer;
        let reader = match guess.format {
            Format::Pcap => Reader::Pcap(pcap::Reader::open(&mut source)?),
            Format::PcapNg => Reader::PcapNg(pcapng::Reader::default()),
            Format::Erf => Reader::Erf,
            Format::Hex => Reader::Hex(hex::Reader::new(layer)),
            Format::Hdlc => Reader::Hdlc(hdlc::Reader::new(layer.unwrap_or("ppp"))),
            Format::Raw => Reader::Raw(raw::Reader::new(layer.unwrap_or("ip"))),
        };
        Ok(Self { source, reader, guess, packets: 0, ended: false })
    }

    /// What the file was taken for, and why.
    pub const fn guess(&self) -> &Guess {
        &self.guess
    }

    /// The next packet; `None` at the end. After an error there is nothing more.
    ///
    /// # Errors
    /// [`Unreadable`] says where and what would be right.
    pub fn next_record(&mut self) -> Result<Option<Record>, Unreadable> {
        if self.ended {
            return Ok(None);
        }
        let (source, number) = (&mut self.source, self.packets.saturating_add(1));
        let next = match &mut self.reader {
            Reader::Pcap(reader) => reader.next(source, number),
            Reader::PcapNg(reader) => reader.next(source, number),
            Reader::Erf => erf::next(source, number),
            Reader::Hex(reader) => reader.next(source, number),
            Reader::Hdlc(reader) => reader.next(source, number),
            Reader::Raw(reader) => reader.next(source, number),
        };
        match &next {
            Ok(Some(_)) => self.packets = number,
            Ok(None) | Err(_) => self.ended = true,
        }
        next
    }
}

impl<R: Read> Iterator for Capture<R> {
    type Item = Result<Record, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}
