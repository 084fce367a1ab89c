//! What is under way between the nodes of the running task, in order.

use std::collections::VecDeque;

use crate::assembly::Record;
use crate::graph::NodeId;
use crate::{Handle, Indication, Request};

/// Where a primitive goes: the node, the port there (of its users where it goes down, of the layers below where it goes up), and whether down.
///
/// In one word, so that it is read as it was written: a processor waits for what was written in pieces and is read as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop(u64);

impl Hop {
    #[inline]
    pub(crate) const fn down(node: NodeId, port: u16) -> Self {
        Self((node.0 as u64) << 32 | (port as u64) << 1 | 1)
    }

    #[inline]
    pub(crate) const fn up(node: NodeId, port: u16) -> Self {
        Self((node.0 as u64) << 32 | (port as u64) << 1)
    }

    /// To a node, by none of its ports.
    pub(crate) const fn to(node: NodeId) -> Self {
        Self::up(node, 0)
    }

    #[inline]
    pub(crate) const fn node(self) -> NodeId {
        NodeId((self.0 >> 32) as u32)
    }

    #[inline]
    pub(crate) const fn port(self) -> u16 {
        (self.0 >> 1 & 0xffff) as u16
    }

    #[inline]
    pub(crate) const fn is_down(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Primitives on their way, first in, first out.
///
/// They are kept apart from where they go, and by direction, so that each is moved as a whole, once in and once out.
#[derive(Default)]
pub(crate) struct UnderWay {
    /// Beside each the record of a tap that it follows from: see [`Core::follow`](crate::assembly::Core::follow).
    hops: VecDeque<(Hop, Option<Record>)>,
    requests: VecDeque<Request>,
    indications: VecDeque<Indication>,
}

impl UnderWay {
    /// `request` goes by `hop`, which goes down.
    #[inline]
    pub(crate) fn put_request(&mut self, hop: Hop, record: Option<Record>, request: Request) {
        self.hops.push_back((hop, record));
        self.requests.push_back(request);
    }

    /// `indication` goes by `hop`, which goes up.
    #[inline]
    pub(crate) fn put_indication(&mut self, hop: Hop, record: Option<Record>, indication: Indication) {
        self.hops.push_back((hop, record));
        self.indications.push_back(indication);
    }

    /// Takes the first hop. What goes by it must be taken next.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Hop, Option<Record>)> {
        self.hops.pop_front()
    }

    /// What goes down by the hop just taken.
    #[inline]
    pub(crate) fn request(&mut self) -> Request {
        take(&mut self.requests, Request::Cancel { user: NOBODY })
    }

    /// What goes up by the hop just taken.
    #[inline]
    pub(crate) fn indication(&mut self) -> Indication {
        take(&mut self.indications, Indication::Closed { session: NOBODY })
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.hops.is_empty()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.hops.len()
    }

    /// Drops all. Where nothing is left, what comes next begins at the front of the room again, and so uses the same few lines of the
    /// cache each time.
    pub(crate) fn clear(&mut self) {
        self.hops.clear();
        self.requests.clear();
        self.indications.clear();
    }
}

const NOBODY: Handle = Handle { index: 0, generation: 0 };

/// Takes the first out of `queue`; `nothing`, which owns nothing, where there is none.
///
/// As a whole: taken as an option it would come in two pieces, for which see [`Hop`].
#[inline]
fn take<T>(queue: &mut VecDeque<T>, nothing: T) -> T {
    let mut taken = nothing;
    if let Some(first) = queue.front_mut() {
        core::mem::swap(first, &mut taken);
        core::mem::forget(queue.pop_front());
    }
    taken
}
