//! The link between the two graphs: without delay or loss, with a queue of so many packets each way.
//!
//! Every packet is counted here, and its length kept if it is the longest. What is known of its sums is forgotten, as on
//! any medium that might change octets: who gets it must read it to verify its checksum.

use std::collections::VecDeque;

use kumiki_graph::Instant;
use kumiki_link::{Element, Outlet, Unit};

/// Packets that each direction holds; what comes on top is dropped.
pub(crate) const CAPACITY: usize = 1 << 18;

/// The link; see the module.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// By the port they leave by.
    queues: [VecDeque<Unit>; 2],
    packets: u64,
    longest: usize,
    queued: usize,
    dropped: u64,
}

impl Element for Link {
    fn offer(&mut self, _: Instant, port: usize, mut unit: Unit, _: &mut Outlet) {
        let Unit::Frame { data, .. } = &mut unit else {
            return;
        };
        self.packets += 1;
        self.longest = self.longest.max(data.len());
        data.forget_sums();
        let [to_0, to_1] = &mut self.queues;
        let queue = if port == 0 { to_1 } else { to_0 };
        if queue.len() >= CAPACITY {
            self.dropped += 1;
            return;
        }
        queue.push_back(unit);
        self.queued = self.queued.max(queue.len());
    }

    fn next_deadline(&self) -> Option<Instant> {
        let waiting = self.queues.iter().any(|queue| !queue.is_empty());
        waiting.then_some(Instant::ZERO)
    }

    fn poll(&mut self, _: Instant, out: &mut Outlet) {
        for (port, queue) in self.queues.iter_mut().enumerate() {
            for unit in queue.drain(..) {
                out.put(port, unit);
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("packets", self.packets),
            ("longest", self.longest as u64),
            ("queued", self.queued as u64),
            ("dropped", self.dropped),
        ]
    }
}
