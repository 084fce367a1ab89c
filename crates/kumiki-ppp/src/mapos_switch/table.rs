//! The table of routes, one for each switch that is known (RFC 2174 section 5.2).

use std::collections::BTreeMap;

use kumiki_graph::Instant;
use kumiki_wire::ppp::mapos::ssp::{self, Metric};
use kumiki_wire::ppp::mapos::{Address, Subnet};

/// A switch. The order is that of its masked address, and so of switch numbers where all have as many bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Destination {
    masked: u32,
    pub(super) subnet: Subnet,
    pub(super) switch: u16,
}

impl Destination {
    /// `switch` has no more bits than `subnet` gives it; of others the rest of the order is arbitrary.
    pub(super) fn new(subnet: Subnet, switch: u16) -> Self {
        let control = subnet.address(switch, 1).map_or(0, u32::from);
        Self { masked: control & subnet.mask(), subnet, switch }
    }
}

/// How a switch is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Route {
    /// By which port; `None` for ourselves.
    pub(super) next_hop: Option<usize>,
    /// 0 to 16.
    pub(super) metric: Metric,
    /// `EXPIRATION` while the switch can be reached, `GC` from then on; none for ourselves.
    pub(super) deadline: Option<Instant>,
    /// Neighbours have not been told yet.
    pub(super) changed: bool,
}

impl Route {
    pub(super) fn is_reachable(&self) -> bool {
        self.metric < Metric::UNREACHABLE
    }
}

/// All routes, our own among them.
#[derive(Debug, Default)]
pub(super) struct Table(BTreeMap<Destination, Route>);

impl Table {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, to: Destination) -> Option<&Route> {
        self.0.get(&to)
    }

    pub(super) fn get_mut(&mut self, to: Destination) -> Option<&mut Route> {
        self.0.get_mut(&to)
    }

    pub(super) fn set(&mut self, to: Destination, route: Route) {
        self.0.insert(to, route);
    }

    pub(super) fn remove(&mut self, to: Destination) {
        self.0.remove(&to);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Destination, &Route)> {
        self.0.iter().map(|(to, route)| (*to, route))
    }

    /// The switch of which `address`, one of a station, is: the reachable one whose number has most bits.
    pub(super) fn find(&self, address: Address) -> Option<(Destination, &Route)> {
        let value = u32::from(address);
        self.iter()
            .filter(|(_, route)| route.is_reachable())
            .filter(|(to, _)| to.subnet.switch(value) == Some(to.switch))
            .max_by_key(|(to, _)| to.subnet.switch_bits())
    }

    /// The virtual source switch: the reachable one with the lowest number (section 4.1).
    pub(super) fn lowest(&self) -> Option<Destination> {
        let mut reachable = self.iter().filter(|(_, route)| route.is_reachable());
        reachable.next().map(|(to, _)| to)
    }

    /// Those of which `which` holds.
    pub(super) fn those(&self, which: impl Fn(&Route) -> bool) -> Vec<Destination> {
        let those = self.iter().filter(|(_, route)| which(route));
        those.map(|(to, _)| to).collect()
    }

    pub(super) fn any_changed(&self) -> bool {
        self.0.values().any(|route| route.changed)
    }

    pub(super) fn all_told(&mut self) {
        for route in self.0.values_mut() {
            route.changed = false;
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.values().filter_map(|route| route.deadline).min()
    }

    /// The entries that a neighbour at `port` is told, of all routes or of the changed ones (section 5.3.1).
    pub(super) fn entries(&self, port: usize, all: bool) -> Vec<ssp::Entry> {
        let told = self.0.iter().filter(|(_, route)| all || route.changed);
        let entry = |(to, route): (&Destination, &Route)| {
            let metric = if route.next_hop == Some(port) { route.metric.poisoned() } else { route.metric };
            ssp::Entry::from(ssp::Route { subnet: to.subnet, switch: to.switch, metric })
        };
        told.map(entry).collect()
    }
}
