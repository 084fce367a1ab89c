//! A device of the machine in an executor: what waits for room in it, and what it did.

use std::collections::VecDeque;
use std::io;

use kumiki_graph::{Address, Indication, Report};
use kumiki_link::offload::packets;
use kumiki_octets::Message;

use super::Plug;
use crate::clock::Watch;
use crate::device::{Arrival, Descriptors, RealCounters, RealDevice, Sent};

/// A device with what waits for it.
pub(super) struct Real {
    pub(super) device: Box<dyn RealDevice>,
    pub(super) wire: Option<Plug>,
    /// What found no room, and where it goes.
    pub(super) waiting: VecDeque<(Message, Address)>,
    /// How many packets that is.
    pub(super) waiting_packets: usize,
    /// The device holds something back that waits for room.
    pub(super) is_full: bool,
    /// What the graph is to be told of it.
    pub(super) state: Option<Report>,
    pub(super) counters: RealCounters,
}

/// What a device has said beside the units of a batch, and how it has gone on.
#[derive(Default)]
pub(super) struct Batch {
    /// How many packets and indications have come.
    pub(super) read: usize,
    /// Somebody has come or gone at its other end.
    pub(super) changed: bool,
    /// The device has done a batch's work without a unit.
    pub(super) passed_over: bool,
    /// How much more it takes, in octets.
    pub(super) room: u64,
    /// What it says of its sessions.
    pub(super) told: Vec<Indication>,
    pub(super) failed: Option<io::Error>,
}

impl Real {
    /// The next unit of a batch of at most so many packets; none where the batch is over.
    pub(super) fn receive(&mut self, batch: &mut Batch, most: usize) -> Option<(Message, Address)> {
        while batch.read < most {
            match self.device.receive() {
                Ok(Some(Arrival::Unit { data, source, .. })) => return Some((data, source)),
                Ok(Some(Arrival::Up)) => {
                    batch.changed = true;
                    self.state = Some(Report::Up);
                    return None;
                }
                Ok(Some(Arrival::Down)) => {
                    batch.changed = true;
                    self.state = Some(Report::Down);
                    // What was to go to a peer that is gone is not for the next one.
                    self.waiting_packets = 0;
                    for (packet, _) in core::mem::take(&mut self.waiting) {
                        self.overflows(&packet);
                    }
                    return None;
                }
                Ok(Some(Arrival::Room(octets))) => batch.room += octets,
                Ok(Some(Arrival::NoUnit)) => {
                    batch.passed_over = true;
                    return None;
                }
                Ok(Some(Arrival::Told(indication))) => {
                    batch.read += 1;
                    batch.told.push(indication);
                }
                Ok(None) => return None,
                Err(why) => {
                    batch.failed = Some(why);
                    return None;
                }
            }
        }
        None
    }

    pub(super) fn watches(&self) -> impl Iterator<Item = Watch<'_>> {
        let Descriptors { read, write } = self.device.descriptors();
        let write = write.filter(|_| self.is_full || !self.waiting.is_empty());
        let read = read.map(|descriptor| Watch { descriptor, reading: true, writing: false });
        let write = write.map(|descriptor| Watch { descriptor, reading: false, writing: true });
        read.into_iter().chain(write)
    }

    /// Hands over what waits, as far as there is room.
    pub(super) fn send_waiting(&mut self) -> io::Result<()> {
        while let Some((packet, to)) = self.waiting.front() {
            let sent = self.device.send(packet, *to)?;
            if sent == Sent::Full {
                break;
            }
            if let Some((packet, _)) = self.waiting.pop_front() {
                self.waiting_packets = self.waiting_packets.saturating_sub(packets(&packet));
                self.count(sent, &packet);
            }
        }
        Ok(())
    }

    /// `packet` waits for room.
    pub(super) fn wait(&mut self, packet: Message, to: Address) {
        let packets = packets(&packet);
        self.counters.waited += packets as u64;
        self.waiting_packets += packets;
        self.waiting.push_back((packet, to));
    }

    /// What became of `packet`.
    pub(super) fn count(&mut self, sent: Sent, packet: &Message) {
        let packets = packets(packet) as u64;
        match sent {
            Sent::Taken => {
                self.counters.sent += packets;
                self.counters.super_sent += u64::from(packet.meta().segment_size != 0);
            }
            Sent::Refused => {
                self.counters.refused += packets;
                self.counters.unsent_octets += packet.len() as u64;
            }
            Sent::Full => {}
        }
    }

    /// `packet` is dropped for want of room.
    pub(super) fn overflows(&mut self, packet: &Message) {
        self.counters.overflowed += packets(packet) as u64;
        self.counters.unsent_octets += packet.len() as u64;
    }
}
