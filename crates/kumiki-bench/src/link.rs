//! The link between the two graphs: a wire without delay or loss, which hands every packet on as it comes.
//!
//! Every packet is counted here, and its length kept if it is the longest. What is known of its sums is forgotten, as
//! on any medium that might change octets: who gets it must read it to verify its checksum.

use kumiki_graph::Instant;
use kumiki_link::{Element, Outlet, Unit};

/// The link; see the module.
#[derive(Debug, Default)]
pub(crate) struct Link {
    packets: u64,
    longest: usize,
}

impl Element for Link {
    fn offer(&mut self, _: Instant, port: usize, mut unit: Unit, out: &mut Outlet) {
        let Unit::Frame { data, .. } = &mut unit else {
            return;
        };
        self.packets += 1;
        self.longest = self.longest.max(data.len());
        data.forget_sums();
        out.put(1 - port.min(1), unit);
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn poll(&mut self, _: Instant, _: &mut Outlet) {}

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("packets", self.packets), ("longest", self.longest as u64)]
    }
}
