//! XTP packets.
//!
//! | | |
//! |---|---|
//! | Specification | XTP 4.0b (XTP Forum, 1998), as Wireshark's dissector of it reads it: no text of the standard is public. `docs/xtp.md` says what was settled here |
//! | Checksum | over header and payload, or over the header alone with [`Options::NOCHECK`]; no pseudo header; the field is zero while it is summed: by whoever holds the data, see [`covered`] |
//! | Left out | revision 3.6 and before, of which no header layout is public; JOIN (format 6), which 4.0b calls obsolete; address formats other than null, IPv4 and IPv6 (kept as octets) |
//!
//! A packet is the [`Header`] of 32 octets, then a payload of `dlen` octets; what follows that is padding of the link.
//! The payload depends on the packet format:
//!
//! | [`Format`] | payload |
//! |---|---|
//! | DATA | a tag of 8 octets with [`Options::BTAG`], data |
//! | FIRST | [`First`], data |
//! | CNTL | [`Control`] |
//! | ECNTL | [`Errors`] |
//! | TCNTL | [`TrafficControl`] |
//! | JCNTL | [`Join`] |
//! | DIAG | [`Diagnosis`], then text for people |

use core::fmt;

use crate::Malformed;

mod control;
mod options;
mod segments;
#[cfg(test)]
mod tests;

pub use control::{Control, Diagnosis, Errors, First, Join, Span, TrafficControl, code, val};
pub use options::Options;
pub use segments::{Address, Rates, Traffic, service};

/// Octets of the header.
pub const LEN: usize = 32;
/// Where the checksum lies in the header.
pub const CHECK_OFFSET: usize = 16;
/// The version of all packets here: bits 7 to 5 of the command word.
pub const VERSION: u8 = 1;
/// Octets of the tag in front of the data, with [`Options::BTAG`].
pub const BTAG_LEN: usize = 8;
/// The Ethernet type.
pub const ETHER_TYPE: u16 = 0x817d;

/// The name of a context: 63 bits whose meaning is local to the host that chose them, and whose they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(pub u64);

impl Key {
    /// RTN: the key is the receiver's own.
    const RETURN: u64 = 1 << 63;

    /// The same name, as the host that chose it writes it.
    #[must_use]
    pub const fn own(self) -> Self {
        Self(self.0 & !Self::RETURN)
    }

    /// The same name, as its peer writes it (RTN set).
    #[must_use]
    pub const fn returned(self) -> Self {
        Self(self.0 | Self::RETURN)
    }

    /// RTN: the receiver of the packet has chosen this key; otherwise the sender has.
    #[must_use]
    pub const fn is_returned(self) -> bool {
        self.0 & Self::RETURN != 0
    }
}

