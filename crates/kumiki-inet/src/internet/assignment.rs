//! Addresses and ways that come and go while IP runs.

use kumiki_graph::users::tell_all;
use kumiki_graph::{Address, Context, Manage, Report, Request};

use super::family::Family;
use super::node::Ip;
use super::route::Bits;
use crate::{Assignment, Change, Way};

/// A route that was given while IP ran: network, prefix, interface, router.
pub(crate) type Given<A> = (A, u8, usize, Option<A>);

impl<F: Family> Ip<F> {
    /// Does what `what` asks for, and tells it where it has happened.
    pub(super) fn assign(&mut self, what: Assignment, cx: &mut Context<'_>) {
        if what.interface >= self.ports.len() || self.host == Some(what.interface) {
            cx.drop("no such interface");
            return;
        }
        let has_changed = match what.change {
            Change::Address { address, prefix, probe } => {
                return self.take_address(what, (Address::from(address).get(), prefix), probe, cx);
            }
            Change::NoAddress(address) => self.give_address(what, Address::from(address).get(), cx),
            Change::Route(way) => self.give_way(what.interface, way, true),
            Change::NoRoute(way) => self.give_way(what.interface, way, false),
            Change::Mtu(mtu) => self.narrow_interface(what.interface, mtu, cx),
            Change::Duplicate(_) => false,
        };
        if has_changed {
            self.tell(what, cx);
        }
    }

    /// Tells all users what has happened.
    pub(crate) fn tell(&self, what: Assignment, cx: &mut Context<'_>) {
        tell_all(&Report::special(what), cx);
    }

    fn take_address(
        &mut self,
        what: Assignment,
        (address, prefix): (Option<F::Address>, u8),
        probe: bool,
        cx: &mut Context<'_>,
    ) {
        let possible = address.filter(|it| prefix <= F::Address::LEN && F::is_host(self, *it));
        let Some(address) = possible.filter(|it| !F::is_ours(self, *it)) else {
            cx.drop("an address that is ours, or can be no host's");
            return;
        };
        if probe && self.tell_below(what, cx) {
            return;
        }
        let Some(is_ours) = F::add(self, what.interface, (address, prefix), what.by, cx) else {
            return;
        };
        self.routes.add(address, prefix, what.interface, None);
        if is_ours {
            self.tell_below(what, cx);
            self.tell(what, cx);
        }
    }

    fn give_address(&mut self, what: Assignment, address: Option<F::Address>, cx: &mut Context<'_>) -> bool {
        let Some(address) = address else {
            return false;
        };
        // It may still be asked about there.
        self.tell_below(what, cx);
        let Some(prefix) = F::remove(self, what.interface, address) else {
            return false;
        };
        self.routes.remove(address, prefix, what.interface, None);
        true
    }

    /// The layer below answers for our addresses, where it knows neighbours. Whether it does.
    fn tell_below(&self, what: Assignment, cx: &mut Context<'_>) -> bool {
        let port = self.ports.get(what.interface).filter(|port| F::is_resolved_below(port));
        let Some(below) = port.and_then(|port| port.below) else {
            return false;
        };
        cx.down(below, Request::Manage(Box::new(Manage::special(what))));
        true
    }

    /// What the layer below has found out about an address that it was asked for.
    pub(super) fn found_out(&mut self, interface: usize, what: Assignment, cx: &mut Context<'_>) {
        let what = Assignment { interface, ..what };
        match what.change {
            Change::Address { .. } => self.assign(what, cx),
            Change::Duplicate(_) => self.tell(what, cx),
            Change::NoAddress(_) | Change::Route(_) | Change::NoRoute(_) | Change::Mtu(_) => {}
        }
    }

    fn give_way(&mut self, interface: usize, way: Way, is_there: bool) -> bool {
        let Some((network, router)) = way_of::<F>(way) else {
            return false;
        };
        let given = (network, way.prefix, interface, router);
        let known = self.given.iter().position(|it| *it == given);
        match known {
            None if is_there => {
                self.given.push(given);
                self.routes.add(network, way.prefix, interface, router);
                true
            }
            Some(at) if !is_there => {
                self.given.remove(at);
                self.routes.remove(network, way.prefix, interface, router);
                true
            }
            None | Some(_) => false,
        }
    }

    fn narrow_interface(&mut self, interface: usize, mtu: Option<u32>, cx: &mut Context<'_>) -> bool {
        if mtu.is_some_and(|it| it < F::Address::LEAST_MTU) {
            return false;
        }
        let Some(port) = self.ports.get_mut(interface) else {
            return false;
        };
        let has_changed = port.wish(mtu);
        if has_changed {
            self.tell_curious(cx);
        }
        has_changed
    }
}

/// The network, bits beyond its prefix cleared, and the router of `way`; `None` where they are of another version.
fn way_of<F: Family>(way: Way) -> Option<(F::Address, Option<F::Address>)> {
    let network: F::Address = Address::from(way.network).get()?;
    let router = match way.router {
        Some(router) => Some(Address::from(router).get()?),
        None => None,
    };
    let network = F::Address::of_word(network.word() & F::Address::mask(way.prefix));
    (way.prefix <= F::Address::LEN).then_some((network, router))
}
