//! What differs between the versions of IP: how addresses and headers look, and what only one of them does.

use core::fmt::Debug;

use kumiki_graph::{Address, AddressType, Context, Instant, Key, Manage, NoPath, Parameters, Unit};
use kumiki_octets::{Message, Sum};
use kumiki_wire::inet::IpParameters;
use kumiki_wire::inet::ipv4::Ecn;

use super::errors::{IcmpError, OriginalDatagram};
use super::node::{Ip, Port};
use super::reassembly::Overlap;
use super::recent::BareHeader;
use super::route::{Bits, Hop};
use super::send::{LinkDestination, Outgoing};
use crate::Authority;

/// What both versions have in a header, under the names of version 4.
#[derive(Clone, Copy, Debug)]
pub struct HeaderFields<A> {
    pub(crate) source: A,
    pub(crate) destination: A,
    /// How the datagram travels.
    pub(crate) how: IpParameters,
    /// Octets of the header.
    pub(crate) len: usize,
    /// Octets of the header and what is behind it, as it says.
    pub(crate) total: u32,
}

/// What a version calls things where drops are counted, and the numbers of its ICMP.
#[derive(Debug)]
pub struct Names {
    /// The other version, and what is said of its datagrams.
    pub(crate) other: (u8, &'static str),
    pub(crate) not_an_address: &'static str,
    pub(crate) hops_exceeded: &'static str,
    pub(crate) quotes_nothing: &'static str,
    pub(crate) about_others: &'static str,
    pub(crate) not_too_big: &'static str,
    /// ICMP's own protocol number.
    pub(crate) icmp: u8,
    /// Types of ICMP: destination unreachable, time exceeded, parameter problem.
    pub(crate) unreachable: u8,
    pub(crate) time_exceeded: u8,
    pub(crate) parameter: u8,
    /// Codes of unreachable: no route, and nobody answers at the next hop.
    pub(crate) no_route: u8,
    pub(crate) no_neighbour: u8,
    /// Codes of unreachable that end a conversation (RFC 1122 section 4.2.3.9, RFC 9293 section 3.9.2.2). Codes that
    /// came later are not said to be fatal anywhere, so they are not.
    pub(crate) fatal: &'static [u8],
    /// Code of unreachable: nobody has the port.
    pub(crate) port: u8,
    /// Where the path ends by a code of unreachable, as Linux tells its programs.
    pub(crate) path: fn(u8) -> NoPath,
}

/// A version of IP: what [`Ip`] leaves to it.
pub trait Family: Copy + Debug + Send + 'static {
    /// An address.
    type Address: Bits + AddressType;
    /// The header.
    type Header: Copy + Debug + Send;
    /// What a user's datagram is sent with beside [`IpParameters`].
    type Options: Copy + Default + Debug;
    /// Our addresses on an interface.
    type LocalAddresses: Debug + Send;
    /// How the link addresses of next hops are found on an interface.
    type Link: Debug + Send;
    /// What only this version keeps.
    type State: Debug + Send;

    /// Words and numbers.
    const NAMES: Names;
    /// Octets of a header without options.
    const HEADER_LEN: u32;
    /// The most that a datagram to ourselves may carry.
    const MOST_DATA: u32;
    /// Whether routers cut datagrams.
    const ROUTERS_CUT: bool;
    /// What is done with fragments that overlap.
    const OVERLAP: Overlap;
    /// Whether no datagram that comes changes ways, neighbours or addresses, and of no path less is known than its
    /// interface carries.
    const KEEPS_WAYS: bool;
    /// How much of a datagram an error quotes.
    const QUOTED: usize;
    /// How much of a unit that did not leave is shown to its user.
    const SHOWN: usize;

    // What stands around.

