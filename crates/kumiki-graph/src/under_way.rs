//! What is in flight between the nodes of the running task, in order.

use std::collections::VecDeque;

use crate::assembly::Record;
use crate::graph::{NodeId, rewind};
use crate::{Handle, Indication, Request};

/// Where a primitive goes: the node, the port there (of its users where it goes down, of the layers below where it goes
/// up), and whether down.
///
/// In one word, so that it is read as it was written: a processor waits for what was written in pieces and is read as a
/// whole.
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
/// Most inputs are handed on as one primitive at a time, or two, so the first two have places of their own, where they
/// are put and from where they are taken without any reckoning; behind them is a queue. Requests and indications are
/// kept apart from where they go, and from each other, so that each is moved as a whole, once in and once out.
pub(crate) struct UnderWay {
    /// There is a first; a second; where there is none, nothing is queued.
    is_some: bool,
    are_two: bool,
    first: PrimitiveSlot,
    second: PrimitiveSlot,
    queued: Queued,
}

/// One of them: `hop` and, by its direction, `request` or `indication`.
struct PrimitiveSlot {
    /// Beside the hop the record of a tap that it follows from: see [`Core::follow`](crate::assembly::Core::follow).
    hop: (Hop, Option<Record>),
    request: Request,
    indication: Indication,
}

impl PrimitiveSlot {
    const EMPTY: Self = Self { hop: (Hop(0), None), request: NO_REQUEST, indication: NO_INDICATION };
}

/// What comes behind the first two.
#[derive(Default)]
struct Queued {
    hops: VecDeque<(Hop, Option<Record>)>,
    requests: VecDeque<Request>,
    indications: VecDeque<Indication>,
}

const NOBODY: Handle = Handle { index: 0, generation: 0 };
/// What stands where there is no request; it owns nothing.
const NO_REQUEST: Request = Request::Cancel { user: NOBODY };
/// What stands where there is no indication; it owns nothing.
const NO_INDICATION: Indication = Indication::Closed { session: NOBODY };

impl Default for UnderWay {
    fn default() -> Self {
        Self {
            is_some: false,
            are_two: false,
            first: PrimitiveSlot::EMPTY,
            second: PrimitiveSlot::EMPTY,
            queued: Queued::default(),
        }
    }
}

impl UnderWay {
    /// `request` goes by `hop`, which goes down.
    #[inline]
    pub(crate) fn put_request(&mut self, hop: Hop, record: Option<Record>, request: Request) {
        let place = if !core::mem::replace(&mut self.is_some, true) {
            &mut self.first
        } else if !core::mem::replace(&mut self.are_two, true) {
            &mut self.second
        } else {
            self.queued.hops.push_back((hop, record));
            self.queued.requests.push_back(request);
            return;
        };
        place.hop = (hop, record);
        put(&mut place.request, request);
    }

    /// `indication` goes by `hop`, which goes up.
    #[inline]
    pub(crate) fn put_indication(&mut self, hop: Hop, record: Option<Record>, indication: Indication) {
        let place = if !core::mem::replace(&mut self.is_some, true) {
            &mut self.first
        } else if !core::mem::replace(&mut self.are_two, true) {
            &mut self.second
        } else {
            self.queued.hops.push_back((hop, record));
            self.queued.indications.push_back(indication);
            return;
        };
        place.hop = (hop, record);
        put(&mut place.indication, indication);
    }

    /// The first hop. What goes by it must be taken next.
    #[inline]
    pub(crate) const fn next(&self) -> Option<(Hop, Option<Record>)> {
        if self.is_some { Some(self.first.hop) } else { None }
    }

    /// Takes what goes down by the first hop.
    #[inline]
    pub(crate) fn request(&mut self) -> Request {
        let request = core::mem::replace(&mut self.first.request, NO_REQUEST);
        self.advance();
        request
    }

    /// Takes what goes up by the first hop.
    #[inline]
    pub(crate) fn indication(&mut self) -> Indication {
        let indication = core::mem::replace(&mut self.first.indication, NO_INDICATION);
        self.advance();
        indication
    }

    /// The second, if there is one, becomes the first.
    #[inline]
    fn advance(&mut self) {
        self.is_some = self.are_two;
        if self.are_two {
            self.move_up();
        }
    }

