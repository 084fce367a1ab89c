//! Addresses and ways that come and go while IP runs.

use kumiki_graph::users::tell_all;
use kumiki_graph::{Address, Context, Manage, Report, Request};

use super::family::Family;
use super::node::Ip;
use super::route::Bits;
use crate::{AssignedRoute, Assignment, Authority, Change};

/// A route that was given while IP ran: network, prefix, interface, router.
pub(crate) type AddedRoute<A> = (A, u8, usize, Option<A>);

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
            Change::Route(way) => self.take_way(what, way),
            Change::NoRoute(way) => self.give_way(what, way),
            Change::Mtu(mtu) => self.narrow_interface(what, mtu, cx),
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
        let Some(address) = possible.filter(|it| what.by != Authority::Owner || !F::is_ours(self, *it)) else {
            cx.drop("an address that is ours, or can be no host's");
            return;
        };
        if F::is_ours(self, address) {
            // Whoever has granted it has to hear that it is there; or that it is on another interface, with which it
            // would come and go.
            let is_here = self.ports.get(what.interface).is_some_and(|port| F::has(port, address));
            let is_twice = what.by == Authority::Server && !is_here;
            let told = if let Change::Address { address, .. } = what.change
                && is_twice
            {
                Assignment { change: Change::Duplicate(address), ..what }
            } else {
                what
            };
            self.tell(told, cx);
            return;
        }
        if probe && self.tell_below(what, cx) {
            return;
        }
        let Some(is_ours) = F::add(self, what.interface, (address, prefix), what.by, cx) else {
            return;
        };
        self.routes.add_late(address, prefix, what.interface, None);
        if what.by != Authority::Owner {
            self.lent.push((what.interface, address, what.by));
        }
        if is_ours {
            self.tell_below(what, cx);
            self.tell(what, cx);
        }
    }

    fn give_address(&mut self, what: Assignment, address: Option<F::Address>, cx: &mut Context<'_>) -> bool {
        let Some(address) = address else {
            return false;
        };
        let is_lent = self.lent.contains(&(what.interface, address, what.by));
        if what.by != Authority::Owner && !is_lent && F::is_ours(self, address) {
            return false;
        }
        self.lent.retain(|(interface, lent, _)| (*interface, *lent) != (what.interface, address));
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

    fn take_way(&mut self, Assignment { interface, by, .. }: Assignment, way: AssignedRoute) -> bool {
        let Some(given) = given_of::<F>(interface, way) else {
            return false;
        };
        if let Some((_, of)) = self.given.iter_mut().find(|(it, _)| *it == given) {
            // It is whoever's has the host from now on, if that is who says so.
            *of = if by == Authority::Owner { by } else { *of };
            return false;
        }
        self.given.push((given, by));
        let (network, prefix, _, router) = given;
        self.routes.add_late(network, prefix, interface, router);
        true
    }

    fn give_way(&mut self, Assignment { interface, by, .. }: Assignment, way: AssignedRoute) -> bool {
        let given = given_of::<F>(interface, way);
        let may = |of: Authority| of == by || by == Authority::Owner;
        let known = self.given.iter().position(|(it, of)| Some(*it) == given && may(*of));
        let Some(((network, prefix, interface, router), _)) = known.map(|at| self.given.remove(at)) else {
            return false;
        };
        self.routes.remove(network, prefix, interface, router);
        true
    }

    fn narrow_interface(
        &mut self,
        Assignment { interface, by, .. }: Assignment,
        mtu: Option<u32>,
        cx: &mut Context<'_>,
    ) -> bool {
        if mtu.is_some_and(|it| it < F::Address::LEAST_MTU) {
            return false;
        }
        let Some(port) = self.ports.get_mut(interface) else {
            return false;
        };
        let has_changed = port.wish(by, mtu);
        if has_changed {
            self.tell_curious(cx);
        }
        has_changed
    }
}

/// `way` by `interface`, bits beyond its prefix cleared; `None` where it is of another version.
fn given_of<F: Family>(interface: usize, way: AssignedRoute) -> Option<AddedRoute<F::Address>> {
    let network: F::Address = Address::from(way.network).get()?;
    let router = match way.router {
        Some(router) => Some(Address::from(router).get()?),
        None => None,
    };
    let network = F::Address::of_word(network.word() & F::Address::mask(way.prefix));
    (way.prefix <= F::Address::LEN).then_some((network, way.prefix, interface, router))
}
