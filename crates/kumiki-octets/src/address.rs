//! Addresses of every kind, as one type that whoever only passes them on need not look into.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The most octets of an address: one of an OSI network or an ATM end system.
pub const MOST_OCTETS: usize = 20;

/// A kind of address: its name, and how people write one. Each is a `static` of whoever has the type of its values.
pub struct AddressKind {
    /// What an address of this kind is called, such as "MAC address". No other kind is, for kinds are in the order of
    /// their names.
    pub name: &'static str,
    /// Writes one, from its octets.
    pub write: fn(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result,
}

impl fmt::Debug for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A type whose values are addresses of one kind.
///
/// ```
/// use core::fmt;
/// use kumiki_octets::{Address, AddressKind, AddressType};
///
/// /// The number of a desk.
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct Desk(u8);
///
/// static DESK: AddressKind = AddressKind {
///     name: "desk",
///     write: |octets, f| octets.first().map_or(Ok(()), |number| write!(f, "desk {number}")),
/// };
///
/// impl AddressType for Desk {
///     const KIND: &'static AddressKind = &DESK;
///
///     fn to_address(self) -> Address {
///         Address::new(&DESK, [self.0])
///     }
///
///     fn of_octets(octets: &[u8]) -> Option<Self> {
///         octets.first().copied().map(Self)
///     }
/// }
///
/// let address = Address::from(Desk(7));
/// assert_eq!(address.to_string(), "desk 7");
/// assert_eq!(address.get(), Some(Desk(7)));
/// assert_eq!(address.ip(), None);
/// ```
pub trait AddressType: Sized {
    /// The kind.
    const KIND: &'static AddressKind;

    /// This, as an [`Address`].
    fn to_address(self) -> Address;

    /// What an [`Address`] of this kind with these octets is.
    fn of_octets(octets: &[u8]) -> Option<Self>;
}

/// An address as some layer's users know it, or none.
///
/// A layer that only passes addresses on needs to know no kind; one that is given another kind than its own can say so.
#[derive(Clone, Copy)]
pub struct Address {
    kind: Option<&'static AddressKind>,
    len: u8,
    octets: [u8; MOST_OCTETS],
}

impl Address {
    /// Not given, or not needed because the access point has only one peer.
    pub const NONE: Self = Self { kind: None, len: 0, octets: [0; MOST_OCTETS] };

    /// An address of this kind. Its octets are what tells it from others of the kind.
    #[must_use]
    pub const fn new<const N: usize>(kind: &'static AddressKind, octets: [u8; N]) -> Self {
        const { assert!(N <= MOST_OCTETS, "an address has 20 octets at most") };
        let mut own = [0; MOST_OCTETS];
        if let Some((front, _)) = own.split_first_chunk_mut() {
            *front = octets;
        }
        #[expect(clippy::cast_possible_truncation, reason = "20 at most")]
        Self { kind: Some(kind), len: N as u8, octets: own }
    }

    /// Whether none is given.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.kind.is_none()
    }

    /// The kind of a given one.
    #[must_use]
    pub const fn kind(&self) -> Option<&'static AddressKind> {
        self.kind
    }

    /// Whether it is of this kind.
    #[inline]
    #[must_use]
    pub fn is(&self, kind: &'static AddressKind) -> bool {
        self.kind.is_some_and(|own| core::ptr::eq(own, kind))
    }

    /// Its octets.
    #[inline]
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// It, if it is of `T`'s kind.
    #[inline]
    #[must_use]
    pub fn get<T: AddressType>(&self) -> Option<T> {
        if self.is(T::KIND) { T::of_octets(self.octets()) } else { None }
    }

    /// The IP address of either version that this is, if it is one.
    #[inline]
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.get::<Ipv4Addr>().map(IpAddr::V4).or_else(|| self.get::<Ipv6Addr>().map(IpAddr::V6))
    }

    /// The socket address that this is, if it is one.
    #[inline]
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        self.get()
    }

    /// The socket address that this is, or that of this IP address, with `port` where none is said or 0 is.
    #[must_use]
    pub fn socket_at(&self, port: u16) -> Option<SocketAddr> {
        let found = self.socket().or_else(|| self.ip().map(|ip| SocketAddr::new(ip, 0)))?;
        Some(if found.port() == 0 { SocketAddr::new(found.ip(), port) } else { found })
    }
}

impl Default for Address {
    fn default() -> Self {
        Self::NONE
    }
}

impl PartialEq for Address {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let same_kind = match (self.kind, other.kind) {
            (Some(own), Some(other)) => core::ptr::eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        // What is behind the length is zero in both.
        same_kind && self.len == other.len && self.octets == other.octets
    }
}

