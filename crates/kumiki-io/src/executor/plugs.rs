//! What is joined to what, and what plugs are called where that cannot be.

use kumiki_graph::GraphError;

use super::{CannotStart, Executor, Plug, slot};
use crate::clock::Clock;

impl<C: Clock> Executor<C> {
    /// Joins two plugs. What leaves by one arrives at the other at once. A plug that nobody has, or into which
    /// something is plugged already, is a mistake: neither is joined, and [`Executor::start`] names both.
    pub fn plug(&mut self, a: Plug, b: Plug) {
        if let Some(why) = self.is_taken(a).or_else(|| self.is_taken(b)) {
            let (one, other) = (self.name(a), self.name(b));
            let graph = one.clone();
            let graph_error = GraphError::Plugs { one, other, why };
            self.misplugged.get_or_insert(CannotStart { graph, graph_error });
            return;
        }
        for (from, to) in [(a, b), (b, a)] {
            let wire = match from {
                Plug::Device(graph, device) => self.hosts.get_mut(graph.0).map(|host| slot(&mut host.wires, device.0)),
                Plug::Port(element, port) => self.media.get_mut(element.0).map(|medium| slot(&mut medium.wires, port)),
                Plug::Link(link) => self.links.get_mut(link.0).map(|(_, wire)| wire),
                Plug::Real(real) => self.real.get_mut(real.0).map(|real| &mut real.wire),
            };
            if let Some(wire) = wire {
                *wire = Some(to);
            }
        }
    }

    /// Why nothing can be plugged in there, if so.
    fn is_taken(&self, plug: Plug) -> Option<String> {
        let wire = match plug {
            Plug::Device(graph, device) => {
                let host = self.hosts.get(graph.0);
                let host = host.filter(|host| device.0 < host.graph.devices());
                host.map(|host| host.wires.get(device.0).copied().flatten())
            }
            Plug::Port(element, port) => {
                let medium = self.media.get(element.0);
                medium.map(|medium| medium.wires.get(port).copied().flatten())
            }
            Plug::Link(link) => self.links.get(link.0).map(|(_, wire)| *wire),
            Plug::Real(real) => self.real.get(real.0).map(|real| real.wire),
        };
        let name = self.name(plug);
        match wire {
            None => Some(format!("there is no {name}")),
            Some(None) => None,
            Some(Some(other)) => Some(format!("{name} is joined to {} already", self.name(other))),
        }
    }

    /// What a plug is called.
    fn name(&self, plug: Plug) -> String {
        match plug {
            Plug::Device(id, device) => match self.hosts.get(id.0) {
                Some(host) => {
                    let name = host.graph.device_names().nth(device.0);
                    let name = name.map_or_else(|| device.0.to_string(), ToOwned::to_owned);
                    format!("device `{name}` of graph `{}`", host.name)
                }
                None => format!("graph number {}", id.0),
            },
            Plug::Port(id, port) => format!("port {port} of medium number {}", id.0),
            Plug::Link(id) => format!("link number {}", id.0),
            Plug::Real(id) => format!("device number {} of the machine", id.0),
        }
    }
}
