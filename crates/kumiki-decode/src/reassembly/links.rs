//! Links of LAPB: how each numbers its frames, and which frame is in turn.

use std::collections::BTreeMap;

use kumiki_wire::x25::lapb::Modulo;

use crate::key::Side;

/// Links of which something is remembered; of more nothing is.
pub const MOST_LINKS: usize = 1024;

/// What is known of a link.
#[derive(Debug, Default)]
struct Link {
    extended: bool,
    /// The N(S) that comes next from the DTE and from the DCE, where one was seen.
    next: [Option<u8>; 2],
}

/// All that are known, by the interface of the capture.
#[derive(Debug, Default)]
pub(crate) struct Links(BTreeMap<u32, Link>);

impl Links {
    fn link(&mut self, interface: u32) -> Option<&mut Link> {
        if self.0.len() >= MOST_LINKS && !self.0.contains_key(&interface) {
            return None;
        }
        Some(self.0.entry(interface).or_default())
    }

    /// How frames are numbered on an interface.
    pub(crate) fn modulo(&self, interface: u32) -> Modulo {
        match self.0.get(&interface) {
            Some(link) if link.extended => Modulo::Extended,
            Some(_) | None => Modulo::Eight,
        }
    }

    /// A link is set up, and numbers begin with 0.
    pub(crate) fn set_up(&mut self, interface: u32, modulo: Modulo) {
        if let Some(link) = self.link(interface) {
            link.extended = modulo == Modulo::Extended;
            link.next = [Some(0); 2];
        }
    }

    /// Whether the I frame with this N(S) is in turn. What LAPB sends again after a loss, and what came behind the
    /// loss, is not: the receiver throws it away too.
    pub(crate) fn in_turn(&mut self, interface: u32, from: Side, ns: u8) -> bool {
        let count = self.modulo(interface).count();
        let Some(link) = self.link(interface) else {
            return true;
        };
        let [dte, dce] = &mut link.next;
        let next = match from {
            Side::Dte | Side::Here => dte,
            Side::Dce | Side::There => dce,
        };
        let right = next.is_none_or(|next| next == ns);
        if right {
            *next = Some(ns.wrapping_add(1) % count);
        }
        right
    }
}
