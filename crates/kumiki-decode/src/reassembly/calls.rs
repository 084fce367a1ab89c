//! Calls of X.25: what each carries, by its call user data, and the packet sequences under way.

use std::collections::BTreeMap;

use super::Unfinished;
use super::streams::Parts;
use crate::key::Stream;

/// Calls of which something is remembered.
pub const MOST_CALLS: usize = 256;
/// Octets of the longest packet sequence that is put together.
pub const MOST_SEQUENCE: usize = 1 << 16;

/// Where a call is: the same for packets of both directions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    interface: u32,
    stream: Option<Stream>,
    channel: u16,
}

impl Place {
    /// On a logical channel of what is captured at `interface`, or of a connection of TCP.
    pub(crate) fn new(interface: u32, stream: Option<Stream>, channel: u16) -> Self {
        Self {
            interface,
            stream: stream.map(|it| it.min(it.back())),
            channel,
        }
    }
}

/// What is known of a call.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// Who reads what it carries, if anybody.
    pub(crate) protocol: Option<&'static str>,
    /// Of the direction from which the smaller of the two comes, and of the other.
    sequences: [Parts; 2],
    touched: u64,
}

impl Call {
    /// The packet sequence under way in the direction of `stream`; without one directions are not known.
    pub(crate) fn sequence(&mut self, stream: Option<Stream>) -> Option<&mut Parts> {
        let stream = stream?;
        let [first, second] = &mut self.sequences;
        Some(if stream <= stream.back() {
            first
        } else {
            second
        })
    }
}

/// All that are known.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: BTreeMap<Place, Call>,
}

impl Calls {
    /// A call begins; one that was there is over.
    pub(crate) fn begin(&mut self, place: Place, packet: u64, protocol: Option<&'static str>) {
        if !self.calls.contains_key(&place) && self.calls.len() >= MOST_CALLS {
            let oldest = self.calls.iter().min_by_key(|(_, call)| call.touched);
            if let Some(oldest) = oldest.map(|(place, _)| *place) {
                self.calls.remove(&oldest);
            }
        }
        let call = Call {
            protocol,
            touched: packet,
            ..Call::default()
        };
        self.calls.insert(place, call);
    }

    /// The call at a place, if its beginning was seen.
    pub(crate) fn call(&mut self, place: Place, packet: u64) -> Option<&mut Call> {
        let call = self.calls.get_mut(&place)?;
        call.touched = packet;
        Some(call)
    }

    pub(crate) fn unfinished(&self) -> impl Iterator<Item = Unfinished> + '_ {
        self.calls.iter().flat_map(|(place, call)| {
            let name = |at: &str| match place.stream {
                Some(stream) => format!("packet sequence of X.25{at} {stream}"),
                None => format!("packet sequence of X.25 on channel {}", place.channel),
            };
            let [first, second] = &call.sequences;
            let first = first.unfinished(name(""));
            let second = second.unfinished(name(", the other way,"));
            first.into_iter().chain(second)
        })
    }
}
