//! What the last frame of each SONET/SDH line leaves for the next one to be judged by.

use std::collections::BTreeMap;

/// Lines at most.
pub const MOST_LINES: usize = 64;

/// What is kept of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreviousFrame {
    /// The number of its packet.
    pub(crate) packet: u64,
    /// The parity of the frame as it was on the line.
    pub(crate) b1: u8,
    /// The N parities of what B2 covers.
    pub(crate) b2: Vec<u8>,
    /// Its pointer, if that was one.
    pub(crate) pointer: Option<u16>,
}

/// The last frame of each line.
#[derive(Debug, Default)]
pub(crate) struct Lines(BTreeMap<u32, PreviousFrame>);

impl Lines {
    /// The last frame of a line.
    pub(crate) fn get(&self, interface: u32) -> Option<&PreviousFrame> {
        self.0.get(&interface)
    }

    /// Puts in the frame of a line that came last, and takes out the one before it.
    pub(crate) fn put(&mut self, interface: u32, last: PreviousFrame) -> Option<PreviousFrame> {
        let before = self.0.insert(interface, last);
        if self.0.len() > MOST_LINES {
            // The one whose last frame is longest ago.
            let oldest = self.0.iter().min_by_key(|(_, kept)| kept.packet);
            if let Some(oldest) = oldest.map(|(interface, _)| *interface) {
                self.0.remove(&oldest);
            }
        }
        before
    }
}
