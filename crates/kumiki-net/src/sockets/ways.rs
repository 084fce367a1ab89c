//! What the host has on its lines at present: addresses, routes, and what the network has said beside these.

use core::net::IpAddr;
use core::task::{Context, Poll};
use std::io;

use kumiki_graph::{Below, Manage, Report, Request, Special};
use kumiki_inet::dhcp::GiveBack;
use kumiki_inet::{AssignedRoute, Assignment, Authority, Change, Resolvers};

use super::table::{Table, is_in, is_many};

/// A line, as sockets know it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OwnLine {
    /// Each with how many leading bits of it name the network.
    pub(crate) addresses: Vec<(IpAddr, u8)>,
    pub(crate) routes: Vec<AssignedRoute>,
    /// Which interface of IPv4 it is, and which of IPv6.
    pub(crate) interfaces: [Option<usize>; 2],
    /// What a packet may have, in octets.
    pub(crate) mtu: u32,
    /// What it may have where nobody has said otherwise.
    pub(crate) most: u32,
    /// What those have said who may; the least counts.
    pub(crate) wished: [Option<u32>; Authority::COUNT],
    /// Who looks up names, and who has said so.
    pub(crate) resolvers: Vec<(Authority, IpAddr)>,
}

impl OwnLine {
    /// From which of its addresses what goes by `way` is sent: the one on the router's network, or else the first.
    fn source(&self, way: &AssignedRoute) -> Option<IpAddr> {
        let mut near =
            self.addresses.iter().filter(|(own, prefix)| way.router.is_some_and(|it| is_in(it, *own, *prefix)));
        let first = || self.addresses.iter().find(|(own, _)| own.is_ipv4() == way.network.is_ipv4());
        near.next().or_else(first).map(|(own, _)| *own)
    }

    fn change(&mut self, by: Authority, change: Change) {
        match change {
            Change::Address { address, prefix, .. } => {
                if !self.addresses.iter().any(|(own, _)| *own == address) {
                    self.addresses.push((address, prefix));
                }
            }
            Change::NoAddress(address) | Change::Duplicate(address) => {
                self.addresses.retain(|(own, _)| *own != address);
            }
            Change::Route(way) => {
                if !self.routes.contains(&way) {
                    self.routes.push(way);
                }
            }
            Change::NoRoute(way) => self.routes.retain(|it| *it != way),
            Change::Mtu(mtu) => {
                if let Some(wished) = self.wished.get_mut(by.place()) {
                    *wished = mtu;
                }
                self.mtu = self.wished.iter().flatten().copied().min().unwrap_or(self.most).min(self.most);
            }
        }
    }
}

impl Table {
    /// The host has these lines.
    pub(crate) fn have_lines(&mut self, lines: Vec<OwnLine>) {
        self.lines = lines;
        self.learn_lines();
    }

    /// What is on the lines has changed.
    fn learn_lines(&mut self) {
        self.addresses = self.lines.iter().flat_map(|it| it.addresses.iter().map(|(own, _)| *own)).collect();
        self.sources.clear();
        for line in &self.lines {
            self.sources.extend(line.addresses.iter().map(|(own, prefix)| (*own, *prefix, *own)));
            self.sources.extend(line.routes.iter().filter_map(|it| Some((it.network, it.prefix, line.source(it)?))));
        }
        self.network_version += 1;
        self.network_watchers.wake(&mut self.effects.woken);
        #[cfg(all(feature = "host", target_os = "linux"))]
        self.guests.have_other_lines(&mut self.effects);
    }

    /// The layers have said something that only they have.
    pub(super) fn told(&mut self, below: Below, what: &Special) {
        let version = match Some(below) {
            it if it == self.layers.udp => 0,
            it if it == self.layers.udp_v6 => 1,
            Some(_) | None => return,
        };
        let mut lines = self.lines.iter_mut();
        let mut line = |interface| lines.find(|it| it.interfaces.get(version) == Some(&Some(interface)));
        if let Some(&Assignment { interface, by, change }) = what.get() {
            // What its owner asks for is done here at once.
            let is_news = by != Authority::Owner || matches!(change, Change::Duplicate(_));
            if let Some(line) = line(interface).filter(|_| is_news) {
                line.change(by, change);
                self.learn_lines();
            }
        } else if let Some(Resolvers { interface, by, servers }) = what.get()
            && let Some(line) = line(*interface)
        {
            line.resolvers.retain(|(other, _)| other != by);
            line.resolvers.extend(servers.iter().map(|it| (*by, *it)));
            self.learn_lines();
        }
    }

    /// Whom the network has said to ask for names, in the order of the lines.
    pub(crate) fn resolvers(&self) -> Vec<IpAddr> {
        let mut all: Vec<IpAddr> = Vec::new();
        for (_, server) in self.lines.iter().flat_map(|it| &it.resolvers) {
            if !all.contains(server) {
                all.push(*server);
            }
        }
        all
    }

    /// Ready when what the host has on its lines is not as it was in `version`.
    pub(crate) fn poll_network(&mut self, version: u64, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_up()?;
        if self.network_version != version {
            return Poll::Ready(Ok(()));
        }
        self.network_watchers.register(cx.waker(), &mut self.effects.woken);
        Poll::Pending
    }

    fn line(&mut self, number: usize) -> io::Result<&mut OwnLine> {
        let count = self.lines.len();
        let why =
            || io::Error::new(io::ErrorKind::NotFound, format!("there is no line {number}; this host has {count}"));
        self.lines.get_mut(number).ok_or_else(why)
    }

