//! pcapng: sections of blocks, packets of several interfaces.
//!
//! | | |
//! |---|---|
//! | Specification | draft-ietf-opsawg-pcapng: Section Header, Interface Description, Enhanced and Simple Packet blocks |
//! | Library | `pcap-parser` lays out blocks; the lengths around them are judged here, so that an error can say what would be right. `pcap-file`, which writes our captures, does not read `if_tsresol` and refuses a file for one option that it does not like |
//! | Kept | comments, direction, the length of check sequences; other options of packets as they are |
//! | Left out | the obsolete Packet Block, name resolution, statistics, secrets: stepped over |

use std::io::Read;

use kumiki_octets::text::counted;
use pcap_parser::pcapng::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, PcapNGOption, parse_enhancedpacketblock_be,
    parse_enhancedpacketblock_le, parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le,
    parse_sectionheaderblock, parse_simplepacketblock_be, parse_simplepacketblock_le,
};

use super::source::{ReadPosition, Source};
use super::{Direction, Format, Link, MOST_OCTETS, Record, Time, Unreadable};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// The byte-order magic of a section in its own order.
const MAGIC: u32 = 0x1a2b_3c4d;
/// Type and length.
const FRONT: usize = 8;
/// Interfaces that a section may have.
const MOST_INTERFACES: usize = 65_536;

mod option {
    pub(super) const COMMENT: u16 = 1;
    pub(super) const IF_NAME: u16 = 2;
    pub(super) const EPB_FLAGS: u16 = 2;
    pub(super) const IF_TSRESOL: u16 = 9;
    pub(super) const IF_FCSLEN: u16 = 13;
    pub(super) const IF_TSOFFSET: u16 = 14;
}

/// Whether a file begins like this.
pub(super) fn is_magic(octets: &[u8]) -> bool {
    octets.starts_with(&SECTION_HEADER.to_be_bytes())
}

