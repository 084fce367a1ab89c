//! Messages of the Dynamic Host Configuration Protocol.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 2131 sections 2 and 4.1 (layout, options in the fields for names, options in several pieces), RFC 2132 (options), RFC 3442 (classless routes) |
//! | Left out | names of servers and boot files, and options that no host needs for its network: read past, and not written; hardware other than Ethernet; BOOTP, which says no message type |

use core::fmt;
use core::net::Ipv4Addr;

use crate::Malformed;
use crate::inet::ethernet::MacAddr;

mod options;
#[cfg(test)]
mod tests;

pub use options::{Options, Route, code};

/// Octets before the options, with the cookie.
pub const FIXED: usize = 240;
/// The shortest message that is written, as BOOTP's are; that some servers and relays insist on it is assumed.
pub const SHORTEST: usize = 300;
/// What stands before the options (RFC 2131 section 3).
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Where the names of the server and of the boot file stand, which options may fill.
const NAME: core::ops::Range<usize> = 44..108;
const FILE: core::ops::Range<usize> = 108..236;

/// UDP ports.
pub mod port {
    /// Where servers and relays listen.
    pub const SERVER: u16 = 67;
    /// Where clients do.
    pub const CLIENT: u16 = 68;
}

/// What a message is (RFC 2132 section 9.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Kind {
    /// 1: a client looks for servers.
    #[default]
    Discover,
    /// 2: a server offers an address.
    Offer,
    /// 3: a client wants what was offered, or what it has.
    Request,
    /// 4: a client tells that somebody else has the address.
    Decline,
    /// 5: a server grants a request.
    Ack,
    /// 6: a server refuses one.
    Nak,
    /// 7: a client gives its address back.
    Release,
    /// 8: a client that has an address asks for the rest.
    Inform,
}

impl Kind {
    const ALL: [Self; 8] =
        [Self::Discover, Self::Offer, Self::Request, Self::Decline, Self::Ack, Self::Nak, Self::Release, Self::Inform];

    fn of(value: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.value() == value)
    }

    const fn value(self) -> u8 {
        match self {
            Self::Discover => 1,
            Self::Offer => 2,
            Self::Request => 3,
            Self::Decline => 4,
            Self::Ack => 5,
            Self::Nak => 6,
            Self::Release => 7,
            Self::Inform => 8,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discover => "discover",
            Self::Offer => "offer",
            Self::Request => "request",
            Self::Decline => "decline",
            Self::Ack => "ack",
            Self::Nak => "nak",
            Self::Release => "release",
            Self::Inform => "inform",
        })
    }
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// op: from a server (2) and not from a client (1).
    pub is_reply: bool,
    /// How many relays it has passed.
    pub hops: u8,
    /// Which exchange it is of; the client chooses.
    pub xid: u32,
    /// For how long the client has tried, in seconds.
    pub secs: u16,
    /// The client can take only what is sent to all hosts.
    pub broadcast: bool,
    /// The client's address, where it has one that it answers for.
    pub ciaddr: Ipv4Addr,
    /// The address that it is to have.
    pub yiaddr: Ipv4Addr,
    /// The server for what comes after.
    pub siaddr: Ipv4Addr,
    /// The relay that the message came through.
    pub giaddr: Ipv4Addr,
    /// The client's station.
    pub chaddr: MacAddr,
    /// What else it says.
    pub options: Options,
}

impl Default for Header {
    /// A client's, with nothing in it.
    fn default() -> Self {
        let none = Ipv4Addr::UNSPECIFIED;
        Self {
            is_reply: false,
            hops: 0,
            xid: 0,
            secs: 0,
            broadcast: false,
            ciaddr: none,
            yiaddr: none,
            siaddr: none,
            giaddr: none,
            chaddr: MacAddr::default(),
            options: Options::default(),
        }
    }
}

impl Header {
    /// Reads a message, which is all that a datagram carries; also gives its length, which is that of all octets.
    ///
    /// # Errors
    /// It is cut short, is not about an Ethernet, has no cookie or no message type, or an option of those in
    /// [`Options`] that cannot be.
    pub fn parse(octets: &[u8]) -> Result<(Self, usize), Malformed> {
        let Some(fixed) = octets.first_chunk::<FIXED>() else {
            return Err(Malformed::Short { protocol: "DHCP", need: FIXED, have: octets.len() });
        };
        let refuse = |field, found: u64, expected| Err(Malformed::Field { protocol: "DHCP", field, found, expected });
        let &[op, htype, hlen, hops, x0, x1, x2, x3, s0, s1, f0, f1, ..] = fixed;
        if !matches!(op, 1 | 2) {
            return refuse("op", op.into(), "1 (request) or 2 (reply)");
        }
        if htype != 1 {
            return refuse("htype", htype.into(), "1 (Ethernet)");
        }
        if hlen != 6 {
            return refuse("hlen", hlen.into(), "6");
        }
        if fixed.last_chunk() != Some(&COOKIE) {
            let found = u32::from_be_bytes(*fixed.last_chunk().unwrap_or(&[0; 4]));
            return refuse("cookie", found.into(), "0x63825363");
        }
        let address = |at: usize| {
            let octets = fixed.get(at..).and_then(<[u8]>::first_chunk::<4>);
            Ipv4Addr::from(*octets.unwrap_or(&[0; 4]))
        };
        let part = |range: core::ops::Range<usize>| fixed.get(range).unwrap_or_default();
        let options = Options::parse(octets.get(FIXED..).unwrap_or_default(), part(FILE), part(NAME))?;
        let header = Self {
            is_reply: op == 2,
            hops,
            xid: u32::from_be_bytes([x0, x1, x2, x3]),
            secs: u16::from_be_bytes([s0, s1]),
            broadcast: u16::from_be_bytes([f0, f1]) & BROADCAST != 0,
            ciaddr: address(12),
            yiaddr: address(16),
            siaddr: address(20),
            giaddr: address(24),
            chaddr: MacAddr(*fixed.get(28..).and_then(<[u8]>::first_chunk).unwrap_or(&[0; 6])),
            options,
        };
        Ok((header, octets.len()))
    }

    /// Octets that [`Header::emit`] writes, at least [`SHORTEST`].
    #[expect(clippy::len_without_is_empty, reason = "a message is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        (FIXED + self.options.len()).max(SHORTEST)
    }

    /// Writes [`Header::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        out.fill(0);
        let out = &mut out;
        crate::put(out, [if self.is_reply { 2 } else { 1 }, 1, 6, self.hops]);
        crate::put(out, self.xid.to_be_bytes());
        crate::put(out, self.secs.to_be_bytes());
        crate::put(out, (if self.broadcast { BROADCAST } else { 0 }).to_be_bytes());
        for address in [self.ciaddr, self.yiaddr, self.siaddr, self.giaddr] {
            crate::put(out, address.octets());
        }
        crate::put(out, self.chaddr.0);
        // The rest of the hardware address, and both names.
        crate::put(out, [0; 10 + 64 + 128]);
        crate::put(out, COOKIE);
        self.options.emit(out);
    }
}

/// The one flag.
const BROADCAST: u16 = 0x8000;

impl fmt::Display for Header {
    /// For example `DHCP offer 0x00000007 10.0.0.9 for 02:00:00:00:00:01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = [self.yiaddr, self.ciaddr].into_iter().find(|it| !it.is_unspecified());
        let address = address.or(self.options.requested).unwrap_or(Ipv4Addr::UNSPECIFIED);
        write!(f, "DHCP {} {:#010x} {address} for {}", self.options.kind, self.xid, self.chaddr)
    }
}
