//! What is known of the sums of a message, and from where that is counted.

use super::{Checksum, Message, Meta, Short};
use crate::{Slice, Sum};

/// The longest headers in front of a checksummed part that are put to the front again after it has been completed.
const LONGEST_HEADERS: usize = 60;

impl Meta {
    /// `n` octets are put in front of what it counts from.
    #[inline]
    pub(super) fn move_back(&mut self, n: usize) {
        let by = u16::try_from(n).unwrap_or(u16::MAX);
        if self.header_len > 0 {
            self.header_len = self.header_len.saturating_add(by);
        }
        if let Checksum::Partial { start, .. } = &mut self.checksum {
            *start = start.saturating_add(by);
        }
    }
}

impl Message {
    /// Keeps the sum that a device took true to what is left.
    pub(super) fn pop_checksum(&mut self, n: usize) {
        if let Checksum::Sum(sum) = self.0.meta.checksum {
            let gone = self.sum_in(0, n);
            self.0.meta.checksum = Checksum::Sum(sum.without_prefix(n, gone));
        }
    }

    /// As [`Message::pop_checksum`], where the first `len` octets are left.
    pub(super) fn truncate_checksum(&mut self, len: usize) {
        if let Checksum::Sum(sum) = self.0.meta.checksum {
            let gone = self.sum_in(len, self.len() - len);
            self.0.meta.checksum = Checksum::Sum(sum.without(len, gone));
        }
    }

    /// The sum of `len` octets from position `from` on, read again.
    fn sum_in(&self, from: usize, len: usize) -> Sum {
        let (mut sum, mut at) = (Sum::ZERO, 0);
        self.for_each_in(from, len, |octets| {
            sum = sum.then(at, Sum::of(octets));
            at += octets.len();
        });
        sum
    }

    /// `n` octets are put to what a device has summed.
    pub(super) fn outgrow_sum(&mut self, n: usize) {
        if n > 0 && matches!(self.0.meta.checksum, Checksum::Sum(_)) {
            self.0.meta.checksum = Checksum::Unknown;
        }
    }

    /// The one's complement sum of all octets. What slices know of their sums is used, and is remembered.
    #[inline]
    pub fn sum(&mut self) -> Sum {
        let body = self.body_sum();
        match self.head() {
            [] => body,
            head => Sum::of(head).then(head.len(), body),
        }
    }

    #[inline]
    fn body_sum(&mut self) -> Sum {
        let (mut sum, mut at) = (Sum::ZERO, 0);
        self.0.summed = true;
        for slice in &mut self.0.body {
            sum = sum.then(at, slice.summed());
            at += slice.len();
        }
        sum
    }

    /// As [`Message::sum`], of what follows the first `n` octets.
    ///
    /// # Errors
    /// [`Short`] where the message has fewer.
    #[inline]
    pub fn sum_behind(&mut self, n: usize) -> Result<Sum, Short> {
        let head = self.head().len();
        if n == head {
            return Ok(self.body_sum());
        }
        let front = Sum::of(self.front(n)?);
        Ok(self.sum().without_prefix(n, front))
    }

    /// The content, to be summed, where that is one slice and nothing stands in the header buffer.
    pub(crate) fn only_slice(&mut self) -> Option<&mut Slice> {
        let inner = &mut *self.0;
        match inner.body.as_mut_slice() {
            [only] if inner.start == super::HEADROOM => {
                inner.summed = true;
                Some(only)
            }
            _ => None,
        }
    }

    /// How many content octets somebody has yet to read before the sum of this message is known.
    #[must_use]
    pub fn unsummed(&self) -> usize {
        self.0.body.iter().filter(|slice| !slice.is_summed()).map(Slice::len).sum()
    }

    /// Completes a checksum that was left to the device ([`Checksum::Partial`]), for who passes the datagram on in
    /// pieces. A checksum of zero is written as all ones (RFC 768). Gives how many octets had to be read for it.
    pub fn complete_checksum(&mut self) -> usize {
        let Checksum::Partial { start, field } = self.meta().checksum else {
            return 0;
        };
        let start = usize::from(start);
        let at = start + usize::from(field);
        self.meta_mut().checksum = Checksum::Unknown;
        let Ok(mut front) = self.split_to(start) else {
            return 0;
        };
        let read = self.unsummed();
        let checksum = self.sum().checksum();
        let checksum = if checksum == 0 { 0xffff } else { checksum };
        if let Ok(between) = self.split_to(at - start)
            && self.pop(2).is_ok()
        {
            front.append(between);
            front.append_octets(&checksum.to_be_bytes());
        }
        front.append(core::mem::take(self));
        *self = front;
        // The header goes back to where it can be taken off.
        let _ = self.front(LONGEST_HEADERS.min(start)).map(<[u8]>::len);
        read
    }

    /// Forgets all that is known of sums, as a medium must that might have changed octets.
    #[inline]
    pub fn forget_sums(&mut self) {
        self.0.meta.checksum = Checksum::Unknown;
        if core::mem::take(&mut self.0.summed) {
            for slice in &mut self.0.body {
                slice.forget_sum();
            }
        }
    }
}
