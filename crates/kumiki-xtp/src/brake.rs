//! The brake of go-back-N: how much may be out beside what congestion control says.
//!
//! | | |
//! |---|---|
//! | Specification | `docs/xtp.md`, P24: ours |
//! | The caller's part | to tell of all that leaves, of all that is found to have come, and of each going back |
//! | Left out | what has come behind a gap: who goes back sends it again, whether it has come or not |
//!
//! Going back marks all that is out as lost, so all of it would leave again at once, whatever the path can hold: of a send buffer that goes
//! into a queue of two packets two arrive in each round trip, and all others are sent in vain. So, where less than half of what has left since
//! the last going back has come, only half as much may be out after this one. Each octet that comes allows another one: where all
//! comes, twice as much leaves in the next round trip.
//!
//! Who goes back does so at most once in a round trip. It forgets which transmissions were out, and answers that speak of those alone find
//! nothing more to be lost.

/// How much may be out, in octets, and what became of what left since the last going back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brake {
    most: u64,
    sent: u64,
    came: u64,
}

impl Default for Brake {
    fn default() -> Self {
        Self { most: u64::MAX, sent: 0, came: 0 }
    }
}

impl Brake {
    /// Octets that may be out.
    pub(crate) const fn most(&self) -> u64 {
        self.most
    }

    /// `octets` leave.
    pub(crate) const fn on_sent(&mut self, octets: u64) {
        self.sent = self.sent.saturating_add(octets);
    }

    /// `octets` are found to have come.
    pub(crate) const fn on_delivered(&mut self, octets: u64) {
        self.came = self.came.saturating_add(octets);
        self.most = self.most.saturating_add(octets);
    }

    /// All that is out is to be sent again, in packets of up to `packet` octets.
    pub(crate) fn on_going_back(&mut self, packet: u64) {
        if self.came.saturating_mul(2) < self.sent {
            self.most = (self.sent / 2).min(self.most).max(packet);
        }
        (self.sent, self.came) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent for each packet that arrives, where `holds` packets of each burst do.
    fn sent_for_each(holds: u64, buffer: u64) -> f64 {
        let mut brake = Brake::default();
        let (mut sent, mut came) = (0, 0);
        for _ in 0..1000 {
            let burst = buffer.min(brake.most() / 100).max(1);
            brake.on_sent(100 * burst);
            let arrive = burst.min(holds);
            brake.on_delivered(100 * arrive);
            (sent, came) = (sent + burst, came + arrive);
            if arrive < burst {
                brake.on_going_back(100);
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
        brake.on_sent(10_000);
        brake.on_delivered(5000);
        brake.on_going_back(100);
        assert_eq!(brake.most(), u64::MAX);
        brake.on_sent(5000);
        brake.on_delivered(2499);
        brake.on_going_back(100);
        assert_eq!(brake.most(), 2500);
        // No less than a packet.
        for _ in 0..20 {
            brake.on_sent(brake.most());
            brake.on_going_back(100);
        }
        assert_eq!(brake.most(), 100);
    }
}
