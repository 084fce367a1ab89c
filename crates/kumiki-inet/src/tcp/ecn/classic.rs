//! Classic feedback: ECN-Echo until the peer says that its window was reduced.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 3168 sections 6.1.2 and 6.1.3 |

use kumiki_wire::inet::tcp::Flags;

/// The variables of one connection.
#[derive(Debug, Default)]
pub(crate) struct Classic {
    /// A mark came, and no CWR since: acknowledgments carry ECE.
    echoes: bool,
    /// The window was reduced, and the next new data carries CWR.
    cwr: bool,
    /// The same before the last reduction.
    before: bool,
}

impl Classic {
    /// An acceptable segment came, with CWR or without; `marked`: it is data, with CE.
    pub(super) const fn on_segment(&mut self, cwr: bool, marked: bool) {
        // What carries CWR may have been marked itself.
        self.echoes = (self.echoes && !cwr) || marked;
    }

    /// ECE, where it is due.
    pub(super) const fn echo(&self) -> Flags {
        if self.echoes { Flags::ECE } else { Flags::NONE }
    }

    pub(super) const fn on_reduced(&mut self) {
        self.before = self.cwr;
        self.cwr = true;
    }

    pub(super) const fn on_undone(&mut self) {
        self.cwr = self.before;
    }

    /// New data is about to be sent: whether it carries CWR.
    pub(super) const fn take_cwr(&mut self) -> bool {
        core::mem::replace(&mut self.cwr, false)
    }
}