    fn move_up(&mut self) {
        let (first, second) = (&mut self.first, &mut self.second);
        first.hop = second.hop;
        if second.hop.0.is_down() {
            put(&mut first.request, core::mem::replace(&mut second.request, NO_REQUEST));
        } else {
            put(&mut first.indication, core::mem::replace(&mut second.indication, NO_INDICATION));
        }
        self.are_two = false;
        if !self.queued.hops.is_empty() {
            self.take_queued();
        }
    }

    /// The next in the queue, if there is one, becomes the second.
    fn take_queued(&mut self) {
        let queued = &mut self.queued;
        let Some(hop) = queued.hops.pop_front() else {
            return;
        };
        self.are_two = true;
        self.second.hop = hop;
        if hop.0.is_down() {
            put(&mut self.second.request, take(&mut queued.requests, NO_REQUEST));
        } else {
            put(&mut self.second.indication, take(&mut queued.indications, NO_INDICATION));
        }
        if queued.hops.is_empty() {
            // What comes next begins at the front of the room again, and so uses the same few lines of the cache each
            // time.
            queued.rewind();
        }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        !self.is_some
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.is_some) + usize::from(self.are_two) + self.queued.hops.len()
    }

    /// Drops all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Queued {
    /// All are empty.
    fn rewind(&mut self) {
        rewind(&mut self.hops);
        rewind(&mut self.requests);
        rewind(&mut self.indications);
    }
}

/// Puts `value` where something stands that owns nothing.
#[inline]
const fn put<T>(place: &mut T, value: T) {
    core::mem::forget(core::mem::replace(place, value));
}

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kumiki_octets::Payload;
    use proptest::prelude::*;

    use super::*;
    use crate::{Parameters, Unit};

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Step {
        Down(u16),
        Up(u16),
        Take,
        Clear,
    }

    /// What a primitive owns: a number, and what tells how many there are.
    #[derive(Clone, PartialEq, Debug)]
    struct Owned(u16, Arc<()>);

    impl Payload for Owned {}

    fn unit(owned: Owned) -> Box<Unit> {
        Box::new(Unit { parameters: Parameters::of(owned), ..Unit::default() })
    }

    fn number(unit: &Unit) -> u16 {
        unit.parameters.get::<Owned>().unwrap().0
    }

    fn taken(under_way: &mut UnderWay) -> Option<Step> {
        let (hop, _) = under_way.next()?;
        let (step, number) = if hop.is_down() {
            let Request::Unit(unit) = under_way.request() else { panic!("no request") };
            (Step::Down(hop.port()), number(&unit))
        } else {
            let Indication::Unit(unit) = under_way.indication() else { panic!("no indication") };
            (Step::Up(hop.port()), number(&unit))
        };
        assert_eq!(hop.port(), number);
        Some(step)
    }

    proptest! {
        #[test]
        fn it_is_a_queue_that_keeps_nothing_of_what_was_taken(
            steps in prop::collection::vec(
                prop_oneof![
                    20 => any::<u16>().prop_map(Step::Down),
                    20 => any::<u16>().prop_map(Step::Up),
                    35 => Just(Step::Take),
                    1 => Just(Step::Clear),
                ],
                0..200,
            ),
        ) {
            let (mut under_way, mut plain) = (UnderWay::default(), VecDeque::new());
            let count = Arc::new(());
            for step in steps {
                match step {
                    Step::Down(port) => {
                        let request = Request::Unit(unit(Owned(port, count.clone())));
                        under_way.put_request(Hop::down(NodeId(1), port), None, request);
                        plain.push_back(step);
                    }
                    Step::Up(port) => {
                        let indication = Indication::Unit(unit(Owned(port, count.clone())));
                        under_way.put_indication(Hop::up(NodeId(1), port), None, indication);
                        plain.push_back(step);
                    }
                    Step::Take => prop_assert_eq!(taken(&mut under_way), plain.pop_front()),
                    Step::Clear => {
                        under_way.clear();
                        plain.clear();
                    }
                }
                prop_assert_eq!((under_way.len(), under_way.is_empty()), (plain.len(), plain.is_empty()));
                // The first place is written over without a look at what stood there.
                prop_assert_eq!(Arc::strong_count(&count), 1 + plain.len());
            }
        }
    }
}
