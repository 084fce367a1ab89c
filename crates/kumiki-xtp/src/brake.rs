//! The brake of what is retransmitted: how many packets may be out beside what congestion control says.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P24: ours |
//! | The caller's part | to tell of all that leaves, of all that is found to have come, and of losses |
//! | Left out | with go-back-N: what has come behind a gap, for who goes back sends it again, whether it has come or not |
//!
//! Going back marks all that is out as lost, so all of it would leave again at once, whatever the path can hold: of a
//! send buffer that goes into a queue of two packets two arrive in each round trip, and all others are sent in vain.
//! With selective repeat congestion control sees to that, but in octets, and never allows less than two of the largest
//! packets: in packets of one octet each that is thousands, while queues and receivers have room for so many *packets*.
//! So, where less than half of what has left since the last time has come, only half as many packets may be out from
//! then on. Each one that comes allows another one: where all come, twice as many leave in the next round trip.
//!
//! That is done at most once in a round trip: what left before the last time starts nothing.

/// How much may be out, in packets, and what became of what left since losses were last heard of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brake {
    most: u64,
    sent: u64,
    came: u64,
    /// The last order given then.
    last: u64,
}

impl Default for Brake {
    fn default() -> Self {
        Self { most: u64::MAX, sent: 0, came: 0, last: 0 }
    }
}

impl Brake {
    /// Packets that may be out: at least one.
    pub(crate) const fn most(&self) -> u64 {
        self.most
    }

    /// A packet leaves.
    pub(crate) const fn on_sent(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// `packets` are found to have come.
    pub(crate) const fn on_delivered(&mut self, packets: u64) {
        self.came = self.came.saturating_add(packets);
        self.most = self.most.saturating_add(packets);
    }

    /// Something is lost, as is heard of what left by order `heard`; the last order given is `last`.
    pub(crate) fn on_lost(&mut self, heard: u64, last: u64) {
        if heard <= self.last {
            return;
        }
        if self.came.saturating_mul(2) < self.sent {
            self.most = (self.sent / 2).min(self.most).max(1);
        }
        (self.sent, self.came, self.last) = (0, 0, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave(brake: &mut Brake, packets: u64) {
        for _ in 0..packets {
            brake.on_sent();
        }
    }

    /// What is sent for each packet that arrives, where `holds` packets of each burst do.
    fn sent_for_each(holds: u64, buffer: u64) -> f64 {
        let mut brake = Brake::default();
        let (mut sent, mut came) = (0, 0);
        for _ in 0..1000 {
            let burst = buffer.min(brake.most());
            leave(&mut brake, burst);
            let arrive = burst.min(holds);
            brake.on_delivered(arrive);
            (sent, came) = (sent + burst, came + arrive);
            if arrive < burst {
                brake.on_lost(sent, sent);
            }
        }
        sent as f64 / came as f64
    }

    #[test]
    fn what_leaves_is_soon_little_more_than_what_the_path_holds() {
        for holds in [1, 2, 5, 50, 400] {
            let ratio = sent_for_each(holds, 500);
            assert!(ratio < 3.0, "{ratio} packets for each of {holds}");
        }
        // Where everything comes nothing is held back.
        assert!(sent_for_each(500, 500) < 1.001);
    }

    #[test]
    fn who_lost_little_is_not_held_back() {
        let mut brake = Brake::default();
        leave(&mut brake, 100);
        brake.on_delivered(50);
        brake.on_lost(100, 100);
        assert_eq!(brake.most(), u64::MAX);
        leave(&mut brake, 50);
        brake.on_delivered(24);
        // Of what left before.
        brake.on_lost(100, 150);
        assert_eq!(brake.most(), u64::MAX);
        brake.on_lost(101, 150);
        assert_eq!(brake.most(), 25);
        // No less than a packet.
        for n in 0..20 {
            let most = brake.most();
            leave(&mut brake, most);
            brake.on_lost(151 + n, 151 + n);
        }
        assert_eq!(brake.most(), 1);
    }
}
