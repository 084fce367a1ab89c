//! Hosts whose callers are not let in, again and again.
//!
//! Who guesses passwords is to have few tries: after some refused in a row callers of a host are dropped at once for a time, which doubles with each further
//! refusal. One that is let in is forgotten. A host is its address, as for the other limits; the host of a route or of a translator stands for all behind it.

use core::net::IpAddr;
use std::collections::BTreeMap;

use kumiki_graph::{Duration, Instant};

/// The first time for which a host is kept out.
const FIRST: Duration = Duration::from_secs(60);

/// The longest.
const LONGEST: Duration = Duration::from_secs(3600);

/// After so long without a caller, what a host has tried is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

/// The most hosts that are remembered: the one that was heard of longest ago makes room.
const MOST: usize = 4096;

/// What is remembered of one.
#[derive(Clone, Copy, Debug)]
struct Stranger {
    refused: u32,
    /// When it was heard of last.
    last: Instant,
    until: Instant,
}

/// Those that are remembered.
#[derive(Debug)]
pub(super) struct Strangers {
    /// So many may be refused in a row; 0: any number.
    tries: u32,
    hosts: BTreeMap<IpAddr, Stranger>,
}

impl Strangers {
    /// Nobody yet; each may try so often, or without end where that is 0.
    pub(super) const fn new(tries: u32) -> Self {
        Self {
            tries,
            hosts: BTreeMap::new(),
        }
    }

    /// Whether callers of a host are kept out.
    pub(super) fn keeps_out(&self, host: IpAddr, now: Instant) -> bool {
        let stranger = self.hosts.get(&host);
        stranger.is_some_and(|stranger| now < stranger.until)
    }

    /// One was let in.
    pub(super) fn let_in(&mut self, host: IpAddr) {
        self.hosts.remove(&host);
    }

    /// One was refused; says for how long its host is kept out, if so.
    pub(super) fn refused(&mut self, host: IpAddr, now: Instant) -> Option<Duration> {
        if self.tries == 0 {
            return None;
        }
        self.hosts
            .retain(|_, stranger| now < stranger.last + FORGOTTEN);
        if self.hosts.len() >= MOST
            && !self.hosts.contains_key(&host)
            && let Some((oldest, _)) = self.hosts.iter().min_by_key(|(_, it)| it.last)
        {
            let oldest = *oldest;
            self.hosts.remove(&oldest);
        }
        let stranger = self.hosts.entry(host).or_insert(Stranger {
            refused: 0,
            last: now,
            until: now,
        });
        stranger.refused = stranger.refused.saturating_add(1);
        stranger.last = now;
        let beyond = stranger.refused.checked_sub(self.tries)?;
        let wait = FIRST.saturating_mul(1 << beyond.min(6)).min(LONGEST);
        stranger.until = now + wait;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2));

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_host_is_kept_out_for_longer_each_time_after_some_tries() {
        let mut strangers = Strangers::new(3);
        assert_eq!(strangers.refused(HOST, at(0)), None);
        assert_eq!(strangers.refused(HOST, at(1)), None);
        assert!(!strangers.keeps_out(HOST, at(1)));
        let minute = Duration::from_secs(60);
        assert_eq!(strangers.refused(HOST, at(2)), Some(minute));
        assert!(strangers.keeps_out(HOST, at(61)));
        assert!(!strangers.keeps_out(OTHER, at(61)));
        assert!(!strangers.keeps_out(HOST, at(62)));
        assert_eq!(strangers.refused(HOST, at(62)), Some(minute + minute));
        for _ in 0..10 {
            strangers.refused(HOST, at(200));
        }
        assert!(strangers.keeps_out(HOST, at(200 + 3599)));
        assert!(!strangers.keeps_out(HOST, at(200 + 3600)));
    }

    #[test]
    fn who_was_let_in_begins_anew() {
        let mut strangers = Strangers::new(2);
        strangers.refused(HOST, at(0));
        strangers.let_in(HOST);
        assert_eq!(strangers.refused(HOST, at(1)), None);
    }

    #[test]
    fn what_was_tried_is_forgotten_after_a_day_and_where_there_are_too_many() {
        let mut strangers = Strangers::new(2);
        strangers.refused(HOST, at(0));
        assert_eq!(strangers.refused(HOST, at(24 * 3600)), None);
        for number in 0..5000_u32 {
            strangers.refused(IpAddr::V4(number.into()), at(24 * 3601));
        }
        assert_eq!(strangers.hosts.len(), MOST);
        assert!(!strangers.hosts.contains_key(&HOST));
    }

    #[test]
    fn no_number_of_tries_is_no_limit() {
        let mut strangers = Strangers::new(0);
        for second in 0..100 {
            assert_eq!(strangers.refused(HOST, at(second)), None);
        }
        assert!(!strangers.keeps_out(HOST, at(99)));
    }
}
