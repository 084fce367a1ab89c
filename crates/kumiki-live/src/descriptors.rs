//! How many callers the descriptors of this process are enough for.
//!
//! A caller takes some when it comes and some more when it stands ([`DescriptorCost`]). Where a process may have fewer
//! than its places want, it asks for as many as it may (the soft limit, up to the hard one), and where that is not
//! enough there are fewer places, all in the proportion that was asked for: so there is always a place for who comes
//! from elsewhere, and callers are refused for a reason that has a name, before a socket cannot be had.
//!
//! **Left out**: what all processes of a machine, or of a user, may have together.

use core::fmt;

use kumiki_io::admission::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of the descriptors that are left so many are for nobody: files of interrupted transfers, a log that is opened again.
const RESERVE: u64 = 8;

/// What one takes of descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DescriptorCost {
    /// A caller.
    pub comes: u64,
    /// One that is known, beside that.
    pub stands: u64,
}

/// There are too few for anybody to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooFew {
    left: u64,
    least: u64,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { left, least } = self;
        write!(f, "the limit of descriptors (ulimit -n) leaves callers {left}, and the least is {least}: allow more")
    }
}

impl core::error::Error for TooFew {}

/// Places, and what is to be said of them.
#[derive(Debug)]
pub struct AffordableLimits {
    /// The places.
    pub limits: Limits,
    /// That they are fewer than was asked for, and why.
    pub remark: Option<String>,
}

impl AffordableLimits {
    /// Places as `wanted`, or as many as there are descriptors for.
    ///
    /// # Errors
    /// [`TooFew`].
    pub fn of(wanted: Limits, each: DescriptorCost) -> Result<Self, TooFew> {
        let limit = getrlimit(Resource::Nofile);
        let Some(soft) = limit.current else {
            return Self::within(wanted, each, u64::MAX);
        };
        let used = std::fs::read_dir("/proc/self/fd").map_or(16, |all| all.count() as u64);
        let used = used.saturating_add(RESERVE);
        let needed = needs(wanted, each).saturating_add(used);
        let hard = limit.maximum.unwrap_or(u64::MAX);
        let mut most = soft;
        if needed > soft && hard > soft {
            let more = needed.min(hard);
            let asked = setrlimit(Resource::Nofile, Rlimit { current: Some(more), ..limit });
            most = if asked.is_ok() { more } else { soft };
        }
        Self::within(wanted, each, most.saturating_sub(used))
    }

    /// The same with so many descriptors.
    fn within(wanted: Limits, each: DescriptorCost, left: u64) -> Result<Self, TooFew> {
        let going = wanted.known.saturating_add(wanted.full).div_ceil(4);
        let lean = Limits { going: going.min(wanted.going), ..wanted };
        for limits in [wanted, lean] {
            if needs(limits, each) <= left {
                return Ok(Self { limits, remark: None });
            }
        }
        let needed = needs(lean, each);
        let part = |number: usize, left: u64| {
            let part = u128::from(left) * number as u128 / u128::from(needed);
            usize::try_from(part).unwrap_or(number).max(1)
        };
        let scaled = |left: u64| {
            let part = |number| part(number, left);
            Limits {
                known: part(wanted.known),
                of_one_host: part(wanted.of_one_host),
                of_one_network: part(wanted.of_one_network),
                start: part(wanted.start),
                full: part(wanted.full),
                going: part(lean.going),
                ..wanted
            }
        };
        // Of each there is one at least, for which the others make room.
        let mut limits = scaled(left);
        let mut for_others = left;
        while needs(limits, each) > left {
            if for_others == 0 {
                let least = needs(limits, each);
                return Err(TooFew { left, least });
            }
            for_others -= 1;
            limits = scaled(for_others);
        }
        // What is left over is for those who are not known: of them there are most.
        while needs(Limits { full: limits.full + 1, ..limits }, each) <= left && limits.full < wanted.full {
            limits.full += 1;
        }
        let (known, full) = (limits.known, limits.full);
        let remark = format!(
            "callers that are known may be {known} and not {}, and others {full} and not {}, for the limit of descriptors (ulimit -n) leaves no more",
            wanted.known, wanted.full
        );
        Ok(Self { limits, remark: Some(remark) })
    }
}

/// How many descriptors these places want.
fn needs(limits: Limits, each: DescriptorCost) -> u64 {
    let [known, all] = [limits.known, limits.in_progress()].map(|it| it as u64);
    known.saturating_mul(each.stands).saturating_add(all.saturating_mul(each.comes))
}

#[cfg(test)]
mod tests {
    use kumiki_graph::Duration;

    use super::*;

    const EACH: DescriptorCost = DescriptorCost { comes: 3, stands: 3 };

    #[test]
    fn places_are_as_many_as_there_are_descriptors_for_in_the_proportion_that_was_asked_for() {
        let wanted = Limits::new(32, 8, Duration::from_secs(30));
        let needed = needs(Limits { going: 24, ..wanted }, EACH);
        assert_eq!(AffordableLimits::within(wanted, EACH, 10_000).unwrap().limits, wanted);
        for left in 0..needed + 10 {
            let Ok(AffordableLimits { limits, remark }) = AffordableLimits::within(wanted, EACH, left) else {
                assert!(left < 12, "{left}");
                continue;
            };
            assert!(needs(limits, EACH) <= left, "{left}");
            assert_eq!(remark.is_some(), left < needed, "{left}");
            assert!(limits.known > 0 && limits.full > 0 && limits.going > 0 && limits.start <= limits.full);
            // No other caller would have found enough of them.
            let is_full = needs(limits, EACH) + EACH.comes > left;
            assert!(is_full || limits.full == wanted.full, "{left}: {limits:?}");
            assert!(limits.known <= wanted.known && limits.full <= wanted.full);
            if left >= 100 {
                // All are near their part.
                let near = |number: usize, of: usize| number as u64 + 1 >= of as u64 * (left - 10) / needed;
                assert!(near(limits.known, wanted.known) && near(limits.full, wanted.full), "{left}: {limits:?}");
            }
        }
        let few = AffordableLimits::within(wanted, EACH, 100).unwrap().remark.unwrap();
        assert!(few.contains("ulimit -n"), "{few}");
        let none = AffordableLimits::within(wanted, EACH, 5).unwrap_err();
        assert_eq!(
            none.to_string(),
            "the limit of descriptors (ulimit -n) leaves callers 5, and the least is 12: allow more"
        );
    }
}
