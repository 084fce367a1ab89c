//! What was found out for the last datagram, each way: the next one is mostly between the same two hosts.
//!
//! Nothing of it is kept beyond anything that it may follow from: whatever is no datagram (a report, a request to
//! manage, a timer) has it forgotten. What is as the last one was goes through IP on a path
//! ([`Protocol::pop_through`](kumiki_graph::Protocol::pop_through)). Where datagrams themselves change ways and
//! neighbours it is not used ([`Family::KEEPS_WAYS`]).

use kumiki_graph::{Above, Address, Below, Key, Unit, UnitOptions};
use kumiki_wire::inet::IpParameters;
use kumiki_wire::numbering::IP_PROTOCOL;

use super::family::Family;
use super::node::Ip;
use super::route::{Hop, place_of};
use super::send::{LinkDestination, Outgoing, readdress, wire_len};
use crate::IpProtocol;

/// How a datagram between two addresses leaves: for one neighbour, whose link address is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedRoute<F: Family> {
    source: F::Address,
    destination: F::Address,
    hop: Hop<F::Address>,
    link: Address,
    mtu: u32,
    below: Below,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Recent<F: Family> {
    /// The last datagram of ours left so.
    sent: Option<CachedRoute<F>>,
    /// The last datagram came in by this interface, from and to these addresses, and was for us alone.
    taken: Option<(Option<usize>, F::Address, F::Address)>,
}

impl<F: Family> Default for Recent<F> {
    fn default() -> Self {
        Self { sent: None, taken: None }
    }
}

impl<F: Family> Recent<F> {
    /// A datagram without options came so, and was for us alone.
    pub(super) fn on_taken(&mut self, interface: Option<usize>, source: F::Address, destination: F::Address) {
        if F::KEEPS_WAYS {
            self.taken = Some((interface, source, destination));
        }
    }
}

/// A header without options in front of a whole datagram, which ends where the header says.
#[derive(Clone, Copy, Debug)]
pub struct BareHeader<A> {
    pub(crate) protocol: u8,
    pub(crate) source: A,
    pub(crate) destination: A,
    /// How it travels.
    pub(crate) how: IpParameters,
}

impl<F: Family> Ip<F> {
    /// A datagram of ours that is for one neighbour left from `source` by `hop`.
    pub(super) fn on_left(&mut self, source: F::Address, destination: F::Address, hop: Hop<F::Address>) {
        let port = self.ports.get(hop.interface).filter(|_| F::KEEPS_WAYS);
        let reach = port.and_then(|port| Some((F::reach(port, hop.next)?, F::mtu(port), port.below?)));
        self.recent.sent = match reach {
            Some((LinkDestination::At(link), mtu, below)) => {
                Some(CachedRoute { source, destination, hop, link, mtu, below })
            }
            Some((LinkDestination::Asked, ..)) | None => None,
        };
    }

    /// Makes a datagram of a user's `unit` that is between the same two as the last one, and needs no options and no
    /// cutting; says by which layer it goes. Anything else is left as it is.
    #[inline]
    pub(super) fn send_as_before(&mut self, from: Above, unit: &mut Unit) -> Option<Below> {
        let CachedRoute { source, destination, hop, link, mtu, below } = *self.recent.sent.as_ref()?;
        let is_so = unit.destination.get() == Some(destination)
            && unit.source.get() == Some(source)
            && unit.parameters.is_none()
            && IpParameters::from(unit.options.special).interface.is_none();
        let header_len = F::HEADER_LEN as usize;
        let fits = wire_len(&unit.data) + header_len <= mtu as usize && unit.data.len() <= F::MOST_DATA as usize;
        if !is_so || !fits {
            return None;
        }
        let IpProtocol(protocol) = self.users.number(from, unit.options.under)?;
        let (how, options) = (unit.options.special.into(), F::Options::default());
        let mut outgoing = Outgoing { protocol, source: Some(source), destination, how, options };
        F::complete(self, &mut outgoing, (source, Some(hop)), &mut unit.data).ok()?;
        let how = outgoing.how;
        F::put_plain(&BareHeader { protocol, source, destination, how }, &mut unit.data);
        self.counters.out_requests += 1;
        let how = IpParameters { tos: how.tos, ..IpParameters::NONE };
        readdress(unit, Address::NONE, Address::NONE, UnitOptions::of(how));
        unit.destination = link;
        Some(below)
    }

    /// Takes the header off a datagram in `unit`, which came by `from` between the same two as the last one and is for
    /// us alone; says for which user it is. Anything else is left as it is.
    #[inline]
    pub(super) fn receive_as_before(&mut self, from: Below, unit: &mut Unit) -> Option<Above> {
        let (interface, source, destination) = self.recent.taken?;
        let is_so = interface == self.by_below.get(usize::from(from.0)).copied()
            && !unit.options.group
            && !self.any_destination
            && self.host.is_none();
        let plain = if is_so { F::plain(&mut unit.data, source, destination)? } else { return None };
        // Some of ICMP's messages are for us ourselves.
        let user = self.users.find(IpProtocol(plain.protocol)).filter(|_| plain.protocol != F::NAMES.icmp)?;
        // The header was read, so it is there.
        let _ = unit.data.pop_header(F::HEADER_LEN as usize);
        self.counters.in_receives += 1;
        self.counters.in_delivers += 1;
        let under = Some(Key::of(IP_PROTOCOL, plain.protocol.into()));
        let how = IpParameters { interface: interface.and_then(place_of), ..plain.how };
        let options = UnitOptions { under, ..UnitOptions::of(how) };
        readdress(unit, source.into(), destination.into(), options);
        Some(user)
    }
}
