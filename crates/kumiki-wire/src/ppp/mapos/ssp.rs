//! Switch Switch Protocol: routes between switches.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2174 section 5.1, and of 5.3 and 5.4 what is right in an entry; RFC 2175 section 4 for 16 bits |
//! | Sent to | the control processor of the switch at the other end of the line |
//! | Left out | the table, its timers and what is sent when: those are the protocol's |
//!
//! A header of 4 octets, then 1 to 25 entries of 20 octets.
//!
//! # Where the standard contradicts itself
//!
//! - Section 5.1.3 wants metrics from 1 to 31 and in the same paragraph gives 0 a meaning; section 5.4 accepts 0 to 31.
//!   So does this.
//! - A route whose metric is 16 is to be sent too, and towards its next hop with 16 added (section 5.3.1), but 32 is
//!   illegal (section 5.4). Here it stays 16, see [`Metric::poisoned`].
//! - The destination of an entry may be a switch or a node (section 5.1.3), and table 1 shows `01000000`, whose last
//!   bit an address cannot have. Received EA bits are not looked at, as the mask takes them away; sent is the address
//!   of the switch's control processor, which is a right address.

use core::fmt;

use super::{Subnet, Width};
use crate::{Malformed, put};

/// Octets of the header before the entries.
pub const LEN: usize = 4;
/// Octets of an entry.
pub const ENTRY_LEN: usize = 20;
/// Entries of a packet at most; at least there is one.
pub const MAX_ENTRIES: usize = 25;
/// Octets of the longest packet. The limit of the standard is 512, and 25 entries need less.
pub const MAX_LEN: usize = LEN + MAX_ENTRIES * ENTRY_LEN;
/// The version of the protocol.
pub const VERSION: u8 = 1;

/// Address family identifiers.
pub mod afi {
    /// Unspecified: in a request, the whole table is asked for.
    pub const UNSPECIFIED: u16 = 0;
    /// HDLC addresses.
    pub const HDLC: u16 = 2;
}

/// What a packet is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// 1: tell me your routes.
    Request,
    /// 2: routes, asked for or not.
    Response,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "request",
            Self::Response => "response",
        })
    }
}

impl From<Command> for u8 {
    fn from(command: Command) -> Self {
        match command {
            Command::Request => 1,
            Command::Response => 2,
        }
    }
}

/// What stands before the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// What the packet is about.
    pub command: Command,
}

impl Header {
    /// Reads the header of a packet of `total` octets; also gives its length. [`entries`] reads what follows. The
    /// unused octets are ignored.
    ///
    /// # Errors
    /// The header is not all there, the command is neither of the two, the version is not 1, or `total` is not that of
    /// 1 to 25 entries.
    pub fn parse(front: &[u8], total: usize) -> Result<(Self, usize), Malformed> {
        let Some(&[command, version, _, _]) = front.first_chunk::<LEN>() else {
            return Err(Malformed::Short { protocol: "SSP", need: LEN, have: front.len() });
        };
        let refuse =
            |field, found: u8, expected| Malformed::Field { protocol: "SSP", field, found: u64::from(found), expected };
        if version != VERSION {
            return Err(refuse("version", version, "1"));
        }
        let command = match command {
            1 => Command::Request,
            2 => Command::Response,
            other => return Err(refuse("command", other, "1 (request) or 2 (response)")),
        };
        let behind = total.saturating_sub(LEN);
        if !(LEN + ENTRY_LEN..=MAX_LEN).contains(&total) {
            return Err(Malformed::Length {
                protocol: "SSP",
                field: "packet",
                found: total,
                least: LEN + ENTRY_LEN,
                most: MAX_LEN,
            });
        }
        if !behind.is_multiple_of(ENTRY_LEN) {
            return Err(Malformed::Length {
                protocol: "SSP",
                field: "rest behind the last whole entry",
                found: behind % ENTRY_LEN,
                least: 0,
                most: 0,
            });
        }
        Ok((Self { command }, LEN))
    }

    /// Octets that [`Header::emit`] writes: always 4.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        LEN
    }

    /// Writes 4 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), LEN);
        put(&mut out, [u8::from(self.command), VERSION, 0, 0]);
    }
}

impl fmt::Display for Header {
    /// For example `SSP response`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SSP {}", self.command)
    }
}

/// The entries behind a header, at most [`MAX_ENTRIES`]; octets that are no whole entry are left out.
pub fn entries(behind: &[u8]) -> impl Iterator<Item = Entry> {
    let (entries, _) = behind.as_chunks();
    entries.iter().take(MAX_ENTRIES).map(Entry::read)
}

/// How far away a destination is, in switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metric(pub u32);

impl Metric {
    /// 0: the switch that says so itself.
    pub const LOCAL: Self = Self(0);
    /// 16: cannot be reached.
    pub const UNREACHABLE: Self = Self(16);
    /// 31: the highest that is legal.
    pub const MOST: Self = Self(31);

