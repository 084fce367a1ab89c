//! Extension headers of IPv6, and the walk along their chain.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 8200 section 4; routing headers are only read (type 0 is refused: RFC 5095) |
//! | Left out | authentication and encryption (RFC 4302, RFC 4303), mobility: a chain ends at them as at an upper layer; the meaning of options, which stay octets |
//!
//! All positions are counted from the front of the packet, so that they can be sent as the pointer of a parameter
//! problem.

use core::fmt;
use std::net::Ipv6Addr;

use super::{Header, LEN, NEXT_HEADER_OFFSET, next_header};
use crate::Malformed;

/// The most extension headers of one packet that are walked along: a bound of our own, as RFC 8504 section 5.3 allows.
pub const MOST: usize = 8;
/// Octets of a fragment header.
pub const FRAGMENT_LEN: usize = 8;

/// What to do with a packet that has an option one does not know (RFC 8200 section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// 00: go on.
    Skip,
    /// 01: discard the packet.
    Discard,
    /// 10: discard it and send a parameter problem, whatever its destination.
    Tell,
    /// 11: discard it and send a parameter problem unless its destination is a group.
    TellUnlessGroup,
}

/// An option of a hop-by-hop or destination options header; padding is not shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opt<'a> {
    /// Its type.
    pub kind: u8,
    /// Its data.
    pub data: &'a [u8],
    /// Where its type stands.
    pub at: usize,
}

impl Opt<'_> {
    /// What its type asks of those who do not know it.
    #[must_use]
    pub const fn unknown(&self) -> Unknown {
        match self.kind >> 6 {
            0 => Unknown::Skip,
            1 => Unknown::Discard,
            2 => Unknown::Tell,
            _ => Unknown::TellUnlessGroup,
        }
    }
}

/// The options in a header; ends after the first one that does not fit.
#[derive(Clone, Debug)]
pub struct Opts<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Opts<'a> {
    type Item = Result<Opt<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let &kind = self.octets.first()?;
            if kind == 0 {
                // Pad1 is a type alone.
                self.octets = self.octets.get(1..).unwrap_or_default();
                self.at += 1;
                continue;
            }
            let at = self.at;
            let len = self.octets.get(1).copied().map_or(usize::MAX, usize::from);
            let data = len.checked_add(2).and_then(|end| self.octets.get(2..end));
            let Some(data) = data else {
                let most = self.octets.len().saturating_sub(2);
                self.octets = &[];
                return Some(Err(Malformed::Length {
                    protocol: "IPv6",
                    field: "option length",
                    found: len,
                    least: 0,
                    most,
                }));
            };
            self.octets = self.octets.get(2 + len..).unwrap_or_default();
            self.at += 2 + len;
            if kind != 1 {
                return Some(Ok(Opt { kind, data, at }));
            }
        }
    }
}

/// One header of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extension<'a> {
    /// What it is: see [`next_header`].
    pub kind: u8,
    /// What follows it.
    pub next_header: u8,
    /// Where it stands.
    pub at: usize,
    /// Where the field stands that said what it is.
    pub field: usize,
    /// Its octets.
    pub octets: &'a [u8],
}

impl<'a> Extension<'a> {
    /// Its options, where it is of a kind that has any.
    #[must_use]
    pub fn options(&self) -> Opts<'a> {
        let has = matches!(self.kind, next_header::HOP_BY_HOP | next_header::DESTINATION);
        let octets = self.octets.get(2..).filter(|_| has).unwrap_or_default();
        Opts { octets, at: self.at + 2 }
    }

    /// What it says of the fragment, where it is a fragment header.
    #[must_use]
    pub fn fragment(&self) -> Option<Fragment> {
        let octets = self.octets.first_chunk::<FRAGMENT_LEN>()?;
        (self.kind == next_header::FRAGMENT).then(|| Fragment::read(octets))
    }

    /// Where a packet with this routing header goes in the end, of which `destination` is the present one (RFC 8200
    /// section 8.1): the last address of a route that is left. `None` where its type is unknown, or it has no place for
    /// what is left.
    ///
    /// The types known are 0 (RFC 2460 section 4.4), 2 (RFC 6275 section 6.4), 3 (RFC 6554 section 3) and 4 (RFC 8754
    /// section 2).
    #[must_use]
    pub fn last_destination(&self, destination: Ipv6Addr) -> Option<Ipv6Addr> {
        let (kind, left) = self.routing()?;
        if left == 0 {
            return Some(destination);
        }
        let left = usize::from(left);
        let data = self.octets.get(8..)?;
        let (addresses, rest) = data.as_chunks::<16>();
        let last = match kind {
            0 if rest.is_empty() && left <= addresses.len() => addresses.last(),
            2 if data.len() == 16 && left == 1 => addresses.first(),
            // The segments stand in reverse, and the first one may be left out. Last Entry numbers them from 0.
            4 => {
                let last_entry = usize::from(*self.octets.get(4)?);
                let fits = last_entry < addresses.len() && left <= last_entry + 1;
                addresses.first().filter(|_| fits)
            }
            3 => return self.last_of_rpl(destination, left),
            _ => None,
        };
        last.map(|&octets| octets.into())
    }

    /// The same for a type 3: each address but the last lacks CmprI octets at its front, the last CmprE, and Pad octets
    /// follow.
    fn last_of_rpl(&self, destination: Ipv6Addr, left: usize) -> Option<Ipv6Addr> {
        let &[_, _, _, _, elided, pad, ..] = self.octets else {
            return None;
        };
        let (each, last) = (16 - usize::from(elided >> 4), usize::from(elided & 0xf));
        let end = self.octets.len().checked_sub(usize::from(pad >> 4))?;
        let route = self.octets.get(8..end)?;
        let (others, kept) = route.split_at_checked(route.len().checked_sub(16 - last)?)?;
        let fits = others.len().is_multiple_of(each) && left <= others.len() / each + 1;
        let mut address = destination.octets();
        address.get_mut(last..)?.copy_from_slice(kept);
        fits.then(|| address.into())
    }

    /// Routing type and segments left, where it is a routing header.
    #[must_use]
    pub const fn routing(&self) -> Option<(u8, u8)> {
        match *self.octets {
            [_, _, kind, left, ..] if self.kind == next_header::ROUTING => Some((kind, left)),
            _ => None,
        }
    }
}

