//! A host that is elsewhere: another kernel has its addresses, behind one of the interfaces, and this only finds the
//! way for it.
//!
//! Its datagrams are passed on as they are, in both directions, fragments too, and no hop is counted: on the network it
//! looks as if its own layers stood here. What is about a link and its neighbours stays here, and so does the
//! forwarding of what is for others.

use kumiki_graph::{Context, Unit};
use kumiki_octets::Message;

use super::errors::OriginalDatagram;
use super::family::{Family, HeaderFields};
use super::node::{Ip, Port};
use super::route::Bits;
use super::send::SendError;

/// No datagram is too long for it: how long those are that it sends is said by the other interfaces.
const MTU: u32 = 65535;

impl<F: Family> Ip<F> {
    /// From here on the host is behind the layer `below`.
    pub(crate) fn stand_for(&mut self, below: &str, own: F::LocalAddresses, link: F::Link) {
        self.host = Some(self.ports.len());
        self.ports.push(Port::new(below, MTU, own, link));
    }

    /// Whether what has come from a network, or from ourselves, is for the host to see.
    pub(super) fn is_for_host(&self, about: &OriginalDatagram<F>, datagram: &Message) -> bool {
        let HeaderFields { destination, .. } = F::facts(&about.header);
        // Which groups it is in only the host knows.
        let is_its =
            about.group || F::listens_to(self, destination) || self.any_destination || destination.is_loopback();
        is_its && !(about.interface.is_some() && F::is_of_link(about, datagram))
    }

    /// Sends what the host has sent: as what is ours, and as it is.
    pub(super) fn send_for_host(&mut self, about: &OriginalDatagram<F>, unit: Box<Unit>, cx: &mut Context<'_>) {
        self.counters.out_requests += 1;
        let HeaderFields { source, destination, how, .. } = F::facts(&about.header);
        let hop = F::hop(self, destination, Some(source), None).filter(|hop| self.host != Some(hop.interface));
        let sent = match hop {
            Some(hop) => {
                let whole = how.dont_fragment || !F::ROUTERS_CUT;
                self.transmit(&about.header, hop, (u32::MAX, whole), unit, cx)
            }
            None => Err((SendError::NoRoute, unit)),
        };
        if let Err((refused, unit)) = sent {
            self.count(refused, cx);
            if let Some(trouble) = refused.trouble::<F>() {
                self.error(about, trouble, &unit.data, cx);
            }
        }
    }
}
