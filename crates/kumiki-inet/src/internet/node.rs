//! The node: its interfaces, its users, and what both ask and report.

use kumiki_graph::users::{Users, tell_all};
use kumiki_graph::{
    Above, Address, Below, Bucket, Context, Indication, Instant, Key, Manage, Problem, Protocol, Rate, Report, Request,
    Service, Shape, TimerSlot, Token, Unit, UnitIndication, UnitRequest,
};

use super::assignment::AddedRoute;
use super::counters::Counters;
use super::family::Family;
use super::fragments::{FragmentHead, FragmentKey};
use super::reassembly::{Reassembly, Table};
use super::recent::Recent;
use super::route::{Bits, Routes};
use super::static_routes::names;
use crate::Authority;
use crate::dhcp::GiveBack;
use crate::groups::Groups;
use crate::{Assignment, InterfaceState, IpProtocol, LinkAddresses, Resolvers};

/// The kind of the timer of reassembly; a version has others for its own.
pub(super) const REASSEMBLY_TIMER: u32 = 0;

/// An interface at work.
#[derive(Debug)]
pub struct Port<F: Family> {
    /// The name of the layer below.
    name: String,
    pub(crate) below: Option<Below>,
    /// The largest datagram as configured.
    most: u32,
    /// As those have said while it ran who may.
    wished: [Option<u32>; Authority::COUNT],
    /// As the layer below says.
    carried: u32,
    /// The largest datagram, as configured and as the layer below says.
    pub(crate) mtu: u32,
    burst: u32,
    pub(crate) up: bool,
    pub(crate) own: F::LocalAddresses,
    pub(crate) link: F::Link,
}

impl<F: Family> Port<F> {
    /// On the layer `below`, for datagrams of `mtu` octets.
    pub(crate) fn new(below: &str, mtu: u32, own: F::LocalAddresses, link: F::Link) -> Self {
        Self {
            name: below.to_owned(),
            below: None,
            most: mtu,
            wished: [None; Authority::COUNT],
            carried: u32::MAX,
            mtu,
            burst: 1,
            up: true,
            own,
            link,
        }
    }

    /// Somebody says how large datagrams may be; whether that changes anything.
    pub(super) fn wish(&mut self, by: Authority, mtu: Option<u32>) -> bool {
        if let Some(wished) = self.wished.get_mut(by.place()) {
            *wished = mtu;
        }
        let before = self.mtu;
        self.settle_mtu();
        self.mtu != before
    }

    fn settle_mtu(&mut self) {
        let wished = self.wished.iter().flatten().copied().min().unwrap_or(self.most);
        self.mtu = wished.min(self.most).min(self.carried);
    }
}

/// The protocol, in one of its versions: [`crate::ip`] or [`crate::ipv6`].
#[derive(Debug)]
pub struct Ip<F: Family> {
    /// One for each interface of the configuration.
    pub(crate) ports: Vec<Port<F>>,
    /// Which interface each layer below is.
    pub(super) by_below: Vec<usize>,
    pub(crate) routes: Routes<F::Address>,
    /// Those of them that came while it ran.
    pub(crate) given: Vec<(AddedRoute<F::Address>, Authority)>,
    /// Addresses that others than whoever has the host have given, by their interfaces.
    pub(super) lent: Vec<(usize, F::Address, Authority)>,
    pub(crate) forwarding: bool,
    /// Datagrams to all addresses are ours.
    pub(crate) any_destination: bool,
    /// The interface behind which the host itself is, where this only stands for it.
    pub(super) host: Option<usize>,
    /// Who is found under which protocol number.
    pub(super) users: Users<IpProtocol>,
    /// Who asked for limits, and is told when they change.
    curious: Vec<Above>,
    /// Groups that the configuration names.
    pub(crate) configured: Vec<F::Address>,
    /// Groups that users are in, beside those.
    groups: Groups<F::Address>,
    pub(super) reassembly: Table<FragmentKey<F::Address>, FragmentHead<F>>,
    pub(super) reassembly_timer: TimerSlot,
    pub(super) bucket: Bucket,
    /// Counts datagrams, from a random start.
    pub(crate) identification: u32,
    pub(crate) counters: Counters,
    pub(crate) state: F::State,
    pub(super) recent: Recent<F>,
}

