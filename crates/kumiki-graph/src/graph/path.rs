//! Paths: what a unit takes through layers that do no more with it than put a header in front of it, or take it off.
//!
//! The model is Mosberger and Peterson's ("Making Paths Explicit in the Scout Operating System", 1996): work that is
//! the same for every unit of a conversation is not decided again at every layer. Here nothing is composed ahead of
//! time, and so nothing has to be dissolved: a layer that [is on paths](crate::Protocol::is_on_paths) says of each unit
//! whether it goes through, by what it knows at that moment, and the graph carries the unit on to the next layer at
//! once. What does not go through is taken by the layer as it always is. So each layer decides for itself what it must
//! look at, and knows no other.
//!
//! It is the same way, without the stops: the layers' accounts and the steps are counted alike, and whoever takes the
//! unit takes it at the same time. A path begins only where nothing else is in flight, for then the unit would have
//! been the next in any case; at a tap, or where a layer's work has a price, there is none.
//!
//! | Left out | a table at the device's edge that finds the topmost layer from the packet's headers in one step: each layer finds its own user, which for the layers here is a comparison or two |
//! |---|---|

use super::{Graph, NodeId};
use crate::assembly::{EdgeEnd, End, Record};
use crate::under_way::Hop;
use crate::{Above, Below, Context, Indication, Request, Unit};

impl Graph {
    /// Whether units may take paths; they may unless set otherwise. What is sent, counted and recorded is the same with
    /// and without.
    pub const fn set_paths(&mut self, paths: bool) {
        self.core.paths = paths;
    }

    /// Whether a unit for `node` may take a path from there.
    #[inline]
    pub(super) fn begins_path(&self, node: NodeId) -> bool {
        let info = self.core.nodes.get(node.index());
        info.is_some_and(|info| info.on_paths && !info.priced)
            && self.core.paths
            && !self.core.tapping
            && self.core.under_way.is_empty()
    }

    /// Lets `indication` go up from `hop`, on a path where it is a unit.
    #[inline(never)]
    pub(super) fn pop_by_path(&mut self, hop: Hop, record: Option<Record>, indication: Indication) {
        if let Indication::Unit(unit) = indication {
            if let Some((hop, unit)) = self.go_through::<true>(hop, unit) {
                self.pop_here(hop, None, Indication::Unit(unit));
            }
        } else {
            self.pop_here(hop, record, indication);
        }
    }

    /// As [`Graph::pop_by_path`], down.
    #[inline(never)]
    pub(super) fn push_by_path(&mut self, hop: Hop, record: Option<Record>, request: Request) {
        if let Request::Unit(unit) = request {
            if let Some((hop, unit)) = self.go_through::<false>(hop, unit) {
                self.push_here(hop, None, Request::Unit(unit));
            }
        } else {
            self.push_here(hop, record, request);
        }
    }

    /// Lets `unit` go on from `hop`, up or down, through all layers that let it through; says who is to take it, if it
    /// is not gone then.
    fn go_through<const UP: bool>(&mut self, mut hop: Hop, mut unit: Box<Unit>) -> Option<(Hop, Box<Unit>)> {
        loop {
            let node = hop.node();
            let (info, protocol) = (self.core.nodes.get_mut(node.index())?, self.protocols.get_mut(node.index())?);
            if !info.on_paths || info.priced {
                return Some((hop, unit));
            }
            let octets = unit.data.len();
            let to = if UP {
                protocol.pop_through(Below(hop.port()), &mut unit).map(|to| to.0)
            } else {
                protocol.push_through(Above(hop.port()), &mut unit).map(|to| to.0)
            };
            let Some(to) = to else {
                return Some((hop, unit));
            };
            let account = &mut info.account;
            let (side, ways) = if UP { (&mut account.up, &info.above) } else { (&mut account.down, &info.below) };
            side.count_octets(octets);
            match ways.get(usize::from(to)) {
                Some(&EdgeEnd { within: true, to: End::Node { node, port }, .. }) => {
                    hop = if UP { Hop::up(node, port) } else { Hop::down(node, port) };
                }
                // Devices are only below.
                Some(&EdgeEnd { to: End::Device(device), .. }) if !UP => {
                    self.core.hand_out(device, Request::Unit(unit));
                    return None;
                }
                Some(EdgeEnd { .. }) | None => {
                    self.core.following = None;
                    let mut cx = Context { core: &mut self.core, node };
                    if UP {
                        cx.up(Above(to), Indication::Unit(unit));
                    } else {
                        cx.down(Below(to), Request::Unit(unit));
                    }
                    return None;
                }
            }
            if self.bound.step() && self.is_too_much(hop) {
                return None;
            }
        }
    }
}
