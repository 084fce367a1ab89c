//! What a file is, where nobody says it: the format by its beginning, the first layer by the first octets.

use std::fmt;
use std::io::Read;

use kumiki_wire::atm::cell::{CELL_LEN, HEADER_LEN, syndrome};
use kumiki_wire::inet::ethernet::ethertype;
use kumiki_wire::inet::ipv4;

use super::source::Source;
use super::{Format, FormatHint, Unreadable, erf, hdlc, pcap, pcapng};
use crate::registry::Registry;

/// Octets that are looked at.
const LOOKED_AT: usize = 256 << 10;
/// Of these, so many are looked at for text.
const TEXT: usize = 512;

/// What a file was taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The format.
    pub format: Format,
    /// The first layer, where the format does not hold it in each record.
    pub layer: Option<&'static str>,
    /// Why; empty where a user said it all.
    pub why: String,
}

impl fmt::Display for Guess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "read as {}", self.format)?;
        if let Some(layer) = self.layer {
            write!(f, ", first layer {layer}")?;
        }
        if !self.why.is_empty() {
            write!(f, " ({})", self.why)?;
        }
        Ok(())
    }
}

impl Guess {
    pub(super) fn of<R: Read>(
        source: &mut Source<R>,
        wish: FormatHint,
        registry: &Registry,
    ) -> Result<Self, Unreadable> {
        let octets = source.peek(LOOKED_AT)?;
        let (format, why) = match wish.format {
            Some(format) => (format, String::new()),
            None => format(octets, wish)?,
        };
        let mut guess = Self { format, layer: wish.layer, why };
        if format == Format::Hdlc && wish.layer.is_none() {
            guess.layer = Some("ppp");
        }
        if format == Format::Raw && wish.layer.is_none() {
            let Some((layer, why)) = guess_layer(octets) else {
                let names: Vec<&str> = registry.all().map(|one| one.name).collect();
                return Err(Unreadable::Unknown(format!(
                    "this is neither a capture (pcap, pcapng, ERF) nor hexadecimal text, and its first octets tell no layer; \
                     say which it is with --as: {}",
                    names.join(", ")
                )));
            };
            guess.layer = Some(layer);
            guess.why = why;
        }
        Ok(guess)
    }
}

fn format(octets: &[u8], wish: FormatHint) -> Result<(Format, String), Unreadable> {
    if octets.is_empty() {
        return Err(Unreadable::Unknown("the file is empty".to_owned()));
    }
    if pcap::is_magic(octets) {
        return Ok((Format::Pcap, "by its magic number".to_owned()));
    }
    if pcapng::is_magic(octets) {
        return Ok((Format::PcapNg, "by its magic number".to_owned()));
    }
    if is_hex(octets) {
        return Ok((Format::Hex, "it is text of hexadecimal digits".to_owned()));
    }
    if hdlc::is_plausible(octets) {
        return Ok((Format::Hdlc, "flags stand around a frame whose check sequence is right".to_owned()));
    }
    let whole = octets.len() < LOOKED_AT;
    if wish.layer.is_none() && erf::is_plausible(octets, whole) {
        return Ok((Format::Erf, "the lengths of its records hang together".to_owned()));
    }
    Ok((Format::Raw, String::new()))
}

/// Whether this is text whose first line that is no comment begins with hexadecimal digits.
fn is_hex(octets: &[u8]) -> bool {
    let looked = octets.get(..TEXT).unwrap_or(octets);
    let is_text = |octet: &u8| matches!(octet, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    // Tools may repeat characters of any set at the end of a line, but not in the digits before.
    let line = looked
        .split(|octet| *octet == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && !line.starts_with(b"#"))
        .unwrap_or_default();
    let word =
        line.split(|octet| octet.is_ascii_whitespace() || matches!(octet, b':' | b',')).next().unwrap_or_default();
    let word = word.strip_prefix(b"0x").unwrap_or(word);
    !word.is_empty() && word.iter().all(u8::is_ascii_hexdigit) && line.iter().all(is_text)
}

/// The first layer of octets that nobody names, and why.
#[must_use]
pub fn guess_layer(octets: &[u8]) -> Option<(&'static str, String)> {
    if octets.len() >= CELL_LEN && octets.len().is_multiple_of(CELL_LEN) {
        let mut cells = octets.chunks(CELL_LEN);
        let right = |cell: &[u8]| cell.first_chunk::<HEADER_LEN>().map(|header| syndrome(*header)) == Some(0);
        if cells.all(right) {
            let why = format!("every {CELL_LEN} octets begin with a right HEC");
            return Some(("cells", why));
        }
    }
    if octets.starts_with(&[0xaa, 0xaa, 0x03]) || octets.starts_with(&[0xfe, 0xfe, 0x03]) {
        return Some(("llc-snap", "by its first three octets".to_owned()));
    }
    if let Ok((header, len)) = ipv4::Header::parse_quoted(octets)
        && (octets.get(..len).map(ipv4::checksum) == Some(header.header_checksum)
            || usize::from(header.total_length) == octets.len())
    {
        return Some(("ip", "it begins with an IPv4 header that fits".to_owned()));
    }
    if let Some(&[first, _, _, _, l0, l1]) = octets.first_chunk::<6>()
        && first >> 4 == 6
        && usize::from(u16::from_be_bytes([l0, l1])).checked_add(40) == Some(octets.len())
    {
        return Some(("ip", "it begins with an IPv6 header whose length fits".to_owned()));
    }
    let kind = octets.get(12..).and_then(<[u8]>::first_chunk::<2>);
    let known = [ethertype::IPV4, ethertype::ARP, ethertype::IPV6, ethertype::XTP, ethertype::VLAN];
    if kind.is_some_and(|kind| known.contains(&u16::from_be_bytes(*kind))) {
        return Some(("ethernet", "octets 12 and 13 are a known EtherType".to_owned()));
    }
    if octets.starts_with(&[0xff, 0x03]) {
        return Some(("ppp", "it begins with ff 03".to_owned()));
    }
    None
}
