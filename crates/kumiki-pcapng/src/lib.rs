//! Captures that Wireshark and tshark read: pcapng with several interfaces, nanoseconds and comments.
//!
//! | | |
//! |---|---|
//! | Specification | draft-ietf-opsawg-pcapng: Section Header, Interface Description and Enhanced Packet blocks; link types from the tcpdump.org registry |
//! | Below | any [`std::io::Write`]; blocks are laid out by the `pcap-file` crate |
//! | Left out | reading, several sections, name resolution, interface statistics, packet hashes |
//!
//! A capture holds no wall-clock time, host name or operating system, so that the same run gives the same octets.
//! Time zero of the executor's clock is written as time zero of the capture.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};

#[cfg(test)]
mod tests;

/// Longest option value that pcapng can carry, as its length field has 16 bits; also rounded down to a multiple of 4
/// so that the padded value still counts.
const LONGEST_OPTION: usize = 65_532;

/// Longest packet that is recorded, so that the block's own length stays within its 32 bits.
const LONGEST_PACKET: u32 = 0x7fff_ffff;

/// `if_tsresol`: the time unit is 10 to the minus 9 seconds.
const NANOSECONDS: u8 = 9;

/// What the octets of one interface start with.
///
/// The choices are those that tshark 4.0 dissects without any setting; see the notes on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LinkType {
    /// 1: Ethernet without FCS.
    Ethernet,
    /// 9: PPP, with or without FF 03, without FCS.
    Ppp,
    /// 10: FDDI: FC, destination, source, LLC.
    Fddi,
    /// 50: PPP in HDLC-like framing: FF 03, without flags, stuffing or FCS.
    PppHdlc,
    /// 100: one AAL5 SDU that starts with LLC (RFC 2684 section 5), without trailer and without VPI and VCI.
    AtmLlc,
    /// 101: IPv4 or IPv6 by the version field.
    RawIp,
    /// 123: [`sunatm`] header, then one AAL5 SDU without trailer. The one type that shows VPI and VCI and still
    /// decodes what the SDU carries.
    SunAtm,
    /// 147 to 162: private use, 0 to 15 here; the reader names the dissector (`-o uat:user_dlts:...`). Numbers above 15
    /// are taken as 15.
    User(u8),
    /// 196: [`sita`] header, then a LAPB frame without flags and FCS. Of the types for LAPB the one that tshark reads;
    /// 207, which was meant for it, is unknown to it.
    Sita,
    /// 197: each record starts with an ERF header, for AAL5 PDUs with trailer and POS frames with FCS-32.
    Erf,
    /// 204: one octet for the direction (0 received, 1 sent), then PPP.
    PppWithDirection,
    /// 252: [`upper_pdu`] tags that name the dissector and the IPv4 addresses, then a PDU of any layer.
    UpperPdu,
}

impl LinkType {
    /// The number in the tcpdump.org registry.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::Ethernet => 1,
            Self::Ppp => 9,
            Self::Fddi => 10,
            Self::PppHdlc => 50,
            Self::AtmLlc => 100,
            Self::RawIp => 101,
            Self::SunAtm => 123,
            Self::User(n) => 147 + u16::from(n.min(15)),
            Self::Sita => 196,
            Self::Erf => 197,
            Self::PppWithDirection => 204,
            Self::UpperPdu => 252,
        }
    }
}

/// Which interface of one [`PcapNg`] a packet was seen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceId(u32);

/// Which way a packet went, seen from the tapped host: the low two bits of `epb_flags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Received by the host (1).
    Inbound,
    /// Sent by the host (2).
    Outbound,
}

/// One packet to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Nanoseconds since the start of the clock.
    pub at_ns: u64,
    /// The octets, beginning with what the interface's [`LinkType`] asks for. Cut at the interface's `snaplen`.
    pub octets: &'a [u8],
    /// The length on the medium in octets, where more was there than `octets` holds.
    pub original_len: usize,
    /// Which way it went, where that is known.
    pub direction: Option<Direction>,
    /// Text shown beside the packet: a reason for a drop, a state variable. Cut at 65,532 octets.
    pub comment: Option<&'a str>,
}

