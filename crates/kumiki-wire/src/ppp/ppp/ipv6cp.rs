//! IPV6CP: its options. Its packets are those of [`control`](super::control), codes 1 to 7.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 5072 section 4.1; IPv6-Compression-Protocol RFC 5172 |
//! | Left out | the data of compression protocols; other options: read as [`Opt::Other`] |

use core::fmt;
use std::net::Ipv6Addr;

use super::control::{Item, OptionSpec, emit_value, option_len};
use super::lcp::and_data;
use super::protocol;

/// Types of options.
pub mod kind {
    /// Interface-Identifier.
    pub const INTERFACE_IDENTIFIER: u8 = 1;
    /// IPv6-Compression-Protocol.
    pub const COMPRESSION: u8 = 2;
}

/// What is known of a type of option.
pub(super) const fn known(kind: u8) -> Option<OptionSpec> {
    Some(match kind {
        kind::INTERFACE_IDENTIFIER => OptionSpec::exactly("interface-identifier", 8),
        kind::COMPRESSION => OptionSpec::at_least("ipv6-compression-protocol", 2),
        _ => return None,
    })
}

/// 64 bits that tell the two ends of a link apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct InterfaceIdentifier(pub [u8; 8]);

impl InterfaceIdentifier {
    /// Zero: the peer is to give one.
    pub const NONE: Self = Self([0; 8]);

    /// Whether this is no identifier but the wish for one.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// The link-local address that is made of it (RFC 5072 section 5).
    #[must_use]
    pub const fn link_local(self) -> Ipv6Addr {
        let [a, b, c, d, e, f, g, h] = self.0;
        let word = u16::from_be_bytes;
        let (w4, w5, w6, w7) = ([a, b], [c, d], [e, f], [g, h]);
        Ipv6Addr::new(0xfe80, 0, 0, 0, word(w4), word(w5), word(w6), word(w7))
    }
}

impl fmt::Display for InterfaceIdentifier {
    /// For example `0000:0000:0000:0001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f_, g, h] = self.0;
        write!(f, "{a:02x}{b:02x}:{c:02x}{d:02x}:{e:02x}{f_:02x}:{g:02x}{h:02x}")
    }
}

/// An option of IPV6CP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opt<'a> {
    /// The sender's identifier; exactly one is in a Configure-Request.
    InterfaceIdentifier(InterfaceIdentifier),
    /// The sender can receive a compression.
    Compression {
        /// The PPP protocol of what is compressed.
        protocol: u16,
        /// As that compression wants it.
        data: &'a [u8],
    },
    /// Any other type, or one of these with a length that it cannot have.
    Other(Item<'a>),
}

impl<'a> Opt<'a> {
    /// Reads what an option says. Nothing is refused: see [`Item::check`] for one of a wrong length.
    #[must_use]
    pub const fn of(item: Item<'a>) -> Self {
        match (item.kind, item.data) {
            (kind::INTERFACE_IDENTIFIER, &[a, b, c, d, e, f, g, h]) => {
                Self::InterfaceIdentifier(InterfaceIdentifier([a, b, c, d, e, f, g, h]))
            }
            (kind::COMPRESSION, [high, low, data @ ..]) => {
                Self::Compression { protocol: u16::from_be_bytes([*high, *low]), data }
            }
            _ => Self::Other(item),
        }
    }

    /// Type.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::InterfaceIdentifier(_) => kind::INTERFACE_IDENTIFIER,
            Self::Compression { .. } => kind::COMPRESSION,
            Self::Other(item) => item.kind,
        }
    }

    /// Octets that [`Opt::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "an option is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        option_len(match self {
            Self::InterfaceIdentifier(_) => 8,
            Self::Compression { data, .. } => data.len().saturating_add(2),
            Self::Other(item) => item.data.len(),
        })
    }

    /// Writes [`Opt::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let (out, kind) = (&mut out, self.kind());
        match *self {
            Self::InterfaceIdentifier(identifier) => emit_value(out, kind, &[&identifier.0]),
            Self::Compression { protocol, data } => {
                emit_value(out, kind, &[&protocol.to_be_bytes(), data]);
            }
            Self::Other(item) => emit_value(out, kind, &[item.data]),
        }
    }
}

impl fmt::Display for Opt<'_> {
    /// For example `addr fe80::1`: the words of PPP daemons' logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::InterfaceIdentifier(identifier) => write!(f, "addr {}", identifier.link_local()),
            Self::Compression { protocol, data } => {
                write!(f, "compress {}", protocol::Name(protocol))?;
                and_data(f, data)
            }
            Self::Other(item) => item.fmt(f),
        }
    }
}
