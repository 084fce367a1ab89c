//! An experiment in real time, with hosts that are real: whoever runs it brings what they send, takes what they get,
//! and says what time it is.

use core::fmt;
use core::net::IpAddr;
use std::collections::BTreeMap;

use kumiki_graph::{Address, Instant};
use kumiki_link::Unit;
use kumiki_octets::Message;
use kumiki_sim::{Standstill, World};

use super::changing::{LineUpdate, LiveLine};
use super::power::Power;
use super::real::RealHost;

/// In real time so many frames or PDUs may wait at each end of a line, and in each adapter, where nothing is said.
/// Programs that write faster than a line carries do so for as long as they like, and memory ends; windows of TCP are
/// smaller. It is what `fq-codel` has.
pub(super) const MOST_WAITING: u32 = 10_240;

/// A world of which some hosts are real.
///
/// ```text
/// pass(now); for each packet that has come: arrive(host, packet); while let Some(left) = take_left(): hand it over; wait until next_event_at()
/// ```
pub struct LiveWorld {
    pub(super) world: World,
    pub(super) power: Power,
    pub(super) real: Vec<RealHost>,
    pub(super) known: Vec<(String, IpAddr)>,
    pub(super) left_out: Vec<String>,
    pub(super) lines: BTreeMap<String, LiveLine>,
}

/// A packet for a host that is real.
#[derive(Clone, Debug)]
pub struct LeftPacket {
    /// The host, by its place in [`LiveWorld::real`].
    pub host: usize,
    /// When it has come to the host, in the time of the world.
    pub at: Instant,
    /// The packet: a datagram of IP.
    pub packet: Message,
}

impl LiveWorld {
    /// The hosts that are real, in the order of their names.
    #[must_use]
    pub fn real(&self) -> &[RealHost] {
        &self.real
    }

    /// The addresses of all hosts that speak IP, by name: for a file of hosts. Those that a host learns are not among
    /// them.
    #[must_use]
    pub fn known(&self) -> &[(String, IpAddr)] {
        &self.known
    }

    /// The loads that are not run, since they write or read at real hosts.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The time of the world.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// Lets everything happen until `now`; a time that has been stays as it was.
    pub fn pass(&mut self, now: Instant) {
        while let Some(at) = self.power.next().filter(|at| *at <= now) {
            self.world.run_until(at);
            self.power.change(&mut self.world);
        }
        self.world.run_until(now);
    }

    /// The real host `host` has sent a packet: a datagram of IP, as it would be on a line.
    pub fn arrive(&mut self, host: usize, packet: Message) {
        self.world.arrive(host, Unit::Frame { data: packet, address: Address::NONE });
    }

    /// The next packet that has come to a real host.
    pub fn take_left(&mut self) -> Option<LeftPacket> {
        loop {
            let (host, at, unit) = self.world.take_left()?;
            if let Unit::Frame { data: packet, .. } = unit {
                return Some(LeftPacket { host, at, packet });
            }
        }
    }

    /// When something happens next that nobody outside does.
    pub fn next_event_at(&mut self) -> Option<Instant> {
        self.world.next_event_at().into_iter().chain(self.power.next()).min()
    }

    /// Where time stands still, if it does: then nothing happens any more.
    #[must_use]
    pub fn standstill(&self) -> Option<&Standstill> {
        self.world.standstill()
    }

    /// Its lines, by name. Rings are none.
    #[must_use]
    pub const fn lines(&self) -> &BTreeMap<String, LiveLine> {
        &self.lines
    }

    /// Changes the way to the end `end` (0, or else 1) of the line called `name`, if there is one, from the present
    /// time on. What the file's schedule or an event says later of the line holds from then on in place of this.
    pub fn change_line(&mut self, name: &str, end: usize, update: LineUpdate) {
        if let Some(line) = self.lines.get_mut(name) {
            line.change(end, update, &mut self.world);
        }
    }

    /// What lines and switches have counted, by name.
    pub fn media(&self) -> impl Iterator<Item = (&str, Vec<(&'static str, u64)>)> {
        self.world.media()
    }
}

impl fmt::Debug for LiveWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveWorld").field("world", &self.world).field("real", &self.real).finish_non_exhaustive()
    }
}
