//! A user's unit becomes a datagram.

use kumiki_graph::{Above, Address, Context, Indication, Parameters, Problem, Report, Request, Unit, UnitOptions};
use kumiki_octets::{Checksum, Message};
use kumiki_wire::inet::IpParameters;

use super::errors::{IcmpError, push_header};
use super::family::{Family, HeaderFields};
use super::node::Ip;
use super::route::{Bits, Hop};
use crate::IpProtocol;

/// A datagram of ours that is to be.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<F: Family> {
    pub(crate) protocol: u8,
    /// `None`: that which goes with its way.
    pub(crate) source: Option<F::Address>,
    pub(crate) destination: F::Address,
    pub(crate) how: IpParameters,
    pub(crate) options: F::Options,
}

/// How the link address of a next hop is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkDestination {
    /// It is known.
    At(Address),
    /// The neighbour is asked for it.
    Asked,
}

/// Why a datagram did not leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendError {
    /// No route, or none that is up.
    NoRoute,
    /// The next hop's link address is not known.
    NoNeighbour,
    /// It must not be fragmented, and is longer than this.
    TooBig(u32),
    /// It cannot be sent in any way.
    Impossible(&'static str),
}

/// A user's unit that did not leave.
#[derive(Debug)]
pub(crate) struct Unsent<F: Family> {
    refused: SendError,
    /// The source that it was to have, if one was found.
    source: Option<F::Address>,
    unit: Box<Unit>,
}

impl<F: Family> Ip<F> {
    pub(super) fn send(&mut self, from: Above, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if let Some(below) = self.send_as_before(from, &mut unit) {
            return cx.down(below, Request::Unit(unit));
        }
        self.counters.out_requests += 1;
        let Some(destination) = unit.destination.get::<F::Address>() else {
            self.discard(F::NAMES.not_an_address, cx);
            return;
        };
        let Some(IpProtocol(protocol)) = self.users.number(from, unit.options.under) else {
            self.discard("no protocol number", cx);
            return;
        };
        let source: Option<F::Address> = unit.source.get();
        let is_open = unit.source.is_none() || source == Some(F::Address::UNSPECIFIED);
        let how: IpParameters = unit.options.special.into();
        // Who has no address on an interface yet says so (RFC 1122 section 3.2.1.3 (a)); other addresses of ours are
        // not meant.
        let is_nobody = source.is_some() && is_open && how.interface.is_some() && F::may_come_from_nobody(destination);
        let source = source.filter(|_| !is_open || is_nobody);
        if !is_open && !source.is_some_and(|it| self.speaks_for(it)) {
            self.discard("source is not ours", cx);
            return;
        }
        let (destination, options) = match F::options(destination, &unit.parameters) {
            Ok(found) => found,
            Err(why) => return self.discard(why, cx),
        };
        let sent = self.originate(Outgoing { protocol, source, destination, how, options }, unit, cx);
        if let Err(unsent) = sent
            && let Some(trouble) = unsent.refused.trouble::<F>()
        {
            let problem = match unsent.refused {
                SendError::NoRoute => Problem::NoRoute,
                SendError::NoNeighbour | SendError::TooBig(_) | SendError::Impossible(_) => trouble.problem::<F>(),
            };
            let Unit { destination, data: mut start, .. } = *unsent.unit;
            start.truncate(F::SHOWN);
            let source = unsent.source.map_or(Address::NONE, Address::from);
            let report = Report::Unreachable { source, destination, problem, start };
            cx.up(from, Indication::Report(Box::new(report)));
        }
    }

    /// Sends the data of `unit` in a datagram of our own, and gives the unit back as it was where it did not leave.
    pub(super) fn originate(
        &mut self,
        mut outgoing: Outgoing<F>,
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) -> Result<(), Unsent<F>> {
        let destination = outgoing.destination;
        let local = self.is_local(destination);
        let hop = F::hop(self, destination, outgoing.source, outgoing.how.interface.map(usize::from));
        let chosen = match (outgoing.source, local, hop) {
            (Some(source), ..) => Some(source),
            (None, true, _) => Some(destination),
            (None, false, hop) => hop.and_then(|hop| F::select(self, hop, destination)),
        };
        let header = chosen.ok_or(SendError::NoRoute).and_then(|source| {
            let completed = F::complete(self, &mut outgoing, (source, hop), &mut unit.data);
            completed.map_err(SendError::Impossible)?;
            F::header(&outgoing, source, unit.data.len()).ok_or(SendError::Impossible("longer than a datagram can be"))
        });
        let header = match header {
            Ok(header) => header,
            Err(refused) => {
                self.count(refused, cx);
                return Err(Unsent { refused, source: chosen, unit });
            }
        };
        push_header::<F>(&header, &mut unit.data);
        if local {
            self.loop_back(unit, cx);
            return Ok(());
        }
        if outgoing.how.to_ourselves && F::is_group(self, destination) && F::listens_to(self, destination) {
            self.loop_back(Box::new(Unit::of(unit.data.clone())), cx);
        }
        let sent = match hop {
            Some(hop) => {
                if let Some(source) = outgoing.source
                    && F::is_plain(&header)
                    && outgoing.how.interface.is_none()
                    && !F::is_group(self, destination)
                {
                    self.on_left(source, destination, hop);
                }
                let path = F::path_mtu(self, destination, cx.now());
                self.transmit(&header, hop, (path, outgoing.how.dont_fragment), unit, cx)
            }
            None => Err((SendError::NoRoute, unit)),
        };
        sent.map_err(|(refused, mut unit)| {
            self.count(refused, cx);
            let _ = unit.data.pop_header(F::facts(&header).len);
            Unsent { refused, source: chosen, unit }
        })
    }

