//! Fragments on their way to the stack that puts them together: only the first says whose they are.

use std::collections::VecDeque;

use kumiki_link::{Flow, FlowKeys};
use kumiki_octets::Message;

/// So many packets are known of which fragments came last. Who was first is forgotten first, with what waits of it:
/// time has no part in this.
const MOST: usize = 256;

/// So many fragments may wait for the first one of their packet, of all packets.
const MOST_WAITING: usize = 256;

/// What the fragments of one packet have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    flow: Flow,
    identification: u32,
}

/// Packets of which fragments have come.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    packets: VecDeque<(Key, Packet)>,
    waiting: usize,
}

#[derive(Debug)]
enum Packet {
    /// Its first fragment has come, and was of this flow.
    Known(Flow),
    /// It has not, and these wait.
    Waiting(Vec<Message>),
}

impl Fragments {
    /// A fragment has come: what can go now, and by which flow it is known whose that is. What is no fragment is of its
    /// own flow.
    pub(super) fn take(&mut self, sight: &FlowKeys, fragment: Message, mut goes: impl FnMut(Flow, Message)) {
        let Some(piece) = sight.fragment else {
            return goes(sight.flow, fragment);
        };
        let key = Key { flow: sight.flow, identification: piece.identification };
        let place = self.packets.iter().rposition(|(it, _)| *it == key);
        if let Some(flow) = piece.whole {
            for earlier in self.begin(place, key, flow) {
                goes(flow, earlier);
            }
            return goes(flow, fragment);
        }
        match place.and_then(|it| self.packets.get_mut(it)) {
            Some((_, Packet::Known(flow))) => goes(*flow, fragment),
            Some((_, Packet::Waiting(all))) if self.waiting < MOST_WAITING => {
                self.waiting += 1;
                all.push(fragment);
            }
            Some((_, Packet::Waiting(_))) => {}
            None if self.waiting < MOST_WAITING => {
                self.waiting += 1;
                self.add(key, Packet::Waiting(vec![fragment]));
            }
            None => self.forget_first(),
        }
    }

    /// The first fragment has come: those that waited for it.
    fn begin(&mut self, place: Option<usize>, key: Key, flow: Flow) -> Vec<Message> {
        let was = place.and_then(|it| self.packets.get_mut(it));
        match was.map(|(_, packet)| core::mem::replace(packet, Packet::Known(flow))) {
            Some(Packet::Waiting(all)) => {
                self.waiting -= all.len();
                all
            }
            // It came twice, or the number came again.
            Some(Packet::Known(_)) => Vec::new(),
            None => {
                self.add(key, Packet::Known(flow));
                Vec::new()
            }
        }
    }

    fn add(&mut self, key: Key, packet: Packet) {
        if self.packets.len() >= MOST {
            self.forget_first();
        }
        self.packets.push_back((key, packet));
    }

    fn forget_first(&mut self) {
        if let Some((_, Packet::Waiting(all))) = self.packets.pop_front() {
            self.waiting -= all.len();
        }
    }
}