impl<F: Family> Ip<F> {
    /// A host that is in no group; `bounds` are those of reassembly and of the errors of ICMP.
    pub(crate) fn of(
        ports: Vec<Port<F>>,
        routes: Routes<F::Address>,
        (reassembly, errors): (Reassembly, Rate),
        state: F::State,
    ) -> Self {
        Self {
            ports,
            by_below: Vec::new(),
            routes,
            given: Vec::new(),
            lent: Vec::new(),
            forwarding: false,
            any_destination: false,
            host: None,
            users: Users::default(),
            curious: Vec::new(),
            configured: Vec::new(),
            groups: Groups::default(),
            reassembly: Table::new(reassembly, F::OVERLAP),
            reassembly_timer: TimerSlot::default(),
            bucket: Bucket::new(errors),
            identification: 0,
            counters: Counters::default(),
            state,
            recent: Recent::default(),
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Octets held in incomplete datagrams, with what keeping each fragment costs beside: at most
    /// [`Reassembly::octets`].
    #[must_use]
    pub const fn reassembling(&self) -> usize {
        self.reassembly.octets()
    }

    /// Whether what goes to `address` stays here.
    pub(crate) fn is_local(&self, address: F::Address) -> bool {
        F::is_ours(self, address) || address.is_loopback()
    }

    /// Whether a datagram of ours may have this source: an address of ours, or any where all are.
    pub(crate) fn speaks_for(&self, address: F::Address) -> bool {
        self.is_local(address) || self.any_destination && F::is_host(self, address)
    }

    /// Whether the configuration or a user wants what is sent to `group`.
    pub(crate) fn has_joined(&self, group: F::Address) -> bool {
        self.configured.contains(&group) || self.groups.contains(group)
    }

    pub(crate) fn is_up(&self, interface: usize) -> bool {
        self.ports.get(interface).is_some_and(|port| port.up)
    }

    /// The first interface that is up: where nothing says which one.
    pub(crate) fn first_up(&self) -> Option<usize> {
        self.ports.iter().position(|port| port.up)
    }

    fn limits(&self) -> Report {
        let mtu = self.ports.iter().map(F::mtu).min();
        let burst = self.ports.iter().map(|port| port.burst).min();
        Report::Limits { unit: mtu.unwrap_or_default().saturating_sub(F::HEADER_LEN), burst: burst.unwrap_or(1) }
    }

    fn route(&mut self, to: Address, now: Instant) -> Report {
        let nowhere = Report::Route { to, source: Address::NONE, unit: 0, burst: 1, bypass: None };
        let Some(address) = to.get::<F::Address>() else {
            return nowhere;
        };
        if self.is_local(address) {
            return Report::Route { to, source: to, unit: F::MOST_DATA, burst: u32::MAX, bypass: None };
        }
        let found = F::hop(self, address, None, None).and_then(|hop| {
            let source = F::select(self, hop, address)?;
            Some((source, self.ports.get(hop.interface)?))
        });
        found.map_or(nowhere, |(source, port)| Report::Route {
            to,
            source: Address::from(source),
            unit: F::mtu(port).min(F::path_mtu(self, address, now)).saturating_sub(F::HEADER_LEN),
            burst: port.burst,
            bypass: None,
        })
    }

    fn manage(&mut self, from: Above, manage: Manage, cx: &mut Context<'_>) {
        let answer = match manage {
            Manage::Limits => {
                if !self.curious.contains(&from) {
                    self.curious.push(from);
                }
                self.limits()
            }
            Manage::Route { to } => self.route(to, cx.now()),
            Manage::Refuse { unit, problem } => return self.refuse(from, unit, problem, cx),
            Manage::Narrow { to, mtu } => {
                if let Some(to) = to.get() {
                    F::narrow(self, to, mtu, cx.now());
                }
                return;
            }
            Manage::Group { group, member } => {
                if let Some(group) = group.get() {
                    self.groups.set(from, group, member);
                }
                return;
            }
            // Routes are not chosen by whether somebody answers, so advice could not lead to another.
            Manage::Session { .. } | Manage::Advise { .. } => return,
            Manage::Special(what) => {
                if let Some(&what) = what.get::<Assignment>() {
                    self.assign(what, cx);
                } else if what.is::<Resolvers>() || what.is::<GiveBack>() {
                    // IP itself has no use for these.
                    tell_all(&Report::Special(what), cx);
                }
                return;
            }
        };
        cx.up(from, Indication::Report(Box::new(answer)));
    }

    /// The limits may have changed.
    pub(crate) fn tell_curious(&self, cx: &mut Context<'_>) {
        for &user in &self.curious {
            cx.up(user, Indication::Report(Box::new(self.limits())));
        }
    }

    fn report(&mut self, from: Below, report: &Report, cx: &mut Context<'_>) {
        if let Report::Unreachable { problem: Problem::NoNeighbour, start, .. } = report {
            self.unresolved(start.clone(), cx);
            return;
        }
        let Some(interface) = self.by_below.get(usize::from(from.0)).copied() else {
            return;
        };
        let anybody_up = self.first_up().is_some();
        let Some(port) = self.ports.get_mut(interface) else {
            return;
        };
        let has_changed = match *report {
            Report::Limits { unit, burst } => {
                let before = (port.mtu, port.burst);
                (port.carried, port.burst) = (unit, burst);
                port.settle_mtu();
                if before != (port.mtu, port.burst) {
                    self.tell_curious(cx);
                }
                return;
            }
            Report::Up | Report::Down => {
                let is_up = matches!(report, Report::Up);
                core::mem::replace(&mut port.up, is_up) != is_up
            }
            Report::Special(ref what) => {
                if let Some(&LinkAddresses { local, remote }) = what.get() {
                    F::adopt(self, interface, local, remote);
                }
                if let Some(&what) = what.get::<Assignment>() {
                    self.found_out(interface, what, cx);
                }
                return;
            }
            Report::Route { source, .. } => return F::is_called(self, interface, source, cx),
            Report::Unreachable { .. } => return,
        };
        if anybody_up != self.first_up().is_some() {
            let report = if anybody_up { Report::Down } else { Report::Up };
            tell_all(&report, cx);
        }
        if has_changed {
            tell_all(&Report::special(InterfaceState { interface, is_up: self.is_up(interface) }), cx);
        }
    }
}

impl<F: Family> Protocol for Ip<F> {
    fn shape(&self) -> Shape {
        let interfaces = u16::try_from(self.ports.len()).unwrap_or(u16::MAX);
        Shape {
            offers: Some(Service::UNIT_DATA),
            needs: &[Service::UNIT_DATA, Service::FRAME],
            below: (interfaces, interfaces),
            keys: F::keys(),
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        self.users.bind(F::Address::VERSION, above, keys)
    }

    fn attach(&mut self, below: Below, name: &str) -> Result<(), String> {
        let Some(interface) = self.ports.iter().position(|port| port.name == name) else {
            let known: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
            return Err(format!("{} has no interface on `{name}`, only on {}", F::Address::VERSION, names(&known)));
        };
        if let Some(port) = self.ports.get_mut(interface) {
            port.below = Some(below);
        }
        // Layers below are numbered in the order of being attached.
        self.by_below.push(interface);
        Ok(())
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.identification = cx.rng().next_u32();
        for port in &self.ports {
            let Some(below) = port.below else {
                continue;
            };
            for question in [Some(Manage::Limits), F::asks(port)].into_iter().flatten() {
                cx.down(below, Request::Manage(Box::new(question)));
            }
        }
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        match request.of_unit_data() {
            Some(UnitRequest::Unit(unit)) => self.send(from, unit, cx),
            Some(UnitRequest::Manage(manage)) => {
                self.recent = Recent::default();
                self.manage(from, *manage, cx);
            }
            None => cx.drop("not a unit"),
        }
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        match indication.of_unit_data() {
            Some(UnitIndication::Unit(unit)) => self.receive(from, unit, cx),
            Some(UnitIndication::Report(report)) => {
                self.recent = Recent::default();
                self.report(from, &report, cx);
            }
            Some(UnitIndication::Credit(_)) => {}
            None => cx.drop("not a unit"),
        }
    }

    fn is_on_paths(&self) -> bool {
        F::KEEPS_WAYS
    }

    fn pop_through(&mut self, from: Below, unit: &mut Unit) -> Option<Above> {
        self.receive_as_before(from, unit)
    }

    fn push_through(&mut self, from: Above, unit: &mut Unit) -> Option<Below> {
        self.send_as_before(from, unit)
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        self.recent = Recent::default();
        if token.kind == REASSEMBLY_TIMER {
            self.give_up_reassembly(cx);
        } else {
            F::expire(self, cx);
        }
    }
}
