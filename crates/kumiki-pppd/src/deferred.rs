//! A program that begins when the link is up; one that only listens may begin with the graph.

use core::net::IpAddr;

use kumiki_graph::{
    Above, Below, Context, Graph, Indication, Instant, Key, NodeId, Protocol, Reason, Request, Shape, Token,
};

use kumiki_live::Watcher;

/// The token by which its owner has it begin.
const BEGIN: Token = Token { session: kumiki_graph::Handle { index: u32::MAX, generation: u32::MAX }, kind: u32::MAX };

/// The node: `program`, once it may begin.
pub(super) struct DeferredProgram<P> {
    program: P,
    /// It begins with the graph.
    at_once: bool,
    has_begun: bool,
}

impl<P: Protocol> Protocol for DeferredProgram<P> {
    fn shape(&self) -> Shape {
        self.program.shape()
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        if self.at_once {
            self.has_begun = true;
            self.program.start(cx);
        }
    }

    fn bind(&mut self, above: Above, keys: &[Key]) -> Result<(), String> {
        self.program.bind(above, keys)
    }

    fn attach(&mut self, below: Below, name: &str) -> Result<(), String> {
        self.program.attach(below, name)
    }

    fn push(&mut self, from: Above, request: Request, cx: &mut Context<'_>) {
        self.program.push(from, request, cx);
    }

    fn pop(&mut self, from: Below, indication: Indication, cx: &mut Context<'_>) {
        self.program.pop(from, indication, cx);
    }

    fn expire(&mut self, token: Token, cx: &mut Context<'_>) {
        if token != BEGIN {
            self.program.expire(token, cx);
        } else if !core::mem::replace(&mut self.has_begun, true) {
            self.program.start(cx);
        }
    }

    fn ready(&mut self, token: Token, cx: &mut Context<'_>) {
        self.program.ready(token, cx);
    }

    fn settle(&mut self, cx: &mut Context<'_>) {
        self.program.settle(cx);
    }
}

/// A program on top of a link, whatever it is.
pub(super) trait LinkProgram {
    /// The node; asked for once.
    fn node(&mut self) -> Box<dyn Protocol>;

    /// Has the program begin with the graph, whatever the addresses will be.
    fn set_at_once(&mut self);

    /// The link is up, between these addresses, and nothing was begun before.
    fn begin(&mut self, graph: &mut Graph, node: NodeId, now: Instant, ends: (IpAddr, IpAddr));

    /// Looks at the node after each pass; true where it is done.
    fn look(&mut self, graph: &Graph, node: NodeId, now: Instant) -> bool;

    /// Has the program end what it has open in the next pass, for this reason; asked for once at most.
    fn stop(&mut self, graph: &mut Graph, node: NodeId, now: Instant, why: Reason);
}

/// A program that is made of the addresses of the link, and who watches it.
pub(super) struct WatchedProgram<'a, P, M, W> {
    /// Makes the program of our address and the peer's. Before they are known it is made once, of addresses that mean
    /// nothing.
    pub(super) make: M,
    /// It begins with the graph.
    pub(super) at_once: bool,
    /// Watches it.
    pub(super) watcher: &'a mut W,
    /// Which kind of program.
    pub(super) kind: core::marker::PhantomData<P>,
}

impl<P, M, W> LinkProgram for WatchedProgram<'_, P, M, W>
where
    P: Protocol,
    M: FnMut(IpAddr, IpAddr) -> P,
    W: Watcher<P>,
{
    fn node(&mut self) -> Box<dyn Protocol> {
        let nowhere = IpAddr::from([0, 0, 0, 0]);
        Box::new(DeferredProgram { program: (self.make)(nowhere, nowhere), at_once: self.at_once, has_begun: false })
    }

    fn set_at_once(&mut self) {
        self.at_once = true;
    }

    fn begin(&mut self, graph: &mut Graph, node: NodeId, now: Instant, ends: (IpAddr, IpAddr)) {
        if self.at_once {
            return;
        }
        let program = (self.make)(ends.0, ends.1);
        if let Some(later) = graph.protocol_mut::<DeferredProgram<P>>(node) {
            later.program = program;
        }
        graph.wake(now, node, BEGIN);
    }

    fn look(&mut self, graph: &Graph, node: NodeId, now: Instant) -> bool {
        let later = graph.protocol::<DeferredProgram<P>>(node);
        later.filter(|later| later.has_begun).is_some_and(|later| self.watcher.look(&later.program, now))
    }

    fn stop(&mut self, graph: &mut Graph, node: NodeId, now: Instant, why: Reason) {
        let later = graph.protocol_mut::<DeferredProgram<P>>(node).filter(|later| later.has_begun);
        if let Some(token) = later.and_then(|later| self.watcher.stop(&mut later.program, why)) {
            graph.wake(now, node, token);
        }
    }
}
