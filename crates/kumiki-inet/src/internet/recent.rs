//! What was found out for the last datagram, each way: the next one is mostly between the same two hosts.
//!
//! Nothing of it is kept beyond anything that it may follow from: whatever is no datagram (a report, a request to manage, a timer) has it
//! forgotten. Where datagrams themselves change ways and neighbours it is not used ([`Family::KEEPS_WAYS`]).

use kumiki_graph::{Address, Context, Unit, UnitOptions};
use kumiki_wire::inet::IpParameters;

use super::errors::push_header;
use super::family::Family;
use super::node::Ip;
use super::route::Hop;
use super::send::{Outgoing, Reach, readdress, wire_len};

/// How a datagram between two addresses leaves: for one neighbour, whose link address is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<F: Family> {
    source: F::Address,
    destination: F::Address,
    hop: Hop<F::Address>,
    link: Address,
    mtu: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Recent<F: Family> {
    /// The last datagram of ours left so.
    sent: Option<Way<F>>,
    /// The last datagram came in by this interface, from and to these addresses, and was for us alone.
    taken: Option<(Option<usize>, F::Address, F::Address)>,
}

impl<F: Family> Default for Recent<F> {
    fn default() -> Self {
        Self { sent: None, taken: None }
    }
}

impl<F: Family> Recent<F> {
    /// Whether a datagram without options that comes so is for us as the last one was.
    pub(super) fn takes(&self, interface: Option<usize>, source: F::Address, destination: F::Address) -> bool {
        self.taken == Some((interface, source, destination))
    }

    /// A datagram without options came so, and was for us alone.
    pub(super) fn on_taken(&mut self, interface: Option<usize>, source: F::Address, destination: F::Address) {
        if F::KEEPS_WAYS {
            self.taken = Some((interface, source, destination));
        }
    }
}

impl<F: Family> Ip<F> {
    /// How a datagram between these leaves, if the last one left so.
    pub(super) fn way_as_before(&self, source: F::Address, destination: F::Address) -> Option<Way<F>> {
        self.recent.sent.filter(|way| way.source == source && way.destination == destination)
    }

    /// A datagram of ours that is for one neighbour left from `source` by `hop`.
    pub(super) fn on_left(&mut self, source: F::Address, destination: F::Address, hop: Hop<F::Address>) {
        let port = self.ports.get(hop.interface).filter(|_| F::KEEPS_WAYS);
        let reach = port.and_then(|port| Some((F::reach(port, hop.next)?, F::mtu(port))));
        self.recent.sent = match reach {
            Some((Reach::At(link), mtu)) => Some(Way { source, destination, hop, link, mtu }),
            Some((Reach::Asked, _)) | None => None,
        };
    }

    /// Sends the data of `unit` by `way`, without options; gives the unit back where it is too long for that.
    pub(super) fn send_as_before(
        &mut self,
        (way, protocol): (Way<F>, u8),
        how: IpParameters,
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) -> Option<Box<Unit>> {
        let Way { source, destination, hop, link, mtu } = way;
        let header_len = F::HEADER_LEN as usize;
        let fits = wire_len(&unit.data) + header_len <= mtu as usize && unit.data.len() <= F::MOST_DATA as usize;
        if !fits {
            return Some(unit);
        }
        let options = F::Options::default();
        let mut outgoing = Outgoing { protocol, source: Some(source), destination, how, options };
        let completed = F::complete(self, &mut outgoing, (source, Some(hop)), &mut unit.data);
        let Some(header) = completed.ok().and_then(|()| F::header(&outgoing, source, unit.data.len())) else {
            return Some(unit);
        };
        push_header::<F>(&header, &mut unit.data);
        let how = IpParameters { tos: outgoing.how.tos, ..IpParameters::NONE };
        readdress(&mut unit, Address::NONE, Address::NONE, UnitOptions::of(how));
        self.down(hop.interface, link, unit, cx);
        None
    }
}
