//! What an interface of IP has, where that comes and goes while it runs.

use core::net::IpAddr;

use kumiki_octets::Payload;

/// A change of what an interface has.
///
/// As [`Manage::Special`] it is asked for: of IP of the version of its addresses, or of UDP, which passes it on. As
/// [`Report::Special`] it has happened, and every user of IP is told, and every user of UDP, whoever has asked for it.
/// Conversations go on: what is from an address that has gone is not sent, and what is for it is dropped in silence,
/// until it is there again or TCP gives up (RFC 9293 section 3.8.3). So it is in Linux.
///
/// [`Manage::Special`]: kumiki_graph::Manage::Special
/// [`Report::Special`]: kumiki_graph::Report::Special
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The place of the interface in the configuration of IP.
    pub interface: usize,
    /// Who says so.
    pub by: Authority,
    /// What changes.
    pub change: Change,
}

impl Payload for Assignment {}

impl Assignment {
    /// The same, but that nobody need be asked.
    #[must_use]
    pub(crate) const fn without_probe(self) -> Self {
        match self.change {
            Change::Address { address, prefix, .. } => {
                Self { change: Change::Address { address, prefix, probe: false }, ..self }
            }
            Change::NoAddress(_) | Change::Duplicate(_) | Change::Route(_) | Change::NoRoute(_) | Change::Mtu(_) => {
                self
            }
        }
    }

    /// The change that undoes this one; what tells of something else stays as it is.
    #[must_use]
    pub const fn undone(self) -> Self {
        let change = match self.change {
            Change::Address { address, .. } => Change::NoAddress(address),
            Change::Route(way) => Change::NoRoute(way),
            Change::Mtu(_) => Change::Mtu(None),
            Change::NoAddress(_) | Change::Duplicate(_) | Change::NoRoute(_) => self.change,
        };
        Self { change, ..self }
    }
}

/// Who says what an interface has. What whoever has the host has given, nobody else takes: where a server grants an
/// address that is there already, or takes one back, only its own is changed. Of MTUs that several have said the least
/// counts. Whoever has the host takes what others have given, as on Linux.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Authority {
    /// Whoever has the host.
    Owner,
    /// Routers, in their advertisements (RFC 4862).
    Router,
    /// A server (RFC 2131).
    Server,
}

impl Authority {
    /// How many there are.
    pub const COUNT: usize = 3;

    /// Its place among all.
    #[must_use]
    pub const fn place(self) -> usize {
        match self {
            Self::Owner => 0,
            Self::Router => 1,
            Self::Server => 2,
        }
    }
}

/// What changes of an interface. What is there already is not added again, and what is not there is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// An address of ours, with a route to its network.
    Address {
        /// The address.
        address: IpAddr,
        /// How many leading bits of it name the network.
        prefix: u8,
        /// Whether others on the link are asked first if they have it, where neighbours can be asked. IPv6 asks always
        /// (RFC 4862 section 5.4).
        probe: bool,
    },
    /// It is ours no longer.
    NoAddress(IpAddr),
    /// Only told: somebody else on the link has the address, or we have it on another interface and a server offered it
    /// on this one, so that it is not ours there.
    Duplicate(IpAddr),
    /// A way to a network.
    Route(AssignedRoute),
    /// It leads there no longer.
    NoRoute(AssignedRoute),
    /// The largest packet, in octets; where the layer below carries less, less. `None`: what the configuration says.
    Mtu(Option<u32>),
}

/// An interface has come, or gone, as its device says. As [`Report::Special`](kumiki_graph::Report::Special) to every
/// user of IP and of UDP: `Report::Up` and `Report::Down` say whether there is any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterfaceState {
    /// The place of the interface in the configuration of IP.
    pub interface: usize,
    /// Whether it is there.
    pub is_up: bool,
}

impl Payload for InterfaceState {}

/// Who looks up names, as the network says: all that `by` has told of at present. As
/// [`Report::Special`](kumiki_graph::Report::Special), when they change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolvers {
    /// The place of the interface in the configuration of IP.
    pub interface: usize,
    /// Who says so.
    pub by: Authority,
    /// Their addresses, those to be asked first at the front.
    pub servers: Vec<IpAddr>,
}

impl Payload for Resolvers {}

/// A way to a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AssignedRoute {
    /// An address in the network.
    pub network: IpAddr,
    /// How many leading bits of it name the network; 0 is the default route.
    pub prefix: u8,
    /// The router on the link by which it leads; none where the network is on the link itself.
    pub router: Option<IpAddr>,
}