impl fmt::Display for Key {
    /// For example `2:7`, the two halves of 63 bits in hexadecimal; `return 2:7` with RTN.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own().0;
        if self.is_returned() {
            f.write_str("return ")?;
        }
        write!(f, "{:x}:{:x}", own >> 32, own & 0xffff_ffff)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The packet format: bits 4 to 0 of the command word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Format {
    /// 0: user data.
    #[default]
    Data,
    /// 1: the state of the receiver.
    Cntl,
    /// 2: the first packet of a context, with addresses.
    First,
    /// 3: the state of the receiver where something is missing.
    Ecntl,
    /// 5: the state of the receiver, its key and traffic values.
    Tcntl,
    /// 7: asks to take part in a multicast that has begun, or answers that.
    Jcntl,
    /// 8: something is wrong.
    Diag,
}

impl Format {
    const fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Data,
            1 => Self::Cntl,
            2 => Self::First,
            3 => Self::Ecntl,
            5 => Self::Tcntl,
            7 => Self::Jcntl,
            8 => Self::Diag,
            _ => return None,
        })
    }

    const fn bits(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Cntl => 1,
            Self::First => 2,
            Self::Ecntl => 3,
            Self::Tcntl => 5,
            Self::Jcntl => 7,
            Self::Diag => 8,
        }
    }

    /// The name in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "DATA",
            Self::Cntl => "CNTL",
            Self::First => "FIRST",
            Self::Ecntl => "ECNTL",
            Self::Tcntl => "TCNTL",
            Self::Jcntl => "JCNTL",
            Self::Diag => "DIAG",
        }
    }

    /// Whether the payload begins with a [`Control`].
    #[must_use]
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Cntl | Self::Ecntl | Self::Tcntl | Self::Jcntl)
    }

    /// The fewest octets of payload: a DATA packet has data.
    const fn least(self) -> usize {
        match self {
            Self::Data => 1,
            Self::Cntl => control::CNTL_LEN,
            Self::First => 2 * segments::LEAST,
            Self::Ecntl => control::CNTL_LEN + 4,
            Self::Tcntl => control::TCNTL_LEN + segments::LEAST,
            Self::Jcntl => control::TCNTL_LEN + 2 * segments::LEAST,
            Self::Diag => control::DIAG_LEN,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What every packet begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Header {
    /// Whose packet it is.
    pub key: Key,
    /// The options.
    pub options: Options,
    /// What the payload is.
    pub format: Format,
    /// Octets of payload.
    pub dlen: u32,
    /// The checksum as on the wire; neither computed nor verified here.
    pub check: u16,
    /// Priority, significant with [`Options::SORT`] and otherwise zero.
    pub sort: u16,
    /// Number of the synchronizing handshake.
    pub sync: u32,
    /// Number of the first data octet of the packet; without data, of the next one that its sender would send.
    pub seq: u64,
}

/// How many octets of a packet its checksum covers, from the octets at its front and `total`, its length as delivered;
/// `None` where they are not all there. The rest of the header need not make sense: what is not intact is not looked
/// at.
#[must_use]
pub fn covered(front: &[u8], total: usize) -> Option<usize> {
    let [_, _, _, _, _, _, _, _, first, _, _, _, d0, d1, d2, d3, ..] = front.first_chunk::<LEN>()?;
    let dlen = u32::from_be_bytes([*d0, *d1, *d2, *d3]);
    let whole = LEN.checked_add(usize::try_from(dlen).ok()?)?;
    if total < whole {
        return None;
    }
    let nocheck = first & 0x40 != 0;
    Some(if nocheck { LEN } else { whole })
}

impl Header {
    /// Reads a header from the octets at the front of a packet of `total` octets, padding of the link included; also
    /// gives its length.
    ///
    /// # Errors
    /// The header is not all there; another version; a format or options that are not assigned; SORT not set but a
    /// priority given; `dlen` beyond `total` or too small for the format.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let Some(octets) = front.first_chunk::<LEN>() else {
            return Err(short(LEN, front.len()));
        };
        #[rustfmt::skip] // one line is one field of the drawing
        let [
            k0, k1, k2, k3, k4, k5, k6, k7,
            o0, o1, o2, command,
            d0, d1, d2, d3,
            c0, c1,
            p0, p1,
            y0, y1, y2, y3,
            s0, s1, s2, s3, s4, s5, s6, s7,
        ] = *octets;
        let version = command >> 5;
        if version != VERSION {
            return Err(field("version", version.into(), "1 (XTP 4.0)"));
        }
        let bits = u32::from_be_bytes([0, o0, o1, o2]);
        let options = Options::from_bits(bits);
        if options.bits() != bits {
            return Err(field("options", bits.into(), "bits of mask 0x7fff00, the others are not assigned"));
        }
        let format = Format::from_bits(command & 0x1f).ok_or_else(|| {
            let expected = "0 to 3, 5, 7 or 8";
            field("packet format", u64::from(command & 0x1f), expected)
        })?;
        let sort = u16::from_be_bytes([p0, p1]);
        if sort != 0 && !options.contains(Options::SORT) {
            return Err(field("sort", sort.into(), "0 where SORT is not set"));
        }
        let dlen = u32::from_be_bytes([d0, d1, d2, d3]);
        let payload = usize::try_from(dlen).unwrap_or(usize::MAX);
        let is_tagged = format == Format::Data && options.contains(Options::BTAG);
        let least = format.least() + if is_tagged { BTAG_LEN } else { 0 };
        let most = total.saturating_sub(LEN);
        if payload < least || payload > most {
            return Err(length("dlen", payload, least, most));
        }
        let header = Self {
            key: Key(u64::from_be_bytes([k0, k1, k2, k3, k4, k5, k6, k7])),
            options,
            format,
            dlen,
            check: u16::from_be_bytes([c0, c1]),
            sort,
            sync: u32::from_be_bytes([y0, y1, y2, y3]),
            seq: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
        };
        Ok((header, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 32.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 32 octets, the checksum as it stands in the field.
    pub fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        let Some(out) = out.first_chunk_mut::<LEN>() else {
            return;
        };
        let [k0, k1, k2, k3, k4, k5, k6, k7] = self.key.0.to_be_bytes();
        let [_, o0, o1, o2] = self.options.bits().to_be_bytes();
        let command = VERSION << 5 | self.format.bits();
        let [d0, d1, d2, d3] = self.dlen.to_be_bytes();
        let [c0, c1] = self.check.to_be_bytes();
        let [p0, p1] = self.sort.to_be_bytes();
        let [y0, y1, y2, y3] = self.sync.to_be_bytes();
        let [s0, s1, s2, s3, s4, s5, s6, s7] = self.seq.to_be_bytes();
        #[rustfmt::skip] // one line is one field of the drawing
        let octets = [
            k0, k1, k2, k3, k4, k5, k6, k7,
            o0, o1, o2, command,
            d0, d1, d2, d3,
            c0, c1,
            p0, p1,
            y0, y1, y2, y3,
            s0, s1, s2, s3, s4, s5, s6, s7,
        ];
        *out = octets;
    }
}

impl fmt::Display for Header {
    /// For example `XTP FIRST key 1:1 EDGE,SREQ sync 1 seq 0 dlen 104`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, options, format, dlen, sort, sync, seq, .. } = self;
        write!(f, "XTP {format} key {key} {options}")?;
        if options.contains(Options::SORT) {
            write!(f, " sort {sort:#x}")?;
        }
        write!(f, " sync {sync} seq {seq} dlen {dlen}")
    }
}

const fn short(need: usize, have: usize) -> Malformed {
    Malformed::Short { protocol: "XTP", need, have }
}

const fn field(field: &'static str, found: u64, expected: &'static str) -> Malformed {
    Malformed::Field { protocol: "XTP", field, found, expected }
}

const fn length(field: &'static str, found: usize, least: usize, most: usize) -> Malformed {
    Malformed::Length { protocol: "XTP", field, found, least, most }
}

/// Takes the next `N` octets.
fn take<const N: usize>(octets: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (taken, rest) = octets.split_first_chunk::<N>().ok_or_else(|| short(N, octets.len()))?;
    *octets = rest;
    Ok(*taken)
}