    /// Under which numbers it stands on a layer.
    fn keys() -> Vec<Key>;
    /// What the layer below an interface is asked at the start, beside its limits.
    fn asks(_: &Port<Self>) -> Option<Manage> {
        None
    }
    /// The layer below `interface` has told our own address there.
    fn is_called(_: &mut Ip<Self>, _interface: usize, _own: Address, _: &mut Context<'_>) {}
    /// The layer below `interface` has agreed on addresses with its peer.
    fn adopt(ip: &mut Ip<Self>, interface: usize, local: Address, remote: Address);
    /// A timer other than that of reassembly has expired.
    fn expire(_: &mut Ip<Self>, _: &mut Context<'_>) {}

    // Addresses and ways.

    /// Whether it is one of ours.
    fn is_ours(ip: &Ip<Self>, address: Self::Address) -> bool;
    /// Whether several hosts listen to it.
    fn is_group(ip: &Ip<Self>, address: Self::Address) -> bool;
    /// Whether it can be the address of one host.
    fn is_host(ip: &Ip<Self>, address: Self::Address) -> bool {
        address != Self::Address::UNSPECIFIED && !address.is_loopback() && !Self::is_group(ip, address)
    }
    /// Whether it means us, or us too.
    fn listens_to(ip: &Ip<Self>, address: Self::Address) -> bool;
    /// The way to `to` for a datagram that has, or will get, `source`; only ways by the interface `by`, where that is
    /// said.
    fn hop(
        ip: &mut Ip<Self>,
        to: Self::Address,
        source: Option<Self::Address>,
        by: Option<usize>,
    ) -> Option<Hop<Self::Address>>;
    /// Whether a datagram to `to` may say that whoever sends it has no address.
    fn may_come_from_nobody(_to: Self::Address) -> bool {
        false
    }
    /// The address of ours that goes with a datagram to `to` by `hop`.
    fn select(ip: &Ip<Self>, hop: Hop<Self::Address>, to: Self::Address) -> Option<Self::Address>;
    /// Whether an interface has the address, and it may be used.
    fn has(port: &Port<Self>, address: Self::Address) -> bool;
    /// Whether the layer below an interface answers for our addresses.
    fn is_resolved_below(_: &Port<Self>) -> bool {
        false
    }
    /// We have one more address on `interface`, whose network has so many bits: at once, or only when nobody claims it.
    /// `None`: it cannot be.
    fn add(
        ip: &mut Ip<Self>,
        interface: usize,
        own: (Self::Address, u8),
        by: Authority,
        cx: &mut Context<'_>,
    ) -> Option<bool>;
    /// It is ours no longer; how many bits its network had, if it was.
    fn remove(ip: &mut Ip<Self>, interface: usize, address: Self::Address) -> Option<u8>;
    /// How the link address of `next` is found on the interface, if it can be.
    fn reach(port: &Port<Self>, next: Self::Address) -> Option<LinkDestination>;
    /// A datagram has come from an address by way of a link address, to who [takes all](Ip::any_destination) and
    /// answers by the way that it came.
    fn met(_: &mut Ip<Self>, _interface: usize, _from: (Self::Address, Address), _: &mut Context<'_>) {}
    /// Sends a packet whose next hop has [`LinkDestination::Asked`].
    fn ask(_: &mut Ip<Self>, _: Hop<Self::Address>, _: Box<Unit>, _: &mut Context<'_>) {}
    /// The largest datagram that may be sent.
    fn mtu(port: &Port<Self>) -> u32 {
        port.mtu
    }
    /// The largest datagram that the path to `to` is known to carry.
    fn path_mtu(_: &Ip<Self>, _to: Self::Address, _now: Instant) -> u32 {
        u32::MAX
    }
    /// A user knows that the path to `to` carries no more than `mtu` octets.
    fn narrow(_: &mut Ip<Self>, _to: Self::Address, _mtu: u32, _now: Instant) {}

    // Headers.

    /// What is in a header.
    fn facts(header: &Self::Header) -> HeaderFields<Self::Address>;
    /// Whether it has no options, and nothing was left of its way.
    fn is_plain(header: &Self::Header) -> bool;
    /// Reads the header at the front of `datagram`, and takes off what is behind the end that it says.
    fn parse(datagram: &mut Message) -> Option<Self::Header>;
    /// The header at the front of `datagram`, where that is a plain one from `source` to `destination`, and right.
    fn plain(
        _datagram: &mut Message,
        _source: Self::Address,
        _destination: Self::Address,
    ) -> Option<BareHeader<Self::Address>> {
        None
    }
    /// Puts a plain header in front of `data`; of a version that [keeps ways](Self::KEEPS_WAYS).
    fn put_plain(_: &BareHeader<Self::Address>, _data: &mut Message) {}
    /// Reads the header of a datagram that is not all there.
    fn parse_quoted(datagram: &mut Message) -> Option<Self::Header>;
    /// A header before `len` octets; `None` where they are too many.
    fn header(outgoing: &Outgoing<Self>, source: Self::Address, len: usize) -> Option<Self::Header>;
    /// Writes a header.
    fn emit(header: &Self::Header, out: &mut [u8]);
    /// The header as a router passes it on.
    fn onward(header: &Self::Header) -> Self::Header;
    /// Writes what differs from hop to hop.
    fn emit_hop(header: &Self::Header, out: &mut [u8]) {
        Self::emit(header, out);
    }

    // Sending.

    /// Where a unit goes first, and what says where it goes then; `Err` says why it cannot go.
    fn options(to: Self::Address, _: &Parameters) -> Result<(Self::Address, Self::Options), &'static str> {
        Ok((to, Self::Options::default()))
    }
    /// Decides what is open in `outgoing`, which leaves from `source` by `hop`, and completes what it carries; `Err`
    /// says why that cannot be sent.
    fn complete(
        ip: &mut Ip<Self>,
        outgoing: &mut Outgoing<Self>,
        way: (Self::Address, Option<Hop<Self::Address>>),
        data: &mut Message,
    ) -> Result<(), &'static str>;

    // Receiving.

    /// Why nobody may send such a datagram, and what its source is told.
    fn refusal(ip: &Ip<Self>, about: &OriginalDatagram<Self>) -> Option<(&'static str, Option<IcmpError>)>;
    /// Takes a datagram for us.
    fn take_ours(ip: &mut Ip<Self>, about: &OriginalDatagram<Self>, unit: Box<Unit>, cx: &mut Context<'_>);
    /// Whether it is about the link and its neighbours, so that it is for whoever has the interface.
    fn is_of_link(_: &OriginalDatagram<Self>, _datagram: &Message) -> bool {
        false
    }
    /// What a user is told beside [`IpParameters`].
    fn told(_: &Self::Header) -> Parameters {
        Parameters::NONE
    }
    /// Whether somebody else's datagram may go on; counts it where not.
    fn may_pass(ip: &mut Ip<Self>, about: &OriginalDatagram<Self>, datagram: &Message, cx: &mut Context<'_>) -> bool;

    // Fragments.

    /// How much of a datagram a fragment has room for.
    fn room(header: &Self::Header, is_first: bool, mtu: usize) -> usize;
    /// `data` as a fragment that begins `at` octets behind the beginning.
    fn fragment(ip: &mut Ip<Self>, header: &Self::Header, at: usize, more: bool, data: Message) -> Message;
    /// The datagram of whose first fragment this is the header: all of it and its mark, or, without a mark, only that
    /// fragment. `next` is what it carries, where the header does not say that. `None`: it is longer than one can be.
    fn rejoin(header: &mut Self::Header, next: u8, ecn: Option<Ecn>, data: Message) -> Option<Message>;

    // Errors of ICMP.

    /// Writes the header of an error.
    fn emit_icmp(trouble: IcmpError, checksum: u16) -> [u8; 8];
    /// Reads the ICMP header at the front, and takes it off; `Some(None)` where it is of no error that means anything
    /// to us.
    fn pop_icmp(message: &mut Message) -> Option<Option<IcmpError>>;
    /// What ICMP sums before its own octets.
    fn icmp_pseudo(_: &Self::Header, _len: usize) -> Sum {
        Sum::ZERO
    }
    /// Whether an error about it may be sent.
    fn is_answerable(ip: &Ip<Self>, about: &OriginalDatagram<Self>, trouble: IcmpError, datagram: &Message) -> bool;
    /// Whether there is an address of ours for an error about a datagram that went to none.
    fn has_answer(_: &mut Ip<Self>, _: &OriginalDatagram<Self>) -> bool {
        true
    }
    /// The type of service of errors about a datagram with this one.
    fn error_tos(_tos: u8) -> u8 {
        0
    }
    /// What a router's `mtu` means for a datagram of `total` octets; `None` where it is not believed.
    fn believed(mtu: u32, total: u32) -> Option<u32>;
    /// The protocol of a quoted datagram, and where what it carries begins, if that is there.
    fn carried(header: &Self::Header, datagram: &mut Message) -> Option<(u8, Option<usize>)>;
    /// Who the conversation is with that a datagram of ours belonged to.
    fn peer(quoted: &Self::Header) -> Self::Address;
}