    /// For ourselves: never on a wire (RFC 1122 section 3.2.1.3 (g)).
    fn loop_back(&mut self, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if matches!(unit.data.meta().checksum, Checksum::Partial { .. }) {
            unit.data.meta_mut().checksum = Checksum::Verified;
        }
        self.counters.in_receives += 1;
        self.take(None, false, unit, cx);
    }

    /// Sends the datagram in `unit`, which begins with `header`, to the next hop; gives it back where it cannot. Where
    /// it is longer than the interface or `path` carries it goes in pieces, unless it is to stay `whole`.
    pub(super) fn transmit(
        &mut self,
        header: &F::Header,
        hop: Hop<F::Address>,
        (path, whole): (u32, bool),
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) -> Result<(), (SendError, Box<Unit>)> {
        let Some(port) = self.ports.get(hop.interface).filter(|port| port.below.is_some()) else {
            return Err((SendError::NoRoute, unit));
        };
        let mtu = F::mtu(port).min(path);
        let Some(reach) = F::reach(port, hop.next) else {
            return Err((SendError::NoNeighbour, unit));
        };
        let HeaderFields { destination, how, .. } = F::facts(header);
        let group = F::is_group(self, destination);
        let how = IpParameters { tos: how.tos, ..IpParameters::NONE };
        let options = UnitOptions { group, ..UnitOptions::of(how) };
        if wire_len(&unit.data) <= mtu as usize {
            readdress(&mut unit, Address::NONE, Address::NONE, options);
            self.hand_down(hop, reach, unit, cx);
            return Ok(());
        }
        if whole {
            self.counters.frag_fails += 1;
            return Err((SendError::TooBig(mtu), unit));
        }
        let pieces = match self.cut(header, &mut unit.data, mtu as usize, cx) {
            Ok(pieces) => pieces,
            Err(refused) => return Err((refused, unit)),
        };
        for data in pieces {
            self.hand_down(hop, reach, Box::new(Unit { options, ..Unit::of(data) }), cx);
        }
        Ok(())
    }

    /// Gives the datagram in `unit` to the layer below, at once or when the next hop's link address is known.
    pub(crate) fn hand_down(
        &mut self,
        hop: Hop<F::Address>,
        reach: LinkDestination,
        unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) {
        match reach {
            LinkDestination::At(link) => self.down(hop.interface, link, unit, cx),
            LinkDestination::Asked => F::ask(self, hop, unit, cx),
        }
    }

    /// Gives the datagram in `unit` to the layer below, for `link`.
    pub(crate) fn down(&self, interface: usize, link: Address, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if let Some(below) = self.ports.get(interface).and_then(|port| port.below) {
            unit.destination = link;
            cx.down(below, Request::Unit(unit));
        }
    }

    /// Counts a datagram that did not leave.
    pub(super) fn count(&mut self, refused: SendError, cx: &mut Context<'_>) {
        match refused {
            SendError::NoRoute => {
                self.counters.out_no_routes += 1;
                cx.drop("no route");
            }
            SendError::NoNeighbour => self.discard("next hop's link address not known", cx),
            SendError::TooBig(_) => cx.drop("too big and not to be fragmented"),
            SendError::Impossible(why) => self.discard(why, cx),
        }
    }

    fn discard(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.out_discards += 1;
        cx.drop(why);
    }
}

impl SendError {
    /// What whoever sent the datagram is told.
    pub(super) const fn trouble<F: Family>(self) -> Option<IcmpError> {
        match self {
            Self::NoRoute => Some(IcmpError::Unreachable(F::NAMES.no_route)),
            Self::NoNeighbour => Some(IcmpError::Unreachable(F::NAMES.no_neighbour)),
            Self::TooBig(mtu) => Some(IcmpError::TooBig(mtu)),
            Self::Impossible(_) => None,
        }
    }
}

/// How long the longest datagram is that will be on the wire.
pub(super) fn wire_len(datagram: &Message) -> usize {
    let meta = datagram.meta();
    if meta.segment_size == 0 {
        return datagram.len();
    }
    let segment = usize::from(meta.header_len) + usize::from(meta.segment_size);
    segment.min(datagram.len())
}

/// Sets again what goes with the data of `unit`. Who hands a unit on hands on its box: a new one for each layer would
/// be two allocations for each packet.
#[inline]
pub(crate) fn readdress(unit: &mut Unit, source: Address, destination: Address, options: UnitOptions) {
    unit.source = source;
    unit.destination = destination;
    unit.session = None;
    unit.options = options;
    unit.parameters = Parameters::NONE;
}
