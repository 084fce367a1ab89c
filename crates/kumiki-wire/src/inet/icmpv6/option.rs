//! Options of neighbour discovery.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 4861 section 4.6; link-layer addresses of Ethernet after RFC 2464 section 6; RFC 8106 section 5.1 (resolvers) |
//! | Left out | all other options: read as [`Opt::Other`], to be skipped (RFC 4861 section 6.1) |

use std::net::Ipv6Addr;

use crate::Malformed;
use crate::inet::ethernet::MacAddr;

/// A prefix of the link (RFC 4861 section 4.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix {
    /// How many bits of it count: 0 to 128.
    pub len: u8,
    /// L: whoever has it is on this link.
    pub on_link: bool,
    /// A: addresses may be made of it.
    pub autonomous: bool,
    /// How long it is on the link, in seconds; all ones: for ever.
    pub valid_s: u32,
    /// How long addresses made of it are preferred, in seconds; all ones: for ever.
    pub preferred_s: u32,
    /// The prefix.
    pub prefix: Ipv6Addr,
}

/// An option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Opt<'a> {
    /// Type 1: the sender's link-layer address.
    Source(MacAddr),
    /// Type 2: the target's link-layer address.
    Target(MacAddr),
    /// Type 3.
    Prefix(Prefix),
    /// Type 4: the beginning of the packet that was redirected, and padding.
    Redirected(&'a [u8]),
    /// Type 5: the largest packet that all on the link can take.
    Mtu(u32),
    /// Type 25: who looks up names (RFC 8106 section 5.1).
    Resolvers {
        /// How long they may be asked, in seconds; all ones: for ever; 0: no longer.
        lifetime_s: u32,
        /// Their addresses; at least one.
        addresses: &'a [[u8; 16]],
    },
    /// Any other one, or one of these types whose length is that of another link's.
    Other {
        /// Type.
        kind: u8,
        /// What stands after type and length.
        data: &'a [u8],
    },
}

impl Opt<'_> {
    /// Octets that [`Opt::emit`] writes, a multiple of 8.
    #[expect(clippy::len_without_is_empty, reason = "an option is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Source(_) | Self::Target(_) | Self::Mtu(_) => 8,
            Self::Prefix(_) => 32,
            Self::Resolvers { addresses, .. } => 8 + 16 * addresses.len(),
            Self::Redirected(data) => (8 + data.len()).next_multiple_of(8),
            Self::Other { data, .. } => (2 + data.len()).next_multiple_of(8),
        }
    }

    /// Writes [`Opt::len`] octets, padded with zeros.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        out.fill(0);
        let units = u8::try_from(self.len() / 8).unwrap_or(u8::MAX);
        let out = &mut out;
        match *self {
            Self::Source(MacAddr(mac)) => {
                crate::put(out, [1, units]);
                crate::put(out, mac);
            }
            Self::Target(MacAddr(mac)) => {
                crate::put(out, [2, units]);
                crate::put(out, mac);
            }
            Self::Prefix(prefix) => {
                let on_link = if prefix.on_link { 0x80 } else { 0 };
                let autonomous = if prefix.autonomous { 0x40 } else { 0 };
                crate::put(out, [3, units, prefix.len, on_link | autonomous]);
                crate::put(out, prefix.valid_s.to_be_bytes());
                crate::put(out, prefix.preferred_s.to_be_bytes());
                crate::put(out, [0; 4]);
                crate::put(out, prefix.prefix.octets());
            }
            Self::Redirected(data) => {
                crate::put(out, [4, units, 0, 0, 0, 0, 0, 0]);
                crate::put_slice(out, data);
            }
            Self::Mtu(mtu) => {
                crate::put(out, [5, units, 0, 0]);
                crate::put(out, mtu.to_be_bytes());
            }
            Self::Resolvers { lifetime_s, addresses } => {
                crate::put(out, [25, units, 0, 0]);
                crate::put(out, lifetime_s.to_be_bytes());
                addresses.iter().for_each(|address| crate::put(out, *address));
            }
            Self::Other { kind, data } => {
                crate::put(out, [kind, units]);
                crate::put_slice(out, data);
            }
        }
    }
}

/// The options behind a header; ends after the first one that cannot be. A message with such a one is to be discarded
/// as a whole (RFC 4861 section 6.1).
#[derive(Clone, Debug)]
pub struct Opts<'a>(&'a [u8]);

impl<'a> Opts<'a> {
    /// The options that `octets` hold.
    #[must_use]
    pub const fn new(octets: &'a [u8]) -> Self {
        Self(octets)
    }
}

impl<'a> Iterator for Opts<'a> {
    type Item = Result<Opt<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let all = core::mem::take(&mut self.0);
        let len = match *all {
            [_, units, ..] => 8 * usize::from(units),
            _ => 0,
        };
        let Some((option @ &[kind, _, ref data @ ..], rest)) = all.split_at_checked(len) else {
            return Some(Err(Malformed::Length {
                protocol: "ICMPv6",
                field: "option length",
                found: len,
                least: 8,
                most: all.len(),
            }));
        };
        self.0 = rest;
        Some(Ok(read(kind, data, option)))
    }
}

fn read<'a>(kind: u8, data: &'a [u8], option: &'a [u8]) -> Opt<'a> {
    match (kind, data) {
        (1, &[a, b, c, d, e, f]) => Opt::Source(MacAddr([a, b, c, d, e, f])),
        (2, &[a, b, c, d, e, f]) => Opt::Target(MacAddr([a, b, c, d, e, f])),
        (3, _) if option.len() == 32 => {
            let word = |at: usize| {
                let octets = option.get(at..).and_then(<[u8]>::first_chunk);
                u32::from_be_bytes(*octets.unwrap_or(&[0; 4]))
            };
            let (len, flags) = match *option {
                [_, _, len, flags, ..] => (len, flags),
                _ => (0, 0),
            };
            let prefix = option.last_chunk::<16>().unwrap_or(&[0; 16]);
            Opt::Prefix(Prefix {
                len,
                on_link: flags & 0x80 != 0,
                autonomous: flags & 0x40 != 0,
                valid_s: word(4),
                preferred_s: word(8),
                prefix: Ipv6Addr::from(*prefix),
            })
        }
        (4, [_, _, _, _, _, _, quoted @ ..]) => Opt::Redirected(quoted),
        (5, &[_, _, a, b, c, d]) => Opt::Mtu(u32::from_be_bytes([a, b, c, d])),
        (25, &[_, _, a, b, c, d, ref addresses @ ..]) => match addresses.as_chunks() {
            (addresses @ [_, ..], []) => Opt::Resolvers { lifetime_s: u32::from_be_bytes([a, b, c, d]), addresses },
            _ => Opt::Other { kind: 25, data },
        },
        (kind, data) => Opt::Other { kind, data },
    }
}
