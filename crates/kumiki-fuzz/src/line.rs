//! A line between two hosts: what leaves one of them is asked for, and what becomes of it is told.

use kumiki_graph::{Duration, Instant};

use crate::host::Host;
use crate::{Draw, packet};

/// Longer than anybody waits for a peer that is silent.
const HORIZON: Duration = Duration::from_secs(4 * 3600);
/// What programs have to say takes less, where their buffers hold a packet.
const MOST_PACKETS: usize = 20_000;

/// How long a packet takes that nothing befalls.
pub(crate) const DELAY: Duration = Duration::from_millis(5);

/// The line, and the hosts at its ends.
pub(crate) struct Line {
    pub(crate) hosts: [Host; 2],
    pub(crate) now: Instant,
    /// When it arrives, in which order, at whom, and what.
    in_flight: Vec<(Instant, usize, usize, Vec<u8>)>,
    /// Has left a host, and what becomes of it is not told.
    waiting: Vec<(usize, Vec<u8>)>,
    sent: usize,
    most: usize,
    steps: usize,
    until: Option<Instant>,
}

impl Line {
    pub(crate) fn new(hosts: [Host; 2]) -> Self {
        Self {
            hosts,
            now: Instant::ZERO,
            in_flight: Vec::new(),
            waiting: Vec::new(),
            sent: 0,
            most: MOST_PACKETS,
            steps: 0,
            until: None,
        }
    }

    /// Buffers of the hosts hold `octets` only: so many more packets are no talk without end.
    pub(crate) const fn with_buffers_of(mut self, octets: u32) -> Self {
        let each = 1000_usize.div_ceil(if octets == 0 { 1 } else { octets as usize });
        self.most = if each > 1 { MOST_PACKETS / 2 * each } else { MOST_PACKETS };
        self
    }

    /// The next packet that leaves a host, and which host; none when nothing happens any more, or not for hours.
    pub(crate) fn next(&mut self) -> Option<(usize, Vec<u8>)> {
        let until = *self.until.get_or_insert(self.now + HORIZON);
        loop {
            self.listen();
            if !self.waiting.is_empty() {
                self.sent += 1;
                assert!(self.sent < self.most, "packets without end at {}", self.now);
                return Some(self.waiting.remove(0));
            }
            self.steps += 1;
            assert!(self.steps < 10 * self.most, "events without end at {}", self.now);
            if !self.step(until) {
                (self.until, self.steps) = (None, 0);
                return None;
            }
        }
    }

    /// What the hosts have sent waits for what is told of it.
    fn listen(&mut self) {
        if self.waiting.is_empty() {
            for from in [0, 1] {
                let sent = self.hosts[from].sent(self.now);
                self.waiting.extend(sent.into_iter().map(|it| (from, it)));
            }
        }
    }

    /// The next thing that happens; false when nothing does before `until`.
    fn step(&mut self, until: Instant) -> bool {
        let arrival = self.in_flight.iter().map(|it| (it.0, it.1)).min();
        let timers = self.hosts.iter_mut().filter_map(Host::next_timer);
        let Some(next) = timers.chain(arrival.map(|it| it.0)).min() else {
            return false;
        };
        if next > until {
            return false;
        }
        self.now = self.now.max(next);
        for host in &mut self.hosts {
            host.fire(self.now);
        }
        if let Some(at) = self.in_flight.iter().position(|it| arrival == Some((it.0, it.1)) && it.0 <= self.now) {
            let (_, _, to, octets) = self.in_flight.remove(at);
            packet::tell(&octets, "ip", &format!("{}      {to} gets", self.now));
            self.hosts[to].receive(self.now, &octets);
        }
        true
    }

    /// What an octet says becomes of a packet to a host, whatever its protocol: below 0x80 nothing, with a last digit
    /// up to 7 it is lost, or comes twice or late. Gives it back where it is something else.
    pub(crate) fn befall(&mut self, what: u8, to: usize, octets: Vec<u8>, draw: &mut Draw<'_>) -> Option<Vec<u8>> {
        if what < 0x80 {
            self.carry(DELAY, to, octets);
            return None;
        }
        match what & 0x0f {
            0..=2 => {}
            3 | 4 => {
                let later = DELAY * u64::from(1 + draw.octet() % 64);
                self.carry(DELAY, to, octets.clone());
                self.carry(later, to, octets);
            }
            5 | 6 => {
                let later = DELAY * (1 + u64::from(draw.octet()));
                self.carry(later, to, octets);
            }
            // Much later: a ghost of an earlier connection, or while what is over still answers.
            7 => {
                let later = Duration::from_millis(100) * u64::from(draw.octet());
                self.carry(DELAY, to, octets.clone());
                self.carry(later, to, octets);
            }
            _ => return Some(octets),
        }
        None
    }

    /// A packet reaches a host after `delay`.
    pub(crate) fn carry(&mut self, delay: Duration, to: usize, octets: Vec<u8>) {
        self.in_flight.push((self.now + delay, self.sent, to, octets));
        // Copies of one packet keep their order by their numbers.
        self.sent += 1;
    }
}
