//! IPCP: its options. Its packets are those of [`control`](super::control), codes 1 to 7.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 1332 section 3 and, for Van Jacobson's compression, section 4; IP-Addresses RFC 1172 section 5.1; name servers RFC 1877 |
//! | Left out | the data of other compression protocols; Mobile IP (RFC 2290) and all other options: read as [`Opt::Other`] |

use core::fmt;
use std::net::Ipv4Addr;

use super::control::{Item, OptionSpec, emit_value, option_len};
use super::lcp::and_data;
use super::protocol;

/// Types of options.
pub mod kind {
    /// IP-Addresses; no longer to be used.
    pub const ADDRESSES: u8 = 1;
    /// IP-Compression-Protocol.
    pub const COMPRESSION: u8 = 2;
    /// IP-Address.
    pub const ADDRESS: u8 = 3;
    /// Primary DNS server address.
    pub const PRIMARY_DNS: u8 = 129;
    /// Primary NBNS server address.
    pub const PRIMARY_NBNS: u8 = 130;
    /// Secondary DNS server address.
    pub const SECONDARY_DNS: u8 = 131;
    /// Secondary NBNS server address.
    pub const SECONDARY_NBNS: u8 = 132;
}

/// What is known of a type of option.
pub(super) const fn known(kind: u8) -> Option<OptionSpec> {
    Some(match kind {
        kind::ADDRESSES => OptionSpec::exactly("ip-addresses", 8),
        kind::COMPRESSION => OptionSpec::at_least("ip-compression-protocol", 2),
        kind::ADDRESS => OptionSpec::exactly("ip-address", 4),
        kind::PRIMARY_DNS => OptionSpec::exactly("primary-dns-address", 4),
        kind::PRIMARY_NBNS => OptionSpec::exactly("primary-nbns-address", 4),
        kind::SECONDARY_DNS => OptionSpec::exactly("secondary-dns-address", 4),
        kind::SECONDARY_NBNS => OptionSpec::exactly("secondary-nbns-address", 4),
        _ => return None,
    })
}

/// Which name server an address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Server {
    /// The first one of the domain name system.
    PrimaryDns,
    /// The second one of the domain name system.
    SecondaryDns,
    /// The first one for NetBIOS names.
    PrimaryNbns,
    /// The second one for NetBIOS names.
    SecondaryNbns,
}

impl Server {
    const fn kind(self) -> u8 {
        match self {
            Self::PrimaryDns => kind::PRIMARY_DNS,
            Self::SecondaryDns => kind::SECONDARY_DNS,
            Self::PrimaryNbns => kind::PRIMARY_NBNS,
            Self::SecondaryNbns => kind::SECONDARY_NBNS,
        }
    }

    const fn of(kind: u8) -> Option<Self> {
        Some(match kind {
            kind::PRIMARY_DNS => Self::PrimaryDns,
            kind::SECONDARY_DNS => Self::SecondaryDns,
            kind::PRIMARY_NBNS => Self::PrimaryNbns,
            kind::SECONDARY_NBNS => Self::SecondaryNbns,
            _ => return None,
        })
    }
}

/// An option of IPCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opt<'a> {
    /// Both ends' addresses, in the old way.
    Addresses {
        /// The sender's.
        source: Ipv4Addr,
        /// The receiver's.
        destination: Ipv4Addr,
    },
    /// The sender can receive Van Jacobson's compressed headers.
    VanJacobson {
        /// The highest number of a slot: one less than there are.
        max_slot_id: u8,
        /// 1: the slot may be left out of a compressed header; 0: it must not.
        comp_slot_id: u8,
    },
    /// The sender can receive another compression, or this one with other data.
    Compression {
        /// The PPP protocol of what is compressed.
        protocol: u16,
        /// As that compression wants it.
        data: &'a [u8],
    },
    /// The sender's address; unspecified: the peer is to give it one.
    Address(Ipv4Addr),
    /// The address of a name server; unspecified: the peer is to tell it.
    Server(Server, Ipv4Addr),
    /// Any other type, or one of these with a length that it cannot have.
    Other(Item<'a>),
}

