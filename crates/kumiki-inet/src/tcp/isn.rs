//! Initial sequence numbers and ephemeral ports.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9293 section 3.4.1, RFC 6528; ports: RFC 6056 section 3.3.3 (algorithm 3) for where they begin, section 3.3.5 (algorithm 5) for how they go on |
//! | Differs | the keyed hash is SipHash, not MD5; RFC 6528 leaves the function open |

use core::net::SocketAddr;

use kumiki_graph::{Instant, Rng};
use kumiki_wire::inet::tcp::Seq;

use super::demux::{Pair, Secret};

/// First of the ephemeral ports (the dynamic ports of the port registry).
const FIRST_PORT: u16 = 49_152;

/// How far one port is from the next at most, N of RFC 6056 section 3.3.5: whoever is called, and so sees one, knows
/// the next to one in so many. It is a trade against how soon a port comes again; assumed.
const STEP: u64 = 512;

/// How far the next port is from the last: random, and 1 at least.
pub(crate) fn step(rng: &mut Rng) -> u16 {
    u16::try_from(rng.below(STEP)).unwrap_or(0) + 1
}

/// ISN = M + F(localip, localport, remoteip, remoteport, secretkey) (SHLD-1); M is a clock that ticks every 4
/// microseconds (MUST-8), and only who has the secret can compute F (MUST-9).
pub(crate) fn initial(secret: Secret, pair: &Pair, now: Instant) -> Seq {
    let m = now.as_nanos() / 4_000;
    Seq(low(m).wrapping_add(low(secret.hash(pair))))
}

/// Where a connection's timestamp clock begins.
pub(crate) fn clock_offset(secret: Secret, pair: &Pair) -> u32 {
    low(secret.hash(&(pair, "timestamps")))
}

/// The timestamp clock, without offset: milliseconds.
pub(crate) fn clock(now: Instant) -> u32 {
    low(now.as_nanos() / 1_000_000)
}

/// TSval of the connection `pair`.
pub(crate) fn timestamp(secret: Secret, pair: &Pair, now: Instant) -> u32 {
    clock(now).wrapping_add(clock_offset(secret, pair))
}

/// The low half; sequence numbers are modulo 2^32.
fn low(n: u64) -> u32 {
    let [.., a, b, c, d] = n.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// The ephemeral ports in the order in which they should be tried for a connection from `local` to `remote`.
///
/// `counter` is the sum of a [`step`] for each port given out so far, so that one that has just been in use comes again
/// late, and nobody can tell the next one.
pub(crate) fn ports(secret: Secret, local: SocketAddr, remote: SocketAddr, counter: u16) -> impl Iterator<Item = u16> {
    let range = u32::from(u16::MAX - FIRST_PORT) + 1;
    let hash = match (local, remote) {
        (SocketAddr::V4(local), SocketAddr::V4(remote)) => secret.hash(&(local.ip(), remote)),
        (local, remote) => secret.hash(&(local.ip(), remote)),
    };
    let start = low(hash) % range + u32::from(counter);
    (0..range).filter_map(move |n| u16::try_from((start + n) % range).ok().map(|n| FIRST_PORT + n))
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    fn pair(port: u16) -> Pair {
        let at = |host, port| SocketAddr::new(Ipv4Addr::new(10, 0, 0, host).into(), port);
        Pair::new(at(1, port), at(2, 80))
    }

    // RFC 9293: MUST-8, SHLD-1
    #[test]
    fn later_connections_of_one_pair_begin_later() {
        let secret = Secret::draw(&mut Rng::new(3, 4));
        let first = initial(secret, &pair(1), Instant::from_nanos(5_000));
        let second = initial(secret, &pair(1), Instant::from_nanos(45_000));
        assert_eq!(second - first, 10);
        assert_ne!(first, initial(secret, &pair(2), Instant::from_nanos(5_000)));
    }

    /// RFC 6056 section 3.3.5: what one port is says little of the next, to the same destination and to others.
    #[test]
    fn the_next_port_is_not_told_by_the_last() {
        let Pair { local, remote } = pair(0);
        let (local, remote) = (SocketAddr::from(local), SocketAddr::from(remote));
        let mut rng = Rng::new(7, 8);
        let secret = Secret::draw(&mut rng);
        let other = SocketAddr::new(remote.ip(), 81);
        let (mut counter, mut steps, mut between) = (0u16, Vec::new(), Vec::new());
        let mut last: Option<i32> = None;
        for _ in 0..4000 {
            let first = |remote| ports(secret, local, remote, counter).next().unwrap();
            let port = first(remote);
            if let Some(last) = last {
                steps.push((i32::from(port) - last).rem_euclid(16_384));
            }
            last = Some(port.into());
            between.push((i32::from(first(other)) - i32::from(port)).rem_euclid(16_384));
            counter = counter.wrapping_add(step(&mut rng));
        }
        assert!(steps.iter().all(|step| (1..=512).contains(step)));
        steps.sort_unstable();
        steps.dedup();
        // Of 512, 4000 draws leave out a handful (512 e^-7.8).
        assert!(steps.len() > 500, "{}", steps.len());
        between.dedup();
        assert_eq!(between.len(), 1, "the offset is of the destination");
    }

    #[test]
    fn every_ephemeral_port_is_tried_once() {
        let Pair { local, remote } = pair(0);
        let (local, remote) = (SocketAddr::from(local), SocketAddr::from(remote));
        let secret = Secret::draw(&mut Rng::new(5, 6));
        let mut all: Vec<u16> = ports(secret, local, remote, 700).collect();
        all.sort_unstable();
        assert_eq!(all, (FIRST_PORT..=u16::MAX).collect::<Vec<_>>());
    }
}
