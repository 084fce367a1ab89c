//! What a device of a host is to be.

use core::net::IpAddr;

use kumiki_wire::inet::ethernet::MacAddr;

use crate::layers::{Line, LineRoute};

/// What a packet can have, in octets, where nobody says otherwise.
const MTU: u32 = 1500;

impl Line {
    /// A device on which the host has these addresses, and that carries 1500 octets. Of several of one version of IP it
    /// is the one on the network of who gets a packet next that this comes from, or else the first.
    ///
    /// Where it is the host's only device, and no Ethernet, all of the world is at its other end. Else it leads to the
    /// networks of its addresses, which have 24 and 64 bits unless [`Line::prefixes`] says otherwise, and where its
    /// [routers](Line::router) and [routes](Line::route) lead. Of several that lead somewhere it is the one whose
    /// network has the longest prefix.
    #[must_use]
    pub fn new(addresses: impl Into<Vec<IpAddr>>) -> Self {
        Self::plain(addresses.into(), MTU)
    }

    /// Addresses may come later ([`StackLine`](crate::StackLine)): the line has IPv4, where `v4` says so, and IPv6,
    /// where `v6` does, whether or not it has an address of it yet.
    #[must_use]
    pub const fn later(mut self, v4: bool, v6: bool) -> Self {
        self.later = [v4, v6];
        self
    }

    /// A server on the network is asked for an address of IPv4, and for what goes with it: prefix, routes, MTU,
    /// resolvers (RFC 2131). The line is an Ethernet; each line of a host may have it. It is asked 1 to 10 s after the
    /// start (RFC 2131 section 4.4.1), and the address is used when nobody has claimed it for 4 to 7 s (RFC 5227
    /// section 1.1; on this line so are others that are to be probed); it is there as long as the server says.
    #[must_use]
    pub const fn dhcp(mut self) -> Self {
        self.dhcp = true;
        let [_, v6] = self.later;
        self.later = [true, v6];
        self
    }

    /// As [`Line::dhcp`], but that the server is asked at once, and the address used when nobody has claimed it for 1
    /// s: for a host that does not start together with many others, on a network whose stations answer at once, such as
    /// one of virtual machines. The standards' times are for any network.
    #[must_use]
    pub const fn dhcp_quickly(mut self) -> Self {
        self.hurries = true;
        self.dhcp()
    }

    /// The device carries frames of Ethernet, such as a [TAP](super::Tun) or [those of a virtual
    /// machine](super::Frames), and this is our station there.
    ///
    /// An address of IPv6 is used when nobody has claimed it for a second or two (RFC 4862).
    #[must_use]
    pub const fn ethernet(mut self, mac: [u8; 6]) -> Self {
        self.mac = Some(MacAddr(mac));
        self
    }

    /// How many leading bits of our addresses name the network, 0 to 32 of IPv4, and 0 to 128 of IPv6.
    #[must_use]
    pub const fn prefixes(mut self, v4: u8, v6: u8) -> Self {
        self.prefixes = Some([v4, v6]);
        self
    }

    /// Who gets what is for other networks, of the version of IP that its address has. On an Ethernet routers of IPv6
    /// that announce themselves are heard as well.
    #[must_use]
    pub fn router(mut self, address: IpAddr) -> Self {
        self.routers.push(address);
        self
    }

    /// Another network that it leads to, of which so many leading bits are given: by way of a router on it, or without
    /// one straight, as to all that is at the other end of a TUN. A prefix of 0 is all that no other line leads to.
    #[must_use]
    pub fn route(mut self, network: IpAddr, prefix: u8, router: Option<IpAddr>) -> Self {
        self.routes.push(LineRoute { network, prefix, router });
        self
    }

    /// What a packet can have at most, in octets, without the header of a frame.
    #[must_use]
    pub const fn mtu(mut self, octets: u16) -> Self {
        self.mtu = octets as u32;
        self
    }
}
