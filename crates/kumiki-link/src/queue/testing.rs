//! A queue by itself, and frames for it.

use core::net::Ipv4Addr;

use kumiki_graph::{Address, Duration, Instant};
use kumiki_octets::Message;
use kumiki_wire::inet::ipv4::{self, Ecn, protocol};

use super::{Discipline, Ledger, QueuedFrame};
use crate::{Outlet, Unit};

pub(super) fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A packet of `len` octets in all, of UDP from port `flow` to port 7.
pub(crate) fn packet(flow: u16, len: u16, ecn: Ecn) -> Message {
    let header = ipv4::Header {
        type_of_service: ecn.bits(),
        total_length: len,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        protocol: protocol::UDP,
        ..ipv4::Header::default()
    };
    let mut octets = vec![0; len.into()];
    header.emit_summed(&mut octets[..20]);
    octets[20..22].copy_from_slice(&flow.to_be_bytes());
    octets[23] = 7;
    Message::from_octets(&octets)
}

/// A queue, what it gave up and what it counted.
pub(super) struct Rig<D> {
    pub(super) queue: D,
    pub(super) drops: u64,
    pub(super) marks: u64,
    offered: u64,
    out: Outlet,
    given_up: Vec<u64>,
}

impl<D: Discipline> Rig<D> {
    pub(super) fn new(queue: D) -> Self {
        Self { queue, drops: 0, marks: 0, offered: 0, out: Outlet::default(), given_up: Vec::new() }
    }

    /// A packet comes behind a busy line.
    pub(super) fn offer(&mut self, now: Instant, flow: u16, len: u16, ecn: Ecn) {
        let (number, address) = (self.offered, Address::NONE);
        self.offered += 1;
        let frame = QueuedFrame { since: now, number, data: packet(flow, len, ecn), address };
        self.with_ledger(|queue, ledger| queue.enqueue(now, frame, true, ledger));
    }

    /// The packet that goes: its number, flow, and ECN field.
    pub(super) fn next(&mut self, now: Instant) -> Option<(u64, u16, Ecn)> {
        let frame = self.with_ledger(|queue, ledger| queue.dequeue(now, ledger))?;
        let octets = frame.data.to_vec();
        Some((frame.number, u16::from_be_bytes([octets[20], octets[21]]), Ecn::from_bits(octets[1])))
    }

    /// The numbers of what was given up since this was last asked.
    pub(super) fn lost(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.given_up)
    }

    pub(super) fn counter(&self, name: &str) -> u64 {
        self.queue.counters().into_iter().find(|it| it.names[0] == name).unwrap().value
    }

    fn with_ledger<T>(&mut self, act: impl FnOnce(&mut D, &mut Ledger<'_>) -> T) -> T {
        let mut ledger = Ledger::new(&mut self.drops, &mut self.marks, Some((0, &mut self.out)));
        let done = act(&mut self.queue, &mut ledger);
        for (_, unit) in self.out.drain() {
            let Unit::Sent { number, whole: false, .. } = unit else {
                panic!("{unit:?}");
            };
            self.given_up.push(number);
        }
        done
    }
}
