//! What somebody outside a graph has left for one of its nodes: the node runs before anything that came to the graph
//! later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kumiki_graph::{Instant, NodeId, Token};

use super::{Executor, GraphId, Host};
use crate::clock::Clock;

/// Who is to be woken, and whether somebody has asked for it.
#[derive(Debug)]
pub(super) struct Attention {
    asked: Arc<AtomicBool>,
    node: NodeId,
    token: Token,
}

impl<C: Clock> Executor<C> {
    /// From now on `node` of the graph `id` [is woken](kumiki_graph::Graph::wake) with `token` whenever `asked` is set,
    /// which that clears. Who sets it rings the [bell](Executor::bell) too.
    ///
    /// What was read from a device comes after what had been asked before it was read. So who listens, and then calls
    /// by way of a device, finds that it listens.
    pub fn attend(&mut self, id: GraphId, node: NodeId, token: Token, asked: Arc<AtomicBool>) {
        if let Some(host) = self.hosts.get_mut(id.0) {
            host.attention = Some(Attention { asked, node, token });
        }
    }
}

impl Host {
    /// Wakes the node for which something was left. To be called before anything comes to the graph.
    #[inline]
    pub(super) fn attend(&mut self, now: Instant) {
        if let Some(Attention { asked, node, token }) = &self.attention
            // It is seldom set, and looking costs less than clearing.
            && asked.load(Ordering::Acquire)
            && asked.swap(false, Ordering::AcqRel)
        {
            self.graph.wake(now, *node, *token);
        }
    }
}
