//! Frames that wait one behind the other.

use std::collections::VecDeque;

use super::QueuedFrame;

/// What all lanes of a queue hold together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueTotals {
    pub(super) frames: u64,
    pub(super) octets: u64,
}

impl QueueTotals {
    pub(super) const fn add(&mut self, octets: u64) {
        self.frames += 1;
        self.octets += octets;
    }

    pub(super) const fn remove(&mut self, octets: u64) {
        self.frames -= 1;
        self.octets -= octets;
    }
}

/// Frames in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Lane {
    frames: VecDeque<QueuedFrame>,
    octets: u64,
}

impl Lane {
    pub(super) fn push(&mut self, frame: QueuedFrame, held: &mut QueueTotals) {
        let octets = frame.octets();
        self.octets += octets;
        held.add(octets);
        self.frames.push_back(frame);
    }

    pub(super) fn pop(&mut self, held: &mut QueueTotals) -> Option<QueuedFrame> {
        let frame = self.frames.pop_front()?;
        let octets = frame.octets();
        self.octets -= octets;
        held.remove(octets);
        Some(frame)
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) const fn octets(&self) -> u64 {
        self.octets
    }

    pub(super) fn take_all(&mut self, held: &mut QueueTotals) -> Vec<QueuedFrame> {
        held.frames -= self.frames.len() as u64;
        held.octets -= core::mem::take(&mut self.octets);
        self.frames.drain(..).collect()
    }
}
