//! pcap: a header, then records with seconds, a fraction, and two lengths.
//!
//! | | |
//! |---|---|
//! | Specification | draft-ietf-opsawg-pcap; magic numbers A1B2C3D4 (microseconds) and A1B23C4D (nanoseconds) in both byte orders |
//! | Library | `pcap-parser` lays out headers; lengths are judged here, so that an error can say what would be right |
//! | Left out | the time zone of the header, which nobody sets |

use std::io::Read;

use kumiki_octets::text::counted;
use pcap_parser::{PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};

use super::source::{ReadPosition, Source};
use super::{Format, Link, MOST_OCTETS, Record, Time, Unreadable};

/// Octets of the file's header.
const FILE_HEADER: usize = 24;
/// Octets of a record's header.
const HEADER: usize = 16;

/// Whether a file begins like this.
pub(super) fn is_magic(octets: &[u8]) -> bool {
    matches!(
        octets,
        [0xd4, 0xc3, 0xb2, 0xa1, ..]
            | [0xa1, 0xb2, 0xc3, 0xd4, ..]
            | [0x4d, 0x3c, 0xb2, 0xa1, ..]
            | [0xa1, 0xb2, 0x3c, 0x4d, ..]
    )
}

pub(super) struct Reader {
    header: PcapHeader,
}

impl Reader {
    pub(super) fn open<R: Read>(source: &mut Source<R>) -> Result<Self, Unreadable> {
        let place = ReadPosition { format: Format::Pcap, packet: 1, what: "the file's header", began: source.offset() };
        let octets = source.take(FILE_HEADER, &place)?.unwrap_or_default();
        let Ok((_, header)) = parse_pcap_header(&octets) else {
            return Err(place.wrong(
                format!("the file begins with {:02x?}", octets.get(..4).unwrap_or_default()),
                "a magic number of pcap: d4c3b2a1, a1b2c3d4, 4d3cb2a1 or a1b23c4d",
            ));
        };
        if header.version_major != 2 {
            return Err(
                place.wrong(format!("version {}.{}", header.version_major, header.version_minor), "version 2.4")
            );
        }
        Ok(Self { header })
    }

    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>, number: u64) -> Result<Option<Record>, Unreadable> {
        let place = ReadPosition { format: Format::Pcap, packet: number, what: "a record", began: source.offset() };
        let Some(mut octets) = source.take(HEADER, &place)? else {
            return Ok(None);
        };
        // The two lengths of the header, before as many octets are asked for.
        let lengths = octets.get(8..).and_then(<[u8]>::first_chunk::<4>).copied();
        let caplen = if self.header.is_bigendian() {
            u32::from_be_bytes(lengths.unwrap_or_default())
        } else {
            u32::from_le_bytes(lengths.unwrap_or_default())
        };
        let wanted = usize::try_from(caplen).unwrap_or(usize::MAX);
        if wanted > MOST_OCTETS - HEADER {
            return Err(place.wrong(
                format!("the record says that it has {octets}", octets = counted(caplen, "octet")),
                format!("at most {}", MOST_OCTETS - HEADER),
            ));
        }
        octets.extend(source.take_more(wanted, &place)?);
        let parsed = if self.header.is_bigendian() { parse_pcap_frame_be(&octets) } else { parse_pcap_frame(&octets) };
        let Ok((_, frame)) = parsed else {
            return Err(place.wrong("a record that cannot be laid out".to_owned(), "a pcap record"));
        };
        let (unit, most) = if self.header.is_nanosecond_precision() { (1, 1_000_000_000) } else { (1000, 1_000_000) };
        if frame.ts_usec >= most {
            return Err(place.wrong(
                format!("the fraction of the time is {}", frame.ts_usec),
                format!("less than {most}; a length before may be wrong"),
            ));
        }
        // The upper bits of the link type may say how many octets of check sequence frames have, in units of two.
        let network = u32::from_ne_bytes(self.header.network.0.to_ne_bytes());
        let fcs_len =
            if network & 0x0400_0000 == 0 { 0 } else { 2 * usize::try_from(network >> 28).unwrap_or_default() };
        Ok(Some(Record {
            number,
            file_offset: place.began,
            time: Some(Time::new(frame.ts_sec, unit * i128::from(frame.ts_usec))),
            link: Link::Number(network & 0xffff),
            octets: frame.data.to_vec(),
            original_len: usize::try_from(frame.origlen).unwrap_or(usize::MAX),
            fcs_len,
            ..Record::default()
        }))
    }
}