    /// Whether a receiver looks at an entry with it (section 5.4).
    #[must_use]
    pub const fn is_legal(self) -> bool {
        self.0 <= Self::MOST.0
    }

    /// Whether it is sent to the next hop of a route, which learns from it that it is the next hop: 17 to 31.
    #[must_use]
    pub const fn is_poisoned(self) -> bool {
        self.0 > Self::UNREACHABLE.0 && self.is_legal()
    }

    /// What is sent to the next hop of a route: 16 more for 1 to 15; others as they are.
    #[must_use]
    pub const fn poisoned(self) -> Self {
        match self.0 {
            1..=15 => Self(self.0 + Self::UNREACHABLE.0),
            _ => self,
        }
    }
}

impl fmt::Display for Metric {
    /// The number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A route entry, its fields as they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Address family identifier, see [`afi`].
    pub afi: u16,
    /// HDLC address of the destination, right-aligned.
    pub address: u32,
    /// Subnet mask, right-aligned.
    pub mask: u32,
    /// How far it is.
    pub metric: Metric,
}

/// What an entry says of a switch, once it was found right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// How addresses are divided.
    pub subnet: Subnet,
    /// The number of the switch.
    pub switch: u16,
    /// How far it is, legal.
    pub metric: Metric,
}

impl From<Route> for Entry {
    /// Above the bits that there are for it, the switch number is cut off.
    fn from(route: Route) -> Self {
        let Route { subnet, switch, metric } = route;
        let switch = switch & !(u16::MAX << subnet.switch_bits());
        let control = subnet.address(switch, 1);
        Self { afi: afi::HDLC, address: control.map_or(0, u32::from), mask: subnet.mask(), metric }
    }
}

impl Entry {
    /// The entry of a request for the whole table, the only request that there is (section 5.3.2).
    pub const WHOLE_TABLE: Self = Self { afi: afi::UNSPECIFIED, address: 0, mask: 0, metric: Metric::LOCAL };

    /// What the entry of a response says; an entry that is refused here is to be ignored (section 5.4).
    ///
    /// # Errors
    /// The address family is not 2, the metric is above 31, the address is of a group or has more bits than the width,
    /// or the mask is not that of a [`Subnet`].
    pub fn route(&self, width: Width) -> Result<Route, Malformed> {
        let refuse = |field, found: u32, expected| Malformed::Field {
            protocol: "SSP",
            field,
            found: u64::from(found),
            expected,
        };
        if self.afi != afi::HDLC {
            return Err(refuse("address family identifier", u32::from(self.afi), "2"));
        }
        if !self.metric.is_legal() {
            return Err(refuse("metric", self.metric.0, "0 to 31"));
        }
        let subnet = Subnet::from_mask(width, self.mask).ok_or_else(|| {
            let expected = "ones from the first bit of an address on, without the last bits";
            refuse("subnet mask", self.mask, expected)
        })?;
        subnet
            .switch(self.address)
            .map(|switch| Route { subnet, switch, metric: self.metric })
            .ok_or_else(|| refuse("HDLC address", self.address, "the address of a switch or node"))
    }

    /// Reads an entry; also gives its length. Fields that are to be zero are ignored.
    ///
    /// # Errors
    /// The entry is not all there.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        match front.first_chunk() {
            Some(octets) => Ok((Self::read(octets), ENTRY_LEN)),
            None => Err(Malformed::Short { protocol: "SSP", need: ENTRY_LEN, have: front.len() }),
        }
    }

    fn read(octets: &[u8; ENTRY_LEN]) -> Self {
        #[rustfmt::skip] // one line is one field
        let [
            f0, f1,
            _, _,
            a0, a1, a2, a3,
            m0, m1, m2, m3,
            _, _, _, _,
            d0, d1, d2, d3,
        ] = *octets;
        Self {
            afi: u16::from_be_bytes([f0, f1]),
            address: u32::from_be_bytes([a0, a1, a2, a3]),
            mask: u32::from_be_bytes([m0, m1, m2, m3]),
            metric: Metric(u32::from_be_bytes([d0, d1, d2, d3])),
        }
    }

    /// Octets that [`Entry::emit`] writes: always 20.
    #[expect(clippy::len_without_is_empty, reason = "an entry is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        ENTRY_LEN
    }

    /// Writes 20 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), ENTRY_LEN);
        let out = &mut out;
        put(out, self.afi.to_be_bytes());
        put(out, [0; 2]);
        put(out, self.address.to_be_bytes());
        put(out, self.mask.to_be_bytes());
        put(out, [0; 4]);
        put(out, self.metric.0.to_be_bytes());
    }
}

impl fmt::Display for Entry {
    /// For example `0x41/0xe0 metric 1`, or `whole table`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { afi, address, mask, metric } = self;
        match *afi {
            afi::UNSPECIFIED => f.write_str("whole table"),
            afi::HDLC => write!(f, "{address:#04x}/{mask:#04x} metric {metric}"),
            other => write!(f, "entry of address family {other}"),
        }
    }
}
