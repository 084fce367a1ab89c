//! What is measured: how much, over how many connections, in packets of what size; and what came of it.

use serde::Serialize;

/// The most octets that one call of the writing program hands over, and that one call of the reading one takes.
pub(crate) const WRITE: usize = 64 * 1024;

/// Octets of the headers of IPv4 and TCP in a packet with text, timestamps among them.
const HEADERS: usize = 20 + 20 + 12;

/// Octets of a request, and of its reply.
pub(crate) const SMALL: usize = 64;

/// How much goes over how many connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Load {
    /// The largest packet between the two stacks, IP header included, in octets.
    pub(crate) mtu: usize,
    /// Connections, all open at once.
    pub(crate) sessions: u32,
    /// What each of them has to carry.
    pub(crate) work: Work,
    /// Whether the reader compares every octet; a run that does is not timed.
    pub(crate) check: bool,
}

/// What one connection has to carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Work {
    /// So many octets one way, in writes of [`Load::write`] octets.
    Octets(u64),
    /// So many times [`SMALL`] octets there and back, one after the other.
    Exchanges(u64),
}

impl Load {
    /// How many octets each write has: as many whole segments as [`WRITE`] holds. What is left over would go by itself,
    /// and in layers a segment costs as much as forty.
    pub(crate) fn write(&self) -> usize {
        WRITE - WRITE % (self.mtu - HEADERS)
    }

    /// Octets that all connections deliver, both ways.
    pub(crate) fn octets(&self) -> u64 {
        let each = match self.work {
            Work::Octets(octets) => octets,
            Work::Exchanges(count) => 2 * count * SMALL as u64,
        };
        each * u64::from(self.sessions)
    }

    /// Exchanges on all connections.
    pub(crate) fn exchanges(&self) -> u64 {
        match self.work {
            Work::Octets(_) => 0,
            Work::Exchanges(count) => count * u64::from(self.sessions),
        }
    }
}

/// What a run took.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Outcome {
    /// CPU time of this process, user and system, from the last connection's opening to the last octet's reading.
    pub(crate) cpu_s: f64,
    /// Octets that the readers got.
    pub(crate) octets: u64,
    /// Packets between the stacks, both ways.
    pub(crate) packets: u64,
    /// The longest of them, in octets.
    pub(crate) longest: usize,
    /// Octets that were not what they should be.
    pub(crate) wrong: u64,
    /// Segments retransmitted.
    pub(crate) again: u64,
}

/// CPU time of this process so far, user and system, in seconds.
pub(crate) fn cpu_s() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds of a process and nanoseconds of a second are far below 2^52"
    )]
    let seconds = spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9;
    seconds
}

/// `len` octets that no compressor and no checksum likes; the same in every run.
pub(crate) fn content(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut octets = Vec::with_capacity(len + 8);
    while octets.len() < len {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        octets.extend_from_slice(&state.to_le_bytes());
    }
    octets.truncate(len);
    octets
}

/// How many of `octets`, which stand at `position` of a stream that repeats `content`, are wrong.
pub(crate) fn wrong(content: &[u8], position: u64, octets: &[u8]) -> u64 {
    let length = content.len() as u64;
    let at = usize::try_from(position % length).unwrap_or(0);
    let expected = content.iter().cycle().skip(at);
    let different = octets.iter().zip(expected).filter(|(a, b)| a != b).count();
    different as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_octet_in_the_wrong_place_is_wrong() {
        let content = content(WRITE);
        let stream: Vec<u8> = content.iter().chain(&content).copied().collect();
        assert_eq!(wrong(&content, 7, &stream[7..70_007]), 0);
        let mut other = stream[7..70_007].to_vec();
        other[69_999] ^= 1;
        assert_eq!(wrong(&content, 7, &other), 1);
        assert!(wrong(&content, 8, &stream[7..1000]) > 900);
    }
}
