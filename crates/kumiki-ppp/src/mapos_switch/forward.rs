//! Frames for others: RFC 2174 sections 3.2 and 4.2.

use kumiki_graph::Context;
use kumiki_octets::Message;
use kumiki_wire::ppp::mapos::{Address, Meaning};

use super::MaposSwitch;

impl MaposSwitch {
    /// A frame for one station that is not the control processor of the switch it came to.
    pub(super) fn forward(&mut self, from: usize, to: Address, data: Message, cx: &mut Context<'_>) {
        let Some((destination, route)) = self.table.find(to) else {
            self.counters.no_route += 1;
            cx.drop("no route to that switch");
            return;
        };
        let out = match (route.next_hop, destination.subnet.meaning(to)) {
            (Some(next_hop), _) => Some(next_hop),
            (None, Some(Meaning::Node { port, .. })) => self.ports.iter().position(|it| it.number == port),
            (None, _) => {
                self.counters.for_control += 1;
                cx.drop("for the control processor");
                return;
            }
        };
        let Some(out) = out.filter(|out| self.ports.get(*out).is_some_and(|it| it.line.is_up())) else {
            self.counters.no_route += 1;
            cx.drop("no such port, or its line is down");
            return;
        };
        if out == from {
            self.counters.turned_back += 1;
            cx.drop("it would go back where it came from");
            return;
        }
        self.counters.forwarded += 1;
        Self::transmit(out, data, cx);
    }

    /// A frame for several nodes.
    pub(super) fn spread(&mut self, from: usize, data: &Message, cx: &mut Context<'_>) {
        if !self.ports.get(from).is_some_and(super::Port::forwards) {
            self.counters.off_tree += 1;
            cx.drop("group frame from beside the tree");
            return;
        }
        self.counters.spread += 1;
        let ports = self.ports.iter().enumerate();
        let ports = ports.filter(|(out, port)| *out != from && port.forwards());
        for (out, _) in ports {
            self.counters.copies += 1;
            Self::transmit(out, data.clone(), cx);
        }
    }
}
