//! What received routes do to the table and to the spanning tree, in the order of RFC 2174 section 5.4, and what time
//! does to them (5.5).

use kumiki_graph::{Context, Instant};
use kumiki_octets::Message;
use kumiki_wire::ppp::mapos::ssp::{self, Metric};

use super::MaposSwitch;
use super::port::{Branch, Port};
use super::table::{Destination, Route};

impl MaposSwitch {
    /// A packet of SSP, its frame's header gone.
    pub(super) fn hear_ssp(&mut self, port: usize, data: &mut Message, cx: &mut Context<'_>) {
        let Some(state) = self.ports.get(port) else {
            return;
        };
        if state.node.is_some() {
            self.counters.ssp_refused += 1;
            cx.drop("SSP from a node");
            return;
        }
        // Section 6.2: what we send does not arrive there, so nothing may be routed that way.
        if state.line.is_deaf() {
            self.counters.ssp_refused += 1;
            cx.drop("SSP from a switch that does not hear us");
            return;
        }
        let total = data.len();
        let octets = data.front_at_least(total.min(ssp::MAX_LEN));
        let Ok((header, len)) = ssp::Header::parse(octets, total) else {
            self.counters.ssp_malformed += 1;
            cx.drop("SSP packet malformed");
            return;
        };
        let entries: Vec<_> = ssp::entries(octets.get(len..).unwrap_or_default()).collect();
        match header.command {
            ssp::Command::Request => {
                let whole = entries.first().map(|it| it.afi) == Some(ssp::afi::UNSPECIFIED);
                if whole {
                    self.answer(port, cx);
                } else {
                    self.counters.ssp_malformed += 1;
                    cx.drop("SSP request for something else than the table");
                }
            }
            ssp::Command::Response => {
                self.counters.ssp_received += 1;
                for entry in entries {
                    match entry.route(self.config.subnet.width()) {
                        Ok(route) => self.hear(port, route, cx),
                        Err(_) => self.counters.entries_ignored += 1,
                    }
                }
            }
        }
    }

    /// One entry that is right in itself.
    fn hear(&mut self, port: usize, heard: ssp::Route, cx: &mut Context<'_>) {
        let to = Destination::new(heard.subnet, heard.switch);
        let now = cx.now();
        // Step 1.
        if heard.metric.is_poisoned() {
            let known = self.table.get(to);
            if known.is_none_or(|known| known.next_hop == Some(port)) {
                self.counters.entries_ignored += 1;
            } else if to == self.vss {
                self.hear_downstream(port, now);
            }
            return;
        }
        // Step 2.
        let metric = heard.metric.0.saturating_add(self.config.cost.into());
        let metric = Metric(metric).min(Metric::UNREACHABLE);
        let Some(&known) = self.table.get(to) else {
            // Case 1.
            if metric < Metric::UNREACHABLE {
                self.add(to, port, metric, cx);
            }
            return;
        };
        if to == self.own && heard.metric == Metric::LOCAL {
            self.counters.conflicts += 1;
        }
        // Case 2.
        let from_next_hop = known.next_hop == Some(port);
        if metric == Metric::UNREACHABLE {
            // (d) and (e).
            if from_next_hop && known.is_reachable() {
                self.lose(to, now);
            } else if !from_next_hop {
                self.hear_elsewhere(to, port);
            }
        } else if metric < known.metric {
            // (b).
            self.improve(to, port, metric, now);
        } else if from_next_hop {
            // (a) and (c).
            let route = Route {
                metric,
                deadline: Some(now + self.config.timers.expiration),
                changed: known.changed || metric != known.metric,
                ..known
            };
            self.table.set(to, route);
            self.hear_upstream(to, port, now);
        } else {
            self.hear_elsewhere(to, port);
        }
    }

    /// Case 1: a switch that was not known.
    fn add(&mut self, to: Destination, port: usize, metric: Metric, cx: &mut Context<'_>) {
        if self.table.len() >= self.config.routes {
            self.counters.table_full += 1;
            cx.drop("no room for another route");
            return;
        }
        let now = cx.now();
        let route =
            Route { next_hop: Some(port), metric, deadline: Some(now + self.config.timers.expiration), changed: true };
        self.table.set(to, route);
        self.elect(now);
    }

