//! One address type for every layer.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kumiki_octets::Number;

/// An address as some layer's users know it.
///
/// A sum type, so that a layer that only passes addresses on needs to know none of them, and one that is given the
/// wrong kind can say so. More kinds come with the layers that have them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Address {
    /// Not given, or not needed because the access point has only one peer.
    #[default]
    None,
    /// An IPv4 address.
    Ip4(Ipv4Addr),
    /// An IPv6 address.
    Ip6(Ipv6Addr),
    /// An IP address and a port of TCP or UDP. Not a [`SocketAddr`]: that has a flow and a zone too, and would make all of
    /// what crosses from layer to layer larger.
    Socket {
        /// The IP address.
        ip: IpAddr,
        /// The port.
        port: u16,
    },
    /// A 48-bit MAC address.
    Mac([u8; 6]),
    /// An ATM virtual channel.
    Vc {
        /// Virtual path identifier, 0 to 4095.
        vpi: u16,
        /// Virtual channel identifier.
        vci: u16,
    },
    /// The address field of an HDLC frame as MAPOS has it: 8 bits, or the 16 of MAPOS 16; which, the driver knows.
    Hdlc(u16),
    /// The number of a DTE in an X.25 network (X.121).
    X121(Number),
}

impl Address {
    /// The ATM virtual channel that is written `vpi/vci`, such as `0/100`, if that is one.
    #[must_use]
    pub fn circuit(text: &str) -> Option<Self> {
        let (vpi, vci) = text.split_once('/')?;
        let vpi = vpi.trim().parse().ok().filter(|&vpi| vpi <= 4095)?;
        let vci = vci.trim().parse().ok()?;
        Some(Self::Vc { vpi, vci })
    }

    /// The IP address of either version that this is, if it is one.
    #[must_use]
    pub const fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Ip4(address) => Some(IpAddr::V4(address)),
            Self::Ip6(address) => Some(IpAddr::V6(address)),
            Self::None | Self::Socket { .. } | Self::Mac(_) | Self::Vc { .. } | Self::Hdlc(_) | Self::X121(_) => None,
        }
    }

    /// The socket address that this is, if it is one.
    #[must_use]
    pub const fn socket(self) -> Option<SocketAddr> {
        match self {
            Self::Socket { ip, port } => Some(SocketAddr::new(ip, port)),
            Self::None
            | Self::Ip4(_)
            | Self::Ip6(_)
            | Self::Mac(_)
            | Self::Vc { .. }
            | Self::Hdlc(_)
            | Self::X121(_) => None,
        }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::Ip4(address),
            IpAddr::V6(address) => Self::Ip6(address),
        }
    }
}

impl From<SocketAddr> for Address {
    /// Without flow and zone: the layers here know neither.
    fn from(address: SocketAddr) -> Self {
        Self::Socket { ip: address.ip(), port: address.port() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("-"),
            Self::Ip4(address) => address.fmt(f),
            Self::Ip6(address) => address.fmt(f),
            Self::Socket { ip, port } => SocketAddr::new(*ip, *port).fmt(f),
            Self::Mac([a, b, c, d, e, g]) => {
                write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
            }
            Self::Vc { vpi, vci } => write!(f, "VC {vpi}/{vci}"),
            Self::Hdlc(address) => write!(f, "{address:#04x}"),
            Self::X121(number) => number.fmt(f),
        }
    }
}
