//! SYN cookies: a handshake of which nothing is kept.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 4987 section 3.6 and appendix A |
//! | ISS | keyed hash of the addresses, plus: 5 bits of a clock of 64 s, 3 bits that name an MSS, 8 bits of a keyed hash of all these, 16 bits of one of all these and of IRS |
//! | Lifetime | the present tick and the one before: 64 to 128 s |
//! | Timestamp | the six low bits of the SYN,ACK's TSval, which come back as TSecr, hold the peer's shift count (4 bits, 15: none), whether it may be sent SACK, and whether classic ECN was agreed on, as Linux has it. Without timestamps none is used |
//! | Out of order | a segment whose acknowledgment is that of a cookie but for IRS is not answered: what begins right behind the SYN is lost or late, and comes again |
//! | Again | a cookie that has come back is remembered for its lifetime, so that a late copy of the segment that brought it does not begin a second connection and its text is not delivered twice. Of more than [`super::Config::time_waits`] the oldest is forgotten: it is what TIME-WAIT would be for |
//! | Lost | the peer's exact MSS, its window, text with its SYN; SYN,ACKs are not retransmitted |

use std::collections::{BTreeSet, VecDeque};

use kumiki_graph::{Duration, Instant};
use kumiki_wire::inet::tcp::Seq;

use super::demux::{Pair, Secret};

/// Length of a tick of the clock.
const TICK: Duration = Duration::from_secs(64);
/// How long a cookie that was sent may come back.
pub(crate) const LIFE: Duration = Duration::from_secs(128);
/// What three bits can say: what links of the likely sizes give, and at the low end whatever a peer may say.
const MSS: [u16; 8] = [28, 256, 536, 1220, 1440, 1460, 4312, 9140];
/// The shift count that says that there is none.
const UNSCALED: u32 = 15;

/// What is left of a caller's SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CookieContents {
    pub(crate) mss: u16,
}

/// Which of the known ones stands for an MSS of `mss` octets.
fn place(mss: u16) -> usize {
    MSS.iter().rposition(|&known| known <= mss).unwrap_or(0)
}

/// What a cookie remembers of an MSS of `mss` octets: the next of eight below.
#[must_use]
pub fn mss_of_cookie(mss: u16) -> u16 {
    MSS.get(place(mss)).copied().unwrap_or(mss)
}

fn tick(now: Instant) -> u32 {
    let ticks = now.as_nanos() / TICK.as_nanos();
    u32::try_from(ticks % 32).unwrap_or(0)
}

fn low(hash: u64, bits: u32) -> u32 {
    u32::try_from(hash & ((1 << bits) - 1)).unwrap_or(0)
}

fn base(secret: Secret, pair: &Pair) -> u32 {
    low(secret.hash(&(pair, "cookie")), 32)
}

/// What does not depend on IRS: the upper half.
fn head(secret: Secret, pair: &Pair, tick: u32, mss: u32) -> u32 {
    let mac = low(secret.hash(&(pair, tick, mss, "cookie")), 8);
    tick << 27 | mss << 24 | mac << 16
}

fn body(secret: Secret, pair: &Pair, irs: Seq, tick: u32, mss: u32) -> u32 {
    let mac = low(secret.hash(&(pair, irs.0, tick, mss, "cookie")), 16);
    head(secret, pair, tick, mss) | mac
}

/// The ISS that answers a SYN.
pub(crate) fn make(secret: Secret, pair: &Pair, irs: Seq, mss: u16, now: Instant) -> Seq {
    let mss = u32::try_from(place(mss)).unwrap_or(0);
    Seq(base(secret, pair).wrapping_add(body(secret, pair, irs, tick(now), mss)))
}

/// What `iss` remembers of the SYN that `irs` began; `None` where we never sent it, or too long ago.
pub(crate) fn check(secret: Secret, pair: &Pair, irs: Seq, iss: Seq, now: Instant) -> Option<CookieContents> {
    let found = iss.0.wrapping_sub(base(secret, pair));
    let (sent, mss) = (found >> 27, found >> 24 & 7);
    let age = tick(now).wrapping_sub(sent) % 32;
    if age > 1 || found != body(secret, pair, irs, sent, mss) {
        return None;
    }
    let mss = *MSS.get(usize::try_from(mss).ok()?)?;
    Some(CookieContents { mss })
}

/// Whether `iss` is a cookie of ours if IRS fits, which is not known where a segment was lost before the one at hand.
/// One in 4096 of any numbers is.
pub(crate) fn may_be(secret: Secret, pair: &Pair, iss: Seq, now: Instant) -> bool {
    let found = iss.0.wrapping_sub(base(secret, pair));
    let (sent, mss) = (found >> 27, found >> 24 & 7);
    let age = tick(now).wrapping_sub(sent) % 32;
    age <= 1 && found >> 16 == head(secret, pair, sent, mss) >> 16
}