    /// Whether `change` of a line can be: errors are as of Linux's `ip`.
    fn check_change(&mut self, number: usize, change: Change) -> io::Result<()> {
        let wrong = |kind, text: String| Err(io::Error::new(kind, text));
        let is_own = |table: &Self, address| table.addresses.contains(&address);
        let is_prefix = |of: IpAddr, prefix: u8| prefix <= if of.is_ipv4() { 32 } else { 128 };
        match change {
            Change::Address { address, .. }
                if is_many(address) || address.is_unspecified() || address.is_loopback() =>
            {
                wrong(io::ErrorKind::InvalidInput, format!("{address} cannot be the address of one host on a line"))
            }
            Change::Address { address, prefix, .. } if !is_prefix(address, prefix) => wrong(
                io::ErrorKind::InvalidInput,
                format!("{address}/{prefix}: a prefix has 32 bits at most, of IPv6 128"),
            ),
            Change::Address { address, .. } if is_own(self, address) => {
                wrong(io::ErrorKind::AlreadyExists, format!("{address} is an address of this host already"))
            }
            Change::NoAddress(address) if !self.line(number)?.addresses.iter().any(|(own, _)| *own == address) => {
                wrong(io::ErrorKind::AddrNotAvailable, format!("{address} is no address of this host on line {number}"))
            }
            Change::Route(way) | Change::NoRoute(way) if !is_prefix(way.network, way.prefix) => {
                let text = format!("{}/{}: a prefix has 32 bits at most, of IPv6 128", way.network, way.prefix);
                wrong(io::ErrorKind::InvalidInput, text)
            }
            Change::Route(way) if way.router.is_some_and(|it| it.is_ipv4() != way.network.is_ipv4()) => wrong(
                io::ErrorKind::InvalidInput,
                "a router of one version of IP for a network of the other".to_owned(),
            ),
            Change::Route(way) if self.line(number)?.routes.contains(&way) => {
                wrong(io::ErrorKind::AlreadyExists, format!("there is such a route to {}/{}", way.network, way.prefix))
            }
            Change::Route(AssignedRoute { router: Some(router), .. })
                if router.is_ipv4()
                    && !self.line(number)?.addresses.iter().any(|(own, it)| is_in(router, *own, *it)) =>
            {
                wrong(
                    io::ErrorKind::NetworkUnreachable,
                    format!("the router {router} is on no network of line {number}"),
                )
            }
            Change::NoRoute(way) if !self.line(number)?.routes.contains(&way) => {
                wrong(io::ErrorKind::NotFound, format!("there is no such route to {}/{}", way.network, way.prefix))
            }
            Change::Mtu(Some(mtu)) if !(68..=65535).contains(&mtu) => {
                wrong(io::ErrorKind::InvalidInput, format!("an MTU of {mtu} octets; expected 68 to 65535 (RFC 791)"))
            }
            Change::Address { .. }
            | Change::NoAddress(_)
            | Change::Duplicate(_)
            | Change::Route(_)
            | Change::NoRoute(_)
            | Change::Mtu(_) => Ok(()),
        }
    }

    /// Changes a line as its owner wants it: sockets see it at once, and the layers before anything that is asked of
    /// them after it.
    pub(crate) fn change_line(&mut self, number: usize, change: Change) -> io::Result<()> {
        self.check_up()?;
        if self.gateway.is_some() {
            let text = "a gateway has every address: what it has of its own is in its configuration";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        if self.most.is_some() {
            let text = "the lines are those of another process, which runs the stack; only that changes them";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        self.check_change(number, change)?;
        let layers = [self.layers.udp, self.layers.udp_v6];
        let line = self.line(number)?;
        let of = |ip: IpAddr| Some(usize::from(ip.is_ipv6()));
        let version = match change {
            Change::Address { address, .. } | Change::NoAddress(address) | Change::Duplicate(address) => of(address),
            Change::Route(way) | Change::NoRoute(way) => of(way.network),
            Change::Mtu(_) => None,
        };
        let mut requests = Vec::new();
        for (place, (below, interface)) in layers.into_iter().zip(line.interfaces).enumerate() {
            if version.is_none_or(|it| it == place)
                && let (Some(below), Some(interface)) = (below, interface)
            {
                let what = Assignment { interface, by: Authority::Owner, change };
                requests.push((below, Request::Manage(Box::new(Manage::special(what)))));
            }
        }
        if requests.is_empty() {
            let version =
                version.map_or_else(String::new, |it| if it == 0 { "v4".to_owned() } else { "v6".to_owned() });
            let text = format!("line {number} has no IP{version}, and gets none while it runs");
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        line.change(Authority::Owner, change);
        self.effects.requests.extend(requests);
        self.learn_lines();
        Ok(())
    }

    /// What a server has given is given back; whether one may have.
    pub(crate) fn release_addresses(&mut self) -> bool {
        if let Some(below) = self.layers.udp.filter(|_| self.asks_server && !self.is_down) {
            self.effects.requests.push_back((below, Request::Manage(Box::new(Manage::special(GiveBack)))));
        }
        self.asks_server
    }

    /// Whether a datagram, or a call, can be from `own`, where that was chosen before: it may have gone since.
    pub(super) fn check_still_own(&self, own: IpAddr) -> io::Result<()> {
        let is_known = own.is_unspecified() || own.is_loopback() || is_many(own) || self.addresses.contains(&own);
        if is_known {
            return Ok(());
        }
        // As Linux, which finds no route from there.
        let text = format!("{own} is no address of this host any more");
        Err(io::Error::new(io::ErrorKind::NetworkUnreachable, text))
    }
}

/// What a report says that only its layer has.
pub(super) const fn special(report: &Report) -> Option<&Special> {
    match report {
        Report::Special(what) => Some(what),
        Report::Limits { .. } | Report::Route { .. } | Report::Up | Report::Down | Report::Unreachable { .. } => None,
    }
}