/// Why a capture could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file or stream below refused.
    #[error("the capture could not be written: {0}")]
    Io(#[from] std::io::Error),
    /// The block could not be laid out; only an interface that belongs to another capture causes this.
    #[error("the capture block is not well formed: {0}")]
    Block(PcapError),
    /// A length does not fit a record.
    #[error("a packet of {octets} octets does not fit a capture record; at most 2147483647 do")]
    TooLong {
        /// The length that was given.
        octets: usize,
    },
    /// [`InterfaceId`] of another capture.
    #[error("interface {interface} was not added to this capture; it has {known}")]
    UnknownInterface {
        /// The number that was given.
        interface: u32,
        /// How many interfaces this capture has.
        known: usize,
    },
}

impl From<PcapError> for CaptureError {
    fn from(error: PcapError) -> Self {
        match error {
            PcapError::IoError(e) => Self::Io(e),
            other @ (PcapError::IncompleteBuffer
            | PcapError::InvalidField(_)
            | PcapError::Utf8Error(_)
            | PcapError::FromUtf8Error(_)
            | PcapError::InvalidInterfaceId(_)) => Self::Block(other),
        }
    }
}

/// A pcapng file being written.
///
/// First [`add_interface`](Self::add_interface) for each tap, then [`write`](Self::write) in any order of time;
/// interfaces may also be added later.
pub struct PcapNg<W: Write> {
    out: PcapNgWriter<W>,
    snaplens: Vec<u32>,
}

impl<W: Write> fmt::Debug for PcapNg<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PcapNg").field("snaplens", &self.snaplens).finish_non_exhaustive()
    }
}

impl<W: Write> PcapNg<W> {
    /// Starts a capture and writes its section header.
    ///
    /// `writer` gets many short writes: hand over a [`std::io::BufWriter`].
    ///
    /// # Errors
    ///
    /// [`CaptureError::Io`] where `writer` refuses.
    pub fn new(writer: W) -> Result<Self, CaptureError> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            major_version: 1,
            minor_version: 0,
            // Unknown, as the format allows: the section ends with the file.
            section_length: -1,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(concat!(
                "kumiki ",
                env!("CARGO_PKG_VERSION")
            )))],
        };
        Ok(Self { out: PcapNgWriter::with_section_header(writer, section)?, snaplens: Vec::new() })
    }

    /// Adds an interface called `name` ("a.atm0"); packets longer than `snaplen` octets are cut, 0 for no limit.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Io`] where the writer below refuses.
    pub fn add_interface(
        &mut self,
        name: &str,
        link_type: LinkType,
        snaplen: u32,
    ) -> Result<InterfaceId, CaptureError> {
        let id =
            u32::try_from(self.snaplens.len()).map_err(|_| CaptureError::TooLong { octets: self.snaplens.len() })?;
        self.out.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::from(u32::from(link_type.number())),
            snaplen,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(cut(name))),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        })?;
        self.snaplens.push(snaplen);
        Ok(InterfaceId(id))
    }

    /// Records one packet without direction; `at_ns` is nanoseconds since the start of the clock.
    ///
    /// # Errors
    ///
    /// As [`write_packet`](Self::write_packet).
    pub fn write(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        octets: &[u8],
        original_len: usize,
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        self.write_packet(interface, &Packet { at_ns, octets, original_len, direction: None, comment })
    }

    /// Records one packet.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Io`] where the writer below refuses, [`CaptureError::TooLong`] from 2 GiB up, and
    /// [`CaptureError::UnknownInterface`] for an interface of another capture.
    pub fn write_packet(&mut self, interface: InterfaceId, packet: &Packet<'_>) -> Result<(), CaptureError> {
        let known = self.snaplens.len();
        let snaplen = usize::try_from(interface.0)
            .ok()
            .and_then(|i| self.snaplens.get(i))
            .copied()
            .ok_or(CaptureError::UnknownInterface { interface: interface.0, known })?;
        let on_medium = packet.original_len.max(packet.octets.len());
        let original_len = u32::try_from(on_medium)
            .ok()
            .filter(|&n| n <= LONGEST_PACKET)
            .ok_or(CaptureError::TooLong { octets: on_medium })?;
        let kept = match usize::try_from(snaplen) {
            Ok(limit) if snaplen > 0 => packet.octets.get(..limit).unwrap_or(packet.octets),
            _ => packet.octets,
        };
        let mut options = Vec::new();
        if let Some(direction) = packet.direction {
            options.push(EnhancedPacketOption::Flags(match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            }));
        }
        if let Some(comment) = packet.comment {
            options.push(EnhancedPacketOption::Comment(Cow::Borrowed(cut(comment))));
        }
        self.out.write_pcapng_block(EnhancedPacketBlock {
            interface_id: interface.0,
            timestamp: Duration::from_nanos(packet.at_ns),
            original_len,
            data: Cow::Borrowed(kept),
            options,
        })?;
        Ok(())
    }

    /// Hands back what was written to, flushed.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Io`] where the flush fails.
    pub fn finish(self) -> Result<W, CaptureError> {
        let mut writer = self.out.into_inner();
        writer.flush()?;
        Ok(writer)
    }
}