    /// Case 2 (b): a better way.
    fn improve(&mut self, to: Destination, port: usize, metric: Metric, now: Instant) {
        let deadline = Some(now + self.config.timers.expiration);
        let Some(route) = self.table.get_mut(to) else {
            return;
        };
        let before = route.next_hop;
        *route = Route { next_hop: Some(port), metric, deadline, changed: true };
        if to == self.vss && before != Some(port) {
            if let Some(before) = before.and_then(|before| self.ports.get_mut(before)) {
                before.prune();
            }
            self.begin_upstream(port, now);
        } else {
            self.hear_upstream(to, port, now);
        }
        self.elect(now);
    }

    /// The switch at `port` uses us as its next hop to the root of the tree.
    fn hear_downstream(&mut self, port: usize, now: Instant) {
        let timers = self.config.timers;
        if let Some(port) = self.ports.get_mut(port) {
            port.expires = Some(now + timers.port_expiration);
            port.confirm(timers.forward_delay, now);
        }
    }

    /// Our next hop to `to` has said again that it is one.
    fn hear_upstream(&mut self, to: Destination, port: usize, now: Instant) {
        let forward_delay = self.config.timers.forward_delay;
        if let Some(port) = self.ports.get_mut(port).filter(|_| to == self.vss) {
            port.confirm(forward_delay, now);
        }
    }

    /// The switch at `port`, not our next hop, has a way of its own: it is not downstream of us.
    fn hear_elsewhere(&mut self, to: Destination, port: usize) {
        if let Some(port) = self.ports.get_mut(port).filter(|_| to == self.vss) {
            port.prune();
        }
    }

    /// The tree goes up by `port` from now on.
    fn begin_upstream(&mut self, port: usize, now: Instant) {
        if let Some(port) = self.ports.get_mut(port) {
            port.prune();
            port.branch = Branch::Waiting { since: now };
        }
    }

    /// `to` cannot be reached any more.
    pub(super) fn lose(&mut self, to: Destination, now: Instant) {
        let deadline = Some(now + self.config.timers.gc);
        let Some(route) = self.table.get_mut(to) else {
            return;
        };
        (route.metric, route.deadline) = (Metric::UNREACHABLE, deadline);
        route.changed = true;
        let before = route.next_hop.filter(|_| to == self.vss);
        if let Some(before) = before.and_then(|before| self.ports.get_mut(before)) {
            before.prune();
        }
        self.elect(now);
    }

    /// Everything that was reached by `port` cannot be any more.
    pub(super) fn lose_port(&mut self, port: usize, now: Instant) {
        if let Some(port) = self.ports.get_mut(port) {
            port.prune();
        }
        let lost = |route: &Route| route.next_hop == Some(port) && route.is_reachable();
        for to in self.table.those(lost) {
            self.lose(to, now);
        }
    }

    /// Finds the virtual source switch. Another one makes the whole tree invalid (section 4.9).
    fn elect(&mut self, now: Instant) {
        let vss = self.table.lowest().unwrap_or(self.own);
        if vss == self.vss {
            return;
        }
        self.vss = vss;
        self.ports.iter_mut().for_each(Port::prune);
        let upstream = self.table.get(vss).and_then(|route| route.next_hop);
        if let Some(upstream) = upstream {
            self.begin_upstream(upstream, now);
        }
    }

    /// Section 5.5, and the nodes that have gone silent.
    pub(super) fn age(&mut self, now: Instant) {
        let over = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        for to in self.table.those(|route| over(route.deadline)) {
            let reachable = self.table.get(to).is_some_and(Route::is_reachable);
            if reachable {
                self.lose(to, now);
            } else {
                self.table.remove(to);
            }
        }
        for port in &mut self.ports {
            if over(port.expires) {
                port.prune();
            }
            if over(port.node) {
                port.node = None;
                self.counters.nodes_lost += 1;
            }
        }
    }

    /// When [`MaposSwitch::age`] has something to do next.
    pub(super) fn next_aged(&self) -> Option<Instant> {
        let ports = self.ports.iter();
        let ports = ports.flat_map(|port| port.expires.into_iter().chain(port.node));
        self.table.next_deadline().into_iter().chain(ports).min()
    }
}
