//! What LAPB and a line that is not always there say to each other.

use kumiki_octets::Payload;

/// Whether a link is wanted: a switched circuit is called for it, and cleared when it is wanted no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkWanted(pub bool);

impl Payload for LinkWanted {}

/// Which end of the line this is from here on, where that is not fixed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineEnd {
    /// The DTE, and otherwise the DCE.
    pub dte: bool,
}

impl Payload for LineEnd {}
