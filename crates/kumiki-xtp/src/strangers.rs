//! How much may be sent to a caller that may not be who it says it is.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P49: ours, after RFC 9000 section 8.1 |
//! | The caller's part | to count all that comes of a context and all that leaves, and to hold back what does not fit |
//! | Left out | callers that have proved themselves in another call: each starts over. DIAG, and what is left of a context: each of them answers a packet by one that is less than three times as long (P14, P35) |
//!
//! FIRST is believed before anything has been sent to whom it names, so whoever forges its source decides who gets the
//! answer. Half of the key that the answer tells is random: who uses it has got the answer. Until then there goes back
//! no more than [`Config::amplification`](super::Config) times what has come, as much as the sender of a flood could
//! have sent to its victim itself, within a factor.
//!
//! What does not fit is not lost but waits: an answer is owed, a question is withheld
//! ([`SyncRequests::withheld`](super::control::SyncRequests)), data stays where it is. It leaves as soon as more has
//! come. Nobody waits for ever for that: a caller repeats FIRST until something comes back, and, once it knows our key,
//! asks with it until it has been answered.

use kumiki_wire::xtp::Header;

use super::context::{Endpoint, Exchange, HEADER};

/// What has come of a caller, and what went back, in octets of XTP packets with their headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// What comes counts so many times; 0: there is no limit.
    times: u32,
    left: u64,
}

impl Allowance {
    pub(crate) const fn new(times: u32) -> Self {
        Self { times, left: 0 }
    }

    /// A packet of `octets` came.
    pub(crate) fn on_received(&mut self, octets: u64) {
        let more = octets.saturating_mul(self.times.into());
        self.left = self.left.saturating_add(more);
    }

    /// A packet of `octets` leaves.
    pub(crate) const fn on_sent(&mut self, octets: u64) {
        self.left = self.left.saturating_sub(octets);
    }

    /// Octets that may leave.
    const fn left(&self) -> u64 {
        if self.times == 0 { u64::MAX } else { self.left }
    }
}

impl Endpoint {
    /// A packet of the context has come with such a header, and is believed.
    pub(crate) fn count_received(&mut self, header: &Header) {
        let octets = u64::from(HEADER) + u64::from(header.dlen);
        self.allowance.on_received(octets);
    }

    /// Octets of packets that may go to the peer: as many as there are where it has shown that it hears us.
    pub(crate) fn may_send(&self) -> u64 {
        if self.exchange == Exchange::Telling { self.allowance.left() } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_worth_so_many_times_as_much_and_no_octet_more() {
        let mut allowance = Allowance::new(3);
        assert_eq!(allowance.left(), 0);
        allowance.on_received(72);
        allowance.on_sent(88);
        assert_eq!(allowance.left(), 128);
        allowance.on_sent(128);
        assert_eq!(allowance.left(), 0);
        let mut none = Allowance::new(0);
        none.on_sent(1 << 40);
        assert_eq!(none.left(), u64::MAX);
    }
}
