//! A datagram is checked; then it is ours, a fragment of ours, or somebody else's.

use kumiki_graph::{Address, Below, Context, Indication, Key, Unit, UnitOptions};
use kumiki_octets::Message;
use kumiki_wire::inet::IpParameters;
use kumiki_wire::numbering::IP_PROTOCOL;

use super::errors::{HOPS, IcmpError, OriginalDatagram};
use super::family::{Family, HeaderFields};
use super::node::Ip;
use super::route::place_of;
use super::send::{SendError, readdress};
use crate::IpProtocol;

impl<F: Family> Ip<F> {
    pub(super) fn receive(&mut self, from: Below, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        if let Some(user) = self.receive_as_before(from, &mut unit) {
            return cx.up(user, Indication::Unit(unit));
        }
        self.counters.in_receives += 1;
        let interface = self.by_below.get(usize::from(from.0)).copied();
        self.take(interface, unit.options.group, unit, cx);
    }

    /// Takes the datagram in `unit`, which came in by `interface`, or from ourselves.
    pub(super) fn take(
        &mut self,
        interface: Option<usize>,
        link_group: bool,
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) {
        let datagram = &mut unit.data;
        let Some(header) = F::parse(datagram) else {
            self.counters.in_hdr_errors += 1;
            // Who has one link for both versions of IP sends us those of the other, too.
            let (other, is_of_it) = F::NAMES.other;
            let is_other = datagram.front_at_least(1).first().is_some_and(|octet| octet >> 4 == other);
            cx.drop(if is_other { is_of_it } else { "header or length wrong" });
            return;
        };
        let HeaderFields { source, destination, .. } = F::facts(&header);
        if self.any_destination
            && let Some(interface) = interface
        {
            F::met(self, interface, (source, unit.source), cx);
        }
        let is_alone = self.host.is_none() && !self.any_destination && !link_group && F::is_plain(&header);
        let datagram = &mut unit.data;
        let group = link_group || F::is_group(self, destination);
        let about = OriginalDatagram { header, group, interface, reassembled: false };
        if self.host.is_some() && self.host == interface {
            self.send_for_host(&about, unit, cx);
        } else if let Some((why, trouble)) = F::refusal(self, &about) {
            self.refuse_address(why, cx);
            if let Some(trouble) = trouble {
                self.error(&about, trouble, datagram, cx);
            }
        } else if let Some(host) = self.host.filter(|_| self.is_for_host(&about, &unit.data)) {
            self.counters.in_delivers += 1;
            self.down(host, Address::NONE, unit, cx);
        } else if interface.is_none() || F::listens_to(self, destination) || self.any_destination && !group {
            if is_alone && !group {
                self.recent.on_taken(interface, source, destination);
            }
            F::take_ours(self, &about, unit, cx);
        } else if self.forwarding && !group {
            self.forward(&about, unit, cx);
        } else {
            // Hosts must be silent about datagrams that are not theirs (RFC 1122 section 3.2.1.3).
            self.refuse_address("not ours", cx);
        }
    }

    pub(crate) fn refuse_address(&mut self, why: &'static str, cx: &mut Context<'_>) {
        self.counters.in_addr_errors += 1;
        cx.drop(why);
    }

    /// Hands what a whole datagram carries, which begins at `at`, to the user of `protocol`; gives the datagram back
    /// where there is none.
    pub(crate) fn hand_up(
        &mut self,
        about: &OriginalDatagram<F>,
        (protocol, at): (u8, usize),
        mut unit: Box<Unit>,
        cx: &mut Context<'_>,
    ) -> Result<(), Box<Unit>> {
        let Some(user) = self.users.find(IpProtocol(protocol)) else {
            return Err(unit);
        };
        let HeaderFields { source, destination, how, .. } = F::facts(&about.header);
        // The headers were read, so they are there.
        let _ = unit.data.pop_header(at);
        self.counters.in_delivers += 1;
        let under = Some(Key::of(IP_PROTOCOL, protocol.into()));
        let how = IpParameters { interface: about.interface.and_then(place_of), ..how };
        let options = UnitOptions { group: about.group, under, ..UnitOptions::of(how) };
        readdress(&mut unit, source.into(), destination.into(), options);
        unit.parameters = F::told(&about.header);
        cx.up(user, Indication::Unit(unit));
        Ok(())
    }

    /// Sends somebody else's datagram on (RFC 1812 section 5.3, RFC 8200 section 3).
    fn forward(&mut self, about: &OriginalDatagram<F>, mut unit: Box<Unit>, cx: &mut Context<'_>) {
        let HeaderFields { destination, how, len, .. } = F::facts(&about.header);
        if !F::may_pass(self, about, &unit.data, cx) {
            return;
        }
        if how.ttl <= 1 {
            cx.drop(F::NAMES.hops_exceeded);
            self.error(about, IcmpError::TimeExceeded(HOPS), &unit.data, cx);
            return;
        }
        let Some(hop) = F::hop(self, destination, None, None) else {
            self.count(SendError::NoRoute, cx);
            self.error(about, IcmpError::Unreachable(F::NAMES.no_route), &unit.data, cx);
            return;
        };
        // It was read from there, so it is there.
        let write = |header, data: &mut Message| data.front_mut(len).map(|front| F::emit_hop(header, front));
        let onward = F::onward(&about.header);
        let _ = write(&onward, &mut unit.data);
        match self.transmit(&onward, hop, (u32::MAX, how.dont_fragment || !F::ROUTERS_CUT), unit, cx) {
            Ok(()) => self.counters.forw_datagrams += 1,
            Err((refused, mut unit)) => {
                self.count(refused, cx);
                // Quoted as it came.
                let _ = write(&about.header, &mut unit.data);
                if let Some(trouble) = refused.trouble::<F>() {
                    self.error(about, trouble, &unit.data, cx);
                }
            }
        }
    }
}