/// The four octets before an AAL5 SDU in [`LinkType::SunAtm`]: direction and traffic type, VPI, VCI.
///
/// The traffic type is "LLC encapsulated" (2), which makes a reader dissect the SDU as RFC 2684 LLC. Bit 0x80 of the
/// first octet is set for a packet that the host sent.
#[must_use]
pub fn sunatm(direction: Direction, vpi: u8, vci: u16) -> [u8; 4] {
    const LLC_MULTIPLEXED: u8 = 0x02;
    let sent = match direction {
        Direction::Inbound => 0x00,
        Direction::Outbound => 0x80,
    };
    let [vci_high, vci_low] = vci.to_be_bytes();
    [sent | LLC_MULTIPLEXED, vpi, vci_high, vci_low]
}

/// The five octets before a LAPB frame in [`LinkType::Sita`]: which way it went, signals and errors of the line (none),
/// and 1 for LAPB.
#[must_use]
pub const fn sita(direction: Direction) -> [u8; 5] {
    const LAPB: u8 = 1;
    let received = match direction {
        Direction::Inbound => 1,
        Direction::Outbound => 0,
    };
    [received, 0, 0, 0, LAPB]
}

/// The tags before a PDU in [`LinkType::UpperPdu`] (Wireshark's "exported PDU"): the dissector's name, as in `tcp` or
/// `data`, and the addresses that a lower header would show, where they are known.
///
/// The name is cut at 252 octets.
#[must_use]
pub fn upper_pdu(dissector: &str, source: Option<IpAddr>, destination: Option<IpAddr>) -> Vec<u8> {
    const DISSECTOR_NAME: u16 = 12;
    const IPV4_SOURCE: u16 = 20;
    const IPV4_DESTINATION: u16 = 21;
    const IPV6_SOURCE: u16 = 22;
    const IPV6_DESTINATION: u16 = 23;
    let mut tags = Vec::new();
    let mut tag = |number: u16, value: &[u8]| {
        let padded = u16::try_from(value.len().next_multiple_of(4)).unwrap_or(0);
        tags.extend(number.to_be_bytes());
        tags.extend(padded.to_be_bytes());
        tags.extend(value);
        tags.resize(tags.len().next_multiple_of(4), 0);
    };
    let mut end = dissector.len().min(252);
    while !dissector.is_char_boundary(end) {
        end -= 1;
    }
    tag(DISSECTOR_NAME, dissector.get(..end).unwrap_or("").as_bytes());
    let sides = [(IPV4_SOURCE, IPV6_SOURCE, source), (IPV4_DESTINATION, IPV6_DESTINATION, destination)];
    for (v4, v6, address) in sides {
        match address {
            Some(IpAddr::V4(address)) => tag(v4, &address.octets()),
            Some(IpAddr::V6(address)) => tag(v6, &address.octets()),
            None => {}
        }
    }
    tag(0, &[]);
    tags
}

/// The longest beginning of `text` that fits an option and ends between characters.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_OPTION);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or("")
}
