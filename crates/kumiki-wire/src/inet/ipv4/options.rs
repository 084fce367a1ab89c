//! Options of an IPv4 header: RFC 791 section 3.1, RFC 2113 (router alert). Kept as the octets they are, since hosts
//! ignore nearly all of them (RFC 1122 section 3.2.1.8) and routers pass them on.

use core::fmt;

use kumiki_octets::text::counted;

use crate::Malformed;

/// Option types: the copied flag, two bits of class and five of number.
pub mod kind {
    /// End of option list, one octet.
    pub const END: u8 = 0;
    /// No operation, one octet.
    pub const NOP: u8 = 1;
    /// Record route.
    pub const RECORD_ROUTE: u8 = 7;
    /// Internet timestamp.
    pub const TIMESTAMP: u8 = 68;
    /// Security.
    pub const SECURITY: u8 = 130;
    /// Loose source and record route.
    pub const LOOSE_SOURCE_ROUTE: u8 = 131;
    /// Stream identifier.
    pub const STREAM_ID: u8 = 136;
    /// Strict source and record route.
    pub const STRICT_SOURCE_ROUTE: u8 = 137;
    /// Router alert (RFC 2113).
    pub const ROUTER_ALERT: u8 = 148;
    /// The bit that says: copy into every fragment.
    pub const COPIED: u8 = 0x80;
}

/// Most octets that options can take.
pub const MAX_LEN: usize = 40;

/// The octets of all options, padded with zeros to a multiple of four.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Options {
    // Unused places stay zero, so that the derived comparison is right.
    octets: [u8; MAX_LEN],
    used: usize,
}

impl Options {
    /// No options.
    pub const NONE: Self = Self { octets: [0; MAX_LEN], used: 0 };

    /// Takes the octets as they are and pads them to a multiple of four; `None` if there are more than 40.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut options = Self::NONE;
        options.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        options.used = octets.len().next_multiple_of(4);
        Some(options)
    }

    /// The octets, padding included.
    #[must_use]
    pub fn as_octets(&self) -> &[u8] {
        self.octets.get(..self.used).unwrap_or_default()
    }

    /// Octets, padding included: 0 to 40, a multiple of 4.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Whether there are no octets.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Every option up to the end of the list; after an illegal length there is one error and nothing more.
    #[must_use]
    pub fn items(&self) -> Items<'_> {
        Items { rest: self.as_octets() }
    }

    /// What the second and later fragments carry: the options whose copied flag is set (RFC 791 section 3.1), padded
    /// again. Whatever follows an illegal length is left out.
    #[must_use]
    pub fn for_later_fragments(&self) -> Self {
        let mut kept = Self::NONE;
        let mut used = 0;
        for item in self.items().map_while(Result::ok).filter(|item| item.kind & kind::COPIED != 0) {
            let Some(place) = kept.octets.get_mut(used..used + item.octets.len()) else {
                break;
            };
            place.copy_from_slice(item.octets);
            used += item.octets.len();
        }
        kept.used = used.next_multiple_of(4);
        kept
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_octets(), f)
    }
}

impl fmt::Display for Options {
    /// For example `record route 7 octets, nop`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, item) in self.items().enumerate() {
            if n > 0 {
                f.write_str(", ")?;
            }
            match item {
                Ok(Item { kind: kind::NOP, .. }) => f.write_str("nop")?,
                Ok(Item { kind, octets }) => {
                    match kind {
                        kind::RECORD_ROUTE => f.write_str("record route")?,
                        kind::TIMESTAMP => f.write_str("timestamp")?,
                        kind::SECURITY => f.write_str("security")?,
                        kind::LOOSE_SOURCE_ROUTE => f.write_str("loose source route")?,
                        kind::STREAM_ID => f.write_str("stream id")?,
                        kind::STRICT_SOURCE_ROUTE => f.write_str("strict source route")?,
                        kind::ROUTER_ALERT => f.write_str("router alert")?,
                        kind => write!(f, "option {kind}")?,
                    }
                    write!(f, " {}", counted(octets.len(), "octet"))?;
                }
                Err(_) => f.write_str("illegal option length")?,
            }
        }
        Ok(())
    }
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Option-type, see [`kind`].
    pub kind: u8,
    /// The whole option, type and length included: the pointers in route options count from its first octet.
    pub octets: &'a [u8],
}

/// The iterator of [`Options::items`].
#[derive(Clone, Debug)]
pub struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let all = self.rest;
        self.rest = &[];
        let (kind, length) = match *all {
            [] | [kind::END, ..] => return None,
            [kind::NOP, ..] => (kind::NOP, 1),
            [kind, length @ 2..=255, ..] => (kind, usize::from(length)),
            [_, length, ..] => return Some(Err(illegal(usize::from(length), all.len()))),
            [_] => {
                return Some(Err(Malformed::Short { protocol: "IPv4 option", need: 2, have: 1 }));
            }
        };
        let Some((octets, rest)) = all.split_at_checked(length) else {
            return Some(Err(illegal(length, all.len())));
        };
        self.rest = rest;
        Some(Ok(Item { kind, octets }))
    }
}

const fn illegal(found: usize, most: usize) -> Malformed {
    Malformed::Length { protocol: "IPv4", field: "option-length", found, least: 2, most }
}
