//! Calls of X.25: what each carries, by its call user data, and the packet sequences in progress.

use std::collections::BTreeMap;

use super::UnfinishedPdu;
use super::streams::Parts;
use crate::key::{Endpoint, Stream};

/// Calls of which something is remembered.
pub const MOST_CALLS: usize = 256;
/// Octets of the longest packet sequence that is put together.
pub const MOST_SEQUENCE: usize = 1 << 16;

/// Where a call is: the same for packets of both directions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CallKey {
    interface: u32,
    /// The connection of TCP that the call has to itself.
    stream: Option<Stream>,
    /// The logical channel where there is none.
    channel: u16,
}

impl CallKey {
    /// On a logical channel of what is captured at `interface`, or of a connection of TCP, where numbers mean nothing.
    pub(crate) fn new(interface: u32, stream: Option<Stream>, channel: u16) -> Self {
        let stream = stream.filter(|it| matches!(it.source, Endpoint::Port(..)));
        Self {
            interface,
            stream: stream.map(|it| it.min(it.back())),
            channel: if stream.is_some() { 0 } else { channel },
        }
    }
}

/// What is known of a call.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// Who reads what it carries, if anybody.
    pub(crate) protocol: Option<&'static str>,
    /// A TPDU of ISO transport was seen in it, so that what is none is a mistake.
    pub(crate) transport: bool,
    /// Calls that have begun on this channel and are not cleared.
    open: usize,
    /// There were several at a time, as where a port of XOT was captured, and nothing tells their packets apart.
    pub(crate) shared: bool,
    /// A sequence was seen and not which way it goes.
    pub(crate) mixed: bool,
    /// Of the direction from which the smaller of the two comes, and of the other.
    ways: [CallDirection; 2],
    touched: u64,
}

/// One direction of a call.
#[derive(Debug, Default)]
pub(crate) struct CallDirection {
    /// The packet sequence in progress.
    pub(crate) parts: Parts,
    /// Q of its packets.
    pub(crate) qualified: bool,
    /// The rest of the sequence in progress cannot be read, for something before it is missing.
    pub(crate) broken: bool,
    /// The P(S) that comes next, where it is known.
    next: Option<u8>,
}

impl CallDirection {
    /// Where numbers begin.
    fn begin() -> Self {
        Self { next: Some(0), ..Self::default() }
    }

    /// Takes note of a P(S), numbers being modulo `count`; whether it is the one that comes next.
    pub(crate) fn is_next(&mut self, ps: u8, count: u8) -> bool {
        let right = self.next.is_none_or(|next| next == ps);
        self.next = Some(ps.wrapping_add(1) % count.max(1));
        right
    }
}

impl Call {
    /// The direction of `stream`; without one directions are not known.
    pub(crate) fn way(&mut self, stream: Option<Stream>) -> Option<&mut CallDirection> {
        let stream = stream?;
        let [first, second] = &mut self.ways;
        Some(if stream <= stream.back() { first } else { second })
    }

    /// Octets of sequences that are in progress.
    fn in_progress(&self) -> usize {
        self.ways.iter().map(|way| way.parts.octets.len()).sum()
    }
}

/// All that are known.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: BTreeMap<CallKey, Call>,
}

impl Calls {
    /// A call begins; on a connection of TCP one that was there is over.
    pub(crate) fn begin(&mut self, place: CallKey, packet: u64, protocol: Option<&'static str>) {
        if !self.calls.contains_key(&place) && self.calls.len() >= MOST_CALLS {
            let oldest = self.calls.iter().min_by_key(|(_, call)| call.touched);
            if let Some(oldest) = oldest.map(|(place, _)| *place) {
                self.calls.remove(&oldest);
            }
        }
        let before = self.calls.get(&place).map_or(0, |call| call.open);
        let open = if place.stream.is_some() { 0 } else { before };
        let call = Call {
            protocol,
            open: open.saturating_add(1),
            shared: open > 0,
            ways: [CallDirection::begin(), CallDirection::begin()],
            touched: packet,
            ..Call::default()
        };
        self.calls.insert(place, call);
    }

    /// The call at a place, if its beginning was seen.
    pub(crate) fn call(&mut self, place: CallKey, packet: u64) -> Option<&mut Call> {
        let call = self.calls.get_mut(&place)?;
        call.touched = packet;
        Some(call)
    }

    /// A call is cleared. Octets of sequences that nobody will end.
    pub(crate) fn clear(&mut self, place: CallKey) -> usize {
        let Some(call) = self.calls.get_mut(&place) else {
            return 0;
        };
        call.open = call.open.saturating_sub(1);
        let lost = call.in_progress();
        if call.open == 0 {
            self.calls.remove(&place);
        }
        lost
    }

    /// A call is reset, and numbers start over. As [`Self::clear`].
    pub(crate) fn reset(&mut self, place: CallKey) -> usize {
        let Some(call) = self.calls.get_mut(&place) else {
            return 0;
        };
        let lost = call.in_progress();
        call.ways = [CallDirection::begin(), CallDirection::begin()];
        lost
    }

    /// All calls on channels of an interface are over. As [`Self::clear`].
    pub(crate) fn restart(&mut self, interface: u32) -> usize {
        let mut lost = 0_usize;
        self.calls.retain(|place, call| {
            let stays = place.interface != interface || place.stream.is_some();
            if !stays {
                lost = lost.saturating_add(call.in_progress());
            }
            stays
        });
        lost
    }

    pub(crate) fn unfinished(&self) -> impl Iterator<Item = UnfinishedPdu> + '_ {
        self.calls.iter().flat_map(|(place, call)| {
            let name = |at: &str| match place.stream {
                Some(stream) => format!("packet sequence of X.25{at} {stream}"),
                None => format!("packet sequence of X.25{at} on channel {}", place.channel),
            };
            let [first, second] = &call.ways;
            let first = first.parts.unfinished(name(""));
            let second = second.parts.unfinished(name(", the other way,"));
            first.into_iter().chain(second)
        })
    }
}