impl Eq for Address {}

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// None first, then by the name of the kind, then by octets.
impl Ord for Address {
    fn cmp(&self, other: &Self) -> Ordering {
        let name = |it: &Self| it.kind.map(|kind| kind.name);
        name(self).cmp(&name(other)).then_with(|| self.octets().cmp(other.octets()))
    }
}

/// By its octets, so that it is the same in each run.
impl Hash for Address {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.octets().hash(state);
    }
}

impl<T: AddressType> From<T> for Address {
    #[inline]
    fn from(address: T) -> Self {
        address.to_address()
    }
}

impl From<IpAddr> for Address {
    #[inline]
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => address.to_address(),
            IpAddr::V6(address) => address.to_address(),
        }
    }
}

/// As people write it; "-" where none is given.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            None => f.write_str("-"),
            Some(kind) => (kind.write)(self.octets(), f),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes octets as the type of their kind does.
pub fn write_as<T: AddressType + fmt::Display>(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    T::of_octets(octets).map_or(Ok(()), |address| address.fmt(f))
}

// The kinds whose types are the standard library's. All others stand beside the codecs that have them in their headers.

/// IPv4 addresses.
pub static IPV4: AddressKind = AddressKind { name: "IPv4 address", write: write_as::<Ipv4Addr> };
/// IPv6 addresses.
pub static IPV6: AddressKind = AddressKind { name: "IPv6 address", write: write_as::<Ipv6Addr> };
/// An IP address of either version and a port.
pub static SOCKET: AddressKind = AddressKind { name: "socket address", write: write_as::<SocketAddr> };

impl AddressType for Ipv4Addr {
    const KIND: &'static AddressKind = &IPV4;

    #[inline]
    fn to_address(self) -> Address {
        Address::new(&IPV4, self.octets())
    }

    #[inline]
    fn of_octets(octets: &[u8]) -> Option<Self> {
        octets.first_chunk::<4>().map(|octets| Self::from(*octets))
    }
}

impl AddressType for Ipv6Addr {
    const KIND: &'static AddressKind = &IPV6;

    #[inline]
    fn to_address(self) -> Address {
        Address::new(&IPV6, self.octets())
    }

    #[inline]
    fn of_octets(octets: &[u8]) -> Option<Self> {
        octets.first_chunk::<16>().map(|octets| Self::from(*octets))
    }
}

/// Without flow and zone: no layer here knows either.
impl AddressType for SocketAddr {
    const KIND: &'static AddressKind = &SOCKET;

    #[inline]
    fn to_address(self) -> Address {
        let [high, low] = self.port().to_be_bytes();
        match self.ip() {
            IpAddr::V4(ip) => {
                let [a, b, c, d] = ip.octets();
                Address::new(&SOCKET, [a, b, c, d, high, low])
            }
            IpAddr::V6(ip) => {
                let mut octets = [high; 16 + 2];
                if let Some((own, [_, last])) = octets.split_first_chunk_mut() {
                    (*own, *last) = (ip.octets(), low);
                }
                Address::new(&SOCKET, octets)
            }
        }
    }

    #[inline]
    fn of_octets(octets: &[u8]) -> Option<Self> {
        let (ip, port) = octets.split_last_chunk()?;
        let ip = match ip.len() {
            4 => IpAddr::V4(Ipv4Addr::of_octets(ip)?),
            _ => IpAddr::V6(Ipv6Addr::of_octets(ip)?),
        };
        Some(Self::new(ip, u16::from_be_bytes(*port)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_comes_back_as_itself_alone() {
        for socket in ["10.0.0.1:80", "[2001:db8::1]:65535", "0.0.0.0:0", "[::]:0"] {
            let socket: SocketAddr = socket.parse().unwrap();
            let address = Address::from(socket);
            assert_eq!((address.socket(), address.ip()), (Some(socket), None));
            assert_eq!(address.to_string(), socket.to_string());
            let address = Address::from(socket.ip());
            assert_eq!((address.socket(), address.ip()), (None, Some(socket.ip())));
            assert_eq!(address.to_string(), socket.ip().to_string());
            assert_eq!(address.socket_at(7), Some(SocketAddr::new(socket.ip(), 7)));
        }
        let none = Address::NONE;
        assert!(none.is_none() && none == Address::default() && none.ip().is_none() && none.to_string() == "-");
    }

    #[test]
    fn the_same_octets_of_another_kind_are_another_address() {
        static OTHER: AddressKind = AddressKind { name: "other", write: |_, f| f.write_str("other") };
        let octets = [10, 0, 0, 1];
        let (ip, other) = (Address::from(Ipv4Addr::from(octets)), Address::new(&OTHER, octets));
        assert_ne!(ip, other);
        assert!(Address::NONE < ip && ip < other);
        assert!(other.get::<Ipv4Addr>().is_none());
        // Nothing is none, but an address without octets.
        assert_ne!(Address::new(&OTHER, []), Address::NONE);
    }
}