#[derive(Debug)]
struct Interface {
    link: u32,
    snaplen: usize,
    name: Option<String>,
    ticks_per_second: u128,
    offset_seconds: i64,
    fcs_len: usize,
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

impl Reader {
    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>, number: u64) -> Result<Option<Record>, Unreadable> {
        loop {
            let place =
                ReadPosition { format: Format::PcapNg, packet: number, what: "a block", began: source.offset() };
            let Some((kind, octets)) = self.block(source, &place)? else {
                return Ok(None);
            };
            let record = match kind {
                SECTION_HEADER => {
                    self.section(&octets, &place)?;
                    None
                }
                INTERFACE_DESCRIPTION => {
                    self.interface(&octets, &place)?;
                    None
                }
                ENHANCED_PACKET => Some(self.enhanced(&octets, &place)?),
                SIMPLE_PACKET => Some(self.simple(&octets, &place)?),
                _ => None,
            };
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    fn u32(&self, octets: &[u8], at: usize) -> u32 {
        let four = octets.get(at..).and_then(<[u8]>::first_chunk::<4>);
        let four = four.copied().unwrap_or_default();
        if self.big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    }

    /// Takes one block. Its octets are kept where somebody will look at them.
    fn block<R: Read>(
        &mut self,
        source: &mut Source<R>,
        place: &ReadPosition,
    ) -> Result<Option<(u32, Vec<u8>)>, Unreadable> {
        let Some(mut octets) = source.take(FRONT, place)? else {
            return Ok(None);
        };
        if is_magic(&octets) {
            // Only the next field says how the two before it are to be read.
            let magic = source.peek(4)?.first_chunk::<4>().copied().unwrap_or_default();
            self.big_endian = match magic {
                magic if magic == MAGIC.to_be_bytes() => true,
                magic if magic == MAGIC.to_le_bytes() => false,
                magic => {
                    return Err(place.wrong(
                        format!("the section's byte-order magic is {magic:02x?}"),
                        "1a2b3c4d in one of the two orders",
                    ));
                }
            };
        }
        let (kind, length) = (self.u32(&octets, 0), self.u32(&octets, 4));
        let known = matches!(kind, SECTION_HEADER | INTERFACE_DESCRIPTION | SIMPLE_PACKET | ENHANCED_PACKET);
        let len = usize::try_from(length).unwrap_or(usize::MAX);
        if !length.is_multiple_of(4) || len < FRONT + 4 {
            return Err(place.wrong(
                format!("block type {kind:#x} has the length {length}"),
                "a multiple of 4, at least 12; a length before may be wrong",
            ));
        }
        let body = len - FRONT - 4;
        if known && len <= MOST_OCTETS {
            octets.extend(source.take_more(body, place)?);
        } else if known {
            return Err(
                place.wrong(format!("block type {kind:#x} has the length {length}"), format!("at most {MOST_OCTETS}"))
            );
        } else {
            source.skip_more(body, place)?;
        }
        let behind = source.take_more(4, place)?;
        let again = self.u32(&behind, 0);
        if again != length {
            return Err(place.wrong(
                format!("the length of block type {kind:#x} is {length} in front and {again} behind"),
                "twice the same",
            ));
        }
        octets.extend(behind);
        Ok(Some((kind, octets)))
    }

    fn section(&mut self, octets: &[u8], place: &ReadPosition) -> Result<(), Unreadable> {
        let Ok((_, section)) = parse_sectionheaderblock(octets) else {
            return Err(layout(place, "section header", octets));
        };
        if section.major_version != 1 {
            return Err(
                place.wrong(format!("version {}.{}", section.major_version, section.minor_version), "version 1")
            );
        }
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, octets: &[u8], place: &ReadPosition) -> Result<(), Unreadable> {
        let parsed = if self.big_endian {
            parse_interfacedescriptionblock_be(octets)
        } else {
            parse_interfacedescriptionblock_le(octets)
        };
        let Ok((_, block)) = parsed else {
            return Err(layout(place, "interface description", octets));
        };
        if self.interfaces.len() >= MOST_INTERFACES {
            return Err(
                place.wrong(format!("more than {MOST_INTERFACES} interfaces"), format!("at most {MOST_INTERFACES}"))
            );
        }
        let interface = self.describe(&block, place)?;
        self.interfaces.push(interface);
        Ok(())
    }

    fn describe(&self, block: &InterfaceDescriptionBlock<'_>, place: &ReadPosition) -> Result<Interface, Unreadable> {
        let mut interface = Interface {
            link: u32::from_ne_bytes(block.linktype.0.to_ne_bytes()),
            snaplen: usize::try_from(block.snaplen).unwrap_or(usize::MAX),
            name: None,
            ticks_per_second: 1_000_000,
            offset_seconds: 0,
            fcs_len: 0,
        };
        for (code, value) in options(&block.options) {
            match (code, value) {
                (option::IF_NAME, name) => {
                    let name = String::from_utf8_lossy(name);
                    interface.name = Some(name.chars().take(256).collect());
                }
                (option::IF_TSRESOL, [resolution]) => {
                    let power = u32::from(resolution & 0x7f);
                    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
                    // 64 bits of ticks cannot be finer than this.
                    let ticks = base.checked_pow(power).filter(|ticks| *ticks <= 1 << 64);
                    interface.ticks_per_second = ticks.ok_or_else(|| {
                        place.wrong(
                            format!("if_tsresol is {base} to the minus {power} s"),
                            "at most 64 bits of fraction",
                        )
                    })?;
                }
                (option::IF_FCSLEN, [bits]) => interface.fcs_len = usize::from(bits / 8),
                (option::IF_TSOFFSET, value) => {
                    if let Ok(octets) = <[u8; 8]>::try_from(value) {
                        interface.offset_seconds =
                            if self.big_endian { i64::from_be_bytes(octets) } else { i64::from_le_bytes(octets) };
                    }
                }
                _ => {}
            }
        }
        Ok(interface)
    }

    fn on(&self, interface: u32, place: &ReadPosition) -> Result<&Interface, Unreadable> {
        let found = usize::try_from(interface).ok();
        found.and_then(|at| self.interfaces.get(at)).ok_or_else(|| {
            place.wrong(
                format!("a packet of interface {interface}"),
                match self.interfaces.len() {
                    0 => "an interface description before the first packet".to_owned(),
                    n => format!("an interface from 0 to {}: the section has {n}", n - 1),
                },
            )
        })
    }

    fn enhanced(&self, octets: &[u8], place: &ReadPosition) -> Result<Record, Unreadable> {
        let parsed =
            if self.big_endian { parse_enhancedpacketblock_be(octets) } else { parse_enhancedpacketblock_le(octets) };
        let Ok((_, block)) = parsed else {
            return Err(self.packet_layout(octets, place));
        };
        let EnhancedPacketBlock { if_id, ts_high, ts_low, caplen, origlen, .. } = block;
        let interface = self.on(if_id, place)?;
        let ticks = u64::from(ts_high) << 32 | u64::from(ts_low);
        let Time(since) = Time::from_ticks(ticks, interface.ticks_per_second);
        let data = usize::try_from(caplen).ok().and_then(|len| block.data.get(..len));
        let mut record = Record {
            number: place.packet,
            file_offset: place.began,
            time: Some(Time::new(interface.offset_seconds, since)),
            interface: if_id,
            interface_name: interface.name.clone(),
            link: Link::Number(interface.link),
            octets: data.unwrap_or_default().to_vec(),
            original_len: usize::try_from(origlen).unwrap_or(usize::MAX),
            fcs_len: interface.fcs_len,
            ..Record::default()
        };
        for (code, value) in options(&block.options) {
            match code {
                option::COMMENT => record.comments.push(String::from_utf8_lossy(value).into_owned()),
                option::EPB_FLAGS if value.len() == 4 => {
                    let flags = self.u32(value, 0);
                    record.direction = match flags & 3 {
                        1 => Some(Direction::Inbound),
                        2 => Some(Direction::Outbound),
                        _ => None,
                    };
                    if let Ok(fcs_len @ 1..) = usize::try_from(flags >> 5 & 0xf) {
                        record.fcs_len = fcs_len;
                    }
                    record.options.push((code, value.to_vec()));
                }
                _ => record.options.push((code, value.to_vec())),
            }
        }
        Ok(record)
    }

    /// Why an Enhanced Packet Block does not hold what it says.
    fn packet_layout(&self, octets: &[u8], place: &ReadPosition) -> Unreadable {
        const FIXED: usize = 32;
        if octets.len() < FIXED {
            return layout(place, "enhanced packet", octets);
        }
        place.wrong(
            format!(
                "an enhanced packet block of {} says that it holds {} of a packet",
                counted(octets.len(), "octet"),
                self.u32(octets, 20)
            ),
            format!("at most {}", octets.len() - FIXED),
        )
    }

    fn simple(&self, octets: &[u8], place: &ReadPosition) -> Result<Record, Unreadable> {
        let parsed =
            if self.big_endian { parse_simplepacketblock_be(octets) } else { parse_simplepacketblock_le(octets) };
        let Ok((_, block)) = parsed else {
            return Err(layout(place, "simple packet", octets));
        };
        let interface = self.on(0, place)?;
        let original_len = usize::try_from(block.origlen).unwrap_or(usize::MAX);
        // The block does not say how much was kept; the interface's limit does.
        let kept = match interface.snaplen {
            0 => original_len,
            most => original_len.min(most),
        };
        let Some(data) = block.data.get(..kept) else {
            return Err(place.wrong(
                format!("a simple packet block with {} for a packet of {kept}", counted(block.data.len(), "octet")),
                "as many octets as the packet has, or the interface keeps",
            ));
        };
        Ok(Record {
            number: place.packet,
            file_offset: place.began,
            interface_name: interface.name.clone(),
            link: Link::Number(interface.link),
            octets: data.to_vec(),
            original_len,
            fcs_len: interface.fcs_len,
            ..Record::default()
        })
    }
}

fn layout(place: &ReadPosition, what: &str, octets: &[u8]) -> Unreadable {
    place.wrong(format!("a block of {} is no {what}", counted(octets.len(), "octet")), format!("a whole {what}"))
}

/// Number and value, without padding, up to the end of the options. Values that are not all there are left out.
fn options<'a>(options: &'a [PcapNGOption<'_>]) -> impl Iterator<Item = (u16, &'a [u8])> {
    options
        .iter()
        .take_while(|option| option.code.0 != 0)
        .filter_map(|option| Some((option.code.0, option.as_bytes().ok()?)))
}
