//! What a program has got, held against what the other one wrote.

use std::sync::Arc;

use kumiki_octets::crc::Aal5Crc;
use kumiki_octets::{Message, Pattern};

use super::Facts;
use kumiki_lab::workload::sink::first_wrong;

/// What is to come.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) pattern: Pattern,
    /// Of who writes it.
    pub(crate) facts: Arc<Facts>,
    /// Messages and tags come as they were written.
    pub(crate) messages: bool,
    /// What is lost is not retransmitted.
    pub(crate) gaps: bool,
    /// Octets may be wrong: nothing protects them.
    pub(crate) wrong: bool,
}

/// What has come.
#[derive(Debug)]
pub(super) struct ReceivedStream {
    expected: Expected,
    pub(super) octets: u64,
    /// The position of what comes next; none after a gap.
    position: Option<u64>,
    /// No later octet comes before this one.
    least: u64,
    crc: Aal5Crc,
}

impl ReceivedStream {
    pub(super) const fn new(expected: Expected) -> Self {
        Self { expected, octets: 0, position: Some(0), least: 0, crc: Aal5Crc::new() }
    }

    /// CRC-32 of what came as real octets.
    pub(super) fn crc(&self) -> u32 {
        self.crc.finish()
    }

    /// Data as it is delivered.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn take(&mut self, data: &Message, tag: Option<[u8; 8]>, end: bool) -> Result<(), String> {
        if data.slices().iter().all(|slice| slice.pattern().is_none()) {
            data.for_each(|octets| self.crc.update(octets));
        }
        let octets = data.len() as u64;
        self.octets += octets;
        let Some(from) = self.place(data, tag)? else {
            return Ok(());
        };
        let to = from + octets;
        (self.position, self.least) = (Some(to), to);
        let Expected { pattern, facts, messages, wrong, .. } = &self.expected;
        if !wrong && let Some(position) = first_wrong(*pattern, from, data) {
            return Err(format!("octet {position} of the stream was delivered wrong"));
        }
        if !messages {
            return Ok(());
        }
        let (tags, ends) = facts.marks(from, to);
        // A gap can swallow the end of a message and what begins the next one.
        if !tags.is(tag.is_some()) {
            return Err(format!("octets {from} to {to} came with the tag {tag:02x?}, and written was: {tags:?}"));
        }
        if !ends.is(end) {
            return Err(format!("octets {from} to {to} end a message: {end}, and written was: {ends:?}"));
        }
        Ok(())
    }

    /// Where in the stream `data` belongs; none where that cannot be said.
    fn place(&mut self, data: &Message, tag: Option<[u8; 8]>) -> Result<Option<u64>, String> {
        let Expected { pattern, gaps, wrong, .. } = self.expected;
        let told = tag.map(u64::from_be_bytes);
        if !gaps {
            if let Some(told) = told
                && !wrong
                && told != self.octets - data.len() as u64
            {
                return Err(format!("the tag of octet {told} came with another octet"));
            }
            return Ok(self.position);
        }
        if wrong {
            return Ok(None);
        }
        if let Some(told) = told {
            if told < self.least {
                return Err(format!("octet {told} came when {} had come", self.least));
            }
            return Ok(Some(told));
        }
        // Where a message went in two packets, one of them may be missing.
        self.position = self.position.filter(|at| first_wrong(pattern, *at, data).is_none());
        Ok(self.position)
    }
}
