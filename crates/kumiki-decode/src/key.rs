//! How one protocol says which comes next, and how each says where it is found.

use std::fmt;
use std::net::IpAddr;

use kumiki_octets::Sum;
use kumiki_osi_service::Oid;

/// The place in another protocol (or in a capture) where a protocol is named by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The link type of a capture, from the tcpdump.org registry.
    LinkType(u32),
    /// The type of an ERF record, without its top bit.
    ErfType(u8),
    /// An EtherType, also behind SNAP.
    EtherType(u16),
    /// A PPP protocol number.
    PppProtocol(u16),
    /// A MAPOS protocol number.
    MaposProtocol(u16),
    /// A network layer protocol identifier of ISO/IEC TR 9577.
    Nlpid(u8),
    /// A service access point of IEEE 802.2 LLC.
    Sap(u8),
    /// A protocol number of IPv4, or a next header of IPv6.
    IpProtocol(u8),
    /// A port of TCP, of either side.
    TcpPort(u16),
    /// A port of UDP, of either side.
    UdpPort(u16),
    /// The abstract syntax of a presentation context.
    AbstractSyntax(Oid),
    /// The dissector of this name, whatever it claims.
    Named(&'static str),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkType(number) => write!(f, "link type {number}"),
            Self::ErfType(number) => write!(f, "ERF type {number}"),
            Self::EtherType(number) => write!(f, "EtherType {number:#06x}"),
            Self::PppProtocol(number) => write!(f, "PPP protocol {number:#06x}"),
            Self::MaposProtocol(number) => write!(f, "MAPOS protocol {number:#06x}"),
            Self::Nlpid(number) => write!(f, "NLPID {number:#04x}"),
            Self::Sap(number) => write!(f, "LLC SAP {number:#04x}"),
            Self::IpProtocol(number) => write!(f, "IP protocol {number}"),
            Self::TcpPort(number) => write!(f, "TCP port {number}"),
            Self::UdpPort(number) => write!(f, "UDP port {number}"),
            Self::AbstractSyntax(oid) => write!(f, "abstract syntax {oid}"),
            Self::Named(name) => write!(f, "\"{name}\""),
        }
    }
}

/// The network addresses that transport checksums cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Of the sender.
    pub source: IpAddr,
    /// Of the receiver.
    pub destination: IpAddr,
}

impl Ends {
    /// The sum of the pseudo-header: RFC 9293 section 3.1 for IPv4, RFC 8200 section 8.1 for IPv6. `length`: octets of
    /// the transport header and data.
    #[must_use]
    pub fn pseudo_header(&self, protocol: u8, length: usize) -> Sum {
        let address = |address: IpAddr| match address {
            IpAddr::V4(address) => Sum::of(&address.octets()),
            IpAddr::V6(address) => Sum::of(&address.octets()),
        };
        // Both forms are zero-filled, and one's complement addition does not mind where in a word-aligned header a
        // number stands: the two have the same sum.
        address(self.source)
            .plus(address(self.destination))
            .add_u32(u32::try_from(length).unwrap_or(u32::MAX))
            .add_u16(protocol.into())
    }
}

/// A virtual channel at one place of capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Circuit {
    /// The interface of the capture.
    pub interface: u32,
    /// The virtual path.
    pub vpi: u16,
    /// The virtual channel on it.
    pub vci: u16,
}

impl fmt::Display for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.vpi, self.vci)
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// An address and a port of TCP.
    Port(IpAddr, u16),
    /// A logical channel of X.25, at one side of a line.
    Channel(u16, Side),
}

/// A side of a line that two systems share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The subscriber.
    Dte,
    /// The network.
    Dce,
    /// The system that captured.
    Here,
    /// The one that it speaks with.
    There,
}

impl Side {
    /// The one at the other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Dte => Self::Dce,
            Self::Dce => Self::Dte,
            Self::Here => Self::There,
            Self::There => Self::Here,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dte => "DTE",
            Self::Dce => "DCE",
            Self::Here => "here",
            Self::There => "there",
        })
    }
}

/// One direction of a connection, at one place of capture: of TCP, or a circuit of X.25 on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream {
    /// The interface of the capture.
    pub interface: u32,
    /// The sender.
    pub source: Endpoint,
    /// The receiver.
    pub destination: Endpoint,
}

impl Stream {
    /// What comes from a side of a line on a logical channel of X.25.
    #[must_use]
    pub const fn on_channel(interface: u32, channel: u16, from: Side) -> Self {
        Self {
            interface,
            source: Endpoint::Channel(channel, from),
            destination: Endpoint::Channel(channel, from.other()),
        }
    }

    /// The other direction.
    #[must_use]
    pub const fn back(self) -> Self {
        Self { interface: self.interface, source: self.destination, destination: self.source }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source, self.destination) {
            (Endpoint::Channel(channel, from), Endpoint::Channel(_, to)) => {
                write!(f, "channel {channel} {from} > {to}")
            }
            (source, destination) => write!(f, "{source} > {destination}"),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(address, port) => write!(f, "{address}.{port}"),
            Self::Channel(channel, side) => write!(f, "channel {channel} {side}"),
        }
    }
}
