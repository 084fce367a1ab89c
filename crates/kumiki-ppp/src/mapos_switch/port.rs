//! A port: what is connected there, and whether broadcasts go through it.

use kumiki_graph::{Duration, Instant};

use crate::sdh::line::Line;

/// Whether the spanning tree uses a port: its bit in the broadcast/multicast routing table, and the timer before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Branch {
    /// The bit is not set.
    Off,
    /// The tree may use the port from a confirmation on that comes when `FORWARD_DELAY` has run since then.
    Waiting { since: Instant },
    /// The bit is set.
    On,
}

/// One line of the switch.
#[derive(Debug)]
pub(super) struct Port {
    /// Its number in addresses, the last bit included: 3 and odd.
    pub(super) number: u16,
    pub(super) line: Line,
    /// Until when there is a node, unless it asks for its address again; `None` where a switch is presumed.
    pub(super) node: Option<Instant>,
    pub(super) branch: Branch,
    /// `PORT_EXPIRATION`: until when a switch downstream is believed without another word from it.
    pub(super) expires: Option<Instant>,
    /// From when on a request for the whole table is answered again.
    pub(super) answers: Instant,
}

impl Port {
    pub(super) fn new(number: u16) -> Self {
        Self { number, line: Line::default(), node: None, branch: Branch::Off, expires: None, answers: Instant::ZERO }
    }

    /// Whether SSP is spoken here: the line works, and no node has made itself known.
    pub(super) fn leads_to_switch(&self) -> bool {
        self.line.is_up() && self.node.is_none()
    }

    /// Whether frames for several nodes are taken from here, and sent here.
    pub(super) fn forwards(&self) -> bool {
        self.line.is_up() && (self.node.is_some() || self.branch == Branch::On)
    }

    /// The tree does not use this port.
    pub(super) const fn prune(&mut self) {
        self.branch = Branch::Off;
        self.expires = None;
    }

    /// The switch at the other end has confirmed that the tree goes this way.
    pub(super) fn confirm(&mut self, forward_delay: Duration, now: Instant) {
        match self.branch {
            Branch::Off => self.branch = Branch::Waiting { since: now },
            Branch::Waiting { since } if now >= since + forward_delay => self.branch = Branch::On,
            Branch::Waiting { .. } | Branch::On => {}
        }
    }
}