impl<'a> Opt<'a> {
    /// Reads what an option says. Nothing is refused: see [`Item::check`] for one of a wrong length.
    #[must_use]
    pub const fn of(item: Item<'a>) -> Self {
        match (item.kind, item.data) {
            (kind::ADDRESSES, &[a, b, c, d, e, f, g, h]) => {
                Self::Addresses { source: Ipv4Addr::new(a, b, c, d), destination: Ipv4Addr::new(e, f, g, h) }
            }
            (kind::COMPRESSION, &[0, 0x2d, max_slot_id, comp_slot_id]) => {
                Self::VanJacobson { max_slot_id, comp_slot_id }
            }
            (kind::COMPRESSION, [high, low, data @ ..]) => {
                Self::Compression { protocol: u16::from_be_bytes([*high, *low]), data }
            }
            (kind::ADDRESS, &[a, b, c, d]) => Self::Address(Ipv4Addr::new(a, b, c, d)),
            (kind, &[a, b, c, d]) => match Server::of(kind) {
                Some(server) => Self::Server(server, Ipv4Addr::new(a, b, c, d)),
                None => Self::Other(item),
            },
            _ => Self::Other(item),
        }
    }

    /// Type.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Addresses { .. } => kind::ADDRESSES,
            Self::VanJacobson { .. } | Self::Compression { .. } => kind::COMPRESSION,
            Self::Address(_) => kind::ADDRESS,
            Self::Server(server, _) => server.kind(),
            Self::Other(item) => item.kind,
        }
    }

    /// Octets that [`Opt::emit`] writes.
    #[expect(clippy::len_without_is_empty, reason = "an option is never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        option_len(match self {
            Self::Addresses { .. } => 8,
            Self::VanJacobson { .. } | Self::Address(_) | Self::Server(..) => 4,
            Self::Compression { data, .. } => data.len().saturating_add(2),
            Self::Other(item) => item.data.len(),
        })
    }

    /// Writes [`Opt::len`] octets.
    pub fn emit(&self, mut out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len());
        let (out, kind) = (&mut out, self.kind());
        match *self {
            Self::Addresses { source, destination } => {
                emit_value(out, kind, &[&source.octets(), &destination.octets()]);
            }
            Self::VanJacobson { max_slot_id, comp_slot_id } => {
                let protocol = protocol::VJ_COMPRESSED.to_be_bytes();
                emit_value(out, kind, &[&protocol, &[max_slot_id, comp_slot_id]]);
            }
            Self::Compression { protocol, data } => {
                emit_value(out, kind, &[&protocol.to_be_bytes(), data]);
            }
            Self::Address(address) | Self::Server(_, address) => {
                emit_value(out, kind, &[&address.octets()]);
            }
            Self::Other(item) => emit_value(out, kind, &[item.data]),
        }
    }
}

impl fmt::Display for Opt<'_> {
    /// For example `addr 10.0.0.1` or `compress VJ 0f 01`: the words of PPP daemons' logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Addresses { source, destination } => write!(f, "addrs {source} {destination}"),
            Self::VanJacobson { max_slot_id, comp_slot_id } => {
                write!(f, "compress VJ {max_slot_id:02x} {comp_slot_id:02x}")
            }
            Self::Compression { protocol, data } => {
                write!(f, "compress {}", protocol::Name(protocol))?;
                and_data(f, data)
            }
            Self::Address(address) => write!(f, "addr {address}"),
            Self::Server(server, address) => {
                let name = match server {
                    Server::PrimaryDns => "ms-dns1",
                    Server::SecondaryDns => "ms-dns2",
                    Server::PrimaryNbns => "ms-wins1",
                    Server::SecondaryNbns => "ms-wins2",
                };
                write!(f, "{name} {address}")
            }
            Self::Other(item) => item.fmt(f),
        }
    }
}