/// The walk along the extension headers of a packet, of which the front lies together.
///
/// When it ends without an error, [`Chain::upper`] tells what the packet carries, and where.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    front: &'a [u8],
    next: u8,
    field: usize,
    at: usize,
    left: usize,
    failed: bool,
}

impl<'a> Chain<'a> {
    /// The walk through the packet that begins with `header`; `front` begins with its octets.
    #[must_use]
    pub const fn new(header: &Header, front: &'a [u8]) -> Self {
        Self { front, next: header.next_header, field: NEXT_HEADER_OFFSET, at: LEN, left: MOST, failed: false }
    }

    /// What follows the headers seen so far, where it begins, and where the field stands that says so.
    #[must_use]
    pub const fn upper(&self) -> (u8, usize, usize) {
        (self.next, self.at, self.field)
    }

    /// Whether `next_header` is one that the walk knows how to pass.
    #[must_use]
    pub const fn knows(next_header: u8) -> bool {
        matches!(
            next_header,
            next_header::HOP_BY_HOP | next_header::ROUTING | next_header::FRAGMENT | next_header::DESTINATION
        )
    }

    fn step(&mut self) -> Result<Extension<'a>, Malformed> {
        if self.left == 0 {
            return Err(Malformed::Field {
                protocol: "IPv6",
                field: "number of extension headers",
                found: MOST as u64 + 1,
                expected: "8 at most",
            });
        }
        self.left -= 1;
        let rest = self.front.get(self.at..).unwrap_or_default();
        let len = match *rest {
            [_, len, ..] if self.next != next_header::FRAGMENT => 8 * (usize::from(len) + 1),
            _ => FRAGMENT_LEN,
        };
        let Some(octets @ &[next_header, ..]) = rest.get(..len) else {
            return Err(Malformed::Short { protocol: "IPv6", need: self.at + len, have: self.front.len() });
        };
        let extension = Extension { kind: self.next, next_header, at: self.at, field: self.field, octets };
        (self.next, self.field, self.at) = (next_header, self.at, self.at + len);
        Ok(extension)
    }
}

impl<'a> Iterator for Chain<'a> {
    type Item = Result<Extension<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || !Self::knows(self.next) {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        Some(step)
    }
}

/// A fragment header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// What the fragmentable part begins with.
    pub next_header: u8,
    /// Place of this fragment's data in the fragmentable part, in units of 8 octets: 0 to 8191. Higher bits are not
    /// sent.
    pub offset: u16,
    /// M: more fragments follow.
    pub more: bool,
    /// Tells the fragments of one packet from those of another.
    pub identification: u32,
}

impl Fragment {
    fn read(octets: &[u8; FRAGMENT_LEN]) -> Self {
        let [next_header, _, o0, o1, i0, i1, i2, i3] = *octets;
        let field = u16::from_be_bytes([o0, o1]);
        Self {
            next_header,
            offset: field >> 3,
            more: field & 1 != 0,
            identification: u32::from_be_bytes([i0, i1, i2, i3]),
        }
    }

    /// Reads a fragment header; also gives its length.
    ///
    /// # Errors
    /// The header is not all there.
    pub fn parse(front: &[u8]) -> Result<(Self, usize), Malformed> {
        match front.first_chunk() {
            Some(octets) => Ok((Self::read(octets), FRAGMENT_LEN)),
            None => Err(Malformed::Short { protocol: "IPv6", need: FRAGMENT_LEN, have: front.len() }),
        }
    }

    /// Place of the first data octet in the fragmentable part, in octets.
    #[must_use]
    pub fn start(&self) -> usize {
        8 * usize::from(self.offset & 0x1fff)
    }

    /// Whether the packet is whole in spite of this header (RFC 6946).
    #[must_use]
    pub const fn is_atomic(&self) -> bool {
        self.offset == 0 && !self.more
    }

    /// Octets that [`Fragment::emit`] writes: always 8.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        FRAGMENT_LEN
    }

    /// Writes 8 octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), FRAGMENT_LEN);
        let out = &mut out;
        crate::put(out, [self.next_header, 0]);
        let field = (self.offset & 0x1fff) << 3 | u16::from(self.more);
        crate::put(out, field.to_be_bytes());
        crate::put(out, self.identification.to_be_bytes());
    }
}

impl fmt::Display for Fragment {
    /// For example `fragment 1448+ id 0x0000004d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.more { "+" } else { "" };
        let id = self.identification;
        write!(f, "fragment {}{more} id {id:#010x}", self.start())
    }
}
