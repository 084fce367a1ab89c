//! The end of what never ends by itself: nodes of one task that answer each other at once.

use core::fmt;

use super::{Graph, NodeId};
use crate::Instant;
use crate::assembly::End;
use crate::under_way::Hop;

/// So many steps may follow from one input, unless set otherwise: seconds of real time. A host that talks to itself
/// over a loopback may move gigabytes by one input where its work takes no time.
const STEPS: u64 = 20_000_000;
/// The bound is looked at each time that so many steps have been made.
const LOOK: u64 = 1 << 16;
/// So much may be in flight in a task at once; it is a few hundred megabytes, and honest layers keep to their credit.
const UNDER_WAY: usize = 1 << 20;

/// What follows from one input has no end, or none that is in sight: nodes answer each other at once, and time does not
/// go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standstill {
    /// When.
    pub at: Instant,
    /// How many primitives have followed from one input.
    pub steps: u64,
    /// The node that sent the last of them.
    pub from: String,
    /// The node that it was for.
    pub to: String,
}

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, steps, from, to } = self;
        write!(
            f,
            "livelock at {at}: {steps} steps have followed from one input, the last from `{from}` to `{to}`; layers there answer each other at once, without end"
        )
    }
}

impl core::error::Error for Standstill {}

/// How many steps are left to what follows from the present input.
pub(super) struct Bound {
    most: u64,
    /// Steps that have been made before the present stretch, and that it has.
    made: u64,
    stretch: u64,
    /// Of the stretch, those that are left.
    left: u64,
    found: Option<Box<Standstill>>,
}

impl Default for Bound {
    fn default() -> Self {
        let mut bound = Self { most: STEPS, made: 0, stretch: 0, left: 0, found: None };
        bound.begin_again();
        bound
    }
}

impl Bound {
    /// An input begins, or a batch settles.
    #[inline]
    pub(super) const fn begin(&mut self) {
        if self.made > 0 {
            self.begin_again();
        }
        self.left = self.stretch;
    }

    /// The first stretch, unless it stands still for good.
    const fn begin_again(&mut self) {
        if self.found.is_some() {
            return;
        }
        self.made = 0;
        self.stretch = if self.most < LOOK { self.most } else { LOOK };
    }

    /// One step more; true where it is time to look at how many there have been.
    #[inline]
    pub(super) const fn step(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }
}

impl Graph {
    /// Sets how many primitives may follow from one input within its task, 20 million unless set; at least 1.
    pub const fn set_steps(&mut self, steps: u64) {
        self.bound.most = if steps == 0 { 1 } else { steps };
        self.bound.begin_again();
    }

    /// Where the graph stands still, if it does: it does nothing any more.
    #[must_use]
    pub fn standstill(&self) -> Option<&Standstill> {
        self.bound.found.as_deref()
    }

    /// Whether a stretch of steps was one too many, of which `hop` would be the last; then the graph stands still.
    #[cold]
    pub(super) fn is_too_much(&mut self, hop: Hop) -> bool {
        if self.bound.found.is_some() {
            // What others of the batch still say when they settle.
            self.core.under_way.clear();
            return true;
        }
        let bound = &mut self.bound;
        bound.made += bound.stretch;
        bound.stretch = LOOK.min(bound.most.saturating_sub(bound.made));
        bound.left = bound.stretch;
        if bound.stretch > 0 && self.core.under_way.len() <= UNDER_WAY {
            return false;
        }
        let steps = bound.made;
        let name = |node: NodeId| {
            let node = self.core.nodes.get(node.index());
            node.map(|it| it.name.clone())
        };
        let to = self.core.nodes.get(hop.node().index());
        let ways = to.map(|to| if hop.is_down() { &to.above } else { &to.below });
        let way = ways.and_then(|ways| ways.get(usize::from(hop.port())));
        let from = way.and_then(|way| match way.to {
            End::Node { node, .. } => name(node),
            End::Device(device) => {
                let device = self.core.devices.get(device as usize);
                device.map(|it| it.name.clone())
            }
        });
        let found = Standstill {
            at: self.core.now(),
            steps,
            from: from.unwrap_or_default(),
            to: name(hop.node()).unwrap_or_default(),
        };
        self.bound.found = Some(Box::new(found));
        (self.bound.stretch, self.bound.left) = (0, 0);
        self.core.under_way.clear();
        for node in core::mem::take(&mut self.core.touched) {
            if let Some(info) = self.core.nodes.get_mut(node.index()) {
                info.touched = false;
            }
        }
        true
    }
}
