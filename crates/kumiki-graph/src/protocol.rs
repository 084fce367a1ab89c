//! What a protocol is to the graph.

use core::any::Any;

use crate::{Context, Handle, Indication, Key, Request, Service, Unit};

/// One of a node's users, counted from 0 in the order in which they were connected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Above(pub u16);

/// One of the layers below a node, counted from 0 in the order in which they were connected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Below(pub u16);

/// What a node told the graph to give back to it when a timer expires or pages come free.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Token {
    /// The session concerned, under the node's own handle.
    pub session: Handle,
    /// Which of the session's timers or waits.
    pub kind: u32,
}

/// How a node fits between its neighbours; the graph checks it when it is built.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// The service offered to users; `None` where there can be none.
    pub offers: Option<Service>,
    /// The services it can stand on.
    pub needs: &'static [Service],
    /// The fewest and the most layers below.
    pub below: (u16, u16),
    /// Under which keys layers below find it.
    pub keys: Vec<Key>,
}

/// A node of the graph: a protocol, a virtual protocol, or a program at the top.
///
/// A protocol has no clock, no randomness and no neighbours of its own: all of that is in the [`Context`] it is given.
/// It answers an input by appending primitives to the context; the graph delivers them after the method has returned,
/// so a protocol is never re-entered.
///
/// The trace that a graph leaves does not depend on how many inputs its executor takes at a time, but for what
/// [`Protocol::settle`] decides, and for the order in which a task gets what comes to it from several sides in the same
/// nanosecond.
///
/// A program that sends a frame each second:
///
/// ```
/// use kumiki_graph::{
///     Above, Below, Context, Duration, Graph, Indication, Instant, Protocol, Request, Service, Shape, TimerSlot, Token,
///     Unit,
/// };
/// use kumiki_octets::Message;
///
/// #[derive(Default)]
/// struct Beacon {
///     timer: TimerSlot,
/// }
///
/// impl Protocol for Beacon {
///     fn shape(&self) -> Shape {
///         Shape { needs: &[Service::FRAME], below: (1, 1), ..Shape::default() }
///     }
///
///     fn start(&mut self, cx: &mut Context<'_>) {
///         self.expire(Token::default(), cx);
///     }
///
///     fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
///         let frame = Unit::of(Message::from_octets(b"here"));
///         cx.down(Below(0), Request::Unit(Box::new(frame)));
///         let next = cx.now() + Duration::from_secs(1);
///         cx.set_timer(&mut self.timer, token, next);
///     }
///
///     fn pop(&mut self, _: Below, _: Indication, cx: &mut Context<'_>) {
///         cx.drop("a beacon hears nothing"); // counted, with its reason
///     }
///
///     fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
/// }
///
/// let mut graph = Graph::new(1, 0);
/// graph.add_device("line", Service::FRAME)?;
/// let task = graph.add_task("cpu");
/// graph.add_node("beacon", task, Box::new(Beacon::default()))?;
/// graph.connect("beacon", "line")?;
/// graph.start(Instant::ZERO)?;
/// graph.run(task, Instant::ZERO, 16);
/// assert!(graph.output().is_some());
///
/// let then = graph.next_timer().expect("it goes on");
/// assert_eq!(then, Instant::ZERO + Duration::from_secs(1));
/// graph.fire(then);
/// graph.run(task, then, 16);
/// assert!(graph.output().is_some());
/// # Ok::<(), kumiki_graph::GraphError>(())
/// ```
pub trait Protocol: Any + Send {
    /// How it fits between its neighbours.
    fn shape(&self) -> Shape;

    /// A user has been connected; `keys` are those under which it wants to be found.
    ///
    /// # Errors
    /// Says in words why there cannot be such a user.
    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        let _ = (above, keys);
        Ok(())
    }

    /// Whether the layers below tell its users apart, because it hands on their units without a number of its own: it
    /// has no header, or its users share what it knows.
    ///
    /// The graph then makes an access point to each layer below for the node itself, where [`Shape::keys`] has any, and
    /// one for each of its users, bound under the user's keys; in this order, users in theirs. [`Protocol::attach`] is
    /// called for each of them. So what comes from one of them is for that user, and what is sent by it is the user's.
    fn passes_users_through(&self) -> bool {
        false
    }

    /// A layer called `name` has been connected below.
    ///
    /// # Errors
    /// Says in words why it cannot stand on it.
    fn attach(&mut self, below: Below, name: &str) -> Result<(), String> {
        let _ = (below, name);
        Ok(())
    }

    /// The executor has started; called once, before any input.
    fn start(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// A request or response from a user above.
    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>);

    /// An indication or confirm from below.
    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>);

    /// Whether units may go through it on a [path](crate::Graph::set_paths): then the graph offers it each unit by
    /// [`Protocol::pop_through`] or [`Protocol::push_through`] first. It need do nothing for paths, and is right
    /// without them.
    fn is_on_paths(&self) -> bool {
        false
    }

    /// Takes its header off `unit`, which has come by `from`, and says for which user the rest is: where that, and
    /// counting it, is all that [`Protocol::pop`] would come to. `None` for any other, which is left as it was, and
    /// goes to `pop` then.
    ///
    /// The layer is given no [`Context`], for what needs one is more than that, and is not [settled](Protocol::settle)
    /// for it.
    fn pop_through(&mut self, from: Below, unit: &mut Unit) -> Option<Above> {
        let _ = (from, unit);
        None
    }

    /// As [`Protocol::pop_through`], for what a user hands down: puts its header in front of `unit`, and says to which
    /// layer below it goes.
    fn push_through(&mut self, from: Above, unit: &mut Unit) -> Option<Below> {
        let _ = (from, unit);
        None
    }

    /// A timer armed with `token` has expired, or whoever owns the graph has [woken](crate::Graph::wake) the node with
    /// it.
    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        let _ = (token, cx);
    }

    /// Pages that a lease was refused for may be free.
    fn ready(&mut self, token: Token, cx: &mut Context<'_>) {
        let _ = (token, cx);
    }

    /// The batch is over: decide what should be decided once per batch, such as acknowledgements (RFC 9293 MUST-58).
    fn settle(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }
}