/// Cookies that came back and could come back once more. Only who owns its address can get in here.
#[derive(Debug, Default)]
pub(crate) struct UsedCookies {
    /// Keyed hashes of what they came with: no two of 2^32 are likely to be equal.
    all: BTreeSet<u64>,
    /// When each could come back no more, in order.
    until: VecDeque<(Instant, u64)>,
}

impl UsedCookies {
    /// Notes a good cookie; false where it has been used before. At most `most` are remembered.
    pub(crate) fn take(
        &mut self,
        secret: Secret,
        pair: &Pair,
        (irs, iss): (Seq, Seq),
        now: Instant,
        most: usize,
    ) -> bool {
        let over = |first: &(Instant, u64), len: usize| first.0 <= now || len >= most.max(1);
        while let Some(first) = self.until.front()
            && over(first, self.until.len())
        {
            self.all.remove(&first.1);
            self.until.pop_front();
        }
        let key = secret.hash(&(pair, irs.0, iss.0, "used"));
        if !self.all.insert(key) {
            return false;
        }
        self.until.push_back((now + LIFE, key));
        true
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

/// The latest TSval, not after `clock`, that remembers what the SYN offered.
pub(crate) fn stamp(clock: u32, shift: Option<u8>, sack: bool, ecn: bool) -> u32 {
    let shift = shift.map_or(UNSCALED, |shift| u32::from(shift.min(14)));
    let said = (clock & !0x3f) | u32::from(ecn) << 5 | u32::from(sack) << 4 | shift;
    if Seq(said).gt(Seq(clock)) { said.wrapping_sub(0x40) } else { said }
}

/// What the echo of such a TSval says: shift count, SACK-permitted, and classic ECN.
pub(crate) fn unstamp(echo: u32) -> (Option<u8>, bool, bool) {
    let shift = echo & 0xf;
    let shift = u8::try_from(shift).ok().filter(|_| shift != UNSCALED);
    (shift, echo & 0x10 != 0, echo & 0x20 != 0)
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, SocketAddr};

    use kumiki_graph::Rng;

    use super::*;

    fn pair(port: u16) -> Pair {
        let at = |host, port| SocketAddr::new(Ipv4Addr::new(10, 0, 0, host).into(), port);
        Pair::new(at(1, 80), at(2, port))
    }

    #[test]
    fn a_cookie_is_good_for_its_caller_and_for_a_while() {
        let secret = Secret::draw(&mut Rng::new(1, 2));
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        for start in [0, 63, 64, 2040, 5000] {
            let iss = make(secret, &pair(9), Seq(77), 1452, at(start));
            let check = |pair: &Pair, irs, after| check(secret, pair, Seq(irs), iss, at(start + after));
            let mss = Some(CookieContents { mss: 1440 });
            assert_eq!(check(&pair(9), 77, 0), mss);
            assert_eq!(check(&pair(9), 77, 64), mss);
            assert_eq!(check(&pair(9), 77, 128), None);
            assert_eq!(check(&pair(9), 78, 0), None);
            assert_eq!(check(&pair(8), 77, 0), None);
        }
    }

    #[test]
    fn a_cookie_is_taken_once_in_its_life_and_few_are_remembered() {
        let secret = Secret::draw(&mut Rng::new(1, 2));
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut used = UsedCookies::default();
        let mut take = |port, seconds, most| {
            let fits = used.take(secret, &pair(port), (Seq(7), Seq(8)), at(seconds), most);
            (fits, used.len())
        };
        assert_eq!(take(1, 0, 3), (true, 1));
        assert_eq!(take(1, 127, 3), (false, 1));
        assert_eq!(take(2, 127, 3), (true, 2));
        assert_eq!(take(1, 128, 3), (true, 2));
        assert_eq!(take(3, 128, 3), (true, 3));
        // The oldest gives way.
        assert_eq!(take(4, 128, 3), (true, 3));
        assert_eq!(take(4, 129, 9), (false, 3));
        assert_eq!(take(2, 129, 9), (true, 4));
    }

    #[test]
    fn guesses_are_not_cookies() {
        let secret = Secret::draw(&mut Rng::new(3, 4));
        let mut rng = Rng::new(5, 6);
        let now = Instant::ZERO + Duration::from_secs(1000);
        let good = (0..200_000).filter(|_| {
            let iss = Seq(low(rng.next_u64(), 32));
            check(secret, &pair(9), Seq(77), iss, now).is_some()
        });
        // One in 2^24 for each of two ticks of 32: one in 2^28.
        assert_eq!(good.count(), 0);
    }

    #[test]
    fn a_timestamp_remembers_options_and_never_comes_from_the_future() {
        for clock in [0u32, 5, 0x3f, 0x40, 12_345, u32::MAX] {
            for shift in [None, Some(0), Some(7), Some(14)] {
                for (sack, ecn) in [(false, false), (true, false), (false, true), (true, true)] {
                    let said = stamp(clock, shift, sack, ecn);
                    assert!(Seq(said).leq(Seq(clock)) && clock.wrapping_sub(said) < 128);
                    assert_eq!(unstamp(said), (shift, sack, ecn));
                }
            }
        }
    }
}
